/* The paired evaluation: same rows in any order and company, nothing left over, full retention in
 * the bytes of no policy, and what cannot be evaluated is said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../engine/genmodel.h"
#include "base/file.h"
#include "sample/eval_json.h"
#include "sample/tasks.h"

#define MINI "data/samples/mini-llama.gguf"

static void must(kr_status st, const kr_error *e) {
    if (st != KR_OK)
        fail_msg("%s", e->msg);
}

static kr_model *tiny(size_t kv_heads) {
    char path[64];
    kr_error e;
    kr_model *m = NULL;
    gen_model g = {"llama", 2, 64, 8, kv_heads, 96, 64, 256, KR_QUANT_F32, false, 5};
    snprintf(path, sizeof path, "/tmp/kvrisk-test-%ld.gguf", (long)getpid());
    assert_true(gen_write(&g, path));
    must(kr_model_open(path, &m, &e), &e);
    unlink(path);
    return m;
}

/* Every registered policy at three levels each, with windows that fit short prompts. */
static size_t every_policy(kr_evict_spec *arm) {
    size_t n = 0;
    kr_error e;
    for (const kr_evictor *const *p = kr_evictors(); *p != NULL; p++)
        for (int i = 0; i < 3; i++) {
            static const char *const levels[2][3] = {{"0.8", "0.5", "0.2"}, {"0.01", "0.1", "0.3"}};
            char text[80];
            bool window = (*p)->n_params > 0 && strcmp((*p)->params[0].name, "window") == 0;
            snprintf(text, sizeof text, "%s:%s%s", (*p)->name,
                     (*p)->score == NULL ? "1" : levels[(*p)->threshold][i],
                     window ? ",window=8" : "");
            must(kr_evict_parse(text, NULL, &arm[n++], &e), &e);
        }
    return n;
}

static void fill(int32_t *t, size_t n, size_t vocab, uint64_t seed) {
    seed = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
    for (size_t i = 0; i < n; i++)
        t[i] = (int32_t)(gen_next(&seed) % vocab);
}

static kr_eval_result *run(const kr_model *m, kr_eval_options o, const kr_evict_spec *arm,
                           size_t n_arms, const int32_t *t, size_t n, size_t split) {
    kr_error e;
    kr_eval *ev;
    kr_eval_result *r = NULL;
    o.arm = arm;
    o.n_arms = n_arms;
    must(kr_eval_new(m, &o, &ev, &e), &e);
    must(kr_eval_tokens(ev, t, n, split, 12, 3, &r, &e), &e);
    kr_eval_free(ev);
    return r;
}

static void same_arm(const kr_eval_result *r, const kr_arm_result *a, const kr_arm_result *b) {
    assert_int_equal(a->n_tokens, b->n_tokens);
    assert_memory_equal(a->token, b->token, a->n_tokens * sizeof *a->token);
    assert_int_equal(a->kept, b->kept);
    assert_int_equal(a->flags, b->flags);
    assert_true(a->rho_end <= b->rho_end && a->rho_end >= b->rho_end);
    assert_memory_equal(a->head_kept, b->head_kept, r->layers * r->heads * sizeof *a->head_kept);
    assert_memory_equal(a->head_mass, b->head_mass, r->layers * r->heads * sizeof *a->head_mass);
    assert_memory_equal(a->layer_error, b->layer_error, r->layers * sizeof *a->layer_error);
    assert_int_equal(a->parted, b->parted);
    assert_int_equal(a->parted_at, b->parted_at);
    assert_memory_equal(&a->margin, &b->margin, sizeof a->margin);
    assert_memory_equal(&a->full_margin, &b->full_margin, sizeof a->margin);
}

static void order_and_company_of_policies_do_not_matter(void **state) {
    (void)state;
    enum { N = 90 };
    kr_evict_spec arm[64], turned[64];
    size_t n = every_policy(arm);
    kr_model *m = tiny(4);
    int32_t t[N];
    fill(t, N, m->geo.vocab, 1);
    for (int protocol = 0; protocol < 2; protocol++) {
        kr_eval_options o = {.protocol = (kr_protocol)protocol, .threads = 1};
        kr_eval_result *all = run(m, o, arm, n, t, N, 70);
        for (size_t i = 0; i < n; i++)
            turned[i] = arm[(i * 7 + 3) % n]; /* 7 and n have no common divisor */
        assert_int_equal(n % 7 != 0, 1);
        o.threads = 3;
        kr_eval_result *other = run(m, o, turned, n, t, N, 70);
        for (size_t i = 0; i < n; i++)
            same_arm(all, &other->arm[i], &all->arm[(i * 7 + 3) % n]);
        same_arm(all, &other->full, &all->full);
        for (size_t i = 0; i < n; i += 5) {
            kr_eval_result *alone = run(m, o, &arm[i], 1, t, N, 70);
            same_arm(all, &alone->arm[0], &all->arm[i]);
            kr_eval_result_free(alone);
        }
        kr_eval_result_free(all);
        kr_eval_result_free(other);
    }
    kr_model_close(m);
}

