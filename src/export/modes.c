#include "export/modes.h"

#include <math.h>
#include <stdlib.h>

#include "base/json.h"
#include "export/context.h"
#include "verdict/joint.h"

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

/* What the claim was made with: only what this mode uses. */
static void put_parameters(const kr_analysis *a, const kr_mode *mode, kr_buf *b) {
    const kr_calib *c = kr_analysis_calib(a);
    kr_contract at = kr_analysis_contract(a);
    bool weighed = mode->kind == KR_MODE_MIXTURE || mode->kind == KR_MODE_SUBSAMPLE;
    if (mode->kind > KR_MODE_EVENTS && mode->kind < KR_MODE_MIXTURE) {
        kr_buf_puts(b, ",\"delta\":");
        kr_json_put_dec(b, kr_joint_delta(a, mode->kind, NULL));
        bool judged = kr_joint_contract(a, mode->kind, &at);
        kr_buf_puts(b, ",\"judged_at\":");
        if (judged) {
            kr_buf_puts(b, "{\"tolerance\":");
            kr_json_put_dec(b, at.tolerance);
            kr_buf_puts(b, ",\"risk\":");
            kr_json_put_dec(b, at.risk);
        }
        kr_buf_puts(b, judged ? "}" : "null");
    }
    kr_ratio *w = weighed ? malloc((kr_calib_tasks(c) + 1) * sizeof *w) : NULL;
    if (w != NULL) {
        kr_mode_weights(a, mode, w);
        kr_buf_puts(b, ",\"weights\":");
        kr_export_weights(c, w, b);
        free(w);
    }
    if (mode->kind == KR_MODE_SUBSAMPLE || mode->kind == KR_MODE_CLUSTER_ONE)
        kr_buf_printf(b, ",\"seed\":%llu", (unsigned long long)mode->seed);
    if (mode->kind == KR_MODE_MEAN_DROP || mode->kind == KR_MODE_CLUSTER_MEAN)
        kr_buf_printf(b, ",\"mean\":\"%s\"",
                      kr_mean_name(mode->kind == KR_MODE_MEAN_DROP ? kr_mode_mean(a, mode) : KR_MEAN_HB));
}

static void put_candidates(const kr_analysis *a, const kr_mode *mode, size_t method,
                           const kr_mode_candidate *each, kr_buf *b) {
    const kr_calib *c = kr_analysis_calib(a);
    kr_buf_puts(b, ",\"candidates\":[");
    for (size_t j = 0; j < kr_calib_method(c, method)->count; j++) {
        kr_buf_puts(b, j > 0 ? ",{" : "{");
        put_level(b, c, method, (int)j);
        kr_put_count(b, "events", each[j].events);
        kr_put_double(b, "p_value", each[j].p);
        kr_put_double(b, "upper_bound", each[j].bound);
        if (mode->kind == KR_MODE_TOLERANCES)
            kr_put_double(b, "tolerance_bound", each[j].tolerance);
        kr_buf_printf(b, ",\"verdict\":\"%s\"}", kr_verdict_name(each[j].verdict));
    }
    kr_buf_puts(b, "]");
}

kr_status kr_export_mode(kr_analysis *a, const kr_mode *mode, size_t method, kr_mode_line *line,
                         kr_buf *b, kr_error *err) {
    const kr_calib *c = kr_analysis_calib(a);
    kr_mode_candidate *each = malloc((kr_calib_method(c, method)->count + 1) * sizeof *each);
    kr_mode_line l;
    kr_status st = each == NULL ? kr_fail(err, KR_ENOMEM, "out of memory")
                                : kr_mode_candidates(a, mode, method, &l, each, err);
    if (st != KR_OK) {
        free(each);
        return st;
    }
    kr_buf text = {0};
    kr_buf_printf(b, "{\"mode\":\"%s\",\"method\":", kr_mode_name(mode->kind));
    kr_json_put_string(b, kr_calib_method(c, method)->name);
    kr_buf_printf(b, ",\"state\":\"%s\",\"status\":\"%s\",\"decision\":\"%s\",",
                  kr_state_name(l.state), kr_verdict_status_name(l.status),
                  l.certified >= 0 ? "certified" : "fallback");
    put_level(b, c, method, l.certified);
    kr_put_double(b, "level", l.level);
    kr_buf_printf(b, ",\"n\":%lld,\"max_events\":%lld", (long long)l.n, (long long)l.max_events);
    kr_put_count(b, "events", l.events);
    kr_put_double(b, "p_value", l.p_certified);
    kr_put_double(b, "upper_bound", l.certified >= 0 ? each[l.certified].bound : NAN);
    put_parameters(a, mode, b);
    kr_buf_puts(b, ",\"statement\":");
    kr_mode_sentence(a, mode, method, &l, &text);
    kr_json_put_string(b, kr_buf_text(&text));
    kr_buf_free(&text);
    put_candidates(a, mode, method, each, b);
    kr_export_room(a, mode, method, b);
    kr_buf_puts(b, "}");
    free(each);
    *line = l;
    return KR_OK;
}

void kr_export_modes(kr_analysis *a, size_t method, kr_buf *b) {
    kr_mode_kind declared = kr_analysis_declared(a)->mode;
    size_t shown = 0;
    kr_buf_puts(b, ",\"modes\":[");
    for (int k = KR_MODE_TOLERANCES; k < KR_MODES; k++) {
        kr_mode mode = kr_mode_default(a, (kr_mode_kind)k);
        kr_mode_line l;
        kr_buf one = {0};
        if ((k < KR_MODE_MIXTURE || (kr_mode_kind)k == declared) &&
            kr_export_mode(a, &mode, method, &l, &one, NULL) == KR_OK) {
            kr_buf_puts(b, shown++ > 0 ? "," : "");
            kr_buf_puts(b, kr_buf_text(&one));
        }
        kr_buf_free(&one);
    }
    kr_buf_puts(b, "]");
}
