/* Whole plans of small tables. */
#include "plan/plan.h"

#include <stdio.h>
#include <string.h>

#include "plan/plan_internal.h"
#include "support/torture.h"
#include "table_maker.h"

#define N(list) ((int)(sizeof(list) / sizeof((list)[0])))
#define KEYED "0 k INT NOT NULL|1 v INT"

static void begin(table_maker *tm, const char *fields, const char *partition_keys,
                  const char *primary_keys, const char *options) {
  tm_begin(tm, 1);
  tm_schema(tm, 0, fields, partition_keys, primary_keys, options);
}

/* The plan of a fresh table handle. */
static const char *plan(table_maker *tm, const char *options, const char *where, int64_t limit) {
  tn_table *table = tm_table(tm, options);
  const char *text = tm_plan(tm, table, where, limit);
  tn_table_release(table);
  return text;
}

/* Bounds of the INT column v of a (k, v) table. */
static tn_manifest_entry with_v(table_maker *tm, tn_manifest_entry e, const char *min,
                                const char *max) {
  e.file.value_stats_cols = tm_texts(tm, "v");
  e.file.value_stats.min_values = tm_row(tm, "INT", min);
  e.file.value_stats.max_values = tm_row(tm, "INT", max);
  e.file.value_stats.null_counts = tm_longs(tm, "0");
  return e;
}

/* ------------------------------------------------------------------ lists, manifests */

static void plan__an_empty_table_has_no_splits(void **state) {
  table_maker tm;
  tn_table *table;
  tn_scan scan = {.limit = -1};
  tn_plan *out;
  (void)state;
  begin(&tm, KEYED, "", "", "bucket=-1");
  table = scan.table = tm_table(&tm, "");
  OK(tn_plan_create(&scan, &out, err));
  assert_false(out->has_snapshot);
  assert_int_equal(out->n_splits, 0);
  assert_int_equal(out->stats.files_total, 0);
  tn_plan_release(out);
  tn_table_release(table);
  tm_end(&tm);
}

static void plan__base_then_delta_in_order(void **state) {
  table_maker tm;
  (void)state;
  begin(&tm, "0 p INT|1 v INT", "p", "", "bucket=-1");
  {
    const tn_manifest_entry first[] = {tm_entry_in(&tm, 2, "a", 1), tm_entry_in(&tm, 1, "b", 2)};
    const tn_manifest_entry second[] = {tm_entry_in(&tm, 1, "c", 3), tm_entry_in(&tm, 3, "d", 4)};
    const tn_manifest_entry third[] = {tm_entry_in(&tm, 2, "e", 5)};
    const tn_manifest_file base[] = {tm_manifest(&tm, first, 2), tm_manifest(&tm, second, 2)};
    const tn_manifest_file delta[] = {tm_manifest(&tm, third, 1)};
    tm_snapshot_parts p = {.id = 1, .base = tm_list(&tm, base, 2), .delta = tm_list(&tm, delta, 1)};
    tm_snapshot(&tm, &p);
  }
  assert_string_equal(plan(&tm, "", NULL, -1), "p=2/0[a e]raw(6) p=1/0[b c]raw(5) p=3/0[d]raw(4)");
  assert_string_equal(plan(&tm, "scan.plan-sort-partition=true", NULL, -1),
                      "p=1/0[b c]raw(5) p=2/0[a e]raw(6) p=3/0[d]raw(4)");
  assert_string_equal(plan(&tm, "", "p IN (1, 3)", -1), "p=1/0[b c]raw(5) p=3/0[d]raw(4)");
  assert_string_equal(plan(&tm, "", "p = 9", -1), "");
  tm_end(&tm);
}

/* The lists of old releases lack the ranges, their manifests the last fields. */
static void plan__reads_lists_of_old_releases(void **state) {
  table_maker tm;
  (void)state;
  begin(&tm, "0 p INT|1 v INT", "p", "", "bucket=-1");
  tm.is_old = true;
  {
    const tn_manifest_entry e[] = {tm_entry_in(&tm, 1, "a", 1), tm_entry_in(&tm, 2, "b", 2)};
    tm_commit(&tm, 1, e, N(e));
  }
  assert_string_equal(plan(&tm, "", "p > 1", -1), "p=2/0[b]raw(2)");
  tm_end(&tm);
}

static void plan__deletes_take_back_adds(void **state) {
  table_maker tm;
  (void)state;
  begin(&tm, KEYED, "", "k", "bucket=1");
  {
    tn_manifest_entry low = tm_entry_keyed(&tm, "up", 0, 1, 5), high = low;
    tn_manifest_entry with_index = tm_entry_keyed(&tm, "x", 5, 10, 20), without = with_index;
    high.file.level = 5;  // moved up without being rewritten: same name, another level
    with_index.file.extra_files = tm_texts(&tm, "x.index");
    const tn_manifest_entry adds[] = {low, with_index, tm_entry_keyed(&tm, "y", 5, 30, 40)};
    const tn_manifest_entry changes[] = {tm_deleted(low), high, tm_deleted(without),
                                         tm_deleted(tm_entry_keyed(&tm, "y", 5, 30, 40))};
    const tn_manifest_file base[] = {tm_manifest(&tm, adds, N(adds))};
    const tn_manifest_file delta[] = {tm_manifest(&tm, changes, N(changes))};
    tm_snapshot_parts p = {.id = 1, .base = tm_list(&tm, base, 1), .delta = tm_list(&tm, delta, 1)};
    tm_snapshot(&tm, &p);
  }
  // x stays: the DELETE lacks its extra file and so has another identity.
  assert_string_equal(plan(&tm, "", NULL, -1), "0[x up]raw(16)");
  tm_end(&tm);
}

