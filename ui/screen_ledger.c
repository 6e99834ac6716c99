/* The ledger: its budget and requests, its entries, the selected one in full. */
#include <stdio.h>
#include <string.h>

#include "ui/model.h"

static const char about[] =
    "This file has no ledger.\n"
    "A ledger keeps some requests for exploring, on which every contract, method and screen may be tried.\n"
    "The others stay closed until a contract is locked; it is then confirmed on them, once, with a guarantee "
    "that holds whatever was tried before.\n"
    "Every lock and every result is written down beside the file, so that looking twice is seen.\n";

static bool is_counts(const kr_app *a) { return kr_calib_meta_of(a->calib)->kind == KR_KIND_COUNTS; }

/* --- words ------------------------------------------------------------------------------------ */

static void put_contract(const kr_contract *k, kr_buf *out) {
    char a[KR_DEC_TEXT], b[KR_DEC_TEXT], c[KR_DEC_TEXT];
    kr_buf_printf(out, "tolerance %s, risk %s %%, confidence %s %%", kr_dec_fixed(k->tolerance, 2, a),
                  kr_dec_percent(k->risk, 0, b), kr_dec_percent(k->confidence, 0, c));
}

static void put_start(const kr_ledger_entry *e, kr_buf *out) {
    char a[KR_DEC_TEXT], b[KR_DEC_TEXT];
    kr_buf_printf(out, "Entry 1, %s: the ledger began with an error budget of %s for all locks together; ",
                  e->time, kr_dec_text(e->budget, a));
    if (e->declared_split)
        kr_buf_puts(out, "requests of split \"test\" explore, those of \"cal\" confirm.\n");
    else
        kr_buf_printf(out, "%s %% of every task explore, chosen by seed %lld.\n",
                      kr_dec_percent(e->share, 0, b), (long long)e->seed);
}

static void put_lock(const kr_book *b, const kr_ledger_entry *e, kr_buf *out) {
    char d[KR_DEC_TEXT];
    long long tests = b->tests != NULL ? (long long)b->tests[e - b->ledger.entry] : 0;
    kr_buf_printf(out, "Lock %lld, %s: %s at ", (long long)e->number, e->time,
                  e->family ? "the family of all methods" : e->method);
    put_contract(&e->contract, out);
    if (e->n_tolerances > 0)
        kr_buf_printf(out, ", as a joint table of %zu tolerances", e->n_tolerances);
    if (e->looks > 1)
        kr_buf_printf(out, ", for %lld looks at a growing sample", (long long)e->looks);
    kr_buf_printf(out, "; error level %s.\n", kr_dec_text(kr_contract_delta(&e->contract), d));
    if (kr_book_confirmed(b, e->number))
        kr_buf_puts(out, "Confirmed. C shows the certificate again; the same requests spend nothing.\n");
    else if (tests == 0)
        kr_buf_puts(out, "It was locked after its requests were opened, so a test of it is exploratory.\n");
    else
        kr_buf_printf(out, "Open: C tests it on %lld requests that were closed when it was locked.\n", tests);
}

static void put_confirm(const kr_ledger_entry *e, kr_buf *out) {
    char d[KR_DEC_TEXT];
    kr_buf_printf(out, "Entry %lld, %s: lock %lld tested on %lld requests: %s, %s%s; error level spent %s.\n",
                  (long long)e->number, e->time, (long long)e->lock, (long long)e->tested_rows, e->state,
                  e->result, e->look == 0 ? ", exploratory" : "", kr_dec_text(e->delta, d));
    kr_buf_printf(out, "C on lock %lld shows its certificate again.\n", (long long)e->lock);
}

static void describe_none(const kr_app *a, kr_buf *out) {
    size_t n = (size_t)kr_calib_n(a->calib, KR_SPLIT_CAL); /* those of the test split are never set aside */
    kr_buf_puts(out, about);
    kr_buf_printf(out, "Enter types :ledger start 25%% seed 1 budget 0.05 to be changed: of the %zu requests "
                       "about %zu would be explored, the same share of every task, chosen by the seed; all "
                       "locks together may spend an error level of 0.05. Asked again before it begins.\n",
                  n, n / 4);
    if (kr_analysis_state(a->an) == KR_STATE_LOCKED)
        kr_buf_puts(out, "From then on nothing on the other screens is LOCKED: they show the exploration "
                         "requests.\n");
}

