/* Where it hurts: task by task, level by level, request by request. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ui/model.h"

static double risk_of(const kr_app *a) { return kr_dec_double(kr_analysis_contract(a->an).risk); }

/* Top of the intervals' scale: three times the target, or what the largest lower limits need. */
static double interval_top(const kr_app *a) {
    double top = 3 * risk_of(a);
    for (size_t i = 0; i < a->f.n_tasks; i++)
        top = a->f.tasks[i].rate > top ? a->f.tasks[i].rate : top;
    return top < 1 ? top : 1;
}

static kr_role flag_role(kr_task_flag f) {
    return f == KR_TASK_OK ? KR_ROLE_CERT : f == KR_TASK_VIOLATES ? KR_ROLE_FALL : KR_ROLE_TEXT;
}

typedef struct {
    int name, count, rate, limits, flag, median, p90, worst, bar;
} task_columns;

static task_columns fit_tasks(const kr_app *a, int w) {
    task_columns c = {.count = 10, .rate = 8, .flag = 11};
    int longest = 6;
    for (size_t i = 0; i < a->f.n_tasks; i++) {
        int n = kr_text_width(kr_calib_task(a->calib, i));
        longest = n > longest ? n : longest;
    }
    char all[48];
    const kr_candidate_row *k = &a->f.levels[a->level];
    int count = snprintf(all, sizeof all, "%lld/%lld", (long long)k->events, (long long)k->n) + 2;
    c.count = count > c.count ? count : c.count;
    c.name = (longest > 24 ? 24 : longest) + 1;
    int room = w - 2 - c.name - c.count - c.rate - c.flag;
    if (room < 10) {
        c.flag = 0;
        room += 11;
    }
    c.bar = room < 10 ? 0 : 10;
    room -= c.bar;
    int *const more[] = {&c.limits, &c.worst, &c.median, &c.p90};
    static const int need[] = {17, 9, 9, 9};
    for (size_t i = 0; i < 4 && room >= need[i]; i++) {
        *more[i] = need[i];
        room -= need[i];
    }
    c.bar += room > 0 && c.bar > 0 ? room : 0;
    return c;
}

static int put(kr_view *v, kr_rect in, int x, int y, int w, kr_role role, const char *s) {
    kr_canvas_field(v->c, in, x, y, w, KR_RIGHT, role, s);
    return x + w;
}

static void tasks_header(kr_view *v, kr_rect in, const task_columns *c) {
    int x = 2;
    kr_canvas_field(v->c, in, x, 0, c->name, KR_LEFT, KR_ROLE_DIM, "task");
    x = put(v, in, x + c->name, 0, c->count, KR_ROLE_DIM, "events");
    x = put(v, in, x, 0, c->rate, KR_ROLE_DIM, "rate");
    x = put(v, in, x, 0, c->limits, KR_ROLE_DIM, "interval");
    x = put(v, in, x, 0, c->median, KR_ROLE_DIM, "median");
    x = put(v, in, x, 0, c->p90, KR_ROLE_DIM, "p90");
    x = put(v, in, x, 0, c->worst, KR_ROLE_DIM, "worst");
    kr_canvas_field(v->c, in, x + 2, 0, c->flag - 2, KR_LEFT, KR_ROLE_DIM, "flag");
    if (c->bar > 0)
        kr_canvas_field(v->c, in, x + c->flag + 1, 0, c->bar - 1, KR_LEFT, KR_ROLE_DIM, "╎ risk");
}

static int drop_field(kr_view *v, kr_rect in, int x, int y, int w, double drop, double tolerance) {
    char s[32] = "missing";
    if (isfinite(drop))
        kr_number_text(drop, 3, w - 1, s);
    return put(v, in, x, y, w, isfinite(drop) && drop <= tolerance ? KR_ROLE_TEXT : KR_ROLE_FALL,
               s);
}

