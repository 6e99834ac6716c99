/* keys.h - the one table of keys: what each does, where, and how it is explained. The help screen,
 * the bottom line and the dispatch all read it. */
#ifndef KR_UI_KEYS_H
#define KR_UI_KEYS_H

#include <stddef.h>

/* Characters are their code points; these are above all of them. */
enum {
    KR_KEY_UNKNOWN = 0x200000,
    KR_KEY_UP, KR_KEY_DOWN, KR_KEY_LEFT, KR_KEY_RIGHT, KR_KEY_SLEFT, KR_KEY_SRIGHT,
    KR_KEY_PGUP, KR_KEY_PGDN, KR_KEY_HOME, KR_KEY_END, KR_KEY_BACKTAB, KR_KEY_DELETE,
    KR_KEY_BACKSPACE, KR_KEY_ENTER,
    KR_KEY_CLICK, KR_KEY_WHEEL_UP, KR_KEY_WHEEL_DOWN,
    KR_KEY_PASTE_ON, KR_KEY_PASTE_OFF, /* what comes between them was pasted */
    KR_KEY_F0, /* F1 is KR_KEY_F0 + 1, to F12 */
    KR_KEY_LAST = KR_KEY_F0 + 13
};

#define KR_CTRL(letter) ((letter) & 0x1f)
#define KR_KEY_ESC 0x1b

typedef enum {
    KR_SCREEN_MAIN, KR_SCREEN_MAP, KR_SCREEN_POLICY, KR_SCREEN_TASKS, KR_SCREEN_REEVAL,
    KR_SCREEN_POINTS,
    KR_SCREEN_REQUESTS, /* the detail of a task or of all */
    KR_SCREEN_RUN,      /* the form before a job */
    KR_SCREEN_REQUEST,  /* one request: what was kept, both answers */
    KR_SCREEN_HELP, KR_SCREEN_MESSAGES,
    KR_SCREEN_CLAIMS, KR_SCREEN_PLAN, KR_SCREEN_SIMULATE, KR_SCREEN_LEDGER,
    KR_SCREEN_COUNT
} kr_screen;

typedef enum {
    KR_ACT_NONE,
    KR_ACT_QUIT, KR_ACT_HELP, KR_ACT_BACK,
    KR_ACT_MAIN, KR_ACT_MAP, KR_ACT_POLICY, KR_ACT_TASKS, KR_ACT_REEVAL, KR_ACT_POINTS,
    KR_ACT_NEXT_FIELD, KR_ACT_PREV_FIELD,
    KR_ACT_LESS, KR_ACT_MORE, KR_ACT_MUCH_LESS, KR_ACT_MUCH_MORE, KR_ACT_TYPE,
    KR_ACT_UP, KR_ACT_DOWN, KR_ACT_PAGE_UP, KR_ACT_PAGE_DOWN, KR_ACT_FIRST, KR_ACT_LAST,
    KR_ACT_ENTER, KR_ACT_UNDO, KR_ACT_REDO, KR_ACT_RESET, KR_ACT_FAMILY,
    KR_ACT_NEXT_METHOD, KR_ACT_PREV_METHOD, KR_ACT_LEVEL_DOWN, KR_ACT_LEVEL_UP,
    KR_ACT_MAP_MODE, KR_ACT_CONFIDENCE, KR_ACT_PLOT, KR_ACT_ALPHABET,
    KR_ACT_SORT, KR_ACT_REVERSE, KR_ACT_FILTER,
    KR_ACT_EVENTS, KR_ACT_REEVALUATE, KR_ACT_EXPORT, KR_ACT_APPEND, KR_ACT_ADD_POINT,
    KR_ACT_DELETE, KR_ACT_NOTE, KR_ACT_RELOAD, KR_ACT_MESSAGES, KR_ACT_COMMAND, KR_ACT_REDRAW,
    KR_ACT_STATEMENT,
    KR_ACT_CANCEL, KR_ACT_DIFFERING, KR_ACT_HEADS, KR_ACT_HEADS_LEFT, KR_ACT_HEADS_RIGHT, KR_ACT_BELOW, KR_ACT_FOLLOW, KR_ACT_SAVE_RESULTS, KR_ACT_OLDER_JOB, KR_ACT_NEWER_JOB,
    KR_ACT_CLAIMS, KR_ACT_PLAN, KR_ACT_SIMULATE, KR_ACT_STOP, KR_ACT_JOINT, KR_ACT_PAIR,
    KR_ACT_LEDGER, KR_ACT_LOCK, KR_ACT_CONFIRM,
    KR_ACT_COUNT
} kr_action;

typedef struct {
    int keys[5];         /* 0 ends */
    const char *label;   /* as shown */
    kr_action act;
    unsigned screens;    /* bits of kr_screen */
    const char *help;    /* sentence for the help screen */
    const char *brief;   /* "key word" for the bottom line, NULL: not there */
} kr_binding;

/* KR_ACT_NONE when the key does nothing on that screen. A screen's own meaning comes first. */
kr_action kr_keys_action(int key, kr_screen screen);
/* The table; *n rows. A row is for a screen when its bit is set. */
const kr_binding *kr_keys_table(size_t *n);
/* Names of the screens for tabs, commands and --print: "main", ... NULL outside. */
const char *kr_screen_name(kr_screen s);

#endif
