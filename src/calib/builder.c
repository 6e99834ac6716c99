#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "calib/idset.h"
#include "calib/set.h"

struct kr_builder {
    kr_calib *c;
    kr_idset ids;
    const char *where;
};

static kr_status refuse(const char *where, kr_error *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static kr_status refuse(const char *where, kr_error *err, const char *fmt, ...) {
    char what[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return kr_fail(err, KR_EFORMAT, "%s%s%s", where != NULL ? where : "", where != NULL ? ": " : "",
                   what);
}

/* --- copying the header ----------------------------------------------------------------------- */

/* Copies *s into the arena in place; false when out of memory. */
static bool keep(kr_arena *a, const char **s) {
    if (*s == NULL)
        return true;
    *s = kr_arena_copy(a, *s, strlen(*s));
    return *s != NULL;
}

static bool keep_meta(kr_calib *c, const kr_calib_meta *meta) {
    c->meta = *meta;
    const char **strings[] = {&c->meta.name,     &c->meta.model,           &c->meta.benchmark,
                              &c->meta.scorer,   &c->meta.protocol,        &c->meta.note,
                              &c->meta.source,   &c->meta.contract_method, &c->meta.contract_declared,
                              &c->meta.contract_extra, &c->meta.extra};
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        if (!keep(&c->arena, strings[i]))
            return false;
    if (meta->n_sources == 0) {
        c->meta.sources = NULL;
        return true;
    }
    kr_source *s = kr_arena_alloc(&c->arena, meta->n_sources * sizeof *s);
    if (s == NULL)
        return false;
    for (size_t i = 0; i < meta->n_sources; i++) {
        s[i] = meta->sources[i];
        if (!keep(&c->arena, &s[i].path) || !keep(&c->arena, &s[i].sha256) ||
            !keep(&c->arena, &s[i].role))
            return false;
    }
    c->meta.sources = s;
    return true;
}

static bool keep_names(kr_calib *c, const char *const *tasks, size_t n_tasks,
                       const kr_policy *policies, size_t m) {
    c->task = kr_arena_alloc(&c->arena, (n_tasks + 1) * sizeof *c->task);
    c->policy = kr_arena_alloc(&c->arena, m * sizeof *c->policy);
    c->method = kr_arena_alloc(&c->arena, m * sizeof *c->method);
    if (c->task == NULL || c->policy == NULL || c->method == NULL)
        return false;
    for (size_t i = 0; i < n_tasks; i++) {
        c->task[i] = tasks[i];
        if (!keep(&c->arena, &c->task[i]))
            return false;
    }
    for (size_t i = 0; i < m; i++) {
        c->policy[i] = policies[i];
        if (!keep(&c->arena, &c->policy[i].method) || !keep(&c->arena, &c->policy[i].extra))
            return false;
    }
    c->n_tasks = n_tasks;
    c->m = m;
    return true;
}

/* --- checking the header ---------------------------------------------------------------------- */

static bool good_name(const char *s) {
    size_t len = strlen(s);
    if (len == 0 || len > 200 || s[0] == ' ' || s[len - 1] == ' ')
        return false;
    for (size_t i = 0; i < len;) {
        uint32_t code;
        i += kr_utf8_next(s + i, len - i, &code);
        if (kr_text_unsafe(code))
            return false;
    }
    return true;
}

static bool in_unit(kr_dec d) {
    return d.digits > 0 && kr_dec_cmp(d, (kr_dec){1, 0}) <= 0;
}

static kr_status check_level(const kr_policy *p, size_t i, const char *where, kr_error *err) {
    char t[KR_DEC_TEXT];
    if (p->has_retention && p->has_threshold)
        return refuse(where, err, "policy %zu has both a retention and a threshold, expected one", i);
    if (p->has_retention && !in_unit(p->retention))
        return refuse(where, err, "policy %zu (%s) has retention %s, expected a share in (0, 1]", i,
                      p->method, kr_dec_text(p->retention, t));
    if ((p->has_mean && !in_unit(p->mean_retained)) ||
        (p->has_test_mean && !in_unit(p->test_mean_retained)))
        return refuse(where, err, "policy %zu (%s) has a mean retention outside (0, 1]", i, p->method);
    return KR_OK;
}

/* Two neighbours of one method must be in order, conservative to aggressive. */
static kr_status check_order(const kr_policy *a, const kr_policy *b, size_t i, const char *where,
                             kr_error *err) {
    char x[KR_DEC_TEXT], y[KR_DEC_TEXT];
    if (a->has_retention && b->has_retention) {
        if (kr_dec_cmp(b->retention, a->retention) < 0)
            return KR_OK;
        return refuse(where, err,
                      "policy %zu (%s) has retention %s after %s; a candidate sequence must fall "
                      "strictly, most conservative first",
                      i, b->method, kr_dec_text(b->retention, x), kr_dec_text(a->retention, y));
    }
    if (a->has_threshold && b->has_threshold) {
        if (kr_dec_cmp(b->threshold, a->threshold) > 0)
            return KR_OK;
        return refuse(where, err,
                      "policy %zu (%s) has threshold %s after %s; thresholds must rise strictly, "
                      "most conservative first",
                      i, b->method, kr_dec_text(b->threshold, x), kr_dec_text(a->threshold, y));
    }
    return refuse(where, err,
                  "policy %zu (%s): a method with several candidates needs a retention for each, or "
                  "a threshold for each",
                  i, b->method);
}

/* Finds the methods; they must be contiguous and in order. */
static kr_status group_methods(kr_calib *c, const char *where, kr_error *err) {
    for (size_t i = 0; i < c->m; i++) {
        const kr_policy *p = &c->policy[i];
        kr_status st = check_level(p, i, where, err);
        if (st != KR_OK)
            return st;
        kr_method *last = c->n_methods > 0 ? &c->method[c->n_methods - 1] : NULL;
        if (last != NULL && strcmp(last->name, p->method) == 0) {
            st = check_order(p - 1, p, i, where, err);
            if (st != KR_OK)
                return st;
            last->count++;
            continue;
        }
        if (kr_calib_find_method(c, p->method) >= 0)
            return refuse(where, err, "the policies of method %s are not next to each other",
                          p->method);
        c->method[c->n_methods++] = (kr_method){p->method, i, 1};
    }
    return KR_OK;
}

static kr_status check_names(const kr_calib *c, const char *where, kr_error *err) {
    for (size_t i = 0; i < c->m; i++)
        if (!good_name(c->policy[i].method))
            return refuse(where, err, "policy %zu has an unusable method name (empty, blanks at an "
                          "end, control characters, or longer than 200 bytes)", i);
    for (size_t i = 0; i < c->n_tasks; i++) {
        if (!good_name(c->task[i]))
            return refuse(where, err, "task %zu has an unusable name (empty, blanks at an end, "
                          "control characters, or longer than 200 bytes)", i);
        for (size_t k = 0; k < i; k++)
            if (strcmp(c->task[k], c->task[i]) == 0)
                return refuse(where, err, "task \"%s\" is listed twice", c->task[i]);
    }
    return KR_OK;
}

static kr_status check_meta(kr_calib *c, const char *where, kr_error *err) {
    kr_calib_meta *m = &c->meta;
    if (m->contract_method != NULL && kr_calib_find_method(c, m->contract_method) < 0)
        return refuse(where, err, "the declared contract names method \"%s\", which has no policy here",
                      m->contract_method);
    if (m->kind == KR_KIND_COUNTS)
        return KR_OK;
    if (m->utility_min >= m->utility_max || m->utility_min < -KR_NANO_MAX / 2 ||
        m->utility_max > KR_NANO_MAX / 2)
        return refuse(where, err, "the utility range must have min < max, within 2e9");
    return KR_OK;
}

static const char *row_id(const void *ctx, size_t row, size_t *len) {
    const kr_row *r = kr_calib_row_at(ctx, row);
    *len = r->id_len;
    return r->id;
}

kr_status kr_builder_new(const kr_calib_meta *meta, const char *const *tasks, size_t n_tasks,
                         const kr_policy *policies, size_t m, const char *where, kr_builder **out,
                         kr_error *err) {
    if (m == 0)
        return refuse(where, err, "there is no policy, expected at least one");
    if (n_tasks == 0 && meta->kind == KR_KIND_CALIBRATION)
        return refuse(where, err, "there is no task, expected at least one");
    if (m > KR_MAX_POLICIES || n_tasks > KR_MAX_TASKS)
        return refuse(where, err, "more than %d policies or %d tasks, the limits", KR_MAX_POLICIES,
                      KR_MAX_TASKS);
    kr_builder *b = calloc(1, sizeof *b);
    kr_calib *c = b != NULL ? calloc(1, sizeof *c) : NULL;
    if (c == NULL) {
        free(b);
        return kr_fail(err, KR_ENOMEM, "out of memory");
    }
    b->c = c;
    b->ids = kr_idset_make(row_id, c);
    b->where = where != NULL ? kr_arena_copy(&c->arena, where, strlen(where)) : NULL;
    kr_status st = KR_OK;
    if (!keep_meta(c, meta) || !keep_names(c, tasks, n_tasks, policies, m))
        st = kr_fail(err, KR_ENOMEM, "out of memory");
    if (st == KR_OK)
        st = check_names(c, where, err);
    if (st == KR_OK)
        st = group_methods(c, where, err);
    if (st == KR_OK)
        st = check_meta(c, where, err);
    if (st != KR_OK) {
        kr_builder_free(b);
        return st;
    }
    c->wide = meta->utility_max - meta->utility_min > INT32_MAX - 1 ||
              meta->utility_max > INT32_MAX - 1 || meta->utility_min < -(INT32_MAX - 1);
    *out = b;
    return KR_OK;
}

/* --- requests ---------------------------------------------------------------------------------- */

static kr_block *last_block(kr_calib *c) {
    if (c->rows % KR_BLOCK != 0)
        return c->block[c->n_blocks - 1];
    if (c->n_blocks == c->cap_blocks) {
        size_t cap = c->cap_blocks > 0 ? c->cap_blocks * 2 : 16;
        kr_block **p = realloc(c->block, cap * sizeof *p);
        if (p == NULL)
            return NULL;
        c->block = p;
        c->cap_blocks = cap;
    }
    kr_block *b = malloc(sizeof *b);
    if (b == NULL)
        return NULL;
    b->u.wide = malloc(c->m * KR_BLOCK * (c->wide ? sizeof(int64_t) : sizeof(int32_t)));
    if (b->u.wide == NULL) {
        free(b);
        return NULL;
    }
    c->block[c->n_blocks++] = b;
    return b;
}

static bool in_range(const kr_calib *c, int64_t u) {
    return u == KR_MISSING || (u >= c->meta.utility_min && u <= c->meta.utility_max);
}

static kr_status check_request(const kr_builder *b, const kr_request *r, kr_error *err) {
    const kr_calib *c = b->c;
    int shown = (int)(r->id_len < 60 ? r->id_len : 60);
    if (r->id_len == 0 || r->id_len > 4096)
        return refuse(b->where, err, "a request id has %zu bytes, expected 1 to 4096", r->id_len);
    if (r->task >= c->n_tasks)
        return refuse(b->where, err, "request \"%.*s\" has an unknown task", shown, r->id);
    bool ok = in_range(c, r->full) && (r->full2 == KR_NO_RUN || in_range(c, r->full2));
    for (size_t j = 0; j < c->m && ok; j++)
        ok = in_range(c, r->utility[j]);
    if (!ok)
        return refuse(b->where, err, "request \"%.*s\" has a utility outside the declared range",
                      shown, r->id);
    if (kr_builder_find(b, r->id, r->id_len) >= 0)
        return refuse(b->where, err, "request id \"%.*s\" appears twice", shown, r->id);
    if (c->rows >= INT32_MAX)
        return refuse(b->where, err, "more than %d requests, the limit", INT32_MAX);
    return KR_OK;
}

static bool keep_rare(kr_calib *c, const kr_request *r, kr_row *row) {
    row->rare = NULL;
    if (r->cluster == NULL && r->extra == NULL && r->full2 == KR_NO_RUN)
        return true;
    kr_row_rare *x = kr_arena_alloc(&c->arena, sizeof *x);
    if (x == NULL)
        return false;
    *x = (kr_row_rare){.cluster_len = r->cluster_len, .extra_len = r->extra_len, .full2 = r->full2};
    if (r->cluster != NULL && (x->cluster = kr_arena_copy(&c->arena, r->cluster, r->cluster_len)) == NULL)
        return false;
    if (r->extra != NULL && (x->extra = kr_arena_copy(&c->arena, r->extra, r->extra_len)) == NULL)
        return false;
    row->rare = x;
    return true;
}

static kr_status note_retained(kr_calib *c, const double *retained, kr_error *err) {
    if (c->realised == NULL && (c->realised = calloc(c->m, sizeof *c->realised)) == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory");
    for (size_t j = 0; j < c->m; j++) {
        kr_realised *r = &c->realised[j];
        if (!isfinite(retained[j]))
            continue;
        r->min = r->count == 0 || retained[j] < r->min ? retained[j] : r->min;
        r->max = r->count == 0 || retained[j] > r->max ? retained[j] : r->max;
        r->sum += retained[j];
        r->count++;
    }
    return KR_OK;
}

kr_status kr_builder_add(kr_builder *b, const kr_request *r, kr_error *err) {
    kr_calib *c = b->c;
    kr_status st = check_request(b, r, err);
    if (st == KR_OK && r->retained != NULL)
        st = note_retained(c, r->retained, err);
    if (st != KR_OK)
        return st;
    kr_row row = {
        .full = r->full,
        .tokens = r->tokens < 0 || r->tokens > INT32_MAX ? -1 : (int32_t)r->tokens,
        .id_len = (uint32_t)r->id_len,
        .task = (uint16_t)r->task,
        .split = (uint8_t)r->split,
    };
    row.id = kr_arena_copy(&c->arena, r->id, r->id_len);
    kr_block *block = row.id != NULL && keep_rare(c, r, &row) ? last_block(c) : NULL;
    if (block == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory at request %zu", c->rows + 1);
    size_t i = c->rows % KR_BLOCK;
    block->row[i] = row;
    for (size_t j = 0; j < c->m; j++) {
        if (c->wide)
            block->u.wide[j * KR_BLOCK + i] = r->utility[j];
        else
            block->u.narrow[j * KR_BLOCK + i] =
                r->utility[j] == KR_MISSING ? INT32_MIN : (int32_t)r->utility[j];
    }
    c->rows++;
    if (!kr_idset_add(&b->ids, c->rows - 1))
        return kr_fail(err, KR_ENOMEM, "out of memory at request %zu", c->rows);
    return KR_OK;
}

size_t kr_builder_count(const kr_builder *b) { return b->c->rows; }

int64_t kr_builder_find(const kr_builder *b, const char *id, size_t len) {
    return b->ids.cap == 0 ? -1 : kr_idset_find(&b->ids, id, len);
}

kr_status kr_builder_finish(kr_builder *b, kr_calib **out, kr_error *err) {
    kr_calib *c = b->c;
    kr_status st = KR_OK;
    if (c->meta.kind == KR_KIND_COUNTS) {
        c->part[KR_SPLIT_CAL].n = c->meta.counts_n;
        c->part[KR_SPLIT_TEST].n = c->meta.counts_test_n;
    } else if (c->rows == 0) {
        st = refuse(b->where, err, "there is no request, expected at least one");
    } else {
        kr_idset_free(&b->ids); /* its memory is needed for the index */
        st = kr_calib_index(c, err);
    }
    if (st == KR_OK) {
        *out = c;
        b->c = NULL;
    }
    kr_builder_free(b);
    return st;
}

void kr_builder_free(kr_builder *b) {
    if (b == NULL)
        return;
    kr_idset_free(&b->ids);
    kr_calib_free(b->c);
    free(b);
}
