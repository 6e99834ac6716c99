#include "help.h"

#include "engine/tok.h"

typedef struct {
    kr_gguf *g;
    kr_tok *t;
} vocab;

/* False when the file is not here. */
static bool open_vocab(const char *path, vocab *v) {
    kr_error e = {0};
    if (access(path, R_OK) != 0)
        return false;
    must(kr_gguf_open(path, &v->g, &e), &e);
    must(kr_tok_new(v->g, &v->t, &e), &e);
    assert_non_null(v->t);
    return true;
}

static void close_vocab(vocab *v) {
    kr_tok_free(v->t);
    kr_gguf_close(v->g);
}

static bool same(const int32_t *a, size_t na, const int32_t *b, size_t nb) {
    return na == nb && (na == 0 || memcmp(a, b, na * sizeof *a) == 0);
}

static bool encodes_to(const kr_tok *t, const char *text, size_t n, unsigned flags,
                       const int32_t *want, size_t n_want) {
    int32_t *ids = NULL;
    size_t n_ids = 0;
    kr_error e = {0};
    must(kr_tok_encode(t, text, n, flags, &ids, &n_ids, &e), &e);
    bool ok = same(ids, n_ids, want, n_want);
    if (!ok) {
        printf("text '%.*s' gave", (int)n, text);
        for (size_t i = 0; i < n_ids; i++)
            printf(" %d", (int)ids[i]);
        printf(", expected");
        for (size_t i = 0; i < n_want; i++)
            printf(" %d", (int)want[i]);
        printf("\n");
    }
    free(ids);
    return ok;
}

/* Texts of an .inp file; calls fn for each with the ids on the same line of the .out file. */
typedef struct {
    char **text;
    size_t *len;
    int32_t **ids;
    size_t *n_ids, n;
} cases;

static bool read_cases(const char *base, cases *c) {
    static const char sep[] = "\n__ggml_vocab_test__\n";
    char path[256];
    snprintf(path, sizeof path, "%s.inp", base);
    char *inp = slurp(path, NULL);
    snprintf(path, sizeof path, "%s.out", base);
    char *out = slurp(path, NULL);
    if (inp == NULL || out == NULL)
        return false;
    *c = (cases){calloc(64, sizeof(char *)), calloc(64, sizeof(size_t)),
                 calloc(64, sizeof(int32_t *)), calloc(64, sizeof(size_t)), 0};
    char *line = out;
    for (char *at = inp, *end; (end = strstr(at, sep)) != NULL; at = end + sizeof sep - 1) {
        c->len[c->n] = (size_t)(end - at);
        c->text[c->n] = calloc(c->len[c->n] + 1, 1);
        memcpy(c->text[c->n], at, c->len[c->n]);
        c->ids[c->n] = calloc(1024, sizeof(int32_t));
        char *stop = strchr(line, '\n');
        while (stop != NULL && line < stop) {
            char *next;
            long id = strtol(line, &next, 10);
            if (next == line || next > stop)
                break;
            c->ids[c->n][c->n_ids[c->n]++] = (int32_t)id;
            line = next;
        }
        line = stop != NULL ? stop + 1 : line;
        c->n++;
    }
    free(inp);
    free(out);
    return true;
}

static void free_cases(cases *c) {
    for (size_t i = 0; i < c->n; i++) {
        free(c->text[i]);
        free(c->ids[i]);
    }
    free(c->text);
    free(c->len);
    free(c->ids);
    free(c->n_ids);
}

static void vocabulary_vectors_of_llama_cpp(void **state) {
    (void)state;
    static const char *const names[] = {"llama-spm", "gpt-2", "phi-3"};
    for (size_t i = 0; i < 3; i++) {
        char base[256];
        snprintf(base, sizeof base, MODELS "vocab/ggml-vocab-%s.gguf", names[i]);
        vocab v;
        cases c;
        if (!open_vocab(base, &v) || !read_cases(base, &c)) {
            printf("skip: tokenizer vectors of %s are not here (../shared is absent)\n", names[i]);
            continue;
        }
        size_t good = 0;
        for (size_t k = 0; k < c.n; k++)
            good += encodes_to(v.t, c.text[k], c.len[k], 0, c.ids[k], c.n_ids[k]);
        printf("note: tokenizer vectors %s (%s): %zu of %zu\n", names[i], kr_tok_kind(v.t), good,
               c.n);
        assert_int_equal(c.n, 46);
        assert_int_equal(good, c.n);
        free_cases(&c);
        close_vocab(&v);
    }
}

static bool decodes_to(const kr_tok *t, const int32_t *ids, size_t n, const char *want,
                       size_t n_want) {
    char *text = NULL;
    size_t len = 0;
    kr_error e = {0};
    must(kr_tok_decode(t, ids, n, KR_TOK_TRIM, &text, &len, &e), &e);
    bool ok = len == n_want && memcmp(text, want, len) == 0;
    if (!ok)
        printf("decoded '%s', expected '%s'\n", text, want);
    free(text);
    return ok;
}

