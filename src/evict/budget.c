#include "evict/budget.h"

#include <stdlib.h>

__extension__ typedef __int128 wide;

static wide power(int scale) {
    wide p = 1;
    for (int i = 0; i < scale; i++)
        p *= 10;
    return p;
}

/* num / den >= 0 to the nearest integer, halves to even. */
static size_t half_even(wide num, wide den) {
    wide q = num / den, twice = 2 * (num % den);
    if (twice > den || (twice == den && q % 2 != 0))
        q++;
    return (size_t)q;
}

/* The binary number nearest to 1 - r, by its decimal text as a user of the references would write
 * it: the difference of two binary numbers is another one. */
static double removed(kr_dec r) {
    kr_dec c;
    char text[KR_DEC_TEXT];
    if (!kr_dec_sub(kr_dec_make(1, 0), r, &c))
        return 0;
    return strtod(kr_dec_text(c, text), NULL);
}

size_t kr_budget(size_t n, size_t times, kr_dec r, kr_rounding how) {
    wide num = (wide)r.digits * (wide)n * (wide)times, den = power(r.scale);
    if (how == KR_ROUND_EVEN)
        return half_even(num, den);
    if (how == KR_ROUND_FLOAT)
        return (size_t)((double)n * (1.0 - removed(r)) * (double)times);
    return (size_t)(num / den);
}

size_t kr_budget_clamp(size_t n, size_t b) {
    b = b > n ? n : b;
    return b == 0 ? 1 : b;
}

size_t kr_floor_times(kr_dec a, size_t x) {
    return (size_t)((wide)a.digits * (wide)x / power(a.scale));
}

size_t kr_budget_pyramid(size_t n, size_t w, size_t layer, size_t layers, size_t beta, kr_dec r,
                         bool *uniform) {
    /* All in units of 1 / (beta 10^scale). */
    wide unit = power(r.scale) * (wide)beta, t = (wide)r.digits * (wide)n * (wide)beta;
    wide lo = t / (wide)beta, hi = 2 * t - lo, cap = ((wide)n - (wide)w) * unit;
    if (hi >= cap) {
        hi = cap;
        lo = 2 * t - hi;
    }
    *uniform = layers > 1 && !((wide)n * unit >= hi && hi >= lo && lo >= (wide)w * unit);
    if (layers == 1 || *uniform)
        return kr_budget_clamp(n, half_even(t, unit));
    wide steps = (wide)layers - 1;
    return kr_budget_clamp(n, half_even(hi * steps - (wide)layer * (hi - lo), unit * steps));
}
