/* test_manifests.c - manifests: what lists say of them, rolling, merging. */
#include "base/map.h"
#include "commit_maker.h"
#include "model/file_meta.h"
#include "plan/entries.h"
#include "support/test.h"

static tn_table *make_table(table_maker *tm, const char *partition_keys, const char *options) {
  tm_begin(tm, 1);
  tm_schema(tm, 0, "0 p INT|1 q STRING|2 a INT|3 bytes BYTES", partition_keys, "", options);
  return tm_table(tm, "");
}

static void end(table_maker *tm, tn_table *table) {
  tn_table_release(table);
  tm_end(tm);
}

/* ------------------------------------------------------------------ what lists say */

typedef struct list_read {
  table_maker *tm;
  tn_manifest_file items[64];
  int n;
} list_read;

static tarn_status on_manifest(void *ctx, const tn_manifest_file *m, tarn_error *err) {
  list_read *r = ctx;
  tn_manifest_file *to = &r->items[r->n++];
  (void)err;
  assert_true(r->n < 64);
  *to = *m;
  assert_true(tn_arena_slice(&r->tm->arena, m->partition_stats.min_values,
                             &to->partition_stats.min_values) &&
              tn_arena_slice(&r->tm->arena, m->partition_stats.max_values,
                             &to->partition_stats.max_values));
  to->partition_stats.null_counts.items =
      tn_arena_memdup(&r->tm->arena, m->partition_stats.null_counts.items,
                      (size_t)m->partition_stats.null_counts.count * sizeof(int64_t));
  return TARN_OK;
}

static void read_list(table_maker *tm, int64_t id, char which, list_read *r) {
  tn_snapshot s = cm_snapshot(tm, id);
  tn_manifest_name name = {which == 'b' ? s.base_manifest_list : s.delta_manifest_list,
                           which == 'b' ? s.base_manifest_list_size : s.delta_manifest_list_size,
                           -1};
  *r = (list_read){.tm = tm};
  OK(tn_manifest_list_read(tm->env, tm->storage, &tn_plan_readers, "/t", &name, on_manifest, r,
                           err));
}

static int count_manifests(table_maker *tm, int64_t id, char which) {
  list_read r;
  read_list(tm, id, which, &r);
  return r.n;
}

static tn_manifest_entry entry_in(table_maker *tm, const char *values, const char *name) {
  tn_manifest_entry e = tm_entry(name, 1);
  e.partition = tm_row(tm, "INT|STRING", values);
  return e;
}

static void list__tells_ranges_and_partitions(void **state) {
  static const char *const partitions[] = {"5|b", "-3|null", "300|a", "null|c", "null|c"};
  static const char *const names[] = {"f0", "f1", "f2", "f3", "f4"};
  table_maker tm;
  tn_table *table = make_table(&tm, "p,q", "bucket=-1");
  tn_committable c = cm_begin(1);
  const tn_manifest_file *m;
  list_read r;
  (void)state;
  for (int i = 0; i < 5; i++) {
    tn_manifest_entry e = entry_in(&tm, partitions[i], names[i]);
    e.bucket = i;
    e.file.level = i == 2 ? 4 : 1;
    e.file.schema_id = i == 3 ? 7 : 2;
    cm_file(&tm, &c, i == 4 ? CM_DELETED : CM_NEW, e);
  }
  cm_file(&tm, &c, CM_NEW, entry_in(&tm, "null|c", "f4")); /* what the deletion is of */
  c.messages[5].new_files.items[0].level = 1;
  c.messages[5].bucket = 4;
  (void)cm_append(table, "u", &c);
  read_list(&tm, 1, 'd', &r);
  assert_int_equal(r.n, 1);
  m = &r.items[0];
  assert_int_equal(m->n_added, 5);
  assert_int_equal(m->n_deleted, 1);
  assert_int_equal(m->schema_id, 7);
  assert_true(m->has_buckets_min && m->has_buckets_max && m->has_level_min && m->has_level_max);
  assert_int_equal(m->min_bucket, 0);
  assert_int_equal(m->max_bucket, 4);
  assert_int_equal(m->min_level, 1);
  assert_int_equal(m->max_level, 4);
  assert_false(m->has_row_id_min || m->has_row_id_max);
  assert_true(tn_slice_equal(m->partition_stats.min_values, tm_row(&tm, "INT|STRING", "-3|a")));
  assert_true(tn_slice_equal(m->partition_stats.max_values, tm_row(&tm, "INT|STRING", "300|c")));
  assert_int_equal(m->partition_stats.null_counts.count, 2);
  assert_int_equal(((int64_t *)m->partition_stats.null_counts.items)[0], 3);
  assert_int_equal(((int64_t *)m->partition_stats.null_counts.items)[1], 1);
  end(&tm, table);
}

