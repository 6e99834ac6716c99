#!/bin/sh
# Re-evaluation in the terminal: a job beside the other screens, cancel, results, the view of one
# request, a job that is killed, and that no way out leaves a child behind.
. tests/tty/lib.sh

# A calibration file of this program's own, with its requests and model beside it.
mkdir "$tmp/d"
cp data/samples/mini-llama.gguf "$tmp/d/"
./kvrisk tasks --seed 3 --per-task 12 --length 200 --split cal --families niah_single,niah_multikey,vt \
    -o "$tmp/d/own-requests.jsonl" || fail "no requests"
./kvrisk calibrate --model "$tmp/d/mini-llama.gguf" --requests "$tmp/d/own-requests.jsonl" \
    --methods snapkv,streaming_llm --ladder 0.80:0.20:0.20 --protocol query_aware \
    -o "$tmp/d/own.jsonl" 2>/dev/null || fail "no calibration file"
own=$tmp/d/own.jsonl

children() { pgrep -f "eval --json --model=$tmp/d" || true; }
has_child() { [ -n "$(children)" ]; }
no_child() { [ -z "$(children)" ]; }

start 80 24 -- "$here/kvrisk $own"
see "no job"
keys -l ":method snapkv"
keys Enter
keys r
see "job 1 done"
see "36/36"
see "same utilities 36 of 36"
see "whenever you stop; exploratory"
# a look inside: from a result to the levels where the answer breaks
keys Enter
see "prompt, shaded"
see "full KV"
keys Right Right Right
see "[20 %]"
keys p
see ": streaming_llm"
see "EVENT above 0.100"
see "^ parts at token"
keys v
see "error of output"
keys v Escape
see "results beside the stored utilities"
keys w
see "write the results to"
keys C-u
keys -l out.jsonl
keys Enter
see "written to out.jsonl"
"$here/kvrisk" certify "$tmp/out.jsonl" >"$tmp/certify" 2>&1
grep -q "n=36\|36 requests\|n 36\|of 36" "$tmp/certify" || fail "out.jsonl is no calibration file: $(cat "$tmp/certify")"

# The requests of a task that broke, and one request of the list.
keys 4
keys -l ":level 20"
keys Enter
keys r
see "job 2 done"
see "chosen requests"
keys 4 Enter
see "requests of"
keys r
see "prompt, shaded"
keys Escape
see "requests of"

# A slow job: a child that is stopped says nothing, and the screens stay alive.
many=$tmp/d/many-requests.jsonl
./kvrisk tasks --seed 3 --per-task 900 --length 500 --split cal --families fwe,qa -o "$many" || fail "tasks"
keys -l ":eval requests $many"
keys Enter
see "would go. Go on? y/N"
keys y
unseen "would go"
keys -l ":eval samples 2000"
keys Enter
keys -l ":method snapkv"
keys Enter
keys 5
see "many-requests.jsonl"
slow() { keys r; see "what will be run"; keys Enter; until_true has_child || fail "no child"; }
slow
keys 1
see "contract"
keys Right
see "▸ 0.110 ◂"
keys q
see "A job is at work and would end. Quit anyway?"
keys n
unseen "Quit anyway?"
keys 5 c
see "canceled"
see "partial:"
until_true no_child || fail "a child after cancel"

# Killed from outside: said, and the screens go on.
slow
kill -9 $(children)
see "(signal 9)"
until_true no_child || fail "a child after kill"
keys v v
see "log of job"
see "failed (signal 9)"
keys v
see "results; the stored utilities are not comparable"
keys 1
see "1 Main"

# However the screens end, no child is left.
for signal in TERM HUP KILL SEGV; do
    keys 5
    slow
    pid=$(t list-panes -F '#{pane_pid}')
    kill -s "$signal" "$pid"
    n=0
    while has_child; do
        n=$((n + 1))
        [ "$n" -lt 30 ] || fail "a child 3 s after $signal"
        sleep 0.1
    done
    start 80 24 -- "$here/kvrisk $own"
    see "no job"
    keys -l ":eval requests $many"
    keys Enter
    keys -l ":eval samples 2000"
    keys Enter
done

# Plain ASCII, no colours.
start 80 24 LC_ALL=C NO_COLOR=1 -- "$here/kvrisk $own"
see "no job"
keys r
see "job 1 done"
keys Enter
see "kept"
keys v
see "error of output"
# Another file from inside, after a question: the results are in no file.
keys -l ":open out.jsonl"
keys Enter
see "Open anyway? y/N"
keys y
see "out.jsonl: 36 requests"
keys q
until_true ended || fail "it does not end"
