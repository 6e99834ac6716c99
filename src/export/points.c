#include "export/points.h"

#include <math.h>

#include "base/json.h"
#include "export/certificate.h"

static void put_share(kr_buf *b, const kr_calib *c, size_t method, int index, const char *none) {
    const kr_policy *p =
        index < 0 ? NULL : kr_calib_policy(c, kr_calib_method(c, method)->first + (size_t)index);
    double share = kr_share_kept(c, method, index);
    if (p == NULL)
        kr_buf_puts(b, "1.0");
    else if (p->has_retention)
        kr_json_put_dec(b, p->retention);
    else if (isfinite(share))
        kr_json_put_double(b, share);
    else
        kr_buf_puts(b, none);
}

static void put_threshold(kr_buf *b, const kr_calib *c, size_t method, int index,
                          const char *none) {
    const kr_policy *p =
        index < 0 ? NULL : kr_calib_policy(c, kr_calib_method(c, method)->first + (size_t)index);
    if (p != NULL && p->has_threshold)
        kr_json_put_dec(b, p->threshold);
    else
        kr_buf_puts(b, none);
}

static bool same_contract(kr_contract x, kr_contract y) {
    return kr_dec_cmp(x.tolerance, y.tolerance) == 0 && kr_dec_cmp(x.risk, y.risk) == 0 &&
           kr_dec_cmp(x.confidence, y.confidence) == 0;
}

kr_status kr_export_cell_make(kr_analysis *a, kr_mode_kind kind, size_t method, kr_contract k,
                            kr_export_cell *out, kr_error *err) {
    kr_export_cell p = {.method = method, .k = k, .state = KR_STATE_WHAT_IF};
    kr_status st = kr_analysis_at(a, method, k, &p.point, err);
    if (st == KR_OK)
        st = kr_joint_at(a, kind, method, k, &p.joint, err);
    p.joint_state = kr_joint_state(a, kind, method, k);
    if (st == KR_OK && same_contract(k, kr_analysis_contract(a)))
        p.state = kr_analysis_line_state(a, method);
    if (kr_analysis_state(a) == KR_STATE_REFUSED)
        p.state = KR_STATE_REFUSED;
    else if (st == KR_OK && p.point.max_events < 0)
        p.state = KR_STATE_N_TOO_SMALL;
    if (st == KR_OK)
        *out = p;
    return st;
}

void kr_export_cell_csv(const kr_calib *c, const kr_export_cell *x, kr_buf *b) {
    const kr_point *p = &x->point;
    kr_json_put_dec(b, x->k.tolerance);
    kr_buf_puts(b, ",");
    kr_json_put_dec(b, x->k.risk);
    kr_buf_puts(b, ",");
    kr_json_put_dec(b, x->k.confidence);
    kr_buf_puts(b, ",");
    kr_csv_field(b, kr_calib_method(c, x->method)->name);
    kr_buf_puts(b, p->certified >= 0 ? ",certified," : ",fallback,");
    put_share(b, c, x->method, p->certified, "");
    kr_buf_puts(b, ",");
    put_threshold(b, c, x->method, p->certified, "");
    kr_buf_puts(b, ",");
    if (p->certified >= 0)
        kr_buf_printf(b, "%lld", (long long)p->certified_events);
    kr_buf_printf(b, ",%lld,", (long long)p->max_events);
    put_share(b, c, x->method, p->empirical, "");
    kr_buf_puts(b, ",");
    put_threshold(b, c, x->method, p->empirical, "");
    kr_buf_printf(b, ",%s,", kr_state_name(x->state));
    put_share(b, c, x->method, x->joint.certified, "");
    kr_buf_puts(b, ",");
    put_threshold(b, c, x->method, x->joint.certified, "");
    kr_buf_printf(b, ",%lld,%s,%s\n", (long long)x->joint.max_events,
                  kr_state_name(x->joint_state), kr_calib_sha256(c));
}

void kr_export_cell_json(const kr_calib *c, const kr_export_cell *x, kr_buf *b) {
    const kr_point *p = &x->point;
    kr_buf_puts(b, "{\"tolerance\":");
    kr_json_put_dec(b, x->k.tolerance);
    kr_buf_puts(b, ",\"risk\":");
    kr_json_put_dec(b, x->k.risk);
    kr_buf_puts(b, ",\"confidence\":");
    kr_json_put_dec(b, x->k.confidence);
    kr_buf_puts(b, ",\"method\":");
    kr_json_put_string(b, kr_calib_method(c, x->method)->name);
    kr_buf_printf(b, ",\"state\":\"%s\",\"decision\":\"%s\",\"retention\":", kr_state_name(x->state),
                  p->certified >= 0 ? "certified" : "fallback");
    put_share(b, c, x->method, p->certified, "null");
    kr_buf_puts(b, ",\"threshold\":");
    put_threshold(b, c, x->method, p->certified, "null");
    if (p->certified >= 0)
        kr_buf_printf(b, ",\"events\":%lld", (long long)p->certified_events);
    else
        kr_buf_puts(b, ",\"events\":null");
    kr_buf_printf(b, ",\"max_events\":%lld,\"empirical\":{\"retention\":", (long long)p->max_events);
    put_share(b, c, x->method, p->empirical, "null");
    kr_buf_puts(b, ",\"threshold\":");
    put_threshold(b, c, x->method, p->empirical, "null");
    kr_buf_printf(b, "},\"joint\":{\"state\":\"%s\",\"decision\":\"%s\",\"retention\":",
                  kr_state_name(x->joint_state), x->joint.certified >= 0 ? "certified" : "fallback");
    put_share(b, c, x->method, x->joint.certified, "null");
    kr_buf_puts(b, ",\"threshold\":");
    put_threshold(b, c, x->method, x->joint.certified, "null");
    kr_buf_printf(b, ",\"max_events\":%lld}}", (long long)x->joint.max_events);
}
