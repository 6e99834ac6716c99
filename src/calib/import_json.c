/* import_json.c - rows of JSON files, in the forms that evaluation tools write. */
#include "calib/import_core.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_LINE = 64 << 20 };
#define MAX_FILE ((size_t)1 << 30)

typedef struct {
    kr_import *im;
    kr_run *run;
    kr_json_row *each;
    const char *path;
    kr_lit_notes notes;
    char *sha256; /* out */
} source;

static kr_status hand_over(source *s, const kr_lit *v, const char *text, size_t line,
                           kr_error *err) {
    if (v->type != KR_LIT_DICT)
        return kr_fail(err, KR_EFORMAT, "%s:%zu: a JSON object is expected", s->path, line);
    return s->each(s->im, s->run, v, text, line, err);
}

/* --- one object per line ------------------------------------------------------------------------- */

static bool blank(const char *s, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (s[i] != ' ' && s[i] != '\t' && s[i] != '\r')
            return false;
    return true;
}

static kr_status broken_line(source *s, size_t line, const kr_error *inner, bool last,
                             kr_error *err) {
    if (!last && !s->im->opts.lenient)
        return kr_fail(err, KR_EFORMAT, "%s:%zu: not JSON: %s", s->path, line, inner->msg);
    kr_import_say(s->im, KR_NOTE_WARNING, "%s:%zu: %s line is broken and left out (%s).", s->path,
                  line, last ? "the last" : "this", inner->msg);
    return KR_OK;
}

static kr_status read_lines(source *s, kr_error *err) {
    kr_lines *r = NULL;
    const char *line = NULL;
    size_t len = 0, broken = 0;
    kr_error inner = {KR_OK, ""};
    kr_status st = kr_lines_open(s->path, MAX_LINE, &r, err);
    while (st == KR_OK && (st = kr_lines_next(r, &line, &len, err)) == KR_OK && line != NULL) {
        kr_lit *v = NULL;
        if (blank(line, len))
            continue;
        if (broken != 0 && (st = broken_line(s, broken, &inner, false, err)) != KR_OK)
            break;
        broken = 0;
        kr_arena_reset(&s->im->row);
        st = kr_lit_parse(KR_LIT_JSON, line, len, &s->im->row, &v, &s->notes, &inner);
        if (st == KR_EFORMAT) {
            broken = kr_lines_number(r);
            st = KR_OK;
            continue;
        }
        st = st == KR_OK ? hand_over(s, v, line, kr_lines_number(r), err)
                         : kr_fail(err, st, "%s", inner.msg);
    }
    if (st == KR_OK && broken != 0)
        st = broken_line(s, broken, &inner, true, err);
    if (st == KR_OK) {
        memcpy(s->sha256, kr_lines_sha256(r), KR_SHA256_HEX);
        s->run->bytes += (uint64_t)kr_lines_stamp(r)->size;
    }
    kr_lines_close(r);
    return st;
}

/* --- a whole document ------------------------------------------------------------------------------- */

static size_t line_at(const char *s, size_t at) {
    size_t line = 1;
    for (const char *p = s; (p = memchr(p, '\n', at - (size_t)(p - s))) != NULL; p++)
        line++;
    return line;
}

static size_t skip_blanks(const char *s, size_t len, size_t at) {
    while (at < len && (s[at] == ' ' || s[at] == '\t' || s[at] == '\n' || s[at] == '\r'))
        at++;
    return at;
}

/* One object, several one after the other, or an array of them; each is handed over alone, so that
 * only the file's own text is held. */
