#!/bin/sh
# Map: take a cell. Tasks, requests, filter, points, export, help; nothing is left behind.
. tests/tty/lib.sh
start 80 24 -- "$here/kvrisk" "$sample"
see "CERTIFIED at 30 %"
keys -l "/snap"
see "/snap"
keys Enter
unseen "streaming_llm"
keys Escape
see "streaming_llm"
keys Down 2
see "[  65]"
keys Down Down
see "cell 0.100, 3.0 %"
keys Enter
see "WHAT-IF"
keys m
see "empirical % of KV kept"
keys Escape
see "WHAT-IF: CERTIFIED at 80 %"
keys u 4
see "tasks at 65 %"
keys ]
see "tasks at 60 %"
keys [ Enter
see "by drop"
keys Escape 3 e
see "18 of 18, by drop"
keys -l "/qa-0"
see "events of all tasks at 65 %, snapkv with qa-0"
keys Enter Escape 1 a
see "note (may be empty):"
keys -l "first point"
keys Enter 6
see "note: first point"
keys q
see "Quit anyway?"
keys n x
see "write the points to"
keys C-u
keys -l "out.json"
keys Enter
see "written to out.json"
grep -q '"note":"first point"' "$tmp/out.json" || grep -q 'first point' "$tmp/out.json" || fail "out.json lacks the note"
keys 1 x
see "kvrisk-snapkv-65.json"
keys Enter
see "written to kvrisk-snapkv-65.json"
[ -s "$tmp/kvrisk-snapkv-65.json" ] || fail "no operating point was written"
keys 5
see "no job yet"
keys '?'
see "Keys on reeval"
keys Escape
unseen "Keys on"
keys -l ":theme light"
keys Enter
until_true grep -qs "theme = light" "$tmp/config/kvrisk/config" || fail "the theme is not kept"
keys q
until_true ended || fail "q did not end it"
