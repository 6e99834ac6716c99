#include "cli/values.h"

#include <stdlib.h>
#include <string.h>

bool kr_cli_count(const char *text, size_t most, size_t *out) {
    char *end;
    unsigned long v = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || v < 1 || v > most)
        return false;
    *out = v;
    return true;
}

bool kr_cli_ladder_read(const char *text, kr_cli_ladder *out) {
    kr_dec *v[3] = {&out->high, &out->low, &out->step};
    for (int i = 0; i < 3; i++) {
        char part[64];
        size_t n = strcspn(text, ":");
        if (n >= sizeof part || (text[n] == ':') != (i < 2))
            return false;
        memcpy(part, text, n);
        part[n] = '\0';
        if (kr_dec_parse_percent(part, v[i], NULL) != KR_OK)
            return false;
        text += n + 1;
    }
    kr_dec zero = kr_dec_make(0, 0), one = kr_dec_make(1, 0);
    return kr_dec_cmp(out->high, one) <= 0 && kr_dec_cmp(out->low, zero) > 0 &&
           kr_dec_cmp(out->step, zero) > 0 && kr_dec_cmp(out->high, out->low) >= 0;
}

bool kr_cli_ladder_next(const kr_cli_ladder *l, kr_dec *level) {
    return kr_dec_sub(*level, l->step, level) && kr_dec_cmp(*level, l->low) >= 0;
}
