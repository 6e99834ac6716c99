#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ui/model.h"
#include "verdict/grid.h"

/* Steps of the keys, exact: digits x 10^-scale. `fine` holds at and below (confidence: at and
 * above)
 * `turn`. The tolerance's are shares of the utility range. */
typedef struct {
    const char *name;
    double lo, hi, strip_lo, strip_hi, step, fine, turn;
} field_row;

static const field_row rows[KR_FIELDS] = {
    {"tolerance", 0, 1, 0, 0.5, 0.01, 0.01, 0},
    {"risk", 0.001, 0.5, 0.005, 0.2, 0.005, 0.001, 0.01},
    {"confidence", 0.5, 0.999, 0.5, 0.999, 0.005, 0.001, 0.99},
};

static double span(const kr_app *a) {
    const kr_calib_meta *m = kr_calib_meta_of(a->calib);
    double s = (double)(m->utility_max - m->utility_min) / (double)KR_NANO;
    return m->kind == KR_KIND_COUNTS || !(s > 0) ? 1 : s;
}

static double scale_of(const kr_app *a, kr_field f) {
    return f == KR_FIELD_TOLERANCE ? span(a) : 1;
}

const char *kr_field_name(kr_field f) { return rows[f].name; }

kr_dec kr_field_get(const kr_app *a, kr_field f) {
    kr_contract c = kr_analysis_contract(a->an);
    return f == KR_FIELD_TOLERANCE ? c.tolerance : f == KR_FIELD_RISK ? c.risk : c.confidence;
}

kr_contract kr_field_with(kr_contract c, kr_field f, kr_dec v) {
    if (f == KR_FIELD_TOLERANCE)
        c.tolerance = v;
    else if (f == KR_FIELD_RISK)
        c.risk = v;
    else
        c.confidence = v;
    return c;
}

void kr_value_text(kr_field f, kr_dec v, char out[40]) {
    char buf[KR_DEC_TEXT];
    if (f == KR_FIELD_TOLERANCE)
        snprintf(out, 40, "%s", kr_dec_fixed(v, 3, buf));
    else
        snprintf(out, 40, "%s %%", kr_dec_percent(v, 1, buf));
}

void kr_field_text(const kr_app *a, kr_field f, char out[40]) {
    kr_value_text(f, kr_field_get(a, f), out);
}

void kr_power_text(kr_dec v, char out[40]) {
    char d[24];
    int n = snprintf(d, sizeof d, "%lld", v.digits < 0 ? -(long long)v.digits : (long long)v.digits);
    int power = v.digits == 0 ? 0 : n - 1 - v.scale, used = n;
    while (used > 1 && d[used - 1] == '0')
        used--;
    int at = snprintf(out, 40, "%s%c%s%.*s", v.digits < 0 ? "-" : "", d[0], used > 1 ? "." : "",
                      used - 1, d + 1);
    if (power != 0)
        snprintf(out + at, 40 - (size_t)at, "e%d", power);
}

/* v x 100; exact for the shares of a contract. */
static kr_dec hundred(kr_dec v) {
    return v.scale >= 2 ? (kr_dec){v.digits, v.scale - 2}
                        : kr_dec_make(v.digits * (v.scale == 1 ? 10 : 100), 0);
}

bool kr_value_fit(kr_field f, kr_dec v, int room, char out[40]) {
    char full[40], power[40];
    const char *unit = f == KR_FIELD_TOLERANCE ? "" : " %", *e;
    int unit_w = (int)strlen(unit);
    kr_value_text(f, v, full);
    if (kr_text_width(full) <= room) {
        snprintf(out, 40, "%s", full);
        return true;
    }
    kr_power_text(f == KR_FIELD_TOLERANCE ? v : hundred(v), power);
    double size = fabs(kr_dec_double(v)) * (unit_w > 0 ? 100 : 1);
    bool far = size >= 1e5 || size < 1e-3;
    e = strchr(power, 'e');
    int tail = far && e != NULL ? (int)strlen(e) : 0, keep = room - unit_w - tail - 1;
    if (far && (int)strlen(power) + unit_w <= room)
        snprintf(out, 40, "%.36s%s", power, unit);
    else if (tail > 0)
        snprintf(out, 40, "%.*s…%s%s", keep > 1 ? keep : 1, power, e, unit);
    else
        snprintf(out, 40, "%.*s…%s", keep > 1 ? keep : 1, full, unit);
    return false;
}

int kr_value_room(const kr_app *a) { return a->w < 76 ? 7 : 8; }

