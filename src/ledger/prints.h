/* prints.h - fingerprints of the requests of a calibration file, by which they are known again in a copy
 * whose rows were reordered, taken out, reformatted or renamed.
 *
 * 64-bit hashes that are not meant to resist an attack: who changes what the request is and what came
 * of it has made another request. Names and ids are compared without regard to case. */
#ifndef KR_LEDGER_PRINTS_H
#define KR_LEDGER_PRINTS_H

#include "calib/calib.h"

typedef enum {
    KR_PRINT_REQUEST, /* model, benchmark, protocol, task, id */
    KR_PRINT_PROMPT,  /* model, protocol, prompt; rows that tell it */
    KR_PRINT_ID,      /* id */
    KR_PRINT_RESULT,  /* id, all utilities; rows where some utility is not that of full KV */
    KR_PRINT_NUMBERS, /* all utilities; the same rows */
    KR_PRINTS
} kr_print_kind;

typedef struct {
    uint64_t value;
    uint32_t row;
} kr_print;

typedef struct {
    kr_print *of[KR_PRINTS]; /* [n[kind]] by value */
    size_t n[KR_PRINTS], rows;
} kr_prints;

/* Cost: linear in the file, about 80 bytes a row. KR_ENOMEM. */
kr_status kr_prints_make(const kr_calib *c, kr_prints *out, kr_error *err);
void kr_prints_free(kr_prints *p);

/* By value. */
kr_status kr_prints_sort(kr_print *x, size_t n, kr_error *err);

/* Of the prompt that a row tells; false where it tells none. */
bool kr_print_prompt(const kr_request *r, uint64_t *out);

/* Continues a hash: the finalizer of SplitMix64 (Steele, Lea and Flood 2014) as a chain. */
static inline uint64_t kr_print_word(uint64_t h, uint64_t word) {
    h += word + UINT64_C(0x9E3779B97F4A7C15);
    h = (h ^ h >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    h = (h ^ h >> 27) * UINT64_C(0x94D049BB133111EB);
    return h ^ h >> 31;
}
/* Without regard to the case of ASCII letters; the length counts. */
uint64_t kr_print_text(uint64_t h, const char *s, size_t len);

#endif
