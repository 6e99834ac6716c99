#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "calib/calib.h"

static void put_extra(kr_buf *b, const char *extra) {
    if (extra != NULL)
        kr_buf_printf(b, ",%s", extra);
}

static void put_nano(kr_buf *b, int64_t v) {
    if (v == KR_MISSING)
        kr_buf_puts(b, "null");
    else
        kr_json_put_dec(b, kr_nano_dec(v));
}

static void put_policy(kr_buf *b, const kr_policy *p) {
    kr_buf_puts(b, "{\"method\":");
    kr_json_put_string(b, p->method);
    if (p->has_retention)
        kr_put_dec(b, "retention", p->retention);
    if (p->has_threshold)
        kr_put_dec(b, "threshold", p->threshold);
    if (!p->has_retention && !p->has_threshold)
        kr_put_null(b, "retention");
    if (p->has_mean)
        kr_put_dec(b, "mean_retained", p->mean_retained);
    if (p->has_test_mean)
        kr_put_dec(b, "test_mean_retained", p->test_mean_retained);
    if (p->events >= 0)
        kr_put_int(b, "events", p->events);
    if (p->test_events >= 0)
        kr_put_int(b, "test_events", p->test_events);
    put_extra(b, p->extra);
    kr_buf_puts(b, "}");
}

static void put_contract(kr_buf *b, const kr_calib_meta *m) {
    if (!m->has_contract)
        return;
    kr_put_key(b, "contract");
    kr_buf_puts(b, "{");
    kr_put_dec(b, "tolerance", m->tolerance);
    kr_put_dec(b, "risk", m->risk);
    kr_put_dec(b, "confidence", m->confidence);
    kr_put_given(b, "method", m->contract_method);
    kr_put_given(b, "declared", m->contract_declared);
    put_extra(b, m->contract_extra);
    kr_buf_puts(b, "}");
}

static void put_sources(kr_buf *b, const kr_calib_meta *m) {
    for (size_t i = 0; i < m->n_sources; i++) {
        kr_buf_puts(b, i == 0 ? ",\"sources\":[{\"path\":" : ",{\"path\":");
        kr_json_put_string(b, m->sources[i].path != NULL ? m->sources[i].path : "");
        kr_put_given(b, "sha256", m->sources[i].sha256);
        kr_put_given(b, "role", m->sources[i].role);
        kr_buf_puts(b, i + 1 == m->n_sources ? "}]" : "}");
    }
}

static void put_counts(kr_buf *b, const kr_calib_meta *m) {
    kr_put_dec(b, "tolerance", m->counts_tolerance);
    kr_put_int(b, "n", m->counts_n);
    if (m->counts_test_n > 0)
        kr_put_int(b, "test_n", m->counts_test_n);
    if (m->counts_tasks > 0)
        kr_put_int(b, "tasks", m->counts_tasks);
    if (m->partial)
        kr_buf_puts(b, ",\"sequence\":\"partial\"");
}

static void put_header(kr_buf *b, const kr_calib *c) {
    const kr_calib_meta *m = kr_calib_meta_of(c);
    bool counts = m->kind == KR_KIND_COUNTS;
    kr_buf_printf(b, "{\"kvrisk\":1,\"kind\":\"%s\"", counts ? "counts" : "calibration");
    kr_put_given(b, "name", m->name);
    kr_put_given(b, "model", m->model);
    kr_put_given(b, "benchmark", m->benchmark);
    kr_put_given(b, "scorer", m->scorer);
    kr_put_given(b, "protocol", m->protocol);
    kr_put_given(b, "source", m->source);
    if (counts) {
        put_counts(b, m);
    } else {
        kr_buf_puts(b, ",\"utility\":{\"min\":");
        put_nano(b, m->utility_min);
        kr_buf_puts(b, ",\"max\":");
        put_nano(b, m->utility_max);
        kr_buf_printf(b, "},\"n\":%zu", kr_calib_rows(c));
    }
    if (m->has_kv)
        kr_buf_printf(b, ",\"kv\":{\"layers\":%lld,\"kv_heads\":%lld,\"head_dim\":%lld,\"bytes\":%lld}",
                      (long long)m->kv_layers, (long long)m->kv_heads, (long long)m->kv_head_dim,
                      (long long)m->kv_bytes);
    put_contract(b, m);
    for (size_t i = 0; i < kr_calib_tasks(c); i++) {
        kr_buf_puts(b, i == 0 ? ",\"tasks\":[" : ",");
        kr_json_put_string(b, kr_calib_task(c, i));
        if (i + 1 == kr_calib_tasks(c))
            kr_buf_puts(b, "]");
    }
    for (size_t i = 0; i < kr_calib_policies(c); i++) {
        kr_buf_puts(b, i == 0 ? ",\"policies\":[" : ",");
        put_policy(b, kr_calib_policy(c, i));
    }
    kr_buf_puts(b, "]");
    put_sources(b, m);
    kr_put_given(b, "note", m->note);
    put_extra(b, m->extra);
    kr_buf_puts(b, "}\n");
}

static void put_row(kr_buf *b, const kr_calib *c, size_t row) {
    kr_request q = kr_calib_row(c, row);
    kr_buf_puts(b, "{\"id\":");
    kr_json_put_string(b, q.id);
    kr_buf_puts(b, ",\"task\":");
    kr_json_put_string(b, kr_calib_task(c, q.task));
    if (q.split == KR_SPLIT_TEST)
        kr_buf_puts(b, ",\"split\":\"test\"");
    if (q.tokens >= 0)
        kr_put_int(b, "tokens", q.tokens);
    kr_put_given(b, "cluster", q.cluster);
    kr_buf_puts(b, ",\"full\":");
    put_nano(b, q.full);
    if (q.full2 != KR_NO_RUN) {
        kr_buf_puts(b, ",\"full2\":");
        put_nano(b, q.full2);
    }
    for (size_t j = 0; j < kr_calib_policies(c); j++) {
        kr_buf_puts(b, j == 0 ? ",\"utility\":[" : ",");
        put_nano(b, kr_calib_utility(c, row, j));
    }
    kr_buf_puts(b, "]");
    put_extra(b, q.extra);
    kr_buf_puts(b, "}\n");
}

kr_status kr_calib_save(const kr_calib *c, const char *path, bool replace, kr_error *err) {
    kr_writer *w;
    kr_buf b = {0};
    kr_status st = kr_writer_open(path, replace, &w, err);
    if (st != KR_OK)
        return st;
    put_header(&b, c);
    kr_writer_add(w, kr_buf_text(&b), b.len);
    for (size_t i = 0; i < kr_calib_rows(c) && !b.failed; i++) {
        b.len = 0;
        put_row(&b, c, i);
        kr_writer_add(w, kr_buf_text(&b), b.len);
    }
    bool failed = b.failed;
    kr_buf_free(&b);
    if (failed) {
        kr_writer_abort(w);
        return kr_fail(err, KR_ENOMEM, "out of memory");
    }
    return kr_writer_commit(w, err);
}
