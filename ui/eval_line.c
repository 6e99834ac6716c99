#include "ui/eval_line.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

/* --- values ----------------------------------------------------------------------------------- */

static void read_text(kr_json *j, char **out) {
    if (kr_json_peek(j) == KR_JSON_NULL) {
        kr_json_null(j);
        return;
    }
    free(*out);
    *out = kr_json_string_copy(j);
}

static void read_count(kr_json *j, int64_t *out) {
    if (kr_json_peek(j) == KR_JSON_NULL)
        kr_json_null(j);
    else
        kr_json_int(j, 0, INT64_MAX, out);
}

static void read_utility(kr_json *j, int64_t *out) {
    if (kr_json_peek(j) == KR_JSON_NULL)
        kr_json_null(j);
    else
        kr_json_nano(j, out);
}

static double number(kr_json *j) {
    kr_span raw;
    char text[64];
    if (kr_json_peek(j) == KR_JSON_NULL) {
        kr_json_null(j);
        return NAN;
    }
    if (!kr_json_number(j, &raw) || raw.len >= sizeof text)
        return NAN;
    memcpy(text, raw.s, raw.len);
    text[raw.len] = '\0';
    double x = strtod(text, NULL);
    return isfinite(x) ? x : NAN;
}

/* Makes room for one more; false (and the reading fails) at the limit or without memory. */
static bool room(kr_json *j, void **array, size_t n, size_t size, size_t limit) {
    if (n < limit && (n < 16 ? n != 0 : (n & (n - 1)) != 0))
        return true; /* capacities are 16, 32, 64, ... */
    void *p = n < limit ? realloc(*array, (n < 16 ? 16 : 2 * n) * size) : NULL;
    if (p == NULL)
        return kr_json_fail(j, j->at, "more than can be kept");
    *array = p;
    return true;
}

static void read_positions(kr_json *j, kr_eval_heads *h) {
    void *p = h->position;
    for (kr_json_iter it = kr_json_enter(j, '['); kr_json_element(j, &it);) {
        int64_t v = 0;
        if (!kr_json_int(j, 0, UINT16_MAX, &v) ||
            !room(j, &p, h->n_positions, sizeof *h->position, KR_EVAL_MAX_TOKENS))
            break;
        h->position = p;
        h->position[h->n_positions++] = (uint16_t)v;
    }
}

/* [rows][columns], every row as long as the first. */
static void read_table(kr_json *j, double **out, size_t *rows, size_t *columns) {
    void *p = NULL;
    size_t n = 0;
    *rows = *columns = 0;
    for (kr_json_iter it = kr_json_enter(j, '['); kr_json_element(j, &it); ++*rows) {
        size_t before = n;
        for (kr_json_iter in = kr_json_enter(j, '['); kr_json_element(j, &in);) {
            double x = number(j);
            if (!room(j, &p, n, sizeof(double), KR_EVAL_MAX_HEADS))
                break;
            ((double *)p)[n++] = x;
        }
        if (*rows == 0)
            *columns = n;
        else if (n - before != *columns)
            kr_json_fail(j, j->at, "a layer with another number of heads");
    }
    free(*out);
    *out = p;
}

static size_t read_row(kr_json *j, double **out) {
    void *p = NULL;
    size_t n = 0;
    for (kr_json_iter it = kr_json_enter(j, '['); kr_json_element(j, &it);) {
        double x = number(j);
        if (!room(j, &p, n, sizeof(double), KR_EVAL_MAX_HEADS))
            break;
        ((double *)p)[n++] = x;
    }
    free(*out);
    *out = p;
    return n;
}

static void read_tokens(kr_json *j, int64_t *n) {
    *n = 0;
    for (kr_json_iter it = kr_json_enter(j, '['); kr_json_element(j, &it); ++*n)
        kr_json_skip(j, NULL);
}

static void read_pieces(kr_json *j, kr_eval_line *l) {
    kr_buf text = {0};
    void *at = l->piece_at;
    for (kr_json_iter it = kr_json_enter(j, '['); kr_json_element(j, &it);) {
        char *s = kr_json_string_copy(j);
        if (s == NULL || !room(j, &at, l->n_pieces, sizeof *l->piece_at, KR_EVAL_MAX_TOKENS)) {
            free(s);
            break;
        }
        l->piece_at = at;
        l->piece_at[l->n_pieces++] = text.len;
        kr_buf_add(&text, s, strlen(s) + 1);
        free(s);
    }
    if (text.failed)
        kr_json_fail(j, j->at, "out of memory");
    free(l->pieces);
    l->pieces = kr_buf_take(&text);
    kr_buf_free(&text);
}

/* --- members ---------------------------------------------------------------------------------- */

typedef enum { TEXT, COUNT, UTILITY, NUMBER, TOKENS, PIECES, KEPT, MASS, ERRORS, POSITIONS } kind;

typedef struct {
    const char *key;
    kind kind;
    size_t at; /* offset in kr_eval_line */
} member;

