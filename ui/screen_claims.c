/* Every claim about the selected method, with what each guarantees; and two policies compared. */
#include <math.h>
#include <stdio.h>

#include "ui/pages.h"
#include "verdict/best.h"
#include "verdict/joint.h"
#include "verdict/modes.h"
#include "verdict/noise.h"
#include "verdict/pair.h"

/* Beyond this many requests, claims that look at every row wait for the command line. */
enum { MANY_ROWS = 30000 };

static void put_claim(kr_app *a, kr_mode_kind kind, kr_buf *out) {
    kr_mode mode = kr_mode_default(a->an, kind);
    kr_mode_line l;
    char level[32];
    if (kind >= KR_MODE_MIXTURE && kr_calib_rows(a->calib) > MANY_ROWS) {
        kr_buf_printf(out, "-%s: with this many requests, kvrisk certify --mode %s\n",
                      kr_mode_name(kind), kr_mode_name(kind));
        return;
    }
    if (kr_mode_walk(a->an, &mode, a->method, &l, NULL) != KR_OK || l.inapplicable != NULL)
        return;
    kr_level_label(a, a->method, l.certified, level);
    kr_buf_printf(out, "=  %-13s %-8s %-7s level %-9.3g", kr_mode_name(kind),
                  l.certified < 0 ? "FULL KV" : level, kr_state_name(l.state), l.level);
    if (l.max_events >= 0)
        kr_buf_printf(out, " at most %lld of %lld", (long long)l.max_events, (long long)l.n);
    kr_buf_printf(out, "\n%c", l.state == KR_STATE_LOCKED && l.certified >= 0 ? '+' : '-');
    kr_mode_sentence(a->an, &mode, a->method, &l, out);
    kr_buf_puts(out, "\n");
}

void kr_page_claims(kr_app *a, kr_buf *out) {
    kr_best best;
    kr_noise noise = {0};
    kr_buf_printf(out, "#%s: what can be claimed, at which retention\n",
                  kr_calib_method(a->calib, a->method)->name);
    for (int k = 0; k < KR_MODES; k++)
        put_claim(a, (kr_mode_kind)k, out);
    if (kr_calib_methods(a->calib) > 1) {
        kr_buf_puts(out, "#\n#The lowest retention over all methods\n");
        for (int family = 1; family >= 0; family--)
            if (kr_best_overall(a->an, family == 1, &best, NULL) == KR_OK) {
                kr_buf_puts(out, best.state == KR_STATE_LOCKED && best.any ? "+" : "!");
                kr_best_sentence(a->an, &best, out);
                kr_buf_puts(out, "\n");
            }
    }
    kr_buf_puts(out, "#\n#Noise floor\n");
    if (kr_calib_rows(a->calib) <= MANY_ROWS)
        noise = kr_noise_floor(a->an);
    kr_buf_puts(out, noise.hopeless ? "!" : noise.known ? " " : "-");
    if (noise.known)
        kr_noise_sentence(a->an, &noise, out);
    else
        kr_buf_puts(out, "The file has no second full-KV run; if decoding is not deterministic, the "
                         "risk includes its noise.");
    kr_buf_puts(out, "\n");
}

/* --- two policies ----------------------------------------------------------------------------- */

void kr_pair_mark(kr_app *a) {
    char level[32];
    a->pair_base = (int)kr_app_policy(a);
    kr_level_label(a, a->method, a->level, level);
    kr_app_say(a, false, "%s at %s is what the selected level is compared with",
               kr_calib_method(a->calib, a->method)->name, level);
}

static void base_name(const kr_app *a, size_t policy, char out[96]) {
    for (size_t m = 0; m < kr_calib_methods(a->calib); m++) {
        const kr_method *x = kr_calib_method(a->calib, m);
        char level[32];
        if (policy < x->first || policy >= x->first + x->count)
            continue;
        kr_level_label(a, m, (int)(policy - x->first), level);
        snprintf(out, 96, "%.50s %s", x->name, level);
    }
}

void kr_pair_words(kr_app *a, char *out, size_t cap) {
    size_t policy = kr_app_policy(a);
    size_t base = a->pair_base >= 0 ? (size_t)a->pair_base : policy - (a->level > 0);
    kr_pair p;
    char name[96] = "";
    out[0] = '\0';
    if (base == policy || base >= kr_calib_policies(a->calib) ||
        kr_calib_rows(a->calib) > MANY_ROWS ||
        kr_pair_compare(a->an, policy, base, &p, NULL) != KR_OK)
        return;
    base_name(a, base, name);
    snprintf(out, cap, "against %s: only here %lld, only there %lld, McNemar p %.2g, %+.1f to %+.1f points",
             name, (long long)p.only_a, (long long)p.only_b, p.test.two_sided, 100 * p.test.lower,
             100 * p.test.upper);
}