static void own_vectors(const char *model, const char *ref, size_t *good, size_t *all) {
    vocab v;
    cJSON *j = slurp_json(ref);
    if (j == NULL || !open_vocab(model, &v)) {
        printf("skip: %s is not here (../shared is absent)\n", ref);
        cJSON_Delete(j);
        return;
    }
    static const struct {
        const char *key;
        unsigned flags;
    } ways[] = {{"plain", 0}, {"bos", KR_TOK_ENDS}, {"bos_special", KR_TOK_ENDS | KR_TOK_SPECIAL}};
    const cJSON *x;
    cJSON_ArrayForEach(x, j) {
        size_t len, n, back;
        char *text = unhex(cJSON_GetObjectItemCaseSensitive(x, "hex")->valuestring, &len);
        for (size_t w = 0; w < 3; w++) {
            int32_t *ids = json_ids(cJSON_GetObjectItemCaseSensitive(x, ways[w].key), &n);
            *good += encodes_to(v.t, text, len, ways[w].flags, ids, n);
            ++*all;
            free(ids);
        }
        int32_t *ids = json_ids(cJSON_GetObjectItemCaseSensitive(x, "plain"), &n);
        char *want = unhex(cJSON_GetObjectItemCaseSensitive(x, "detok_hex")->valuestring, &back);
        *good += decodes_to(v.t, ids, n, want, back);
        ++*all;
        free(ids);
        free(want);
        free(text);
    }
    cJSON_Delete(j);
    close_vocab(&v);
}

static void own_texts_plain_with_bos_special_and_back(void **state) {
    (void)state;
    static const char *const names[][2] = {
        {MODELS "vocab/ggml-vocab-llama-spm.gguf", MODELS "ref/tok-ggml-vocab-llama-spm.json"},
        {MODELS "vocab/ggml-vocab-gpt-2.gguf", MODELS "ref/tok-ggml-vocab-gpt-2.json"},
        {MODELS "vocab/ggml-vocab-phi-3.gguf", MODELS "ref/tok-ggml-vocab-phi-3.json"},
        {MODELS "stories260K.gguf", MODELS "ref/tok-stories260K.json"},
        {"tests/fixtures/models/synth-llama2-Q4_0.gguf",
         "tests/fixtures/models/tok-synth-llama2-F32.json"},
    };
    size_t good = 0, all = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        own_vectors(names[i][0], names[i][1], &good, &all);
    printf("note: own tokenizer vectors (ids plain, with BOS, with special parsing, and back): "
           "%zu of %zu\n", good, all);
    assert_true(all > 0);
    assert_int_equal(good, all);
}

/* Without their vocabularies, what can be seen of llama-bpe and qwen2: the words of a text make up
 * the text, and each word stands for the same ids wherever it occurs. A word's ids are learnt from
 * a text in which it is the only unknown one. */
typedef struct {
    char *word;
    int32_t *ids;
    size_t n;
} learnt;

static const learnt *recall(const learnt *l, size_t n, const char *word) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(l[i].word, word) == 0)
            return &l[i];
    return NULL;
}

typedef struct {
    char *word[512];
    size_t n;
} words;

static void cut_words(const char *kind, const char *text, size_t len, words *w) {
    size_t *ends = NULL, n = 0, from = 0;
    kr_error e = {0};
    must(kr_tok_split(kind, text, len, &ends, &n, &e), &e);
    assert_true(n <= 512);
    w->n = n;
    for (size_t i = 0; i < n; from = ends[i++]) {
        assert_true(ends[i] > from);
        w->word[i] = calloc(ends[i] - from + 1, 1);
        memcpy(w->word[i], text + from, ends[i] - from);
    }
    assert_int_equal(from, len);
    free(ends);
}

/* Matches known words from the front and the back; learns the one between. False: contradiction. */
static bool study(const words *w, const int32_t *ids, size_t n_ids, learnt *l, size_t *n,
                  bool *whole) {
    size_t a = 0, b = w->n, front = 0, back = n_ids;
    const learnt *k;
    while (a < b && (k = recall(l, *n, w->word[a])) != NULL) {
        if (front + k->n > n_ids || memcmp(ids + front, k->ids, k->n * sizeof *ids) != 0)
            return false;
        front += k->n;
        a++;
    }
    while (a < b && (k = recall(l, *n, w->word[b - 1])) != NULL) {
        if (k->n > back || memcmp(ids + back - k->n, k->ids, k->n * sizeof *ids) != 0)
            return false;
        back -= k->n;
        b--;
    }
    *whole = a == b;
    if (a == b)
        return front == n_ids;
    if (back < front + (b - a))
        return false; /* each word is one id at least */
    if (b - a == 1) {
        l[*n] = (learnt){w->word[a], calloc(back - front, sizeof *ids), back - front};
        memcpy(l[(*n)++].ids, ids + front, (back - front) * sizeof *ids);
    }
    return true;
}

