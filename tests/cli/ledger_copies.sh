#!/bin/sh
# What was opened stays opened in every copy of a file: rows in another order, taken out, reformatted,
# renamed. Files of truly different results do not disturb each other. Damaged state is never fresh.
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. tests/cli/lib.sh
cp tests/fixtures/prototype/mini-ruler.jsonl "$f"

look() { # whatever is certified
    ./kvrisk certify "$@" >"$tmp/out" 2>"$tmp/err"
    got=$?
    [ $got -eq 0 ] || [ $got -eq 3 ] || { echo "$now: cannot look"; cat "$tmp/err"; exit 1; }
}

# make NAME EXPRESSIONS: a copy of the file with header h and rows r changed.
make_copy() {
    "$python" - "$f" "$tmp/$1.jsonl" "$2" <<'END'
import json, random, sys
text = open(sys.argv[1]).read().split("\n")
h, r = json.loads(text[0]), [json.loads(x) for x in text[1:] if x]
random.seed(1)
exec(sys.argv[3])
out = [json.dumps(x) for x in [h] + r]
if "reformat" in sys.argv[2]:
    out = [x.replace("1.0,", "10e-1,").replace(" 0.5,", " 0.5000,") for x in out]
open(sys.argv[2], "w").write("\n".join(out) + "\n")
END
}

now=start
look "$f"
has 'LOCKED' out
status 0 ./kvrisk ledger start "$f"

opened=0
while IFS='|' read -r now count change; do
    make_copy "$now" "$change"
    look "$tmp/$now.jsonl"
    has "$count requests belong" out
    has "$f" out
    lacks 'LOCKED:' out
    look "$tmp/$now.jsonl" --json
    lacks '"LOCKED"' out
    for command in 'ledger start' 'lock --method keydiff' 'confirm'; do
        set -- $command
        verb=$1
        shift
        status 1 ./kvrisk "$verb" "$@" "$tmp/$now.jsonl"
        has 'Use that file with its ledger, or take these requests out' err
    done
    [ ! -e "$tmp/$now.jsonl.ledger" ] || { echo "$now has a ledger"; exit 1; }
    rm "$tmp/$now.jsonl"
    opened=$((opened + 1))
done <<'END'
same|600 of the 600|pass
reordered|600 of the 600|random.shuffle(r)
row_deleted|599 of the 599|del r[7]
half|300 of the 300|r = r[::2]
reformat|600 of the 600|pass
name|600 of the 600|h["name"] = "other"; h["note"] = "again"
column_dropped|600 of the 600|h["policies"].pop(); [x["utility"].pop() for x in r]
column_added|600 of the 600|h["policies"].append({"method": "extra", "retention": 0.5}); [x["utility"].append(1) for x in r]
rescored|600 of the 600|[x.update(full=1 - x["full"]) for x in r]
model|600 of the 600|h["model"] = "other"; h["protocol"] = "query_agnostic"
task|600 of the 600|h["tasks"] = [t + "_v2" for t in h["tasks"]]; [x.update(task=x["task"] + "_v2") for x in r]
case|600 of the 600|[x.update(id=x["id"].upper()) for x in r]
ids|of the 600|[x.update(id="n%d" % i) for i, x in enumerate(r)]
some|1 of the 600|[x.update(id="n%d" % i, full=random.random(), utility=[random.random() for u in x["utility"]]) for i, x in enumerate(r) if i != 7]
split|600 of the 600|[x.update(split="test") for x in r[::3]]
END

# other results under the same ids: another model; both go on
now=another
make_copy another 'h["model"] = "another"; [x.update(utility=[1.0 if random.random() < 0.99 else 0.25 for u in x["utility"]]) for x in r]'
look "$tmp/another.jsonl"
has 'LOCKED' out
status 0 ./kvrisk ledger start "$tmp/another.jsonl"
status 0 ./kvrisk lock "$tmp/another.jsonl" --method keydiff
status 0 ./kvrisk confirm "$tmp/another.jsonl"
status 0 ./kvrisk lock "$f" --method keydiff
# a file that got requests of the other one is refused, though it has a ledger of its own
now=mixed
head -n 1 "$f" >"$tmp/mixed.jsonl"
tail -n +2 "$tmp/another.jsonl" | sed 's/"id": "/"id": "other-/' >>"$tmp/mixed.jsonl"
look "$tmp/mixed.jsonl"
has 'requests belong to the ledger of' out
has 'another.jsonl' out

