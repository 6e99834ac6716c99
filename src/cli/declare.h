/* declare.h - a contract that is declared before anything is measured, and its date. */
#ifndef KR_CLI_DECLARE_H
#define KR_CLI_DECLARE_H

#include <stdbool.h>

#include "risk/contract.h"

enum { KR_CLI_DATE = 16 }; /* "YYYY-MM-DD" */

/* Reads "TOLERANCE,RISK,CONFIDENCE[,METHOD]", which it cuts; *method points into it or is NULL.
 * KR_EINVAL with a sentence where parts are missing, a number is none or the contract is out of its
 * domain: a contract that no reader of the file would take must not be written into one. */
kr_status kr_cli_declare_read(char *text, kr_contract *k, const char **method, kr_error *err);

/* A date of the calendar, YYYY-MM-DD. */
bool kr_cli_is_date(const char *s);

/* Today's date in UTC; false when there is none. */
bool kr_cli_today(char date[KR_CLI_DATE]);

#endif
