/* import_fuzz.h - feeds two files, split at the first byte 0xFE, to an importer: the full-KV run's and
 * a compressed run's. */
#ifndef TESTS_FUZZ_IMPORT_FUZZ_H
#define TESTS_FUZZ_IMPORT_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "calib/import.h"

static inline void fuzz_put(const char *path, const uint8_t *data, size_t size) {
    char part[512];
    for (const char *p = strchr(path + 1, '/'); p != NULL; p = strchr(p + 1, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(p - path), path);
        mkdir(part, 0700);
    }
    FILE *f = fopen(path, "wb");
    if (f == NULL)
        abort();
    fwrite(data, 1, size, f);
    fclose(f);
}

static inline void fuzz_import(const char *kind, const char *full, const char *compressed,
                               const uint8_t *data, size_t size) {
    static char shm[] = "/dev/shm/kvrisk-fuzz-XXXXXX", tmp[] = "/tmp/kvrisk-fuzz-XXXXXX";
    static char *dir;
    char a[512], b[512];
    const uint8_t *cut = size > 0 ? memchr(data, 0xfe, size) : NULL;
    size_t n = cut != NULL ? (size_t)(cut - data) : size;
    if (dir == NULL && (dir = mkdtemp(shm)) == NULL && (dir = mkdtemp(tmp)) == NULL)
        abort();
    snprintf(a, sizeof a, "%s/%s", dir, full);
    snprintf(b, sizeof b, "%s/%s", dir, compressed);
    fuzz_put(a, data, n);
    fuzz_put(b, cut != NULL ? cut + 1 : data, cut != NULL ? size - n - 1 : size);
    const char *paths[] = {dir};
    kr_import_opts o = {.kind = kind,
                        .paths = paths,
                        .n_paths = 1,
                        .lenient = size % 2 == 1,
                        .by_occurrence = size % 3 == 1,
                        .ratio_means = "kept"};
    kr_import *im = NULL;
    kr_calib *c = NULL;
    kr_error err;
    if (kr_import_open(&o, &im, &err) == KR_OK && kr_import_read(im, &err) == KR_OK)
        kr_import_build(im, &c, &err);
    kr_calib_free(c);
    kr_import_free(im);
}

#define FUZZ_IMPORT(kind, full, compressed)                                                        \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);                                  \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {                                 \
        fuzz_import(kind, full, compressed, data, size);                                           \
        return 0;                                                                                  \
    }

#endif
