/* common.h - what several subcommands share: contract options, opening a file, messages. */
#ifndef KR_CLI_COMMON_H
#define KR_CLI_COMMON_H

#include <getopt.h>
#include <stdbool.h>

#include "verdict/verdict.h"

/* Long options that every command with a contract takes; put KR_CONTRACT_OPTIONS into its
 * struct option array and hand their values to kr_cli_contract_option. */
enum { OPT_TOLERANCE = 1000, OPT_RISK, OPT_CONFIDENCE, OPT_METHOD, OPT_SPLIT, OPT_ASSUME, OPT_JSON,
       OPT_CSV, OPT_HELP, OPT_FAMILY, OPT_OWN };

#define KR_CONTRACT_OPTIONS                                                                        \
    {"tolerance", required_argument, NULL, OPT_TOLERANCE}, {"risk", required_argument, NULL, OPT_RISK}, \
        {"confidence", required_argument, NULL, OPT_CONFIDENCE},                                   \
        {"split", required_argument, NULL, OPT_SPLIT},                                             \
        {"assume-independent", no_argument, NULL, OPT_ASSUME},                                     \
        {"family", no_argument, NULL, OPT_FAMILY}, {"help", no_argument, NULL, OPT_HELP}

#define KR_CONTRACT_HELP                                                                           \
    "  --tolerance T         largest acceptable drop in utility (default: the file's, else 0.10)\n" \
    "  --risk R              how often the drop may exceed it, 0.05 or 5%\n"                       \
    "  --confidence C        0.95 or 95%\n"                                                        \
    "  --split cal|test      requests to judge on (default cal)\n"                                 \
    "  --assume-independent  treat requests that share a cluster as independent; is printed\n"       \
    "  --family              one error budget for the choice among all methods\n"

typedef struct {
    const char *name; /* of the subcommand, for messages */
    const char *tolerance, *risk, *confidence, *method;
    kr_analysis_options options;
    bool json, csv, usage_error;
} kr_cli_args;

/* "kvrisk NAME: sentence" on stderr; returns `status`. */
int kr_cli_say(const char *name, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Takes an option of KR_CONTRACT_OPTIONS, --method, --json or --csv; false: not one of them. A value
 * that makes no sense sets usage_error after a message. */
bool kr_cli_contract_option(kr_cli_args *a, int option, const char *value);

/* Opens the file, makes the analysis, sets the contract given. Returns KR_EXIT_OK or the exit status
 * after a message; the caller frees both. */
int kr_cli_open(const kr_cli_args *a, const char *path, kr_calib **c, kr_analysis **an);

/* Index of args->method, or KR_ALL_METHODS (certificate.h) when none was asked; false after a
 * message that lists the methods. */
bool kr_cli_method(const kr_cli_args *a, const kr_calib *c, size_t *method);

/* Text made safe for a terminal. */
void kr_cli_put_safe(const char *text);

/* A whole number in min..max and nothing else. */
bool kr_cli_whole(const char *text, int64_t min, int64_t max, int64_t *out);

/* stdout is flushed and checked: a full disk or a closed pipe is an error, not a success. */
int kr_cli_done(const char *name, int status);

/* Where standard output is a pipe: from now on this program ends as soon as nobody can read it any
 * more, also in the middle of long work, so that a reader that was killed leaves nothing behind. */
void kr_cli_end_with_reader(void);

#endif
