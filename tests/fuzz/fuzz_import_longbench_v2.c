#include "tests/fuzz/import_fuzz.h"

FUZZ_IMPORT("longbench", "results/m-full.jsonl", "results/m-snap.jsonl")
