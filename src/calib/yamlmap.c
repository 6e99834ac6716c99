#include "calib/yamlmap.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { MAX_BYTES = 1 << 20, MAX_ENTRIES = 4096, MAX_DEPTH = 16 };

typedef struct {
    char *key;
    char *text; /* NULL for null, and for a name that only has entries below it */
} entry;

struct kr_yamlmap {
    entry *entries;
    size_t n, cap;
};

typedef struct {
    kr_yamlmap *m;
    const char *file;
    yaml_parser_t parser;
    kr_error *err;
} loader;

static kr_status node(loader *l, yaml_event_t *ev, const char *key, int depth);

static kr_status next(loader *l, yaml_event_t *ev) {
    if (yaml_parser_parse(&l->parser, ev))
        return KR_OK;
    const char *what = l->parser.problem != NULL ? l->parser.problem : "cannot be read";
    return kr_fail(l->err, KR_EFORMAT, "%s:%zu:%zu: not YAML: %s", l->file,
                   l->parser.problem_mark.line + 1, l->parser.problem_mark.column + 1, what);
}

static kr_status no_memory(loader *l) {
    return kr_fail(l->err, KR_ENOMEM, "out of memory for %s", l->file);
}

static kr_status add(loader *l, const char *key, const char *text, size_t line) {
    kr_yamlmap *m = l->m;
    if (kr_yamlmap_has(m, key))
        return kr_fail(l->err, KR_EFORMAT, "%s:%zu: '%s' is given twice", l->file, line, key);
    if (m->n == MAX_ENTRIES)
        return kr_fail(l->err, KR_EFORMAT, "%s:%zu: more than %d entries", l->file, line,
                       MAX_ENTRIES);
    if (m->n == m->cap) {
        size_t cap = m->cap == 0 ? 32 : 2 * m->cap;
        entry *p = realloc(m->entries, cap * sizeof *p);
        if (p == NULL)
            return no_memory(l);
        m->entries = p;
        m->cap = cap;
    }
    entry e = {strdup(key), text != NULL ? strdup(text) : NULL};
    if (e.key == NULL || (text != NULL && e.text == NULL)) {
        free(e.key);
        free(e.text);
        return no_memory(l);
    }
    m->entries[m->n++] = e;
    return KR_OK;
}

static bool is_null(const yaml_event_t *ev) {
    const char *s = (const char *)ev->data.scalar.value;
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};
    if (ev->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return false;
    for (size_t i = 0; i < sizeof nulls / sizeof *nulls; i++)
        if (strcmp(s, nulls[i]) == 0)
            return true;
    return false;
}

static char *join(const char *outer, const char *inner) {
    size_t a = strlen(outer), b = strlen(inner);
    char *p = malloc(a + b + 2);
    if (p == NULL)
        return NULL;
    memcpy(p, outer, a);
    if (a > 0)
        p[a++] = '.';
    memcpy(p + a, inner, b + 1);
    return p;
}

/* One member: its name is in ev (mapping) or counted (sequence). Leaves ev deleted. */
static kr_status member(loader *l, yaml_event_t *ev, const char *outer, const char *inner,
                        int depth) {
    char *key = join(outer, inner);
    if (key == NULL)
        return no_memory(l);
    kr_status st = node(l, ev, key, depth);
    free(key);
    return st;
}

static kr_status mapping(loader *l, const char *outer, int depth) {
    for (;;) {
        yaml_event_t name, ev;
        kr_status st = next(l, &name);
        if (st != KR_OK)
            return st;
        if (name.type == YAML_MAPPING_END_EVENT) {
            yaml_event_delete(&name);
            return KR_OK;
        }
        if (name.type != YAML_SCALAR_EVENT || name.data.scalar.anchor != NULL)
            st = kr_fail(l->err, KR_EFORMAT, "%s:%zu: a plain name is expected", l->file,
                         name.start_mark.line + 1);
        if (st == KR_OK)
            st = next(l, &ev);
        if (st == KR_OK) {
            st = member(l, &ev, outer, (const char *)name.data.scalar.value, depth);
            yaml_event_delete(&ev);
        }
        yaml_event_delete(&name);
        if (st != KR_OK)
            return st;
    }
}

