/* model.h - the state behind the screens; for the files of ui/ only. */
#ifndef KR_UI_MODEL_H
#define KR_UI_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "ui/app.h"
#include "ui/book.h"
#include "ui/claims.h"
#include "ui/layout.h"
#include "ui/prompt.h"
#include "ui/reeval.h"
#include "ui/widget.h"
#include "verdict/verdict.h"

enum {
    KR_UNDO_MAX = 64, KR_STRIP_MAX = 200, KR_MAP_COLS = 16, KR_MAP_ROWS = 13, KR_MESSAGE_MAX = 200,
    KR_HISTORY_MAX = 32, KR_FILTER_MAX = 128, KR_DROP_BINS = 9
};

typedef enum { KR_FIELD_TOLERANCE, KR_FIELD_RISK, KR_FIELD_CONFIDENCE, KR_FIELDS } kr_field;
typedef enum { KR_MAP_CERTIFIED, KR_MAP_EMPIRICAL, KR_MAP_GAP, KR_MAP_JOINT, KR_MAP_MODES } kr_map_mode;

/* Questions that are about pending_path: a setting of re-evaluation, a file to be opened. */
enum { KR_PENDING_EVAL = KR_ACT_COUNT + 100, KR_PENDING_OPEN };

/* What undo goes back to. */
typedef struct {
    kr_contract contract;
    bool family; /* all methods as one family, or each line alone */
} kr_setting;

typedef struct {
    kr_setting at[KR_UNDO_MAX];
    size_t n;
} kr_history;

typedef struct {
    time_t when;
    bool error;
    char *text;
} kr_message;

/* An operating point that was put aside. Everything shown is kept as it was at that moment. */
typedef struct {
    size_t method;
    int candidate; /* -1 full KV */
    kr_contract contract;
    bool family;
    kr_state state;
    int64_t events, n; /* events -1 on fallback */
    double p_value, upper;
    char method_name[64], level[32], note[256];
    char sha256[KR_SHA256_HEX]; /* of the file it was taken from */
    char *statement, *json, *csv;
    bool exported;
} kr_saved_point;

typedef struct {
    bool known;
    kr_point point, joint;
    double joint_share;
    double share, empirical_share; /* 1: full KV */
} kr_map_cell;

typedef struct {
    size_t row;
    int64_t key; /* what it is sorted by */
} kr_request_ref;

/* Sorted and filtered positions of a list, with the selection. */
typedef struct {
    size_t *order;
    size_t n;        /* shown */
    int at, top;     /* selected position, first visible position */
    int sort;        /* column */
    bool reverse;
    char filter[KR_FILTER_MAX];
} kr_list;

/* Derived from the analysis by facts.c after each event, drawn by the screens. */
typedef struct {
    int strip_n;
    kr_strip_cell strip[KR_FIELDS][KR_STRIP_MAX];
    int strip_mark[KR_FIELDS];
    kr_candidate_row *method_rows; /* [methods] certified candidate, else where the walk stopped */
    kr_candidate_row *levels;      /* [n_levels] of the selected method */
    double *level_share;           /* [n_levels] */
    size_t n_levels;
    kr_buf statement;
    kr_buf state_sentence;
    kr_task_row *tasks;            /* [n_tasks] at the selected level */
    size_t n_tasks;
    bool tasks_known;
    double *task_rates;            /* [n_levels][n_tasks], NULL when too costly to have */
    size_t rates_method;           /* what they were counted for */
    kr_dec rates_tolerance;
    bool tasks_wait, rates_wait, requests_wait; /* to be counted after this frame */
    int map_cols, map_rows;
    kr_dec map_tolerance[KR_MAP_COLS], map_risk[KR_MAP_ROWS];
    kr_map_cell map[KR_MAP_ROWS][KR_MAP_COLS];
    int map_at_x, map_at_y;        /* the cell of the present contract, -1 none */
    bool map_valid;
    size_t map_method;
    kr_dec map_confidence;
    bool map_family;
    kr_request_ref *requests;      /* [list.n] */
    size_t n_requests, requests_total; /* shown, matching */
    struct {                       /* what the list was made for */
        size_t policy;
        int task, sort;
        bool events, reverse, valid;
        int64_t tolerance;
        char filter[KR_FILTER_MAX];
    } requests_key;
    int64_t bins[KR_DROP_BINS];    /* requests per range of the drop */
    int64_t bin_from[KR_DROP_BINS + 1]; /* nano-units */
} kr_facts;

