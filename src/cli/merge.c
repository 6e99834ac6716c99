/* merge.c - `kvrisk merge`: the shards of a calibration run become one file. */
#include <getopt.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/common.h"
#include "sample/calibrate.h"

static const char help[] =
    "usage: kvrisk merge SHARD... -o FILE\n"
    "\n"
    "Puts the files of kvrisk calibrate --shard 1/N .. N/N, in any order, together: the same\n"
    "bytes as one run without --shard. All must have been made with the same settings.\n"
    "\n"
    "exit status: 0 done, 1 error, 2 usage\n";

int kr_cli_merge(int argc, char **argv) {
    static const struct option longs[] = {{"help", no_argument, NULL, OPT_HELP},
                                          {NULL, 0, NULL, 0}};
    const char *out = NULL;
    kr_error err = {KR_OK, ""};
    for (int c; (c = getopt_long(argc, argv, "o:", longs, NULL)) != -1;) {
        if (c == OPT_HELP) {
            fputs(help, stdout);
            return KR_EXIT_OK;
        }
        if (c != 'o')
            return KR_EXIT_USAGE;
        out = optarg;
    }
    if (out == NULL || optind == argc)
        return kr_cli_say("merge", KR_EXIT_USAGE,
                          "expected SHARD... and -o FILE (see kvrisk merge --help)");
    if (kr_calibrate_merge((const char *const *)argv + optind, (size_t)(argc - optind), out, true,
                           &err) != KR_OK)
        return kr_cli_say("merge", KR_EXIT_ERROR, "%s", err.msg);
    return kr_cli_done("merge", KR_EXIT_OK);
}
