#include "ledger/study_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calib/subset.h"
#include "ledger/rows.h"
#include "risk/split.h"
#include "verdict/rows.h"

/* --- the split ---------------------------------------------------------------------------------- */

static kr_status seeded_split(kr_study *s, const kr_ledger_entry *start, kr_error *err) {
    kr_rows r;
    kr_status st = kr_rows_of(s->calib, KR_SPLIT_CAL, &r, err);
    if (st != KR_OK)
        return st;
    size_t n = 0;
    for (size_t i = 0; i < r.n; i++) /* the split is of the rows there were then */
        if ((int64_t)r.row[i] < start->base_rows) {
            r.row[n] = r.row[i];
            r.task[n] = r.task[i];
            r.cluster[n++] = r.cluster[i];
        }
    bool *keep = calloc(n + 1, sizeof *keep);
    int64_t den = 1;
    for (int k = 0; k < start->share.scale && k < 6; k++)
        den *= 10;
    st = keep == NULL ? kr_fail(err, KR_ENOMEM, "out of memory")
                      : kr_split_share(n, r.task, kr_calib_tasks(s->calib), r.cluster,
                                       start->share.digits, den, (uint64_t)start->seed, keep, err);
    for (size_t i = 0; st == KR_OK && i < n; i++)
        s->explore[r.row[i]] = keep[i];
    free(keep);
    kr_rows_free(&r);
    return st;
}

