#include "verdict/joint.h"

#include "risk/evalue.h"
#include "risk/posthoc.h"
#include "risk/tolerance.h"
#include "verdict/grid.h"

static bool declares(const kr_declared *d, kr_mode_kind kind) {
    switch (kind) {
    case KR_MODE_TOLERANCES: return d->explore && d->n_tolerances > 0;
    case KR_MODE_RISKS: return d->explore && d->n_risks > 0;
    case KR_MODE_MAP: return d->explore && d->n_tolerances > 0 && d->n_risks > 0;
    case KR_MODE_CONFIDENCE: return d->explore && d->any_confidence;
    default: return false;
    }
}

/* One budget pays for one table: with grids for both, that is the map, which contains the others. */
static kr_mode_kind table_of(const kr_declared *d, kr_mode_kind kind) {
    bool grids = kind == KR_MODE_TOLERANCES || kind == KR_MODE_RISKS;
    return grids && declares(d, KR_MODE_MAP) ? KR_MODE_MAP : kind;
}

kr_dec kr_joint_delta(const kr_analysis *a, kr_mode_kind kind, bool *declared) {
    const kr_declared *d = kr_analysis_declared(a);
    kr_contract k = kr_analysis_contract(a), home = kr_analysis_home(a);
    if (declared != NULL)
        *declared = declares(d, kind);
    if (kind == KR_MODE_CONFIDENCE)
        return kr_contract_delta(&k);
    return declares(d, kind) ? d->explore_delta : kr_contract_delta(&home);
}

static kr_level shared(const kr_analysis *a, kr_level l) {
    size_t methods = kr_calib_methods(kr_analysis_calib(a));
    return kr_analysis_family(a) ? kr_level_make(l.num, l.den * (int64_t)methods) : l;
}

kr_level kr_joint_level(const kr_analysis *a, kr_mode_kind kind, size_t method, kr_contract k) {
    const kr_declared *d = kr_analysis_declared(a);
    const kr_calib *c = kr_analysis_calib(a);
    size_t m = kr_calib_method(c, method)->count;
    kr_dec grid[16];
    if (kind == KR_MODE_CONFIDENCE)
        return shared(a, kr_contract_level(&k, 1));
    kr_level delta = kr_level_make(kr_joint_delta(a, kind, NULL), 1);
    kr_mode_kind table = table_of(d, kind);
    bool own = declares(d, table);
    if (table == KR_MODE_MAP) {
        size_t t = own ? d->n_tolerances : kr_grid_tolerances(c, true, grid);
        return shared(a, kr_posthoc_level_map(delta, m, t, own ? d->n_risks : kr_grid_risks(grid)));
    }
    size_t points = !own ? 0 : table == KR_MODE_RISKS ? d->n_risks : d->n_tolerances;
    return shared(a, kr_posthoc_level(delta, m, points));
}

/* The largest declared point that is not above v; false where there is none. */
static bool lower_point(const kr_dec *grid, size_t n, kr_dec v, kr_dec *out) {
    bool found = false;
    for (size_t i = 0; i < n; i++)
        if (kr_dec_cmp(grid[i], v) <= 0 && (!found || kr_dec_cmp(grid[i], *out) > 0)) {
            *out = grid[i];
            found = true;
        }
    return found;
}

/* k moved to the declared point that speaks for it; false where none does. */
static bool to_grid(const kr_analysis *a, kr_mode_kind table, kr_contract *k) {
    const kr_declared *d = kr_analysis_declared(a);
    bool counts = kr_calib_meta_of(kr_analysis_calib(a))->kind == KR_KIND_COUNTS;
    kr_dec grid[16];
    if (table == KR_MODE_MAP && !declares(d, table)) { /* the usual grid, whatever is asked for */
        size_t n = kr_grid_tolerances(kr_analysis_calib(a), true, grid);
        if (!counts && !lower_point(grid, n, k->tolerance, &k->tolerance))
            return false;
        n = kr_grid_risks(grid);
        return lower_point(grid, n, k->risk, &k->risk);
    }
    if (!declares(d, table) || table == KR_MODE_CONFIDENCE)
        return true;
    bool t = table != KR_MODE_RISKS, r = table != KR_MODE_TOLERANCES;
    return (!t || lower_point(d->tolerance, d->n_tolerances, k->tolerance, &k->tolerance)) &&
           (!r || lower_point(d->risk, d->n_risks, k->risk, &k->risk));
}

bool kr_joint_contract(const kr_analysis *a, kr_mode_kind kind, kr_contract *k) {
    return to_grid(a, table_of(kr_analysis_declared(a), kind), k);
}

bool kr_joint_limits_level(const kr_analysis *a, size_t method, kr_level *out) {
    const kr_declared *d = kr_analysis_declared(a);
    if (table_of(d, KR_MODE_RISKS) != KR_MODE_RISKS)
        return false;
    kr_level delta = kr_level_make(kr_joint_delta(a, KR_MODE_RISKS, NULL), 1);
    *out = shared(a, kr_posthoc_level(delta, kr_calib_method(kr_analysis_calib(a), method)->count, 0));
    return true;
}

kr_status kr_joint_at(kr_analysis *a, kr_mode_kind kind, size_t method, kr_contract k,
                      kr_point *out, kr_error *err) {
    const kr_declared *d = kr_analysis_declared(a);
    kr_point plain;
    kr_status st = kr_analysis_at_mode(a, method, false, k, &plain, err); /* checks k */
    if (st != KR_OK)
        return st;
    if (!to_grid(a, table_of(d, kind), &k)) {
        *out = (kr_point){.certified = -1, .empirical = plain.empirical, .max_events = -1,
                          .certified_events = -1, .stopped_events = -1, .stopped = -1};
        return KR_OK;
    }
    kr_level level = kr_joint_level(a, kind, method, k);
    if (kind == KR_MODE_CONFIDENCE) {
        kr_limits e = kr_evalue_limits(kr_analysis_n(a), k.risk, level);
        return kr_analysis_walk_limits(a, method, k.tolerance, &e, out, err);
    }
    return kr_analysis_walk_limits(a, method, k.tolerance, kr_analysis_limits(a, k.risk, level),
                                   out, err);
}

