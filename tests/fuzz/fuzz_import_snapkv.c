#include "tests/fuzz/import_fuzz.h"

FUZZ_IMPORT("snapkv", "pred_e/m/samsum.jsonl", "pred_e/mc64_w8_k7/samsum.jsonl")
