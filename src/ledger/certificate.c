/* certificate.c - what a confirmation exports, and whether an export still agrees with its ledger. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "export/certificate.h"
#include "ledger/study.h"

static void put_dec(kr_buf *b, const char *key, kr_dec v) {
    kr_buf_printf(b, ",\"%s\":", key);
    kr_json_put_dec(b, v);
}

void kr_confirmation_json(kr_confirmation *c, kr_buf *out) {
    kr_buf b = {0};
    kr_export_point(c->a, c->method, NULL, &b);
    while (b.len > 0 && (b.s[b.len - 1] == '\n' || b.s[b.len - 1] == '}'))
        if (b.s[--b.len] == '}')
            break;
    kr_buf_add(out, kr_buf_text(&b), b.len);
    kr_buf_free(&b);
    kr_buf_printf(out, ",\"ledger\":{\"entries\":%zu,\"head\":\"%s\",\"lock\":%lld,\"locked\":\"%s\","
                       "\"look\":%lld,\"looks\":%lld,\"rerun\":%s,\"exploratory\":%s,\"rows\":%lld,"
                       "\"rows_sha256\":\"%s\",\"outcomes_sha256\":\"%s\",\"order_sha256\":\"%s\"",
                  c->entries, c->head, (long long)c->lock.number, c->lock.time,
                  (long long)c->entry.look, (long long)c->lock.looks, c->rerun ? "true" : "false",
                  c->exploratory ? "true" : "false", (long long)c->entry.tested_rows, c->entry.rows,
                  c->entry.outcomes, c->lock.order);
    put_dec(out, "delta", c->entry.delta);
    put_dec(out, "delta_sum", c->delta_sum);
    put_dec(out, "budget", c->budget.budget);
    put_dec(out, "budget_spent", c->budget.spent);
    put_dec(out, "budget_held", c->budget.held);
    put_dec(out, "budget_left", c->budget.left);
    kr_buf_puts(out, "}}\n");
}

typedef struct {
    int64_t entries;
    char *head;
} stamp;

static void read_stamp(kr_json *j, stamp *s) {
    kr_span key;
    for (kr_json_iter it = kr_json_enter(j, '{'); kr_json_member(j, &it, &key);) {
        if (kr_span_is(key, "entries"))
            kr_json_int(j, 1, KR_LEDGER_ENTRIES_MAX, &s->entries);
        else if (kr_span_is(key, "head") && s->head == NULL)
            s->head = kr_json_string_copy(j);
        else
            kr_json_skip(j, NULL);
    }
}

kr_status kr_study_verify(const kr_study *s, const char *certificate, kr_error *err) {
    char *text = NULL;
    size_t len = 0;
    stamp w = {0, NULL};
    kr_span key;
    kr_status st = kr_file_read(certificate, (size_t)64 << 20, &text, &len, err);
    if (st != KR_OK)
        return st;
    kr_json j = kr_json_open(text, len, certificate, 1, err);
    for (kr_json_iter it = kr_json_enter(&j, '{'); kr_json_member(&j, &it, &key);)
        if (kr_span_is(key, "ledger"))
            read_stamp(&j, &w);
        else
            kr_json_skip(&j, NULL);
    if (j.failed)
        st = KR_EFORMAT;
    else if (w.head == NULL || w.entries < 1)
        st = kr_fail(err, KR_EFORMAT, "%s was not made by kvrisk confirm", certificate);
    else if (w.entries > (int64_t)s->ledger.n ||
             strcmp(s->ledger.entry[w.entries - 1].hash, w.head) != 0)
        st = kr_fail(err, KR_EFORMAT, "%s rests on entry %lld of a ledger, which is not the one in %s: "
                                      "the ledger was cut short, edited or exchanged",
                     certificate, (long long)w.entries, s->path);
    free(w.head);
    free(text);
    return st;
}
