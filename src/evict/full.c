/* full.c - no eviction: what every comparison starts from. */
#include "evict/parts.h"

const kr_evictor kr_evictor_full = {
    .name = "full",
    .what = "the whole cache",
    .paper = "-",
};
