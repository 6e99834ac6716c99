/* Whatever is done to a certificate is noticed: every member changed, retyped, taken out, put in. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger/certificate.h"

static char dir[] = "/tmp/kvrisk-verify-XXXXXX", file[64], edited[64];
static kr_study study;
static size_t tried;

/* 80 requests; method x fails at its third candidate, y now and then. */
static void write_file(void) {
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    fputs("{\"kvrisk\":1,\"kind\":\"calibration\",\"utility\":{\"min\":0,\"max\":1},\"tasks\":[\"a\",\"b\"],"
          "\"policies\":[{\"method\":\"x\",\"retention\":0.8},{\"method\":\"x\",\"retention\":0.6},"
          "{\"method\":\"x\",\"retention\":0.4},{\"method\":\"y\",\"threshold\":0.1},"
          "{\"method\":\"y\",\"threshold\":0.2}]}\n", f);
    for (int i = 0; i < 80; i++)
        fprintf(f, "{\"id\":\"r%d\",\"task\":\"%s\",\"full\":1,\"utility\":[1,1,%d,1,%s],"
                   "\"retained\":[0.8,0.6,0.4,0.7,%g]}\n",
                i, i % 2 ? "b" : "a", i % 5 != 0, i % 40 == 0 ? "0.5" : "1", 0.5 + i / 1000.0);
    fclose(f);
}

static cJSON *confirm(int64_t lock) {
    kr_confirmation *c;
    kr_error e;
    kr_buf b = {0};
    cJSON *doc;
    assert_int_equal(kr_study_confirm(&study, lock, &c, &e), KR_OK);
    kr_confirmation_json(c, &b);
    assert_int_equal(kr_certificate_parse(b.s, b.len, "c", &doc, &e), KR_OK);
    kr_buf_free(&b);
    kr_confirmation_free(c);
    return doc;
}

static kr_status verify(const cJSON *doc, kr_error *e) {
    char *text = cJSON_PrintUnformatted(doc);
    FILE *f = fopen(edited, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    cJSON_free(text);
    return kr_study_verify(&study, edited, NULL, e);
}

static void must_fail(const cJSON *doc, const char *path, const char *what) {
    kr_error e;
    tried++;
    if (verify(doc, &e) == KR_EFORMAT)
        return;
    print_error("%s: %s passed\n", path, what);
    fail();
}

static bool is_free(const char *path) {
    return strcmp(path, ".input") == 0 || strcmp(path, ".kvrisk_version") == 0 ||
           strcmp(path, ".ledger.rerun") == 0;
}

static void change_value(cJSON *doc, cJSON *item, const char *path) {
    kr_error e;
    if (cJSON_IsNumber(item)) {
        double v = item->valuedouble, to[] = {v + 1, v * (1 + 1e-11) + 1e-15};
        for (size_t i = 0; i < sizeof to / sizeof *to; i++) {
            item->valuedouble = to[i];
            must_fail(doc, path, "another number");
        }
        item->valuedouble = v;
    } else if (cJSON_IsString(item)) {
        char *v = item->valuestring, longer[2048];
        snprintf(longer, sizeof longer, "%sx", v);
        char *to[] = {longer, (char[]){"LOCKED"}, (char[]){"certified"}};
        for (size_t i = 0; i < sizeof to / sizeof *to; i++) {
            item->valuestring = to[i];
            if (is_free(path))
                assert_int_equal(verify(doc, &e), KR_OK);
            else if (strcmp(v, to[i]) != 0)
                must_fail(doc, path, "another text");
        }
        item->valuestring = v;
    } else if (cJSON_IsBool(item)) {
        item->type ^= cJSON_True | cJSON_False;
        if (is_free(path))
            assert_int_equal(verify(doc, &e), KR_OK);
        else
            must_fail(doc, path, "the other truth");
        item->type ^= cJSON_True | cJSON_False;
    }
}

static void change_type(cJSON *doc, cJSON *item, const char *path) {
    static const int types[] = {cJSON_NULL, cJSON_Object};
    int type = item->type;
    cJSON *child = item->child;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i] != type) {
            item->type = types[i];
            item->child = NULL;
            must_fail(doc, path, "another type");
            item->type = type;
            item->child = child;
        }
}

/* Where a member is: places from the top. */
typedef struct {
    int at[8];
    int depth;
    char name[256];
} place;

static cJSON *go(cJSON *doc, const place *p) {
    for (int i = 0; i < p->depth; i++)
        doc = cJSON_GetArrayItem(doc, p->at[i]);
    return doc;
}

