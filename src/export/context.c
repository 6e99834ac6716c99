#include "export/context.h"

#include <math.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/json.h"
#include "verdict/noise.h"

static void put_nano(kr_buf *b, int64_t v) { kr_json_put_dec(b, kr_nano_dec(v)); }

static void put_ratio(kr_buf *b, kr_ratio r) {
    if (kr_ratio_exact(r))
        kr_buf_printf(b, "\"%lld/%lld\"", (long long)r.num, (long long)r.den);
    else
        kr_json_put_double(b, r.value);
}

void kr_export_weights(const kr_calib *c, const kr_ratio *w, kr_buf *b) {
    kr_buf_puts(b, "[");
    for (size_t t = 0; t < kr_calib_tasks(c); t++) {
        kr_buf_puts(b, t > 0 ? ",{\"task\":" : "{\"task\":");
        kr_json_put_string(b, kr_calib_task(c, t));
        kr_buf_puts(b, ",\"weight\":");
        put_ratio(b, w[t]);
        kr_buf_puts(b, "}");
    }
    kr_buf_puts(b, "]");
}

static void put_strata(const kr_analysis *a, kr_buf *b) {
    const kr_calib *c = kr_analysis_calib(a);
    kr_split s = kr_analysis_options_of(a).split;
    kr_buf_puts(b, ",\"strata\":[");
    for (size_t t = 0; t < kr_calib_tasks(c); t++) {
        kr_buf_puts(b, t > 0 ? ",{\"task\":" : "{\"task\":");
        kr_json_put_string(b, kr_calib_task(c, t));
        int64_t n = kr_calib_task_n(c, s, t);
        kr_buf_printf(b, ",\"n\":%lld,\"weight\":", (long long)n);
        put_ratio(b, kr_ratio_make(n, kr_analysis_n(a)));
        kr_buf_puts(b, "}");
    }
    kr_buf_puts(b, "]");
}

static void put_dependence(const kr_analysis *a, kr_buf *b) {
    kr_analysis_options o = kr_analysis_options_of(a);
    int64_t shared = kr_calib_cluster_repeats(kr_analysis_calib(a), o.split);
    kr_buf_printf(b, ",\"dependence\":{\"shared_clusters\":%lld,\"repeated_prompts\":%lld,"
                     "\"assumed_independent\":%s}",
                  (long long)shared, (long long)kr_analysis_repeats(a)->repeats,
                  o.assume_independent && kr_analysis_dependent(a) ? "true" : "false");
}

/* One line per candidate of every method, in their order: "method<TAB>level". */
static void put_order(const kr_analysis *a, kr_buf *b) {
    const kr_calib *c = kr_analysis_calib(a);
    kr_buf text = {0};
    char hash[KR_SHA256_HEX], t[KR_DEC_TEXT];
    for (size_t m = 0; m < kr_calib_methods(c); m++)
        for (size_t j = 0; j < kr_calib_method(c, m)->count; j++) {
            const kr_policy *p = kr_calib_policy(c, kr_calib_method(c, m)->first + j);
            kr_buf_printf(&text, "%s\t%s\n", kr_calib_method(c, m)->name,
                          p->has_retention   ? kr_dec_text(p->retention, t)
                          : p->has_threshold ? kr_dec_text(p->threshold, t)
                                             : "?");
        }
    kr_buf_printf(b, ",\"order\":{\"methods\":%zu,\"candidates\":%zu,\"sha256\":", kr_calib_methods(c),
                  kr_calib_policies(c));
    if (text.failed || kr_sha256(kr_buf_text(&text), text.len, hash, NULL) != KR_OK)
        kr_buf_puts(b, "null}");
    else
        kr_buf_printf(b, "\"%s\"}", hash);
    kr_buf_free(&text);
}