static void list__of_a_table_without_partitions_has_empty_rows(void **state) {
  table_maker tm;
  tn_table *table = make_table(&tm, "", "bucket=-1");
  list_read r;
  (void)state;
  (void)cm_append_one(&tm, table, "u", 1, "a", 1);
  read_list(&tm, 1, 'd', &r);
  assert_true(tn_slice_equal(r.items[0].partition_stats.min_values, tn_binary_row_empty()));
  assert_int_equal(r.items[0].partition_stats.null_counts.count, 0);
  end(&tm, table);
}

/* Java has no minimum of bytes. */
static void list__has_no_bounds_of_bytes(void **state) {
  table_maker tm;
  tn_table *table = make_table(&tm, "bytes", "bucket=-1;partition.legacy-name=false");
  tn_committable c = cm_begin(1);
  tn_manifest_entry e = tm_entry("a", 1);
  list_read r;
  (void)state;
  e.partition = tm_row(&tm, "BYTES", "xyz");
  cm_file(&tm, &c, CM_NEW, e);
  (void)cm_append(table, "u", &c);
  read_list(&tm, 1, 'd', &r);
  assert_true(tn_slice_equal(r.items[0].partition_stats.min_values, tm_row(&tm, "BYTES", "null")));
  assert_int_equal(((int64_t *)r.items[0].partition_stats.null_counts.items)[0], 0);
  end(&tm, table);
}

/* ------------------------------------------------------------------ rolling */

static void manifests__roll_at_their_target_size(void **state) {
  enum { N = 20000 };
  table_maker tm;
  tn_table *table = make_table(&tm, "", "bucket=-1;manifest.target-file-size=64 kb");
  tn_data_file *files;
  tn_committable c = cm_begin(1);
  list_read r;
  int64_t total = 0;
  (void)state;
  files = tn_arena_calloc(&tm.arena, N, sizeof(*files));
  assert_non_null(files);
  for (int i = 0; i < N; i++) {
    char *name = tn_arena_printf(&tm.arena, "data-%08x-%d.parquet", (unsigned)i * 2654435761u, i);
    assert_non_null(name);
    files[i] = tm_entry(name, 1).file;
  }
  cm_file(&tm, &c, CM_NEW, tm_entry("x", 1));
  c.messages[0].new_files = (tn_data_files){files, N};
  (void)cm_append(table, "u", &c);
  read_list(&tm, 1, 'd', &r);
  assert_true(r.n > 2);
  for (int i = 0; i < r.n; i++) {
    total += r.items[i].n_added;
    assert_true(i == r.n - 1 || (r.items[i].n_added % 1000 == 0 && r.items[i].file_size > 8192));
  }
  assert_int_equal(total, N);
  assert_string_equal(cm_snapshot_text(&tm, 1), "APPEND u:1 rows=20000(+20000)");
  end(&tm, table);
}

/* ------------------------------------------------------------------ merging */

/* What Java 1.4.2 does with three: the fourth commit makes one of three. */
static void merge__waits_for_enough_manifests(void **state) {
  static const int wanted[] = {0, 1, 2, 1, 2, 1, 2};
  table_maker tm;
  tn_table *table = make_table(&tm, "", "bucket=-1;manifest.merge-min-count=3");
  (void)state;
  for (int i = 0; i < 7; i++) {
    char name[8];
    snprintf(name, sizeof(name), "f%d", i);
    assert_int_equal(cm_append_one(&tm, table, "u", i, name, 1), i + 1);
    assert_int_equal(count_manifests(&tm, i + 1, 'b'), wanted[i]);
  }
  assert_string_equal(tm_plan(&tm, table, NULL, -1), "0[f0 f1 f2 f3 f4 f5 f6]raw(7)");
  end(&tm, table);
}

static void compact(table_maker *tm, tn_table *table, const char *before, const char *after) {
  tn_committable c = cm_begin(9);
  cm_file(tm, &c, CM_BEFORE, tm_entry(before, 1));
  cm_file(tm, &c, CM_AFTER, tm_entry(after, 1));
  (void)cm_append(table, "u", &c);
}

static void merge__of_a_few_cancels_pairs_and_keeps_other_deletions(void **state) {
  table_maker tm;
  tn_table *table = make_table(&tm, "", "bucket=-1"), *few;
  (void)state;
  (void)cm_append_one(&tm, table, "u", 1, "a", 1);
  (void)cm_append_one(&tm, table, "u", 1, "b", 1);
  compact(&tm, table, "a", "a2");
  compact(&tm, table, "a2", "a3");
  few = tm_table(&tm, "manifest.merge-min-count=4");
  (void)cm_append_one(&tm, few, "u", 1, "c", 1);
  assert_string_equal(cm_entries(&tm, 5, 'b'), "+b +a3");
  compact(&tm, table, "b", "b2");
  compact(&tm, table, "b2", "b3");
  assert_string_equal(tm_plan(&tm, table, NULL, -1), "0[a3 c b3]raw(3)");
  tn_table_release(few);
  end(&tm, table);
}

