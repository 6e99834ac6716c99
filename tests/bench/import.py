#!/usr/bin/env python3
"""make bench: `kvrisk import kvpress` over a generated evaluation of BENCH_IMPORT_MB (default 1000)
megabytes, its time and peak memory, beside Python's csv module reading the same files."""
import csv
import os
import random
import resource
import subprocess
import sys
import time

kvrisk, home = sys.argv[1:3]
megabytes = int(os.environ.get("BENCH_IMPORT_MB", "1000"))
RUNS = [("no_press", "0.00")] + [("snapkv", f"{r / 100:.2f}") for r in range(10, 100, 10)]
TASKS = ["niah_single_1", "vt", "cwe", "qa_1"]


def generate():
    """Ten runs of equal size; one prediction in five spreads over several lines."""
    rows = megabytes * 1_000_000 // len(RUNS) // 310
    for run, (press, ratio) in enumerate(RUNS):
        noise = random.Random(run)
        folder = os.path.join(home, f"ruler__4096__acme--Tiny-1B__{press}__{ratio}")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "predictions.csv"), "w", newline="") as f:
            w = csv.writer(f, lineterminator="\n")
            w.writerow(["task", "predicted_answer", "answer", "question", "compression_ratio"])
            for i in range(rows):
                number = 100_000_000 + 37 * i  # the same requests in each run
                said = number if noise.random() < 0.95 else 0
                text = f" The special number is {said}." + "\nIt was \"hidden\" in the text, as asked." * (number % 5 == 0)
                row = [TASKS[number % 4], text + " x" * 80, f"['{number}' 'x']",
                       f"What is the special magic number for item {number}, mentioned in the text?", ratio]
                w.writerow(row)
        open(os.path.join(folder, "metrics.json"), "w").write("{}")


def files():
    return [os.path.join(d, "predictions.csv") for d, _, names in sorted(os.walk(home)) if "predictions.csv" in names]


if not os.path.isdir(home):
    generate()
total = sum(os.path.getsize(f) for f in files())

start = time.perf_counter()
rows = 0
csv.field_size_limit(1 << 30)
for name in files():
    with open(name, newline="", encoding="utf-8") as f:
        for _ in csv.reader(f):
            rows += 1
python_s = time.perf_counter() - start

start = time.perf_counter()
done = subprocess.run([kvrisk, "import", "kvpress", home, "-o", home + ".jsonl", "--force"],
                      capture_output=True, text=True)
kvrisk_s = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
if done.returncode != 0:
    sys.exit(done.stderr)
start = time.perf_counter()
subprocess.run([kvrisk, "import", "kvpress", home, "--dry-run"], capture_output=True, check=True)
dry_s = time.perf_counter() - start

mb = total / 1e6
print(f"import: {mb:.0f} MB of kvpress CSV, {rows} records, {len(files())} runs")
print(f"  kvrisk import (read, score, join, hash, write)  {kvrisk_s:7.2f} s  {mb / kvrisk_s:7.1f} MB/s  peak {peak:.0f} MB")
print(f"  kvrisk import --dry-run (nothing written)       {dry_s:7.2f} s  {mb / dry_s:7.1f} MB/s")
print(f"  Python csv.reader alone                         {python_s:7.2f} s  {mb / python_s:7.1f} MB/s")
