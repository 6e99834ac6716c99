#!/bin/sh
# kvrisk calibrate: kill and resume, shards, refusals; kvrisk tasks as its input.
set -eu
t=$(mktemp -d)
trap 'rm -rf "$t"' EXIT
fail() { echo "FAIL: $*"; exit 1; }

./kvrisk tasks --seed 3 --per-task 2 --length 200 -o "$t/r.jsonl"
./kvrisk tasks --seed 3 --per-task 2 --length 200 >"$t/r2.jsonl"
./kvrisk tasks --seed 4 --per-task 2 --length 200 -o "$t/r.jsonl" 2>/dev/null && fail "tasks replaced a file"
./kvrisk tasks --seed 3 --per-task 2 --length 200 -o "$t/r.jsonl" --force || fail "tasks --force"
cmp "$t/r.jsonl" "$t/r2.jsonl" || fail "tasks differ between two runs"
[ "$(wc -l <"$t/r.jsonl")" -eq 28 ] || fail "2 requests x 7 families x 2 splits"
./kvrisk tasks --seed 3 --per-task 1 --length 200 --split test --families vt,qa >"$t/few.jsonl"
[ "$(grep -cFxf "$t/few.jsonl" "$t/r.jsonl")" -eq 2 ] || fail "a request depends on how many are drawn"
for bad in "" "--seed x" "--seed 1 --length 84" "--seed 1 --families none" "--seed 1 --split half"; do
    rc=0
    ./kvrisk tasks $bad >/dev/null 2>&1 || rc=$?
    [ "$rc" -eq 2 ] || fail "tasks $bad: exit $rc, expected 2"
done

# `exec` in a subshell, so that a kill hits the program itself.
run() { (measure "$@"); }
measure() {
    out=$1
    shift
    exec ./kvrisk calibrate --model data/samples/mini-llama.gguf --requests "$t/r.jsonl" --protocol query_aware \
        --methods snapkv,adakv,alpha=0.3,knorm,refreekv:0.001,0.01 --ladder 0.8:0.2:0.3 \
        --declare 0.10,0.05,0.95 --declared 2026-01-02 -o "$out" "$@"
}
run "$t/whole.jsonl" --threads 1 2>/dev/null
[ "$(wc -l <"$t/whole.jsonl")" -eq 29 ] || fail "rows"
./kvrisk info "$t/whole.jsonl" >/dev/null || fail "info cannot read it"
run "$t/two.jsonl" --threads 2 2>/dev/null
cmp "$t/whole.jsonl" "$t/two.jsonl" || fail "results depend on the number of threads"

# Killed ten times at random moments, continued each time.
kills=0
more="--methods snapkv,adakv,defensivekv,layer_defensivekv,h2o,knorm,random --ladder 0.8:0.2:0.05"
run "$t/long.jsonl" $more 2>/dev/null
for wait in 0.02 0.11 0.05 0.17 0.08 0.03 0.14 0.06 0.12 0.1; do
    measure "$t/killed.jsonl" $more 2>/dev/null & pid=$!
    sleep "$wait"
    if kill -9 $pid 2>/dev/null; then kills=$((kills + 1)); fi
    wait $pid 2>/dev/null || true
done
run "$t/killed.jsonl" $more 2>/dev/null
cmp "$t/long.jsonl" "$t/killed.jsonl" || fail "killed and continued: other bytes"
[ ! -e "$t/killed.jsonl.part" ] || fail "the unfinished file is still there"
echo "note: killed $kills times, continued: identical bytes"

# A torn last line, and rubbish behind good rows.
for cut in 1 40 700 3000 5000 5001; do
    head -c "$cut" "$t/whole.jsonl" >"$t/torn.jsonl.part"
    [ "$cut" -lt 4000 ] || printf 'rubbish' >>"$t/torn.jsonl.part"
    run "$t/torn.jsonl" 2>/dev/null || fail "torn at $cut: not continued"
    cmp "$t/whole.jsonl" "$t/torn.jsonl" || fail "torn at $cut: other bytes"
    rm "$t/torn.jsonl"
done

# Other settings are refused, and the unfinished file is left alone.
head -c 4000 "$t/whole.jsonl" >"$t/other.jsonl.part"
cp "$t/other.jsonl.part" "$t/kept"
for o in "--ladder 0.8:0.2:0.2" "--declare 0.1,0.1,0.95" "--limit 3 --first-token prefill" "--shard 1/2" \
    "--name x" "--context 300"; do
    run "$t/other.jsonl" $o 2>"$t/err" && fail "resumed with $o"
    grep -q "other settings" "$t/err" || fail "$o: $(cat "$t/err")"
    cmp "$t/kept" "$t/other.jsonl.part" || fail "$o: changed the unfinished file"
