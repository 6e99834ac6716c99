#!/bin/sh
# kvrisk simulate: what it may draw from, the same bytes for any number of threads, Ctrl-C, and the
# figures beside an independent simulation in NumPy.
set -u
fail() { echo "$*"; exit 1; }
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
python=$([ -x /usr/bin/python3 ] && echo /usr/bin/python3 || echo python3)
"$python" - "$d" <<'P'
import json, random, sys
d, r = sys.argv[1], random.Random(5)
def write(name, sizes, methods, edit=lambda i, row: row):
    tasks = [f"t{h}" for h in range(len(sizes))]
    policies = [{"method": m, "threshold": (j + 1) / 100, "mean_retained": round(0.99 - 0.005 * j, 6) if m == "ok" else round(0.95 - 0.0713 * j - 0.0101 * k, 6)}
                for k, m in enumerate(methods) for j in range(7)]
    with open(f"{d}/{name}.jsonl", "w") as f:
        print(json.dumps({"kvrisk": 1, "kind": "calibration", "model": "m", "benchmark": "b", "scorer": "s",
                          "protocol": "query_aware", "utility": {"min": 0, "max": 1}, "tasks": tasks,
                          "policies": policies}), file=f)
        i = 0
        for h, size in enumerate(sizes):
            for _ in range(size):
                at = {m: r.random() for m in methods}
                u = [0.0 if at[p["method"]] * (9 if p["method"] == "ok" else 1) < 0.012 * 1.35 ** (j % 7) * (1 + h) / 2 else 1.0
                     for j, p in enumerate(policies)]
                print(json.dumps(edit(i, {"id": f"r{i}", "task": tasks[h], "full": 1.0, "utility": u})), file=f)
                i += 1
write("even", [60, 60, 60], ["aa", "ok", "bb"])
write("uneven", [20, 60, 130], ["aa", "bb"])
write("clusters", [40, 40], ["aa"], lambda i, row: dict(row, cluster=f"c{i // 2}"))
write("missing", [50], ["aa"], lambda i, row: dict(row, full=None) if i < 5 else row)
write("one", [1], ["aa"])
P

# The same bytes whatever shares the work.
for t in 2 3 7; do
    ./kvrisk simulate "$d/even.jsonl" --draws 3001 --seed 0 --threads 1 --json >"$d/1" || fail "one thread"
    ./kvrisk simulate "$d/even.jsonl" --draws 3001 --seed 0 --threads $t --json >"$d/$t" || fail "$t threads"
    cmp "$d/1" "$d/$t" || fail "$t threads give other bytes than one"
done
./kvrisk simulate "$d/even.jsonl" --draws 3001 --seed 1 --json | cmp -s "$d/1" - && fail "the seed does not matter"

refused() {
    want=$1; shift
    ./kvrisk simulate "$@" >"$d/out" 2>"$d/err"; [ $? = 2 ] || fail "$*: not refused"
    grep -q -e "$want" "$d/err" || fail "$*: $(cat "$d/err")"
    [ -s "$d/out" ] && fail "$*: printed figures"
}
refused 'share clusters or prompts' "$d/clusters.jsonl"
refused 'published counts have no requests' data/samples/published-llama31-8b-ruler32k.json
refused '100 requests per draw are no multiple of the 3 tasks, which share them equally; 102 would be' "$d/even.jsonl" --n 100
refused "no method 'cc'" "$d/even.jsonl" --method cc
refused '--n is .0., expected a whole number from 1 to 10000000' "$d/even.jsonl" --n 0
refused '--draws is .1e3., expected' "$d/even.jsonl" --draws 1e3
refused '--seed is .-1., expected' "$d/even.jsonl" --seed -1
refused '--threads is .65., expected' "$d/even.jsonl" --threads 65
refused '--seed is .9223372036854775808., expected' "$d/even.jsonl" --seed 9223372036854775808
./kvrisk simulate "$d/clusters.jsonl" --assume-independent --draws 100 >"$d/out" || fail "assumed independent"
grep -q 'drawn one by one, as if independent' "$d/out" || fail "does not say that clusters were ignored"

