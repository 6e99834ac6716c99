/* Any bytes as a native file: loads or refuses, and what loads can be saved and loaded again. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "calib/calib.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[64], copy[64];

static void name_files(void) {
    if (path[0] == '\0') {
        snprintf(path, sizeof path, "/tmp/fuzz-native-%ld", (long)getpid());
        snprintf(copy, sizeof copy, "/tmp/fuzz-native-copy-%ld", (long)getpid());
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    name_files();
    FILE *f = fopen(path, "w");
    if (f == NULL)
        return 0;
    fwrite(data, 1, size, f);
    fclose(f);
    kr_calib *c = NULL, *d = NULL;
    kr_error e;
    if (kr_calib_load(path, &c, &e) != KR_OK) {
        if (strlen(e.msg) == 0)
            abort();
        return 0;
    }
    for (size_t p = 0; p < kr_calib_policies(c); p++)
        if (kr_calib_events(c, p, KR_SPLIT_CAL, 0) > kr_calib_n(c, KR_SPLIT_CAL))
            abort();
    if (size % 16 == 0) { /* the file system is slow */
        if (kr_calib_save(c, copy, true, &e) != KR_OK || kr_calib_load(copy, &d, &e) != KR_OK)
            abort();
        kr_calib_free(d);
    }
    kr_calib_free(c);
    return 0;
}
