#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/model.h"
#include "ui/pages.h"

typedef struct {
    const char *name, *args, *help;
    void (*run)(kr_app *a, const char *arg);
    const char *const *words; /* completions of the argument, NULL-terminated */
} command;

static const char *const settings[] = {"plot block", "plot braille", "plot ascii", "ascii on",
                                       "ascii off",  "mouse on",     "mouse off",  NULL};
static const char *const themes[] = {"default", "light", "dark", "high-contrast", "mono", NULL};

/* --- contract --------------------------------------------------------------------------------- */

static void set_field(kr_app *a, kr_field f, const char *arg) {
    kr_error err;
    kr_dec v;
    char now[40];
    if (*arg == '\0') {
        kr_field_text(a, f, now);
        kr_app_say(a, false, "%s is %s", kr_field_name(f), now);
    } else if (kr_field_parse(a, f, arg, &v, &err) != KR_OK) {
        kr_app_say(a, true, "%s", err.msg);
    } else {
        a->map_moved = false;
        kr_app_set_contract(a, kr_field_with(kr_analysis_contract(a->an), f, v));
    }
}

static void run_tol(kr_app *a, const char *arg) { set_field(a, KR_FIELD_TOLERANCE, arg); }
static void run_risk(kr_app *a, const char *arg) { set_field(a, KR_FIELD_RISK, arg); }
static void run_conf(kr_app *a, const char *arg) { set_field(a, KR_FIELD_CONFIDENCE, arg); }
static void run_undo(kr_app *a, const char *arg) { (void)arg, kr_app_undo(a, false); }
static void run_redo(kr_app *a, const char *arg) { (void)arg, kr_app_undo(a, true); }
static void run_reset(kr_app *a, const char *arg) { (void)arg, kr_app_reset(a); }
static void run_family(kr_app *a, const char *arg) { (void)arg, kr_app_toggle_family(a); }
static void run_reload(kr_app *a, const char *arg) { (void)arg, kr_app_reload(a); }

static void run_method(kr_app *a, const char *arg) {
    int m = kr_calib_find_method(a->calib, arg);
    if (m < 0)
        kr_app_say(a, true, "no method '%s'; Tab after :method lists them", arg);
    else
        kr_app_select_method(a, (size_t)m);
}

/* The candidate whose level text is `arg`, with or without its percent sign. */
static void run_level(kr_app *a, const char *arg) {
    size_t len = strcspn(arg, " %");
    for (size_t i = 0; i < a->f.n_levels; i++) {
        char label[32];
        kr_level_label(a, a->method, (int)i, label);
        if (len > 0 && strncmp(label, arg, len) == 0 && (label[len] == ' ' || label[len] == '\0')) {
            a->level = (int)i;
            a->level_pinned = true;
            return;
        }
    }
    kr_app_say(a, true, "no level '%s' of %s; give a share such as 65", arg,
               kr_calib_method(a->calib, a->method)->name);
}

/* --- settings --------------------------------------------------------------------------------- */

static void run_theme(kr_app *a, const char *arg) {
    if (!kr_theme_find(arg, &a->set.theme))
        kr_app_say(a, true, "no theme '%s'; there are default, light, dark, high-contrast, mono",
                   arg);
}

static void set_flag(kr_app *a, const char *word, bool *flag) {
    bool on = strcmp(word, "on") == 0;
    if (!on && strcmp(word, "off") != 0)
        kr_app_say(a, true, "'%s' is neither on nor off", word);
    else
        *flag = on;
}

static void run_set(kr_app *a, const char *arg) {
    char name[32] = "", word[32] = "";
    sscanf(arg, "%31s %31s", name, word);
    bool ascii = a->set.look == KR_LOOK_ASCII;
    if (strcmp(name, "ascii") == 0) {
        set_flag(a, word, &ascii);
        a->set.look = ascii ? KR_LOOK_ASCII : KR_LOOK_UTF8;
        a->redraw = true;
    } else if (strcmp(name, "mouse") == 0) {
        set_flag(a, word, &a->set.mouse);
    } else if (strcmp(name, "plot") != 0) {
        kr_app_say(a, true, ":set plot block|braille|ascii, :set ascii on|off, :set mouse on|off");
    } else if (!kr_plot_alphabet_find(word, &a->set.alphabet)) {
        kr_app_say(a, true, "no plot alphabet '%s'; there are block, braille, ascii", word);
    }
}

/* --- files ------------------------------------------------------------------------------------ */

static void write_or_ask(kr_app *a, kr_out what, const char *path) {
    if (*path == '\0')
        kr_out_ask(a, what);
    else
        kr_out_write(a, what, path, false);
}

