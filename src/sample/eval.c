#include "sample/eval_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* ---- names ---- */

static const char *const protocols[] = {"query_aware", "query_agnostic"};
static const char *const firsts[] = {"step", "prefill"};
static const char *const phases[] = {"prefill", "score", "decode"};

const char *kr_protocol_name(kr_protocol p) {
    return protocols[p];
}

const char *kr_first_token_name(kr_first_token f) {
    return firsts[f];
}

const char *kr_answer_end_name(kr_answer_end end) {
    return end == KR_END_TOKEN ? "token" : "length";
}

const char *kr_phase_name(kr_phase p) {
    return phases[p];
}

bool kr_protocol_find(const char *name, kr_protocol *out) {
    for (int i = 0; i < 2; i++)
        if (strcmp(name, protocols[i]) == 0) {
            *out = (kr_protocol)i;
            return true;
        }
    return false;
}

bool kr_first_token_find(const char *name, kr_first_token *out) {
    for (int i = 0; i < 2; i++)
        if (strcmp(name, firsts[i]) == 0) {
            *out = (kr_first_token)i;
            return true;
        }
    return false;
}

/* ---- the evaluator ---- */

bool kr_eval_tick(kr_eval *e, kr_phase phase, size_t done, size_t total) {
    e->phase = phase;
    if (e->opt.progress != NULL && !e->opt.progress(e->opt.progress_arg, phase, done, total))
        e->canceled = true;
    return !e->canceled;
}

/* The engine reports what it has done of its own call; in decoding that is one step. */
static bool engine_progress(void *arg, size_t done, size_t total) {
    kr_eval *e = arg;
    if (e->phase != KR_PHASE_PREFILL)
        return !e->canceled;
    return kr_eval_tick(e, e->phase, done, total);
}

/* What all arms together want noted. */
static kr_status gather_needs(kr_eval *e, kr_error *err) {
    bool moments = false;
    for (size_t i = 0; i < e->opt.n_arms; i++) {
        const kr_evict_spec *s = &e->arm[i];
        size_t w = s->policy->window != NULL ? s->policy->window(&s->params) : 0;
        e->window = w > e->window ? w : e->window;
        e->needs |= s->policy->needs;
        if (!(s->policy->needs & KR_NEED_MOMENTS))
            continue;
        size_t sinks = kr_evict_protects(s);
        if (moments && sinks != e->sinks)
            return kr_fail(err, KR_EINVAL, "%s with %zu and with %zu sinks cannot be evaluated "
                           "together; use two runs", s->policy->name, e->sinks, sinks);
        e->sinks = sinks;
        moments = true;
    }
    return KR_OK;
}

