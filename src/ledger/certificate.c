/* certificate.c - what a confirmation exports. */
#include "base/json.h"
#include "export/certificate.h"
#include "ledger/study.h"
#include "verdict/joint.h"

/* What the table gives at one tolerance, with the counts it follows from. */
static void put_cell(kr_confirmation *c, kr_dec tolerance, kr_buf *b) {
    kr_contract k = kr_analysis_contract(c->a);
    const kr_method *m = kr_calib_method(c->c, c->method);
    const kr_policy *p = NULL;
    kr_point x;
    int64_t nano;
    k.tolerance = tolerance;
    kr_buf_puts(b, "{\"tolerance\":");
    kr_json_put_dec(b, tolerance);
    if (kr_joint_at(c->a, KR_MODE_TOLERANCES, c->method, k, &x, NULL) != KR_OK ||
        !kr_dec_nano(tolerance, &nano)) {
        kr_buf_puts(b, ",\"decision\":\"fallback\"}");
        return;
    }
    if (x.certified >= 0)
        p = kr_calib_policy(c->c, m->first + (size_t)x.certified);
    kr_buf_printf(b, ",\"state\":\"%s\",\"decision\":\"%s\",\"retention\":",
                  kr_state_name(kr_joint_state(c->a, KR_MODE_TOLERANCES, c->method, k)),
                  p != NULL ? "certified" : "fallback");
    kr_json_put_double(b, kr_share_kept(c->c, c->method, x.certified));
    kr_buf_puts(b, ",\"threshold\":");
    if (p != NULL && p->has_threshold)
        kr_json_put_dec(b, p->threshold);
    else
        kr_buf_puts(b, "null");
    kr_buf_puts(b, ",\"level\":");
    kr_json_put_double(b, kr_level_double(kr_joint_level(c->a, KR_MODE_TOLERANCES, c->method, k)));
    kr_buf_printf(b, ",\"max_events\":%lld,\"certified\":%d,\"events\":[", (long long)x.max_events,
                  x.certified + 1);
    for (size_t i = 0; i < m->count; i++)
        kr_buf_printf(b, "%s%lld", i > 0 ? "," : "",
                      (long long)kr_calib_events(c->c, m->first + i, KR_SPLIT_CAL, nano));
    kr_buf_puts(b, "]}");
}

static void put_table(kr_confirmation *c, kr_buf *b) {
    kr_buf_puts(b, ",\"table\":[");
    for (size_t i = 0; i < c->lock.n_tolerances; i++) {
        kr_buf_puts(b, i > 0 ? "," : "");
        put_cell(c, c->lock.tolerance[i], b);
    }
    kr_buf_puts(b, "]");
}

static void put_ledger(const kr_confirmation *c, kr_buf *b) {
    kr_buf_printf(b, ",\"ledger\":{\"entries\":%zu,\"head\":\"%s\",\"entry\":%lld,\"time\":\"%s\",\"lock\":%lld,"
                     "\"locked\":\"%s\",\"look\":%lld,\"looks\":%lld,\"look_sizes\":[",
                  c->entries, c->head, (long long)c->entry.number, c->entry.time,
                  (long long)c->lock.number, c->lock.time, (long long)c->entry.look,
                  (long long)c->lock.looks);
    for (size_t i = 0; i < c->lock.n_sizes; i++)
        kr_buf_printf(b, "%s%lld", i > 0 ? "," : "", (long long)c->lock.size[i]);
    kr_buf_printf(b, "],\"rerun\":%s,\"exploratory\":%s,"
                     "\"rows\":%lld,\"rows_sha256\":\"%s\",\"outcomes_sha256\":\"%s\","
                     "\"order_sha256\":\"%s\"",
                  c->rerun ? "true" : "false",
                  c->exploratory ? "true" : "false", (long long)c->entry.tested_rows, c->entry.rows,
                  c->entry.outcomes, c->lock.order);
    kr_buf_puts(b, ",\"state\":");
    kr_json_put_string(b, c->entry.state);
    kr_buf_puts(b, ",\"result\":");
    kr_json_put_string(b, c->entry.result);
    kr_put_dec(b, "delta", c->entry.delta);
    kr_put_dec(b, "delta_sum", c->delta_sum);
    kr_put_dec(b, "budget", c->budget.budget);
    kr_put_dec(b, "budget_spent", c->budget.spent);
    kr_put_dec(b, "budget_held", c->budget.held);
    kr_put_dec(b, "budget_left", c->budget.left);
    kr_buf_puts(b, "}");
}

void kr_confirmation_json(kr_confirmation *c, kr_buf *out) {
    kr_buf b = {0};
    kr_export_point(c->a, c->method, NULL, &b);
    while (b.len > 0 && (b.s[b.len - 1] == '\n' || b.s[b.len - 1] == '}'))
        if (b.s[--b.len] == '}')
            break;
    kr_buf_add(out, kr_buf_text(&b), b.len);
    kr_buf_free(&b);
    if (c->lock.n_tolerances > 0)
        put_table(c, out);
    put_ledger(c, out);
    kr_buf_puts(out, "}\n");
}
