/* Plans of changes between snapshots, of what differs between two, and of other scan modes. */
#include <stdio.h>
#include <string.h>

#include "plan/travel.h"
#include "table_maker.h"

#define N(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define KEYED "0 k INT NOT NULL|1 v INT"

/* A snapshot of time id * 100 that adds and takes back entries; the lists before it as its base. */
typedef struct step {
  int64_t id;
  tn_commit_kind kind;
  const tn_manifest_entry *entries;
  int n;
  const tn_manifest_entry *changelog;
  int n_changelog;
} step;

static tn_manifest_file history[16];

static void commit(table_maker *tm, step s) {
  tm_snapshot_parts p = {.id = s.id,
                         .schema_id = tm->schema->id,
                         .time_ms = s.id * 100,
                         .kind = s.kind,
                         .identifier = s.id};
  p.base = tm_list(tm, history, (int)s.id - 1);
  history[s.id - 1] = tm_manifest(tm, s.entries, s.n);
  p.delta = tm_list(tm, &history[s.id - 1], 1);
  if (s.changelog != NULL) {
    tn_manifest_file m = tm_manifest(tm, s.changelog, s.n_changelog);
    p.changelog = tm_list(tm, &m, 1);
  }
  tm_snapshot(tm, &p);
}

static tn_manifest_entry keyed(table_maker *tm, const char *name, int32_t level, int32_t min,
                               int32_t max) {
  tn_manifest_entry e = tm_entry_keyed(tm, name, level, min, max);
  e.total_buckets = 1;
  return e;
}

/* 1 a(0) | 2 b(0) | 3 compacts a, b to c(5) | 4 d(0) | 5 overwrites with e | 6 f(0).
 * Changelog: 1 ca, 3 cc, 4 cd, 5 ce (of an overwrite: not told). */
static void begin(table_maker *tm, const char *options) {
  tm_begin(tm, 1);
  tm_schema(tm, 0, KEYED, "", "k", options);
  {
    const tn_manifest_entry a = keyed(tm, "a", 0, 1, 5), b = keyed(tm, "b", 0, 4, 9);
    const tn_manifest_entry c = keyed(tm, "c", 5, 1, 9), d = keyed(tm, "d", 0, 2, 3);
    const tn_manifest_entry e = keyed(tm, "e", 5, 1, 2), f = keyed(tm, "f", 0, 7, 8);
    const tn_manifest_entry ca = keyed(tm, "ca", 0, 1, 5), cc = keyed(tm, "cc", 0, 4, 9);
    const tn_manifest_entry cd = keyed(tm, "cd", 0, 2, 3), ce = keyed(tm, "ce", 0, 1, 2);
    const tn_manifest_entry compaction[] = {tm_deleted(a), tm_deleted(b), c};
    const tn_manifest_entry overwrite[] = {tm_deleted(c), tm_deleted(d), e};
    commit(tm, (step){1, TN_COMMIT_APPEND, &a, 1, &ca, 1});
    commit(tm, (step){2, TN_COMMIT_APPEND, &b, 1, NULL, 0});
    commit(tm, (step){3, TN_COMMIT_COMPACT, compaction, 3, &cc, 1});
    commit(tm, (step){4, TN_COMMIT_APPEND, &d, 1, &cd, 1});
    commit(tm, (step){5, TN_COMMIT_OVERWRITE, overwrite, 3, &ce, 1});
    commit(tm, (step){6, TN_COMMIT_APPEND, &f, 1, NULL, 0});
  }
}

static const char *plan(table_maker *tm, const char *options, const char *where) {
  tn_table *table = tm_table(tm, options);
  const char *text = tm_plan(tm, table, where, -1);
  tn_table_release(table);
  return text;
}

typedef struct plan_case {
  const char *options, *expected;
} plan_case;

static void run(table_maker *tm, const plan_case *cases, int n) {
  for (int i = 0; i < n; i++) {
    const char *text = plan(tm, cases[i].options, NULL);
    if (strcmp(text, cases[i].expected) != 0) {
      fail_msg("%s: \"%s\", expected \"%s\"", cases[i].options, text, cases[i].expected);
    }
  }
}

