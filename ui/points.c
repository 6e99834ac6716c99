#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "export/certificate.h"
#include "export/points.h"
#include "ledger/ledger.h"
#include "ui/model.h"

/* --- the list --------------------------------------------------------------------------------- */

/* Renders the point's exports and statement under its own contract. The present analysis is left
 * alone. False, after a message, when that cannot be done. */
static bool render(kr_app *a, kr_saved_point *p) {
    kr_error err = {.msg = "out of memory"};
    kr_analysis *an = NULL;
    kr_buf json = {0}, csv = {0}, statement = {0};
    kr_status st = kr_analysis_new(a->calib, kr_analysis_options_of(a->an), &an, &err);
    if (st == KR_OK)
        st = kr_analysis_set(an, p->contract, &err);
    if (st == KR_OK && p->family != kr_analysis_family(an))
        st = kr_analysis_set_family(an, p->family, &err);
    if (st == KR_OK) {
        kr_export_point(an, p->method, p->note, &json);
        kr_export_point_csv(an, p->method, p->note, &csv);
        kr_statement(an, p->method, &statement);
    }
    kr_analysis_free(an);
    char *parts[3] = {kr_buf_take(&json), kr_buf_take(&csv), kr_buf_take(&statement)};
    bool good = parts[0] != NULL && parts[1] != NULL && parts[2] != NULL;
    if (good) {
        free(p->json);
        free(p->csv);
        free(p->statement);
        p->json = parts[0];
        p->csv = parts[1];
        p->statement = parts[2];
        return true;
    }
    for (int i = 0; i < 3; i++)
        free(parts[i]);
    kr_app_say(a, true, "%s", err.msg);
    return false;
}

static kr_saved_point present(const kr_app *a, const char *note) {
    const kr_line *l = kr_analysis_line(a->an, a->method);
    kr_saved_point p = {.method = a->method,
                        .candidate = l->certified,
                        .contract = kr_analysis_contract(a->an),
                        .family = kr_analysis_family(a->an),
                        .state = kr_analysis_line_state(a->an, a->method),
                        .events = -1,
                        .n = kr_analysis_n(a->an)};
    if (l->certified >= 0) {
        kr_candidate_row k = kr_analysis_candidate(a->an, a->method, (size_t)l->certified);
        p.events = k.events;
        p.p_value = k.p_value;
        p.upper = k.upper_bound;
    }
    snprintf(p.method_name, sizeof p.method_name, "%s", kr_calib_method(a->calib, a->method)->name);
    kr_level_label(a, a->method, l->certified, p.level);
    snprintf(p.note, sizeof p.note, "%s", note);
    snprintf(p.sha256, sizeof p.sha256, "%s", kr_calib_sha256(a->calib));
    return p;
}

void kr_point_free(kr_saved_point *p) {
    free(p->json);
    free(p->csv);
    free(p->statement);
}

void kr_points_add(kr_app *a, const char *note) {
    if (a->n_saved == a->cap_saved) {
        size_t cap = a->cap_saved == 0 ? 16 : 2 * a->cap_saved;
        kr_saved_point *more = realloc(a->saved, cap * sizeof *more);
        if (more == NULL) {
            kr_app_say(a, true, "out of memory");
            return;
        }
        a->saved = more;
        a->cap_saved = cap;
    }
    kr_saved_point p = present(a, note);
    if (!render(a, &p)) {
        kr_point_free(&p);
        return;
    }
    a->saved[a->n_saved++] = p;
    a->points.at = (int)a->n_saved - 1;
    kr_app_say(a, false, "point %zu: %s %s, %s; 6 shows the points", a->n_saved, p.method_name,
               p.candidate < 0 ? "full KV" : p.level, kr_state_name(p.state));
}

void kr_points_delete(kr_app *a) {
    if (a->n_saved == 0)
        return;
    size_t at = (size_t)a->points.at;
    kr_point_free(&a->saved[at]);
    memmove(a->saved + at, a->saved + at + 1, (a->n_saved - at - 1) * sizeof *a->saved);
    a->n_saved--;
    if (a->points.at >= (int)a->n_saved)
        a->points.at = a->n_saved > 0 ? (int)a->n_saved - 1 : 0;
}