done
run "$t/whole.jsonl" 2>/dev/null || fail "a complete file is not left as it is"
run "$t/whole.jsonl" --name x 2>/dev/null && fail "a complete file was replaced"
run "$t/whole.jsonl" --context 300 2>/dev/null && fail "--context is no setting of a complete file"

if command -v parallel >/dev/null; then # as the README shows
    parallel -j 2 ./kvrisk calibrate --model data/samples/mini-llama.gguf --requests "$t/r.jsonl" \
        --protocol query_aware --methods snapkv,adakv,alpha=0.3,knorm,refreekv:0.001,0.01 \
        --ladder 0.8:0.2:0.3 --declare 0.10,0.05,0.95 --declared 2026-01-02 --threads 1 \
        --shard '{}/4' -o "$t/s{}.jsonl" ::: 3 1 4 2 2>/dev/null </dev/null
else
    echo "note: GNU parallel is not installed, shards run one after another"
    for i in 3 1 4 2; do
        run "$t/s$i.jsonl" --shard $i/4 2>/dev/null
    done
fi
./kvrisk merge "$t/s2.jsonl" "$t/s4.jsonl" "$t/s1.jsonl" "$t/s3.jsonl" -o "$t/merged.jsonl"
cmp "$t/whole.jsonl" "$t/merged.jsonl" || fail "merged shards differ from one run"
./kvrisk merge "$t/s2.jsonl" "$t/s4.jsonl" "$t/s1.jsonl" -o "$t/m2.jsonl" 2>"$t/err" && fail "merged three of four"
grep -q "shard 3 of 4 is missing" "$t/err" || fail "$(cat "$t/err")"
./kvrisk merge "$t/s2.jsonl" "$t/s4.jsonl" "$t/s1.jsonl" "$t/s1.jsonl" -o "$t/m2.jsonl" 2>/dev/null &&
    fail "merged one shard twice"
./kvrisk merge "$t/whole.jsonl" -o "$t/m2.jsonl" 2>/dev/null && fail "merged what is no shard"

# Damaged shards are refused, and nothing is written.
refused() { # what shard-2
    rc=0
    ./kvrisk merge "$t/s1.jsonl" "$2" "$t/s3.jsonl" "$t/s4.jsonl" -o "$t/m2.jsonl" 2>"$t/err" || rc=$?
    [ "$rc" -eq 1 ] || fail "merge with $1: exit $rc, expected 1"
    [ -s "$t/err" ] || fail "merge with $1: no reason"
    [ ! -e "$t/m2.jsonl" ] || fail "merge with $1: left a file"
}
s=$t/s2.jsonl d=$t/damaged.jsonl
size=$(wc -c <"$s")
head -c $((size - 30)) "$s" >"$d" && refused "a torn row" "$d"
sed '$d' "$s" >"$d" && refused "a row missing" "$d"
head -n 1 "$s" >"$d" && refused "no rows" "$d"
sed '3d' "$s" >"$d" && refused "a row missing inside" "$d"
sed '3p' "$s" >"$d" && refused "a double row" "$d"
sed '3p;4d' "$s" >"$d" && refused "a double row instead of another" "$d"
sed '3{h;d};4G' "$s" >"$d" && refused "rows in another order" "$d"
sed '3s/.*/rubbish/' "$s" >"$d" && refused "a malformed row" "$d"
sed '3s/"utility":\[[^,]*,/"utility":[/' "$s" >"$d" && refused "a value missing" "$d"
sed '3s/$/\n/' "$s" >"$d" && refused "an empty line" "$d"
sed '1s/,"run_n":28/,"run_n":27/' "$s" >"$d" && refused "another number of requests" "$d"
sed '1s/,"ids":"[0-9a-f]*"//' "$s" >"$d" && refused "a header without its hash" "$d"
run "$t/limited.jsonl" --shard 2/4 --limit 27 2>/dev/null
refused "a shard of another --limit" "$t/limited.jsonl"
grep -q "different settings" "$t/err" || fail "$(cat "$t/err")"
rm "$t/limited.jsonl"
run "$t/limited.jsonl" --shard 2/4 --context 300 2>/dev/null
refused "a shard of another --context" "$t/limited.jsonl"
cat "$t/whole.jsonl" >"$t/m3.jsonl"
./kvrisk merge "$t"/s[1-4].jsonl -o "$t/m3.jsonl" 2>/dev/null && fail "merge replaced a file"
./kvrisk merge "$t"/s[1-4].jsonl -o "$t/m3.jsonl" --force || fail "merge --force"
cmp "$t/whole.jsonl" "$t/m3.jsonl" || fail "merge --force: other bytes"
cp "$s" "$t/kept"
./kvrisk merge "$t"/s[1-4].jsonl -o "$s" --force 2>/dev/null && fail "merge replaced a shard"
cmp "$t/kept" "$s" || fail "merge changed a shard"

