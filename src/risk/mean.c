#include "risk/mean.h"

#include <math.h>

#include "risk/binomial.h"
#include "risk/special.h"

__extension__ typedef __int128 wide;

/* What the closed forms need of a sample. */
typedef struct {
    const int64_t *loss;
    int64_t n, round;
    int64_t ceil_sum; /* smallest integer >= the sum of the losses */
    double mean, var; /* unbiased variance; 0 for n = 1 */
    double alpha, delta;
} sample;

int64_t kr_mean_loss(int64_t drop, int64_t range) {
    if (range <= 0 || drop >= range)
        return KR_NANO;
    if (drop <= 0)
        return 0;
    return (int64_t)(((wide)drop * KR_NANO + range - 1) / range);
}

static kr_mean_claim hoeffding(const sample *s) {
    double n = (double)s->n, gap = fmax(0, s->alpha - s->mean);
    return (kr_mean_claim){exp(-2 * n * gap * gap),
                           fmin(1, s->mean + sqrt(-log(s->delta) / (2 * n)))};
}

/* n kl(m, r) without cancellation for m near r. */
static double n_kl(double n, double m, double r) {
    return kr_deviance(n * m, n * r, 0) + kr_deviance(n * (1 - m), n * (1 - r), 0);
}

static kr_mean_claim chernoff(const sample *s) {
    double n = (double)s->n, goal = -log(s->delta), lo = s->mean, hi = 1;
    kr_mean_claim c = {.p = 1, .upper = 1};
    if (s->mean < s->alpha)
        c.p = exp(-n_kl(n, s->mean, s->alpha));
    if (s->mean >= 1)
        return c;
    for (;;) {
        double mid = lo + (hi - lo) / 2;
        if (mid <= lo || mid >= hi)
            break;
        if (n_kl(n, s->mean, mid) < goal)
            lo = mid;
        else
            hi = mid;
    }
    c.upper = hi;
    return c;
}

static kr_mean_claim bentkus(const sample *s) {
    kr_tails t = kr_binom_tails(s->ceil_sum, s->n, s->alpha);
    return (kr_mean_claim){fmin(1, exp(1) * t.p),
                           kr_binom_upper(s->ceil_sum, s->n, s->delta / exp(1))};
}

static kr_mean_claim hoeffding_bentkus(const sample *s) {
    kr_mean_claim a = chernoff(s), b = bentkus(s);
    return (kr_mean_claim){fmin(a.p, b.p), fmin(a.upper, b.upper)};
}

static kr_mean_claim bernstein(const sample *s) {
    kr_mean_claim c = {1, 1};
    if (s->n < 2)
        return c;
    double n = (double)s->n, l = log(2 / s->delta);
    c.upper = fmin(1, s->mean + sqrt(2 * s->var * l / n) + 7 * l / (3 * (n - 1)));
    if (s->mean < s->alpha) {
        double a = 7 / (3 * (n - 1)), b = sqrt(2 * s->var / n), gap = s->alpha - s->mean;
        double x = 2 * gap / (b + sqrt(b * b + 4 * a * gap)); /* root of a x^2 + b x = gap */
        c.p = fmin(1, 2 * exp(-x * x));
    }
    return c;
}

/* Largest log capital of the bettor against "mean >= alpha", over the whole path and its start;
 * with `round` > 1 bets stay as they were at the start of the round and only round ends count. */
static double best_log_capital(const sample *s, double alpha, int64_t round) {
    double sum = 0.5, squares = 0.25, var = 0.25, log_k = 0, best = 0, bet = 0;
    double scale = 2 * -log(s->delta) / (double)s->n;
    for (int64_t i = 0; i < s->n; i++) {
        double x = (double)s->loss[i] / (double)KR_NANO;
        if (i % round == 0)
            bet = fmin(1, sqrt(scale / var));
        log_k += log1p(bet * (alpha - x));
        if ((i + 1) % round == 0 && log_k > best)
            best = log_k;
        sum += x;
        double d = x - sum / (double)(i + 2);
        squares += d * d;
        var = squares / (double)(i + 2);
    }
    return best;
}