# moved together they go on
now=moved
mkdir "$tmp/moved"
mv "$f" "$f.ledger" "$tmp/moved"
status 0 ./kvrisk confirm "$tmp/moved/f.jsonl"
has 'LOCKED' out
mv "$tmp/moved/f.jsonl" "$tmp/moved/f.jsonl.ledger" "$tmp"
status 0 ./kvrisk confirm "$f"
has 'nothing spent again' out
# a copy made together with its ledger, which then falls behind
cp "$f" "$tmp/g.jsonl"
cp "$f.ledger" "$tmp/g.jsonl.ledger"
status 2 ./kvrisk lock "$f" --method snapkv
status 0 ./kvrisk ledger verify "$tmp/g.jsonl"
head -n 2 "$f.ledger" >"$tmp/g.jsonl.ledger"
status 1 ./kvrisk ledger verify "$tmp/g.jsonl"
has 'cut short or exchanged' err
rm "$tmp/g.jsonl" "$tmp/g.jsonl.ledger"

# ended between the ledger's entry and what is remembered of it: behind is no fault, and is caught up with
now=behind
head=$(grep -l '/f.jsonl"' "$XDG_STATE_HOME"/kvrisk/ledgers/*.head)
sed -i "s/\"entries\":[0-9]*,\"head\":\"[0-9a-f]*\"/\"entries\":1,\"head\":\"$(basename "$head" .head)\"/" "$head"
status 0 ./kvrisk ledger verify "$f"
status 0 ./kvrisk confirm "$f"
has 'nothing spent again' out
grep -q '"entries":3' "$head" || { cat "$head"; exit 1; }
rm "${head%.head}.rows" # only that the requests are known was lost: the next test writes it anew
status 0 ./kvrisk confirm "$f"
[ -s "${head%.head}.rows" ] || { echo "no rows"; exit 1; }

# a ledger that belongs to another file
now=exchanged
cp "$f.ledger" "$tmp/own"
cp "$tmp/another.jsonl.ledger" "$f.ledger"
look "$f"
lacks 'LOCKED:' out
status 1 ./kvrisk lock "$f" --method keydiff --risk 0.04
has 'cut short or exchanged' err
cp "$tmp/own" "$f.ledger"

# state that cannot be read
now=damage
fresh=$tmp/fresh.jsonl
make_copy fresh 'h["model"] = "third"; [x.update(id="t%d" % i, utility=[random.random() for u in x["utility"]]) for i, x in enumerate(r)]'
look "$fresh"
has 'LOCKED' out
one=$(ls "$XDG_STATE_HOME"/kvrisk/ledgers/*.rows | head -n 1)
cp "$one" "$tmp/rows"
damaged() {
    look "$fresh"
    has 'cannot be told' out
    lacks 'LOCKED:' out
    status 1 ./kvrisk ledger start "$fresh"
    has 'cannot be told' err
    cp "$tmp/rows" "$one"
}
: >"$one" && damaged
echo nonsense >"$one" && damaged
head -c 5000 "$tmp/rows" >"$one" && damaged
{ head -c 1000 "$tmp/rows"; printf 'x'; tail -c +1002 "$tmp/rows"; } >"$one" && damaged
{ cat "$tmp/rows"; printf '12345678'; } >"$one" && damaged
rm "$one" && damaged
rm "$one" && mkdir "$one" && { look "$fresh"; has 'cannot be told' out; rmdir "$one"; cp "$tmp/rows" "$one"; }
head=${one%.rows}.head
cp "$head" "$tmp/head"
echo '{"version":2}' >"$head"
look "$fresh" # these rows are in no list: what else is in the head does not matter
has 'LOCKED' out
for x in "$f" "$tmp/another.jsonl"; do ./kvrisk ledger verify "$x" >>"$tmp/all" 2>&1; done
grep -q 'cannot be told' "$tmp/all" || { cat "$tmp/all"; exit 1; }
cp "$tmp/head" "$head"
# what does not look like a ledger's state is not
: >"$XDG_STATE_HOME/kvrisk/ledgers/README"
: >"$one.AbCdEf"
status 0 ./kvrisk ledger start "$fresh"

# no state directory at all
now=none
cp tests/fixtures/prototype/mini-ruler.jsonl "$tmp/n.jsonl"
status 1 env XDG_STATE_HOME=relative HOME= ./kvrisk ledger start "$tmp/n.jsonl"
has 'no state directory' err
[ ! -e "$tmp/n.jsonl.ledger" ] || { echo "a ledger was begun that cannot be remembered"; exit 1; }
[ ! -e "$tmp/n.jsonl.ledger.lock" ] || { echo "the lock is left"; exit 1; }
echo "note: $opened kinds of copies stay opened, two models side by side, moved and exchanged ledgers, damaged state"
