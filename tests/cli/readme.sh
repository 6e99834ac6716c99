#!/bin/sh
# What the README says is so: its example files load, its subcommands exist.
set -eu
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
example() { awk -v want="<!-- example: $1 -->" '
    $0 == want { armed = 1; next }
    armed && /^```/ { if (on) exit; on = 1; next }
    on { print }' README.md >"$tmp/$1"; [ -s "$tmp/$1" ]; }

example calibration
./kvrisk info "$tmp/calibration" | grep -q '2 cal, 0 test'
r=0; ./kvrisk certify "$tmp/calibration" >/dev/null || r=$?
[ $r = 3 ] # two requests certify nothing
example counts
./kvrisk certify "$tmp/counts" | grep -q 'at most 47 events of 1200'

for c in $(./kvrisk --help | awk '/^commands:/ { on = 1; next } /^$/ { on = 0 } on { print $1 }'); do
    grep -q "kvrisk $c" README.md || { echo "README does not mention kvrisk $c"; exit 1; }
    ./kvrisk "$c" --help | grep -q "usage: kvrisk $c" || { echo "kvrisk $c --help"; exit 1; }
done
./kvrisk --version | grep -q '^kvrisk [0-9]'
