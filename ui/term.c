#include "ui/term.h"

#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "ui/keys.h"

/* A dead terminal answers at once and without end; a live one never this often. */
enum { MAX_EMPTY_READS = 100, MAX_PAIRS = 256, CRASH_LINES = 20 };
/* Above all codes that curses gives to keys. */
enum { CODE_PASTE_ON = 0x3000, CODE_PASTE_OFF };

static struct {
    SCREEN *screen;
    kr_look look;
    bool color;
    int w, h;
    struct termios saved;
    int wake[2];
    int saved_stderr, log_fd;
    char restore[512]; /* built before any handler can run */
    size_t restore_len;
    void (*curses_stop)(int); /* curses' own handler of SIGTSTP */
    struct {
        short fg, bg;
    } pairs[MAX_PAIRS];
    int n_pairs;
    int empty_reads;
} term = {.wake = {-1, -1}, .saved_stderr = -1, .log_fd = -1};

static volatile sig_atomic_t got_end, got_int, got_cont;

/* Pasted text comes between two marks, so that it is never taken for keys. */
static const char paste_on[] = "\033[?2004h", paste_off[] = "\033[?2004l";

/* --- signals ---------------------------------------------------------------------------------- */

static void on_flag(int sig) {
    int e = errno;
    if (sig == SIGINT)
        got_int = 1;
    else if (sig == SIGCONT)
        got_cont = 1;
    else
        got_end = sig;
    (void)!write(term.wake[1], "x", 1);
    errno = e;
}

/* The last lines of the log; async-signal-safe. */
static void show_log_tail(void) {
    char buf[4096];
    if (term.log_fd < 0 || term.saved_stderr < 0)
        return;
    off_t end = lseek(term.log_fd, 0, SEEK_END);
    off_t from = end > (off_t)sizeof buf ? end - (off_t)sizeof buf : 0;
    ssize_t n = pread(term.log_fd, buf, sizeof buf, from);
    if (n <= 0)
        return;
    ssize_t at = n;
    for (int seen = 0; at > 0; at--)
        if (buf[at - 1] == '\n' && ++seen > CRASH_LINES)
            break;
    (void)!write(term.saved_stderr, buf + at, (size_t)(n - at));
}

/* Only async-signal-safe calls. SA_RESETHAND: the raise takes the default way, core dump kept. */
static void on_crash(int sig) {
    (void)!write(STDOUT_FILENO, term.restore, term.restore_len);
    tcsetattr(STDIN_FILENO, TCSANOW, &term.saved);
    show_log_tail();
    raise(sig);
}

static void handle(int sig, void (*fn)(int), int flags) {
    struct sigaction sa;
    memset(&sa, 0, sizeof sa);
    sa.sa_handler = fn;
    sa.sa_flags = flags;
    sigaction(sig, &sa, NULL);
}

/* Everything that would end the program with the picture left on the terminal. */
static const struct {
    int sig;
    void (*fn)(int);
    int flags;
} watched[] = {
    {SIGSEGV, on_crash, (int)SA_RESETHAND}, {SIGABRT, on_crash, (int)SA_RESETHAND},
    {SIGFPE, on_crash, (int)SA_RESETHAND},  {SIGBUS, on_crash, (int)SA_RESETHAND},
    {SIGILL, on_crash, (int)SA_RESETHAND},  {SIGTRAP, on_crash, (int)SA_RESETHAND},
    {SIGSYS, on_crash, (int)SA_RESETHAND},  {SIGXFSZ, on_crash, (int)SA_RESETHAND},
    {SIGINT, on_flag, 0},                   {SIGTERM, on_flag, 0},
    {SIGHUP, on_flag, 0},                   {SIGQUIT, on_flag, 0},
    {SIGUSR1, on_flag, 0},                  {SIGUSR2, on_flag, 0},
    {SIGALRM, on_flag, 0},                  {SIGVTALRM, on_flag, 0},
    {SIGPROF, on_flag, 0},                  {SIGXCPU, on_flag, 0},
    {SIGCONT, on_flag, 0}};