# More requests than there are, one request, one method; unequal tasks are drawn from as one.
./kvrisk simulate "$d/even.jsonl" --n 3000 --draws 50 --json >"$d/large.json" || fail "n above the rows"
./kvrisk simulate "$d/one.jsonl" --draws 50 --json >"$d/one.json" || fail "one request"
./kvrisk simulate "$d/missing.jsonl" --draws 2000 --n 200 --json >"$d/missing.json" || fail "missing utilities"
./kvrisk simulate "$d/uneven.jsonl" --draws 20000 --n 200 --json >"$d/uneven.json" || fail "unequal tasks"
./kvrisk simulate "$d/even.jsonl" --draws 20000 --n 150 --json >"$d/even.json" || fail "equal tasks"
./kvrisk simulate data/samples/mini-ruler.jsonl --draws 20000 --n 350 --risk 0.06 --json >"$d/ruler.json" || fail "sample"

# The screen: what was asked for by :sim, refusals in words, every size, plain characters.
screen() { keys=$1 size=$2; shift 2; ./kvrisk --print simulate --size "$size" --keys "$keys" "$@" >"$d/screen" || fail "screen"; }
screen ":sim n 1400
:sim draws 500
:sim threads 3
:sim seed 7
" 80x24 data/samples/mini-ruler.jsonl
grep -q '500 of 500 draws of 1,400 requests, 200 of each task, seed 7' "$d/screen" || fail "$(cat "$d/screen")"
screen ":sim n 300
" 80x24 data/samples/mini-ruler.jsonl
grep -q '300 requests per draw are no multiple of the 7 tasks' "$d/screen" || fail "$(cat "$d/screen")"
screen ":sim draws 20
" 160x48 data/samples/mini-ruler.jsonl # what is advised can be done
grep -q ':sim n 301' "$d/screen" || fail "$(cat "$d/screen")"
screen ":sim n 301
:sim draws 20
" 160x48 data/samples/mini-ruler.jsonl
grep -q '20 of 20 draws of 301 requests, 43 of each task' "$d/screen" || fail "$(cat "$d/screen")"
screen ":sim draws none
" 80x24 data/samples/mini-ruler.jsonl
grep -q ':sim draws takes a whole number from 1' "$d/screen" || fail "$(cat "$d/screen")"
screen "" 80x24 "$d/clusters.jsonl"
grep -q 'requests share clusters or prompts' "$d/screen" || fail "$(cat "$d/screen")"
screen "" 80x24 data/samples/published-llama31-8b-ruler32k.json
grep -q 'Published counts have no requests' "$d/screen" || fail "$(cat "$d/screen")"
for size in 60x16 120x36 200x60; do
    screen "" $size "$d/even.jsonl"
    grep -q '20,000 of 20,000 draws' "$d/screen" || fail "$size: $(cat "$d/screen")"
    grep -q 'as a family' "$d/screen" || fail "$size: $(cat "$d/screen")"
done
grep -q 'what the best of all methods is' "$d/screen" && grep -q 'breaks from here' "$d/screen" || fail "$(cat "$d/screen")"
screen "" 200x60 --ascii "$d/even.jsonl"
LC_ALL=C grep -q '[^ -~]' "$d/screen" && fail "not ASCII: $(cat "$d/screen")"

# Ctrl-C keeps what there is, says so, and the counts are those of the draws made.
# A background job of a script ignores SIGINT until the program sets its own handler.
for wait in 0.4 2 5; do
    ./kvrisk simulate "$d/even.jsonl" --draws 1000000000 --n 3000 --json >"$d/cut.json" 2>"$d/err" &
    pid=$!
    sleep $wait
    for i in $(seq 200); do
        kill -INT $pid 2>/dev/null
        sleep 0.1
        [ -s "$d/err" ] && break
    done
    wait $pid; [ $? = 1 ] || fail "interrupted: exit status"
    grep -q 'interrupted before the first draw' "$d/err" || break
done
grep -q 'interrupted: the figures are of [0-9]* of the 1000000000 draws' "$d/err" || fail "$(cat "$d/err")"

"$python" - "$d" <<'P' || exit 1
import json, math, sys
import numpy as np
from scipy.stats import binom
d = sys.argv[1]
def load(name): return json.load(open(f"{d}/{name}.json"))
cut = load("cut")
assert not cut["complete"] and 0 < cut["draws"] < 10**9, cut["draws"]
for r in cut["rules"]:
    assert sum(c["draws"] for c in r["chosen"]) + round(r["fallback"] * cut["draws"]) == cut["draws"]
