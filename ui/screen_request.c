/* One request looked into: the levels of a method, both answers, what was kept of the prompt and in
 * which head, and how far the attention's output is off. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/model.h"

static const kr_measure *present(const kr_app *a) {
    const kr_reeval *e = a->re;
    return e->file == NULL ? NULL : kr_reeval_find(a, e->view_q, kr_app_policy(a), true);
}

static const char *waiting_text(const kr_app *a) {
    if (a->re->file == NULL)
        return "r on a request of the list (4, Enter), or Enter on a result (5), opens it here";
    return a->re->one.job != NULL ? "evaluating all levels of the method ..."
                                  : "no result; r tries again";
}

static bool is_event(const kr_app *a, const kr_measure *m) {
    int64_t tolerance = 0;
    kr_dec_nano(kr_analysis_contract(a->an).tolerance, &tolerance);
    return m->full == KR_MISSING || m->utility == KR_MISSING || m->full - m->utility > tolerance;
}

/* --- levels and answers ----------------------------------------------------------------------- */

/* Every level of the method with a mark where the request is an event: where the answer breaks. */
static void draw_ladder(kr_view *v, kr_rect in) {
    const kr_app *a = v->a;
    const kr_method *m = kr_calib_method(a->calib, a->method);
    char label[32], s[40];
    kr_level_label(a, a->method, 0, label);
    int cell = kr_text_width(label) + 3, fit = (in.w - 7) / cell, n = (int)m->count;
    int shown = n < fit ? n : fit, from = a->level - shown / 2;
    from = from < 0 ? 0 : from > n - shown ? n - shown : from;
    int x = kr_canvas_str(v->c, in, 0, 0, KR_ROLE_DIM, "keeps") + 1;
    for (int i = from; i < from + shown; i++, x += cell) {
        const kr_measure *r = kr_reeval_find(a, a->re->view_q, m->first + (size_t)i, true);
        bool event = r != NULL && is_event(a, r), here = i == a->level;
        kr_level_label(a, a->method, i, label);
        snprintf(s, sizeof s, here ? "[%s]%s" : " %s%s", label, event ? "!" : "");
        kr_canvas_str(v->c, in, x, 0,
                      here    ? KR_ROLE_FOCUS
                      : event ? KR_ROLE_FALL
                              : KR_ROLE_TEXT,
                      s);
    }
}

static void utility_text(int64_t u, char out[24]) {
    if (u == KR_MISSING)
        snprintf(out, 24, "missing");
    else
        snprintf(out, 24, "%.4f", (double)u / 1e9);
}

static int put(kr_view *v, kr_rect in, int x, int y, kr_role role, const char *label,
               const char *value) {
    x += kr_canvas_str(v->c, in, x, y, KR_ROLE_DIM, label) + 1;
    return x + kr_canvas_str(v->c, in, x, y, role, value) + 2;
}

static void draw_utilities(kr_view *v, kr_rect in, const kr_measure *m) {
    const kr_app *a = v->a;
    char full[24], utility[24], s[80], tolerance[40];
    bool event = is_event(a, m), missing = m->full == KR_MISSING || m->utility == KR_MISSING;
    size_t row = a->re->row[m->q];
    utility_text(m->full, full);
    utility_text(m->utility, utility);
    snprintf(s, sizeof s, "%s, full %s", utility, full);
    int x = put(v, in, 0, 1, KR_ROLE_VALUE, "utility", s);
    utility_text(missing ? KR_MISSING : m->full - m->utility, s);
    x = put(v, in, x, 1, event ? KR_ROLE_FALL : KR_ROLE_VALUE, "drop", s);
    kr_field_text(a, KR_FIELD_TOLERANCE, tolerance);
    snprintf(s, sizeof s, event ? "EVENT above %s" : "no event at %s", tolerance);
    x += kr_canvas_str(v->c, in, x, 1, event ? KR_ROLE_FALL : KR_ROLE_CERT, s) + 2;
    if (row == KR_RE_NO_ROW)
        return;
    char why[KR_RE_WHY];
    bool comparable = kr_reeval_comparable(a, &a->re->one, why) != KR_COMPARABLE_NO;
    utility_text(kr_calib_utility(a->calib, row, m->policy), utility);
    snprintf(s, sizeof s, "%s%s", utility, comparable ? "" : ", not comparable");
    put(v, in, x, 1, comparable && kr_reeval_agrees(a, m) ? KR_ROLE_DIM : KR_ROLE_WARN, "stored", s);
}