/* Paste marks belong to the time in which curses has the terminal; curses does not know of them. */
static void on_stop(int sig) {
    int e = errno;
    (void)!write(STDOUT_FILENO, paste_off, sizeof paste_off - 1);
    term.curses_stop(sig); /* stops here, and is back after SIGCONT */
    (void)!write(STDOUT_FILENO, paste_on, sizeof paste_on - 1);
    errno = e;
}

static void handle_signals(void) {
    struct sigaction stop;
    for (size_t i = 0; i < sizeof watched / sizeof *watched; i++)
        handle(watched[i].sig, watched[i].fn, watched[i].flags);
    handle(SIGPIPE, SIG_IGN, 0);
    if (sigaction(SIGTSTP, NULL, &stop) != 0 || stop.sa_handler == SIG_DFL ||
        stop.sa_handler == SIG_IGN || stop.sa_handler == on_stop)
        return;
    term.curses_stop = stop.sa_handler;
    stop.sa_handler = on_stop;
    sigaction(SIGTSTP, &stop, NULL);
}

static void release_signals(void) {
    for (size_t i = 0; i < sizeof watched / sizeof *watched; i++)
        handle(watched[i].sig, SIG_DFL, 0);
}

/* --- opening and closing ---------------------------------------------------------------------- */

static const char *capability(const char *name) {
    const char *s = tigetstr((char *)(size_t)name);
    return s == (char *)-1 ? NULL : s;
}

/* Appends a string without its padding marks such as $<5/>. */
static void add_text(const char *s) {
    while (*s != '\0' && term.restore_len < sizeof term.restore) {
        const char *end = s[0] == '$' && s[1] == '<' ? strchr(s, '>') : NULL;
        if (end != NULL)
            s = end + 1;
        else
            term.restore[term.restore_len++] = *s++;
    }
}

static bool other_screen(void) { return capability("rmcup") != NULL; }

/* What gives the terminal back when nothing else can be run any more. Without another screen to
 * leave, the last line is cleared for the shell; a row that is too large means the last one. */
static void build_restore(void) {
    static const char *const caps[] = {"sgr0", "op", "cnorm", "rmkx", "rmcup"};
    term.restore_len = 0;
    add_text(paste_off);
    for (size_t i = 0; i < sizeof caps / sizeof *caps; i++)
        if (capability(caps[i]) != NULL)
            add_text(capability(caps[i]));
    const char *cup = capability("cup"), *el = capability("el");
    if (other_screen() || cup == NULL || el == NULL)
        return;
    cup = tparm((char *)(size_t)cup, 998L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L);
    if (cup != NULL)
        add_text(cup);
    add_text(el);
}

