#include "ui/theme.h"

#include <math.h>
#include <string.h>

/* Columns: 256 colours by theme, then the eight-colour palette for dark and light grounds.
 * Certified and fallback are blue and orange, which stay apart under the common colour vision
 * deficiencies; every role also has a word or a mark on the screen. The default theme's colours
 * keep a contrast of 3 and more on white and on black. Plain blue (4) is never used on dark. */
typedef struct {
    char letter;
    short def, light, dark, contrast, c8, c8_light;
    unsigned attr;
} role_row;

static const role_row roles[KR_ROLE_COUNT] = {
    [KR_ROLE_TEXT] = {'.', -1, 236, 252, 15, -1, -1, 0},
    [KR_ROLE_DIM] = {'d', 244, 241, 246, 252, -1, -1, 0},
    [KR_ROLE_FRAME] = {'f', 244, 247, 240, 250, -1, -1, 0},
    [KR_ROLE_TITLE] = {'t', -1, 232, 255, 15, -1, -1, KR_ATTR_BOLD},
    [KR_ROLE_VALUE] = {'v', -1, 232, 255, 15, -1, -1, KR_ATTR_BOLD},
    [KR_ROLE_FOCUS] = {'F', -1, 232, 255, 15, -1, -1, KR_ATTR_BOLD | KR_ATTR_REVERSE},
    [KR_ROLE_CERT] = {'C', 33, 25, 75, 87, 6, 4, KR_ATTR_BOLD},
    [KR_ROLE_FALL] = {'O', 166, 130, 208, 214, 3, 1, KR_ATTR_BOLD},
    [KR_ROLE_EMP] = {'e', 244, 241, 246, 252, -1, -1, 0},
    [KR_ROLE_TARGET] = {'T', 162, 161, 211, 219, 5, 5, 0},
    [KR_ROLE_UPPER] = {'U', 65, 28, 114, 120, 2, 2, 0},
    [KR_ROLE_WARN] = {'W', 166, 130, 215, 226, 3, 1, KR_ATTR_BOLD},
    [KR_ROLE_ERROR] = {'E', 196, 160, 203, 217, 1, 1, KR_ATTR_BOLD},
    [KR_ROLE_KEY] = {'k', -1, 232, 255, 15, -1, -1, KR_ATTR_BOLD},
    [KR_ROLE_TAB] = {'B', -1, 232, 255, 15, -1, -1, KR_ATTR_BOLD | KR_ATTR_REVERSE},
    [KR_ROLE_CURVE] = {'c', 33, 25, 75, 87, 6, 4, 0},
    [KR_ROLE_HEAT0] = {'0', 0, 0, 0, 0, -1, -1, 0},
    [KR_ROLE_HEAT0 + 1] = {'1', 0, 0, 0, 0, -1, -1, 0},
    [KR_ROLE_HEAT0 + 2] = {'2', 0, 0, 0, 0, -1, -1, 0},
    [KR_ROLE_HEAT0 + 3] = {'3', 0, 0, 0, 0, -1, -1, 0},
    [KR_ROLE_HEAT0 + 4] = {'4', 0, 0, 0, 0, -1, -1, 0},
    [KR_ROLE_HEAT0 + 5] = {'5', 0, 0, 0, 0, -1, -1, 0},
    [KR_ROLE_HEAT0 + 6] = {'6', 0, 0, 0, 0, -1, -1, 0},
    [KR_ROLE_HEAT0 + 7] = {'7', 0, 0, 0, 0, -1, -1, 0},
    [KR_ROLE_HEAT0 + 8] = {'8', 0, 0, 0, 0, -1, -1, 0},
    [KR_ROLE_HEAT9] = {'9', 0, 0, 0, 0, -1, -1, 0},
};

/* One hue, luminance strictly monotone: keeps much (pale) .. keeps little (deep). */
static const short heat_pale_first[10] = {231, 195, 153, 117, 75, 39, 33, 32, 26, 18};
/* The same without white, for a ground that is not known. */
static const short heat_any[10] = {195, 153, 117, 75, 39, 33, 32, 26, 25, 18};
/* On dark grounds the order is turned, so that "keeps much" recedes into the ground. */
static const short heat_dark_first[10] = {16, 17, 18, 19, 25, 26, 32, 75, 117, 159};

static const char *const names[KR_THEME_COUNT] = {"default", "light", "dark", "high-contrast",
                                                  "mono"};

const char *kr_theme_name(kr_theme theme) { return names[theme]; }

