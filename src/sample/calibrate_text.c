/* calibrate_text.c - the lines of a calibration file as kvrisk measures it. */
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "calib/calib.h"
#include "sample/calibrate.h"

static const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static void put_contract(kr_buf *b, const kr_calibrate_contract *c) {
    if (c == NULL)
        return;
    kr_put_key(b, "contract");
    kr_buf_puts(b, "{");
    kr_put_dec(b, "tolerance", c->tolerance);
    kr_put_dec(b, "risk", c->risk);
    kr_put_dec(b, "confidence", c->confidence);
    kr_put_given(b, "method", c->method);
    kr_put_given(b, "declared", c->declared);
    kr_buf_puts(b, "}");
}

/* In the order in which they first come. */
static void put_tasks(kr_buf *b, const kr_sample_requests *all) {
    const char *seen[KR_MAX_TASKS];
    size_t n = 0;
    kr_buf_puts(b, ",\"tasks\":[");
    for (size_t i = 0; i < all->n; i++) {
        size_t j = 0;
        while (j < n && strcmp(seen[j], all->item[i].task) != 0)
            j++;
        if (j < n || n == KR_MAX_TASKS)
            continue;
        kr_buf_puts(b, n > 0 ? "," : "");
        kr_json_put_string(b, all->item[i].task);
        seen[n++] = all->item[i].task;
    }
    kr_buf_puts(b, "]");
}

static void put_policies(kr_buf *b, const kr_eval_options *e) {
    kr_buf_puts(b, ",\"policies\":[");
    for (size_t i = 0; i < e->n_arms; i++) {
        const kr_evict_spec *s = &e->arm[i];
        kr_buf text = {0};
        kr_evict_text(s, true, &text);
        kr_buf_puts(b, i > 0 ? ",{\"method\":" : "{\"method\":");
        kr_json_put_string(b, s->policy->name);
        kr_put_dec(b, s->level.kind == KR_EVICT_THRESHOLD ? "threshold" : "retention", s->level.value);
        kr_put_given(b, "spec", kr_buf_text(&text));
        kr_buf_puts(b, "}");
        b->failed = b->failed || text.failed;
        kr_buf_free(&text);
    }
    kr_buf_puts(b, "]");
}

static kr_status put_sources(kr_buf *b, const kr_calibrate_options *o, kr_error *err) {
    char hex[KR_SHA256_HEX];
    kr_status st = kr_file_sha256(o->model_path, hex, err);
    if (st != KR_OK)
        return st;
    kr_buf_puts(b, ",\"sources\":[{\"path\":");
    kr_json_put_string(b, file_name(o->model_path));
    kr_put_given(b, "sha256", hex);
    kr_buf_puts(b, ",\"role\":\"model\"},{\"path\":");
    kr_json_put_string(b, file_name(o->requests_path));
    kr_put_given(b, "sha256", o->requests->sha256);
    kr_buf_puts(b, ",\"role\":\"requests\"}]");
    return KR_OK;
}

/* The scorer of all requests, or "mixed". */
static const char *scorer_of(const kr_sample_requests *all) {
    for (size_t i = 1; i < all->n; i++)
        if (all->item[i].scorer != all->item[0].scorer)
            return "mixed";
    return all->item[0].scorer->name;
}

/* What the numbers may depend on beyond the inputs. */
static void put_engine(kr_buf *b, const kr_eval_options *e) {
    kr_buf_puts(b, ",\"engine\":{\"kvrisk\":\"" KR_VERSION "\"");
    kr_put_given(b, "kernels", (e->kern != NULL ? e->kern : kr_kern_best())->name);
    kr_put_given(b, "openblas", openblas_get_config());
    kr_put_given(b, "openblas_core", openblas_get_corename());
    kr_buf_puts(b, "}");
}

size_t kr_calibrate_rows(size_t n, size_t shard, size_t shards) {
    return n >= shard ? (n - shard) / shards + 1 : 0;
}

kr_status kr_calibrate_ids(const char *(*id)(const void *of, size_t i), const void *of, size_t n,
                           char hex[KR_SHA256_HEX], kr_error *err) {
    kr_buf all = {0};
    for (size_t i = 0; i < n; i++) {
        kr_json_put_string(&all, id(of, i));
        kr_buf_puts(&all, "\n");
    }
    kr_status st = all.failed ? kr_fail(err, KR_ENOMEM, "out of memory for %zu ids", n)
                              : kr_sha256(kr_buf_text(&all), all.len, hex, err);
    kr_buf_free(&all);
    return st;
}

