/* kvrisk generate: greedy continuation of a prompt. */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/values.h"
#include "engine/generate.h"

static const char help[] =
    "usage: kvrisk generate --model FILE (--prompt TEXT | --prompt-file FILE |\n"
    "                       --prompt-tokens ID,ID,...) [options]\n"
    "\n"
    "Continues a prompt with the most likely tokens and prints the continuation.\n"
    "\n"
    "  --model FILE           GGUF model, architecture llama or qwen2\n"
    "  --prompt TEXT          the prompt; BOS is added where the model asks for it, and the texts\n"
    "                         of control tokens stand for these tokens\n"
    "  --prompt-file FILE     the prompt from a file, as it is\n"
    "  --prompt-tokens LIST   token ids as they are, nothing added\n"
    "  --max-tokens N         at most N tokens (default 64)\n"
    "  --ignore-stop          go on after tokens that end a text\n"
    "  --context N            cache for N tokens (default: the trained context)\n"
    "  --window N             attend to the last N positions only (Mistral 7B v0.1: 4096)\n"
    "  --block N              prompt tokens worked on together (default 512)\n"
    "  --threads N            threads (default: physical cores)\n"
    "  --logits FILE          write the logits of every fed position, little-endian float32\n"
    "  --force                replace the file of --logits when it exists\n"
    "  --json                 one JSON object: prompt_tokens, tokens, text, stop\n"
    "  --help                 this text\n";

enum { HELPED = -1 }; /* the help was asked for and printed */

typedef struct {
    const char *model, *prompt, *prompt_file, *prompt_tokens, *logits;
    size_t max_tokens, context, window, block, threads;
    bool ignore_stop, json, force;
} options;

typedef struct {
    kr_model *m;
    kr_run *r;
    kr_kv *kv;
    kr_writer *logits;
    int32_t *prompt, *tokens;
    size_t n_prompt, n_tokens;
    kr_stop stop;
    bool shown; /* progress on the terminal that must be wiped */
} work;

static int complain(const char *why) {
    fprintf(stderr, "kvrisk generate: %s\n", why);
    return KR_EXIT_ERROR;
}

static int usage(const char *why) {
    fprintf(stderr, "kvrisk generate: %s; see kvrisk generate --help\n", why);
    return KR_EXIT_USAGE;
}

/* ---- options ---- */

static int parse_options(int argc, char **argv, options *o) {
    static const struct option longs[] = {
        {"model", required_argument, NULL, 'm'},         {"prompt", required_argument, NULL, 'p'},
        {"prompt-file", required_argument, NULL, 'f'},
        {"prompt-tokens", required_argument, NULL, 't'},
        {"max-tokens", required_argument, NULL, 'n'},    {"ignore-stop", no_argument, NULL, 'i'},
        {"context", required_argument, NULL, 'c'},       {"window", required_argument, NULL, 'w'},
        {"block", required_argument, NULL, 'b'},         {"threads", required_argument, NULL, 'T'},
        {"logits", required_argument, NULL, 'l'},        {"json", no_argument, NULL, 'j'},
        {"force", no_argument, NULL, 'F'},               {"help", no_argument, NULL, 'h'},
        {0},
    };
    const struct {
        int key;
        const char **text;
        size_t *count, most;
    } values[] = {
        {'m', &o->model, NULL, 0},         {'p', &o->prompt, NULL, 0},
        {'f', &o->prompt_file, NULL, 0},   {'t', &o->prompt_tokens, NULL, 0},
        {'l', &o->logits, NULL, 0},        {'n', NULL, &o->max_tokens, 1u << 24},
        {'c', NULL, &o->context, 1u << 30}, {'w', NULL, &o->window, 1u << 30},
        {'b', NULL, &o->block, 1u << 16},  {'T', NULL, &o->threads, 256},
    };
    optind = 0;
    opterr = 0;
    for (int c, at = 0; (c = getopt_long(argc, argv, "h", longs, &at)) != -1;) {
        if (c == 'h') {
            fputs(help, stdout);
            return HELPED;
        }
        o->ignore_stop = o->ignore_stop || c == 'i';
        o->json = o->json || c == 'j';
        o->force = o->force || c == 'F';
        if (c == '?')
            return usage("unknown option, or an option without its value");
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            if (values[i].key != c)
                continue;
            if (values[i].text != NULL)
                *values[i].text = optarg;
            else if (!kr_cli_count(optarg, values[i].most, values[i].count)) {
                fprintf(stderr, "kvrisk generate: --%s expects a number from 1 to %zu\n",
                        longs[at].name, values[i].most);
                return KR_EXIT_USAGE;
            }
        }
    }
    if (optind != argc)
        return usage("unexpected argument");
    if (o->model == NULL)
        return usage("--model is missing");
    if ((o->prompt != NULL) + (o->prompt_file != NULL) + (o->prompt_tokens != NULL) != 1)
        return usage("expected one of --prompt, --prompt-file and --prompt-tokens");
    return KR_EXIT_OK;
}

