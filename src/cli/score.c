/* score.c - `kvrisk score`: run a scorer over JSON Lines, so that anyone can check it. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "calib/scorer_lines.h"
#include "cli/cli.h"

enum { OPT_SCORER = 256, OPT_LIST, OPT_LIMIT, OPT_COERCE, OPT_HELP };

static const struct option options[] = {
    {"scorer", required_argument, NULL, OPT_SCORER},
    {"list", no_argument, NULL, OPT_LIST},
    {"rouge-recursion-limit", required_argument, NULL, OPT_LIMIT},
    {"infinitebench-coerce", no_argument, NULL, OPT_COERCE},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0},
};

static int usage(FILE *to) {
    fputs(
        "usage: kvrisk score --scorer NAME [FILE]\n"
        "\n"
        "Reads JSON Lines of {\"prediction\": text, \"answers\": [..], \"all_classes\": [..]} from "
        "FILE\n"
        "or standard input and writes the same lines with \"score\" added, in the shape that the\n"
        "reference evaluation gives. A line that cannot be scored gets null and \"error\".\n"
        "\n"
        "  --scorer NAME   one of those that --list shows\n"
        "  --list          all scorers, with those that are refused and why\n"
        "  --rouge-recursion-limit N\n"
        "                  ROUGE gives 0 where the reference, which recurses, stops after about N\n"
        "                  steps (default 970; 0: no limit)\n"
        "  --infinitebench-coerce\n"
        "                  compare numbers even where the references are text\n",
        to);
    return to == stdout ? KR_EXIT_OK : KR_EXIT_USAGE;
}

static int list(void) {
    for (const kr_scorer *s = kr_scorers(); s->name != NULL; s++)
        if (s->run != NULL)
            printf("%-36s %s\n", s->name, s->what);
        else
            printf("%-36s refused: %s\n", s->name, s->refused);
    for (size_t i = 0; kr_line_scorers()[i].name != NULL; i++)
        printf("%-36s %s\n", kr_line_scorers()[i].name, kr_line_scorers()[i].what);
    return KR_EXIT_OK;
}

/* Lines of any length: the input is the user's own pipe. */
static kr_status each_line(FILE *in, const char *name, kr_line_score *s, kr_error *err) {
    char *line = NULL;
    size_t cap = 0, number = 0;
    kr_status st = KR_OK;
    kr_buf out = {0};
    for (ssize_t n; st == KR_OK && (n = getline(&line, &cap, in)) >= 0;) {
        size_t len = (size_t)n;
        number++;
        while (len > 0 && (line[len - 1] == '\n' || line[len - 1] == '\r'))
            len--;
        size_t skip = number == 1 && len >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
        if (strspn(line + skip, " \t\r\n") >= len - skip)
            continue;
        out.len = 0;
        st = kr_line_score_run(s, line + skip, len - skip, name, number, &out, err);
        if (st == KR_OK)
            fwrite(out.s, 1, out.len, stdout);
    }
    if (st == KR_OK && ferror(in))
        st = kr_fail(err, KR_EIO, "%s: cannot be read", name);
    free(line);
    kr_buf_free(&out);
    return st;
}

int kr_cli_score(int argc, char **argv) {
    kr_line_score s = {.rouge_limit = KR_ROUGE_LIMIT};
    const char *scorer = NULL;
    kr_error err = {KR_OK, ""};
    int c;
    optind = 1;
    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (c == OPT_HELP)
            return usage(stdout);
        if (c == OPT_LIST)
            return list();
        if (c == OPT_SCORER)
            scorer = optarg;
        else if (c == OPT_COERCE)
            s.coerce = true;
        else if (c == OPT_LIMIT)
            s.rouge_limit = (size_t)strtoul(optarg, NULL, 10);
        else
            return usage(stderr);
    }
    if (scorer == NULL || argc - optind > 1)
        return usage(stderr);
    kr_status st = kr_line_score_open(&s, scorer, &err);
    if (st != KR_OK) {
        fprintf(stderr, "kvrisk score: %s\n", err.msg);
        return st == KR_EINVAL ? KR_EXIT_USAGE : KR_EXIT_ERROR;
    }
    const char *path = optind < argc ? argv[optind] : NULL;
    FILE *in = path != NULL ? fopen(path, "rb") : stdin;
    if (in == NULL) {
        fprintf(stderr, "kvrisk score: %s cannot be opened\n", path);
        return KR_EXIT_ERROR;
    }
    st = each_line(in, path != NULL ? path : "standard input", &s, &err);
    if (path != NULL)
        fclose(in);
    if (fflush(stdout) != 0)
        st = kr_fail(&err, KR_EIO, "cannot write");
    kr_line_score_close(&s);
    if (st != KR_OK)
        fprintf(stderr, "kvrisk score: %s\n", err.msg);
    return st == KR_OK ? KR_EXIT_OK : KR_EXIT_ERROR;
}
