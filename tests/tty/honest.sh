#!/bin/sh
# Claims, plan, simulation, family and joint strips; and a ledger, on the screens and beside them: explore,
# lock, confirm, a second look, an exhausted budget, another program's entries, an edited ledger.
. tests/tty/lib.sh
cp "$sample" "$tmp/f.jsonl"
start 120 36 -- "$here/kvrisk" "$tmp/f.jsonl"
see "LOCKED"
keys f
see "undeclared family: a choice explores"
keys f J
see "jointly"
keys J 7
see "free to choose"
see "16 of 600"
keys ":mixture qa=1 niah_single=5" Enter
see "niah_single 83.33 %, qa 16.67 %"
see "Room for other mixtures"
keys 8
see "next candidates"
keys 9
see "20,000 of 20,000 draws"
see "! too often"
keys 2 m m m
see "jointly certified"
keys 3 b Down
see "McNemar p"
keys q
sleep 1

# All of it on the screens; nothing but the certificate is ever LOCKED there.
start 120 36 -- "$here/kvrisk" "$tmp/f.jsonl"
see "● LOCKED"
keys B
see "This file has no ledger"
keys ":ledger start 25% seed 1 budget 0.1" Enter
see "Start: explore 25 %, budget 0.1; cannot be undone. y/N"
keys y
see "ledger started: 150 requests to explore, 450 to confirm on"
see "n=150"
unseen "● LOCKED"
keys i
see "exploration rows"
keys Escape ":method keydiff" Enter
see "L locks   keydiff"
keys L
see "Lock keydiff: holds 0.05, then 0.05 left; cannot be undone. y/N"
keys y
see "lock 2 entered; 0.05 of the error budget is left"
keys C
see "Confirm lock 2: opens 450 requests, spends 0.05; cannot be undone. y/N"
keys y
see "LOCKED: KEYDIFF  ✔ CERTIFIED at 30 %"
see "450 opened, 150 exploring, 0 closed"
unseen "● LOCKED"
keys x C-u "$tmp/1.json" Enter
see "certificate written to"
keys 1
see "WHAT-IF: CERTIFIED at"
unseen "LOCKED"
keys B ":method snapkv" Enter
see "L locks   snapkv"
keys L
see "Lock snapkv: only exploratory, all is opened; holds 0.05, 0 left. y/N"
keys y
see "too late"
keys C
see "locked after its requests were opened, exploratory"
keys y
see "WHAT-IF: SNAPKV"
unseen "CERTIFIED at"
keys ":method adakv" Enter
see "L locks   adakv"
keys L
see "the error budget is exhausted: this lock needs 0.05, 0 is left"
export XDG_STATE_HOME="$tmp/state"
./kvrisk ledger verify "$tmp/f.jsonl" --certificate "$tmp/1.json" >/dev/null || fail "the certificate does not verify"
./kvrisk ledger show "$tmp/f.jsonl" | grep -q "0 left" || fail "ledger show"
keys q
sleep 1

# Another program's entries are noticed while the screens are open.
sed 's/"id":"/"id":"g-/' "$sample" | sed 's/"prompt":"/"prompt":"g /' >"$tmp/g.jsonl"
rm -rf "$tmp/state"
start 120 36 -- "$here/kvrisk" "$tmp/g.jsonl"
see "● LOCKED"
./kvrisk ledger start "$tmp/g.jsonl" --budget 0.1 >/dev/null || fail "start"
see "[ledger changed]"
unseen "● LOCKED"
keys B
see "150 exploring"
keys L
see "the ledger changed since it was read; R reads it again first"
keys R
see "n=150"
unseen "[ledger changed]"
./kvrisk lock "$tmp/g.jsonl" --method keydiff >/dev/null || fail "lock"
see "[ledger changed]"
keys R
see "Open: C tests it on"
./kvrisk confirm "$tmp/g.jsonl" -o "$tmp/2.json" | grep -q '^LOCKED' || fail "confirm"
see "[ledger changed]"
keys R
see "450 opened"
unseen "● LOCKED"
keys C
see "again: the same requests, spends nothing"
keys y
see "nothing is spent again"
sed -i 's/"look":1/"look":2/' "$tmp/g.jsonl.ledger"
see "was changed after it was written"
unseen "CERTIFIED at"
keys R
see "was changed after it was written"
keys C
see "was changed after it was written"
unseen "● LOCKED"
rm "$tmp/g.jsonl.ledger"
see "is gone"
keys 1 R
see "n=600"
unseen "LOCKED"
keys B
see "is gone"
unseen "● LOCKED"
keys q
echo "note: screens stay WHAT-IF on exploration rows through lock, confirm, second look and tampering"
