/* modes.h - options for other claims than the plain contract, and how they are printed. */
#ifndef KR_CLI_MODES_H
#define KR_CLI_MODES_H

#include "cli/common.h"
#include "verdict/modes.h"

enum { OPT_MODE = OPT_OWN + 100, OPT_LOSS, OPT_MEAN, OPT_WEIGHTS, OPT_SEED };

#define KR_MODE_OPTIONS                                                                            \
    {"mode", required_argument, NULL, OPT_MODE}, {"loss", required_argument, NULL, OPT_LOSS},      \
        {"mean", required_argument, NULL, OPT_MEAN},                                               \
        {"weights", required_argument, NULL, OPT_WEIGHTS}, {"seed", required_argument, NULL, OPT_SEED}

#define KR_MODE_HELP                                                                               \
    "  --loss event|mean     the share of degraded requests (default), or the mean drop as a share\n" \
    "                        of the utility range, held against --risk\n"                           \
    "  --mean wsr|hb|bernstein  how the mean is bounded: betting in rounds (default), Hoeffding-\n" \
    "                        Bentkus, empirical Bernstein\n"                                        \
    "  --weights TASK=W,...  another mixture of tasks (all rows)\n"                                 \
    "  --mode MODE           events, tolerances, risks, map, confidence (picked after looking),\n"  \
    "                        mixture, subsample, worst_task, cluster_one, cluster_mean,\n"          \
    "                        cluster_max, mean_drop; all: every one, for each method\n"             \
    "  --seed N              of subsample and cluster_one (default 1)\n"

typedef struct {
    const char *mode, *mean, *weights, *seed;
    bool mean_loss;
} kr_mode_args;

/* Takes one of KR_MODE_OPTIONS; false: not one of them. */
bool kr_cli_mode_option(const kr_cli_args *args, kr_mode_args *m, int option, const char *value);
/* Some other claim than the plain contract is asked for, or declared by the file. */
bool kr_cli_mode_asked(const kr_mode_args *m, const kr_analysis *a);
/* Prints it for one method or all (KR_ALL_METHODS); returns the exit status. */
int kr_cli_modes(const kr_cli_args *args, const kr_mode_args *m, kr_analysis *a, size_t method);

#endif
