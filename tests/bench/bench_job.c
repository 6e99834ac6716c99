/* bench_job KVRISK FILE - keys without and with a job of re-evaluation at work: from a key to the
 * redrawn canvas, what the job said read first, as the loop does it; and from `r` to the first
 * request that is done. FILE has its model and requests beside it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "ui/model.h"

enum { PRESSES = 2000 };

static int by_size(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* The 99th percentile; a job that has ended is started again between keys. */
static double percentile(kr_app *a, kr_canvas *c, bool job) {
    static const char keys[] = "llllhhhh\tllllhhhh\tllllhhhh\tjjjkkkpPp[[]]u0";
    static double took[PRESSES];
    int x, y;
    for (int i = 0; i < PRESSES; i++) {
        if (job && !kr_app_busy(a)) {
            kr_app_show(a, KR_SCREEN_MAIN); /* where r starts at once */
            kr_app_type(a, "r");
        }
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
        double start = kr_clock();
        kr_app_hear(a);
        kr_app_type(a, (char[]){keys[(size_t)i % (sizeof keys - 1)], '\0'});
        kr_app_view(a, c, &x, &y);
        took[i] = kr_clock() - start;
    }
    qsort(took, PRESSES, sizeof *took, by_size);
    return took[PRESSES * 99 / 100];
}

/* The job is shown when its files were read. */
static bool has_result(const kr_app *a) {
    return kr_reeval_shown(a) != NULL && kr_reeval_shown(a)->n_result > 0;
}

int main(int argc, char **argv) {
    kr_app *a = NULL;
    kr_error e = {.msg = "usage: bench_job KVRISK FILE"};
    if (argc != 3 ||
        kr_app_open(argv[2], (kr_app_settings){.look = KR_LOOK_UTF8}, &a, &e) != KR_OK) {
        fprintf(stderr, "%s\n", e.msg);
        return 1;
    }
    kr_canvas *c = kr_canvas_new(120, 36, KR_LOOK_UTF8);
    kr_app_resize(a, 120, 36);
    snprintf(a->re->program, sizeof a->re->program, "%s", argv[1]);
    double start = kr_clock();
    kr_app_type(a, "r");
    while (kr_app_busy(a) && !has_result(a)) {
        kr_app_hear(a);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    double first = kr_clock() - start;
    if (!has_result(a)) {
        fprintf(stderr, "re-evaluation ended without a result\n");
        kr_app_free(a);
        return 1;
    }
    kr_app_wait(a);
    double quiet = percentile(a, c, false), busy = percentile(a, c, true);
    quiet = (quiet + percentile(a, c, false)) / 2;
    printf("from r to the first request  %.3f s (limit 1 s)\n", first);
    printf("a key to the canvas, 99th percentile  %.3f ms, with a job %.3f ms, ratio %.2f (limit 1.5)\n",
           1e3 * quiet, 1e3 * busy, busy / quiet);
    kr_canvas_free(c);
    kr_app_free(a);
    return 0;
}
