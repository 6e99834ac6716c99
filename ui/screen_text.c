/* Help from the key table, messages, the whole statement. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "ui/model.h"
#include "ui/pages.h"

static const char *const caveats[] = {
    "A certificate is about the population that the calibration requests were drawn from. It says "
    "nothing of other prompts, models, lengths or scorers.",
    "The confidence holds over the draw of the calibration requests: of many calibrations done "
    "this "
    "way, at most the share 1 - confidence certifies a policy whose risk is above the target.",
    "Only \"risk at most the target\" carries the confidence. Rates, upper bounds beside single "
    "levels, "
    "and curves describe; the bounds are pointwise.",
    "Each method's line stands alone at this confidence. Choosing the best of several methods, "
    "or a "
    "contract after looking at the results, is not covered: that is what WHAT-IF says.",
    "Empirical thresholding takes the last level whose observed rate is at most the target. It "
    "has no "
    "guarantee.",
    "The certificate is for the mixture of tasks, not for each task; the intervals on Tasks are a "
    "diagnosis beside it.",
    "Requests without a utility count as degraded.",
};

/* Lines of a text screen are collected first, so that filter and scrolling work on all of them. */
typedef struct {
    kr_view *v;
    kr_rect in;
    const char *filter;
    int line, top;
} page;

static bool matches(const page *p, const char *s, const char *t) {
    return p->filter[0] == '\0' || strstr(s, p->filter) != NULL ||
           (t != NULL && strstr(t, p->filter) != NULL);
}

static void put_line(page *p, kr_role ra, const char *a, int indent, kr_role rb, const char *b) {
    int y = p->line++ - p->top;
    if (y < 0 || y >= p->in.h)
        return;
    kr_canvas_field(p->v->c, p->in, 0, y, indent > 0 ? indent - 1 : p->in.w, KR_LEFT, ra, a);
    if (b != NULL)
        kr_canvas_field(p->v->c, p->in, indent, y, p->in.w - indent - 1, KR_LEFT, rb, b);
}

static void heading(page *p, const char *s) {
    if (p->filter[0] != '\0')
        return;
    if (p->line > 0)
        put_line(p, KR_ROLE_TEXT, "", 0, KR_ROLE_TEXT, NULL);
    put_line(p, KR_ROLE_TITLE, s, 0, KR_ROLE_TEXT, NULL);
}

static void paragraph(page *p, kr_role role, const char *s) {
    if (!matches(p, s, NULL))
        return;
    kr_rect r = {p->in.x, p->in.y, p->in.w - 1, p->in.h};
    int n = kr_canvas_wrap(NULL, r, role, s), y = p->line - p->top;
    if (y >= 0 && y < r.h)
        kr_canvas_wrap(p->v->c, (kr_rect){r.x, r.y + y, r.w, r.h - y}, role, s);
    p->line += n;
}

/* What a key of a more special binding does stands there alone. */
static void keys_of(page *p, kr_screen s, unsigned others) {
    unsigned bit = 1u << s;
    size_t n;
    const kr_binding *t = kr_keys_table(&n);
    for (size_t i = 0; i < n; i++) {
        bool here = (t[i].screens & bit) != 0 && (others == 0 || (t[i].screens & others) != others) &&
                    kr_keys_action(t[i].keys[0], s) == t[i].act;
        bool shown_before = false;
        for (size_t k = 0; k < i && here; k++)
            shown_before |= (t[k].screens & bit) != 0 && t[k].keys[0] == t[i].keys[0];
        if (here && !shown_before && matches(p, t[i].label, t[i].help))
            put_line(p, KR_ROLE_KEY, t[i].label, 11, KR_ROLE_TEXT, t[i].help);
    }
}

static void help_page(page *p) {
    kr_screen s = p->v->a->back;
    char title[64], name[48];
    const char *help;
    snprintf(title, sizeof title, "Keys on %s", kr_screen_name(s));
    heading(p, title);
    keys_of(p, s, 0);
    heading(p, "In this help and the messages");
    keys_of(p, KR_SCREEN_HELP, 1u << KR_SCREEN_MAIN);
    heading(p, "Commands (any unique beginning is enough)");
    for (size_t i = 0; i < kr_command_count(); i++) {
        kr_command_text(i, name, &help);
        if (matches(p, name, help))
            put_line(p, KR_ROLE_KEY, name, 19, KR_ROLE_TEXT, help);
    }
    heading(p, "What a certificate says, and what not");
    for (size_t i = 0; i < sizeof caveats / sizeof *caveats; i++)
        paragraph(p, KR_ROLE_TEXT, caveats[i]);
    heading(p, "Mouse");
    paragraph(
        p, KR_ROLE_TEXT,
        "Off, so that the terminal can select text; :set mouse on turns clicks on tabs and the "
        "wheel on, and Shift with the mouse then selects.");
}