void kr_points_note(kr_app *a, const char *note) {
    if (a->n_saved == 0)
        return;
    kr_saved_point *p = &a->saved[a->points.at];
    if (strcmp(p->sha256, kr_calib_sha256(a->calib)) != 0) {
        kr_app_say(a, true, "the point is of another version of the file; its note stays");
        return;
    }
    snprintf(p->note, sizeof p->note, "%s", note);
    if (render(a, p))
        p->exported = false;
}

void kr_points_go(kr_app *a) {
    if (a->n_saved == 0)
        return;
    const kr_saved_point *p = &a->saved[a->points.at];
    int m = kr_calib_find_method(a->calib, p->method_name);
    if (m < 0) {
        kr_app_say(a, true, "method %s is not in the file any more", p->method_name);
        return;
    }
    kr_app_select_method(a, (size_t)m);
    if (kr_app_set(a, (kr_setting){p->contract, p->family}))
        kr_app_show(a, KR_SCREEN_MAIN);
}

size_t kr_points_unsaved(const kr_app *a) {
    size_t n = 0;
    for (size_t i = 0; i < a->n_saved; i++)
        n += a->saved[i].exported ? 0 : 1;
    return n;
}

/* --- files ------------------------------------------------------------------------------------ */

static void points_text(const kr_app *a, bool csv, kr_buf *out) {
    if (csv)
        kr_export_point_csv_header(out);
    else
        kr_buf_puts(out, "[\n");
    for (size_t i = 0; i < a->n_saved; i++) {
        const char *s = csv ? a->saved[i].csv : a->saved[i].json;
        size_t len = strlen(s);
        while (!csv && len > 0 && s[len - 1] == '\n')
            len--;
        kr_buf_add(out, s, len);
        if (!csv)
            kr_buf_puts(out, i + 1 < a->n_saved ? ",\n" : "\n");
    }
    if (!csv)
        kr_buf_puts(out, "]\n");
}

/* Every cell of the map's axes under the present confidence, whether or not it is on the screen. */
static kr_status map_text(kr_app *a, kr_buf *out, kr_error *err) {
    kr_contract k = kr_analysis_contract(a->an);
    kr_buf_puts(out, KR_EXPORT_CELL_COLUMNS "\n");
    for (int y = 0; y < a->f.map_rows; y++)
        for (int x = 0; x < a->f.map_cols; x++) {
            kr_export_cell cell;
            k.tolerance = a->f.map_tolerance[x];
            k.risk = a->f.map_risk[y];
            kr_status st = kr_export_cell_make(a->an, KR_MODE_MAP, a->method, k, &cell, err);
            if (st != KR_OK)
                return st;
            kr_export_cell_csv(a->calib, &cell, out);
        }
    return KR_OK;
}

static bool screen_text(kr_app *a, kr_buf *out) {
    kr_canvas *c = kr_canvas_new(a->w, a->h, a->set.look);
    int cx, cy;
    if (c == NULL)
        return false;
    a->message_on = false;
    if (kr_app_waiting(a))
        kr_app_settle(a);
    kr_app_view(a, c, &cx, &cy);
    char *s = kr_canvas_dump(c);
    if (s != NULL)
        kr_buf_puts(out, s);
    kr_canvas_free(c);
    free(s);
    return s != NULL;
}

static kr_status write_out(kr_app *a, kr_out what, const char *path, bool replace, kr_error *err) {
    kr_buf b = {0};
    kr_status st = KR_OK;
    switch (what) {
    case KR_OUT_POINT: return kr_export_point_file(a->an, a->method, NULL, path, replace, err);
    case KR_OUT_APPEND: return kr_export_point_append(a->an, a->method, NULL, path, err);
    case KR_OUT_POINTS_JSON: points_text(a, false, &b); break;
    case KR_OUT_POINTS_CSV: points_text(a, true, &b); break;
    case KR_OUT_MAP: st = map_text(a, &b, err); break;
    case KR_OUT_SCREEN: screen_text(a, &b); break;
    case KR_OUT_CERTIFICATE: kr_buf_puts(&b, a->book.result.json); break;
    case KR_OUT_RESULTS: st = kr_reeval_text(a, &b, err); break;
    case KR_OUT_LOG: st = kr_reeval_log_text(a, &b, err); break;
    }
    if (st == KR_OK)
        st = b.failed || b.s == NULL ? kr_fail(err, KR_ENOMEM, "out of memory")
                                     : kr_file_write(path, b.s, b.len, replace, err);
    kr_buf_free(&b);
    return st;
}

