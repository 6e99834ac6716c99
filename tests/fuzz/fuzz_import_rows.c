#include "tests/fuzz/import_fuzz.h"

FUZZ_IMPORT("generic", "full.jsonl", "snap.json")
