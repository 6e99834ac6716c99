#include "tests/fuzz/import_fuzz.h"

FUZZ_IMPORT("kvcache-factory", "r/m_64/passage_count/FullKV.json",
            "r/m_64/passage_count/SnapKV.json")