# More shards than requests: some have none, and merging gives the bytes of one run.
run "$t/three.jsonl" --limit 3 2>/dev/null
for i in 1 2 3 4 5; do
    run "$t/e$i.jsonl" --limit 3 --shard $i/5 2>/dev/null || fail "shard $i of 5 for 3 requests"
done
grep -q '"n":0,' "$t/e5.jsonl" && [ "$(wc -l <"$t/e5.jsonl")" -eq 1 ] || fail "an empty shard has a header only"
run "$t/e5.jsonl" --limit 3 --shard 5/5 2>/dev/null || fail "an empty shard again"
./kvrisk merge "$t"/e[1-5].jsonl -o "$t/m4.jsonl" || fail "empty shards are not merged"
cmp "$t/three.jsonl" "$t/m4.jsonl" || fail "merged with empty shards: other bytes"
./kvrisk info "$t/m4.jsonl" >/dev/null || fail "info cannot read merged shards"

# A complete file that lost rows is not taken for complete, nor read.
sed '$d' "$t/three.jsonl" >"$t/cut.jsonl"
run "$t/cut.jsonl" --limit 3 2>/dev/null && fail "a cut file passes for complete"
./kvrisk info "$t/cut.jsonl" 2>/dev/null && fail "a cut file is read"

# A request that does not fit becomes a row of nulls with a reason.
run "$t/short.jsonl" --context 150 2>/dev/null && fail "failed requests go unnoticed"
grep -q '"full":null.*"reason":"' "$t/short.jsonl" || fail "no row with a reason"
failed=$(grep -c '"reason":"' "$t/short.jsonl")
rc=0
run "$t/short.jsonl" --context 150 2>"$t/err" || rc=$?
[ "$rc" -eq 1 ] || fail "a complete file with failed requests: exit $rc, expected 1"
grep -q "$failed requests* failed" "$t/err" || fail "not said how many failed: $(cat "$t/err")"
./kvrisk info "$t/short.jsonl" >/dev/null || fail "info cannot read rows of nulls"
for bad in "--methods snapkv:512t" "--methods snapkv,snapkv" "--methods snapkv:0.2,0.5" "--methods full" \
    "--methods refreekv" "--methods nothing" "--shard 3/2" "--declare 0.1,0.05" "--declare 0.1,5%,30%" "--declare 0.1,1,0.95" "--declared tomorrow" \
    "--declared 2026-02-29" "--declared 2026-13-01" "--declared 2026-04-31" "--declared 0000-01-01" \
    "--declared 2026-00-10" "--declare 0.1,0.05,0.95,h2o"; do
    rc=0
    run "$t/bad.jsonl" $bad 2>/dev/null || rc=$?
    [ "$rc" -eq 2 ] || fail "$bad: exit $rc, expected 2"
done
[ ! -e "$t/bad.jsonl" ] && [ ! -e "$t/bad.jsonl.part" ] || fail "a usage error left a file"
rc=0
./kvrisk calibrate --model data/samples/mini-llama.gguf --requests "$t/r.jsonl" --protocol query_aware \
    --methods snapkv --declared 2026-01-02 -o "$t/bad.jsonl" 2>/dev/null || rc=$?
[ "$rc" -eq 2 ] && [ ! -e "$t/bad.jsonl" ] || fail "--declared without --declare: exit $rc"

# Logits replace a file only with --force, and never one that is read.
generate() { ./kvrisk generate --model "$t/m.gguf" --prompt-tokens 1,5,9 --max-tokens 2 --logits "$@" >/dev/null 2>&1; }
cp data/samples/mini-llama.gguf "$t/m.gguf"
echo kept >"$t/logits"
generate "$t/logits" && fail "logits replaced a file"
[ "$(cat "$t/logits")" = kept ] || fail "logits changed a file"
generate "$t/m.gguf" --force && fail "logits replaced the model"
cmp data/samples/mini-llama.gguf "$t/m.gguf" || fail "logits changed the model"
generate "$t/logits" --force || fail "logits --force"
[ "$(wc -c <"$t/logits")" -gt 1000 ] || fail "no logits"
