#include "risk/mixture.h"

#include <math.h>
#include <stdlib.h>

#include "risk/binomial.h"

/* Tasks with weight only. a[h] = weight per request. */
typedef struct {
    size_t tasks;
    double *w, *n, *a;
    double *c;        /* 1 - e^(-l a) at the l in hand */
    double rate, eps; /* weighted event rate, target */
} problem;

static kr_status check(size_t tasks, const int64_t *events, const int64_t *n,
                       const kr_ratio *weight, kr_error *err) {
    kr_ratio sum = {0, 0, 1};
    int64_t all = 0;
    for (size_t h = 0; h < tasks; h++) {
        int64_t k = events == NULL ? 0 : events[h];
        if (n[h] < 0 || n[h] > KR_BINOM_N_MAX - all || k < 0 || k > n[h])
            return kr_fail(err, KR_EINVAL, "task %zu has %lld events among %lld requests", h,
                           (long long)k, (long long)n[h]);
        all += n[h];
        if (weight == NULL)
            continue;
        if (!(weight[h].value >= 0))
            return kr_fail(err, KR_EINVAL, "weight of task %zu is %g", h, weight[h].value);
        if (weight[h].value > 0 && n[h] == 0)
            return kr_fail(err, KR_EINVAL, "task %zu has a weight but no requests", h);
        sum = kr_ratio_add(sum, weight[h]);
    }
    if (tasks == 0)
        return kr_fail(err, KR_EINVAL, "a mixture of no tasks");
    if (weight != NULL && (!kr_ratio_exact(sum) || kr_ratio_cmp(sum, kr_ratio_make(1, 1)) != 0))
        return kr_fail(err, KR_EINVAL, "the weights sum to %.12g, not to exactly 1", sum.value);
    return KR_OK;
}

/* max over risks r with w.r = eps of sum n_h ln(1 - r_h c_h). Concave: at the maximum every risk
 * inside (0,1) is 1/c_h - v n_h/w_h for one v; w.r falls piecewise linearly in v. */
static double clipped_risk(const problem *q, size_t h, double v, bool *inside) {
    double r = 1 / q->c[h] - v * q->n[h] / q->w[h];
    *inside = r > 0 && r < 1;
    return r <= 0 ? 0 : r >= 1 ? 1 : r;
}

static double mixture_risk(const problem *q, double v, double *slope) {
    double sum = 0;
    *slope = 0;
    for (size_t h = 0; h < q->tasks; h++) {
        bool inside;
        sum += q->w[h] * clipped_risk(q, h, v, &inside);
        *slope -= inside ? q->n[h] : 0;
    }
    return sum;
}

/* The v at which the mixture's risk is eps: Newton, exact on each linear piece, in a bracket. */
static double worst_multiplier(const problem *q) {
    double lo = 0, hi = 0, slope;
    for (size_t h = 0; h < q->tasks; h++)
        hi = fmax(hi, q->w[h] / (q->n[h] * q->c[h]));
    double v = hi / 2;
    for (int i = 0; i < 200; i++) {
        double gap = mixture_risk(q, v, &slope) - q->eps;
        if (gap == 0)
            break;
        if (gap > 0)
            lo = v;
        else
            hi = v;
        double next = slope < 0 ? v - gap / slope : lo;
        if (!(next > lo && next < hi))
            next = lo + (hi - lo) / 2;
        if (fabs(next - v) <= 1e-16 * v)
            break;
        v = next;
    }
    return v;
}

/* ln of the bound on the moment generating function at -l, times e^(l rate). */
static double log_bound(problem *q, double l) {
    for (size_t h = 0; h < q->tasks; h++)
        q->c[h] = -expm1(-l * q->a[h]);
    double v = worst_multiplier(q), sum = 0;
    for (size_t h = 0; h < q->tasks; h++) {
        bool inside;
        double c = q->c[h], r = clipped_risk(q, h, v, &inside);
        if (r >= 1)
            sum -= q->n[h] * l * q->a[h];
        else if (c * r > 0.5) /* without the rounding of c to 1 */
            sum += q->n[h] * log((1 - r) + r * exp(-l * q->a[h]));
        else if (r > 0)
            sum += q->n[h] * log1p(-c * r);
    }
    return l * q->rate + sum;
}

/* min over l >= 0 of l rate + worst log moment: convex in l, golden section. Any l gives a valid
 * bound, so a minimum that is not quite met only costs power. */
