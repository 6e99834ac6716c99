/* run.h - the two ways to see the screens: in the terminal, and as text without one. */
#ifndef KR_UI_RUN_H
#define KR_UI_RUN_H

/* `kvrisk [OPTIONS] [FILE]`: the screens in the terminal; with `--print SCREEN [--size WxH]
 * [--ascii]
 * [--keys KEYS]` one screen as text on standard output. argv[0] is skipped. The file may be NULL in
 * argv: then the bundled sample is opened. `--help` writes its options on
 * standard output, after what the caller said of its commands. Returns the exit status. */
int kr_ui_run(int argc, char **argv);

#endif
