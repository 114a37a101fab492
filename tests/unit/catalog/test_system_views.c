/* test_system_views.c - $ro, $audit_log, $binlog, $row_tracking: the table's rows in another dress.
 */
#include "support/torture.h"
#include "system_test.h"

#define B "/t/bucket-0"
#define COLUMNS "k INT NOT NULL|v STRING"

static tn_manifest_entry keyed(system_test *t, const char *name, int32_t level, const char *rows) {
  tn_manifest_entry entry = tm_entry_keyed(&t->tm, name, level, 0, 0);
  int32_t buckets = entry.total_buckets;
  entry.file = dm_keyed(&t->tm, B, name, 1, COLUMNS, rows);
  entry.file.level = level;
  entry.total_buckets = buckets;
  return entry;
}

static void begin(system_test *t, int32_t threads, const char *options) {
  st_begin(t, threads);
  tm_schema(&t->tm, 0, "0 k INT NOT NULL|1 v STRING", "", "k", options);
}

/* Keys 1 to 5 in the top level; then 2 is deleted, 3 changed, 6 new. */
static void begin_levels(system_test *t, int32_t threads, const char *options) {
  begin(t, threads, options);
  tm_commit(
      &t->tm, 1,
      (tn_manifest_entry[]){keyed(t, "top.avro", 5, "1|+|1|a;2|+|2|b;3|+|3|c;4|+|4|d;5|+|5|e"),
                            keyed(t, "new.avro", 0, "6|-|2|b;7|u|3|C;8|+|6|f")},
      2);
  st_open(t, "");
}

/* ------------------------------------------------------------------ $ro */

static void ro__shows_the_top_level_alone(void **state) {
  system_test t;
  (void)state;
  begin_levels(&t, 1, "bucket=1");
  t.system = "ro";
  st_assert_columns(&t, "k INT NOT NULL, v STRING");
  st_assert(&t, "1|a;2|b;3|c;4|d;5|e");
  t.where = "v >= 'c' AND k < 5";
  t.select = "v";
  st_assert(&t, "c;d");
  t.where = NULL;
  t.limit = 2;
  t.with_row_kind = true;
  st_assert(&t, "0|a;0|b");
  st_end(&t);
}

static void ro__top_level_is_what_options_make_it(void **state) {
  static const struct {
    const char *options, *rows;
  } cases[] = {
      {"bucket=1;num-levels=6", "1|a;2|b;3|c;4|d;5|e"},
      {"bucket=1;num-levels=4", ""},
      {"bucket=1;num-levels=1", "3|C;6|f"},
      {"bucket=1;num-sorted-run.compaction-trigger=3", ""},
      {"bucket=1;num-sorted-run.compaction-trigger=3;num-levels=6", "1|a;2|b;3|c;4|d;5|e"},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    system_test t;
    begin_levels(&t, 1, cases[i].options);
    t.system = "ro";
    st_assert(&t, cases[i].rows);
    st_end(&t);
  }
}

static void ro__of_a_table_without_keys_is_the_table(void **state) {
  system_test t;
  tn_manifest_entry entry;
  (void)state;
  st_begin(&t, 1);
  tm_schema(&t.tm, 0, "0 a INT|1 b STRING", "", "", "");
  entry = tm_entry("f.avro", 2);
  entry.file = dm_append(&t.tm, B, "f.avro", "a INT|b STRING", "1|x;2|y");
  tm_commit(&t.tm, 1, &entry, 1);
  st_open(&t, "");
  t.system = "ro";
  st_assert(&t, "1|x;2|y");
  st_end(&t);
}

/* ------------------------------------------------------------------ $audit_log */

static void audit_log__shows_kinds_and_deletes(void **state) {
  system_test t;
  (void)state;
  begin_levels(&t, 1, "bucket=1");
  t.system = "audit_log";
  st_assert_columns(&t, "rowkind STRING NOT NULL, k INT NOT NULL, v STRING");
  st_assert(&t, "+I|1|a;-D|2|b;+U|3|C;+I|4|d;+I|5|e;+I|6|f");
  t.select = "v,rowkind";
  st_assert(&t, "a|+I;b|-D;C|+U;d|+I;e|+I;f|+I");
  t.with_row_kind = true; /* each row itself is an insert */
  t.limit = 2;
  st_assert(&t, "0|a|+I;0|b|-D");
  st_end(&t);
}