static void more_arms_than_a_step_has_rows(void **state) {
    (void)state;
    enum { N = 60, MANY = 150 };
    static kr_evict_spec arm[MANY];
    kr_evict_spec some[64];
    size_t n = every_policy(some);
    for (size_t i = 0; i < MANY; i++)
        arm[i] = some[i % n];
    kr_model *m = tiny(8);
    int32_t t[N];
    fill(t, N, m->geo.vocab, 2);
    kr_eval_result *r = run(m, (kr_eval_options){.threads = 2}, arm, MANY, t, N, 0);
    for (size_t i = n; i < MANY; i++)
        same_arm(r, &r->arm[i], &r->arm[i % n]);
    /* In small groups, to save memory. */
    kr_eval_result *s = run(m, (kr_eval_options){.threads = 2, .lane_bytes = 1}, arm, MANY, t, N, 0);
    assert_true(s->steps > 10 * r->steps && s->bytes_lanes < r->bytes_lanes / 10);
    for (size_t i = 0; i < MANY; i++)
        same_arm(r, &r->arm[i], &s->arm[i]);
    same_arm(r, &r->full, &s->full);
    kr_eval_result_free(s);
    kr_eval_result_free(r);
    kr_model_close(m);
}

static void order_of_requests_does_not_matter(void **state) {
    (void)state;
    enum { REQUESTS = 4, N = 80 };
    kr_evict_spec arm[64];
    size_t n = every_policy(arm);
    kr_model *m = tiny(2);
    kr_error e;
    kr_eval *ev;
    kr_eval_result *first[REQUESTS], *r;
    int32_t t[REQUESTS][N];
    must(kr_eval_new(m, &(kr_eval_options){.arm = arm, .n_arms = n, .threads = 2}, &ev, &e), &e);
    for (size_t i = 0; i < REQUESTS; i++)
        fill(t[i], N, m->geo.vocab, 10 + i);
    for (size_t i = 0; i < REQUESTS; i++)
        must(kr_eval_tokens(ev, t[i], N - 9 * i, 0, 10, i, &first[i], &e), &e);
    for (size_t i = REQUESTS; i-- > 0;) {
        must(kr_eval_tokens(ev, t[i], N - 9 * i, 0, 10, i, &r, &e), &e);
        same_arm(r, &r->full, &first[i]->full);
        for (size_t a = 0; a < n; a++)
            same_arm(r, &r->arm[a], &first[i]->arm[a]);
        kr_eval_result_free(r);
    }
    for (size_t i = 0; i < REQUESTS; i++)
        kr_eval_result_free(first[i]);
    kr_eval_free(ev);
    kr_model_close(m);
}

/* An arm at retention 1 is full KV, and both are what generating without any policy gives. */
static void full_retention_is_no_policy(void **state) {
    (void)state;
    enum { N = 90, TOKENS = 12 };
    kr_error e;
    kr_model *m = tiny(4);
    kr_evict_spec arm[32];
    size_t n = 0;
    int32_t t[N], plain[TOKENS];
    char text[80];
    fill(t, N, m->geo.vocab, 4);
    for (const kr_evictor *const *p = kr_evictors(); *p != NULL; p++) {
        if ((*p)->threshold)
            continue;
        snprintf(text, sizeof text, "%s:1", (*p)->name);
        must(kr_evict_parse(text, NULL, &arm[n++], &e), &e);
    }
    kr_eval_result *r = run(m, (kr_eval_options){.threads = 2, .ignore_stops = true}, arm, n, t, N, 0);
    for (size_t i = 0; i < n; i++) {
        same_arm(r, &r->arm[i], &r->full);
        assert_int_equal(r->arm[i].bytes, r->full.bytes);
        assert_false(r->arm[i].parted);
        for (size_t l = 0; l < r->layers; l++)
            assert_true(r->arm[i].layer_error[l] == 0.0f); /* the same bytes, not just near */
    }
    kr_run *run_;
    kr_kv *kv;
    float *logits = calloc(m->geo.vocab, sizeof *logits);
    must(kr_run_new(m, &(kr_run_options){.threads = 1}, &run_, &e), &e);
    must(kr_kv_new(m->geo.layers, m->geo.kv_heads, m->geo.head_dim, N + TOKENS, &kv, &e), &e);
    must(kr_run_prefill(run_, kv, t, N - 1, NULL, NULL, NULL, NULL, &e), &e);
    int32_t next = t[N - 1];
    for (size_t i = 0; i < TOKENS; i++) {
        must(kr_run_step(run_, 1, &kv, &next, logits, NULL, &e), &e);
        plain[i] = next = kr_run_argmax(logits, m->geo.vocab);
    }
    assert_memory_equal(plain, r->full.token, sizeof plain);
    free(logits);
    kr_kv_free(kv);
    kr_run_free(run_);
    kr_eval_result_free(r);
    kr_model_close(m);
}

