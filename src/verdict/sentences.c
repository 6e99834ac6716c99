#include <math.h>
#include <string.h>

#include "verdict/verdict.h"

/* "65 % of the KV cache" or "the threshold 0.0005 (87.5 % of the KV cache on average)". */
static void put_level(const kr_calib *c, size_t method, int index, kr_buf *out) {
    const kr_policy *p = kr_calib_policy(c, kr_calib_method(c, method)->first + (size_t)index);
    char t[KR_DEC_TEXT];
    double share = kr_share_kept(c, method, index);
    if (p->has_retention)
        kr_buf_printf(out, "keeping %s %% of the KV cache", kr_dec_percent(p->retention, 0, t));
    else if (p->has_threshold && isfinite(share))
        kr_buf_printf(out, "at threshold %s (%.1f %% of the KV cache kept on average)",
                      kr_dec_text(p->threshold, t), 100 * share);
    else if (p->has_threshold)
        kr_buf_printf(out, "at threshold %s", kr_dec_text(p->threshold, t));
    else
        kr_buf_puts(out, "at its one level (share kept not stated)");
}

/* Tasks that have requests in the split: a task without any is in no claim. */
static size_t sampled_tasks(const kr_calib *c, kr_split s) {
    size_t n = 0;
    for (size_t t = 0; t < kr_calib_tasks(c); t++)
        n += kr_calib_task_n(c, s, t) > 0;
    return n;
}

void kr_population_text(const kr_analysis *a, kr_buf *out) {
    const kr_calib *c = kr_analysis_calib(a);
    const kr_calib_meta *m = kr_calib_meta_of(c);
    kr_split s = kr_analysis_options_of(a).split;
    size_t all = m->kind == KR_KIND_COUNTS ? (size_t)m->counts_tasks : kr_calib_tasks(c);
    size_t tasks = m->kind == KR_KIND_COUNTS ? all : sampled_tasks(c, s);
    if (tasks == 1 && all == 1)
        kr_buf_puts(out, "the one task sampled");
    else if (tasks < all)
        kr_buf_printf(out, "as-sampled mixture of %zu of the %zu tasks (the others have no requests)",
                      tasks, all);
    else if (tasks == 0)
        kr_buf_puts(out, "the population sampled");
    else if (kr_calib_task_uniform(c, s))
        kr_buf_printf(out, "task-uniform mixture of %zu tasks", tasks);
    else
        kr_buf_printf(out, "as-sampled mixture of %zu tasks (unequal numbers, not task-uniform)",
                      tasks);
}

static void put_stop(const kr_analysis *a, size_t method, kr_buf *out) {
    const kr_calib *c = kr_analysis_calib(a);
    const kr_line *l = kr_analysis_line(a, method);
    long long kmax = l->max_events, n = kr_analysis_n(a);
    if (l->why == KR_STOP_NONE || l->stopped < 0)
        return;
    kr_buf level = {0};
    kr_level_text(c, method, l->stopped, &level);
    const kr_policy *p = kr_calib_policy(c, kr_calib_method(c, method)->first + (size_t)l->stopped);
    if (l->why == KR_STOP_NO_COUNT)
        kr_buf_printf(out, "the walk stopped at %s%s: it was not measured", kr_buf_text(&level),
                      p->has_retention ? " %" : "");
    else if (l->why == KR_STOP_UNDECIDED)
        kr_buf_printf(out, "the walk stopped at %s%s: its p-value is too close to the level to "
                           "decide in floating point, so it is not certified",
                      kr_buf_text(&level), p->has_retention ? " %" : "");
    else
        kr_buf_printf(out, "the walk stopped at %s%s: %lld events of %lld, at most %lld allowed",
                      kr_buf_text(&level), p->has_retention ? " %" : "",
                      (long long)l->stopped_events, n, kmax);
    kr_buf_free(&level);
}

static void put_contract(const kr_analysis *a, kr_buf *out) {
    kr_contract k = kr_analysis_contract(a);
    char t[KR_DEC_TEXT], r[KR_DEC_TEXT];
    kr_buf_printf(out, "loses more than %s utility on at most %s %% of requests",
                  kr_dec_fixed(k.tolerance, 2, t), kr_dec_percent(k.risk, 0, r));
}

static void put_fallback(const kr_analysis *a, size_t method, kr_buf *out) {
    const char *name = kr_calib_method(kr_analysis_calib(a), method)->name;
    const kr_line *l = kr_analysis_line(a, method);
    kr_buf_printf(out, "%s falls back to full KV: ", name);
    if (l->status == KR_ST_REFUSED)
        kr_buf_puts(out, "requests share clusters or prompts, so they are not independent and the "
                         "binomial test does not apply; nothing is certified.");
    else if (l->status == KR_ST_CANNOT_CERTIFY)
        kr_buf_printf(out, "n = %lld is too few, not even zero events would certify.",
                      (long long)kr_analysis_n(a));
    else {
        put_stop(a, method, out);
        kr_buf_puts(out, ".");
    }
}