static void plan__the_same_with_many_threads(void **state) {
  table_maker one, four;
  const char *expected;
  (void)state;
  tm_begin(&one, 1);
  tm_begin(&four, 4);
  for (int pass = 0; pass < 2; pass++) {
    table_maker *tm = pass == 0 ? &one : &four;
    tn_manifest_file list[40];
    tm_schema(tm, 0, "0 p INT|1 v INT", "p", "", "bucket=-1");
    for (int m = 0; m < 40; m++) {
      tn_manifest_entry e[20];
      for (int i = 0; i < 20; i++) {
        char name[32];
        snprintf(name, sizeof(name), "f-%d-%d", m, i);
        e[i] = tm_entry_in(tm, (m * 7 + i * 3) % 11, tn_arena_strdup(&tm->arena, name), i + 1);
        if (m % 5 == 4 && i % 4 == 0) {
          snprintf(name, sizeof(name), "f-%d-%d", m - 1, i);
          e[i] =
              tm_entry_in(tm, ((m - 1) * 7 + i * 3) % 11, tn_arena_strdup(&tm->arena, name), i + 1);
          e[i] = tm_deleted(e[i]);
        }
      }
      list[m] = tm_manifest(tm, e, 20);
    }
    tm_snapshot_parts p = {.id = 1, .delta = tm_list(tm, list, 40)};
    tm_snapshot(tm, &p);
  }
  expected = plan(&one, "", NULL, -1);
  assert_true(strlen(expected) > 1000);
  for (int i = 0; i < 20; i++) {
    assert_string_equal(plan(&four, "", NULL, -1), expected);
    assert_string_equal(plan(&four, "scan.manifest.parallelism=2", NULL, -1), expected);
  }
  assert_string_equal(plan(&four, "", NULL, 100), plan(&one, "", NULL, 100));
  tm_end(&one);
  tm_end(&four);
}

static void plan__says_when_a_manifest_is_gone(void **state) {
  table_maker tm;
  tn_table *table;
  tarn_error error = {0};
  (void)state;
  begin(&tm, KEYED, "", "", "bucket=-1");
  {
    const tn_manifest_entry e[] = {tm_entry("a", 1)};
    tn_manifest_file m = tm_manifest(&tm, e, 1);
    m.file_name = tn_slice_text("manifest-gone");
    tm_snapshot_parts p = {.id = 4, .delta = tm_list(&tm, &m, 1)};
    tm_snapshot(&tm, &p);
  }
  table = tm_table(&tm, "");
  assert_int_equal(tm_plan_status(&tm, table, &error), TARN_E_NOT_FOUND);
  assert_non_null(strstr(error.message, "snapshot 4"));
  assert_non_null(strstr(error.message, "may have been expired"));
  assert_non_null(strstr(error.message, "manifest-gone"));
  tn_table_release(table);
  tm_end(&tm);
}

static void plan__skips_manifests(void **state) {
  table_maker tm;
  tn_table *table;
  tn_scan scan = {.limit = -1};
  tn_plan *out;
  (void)state;
  begin(&tm, "0 p INT|1 v INT", "p", "", "bucket=-1");
  {
    const tn_manifest_entry one[] = {tm_entry_in(&tm, 1, "a", 1), tm_entry_in(&tm, 2, "b", 1)};
    const tn_manifest_entry two[] = {tm_entry_in(&tm, 5, "c", 1)};
    tn_manifest_file list[] = {tm_manifest(&tm, one, 2), tm_manifest(&tm, two, 1),
                               tm_manifest(&tm, NULL, 0)};
    list[0].partition_stats.min_values = tm_row(&tm, "INT", "1");
    list[0].partition_stats.max_values = tm_row(&tm, "INT", "2");
    list[0].partition_stats.null_counts = tm_longs(&tm, "0");
    list[0].file_name = tn_slice_text("never-read");
    tm_snapshot_parts p = {.id = 1, .delta = tm_list(&tm, list, 3)};
    tm_snapshot(&tm, &p);
  }
  table = scan.table = tm_table(&tm, "");
  scan.predicate = tm_where(&tm, table, "p > 2");
  OK(tn_plan_create(&scan, &out, err));
  assert_string_equal(tm_plan_text(&tm, out), "p=5/0[c]raw(1)");
  assert_int_equal(out->stats.manifests_total, 3);
  assert_int_equal(out->stats.manifests_read, 1);
  assert_int_equal(out->stats.files_total, 3);
  assert_int_equal(out->stats.files_pruned, 2);
  tn_plan_release(out);
  tn_table_release(table);
  tm_end(&tm);
}

