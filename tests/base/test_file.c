#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

static char dir[64];

static int make_dir(void **state) {
    (void)state;
    strcpy(dir, "/tmp/kvrisk-test-XXXXXX");
    return mkdtemp(dir) == NULL;
}

static int remove_dir(void **state) {
    (void)state;
    char cmd[100];
    snprintf(cmd, sizeof cmd, "rm -rf '%s'", dir);
    return system(cmd);
}

static const char *in_dir(const char *name) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void put(const char *path, const char *text, size_t len) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fwrite(text, 1, len, f);
    fclose(f);
}

static int entries(void) {
    char cmd[100], out[16] = "";
    snprintf(cmd, sizeof cmd, "ls -A '%s' | wc -l", dir);
    FILE *p = popen(cmd, "r");
    assert_non_null(fgets(out, sizeof out, p));
    pclose(p);
    return atoi(out);
}

static void a_file_appears_whole_or_not_at_all(void **state) {
    (void)state;
    kr_error e;
    kr_writer *w;
    assert_int_equal(kr_writer_open(in_dir("a"), false, &w, &e), KR_OK);
    kr_writer_puts(w, "hello ");
    assert_int_equal(access(in_dir("a"), F_OK), -1);
    kr_writer_printf(w, "%d", 7);
    assert_int_equal(kr_writer_commit(w, &e), KR_OK);
    char *s;
    size_t n;
    assert_int_equal(kr_file_read(in_dir("a"), 100, &s, &n, &e), KR_OK);
    assert_string_equal(s, "hello 7");
    free(s);
    assert_int_equal(kr_writer_open(in_dir("b"), false, &w, &e), KR_OK);
    kr_writer_puts(w, "x");
    kr_writer_abort(w);
    assert_int_equal(entries(), 1);
}

static void an_existing_file_is_replaced_only_when_asked(void **state) {
    (void)state;
    kr_error e;
    put(in_dir("a"), "old", 3);
    assert_int_equal(kr_file_write(in_dir("a"), "new", 3, false, &e), KR_EIO);
    assert_non_null(strstr(e.msg, "exists already"));
    assert_int_equal(kr_file_write(in_dir("a"), "new", 3, true, &e), KR_OK);
    char *s;
    size_t n;
    assert_int_equal(kr_file_read(in_dir("a"), 100, &s, &n, &e), KR_OK);
    assert_string_equal(s, "new");
    free(s);
    /* A file that appears between open and commit is kept. */
    kr_writer *w;
    assert_int_equal(kr_writer_open(in_dir("late"), false, &w, &e), KR_OK);
    put(in_dir("late"), "other", 5);
    assert_int_equal(kr_writer_commit(w, &e), KR_EIO);
    assert_int_equal(kr_file_read(in_dir("late"), 100, &s, &n, &e), KR_OK);
    assert_string_equal(s, "other");
    free(s);
    assert_int_equal(entries(), 2);
}

static void refuses_places_that_cannot_be_written(void **state) {
    (void)state;
    kr_error e;
    assert_int_equal(kr_file_write("", "x", 1, true, &e), KR_EIO);
    assert_int_equal(kr_file_write(dir, "x", 1, true, &e), KR_EIO);
    assert_int_equal(kr_file_write(in_dir("no/such/dir"), "x", 1, true, &e), KR_EIO);
    assert_non_null(strstr(e.msg, "No such file"));
}