static void put_conditions(const kr_analysis *a, size_t method, kr_buf *out) {
    const kr_calib_meta *m = kr_calib_meta_of(kr_analysis_calib(a));
    kr_split s = kr_analysis_options_of(a).split;
    bool what_if = kr_analysis_line_state(a, method) == KR_STATE_WHAT_IF;
    if (m->partial)
        kr_buf_puts(out, "If every earlier candidate passed, as published, and had this contract been "
                         "fixed before looking (what-if, no guarantee): ");
    else if (what_if && s == KR_SPLIT_TEST)
        kr_buf_puts(out, "What-if on the test split, no guarantee: ");
    else if (what_if)
        kr_buf_puts(out, "What-if, no guarantee: had this contract been fixed before looking, ");
    if (kr_analysis_dependent(a))
        kr_buf_puts(out, "Assuming that requests of one cluster are independent, as asserted: ");
}

void kr_statement(const kr_analysis *a, size_t method, kr_buf *out) {
    const kr_calib *c = kr_analysis_calib(a);
    const kr_line *l = kr_analysis_line(a, method);
    kr_contract k = kr_analysis_contract(a);
    size_t from = out->len;
    char conf[KR_DEC_TEXT];
    if (l->certified < 0) {
        put_fallback(a, method, out);
        return;
    }
    put_conditions(a, method, out);
    kr_buf_printf(out, "%s probability at least %s %% over the draw of the %lld %s requests, %s ",
                  out->len == from ? "With" : "with", kr_dec_percent(k.confidence, 0, conf),
                  (long long)kr_analysis_n(a),
                  kr_analysis_options_of(a).split == KR_SPLIT_TEST ? "test" : "calibration",
                  kr_calib_method(c, method)->name);
    put_level(c, method, l->certified, out);
    kr_buf_puts(out, " ");
    put_contract(a, out);
    kr_buf_puts(out, " of the ");
    kr_buf population = {0};
    kr_population_text(a, &population);
    const char *p = kr_buf_text(&population);
    kr_buf_puts(out, strncmp(p, "the ", 4) == 0 ? p + 4 : p);
    kr_buf_free(&population);
    if (kr_analysis_family(a) && kr_calib_methods(c) > 1 && kr_analysis_home_info(a)->family)
        kr_buf_printf(out, "; this holds together with every other certified line, so the choice "
                           "among the %zu methods is covered", kr_calib_methods(c));
    kr_buf_puts(out, ". No claim for a single task or request.");
    if (kr_tolerance_says_nothing(c, k.tolerance))
        kr_buf_puts(out, " It says next to nothing: no drop within the range of utilities exceeds this tolerance, so "
                         "only missing results are events.");
}

/* Several lines at once: what is not covered by certifying each of them alone. */
static void put_choice(const kr_analysis *a, kr_buf *out) {
    const kr_calib *c = kr_analysis_calib(a);
    size_t methods = kr_calib_methods(c);
    if (methods < 2)
        return;
    const kr_home *h = kr_analysis_home_info(a);
    if (kr_analysis_family(a))
        kr_buf_printf(out, " The choice among the %zu methods %s: each starts at 1/%zu of the error level, "
                           "and all certified lines hold together.", methods,
                      h->family ? "is covered, as declared"
                                : "would be covered had the family been declared before looking", methods);
    else if (h->method != NULL)
        kr_buf_printf(out, " The contract was declared for %s; the other lines are exploration.",
                      h->method);
    else
        kr_buf_puts(out, " Each line alone at this confidence; choosing among methods is not covered.");
}

/* Prompts that repeat are named, so that they can be looked up. */
static void put_repeats(const kr_analysis *a, kr_buf *out) {
    const kr_repeats *r = kr_analysis_repeats(a);
    if (r->repeats == 0)
        return;
    kr_buf_printf(out, "%lld requests repeat the prompt of another (%.*s and %.*s, for example), so they are "
                       "not independent and the binomial test does not apply (--assume-independent "
                       "overrides and is printed). ",
                  (long long)r->repeats, (int)(r->first_len < 80 ? r->first_len : 80), r->first,
                  (int)(r->second_len < 80 ? r->second_len : 80), r->second);
}