bool kr_exact_words(const kr_app *a, char *out, size_t cap) {
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < KR_FIELDS && used < cap; i++) {
        kr_field f = (kr_field)((a->field + i) % KR_FIELDS); /* the one being changed comes first */
        kr_dec v = kr_field_get(a, f);
        char s[40], buf[KR_DEC_TEXT];
        if (kr_value_fit(f, v, kr_value_room(a), s))
            continue;
        used += (size_t)snprintf(out + used, cap - used, "%s%s %s%s",
                                 used > 0 ? ", " : "exactly: ", kr_field_name(f),
                                 f == KR_FIELD_TOLERANCE ? kr_dec_text(v, buf)
                                                         : kr_dec_percent(v, 0, buf),
                                 f == KR_FIELD_TOLERANCE ? "" : " %");
    }
    return used > 0;
}

/* One step from v; a value off the grid goes to the next grid value in that direction. */
static double one_step(double v, double scale, const field_row *r, bool up) {
    bool confident = r->turn > 0.5;
    double edge = r->turn * scale, tiny = 1e-9 * scale;
    bool fine = confident ? (up ? v > edge - tiny : v > edge + tiny)
                          : (up ? v < edge - tiny : v < edge + tiny);
    double step = (fine ? r->fine : r->step) * scale, at = v / step;
    double k = up ? floor(at + 1e-6) + 1 : ceil(at - 1e-6) - 1;
    return k * step;
}

kr_dec kr_field_step(const kr_app *a, kr_field f, int steps) {
    const field_row *r = &rows[f];
    double scale = scale_of(a, f), v = kr_dec_double(kr_field_get(a, f));
    double before = v;
    for (int i = 0; i < (steps < 0 ? -steps : steps); i++)
        v = one_step(v, scale, r, steps > 0);
    /* A typed value beyond the keys' range may stay there, but keys do not lead further out. */
    double lo = fmin(r->lo * scale, before), hi = fmax(r->hi * scale, before);
    v = v < lo ? lo : v > hi ? hi : v;
    return v == before ? kr_field_get(a, f) : kr_dec_from_double(v, 6);
}

kr_dec kr_field_strip_value(const kr_app *a, kr_field f, int i, int n) {
    const field_row *r = &rows[f];
    double t = n > 1 ? (double)i / (n - 1) : 0;
    return kr_dec_from_double((r->strip_lo + t * (r->strip_hi - r->strip_lo)) * scale_of(a, f), 5);
}

int kr_field_strip_column(const kr_app *a, kr_field f, int n) {
    const field_row *r = &rows[f];
    double v = kr_dec_double(kr_field_get(a, f)) / scale_of(a, f);
    double t = (v - r->strip_lo) / (r->strip_hi - r->strip_lo);
    if (t < -0.5 / n || t > 1 + 0.5 / n)
        return -1;
    int col = (int)lround(t * (n - 1));
    return col < 0 ? 0 : col >= n ? n - 1 : col;
}

/* "5" could be meant as 5 % or as a mistake for 0.05: nobody should have to guess. */
static kr_status refuse_bare(kr_field f, kr_dec v, kr_error *err) {
    char typed[KR_DEC_TEXT], share[KR_DEC_TEXT];
    bool percent = kr_dec_cmp(v, kr_dec_make(100, 0)) < 0 && v.scale <= KR_DEC_MAX_SCALE - 2;
    kr_dec_text(v, typed);
    if (!percent)
        return kr_fail(err, KR_EINVAL, "%s %s is no share below 1; type %s", kr_field_name(f),
                       typed, f == KR_FIELD_RISK ? "5% or 0.05" : "95% or 0.95");
    return kr_fail(err, KR_EINVAL, "%s %s is no share below 1; type %s%% or %s", kr_field_name(f),
                   typed, typed, kr_dec_text(kr_dec_make(v.digits, v.scale + 2), share));
}

const char *kr_field_forms(const kr_app *a, kr_field f) {
    static const char *const forms[KR_FIELDS] = {"0.08 or 8%", "0.05 or 5%", "0.95 or 95%"};
    return f == KR_FIELD_TOLERANCE && kr_tolerance_unit(a->calib) != 1 ? "in units of utility"
                                                                       : forms[f];
}

kr_status kr_field_parse(const kr_app *a, kr_field f, const char *text, kr_dec *out,
                         kr_error *err) {
    kr_dec v;
    kr_status st = kr_dec_parse_percent(text, &v, err);
    bool percent = strchr(text, '%') != NULL;
    if (st == KR_OK && f == KR_FIELD_TOLERANCE && percent && kr_tolerance_unit(a->calib) != 1)
        return kr_fail(err, KR_EINVAL,
                       "tolerance is in units of utility, no share here; type it without %%");
    if (st == KR_OK && f != KR_FIELD_TOLERANCE && !percent &&
        kr_dec_cmp(v, kr_dec_make(1, 0)) >= 0)
        st = refuse_bare(f, v, err);
    if (st != KR_OK)
        return st;
    kr_contract c = kr_field_with(kr_analysis_contract(a->an), f, v);
    st = kr_contract_check(&c, err);
    if (st == KR_OK)
        *out = v;
    return st;
}
