/* Plans over two branches. */
#include "plan/fallback.h"

#include <string.h>

#include "support/torture.h"
#include "table_maker.h"

#define N(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define FIELDS "0 p INT|1 v INT"

/* Partitions 1 and 2 in main, 2 and 3 in branch b. */
static void begin_with(table_maker *tm, const char *fields_of_branch, const char *key_of_branch,
                       const char *options) {
  tn_schema *own;
  const tn_manifest_entry mine[] = {tm_entry_in(tm, 1, "m1", 1), tm_entry_in(tm, 2, "m2", 2)};
  const tn_manifest_entry other[] = {tm_entry_in(tm, 2, "b2", 20), tm_entry_in(tm, 3, "b3", 30)};
  own = tm_schema(tm, 0, FIELDS, "p", "", options);
  tm_commit(tm, 1, mine, N(mine));
  tm->branch_path = "/t/branch/branch-b";
  tm_schema(tm, 0, fields_of_branch, key_of_branch, "", "bucket=-1");
  tm_commit(tm, 1, other, N(other));
  tm->branch_path = "/t";
  tm->schema = own;
}

static void begin(table_maker *tm, const char *fields_of_branch, const char *options) {
  begin_with(tm, fields_of_branch, "p", options);
}

static const char *plan(table_maker *tm, const char *options, const char *where, int64_t limit) {
  tn_table *table = tm_table(tm, options);
  const char *text = tm_plan(tm, table, where, limit);
  tn_table_release(table);
  return text;
}

static void fallback__gives_partitions_that_are_missing(void **state) {
  table_maker tm;
  (void)state;
  tm_begin(&tm, 1);
  begin(&tm, FIELDS, "bucket=-1;scan.fallback-branch=b");
  assert_string_equal(plan(&tm, "", NULL, -1), "p=1/0[m1]raw(1) p=2/0[m2]raw(2) !p=3/0[b3]raw(30)");
  assert_string_equal(plan(&tm, "", "p = 3", -1), "!p=3/0[b3]raw(30)");
  assert_string_equal(plan(&tm, "", "p = 2", -1), "p=2/0[m2]raw(2)");
  tm_end(&tm);
}

static void primary__comes_before_this_table(void **state) {
  table_maker tm;
  (void)state;
  tm_begin(&tm, 1);
  begin(&tm, FIELDS, "bucket=-1;scan.primary-branch=b");
  assert_string_equal(plan(&tm, "", NULL, -1),
                      "p=2/0[b2]raw(20) p=3/0[b3]raw(30) !p=1/0[m1]raw(1)");
  tm_end(&tm);
}

/* That no file of a partition may match does not make the partition a missing one. */
static void fallback__partitions_count_whole(void **state) {
  table_maker tm;
  (void)state;
  tm_begin(&tm, 1);
  {
    tn_manifest_entry e = tm_entry_in(&tm, 2, "none", 1);
    tn_schema *own = tm_schema(&tm, 0, FIELDS, "p", "", "bucket=-1;scan.fallback-branch=b");
    e.file.value_stats_cols = tm_texts(&tm, "v");
    e.file.value_stats.min_values = tm_row(&tm, "INT", "1");
    e.file.value_stats.max_values = tm_row(&tm, "INT", "5");
    e.file.value_stats.null_counts = tm_longs(&tm, "0");
    tm_commit(&tm, 1, &e, 1);
    tm.branch_path = "/t/branch/branch-b";
    tm_schema(&tm, 0, FIELDS, "p", "", "bucket=-1");
    e = tm_entry_in(&tm, 2, "other", 1);
    tm_commit(&tm, 1, &e, 1);
    tm.branch_path = "/t";
    tm.schema = own;
  }
  assert_string_equal(plan(&tm, "", "v = 9", -1), "");
  assert_string_equal(plan(&tm, "", "v = 3", -1), "p=2/0[none]raw(1)");
  tm_end(&tm);
}

static void fallback__does_without_a_branch_that_is_not_there(void **state) {
  static const char *const OPTIONS[] = {"scan.fallback-branch=c", "scan.fallback-branch=",
                                        "scan.fallback-branch= ", "scan.primary-branch=c",
                                        "scan.fallback-branch=main"};
  table_maker tm;
  (void)state;
  tm_begin(&tm, 1);
  begin(&tm, FIELDS, "bucket=-1");
  for (int i = 0; i < N(OPTIONS); i++) {
    assert_string_equal(plan(&tm, OPTIONS[i], NULL, -1), "p=1/0[m1]raw(1) p=2/0[m2]raw(2)");
  }
  tm_end(&tm);
}

