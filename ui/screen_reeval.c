/* Re-evaluation: what is asked for, the job, and its results beside the stored ones. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ui/model.h"

static void utility_text(int64_t u, char out[24]) {
    if (u == KR_MISSING)
        snprintf(out, 24, "missing");
    else
        snprintf(out, 24, "%.4f", (double)u / 1e9);
}

static void policy_label(const kr_app *a, size_t method, size_t policy, char out[128]) {
    char level[32];
    const kr_method *m = kr_calib_method(a->calib, method);
    kr_level_label(a, method, (int)(policy - m->first), level);
    snprintf(out, 128, "%.80s at %s", kr_text_short(m->name, 80).s, level);
}

/* Label and value one after another; returns the next column. */
static int pair(kr_view *v, kr_rect in, int x, int y, const char *label, const char *value) {
    x += kr_canvas_str(v->c, in, x, y, KR_ROLE_DIM, label) + 1;
    return x + kr_canvas_str(v->c, in, x, y, KR_ROLE_VALUE, value) + 3;
}

/* --- what is asked for ------------------------------------------------------------------------ */

/* "100 of 700 rows can be re-evaluated", and how far their results can be compared. */
static void draw_files(kr_view *v, kr_rect in, int y) {
    static const char *const words[] = {[KR_SOURCE_SAME] = "the requests measured",
                                        [KR_SOURCE_PART] = "part of requests measured"};
    const kr_app *a = v->a;
    char s[160], why[KR_RE_WHY];
    if (a->re->file == NULL) {
        const char *none = "no row can be re-evaluated: :eval requests FILE names the requests";
        bool dim = a->re->requests_fetch != NULL || a->re->requests[0] == '\0';
        kr_canvas_field(v->c, in, 0, y, in.w, KR_LEFT, dim ? KR_ROLE_DIM : KR_ROLE_WARN,
                        a->re->requests[0] == '\0' ? none
                        : dim                      ? "reading the requests ..."
                                                   : a->re->requests_error);
        return;
    }
    snprintf(s, sizeof s, "%zu of %lld rows", kr_reeval_rows(a), (long long)kr_analysis_n(a->an));
    int x = kr_canvas_str(v->c, in, 0, y, KR_ROLE_VALUE, s) + 1;
    x += kr_canvas_str(v->c, in, x, y, KR_ROLE_DIM, "can be re-evaluated") + 2;
    kr_comparable c = kr_reeval_comparable(a, NULL, why);
    if (c == KR_COMPARABLE_NO)
        snprintf(s, sizeof s, "NOT COMPARABLE with the stored");
    else if (c == KR_COMPARABLE_UNKNOWN)
        snprintf(s, sizeof s, "%.150s", why);
    else
        snprintf(s, sizeof s, "%s, same model", words[kr_reeval_requests_match(a)]);
    kr_canvas_field(v->c, in, x, y, in.w - x, KR_LEFT,
                    c == KR_COMPARABLE_NO ? KR_ROLE_WARN : KR_ROLE_DIM, s);
}

void kr_draw_eval(kr_view *v, kr_rect r) {
    kr_app *a = v->a;
    const kr_reeval *e = a->re;
    char title[160], s[128];
    policy_label(a, a->method, kr_app_policy(a), s);
    snprintf(title, sizeof title, "re-evaluate %s", s);
    const char *note = r.w >= 76 ? "on the CPU, in the background" : "in the background";
    kr_rect in = kr_view_pane(v, r, title, note);
    if (a->lay.box.w > 0)
        kr_frame_divider(v->c, a->lay.box, 0, title, note);
    int x = pair(v, in, 0, 0, "model", e->model[0] != '\0' ? kr_file_name(e->model) : "none");
    snprintf(s, sizeof s, "%.100s", e->requests[0] != '\0' ? kr_text_short(kr_file_name(e->requests), 100).s : "none");
    pair(v, in, x, 0, "requests", s);
    snprintf(s, sizeof s, "%zu of %.60s", e->samples, e->task[0] != '\0' ? kr_text_short(e->task, 60).s : "all tasks");
    x = pair(v, in, 0, 1, "sample", s);
    snprintf(s, sizeof s, "%llu", (unsigned long long)e->seed);
    x = pair(v, in, x, 1, "seed", s);
    snprintf(s, sizeof s, "%zu", e->threads);
    x = pair(v, in, x, 1, "threads", s);
    snprintf(s, sizeof s, "%.0f s", e->max_seconds);
    x = pair(v, in, x, 1, "limit", s);
    if (x + kr_text_width(e->protocol) <= in.w) /* else the form has it */
        kr_canvas_str(v->c, in, x, 1, KR_ROLE_VALUE, e->protocol);
    draw_files(v, in, 2);
}