/* A run that reaches the target size is merged; deletions of what lies before it stay. */
static void merge__of_a_run_keeps_deletions_of_what_is_before_it(void **state) {
  table_maker tm;
  tn_table *table = make_table(&tm, "", "bucket=-1");
  tn_table *runs;
  list_read r;
  char dynamic[100];
  (void)state;
  (void)cm_append_one(&tm, table, "u", 1, "a", 1);
  compact(&tm, table, "a", "b");
  compact(&tm, table, "b", "c");
  read_list(&tm, 3, 'b', &r);
  assert_int_equal(r.n, 2);
  /* The first manifest alone reaches it; so do the two behind it together. */
  snprintf(dynamic, sizeof(dynamic),
           "manifest.target-file-size=%lld b;manifest.full-compaction-threshold-size=1 gb",
           (long long)r.items[0].file_size);
  runs = tm_table(&tm, dynamic);
  (void)cm_append_one(&tm, runs, "u", 1, "d", 1);
  assert_contains(cm_entries(&tm, 4, 'b'), "-a");
  assert_string_equal(tm_plan(&tm, table, NULL, -1), "0[c d]raw(2)");
  tn_table_release(runs);
  end(&tm, table);
}

static void merge__in_full_leaves_no_deletion(void **state) {
  table_maker tm;
  tn_table *table = make_table(&tm, "", "bucket=-1"), *full;
  (void)state;
  (void)cm_append_one(&tm, table, "u", 1, "a", 1);
  (void)cm_append_one(&tm, table, "u", 1, "b", 1);
  compact(&tm, table, "a", "a2");
  full = tm_table(&tm, "manifest.full-compaction-threshold-size=1 b");
  (void)cm_append_one(&tm, full, "u", 1, "c", 1);
  assert_string_equal(cm_entries(&tm, 4, 'b'), "+b +a2");
  assert_int_equal(count_manifests(&tm, 4, 'b'), 1);
  (void)cm_append_one(&tm, full, "u", 1, "d", 1);
  assert_string_equal(cm_entries(&tm, 5, 'b'), "+b +a2 +c");
  tn_table_release(full);
  end(&tm, table);
}

static void merge__of_everything_that_is_gone_leaves_no_manifest(void **state) {
  table_maker tm;
  tn_table *table = make_table(&tm, "", "bucket=-1"), *full;
  tn_committable c = cm_begin(1);
  (void)state;
  full = tm_table(&tm, "manifest.full-compaction-threshold-size=1 b");
  (void)cm_append_one(&tm, table, "u", 1, "a", 1);
  cm_file(&tm, &c, CM_DELETED, tm_entry("a", 1));
  (void)cm_append(table, "u", &c);
  (void)cm_append_one(&tm, full, "u", 1, "b", 1);
  assert_int_equal(count_manifests(&tm, 3, 'b'), 0);
  assert_string_equal(tm_plan(&tm, table, NULL, -1), "0[b]raw(1)");
  tn_table_release(full);
  end(&tm, table);
}

/* Large manifests of other partitions than those with deletions are not read. */
static void merge__in_full_keeps_manifests_of_other_partitions(void **state) {
  table_maker tm;
  tn_table *table = make_table(&tm, "p", "bucket=-1"), *full;
  tn_committable other = cm_begin(1), first = cm_begin(1), gone = cm_begin(1), last = cm_begin(1);
  list_read before, after;
  (void)state;
  cm_file(&tm, &other, CM_NEW, tm_entry_in(&tm, 1, "a", 1));
  cm_file(&tm, &first, CM_NEW, tm_entry_in(&tm, 2, "b", 1));
  cm_file(&tm, &first, CM_NEW, tm_entry_in(&tm, 3, "c", 1));
  cm_file(&tm, &gone, CM_DELETED, tm_entry_in(&tm, 3, "c", 1));
  cm_file(&tm, &last, CM_NEW, tm_entry_in(&tm, 4, "d", 1));
  (void)cm_append(table, "u", &other);
  (void)cm_append(table, "u", &first);
  (void)cm_append(table, "u", &gone);
  read_list(&tm, 3, 'b', &before);
  full = tm_table(&tm, "manifest.full-compaction-threshold-size=1 b;manifest.target-file-size=1 b");
  (void)cm_append(full, "u", &last);
  read_list(&tm, 4, 'b', &after);
  assert_int_equal(after.n, 2);
  assert_int_equal(after.items[0].file_size, before.items[0].file_size);
  assert_string_equal(cm_entries(&tm, 4, 'b'), "+a | +b");
  tn_table_release(full);
  end(&tm, table);
}