/* Columns go together by place; names and ids may differ. */
static void fallback__translates_predicates(void **state) {
  table_maker tm;
  (void)state;
  tm_begin(&tm, 1);
  begin_with(&tm, "5 q INT|6 w INT", "q", "bucket=-1;scan.fallback-branch=b");
  assert_string_equal(plan(&tm, "", "p = 3 AND v > 0", -1), "!p=3/0[b3]raw(30)");
  tm_end(&tm);
}

static void fallback__refuses_other_columns(void **state) {
  static const char *const FIELDS_OF_BRANCH[] = {"0 p INT", "0 p INT|1 v BIGINT"};
  (void)state;
  for (int i = 0; i < N(FIELDS_OF_BRANCH); i++) {
    table_maker tm;
    tn_table *table;
    tarn_error error = {0};
    tm_begin(&tm, 1);
    begin(&tm, FIELDS_OF_BRANCH[i], "bucket=-1;scan.fallback-branch=b");
    table = tm_table(&tm, "");
    assert_int_equal(tm_plan_status(&tm, table, &error), TARN_E_INVALID);
    assert_non_null(strstr(error.message, "Branch main and b does not have the same row type"));
    tn_table_release(table);
    tm_end(&tm);
  }
}

/* An id of this table becomes that of the snapshot of its time in the other branch. */
static void fallback__translates_snapshot_ids(void **state) {
  table_maker tm;
  (void)state;
  tm_begin(&tm, 1);
  begin(&tm, FIELDS, "bucket=-1;scan.fallback-branch=b");
  {
    const tn_manifest_entry late = tm_entry_in(&tm, 4, "b4", 40);
    tn_schema *own = tm.schema;
    tm_commit(&tm, 2, NULL, 0); /* of time 200, empty: its base is not carried on */
    tm.branch_path = "/t/branch/branch-b";
    for (int64_t id = 2; id <= 3; id++) {
      const tn_manifest_file m = tm_manifest(&tm, &late, 1);
      tm_snapshot_parts p = {.id = id, .time_ms = 50 + id * 50, .delta = tm_list(&tm, &m, 1)};
      tm_snapshot(&tm, &p);
    }
    tm.branch_path = "/t";
    tm.schema = own;
  }
  /* times: main 1: 100, 2: 200; b 1: 100, 2: 150, 3: 200 */
  assert_string_equal(plan(&tm, "scan.snapshot-id=1", NULL, -1),
                      "p=1/0[m1]raw(1) p=2/0[m2]raw(2) !p=3/0[b3]raw(30)");
  assert_string_equal(plan(&tm, "scan.snapshot-id=2", NULL, -1), "!p=4/0[b4]raw(40)");
  tm_end(&tm);
}

/* A tag is each branch's own; one that only the first branch has reads that branch alone. */
static void fallback__goes_without_a_branch_that_lacks_the_tag(void **state) {
  static const char *const ALONE[] = {"scan.tag-name=here", "scan.version=here"};
  static const char *const BOTH[] = {"scan.tag-name=x", "scan.version=x"};
  static const char *const NEITHER[] = {"scan.tag-name=there", "scan.version=there"};
  table_maker tm;
  (void)state;
  tm_begin(&tm, 1);
  begin(&tm, FIELDS, "bucket=-1;scan.fallback-branch=b");
  {
    const tn_manifest_entry mine = tm_entry_in(&tm, 1, "m1", 1);
    const tn_manifest_entry other = tm_entry_in(&tm, 4, "b4", 40);
    const tn_manifest_file a = tm_manifest(&tm, &mine, 1), b = tm_manifest(&tm, &other, 1);
    tm_snapshot_parts p = {.id = 1, .delta = tm_list(&tm, &a, 1)};
    tn_schema *own = tm.schema;
    tm_tag(&tm, "here", &p);
    tm_tag(&tm, "x", &p);
    tm.branch_path = "/t/branch/branch-b";
    p.delta = tm_list(&tm, &b, 1);
    tm_tag(&tm, "there", &p);
    tm_tag(&tm, "x", &p);
    tm.branch_path = "/t";
    tm.schema = own;
  }
  for (int i = 0; i < 2; i++) {
    tn_table *table = tm_table(&tm, NEITHER[i]);
    tarn_error error = {0};
    assert_string_equal(plan(&tm, ALONE[i], NULL, -1), "p=1/0[m1]raw(1)");
    assert_string_equal(plan(&tm, BOTH[i], NULL, -1), "p=1/0[m1]raw(1) !p=4/0[b4]raw(40)");
    assert_int_equal(tm_plan_status(&tm, table, &error), TARN_E_NOT_FOUND);
    tn_table_release(table);
  }
  tm_end(&tm);
}

