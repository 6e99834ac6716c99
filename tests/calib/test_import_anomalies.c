/* What goes wrong in real evaluation outputs, one made-up case each, with the exact words. */
#include "import_case.h"

#define HEAD "task,predicted_answer,answer,answer_prefix,question,compression_ratio\n"
#define FULL "ruler__4096__acme--Tiny-1B__no_press__0.00"
#define SNAP "ruler__4096__acme--Tiny-1B__snapkv__0.50"

static const kr_import_opts kvpress = {.kind = "kvpress"};

/* Three requests; in the compressed run the second is lost. */
static void put_pair(void) {
    put(FULL "/predictions.csv",
        HEAD "vt,1 2,['1' '2'],P,Q1,0.0\nvt,3,['3'],P,Q2,0.0\nqa_1,x,['x'],P,Q3,0.0\n");
    put(FULL "/metrics.json",
        "{\"vt\":{\"string_match\":100.0},\"qa_1\":{\"string_match\":100.0}}");
    put(SNAP "/predictions.csv",
        HEAD "vt,1,['1' '2'],P,Q1,0.5\nvt,no,['3'],P,Q2,0.5\nqa_1,x,['x'],P,Q3,0.5\n");
    put(SNAP "/metrics.json", "{\"vt\":{\"string_match\":25.0},\"qa_1\":{\"string_match\":100.0}}");
}

static void a_plain_pair(void **state) {
    (void)state;
    put_pair();
    gives(kvpress, "policies: snapkv keeps 0.5 (mean 0.5)\n"
                   "vt-00000 1 0.5\n"
                   "vt-00001 1 0\n"
                   "qa_1-00000 1 1\n");
}

static void reordered_columns_numpy_cells_over_lines_and_quotes(void **state) {
    (void)state;
    put(FULL "/predictions.csv",
        "answer,task,predicted_answer,question,answer_prefix,compression_ratio\n"
        "\"['it\\'s' \"\"the mill's\"\"\n 'x']\",cwe,\"it's, the mill's\nx\",,P,0.0\n");
    put(SNAP "/predictions.csv",
        "task,predicted_answer,answer,answer_prefix,question,compression_ratio\n"
        "cwe,it's,\"['it\\'s', \"\"the mill's\"\", 'x']\",P,,0.5\n");
    gives(kvpress, "warning: ruler__4096__acme--Tiny-1B__no_press__0.00 looks unfinished (no score "
                   "file beside its predictions).\n"
                   "warning: ruler__4096__acme--Tiny-1B__snapkv__0.50 looks unfinished (no score "
                   "file beside its predictions).\n"
                   "policies: snapkv keeps 0.5 (mean 0.5)\n"
                   "cwe-00000 1 0.333333333\n");
}

static void a_row_is_missing(void **state) {
    (void)state;
    put_pair();
    put(SNAP "/predictions.csv", HEAD "vt,1,['1' '2'],P,Q1,0.5\nqa_1,x,['x'],P,Q3,0.5\n");
    put(SNAP "/metrics.json", "{}");
    gives(kvpress, "warning: ruler__4096__acme--Tiny-1B__snapkv__0.50 has 2 rows, the full-KV run "
                   "3.\n"
                   "warning: ruler__4096__acme--Tiny-1B__snapkv__0.50: 1 of 3 requests have no row "
                   "in it (counted as degradation events).\n"
                   "policies: snapkv keeps 0.5 (mean 0.5)\n"
                   "vt-00000 1 0.5\n"
                   "vt-00001 1 -\n"
                   "qa_1-00000 1 1\n");
    gives((kr_import_opts){.kind = "kvpress", .lack = KR_LACK_ROW},
          "warning: ruler__4096__acme--Tiny-1B__snapkv__0.50 has 2 rows, the full-KV run "
          "3.\n"
          "warning: ruler__4096__acme--Tiny-1B__snapkv__0.50: 1 of 3 requests have no row "
          "in it (left out for all policies).\n"
          "policies: snapkv keeps 0.5 (mean 0.5)\n"
          "vt-00000 1 0.5\n"
          "qa_1-00000 1 1\n");
    gives((kr_import_opts){.kind = "kvpress", .lack = KR_LACK_TASK},
          "warning: ruler__4096__acme--Tiny-1B__snapkv__0.50 has 2 rows, the full-KV run "
          "3.\n"
          "warning: ruler__4096__acme--Tiny-1B__snapkv__0.50: 1 of 3 requests have no row "
          "in it (their tasks are left out).\n"
          "warning: task vt is left out: some requests have no row in some run (2 "
          "requests).\n"
          "policies: snapkv keeps 0.5 (mean 0.5)\n"
          "qa_1-00000 1 1\n");
}

