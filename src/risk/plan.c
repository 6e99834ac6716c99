#include "risk/plan.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

#include "risk/binomial.h"

__extension__ typedef __int128 wide;

double kr_plan_power(int64_t n, int64_t kmax, double risk) {
    return kmax < 0 || n < 1 ? 0 : kr_binom_tails(kmax, n, risk).p;
}

kr_status kr_plan_needed(double risk, double power, kr_dec eps, kr_level level, int64_t step,
                         int64_t n_max, kr_plan_size *out, kr_error *err) {
    if (!(risk > 0 && risk < kr_dec_double(eps)) || !(power > 0 && power < 1))
        return kr_fail(err, KR_EINVAL,
                       "a true risk of %g against a target of %g with probability %g cannot be "
                       "planned; the risk must lie between 0 and the target",
                       risk, kr_dec_double(eps), power);
    if (step < 1 || n_max < step || n_max > KR_BINOM_N_MAX || n_max / step > KR_PLAN_STEPS)
        return kr_fail(err, KR_EINVAL, "requests in steps of %lld up to %lld", (long long)step,
                       (long long)n_max);
    kr_plan_size s = {.first = -1, .stable = -1, .searched = n_max / step * step};
    for (int64_t n = step; n <= s.searched; n += step) {
        bool has = kr_plan_power(n, kr_kmax(n, eps, level), risk) >= power;
        if (has && s.first < 0)
            s.first = n;
        if (has && s.stable < 0)
            s.stable = n;
        if (!has)
            s.stable = -1;
    }
    *out = s;
    return KR_OK;
}

/* n at which rate + z sd = eps by the normal law, as a place to begin a long search. */
static int64_t normal_size(double rate, double eps, double level) {
    double z = gsl_cdf_ugaussian_Qinv(level);
    double n = z * z * eps * (1 - eps) / (eps - rate) / (eps - rate);
    return n < (double)KR_BINOM_N_MAX ? (int64_t)n : KR_BINOM_N_MAX;
}

static bool passes(int64_t k, int64_t n, int64_t at, kr_dec eps, kr_level level) {
    int64_t scaled = (int64_t)(((wide)k * at + n - 1) / n);
    return scaled <= kr_kmax(at, eps, level);
}

int64_t kr_plan_more(int64_t k, int64_t n, kr_dec eps, kr_level level, int64_t n_max) {
    double rate = (double)k / (double)n, e = kr_dec_double(eps), d = kr_level_double(level);
    if (n < 1 || k < 0 || k > n || !(rate < e) || !(d > 0 && d < 1) || n_max > KR_BINOM_N_MAX)
        return -1;
    /* The normal answer is off by the saw-teeth, a few counts high: so many requests before it no
     * size passes. Step back until that is seen, then go one by one. */
    int64_t back = (int64_t)fmin(8 / (e - rate), (double)KR_BINOM_N_MAX);
    int64_t at = normal_size(rate, e, d) - back;
    while (at > n && passes(k, n, at, eps, level))
        at -= back;
    int64_t stride = back / 20000 + 1; /* a rate this close to eps is not known that well anyway */
    for (at = at > n ? at : n; at <= n_max; at += stride)
        if (passes(k, n, at, eps, level))
            return at - n;
    return -1;
}
