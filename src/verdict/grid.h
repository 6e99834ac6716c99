/* grid.h - the values a contract is shown at when nothing else is asked: map, strips, sweeps. */
#ifndef KR_VERDICT_GRID_H
#define KR_VERDICT_GRID_H

#include "verdict/verdict.h"

#define KR_GRID_MAX 4096

/* Tolerances 0 to 0.30 (11 values) and risk targets 20 % to 0.5 % (13 values); tolerances are in
 * units of the utility range (x 100 for utilities of 0 to 100). `wide` has 16 tolerances. */
size_t kr_grid_tolerances(const kr_calib *c, bool wide, kr_dec out[16]);
size_t kr_grid_risks(kr_dec out[13]);

/* Comma-separated values such as "0.05,0.1,20%" to out[max]; KR_EINVAL with a sentence. */
kr_status kr_grid_parse(const char *list, kr_dec *out, size_t max, size_t *n, kr_error *err);

/* Value i of n evenly spaced ones from a to b, ends included and exact; in between rounded to nine
 * decimals where the step does not terminate. */
kr_dec kr_grid_step(kr_dec a, kr_dec b, size_t i, size_t n);

#endif
