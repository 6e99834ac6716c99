/* How jobs are run: the settings, by name and as the fields of the form that stands before a job. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "ui/model.h"
#include "ui/reeval_impl.h"

/* --- settings --------------------------------------------------------------------------------- */

static bool whole(const char *s, unsigned long long min, unsigned long long max,
                  unsigned long long *out) {
    char *end;
    *out = strtoull(s, &end, 10);
    return *s >= '0' && *s <= '9' && *end == '\0' && *out >= min && *out <= max;
}

/* --- what the results belong to: files and protocol ---------------------------------------------- */

size_t kr_reeval_unwritten(const kr_app *a) {
    const kr_reeval *r = a->re;
    size_t n = 0;
    for (size_t i = 0; i < r->n_runs; i++)
        n += r->run[i].n_result > 0 && !r->run[i].written;
    return n;
}

/* Jobs whose results are in no file would go: asks first. */
static bool asks(kr_app *a, const char *name, const char *value) {
    char label[160];
    size_t n = kr_reeval_unwritten(a);
    if (n == 0)
        return false;
    snprintf(label, sizeof label, "The results of %zu job%s are not written and would go. Go on? y/N ",
             n, n == 1 ? "" : "s");
    snprintf(a->pending_path, sizeof a->pending_path, "%s %s", name, value);
    a->pending = KR_PENDING_EVAL;
    kr_prompt_open(&a->prompt, KR_PROMPT_YESNO, label, "");
    return true;
}

/* `setting`: one of model, requests, protocol, which holds `value` after this. */
static void exchange(kr_app *a, const char *name, char *setting, size_t cap, const char *value,
                     bool ask) {
    if (strcmp(setting, value) == 0)
        return;
    if (kr_re_running(a->re) != NULL) {
        kr_app_say(a, true, "a job is at work; cancel it first");
        return;
    }
    if (ask && asks(a, name, value))
        return;
    snprintf(setting, cap, "%s", value);
    kr_reeval_forget(a); /* other requests, or other answers */
}

static void set_path(kr_app *a, const char *name, char out[512], const char *value, bool ask) {
    if (!kr_re_readable(value) || strlen(value) >= 480)
        kr_app_say(a, true, "cannot read '%s'", value);
    else if (kr_re_directory(value))
        kr_app_say(a, true, "%s is a directory, a file is wanted", value);
    else
        exchange(a, name, out, 512, value, ask);
}

/* --- numbers -------------------------------------------------------------------------------------- */

/* The numbers of a job, by name. */
typedef struct {
    const char *name;
    unsigned long long min, max;
} number_setting;

static const number_setting numbers[] = {{"samples", 1, KR_RE_SAMPLES},
                                         {"seed", 0, INT64_MAX},
                                         {"threads", 1, 256},
                                         {"seconds", 1, 1000000}};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static unsigned long long get_number(const kr_reeval *r, int i) {
    const unsigned long long all[NUMBERS] = {r->samples, r->seed, r->threads,
                                             (unsigned long long)r->max_seconds};
    return all[i];
}

static void put_number(kr_reeval *r, int i, unsigned long long v) {
    switch (i) {
    case 0: r->samples = (size_t)v; break;
    case 1: r->seed = v; break;
    case 2: r->threads = (size_t)v; break;
    default: r->max_seconds = (double)v; break;
    }
}

static int find_number(const char *name) {
    for (int i = 0; i < NUMBERS; i++)
        if (strcmp(numbers[i].name, name) == 0)
            return i;
    return -1;
}

static void keep_numbers(kr_app *a) {
    const kr_reeval *r = a->re;
    kr_buf b = {0};
    kr_error err = {KR_OK, "out of memory"};
    if (r->state_path[0] == '\0')
        return;
    for (int i = 0; i < NUMBERS; i++)
        kr_buf_printf(&b, "%s = %llu\n", numbers[i].name, get_number(r, i));
    if (b.failed || kr_file_write(r->state_path, b.s, b.len, true, &err) != KR_OK)
        kr_app_say(a, true, "settings are not kept: %s", err.msg);
    kr_buf_free(&b);
}

/* False: not the name of a number. */
static bool set_number(kr_app *a, const char *name, const char *value) {
    unsigned long long v = 0;
    int i = find_number(name);
    if (i < 0)
        return false;
    if (!whole(value, numbers[i].min, numbers[i].max, &v)) {
        kr_app_say(a, true, "%s wants a whole number from %llu to %llu", name, numbers[i].min,
                   numbers[i].max);
        return true;
    }
    put_number(a->re, i, v);
    keep_numbers(a);
    return true;
}

