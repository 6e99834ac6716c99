#include "risk/multiple.h"

#include <math.h>

static kr_ratio clean(kr_ratio p) {
    const kr_ratio one = {1, 1, 1};
    return p.value >= 0 && p.value <= 1 ? p : one;
}

static double capped(kr_ratio a) { return a.value < 1 ? a.value : 1; }

size_t kr_multiple_fixed(size_t m, const kr_ratio *p, kr_level delta, kr_claim *out) {
    kr_ratio level = kr_ratio_level(delta);
    double worst = 0;
    size_t done = 0;
    for (size_t j = 0; j < m; j++) {
        kr_ratio pj = clean(p[j]);
        worst = fmax(worst, pj.value);
        kr_claim c = {.adjusted = worst};
        if (done == j) {
            c.level = level.value;
            c.verdict = kr_p_decide_ratio(pj, level);
            if (c.verdict == KR_REJECT_YES)
                c.order = (int)++done;
        }
        out[j] = c;
    }
    return done;
}

size_t kr_multiple_bonferroni(size_t m, const kr_ratio *p, kr_level delta, kr_claim *out) {
    kr_ratio count = kr_ratio_make((int64_t)m, 1);
    kr_ratio level = kr_ratio_div(kr_ratio_level(delta), count);
    size_t done = 0;
    for (size_t j = 0; j < m; j++) {
        kr_ratio pj = clean(p[j]);
        kr_claim c = {.level = level.value, .adjusted = capped(kr_ratio_mul(pj, count))};
        c.verdict = kr_p_decide_ratio(pj, level);
        if (c.verdict == KR_REJECT_YES)
            c.order = (int)++done;
        out[j] = c;
    }
    return done;
}

/* Smallest p among those not yet visited (adjusted still negative), or m. */
static size_t smallest_left(size_t m, const kr_ratio *p, const kr_claim *out) {
    size_t best = m;
    for (size_t j = 0; j < m; j++)
        if (out[j].adjusted < 0 && (best == m || kr_ratio_cmp(clean(p[j]), clean(p[best])) < 0))
            best = j;
    return best;
}

size_t kr_multiple_holm(size_t m, const kr_ratio *p, kr_level delta, kr_claim *out) {
    for (size_t j = 0; j < m; j++)
        out[j] = (kr_claim){.adjusted = -1};
    double worst = 0;
    size_t done = 0;
    for (size_t k = 0; k < m; k++) {
        size_t j = smallest_left(m, p, out);
        kr_ratio left = kr_ratio_make((int64_t)(m - k), 1);
        worst = fmax(worst, capped(kr_ratio_mul(clean(p[j]), left)));
        out[j].adjusted = worst;
        if (done < k)
            continue; /* an earlier one failed */
        kr_ratio level = kr_ratio_div(kr_ratio_level(delta), left);
        out[j].level = level.value;
        out[j].verdict = kr_p_decide_ratio(clean(p[j]), level);
        if (out[j].verdict == KR_REJECT_YES)
            out[j].order = (int)++done;
    }
    return done;
}

kr_ratio kr_multiple_all(size_t m, const kr_ratio *p) {
    kr_ratio worst = {0, 0, 1};
    for (size_t j = 0; j < m; j++)
        if (kr_ratio_cmp(clean(p[j]), worst) > 0)
            worst = clean(p[j]);
    return m == 0 ? kr_ratio_make(1, 1) : worst;
}
