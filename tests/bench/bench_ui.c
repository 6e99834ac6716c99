/* bench_ui FILE... - time from a key to the redrawn canvas, at 200x60, for each calibration file: the
 * slowest and the mean of every sweep and movement key on every screen. The terminal's own output is
 * not in it. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "ui/app.h"

typedef struct {
    double sum, worst, later; /* later: slowest second frame, with what was put off */
    int count;
    char worst_key;
} timing;

static void press(kr_app *a, kr_canvas *c, char key, timing *t) {
    int x, y;
    char text[2] = {key, '\0'};
    double start = kr_clock();
    kr_app_type(a, text);
    kr_app_view(a, c, &x, &y);
    double s = kr_clock() - start;
    t->sum += s;
    t->count++;
    if (s > t->worst) {
        t->worst = s;
        t->worst_key = key;
    }
    if (!kr_app_waiting(a))
        return;
    start = kr_clock();
    kr_app_settle(a);
    kr_app_view(a, c, &x, &y);
    if (kr_clock() - start > t->later)
        t->later = kr_clock() - start;
}

/* Sweeps each contract value, moves through methods and levels, and undoes. */
static timing run_screen(kr_app *a, kr_canvas *c, kr_screen screen) {
    static const char keys[] = "llllhhhhLH\tllllhhhhLH\tllllhhhh\tjjjkkkpPp[[]]u0";
    timing t = {0};
    kr_app_show(a, screen);
    for (const char *k = keys; *k != '\0'; k++)
        press(a, c, *k, &t);
    return t;
}

static int bench(const char *path) {
    static const struct {
        const char *name;
        kr_screen screen;
    } screens[] = {{"Main", KR_SCREEN_MAIN},
                   {"Map", KR_SCREEN_MAP},
                   {"Policy", KR_SCREEN_POLICY},
                   {"Tasks", KR_SCREEN_TASKS}};
    kr_app *a;
    kr_error e;
    if (kr_app_open(path, (kr_app_settings){.look = KR_LOOK_UTF8}, &a, &e) != KR_OK) {
        fprintf(stderr, "%s\n", e.msg);
        return 1;
    }
    kr_canvas *c = kr_canvas_new(200, 60, KR_LOOK_UTF8);
    kr_app_resize(a, 200, 60);
    for (size_t i = 0; i < sizeof screens / sizeof *screens; i++) {
        timing t = run_screen(a, c, screens[i].screen);
        printf("%-28s %-8s %8.3f ms %8.3f ms (%c) %6.0f %% of 16 ms %8.1f ms\n", path, screens[i].name,
               1e3 * t.sum / t.count, 1e3 * t.worst, t.worst_key == '\t' ? 'T' : t.worst_key,
               100 * t.worst / 0.016, 1e3 * t.later);
    }
    kr_canvas_free(c);
    kr_app_free(a);
    return 0;
}

int main(int argc, char **argv) {
    int status = 0;
    printf("key to redrawn canvas, 200x60, against 16 ms (one frame at 60 Hz)\n");
    printf("%-28s %-8s %11s %15s %29s\n", "", "screen", "mean", "worst (key)", "then, off the key's path");
    for (int i = 1; i < argc; i++)
        status |= bench(argv[i]);
    return status;
}
