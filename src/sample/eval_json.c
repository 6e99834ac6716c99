#include "sample/eval_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

bool kr_eval_event(const kr_arm_result *full, const kr_arm_result *arm, kr_dec tolerance) {
    int64_t t;
    if (!isfinite(full->utility) || !isfinite(arm->utility) || !kr_dec_nano(tolerance, &t))
        return true;
    return llround(full->utility * 1e9) - llround(arm->utility * 1e9) > t;
}

/* Float values to six digits: enough to draw, and the lines stay short. */
static void put_float(kr_buf *b, float x) {
    if (isfinite(x))
        kr_buf_printf(b, "%.6g", (double)x);
    else
        kr_buf_puts(b, "null");
}

static void put_spec(kr_buf *b, const kr_evict_spec *s) {
    char level[KR_DEC_TEXT + 1];
    static const char *const kinds[] = {"retention", "tokens", "threshold"};
    kr_buf text = {0};
    kr_evict_text(s, false, &text);
    kr_put_text(b, "policy", kr_buf_text(&text));
    kr_put_text(b, "method", s->policy->name);
    kr_put_text(b, "level", kr_evict_level_text(s->level, level));
    kr_put_text(b, "level_kind", kinds[s->level.kind]);
    kr_buf_free(&text);
}

static void put_params(kr_buf *b, const kr_evict_spec *s) {
    char text[KR_DEC_TEXT];
    kr_buf_puts(b, ",\"parameters\":{");
    for (size_t i = 0; i < s->policy->n_params; i++) {
        const kr_param *p = &s->policy->params[i];
        kr_buf_printf(b, "%s\"%s\":", i > 0 ? "," : "", p->name);
        if (p->kind == KR_PARAM_CHOICE)
            kr_json_put_string(b, p->choices[s->params.v[i].digits]);
        else
            kr_buf_puts(b, kr_dec_text(s->params.v[i], text));
    }
    kr_buf_puts(b, "}");
}

void kr_eval_json_start(const kr_eval_job *j, kr_buf *b) {
    const kr_eval_options *o = j->options;
    const kr_geometry *g = &j->model->geo;
    kr_buf_puts(b, "{\"event\":\"start\",\"version\":1");
    kr_put_text(b, "model", j->model_path);
    kr_put_text(b, "architecture", j->model->arch);
    kr_put_size(b, "layers", g->layers);
    kr_put_size(b, "heads", g->heads);
    kr_put_size(b, "kv_heads", g->kv_heads);
    kr_put_size(b, "head_dim", g->head_dim);
    kr_put_size(b, "requests", j->n);
    kr_put_text(b, "requests_file", j->requests_path);
    kr_put_text(b, "requests_sha256", j->requests->sha256);
    kr_put_text(b, "protocol", kr_protocol_name(o->protocol));
    kr_put_text(b, "first_token", kr_first_token_name(o->first_token));
    kr_put_text(b, "preset", j->preset);
    kr_put_size(b, "threads", j->threads);
    kr_put_dec(b, "tolerance", j->tolerance);
    kr_buf_puts(b, ",\"policies\":[");
    for (size_t i = 0; i < o->n_arms; i++) {
        kr_buf_puts(b, i > 0 ? ",{\"index\":" : "{\"index\":");
        kr_buf_printf(b, "%zu", i);
        put_spec(b, &o->arm[i]);
        put_params(b, &o->arm[i]);
        kr_buf_puts(b, "}");
    }
    kr_buf_puts(b, "]}\n");
}

static void open_event(const kr_eval_job *j, const char *event, const char *id, size_t at,
                       kr_buf *b) {
    kr_buf_printf(b, "{\"event\":\"%s\"", event);
    kr_put_text(b, "id", id);
    kr_put_size(b, "request", at);
    kr_put_size(b, "of", j->n);
}

void kr_eval_json_progress(const kr_eval_job *j, const char *id, size_t at, kr_phase phase,
                           size_t done, size_t total, kr_buf *b) {
    open_event(j, "progress", id, at, b);
    kr_put_text(b, "phase", kr_phase_name(phase));
    kr_put_size(b, "done", done);
    kr_put_size(b, "total", total);
    kr_buf_puts(b, "}\n");
}

void kr_eval_json_error(const kr_eval_job *j, const char *id, size_t at, const char *message,
                        kr_buf *b) {
    open_event(j, "error", id, at, b);
    kr_put_text(b, "message", message);
    kr_buf_puts(b, "}\n");
}

void kr_eval_json_end(size_t requests, size_t failed, double seconds, size_t peak, kr_buf *b) {
    kr_buf_puts(b, "{\"event\":\"end\"");
    kr_put_size(b, "requests", requests);
    kr_put_size(b, "failed", failed);
    kr_put_double(b, "seconds", round(seconds * 1e3) / 1e3);
    kr_put_size(b, "peak_bytes", peak);
    kr_buf_puts(b, "}\n");
}

/* ---- one request ---- */

static void put_answer(kr_buf *b, const kr_arm_result *a) {
    kr_put_text(b, "answer", a->text);
    kr_buf_puts(b, ",\"tokens\":[");
    for (size_t i = 0; i < a->n_tokens; i++)
        kr_buf_printf(b, "%s%d", i > 0 ? "," : "", (int)a->token[i]);
    kr_buf_puts(b, "]");
    kr_put_double(b, "utility", a->utility);
    kr_put_text(b, "why", a->why);
    kr_put_text(b, "stop", kr_answer_end_name(a->stop));
    kr_put_size(b, "bytes", a->bytes);
}

