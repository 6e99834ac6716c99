#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "calib/yamlmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kr_yamlmap *m = NULL;
    kr_error err;
    if (kr_yamlmap_parse("f", (const char *)data, size, &m, &err) == KR_OK)
        kr_yamlmap_get(m, "compression_ratio");
    kr_yamlmap_free(m);
    return 0;
}