static void rows_in_another_order_are_joined_by_key(void **state) {
    (void)state;
    put_pair();
    put(SNAP "/predictions.csv",
        HEAD "qa_1,x,['x'],P,Q3,0.5\nvt,no,['3'],P,Q2,0.5\nvt,1,['1' '2'],P,Q1,0.5\n");
    gives(kvpress, "note: ruler__4096__acme--Tiny-1B__snapkv__0.50: rows in another order than the "
                   "full-KV run, joined by key.\n"
                   "policies: snapkv keeps 0.5 (mean 0.5)\n"
                   "vt-00000 1 0.5\n"
                   "vt-00001 1 0\n"
                   "qa_1-00000 1 1\n");
}

static void rows_that_cannot_be_told_apart_are_refused_in_another_order(void **state) {
    (void)state;
    put(FULL "/predictions.csv",
        HEAD "vt,1,['1'],P,,0.0\nvt,1,['1'],P,,0.0\nqa_1,x,['x'],P,,0.0\n");
    put(SNAP "/predictions.csv",
        HEAD "vt,1,['1'],P,,0.5\nvt,2,['1'],P,,0.5\nqa_1,x,['x'],P,,0.5\n");
    put(FULL "/metrics.json", "{}");
    put(SNAP "/metrics.json", "{}");
    gives(kvpress, "note: ruler__4096__acme--Tiny-1B__snapkv__0.50: joined by position, because 2 "
                   "rows of the full-KV run share their content with another; both files have the "
                   "same order of contents.\n"
                   "policies: snapkv keeps 0.5 (mean 0.5)\n"
                   "vt-00000 1 1\n"
                   "vt-00001 1 0\n"
                   "qa_1-00000 1 1\n"); /* the same order: safe */
    put(SNAP "/predictions.csv",
        HEAD "qa_1,x,['x'],P,,0.5\nvt,1,['1'],P,,0.5\nvt,2,['1'],P,,0.5\n");
    gives(kvpress, "error: ruler__4096__acme--Tiny-1B__snapkv__0.50: 2 rows cannot be told apart "
                   "(same content, no id) and are not in the order of the full-KV run; "
                   "--by-occurrence joins them in order all the same\n");
    gives((kr_import_opts){.kind = "kvpress", .by_occurrence = true},
          "note: ruler__4096__acme--Tiny-1B__snapkv__0.50: rows in another order than the "
          "full-KV run, joined by key.\n"
          "warning: ruler__4096__acme--Tiny-1B__snapkv__0.50: 2 rows with the same content "
          "as another were joined in order of occurrence, as asked.\n"
          "policies: snapkv keeps 0.5 (mean 0.5)\n"
          "vt-00000 1 1\n"
          "vt-00001 1 0\n"
          "qa_1-00000 1 1\n");
}

static void a_file_cut_inside_a_quoted_field(void **state) {
    (void)state;
    put_pair();
    put(SNAP "/predictions.csv", HEAD "vt,1,['1' '2'],P,Q1,0.5\nvt,\"no\nend,['3'],P,Q2,0.5\n");
    gives(kvpress,
          "error: ./ruler__4096__acme--Tiny-1B__snapkv__0.50/predictions.csv:3: the file "
          "ends inside the quoted field opened here (record 3, column 'predicted_answer')\n");
}

static void a_ragged_record(void **state) {
    (void)state;
    put_pair();
    put(SNAP "/predictions.csv", HEAD "vt,1,['1' '2'],P,Q1,0.5\nvt,no,['3']\n");
    gives(kvpress, "error: ./ruler__4096__acme--Tiny-1B__snapkv__0.50/predictions.csv:3: record 3 "
                   "has 3 fields, the header has 6\n");
}

static void a_shortened_list_of_answers(void **state) {
    (void)state;
    put_pair();
    put(SNAP "/predictions.csv", HEAD "vt,1,['1' ... '2'],P,Q1,0.5\n");
    gives(kvpress, "error: ./ruler__4096__acme--Tiny-1B__snapkv__0.50/predictions.csv:2: record 2, "
                   "column 'answer': byte 6: shortened list: the writer left items out (`...`)\n");
}

static void empty_and_literal_nan_predictions_are_text(void **state) {
    (void)state;
    put_pair();
    put(SNAP "/predictions.csv",
        HEAD "vt,,['1' '2'],P,Q1,0.5\nvt,nan,['3'],P,Q2,0.5\nqa_1, x ,['x'],P,Q3,0.5\n");
    put(SNAP "/metrics.json", "{\"vt\":{\"string_match\":0.0}}");
    gives(kvpress, "policies: snapkv keeps 0.5 (mean 0.5)\n"
                   "vt-00000 1 0\n"
                   "vt-00001 1 0\n"
                   "qa_1-00000 1 1\n");
}

static void line_ends_and_byte_order_mark_of_windows(void **state) {
    (void)state;
    put_pair();
    put(SNAP "/predictions.csv",
        "\xef\xbb\xbf"
        "task,predicted_answer,answer,answer_prefix,question,compression_ratio\r\n"
        "vt,1,['1' '2'],P,Q1,0.5\r\nvt,no,['3'],P,Q2,0.5\r\nqa_1,x,['x'],P,Q3,0.5\r\n");
    gives(kvpress, "policies: snapkv keeps 0.5 (mean 0.5)\n"
                   "vt-00000 1 0.5\n"
                   "vt-00001 1 0\n"
                   "qa_1-00000 1 1\n");
}

