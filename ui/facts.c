#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/model.h"
#include "ui/pages.h"
#include "verdict/joint.h"

/* With more requests than this, going through all of them is put off to the next frame. */
enum { COSTLY_REQUESTS = 30000 };
/* A list longer than this is cut to the largest drops before it is sorted. */
enum { MANY_REQUESTS = 200000, KEPT_REQUESTS = 5000 };
/* Task x level rates need every level's drops by task; beyond this many they are left out. */
static const double max_task_level_work = 3e6;

static const kr_method *method_of(const kr_app *a) { return kr_calib_method(a->calib, a->method); }

size_t kr_app_policy(const kr_app *a) {
    return method_of(a)->first + (size_t)(a->level < 0 ? 0 : a->level);
}

void kr_level_label(const kr_app *a, size_t method, int candidate, char out[32]) {
    kr_buf b = {0};
    kr_level_text(a->calib, method, candidate, &b);
    const char *s = kr_buf_text(&b);
    bool number = *s >= '0' && *s <= '9';
    snprintf(out, 32, "%.24s%s", s, number ? " %" : "");
    kr_buf_free(&b);
}

/* --- lists ------------------------------------------------------------------------------------ */

static bool contains(const char *text, const char *part) {
    return part[0] == '\0' || strstr(text, part) != NULL;
}

static kr_strip_cell strip_cell(const kr_app *a, int candidate) {
    double share = kr_share_kept(a->calib, a->method, candidate);
    return (kr_strip_cell){share, candidate < 0, true};
}

static void refresh_strips(kr_app *a) {
    kr_rect r = a->lay.pane[KR_PANE_CONTRACT];
    int n = r.w - (a->lay.box.w > 0 ? 0 : 4) - 35;
    n = r.w == 0 || n < 10 ? 0 : n > KR_STRIP_MAX ? KR_STRIP_MAX : n;
    a->f.strip_n = n;
    kr_contract now = kr_analysis_contract(a->an);
    bool counts = kr_calib_meta_of(a->calib)->kind == KR_KIND_COUNTS;
    static const kr_mode_kind joint_kinds[KR_FIELDS] = {KR_MODE_TOLERANCES, KR_MODE_RISKS,
                                                        KR_MODE_CONFIDENCE};
    for (int f = 0; f < KR_FIELDS; f++) {
        a->f.strip_mark[f] = kr_field_strip_column(a, (kr_field)f, n);
        for (int i = 0; i < n; i++) {
            kr_point p;
            kr_contract c =
                kr_field_with(now, (kr_field)f, kr_field_strip_value(a, (kr_field)f, i, n));
            a->f.strip[f][i].known = false;
            if (counts && f == KR_FIELD_TOLERANCE)
                continue;
            if ((a->joint ? kr_joint_at(a->an, joint_kinds[f], a->method, c, &p, NULL)
                          : kr_analysis_at(a->an, a->method, c, &p, NULL)) == KR_OK)
                a->f.strip[f][i] = strip_cell(a, p.certified);
        }
    }
}

static int shown_candidate(const kr_line *l) {
    return l->certified >= 0 ? l->certified : l->stopped >= 0 ? l->stopped : 0;
}

typedef struct {
    size_t index;
    double key;
    const char *name;
} method_key;

