#include "ui/claims.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/model.h"
#include "verdict/joint.h"

enum { FEW_ROWS = 3000, MANY_ROWS = 30000 };

static void forget(kr_claims *c) {
    for (int i = 0; i < KR_CLAIMS; i++) {
        kr_buf_free(&c->at[i].text);
        c->at[i] = (kr_claim){.status = KR_CLAIM_WAITS};
    }
    c->asked = -1;
    c->wait = false;
}

void kr_claims_free(kr_claims *c) {
    forget(c);
    free(c->weight);
    *c = (kr_claims){.asked = -1};
}

const char *kr_claim_name(int claim) {
    static const char *const more[] = {"best, family", "best, alone", "noise floor"};
    return claim < KR_MODES ? kr_mode_name((kr_mode_kind)claim) : more[claim - KR_MODES];
}

kr_state kr_claim_state(const kr_claim *c, int claim) {
    return claim < KR_MODES ? c->line.state : c->best.state;
}

bool kr_claim_certified(const kr_claim *c, int claim) {
    if (c->status != KR_CLAIM_KNOWN || claim == KR_CLAIM_NOISE)
        return false;
    return claim < KR_MODES ? c->line.inapplicable == NULL && c->line.certified >= 0 : c->best.any;
}

int kr_claims_selected(const kr_app *a) { return a->claims.row[a->claims.selected]; }

void kr_claims_select(kr_app *a, int claim) {
    for (int i = 0; i < a->claims.n; i++)
        if (a->claims.row[i] == claim)
            a->claims.selected = i;
}

static void list_rows(kr_app *a) {
    kr_claims *c = &a->claims;
    c->n = 0;
    for (int i = 0; i < KR_CLAIMS; i++)
        if ((i != KR_CLAIM_FAMILY && i != KR_CLAIM_ALONE) || kr_calib_methods(a->calib) > 1)
            c->row[c->n++] = i;
    if (c->selected >= c->n)
        c->selected = c->n - 1;
}

/* --- one claim -------------------------------------------------------------------------------- */

static kr_mode mode_of(const kr_app *a, kr_mode_kind kind) {
    kr_mode m = kr_mode_default(a->an, kind);
    if (a->claims.weight != NULL)
        m.weight = a->claims.weight;
    if (a->claims.has_mean)
        m.mean = a->claims.mean;
    return m;
}

/* How far the mixture may move. */
static void put_room(kr_app *a, const kr_mode *m, kr_buf *out) {
    kr_buf t = {0};
    kr_mode_room_sentence(a->an, m, a->method, &t);
    if (t.len > 0)
        kr_buf_printf(out, "\n%s", kr_buf_text(&t));
    kr_buf_free(&t);
}

/* The curve that is free for one candidate that was declared alone. */
static void put_tolerances(kr_app *a, kr_buf *out) {
    bool first = true;
    for (size_t i = 0; i < kr_calib_method(a->calib, a->method)->count; i++) {
        kr_dec t;
        char level[32], text[KR_DEC_TEXT];
        if (!kr_joint_tolerance(a->an, a->method, i, &t))
            continue;
        kr_level_label(a, a->method, (int)i, level);
        kr_buf_printf(out, "%s %s: %s", first ? "\nSmallest tolerance of each level, had it been "
                                                "declared alone (what-if):" : ",",
                      level, kr_dec_text(t, text));
        first = false;
    }
}

static void count_mode(kr_app *a, kr_mode_kind kind, kr_claim *x) {
    kr_mode m = mode_of(a, kind);
    kr_error err;
    x->status = KR_CLAIM_KNOWN;
    if (kr_mode_walk(a->an, &m, a->method, &x->line, &err) != KR_OK) {
        x->status = KR_CLAIM_FAILED;
        kr_buf_puts(&x->text, err.msg);
        return;
    }
    kr_mode_sentence(a->an, &m, a->method, &x->line, &x->text);
    if (x->line.inapplicable != NULL || x->line.state == KR_STATE_REFUSED)
        return;
    if (kind == KR_MODE_MIXTURE)
        put_room(a, &m, &x->text);
    if (kind == KR_MODE_TOLERANCES)
        put_tolerances(a, &x->text);
}

static void count_best(kr_app *a, bool family, kr_claim *x) {
    kr_error err;
    x->status = KR_CLAIM_KNOWN;
    if (kr_best_overall(a->an, family, &x->best, &err) != KR_OK) {
        x->status = KR_CLAIM_FAILED;
        kr_buf_puts(&x->text, err.msg);
    } else {
        kr_best_sentence(a->an, &x->best, &x->text);
    }
}

static void count_noise(kr_app *a, kr_claim *x) {
    x->status = KR_CLAIM_KNOWN;
    x->noise = kr_noise_floor(a->an);
    if (x->noise.known)
        kr_noise_sentence(a->an, &x->noise, &x->text);
    else
        kr_buf_puts(&x->text, "The file has no second full-KV run; if decoding is not deterministic, the "
                              "risk includes its noise.");
}

static void count(kr_app *a, int claim) {
    kr_claim *x = &a->claims.at[claim];
    x->text.len = 0;
    if (claim < KR_MODES)
        count_mode(a, (kr_mode_kind)claim, x);
    else if (claim == KR_CLAIM_NOISE)
        count_noise(a, x);
    else
        count_best(a, claim == KR_CLAIM_FAMILY, x);
}

/* --- all of them ------------------------------------------------------------------------------ */

