/* Fingerprints of requests, their file, and which ledger knows them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger/known.h"
#include "ledger/rowfile.h"

#define LONGEST 64

static char dir[] = "/tmp/kvrisk-known-XXXXXX";

/* n requests of one task, ids "PREFIX0"..., utilities by a seed; full is 1. */
static kr_calib *make(const char *model, const char *prefix, size_t n, unsigned seed) {
    kr_calib_meta meta = {.kind = KR_KIND_CALIBRATION, .model = model, .utility_max = KR_NANO};
    const char *tasks[] = {"t"};
    kr_policy policy[3];
    kr_builder *b;
    kr_calib *c;
    kr_error e;
    for (int i = 0; i < 3; i++)
        policy[i] = (kr_policy){.method = "m", .has_retention = true, .retention = kr_dec_make(9 - i, 1),
                                .events = -1, .test_events = -1};
    assert_int_equal(kr_builder_new(&meta, tasks, 1, policy, 3, NULL, &b, &e), KR_OK);
    for (size_t i = 0; i < n; i++) {
        char id[32];
        int64_t u[3];
        for (int p = 0; p < 3; p++)
            u[p] = KR_NANO / 1000 * (int64_t)(rand_r(&seed) % 1000);
        int len = snprintf(id, sizeof id, "%s%zu", prefix, i);
        kr_request r = {.id = id, .id_len = (size_t)len, .tokens = -1, .full = KR_NANO,
                        .full2 = KR_NO_RUN, .utility = u};
        assert_int_equal(kr_builder_add(b, &r, &e), KR_OK);
    }
    assert_int_equal(kr_builder_finish(b, &c, &e), KR_OK);
    return c;
}

static kr_prints prints_of(const char *model, const char *prefix, size_t n, unsigned seed) {
    kr_calib *c = make(model, prefix, n, seed);
    kr_prints p;
    kr_error e;
    assert_int_equal(kr_prints_make(c, &p, &e), KR_OK);
    kr_calib_free(c);
    return p;
}

typedef struct {
    uint64_t sum[KR_PRINTS];
    size_t n[KR_PRINTS];
} totals;

static void add_up(void *ctx, kr_print_kind kind, uint64_t value) {
    totals *t = ctx;
    t->sum[kind] += value;
    t->n[kind]++;
}

static totals totals_of(const kr_prints *p) {
    totals t = {{0}, {0}};
    for (int k = 0; k < KR_PRINTS; k++)
        for (size_t i = 0; i < p->n[k]; i++)
            if (i == 0 || p->of[k][i].value != p->of[k][i - 1].value)
                add_up(&t, (kr_print_kind)k, p->of[k][i].value);
    return t;
}

static void fingerprints_are_sorted_and_ignore_case(void **state) {
    (void)state;
    kr_prints a = prints_of("Model", "row-", 5000, 1), b = prints_of("mODEL", "ROW-", 5000, 1);
    assert_int_equal(a.n[KR_PRINT_REQUEST], 5000);
    assert_int_equal(a.n[KR_PRINT_PROMPT], 0);
    for (int k = 0; k < KR_PRINTS; k++) {
        assert_int_equal(a.n[k], b.n[k]);
        for (size_t i = 0; i < a.n[k]; i++) {
            assert_true(a.of[k][i].value == b.of[k][i].value);
            assert_true(i == 0 || a.of[k][i - 1].value <= a.of[k][i].value);
        }
    }
    assert_true(kr_print_text(0, "ab", 2) != kr_print_text(0, "ab\0", 3));
    kr_prints_free(&a);
    kr_prints_free(&b);
}

static void a_file_keeps_what_it_had(void **state) {
    (void)state;
    char path[LONGEST];
    kr_error e;
    snprintf(path, sizeof path, "%s/merge.rows", dir);
    kr_prints one = prints_of("m", "a", 9000, 1), two = prints_of("m", "b", 70, 2);
    assert_int_equal(kr_rowfile_merge(path, &one, &e), KR_OK);
    assert_int_equal(kr_rowfile_merge(path, &two, &e), KR_OK);
    assert_int_equal(kr_rowfile_merge(path, &one, &e), KR_OK);
    totals t = {{0}, {0}}, x = totals_of(&one), y = totals_of(&two);
    assert_int_equal(kr_rowfile_read(path, add_up, &t, &e), KR_OK);
    for (int k = 0; k < KR_PRINTS; k++) {
        assert_int_equal(t.n[k], x.n[k] + y.n[k]);
        assert_true(t.sum[k] == x.sum[k] + y.sum[k]);
    }
    kr_prints_free(&one);
    kr_prints_free(&two);
}

