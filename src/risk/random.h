/* random.h - the documented generator behind every random choice that is stored by its seed.
 *
 * SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): 64 bits of state, any seed is good, the same
 * numbers on every machine. `stream` separates choices made under one seed (a draw of a simulation,
 * a task of a split), so results do not depend on how work is spread over threads. */
#ifndef KR_RISK_RANDOM_H
#define KR_RISK_RANDOM_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t state;
} kr_random;

kr_random kr_random_start(uint64_t seed, uint64_t stream);
uint64_t kr_random_next(kr_random *r);

/* Uniform in 0..n-1 without bias, n >= 1 (Lemire, ACM TOMACS 29, 2019). */
uint64_t kr_random_below(kr_random *r, uint64_t n);

/* Puts a[n] into a uniformly random order (Fisher and Yates). */
void kr_random_shuffle(kr_random *r, size_t *a, size_t n);

#endif