static double chernoff(problem *q) {
    if (!(q->rate < q->eps))
        return 1;
    const double phi = 0.61803398874989484820;
    double top = 1, last = 0;
    for (size_t h = 0; h < q->tasks; h++)
        top = fmax(top, 1 / q->a[h]);
    for (int i = 0; i < 60; i++, top *= 2) {
        double value = log_bound(q, top);
        if (value >= last)
            break;
        last = value;
    }
    double a = 0, b = top, x = b - phi * (b - a), y = a + phi * (b - a);
    double fx = log_bound(q, x), fy = log_bound(q, y);
    for (int i = 0; i < 42; i++) { /* 0.618^42 = 2e-9: the value is then right to the last digits */
        if (fx < fy) {
            b = y, y = x, fy = fx;
            x = b - phi * (b - a);
            fx = log_bound(q, x);
        } else {
            a = x, x = y, fx = fy;
            y = a + phi * (b - a);
            fy = log_bound(q, y);
        }
    }
    return fmin(1, exp(fmin(fx, fy)));
}

static double hoeffding(const problem *q) {
    double gap = fmax(0, q->eps - q->rate), sum = 0;
    for (size_t h = 0; h < q->tasks; h++)
        sum += q->w[h] * q->w[h] / q->n[h];
    return exp(-2 * gap * gap / sum);
}

/* Smallest integer >= a; rounded up when a is not exact. */
static double ceiling(kr_ratio a) {
    if (kr_ratio_exact(a))
        return (double)(a.num / a.den + (a.num % a.den > 0));
    return ceil(a.value * (1 + 1e-12));
}

typedef struct {
    kr_ratio rate, largest; /* exact weighted rate; weight per request of the heaviest task */
    int64_t requests;       /* in tasks with weight */
    int64_t events;
    bool equal;
} exact_sums;

static exact_sums add_up(size_t tasks, const int64_t *events, const int64_t *n,
                         const kr_ratio *weight) {
    exact_sums s = {{0, 0, 1}, {0, 0, 1}, 0, 0, true};
    for (size_t h = 0; h < tasks; h++) {
        if (!(weight[h].value > 0))
            continue;
        kr_ratio a = kr_ratio_div(weight[h], kr_ratio_make(n[h], 1));
        s.equal =
            s.equal && (s.requests == 0 || (kr_ratio_exact(a) && kr_ratio_cmp(a, s.largest) == 0));
        if (kr_ratio_cmp(a, s.largest) > 0)
            s.largest = a;
        s.rate = kr_ratio_add(s.rate, kr_ratio_mul(a, kr_ratio_make(events[h], 1)));
        s.requests += n[h];
        s.events += events[h];
    }
    s.equal = s.equal && kr_ratio_exact(s.largest);
    return s;
}

static double bentkus(const exact_sums *s, double eps) {
    double c = ceiling(kr_ratio_div(s->rate, s->largest));
    double q = eps / ((double)s->requests * s->largest.value);
    return fmin(1, exp(1) * kr_binom_tails((int64_t)c, s->requests, q).p);
}