/* --- the job ---------------------------------------------------------------------------------- */

static void draw_progress(kr_view *v, kr_rect in, const kr_re_run *u) {
    const kr_app *a = v->a;
    size_t done = u->n_result + u->failed;
    int bar = in.w >= 90 ? 30 : 20;
    char s[200];
    kr_bar(v->c, in, 0, 0, bar, u->n_want > 0 ? (double)done / (double)u->n_want : 0,
           KR_ROLE_CURVE);
    snprintf(s, sizeof s, "%zu/%zu", done, u->n_want);
    int x = bar + 2 + kr_canvas_str(v->c, in, bar + 2, 0, KR_ROLE_VALUE, s) + 2;
    if (u->job == NULL) {
        snprintf(s, sizeof s, "%s%s%s, %.2f s, %.0f tokens/s", kr_job_state_name(u->state),
                 u->state == KR_JOB_FAILED ? ": " : "", u->state == KR_JOB_FAILED ? u->end : "",
                 u->seconds, u->seconds > 0 ? (double)u->tokens / u->seconds : 0.0);
        kr_canvas_field(v->c, in, x, 0, in.w - x, KR_LEFT,
                        u->state == KR_JOB_DONE ? KR_ROLE_TEXT : KR_ROLE_WARN, s);
        return;
    }
    double t = kr_job_seconds(u->job);
    const char *id = done < u->n_want ? a->re->file->item[u->want[done]].id : "";
    snprintf(s, sizeof s, "%.1f s, %.0f tokens/s, %.0f MB  %s %.60s", t,
             t > 0 ? (double)u->tokens / t : 0.0, (double)kr_job_bytes(u->job) / 1e6, u->phase,
             kr_text_short(id, 60).s);
    kr_canvas_field(v->c, in, x, 0, in.w - x, KR_LEFT, KR_ROLE_TEXT, s);
}

static void draw_events(kr_view *v, kr_rect in, const kr_re_sums *s, bool comparable) {
    char text[160];
    snprintf(text, sizeof text, "%zu of %zu", s->events, s->n);
    int x = pair(v, in, 0, 1, "events", text);
    if (!comparable) {
        kr_canvas_str(v->c, in, x, 1, KR_ROLE_WARN, "not comparable with the stored utilities");
        return;
    }
    snprintf(text, sizeof text, "%zu of %zu", s->stored_events, s->stored_n);
    x = pair(v, in, x, 1, "stored", text);
    snprintf(text, sizeof text, "%zu of %zu", s->agree, s->stored_n);
    x = pair(v, in, x, 1, "same utilities", text);
    if (s->agree < s->stored_n) {
        if (s->differ_most == INT64_MAX)
            snprintf(text, sizeof text, "one side lacks a utility");
        else
            snprintf(text, sizeof text, "at most %.4f apart", (double)s->differ_most / 1e9);
        kr_canvas_str(v->c, in, x, 1, KR_ROLE_WARN, text);
    }
}

/* `why`: the results cannot be compared; "" when they can. */
static void draw_interval(kr_view *v, kr_rect in, const kr_re_run *u, const kr_re_sums *s,
                          const char *why) {
    const kr_app *a = v->a;
    kr_contract c = kr_analysis_contract(a->an);
    char text[300], conf[40], risk[40];
    kr_field_text(a, KR_FIELD_CONFIDENCE, conf);
    kr_field_text(a, KR_FIELD_RISK, risk);
    kr_canvas_field(v->c, in, 0, 3, in.w, KR_LEFT, KR_ROLE_WARN, why);
    if (!u->random) {
        kr_canvas_field(v->c, in, 0, 2, in.w, KR_LEFT, KR_ROLE_DIM,
                        "chosen requests: their rate of events says nothing of the others");
        return;
    }
    snprintf(text, sizeof text, "rate %.1f %% to %.1f %% at %s whenever you stop; exploratory",
             100 * s->lo, 100 * s->hi, conf);
    kr_canvas_field(v->c, in, 0, 2, in.w, KR_LEFT, KR_ROLE_TEXT, text);
    if (why[0] != '\0')
        return;
    int64_t need = kr_n_min(c.risk, kr_contract_level(&c, 1));
    if (need < 0)
        snprintf(text, sizeof text, "%zu requests certify nothing: %s at %s takes more than any", s->n, risk, conf);
    else if ((int64_t)s->n < need)
        snprintf(text, sizeof text,
                 "%zu requests certify nothing: %s at %s takes %lld without an event", s->n, risk,
                 conf, (long long)need);
    else
        snprintf(text, sizeof text,
                 "looking again at rows that were judged already certifies nothing new");
    kr_canvas_field(v->c, in, 0, 3, in.w, KR_LEFT, KR_ROLE_DIM, text);
}