/* ------------------------------------------------------------------ ranges */

static void incremental__delta_reads_what_appends_added(void **state) {
  static const plan_case CASES[] = {
      {"incremental-between=0,6", "0[a]~raw(5) 0[b]~raw(6)"},
      {"incremental-between=1,4", "0[d b]~(?)"},
      {"incremental-between=2,3", ""}, /* a compaction adds no rows */
      {"incremental-between=4,5", ""}, /* nor does an overwrite tell any */
      {"incremental-between=4,6", "0[f]~raw(2)"},
      {"incremental-between=6,6", ""},
      {"incremental-between=9,9", ""},
      {"incremental-between=1,2;incremental-between-scan-mode=delta", "0[b]~raw(6)"},
      {"incremental-between=1,2,", "0[b]~raw(6)"}, /* String.split drops what is empty at the end */
  };
  table_maker tm;
  (void)state;
  begin(&tm, "bucket=1");
  assert_string_equal(plan(&tm, "incremental-between=0,6", NULL),
                      plan(&tm, "scan.mode=incremental;incremental-between=0,6", NULL));
  run(&tm, CASES + 1, N(CASES) - 1);
  tm_end(&tm);
}

static void incremental__changelog_reads_changelog_files(void **state) {
  static const plan_case CASES[] = {
      {"incremental-between=0,1", "0[ca]~raw(5)"},
      {"incremental-between=1,3", "0[cc]~raw(6)"},
      {"incremental-between=3,6", "0[cd]~raw(2)"}, /* not ce */
      {"incremental-between=1,2", ""},
      {"incremental-between=0,1;incremental-between-scan-mode=delta", "0[a]~raw(5)"},
      {"incremental-between=0,1;incremental-between-scan-mode=CHANGELOG", "0[ca]~raw(5)"},
  };
  table_maker tm;
  (void)state;
  begin(&tm, "bucket=1;changelog-producer=input");
  run(&tm, CASES, N(CASES));
  tm_end(&tm);
}

static void incremental__splits_are_of_the_last_snapshot_and_stream(void **state) {
  table_maker tm;
  tn_table *table;
  tn_plan *out;
  tn_scan scan = {.limit = -1};
  (void)state;
  begin(&tm, "bucket=1");
  scan.table = table = tm_table(&tm, "incremental-between=0,4");
  OK(tn_plan_create(&scan, &out, err));
  assert_int_equal(out->kind, TN_PLAN_DELTA);
  assert_int_equal(out->after_id, 0);
  assert_int_equal(out->snapshot.id, 4);
  assert_true(out->n_splits > 0);
  for (int32_t i = 0; i < out->n_splits; i++) {
    assert_int_equal(out->splits[i].snapshot_id, 4);
    assert_true(out->splits[i].is_streaming);
    assert_null(out->splits[i].deletions);
  }
  tn_plan_release(out);
  tn_table_release(table);
  tm_end(&tm);
}

/* Statistics may drop a file only where all versions of its rows are in it. */
static void incremental__values_do_not_prune_deltas(void **state) {
  table_maker tm;
  (void)state;
  begin(&tm, "bucket=1");
  assert_string_equal(plan(&tm, "incremental-between=0,2", "v = 77"), "0[a b]~(?)");
  assert_string_equal(plan(&tm, "incremental-between=0,2", "k = 9"), "0[b]~raw(6)");
  tm_end(&tm);
}

static void incremental__by_time(void **state) {
  static const plan_case CASES[] = {
      {"incremental-between-timestamp=100,250", "0[b]~raw(6)"},
      {"incremental-between-timestamp=50,199", "0[a]~raw(5)"}, /* from before the first one */
      {"incremental-between-timestamp=100,100", ""},
      {"incremental-between-timestamp=601,999", ""},
      {"incremental-between-timestamp=10,99", ""},
      {"incremental-between-timestamp=500,99999", "0[f]~raw(2)"},
      {"incremental-between-timestamp=1970-01-01 00:00:00.1,1970-01-01 00:00:00.2", "0[b]~raw(6)"},
      {"incremental-between-timestamp=100,200;incremental-between-scan-mode=diff", "0[ -> b](?)"},
      {"incremental-between-timestamp=1,200;incremental-between-scan-mode=diff", "0[a b](?)"},
  };
  table_maker tm;
  (void)state;
  begin(&tm, "bucket=1");
  run(&tm, CASES, N(CASES));
  tm_end(&tm);
}

