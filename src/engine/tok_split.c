#include "engine/tok_split.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unictype.h>
#include <unistr.h>

enum { OTHER, LETTER, NUMBER, SPACE };

static const kr_split splits[] = {
    {"gpt-2", "BPE gpt-2", 0, 0, 0, 0},      {"gpt2", "BPE gpt-2", 0, 0, 0, 0},
    {"llama3", "BPE llama3", 1, 3, 1, 1},    {"llama-v3", "BPE llama3", 1, 3, 1, 1},
    {"llama-bpe", "BPE llama3", 1, 3, 1, 1}, {"qwen2", "BPE qwen2", 1, 1, 0, 0},
};

const kr_split *kr_split_find(const char *name, size_t n) {
    for (size_t i = 0; i < sizeof splits / sizeof *splits; i++)
        if (strlen(splits[i].name) == n && memcmp(splits[i].name, name, n) == 0)
            return &splits[i];
    return NULL;
}

static uint8_t class_of(uint32_t cp) {
    if (uc_is_property_white_space(cp))
        return SPACE;
    if (uc_is_general_category_withtable(cp, UC_CATEGORY_MASK_L))
        return LETTER;
    if (uc_is_general_category_withtable(cp, UC_CATEGORY_MASK_N))
        return NUMBER;
    return OTHER;
}

int kr_points_read(const char *text, size_t n, kr_points *out) {
    kr_points p = {.cp = calloc(n + 1, sizeof *p.cp), .kind = malloc(n + 1),
                   .at = calloc(n + 1, sizeof *p.at)};
    if (p.cp == NULL || p.kind == NULL || p.at == NULL) {
        kr_points_free(&p);
        return -1;
    }
    size_t at = 0;
    while (at < n) {
        ucs4_t cp;
        int len = u8_mbtoucr(&cp, (const uint8_t *)text + at, n - at);
        if (len < 1) {
            cp = 0xfffd;
            len = 1;
        }
        p.cp[p.n] = cp;
        p.kind[p.n] = class_of(cp);
        p.at[p.n++] = at;
        at += (size_t)len;
    }
    p.at[p.n] = n;
    *out = p;
    return 0;
}

void kr_points_free(kr_points *p) {
    free(p->cp);
    free(p->kind);
    free(p->at);
    *p = (kr_points){0};
}

static size_t run(const kr_points *p, size_t i, uint8_t kind, size_t most) {
    size_t end = i;
    while (end < p->n && p->kind[end] == kind && end - i < most)
        end++;
    return end;
}

static bool is(const kr_points *p, size_t i, uint8_t kind) {
    return i < p->n && p->kind[i] == kind;
}

/* 's 't 're 've 'm 'll 'd; `fold`: also in capitals. Returns i when there is none. */
static size_t contraction(const kr_points *p, size_t i, bool fold) {
    static const char *const suffixes[] = {"s", "t", "re", "ve", "m", "ll", "d"};
    if (p->cp[i] != '\'')
        return i;
    for (size_t s = 0; s < sizeof suffixes / sizeof *suffixes; s++) {
        size_t k = 0, len = strlen(suffixes[s]);
        while (k < len && i + 1 + k < p->n) {
            uint32_t c = p->cp[i + 1 + k];
            if (fold && c >= 'A' && c <= 'Z')
                c += 'a' - 'A';
            if (c != (uint32_t)(unsigned char)suffixes[s][k])
                break;
            k++;
        }
        if (k == len)
            return i + 1 + len;
    }
    return i;
}

/* \s+(?!\S)|\s+ : of a run before a word, the last blank is left to the word. */
static size_t blanks(const kr_points *p, size_t i) {
    size_t end = run(p, i, SPACE, SIZE_MAX);
    return end < p->n && end - i > 1 ? end - 1 : end;
}

/* GPT-2 (Radford et al. 2019, released encoder):
 * 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ */
static size_t next_gpt2(const kr_points *p, size_t i) {
    size_t end = contraction(p, i, false);
    if (end > i)
        return end;
    size_t j = i + (p->cp[i] == ' ');
    if (j < p->n && p->kind[j] != SPACE)
        return run(p, j, p->kind[j], SIZE_MAX);
    return blanks(p, i);
}

static bool newline(uint32_t c) {
    return c == '\r' || c == '\n';
}

/* \s*[\r\n]+ : up to the last line break of the run of blanks; i when it has none. */
static size_t lines(const kr_points *p, size_t i) {
    size_t end = run(p, i, SPACE, SIZE_MAX);
    while (end > i && !newline(p->cp[end - 1]))
        end--;
    return end;
}

/* Llama 3 (its tokenizer.json), and with one digit Qwen 2:
 * (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|
 * \s*[\r\n]+|\s+(?!\S)|\s+ */
static size_t next_llama3(const kr_points *p, size_t i, size_t digits) {
    size_t end = contraction(p, i, true);
    if (end > i)
        return end;
    if (is(p, i, LETTER))
        return run(p, i, LETTER, SIZE_MAX);
    if (!newline(p->cp[i]) && p->kind[i] != NUMBER && is(p, i + 1, LETTER))
        return run(p, i + 1, LETTER, SIZE_MAX);
    if (p->kind[i] == NUMBER)
        return run(p, i, NUMBER, digits);
    size_t j = i + (p->cp[i] == ' ');
    if (is(p, j, OTHER)) {
        end = run(p, j, OTHER, SIZE_MAX);
        while (end < p->n && newline(p->cp[end]))
            end++;
        return end;
    }
    end = lines(p, i);
    return end > i ? end : blanks(p, i);
}

size_t kr_split_next(const kr_split *s, const kr_points *p, size_t i) {
    return s->llama3 ? next_llama3(p, i, s->digits) : next_gpt2(p, i);
}
