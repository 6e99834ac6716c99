/* mix.h - SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): the same numbers on every machine. */
#ifndef KR_BASE_MIX_H
#define KR_BASE_MIX_H

#include <stdint.h>

#define KR_MIX_STEP UINT64_C(0x9e3779b97f4a7c15)

/* The finaliser: a bijection that spreads every bit over all of them. */
static inline uint64_t kr_mix(uint64_t z) {
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* The generator: 64 bits of state, any seed is good. */
static inline uint64_t kr_mix_next(uint64_t *state) {
    return kr_mix(*state += KR_MIX_STEP);
}

#endif
