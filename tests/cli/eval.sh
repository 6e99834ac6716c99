#!/bin/sh
# `kvrisk eval`: every policy on one prompt, JSON Lines, and a sentence for what cannot be done.
set -u
fail() { echo "$*"; exit 1; }
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
python=$([ -x /usr/bin/python3 ] && echo /usr/bin/python3 || echo python3)
tiny=tests/fixtures/models/synth-llama2-Q4_0.gguf
mini=data/samples/mini-llama.gguf

"$python" - "$d" <<'X'
import json, sys
d = sys.argv[1]
text = "Once upon a time there was a girl named Lily. She found a big red ball near the tree. "
def put(name, *rows):
    with open(f"{d}/{name}", "w") as f:
        for r in rows: f.write(json.dumps(r) + "\n")
own = {"id": "a", "task": "t", "context": text * 6, "question": "Lily said:", "answer_prefix": " I",
       "answers": ["ball"], "max_tokens": 16}
put("r.jsonl", own, dict(own, id="b", context=text * 3))
put("prompt.jsonl", {"id": "p", "prompt": text * 2, "answers": ["x"], "max_tokens": 4})
put("short.jsonl", {"id": "one", "prompt": "O", "answers": ["x"], "max_tokens": 4},
    {"id": "few", "prompt": "Once upon", "answers": ["x"], "max_tokens": 4})
put("empty.jsonl", {"id": "e", "context": "", "question": "q", "answers": ["x"], "max_tokens": 4})
X

ev() { ./kvrisk eval "$@"; }
usage() { # words of the sentence, then the arguments
    want=$1; shift
    ev "$@" >"$d/out" 2>"$d/err"; [ $? = 2 ] || fail "no usage error: $*"
    grep -q -- "$want" "$d/err" || fail "$* gives: $(cat "$d/err")"
    [ ! -s "$d/out" ] || fail "$* printed something"
}
base="--model $tiny --requests $d/r.jsonl --protocol query_aware"
# shellcheck disable=SC2086
{
usage 'no policy .snapkw' $base --policy snapkw:0.5
usage 'no parameter .windo' $base --policy snapkv:0.5,windo=3
usage 'keeps nothing' $base --policy snapkv:0
usage 'needs a level' $base --policy snapkv
usage '--protocol is needed' --model $tiny --requests "$d/r.jsonl" --policy snapkv:0.5
usage 'expected query_aware or' --model $tiny --requests "$d/r.jsonl" --policy snapkv:0.5 --protocol x
usage 'expected step or prefill' $base --policy snapkv:0.5 --first-token x
usage 'expected HIGH:LOW:STEP' $base --policy snapkv --ladder 0.2:0.8:0.05
usage 'name them' $base --policy refreekv --ladder 0.8:0.2:0.05
usage 'no preset' $base --policy snapkv:0.5 --preset x
usage 'no request .z' $base --policy snapkv:0.5 --id z
usage 'expected a number' $base --policy snapkv:0.5 --threads 0
usage 'two runs' $base --policy expected_attention:0.5 --policy expected_attention:0.5,sinks=2
ev $base --requests /nowhere --policy full 2>"$d/err"; [ $? = 1 ] || fail "missing requests"
ev $base --model /nowhere --policy full 2>"$d/err"; [ $? = 1 ] || fail "missing model"
}

