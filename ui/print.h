/* print.h - any screen as text, without a terminal. */
#ifndef KR_UI_PRINT_H
#define KR_UI_PRINT_H

#include "ui/app.h"

typedef struct {
    const char *screen, *keys; /* keys are pressed before the screen is drawn; NULL none */
    int w, h;
    bool ascii, roles;         /* roles: letters of the roles instead of the text */
    kr_plot_alphabet alphabet;
    kr_analysis_options analysis;
} kr_print_options;

/* *out is the text, owned by the caller. KR_EINVAL for an unknown screen or size. */
kr_status kr_print_screen(const char *path, const kr_print_options *o, char **out, kr_error *err);
/* "120x36"; false when it is none or out of 1..1000. */
bool kr_print_size(const char *s, int *w, int *h);

#endif
