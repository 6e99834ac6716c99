/* quant.h - element types of GGUF tensors and their exact conversion to float.
 *
 * Block layouts are those of ggml (github.com/ggml-org/ggml, ggml-common.h). All conversions here
 * give the same bits as ggml's own, on every processor. */
#ifndef KR_ENGINE_QUANT_H
#define KR_ENGINE_QUANT_H

#include <stddef.h>
#include <stdint.h>

/* Values are the type numbers in the file. */
typedef enum {
    KR_QUANT_F32 = 0,
    KR_QUANT_F16 = 1,
    KR_QUANT_Q4_0 = 2,
    KR_QUANT_Q4_1 = 3,
    KR_QUANT_Q5_0 = 6,
    KR_QUANT_Q5_1 = 7,
    KR_QUANT_Q8_0 = 8,
    KR_QUANT_Q4_K = 12,
    KR_QUANT_Q5_K = 13,
    KR_QUANT_Q6_K = 14,
    KR_QUANT_BF16 = 30,
    KR_QUANT_END = 31
} kr_quant;

typedef struct {
    const char *name;
    size_t block; /* elements in one block */
    size_t bytes; /* bytes of one block */
} kr_quant_info;

/* NULL for a type number that this program cannot read. */
const kr_quant_info *kr_quant_describe(uint32_t type);

/* IEEE half (subnormals, infinities and NaN included) to float, exactly. */
float kr_quant_half(uint16_t h);

/* Expands n elements at src (a multiple of the block; no alignment needed) to dst[n]. */
void kr_quant_expand(kr_quant type, const uint8_t *src, size_t n, float *dst);

/* Scale and minimum (0..63) of sub-block b (0..7), from the twelve bytes s of a Q4_K or Q5_K
 * block. */
void kr_quant_scale_min(const uint8_t *s, unsigned b, unsigned *scale, unsigned *min);

#endif