/* ------------------------------------------------------------------ primary keys */

/* A file whose values cannot match may still hide an older version. */
static void prune__keeps_all_files_of_an_overlapping_bucket(void **state) {
  table_maker tm;
  (void)state;
  begin(&tm, KEYED, "", "k", "bucket=1");
  {
    const tn_manifest_entry e[] = {with_v(&tm, tm_entry_keyed(&tm, "old", 0, 1, 9), "1", "1"),
                                   with_v(&tm, tm_entry_keyed(&tm, "new", 0, 1, 9), "2", "2")};
    tm_commit(&tm, 1, e, N(e));
  }
  assert_string_equal(plan(&tm, "", "v = 1", -1), "0[new old](?)");
  assert_string_equal(plan(&tm, "", "v = 3", -1), "");
  assert_string_equal(plan(&tm, "", "k = 3 AND v = 1", -1), "0[new old](?)");
  assert_string_equal(plan(&tm, "", "k = 30", -1), "");
  tm_end(&tm);
}

/* Values put together from several versions are in no single file. */
static void prune__keeps_everything_of_combining_engines(void **state) {
  table_maker tm;
  (void)state;
  begin(&tm, KEYED, "", "k", "bucket=1");
  {
    const tn_manifest_entry e[] = {with_v(&tm, tm_entry_keyed(&tm, "old", 0, 1, 9), "1", "1"),
                                   with_v(&tm, tm_entry_keyed(&tm, "new", 0, 1, 9), "2", "2")};
    tm_commit(&tm, 1, e, N(e));
  }
  {
    tn_table *table = tm_table(&tm, "");
    table->facts.merge_engine = TN_ENGINE_AGGREGATION;
    assert_string_equal(tm_plan(&tm, table, "v = 3", -1), "0[new old](?)");
    table->facts.merge_engine = TN_ENGINE_PARTIAL_UPDATE;
    assert_string_equal(tm_plan(&tm, table, "v = 3", -1), "0[new old](?)");
    assert_string_equal(tm_plan(&tm, table, "k = 30", -1), "");
    tn_table_release(table);
  }
  tm_end(&tm);
}

static void prune__single_files_where_none_overlap(void **state) {
  table_maker tm;
  (void)state;
  begin(&tm, KEYED, "", "k", "bucket=1");
  {
    const tn_manifest_entry e[] = {with_v(&tm, tm_entry_keyed(&tm, "a", 5, 1, 9), "1", "1"),
                                   with_v(&tm, tm_entry_keyed(&tm, "b", 5, 10, 19), "2", "2")};
    tm_commit(&tm, 1, e, N(e));
  }
  assert_string_equal(plan(&tm, "", "v = 1", -1), "0[a]raw(9)");
  assert_string_equal(plan(&tm, "", NULL, -1), "0[a b]raw(19)");
  tm_end(&tm);
}

/* First-row: level 0 waits for its compaction; above it files prune one by one. */
static void plan__hides_level_0_of_first_row(void **state) {
  table_maker tm;
  tn_table *table;
  tn_scan scan = {.limit = -1, .keeps_stats = true};
  tn_plan *out;
  (void)state;
  begin(&tm, KEYED, "", "k", "bucket=1;merge-engine=first-row");
  {
    const tn_manifest_entry top[] = {with_v(&tm, tm_entry_keyed(&tm, "top", 5, 1, 9), "10", "10")};
    const tn_manifest_entry level_0[] = {
        with_v(&tm, tm_entry_keyed(&tm, "new", 0, 1, 9), "99", "99"),
        with_v(&tm, tm_entry_keyed(&tm, "newer", 0, 1, 3), "99", "99")};
    const tn_manifest_entry gone[] = {tm_deleted(level_0[1])};
    const tn_manifest_file base[] = {tm_manifest(&tm, top, 1), tm_manifest(&tm, level_0, 2)};
    const tn_manifest_file delta[] = {tm_manifest(&tm, gone, 1)};
    tm_snapshot_parts p = {.id = 1, .base = tm_list(&tm, base, 2), .delta = tm_list(&tm, delta, 1)};
    tm_snapshot(&tm, &p);
  }
  assert_string_equal(plan(&tm, "", NULL, -1), "0[top]raw(9)");
  assert_string_equal(plan(&tm, "", "v = 99", -1), "");
  assert_string_equal(plan(&tm, "", "v = 10", -1), "0[top]raw(9)");
  table = scan.table = tm_table(&tm, "");
  OK(tn_plan_create(&scan, &out, err));
  assert_int_equal(out->stats.files_hidden_level_0, 1);
  assert_int_equal(out->stats.rows_hidden_level_0, 9);
  assert_int_equal(out->stats.files_total, 2);
  assert_int_equal(out->stats.files_pruned, 0);
  tn_plan_release(out);
  tn_table_release(table);
  tm_end(&tm);
}

