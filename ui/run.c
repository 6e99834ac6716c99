#include "ui/run.h"

#include <errno.h>
#include <getopt.h>
#include <langinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "ui/config.h"
#include "ui/print.h"
#include "ui/term.h"

enum { EXIT_USAGE = 2, TICK_MS = 1000, FRAME_MS = 40, MAX_KEYS_A_FRAME = 64, MANY_BYTES = 16 << 20 };

typedef struct {
    const char *file, *size, *theme;
    kr_print_options print;
    kr_color color;
    bool ascii, help, plot;
} options;

static const char options_text[] =
    "\noptions of the screens:\n"
    "  --print SCREEN   write one screen as text and end: main, map, policy, tasks,\n"
    "                   requests, reeval, points, claims, plan, simulate, ledger, help\n"
    "  --size WxH       its size (default 80x24)\n"
    "  --keys KEYS      keys to press before it is drawn\n"
    "  --roles          letters of the roles instead of the text\n"
    "  --plot ALPHABET  block, braille, ascii\n"
    "  --split SPLIT    judge on the cal or test requests (default cal)\n"
    "  --assume-independent  treat requests of one cluster as independent\n"
    "  --ascii          plain ASCII instead of UTF-8, as in a locale without UTF-8\n"
    "  --theme NAME     default, light, dark, high-contrast, mono\n"
    "  --color WHEN     auto, always, never (auto honours NO_COLOR)\n";

static int complain(const char *sentence, const char *what) {
    fprintf(stderr, "kvrisk: %s%s\n", sentence, what);
    return EXIT_USAGE;
}

/* --- options ---------------------------------------------------------------------------------- */

enum {
    O_PRINT = 1,
    O_SIZE,
    O_KEYS,
    O_ROLES,
    O_PLOT,
    O_ASCII,
    O_THEME,
    O_COLOR,
    O_SPLIT,
    O_ASSUME,
    O_HELP
};

static int take_option(options *o, int opt, const char *arg) {
    switch (opt) {
    case O_PRINT: o->print.screen = arg; return 0;
    case O_SIZE:
        return kr_print_size(arg, &o->print.w, &o->print.h)
                   ? 0
                   : complain("--size wants WxH, each 1 to 1000, not ", arg);
    case O_KEYS: o->print.keys = arg; return 0;
    case O_ROLES: o->print.roles = true; return 0;
    case O_PLOT:
        o->plot = true;
        return kr_plot_alphabet_find(arg, &o->print.alphabet)
                   ? 0
                   : complain("--plot wants block, braille or ascii, not ", arg);
    case O_ASCII: o->ascii = true; return 0;
    case O_THEME: o->theme = arg; return 0;
    case O_COLOR:
        o->color = strcmp(arg, "always") == 0  ? KR_COLOR_ALWAYS
                   : strcmp(arg, "never") == 0 ? KR_COLOR_NEVER
                                               : KR_COLOR_AUTO;
        return strcmp(arg, "auto") == 0 || o->color != KR_COLOR_AUTO
                   ? 0
                   : complain("--color wants auto, always or never, not ", arg);
    case O_SPLIT:
        o->print.analysis.split = strcmp(arg, "test") == 0 ? KR_SPLIT_TEST : KR_SPLIT_CAL;
        return strcmp(arg, "test") == 0 || strcmp(arg, "cal") == 0
                   ? 0
                   : complain("--split wants cal or test, not ", arg);
    case O_ASSUME: o->print.analysis.assume_independent = true; return 0;
    case O_HELP: o->help = true; return 0;
    default: return EXIT_USAGE; /* getopt has said why */
    }
}

static int parse(int argc, char **argv, options *o) {
    static const struct option known[] = {{"print", required_argument, NULL, O_PRINT},
                                          {"size", required_argument, NULL, O_SIZE},
                                          {"keys", required_argument, NULL, O_KEYS},
                                          {"roles", no_argument, NULL, O_ROLES},
                                          {"plot", required_argument, NULL, O_PLOT},
                                          {"ascii", no_argument, NULL, O_ASCII},
                                          {"theme", required_argument, NULL, O_THEME},
                                          {"color", required_argument, NULL, O_COLOR},
                                          {"split", required_argument, NULL, O_SPLIT},
                                          {"assume-independent", no_argument, NULL, O_ASSUME},
                                          {"help", no_argument, NULL, O_HELP},
                                          {NULL, 0, NULL, 0}};
    int opt;
    optind = 1;
    while ((opt = getopt_long(argc, argv, "", known, NULL)) != -1) {
        int rc = take_option(o, opt, optarg);
        if (rc != 0)
            return rc;
    }
    if (argc - optind > 1)
        return complain("more than one file: ", argv[optind + 1]);
    o->file = optind < argc ? argv[optind] : NULL;
    return 0;
}

/* --- the bundled sample ----------------------------------------------------------------------- */

static bool readable(char *out, size_t cap, const char *dir, const char *part) {
    return (size_t)snprintf(out, cap, "%s%s/mini-ruler.jsonl", dir, part) < cap &&
           access(out, R_OK) == 0;
}

