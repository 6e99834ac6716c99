/* reader.c - an end when the reader of the output has gone. */
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/common.h"

/* A pipe without a reader reports an error without being asked for anything. */
static void *watch(void *arg) {
    struct pollfd p = {.fd = STDOUT_FILENO};
    while (poll(&p, 1, -1) < 0 || (p.revents & (POLLERR | POLLNVAL)) == 0)
        continue;
    _exit(KR_EXIT_ERROR);
    return arg;
}

void kr_cli_end_with_reader(void) {
    struct stat st;
    pthread_t thread;
    pthread_attr_t a;
    if (fstat(STDOUT_FILENO, &st) != 0 || !S_ISFIFO(st.st_mode) || pthread_attr_init(&a) != 0)
        return;
    pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
    pthread_create(&thread, &a, watch, NULL);
    pthread_attr_destroy(&a);
}