static void put_procedure(const kr_analysis *a, size_t method, kr_buf *b) {
    kr_contract k = kr_analysis_contract(a);
    kr_level level = kr_analysis_line_limits(a, method)->level;
    size_t methods = kr_calib_methods(kr_analysis_calib(a));
    kr_dec delta = kr_contract_delta(&k);
    kr_buf_printf(b, ",\"procedure\":{\"name\":\"%s\",\"delta\":",
                  kr_analysis_family(a) ? "parallel_chains" : "fixed_sequence");
    kr_json_put_dec(b, delta);
    kr_buf_puts(b, ",\"level\":");
    put_ratio(b, kr_ratio_level(level));
    if (kr_analysis_family(a))
        kr_buf_printf(b, ",\"start_share\":\"1/%zu\",\"final_share\":", methods);
    if (kr_analysis_family(a))
        put_ratio(b, kr_ratio_div(kr_ratio_level(level), kr_ratio_dec(delta)));
    kr_buf_puts(b, ",\"edges\":\"each candidate to the next of its method");
    if (kr_analysis_family(a))
        kr_buf_puts(b, "; the last to the first of every other method in equal parts");
    kr_buf_puts(b, "\",\"selection\":\"last candidate that passed, else full KV\"}");
}

static const char *const caveats[] = {
    "No claim for a single task or request; the intervals of tasks are a diagnosis.",
    "The population is the calibration one: no claim under drift, for new tasks, another model, prompt "
    "template or longer contexts.",
    "If decoding is not deterministic the claim is about the risk averaged over decoding noise, in the same "
    "setting; decoding again until it passes is selection, and full KV then has a risk of its own.",
    "Requests decoded in one batch may depend on each other where outputs depend on the batch.",
    "The tolerance hides size: a drop just above it and the largest one count the same.",
    "events/n of a selected policy under-states its risk; its upper limit is pointwise.",
};

static void put_caveats(kr_buf *b) {
    kr_buf_puts(b, ",\"caveats\":[");
    for (size_t i = 0; i < sizeof caveats / sizeof *caveats; i++) {
        kr_buf_puts(b, i > 0 ? "," : "");
        kr_json_put_string(b, caveats[i]);
    }
    kr_buf_puts(b, "]");
}

static void warn(kr_buf *b, size_t *shown, const char *text) {
    kr_buf_puts(b, (*shown)++ > 0 ? "," : "");
    kr_json_put_string(b, text);
}

static void put_warnings(const kr_analysis *a, size_t method, kr_buf *b) {
    const kr_calib *c = kr_analysis_calib(a);
    kr_analysis_options o = kr_analysis_options_of(a);
    kr_noise f = kr_noise_floor(a);
    kr_buf t = {0};
    size_t shown = 0;
    kr_buf_puts(b, ",\"warnings\":[");
    if (kr_analysis_line_state(a, method) != KR_STATE_LOCKED) {
        kr_line_state_sentence(a, method, &t);
        warn(b, &shown, kr_buf_text(&t));
    }
    if (o.assume_independent && kr_analysis_dependent(a))
        warn(b, &shown, "Requests share clusters or prompts and are assumed independent, as asserted.");
    if (kr_tolerance_says_nothing(c, kr_analysis_contract(a).tolerance))
        warn(b, &shown, "No drop within the range of utilities exceeds the tolerance: only missing results are "
                        "events.");
    if (kr_analysis_missing(a) > 0) {
        t.len = 0;
        kr_buf_printf(&t, "%lld requests have a missing utility somewhere; each such result counts as a "
                          "degradation event.", (long long)kr_analysis_missing(a));
        warn(b, &shown, kr_buf_text(&t));
    }
    if (kr_analysis_repeats(a)->across)
        warn(b, &shown, "Some prompts are in the cal and the test split: the test results are not those of "
                        "new requests.");
    if (kr_calib_meta_of(c)->kind == KR_KIND_CALIBRATION && !kr_calib_task_uniform(c, o.split))
        warn(b, &shown, "Tasks have unequal numbers of requests: the claim is about the mixture as sampled.");
    if (f.known && (f.hopeless || f.upper > kr_dec_double(kr_analysis_contract(a).risk))) {
        t.len = 0;
        kr_noise_sentence(a, &f, &t);
        warn(b, &shown, kr_buf_text(&t));
    }
    kr_buf_puts(b, "]");
    kr_buf_free(&t);
}

void kr_export_context(const kr_analysis *a, size_t method, kr_buf *b) {
    const kr_calib_meta *m = kr_calib_meta_of(kr_analysis_calib(a));
    if (m->kind == KR_KIND_CALIBRATION) {
        kr_buf_puts(b, ",\"utility\":{\"min\":");
        put_nano(b, m->utility_min);
        kr_buf_puts(b, ",\"max\":");
        put_nano(b, m->utility_max);
        kr_buf_puts(b, "}");
    } else {
        kr_buf_puts(b, ",\"utility\":null");
    }
    put_strata(a, b);
    put_dependence(a, b);
    put_order(a, b);
    put_procedure(a, method, b);
    put_caveats(b);
    put_warnings(a, method, b);
}

