#!/bin/sh
# Sweep each value by keys and by typing; fall back and recover; undo, reset; at three sizes.
. tests/tty/lib.sh
for size in "80 24" "120 36" "200 60"; do
    # shellcheck disable=SC2086
    start $size -- "$here/kvrisk" "$sample"
    see "KEYDIFF  ✔ CERTIFIED at 30 %"
    see "LOCKED"
    keys Down
    see "SNAPKV  ✔ CERTIFIED at 65 %"
    keys Right Right Right
    see "▸ 0.130 ◂"
    see "WHAT-IF"
    keys u u u
    see "▸ 0.100 ◂"
    keys Tab Left Left Left Left Left Left Left Left
    see "▸ 1.0 % ◂"
    see "FALLBACK to full KV" # and what empirical thresholding would do beside it
    see "no guarantee"
    keys L
    see "▸ 6.0 % ◂"
    see "SNAPKV  ✔ WHAT-IF: CERTIFIED at 60 %"
    keys -l "=0.5%"
    see "= 0.5%"
    keys Enter
    see "▸ 0.5 % ◂"
    see "FALLBACK"
    keys 0
    see "SNAPKV  ✔ CERTIFIED at 65 %"
    see "back to the file's contract"
    keys Tab Tab
    keys -l "=0.25"
    keys Enter
    see "▸ 0.250 ◂"
    see "SNAPKV  ✔ WHAT-IF: CERTIFIED at 60 %"
    keys Tab Tab Right
    see "▸ 95.5 % ◂"
    keys -l "=99.9%"
    keys Enter
    see "▸ 99.9 % ◂"
    keys -l "=100%"
    keys Enter
    see "confidence" # refused with its range; the value stays
    see "▸ 99.9 % ◂"
    keys u u u
    see "LOCKED"
    keys q
    until_true ended || fail "q did not end it"
done
