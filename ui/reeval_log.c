#include "ui/reeval_log.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static void drop_oldest(kr_log *l) {
    free(l->line[0].text);
    memmove(l->line, l->line + 1, (l->n - 1) * sizeof *l->line);
    l->n--;
    l->lost++;
}

void kr_log_add(kr_log *l, time_t when, const char *text, size_t len) {
    char safe[KR_LOG_LINE];
    kr_text_safe(safe, sizeof safe, text, len);
    char *copy = strdup(safe);
    if (l->n == KR_LOG_LINES)
        drop_oldest(l);
    if (copy != NULL && l->n == l->cap) {
        size_t cap = l->cap == 0 ? 32 : 2 * l->cap;
        kr_log_line *more = realloc(l->line, cap * sizeof *more);
        l->line = more != NULL ? more : l->line;
        l->cap = more != NULL ? cap : l->cap;
    }
    if (copy == NULL || l->n == l->cap) {
        free(copy);
        l->lost++;
        return;
    }
    l->line[l->n++] = (kr_log_line){when, copy};
}

void kr_log_free(kr_log *l) {
    for (size_t i = 0; i < l->n; i++)
        free(l->line[i].text);
    free(l->line);
    *l = (kr_log){.n = 0};
}
