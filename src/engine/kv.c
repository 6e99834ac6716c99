#include "engine/kv.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool mul(size_t a, size_t b, size_t *out) {
    if (b != 0 && a > SIZE_MAX / b)
        return false;
    *out = a * b;
    return true;
}

/* Lays the heads out one after another; false when the sum wraps. */
static bool lay_out(kr_kv *kv, const size_t *caps, size_t cap) {
    for (size_t i = 0; i < kv->layers * kv->heads; i++) {
        size_t c = caps != NULL ? caps[i] : cap;
        if (c > UINT32_MAX || kv->rows > SIZE_MAX - c)
            return false;
        kv->head[i] = (kr_kv_head){kv->rows, 0, c};
        kv->rows += c;
    }
    return true;
}

static kr_status create(size_t layers, size_t heads, size_t dim, const size_t *caps, size_t cap,
                        kr_kv **out, kr_error *err) {
    size_t n, bytes = 0, floats;
    if (layers == 0 || heads == 0 || dim == 0 || !mul(layers, heads, &n))
        return kr_fail(err, KR_EINVAL, "a cache needs layers, heads and a head size");
    kr_kv *kv = calloc(1, sizeof *kv);
    if (kv != NULL) {
        *kv = (kr_kv){.layers = layers, .heads = heads, .dim = dim};
        kv->head = calloc(n, sizeof *kv->head);
    }
    if (kv == NULL || kv->head == NULL || !lay_out(kv, caps, cap) ||
        !mul(kv->rows, dim, &floats) || !mul(floats, sizeof(float), &bytes))
        goto fail;
    kv->pos = malloc(kv->rows * sizeof *kv->pos + 1);
    kv->k = malloc(bytes + 1);
    kv->v = malloc(bytes + 1);
    if (kv->pos == NULL || kv->k == NULL || kv->v == NULL)
        goto fail;
    *out = kv;
    return KR_OK;
fail:
    kr_kv_free(kv);
    return kr_fail(err, KR_ENOMEM, "out of memory for a cache of %zu layers, %zu heads and %zu "
                   "tokens", layers, heads, cap);
}

kr_status kr_kv_new(size_t layers, size_t heads, size_t dim, size_t cap, kr_kv **out,
                    kr_error *err) {
    return create(layers, heads, dim, NULL, cap, out, err);
}

kr_status kr_kv_new_ragged(size_t layers, size_t heads, size_t dim, const size_t *cap, kr_kv **out,
                           kr_error *err) {
    return create(layers, heads, dim, cap, 0, out, err);
}

void kr_kv_free(kr_kv *kv) {
    if (kv == NULL)
        return;
    free(kv->head);
    free(kv->from);
    free(kv->pos);
    free(kv->k);
    free(kv->v);
    free(kv);
}

kr_kv_head *kr_kv_at(const kr_kv *kv, size_t layer, size_t head) {
    return &kv->head[layer * kv->heads + head];
}

float *kr_kv_keys(const kr_kv *kv, const kr_kv_head *h) {
    return kv->k + h->offset * kv->dim;
}

float *kr_kv_values(const kr_kv *kv, const kr_kv_head *h) {
    return kv->v + h->offset * kv->dim;
}

int32_t *kr_kv_positions(const kr_kv *kv, const kr_kv_head *h) {
    return kv->pos + h->offset;
}

static kr_status check_keep(const kr_kv *full, const kr_kv_keep *keep, size_t i, kr_error *err) {
    if (keep->rows == NULL)
        return KR_OK;
    for (size_t j = 0; j < keep->n; j++)
        if (keep->rows[j] >= full->head[i].len ||
            (j > 0 && keep->rows[j] <= keep->rows[j - 1]))
            return kr_fail(err, KR_EINVAL, "kept rows of layer %zu, head %zu are not ascending "
                           "indices below %zu", i / full->heads, i % full->heads,
                           full->head[i].len);
    return KR_OK;
}

