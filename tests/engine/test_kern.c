#include "help.h"

#include <math.h>

#include "engine/kern.h"
#include "genmodel.h"

static const kr_quant types[] = {KR_QUANT_F32,  KR_QUANT_F16,  KR_QUANT_BF16, KR_QUANT_Q8_0,
                                 KR_QUANT_Q4_0, KR_QUANT_Q4_1, KR_QUANT_Q5_0, KR_QUANT_Q5_1,
                                 KR_QUANT_Q4_K, KR_QUANT_Q5_K, KR_QUANT_Q6_K};
enum { N_TYPES = sizeof types / sizeof *types };

static size_t kernels(const kr_kern *out[2]) {
    out[0] = kr_kern_portable();
    out[1] = kr_kern_avx2();
    return out[1] != NULL ? 2 : 1;
}

/* Raw blocks and the floats that ggml makes of them. */
static void expands_as_ggml_does(void **state) {
    (void)state;
    cJSON *j = slurp_json(MODELS "ref/dequant_golden.json");
    if (j == NULL) {
        printf("skip: ggml's dequantisation vectors are not here (../shared is absent)\n");
        return;
    }
    const kr_kern *k[2];
    size_t n_kern = kernels(k), values = 0, cases = 0;
    const cJSON *c;
    cJSON_ArrayForEach(c, cJSON_GetObjectItemCaseSensitive(j, "cases")) {
        size_t len, n = (size_t)cJSON_GetObjectItemCaseSensitive(c, "n")->valueint;
        char *raw = unhex(cJSON_GetObjectItemCaseSensitive(c, "raw_hex")->valuestring, &len);
        kr_quant type = (kr_quant)cJSON_GetObjectItemCaseSensitive(c, "ggml_type")->valueint;
        float *out = calloc(n, sizeof *out);
        for (size_t q = 0; q < n_kern; q++) {
            k[q]->expand(type, (const uint8_t *)raw, n, out);
            size_t i = 0;
            const cJSON *v;
            cJSON_ArrayForEach(v, cJSON_GetObjectItemCaseSensitive(c, "values")) {
                float want = cJSON_IsNumber(v) ? (float)v->valuedouble : NAN;
                if (cJSON_IsNumber(v) && memcmp(&want, &out[i], 4) != 0)
                    fail_msg("type %d element %zu: %.9g, expected %.9g", (int)type, i,
                             (double)out[i], (double)want);
                i++;
            }
            assert_int_equal(i, n);
        }
        values += n;
        cases++;
        free(raw);
        free(out);
    }
    cJSON_Delete(j);
    printf("note: dequantisation: %zu values in %zu cases equal to ggml's bit for bit\n", values,
           cases);
    assert_true(cases >= 10);
}

static void every_half_expands_exactly(void **state) {
    (void)state;
    const kr_kern *k[2];
    size_t n_kern = kernels(k);
    for (unsigned h = 0; h < 65536; h += 32) {
        uint8_t src[64];
        float out[32];
        for (unsigned i = 0; i < 32; i++) {
            src[2 * i] = (uint8_t)(h + i);
            src[2 * i + 1] = (uint8_t)((h + i) >> 8);
        }
        for (size_t q = 0; q < n_kern; q++) {
            k[q]->expand(KR_QUANT_F16, src, 32, out);
            for (unsigned i = 0; i < 32; i++) {
                unsigned e = (h + i) >> 10 & 31, m = (h + i) & 1023;
                double v = e == 0 ? ldexp(m, -24) : ldexp(m + 1024.0, (int)e - 25);
                if (e == 31)
                    v = m == 0 ? INFINITY : NAN;
                if ((h + i) & 0x8000)
                    v = -v;
                assert_true(isnan(v) ? isnan(out[i]) : (double)out[i] == v);
                assert_true(isnan(v) || !signbit(v) == !signbit(out[i]));
            }
        }
    }
}

/* Any bytes at all: the vector code and the plain code agree on every bit. */
static void all_kernels_expand_to_the_same_bits(void **state) {
    (void)state;
    const kr_kern *k = kr_kern_avx2();
    if (k == NULL) {
        printf("skip: no AVX2 here\n");
        return;
    }
    uint64_t s = 3;
    for (size_t t = 0; t < N_TYPES; t++) {
        const kr_quant_info *info = kr_quant_describe(types[t]);
        size_t n = info->block == 1 ? 2048 + 13 : 2048;
        uint8_t *raw = malloc(n / info->block * info->bytes + 1);
        float *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b);
        for (int rep = 0; rep < 50; rep++) {
            for (size_t i = 0; i < n / info->block * info->bytes + 1; i++)
                raw[i] = (uint8_t)(gen_next(&s) >> 40);
            kr_quant_expand(types[t], raw + 1, n, a);
            k->expand(types[t], raw + 1, n, b);
            for (size_t i = 0; i < n; i++)
                assert_true((isnan(a[i]) && isnan(b[i])) || memcmp(&a[i], &b[i], 4) == 0);
        }
        free(raw);
        free(a);
        free(b);
    }
}

enum { ROWS = 11, VECS = 8 };

/* Rows of w times vectors, each alone and in batches of every size: the same bytes, and close to
 * sums in double. */
