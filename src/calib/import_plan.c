/* import_plan.c - decides which of the runs found are used, and as which policy. */
#include "calib/import_core.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static bool matches(const kr_run *r, const char *const *patterns, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (fnmatch(patterns[i], r->name, 0) == 0 || fnmatch(patterns[i], r->path, 0) == 0)
            return true;
    return false;
}

static void filter(kr_import *im) {
    for (size_t i = 0; i < im->n_runs; i++) {
        kr_run *r = &im->runs[i];
        if (r->left_out != NULL)
            continue;
        if (im->opts.n_only > 0 && !matches(r, im->opts.only, im->opts.n_only))
            r->left_out = "not asked for";
        else if (matches(r, im->opts.skip, im->opts.n_skip))
            r->left_out = "left out as asked";
    }
}

static bool same(const char *a, const char *b) {
    return (a == NULL && b == NULL) || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* The first run of a setting is used unless it is incomplete; then the newest complete one. */
static size_t best_rerun(const kr_import *im, const char *of) {
    size_t first = KR_NONE, newest = KR_NONE;
    for (size_t i = 0; i < im->n_runs; i++) {
        const kr_run *r = &im->runs[i];
        if (r->left_out != NULL || !same(r->rerun_of, of))
            continue;
        if (first == KR_NONE || r->rerun < im->runs[first].rerun)
            first = i;
        if (r->complete && (newest == KR_NONE || r->rerun > im->runs[newest].rerun))
            newest = i;
    }
    return newest == KR_NONE || im->runs[first].complete ? first : newest;
}

static void settle_reruns(kr_import *im) {
    for (size_t i = 0; i < im->n_runs; i++) {
        kr_run *r = &im->runs[i];
        if (r->left_out != NULL || r->rerun_of == NULL)
            continue;
        const kr_run *best = &im->runs[best_rerun(im, r->rerun_of)];
        if (best == r) {
            if (!r->complete)
                kr_import_say(im, KR_NOTE_WARNING,
                              "%s looks unfinished (no score file beside its predictions).",
                              r->name);
            continue;
        }
        r->left_out = kr_import_text(im, "a rerun of the same setting; %s is used", best->name);
        kr_import_say(im, KR_NOTE_INFO, "%s is a rerun of the same setting as %s: not counted%s.",
                      r->name, best->name, r->complete ? "" : ", because it is unfinished");
    }
}

/* All used runs agree in a property, or the import is refused with the values named. */
static kr_status agree(kr_import *im, const char *what, size_t offset, kr_error *err) {
    const char *values[4];
    size_t count[4], n = 0;
    for (size_t i = 0; i < im->n_runs; i++) {
        const kr_run *r = &im->runs[i];
        const char *v = *(const char *const *)(const void *)((const char *)r + offset);
        size_t k = 0;
        if (r->left_out != NULL || v == NULL)
            continue;
        while (k < n && strcmp(values[k], v) != 0)
            k++;
        if (k == 4)
            continue;
        if (k == n) {
            values[n] = v;
            count[n++] = 0;
        }
        count[k]++;
    }
    if (n < 2)
        return KR_OK;
    return kr_fail(
        err, KR_EFORMAT,
        "the runs are of different %s: '%.120s' (%zu), '%.120s' (%zu)%s; import one at a "
        "time (--only and --skip choose runs by name)",
        what, *values[0] != '\0' ? values[0] : "plain", count[0],
        *values[1] != '\0' ? values[1] : "plain", count[1], n > 2 ? " and more" : "");
}

static size_t find_group(const kr_import *im, const kr_run *r) {
    for (size_t i = 0; i < im->n_groups; i++)
        if (same(im->groups[i].subset, r->subset))
            return i;
    return KR_NONE;
}

static kr_status make_groups(kr_import *im, kr_error *err) {
    im->groups = calloc(im->n_runs + 1, sizeof *im->groups);
    if (im->groups == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory");
    for (size_t i = 0; i < im->n_runs; i++) {
        kr_run *r = &im->runs[i];
        if (r->left_out != NULL || !r->full)
            continue;
        size_t g = find_group(im, r);
        if (g != KR_NONE)
            return kr_fail(
                err, KR_EFORMAT,
                "two full-KV runs of the same data: %s and %s; leave one out with --skip, "
                "or give it as --second-full",
                im->runs[im->groups[g].full].path, r->path);
        r->group = im->n_groups;
        im->groups[im->n_groups++] =
            (kr_group){.subset = r->subset, .setting = r->setting, .full = i};
    }
    if (im->n_groups == 0)
        return kr_fail(err, KR_EFORMAT,
                       "no full-KV run among the %zu runs found: drops cannot be computed without "
                       "one%s",
                       im->n_runs, im->opts.full == NULL ? " (--full names it)" : "");
    return KR_OK;
}

static kr_status assign_groups(kr_import *im, kr_error *err) {
    size_t used = 0;
    for (size_t i = 0; i < im->n_runs; i++) {
        kr_run *r = &im->runs[i];
        if (r->left_out != NULL || r->full)
            continue;
        r->group = find_group(im, r);
        if (r->group == KR_NONE) {
            r->left_out = "no full-KV run of the same data";
            kr_import_say(im, KR_NOTE_WARNING, "%s is left out: there is no full-KV run of %s%s%s.",
                          r->name, r->dataset != NULL ? r->dataset : "the same data",
                          r->subset != NULL ? " " : "", r->subset != NULL ? r->subset : "");
            continue;
        }
        used++;
    }
    return used > 0
               ? KR_OK
               : kr_fail(err, KR_EFORMAT, "no compressed run that belongs to the full-KV run %s",
                         im->runs[im->groups[0].full].name);
}

/* --- levels ------------------------------------------------------------------------------------ */

static bool level_value(kr_import *im, const char *s, kr_level_kind *kind, kr_dec *out,
                        kr_error *err) {
    kr_dec x, one = kr_dec_make(1, 0);
    *kind = KR_LEVEL_RETENTION;
    if (strncmp(s, "threshold:", 10) == 0) {
        *kind = KR_LEVEL_THRESHOLD;
        return kr_dec_parse_percent(s + 10, out, err) == KR_OK;
    }
    if (strncmp(s, "budget:", 7) == 0) {
        *kind = KR_LEVEL_BUDGET;
        return kr_dec_parse_percent(s + 7, out, err) == KR_OK;
    }
    if (strncmp(s, "bits:", 5) == 0) {
        if (kr_dec_parse_percent(s + 5, &x, err) != KR_OK)
            return false;
        double of = im->opts.bits_of > 0 ? im->opts.bits_of : 16;
        *out = kr_dec_from_double(kr_dec_double(x) / of, 9);
    } else if (kr_dec_parse_percent(s, out, err) != KR_OK) {
        return false;
    }
    if (kr_dec_cmp(*out, kr_dec_make(0, 0)) > 0 && kr_dec_cmp(*out, one) <= 0)
        return true;
    kr_fail(err, KR_EINVAL, "level '%s': the share kept must lie in (0, 1]", s);
    return false;
}

/* One --level METHOD[@TEXT]=R. */
static kr_status apply_level(kr_import *im, const char *spec, kr_error *err) {
    const char *eq = strrchr(spec, '='), *at = strchr(spec, '@');
    kr_level_kind kind;
    kr_dec level;
    char a[64], b[64];
    size_t hits = 0;
    if (eq == NULL || eq == spec)
        return kr_fail(err, KR_EINVAL, "--level '%s': METHOD=R is expected", spec);
    if (!level_value(im, eq + 1, &kind, &level, err))
        return err->code;
    const char *end = at != NULL && at < eq ? at : eq;
    const char *method = kr_import_method(im, kr_import_text(im, "%.*s", (int)(end - spec), spec));
    const char *text = end == at ? kr_import_text(im, "%.*s", (int)(eq - at - 1), at + 1) : "";
    for (size_t i = 0; i < im->n_runs; i++) {
        kr_run *r = &im->runs[i];
        if (r->left_out != NULL || r->full || strcmp(r->method, method) != 0 ||
            strstr(r->name, text) == NULL)
            continue;
        if (r->level_kind != KR_LEVEL_UNKNOWN &&
            (r->level_kind != kind || kr_dec_cmp(r->level, level) != 0))
            kr_import_say(im, KR_NOTE_WARNING, "%s: --level (%s) replaces what was found (%s).",
                          r->name, kr_import_level_text(kind, level, a),
                          kr_import_level_text(r->level_kind, r->level, b));
        r->level_kind = kind;
        r->level = level;
        r->level_from = "--level";
        hits++;
    }
    return hits > 0 ? KR_OK : kr_fail(err, KR_EINVAL, "--level '%s' fits no run", spec);
}

/* --- policies ---------------------------------------------------------------------------------- */

static size_t find_policy(const kr_import *im, const kr_run *r) {
    for (size_t i = 0; i < im->n_policies; i++) {
        const kr_ipolicy *p = &im->policies[i];
        if (strcmp(p->method, r->method) == 0 && p->kind == r->level_kind &&
            (p->kind == KR_LEVEL_UNKNOWN || kr_dec_cmp(p->level, r->level) == 0))
            return i;
    }
    return KR_NONE;
}

static size_t method_rank(const kr_import *im, const char *method) {
    size_t i = 0;
    while (i < im->n_runs &&
           (im->runs[i].method == NULL || strcmp(im->runs[i].method, method) != 0))
        i++;
    return i;
}

/* Conservative first: more kept, larger budget, lower threshold, earlier place. */
static int compare_levels(const kr_ipolicy *a, const kr_ipolicy *b) {
    int c = kr_dec_cmp(a->level, b->level);
    return a->kind == KR_LEVEL_THRESHOLD || a->kind == KR_LEVEL_RANK ? c : -c;
}

/* A straight insertion: a few dozen policies, and it needs the import for the methods' order. */
static void sort_policies(kr_import *im) {
    for (size_t i = 1; i < im->n_policies; i++) {
        kr_ipolicy p = im->policies[i];
        size_t rank = method_rank(im, p.method), j = i;
        for (; j > 0; j--) {
            const kr_ipolicy *q = &im->policies[j - 1];
            size_t q_rank = method_rank(im, q->method);
            if (q_rank < rank || (q_rank == rank && compare_levels(q, &p) <= 0))
                break;
            im->policies[j] = *q;
        }
        im->policies[j] = p;
    }
}

static kr_status check_method(kr_import *im, size_t first, size_t n, kr_error *err) {
    const kr_ipolicy *p = &im->policies[first];
    for (size_t i = 1; i < n; i++)
        if (p[i].kind != p->kind || p->kind == KR_LEVEL_UNKNOWN)
            return kr_fail(err, KR_EFORMAT,
                           "method %s has %zu candidates whose levels cannot be put in one order "
                           "(some unknown, or of different kinds); give them with --level "
                           "METHOD@TEXT=R",
                           p->method, n);
    return KR_OK;
}

static kr_status make_policies(kr_import *im, kr_error *err) {
    im->policies = calloc(im->n_runs + 1, sizeof *im->policies);
    if (im->policies == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory");
    for (size_t i = 0; i < im->n_runs; i++) {
        const kr_run *r = &im->runs[i];
        if (r->left_out != NULL || r->full || find_policy(im, r) != KR_NONE)
            continue;
        if (im->n_policies == KR_MAX_POLICIES)
            return kr_fail(err, KR_EFORMAT, "more than %d policies", KR_MAX_POLICIES);
        im->policies[im->n_policies++] =
            (kr_ipolicy){.method = r->method, .kind = r->level_kind, .level = r->level};
    }
    sort_policies(im);
    for (size_t i = 0, n; i < im->n_policies; i += n) {
        for (n = 1; i + n < im->n_policies &&
                    strcmp(im->policies[i + n].method, im->policies[i].method) == 0;)
            n++;
        kr_status st = check_method(im, i, n, err);
        if (st != KR_OK)
            return st;
    }
    return KR_OK;
}

/* Each policy has one run per group: two are refused, none is said. */
static kr_status check_coverage(kr_import *im, kr_error *err) {
    size_t *seen = calloc(im->n_policies * im->n_groups + 1, sizeof *seen);
    char level[64];
    kr_status st = KR_OK;
    if (seen == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory");
    for (size_t i = 0; i < im->n_runs && st == KR_OK; i++) {
        kr_run *r = &im->runs[i];
        if (r->left_out != NULL || r->full)
            continue;
        r->policy = find_policy(im, r);
        size_t *s = &seen[r->policy * im->n_groups + r->group];
        if (*s != 0) {
            const kr_run *other = &im->runs[*s - 1];
            bool one_file = strcmp(other->path, r->path) == 0;
            st = kr_fail(err, KR_EFORMAT,
                         "two runs for %s, %s, on the same data: %s and %s; leave one out with "
                         "--skip, or tell them apart with --level METHOD@TEXT=R",
                         r->method, kr_import_level_text(r->level_kind, r->level, level),
                         one_file ? other->name : other->path, one_file ? r->name : r->path);
        }
        *s = i + 1;
    }
    for (size_t p = 0; p < im->n_policies && st == KR_OK; p++)
        for (size_t g = 0; g < im->n_groups; g++)
            if (seen[p * im->n_groups + g] == 0 && im->groups[g].subset != NULL)
                kr_import_say(
                    im, KR_NOTE_WARNING, "there is no run of %s, %s, on %s.",
                    im->policies[p].method,
                    kr_import_level_text(im->policies[p].kind, im->policies[p].level, level),
                    im->groups[g].subset);
    free(seen);
    return st;
}

static size_t depth_of(const char *path) {
    size_t n = 0;
    for (; *path != '\0'; path++)
        n += *path == '/';
    return n;
}

/* Of several full-KV runs of the same data below the place given, the outermost is meant. */
static bool outer_exists(const kr_import *im, const kr_run *r) {
    for (size_t i = 0; i < im->n_runs; i++) {
        const kr_run *o = &im->runs[i];
        if (o->second && o != r && same(o->subset, r->subset) &&
            depth_of(o->path) < depth_of(r->path))
            return true;
    }
    return false;
}

/* Sets aside the full-KV runs below --second-full. */
static kr_status find_second(kr_import *im, kr_error *err) {
    const char *place = im->opts.second_full;
    size_t found = 0, len = place != NULL ? strlen(place) : 0;
    while (len > 1 && place[len - 1] == '/')
        len--;
    for (size_t i = 0; i < im->n_runs && place != NULL; i++) {
        kr_run *r = &im->runs[i];
        r->second = r->full && r->left_out == NULL && strncmp(r->path, place, len) == 0 &&
                    (r->path[len] == '/' || r->path[len] == '\0');
    }
    for (size_t i = 0; i < im->n_runs; i++) {
        kr_run *r = &im->runs[i];
        if (!r->second)
            continue;
        found++;
        r->left_out =
            outer_exists(im, r) ? "a rerun of the second full-KV run" : "the second full-KV run";
    }
    for (size_t i = 0; i < im->n_runs; i++)
        im->runs[i].second &= im->runs[i].left_out != NULL &&
                              strcmp(im->runs[i].left_out, "the second full-KV run") == 0;
    return found > 0 || place == NULL ? KR_OK
                                      : kr_fail(err, KR_EFORMAT, "%s: no full-KV run there", place);
}

static kr_status place_second(kr_import *im, kr_error *err) {
    for (size_t i = 0; i < im->n_runs; i++) {
        kr_run *r = &im->runs[i];
        if (!r->second)
            continue;
        r->group = find_group(im, r);
        const kr_run *first = r->group != KR_NONE ? &im->runs[im->groups[r->group].full] : NULL;
        if (first == NULL || !same(first->model, r->model) || !same(first->setting, r->setting) ||
            !same(first->dataset, r->dataset))
            return kr_fail(err, KR_EFORMAT,
                           "%s: not of the same model, data and setting as the first full-KV run",
                           r->name);
    }
    return KR_OK;
}

/* --method TEXT=NAME. */
static kr_status rename_methods(kr_import *im, kr_error *err) {
    for (size_t k = 0; k < im->opts.n_methods; k++) {
        const char *spec = im->opts.methods[k], *eq = strrchr(spec, '=');
        size_t hits = 0;
        if (eq == NULL || eq == spec || eq[1] == '\0')
            return kr_fail(err, KR_EINVAL, "--method '%s': TEXT=NAME is expected", spec);
        const char *text = kr_import_text(im, "%.*s", (int)(eq - spec), spec);
        for (size_t i = 0; i < im->n_runs; i++) {
            kr_run *r = &im->runs[i];
            if (r->full || strstr(r->name, text) == NULL)
                continue;
            r->method = kr_import_method(im, eq + 1);
            hits++;
        }
        if (hits == 0)
            return kr_fail(err, KR_EINVAL, "--method '%s' fits no run", spec);
    }
    return KR_OK;
}

/* --order A,B,...: runs of unknown level get their place in the list as level. */
static kr_status apply_order(kr_import *im, kr_error *err) {
    if (im->opts.order == NULL)
        return KR_OK;
    int64_t place = 1;
    for (const char *p = im->opts.order; *p != '\0'; place++) {
        size_t n = strcspn(p, ","), hits = 0;
        const char *item = kr_import_text(im, "%.*s", (int)n, p);
        for (size_t i = 0; i < im->n_runs; i++) {
            kr_run *r = &im->runs[i];
            bool named = strcmp(r->name, item) == 0 ||
                         (r->column != NULL && kr_ends(r->column, item)) ||
                         (r->press != NULL && strcmp(r->press, item) == 0);
            if (r->full || r->left_out != NULL || !named)
                continue;
            r->level_kind = KR_LEVEL_RANK;
            r->level = kr_dec_make(place, 0);
            r->level_from = "--order";
            hits++;
        }
        if (hits == 0)
            return kr_fail(err, KR_EINVAL, "--order: '%s' is no run", item);
        p += n + (p[n] == ',');
    }
    return KR_OK;
}

kr_status kr_import_plan(kr_import *im, kr_error *err) {
    if (im->n_runs == 0)
        return kr_fail(err, KR_EFORMAT, "%s: no %s run found", im->opts.paths[0],
                       im->importer->name);
    filter(im);
    kr_status st = find_second(im, err);
    if (st != KR_OK)
        return st;
    settle_reruns(im);
    if ((st = agree(im, "models", offsetof(kr_run, model), err)) != KR_OK ||
        (st = agree(im, "data sets", offsetof(kr_run, dataset), err)) != KR_OK ||
        (st = agree(im, "prompt settings", offsetof(kr_run, setting), err)) != KR_OK ||
        (st = make_groups(im, err)) != KR_OK || (st = assign_groups(im, err)) != KR_OK ||
        (st = place_second(im, err)) != KR_OK || (st = rename_methods(im, err)) != KR_OK ||
        (st = apply_order(im, err)) != KR_OK)
        return st;
    for (size_t i = 0; i < im->opts.n_levels; i++)
        if ((st = apply_level(im, im->opts.levels[i], err)) != KR_OK)
            return st;
    if ((st = make_policies(im, err)) != KR_OK)
        return st;
    return check_coverage(im, err);
}
