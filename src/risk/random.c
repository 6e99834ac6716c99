#include "risk/random.h"

#include "base/mix.h"

__extension__ typedef unsigned __int128 wide;

uint64_t kr_random_next(kr_random *r) { return kr_mix_next(&r->state); }

/* The stream goes through the mixer first: neighbouring streams must not be shifted copies. */
kr_random kr_random_start(uint64_t seed, uint64_t stream) {
    kr_random mix = {stream};
    uint64_t a = kr_random_next(&mix), b = kr_random_next(&mix);
    return (kr_random){(seed ^ a) * (b | 1)};
}

uint64_t kr_random_below(kr_random *r, uint64_t n) {
    wide m = (wide)kr_random_next(r) * n;
    if ((uint64_t)m < n) {
        uint64_t least = (0 - n) % n;
        while ((uint64_t)m < least)
            m = (wide)kr_random_next(r) * n;
    }
    return (uint64_t)(m >> 64);
}

void kr_random_shuffle(kr_random *r, size_t *a, size_t n) {
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)kr_random_below(r, i), t = a[i - 1];
        a[i - 1] = a[j];
        a[j] = t;
    }
}
