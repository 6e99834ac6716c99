/* sortdrops.h - ascending sort of many integers. */
#ifndef KR_CALIB_SORTDROPS_H
#define KR_CALIB_SORTDROPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sorts v[n] with scratch[n] (contents lost). Linear: a radix sort by eleven bits, which at a
 * million values is about ten times faster than qsort. */
void kr_sort_i32(int32_t *v, size_t n, int32_t *scratch);
void kr_sort_i64(int64_t *v, size_t n, int64_t *scratch);

#endif
