#!/bin/sh
# Verdicts must not depend on the compiler, its optimisation or fused multiplications: every procedure of
# the risk room on random contracts, in builds of gcc and clang. Lines with verdicts must be the same
# bytes; numbers are compared and the largest difference is printed.
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
command -v gcc >/dev/null && command -v clang >/dev/null || { echo "skip: needs gcc and clang"; exit 77; }
python=$([ -x /usr/bin/python3 ] && echo /usr/bin/python3 || echo python3)
cat >"$tmp/main.c" <<'C'
#include <math.h>
#include <stdio.h>

#include "risk/anytime.h"
#include "risk/band.h"
#include "risk/binomial.h"
#include "risk/compare.h"
#include "risk/evalue.h"
#include "risk/family.h"
#include "risk/mean.h"
#include "risk/mixture.h"
#include "risk/multiple.h"
#include "risk/pertask.h"
#include "risk/plan.h"
#include "risk/posthoc.h"
#include "risk/random.h"

enum { CONTRACTS = 500, ROWS = 480 };
typedef kr_random rng;

static int64_t below(rng *r, int64_t n) { return (int64_t)kr_random_below(r, (uint64_t)n); }
static void verdict(const char *what, long long v) { printf("v %s %lld\n", what, v); }
static void number(const char *what, double v) { printf("d %s %.17g\n", what, v); }

/* A decimal of one to four digits at a scale of 1 to `scales`, below 1. */
static kr_dec decimal(rng *r, int scales) {
    int scale = 1 + (int)below(r, scales);
    int64_t top = 1;
    for (int i = 0; i < scale && i < 4; i++)
        top *= 10;
    return kr_dec_make(1 + below(r, top - 1), scale);
}

static int64_t size(rng *r) {
    int64_t n = 1;
    for (int64_t k = below(r, 8); k > 0; k--)
        n *= 10;
    return n + below(r, 9 * n); /* up to 1e8 */
}

typedef struct {
    int64_t n;
    kr_dec eps, delta;
    kr_level level;
    kr_limits limits;
} contract;

static int64_t near(rng *r, const contract *c) {
    int64_t k = c->limits.kmax - 4 + below(r, 8);
    return k < 0 ? 0 : k > c->n ? c->n : k;
}

static int64_t count(void *ctx, size_t c, size_t j) { return ((int64_t *)ctx)[c * 8 + j]; }

static void binomial(rng *r, const contract *c) {
    const kr_limits *l = &c->limits;
    verdict("kmax", l->kmax), verdict("guard", l->guard_max), verdict("plugin", l->plugin_max);
    verdict("tie", l->next_is_tie), verdict("n_min", kr_n_min(c->eps, c->level));
    for (int i = 0; i < 4; i++) {
        int64_t k = near(r, c);
        double p = kr_p_value(k, c->n, c->eps), a = kr_level_double(c->level);
        verdict("p", kr_p_decide(p, a));
        number("p", p);
        double up = kr_binom_upper(k, c->n, a);
        number("upper", up), number("lower", kr_binom_lower(k, c->n, a));
        number("upper_strat", kr_binom_upper_strat(k, c->n, a));
        number("ln_q", kr_binom_tails(k, c->n, kr_dec_double(c->eps)).ln_q);
    }
}

static void families(rng *r, const contract *c) {
    int64_t k[4 * 8];
    size_t length[4] = {8, 8, 8, 8};
    length[1] = 1 + (size_t)below(r, 8);
    length[3] = (size_t)below(r, 8);
    kr_family_member m[4];
    kr_graph *g = NULL;
    kr_ratio p[32];
    kr_claim claim[32];
    size_t done = 0, at = 0;
    for (int j = 0; j < 32; j++)
        k[j] = near(r, c);
    if (kr_family_certify(4, length, count, k, c->n, c->eps, kr_level_make(c->delta, 1), NULL, m, NULL) == KR_OK)
        for (int i = 0; i < 4; i++)
            verdict("family", m[i].sequence.certified), verdict("family_kmax", m[i].limits.kmax);
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < length[i]; j++)
            p[at++] = kr_ratio_double(kr_p_value(k[i * 8 + j], c->n, c->eps));
    length[3] = length[3] > 0 ? length[3] : 1;
    at = length[0] + length[1] + length[2] + length[3];
    p[at - 1] = kr_ratio_double(kr_p_value(k[31], c->n, c->eps));
    if (kr_graph_chains(4, length, NULL, &g, NULL) == KR_OK &&
        kr_graph_test(g, p, kr_level_make(c->delta, 1), claim, &done, NULL) == KR_OK) {
        verdict("graph", (long long)done);
        for (size_t j = 0; j < at; j++)
            verdict("graph_claim", claim[j].verdict * 100 + claim[j].order), number("adjusted", claim[j].adjusted);
    }
    kr_graph_free(g);
    verdict("holm", (long long)kr_multiple_holm(at, p, c->level, claim));
    verdict("bonferroni", (long long)kr_multiple_bonferroni(at, p, c->level, claim));
}

