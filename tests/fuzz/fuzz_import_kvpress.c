#include "tests/fuzz/import_fuzz.h"

FUZZ_IMPORT("kvpress", "ruler__4096__m__no_press__0.00/predictions.csv",
            "ruler__4096__m__snapkv__0.50/predictions.csv")
