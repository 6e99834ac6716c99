/* make_calibration N OUT - a generated calibration set of N requests x 52 policies (4 methods at 13
 * retentions, 13 tasks), for speed measurements. The same N gives the same file. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t state = 20260929;

static double uniform(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0;
}

static void header(FILE *f) {
    static const char *const method[] = {"snapkv", "adakv", "defensivekv", "layer_defensivekv"};
    fputs("{\"kvrisk\":1,\"kind\":\"calibration\",\"name\":\"generated\",\"utility\":{\"min\":0,"
          "\"max\":1},\"tasks\":[", f);
    for (int t = 0; t < 13; t++)
        fprintf(f, "%s\"task_%d\"", t ? "," : "", t);
    fputs("],\"policies\":[", f);
    for (int m = 0; m < 4; m++)
        for (int r = 0; r < 13; r++)
            fprintf(f, "%s{\"method\":\"%s\",\"retention\":0.%02d}", m + r ? "," : "", method[m],
                    80 - 5 * r);
    fputs("]}\n", f);
}

/* Most requests lose nothing, some a little, and more of them a lot as less is kept. */
static void row(FILE *f, long i) {
    double full = (double)(int)(uniform() * 400 + 600) / 1000, hard = uniform();
    fprintf(f, "{\"id\":\"task_%ld-%07ld\",\"task\":\"task_%ld\",\"tokens\":%d,\"full\":%g,\"utility\":[",
            i % 13, i, i % 13, 2000 + (int)(uniform() * 6000), full);
    for (int p = 0; p < 52; p++) {
        double risk = 0.008 * (1 << (p % 13 / 2)) * (1 - 0.1 * (p / 13)), u = full;
        if (0.6 * hard + 0.4 * uniform() < risk)
            u = full * (double)(int)(uniform() * 10) / 10;
        else if (uniform() < 0.3)
            u = full - 0.001 * (int)(uniform() * 60);
        fprintf(f, "%s%.3g", p ? "," : "", u < 0 ? 0 : u);
    }
    fputs("]}\n", f);
}

int main(int argc, char **argv) {
    long n = argc == 3 ? strtol(argv[1], NULL, 10) : 0;
    FILE *f = n > 0 ? fopen(argv[2], "w") : NULL;
    if (f == NULL) {
        fputs("usage: make_calibration N OUT\n", stderr);
        return 2;
    }
    header(f);
    for (long i = 0; i < n; i++)
        row(f, i);
    return fclose(f) == 0 ? 0 : 1;
}