assert load("large")["n"] == 3000 and load("large")["complete"]
one = load("one")
assert one["n"] == 1 and one["tasks"] == 1 and all(r["fallback"] == 1 for r in one["rules"] if "empirical" not in r["rule"])
miss = load("missing")
assert all(r["broken"] == 0 and r["fallback"] == 1 for r in miss["rules"] if r["rule"] == "certified"), \
    "five of fifty have no utility, so every candidate has a risk of a tenth"

def check(path, name, eps, tolerance_nano=10**8):
    """The same simulation, otherwise: multinomial weights of the rows, then a product of matrices."""
    out = load(name)
    rows = [json.loads(line) for line in open(path)]
    head, every = rows[0], rows[1:]
    rows = [r for r in every if r.get("split", "cal") == "cal"]
    val = lambda u: np.nan if u is None else u
    full = np.array([val(r["full"]) for r in rows])
    kept = np.array([[val(u) for u in r["utility"]] for r in rows], float)
    event = (~(np.round((full[:, None] - kept) * 1e9) <= tolerance_nano)).astype(float)
    task = np.array([head["tasks"].index(r["task"]) for r in rows])
    sizes = np.bincount(task)
    groups = [np.flatnonzero(task == h) for h in range(len(sizes))] if len(set(sizes)) == 1 else [np.arange(len(rows))]
    n, draws, delta = out["n"], 20000, 0.05
    assert out["tasks"] == len(groups), (out["tasks"], len(groups))
    rng = np.random.default_rng(77)
    weights = np.zeros((draws, len(rows)))
    for g in groups:
        weights[:, g] = rng.multinomial(n // len(groups), np.full(len(g), 1 / len(g)), size=draws)
    counts = np.rint(weights @ event).astype(int)
    risk = np.mean([event[g].mean(0) for g in groups], axis=0)
    kmax = lambda level: max((k for k in range(n) if k <= n * eps - 1 and binom.cdf(k, n, eps) <= level), default=-1)
    methods = [p["method"] for p in head["policies"]]
    names = list(dict.fromkeys(methods))
    level = np.array([p.get("retention", p.get("mean_retained", np.mean([r["retained"][j] for r in every]) if "retained" in every[0] else None))
                      for j, p in enumerate(head["policies"])], float)
    last = {}
    def walk(m, most):
        at = [i for i, x in enumerate(methods) if x == m]
        passed = np.cumprod(counts[:, at] <= most, axis=1).sum(1)
        return np.where(passed > 0, np.array(at)[np.maximum(passed, 1) - 1], -1), passed == len(at)
    def keeps(c): return np.where(c >= 0, level[c], 1.0)
    def best(cs):
        a = cs[0]
        for b in cs[1:]:
            a = np.where(keeps(b) < keeps(a), b, a)
        return a
    M = len(names)
    for m in names:
        last["certified", m] = walk(m, kmax(delta))[0]
        last["empirical", m] = walk(m, int(n * eps + 1e-9))[0]
    last["best_uncorrected", None] = best([last["certified", m] for m in names])
    last["best_empirical", None] = best([last["empirical", m] for m in names])
    # Parallel chains: a method that passed to its end hands its share on.
    done = np.zeros(draws, int)
    while True:
        w = {}
        for k in range(M):
            for m in names:
                w[k, m] = walk(m, kmax(delta / (M - k)))
        fresh = np.zeros(draws, int)
        for m in names:
            fresh += np.choose(np.minimum(done, M - 1), [w[k, m][1] for k in range(M)])
        if (fresh <= done).all():
            break
        done = np.maximum(done, fresh)
    last["best_family", None] = best([np.choose(np.minimum(done, M - 1), [w[k, m][0] for k in range(M)]) for m in names])
    worst = 0
    for r in out["rules"]:
        c = last[r["rule"], r["method"]]
        for got, x in ((r["broken"], (c >= 0) & (risk[c] > eps + 1e-12)), (r["fallback"], c < 0), (r["retention"], keeps(c))):
            se = math.sqrt(2 * np.var(x) / draws) + 1e-4
            assert abs(got - np.mean(x)) < 4.5 * se, (name, r["rule"], r["method"], got, np.mean(x), se)
            worst = max(worst, abs(got - np.mean(x)) / se)
    return worst
w = max(check(f"{d}/even.jsonl", "even", 0.05), check(f"{d}/uneven.jsonl", "uneven", 0.05),
        check("data/samples/mini-ruler.jsonl", "ruler", 0.06))
print(f"note: 20000 draws of three files agree with NumPy's in every rule (largest distance {w:.1f} standard errors)")
P
