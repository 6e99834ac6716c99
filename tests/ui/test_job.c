/* Children of every kind: well behaved, silent, deaf, flooding, dead. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "ui/job.h"

typedef struct {
    size_t lines, bytes, cut;
    char last[256], all[4096];
} heard;

static void take(void *arg, char *line, size_t len, bool cut) {
    heard *h = arg;
    h->lines++;
    h->bytes += len;
    h->cut += cut;
    snprintf(h->last, sizeof h->last, "%.255s", line);
    size_t used = strlen(h->all);
    snprintf(h->all + used, sizeof h->all - used, "%.100s|", line);
}

static void nap(void) { nanosleep(&(struct timespec){.tv_nsec = 2 * 1000 * 1000}, NULL); }

static kr_job *shell(const char *script, kr_job_limits limits) {
    char *argv[] = {"sh", "-c", (char *)(size_t)script, NULL};
    kr_job *j = NULL;
    kr_error err = {.msg = ""};
    if (kr_job_start("/bin/sh", argv, limits, &j, &err) != KR_OK)
        fail_msg("%s", err.msg);
    return j;
}

static kr_job_state finish(kr_job *j, heard *h, double most) {
    double began = kr_clock();
    kr_job_state s;
    while ((s = kr_job_poll(j, take, h)) == KR_JOB_RUNNING && kr_clock() - began < most)
        nap();
    return s;
}

static bool gone(long pid) { return kill((pid_t)pid, 0) != 0 && errno == ESRCH; }

/* Reads "pid N" from a child that tells it. */
static long told_pid(kr_job *j, heard *h) {
    long pid = -1;
    for (double t = kr_clock(); pid < 0 && kr_clock() - t < 5; nap()) {
        kr_job_poll(j, take, h);
        sscanf(h->all, "pid %ld", &pid);
    }
    return pid;
}

static void lines_of_output_and_messages_arrive_and_success_is_told(void **state) {
    (void)state;
    heard h = {0};
    kr_job *j = shell("echo one; echo two >&2; printf three", (kr_job_limits){0});
    assert_true(kr_job_pid(j) > 0);
    assert_int_equal(finish(j, &h, 10), KR_JOB_DONE);
    assert_string_equal(h.all, "one|two|three|");
    assert_int_equal(h.cut, 1); /* the last had no end */
    assert_int_equal(kr_job_pid(j), -1);
    assert_string_equal(kr_job_end(j), "exit status 0");
    kr_job_free(j);
}

static void failures_say_how(void **state) {
    (void)state;
    heard h = {0};
    kr_job *j = shell("exit 3", (kr_job_limits){0});
    assert_int_equal(finish(j, &h, 10), KR_JOB_FAILED);
    assert_string_equal(kr_job_end(j), "exit status 3");
    kr_job_free(j);
    j = shell("kill -9 $$", (kr_job_limits){0});
    assert_int_equal(finish(j, &h, 10), KR_JOB_FAILED);
    assert_string_equal(kr_job_end(j), "signal 9");
    kr_job_free(j);
}

static void a_missing_program_is_an_error_at_once_or_at_the_end(void **state) {
    (void)state;
    char *argv[] = {"none", NULL};
    kr_job *j = NULL;
    kr_error err = {.msg = ""};
    heard h = {0};
    if (kr_job_start("/nonexistent/none", argv, (kr_job_limits){0}, &j, &err) != KR_OK) {
        assert_non_null(strstr(err.msg, "/nonexistent/none"));
        assert_null(j);
        return;
    }
    assert_int_equal(finish(j, &h, 10), KR_JOB_FAILED); /* so it is under valgrind */
    kr_job_free(j);
}

static void it_runs_in_its_own_group_without_input_politely(void **state) {
    (void)state;
    heard h = {0};
    kr_job *j = shell("read x && echo input || echo no input; ps -o pgid= -p $$; echo $$; "
                      "sleep 0.1; sh -c 'ps -o ni= -p $$'; echo $OPENBLAS_NUM_THREADS",
                      (kr_job_limits){.nice = 7});
    int nice = 0, group = 0, pid = 1, threads = 0;
    assert_int_equal(finish(j, &h, 10), KR_JOB_DONE);
    assert_int_equal(sscanf(h.all, "no input|%d|%d|%d|%d", &group, &pid, &nice, &threads), 4);
    assert_int_equal(group, pid);
    int mine = getpriority(PRIO_PROCESS, 0);
    assert_int_equal(nice, mine + 7 > 19 ? 19 : mine + 7);
    assert_int_equal(threads, 1);
    kr_job_free(j);
}

