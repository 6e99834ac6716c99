/* kvrisk model: what is in a model file. */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/cli.h"
#include "engine/model.h"
#include "engine/run.h"

static const char help[] =
    "usage: kvrisk model FILE [--context N] [--json]\n"
    "\n"
    "Prints what is in a GGUF model file: architecture, sizes, types of the weights, tokenizer,\n"
    "bytes of keys and values per token, and the memory that running it takes.\n"
    "\n"
    "  --context N  tokens to reckon the memory for (default: the trained context, at most 4096)\n"
    "  --json       one JSON object\n"
    "  --help       this text\n";

/* Types of the matrices in one class, in order of appearance, as "Q4_K, Q6_K". */
typedef struct {
    bool has[KR_QUANT_END];
} types;

typedef struct {
    types embedding, attention, ffn, output;
} classes;

static classes classify(const kr_model *m) {
    classes c = {0};
    c.embedding.has[m->embed.type] = true;
    c.output.has[m->output.type] = true;
    for (size_t i = 0; i < m->geo.layers; i++) {
        const kr_layer *l = &m->layer[i];
        c.attention.has[l->q.type] = c.attention.has[l->k.type] = true;
        c.attention.has[l->v.type] = c.attention.has[l->o.type] = true;
        c.ffn.has[l->gate.type] = c.ffn.has[l->up.type] = c.ffn.has[l->down.type] = true;
    }
    return c;
}

static const char *type_text(const types *t, char out[128]) {
    out[0] = '\0';
    for (uint32_t i = 0; i < KR_QUANT_END; i++)
        if (t->has[i])
            strcat(strcat(out, out[0] != '\0' ? ", " : ""), kr_quant_describe(i)->name);
    return out;
}

static const char *name_of(const kr_model *m, char out[96]) {
    kr_gguf_str s = {0};
    if (kr_gguf_get_str(m->file, "general.name", false, &s, NULL) != KR_OK)
        s.n = 0;
    kr_text_safe(out, 96, s.n > 0 ? s.p : "", s.n < 90 ? s.n : 90);
    return out;
}

/* A context-extended Llama 3.1 needs factors that files made before mid-2024 lack. */
static bool lacks_rope_factors(const kr_model *m) {
    return strcmp(m->arch, "llama") == 0 && m->rope_base == 500000 && m->geo.context > 8192 &&
           kr_gguf_find(m->file, "rope_freqs.weight") == NULL;
}

static const char *size_text(size_t bytes, char out[32]) {
    if (bytes < 1000)
        snprintf(out, 32, "%zu bytes", bytes);
    else if (bytes < 1000 * 1000)
        snprintf(out, 32, "%.1f kB", (double)bytes / 1e3);
    else if (bytes < 1000 * 1000 * 1000)
        snprintf(out, 32, "%.1f MB", (double)bytes / 1e6);
    else
        snprintf(out, 32, "%.2f GB", (double)bytes / 1e9);
    return out;
}

typedef struct {
    size_t context, kv_token, file, cache, work;
} memory;

static memory reckon(const kr_model *m, size_t context) {
    const kr_run_options opt = {0};
    memory r = {.context = context, .kv_token = kr_model_kv_bytes(&m->geo)};
    r.file = kr_gguf_size(m->file);
    r.cache = context * r.kv_token;
    r.work = kr_run_bytes(&m->geo, &opt);
    return r;
}

static void print_text(const kr_model *m, const memory *mem) {
    const kr_geometry *g = &m->geo;
    classes c = classify(m);
    char a[128], b[32], d[32], e[32];
    kr_text_safe(a, 128, kr_gguf_name(m->file), strlen(kr_gguf_name(m->file)));
    printf("file           %s (GGUF version %u, %s)\n", a, kr_gguf_version(m->file),
           size_text(mem->file, b));
    printf("name           %s\n", name_of(m, a));
    printf("architecture   %s\n", m->arch);
    printf("layers         %zu of width %zu, feed-forward %zu\n", g->layers, g->width, g->ffn);
    printf("heads          %zu query, %zu key/value, size %zu\n", g->heads, g->kv_heads,
           g->head_dim);
    printf("context        %zu tokens in training\n", g->context);
    printf("rotary         base %g, factor %g, %s%s\n", m->rope_base, m->rope_factor,
           g->rope_halves ? "halves" : "neighbours",
           kr_gguf_find(m->file, "rope_freqs.weight") != NULL ? ", with frequency factors" : "");
    if (m->tok != NULL)
        printf("tokenizer      %s, %zu tokens, BOS %d, EOS %d\n", kr_tok_kind(m->tok),
               kr_tok_count(m->tok), kr_tok_bos(m->tok), kr_tok_eos(m->tok));
    else
        printf("tokenizer      none (%zu token ids)\n", g->vocab);
    printf("embedding      %s\n", type_text(&c.embedding, a));
    printf("attention      %s\n", type_text(&c.attention, a));
    printf("feed-forward   %s\n", type_text(&c.ffn, a));
    printf("output         %s%s\n", type_text(&c.output, a), m->tied ? " (the embedding)" : "");
    printf("KV per token   %s (float32)\n", size_text(mem->kv_token, b));
    printf("memory to run  %s at %zu tokens: file %s, cache %s, work %s\n",
           size_text(mem->file + mem->cache + mem->work, b), mem->context, size_text(mem->file, d),
           size_text(mem->cache, e), size_text(mem->work, a));
    if (m->unused > 0)
        printf("note           %zu tensors are not used\n", m->unused);
    if (lacks_rope_factors(m))
        printf("note           without rope_freqs.weight: long contexts degrade if this is a "
               "Llama 3.1\n");
}

