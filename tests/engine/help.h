/* help.h - what the engine's tests share. */
#ifndef KR_TESTS_ENGINE_HELP_H
#define KR_TESTS_ENGINE_HELP_H

#include <stdbool.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/status.h"

#include <cjson/cJSON.h>

#define MODELS "../shared/real/models/"

static inline void must(kr_status st, const kr_error *e) {
    if (st != KR_OK)
        fail_msg("%s", e->msg);
}

/* Whole file, NUL-terminated; NULL when it is not there. */
static inline char *slurp(const char *path, size_t *len) {
    char *data = NULL;
    size_t n = 0;
    if (kr_file_read(path, (size_t)1 << 30, &data, &n, NULL) != KR_OK)
        return NULL;
    if (len != NULL)
        *len = n;
    return data;
}

static inline cJSON *slurp_json(const char *path) {
    char *text = slurp(path, NULL);
    cJSON *j = text != NULL ? cJSON_Parse(text) : NULL;
    free(text);
    return j;
}

/* Bytes of a hex string; the caller frees them. */
static inline char *unhex(const char *hex, size_t *len) {
    *len = strlen(hex) / 2;
    char *out = calloc(*len + 1, 1);
    for (size_t i = 0; i < *len; i++) {
        char two[3] = {hex[2 * i], hex[2 * i + 1], 0};
        out[i] = (char)strtoul(two, NULL, 16);
    }
    return out;
}

static inline int32_t *json_ids(const cJSON *a, size_t *n) {
    *n = (size_t)cJSON_GetArraySize(a);
    int32_t *ids = calloc(*n + 1, sizeof *ids);
    size_t i = 0;
    const cJSON *x;
    cJSON_ArrayForEach(x, a) ids[i++] = x->valueint;
    return ids;
}

#endif
