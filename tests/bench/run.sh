#!/bin/sh
# make bench: speed tables, each figure beside something named and measured in the same run.
# $1 is the build directory. BENCH_REQUESTS chooses the sizes of the generated sets.
set -eu
bin=$1/tests/bench
out=build/bench
python=$([ -x /usr/bin/python3 ] && echo /usr/bin/python3 || echo python3) # Debian's, with SciPy
mkdir -p "$out"

sets=
for n in ${BENCH_REQUESTS:-1000 100000 1000000}; do
    [ -s "$out/$n.jsonl" ] || "$bin/make_calibration" "$n" "$out/$n.jsonl"
    sets="$sets $out/$n.jsonl"
done
# shellcheck disable=SC2086  # a list of files
"$python" tests/bench/contract.py "$bin/bench_contract" $sets
for b in bench_ui bench_engine bench_ladder; do
    [ -x "$bin/$b" ] || continue
    echo
    # shellcheck disable=SC2086
    case $b in bench_ui) "$bin/$b" $sets ;; *) "$bin/$b" ;; esac
done
echo
"$python" tests/bench/simulate.py ./kvrisk data/samples/mini-ruler.jsonl 20000
echo
"$bin/bench_job" ./kvrisk data/samples/mini-ruler.jsonl
echo
"$python" tests/bench/import.py ./kvrisk "$out/kvpress-${BENCH_IMPORT_MB:-1000}"
