/* SplitMix64 against its authors' numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mix.h"
#include "risk/random.h"
#include "sample/tasks.h"

static const uint64_t want[] = {UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
                                UINT64_C(9817491932198370423), UINT64_C(4593380528125082431),
                                UINT64_C(16408922859458223821)};

static void the_stream_of_a_seed_is_the_published_one(void **state) {
    (void)state;
    uint64_t s = 1234567;
    kr_random r = {1234567};
    kr_draw d = {1234567};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        assert_true(kr_mix_next(&s) == want[i]);
        assert_true(kr_random_next(&r) == want[i]);
        assert_true(kr_draw_next(&d) == want[i]);
    }
}

static void the_finaliser_is_the_streams(void **state) {
    (void)state;
    assert_true(kr_mix(1234567 + KR_MIX_STEP) == want[0]);
    assert_true(kr_mix(0) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_stream_of_a_seed_is_the_published_one),
        cmocka_unit_test(the_finaliser_is_the_streams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
