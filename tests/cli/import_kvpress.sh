#!/bin/sh
# `kvrisk import kvpress` on a real evaluation: what is written, what is said, and that a refusal
# writes nothing.
set -u
k=../shared/real/kvpress-ruler4096-qwen3-8b
[ -d "$k" ] || { echo "skip: $k is not there"; exit 77; }
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
fail() { echo "$*"; exit 1; }

./kvrisk import kvpress $k -o "$d/q.jsonl" --declare 0.1,0.05,0.95 >"$d/out" 2>"$d/err" || fail "import: $(cat "$d/err")"
[ "$(wc -l <"$d/q.jsonl")" = 6501 ] || fail "lines: $(wc -l <"$d/q.jsonl")"
grep -q '^6500 requests, 9 policies' "$d/out" || fail "summary: $(cat "$d/out")"
grep -q 'no_press__0.00/1 is a rerun' "$d/err" || fail "the rerun is not named"
head -1 "$d/q.jsonl" | grep -q '"contract":{"tolerance":0.1,"risk":0.05,"confidence":0.95' || fail "contract"
sha=$(sha256sum "$k"/ruler__4096__Qwen--Qwen3-8B__no_press__0.00/predictions.csv | cut -c1-64)
head -1 "$d/q.jsonl" | grep -q "$sha" || fail "the source's hash is missing"

./kvrisk import auto $k --dry-run --explain >"$d/out" 2>"$d/err" || fail "auto: $(cat "$d/err")"
grep -q 'read as kvpress' "$d/err" || fail "auto does not say what it took it for"
grep -q 'filtering_stale_keydiff, keeps 0.75 (1 - config.yaml compression_ratio)' "$d/out" || fail "explain"
grep -q 'nothing written' "$d/out" || fail "dry run"

# the rerun as a second full-KV run: the same bytes prove nothing, and it says so
./kvrisk import kvpress $k --second-full $k/ruler__4096__Qwen--Qwen3-8B__no_press__0.00/1 -o "$d/q2.jsonl" >/dev/null 2>"$d/err" || fail "second: $(cat "$d/err")"
grep -q 'holds the same bytes as the first' "$d/err" || fail "identical second run: $(cat "$d/err")"
sed -n 2p "$d/q2.jsonl" | grep -q '"full2":' || fail "full2 is not written"

# no full-KV run: exit 1, nothing written
./kvrisk import kvpress $k --skip '*no_press*' -o "$d/no.jsonl" >/dev/null 2>"$d/err"
[ $? = 1 ] || fail "exit status without a full-KV run"
[ ! -e "$d/no.jsonl" ] || fail "a refused import wrote a file"
grep -q 'no full-KV run among the 11 runs' "$d/err" || fail "refusal: $(cat "$d/err")"
# an existing file is not replaced
./kvrisk import kvpress $k -o "$d/q.jsonl" >/dev/null 2>&1 && fail "replaced without --force"
exit 0
