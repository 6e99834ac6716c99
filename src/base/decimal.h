/* decimal.h - exact decimals for contract values, and utilities as integers of 1e-9.
 *
 * Nothing that decides a certificate goes through a binary floating point number: 1 - 0.95 in
 * double is larger than 0.05, and 0.8 - 0.7 is larger than 0.1. */
#ifndef KR_BASE_DECIMAL_H
#define KR_BASE_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* digits / 10^scale with 0 <= scale <= 18, normalised: the last digit is not 0 while scale > 0. */
typedef struct {
    int64_t digits;
    int scale;
} kr_dec;

#define KR_DEC_MAX_SCALE 18
#define KR_DEC_TEXT 32 /* bytes that hold any formatted kr_dec, terminator included */

/* Reads sign, digits, fraction and exponent ("0.05", "-3", "5e-2", ".5"), the whole of s[0..len).
 * KR_EINVAL when it is no number or does not fit 18 decimals and 18 digits; never rounds. */
kr_status kr_dec_parse(const char *s, size_t len, kr_dec *out, kr_error *err);

/* As kr_dec_parse; a trailing '%' divides by 100 exactly ("5%" is 0.05). Blanks around are allowed. */
kr_status kr_dec_parse_percent(const char *s, kr_dec *out, kr_error *err);

/* Convenience for literals in code and tests: digits / 10^scale, normalised. */
kr_dec kr_dec_make(int64_t digits, int scale);

/* -1, 0 or 1. */
int kr_dec_cmp(kr_dec a, kr_dec b);

/* Exact a + b, a - b; false when the result does not fit, *out is then untouched. */
bool kr_dec_add(kr_dec a, kr_dec b, kr_dec *out);
bool kr_dec_sub(kr_dec a, kr_dec b, kr_dec *out);

/* The nearest double. */
double kr_dec_double(kr_dec a);

/* The decimal nearest to x with `scale` decimals (0..18); 0 where x is not finite or too large. */
kr_dec kr_dec_from_double(double x, int scale);

/* Shortest plain notation: "0.05", "-3", "100". Returns `buf`. */
char *kr_dec_text(kr_dec a, char buf[KR_DEC_TEXT]);

/* At least `places` decimals: 0.1 with 3 places is "0.100"; more digits are kept. Returns `buf`. */
char *kr_dec_fixed(kr_dec a, int places, char buf[KR_DEC_TEXT]);

/* a x 100 with at least `places` decimals and no sign: 0.05 with 1 place is "5.0". Returns `buf`. */
char *kr_dec_percent(kr_dec a, int places, char buf[KR_DEC_TEXT]);

/* --- nano-units ---------------------------------------------------------------------------- */

#define KR_NANO INT64_C(1000000000)
#define KR_NANO_MAX (INT64_C(4000000000) * KR_NANO) /* 4e9, so that differences fit int64 */

/* JSON number text at s (not longer than len) to nano-units, rounded half to even at the ninth
 * decimal, whatever the number of digits. *used is the length of the number. Refused (returns
 * false): no number by JSON's grammar, or |value| > 4e9. Only a leading number is read; the caller
 * checks what follows. */
bool kr_nano_scan(const char *s, size_t len, int64_t *out, size_t *used);

/* An exact decimal in nano-units, rounded half to even; false when |a| > 4e9. */
bool kr_dec_nano(kr_dec a, int64_t *out);

/* Nano-units as the exact decimal, always representable for |v| <= KR_NANO_MAX. */
kr_dec kr_nano_dec(int64_t v);

#endif
