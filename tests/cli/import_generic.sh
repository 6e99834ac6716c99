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

# a repeated row with another score is refused: long, wide and JSON Lines; the same score is not
refused() { # NAME TEXT ARGS...
    name=$1 text=$2; shift 2
    ./kvrisk import generic "$@" --dry-run --ratio-means kept >"$d/out" 2>"$d/err" && fail "$name: taken"
    grep -q "$text" "$d/err" || fail "$name: $(cat "$d/err")"
}
long=id=id,method=m,level=l,score=s
printf 'id,m,l,s\na,full,,1\na,full,,0\na,snapkv,0.5,0.4\n' >"$d/r.csv"
refused "long" "r.csv:3: the same request as at line 2, with another score" "$d/r.csv" --col $long
printf 'id,m,l,s\na,full,,1\na,snapkv,0.5,0.4\na,snapkv,0.5,\n' >"$d/r.csv"
refused "scored and not" "r.csv:4: .* another score" "$d/r.csv" --col $long
printf 'id,m,l,s\na,full,,1\nb,full,,1\na,full,,0\nb,full,,0\na,snapkv,0.5,1\nb,snapkv,0.5,1\n' >"$d/r.csv"
refused "twice over" "r.csv:4: .* another score" "$d/r.csv" --col $long
printf 'id,f,h\na,1,1\na,1,0\n' >"$d/r.csv"
refused "wide" "r.csv:3: .* another score" "$d/r.csv" --col id=id,full=f,snapkv@0.5=h
printf '{"id":"a","m":"full","l":"","s":1}\n{"id":"a","m":"full","l":"","s":0.5}\n{"id":"a","m":"snapkv","l":0.5,"s":1}\n' >"$d/r.jsonl"
refused "lines" "r.jsonl:2: .* another score" "$d/r.jsonl" --col $long
printf 'id,m,l,s\na,full,,1\na,full,,1.0\na,snapkv,0.5,0.4\n' >"$d/r.csv"
./kvrisk import generic "$d/r.csv" --dry-run --ratio-means kept --col $long >"$d/out" 2>&1 || fail "$(cat "$d/out")"

# a column that does not exist
for role in id task level score method tokens; do
    refused "$role" "no column 'typo'; there are id, m, l, s" "$d/r.csv" --col $long,$role=typo
done
refused "column of a run" "no column 'typo'" "$d/r.csv" --col id=id,full=s,snapkv@0.5=typo
printf '{"q":{"id":"a"},"f":1,"h":1}\n{"q":{"id":"b","len":5},"f":1,"h":1}\n' >"$d/r.jsonl"
refused "path" "no column 'q.typo'; there are q, f, h" "$d/r.jsonl" --col id=q.id,tokens=q.typo,full=f,snapkv@0.5=h
./kvrisk import generic "$d/r.jsonl" --dry-run --ratio-means kept \
    --col id=q.id,tokens=q.len,full=f,snapkv@0.5=h >"$d/out" 2>&1 || fail "a path in the second row: $(cat "$d/out")"
mkdir "$d/files"
printf 'id,s\na,1\n' >"$d/files/full.csv"
printf 'id,s,l\na,1,0.5\n' >"$d/files/snapkv.csv"
./kvrisk import generic "$d/files" --dry-run --ratio-means kept --col id=id,score=s,level=l >"$d/out" 2>&1 ||
    fail "full KV without a level: $(cat "$d/out")"

# the table of means: of the requests in the result, with the count where some have no score
printf 'id,task,m,l,s\na,qa,full,,1\nb,qa,full,,0\na,qa,snapkv,0.5,0.5\nb,qa,snapkv,0.5,0\n' >"$d/r.csv"
printf 'c,sum,full,,1\nd,sum,full,,0.5\nc,sum,snapkv,0.5,0.5\nx,sum,snapkv,0.5,0\n' >>"$d/r.csv"
means() {
    ./kvrisk import generic "$d/r.csv" --dry-run --ratio-means kept --col $long,task=task "$@" >"$d/out" 2>"$d/err" ||
        fail "means: $(cat "$d/err")"
}
means
grep -q '^  full KV: qa 50.00 sum 75.00$' "$d/out" || fail "$(cat "$d/out")"
grep -q '^  snapkv, keeps 0.5: qa 25.00 sum 50.00 (1 of 2)$' "$d/out" || fail "$(cat "$d/out")"
means --missing task
grep -q 'task sum is left out' "$d/err" || fail "$(cat "$d/err")"
grep -q '^  full KV: qa 50.00$' "$d/out" && grep -q '^  snapkv, keeps 0.5: qa 25.00$' "$d/out" || fail "$(cat "$d/out")"
means --missing row
grep -q '^  full KV: qa 50.00 sum 100.00$' "$d/out" || fail "$(cat "$d/out")"

# a bad value: which option, which value, what was expected
bad() { # SENTENCE OPTION VALUE
    ./kvrisk import generic "$d/r.csv" --dry-run "$2" "$3" >"$d/out" 2>"$d/err"; [ $? = 2 ] || fail "$2 $3"
    [ "$(cat "$d/err")" = "kvrisk import: $2 $3: $1" ] || fail "$(cat "$d/err")"
}
bad 'risk 5 is out of range; it must lie between 0 and 1, both excluded' --declare 0.1,5,0.95
bad 'confidence 0.3 is below 0.5: the claim would be wrong more often than right' --declare 0.1,0.05,0.3
bad 'TOLERANCE,RISK,CONFIDENCE[,METHOD] was expected' --declare 0.1,0.05
bad 'a number above 0 and at most 1000000 was expected' --scale 0
bad 'a number above 0 and at most 1000000 was expected' --scale 1x
bad 'a number above 0 and at most 64 was expected' --bits-of 65
bad 'event, row or task was expected' --missing none
bad 'kept, removed, budget, bits or threshold was expected' --ratio-means share
bad 'levenshtein or difflib was expected' --code-sim other
bad 'longbench or longbench-e was expected' --dataset other
exit 0
