#!/bin/sh
# Output that does not arrive is an error; options without sense are answered with a sentence.
set -u
fail() { echo "$*"; exit 1; }
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT

./kvrisk plan --risk 1e-9 >"$d/out" || fail "plan"
grep -q 'needs more than 1000000000 requests' "$d/out" || fail "$(cat "$d/out")"
grep -q '^  *0.000000020 %' "$d/out" || fail "$(cat "$d/out")"
grep -q ' 0.000* %' "$d/out" && fail "a risk of zero: $(cat "$d/out")"
./kvrisk plan >"$d/out" || fail "plan"
grep -q 'at least 59 requests' "$d/out" && grep -q '^    1.000 %' "$d/out" || fail "$(cat "$d/out")"
./kvrisk tasks --seed 1 --families '' >"$d/out" 2>"$d/err"; [ $? = 2 ] || fail "no families"
grep -q -- '--families is empty' "$d/err" || fail "families: $(cat "$d/err")"

[ -c /dev/full ] || { echo "skip: no /dev/full"; exit 0; }
full() {
    ./kvrisk "$@" >/dev/full 2>"$d/err"; [ $? = 1 ] || fail "$* to a full disk"
    grep -q 'cannot write the output' "$d/err" || fail "$*: $(cat "$d/err")"
}
full --version
full --help
full score --list
for command in import certify sweep map info export ledger lock confirm plan simulate compare score \
    model generate calibrate merge tasks eval; do
    full "$command" --help
done
model=$(ls tests/fixtures/models/*.gguf | head -1)
full model "$model"
full model "$model" --json
exit 0
