"""kvrisk simulate beside the same simulation in NumPy, in one run: draws of calibration sets with
replacement, one task at a time, certified and empirical choice of every method."""
import json
import subprocess
import sys
import time

import numpy as np
from scipy.stats import binom

program, path = sys.argv[1], sys.argv[2]
draws = int(sys.argv[3]) if len(sys.argv) > 3 else 20000

rows = [json.loads(line) for line in open(path)]
head, rows = rows[0], rows[1:]
full = np.array([np.nan if r["full"] is None else r["full"] for r in rows])
kept = np.array([[np.nan if u is None else u for u in r["utility"]] for r in rows])
event = ~(np.round((full[:, None] - kept) * 1e9) <= 1e8)
task = np.array([head["tasks"].index(r["task"]) for r in rows])
methods = [p["method"] for p in head["policies"]]
names = list(dict.fromkeys(methods))
eps, delta, n = 0.05, 0.05, len(rows)

start = time.time()
rng = np.random.default_rng(1)
kmax = max(k for k in range(n) if binom.cdf(k, n, eps) <= delta and k <= n * eps - 1)
groups = [np.flatnonzero(task == t) for t in range(len(head["tasks"]))]
risk = np.mean([event[g].mean(0) for g in groups], axis=0)
counts = np.zeros((draws, event.shape[1]), dtype=np.int32)
for d in range(draws):
    pick = np.concatenate([g[rng.integers(len(g), size=len(g))] for g in groups])
    counts[d] = event[pick].sum(0)
broken = {}
for name in names:
    at = [i for i, m in enumerate(methods) if m == name]
    for rule, most in (("certified", kmax), ("empirical", int(n * eps + 1e-9))):
        passed = np.cumprod(counts[:, at] <= most, axis=1).sum(1)
        broken[rule, name] = float(np.mean([p > 0 and risk[at[p - 1]] > eps + 1e-12 for p in passed]))
numpy_s = time.time() - start

start = time.time()
out = subprocess.run([program, "simulate", path, "--draws", str(draws), "--json"], check=True,
                     capture_output=True, text=True).stdout
own_s = time.time() - start
worst = max(abs(r["broken"] - broken[r["rule"], r["method"]])
            for r in json.loads(out)["rules"] if r["method"] is not None)
print(f"simulate, {draws} draws of {n} x {event.shape[1]}: kvrisk {own_s:.2f} s, NumPy {numpy_s:.2f} s "
      f"({numpy_s / own_s:.0f}x); largest difference of a share {worst:.4f}")
assert worst < 0.02, worst