static void audit_log__merges_what_would_be_read_as_it_is(void **state) {
  system_test t;
  (void)state;
  begin(&t, 1, "bucket=1");
  tm_commit(&t.tm, 1, (tn_manifest_entry[]){keyed(&t, "f.avro", 5, "1|+|1|a;2|u|2|b")}, 1);
  st_open(&t, "");
  t.system = "audit_log";
  st_assert(&t, "+I|1|a;+U|2|b");
  st_end(&t);
}

static void audit_log__filters_exactly(void **state) {
  static const struct {
    const char *where, *rows;
  } cases[] = {
      {"rowkind = '-D'", "2"},
      {"rowkind <> '+I'", "2;3"},
      {"rowkind = '+I' AND k > 4", "5;6"},
      {"rowkind = '-D' OR v = 'd'", "2;4"},
      {"rowkind IN ('+U', '-D') AND v = 'C'", "3"},
      {"v = 'c'", ""}, /* of an old version */
      {"k = 2", "2"},
      {"rowkind IS NULL", ""},
  };
  system_test t;
  (void)state;
  begin_levels(&t, 1, "bucket=1");
  t.system = "audit_log";
  t.select = "k";
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    t.where = cases[i].where;
    t.limit = -1;
    st_assert(&t, cases[i].rows);
  }
  t.where = "rowkind <> '+I'";
  t.limit = 1;
  st_assert(&t, "2");
  t.limit = 0;
  st_assert(&t, "");
  st_end(&t);
}

static void audit_log__tells_sequence_numbers_where_the_table_asks(void **state) {
  system_test t;
  (void)state;
  begin_levels(&t, 1, "bucket=1;table-read.sequence-number.enabled=true");
  t.system = "audit_log";
  st_assert_columns(
      &t, "rowkind STRING NOT NULL, _SEQUENCE_NUMBER BIGINT NOT NULL, k INT NOT NULL, v STRING");
  st_assert(&t, "+I|1|1|a;-D|6|2|b;+U|7|3|C;+I|4|4|d;+I|5|5|e;+I|8|6|f");
  t.select = "_SEQUENCE_NUMBER";
  t.where = "_SEQUENCE_NUMBER > 5";
  st_assert(&t, "6;7;8");
  st_end(&t);
}

static void audit_log__sequence_numbers_are_no_hint(void **state) {
  system_test t;
  (void)state;
  begin_levels(&t, 1, "bucket=1");
  t.dynamic = "table-read.sequence-number.enabled=true";
  t.system = "audit_log";
  st_assert_fails(&t, TARN_E_UNSUPPORTED, "not supported by hint");
  t.system = "binlog";
  st_assert_fails(&t, TARN_E_UNSUPPORTED, "not supported by hint");
  st_end(&t);
}

static void audit_log__sequence_numbers_of_folded_rows_are_the_largest(void **state) {
  system_test t;
  (void)state;
  begin_levels(&t, 1,
               "bucket=1;merge-engine=partial-update;partial-update.remove-record-on-delete=true;"
               "table-read.sequence-number.enabled=true");
  t.system = "audit_log";
  st_assert(&t, "+I|1|1|a;-D|6|2|b;+I|7|3|C;+I|4|4|d;+I|5|5|e;+I|8|6|f");
  t.select = "k,_SEQUENCE_NUMBER";
  st_assert(&t, "1|1;2|6;3|7;4|4;5|5;6|8");
  t.select = "_SEQUENCE_NUMBER";
  t.where = "_SEQUENCE_NUMBER > 5";
  st_assert(&t, "6;7;8");
  t.system = "binlog";
  t.where = NULL;
  t.select = "v,_SEQUENCE_NUMBER,rowkind";
  st_assert(&t, "[a]|1|+I;[b]|6|-D;[C]|7|+I;[d]|4|+I;[e]|5|+I;[f]|8|+I");
  st_end(&t);
}

static void audit_log__own_columns_of_its_names_are_refused(void **state) {
  system_test t;
  (void)state;
  st_begin(&t, 1);
  tm_schema(&t.tm, 0, "0 rowkind INT NOT NULL", "", "", "");
  st_open(&t, "");
  t.system = "audit_log";
  st_assert_fails(&t, TARN_E_INVALID, "'rowkind'");
  st_end(&t);
}

/* ------------------------------------------------------------------ $binlog */

