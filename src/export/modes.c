#include "export/modes.h"

#include <math.h>

#include "base/json.h"

static void put_level(kr_buf *b, const kr_calib *c, size_t method, int index) {
    double share = kr_share_kept(c, method, index);
    const kr_policy *p =
        index < 0 ? NULL : kr_calib_policy(c, kr_calib_method(c, method)->first + (size_t)index);
    kr_buf_puts(b, "\"retention\":");
    if (p != NULL && p->has_retention)
        kr_json_put_dec(b, p->retention);
    else
        kr_json_put_double(b, share);
    kr_buf_puts(b, ",\"threshold\":");
    if (p != NULL && p->has_threshold)
        kr_json_put_dec(b, p->threshold);
    else
        kr_buf_puts(b, "null");
}

void kr_export_mode(const kr_analysis *a, const kr_mode *mode, size_t method,
                    const kr_mode_line *l, kr_buf *b) {
    const kr_calib *c = kr_analysis_calib(a);
    kr_buf text = {0};
    kr_buf_printf(b, "{\"mode\":\"%s\",\"method\":", kr_mode_name(mode->kind));
    kr_json_put_string(b, kr_calib_method(c, method)->name);
    kr_buf_printf(b, ",\"state\":\"%s\",\"status\":\"%s\",\"decision\":\"%s\",",
                  kr_state_name(l->state), kr_verdict_status_name(l->status),
                  l->certified >= 0 ? "certified" : "fallback");
    put_level(b, c, method, l->certified);
    kr_buf_puts(b, ",\"level\":");
    kr_json_put_double(b, l->level);
    kr_buf_printf(b, ",\"n\":%lld,\"max_events\":%lld,\"events\":", (long long)l->n,
                  (long long)l->max_events);
    if (l->events >= 0)
        kr_buf_printf(b, "%lld", (long long)l->events);
    else
        kr_buf_puts(b, "null");
    kr_buf_puts(b, ",\"p_value\":");
    kr_json_put_double(b, l->p_certified);
    kr_buf_puts(b, ",\"upper_bound\":");
    kr_json_put_double(b, l->bound);
    kr_buf_puts(b, ",\"statement\":");
    kr_mode_sentence(a, mode, method, l, &text);
    kr_json_put_string(b, kr_buf_text(&text));
    kr_buf_free(&text);
    kr_buf_puts(b, "}");
}

void kr_export_modes(kr_analysis *a, size_t method, kr_buf *b) {
    kr_mode_kind declared = kr_analysis_declared(a)->mode;
    size_t shown = 0;
    kr_buf_puts(b, ",\"modes\":[");
    for (int k = KR_MODE_TOLERANCES; k < KR_MODES; k++) {
        kr_mode mode = kr_mode_default(a, (kr_mode_kind)k);
        kr_mode_line l;
        if ((k >= KR_MODE_MIXTURE && (kr_mode_kind)k != declared) ||
            kr_mode_walk(a, &mode, method, &l, NULL) != KR_OK)
            continue;
        kr_buf_puts(b, shown++ > 0 ? "," : "");
        kr_export_mode(a, &mode, method, &l, b);
    }
    kr_buf_puts(b, "]");
}
