/* mode_text.c - what each mode guarantees, in one sentence. */
#include <math.h>

#include "verdict/joint.h"
#include "verdict/modes.h"

static void put_weights(const kr_analysis *a, const kr_mode *m, kr_buf *out) {
    const kr_calib *c = kr_analysis_calib(a);
    if (m->weight == NULL) {
        kr_buf_puts(out, "all tasks alike");
        return;
    }
    bool first = true;
    for (size_t t = 0; t < kr_calib_tasks(c); t++)
        if (m->weight[t].value > 0) {
            kr_buf_printf(out, "%s%s %.4g %%", first ? "" : ", ", kr_calib_task(c, t),
                          100 * m->weight[t].value);
            first = false;
        }
}

/* Whose risk it is. */
static void put_subject(const kr_analysis *a, const kr_mode *m, const kr_mode_line *l, kr_buf *out) {
    kr_contract k = kr_analysis_contract(a);
    char t[KR_DEC_TEXT], r[KR_DEC_TEXT];
    kr_dec_fixed(k.tolerance, 2, t);
    kr_dec_percent(k.risk, 0, r);
    switch (m->kind) {
    case KR_MODE_MIXTURE:
    case KR_MODE_SUBSAMPLE:
        kr_buf_printf(out, "more than %s utility is lost on at most %s %% of requests of the mixture ",
                      t, r);
        put_weights(a, m, out);
        if (m->kind == KR_MODE_SUBSAMPLE)
            kr_buf_printf(out, " (%lld requests drawn by seed %llu)", (long long)l->n,
                          (unsigned long long)m->seed);
        break;
    case KR_MODE_WORST_TASK:
        kr_buf_printf(out, "more than %s utility is lost on at most %s %% of requests of every single "
                           "task", t, r);
        break;
    case KR_MODE_CLUSTER_ONE:
        kr_buf_printf(out, "more than %s utility is lost on at most %s %% of draws of a random cluster "
                           "and a random request of it (%lld clusters, one request each by seed %llu)",
                      t, r, (long long)l->n, (unsigned long long)m->seed);
        break;
    case KR_MODE_CLUSTER_MEAN:
        kr_buf_printf(out, "more than %s utility is lost on at most %s %% of draws of a random cluster "
                           "and a random request of it (%lld clusters, mean of each)",
                      t, r, (long long)l->n);
        break;
    case KR_MODE_CLUSTER_MAX:
        kr_buf_printf(out, "at most %s %% of clusters have any request that loses more than %s utility "
                           "(%lld clusters)", r, t, (long long)l->n);
        break;
    case KR_MODE_MEAN_DROP:
        kr_buf_printf(out, "the mean drop (improvements count 0) is at most %s %% of the utility range",
                      r);
        break;
    default: break;
    }
}

static void put_level(const kr_analysis *a, size_t method, int index, kr_buf *out) {
    const kr_calib *c = kr_analysis_calib(a);
    kr_level_text(c, method, index, out);
    if (index >= 0 &&
        kr_calib_policy(c, kr_calib_method(c, method)->first + (size_t)index)->has_retention)
        kr_buf_puts(out, " %");
}

static void put_outcome(const kr_analysis *a, size_t method, const kr_mode_line *l, kr_buf *out) {
    const char *name = kr_calib_method(kr_analysis_calib(a), method)->name;
    if (l->certified >= 0) {
        kr_buf_printf(out, "%s certified at ", name);
        put_level(a, method, l->certified, out);
    } else {
        kr_buf_printf(out, "%s falls back to full KV", name);
    }
    if (l->stopped >= 0 && isfinite(l->p_stopped)) {
        kr_buf_puts(out, ", stopped at ");
        put_level(a, method, l->stopped, out);
        kr_buf_printf(out, " by p = %.3g > %.3g", l->p_stopped, l->level);
    }
    kr_buf_puts(out, ": ");
}

void kr_mode_sentence(const kr_analysis *a, const kr_mode *m, size_t method,
                      const kr_mode_line *l, kr_buf *out) {
    kr_contract k = kr_analysis_contract(a);
    char conf[KR_DEC_TEXT];
    kr_buf_printf(out, "%s: ", kr_state_name(l->state));
    if (l->inapplicable != NULL) {
        kr_buf_printf(out, "does not apply, %s.", l->inapplicable);
        return;
    }
    if (l->state == KR_STATE_REFUSED) {
        kr_buf_puts(out, "requests share clusters, so they are not independent; nothing is certified.");
        return;
    }
    if (m->kind == KR_MODE_EVENTS) {
        kr_statement(a, method, out);
        return;
    }
    put_outcome(a, method, l, out);
    if (m->kind < KR_MODE_MIXTURE) {
        kr_joint_sentence(a, m->kind, method, out);
        return;
    }
    if (l->state != KR_STATE_LOCKED)
        kr_buf_puts(out, "not declared before looking, so what-if: ");
    kr_buf_printf(out, "with probability at least %s %% a certified level means that ",
                  kr_dec_percent(k.confidence, 0, conf));
    put_subject(a, m, l, out);
    kr_buf_puts(out, kr_analysis_family(a)
                         ? "; the choice among methods is covered, each at its share of the error level."
                         : ", for this method alone.");
}
