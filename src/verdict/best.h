/* best.h - "the lowest retention over all methods": with its error budget, and what it costs to take
 * it without one. */
#ifndef KR_VERDICT_BEST_H
#define KR_VERDICT_BEST_H

#include "verdict/verdict.h"

typedef struct {
    bool any;         /* some method is certified */
    size_t method;    /* the one that keeps the least; the earlier one of two that keep the same */
    int candidate;
    double share;     /* kept, 1 without any */
    bool covered;     /* picked from a family; else the choice is not covered: WHAT-IF whatever the
                         state of the lines */
    double error;     /* P[the pick breaks the contract] at most: delta where covered, else that of M
                         independent lines at the boundary, 1 - (1 - attained level)^M */
    kr_level level;     /* of the pick's line: its share of delta where covered, else all of it */
    int64_t max_events; /* at that level; -1: none would do */
    kr_state state;
} kr_best;

/* family: from the parallel chains; else the best of lines that were certified alone. Under the
 * present contract, whatever the analysis is set to. */
kr_status kr_best_overall(kr_analysis *a, bool family, kr_best *out, kr_error *err);

/* One sentence; empty with fewer than two methods. */
void kr_best_sentence(const kr_analysis *a, const kr_best *b, kr_buf *out);

#endif