static void only_regular_files_are_replaced(void **state) {
    (void)state;
    kr_error e;
    struct stat st;
    assert_int_equal(mkfifo(in_dir("pipe"), 0600), 0);
    assert_int_equal(kr_file_write(in_dir("pipe"), "x", 1, true, &e), KR_EIO);
    assert_non_null(strstr(e.msg, "not a regular file"));
    assert_int_equal(stat(in_dir("pipe"), &st), 0);
    assert_true(S_ISFIFO(st.st_mode));
    assert_int_equal(kr_file_append_row(in_dir("pipe"), "h\n", "r\n", &e), KR_EIO);
    assert_int_equal(kr_file_write("/dev/null", "x", 1, true, &e), KR_EIO);
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    /* A link is followed and stays a link. */
    put(in_dir("target"), "old", 3);
    char target[128];
    snprintf(target, sizeof target, "%s/target", dir);
    assert_int_equal(symlink(target, in_dir("link")), 0);
    assert_int_equal(kr_file_write(in_dir("link"), "new", 3, true, &e), KR_OK);
    assert_int_equal(lstat(in_dir("link"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    char *s;
    size_t n;
    assert_int_equal(kr_file_read(target, 100, &s, &n, &e), KR_OK);
    assert_string_equal(s, "new");
    free(s);
    assert_int_equal(symlink("/nonexistent/x", in_dir("dangling")), 0);
    assert_int_equal(kr_file_write(in_dir("dangling"), "x", 1, true, &e), KR_EIO);
}

static void rows_added_at_once_are_all_kept(void **state) {
    (void)state;
    enum { WRITERS = 8, ROWS = 10 };
    kr_error e;
    for (int i = 0; i < WRITERS; i++)
        if (fork() == 0) {
            for (int k = 0; k < ROWS; k++)
                if (kr_file_append_row(in_dir("t.csv"), "a,b\n", "1,2\n", &e) != KR_OK)
                    _exit(1);
            _exit(0);
        }
    for (int i = 0, status; i < WRITERS; i++) {
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    char *s;
    size_t n;
    assert_int_equal(kr_file_read(in_dir("t.csv"), 100000, &s, &n, &e), KR_OK);
    assert_int_equal(n, 4 * (WRITERS * ROWS + 1));
    free(s);
    assert_int_equal(entries(), 1);
    assert_int_equal(kr_file_append_row(in_dir("t.csv"), "other\n", "1\n", &e), KR_EFORMAT);
    assert_int_equal(kr_file_append_row(in_dir("no/t.csv"), "h\n", "1\n", &e), KR_EIO);
}

static void lines_come_without_their_ends(void **state) {
    (void)state;
    const char text[] = "\xEF\xBB\xBFone\r\ntwo\n\nlast";
    put(in_dir("l"), text, sizeof text - 1);
    kr_error e;
    kr_lines *r;
    assert_int_equal(kr_lines_open(in_dir("l"), 100, &r, &e), KR_OK);
    static const char *const want[] = {"one", "two", "", "last"};
    const char *s;
    size_t n;
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(kr_lines_next(r, &s, &n, &e), KR_OK);
        assert_int_equal(n, strlen(want[i]));
        assert_memory_equal(s, want[i], n);
        assert_int_equal(kr_lines_number(r), i + 1);
    }
    assert_int_equal(kr_lines_next(r, &s, &n, &e), KR_OK);
    assert_null(s);
    char hex[KR_SHA256_HEX];
    assert_int_equal(kr_file_sha256(in_dir("l"), hex, &e), KR_OK);
    assert_string_equal(kr_lines_sha256(r), hex);
    kr_lines_close(r);
}

static void a_line_beyond_the_limit_is_refused(void **state) {
    (void)state;
    size_t big = 3u << 20;
    char *s = malloc(big);
    memset(s, 'x', big);
    memcpy(s, "short\n", 6);
    put(in_dir("l"), s, big);
    free(s);
    kr_error e;
    kr_lines *r;
    const char *line;
    size_t n;
    assert_int_equal(kr_lines_open(in_dir("l"), 1000, &r, &e), KR_OK);
    assert_int_equal(kr_lines_next(r, &line, &n, &e), KR_OK);
    assert_int_equal(kr_lines_next(r, &line, &n, &e), KR_EFORMAT);
    assert_non_null(strstr(e.msg, "l:2:1: the line is longer than 1000 bytes"));
    kr_lines_close(r);
    assert_int_equal(kr_lines_open(in_dir("l"), 4u << 20, &r, &e), KR_OK);
    assert_int_equal(kr_lines_next(r, &line, &n, &e), KR_OK);
    assert_int_equal(kr_lines_next(r, &line, &n, &e), KR_OK);
    assert_int_equal(n, big - 6);
    kr_lines_close(r);
}

static void a_file_that_changes_while_read_is_refused(void **state) {
    (void)state;
    put(in_dir("l"), "one\ntwo\n", 8);
    kr_error e;
    kr_lines *r;
    const char *line;
    size_t n;
    assert_int_equal(kr_lines_open(in_dir("l"), 1000, &r, &e), KR_OK);
    assert_int_equal(kr_lines_next(r, &line, &n, &e), KR_OK);
    FILE *f = fopen(in_dir("l"), "a");
    fputs("three\n", f);
    fclose(f);
    kr_status st = KR_OK;
    while (st == KR_OK && line != NULL)
        st = kr_lines_next(r, &line, &n, &e);
    assert_int_equal(st, KR_EIO);
    assert_non_null(strstr(e.msg, "changed while it was read"));
    kr_lines_close(r);
}

static void refuses_directories_missing_and_large_files(void **state) {
    (void)state;
    kr_error e;
    kr_lines *r;
    char *s;
    size_t n;
    assert_int_equal(kr_lines_open(dir, 10, &r, &e), KR_EIO);
    assert_non_null(strstr(e.msg, "is a directory"));
    assert_int_equal(kr_lines_open(in_dir("none"), 10, &r, &e), KR_EIO);
    put(in_dir("a"), "12345", 5);
    assert_int_equal(kr_file_read(in_dir("a"), 4, &s, &n, &e), KR_EFORMAT);
}

static void sha256_of_known_text(void **state) {
    (void)state; /* FIPS 180-2, appendix B.1 */
    char hex[KR_SHA256_HEX];
    assert_int_equal(kr_sha256("abc", 3, hex, NULL), KR_OK);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void unsafe_text_is_replaced(void **state) {
    (void)state;
    char out[40];
    const char in[] = "a\x1b[31m\xC2\x9B" "b\xE2\x80\xAE" "c\xFF\xC3\xA9\n";
    kr_text_safe(out, sizeof out, in, sizeof in - 1);
    assert_string_equal(out, "a?[31m?b?c?\xC3\xA9?");
    assert_int_equal(kr_text_safe(out, 3, "\xC3\xA9\xC3\xA9", 4), 2);
    assert_true(kr_utf8_valid("\xF0\x9F\x98\x80", 4));
    assert_false(kr_utf8_valid("\xF0\x80\x80\x80", 4));
    assert_false(kr_utf8_valid("\xF4\x90\x80\x80", 4));
}

#define IN_DIR(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_DIR(a_file_appears_whole_or_not_at_all),
        IN_DIR(an_existing_file_is_replaced_only_when_asked),
        IN_DIR(refuses_places_that_cannot_be_written),
        IN_DIR(only_regular_files_are_replaced),
        IN_DIR(rows_added_at_once_are_all_kept),
        IN_DIR(lines_come_without_their_ends),
        IN_DIR(a_line_beyond_the_limit_is_refused),
        IN_DIR(a_file_that_changes_while_read_is_refused),
        IN_DIR(refuses_directories_missing_and_large_files),
        cmocka_unit_test(sha256_of_known_text),
        cmocka_unit_test(unsafe_text_is_replaced),
    };
    return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
