/* import_names.c - full KV, method and model from what the names of runs do not have in common. */
#include "calib/import_core.h"

#include <string.h>

/* Leading parts of the labels (up to `_`, `-`, `/`) that all share. */
static size_t shared_prefix(const kr_import *im) {
    const char *first = im->n_runs > 0 ? im->runs[0].press : "";
    size_t n = strlen(first);
    for (size_t i = 1; i < im->n_runs; i++) {
        size_t k = 0;
        while (k < n && im->runs[i].press[k] == first[k])
            k++;
        n = k;
    }
    for (size_t i = 0; i < im->n_runs; i++)
        while (n > 0 && n >= strlen(im->runs[i].press))
            n--;
    while (n > 0 && strchr("_-/", first[n - 1]) == NULL)
        n--;
    return n;
}

/* Trailing folders that all labels share are dropped: ".../full/synthetic", ".../snapkv/synthetic". */
static void drop_shared_suffix(kr_import *im) {
    for (;;) {
        const char *first = im->n_runs > 0 ? im->runs[0].press : "", *slash = strrchr(first, '/');
        if (slash == NULL)
            return;
        for (size_t i = 0; i < im->n_runs; i++) {
            const char *s = strrchr(im->runs[i].press, '/');
            if (s == NULL || strcmp(s, slash) != 0)
                return;
        }
        for (size_t i = 0; i < im->n_runs; i++) {
            kr_run *r = &im->runs[i];
            r->press =
                kr_import_text(im, "%.*s", (int)(strrchr(r->press, '/') - r->press), r->press);
        }
    }
}

static bool all_equal(const kr_import *im) {
    for (size_t i = 1; i < im->n_runs; i++)
        if (strcmp(im->runs[i].press, im->runs[0].press) != 0)
            return false;
    return true;
}

/* The prefix without its last mark; of a path only the last folder. */
static const char *model_of(kr_import *im, const char *press, size_t n) {
    const char *s = kr_import_text(im, "%.*s", (int)n - 1, press);
    const char *base = kr_path_base(s);
    return *base != '\0' ? base : NULL;
}

void kr_runs_by_difference(kr_import *im, bool paths) {
    bool equal = all_equal(im);
    if (paths && !equal)
        drop_shared_suffix(im);
    size_t n = equal ? 0 : shared_prefix(im);
    for (size_t i = 0; i < im->n_runs; i++) {
        kr_run *r = &im->runs[i];
        const char *own = r->press + n, *full = im->opts.full;
        if (equal && paths)
            own = kr_path_base(r->press);
        if (full != NULL)
            r->full =
                strcmp(r->press, full) == 0 || strcmp(own, full) == 0 || strcmp(r->name, full) == 0;
        else
            r->full = kr_names_full(own);
        if (r->model == NULL && n > 1)
            r->model = model_of(im, r->press, n);
        if (r->model != NULL && r->model[0] == '\0')
            r->model = NULL;
        r->press = own;
        if (!r->full && r->method == NULL)
            r->method = kr_import_method(im, own);
    }
}
