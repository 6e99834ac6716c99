#!/bin/sh
# Claims, plan, simulation, family and joint strips; and a ledger: explore on the screens, lock and
# confirm beside them, a second look, an edited ledger.
. tests/tty/lib.sh
cp "$sample" "$tmp/f.jsonl"
start 120 36 -- "$here/kvrisk" "$tmp/f.jsonl"
see "LOCKED"
keys f
see "one family: choice covered"
keys f J
see "jointly"
keys J 7
see "free to choose"
see "16 of 600"
keys 8
see "next candidates, if the observed rate stays"
keys 9
see "20,000 of 20,000 draws"
see "! too often"
keys 2 m m m
see "jointly certified"
keys 3 b Down
see "McNemar p"
keys q
sleep 1

export XDG_STATE_HOME="$tmp/state"
./kvrisk ledger start "$tmp/f.jsonl" --budget 0.1 >/dev/null || { echo "start"; exit 1; }
start 120 36 -- "$here/kvrisk" "$tmp/f.jsonl"
see "n=150"
see "WHAT-IF"
keys i
see "exploration rows"
keys Escape
unseen "● LOCKED"
./kvrisk lock "$tmp/f.jsonl" --method keydiff >/dev/null || { echo "lock"; exit 1; }
./kvrisk confirm "$tmp/f.jsonl" -o "$tmp/1.json" | grep -q '^LOCKED' || { echo "confirm"; exit 1; }
./kvrisk lock "$tmp/f.jsonl" --method snapkv >/dev/null || { echo "second lock"; exit 1; }
./kvrisk confirm "$tmp/f.jsonl" -o "$tmp/2.json" | grep -q '^WHAT-IF' || { echo "second look"; exit 1; }
./kvrisk lock "$tmp/f.jsonl" --method adakv 2>&1 | grep -q 'exhausted' || { echo "budget"; exit 1; }
keys R
see "read again: the file is the same"
unseen "● LOCKED"
sed -i 's/"look":1/"look":2/' "$tmp/f.jsonl.ledger"
keys R
see "was changed after it was written"
keys q
echo "note: screens stay WHAT-IF on exploration rows through lock, confirm, second look and tampering"
