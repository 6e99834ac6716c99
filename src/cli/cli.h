/* cli.h - one function per subcommand. argv[0] is "kvrisk NAME", as getopt's messages
 * should begin. Each parses its options with getopt_long, does its work, prints data on stdout and messages on
 * stderr as "kvrisk NAME: sentence", and returns the exit status. */
#ifndef KR_CLI_CLI_H
#define KR_CLI_CLI_H

enum {
    KR_EXIT_OK = 0,
    KR_EXIT_ERROR = 1,
    KR_EXIT_USAGE = 2,
    KR_EXIT_FALLBACK = 3 /* certify: full-KV fallback for every method asked */
};

int kr_cli_import(int argc, char **argv);
int kr_cli_certify(int argc, char **argv);
int kr_cli_sweep(int argc, char **argv);
int kr_cli_map(int argc, char **argv);
int kr_cli_info(int argc, char **argv);
int kr_cli_export(int argc, char **argv);
int kr_cli_score(int argc, char **argv);
int kr_cli_ledger(int argc, char **argv);
int kr_cli_lock(int argc, char **argv);
int kr_cli_confirm(int argc, char **argv);
int kr_cli_plan(int argc, char **argv);
int kr_cli_simulate(int argc, char **argv);
int kr_cli_compare(int argc, char **argv);
int kr_cli_eval(int argc, char **argv);
int kr_cli_model(int argc, char **argv);
int kr_cli_generate(int argc, char **argv);
int kr_cli_tasks(int argc, char **argv);
int kr_cli_calibrate(int argc, char **argv);
int kr_cli_merge(int argc, char **argv);

#endif
