#include "calib/subset.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calib/set.h"

static kr_status add_rows(const kr_calib *c, const bool *keep, kr_builder *b, kr_error *err) {
    int64_t *utility = malloc(c->m * sizeof *utility);
    kr_status st = utility != NULL ? KR_OK : kr_fail(err, KR_ENOMEM, "out of memory");
    for (size_t i = 0; st == KR_OK && i < c->rows; i++) {
        if (!keep[i])
            continue;
        kr_request r = kr_calib_row(c, i);
        for (size_t p = 0; p < c->m; p++)
            utility[p] = kr_calib_utility(c, i, p);
        r.split = KR_SPLIT_CAL;
        r.utility = utility;
        r.retained = NULL;
        st = kr_builder_add(b, &r, err);
    }
    free(utility);
    return st;
}

kr_status kr_calib_subset(const kr_calib *c, const bool *keep, const kr_calib_meta *meta,
                          kr_calib **out, kr_error *err) {
    kr_builder *b = NULL;
    kr_calib *s = NULL;
    if (c->meta.kind == KR_KIND_COUNTS)
        return kr_fail(err, KR_EINVAL, "published counts have no requests to choose from");
    kr_status st = kr_builder_new(meta != NULL ? meta : &c->meta, c->task, c->n_tasks, c->policy,
                                  c->m, c->path, &b, err);
    if (st != KR_OK)
        return st;
    st = add_rows(c, keep, b, err);
    if (st == KR_OK)
        st = kr_builder_finish(b, &s, err);
    else
        kr_builder_free(b);
    if (st != KR_OK)
        return st;
    /* The realised retention is the whole file's: what the policy does, not an outcome. */
    s->realised = c->realised != NULL ? malloc(c->m * sizeof *s->realised) : NULL;
    if (s->realised != NULL)
        memcpy(s->realised, c->realised, c->m * sizeof *s->realised);
    s->path = kr_arena_copy(&s->arena, c->path, strlen(c->path));
    memcpy(s->sha256, c->sha256, sizeof s->sha256);
    s->stamp = c->stamp;
    if (s->path == NULL || (c->realised != NULL && s->realised == NULL)) {
        kr_calib_free(s);
        return kr_fail(err, KR_ENOMEM, "out of memory");
    }
    *out = s;
    return KR_OK;
}
