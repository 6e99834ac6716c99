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

/* Whether the file declares this claim with these parameters for this line, on these rows: what LOCKED
 * means for modes from `mixture` on. */
bool kr_mode_declared(const kr_analysis *a, const kr_mode *mode, size_t method);
bool kr_mode_of_clusters(kr_mode_kind kind); /* made for requests that share clusters */

/* One candidate as a mode judged it: NAN and -1 where there is nothing. */
typedef struct {
    int64_t events;
    double p;
    double bound;     /* upper limit of what the mode bounds; for `risks` the running one that holds for
                         every risk target at once (risk/posthoc.h) */
    double tolerance; /* `tolerances` only: the smallest that certifies this and all before it */
    kr_verdict verdict;
} kr_mode_candidate;

/* The same walk with every candidate: out[candidates of the method]. Upper limits of means and
 * mixtures take some fifty tests each. */
kr_status kr_mode_candidates(kr_analysis *a, const kr_mode *mode, size_t method, kr_mode_line *line,
                             kr_mode_candidate *out, kr_error *err);

/* Shares of the tasks in the population that the mode speaks of, out[tasks]: those of the mode, or as
 * sampled. */
void kr_mode_weights(const kr_analysis *a, const kr_mode *mode, kr_ratio *out);
/* The bound that mean_drop uses here: that of the mode, but Hoeffding-Bentkus for unequal tasks. */
kr_mean_kind kr_mode_mean(const kr_analysis *a, const kr_mode *mode);

/* How far the mixture of tasks may move with the certificate of `events`, `mixture` or `subsample`
 * intact: no task's share may grow by more than the factor g (kr_mixture_growth), and so much of all
 * requests may move to one task (kr_mixture_reach); all mixtures within that are covered at once.
 *
 * The certificate itself leaves no room: it says R <= eps of whatever candidate was selected. That of a
 * selected candidate R is at most its own limit U < eps is more, a risk target picked after looking, and
 * holds at the contract's level only for a method of one candidate. Hence two answers. growth: had the
 * target eps/g been declared, the walk at the contract's level would end at this candidate or later;
 * R <= eps/g then covers all those mixtures. later: what holds although g is picked after looking, by
 * the limits of the table of risk targets (risk/posthoc.h, at delta_x/m). 1: no room; NAN: does not
 * apply. */
typedef struct {
    double growth, later;
    double *reach, *reach_later; /* [tasks] */
} kr_room;
kr_status kr_mode_room(kr_analysis *a, const kr_mode *mode, size_t method, kr_room *out,
                       kr_error *err);
void kr_room_free(kr_room *r);
/* The same in words; nothing where there is no room. */
void kr_mode_room_sentence(kr_analysis *a, const kr_mode *mode, size_t method, kr_buf *out);

#endif
