/* pages.h - screens that are pages of text: plan, simulate. */
#ifndef KR_UI_PAGES_H
#define KR_UI_PAGES_H

#include "ui/model.h"

/* Each fills a->page, one line per row to be wrapped; its first character says how: '#' a heading,
 * '+' certified with a guarantee, '!' a warning, '-' dim, ' ' plain, '=' not wrapped. */
void kr_page_plan(kr_app *a, kr_buf *out);
void kr_page_simulate(kr_app *a, kr_buf *out);

bool kr_page_screen(kr_screen s); /* one of them */
void kr_page_refresh(kr_app *a);  /* after an event */

/* The simulation on screen: begun when the screen opens or Enter is pressed, told to stop by c. */
void kr_sim_begin(kr_app *a);
void kr_sim_stop(kr_app *a);
bool kr_sim_running(const kr_app *a);
bool kr_sim_wanted(const kr_app *a); /* the next tick begins one */
bool kr_sim_tick(kr_app *a); /* new numbers are there */

/* Policy: the selected level against the marked one, or the level above; "" when there is none. */
void kr_pair_words(kr_app *a, char *out, size_t cap);
void kr_pair_mark(kr_app *a);

#endif