static void afterwards(rng *r, const contract *c) {
    size_t m = 1 + (size_t)below(r, 20), g = 1 + (size_t)below(r, 20), risks = 1 + (size_t)below(r, 9);
    kr_level a = kr_posthoc_level(c->level, m, g), b = kr_posthoc_level_map(c->level, m, g, risks);
    verdict("joint_den", a.den), verdict("joint", kr_kmax(c->n, c->eps, a));
    verdict("map_den", b.den), verdict("map", kr_kmax(c->n, c->eps, b));
    double d = kr_level_double(c->level);
    verdict("dkw", kr_dkw_kmax(c->n, c->eps, d));
    verdict("evalue", kr_evalue_kmax(c->n, c->eps, d));
    number("ln_e", kr_evalue_ln(near(r, c), c->n, c->eps));
}

static void mixtures(rng *r, const contract *c) {
    int64_t n[5], k[5], sum = 0, part[5];
    kr_ratio w[5];
    kr_mixture_claim x;
    kr_worst_claim worst;
    kr_task_interval t[5];
    double e = kr_dec_double(c->eps), d = kr_level_double(c->level);
    for (int h = 0; h < 5; h++) {
        n[h] = 50 + below(r, 1000);
        k[h] = (int64_t)(e * (double)n[h] * (double)below(r, 100) / 100);
        sum += part[h] = 1 + below(r, 4);
    }
    for (int h = 0; h < 5; h++)
        w[h] = kr_ratio_make(part[h], sum);
    if (kr_mixture_test(5, k, n, w, c->eps, &x, NULL) == KR_OK)
        verdict("mixture", kr_p_decide(x.p, d)), number("mixture", x.p);
    if (kr_mixture_worst(5, k, n, c->eps, c->level, &worst, NULL) == KR_OK)
        verdict("worst", kr_p_decide(worst.p, d)), number("worst", worst.upper);
    if (kr_task_intervals(5, k, n, c->eps, c->level, KR_RULE_SIDAK, t, NULL) == KR_OK)
        for (int h = 0; h < 5; h++)
            verdict("task", t[h].flag), number("task", t[h].upper);
}

static void means(rng *r, const contract *c) {
    static const kr_mean_kind kind[] = {KR_MEAN_KL, KR_MEAN_HB, KR_MEAN_BERNSTEIN, KR_MEAN_WSR, KR_MEAN_WSR_ROUNDS};
    int64_t loss[ROWS];
    int rare = 1 + (int)below(r, 40);
    for (int i = 0; i < ROWS; i++)
        loss[i] = below(r, rare) > 0 ? 0 : below(r, 1000000001);
    for (size_t i = 0; i < sizeof kind / sizeof *kind; i++) {
        kr_mean_claim m;
        if (kr_mean_test(kind[i], loss, ROWS, 6, c->eps, c->level, &m, NULL) != KR_OK)
            continue;
        verdict("mean", kr_p_decide(m.p, kr_level_double(c->level)));
        number("mean_p", m.p), number("mean_upper", m.upper);
    }
}

static void pairs(rng *r, const contract *c) {
    kr_mcnemar_claim m;
    double lo, hi, d = kr_level_double(c->level);
    int64_t n = 1 + below(r, 5000), b = below(r, n / 2 + 1), k = below(r, n / 2 + 1); /* in this order */
    if (kr_mcnemar(b, k, n, d, &m, NULL) == KR_OK) {
        verdict("mcnemar", kr_p_decide(m.two_sided, d)), verdict("better", kr_p_decide(m.a_better, d));
        number("mcnemar", m.two_sided), number("difference", m.upper);
    }
    if (kr_anytime_interval(b, n, d, &lo, &hi, NULL) == KR_OK)
        verdict("anytime", hi < kr_dec_double(c->eps)), number("anytime_lo", lo), number("anytime_hi", hi);
}

