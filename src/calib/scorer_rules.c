#include "calib/scorer_rules.h"

#include <string.h>

static bool starts(const char *s, const char *prefix) {
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

static kr_rule rule(const char *scorer, kr_prep prep) {
    const kr_scorer *s = kr_scorer_find(scorer);
    if (s == NULL)
        return (kr_rule){NULL, prep, "no scorer"};
    return (kr_rule){s, prep, s->run == NULL ? s->refused : NULL};
}

static kr_rule none(const char *why) {
    return (kr_rule){NULL, KR_PREP_NONE, why};
}

/* RULER's question answering counts any reference, everything else all of them. */
static kr_rule ruler(kr_family family, const char *task) {
    bool qa = starts(task, "qa") || starts(task, "ruler_qa");
    switch (family) {
    case KR_FAMILY_KVPRESS:
        return rule(qa ? "kvpress.ruler.string_match_part" : "kvpress.ruler.string_match_all",
                    KR_PREP_NONE);
    case KR_FAMILY_RAW_RULER: return rule("kvcache_factory.ruler", KR_PREP_NONE);
    case KR_FAMILY_LM_EVAL:
        return rule(qa ? "lm_eval.ruler.part" : "ruler.string_match_all", KR_PREP_NONE);
    default: return rule(qa ? "ruler.string_match_part" : "ruler.string_match_all", KR_PREP_NONE);
    }
}

typedef struct {
    const char *task, *scorer;
    bool first_line;
} longbench_task;

static const longbench_task longbench_tasks[] = {
    {"narrativeqa", "longbench.qa_f1", false},
    {"qasper", "longbench.qa_f1", false},
    {"multifieldqa_en", "longbench.qa_f1", false},
    {"hotpotqa", "longbench.qa_f1", false},
    {"2wikimqa", "longbench.qa_f1", false},
    {"musique", "longbench.qa_f1", false},
    {"triviaqa", "longbench.qa_f1", true},
    {"multifieldqa_zh", "longbench.qa_f1_zh", false},
    {"gov_report", "longbench.rouge_l", false},
    {"qmsum", "longbench.rouge_l", false},
    {"multi_news", "longbench.rouge_l", false},
    {"samsum", "longbench.rouge_l", true},
    {"dureader", "longbench.rouge_l_zh", false},
    {"vcsum", "longbench.rouge_l_zh", false},
    {"trec", "longbench.classification", true},
    {"lsht", "longbench.classification", true},
    {"passage_retrieval_en", "longbench.retrieval", false},
    {"passage_retrieval_zh", "longbench.retrieval_zh", false},
    {"passage_count", "longbench.count", false},
    {"lcc", "longbench.code_sim", false},
    {"repobench-p", "longbench.code_sim", false},
};

/* "hotpotqa_e" and "hotpotqa-e" are LongBench-E's names of hotpotqa. */
static const longbench_task *longbench_find(const char *task) {
    size_t len = strlen(task);
    if (len > 2 && task[len - 1] == 'e' && (task[len - 2] == '_' || task[len - 2] == '-'))
        len -= 2;
    for (size_t i = 0; i < sizeof longbench_tasks / sizeof *longbench_tasks; i++)
        if (strlen(longbench_tasks[i].task) == len &&
            memcmp(longbench_tasks[i].task, task, len) == 0)
            return &longbench_tasks[i];
    return NULL;
}

bool kr_longbench_task(const char *name) {
    return longbench_find(name) != NULL;
}

bool kr_ruler_task(const char *name) {
    static const char *const exact[] = {
        "vt",       "cwe",       "fwe",       "qa_1",           "qa_2",
        "ruler_vt", "ruler_cwe", "ruler_fwe", "ruler_qa_squad", "ruler_qa_hotpot"};
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++)
        if (strcmp(name, exact[i]) == 0)
            return true;
    return starts(name, "niah_");
}

static kr_rule longbench(kr_family family, const char *task, const char *code_sim) {
    const longbench_task *t = longbench_find(task);
    if (t == NULL)
        return none("no LongBench task of that name, hence no scorer");
    bool code = strcmp(t->scorer, "longbench.code_sim") == 0;
    if (family == KR_FAMILY_LM_EVAL)
        return code ? rule("lm_eval.longbench.code_sim", KR_PREP_NONE)
                    : rule(t->scorer, KR_PREP_STRIP);
    kr_prep prep = t->first_line ? KR_PREP_FIRST_LINE : KR_PREP_NONE;
    if (family == KR_FAMILY_KVPRESS)
        prep = t->first_line ? KR_PREP_LSTRIP_LINE : KR_PREP_LSTRIP;
    if (code)
        return rule(code_sim != NULL && strcmp(code_sim, "difflib") == 0
                        ? "longbench.code_sim.difflib"
                        : "longbench.code_sim.levenshtein",
                    prep);
    return rule(t->scorer, prep);
}

