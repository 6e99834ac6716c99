/* import_case.h - small evaluations made up for one test each: files in, a transcript out. */
#ifndef TESTS_CALIB_IMPORT_CASE_H
#define TESTS_CALIB_IMPORT_CASE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "calib/import.h"

static char case_home[4096], case_dir[] = "/tmp/kvrisk-import-XXXXXX";

/* Every test begins in an empty directory, so that paths in messages are short. */
static int case_enter(void **state) {
    (void)state;
    strcpy(strrchr(case_dir, '-') + 1, "XXXXXX");
    if (getcwd(case_home, sizeof case_home) == NULL || mkdtemp(case_dir) == NULL)
        return -1;
    return chdir(case_dir);
}

static int case_leave(void **state) {
    char command[64 + sizeof case_dir];
    (void)state;
    if (chdir(case_home) != 0)
        return -1;
    snprintf(command, sizeof command, "rm -rf %s", case_dir);
    return system(command);
}

/* Writes a file, making its folders. */
static void put_bytes(const char *path, const char *text, size_t len) {
    char part[512];
    for (const char *p = strchr(path, '/'); p != NULL; p = strchr(p + 1, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(p - path), path);
        if (mkdir(part, 0700) != 0 && errno != EEXIST)
            fail_msg("%s", part);
    }
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

static void put(const char *path, const char *text) {
    put_bytes(path, text, strlen(text));
}

static void show_dec(kr_buf *b, int64_t nano) {
    char text[KR_DEC_TEXT];
    kr_buf_puts(b, nano == KR_MISSING ? "-" : kr_dec_text(kr_nano_dec(nano), text));
}

static void show_set(kr_buf *b, const kr_calib *c) {
    char text[KR_DEC_TEXT];
    for (size_t p = 0; p < kr_calib_policies(c); p++) {
        const kr_policy *q = kr_calib_policy(c, p);
        kr_buf_printf(b, "%s%s", p > 0 ? ", " : "policies: ", q->method);
        if (q->has_retention)
            kr_buf_printf(b, " keeps %s", kr_dec_text(q->retention, text));
        if (q->has_threshold)
            kr_buf_printf(b, " threshold %s", kr_dec_text(q->threshold, text));
        if (q->has_mean)
            kr_buf_printf(b, " (mean %s)", kr_dec_text(q->mean_retained, text));
    }
    kr_buf_puts(b, "\n");
    for (size_t i = 0; i < kr_calib_rows(c) && i < 8; i++) {
        kr_request r = kr_calib_row(c, i);
        kr_buf_printf(b, "%.*s ", (int)r.id_len, r.id);
        show_dec(b, r.full);
        if (r.full2 != KR_NO_RUN) {
            kr_buf_puts(b, "/");
            show_dec(b, r.full2);
        }
        for (size_t p = 0; p < kr_calib_policies(c); p++) {
            kr_buf_puts(b, " ");
            show_dec(b, kr_calib_utility(c, i, p));
        }
        kr_buf_puts(b, "\n");
    }
}

/* Notes, then the error or the set's policies and its first requests: id, full KV, each policy. */
static char *transcript(kr_import_opts o) {
    static const char *const here[] = {"."};
    kr_import *im = NULL;
    kr_calib *c = NULL;
    kr_error err = {KR_OK, ""};
    kr_buf b = {0};
    if (o.n_paths == 0) {
        o.paths = here;
        o.n_paths = 1;
    }
    kr_status st = kr_import_open(&o, &im, &err);
    if (st == KR_OK)
        st = kr_import_read(im, &err);
    if (st == KR_OK)
        st = kr_import_build(im, &c, &err);
    for (size_t i = 0; im != NULL && i < kr_import_notes(im); i++) {
        const kr_note *n = kr_import_note(im, i);
        kr_buf_printf(&b, "%s%s\n", n->level == KR_NOTE_WARNING ? "warning: " : "note: ", n->text);
    }
    if (st != KR_OK)
        kr_buf_printf(&b, "error: %s\n", err.msg);
    else
        show_set(&b, c);
    kr_calib_free(c);
    kr_import_free(im);
    return kr_buf_take(&b);
}

static void gives(kr_import_opts o, const char *want) {
    char *got = transcript(o);
    if (getenv("SHOW") != NULL)
        printf("----\n%s", got);
    else
        assert_string_equal(got, want);
    free(got);
}

#endif