static void fallback__splits_keep_their_branch_as_bytes(void **state) {
  table_maker tm;
  tn_table *table;
  tn_plan *out;
  tn_scan scan = {.limit = -1};
  (void)state;
  tm_begin(&tm, 1);
  begin(&tm, FIELDS, "bucket=-1;scan.fallback-branch=b");
  scan.table = table = tm_table(&tm, "");
  OK(tn_plan_create(&scan, &out, err));
  assert_int_equal(out->n_splits, 3);
  for (int32_t i = 0; i < out->n_splits; i++) {
    tn_plan *again;
    tn_buf bytes;
    const tn_split *s = &out->splits[i];
    assert_true(s->has_branch);
    assert_true(s->is_fallback == (i == 2));
    if (i == 2) {
      assert_string_equal(s->table->branch, "b");
    } else {
      assert_null(s->table);
    }
    tn_buf_init(&bytes, &tm.env->mem, 1 << 20);
    OK(tn_split_encode(s, &bytes, err));
    OK(tn_split_decode(tm.env, table, tn_buf_slice(&bytes), &again, err));
    assert_true(again->splits->has_branch);
    assert_true(again->splits->is_fallback == s->is_fallback);
    assert_int_equal(again->splits->n_files, 1);
    if (i == 2) {
      assert_string_equal(again->splits->table->branch, "b");
    } else {
      assert_null(again->splits->table);
    }
    tn_plan_release(again);
    {
      tn_table *alone = tm_table(&tm, "scan.fallback-branch=c");
      tarn_error error = {0};
      assert_int_equal(tn_split_decode(tm.env, alone, tn_buf_slice(&bytes), &again, &error),
                       TARN_E_INVALID);
      assert_null(again);
      tn_table_release(alone);
    }
    tn_buf_reset(&bytes);
  }
  tn_plan_release(out);
  tn_table_release(table);
  tm_end(&tm);
}

/* What is planned over and over: a diff of two snapshots, in both branches. */
static tarn_status plan_once(void *ctx, tarn_env *env, tarn_error *err) {
  static const tn_option OPTIONS[] = {{"incremental-between", "1,2"},
                                      {"incremental-between-scan-mode", "diff"}};
  table_maker *tm = ctx;
  tn_schema *schema = NULL;
  tn_table *table = NULL;
  tn_plan *out = NULL, *again = NULL;
  tn_scan scan = {.limit = -1};
  tn_buf bytes;
  tarn_status st = tn_schema_load(env, tm->storage, "/t", 0, &schema, err);
  tn_buf_init(&bytes, &env->mem, 1 << 20);
  if (st == TARN_OK) {
    st = tn_table_create(env, tm->storage, "db.t", "/t", "main", "/t", schema, OPTIONS, N(OPTIONS),
                         &table, err);
  }
  if (st == TARN_OK) {
    scan.table = table;
    st = tn_plan_create(&scan, &out, err);
  }
  if (st == TARN_OK) {
    assert_int_equal(out->n_splits, 2);
    st = tn_split_encode(&out->splits[1], &bytes, err);
  }
  if (st == TARN_OK) {
    st = tn_split_decode(env, table, tn_buf_slice(&bytes), &again, err);
  }
  tn_buf_reset(&bytes);
  tn_plan_release(again);
  tn_plan_release(out);
  tn_table_release(table);
  tn_schema_release(schema);
  return st;
}

static void fallback__survives_failing_allocations(void **state) {
  table_maker tm;
  (void)state;
  tm_begin(&tm, 1);
  for (int b = 0; b < 2; b++) {
    tm.branch_path = b == 0 ? "/t" : "/t/branch/branch-b";
    tm_schema(&tm, 0, "0 p INT NOT NULL|1 k INT NOT NULL|2 v INT", "p", "p,k",
              "bucket=1;scan.fallback-branch=b;merge-engine=aggregation");
    for (int64_t id = 1; id <= 2; id++) {
      tn_manifest_entry e[] = {tm_entry_keyed(&tm, "x", 0, 1, 3),
                               tm_entry_keyed(&tm, "y", 0, 2, 5)};
      e[0].partition = e[1].partition = tm_row(&tm, "INT", b == 0 ? "1" : "2");
      e[0].total_buckets = e[1].total_buckets = 1;
      tm_commit(&tm, id, e, (int)id);
    }
  }
  assert_true(tn_torture(plan_once, &tm, TARN_OK) > 50);
  tm_end(&tm);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fallback__gives_partitions_that_are_missing),
      cmocka_unit_test(primary__comes_before_this_table),
      cmocka_unit_test(fallback__partitions_count_whole),
      cmocka_unit_test(fallback__does_without_a_branch_that_is_not_there),
      cmocka_unit_test(fallback__translates_predicates),
      cmocka_unit_test(fallback__refuses_other_columns),
      cmocka_unit_test(fallback__translates_snapshot_ids),
      cmocka_unit_test(fallback__goes_without_a_branch_that_lacks_the_tag),
      cmocka_unit_test(fallback__splits_keep_their_branch_as_bytes),
      cmocka_unit_test(fallback__survives_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
