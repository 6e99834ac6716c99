#!/bin/sh
# Explore, lock, confirm, second look, exhausted budget, growing sample, and a ledger that was edited,
# cut short, deleted or taken elsewhere.
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/cli/lib.sh
cp tests/fixtures/prototype/mini-ruler.jsonl "$f"

# explore: only those rows, never LOCKED
status 2 ./kvrisk lock "$f" --method keydiff
status 0 ./kvrisk ledger start "$f" --explore 25% --seed 3 --budget 0.10
has '150 requests to explore, 450 to confirm on' out
status 2 ./kvrisk ledger start "$f"
status 0 ./kvrisk certify "$f"
has 'WHAT-IF: ' out
has 'of 150 requests' out
lacks 'LOCKED' out

# lock and confirm
status 0 ./kvrisk lock "$f" --method keydiff
has 'it will be tested on 450 requests that were not opened' out
status 0 ./kvrisk confirm "$f" -o "$tmp/c1.json"
has 'LOCKED: The contract locked on' out
has 'of the 450 calibration requests' out
[ "$(field "$tmp/c1.json" ledger.delta)" = 0.05 ] || { echo "delta"; exit 1; }
[ "$(field "$tmp/c1.json" point.state)" = LOCKED ] || { echo "state"; exit 1; }
[ "$(field "$tmp/c1.json" ledger.budget_left)" = 0.05 ] || { echo "left"; exit 1; }
entries=$(wc -l <"$f.ledger")
# the same again spends nothing
status 0 ./kvrisk confirm "$f"
has 'nothing spent again' out
[ "$(wc -l <"$f.ledger")" = "$entries" ] || { echo "a rerun was entered"; exit 1; }

has 'certified    keydiff 30 %: 10 events of 450, at most 14 allowed' out
has 'empirical    30 %, without guarantee: 10 events, certified as well' out
has '0.05 spent when it was tested first, 0.05 by all locks on these requests together' out
status 0 ./kvrisk ledger show "$f"
has 'keydiff, tolerance 0.10, risk 5 %, confidence 95 %: confirmed, error level 0.05' out
has 'lock 2 on 450 requests: LOCKED, keydiff 30 %, 0.05 spent' out
has 'budget 0.1: 0.05 spent, 0 held by locks, 0.05 left' out
./kvrisk ledger show "$f" --json >"$tmp/show.json"
[ "$(field "$tmp/show.json" list | tr -d ' ' | grep -c "'fate':'confirmed'")" = 1 ] || { cat "$tmp/show.json"; exit 1; }
[ "$(field "$tmp/show.json" spent)" = 0.05 ] || { cat "$tmp/show.json"; exit 1; }
for bad in '--lock 0' '--lock x' '--lock 2x'; do status 2 ./kvrisk confirm "$f" $bad; done
status 2 ./kvrisk lock "$f" --method keydiff --looks 0
status 2 ./kvrisk lock "$f" --method keydiff --looks 700,600
has 'must rise' err
status 2 ./kvrisk lock "$f" --method keydiff --looks 599,700
status 2 ./kvrisk lock "$f" --method keydiff --looks 700,
status 2 ./kvrisk lock "$f" --method keydiff --looks ,700
status 2 ./kvrisk lock "$f" --method keydiff --looks 2x

# nothing takes the place of what was read or of a ledger
cp "$f" "$tmp/f.was"
cp "$f.ledger" "$tmp/l.was"
ln -s "$f" "$tmp/other-name.json"
for out in "$f" "$tmp/../$(basename "$tmp")/f.jsonl" "$tmp/other-name.json" "$f.ledger" "$tmp/another.ledger"; do
    status 1 ./kvrisk confirm "$f" -o "$out" --force
    status 1 ./kvrisk export "$f" --method keydiff -o "$out" --force
    status 1 ./kvrisk import generic "$f" -o "$out" --force --col id=id
    grep -q 'what was read\|name of a ledger' "$tmp/err" || { cat "$tmp/err"; exit 1; }
done
cmp "$f" "$tmp/f.was" || exit 1
cmp "$f.ledger" "$tmp/l.was" || exit 1
[ ! -e "$tmp/another.ledger" ] || { echo "a ledger was made by export"; exit 1; }