static void redirect_stderr(const char *log_path) {
    if (!isatty(STDERR_FILENO))
        return;
    int fd = log_path != NULL ? open(log_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    if (fd < 0)
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return;
    fflush(stderr);
    term.saved_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
    term.log_fd = fd;
    dup2(fd, STDERR_FILENO);
}

static void return_stderr(void) {
    if (term.saved_stderr >= 0) {
        fflush(stderr);
        dup2(term.saved_stderr, STDERR_FILENO);
        close(term.saved_stderr);
    }
    if (term.log_fd >= 0)
        close(term.log_fd);
    term.saved_stderr = term.log_fd = -1;
}

static void choose_color(kr_color color) {
    const char *no = getenv("NO_COLOR");
    bool wanted =
        color == KR_COLOR_ALWAYS || (color == KR_COLOR_AUTO && (no == NULL || *no == '\0'));
    term.color = wanted && has_colors() && start_color() == OK;
    if (term.color)
        use_default_colors();
}

static bool can_show_utf8(void) {
    const char *set = nl_langinfo(CODESET);
    return (strcmp(set, "UTF-8") == 0 || strcmp(set, "utf8") == 0) && wcwidth(0x2502) == 1 &&
           wcwidth(0x2588) == 1;
}

kr_status kr_term_check(kr_error *err) {
    const char *type = getenv("TERM");
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return kr_fail(err, KR_EINVAL, "the screens need a terminal on standard input and output");
    if (type == NULL || *type == '\0')
        return kr_fail(err, KR_EINVAL, "TERM is not set; try TERM=xterm-256color");
    return KR_OK;
}

static kr_status start_curses(kr_error *err) {
    const char *type = getenv("TERM");
    tcgetattr(STDIN_FILENO, &term.saved);
    term.screen = newterm(NULL, stdout, stdin); /* initscr() would end the program for us */
    if (term.screen == NULL)
        return kr_fail(err, KR_EINVAL, "terminal type '%s' is unknown; try TERM=xterm-256color",
                       type);
    char *cup = tigetstr((char *)(size_t) "cup");
    if (cup == NULL || cup == (char *)-1) {
        kr_term_close();
        return kr_fail(err, KR_EINVAL, "terminal type '%s' cannot move its cursor", type);
    }
    return KR_OK;
}

/* A terminal may send cursor keys in its other mode (just after a resume, or because its
 * description
 * is not exact); both are understood. */
static void define_cursor_keys(void) {
    static const struct {
        char last;
        int code;
    } cursor[] = {{'A', KEY_UP},   {'B', KEY_DOWN}, {'C', KEY_RIGHT},
                  {'D', KEY_LEFT}, {'H', KEY_HOME}, {'F', KEY_END}};
    for (size_t i = 0; i < sizeof cursor / sizeof *cursor; i++) {
        char normal[] = {27, '[', cursor[i].last, 0}, application[] = {27, 'O', cursor[i].last, 0};
        define_key(normal, cursor[i].code);
        define_key(application, cursor[i].code);
    }
}

static void make_pipe(void) {
    if (pipe(term.wake) != 0) {
        term.wake[0] = term.wake[1] = -1;
        return;
    }
    for (int i = 0; i < 2; i++) {
        fcntl(term.wake[i], F_SETFL, O_NONBLOCK);
        fcntl(term.wake[i], F_SETFD, FD_CLOEXEC);
    }
}

kr_status kr_term_open(kr_color color, bool ascii, const char *log_path, kr_error *err) {
    kr_status st = kr_term_check(err);
    if (st == KR_OK)
        st = start_curses(err);
    if (st != KR_OK)
        return st;
    build_restore();
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    define_cursor_keys();
    define_key("\033[200~", CODE_PASTE_ON);
    define_key("\033[201~", CODE_PASTE_OFF);
    nodelay(stdscr, TRUE);
    if (getenv("ESCDELAY") == NULL)
        set_escdelay(25);
    curs_set(0);
    choose_color(color);
    term.look = !ascii && can_show_utf8() ? KR_LOOK_UTF8 : KR_LOOK_ASCII;
    getmaxyx(stdscr, term.h, term.w);
    make_pipe();
    handle_signals();
    (void)!write(STDOUT_FILENO, paste_on, sizeof paste_on - 1);
    redirect_stderr(log_path);
    return KR_OK;
}

void kr_term_close(void) {
    if (term.screen == NULL)
        return;
    (void)!write(STDOUT_FILENO, paste_off, sizeof paste_off - 1);
    if (term.h > 0 && !other_screen()) {
        move(term.h - 1, 0); /* the shell goes on in this line */
        clrtoeol();
        refresh();
    }
    endwin();
    delscreen(term.screen);
    term.screen = NULL;
    term.n_pairs = 0;
    release_signals();
    return_stderr();
    for (int i = 0; i < 2; i++) {
        if (term.wake[i] >= 0)
            close(term.wake[i]);
        term.wake[i] = -1;
    }
}

kr_look kr_term_look(void) { return term.look; }
kr_depth kr_term_depth(void) { return term.color ? kr_depth_of(COLORS) : KR_DEPTH_MONO; }
int kr_term_colors(void) { return term.color ? COLORS : 0; }

void kr_term_size(int *w, int *h) {
    *w = term.w;
    *h = term.h;
}

void kr_term_mouse(bool on) {
    static const char off[] = "\033[?1000l\033[?1006l";
    /* After a crash as well; curses does it itself on every other way out. */
    if (on && term.restore_len + sizeof off <= sizeof term.restore &&
        memcmp(term.restore, off, sizeof off - 1) != 0) {
        memmove(term.restore + sizeof off - 1, term.restore, term.restore_len);
        memcpy(term.restore, off, sizeof off - 1);
        term.restore_len += sizeof off - 1;
    }
    mousemask(on ? BUTTON1_PRESSED | BUTTON1_CLICKED | BUTTON4_PRESSED | BUTTON5_PRESSED : 0, NULL);
    mouseinterval(0);
}

/* --- drawing ---------------------------------------------------------------------------------- */

static short pair_of(short fg, short bg) {
    if (fg < 0 && bg < 0)
        return 0;
    for (int i = 0; i < term.n_pairs; i++)
        if (term.pairs[i].fg == fg && term.pairs[i].bg == bg)
            return (short)(i + 1);
    if (term.n_pairs >= MAX_PAIRS || term.n_pairs + 1 >= COLOR_PAIRS)
        return 0;
    term.pairs[term.n_pairs].fg = fg;
    term.pairs[term.n_pairs].bg = bg;
    term.n_pairs++;
    init_pair((short)term.n_pairs, fg, bg);
    return (short)term.n_pairs;
}

static attr_t attrs_of(unsigned attr) {
    return ((attr & KR_ATTR_BOLD) != 0 ? WA_BOLD : 0) | ((attr & KR_ATTR_DIM) != 0 ? WA_DIM : 0) |
           ((attr & KR_ATTR_REVERSE) != 0 ? WA_REVERSE : 0) |
           ((attr & KR_ATTR_UNDERLINE) != 0 ? WA_UNDERLINE : 0);
}

static void draw_row(const kr_canvas *c, kr_theme theme, int y, int w) {
    kr_depth depth = kr_term_depth();
    for (int x = 0; x < w; x++) {
        const kr_cell *k = kr_canvas_at(c, x, y);
        if (k == NULL || k->cp == 0)
            continue;
        kr_style s = kr_theme_style(theme, depth, (kr_role)k->role, k->picked != 0);
        if (k->cp == ' ' && s.bg < 0 && (s.attr & KR_ATTR_REVERSE) == 0)
            continue;
        wchar_t text[2] = {(wchar_t)k->cp, 0};
        cchar_t cc;
        setcchar(&cc, text, attrs_of(s.attr), term.color ? pair_of(s.fg, s.bg) : 0, NULL);
        mvadd_wch(y, x, &cc);
    }
}

void kr_term_draw(const kr_canvas *c, kr_theme theme, int cx, int cy, bool whole) {
    int w = kr_canvas_w(c), h = kr_canvas_h(c);
    if (whole)
        clearok(curscr, TRUE);
    erase();
    for (int y = 0; y < h && y < term.h; y++)
        draw_row(c, theme, y, w < term.w ? w : term.w);
    move(cy < term.h ? cy : term.h - 1, cx < term.w ? cx : term.w - 1);
    refresh();
}

/* --- events ----------------------------------------------------------------------------------- */

static const struct {
    int curses, key;
} key_map[] = {
    {KEY_UP, KR_KEY_UP},
    {KEY_DOWN, KR_KEY_DOWN},
    {KEY_LEFT, KR_KEY_LEFT},
    {KEY_RIGHT, KR_KEY_RIGHT},
    {KEY_SLEFT, KR_KEY_SLEFT},
    {KEY_SRIGHT, KR_KEY_SRIGHT},
    {KEY_PPAGE, KR_KEY_PGUP},
    {KEY_NPAGE, KR_KEY_PGDN},
    {KEY_HOME, KR_KEY_HOME},
    {KEY_END, KR_KEY_END},
    {KEY_BTAB, KR_KEY_BACKTAB},
    {KEY_DC, KR_KEY_DELETE},
    {KEY_BACKSPACE, KR_KEY_BACKSPACE},
    {KEY_ENTER, KR_KEY_ENTER},
    {KEY_A1, KR_KEY_HOME},
    {KEY_C1, KR_KEY_END},
    {KEY_SR, KR_KEY_UP},
    {KEY_SF, KR_KEY_DOWN},
    {CODE_PASTE_ON, KR_KEY_PASTE_ON},
    {CODE_PASTE_OFF, KR_KEY_PASTE_OFF},
};

static kr_event mouse_event(void) {
    MEVENT m;
    kr_event e = {.kind = KR_EVENT_NONE};
    if (getmouse(&m) != OK)
        return e;
    e = (kr_event){.kind = KR_EVENT_MOUSE, .x = m.x, .y = m.y, .key = KR_KEY_CLICK};
    if ((m.bstate & BUTTON4_PRESSED) != 0)
        e.key = KR_KEY_WHEEL_UP;
    else if ((m.bstate & BUTTON5_PRESSED) != 0)
        e.key = KR_KEY_WHEEL_DOWN;
    return e;
}

static kr_event resized(void) {
    getmaxyx(stdscr, term.h, term.w);
    return (kr_event){.kind = KR_EVENT_RESIZE, .w = term.w, .h = term.h};
}

static kr_event special(wint_t code) {
    if (code == KEY_RESIZE)
        return resized();
    if (code == KEY_MOUSE)
        return mouse_event();
    for (int n = 1; n <= 12; n++)
        if (code == (wint_t)KEY_F(n))
            return (kr_event){.kind = KR_EVENT_KEY, .key = KR_KEY_F0 + n};
    for (size_t i = 0; i < sizeof key_map / sizeof *key_map; i++)
        if ((wint_t)key_map[i].curses == code)
            return (kr_event){.kind = KR_EVENT_KEY, .key = key_map[i].key};
    return (kr_event){.kind = KR_EVENT_KEY, .key = KR_KEY_UNKNOWN};
}

static kr_event read_key(void) {
    wint_t code = 0;
    int got = get_wch(&code);
    if (got == ERR)
        return (kr_event){.kind = KR_EVENT_NONE};
    term.empty_reads = 0;
    if (got == KEY_CODE_YES)
        return special(code);
    int key = (int)code;
    if (key == '\r' || key == '\n')
        key = KR_KEY_ENTER;
    else if (key == 0x7f || key == 0x08)
        key = KR_KEY_BACKSPACE;
    return (kr_event){.kind = KR_EVENT_KEY, .key = key};
}

/* Another thread of a library may take SIGWINCH, so the size is looked at as well. */
static bool size_changed(void) {
    struct winsize ws;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) != 0 || ws.ws_col == 0 || ws.ws_row == 0)
        return false;
    if (ws.ws_col == term.w && ws.ws_row == term.h)
        return false;
    resizeterm(ws.ws_row, ws.ws_col);
    return true;
}