static const char *id_of_row(const void *of, size_t row) {
    const kr_calibrate_options *o = of;
    return o->requests->item[o->shard - 1 + row * o->shards].id;
}

/* How many rows must follow; last, because merging puts another end there. */
static kr_status put_extent(kr_buf *b, const kr_calibrate_options *o, kr_error *err) {
    size_t n = kr_calibrate_rows(o->requests->n, o->shard, o->shards);
    char hex[KR_SHA256_HEX];
    if (o->shards == 1) {
        kr_buf_printf(b, KR_CALIBRATE_END, n);
        return KR_OK;
    }
    kr_status st = kr_calibrate_ids(id_of_row, o, n, hex, err);
    if (st == KR_OK)
        kr_buf_printf(b, KR_CALIBRATE_SHARD_END, n, o->shard, o->shards, o->requests->n, hex);
    return st;
}

kr_status kr_calibrate_header(const kr_calibrate_options *o, kr_buf *out, kr_error *err) {
    const kr_geometry *g = &o->model->geo;
    kr_buf_puts(out, "{\"kvrisk\":1,\"kind\":\"calibration\"");
    kr_put_given(out, "name", o->name);
    kr_put_given(out, "model", file_name(o->model_path));
    kr_put_given(out, "benchmark", o->benchmark);
    kr_put_given(out, "scorer", scorer_of(o->requests));
    kr_put_given(out, "protocol", kr_protocol_name(o->eval.protocol));
    kr_buf_printf(out,
                  ",\"utility\":{\"min\":0,\"max\":1},\"kv\":{\"layers\":%zu,\"kv_heads\":%zu,"
                  "\"head_dim\":%zu,\"bytes\":4}",
                  g->layers, g->kv_heads, g->head_dim);
    put_contract(out, o->contract);
    put_tasks(out, o->requests);
    put_policies(out, &o->eval);
    kr_status st = put_sources(out, o, err);
    if (st != KR_OK)
        return st;
    if (o->eval.protocol == KR_QUERY_AWARE)
        kr_put_given(out, "first_token", kr_first_token_name(o->eval.first_token));
    kr_put_given(out, "preset", o->preset);
    if (o->eval.max_tokens > 0)
        kr_buf_printf(out, ",\"max_tokens\":%zu", o->eval.max_tokens);
    if (o->eval.context > 0)
        kr_buf_printf(out, ",\"context\":%zu", o->eval.context);
    put_engine(out, &o->eval);
    kr_put_given(out, "note", o->note);
    st = put_extent(out, o, err);
    if (st != KR_OK)
        return st;
    return out->failed ? kr_fail(err, KR_ENOMEM, "out of memory for the header") : KR_OK;
}

/* A utility in nano-units, so that it is read back as the integer it was compared as. */
static void put_utility(kr_buf *b, double u) {
    if (isfinite(u))
        kr_json_put_dec(b, kr_dec_make(llround(u * 1e9), 9));
    else
        kr_buf_puts(b, "null");
}

void kr_calibrate_row(const kr_sample_request *q, size_t n_arms, const kr_eval_result *r,
                      const char *why, kr_buf *out) {
    kr_buf_puts(out, "{\"id\":");
    kr_json_put_string(out, q->id);
    kr_put_given(out, "task", q->task);
    kr_put_given(out, "split", q->split);
    kr_put_given(out, "cluster", q->cluster);
    if (r != NULL)
        kr_buf_printf(out, ",\"tokens\":%zu", r->n_prompt);
    kr_buf_puts(out, ",\"full\":");
    put_utility(out, r != NULL ? r->full.utility : (double)NAN);
    kr_buf_puts(out, ",\"utility\":[");
    for (size_t i = 0; i < n_arms; i++) {
        kr_buf_puts(out, i > 0 ? "," : "");
        put_utility(out, r != NULL ? r->arm[i].utility : (double)NAN);
    }
    if (r != NULL) {
        kr_buf_puts(out, "],\"retained\":[");
        for (size_t i = 0; i < n_arms; i++) {
            kr_buf_puts(out, i > 0 ? "," : "");
            kr_json_put_dec(out, kr_dec_make(llround(r->arm[i].rho_ctx * 1e4), 4));
        }
    }
    kr_buf_puts(out, "]");
    kr_put_given(out, "reason", r != NULL ? r->full.why : why);
    kr_buf_puts(out, "}\n");
}
