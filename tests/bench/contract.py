"""The same certification, written plainly with NumPy and SciPy, beside kvrisk's own figures.

usage: contract.py BENCH_CONTRACT FILE...
Prints one table; every figure of a row was measured in this run. Ratios are Python / kvrisk.
"""
import json
import resource
import subprocess
import sys
import time

import numpy as np
from scipy.stats import binom


def own(program, path):
    out = subprocess.run([program, path], check=True, capture_output=True, text=True).stdout
    values, verdicts = {}, {}
    for line in out.splitlines():
        word = line.split()
        if word[0] == "verdict":
            verdicts[int(word[1]), int(word[2])] = int(word[3]), int(word[4])
        else:
            values[word[0]] = float(word[1])
    return values, verdicts


def load(path):
    start = time.perf_counter()
    full, kept = [], []
    with open(path, encoding="utf-8") as f:
        header = json.loads(f.readline())
        for line in f:
            row = json.loads(line)
            full.append(row["full"])
            kept.append(row["utility"])
    return header, np.array(full), np.array(kept), time.perf_counter() - start


def certify(drop, chains, tolerance, risk, delta):
    """Certified candidate of each chain: the last before the first p-value above delta."""
    n = drop.shape[0]
    events = (drop > tolerance).sum(axis=0)
    p = np.where(events <= n * risk - 1 + 1e-9, binom.cdf(events, n, risk), 1.0)
    result = []
    for first, count in chains:
        good = p[first:first + count] <= delta
        passed = count if good.all() else int(np.argmin(good))
        result.append((passed - 1, int(events[first + passed - 1]) if passed else -1))
    return result


def chains_of(header):
    chains, names = [], [p["method"] for p in header["policies"]]
    for i, name in enumerate(names):
        if i == 0 or names[i - 1] != name:
            chains.append([i, 0])
        chains[-1][1] += 1
    return chains


def main():
    rows = []
    for path in sys.argv[2:]:
        values, verdicts = own(sys.argv[1], path)
        header, full, kept, seconds = load(path)
        # Integers of 1e-9, so that ties are judged as kvrisk judges them.
        drop = np.rint(full * 1e9).astype(np.int64)[:, None] - np.rint(kept * 1e9).astype(np.int64)
        del kept
        chains = chains_of(header)
        repeat = max(1, min(50, int(2e7 / drop.size)))
        start = time.perf_counter()
        for i in range(repeat):
            certify(drop, chains, 1000000 * i, 0.05, 0.05)
        each = (time.perf_counter() - start) / repeat
        agree = all(
            certify(drop, chains, 50000000 * (i % 3), (2 + 3 * (i // 3)) / 100, 0.05)[m]
            == verdicts[i, m]
            for i in range(9) for m in range(len(chains)))
        size = len(drop) * drop.shape[1] * 8
        rows.append((len(drop), values, seconds, each, agree, size))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print("contract recompute, 52 policies (4 methods), one core")
    print(f"{'requests':>10} {'NumPy/SciPy':>13} {'kvrisk tol':>11} {'risk':>9} {'conf':>9} {'ratio':>9}  same verdicts")
    for n, v, _, each, agree, _ in rows:
        worst = max(v["tolerance"], v["risk"], v["confidence"])
        print(f"{n:>10} {each * 1e3:>10.3f} ms {v['tolerance'] * 1e6:>8.1f} us {v['risk'] * 1e6:>6.1f} us"
              f" {v['confidence'] * 1e6:>6.1f} us {each / worst:>8.0f}x  {'yes' if agree else 'NO'}")
    print("loading (kvrisk: parse, check, hash, index; Python: json.loads of the same lines)")
    print(f"{'requests':>10} {'Python json':>13} {'kvrisk':>11} {'ratio':>9} {'peak memory':>13} {'of n*m*8':>9}")
    for n, v, seconds, _, _, size in rows:
        print(f"{n:>10} {seconds:>11.3f} s {v['load']:>9.3f} s {seconds / v['load']:>8.1f}x"
              f" {v['peak_kib'] / 1024:>9.0f} MiB {v['peak_kib'] * 1024 / size:>8.2f}x")
    print(f"(Python's own peak: {peak / 1024:.0f} MiB)")
    return 0 if all(r[4] for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
