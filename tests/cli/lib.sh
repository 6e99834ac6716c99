# shellcheck shell=sh disable=SC2034,SC2154
# lib.sh - what the tests of ledgers share; sourced when $tmp is there.
export XDG_STATE_HOME="$tmp/state"
python=$([ -x /usr/bin/python3 ] && echo /usr/bin/python3 || echo python3)
f=$tmp/f.jsonl
now=${0##*/} # what is tested, for messages

status() {
    want=$1
    shift
    got=0
    "$@" >"$tmp/out" 2>"$tmp/err" || got=$?
    [ "$got" = "$want" ] || { echo "$now: exit $got, expected $want: $*"; cat "$tmp/out" "$tmp/err"; exit 1; }
}
has() { grep -qF -- "$1" "$tmp/$2" || { echo "$now: no '$1' in:"; cat "$tmp/$2"; exit 1; }; }
lacks() { ! grep -qF -- "$1" "$tmp/$2" || { echo "$now: '$1' in:"; cat "$tmp/$2"; exit 1; }; }
is() { [ "$1" = "$2" ] || { echo "$now: $1, expected $2"; exit 1; }; }
field() { "$python" -c 'import json,sys
v = json.load(open(sys.argv[1]))
for k in sys.argv[2].split("."): v = v[k]
print(v)' "$1" "$2"; }
