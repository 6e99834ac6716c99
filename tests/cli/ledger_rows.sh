#!/bin/sh
# Which rows a lock is tested on: none that was opened, in whatever place, split, task or company it
# stands now; and what counts as a look.
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/cli/lib.sh

# begin N: a file of N requests in two tasks, no ledger
begin() {
    rm -rf "$f" "$f.ledger" "$XDG_STATE_HOME"
    printf '%s\n' '{"kvrisk":1,"kind":"calibration","model":"m","utility":{"min":0,"max":1},"tasks":["a","b"],"policies":[{"method":"x","retention":0.8},{"method":"x","retention":0.6},{"method":"y","retention":0.5}]}' >"$f"
    add "$1"
}
# add N [MEMBERS]: as many more, with these JSON members
add() {
    rows=$(($(wc -l <"$f") - 1))
    i=$rows
    while [ $i -lt $((rows + $1)) ]; do
        t=a
        [ $((i % 2)) = 1 ] && t=b
        printf '{"id":"r%d","task":"%s","full":1,"utility":[1,1,0.%d]%s}\n' $i $t $((i % 7)) "${2:+,$2}" >>"$f"
        i=$((i + 1))
    done
}
edit() { sed -i "$1" "$f"; }
tested() { field "$tmp/c.json" ledger.rows; }

now=places
begin 100
status 0 ./kvrisk ledger start "$f" --explore 0 --budget 0.3
status 0 ./kvrisk lock "$f" --method x --looks 200,300
add 100
status 0 ./kvrisk confirm "$f" -o "$tmp/c.json" --force
is "$(tested)" 200
cp "$f" "$tmp/good"
# an opened row behind the opened ones, another one in its place
add 100
edit '150{h;d};260{G}'
status 1 ./kvrisk lock "$f" --method x
has 'not those that were there when entry 3 opened them' err
cp "$tmp/good" "$f"
edit '120s/"task":"."/"task":"b"/;121s/"task":"."/"task":"b"/'
status 1 ./kvrisk ledger show "$f"
has 'when entry 3 opened them' err
cp "$tmp/good" "$f"
edit '120s/}$/,"split":"test"}/'
status 1 ./kvrisk confirm "$f"
has 'when entry 3 opened them' err
cp "$tmp/good" "$f"
edit '20s/}$/,"split":"test"}/'
status 1 ./kvrisk certify "$f"
has 'that the ledger began with' err
cp "$tmp/good" "$f"
edit '1s/\["a","b"\]/["a2","b"]/;s/"task":"a"/"task":"a2"/'
status 1 ./kvrisk confirm "$f"
has 'that the ledger began with' err
cp "$tmp/good" "$f"
edit '30s/}$/,"cluster":"z"}/'
status 1 ./kvrisk confirm "$f"
cp "$tmp/good" "$f"
head -n 150 "$tmp/good" >"$f"
status 1 ./kvrisk confirm "$f"
has 'was written for 200' err
cp "$tmp/good" "$f"
status 0 ./kvrisk confirm "$f"
has 'nothing spent again' out

now=company
begin 100
add 1 '"cluster":"d","prompt":"caf\u00e9"'
status 0 ./kvrisk ledger start "$f" --explore 0 --budget 0.3
status 0 ./kvrisk lock "$f" --method x
status 0 ./kvrisk confirm "$f"
add 80
add 1 '"cluster":"d"'
add 1 '"prompt":"café","cluster":"e"'
add 1 '"cluster":"e"'
printf '{"id":"R5","task":"a","full":1,"utility":[1,1,0.25]}\n' >>"$f"
status 0 ./kvrisk lock "$f" --method x
status 0 ./kvrisk confirm "$f" -o "$tmp/c.json" --force
has 'LOCKED' out
is "$(tested)" 80

now=exploration
begin 100
for split in cal test; do
    add 1 '"split":"'$split'","cluster":"d"'
    add 1 '"split":"'$split'","prompt_sha256":"aa"'
