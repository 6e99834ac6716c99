/* noise.h - how often full KV is worse than itself: the floor that non-deterministic decoding puts
 * under every risk. */
#ifndef KR_VERDICT_NOISE_H
#define KR_VERDICT_NOISE_H

#include "verdict/verdict.h"

typedef struct {
    bool known; /* the file has a second full-KV run */
    int64_t n, events;
    double rate, lower, upper; /* Clopper-Pearson, half of delta on each side */
    bool hopeless;             /* the lower limit exceeds the risk target */
} kr_noise;

/* Requests of the split with a second full-KV run whose utility is more than the tolerance below the
 * first. O(rows). */
kr_noise kr_noise_floor(const kr_analysis *a);
/* What follows from it; nothing where it is not known. */
void kr_noise_sentence(const kr_analysis *a, const kr_noise *f, kr_buf *out);

#endif
