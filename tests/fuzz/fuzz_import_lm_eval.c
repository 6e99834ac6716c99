#include "tests/fuzz/import_fuzz.h"

FUZZ_IMPORT("lm-eval", "full/m/samples_ruler_vt_2025-01-01.jsonl",
            "snap/m/samples_ruler_vt_2025-01-01.jsonl")