static void a_stale_ratio_beside_a_threshold(void **state) {
    (void)state;
    put_pair();
    put("ruler__4096__acme--Tiny-1B__kvzap_mlp__-4.00/predictions.csv",
        HEAD "vt,1 2,['1' '2'],P,Q1,0.25\nvt,3,['3'],P,Q2,0.75\nqa_1,y,['x'],P,Q3,0.5\n");
    put("ruler__4096__acme--Tiny-1B__kvzap_mlp__-4.00/config.yaml",
        "dataset: ruler\ndata_dir: 4096\nmodel: acme/Tiny-1B\npress_name: "
        "kvzap_mlp\ncompression_ratio: 0.5\nthreshold: -4.0\n"
        "model_kwargs:\n  dtype: auto\npress_init_command: "
        "DMSPress(press=KVzapPress(model_type='mlp'), threshold=-4.0,\n"
        "  sliding_window_size=128)\n");
    put("ruler__4096__acme--Tiny-1B__kvzap_mlp__-4.00/metrics.json", "{}");
    gives(kvpress, "policies: kvzap_mlp threshold -4 (mean 0.5), snapkv keeps 0.5 (mean 0.5)\n"
                   "vt-00000 1 1 0.5\n"
                   "vt-00001 1 1 0\n"
                   "qa_1-00000 1 0 1\n");
}

static void the_name_rounds_the_ratio_and_config_has_it_whole(void **state) {
    (void)state;
    put_pair();
    put(SNAP "/config.yaml", "dataset: ruler\ndata_dir: 4096\nmodel: acme/Tiny-1B\npress_name: "
                             "snapkv\ncompression_ratio: 0.505\n");
    gives(kvpress, "policies: snapkv keeps 0.495 (mean 0.5)\n"
                   "vt-00000 1 0.5\n"
                   "vt-00001 1 0\n"
                   "qa_1-00000 1 1\n");
    put(SNAP "/config.yaml", "dataset: ruler\ndata_dir: 4096\nmodel: acme/Tiny-1B\npress_name: "
                             "snapkv\ncompression_ratio: 0.875\n");
    gives(kvpress, "warning: ruler__4096__acme--Tiny-1B__snapkv__0.50: its rows report that 0.500 "
                   "was kept on average, its setting says 0.125.\n"
                   "policies: snapkv keeps 0.125 (mean 0.5)\n"
                   "vt-00000 1 0.5\n"
                   "vt-00001 1 0\n"
                   "qa_1-00000 1 1\n");
}

static void config_and_name_contradict_each_other(void **state) {
    (void)state;
    put_pair();
    put(SNAP "/config.yaml", "dataset: ruler\ndata_dir: 4096\nmodel: acme/Tiny-1B\npress_name: "
                             "pyramidkv\ncompression_ratio: 0.5\n");
    gives(kvpress, "warning: ruler__4096__acme--Tiny-1B__snapkv__0.50: config.yaml says press "
                   "'pyramidkv', the name says 'snapkv'; config.yaml is believed.\n"
                   "policies: pyramidkv keeps 0.5 (mean 0.5)\n"
                   "vt-00000 1 0.5\n"
                   "vt-00001 1 0\n"
                   "qa_1-00000 1 1\n");
}

static void reruns_in_numbered_children(void **state) {
    (void)state;
    put_pair();
    put(SNAP "/1/predictions.csv", HEAD "vt,1 2,['1' '2'],P,Q1,0.5\n");
    put(SNAP "/1/metrics.json", "{}");
    put(SNAP "/2/predictions.csv", HEAD "vt,1 2,['1' '2'],P,Q1,0.5\n");
    put(SNAP "/2/metrics.json", "{}");
    gives(kvpress,
          "note: ruler__4096__acme--Tiny-1B__snapkv__0.50/1 is a rerun of the same setting "
          "as ruler__4096__acme--Tiny-1B__snapkv__0.50: not counted.\n"
          "note: ruler__4096__acme--Tiny-1B__snapkv__0.50/2 is a rerun of the same setting "
          "as ruler__4096__acme--Tiny-1B__snapkv__0.50: not counted.\n"
          "policies: snapkv keeps 0.5 (mean 0.5)\n"
          "vt-00000 1 0.5\n"
          "vt-00001 1 0\n"
          "qa_1-00000 1 1\n");
    /* the first is unfinished: the newest complete one counts */
    assert_int_equal(unlink(SNAP "/metrics.json"), 0);
    gives(kvpress,
          "note: ruler__4096__acme--Tiny-1B__snapkv__0.50/1 is a rerun of the same setting "
          "as ruler__4096__acme--Tiny-1B__snapkv__0.50/2: not counted.\n"
          "note: ruler__4096__acme--Tiny-1B__snapkv__0.50 is a rerun of the same setting "
          "as ruler__4096__acme--Tiny-1B__snapkv__0.50/2: not counted, because it is "
          "unfinished.\n"
          "warning: ruler__4096__acme--Tiny-1B__snapkv__0.50/2 has 1 rows, the full-KV run "
          "3.\n"
          "warning: ruler__4096__acme--Tiny-1B__snapkv__0.50/2: 2 of 3 requests have no "
          "row in it (counted as degradation events).\n"
          "policies: snapkv keeps 0.5 (mean 0.5)\n"
          "vt-00000 1 1\n"
          "vt-00001 1 -\n"
          "qa_1-00000 1 -\n");
}

