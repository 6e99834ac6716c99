/* answer.c - what becomes of what was typed or answered in the line below. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/model.h"

static void take_value(kr_app *a) {
    kr_error err;
    kr_dec v;
    kr_field f = (kr_field)a->field;
    char text[256];
    snprintf(text, sizeof text, "%s", a->prompt.text);
    kr_prompt_close(&a->prompt);
    if (text[0] == '\0')
        return;
    if (kr_field_parse(a, f, text, &v, &err) != KR_OK)
        kr_app_say(a, true, "%s", err.msg);
    else
        kr_app_set_contract(a, kr_field_with(kr_analysis_contract(a->an), f, v));
    a->map_moved = false;
}

static void take_command(kr_app *a) {
    char text[256];
    snprintf(text, sizeof text, "%s", a->prompt.text);
    kr_prompt_close(&a->prompt);
    if (text[0] == '\0')
        return;
    if (a->n_typed == KR_HISTORY_MAX) {
        free(a->typed[0]);
        memmove(a->typed, a->typed + 1, (KR_HISTORY_MAX - 1) * sizeof *a->typed);
        a->n_typed--;
    }
    char *copy = strdup(text);
    if (copy != NULL)
        a->typed[a->n_typed++] = copy;
    kr_command_run(a, text);
}

static void open_pending(kr_app *a) {
    char path[sizeof a->pending_path];
    snprintf(path, sizeof path, "%s", a->pending_path);
    kr_app_open_file(a, path, false);
}

static void take_answer(kr_app *a) {
    int act = a->pending;
    a->pending = KR_ACT_NONE;
    kr_prompt_close(&a->prompt);
    if (act == KR_ACT_QUIT)
        a->done = true;
    else if (act == KR_ACT_LEDGER)
        kr_book_begin(a, KR_BOOK_START);
    else if (act == KR_ACT_LOCK)
        kr_book_begin(a, KR_BOOK_LOCK);
    else if (act == KR_ACT_CONFIRM)
        kr_book_begin(a, KR_BOOK_CONFIRM);
    else if (act == KR_ACT_RELOAD)
        kr_app_reload(a);
    else if (act == KR_PENDING_EVAL)
        kr_reeval_set_asked(a);
    else if (act == KR_PENDING_OPEN)
        open_pending(a);
    else if (act >= KR_ACT_COUNT)
        kr_out_write(a, (kr_out)(act - KR_ACT_COUNT), a->pending_path, true);
}

static void take_export(kr_app *a) {
    char path[512];
    kr_out what = (kr_out)(a->pending - KR_ACT_COUNT);
    snprintf(path, sizeof path, "%s", a->prompt.text);
    kr_prompt_close(&a->prompt);
    if (path[0] != '\0')
        kr_out_write(a, what, path, false);
}

static void take_setting(kr_app *a) {
    char text[256];
    snprintf(text, sizeof text, "%s", a->prompt.text);
    kr_prompt_close(&a->prompt);
    kr_reeval_field_take(a, text);
}

static void prompt_done(kr_app *a) {
    switch (a->prompt.kind) {
    case KR_PROMPT_VALUE: take_value(a); break;
    case KR_PROMPT_COMMAND: take_command(a); break;
    case KR_PROMPT_YESNO: take_answer(a); break;
    case KR_PROMPT_EXPORT: take_export(a); break;
    case KR_PROMPT_NEW_NOTE:
        kr_points_add(a, a->prompt.text);
        kr_prompt_close(&a->prompt);
        break;
    case KR_PROMPT_NOTE:
        kr_points_note(a, a->prompt.text);
        kr_prompt_close(&a->prompt);
        break;
    case KR_PROMPT_EVAL: take_setting(a); break;
    case KR_PROMPT_FILTER:
    case KR_PROMPT_NONE: kr_prompt_close(&a->prompt); break;
    }
}

static void history(kr_app *a, int by) {
    if (a->prompt.kind != KR_PROMPT_COMMAND || a->n_typed == 0)
        return;
    long at = (long)a->typed_at + by;
    a->typed_at = at < 0 ? 0 : at > (long)a->n_typed ? a->n_typed : (size_t)at;
    kr_prompt_set(&a->prompt, a->typed_at < a->n_typed ? a->typed[a->typed_at] : "");
}

static void prompt_left(kr_app *a) {
    if (a->prompt.kind == KR_PROMPT_FILTER)
        kr_app_filtered(a)->filter[0] = '\0';
    a->pending = KR_ACT_NONE;
    a->interrupted = false;
    kr_prompt_close(&a->prompt);
}

void kr_app_prompt_key(kr_app *a, int key) {
    kr_prompt_kind kind = a->prompt.kind;
    switch (kr_prompt_key(&a->prompt, key)) {
    case KR_PROMPT_DONE: prompt_done(a); break;
    case KR_PROMPT_LEFT: prompt_left(a); break;
    case KR_PROMPT_TAB:
        if (kind == KR_PROMPT_COMMAND)
            kr_command_complete(a);
        break;
    case KR_PROMPT_OLDER: history(a, -1); break;
    case KR_PROMPT_NEWER: history(a, 1); break;
    case KR_PROMPT_EDITED:
        if (kind == KR_PROMPT_FILTER)
            snprintf(kr_app_filtered(a)->filter, KR_FILTER_MAX, "%.*s", KR_FILTER_MAX - 1, a->prompt.text);
        break;
    case KR_PROMPT_IGNORED: break;
    }
}
