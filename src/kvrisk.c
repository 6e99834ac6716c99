/* kvrisk.c - the table of subcommands; everything else is in its room. */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

typedef struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} command;

static const command commands[] = {
    {"import", kr_cli_import, "evaluation outputs (kvpress, LongBench, RULER, ...) to a calibration file"},
    {NULL, NULL, NULL},
};

static int usage(FILE *to) {
    fputs("usage: kvrisk [FILE]\n       kvrisk COMMAND ...\n\ncommands:\n", to);
    for (const command *c = commands; c->name != NULL; c++)
        fprintf(to, "  %-10s %s\n", c->name, c->help);
    return to == stdout ? KR_EXIT_OK : KR_EXIT_USAGE;
}

int main(int argc, char **argv) {
    setlocale(LC_CTYPE, ""); /* LC_NUMERIC stays "C": every number uses a point */
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        puts("kvrisk " KR_VERSION);
        return KR_EXIT_OK;
    }
    if (argc > 1)
        for (const command *c = commands; c->name != NULL; c++)
            if (strcmp(argv[1], c->name) == 0)
                return c->run(argc - 1, argv + 1);
    return usage(argc > 1 && strcmp(argv[1], "--help") == 0 ? stdout : stderr);
}
