#!/bin/sh
# `kvrisk score`: lines in, the same lines with a score out.
set -u
fail() { echo "$*"; exit 1; }
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
cat >"$d/in" <<'X'
{"id":"a","prediction":"the dog's mill","answers":["Dogs mill"],"score":7}

{"prediction":"x","answers":[]}
X
./kvrisk score --scorer longbench.qa_f1 <"$d/in" >"$d/out" || fail "exit status"
cat >"$d/want" <<'X'
{"id":"a","prediction":"the dog's mill","answers":["Dogs mill"],"score":1}
{"prediction":"x","answers":[],"score":null,"error":"no reference answer"}
X
cmp -s "$d/out" "$d/want" || fail "$(cat "$d/out")"
./kvrisk score --scorer longbench.qa_f1_zh "$d/in" 2>"$d/err"; [ $? = 1 ] || fail "Chinese scorer"
grep -q "refused: Chinese word scores rest on the jieba segmenter" "$d/err" || fail "$(cat "$d/err")"
./kvrisk score --scorer nonsense "$d/in" 2>/dev/null; [ $? = 2 ] || fail "unknown scorer"
echo 'nonsense' | ./kvrisk score --scorer exact 2>"$d/err"; [ $? = 1 ] || fail "not JSON"
grep -q 'standard input:1: not JSON: byte 1' "$d/err" || fail "$(cat "$d/err")"
./kvrisk score --list | grep -q '^longbench.rouge_l_zh .*refused:' || fail "list"
exit 0