#define AT(field) offsetof(kr_eval_line, field)
static const member members[] = {
    {"id", TEXT, AT(id)},
    {"answer", TEXT, AT(answer)},
    {"message", TEXT, AT(message)},
    {"phase", TEXT, AT(phase)},
    {"requests_sha256", TEXT, AT(requests_sha256)},
    {"request", COUNT, AT(request)},
    {"of", COUNT, AT(of)},
    {"done", COUNT, AT(done)},
    {"total", COUNT, AT(total)},
    {"index", COUNT, AT(index)},
    {"prompt_tokens", COUNT, AT(prompt_tokens)},
    {"n", COUNT, AT(n)},
    {"bytes", COUNT, AT(bytes)},
    {"steps", COUNT, AT(steps)},
    {"failed", COUNT, AT(failed)},
    {"peak_bytes", COUNT, AT(peak_bytes)},
    {"parted", COUNT, AT(parted)},
    {"utility", UTILITY, AT(utility)},
    {"full_utility", UTILITY, AT(full_utility)},
    {"retained", NUMBER, AT(retained)},
    {"prefill_s", NUMBER, AT(prefill_s)},
    {"score_s", NUMBER, AT(score_s)},
    {"decode_s", NUMBER, AT(decode_s)},
    {"seconds", NUMBER, AT(seconds)},
    {"margin", NUMBER, AT(margin)},
    {"full_margin", NUMBER, AT(full_margin)},
    {"tokens", TOKENS, AT(n_tokens)},
    {"pieces", PIECES, 0},
    {"heads_kept", KEPT, 0},
    {"heads_mass", MASS, 0},
    {"layer_error", ERRORS, 0},
    {"positions", POSITIONS, 0},
};

/* Sizes of the tables of one line, which must agree. */
typedef struct {
    size_t kept[2], mass[2], errors;
} sizes;

static void read_member(kr_json *j, const member *m, kr_eval_line *l, sizes *z) {
    char *base = (char *)l + m->at;
    switch (m->kind) {
    case TEXT: read_text(j, (char **)(void *)base); break;
    case COUNT: read_count(j, (int64_t *)(void *)base); break;
    case UTILITY: read_utility(j, (int64_t *)(void *)base); break;
    case NUMBER: *(double *)(void *)base = number(j); break;
    case TOKENS: read_tokens(j, &l->n_tokens); break;
    case PIECES: read_pieces(j, l); break;
    case KEPT: read_table(j, &l->heads.kept, &z->kept[0], &z->kept[1]); break;
    case MASS: read_table(j, &l->heads.mass, &z->mass[0], &z->mass[1]); break;
    case ERRORS: z->errors = read_row(j, &l->heads.error); break;
    case POSITIONS: read_positions(j, &l->heads); break;
    }
}

static kr_eval_line_event event_of(kr_span s) {
    static const char *const names[] = {"",     "start",  "progress", "prompt",
                                        "full", "result", "error",    "end"};
    for (int i = 1; i < 8; i++)
        if (kr_span_is(s, names[i]))
            return (kr_eval_line_event)i;
    return KR_EVAL_LINE_OTHER;
}

static void read_one(kr_json *j, kr_span key, kr_eval_line *l, sizes *z, bool *named) {
    kr_span name;
    bool escaped;
    if (kr_span_is(key, "event")) {
        if (kr_json_string(j, &name, &escaped))
            l->event = event_of(name);
        *named = true;
        return;
    }
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (kr_span_is(key, members[i].key)) {
            read_member(j, &members[i], l, z);
            return;
        }
    kr_json_skip(j, NULL);
}

static void check(kr_json *j, kr_eval_line *l, const sizes *z) {
    if (l->event != KR_EVAL_LINE_RESULT)
        return;
    if (l->heads.kept == NULL || l->heads.mass == NULL || l->heads.error == NULL ||
        z->kept[0] != z->mass[0] || z->kept[1] != z->mass[1] || z->kept[0] != z->errors)
        kr_json_fail(j, 0, "a result without the tables of its heads");
    l->heads.layers = z->kept[0];
    l->heads.heads = z->kept[1];
}

kr_status kr_eval_line_read(const char *text, size_t len, kr_eval_line *out, kr_error *err) {
    kr_error mine = {KR_OK, ""};
    kr_json j = kr_json_open(text, len, "eval", 1, &mine);
    sizes z = {.errors = 0};
    bool named = false;
    kr_span key;
    kr_eval_line l = {.request = -1, .of = -1, .done = -1, .total = -1, .index = -1,
                      .prompt_tokens = -1, .n = -1, .bytes = -1, .steps = -1, .failed = -1,
                      .peak_bytes = -1, .parted = -1, .n_tokens = -1, .utility = KR_MISSING,
                      .full_utility = KR_MISSING, .retained = NAN, .prefill_s = NAN,
                      .score_s = NAN, .decode_s = NAN, .seconds = NAN, .margin = NAN,
                      .full_margin = NAN};
    for (kr_json_iter it = kr_json_enter(&j, '{'); kr_json_member(&j, &it, &key);)
        read_one(&j, key, &l, &z, &named);
    if (!j.failed && kr_json_peek(&j) != KR_JSON_END)
        kr_json_fail(&j, j.at, "text after the object");
    if (!j.failed && !named)
        kr_json_fail(&j, 0, "an object without an event");
    if (!j.failed)
        check(&j, &l, &z);
    if (j.failed) {
        kr_eval_line_free(&l);
        *out = (kr_eval_line){.event = KR_EVAL_LINE_OTHER};
        return kr_fail(err, KR_EFORMAT, "%s", mine.msg);
    }
    *out = l;
    return KR_OK;
}

void kr_eval_heads_free(kr_eval_heads *h) {
    free(h->kept);
    free(h->mass);
    free(h->error);
    free(h->position);
    *h = (kr_eval_heads){.layers = 0};
}

void kr_eval_line_free(kr_eval_line *l) {
    free(l->id);
    free(l->answer);
    free(l->message);
    free(l->phase);
    free(l->requests_sha256);
    free(l->pieces);
    free(l->piece_at);
    kr_eval_heads_free(&l->heads);
    *l = (kr_eval_line){.event = KR_EVAL_LINE_OTHER};
}
