/* pages.h - the screens Plan and Simulate. */
#ifndef KR_UI_PAGES_H
#define KR_UI_PAGES_H

#include "ui/model.h"

bool kr_page_screen(kr_screen s); /* one of them */

/* What Plan shows, counted again after an event only where something changed. */
void kr_plan_refresh(kr_app *a);
void kr_plan_forget(kr_app *a);
void kr_draw_plan(kr_view *v, kr_rect r);

/* The simulation on screen: begun when the screen opens or Enter is pressed, told to stop by c. */
void kr_sim_begin(kr_app *a);
void kr_sim_stop(kr_app *a);
bool kr_sim_running(const kr_app *a);
bool kr_sim_wanted(const kr_app *a); /* the next tick begins one */
bool kr_sim_tick(kr_app *a); /* new numbers are there */
void kr_sim_set(kr_app *a, const char *name, const char *value); /* :sim draws|n|seed|threads N */
void kr_draw_simulate(kr_view *v, kr_rect r);

/* Policy: the selected level against the marked one, or the level above; "" when there is none. */
void kr_pair_words(kr_app *a, char *out, size_t cap);
void kr_pair_mark(kr_app *a);

/* 1234567 as "1,234,567". */
const char *kr_thousands(int64_t v, char out[32]);

#endif
