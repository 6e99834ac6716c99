#include "export/certificate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "export/modes.h"
#include "verdict/noise.h"

static void key(kr_buf *b, const char *name) { kr_buf_printf(b, "\"%s\":", name); }

static void put_text(kr_buf *b, const char *name, const char *value) {
    key(b, name);
    if (value == NULL)
        kr_buf_puts(b, "null");
    else
        kr_json_put_string(b, value);
}

static void put_int(kr_buf *b, const char *name, int64_t v) {
    key(b, name);
    kr_buf_printf(b, "%lld", (long long)v);
}

/* A count that is not there is negative. */
static void put_count(kr_buf *b, const char *name, int64_t v) {
    if (v >= 0) {
        put_int(b, name, v);
    } else {
        key(b, name);
        kr_buf_puts(b, "null");
    }
}

static void put_double(kr_buf *b, const char *name, double v) {
    key(b, name);
    kr_json_put_double(b, v);
}

static void put_dec(kr_buf *b, const char *name, kr_dec v) {
    key(b, name);
    kr_json_put_dec(b, v);
}

static void comma(kr_buf *b) { kr_buf_puts(b, ","); }

static const kr_policy *candidate_policy(const kr_calib *c, size_t method, int index) {
    return index < 0 ? NULL
                     : kr_calib_policy(c, kr_calib_method(c, method)->first + (size_t)index);
}

/* Share kept (1 for full KV) and threshold (null without one) of a candidate. */
static void put_level(kr_buf *b, const kr_calib *c, size_t method, int index) {
    const kr_policy *p = candidate_policy(c, method, index);
    if (p == NULL) {
        kr_buf_puts(b, "\"retention\":1.0,\"threshold\":null");
        return;
    }
    if (p->has_retention)
        put_dec(b, "retention", p->retention);
    else if (p->has_mean)
        put_dec(b, "retention", p->mean_retained);
    else
        put_double(b, "retention", kr_share_kept(c, method, index));
    comma(b);
    if (p->has_threshold)
        put_dec(b, "threshold", p->threshold);
    else
        kr_buf_puts(b, "\"threshold\":null");
}

/* What was really kept, beside the nominal setting. */
static void put_realised(kr_buf *b, const kr_calib *c, size_t policy) {
    const kr_policy *p = kr_calib_policy(c, policy);
    double mean, min, max;
    if (p->has_mean)
        put_dec(b, "mean_retained", p->mean_retained);
    else if (kr_calib_realised(c, policy, &mean, &min, &max))
        put_dec(b, "mean_retained", kr_dec_from_double(mean, 9));
    else
        kr_buf_puts(b, "\"mean_retained\":null");
}

static void put_candidate(kr_buf *b, const kr_analysis *a, size_t method, size_t index) {
    const kr_calib *c = kr_analysis_calib(a);
    kr_candidate_row r = kr_analysis_candidate(a, method, index);
    kr_buf_puts(b, "{");
    put_level(b, c, method, (int)index);
    comma(b);
    put_realised(b, c, r.policy);
    comma(b);
    put_count(b, "events", r.events);
    comma(b);
    put_double(b, "rate", r.rate);
    comma(b);
    put_double(b, "p_value", r.p_value);
    comma(b);
    put_double(b, "upper_bound", r.upper_bound);
    comma(b);
    put_text(b, "verdict", kr_verdict_name(r.verdict));
    comma(b);
    put_int(b, "missing", r.missing);
    if (r.has_test) {
        kr_buf_puts(b, ",\"test\":{");
        put_int(b, "n", r.test_n);
        comma(b);
        put_int(b, "events", r.test_events);
        comma(b);
        put_double(b, "rate", r.test_rate);
        comma(b);
        put_double(b, "p_value", r.test_p_value);
        comma(b);
        put_double(b, "upper_bound", r.test_upper_bound);
        kr_buf_puts(b, "}");
    }
    kr_buf_puts(b, "}");
}

