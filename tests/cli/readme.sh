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

# Every field of these commands is documented.
f=data/samples/mini-ruler.jsonl
./kvrisk plan $f --walks 10 --json >"$tmp/plan"
./kvrisk simulate $f --draws 50 --json >"$tmp/simulate"
./kvrisk compare $f snapkv:0.5 adakv:0.5 --json >"$tmp/compare"
./kvrisk map $f --json >"$tmp/map"
./kvrisk sweep $f --over risk --from 0.04 --to 0.06 --steps 2 --json >"$tmp/sweep"
./kvrisk certify $f --mode all --json >"$tmp/modes"
$([ -x /usr/bin/python3 ] && echo /usr/bin/python3 || echo python3) - "$tmp" <<'P'
import json, re, sys
text = open("README.md").read()
known = set(re.findall(r"`([a-z_0-9]+)(?:\[\])?`", text[text.index("### `certify --json`"):]))
def walk(v, keys):
    if isinstance(v, dict):
        for k, x in v.items():
            keys.add(k)
            if k != "weights" and not k.startswith("to_one_task"):  # by task
                walk(x, keys)
    elif isinstance(v, list):
        for x in v:
            walk(x, keys)
    return keys
for name in ("plan", "simulate", "compare", "map", "sweep", "modes"):
    keys = walk(json.load(open(f"{sys.argv[1]}/{name}")), set())
    assert len(keys) > 5 and keys <= known, (name, sorted(keys - known))
P