/* Metadata counts what batch reads do not see yet. */
static void partitions__count_level_0(void **state) {
  table_maker tm;
  tn_table *table;
  tn_partition_info *infos;
  int32_t n;
  (void)state;
  begin(&tm, "0 p INT NOT NULL|1 k INT NOT NULL", "p", "p,k",
        "bucket=1;deletion-vectors.enabled=true");
  {
    tn_manifest_entry a = tm_entry_keyed(&tm, "a", 0, 1, 3), b = tm_entry_keyed(&tm, "b", 5, 1, 4);
    tn_manifest_entry c = tm_entry_keyed(&tm, "c", 5, 1, 5);
    a.partition = tm_row(&tm, "INT", "7");
    b.partition = c.partition = tm_row(&tm, "INT", "6");
    b.file.creation_time_ms = 5000;
    tn_manifest_entry d = c;
    d.file.file_name = tn_slice_text("d");
    const tn_manifest_entry e[] = {a, b, c, d, tm_deleted(d)};
    tm_commit(&tm, 1, e, N(e));
  }
  assert_string_equal(plan(&tm, "", NULL, -1), "p=6/0[b c]raw(9)");
  table = tm_table(&tm, "");
  OK(tn_plan_partitions(table, &tm.arena, &infos, &n, err));
  assert_int_equal(n, 2);
  assert_true(tn_slice_equal(infos[0].partition, tm_row(&tm, "INT", "7")));
  assert_int_equal(infos[0].row_count, 3);
  assert_int_equal(infos[0].file_count, 1);
  assert_int_equal(infos[1].row_count, 9);
  assert_int_equal(infos[1].file_size, 2000);
  assert_int_equal(infos[1].last_creation_ms, 5000);
  assert_int_equal(infos[1].total_buckets, 1);
  tn_table_release(table);
  tm_end(&tm);
}

static void partitions__an_unpartitioned_table_has_one(void **state) {
  table_maker tm;
  tn_table *table;
  tn_partition_info *infos;
  int32_t n;
  (void)state;
  begin(&tm, KEYED, "", "", "bucket=-1");
  table = tm_table(&tm, "");
  OK(tn_plan_partitions(table, &tm.arena, &infos, &n, err));
  assert_int_equal(n, 0);
  {
    const tn_manifest_entry e[] = {tm_entry("a", 1), tm_entry("b", 2)};
    tm_commit(&tm, 1, e, N(e));
  }
  OK(tn_plan_partitions(table, &tm.arena, &infos, &n, err));
  assert_int_equal(n, 1);
  assert_int_equal(infos[0].partition.len, 12);
  assert_int_equal(infos[0].row_count, 3);
  assert_string_equal(tm_plan(&tm, table, NULL, -1), "0[a b]raw(3)");
  tn_table_release(table);
  tm_end(&tm);
}

static void plan__hides_bucket_postpone(void **state) {
  table_maker tm;
  tn_table *table;
  tn_scan scan = {.limit = -1, .keeps_stats = true};
  tn_plan *out;
  (void)state;
  begin(&tm, KEYED, "", "k", "bucket=-2");
  {
    tn_manifest_entry waits = tm_entry_keyed(&tm, "w", 0, 1, 3);
    waits.bucket = waits.total_buckets = -2;
    const tn_manifest_entry e[] = {waits, tm_entry_keyed(&tm, "a", 5, 1, 4)};
    tm_commit(&tm, 1, e, N(e));
  }
  table = scan.table = tm_table(&tm, "");
  OK(tn_plan_create(&scan, &out, err));
  assert_string_equal(tm_plan_text(&tm, out), "0[a]raw(4)");
  assert_int_equal(out->stats.files_hidden_postpone, 1);
  assert_int_equal(out->stats.rows_hidden_postpone, 3);
  tn_plan_release(out);
  tn_table_release(table);
  tm_end(&tm);
}

/* Rows cannot be counted from metadata where a merge decides, or deletions were not counted. */
static void row_count__is_unknown_where_rows_merge(void **state) {
  table_maker tm;
  (void)state;
  begin(&tm, KEYED, "", "k", "bucket=3");
  {
    tn_manifest_entry e[] = {tm_entry_keyed(&tm, "a", 5, 1, 3), tm_entry_keyed(&tm, "b", 0, 1, 1),
                             tm_entry_keyed(&tm, "c", 5, 1, 3), tm_entry_keyed(&tm, "d", 5, 1, 3)};
    e[2].bucket = 1;
    e[3].bucket = 2;
    e[3].file.has_delete_row_count = false;
    tm_commit(&tm, 1, e, N(e));
  }
  assert_string_equal(plan(&tm, "", NULL, -1), "0[b a](?) 1[c]raw(3) 2[d]raw(?)");
  tm_end(&tm);
}

/* ------------------------------------------------------------------ buckets */