static void put_state_sentence(const kr_analysis *a, kr_state state, kr_buf *out) {
    const kr_calib *c = kr_analysis_calib(a);
    const kr_calib_meta *m = kr_calib_meta_of(c);
    kr_analysis_options o = kr_analysis_options_of(a);
    const kr_home *h = kr_analysis_home_info(a);
    const kr_declared *d = kr_analysis_declared(a);
    switch (state) {
    case KR_STATE_LOCKED:
        kr_buf_puts(out, h->text != NULL ? h->text : "The contract declared in the file.");
        put_choice(a, out);
        break;
    case KR_STATE_REFUSED:
        put_repeats(a, out);
        if (kr_calib_cluster_repeats(c, o.split) == 0)
            break;
        kr_buf_printf(out, "%lld requests belong to the cluster of an earlier one, so requests are not "
                           "independent and the binomial test does not apply "
                           "(--assume-independent overrides and is printed).",
                      (long long)kr_calib_cluster_repeats(c, o.split));
        break;
    case KR_STATE_N_TOO_SMALL: {
        kr_contract k = kr_analysis_contract(a);
        long long n = kr_analysis_n(a), needed = kr_n_min(k.risk, kr_analysis_level(a));
        kr_buf_printf(out, "With %lld request%s not even zero events certify this contract; it needs ",
                      n, n == 1 ? "" : "s");
        if (needed > 0)
            kr_buf_printf(out, "at least %lld.", needed);
        else
            kr_buf_puts(out, "more than a thousand million.");
        break;
    }
    case KR_STATE_UNDECIDED:
        kr_buf_puts(out, "A p-value is too close to the level to decide in floating point; it is "
                         "treated as not certified.");
        break;
    case KR_STATE_WHAT_IF:
        if (h->kind == KR_HOME_NONE && h->text != NULL)
            kr_buf_puts(out, h->text);
        else if (o.split == KR_SPLIT_TEST)
            kr_buf_puts(out, "Exploration on the test split, no guarantee.");
        else if (m->partial)
            kr_buf_puts(out, "Published counts of some candidates only: exploration, no guarantee.");
        else if (!h->has)
            kr_buf_puts(out, "The file declares no contract: exploration, no guarantee.");
        else if (kr_analysis_at_home(a) && h->table_only)
            kr_buf_puts(out, "What was locked is the joint table over tolerances, not this contract alone: "
                             "exploration, no guarantee.");
        else if (kr_analysis_at_home(a) && d->mode != KR_MODE_EVENTS)
            kr_buf_printf(out, "The file declares this contract for another claim (%s): exploration, "
                               "no guarantee.", kr_mode_name(d->mode));
        else if (kr_analysis_at_home(a))
            kr_buf_printf(out, "The contract was declared for %s: exploration, no guarantee.",
                          h->family ? "the choice among methods, not for each line alone"
                                             : "one method, not for the choice among methods");
        else
            kr_buf_puts(out, h->kind == KR_HOME_LEDGER
                                 ? "Not the contract that was locked: exploration, no guarantee."
                                 : "Not the contract declared in the file: exploration, no guarantee.");
        put_choice(a, out);
        break;
    }
    if (!o.assume_independent || !kr_analysis_dependent(a))
        return;
    kr_buf_puts(out, " Requests of one cluster are assumed independent, as asserted.");
}

void kr_analysis_state_sentence(const kr_analysis *a, kr_buf *out) {
    put_state_sentence(a, kr_analysis_state(a), out);
}

void kr_line_state_sentence(const kr_analysis *a, size_t method, kr_buf *out) {
    kr_state line = kr_analysis_line_state(a, method);
    const char *declared = kr_analysis_home_info(a)->method;
    if (line == KR_STATE_WHAT_IF && kr_analysis_at_home(a) && !kr_analysis_line_declared(a, method)) {
        kr_buf_printf(out, "The contract was declared for %s; this line is exploration, no guarantee.",
                      declared != NULL ? declared : "other methods");
        return;
    }
    put_state_sentence(a, line, out);
}

static void put_contract_line(const kr_analysis *a, kr_state state, int64_t max_events, kr_buf *out) {
    kr_contract k = kr_analysis_contract(a);
    char t[KR_DEC_TEXT], r[KR_DEC_TEXT], f[KR_DEC_TEXT];
    kr_buf_printf(out, "%s: tolerance %s, risk target %s %%, confidence %s %%", kr_state_name(state),
                  kr_dec_fixed(k.tolerance, 2, t), kr_dec_percent(k.risk, 0, r),
                  kr_dec_percent(k.confidence, 0, f));
    if (max_events >= 0)
        kr_buf_printf(out, ", at most %lld events of %lld requests", (long long)max_events,
                      (long long)kr_analysis_n(a));
}

void kr_line_overall_statement(const kr_analysis *a, size_t method, kr_buf *out) {
    const kr_line *l = kr_analysis_line(a, method);
    put_contract_line(a, kr_analysis_line_state(a, method), l->max_events, out);
    kr_buf_printf(out, "; %s %s. ", kr_calib_method(kr_analysis_calib(a), method)->name,
                  l->certified >= 0 ? "certified" : "falls back to full KV");
    kr_line_state_sentence(a, method, out);
}

void kr_overall_statement(const kr_analysis *a, kr_buf *out) {
    size_t certified = kr_analysis_certified_count(a), methods = kr_calib_methods(kr_analysis_calib(a));
    put_contract_line(a, kr_analysis_state(a), kr_analysis_max_events(a), out);
    kr_buf_printf(out, "; %zu of %zu method%s certified, %zu fall%s back to full KV. ", certified,
                  methods, methods == 1 ? "" : "s", methods - certified,
                  methods - certified == 1 ? "s" : "");
    kr_analysis_state_sentence(a, out);
}