struct kr_app {
    int w, h;
    kr_app_settings set;
    bool plot_on;
    char terminal[160];

    char *path;
    kr_calib *calib;
    kr_analysis *an;
    bool file_changed;

    kr_screen screen, back; /* back: where help, messages and requests return to */
    int field;
    bool on_field; /* the last key was about the contract, not about a list: where the cursor is */
    kr_history undo, redo;

    kr_list methods, tasks, requests, points, results, text;
    size_t method;      /* selected */
    int level;          /* candidate of the selected method that Policy, Tasks and Requests show */
    bool level_pinned;  /* chosen by hand; else it follows the verdict */
    int request_task;   /* -1 all */
    bool events_only;
    int map_x, map_y;
    kr_map_mode map_mode;
    bool map_moved; /* the cursor of the map left the contract's cell */

    kr_saved_point *saved;
    size_t n_saved, cap_saved;

    kr_prompt prompt;
    int pending; /* kr_action that the open question is about, KR_ACT_COUNT + kr_out, or KR_PENDING_... */
    char pending_path[512];
    char *typed[KR_HISTORY_MAX]; /* commands, oldest first */
    size_t n_typed, typed_at;
    kr_message messages[KR_MESSAGE_MAX];
    size_t n_messages;
    bool message_on, help_statement;
    bool pasting;     /* between the marks of a paste */
    time_t pasted_at; /* its last character */
    size_t swallowed; /* characters of it that were not taken */

    kr_reeval *re;
    kr_screen re_back; /* where the request view returns to */
    bool colored;      /* the terminal shows colours, so that styles need no marks beside them */

    kr_layout lay;
    kr_facts f;
    bool done, interrupted, redraw;
    struct kr_plan_page *plan; /* what Plan shows; NULL: not counted */
    struct kr_simrun *sim;     /* NULL: none begun */
    kr_contract sim_contract;  /* it was begun at */
    struct {                   /* what :sim asked for; draws 0: nothing yet */
        int64_t draws, n, seed;
    } sim_want, sim_had;
    int sim_threads;           /* 0: all cores but one */
    bool sim_ended;
    char sim_failed[512];      /* why none could be begun, "" none failed */
    kr_claims claims;
    kr_book book;
    bool joint;               /* strips show what holds for a choice after looking */
    int pair_base;            /* policy that the selected level is compared with; -1: the level above */
    bool settling; /* work that goes through all requests is done now, not put off */
};

/* --- values.c: contract values as fields ------------------------------------------------------ */
kr_dec kr_field_get(const kr_app *a, kr_field f);
const char *kr_field_name(kr_field f);
/* "0.100", "5.0 %". */
void kr_field_text(const kr_app *a, kr_field f, char out[40]);
void kr_value_text(kr_field f, kr_dec v, char out[40]);
/* In at most kr_value_room columns: as it is, as a power of ten ("1e9", "1e-9 %"), or cut with an
 * ellipsis. False when it is not as kr_value_text writes it. */
bool kr_value_fit(kr_field f, kr_dec v, int room, char out[40]);
int kr_value_room(const kr_app *a);
void kr_power_text(kr_dec v, char out[40]); /* "1e9", "2.5e-3", "0" */
/* "exactly: tolerance 1000000000"; false and "" when every value is shown as it is. */
bool kr_exact_words(const kr_app *a, char *out, size_t cap);
kr_contract kr_field_with(kr_contract c, kr_field f, kr_dec v);
/* The value `steps` steps away on the grid of round values, kept inside the range of the keys. */
kr_dec kr_field_step(const kr_app *a, kr_field f, int steps);
/* Value at column i of n of the field's strip, and its ends. */
kr_dec kr_field_strip_value(const kr_app *a, kr_field f, int i, int n);
/* Column of the present value, -1 when outside. */
int kr_field_strip_column(const kr_app *a, kr_field f, int n);
/* The forms that can be typed: "0.05 or 5%". */
const char *kr_field_forms(const kr_app *a, kr_field f);
/* Reads a share such as 0.05 or, with its sign, a percentage; 1 or more without the sign is refused,
 * and so is a percentage of a utility that is no share. Refuses with a sentence. */