static void prune__buckets_by_the_entrys_own_number(void **state) {
  table_maker tm;
  tn_binary_row row;
  const tn_type type = {.root = TN_INT};
  const tn_type *types = &type;
  int32_t of_2, of_3;
  char expected[64];
  (void)state;
  begin(&tm, "0 p INT|1 k INT", "p", "", "bucket=3;bucket-key=k");
  OK(tn_binary_row_decode(tm_row(&tm, "INT", "5"), "key", &row, err));
  OK(tn_bucket_of(TN_BUCKET_DEFAULT, &row, &types, 2, &of_2, err));
  OK(tn_bucket_of(TN_BUCKET_DEFAULT, &row, &types, 3, &of_3, err));
  {
    static const char *const NAMES[] = {"a", "b", "c", "d", "e"};
    tn_manifest_entry e[5];
    for (int i = 0; i < 5; i++) {
      e[i] = tm_entry_in(&tm, i < 2 ? 1 : 2, NAMES[i], 1);
      e[i].bucket = i < 2 ? i : i - 2;
      e[i].total_buckets = i < 2 ? 2 : 3;  // partition 2 was rescaled
    }
    tm_commit(&tm, 1, e, 5);
  }
  snprintf(expected, sizeof(expected), "p=1/%d[%c]raw(1) p=2/%d[%c]raw(1)", (int)of_2,
           'a' + (int)of_2, (int)of_3, 'c' + (int)of_3);
  assert_string_equal(plan(&tm, "", "k = 5", -1), expected);
  tm_end(&tm);
}

/* ------------------------------------------------------------------ deletion vectors */

static tn_dv_range range(const char *file, int32_t offset, int32_t length, int64_t cardinality) {
  tn_dv_range r = {tn_slice_text(file), offset, length, cardinality, cardinality >= 0};
  return r;
}

static tn_index_entry index_entry(const char *type, const char *name, tn_slice partition,
                                  tn_dv_range *ranges, int64_t n) {
  tn_index_entry e = {.version = 1, .partition = partition};
  e.index_type = tn_slice_text(type);
  e.file_name = tn_slice_text(name);
  e.has_dv_ranges = ranges != NULL;
  e.dv_ranges = (tn_record_array){ranges, n};
  return e;
}

/* Rows of files a, b (10 each) and c; a and c have vectors. */
static void commit_with_vectors(table_maker *tm, const char *external) {
  tn_manifest_entry e[] = {tm_entry("a", 10), tm_entry("b", 10), tm_entry("c", 3)};
  tn_dv_range in_1[] = {range("a", 1, 30, 10)};
  tn_dv_range in_2[] = {range("other", 1, 2, 1), range("c", 50, 20, 1)};
  tn_dv_range elsewhere[] = {range("b", 1, 30, 5)};
  tn_slice empty = e[0].partition;
  tn_index_entry index[] = {index_entry("HASH", "h", empty, NULL, 0),
                            index_entry("DELETION_VECTORS", "i1", empty, in_1, 1),
                            index_entry("DELETION_VECTORS", "i2", empty, in_2, 2),
                            index_entry("DELETION_VECTORS", "i3", empty, elsewhere, 1)};
  tn_manifest_file m = tm_manifest(tm, e, N(e));
  tm_snapshot_parts p = {.id = 1, .delta = tm_list(tm, &m, 1)};
  index[3].bucket = 4;  // of another bucket: not b's
  if (external != NULL) {
    index[2].has_external_path = true;
    index[2].external_path = tn_slice_text(external);
  }
  p.index = tm_index(tm, index, N(index));
  tm_snapshot(tm, &p);
}

static void plan__attaches_deletion_vectors(void **state) {
  table_maker tm;
  tn_table *table;
  tn_scan scan = {.limit = -1};
  tn_plan *out;
  (void)state;
  begin(&tm, KEYED, "", "", "bucket=-1;deletion-vectors.enabled=true");
  commit_with_vectors(&tm, "file:/elsewhere/i2");
  table = scan.table = tm_table(&tm, "");
  OK(tn_plan_create(&scan, &out, err));
  assert_string_equal(tm_plan_text(&tm, out), "0[a-10 b c-1]raw(12)");
  assert_string_equal(out->splits[0].deletions[0].path, "/t/index/i1");
  assert_int_equal(out->splits[0].deletions[0].offset, 1);
  assert_int_equal(out->splits[0].deletions[0].length, 30);
  assert_string_equal(out->splits[0].deletions[2].path, "file:/elsewhere/i2");
  assert_int_equal(out->splits[0].deletions[2].offset, 50);
  tn_plan_release(out);
  tn_table_release(table);
  tm_end(&tm);

  begin(&tm, KEYED, "", "",
        "bucket=-1;deletion-vectors.enabled=true;index-file-in-data-file-dir=true");
  commit_with_vectors(&tm, NULL);
  table = scan.table = tm_table(&tm, "");
  OK(tn_plan_create(&scan, &out, err));
  assert_string_equal(out->splits[0].deletions[0].path, "/t/bucket-0/i1");
  tn_plan_release(out);
  tn_table_release(table);
  tm_end(&tm);
}

/* ------------------------------------------------------------------ limit */

