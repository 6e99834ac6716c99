#include "tests/fuzz/import_fuzz.h"

/* config.yaml and metrics.json beside predictions that are always good. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char rows[] = "task,predicted_answer,answer,compression_ratio\nvt,1,['1'],0.5\n";
    static const char *const places[] = {
        "/dev/shm/kvrisk-fuzz-config/a__no_press__0.00/predictions.csv",
        "/dev/shm/kvrisk-fuzz-config/b__snapkv__0.50/predictions.csv"};
    static const char *const paths[] = {"/dev/shm/kvrisk-fuzz-config"};
    const uint8_t *cut = size > 0 ? memchr(data, 0xfe, size) : NULL;
    size_t n = cut != NULL ? (size_t)(cut - data) : size;
    for (size_t i = 0; i < 2; i++)
        fuzz_put(places[i], (const uint8_t *)rows, sizeof rows - 1);
    fuzz_put("/dev/shm/kvrisk-fuzz-config/a__no_press__0.00/config.yaml", data, n);
    fuzz_put("/dev/shm/kvrisk-fuzz-config/b__snapkv__0.50/config.yaml",
             cut != NULL ? cut + 1 : data, cut != NULL ? size - n - 1 : size);
    fuzz_put("/dev/shm/kvrisk-fuzz-config/b__snapkv__0.50/metrics.json", data, n);
    kr_import_opts o = {.kind = "kvpress", .paths = paths, .n_paths = 1};
    kr_import *im = NULL;
    kr_calib *c = NULL;
    kr_error err;
    if (kr_import_open(&o, &im, &err) == KR_OK && kr_import_read(im, &err) == KR_OK)
        kr_import_build(im, &c, &err);
    kr_calib_free(c);
    kr_import_free(im);
    return 0;
}