/* In a low window one row, else full KV and the level side by side. */
static void draw_costs(kr_view *v, kr_rect in, const kr_measure *m, const kr_full_run *f) {
    char s[96];
    snprintf(s, sizeof s, "%.2f %%", 100 * m->retained);
    int x = put(v, in, 0, 2, KR_ROLE_VALUE, "kept", s);
    snprintf(s, sizeof s, "%.1f of %.1f KB", (double)m->bytes / 1e3, (double)f->bytes / 1e3);
    x = put(v, in, x, 2, KR_ROLE_VALUE, "held", s);
    snprintf(s, sizeof s, "%.1f ms", 1e3 * (f->prefill_s + f->score_s));
    x = put(v, in, x, 2, KR_ROLE_TEXT, "first token", s);
    snprintf(s, sizeof s, "%.2f ms%s", f->steps > 0 ? 1e3 * f->decode_s / (double)f->steps : 0.0,
             in.w >= 90 ? " for all levels together" : "");
    put(v, in, x, 2, KR_ROLE_TEXT, "then", s);
}

static void draw_table(kr_view *v, kr_rect in, const kr_measure *m, const kr_full_run *f) {
    char label[32], name[120];
    const kr_app *a = v->a;
    kr_level_label(a, a->method, a->level, label);
    snprintf(name, sizeof name, "%.80s at %s", kr_text_short(kr_calib_method(a->calib, a->method)->name, 80).s, label);
    kr_times t = {name, strstr(name, " at ") + 1, "all levels together", f->prefill_s, f->score_s,
                  f->steps > 0 ? f->decode_s / (double)f->steps : NAN,
                  (double)f->bytes, (double)m->bytes, m->retained};
    kr_times_table(v, in, 2, &t);
}

/* Bytes that both begin with, whole characters. */
static size_t same_part(const char *x, const char *y) {
    size_t n = 0;
    uint32_t cp;
    while (x[n] != '\0' && y[n] != '\0') {
        int w = kr_text_next(x + n, &cp);
        if (strncmp(x + n, y + n, (size_t)w) != 0)
            break;
        n += (size_t)w;
    }
    return n;
}

/* A line of an answer from `from` on; line ends are blanks. Returns columns before byte `mark`. */
static int draw_answer(kr_view *v, kr_rect in, int y, const char *label, const char *text,
                       size_t from, size_t mark) {
    enum { LABEL_W = 9 };
    int x = LABEL_W, at = -1;
    kr_canvas_str(v->c, in, 0, y, KR_ROLE_DIM, label);
    if (from > 0)
        x += kr_canvas_str(v->c, in, x, y, KR_ROLE_DIM, "…");
    for (size_t i = from; text[i] != '\0' && x < in.w;) {
        uint32_t cp;
        int n = kr_text_next(text + i, &cp);
        at = i >= mark && at < 0 ? x : at;
        x += kr_canvas_put(v->c, in, x, y, i >= mark ? KR_ROLE_FALL : KR_ROLE_VALUE,
                           text[i] == '\n' ? ' ' : cp);
        i += (size_t)n;
    }
    if (x == LABEL_W)
        kr_canvas_str(v->c, in, x, y, KR_ROLE_DIM, "(nothing)");
    return at < 0 ? x : at;
}

/* Where to begin so that the first difference is in the middle of a line at the latest. */
static size_t begin_at(const char *s, size_t mark, int w) {
    size_t from = 0;
    uint32_t cp;
    while (mark - from > (size_t)(w / 2))
        from += (size_t)kr_text_next(s + from, &cp);
    return from;
}

static void draw_difference(kr_view *v, kr_rect in, int y, const kr_measure *m,
                            const kr_full_run *f) {
    const char *full = f->answer != NULL ? f->answer : "";
    const char *mine = m->answer != NULL ? m->answer : "";
    size_t mark = same_part(full, mine);
    bool same = full[mark] == '\0' && mine[mark] == '\0';
    size_t from = begin_at(full, mark, in.w - 9);
    char s[200];
    draw_answer(v, in, y, "full KV", full, from, mark);
    int at = draw_answer(v, in, y + 1, "evicted", mine, from, mark);
    if (same && m->parted < 0)
        snprintf(s, sizeof s, "the same answer");
    else if (m->parted < 0)
        snprintf(s, sizeof s, "^ parts here");
    else
        snprintf(s, sizeof s, "^ parts at token %lld: full KV's leads by %.2f there, by %.2f here",
                 (long long)m->parted + 1, m->full_margin, m->margin);
    int w = kr_text_width(s), x = same ? 9 : at;
    if (!same && x + w > in.w) { /* words before the mark */
        snprintf(s, sizeof s, "parts at token %lld: %.2f, %.2f ^", (long long)m->parted + 1,
                 m->full_margin, m->margin);
        x = at - kr_text_width(s) + 1;
    }
    kr_canvas_str(v->c, in, x < 0 ? 0 : x, y + 2, same ? KR_ROLE_DIM : KR_ROLE_WARN, s);
}

