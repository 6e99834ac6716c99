#!/bin/sh
# sweep, map, info and export: text, CSV, JSON, refusals; nothing half-written.
set -eu
s=data/samples
p=tests/fixtures/prototype
f=$p/mini-ruler.jsonl
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
python=$([ -x /usr/bin/python3 ] && echo /usr/bin/python3 || echo python3)

status() {
    want=$1
    shift
    got=0
    "$@" >"$tmp/out" 2>"$tmp/err" || got=$?
    [ "$got" = "$want" ] || { echo "exit $got, expected $want: $*"; cat "$tmp/err"; exit 1; }
}
has() { grep -qF -- "$1" "$tmp/$2" || { echo "no '$1' in:"; cat "$tmp/$2"; exit 1; }; }
json() { "$python" -c 'import json,sys; json.load(open(sys.argv[1]))' "$tmp/out"; }

status 0 ./kvrisk sweep $f --over risk --from 1% --to 10% --steps 4 --method keydiff --csv
has '0.1,0.01,0.95,keydiff,certified,0.55,,1,1,0.35,' out
has '0.1,0.04,0.95,keydiff,certified,0.3,,14,15,0.3,' out
[ "$(wc -l <"$tmp/out")" = 5 ]
status 0 ./kvrisk sweep $f --over tolerance --from 0 --to 0.5 --steps 11 --json
json
status 0 ./kvrisk sweep $f --over confidence --from 0.5 --to 99% --steps 3
status 2 ./kvrisk sweep $f --over risk --from 0 --to 0.1 --steps 3
status 2 ./kvrisk sweep $f --over retention --from 0 --to 0.1 --steps 3
status 2 ./kvrisk sweep $f --over risk --from 0.01 --to 0.1 --steps 0
status 2 ./kvrisk sweep $f --over risk --from 0.01 --to 0.1
status 0 ./kvrisk map $f --method snapkv
has ' 5.0% |     65     65' out
status 0 ./kvrisk map $f --csv
[ "$(wc -l <"$tmp/out")" = $((9 * 11 * 13 + 1)) ]
status 0 ./kvrisk map $f --json --tolerances 0.1 --risks 5%,1%
json
status 2 ./kvrisk map $f --risks 5%,x
status 0 ./kvrisk map $s/published-llama31-8b-longbench.json
status 0 ./kvrisk info $f
has '600 cal, 0 test' out
status 0 ./kvrisk info $f --json
json
status 0 ./kvrisk info $s/published-llama31-8b-longbench.json
has 'partial' out

status 0 ./kvrisk export $f --method snapkv -o "$tmp/p.json" --note 'for the "A" pool'
cp "$tmp/p.json" "$tmp/out"
json
has '"retention":0.65' out
has "\"input_sha256\":\"$(sha256sum $f | cut -d' ' -f1)\"" out
status 1 ./kvrisk export $f --method snapkv -o "$tmp/p.json"
has 'exists already' err
status 0 ./kvrisk export $f --method h2o -o "$tmp/p.json" --force
status 0 ./kvrisk export $f --method h2o -o "$tmp/p.csv"
status 0 ./kvrisk export $f --method snapkv -o "$tmp/p.csv" --append
[ "$(wc -l <"$tmp/p.csv")" = 3 ]
status 1 ./kvrisk export $f --method snapkv -o "$tmp/no/such/dir.json"
status 2 ./kvrisk export $f -o "$tmp/x.json"
[ ! -e "$tmp/x.json" ]
[ "$(find "$tmp" -name '*.json.*' | wc -l)" = 0 ]

# Many programs add to one table at once: every row is kept.
for i in 1 2 3 4 5 6 7 8; do
    ./kvrisk export $f --method keydiff -o "$tmp/many.csv" --append >/dev/null 2>&1 &
done
wait
[ "$(wc -l <"$tmp/many.csv")" = 9 ]

# Only files are written: a pipe stays a pipe.
mkfifo "$tmp/pipe"
status 1 ./kvrisk export $f --method snapkv -o "$tmp/pipe" --force
[ -p "$tmp/pipe" ]
status 2 ./kvrisk export $f --method snapkv -o -
status 2 ./kvrisk export $f --method snapkv -o "$tmp/x.json" --append
status 2 ./kvrisk map $f --json --csv
status 2 ./kvrisk sweep $f --over risk --from 0.1 --to 0.2 --steps 3 --risk 0.1
status 2 ./kvrisk sweep $f --over risk --from 0.1 --to 0.2 --steps 1

# What is refused or too small says so in tables as well.
head -n 11 $f >"$tmp/small.jsonl"
status 0 ./kvrisk map "$tmp/small.jsonl" --csv
has 'N TOO SMALL' out
sed '2,$s/"split"/"cluster":"one","split"/' $f >"$tmp/clustered.jsonl"
status 0 ./kvrisk sweep "$tmp/clustered.jsonl" --over risk --from 0.05 --to 0.1 --steps 2 --json
has '"state":"REFUSED"' out
status 3 ./kvrisk certify $f --risk 1e-13
has 'more than a thousand million' out