static void binlog__states_are_arrays_of_one(void **state) {
  system_test t;
  (void)state;
  begin_levels(&t, 1, "bucket=1");
  t.system = "binlog";
  st_assert_columns(&t, "rowkind STRING NOT NULL, k ARRAY<INT>, v ARRAY<STRING>");
  st_assert(&t, "+I|[1]|[a];-D|[2]|[b];+U|[3]|[C];+I|[4]|[d];+I|[5]|[e];+I|[6]|[f]");
  t.where = "rowkind = '-D' AND v IS NOT NULL";
  st_assert(&t, "-D|[2]|[b]");
  st_end(&t);
}

/* Changes of snapshot 2, read as they are. */
static void begin_changes(system_test *t, const char *options, const char *rows) {
  begin(t, 1, options);
  tm_commit(&t->tm, 1, (tn_manifest_entry[]){keyed(t, "f.avro", 0, "1|+|1|a")}, 1);
  tm_commit(&t->tm, 2, (tn_manifest_entry[]){keyed(t, "g.avro", 0, rows)}, 1);
  st_open(t, "incremental-between=1,2");
  t->system = "binlog";
}

static void binlog__packs_updates_of_changes(void **state) {
  static const struct {
    const char *rows, *expected;
  } cases[] = {
      {"2|b|1|a;3|u|1|b", "+U|[1,1]|[a,b]"},
      {"2|+|0|x;3|b|1|a;4|u|1|b;5|-|2|y", "+I|[0]|[x];+U|[1,1]|[a,b];-D|[2]|[y]"},
      {"2|u|1|b;3|b|2|null", "+U|[1]|[b];-U|[2]|[null]"},       /* one that nothing follows */
      {"2|b|1|a;3|b|2|b;4|b|3|c", "-U|[1,2]|[a,b];-U|[3]|[c]"}, /* whatever follows it */
      {"2|b|1|a;3|-|2|b;4|u|3|c", "-D|[1,2]|[a,b];+U|[3]|[c]"},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    for (int64_t batch_rows = 0; batch_rows < 4; batch_rows++) {
      system_test t;
      begin_changes(&t, "bucket=1", cases[i].rows);
      t.batch_rows = batch_rows;
      st_assert(&t, cases[i].expected);
      st_end(&t);
    }
  }
}

static void binlog__limit_counts_packed_rows(void **state) {
  system_test t;
  (void)state;
  begin_changes(&t, "bucket=1", "2|b|1|a;3|u|1|b;4|b|2|c;5|u|2|d;6|+|3|e");
  t.limit = 2;
  st_assert(&t, "+U|[1,1]|[a,b];+U|[2,2]|[c,d]");
  t.limit = -1;
  t.where = "rowkind = '+I'";
  st_assert(&t, "+I|[3]|[e]");
  st_end(&t);
}

static void binlog__sequence_number_is_that_of_the_first(void **state) {
  system_test t;
  (void)state;
  begin_changes(&t, "bucket=1;table-read.sequence-number.enabled=true", "2|b|1|a;3|u|1|b;4|+|2|c");
  st_assert(&t, "+U|2|[1,1]|[a,b];+I|4|[2]|[c]");
  st_end(&t);
}

/* ------------------------------------------------------------------ $row_tracking */

static void row_tracking__needs_the_option(void **state) {
  system_test t;
  (void)state;
  begin_levels(&t, 1, "bucket=1");
  t.system = "row_tracking";
  st_assert_fails(&t, TARN_E_INVALID, "row-tracking.enabled");
  st_end(&t);
}

static void row_tracking__counts_from_the_first_id(void **state) {
  system_test t;
  tn_manifest_entry entry;
  (void)state;
  st_begin(&t, 1);
  tm_schema(&t.tm, 0, "0 a INT|1 b STRING", "", "", "row-tracking.enabled=true");
  entry = tm_entry("f.avro", 3);
  entry.file = dm_append(&t.tm, B, "f.avro", "a INT|b STRING", "1|x;2|y;3|z");
  entry.file.first_row_id = 40;
  entry.file.has_first_row_id = true;
  entry.file.min_sequence = entry.file.max_sequence = 7;
  tm_commit(&t.tm, 1, &entry, 1);
  st_open(&t, "");
  t.system = "row_tracking";
  st_assert_columns(&t, "a INT, b STRING, _ROW_ID BIGINT, _SEQUENCE_NUMBER BIGINT");
  st_assert(&t, "1|x|40|7;2|y|41|7;3|z|42|7");
  t.select = "_ROW_ID";
  t.where = "b = 'y'";
  st_assert(&t, "41");
  t.where = "_ROW_ID >= 41 AND a < 3";
  t.select = "a";
  st_assert(&t, "2");
  st_end(&t);
}

