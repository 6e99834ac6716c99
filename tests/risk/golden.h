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

static inline const cJSON *golden_get(const cJSON *o, const char *name) {
    return cJSON_GetObjectItemCaseSensitive(o, name);
}

/* NAN for null or absent. */
static inline double golden_num(const cJSON *o, const char *name) {
    const cJSON *v = golden_get(o, name);
    return cJSON_IsNumber(v) ? v->valuedouble : (double)NAN;
}

static inline int64_t golden_int(const cJSON *o, const char *name) {
    return (int64_t)golden_num(o, name);
}

static inline const char *golden_str(const cJSON *o, const char *name) {
    const cJSON *v = golden_get(o, name);
    return cJSON_IsString(v) ? v->valuestring : "";
}

static inline bool golden_true(const cJSON *o, const char *name) {
    return cJSON_IsTrue(golden_get(o, name));
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
