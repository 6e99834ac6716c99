/* modes.h - every claim that can be made about a method, with what each guarantees in one sentence:
 * the plain contract, tables for choices made after looking, other mixtures of tasks, the worst task,
 * clusters, the mean drop. */
#ifndef KR_VERDICT_MODES_H
#define KR_VERDICT_MODES_H

#include "verdict/verdict.h"

/* A claim with its parameters. */
typedef struct {
    kr_mode_kind kind;
    const kr_ratio *weight; /* [tasks] for mixture and subsample; NULL: those of the file, else equal */
    uint64_t seed;          /* for subsample and cluster_one */
    kr_mean_kind mean;      /* for mean_drop and cluster_mean (there Hoeffding-Bentkus always) */
} kr_mode;

/* What the file declares for this kind, else equal weights, seed 1, betting in rounds. */
kr_mode kr_mode_default(const kr_analysis *a, kr_mode_kind kind);

typedef struct {
    kr_mode_kind kind;
    const char *inapplicable; /* why the mode does not apply here, NULL: it does */
    kr_state state;
    kr_verdict_status status;
    int certified, stopped;            /* candidate, -1 */
    double p_certified, p_stopped;     /* NaN where there is none */
    double level;                      /* compared with */
    int64_t n, max_events;             /* units tested; -1: no single largest count */
    int64_t events;                    /* of the certified candidate, -1 where not counted */
    double bound;                      /* upper limit of the certified candidate, NaN: none */
} kr_mode_line;

/* Walks the method's candidates by this mode at the analysis' contract. Modes that look at rows cost
 * O(n) per candidate tested. KR_EINVAL: weights that make no sense, KR_ENOMEM. */
kr_status kr_mode_walk(kr_analysis *a, const kr_mode *mode, size_t method, kr_mode_line *out,
                       kr_error *err);

/* What this line claims, in one sentence that begins with its state. */
void kr_mode_sentence(const kr_analysis *a, const kr_mode *mode, size_t method,
                      const kr_mode_line *l, kr_buf *out);

/* --- beside a certificate of the mixture ------------------------------------------------------ */

/* How many thousandths of the requests may move to task `to` before the certified candidate of the
 * method would no longer be certified as a mixture; -1 without a certificate. */
kr_status kr_mode_reach(kr_analysis *a, size_t method, size_t to, int *thousandths, kr_error *err);
/* The same for the candidate that a walk by KR_MODE_MIXTURE certified, from its own weights. */
kr_status kr_mode_reach_from(kr_analysis *a, const kr_mode *mode, size_t method,
                             const kr_mode_line *l, size_t to, int *thousandths, kr_error *err);

#endif
