#include "export/certificate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "export/context.h"
#include "export/modes.h"
#include "verdict/joint.h"
#include "verdict/noise.h"

static const kr_policy *candidate_policy(const kr_calib *c, size_t method, int index) {
    return index < 0 ? NULL
                     : kr_calib_policy(c, kr_calib_method(c, method)->first + (size_t)index);
}

/* Share kept (1 for full KV) and threshold (null without one) of a candidate. */
static void put_level(kr_buf *b, const kr_calib *c, size_t method, int index) {
    const kr_policy *p = candidate_policy(c, method, index);
    if (p == NULL) {
        kr_put_key(b, "retention");
        kr_buf_puts(b, "1.0");
        kr_put_null(b, "threshold");
        return;
    }
    if (p->has_retention)
        kr_put_dec(b, "retention", p->retention);
    else if (p->has_mean)
        kr_put_dec(b, "retention", p->mean_retained);
    else
        kr_put_double(b, "retention", kr_share_kept(c, method, index));
    if (p->has_threshold)
        kr_put_dec(b, "threshold", p->threshold);
    else
        kr_put_null(b, "threshold");
}

/* What was really kept, beside the nominal setting. */
static void put_realised(kr_buf *b, const kr_calib *c, size_t policy) {
    const kr_policy *p = kr_calib_policy(c, policy);
    double mean, min, max;
    if (p->has_mean)
        kr_put_dec(b, "mean_retained", p->mean_retained);
    else if (kr_calib_realised(c, policy, &mean, &min, &max))
        kr_put_dec(b, "mean_retained", kr_dec_from_double(mean, 9));
    else
        kr_put_null(b, "mean_retained");
}

static void put_test(kr_buf *b, double rate, double p_value, double upper_bound) {
    kr_put_double(b, "rate", rate);
    kr_put_double(b, "p_value", p_value);
    kr_put_double(b, "upper_bound", upper_bound);
}

static void put_candidate(kr_buf *b, const kr_analysis *a, size_t method, size_t index,
                          double adjusted) {
    const kr_calib *c = kr_analysis_calib(a);
    kr_candidate_row r = kr_analysis_candidate(a, method, index);
    kr_buf_puts(b, "{");
    put_level(b, c, method, (int)index);
    put_realised(b, c, r.policy);
    kr_put_count(b, "events", r.events);
    put_test(b, r.rate, r.p_value, r.upper_bound);
    kr_put_double(b, "adjusted_p", adjusted);
    kr_dec t;
    if (kr_joint_tolerance(a, method, index, &t))
        kr_put_dec(b, "tolerance_bound", t);
    else
        kr_put_null(b, "tolerance_bound");
    kr_put_text(b, "verdict", kr_verdict_name(r.verdict));
    kr_put_int(b, "missing", r.missing);
    if (r.has_test) {
        kr_put_key(b, "test");
        kr_buf_puts(b, "{");
        kr_put_int(b, "n", r.test_n);
        kr_put_int(b, "events", r.test_events);
        put_test(b, r.test_rate, r.test_p_value, r.test_upper_bound);
        kr_buf_puts(b, "}");
    }
    kr_buf_puts(b, "}");
}

static void put_empirical(kr_buf *b, const kr_analysis *a, size_t method) {
    const kr_line *l = kr_analysis_line(a, method);
    const kr_calib *c = kr_analysis_calib(a);
    kr_put_key(b, "empirical");
    kr_buf_puts(b, "{");
    put_level(b, c, method, l->empirical);
    kr_put_count(b, "events", l->empirical_events);
    kr_put_double(b, "rate", l->empirical_events < 0 ? NAN
                                                     : (double)l->empirical_events /
                                                           (double)kr_analysis_n(a));
    if (l->empirical < 0)
        kr_put_null(b, "certified");
    else
        kr_put_bool(b, "certified", l->empirical_certified);
    kr_buf_puts(b, "}");
}

/* The fields of one method, without braces. */
static void put_method(kr_buf *b, kr_analysis *a, size_t method) {
    const kr_calib *c = kr_analysis_calib(a);
    const kr_line *l = kr_analysis_line(a, method);
    bool certified = l->certified >= 0;
    kr_put_text(b, "method", kr_calib_method(c, method)->name);
    kr_put_text(b, "state", kr_state_name(kr_analysis_line_state(a, method)));
    kr_put_text(b, "status", kr_verdict_status_name(l->status));
    kr_put_text(b, "decision", certified ? "certified" : "fallback");
    put_level(b, c, method, l->certified);
    kr_candidate_row r = {.events = -1, .rate = NAN, .p_value = NAN, .upper_bound = NAN};
    if (certified)
        r = kr_analysis_candidate(a, method, (size_t)l->certified);
    kr_put_count(b, "events", r.events);
    kr_put_int(b, "n", kr_analysis_n(a));
    kr_put_int(b, "max_events", l->max_events);
    kr_put_double(b, "level", kr_level_double(kr_analysis_line_limits(a, method)->level));
    put_test(b, r.rate, r.p_value, r.upper_bound);
    kr_buf statement = {0};
    kr_statement(a, method, &statement);
    kr_put_text(b, "statement", kr_buf_text(&statement));
    kr_buf_free(&statement);
    put_empirical(b, a, method);
    size_t count = kr_calib_method(c, method)->count;
    double *adjusted = malloc((count + 1) * sizeof *adjusted);
    bool known = adjusted != NULL && kr_analysis_adjusted(a, method, adjusted, NULL) == KR_OK;
    kr_put_key(b, "candidates");
    kr_buf_puts(b, "[");
    for (size_t i = 0; i < count; i++) {
        kr_buf_puts(b, i > 0 ? "," : "");
        put_candidate(b, a, method, i, known ? adjusted[i] : NAN);
    }
    kr_buf_puts(b, "]");
    free(adjusted);
}