/* ---- prompt ---- */

static kr_status prompt_ids(const char *list, work *w, kr_error *err) {
    w->prompt = calloc(strlen(list) / 2 + 2, sizeof *w->prompt);
    if (w->prompt == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for the prompt");
    for (const char *s = list; *s != '\0';) {
        char *end;
        long v = strtol(s, &end, 10);
        if (*s < '0' || *s > '9' || v > INT32_MAX || (*end != '\0' && *end != ','))
            return kr_fail(err, KR_EINVAL, "--prompt-tokens: expected ids with commas between, "
                           "found '%.20s'", s);
        w->prompt[w->n_prompt++] = (int32_t)v;
        s = *end == ',' ? end + 1 : end;
    }
    return KR_OK;
}

static kr_status read_prompt(const options *o, work *w, kr_error *err) {
    if (o->prompt_tokens != NULL)
        return prompt_ids(o->prompt_tokens, w, err);
    if (w->m->tok == NULL)
        return kr_fail(err, KR_EINVAL, "%s has no tokenizer; use --prompt-tokens", o->model);
    char *data = NULL;
    const char *text = o->prompt;
    size_t len = text != NULL ? strlen(text) : 0;
    kr_status st = KR_OK;
    if (o->prompt_file != NULL) {
        st = kr_file_read(o->prompt_file, (size_t)1 << 28, &data, &len, err);
        text = data;
    }
    if (st == KR_OK && len == 0)
        st = kr_fail(err, KR_EINVAL, "the prompt is empty");
    if (st == KR_OK)
        st = kr_tok_encode(w->m->tok, text, len, KR_TOK_ENDS | KR_TOK_SPECIAL, &w->prompt,
                           &w->n_prompt, err);
    free(data);
    return st;
}

/* ---- running ---- */

static bool show_progress(void *arg, size_t done, size_t total) {
    work *w = arg;
    if (total <= 2 * w->m->geo.layers) /* single tokens are quick */
        return true;
    fprintf(stderr, "\rprompt %3zu %%", total > 0 ? 100 * done / total : 100);
    w->shown = true;
    return true;
}

static kr_status write_logits(void *arg, size_t pos, const float *logits, kr_error *err) {
    work *w = arg;
    (void)pos;
    (void)err;
    kr_writer_add(w->logits, logits, w->m->geo.vocab * sizeof *logits);
    return KR_OK;
}

static kr_status prepare(const options *o, work *w, kr_error *err) {
    size_t context = o->context > 0 ? o->context : w->m->geo.context;
    if (context == 0)
        context = w->n_prompt + o->max_tokens;
    if (w->n_prompt > context)
        return kr_fail(err, KR_EINVAL, "the prompt has %zu tokens, the context %zu; --context %zu "
                       "would extend it, beyond what the model was trained on", w->n_prompt,
                       context, w->n_prompt + o->max_tokens);
    size_t cap = context - w->n_prompt > o->max_tokens ? w->n_prompt + o->max_tokens : context;
    kr_run_options ro = {.threads = o->threads, .block = o->block, .window = o->window};
    if (isatty(STDERR_FILENO)) {
        ro.progress = show_progress;
        ro.progress_arg = w;
    }
    const kr_geometry *g = &w->m->geo;
    kr_status st = kr_run_new(w->m, &ro, &w->r, err);
    if (st == KR_OK)
        st = kr_kv_new(g->layers, g->kv_heads, g->head_dim, cap, &w->kv, err);
    if (st == KR_OK && o->logits != NULL)
        st = kr_writer_open(o->logits, o->force, &w->logits, err);
    w->tokens = calloc(o->max_tokens, sizeof *w->tokens);
    if (st == KR_OK && w->tokens == NULL)
        st = kr_fail(err, KR_ENOMEM, "out of memory for %zu tokens", o->max_tokens);
    return st;
}

/* Before any work: the file may be written, and is none of those that are read. */
static kr_status check_logits(const options *o, kr_error *err) {
    if (kr_file_same(o->logits, o->model) ||
        (o->prompt_file != NULL && kr_file_same(o->logits, o->prompt_file)))
        return kr_fail(err, KR_EINVAL, "--logits %s would replace what is read", o->logits);
    if (!o->force && access(o->logits, F_OK) == 0)
        return kr_fail(err, KR_EIO, "%s exists; --force replaces it", o->logits);
    return KR_OK;
}

static kr_status generate(const options *o, work *w, kr_error *err) {
    kr_status st = o->logits != NULL ? check_logits(o, err) : KR_OK;
    if (st == KR_OK)
        st = kr_model_open(o->model, &w->m, err);
    if (st == KR_OK)
        st = read_prompt(o, w, err);
    if (st == KR_OK)
        st = prepare(o, w, err);
    if (st != KR_OK)
        return st;
    kr_generate_options go = {.max_tokens = o->max_tokens, .ignore_stops = o->ignore_stop};
    if (o->logits != NULL) {
        go.each = write_logits;
        go.each_arg = w;
    }
    st = kr_generate(w->r, w->m, w->kv, w->prompt, w->n_prompt, &go, w->tokens, &w->n_tokens,
                     &w->stop, err);
    if (w->shown)
        fputs("\r             \r", stderr);
    if (st == KR_OK && w->logits != NULL) {
        st = kr_writer_commit(w->logits, err);
        w->logits = NULL;
    }
    return st;
}

/* ---- output ---- */

static void put_ids(kr_buf *b, const int32_t *ids, size_t n) {
    kr_buf_puts(b, "[");
    for (size_t i = 0; i < n; i++)
        kr_buf_printf(b, "%s%d", i > 0 ? "," : "", (int)ids[i]);
    kr_buf_puts(b, "]");
}

/* What a model says may hold escape sequences; a terminal gets none of them. */
static void put_text(kr_buf *b, const char *text, size_t len) {
    bool terminal = isatty(STDOUT_FILENO) != 0;
    for (size_t i = 0, n; i < len; i += n) {
        uint32_t code;
        n = kr_utf8_next(text + i, len - i, &code);
        if (terminal && kr_text_unsafe(code) && code != '\n' && code != '\t')
            kr_buf_puts(b, "?");
        else
            kr_buf_add(b, text + i, n);
    }
}

static int print(const options *o, const work *w) {
    char *text = NULL;
    size_t len = 0;
    kr_error err = {0};
    if (w->m->tok != NULL &&
        kr_tok_decode(w->m->tok, w->tokens, w->n_tokens, 0, &text, &len, &err) != KR_OK)
        return complain(err.msg);
    kr_buf b = {0};
    if (o->json) {
        kr_buf_puts(&b, "{\"prompt_tokens\":");
        put_ids(&b, w->prompt, w->n_prompt);
        kr_buf_puts(&b, ",\"tokens\":");
        put_ids(&b, w->tokens, w->n_tokens);
        kr_buf_puts(&b, ",\"text\":");
        if (text != NULL)
            kr_json_put_string(&b, text);
        else
            kr_buf_puts(&b, "null");
        kr_buf_printf(&b, ",\"stop\":\"%s\"}", kr_stop_name(w->stop));
    } else if (text != NULL) {
        put_text(&b, text, len);
    } else {
        put_ids(&b, w->tokens, w->n_tokens);
    }
    kr_buf_puts(&b, "\n");
    bool ok = !b.failed && fwrite(b.s, 1, b.len, stdout) == b.len && fflush(stdout) == 0;
    kr_buf_free(&b);
    free(text);
    return ok ? KR_EXIT_OK : complain("cannot write the output");
}

int kr_cli_generate(int argc, char **argv) {
    options o = {.max_tokens = 64};
    work w = {0};
    kr_error err = {0};
    int status = parse_options(argc, argv, &o);
    if (status != KR_EXIT_OK)
        return status == HELPED ? KR_EXIT_OK : status;
    if (generate(&o, &w, &err) == KR_OK)
        status = print(&o, &w);
    else
        status = complain(err.msg);
    kr_writer_abort(w.logits);
    kr_kv_free(w.kv);
    kr_run_free(w.r);
    free(w.prompt);
    free(w.tokens);
    kr_model_close(w.m);
    return status;
}