static void query_aware_against_plain(void **state) {
    (void)state;
    put_pair();
    assert_int_equal(rename(SNAP, SNAP "__query_aware"), 0);
    gives(kvpress, "error: the runs are of different prompt settings: 'length 4096' (1), "
                   "'query_aware, length 4096' (1); import one at a time (--only and --skip choose "
                   "runs by name)\n");
}

static void a_run_of_another_model(void **state) {
    (void)state;
    put_pair();
    assert_int_equal(rename(SNAP, "ruler__4096__acme--Big-9B__snapkv__0.50"), 0);
    gives(kvpress,
          "error: the runs are of different models: 'acme/Big-9B' (1), 'acme/Tiny-1B' (1); "
          "import one at a time (--only and --skip choose runs by name)\n");
}

static void no_full_run(void **state) {
    (void)state;
    put_pair();
    static const char *const skip[] = {"*no_press*"};
    gives((kr_import_opts){.kind = "kvpress", .skip = skip, .n_skip = 1},
          "error: no full-KV run among the 2 runs found: drops cannot be computed without "
          "one (--full names it)\n");
}

static void two_runs_of_the_same_policy(void **state) {
    (void)state;
    put("a/" FULL "/predictions.csv", HEAD "vt,1,['1'],P,Q1,0.0\n");
    put("a/" SNAP "/predictions.csv", HEAD "vt,1,['1'],P,Q1,0.5\n");
    put("b/" SNAP "/predictions.csv", HEAD "vt,1,['1'],P,Q1,0.5\n");
    gives(kvpress, "warning: ruler__4096__acme--Tiny-1B__no_press__0.00 looks unfinished (no score "
                   "file beside its predictions).\n"
                   "warning: ruler__4096__acme--Tiny-1B__snapkv__0.50 looks unfinished (no score "
                   "file beside its predictions).\n"
                   "warning: ruler__4096__acme--Tiny-1B__snapkv__0.50 looks unfinished (no score "
                   "file beside its predictions).\n"
                   "error: two runs for snapkv, keeps 0.5, on the same data: "
                   "./a/ruler__4096__acme--Tiny-1B__snapkv__0.50/predictions.csv and "
                   "./b/ruler__4096__acme--Tiny-1B__snapkv__0.50/predictions.csv; leave one out "
                   "with --skip, or tell them apart with --level METHOD@TEXT=R\n");
}

static void other_answers_mean_another_version_of_the_data(void **state) {
    (void)state;
    put("m_128/qasper/FullKV.json",
        "{\"_id\":\"a\",\"pred\":\"x\",\"answers\":[\"x\"],\"length\":1}\n");
    put("m_128/qasper/SnapKV.json",
        "{\"_id\":\"a\",\"pred\":\"x\",\"answers\":[\"y\"],\"length\":1}\n");
    gives((kr_import_opts){.kind = "kvcache-factory"},
          "error: ./m_128/qasper/SnapKV.json:1: the reference answers differ from those of "
          "the full-KV run (1 rows): another version of the data\n");
}

static void means_that_disagree_with_the_runs_own(void **state) {
    (void)state;
    put_pair();
    put(SNAP "/metrics.json", "{\"vt\":{\"string_match\":50.0},\"qa_1\":{\"string_match\":NaN}}");
    gives(kvpress, "warning: ruler__4096__acme--Tiny-1B__snapkv__0.50: task vt has mean 25.0000 "
                   "here and 50.0000 in the run's own score file.\n"
                   "policies: snapkv keeps 0.5 (mean 0.5)\n"
                   "vt-00000 1 0.5\n"
                   "vt-00001 1 0\n"
                   "qa_1-00000 1 1\n");
}

