#!/bin/sh
# The generic examples of the README, and what a refusal leaves behind.
set -u
fail() { echo "$*"; exit 1; }
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
cat >"$d/scores.csv" <<'X'
id,task,method,keep,acc
r1,qa,full,1,1
r1,qa,snapkv,0.5,0.8
r1,qa,snapkv,0.25,
X
./kvrisk import generic "$d/scores.csv" -o "$d/c.jsonl" --ratio-means kept \
    --col id=id,task=task,method=method,level=keep,score=acc >"$d/out" 2>"$d/err" || fail "long: $(cat "$d/err")"
sed -n 2p "$d/c.jsonl" | grep -q '"full":1,"utility":\[0.8,null\]' || fail "long: $(sed -n 2p "$d/c.jsonl")"
cat >"$d/wide.jsonl" <<'X'
{"req":{"id":"a7"},"s":{"full":1,"half":0.75,"quarter":"50%"}}
X
./kvrisk import generic "$d/wide.jsonl" -o "$d/w.jsonl" --ratio-means removed \
    --col id=req.id,full=s.full,snapkv@0.5=s.half,snapkv@0.75=s.quarter >"$d/out" 2>"$d/err" || fail "wide: $(cat "$d/err")"
head -1 "$d/w.jsonl" | grep -q '{"method":"snapkv","retention":0.5},{"method":"snapkv","retention":0.25}' || fail "wide: $(head -1 "$d/w.jsonl")"
sed -n 2p "$d/w.jsonl" | grep -q '"source_id":"a7"' || fail "the source's id is not kept"

# a refused import: exit 1, nothing written, not even a temporary file
echo 'id,task,method,keep,acc' >"$d/scores.csv"
mkdir "$d/o"
./kvrisk import generic "$d/scores.csv" -o "$d/o/c.jsonl" >/dev/null 2>"$d/err"; [ $? = 1 ] || fail "empty table"
[ -z "$(ls -A "$d/o")" ] || fail "left behind: $(ls -A "$d/o")"
grep -q 'nothing was written' "$d/err" || fail "$(cat "$d/err")"
./kvrisk import generic "$d/wide.jsonl" >/dev/null 2>&1; [ $? = 2 ] || fail "no output named"
./kvrisk import nonsense "$d/wide.jsonl" -o "$d/x" >/dev/null 2>&1; [ $? = 2 ] || fail "unknown kind"
./kvrisk import kvpress "$d" -o "$d/x" --declare 0.1,2,0.95 >/dev/null 2>"$d/err"; [ $? = 2 ] || fail "bad contract"
exit 0
