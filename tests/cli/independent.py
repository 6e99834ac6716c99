"""An independent certification in SciPy, compared with `kvrisk certify --json`.

usage: independent.py KVRISK FILE CONTRACTS SEED [expect]
Reads the native file with json and exact integers, walks each method's candidates with
scipy.stats.binom.cdf and the guard K <= n*eps - 1 in exact fractions, and compares decisions,
retention, counts and p-values for CONTRACTS random contracts. With `expect`, also the values that are
known for the Qwen3-8B RULER outputs.
"""
import json
import random
import subprocess
import sys
from fractions import Fraction

from scipy.stats import binom


def nano(value):
    """A utility's decimal text as integer units of 1e-9."""
    return None if value is None else round(Fraction(value) * 10**9)


def load(path):
    with open(path, encoding="utf-8") as f:
        header = json.loads(f.readline())
        rows = [json.loads(line, parse_float=str, parse_int=str) for line in f if line.strip()]
    drops = []
    for j in range(len(header["policies"])):
        column = []
        for r in rows:
            full, kept = nano(r["full"]), nano(r["utility"][j])
            column.append(None if full is None or kept is None else full - kept)
        drops.append(column)
    return header, drops


def certify(header, drops, tolerance, risk, delta):
    """method -> (retention text or None, events, p) of the certified candidate."""
    limit = round(Fraction(tolerance) * 10**9)
    eps, delta = Fraction(risk), Fraction(delta)
    result, stopped = {}, set()
    for policy, column in zip(header["policies"], drops):
        name, n = policy["method"], len(column)
        result.setdefault(name, (None, None, None))
        if name in stopped:
            continue
        events = sum(1 for d in column if d is None or d > limit)
        p = binom.cdf(events, n, float(eps)) if events <= n * eps - 1 else 1.0
        if p <= float(delta):
            result[name] = (policy["retention"], events, p)
        else:
            stopped.add(name)
    return result


def own(program, path, tolerance, risk, confidence):
    r = subprocess.run([program, "certify", path, "--tolerance", tolerance, "--risk", risk,
                        "--confidence", confidence, "--json"], capture_output=True, text=True)
    if r.returncode not in (0, 3):
        sys.exit(f"exit {r.returncode}: {r.stderr}")
    return json.loads(r.stdout), r.returncode


def compare(program, path, header, drops, tolerance, risk, confidence):
    got, code = own(program, path, tolerance, risk, confidence)
    want = certify(header, drops, tolerance, risk, Fraction(1) - Fraction(confidence))
    for m in got["methods"]:
        retention, events, p = want[m["method"]]
        same = (m["decision"] == ("fallback" if retention is None else "certified")
                and m["retention"] == (1.0 if retention is None else retention)
                and m["events"] == events
                and (p is None or abs(m["p_value"] - p) <= 1e-9 * p + 1e-250))
        if not same:
            sys.exit(f"{tolerance} {risk} {confidence} {m['method']}: kvrisk {m['decision']} "
                     f"{m['retention']} {m['events']} {m['p_value']}, SciPy {want[m['method']]}")
    if (code == 3) != all(w[0] is None for w in want.values()):
        sys.exit(f"{tolerance} {risk} {confidence}: exit status {code}")
    return got


KNOWN = [  # risk, max events, {end of the method's name: retention}
    ("0.05", 295, {"uniform": 0.25, "stale": 0.25, "zerofill": 0.5}),
    ("0.01", 51, {"uniform": 0.5, "stale": 0.25, "zerofill": 0.5}),
    ("0.002", 6, {"uniform": 0.75, "stale": 1.0, "zerofill": 1.0}),
]


def main():
    program, path, count, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    header, drops = load(path)
    rng = random.Random(seed)
    for _ in range(count):
        tolerance = str(rng.choice([0, 0.05, 0.1, 0.2, 0.25, 0.5, 1]))
        risk = f"{rng.choice([0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2]) * rng.uniform(0.5, 2):.4f}"
        confidence = f"{rng.choice([0.5, 0.8, 0.9, 0.95, 0.99, 0.999])}"
        compare(program, path, header, drops, tolerance, risk, confidence)
    print(f"note: {count} random contracts on {path.rsplit('/', 1)[-1]} agree with SciPy")
    if len(sys.argv) > 5:
        for risk, kmax, expected in KNOWN:
            got = compare(program, path, header, drops, "0.1", risk, "0.95")
            assert got["max_events"] == kmax, (risk, got["max_events"])
            for m in got["methods"]:
                word = next(w for w in expected if w in m["method"])
                assert m["retention"] == expected[word], (risk, m["method"], m["retention"])
        print("note: the known contracts on the Qwen3-8B RULER outputs hold")


if __name__ == "__main__":
    main()