static void incremental__an_empty_table(void **state) {
  static const plan_case CASES[] = {
      {"incremental-between=1,2", ""},
      {"incremental-between=1,2;incremental-between-scan-mode=diff", ""},
      {"incremental-between-timestamp=1,2", ""},
      {"incremental-to-auto-tag=2024-01-01", ""},
  };
  table_maker tm;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, KEYED, "", "k", "bucket=1");
  run(&tm, CASES, N(CASES));
  tm_end(&tm);
}

static void incremental__deletions_in_changes_are_corrupt(void **state) {
  table_maker tm;
  tn_table *table;
  tarn_error error = {0};
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, KEYED, "", "k", "bucket=1");
  {
    const tn_manifest_entry a = keyed(&tm, "a", 0, 1, 5), gone = tm_deleted(a);
    commit(&tm, (step){1, TN_COMMIT_APPEND, &a, 1, NULL, 0});
    commit(&tm, (step){2, TN_COMMIT_APPEND, &gone, 1, NULL, 0});
  }
  table = tm_table(&tm, "incremental-between=1,2");
  assert_int_equal(tm_plan_status(&tm, table, &error), TARN_E_CORRUPT);
  assert_non_null(strstr(error.message, "Delta or changelog should only have ADD files"));
  tn_table_release(table);
  tm_end(&tm);
}

/* ------------------------------------------------------------------ errors */

