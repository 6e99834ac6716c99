#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "calib/literal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kr_arena a = {0};
    for (int d = KR_LIT_CELL; d <= KR_LIT_JSON; d++) {
        kr_lit *v = NULL;
        kr_error err;
        if (kr_lit_parse((kr_lit_dialect)d, (const char *)data, size, &a, &v, NULL, &err) == KR_OK)
            kr_lit_path(v, "a.b.c");
    }
    kr_arena_free(&a);
    return 0;
}
