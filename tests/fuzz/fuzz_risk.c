/* Any bits as arguments: the statistics must neither crash nor answer with NaN nor certify what the
 * p-value rule does not. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "risk/binomial.h"
#include "risk/evalue.h"
#include "risk/mixture.h"
#include "risk/pertask.h"
#include "risk/sequence.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds)
        abort();
}

static bool is_share(double x) { return x >= 0 && x <= 1; }

typedef struct {
    int64_t k, n, eps_digits, num_digits, den;
    double p, a;
    uint8_t eps_scale, num_scale, small;
} input;

static void tails(const input *in) {
    kr_tails t = kr_binom_tails(in->k, in->n, in->p);
    require(is_share(t.p) && is_share(t.q) && t.ln_p <= 0 && t.ln_q <= 0);
    double u = kr_binom_upper_strat(in->k, in->n, in->a);
    double l = kr_binom_lower_strat(in->k, in->n, in->a);
    require(is_share(u) && is_share(l));
    require(!isnan(kr_binom_ln_mass(in->k, in->n, in->p)));
}

static void contracts(const input *in, kr_dec eps, kr_level level) {
    kr_limits lim = kr_limits_make(in->n, eps, level);
    double d = kr_level_double(level);
    require(lim.kmax >= -1 && lim.kmax <= lim.guard_max && lim.guard_max <= lim.plugin_max);
    if (lim.kmax >= 0)
        require(kr_p_decide(kr_p_value(lim.kmax, in->n, eps), d) == KR_REJECT_YES);
    require(kr_p_decide(kr_p_value(lim.kmax + 1, in->n, eps), d) != KR_REJECT_YES);
    kr_sequence s;
    if (kr_sequence_certify(&lim, 1, &in->k, NULL, &s, NULL) == KR_OK)
        require((s.certified == 0) == (in->k >= 0 && in->k <= lim.kmax));
    require(!isnan(kr_evalue_ln(in->k, in->n, eps)));
}

static void tasks(const input *in, kr_dec eps, kr_level level) {
    int64_t k[2] = {in->k, in->k / 2}, n[2] = {in->n, in->n / 2 + 1};
    kr_ratio w[2] = {kr_ratio_make(in->small, 255), kr_ratio_make(255 - in->small, 255)};
    kr_task_interval t[2];
    kr_mixture_claim c;
    if (kr_task_intervals(2, k, n, eps, level, KR_RULE_BONFERRONI, t, NULL) == KR_OK)
        require(is_share(t[0].lower) && is_share(t[0].upper) && t[0].lower <= t[0].upper);
    if (kr_mixture_test(2, k, n, w, eps, &c, NULL) == KR_OK)
        require(is_share(c.p) && is_share(c.chernoff) && is_share(c.bentkus));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    input in;
    if (size < sizeof in)
        return 0;
    memcpy(&in, data, sizeof in);
    if (in.small & 1) { /* mostly sizes that take no time */
        in.n = (int64_t)((uint64_t)in.n % 5000);
        in.k = (int64_t)((uint64_t)in.k % 5000);
        in.p = fabs(fmod(in.p, 1));
        in.a = fabs(fmod(in.a, 1));
    }
    kr_dec eps = kr_dec_make(in.eps_digits % 1000000000000000000, in.eps_scale % 19);
    kr_dec num = kr_dec_make(in.num_digits % 1000000000000000000, in.num_scale % 19);
    tails(&in);
    contracts(&in, eps, kr_level_make(num, in.den));
    tasks(&in, eps, kr_level_make(num, in.den));
    return 0;
}