static void the_first_token_can_come_from_the_prompt(void **state) {
    (void)state;
    enum { N = 64 };
    kr_evict_spec arm[64];
    size_t n = every_policy(arm);
    kr_model *m = tiny(8);
    int32_t t[N];
    fill(t, N, m->geo.vocab, 6);
    kr_eval_options o = {.first_token = KR_FIRST_PREFILL, .threads = 1};
    kr_eval_result *r = run(m, o, arm, n, t, N, 0);
    kr_eval_result *s = run(m, (kr_eval_options){.threads = 1}, arm, n, t, N, 0);
    assert_int_equal(r->n, N);
    assert_int_equal(s->n, N - 1);
    assert_int_equal(r->full.token[0], s->full.token[0]);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(r->arm[i].token[0], r->full.token[0]); /* whatever was evicted */
        assert_true(isfinite(r->arm[i].layer_error[1]));
    }
    kr_eval_result_free(r);
    kr_eval_result_free(s);
    o.max_tokens = 1; /* no step at all: nothing was measured, and nothing says 0 */
    r = run(m, o, arm, n, t, N, 0);
    assert_true(isnan(r->arm[3].layer_error[0]));
    assert_true(isnan(r->arm[3].head_mass[0]));
    kr_eval_result_free(r);
    kr_model_close(m);
}

static void short_prompts_are_evaluated_and_flagged(void **state) {
    (void)state;
    kr_evict_spec arm[2];
    kr_error e;
    kr_model *m = tiny(4);
    int32_t t[40];
    fill(t, 40, m->geo.vocab, 8);
    must(kr_evict_parse("snapkv:0.5", NULL, &arm[0], &e), &e);
    must(kr_evict_parse("streaming_llm:1e-9", NULL, &arm[1], &e), &e);
    for (size_t n = 1; n <= 34; n += n < 3 ? 1 : 31) {
        kr_eval_result *r = run(m, (kr_eval_options){.threads = 1}, arm, 2, t, n, 0);
        assert_int_equal(r->n, n - 1);
        if (n - 1 <= 32) {
            assert_int_equal(r->arm[0].flags, KR_BYPASS_SHORT);
            assert_false(r->arm[0].parted);
        }
        assert_int_equal(r->arm[0].n_tokens, r->full.n_tokens);
        if (n > 6)
            assert_int_equal(r->arm[1].kept, 2 * 4); /* one entry per head */
        kr_eval_result_free(r);
    }
    kr_model_close(m);
}

