#include "cli/methods.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"

typedef struct {
    const kr_cli_ladder *ladder;
    const kr_evict_preset *preset;
    kr_evict_spec *arm;
    size_t n;
    kr_buf name, params, levels; /* of the method that is being read */
} reader;

static kr_status add_arm(reader *r, const kr_evict_spec *s, kr_error *err) {
    if (r->n == KR_CLI_MAX_ARMS)
        return kr_fail(err, KR_EINVAL, "more than %d policies", KR_CLI_MAX_ARMS);
    r->arm[r->n++] = *s;
    return KR_OK;
}

static kr_status add_ladder(reader *r, kr_error *err) {
    kr_buf text = {0};
    kr_evict_spec s;
    kr_buf_printf(&text, "%s%s", kr_buf_text(&r->name), kr_buf_text(&r->params));
    kr_status st = kr_evict_parse_params(kr_buf_text(&text), r->preset, &s, err);
    kr_buf_free(&text);
    if (st != KR_OK)
        return st;
    const char *name = s.policy->name;
    if (s.policy->threshold)
        return kr_fail(err, KR_EINVAL, "%s has thresholds: name them, as in refreekv:0.001,0.01",
                       name);
    if (s.policy->score == NULL)
        return kr_fail(err, KR_EINVAL, "%s is what the others are compared with", name);
    kr_dec level = r->ladder->high;
    do {
        s.level = (kr_evict_level){KR_EVICT_RATIO, level};
        st = add_arm(r, &s, err);
    } while (st == KR_OK && kr_cli_ladder_next(r->ladder, &level));
    return st;
}

static kr_status add_levels(reader *r, kr_error *err) {
    kr_buf text = {0};
    kr_status st = KR_OK;
    for (const char *at = kr_buf_text(&r->levels); *at != '\0' && st == KR_OK;) {
        kr_evict_spec s;
        size_t n = strcspn(at, ",");
        text.len = 0;
        kr_buf_printf(&text, "%s:%.*s%s", kr_buf_text(&r->name), (int)n, at,
                      kr_buf_text(&r->params));
        st = kr_evict_parse(kr_buf_text(&text), r->preset, &s, err);
        if (st == KR_OK)
            st = add_arm(r, &s, err);
        at += n + (at[n] == ',');
    }
    kr_buf_free(&text);
    return st;
}

/* Adds the method that has been read, if any, and makes room for the next. */
static kr_status finish(reader *r, kr_error *err) {
    kr_status st = KR_OK;
    if (r->name.len > 0)
        st = r->levels.len > 0 ? add_levels(r, err) : add_ladder(r, err);
    kr_buf_free(&r->name);
    kr_buf_free(&r->params);
    kr_buf_free(&r->levels);
    return st;
}

/* One item between commas: a name (perhaps with its first level), name=value, or another level. */
static kr_status take_item(reader *r, const char *s, size_t n, kr_error *err) {
    size_t level = strcspn(s, ":");
    if (memchr(s, '=', n) != NULL) {
        kr_buf_printf(&r->params, ",%.*s", (int)n, s);
        return KR_OK;
    }
    if (isdigit((unsigned char)s[0])) {
        kr_buf_printf(&r->levels, "%s%.*s", r->levels.len > 0 ? "," : "", (int)n, s);
        return KR_OK;
    }
    kr_status st = finish(r, err);
    kr_buf_add(&r->name, s, level < n ? level : n);
    if (level < n)
        kr_buf_add(&r->levels, s + level + 1, n - level - 1);
    return st;
}

kr_status kr_cli_methods_read(const char *list, const kr_cli_ladder *ladder,
                              const kr_evict_preset *preset, kr_evict_spec *arm, size_t *n,
                              kr_error *err) {
    reader r = {.ladder = ladder, .preset = preset, .arm = arm};
    kr_status st = KR_OK;
    for (const char *s = list; *s != '\0' && st == KR_OK;) {
        size_t len = strcspn(s, ",");
        st = take_item(&r, s, len, err);
        s += len + (s[len] == ',');
    }
    if (st == KR_OK && r.name.len == 0)
        st = kr_fail(err, KR_EINVAL, "--methods: expected names of policies (kvrisk eval --list)");
    kr_status last = finish(&r, st == KR_OK ? err : NULL);
    *n = r.n;
    return st == KR_OK ? last : st;
}