static kr_mean_claim betting(const sample *s, int64_t round) {
    kr_mean_claim c = {.p = exp(-best_log_capital(s, s->alpha, round)), .upper = 1};
    double goal = -log(s->delta), lo = 0, hi = 1;
    if (best_log_capital(s, 1, round) < goal)
        return c;
    while (hi - lo > 1e-15 * hi) { /* capital rises with the mean that is bet against */
        double mid = lo + (hi - lo) / 2;
        if (mid <= lo || mid >= hi)
            break;
        if (best_log_capital(s, mid, round) < goal)
            lo = mid;
        else
            hi = mid;
    }
    c.upper = hi;
    return c;
}

static kr_mean_claim wsr(const sample *s) { return betting(s, 1); }

static kr_mean_claim wsr_rounds(const sample *s) { return betting(s, s->round); }

static kr_mean_claim (*const kinds[])(const sample *) = {
    [KR_MEAN_HOEFFDING] = hoeffding,   [KR_MEAN_KL] = chernoff,         [KR_MEAN_BENTKUS] = bentkus,
    [KR_MEAN_HB] = hoeffding_bentkus,  [KR_MEAN_BERNSTEIN] = bernstein, [KR_MEAN_WSR] = wsr,
    [KR_MEAN_WSR_ROUNDS] = wsr_rounds,
};

/* n <= 1e9 losses of at most 1e9 sum to at most 1e18. */
static kr_status measure(sample *s, kr_error *err) {
    int64_t sum = 0;
    for (int64_t i = 0; i < s->n; i++) {
        if (s->loss[i] < 0 || s->loss[i] > KR_NANO)
            return kr_fail(err, KR_EINVAL, "loss %lld is %g, outside 0 to 1", (long long)i,
                           (double)s->loss[i] / (double)KR_NANO);
        sum += s->loss[i];
    }
    s->ceil_sum = (sum + KR_NANO - 1) / KR_NANO;
    s->mean = (double)sum / ((double)KR_NANO * (double)s->n);
    double squares = 0;
    for (int64_t i = 0; i < s->n; i++) {
        double d = (double)s->loss[i] / (double)KR_NANO - s->mean;
        squares += d * d;
    }
    s->var = s->n > 1 ? squares / (double)(s->n - 1) : 0;
    return KR_OK;
}

static kr_status prepare(sample *s, kr_mean_kind kind, kr_error *err) {
    if (s->n < 0 || s->n > KR_BINOM_N_MAX || !(s->alpha > 0 && s->alpha < 1) ||
        !(s->delta > 0 && s->delta < 1))
        return kr_fail(err, KR_EINVAL, "mean of %lld losses against %g at level %g is impossible",
                       (long long)s->n, s->alpha, s->delta);
    if (kind == KR_MEAN_WSR_ROUNDS && s->round < 1)
        return kr_fail(err, KR_EINVAL, "a round of %lld requests", (long long)s->round);
    return s->n > 0 ? measure(s, err) : KR_OK;
}

double kr_mean_p(kr_mean_kind kind, const int64_t *loss, int64_t n, int64_t round, kr_dec alpha,
                 kr_level delta) {
    sample s = {.loss = loss, .n = n, .round = kind == KR_MEAN_WSR ? 1 : round};
    s.alpha = kr_dec_double(alpha);
    s.delta = kr_level_double(delta);
    if (prepare(&s, kind, NULL) != KR_OK || n == 0)
        return 1;
    if (kind == KR_MEAN_WSR || kind == KR_MEAN_WSR_ROUNDS)
        return exp(-best_log_capital(&s, s.alpha, s.round));
    return kinds[kind](&s).p;
}

kr_status kr_mean_test(kr_mean_kind kind, const int64_t *loss, int64_t n, int64_t round,
                       kr_dec alpha, kr_level delta, kr_mean_claim *out, kr_error *err) {
    sample s = {.loss = loss, .n = n, .round = round};
    s.alpha = kr_dec_double(alpha);
    s.delta = kr_level_double(delta);
    kr_status st = prepare(&s, kind, err);
    if (st == KR_OK)
        *out = n == 0 ? (kr_mean_claim){1, 1} : kinds[kind](&s);
    return st;
}