/* Deleted rows do not count towards a limit. */
static void limit__counts_deletions(void **state) {
  table_maker tm;
  (void)state;
  begin(&tm, KEYED, "", "",
        "bucket=-1;deletion-vectors.enabled=true;source.split.target-size=1 b;"
        "source.split.open-file-cost=1 b");
  commit_with_vectors(&tm, NULL);
  assert_string_equal(plan(&tm, "", NULL, 2), "0[a-10]raw(0) 0[b]raw(10)");
  assert_string_equal(plan(&tm, "", NULL, 10), "0[a-10]raw(0) 0[b]raw(10)");
  assert_string_equal(plan(&tm, "", NULL, 11), "0[a-10]raw(0) 0[b]raw(10) 0[c-1]raw(2)");
  assert_string_equal(plan(&tm, "", NULL, 100), "0[a-10]raw(0) 0[b]raw(10) 0[c-1]raw(2)");
  tm_end(&tm);
}

/* Splits of unknown count are passed over while known ones may suffice, and kept if they do not. */
static void limit__needs_rows_for_certain(void **state) {
  table_maker tm;
  (void)state;
  begin(&tm, KEYED, "", "k", "bucket=2");
  {
    tn_manifest_entry e[] = {tm_entry_keyed(&tm, "a", 0, 1, 3), tm_entry_keyed(&tm, "b", 0, 1, 3),
                             tm_entry_keyed(&tm, "c", 5, 1, 4)};
    e[2].bucket = 1;
    tm_commit(&tm, 1, e, N(e));
  }
  assert_string_equal(plan(&tm, "", NULL, 3), "1[c]raw(4)");
  assert_string_equal(plan(&tm, "", NULL, 5), "0[b a](?) 1[c]raw(4)");
  tm_end(&tm);
}

/* A filter on rows makes counts say nothing; one on partitions does not. */
static void limit__is_off_under_a_row_filter(void **state) {
  table_maker tm;
  (void)state;
  begin(&tm, "0 p INT|1 v INT", "p", "",
        "bucket=-1;source.split.target-size=1 b;source.split.open-file-cost=1 b");
  {
    const tn_manifest_entry e[] = {tm_entry_in(&tm, 1, "a", 5), tm_entry_in(&tm, 2, "b", 5),
                                   tm_entry_in(&tm, 2, "c", 5)};
    tm_commit(&tm, 1, e, N(e));
  }
  assert_string_equal(plan(&tm, "", NULL, 3), "p=1/0[a]raw(5)");
  assert_string_equal(plan(&tm, "", "p = 2", 3), "p=2/0[b]raw(5)");
  assert_string_equal(plan(&tm, "", "v = 2", 3), "p=1/0[a]raw(5) p=2/0[b]raw(5) p=2/0[c]raw(5)");
  assert_string_equal(plan(&tm, "", NULL, 0), "");
  tm_end(&tm);
}

/* Enough rows: later manifests are not read at all; deletions are known before. */
static void limit__stops_reading_manifests(void **state) {
  table_maker tm;
  tn_manifest_file list[30];
  (void)state;
  begin(&tm, KEYED, "", "", "bucket=-1");
  {
    const tn_manifest_entry gone[] = {tm_deleted(tm_entry("a", 5))};
    const tn_manifest_entry first[] = {tm_entry("a", 5), tm_entry("b", 5)};
    list[0] = tm_manifest(&tm, first, 2);
    for (int i = 1; i < 29; i++) {
      char name[16];
      snprintf(name, sizeof(name), "c%d", i);
      const tn_manifest_entry more[] = {tm_entry(tn_arena_strdup(&tm.arena, name), 1)};
      list[i] = tm_manifest(&tm, more, 1);
    }
    list[28].file_name = tn_slice_text("never-read");
    list[29] = tm_manifest(&tm, gone, 1);
    tm_snapshot_parts p = {.id = 1, .delta = tm_list(&tm, list, 30)};
    tm_snapshot(&tm, &p);
  }
  assert_string_equal(plan(&tm, "", NULL, 5), "0[b]raw(5)");
  assert_string_equal(plan(&tm, "", NULL, 7), "0[b c1 c2]raw(7)");
  tm_end(&tm);
}

/* ------------------------------------------------------------------ other duties */

static void plan__keeps_statistics_on_request(void **state) {
  table_maker tm;
  tn_table *table;
  tn_scan scan = {.limit = -1, .keeps_stats = true};
  tn_plan *out;
  tn_buf json;
  (void)state;
  begin(&tm, KEYED, "", "k", "bucket=1");
  {
    const tn_manifest_entry e[] = {with_v(&tm, tm_entry_keyed(&tm, "a", 5, 1, 9), "3", "4")};
    tm_commit(&tm, 1, e, 1);
  }
  table = scan.table = tm_table(&tm, "");
  OK(tn_plan_create(&scan, &out, err));
  tn_buf_init(&json, &tm.env->mem, 1 << 20);
  OK(tn_split_to_json(table, &out->splits[0], &json, err));
  OK(tn_buf_append(&json, "", 1, err));
  assert_string_equal(
      (const char *)json.data,
      "{\"snapshotId\":1,\"partition\":{},\"bucket\":0,\"totalBuckets\":1,\"streaming\":false,"
      "\"rawConvertible\":true,\"rowCount\":9,\"files\":[{\"name\":\"a\",\"size\":1000,"
      "\"rowCount\":9,\"level\":5,\"schemaId\":0,\"minSequence\":0,\"maxSequence\":0,"
      "\"deleteRowCount\":0,\"source\":\"APPEND\",\"minKey\":{\"k\":1},\"maxKey\":{\"k\":9},"
      "\"valueStats\":{\"v\":{\"min\":3,\"max\":4,\"nulls\":0}},\"valueStatsCols\":[\"v\"],"
      "\"extraFiles\":[],\"embeddedIndexBytes\":null,\"externalPath\":null,\"firstRowId\":null,"
      "\"writeCols\":null}],\"bucketPath\":\"/t/bucket-0\"}");
  tn_buf_reset(&json);
  tn_plan_release(out);
  scan.keeps_stats = false;
  OK(tn_plan_create(&scan, &out, err));
  assert_int_equal(out->splits[0].files[0].value_stats.min_values.len, 12);
  assert_true(out->splits[0].files[0].has_value_stats_cols);
  assert_int_equal(out->splits[0].files[0].value_stats_cols.count, 0);
  assert_int_equal(out->splits[0].files[0].min_key.len, 20);
  tn_plan_release(out);
  tn_table_release(table);
  tm_end(&tm);
}