static void task_row(kr_view *v, kr_rect in, int y, const kr_task_row *t, const task_columns *c,
                     bool here) {
    const kr_app *a = v->a;
    double tolerance = kr_dec_double(kr_analysis_contract(a->an).tolerance);
    char s[48];
    int x = 2;
    kr_canvas_field(v->c, in, 0, y, 2, KR_LEFT, KR_ROLE_KEY, here ? "▸" : "");
    kr_canvas_field(v->c, in, x, y, c->name, KR_LEFT, KR_ROLE_TEXT,
                    kr_calib_task(a->calib, t->task));
    snprintf(s, sizeof s, "%lld/%lld", (long long)t->events, (long long)t->n);
    x = put(v, in, x + c->name, y, c->count, KR_ROLE_TEXT, s);
    snprintf(s, sizeof s, isfinite(t->rate) ? "%.1f%%" : "-", 100 * t->rate);
    x = put(v, in, x, y, c->rate, KR_ROLE_VALUE, s);
    snprintf(s, sizeof s, "%.1f%% to %.1f%%", 100 * t->lower, 100 * t->upper);
    x = put(v, in, x, y, c->limits, KR_ROLE_DIM, s);
    x = c->median > 0 ? drop_field(v, in, x, y, c->median, t->median, tolerance) : x;
    x = c->p90 > 0 ? drop_field(v, in, x, y, c->p90, t->p90, tolerance) : x;
    x = c->worst > 0 ? drop_field(v, in, x, y, c->worst, t->worst, tolerance) : x;
    kr_canvas_field(v->c, in, x + 2, y, c->flag - 2, KR_LEFT, flag_role(t->flag),
                    kr_task_flag_name(t->flag));
    if (c->bar > 3)
        kr_interval(v->c, in, x + c->flag + 1, y, c->bar - 1, t->lower, t->rate, t->upper,
                    risk_of(a), interval_top(a), flag_role(t->flag));
}

static void pooled_row(kr_view *v, kr_rect in, int y, const task_columns *c) {
    const kr_app *a = v->a;
    const kr_candidate_row *k = &a->f.levels[a->level];
    char s[48];
    kr_canvas_field(v->c, in, 2, y, c->name, KR_LEFT, KR_ROLE_TITLE, "all");
    snprintf(s, sizeof s, "%lld/%lld", (long long)k->events, (long long)k->n);
    int x = put(v, in, 2 + c->name, y, c->count, KR_ROLE_VALUE, s);
    snprintf(s, sizeof s, "%.1f%%", 100 * k->rate);
    x = put(v, in, x, y, c->rate, KR_ROLE_VALUE, s);
    snprintf(s, sizeof s,
             k->verdict == KR_VERDICT_PASS   ? "pass"
             : k->verdict == KR_VERDICT_STOP ? "STOP"
                                             : "not run");
    x += c->limits + c->median + c->p90 + c->worst;
    kr_canvas_field(v->c, in, x + 2, y, c->flag - 2, KR_LEFT,
                    k->verdict == KR_VERDICT_PASS ? KR_ROLE_CERT : KR_ROLE_FALL, s);
}

static void tasks_note(kr_view *v, kr_rect in, int y) {
    const kr_app *a = v->a;
    size_t bad = 0, open = 0;
    const char *first = "";
    for (size_t i = 0; i < a->f.n_tasks; i++) {
        open += a->f.tasks[i].flag == KR_TASK_NOT_SHOWN ? 1 : 0;
        if (a->f.tasks[i].flag != KR_TASK_VIOLATES)
            continue;
        if (bad++ == 0)
            first = kr_calib_task(a->calib, i);
    }
    char s[300];
    if (bad > 0)
        snprintf(
            s, sizeof s,
            "%zu of %zu tasks violate the risk target (%s%s). More of them in the mixture breaks "
            "the contract.",
            bad, a->f.n_tasks, first, bad > 1 ? ", ..." : "");
    else
        snprintf(s, sizeof s,
                 "No task is shown to violate the target; %zu of %zu are not shown to meet it.",
                 open, a->f.n_tasks);
    kr_canvas_wrap(v->c, (kr_rect){in.x, in.y + y, in.w, in.h - y},
                   bad > 0 ? KR_ROLE_WARN : KR_ROLE_DIM, s);
}