# Every registered policy, 13 retentions each, one request.
all() { # model requests protocol
    set -- --model "$1" --requests "$2" --protocol "$3"
    for p in $(./kvrisk eval --list | awk '/^presets/ { exit } /^[a-z]/ { print $1 }'); do
        case $p in
        full) set -- "$@" --policy full ;;
        refreekv) for t in 0.001 0.002 0.005 0.01 0.02 0.05 0.1; do
            set -- "$@" --policy "$p:$t"; done ;;
        *) set -- "$@" --policy "$p" ;;
        esac
    done
    ev "$@" --ladder 0.80:0.20:0.05 --json
}
check() { # output, expected policies per request
    "$python" - "$1" "$2" <<'X' || fail "$1"
import json, sys
rows = [json.loads(l) for l in open(sys.argv[1])]
per = int(sys.argv[2])
assert rows[0]["event"] == "start" and rows[0]["version"] == 1 and rows[-1]["event"] == "end"
start = rows[0]
assert len(start["policies"]) == per, len(start["policies"])
heads = start["layers"] * start["kv_heads"]
full = {r["id"]: r for r in rows if r["event"] == "full"}
res = [r for r in rows if r["event"] == "result"]
assert len(res) == per * len(full) and rows[-1]["failed"] == 0
for r in res:
    n = full[r["id"]]["n"]
    kept = sum(sum(x) for x in r["heads_kept"])
    assert kept == r["kept"] and abs(r["retained"] - kept / (heads * n)) < 1e-12
    assert len(r["layer_error"]) == start["layers"] and all(x >= 0 for x in r["layer_error"])
    assert all(0 <= m <= 1.00001 for x in r["heads_mass"] for m in x)
    assert r["drop"] == r["full_utility"] - r["utility"]
    assert r["event_at_tolerance"] == (r["drop"] > 0.1)
    assert (r["parted"] is None) == (r["tokens"] == full[r["id"]]["tokens"])
    if r["parted"] is not None:
        assert r["full_margin"] >= 0 >= r["margin"]
        assert r["tokens"][:r["parted"]] == full[r["id"]]["tokens"][:r["parted"]]
    # the stated budget, where it is one number per head
    if r["method"] in ("snapkv", "knorm", "tova", "h2o", "keydiff", "random", "streaming_llm"):
        num, den = r["level"].replace("0.", ""), 10 ** len(r["level"].split(".")[1])
        want = max(1, n * int(num) // den)
        assert all(x == want for l in r["heads_kept"] for x in l), (r["policy"], n)
X
}
count=$((1 + 7 + 14 * 13))
all "$tiny" "$d/r.jsonl" query_aware >"$d/out.json" || fail "all policies"
check "$d/out.json" $count
all "$tiny" "$d/r.jsonl" query_agnostic >"$d/agnostic.json" || fail "all policies, agnostic"
check "$d/agnostic.json" $count

# The same rows in any order, alone, and with any number of threads.
strip() { grep -v '"event":"\(progress\|start\|end\|full\)"' "$1" | sed 's/"request":[0-9]*,"of":[0-9]*,//;s/"index":[0-9]*,//' | sort; }
# shellcheck disable=SC2086
{
ev $base --policy h2o:0.5 --policy snapkv:0.3 --policy random:0.4 --json >"$d/1"
ev $base --policy random:0.4 --policy snapkv:0.3 --policy h2o:0.5 --threads 1 --json >"$d/2"
ev $base --id b --policy random:0.4 --policy h2o:0.5 --policy snapkv:0.3 --json >"$d/3b"
ev $base --id a --policy snapkv:0.3 --policy random:0.4 --policy h2o:0.5 --json >"$d/3a"
}
cat "$d/3b" "$d/3a" >"$d/3"
strip "$d/1" >"$d/s1"; strip "$d/2" >"$d/s2"; strip "$d/3" >"$d/s3"
[ "$(wc -l <"$d/s1")" = 6 ] || fail "rows"
cmp -s "$d/s1" "$d/s2" || fail "order of policies or threads"
cmp -s "$d/s1" "$d/s3" || fail "order of requests"

# Short prompts are flagged, prompts without parts are refused where the protocol cuts them.
ev --model $tiny --requests "$d/short.jsonl" --protocol query_aware --policy snapkv:0.5 \
    --policy streaming_llm:1e-9 --json >"$d/out" || fail "short"
[ "$(grep -c '"flags":\["BYPASS_SHORT"\]' "$d/out")" = 3 ] || fail "short prompts are not flagged"
[ "$(grep -c '"flags":\["WINDOW_TRUNC"\]' "$d/out")" = 1 ] || fail "one entry of several is not flagged"
ev --model $tiny --requests "$d/r.jsonl" --protocol query_aware --policy snapkv:16t \
    --policy snapkv:1e-9 --json >"$d/out" || fail "below the window"
[ "$(grep -c '"flags":\["WINDOW_TRUNC"\]' "$d/out")" = 4 ] || fail "truncated windows are not flagged"
ev --model $tiny --requests "$d/prompt.jsonl" --protocol query_agnostic --policy snapkv:0.5 --json \
    >"$d/out" 2>"$d/err"; [ $? = 1 ] || fail "a prompt without parts"
grep -q 'query_agnostic cannot cut' "$d/err" && grep -q '"event":"error"' "$d/out" || fail "$(cat "$d/err")"
ev --model $tiny --requests "$d/empty.jsonl" --protocol query_agnostic --policy snapkv:0.5 \
    >"$d/out" 2>"$d/err"; [ $? = 1 ] || fail "empty context"
grep -q 'context is empty' "$d/err" || fail "$(cat "$d/err")"
ev --model $tiny --requests "$d/r.jsonl" --protocol query_aware --policy full --max-tokens 500 \
    2>"$d/err" >/dev/null; [ $? = 1 ] || fail "beyond the context"
grep -q -- '--context [0-9]* would extend it' "$d/err" || fail "$(cat "$d/err")"

# Text for people; details for programs.
ev --model $tiny --requests "$d/r.jsonl" --id a --protocol query_aware --policy knorm:0.2 >"$d/out" ||
    fail "text"
grep -q 'full KV' "$d/out" && grep -q 'knorm:0.2' "$d/out" && grep -q 'error of the output' "$d/out" ||
    fail "$(cat "$d/out")"
ev --model $tiny --requests "$d/r.jsonl" --id a --protocol query_aware --policy knorm:0.2 --json \
    --detail >"$d/out" || fail "detail"
grep -q '"event":"prompt".*"pieces":\[' "$d/out" && grep -q '"positions":\[' "$d/out" || fail "detail"
# A reader that goes away ends the job.
ev --model $tiny --requests "$d/r.jsonl" --protocol query_aware --policy knorm:0.2 --json \
    2>/dev/null | head -n 1 >/dev/null

stories=../shared/real/models/stories260K.gguf
if [ -r $stories ]; then
    "$python" - "$d" <<'X'
import json, sys
text = "Once upon a time there was a girl named Lily. She found a big red ball near the tree. "
json.dump({"id": "a", "context": text * 10, "question": "Lily said:", "answers": ["ball"],
           "max_tokens": 16}, open(sys.argv[1] + "/s.jsonl", "w"))
X
    t0=$(date +%s%N)
    all $stories "$d/s.jsonl" query_aware >"$d/out.json" || fail "stories260K"
    t1=$(date +%s%N)
    check "$d/out.json" $count
    echo "note: stories260K, $(sed -n 's/.*"prompt_tokens":\([0-9]*\).*/\1/p' "$d/out.json") tokens, $count policies: $(((t1 - t0) / 1000000)) ms"
    [ $(((t1 - t0) / 1000000)) -lt "${EVAL_LIMIT_MS:-10000}" ] || fail "too slow"
else
    echo "skip: ../shared/real/models is not there"
fi
if [ -r $mini ]; then
    ./kvrisk tasks --seed 3 --per-task 2 --length 256 --split test -o "$d/t.jsonl" || fail "tasks"
    ev --model $mini --requests "$d/t.jsonl" --protocol query_aware --policy snapkv --policy adakv \
        --ladder 0.8:0.2:0.3 >"$d/out" || fail "sample tasks"
    grep -q '^14 requests, 0 failed' "$d/out" || fail "$(tail -n 3 "$d/out")"
fi
exit 0