static void put_contract(kr_buf *b, const kr_analysis *a) {
    kr_contract k = kr_analysis_contract(a);
    kr_put_key(b, "contract");
    kr_buf_puts(b, "{");
    kr_put_dec(b, "tolerance", k.tolerance);
    kr_put_dec(b, "risk", k.risk);
    kr_put_dec(b, "confidence", k.confidence);
    kr_put_text(b, "source", kr_contract_source_name(kr_analysis_contract_source(a)));
    kr_buf_puts(b, "}");
}

/* One method's state and largest count where only one is asked for. */
static void put_common(kr_buf *b, const kr_analysis *a, size_t method) {
    kr_analysis_options o = kr_analysis_options_of(a);
    bool all = method == KR_ALL_METHODS;
    kr_level level = all ? kr_analysis_level(a) : kr_analysis_line_limits(a, method)->level;
    kr_buf text = {0};
    put_contract(b, a);
    kr_put_text(b, "state", kr_state_name(all ? kr_analysis_state(a) : kr_analysis_line_state(a, method)));
    kr_population_text(a, &text);
    kr_put_text(b, "population", kr_buf_text(&text));
    kr_put_text(b, "split", o.split == KR_SPLIT_TEST ? "test" : "cal");
    kr_put_bool(b, "assume_independent", o.assume_independent);
    kr_put_int(b, "n", kr_analysis_n(a));
    kr_put_int(b, "missing", kr_analysis_missing(a));
    kr_put_int(b, "max_events", all ? kr_analysis_max_events(a) : kr_analysis_line(a, method)->max_events);
    if (level.den == 1)
        kr_put_dec(b, "level", level.num);
    else
        kr_put_double(b, "level", kr_level_double(level));
    kr_put_bool(b, "family", kr_analysis_family(a));
    kr_buf_free(&text);
}

/* The noise floor, where there is a second full-KV run. */
static void put_noise(kr_buf *b, const kr_analysis *a) {
    kr_noise f = kr_noise_floor(a);
    kr_buf t = {0};
    if (!f.known) {
        kr_put_null(b, "noise_floor");
        return;
    }
    kr_put_key(b, "noise_floor");
    kr_buf_puts(b, "{");
    kr_put_int(b, "n", f.n);
    kr_put_int(b, "events", f.events);
    kr_put_double(b, "rate", f.rate);
    kr_put_double(b, "lower", f.lower);
    kr_put_double(b, "upper", f.upper);
    kr_noise_sentence(a, &f, &t);
    kr_put_text(b, "statement", kr_buf_text(&t));
    kr_buf_puts(b, "}");
    kr_buf_free(&t);
}

void kr_export_certify(kr_analysis *a, size_t method, kr_buf *b) {
    const kr_calib *c = kr_analysis_calib(a);
    kr_buf text = {0};
    kr_buf_puts(b, "{");
    kr_put_int(b, "version", KR_EXPORT_VERSION);
    put_common(b, a, method);
    if (method == KR_ALL_METHODS)
        kr_overall_statement(a, &text);
    else
        kr_line_overall_statement(a, method, &text);
    kr_put_text(b, "statement", kr_buf_text(&text));
    kr_buf_free(&text);
    put_noise(b, a);
    kr_put_key(b, "methods");
    kr_buf_puts(b, "[");
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
    kr_put_int(b, "version", KR_EXPORT_VERSION);
    kr_put_text(b, "kind", "operating_point");
    kr_put_text(b, "kvrisk_version", KR_VERSION);
    kr_put_text(b, "input", base_name(kr_calib_path(c)));
    kr_put_text(b, "input_sha256", kr_calib_sha256(c));
    kr_put_text(b, "model", m->model);
    kr_put_text(b, "benchmark", m->benchmark);
    kr_put_text(b, "scorer", m->scorer);
    kr_put_text(b, "protocol", m->protocol);
    kr_put_text(b, "loss_rule", "nano-9");
    kr_put_text(b, "note", note);
    put_common(b, a, method);
    kr_line_state_sentence(a, method, &text);
    kr_put_text(b, "state_sentence", kr_buf_text(&text));
    kr_buf_free(&text);
    put_noise(b, a);
    kr_export_context(a, method, b);
    kr_put_key(b, "point");
    kr_buf_puts(b, "{");
    put_method(b, a, method);
    kr_export_tasks(a, method, b);
    kr_mode events = kr_mode_default(a, KR_MODE_EVENTS);
    kr_export_room(a, &events, method, b);
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
    kr_buf_puts(b, ",");
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
        kr_buf_puts(b, ",");
        kr_json_put_double(b, r.p_value);
        kr_buf_puts(b, ",");
        kr_json_put_double(b, r.upper_bound);
        kr_buf_puts(b, ",");
    } else {
        kr_buf_puts(b, ",,,");
    }
    csv_level(b, c, method, l->empirical);
    kr_buf_puts(b, ",");
    if (l->empirical >= 0)
        kr_buf_printf(b, "%lld", (long long)l->empirical_events);
    kr_buf_puts(b, ",");
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