static kr_status sequence(loader *l, const char *outer, int depth) {
    for (size_t i = 0;; i++) {
        char number[24];
        yaml_event_t ev;
        kr_status st = next(l, &ev);
        if (st != KR_OK)
            return st;
        if (ev.type == YAML_SEQUENCE_END_EVENT) {
            yaml_event_delete(&ev);
            return KR_OK;
        }
        snprintf(number, sizeof number, "%zu", i);
        st = member(l, &ev, outer, number, depth);
        yaml_event_delete(&ev);
        if (st != KR_OK)
            return st;
    }
}

static kr_status node(loader *l, yaml_event_t *ev, const char *key, int depth) {
    size_t line = ev->start_mark.line + 1;
    if (depth > MAX_DEPTH)
        return kr_fail(l->err, KR_EFORMAT, "%s:%zu: nested more than %d levels deep", l->file, line,
                       MAX_DEPTH);
    bool anchor = (ev->type == YAML_SCALAR_EVENT && ev->data.scalar.anchor != NULL) ||
                  (ev->type == YAML_MAPPING_START_EVENT && ev->data.mapping_start.anchor != NULL) ||
                  (ev->type == YAML_SEQUENCE_START_EVENT && ev->data.sequence_start.anchor != NULL);
    if (anchor || ev->type == YAML_ALIAS_EVENT)
        return kr_fail(l->err, KR_EFORMAT, "%s:%zu: anchors and aliases are not accepted", l->file,
                       line);
    kr_status st = KR_OK;
    switch (ev->type) {
    case YAML_SCALAR_EVENT:
        return add(l, key, is_null(ev) ? NULL : (const char *)ev->data.scalar.value, line);
    case YAML_MAPPING_START_EVENT:
        st = depth > 0 ? add(l, key, NULL, line) : KR_OK;
        return st == KR_OK ? mapping(l, key, depth + 1) : st;
    case YAML_SEQUENCE_START_EVENT:
        st = add(l, key, NULL, line);
        return st == KR_OK ? sequence(l, key, depth + 1) : st;
    default: return kr_fail(l->err, KR_EFORMAT, "%s:%zu: a value is expected", l->file, line);
    }
}

static kr_status load(loader *l) {
    for (;;) {
        yaml_event_t ev;
        kr_status st = next(l, &ev);
        if (st != KR_OK)
            return st;
        yaml_event_type_t type = ev.type;
        if (type == YAML_MAPPING_START_EVENT)
            st = node(l, &ev, "", 0);
        else if (type != YAML_STREAM_START_EVENT && type != YAML_DOCUMENT_START_EVENT)
            st = kr_fail(l->err, KR_EFORMAT, "%s:%zu: a mapping (name: value) is expected", l->file,
                         ev.start_mark.line + 1);
        yaml_event_delete(&ev);
        if (st != KR_OK || type == YAML_MAPPING_START_EVENT)
            return st;
    }
}

kr_status kr_yamlmap_parse(const char *name, const char *s, size_t len, kr_yamlmap **out,
                           kr_error *err) {
    if (len > MAX_BYTES)
        return kr_fail(err, KR_EFORMAT, "%s: longer than %d bytes", name, MAX_BYTES);
    loader l = {.m = calloc(1, sizeof *l.m), .file = name, .err = err};
    if (l.m == NULL)
        return no_memory(&l);
    if (!yaml_parser_initialize(&l.parser)) {
        kr_yamlmap_free(l.m);
        return no_memory(&l);
    }
    yaml_parser_set_encoding(&l.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&l.parser, (const unsigned char *)s, len);
    kr_status st = load(&l);
    yaml_parser_delete(&l.parser);
    if (st != KR_OK) {
        kr_yamlmap_free(l.m);
        return st;
    }
    *out = l.m;
    return KR_OK;
}

void kr_yamlmap_free(kr_yamlmap *m) {
    if (m == NULL)
        return;
    for (size_t i = 0; i < m->n; i++) {
        free(m->entries[i].key);
        free(m->entries[i].text);
    }
    free(m->entries);
    free(m);
}

static const entry *find(const kr_yamlmap *m, const char *key) {
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->entries[i].key, key) == 0)
            return &m->entries[i];
    return NULL;
}

const char *kr_yamlmap_get(const kr_yamlmap *m, const char *key) {
    const entry *e = m != NULL ? find(m, key) : NULL;
    return e != NULL ? e->text : NULL;
}

bool kr_yamlmap_has(const kr_yamlmap *m, const char *key) {
    return m != NULL && find(m, key) != NULL;
}