# a second look: locked after the rows were opened
status 0 ./kvrisk lock "$f" --method snapkv
has 'it will be exploratory until the file grows' out
status 3 ./kvrisk confirm "$f" -o "$tmp/c2.json"
has 'opened before this contract was locked' out
lacks 'LOCKED:' out
[ "$(field "$tmp/c2.json" point.state)" = WHAT-IF ] || { echo "second look"; exit 1; }
[ "$(field "$tmp/c2.json" ledger.exploratory)" = True ] || { echo "second look"; exit 1; }
# exhausted
status 2 ./kvrisk lock "$f" --method adakv
has 'budget is exhausted' err
status 0 ./kvrisk ledger verify "$f" --certificate "$tmp/c1.json"

# edited, cut short, deleted, taken elsewhere
cp "$f.ledger" "$tmp/good"
sed 's/"delta":0.05/"delta":0.01/' "$tmp/good" >"$f.ledger"
status 1 ./kvrisk ledger show "$f"
has 'was changed after it was written' err
status 1 ./kvrisk certify "$f"
sed 2d "$tmp/good" >"$f.ledger"
status 1 ./kvrisk confirm "$f"
has 'does not follow' err
head -n 2 "$tmp/good" >"$f.ledger"
status 1 ./kvrisk confirm "$f"
has 'cut short or exchanged' err
status 0 ./kvrisk certify "$f"
has 'WHAT-IF' out
lacks 'LOCKED' out
rm "$f.ledger"
status 1 ./kvrisk ledger start "$f"
has 'is gone' err
# a ledger that is there and has nothing is no missing one, also where no state tells of it
: >"$f.ledger"
mkdir "$tmp/none"
for state in "$XDG_STATE_HOME" "$tmp/none"; do
    XDG_STATE_HOME=$state status 1 ./kvrisk certify "$f"
    has 'is empty' err
done
rm "$f.ledger"
ln -s "$tmp/nowhere/f.ledger" "$f.ledger"
for command in 'certify' 'ledger start' '--print main'; do
    XDG_STATE_HOME=$tmp/none status 1 ./kvrisk $command "$f"
    has 'is a link to nowhere' err
done
rm "$f.ledger"
status 0 ./kvrisk certify "$f"
has 'The ledger of these rows is missing' out
cp "$f" "$tmp/elsewhere.jsonl"
status 0 ./kvrisk certify "$tmp/elsewhere.jsonl"
lacks 'LOCKED' out
# even where the remembered entry is gone as well, the certificate tells
rm -r "$XDG_STATE_HOME"
head -n 1 "$tmp/good" >"$f.ledger"
status 1 ./kvrisk ledger verify "$f" --certificate "$tmp/c1.json"
has 'cut short, edited or exchanged' err
rm "$f.ledger"

# several contracts before the rows are opened: each its own level, the certificate has the sum
status 0 ./kvrisk ledger start "$f" --explore 0 --budget 0.2
status 0 ./kvrisk lock "$f" --method keydiff
status 0 ./kvrisk lock "$f" --family --tolerance 0.2
status 0 ./kvrisk confirm "$f" --lock 2 -o "$tmp/a.json"
status 0 ./kvrisk confirm "$f" --lock 3 -o "$tmp/b.json"
[ "$(field "$tmp/a.json" ledger.delta_sum)" = 0.1 ] || { echo "sum"; exit 1; }
[ "$(field "$tmp/b.json" state)" = LOCKED ] || { echo "family"; exit 1; }
status 1 ./kvrisk certify "$f"
has 'none to explore' err
rm -r "$f.ledger" "$XDG_STATE_HOME"