void kr_draw_answers(kr_view *v, kr_rect r) {
    const kr_app *a = v->a;
    const kr_reeval *e = a->re;
    char title[240], note[200] = "";
    const kr_sample_request *q = e->file != NULL ? &e->file->item[e->view_q] : NULL;
    snprintf(title, sizeof title, "%.120s: %s", q != NULL ? kr_text_short(q->id, 120).s : "request",
             kr_calib_method(a->calib, a->method)->name);
    if (q != NULL)
        snprintf(note, sizeof note, "%.60s, scored by %.40s", kr_text_short(q->task, 60).s, q->scorer->name);
    kr_rect in = kr_view_pane(v, r, title, note);
    if (a->lay.box.w > 0)
        kr_frame_divider(v->c, a->lay.box, 0, title, note);
    const kr_measure *m = present(a);
    if (e->file != NULL)
        draw_ladder(v, in);
    if (m == NULL) {
        kr_canvas_str(v->c, in, 0, 1, KR_ROLE_DIM, waiting_text(a));
        if (e->one.job == NULL && e->one.message[0] != '\0')
            kr_canvas_field(v->c, in, 0, 2, in.w, KR_LEFT, KR_ROLE_WARN, e->one.message);
        return;
    }
    draw_utilities(v, in, m);
    bool table = in.h >= 8;
    if (table)
        draw_table(v, in, m, &e->full[e->view_q]);
    else
        draw_costs(v, in, m, &e->full[e->view_q]);
    draw_difference(v, in, table ? 5 : 3, m, &e->full[e->view_q]);
}

/* --- the prompt ------------------------------------------------------------------------------- */

/* Writes tokens into lines, each with a line of marks under it where `marks`. */
typedef struct {
    kr_view *v;
    kr_rect in;
    int x, y, top, rows; /* y counts lines of text; rows of the screen per line */
} writer;

static void write_char(writer *w, uint32_t cp, kr_role role, char mark) {
    if (cp == '\n') {
        w->x = 0;
        w->y++;
        return;
    }
    if (w->x >= w->in.w) {
        w->x = 0;
        w->y++;
    }
    int row = (w->y - w->top) * w->rows;
    int width = 1;
    if (row >= 0 && row < w->in.h)
        width = kr_canvas_put(w->v->c, w->in, w->x, row, role, cp);
    if (row >= 0 && row + 1 < w->in.h && w->rows == 2)
        for (int i = 0; i < width; i++)
            kr_canvas_put(w->v->c, w->in, w->x + i, row + 1,
                          mark == '#' || mark == '!' ? KR_ROLE_TARGET : KR_ROLE_DIM,
                          (uint32_t)(unsigned char)mark);
    w->x += width;
}

static void write_piece(writer *w, const char *s, kr_role role, char mark) {
    int width = kr_text_width(s);
    if (w->x + width > w->in.w && width <= w->in.w && strchr(s, '\n') == NULL) {
        w->x = 0;
        w->y++;
        s += s[0] == ' ' ? 1 : 0;
    }
    while (*s != '\0') {
        uint32_t cp;
        int n = kr_text_next(s, &cp);
        write_char(w, s[0] == '\n' ? '\n' : s[0] == '\t' ? ' ' : cp, role, mark);
        s += n;
    }
}

/* Tokens that overlap an occurrence of one of the request's answers in the prompt. */
static bool *answer_tokens(const kr_sample_request *q, const kr_full_run *f) {
    bool *hit = calloc(f->n_pieces + 1, sizeof *hit);
    kr_buf text = {0};
    size_t *at = calloc(f->n_pieces + 1, sizeof *at);
    for (size_t i = 0; hit != NULL && at != NULL && i < f->n_pieces; i++) {
        at[i] = text.len;
        kr_buf_puts(&text, f->pieces + f->piece_at[i]);
    }
    const kr_lit *answer = q->answers != NULL ? q->answers->first : NULL;
    for (; hit != NULL && at != NULL && !text.failed && answer != NULL; answer = answer->next) {
        if (answer->type != KR_LIT_STR || answer->len == 0)
            continue;
        size_t i = 0;
        for (const char *s = kr_buf_text(&text); (s = strstr(s, answer->s)) != NULL; s++) {
            size_t from = (size_t)(s - text.s), to = from + strlen(answer->s);
            while (i < f->n_pieces && (i + 1 < f->n_pieces ? at[i + 1] : text.len) <= from)
                i++;
            for (size_t k = i; k < f->n_pieces && at[k] < to; k++)
                hit[k] = true;
        }
    }
    free(at);
    kr_buf_free(&text);
    return hit;
}