static void put_empirical(kr_buf *b, const kr_analysis *a, size_t method) {
    const kr_line *l = kr_analysis_line(a, method);
    const kr_calib *c = kr_analysis_calib(a);
    kr_buf_puts(b, "\"empirical\":{");
    put_level(b, c, method, l->empirical);
    comma(b);
    put_count(b, "events", l->empirical_events);
    comma(b);
    put_double(b, "rate", l->empirical_events < 0 ? NAN
                                                  : (double)l->empirical_events /
                                                        (double)kr_analysis_n(a));
    comma(b);
    key(b, "certified");
    kr_buf_puts(b, l->empirical < 0 ? "null" : l->empirical_certified ? "true" : "false");
    kr_buf_puts(b, "}");
}

/* The fields of one method, without braces. */
static void put_method(kr_buf *b, const kr_analysis *a, size_t method) {
    const kr_calib *c = kr_analysis_calib(a);
    const kr_line *l = kr_analysis_line(a, method);
    bool certified = l->certified >= 0;
    put_text(b, "method", kr_calib_method(c, method)->name);
    comma(b);
    put_text(b, "state", kr_state_name(kr_analysis_line_state(a, method)));
    comma(b);
    put_text(b, "status", kr_verdict_status_name(l->status));
    comma(b);
    put_text(b, "decision", certified ? "certified" : "fallback");
    comma(b);
    put_level(b, c, method, l->certified);
    comma(b);
    kr_candidate_row r = {.events = -1, .rate = NAN, .p_value = NAN, .upper_bound = NAN};
    if (certified)
        r = kr_analysis_candidate(a, method, (size_t)l->certified);
    put_count(b, "events", r.events);
    comma(b);
    put_int(b, "n", kr_analysis_n(a));
    comma(b);
    put_int(b, "max_events", l->max_events);
    comma(b);
    put_double(b, "level", kr_level_double(kr_analysis_line_limits(a, method)->level));
    comma(b);
    put_double(b, "rate", r.rate);
    comma(b);
    put_double(b, "p_value", r.p_value);
    comma(b);
    put_double(b, "upper_bound", r.upper_bound);
    comma(b);
    kr_buf statement = {0};
    kr_statement(a, method, &statement);
    put_text(b, "statement", kr_buf_text(&statement));
    kr_buf_free(&statement);
    comma(b);
    put_empirical(b, a, method);
    kr_buf_puts(b, ",\"candidates\":[");
    for (size_t i = 0; i < kr_calib_method(c, method)->count; i++) {
        if (i > 0)
            comma(b);
        put_candidate(b, a, method, i);
    }
    kr_buf_puts(b, "]");
}

static void put_contract(kr_buf *b, const kr_analysis *a) {
    kr_contract k = kr_analysis_contract(a);
    kr_buf_puts(b, "\"contract\":{");
    put_dec(b, "tolerance", k.tolerance);
    comma(b);
    put_dec(b, "risk", k.risk);
    comma(b);
    put_dec(b, "confidence", k.confidence);
    comma(b);
    put_text(b, "source", kr_contract_source_name(kr_analysis_contract_source(a)));
    kr_buf_puts(b, "}");
}

static void put_common(kr_buf *b, const kr_analysis *a) {
    kr_analysis_options o = kr_analysis_options_of(a);
    kr_level level = kr_analysis_level(a);
    kr_buf text = {0};
    put_contract(b, a);
    comma(b);
    put_text(b, "state", kr_state_name(kr_analysis_state(a)));
    comma(b);
    kr_population_text(a, &text);
    put_text(b, "population", kr_buf_text(&text));
    comma(b);
    put_text(b, "split", o.split == KR_SPLIT_TEST ? "test" : "cal");
    comma(b);
    key(b, "assume_independent");
    kr_buf_puts(b, o.assume_independent ? "true" : "false");
    comma(b);
    put_int(b, "n", kr_analysis_n(a));
    comma(b);
    put_int(b, "missing", kr_analysis_missing(a));
    comma(b);
    put_int(b, "max_events", kr_analysis_max_events(a));
    comma(b);
    if (level.den == 1)
        put_dec(b, "level", level.num);
    else
        put_double(b, "level", kr_level_double(level));
    comma(b);
    key(b, "family");
    kr_buf_puts(b, kr_analysis_family(a) ? "true" : "false");
    kr_buf_free(&text);
}

