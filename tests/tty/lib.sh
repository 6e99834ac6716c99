# Drives ./kvrisk in a private tmux server. Sourced by the scripts here; not a test itself.
#
#   start W H [VAR=VALUE...] -- COMMAND   opens a window of that size
#   keys KEY...       tmux key names, or text with -l
#   see TEXT          waits until the screen has TEXT
#   unseen TEXT       waits until it has not
#   screen            what is on it now
set -u
command -v tmux >/dev/null || { echo "skip: tmux is not installed"; exit 77; }
[ -x ./kvrisk ] || { echo "skip: ./kvrisk is not built"; exit 77; }
here=$(pwd)
tmp=$(mktemp -d)
socket=kvrisk-test-$$ # a new server for each window: one that ends must not meet one that starts
windows=0
trap 'tmux -L "$socket" kill-server 2>/dev/null; rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM
sample=$here/tests/fixtures/prototype/mini-ruler.jsonl
patience=${TTY_PATIENCE:-150} # tenths of a second

t() { tmux -L "$socket" "$@"; }

start() {
    w=$1 h=$2
    shift 2
    vars=
    while [ "$1" != -- ]; do vars="$vars $1"; shift; done
    shift
    t kill-server 2>/dev/null
    windows=$((windows + 1))
    socket=kvrisk-test-$$-$windows
    LC_ALL=C.UTF-8 tmux -u -L "$socket" -f /dev/null new-session -d -x "$w" -y "$h" \
        "cd $tmp && exec env -u NO_COLOR -u ESCDELAY HOME=$tmp XDG_CONFIG_HOME=$tmp/config XDG_STATE_HOME=$tmp/state TERM=tmux-256color LC_ALL=C.UTF-8 LSAN_OPTIONS=suppressions=$here/tests/tty/lsan.supp:print_suppressions=0 $vars $*"
    t set -g remain-on-exit on >/dev/null 2>&1
    t set -g status off >/dev/null 2>&1
    t resize-window -x "$w" -y "$h" >/dev/null 2>&1
}

screen() { t capture-pane -p 2>/dev/null; }
keys() { t send-keys "$@"; }

fail() {
    echo "FAILED: $*"
    t list-panes -F 'pane dead=#{pane_dead} status=#{pane_dead_status} signal=#{pane_dead_signal} pid=#{pane_pid} #{pane_current_command}'
    screen
    exit 1
}

# until N CONDITION...: polls every 20 ms at first, then slower
# tmux now and then loses the status of a pane that closed first; the status is then empty.
ended() { t list-panes -F '#{pane_dead} #{pane_dead_status}' 2>/dev/null | grep -Eq '^1 0?$'; }
until_true() {
    n=0
    while ! "$@"; do
        n=$((n + 1))
        [ "$n" -gt "$patience" ] && return 1
        if [ "$n" -lt 20 ]; then sleep 0.02; else sleep 0.1; fi
    done
}

on_screen() { screen | grep -qF -- "$1"; }
off_screen() { ! screen | grep -qF -- "$1"; }
see() { until_true on_screen "$1" || fail "not on the screen: $1"; }
unseen() { until_true off_screen "$1" || fail "still on the screen: $1"; }
