/* Request files, and policies as they are spelled on the command line. Byte 0 chooses. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "evict/policy.h"
#include "sample/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void requests(const uint8_t *data, size_t size) {
    char path[64];
    snprintf(path, sizeof path, "/tmp/fuzz-requests-%ld.jsonl", (long)getpid());
    FILE *f = fopen(path, "wb");
    if (f == NULL)
        return;
    fwrite(data, 1, size, f);
    fclose(f);
    kr_sample_requests *r = NULL;
    kr_error e = {KR_OK, ""};
    if (kr_sample_requests_read(path, &r, &e) == KR_OK) {
        kr_arena scratch = {0};
        for (size_t i = 0; i < r->n; i++) {
            const char *why;
            if (r->item[i].max_tokens < 1 || r->item[i].answers == NULL ||
                r->item[i].scorer == NULL || r->item[i].id == NULL)
                abort();
            kr_sample_score(&r->item[i], r->item[i].context, strlen(r->item[i].context), &scratch,
                            &why);
        }
        kr_arena_free(&scratch);
    } else if (e.msg[0] == '\0') {
        abort(); /* every refusal says why */
    }
    kr_sample_requests_free(r);
    unlink(path);
}

static void policies(const uint8_t *data, size_t size) {
    char *text = calloc(size + 1, 1);
    if (text == NULL)
        return;
    memcpy(text, data, size);
    kr_evict_spec s, again;
    kr_error e = {KR_OK, ""};
    kr_buf b = {0};
    if (kr_evict_parse(text, NULL, &s, &e) == KR_OK) {
        kr_evict_text(&s, true, &b);
        if (kr_evict_parse(kr_buf_text(&b), NULL, &again, &e) != KR_OK ||
            kr_dec_cmp(s.level.value, again.level.value) != 0)
            abort(); /* what is printed can be read */
        kr_buf_free(&b);
    } else if (e.msg[0] == '\0') {
        abort();
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 0)
        (data[0] & 1 ? policies : requests)(data + 1, size - 1);
    return 0;
}