static void the_old_layout_holds_predictions_only(void **state) {
    (void)state;
    put("results/loogle____acme--Tiny-1B__no_press__0.0.csv",
        "predicted_answer,compression_ratio\n 42,0.0\n,0.0\n");
    put("results/loogle____acme--Tiny-1B__snapkv__0.5__compressed_questions.csv",
        "predicted_answer,compression_ratio\n 42,0.5\n,0.5\n");
    gives(kvpress, "error: the runs are of different prompt settings: 'plain' (1), 'query_aware' "
                   "(1); import one at a time (--only and --skip choose runs by name)\n");
    put("results/loogle____acme--Tiny-1B__snapkv__0.5.csv",
        "predicted_answer,compression_ratio\n 42,0.5\n,0.5\n");
    static const char *const skip[] = {"*compressed*"};
    gives((kr_import_opts){.kind = "kvpress", .skip = skip, .n_skip = 1},
          "error: ./results/loogle____acme--Tiny-1B__no_press__0.0.csv:1: no column with "
          "reference answers (kvpress before 0.3 wrote predictions only), so its rows "
          "cannot be scored\n");
}

static void chinese_tasks_and_tasks_without_references_are_left_out_by_name(void **state) {
    (void)state;
    put("longbench__multifieldqa_zh__m__no_press__0.00/predictions.csv",
        "task,_id,predicted_answer,answers,all_classes\nmultifieldqa_zh,a,x,['x'],\n");
    put("longbench__multifieldqa_zh__m__snapkv__0.50/predictions.csv",
        "task,_id,predicted_answer,answers,all_classes\nmultifieldqa_zh,a,x,['x'],\n");
    put("longbench__trec__m__no_press__0.00/predictions.csv",
        "task,_id,predicted_answer,answers,all_classes\ntrec,b,\"\n A\",['A'],['A' 'B']\n");
    put("longbench__trec__m__snapkv__0.50/predictions.csv",
        "task,_id,predicted_answer,answers,all_classes\ntrec,b,B,['A'],['A' 'B']\n");
    gives(kvpress,
          "warning: longbench__multifieldqa_zh__m__no_press__0.00 looks unfinished (no "
          "score file beside its predictions).\n"
          "warning: longbench__multifieldqa_zh__m__snapkv__0.50 looks unfinished (no score "
          "file beside its predictions).\n"
          "warning: longbench__trec__m__no_press__0.00 looks unfinished (no score file "
          "beside its predictions).\n"
          "warning: longbench__trec__m__snapkv__0.50 looks unfinished (no score file "
          "beside its predictions).\n"
          "warning: longbench__multifieldqa_zh__m__no_press__0.00: 1 of 1 rows could not "
          "be scored (Chinese word scores rest on the jieba segmenter, for which Debian "
          "has no C library).\n"
          "warning: longbench__multifieldqa_zh__m__snapkv__0.50: 1 of 1 rows could not be "
          "scored (Chinese word scores rest on the jieba segmenter, for which Debian has "
          "no C library).\n"
          "warning: task multifieldqa_zh is left out: Chinese word scores rest on the "
          "jieba segmenter, for which Debian has no C library (1 requests).\n"
          "policies: snapkv keeps 0.5\n"
          "trec-00000 1 0\n");
}

static void thinks_level_is_what_its_rows_report(void **state) {
    (void)state;
    put_pair();
    put("ruler__4096__acme--Tiny-1B__think__0.00__key_channel_cr0.50/predictions.csv",
        HEAD "vt,1,['1' '2'],P,Q1,0.25\nvt,3,['3'],P,Q2,0.25\nqa_1,x,['x'],P,Q3,0.25\n");
    put("ruler__4096__acme--Tiny-1B__think__0.00__key_channel_cr0.50/config.yaml",
        "dataset: ruler\ndata_dir: 4096\nmodel: acme/Tiny-1B\npress_name: "
        "think\ncompression_ratio: 0.0\nkey_channel_compression_ratio: 0.5\n");
    put("ruler__4096__acme--Tiny-1B__think__0.00__key_channel_cr0.50/metrics.json", "{}");
    gives(kvpress, "policies: snapkv keeps 0.5 (mean 0.5), think keeps 0.75 (mean 0.75)\n"
                   "vt-00000 1 0.5 0.5\n"
                   "vt-00001 1 0 1\n"
                   "qa_1-00000 1 1 1\n");
}

static void a_file_appended_twice(void **state) {
    (void)state;
    const char *two =
        "{\"pred\":\"ant\",\"answers\":[\"ant\"],\"all_classes\":null,\"length\":10}\n"
        "{\"pred\":\"b\",\"answers\":[\"b\"],\"all_classes\":null,\"length\":20}\n";
    put("pred/m-full/qasper.jsonl", two);
    put("pred/m-snap/qasper.jsonl",
        "{\"pred\":\"ant\",\"answers\":[\"ant\"],\"all_classes\":null,\"length\":10}\n"
        "{\"pred\":\"x\",\"answers\":[\"b\"],\"all_classes\":null,\"length\":20}\n"
        "{\"pred\":\"ant\",\"answers\":[\"ant\"],\"all_classes\":null,\"length\":10}\n"
        "{\"pred\":\"b\",\"answers\":[\"b\"],\"all_classes\":null,\"length\":20}\n");
    gives((kr_import_opts){.kind = "longbench"},
          "warning: m-snap/qasper holds every row twice in the same order (a second run "
          "was appended): the first 2 of 4 rows are used.\n"
          "policies: snap\n"
          "qasper-00000 1 1\n"
          "qasper-00001 1 0\n");
}

