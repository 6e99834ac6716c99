/* anchor.c - the last hash of each ledger, kept away from it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ledger/ledger.h"

static bool anchor_path(const char *sha256, char *out, size_t cap) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int n = -1;
    if (strlen(sha256) != KR_SHA256_HEX - 1)
        return false;
    if (state != NULL && *state == '/')
        n = snprintf(out, cap, "%s/kvrisk/ledgers/%s", state, sha256);
    else if (home != NULL && *home == '/')
        n = snprintf(out, cap, "%s/.local/state/kvrisk/ledgers/%s", home, sha256);
    return n > 0 && (size_t)n < cap;
}

static bool make_directories(char *path) {
    for (char *p = path + 1; *p != '\0'; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        bool ok = mkdir(path, 0700) == 0 || errno == EEXIST;
        *p = '/';
        if (!ok)
            return false;
    }
    return true;
}

void kr_anchor_get(const char *sha256, kr_anchor *out) {
    char path[4096], *text = NULL;
    size_t len = 0;
    long long entries = 0;
    *out = (kr_anchor){0};
    if (!anchor_path(sha256, path, sizeof path) ||
        kr_file_read(path, 4096, &text, &len, NULL) != KR_OK)
        return;
    if (sscanf(text, "%64s %lld", out->head, &entries) == 2 && entries > 0) {
        out->known = true;
        out->entries = entries;
    }
    free(text);
}

kr_status kr_anchor_set(const char *sha256, const kr_ledger *l, kr_error *err) {
    char path[4096], text[128];
    if (!anchor_path(sha256, path, sizeof path) || !make_directories(path))
        return kr_fail(err, KR_EIO, "cannot remember the ledger in the state directory "
                                    "(XDG_STATE_HOME): %s", strerror(errno));
    int n = snprintf(text, sizeof text, "%s %zu\n", l->head, l->n);
    return kr_file_write(path, text, (size_t)n, true, err);
}