void kr_draw_tasks(kr_view *v, kr_rect r) {
    kr_app *a = v->a;
    char title[200], note[80], conf[40], level[32];
    bool full = a->screen == KR_SCREEN_TASKS;
    kr_level_label(a, a->method, a->level, level);
    kr_field_text(a, KR_FIELD_CONFIDENCE, conf);
    snprintf(title, sizeof title, "tasks at %s, %s", level,
             kr_calib_method(a->calib, a->method)->name);
    snprintf(note, sizeof note, "simultaneous %s intervals", conf);
    if (full && a->lay.step == KR_STEP_ONE) /* the first divider carries the verdict */
        kr_frame_divider(v->c, a->lay.box, 0, NULL, NULL);
    kr_rect in = kr_view_pane(v, r, title, note);
    if (!a->f.tasks_known) {
        kr_canvas_wrap(
            v->c, in, KR_ROLE_DIM,
            a->f.tasks_wait ? "counting ..."
            : kr_calib_meta_of(a->calib)->kind == KR_KIND_COUNTS
                ? "Published counts have no single requests, so there is nothing to show task by "
                  "task."
                : "no tasks");
        return;
    }
    task_columns c = fit_tasks(a, in.w);
    int n = (int)a->tasks.n, head = in.h > 6 || n + 1 <= in.h ? 1 : 0;
    int spare = in.h - head - n, foot = !full ? 0 : spare < 1 ? 1 : spare > 3 ? 3 : spare;
    if (head > 0)
        tasks_header(v, in, &c);
    kr_rect list = {in.x, in.y + head, in.w, in.h - head - foot};
    a->tasks.top = kr_list_top((int)a->tasks.n, list.h, a->tasks.at, a->tasks.top);
    int y = 0;
    for (; y < list.h && a->tasks.top + y < (int)a->tasks.n; y++) {
        bool here = full && a->tasks.top + y == a->tasks.at;
        task_row(v, list, y, &a->f.tasks[a->tasks.order[a->tasks.top + y]], &c, here);
        if (!here)
            continue;
        kr_canvas_pick(v->c, (kr_rect){list.x, list.y + y, list.w, 1});
        kr_view_cursor(v, list, 0, y);
    }
    kr_view_scroll(v, list, (int)a->tasks.n, a->tasks.top);
    if (foot > 0)
        pooled_row(v, in, head + y, &c);
    if (foot > 1)
        tasks_note(v, in, head + y + 1);
}

/* --- task x level ----------------------------------------------------------------------------- */

void kr_draw_task_levels(kr_view *v, kr_rect r) {
    kr_app *a = v->a;
    const kr_facts *f = &a->f;
    char title[160], s[48];
    snprintf(title, sizeof title, "rate of events by task and level, %s",
             kr_calib_method(a->calib, a->method)->name);
    kr_rect in = kr_view_pane(v, r, title, "% of requests, * above the risk target");
    if (f->rates_wait) {
        kr_canvas_str(v->c, in, 0, 0, KR_ROLE_DIM, "counting ...");
        return;
    }
    if (f->task_rates == NULL) {
        kr_canvas_wrap(
            v->c, in, KR_ROLE_DIM,
            "too many requests to count every level by task here; [ and ] move the level of the "
            "table above");
        return;
    }
    int name = 17, cell = 7, fit = (in.w - name) / cell,
        n = (int)f->n_levels < fit ? (int)f->n_levels : fit;
    int from = a->level - n / 2;
    from = from < 0 ? 0 : from > (int)f->n_levels - n ? (int)f->n_levels - n : from;
    for (int i = 0; i < n; i++) {
        kr_level_label(a, a->method, from + i, s);
        kr_canvas_field(v->c, in, name + i * cell, 0, cell, KR_RIGHT,
                        from + i == a->level ? KR_ROLE_TITLE : KR_ROLE_DIM,
                        strncmp(s, "thr ", 4) == 0 ? s + 4 : s);
    }
    double risk = risk_of(a);
    for (int y = 0; y < (int)a->tasks.n && y + 1 < in.h; y++) {
        size_t t = a->tasks.order[y];
        kr_canvas_field(v->c, in, 0, y + 1, name, KR_LEFT, KR_ROLE_TEXT,
                        kr_calib_task(a->calib, t));
        for (int i = 0; i < n; i++) {
            double rate = f->task_rates[(size_t)(from + i) * f->n_tasks + t];
            snprintf(s, sizeof s, isfinite(rate) ? "%.1f%c" : "-", 100 * rate,
                     rate > risk ? '*' : ' ');
            kr_canvas_field(v->c, in, name + i * cell, y + 1, cell, KR_RIGHT,
                            rate > risk            ? KR_ROLE_FALL
                            : from + i == a->level ? KR_ROLE_VALUE
                                                   : KR_ROLE_TEXT,
                            s);
        }
    }
}

/* --- requests --------------------------------------------------------------------------------- */

/* With a blank before it in its column of eight. */
static void utility_text(int64_t u, char out[32]) {
    if (u == KR_MISSING || u == INT64_MAX)
        snprintf(out, 32, "missing");
    else
        kr_number_text((double)u / (double)KR_NANO, 4, 7, out);
}

static int id_width(int w, int task, bool wide) {
    int room = w - 2 - task - (wide ? 38 : 30);
    return room > 40 ? 40 : room;
}