/* Share of the heads that keep token i; tokens that were fed later are kept by all. */
static double kept_share(const kr_measure *m, size_t i) {
    size_t all = m->heads.layers * m->heads.heads;
    return i < m->heads.n_positions && all > 0 ? (double)m->heads.position[i] / (double)all : 1;
}

static char mark_of(double share, bool answer) {
    if (share >= 1)
        return answer ? '#' : '=';
    if (share <= 0)
        return answer ? '!' : ' ';
    int tenth = (int)(share * 10);
    return (char)('0' + (tenth < 1 ? 1 : tenth));
}

/* Without marks an answer's colour says whether most heads keep it. */
static kr_role answer_role(const writer *w, double share) {
    if (w->rows == 2)
        return KR_ROLE_TARGET;
    return share < 0.5 ? KR_ROLE_FALL : KR_ROLE_CERT;
}

static void write_prompt(writer *w, const kr_measure *m, const kr_full_run *f, const bool *hit) {
    w->x = w->y = 0;
    for (size_t i = 0; i < f->n_pieces; i++) {
        double share = kept_share(m, i);
        bool answer = hit != NULL && hit[i];
        kr_role role = answer                             ? answer_role(w, share)
                       : w->rows == 2 && !w->v->a->colored ? KR_ROLE_TEXT
                                                          : (kr_role)(KR_ROLE_HEAT0 +
                                                                      kr_heat_step(share));
        write_piece(w, f->pieces + f->piece_at[i], role, mark_of(share, answer));
    }
}

void kr_draw_prompt_text(kr_view *v, kr_rect r) {
    kr_app *a = v->a;
    const kr_measure *m = present(a);
    const kr_full_run *f = m != NULL ? &a->re->full[a->re->view_q] : NULL;
    char note[80] = "";
    if (f != NULL && f->pieces != NULL)
        snprintf(note, sizeof note, "%zu tokens", f->n_pieces);
    kr_rect in = kr_view_pane(v, r, a->colored ? "prompt, shaded by heads that keep a token"
                                               : "prompt, under each token the heads that keep it",
                              note);
    if (f == NULL || f->pieces == NULL) {
        kr_canvas_str(v->c, in, 0, 0, KR_ROLE_DIM, waiting_text(a));
        kr_view_cursor(v, in, 0, 0);
        return;
    }
    bool *hit = answer_tokens(&a->re->file->item[a->re->view_q], f);
    writer w = {.v = v, .in = in, .rows = a->colored ? 1 : 2, .top = 1 << 24};
    write_prompt(&w, m, f, hit); /* count the lines first */
    int lines = w.y + 1, fit = in.h / w.rows > 0 ? in.h / w.rows : 1;
    a->text.n = lines > fit ? (size_t)(lines - fit) : 0;
    if (a->text.at > (int)a->text.n)
        a->text.at = (int)a->text.n;
    w.top = a->text.at;
    write_prompt(&w, m, f, hit);
    free(hit);
    kr_view_scroll(v, in, lines * w.rows, w.top * w.rows);
    kr_view_cursor(v, in, 0, 0);
}

/* --- heads ------------------------------------------------------------------------------------ */

enum { LAYER_W = 6, HEAD_W = 4, BAR_W = 10 };

static void draw_cell(kr_view *v, kr_rect in, int x, int y, double share) {
    char s[8];
    if (!isfinite(share)) {
        kr_canvas_str(v->c, in, x, y, KR_ROLE_DIM, "  -");
        return;
    }
    int step = kr_heat_step(share);
    snprintf(s, sizeof s, "%3.0f%c", 100 * share, v->a->colored ? ' ' : kr_heat_mark(step));
    kr_canvas_str(v->c, in, x, y, (kr_role)(KR_ROLE_HEAT0 + step), s);
}