static int by_key(const void *pa, const void *pb) {
    const method_key *x = pa, *y = pb;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static int by_name(const void *pa, const void *pb) {
    return strcmp(((const method_key *)pa)->name, ((const method_key *)pb)->name);
}

static double or_last(double v) { return isfinite(v) ? v : 2; }

/* Columns: 0 certified (then empirical, then rate), 1 file order, 2 name, 3 empirical, 4 rate. */
static double method_sort_key(const kr_app *a, size_t m, int sort) {
    const kr_line *l = kr_analysis_line(a->an, m);
    double cert = or_last(kr_share_kept(a->calib, m, l->certified));
    double emp = or_last(kr_share_kept(a->calib, m, l->empirical));
    if (sort == 0)
        return cert * 1e6 + emp * 1e3 + a->f.method_rows[m].rate;
    if (sort == 4) /* full KV has no rate: last */
        return l->certified >= 0 ? a->f.method_rows[m].rate : 2;
    return sort == 3 ? emp * 1e3 + cert : (double)m;
}

static void reversed(size_t *order, size_t n) {
    for (size_t i = 0; i < n / 2; i++) {
        size_t t = order[i];
        order[i] = order[n - 1 - i];
        order[n - 1 - i] = t;
    }
}

static void order_methods(kr_app *a) {
    size_t n = kr_calib_methods(a->calib);
    method_key *k = calloc(n + 1, sizeof *k);
    kr_list *l = &a->methods;
    if (l->order == NULL)
        l->order = calloc(n + 1, sizeof *l->order);
    l->n = 0;
    if (k == NULL || l->order == NULL) {
        free(k);
        return;
    }
    for (size_t m = 0; m < n; m++) {
        const char *name = kr_calib_method(a->calib, m)->name;
        if (contains(name, l->filter))
            k[l->n++] = (method_key){m, method_sort_key(a, m, l->sort), name};
    }
    qsort(k, l->n, sizeof *k, l->sort == 2 ? by_name : by_key);
    l->at = 0;
    for (size_t i = 0; i < l->n; i++)
        l->order[i] = k[i].index;
    if (l->reverse)
        reversed(l->order, l->n);
    for (size_t i = 0; i < l->n; i++)
        if (l->order[i] == a->method)
            l->at = (int)i;
    free(k);
}

static void refresh_methods(kr_app *a) {
    size_t n = kr_calib_methods(a->calib);
    if (a->f.method_rows == NULL)
        a->f.method_rows = calloc(n + 1, sizeof *a->f.method_rows);
    if (a->f.method_rows == NULL)
        return;
    for (size_t m = 0; m < n; m++)
        a->f.method_rows[m] =
            kr_analysis_candidate(a->an, m, (size_t)shown_candidate(kr_analysis_line(a->an, m)));
    order_methods(a);
}

static void refresh_levels(kr_app *a) {
    const kr_method *m = method_of(a);
    free(a->f.levels);
    free(a->f.level_share);
    a->f.levels = calloc(m->count + 1, sizeof *a->f.levels);
    a->f.level_share = calloc(m->count + 1, sizeof *a->f.level_share);
    a->f.n_levels = a->f.levels != NULL && a->f.level_share != NULL ? m->count : 0;
    for (size_t i = 0; i < a->f.n_levels; i++) {
        a->f.levels[i] = kr_analysis_candidate(a->an, a->method, i);
        a->f.level_share[i] = kr_share_kept(a->calib, a->method, (int)i);
    }
    if (!a->level_pinned)
        a->level = shown_candidate(kr_analysis_line(a->an, a->method));
    if (a->level >= (int)m->count)
        a->level = (int)m->count - 1;
}

static void refresh_texts(kr_app *a) {
    kr_buf_free(&a->f.statement);
    kr_buf_free(&a->f.state_sentence);
    kr_statement(a->an, a->method, &a->f.statement);
    kr_analysis_state_sentence(a->an, &a->f.state_sentence);
}

/* --- map -------------------------------------------------------------------------------------- */

static const short wide_tolerances[] = {0,   10,  20,  30,  40,  50,  60,  80,
                                        100, 120, 150, 200, 250, 300, 400, 500};
static const short tolerances[] = {0, 20, 40, 60, 80, 100, 120, 150, 200, 250, 300};
static const short risks[] = {200, 150, 120, 100, 80, 60, 50, 40, 30, 20, 15, 10, 5};

static void map_axes(kr_app *a, int width) {
    kr_facts *f = &a->f;
    const kr_calib_meta *m = kr_calib_meta_of(a->calib);
    bool wide = width >= 112;
    double span = (double)(m->utility_max - m->utility_min) / (double)KR_NANO;
    f->map_rows = KR_MAP_ROWS;
    for (int y = 0; y < KR_MAP_ROWS; y++)
        f->map_risk[y] = kr_dec_make(risks[y], 3);
    if (m->kind == KR_KIND_COUNTS) {
        f->map_cols = 1;
        f->map_tolerance[0] = m->counts_tolerance;
        return;
    }
    f->map_cols = wide ? 16 : 11;
    for (int x = 0; x < f->map_cols; x++)
        f->map_tolerance[x] =
            kr_dec_from_double((wide ? wide_tolerances[x] : tolerances[x]) * span / 1000, 6);
}

/* The nearest of 0..n-1; 0 when there is none. */
static int inside(int at, int n) { return at < 0 || n <= 0 ? 0 : at >= n ? n - 1 : at; }

static void map_mark(kr_app *a) {
    kr_contract c = kr_analysis_contract(a->an);
    a->f.map_at_x = a->f.map_at_y = -1;
    for (int x = 0; x < a->f.map_cols; x++)
        if (kr_dec_cmp(a->f.map_tolerance[x], c.tolerance) == 0)
            a->f.map_at_x = x;
    for (int y = 0; y < a->f.map_rows; y++)
        if (kr_dec_cmp(a->f.map_risk[y], c.risk) == 0)
            a->f.map_at_y = y;
    if (!a->map_moved && a->f.map_at_x >= 0 && a->f.map_at_y >= 0) {
        a->map_x = a->f.map_at_x;
        a->map_y = a->f.map_at_y;
    }
    a->map_x = inside(a->map_x, a->f.map_cols);
    a->map_y = inside(a->map_y, a->f.map_rows);
}

const kr_map_cell *kr_map_cursor(const kr_app *a) {
    const kr_facts *f = &a->f;
    bool there = f->map_valid && f->map_method == a->method && a->map_x >= 0 &&
                 a->map_x < f->map_cols && a->map_y >= 0 && a->map_y < f->map_rows;
    return there ? &f->map[a->map_y][a->map_x] : NULL;
}

static void refresh_map(kr_app *a) {
    kr_facts *f = &a->f;
    kr_rect r = a->lay.pane[KR_PANE_MAP];
    int cols = f->map_cols;
    /* The axes are there from the start: a cursor always has a place, seen or not. */
    if (r.w > 0 || cols == 0)
        map_axes(a, r.w);
    if (r.w == 0) {
        map_mark(a);
        return;
    }
    kr_contract c = kr_analysis_contract(a->an);
    bool same = f->map_valid && f->map_family == kr_analysis_family(a->an) &&
                cols == f->map_cols && f->map_method == a->method &&
                kr_dec_cmp(f->map_confidence, c.confidence) == 0;
    for (int y = 0; y < f->map_rows && !same; y++)
        for (int x = 0; x < f->map_cols; x++) {
            kr_map_cell *k = &f->map[y][x];
            c.tolerance = f->map_tolerance[x];
            c.risk = f->map_risk[y];
            k->known = kr_analysis_at(a->an, a->method, c, &k->point, NULL) == KR_OK;
            k->joint = k->point;
            if (k->known && kr_joint_at(a->an, KR_MODE_MAP, a->method, c, &k->joint, NULL) != KR_OK)
                k->joint.certified = -1;
            k->joint_share = k->known ? kr_share_kept(a->calib, a->method, k->joint.certified) : NAN;
            k->share = k->known ? kr_share_kept(a->calib, a->method, k->point.certified) : NAN;
            k->empirical_share =
                k->known ? kr_share_kept(a->calib, a->method, k->point.empirical) : NAN;
        }
    f->map_valid = true;
    f->map_method = a->method;
    f->map_confidence = c.confidence;
    f->map_family = kr_analysis_family(a->an);
    map_mark(a);
}

/* --- tasks ------------------------------------------------------------------------------------ */

/* Columns: 0 file order, 1 rate, 2 upper limit, 3 name, 4 worst drop. Largest first. */
static double task_sort_key(const kr_task_row *t, int sort) {
    return sort == 1 ? -t->rate : sort == 2 ? -t->upper : sort == 4 ? -t->worst : (double)t->task;
}

static void order_tasks(kr_app *a) {
    size_t n = a->f.n_tasks;
    method_key *k = calloc(n + 1, sizeof *k);
    kr_list *l = &a->tasks;
    if (l->order == NULL)
        l->order = calloc(n + 1, sizeof *l->order);
    l->n = 0;
    if (k == NULL || l->order == NULL) {
        free(k);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const char *name = kr_calib_task(a->calib, i);
        double key = task_sort_key(&a->f.tasks[i], l->sort);
        if (contains(name, l->filter))
            k[l->n++] = (method_key){i, isfinite(key) ? key : 0, name};
    }
    qsort(k, l->n, sizeof *k, l->sort == 3 ? by_name : by_key);
    for (size_t i = 0; i < l->n; i++)
        l->order[i] = k[i].index;
    if (l->reverse)
        reversed(l->order, l->n);
    if (l->at >= (int)l->n)
        l->at = l->n > 0 ? (int)l->n - 1 : 0;
    free(k);
}

static bool put_off(const kr_app *a) {
    return !a->settling && kr_calib_rows(a->calib) > COSTLY_REQUESTS;
}

static bool rates_ready(const kr_app *a) {
    for (size_t i = 0; i < a->f.n_levels; i++)
        if (!kr_analysis_tasks_ready(a->an, method_of(a)->first + i))
            return false;
    return true;
}

static void refresh_task_levels(kr_app *a) {
    kr_facts *f = &a->f;
    double work = (double)kr_calib_rows(a->calib) * (double)f->n_levels;
    kr_dec tolerance = kr_analysis_contract(a->an).tolerance;
    f->rates_wait = false;
    if (a->screen != KR_SCREEN_TASKS || a->lay.pane[KR_PANE_LEVELS].w == 0 ||
        work > max_task_level_work || f->n_tasks == 0)
        return;
    if (f->task_rates != NULL && f->rates_method == a->method &&
        kr_dec_cmp(f->rates_tolerance, tolerance) == 0)
        return;
    free(f->task_rates);
    f->task_rates = NULL;
    f->rates_wait = put_off(a) && !rates_ready(a);
    if (f->rates_wait)
        return;
    f->rates_method = a->method;
    f->rates_tolerance = tolerance;
    f->task_rates = calloc(f->n_tasks * (f->n_levels + 1), sizeof *f->task_rates);
    for (size_t i = 0; i < f->n_levels && f->task_rates != NULL; i++)
        if (kr_analysis_task_rates(a->an, method_of(a)->first + i, f->task_rates + i * f->n_tasks,
                                   NULL) != KR_OK)
            for (size_t t = 0; t < f->n_tasks; t++)
                f->task_rates[i * f->n_tasks + t] = NAN;
}

static void refresh_tasks(kr_app *a) {
    kr_facts *f = &a->f;
    bool wanted = a->lay.pane[KR_PANE_TASKS].w > 0 || a->screen == KR_SCREEN_REQUESTS;
    f->tasks_known = f->tasks_wait = f->rates_wait = false;
    if (!wanted || kr_calib_meta_of(a->calib)->kind == KR_KIND_COUNTS)
        return;
    if (f->tasks == NULL) {
        f->n_tasks = kr_calib_tasks(a->calib);
        f->tasks = calloc(f->n_tasks + 1, sizeof *f->tasks);
    }
    if (f->tasks == NULL)
        return;
    refresh_task_levels(a);
    f->tasks_wait = put_off(a) && !kr_analysis_tasks_ready(a->an, kr_app_policy(a));
    if (f->tasks_wait)
        return;
    f->tasks_known = kr_analysis_tasks(a->an, kr_app_policy(a), f->tasks, NULL) == KR_OK;
    if (f->tasks_known)
        order_tasks(a);
}

/* --- requests --------------------------------------------------------------------------------- */

static int by_request(const void *pa, const void *pb) {
    const kr_request_ref *x = pa, *y = pb;
    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static bool id_contains(const kr_request *r, const char *part) {
    size_t n = strlen(part);
    for (size_t i = 0; i + n <= r->id_len; i++)
        if (memcmp(r->id + i, part, n) == 0)
            return true;
    return false;
}

static bool request_wanted(const kr_app *a, const kr_request *r, int64_t drop, int64_t tolerance) {
    if (r->split != kr_analysis_options_of(a->an).split)
        return false;
    if (a->request_task >= 0 && r->task != (size_t)a->request_task)
        return false;
    if (a->events_only && drop <= tolerance)
        return false;
    const char *part = a->requests.filter;
    return part[0] == '\0' || id_contains(r, part) ||
           contains(kr_calib_task(a->calib, r->task), part);
}

/* Columns: 0 drop, 1 file order, 2 full utility (lowest first), 3 tokens. */
static int64_t request_key(const kr_app *a, const kr_request *r, size_t row, int64_t drop) {
    (void)a;
    switch (a->requests.sort) {
    case 1: return -(int64_t)row;
    case 2: return r->full == KR_MISSING ? INT64_MAX : -r->full;
    case 3: return r->tokens;
    default: return drop;
    }
}

static void collect_requests(kr_app *a, int64_t tolerance, int64_t least) {
    kr_facts *f = &a->f;
    size_t policy = kr_app_policy(a), cap = 0;
    f->n_requests = f->requests_total = 0;
    for (size_t row = 0; row < kr_calib_rows(a->calib); row++) {
        kr_request r = kr_calib_row(a->calib, row);
        int64_t drop = kr_calib_row_drop(a->calib, row, policy);
        if (!request_wanted(a, &r, drop, tolerance))
            continue;
        f->requests_total++;
        if (drop < least)
            continue;
        if (f->n_requests == cap) {
            cap = cap == 0 ? 1024 : 2 * cap;
            kr_request_ref *more = realloc(f->requests, cap * sizeof *more);
            if (more == NULL)
                return;
            f->requests = more;
        }
        f->requests[f->n_requests++] = (kr_request_ref){row, request_key(a, &r, row, drop)};
    }
}

static void refresh_requests(kr_app *a) {
    kr_facts *f = &a->f;
    int64_t tolerance = 0;
    f->requests_wait = false;
    if (a->lay.pane[KR_PANE_REQUESTS].w == 0 || kr_calib_rows(a->calib) == 0)
        return;
    kr_dec_nano(kr_analysis_contract(a->an).tolerance, &tolerance);
    if (a->screen == KR_SCREEN_TASKS)
        a->request_task = a->tasks.n > 0 ? (int)a->tasks.order[a->tasks.at] : -1;
    size_t policy = kr_app_policy(a);
    bool same = f->requests_key.valid && f->requests_key.policy == policy &&
                f->requests_key.task == a->request_task &&
                f->requests_key.sort == a->requests.sort &&
                f->requests_key.events == a->events_only &&
                f->requests_key.reverse == a->requests.reverse &&
                (!a->events_only || f->requests_key.tolerance == tolerance) &&
                strcmp(f->requests_key.filter, a->requests.filter) == 0;
    if (same)
        return;
    f->requests_wait = put_off(a);
    if (f->requests_wait) {
        f->requests_key.valid = false;
        f->n_requests = 0;
        return;
    }
    kr_split split = kr_analysis_options_of(a->an).split;
    int64_t n = kr_calib_n(a->calib, split), least = INT64_MIN;
    if (n > MANY_REQUESTS && a->requests.filter[0] == '\0' && a->request_task < 0)
        least = kr_calib_drop(a->calib, policy, split, n - KEPT_REQUESTS);
    collect_requests(a, tolerance, least);
    if (f->n_requests > 0)
        qsort(f->requests, f->n_requests, sizeof *f->requests, by_request);
    a->requests.n = f->n_requests;
    for (size_t i = 0; a->requests.reverse && i < f->n_requests / 2; i++) {
        kr_request_ref t = f->requests[i];
        f->requests[i] = f->requests[f->n_requests - 1 - i];
        f->requests[f->n_requests - 1 - i] = t;
    }
    if (a->requests.at >= (int)a->requests.n)
        a->requests.at = a->requests.n > 0 ? (int)a->requests.n - 1 : 0;
    f->requests_key.valid = true;
    f->requests_key.policy = policy;
    f->requests_key.task = a->request_task;
    f->requests_key.sort = a->requests.sort;
    f->requests_key.events = a->events_only;
    f->requests_key.reverse = a->requests.reverse;
    f->requests_key.tolerance = tolerance;
    snprintf(f->requests_key.filter, KR_FILTER_MAX, "%s", a->requests.filter);
}

/* --- histogram of drops ----------------------------------------------------------------------- */

static void refresh_drops(kr_app *a) {
    static const double edge[] = {0, 0.25, 0.5, 0.75, 1, 1.5, 2, 4}; /* of the tolerance */
    kr_facts *f = &a->f;
    if (a->lay.pane[KR_PANE_DROPS].w == 0 || kr_calib_meta_of(a->calib)->kind == KR_KIND_COUNTS)
        return;
    kr_split split = kr_analysis_options_of(a->an).split;
    const kr_calib_meta *m = kr_calib_meta_of(a->calib);
    double tolerance = kr_dec_double(kr_analysis_contract(a->an).tolerance) * (double)KR_NANO;
    double unit = tolerance > 0 ? tolerance : (double)(m->utility_max - m->utility_min) / 10;
    size_t policy = kr_app_policy(a);
    int64_t above = kr_calib_n(a->calib, split);
    for (int i = 0; i < KR_DROP_BINS; i++) {
        f->bin_from[i + 1] = i + 1 < KR_DROP_BINS ? (int64_t)llround(edge[i] * unit) : INT64_MAX;
        int64_t next = i + 1 < KR_DROP_BINS
                           ? kr_calib_events(a->calib, policy, split, f->bin_from[i + 1])
                           : kr_calib_missing(a->calib, policy, split);
        f->bins[i] = above - next;
        above = next;
    }
    f->bin_from[0] = INT64_MIN;
}

/* --- all -------------------------------------------------------------------------------------- */

static void refresh_layout(kr_app *a) {
    kr_layout_need need = {
        .methods = (int)kr_calib_methods(a->calib),
        .levels = (int)method_of(a)->count,
        .heads = a->re != NULL && a->re->view_heads,
        .below = a->re != NULL ? (int)a->re->below : 0,
        .tasks = (int)kr_calib_tasks(a->calib),
        .points = (int)a->n_saved,
        .map_rows = KR_MAP_ROWS,
        .claims = a->claims.n,
        .entries = (int)a->book.ledger.n,
        .statement = kr_buf_text(&a->f.statement),
        .plot = a->plot_on,
    };
    if (a->screen == KR_SCREEN_POINTS && a->n_saved > 0)
        need.statement = a->saved[a->points.at].statement;
    if (a->screen == KR_SCREEN_CLAIMS)
        need.statement = kr_claim_text(a);
    if (a->screen == KR_SCREEN_LEDGER)
        need.statement = kr_buf_text(&a->book.detail);
    a->lay = kr_layout_make(a->screen, a->w, a->h, &need);
}

void kr_facts_refresh(kr_app *a) {
    refresh_methods(a);
    refresh_levels(a);
    refresh_texts(a);
    kr_claims_refresh(a);
    kr_book_refresh(a);
    refresh_layout(a);
    refresh_strips(a);
    refresh_map(a);
    refresh_tasks(a);
    refresh_requests(a);
    refresh_drops(a);
    kr_plan_refresh(a);
}

void kr_facts_free(kr_facts *f) {
    free(f->method_rows);
    free(f->levels);
    free(f->level_share);
    free(f->tasks);
    free(f->task_rates);
    free(f->requests);
    kr_buf_free(&f->statement);
    kr_buf_free(&f->state_sentence);
    memset(f, 0, sizeof *f);
}

void kr_facts_forget(kr_app *a) {
    kr_facts_free(&a->f);
    free(a->methods.order);
    free(a->tasks.order);
    a->methods.order = a->tasks.order = NULL;
    a->methods.n = a->tasks.n = a->requests.n = 0;
}