kr_status kr_eval_new(const kr_model *m, const kr_eval_options *opt, kr_eval **out, kr_error *err) {
    kr_eval *e = calloc(1, sizeof *e);
    if (e == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for an evaluator");
    e->m = m;
    e->opt = *opt;
    e->arm = malloc((opt->n_arms + 1) * sizeof *e->arm);
    if (e->arm == NULL) {
        kr_eval_free(e);
        return kr_fail(err, KR_ENOMEM, "out of memory for %zu policies", opt->n_arms);
    }
    if (opt->n_arms > 0)
        memcpy(e->arm, opt->arm, opt->n_arms * sizeof *e->arm);
    e->opt.arm = e->arm;
    e->rows = opt->n_arms + 1 < KR_EVAL_ROWS ? opt->n_arms + 1 : KR_EVAL_ROWS;
    kr_run_options ro = {.threads = opt->threads, .batch = e->rows, .kern = opt->kern,
                         .progress = opt->progress != NULL ? engine_progress : NULL,
                         .progress_arg = e};
    kr_status st = gather_needs(e, err);
    if (st == KR_OK)
        st = kr_run_new(m, &ro, &e->run, err);
    if (st == KR_OK)
        *out = e;
    else
        kr_eval_free(e);
    return st;
}

void kr_eval_free(kr_eval *e) {
    if (e == NULL)
        return;
    kr_run_free(e->run);
    free(e->arm);
    free(e);
}

size_t kr_eval_threads(const kr_eval *e) {
    return kr_run_threads(e->run);
}

/* ---- prompts ---- */

static kr_status no_memory(kr_error *err, const char *what) {
    return kr_fail(err, KR_ENOMEM, "out of memory for %s", what);
}

/* Tokens, of n, whose text ends at or before `bytes` of the prompt's `len`. What decoding adds to
 * the text (a blank, a BOS) comes at its front. */
static kr_status tokens_within(const kr_tok *tok, const int32_t *ids, size_t n, size_t bytes,
                               size_t len, size_t *out, kr_error *err) {
    char *text;
    size_t all, sum = 0;
    kr_status st = kr_tok_decode(tok, ids, n, KR_TOK_SPECIAL, &text, &all, err);
    if (st != KR_OK)
        return st;
    free(text);
    size_t added = all > len ? all - len : 0, i = 0;
    for (; i < n; i++) {
        size_t one;
        st = kr_tok_decode(tok, ids + i, 1, KR_TOK_SPECIAL, &text, &one, err);
        if (st != KR_OK)
            return st;
        free(text);
        sum += one;
        if (sum > bytes + added)
            break;
    }
    *out = i;
    return KR_OK;
}

static char *whole_prompt(const kr_sample_request *q, size_t *len) {
    size_t a = strlen(q->context), b = strlen(q->question), c = strlen(q->prefix);
    char *s = malloc(a + b + c + 1);
    if (s == NULL)
        return NULL;
    memcpy(s, q->context, a);
    memcpy(s + a, q->question, b);
    memcpy(s + a + b, q->prefix, c + 1);
    *len = a + b + c;
    return s;
}

kr_status kr_sample_tokens(const kr_sample_request *q, const kr_tok *tok, int32_t **ids, size_t *n,
                            size_t *split, kr_error *err) {
    size_t len = 0, count = 0, within = 0;
    int32_t *t = NULL;
    if (tok == NULL)
        return kr_fail(err, KR_EINVAL, "the model has no tokenizer, so it cannot read text");
    char *text = whole_prompt(q, &len);
    if (text == NULL)
        return no_memory(err, "a prompt");
    kr_status st = len == 0 ? kr_fail(err, KR_EINVAL, "request %.80s: the prompt is empty", q->id)
                            : kr_tok_encode(tok, text, len, KR_TOK_ENDS | KR_TOK_SPECIAL, &t,
                                            &count, err);
    free(text);
    if (st != KR_OK)
        return st;
    if (count > 1 && t[0] == t[1] && t[0] == kr_tok_bos(tok))
        memmove(t, t + 1, --count * sizeof *t); /* the text brought its own */
    if (count > 1 && t[count - 1] == kr_tok_eos(tok))
        count--; /* a prompt is to be continued */
    st = tokens_within(tok, t, count, strlen(q->context), len, &within, err);
    if (st != KR_OK) {
        free(t);
        return st;
    }
    *ids = t;
    *n = count;
    *split = within;
    return KR_OK;
}

/* ---- one request ---- */

static void free_arm(kr_arm_result *a) {
    free(a->head_kept);
    free(a->head_mass);
    free(a->layer_error);
    free(a->position);
    free(a->token);
    free(a->text);
}

void kr_eval_result_free(kr_eval_result *r) {
    if (r == NULL)
        return;
    free_arm(&r->full);
    for (size_t i = 0; r->arm != NULL && i < r->n_arms; i++)
        free_arm(&r->arm[i]);
    free(r->arm);
    free(r->prompt);
    free(r);
}

kr_arm_result *kr_eval_lane(const kr_eval_work *w, size_t lane) {
    return lane == 0 ? &w->res->full : &w->res->arm[lane - 1];
}

static bool new_arm(const kr_eval_work *w, kr_arm_result *a) {
    size_t heads = w->res->layers * w->res->heads;
    a->utility = a->drop = (double)NAN;
    a->head_kept = calloc(heads, sizeof *a->head_kept);
    a->head_mass = calloc(heads, sizeof *a->head_mass);
    a->layer_error = calloc(w->res->layers, sizeof *a->layer_error);
    a->token = calloc(w->max_tokens, sizeof *a->token);
    if (a->head_kept == NULL || a->head_mass == NULL || a->layer_error == NULL || a->token == NULL)
        return false;
    for (size_t i = 0; i < heads; i++)
        a->head_mass[i] = NAN; /* until a step measures them */
    for (size_t i = 0; i < w->res->layers; i++)
        a->layer_error[i] = NAN;
    if (w->e->opt.positions)
        a->position = calloc(w->n + 1, sizeof *a->position);
    return !w->e->opt.positions || a->position != NULL;
}

static kr_status new_result(kr_eval_work *w, const int32_t *prompt, size_t n_prompt,
                            kr_error *err) {
    const kr_geometry *g = &w->e->m->geo;
    size_t arms = w->e->opt.n_arms;
    kr_eval_result *r = w->res = calloc(1, sizeof *r);
    if (r == NULL)
        return no_memory(err, "a result");
    *r = (kr_eval_result){.layers = g->layers, .heads = g->kv_heads, .n_prompt = n_prompt,
                          .n = w->n, .n_arms = arms};
    r->arm = calloc(arms + 1, sizeof *r->arm);
    r->prompt = malloc((n_prompt + 1) * sizeof *r->prompt);
    bool ok = r->arm != NULL && r->prompt != NULL && new_arm(w, &r->full);
    for (size_t i = 0; ok && i < arms; i++)
        ok = new_arm(w, &r->arm[i]);
    if (!ok)
        return no_memory(err, "a result");
    memcpy(r->prompt, prompt, n_prompt * sizeof *prompt);
    return KR_OK;
}

static float *floats(size_t a, size_t b) {
    return b != 0 && a > SIZE_MAX / sizeof(float) / b ? NULL : malloc(a * b * sizeof(float) + 1);
}

/* Everything but the lanes, before any work. */
static kr_status reserve(kr_eval_work *w, kr_error *err) {
    const kr_geometry *g = &w->e->m->geo;
    size_t lanes = w->e->opt.n_arms + 1, wide = g->layers * g->heads * g->head_dim;
    w->keep = calloc(lanes, sizeof *w->keep);
    w->lane = calloc(lanes, sizeof *w->lane);
    w->next = calloc(lanes, sizeof *w->next);
    w->done = calloc(lanes, sizeof *w->done);
    w->logits = floats(w->e->rows, g->vocab);
    w->full_logits = floats(1, g->vocab);
    w->query = floats(w->e->rows, wide);
    w->attention = floats(w->e->rows, wide);
    w->full_attention = floats(1, wide);
    w->mass = floats(g->layers * g->kv_heads + 1, w->n);
    if (w->e->opt.protocol == KR_QUERY_AWARE && w->e->opt.first_token == KR_FIRST_PREFILL)
        w->first = floats(1, g->vocab);
    if (w->keep == NULL || w->lane == NULL || w->next == NULL || w->done == NULL ||
        w->logits == NULL || w->full_logits == NULL || w->query == NULL || w->attention == NULL ||
        w->full_attention == NULL || w->mass == NULL || (w->rest == 0 && w->first == NULL))
        return no_memory(err, "an evaluation");
    return KR_OK;
}

static kr_status prefill(kr_eval_work *w, kr_error *err) {
    const kr_eval *e = w->e;
    const kr_geometry *g = &e->m->geo;
    double t = kr_clock();
    kr_status st = kr_kv_new(g->layers, g->kv_heads, g->head_dim, w->n, &w->full, err);
    if (st == KR_OK && (e->window > 0 || e->needs != 0) && w->n > 0)
        st = kr_taps_new(g, e->window < w->n ? e->window : w->n,
                         e->needs & KR_NEED_SUMS ? w->n : 0, (e->needs & KR_NEED_MOMENTS) != 0,
                         e->sinks, &w->taps, err);
    if (st == KR_OK && w->n > 0)
        st = kr_run_prefill(e->run, w->full, w->res->prompt, w->n, w->first, NULL, NULL, w->taps,
                            err);
    w->res->prefill_s = kr_clock() - t;
    w->res->bytes_cache = kr_kv_bytes(w->full != NULL ? w->full : &(kr_kv){0});
    if (w->taps != NULL) {
        size_t all = g->layers * g->heads, d = g->head_dim;
        w->res->bytes_taps = sizeof(float) * all *
                             (w->taps->window * d + w->taps->capacity +
                              (w->taps->outer != NULL ? d + d * d : 0));
    }
    return st;
}

static kr_status run(kr_eval_work *w, kr_error *err) {
    kr_eval *e = w->e;
    e->canceled = false;
    if (!kr_eval_tick(e, KR_PHASE_PREFILL, 0, w->n))
        return kr_fail(err, KR_ECANCELED, "canceled");
    kr_status st = reserve(w, err);
    if (st == KR_OK)
        st = prefill(w, err);
    double t = kr_clock();
    if (st == KR_OK)
        st = kr_eval_select(w, err);
    kr_taps_free(w->taps); /* decoding needs the room more */
    w->taps = NULL;
    double u = kr_clock();
    w->res->score_s = u - t;
    if (st == KR_OK)
        st = kr_eval_decode(w, err);
    w->res->decode_s = kr_clock() - u;
    return st;
}

static void release(kr_eval_work *w) {
    size_t lanes = w->e->opt.n_arms + 1;
    for (size_t i = 0; i < lanes; i++) {
        if (w->lane != NULL)
            kr_kv_free(w->lane[i]);
        if (w->keep != NULL && i + 1 < lanes)
            kr_keep_free(w->keep[i]);
    }
    kr_kv_free(w->full);
    kr_taps_free(w->taps);
    float *all[] = {w->first, w->logits, w->full_logits, w->query, w->attention,
                    w->full_attention, w->mass};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    free(w->keep);
    free(w->lane);
    free(w->next);
    free(w->done);
}

/* Tokens that are in the cache when entries are evicted. */
static kr_status cut_prompt(const kr_eval *e, size_t n, size_t split, size_t *kept,
                            kr_error *err) {
    if (e->opt.protocol == KR_QUERY_AWARE) {
        *kept = e->opt.first_token == KR_FIRST_STEP ? n - 1 : n;
        return KR_OK;
    }
    if (split == 0)
        return kr_fail(err, KR_EINVAL, "the context is empty, so there is nothing to evict");
    if (split == n)
        return kr_fail(err, KR_EINVAL, "query_agnostic needs a question after the context");
    *kept = split;
    return KR_OK;
}

kr_status kr_eval_tokens(kr_eval *e, const int32_t *prompt, size_t n, size_t split,
                         size_t max_tokens, uint64_t key, kr_eval_result **out, kr_error *err) {
    size_t context = e->opt.context > 0 ? e->opt.context : e->m->geo.context;
    kr_eval_work w = {.e = e, .key = key, .max_tokens = max_tokens};
    if (e->opt.max_tokens > 0)
        w.max_tokens = e->opt.max_tokens;
    if (n == 0 || w.max_tokens == 0)
        return kr_fail(err, KR_EINVAL, "an evaluation needs a prompt and a length of the answer");
    if (context > 0 && (n > context || w.max_tokens > context - n))
        return kr_fail(err, KR_EINVAL, "a prompt of %zu tokens and an answer of up to %zu are "
                       "beyond the context of %zu; --context %zu would extend it, beyond what the "
                       "model was trained on", n, w.max_tokens, context, n + w.max_tokens);
    kr_status st = cut_prompt(e, n, split, &w.n, err);
    if (st != KR_OK)
        return st;
    w.rest = n - w.n;
    st = new_result(&w, prompt, n, err);
    if (st == KR_OK)
        st = run(&w, err);
    release(&w);
    if (st == KR_OK)
        *out = w.res;
    else
        kr_eval_result_free(w.res);
    return st;
}

/* ---- texts and utilities ---- */

static kr_status spell(const kr_tok *tok, kr_arm_result *a, kr_error *err) {
    size_t n = a->n_tokens - (a->stop == KR_END_TOKEN ? 1 : 0);
    return kr_tok_decode(tok, a->token, n, KR_TOK_TRIM, &a->text, &a->text_len, err);
}

static kr_status judge(const kr_sample_request *q, const kr_tok *tok, kr_eval_result *r, kr_error *err) {
    kr_arena scratch = {0};
    kr_status st = KR_OK;
    for (size_t i = 0; i <= r->n_arms && st == KR_OK; i++) {
        kr_arm_result *a = i == 0 ? &r->full : &r->arm[i - 1];
        st = spell(tok, a, err);
        if (st != KR_OK)
            break;
        a->utility = kr_sample_score(q, a->text, a->text_len, &scratch, &a->why);
        a->drop = r->full.utility - a->utility;
    }
    kr_arena_free(&scratch);
    return st;
}

/* FNV-1a (Fowler, Noll, Vo): random choices depend on the request, not on its place in a file. */
static uint64_t key_of(const char *id) {
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *id != '\0'; id++)
        h = (h ^ (unsigned char)*id) * UINT64_C(0x100000001b3);
    return h;
}

kr_status kr_eval_request(kr_eval *e, const kr_sample_request *q, kr_eval_result **out, kr_error *err) {
    if (q->whole && e->opt.protocol == KR_QUERY_AGNOSTIC)
        return kr_fail(err, KR_EINVAL, "request %.80s is one prompt without parts, which "
                       "query_agnostic cannot cut; give context and question", q->id);
    if (*q->context == '\0' && e->opt.protocol == KR_QUERY_AGNOSTIC)
        return kr_fail(err, KR_EINVAL, "request %.80s: the context is empty, so there is nothing to "
                       "evict", q->id);
    int32_t *ids = NULL;
    size_t n, split;
    kr_eval_result *r = NULL;
    kr_status st = kr_sample_tokens(q, e->m->tok, &ids, &n, &split, err);
    if (st == KR_OK)
        st = kr_eval_tokens(e, ids, n, split, q->max_tokens, key_of(q->id), &r, err);
    free(ids);
    if (st == KR_OK)
        st = judge(q, e->m->tok, r, err);
    if (st == KR_OK)
        *out = r;
    else
        kr_eval_result_free(r);
    return st;
}
