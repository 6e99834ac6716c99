"""kvrisk simulate beside the same work in NumPy, in one run: calibration sets with replacement, each task
equally, the choice of every method alone and of the best by three rules. NumPy gets its fastest form, the
rows' multinomial weights times the matrix of events (BLAS on all cores), and its file is read beforehand;
kvrisk's time is that of the whole command."""
import json
import subprocess
import sys
import time

import numpy as np
from scipy.stats import binom

program, path = sys.argv[1], sys.argv[2]
draws = int(sys.argv[3]) if len(sys.argv) > 3 else 20000

rows = [json.loads(line) for line in open(path)]
head, every = rows[0], rows[1:]
rows = [r for r in every if r.get("split", "cal") == "cal"]
value = lambda u: np.nan if u is None else u
full = np.array([value(r["full"]) for r in rows])
kept = np.array([[value(u) for u in r["utility"]] for r in rows], float)
event = ~(np.round((full[:, None] - kept) * 1e9) <= 1e8)
task = np.array([head["tasks"].index(r["task"]) for r in rows])
methods = [p["method"] for p in head["policies"]]
names = list(dict.fromkeys(methods))
level = np.array([p.get("retention", np.mean([r["retained"][j] for r in every]) if "retained" in every[0] else 1)
                  for j, p in enumerate(head["policies"])], float)
eps, delta, n = 0.05, 0.05, len(rows)


def largest(d):
    return max(k for k in range(n) if k <= n * eps - 1 and binom.cdf(k, n, eps) <= d)


def walk(counts, most):
    """Chosen candidate of each method at each draw (-1: full KV), and whether its sequence was passed."""
    chosen, complete = [], []
    for name in names:
        at = np.array([i for i, m in enumerate(methods) if m == name])
        passed = np.cumprod(counts[:, at] <= most, axis=1).sum(1)
        chosen.append(np.where(passed > 0, at[np.maximum(passed, 1) - 1], -1))
        complete.append(passed == len(at))
    return np.array(chosen), np.array(complete)


def best(chosen):
    keeps = np.where(chosen >= 0, level[chosen], 1.0)
    return np.take_along_axis(chosen, keeps.argmin(0)[None], 0)[0]


def simulate():
    rng = np.random.default_rng(1)
    groups = [np.flatnonzero(task == t) for t in range(len(head["tasks"]))]
    risk = np.mean([event[g].mean(0) for g in groups], axis=0)
    weights = np.zeros((draws, n), dtype=np.float32)
    for g in groups:
        weights[:, g] = rng.multinomial(n // len(groups), np.full(len(g), 1 / len(g)), size=draws)
    counts = np.rint(weights @ event.astype(np.float32)).astype(np.int32)
    certified, _ = walk(counts, largest(delta))
    empirical, _ = walk(counts, int(n * eps + 1e-9))
    family, complete = walk(counts, largest(delta / len(names)))
    done = complete.sum(0)
    for k in range(1, len(names)):  # a method that passed to its end hands its share on
        if not (done >= k).any():
            break
        again, complete = walk(counts, largest(delta / (len(names) - k)))
        family = np.where(done >= k, again, family)
        done = np.where(done >= k, np.maximum(done, complete.sum(0)), done)
    out = {("certified", m): certified[i] for i, m in enumerate(names)}
    out.update({("empirical", m): empirical[i] for i, m in enumerate(names)})
    out["best_uncorrected", None], out["best_empirical", None] = best(certified), best(empirical)
    out["best_family", None] = best(family)
    return {k: (float(np.mean((c >= 0) & (risk[c] > eps + 1e-12))), float(np.mean(np.where(c >= 0, level[c], 1))))
            for k, c in out.items()}


start = time.time()
want = simulate()
numpy_s = time.time() - start
start = time.time()
out = subprocess.run([program, "simulate", path, "--draws", str(draws), "--json"], check=True,
                     capture_output=True, text=True).stdout
own_s = time.time() - start
rules = json.loads(out)["rules"]
worst = max(abs(r["broken"] - want[r["rule"], r["method"]][0]) for r in rules)
keeps = max(abs(r["retention"] - want[r["rule"], r["method"]][1]) for r in rules)
print(f"simulate, {draws} draws of {n} x {event.shape[1]}: kvrisk {own_s:.2f} s, NumPy {numpy_s:.2f} s "
      f"({numpy_s / own_s:.0f}x); largest difference of a share {worst:.4f}, of a mean retention {keeps:.4f}")
assert worst < 0.02 and keeps < 0.01 and len(rules) == len(want), (worst, keeps)