static void put_in(const cJSON *doc, const place *p) {
    cJSON *copy = cJSON_Duplicate(doc, true), *item = go(copy, p);
    if (cJSON_IsObject(item))
        cJSON_AddItemToObject(item, "zz", cJSON_CreateNumber(1));
    else
        cJSON_AddItemToArray(item, cJSON_CreateNumber(1));
    must_fail(copy, p->name, "something put in");
    cJSON_Delete(copy);
}

static void take_out(const cJSON *doc, const place *p) {
    cJSON *copy = cJSON_Duplicate(doc, true), *item = go(copy, p);
    place above = *p;
    above.depth--;
    cJSON_Delete(cJSON_DetachItemViaPointer(go(copy, &above), item));
    must_fail(copy, p->name, "taken out");
    cJSON_Delete(copy);
}

static void edit(cJSON *doc, const place *p) {
    cJSON *item = go(doc, p);
    if (p->depth > 0) {
        change_value(doc, item, p->name);
        change_type(doc, item, p->name);
        take_out(doc, p);
    }
    if (!cJSON_IsObject(item) && !cJSON_IsArray(item))
        return;
    put_in(doc, p);
    for (int i = 0; i < cJSON_GetArraySize(item); i++) {
        place below = *p;
        const char *name = cJSON_GetArrayItem(item, i)->string;
        below.at[below.depth++] = i;
        snprintf(below.name, sizeof below.name, "%.200s.%.40s", p->name, name != NULL ? name : "");
        edit(doc, &below);
    }
}

static void every_edit_is_noticed(void **state) {
    (void)state;
    kr_error e;
    for (int64_t lock = 2; lock <= 3; lock++) {
        cJSON *doc = confirm(lock);
        assert_int_equal(verify(doc, &e), KR_OK);
        edit(doc, &(place){.depth = 0});
        assert_int_equal(verify(doc, &e), KR_OK); /* it is whole again */
        cJSON_Delete(doc);
    }
    print_message("%zu edits refused\n", tried);
    assert_true(tried > 1000);
}

/* The certificate alone: p-values, verdicts and decision against counts. */
static void decisions_follow_from_counts(void **state) {
    (void)state;
    static const struct {
        const char *of, *member;
        double to;
    } wrong[] = {{"candidates", "events", 3}, {"candidates", "p_value", 0.01}, {NULL, "events", 1},
                 {NULL, "retention", 0.4},    {NULL, "level", 1e-9},           {NULL, "level", 2}};
    kr_error e;
    cJSON *doc = confirm(2);
    assert_int_equal(kr_certificate_recount(doc, "c", &e), KR_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cJSON *copy = cJSON_Duplicate(doc, true), *at = cJSON_GetObjectItemCaseSensitive(copy, "point");
        if (wrong[i].of != NULL)
            at = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(at, wrong[i].of), 1);
        cJSON_SetNumberValue(cJSON_GetObjectItemCaseSensitive(at, wrong[i].member), wrong[i].to);
        assert_int_equal(kr_certificate_recount(copy, "c", &e), KR_EFORMAT);
        cJSON_Delete(copy);
    }
    cJSON_Delete(doc);
}

static void setup(void) {
    kr_error e;
    kr_ledger_entry start = {.budget = kr_dec_make(4, 1), .seed = 1};
    kr_contract k = {kr_dec_make(1, 1), kr_dec_make(5, 2), kr_dec_make(95, 2)};
    kr_ledger_entry locks[] = {
        {.contract = k, .method = "x", .looks = 2, .n_sizes = 2, .size = {80, 160}},
        {.contract = k, .method = "y", .looks = 1, .n_tolerances = 2,
         .tolerance = {kr_dec_make(1, 1), kr_dec_make(6, 1)}},
        {.contract = k, .family = true, .looks = 1},
    };
    write_file();
    assert_int_equal(kr_study_open(file, &study, &e), KR_OK);
    assert_int_equal(kr_study_start(&study, &start, &e), KR_OK);
    for (size_t i = 0; i < sizeof locks / sizeof *locks; i++)
        assert_int_equal(kr_study_lock(&study, &locks[i], &e), KR_OK);
    kr_confirmation *c;
    assert_int_equal(kr_study_confirm(&study, 2, &c, &e), KR_OK);
    kr_confirmation_free(c);
}

static int group_setup(void **state) {
    (void)state;
    setup();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decisions_follow_from_counts),
        cmocka_unit_test(every_edit_is_noticed),
    };
    char command[64];
    if (mkdtemp(dir) == NULL || setenv("XDG_STATE_HOME", dir, 1) != 0)
        return 1;
    snprintf(file, sizeof file, "%s/f.jsonl", dir);
    snprintf(edited, sizeof edited, "%s/e.json", dir);
    int r = cmocka_run_group_tests(tests, group_setup, NULL);
    kr_study_close(&study);
    snprintf(command, sizeof command, "rm -r %s", dir);
    return system(command) != 0 ? 1 : r;
}
