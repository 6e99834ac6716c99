#include "ui/prompt.h"

#include <stdio.h>
#include <string.h>
#include <unistr.h>

#include "ui/keys.h"

void kr_prompt_open(kr_prompt *p, kr_prompt_kind kind, const char *label, const char *text) {
    p->kind = kind;
    snprintf(p->label, sizeof p->label, "%s", label);
    kr_prompt_set(p, text);
}

void kr_prompt_close(kr_prompt *p) { *p = (kr_prompt){.kind = KR_PROMPT_NONE}; }

void kr_prompt_set(kr_prompt *p, const char *text) {
    snprintf(p->text, sizeof p->text, "%s", text);
    p->len = p->at = strlen(p->text);
}

static size_t before(const kr_prompt *p) {
    size_t at = p->at;
    while (at > 0 && ((unsigned char)p->text[--at] & 0xc0) == 0x80)
        continue;
    return at;
}

static size_t after(const kr_prompt *p) {
    size_t at = p->at < p->len ? p->at + 1 : p->len;
    while (at < p->len && ((unsigned char)p->text[at] & 0xc0) == 0x80)
        at++;
    return at;
}

static void cut(kr_prompt *p, size_t from, size_t to) {
    memmove(p->text + from, p->text + to, p->len - to + 1);
    p->len -= to - from;
    p->at = from;
}

static void insert(kr_prompt *p, int key) {
    uint8_t bytes[6];
    int n = u8_uctomb(bytes, (ucs4_t)key, sizeof bytes);
    p->full = n > 0 && p->len + (size_t)n >= sizeof p->text;
    if (n <= 0 || p->full)
        return;
    memmove(p->text + p->at + n, p->text + p->at, p->len - p->at + 1);
    memcpy(p->text + p->at, bytes, (size_t)n);
    p->len += (size_t)n;
    p->at += (size_t)n;
}

static size_t word_start(const kr_prompt *p) {
    size_t at = p->at;
    while (at > 0 && p->text[at - 1] == ' ')
        at--;
    while (at > 0 && p->text[at - 1] != ' ')
        at--;
    return at;
}

static kr_prompt_result answer(kr_prompt *p, int key) {
    if (key == 'y' || key == 'Y') {
        kr_prompt_set(p, "y");
        return KR_PROMPT_DONE;
    }
    bool no = key == 'n' || key == 'N' || key == KR_KEY_ENTER || key == KR_KEY_ESC;
    return no ? KR_PROMPT_LEFT : KR_PROMPT_IGNORED;
}

kr_prompt_result kr_prompt_key(kr_prompt *p, int key) {
    p->full = false;
    if (p->kind == KR_PROMPT_YESNO)
        return answer(p, key);
    switch (key) {
    case KR_KEY_ENTER: return KR_PROMPT_DONE;
    case KR_KEY_ESC: return KR_PROMPT_LEFT;
    case '\t': return KR_PROMPT_TAB;
    case KR_KEY_UP: return KR_PROMPT_OLDER;
    case KR_KEY_DOWN: return KR_PROMPT_NEWER;
    case KR_KEY_LEFT: p->at = before(p); break;
    case KR_KEY_RIGHT: p->at = after(p); break;
    case KR_KEY_HOME:
    case KR_CTRL('a'): p->at = 0; break;
    case KR_KEY_END:
    case KR_CTRL('e'): p->at = p->len; break;
    case KR_KEY_BACKSPACE: cut(p, before(p), p->at); break;
    case KR_KEY_DELETE: cut(p, p->at, after(p)); break;
    case KR_CTRL('u'): cut(p, 0, p->at); break;
    case KR_CTRL('k'): p->text[p->len = p->at] = '\0'; break;
    case KR_CTRL('w'): cut(p, word_start(p), p->at); break;
    default:
        if (key < ' ' || key >= KR_KEY_UNKNOWN || (key >= 0x7f && key < 0xa0))
            return KR_PROMPT_IGNORED;
        insert(p, key);
    }
    return KR_PROMPT_EDITED;
}

int kr_prompt_draw(kr_canvas *c, kr_rect r, int y, const kr_prompt *p) {
    kr_canvas_field(c, r, 0, y, r.w, KR_LEFT, KR_ROLE_TEXT, "");
    int x = 1 + kr_canvas_str(c, r, 1, y, KR_ROLE_KEY, p->label);
    char head[256];
    snprintf(head, sizeof head, "%.*s", (int)p->at, p->text);
    const char *text = p->text;
    int cursor = kr_text_width(head), room = r.w - x - 1;
    while (cursor >= room && *text != '\0' && room > 0) {
        uint32_t cp;
        int n = kr_text_next(text, &cp);
        cursor -= kr_text_width(text) - kr_text_width(text + n);
        text += n;
    }
    kr_canvas_str(c, r, x, y, KR_ROLE_VALUE, text);
    const char *under = p->text + p->at;
    uint32_t cp = ' ';
    if (*under != '\0')
        kr_text_next(under, &cp);
    if (p->kind != KR_PROMPT_YESNO)
        kr_canvas_put(c, r, x + cursor, y, KR_ROLE_FOCUS, cp);
    return r.x + x + cursor;
}