/* ------------------------------------------------------------------ faults */

static void view__damaged_file_is_named(void **state) {
  system_test t;
  tn_manifest_entry entry;
  (void)state;
  begin(&t, 1, "bucket=1");
  entry = keyed(&t, "f.avro", 5, "1|+|1|a");
  tm_put(&t.tm, "bucket-0/g.avro", "no data");
  entry.file.file_name = tm_text("g.avro");
  tm_commit(&t.tm, 1, &entry, 1);
  st_open(&t, "");
  t.system = "audit_log";
  st_assert_fails(&t, TARN_E_CORRUPT, "g.avro");
  t.system = "ro";
  st_assert_fails(&t, TARN_E_CORRUPT, "g.avro");
  st_end(&t);
}

/* Allocations of a read fail one after the other; the table stands in an environment without
 * faults. */
static void system__survives_failed_allocations(void **state) {
  static const char *const systems[] = {
      "ro",         "audit_log", "binlog",    "files",     "file_key_ranges", "buckets",
      "partitions", "manifests", "snapshots", "schemas",   "options",         "aggregation_fields",
      "tags",       "branches",  "consumers", "statistics"};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(systems); i++) {
    tarn_env_options options = TARN_ENV_OPTIONS_INIT;
    tn_test_alloc alloc;
    tarn_allocator hooks;
    tarn_env *env = NULL;
    system_test t = {0};
    tn_test_alloc_init(&alloc);
    hooks = tn_test_alloc_hooks(&alloc);
    options.allocator = &hooks;
    options.threads = 1;
    OK(tarn_env_create(&options, &env, err));
    tm_begin_in(&t.tm, env);
    tn_buf_init(&t.text, &env->mem, 1u << 24);
    t.limit = -1;
    tm_schema(&t.tm, 0, "0 k INT NOT NULL|1 v STRING", "", "k", "bucket=1");
    tm_commit(&t.tm, 1, (tn_manifest_entry[]){keyed(&t, "f.avro", 5, "1|+|1|a")}, 1);
    tm_commit(&t.tm, 2, (tn_manifest_entry[]){keyed(&t, "g.avro", 0, "2|b|1|a;3|u|1|b")}, 1);
    st_open(&t, i == 2 ? "incremental-between=1,2" : "");
    t.system = systems[i];
    OK(tn_buf_reserve(&t.text, 4096, err));
    for (int64_t at = 1;; at++) {
      tarn_error error = {0};
      int64_t calls;
      tarn_status st;
      atomic_store(&alloc.calls, 0);
      atomic_store(&alloc.fail_at, at);
      st = st_read(&t, &error);
      atomic_store(&alloc.fail_at, 0);
      calls = atomic_load(&alloc.calls);
      assert_true(st == TARN_OK || st == TARN_E_NOMEM);
      if (calls < at) {
        assert_int_equal(st, TARN_OK);
        break;
      }
    }
    st_end(&t);
    assert_int_equal(atomic_load(&alloc.live_blocks), 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ro__shows_the_top_level_alone),
      cmocka_unit_test(ro__top_level_is_what_options_make_it),
      cmocka_unit_test(ro__of_a_table_without_keys_is_the_table),
      cmocka_unit_test(audit_log__shows_kinds_and_deletes),
      cmocka_unit_test(audit_log__merges_what_would_be_read_as_it_is),
      cmocka_unit_test(audit_log__filters_exactly),
      cmocka_unit_test(audit_log__tells_sequence_numbers_where_the_table_asks),
      cmocka_unit_test(audit_log__sequence_numbers_are_no_hint),
      cmocka_unit_test(audit_log__sequence_numbers_of_folded_rows_are_the_largest),
      cmocka_unit_test(audit_log__own_columns_of_its_names_are_refused),
      cmocka_unit_test(binlog__states_are_arrays_of_one),
      cmocka_unit_test(binlog__packs_updates_of_changes),
      cmocka_unit_test(binlog__limit_counts_packed_rows),
      cmocka_unit_test(binlog__sequence_number_is_that_of_the_first),
      cmocka_unit_test(row_tracking__needs_the_option),
      cmocka_unit_test(row_tracking__counts_from_the_first_id),
      cmocka_unit_test(view__damaged_file_is_named),
      cmocka_unit_test(system__survives_failed_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
