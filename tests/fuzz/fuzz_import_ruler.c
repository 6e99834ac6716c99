#include "tests/fuzz/import_fuzz.h"

FUZZ_IMPORT("ruler", "out/m-full/s/4096/pred/qa_1.jsonl", "out/m-snap/s/4096/pred/qa_1.jsonl")