static bool flags(kr_event *e) {
    char drop[64];
    while (term.wake[0] >= 0 && read(term.wake[0], drop, sizeof drop) > 0)
        continue;
    if (got_end != 0) {
        *e = (kr_event){.kind = KR_EVENT_END, .signal = got_end};
        return true;
    }
    if (got_int != 0) {
        got_int = 0;
        *e = (kr_event){.kind = KR_EVENT_INTERRUPT};
        return true;
    }
    if (size_changed()) {
        *e = resized();
        return true;
    }
    if (got_cont != 0) {
        got_cont = 0;
        *e = (kr_event){.kind = KR_EVENT_RESUME};
        return true;
    }
    return false;
}

kr_event kr_term_wait(int job_fd, int timeout_ms) {
    kr_event e = read_key();
    if (e.kind != KR_EVENT_NONE || flags(&e))
        return e;
    struct pollfd p[3] = {
        {STDIN_FILENO, POLLIN, 0}, {term.wake[0], POLLIN, 0}, {job_fd, POLLIN, 0}};
    int n = poll(p, 3, timeout_ms);
    if (flags(&e))
        return e;
    if (n > 0 && (p[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0)
        return (kr_event){.kind = KR_EVENT_END};
    e = read_key(); /* after SIGWINCH poll gives EINTR and this KEY_RESIZE */
    if (e.kind != KR_EVENT_NONE)
        return e;
    if (n > 0 && (p[0].revents & POLLIN) != 0 && ++term.empty_reads > MAX_EMPTY_READS)
        return (kr_event){.kind = KR_EVENT_END};
    if (n > 0 && job_fd >= 0 && p[2].revents != 0)
        return (kr_event){.kind = KR_EVENT_JOB};
    return e;
}
