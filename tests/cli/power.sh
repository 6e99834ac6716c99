#!/bin/sh
# What each honest mode costs in retention: on the prototype's measurement, and for calibration sets of
# 300, 1200 and 5000 requests drawn from it.
set -eu
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
f=tests/fixtures/prototype/mini-ruler.jsonl
python=$([ -x /usr/bin/python3 ] && echo /usr/bin/python3 || echo python3)
draws=${KR_SIM_DRAWS:-4000}
./kvrisk certify $f --mode all --json >"$tmp/modes.json" || [ $? = 3 ]
./kvrisk certify $f --family --json >"$tmp/family.json"
for n in 300 1200 4998; do
    ./kvrisk simulate $f --n $n --draws "$draws" --json >"$tmp/$n.json"
done
"$python" - "$tmp" "$draws" <<'P'
import json, sys
d, draws = sys.argv[1], sys.argv[2]
load = lambda n: json.load(open(f"{d}/{n}.json"))
claims = load("modes")["claims"]
families = {m["method"]: m["retention"] for m in load("family")["methods"]}
for method in ("keydiff", "snapkv", "adakv"):
    r = {c["mode"]: c["retention"] for c in claims if c["method"] == method}
    print(f"note: n=600 {method} keeps: alone {r['events']:.2f}, family of 9 {families[method]:.2f}, any "
          f"tolerance {r['tolerances']:.2f}, any risk {r['risks']:.2f}, map {r['map']:.2f}, e-value "
          f"{r['confidence']:.2f}, worst task {r['worst_task']:.2f}, mean drop {r['mean_drop']:.2f}")
    for mode in ("tolerances", "risks", "map", "worst_task"):
        assert r[mode] >= r["events"], (method, mode)
    assert families[method] >= r["events"]
for n in (300, 1200, 4998):
    rules = {(r["rule"], r["method"]): r for r in load(n)["rules"]}
    pick = lambda rule, m=None: rules[rule, m]
    print(f"note: n={n} ({draws} draws) best method keeps/breaks: family {pick('best_family')['retention']:.3f}/"
          f"{pick('best_family')['broken']:.3f}, uncorrected {pick('best_uncorrected')['retention']:.3f}/"
          f"{pick('best_uncorrected')['broken']:.3f}, empirical {pick('best_empirical')['retention']:.3f}/"
          f"{pick('best_empirical')['broken']:.3f}; snapkv alone {pick('certified', 'snapkv')['retention']:.3f}/"
          f"{pick('certified', 'snapkv')['broken']:.3f}, empirical {pick('empirical', 'snapkv')['retention']:.3f}/"
          f"{pick('empirical', 'snapkv')['broken']:.3f}")
    assert pick("best_family")["broken_lower"] <= 0.05
    for (rule, m), r in rules.items():
        assert rule != "certified" or r["broken_lower"] <= 0.05, (m, r)
P