static void gather(const kr_kv *full, const kr_kv_keep *keep, kr_kv *kv, size_t i) {
    const kr_kv_head *from = &full->head[i];
    kr_kv_head *to = &kv->head[i];
    size_t d = kv->dim, n = keep->rows == NULL ? from->len : keep->n;
    for (size_t j = 0; j < n; j++) {
        size_t src = from->offset + (keep->rows == NULL ? j : keep->rows[j]), dst = to->offset + j;
        kv->pos[dst] = full->pos[src];
        memcpy(kv->k + dst * d, full->k + src * d, d * sizeof *kv->k);
        memcpy(kv->v + dst * d, full->v + src * d, d * sizeof *kv->v);
    }
    to->len = n;
}

kr_status kr_kv_select(const kr_kv *full, const kr_kv_keep *keep, size_t room, kr_kv **out,
                       kr_error *err) {
    size_t n = full->layers * full->heads;
    if (full->base != NULL)
        return kr_fail(err, KR_EINVAL, "a cache that borrows rows cannot be copied from");
    size_t *cap = calloc(n, sizeof *cap);
    if (cap == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for %zu heads", n);
    kr_status st = KR_OK;
    for (size_t i = 0; i < n && st == KR_OK; i++) {
        st = check_keep(full, &keep[i], i, err);
        cap[i] = (keep[i].rows == NULL ? full->head[i].len : keep[i].n) + room;
    }
    kr_kv *kv = NULL;
    if (st == KR_OK)
        st = kr_kv_new_ragged(full->layers, full->heads, full->dim, cap, &kv, err);
    free(cap);
    if (st != KR_OK)
        return st;
    for (size_t i = 0; i < n; i++)
        gather(full, &keep[i], kv, i);
    kv->next = full->next;
    *out = kv;
    return KR_OK;
}

kr_status kr_kv_share(const kr_kv *full, const kr_kv_keep *keep, size_t room, kr_kv **out,
                      kr_error *err) {
    size_t n = full->layers * full->heads;
    if (full->base != NULL)
        return kr_fail(err, KR_EINVAL, "a cache that borrows rows cannot lend them");
    for (size_t i = 0; i < n; i++) {
        kr_status st = check_keep(full, &keep[i], i, err);
        if (st != KR_OK)
            return st;
    }
    kr_kv *kv = NULL;
    kr_status st = kr_kv_new(full->layers, full->heads, full->dim, room, &kv, err);
    if (st != KR_OK)
        return st;
    kv->from = calloc(n, sizeof *kv->from);
    if (kv->from == NULL) {
        kr_kv_free(kv);
        return kr_fail(err, KR_ENOMEM, "out of memory for %zu heads", n);
    }
    for (size_t i = 0; i < n; i++)
        kv->from[i] = (kr_kv_keep){keep[i].rows,
                                   keep[i].rows == NULL ? full->head[i].len : keep[i].n};
    kv->base = full;
    kv->next = full->next;
    *out = kv;
    return KR_OK;
}

size_t kr_kv_borrowed(const kr_kv *kv, const kr_kv_head *h) {
    return kv->base == NULL ? 0 : kv->from[h - kv->head].n;
}

size_t kr_kv_room(const kr_kv *kv) {
    size_t room = SIZE_MAX;
    for (size_t i = 0; i < kv->layers * kv->heads; i++)
        if (kv->head[i].cap - kv->head[i].len < room)
            room = kv->head[i].cap - kv->head[i].len;
    return room;
}

void kr_kv_pop(kr_kv *kv, size_t n) {
    for (size_t i = 0; i < kv->layers * kv->heads; i++)
        kv->head[i].len -= n;
    kv->next -= (int32_t)n;
}

void kr_kv_clear(kr_kv *kv) {
    for (size_t i = 0; i < kv->layers * kv->heads; i++)
        kv->head[i].len = 0;
    kv->next = 0;
}

size_t kr_kv_bytes(const kr_kv *kv) {
    size_t rows = 0;
    for (size_t i = 0; i < kv->layers * kv->heads; i++)
        rows += kv->head[i].len + kr_kv_borrowed(kv, &kv->head[i]);
    return rows * (2 * kv->dim * sizeof(float) + sizeof(int32_t));
}