static void put_flags(kr_buf *b, unsigned flags) {
    static const struct {
        unsigned bit;
        const char *name;
    } names[] = {{KR_BYPASS_SHORT, "BYPASS_SHORT"},
                 {KR_WINDOW_TRUNC, "WINDOW_TRUNC"},
                 {KR_FALLBACK_UNIFORM, "FALLBACK_UNIFORM"}};
    bool any = false;
    kr_buf_puts(b, ",\"flags\":[");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (flags & names[i].bit) {
            kr_buf_printf(b, "%s\"%s\"", any ? "," : "", names[i].name);
            any = true;
        }
    kr_buf_puts(b, "]");
}

static void put_heads(kr_buf *b, const kr_eval_result *r, const kr_arm_result *a) {
    kr_buf_puts(b, ",\"heads_kept\":[");
    for (size_t i = 0; i < r->layers * r->heads; i++)
        kr_buf_printf(b, "%s%zu%s", i % r->heads == 0 ? (i > 0 ? ",[" : "[") : ",",
                      a->head_kept[i], (i + 1) % r->heads == 0 ? "]" : "");
    kr_buf_puts(b, "],\"heads_mass\":[");
    for (size_t i = 0; i < r->layers * r->heads; i++) {
        kr_buf_puts(b, i % r->heads == 0 ? (i > 0 ? ",[" : "[") : ",");
        put_float(b, a->head_mass[i]);
        kr_buf_puts(b, (i + 1) % r->heads == 0 ? "]" : "");
    }
    kr_buf_puts(b, "],\"layer_error\":[");
    for (size_t l = 0; l < r->layers; l++) {
        kr_buf_puts(b, l > 0 ? "," : "");
        put_float(b, a->layer_error[l]);
    }
    kr_buf_puts(b, "]");
}

static void put_full(const kr_eval_job *j, const kr_sample_request *q, size_t at,
                     const kr_eval_result *r, kr_buf *b) {
    open_event(j, "full", q->id, at, b);
    kr_put_text(b, "task", q->task);
    kr_put_size(b, "prompt_tokens", r->n_prompt);
    kr_put_size(b, "n", r->n);
    put_answer(b, &r->full);
    kr_put_double(b, "prefill_s", round(r->prefill_s * 1e6) / 1e6);
    kr_put_double(b, "score_s", round(r->score_s * 1e6) / 1e6);
    kr_put_double(b, "decode_s", round(r->decode_s * 1e6) / 1e6);
    kr_put_size(b, "steps", r->steps);
    kr_buf_puts(b, "}\n");
}

static void put_event(const kr_eval_job *j, const kr_eval_result *r, const kr_arm_result *a,
                      kr_buf *b) {
    if (isfinite(a->drop))
        kr_put_bool(b, "event_at_tolerance", kr_eval_event(&r->full, a, j->tolerance));
    else
        kr_put_null(b, "event_at_tolerance");
}

static void put_arm(const kr_eval_job *j, const kr_sample_request *q, size_t at,
                    const kr_eval_result *r, size_t arm, kr_buf *b) {
    const kr_arm_result *a = &r->arm[arm];
    open_event(j, "result", q->id, at, b);
    kr_put_text(b, "task", q->task);
    kr_put_size(b, "index", arm);
    put_spec(b, &j->options->arm[arm]);
    put_answer(b, a);
    kr_put_double(b, "full_utility", r->full.utility);
    kr_put_double(b, "drop", a->drop);
    put_event(j, r, a, b);
    kr_put_double(b, "retained", a->rho_ctx);
    kr_put_double(b, "retained_end", a->rho_end);
    kr_put_size(b, "kept", a->kept);
    put_flags(b, a->flags);
    if (a->parted) {
        kr_put_size(b, "parted", a->parted_at);
        kr_put_double(b, "full_margin", (double)a->full_margin);
        kr_put_double(b, "margin", (double)a->margin);
    } else {
        kr_buf_puts(b, ",\"parted\":null,\"full_margin\":null,\"margin\":null");
    }
    put_heads(b, r, a);
    if (a->position != NULL) {
        kr_buf_puts(b, ",\"positions\":[");
        for (size_t i = 0; i < r->n; i++)
            kr_buf_printf(b, "%s%u", i > 0 ? "," : "", (unsigned)a->position[i]);
        kr_buf_puts(b, "]");
    }
    kr_buf_puts(b, "}\n");
}

static void put_prompt(const kr_eval_job *j, const kr_sample_request *q, size_t at,
                       const kr_eval_result *r, kr_buf *b) {
    open_event(j, "prompt", q->id, at, b);
    kr_buf_puts(b, ",\"pieces\":[");
    for (size_t i = 0; i < r->n_prompt; i++) {
        char *text = NULL;
        size_t len;
        kr_buf_puts(b, i > 0 ? "," : "");
        if (kr_tok_decode(j->model->tok, &r->prompt[i], 1, KR_TOK_SPECIAL, &text, &len, NULL) !=
            KR_OK)
            b->failed = true;
        else
            kr_json_put_string(b, text);
        free(text);
    }
    kr_buf_puts(b, "]}\n");
}

void kr_eval_json_result(const kr_eval_job *j, const kr_sample_request *q, size_t at,
                         const kr_eval_result *r, kr_buf *b) {
    if (j->detail)
        put_prompt(j, q, at, r, b);
    put_full(j, q, at, r, b);
    for (size_t i = 0; i < r->n_arms; i++)
        put_arm(j, q, at, r, i, b);
}