# a growing sample with two declared looks, then a third
head -n 301 tests/fixtures/prototype/mini-ruler.jsonl >"$f"
status 0 ./kvrisk ledger start "$f" --explore 0
status 0 ./kvrisk lock "$f" --method keydiff --looks 300,450
status 0 ./kvrisk confirm "$f" -o "$tmp/l1.json"
# at a size that was not declared nothing is tested: it may be chosen for what the first look showed
head -n 401 tests/fixtures/prototype/mini-ruler.jsonl >"$f"
cp "$f.ledger" "$tmp/before"
status 1 ./kvrisk confirm "$f"
has 'the file has 400 requests; lock 2 declared a look at 450' err
cmp -s "$tmp/before" "$f.ledger" || { echo "opened at an undeclared size"; exit 1; }
head -n 451 tests/fixtures/prototype/mini-ruler.jsonl >"$f"
status 0 ./kvrisk confirm "$f" -o "$tmp/l2.json"
has 'Look 2 of 2 at a growing sample, of declared sizes' out
status 0 ./kvrisk ledger show "$f"
has '2 of 2 looks taken, at 300, 450 requests' out
[ "$(field "$tmp/l2.json" ledger.delta)" = 0.025 ] || { echo "look"; exit 1; }
cp tests/fixtures/prototype/mini-ruler.jsonl "$f"
status 3 ./kvrisk confirm "$f"
has 'grown past the last declared look' out
# rows that were tested must not change
sed '5s/"full":[0-9.]*/"full":0.125/' tests/fixtures/prototype/mini-ruler.jsonl >"$f"
status 3 ./kvrisk confirm "$f"
has 'were changed since' out
rm -r "$f.ledger" "$XDG_STATE_HOME"

# a joint table: the claim is the table
cp tests/fixtures/prototype/mini-ruler.jsonl "$f"
status 0 ./kvrisk ledger start "$f"
status 0 ./kvrisk lock "$f" --method snapkv --tolerances 0.1,0.25,0.5
status 0 ./kvrisk confirm "$f"
has 'whatever tolerance of the grid is picked after looking' out
grep -q 'tolerance 0.5 .*LOCKED' "$tmp/out" || { cat "$tmp/out"; exit 1; }
# several at once: nothing is lost, nothing is spent twice
rm -r "$f.ledger" "$XDG_STATE_HOME"
status 0 ./kvrisk ledger start "$f" --budget 0.06
i=0
while [ $i -lt 12 ]; do
    ./kvrisk lock "$f" --method keydiff --confidence 0.99 >"$tmp/lock.$i" 2>&1 &
    i=$((i + 1))
done
wait
locked=$(cat "$tmp"/lock.* | grep -c 'entered')
[ "$(grep -c '"kind":"lock"' "$f.ledger")" = "$locked" ] || { echo "a lock was lost"; cat "$tmp"/lock.*; exit 1; }
[ "$locked" -ge 1 ] && [ "$locked" -le 6 ] || { echo "$locked locks in a budget for 6"; exit 1; }
[ "$(cat "$tmp"/lock.* | grep -cE 'entered|changed meanwhile|exhausted')" = 12 ] || { cat "$tmp"/lock.*; exit 1; }
for i in 1 2 3 4; do ./kvrisk confirm "$f" --lock 2 >"$tmp/confirm.$i" 2>&1 & done
wait
[ "$(grep -c '"kind":"confirm"' "$f.ledger")" = 1 ] || { echo "confirmed more than once"; exit 1; }
status 0 ./kvrisk ledger verify "$f"
[ -z "$(ls "$tmp" | grep lock$)" ] || { echo "a lock file is left"; exit 1; }
# requests that share clusters: a lock would lose its error level to a test that is refused
rm -rf "$XDG_STATE_HOME"
"$python" - "$tmp/clusters.jsonl" <<'END'
import json, sys
out = open(sys.argv[1], "w")
out.write('{"kvrisk":1,"kind":"calibration","utility":{"min":0,"max":1},"tasks":["a"],'
          '"policies":[{"method":"m","retention":0.5}]}\n')
for i in range(400):
    out.write(json.dumps({"id": str(i), "task": "a", "cluster": "d%d" % (i // 4), "full": 1,
                          "utility": [1]}) + "\n")
END
status 0 ./kvrisk ledger start "$tmp/clusters.jsonl"
status 2 ./kvrisk lock "$tmp/clusters.jsonl" --method m
has 'share clusters' err
echo "note: explore, lock, confirm, second look, exhausted budget, growing sample, joint table, five kinds of tampering"
