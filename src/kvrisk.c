/* kvrisk.c - the table of subcommands; everything else is in its room. */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/common.h"
#include "ui/run.h"

typedef struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} command;

static const command commands[] = {
    {"import", kr_cli_import, "evaluation outputs (kvpress, LongBench, RULER, ...) to a calibration file"},
    {"certify", kr_cli_certify, "each method's lowest certified retention, or full-KV fallback"},
    {"sweep", kr_cli_sweep, "the verdicts while one value of the contract moves"},
    {"map", kr_cli_map, "certified retention over tolerance and risk target"},
    {"info", kr_cli_info, "what is in a file, and what is odd about it"},
    {"export", kr_cli_export, "write a method's operating point"},
    {"ledger", kr_cli_ledger, "start, show or verify the ledger beside a file"},
    {"lock", kr_cli_lock, "fix a contract before the rows it will be tested on are opened"},
    {"confirm", kr_cli_confirm, "test a locked contract on rows not opened before"},
    {"plan", kr_cli_plan, "how many requests a certificate needs"},
    {"simulate", kr_cli_simulate, "repeated calibration: how often each rule breaks the contract"},
    {"compare", kr_cli_compare, "two policies on the same requests, exact McNemar test"},
    {"score", kr_cli_score, "run a scorer over JSON Lines"},
    {"model", kr_cli_model, "what is in a model file, and the memory that running it takes"},
    {"generate", kr_cli_generate, "greedy continuation of a prompt"},
    {"calibrate", kr_cli_calibrate, "measure a calibration file: every request under every policy"},
    {"merge", kr_cli_merge, "put the shards of a calibration run together"},
    {"tasks", kr_cli_tasks, "draw sample requests of RULER's families from a seed"},
    {"eval", kr_cli_eval, "answers with full KV and with evicted caches, side by side"},
    {NULL, NULL, NULL},
};

static void usage(FILE *to) {
    fputs("usage: kvrisk [FILE]                      the screens; without FILE the bundled sample\n"
          "       kvrisk --print SCREEN [--size WxH] [FILE]   one screen as text\n"
          "       kvrisk COMMAND ...\n\ncommands:\n", to);
    for (const command *c = commands; c->name != NULL; c++)
        fprintf(to, "  %-10s %s\n", c->name, c->help);
}

/* Whatever a command wrote, help as well: a success only when all of it arrived. */
static int done(const char *name, int status) {
    return status == KR_EXIT_OK ? kr_cli_done(name, status) : status;
}

int main(int argc, char **argv) {
    setlocale(LC_CTYPE, ""); /* LC_NUMERIC stays "C": every number uses a point */
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        puts("kvrisk " KR_VERSION);
        return done("--version", KR_EXIT_OK);
    }
    if (argc > 1)
        for (const command *c = commands; c->name != NULL; c++)
            if (strcmp(argv[1], c->name) == 0) {
                char name[64]; /* getopt's own messages begin with argv[0] */
                snprintf(name, sizeof name, "kvrisk %s", c->name);
                argv[1] = name;
                return done(c->name, c->run(argc - 1, argv + 1));
            }
    if (argc > 1 && strcmp(argv[1], "--help") == 0)
        usage(stdout);
    int status = kr_ui_run(argc, argv);
    return argc > 1 ? done(argv[1], status) : status;
}
