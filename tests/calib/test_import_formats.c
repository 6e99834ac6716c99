/* One made-up evaluation per tool and layout. */
#include "import_case.h"

#include "calib/literal.h"

static const kr_import_opts longbench = {.kind = "longbench"};

static void longbench_v1_and_e_share_file_names(void **state) {
    (void)state;
    put("pred_e/tiny-full/trec.jsonl", "{\"pred\":\"\\nHill\\nx\",\"answers\":[\"Hill\"],\"all_"
                                       "classes\":[\"Hill\",\"River\"],\"length\":10}\n");
    put("pred_e/tiny-snapkv/trec.jsonl", "{\"pred\":\"River\",\"answers\":[\"Hill\"],\"all_"
                                         "classes\":[\"Hill\",\"River\"],\"length\":10}\n");
    put("pred_e/tiny-full/lcc.jsonl", "{\"pred\":\"# no\\nreturn x\",\"answers\":[\"return "
                                      "x\"],\"all_classes\":null,\"length\":10}\n");
    put("pred_e/tiny-snapkv/lcc.jsonl",
        "{\"pred\":\"return y\",\"answers\":[\"return x\"],\"all_classes\":null,\"length\":10}\n");
    static const char *const levels[] = {"snapkv=25%"};
    gives((kr_import_opts){.kind = "auto", .levels = levels, .n_levels = 1},
          "note: read as longbench: DATASET.jsonl files of LongBench.\n"
          "policies: snapkv keeps 0.25\n"
          "lcc-00000 1 0.88\n"
          "trec-00000 1 0\n");
    static const char *const none[] = {"h2o=0.5"}, *const high[] = {"snapkv=1.5"};
    gives((kr_import_opts){.kind = "longbench", .levels = none, .n_levels = 1},
          "error: --level 'h2o=0.5' fits no run\n");
    gives((kr_import_opts){.kind = "longbench", .levels = high, .n_levels = 1},
          "error: level '1.5': the share kept must lie in (0, 1]\n");
}

static void several_levels_of_one_method_must_be_given(void **state) {
    (void)state;
    put("pred/full/trec.jsonl",
        "{\"pred\":\"Hill\",\"answers\":[\"Hill\"],\"all_classes\":[\"Hill\"],\"length\":10}\n");
    put("pred/snap-a/trec.jsonl",
        "{\"pred\":\"Hill\",\"answers\":[\"Hill\"],\"all_classes\":[\"Hill\"],\"length\":10}\n");
    put("pred/snap-b/trec.jsonl",
        "{\"pred\":\"no\",\"answers\":[\"Hill\"],\"all_classes\":[\"Hill\"],\"length\":10}\n");
    static const char *const methods[] = {"snap-=snapkv"};
    static const char *const levels[] = {"snapkv@snap-a=0.5", "snapkv@snap-b=budget:64"};
    static const char *const good[] = {"snapkv@snap-a=0.5", "snapkv@snap-b=bits:4"};
    gives(longbench, "policies: snap_a, snap_b\n"
                     "trec-00000 1 1 0\n");
    gives((kr_import_opts){.kind = "longbench", .methods = methods, .n_methods = 1},
          "error: two runs for snapkv, level unknown, on the same data: "
          "./pred/snap-a/trec.jsonl and ./pred/snap-b/trec.jsonl; leave one out with "
          "--skip, or tell them apart with --level METHOD@TEXT=R\n");
    gives((kr_import_opts){.kind = "longbench",
                           .methods = methods,
                           .n_methods = 1,
                           .levels = levels,
                           .n_levels = 2},
          "error: method snapkv has 2 candidates whose levels cannot be put in one order "
          "(some unknown, or of different kinds); give them with --level METHOD@TEXT=R\n");
    gives(
        (kr_import_opts){
            .kind = "longbench", .methods = methods, .n_methods = 1, .levels = good, .n_levels = 2},
        "policies: snapkv keeps 0.5, snapkv keeps 0.25\n"
        "trec-00000 1 1 0\n");
    gives(
        (kr_import_opts){
            .kind = "longbench", .methods = methods, .n_methods = 1, .order = "snap-a,snap-b"},
        "policies: snapkv threshold 1, snapkv threshold 2\n"
        "trec-00000 1 1 0\n");
}