/* The noise floor, where there is a second full-KV run. */
static void put_noise(kr_buf *b, const kr_analysis *a) {
    kr_noise f = kr_noise_floor(a);
    kr_buf t = {0};
    kr_buf_puts(b, ",\"noise_floor\":");
    if (!f.known) {
        kr_buf_puts(b, "null");
        return;
    }
    kr_buf_puts(b, "{");
    put_int(b, "n", f.n);
    comma(b);
    put_int(b, "events", f.events);
    comma(b);
    put_double(b, "rate", f.rate);
    comma(b);
    put_double(b, "lower", f.lower);
    comma(b);
    put_double(b, "upper", f.upper);
    comma(b);
    kr_noise_sentence(a, &f, &t);
    put_text(b, "statement", kr_buf_text(&t));
    kr_buf_puts(b, "}");
    kr_buf_free(&t);
}

void kr_export_certify(const kr_analysis *a, size_t method, kr_buf *b) {
    const kr_calib *c = kr_analysis_calib(a);
    kr_buf text = {0};
    kr_buf_puts(b, "{");
    put_int(b, "version", KR_EXPORT_VERSION);
    comma(b);
    put_common(b, a);
    comma(b);
    kr_overall_statement(a, &text);
    put_text(b, "statement", kr_buf_text(&text));
    kr_buf_free(&text);
    put_noise(b, a);
    kr_buf_puts(b, ",\"methods\":[");
    for (size_t i = 0, shown = 0; i < kr_calib_methods(c); i++) {
        if (method != KR_ALL_METHODS && method != i)
            continue;
        kr_buf_puts(b, shown++ > 0 ? ",{" : "{");
        put_method(b, a, i);
        kr_buf_puts(b, "}");
    }
    kr_buf_puts(b, "]}\n");
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

void kr_export_point(kr_analysis *a, size_t method, const char *note, kr_buf *b) {
    const kr_calib *c = kr_analysis_calib(a);
    const kr_calib_meta *m = kr_calib_meta_of(c);
    kr_buf text = {0};
    kr_buf_puts(b, "{");
    put_int(b, "version", KR_EXPORT_VERSION);
    kr_buf_puts(b, ",\"kind\":\"operating_point\",");
    put_text(b, "kvrisk_version", KR_VERSION);
    comma(b);
    put_text(b, "input", base_name(kr_calib_path(c)));
    comma(b);
    put_text(b, "input_sha256", kr_calib_sha256(c));
    comma(b);
    put_text(b, "model", m->model);
    comma(b);
    put_text(b, "benchmark", m->benchmark);
    comma(b);
    put_text(b, "scorer", m->scorer);
    comma(b);
    put_text(b, "protocol", m->protocol);
    comma(b);
    put_text(b, "loss_rule", "nano-9");
    comma(b);
    put_text(b, "note", note);
    comma(b);
    put_common(b, a);
    comma(b);
    kr_analysis_state_sentence(a, &text);
    put_text(b, "state_sentence", kr_buf_text(&text));
    kr_buf_free(&text);
    put_noise(b, a);
    comma(b);
    kr_buf m1 = {0};
    put_method(&m1, a, method);
    /* The line's own state stands for the point; the common one is about all lines. */
    kr_buf_puts(b, "\"point\":{");
    kr_buf_puts(b, kr_buf_text(&m1));
    kr_buf_free(&m1);
    kr_buf_puts(b, "}");
    kr_export_modes(a, method, b);
    kr_buf_puts(b, "}\n");
}

/* --- CSV ------------------------------------------------------------------------------------------ */

void kr_csv_field(kr_buf *out, const char *text) {
    bool formula = *text != '\0' && strchr("=+-@\t\r", *text) != NULL;
    if (!formula && strpbrk(text, ",\"\n\r") == NULL) {
        kr_buf_puts(out, text);
        return;
    }
    kr_buf_puts(out, formula ? "\"'" : "\"");
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '"')
            kr_buf_puts(out, "\"");
        kr_buf_add(out, p, 1);
    }
    kr_buf_puts(out, "\"");
}

#define CSV_HEADER                                                                                 \
    "method,decision,state,retention,threshold,tolerance,risk,confidence,events,n,max_events,rate," \
    "p_value,upper_bound,empirical_retention,empirical_threshold,empirical_events,population,"     \
    "split,input,input_sha256,kvrisk_version,note\n"

void kr_export_point_csv_header(kr_buf *out) { kr_buf_puts(out, CSV_HEADER); }

