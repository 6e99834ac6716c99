#include "risk/sequence.h"

#include "risk/binomial.h"

/* Why a count does not pass; KR_STOP_NONE if it does. */
static kr_stop judge(const kr_limits *lim, int64_t k) {
    if (k == KR_COUNT_NONE)
        return KR_STOP_NO_COUNT;
    if (k <= lim->kmax)
        return KR_STOP_NONE;
    if (lim->next_is_tie && k == lim->kmax + 1)
        return KR_STOP_UNDECIDED;
    if (lim->kmax < 0)
        return KR_STOP_TOO_FEW;
    return k > lim->guard_max ? KR_STOP_GUARD : KR_STOP_EVENTS;
}

static kr_sequence_status status_of(const kr_limits *lim, kr_stop why) {
    if (why == KR_STOP_UNDECIDED)
        return KR_SEQUENCE_UNDECIDED;
    return lim->kmax < 0 ? KR_SEQUENCE_CANNOT_CERTIFY : KR_SEQUENCE_OK;
}

static kr_status check_count(const kr_limits *lim, int64_t k, size_t j, kr_error *err) {
    if (k == KR_COUNT_NONE || (k >= 0 && k <= lim->n))
        return KR_OK;
    return kr_fail(err, KR_EINVAL, "candidate %zu has %lld events among %lld requests", j,
                   (long long)k, (long long)lim->n);
}

kr_status kr_sequence_walk(const kr_limits *lim, size_t m, kr_count_fn count, void *ctx,
                           kr_sequence *out, kr_error *err) {
    kr_sequence s = {.certified = -1, .stopped = -1, .empirical = -1};
    s.certified_events = s.stopped_events = s.empirical_events = KR_COUNT_NONE;
    s.why = m == 0 ? KR_STOP_EMPTY : KR_STOP_NONE;
    bool plugin = true; /* the empirical prefix still runs */
    for (size_t j = 0; j < m && (plugin || s.stopped < 0); j++) {
        int64_t k = count(ctx, j);
        kr_status st = check_count(lim, k, j, err);
        if (st != KR_OK)
            return st;
        plugin = plugin && k != KR_COUNT_NONE && k <= lim->plugin_max;
        if (plugin)
            s.empirical = (int64_t)j, s.empirical_events = k;
        if (s.stopped >= 0)
            continue;
        s.why = judge(lim, k);
        if (s.why == KR_STOP_NONE)
            s.certified = (int64_t)j, s.certified_events = k;
        else
            s.stopped = (int64_t)j, s.stopped_events = k;
    }
    s.status = status_of(lim, s.why);
    *out = s;
    return KR_OK;
}

kr_candidate kr_candidate_of(const kr_limits *lim, int64_t events) {
    kr_candidate c = {.events = events, .verdict = KR_VERDICT_UNTESTED, .p_value = 1, .upper = 1};
    if (events < 0 || events > lim->n)
        return c;
    c.p_value = kr_p_value(events, lim->n, lim->eps);
    c.upper = kr_binom_upper_strat(events, lim->n, kr_level_double(lim->level));
    return c;
}

static int64_t from_array(void *ctx, size_t j) { return (*(const int64_t *const *)ctx)[j]; }

kr_status kr_sequence_certify(const kr_limits *lim, size_t m, const int64_t *events,
                              kr_candidate *candidates, kr_sequence *out, kr_error *err) {
    for (size_t j = 0; j < m; j++) {
        kr_status st = check_count(lim, events[j], j, err);
        if (st != KR_OK)
            return st;
    }
    kr_sequence s;
    kr_status st = kr_sequence_walk(lim, m, from_array, &events, &s, err);
    if (st != KR_OK)
        return st;
    for (size_t j = 0; j < m && candidates != NULL; j++) {
        candidates[j] = kr_candidate_of(lim, events[j]);
        if ((int64_t)j <= s.certified)
            candidates[j].verdict = KR_VERDICT_PASS;
        else if ((int64_t)j == s.stopped)
            candidates[j].verdict = KR_VERDICT_STOP;
    }
    *out = s;
    return KR_OK;
}

const char *kr_verdict_name(kr_verdict v) {
    static const char *const names[] = {"untested", "pass", "stop"};
    return names[v];
}
