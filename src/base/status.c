#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>

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