done
status 0 ./kvrisk ledger start "$f" --declared-split
has '2 requests to explore, 100 to confirm on' out
add 5 '"split":"test"'
status 0 ./kvrisk certify "$f" --risk 0.9 --confidence 0.5
has 'of 2 requests' out
status 0 ./kvrisk lock "$f" --method x
status 0 ./kvrisk confirm "$f" -o "$tmp/c.json" --force
is "$(tested)" 100

now=looks
begin 100
status 0 ./kvrisk ledger start "$f" --explore 0 --budget 0.3
status 0 ./kvrisk lock "$f" --method x
status 0 ./kvrisk lock "$f" --method x --tolerance 0.2
status 0 ./kvrisk lock "$f" --method x --tolerance 0.3 --looks 100,200
status 0 ./kvrisk confirm "$f" --lock 3 # seen at 100
add 100
status 3 ./kvrisk confirm "$f" --lock 2 # had one look
has 'every declared look of this lock is used' out
status 0 ./kvrisk confirm "$f" --lock 4 -o "$tmp/c.json" --force
has 'Look 2 of 2' out
is "$(field "$tmp/c.json" ledger.delta)" 0.025
is "$(field "$tmp/c.json" ledger.delta_sum)" 0.15
is "$(field "$tmp/c.json" ledger.budget_spent)" 0.1
is "$(field "$tmp/c.json" ledger.budget_held)" 0.05
# a lock made in between is for the rows since then, and adds to the sum on them
add 100
status 0 ./kvrisk lock "$f" --method x --tolerance 0.4
status 0 ./kvrisk confirm "$f" -o "$tmp/c.json" --force
is "$(tested)" 100
is "$(field "$tmp/c.json" ledger.delta_sum)" 0.2
# one of two looks: half of the delta is spent, half is held
begin 100
status 0 ./kvrisk ledger start "$f" --explore 0 --budget 0.3
status 0 ./kvrisk lock "$f" --method x --looks 100,200
status 0 ./kvrisk confirm "$f" -o "$tmp/c.json" --force
is "$(field "$tmp/c.json" ledger.budget_spent)" 0.025
is "$(field "$tmp/c.json" ledger.budget_held)" 0.025
is "$(field "$tmp/c.json" ledger.budget_left)" 0.25

now=changed
begin 100
status 0 ./kvrisk ledger start "$f" --explore 0 --budget 0.3
status 0 ./kvrisk lock "$f" --method x
status 0 ./kvrisk lock "$f" --method y --tolerance 0.5
status 0 ./kvrisk confirm "$f" --lock 2
cp "$f" "$tmp/good"
edit '7s/"utility":.*\]/"utility":[1,1,1]/' # after seeing them
status 3 ./kvrisk confirm "$f" --lock 3 -o "$tmp/c.json" --force
has 'results of rows that were opened were changed since' out
is "$(field "$tmp/c.json" ledger.delta)" 0
for change in '1s/0.8}/0.80001}/' '1s/"model":"m"/"model":"n"/' '1s/"max":1/"max":2/' '1s/"method":"y"/"method":"z"/'; do
    cp "$tmp/good" "$f"
    edit "$change"
    cmp -s "$tmp/good" "$f" && { echo "$change changes nothing"; exit 1; }
    status 3 ./kvrisk confirm "$f" --lock 2
    has 'changed after the contract was locked' out
done

now=table
begin 100
status 0 ./kvrisk ledger start "$f" --explore 0 --budget 0.3
status 0 ./kvrisk lock "$f" --method y --tolerances 0.1,0.2,1 # fails at the contract's own 0.10
status 0 ./kvrisk confirm "$f"
has 'LOCKED' out
status 0 ./kvrisk ledger show "$f"
has 'y at 1 of 3 tolerances' out
status 0 ./kvrisk lock "$f" --method y --tolerances 0.1,0.2
begin 100
status 0 ./kvrisk ledger start "$f" --explore 0 --budget 0.3
status 0 ./kvrisk lock "$f" --method y --tolerances 0.1,0.2
status 3 ./kvrisk confirm "$f"
echo "note: moved, renamed, resplit, regrouped and changed rows, looks by other locks, delta sums"