static void incremental__rejects_with_javas_words(void **state) {
  static const struct {
    const char *options;
    tarn_status status;
    const char *message;
  } CASES[] = {
      {"incremental-between=5", TARN_E_INVALID,
       "The incremental-between must specific start(exclusive) and end snapshot, for example, "
       "'incremental-between'='5,10' means changes between snapshot 5 and snapshot 10. But is: 5"},
      {"incremental-between=1,2,3", TARN_E_INVALID, "But is: 1,2,3"},
      {"incremental-between=x,2", TARN_E_INVALID,
       "Didn't find two tags for start 'x' and end '2', and they are not two snapshot Ids. Please "
       "set two tags or two snapshot Ids."},
      {"incremental-between=1, 2", TARN_E_INVALID, "end ' 2'"}, /* nothing is trimmed */
      {"incremental-between=early,2", TARN_E_INVALID, "Didn't find two tags"},
      {"incremental-between=4,2", TARN_E_INVALID,
       "Ending snapshotId 2 should >= starting snapshotId 4."},
      {"incremental-between=0,9", TARN_E_NOT_FOUND,
       "the specified scan snapshotId range [0, 9] is out of available snapshotId range [1, 6]"},
      {"incremental-between=-1,2", TARN_E_NOT_FOUND, "[-1, 2]"},
      {"incremental-between=0,2;incremental-between-scan-mode=diff", TARN_E_EXPIRED, "0"},
      {"incremental-between=2,9;incremental-between-scan-mode=diff", TARN_E_NOT_FOUND, "9"},
      {"incremental-between-timestamp=7", TARN_E_INVALID,
       "The incremental-between-timestamp must specific start(exclusive) and end timestamp. But "
       "is: 7"},
      {"incremental-between-timestamp=7,spring", TARN_E_INVALID, "But is: 7,spring"},
      {"incremental-between-timestamp=300,200", TARN_E_INVALID,
       "Ending timestamp 200 should be >= starting timestamp 300."},
      {"incremental-to-auto-tag=spring", TARN_E_INVALID,
       "Specified tag 'spring' is not an auto-created tag."},
      {"incremental-between=late,early", TARN_E_INVALID,
       "Tag end early with snapshot id 1 should be >= tag start late with snapshot id 4"},
      {"incremental-between=early,late;incremental-between-tag-to-snapshot=true;"
       "incremental-between-scan-mode=diff",
       TARN_E_INVALID, "Unsupported incremental scan mode DIFF"},
      {"scan.mode=incremental", TARN_E_INVALID,
       "must set only one key in [incremental-between,incremental-between-timestamp,"
       "incremental-to-auto-tag] when you use incremental for scan.mode"},
      {"incremental-between=1,2;incremental-between-timestamp=1,2", TARN_E_INVALID,
       "must set only one key in"},
      {"scan.mode=incremental;incremental-between=1,2;scan.snapshot-id=1", TARN_E_INVALID,
       "[scan.snapshot-id] must be null when you set [incremental-between,"
       "incremental-between-timestamp,incremental-to-auto-tag]"},
      {"scan.mode=latest-full;incremental-between=1,2", TARN_E_INVALID,
       "incremental-between must be null when you use latest-full for scan.mode"},
      {"scan.mode=from-file-creation-time", TARN_E_INVALID,
       "scan.file-creation-time-millis can not be null when you use from-file-creation-time"},
      {"scan.mode=from-creation-timestamp", TARN_E_INVALID,
       "scan.creation-time-millis can not be null when you use from-creation-timestamp"},
      {"scan.mode=latest-delta;incremental-between=1,2", TARN_E_INVALID,
       "incremental-between must be null when you use latest-delta for scan.mode"},
  };
  table_maker tm;
  (void)state;
  begin(&tm, "bucket=1");
  tm_tag(&tm, "early", &(tm_snapshot_parts){.id = 1, .time_ms = 100});
  tm_tag(&tm, "late", &(tm_snapshot_parts){.id = 4, .time_ms = 400});
  for (int i = 0; i < N(CASES); i++) {
    tn_table *table = tm_table(&tm, CASES[i].options);
    tarn_error error = {0};
    tarn_status st = tm_plan_status(&tm, table, &error);
    if (st != CASES[i].status || strstr(error.message, CASES[i].message) == NULL) {
      fail_msg("%s: %d \"%s\", expected %d \"%s\"", CASES[i].options, (int)st, error.message,
               (int)CASES[i].status, CASES[i].message);
    }
    tn_table_release(table);
  }
  tm_end(&tm);
}

static void incremental__tells_what_has_expired(void **state) {
  table_maker tm;
  tn_table *table;
  tarn_error error = {0};
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, KEYED, "", "k", "bucket=1");
  for (int64_t id = 4; id <= 6; id++) {
    const tn_manifest_entry e = keyed(&tm, "x", 0, 1, 2);
    tm_commit(&tm, id, &e, 1);
  }
  table = tm_table(&tm, "incremental-between=2,5");
  assert_int_equal(tm_plan_status(&tm, table, &error), TARN_E_EXPIRED);
  assert_non_null(strstr(error.message, "[2, 5] is out of available snapshotId range [4, 6]"));
  tn_table_release(table);
  table = tm_table(&tm, "incremental-between=3,4"); /* one below the earliest is enough */
  OK(tm_plan_status(&tm, table, err));
  tn_table_release(table);
  table = tm_table(&tm, "incremental-between=3,5;incremental-between-scan-mode=diff");
  assert_int_equal(tm_plan_status(&tm, table, &error), TARN_E_EXPIRED);
  tn_table_release(table);
  tm_end(&tm);
}

/* ------------------------------------------------------------------ tags */

static void tag(table_maker *tm, const char *name, int64_t id) {
  tm_snapshot_parts p = {.id = id, .time_ms = id * 100, .base = tm_list(tm, history, (int)id)};
  tm_tag(tm, name, &p);
}