static kr_rule infinitebench(const char *task) {
    static const char *const tasks[] = {
        "infinitebench.kv_retrieval",        "infinitebench.passkey",
        "infinitebench.number_string",       "infinitebench.code_run",
        "infinitebench.code_debug",          "infinitebench.math_find",
        "infinitebench.math_calc",           "infinitebench.longdialogue_qa_eng",
        "infinitebench.longbook_choice_eng", "infinitebench.longbook_qa_eng",
        "infinitebench.longbook_qa_chn",     "infinitebench.longbook_sum_eng"};
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
        if (strcmp(tasks[i] + strlen("infinitebench."), task) == 0)
            return rule(tasks[i], KR_PREP_NONE);
    return none("no InfiniteBench task of that name, hence no scorer");
}

static kr_rule loogle(const char *task) {
    if (strcmp(task, "shortdep_cloze") == 0)
        return rule("kvpress.loogle.cloze_exact", KR_PREP_NONE);
    return none(
        "this task of LooGLE is scored by BLEU, METEOR and BERTScore, which are not implemented");
}

static kr_rule kvpress(const char *dataset, const char *task, const char *code_sim) {
    if (strcmp(dataset, "ruler") == 0)
        return ruler(KR_FAMILY_KVPRESS, task);
    if (strcmp(dataset, "longbench-v2") == 0)
        return rule("longbench_v2.kvpress", KR_PREP_NONE);
    if (strcmp(dataset, "longbench-e") == 0) /* kvpress strips nothing there */
        return longbench(KR_FAMILY_LONGBENCH, task, code_sim);
    if (strcmp(dataset, "longbench") == 0)
        return longbench(KR_FAMILY_KVPRESS, task, code_sim);
    if (strcmp(dataset, "infinitebench") == 0)
        return infinitebench(task);
    if (strcmp(dataset, "loogle") == 0)
        return loogle(task);
    if (strcmp(dataset, "math500") == 0)
        return rule("kvpress.math500", KR_PREP_NONE);
    if (strcmp(dataset, "aime25") == 0)
        return rule("kvpress.aime25", KR_PREP_NONE);
    if (strcmp(dataset, "needle_in_haystack") == 0)
        return rule("kvpress.needle_rouge", KR_PREP_STRIP);
    if (strcmp(dataset, "zero_scrolls") == 0)
        return none("zero_scrolls has no published references");
    return none("no scorer for this data set");
}

kr_rule kr_rule_for(kr_family family, const char *dataset, const char *task, const char *code_sim) {
    const char *d = dataset != NULL ? dataset : "";
    switch (family) {
    case KR_FAMILY_KVPRESS: return kvpress(d, task, code_sim);
    case KR_FAMILY_LONGBENCH:
        return strcmp(d, "longbench-v2") == 0 ? rule("longbench_v2.thudm", KR_PREP_NONE)
                                              : longbench(family, task, code_sim);
    case KR_FAMILY_RULER:
    case KR_FAMILY_RAW_RULER: return ruler(family, task);
    case KR_FAMILY_LM_EVAL:
        if (kr_ruler_task(task))
            return ruler(family, task);
        return starts(task, "longbench_") ? longbench(family, task + 10, code_sim)
                                          : none("scored by the harness itself");
    case KR_FAMILY_GENERIC: break;
    }
    return none("no scorer; name one, or give a column of scores");
}

kr_str kr_rule_prepare(kr_prep prep, kr_str p) {
    if (prep == KR_PREP_LSTRIP || prep == KR_PREP_LSTRIP_LINE)
        p = kr_str_lstrip(p);
    if (prep == KR_PREP_STRIP)
        p = kr_str_strip(p);
    if (prep == KR_PREP_FIRST_LINE)
        while (p.len > 0 && p.s[0] == '\n') {
            p.s++;
            p.len--;
        }
    if (prep == KR_PREP_FIRST_LINE || prep == KR_PREP_LSTRIP_LINE) {
        const char *nl = p.len > 0 ? memchr(p.s, '\n', p.len) : NULL;
        if (nl != NULL)
            p.len = (size_t)(nl - p.s);
    }
    return p;
}