static void put_list(const kr_calib *c, const kr_task_row *rows, bool upper, kr_buf *b) {
    size_t shown = 0;
    kr_buf_puts(b, "[");
    for (size_t t = 0; t < kr_calib_tasks(c); t++) {
        bool in = upper ? rows[t].flag != KR_TASK_OK : rows[t].flag == KR_TASK_VIOLATES;
        if (!in)
            continue;
        kr_buf_puts(b, shown++ > 0 ? "," : "");
        kr_json_put_string(b, kr_calib_task(c, t));
    }
    kr_buf_puts(b, "]");
}

static void put_task(const kr_calib *c, const kr_task_row *r, kr_buf *b) {
    kr_buf_puts(b, "{\"task\":");
    kr_json_put_string(b, kr_calib_task(c, r->task));
    kr_buf_printf(b, ",\"n\":%lld,\"events\":%lld,\"missing\":%lld,\"lower\":", (long long)r->n,
                  (long long)r->events, (long long)r->missing);
    kr_json_put_double(b, r->lower);
    kr_buf_puts(b, ",\"upper\":");
    kr_json_put_double(b, r->upper);
    kr_buf_printf(b, ",\"flag\":\"%s\"}", kr_task_flag_name(r->flag));
}

void kr_export_tasks(kr_analysis *a, size_t method, kr_buf *b) {
    const kr_calib *c = kr_analysis_calib(a);
    const kr_line *l = kr_analysis_line(a, method);
    kr_task_row *rows = malloc((kr_calib_tasks(c) + 1) * sizeof *rows);
    size_t policy = kr_calib_method(c, method)->first + (size_t)(l->certified < 0 ? 0 : l->certified);
    if (rows == NULL || l->certified < 0 || kr_analysis_tasks(a, policy, rows, NULL) != KR_OK) {
        kr_buf_puts(b, ",\"tasks\":null,\"violating_tasks\":null,\"not_shown_tasks\":null");
        free(rows);
        return;
    }
    kr_buf_puts(b, ",\"tasks\":[");
    for (size_t t = 0; t < kr_calib_tasks(c); t++) {
        kr_buf_puts(b, t > 0 ? "," : "");
        put_task(c, &rows[t], b);
    }
    kr_buf_puts(b, "],\"violating_tasks\":");
    put_list(c, rows, false, b);
    kr_buf_puts(b, ",\"not_shown_tasks\":");
    put_list(c, rows, true, b);
    free(rows);
}

static void put_move(const kr_calib *c, const kr_room *r, size_t task, kr_buf *b) {
    kr_buf_puts(b, "{\"task\":");
    kr_json_put_string(b, kr_calib_task(c, task));
    kr_buf_puts(b, ",\"declared\":");
    kr_json_put_double(b, r->reach[task]);
    kr_buf_puts(b, ",\"after_looking\":");
    kr_json_put_double(b, isnan(r->later) ? NAN : r->reach_later[task]);
    kr_buf_puts(b, "}");
}

void kr_export_room(kr_analysis *a, const kr_mode *mode, size_t method, kr_buf *b) {
    const kr_calib *c = kr_analysis_calib(a);
    kr_room r;
    bool have = kr_mode_room(a, mode, method, &r, NULL) == KR_OK;
    if (!have || isnan(r.growth)) {
        kr_buf_puts(b, ",\"room\":null");
    } else {
        kr_buf_puts(b, ",\"room\":{\"growth_declared\":");
        kr_json_put_double(b, r.growth);
        kr_buf_puts(b, ",\"growth_after_looking\":");
        kr_json_put_double(b, r.later);
        kr_buf_puts(b, ",\"moves\":[");
        for (size_t t = 0; t < kr_calib_tasks(c); t++) {
            kr_buf_puts(b, t > 0 ? "," : "");
            put_move(c, &r, t, b);
        }
        kr_buf_puts(b, "]}");
    }
    if (have)
        kr_room_free(&r);
}
