#!/bin/sh
# The bundled model read by a second implementation: same token ids, logits and greedy answers.
set -eu
python=$([ -x /usr/bin/python3 ] && echo /usr/bin/python3 || echo python3)
"$python" -c 'import numpy' 2>/dev/null || { echo "skip: python3-numpy is missing"; exit 77; }
t=$(mktemp -d)
trap 'rm -rf "$t"' EXIT
./kvrisk tasks --seed 4 --per-task 1 --length 256 --split test -o "$t/r.jsonl"
i=0
while read -r line; do
    i=$((i + 1))
    printf '%s\n' "$line" | "$python" -c '
import json, sys
r = json.loads(sys.stdin.readline())
sys.stdout.write(r["context"] + r["question"] + r["answer_prefix"])' >"$t/prompt.txt"
    ./kvrisk generate --model data/samples/mini-llama.gguf --prompt-file "$t/prompt.txt" \
        --max-tokens 24 --json --force --logits "$t/logits.f32" >"$t/ids.json"
    "$python" tests/sample/mini_llama.py data/samples/mini-llama.gguf "$t/prompt.txt" "$t/ids.json" \
        "$t/logits.f32"
done <"$t/r.jsonl"
[ "$i" -eq 7 ] || { echo "$i requests, expected 7"; exit 1; }
