#include "base/decimal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef __int128 i128;

static const int64_t pow10_table[19] = {
    1,
    10,
    100,
    1000,
    10000,
    100000,
    1000000,
    10000000,
    100000000,
    1000000000,
    10000000000,
    100000000000,
    1000000000000,
    10000000000000,
    100000000000000,
    1000000000000000,
    10000000000000000,
    100000000000000000,
    1000000000000000000,
};

#define DIGITS_MAX INT64_C(999999999999999999) /* 18 digits */

kr_dec kr_dec_make(int64_t digits, int scale) {
    while (scale > 0 && digits % 10 == 0) {
        digits /= 10;
        scale--;
    }
    return (kr_dec){digits, scale};
}

/* The parts of a number's text: digits without the point, and the power of ten of the last one. */
typedef struct {
    bool negative;
    bool any;       /* at least one digit */
    bool leading_0; /* the integer part has more than one digit and starts with 0 */
    bool bare;      /* the integer or the fraction part has no digit although a point is there */
    bool plus;      /* starts with '+' */
    const char *first;
    size_t mantissa_len; /* digits and point */
    int64_t exponent;    /* written exponent, clamped to +-10000 */
    size_t used;
} number;

static number scan_number(const char *s, size_t len) {
    number n = {.first = s};
    size_t i = 0, ints = 0, fracs = 0;
    bool point = false;
    if (i < len && (s[i] == '-' || s[i] == '+')) {
        n.negative = s[i] == '-';
        n.plus = s[i] == '+';
        i++;
    }
    n.first = s + i;
    size_t from = i;
    while (i < len && s[i] >= '0' && s[i] <= '9')
        i++, ints++;
    n.leading_0 = ints > 1 && s[from] == '0';
    if (i < len && s[i] == '.') {
        point = true;
        i++;
        while (i < len && s[i] >= '0' && s[i] <= '9')
            i++, fracs++;
    }
    n.any = ints + fracs > 0;
    n.bare = ints == 0 || (point && fracs == 0);
    n.mantissa_len = i - from;
    if (n.any && i < len && (s[i] == 'e' || s[i] == 'E')) {
        size_t j = i + 1;
        bool neg = j < len && s[j] == '-';
        if (j < len && (s[j] == '-' || s[j] == '+'))
            j++;
        size_t start = j;
        int64_t e = 0;
        for (; j < len && s[j] >= '0' && s[j] <= '9'; j++)
            e = e < 10000 ? e * 10 + (s[j] - '0') : e;
        if (j > start) {
            n.exponent = neg ? -e : e;
            i = j;
        }
    }
    n.used = i;
    return n;
}

static bool push_digit(int64_t *v, int d) {
    if (*v > (DIGITS_MAX - d) / 10)
        return false;
    *v = *v * 10 + d;
    return true;
}

/* Collects the significant digits of a scanned number: value = *digits x 10^*power, exactly.
 * False when more than 18 significant digits are needed. */
static bool significand(const number *n, int64_t *digits, int64_t *power) {
    int64_t v = 0, pow = n->exponent, zeros = 0;
    bool frac = false;
    for (size_t i = 0; i < n->mantissa_len; i++) {
        char c = n->first[i];
        if (c == '.') {
            frac = true;
            continue;
        }
        pow -= frac ? 1 : 0;
        if (c == '0') {
            zeros++;
            continue;
        }
        for (; v != 0 && zeros > 0; zeros--)
            if (!push_digit(&v, 0))
                return false;
        zeros = 0;
        if (!push_digit(&v, c - '0'))
            return false;
    }
    *digits = n->negative ? -v : v;
    *power = v == 0 ? 0 : pow + zeros;
    return true;
}