static void request_row(kr_view *v, kr_rect in, int y, size_t row, int64_t tolerance) {
    kr_app *a = v->a;
    kr_request q = kr_calib_row(a->calib, row);
    int64_t drop = kr_calib_row_drop(a->calib, row, kr_app_policy(a));
    bool event = drop > tolerance, wide = in.w >= 74;
    char s[128];
    int task = wide ? 18 : 0, id = id_width(in.w, task, wide), x = 2;
    snprintf(s, sizeof s, "%.*s", (int)(q.id_len < 100 ? q.id_len : 100), q.id);
    kr_canvas_field(v->c, in, x, y, id - 1, KR_LEFT, KR_ROLE_TEXT, s);
    x += id;
    if (wide)
        kr_canvas_field(v->c, in, x, y, task - 1, KR_LEFT, KR_ROLE_DIM,
                        kr_calib_task(a->calib, q.task));
    x += task;
    utility_text(q.full, s);
    x = put(v, in, x, y, 8, KR_ROLE_TEXT, s);
    utility_text(kr_calib_utility(a->calib, row, kr_app_policy(a)), s);
    x = put(v, in, x, y, 8, KR_ROLE_TEXT, s);
    utility_text(drop, s);
    x = put(v, in, x, y, 8, event ? KR_ROLE_FALL : KR_ROLE_VALUE, s);
    if (wide) {
        snprintf(s, sizeof s, q.tokens < 0 ? "-" : "%lld", (long long)q.tokens);
        x = put(v, in, x, y, 8, KR_ROLE_DIM, s);
    }
    kr_canvas_str(v->c, in, x, y, KR_ROLE_FALL, event ? " event" : "");
}

static void requests_header(kr_view *v, kr_rect in) {
    bool wide = in.w >= 74;
    int task = wide ? 18 : 0, id = id_width(in.w, task, wide), x = 2 + id;
    kr_canvas_field(v->c, in, 2, 0, id, KR_LEFT, KR_ROLE_DIM, "request");
    if (wide)
        kr_canvas_field(v->c, in, x, 0, task, KR_LEFT, KR_ROLE_DIM, "task");
    x = put(v, in, x + task, 0, 8, KR_ROLE_DIM, "full");
    x = put(v, in, x, 0, 8, KR_ROLE_DIM, "policy");
    x = put(v, in, x, 0, 8, KR_ROLE_DIM, "drop");
    if (wide)
        put(v, in, x, 0, 8, KR_ROLE_DIM, "tokens");
}

void kr_draw_requests(kr_view *v, kr_rect r) {
    kr_app *a = v->a;
    static const char *const sorts[] = {"drop", "file order", "full utility", "tokens"};
    char title[240], note[80], level[32];
    int64_t tolerance = 0;
    kr_level_label(a, a->method, a->level, level);
    kr_dec_nano(kr_analysis_contract(a->an).tolerance, &tolerance);
    snprintf(title, sizeof title, "%s of %s at %s, %s%s%s", a->events_only ? "events" : "requests",
             a->request_task < 0 ? "all tasks" : kr_calib_task(a->calib, (size_t)a->request_task),
             level, kr_calib_method(a->calib, a->method)->name,
             a->requests.filter[0] != '\0' ? " with " : "", a->requests.filter);
    if (a->f.requests_wait)
        note[0] = '\0';
    else
        snprintf(note, sizeof note, "%zu of %zu, by %s", a->f.n_requests, a->f.requests_total,
                 sorts[a->requests.sort]);
    kr_rect in = kr_view_pane(v, r, title, note);
    if (kr_calib_rows(a->calib) == 0) {
        kr_canvas_wrap(v->c, in, KR_ROLE_DIM, "published counts have no single requests");
        return;
    }
    bool active = a->screen == KR_SCREEN_REQUESTS;
    int at = active ? a->requests.at : 0;
    kr_rect list = {in.x, in.y + 1, in.w, in.h - 1};
    requests_header(v, in);
    a->requests.top = kr_list_top((int)a->f.n_requests, list.h, at, active ? a->requests.top : 0);
    if (a->f.requests_wait)
        kr_canvas_str(v->c, list, 2, 0, KR_ROLE_DIM, "sorting ...");
    else if (a->f.n_requests == 0)
        kr_canvas_str(v->c, list, 2, 0, KR_ROLE_DIM,
                      a->events_only ? "no request exceeds the tolerance" : "no request matches");
    for (int y = 0; y < list.h && a->requests.top + y < (int)a->f.n_requests; y++) {
        int i = a->requests.top + y;
        request_row(v, list, y, a->f.requests[i].row, tolerance);
        if (!active || i != at)
            continue;
        kr_canvas_field(v->c, list, 0, y, 2, KR_LEFT, KR_ROLE_KEY, "▸");
        kr_canvas_pick(v->c, (kr_rect){list.x, list.y + y, list.w, 1});
        kr_view_cursor(v, list, 0, y);
    }
    kr_view_scroll(v, list, (int)a->f.n_requests, a->requests.top);
}
