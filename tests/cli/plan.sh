#!/bin/sh
# kvrisk plan: the level that is really used, words and null beyond what is planned for, multiples of the
# tasks, whole walks; sizes recounted one by one with SciPy.
set -u
fail() { echo "$*"; exit 1; }
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
python=$([ -x /usr/bin/python3 ] && echo /usr/bin/python3 || echo python3)
f=data/samples/mini-ruler.jsonl
json() { out=$1; shift; ./kvrisk plan "$@" --json >"$d/$out" || fail "plan $*"; }
json far --risk 1e-9
json plain
json seven --tasks 7
json twelve --methods 12
json level --level 0.05/12
json file $f
json family $f --family
json tolerance $f --choose tolerance --method snapkv
json map $f --choose map
json walks $f --method snapkv --walks 3000
json counts data/samples/published-llama31-8b-ruler32k.json
./kvrisk simulate $f --n 1400 --draws 3000 --method snapkv --json >"$d/sim" || fail "simulate"
refused() {
    want=$1; shift
    ./kvrisk plan "$@" >"$d/out" 2>"$d/err"; [ $? = 2 ] || fail "$*: not refused"
    grep -q -e "$want" "$d/err" || fail "$*: $(cat "$d/err")"
}
refused '--choose needs a FILE' --choose map
refused '--choose is one of' $f --choose all
refused 'exclude each other' --methods 3 --level 0.01
refused 'exclude each other' $f --family --choose map
refused '--level must be above 0' --level 0.6
refused '--level is a share' --level 0.05/0
refused '--walks needs a FILE' --walks 100
refused 'no requests to draw from' data/samples/published-llama31-8b-ruler32k.json --walks 100
./kvrisk plan data/samples/published-llama31-8b-ruler32k.json >"$d/out" || fail "counts"
grep -q 'more come in multiples of 13' "$d/out" || fail "$(cat "$d/out")"
./kvrisk plan $f --family >"$d/out" || fail "family"
grep -q 'error level 0.05/10: at least 105 requests' "$d/out" || fail "$(cat "$d/out")"
grep -q 'not below the target, no number of requests would do' "$d/out" || fail "$(cat "$d/out")"
./kvrisk plan --risk 1e-7 >"$d/out" || fail "1e-7"
grep -q '>1000000000: more requests than that' "$d/out" || fail "$(cat "$d/out")"

"$python" - "$d" <<'P' || exit 1
import json, sys
import numpy as np
from scipy.stats import binom
d = sys.argv[1]
load = lambda n: json.load(open(f"{d}/{n}"))
far = load("far")
assert far["minimum"] is None and all(r["first"] is None and r["stable"] is None for r in far["needed"])
def recount(name, level, step, top=5000):
    x = load(name)
    assert abs(x["level"] - level) < 1e-15 and x["step"] == step, (name, x["level"], x["step"])
    n = np.arange(step, top + 1, step)
    kmax = binom.ppf(level, n, 0.05)
    kmax = np.where(binom.cdf(kmax, n, 0.05) <= level, kmax, kmax - 1)
    kmax = np.minimum(kmax, n // 20 - 1)
    assert x["minimum"] == n[np.argmax(kmax >= 0)], name
    for r in x["needed"]:
        has = binom.cdf(kmax, n, r["risk"]) >= 0.8
        if r["stable"] is None or r["stable"] > top - 1500:
            continue
        assert r["first"] == n[np.argmax(has)], (name, r)
        assert r["stable"] == n[len(n) - np.argmax(~has[::-1])] if not has.all() else n[0], (name, r)
recount("plain", 0.05, 1)
recount("seven", 0.05, 7)
recount("twelve", 0.05 / 12, 1)
recount("file", 0.05, 7)
recount("family", 0.05 / 10, 7)
recount("tolerance", 0.05 / 13, 7)
assert load("level")["needed"] == load("twelve")["needed"]
assert [r["stable"] for r in load("twelve")["needed"]][3] == 1284 and [r["first"] for r in load("twelve")["needed"]][3] == 1212
x = load("file")
by = {c["choose"]: c for c in x["choices"]}
assert [c["choose"] for c in x["choices"]] == ["nothing", "method", "tolerance", "risk", "map"]
assert by["nothing"]["level"] == 0.05 and abs(by["method"]["level"] - 0.005) < 1e-15
assert by["map"]["level"] < by["tolerance"]["level"] and load("map")["level"] <= by["map"]["level"]
for a, b in zip(by["nothing"]["needed"], by["map"]["needed"]):
    assert a["stable"] < b["stable"]
nxt = {n["method"]: n for n in x["next"]}
assert nxt["snapkv"]["outlook"] == "never" and nxt["snapkv"]["more"] is None and nxt["snapkv"]["events"] == 37
assert nxt["adakv"]["outlook"] == "more" and nxt["adakv"]["more"] % 7 == 0
n = 700 + nxt["adakv"]["more"]
k = -(-29 * n // 700)
assert binom.cdf(k, n, 0.05) <= 0.05 < binom.cdf(-(-29 * (n - 7) // 700), n - 7, 0.05)
walks = load("walks")["walks"]
assert [w["n"] for w in walks] == [350, 700, 1400, 2800] and [m["method"] for m in walks[0]["methods"]] == ["snapkv"]
sim = next(r for r in load("sim")["rules"] if r["rule"] == "certified")
assert sim["retention"] == walks[2]["methods"][0]["retention"]
assert walks[0]["methods"][0]["retention"] > walks[3]["methods"][0]["retention"]
assert load("counts")["step"] == 13
P

printf '%s\n' '{"kvrisk":1,"kind":"calibration","model":"m","benchmark":"b","scorer":"s","protocol":"query_aware","utility":{"min":0,"max":1},"tasks":["t"],"policies":[{"method":"a","retention":0.5}]}' \
    '{"id":"1","task":"t","full":1,"utility":[1],"cluster":"c"}' '{"id":"2","task":"t","full":1,"utility":[1],"cluster":"c"}' >"$d/cluster.jsonl"
./kvrisk plan "$d/cluster.jsonl" >"$d/out" || fail "clusters"
grep -q 'a *refused: requests depend on each other' "$d/out" || fail "$(cat "$d/out")"
./kvrisk plan "$d/cluster.jsonl" --json | grep -q '"outlook":"refused"' || fail "clusters as JSON"

# The screen has the same numbers, at any size, also where sizes are large.
screen() { size=$1; shift; ./kvrisk --print plan --size "$size" "$@" >"$d/screen" || fail "screen $size $*"; }
for size in 60x16 80x24 120x36 200x60; do
    screen $size $f
    grep -q '3.00 % *630 *700 *84.1 %' "$d/screen" || fail "$size: $(cat "$d/screen")"
done
grep -q 'tolerance and risk target *0.000296 *777 *1,890 *8,176' "$d/screen" || fail "$(head -30 "$d/screen")"
grep -q 'adakv *55 % *29 of 700 *4.14 % *+1,134' "$d/screen" || fail "$(head -30 "$d/screen")"
screen 120x36 --ascii $f
LC_ALL=C grep -q '[^ -~]' "$d/screen" && fail "not ASCII: $(cat "$d/screen")"
printf '{"kvrisk":1,"kind":"counts","model":"m","benchmark":"b","tolerance":0.1,"n":10000000,"policies":[{"method":"a","retention":0.5,"events":499990}]}\n' >"$d/large.json"
screen 200x60 "$d/large.json"
grep -q '499,990 of 10,000,000 *4.9999 %  more than 1e9' "$d/screen" || fail "$(head -30 "$d/screen")"
