/* contract.h - what is asked of a policy: tolerance, risk target, confidence. */
#ifndef KR_RISK_CONTRACT_H
#define KR_RISK_CONTRACT_H

#include "base/decimal.h"
#include "base/status.h"
#include "risk/ratio.h"

/* A request is degraded when its utility falls by more than `tolerance` (in the unit of the
 * utilities). The share of such requests shall be at most `risk`, and a claim that it is shall be
 * wrong with probability at most 1 - `confidence` over the draw of the calibration requests. */
typedef struct {
    kr_dec tolerance;  /* >= 0 */
    kr_dec risk;       /* in (0,1) */
    kr_dec confidence; /* in [0.5,1) */
} kr_contract;

/* KR_EINVAL with a sentence that names the value and its range. */
kr_status kr_contract_check(const kr_contract *c, kr_error *err);

/* 1 - confidence, exactly. `c` must have passed kr_contract_check. */
kr_dec kr_contract_delta(const kr_contract *c);

/* delta / share, for share >= 1 claims that split one error budget. */
kr_level kr_contract_level(const kr_contract *c, int64_t share);

#endif
