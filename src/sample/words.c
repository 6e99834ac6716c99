#include "sample/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Order is the order of ids: changing it changes every stored model and every seed's requests. */
static const char *const lists[KR_WORDS_KINDS] = {
    [KR_WORDS_MARK] =
        ". , ? :",
    [KR_WORDS_GLUE] =
        "the number numbers for is are what which and question answer names get who city was "
        "job has words most common sets holds list here we go there back again two three four",
    [KR_WORDS_KEY] =
        "amber birch cedar dune ember fern garnet hazel indigo jasper kelp lotus maple nectar "
        "olive pebble quartz raven saffron tulip umber velvet willow xenon yarrow zephyr "
        "acorn basil canyon dahlia elm falcon ginger heron iris juniper kiwi lichen meadow "
        "nutmeg orchid poplar quince reed sage thistle urchin violet walnut yew zinc apricot "
        "beryl cobalt daisy ebony flint grove hemlock ivory jade kestrel lilac marble nettle "
        "opal plum quill rust slate topaz ursa vine wren azure bramble clover drift eagle "
        "frost glacier harbor island jungle kernel lagoon mango nimbus otter pepper quiver "
        "ridge summit tundra urn valley",
    [KR_WORDS_NAME] =
        "alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike "
        "november oscar papa quebec romeo sierra tango uniform victor whiskey xray yankee "
        "zulu argon boron carbon dubnium erbium fermium gallium helium iodine krypton lithium "
        "neon osmium radon",
    [KR_WORDS_PERSON] =
        "alice bob carol david emma frank grace henry irene jack karen liam maria noah olivia "
        "peter queen rachel sam tina ursula vera walter xavier yuri zoe adam bella cyrus "
        "diana",
    [KR_WORDS_CITY] =
        "paris london madrid rome berlin vienna prague oslo dublin lisbon athens cairo delhi "
        "tokyo seoul warsaw quito havana boston denver austin dallas miami toronto geneva "
        "zurich milan turin porto krakow",
    [KR_WORDS_JOB] =
        "baker doctor farmer lawyer nurse pilot sailor teacher tailor writer singer painter "
        "miner judge chef clerk dentist driver editor florist guard hunter jeweler mason "
        "plumber potter smith soldier tutor weaver",
    [KR_WORDS_ITEM] =
        "cello drum flute harp oboe organ piano tuba viola zither banjo bugle cymbal fiddle "
        "gong guitar horn lyre trumpet whistle trombone bassoon clarinet mandolin",
    [KR_WORDS_QUALITY] =
        "green blue yellow quiet small old bright cold warm slow",
    [KR_WORDS_THING] =
        "grass sky sun river road garden house window bird horse boat wind rain stone cloud "
        "tree lamp door bell field",
    [KR_WORDS_ACT] =
        "moves waits rests turns shines sings stands grows falls leans",
    [KR_WORDS_PLACE] =
        "near under over beside behind",
};

enum { MAX_TEXT = 16, MAX_WORDS = 1024 };

struct kr_words {
    size_t count;
    int32_t first[KR_WORDS_KINDS];
    size_t size[KR_WORDS_KINDS];
    char text[MAX_WORDS][MAX_TEXT];
    int32_t by_name[MAX_WORDS]; /* ids in the order of their names */
};

static const char *name_of(const kr_words *w, int32_t id) {
    const char *t = w->text[id];
    return t[0] == ' ' ? t + 1 : t;
}

static void add_list(kr_words *w, kr_word_kind kind) {
    for (const char *s = lists[kind]; *s != '\0';) {
        int n = (int)strcspn(s, " ");
        snprintf(w->text[w->count++], MAX_TEXT, "%s%.*s", kind == KR_WORDS_MARK ? "" : " ", n, s);
        s += n + (s[n] == ' ');
    }
}