#define V2                                                                                         \
    "\"domain\":\"d\",\"difficulty\":\"hard\",\"length\":\"short\",\"question\":\"Who "            \
    "pays?\",\"choice_A\":\"Ann\",\"choice_B\":\"Bo\",\"choice_C\":\"Cy\",\"choice_D\":\"Di\","    \
    "\"answer\":\"C\""

static void longbench_v2_compares_its_own_verdict(void **state) {
    (void)state;
    put("results/tiny-full.jsonl",
        "{\"_id\":\"q1\"," V2
        ",\"response\":\"**The correct answer is (C)**\",\"pred\":\"C\",\"judge\":true}\n"
        "{\"_id\":\"q2\"," V2
        ",\"response\":\"The correct answer is C\",\"pred\":\"C\",\"judge\":false}\n");
    put("results/tiny-snap.jsonl",
        "{\"_id\":\"q2\"," V2 ",\"response\":\"(A)\",\"pred\":null,\"judge\":false}\n");
    gives((kr_import_opts){.kind = "auto"},
          "note: read as longbench: rows of LongBench v2.\n"
          "warning: tiny-full: the source's own score differs from the recomputed one in 1 "
          "of 2 rows; the source's is used.\n"
          "warning: tiny-snap has 1 rows, the full-KV run 2.\n"
          "warning: tiny-snap: 1 of 2 requests have no row in it (counted as degradation "
          "events).\n"
          "policies: snap\n"
          "longbench-v2-00000 1 -\n"
          "longbench-v2-00001 0 0\n");
}

static void ruler_with_chunks_and_lengths(void **state) {
    (void)state;
    put("out/tiny-full/synthetic/4096/pred/vt.jsonl",
        "{\"index\":0,\"pred\":\"1 "
        "2\",\"input\":\"a\",\"outputs\":[\"1\",\"2\"],\"others\":{},\"truncation\":-1,\"length\":"
        "4000}\n"
        "{\"index\":0,\"pred\":\"3\",\"input\":\"b\",\"outputs\":[\"3\"],\"others\":{},"
        "\"truncation\":-1,\"length\":4000}\n");
    put("out/tiny-snap/synthetic/4096/pred/vt-0.jsonl",
        "{\"index\":0,\"pred\":\"1\",\"input\":\"a\",\"outputs\":[\"1\",\"2\"],\"others\":{},"
        "\"truncation\":-1,\"length\":4000}\n");
    put("out/tiny-snap/synthetic/4096/pred/vt-1.jsonl",
        "{\"index\":0,\"pred\":\"3\",\"input\":\"b\",\"outputs\":[\"3\"],\"others\":{},"
        "\"truncation\":-1,\"length\":4000}\n");
    put("out/tiny-full/synthetic/4096/pred/summary.csv",
        "0,1,2\nTasks,vt,cwe\nScore,100.0,40.1\nNulls,0/2,0/500\n");
    put("out/tiny-snap/synthetic/4096/pred/summary-vt.csv",
        "0,1\nTasks,vt\nScore,87.25\nNulls,0/2\n");
    static const char *const levels[] = {"snap=budget:1024"};
    gives((kr_import_opts){.kind = "auto", .levels = levels, .n_levels = 1},
          "note: read as ruler: LENGTH/pred/TASK.jsonl files.\n"
          "warning: ./out/tiny-snap/synthetic vt: mean 75.0000 here and 87.2500 in "
          "summary-vt.csv.\n"
          "policies: snap threshold -1024 (mean 0.256)\n"
          "vt-00000 1 0.5\n"
          "vt-00001 1 1\n");
    put("out/tiny-snap/synthetic/8192/pred/vt.jsonl",
        "{\"index\":0,\"pred\":\"1\",\"input\":\"a\",\"outputs\":[\"1\"],\"length\":8000}\n");
    gives((kr_import_opts){.kind = "ruler"},
          "error: the runs are of different prompt settings: 'length 4096' (2), 'length "
          "8192' (1); import one at a time (--only and --skip choose runs by name)\n");
}

#define LM(id, pred, score)                                                                        \
    "{\"doc_id\":" id ",\"doc\":{\"outputs\":[\"77\"]},\"target\":\"['77']\",\"resps\":[[\"" pred  \
    "\"]],\"filtered_resps\":[\"" pred                                                             \
    "\"],\"filter\":\"none\",\"metrics\":[\"8192\",\"4096\"],\"doc_hash\":\"ab\",\"prompt_hash\":" \
    "\"cd\",\"target_hash\":\"ef\",\"4096\":" score ",\"8192\":-1.0}\n"

