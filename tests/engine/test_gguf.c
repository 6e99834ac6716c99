#include "help.h"

#include <sys/resource.h>

#include "base/clock.h"
#include "engine/model.h"

static const char *odd_dir(void) {
    return access("../shared/real/gguf_odd/manifest.json", R_OK) == 0 ? "../shared/real/gguf_odd"
                                                                      : "tests/fixtures/gguf_odd";
}

/* One line of the table; false when the verdict is wrong. */
static bool judge(const char *dir, const char *file, const char *expected, const char *why) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, file);
    kr_error e = {0};
    kr_model *m = NULL;
    double t = kr_clock();
    kr_status st = kr_model_open(path, &m, &e);
    t = kr_clock() - t;
    const char *verdict = st == KR_OK ? "accept" : "reject";
    bool ok = strstr(expected, verdict) != NULL && t < 1.0;
    if (st != KR_OK)
        ok = ok && st == KR_EFORMAT && strstr(e.msg, file) != NULL;
    printf("%-20s %-7s expected %-17s %s  %s\n", file, verdict, expected, ok ? "ok" : "WRONG",
           st == KR_OK ? why : e.msg + strlen(dir) + 1);
    kr_model_close(m);
    return ok;
}

static void every_odd_file_gets_its_verdict(void **state) {
    (void)state;
    char path[256];
    const char *dir = odd_dir();
    snprintf(path, sizeof path, "%s/manifest.json", dir);
    cJSON *all = slurp_json(path);
    assert_non_null(all);
    int n = 0, wrong = 0, absent = 0;
    const cJSON *x;
    cJSON_ArrayForEach(x, all) {
        const char *file = cJSON_GetObjectItemCaseSensitive(x, "file")->valuestring;
        snprintf(path, sizeof path, "%s/%s", dir, file);
        if (access(path, R_OK) != 0) {
            absent++;
            continue;
        }
        n++;
        wrong += !judge(dir, file, cJSON_GetObjectItemCaseSensitive(x, "must")->valuestring,
                        cJSON_GetObjectItemCaseSensitive(x, "why")->valuestring);
    }
    cJSON_Delete(all);
    struct rusage ru;
    getrusage(RUSAGE_SELF, &ru);
    printf("note: gguf_odd: %d files, %d wrong verdicts; the process peaked at %.1f MB\n", n, wrong,
           (double)ru.ru_maxrss / 1024);
    if (absent > 0)
        printf("skip: %d odd files are not here (../shared is absent)\n", absent);
    assert_int_equal(wrong, 0);
    assert_true(n >= 35);
#if !defined(__SANITIZE_ADDRESS__)
    if (getenv("RUNNER") == NULL || *getenv("RUNNER") == '\0')
        assert_true(ru.ru_maxrss < 100 * 1024);
#endif
}

static void what_is_no_file_is_named(void **state) {
    (void)state;
    kr_error e = {0};
    kr_model *m = NULL;
    assert_int_equal(kr_model_open("tests", &m, &e), KR_EIO);
    assert_string_equal(e.msg, "tests: is a directory; expected a GGUF model file");
    assert_int_equal(kr_model_open("no/such.gguf", &m, &e), KR_EIO);
    assert_string_equal(e.msg, "no/such.gguf: No such file or directory");
    assert_int_equal(kr_model_open("/dev/null", &m, &e), KR_EIO);
    assert_int_equal(kr_model_open("Makefile", &m, &e), KR_EFORMAT);
    assert_non_null(strstr(e.msg, "does not begin with the letters GGUF"));
}

/* Every truncation of a good file is refused, and none reads past the end. */
static void every_truncation_is_refused(void **state) {
    (void)state;
    size_t n = 0;
    char *data = slurp("tests/fixtures/models/synth-llama2-Q4_0.gguf", &n);
    assert_non_null(data);
    for (size_t cut = 0; cut < n; cut += cut < 12000 ? 37 : 9973) {
        char *part = malloc(cut + 1);
        memcpy(part, data, cut);
        kr_gguf *g = NULL;
        kr_error e = {0};
        assert_int_equal(kr_gguf_parse(part, cut, "cut", &g, &e), KR_EFORMAT);
        free(part);
    }
    free(data);
}

static void truncation_names_tensor_and_missing_bytes(void **state) {
    (void)state;
    size_t n = 0;
    char *data = slurp("tests/fixtures/models/synth-llama2-Q4_0.gguf", &n);
    assert_non_null(data);
    kr_gguf *g = NULL;
    kr_error e = {0};
    assert_int_equal(kr_gguf_parse(data, n - 100, "x.gguf", &g, &e), KR_EFORMAT);
    assert_non_null(strstr(e.msg, "tensor blk."));
    assert_non_null(strstr(e.msg, "(100 missing)"));
    free(data);
}

static void reads_keys_and_tensors(void **state) {
    (void)state;
    kr_gguf *g = NULL;
    kr_error e = {0};
    must(kr_gguf_open("tests/fixtures/models/synth-llama2-Q4_0.gguf", &g, &e), &e);
    uint64_t v = 7;
    must(kr_gguf_get_uint(g, "llama.block_count", true, &v, &e), &e);
    assert_int_equal(v, 2);
    v = 7;
    must(kr_gguf_get_uint(g, "no.such", false, &v, &e), &e);
    assert_int_equal(v, 7);
    assert_int_equal(kr_gguf_get_uint(g, "no.such", true, &v, &e), KR_EFORMAT);
    assert_int_equal(kr_gguf_get_uint(g, "general.name", true, &v, &e), KR_EFORMAT);
    const kr_gguf_tensor *t = kr_gguf_find(g, "blk.1.ffn_down.weight");
    assert_non_null(t);
    assert_int_equal(t->type, KR_QUANT_Q4_0);
    assert_int_equal(t->ne[0], 256);
    assert_null(kr_gguf_find(g, "blk.2.ffn_down.weight"));
    kr_gguf_close(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_odd_file_gets_its_verdict),
        cmocka_unit_test(what_is_no_file_is_named),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(truncation_names_tensor_and_missing_bytes),
        cmocka_unit_test(reads_keys_and_tensors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
