/* test_overwrite.c - overwrites: whole tables, partitions by filter, those that get files. */
#include "commit_maker.h"
#include "support/test.h"

static tn_table *partitioned(table_maker *tm, const char *options) {
  tm_begin(tm, 1);
  tm_schema(tm, 0, "0 p INT|1 v STRING", "p", "", options);
  return tm_table(tm, "");
}

static void end(table_maker *tm, tn_table *table) {
  tn_table_release(table);
  tm_end(tm);
}

/* Partitions 1: a b, 2: c, 3: d. */
static void fill(table_maker *tm, tn_table *table) {
  tn_committable c = cm_begin(1);
  cm_file(tm, &c, CM_NEW, tm_entry_in(tm, 1, "a", 1));
  cm_file(tm, &c, CM_NEW, tm_entry_in(tm, 1, "b", 2));
  cm_file(tm, &c, CM_NEW, tm_entry_in(tm, 2, "c", 3));
  cm_file(tm, &c, CM_NEW, tm_entry_in(tm, 3, "d", 4));
  (void)cm_append(table, "u", &c);
}

static tarn_status overwrite(table_maker *tm, tn_table *table, const tn_committable *c,
                             const char *where, bool is_dynamic, tn_commit_result *result,
                             tarn_error *err) {
  tn_commit_options options = cm_user("o");
  const tn_pred *filter = where != NULL ? tm_where(tm, table, where) : NULL;
  return tn_commit_overwrite(table, &options, c, filter, is_dynamic, result, err);
}

typedef struct overwrite_case {
  const char *where;
  bool is_dynamic;
  int32_t partitions[2]; /* of new files n0, n1; 0: none */
  const char *wanted;    /* the snapshot, or NULL: there is none */
  const char *plan;
} overwrite_case;

