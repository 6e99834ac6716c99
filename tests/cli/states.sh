#!/bin/sh
# No LOCKED where the claim is not the one that was declared, and none where the data do not bear it.
set -eu
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export XDG_STATE_HOME="$tmp" XDG_CONFIG_HOME="$tmp"

head='"kvrisk":1,"kind":"calibration","utility":{"min":0,"max":1},"tasks":["a","b"],"policies":[{"method":"m","retention":0.8},{"method":"m","retention":0.5},{"method":"o","retention":0.8}]'
three='"tolerance":0.1,"risk":0.05,"confidence":0.95'

# file NAME CONTRACT [MEMBERS of each row, @ its number modulo 50]: 200 requests, 4 events at 0.5
file() {
    { printf '{%s,"contract":{%s}}\n' "$head" "$2"
      awk -v more="${3-}" 'BEGIN { for (i = 0; i < 100; i++) for (t = 0; t < 2; t++) {
          name = substr("ab", t + 1, 1); x = more; gsub("@", i % 50, x)
          printf "{\"id\":\"%s%d\",\"task\":\"%s\",\"full\":1,\"utility\":[1,%d,1]%s}\n", name, i, name, (i >= 2), x } }'
    } >"$tmp/$1.jsonl"
}
run() { # run WORDS...: exit status in $got
    got=0
    ./kvrisk "$@" >"$tmp/out" 2>"$tmp/err" || got=$?
}
want() { grep -qF -- "$1" "$tmp/${2-out}" || { echo "no '$1' in:"; cat "$tmp/${2-out}"; exit 1; }; }
never() { ! grep -qF -- "$1" "$tmp/${2-out}" || { echo "'$1' in:"; cat "$tmp/${2-out}"; exit 1; }; }

# A contract for one method: another method's line, and its export, are exploration to the top.
file one "$three,\"method\":\"m\""
run certify "$tmp/one.jsonl" --method m
want 'LOCKED: tolerance'
for words in "certify $tmp/one.jsonl --method o" "certify $tmp/one.jsonl --method o --json" \
    "certify $tmp/one.jsonl --family" "certify $tmp/one.jsonl --best" "certify $tmp/one.jsonl --mode all --method o"; do
    run $words
    want 'WHAT-IF'
    never 'LOCKED'
done
run export "$tmp/one.jsonl" --method o -o "$tmp/o.json"
never '"LOCKED"' o.json
want '"warnings":["The contract was declared for m; this line is exploration, no guarantee."' o.json

# Nothing declared about the choice: the family's lines stand alone, the choice is not locked.
file lines "$three"
run certify "$tmp/lines.jsonl" --best
want 'WHAT-IF: lowest retention over the 2 methods: m at 50 %; the choice would be covered had the family'
run certify "$tmp/lines.jsonl" --best --json --risk 0.001
[ "$got" = 3 ] || { echo "exit $got"; exit 1; }
want '"state":"N TOO SMALL"'
file all "$three,\"family\":true"
run certify "$tmp/all.jsonl"
want 'LOCKED: lowest retention over the 2 methods: m at 50 %; the choice is covered'
file some "$three,\"family\":[\"o\"]" # m was not among those declared
run certify "$tmp/some.jsonl"
want 'LOCKED: lowest retention over the 2 methods: o at 80 %'
want '0.026  CERTIFIED (WHAT-IF)'
file wrong "$three,\"family\":[\"x\"]"
run certify "$tmp/wrong.jsonl"
want "names 'x', which this file does not have" err

# Error levels that add up to more than one half; grids that make no sense.
file sum '"tolerance":0.1,"risk":0.05,"confidence":0.7,"method":"m","explore":{"delta":0.3,"risks":[0.1]}'
run certify "$tmp/sum.jsonl"
want 'add up to more than 0.5' err
file grid "$three,\"method\":\"m\",\"explore\":{\"delta\":0.05,\"risks\":[1.5]}"
run certify "$tmp/grid.jsonl"
want 'risk target outside 0 to 1' err

# Tables: declared, between two points, below all of them, and on the other split of claims.
file table "$three,\"method\":\"m\",\"explore\":{\"delta\":0.05,\"risks\":[0.04,0.1],\"confidence\":true}"
run certify "$tmp/table.jsonl" --mode risks --method m --json
want '"state":"LOCKED"'
want '"judged_at":{"tolerance":0.1,"risk":0.04}'
run certify "$tmp/table.jsonl" --mode risks --method m
want 'judged at the point of the grid below, tolerance 0.1 and risk 4 %'
run certify "$tmp/table.jsonl" --mode risks --method m --risk 0.03
want 'does not apply, no declared point'
run certify "$tmp/table.jsonl" --mode risks --method m --tolerance 0.2
want 'WHAT-IF'
never 'LOCKED'
run certify "$tmp/table.jsonl" --mode confidence --method m --confidence 0.9
want 'LOCKED'
want "The level adds to that of the contract's own claim."

# Prompts that repeat are clusters: refused, merged by the modes for clusters, named when overridden.
file prompts "$three,\"method\":\"m\",\"explore\":{\"delta\":0.05,\"risks\":[0.05,0.1]}" ',"prompt":"p@"'
run certify "$tmp/prompts.jsonl" --mode all --method m
never 'LOCKED'
want 'cluster_one   m                        FULL  level 0.05'
want 'with n = 50 not even zero events would certify'
run certify "$tmp/prompts.jsonl" --mode risks --method m --assume-independent
want 'LOCKED: m certified at 80 %'
want 'Assuming that requests of one cluster are independent, as asserted'

# A mode declared with weights: other weights, the plain claim and tasks without requests are not it.
file mix "$three,\"method\":\"m\",\"mode\":\"mixture\",\"weights\":{\"a\":1,\"b\":2}"
run certify "$tmp/mix.jsonl" --method m
want 'LOCKED'
for words in '--mode events' '--weights a=1,b=1' '--mode worst_task' '--mode mean_drop' '--risk 0.06'; do
    run certify "$tmp/mix.jsonl" --method m $words
    never 'LOCKED'
done
grep -v '"task":"b"' "$tmp/mix.jsonl" >"$tmp/half.jsonl"
run certify "$tmp/half.jsonl" --method m
[ "$got" = 2 ] || { echo "exit $got"; exit 1; }
want 'has a weight but no requests' err
file third "$three,\"method\":\"m\",\"mode\":\"subsample\",\"seed\":1,\"weights\":{\"a\":1,\"b\":1000}"
run certify "$tmp/third.jsonl" --method m
want 'no subsample of these requests has exactly these weights'
never 'certified at'