static void a_file_appended_in_another_order(void **state) {
    (void)state;
    const char *a = "{\"pred\":\"ant\",\"answers\":[\"ant\"],\"length\":1}\n";
    const char *b = "{\"pred\":\"bee\",\"answers\":[\"bee\"],\"length\":2}\n";
    char text[512];
    snprintf(text, sizeof text, "%s%s%s%s", a, b, b, a);
    put("pred/m-full/qasper.jsonl", text);
    put("pred/m-snap/qasper.jsonl", text);
    gives((kr_import_opts){.kind = "longbench"},
          "error: ./pred/m-full/qasper.jsonl: every request occurs more than once and not "
          "in the same order again (a second run was appended?); which rows count cannot "
          "be known\n");
}

static void interleaved_ranks(void **state) {
    (void)state;
    put("pred/m-full/qasper.jsonl", "{\"pred\":\"ant\",\"answers\":[\"ant\"],\"length\":1}\n{"
                                    "\"pred\":\"b\",\"answers\":[\"b\"],\"length\":2}\n"
                                    "{\"pred\":\"c\",\"answers\":[\"c\"],\"length\":3}\n{\"pred\":"
                                    "\"d\",\"answers\":[\"d\"],\"length\":4}\n");
    put("pred/m-snap/qasper.jsonl", "{\"pred\":\"ant\",\"answers\":[\"ant\"],\"length\":1}\n{"
                                    "\"pred\":\"x\",\"answers\":[\"c\"],\"length\":3}\n"
                                    "{\"pred\":\"b\",\"answers\":[\"b\"],\"length\":2}\n{\"pred\":"
                                    "\"d\",\"answers\":[\"d\"],\"length\":4}\n");
    gives((kr_import_opts){.kind = "longbench"},
          "note: m-snap/qasper: rows in another order than the full-KV run, joined by "
          "key.\n"
          "policies: snap\n"
          "qasper-00000 1 1\n"
          "qasper-00001 1 1\n"
          "qasper-00002 1 0\n"
          "qasper-00003 1 1\n");
}

static void the_last_line_is_cut(void **state) {
    (void)state;
    put("pred/m-full/qasper.jsonl", "{\"pred\":\"ant\",\"answers\":[\"ant\"],\"length\":1}\n{"
                                    "\"pred\":\"b\",\"answers\":[\"b\"],\"length\":2}\n");
    put("pred/m-snap/qasper.jsonl",
        "{\"pred\":\"ant\",\"answers\":[\"ant\"],\"length\":1}\n{\"pred\":\"b\",\"answ");
    gives((kr_import_opts){.kind = "longbench"},
          "warning: ./pred/m-snap/qasper.jsonl:2: the last line is broken and left out "
          "(byte 13: the string opened here is not closed).\n"
          "warning: m-snap/qasper has 1 rows, the full-KV run 2.\n"
          "warning: m-snap/qasper: 1 of 2 requests have no row in it (counted as "
          "degradation events).\n"
          "policies: snap\n"
          "qasper-00000 1 1\n"
          "qasper-00001 1 -\n");
    put("pred/m-snap/qasper.jsonl",
        "{\"pred\":\"a\",\"answ\n{\"pred\":\"b\",\"answers\":[\"b\"],\"length\":2}\n");
    gives((kr_import_opts){.kind = "longbench"},
          "error: ./pred/m-snap/qasper.jsonl:1: not JSON: byte 13: the string opened here "
          "is not closed\n");
    gives((kr_import_opts){.kind = "longbench", .lenient = true},
          "warning: ./pred/m-snap/qasper.jsonl:1: this line is broken and left out (byte "
          "13: the string opened here is not closed).\n"
          "warning: m-snap/qasper has 1 rows, the full-KV run 2.\n"
          "warning: m-snap/qasper: 1 of 2 requests have no row in it (counted as "
          "degradation events).\n"
          "policies: snap\n"
          "qasper-00000 1 -\n"
          "qasper-00001 1 1\n");
}

