#!/bin/sh
# What `kvrisk eval` finds for random requests under random policies of the bundled sample is what the
# sample says, utility by utility. A seeded draw; SEED=N draws others.
set -u
fail() { echo "FAIL: $*"; exit 1; }
t=$(mktemp -d)
trap 'rm -rf "$t"' EXIT
python=$([ -x /usr/bin/python3 ] && echo /usr/bin/python3 || echo python3)
s=data/samples
"$python" - "$t" "${SEED:-20261201}" $s <<'X' || fail "drawing"
import json, random, sys
t, seed, s = sys.argv[1:]
with open(f"{s}/mini-ruler.jsonl") as f: policies = json.loads(f.readline())["policies"]
ids = [json.loads(line)["id"] for line in open(f"{s}/mini-ruler-requests.jsonl")]
draw = random.Random(int(seed))
for run in range(11):  # 11 x 3 requests x 6 policies; one run reads every prompt once
    with open(f"{t}/args-{run}", "w") as f:
        for i in draw.sample(ids, 3): f.write(f"--id={i}\n")
        for p in draw.sample(policies, 6): f.write(f"--policy={p['spec']}\n")
X
for a in "$t"/args-*; do
    # shellcheck disable=SC2046 # one argument a line, without blanks
    ./kvrisk eval --json --model $s/mini-llama.gguf --requests $s/mini-ruler-requests.jsonl \
        --protocol query_aware $(cat "$a") >>"$t/out" 2>"$t/err" || fail "eval: $(cat "$t/err")"
done
# The numbers of another kind of processor may tip an answer now and then; here they are the same bytes.
./kvrisk calibrate --model $s/mini-llama.gguf --requests $s/mini-ruler-requests.jsonl --limit 1 \
    --protocol query_aware --methods snapkv --ladder 0.50:0.50:0.05 -o "$t/here.jsonl" 2>/dev/null ||
    fail "calibrate"
"$python" - "$t" $s <<'X'
import json, sys
from decimal import Decimal
t, s = sys.argv[1:]
def nano(x): return None if x is None else int((x * 10**9).to_integral_value())
def rows(path): return [json.loads(line, parse_float=Decimal, parse_int=Decimal) for line in open(path)]
stored, here = rows(f"{s}/mini-ruler.jsonl"), rows(f"{t}/here.jsonl")[0]
head = stored[0]
number = {p["spec"]: i for i, p in enumerate(head["policies"])}
row = {r["id"]: r for r in stored[1:]}
asked = {}
pairs, off = set(), []
for r in rows(f"{t}/out"):
    if r["event"] == "start":
        asked = {int(p["index"]): p for p in r["policies"]}
    if r["event"] != "result":
        continue
    spec = f"{r['method']}:{r['level']}," + ",".join(f"{k}={v}" for k, v in asked[int(r["index"])]["parameters"].items())
    want = row[r["id"]]
    i = number[spec.rstrip(",")]
    pairs.add((r["id"], i))
    pair = [nano(r["utility"]), nano(r["full_utility"])]  # as kvrisk compares them: integers of 1e-9
    if pair != [nano(want["utility"][i]), nano(want["full"])]:
        off.append(f"{r['id']} {spec}: {r['utility']} of {r['full_utility']}, stored {want['utility'][i]} of {want['full']}")
same = all(head["engine"][k] == here["engine"][k] for k in ("kernels", "openblas_core"))
print(f"note: {len(pairs)} (request, policy) pairs evaluated again, {len(off)} differ from the stored utilities"
      + ("" if same else " (another type of machine)"))
for line in off[:10]: print(line)
if len(pairs) < 150: sys.exit("too few pairs")
if same and off: sys.exit("utilities differ on the same type of machine")
if len(off) * 50 > len(pairs): sys.exit("more than 2 % differ")
X