static void print_json(const kr_model *m, const memory *mem) {
    const kr_geometry *g = &m->geo;
    classes c = classify(m);
    char a[128];
    kr_buf b = {0};
    kr_buf_puts(&b, "{\"file\":");
    kr_json_put_string(&b, kr_gguf_name(m->file));
    kr_buf_puts(&b, ",\"name\":");
    kr_json_put_string(&b, name_of(m, a));
    kr_buf_printf(&b, ",\"gguf\":%u,\"architecture\":\"%s\",\"layers\":%zu,\"width\":%zu,"
                  "\"heads\":%zu,\"kv_heads\":%zu,\"head_dim\":%zu,\"ffn\":%zu,\"vocab\":%zu,"
                  "\"context\":%zu", kr_gguf_version(m->file), m->arch, g->layers, g->width,
                  g->heads, g->kv_heads, g->head_dim, g->ffn, g->vocab, g->context);
    kr_buf_puts(&b, ",\"rope\":{\"base\":");
    kr_json_put_double(&b, m->rope_base);
    kr_buf_puts(&b, ",\"factor\":");
    kr_json_put_double(&b, m->rope_factor);
    kr_buf_printf(&b, ",\"halves\":%s,\"factors\":%s}", g->rope_halves ? "true" : "false",
                  kr_gguf_find(m->file, "rope_freqs.weight") != NULL ? "true" : "false");
    kr_buf_puts(&b, ",\"tokenizer\":");
    if (m->tok != NULL)
        kr_buf_printf(&b, "{\"kind\":\"%s\",\"bos\":%d,\"eos\":%d}", kr_tok_kind(m->tok),
                      kr_tok_bos(m->tok), kr_tok_eos(m->tok));
    else
        kr_buf_puts(&b, "null");
    kr_buf_printf(&b, ",\"types\":{\"embedding\":\"%s\"", type_text(&c.embedding, a));
    kr_buf_printf(&b, ",\"attention\":\"%s\"", type_text(&c.attention, a));
    kr_buf_printf(&b, ",\"ffn\":\"%s\"", type_text(&c.ffn, a));
    kr_buf_printf(&b, ",\"output\":\"%s\"}", type_text(&c.output, a));
    kr_buf_printf(&b, ",\"tied\":%s,\"unused_tensors\":%zu,\"kv_bytes_per_token\":%zu,\"memory\":{"
                  "\"context\":%zu,\"file\":%zu,\"cache\":%zu,\"work\":%zu}}\n",
                  m->tied ? "true" : "false", m->unused, mem->kv_token, mem->context, mem->file,
                  mem->cache, mem->work);
    fputs(kr_buf_text(&b), stdout);
    kr_buf_free(&b);
}

static int usage(const char *why) {
    fprintf(stderr, "kvrisk model: %s; see kvrisk model --help\n", why);
    return KR_EXIT_USAGE;
}

int kr_cli_model(int argc, char **argv) {
    static const struct option longs[] = {{"context", required_argument, NULL, 'c'},
                                          {"json", no_argument, NULL, 'j'},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    bool json = false;
    size_t context = 0;
    char *end;
    optind = 0;
    opterr = 0;
    for (int o; (o = getopt_long(argc, argv, "h", longs, NULL)) != -1;) {
        if (o == 'h') {
            fputs(help, stdout);
            return KR_EXIT_OK;
        }
        if (o == 'j') {
            json = true;
        } else if (o == 'c') {
            context = strtoul(optarg, &end, 10);
            if (*end != '\0' || *optarg == '-' || context < 1 || context > 1u << 30)
                return usage("--context expects a number of tokens");
        } else {
            return usage("unknown option, or an option without its value");
        }
    }
    if (argc - optind != 1)
        return usage("expected one model file");
    kr_model *m = NULL;
    kr_error err = {0};
    if (kr_model_open(argv[optind], &m, &err) != KR_OK) {
        fprintf(stderr, "kvrisk model: %s\n", err.msg);
        return KR_EXIT_ERROR;
    }
    if (context == 0)
        context = m->geo.context > 0 && m->geo.context < 4096 ? m->geo.context : 4096;
    memory mem = reckon(m, context);
    if (json)
        print_json(m, &mem);
    else
        print_text(m, &mem);
    kr_model_close(m);
    return KR_EXIT_OK;
}