/* The result belongs to the selected lock or to its test. */
static bool shows_result(const kr_book *b) {
    const kr_ledger_entry *e = &b->ledger.entry[b->selected];
    return b->result.there && ((e->kind == KR_LEDGER_LOCK && e->number == b->result.lock) ||
                               (e->kind == KR_LEDGER_CONFIRM && e->lock == b->result.lock));
}

void kr_book_describe(kr_app *a) {
    kr_book *b = &a->book;
    kr_buf *out = &b->detail;
    out->len = 0;
    if (is_counts(a)) {
        kr_buf_puts(out, "Published counts have no requests to keep a ledger of.\n");
        return;
    }
    if (!b->known) {
        kr_buf_puts(out, "Reading the ledger ...\n");
        return;
    }
    if (b->damage[0] != '\0') {
        kr_buf_printf(out, "%s\nNothing can be locked or confirmed until this is mended; R reads it again.\n",
                      b->damage);
        return;
    }
    if (!b->there) {
        describe_none(a, out);
        return;
    }
    const kr_ledger_entry *e = &b->ledger.entry[b->selected];
    if (shows_result(b))
        kr_buf_printf(out, "%s\n%s", b->result.head, kr_buf_text(&b->result.text));
    else if (e->kind == KR_LEDGER_START)
        put_start(e, out);
    else if (e->kind == KR_LEDGER_LOCK)
        put_lock(b, e, out);
    else
        put_confirm(e, out);
}

/* --- budget and requests ---------------------------------------------------------------------- */

enum { LABEL = 10 };

/* Parts of a whole side by side: each with its own mark, so that colour is not needed. */
static void draw_parts(kr_view *v, kr_rect in, int y, int w, const double part[3], const kr_role role[3]) {
    bool ascii = kr_canvas_look(v->c) == KR_LOOK_ASCII;
    const uint32_t marks[3] = {ascii ? '#' : 0x2588, ascii ? '+' : 0x2592, ascii ? '.' : 0x2591};
    double all = part[0] + part[1] + part[2], sum = 0;
    for (int i = 0, x = 0; i < 3 && all > 0; i++) {
        sum += part[i];
        for (int to = (int)(sum / all * w + 0.5); x < to && x < w; x++)
            kr_canvas_put(v->c, in, LABEL + x, y, role[i], marks[i]);
    }
}

static void draw_budget_row(kr_view *v, kr_rect in, int w) {
    static const kr_role roles[3] = {KR_ROLE_FALL, KR_ROLE_EMP, KR_ROLE_DIM};
    const kr_study_budget *s = &v->a->book.budget;
    const double part[3] = {kr_dec_double(s->spent), kr_dec_double(s->held), kr_dec_double(s->left)};
    char a[KR_DEC_TEXT], b[KR_DEC_TEXT], c[KR_DEC_TEXT], d[KR_DEC_TEXT];
    kr_canvas_str(v->c, in, 0, 0, KR_ROLE_DIM, "budget");
    draw_parts(v, in, 0, w, part, roles);
    kr_canvas_text(v->c, in, LABEL + w + (w > 0 ? 2 : 0), 0, KR_ROLE_VALUE,
                   "%s spent, %s held, %s left of %s", kr_dec_text(s->spent, a), kr_dec_text(s->held, b),
                   kr_dec_text(s->left, c), kr_dec_text(s->budget, d));
}

static void draw_requests_row(kr_view *v, kr_rect in, int w) {
    static const kr_role roles[3] = {KR_ROLE_FALL, KR_ROLE_EMP, KR_ROLE_DIM};
    const kr_book *b = &v->a->book;
    const double part[3] = {(double)b->opened, (double)b->exploring, (double)b->unopened};
    kr_canvas_str(v->c, in, 0, 1, KR_ROLE_DIM, "requests");
    draw_parts(v, in, 1, w, part, roles);
    kr_canvas_text(v->c, in, LABEL + w + (w > 0 ? 2 : 0), 1, KR_ROLE_VALUE,
                   "%zu opened, %zu exploring, %zu closed", b->opened, b->exploring, b->unopened);
}

