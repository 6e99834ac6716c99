#include "ui/reeval_fetch.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct kr_fetch {
    char *path;
    bool requests, joined;
    atomic_bool stop, ended; /* what follows belongs to the thread until it has ended */
    kr_stamp stamp;
    kr_sample_requests *file;
    char sha256[KR_SHA256_HEX];
    kr_error err;
    pthread_t thread;
};

static bool go_on(void *arg) { return !atomic_load(&((kr_fetch *)arg)->stop); }

static void *work(void *arg) {
    kr_fetch *f = arg;
    kr_status st = kr_file_stamp(f->path, &f->stamp, &f->err);
    if (st == KR_OK && f->requests) {
        st = kr_sample_requests_read(f->path, &f->file, &f->err);
        if (st == KR_OK)
            memcpy(f->sha256, f->file->sha256, sizeof f->sha256);
    } else if (st == KR_OK) {
        st = kr_file_sha256_while(f->path, go_on, f, f->sha256, &f->err);
    }
    if (st != KR_OK)
        f->sha256[0] = '\0';
    atomic_store(&f->ended, true);
    return NULL;
}

/* Signals are for the thread that draws. */
static bool begin(kr_fetch *f) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool ok = pthread_create(&f->thread, NULL, work, f) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ok;
}

kr_fetch *kr_fetch_start(const char *path, bool requests) {
    kr_fetch *f = calloc(1, sizeof *f);
    if (f == NULL)
        return NULL;
    f->path = strdup(path);
    f->requests = requests;
    if (f->path != NULL && begin(f))
        return f;
    free(f->path);
    free(f);
    return NULL;
}

bool kr_fetch_ended(kr_fetch *f) { return atomic_load(&f->ended); }

void kr_fetch_wait(kr_fetch *f) {
    if (!f->joined)
        pthread_join(f->thread, NULL);
    f->joined = true;
}

const char *kr_fetch_sha256(const kr_fetch *f) { return f->sha256; }
const kr_stamp *kr_fetch_stamp(const kr_fetch *f) { return &f->stamp; }
const char *kr_fetch_error(const kr_fetch *f) { return f->err.msg; }

kr_sample_requests *kr_fetch_take(kr_fetch *f) {
    kr_sample_requests *file = f->file;
    f->file = NULL;
    return file;
}

void kr_fetch_free(kr_fetch *f) {
    if (f == NULL)
        return;
    atomic_store(&f->stop, true);
    kr_fetch_wait(f);
    kr_sample_requests_free(f->file);
    free(f->path);
    free(f);
}