static void what_cannot_be_evaluated_is_said(void **state) {
    (void)state;
    kr_evict_spec arm[2];
    kr_error e = {KR_OK, ""};
    kr_eval *ev;
    kr_eval_result *r = NULL;
    kr_model *m = tiny(4);
    int32_t t[300];
    fill(t, 300, m->geo.vocab, 9);
    must(kr_evict_parse("knorm:0.5", NULL, &arm[0], &e), &e);
    kr_eval_options o = {.arm = arm, .n_arms = 1, .threads = 1, .protocol = KR_QUERY_AGNOSTIC};
    must(kr_eval_new(m, &o, &ev, &e), &e);
    assert_int_equal(kr_eval_tokens(ev, t, 20, 0, 4, 0, &r, &e), KR_EINVAL);
    assert_non_null(strstr(e.msg, "context is empty"));
    assert_int_equal(kr_eval_tokens(ev, t, 20, 20, 4, 0, &r, &e), KR_EINVAL);
    assert_non_null(strstr(e.msg, "needs a question"));
    assert_int_equal(kr_eval_tokens(ev, t, 250, 200, 7, 0, &r, &e), KR_EINVAL);
    assert_non_null(strstr(e.msg, "beyond the context of 256"));
    assert_int_equal(kr_eval_tokens(ev, t, 0, 0, 7, 0, &r, &e), KR_EINVAL);
    t[3] = 64;
    assert_int_equal(kr_eval_tokens(ev, t, 20, 10, 4, 0, &r, &e), KR_EINVAL);
    assert_non_null(strstr(e.msg, "outside the vocabulary"));
    kr_eval_free(ev);
    must(kr_evict_parse("expected_attention:0.5,sinks=2", NULL, &arm[0], &e), &e);
    must(kr_evict_parse("expected_attention:0.5", NULL, &arm[1], &e), &e);
    o.n_arms = 2;
    assert_int_equal(kr_eval_new(m, &o, &ev, &e), KR_EINVAL);
    assert_non_null(strstr(e.msg, "two runs"));
    kr_model_close(m);
}

static void damaged_weights_are_an_error_of_the_request(void **state) {
    (void)state;
    enum { N = 60 };
    kr_evict_spec arm[64];
    size_t n = every_policy(arm);
    kr_error e = {KR_OK, ""};
    kr_model *m = tiny(4);
    int32_t t[N];
    fill(t, N, m->geo.vocab, 12);
    float *weights = calloc(m->layer[1].k.rows * m->layer[1].k.cols, sizeof *weights);
    kr_mat *k = &m->layer[1].k;
    memcpy(weights, k->data, k->rows * k->row_bytes);
    weights[5] = NAN;
    k->data = (const uint8_t *)weights;
    for (size_t i = 0; i < n; i++) {
        kr_eval *ev;
        kr_eval_result *r = NULL;
        must(kr_eval_new(m, &(kr_eval_options){.arm = &arm[i], .n_arms = 1, .threads = 1}, &ev, &e),
             &e);
        assert_int_equal(kr_eval_tokens(ev, t, N, 0, 4, 0, &r, &e), KR_ENUM);
        assert_non_null(strstr(e.msg, "damaged"));
        kr_eval_free(ev);
    }
    kr_model_close(m);
    free(weights);
}

static bool stop_at_decode(void *arg, kr_phase phase, size_t done, size_t total) {
    (void)total;
    return !(phase == *(kr_phase *)arg && done > 0);
}

static void a_cancelled_evaluation_can_be_followed_by_another(void **state) {
    (void)state;
    kr_evict_spec arm[64];
    size_t n = every_policy(arm);
    kr_error e;
    kr_eval *ev;
    kr_eval_result *r = NULL;
    kr_model *m = tiny(4);
    int32_t t[50];
    fill(t, 50, m->geo.vocab, 13);
    for (int phase = KR_PHASE_SCORE; phase <= KR_PHASE_DECODE; phase++) {
        kr_phase at = (kr_phase)phase;
        kr_eval_options o = {.arm = arm, .n_arms = n, .threads = 2, .progress = stop_at_decode,
                             .progress_arg = &at};
        must(kr_eval_new(m, &o, &ev, &e), &e);
        assert_int_equal(kr_eval_tokens(ev, t, 50, 0, 4, 0, &r, &e), KR_ECANCELED);
        at = KR_PHASE_PREFILL;
        must(kr_eval_tokens(ev, t, 2, 0, 4, 0, &r, &e), &e);
        kr_eval_result_free(r);
        kr_eval_free(ev);
    }
    kr_model_close(m);
}

/* ---- with the trained model ---- */

static kr_sample_requests *draw(kr_task_family f, size_t n, size_t length) {
    kr_error e;
    kr_words *w = NULL;
    kr_buf b = {0};
    kr_sample_requests *q = NULL;
    char path[64];
    snprintf(path, sizeof path, "/tmp/kvrisk-test-%ld.jsonl", (long)getpid());
    must(kr_words_new(&w, &e), &e);
    kr_task_set set = {.seed = 77, .length = length};
    for (size_t i = 0; i < n; i++)
        must(kr_task_line(w, &set, KR_DRAW_TEST, f, i, &b, &e), &e);
    must(kr_file_write(path, b.s, b.len, true, &e), &e);
    must(kr_sample_requests_read(path, &q, &e), &e);
    unlink(path);
    kr_buf_free(&b);
    kr_words_free(w);
    return q;
}