/* What L would do. */
static void draw_next(kr_view *v, kr_rect in) {
    const kr_app *a = v->a;
    kr_contract k = kr_analysis_contract(a->an);
    kr_dec delta = kr_contract_delta(&k), after;
    char d[KR_DEC_TEXT], l[KR_DEC_TEXT], text[256];
    char t[40], r[40], c[40];
    bool enough = kr_dec_sub(a->book.budget.left, delta, &after) && after.digits >= 0;
    kr_value_text(KR_FIELD_TOLERANCE, k.tolerance, t);
    kr_value_text(KR_FIELD_RISK, k.risk, r);
    kr_value_text(KR_FIELD_CONFIDENCE, k.confidence, c);
    snprintf(text, sizeof text, "%.40s at %s, %s, %s: %s %s, %s",
             kr_analysis_family(a->an) ? "the family" : kr_text_short(kr_calib_method(a->calib, a->method)->name, 40).s,
             t, r, c,
             enough ? "holds" : "needs", kr_dec_text(delta, d), enough ? "then" : "too much");
    size_t used = strlen(text);
    if (enough)
        snprintf(text + used, sizeof text - used, " %s left", kr_dec_text(after, l));
    kr_canvas_str(v->c, in, 0, 2, KR_ROLE_DIM, "L locks");
    kr_canvas_field(v->c, in, LABEL, 2, in.w - LABEL, KR_LEFT, enough ? KR_ROLE_TEXT : KR_ROLE_DIM, text);
}

void kr_draw_budget(kr_view *v, kr_rect r) {
    char title[160];
    snprintf(title, sizeof title, "ledger of %.100s", kr_text_short(kr_file_name(v->a->path), 100).s);
    kr_rect in = kr_view_pane(v, r, title, NULL);
    int w = in.w >= 100 ? 40 : in.w >= 70 ? in.w - 52 : 0;
    draw_budget_row(v, in, w);
    draw_requests_row(v, in, w);
    if (in.h > 2)
        draw_next(v, in);
}

/* --- entries ---------------------------------------------------------------------------------- */

typedef struct {
    int number, time, kind, what, contract, delta, state, result;
} columns;

static columns fit(const kr_app *a, int w) {
    columns c = {.number = 4, .time = w >= 74 ? 12 : 6, .kind = 10, .what = 11, .contract = 14,
                 .delta = 6, .state = 9};
    for (size_t m = 0; m < kr_calib_methods(a->calib); m++) {
        int n = kr_text_width(kr_calib_method(a->calib, m)->name) + 1;
        c.what = n > c.what ? n : c.what;
    }
    if (w >= 100) {
        c.time = 21;
        c.contract = 20;
        c.delta = 8;
    }
    if (w < 70)
        c.contract = 0;
    int rest = w - c.number - c.time - c.kind - c.contract - c.delta - c.state;
    int most = rest - 9 > 10 ? rest - 9 : 10; /* a result needs nine */
    if (c.what > 30)
        c.what = 30;
    if (c.what > most)
        c.what = most;
    c.result = rest - c.what;
    return c;
}

static void draw_header(kr_view *v, kr_rect in, const columns *c) {
    int x = kr_view_head(v, in, 2, c->number - 2, KR_LEFT, "#");
    x = kr_view_head(v, in, x, c->time, KR_LEFT, "time");
    x = kr_view_head(v, in, x, c->kind, KR_LEFT, "entry");
    x = kr_view_head(v, in, x, c->what, KR_LEFT, "for");
    x = kr_view_head(v, in, x, c->contract, KR_LEFT, "contract");
    x = kr_view_head(v, in, x, c->delta, KR_RIGHT, "delta");
    x = kr_view_head(v, in, x + 1, c->state - 1, KR_LEFT, "state");
    kr_view_head(v, in, x + 1, c->result, KR_LEFT, "result");
}

