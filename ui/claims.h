/* claims.h - every claim about the selected method, one row each: what may be chosen after looking,
 * at which level, what is certified. */
#ifndef KR_UI_CLAIMS_H
#define KR_UI_CLAIMS_H

#include "ui/widget.h"
#include "verdict/best.h"
#include "verdict/modes.h"
#include "verdict/noise.h"

struct kr_app;

/* Rows beyond the modes: the best of all methods, paid for and not; full KV against itself. */
enum { KR_CLAIM_FAMILY = KR_MODES, KR_CLAIM_ALONE, KR_CLAIM_NOISE, KR_CLAIMS };

/* Claims that look at every request: with many requests they are counted in the frame after the
 * key, with very many when Enter asks for one. */
typedef enum { KR_CLAIM_WAITS, KR_CLAIM_ON_ENTER, KR_CLAIM_KNOWN, KR_CLAIM_FAILED } kr_claim_status;

typedef struct {
    kr_claim_status status;
    kr_mode_line line; /* of a mode */
    kr_best best;
    kr_noise noise;
    kr_buf text;       /* what it guarantees, and what is known beside it */
} kr_claim;

typedef struct {
    kr_claim at[KR_CLAIMS];
    int row[KR_CLAIMS], n; /* the claims in the order shown */
    int selected, top;     /* row */
    int asked;             /* claim that Enter asked for, -1 none */
    bool wait;             /* some are counted after this frame */
    bool valid;            /* they were counted for: */
    size_t method;
    bool family;
    kr_contract contract;
    kr_ratio *weight;      /* [tasks] of the mixture typed in, NULL: the file's, else equal */
    char typed[256];       /* as it was typed */
    bool has_mean;
    kr_mean_kind mean;     /* bound for the mean drop, where one was chosen */
} kr_claims;

void kr_claims_free(kr_claims *c);
void kr_claims_refresh(struct kr_app *a); /* after an event */
void kr_claims_ask(struct kr_app *a);     /* Enter: counts the selected one */
void kr_claims_select(struct kr_app *a, int claim);
int kr_claims_selected(const struct kr_app *a);
/* "qa=2 vt=1"; "" says what it is now, "off" goes back to the file's. */
void kr_claims_mixture(struct kr_app *a, const char *text);
void kr_claims_mean(struct kr_app *a, kr_mean_kind mean);
void kr_claims_reload(struct kr_app *a); /* the typed mixture in the tasks of a file read again */

kr_state kr_claim_state(const kr_claim *c, int claim);
bool kr_claim_certified(const kr_claim *c, int claim);
const char *kr_claim_name(int claim); /* "events", "best, family", ... */

#endif