static void incremental__between_tags(void **state) {
  static const plan_case CASES[] = {
      {"incremental-between=early,late", "0[a -> c d](?)"},
      {"incremental-between=early,late;incremental-between-scan-mode=delta", "0[a -> c d](?)"},
      {"incremental-between=early,early", ""},
      {"incremental-between=early,late;incremental-between-tag-to-snapshot=true", "0[d b]~(?)"},
      {"incremental-between=3,6", "0[f a -> c d](?)"}, /* tags of that name come first */
  };
  table_maker tm;
  (void)state;
  begin(&tm, "bucket=1");
  tag(&tm, "early", 1);
  tag(&tm, "late", 4);
  run(&tm, CASES, 4);
  tag(&tm, "3", 1);
  tag(&tm, "6", 4);
  assert_string_equal(plan(&tm, "incremental-between=3,6", NULL), "0[a -> c d](?)");
  tm_end(&tm);
}

static void incremental__to_auto_tag(void **state) {
  static const struct {
    const char *period, *names[3], *expected;
  } CASES[] = {
      /* the last but one before it, by the time in the name */
      {"", {"2024-02-29", "2024-03-01", "2024-03-02"}, "0[b a -> c d](?)"},
      {"tag.period-formatter=without_dashes",
       {"20240229", "20240301", "20240302"},
       "0[b a -> c d](?)"},
      {"tag.creation-period=hourly",
       {"2024-03-01 22", "2024-03-01 23", "2024-03-02 00"},
       "0[b a -> c d](?)"},
      {"tag.creation-period=hourly;tag.period-formatter=without_dashes_and_spaces",
       {"2024030122", "2024030123", "2024030200"},
       "0[b a -> c d](?)"},
      {"tag.creation-period=two-hours;tag.period-formatter=without_dashes",
       {"2024-03-01 20", "2024-03-01 22", "2024-03-02 00"},
       "0[b a -> c d](?)"},
      {"tag.creation-period-duration=5 min",
       {"202403012350", "202403012355", "202403020000"},
       "0[b a -> c d](?)"},
  };
  (void)state;
  for (int i = 0; i < N(CASES); i++) {
    table_maker tm;
    char options[200];
    begin(&tm, "bucket=1");
    tag(&tm, CASES[i].names[0], 1);
    tag(&tm, CASES[i].names[1], 2);
    tag(&tm, CASES[i].names[2], 4);
    tag(&tm, "9999", 1);
    snprintf(options, sizeof(options), "incremental-to-auto-tag=%s;%s", CASES[i].names[2],
             CASES[i].period);
    {
      const char *text = plan(&tm, options, NULL);
      if (strcmp(text, "0[a b -> c d](?)") != 0 && strcmp(text, CASES[i].expected) != 0) {
        fail_msg("%s: %s", options, text);
      }
    }
    snprintf(options, sizeof(options), "incremental-to-auto-tag=%s;%s", CASES[i].names[0],
             CASES[i].period);
    assert_string_equal(plan(&tm, options, NULL), ""); /* none is earlier */
    tm_end(&tm);
  }
}

static void incremental__names_that_are_no_auto_tags(void **state) {
  static const char *const OPTIONS[] = {
      "incremental-to-auto-tag=2024-02-30",
      "incremental-to-auto-tag=2024-13-01",
      "incremental-to-auto-tag=24-01-01",
      "incremental-to-auto-tag=2024-01-011",
      "incremental-to-auto-tag=2024-01-01 24;tag.creation-period=hourly",
      "incremental-to-auto-tag=20240101;tag.creation-period-duration=1 h",
  };
  table_maker tm;
  (void)state;
  begin(&tm, "bucket=1");
  for (int i = 0; i < N(OPTIONS); i++) {
    tn_table *table = tm_table(&tm, OPTIONS[i]);
    tarn_error error = {0};
    assert_int_equal(tm_plan_status(&tm, table, &error), TARN_E_INVALID);
    assert_non_null(strstr(error.message, "is not an auto-created tag"));
    tn_table_release(table);
  }
  assert_string_equal(plan(&tm, "incremental-to-auto-tag=2024-01-01", NULL), ""); /* not there */
  assert_string_equal(plan(&tm, "incremental-to-auto-tag=2024-01-01 x", NULL), "");
  tm_end(&tm);
}

/* ------------------------------------------------------------------ diffs */

