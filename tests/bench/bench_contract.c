/* bench_contract FILE - load time, peak memory, and the time of a contract change, as
 * "name value" lines for tests/bench/contract.py to put beside the same procedure in NumPy. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "verdict/verdict.h"

static void die(const kr_error *e) {
    fprintf(stderr, "%s\n", e->msg);
    exit(1);
}

/* Peak resident memory of this program alone; getrusage's would include what a parent had before
 * exec. */
static long peak_kib(void) {
    char line[256];
    long kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "VmHWM: %ld kB", &kib) == 1)
            break;
    if (f != NULL)
        fclose(f);
    return kib;
}

/* Seconds per contract change while one value moves through `steps` values never seen before. */
static double sweep(kr_analysis *a, int value, int steps) {
    kr_error e;
    double start = kr_clock();
    for (int i = 0; i < steps; i++) {
        kr_contract k = kr_analysis_home(a);
        if (value == 0)
            k.tolerance = kr_dec_make(i, 3);
        else if (value == 1)
            k.risk = kr_dec_make(5 + i, 3);
        else
            k.confidence = kr_dec_make(500 + i, 3);
        if (kr_analysis_set(a, k, &e) != KR_OK)
            die(&e);
    }
    return (kr_clock() - start) / steps;
}

/* Certified retention per method at a few contracts: the other side must agree. */
static void print_verdicts(kr_analysis *a) {
    kr_error e;
    for (int i = 0; i < 9; i++) {
        kr_contract k = {kr_dec_make(5 * (i % 3), 2), kr_dec_make(2 + 3 * (i / 3), 2),
                         kr_dec_make(95, 2)};
        if (kr_analysis_set(a, k, &e) != KR_OK)
            die(&e);
        for (size_t m = 0; m < kr_calib_methods(kr_analysis_calib(a)); m++)
            printf("verdict %d %zu %d %lld\n", i, m, kr_analysis_line(a, m)->certified,
                   (long long)kr_analysis_line(a, m)->certified_events);
    }
}

int main(int argc, char **argv) {
    kr_calib *c;
    kr_analysis *a;
    kr_error e;
    if (argc != 2)
        return 2;
    double start = kr_clock();
    if (kr_calib_load(argv[1], &c, &e) != KR_OK)
        die(&e);
    printf("load %.6f\n", kr_clock() - start);
    printf("peak_kib %ld\n", peak_kib());
    if (kr_analysis_new(c, (kr_analysis_options){.split = KR_SPLIT_CAL}, &a, &e) != KR_OK)
        die(&e);
    printf("tolerance %.9f\n", sweep(a, 0, 300));
    printf("risk %.9f\n", sweep(a, 1, 300));
    printf("confidence %.9f\n", sweep(a, 2, 300));
    print_verdicts(a);
    kr_analysis_free(a);
    kr_calib_free(c);
    return 0;
}
