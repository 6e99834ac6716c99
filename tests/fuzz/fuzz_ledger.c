/* Ledgers, what the state directory holds of them, and certificates. The first byte says which. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/certificate.h"
#include "ledger/rowfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use_ledger(kr_ledger *l) {
    kr_study s = {.ledger = *l};
    kr_study_budget b = kr_study_budget_of(&s);
    if (b.left.digits < 0 || b.spent.digits < 0)
        abort();
    kr_ledger_free(l);
}

static void read_ledger(const char *text, size_t len) {
    kr_ledger l;
    kr_error e;
    if (kr_ledger_parse(text, len, "f", &l, &e) == KR_OK)
        use_ledger(&l);
}

/* Each line gets the hash before it and its own, so that what is behind them is reached. */
static void read_chain(const char *text, size_t len) {
    static const char prev[] = "\"prev\":\"";
    kr_buf all = {0};
    char hash[KR_SHA256_HEX] = "";
    for (size_t at = 0; at < len;) {
        const char *nl = memchr(text + at, '\n', len - at);
        size_t n = nl != NULL ? (size_t)(nl - text) - at : len - at;
        kr_buf line = {0};
        char *copy = strndup(text + at, n), *p = copy != NULL ? strstr(copy, prev) : NULL;
        if (p != NULL) {
            p += sizeof prev - 1;
            kr_buf_add(&line, copy, (size_t)(p - copy));
            kr_buf_puts(&line, hash);
            kr_buf_puts(&line, p + strcspn(p, "\""));
            kr_sha256(kr_buf_text(&line), line.len, hash, NULL);
            kr_buf_printf(&all, "%s,\"hash\":\"%s\"}\n", kr_buf_text(&line), hash);
        }
        kr_buf_free(&line);
        free(copy);
        at += n + 1;
    }
    read_ledger(kr_buf_text(&all), all.len);
    kr_buf_free(&all);
}

static void count(void *ctx, kr_print_kind kind, uint64_t value) {
    uint64_t *sum = ctx;
    sum[kind] += value;
}

static void read_rows(const char *data, size_t len) {
    uint64_t sum[KR_PRINTS] = {0};
    kr_error e;
    FILE *f = len > 0 ? fmemopen((void *)(uintptr_t)data, len, "r") : NULL;
    if (f == NULL)
        return;
    kr_rowfile_scan(f, "f", count, sum, &e);
    fclose(f);
}

static void read_certificate(const char *text, size_t len) {
    cJSON *doc;
    kr_error e;
    if (kr_certificate_parse(text, len, "f", &doc, &e) != KR_OK)
        return;
    kr_certificate_recount(doc, "f", &e);
    cJSON_Delete(doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *text = (const char *)data + 1;
    kr_known k;
    kr_error e;
    if (size < 1)
        return 0;
    switch (data[0]) {
    case 'c': read_chain(text, size - 1); break;
    case 'r': read_rows(text, size - 1); break;
    case 'h': kr_known_parse(text, size - 1, "f", &k, &e); break;
    case 'j': read_certificate(text, size - 1); break;
    default: read_ledger(text, size - 1);
    }
    return 0;
}