static void check_split(const char *kind, const char *name) {
    cases c;
    char base[256];
    snprintf(base, sizeof base, MODELS "vocab/ggml-vocab-%s.gguf", name);
    if (!read_cases(base, &c)) {
        printf("skip: split tests of %s are not here (../shared is absent)\n", name);
        return;
    }
    words *w = calloc(c.n, sizeof *w);
    learnt l[1024];
    size_t n = 0, before, explained = 0;
    for (size_t i = 0; i < c.n; i++)
        cut_words(kind, c.text[i], c.len[i], &w[i]);
    do {
        before = n;
        explained = 0;
        for (size_t i = 0; i < c.n; i++) {
            bool whole = false;
            if (!study(&w[i], c.ids[i], c.n_ids[i], l, &n, &whole))
                fail_msg("%s: the words of text %zu ('%s') contradict its ids", kind, i, c.text[i]);
            explained += whole;
        }
    } while (n > before);
    printf("note: pre-tokenizer %s: %zu words learnt, %zu of %zu texts explained whole by words, no "
           "contradiction (its vocabulary is not obtainable here, ids are not checked)\n", kind, n,
           explained, c.n);
    assert_true(explained > c.n / 2);
    for (size_t i = 0; i < n; i++)
        free(l[i].ids);
    for (size_t i = 0; i < c.n; i++)
        for (size_t k = 0; k < w[i].n; k++)
            free(w[i].word[k]);
    free(w);
    free_cases(&c);
}

static void words_of_llama3_and_qwen2_agree_with_their_ids(void **state) {
    (void)state;
    check_split("llama-bpe", "llama-bpe");
    check_split("qwen2", "qwen2");
}

static void splits_as_the_expressions_say(void **state) {
    (void)state;
    static const struct {
        const char *kind, *text, *want; /* words joined by | */
    } of[] = {
        {"gpt-2", "Hello world's  end", "Hello| world|'s| | end"},
        {"gpt-2", "a1 22\n\n b", "a|1| 22|\n\n| b"},
        {"gpt-2", "it'S  ", "it|'|S|  "},
        {"llama3", "it'S 12345", "it|'S| |123|45"},
        {"llama3", "x  \n\n  y", "x|  \n\n| | y"},
        {"llama3", "a!!\n\nb (c)", "a|!!\n\n|b| (|c|)"},
        {"llama3", "\xc3\xa9t\xc3\xa9 \xe6\x97\xa5", "\xc3\xa9t\xc3\xa9| \xe6\x97\xa5"},
        {"qwen2", "in 2024", "in| |2|0|2|4"},
        {"qwen2", "\t\tif", "\t|\tif"},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        words w;
        char got[256] = "";
        cut_words(of[i].kind, of[i].text, strlen(of[i].text), &w);
        for (size_t k = 0; k < w.n; k++) {
            strcat(strcat(got, k > 0 ? "|" : ""), w.word[k]);
            free(w.word[k]);
        }
        assert_string_equal(got, of[i].want);
    }
    size_t *ends, n;
    kr_error e = {0};
    assert_int_equal(kr_tok_split("deepseek", "x", 1, &ends, &n, &e), KR_EINVAL);
}

/* What is encoded decodes to itself: SPM keeps any bytes, even invalid ones. */
static void any_bytes_survive_the_round_trip(void **state) {
    (void)state;
    vocab v;
    assert_true(open_vocab("tests/fixtures/models/synth-llama2-Q4_0.gguf", &v));
    unsigned s = 1;
    for (int rep = 0; rep < 200; rep++) {
        char text[64];
        size_t n = (size_t)rep % 60 + 1, n_ids = 0, len = 0;
        for (size_t i = 0; i < n; i++)
            text[i] = (char)((s = s * 1103515245 + 12345) >> 16);
        int32_t *ids = NULL;
        char *back = NULL;
        kr_error e = {0};
        must(kr_tok_encode(v.t, text, n, 0, &ids, &n_ids, &e), &e);
        must(kr_tok_decode(v.t, ids, n_ids, KR_TOK_TRIM, &back, &len, &e), &e);
        assert_int_equal(len, n);
        assert_memory_equal(back, text, n);
        free(ids);
        free(back);
    }
    int32_t bad = 269;
    char *text;
    size_t len;
    kr_error e = {0};
    assert_int_equal(kr_tok_decode(v.t, &bad, 1, 0, &text, &len, &e), KR_EINVAL);
    close_vocab(&v);
}

/* A long run without blanks must not take quadratic time. */
static void a_long_word_is_no_trap(void **state) {
    (void)state;
    vocab v;
    assert_true(open_vocab("tests/fixtures/models/synth-llama2-Q4_0.gguf", &v));
    size_t n = 200000, n_ids = 0;
    char *text = malloc(n);
    memset(text, 'a', n);
    int32_t *ids = NULL;
    kr_error e = {0};
    must(kr_tok_encode(v.t, text, n, 0, &ids, &n_ids, &e), &e);
    assert_true(n_ids > 1);
    free(ids);
    free(text);
    close_vocab(&v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vocabulary_vectors_of_llama_cpp),
        cmocka_unit_test(own_texts_plain_with_bos_special_and_back),
        cmocka_unit_test(words_of_llama3_and_qwen2_agree_with_their_ids),
        cmocka_unit_test(splits_as_the_expressions_say),
        cmocka_unit_test(any_bytes_survive_the_round_trip),
        cmocka_unit_test(a_long_word_is_no_trap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