static void draw_remark(kr_view *v, kr_rect in, const kr_re_run *u) {
    char s[320] = "";
    if (u->odd > 0)
        snprintf(s, sizeof s, "%zu lines of the job were not understood. %s", u->odd, u->message);
    else if (u->failed > 0)
        snprintf(s, sizeof s, "%zu without a result: %s", u->failed, u->message);
    else if (u->message[0] != '\0')
        snprintf(s, sizeof s, "it says: %s", u->message);
    else if (u->job == NULL && u->n_result < u->n_want)
        snprintf(s, sizeof s, "partial: %zu of %zu requests; what is done is kept", u->n_result,
                 u->n_want);
    else if (u->job == NULL && u->first_s > 0 && in.w >= 100 && u->peak > 0)
        snprintf(s, sizeof s, "at most %.0f MB", (double)u->peak / 1e6);
    kr_canvas_field(v->c, in, 0, 4, in.w, KR_LEFT, KR_ROLE_WARN, s);
}

void kr_draw_job(kr_view *v, kr_rect r) {
    kr_app *a = v->a;
    const kr_re_run *u = kr_reeval_shown(a);
    char title[200] = "no job yet", name[128], why[KR_RE_WHY];
    if (u != NULL) {
        policy_label(a, u->method, u->policies[0], name);
        snprintf(title, sizeof title, "job %d: %s", u->number, name);
    }
    kr_rect in = kr_view_pane(v, r, title, u != NULL ? u->what : NULL);
    kr_comparable c = kr_reeval_comparable(a, u, why);
    if (u == NULL) {
        bool no = c == KR_COMPARABLE_NO;
        if (no)
            kr_canvas_field(v->c, in, 0, 0, in.w, KR_LEFT, KR_ROLE_WARN, why);
        kr_canvas_wrap(v->c, (kr_rect){in.x, in.y + no, in.w, in.h - no}, KR_ROLE_DIM,
                       "Enter shows what will be run: sample requests are answered anew, with "
                       "full KV and with this policy, and compared with the stored results. "
                       "On Tasks (4) r takes the events of the task, on the list of requests the "
                       "one request, with a look inside.");
        return;
    }
    kr_re_sums s = kr_reeval_sums(a, u);
    draw_progress(v, in, u);
    draw_events(v, in, &s, c != KR_COMPARABLE_NO);
    draw_interval(v, in, u, &s, c == KR_COMPARABLE_NO ? why : "");
    draw_remark(v, in, u);
}

void kr_draw_jobs(kr_view *v, kr_rect r) {
    const kr_app *a = v->a;
    const kr_reeval *e = a->re;
    kr_rect in = kr_view_pane(v, r, "jobs", NULL);
    char s[200], name[128];
    if (e->n_runs == 0)
        kr_canvas_str(v->c, in, 0, 0, KR_ROLE_DIM, "none yet");
    int from = (int)e->n_runs > in.h ? (int)e->n_runs - in.h : 0;
    for (int y = 0; y + from < (int)e->n_runs && y < in.h; y++) {
        const kr_re_run *u = &e->run[y + from];
        kr_re_sums sums = kr_reeval_sums(a, u);
        policy_label(a, u->method, u->policies[0], name);
        const char *state = kr_job_state_name(u->job != NULL ? KR_JOB_RUNNING : u->state);
        kr_role role = u == kr_reeval_shown(a) ? KR_ROLE_VALUE : KR_ROLE_TEXT;
        if (in.w >= 60)
            snprintf(s, sizeof s, "%4zu/%-4zu %-9.9s %3zu event%s", u->n_result, u->n_want, state,
                     sums.events, sums.events == 1 ? " " : "s");
        else
            snprintf(s, sizeof s, "%zu/%zu %s", u->n_result, u->n_want, state);
        int w = kr_text_width(s);
        kr_canvas_field(v->c, in, in.w - w, y, w, KR_LEFT, role, s);
        snprintf(s, sizeof s, "%2d  %s", u->number, name);
        kr_canvas_field(v->c, in, 0, y, in.w - w - 1, KR_LEFT, role, s);
    }
}

