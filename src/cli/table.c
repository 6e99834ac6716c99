#include "cli/table.h"

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

void kr_cli_point_csv(const kr_calib *c, size_t method, kr_contract k, const kr_point *p,
                      kr_buf *b) {
    kr_json_put_dec(b, k.tolerance);
    kr_buf_puts(b, ",");
    kr_json_put_dec(b, k.risk);
    kr_buf_puts(b, ",");
    kr_json_put_dec(b, k.confidence);
    kr_buf_puts(b, ",");
    kr_csv_field(b, kr_calib_method(c, method)->name);
    kr_buf_puts(b, p->certified >= 0 ? ",certified," : ",fallback,");
    put_share(b, c, method, p->certified, "");
    kr_buf_puts(b, ",");
    put_threshold(b, c, method, p->certified, "");
    kr_buf_puts(b, ",");
    if (p->certified >= 0)
        kr_buf_printf(b, "%lld", (long long)p->certified_events);
    kr_buf_printf(b, ",%lld,", (long long)p->max_events);
    put_share(b, c, method, p->empirical, "");
    kr_buf_puts(b, ",");
    put_threshold(b, c, method, p->empirical, "");
    kr_buf_puts(b, "\n");
}

void kr_cli_point_json(const kr_calib *c, size_t method, kr_contract k, const kr_point *p,
                       kr_buf *b) {
    kr_buf_puts(b, "{\"tolerance\":");
    kr_json_put_dec(b, k.tolerance);
    kr_buf_puts(b, ",\"risk\":");
    kr_json_put_dec(b, k.risk);
    kr_buf_puts(b, ",\"confidence\":");
    kr_json_put_dec(b, k.confidence);
    kr_buf_puts(b, ",\"method\":");
    kr_json_put_string(b, kr_calib_method(c, method)->name);
    kr_buf_printf(b, ",\"decision\":\"%s\",\"retention\":",
                  p->certified >= 0 ? "certified" : "fallback");
    put_share(b, c, method, p->certified, "null");
    kr_buf_puts(b, ",\"threshold\":");
    put_threshold(b, c, method, p->certified, "null");
    if (p->certified >= 0)
        kr_buf_printf(b, ",\"events\":%lld", (long long)p->certified_events);
    else
        kr_buf_puts(b, ",\"events\":null");
    kr_buf_printf(b, ",\"max_events\":%lld,\"empirical\":{\"retention\":", (long long)p->max_events);
    put_share(b, c, method, p->empirical, "null");
    kr_buf_puts(b, ",\"threshold\":");
    put_threshold(b, c, method, p->empirical, "null");
    kr_buf_puts(b, "}}");
}