static void diff__leaves_out_what_both_states_have(void **state) {
  static const plan_case CASES[] = {
      {"incremental-between=1,2", "0[ -> b](?)"},
      {"incremental-between=2,3", "0[a b -> c](?)"},
      {"incremental-between=3,4", "0[ -> d](?)"},
      {"incremental-between=4,6", "0[c d -> e f](?)"},
      {"incremental-between=3,3", ""},
  };
  table_maker tm;
  (void)state;
  begin(&tm, "bucket=1;incremental-between-scan-mode=diff");
  run(&tm, CASES, N(CASES));
  tm_end(&tm);
}

/* Where versions are combined, files that overlap others stay on both sides. */
static void diff__keeps_common_files_that_are_needed(void **state) {
  static const char *const ENGINES[] = {"merge-engine=partial-update", "merge-engine=aggregation",
                                        "merge-engine=first-row", "sequence.field=v"};
  (void)state;
  for (int i = 0; i < N(ENGINES); i++) {
    table_maker tm;
    char options[128];
    snprintf(options, sizeof(options), "bucket=1;incremental-between-scan-mode=diff;%s",
             ENGINES[i]);
    begin(&tm, options);
    assert_string_equal(plan(&tm, "incremental-between=1,2", NULL), "0[a -> a b](?)");
    assert_string_equal(plan(&tm, "incremental-between=3,4", NULL), "0[c -> c d](?)");
    assert_string_equal(plan(&tm, "incremental-between=5,6", NULL), "0[ -> f](?)"); /* apart */
    tm_end(&tm);
  }
}

static void diff__sees_changed_deletion_vectors(void **state) {
  table_maker tm;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, KEYED, "", "k",
            "bucket=1;deletion-vectors.enabled=true;incremental-between-scan-mode=diff");
  {
    const tn_manifest_entry files[] = {keyed(&tm, "a", 5, 1, 5), keyed(&tm, "b", 5, 6, 9)};
    const tn_dv_range range = {tm_text("a"), 1, 20, 3, true};
    const tn_index_entry dv = {.version = 1,
                               .kind = TN_FILE_ADD,
                               .partition = files[0].partition,
                               .index_type = tm_text("DELETION_VECTORS"),
                               .file_name = tm_text("index-1"),
                               .file_size = 40,
                               .row_count = 1,
                               .dv_ranges = {(void *)&range, 1},
                               .has_dv_ranges = true};
    const tn_manifest_file m = tm_manifest(&tm, files, 2);
    tm_snapshot_parts p = {.id = 1, .delta = tm_list(&tm, &m, 1)};
    tm_snapshot(&tm, &p);
    p.id = 2;
    p.index = tm_index(&tm, &dv, 1);
    tm_snapshot(&tm, &p);
    p.id = 3;
    tm_snapshot(&tm, &p);
  }
  assert_string_equal(plan(&tm, "incremental-between=1,2", NULL), "0[a -> a-3](?)");
  assert_string_equal(plan(&tm, "incremental-between=2,3", NULL), "");
  tm_end(&tm);
}

static void diff__of_append_tables_is_new_files(void **state) {
  table_maker tm;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 p INT|1 v INT", "p", "", "bucket=-1;incremental-between-scan-mode=diff");
  {
    const tn_manifest_entry a = tm_entry_in(&tm, 1, "a", 1), b = tm_entry_in(&tm, 2, "b", 2);
    commit(&tm, (step){1, TN_COMMIT_APPEND, &a, 1, NULL, 0});
    commit(&tm, (step){2, TN_COMMIT_APPEND, &b, 1, NULL, 0});
  }
  assert_string_equal(plan(&tm, "incremental-between=1,2", NULL), "p=2/0[ -> b](?)");
  assert_string_equal(plan(&tm, "incremental-between=1,2", "p = 1"), "");
  tm_end(&tm);
}

