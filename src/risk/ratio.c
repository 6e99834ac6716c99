#include "risk/ratio.h"

#include <math.h>

__extension__ typedef __int128 wide;

static const kr_ratio zero = {0, 0, 1};

kr_level kr_level_make(kr_dec num, int64_t den) { return (kr_level){num, den}; }

double kr_level_double(kr_level a) { return a.den < 1 ? 0 : kr_dec_double(a.num) / (double)a.den; }

static wide gcd(wide a, wide b) {
    a = a < 0 ? -a : a;
    b = b < 0 ? -b : b;
    while (b != 0) {
        wide r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/* num/den in lowest terms if that fits 64 bits, else the double alone. den > 0. */
static kr_ratio reduced(wide num, wide den) {
    if (num == 0)
        return zero;
    wide g = gcd(num, den);
    num /= g;
    den /= g;
    if (num > INT64_MAX || num < -INT64_MAX || den > INT64_MAX)
        return kr_ratio_double((double)num / (double)den);
    return (kr_ratio){(double)num / (double)den, (int64_t)num, (int64_t)den};
}

kr_ratio kr_ratio_make(int64_t num, int64_t den) {
    if (den == 0)
        return zero;
    return den < 0 ? reduced(-(wide)num, -(wide)den) : reduced(num, den);
}

kr_ratio kr_ratio_double(double value) { return (kr_ratio){value, 0, 0}; }

static wide power_of_ten(int scale) {
    wide p = 1;
    for (int i = 0; i < scale; i++)
        p *= 10;
    return p;
}

kr_ratio kr_ratio_dec(kr_dec a) { return reduced(a.digits, power_of_ten(a.scale)); }

kr_ratio kr_ratio_level(kr_level a) {
    if (a.den < 1)
        return zero;
    return reduced(a.num.digits, power_of_ten(a.num.scale) * a.den); /* at most 1e18 * 2^63 */
}

bool kr_ratio_exact(kr_ratio a) { return a.den > 0; }

static bool both(kr_ratio a, kr_ratio b) { return a.den > 0 && b.den > 0; }

kr_ratio kr_ratio_add(kr_ratio a, kr_ratio b) {
    if (!both(a, b))
        return kr_ratio_double(a.value + b.value);
    wide x = (wide)a.num * b.den, y = (wide)b.num * a.den; /* each below 2^126: the sum fits */
    return reduced(x + y, (wide)a.den * b.den);
}

kr_ratio kr_ratio_sub(kr_ratio a, kr_ratio b) {
    return kr_ratio_add(a, (kr_ratio){-b.value, -b.num, b.den});
}

kr_ratio kr_ratio_mul(kr_ratio a, kr_ratio b) {
    if (kr_ratio_exact(a) && a.num == 0)
        return zero;
    if (kr_ratio_exact(b) && b.num == 0)
        return zero;
    if (!both(a, b))
        return kr_ratio_double(a.value * b.value);
    return reduced((wide)a.num * b.num, (wide)a.den * b.den);
}

kr_ratio kr_ratio_div(kr_ratio a, kr_ratio b) {
    if (b.value == 0 || isnan(b.value))
        return zero;
    if (!both(a, b))
        return kr_ratio_double(a.value / b.value);
    wide num = (wide)a.num * b.den, den = (wide)a.den * b.num;
    return den < 0 ? reduced(-num, -den) : reduced(num, den);
}

int kr_ratio_cmp(kr_ratio a, kr_ratio b) {
    if (!both(a, b))
        return (a.value > b.value) - (a.value < b.value);
    wide x = (wide)a.num * b.den, y = (wide)b.num * a.den;
    return (x > y) - (x < y);
}
