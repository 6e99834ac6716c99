#include "ui/job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"

extern char **environ;

enum { GRACE_S = 3, READ_AT_ONCE = 1 << 18 };

struct kr_job {
    pid_t pid; /* also its group; -1 once reaped */
    int fd;    /* read end of the pipe; -1 after its end */
    kr_job_limits limits;
    kr_job_state state, why; /* why: what it is being ended for */
    double began, ended, asked, looked; /* monotonic seconds; asked: TERM was sent, 0 not */
    size_t bytes;
    bool killed, dropping; /* dropping: the rest of a line that is too long */
    kr_buf line;
    char end[48];
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

const char *kr_job_state_name(kr_job_state s) {
    static const char *const names[] = {"running",  "done",         "failed",
                                        "canceled", "out of time", "out of memory"};
    return (unsigned)s < sizeof names / sizeof *names ? names[s] : "unknown";
}

/* --- starting --------------------------------------------------------------------------------- */

/* The environment with one BLAS thread. Strings are borrowed. */
static char **environment(void) {
    static char one[] = "OPENBLAS_NUM_THREADS=1";
    size_t n = 0, k = 0;
    while (environ != NULL && environ[n] != NULL)
        n++;
    char **env = calloc(n + 2, sizeof *env);
    for (size_t i = 0; env != NULL && i < n; i++)
        if (strncmp(environ[i], one, strcspn(one, "=") + 1) != 0)
            env[k++] = environ[i];
    if (env != NULL)
        env[k] = one;
    return env;
}

static void set_attributes(posix_spawnattr_t *at) {
    sigset_t none, plain;
    sigemptyset(&none);
    sigemptyset(&plain);
    static const int mine[] = {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    for (size_t i = 0; i < sizeof mine / sizeof *mine; i++)
        sigaddset(&plain, mine[i]);
    posix_spawnattr_setflags(at, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                     POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(at, 0);
    posix_spawnattr_setsigmask(at, &none);
    posix_spawnattr_setsigdefault(at, &plain);
}

static int spawn(const char *program, char *const argv[], int out, pid_t *pid) {
    posix_spawn_file_actions_t fa;
    posix_spawnattr_t at;
    char **env = environment();
    int e = env == NULL ? ENOMEM : posix_spawn_file_actions_init(&fa);
    if (e != 0) {
        free(env);
        return e;
    }
    if ((e = posix_spawnattr_init(&at)) == 0) {
        set_attributes(&at);
        posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_adddup2(&fa, out, 1);
        posix_spawn_file_actions_adddup2(&fa, out, 2);
        e = posix_spawn(pid, program, &fa, &at, argv, env);
        posix_spawnattr_destroy(&at);
    }
    posix_spawn_file_actions_destroy(&fa);
    free(env);
    return e;
}

static bool open_pipe(int p[2]) {
    if (pipe(p) != 0)
        return false;
    for (int i = 0; i < 2; i++)
        fcntl(p[i], F_SETFD, FD_CLOEXEC);
    fcntl(p[0], F_SETFL, O_NONBLOCK);
    return true;
}

kr_status kr_job_start(const char *program, char *const argv[], kr_job_limits limits, kr_job **out,
                       kr_error *err) {
    int p[2];
    pid_t pid = -1;
    kr_job *j = calloc(1, sizeof *j);
    if (j == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory starting %s", program);
    if (!open_pipe(p)) {
        free(j);
        return kr_fail(err, KR_EIO, "no pipe for %s: %s", program, strerror(errno));
    }
    int e = spawn(program, argv, p[1], &pid);
    close(p[1]);
    if (e != 0) {
        close(p[0]);
        free(j);
        return kr_fail(err, KR_EIO, "cannot start %s: %s", program, strerror(e));
    }
    int mine = getpriority(PRIO_PROCESS, 0);
    setpriority(PRIO_PGRP, (id_t)pid, mine + limits.nice); /* threads made from now on inherit it */
    *j = (kr_job){.pid = pid, .fd = p[0], .limits = limits, .began = now()};
    *out = j;
    return KR_OK;
}

/* --- ending ----------------------------------------------------------------------------------- */

static void ask(kr_job *j, kr_job_state why) {
    if (j->pid < 0 || j->asked > 0)
        return;
    j->why = why;
    j->asked = now();
    kill(-j->pid, SIGTERM);
    kill(-j->pid, SIGCONT); /* one that is stopped shall hear it */
}

static void insist(kr_job *j) {
    if (j->pid > 0 && j->asked > 0 && !j->killed && now() - j->asked >= GRACE_S) {
        j->killed = true;
        kill(-j->pid, SIGKILL);
    }
}

/* Whether the child has ended. It is looked at before it is reaped, so that its number still
 * belongs to its group when what it left behind is ended. */
static bool reap(kr_job *j) {
    siginfo_t info = {.si_pid = 0};
    int ws = 0;
    if (j->pid < 0)
        return true;
    if (waitid(P_PID, (id_t)j->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == EINTR)
        return false;
    if (info.si_pid == 0 && errno != ECHILD)
        return false;
    kill(-j->pid, SIGKILL);
    pid_t got;
    while ((got = waitpid(j->pid, &ws, 0)) < 0 && errno == EINTR)
        continue;
    j->pid = -1;
    j->ended = now();
    bool ok = got > 0 && WIFEXITED(ws) && WEXITSTATUS(ws) == 0;
    if (got > 0 && WIFSIGNALED(ws))
        snprintf(j->end, sizeof j->end, "signal %d", WTERMSIG(ws));
    else
        snprintf(j->end, sizeof j->end, "exit status %d", got > 0 ? WEXITSTATUS(ws) : -1);
    j->why = ok ? KR_JOB_DONE : j->asked > 0 ? j->why : KR_JOB_FAILED;
    return true;
}

void kr_job_cancel(kr_job *j) { ask(j, KR_JOB_CANCELED); }

void kr_job_free(kr_job *j) {
    if (j == NULL)
        return;
    ask(j, KR_JOB_CANCELED);
    while (!reap(j)) {
        insist(j);
        nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
    }
    if (j->fd >= 0)
        close(j->fd);
    kr_buf_free(&j->line);
    free(j);
}

/* --- limits ----------------------------------------------------------------------------------- */

static size_t resident(pid_t pid) {
    char path[48];
    long pages = 0, all = 0;
    snprintf(path, sizeof path, "/proc/%ld/statm", (long)pid);
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return 0;
    bool ok = fscanf(f, "%ld %ld", &all, &pages) == 2 && pages > 0;
    fclose(f);
    return ok ? (size_t)pages * (size_t)sysconf(_SC_PAGESIZE) : 0;
}

static void check_limits(kr_job *j) {
    double t = now();
    if (j->limits.max_seconds > 0 && t - j->began > j->limits.max_seconds)
        ask(j, KR_JOB_TIMEOUT);
    if (t - j->looked < 0.2)
        return;
    j->looked = t;
    size_t bytes = resident(j->pid);
    j->bytes = bytes > 0 ? bytes : j->bytes;
    if (j->limits.max_bytes > 0 && bytes > j->limits.max_bytes)
        ask(j, KR_JOB_MEMORY);
}

/* --- reading ---------------------------------------------------------------------------------- */

static void give(kr_job *j, kr_job_line take, void *arg, bool cut) {
    if (take != NULL && j->line.s != NULL && !j->line.failed)
        take(arg, j->line.s, j->line.len, cut);
    j->line.len = 0;
}

/* One part of a line, with its end or not. */
static void add(kr_job *j, const char *s, size_t n, bool ends, kr_job_line take, void *arg) {
    bool fits = j->line.len + n <= KR_JOB_MAX_LINE;
    if (!j->dropping) {
        kr_buf_add(&j->line, s, fits ? n : KR_JOB_MAX_LINE - j->line.len);
        if (ends || !fits)
            give(j, take, arg, !fits);
    }
    j->dropping = !ends && (j->dropping || !fits);
}

static void split(kr_job *j, const char *s, size_t n, kr_job_line take, void *arg) {
    while (n > 0) {
        const char *end = memchr(s, '\n', n);
        size_t part = end != NULL ? (size_t)(end - s) : n;
        add(j, s, part, end != NULL, take, arg);
        part += end != NULL ? 1 : 0;
        s += part;
        n -= part;
    }
}

static void drain(kr_job *j, kr_job_line take, void *arg) {
    char buf[16384];
    ssize_t n = 0;
    for (size_t total = 0; j->fd >= 0 && total < READ_AT_ONCE; total += (size_t)n) {
        n = read(j->fd, buf, sizeof buf);
        if (n < 0 && errno == EINTR) {
            n = 0;
            continue;
        }
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (n <= 0) {
            if (j->line.len > 0)
                give(j, take, arg, true); /* a last line without its end is not whole */
            close(j->fd);
            j->fd = -1;
            return;
        }
        split(j, buf, (size_t)n, take, arg);
    }
}

kr_job_state kr_job_poll(kr_job *j, kr_job_line take, void *arg) {
    if (j->state != KR_JOB_RUNNING)
        return j->state;
    bool gone = reap(j);
    drain(j, take, arg);
    if (!gone) {
        check_limits(j);
        insist(j);
    } else if (j->fd < 0 || now() - j->ended > GRACE_S) { /* or somebody else holds the pipe */
        j->state = j->why;
    }
    return j->state;
}

int kr_job_fd(const kr_job *j) { return j->fd; }
long kr_job_pid(const kr_job *j) { return (long)j->pid; }
double kr_job_seconds(const kr_job *j) { return (j->ended > 0 ? j->ended : now()) - j->began; }
size_t kr_job_bytes(const kr_job *j) { return j->bytes; }
const char *kr_job_end(const kr_job *j) { return j->end; }
