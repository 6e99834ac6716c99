/* book.h - the ledger on its screen: what is in it, locking the contract that the screens show,
 * confirming a lock. Whatever opens the calibration file anew is announced and done after the frame. */
#ifndef KR_UI_BOOK_H
#define KR_UI_BOOK_H

#include "base/file.h"
#include "ledger/study.h"

struct kr_app;

typedef enum { KR_BOOK_IDLE, KR_BOOK_READ, KR_BOOK_START, KR_BOOK_LOCK, KR_BOOK_CONFIRM } kr_book_work;

/* A lock that was tested, as the certificate says it. */
typedef struct {
    bool there, certified, locked;
    int64_t lock, entry; /* their numbers */
    char head[160];      /* "KEYDIFF ✔ CERTIFIED at 30 %" */
    char state[16], name[64];
    kr_buf text;         /* paragraphs, each ended by '\n' */
    char *json;
} kr_book_result;

typedef struct {
    bool known;          /* what follows was read */
    bool there;          /* the file has a ledger */
    char damage[512];    /* why it cannot be used, "" */
    kr_ledger ledger;
    kr_study_budget budget;
    int64_t *tests;      /* [entries] requests that confirming this lock would test, -1: no lock */
    size_t exploring, unopened, opened; /* requests */
    int selected, top;
    size_t seen;         /* entries when it was read last: newer ones are selected */

    bool stamped;        /* the ledger's file was there when the screens were made */
    kr_stamp stamp;
    bool changed;        /* and is not what it was */
    bool noticed;        /* the same of what was noticed last */
    kr_stamp notice;

    kr_book_work work;   /* to be done after this frame */
    kr_ledger_entry entry;
    int64_t lock;
    kr_book_result result;
    kr_buf detail;       /* what is said of the selected entry */
} kr_book;

void kr_book_free(kr_book *b);
void kr_book_forget(struct kr_app *a);  /* the file is read again; results are kept */
void kr_book_stamp(struct kr_app *a);   /* what the screens are made from is as of now */
/* Drops LOCKED at once when the ledger's file is not what it was; true when that is news. */
bool kr_book_notice(struct kr_app *a);
void kr_book_refresh(struct kr_app *a); /* after an event */
void kr_book_settle(struct kr_app *a);  /* does the work that waits */

/* ":ledger start 25% seed 3 budget 0.1", and the same with what is usual to be edited. */
void kr_book_start(struct kr_app *a, const char *arguments);
void kr_book_offer_start(struct kr_app *a);
void kr_book_ask_lock(struct kr_app *a);
void kr_book_ask_confirm(struct kr_app *a, int64_t lock); /* 0: the selected one, else the last open one */
void kr_book_enter(struct kr_app *a);
void kr_book_begin(struct kr_app *a, kr_book_work work);  /* the question was answered */

/* Fills `detail` for the selected entry, or for a file without a ledger. */
void kr_book_describe(struct kr_app *a);

/* Whether a lock was confirmed, with at least one look that was no exploration. */
bool kr_book_confirmed(const kr_book *b, int64_t lock);
const kr_ledger_entry *kr_book_entry(const kr_book *b, int64_t number); /* NULL: none */

#endif
