/* pages.c - what Plan and Simulate have in common. */
#include "ui/pages.h"

bool kr_page_screen(kr_screen s) {
    return s == KR_SCREEN_PLAN || s == KR_SCREEN_SIMULATE;
}

void kr_draw_page(kr_view *v, kr_rect r) {
    if (v->a->screen == KR_SCREEN_PLAN)
        kr_draw_plan(v, r);
    else
        kr_draw_simulate(v, r);
}
