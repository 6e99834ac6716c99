#!/bin/sh
# NO_COLOR, LC_ALL=C, other terminal types, none at all.
. tests/tty/lib.sh

start 80 24 -- "$here/kvrisk" "$sample"
see "CERTIFIED at 30 %"
t capture-pane -p -e | grep -q '38;5;33m' || fail "no colour by default"

# messages of libraries cannot tear the screen: they go to the log
[ -e "$tmp/state/kvrisk/log" ] || fail "standard error is not in the state log"

start 80 24 NO_COLOR=1 -- "$here/kvrisk" "$sample"
see "CERTIFIED at 30 %"
keys Down
see "SNAPKV"
if t capture-pane -p -e | grep -qE '\[(3[0-7]|38)'; then fail "colours with NO_COLOR"; fi
see "▸ snapkv" # the selection is a mark as well

start 80 24 NO_COLOR=1 -- "$here/kvrisk" --color always "$sample"
see "CERTIFIED at 30 %"
t capture-pane -p -e | grep -q '38;5;33m' || fail "--color always is not stronger than NO_COLOR"

start 80 24 LC_ALL=C -- "$here/kvrisk" "$sample"
see "KEYDIFF  + CERTIFIED at 30 %"
see "[LOCKED]"
screen | LC_ALL=C grep -q '[^ -~]' && fail "not ASCII with LC_ALL=C"

start 80 24 -- "$here/kvrisk" --ascii "$sample"
see "+- KEYDIFF"

for term in screen xterm vt100; do
    start 80 24 TERM=$term -- "$here/kvrisk" "$sample"
    see "CERTIFIED at 30 %"
    keys Down
    see "SNAPKV"
    keys q
done

# Where there is no other screen to go back to, the shell goes on in a clean line.
for term in linux vt100; do
    start 80 24 TERM=$term -- sh -c "'$here/kvrisk $sample; echo; echo ended; exec sleep 60'"
    see "q quit"
    keys q
    see ended
    unseen "q quit"
    start 80 24 TERM=$term -- sh -c "'sh -c \"echo \\\$\\\$ >$tmp/pid; exec $here/kvrisk $sample\"; echo; echo ended; exec sleep 60'"
    see "q quit"
    kill -s SEGV "$(cat "$tmp/pid")"
    see ended
    unseen "q quit"
done

# A paste is no keys; in a prompt it is text. Its marks are off afterwards.
start 80 24 -- "$here/kvrisk" "$sample"
see "CERTIFIED at 30 %"
t set-buffer "2q:q!"
t paste-buffer -p
see "pasted text is not taken as keys"
keys :
t set-buffer "tol 0.2"
t paste-buffer -p
see ":tol 0.2"
keys Enter
see "0.200"
keys q
until_true ended || fail "q after a paste"
for way in q TERM SEGV; do
    start 80 24 -- sh -c "'sh -c \"echo \\\$\\\$ >$tmp/pid; exec $here/kvrisk $sample\" 2>/dev/null; read -r line; test \"\$line\" = plain && echo unmarked; exec sleep 60'"
    see "CERTIFIED at 30 %"
    if [ "$way" = q ]; then keys q; else kill -s "$way" "$(cat "$tmp/pid")"; fi
    unseen "CERTIFIED at 30 %"
    t set-buffer "plain"
    t paste-buffer -p
    keys Enter
    see "unmarked"
done

# The cursor is where a screen reader should look.
start 80 24 -- "$here/kvrisk" "$sample"
see "CERTIFIED at 30 %"
keys Down Down
see "ADAKV"
row=$(t display-message -p '#{cursor_y}')
[ "$(screen | sed -n "$((row + 1))p" | grep -c '▸ adakv')" = 1 ] || fail "the cursor is not on the selected row"
keys Tab Right
see "▸ 5.5 % ◂"
row=$(t display-message -p '#{cursor_y}')
[ "$(screen | sed -n "$((row + 1))p" | grep -c '▸ 5.5 % ◂')" = 1 ] || fail "the cursor is not on the field"

refused() { # what: command; one line that names the way without a terminal, status 2
    sh -c "$2" >"$tmp/out" 2>"$tmp/err" </dev/null
    rc=$?
    [ "$rc" = 2 ] || { echo "FAILED: $1: status $rc"; cat "$tmp/err"; exit 1; }
    [ "$(wc -l <"$tmp/err")" = 1 ] && grep -q "kvrisk certify" "$tmp/err" || { echo "FAILED: $1:"; cat "$tmp/err"; exit 1; }
    [ -s "$tmp/out" ] && { echo "FAILED: $1 wrote to standard output"; exit 1; }
    return 0
}
./kvrisk certfy 2>"$tmp/err" </dev/null && { echo "FAILED: a wrong word is no command"; exit 1; }
grep -q "no such file or command: certfy" "$tmp/err" || { cat "$tmp/err"; exit 1; }
refused "no terminal" "./kvrisk $sample"
for term in dumb nosuchterm; do
    start 80 24 TERM=$term -- sh -c "'$here/kvrisk $sample 2>$tmp/err; echo status \$?; exec sleep 60'"
    see "status 2"
    [ "$(wc -l <"$tmp/err")" = 1 ] && grep -q "kvrisk certify" "$tmp/err" || fail "TERM=$term: $(cat "$tmp/err")"
done

# Text without a terminal is the same screen.
LC_ALL=C.UTF-8 ./kvrisk --print main --size 80x24 "$sample" >"$tmp/a" || exit 1
start 80 24 -- "$here/kvrisk" "$sample"
see "CERTIFIED at 30 %"
screen | sed 's/ *$//' >"$tmp/b"
cmp -s "$tmp/a" "$tmp/b" || { diff "$tmp/a" "$tmp/b"; echo "FAILED: --print differs from the terminal"; exit 1; }

# Outside of UTF-8 the text is ASCII, and a full disk is no success.
LC_ALL=C ./kvrisk --print main "$sample" >"$tmp/a" || exit 1
LC_ALL=C grep -q '[^ -~]' "$tmp/a" && { echo "FAILED: --print is not ASCII with LC_ALL=C"; exit 1; }
LC_ALL=C.UTF-8 ./kvrisk --print main --ascii "$sample" | cmp -s - "$tmp/a" || { echo "FAILED: LC_ALL=C differs from --ascii"; exit 1; }
if [ -w /dev/full ]; then
    for args in "--print main $sample" --help --version; do
        ./kvrisk $args >/dev/full 2>"$tmp/err" && { echo "FAILED: $args succeeds on a full disk"; exit 1; }
        [ "$args" = --version ] || grep -q "cannot write" "$tmp/err" || { echo "FAILED: $args says nothing"; exit 1; }
    done
fi
./kvrisk --help >"$tmp/a"
for option in ascii color theme plot keys size; do
    grep -q -- "--$option" "$tmp/a" || { echo "FAILED: --help lacks --$option"; exit 1; }
done
exit 0
