#include "verdict/pair.h"

#include <stdio.h>
#include <string.h>

kr_status kr_pair_compare(const kr_analysis *a, size_t policy_a, size_t policy_b, kr_pair *out,
                          kr_error *err) {
    const kr_calib *c = kr_analysis_calib(a);
    kr_contract k = kr_analysis_contract(a);
    kr_split s = kr_analysis_options_of(a).split;
    kr_pair p = {0};
    int64_t tolerance;
    if (kr_calib_meta_of(c)->kind == KR_KIND_COUNTS)
        return kr_fail(err, KR_EINVAL, "published counts have no requests to compare on");
    if (!kr_dec_nano(k.tolerance, &tolerance))
        return kr_fail(err, KR_EINVAL, "the tolerance is too large");
    for (size_t i = 0; i < kr_calib_rows(c); i++) {
        if (kr_calib_row(c, i).split != s)
            continue;
        bool ea = kr_calib_row_drop(c, i, policy_a) > tolerance;
        bool eb = kr_calib_row_drop(c, i, policy_b) > tolerance;
        p.n++;
        p.both += ea && eb;
        p.only_a += ea && !eb;
        p.only_b += !ea && eb;
    }
    kr_status st = kr_mcnemar(p.only_a, p.only_b, p.n, kr_level_double(kr_contract_level(&k, 1)),
                              &p.test, err);
    if (st == KR_OK)
        *out = p;
    return st;
}

static void put_name(const kr_calib *c, size_t policy, kr_buf *out) {
    for (size_t m = 0; m < kr_calib_methods(c); m++) {
        const kr_method *x = kr_calib_method(c, m);
        if (policy < x->first || policy >= x->first + x->count)
            continue;
        kr_buf_printf(out, "%s at ", x->name);
        kr_level_text(c, m, (int)(policy - x->first), out);
        if (kr_calib_policy(c, policy)->has_retention)
            kr_buf_puts(out, " %");
    }
}

void kr_pair_sentence(const kr_analysis *a, size_t policy_a, size_t policy_b, const kr_pair *p,
                      kr_buf *out) {
    const kr_calib *c = kr_analysis_calib(a);
    kr_contract k = kr_analysis_contract(a);
    kr_analysis_options o = kr_analysis_options_of(a);
    put_name(c, policy_a, out);
    kr_buf_printf(out, " alone is degraded on %lld, ", (long long)p->only_a);
    put_name(c, policy_b, out);
    kr_buf_printf(out, " alone on %lld, both on %lld of %lld requests: two-sided p = %.3g; difference of "
                       "risks %.2f to %.2f points. ",
                  (long long)p->only_b, (long long)p->both, (long long)p->n, p->test.two_sided,
                  100 * p->test.lower, 100 * p->test.upper);
    kr_level level = kr_contract_level(&k, 1);
    if (kr_p_decide(p->test.two_sided, kr_level_double(level)) != KR_REJECT_YES)
        kr_buf_puts(out, "No difference is shown. ");
    else
        kr_buf_printf(out, "%s is degraded less often. ", p->only_a < p->only_b ? "The first" : "The second");
    if (kr_calib_cluster_repeats(c, o.split) > 0)
        kr_buf_puts(out, "Requests share clusters, which this test ignores. ");
    kr_buf_puts(out, "Exact McNemar test for one pair chosen beforehand; exact when risks are equal within "
                     "each task, a heuristic for equal averages over tasks; no certificate about the "
                     "risk target.");
}

static kr_status no_level(const char *text, kr_error *err) {
    return kr_fail(err, KR_EINVAL, "no policy '%.100s' in this file, expected METHOD:LEVEL such as "
                                   "snapkv:0.65", text);
}

kr_status kr_pair_find(const kr_calib *c, const char *text, size_t *policy, kr_error *err) {
    const char *colon = strrchr(text, ':');
    char name[128];
    kr_dec level;
    if (colon == NULL || (size_t)(colon - text) >= sizeof name)
        return no_level(text, err);
    snprintf(name, sizeof name, "%.*s", (int)(colon - text), text);
    int m = kr_calib_find_method(c, name);
    if (m < 0 || kr_dec_parse_percent(colon + 1, &level, NULL) != KR_OK)
        return no_level(text, err);
    const kr_method *x = kr_calib_method(c, (size_t)m);
    for (size_t i = x->first; i < x->first + x->count; i++) {
        const kr_policy *p = kr_calib_policy(c, i);
        if ((p->has_retention && kr_dec_cmp(p->retention, level) == 0) ||
            (p->has_threshold && kr_dec_cmp(p->threshold, level) == 0)) {
            *policy = i;
            return KR_OK;
        }
    }
    return no_level(text, err);
}
