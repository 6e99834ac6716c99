#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 16 };

struct kr_arena_block {
    struct kr_arena_block *next;
    size_t used, size;
    alignas(max_align_t) char data[];
};

static struct kr_arena_block *block_new(size_t size) {
    if (size > SIZE_MAX - sizeof(struct kr_arena_block))
        return NULL;
    struct kr_arena_block *b = malloc(sizeof *b + size);
    if (b != NULL) {
        b->next = NULL;
        b->used = 0;
        b->size = size;
    }
    return b;
}

void *kr_arena_alloc(kr_arena *a, size_t n) {
    const size_t align = alignof(max_align_t);
    if (n > SIZE_MAX - align) {
        a->failed = true;
        return NULL;
    }
    n = (n + align - 1) / align * align;
    if (a->head == NULL || a->head->size - a->head->used < n) {
        struct kr_arena_block *b = block_new(n > BLOCK ? n : BLOCK);
        if (b == NULL) {
            a->failed = true;
            return NULL;
        }
        b->next = a->head;
        a->head = b;
    }
    void *p = a->head->data + a->head->used;
    a->head->used += n;
    return p;
}

char *kr_arena_copy(kr_arena *a, const char *s, size_t len) {
    char *p = len == SIZE_MAX ? NULL : kr_arena_alloc(a, len + 1);
    if (p == NULL)
        return NULL;
    if (len > 0)
        memcpy(p, s, len);
    p[len] = '\0';
    return p;
}

void kr_arena_reset(kr_arena *a) {
    struct kr_arena_block *keep = NULL;
    for (struct kr_arena_block *b = a->head, *next; b != NULL; b = next) {
        next = b->next;
        if (keep == NULL && b->size == BLOCK)
            keep = b;
        else
            free(b);
    }
    if (keep != NULL) {
        keep->next = NULL;
        keep->used = 0;
    }
    a->head = keep;
    a->failed = false;
}

void kr_arena_free(kr_arena *a) {
    for (struct kr_arena_block *b = a->head, *next; b != NULL; b = next) {
        next = b->next;
        free(b);
    }
    a->head = NULL;
    a->failed = false;
}