/* Splits outlive the scan and its table handle. */
/* A file of some columns has its statistics in the order of those, be they all. */
static void json__statistics_in_the_order_of_written_columns(void **state) {
  table_maker tm;
  tn_table *table;
  tn_data_file f = tm_entry("f", 10).file;
  tn_split split = {.files = &f, .n_files = 1, .bucket_path = "/t/bucket-0"};
  tn_buf json;
  (void)state;
  begin(&tm, "0 a INT|1 s STRING", "", "", "bucket=-1");
  table = tm_table(&tm, "");
  split.partition = tm_row(&tm, "", "");
  f.has_value_stats_cols = false;
  f.has_write_cols = true;
  f.write_cols = tm_texts(&tm, "s,a");
  f.value_stats.min_values = tm_row(&tm, "STRING|INT", "a long enough text|1");
  f.value_stats.max_values = tm_row(&tm, "STRING|INT", "a long enough word|2");
  f.value_stats.null_counts = tm_longs(&tm, "3,4");
  tn_buf_init(&json, &tm.env->mem, 1 << 20);
  OK(tn_split_to_json(table, &split, &json, err));
  OK(tn_buf_append(&json, "", 1, err));
  assert_non_null(strstr((const char *)json.data,
                         "\"valueStats\":{\"s\":{\"min\":\"a long enough text\",\"max\":"
                         "\"a long enough word\",\"nulls\":3},\"a\":{\"min\":1,\"max\":2,"
                         "\"nulls\":4}}"));
  tn_buf_reset(&json);
  tn_table_release(table);
  tm_end(&tm);
}

static void plan__owns_what_it_gives(void **state) {
  table_maker tm;
  tn_table *table;
  tn_scan scan = {.limit = -1};
  tn_plan *out;
  (void)state;
  begin(&tm, "0 p INT|1 v INT", "p", "", "bucket=-1");
  {
    tn_manifest_entry e[] = {tm_entry_in(&tm, 1, "a", 1)};
    e[0].file.extra_files = tm_texts(&tm, "a.index");
    tm_commit(&tm, 1, e, 1);
  }
  table = scan.table = tm_table(&tm, "");
  OK(tn_plan_create(&scan, &out, err));
  tn_table_release(table);
  (void)tn_plan_retain(out);
  tn_plan_release(out);
  assert_string_equal(tm_plan_text(&tm, out), "p=1/0[a]raw(1)");
  assert_int_equal(out->splits[0].files[0].extra_files.count, 1);
  tn_plan_release(out);
  tm_end(&tm);
}

static void plan__can_be_cancelled(void **state) {
  table_maker tm;
  tn_table *table;
  tn_scan scan = {.limit = -1};
  tn_plan *out;
  tarn_cancel *cancel;
  tarn_error error = {0};
  (void)state;
  begin(&tm, KEYED, "", "", "bucket=-1");
  {
    const tn_manifest_entry e[] = {tm_entry("a", 1)};
    tm_commit(&tm, 1, e, 1);
  }
  OK(tarn_cancel_create(tm.env, &cancel, err));
  tarn_cancel_set(cancel);
  table = scan.table = tm_table(&tm, "");
  scan.cancel = cancel;
  assert_int_equal(tn_plan_create(&scan, &out, &error), TARN_E_CANCELLED);
  assert_null(out);
  tarn_cancel_free(cancel);
  tn_table_release(table);
  tm_end(&tm);
}

static void plan__rejects_corrupt_entries(void **state) {
  table_maker tm;
  tn_table *table;
  tarn_error error = {0};
  (void)state;
  begin(&tm, KEYED, "", "", "bucket=-1");
  {
    tn_manifest_entry e[] = {tm_entry("a", 1)};
    tn_manifest_file m;
    e[0].kind = 7;
    m = tm_manifest(&tm, e, 1);
    m.n_added = 1;
    tm_snapshot_parts p = {.id = 1, .delta = tm_list(&tm, &m, 1)};
    tm_snapshot(&tm, &p);
  }
  table = tm_table(&tm, "");
  assert_int_equal(tm_plan_status(&tm, table, &error), TARN_E_CORRUPT);
  tn_table_release(table);
  tm_end(&tm);
}

