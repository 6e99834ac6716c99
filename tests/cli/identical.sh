#!/bin/sh
# Verdicts must not depend on the compiler or its optimisation: gcc and clang, -O0 and -O3, over sizes
# up to ten million, with limits, tails, families and e-values printed to the last bit.
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
command -v gcc >/dev/null && command -v clang >/dev/null || { echo "skip: needs gcc and clang"; exit 77; }
cat >"$tmp/main.c" <<'C'
#include <stdio.h>
#include "risk/evalue.h"
#include "risk/family.h"
#include "risk/random.h"

static int64_t count(void *ctx, size_t c, size_t j) {
    return ((int64_t *)ctx)[c * 8 + j];
}

int main(void) {
    static const int64_t sizes[] = {59, 300, 600, 1200, 5000, 100000, 1000000, 10000000};
    kr_random r = kr_random_start(11, 0);
    for (int i = 0; i < 400; i++) {
        int64_t n = sizes[kr_random_below(&r, 8)];
        kr_dec eps = kr_dec_make((int64_t)kr_random_below(&r, 300) + 1, 3);
        kr_dec delta = kr_dec_make((int64_t)kr_random_below(&r, 200) + 1, 3);
        kr_limits l = kr_limits_make(n, eps, kr_level_make(delta, 1 + (int64_t)kr_random_below(&r, 13)));
        printf("%lld %lld %lld %d", (long long)l.kmax, (long long)l.guard_max, (long long)l.plugin_max,
               l.next_is_tie);
        if (n <= 100000)
            printf(" %lld", (long long)kr_evalue_kmax(n, eps, kr_level_double(l.level)));
        int64_t k[4 * 8];
        size_t length[4] = {8, 8, 8, 8};
        kr_family_member m[4];
        for (int j = 0; j < 32; j++) {
            int64_t at = l.kmax - 4 + (int64_t)kr_random_below(&r, 6);
            k[j] = at < 0 ? 0 : at > n ? n : at;
        }
        if (kr_family_certify(4, length, count, k, n, eps, kr_level_make(delta, 1), NULL, m, NULL) == KR_OK)
            for (int c = 0; c < 4; c++)
                printf(" %lld/%lld", (long long)m[c].sequence.certified, (long long)m[c].limits.kmax);
        printf("\n");
    }
    return 0;
}
C
n=0
for cc in gcc clang; do
    for o in -O0 -O3; do
        $cc -std=c11 -D_XOPEN_SOURCE=700 -Isrc $o -o "$tmp/$cc$o" "$tmp/main.c" src/risk/[!s]*.c \
            src/risk/s[!i]*.c src/base/decimal.c src/base/status.c -lgsl -lm 2>"$tmp/err" ||
            { cat "$tmp/err"; exit 1; }
        "$tmp/$cc$o" >"$tmp/$cc$o.out" || exit 1
        cmp "$tmp/gcc-O0.out" "$tmp/$cc$o.out" || { echo "$cc $o differs"; exit 1; }
        n=$((n + 1))
    done
done
echo "note: 400 random contracts up to n = 10000000 give identical verdicts in $n builds (gcc, clang, -O0, -O3)"
