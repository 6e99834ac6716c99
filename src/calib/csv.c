#include "calib/csv.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 16, MAX_COLUMNS = 4096, DEFAULT_FIELD = 64 << 20 };

typedef enum { AT_START, BARE, QUOTED, AFTER_QUOTE } place;

struct kr_csv {
    kr_csv_read *read;
    void *ctx;
    const char *file;
    char delimiter;
    size_t max_field;
    bool lenient;

    char chunk[CHUNK];
    size_t pos, have;
    bool at_end;

    char *text; /* fields of this record, one after the other */
    size_t len, cap;
    size_t *begin; /* [cap_fields + 1] begin[i+1] is where field i ends */
    size_t fields, cap_fields;
    place where;
    size_t bare_from; /* offset in text from which bytes came from outside quotes */
    size_t field_len; /* bytes seen in this field, kept or not */
    bool quoted_any;  /* this record has had a quoted field */

    char **names; /* [columns] */
    bool *skip;   /* [columns] */
    size_t columns;
    size_t record, line, record_line, quote_line, ragged;
};

static kr_status grow_text(kr_csv *c, size_t more, kr_error *err) {
    if (more <= c->cap - c->len)
        return KR_OK;
    size_t cap = c->cap < CHUNK ? CHUNK : c->cap;
    while (cap - c->len < more) {
        if (cap > SIZE_MAX / 2)
            return kr_fail(err, KR_ENOMEM, "%s:%zu: record too large", c->file, c->record_line);
        cap *= 2;
    }
    char *p = realloc(c->text, cap);
    if (p == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for a record of %s", c->file);
    c->text = p;
    c->cap = cap;
    return KR_OK;
}

static const char *column_label(const kr_csv *c) {
    return c->fields < c->columns ? c->names[c->fields] : "(past the header)";
}

/* Adds n bytes to the open field. */
static kr_status put(kr_csv *c, const char *s, size_t n, kr_error *err) {
    if (n > c->max_field - c->field_len)
        return kr_fail(err, KR_EFORMAT,
                       "%s:%zu: record %zu, column '%s': field longer than %zu bytes", c->file,
                       c->record_line, c->record + 1, column_label(c), c->max_field);
    c->field_len += n;
    if (c->fields < c->columns && c->skip[c->fields])
        return KR_OK;
    kr_status st = grow_text(c, n, err);
    if (st == KR_OK) {
        memcpy(c->text + c->len, s, n);
        c->len += n;
    }
    return st;
}

static kr_status end_field(kr_csv *c, kr_error *err) {
    size_t limit = c->columns > 0 ? 2 * c->columns + 16 : MAX_COLUMNS;
    if (c->fields >= limit)
        return kr_fail(err, KR_EFORMAT, "%s:%zu: record %zu has more than %zu fields", c->file,
                       c->record_line, c->record + 1, limit);
    if (c->fields + 2 > c->cap_fields) {
        size_t cap = c->cap_fields == 0 ? 32 : 2 * c->cap_fields;
        size_t *p = realloc(c->begin, cap * sizeof *p);
        if (p == NULL)
            return kr_fail(err, KR_ENOMEM, "out of memory for the fields of %s", c->file);
        c->begin = p;
        c->cap_fields = cap;
    }
    c->begin[0] = 0;
    c->begin[++c->fields] = c->len;
    c->where = AT_START;
    c->field_len = 0;
    c->bare_from = c->len;
    return KR_OK;
}

/* Reads more bytes behind those already there. */
static kr_status fill_more(kr_csv *c, kr_error *err) {
    ptrdiff_t n = c->read(c->ctx, c->chunk + c->have, CHUNK - c->have);
    if (n < 0)
        return kr_fail(err, KR_EIO, "%s: %s", c->file, strerror(errno));
    c->have += (size_t)n;
    c->at_end = n == 0;
    return KR_OK;
}

static kr_status fill(kr_csv *c, kr_error *err) {
    c->pos = c->have = 0;
    return fill_more(c, err);
}

static size_t count_lines(const char *s, size_t n) {
    size_t lines = 0;
    for (const char *p = s, *end = s + n; (p = memchr(p, '\n', (size_t)(end - p))) != NULL; p++)
        lines++;
    return lines;
}

/* Length of the run from s that holds neither delimiter nor line feed. */
static size_t bare_run(const char *s, size_t n, char delimiter) {
    const char *nl = memchr(s, '\n', n);
    if (nl != NULL)
        n = (size_t)(nl - s);
    const char *d = memchr(s, delimiter, n);
    return d != NULL ? (size_t)(d - s) : n;
}

/* Ends the record at a line feed; *done stays false when the line was empty. */
static kr_status end_record(kr_csv *c, bool *done, kr_error *err) {
    c->line++;
    if (c->where == BARE && c->len > c->bare_from && c->text[c->len - 1] == '\r') {
        c->len--;
        c->field_len--;
    }
    bool blank = c->fields == 0 && c->field_len == 0 && !c->quoted_any;
    if (blank) {
        c->where = AT_START;
        c->record_line = c->line;
        return KR_OK;
    }
    *done = true;
    return end_field(c, err);
}

/* Takes bytes of the chunk according to where the reader stands. */
static kr_status step(kr_csv *c, bool *done, kr_error *err) {
    const char *s = c->chunk + c->pos;
    size_t n = c->have - c->pos;
    if (c->where == QUOTED) {
        const char *q = memchr(s, '"', n);
        size_t run = q != NULL ? (size_t)(q - s) : n;
        c->line += count_lines(s, run);
        c->pos += run + (q != NULL);
        if (q != NULL)
            c->where = AFTER_QUOTE;
        return put(c, s, run, err);
    }
    if (c->where == AFTER_QUOTE && *s == '"') {
        c->pos++;
        c->where = QUOTED;
        return put(c, s, 1, err);
    }
    if (c->where == AT_START && *s == '"') {
        c->pos++;
        c->where = QUOTED;
        c->quoted_any = true;
        c->quote_line = c->line;
        return KR_OK;
    }
    if (*s == c->delimiter) {
        c->pos++;
        return end_field(c, err);
    }
    if (*s == '\n') {
        c->pos++;
        return end_record(c, done, err);
    }
    if (c->where != BARE) {
        c->where = BARE;
        c->bare_from = c->len;
    }
    size_t run = bare_run(s, n, c->delimiter);
    c->pos += run;
    return put(c, s, run, err);
}

/* The text ended without a line feed. */
static kr_status finish(kr_csv *c, bool *got, kr_error *err) {
    if (c->where == QUOTED)
        return kr_fail(err, KR_EFORMAT,
                       "%s:%zu: the file ends inside the quoted field opened here (record %zu, "
                       "column '%s')",
                       c->file, c->quote_line, c->record + 1, column_label(c));
    if (c->fields == 0 && c->field_len == 0 && !c->quoted_any)
        return KR_OK;
    *got = true;
    return end_field(c, err);
}

static kr_status read_record(kr_csv *c, bool *got, kr_error *err) {
    c->len = c->fields = c->field_len = c->bare_from = 0;
    c->where = AT_START;
    c->quoted_any = false;
    c->record_line = c->line;
    *got = false;
    while (!*got) {
        kr_status st = c->pos == c->have && !c->at_end ? fill(c, err) : KR_OK;
        if (st != KR_OK)
            return st;
        if (c->pos == c->have && c->at_end)
            return finish(c, got, err);
        if ((st = step(c, got, err)) != KR_OK)
            return st;
    }
    return KR_OK;
}

static kr_status take_header(kr_csv *c, kr_error *err) {
    c->names = calloc(c->fields, sizeof *c->names);
    c->skip = calloc(c->fields, sizeof *c->skip);
    if (c->names == NULL || c->skip == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for the header of %s", c->file);
    for (size_t i = 0; i < c->fields; i++) {
        size_t len = c->begin[i + 1] - c->begin[i];
        const char *s = c->text != NULL ? c->text + c->begin[i] : "";
        char *name = malloc(len + 1);
        if (name == NULL)
            return kr_fail(err, KR_ENOMEM, "out of memory for the header of %s", c->file);
        memcpy(name, s, len);
        name[len] = '\0';
        c->names[c->columns++] = name;
        if (strlen(name) != len)
            return kr_fail(err, KR_EFORMAT, "%s:1: column %zu of the header holds a zero byte",
                           c->file, i + 1);
        for (size_t j = 0; j < i; j++)
            if (strcmp(c->names[j], name) == 0)
                return kr_fail(err, KR_EFORMAT, "%s:1: columns %zu and %zu are both named '%s'",
                               c->file, j + 1, i + 1, name);
    }
    return KR_OK;
}

static kr_status check_mark(kr_csv *c, kr_error *err) {
    while (c->have < 3 && !c->at_end) {
        kr_status st = fill_more(c, err);
        if (st != KR_OK)
            return st;
    }
    const unsigned char *s = (const unsigned char *)c->chunk;
    if (c->have >= 2 && ((s[0] == 0xff && s[1] == 0xfe) || (s[0] == 0xfe && s[1] == 0xff)))
        return kr_fail(err, KR_EFORMAT, "%s: the text is UTF-16; UTF-8 is expected", c->file);
    if (c->have >= 3 && memcmp(s, "\xef\xbb\xbf", 3) == 0)
        c->pos = 3;
    return KR_OK;
}

kr_status kr_csv_open(const kr_csv_opts *opts, kr_csv_read *read, void *ctx, kr_csv **out,
                      kr_error *err) {
    kr_csv *c = calloc(1, sizeof *c);
    if (c == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory");
    c->read = read;
    c->ctx = ctx;
    c->file = opts->name != NULL ? opts->name : "(text)";
    c->delimiter = opts->delimiter != '\0' ? opts->delimiter : ',';
    c->max_field = opts->max_field > 0 ? opts->max_field : DEFAULT_FIELD;
    c->lenient = opts->lenient;
    c->line = 1;
    bool got = false;
    kr_status st = check_mark(c, err);
    if (st == KR_OK)
        st = read_record(c, &got, err);
    if (st == KR_OK && !got)
        st = kr_fail(err, KR_EFORMAT, "%s: the file is empty; a header line is expected", c->file);
    if (st == KR_OK)
        st = take_header(c, err);
    if (st != KR_OK) {
        kr_csv_free(c);
        return st;
    }
    c->record = 1;
    *out = c;
    return KR_OK;
}

void kr_csv_free(kr_csv *c) {
    if (c == NULL)
        return;
    for (size_t i = 0; i < c->columns; i++)
        free(c->names[i]);
    free(c->names);
    free(c->skip);
    free(c->begin);
    free(c->text);
    free(c);
}

size_t kr_csv_columns(const kr_csv *c) {
    return c->columns;
}

const char *kr_csv_name(const kr_csv *c, size_t column) {
    return column < c->columns ? c->names[column] : "";
}

ptrdiff_t kr_csv_find(const kr_csv *c, const char *name) {
    for (size_t i = 0; i < c->columns; i++)
        if (strcmp(c->names[i], name) == 0)
            return (ptrdiff_t)i;
    return -1;
}

void kr_csv_skip(kr_csv *c, size_t column) {
    if (column < c->columns)
        c->skip[column] = true;
}

kr_status kr_csv_next(kr_csv *c, bool *got, kr_error *err) {
    bool more = false;
    kr_status st = read_record(c, &more, err);
    if (st != KR_OK)
        return st;
    if (more) {
        c->record++;
        if (c->fields != c->columns && !c->lenient)
            return kr_fail(err, KR_EFORMAT, "%s:%zu: record %zu has %zu fields, the header has %zu",
                           c->file, c->record_line, c->record, c->fields, c->columns);
        c->ragged += c->fields != c->columns;
    }
    *got = more;
    return KR_OK;
}

kr_csv_field kr_csv_get(const kr_csv *c, size_t column) {
    if (column >= c->fields || column >= c->columns || c->text == NULL)
        return (kr_csv_field){"", 0};
    return (kr_csv_field){c->text + c->begin[column], c->begin[column + 1] - c->begin[column]};
}

size_t kr_csv_record(const kr_csv *c) {
    return c->record;
}

size_t kr_csv_line(const kr_csv *c) {
    return c->record_line;
}

size_t kr_csv_ragged(const kr_csv *c) {
    return c->ragged;
}