void kr_reeval_remember(kr_app *a, const char *path) {
    kr_reeval *r = a->re;
    char *text = NULL, *rest = NULL, name[32], value[32];
    size_t len;
    snprintf(r->state_path, sizeof r->state_path, "%s", path);
    if (kr_file_read(path, 4096, &text, &len, NULL) != KR_OK)
        return;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        unsigned long long v;
        int i = sscanf(line, " %31[a-z] = %31s", name, value) == 2 ? find_number(name) : -1;
        if (i >= 0 && whole(value, numbers[i].min, numbers[i].max, &v))
            put_number(r, i, v);
    }
    free(text);
}

static bool task_known(const kr_app *a, const char *name) {
    for (size_t i = 0; i < kr_calib_tasks(a->calib); i++)
        if (strcmp(kr_calib_task(a->calib, i), name) == 0)
            return true;
    for (size_t q = 0; a->re->file != NULL && q < a->re->file->n; q++)
        if (strcmp(a->re->file->item[q].task, name) == 0)
            return true;
    return false;
}

static void set_task(kr_app *a, const char *value) {
    bool all = strcmp(value, "all") == 0 || strcmp(value, "all tasks") == 0;
    if (!all && !task_known(a, value))
        kr_app_say(a, true, "no task '%.80s'; Tasks (4) lists them, all takes all", value);
    else
        snprintf(a->re->task, sizeof a->re->task, "%s", all ? "" : value);
}

static void set(kr_app *a, const char *name, const char *value, bool ask) {
    kr_reeval *r = a->re;
    bool protocol = strcmp(value, "query_aware") == 0 || strcmp(value, "query_agnostic") == 0;
    if (set_number(a, name, value))
        return;
    if (strcmp(name, "model") == 0)
        set_path(a, name, r->model, value, ask);
    else if (strcmp(name, "requests") == 0)
        set_path(a, name, r->requests, value, ask);
    else if (strcmp(name, "task") == 0)
        set_task(a, value);
    else if (strcmp(name, "protocol") == 0 && protocol)
        exchange(a, name, r->protocol, sizeof r->protocol, value, ask);
    else if (strcmp(name, "protocol") == 0)
        kr_app_say(a, true, "protocol wants query_aware or query_agnostic, not '%.60s'", value);
    else
        kr_app_say(a, true, ":eval NAME VALUE: model requests task samples seed threads seconds protocol");
}

void kr_reeval_set(kr_app *a, const char *name, const char *value) { set(a, name, value, true); }

void kr_reeval_set_asked(kr_app *a) {
    char name[32] = "";
    int used = 0;
    char text[sizeof a->pending_path];
    snprintf(text, sizeof text, "%s", a->pending_path);
    sscanf(text, "%31s %n", name, &used);
    set(a, name, text + used, false);
}

/* --- the form ------------------------------------------------------------------------------------- */

static const char *const names[KR_RE_FIELDS] = {"method",   "level",   "samples", "seed",  "task",
                                                "protocol", "threads", "seconds", "model", "requests"};

const char *kr_reeval_field_name(kr_re_field f) { return names[f]; }

void kr_reeval_field_text(const kr_app *a, kr_re_field f, char out[KR_RE_TEXT]) {
    const kr_reeval *r = a->re;
    int number = find_number(names[f]);
    switch (f) {
    case KR_RE_METHOD:
        snprintf(out, KR_RE_TEXT, "%.100s", kr_text_short(kr_calib_method(a->calib, a->method)->name, 100).s);
        return;
    case KR_RE_LEVEL: {
        char level[32];
        kr_level_label(a, a->method, a->level, level);
        snprintf(out, KR_RE_TEXT, "%s", level);
        return;
    }
    case KR_RE_TASK: snprintf(out, KR_RE_TEXT, "%s", r->task[0] != '\0' ? r->task : "all"); return;
    case KR_RE_PROTOCOL: snprintf(out, KR_RE_TEXT, "%s", r->protocol); return;
    case KR_RE_MODEL: snprintf(out, KR_RE_TEXT, "%.250s", kr_file_name(r->model)); return;
    case KR_RE_REQUESTS: snprintf(out, KR_RE_TEXT, "%.250s", kr_file_name(r->requests)); return;
    default: snprintf(out, KR_RE_TEXT, "%llu", get_number(r, number)); return;
    }
}

static const char *match_text(kr_source_match m, bool requests) {
    switch (m) {
    case KR_SOURCE_UNNAMED: return "the results do not name its hash";
    case KR_SOURCE_UNCHECKED: return "being checked";
    case KR_SOURCE_SAME: return requests ? "the requests measured" : "the model measured";
    case KR_SOURCE_PART: return "part of the requests measured";
    case KR_SOURCE_OTHER: return "not the one measured";
    }
    return "";
}

