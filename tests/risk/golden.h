/* golden.h - reads tests/fixtures/golden_stats.json for the tests of the statistics.
 * Its values were computed with mpmath at 40 to 60 digits; see "meta" in the file. */
#ifndef KR_TESTS_RISK_GOLDEN_H
#define KR_TESTS_RISK_GOLDEN_H

#include <cjson/cJSON.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "risk/ratio.h"

static inline cJSON *golden_load(void) {
    FILE *f = fopen("tests/fixtures/golden_stats.json", "rb");
    if (f == NULL)
        return NULL;
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    char *text = size > 0 ? malloc((size_t)size + 1) : NULL;
    cJSON *root = NULL;
    if (text != NULL && fread(text, 1, (size_t)size, f) == (size_t)size)
        root = cJSON_ParseWithLength(text, (size_t)size);
    free(text);
    fclose(f);
    return root;
}

/* The whole file, for a group of tests: cmocka_run_group_tests(tests, load, unload). */
static cJSON *golden;

static inline int load(void **state) {
    (void)state;
    golden = golden_load();
    return golden == NULL;
}

static inline int unload(void **state) {
    (void)state;
    cJSON_Delete(golden);
    return 0;
}

static inline const cJSON *golden_get(const cJSON *o, const char *name) {
    return cJSON_GetObjectItemCaseSensitive(o, name);
}

/* NAN for null or absent. */
static inline double golden_num(const cJSON *o, const char *name) {
    const cJSON *v = golden_get(o, name);
    return cJSON_IsNumber(v) ? v->valuedouble : (double)NAN;
}

static inline int64_t golden_int(const cJSON *o, const char *name) {
    const cJSON *v = golden_get(o, name);
    return cJSON_IsNumber(v) ? (int64_t)v->valuedouble : INT64_MIN;
}

static inline const char *golden_str(const cJSON *o, const char *name) {
    const cJSON *v = golden_get(o, name);
    return cJSON_IsString(v) ? v->valuestring : "";
}

static inline bool golden_true(const cJSON *o, const char *name) {
    return cJSON_IsTrue(golden_get(o, name));
}

static inline kr_dec golden_dec(const char *text, size_t len) {
    kr_dec d = {0, 0};
    if (kr_dec_parse(text, len, &d, NULL) != KR_OK)
        fprintf(stderr, "bad decimal %.*s\n", (int)len, text), abort();
    return d;
}

static inline kr_dec dec(const char *s) { return golden_dec(s, strlen(s)); }

static inline kr_dec golden_decimal(const cJSON *o, const char *name) {
    const char *s = golden_str(o, name);
    return golden_dec(s, strlen(s));
}

/* "0.05" or "0.05/13" */
static inline kr_level golden_level(const cJSON *o, const char *name) {
    const char *s = golden_str(o, name), *slash = strchr(s, '/');
    if (slash == NULL)
        return kr_level_make(golden_dec(s, strlen(s)), 1);
    return kr_level_make(golden_dec(s, (size_t)(slash - s)), strtol(slash + 1, NULL, 10));
}

/* "1/14", "0.05", a long fraction that does not fit (approximate then), or a number */
static inline kr_ratio golden_ratio(const cJSON *v) {
    if (cJSON_IsNumber(v))
        return kr_ratio_double(v->valuedouble);
    const char *s = v->valuestring, *slash = strchr(s, '/');
    size_t len = slash ? (size_t)(slash - s) : strlen(s);
    if (len > 18 || (slash && strlen(slash) > 19))
        return kr_ratio_double(strtod(s, NULL) / strtod(slash + 1, NULL));
    kr_ratio a = kr_ratio_dec(golden_dec(s, len));
    return slash ? kr_ratio_div(a, kr_ratio_make(strtoll(slash + 1, NULL, 10), 1)) : a;
}

/* |got - want| relative to want; 0 when both are equal, infinite when either is not a number. */
static inline double golden_rel(double got, double want) {
    if (got == want)
        return 0;
    if (!isfinite(got) || !isfinite(want))
        return (double)INFINITY;
    return fabs(got - want) / fmax(fabs(want), 1e-300);
}

#endif