static void overwrite__replaces_what_its_filter_leaves(void **state) {
  static const overwrite_case cases[] = {
      {NULL, false, {1, 2}, "OVERWRITE o:2 rows=2(-8)", "p=1/0[n0]raw(1) p=2/0[n1]raw(1)"},
      {NULL, false, {0}, "OVERWRITE o:2 rows=0(-10)", ""},
      {"p = 1",
       false,
       {1},
       "OVERWRITE o:2 rows=8(-2)",
       "p=2/0[c]raw(3) p=3/0[d]raw(4) p=1/0[n0]raw(1)"},
      {"p = 1", false, {0}, "OVERWRITE o:2 rows=7(-3)", "p=2/0[c]raw(3) p=3/0[d]raw(4)"},
      {"p = 9",
       false,
       {0},
       "OVERWRITE o:2 rows=10(+0)",
       "p=1/0[a b]raw(3) p=2/0[c]raw(3) p=3/0[d]raw(4)"},
      {"p = 1 OR p = 3", false, {0}, "OVERWRITE o:2 rows=3(-7)", "p=2/0[c]raw(3)"},
      {NULL,
       true,
       {3, 4},
       "OVERWRITE o:2 rows=8(-2)",
       "p=1/0[a b]raw(3) p=2/0[c]raw(3) p=3/0[n0]raw(1) p=4/0[n1]raw(1)"},
      {NULL, true, {0}, NULL, "p=1/0[a b]raw(3) p=2/0[c]raw(3) p=3/0[d]raw(4)"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
    table_maker tm;
    tn_table *table = partitioned(&tm, "bucket=-1");
    tn_committable c = cm_begin(2);
    tn_commit_result result;
    fill(&tm, table);
    for (int k = 0; k < 2 && cases[i].partitions[k] != 0; k++) {
      cm_file(&tm, &c, CM_NEW, tm_entry_in(&tm, cases[i].partitions[k], k == 0 ? "n0" : "n1", 1));
    }
    OK(overwrite(&tm, table, &c, cases[i].where, cases[i].is_dynamic, &result, err));
    assert_int_equal(result.last_id, cases[i].wanted != NULL ? 2 : 0);
    if (cases[i].wanted != NULL) {
      assert_string_equal(cm_snapshot_text(&tm, 2), cases[i].wanted);
    }
    assert_string_equal(tm_plan(&tm, table, NULL, -1), cases[i].plan);
    end(&tm, table);
  }
}

static void overwrite__of_the_first_snapshot_adds_files(void **state) {
  table_maker tm;
  tn_table *table = partitioned(&tm, "bucket=-1");
  tn_committable c = cm_begin(2);
  tn_commit_result result;
  (void)state;
  cm_file(&tm, &c, CM_NEW, tm_entry_in(&tm, 1, "a", 1));
  OK(overwrite(&tm, table, &c, NULL, false, &result, err));
  assert_string_equal(cm_snapshot_text(&tm, 1), "OVERWRITE o:2 rows=1(+1)");
  end(&tm, table);
}

static void overwrite__refuses_files_outside_of_its_filter(void **state) {
  table_maker tm;
  tn_table *table = partitioned(&tm, "bucket=-1");
  tn_committable c = cm_begin(2);
  tn_commit_result result;
  tarn_error why;
  (void)state;
  fill(&tm, table);
  cm_file(&tm, &c, CM_NEW, tm_entry_in(&tm, 2, "n", 1));
  for (int is_dynamic = 0; is_dynamic < 2; is_dynamic++) {
    assert_int_equal(overwrite(&tm, table, &c, "p = 1", is_dynamic, &result, &why), TARN_E_INVALID);
    assert_contains(why.message,
                    "Trying to overwrite partition {p = 1}, but the changes in {p=2} "
                    "does not belong to this partition");
  }
  assert_int_equal(cm_count(&tm, "snapshot"), 2);
  end(&tm, table);
}

static void overwrite__refuses_a_filter_of_other_columns(void **state) {
  table_maker tm;
  tn_table *table = partitioned(&tm, "bucket=-1");
  tn_committable c = cm_begin(2);
  tn_commit_result result;
  tarn_error why;
  (void)state;
  fill(&tm, table);
  assert_int_equal(overwrite(&tm, table, &c, "p = 1 AND v = 'x'", false, &result, &why),
                   TARN_E_INVALID);
  assert_contains(why.message, "whole partitions are overwritten");
  end(&tm, table);
}

static void overwrite__ignores_changelog_files(void **state) {
  table_maker tm;
  tn_table *table = partitioned(&tm, "bucket=-1");
  tn_committable c = cm_begin(2);
  tn_commit_result result;
  (void)state;
  cm_file(&tm, &c, CM_NEW, tm_entry_in(&tm, 1, "a", 1));
  cm_file(&tm, &c, CM_CHANGELOG, tm_entry_in(&tm, 1, "log", 1));
  OK(overwrite(&tm, table, &c, NULL, false, &result, err));
  assert_string_equal(cm_entries(&tm, 1, 'c'), "(none)");
  end(&tm, table);
}

static void overwrite__with_a_compaction_is_two_snapshots(void **state) {
  table_maker tm;
  tn_table *table = partitioned(&tm, "bucket=-1");
  tn_committable c = cm_begin(2);
  tn_commit_result result;
  (void)state;
  fill(&tm, table);
  cm_file(&tm, &c, CM_NEW, tm_entry_in(&tm, 1, "n", 1));
  cm_file(&tm, &c, CM_BEFORE, tm_entry_in(&tm, 1, "n", 1));
  cm_file(&tm, &c, CM_AFTER, tm_entry_in(&tm, 1, "m", 1));
  OK(overwrite(&tm, table, &c, NULL, false, &result, err));
  assert_int_equal(result.first_id, 2);
  assert_int_equal(result.last_id, 3);
  assert_string_equal(cm_snapshot_text(&tm, 3), "COMPACT o:2 rows=1(+0)");
  assert_string_equal(tm_plan(&tm, table, NULL, -1), "p=1/0[m]raw(1)");
  end(&tm, table);
}

/* Files that wait in bucket-postpone are not touched, unless the table is all like that. */
static void overwrite__leaves_postponed_files_alone(void **state) {
  static const char *const options[] = {"bucket=1", "bucket=-2"};
  (void)state;
  for (int i = 0; i < 2; i++) {
    table_maker tm;
    tn_committable first = cm_begin(1), none = cm_begin(2);
    tn_manifest_entry e;
    tn_commit_result result;
    tn_table *table;
    tm_begin(&tm, 1);
    tm_schema(&tm, 0, "0 k INT NOT NULL", "", "k", options[i]);
    table = tm_table(&tm, "");
    e = tm_entry_keyed(&tm, "a", 0, 1, 2);
    e.bucket = -2;
    e.total_buckets = -2;
    cm_file(&tm, &first, CM_NEW, e);
    cm_file(&tm, &first, CM_NEW, tm_entry_keyed(&tm, "b", 0, 1, 2));
    (void)cm_append(table, "u", &first);
    OK(overwrite(&tm, table, &none, NULL, false, &result, err));
    assert_string_equal(cm_entries(&tm, 2, 'd'), i == 0 ? "-b" : "-a -b");
    end(&tm, table);
  }
}

static void overwrite__takes_indexes_of_its_partitions_away(void **state) {
  table_maker tm;
  tn_table *table;
  tn_committable first = cm_begin(1), second = cm_begin(2);
  tn_index_entry one, two;
  tn_commit_result result;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 p INT NOT NULL|1 k INT NOT NULL", "p", "p,k", "bucket=-1");
  table = tm_table(&tm, "");
  one = cm_index_entry(&tm, "HASH", "h1", NULL);
  one.partition = tm_row(&tm, "INT", "1");
  two = cm_index_entry(&tm, "HASH", "h2", NULL);
  two.partition = tm_row(&tm, "INT", "2");
  cm_index(&tm, &first, CM_NEW, one);
  cm_index(&tm, &first, CM_NEW, two);
  (void)cm_append(table, "u", &first);
  assert_string_equal(cm_indexes(&tm, 1), "h1 h2");
  one.file_name = tn_slice_text("h3");
  cm_index(&tm, &second, CM_NEW, one);
  OK(overwrite(&tm, table, &second, "p = 1", false, &result, err));
  assert_string_equal(cm_indexes(&tm, 2), "h3 h2");
  end(&tm, table);
}

/* ------------------------------------------------------------------ upgrade */

typedef struct upgrade_case {
  const char *options;
  int32_t ranges[3][2];
  int32_t level; /* that the files get */
} upgrade_case;

static int32_t level_of(tn_table *table) {
  tn_scan scan = {.table = table, .limit = -1};
  tn_plan *plan = NULL;
  int32_t level;
  OK(tn_plan_create(&scan, &plan, err));
  level = plan->splits[0].files[0].level;
  tn_plan_release(plan);
  return level;
}

static void overwrite__moves_files_that_do_not_overlap_to_the_last_level(void **state) {
  static const upgrade_case cases[] = {
      {"bucket=1", {{20, 30}, {1, 9}, {10, 19}}, 5},
      {"bucket=1;num-levels=3", {{1, 9}, {10, 19}}, 2},
      {"bucket=1;num-sorted-run.compaction-trigger=2", {{1, 9}}, 2},
      {"bucket=1", {{1, 10}, {10, 19}}, 0},
      {"bucket=1;overwrite-upgrade=false", {{1, 9}, {10, 19}}, 0},
      {"bucket=1;num-levels=1", {{1, 9}}, 0},
  };
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
    static const char *const names[] = {"a", "b", "c"};
    table_maker tm;
    tn_committable c = cm_begin(1);
    tn_commit_result result;
    tn_table *table;
    tm_begin(&tm, 1);
    tm_schema(&tm, 0, "0 k INT NOT NULL", "", "k", cases[i].options);
    table = tm_table(&tm, "");
    for (int k = 0; k < 3 && cases[i].ranges[k][1] != 0; k++) {
      cm_file(&tm, &c, CM_NEW,
              tm_entry_keyed(&tm, names[k], 0, cases[i].ranges[k][0], cases[i].ranges[k][1]));
    }
    OK(overwrite(&tm, table, &c, NULL, false, &result, err));
    assert_int_equal(level_of(table), cases[i].level);
    end(&tm, table);
  }
}