static void cancel_ends_the_whole_group(void **state) {
    (void)state;
    heard h = {0};
    kr_job *j = shell("sleep 60 & echo pid $!; wait", (kr_job_limits){0});
    long grandchild = told_pid(j, &h);
    assert_true(grandchild > 0);
    kr_job_cancel(j);
    assert_int_equal(finish(j, &h, 5), KR_JOB_CANCELED);
    for (double t = kr_clock(); !gone(grandchild) && kr_clock() - t < 3; nap())
        continue;
    assert_true(gone(grandchild));
    kr_job_free(j);
}

static void a_child_that_is_deaf_to_term_is_killed_after_three_seconds(void **state) {
    (void)state;
    heard h = {0};
    kr_job *j = shell("trap '' TERM; echo pid $$; while :; do sleep 0.05; done", (kr_job_limits){0});
    assert_true(told_pid(j, &h) > 0);
    double began = kr_clock();
    kr_job_cancel(j);
    assert_int_equal(finish(j, &h, 8), KR_JOB_CANCELED);
    double took = kr_clock() - began;
    assert_true(took >= 2.5 && took < 6);
    assert_string_equal(kr_job_end(j), "signal 9");
    kr_job_free(j);
}

static void freeing_a_running_job_leaves_nothing_behind(void **state) {
    (void)state;
    heard h = {0};
    kr_job *j = shell("echo pid $$; exec sleep 60", (kr_job_limits){0});
    long pid = told_pid(j, &h);
    kr_job_free(j);
    assert_true(gone(pid));
    kr_job_free(NULL);
}

static void time_and_memory_have_limits(void **state) {
    (void)state;
    heard h = {0};
    kr_job *j = shell("exec sleep 60", (kr_job_limits){.max_seconds = 0.1});
    assert_int_equal(finish(j, &h, 5), KR_JOB_TIMEOUT);
    kr_job_free(j);
    j = shell("exec sleep 60", (kr_job_limits){.max_bytes = 4096});
    assert_int_equal(finish(j, &h, 5), KR_JOB_MEMORY);
    assert_true(kr_job_bytes(j) > 4096);
    kr_job_free(j);
}

static void a_flood_is_taken_in_portions_and_an_endless_line_is_cut(void **state) {
    (void)state;
    heard h = {0};
    kr_job *j = shell("i=0; while [ $i -lt 300 ]; do printf '%0100000d\\n' 7; i=$((i+1)); done",
                      (kr_job_limits){0});
    double slowest = 0, began = kr_clock();
    kr_job_state s = KR_JOB_RUNNING;
    while (s == KR_JOB_RUNNING && kr_clock() - began < 30) {
        double t = kr_clock();
        s = kr_job_poll(j, take, &h);
        slowest = kr_clock() - t > slowest ? kr_clock() - t : slowest;
    }
    assert_int_equal(s, KR_JOB_DONE);
    assert_int_equal(h.lines, 300);
    printf("note: longest wait for a flooding child %.1f ms\n", 1e3 * slowest);
    kr_job_free(j);
    h = (heard){0};
    j = shell("head -c 40000000 /dev/zero | tr '\\0' x; echo; echo after", (kr_job_limits){0});
    assert_int_equal(finish(j, &h, 30), KR_JOB_DONE);
    assert_int_equal(h.lines, 2);
    assert_int_equal(h.cut, 1);
    assert_int_equal(h.bytes, KR_JOB_MAX_LINE + 5);
    assert_string_equal(h.last, "after");
    kr_job_free(j);
}

static void a_child_that_closes_its_output_is_still_waited_for(void **state) {
    (void)state;
    heard h = {0};
    kr_job *j = shell("echo bye; exec >&- 2>&-; sleep 0.2; exit 5", (kr_job_limits){0});
    assert_int_equal(finish(j, &h, 10), KR_JOB_FAILED);
    assert_string_equal(kr_job_end(j), "exit status 5");
    assert_string_equal(h.last, "bye");
    kr_job_free(j);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_output_and_messages_arrive_and_success_is_told),
        cmocka_unit_test(failures_say_how),
        cmocka_unit_test(a_missing_program_is_an_error_at_once_or_at_the_end),
        cmocka_unit_test(it_runs_in_its_own_group_without_input_politely),
        cmocka_unit_test(cancel_ends_the_whole_group),
        cmocka_unit_test(a_child_that_is_deaf_to_term_is_killed_after_three_seconds),
        cmocka_unit_test(freeing_a_running_job_leaves_nothing_behind),
        cmocka_unit_test(time_and_memory_have_limits),
        cmocka_unit_test(a_flood_is_taken_in_portions_and_an_endless_line_is_cut),
        cmocka_unit_test(a_child_that_closes_its_output_is_still_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
