/* status.h - result codes and the one-line message that goes with a failure. */
#ifndef KR_BASE_STATUS_H
#define KR_BASE_STATUS_H

typedef enum {
    KR_OK = 0,
    KR_EINVAL,   /* argument out of its documented range */
    KR_EIO,      /* open, read, write, rename failed; errno text in msg */
    KR_EFORMAT,  /* a file was read but is not one we accept */
    KR_ENOMEM,
    KR_ENUM,     /* a numeric routine gave no usable number */
    KR_ECANCELED /* the user stopped the work */
} kr_status;

/* Filled by the function that failed, never by its callers. */
typedef struct {
    kr_status code;
    char msg[512]; /* always NUL-terminated, one line */
} kr_error;

/* Sets *err (may be NULL) and returns `code`, so call sites read `return kr_fail(...)`.
 * Line breaks and other control bytes in the formatted text become '?'. */
kr_status kr_fail(kr_error *err, kr_status code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
