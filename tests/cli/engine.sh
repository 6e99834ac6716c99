#!/bin/sh
# `kvrisk model` and `kvrisk generate` on the bundled model: output, logits, refusals.
set -u
fail() { echo "$*"; exit 1; }
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
m=tests/fixtures/models/synth-llama2-Q4_0.gguf
g="./kvrisk generate --model $m"

./kvrisk model $m >"$d/out" || fail "model"
grep -q '^attention      Q4_0$' "$d/out" || fail "types: $(cat "$d/out")"
grep -q '^KV per token   4.1 kB (float32)$' "$d/out" || fail "KV bytes: $(cat "$d/out")"
./kvrisk model $m --context 100 --json | python3 -c '
import json, sys
j = json.load(sys.stdin)
assert j["layers"] == 2 and j["kv_heads"] == 8 and j["head_dim"] == 32, j
assert j["kv_bytes_per_token"] == 4096 and j["memory"]["cache"] == 409600, j
assert j["types"] == {"embedding": "Q4_0", "attention": "Q4_0", "ffn": "Q4_0", "output": "Q4_0"}, j
' || fail "model --json"

# Logits: one row for each fed position, the same bytes for any number of threads, and the generated
# tokens are the largest of their rows.
$g --prompt-tokens 1,259,87,263 --max-tokens 5 --logits "$d/l1" --threads 1 --json >"$d/j1" || fail "generate"
$g --prompt-tokens 1,259,87,263 --max-tokens 5 --logits "$d/l2" --threads 2 --json >"$d/j2" || fail "generate"
cmp -s "$d/l1" "$d/l2" && cmp -s "$d/j1" "$d/j2" || fail "threads change the result"
python3 - "$d/l1" "$d/j1" <<'X' || fail "logits"
import json, struct, sys
raw, j = open(sys.argv[1], "rb").read(), json.load(open(sys.argv[2]))
rows = [struct.unpack_from("<269f", raw, i) for i in range(0, len(raw), 4 * 269)]
assert len(rows) == 4 + len(j["tokens"]) - 1 == 8, len(rows)
assert j["prompt_tokens"] == [1, 259, 87, 263] and j["stop"] == "length"
assert [max(range(269), key=r.__getitem__) for r in rows[3:]] == j["tokens"], j
X
printf 'some text' >"$d/p"
$g --prompt 'some text' --max-tokens 4 --json >"$d/a" && $g --prompt-file "$d/p" --max-tokens 4 --json >"$d/b" ||
    fail "prompts"
cmp -s "$d/a" "$d/b" || fail "a prompt from a file differs"

refuses() { # exit status, words of the message, arguments
    want=$1 words=$2; shift 2
    ./kvrisk "$@" >"$d/out" 2>"$d/err"; r=$?
    [ $r = "$want" ] || fail "$*: exit status $r"
    grep -q "$words" "$d/err" || fail "$*: $(cat "$d/err")"
    [ ! -s "$d/out" ] || fail "$*: wrote on stdout"
}
refuses 1 'kvrisk generate: the prompt is empty' generate --model $m --prompt ''
refuses 1 'the prompt has .* tokens, the context 512; --context' generate --model $m --prompt "$(printf '%0600d' 0)"
refuses 1 'token 269 is outside the vocabulary of 269' generate --model $m --prompt-tokens 269
refuses 1 "expected ids with commas between, found 'x'" generate --model $m --prompt-tokens 1,x
refuses 1 'is a directory' model tests
refuses 1 'No such file' generate --model nothing.gguf --prompt x
refuses 1 'letters GGUF' model Makefile
refuses 2 'expected one of --prompt' generate --model $m
refuses 2 'expects a number from 1' generate --model $m --prompt x --max-tokens 0
refuses 2 'expected one model file' model
head -c 300000 $m >"$d/cut.gguf"
refuses 1 'tensor blk.0.*missing); is it a complete download' model "$d/cut.gguf"
if [ -z "${SAN-}" ] && (ulimit -v 1000000) 2>/dev/null; then # sanitizers reserve terabytes
    (ulimit -v 400000; ./kvrisk generate --model $m --prompt x --context 900000000 --max-tokens 16000000) \
        >/dev/null 2>"$d/err"
    [ $? = 1 ] && grep -q 'out of memory' "$d/err" || fail "no memory: $(cat "$d/err")"
fi
exit 0