static void bands(void) {
    static const int64_t n[] = {20, 60, 100, 200};
    static const double delta[] = {0.2, 0.05, 0.01, 0.001};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            double c;
            if (kr_bj_level(n[i], delta[j], 1, n[i], &c, NULL) != KR_OK)
                continue;
            number("berk_jones", c);
            for (int e = 1; e < 10; e++)
                verdict("berk_jones", kr_bj_kmax(n[i], kr_dec_make(4 * e, 2), c));
        }
}

static void plans(rng *r, const contract *c) {
    kr_plan_size s;
    double risk = kr_dec_double(c->eps) * (double)(1 + below(r, 9)) / 10;
    int64_t step = 1 + below(r, 12);
    if (kr_plan_needed(risk, 0.8, c->eps, c->level, step, 10000000, &s, NULL) == KR_OK)
        verdict("first", s.first), verdict("stable", s.stable);
}

int main(void) {
    rng r = kr_random_start(11, 0);
    for (int i = 0; i < CONTRACTS; i++) {
        contract c = {.n = size(&r)}; /* one draw a statement: arguments have no order */
        c.eps = decimal(&r, 6);
        do
            c.delta = decimal(&r, 9);
        while (kr_dec_cmp(c.delta, kr_dec_make(5, 1)) > 0);
        c.n = c.n > 10000000 ? 10000000 : c.n;
        c.level = kr_level_make(c.delta, 1 + below(&r, 13));
        c.limits = kr_limits_make(c.n, c.eps, c.level);
        binomial(&r, &c);
        families(&r, &c);
        afterwards(&r, &c);
        mixtures(&r, &c);
        if (i % 10 == 0)
            means(&r, &c);
        pairs(&r, &c);
        if (i % 10 == 0)
            plans(&r, &c);
    }
    bands();
    return 0;
}
C
build() { # name compiler flags...
    name=$1 cc=$2
    shift 2
    "$cc" -std=c11 -D_XOPEN_SOURCE=700 -Isrc "$@" -o "$tmp/$name" "$tmp/main.c" src/risk/*.c src/base/decimal.c \
        src/base/status.c -lgsl -lm 2>"$tmp/$name.err" || { cat "$tmp/$name.err"; return 1; }
    "$tmp/$name" >"$tmp/$name.out" || { echo "$name failed"; return 1; }
    grep '^v' "$tmp/$name.out" >"$tmp/$name.verdicts"
}
build gcc-O0 gcc -O0 & build clang-O0 clang -O0; wait $! || exit 1
build gcc-O3 gcc -O3 & build clang-O3 clang -O3; wait $! || exit 1
# Products and sums rounded once instead of twice, on what this machine has.
build gcc-fused gcc -O3 -march=native -ffp-contract=fast &
build clang-fused clang -O3 -march=native -ffp-contract=fast
wait $! || exit 1
all="clang-O0 gcc-O3 clang-O3 gcc-fused clang-fused"
[ "$(wc -l <"$tmp/gcc-O0.verdicts")" -gt 30000 ] || { echo "only $(wc -l <"$tmp/gcc-O0.verdicts") verdicts"; exit 1; }
for b in $all; do
    cmp "$tmp/gcc-O0.verdicts" "$tmp/$b.verdicts" || { diff "$tmp/gcc-O0.verdicts" "$tmp/$b.verdicts" | head -5; exit 1; }
done
"$python" - "$tmp" $all <<'P'
import sys
d = sys.argv[1]
read = lambda b: [l.split()[1:] for l in open(f"{d}/{b}.out") if l[0] == "d"]
base, verdicts = read("gcc-O0"), sum(1 for _ in open(f"{d}/gcc-O0.verdicts"))
worst = {}
for b in sys.argv[2:]:
    other = read(b)
    assert len(other) == len(base), (b, len(other), len(base))
    for (what, x), (_, y) in zip(base, other):
        x, y = float(x), float(y)
        gap = 0 if x == y else abs(x - y) / max(abs(x), abs(y), 1e-300)
        if x != x or y != y:
            raise SystemExit(f"{b}: {what} is not a number")
        if abs(x) < 1e-280 and abs(y) < 1e-280:
            gap = 0  # what is left of a tail that underflows
        if gap > worst.get(what, (0,))[0]:
            worst[what] = (gap, b, x, y)
top = max(worst.items(), key=lambda w: w[1][0])
for what, w in sorted(worst.items(), key=lambda w: -w[1][0]):
    assert w[0] < 1e-9, (what, w)
print(f"note: {verdicts} verdicts on 500 random contracts are the same in 6 builds (gcc, clang; -O0, -O3, fused); "
      f"{len(base)} numbers differ by at most {top[1][0]:.1g} ({top[0]}, {top[1][1]})")
P