static const char *what_words(kr_out what) {
    static const char *const words[] = {"operating point", "points",         "points", "map",
                                        "screen",          "operating point", "results", "log",
                                        "certificate"};
    return words[what];
}

void kr_out_write(kr_app *a, kr_out what, const char *path, bool replace) {
    kr_error err;
    if ((what == KR_OUT_POINTS_JSON || what == KR_OUT_POINTS_CSV) && a->n_saved == 0) {
        kr_app_say(a, true, "there are no points yet; a adds one");
        return;
    }
    if (what == KR_OUT_CERTIFICATE && a->book.result.json == NULL) {
        kr_app_say(a, true, "no certificate is shown; C confirms a lock");
        return;
    }
    if (kr_ledger_spares(a->path, path, &err) != KR_OK) {
        kr_app_say(a, true, "%s", err.msg);
        return;
    }
    if (!replace && what != KR_OUT_APPEND && access(path, F_OK) == 0) {
        char label[160];
        snprintf(label, sizeof label, "%.100s exists. Replace it? y/N ", path);
        snprintf(a->pending_path, sizeof a->pending_path, "%s", path);
        a->pending = KR_ACT_COUNT + (int)what;
        kr_prompt_open(&a->prompt, KR_PROMPT_YESNO, label, "");
        return;
    }
    if (write_out(a, what, path, replace, &err) != KR_OK) {
        kr_app_say(a, true, "%s", err.msg);
        return;
    }
    if (what == KR_OUT_RESULTS)
        kr_reeval_written(a);
    for (size_t i = 0; (what == KR_OUT_POINTS_JSON || what == KR_OUT_POINTS_CSV) && i < a->n_saved;
         i++)
        a->saved[i].exported = true;
    kr_app_say(a, false, "%s %s %s", what_words(what),
               what == KR_OUT_APPEND ? "added to" : "written to", path);
}

/* A name that does not exist yet: stem.ext, stem-2.ext, ... A table to append to keeps its name. */
static void free_name(char *out, size_t cap, const char *stem, const char *ext, bool reuse) {
    snprintf(out, cap, "%s.%s", stem, ext);
    for (int i = 2; !reuse && i < 1000 && access(out, F_OK) == 0; i++)
        snprintf(out, cap, "%s-%d.%s", stem, i, ext);
}

void kr_out_ask(kr_app *a, kr_out what) {
    static const char *const ext[] = {"json", "json", "csv", "csv", "txt", "csv", "jsonl", "log",
                                      "json"};
    char stem[160], name[200], level[32], label[80];
    const char *method = kr_calib_method(a->calib, a->method)->name;
    kr_level_label(a, a->method, kr_analysis_line(a->an, a->method)->certified, level);
    level[strcspn(level, " ")] = '\0';
    int whole = kr_text_whole(method, 60);
    switch (what) {
    case KR_OUT_POINT: snprintf(stem, sizeof stem, "kvrisk-%.*s-%s", whole, method, level); break;
    case KR_OUT_RESULTS: snprintf(stem, sizeof stem, "kvrisk-reeval-%.*s", whole, method); break;
    case KR_OUT_LOG: snprintf(stem, sizeof stem, "kvrisk-reeval"); break;
    case KR_OUT_MAP: snprintf(stem, sizeof stem, "kvrisk-map-%.*s", whole, method); break;
    case KR_OUT_CERTIFICATE:
        if (a->book.result.json == NULL) {
            kr_app_say(a, true, "no certificate is shown; C confirms a lock");
            return;
        }
        snprintf(stem, sizeof stem, "kvrisk-lock%lld-%.60s", (long long)a->book.result.lock,
                 a->book.result.name);
        break;
    case KR_OUT_SCREEN: snprintf(stem, sizeof stem, "kvrisk-%s", kr_screen_name(a->screen)); break;
    case KR_OUT_POINTS_JSON:
    case KR_OUT_POINTS_CSV:
    case KR_OUT_APPEND: snprintf(stem, sizeof stem, "kvrisk-points"); break;
    }
    for (char *p = stem; *p != '\0'; p++)
        if (*p == '/' || *p == '?')
            *p = '_';
    free_name(name, sizeof name, stem, ext[what], what == KR_OUT_APPEND);
    snprintf(label, sizeof label, "%s the %s to ", what == KR_OUT_APPEND ? "add" : "write",
             what_words(what));
    a->pending = KR_ACT_COUNT + (int)what;
    kr_prompt_open(&a->prompt, KR_PROMPT_EXPORT, label, name);
}