/* ------------------------------------------------------------------ statistics of deletions */

static void overwrite__drops_statistics_of_deletions_if_asked(void **state) {
  static const char *const options[] = {"bucket=-1",
                                        "bucket=-1;manifest.delete-file-drop-stats=true"};
  int64_t sizes[2];
  (void)state;
  for (int i = 0; i < 2; i++) {
    table_maker tm;
    tn_table *table = partitioned(&tm, options[i]);
    tn_committable first = cm_begin(1), none = cm_begin(2);
    tn_manifest_entry e = tm_entry_in(&tm, 1, "a", 1);
    tn_commit_result result;
    e.file.value_stats.min_values = tm_row(&tm, "INT|STRING", "1|a");
    e.file.value_stats.max_values = tm_row(&tm, "INT|STRING", "1|b");
    e.file.value_stats.null_counts = tm_longs(&tm, "0,0");
    e.file.value_stats.has_null_counts = true;
    e.file.has_value_stats_cols = false;
    cm_file(&tm, &first, CM_NEW, e);
    (void)cm_append(table, "u", &first);
    OK(overwrite(&tm, table, &none, NULL, false, &result, err));
    {
      tn_snapshot s = cm_snapshot(&tm, 2);
      tn_file_info info;
      char path[200];
      assert_string_equal(cm_entries(&tm, 2, 'd'), "-a");
      snprintf(path, sizeof(path), "/t/manifest/manifest-%.36s-0",
               s.delta_manifest_list + strlen("manifest-list-"));
      OK(tn_storage_info(tm.storage, path, &info, err));
      sizes[i] = info.size_bytes;
    }
    end(&tm, table);
  }
  assert_true(sizes[1] < sizes[0]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(overwrite__replaces_what_its_filter_leaves),
      cmocka_unit_test(overwrite__of_the_first_snapshot_adds_files),
      cmocka_unit_test(overwrite__refuses_files_outside_of_its_filter),
      cmocka_unit_test(overwrite__refuses_a_filter_of_other_columns),
      cmocka_unit_test(overwrite__ignores_changelog_files),
      cmocka_unit_test(overwrite__with_a_compaction_is_two_snapshots),
      cmocka_unit_test(overwrite__leaves_postponed_files_alone),
      cmocka_unit_test(overwrite__takes_indexes_of_its_partitions_away),
      cmocka_unit_test(overwrite__moves_files_that_do_not_overlap_to_the_last_level),
      cmocka_unit_test(overwrite__drops_statistics_of_deletions_if_asked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
