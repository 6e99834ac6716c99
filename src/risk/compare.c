#include "risk/compare.h"

#include <math.h>

#include "risk/binomial.h"

kr_status kr_mcnemar(int64_t b, int64_t c, int64_t n, double level, kr_mcnemar_claim *out,
                     kr_error *err) {
    if (b < 0 || c < 0 || n < 0 || n > KR_BINOM_N_MAX || b > n || c > n - b ||
        !(level > 0 && level < 1))
        return kr_fail(err, KR_EINVAL, "%lld and %lld discordant of %lld requests at level %g",
                       (long long)b, (long long)c, (long long)n, level);
    int64_t least = b < c ? b : c;
    double tail = kr_binom_tails(least, b + c, 0.5).p;
    kr_mcnemar_claim m = {.two_sided = fmin(1, 2 * tail)};
    m.a_better = kr_binom_tails(b, b + c, 0.5).p;
    m.b_better = kr_binom_tails(c, b + c, 0.5).p;
    m.mid = b + c == 0 ? 1 : 2 * tail - exp(kr_binom_ln_mass(least, b + c, 0.5));
    m.mid = fmin(1, m.mid);
    double a = level / 4; /* two limits of two shares */
    m.lower = kr_binom_lower_strat(b, n, a) - kr_binom_upper_strat(c, n, a);
    m.upper = kr_binom_upper_strat(b, n, a) - kr_binom_lower_strat(c, n, a);
    *out = m;
    return KR_OK;
}