kr_status kr_field_parse(const kr_app *a, kr_field f, const char *text, kr_dec *out, kr_error *err);

/* --- facts.c ---------------------------------------------------------------------------------- */
void kr_facts_refresh(kr_app *a);
void kr_facts_free(kr_facts *f);
/* Forgets everything that was derived from the calibration set. */
void kr_facts_forget(kr_app *a);
size_t kr_app_policy(const kr_app *a); /* index of the selected method's selected level */
/* "65 %", "FULL", "thr 0.0005". */
void kr_level_label(const kr_app *a, size_t method, int candidate, char out[32]);

/* --- update.c --------------------------------------------------------------------------------- */
void kr_app_act(kr_app *a, kr_action act);
void kr_app_prompt_key(kr_app *a, int key); /* while a prompt is open */
kr_list *kr_app_filtered(kr_app *a);        /* the list that a filter is typed for */
/* Both are one undo step, and false when refused. */
bool kr_app_set_contract(kr_app *a, kr_contract c);
bool kr_app_set(kr_app *a, kr_setting s);
void kr_app_toggle_family(kr_app *a);
void kr_app_select_method(kr_app *a, size_t method);
bool kr_app_reload(kr_app *a); /* false: the file cannot be read, everything stays */
/* Another calibration file; asks before anything is lost. Look, size and how jobs are run stay. */
void kr_app_open_file(kr_app *a, const char *path, bool ask);
void kr_app_quit(kr_app *a, bool ask);
void kr_app_undo(kr_app *a, bool redo);
void kr_app_reset(kr_app *a);

/* --- command.c -------------------------------------------------------------------------------- */
void kr_command_run(kr_app *a, const char *line);
/* Completes the word before the cursor as far as it is certain; lists the rest as a message. */
void kr_command_complete(kr_app *a);
size_t kr_command_count(void);
/* ":tol VALUE" and what it does, for the help screen. */
void kr_command_text(size_t i, char name[48], const char **help);

/* --- points.c --------------------------------------------------------------------------------- */
void kr_points_add(kr_app *a, const char *note);
void kr_points_delete(kr_app *a);
void kr_points_go(kr_app *a);
void kr_points_note(kr_app *a, const char *note);
void kr_point_free(kr_saved_point *p);
size_t kr_points_unsaved(const kr_app *a);
/* Writes what the screen offers to a file; asks first when it exists. */
typedef enum { KR_OUT_POINT, KR_OUT_POINTS_JSON, KR_OUT_POINTS_CSV, KR_OUT_MAP, KR_OUT_SCREEN,
               KR_OUT_APPEND, KR_OUT_RESULTS, KR_OUT_LOG,
               KR_OUT_CERTIFICATE } kr_out;
void kr_out_ask(kr_app *a, kr_out what);
void kr_out_write(kr_app *a, kr_out what, const char *path, bool replace);

/* --- view.c and the screens ------------------------------------------------------------------- */
typedef struct {
    kr_app *a;
    kr_canvas *c;
    int cx, cy; /* cursor */
    bool placed;
} kr_view;
/* The inside of a pane: its own frame, or its part of the shared frame, or nothing around it. */
kr_rect kr_view_pane(kr_view *v, kr_rect r, const char *title, const char *note);
/* The same before it is drawn, for what its title says of the inside. */
kr_rect kr_view_inside(const kr_view *v, kr_rect r);
/* Marks on the frame beside a list which part of it is shown. */
void kr_view_scroll(kr_view *v, kr_rect list, int n, int top);
/* The head of a column of w cells at x of a line, at its left or right end; the rest of the line is left
 * as it is. The next column's x. */