static void run_w(kr_app *a, const char *arg) { write_or_ask(a, KR_OUT_POINT, arg); }
static void run_points(kr_app *a, const char *arg) { write_or_ask(a, KR_OUT_POINTS_JSON, arg); }
static void run_csv(kr_app *a, const char *arg) { write_or_ask(a, KR_OUT_POINTS_CSV, arg); }
static void run_map(kr_app *a, const char *arg) { write_or_ask(a, KR_OUT_MAP, arg); }
static void run_print(kr_app *a, const char *arg) { write_or_ask(a, KR_OUT_SCREEN, arg); }
static void run_add(kr_app *a, const char *arg) { kr_points_add(a, arg); }

/* --- the rest --------------------------------------------------------------------------------- */

static void run_info(kr_app *a, const char *arg) {
    (void)arg;
    kr_app_say(a, false,
               "kvrisk " KR_VERSION
               "; %s; screen %dx%d, %s, theme %s, plot %s; file %s, SHA-256 %.12s",
               a->terminal[0] != '\0' ? a->terminal : "no terminal", a->w, a->h,
               a->set.look == KR_LOOK_ASCII ? "ASCII" : "UTF-8", kr_theme_name(a->set.theme),
               kr_plot_alphabet_name(a->set.alphabet), a->path, kr_calib_sha256(a->calib));
}

static void run_q(kr_app *a, const char *arg) { (void)arg, kr_app_quit(a, true); }
static void run_q_now(kr_app *a, const char *arg) { (void)arg, kr_app_quit(a, false); }
static void run_help(kr_app *a, const char *arg) { (void)arg, kr_app_show(a, KR_SCREEN_HELP); }
static void run_messages(kr_app *a, const char *arg) {
    (void)arg, kr_app_show(a, KR_SCREEN_MESSAGES);
}

static const char *const screen_words[] = {"main",     "map",    "policy", "tasks",    "reeval", "points",
                                           "requests", "claims", "plan",   "simulate", "ledger", NULL};

static void run_screen(kr_app *a, const char *arg) {
    for (int i = 0; screen_words[i] != NULL; i++)
        for (int s = 0; s < KR_SCREEN_COUNT && strcmp(screen_words[i], arg) == 0; s++)
            if (strcmp(kr_screen_name((kr_screen)s), arg) == 0) {
                kr_app_show(a, (kr_screen)s);
                return;
            }
    kr_app_say(a, true, "no screen '%s'; Tab after :screen lists them", arg);
}

/* --- claims ----------------------------------------------------------------------------------- */

static void show_claim(kr_app *a, int claim) {
    kr_app_show(a, KR_SCREEN_CLAIMS);
    kr_claims_select(a, claim);
}

static void run_mixture(kr_app *a, const char *arg) { kr_claims_mixture(a, arg); }

static const char *const ledger_words[] = {"start 25% seed 1 budget 0.05", NULL};

static void run_ledger(kr_app *a, const char *arg) {
    if (*arg == '\0')
        kr_app_show(a, KR_SCREEN_LEDGER);
    else if (strncmp(arg, "start", 5) == 0 && (arg[5] == ' ' || arg[5] == '\0'))
        kr_book_start(a, arg + 5);
    else
        kr_app_say(a, true, ":ledger shows the ledger, :ledger start 25%% seed 1 budget 0.05 begins one");
}

static void run_lock(kr_app *a, const char *arg) { (void)arg, kr_book_ask_lock(a); }

static void run_confirm(kr_app *a, const char *arg) {
    char *end;
    long long lock = strtoll(arg, &end, 10);
    if (*end != '\0' || lock < 0)
        kr_app_say(a, true, ":confirm, or :confirm with the number of a lock");
    else
        kr_book_ask_confirm(a, lock);
}

static const char *const loss_words[] = {"event",   "mean",           "mean wsr",
                                         "mean hb", "mean bernstein", NULL};

static void run_loss(kr_app *a, const char *arg) {
    char loss[16] = "", bound[16] = "";
    kr_mean_kind mean;
    sscanf(arg, "%15s %15s", loss, bound);
    if (strcmp(loss, "event") == 0 && bound[0] == '\0') {
        show_claim(a, KR_MODE_EVENTS);
    } else if (strcmp(loss, "mean") != 0) {
        kr_app_say(a, true, ":loss event, or :loss mean with one of the bounds wsr, hb, bernstein");
    } else if (bound[0] != '\0' && !kr_mean_find(bound, strlen(bound), &mean)) {
        kr_app_say(a, true, "no bound '%s' for the mean drop; there are wsr, hb, bernstein", bound);
    } else {
        if (bound[0] != '\0')
            kr_claims_mean(a, mean);
        show_claim(a, KR_MODE_MEAN_DROP);
    }
}

static void run_mode(kr_app *a, const char *arg) {
    kr_mode_kind kind;
    if (kr_mode_find(arg, strlen(arg), &kind))
        show_claim(a, (int)kind);
    else
        kr_app_say(a, true, "no claim '%s'; Tab after :mode lists them", arg);
}

