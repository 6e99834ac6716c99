#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "calib/csv.h"

typedef struct {
    const char *s;
    size_t len, pos;
} in;

static ptrdiff_t in_read(void *ctx, char *buf, size_t n) {
    in *t = ctx;
    size_t left = t->len - t->pos, take = n < left ? n : left;
    take = take > 13 ? 13 : take;
    memcpy(buf, t->s + t->pos, take);
    t->pos += take;
    return (ptrdiff_t)take;
}

static size_t sum;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    in t = {(const char *)data, size, 0};
    kr_csv *c = NULL;
    kr_error err;
    bool got = true;
    kr_csv_opts o = {.name = "f", .max_field = 1 << 16, .lenient = size % 2 == 1};
    if (kr_csv_open(&o, in_read, &t, &c, &err) != KR_OK)
        return 0;
    kr_csv_skip(c, size % 3);
    while (kr_csv_next(c, &got, &err) == KR_OK && got)
        for (size_t i = 0; i < kr_csv_columns(c); i++)
            sum += kr_csv_get(c, i).len;
    kr_csv_free(c);
    return 0;
}