kr_status kr_dec_parse(const char *s, size_t len, kr_dec *out, kr_error *err) {
    number n = scan_number(s, len);
    int64_t digits, power;
    if (!n.any || n.used != len)
        return kr_fail(err, KR_EINVAL, "'%.*s' is not a number", (int)(len < 40 ? len : 40), s);
    if (!significand(&n, &digits, &power) || power < -KR_DEC_MAX_SCALE || power > 17)
        return kr_fail(err, KR_EINVAL, "'%.*s' does not fit 18 digits and 18 decimals",
                       (int)(len < 40 ? len : 40), s);
    for (; power > 0; power--) {
        if (digits > DIGITS_MAX / 10 || digits < -(DIGITS_MAX / 10))
            return kr_fail(err, KR_EINVAL, "'%.*s' does not fit 18 digits and 18 decimals",
                           (int)(len < 40 ? len : 40), s);
        digits *= 10;
    }
    *out = kr_dec_make(digits, (int)-power);
    return KR_OK;
}

kr_status kr_dec_parse_percent(const char *s, kr_dec *out, kr_error *err) {
    while (*s == ' ' || *s == '\t')
        s++;
    size_t len = strlen(s);
    while (len > 0 && (s[len - 1] == ' ' || s[len - 1] == '\t'))
        len--;
    bool percent = len > 1 && s[len - 1] == '%';
    if (!percent)
        return kr_dec_parse(s, len, out, err);
    len--;
    while (len > 0 && s[len - 1] == ' ')
        len--;
    kr_dec v;
    kr_status st = kr_dec_parse(s, len, &v, err);
    if (st != KR_OK)
        return st;
    if (v.scale > KR_DEC_MAX_SCALE - 2)
        return kr_fail(err, KR_EINVAL, "'%.40s' does not fit 18 digits and 18 decimals", s);
    *out = kr_dec_make(v.digits, v.scale + 2);
    return KR_OK;
}

int kr_dec_cmp(kr_dec a, kr_dec b) {
    i128 x = (i128)a.digits * pow10_table[b.scale], y = (i128)b.digits * pow10_table[a.scale];
    return (x > y) - (x < y);
}

static bool add(kr_dec a, kr_dec b, int sign, kr_dec *out) {
    int scale = a.scale > b.scale ? a.scale : b.scale;
    i128 x = (i128)a.digits * pow10_table[scale - a.scale] +
             sign * (i128)b.digits * pow10_table[scale - b.scale];
    while (scale > 0 && x % 10 == 0) {
        x /= 10;
        scale--;
    }
    if (x > DIGITS_MAX || x < -DIGITS_MAX)
        return false;
    *out = (kr_dec){(int64_t)x, scale};
    return true;
}

bool kr_dec_add(kr_dec a, kr_dec b, kr_dec *out) { return add(a, b, 1, out); }
bool kr_dec_sub(kr_dec a, kr_dec b, kr_dec *out) { return add(a, b, -1, out); }

double kr_dec_double(kr_dec a) {
    /* Both parts below 2^53 and a power of ten up to 10^18 that is exact in a double: one correctly
     * rounded division. Larger digits go through the text, which strtod rounds correctly. */
    if (a.digits < (INT64_C(1) << 53) && a.digits > -(INT64_C(1) << 53))
        return (double)a.digits / (double)pow10_table[a.scale];
    char buf[KR_DEC_TEXT];
    return strtod(kr_dec_text(a, buf), NULL);
}

kr_dec kr_dec_from_double(double x, int scale) {
    double y = x * (double)pow10_table[scale];
    if (!(fabs(y) < 9e17))
        return (kr_dec){0, 0};
    return kr_dec_make(llrint(y), scale);
}

char *kr_dec_fixed(kr_dec a, int places, char buf[KR_DEC_TEXT]) {
    places = places < 0 ? 0 : places > KR_DEC_MAX_SCALE ? KR_DEC_MAX_SCALE : places;
    uint64_t v = a.digits < 0 ? (uint64_t)-a.digits : (uint64_t)a.digits;
    uint64_t unit = (uint64_t)pow10_table[a.scale];
    const char *sign = a.digits < 0 ? "-" : "";
    int n = snprintf(buf, KR_DEC_TEXT, "%s%llu", sign, (unsigned long long)(v / unit));
    if (a.scale > 0)
        n += snprintf(buf + n, KR_DEC_TEXT - (size_t)n, ".%0*llu", a.scale,
                      (unsigned long long)(v % unit));
    else if (places > 0 && n < KR_DEC_TEXT - 1)
        buf[n++] = '.';
    for (int i = a.scale; i < places && n < KR_DEC_TEXT - 1; i++)
        buf[n++] = '0';
    buf[n < KR_DEC_TEXT ? n : KR_DEC_TEXT - 1] = '\0';
    return buf;
}