static void lm_eval_newest_date_counts_and_minus_one_is_no_score(void **state) {
    (void)state;
    put("full/acme__Tiny/samples_ruler_qa_squad_2025-11-02T10-11-12.1.jsonl",
        LM("0", "nothing", "0.0") LM("1", "77", "1.0"));
    put("full/acme__Tiny/samples_ruler_qa_squad_2025-11-03T10-11-12.1.jsonl",
        LM("1", "77", "1.0") LM("0", "the code is 77", "1.0"));
    put("snap/acme__Tiny/samples_ruler_qa_squad_2025-11-02T11-11-12.1.jsonl",
        LM("0", "78", "0.0") LM("1", "77", "0.0"));
    gives((kr_import_opts){.kind = "auto"},
          "note: read as lm-eval: samples_TASK_DATE.jsonl files.\n"
          "note: ./full/acme__Tiny/samples_ruler_qa_squad_2025-11-02T10-11-12.1.jsonl is a "
          "rerun of the same setting as "
          "./full/acme__Tiny/samples_ruler_qa_squad_2025-11-03T10-11-12.1.jsonl: not "
          "counted.\n"
          "warning: ./snap/acme__Tiny/samples_ruler_qa_squad_2025-11-02T11-11-12.1.jsonl: "
          "the source's own score differs from the recomputed one in 1 of 2 rows; the "
          "source's is used.\n"
          "note: ./snap/acme__Tiny/samples_ruler_qa_squad_2025-11-02T11-11-12.1.jsonl: "
          "rows in another order than the full-KV run, joined by id.\n"
          "policies: snap\n"
          "ruler_qa_squad-00000 1 0\n"
          "ruler_qa_squad-00001 1 0\n");
}

static void lm_eval_filters_prompts_and_other_data(void **state) {
    (void)state;
    put("full/m/samples_gsm8k_2025-11-02T10-11-12.1.jsonl",
        "{\"doc_id\":0,\"doc\":{\"answer\":\"#### "
        "4\"},\"target\":\"4\",\"resps\":[[\"4\"]],\"filtered_resps\":[\"4\"],\"filter\":"
        "\"strict\",\"metrics\":[\"exact_match\"],\"doc_hash\":\"a\",\"prompt_hash\":\"p\",\"exact_"
        "match\":1.0}\n"
        "{\"doc_id\":0,\"doc\":{\"answer\":\"#### "
        "4\"},\"target\":\"4\",\"resps\":[[\"4\"]],\"filtered_resps\":[\"4\"],\"filter\":"
        "\"flexible\",\"metrics\":[\"exact_match\"],\"doc_hash\":\"a\",\"prompt_hash\":\"p\","
        "\"exact_match\":0.0}\n");
    put("snap/m/samples_gsm8k_2025-11-02T10-11-12.1.jsonl",
        "{\"doc_id\":0,\"doc\":{\"answer\":\"#### "
        "4\"},\"target\":\"4\",\"resps\":[[\"5\"]],\"filtered_resps\":[\"5\"],\"filter\":"
        "\"strict\",\"metrics\":[\"exact_match\"],\"doc_hash\":\"a\",\"prompt_hash\":\"other\","
        "\"exact_match\":0.0}\n");
    gives((kr_import_opts){.kind = "lm-eval"},
          "note: ./full/m/samples_gsm8k_2025-11-02T10-11-12.1.jsonl: 1 rows of other "
          "filters than 'strict' are not counted.\n"
          "warning: ./snap/m/samples_gsm8k_2025-11-02T10-11-12.1.jsonl: 1 prompts differ "
          "from those of the full-KV run (another chat template, or other examples): the "
          "drop is not only the cache's.\n"
          "policies: snap\n"
          "gsm8k-00000 1 0\n");
    put("snap/m/samples_gsm8k_2025-11-02T10-11-12.1.jsonl",
        "{\"doc_id\":0,\"doc\":{\"answer\":\"#### "
        "4\"},\"target\":\"4\",\"resps\":[[\"5\"]],\"filtered_resps\":[\"5\"],\"filter\":"
        "\"strict\",\"metrics\":[\"exact_match\"],\"doc_hash\":\"b\",\"prompt_hash\":\"p\",\"exact_"
        "match\":0.0}\n");
    gives((kr_import_opts){.kind = "lm-eval"},
          "note: ./full/m/samples_gsm8k_2025-11-02T10-11-12.1.jsonl: 1 rows of other "
          "filters than 'strict' are not counted.\n"
          "error: ./snap/m/samples_gsm8k_2025-11-02T10-11-12.1.jsonl:1: the reference "
          "answers differ from those of the full-KV run (1 rows): another version of the "
          "data\n");
    put("snap/m/samples_gsm8k_2025-11-02T10-11-12.1.jsonl",
        "{\"doc_id\":0,\"doc\":{},\"target\":\"4\",\"resps\":[[\"5\"]],\"filtered_resps\":[\"5\"],"
        "\"filter\":\"strict\",\"metrics\":[\"perplexity\"],\"doc_hash\":\"a\",\"prompt_hash\":"
        "\"p\",\"perplexity\":12.5}\n");
    gives((kr_import_opts){.kind = "lm-eval"},
          "note: ./full/m/samples_gsm8k_2025-11-02T10-11-12.1.jsonl: 1 rows of other "
          "filters than 'strict' are not counted.\n"
          "error: ./snap/m/samples_gsm8k_2025-11-02T10-11-12.1.jsonl:1: the score 12.5 is "
          "outside 0 to 1; kvrisk needs a utility\n");
}