static void check_dots(const kr_kern *k, kr_quant type, size_t cols) {
    const kr_quant_info *info = kr_quant_describe(type);
    size_t ld = (cols + 7) / 8 * 8 + 8, row_bytes = cols / info->block * info->bytes;
    uint8_t *raw = malloc(ROWS * row_bytes);
    float *x = calloc(VECS * ld, sizeof *x), *w = malloc(cols * sizeof *w);
    float *scratch = malloc(KR_KERN_ROWS * ld * sizeof *scratch);
    float alone[VECS][ROWS], out[VECS][ROWS];
    uint64_t s = cols;
    for (size_t i = 0; i < ROWS * row_bytes / info->bytes; i++)
        gen_block(type, 1, &s, raw + i * info->bytes);
    for (size_t j = 0; j < VECS; j++)
        for (size_t c = 0; c < cols; c++)
            x[j * ld + c] = gen_unit(&s);
    kr_mat m = {raw, type, ROWS, cols, row_bytes};
    for (size_t j = 0; j < VECS; j++)
        k->dots(&m, 0, ROWS, x + j * ld, ld, 1, alone[j], ROWS, scratch);
    for (size_t n = 1; n <= VECS; n++)
        for (size_t cut = 0; cut <= ROWS; cut += 3) {
            k->dots(&m, 0, cut, x, ld, n, out[0], ROWS, scratch);
            k->dots(&m, cut, ROWS, x, ld, n, out[0], ROWS, scratch);
            assert_memory_equal(out, alone, n * sizeof out[0]);
        }
    for (size_t i = 0; i < ROWS; i++) {
        kr_quant_expand(type, raw + i * row_bytes, cols, w);
        for (size_t j = 0; j < VECS; j++) {
            double sum = 0, size = 0;
            for (size_t c = 0; c < cols; c++) {
                sum += (double)w[c] * (double)x[j * ld + c];
                size += fabs((double)w[c] * (double)x[j * ld + c]);
            }
            assert_true(fabs((double)alone[j][i] - sum) <= 1e-6 * size + 1e-30);
        }
    }
    free(raw);
    free(x);
    free(w);
    free(scratch);
}

static void a_dot_product_does_not_depend_on_its_company(void **state) {
    (void)state;
    const kr_kern *k[2];
    size_t n = kernels(k);
    for (size_t q = 0; q < n; q++)
        for (size_t t = 0; t < N_TYPES; t++) {
            bool plain = kr_quant_describe(types[t])->block == 1;
            const size_t cols[] = {256, 1024, plain ? 172 : 512, plain ? 5 : 768};
            for (size_t c = 0; c < 4; c++)
                check_dots(k[q], types[t], cols[c]);
        }
}

static void exponentials_are_accurate(void **state) {
    (void)state;
    const kr_kern *k[2];
    size_t n_kern = kernels(k);
    for (size_t q = 0; q < n_kern; q++) {
        double worst = 0;
        for (size_t n = 1; n < 40; n++) {
            float s[40];
            for (size_t i = 0; i < n; i++)
                s[i] = -86.0f * (float)i / (float)n + 3.0f;
            float sum = k[q]->exp_sum(s, n, 3.5f);
            double want = 0;
            for (size_t i = 0; i < n; i++) {
                float arg = -86.0f * (float)i / (float)n + 3.0f - 3.5f;
                double e = exp((double)arg);
                worst = fmax(worst, fabs((double)s[i] - e) / e);
                want += e;
            }
            assert_true(fabs((double)sum - want) < 1e-6 * want);
        }
        assert_true(worst < 3e-7);
        float odd[3] = {-INFINITY, NAN, -200};
        k[q]->exp_sum(odd, 3, 0);
        assert_true(odd[0] == 0 && isnan(odd[1]) && odd[2] < 1e-37f);
    }
}

static void mixing_and_gating_match_double(void **state) {
    (void)state;
    const kr_kern *k[2];
    size_t n_kern = kernels(k);
    uint64_t s = 8;
    static const size_t dims[] = {8, 32, 48, 64, 10, 128, 3};
    for (size_t q = 0; q < n_kern; q++)
        for (size_t t = 0; t < sizeof dims / sizeof *dims; t++) {
            size_t d = dims[t], n = 37;
            float v[37 * 128], p[37], o[128], g[128], u[128];
            double want[128], gate[128];
            for (size_t i = 0; i < n * d; i++)
                v[i] = gen_unit(&s);
            for (size_t i = 0; i < n; i++)
                p[i] = gen_unit(&s);
            for (size_t c = 0; c < d; c++) {
                o[c] = gen_unit(&s);
                g[c] = 9 * gen_unit(&s);
                u[c] = gen_unit(&s);
                gate[c] = (double)g[c] / (1 + exp(-(double)g[c])) * (double)u[c];
                want[c] = 0.25 * (double)o[c];
                for (size_t i = 0; i < n; i++)
                    want[c] += (double)p[i] * (double)v[i * d + c];
            }
            k[q]->mix(p, v, n, d, 0.25f, o);
            k[q]->swiglu(g, u, d);
            for (size_t c = 0; c < d; c++) {
                assert_true(fabs((double)o[c] - want[c]) < 1e-5);
                assert_true(fabs((double)g[c] - gate[c]) < 1e-5);
            }
            float m[5] = {-3, 2, 1, -8, 0};
            assert_true(k[q]->max(m, 5) == 2.0f && k[q]->max(m, 1) == -3.0f);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expands_as_ggml_does),
        cmocka_unit_test(every_half_expands_exactly),
        cmocka_unit_test(all_kernels_expand_to_the_same_bits),
        cmocka_unit_test(a_dot_product_does_not_depend_on_its_company),
        cmocka_unit_test(exponentials_are_accurate),
        cmocka_unit_test(mixing_and_gating_match_double),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