static const char *const eval_words[] = {"model",   "requests", "task",     "samples", "seed",
                                         "threads", "seconds",  "protocol", NULL};

static void run_eval(kr_app *a, const char *arg) {
    char name[32] = "";
    int used = 0;
    sscanf(arg, "%31s %n", name, &used);
    kr_reeval_set(a, name, arg + used);
}

static const char *const sim_words[] = {"draws", "n", "seed", "threads", NULL};

static void run_sim(kr_app *a, const char *arg) {
    char name[32] = "";
    int used = 0;
    sscanf(arg, "%31s %n", name, &used);
    kr_sim_set(a, name, arg + used);
}

static void run_open(kr_app *a, const char *arg) {
    if (*arg == '\0')
        kr_app_say(a, true, "no file named; :open FILE opens a calibration file");
    else
        kr_app_open_file(a, arg, true);
}

static void run_cancel(kr_app *a, const char *arg) { (void)arg, kr_reeval_cancel(a); }
static void run_results(kr_app *a, const char *arg) { write_or_ask(a, KR_OUT_RESULTS, arg); }

static const command table[] = {
    {"tol", "VALUE", "set the tolerance, for example :tol 0.08", run_tol, NULL},
    {"risk", "VALUE", "set the risk target, :risk 5% or :risk 0.05", run_risk, NULL},
    {"conf", "VALUE", "set the confidence, :conf 95% or :conf 0.95", run_conf, NULL},
    {"method", "NAME", "select a method", run_method, NULL},
    {"level", "SHARE", "select a level of the method", run_level, NULL},
    {"undo", "", "undo", run_undo, NULL},
    {"redo", "", "redo", run_redo, NULL},
    {"reset", "", "back to the file's contract", run_reset, NULL},
    {"family", "", "all methods as one family, or each line alone", run_family, NULL},
    {"open", "FILE", "open another calibration file", run_open, NULL},
    {"reload", "", "read the file again", run_reload, NULL},
    {"screen", "NAME", "open a screen", run_screen, screen_words},
    {"mode", "NAME", "show a claim: events, mixture, worst_task, ...", run_mode, NULL},
    {"mixture", "TASK=W ...", "weights of another mixture of tasks; off goes back", run_mixture, NULL},
    {"ledger", "[start ...]", "the ledger; start 25% seed 1 budget 0.05 begins one", run_ledger, ledger_words},
    {"lock", "", "lock the contract on the screens in the ledger", run_lock, NULL},
    {"confirm", "LOCK", "confirm a lock on the requests kept for it", run_confirm, NULL},
    {"loss", "NAME BOUND", "event, or mean by wsr, hb or bernstein", run_loss, loss_words},
    {"set", "NAME VALUE", "plot block|braille|ascii; ascii, mouse on|off", run_set, settings},
    {"theme", "NAME", "default, light, dark, high-contrast, mono", run_theme, themes},
    {"add", "NOTE", "add the operating point to Points", run_add, NULL},
    {"w", "FILE", "write the operating point as JSON", run_w, NULL},
    {"points", "FILE", "write all points as JSON", run_points, NULL},
    {"csv", "FILE", "write all points as CSV", run_csv, NULL},
    {"mapcsv", "FILE", "write the map as CSV", run_map, NULL},
    {"eval", "NAME VALUE", "how to re-evaluate: model, requests, samples, seed, ...",
     run_eval, eval_words},
    {"sim", "NAME N", "simulate with other draws, n (per draw), seed, threads", run_sim, sim_words},
    {"cancel", "", "cancel the job", run_cancel, NULL},
    {"results", "FILE", "write re-evaluated results as a calibration file", run_results, NULL},
    {"print", "FILE", "write this screen as text", run_print, NULL},
    {"info", "", "terminal, settings, file", run_info, NULL},
    {"messages", "", "messages so far", run_messages, NULL},
    {"help", "", "keys and commands", run_help, NULL},
    {"q", "", "quit", run_q, NULL},
    {"quit", "", "the same", run_q, NULL},
    {"q!", "", "quit without asking", run_q_now, NULL},
};

enum { N_COMMANDS = sizeof table / sizeof *table };

size_t kr_command_count(void) { return N_COMMANDS; }

void kr_command_text(size_t i, char name[48], const char **help) {
    snprintf(name, 48, ":%s %s", table[i].name, table[i].args);
    *help = table[i].help;
}

/* The command of this name, or the only one that begins so. *hits: how many begin so. */
static const command *find(const char *name, size_t len, size_t *hits) {
    const command *first = NULL;
    *hits = 0;
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (strncmp(table[i].name, name, len) != 0)
            continue;
        if (table[i].name[len] == '\0') {
            *hits = 1;
            return &table[i];
        }
        first = (*hits)++ == 0 ? &table[i] : first;
    }
    return *hits == 1 ? first : NULL;
}