static void an_id_twice_with_another_prediction(void **state) {
    (void)state;
    put("m/qasper/FullKV.json", "{\"_id\":\"a\",\"pred\":\"x\",\"answers\":[\"x\"],\"length\":1}\n{"
                                "\"_id\":\"b\",\"pred\":\"x\",\"answers\":[\"x\"],\"length\":1}\n");
    put("m/qasper/SnapKV.json", "{\"_id\":\"a\",\"pred\":\"x\",\"answers\":[\"x\"],\"length\":1}\n{"
                                "\"_id\":\"b\",\"pred\":\"y\",\"answers\":[\"x\"],\"length\":1}\n{"
                                "\"_id\":\"a\",\"pred\":\"x\",\"answers\":[\"x\"],\"length\":1}\n");
    gives((kr_import_opts){.kind = "kvcache-factory"},
          "warning: m/qasper/SnapKV: 1 rows repeat an earlier row and are not counted.\n"
          "policies: snapkv\n"
          "qasper-00000 1 1\n"
          "qasper-00001 1 0\n");
    put("m/qasper/SnapKV.json", "{\"_id\":\"a\",\"pred\":\"x\",\"answers\":[\"x\"],\"length\":1}\n{"
                                "\"_id\":\"b\",\"pred\":\"y\",\"answers\":[\"x\"],\"length\":1}\n{"
                                "\"_id\":\"a\",\"pred\":\"z\",\"answers\":[\"x\"],\"length\":1}\n");
    gives((kr_import_opts){.kind = "kvcache-factory"},
          "warning: m/qasper/SnapKV: 1 rows repeat an earlier row and are not counted.\n"
          "error: ./m/qasper/SnapKV.json:3: the same request as at line 1, with another "
          "prediction; which one counts cannot be known\n");
}

static void a_threshold_in_the_name_alone(void **state) {
    (void)state;
    put_pair();
    put("ruler__4096__acme--Tiny-1B__kvzap_mlp__-4.00/predictions.csv",
        HEAD "vt,1 2,['1' '2'],P,Q1,0.25\nvt,3,['3'],P,Q2,0.75\nqa_1,y,['x'],P,Q3,0.5\n");
    put("ruler__4096__acme--Tiny-1B__kvzap_mlp__-4.00/metrics.json", "{}");
    gives(kvpress, "policies: kvzap_mlp threshold -4 (mean 0.5), snapkv keeps 0.5 (mean 0.5)\n"
                   "vt-00000 1 1 0.5\n"
                   "vt-00001 1 1 0\n"
                   "qa_1-00000 1 0 1\n");
}

static void a_needle_differs_in_length_and_depth_by_design(void **state) {
    (void)state;
    const char *head = "needle,needle_depth,question,predicted_answer,compression_ratio\n";
    char text[512];
    snprintf(text, sizeof text, "%sfeed the heron,50,what?,feed the heron,0.0\n", head);
    put("needle_in_haystack__m__no_press__0.00__max_context1000/predictions.csv", text);
    put("needle_in_haystack__m__no_press__0.00__max_context2000/predictions.csv", text);
    snprintf(text, sizeof text, "%sfeed the heron,50,what?,feed me,0.5\n", head);
    put("needle_in_haystack__m__snapkv__0.50__max_context1000/predictions.csv", text);
    snprintf(text, sizeof text, "%sfeed the heron,50,what?,,0.5\n", head);
    put("needle_in_haystack__m__snapkv__0.50__max_context2000/predictions.csv", text);
    gives(kvpress, "warning: needle_in_haystack__m__no_press__0.00__max_context1000 looks "
                   "unfinished (no score file beside its predictions).\n"
                   "warning: needle_in_haystack__m__no_press__0.00__max_context2000 looks "
                   "unfinished (no score file beside its predictions).\n"
                   "warning: needle_in_haystack__m__snapkv__0.50__max_context1000 looks unfinished "
                   "(no score file beside its predictions).\n"
                   "warning: needle_in_haystack__m__snapkv__0.50__max_context2000 looks unfinished "
                   "(no score file beside its predictions).\n"
                   "warning: needle_in_haystack__m__snapkv__0.50__max_context2000: 1 of 1 rows "
                   "could not be scored (the prediction or the needle is empty).\n"
                   "policies: snapkv keeps 0.5 (mean 0.5)\n"
                   "needle_in_haystack-00000 0.999999995 0.399999995\n"
                   "needle_in_haystack-00001 0.999999995 -\n");
}

static void infinitebench_numbers_are_text_unless_coerced(void **state) {
    (void)state;
    const char *row = "task,predicted_answer,answer,question\ncode_run,it is 12,['12'],q\n";
    put("infinitebench__code_run__m__no_press__0.00/predictions.csv", row);
    put("infinitebench__code_run__m__no_press__0.00/metrics.json", "0.0");
    put("infinitebench__code_run__m__snapkv__0.50/predictions.csv", row);
    put("infinitebench__code_run__m__snapkv__0.50/metrics.json", "1.0");
    gives(kvpress,
          "warning: infinitebench__code_run__m__no_press__0.00: the references of code_run "
          "are text, which kvpress never takes for the right number; "
          "--infinitebench-coerce compares numbers.\n"
          "warning: infinitebench__code_run__m__snapkv__0.50: task code_run has mean "
          "0.0000 here and 1.0000 in the run's own score file.\n"
          "policies: snapkv keeps 0.5\n"
          "code_run-00000 0 0\n");
    gives((kr_import_opts){.kind = "kvpress", .coerce = true},
          "warning: infinitebench__code_run__m__no_press__0.00: task code_run has mean "
          "1.0000 here and 0.0000 in the run's own score file.\n"
          "policies: snapkv keeps 0.5\n"
          "code_run-00000 1 1\n");
}

