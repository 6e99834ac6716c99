#!/bin/sh
# Suspend and continue; TERM, INT, HUP and a crash leave the terminal as it was; a dead terminal
# ends the program.
. tests/tty/lib.sh

dead() { ! kill -0 "$1" 2>/dev/null; }
child() { pid=$(cat "$tmp/pid" 2>/dev/null) && [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null; }
flags() { t display-message -p '#{alternate_on} #{cursor_flag} #{keypad_flag}'; }
flags_are() { [ "$(flags)" = "$1" ]; }

# A shell runs it, so that the terminal's settings can be compared after it has gone.
shell_start() {
    rm -f "$tmp/pid" "$tmp/after" "$tmp/rc"
    start 80 24 -- sh -c "'stty -a >$tmp/before; sh -c \"echo \\\$\\\$ >$tmp/pid; exec $here/kvrisk $sample\" 2>$tmp/err; echo \$? >$tmp/rc; stty -a >$tmp/after; echo ended; exec sleep 60'"
    see "CERTIFIED at 30 %"
    child || fail "no process"
    flags_are "1 0 1" || fail "not in the alternate screen: $(flags)"
}

for signal in TERM INT HUP QUIT USR1 USR2 ALRM ABRT SEGV; do
    shell_start
    kill -s "$signal" "$pid"
    see "ended"
    until_true [ -s "$tmp/after" ] || fail "no stty after $signal"
    cmp -s "$tmp/before" "$tmp/after" || fail "stty differs after $signal: $(diff "$tmp/before" "$tmp/after")"
    until_true flags_are "0 1 0" || fail "the terminal is not restored after $signal: $(flags)"
    rc=$(cat "$tmp/rc")
    case $signal in TERM) want=143 ;; INT) want=130 ;; HUP) want=129 ;; QUIT) want=131 ;; USR1) want=138 ;; USR2) want=140 ;; ALRM) want=142 ;; ABRT) want=134 ;; SEGV) want=139 ;; esac
    [ "$rc" = "$want" ] || fail "exit status $rc after $signal, not $want"
done

# Ctrl-Z and fg in an interactive shell, with a change of size while it is stopped.
start 80 24 PS1=ready -- sh -i
see ready
keys -l "$here/kvrisk $sample"
keys Enter
see "CERTIFIED at 30 %"
# curses ignores Ctrl-Z while it writes a frame, so it may have to be pressed once more
stopped() { on_screen "Stopped" || { keys C-z; sleep 0.2; on_screen "Stopped"; }; }
until_true stopped || fail "Ctrl-Z does not stop it"
until_true flags_are "0 1 0" || fail "the terminal is not given back while stopped: $(flags)"
t set-buffer 'echo paste$((1+1))' # the marks of a paste are off while it is stopped
t paste-buffer -p
keys Enter
see "paste2"
t resize-window -x 120 -y 36
keys -l fg
keys Enter
see "╭─ verdict"
t set-buffer "q"
t paste-buffer -p
see "pasted text is not taken as keys"
keys Down
see "SNAPKV  ✔ CERTIFIED at 65 %"
keys q
see ready
until_true flags_are "0 1 0" || fail "the terminal is not restored after q"

# The terminal goes away.
shell_start
t kill-server
until_true dead "$pid" || { kill -9 "$pid"; echo "FAILED: it outlives its terminal"; exit 1; }