static void draw_layer(kr_view *v, kr_rect in, int y, size_t l, const kr_measure *m, int from,
                       int heads, int64_t n, double most) {
    const kr_eval_heads *h = &m->heads;
    char s[32];
    snprintf(s, sizeof s, "%zu", l);
    kr_canvas_field(v->c, in, 0, y, LAYER_W - 1, KR_LEFT, KR_ROLE_DIM, s);
    int x = LAYER_W;
    for (int k = 0; k < heads; k++, x += HEAD_W)
        draw_cell(v, in, x, y, n > 0 ? h->kept[l * h->heads + (size_t)(from + k)] / (double)n : NAN);
    x += 2;
    for (int k = 0; k < heads; k++, x += HEAD_W)
        draw_cell(v, in, x, y, h->mass[l * h->heads + (size_t)(from + k)]);
    x += 2;
    if (in.w - x >= BAR_W + 7) {
        kr_bar(v->c, in, x, y, BAR_W, most > 0 ? h->error[l] / most : 0, KR_ROLE_CURVE);
        x += BAR_W + 1;
    }
    snprintf(s, sizeof s, "%.3f", h->error[l]);
    kr_canvas_str(v->c, in, x, y, KR_ROLE_VALUE, s);
}

static void draw_legend(kr_view *v, kr_rect in, int y) {
    int x = kr_canvas_str(v->c, in, 0, y, KR_ROLE_DIM, "above 90 % ");
    for (int i = 0; i < 10; i++) {
        char s[4];
        snprintf(s, sizeof s, "%c", v->a->colored ? ' ' : kr_heat_mark(i));
        x += kr_canvas_str(v->c, in, x, y, (kr_role)(KR_ROLE_HEAT0 + i), s);
    }
    kr_canvas_str(v->c, in, x, y, KR_ROLE_DIM, " 10 % and less");
}

/* Which of all stands in the title where not all fit: "layers 1-10 of 32, heads 1-7 of 8". */
static void range_text(char *out, size_t cap, const char *what, int from, int shown, int all) {
    size_t used = strlen(out);
    if (shown < all)
        snprintf(out + used, cap - used, "%s%s %d-%d of %d", used > 0 ? ", " : "", what, from + 1,
                 from + shown, all);
}

static int first_shown(int *at, int shown, int all) {
    int most = all > shown ? all - shown : 0;
    *at = *at > most ? most : *at;
    return *at;
}

void kr_draw_heads(kr_view *v, kr_rect r) {
    kr_app *a = v->a;
    const kr_measure *m = present(a);
    char note[96] = "";
    int all = m != NULL ? (int)m->heads.heads : 0, n = m != NULL ? (int)m->heads.layers : 0;
    kr_rect room = kr_view_inside(v, r);
    int fit = (room.w - LAYER_W - 2 - 9) / (2 * HEAD_W), rows = room.h > 2 ? room.h - 2 : 0;
    int heads = all > fit ? (fit > 0 ? fit : 0) : all, lines = n > rows ? rows : n;
    int from = first_shown(&a->re->heads_x, heads, all);
    int top = first_shown(&a->re->heads_at, lines, n);
    range_text(note, sizeof note, "layers", top, lines, n);
    range_text(note, sizeof note, "heads", from, heads, all);
    kr_rect in = kr_view_pane(v, r, "heads by layer, in %", note);
    if (m == NULL) {
        kr_canvas_str(v->c, in, 0, 0, KR_ROLE_DIM, waiting_text(a));
        kr_view_cursor(v, in, 0, 0);
        return;
    }
    double most = 0;
    for (size_t l = 0; l < m->heads.layers; l++)
        most = m->heads.error[l] > most ? m->heads.error[l] : most;
    kr_canvas_str(v->c, in, 0, 0, KR_ROLE_DIM, "layer");
    kr_canvas_str(v->c, in, LAYER_W, 0, KR_ROLE_DIM, heads > 2 ? "entries kept" : "kept");
    kr_canvas_str(v->c, in, LAYER_W + heads * HEAD_W + 2, 0, KR_ROLE_DIM,
                  heads > 3 ? "attention kept" : "attended");
    kr_canvas_str(v->c, in, LAYER_W + 2 * heads * HEAD_W + 4, 0, KR_ROLE_DIM, "error of output");
    for (int y = 0; y < lines; y++)
        draw_layer(v, in, y + 1, (size_t)(top + y), m, from, heads, a->re->full[m->q].n, most);
    draw_legend(v, in, in.h - 1);
    kr_view_scroll(v, (kr_rect){in.x, in.y + 1, in.w, rows}, n, top);
    kr_view_cursor(v, in, 0, 0);
}