static void zero_scrolls_cannot_be_scored(void **state) {
    (void)state;
    const char *row = "task,id,pid,input,predicted_answer,answer\nqasper,a,b,\"long\nprompt\",x,\n";
    put("zero_scrolls__m__no_press__0.00/predictions.csv", row);
    put("zero_scrolls__m__no_press__0.00/metrics.json", "{}");
    put("zero_scrolls__m__snapkv__0.50/predictions.csv", row);
    put("zero_scrolls__m__snapkv__0.50/metrics.json", "{}");
    gives(kvpress,
          "warning: zero_scrolls__m__no_press__0.00: 1 of 1 rows could not be scored "
          "(zero_scrolls has no published references).\n"
          "warning: zero_scrolls__m__snapkv__0.50: 1 of 1 rows could not be scored "
          "(zero_scrolls has no published references).\n"
          "warning: task qasper is left out: zero_scrolls has no published references (1 "
          "requests).\n"
          "error: no request is left to import: zero_scrolls has no published references\n");
}

static void a_name_that_says_nothing_and_no_config(void **state) {
    (void)state;
    put_pair();
    put("backup/predictions.csv", HEAD "vt,1,['1'],P,Q1,0.5\n");
    gives(kvpress, "warning: backup is left out: neither config.yaml nor the name tells data set "
                   "and press.\n"
                   "policies: snapkv keeps 0.5 (mean 0.5)\n"
                   "vt-00000 1 0.5\n"
                   "vt-00001 1 0\n"
                   "qa_1-00000 1 1\n");
}

static void a_second_full_run_elsewhere_gives_a_second_utility(void **state) {
    (void)state;
    static const char *const paths[] = {"a"};
    put_pair();
    assert_int_equal(mkdir("a", 0700), 0);
    assert_int_equal(rename(FULL, "a/" FULL), 0);
    assert_int_equal(rename(SNAP, "a/" SNAP), 0);
    put("b/" FULL "/predictions.csv", HEAD "vt,1,['1' '2'],P,Q1,0.0\nvt,3,['3'],P,Q2,0.0\n");
    gives(
        (kr_import_opts){
            .kind = "kvpress", .paths = paths, .n_paths = 1, .second_full = "b/" FULL "/"},
        "warning: ruler__4096__acme--Tiny-1B__no_press__0.00 has 2 rows, the full-KV run "
        "3.\n"
        "warning: ruler__4096__acme--Tiny-1B__no_press__0.00: 1 of 3 requests have no "
        "row in it (no second score).\n"
        "policies: snapkv keeps 0.5 (mean 0.5)\n"
        "vt-00000 1/0.5 0.5\n"
        "vt-00001 1/1 0\n"
        "qa_1-00000 1 1\n");
    gives(
        (kr_import_opts){.kind = "kvpress", .paths = paths, .n_paths = 1, .second_full = "nowhere"},
        "error: nowhere: No such file or directory\n");
}

#define T(name) cmocka_unit_test_setup_teardown(name, case_enter, case_leave)

int main(void) {
    const struct CMUnitTest tests[] = {
        T(a_plain_pair),
        T(reordered_columns_numpy_cells_over_lines_and_quotes),
        T(a_row_is_missing),
        T(rows_in_another_order_are_joined_by_key),
        T(rows_that_cannot_be_told_apart_are_refused_in_another_order),
        T(a_file_cut_inside_a_quoted_field),
        T(a_ragged_record),
        T(a_shortened_list_of_answers),
        T(empty_and_literal_nan_predictions_are_text),
        T(line_ends_and_byte_order_mark_of_windows),
        T(a_stale_ratio_beside_a_threshold),
        T(the_name_rounds_the_ratio_and_config_has_it_whole),
        T(config_and_name_contradict_each_other),
        T(reruns_in_numbered_children),
        T(query_aware_against_plain),
        T(a_run_of_another_model),
        T(no_full_run),
        T(two_runs_of_the_same_policy),
        T(other_answers_mean_another_version_of_the_data),
        T(means_that_disagree_with_the_runs_own),
        T(the_old_layout_holds_predictions_only),
        T(chinese_tasks_and_tasks_without_references_are_left_out_by_name),
        T(thinks_level_is_what_its_rows_report),
        T(a_file_appended_twice),
        T(a_file_appended_in_another_order),
        T(interleaved_ranks),
        T(the_last_line_is_cut),
        T(an_id_twice_with_another_prediction),
        T(a_threshold_in_the_name_alone),
        T(a_needle_differs_in_length_and_depth_by_design),
        T(infinitebench_numbers_are_text_unless_coerced),
        T(zero_scrolls_cannot_be_scored),
        T(a_name_that_says_nothing_and_no_config),
        T(a_second_full_run_elsewhere_gives_a_second_utility),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