/* What the table leaves fixed is what the contract says. */
static bool rest_at_home(const kr_analysis *a, kr_mode_kind table, kr_contract k) {
    kr_contract home = kr_analysis_home(a);
    bool t = kr_dec_cmp(k.tolerance, home.tolerance) == 0;
    bool r = kr_dec_cmp(k.risk, home.risk) == 0;
    switch (table) {
    case KR_MODE_TOLERANCES: return r;
    case KR_MODE_RISKS: return t;
    case KR_MODE_CONFIDENCE: return t && r;
    default: return true;
    }
}

kr_state kr_joint_state(const kr_analysis *a, kr_mode_kind kind, size_t method, kr_contract k) {
    const kr_declared *d = kr_analysis_declared(a);
    const kr_home *h = kr_analysis_home_info(a);
    const kr_calib *c = kr_analysis_calib(a);
    kr_analysis_options o = kr_analysis_options_of(a);
    kr_mode_kind table = table_of(d, kind);
    if (kr_analysis_dependent(a) && !o.assume_independent)
        return KR_STATE_REFUSED;
    /* one method's table, or those of all methods at shares of the budget */
    bool mine = kr_analysis_line_declared(a, method) && (kr_analysis_family(a) || h->method != NULL);
    bool locked = declares(d, table) && d->mode == KR_MODE_EVENTS && h->kind != KR_HOME_NONE &&
                  h->has && o.split == KR_SPLIT_CAL && !kr_calib_meta_of(c)->partial &&
                  (mine || kr_calib_methods(c) == 1) && rest_at_home(a, table, k);
    return locked ? KR_STATE_LOCKED : KR_STATE_WHAT_IF;
}

static void put_budget(const kr_analysis *a, kr_mode_kind kind, kr_buf *out) {
    kr_contract home = kr_analysis_home(a);
    kr_dec delta = kr_contract_delta(&home), sum, x = kr_joint_delta(a, kind, NULL);
    char t[KR_DEC_TEXT], s[KR_DEC_TEXT];
    if (kr_dec_add(delta, x, &sum))
        kr_buf_printf(out, " Its budget of %s %% adds to the contract's: %s %% together.",
                      kr_dec_percent(x, 0, t), kr_dec_percent(sum, 0, s));
}

void kr_joint_sentence(const kr_analysis *a, kr_mode_kind kind, size_t method, kr_buf *out) {
    static const char *const what[] = {[KR_MODE_TOLERANCES] = "tolerance",
                                       [KR_MODE_RISKS] = "risk target",
                                       [KR_MODE_MAP] = "tolerance and risk target"};
    const kr_declared *d = kr_analysis_declared(a);
    const char *name = kr_calib_method(kr_analysis_calib(a), method)->name;
    bool declared;
    kr_dec delta = kr_joint_delta(a, kind, &declared), one = kr_dec_make(1, 0), conf;
    kr_level level = kr_joint_level(a, kind, method, kr_analysis_contract(a));
    char t[KR_DEC_TEXT];
    if (!declared)
        kr_buf_puts(out, "Not declared before looking, so what-if: ");
    if (kr_analysis_dependent(a) && kr_analysis_options_of(a).assume_independent)
        kr_buf_puts(out, "Assuming that requests of one cluster are independent, as asserted: ");
    if (kind == KR_MODE_CONFIDENCE) {
        kr_buf_printf(out, "e-values let the confidence for %s be picked after looking; whatever level d "
                           "is picked, false claims divided by d have expectation at most 1. The level adds "
                           "to that of the contract's own claim.", name);
        return;
    }
    if (!kr_dec_sub(one, delta, &conf))
        return;
    kr_buf_printf(out, "with probability at least %s %% all verdicts on %s hold at once, whatever %s%s "
                       "is picked after looking (each cell at level %.3g).",
                  kr_dec_percent(conf, 0, t), name, what[kind],
                  declares(d, table_of(d, kind)) || kind == KR_MODE_MAP ? " of the grid" : "",
                  kr_level_double(level));
    if (!kr_analysis_home_info(a)->table_only)
        put_budget(a, kind, out);
}

typedef struct {
    const kr_calib *c;
    size_t policy;
    kr_split split;
} drops;

static int64_t drop_at(void *ctx, int64_t rank) {
    const drops *d = ctx;
    return kr_calib_drop(d->c, d->policy, d->split, rank);
}

bool kr_joint_tolerance_at(const kr_analysis *a, size_t method, size_t index, int64_t max_events,
                           kr_dec *out) {
    const kr_calib *c = kr_analysis_calib(a);
    kr_analysis_options o = kr_analysis_options_of(a);
    int64_t t;
    if (kr_calib_meta_of(c)->kind == KR_KIND_COUNTS ||
        (kr_analysis_dependent(a) && !o.assume_independent))
        return false;
    drops d = {c, kr_calib_method(c, method)->first + index, o.split};
    if (!kr_tolerance_certified(kr_analysis_n(a), max_events, drop_at, &d, &t))
        return false;
    *out = kr_nano_dec(t < 0 ? 0 : t);
    return true;
}

bool kr_joint_tolerance(const kr_analysis *a, size_t method, size_t index, kr_dec *out) {
    return kr_joint_tolerance_at(a, method, index, kr_analysis_line_limits(a, method)->kmax, out);
}