static void lm_eval_before_0_4_3_wrote_one_array(void **state) {
    (void)state;
    put("full/pretrained=acme__Tiny,dtype=auto_lambada_openai.jsonl",
        "[\n  {\n    \"doc_id\": 0,\n    \"doc\": {},\n    \"target\": \" x\",\n    \"resps\": "
        "[[[\"-1.5\", \"True\"]]],\n    \"filtered_resps\": [[\"-1.5\", \"True\"]],\n    "
        "\"metrics\": [\"acc\"],\n    \"acc\": 1.0\n  },\n  {\n    \"doc_id\": 1,\n    \"target\": "
        "\" y\",\n    \"resps\": [[\"z\"]],\n    \"metrics\": [\"acc\"],\n    \"acc\": 0.0\n  "
        "}\n]\n");
    put("snap/pretrained=acme__Tiny,dtype=auto_lambada_openai.jsonl",
        "[{\"doc_id\": 0, \"doc\": {}, \"target\": \" x\", \"resps\": [[\"a\"]], \"metrics\": "
        "[\"acc\"], \"acc\": 0.0}, {\"doc_id\": 1, \"target\": \" y\", \"resps\": [[\"z\"]], "
        "\"metrics\": [\"acc\"], \"acc\": 0.0}]");
    gives((kr_import_opts){.kind = "auto"}, "note: read as lm-eval: rows with doc_id and resps.\n"
                                            "policies: snap\n"
                                            "lambada_openai-00000 1 0\n"
                                            "lambada_openai-00001 0 0\n");
}

static void kvcache_factory_budgets_and_repeated_full_runs(void **state) {
    (void)state;
    const char *good = "{\"_id\":\"h1\",\"pred\":\" the "
                       "Ouse\",\"answers\":[\"Ouse\"],\"length\":3001,\"dataset\":\"hotpotqa\","
                       "\"all_classes\":null,\"input\":\"Which river?\"}\n";
    const char *bad = "{\"_id\":\"h1\",\"pred\":\" the "
                      "Esk\",\"answers\":[\"Ouse\"],\"length\":3001,\"dataset\":\"hotpotqa\",\"all_"
                      "classes\":null,\"input\":\"Which river?\"}\n";
    put("results/tiny-1b_128/hotpotqa/FullKV.json", good);
    put("results/tiny-1b_128/hotpotqa/SnapKV.json", bad);
    put("results/tiny-1b_512/hotpotqa/FullKV.json", good);
    put("results/tiny-1b_512/hotpotqa/SnapKV.json", good);
    put("results/tiny-1b_512/hotpotqa/metrics.json", "{\"hotpotqa\": 100.0}");
    put("results/tiny-1b_512/results.csv", "dataset,hotpotqa\nFullKV,100.0\nSnapKV\n");
    gives((kr_import_opts){.kind = "auto"},
          "note: read as kvcache-factory: folders of LongBench or RULER data sets with one "
          "METHOD.json each.\n"
          "note: tiny-1b_512/hotpotqa/FullKV is a rerun of the same setting as "
          "tiny-1b_128/hotpotqa/FullKV: not counted.\n"
          "note: results.csv is not used: scores come from the predictions.\n"
          "policies: snapkv threshold -512, snapkv threshold -128\n"
          "hotpotqa-00000 1 1 0\n");
}