/* --- results ---------------------------------------------------------------------------------- */

enum { NUMBER_W = 8 };

static int right_field(kr_view *v, kr_rect in, int x, int y, kr_role role, const char *s) {
    kr_canvas_field(v->c, in, x, y, NUMBER_W, KR_RIGHT, role, s);
    return x + NUMBER_W;
}

static int id_width(int w) {
    int room = w - 2 - (w >= 92 ? 18 : 0) - 5 * NUMBER_W - 14;
    return room > 44 ? 44 : room < 8 ? 8 : room;
}

static void result_header(kr_view *v, kr_rect in) {
    static const char *const heads[] = {"full", "stored", "policy", "stored", "drop"};
    int x = 2 + id_width(in.w);
    kr_canvas_str(v->c, in, 2, 0, KR_ROLE_DIM, "request");
    if (in.w >= 92)
        x += (kr_canvas_str(v->c, in, x, 0, KR_ROLE_DIM, "task"), 18);
    for (int i = 0; i < 5; i++)
        x = right_field(v, in, x, 0, KR_ROLE_DIM, heads[i]);
}

static void stored_text(const kr_app *a, const kr_measure *m, char full[24], char policy[24]) {
    size_t row = a->re->row[m->q];
    snprintf(full, 24, "-");
    snprintf(policy, 24, "-");
    if (row == KR_RE_NO_ROW)
        return;
    utility_text(kr_calib_row(a->calib, row).full, full);
    utility_text(kr_calib_utility(a->calib, row, m->policy), policy);
}

static void result_row(kr_view *v, kr_rect in, int y, const kr_measure *m, int64_t tolerance,
                       bool comparable) {
    const kr_app *a = v->a;
    const kr_sample_request *q = &a->re->file->item[m->q];
    bool missing = m->full == KR_MISSING || m->utility == KR_MISSING;
    bool event = missing || m->full - m->utility > tolerance;
    char s[24], full[24], policy[24];
    int x = 2, id = id_width(in.w);
    kr_canvas_field(v->c, in, x, y, id - 1, KR_LEFT, KR_ROLE_TEXT, q->id);
    x += id;
    if (in.w >= 92) {
        kr_canvas_field(v->c, in, x, y, 17, KR_LEFT, KR_ROLE_DIM, q->task);
        x += 18;
    }
    stored_text(a, m, full, policy);
    utility_text(m->full, s);
    x = right_field(v, in, x, y, KR_ROLE_TEXT, s);
    x = right_field(v, in, x, y, KR_ROLE_DIM, full);
    utility_text(m->utility, s);
    x = right_field(v, in, x, y, KR_ROLE_TEXT, s);
    x = right_field(v, in, x, y, KR_ROLE_DIM, policy);
    utility_text(missing ? KR_MISSING : m->full - m->utility, s);
    x = right_field(v, in, x, y, event ? KR_ROLE_FALL : KR_ROLE_VALUE, s);
    bool differs = comparable && a->re->row[m->q] != KR_RE_NO_ROW && !kr_reeval_agrees(a, m);
    x += kr_canvas_str(v->c, in, x, y, KR_ROLE_FALL, event ? " event" : differs ? "      " : "");
    kr_canvas_str(v->c, in, x, y, KR_ROLE_WARN, differs ? " differs" : "");
}

