/* kv.h - the key/value cache: for each layer and KV head its own list of entries.
 *
 * A head's entries lie together: `len` rows of `dim` floats for keys (after the rotary embedding
 * of their own position) and for values, and the position each row had in the text, ascending.
 * Heads may hold different entries; a full cache is the case in which all hold all. Positions are
 * kept apart from lengths: the next token always gets `next`, however few rows are stored.
 *
 * A cache may also borrow rows of another one by index (kr_kv_share): many selections of one prompt
 * then cost their index lists and their own new rows. To attention the borrowed rows come first and
 * the own rows after them, in the same bytes as if they had been copied. */
#ifndef KR_ENGINE_KV_H
#define KR_ENGINE_KV_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct {
    size_t offset; /* first row of this head in pos, k and v */
    size_t len;    /* rows in use */
    size_t cap;    /* rows reserved */
} kr_kv_head;

/* Rows to keep of one head: indices into its rows, strictly ascending, below its len. */
typedef struct {
    const uint32_t *rows; /* NULL: all */
    size_t n;             /* ignored when rows is NULL */
} kr_kv_keep;

typedef struct kr_kv {
    size_t layers, heads, dim;
    size_t rows;      /* sum of cap */
    kr_kv_head *head; /* [layers][heads] */
    int32_t *pos;     /* [rows] */
    float *k, *v;     /* [rows][dim] */
    int32_t next;     /* position of the next token */
    const struct kr_kv *base; /* cache that rows are borrowed from, or NULL */
    kr_kv_keep *from;         /* [layers][heads] those rows, n always set; NULL without base */
} kr_kv;

/* An empty cache with room for `cap` rows in every head. Memory that is never written costs
 * nothing but address space. The caller frees *out. */
kr_status kr_kv_new(size_t layers, size_t heads, size_t dim, size_t cap, kr_kv **out,
                    kr_error *err);

/* The same with cap[layers][heads]. */
kr_status kr_kv_new_ragged(size_t layers, size_t heads, size_t dim, const size_t *cap, kr_kv **out,
                           kr_error *err);

/* A compressed copy: head i holds the rows keep[i] of `full`, with room for `room` more; `next` is
 * that of `full`. keep is [layers][heads]. KR_EINVAL when a list is not as kr_kv_keep says. */
kr_status kr_kv_select(const kr_kv *full, const kr_kv_keep *keep, size_t room, kr_kv **out,
                       kr_error *err);

/* As kr_kv_select, but the rows stay in `full`: it and the lists must outlive *out, and `full` must
 * not change meanwhile. The result takes single tokens (kr_run_step), not prompts. */
kr_status kr_kv_share(const kr_kv *full, const kr_kv_keep *keep, size_t room, kr_kv **out,
                      kr_error *err);

void kr_kv_free(kr_kv *kv); /* NULL is allowed */

/* Rows that a head borrows; 0 without base. */
size_t kr_kv_borrowed(const kr_kv *kv, const kr_kv_head *h);

kr_kv_head *kr_kv_at(const kr_kv *kv, size_t layer, size_t head);
float *kr_kv_keys(const kr_kv *kv, const kr_kv_head *h);   /* [cap][dim] */
float *kr_kv_values(const kr_kv *kv, const kr_kv_head *h); /* [cap][dim] */
int32_t *kr_kv_positions(const kr_kv *kv, const kr_kv_head *h);

/* Rows that every head can still take. */
size_t kr_kv_room(const kr_kv *kv);

/* Forgets the newest n entries of every head and steps `next` back; n at most the least len. */
void kr_kv_pop(kr_kv *kv, size_t n);
void kr_kv_clear(kr_kv *kv);

/* Bytes of the rows in use, borrowed ones included: keys, values and positions. */
size_t kr_kv_bytes(const kr_kv *kv);

#endif