static void kvcache_factory_ruler_and_needle(void **state) {
    (void)state;
    put("r/tiny_64/4096/vt/FullKV.json",
        "{\"input\":\"a\",\"answers\":[\"A1\"],\"pred\":\"a1\",\"length\":128}\n");
    put("r/tiny_64/4096/vt/H2O.json",
        "{\"input\":\"a\",\"answers\":[\"A1\"],\"pred\":\"b\",\"length\":128}\n");
    gives((kr_import_opts){.kind = "auto"},
          "note: read as kvcache-factory: folders of LongBench or RULER data sets with one "
          "METHOD.json each.\n"
          "policies: h2o threshold -64 (mean 0.5)\n"
          "vt-00000 1 0\n");
}

static void kvcache_factory_needle_files(void **state) {
    (void)state;
    put("results_needle/results/Tiny_full_1/Tiny_full_1_len_1000_depth_0_results.json",
        "{\n  \"context_length\": 1000,\n  \"depth_percent\": 0.0,\n  \"score\": 10.0,\n  "
        "\"model_response\": \"x\"\n}\n");
    put("results_needle/results/Tiny_full_1/Tiny_full_1_len_1000_depth_50_results.json",
        "{\"context_length\": 1000, \"depth_percent\": 50.0, \"score\": 7.5, \"model_response\": "
        "\"y\"}");
    put("results_needle/results/Tiny_snap_1/Tiny_snap_1_len_1000_depth_0_results.json",
        "{\"context_length\": 1000, \"depth_percent\": 0.0, \"score\": 5.0, \"model_response\": "
        "\"z\"}");
    put("results_needle/results/Tiny_snap_1/Tiny_snap_1_len_1000_depth_50_results.json",
        "{\"context_length\": 1000, \"depth_percent\": 50.0, \"score\": 7.5, \"model_response\": "
        "\"z\"}");
    gives((kr_import_opts){.kind = "kvcache-factory"}, "policies: tiny_snap_1\n"
                                                       "needle-00000 1 0.5\n"
                                                       "needle-00001 0.75 0.75\n");
}

static void snapkv_glues_its_configuration_to_the_model(void **state) {
    (void)state;
    const char *row =
        "{\"pred\":\"Ouse\",\"answers\":[\"Ouse\"],\"all_classes\":null,\"length\":3001}\n";
    put("pred_e/tiny-1b-chat/qasper.jsonl", row);
    put("pred_e/tiny-1b-chatablation_c1024_w32_k7_maxpool/qasper.jsonl",
        "{\"pred\":\"Esk\",\"answers\":[\"Ouse\"],\"all_classes\":null,\"length\":3001}\n");
    put("pred_e/tiny-1b-chatablation_c4096_w32_k7_maxpool/qasper.jsonl", row);
    gives((kr_import_opts){.kind = "auto"},
          "note: read as snapkv: LongBench files below folders with SnapKV's configuration "
          "names.\n"
          "warning: SnapKV writes LongBench and LongBench-E to pred_e alike; taken as "
          "LongBench (--dataset longbench-e says otherwise).\n"
          "policies: snapkv threshold -4096, snapkv threshold -1024\n"
          "qasper-00000 1 1 0\n");
}

