#include "risk/contract.h"

static bool above_zero(kr_dec a) { return a.digits > 0; }

static bool below_one(kr_dec a) { return kr_dec_cmp(a, kr_dec_make(1, 0)) < 0; }

kr_status kr_contract_check(const kr_contract *c, kr_error *err) {
    char t[KR_DEC_TEXT];
    if (c->tolerance.digits < 0)
        return kr_fail(err, KR_EINVAL, "tolerance %s is negative; it must be 0 or more",
                       kr_dec_text(c->tolerance, t));
    if (!above_zero(c->risk) || !below_one(c->risk))
        return kr_fail(err, KR_EINVAL,
                       "risk %s is out of range; it must lie between 0 and 1, both excluded",
                       kr_dec_text(c->risk, t));
    if (!above_zero(c->confidence) || !below_one(c->confidence))
        return kr_fail(err, KR_EINVAL,
                       "confidence %s is out of range; it must lie between 0 and 1, both excluded",
                       kr_dec_text(c->confidence, t));
    if (kr_dec_cmp(c->confidence, kr_dec_make(5, 1)) < 0)
        return kr_fail(err, KR_EINVAL,
                       "confidence %s is below 0.5: the claim would be wrong more often than right",
                       kr_dec_text(c->confidence, t));
    return KR_OK;
}

kr_dec kr_contract_delta(const kr_contract *c) {
    kr_dec delta = {0, 0}; /* level 0 rejects nothing, should the subtraction ever fail */
    kr_dec_sub(kr_dec_make(1, 0), c->confidence, &delta);
    return delta;
}

kr_level kr_contract_level(const kr_contract *c, int64_t share) {
    return kr_level_make(kr_contract_delta(c), share);
}
