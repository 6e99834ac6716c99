#include "verdict/noise.h"

#include <math.h>

#include "risk/binomial.h"

kr_noise kr_noise_floor(const kr_analysis *a) {
    const kr_calib *c = kr_analysis_calib(a);
    kr_contract k = kr_analysis_contract(a);
    kr_noise f = {.rate = NAN, .lower = 0, .upper = 1};
    int64_t tolerance;
    if (!kr_dec_nano(k.tolerance, &tolerance))
        return f;
    for (size_t i = 0; i < kr_calib_rows(c); i++) {
        kr_request r = kr_calib_row(c, i);
        if (r.split != kr_analysis_options_of(a).split || r.full2 == KR_NO_RUN)
            continue;
        f.n++;
        f.events += r.full == KR_MISSING || r.full2 == KR_MISSING || r.full - r.full2 > tolerance;
    }
    f.known = f.n > 0;
    if (!f.known)
        return f;
    double half = kr_level_double(kr_contract_level(&k, 2));
    f.rate = (double)f.events / (double)f.n;
    f.lower = kr_binom_lower_strat(f.events, f.n, half);
    f.upper = kr_binom_upper_strat(f.events, f.n, half);
    f.hopeless = f.lower > kr_dec_double(k.risk);
    return f;
}

void kr_noise_sentence(const kr_analysis *a, const kr_noise *f, kr_buf *out) {
    kr_contract k = kr_analysis_contract(a);
    char t[KR_DEC_TEXT], r[KR_DEC_TEXT];
    if (!f->known)
        return;
    kr_buf_printf(out, "Noise floor: a second full-KV run is more than %s worse than the first on %lld of "
                       "%lld requests (%.2f %%, %.2f to %.2f %%), so full KV itself does not have risk 0.",
                  kr_dec_fixed(k.tolerance, 2, t), (long long)f->events, (long long)f->n, 100 * f->rate,
                  100 * f->lower, 100 * f->upper);
    kr_dec_percent(k.risk, 0, r);
    if (f->hopeless)
        kr_buf_printf(out, " That exceeds the risk target of %s %%: no policy can be expected to be "
                           "certified, and falling back does not meet the contract either.", r);
    else if (f->upper > kr_dec_double(k.risk))
        kr_buf_printf(out, " It may exceed the risk target of %s %%.", r);
}