/* $KVRISK_DATA, then beside the executable (source tree, then installed), then the prefix. */
static bool sample_path(char *out, size_t cap) {
    char exe[1024];
    const char *own = getenv("KVRISK_DATA");
    if (own != NULL && *own != '\0')
        return readable(out, cap, own, "");
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    exe[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(exe, '/');
    if (slash != NULL) {
        *slash = '\0';
        if (readable(out, cap, exe, "/data/samples") || readable(out, cap, exe, "/../share/kvrisk"))
            return true;
    }
    return readable(out, cap, KR_PREFIX, "/share/kvrisk");
}

/* --- without a terminal ----------------------------------------------------------------------- */

static bool utf8_locale(void) {
    const char *set = nl_langinfo(CODESET);
    return strcmp(set, "UTF-8") == 0 || strcmp(set, "utf8") == 0;
}

/* A full disk must not look like success. */
static int written(void) {
    if (fflush(stdout) == 0 && !ferror(stdout))
        return EXIT_SUCCESS;
    fprintf(stderr, "kvrisk: cannot write the output: %s\n", strerror(errno));
    return EXIT_FAILURE;
}

static int print_screen(const char *path, options *o) {
    kr_error err;
    char *text = NULL;
    o->print.ascii = o->ascii || !utf8_locale();
    if (kr_print_screen(path, &o->print, &text, &err) != KR_OK) {
        fprintf(stderr, "kvrisk: %s\n", err.msg);
        return err.code == KR_EINVAL ? EXIT_USAGE : EXIT_FAILURE;
    }
    fputs(text, stdout);
    free(text);
    return written();
}

/* --- in the terminal -------------------------------------------------------------------------- */

typedef struct {
    kr_app *app;
    kr_canvas *canvas;
    kr_config config;
    char config_path[1024];
    bool whole, mouse;
    int signal;
} session;

static bool same_settings(const kr_app_settings *x, const kr_app_settings *y) {
    return x->theme == y->theme && x->alphabet == y->alphabet && x->mouse == y->mouse &&
           x->look == y->look;
}

/* Settings are written when they change, never at the end, so that no exit loses them. */
static void keep_settings(session *s) {
    kr_error err;
    kr_app_settings now = kr_app_settings_of(s->app);
    if (same_settings(&now, &s->config.set))
        return;
    if (now.look != s->config.set.look)
        s->config.ascii = now.look == KR_LOOK_ASCII;
    s->config.set = now;
    if (s->config_path[0] != '\0' && kr_config_write(s->config_path, &s->config, &err) != KR_OK)
        kr_app_say(s->app, true, "settings are not kept: %s", err.msg);
}

static bool draw(session *s) {
    int w, h, cx, cy;
    kr_app_settings set = kr_app_settings_of(s->app);
    kr_term_size(&w, &h);
    if (s->canvas == NULL || kr_canvas_w(s->canvas) != w || kr_canvas_h(s->canvas) != h ||
        kr_canvas_look(s->canvas) != set.look) {
        kr_canvas_free(s->canvas);
        s->canvas = kr_canvas_new(w, h, set.look);
        if (s->canvas == NULL)
            return false;
    }
    if (set.mouse != s->mouse)
        kr_term_mouse(s->mouse = set.mouse);
    kr_app_view(s->app, s->canvas, &cx, &cy);
    kr_term_draw(s->canvas, set.theme, cx, cy, kr_app_wants_redraw(s->app) || s->whole);
    s->whole = false;
    return true;
}

/* False: nothing changed. */
static bool handle(session *s, const kr_event *e) {
    switch (e->kind) {
    case KR_EVENT_KEY: kr_app_key(s->app, e->key); return true;
    case KR_EVENT_MOUSE: kr_app_mouse(s->app, e->key, e->x, e->y); return true;
    case KR_EVENT_RESIZE: kr_app_resize(s->app, e->w, e->h); return s->whole = true;
    case KR_EVENT_RESUME: return s->whole = true;
    case KR_EVENT_INTERRUPT: kr_app_interrupt(s->app); return true;
    case KR_EVENT_NONE: return kr_app_tick(s->app);
    case KR_EVENT_END: s->signal = e->signal != 0 ? e->signal : SIGHUP; return false;
    case KR_EVENT_JOB: return false;
    }
    return false;
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void loop(session *s) {
    int w, h;
    kr_term_size(&w, &h);
    kr_app_resize(s->app, w, h);
    bool changed = true, heard = false;
    double drawn = 0;
    while (!kr_app_done(s->app) && s->signal == 0) {
        changed |= heard && seconds() - drawn >= FRAME_MS * 1e-3;
        if (changed && !draw(s))
            return;
        drawn = changed ? seconds() : drawn;
        heard &= !changed;
        bool waiting = kr_app_waiting(s->app);
        bool busy = kr_app_busy(s->app);
        kr_event e = kr_term_wait(busy ? kr_app_job_fd(s->app) : -1,
                                  waiting         ? 0
                                  : busy || heard ? FRAME_MS
                                                  : TICK_MS);
        if (waiting && e.kind == KR_EVENT_NONE) {
            kr_app_settle(s->app);
            changed = true;
            continue;
        }
        if (e.kind == KR_EVENT_JOB) { /* what it says is read at once, and drawn now and then */
            heard |= kr_app_hear(s->app);
            changed = false;
            continue;
        }
        changed = handle(s, &e);
        /* Keys that wait already are taken before the next frame, so a held key never lags. */
        for (int i = 0; i < MAX_KEYS_A_FRAME && e.kind == KR_EVENT_KEY && s->signal == 0 &&
                        !kr_app_done(s->app);
             i++) {
            e = kr_term_wait(-1, 0);
            if (e.kind == KR_EVENT_NONE)
                break;
            changed |= handle(s, &e);
        }
        keep_settings(s);
    }
}

static void open_settings(session *s, const options *o, bool *ascii) {
    if (!kr_config_path(s->config_path, sizeof s->config_path))
        s->config_path[0] = '\0';
    kr_config_read(s->config_path, &s->config);
    if (o->theme != NULL && !kr_theme_find(o->theme, &s->config.set.theme))
        s->config.set.theme = KR_THEME_DEFAULT;
    if (o->plot)
        s->config.set.alphabet = o->print.alphabet;
    *ascii = o->ascii || s->config.ascii;
}

static void describe(session *s) {
    char text[160];
    const char *type = getenv("TERM");
    snprintf(text, sizeof text, "TERM %.40s, %d colours", type != NULL ? type : "?",
             kr_term_colors());
    kr_app_describe_terminal(s->app, text);
    if (s->config.unknown[0] != '\0')
        kr_app_say(s->app, false, "%.200s: setting '%s' is not known; it is kept", s->config_path,
                   s->config.unknown);
}

static int no_terminal(const kr_error *err, const char *path) {
    fprintf(stderr,
            "kvrisk: %s; without a terminal: kvrisk certify %s, or kvrisk --print main %s\n",
            err->msg, path, path);
    return EXIT_USAGE;
}

static int end(session *s, int status) {
    kr_canvas_free(s->canvas);
    kr_app_free(s->app);
    kr_config_free(&s->config);
    return status;
}

/* Some seconds without a word would look like a hang; the line is taken back before the screens. */
static void say_reading(const char *path, bool on) {
    kr_stamp stamp;
    if (!isatty(STDERR_FILENO) || kr_file_stamp(path, &stamp, NULL) != KR_OK ||
        stamp.size < MANY_BYTES)
        return;
    if (on)
        fprintf(stderr, "reading %lld MB ...\r", (long long)(stamp.size >> 20));
    else
        fprintf(stderr, "%30s\r", "");
}

static int interactive(const char *path, const options *o) {
    session s = {0};
    kr_error err;
    bool ascii;
    char log[1024];
    if (kr_term_check(&err) != KR_OK)
        return no_terminal(&err, path);
    open_settings(&s, o, &ascii);
    say_reading(path, true);
    if (kr_app_open_with(path, o->print.analysis, s.config.set, &s.app, &err) != KR_OK) {
        fprintf(stderr, "kvrisk: %s\n", err.msg);
        return end(&s, EXIT_FAILURE);
    }
    say_reading(path, false);
    if (kr_term_open(o->color, ascii, kr_state_log_path(log, sizeof log) ? log : NULL, &err) !=
        KR_OK)
        return end(&s, no_terminal(&err, path));
    kr_app_set_look(s.app, kr_term_look());
    kr_app_set_colored(s.app, kr_term_depth() != KR_DEPTH_MONO);
    s.config.set.look = kr_term_look();
    describe(&s);
    if (kr_state_reeval_path(log, sizeof log))
        kr_app_remember(s.app, log);
    loop(&s);
    kr_term_close();
    bool interrupted = kr_app_interrupted(s.app);
    return end(&s, s.signal != 0 ? 128 + s.signal : interrupted ? 128 + SIGINT : EXIT_SUCCESS);
}

int kr_ui_run(int argc, char **argv) {
    options o = {.print = {.w = 80, .h = 24}};
    char sample[1200];
    int rc = parse(argc, argv, &o);
    if (rc != 0) {
        fputs("kvrisk --help lists the options and commands\n", stderr);
        return rc;
    }
    if (o.help) {
        fputs(options_text, stdout);
        return written();
    }
    kr_theme theme;
    if (o.theme != NULL && !kr_theme_find(o.theme, &theme))
        return complain("--theme wants default, light, dark, high-contrast or mono, not ", o.theme);
    if (o.file == NULL && !sample_path(sample, sizeof sample))
        return complain("the bundled sample is not found; ", "name a file");
    const char *path = o.file != NULL ? o.file : sample;
    if (access(path, F_OK) != 0)
        return complain("no such file or command: ", path);
    return o.print.screen != NULL ? print_screen(path, &o) : interactive(path, &o);
}