static void say_not_one(kr_app *a, const char *name, size_t len, size_t hits) {
    char list[400];
    size_t used = 0, seen = 0;
    int shown = (int)(len < 40 ? len : 40);
    if (hits == 0) {
        kr_app_say(a, true, "no command ':%.*s'; :help lists them", shown, name);
        return;
    }
    for (size_t i = 0; i < N_COMMANDS && used < sizeof list; i++)
        if (strncmp(table[i].name, name, len) == 0) {
            const char *glue = seen == 0 ? "" : seen + 1 == hits ? " or " : ", ";
            seen++;
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", glue, table[i].name);
        }
    kr_app_say(a, true, "':%.*s' may be %s", shown, name, list);
}

void kr_command_run(kr_app *a, const char *line) {
    while (*line == ' ')
        line++;
    size_t len = strcspn(line, " "), hits = 0;
    const command *c = len > 0 ? find(line, len, &hits) : NULL;
    if (c == NULL) {
        say_not_one(a, line, len, hits);
        return;
    }
    char arg[256];
    const char *from = line + len + strspn(line + len, " ");
    snprintf(arg, sizeof arg, "%s", from);
    for (size_t n = strlen(arg); n > 0 && arg[n - 1] == ' '; n--)
        arg[n - 1] = '\0';
    if (c->args[0] == '\0' && arg[0] != '\0') /* not what was meant, and some cannot be undone */
        kr_app_say(a, true, ":%s takes nothing after it, and '%.40s' was typed", c->name, arg);
    else
        c->run(a, arg);
}

/* --- completion ------------------------------------------------------------------------------- */

/* Words until the line is full, then how many more there are. */
typedef struct {
    char text[400];
    int room;
    size_t more;
} word_list;

static void list_word(word_list *l, const char *word) {
    enum { MORE = 20 }; /* "  and 4096 more ..." */
    size_t used = strlen(l->text);
    int need = kr_text_width(l->text) + (used > 0 ? 2 : 0) + kr_text_width(word);
    if (l->more > 0 || (used > 0 && need + MORE > l->room) || used + strlen(word) + 3 > sizeof l->text)
        l->more++;
    else
        snprintf(l->text + used, sizeof l->text - used, "%s%s", used > 0 ? "  " : "", word);
}

static const char *candidate(const kr_app *a, const command *c, size_t i) {
    if (c == NULL)
        return i < N_COMMANDS ? table[i].name : NULL;
    if (c->run == run_method)
        return i < kr_calib_methods(a->calib) ? kr_calib_method(a->calib, i)->name : NULL;
    if (c->run == run_mixture)
        return i < kr_calib_tasks(a->calib) ? kr_calib_task(a->calib, i)
               : i == kr_calib_tasks(a->calib) ? "off" : NULL;
    if (c->run == run_mode)
        return i < KR_MODES ? kr_mode_name((kr_mode_kind)i) : NULL;
    return c->words != NULL ? c->words[i] : NULL;
}

void kr_command_complete(kr_app *a) {
    char *line = a->prompt.text;
    size_t name = strcspn(line, " ");
    bool first = line[name] == '\0';
    size_t keep = 0, hits = 0;
    const command *c = first ? NULL : find(line, name, &hits);
    const char *part = first ? line : line + name + 1, *common = NULL, *s;
    hits = 0;
    word_list list = {.text = "", .room = a->w - 2};
    if (!first && c == NULL)
        return;
    for (const char *p = part; !first && c->run == run_mixture && *p != '\0'; p++)
        part = *p == ' ' || *p == ',' ? p + 1 : part; /* one task after the other */
    const char *end = first ? " " : c->run == run_mixture ? "=" : "";
    for (size_t i = 0; (s = candidate(a, c, i)) != NULL; i++) {
        if (strncmp(s, part, strlen(part)) != 0)
            continue;
        size_t same = 0;
        while (common != NULL && same < keep && s[same] == common[same])
            same++;
        keep = common == NULL ? strlen(s) : same;
        common = common == NULL ? s : common;
        hits++;
        list_word(&list, s);
    }
    if (common == NULL)
        return;
    char full[300];
    snprintf(full, sizeof full, "%.*s%.*s%s", (int)(part - line), line, (int)keep, common,
             hits == 1 && strcmp(common, "off") != 0 ? end : "");
    kr_prompt_set(&a->prompt, full);
    if (hits > 1 && list.more > 0)
        kr_app_say(a, false, "%s  and %zu more", list.text, list.more);
    else if (hits > 1)
        kr_app_say(a, false, "%s", list.text);
}
