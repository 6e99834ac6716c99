#include "verdict/grid.h"

#include <stdlib.h>
#include <string.h>

int64_t kr_tolerance_unit(const kr_calib *c) {
    const kr_calib_meta *m = kr_calib_meta_of(c);
    return m->kind == KR_KIND_CALIBRATION && m->utility_max - m->utility_min > 10 * KR_NANO ? 100 : 1;
}

bool kr_tolerance_says_nothing(const kr_calib *c, kr_dec tolerance) {
    const kr_calib_meta *m = kr_calib_meta_of(c);
    return m->kind == KR_KIND_CALIBRATION &&
           kr_dec_cmp(tolerance, kr_dec_make(m->utility_max - m->utility_min, 9)) >= 0;
}

size_t kr_grid_tolerances(const kr_calib *c, bool wide, kr_dec out[16]) {
    static const int narrow_values[] = {0, 2, 4, 6, 8, 10, 12, 15, 20, 25, 30};
    static const int wide_values[] = {0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50};
    const int *v = wide ? wide_values : narrow_values;
    size_t n = wide ? 16 : 11;
    for (size_t i = 0; i < n; i++)
        out[i] = kr_dec_make(v[i] * kr_tolerance_unit(c), 2);
    return n;
}

size_t kr_grid_risks(kr_dec out[13]) {
    static const int permille[] = {200, 150, 120, 100, 80, 60, 50, 40, 30, 20, 15, 10, 5};
    for (size_t i = 0; i < 13; i++)
        out[i] = kr_dec_make(permille[i], 3);
    return 13;
}

kr_status kr_grid_parse(const char *list, kr_dec *out, size_t max, size_t *n, kr_error *err) {
    size_t count = 0;
    for (const char *p = list;;) {
        size_t len = strcspn(p, ",");
        char word[64];
        if (len >= sizeof word)
            return kr_fail(err, KR_EINVAL, "'%.40s...' is not a number", p);
        memcpy(word, p, len);
        word[len] = '\0';
        if (count == max)
            return kr_fail(err, KR_EINVAL, "more than %zu values, the limit", max);
        kr_status st = kr_dec_parse_percent(word, &out[count], err);
        if (st != KR_OK)
            return st;
        count++;
        if (p[len] == '\0')
            break;
        p += len + 1;
    }
    *n = count;
    return KR_OK;
}

__extension__ typedef __int128 i128;

kr_dec kr_grid_step(kr_dec a, kr_dec b, size_t i, size_t n) {
    if (n < 2 || i == 0)
        return a;
    if (i >= n - 1)
        return b;
    int scale = a.scale > b.scale ? a.scale : b.scale;
    i128 x = a.digits, y = b.digits;
    for (int k = a.scale; k < scale; k++)
        x *= 10;
    for (int k = b.scale; k < scale; k++)
        y *= 10;
    /* a + (b - a) i / (n - 1), with more decimals as long as the division leaves a rest. */
    i128 num = x * (i128)(n - 1) + (y - x) * (i128)i, den = (i128)(n - 1);
    while (num % den != 0 && scale < 9) {
        num *= 10;
        scale++;
    }
    i128 q = num / den, r = num % den;
    if (2 * (r < 0 ? -r : r) >= den)
        q += num < 0 ? -1 : 1;
    return kr_dec_make((int64_t)q, scale);
}
