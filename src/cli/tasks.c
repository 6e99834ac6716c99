/* tasks.c - `kvrisk tasks`: draw requests of RULER's families from a seed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/common.h"
#include "sample/tasks.h"

static const char help[] =
    "usage: kvrisk tasks --seed S [--per-task N] [--length L] [--split cal|test|both]\n"
    "                    [--families LIST] [-o R.jsonl [--force]]\n"
    "\n"
    "Draws requests in RULER's families, in the vocabulary of the bundled model, and writes\n"
    "them as JSON Lines (id, task, split, context, question, answer_prefix, answers, scorer,\n"
    "max_tokens) to R.jsonl or standard output. The same options give the same bytes,\n"
    "everywhere, and request k of a family does not depend on how many are asked for.\n"
    "Calibration and test requests are independent draws of the same task-uniform mixture,\n"
    "from disjoint streams of the seed.\n"
    "\n"
    "  --seed S          0 .. 2^63-1\n"
    "  --per-task N      requests per family and split (default 100)\n"
    "  --length L        most tokens of prompt and answer, at least 85 (default 512); each\n"
    "                    request draws its own length between 3/4 of it and all of it\n"
    "  --split WHICH     cal, test or both (default), calibration first\n"
    "  --families LIST   of niah_single,niah_multikey,niah_multivalue,niah_multiquery,vt,fwe,qa\n"
    "                    (default: all)\n"
    "  --force           replace R.jsonl when it exists\n";

enum { OPT_SEED = OPT_OWN, OPT_PER_TASK, OPT_LENGTH, OPT_FAMILIES, OPT_FORCE };
enum { MIN_LENGTH = 85, MAX_PER_TASK = 1000000 }; /* 3/4 of 85 leaves room for every question */

typedef struct {
    kr_task_set set;
    size_t per_task;
    bool seeded, split[2]; /* split: cal, test */
    bool family[KR_TASK_FAMILIES];
    const char *out;
    bool force;
} request;

static bool read_number(const char *option, const char *text, uint64_t min, uint64_t max,
                        uint64_t *out) {
    char *end;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    if (text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 && v >= min && v <= max) {
        *out = v;
        return true;
    }
    kr_cli_say("tasks", 0, "--%s %s: expected a whole number from %llu to %llu", option, text,
               (unsigned long long)min, (unsigned long long)max);
    return false;
}

static bool read_split(const char *text, request *r) {
    bool both = strcmp(text, "both") == 0;
    r->split[KR_DRAW_CAL] = both || strcmp(text, "cal") == 0;
    r->split[KR_DRAW_TEST] = both || strcmp(text, "test") == 0;
    if (!r->split[KR_DRAW_CAL] && !r->split[KR_DRAW_TEST])
        kr_cli_say("tasks", 0, "--split %s: expected cal, test or both", text);
    return r->split[KR_DRAW_CAL] || r->split[KR_DRAW_TEST];
}

static bool read_families(const char *text, request *r) {
    memset(r->family, 0, sizeof r->family);
    if (text[0] == '\0') {
        kr_cli_say("tasks", 0, "--families is empty: expected names (see kvrisk tasks --help)");
        return false;
    }
    for (const char *s = text; *s != '\0';) {
        size_t n = strcspn(s, ","), f = 0;
        const char *name;
        while (f < KR_TASK_FAMILIES && (name = kr_task_name((kr_task_family)f),
                                        strlen(name) != n || memcmp(s, name, n) != 0))
            f++;
        if (f == KR_TASK_FAMILIES) {
            kr_cli_say("tasks", 0, "--families: no family \"%.*s\" (see kvrisk tasks --help)",
                       (int)n, s);
            return false;
        }
        r->family[f] = true;
        s += n + (s[n] == ',');
    }
    return true;
}