/* Every cut and every changed byte of a small file is noticed. */
static void damage_is_noticed(void **state) {
    (void)state;
    char path[LONGEST], *text;
    size_t len;
    kr_error e;
    snprintf(path, sizeof path, "%s/small.rows", dir);
    kr_prints p = prints_of("m", "a", 3, 1);
    assert_int_equal(kr_rowfile_merge(path, &p, &e), KR_OK);
    assert_int_equal(kr_file_read(path, 4096, &text, &len, &e), KR_OK);
    assert_int_equal(len, 16 + 8 * (3 * 4) + 8 * (KR_PRINTS + 1));
    totals t;
    for (size_t cut = 1; cut < len; cut++) {
        FILE *f = fmemopen(text, cut, "r");
        assert_int_equal(kr_rowfile_scan(f, "x", add_up, &t, &e), KR_EFORMAT);
        fclose(f);
    }
    for (size_t i = 0; i < len; i++) {
        text[i] ^= 1;
        FILE *f = fmemopen(text, len, "r");
        assert_int_equal(kr_rowfile_scan(f, "x", add_up, &t, &e), KR_EFORMAT);
        fclose(f);
        text[i] ^= 1;
    }
    FILE *f = fmemopen(text, len, "r");
    assert_int_equal(kr_rowfile_scan(f, "x", add_up, &t, &e), KR_OK);
    fclose(f);
    /* and not written over */
    assert_int_equal(truncate(path, (off_t)len - 1), 0);
    assert_int_equal(kr_rowfile_merge(path, &p, &e), KR_EFORMAT);
    kr_stamp s;
    assert_int_equal(kr_file_stamp(path, &s, &e), KR_OK);
    assert_int_equal(s.size, len - 1);
    free(text);
    kr_prints_free(&p);
}

static int64_t known_by(const kr_prints *p, const char *own) {
    kr_known_other o;
    kr_error e;
    assert_int_equal(kr_known_find(p, own, &o, &e), KR_OK);
    return o.requests;
}

static void requests_are_known_again(void **state) {
    (void)state;
    char identity[KR_SHA256_HEX];
    bool any;
    kr_error e;
    memset(identity, 'a', sizeof identity - 1);
    identity[sizeof identity - 1] = '\0';
    kr_prints first = prints_of("m", "a", 100, 1), same = prints_of("m", "a", 40, 7);
    kr_prints renamed = prints_of("other", "a", 100, 1), moved = prints_of("m", "z", 100, 1);
    kr_prints different = prints_of("other", "a", 100, 2), few = prints_of("other", "z", 29, 1);
    assert_int_equal(kr_known_others("", &any, &e), KR_OK);
    assert_false(any);
    assert_int_equal(known_by(&first, ""), 0);
    assert_int_equal(kr_known_add(identity, &first, &e), KR_OK);
    assert_int_equal(kr_known_others("", &any, &e), KR_OK);
    assert_true(any);
    assert_int_equal(kr_known_others(identity, &any, &e), KR_OK);
    assert_false(any);
    assert_int_equal(known_by(&first, identity), 0);
    assert_int_equal(known_by(&first, ""), 100);
    assert_int_equal(known_by(&same, ""), 40);      /* the same requests, run again */
    assert_int_equal(known_by(&renamed, ""), 100);  /* the same results, another model's name */
    assert_int_equal(known_by(&moved, ""), 100);    /* the same results, other ids */
    assert_int_equal(known_by(&different, ""), 0);  /* the same ids, another model's results */
    assert_int_equal(known_by(&few, ""), 0);        /* too few to tell */
    kr_prints *all[] = {&first, &same, &renamed, &moved, &different, &few};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kr_prints_free(all[i]);
}

static void heads_are_read_strictly(void **state) {
    (void)state;
    static const char good[] = "{\"version\":1,\"entries\":2,\"head\":"
        "\"0123456789012345678901234567890123456789012345678901234567890123\",\"file\":\"/x\"}";
    static const char *const bad[] = {"", "{}", "[]", "{\"version\":1}", "{\"version\":1,\"version\":1}",
        "{\"version\":1,\"entries\":0}", "{\"version\":1,\"entries\":2,\"head\":\"short\",\"file\":\"/x\"}",
        "{\"version\":1,\"entries\":10001}", "0123 2\n"};
    char identity[KR_SHA256_HEX], path[256];
    kr_error e;
    kr_known k;
    memset(identity, 'b', sizeof identity - 1);
    identity[sizeof identity - 1] = '\0';
    snprintf(path, sizeof path, "%s/kvrisk/ledgers/%s.head", dir, identity);
    assert_int_equal(kr_known_get(identity, &k, &e), KR_OK);
    assert_false(k.known);
    assert_int_equal(kr_file_write(path, good, sizeof good - 1, true, &e), KR_OK);
    assert_int_equal(kr_known_get(identity, &k, &e), KR_OK);
    assert_true(k.known && k.entries == 2 && strcmp(k.file, "/x") == 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(kr_file_write(path, bad[i], strlen(bad[i]), true, &e), KR_OK);
        assert_int_equal(kr_known_get(identity, &k, &e), KR_EFORMAT);
        assert_false(k.known);
    }
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fingerprints_are_sorted_and_ignore_case),
        cmocka_unit_test(a_file_keeps_what_it_had),
        cmocka_unit_test(damage_is_noticed),
        cmocka_unit_test(requests_are_known_again),
        cmocka_unit_test(heads_are_read_strictly),
    };
    char command[64];
    if (mkdtemp(dir) == NULL || setenv("XDG_STATE_HOME", dir, 1) != 0)
        return 1;
    int r = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(command, sizeof command, "rm -r %s", dir);
    return system(command) != 0 ? 1 : r;
}
