/* ratio.h - fractions for error levels and weights: exact while they fit, a double beyond.
 *
 * Splitting a level (1/3 of it here, half of the rest there) must not round in favour of a claim,
 * and a published p-value of 0.01 against 0.05/5 is a tie that has to be seen as one. */
#ifndef KR_RISK_RATIO_H
#define KR_RISK_RATIO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/decimal.h"

/* num/den in lowest terms with den > 0; den == 0 where only the double is known. */
typedef struct {
    double value;
    int64_t num, den;
} kr_ratio;

/* An error level num/den with den >= 1: delta itself (den 1), or a share of it such as delta/M. */
typedef struct {
    kr_dec num;
    int64_t den;
} kr_level;

kr_level kr_level_make(kr_dec num, int64_t den);
/* Nearest double up to one rounding; 0 where den < 1, so that a nonsense level rejects nothing. */
double kr_level_double(kr_level a);

kr_ratio kr_ratio_make(int64_t num, int64_t den); /* den == 0: 0 */
kr_ratio kr_ratio_double(double value);           /* known only approximately */
kr_ratio kr_ratio_dec(kr_dec a);
kr_ratio kr_ratio_level(kr_level a);
bool kr_ratio_exact(kr_ratio a);

kr_ratio kr_ratio_add(kr_ratio a, kr_ratio b);
kr_ratio kr_ratio_sub(kr_ratio a, kr_ratio b);
kr_ratio kr_ratio_mul(kr_ratio a, kr_ratio b);
kr_ratio kr_ratio_div(kr_ratio a, kr_ratio b); /* b == 0: 0 */

/* -1, 0, 1; exact where both are, else by the doubles. */
int kr_ratio_cmp(kr_ratio a, kr_ratio b);

#endif