static kr_status fill(problem *q, size_t tasks, const int64_t *n, const kr_ratio *weight,
                      kr_error *err) {
    q->w = malloc(4 * tasks * sizeof *q->w);
    if (q->w == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for a mixture of %zu tasks", tasks);
    q->n = q->w + tasks;
    q->a = q->n + tasks;
    q->c = q->a + tasks;
    for (size_t h = 0; h < tasks; h++) {
        if (!(weight[h].value > 0))
            continue;
        q->w[q->tasks] = weight[h].value;
        q->n[q->tasks] = (double)n[h];
        q->a[q->tasks] = weight[h].value / (double)n[h];
        q->tasks++;
    }
    return KR_OK;
}

/* The smaller of three bounds of one and the same tail probability, at q->eps. */
static double least_bound(problem *q, const exact_sums *s, kr_mixture_claim *c) {
    double x = chernoff(q), y = bentkus(s, q->eps), z = hoeffding(q);
    if (c != NULL)
        c->chernoff = x, c->bentkus = y, c->hoeffding = z;
    return fmin(x, fmin(y, z));
}

kr_status kr_mixture_test(size_t tasks, const int64_t *events, const int64_t *n,
                          const kr_ratio *weight, kr_dec eps, kr_mixture_claim *out,
                          kr_error *err) {
    problem q = {.eps = kr_dec_double(eps)};
    if (!(q.eps > 0 && q.eps < 1))
        return kr_fail(err, KR_EINVAL, "risk %g is outside (0, 1)", q.eps);
    kr_status st = check(tasks, events, n, weight, err);
    if (st == KR_OK)
        st = fill(&q, tasks, n, weight, err);
    if (st != KR_OK)
        return st;
    exact_sums s = add_up(tasks, events, n, weight);
    kr_mixture_claim c = {.rate = s.rate.value, .exact = s.equal};
    q.rate = s.rate.value;
    c.p = least_bound(&q, &s, &c);
    if (s.equal)
        c.p = kr_p_value(s.events, s.requests, eps);
    free(q.w);
    *out = c;
    return KR_OK;
}

kr_status kr_mixture_any(size_t tasks, const int64_t *events, const int64_t *n,
                         const kr_ratio *weight, kr_level delta, double *upper, kr_error *err) {
    kr_status st = check(tasks, events, n, weight, err);
    if (st != KR_OK)
        return st;
    double a = kr_level_double(delta) / (double)tasks, sum = 0;
    for (size_t h = 0; h < tasks; h++)
        sum += weight[h].value * kr_binom_upper(events[h], n[h], a);
    *upper = fmin(1, sum * (1 + 1e-15));
    return KR_OK;
}

/* The p-values fall in eps, so the limit is where they cross the level. */
kr_status kr_mixture_upper(size_t tasks, const int64_t *events, const int64_t *n,
                           const kr_ratio *weight, kr_level level, double *upper, kr_error *err) {
    kr_status st = check(tasks, events, n, weight, err);
    double a = kr_level_double(level), lo, hi = 1;
    if (st != KR_OK)
        return st;
    if (!(a > 0 && a < 1))
        return kr_fail(err, KR_EINVAL, "level %g is outside (0, 1)", a);
    exact_sums s = add_up(tasks, events, n, weight);
    if (s.equal) {
        *upper = kr_binom_upper_strat(s.events, s.requests, a);
        return KR_OK;
    }
    problem q = {0};
    st = fill(&q, tasks, n, weight, err);
    q.rate = s.rate.value;
    for (lo = s.rate.value; st == KR_OK && hi - lo > 1e-12 * hi;) {
        double mid = lo + (hi - lo) / 2;
        q.eps = mid;
        if (least_bound(&q, &s, NULL) > a)
            lo = mid;
        else
            hi = mid;
    }
    free(q.w);
    if (st == KR_OK)
        *upper = hi;
    return st;
}

double kr_mixture_growth(double upper, kr_dec eps) {
    double e = kr_dec_double(eps) * (1 - 1e-12);
    if (!(upper <= 1) || !(upper < e))
        return 1;
    return upper > 0 ? e / upper : INFINITY;
}

/* With share t moved to a task of weight w the risk is (1-t) R + t r, and r <= min(1, R/w). */
double kr_mixture_reach(double weight, double upper, kr_dec eps) {
    double e = kr_dec_double(eps) * (1 - 1e-12);
    if (!(upper >= 0) || !(upper < e) || !(weight >= 0 && weight <= 1))
        return 0;
    double most = weight > upper ? upper / weight : 1; /* of the task's risk */
    return most > e ? (e - upper) / (most - upper) : 1;
}

/* N must be a multiple of every denominator; the smallest such multiple, 0 if it is above `most`.
 */
static int64_t common_multiple(size_t tasks, const kr_ratio *weight, int64_t most) {
    int64_t m = 1;
    for (size_t h = 0; h < tasks; h++) {
        kr_ratio r =
            kr_ratio_make(m, weight[h].den); /* m/den in lowest terms: den is what m lacks */
        if (r.den > most / m)
            return 0;
        m *= r.den;
    }
    return m;
}

kr_status kr_mixture_quota(size_t tasks, const int64_t *n, const kr_ratio *weight, int64_t *take,
                           int64_t *total, kr_error *err) {
    kr_status st = check(tasks, NULL, n, weight, err);
    if (st != KR_OK)
        return st;
    int64_t unit = common_multiple(tasks, weight, KR_BINOM_N_MAX), units = INT64_MAX;
    for (size_t h = 0; h < tasks && unit > 0; h++) {
        int64_t each = unit / weight[h].den * weight[h].num;
        if (each > 0 && n[h] / each < units)
            units = n[h] / each;
    }
    units = unit > 0 ? units : 0;
    for (size_t h = 0; h < tasks; h++)
        take[h] = units > 0 ? units * (unit / weight[h].den * weight[h].num) : 0;
    *total = units * unit;
    return KR_OK;
}

kr_status kr_mixture_worst(size_t tasks, const int64_t *events, const int64_t *n, kr_dec eps,
                           kr_level level, kr_worst_claim *out, kr_error *err) {
    kr_status st = check(tasks, events, n, NULL, err);
    if (st != KR_OK)
        return st;
    kr_worst_claim c = {.p = -1};
    double a = kr_level_double(level);
    for (size_t h = 0; h < tasks; h++) {
        double p = kr_p_value(events[h], n[h], eps);
        if (p > c.p)
            c.p = p, c.task = h;
        c.upper = fmax(c.upper, kr_binom_upper_strat(events[h], n[h], a));
    }
    *out = c;
    return KR_OK;
}
