/* prompt.h - one line of text that is being typed: values, filters, commands, notes, questions. */
#ifndef KR_UI_PROMPT_H
#define KR_UI_PROMPT_H

#include <stdbool.h>
#include <stddef.h>

#include "ui/canvas.h"

typedef enum {
    KR_PROMPT_NONE, KR_PROMPT_VALUE, KR_PROMPT_FILTER, KR_PROMPT_COMMAND, KR_PROMPT_NOTE,
    KR_PROMPT_NEW_NOTE, KR_PROMPT_EXPORT, KR_PROMPT_EVAL, KR_PROMPT_YESNO
} kr_prompt_kind;

typedef struct {
    kr_prompt_kind kind;
    char label[160];
    char text[256];  /* UTF-8 */
    size_t len, at;  /* bytes; the cursor is before text[at] */
    bool full;       /* the last key was a character that did not fit */
} kr_prompt;

typedef enum { KR_PROMPT_EDITED, KR_PROMPT_DONE, KR_PROMPT_LEFT, KR_PROMPT_TAB, KR_PROMPT_OLDER,
               KR_PROMPT_NEWER, KR_PROMPT_IGNORED } kr_prompt_result;

void kr_prompt_open(kr_prompt *p, kr_prompt_kind kind, const char *label, const char *text);
void kr_prompt_close(kr_prompt *p);
void kr_prompt_set(kr_prompt *p, const char *text);
/* Every printable key is text. For a question y answers DONE with text "y", n, Enter and Esc LEFT,
 * anything else IGNORED. */
kr_prompt_result kr_prompt_key(kr_prompt *p, int key);
/* Draws label and text over row y of r, scrolled so that the cursor shows; returns its column. */
int kr_prompt_draw(kr_canvas *c, kr_rect r, int y, const kr_prompt *p);

#endif