static bool take(request *r, int option, const char *value) {
    uint64_t v = 0;
    switch (option) {
    case OPT_SEED:
        r->seeded = read_number("seed", value, 0, INT64_MAX, &r->set.seed);
        return r->seeded;
    case OPT_PER_TASK:
        if (!read_number("per-task", value, 1, MAX_PER_TASK, &v))
            return false;
        r->per_task = (size_t)v;
        return true;
    case OPT_LENGTH:
        if (!read_number("length", value, MIN_LENGTH, KR_TASK_MAX_LENGTH, &v))
            return false;
        r->set.length = (size_t)v;
        return true;
    case OPT_SPLIT: return read_split(value, r);
    case OPT_FAMILIES: return read_families(value, r);
    case OPT_FORCE: r->force = true; return true;
    case 'o': r->out = value; return true;
    default: return false;
    }
}

/* Where the lines go: a file that appears when complete, or standard output. */
static void put(kr_writer *w, const kr_buf *line) {
    if (w != NULL)
        kr_writer_add(w, line->s, line->len);
    else
        fwrite(line->s, 1, line->len, stdout);
}

/* One request of each family in turn, so that any beginning of a split is a fair mixture. */
static kr_status write_all(const request *r, const kr_words *words, kr_writer *w, kr_error *err) {
    kr_buf line = {0};
    kr_status st = KR_OK;
    for (int s = KR_DRAW_CAL; s <= KR_DRAW_TEST; s++)
        for (size_t i = 0; i < r->per_task && r->split[s] && st == KR_OK; i++)
            for (int f = 0; f < KR_TASK_FAMILIES && st == KR_OK; f++) {
                if (!r->family[f])
                    continue;
                line.len = 0;
                st = kr_task_line(words, &r->set, (kr_task_split)s, (kr_task_family)f, i, &line,
                                  err);
                if (st == KR_OK)
                    put(w, &line);
            }
    kr_buf_free(&line);
    return st;
}

static kr_status run(const request *r, kr_error *err) {
    kr_words *words;
    kr_writer *w = NULL;
    kr_status st = kr_words_new(&words, err);
    if (st != KR_OK)
        return st;
    if (r->out != NULL && !r->force && access(r->out, F_OK) == 0)
        st = kr_fail(err, KR_EIO, "%s exists; --force replaces it", r->out);
    else if (r->out != NULL)
        st = kr_writer_open(r->out, r->force, &w, err);
    if (st == KR_OK)
        st = write_all(r, words, w, err);
    kr_words_free(words);
    if (st != KR_OK) {
        kr_writer_abort(w);
        return st;
    }
    return w != NULL ? kr_writer_commit(w, err) : KR_OK;
}

int kr_cli_tasks(int argc, char **argv) {
    static const struct option options[] = {{"seed", required_argument, NULL, OPT_SEED},
                                            {"per-task", required_argument, NULL, OPT_PER_TASK},
                                            {"length", required_argument, NULL, OPT_LENGTH},
                                            {"split", required_argument, NULL, OPT_SPLIT},
                                            {"families", required_argument, NULL, OPT_FAMILIES},
                                            {"force", no_argument, NULL, OPT_FORCE},
                                            {"help", no_argument, NULL, OPT_HELP},
                                            {NULL, 0, NULL, 0}};
    request r = {.set = {.length = 512}, .per_task = 100, .split = {true, true}};
    for (size_t f = 0; f < KR_TASK_FAMILIES; f++)
        r.family[f] = true;
    for (int o; (o = getopt_long(argc, argv, "o:", options, NULL)) != -1;) {
        if (o == OPT_HELP) {
            fputs(help, stdout);
            return KR_EXIT_OK;
        }
        if (!take(&r, o, optarg))
            return KR_EXIT_USAGE;
    }
    if (!r.seeded)
        return kr_cli_say("tasks", KR_EXIT_USAGE, "--seed is missing (see kvrisk tasks --help)");
    if (optind < argc)
        return kr_cli_say("tasks", KR_EXIT_USAGE, "unexpected argument %s", argv[optind]);
    kr_error err;
    if (run(&r, &err) != KR_OK)
        return kr_cli_say("tasks", KR_EXIT_ERROR, "%s", err.msg);
    return kr_cli_done("tasks", KR_EXIT_OK);
}