static void diff__refuses_another_number_of_buckets(void **state) {
  table_maker tm;
  tn_table *table;
  tarn_error error = {0};
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, KEYED, "", "k", "bucket=2;incremental-between-scan-mode=diff");
  {
    tn_manifest_entry a = keyed(&tm, "a", 0, 1, 5), b = keyed(&tm, "b", 0, 1, 5);
    const tn_manifest_entry rescale[] = {tm_deleted(a), b};
    tn_manifest_entry *second = (tn_manifest_entry *)&rescale[1];
    second->total_buckets = 2;
    commit(&tm, (step){1, TN_COMMIT_APPEND, &a, 1, NULL, 0});
    commit(&tm, (step){2, TN_COMMIT_OVERWRITE, rescale, 2, NULL, 0});
  }
  table = tm_table(&tm, "incremental-between=1,2");
  assert_int_equal(tm_plan_status(&tm, table, &error), TARN_E_INVALID);
  assert_non_null(strstr(error.message,
                         "The bucket number of two snapshots are different (1, 2), which is not "
                         "supported in incremental diff query."));
  tn_table_release(table);
  tm_end(&tm);
}

/* A row may begin or cease to match: values prune no file of a diff, keys do. */
static void diff__values_do_not_prune(void **state) {
  table_maker tm;
  (void)state;
  begin(&tm, "bucket=1;incremental-between-scan-mode=diff");
  assert_string_equal(plan(&tm, "incremental-between=2,4", "v = 77"), "0[a b -> c d](?)");
  assert_string_equal(plan(&tm, "incremental-between=2,4", "k = 9"), "0[b -> c](?)");
  tm_end(&tm);
}

/* ------------------------------------------------------------------ other modes */

/* Level 0 of such tables waits for a compaction, but changes are told at once. */
static void incremental__sees_level_0(void **state) {
  table_maker tm;
  (void)state;
  begin(&tm, "bucket=1;deletion-vectors.enabled=true");
  assert_string_equal(plan(&tm, "scan.snapshot-id=2", NULL), "");
  assert_string_equal(plan(&tm, "incremental-between=0,2", NULL), "0[a b]~(?)");
  assert_string_equal(plan(&tm, "scan.snapshot-id=2;deletion-vectors.merge-on-read=true", NULL),
                      "0[a b](?)");
  assert_string_equal(plan(&tm, "scan.snapshot-id=2;batch-scan-mode=compact", NULL), "0[a b](?)");
  tm_end(&tm);
}

static void modes__compacted_full(void **state) {
  static const plan_case CASES[] = {
      {"scan.mode=compacted-full", "0[c]raw(9)"},
      {"scan.mode=compacted-full;full-compaction.delta-commits=3", "0[c]raw(9)"},
      {"scan.mode=compacted-full;full-compaction.delta-commits=2", "0[e]raw(2) 0[f]raw(2)"},
  };
  table_maker tm;
  (void)state;
  begin(&tm, "bucket=1;source.split.target-size=1 b;source.split.open-file-cost=1 b");
  run(&tm, CASES, N(CASES));
  tm_end(&tm);
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, KEYED, "", "k", "bucket=1");
  assert_string_equal(plan(&tm, "scan.mode=compacted-full", NULL), "");
  tm_end(&tm);
}

static void modes__latest_delta(void **state) {
  table_maker tm;
  (void)state;
  begin(&tm, "bucket=1");
  assert_string_equal(plan(&tm, "scan.mode=latest-delta", NULL), "0[f]~raw(2)");
  tm_end(&tm);
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, KEYED, "", "k", "bucket=1");
  assert_string_equal(plan(&tm, "scan.mode=latest-delta", NULL), "");
  tm_end(&tm);
}