bool kr_theme_find(const char *name, kr_theme *out) {
    for (int i = 0; i < KR_THEME_COUNT; i++)
        if (strcmp(names[i], name) == 0) {
            *out = (kr_theme)i;
            return true;
        }
    return false;
}

char kr_role_letter(kr_role role) { return roles[role].letter; }

kr_depth kr_depth_of(int colors) {
    return colors >= 256 ? KR_DEPTH_256 : colors >= 8 ? KR_DEPTH_8 : KR_DEPTH_MONO;
}

double kr_palette_luminance(int index) {
    static const unsigned char low[16][3] = {
        {0, 0, 0},     {205, 0, 0},     {0, 205, 0},     {205, 205, 0},  {0, 0, 238}, {205, 0, 205},
        {0, 205, 205}, {229, 229, 229}, {127, 127, 127}, {255, 0, 0},    {0, 255, 0}, {255, 255, 0},
        {92, 92, 255}, {255, 0, 255},   {0, 255, 255},   {255, 255, 255}};
    static const unsigned char level[6] = {0, 95, 135, 175, 215, 255};
    static const double weight[3] = {0.2126, 0.7152, 0.0722};
    double sum = 0;
    for (int k = 0; k < 3; k++) {
        int v = index < 16    ? low[index][k]
                : index < 232 ? level[(index - 16) /
                                      (k == 0   ? 36
                                       : k == 1 ? 6
                                                : 1) %
                                      6]
                              : 8 + 10 * (index - 232);
        double s = v / 255.0;
        sum += weight[k] * (s <= 0.03928 ? s / 12.92 : pow((s + 0.055) / 1.055, 2.4));
    }
    return sum;
}

double kr_palette_contrast(int a, int b) {
    double la = kr_palette_luminance(a), lb = kr_palette_luminance(b);
    return la > lb ? (la + 0.05) / (lb + 0.05) : (lb + 0.05) / (la + 0.05);
}

static kr_style heat(kr_theme theme, kr_depth depth, int step, bool picked) {
    if (depth != KR_DEPTH_256 || theme == KR_THEME_MONO)
        return (kr_style){-1, -1, picked ? (unsigned)KR_ATTR_REVERSE : 0};
    bool dark = theme == KR_THEME_DARK || theme == KR_THEME_CONTRAST;
    const short *ramp = dark                      ? heat_dark_first
                        : theme == KR_THEME_LIGHT ? heat_pale_first
                                                  : heat_any;
    short bg = ramp[step];
    short fg = kr_palette_contrast(15, bg) > kr_palette_contrast(16, bg) ? 15 : 16;
    return (kr_style){fg, bg, picked ? KR_ATTR_BOLD | KR_ATTR_UNDERLINE : 0};
}

static short colour(const role_row *r, kr_theme theme, kr_depth depth) {
    bool light = theme == KR_THEME_LIGHT;
    if (depth == KR_DEPTH_8)
        return light ? r->c8_light : r->c8;
    switch (theme) {
    case KR_THEME_LIGHT: return r->light;
    case KR_THEME_DARK: return r->dark;
    case KR_THEME_CONTRAST: return r->contrast;
    case KR_THEME_DEFAULT: return r->def;
    case KR_THEME_MONO:
    case KR_THEME_COUNT: break;
    }
    return -1;
}

kr_style kr_theme_style(kr_theme theme, kr_depth depth, kr_role role, bool picked) {
    if (role >= KR_ROLE_HEAT0 && role <= KR_ROLE_HEAT9)
        return heat(theme, depth, (int)role - KR_ROLE_HEAT0, picked);
    const role_row *r = &roles[role];
    if (theme == KR_THEME_MONO)
        depth = KR_DEPTH_MONO;
    kr_style s = {-1, -1, r->attr};
    if (depth != KR_DEPTH_MONO)
        s.fg = colour(r, theme, depth);
    if (depth == KR_DEPTH_MONO && (role == KR_ROLE_FRAME || role == KR_ROLE_DIM))
        s.attr |= 0u; /* no dim attribute: many terminals render it unreadably */
    if (!picked)
        return s;
    /* On a ground we know, the row keeps its colours on a shade; else it is reversed whole. */
    if (depth == KR_DEPTH_256 && theme == KR_THEME_DARK)
        s.bg = 237;
    else if (depth == KR_DEPTH_256 && theme == KR_THEME_LIGHT)
        s.bg = 253;
    else
        s = (kr_style){-1, -1, KR_ATTR_REVERSE | (r->attr & KR_ATTR_BOLD)};
    return s;
}