int kr_view_head(kr_view *v, kr_rect line, int x, int w, kr_align align, const char *s);
void kr_view_cursor(kr_view *v, kr_rect r, int x, int y);

void kr_draw_chrome(kr_view *v);
void kr_draw_line(kr_view *v, kr_rect r);
void kr_draw_contract(kr_view *v, kr_rect r);
void kr_draw_verdict(kr_view *v, kr_rect r);
void kr_draw_statement(kr_view *v, kr_rect r);
void kr_draw_methods(kr_view *v, kr_rect r);
void kr_draw_levels(kr_view *v, kr_rect r);
void kr_draw_plot(kr_view *v, kr_rect r);
void kr_draw_drops(kr_view *v, kr_rect r);
void kr_draw_map(kr_view *v, kr_rect r);
void kr_draw_cell(kr_view *v, kr_rect r);
void kr_draw_tasks(kr_view *v, kr_rect r);
void kr_draw_task_levels(kr_view *v, kr_rect r);
void kr_draw_requests(kr_view *v, kr_rect r);
void kr_draw_points(kr_view *v, kr_rect r);
void kr_draw_claims(kr_view *v, kr_rect r);
void kr_draw_claim(kr_view *v, kr_rect r);
void kr_draw_budget(kr_view *v, kr_rect r);
void kr_draw_entries(kr_view *v, kr_rect r);
void kr_draw_entry(kr_view *v, kr_rect r);
/* The selected claim: its sentence with what is known beside it, and what it is about. */
const char *kr_claim_text(const kr_app *a);
const char *kr_claim_title(const kr_app *a);
void kr_draw_page(kr_view *v, kr_rect r); /* plan, simulation */
void kr_draw_text(kr_view *v, kr_rect r); /* help, messages */
void kr_draw_eval(kr_view *v, kr_rect r);
void kr_draw_form(kr_view *v, kr_rect r);
void kr_draw_job(kr_view *v, kr_rect r);
void kr_draw_jobs(kr_view *v, kr_rect r);
void kr_draw_results(kr_view *v, kr_rect r);
void kr_draw_times(kr_view *v, kr_rect r);
void kr_draw_log(kr_view *v, kr_rect r);
void kr_draw_answers(kr_view *v, kr_rect r);
void kr_draw_prompt_text(kr_view *v, kr_rect r);
void kr_draw_heads(kr_view *v, kr_rect r);
enum { KR_HEADLINE = 300 };
/* Text of a verdict's headline in `room` columns, "SNAPKV ✔ CERTIFIED at 65 %": where it does not
 * fit, the name is cut, never the verdict. */
void kr_headline(const kr_app *a, int room, char *out, size_t cap, kr_role *role);
void kr_cell_words(const kr_app *a, char *out, size_t cap); /* the map's cell in one line */
/* Full KV and a policy side by side; NaN or 0 where nothing was measured. Three rows. */
typedef struct {
    const char *policy, *level; /* "snapkv at 40 %", "at 40 %" where there is less room */
    const char *together;       /* what is decoded in one step */
    double prefill_s, score_s, token_s; /* of one request; one decoding step */
    double full_bytes, bytes, retained;
} kr_times;
void kr_times_table(kr_view *v, kr_rect in, int y, const kr_times *t);
/* The cell under the map's cursor; NULL when the map is not counted. */
const kr_map_cell *kr_map_cursor(const kr_app *a);
/* "file contract: at most 20 of 600 events; 4 of 9 methods certified". */
void kr_contract_summary(const kr_app *a, char *out, size_t cap);
int kr_tab_at(const kr_app *a, int x); /* screen whose tab is at column x, -1 none */
const char *kr_file_name(const char *path); /* after the last slash */
void kr_p_text(double p, char out[16]);     /* "0.0113", "<1e-4" */
/* v with at most `places` decimals in at most `room` columns, fewer decimals first, then "4e+09". */
void kr_number_text(double v, int places, int room, char out[32]);

#endif