static void modes__by_creation_times(void **state) {
  static const plan_case CASES[] = {
      {"scan.file-creation-time-millis=0", "0[a b]raw(3)"},
      {"scan.file-creation-time-millis=150", "0[b]raw(2)"},
      {"scan.file-creation-time-millis=200", "0[b]raw(2)"},
      {"scan.file-creation-time-millis=201", ""},
      /* the first snapshot that is not earlier */
      {"scan.creation-time-millis=101", "0[a b]raw(3)"},
      {"scan.creation-time-millis=200", "0[a b]raw(3)"},
      /* none is earlier, or all are: by the files */
      {"scan.creation-time-millis=100", "0[a b]raw(3)"},
      {"scan.creation-time-millis=150;scan.bucket=0", "0[a b]raw(3)"},
      {"scan.creation-time-millis=201", ""},
      {"scan.bucket=1", ""},
  };
  table_maker tm;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 v INT", "", "", "bucket=-1");
  {
    tn_manifest_entry a = tm_entry("a", 1), b = tm_entry("b", 2);
    a.file.has_creation_time = b.file.has_creation_time = true;
    a.file.creation_time_ms = 100;
    b.file.creation_time_ms = 200;
    commit(&tm, (step){1, TN_COMMIT_APPEND, &a, 1, NULL, 0});
    commit(&tm, (step){2, TN_COMMIT_APPEND, &b, 1, NULL, 0});
  }
  run(&tm, CASES, N(CASES));
  tm_end(&tm);
}

/* The changelog of an expired snapshot still tells its time. */
static void modes__creation_time_after_expiry(void **state) {
  table_maker tm;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 v INT", "", "", "bucket=-1");
  for (int i = 0; i < 2; i++) {
    tn_manifest_entry e = tm_entry(i == 0 ? "a" : "b", 3 + i);
    tm_snapshot_parts p = {.id = 3 + i, .time_ms = (3 + i) * 100};
    e.file.has_creation_time = true;
    e.file.creation_time_ms = p.time_ms;
    history[i] = tm_manifest(&tm, &e, 1);
    p.base = tm_list(&tm, history, i);
    p.delta = tm_list(&tm, &history[i], 1);
    tm_snapshot(&tm, &p);
  }
  assert_string_equal(plan(&tm, "scan.creation-time-millis=250", NULL), "0[a b]raw(7)");
  assert_string_equal(plan(&tm, "scan.creation-time-millis=299", NULL), "0[a b]raw(7)");
  tm_put(&tm, "changelog/changelog-2",
         "{\"version\":3,\"id\":2,\"schemaId\":0,\"baseManifestList\":\"x\",\"deltaManifestList\":"
         "\"x\",\"changelogManifestList\":null,\"commitUser\":\"u\",\"commitIdentifier\":1,"
         "\"commitKind\":\"APPEND\",\"timeMillis\":200,\"totalRecordCount\":1,"
         "\"deltaRecordCount\":1}");
  assert_string_equal(plan(&tm, "scan.creation-time-millis=250", NULL), "0[a]raw(3)");
  tm_end(&tm);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(incremental__delta_reads_what_appends_added),
      cmocka_unit_test(incremental__changelog_reads_changelog_files),
      cmocka_unit_test(incremental__splits_are_of_the_last_snapshot_and_stream),
      cmocka_unit_test(incremental__values_do_not_prune_deltas),
      cmocka_unit_test(incremental__by_time),
      cmocka_unit_test(incremental__an_empty_table),
      cmocka_unit_test(incremental__deletions_in_changes_are_corrupt),
      cmocka_unit_test(incremental__rejects_with_javas_words),
      cmocka_unit_test(incremental__tells_what_has_expired),
      cmocka_unit_test(incremental__between_tags),
      cmocka_unit_test(incremental__to_auto_tag),
      cmocka_unit_test(incremental__names_that_are_no_auto_tags),
      cmocka_unit_test(incremental__sees_level_0),
      cmocka_unit_test(diff__leaves_out_what_both_states_have),
      cmocka_unit_test(diff__keeps_common_files_that_are_needed),
      cmocka_unit_test(diff__sees_changed_deletion_vectors),
      cmocka_unit_test(diff__of_append_tables_is_new_files),
      cmocka_unit_test(diff__refuses_another_number_of_buckets),
      cmocka_unit_test(diff__values_do_not_prune),
      cmocka_unit_test(modes__compacted_full),
      cmocka_unit_test(modes__latest_delta),
      cmocka_unit_test(modes__by_creation_times),
      cmocka_unit_test(modes__creation_time_after_expiry),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
