#include "tests/fuzz/import_fuzz.h"

FUZZ_IMPORT("adakv", "pred/full/lcc.jsonl", "pred/ada_64_m/list_result.json")