char *kr_dec_text(kr_dec a, char buf[KR_DEC_TEXT]) { return kr_dec_fixed(a, 0, buf); }

char *kr_dec_percent(kr_dec a, int places, char buf[KR_DEC_TEXT]) {
    kr_dec p = a.scale >= 2 ? kr_dec_make(a.digits, a.scale - 2)
                            : (kr_dec){a.digits * (a.scale == 1 ? 10 : 100), 0};
    return kr_dec_fixed(p, places, buf);
}

/* v / 10^down rounded half to even; `rest` says that something nonzero was cut off below v. */
static int64_t round_half_even(int64_t v, int down, bool rest) {
    if (down <= 0)
        return v;
    if (down > 18) { /* v < 10^19: at most one unit, and only beyond one half */
        const int64_t half = INT64_C(5000000000000000000);
        return down == 19 && (v > half || (v == half && rest)) ? 1 : 0;
    }
    int64_t unit = pow10_table[down], q = v / unit, r = v % unit, half = unit / 2;
    if (r > half || (r == half && (rest || (q & 1))))
        q++;
    return q;
}

/* Nano-units of a scanned number with any count of digits: keeps 19 significant digits and whether
 * anything nonzero followed, which is all that rounding needs below 4e9. */
static bool nano_of(const number *n, int64_t *out) {
    int64_t v = 0, pow = n->exponent;
    bool frac = false, rest = false, full = false;
    for (size_t i = 0; i < n->mantissa_len; i++) {
        char c = n->first[i];
        if (c == '.') {
            frac = true;
            continue;
        }
        if (!full && v > (INT64_MAX - 9) / 10)
            full = true;
        if (full) {
            rest = rest || c != '0';
            pow += frac ? 0 : 1;
            continue;
        }
        v = v * 10 + (c - '0');
        pow -= frac ? 1 : 0;
    }
    int64_t up = pow + 9; /* value in nano-units = v x 10^up */
    if (v == 0) {
        *out = 0;
        return true;
    }
    if (up > 18)
        return false;
    for (; up > 0; up--) {
        if (v > KR_NANO_MAX / 10)
            return false;
        v *= 10;
    }
    v = round_half_even(v, up < -20 ? 20 : (int)-up, rest);
    if (v > KR_NANO_MAX)
        return false;
    *out = n->negative ? -v : v;
    return true;
}

bool kr_nano_scan(const char *s, size_t len, int64_t *out, size_t *used) {
    number n = scan_number(s, len);
    if (!n.any || n.leading_0 || n.bare || n.plus)
        return false;
    /* An 'e' without digits is not part of a JSON number; the caller meets it and refuses it. */
    *used = n.used;
    return nano_of(&n, out);
}

bool kr_dec_nano(kr_dec a, int64_t *out) {
    int64_t v = a.digits < 0 ? -a.digits : a.digits;
    for (int up = 9 - a.scale; up > 0; up--) {
        if (v > KR_NANO_MAX / 10)
            return false;
        v *= 10;
    }
    v = round_half_even(v, a.scale - 9, false);
    if (v > KR_NANO_MAX)
        return false;
    *out = a.digits < 0 ? -v : v;
    return true;
}

kr_dec kr_nano_dec(int64_t v) {
    if (v > DIGITS_MAX || v < -DIGITS_MAX) { /* 19 digits: drop decimals that are zero by range */
        kr_dec d = kr_dec_make(v, 9);
        return d.digits <= DIGITS_MAX && d.digits >= -DIGITS_MAX ? d : kr_dec_make(v / 10, 8);
    }
    return kr_dec_make(v, 9);
}