/* ------------------------------------------------------------------ compact_manifests */

static void compact_manifests__merges_all(void **state) {
  table_maker tm;
  tn_table *table = make_table(&tm, "", "bucket=-1");
  tn_commit_options options = cm_user("m");
  tn_committable c = cm_begin(5);
  tn_commit_result result;
  (void)state;
  OK(tn_commit_compact_manifests(table, &options, &result, err));
  assert_int_equal(result.last_id, 0); /* no snapshot at all */
  c.has_watermark = true;
  c.watermark = 8;
  cm_file(&tm, &c, CM_NEW, tm_entry("x", 1));
  (void)cm_append(table, "u", &c);
  compact(&tm, table, "x", "y");
  (void)cm_append_one(&tm, table, "u", 1, "z", 2);
  OK(tn_commit_compact_manifests(table, &options, &result, err));
  assert_int_equal(result.last_id, 4);
  assert_string_equal(cm_snapshot_text(&tm, 4),
                      "COMPACT m:9223372036854775807 rows=3(+0) watermark=8");
  assert_string_equal(cm_entries(&tm, 4, 'b'), "+y +z");
  assert_string_equal(cm_entries(&tm, 4, 'd'), "");
  OK(tn_commit_compact_manifests(table, &options, &result, err));
  assert_int_equal(result.last_id, 0); /* there is nothing to merge */
  assert_string_equal(tm_plan(&tm, table, NULL, -1), "0[y z]raw(3)");
  end(&tm, table);
}

/* ------------------------------------------------------------------ entries stay as they are */

static void merge__keeps_entries_bit_for_bit(void **state) {
  table_maker tm;
  tn_table *table = make_table(&tm, "", "bucket=-1");
  tn_commit_options options = cm_user("m");
  tn_manifest_entry e = tm_entry("a", 3);
  tn_committable c = cm_begin(1);
  tn_commit_result result;
  const char *before, *after;
  tn_scan scan = {.limit = -1, .keeps_stats = true};
  tn_plan *plan = NULL;
  (void)state;
  e.total_buckets = -1;
  e.file.value_stats.min_values = tm_row(&tm, "INT", "1");
  e.file.value_stats.max_values = tm_row(&tm, "INT", "9");
  e.file.value_stats.null_counts = tm_longs(&tm, "null");
  e.file.value_stats.has_null_counts = true;
  e.file.value_stats_cols = tm_texts(&tm, "a");
  e.file.extra_files = tm_texts(&tm, "a.index,b");
  e.file.has_embedded_index = true;
  e.file.embedded_index = tm_text("index bytes");
  e.file.has_external_path = true;
  e.file.external_path = tm_text("file:/x/a");
  e.file.has_first_row_id = true;
  e.file.first_row_id = 17;
  e.file.has_write_cols = true;
  e.file.write_cols = tm_texts(&tm, "a,q");
  e.file.min_sequence = 3;
  e.file.max_sequence = 8;
  cm_file(&tm, &c, CM_NEW, e);
  (void)cm_append(table, "u", &c);
  (void)cm_append_one(&tm, table, "u", 1, "b", 1);
  scan.table = table;
  for (int i = 0; i < 2; i++) {
    tn_buf b;
    tn_buf_init(&b, &tm.env->mem, 1 << 20);
    OK(tn_plan_create(&scan, &plan, err));
    OK(tn_file_meta_encode(&plan->splits[0].files[0], &b, err));
    after = tn_arena_printf(&tm.arena, "%zu:%llx", b.len,
                            (unsigned long long)tn_hash_bytes(b.data, b.len));
    tn_buf_reset(&b);
    tn_plan_release(plan);
    if (i == 0) {
      before = after;
      OK(tn_commit_compact_manifests(table, &options, &result, err));
      assert_int_equal(result.last_id, 3);
    } else {
      assert_string_equal(before, after);
    }
  }
  end(&tm, table);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(list__tells_ranges_and_partitions),
      cmocka_unit_test(list__of_a_table_without_partitions_has_empty_rows),
      cmocka_unit_test(list__has_no_bounds_of_bytes),
      cmocka_unit_test(manifests__roll_at_their_target_size),
      cmocka_unit_test(merge__waits_for_enough_manifests),
      cmocka_unit_test(merge__of_a_few_cancels_pairs_and_keeps_other_deletions),
      cmocka_unit_test(merge__of_a_run_keeps_deletions_of_what_is_before_it),
      cmocka_unit_test(merge__in_full_leaves_no_deletion),
      cmocka_unit_test(merge__of_everything_that_is_gone_leaves_no_manifest),
      cmocka_unit_test(merge__in_full_keeps_manifests_of_other_partitions),
      cmocka_unit_test(merge__keeps_entries_bit_for_bit),
      cmocka_unit_test(compact_manifests__merges_all),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