static kr_status read_values(source *s, const char *text, size_t len, kr_error *err) {
    size_t at = skip_blanks(text, len, len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
    bool array = at < len && text[at] == '[';
    at = skip_blanks(text, len, at + array);
    while (at < len && !(array && text[at] == ']')) {
        kr_lit *v = NULL;
        size_t used = 0;
        kr_error inner = {KR_OK, ""};
        kr_arena_reset(&s->im->row);
        kr_status st = kr_lit_parse_first(KR_LIT_JSON, text + at, len - at, &s->im->row, &v, &used,
                                          &s->notes, &inner);
        if (st != KR_OK)
            return kr_fail(err, st, "%s:%zu: not JSON: in the value that begins here, %s", s->path,
                           line_at(text, at), inner.msg);
        st = hand_over(s, v, text + at, line_at(text, at), err);
        if (st != KR_OK)
            return st;
        at = skip_blanks(text, len, at + used);
        if (array && at < len && text[at] == ',')
            at = skip_blanks(text, len, at + 1);
        else if (array && (at >= len || text[at] != ']'))
            return kr_fail(err, KR_EFORMAT, "%s:%zu: expected a comma or `]` in the array", s->path,
                           line_at(text, at < len ? at : len));
    }
    return KR_OK;
}

static kr_status read_document(source *s, kr_error *err) {
    char *text = NULL;
    size_t len = 0;
    kr_status st = kr_file_read(s->path, MAX_FILE, &text, &len, err);
    if (st == KR_OK)
        st = read_values(s, text, len, err);
    if (st == KR_OK)
        st = kr_sha256(text, len, s->sha256, err);
    s->run->bytes += len;
    free(text);
    return st;
}

/* A document when it begins with `[`, or with an object that does not end on its line. */
static kr_status is_document(const char *path, bool *out, kr_error *err) {
    kr_lines *r = NULL;
    const char *line = NULL;
    size_t len = 0;
    kr_status st = kr_lines_open(path, MAX_LINE, &r, err);
    *out = false;
    while (st == KR_OK && (st = kr_lines_next(r, &line, &len, err)) == KR_OK && line != NULL &&
           blank(line, len))
        ;
    if (st == KR_OK && line != NULL) {
        size_t at = 0;
        while (at < len && (line[at] == ' ' || line[at] == '\t'))
            at++;
        while (len > at && (line[len - 1] == ' ' || line[len - 1] == '\r'))
            len--;
        *out = line[at] == '[' || (line[at] == '{' && (len - at == 1 || line[len - 1] == ','));
    }
    kr_lines_close(r);
    return st;
}

static kr_status read_part(source *s, kr_error *err) {
    bool document;
    kr_status st = is_document(s->path, &document, err);
    if (st != KR_OK)
        return st;
    return document ? read_document(s, err) : read_lines(s, err);
}

kr_status kr_import_json(kr_import *im, kr_run *run, kr_json_row *each, kr_error *err) {
    source s = {.im = im, .run = run, .each = each, .path = run->path, .sha256 = run->sha256};
    run->bytes = 0;
    kr_status st = read_part(&s, err);
    if (run->n_parts > 0 && run->part_sha256 == NULL) {
        run->part_sha256 = kr_arena_alloc(&im->arena, run->n_parts * sizeof *run->part_sha256);
        if (run->part_sha256 == NULL)
            return kr_fail(err, KR_ENOMEM, "out of memory");
        memset(run->part_sha256, 0, run->n_parts * sizeof *run->part_sha256);
    }
    for (size_t i = 0; st == KR_OK && i < run->n_parts; i++) {
        s.path = run->parts[i];
        s.sha256 = run->part_sha256[i];
        st = read_part(&s, err);
    }
    if (st == KR_OK && s.notes.repeated_keys > 0)
        kr_import_say(im, KR_NOTE_WARNING,
                      "%s: %zu names are given twice in one object; the last counts.", run->name,
                      s.notes.repeated_keys);
    return st;
}

/* --- small helpers ----------------------------------------------------------------------------------- */

const kr_lit *kr_json_first(const char *path, kr_arena *arena) {
    kr_lines *r = NULL;
    const char *line = NULL;
    size_t len = 0, used = 0, n = 0;
    kr_lit *v = NULL;
    bool document = false;
    if (is_document(path, &document, NULL) != KR_OK)
        return NULL;
    if (document) {
        char *text = NULL;
        if (kr_file_read(path, MAX_FILE, &text, &len, NULL) != KR_OK)
            return NULL;
        size_t at =
            skip_blanks(text, len, len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
        if (at < len && text[at] == '[')
            at++;
        if (kr_lit_parse_first(KR_LIT_JSON, text + at, len - at, arena, &v, &used, NULL, NULL) !=
            KR_OK)
            v = NULL;
        free(text);
        return v != NULL && v->type == KR_LIT_DICT ? v : NULL;
    }
    if (kr_lines_open(path, MAX_LINE, &r, NULL) != KR_OK)
        return NULL;
    while (v == NULL && n++ < 64 && kr_lines_next(r, &line, &len, NULL) == KR_OK && line != NULL)
        if (!blank(line, len) &&
            kr_lit_parse(KR_LIT_JSON, line, len, arena, &v, NULL, NULL) != KR_OK)
            break;
    kr_lines_close(r);
    return v != NULL && v->type == KR_LIT_DICT ? v : NULL;
}

const kr_lit *kr_lit_as_list(kr_arena *a, const kr_lit *v) {
    if (v == NULL || v->type == KR_LIT_NULL || v->type == KR_LIT_LIST)
        return v != NULL && v->type == KR_LIT_LIST ? v : NULL;
    kr_lit *list = kr_arena_alloc(a, sizeof *list), *one = kr_arena_alloc(a, sizeof *one);
    if (list == NULL || one == NULL)
        return NULL;
    *one = *v;
    one->next = NULL;
    *list = (kr_lit){.type = KR_LIT_LIST, .s = "", .first = one, .count = 1};
    return list;
}

bool kr_starts(const char *s, const char *prefix) {
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool kr_ends(const char *s, const char *suffix) {
    size_t a = strlen(s), b = strlen(suffix);
    return a >= b && strcmp(s + a - b, suffix) == 0;
}

bool kr_names_full(const char *name) {
    static const char *const words[] = {"full", "fullkv", "full_kv", "no_press", "baseline"};
    static const char marks[] = "_-./ ";
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
        size_t n = strlen(words[w]);
        for (const char *p = name; *p != '\0'; p++) {
            size_t i = 0;
            if (p != name && strchr(marks, p[-1]) == NULL)
                continue;
            while (i < n && p[i] != '\0' &&
                   (p[i] | (p[i] >= 'A' && p[i] <= 'Z' ? 0x20 : 0)) == words[w][i])
                i++;
            if (i == n && (p[n] == '\0' || strchr(marks, p[n]) != NULL))
                return true;
        }
    }
    return false;
}
