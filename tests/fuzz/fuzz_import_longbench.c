#include "tests/fuzz/import_fuzz.h"

FUZZ_IMPORT("longbench", "pred/m-full/trec.jsonl", "pred/m-snap/trec.jsonl")
