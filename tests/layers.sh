#!/bin/sh
# The arrows between rooms, the only printer and the only file that knows ncurses.
set -eu
bad=0
# room: the rooms it may include from
allow() {
    room=$1
    shift
    pattern=$(echo "$*" | tr ' ' '|')
    for f in "$room"/*.c "$room"/*.h; do
        [ -e "$f" ] || continue
        found=$(grep -nE '^#include "' "$f" | grep -vE "#include \"($pattern)/" || true)
        [ -z "$found" ] || { echo "$f: $found"; bad=1; }
    done
}
allow src/base base
allow src/risk base risk
allow src/calib base calib
allow src/verdict base calib risk verdict
allow src/export base calib risk verdict export
allow src/ledger base calib risk verdict export ledger
allow src/engine base engine
allow src/evict base engine evict
allow src/sample base engine evict calib sample
allow src/cli base calib risk verdict export ledger engine evict sample cli
allow ui base calib risk verdict export ledger sample ui

found=$(grep -rnE '#include <(curses|ncurses|term)[./]' src ui | grep -v '^ui/term\.c:' || true)
[ -z "$found" ] || { echo "ncurses outside ui/term.c: $found"; bad=1; }
found=$(grep -rnE '\b(printf|puts|putchar|fputs|perror) ?\(' src --include='*.c' \
    | grep -vE '^src/(cli/|kvrisk\.c)' | grep -vE '(fputs|fprintf) ?\([^;]*, ?(f|w|out|to)\)' \
    | grep -vE '\b(v?snprintf|vfprintf|[a-z_]+_printf|[a-z_]+_puts)\b' || true)
[ -z "$found" ] || { echo "printing outside src/cli: $found"; bad=1; }
found=$(grep -rnE '\bexit ?\(' src ui --include='*.c' | grep -vE '_exit|^src/kvrisk\.c' || true)
[ -z "$found" ] || { echo "exit() in a room: $found"; bad=1; }
exit $bad
