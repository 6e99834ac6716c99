#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const names[] = {
    [KR_OK] = "ok",
    [KR_EINVAL] = "invalid argument",
    [KR_EIO] = "input/output error",
    [KR_EFORMAT] = "bad file",
    [KR_ENOMEM] = "out of memory",
    [KR_ENUM] = "numeric failure",
    [KR_ECANCELED] = "canceled",
};

const char *kr_status_name(kr_status s) {
    return (unsigned)s < sizeof names / sizeof *names ? names[s] : "unknown status";
}

kr_status kr_fail(kr_error *err, kr_status code, const char *fmt, ...) {
    if (err == NULL)
        return code;
    va_list ap;
    va_start(ap, fmt);
    err->code = code;
    vsnprintf(err->msg, sizeof err->msg, fmt, ap);
    va_end(ap);
    for (char *p = err->msg; *p != '\0'; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
    return code;
}
