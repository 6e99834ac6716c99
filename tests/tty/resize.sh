#!/bin/sh
# Resize while sweeping: every step of size, down to one line and back.
. tests/tty/lib.sh
start 120 36 -- "$here/kvrisk" "$sample"
see "verdict"
keys Down
for size in "80 24 methods" "60 16 stopped" "40 10 needs 60x16, has 40x10" "100 30 methods" "200 60 level by level" "20 2 kvrisk needs" "160 48 map: certified"; do
    set -- $size
    w=$1 h=$2
    shift 2
    keys Right
    t resize-window -x "$w" -y "$h"
    keys Right
    if [ "$w" = 80 ]; then see "┤"; else see "$*"; fi
done
see "WHAT-IF"
keys 0
see "LOCKED"
t resize-window -x 80 -y 24
see "├─ SNAPKV  ✔ CERTIFIED at 65 %"
# nothing of the larger screens is left over
[ "$(screen | grep -c '╰')" = 1 ] || fail "leftovers after the resize"
keys q
