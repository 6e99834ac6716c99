/* Where model and requests are, which rows of the calibration set the requests are, and whether both
 * files are the ones that the stored results were measured on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "ui/model.h"
#include "ui/reeval_impl.h"

/* --- where they are ----------------------------------------------------------------------------- */

bool kr_re_readable(const char *path) { return path[0] != '\0' && access(path, R_OK) == 0; }

bool kr_re_directory(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* `name` in the directory of the calibration file. */
static void beside(const char *path, const char *name, char out[512]) {
    const char *file = kr_file_name(path);
    if (snprintf(out, 512, "%.*s%s", (int)(file - path), path, name) >= 512)
        out[0] = '\0';
}

static bool has_role(const kr_source *s, const char *role) {
    return s->role != NULL && strcmp(s->role, role) == 0;
}

/* A source that the calibration file names, as named or beside the file. */
static bool from_sources(const char *path, const kr_calib *calib, const char *role, char out[512]) {
    const kr_calib_meta *m = kr_calib_meta_of(calib);
    for (size_t i = 0; i < m->n_sources; i++) {
        const kr_source *s = &m->sources[i];
        if (s->path == NULL || !has_role(s, role))
            continue;
        beside(path, kr_file_name(s->path), out);
        if (kr_re_readable(out))
            return true;
        if (snprintf(out, 512, "%s", s->path) < 512 && kr_re_readable(out))
            return true;
    }
    out[0] = '\0';
    return false;
}

/* NAME-requests.jsonl beside NAME.jsonl, then what the file says it was measured from. */
void kr_re_find_requests(const char *path, const kr_calib *calib, char out[512]) {
    char name[300];
    const char *file = kr_file_name(path), *dot = strrchr(file, '.');
    int stem = (int)(dot != NULL ? dot - file : (long)strlen(file));
    snprintf(name, sizeof name, "%.*s-requests.jsonl", stem < 200 ? stem : 200, file);
    beside(path, name, out);
    if (!kr_re_readable(out) && !from_sources(path, calib, "requests", out))
        from_sources(path, calib, "requests_part", out);
}

void kr_re_find_model(const char *path, const kr_calib *calib, const char *requests, char out[512]) {
    if (from_sources(path, calib, "model", out) || requests[0] == '\0')
        return;
    beside(path, "mini-llama.gguf", out); /* the bundled one, where its requests are, too */
    if (!kr_re_readable(out))
        out[0] = '\0';
}

/* --- reading them ------------------------------------------------------------------------------- */

void kr_re_free_files(kr_reeval *r) {
    for (size_t i = 0; r->file != NULL && r->full != NULL && i < r->file->n; i++)
        kr_re_full_free(&r->full[i]);
    free(r->full);
    free(r->row);
    kr_sample_requests_free(r->file);
    r->full = NULL;
    r->row = NULL;
    r->file = NULL;
    kr_fetch_free(r->requests_fetch);
    kr_fetch_free(r->model_fetch);
    r->requests_fetch = r->model_fetch = NULL;
    r->model_sha256[0] = r->requests_error[0] = '\0';
    r->model_known = false;
}

typedef struct {
    const char *id;
    size_t q;
} id_ref;

static int by_id(const void *x, const void *y) {
    return strcmp(((const id_ref *)x)->id, ((const id_ref *)y)->id);
}

/* Which row of the calibration set each request is. */
static void match_rows(const kr_app *a, kr_reeval *r, id_ref *ref) {
    char id[512];
    size_t n = r->file->n;
    r->rows = 0;
    r->fit.known = false;
    for (size_t q = 0; q < n; q++) {
        ref[q] = (id_ref){r->file->item[q].id, q};
        r->row[q] = KR_RE_NO_ROW;
    }
    qsort(ref, n, sizeof *ref, by_id);
    for (size_t row = 0; row < kr_calib_rows(a->calib); row++) {
        kr_request c = kr_calib_row(a->calib, row);
        if (c.id_len >= sizeof id)
            continue;
        memcpy(id, c.id, c.id_len);
        id[c.id_len] = '\0';
        const id_ref *hit = bsearch(&(id_ref){id, 0}, ref, n, sizeof *ref, by_id);
        if (hit == NULL)
            continue;
        r->row[hit->q] = row;
        r->rows += kr_re_in_split(a, row);
    }
}

void kr_reeval_match(kr_app *a) {
    kr_reeval *r = a->re;
    if (r->file == NULL)
        return;
    id_ref *ref = calloc(r->file->n + 1, sizeof *ref);
    if (ref != NULL)
        match_rows(a, r, ref);
    else
        kr_reeval_forget(a);
    free(ref);
}

static bool take_requests(const kr_app *a) {
    kr_reeval *r = a->re;
    kr_fetch_wait(r->requests_fetch);
    r->file = kr_fetch_take(r->requests_fetch);
    snprintf(r->requests_error, sizeof r->requests_error, "%s", kr_fetch_error(r->requests_fetch));
    kr_fetch_free(r->requests_fetch);
    r->requests_fetch = NULL;
    if (r->file == NULL)
        return false;
    id_ref *ref = calloc(r->file->n + 1, sizeof *ref);
    r->row = calloc(r->file->n + 1, sizeof *r->row);
    r->full = calloc(r->file->n + 1, sizeof *r->full);
    bool ok = ref != NULL && r->row != NULL && r->full != NULL;
    if (ok)
        match_rows(a, r, ref);
    else
        kr_re_free_files(r);
    free(ref);
    return ok;
}

static void take_model(kr_reeval *r) {
    kr_fetch_wait(r->model_fetch);
    snprintf(r->model_sha256, sizeof r->model_sha256, "%s", kr_fetch_sha256(r->model_fetch));
    r->model_stamp = *kr_fetch_stamp(r->model_fetch);
    r->model_known = true;
    kr_fetch_free(r->model_fetch);
    r->model_fetch = NULL;
}

static void start_fetches(kr_reeval *r) {
    if (r->requests[0] != '\0' && r->file == NULL && r->requests_fetch == NULL &&
        r->requests_error[0] == '\0')
        r->requests_fetch = kr_fetch_start(r->requests, true);
    if (r->model[0] != '\0' && !r->model_known && r->model_fetch == NULL)
        r->model_fetch = kr_fetch_start(r->model, false);
}

void kr_reeval_look(kr_app *a) {
    if (a->screen == KR_SCREEN_REEVAL || a->screen == KR_SCREEN_REQUEST ||
        a->screen == KR_SCREEN_RUN)
        start_fetches(a->re);
}

bool kr_reeval_reading(const kr_app *a) {
    return a->re->requests_fetch != NULL || a->re->model_fetch != NULL;
}

bool kr_re_take_files(const kr_app *a) {
    kr_reeval *r = a->re;
    bool news = false;
    if (r->requests_fetch != NULL && kr_fetch_ended(r->requests_fetch)) {
        take_requests(a);
        news = true;
    }
    if (r->model_fetch != NULL && kr_fetch_ended(r->model_fetch)) {
        take_model(r);
        news = true;
    }
    return news;
}

static bool no_files(kr_app *a) {
    kr_reeval *r = a->re;
    if (r->requests[0] == '\0')
        kr_app_say(a, true, "no requests that belong to this file; :eval requests FILE names them");
    else if (r->model[0] == '\0')
        kr_app_say(a, true, "no model that belongs to this file; :eval model FILE names one");
    return r->requests[0] == '\0' || r->model[0] == '\0';
}

/* A model that was exchanged since it was hashed is hashed again. */
static void look_at_model_again(kr_reeval *r) {
    kr_stamp now;
    if (r->model_known && kr_file_stamp(r->model, &now, NULL) == KR_OK &&
        !kr_stamp_equal(&now, &r->model_stamp))
        r->model_known = false;
}

bool kr_re_have_requests(kr_app *a) {
    kr_reeval *r = a->re;
    if (no_files(a))
        return false;
    look_at_model_again(r);
    r->requests_error[0] = '\0';
    start_fetches(r);
    if (r->file == NULL && r->requests_fetch != NULL)
        take_requests(a);
    if (r->file == NULL)
        kr_app_say(a, true, "%s",
                   r->requests_error[0] != '\0' ? r->requests_error : "out of memory for requests");
    return r->file != NULL;
}

bool kr_re_in_split(const kr_app *a, size_t row) {
    return row == KR_RE_NO_ROW ||
           kr_calib_row(a->calib, row).split == kr_analysis_options_of(a->an).split;
}

size_t kr_reeval_rows(const kr_app *a) { return a->re->file != NULL ? a->re->rows : 0; }

/* --- whether they are the right ones ------------------------------------------------------------ */

/* `sha256` is "" while it is not known. */
static kr_source_match match(const kr_app *a, const char *role, const char *part,
                             const char *sha256) {
    const kr_calib_meta *m = kr_calib_meta_of(a->calib);
    kr_source_match found = KR_SOURCE_UNNAMED;
    for (size_t i = 0; i < m->n_sources; i++) {
        const kr_source *s = &m->sources[i];
        bool in_part = part != NULL && has_role(s, part);
        if (s->sha256 == NULL || s->sha256[0] == '\0' || (!has_role(s, role) && !in_part))
            continue;
        if (sha256[0] == '\0')
            return KR_SOURCE_UNCHECKED;
        if (strcmp(s->sha256, sha256) == 0)
            return in_part ? KR_SOURCE_PART : KR_SOURCE_SAME;
        found = KR_SOURCE_OTHER;
    }
    return found;
}

kr_source_match kr_reeval_requests_match(const kr_app *a) {
    return match(a, "requests", "requests_part", a->re->file != NULL ? a->re->file->sha256 : "");
}

kr_source_match kr_reeval_model_match(const kr_app *a) {
    return match(a, "model", NULL, a->re->model_known ? a->re->model_sha256 : "");
}

static bool other_protocol(const kr_app *a) {
    const char *p = kr_calib_meta_of(a->calib)->protocol;
    return p != NULL && strcmp(p, a->re->protocol) != 0;
}

kr_comparable kr_reeval_comparable(const kr_app *a, const kr_re_run *u, char why[KR_RE_WHY]) {
    const kr_reeval *r = a->re;
    kr_source_match q = kr_reeval_requests_match(a), m = kr_reeval_model_match(a);
    why[0] = '\0';
    if (q == KR_SOURCE_OTHER)
        snprintf(why, KR_RE_WHY, "%.80s is not the file these results were measured on",
                 kr_file_name(r->requests));
    else if (m == KR_SOURCE_OTHER)
        snprintf(why, KR_RE_WHY, "%.80s is not the model these results were measured on",
                 kr_file_name(r->model));
    else if (u != NULL && u->others)
        snprintf(why, KR_RE_WHY, "%.80s was changed before the job read it",
                 kr_file_name(r->requests));
    else if (other_protocol(a))
        snprintf(why, KR_RE_WHY, "%s now, these results were measured %s", r->protocol,
                 kr_calib_meta_of(a->calib)->protocol);
    if (why[0] != '\0')
        return KR_COMPARABLE_NO;
    if (q == KR_SOURCE_UNCHECKED || m == KR_SOURCE_UNCHECKED)
        snprintf(why, KR_RE_WHY, "%s not checked yet",
                 q == KR_SOURCE_UNCHECKED ? "requests are" : "the model is");
    else if (q == KR_SOURCE_UNNAMED || m == KR_SOURCE_UNNAMED)
        snprintf(why, KR_RE_WHY, "the file names no hash of its %s: rows are matched by id alone",
                 q == KR_SOURCE_UNNAMED ? "requests" : "model");
    return why[0] != '\0' ? KR_COMPARABLE_UNKNOWN : KR_COMPARABLE_YES;
}