/* The needle stands in the newest part of the context; only filler at the front is evicted. An
 * answer lost here would be a fault of the mechanism, not of the policy. */
static void a_needle_that_is_kept_is_found(void **state) {
    (void)state;
    enum { ASKED = 40 };
    if (access(MINI, R_OK) != 0) {
        printf("skip: %s is not there\n", MINI);
        skip();
    }
    kr_error e;
    kr_model *m = NULL;
    kr_eval *ev;
    kr_evict_spec arm[3];
    static const char *const arms[] = {"streaming_llm:0.9", "streaming_llm:0.5", "snapkv:0.9"};
    size_t late = 0, full = 0, found[3] = {0};
    must(kr_model_open(MINI, &m, &e), &e);
    for (size_t i = 0; i < 3; i++)
        must(kr_evict_parse(arms[i], NULL, &arm[i], &e), &e);
    kr_sample_requests *q = draw(KR_TASK_SINGLE, 4 * ASKED, 300);
    must(kr_eval_new(m, &(kr_eval_options){.arm = arm, .n_arms = 3, .threads = 2}, &ev, &e), &e);
    for (size_t i = 0; i < q->n && late < ASKED; i++) {
        const char *needle = strstr(q->item[i].context, q->item[i].answers->first->s);
        size_t at = (size_t)(needle - q->item[i].context), len = strlen(q->item[i].context);
        if (needle == NULL || at < len * 6 / 10)
            continue;
        kr_eval_result *r;
        late++;
        must(kr_eval_request(ev, &q->item[i], &r, &e), &e);
        full += r->full.utility >= 1;
        for (size_t a = 0; a < 3; a++)
            found[a] += r->arm[a].utility >= 1;
        kr_eval_result_free(r);
    }
    printf("note: needle in the last 40 %% of %zu contexts: full KV finds %zu, streaming_llm:0.9 "
           "%zu, streaming_llm:0.5 %zu, snapkv:0.9 %zu\n", late, full, found[0], found[1],
           found[2]);
    assert_true(full * 10 >= late * 9);
    assert_true(found[0] * 10 >= full * 9);
    kr_sample_requests_free(q);
    kr_eval_free(ev);
    kr_model_close(m);
}

static void protocols_cut_the_prompt_where_they_say(void **state) {
    (void)state;
    if (access(MINI, R_OK) != 0) {
        printf("skip: %s is not there\n", MINI);
        skip();
    }
    kr_error e;
    kr_model *m = NULL;
    must(kr_model_open(MINI, &m, &e), &e);
    kr_sample_requests *q = draw(KR_TASK_LOOKUP, 3, 300);
    for (size_t i = 0; i < q->n; i++) {
        int32_t *ids;
        size_t n, split, len;
        char *text, want[4096];
        must(kr_sample_tokens(&q->item[i], m->tok, &ids, &n, &split, &e), &e);
        must(kr_tok_decode(m->tok, ids + 1, split - 1, KR_TOK_TRIM, &text, &len, &e), &e);
        assert_int_equal(ids[0], kr_tok_bos(m->tok));
        assert_string_equal(text, q->item[i].context);
        free(text);
        must(kr_tok_decode(m->tok, ids + split, n - split, 0, &text, &len, &e), &e);
        snprintf(want, sizeof want, "%s%s", q->item[i].question, q->item[i].prefix);
        assert_string_equal(text, want);
        free(text);
        free(ids);
    }
    kr_sample_requests_free(q);
    kr_model_close(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_and_company_of_policies_do_not_matter),
        cmocka_unit_test(more_arms_than_a_step_has_rows),
        cmocka_unit_test(order_of_requests_does_not_matter),
        cmocka_unit_test(full_retention_is_no_policy),
        cmocka_unit_test(the_first_token_can_come_from_the_prompt),
        cmocka_unit_test(short_prompts_are_evaluated_and_flagged),
        cmocka_unit_test(what_cannot_be_evaluated_is_said),
        cmocka_unit_test(damaged_weights_are_an_error_of_the_request),
        cmocka_unit_test(a_cancelled_evaluation_can_be_followed_by_another),
        cmocka_unit_test(a_needle_that_is_kept_is_found),
        cmocka_unit_test(protocols_cut_the_prompt_where_they_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