static void adakv_row_scores_are_used_and_compared(void **state) {
    (void)state;
    put("pred/full_Tiny/hotpotqa.jsonl",
        "{\"pred\":\"Ouse\",\"answers\":[\"Ouse\"],\"all_classes\":null,\"length\":3001,\"time\":1."
        "93}\n{\"pred\":\"Esk\",\"answers\":[\"Esk\"],\"all_classes\":null,\"length\":3002,"
        "\"time\":1.93}\n");
    put("pred/full_Tiny/list_result.json", "{\"hotpotqa\": [1.0, 1.0]}");
    put("pred/full_Tiny/result.json", "{\"hotpotqa\": 99.0}");
    put("pred/ada_512_Tiny/hotpotqa.jsonl",
        "{\"pred\":\"Ouse\",\"answers\":[\"Ouse\"],\"all_classes\":null,\"length\":3001,\"time\":1."
        "93}\n{\"pred\":\"Dee\",\"answers\":[\"Esk\"],\"all_classes\":null,\"length\":3002,"
        "\"time\":1.93}\n");
    put("pred/ada_512_Tiny/list_result.json", "{\"hotpotqa\": [1.0, 0.4]}");
    put("pred/ada_128_Tiny/hotpotqa.jsonl",
        "{\"pred\":\"Ouse\",\"answers\":[\"Ouse\"],\"all_classes\":null,\"length\":3001,\"time\":1."
        "93}\n{\"pred\":\"Dee\",\"answers\":[\"Esk\"],\"all_classes\":null,\"length\":3002,"
        "\"time\":1.93}\n");
    put("pred/ada_128_Tiny/list_result.json", "{\"hotpotqa\": [1.0]}");
    gives((kr_import_opts){.kind = "auto"},
          "note: read as adakv: LongBench files beside a list_result.json.\n"
          "warning: full_Tiny/hotpotqa: mean 100.0000 here and 99.0000 in result.json "
          "beside it.\n"
          "warning: ada_128_Tiny/hotpotqa: list_result.json has 1 scores for 2 rows and is "
          "not used.\n"
          "warning: ada_512_Tiny/hotpotqa: the source's own score differs from the "
          "recomputed one in 1 of 2 rows; the source's is used.\n"
          "policies: ada threshold -512, ada threshold -128\n"
          "hotpotqa-00000 1 1 1\n"
          "hotpotqa-00001 1 0.4 0\n");
}

static void generic_long_table(void **state) {
    (void)state;
    put("t.csv", "id,task,method,retention,score,tokens\n"
                 "r1,qa,full,,100%,1000\nr1,qa,SnapKV,50%,0.8,1000\nr1,qa,SnapKV,0.25,,1000\n"
                 "r2,qa,full,1,1,1000\nr2,qa,SnapKV,50%,True,1000\nr2,qa,SnapKV,0.25,0.5,1000\n");
    gives((kr_import_opts){.kind = "auto"},
          "note: read as generic: tables or rows with columns of their own.\n"
          "warning: SnapKV@0.25: 1 of 2 rows could not be scored (no score in the "
          "source).\n"
          "policies: snapkv keeps 0.5, snapkv keeps 0.25\n"
          "qa-00000 1 0.8 -\n"
          "qa-00001 1 1 0.5\n");
    put("t.csv", "id,task,method,compression_ratio,score\nr1,qa,full,,1\nr1,qa,h2o,0.75,0.8\n");
    gives((kr_import_opts){.kind = "generic"},
          "error: h2o@0.75: level '0.75' may be the share kept or the share removed; "
          "--ratio-means says which (kept, removed, budget, bits or threshold)\n");
    gives((kr_import_opts){.kind = "generic", .ratio_means = "removed"},
          "policies: h2o keeps 0.25\n"
          "qa-00000 1 0.8\n");
    put("t.csv", "id,task,method,compression_ratio,score\nr1,qa,full,,100\nr1,qa,h2o,0.75,80\n");
    gives((kr_import_opts){.kind = "generic", .ratio_means = "removed"},
          "error: ./t.csv:2: score '100' is outside 0 to 1; --scale says what the best "
          "score is\n");
    gives((kr_import_opts){.kind = "generic", .ratio_means = "removed", .scale = 100},
          "policies: h2o keeps 0.25\n"
          "qa-00000 1 0.8\n");
}

static void generic_budgets_bits_and_declared_order(void **state) {
    (void)state;
    put("t.tsv", "id\tmethod\tlevel\tscore\ttokens\nr1\tfull\t\t1\t1000\nr1\tsnap\t256\t1\t1000\nr1"
                 "\tsnap\t512\t1\t1000\n");
    gives((kr_import_opts){.kind = "generic", .ratio_means = "budget"},
          "policies: snap threshold -512 (mean 0.512), snap threshold -256 (mean 0.256)\n"
          "all-00000 1 1 1\n");
    put("t.tsv", "id\tmethod\tlevel\tscore\nr1\tfull\t\t1\nr1\tquant\t4\t1\nr1\tquant\t8\t1\n");
    gives((kr_import_opts){.kind = "generic", .ratio_means = "bits"},
          "policies: quant keeps 0.5, quant keeps 0.25\n"
          "all-00000 1 1 1\n");
    put("t.tsv",
        "id\tmethod\tlevel\tscore\nr1\tfull\t\t1\nr1\tquant\tint4\t0\nr1\tquant\tint8\t1\n");
    gives((kr_import_opts){.kind = "generic"},
          "error: two runs for quant, level unknown, on the same data: quant@int4 and "
          "quant@int8; leave one out with --skip, or tell them apart with --level "
          "METHOD@TEXT=R\n");
    gives((kr_import_opts){.kind = "generic", .order = "quant@int8,quant@int4"},
          "policies: quant threshold 1, quant threshold 2\n"
          "all-00000 1 1 0\n");
    gives((kr_import_opts){.kind = "generic", .order = "int8,int2"},
          "error: --order: 'int2' is no run\n");
}