/* Paragraphs ended by '\n'. */
static void paragraphs(page *p, const char *s) {
    while (*s != '\0') {
        char line[2048];
        size_t len = strcspn(s, "\n");
        snprintf(line, sizeof line, "%.*s", (int)len, s);
        paragraph(p, KR_ROLE_TEXT, line);
        s += len + (s[len] == '\n');
    }
}

static void statement_page(page *p) {
    const kr_app *a = p->v->a;
    kr_buf population = {0};
    char head[KR_HEADLINE];
    kr_role role;
    if (a->back == KR_SCREEN_CLAIMS) {
        snprintf(head, sizeof head, "%s: %s", kr_claim_name(kr_claims_selected(a)), kr_claim_title(a));
        heading(p, head);
        paragraphs(p, kr_claim_text(a));
        heading(p, "The contract");
    }
    if (a->back == KR_SCREEN_LEDGER) {
        heading(p, "Ledger");
        paragraphs(p, kr_buf_text(&a->book.detail));
        heading(p, "The screens");
    }
    kr_headline(a, p->in.w, head, sizeof head, &role);
    put_line(p, role, head, 0, KR_ROLE_TEXT, NULL);
    paragraph(p, KR_ROLE_TEXT, kr_buf_text(&a->f.statement));
    heading(p, "State");
    paragraph(p, KR_ROLE_TEXT, kr_buf_text(&a->f.state_sentence));
    heading(p, "Population");
    kr_population_text(a->an, &population);
    paragraph(p, KR_ROLE_TEXT, kr_buf_text(&population));
    kr_buf_free(&population);
    heading(p, "What a certificate says, and what not");
    for (size_t i = 0; i < sizeof caveats / sizeof *caveats; i++)
        paragraph(p, KR_ROLE_TEXT, caveats[i]);
}

static void messages_page(page *p) {
    const kr_app *a = p->v->a;
    if (a->n_messages == 0)
        put_line(p, KR_ROLE_DIM, "no messages yet", 0, KR_ROLE_TEXT, NULL);
    for (size_t i = 0; i < a->n_messages; i++) {
        char when[16] = "";
        struct tm tm;
        if (localtime_r(&a->messages[i].when, &tm) != NULL)
            strftime(when, sizeof when, "%H:%M:%S", &tm);
        put_line(p, KR_ROLE_DIM, when, 10, a->messages[i].error ? KR_ROLE_ERROR : KR_ROLE_TEXT,
                 a->messages[i].text);
    }
}

void kr_draw_text(kr_view *v, kr_rect r) {
    kr_app *a = v->a;
    if (kr_page_screen(a->screen)) {
        kr_draw_page(v, r);
        return;
    }
    bool help = a->screen == KR_SCREEN_HELP;
    char title[160];
    snprintf(title, sizeof title, "%s%s%s",
             help && a->help_statement ? "statement"
             : help                    ? "help"
                                       : "messages",
             help && a->text.filter[0] != '\0' ? " with " : "", help ? a->text.filter : "");
    kr_rect in = kr_view_pane(v, r, title, "Esc closes");
    page p = {.v = v, .in = in, .filter = help ? a->text.filter : "", .top = 0};
    void (*draw)(page *) = help && a->help_statement ? statement_page
                           : help                    ? help_page
                                                     : messages_page;
    p.top = 1 << 20; /* count the lines first */
    draw(&p);
    int n = p.line, top = a->text.at > n - in.h ? n - in.h : a->text.at;
    a->text.n = n > in.h ? (size_t)(n - in.h) : 0;
    if (a->text.at > (int)a->text.n)
        a->text.at = (int)a->text.n;
    p.line = 0;
    p.top = top < 0 ? 0 : top;
    draw(&p);
    kr_view_scroll(v, in, n, p.top);
    kr_view_cursor(v, in, 0, 0);
}