/* "2026-12-01 02:03:04", "12-01 02:03" or "02:03" of "2026-12-01T02:03:04Z". */
static void when(const char *time, int w, char out[24]) {
    snprintf(out, 24, "%s", time);
    if (strlen(out) < 19)
        return;
    out[10] = ' ';
    out[w > 12 ? 19 : 16] = '\0';
    memmove(out, out + (w > 12 ? 0 : w > 6 ? 5 : 11), strlen(out + (w > 12 ? 0 : w > 6 ? 5 : 11)) + 1);
}

typedef struct {
    char kind[32], what[64], contract[64], delta[KR_DEC_TEXT], result[160];
    const char *state;
    kr_role role;
} cells;

static void lock_cells(const kr_book *b, const kr_ledger_entry *e, cells *s) {
    char t[KR_DEC_TEXT], r[KR_DEC_TEXT], c[KR_DEC_TEXT];
    snprintf(s->what, sizeof s->what, "%.60s", e->family ? "family" : kr_text_short(e->method, 60).s);
    snprintf(s->contract, sizeof s->contract, "%.20s %.16s%% %.16s%%", kr_dec_fixed(e->contract.tolerance, 2, t),
             kr_dec_percent(e->contract.risk, 0, r), kr_dec_percent(e->contract.confidence, 0, c));
    kr_dec_text(kr_contract_delta(&e->contract), s->delta);
    bool done = kr_book_confirmed(b, e->number);
    s->state = done ? "tested" : b->tests != NULL && b->tests[e - b->ledger.entry] == 0 ? "too late" : "open";
    s->role = done ? KR_ROLE_DIM : KR_ROLE_KEY;
    if (e->n_tolerances > 0)
        snprintf(s->result, sizeof s->result, "%zu tolerances", e->n_tolerances);
    else if (e->looks > 1)
        snprintf(s->result, sizeof s->result, "%lld looks", (long long)e->looks);
}

/* "keydiff 30 %" without the name, which stands beside it. */
static void result_of(const char *result, char *out, size_t cap) {
    const char *level = strchr(result, ' ');
    snprintf(out, cap, "%s", level != NULL ? level + 1 : result);
}

static void fill_cells(const kr_book *b, const kr_ledger_entry *e, cells *s) {
    char share[KR_DEC_TEXT];
    *s = (cells){.state = "", .role = KR_ROLE_DIM};
    snprintf(s->kind, sizeof s->kind, "%s", kr_ledger_kind_name(e->kind));
    if (e->kind == KR_LEDGER_START) {
        if (e->declared_split)
            snprintf(s->contract, sizeof s->contract, "explore test");
        else
            snprintf(s->contract, sizeof s->contract, "explore %.12s%%",
                     kr_dec_percent(e->share, 0, share));
        kr_dec_text(e->budget, s->delta);
        s->state = "budget";
        return;
    }
    if (e->kind == KR_LEDGER_LOCK) {
        lock_cells(b, e, s);
        return;
    }
    size_t name = strcspn(e->result, " ");
    snprintf(s->kind, sizeof s->kind, "confirm %lld", (long long)e->lock);
    snprintf(s->what, sizeof s->what, "%.*s", name < 60 ? (int)name : 60, e->result);
    snprintf(s->contract, sizeof s->contract, "%lld requests", (long long)e->tested_rows);
    kr_dec_text(e->delta, s->delta);
    s->state = e->state;
    bool locked = strcmp(e->state, kr_state_name(KR_STATE_LOCKED)) == 0;
    result_of(e->result, s->result, sizeof s->result);
    s->role = !locked ? KR_ROLE_WARN : strcmp(s->result, "full KV") == 0 ? KR_ROLE_FALL : KR_ROLE_CERT;
}