kr_status kr_study_spread(const kr_study *s, bool *opened, kr_error *err) {
    size_t rows = kr_calib_rows(s->calib);
    bool *group = calloc(rows + 1, sizeof *group);
    if (group == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory");
    for (size_t i = 0; i < rows; i++)
        if (opened[i])
            group[s->group[i]] = true;
    for (size_t i = 0; i < rows; i++)
        opened[i] = group[s->group[i]];
    free(group);
    return KR_OK;
}

/* The last entry that pins rows: all earlier ones pin fewer of the same. */
static kr_status check_pins(const kr_study *s, kr_error *err) {
    const kr_ledger_entry *start = &s->ledger.entry[0], *last = NULL;
    const char *path = kr_calib_path(s->calib);
    size_t rows = kr_calib_rows(s->calib);
    char now[2][KR_SHA256_HEX];
    for (size_t i = 0; i < s->ledger.n; i++)
        if (s->ledger.entry[i].kind == KR_LEDGER_CONFIRM)
            last = &s->ledger.entry[i];
    int64_t upto[2] = {start->base_rows, last != NULL ? last->file_rows : start->base_rows};
    if (upto[0] > (int64_t)rows || upto[1] > (int64_t)rows || upto[1] < upto[0])
        return kr_fail(err, KR_EFORMAT, "%s has %zu requests, its ledger was written for %lld", path, rows,
                       (long long)(upto[1] > upto[0] ? upto[1] : upto[0]));
    kr_status st = kr_hash_prefixes(s->calib, KR_HASH_REQUESTS, 2, upto, now, err);
    if (st == KR_OK && strcmp(now[0], start->base_ids) != 0)
        st = kr_fail(err, KR_EFORMAT, "%s: its first %lld requests are not those that the ledger began "
                                      "with, in their order, tasks, splits and clusters", path,
                     (long long)upto[0]);
    if (st == KR_OK && last != NULL && strcmp(now[1], last->file_ids) != 0)
        st = kr_fail(err, KR_EFORMAT, "%s: its first %lld requests are not those that were there when entry "
                                      "%lld opened them, in their order, tasks, splits and clusters", path,
                     (long long)upto[1], (long long)last->number);
    return st;
}

kr_status kr_study_need_prints(kr_study *s, kr_error *err) {
    return s->prints.of[0] != NULL ? KR_OK : kr_prints_make(s->calib, &s->prints, err);
}

/* Rows added later are for confirming alone: nobody was shown them. */
static kr_status fill_split(kr_study *s, kr_error *err) {
    const kr_ledger_entry *start = &s->ledger.entry[0];
    size_t rows = kr_calib_rows(s->calib);
    kr_status st = KR_OK;
    if (!start->declared_split && start->share.digits > 0)
        st = seeded_split(s, start, err);
    for (size_t i = 0; start->declared_split && i < (size_t)start->base_rows; i++)
        s->explore[i] = kr_calib_row(s->calib, i).split != KR_SPLIT_CAL;
    if (st != KR_OK)
        return st;
    memcpy(s->confirm, s->explore, rows * sizeof *s->confirm);
    st = kr_study_spread(s, s->confirm, err);
    for (size_t i = 0; i < rows; i++)
        s->confirm[i] = !s->confirm[i] && kr_calib_row(s->calib, i).split == KR_SPLIT_CAL;
    return st;
}

kr_status kr_study_split(kr_study *s, kr_error *err) {
    size_t rows = kr_calib_rows(s->calib);
    kr_status st = check_pins(s, err);
    if (st == KR_OK)
        st = kr_study_need_prints(s, err);
    if (st != KR_OK)
        return st;
    s->explore = calloc(rows + 1, sizeof *s->explore);
    s->confirm = calloc(rows + 1, sizeof *s->confirm);
    s->group = calloc(rows + 1, sizeof *s->group);
    if (s->explore == NULL || s->confirm == NULL || s->group == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory");
    st = kr_group_rows(s->calib, &s->prints, s->group, err);
    return st == KR_OK ? fill_split(s, err) : st;
}

/* --- opening ------------------------------------------------------------------------------------ */

/* What the state directory says. Files of it that cannot be read are a doubt, not an error. */
static kr_status ask_state(kr_study *s, kr_error *err) {
    const char *own = s->ledger.n > 0 ? s->ledger.entry[0].hash : "";
    bool others = false;
    kr_status st = s->ledger.n > 0 ? kr_known_get(own, &s->known, &s->doubt) : KR_OK;
    if (st == KR_OK)
        st = kr_known_others(own, &others, &s->doubt);
    if (st == KR_OK && others) {
        st = kr_study_need_prints(s, err);
        if (st != KR_OK)
            return st;
        st = kr_known_find(&s->prints, own, &s->other, &s->doubt);
    }
    if (st == KR_ENOMEM)
        return kr_fail(err, st, "%s", s->doubt.msg);
    return KR_OK;
}

typedef enum { SOUND, DOUBTFUL, GONE, EXCHANGED, ELSEWHERE } standing;

/* How the ledger stands to what is remembered. */
static standing standing_of(const kr_study *s) {
    const kr_known *k = &s->known;
    if (s->doubt.code != KR_OK)
        return DOUBTFUL;
    if (k->known && (k->entries > (int64_t)s->ledger.n ||
                     strcmp(s->ledger.entry[k->entries - 1].hash, k->head) != 0))
        return EXCHANGED;
    if (s->other.requests == 0)
        return SOUND;
    if (!kr_file_same(s->other.ledger.file, kr_calib_path(s->calib)))
        return ELSEWHERE;
    return s->ledger.n == 0 ? GONE : EXCHANGED;
}

/* The ledger and what is remembered of it are read one after the other. Where they disagree another
 * program may have written both in between: once more. */
static kr_status read_ledger(kr_study *s, kr_error *err) {
    kr_status st = kr_ledger_load(s->path, &s->ledger, err);
    if (st == KR_OK)
        st = ask_state(s, err);
    if (st != KR_OK || standing_of(s) == SOUND)
        return st;
    kr_ledger before = s->ledger;
    s->ledger = (kr_ledger){0};
    st = kr_ledger_load(s->path, &s->ledger, err);
    bool news = st == KR_OK && strcmp(before.head, s->ledger.head) != 0;
    kr_ledger_free(&before);
    if (!news)
        return st;
    s->known = (kr_known){0};
    s->other = (kr_known_other){0};
    s->doubt = (kr_error){0};
    return ask_state(s, err);
}

static kr_status open_any(const char *path, kr_study *s, kr_error *err) {
    s->path = kr_ledger_path(path);
    kr_status st = s->path == NULL ? kr_fail(err, KR_ENOMEM, "out of memory")
                                   : kr_calib_load(path, &s->calib, err);
    if (st == KR_OK && kr_calib_meta_of(s->calib)->kind == KR_KIND_COUNTS) {
        st = kr_ledger_load(s->path, &s->ledger, err);
        return st == KR_OK && s->ledger.n > 0
                   ? kr_fail(err, KR_EFORMAT, "%s: published counts have no rows to keep a ledger of", s->path)
                   : st;
    }
    if (st == KR_OK)
        st = read_ledger(s, err);
    return st == KR_OK && s->ledger.n > 0 ? kr_study_split(s, err) : st;
}

static const char *file_of(const kr_known *k) { return k->file[0] != '\0' ? k->file : "another file"; }

static kr_status check_standing(const kr_study *s, kr_error *err) {
    const char *path = kr_calib_path(s->calib);
    const kr_known_other *o = &s->other;
    const char *one = o->requests == 1 ? "s" : "";
    switch (standing_of(s)) {
    case DOUBTFUL:
        return kr_fail(err, KR_EFORMAT, "%s: whether its requests were opened before cannot be told: %s",
                       path, s->doubt.msg);
    case GONE:
        return kr_fail(err, KR_EFORMAT, "%s is gone: %lld entries were written for these rows. They count "
                                        "as opened", s->path, (long long)o->ledger.entries);
    case EXCHANGED:
        return kr_fail(err, KR_EFORMAT, "%s is not the one that was last written for these rows (%lld "
                                        "entries): it was cut short or exchanged", s->path,
                       (long long)(o->requests > 0 ? o->ledger.entries : s->known.entries));
    case ELSEWHERE:
        return kr_fail(err, KR_EFORMAT, "%s: %lld of its %zu requests belong%s to the ledger of %s and count%s "
                                        "as opened. Use that file with its ledger, or take these requests "
                                        "out of this one", path, (long long)o->requests,
                       kr_calib_rows(s->calib), one, file_of(&o->ledger), one);
    case SOUND: break;
    }
    return KR_OK;
}

kr_status kr_study_open(const char *path, kr_study *out, kr_error *err) {
    kr_study s = {0};
    kr_status st = open_any(path, &s, err);
    if (st == KR_OK)
        st = check_standing(&s, err);
    if (st == KR_OK)
        *out = s;
    else
        kr_study_close(&s);
    return st;
}

void kr_study_close(kr_study *s) {
    free(s->path);
    free(s->explore);
    free(s->confirm);
    free(s->group);
    kr_prints_free(&s->prints);
    kr_calib_free(s->calib);
    kr_ledger_free(&s->ledger);
    *s = (kr_study){0};
}

/* Why nothing may be LOCKED; empty where it may. */
static void write_reserve(const kr_study *s, kr_buf *b) {
    const char *one = s->other.requests == 1 ? "s" : "";
    switch (standing_of(s)) {
    case DOUBTFUL:
        kr_buf_printf(b, "Whether these requests were opened before cannot be told (%s)", s->doubt.msg);
        break;
    case GONE:
    case EXCHANGED:
        kr_buf_puts(b, "The ledger of these rows is missing, cut short or exchanged");
        break;
    case ELSEWHERE:
        kr_buf_printf(b, "%lld of the %zu requests belong%s to the ledger of %s and count%s as opened",
                      (long long)s->other.requests, kr_calib_rows(s->calib), one,
                      file_of(&s->other.ledger), one);
        break;
    case SOUND:
        if (s->ledger.n > 0)
            kr_buf_puts(b, "The exploration rows of a ledger, no guarantee: lock a contract and confirm it "
                           "on the other rows.");
        return;
    }
    kr_buf_puts(b, ": exploration, no guarantee.");
}

static kr_status keep_exploration(kr_study *s, kr_error *err) {
    kr_calib *part = NULL;
    kr_status st = kr_calib_subset(s->calib, s->explore, NULL, &part, err);
    if (st == KR_EFORMAT)
        return kr_fail(err, KR_EFORMAT, "%s keeps every row for confirming; there is none to explore",
                       s->path);
    if (st != KR_OK)
        return st;
    kr_calib_free(s->calib);
    s->calib = part;
    return KR_OK;
}

kr_status kr_study_look(const char *path, kr_calib **c, kr_analysis_options *options,
                        kr_error *err) {
    kr_study s = {0};
    kr_buf reserve = {0};
    kr_status st = open_any(path, &s, err);
    options->home = (kr_home){.kind = KR_HOME_FILE};
    if (st == KR_OK)
        write_reserve(&s, &reserve);
    if (st == KR_OK && s.ledger.n > 0)
        st = keep_exploration(&s, err);
    if (st == KR_OK && reserve.len > 0) {
        options->home = (kr_home){.kind = KR_HOME_NONE,
                                  .text = kr_calib_keep(s.calib, kr_buf_text(&reserve))};
        if (options->home.text == NULL)
            st = kr_fail(err, KR_ENOMEM, "out of memory");
    }
    if (st == KR_OK) {
        *c = s.calib;
        s.calib = NULL;
    }
    kr_buf_free(&reserve);
    kr_study_close(&s);
    return st;
}