static void csv_level(kr_buf *b, const kr_calib *c, size_t method, int index) {
    const kr_policy *p = candidate_policy(c, method, index);
    char t[KR_DEC_TEXT];
    double share = kr_share_kept(c, method, index);
    if (p == NULL)
        kr_buf_puts(b, "1");
    else if (p->has_retention)
        kr_buf_puts(b, kr_dec_text(p->retention, t));
    else if (isfinite(share))
        kr_json_put_double(b, share);
    comma(b);
    if (p != NULL && p->has_threshold)
        kr_buf_puts(b, kr_dec_text(p->threshold, t));
}

void kr_export_point_csv(const kr_analysis *a, size_t method, const char *note, kr_buf *b) {
    const kr_calib *c = kr_analysis_calib(a);
    const kr_line *l = kr_analysis_line(a, method);
    kr_contract k = kr_analysis_contract(a);
    char t[KR_DEC_TEXT];
    kr_csv_field(b, kr_calib_method(c, method)->name);
    kr_buf_printf(b, ",%s,%s,", l->certified >= 0 ? "certified" : "fallback",
                  kr_state_name(kr_analysis_line_state(a, method)));
    csv_level(b, c, method, l->certified);
    kr_buf_printf(b, ",%s", kr_dec_text(k.tolerance, t));
    kr_buf_printf(b, ",%s", kr_dec_text(k.risk, t));
    kr_buf_printf(b, ",%s,", kr_dec_text(k.confidence, t));
    if (l->certified >= 0)
        kr_buf_printf(b, "%lld", (long long)l->certified_events);
    kr_buf_printf(b, ",%lld,%lld,", (long long)kr_analysis_n(a),
                  (long long)l->max_events);
    if (l->certified >= 0) {
        kr_candidate_row r = kr_analysis_candidate(a, method, (size_t)l->certified);
        kr_json_put_double(b, r.rate);
        comma(b);
        kr_json_put_double(b, r.p_value);
        comma(b);
        kr_json_put_double(b, r.upper_bound);
        comma(b);
    } else {
        kr_buf_puts(b, ",,,");
    }
    csv_level(b, c, method, l->empirical);
    comma(b);
    if (l->empirical >= 0)
        kr_buf_printf(b, "%lld", (long long)l->empirical_events);
    comma(b);
    kr_buf text = {0};
    kr_population_text(a, &text);
    kr_csv_field(b, kr_buf_text(&text));
    kr_buf_free(&text);
    kr_buf_puts(b, kr_analysis_options_of(a).split == KR_SPLIT_TEST ? ",test," : ",cal,");
    kr_csv_field(b, base_name(kr_calib_path(c)));
    kr_buf_printf(b, ",%s," KR_VERSION ",", kr_calib_sha256(c));
    kr_csv_field(b, note != NULL ? note : "");
    kr_buf_puts(b, "\n");
}

/* --- files ---------------------------------------------------------------------------------------- */

static bool ends_in_csv(const char *path) {
    size_t n = strlen(path);
    return n >= 4 && strcmp(path + n - 4, ".csv") == 0;
}

static kr_status write_text(kr_buf *b, const char *path, bool replace, kr_error *err) {
    kr_status st = b->failed ? kr_fail(err, KR_ENOMEM, "out of memory")
                             : kr_file_write(path, kr_buf_text(b), b->len, replace, err);
    kr_buf_free(b);
    return st;
}

kr_status kr_export_point_file(kr_analysis *a, size_t method, const char *note,
                               const char *path, bool replace, kr_error *err) {
    kr_buf b = {0};
    if (ends_in_csv(path)) {
        kr_export_point_csv_header(&b);
        kr_export_point_csv(a, method, note, &b);
    } else {
        kr_export_point(a, method, note, &b);
    }
    return write_text(&b, path, replace, err);
}

kr_status kr_export_point_append(const kr_analysis *a, size_t method, const char *note,
                                 const char *path, kr_error *err) {
    kr_buf row = {0};
    kr_export_point_csv(a, method, note, &row);
    kr_status st = row.failed ? kr_fail(err, KR_ENOMEM, "out of memory")
                              : kr_file_append_row(path, CSV_HEADER, kr_buf_text(&row), err);
    kr_buf_free(&row);
    return st;
}
