#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "calib/yamlmap.h"

static void a_config_is_a_flat_map(void **state) {
    (void)state;
    const char *s =
        "dataset: ruler\n"
        "data_dir: 4096\n"
        "compression_ratio: 0.5\n"
        "threshold: -4.0\n"
        "device: null\nempty:\ntilde: ~\nquoted: 'null'\n"
        "model_kwargs:\n  dtype: auto\n"
        "needle_depth: [0, 50]\n"
        "press_init_command: DMSPress(press=KVzapPress(model_type='mlp'), threshold=-4.0,\n"
        "  sliding_window_size=128)\n";
    kr_yamlmap *m = NULL;
    kr_error err = {0};
    assert_int_equal(kr_yamlmap_parse("config.yaml", s, strlen(s), &m, &err), KR_OK);
    assert_string_equal(kr_yamlmap_get(m, "data_dir"), "4096");
    assert_string_equal(kr_yamlmap_get(m, "threshold"), "-4.0");
    assert_string_equal(kr_yamlmap_get(m, "model_kwargs.dtype"), "auto");
    assert_string_equal(kr_yamlmap_get(m, "needle_depth.1"), "50");
    assert_string_equal(kr_yamlmap_get(m, "quoted"), "null");
    assert_string_equal(kr_yamlmap_get(m, "press_init_command"),
                        "DMSPress(press=KVzapPress(model_type='mlp'), threshold=-4.0, "
                        "sliding_window_size=128)");
    assert_null(kr_yamlmap_get(m, "device"));
    assert_null(kr_yamlmap_get(m, "empty"));
    assert_null(kr_yamlmap_get(m, "tilde"));
    assert_true(kr_yamlmap_has(m, "device"));
    assert_false(kr_yamlmap_has(m, "seed"));
    assert_null(kr_yamlmap_get(m, "seed"));
    kr_yamlmap_free(m);
}

static void refuses(const char *s, const char *want) {
    kr_yamlmap *m = NULL;
    kr_error err = {0};
    assert_int_equal(kr_yamlmap_parse("c.yaml", s, strlen(s), &m, &err), KR_EFORMAT);
    assert_null(m);
    assert_string_equal(err.msg, want);
}

static void odd_files_are_refused_with_their_place(void **state) {
    (void)state;
    refuses("", "c.yaml:1: a mapping (name: value) is expected");
    refuses("- a\n- b\n", "c.yaml:1: a mapping (name: value) is expected");
    refuses("a: 1\na: 2\n", "c.yaml:2: 'a' is given twice");
    refuses("a: &x [1]\nb: *x\n", "c.yaml:1: anchors and aliases are not accepted");
    refuses("a: *x\n", "c.yaml:1: anchors and aliases are not accepted");
    refuses("? [a]\n: b\n", "c.yaml:1: a plain name is expected");
    refuses("a: [[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]\n",
            "c.yaml:1: nested more than 16 levels deep");
}

static void broken_yaml_names_line_and_column(void **state) {
    (void)state;
    kr_yamlmap *m = NULL;
    kr_error err = {0};
    const char *s = "a: 1\n b: 2\n";
    assert_int_equal(kr_yamlmap_parse("c.yaml", s, strlen(s), &m, &err), KR_EFORMAT);
    assert_non_null(strstr(err.msg, "c.yaml:2:"));
    assert_non_null(strstr(err.msg, "not YAML"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_config_is_a_flat_map),
        cmocka_unit_test(odd_files_are_refused_with_their_place),
        cmocka_unit_test(broken_yaml_names_line_and_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
