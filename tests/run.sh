#!/bin/sh
# Runs test programs and scripts, two at a time, and sums them up.
#
# Exit status of a test: 0 passed, 77 skipped, anything else failed. A failing test's output is
# printed whole; of the others only lines that start with "note: " (figures) or "skip: " (why).
# RUNNER, when set, is put before each program (valgrind).
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT INT TERM
export RUNNER="${RUNNER-}" dir
# What a user's own ledgers and settings say must not reach a test.
export XDG_STATE_HOME="$dir/xdg/state" XDG_CONFIG_HOME="$dir/xdg/config"
# Simulations make fewer draws under valgrind; each prints how many.
[ -n "$RUNNER" ] && export KR_SIM_DRAWS="${KR_SIM_DRAWS:-500}"

one='
t=$1; n=$(echo "$t" | tr / _)
case $t in
    *.sh) sh "$t" >"$dir/$n.out" 2>&1 </dev/null; r=$? ;;
    *) $RUNNER "$t" >"$dir/$n.out" 2>&1 </dev/null; r=$? ;;
esac
case $r in
    0) w=ok ;;
    77) w=skip ;;
    *) w=FAIL ;;
esac
echo "$w" >"$dir/$n.rc"
{ printf "%-5s %s\n" "$w" "$t"
  if [ "$w" = FAIL ]; then sed "s/^/      /" "$dir/$n.out"; echo "      exit status $r"
  else grep -E "^(note|skip): " "$dir/$n.out" | sed "s/^/      /"; fi; } >"$dir/$n.say"
cat "$dir/$n.say"
'
printf '%s\n' "$@" | xargs -P 2 -n 1 sh -c "$one" sh

count() { cat "$dir"/*.rc 2>/dev/null | grep -c "^$1\$"; }
p=$(count ok) f=$(count FAIL) s=$(count skip)
[ "$f" -gt 0 ] && { echo "failed:"; grep -l '^FAIL$' "$dir"/*.rc | sed 's/.*\//  /; s/\.rc$//'; }
echo "$p passed, $f failed, $s skipped"
[ "$f" -eq 0 ] && [ "$p" -gt 0 ]
