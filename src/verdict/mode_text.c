/* mode_text.c - what each mode guarantees, in one sentence. */
#include <math.h>
#include <string.h>

#include "verdict/joint.h"
#include "verdict/modes.h"

static void put_weights(const kr_analysis *a, const kr_mode *m, kr_buf *out) {
    const kr_calib *c = kr_analysis_calib(a);
    const kr_ratio *w = m->weight != NULL ? m->weight : kr_analysis_declared(a)->weight;
    if (w == NULL) {
        kr_buf_puts(out, "all tasks alike");
        return;
    }
    bool first = true;
    for (size_t t = 0; t < kr_calib_tasks(c); t++)
        if (w[t].value > 0) {
            kr_buf_printf(out, "%s%s %.4g %%", first ? "" : ", ", kr_calib_task(c, t),
                          100 * w[t].value);
            first = false;
        }
}

static void put_population(const kr_analysis *a, kr_buf *out) {
    kr_buf p = {0};
    kr_population_text(a, &p);
    const char *text = kr_buf_text(&p);
    kr_buf_puts(out, strncmp(text, "the ", 4) == 0 ? text + 4 : text);
    kr_buf_free(&p);
}

static const char *mean_text(kr_mean_kind k) {
    return k == KR_MEAN_HB          ? "bound of Hoeffding and Bentkus"
           : k == KR_MEAN_BERNSTEIN ? "empirical Bernstein bound"
                                    : "betting in rounds of one request per task";
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
        kr_buf_printf(out, "the mean drop (improvements count 0, a missing utility the whole range) is at "
                           "most %s %% of the utility range over the ", r);
        put_population(a, out);
        kr_buf_printf(out, " (%s)", mean_text(kr_mode_mean(a, m)));
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
    if (l->status == KR_ST_CANNOT_CERTIFY) {
        kr_buf_printf(out, ", with n = %lld not even zero events would certify", (long long)l->n);
    } else if (l->stopped >= 0 && isfinite(l->p_stopped)) {
        kr_buf_puts(out, ", stopped at ");
        put_level(a, method, l->stopped, out);
        if (l->status == KR_ST_UNDECIDED)
            kr_buf_puts(out, " by a p-value too close to the level to decide");
        else
            kr_buf_printf(out, " by p = %.3g > %.3g", l->p_stopped, l->level);
    }
    kr_buf_puts(out, ": ");
}

/* A contract between two declared points is judged at the one below. */
static void put_point(const kr_analysis *a, kr_mode_kind kind, kr_buf *out) {
    kr_contract k = kr_analysis_contract(a), at = k;
    char t[KR_DEC_TEXT], r[KR_DEC_TEXT];
    if (!kr_joint_contract(a, kind, &at) || (kr_dec_cmp(at.tolerance, k.tolerance) == 0 &&
                                             kr_dec_cmp(at.risk, k.risk) == 0))
        return;
    kr_buf_printf(out, "judged at the point of the grid below, tolerance %s and risk %s %%: ",
                  kr_dec_text(at.tolerance, t), kr_dec_percent(at.risk, 0, r));
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
        kr_buf_puts(out, "requests share clusters or prompts, so they are not independent; nothing is "
                         "certified.");
        return;
    }
    if (m->kind == KR_MODE_EVENTS) {
        kr_statement(a, method, out);
        return;
    }
    put_outcome(a, method, l, out);
    if (m->kind < KR_MODE_MIXTURE) {
        put_point(a, m->kind, out);
        kr_joint_sentence(a, m->kind, method, out);
        return;
    }
    if (kr_analysis_dependent(a) && kr_analysis_options_of(a).assume_independent &&
        !kr_mode_of_clusters(m->kind))
        kr_buf_puts(out, "assuming that requests of one cluster are independent, as asserted: ");
    if (kr_analysis_home_info(a)->kind == KR_HOME_NONE ||
        kr_analysis_options_of(a).split == KR_SPLIT_TEST)
        kr_buf_puts(out, "on rows for exploring, so what-if: ");
    else if (!kr_mode_declared(a, m, method))
        kr_buf_puts(out, "not declared before looking, so what-if: ");
    kr_buf_printf(out, "with probability at least %s %% a certified level means that ",
                  kr_dec_percent(k.confidence, 0, conf));
    put_subject(a, m, l, out);
    if (!kr_analysis_family(a))
        kr_buf_puts(out, ", for this method alone.");
    else
        kr_buf_printf(out, "; the choice among methods %s covered, each at its share of the error level.",
                      kr_analysis_home_info(a)->family ? "is" : "would, declared beforehand, be");
    if (m->kind != KR_MODE_MEAN_DROP && kr_tolerance_says_nothing(kr_analysis_calib(a), k.tolerance))
        kr_buf_puts(out, " It says next to nothing: no drop within the range of utilities exceeds this tolerance, so "
                         "only missing results are events.");
}

static void put_reach(const kr_calib *c, const double *reach, kr_buf *out) {
    for (size_t t = 0; t < kr_calib_tasks(c); t++)
        kr_buf_printf(out, "%s %s %.2f %%", t > 0 ? "," : "", kr_calib_task(c, t),
                      floor(10000 * reach[t]) / 100);
}

/* Figures are rounded down. */
void kr_mode_room_sentence(kr_analysis *a, const kr_mode *mode, size_t method, kr_buf *out) {
    const kr_calib *c = kr_analysis_calib(a);
    kr_room r;
    if (kr_mode_room(a, mode, method, &r, NULL) != KR_OK)
        return;
    if (r.growth > 1) {
        kr_buf_printf(out, "Room for other mixtures: had a risk target %.4g times smaller been declared, the "
                           "same level would be certified for every mixture in which no task's share grows by "
                           "more than %.1f %%; of all requests, to one task may move",
                      floor(1000 * r.growth) / 1000, floor(1000 * (r.growth - 1)) / 10);
        put_reach(c, r.reach, out);
        kr_buf_puts(out, ".");
    }
    if (r.later > 1) {
        kr_buf_printf(out, " Picked after looking, by the joint table of risk targets: %.1f %%; to one task",
                      floor(1000 * (r.later - 1)) / 10);
        put_reach(c, r.reach_later, out);
        kr_buf_puts(out, ".");
    } else if (r.growth > 1 && mode->kind == KR_MODE_EVENTS) {
        kr_buf_puts(out, " Picked after looking, no other mixture is covered.");
    }
    kr_room_free(&r);
}