void kr_reeval_field_note(kr_app *a, kr_re_field f, char out[KR_RE_TEXT]) {
    int number = find_number(names[f]);
    const char *measured = kr_calib_meta_of(a->calib)->protocol;
    out[0] = '\0';
    if (f == KR_RE_METHOD)
        snprintf(out, KR_RE_TEXT, "%zu methods", kr_calib_methods(a->calib));
    else if (f == KR_RE_LEVEL)
        snprintf(out, KR_RE_TEXT, "%d of %zu levels", a->level + 1, a->f.n_levels);
    else if (f == KR_RE_SAMPLES_FIELD)
        snprintf(out, KR_RE_TEXT, "%llu to %llu; %zu fit", numbers[number].min,
                 numbers[number].max, kr_reeval_fitting(a));
    else if (f == KR_RE_SEED)
        snprintf(out, KR_RE_TEXT, "of the draw, 0 or more");
    else if (f == KR_RE_TASK)
        snprintf(out, KR_RE_TEXT, "all, or one of %zu tasks", kr_calib_tasks(a->calib));
    else if (f == KR_RE_PROTOCOL)
        snprintf(out, KR_RE_TEXT, "%s%s", measured == NULL ? "not named by the results" : "measured ",
                 measured == NULL ? "" : measured);
    else if (f == KR_RE_MODEL)
        snprintf(out, KR_RE_TEXT, "%s",
                 a->re->model[0] == '\0' ? "= names one"
                                         : match_text(kr_reeval_model_match(a), false));
    else if (f == KR_RE_REQUESTS)
        snprintf(out, KR_RE_TEXT, "%s",
                 a->re->requests[0] == '\0' ? "= names them"
                                            : match_text(kr_reeval_requests_match(a), true));
    else
        snprintf(out, KR_RE_TEXT, "%llu to %llu%s", numbers[number].min, numbers[number].max,
                 f == KR_RE_SECONDS ? ", the time limit" : "");
}

bool kr_reeval_field_bad(const kr_app *a, kr_re_field f) {
    const char *measured = kr_calib_meta_of(a->calib)->protocol;
    if (f == KR_RE_PROTOCOL)
        return measured != NULL && strcmp(measured, a->re->protocol) != 0;
    return (f == KR_RE_MODEL && kr_reeval_model_match(a) == KR_SOURCE_OTHER) ||
           (f == KR_RE_REQUESTS && kr_reeval_requests_match(a) == KR_SOURCE_OTHER) ||
           (f == KR_RE_MODEL && a->re->model[0] == '\0') ||
           (f == KR_RE_REQUESTS && a->re->requests[0] == '\0');
}

/* One step on a grid of round numbers, within the range. */
static void step_number(kr_app *a, int i, int by) {
    static const long long grid[NUMBERS] = {10, 1, 1, 60};
    const number_setting *n = &numbers[i];
    unsigned long long old = get_number(a->re, i), v = old;
    for (int k = 0; k < (by < 0 ? -by : by); k++) {
        unsigned long long g = (unsigned long long)grid[i], down = v % g != 0 ? v - v % g : v >= g ? v - g : 0;
        v = by < 0 ? down : v - v % g + g;
        v = v < n->min ? n->min : v > n->max ? n->max : v;
    }
    put_number(a->re, i, v);
    if (v == old)
        kr_app_say(a, false, "%s is at the end of its range, %llu to %llu", n->name, n->min, n->max);
    else
        keep_numbers(a);
}

static void step_task(kr_app *a, int by) {
    int n = (int)kr_calib_tasks(a->calib), at = 0; /* 0: all */
    for (int i = 0; i < n; i++)
        at = strcmp(kr_calib_task(a->calib, (size_t)i), a->re->task) == 0 ? i + 1 : at;
    at = ((at + by) % (n + 1) + n + 1) % (n + 1);
    set_task(a, at == 0 ? "all" : kr_calib_task(a->calib, (size_t)at - 1));
}

void kr_reeval_field_step(kr_app *a, int by) {
    kr_re_field f = (kr_re_field)a->re->field;
    int n = (int)a->methods.n, to = a->level + by;
    switch (f) {
    case KR_RE_METHOD:
        if (n > 0)
            kr_app_select_method(a, a->methods.order[((a->methods.at + by) % n + n) % n]);
        break;
    case KR_RE_LEVEL:
        a->level = to < 0 ? 0 : to >= (int)a->f.n_levels ? (int)a->f.n_levels - 1 : to;
        a->level_pinned = true;
        break;
    case KR_RE_TASK: step_task(a, by); break;
    case KR_RE_PROTOCOL:
        kr_reeval_set(a, "protocol",
                      strcmp(a->re->protocol, "query_aware") == 0 ? "query_agnostic" : "query_aware");
        break;
    case KR_RE_MODEL:
    case KR_RE_REQUESTS: kr_app_say(a, false, "= types the name of a file"); break;
    default: step_number(a, find_number(names[f]), by); break;
    }
}