/* The claim goes through all requests. */
static bool looks_at_rows(const kr_app *a, int claim) {
    if (kr_calib_meta_of(a->calib)->kind == KR_KIND_COUNTS)
        return false;
    if (claim >= KR_MODE_CLUSTER_ONE && claim <= KR_MODE_CLUSTER_MAX)
        return kr_calib_cluster_repeats(a->calib, kr_analysis_options_of(a->an).split) > 0;
    return (claim >= KR_MODE_MIXTURE && claim < KR_MODES) || claim == KR_CLAIM_NOISE;
}

static bool same(kr_dec x, kr_dec y) { return kr_dec_cmp(x, y) == 0; }

static bool still_valid(const kr_app *a) {
    const kr_claims *c = &a->claims;
    kr_contract k = kr_analysis_contract(a->an);
    return c->valid && c->method == a->method && c->family == kr_analysis_family(a->an) &&
           same(k.tolerance, c->contract.tolerance) && same(k.risk, c->contract.risk) &&
           same(k.confidence, c->contract.confidence);
}

void kr_claims_refresh(kr_app *a) {
    kr_claims *c = &a->claims;
    size_t rows = kr_calib_rows(a->calib);
    list_rows(a);
    c->wait = false;
    if (a->screen != KR_SCREEN_CLAIMS)
        return;
    if (!still_valid(a)) {
        forget(c);
        c->valid = true;
        c->method = a->method;
        c->family = kr_analysis_family(a->an);
        c->contract = kr_analysis_contract(a->an);
    }
    for (int i = 0; i < c->n; i++) {
        kr_claim *x = &c->at[c->row[i]];
        bool costly = rows > FEW_ROWS && looks_at_rows(a, c->row[i]);
        bool asked = rows <= MANY_ROWS || c->asked == c->row[i];
        if (x->status == KR_CLAIM_KNOWN || x->status == KR_CLAIM_FAILED)
            continue;
        if (!costly || (asked && a->settling))
            count(a, c->row[i]);
        else if (asked)
            c->wait = true;
        x->status = x->status == KR_CLAIM_WAITS && !asked ? KR_CLAIM_ON_ENTER : x->status;
    }
}

void kr_claims_ask(kr_app *a) {
    kr_claims *c = &a->claims;
    if (c->at[kr_claims_selected(a)].status != KR_CLAIM_ON_ENTER)
        return;
    c->asked = kr_claims_selected(a);
    c->at[c->asked].status = KR_CLAIM_WAITS;
}

/* --- parameters ------------------------------------------------------------------------------- */

/* The command line's form, "qa=2,vt=1", from one with blanks. */
static void with_commas(const char *text, char *out, size_t cap) {
    bool has_comma = strchr(text, ',') != NULL;
    size_t n = 0;
    for (; *text != '\0' && n + 1 < cap; text++)
        if (*text != ' ' || has_comma)
            out[n++] = *text;
        else if (n > 0 && out[n - 1] != ',')
            out[n++] = ',';
    out[n] = '\0';
}

static void say_mixture(kr_app *a) {
    const kr_ratio *w = mode_of(a, KR_MODE_MIXTURE).weight;
    kr_buf b = {0};
    for (size_t t = 0; w != NULL && t < kr_calib_tasks(a->calib); t++)
        if (w[t].value > 0)
            kr_buf_printf(&b, "%s%s %.4g %%", b.len > 0 ? ", " : "", kr_calib_task(a->calib, t),
                          100 * w[t].value);
    kr_app_say(a, false, "mixture%s: %s", a->claims.weight != NULL ? "" : w != NULL ? " of the file" : "",
               w != NULL ? kr_buf_text(&b) : "all tasks alike; for example :mixture qa=2 vt=1");
    kr_buf_free(&b);
}

static bool take_mixture(kr_app *a, const char *text, kr_error *err) {
    char list[256];
    kr_ratio *w = NULL;
    with_commas(text, list, sizeof list);
    if (kr_weights_parse(a->calib, list, &w, err) != KR_OK)
        return false;
    free(a->claims.weight);
    a->claims.weight = w;
    a->claims.valid = false;
    memmove(a->claims.typed, list, sizeof list);
    return true;
}

static void drop_mixture(kr_app *a) {
    free(a->claims.weight);
    a->claims.weight = NULL;
    a->claims.valid = false;
}

void kr_claims_mixture(kr_app *a, const char *text) {
    kr_error err;
    if (kr_calib_meta_of(a->calib)->kind == KR_KIND_COUNTS) {
        kr_app_say(a, true, "published counts have no requests of single tasks to weigh");
        return;
    }
    if (strcmp(text, "off") == 0)
        drop_mixture(a);
    else if (*text != '\0' && !take_mixture(a, text, &err)) {
        kr_app_say(a, true, "%s", err.msg);
        return;
    }
    say_mixture(a);
    if (*text == '\0')
        return;
    kr_app_show(a, KR_SCREEN_CLAIMS);
    kr_claims_select(a, KR_MODE_MIXTURE);
}

void kr_claims_mean(kr_app *a, kr_mean_kind mean) {
    a->claims.has_mean = true;
    a->claims.mean = mean;
    a->claims.valid = false;
}

void kr_claims_reload(kr_app *a) {
    kr_error err;
    char typed[256];
    a->claims.valid = false;
    if (a->claims.weight == NULL)
        return;
    memcpy(typed, a->claims.typed, sizeof typed);
    if (take_mixture(a, typed, &err))
        return;
    drop_mixture(a);
    kr_app_say(a, true, "the mixture typed in is gone: %s", err.msg);
}