static void generic_wide_table_and_nested_map(void **state) {
    (void)state;
    put("w.csv", "id,all,s50,s25\nr1,1,1,0\nr2,0.5,0.5,0.25\n");
    gives((kr_import_opts){.kind = "generic",
                           .columns = "full=all,SnapKV@0.25=s25,SnapKV@0.5=s50",
                           .ratio_means = "kept"},
          "policies: snapkv keeps 0.5, snapkv keeps 0.25\n"
          "all-00000 1 1 0\n"
          "all-00001 0.5 0.5 0.25\n");
    assert_int_equal(unlink("w.csv"), 0);
    put("n.jsonl",
        "{\"req\":{\"id\":\"a7\"},\"s\":{\"full\":1,\"snapkv\":{\"0.5\":0.8,\"0.25\":null}}}\n{"
        "\"req\":{\"id\":\"a8\"},\"s\":{\"full\":1,\"snapkv\":{\"0.5\":1,\"0.25\":\"50%\"}}}\n");
    gives(
        (kr_import_opts){.kind = "generic", .columns = "id=req.id,scores=s", .ratio_means = "kept"},
        "warning: snapkv@0.25: 1 of 2 rows could not be scored (no score in the "
        "source).\n"
        "policies: snapkv keeps 0.5, snapkv keeps 0.25\n"
        "all-00000 1 0.8 -\n"
        "all-00001 1 1 0.5\n");
    gives(
        (kr_import_opts){.kind = "generic", .columns = "id=req.id,scores=", .ratio_means = "kept"},
        "error: --col 'scores=': ROLE=NAME is expected\n");
}

static void generic_one_file_per_run_with_predictions_to_score(void **state) {
    (void)state;
    put("baseline.jsonl", "{\"req\": {\"id\": \"a7\"}, \"out\": \"Mill\", \"gold\": [\"mill\", "
                          "\"the mill\"], \"len\": 5120}\n");
    put("snapkv.jsonl", "{\"req\": {\"id\": \"a7\"}, \"out\": \"old Mill\", \"gold\": [\"mill\", "
                        "\"the mill\"], \"kept\": 0.25, \"len\": 5120, \"len\": 5121}\n");
    const char *columns = "id=req.id,prediction=out,answers=gold,level=kept,tokens=len";
    gives((kr_import_opts){.kind = "generic", .columns = columns},
          "error: ./baseline.jsonl: no column of scores; --col score=NAME names it, or "
          "--scorer NAME scores the predictions\n");
    gives((kr_import_opts){.kind = "generic",
                           .columns = columns,
                           .scorer = "longbench.qa_f1",
                           .ratio_means = "kept"},
          "warning: snapkv: 1 names are given twice in one object; the last counts.\n"
          "policies: snapkv keeps 0.25\n"
          "all-00000 1 0.666666667\n");
}

static void nothing_to_import(void **state) {
    (void)state;
    static const char *const missing[] = {"nowhere"};
    put("notes.txt", "hello");
    gives((kr_import_opts){.kind = "auto"},
          "error: .: no known evaluation output found; name the kind (kvpress, longbench, "
          "ruler, lm-eval, kvcache-factory, snapkv, adakv, generic)\n");
    gives((kr_import_opts){.kind = "auto", .paths = missing, .n_paths = 1},
          "error: nowhere: No such file or directory\n");
    gives((kr_import_opts){.kind = "kvpress"}, "error: .: no kvpress run found\n");
    put("k.jsonl", "{\"kvrisk\":1,\"kind\":\"calibration\"}\n");
    gives((kr_import_opts){.kind = "auto"},
          "note: read as generic: tables or rows with columns of their own.\n"
          "error: ./k.jsonl: a calibration file already; kvrisk opens it as it is\n");
    assert_int_equal(unlink("k.jsonl"), 0);
    put("e.csv", "");
    gives((kr_import_opts){.kind = "auto"},
          "note: read as generic: tables or rows with columns of their own.\n"
          "error: ./e.csv: the file is empty; a header line is expected\n");
}

