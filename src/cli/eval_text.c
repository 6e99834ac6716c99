/* eval_text.c - what `kvrisk eval` prints for people. */
#include <langinfo.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "cli/common.h"
#include "cli/eval.h"

enum { SHOW_HEADS = 4 };

/* ---- the list of policies ---- */

static void list_param(const kr_param *p) {
    char lo[KR_DEC_TEXT], hi[KR_DEC_TEXT], def[KR_DEC_TEXT];
    printf("    %-13s", p->name);
    if (p->kind == KR_PARAM_CHOICE) {
        for (size_t i = 0; p->choices[i] != NULL; i++)
            printf("%s%s", i > 0 ? "|" : "", p->choices[i]);
        printf(", default %s", p->choices[p->def.digits]);
    } else {
        printf("%s to %s, default %s", kr_dec_text(p->min, lo), kr_dec_text(p->max, hi),
               kr_dec_text(p->def, def));
    }
    printf("; %s\n", p->what);
}

void kr_cli_eval_list(void) {
    static const char *const scopes[] = {"per head", "per layer", "all layers together"};
    for (const kr_evictor *const *p = kr_evictors(); *p != NULL; p++) {
        printf("%s  %s (%s)\n    level: %s, budget %s\n", (*p)->name, (*p)->what, (*p)->paper,
               (*p)->threshold ? "threshold" : "retention or tokens", scopes[(*p)->scope]);
        for (size_t i = 0; i < (*p)->n_params; i++)
            list_param(&(*p)->params[i]);
    }
    puts("\npresets:");
    for (const kr_evict_preset *p = kr_evict_presets(); p->name != NULL; p++)
        printf("  %-10s %s\n             %s%s%s\n", p->name, p->what, p->values,
               p->protocol != NULL ? "; protocol " : "", p->protocol != NULL ? p->protocol : "");
}

/* ---- a request ---- */

static void put_quoted(const char *text, size_t len) {
    char safe[400];
    putchar('"');
    size_t n = len < 90 ? len : 90;
    while (n < len && n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80)
        n--; /* not inside a character */
    for (size_t at = 0; at < n;) {
        const char *line = memchr(text + at, '\n', n - at);
        size_t part = line != NULL ? (size_t)(line - text) - at : n - at;
        kr_text_safe(safe, sizeof safe, text + at, part);
        fputs(safe, stdout);
        fputs(line != NULL ? "\\n" : "", stdout);
        at += part + (line != NULL);
    }
    fputs(n < len ? "...\"" : "\"", stdout);
}

static const char *shade(double share, bool utf8) {
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const ascii[] = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};
    if (!(share > 0))
        return " ";
    int i = (int)ceil(share * 8);
    i = i > 8 ? 8 : i;
    return utf8 ? blocks[i] : ascii[i];
}

/* One line per layer: share of the entries kept, share of the attention kept, error. */
static void put_heads(const kr_eval_result *r, const kr_arm_result *a) {
    bool utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    printf("    %-8s %-*s  %-*s  error of the output\n", "layer", (int)r->heads + 9, "kept",
           (int)r->heads + 9, "attention");
    for (size_t l = 0; l < r->layers; l++) {
        double kept = 0, mass = 0;
        printf("    %-8zu [", l);
        for (size_t h = 0; h < r->heads; h++) {
            double share = r->n > 0 ? (double)a->head_kept[l * r->heads + h] / (double)r->n : 1;
            kept += share / (double)r->heads;
            fputs(shade(share, utf8), stdout);
        }
        printf("] %5.1f%%  [", 100 * kept);
        for (size_t h = 0; h < r->heads; h++) {
            mass += (double)a->head_mass[l * r->heads + h] / (double)r->heads;
            fputs(shade((double)a->head_mass[l * r->heads + h], utf8), stdout);
        }
        printf("] %5.1f%%  %.3f\n", 100 * mass, (double)a->layer_error[l]);
    }
}

static void put_flags(unsigned flags) {
    if (flags & KR_BYPASS_SHORT)
        fputs("  BYPASS_SHORT (prompt not longer than what is protected)", stdout);
    if (flags & KR_WINDOW_TRUNC)
        fputs("  WINDOW_TRUNC (budget below what is protected)", stdout);
    if (flags & KR_FALLBACK_UNIFORM)
        fputs("  FALLBACK_UNIFORM (same budget in all layers)", stdout);
}

static void put_utility(const kr_arm_result *a) {
    if (isfinite(a->utility))
        printf("utility %.3f", a->utility);
    else
        printf("no utility (%s)", a->why != NULL ? a->why : "unknown");
}

static void put_arm(const kr_cli_eval_args *o, const kr_eval_result *r, size_t i) {
    const kr_arm_result *a = &r->arm[i];
    kr_buf name = {0};
    kr_evict_text(&o->arm[i], false, &name);
    printf("  %-28s keeps %5.1f %%  %8.1f KB  ", kr_buf_text(&name), 100 * a->rho_ctx,
           (double)a->bytes / 1e3);
    put_utility(a);
    if (isfinite(a->drop))
        printf("  drop %.3f  %s", a->drop,
               kr_eval_event(&r->full, a, o->tolerance) ? "EVENT" : "no event");
    put_flags(a->flags);
    putchar('\n');
    if (a->parted) {
        fputs("    answer ", stdout);
        put_quoted(a->text, a->text_len);
        printf("\n    parts from full KV's at token %zu: that token leads by %.3f there, by %.3f "
               "here\n", a->parted_at + 1, (double)a->full_margin, (double)a->margin);
    }
    if (o->detail || o->n_arms <= SHOW_HEADS)
        put_heads(r, a);
    kr_buf_free(&name);
}

void kr_cli_eval_request(const kr_cli_eval_args *o, const kr_sample_request *q,
                         const kr_eval_result *r) {
    printf("request ");
    kr_cli_put_safe(q->id);
    printf(" (");
    kr_cli_put_safe(q->task);
    printf("): %zu tokens, %zu of them in the cache at eviction; prefill %.3f s, scoring %.3f s, "
           "%zu steps %.3f s\n", r->n_prompt, r->n, r->prefill_s, r->score_s, r->steps,
           r->decode_s);
    printf("  %-28s keeps 100.0 %%  %8.1f KB  ", "full KV", (double)r->full.bytes / 1e3);
    put_utility(&r->full);
    fputs("\n    answer ", stdout);
    put_quoted(r->full.text, r->full.text_len);
    putchar('\n');
    for (size_t i = 0; i < r->n_arms; i++)
        put_arm(o, r, i);
    putchar('\n');
    fflush(stdout);
}

void kr_cli_eval_summary(const kr_cli_eval_args *o, size_t n, size_t failed, const size_t *events,
                         double seconds) {
    char t[KR_DEC_TEXT];
    printf("%zu requests, %zu failed, %.2f s; drop above %s:\n", n, failed, seconds,
           kr_dec_text(o->tolerance, t));
    for (size_t i = 0; i < o->n_arms; i++) {
        kr_buf name = {0};
        kr_evict_text(&o->arm[i], false, &name);
        printf("  %-28s %zu of %zu\n", kr_buf_text(&name), events[i], n - failed);
        kr_buf_free(&name);
    }
}