static void draw_row(kr_view *v, kr_rect in, int y, const kr_ledger_entry *e, bool selected,
                     const columns *c) {
    cells s;
    char number[24], time[24];
    int x = 2;
    fill_cells(&v->a->book, e, &s);
    when(e->time, c->time, time);
    snprintf(number, sizeof number, "%lld", (long long)e->number);
    kr_canvas_field(v->c, in, 0, y, 2, KR_LEFT, KR_ROLE_KEY, selected ? "▸" : "");
    kr_canvas_field(v->c, in, x, y, c->number - 3, KR_LEFT, KR_ROLE_DIM, number);
    kr_canvas_field(v->c, in, x += c->number - 2, y, c->time - 1, KR_LEFT, KR_ROLE_DIM, time);
    kr_canvas_field(v->c, in, x += c->time, y, c->kind - 1, KR_LEFT, selected ? KR_ROLE_TITLE : KR_ROLE_TEXT,
                    s.kind);
    kr_canvas_field(v->c, in, x += c->kind, y, c->what - 1, KR_LEFT, KR_ROLE_TEXT, s.what);
    kr_canvas_field(v->c, in, x += c->what, y, c->contract - 1, KR_LEFT, KR_ROLE_DIM, s.contract);
    kr_canvas_field(v->c, in, x += c->contract, y, c->delta, KR_RIGHT, KR_ROLE_TEXT, s.delta);
    kr_canvas_field(v->c, in, x += c->delta + 1, y, c->state - 1, KR_LEFT, s.role, s.state);
    kr_canvas_field(v->c, in, x + c->state, y, c->result - 3, KR_LEFT, s.role, s.result);
}

void kr_draw_entries(kr_view *v, kr_rect r) {
    kr_app *a = v->a;
    kr_book *b = &a->book;
    bool shared = a->lay.box.w > 0; /* the heads then stand on the frame's own line */
    kr_rect in = kr_view_pane(v, r, shared ? NULL : "entries", NULL);
    kr_rect list = shared ? in : (kr_rect){in.x, in.y + 1, in.w, in.h - 1};
    columns c = fit(a, list.w);
    draw_header(v, (kr_rect){list.x, list.y - 1, list.w, 1}, &c);
    if (list.h < 1)
        return;
    b->top = kr_list_top((int)b->ledger.n, list.h, b->selected, b->top);
    for (int y = 0; y < list.h && b->top + y < (int)b->ledger.n; y++) {
        bool selected = b->top + y == b->selected;
        draw_row(v, list, y, &b->ledger.entry[b->top + y], selected, &c);
        if (selected) {
            kr_canvas_pick(v->c, (kr_rect){list.x, list.y + y, list.w, 1});
            kr_view_cursor(v, list, 0, y);
        }
    }
    kr_view_scroll(v, list, (int)b->ledger.n, b->top);
}

/* --- the selected entry ----------------------------------------------------------------------- */

/* The first paragraph stands out where it is a verdict or a warning. */
static kr_role head_role(const kr_book *b) {
    if (b->damage[0] != '\0')
        return KR_ROLE_ERROR;
    if (!b->there || !shows_result(b))
        return KR_ROLE_TEXT;
    return b->result.certified ? KR_ROLE_CERT : b->result.locked ? KR_ROLE_FALL : KR_ROLE_WARN;
}

void kr_draw_entry(kr_view *v, kr_rect r) {
    const kr_book *b = &v->a->book;
    bool cert = b->there && shows_result(b);
    kr_rect in = kr_view_pane(v, r, b->damage[0] != '\0' ? "damaged" : cert ? "certificate"
                                    : b->there ? "entry" : "ledger",
                              cert ? b->result.state : NULL);
    int y = 0;
    for (const char *p = kr_buf_text(&b->detail); *p != '\0' && y <= in.h;) {
        char line[2048];
        size_t len = strcspn(p, "\n");
        snprintf(line, sizeof line, "%.*s", (int)len, p);
        y += kr_canvas_wrap(v->c, (kr_rect){in.x, in.y + y, in.w, in.h - y},
                            y == 0 ? head_role(b) : KR_ROLE_TEXT, line);
        p += len + (p[len] == '\n');
    }
    if (y > in.h)
        kr_canvas_str(v->c, in, in.w - 4, in.h - 1, KR_ROLE_KEY, " … i");
    kr_view_cursor(v, in, 0, 0);
}
