#!/bin/sh
# certify on the samples: verdicts, exit status, JSON that programs can read, and SciPy's opinion.
set -eu
s=data/samples
p=tests/fixtures/prototype
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
python=$([ -x /usr/bin/python3 ] && echo /usr/bin/python3 || echo python3)

status() { # status WANTED COMMAND...
    want=$1
    shift
    got=0
    "$@" >"$tmp/out" 2>"$tmp/err" || got=$?
    [ "$got" = "$want" ] || { echo "exit $got, expected $want: $*"; cat "$tmp/err"; exit 1; }
}
has() { grep -qF -- "$1" "$tmp/$2" || { echo "no '$1' in:"; cat "$tmp/$2"; exit 1; }; }

status 0 ./kvrisk certify $p/mini-ruler.jsonl
has 'LOCKED: tolerance 0.10, risk target 5 %, confidence 95 %, at most 20 events' out
status 3 ./kvrisk certify $p/mini-ruler.jsonl --method tova
status 3 ./kvrisk certify $s/published-llama31-8b-ruler32k.json --method snapkv
status 0 ./kvrisk certify $s/published-llama31-8b-ruler32k.json
status 2 ./kvrisk certify $s/published-llama31-8b-ruler32k.json --tolerance 0.2
has 'published at tolerance 0.10' err
status 2 ./kvrisk certify $p/mini-ruler.jsonl --method nosuch
has "it has random, streaming_llm" err
status 2 ./kvrisk certify
status 2 ./kvrisk certify $p/mini-ruler.jsonl --risk 0
status 2 ./kvrisk certify $p/mini-ruler.jsonl --confidence 1
# a tolerance that no drop can exceed
./kvrisk certify $p/mini-ruler.jsonl --tolerance 1 >"$tmp/out"
has 'It says next to nothing' out
./kvrisk certify $p/mini-ruler.jsonl --tolerance 1 --mode worst_task >"$tmp/out" || true
has 'It says next to nothing' out
./kvrisk certify $p/mini-ruler.jsonl --tolerance 1 --loss mean >"$tmp/out"
! grep -q 'next to nothing' "$tmp/out" || { echo "the mean needs no tolerance"; exit 1; }
./kvrisk certify $p/mini-ruler.jsonl --tolerance 0.999999999 >"$tmp/out"
! grep -q 'next to nothing' "$tmp/out" || { echo "0.999999999 can be exceeded"; exit 1; }
status 2 ./kvrisk certify $p/mini-ruler.jsonl --tolerance abc
status 2 ./kvrisk certify $p/mini-ruler.jsonl --nosuch
status 1 ./kvrisk certify $p/mini-ruler.jsonl --split test
has 'no requests in the test split' err
status 1 ./kvrisk certify $s/nosuch.jsonl
status 1 ./kvrisk certify $s
has 'is a directory' err
status 0 ./kvrisk certify --help
has 'usage: kvrisk certify' out
if [ -e /dev/full ]; then
    got=0
    ./kvrisk certify $p/mini-ruler.jsonl --json >/dev/full 2>"$tmp/err" || got=$?
    [ $got = 1 ] || { echo "a full disk gave exit $got"; exit 1; }
fi

# The same verdict whatever the order of the rows in the file.
{ head -n 1 $p/mini-ruler.jsonl; tail -n +2 $p/mini-ruler.jsonl | sort -r; } >"$tmp/shuffled.jsonl"
./kvrisk certify $p/mini-ruler.jsonl --json >"$tmp/a"
./kvrisk certify "$tmp/shuffled.jsonl" --json >"$tmp/b"
cmp "$tmp/a" "$tmp/b"

"$python" -c 'import scipy' 2>/dev/null || { echo "skip: no SciPy to compare with"; exit 0; }
"$python" tests/cli/independent.py ./kvrisk $p/mini-ruler.jsonl 100 1
mkdir "$tmp/random"
"$python" tests/cli/independent_modes.py ./kvrisk "$tmp/random" 8 3
ruler=../shared/real/kvpress-ruler4096-qwen3-8b
if [ -d $ruler ]; then
    ./kvrisk import kvpress $ruler -o "$tmp/q.jsonl" >/dev/null 2>&1
    "$python" tests/cli/independent.py ./kvrisk "$tmp/q.jsonl" 100 2 expect
else
    echo "skip: no Qwen3-8B RULER outputs beside the project"
fi