/* ------------------------------------------------------------------ torture */

/* What is planned over and over: made in an environment of its own, storage and all. */
static tarn_status plan_once(void *ctx, tarn_env *env, tarn_error *err) {
  table_maker *tm = ctx;
  tn_storage *storage = tm->storage;
  tn_schema *schema = NULL;
  tn_table *table = NULL;
  tn_plan *out = NULL;
  tn_arena arena;
  const tn_pred *where = NULL;
  tn_scan scan = {.limit = 4, .keeps_stats = true};
  tarn_status st;
  tn_arena_init(&arena, &env->mem, 1 << 20);
  st = tn_schema_load(env, storage, "/t", 0, &schema, err);
  if (st == TARN_OK) {
    st = tn_table_create(env, storage, "db.t", "/t", "main", "/t", schema, NULL, 0, &table, err);
  }
  if (st == TARN_OK) {
    st = tn_pred_parse(&arena, table->schema->fields, table->schema->n_fields, env->zone,
                       tn_slice_text("p < 3 AND (k = 2 OR p = 2) AND v > 1"), &where, NULL, err);
  }
  if (st == TARN_OK) {
    scan.table = table;
    scan.predicate = where;
    st = tn_plan_create(&scan, &out, err);
  }
  if (st == TARN_OK) {
    assert_int_equal(out->n_splits, 2);
  }
  tn_plan_release(out);
  tn_table_release(table);
  tn_schema_release(schema);
  tn_arena_reset(&arena);
  return st;
}

static void plan__survives_failing_allocations(void **state) {
  table_maker tm;
  (void)state;
  begin(&tm, "0 p INT NOT NULL|1 k INT NOT NULL|2 v INT", "p", "p,k",
        "bucket=2;deletion-vectors.enabled=true");
  {
    tn_manifest_entry e[] = {with_v(&tm, tm_entry_keyed(&tm, "a", 5, 1, 3), "1", "5"),
                             with_v(&tm, tm_entry_keyed(&tm, "b", 4, 2, 5), "1", "5"),
                             with_v(&tm, tm_entry_keyed(&tm, "c", 5, 1, 3), "1", "5"),
                             with_v(&tm, tm_entry_keyed(&tm, "d", 5, 1, 3), "1", "5")};
    tn_dv_range r[] = {range("b", 1, 2, 1)};
    tn_index_entry index;
    for (int i = 0; i < 4; i++) {
      e[i].partition = tm_row(&tm, "INT", i < 2 ? "1" : "2");
      e[i].total_buckets = i < 2 ? -1 : 1;
    }
    const tn_manifest_entry gone[] = {tm_deleted(e[3])};
    const tn_manifest_file list[] = {tm_manifest(&tm, e, 4), tm_manifest(&tm, gone, 1)};
    tm_snapshot_parts p = {.id = 1, .delta = tm_list(&tm, list, 2)};
    index = index_entry("DELETION_VECTORS", "i", e[0].partition, r, 1);
    p.index = tm_index(&tm, &index, 1);
    tm_snapshot(&tm, &p);
  }
  assert_true(tn_torture(plan_once, &tm, TARN_OK) > 20);
  tm_end(&tm);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plan__an_empty_table_has_no_splits),
      cmocka_unit_test(plan__base_then_delta_in_order),
      cmocka_unit_test(plan__reads_lists_of_old_releases),
      cmocka_unit_test(plan__deletes_take_back_adds),
      cmocka_unit_test(plan__the_same_with_many_threads),
      cmocka_unit_test(plan__says_when_a_manifest_is_gone),
      cmocka_unit_test(plan__skips_manifests),
      cmocka_unit_test(prune__keeps_all_files_of_an_overlapping_bucket),
      cmocka_unit_test(prune__keeps_everything_of_combining_engines),
      cmocka_unit_test(prune__single_files_where_none_overlap),
      cmocka_unit_test(plan__hides_level_0_of_first_row),
      cmocka_unit_test(partitions__count_level_0),
      cmocka_unit_test(partitions__an_unpartitioned_table_has_one),
      cmocka_unit_test(plan__hides_bucket_postpone),
      cmocka_unit_test(row_count__is_unknown_where_rows_merge),
      cmocka_unit_test(prune__buckets_by_the_entrys_own_number),
      cmocka_unit_test(plan__attaches_deletion_vectors),
      cmocka_unit_test(limit__counts_deletions),
      cmocka_unit_test(limit__needs_rows_for_certain),
      cmocka_unit_test(limit__is_off_under_a_row_filter),
      cmocka_unit_test(limit__stops_reading_manifests),
      cmocka_unit_test(plan__keeps_statistics_on_request),
      cmocka_unit_test(json__statistics_in_the_order_of_written_columns),
      cmocka_unit_test(plan__owns_what_it_gives),
      cmocka_unit_test(plan__can_be_cancelled),
      cmocka_unit_test(plan__rejects_corrupt_entries),
      cmocka_unit_test(plan__survives_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