void kr_draw_results(kr_view *v, kr_rect r) {
    kr_app *a = v->a;
    char note[64], why[KR_RE_WHY];
    int64_t tolerance = 0;
    bool comparable = kr_reeval_comparable(a, kr_reeval_shown(a), why) != KR_COMPARABLE_NO;
    int n = (int)kr_reeval_listed_count(a);
    kr_dec_nano(kr_analysis_contract(a->an).tolerance, &tolerance);
    snprintf(note, sizeof note, "%d%s", n, a->re->differing ? " that differ from the stored" : "");
    kr_rect in = kr_view_pane(v, r,
                              comparable ? "results beside the stored utilities"
                                         : "results; the stored utilities are not comparable",
                              n > 0 ? note : NULL);
    kr_rect list = {in.x, in.y + 1, in.w, in.h - 1};
    if (a->results.at >= n)
        a->results.at = n > 0 ? n - 1 : 0;
    result_header(v, in);
    if (n == 0)
        kr_canvas_str(v->c, list, 2, 0, KR_ROLE_DIM,
                      a->re->differing && kr_reeval_shown(a) != NULL ? "no result differs"
                                                                     : "none yet");
    a->results.top = kr_list_top(n, list.h, a->results.at, a->results.top);
    for (int y = 0; y < list.h && a->results.top + y < n; y++) {
        int i = a->results.top + y;
        result_row(v, list, y, kr_reeval_listed(a, (size_t)i), tolerance, comparable);
        if (i != a->results.at)
            continue;
        kr_canvas_field(v->c, list, 0, y, 2, KR_LEFT, KR_ROLE_KEY, "▸");
        kr_canvas_pick(v->c, (kr_rect){list.x, list.y + y, list.w, 1});
        kr_view_cursor(v, list, 0, y);
    }
    kr_view_scroll(v, list, n, a->results.top);
}

/* --- times ------------------------------------------------------------------------------------ */

enum { TIMES_W = 9, LABEL_W = 26 };

static void duration_text(double s, char out[24]) {
    if (!isfinite(s) || s < 0)
        snprintf(out, 24, "-");
    else if (s < 0.1)
        snprintf(out, 24, "%.2f ms", 1e3 * s);
    else if (s < 100)
        snprintf(out, 24, "%.2f s", s);
    else
        snprintf(out, 24, "%.0f s", s);
}

static void bytes_text(double b, char out[24]) {
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
    int u = 0;
    for (; b >= 999.5 && u < 4; u++)
        b /= 1000;
    snprintf(out, 24, u == 0 || b >= 99.95 ? "%.0f %s" : "%.1f %s", b, units[u]);
}

static int label_width(int w, int n) {
    int label = w - n * TIMES_W;
    return label > LABEL_W ? LABEL_W : label;
}

static void times_row(kr_view *v, kr_rect in, int y, kr_role role, const char *name,
                      const char *const cell[], int n) {
    int label = label_width(in.w, n);
    kr_canvas_field(v->c, in, 0, y, label - 1, KR_LEFT, y > 0 ? KR_ROLE_TEXT : KR_ROLE_DIM, name);
    for (int i = 0; i < n; i++)
        kr_canvas_field(v->c, in, label + i * TIMES_W, y, TIMES_W, KR_RIGHT, role, cell[i]);
}

void kr_times_table(kr_view *v, kr_rect in, int y, const kr_times *t) {
    static const char *const heads[] = {"prefill", "scoring", "a token", "KV held", "kept"};
    char prefill[24], score[24], token[24], full[24], held[24], kept[24];
    int n = in.w >= 64 ? 5 : 4;
    duration_text(t->prefill_s, prefill);
    duration_text(t->score_s, score);
    duration_text(t->token_s, token);
    bytes_text(t->full_bytes, full);
    bytes_text(t->bytes, held);
    snprintf(kept, sizeof kept, "%.1f %%", 100 * t->retained);
    const char *const of_full[] = {prefill, "-", token, full, "100 %"};
    const char *const of_policy[] = {prefill, score, token, held, kept};
    kr_rect rows = {in.x, in.y + y, in.w, in.h - y};
    bool narrow = label_width(in.w, n) < LABEL_W;
    times_row(v, rows, 0, KR_ROLE_DIM, narrow ? "" : t->together, heads, n);
    times_row(v, rows, 1, KR_ROLE_VALUE, "full KV", of_full, n);
    times_row(v, rows, 2, KR_ROLE_VALUE, narrow ? t->level : t->policy, of_policy, n);
}