void kr_reeval_field_move(kr_app *a, int by, bool around) {
    int to = a->re->field + by;
    if (around)
        to = (to % KR_RE_FIELDS + KR_RE_FIELDS) % KR_RE_FIELDS;
    a->re->field = to < 0 ? 0 : to >= KR_RE_FIELDS ? KR_RE_FIELDS - 1 : to;
}

void kr_reeval_field_ask(kr_app *a) {
    kr_re_field f = (kr_re_field)a->re->field;
    char label[160], now[KR_RE_TEXT], note[KR_RE_TEXT];
    int number = find_number(names[f]);
    kr_reeval_field_text(a, f, now);
    kr_reeval_field_note(a, f, note);
    if (number >= 0)
        snprintf(label, sizeof label, "%s (now %.40s; %llu to %llu) = ", names[f], now,
                 numbers[number].min, numbers[number].max);
    else
        snprintf(label, sizeof label, "%s (now %.60s) = ", names[f], now);
    kr_prompt_open(&a->prompt, KR_PROMPT_EVAL, label, "");
}

void kr_reeval_field_take(kr_app *a, const char *text) {
    kr_re_field f = (kr_re_field)a->re->field;
    char command[300];
    if (text[0] == '\0')
        return;
    if (f == KR_RE_METHOD || f == KR_RE_LEVEL) {
        snprintf(command, sizeof command, "%s %s", names[f], text);
        kr_command_run(a, command);
    } else {
        kr_reeval_set(a, names[f], text);
    }
}

void kr_reeval_form(kr_app *a) {
    const kr_re_run *u = kr_re_running(a->re);
    if (u != NULL)
        kr_app_say(a, false, "job %d is at work; c cancels it", u->number);
    else
        kr_app_show(a, KR_SCREEN_RUN);
}

/* --- its screen ----------------------------------------------------------------------------------- */

enum { NAME_W = 11, VALUE_W = 30 };

static void draw_field(kr_view *v, kr_rect in, int y, kr_re_field f) {
    kr_app *a = v->a;
    bool here = f == (kr_re_field)a->re->field;
    char text[KR_RE_TEXT], note[KR_RE_TEXT];
    int room = in.w >= 76 ? VALUE_W : 24, x = 2 + NAME_W;
    kr_reeval_field_text(a, f, text);
    kr_reeval_field_note(a, f, note);
    kr_canvas_field(v->c, in, 2, y, NAME_W - 1, KR_LEFT, here ? KR_ROLE_TITLE : KR_ROLE_DIM, names[f]);
    if (text[0] == '\0')
        snprintf(text, sizeof text, "none");
    int w = kr_text_width(text);
    w = w > room - 4 ? room - 4 : w;
    kr_canvas_str(v->c, in, x, y, KR_ROLE_KEY, here ? "▸" : " ");
    kr_canvas_field(v->c, in, x + 2, y, w, KR_LEFT, here ? KR_ROLE_FOCUS : KR_ROLE_VALUE, text);
    if (here)
        kr_canvas_str(v->c, in, x + 3 + w, y, KR_ROLE_KEY, "◂");
    x += room + 1;
    kr_canvas_field(v->c, in, x, y, in.w - x, KR_LEFT,
                    kr_reeval_field_bad(a, f) ? KR_ROLE_WARN : KR_ROLE_DIM, note);
    if (here)
        kr_view_cursor(v, in, 2 + NAME_W, y);
}

void kr_draw_form(kr_view *v, kr_rect r) {
    kr_app *a = v->a;
    char s[160], why[KR_RE_WHY];
    size_t fit = kr_reeval_fitting(a), n = fit < a->re->samples ? fit : a->re->samples;
    kr_rect in = kr_view_pane(v, r, "what will be run", "Enter runs it, Esc leaves it");
    for (int f = 0; f < KR_RE_FIELDS; f++)
        draw_field(v, in, f, (kr_re_field)f);
    int y = KR_RE_FIELDS + (in.h > KR_RE_FIELDS + 2 ? 1 : 0);
    kr_comparable c = kr_reeval_comparable(a, NULL, why);
    if (a->re->file == NULL)
        snprintf(s, sizeof s, "%.150s",
                 a->re->requests_fetch != NULL ? "reading the requests ..." : a->re->requests_error);
    else
        snprintf(s, sizeof s, "%zu of %lld rows can be re-evaluated; this takes %zu request%s",
                 kr_reeval_rows(a), (long long)kr_analysis_n(a->an), n, n == 1 ? "" : "s");
    kr_canvas_field(v->c, in, 2, y, in.w - 2, KR_LEFT, KR_ROLE_TEXT, s);
    if (c != KR_COMPARABLE_NO)
        return;
    snprintf(s, sizeof s, "not comparable with the stored utilities: %.110s", why);
    kr_canvas_field(v->c, in, 2, y + 1, in.w - 2, KR_LEFT, KR_ROLE_WARN, s);
}
