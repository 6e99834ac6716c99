/* scorer_rules.h - which scorer a benchmark's task uses, and what is done to the prediction first. */
#ifndef KR_CALIB_SCORER_RULES_H
#define KR_CALIB_SCORER_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "calib/scorer_text.h"
#include "calib/scorers.h"

/* Whose evaluation code is followed. */
typedef enum {
    KR_FAMILY_GENERIC,
    KR_FAMILY_KVPRESS,
    KR_FAMILY_LONGBENCH, /* THUDM's code, and KVCache-Factory, SnapKV, AdaKV which reuse it */
    KR_FAMILY_RULER,     /* NVIDIA's code */
    KR_FAMILY_RAW_RULER, /* KVCache-Factory's RULER */
    KR_FAMILY_LM_EVAL
} kr_family;

typedef enum {
    KR_PREP_NONE,
    KR_PREP_LSTRIP,      /* all white space at the left */
    KR_PREP_FIRST_LINE,  /* leading line feeds off, then up to the next line feed */
    KR_PREP_LSTRIP_LINE, /* all leading white space off, then up to the next line feed */
    KR_PREP_STRIP
} kr_prep;

typedef struct {
    const kr_scorer *scorer; /* NULL: no scorer; `why` says so */
    kr_prep prep;
    const char *why;
} kr_rule;

/* `code_sim` is "levenshtein" or "difflib". Strings NUL-terminated; dataset may be NULL. */
kr_rule kr_rule_for(kr_family family, const char *dataset, const char *task, const char *code_sim);

/* Whether a name (perhaps with _e or -e) is a data set of LongBench; of RULER. */
bool kr_longbench_task(const char *name);
bool kr_ruler_task(const char *name);

/* The prediction after the rule's preparation. */
kr_str kr_rule_prepare(kr_prep prep, kr_str prediction);

#endif
