/* optim.h - one step of Muon for the matrices and Adam for the rest. */
#ifndef KR_TRAIN_OPTIM_H
#define KR_TRAIN_OPTIM_H

#include "tools/train/net.h"

typedef struct {
    double muon, adam; /* learning rates */
    double decay;      /* of matrices, relative to the rate */
} kr_optim_rates;

typedef struct kr_optim kr_optim;
kr_optim *kr_optim_new(const kr_net_shape *s); /* NULL: no memory */
void kr_optim_free(kr_optim *o);

/* Scales the gradient to at most norm 1 and takes the step; returns the norm before. Both lanes
 * call kr_optim_lane between kr_optim_begin and kr_optim_end; each takes every second matrix. */
double kr_optim_begin(kr_optim *o, kr_net_params *grad);
void kr_optim_lane(kr_optim *o, kr_net_params *p, const kr_net_params *grad, kr_optim_rates rates,
                   size_t lane, size_t lanes);
void kr_optim_end(kr_optim *o, kr_net_params *p, const kr_net_params *grad, kr_optim_rates rates);

#endif
