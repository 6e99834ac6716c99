#include "ui/keys.h"

#define BIT(s) (1u << KR_SCREEN_##s)
#define SIX (BIT(MAIN) | BIT(MAP) | BIT(POLICY) | BIT(TASKS) | BIT(REEVAL) | BIT(POINTS))
#define PAGES (BIT(PLAN) | BIT(SIMULATE))
#define WORK (SIX | BIT(REQUESTS) | BIT(REQUEST) | BIT(CLAIMS) | BIT(LEDGER) | PAGES)
#define EVERY (WORK | BIT(HELP) | BIT(MESSAGES))
#define F(n) (KR_KEY_F0 + (n))

/* Order: a screen's own keys before the general ones; within a screen, as the bottom line shows
 * them. Letters never need AltGr alone, and function keys only repeat what letters do. */
static const kr_binding table[] = {
    {{KR_KEY_LEFT, 'h', '-'}, "← h -", KR_ACT_LESS, BIT(MAP),
     "one cell to a lower tolerance", NULL},
    {{KR_KEY_RIGHT, 'l', '+'}, "→ l +", KR_ACT_MORE, BIT(MAP),
     "one cell to a higher tolerance", NULL},
    {{KR_KEY_UP, 'k'}, "↑ k", KR_ACT_UP, BIT(MAP), "one cell to a higher risk", NULL},
    {{KR_KEY_DOWN, 'j'}, "↓ j", KR_ACT_DOWN, BIT(MAP), "one cell to a lower risk", "arrows cell"},
    {{KR_KEY_ENTER}, "Enter", KR_ACT_ENTER, BIT(MAP), "take the cell as the contract",
     "Enter use as contract"},
    {{'m'}, "m", KR_ACT_MAP_MODE, BIT(MAP), "shade by certified, empirical, gap or jointly certified",
     "m cert/emp/gap/joint"},
    {{'c'}, "c", KR_ACT_CONFIDENCE, BIT(MAP), "next confidence: 90, 95, 99 %", "c confidence"},

    {{KR_KEY_DOWN, 'j'}, "↓ j", KR_ACT_DOWN, BIT(LEDGER), "down in the list: next entry", "↑↓ entry"},
    {{'L'}, "L", KR_ACT_LOCK, BIT(LEDGER),
     "lock the contract and method (or family) on the screens; asks first", "L lock"},
    {{'C'}, "C", KR_ACT_CONFIRM, BIT(LEDGER),
     "confirm the selected lock, else the last open one; asks first", "C confirm"},
    {{KR_KEY_ENTER}, "Enter", KR_ACT_ENTER, BIT(LEDGER),
     "confirm the selected lock; begin a ledger where there is none", NULL},
    {{'x'}, "x", KR_ACT_EXPORT, BIT(LEDGER), "write the certificate shown as JSON", "x certificate"},
    {{'p'}, "p", KR_ACT_NEXT_METHOD, BIT(LEDGER), "next method", "p/P method"},
    {{KR_KEY_ENTER}, "Enter", KR_ACT_ENTER, BIT(SIMULATE), "begin the simulation again", "Enter again"},
    {{'c'}, "c", KR_ACT_STOP, BIT(SIMULATE), "stop the simulation", "c stop"},
    {{'b'}, "b", KR_ACT_PAIR, BIT(POLICY), "compare with this level from now on", "b compare with"},
    {{'J'}, "J", KR_ACT_JOINT, BIT(MAIN), "strips: pointwise, or what holds for a choice after looking",
     NULL},
    {{KR_KEY_DOWN, 'j'}, "↓ j", KR_ACT_DOWN, PAGES, "down", "↑↓ scroll"},
    {{KR_KEY_DOWN, 'j'}, "↓ j", KR_ACT_DOWN, BIT(CLAIMS), "down in the table: next claim", "↑↓ claim"},
    {{KR_KEY_ENTER}, "Enter", KR_ACT_ENTER, BIT(CLAIMS),
     "count a claim that looks at every one of very many requests", NULL},
    {{'p'}, "p", KR_ACT_NEXT_METHOD, BIT(CLAIMS), "next method", "p/P method"},
    {{'i'}, "i", KR_ACT_STATEMENT, BIT(CLAIMS), "the selected claim in full", "i in full"},

    {{KR_KEY_LEFT, 'h', '['}, "← h [", KR_ACT_LEVEL_UP, BIT(REQUEST),
     "one level more conservative", NULL},
    {{KR_KEY_RIGHT, 'l', ']'}, "→ l ]", KR_ACT_LEVEL_DOWN, BIT(REQUEST),
     "one level more aggressive", "←→ level"},
    {{KR_KEY_DOWN, 'j'}, "↓ j", KR_ACT_DOWN, BIT(REQUEST), "scroll the prompt", "↑↓ scroll"},
    {{'p'}, "p", KR_ACT_NEXT_METHOD, BIT(REQUEST), "next method", "p/P method"},
    {{'v'}, "v", KR_ACT_HEADS, BIT(REQUEST), "the prompt, or the heads by layer", "v heads"},
    {{KR_KEY_ENTER}, "Enter", KR_ACT_ENTER, BIT(REEVAL), "open the request", "Enter request"},
    {{KR_KEY_DOWN, 'j'}, "↓ j", KR_ACT_DOWN, BIT(REEVAL), "down in the list: next result",
     "↑↓ result"},
    {{'e'}, "e", KR_ACT_DIFFERING, BIT(REEVAL),
     "results that differ from the stored ones only, or all", "e differing"},
    {{'w'}, "w", KR_ACT_SAVE_RESULTS, BIT(REEVAL), "write the results as a calibration file",
     "w write"},
    {{'n'}, "n", KR_ACT_OLDER_JOB, BIT(REEVAL), "show the job before", NULL},
    {{'N'}, "N", KR_ACT_NEWER_JOB, BIT(REEVAL), "show the job after", NULL},
    {{'c'}, "c", KR_ACT_CANCEL, BIT(REEVAL) | BIT(REQUEST), "cancel the job; what is done is kept",
     "c cancel"},
    {{'r'}, "r", KR_ACT_REEVALUATE, BIT(REEVAL), "start: re-evaluate the selected policy",
     "r start"},
    {{'r'}, "r", KR_ACT_REEVALUATE, BIT(TASKS), "re-evaluate the events of the task", NULL},
    {{'r'}, "r", KR_ACT_REEVALUATE, BIT(REQUESTS), "re-evaluate this request and look into it",
     "r look inside"},

    {{'\t'}, "Tab", KR_ACT_NEXT_FIELD, BIT(REQUEST), "next contract value", NULL},
    {{'\t'}, "Tab", KR_ACT_NEXT_FIELD, WORK & ~BIT(REQUEST), "next contract value",
     "Tab field"},
    {{KR_KEY_BACKTAB}, "S-Tab", KR_ACT_PREV_FIELD, WORK, "previous contract value", NULL},
    {{'-'}, "-", KR_ACT_LESS, BIT(REQUEST), "lower the contract's value by one step", NULL},
    {{'+'}, "+", KR_ACT_MORE, BIT(REQUEST), "raise the contract's value by one step", NULL},
    {{KR_KEY_LEFT, 'h', '-'}, "← h -", KR_ACT_LESS, WORK & ~BIT(REQUEST),
     "lower the value by one step", NULL},
    {{KR_KEY_RIGHT, 'l', '+'}, "→ l +", KR_ACT_MORE, WORK & ~BIT(REQUEST),
     "raise the value by one step",
     "←→ value"},
    {{KR_KEY_SLEFT, 'H'}, "S-← H", KR_ACT_MUCH_LESS, WORK, "lower the value by ten steps", NULL},
    {{KR_KEY_SRIGHT, 'L'}, "S-→ L", KR_ACT_MUCH_MORE, WORK, "raise the value by ten steps", NULL},
    {{'='}, "=", KR_ACT_TYPE, WORK, "type the value exactly, for example 0.08 or 5%", "= type"},
    {{KR_KEY_UP, 'k'}, "↑ k", KR_ACT_UP, EVERY, "up in the list", NULL},
    {{KR_KEY_DOWN, 'j'}, "↓ j", KR_ACT_DOWN, BIT(MAIN), "down in the list: next method",
     "↑↓ method"},
    {{KR_KEY_DOWN, 'j'}, "↓ j", KR_ACT_DOWN, BIT(POLICY), "down in the list: next level",
     "↑↓ level"},
    {{KR_KEY_DOWN, 'j'}, "↓ j", KR_ACT_DOWN, BIT(TASKS), "down in the list: next task", "↑↓ task"},
    {{KR_KEY_DOWN, 'j'}, "↓ j", KR_ACT_DOWN, BIT(REQUESTS), "down in the list: next request",
     "↑↓ request"},
    {{KR_KEY_DOWN, 'j'}, "↓ j", KR_ACT_DOWN, BIT(POINTS), "down in the list: next point",
     "↑↓ point"},
    {{KR_KEY_DOWN, 'j'}, "↓ j", KR_ACT_DOWN, BIT(HELP) | BIT(MESSAGES), "down", "↑↓ scroll"},
    {{KR_KEY_DOWN, 'j'}, "↓ j", KR_ACT_DOWN, EVERY, "down in the list", NULL},
    {{KR_KEY_PGUP, KR_CTRL('b')}, "PgUp", KR_ACT_PAGE_UP, EVERY, "one page up", NULL},
    {{KR_KEY_PGDN, KR_CTRL('f'), ' '}, "PgDn", KR_ACT_PAGE_DOWN, EVERY, "one page down", NULL},
    {{KR_KEY_HOME, 'g'}, "Home g", KR_ACT_FIRST, EVERY, "to the first row", NULL},
    {{KR_KEY_END, 'G'}, "End G", KR_ACT_LAST, EVERY, "to the last row", NULL},
    {{KR_KEY_ENTER}, "Enter", KR_ACT_ENTER, BIT(MAIN), "open the method, level by level",
     "Enter detail"},
    {{KR_KEY_ENTER}, "Enter", KR_ACT_ENTER, BIT(POLICY), "open this level, task by task",
     "Enter tasks"},
    {{KR_KEY_ENTER}, "Enter", KR_ACT_ENTER, BIT(TASKS), "open the requests of the task",
     "Enter requests"},
    {{KR_KEY_ENTER}, "Enter", KR_ACT_ENTER, BIT(POINTS),
     "go back to the point's contract and method", "Enter go there"},
    {{'e'}, "e", KR_ACT_EVENTS, BIT(POLICY) | BIT(TASKS) | BIT(REQUESTS),
     "requests above the tolerance only, or all", "e events"},
    {{'e'}, "e", KR_ACT_NOTE, BIT(POINTS), "change the point's note", "e note"},
    {{'d', KR_KEY_DELETE}, "d", KR_ACT_DELETE, BIT(POINTS), "delete the point", "d delete"},
    {{'x'}, "x", KR_ACT_EXPORT, BIT(POINTS), "export all points as JSON", "x export"},
    {{'x'}, "x", KR_ACT_EXPORT, BIT(MAP), "export the map as CSV", "x export"},
    {{'x'}, "x", KR_ACT_EXPORT, BIT(MAIN) | BIT(POLICY) | BIT(TASKS) | BIT(REEVAL) | BIT(REQUESTS),
     "export the operating point as JSON", NULL},
    {{'X'}, "X", KR_ACT_APPEND, BIT(POINTS), "export all points as CSV", NULL},
    {{'X'}, "X", KR_ACT_APPEND, WORK, "add the operating point to a CSV table", NULL},
    {{'['  , '<'}, "[ <", KR_ACT_LEVEL_UP, WORK, "one level more conservative", NULL},
    {{']', '>'}, "] >", KR_ACT_LEVEL_DOWN, BIT(TASKS) | BIT(REQUESTS) | BIT(POLICY),
     "one level more aggressive", "[ ] level"},
    {{']', '>'}, "] >", KR_ACT_LEVEL_DOWN, WORK, "one level more aggressive", NULL},
    {{'p'}, "p", KR_ACT_NEXT_METHOD, BIT(MAP) | BIT(POLICY) | BIT(TASKS) | BIT(REQUESTS),
     "next method",
     "p/P method"},
    {{'p'}, "p", KR_ACT_NEXT_METHOD, WORK, "next method", NULL},
    {{'P'}, "P", KR_ACT_PREV_METHOD, WORK, "previous method", NULL},
    {{'u', KR_CTRL('u')}, "u", KR_ACT_UNDO, WORK, "undo the last change of the contract", "u undo"},
    {{'U', KR_CTRL('r')}, "U", KR_ACT_REDO, WORK, "redo", NULL},
    {{'0'}, "0", KR_ACT_RESET, WORK, "back to the file's contract", "0 reset"},
    {{'x'}, "x", KR_ACT_EXPORT, BIT(MAIN), "export the operating point as JSON", "x export"},
    {{'f'}, "f", KR_ACT_FAMILY, WORK, "all methods as one family, or each line alone", NULL},
    {{'a'}, "a", KR_ACT_ADD_POINT, WORK, "add the operating point to Points, with a note",
     "a add point"},
    {{'s'}, "s", KR_ACT_SORT, BIT(MAIN) | BIT(TASKS) | BIT(REQUESTS), "sort by the next column",
     "s sort"},
    {{'S'}, "S", KR_ACT_REVERSE, BIT(MAIN) | BIT(TASKS) | BIT(REQUESTS), "reverse the order", NULL},
    {{'/'}, "/", KR_ACT_FILTER, EVERY & ~BIT(MAP) & ~BIT(REEVAL) & ~BIT(REQUEST) & ~BIT(MESSAGES) &
     ~PAGES & ~BIT(CLAIMS) & ~BIT(LEDGER),
     "filter the list by a part of its text", "/ filter"},
    {{'v'}, "v", KR_ACT_PLOT, BIT(MAIN) | BIT(POLICY), "plot shown or hidden", NULL},
    {{'V'}, "V", KR_ACT_ALPHABET, BIT(MAIN) | BIT(POLICY),
     "plot in blocks, braille or ASCII", NULL},
    {{'i'}, "i", KR_ACT_STATEMENT, WORK, "the whole statement with its assumptions", NULL},
    {{'r'}, "r", KR_ACT_REEVALUATE, WORK, "re-evaluate the selected policy and level", NULL},
    {{'R'}, "R", KR_ACT_RELOAD, WORK, "read the file again", NULL},
    {{'1', F(2)}, "1 F2", KR_ACT_MAIN, EVERY, "Main: contract, methods, verdicts", NULL},
    {{'2', F(3)}, "2 F3", KR_ACT_MAP, EVERY, "Map: certified share over tolerance and risk", NULL},
    {{'3', F(4)}, "3 F4", KR_ACT_POLICY, EVERY, "Policy: one method level by level", NULL},
    {{'4', F(5)}, "4 F5", KR_ACT_TASKS, EVERY, "Tasks: where it hurts, down to the requests", NULL},
    {{'5', F(6)}, "5 F6", KR_ACT_REEVAL, EVERY, "Re-evaluation on a sample", NULL},
    {{'6', F(7)}, "6 F7", KR_ACT_POINTS, EVERY, "Points: chosen operating points", NULL},
    {{'7', F(8)}, "7 F8", KR_ACT_CLAIMS, EVERY, "Claims: what each mode guarantees", NULL},
    {{'8', F(9)}, "8 F9", KR_ACT_PLAN, EVERY, "Plan: how many requests", NULL},
    {{'9'}, "9", KR_ACT_SIMULATE, EVERY, "Simulate: repeated calibration", NULL},
    {{'B', F(11)}, "B F11", KR_ACT_LEDGER, EVERY, "Ledger, the book: explore, lock, confirm", NULL},
    {{KR_KEY_ESC}, "Esc", KR_ACT_BACK, EVERY,
     "close, clear the filter, go back; never quits", NULL},
    {{KR_KEY_ESC}, "Esc", KR_ACT_BACK, BIT(REQUESTS) | BIT(REQUEST) | BIT(HELP) | BIT(MESSAGES), "back",
     "Esc back"},
    {{'M'}, "M", KR_ACT_MESSAGES, EVERY, "messages so far", NULL},
    {{':'}, ":", KR_ACT_COMMAND, EVERY, "command, Tab completes", ": command"},
    {{KR_CTRL('l')}, "Ctrl-L", KR_ACT_REDRAW, EVERY, "draw the screen from nothing", NULL},
    {{'?', F(1)}, "?", KR_ACT_HELP, EVERY, "this help; again, q or Esc closes it", NULL},
    {{'q', F(10)}, "q", KR_ACT_QUIT, EVERY, "quit; asks when points are not exported or a job runs", "q quit"},
};

const kr_binding *kr_keys_table(size_t *n) {
    *n = sizeof table / sizeof *table;
    return table;
}

kr_action kr_keys_action(int key, kr_screen screen) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if ((table[i].screens & 1u << screen) == 0)
            continue;
        for (size_t k = 0; k < 5 && table[i].keys[k] != 0; k++)
            if (table[i].keys[k] == key)
                return table[i].act;
    }
    return KR_ACT_NONE;
}

const char *kr_screen_name(kr_screen s) {
    static const char *const names[KR_SCREEN_COUNT] = {"main",   "map",    "policy",
                                                       "tasks",  "reeval", "points",
                                                       "requests", "request", "help", "messages",
                                                       "claims", "plan", "simulate", "ledger"};
    return (unsigned)s < KR_SCREEN_COUNT ? names[s] : NULL;
}
