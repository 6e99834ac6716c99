#include "verdict/best.h"

#include <math.h>

#include "risk/family.h"

/* Smaller share kept is better; an unknown one is no candidate for "lowest". */
static bool better(double share, const kr_best *b) {
    return isfinite(share) && (!b->any || share < b->share);
}

/* The state of a pick among all methods: that of the contract, where the choice was declared. */
static kr_state state_of(kr_analysis *a, bool family, kr_error *err, kr_status *st) {
    bool before = kr_analysis_family(a);
    *st = before == family ? KR_OK : kr_analysis_set_family(a, family, err);
    kr_state s = kr_analysis_state(a);
    if (*st == KR_OK && before != family)
        *st = kr_analysis_set_family(a, before, err);
    return s == KR_STATE_LOCKED && !(family && kr_analysis_home_info(a)->family) ? KR_STATE_WHAT_IF : s;
}

kr_status kr_best_overall(kr_analysis *a, bool family, kr_best *out, kr_error *err) {
    const kr_calib *c = kr_analysis_calib(a);
    kr_contract k = kr_analysis_contract(a);
    size_t methods = kr_calib_methods(c);
    const kr_home *h = kr_analysis_home_info(a);
    const bool *member = h->family && h->kind == KR_HOME_FILE ? kr_analysis_declared(a)->member : NULL;
    kr_best b = {.share = 1, .candidate = -1, .max_events = -1, .covered = family || methods == 1};
    double attained = 0;
    for (size_t i = 0; i < methods; i++) {
        kr_point p;
        kr_status st = kr_analysis_at_mode(a, i, b.covered && methods > 1, k, &p, err);
        if (st != KR_OK)
            return st;
        attained = kr_p_value(p.max_events, kr_analysis_n(a), k.risk);
        if (!b.any)
            b.level = p.level, b.max_events = p.max_events;
        double share = kr_share_kept(c, i, p.certified);
        bool may = !family || member == NULL || member[i]; /* one of those that were declared */
        if (may && p.certified >= 0 && better(share, &b))
            b = (kr_best){.any = true, .method = i, .candidate = p.certified, .share = share,
                          .covered = b.covered, .level = p.level, .max_events = p.max_events};
    }
    b.error = b.covered ? kr_level_double(kr_contract_level(&k, 1))
                        : kr_family_naive_error(attained, (int64_t)methods);
    kr_status st;
    b.state = state_of(a, b.covered && methods > 1, err, &st);
    if (methods == 1)
        b.state = kr_analysis_line_state(a, 0);
    if (st == KR_OK)
        *out = b;
    return st;
}

static void put_price(const kr_best *b, size_t methods, const char *delta, kr_buf *out) {
    double least, most;
    bool within = kr_family_price((int64_t)methods, &least, &most);
    kr_buf_printf(out, "; uncorrected: picking the best of %zu lines that are each certified alone can "
                       "break the contract with probability up to %.1f %% instead of %s %% (close "
                       "methods, independent failures; measured at 1200 requests and 5 %%: %.0f to "
                       "%.0f %%%s).", methods, 100 * b->error, delta, 100 * least, 100 * most,
                  within ? "" : " for 12 methods");
}

void kr_best_sentence(const kr_analysis *a, const kr_best *b, kr_buf *out) {
    const kr_calib *c = kr_analysis_calib(a);
    size_t methods = kr_calib_methods(c);
    kr_contract k = kr_analysis_contract(a);
    char delta[KR_DEC_TEXT];
    if (methods < 2)
        return;
    if (!b->any) {
        kr_buf_printf(out, "Lowest retention over the %zu methods: none is certified%s, full KV.",
                      methods, b->covered ? " at a shared error budget" : "");
        return;
    }
    kr_buf level = {0};
    kr_level_text(c, b->method, b->candidate, &level);
    const kr_policy *p =
        kr_calib_policy(c, kr_calib_method(c, b->method)->first + (size_t)b->candidate);
    kr_buf_printf(out, "%s: lowest retention over the %zu methods: %s at %s%s",
                  kr_state_name(b->state), methods, kr_calib_method(c, b->method)->name,
                  kr_buf_text(&level), p->has_retention ? " %" : "");
    kr_buf_free(&level);
    if (b->covered)
        kr_buf_printf(out, "; %s, each method starts at 1/%zu of %s %%.",
                      kr_analysis_home_info(a)->family
                          ? "the choice is covered"
                          : "the choice would be covered had the family been declared before looking",
                      methods, kr_dec_percent(kr_contract_delta(&k), 0, delta));
    else
        put_price(b, methods, kr_dec_percent(kr_contract_delta(&k), 0, delta), out);
}