void kr_draw_times(kr_view *v, kr_rect r) {
    const kr_app *a = v->a;
    const kr_re_run *u = kr_reeval_shown(a);
    kr_rect in = kr_view_pane(v, r, "times, mean of a request", NULL);
    if (u == NULL || u->n_full == 0) {
        kr_canvas_str(v->c, in, 0, 0, KR_ROLE_DIM, "none yet");
        return;
    }
    double n = (double)u->n_full, done = u->n_result > 0 ? (double)u->n_result : 1;
    char name[128];
    policy_label(a, u->method, u->policies[0], name);
    kr_times t = {name, strstr(name, " at ") + 1, "both decoded together",
                  u->prefill_s / n, u->score_s / n,
                  u->steps > 0 ? u->decode_s / (double)u->steps : NAN,
                  u->full_bytes / n, u->bytes / done, u->retained / done};
    kr_times_table(v, in, 0, &t);
    if (in.h > 3)
        kr_canvas_field(v->c, in, 0, 3, in.w, KR_LEFT, KR_ROLE_DIM,
                        "one prefill serves both; a step decodes both");
}

/* --- the log ---------------------------------------------------------------------------------- */

enum { WHEN_W = 9 };

/* Bytes of `s` that fit into w columns, at least one character. */
static size_t piece(const char *s, int w) {
    size_t n = 0;
    uint32_t cp;
    int used = 0;
    if (strlen(s) <= (size_t)w)
        return strlen(s); /* no character is wider than its bytes */
    while (s[n] != '\0') {
        size_t one = (size_t)kr_text_next(s + n, &cp);
        char c[8] = "";
        memcpy(c, s + n, one < sizeof c ? one : sizeof c - 1);
        used += kr_text_width(c);
        if (used > w && n > 0)
            break;
        n += one;
    }
    return n;
}

/* Draws the rows from `top` on; returns how many there are. h = 0 counts. */
static int log_rows(kr_view *v, kr_rect in, const kr_log *l, int top, int h) {
    int y = 0, w = in.w - WHEN_W > 8 ? in.w - WHEN_W : 8;
    for (size_t i = 0; i < l->n; i++) {
        const char *s = l->line[i].text;
        for (bool first = true; first || *s != '\0'; first = false, y++) {
            char text[KR_LOG_LINE], when[16] = "";
            size_t n = piece(s, w);
            struct tm tm;
            snprintf(text, sizeof text, "%.*s", (int)n, s);
            s += n;
            if (y < top || y >= top + h)
                continue;
            if (first && localtime_r(&l->line[i].when, &tm) != NULL)
                strftime(when, sizeof when, "%H:%M:%S", &tm);
            kr_canvas_str(v->c, in, 0, y - top, KR_ROLE_DIM, when);
            kr_canvas_str(v->c, in, WHEN_W, y - top, KR_ROLE_TEXT, text);
        }
    }
    return y;
}

/* Follows the end unless one looks at what is above it. Returns the rows of all lines. */
static int place_log(kr_view *v, kr_rect in, const kr_log *l) {
    kr_reeval *e = v->a->re;
    int rows = log_rows(v, in, l, 0, 0);
    e->log_end = rows > in.h ? rows - in.h : 0;
    e->log_top = e->log_stay && e->log_top < e->log_end ? e->log_top : e->log_end;
    return rows;
}

void kr_draw_log(kr_view *v, kr_rect r) {
    kr_app *a = v->a;
    kr_reeval *e = a->re;
    const kr_re_run *u = kr_reeval_shown(a);
    char title[64] = "log", note[64] = "";
    int rows = 0;
    if (u != NULL)
        rows = place_log(v, kr_view_inside(v, r), &u->log);
    if (u != NULL)
        snprintf(title, sizeof title, "log of job %d", u->number);
    if (u != NULL)
        snprintf(note, sizeof note, "%zu line%s, F %s", u->log.n, u->log.n == 1 ? "" : "s",
                 e->log_stay ? "stays" : "follows");
    kr_rect in = kr_view_pane(v, r, title, note[0] != '\0' ? note : NULL);
    if (u == NULL) {
        kr_canvas_str(v->c, in, 0, 0, KR_ROLE_DIM, "none yet");
        return;
    }
    log_rows(v, in, &u->log, e->log_top, in.h);
    kr_view_scroll(v, in, rows, e->log_top);
    if (e->below == KR_RE_BELOW_LOG)
        kr_view_cursor(v, in, 0, 0);
}