static void add_kind(kr_words *w, kr_word_kind kind) {
    w->first[kind] = (int32_t)w->count;
    if (kind == KR_WORDS_HIGH)
        for (int i = 10; i < 100; i++)
            snprintf(w->text[w->count++], MAX_TEXT, " %d", i);
    else if (kind == KR_WORDS_LOW)
        for (int i = 0; i < 100; i++)
            snprintf(w->text[w->count++], MAX_TEXT, "%02d", i);
    else
        add_list(w, kind);
    w->size[kind] = w->count - (size_t)w->first[kind];
}

/* By insertion: the list is short and made once. The second halves of numbers stay out of it, since
 * "21" would name two tokens. */
static void sort_names(kr_words *w) {
    size_t n = (size_t)w->first[KR_WORDS_LOW];
    for (size_t i = 0; i < n; i++) {
        size_t at = i;
        while (at > 0 && strcmp(name_of(w, w->by_name[at - 1]), name_of(w, (int32_t)i)) > 0) {
            w->by_name[at] = w->by_name[at - 1];
            at--;
        }
        w->by_name[at] = (int32_t)i;
    }
}

kr_status kr_words_new(kr_words **out, kr_error *err) {
    kr_words *w = calloc(1, sizeof *w);
    if (w == NULL)
        return kr_fail(err, KR_ENOMEM, "out of memory for the vocabulary");
    static const char *const special[] = {"<unk>", "<s>", "</s>"};
    for (size_t i = 0; i < 3; i++)
        snprintf(w->text[w->count++], MAX_TEXT, "%s", special[i]);
    for (kr_word_kind k = 0; k < KR_WORDS_KINDS; k++)
        add_kind(w, k);
    sort_names(w);
    *out = w;
    return KR_OK;
}

void kr_words_free(kr_words *w) {
    free(w);
}

size_t kr_words_count(const kr_words *w) {
    return w->count;
}

int32_t kr_words_first(const kr_words *w, kr_word_kind kind) {
    return w->first[kind];
}

size_t kr_words_size(const kr_words *w, kr_word_kind kind) {
    return w->size[kind];
}

const char *kr_words_text(const kr_words *w, int32_t id) {
    return w->text[id];
}

static int32_t find(const kr_words *w, const char *word, size_t len) {
    size_t lo = 0, hi = (size_t)w->first[KR_WORDS_LOW];
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const char *name = name_of(w, w->by_name[mid]);
        int order = strncmp(name, word, len);
        if (order == 0 && name[len] == '\0')
            return w->by_name[mid];
        if (order < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return KR_WORD_UNKNOWN;
}

int32_t kr_words_find(const kr_words *w, const char *word) {
    return find(w, word, strlen(word));
}

void kr_ids_add(kr_ids *a, int32_t id) {
    if (a->n == a->cap && !a->failed) {
        size_t cap = a->cap == 0 ? 256 : 2 * a->cap;
        int32_t *v = realloc(a->v, cap * sizeof *v);
        if (v == NULL) {
            a->failed = true;
        } else {
            a->v = v;
            a->cap = cap;
        }
    }
    if (!a->failed)
        a->v[a->n++] = id;
}

void kr_ids_append(kr_ids *a, const int32_t *v, size_t n) {
    for (size_t i = 0; i < n; i++)
        kr_ids_add(a, v[i]);
}

void kr_ids_free(kr_ids *a) {
    free(a->v);
    *a = (kr_ids){0};
}

void kr_words_put(const kr_words *w, const char *words, kr_ids *out) {
    for (const char *s = words; *s != '\0';) {
        size_t n = strcspn(s, " ");
        kr_ids_add(out, find(w, s, n));
        s += n + (s[n] == ' ');
    }
}

void kr_words_join(const kr_words *w, const int32_t *ids, size_t n, kr_buf *out) {
    for (size_t i = 0; i < n; i++)
        if (ids[i] != KR_WORD_BEGIN && ids[i] != KR_WORD_END)
            kr_buf_puts(out, kr_words_text(w, ids[i]));
}
