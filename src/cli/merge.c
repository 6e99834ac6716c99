/* merge.c - `kvrisk merge`: the shards of a calibration run become one file. */
#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/common.h"
#include "sample/calibrate.h"

enum { OPT_FORCE = OPT_OWN };

static const char help[] =
    "usage: kvrisk merge SHARD... -o FILE [--force]\n"
    "\n"
    "Puts the files of kvrisk calibrate --shard 1/N .. N/N, in any order, together: the same\n"
    "bytes as one run without --shard. All must have been made with the same settings.\n"
    "--force replaces FILE when it exists; a shard is never replaced.\n"
    "\n"
    "exit status: 0 done, 1 error, 2 usage\n";

int kr_cli_merge(int argc, char **argv) {
    static const struct option longs[] = {{"force", no_argument, NULL, OPT_FORCE},
                                          {"help", no_argument, NULL, OPT_HELP},
                                          {NULL, 0, NULL, 0}};
    const char *out = NULL;
    bool force = false;
    kr_error err = {KR_OK, ""};
    for (int c; (c = getopt_long(argc, argv, "o:", longs, NULL)) != -1;) {
        if (c == OPT_HELP) {
            fputs(help, stdout);
            return KR_EXIT_OK;
        }
        if (c != 'o' && c != OPT_FORCE)
            return KR_EXIT_USAGE;
        force = force || c == OPT_FORCE;
        out = c == 'o' ? optarg : out;
    }
    if (out == NULL || optind == argc)
        return kr_cli_say("merge", KR_EXIT_USAGE,
                          "expected SHARD... and -o FILE (see kvrisk merge --help)");
    for (int i = optind; i < argc; i++)
        if (kr_file_same(out, argv[i]))
            return kr_cli_say("merge", KR_EXIT_ERROR, "%s is a shard: it would be replaced", out);
    if (!force && access(out, F_OK) == 0)
        return kr_cli_say("merge", KR_EXIT_ERROR, "%s exists; --force replaces it", out);
    if (kr_calibrate_merge((const char *const *)argv + optind, (size_t)(argc - optind), out, force,
                           &err) != KR_OK)
        return kr_cli_say("merge", KR_EXIT_ERROR, "%s", err.msg);
    return kr_cli_done("merge", KR_EXIT_OK);
}