/* --- a real folder with many faults ------------------------------------------------------------------- */

#define REAL "../shared/real/longbench-pyramidkv-llama3-8b"

static void a_real_folder_with_shifted_labels_and_missing_rows(void **state) {
    (void)state;
    static const char *const paths[] = {REAL};
    struct stat sb;
    kr_import_opts o = {.kind = "kvcache-factory", .paths = paths, .n_paths = 1};
    kr_import *im = NULL;
    kr_calib *c = NULL;
    kr_error err = {KR_OK, ""};
    kr_buf said = {0}, means = {0};
    if (stat(REAL, &sb) != 0) {
        printf("skip: %s is not there\n", REAL);
        skip();
    }
    if (kr_import_open(&o, &im, &err) != KR_OK || kr_import_read(im, &err) != KR_OK ||
        kr_import_build(im, &c, &err) != KR_OK)
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < kr_import_notes(im); i++)
        kr_buf_printf(&said, "%s\n", kr_import_note(im, i)->text);
    kr_import_summary(im, &means);
    static const char *const sentences[] = {
        "passage_retrieval_en has a metrics.json but no predictions: left out",
        "2wikimqa/PiToMeKV has 1 rows, the full-KV run 103.",
        "hotpotqa/PiToMeKV: none of its 1 rows is in the full-KV run "
        "meta-llama-3-8b-instruct/hotpotqa/FullKV (1 rows)",
        "hotpotqa/PyramidKV: none of its 1 rows is in the full-KV run "
        "meta-llama-3-8b-instruct/hotpotqa/FullKV (1 rows)",
        "results.csv is not used: its labels are wrong (its row 'random' holds the means of "
        "PyramidKV, its "
        "row 'SnapKV' holds the means of PiToMeKV)",
        "task hotpotqa is left out",
    };
    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++)
        if (strstr(kr_buf_text(&said), sentences[i]) == NULL)
            fail_msg("not said: %s", sentences[i]);
    /* FullKV, PiToMeKV, PyramidKV as published beside the predictions */
    static const char *const published[] = {
        "trec 62.50",          "trec 60.58",     "trec 63.46",          "triviaqa 88.48",
        "triviaqa 87.03",      "triviaqa 89.08", "passage_count 14.41", "passage_count 15.13",
        "passage_count 15.94", "2wikimqa 39.70"};
    for (size_t i = 0; i < sizeof published / sizeof *published; i++)
        if (strstr(kr_buf_text(&means), published[i]) == NULL)
            fail_msg("mean not found: %s", published[i]);
    printf("note: %zu published means reproduced\n", sizeof published / sizeof *published);
    assert_int_equal(kr_calib_rows(c), 738);
    assert_false(kr_calib_policy(c, 0)->has_retention);
    kr_buf_free(&said);
    kr_buf_free(&means);
    kr_calib_free(c);
    kr_import_free(im);
}

#define T(name) cmocka_unit_test_setup_teardown(name, case_enter, case_leave)

int main(void) {
    const struct CMUnitTest tests[] = {
        T(longbench_v1_and_e_share_file_names),
        T(several_levels_of_one_method_must_be_given),
        T(longbench_v2_compares_its_own_verdict),
        T(ruler_with_chunks_and_lengths),
        T(lm_eval_newest_date_counts_and_minus_one_is_no_score),
        T(lm_eval_filters_prompts_and_other_data),
        T(lm_eval_before_0_4_3_wrote_one_array),
        T(kvcache_factory_budgets_and_repeated_full_runs),
        T(kvcache_factory_ruler_and_needle),
        T(kvcache_factory_needle_files),
        T(snapkv_glues_its_configuration_to_the_model),
        T(adakv_row_scores_are_used_and_compared),
        T(generic_long_table),
        T(generic_budgets_bits_and_declared_order),
        T(generic_wide_table_and_nested_map),
        T(generic_one_file_per_run_with_predictions_to_score),
        T(nothing_to_import),
        cmocka_unit_test(a_real_folder_with_shifted_labels_and_missing_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
