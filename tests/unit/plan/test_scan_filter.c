/* Predicates against partitions and statistics. */
#include "plan/scan_filter.h"

#include "model/partition.h"

#include <stdio.h>
#include <string.h>

#include "index_maker.h"
#include "table_maker.h"

/* May a row of the file match? */
static bool value_matches(table_maker *tm, tn_table *table, const char *where,
                          const tn_data_file *file) {
  tn_scan_filter filter;
  tn_filter_memo memo;
  bool out = false;
  OK(tn_scan_filter_init(&filter, table, tm_where(tm, table, where), &tm->arena, err));
  tn_filter_memo_init(&memo, &filter, &tm->arena);
  OK(tn_scan_filter_value(&memo, file, &out, err));
  tn_filter_memo_reset(&memo);
  return out;
}

static bool key_matches(table_maker *tm, tn_table *table, const char *where,
                        const tn_data_file *file) {
  tn_scan_filter filter;
  tn_filter_memo memo;
  bool out = false;
  OK(tn_scan_filter_init(&filter, table, tm_where(tm, table, where), &tm->arena, err));
  tn_filter_memo_init(&memo, &filter, &tm->arena);
  OK(tn_scan_filter_key(&memo, file, &out, err));
  tn_filter_memo_reset(&memo);
  return out;
}

/* A file of 10 rows with statistics: names "a,b", NULL: all columns. */
static tn_data_file file_with(table_maker *tm, int64_t schema_id, const char *names,
                              const char *types, const char *min, const char *max,
                              const char *nulls) {
  tn_data_file f = tm_entry("f.parquet", 10).file;
  f.schema_id = schema_id;
  f.has_value_stats_cols = names != NULL;
  if (names != NULL) {
    f.value_stats_cols = tm_texts(tm, names);
  }
  f.value_stats.min_values = tm_row(tm, types, min);
  f.value_stats.max_values = tm_row(tm, types, max);
  f.value_stats.null_counts = tm_longs(tm, nulls);
  return f;
}

typedef struct filter_case {
  const char *where;
  bool matches;
} filter_case;

static void run_cases(table_maker *tm, tn_table *table, const tn_data_file *f,
                      const filter_case *cases, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (value_matches(tm, table, cases[i].where, f) != cases[i].matches) {
      fail_msg("%s: expected %s", cases[i].where, cases[i].matches ? "a match" : "none");
    }
  }
}
#define RUN(tm, table, f, cases) run_cases(tm, table, f, cases, sizeof(cases) / sizeof((cases)[0]))

static void value__by_bounds_and_null_counts(void **state) {
  static const filter_case CASES[] = {
      {"a = 5", true},
      {"a = 21", false},
      {"a < 1", false},
      {"a <= 1", true},
      {"a > 20", false},
      {"a IN (30, 40)", false},
      {"a IN (30, 4)", true},
      {"b = 'm'", true},
      {"b = 'z'", false},
      {"c IS NULL", true},
      {"c IS NOT NULL", false},
      {"c = 1", false},
      {"a IS NULL", false},
      {"a = 30 OR b = 'm'", true},
      {"a = 30 AND b = 'm'", false},
      {"a = 30 OR c = 1", false},
  };
  table_maker tm;
  tn_table *table;
  tn_data_file f;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 a INT|1 b STRING|2 c INT", "", "", "bucket=-1");
  table = tm_table(&tm, "");
  f = file_with(&tm, 0, NULL, "INT|STRING|INT", "1|k|null", "20|p|null", "0,0,10");
  RUN(&tm, table, &f, CASES);
  tn_table_release(table);
  tm_end(&tm);
}

/* Dense statistics name their columns; the others are unknown. */
static void value__dense_statistics(void **state) {
  static const filter_case CASES[] = {
      {"a = 99", true},  {"b = 'z'", false}, {"b = 'm'", true},
      {"c = 99", false}, {"c = 7", true},    {"a IS NULL", true},
  };
  static const filter_case NONE[] = {{"a = 99", true}, {"b = 'z'", true}, {"c IS NULL", true}};
  table_maker tm;
  tn_table *table;
  tn_data_file f;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 a INT|1 b STRING|2 c INT", "", "", "bucket=-1");
  table = tm_table(&tm, "");
  f = file_with(&tm, 0, "b,c", "STRING|INT", "k|7", "p|7", "0,0");
  RUN(&tm, table, &f, CASES);
  f = tm_entry("f.parquet", 10).file;  // an empty list: none at all
  RUN(&tm, table, &f, NONE);
  tn_table_release(table);
  tm_end(&tm);
}

/* Rows shorter than the columns, or no counts: unknown, never pruned, no failure. */
static void value__short_or_missing_statistics(void **state) {
  table_maker tm;
  tn_table *table;
  tn_data_file f;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 a INT|1 b INT|2 c INT|3 d INT", "", "", "bucket=-1");
  table = tm_table(&tm, "");
  f = file_with(&tm, 0, NULL, "INT|INT", "1|1", "2|2", "");
  assert_true(value_matches(&tm, table, "a = 99", &f));
  assert_true(value_matches(&tm, table, "d = 99", &f));
  f = file_with(&tm, 0, "a,b", "INT|INT", "1|1", "2|2", "");
  assert_true(value_matches(&tm, table, "a IS NULL", &f));
  assert_false(value_matches(&tm, table, "a = 99", &f));
  assert_true(value_matches(&tm, table, "d = 99", &f));
  f = file_with(&tm, 0, "a,b", "INT|INT", "1|null", "2|null", "null,null");
  assert_true(value_matches(&tm, table, "a IS NULL", &f));
  assert_true(value_matches(&tm, table, "b = 99", &f));
  tn_table_release(table);
  tm_end(&tm);
}

/* NaN is greatest and -0.0 < 0.0 in filters; bounds need not say so. */
static void value__float_bounds(void **state) {
  static const filter_case PLAIN[] = {
      {"d = -0.0", true},
      {"d < 0.0", true},
      {"d > 7", false},
      {"d = 0.0", true},
  };
  static const filter_case ORC[] = {{"d > 7", true}, {"d < -1", false}};
  static const filter_case NAN_MIN[] = {{"d > 7", true}, {"d < -1", true}, {"d = 3", true}};
  table_maker tm;
  tn_table *table;
  tn_data_file f;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 d DOUBLE", "", "", "bucket=-1");
  table = tm_table(&tm, "");
  f = file_with(&tm, 0, NULL, "DOUBLE", "0.0", "7.0", "0");
  RUN(&tm, table, &f, PLAIN);
  f.file_name = tn_slice_text("f.orc");
  RUN(&tm, table, &f, ORC);
  f = file_with(&tm, 0, NULL, "DOUBLE", "NaN", "NaN", "0");
  RUN(&tm, table, &f, NAN_MIN);
  f = file_with(&tm, 0, NULL, "DOUBLE", "-3.0", "-0.0", "0");
  assert_true(value_matches(&tm, table, "d = 0.0", &f));
  tn_table_release(table);
  tm_end(&tm);
}

/* Bytes: statistics are in unsigned order, filters of old releases in signed order. */
static void value__bytes_prune_by_equality_only(void **state) {
  table_maker tm;
  tn_table *table;
  tn_data_file f;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 b BYTES", "", "", "bucket=-1");
  table = tm_table(&tm, "");
  f = file_with(&tm, 0, NULL, "BYTES", "a", "c", "0");
  assert_false(value_matches(&tm, table, "b = X'7a'", &f));
  assert_true(value_matches(&tm, table, "b = X'62'", &f));
  assert_true(value_matches(&tm, table, "b > X'7a'", &f));
  assert_true(value_matches(&tm, table, "b < X'01'", &f));
  tn_table_release(table);
  tm_end(&tm);
}

/* Files of older schemas: columns by field id; statistics of a changed type only from integer to
 * wider integer, and only by literals that fit the old type. */
static void value__older_schemas(void **state) {
  static const filter_case CASES[] = {
      {"a2 = 99", false},       /* renamed */
      {"a2 = 5", true},         /* renamed */
      {"n = 5000000000", true}, /* INT became BIGINT: the literal is out of the old range */
      {"n = 50", false},        /* and here it fits */
      {"n = 15", true},         /* in the bounds */
      {"s > 9", true},          /* STRING became INT: '9' > '10' as text */
      {"s = 12345", true},      /* likewise */
      {"added = 3", false},     /* not there: all null */
      {"added IS NULL", true},  /* likewise */
      {"added > 3 OR a2 = 5", true},
      {"s > 9 AND a2 = 99", false}, /* what is unknown is left out of the AND */
      {"s > 9 OR a2 = 99", true},
  };
  table_maker tm;
  tn_table *table;
  tn_data_file f;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 a INT|1 n INT|2 s STRING|3 gone INT", "", "", "bucket=-1");
  tm_schema(&tm, 1, "2 s INT|0 a2 INT|4 added INT|1 n BIGINT", "", "", "bucket=-1");
  table = tm_table(&tm, "");
  f = file_with(&tm, 0, NULL, "INT|INT|STRING|INT", "1|10|10|1", "20|20|9|1", "0,0,0,0");
  RUN(&tm, table, &f, CASES);
  tn_table_release(table);
  tm_end(&tm);
}

/* Key statistics, for AND parts on key columns alone. */
/* ---------------------------------------------------------------- embedded file indexes */

/* A file of 5 rows without statistics, with an index of c. */
static tn_data_file file_with_index(table_maker *tm, int64_t schema_id, const char *column) {
  tn_data_file f = tm_entry("f.parquet", 5).file;
  f.schema_id = schema_id;
  f.has_embedded_index = true;
  f.embedded_index = make_bitmap_of(&tm->arena, column, "1,2,null,2,7");
  return f;
}

static void index__embedded_drops_append_files(void **state) {
  static const filter_case cases[] = {
      {"c = 2", true},
      {"c = 3", false},
      {"c IN (3, 4)", false},
      {"c IN (3, 7)", true},
      {"c <> 2", true},
      {"c < 1", true},  // a bitmap knows no order
      {"c IS NULL", true},
      {"c = 1 AND c = 2", false},
      {"c = 1 AND a = 100", true},
      {"c = 3 AND a = 100", false},
      {"c = 3 OR a = 100", true},
      {"c = 3 OR c = 4", false},
  };
  table_maker tm;
  tn_data_file f;
  tn_table *table;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 a INT|1 c INT", "", "", "");
  f = file_with_index(&tm, 0, "c");
  table = tm_table(&tm, "");
  run_cases(&tm, table, &f, cases, sizeof(cases) / sizeof(cases[0]));
  tn_table_release(table);
  table = tm_table(&tm, "file-index.read.enabled=false");
  assert_true(value_matches(&tm, table, "c = 3", &f));
  tn_table_release(table);
  tm_end(&tm);
}

static void index__embedded_is_asked_under_the_names_of_the_file(void **state) {
  static const filter_case cases[] = {
      {"renamed = 2", true}, {"renamed = 3", false}, {"old IS NULL", true}, {"old = 2", false}};
  table_maker tm;
  tn_data_file f;
  tn_table *table;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 a INT|1 old INT", "", "", "");
  f = file_with_index(&tm, 0, "old");
  tm_schema(&tm, 1, "0 a INT|1 renamed BIGINT|2 old INT", "", "", "");
  table = tm_table(&tm, "");
  run_cases(&tm, table, &f, cases, sizeof(cases) / sizeof(cases[0]));
  tn_table_release(table);
  tm_end(&tm);
}

/* Where rows are merged, dropping one version of a row could bring back another. */
static void index__embedded_drops_keyed_files_with_deletion_vectors_only(void **state) {
  static const struct {
    const char *options;
    bool matches;
  } cases[] = {{"bucket=1", true}, {"bucket=1;deletion-vectors.enabled=true", false}};
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    table_maker tm;
    tn_data_file f;
    tn_table *table;
    tm_begin(&tm, 1);
    tm_schema(&tm, 0, "0 a INT NOT NULL|1 c INT", "", "a", cases[i].options);
    f = file_with_index(&tm, 0, "c");
    table = tm_table(&tm, "");
    assert_int_equal(value_matches(&tm, table, "c = 3", &f), cases[i].matches);
    tn_table_release(table);
    tm_end(&tm);
  }
}

static void index__embedded_of_another_file_is_corrupt(void **state) {
  tarn_error error = {0};
  tn_scan_filter filter;
  tn_filter_memo memo;
  tn_data_file f;
  table_maker tm;
  tn_table *table;
  bool out;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 a INT|1 c INT", "", "", "");
  f = file_with_index(&tm, 0, "c");
  f.row_count = 6;
  table = tm_table(&tm, "");
  OK(tn_scan_filter_init(&filter, table, tm_where(&tm, table, "c = 3"), &tm.arena, err));
  tn_filter_memo_init(&memo, &filter, &tm.arena);
  assert_int_equal(tn_scan_filter_value(&memo, &f, &out, &error), TARN_E_CORRUPT);
  assert_contains(error.message, "data file f.parquet: bitmap index of column c");
  assert_contains(error.message, table->full_name);
  f.row_count = 5;
  ((uint8_t *)(uintptr_t)f.embedded_index.data)[11] = 2;  // of a newer Paimon
  OK(tn_scan_filter_value(&memo, &f, &out, err));
  assert_true(out);
  tn_filter_memo_reset(&memo);
  tn_table_release(table);
  tm_end(&tm);
}

static void key__tests_trimmed_primary_key(void **state) {
  table_maker tm;
  tn_table *table;
  tn_data_file f;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 p INT NOT NULL|1 k INT NOT NULL|2 v INT", "p", "p,k", "bucket=1");
  table = tm_table(&tm, "");
  f = tm_entry_keyed(&tm, "f", 0, 10, 20).file;
  assert_true(key_matches(&tm, table, "k = 15", &f));
  assert_false(key_matches(&tm, table, "k = 25", &f));
  assert_false(key_matches(&tm, table, "k = 25 AND v = 1", &f));
  assert_true(key_matches(&tm, table, "k = 25 OR v = 1", &f));
  assert_true(key_matches(&tm, table, "v = 1", &f));
  // Of an OR of ANDs the keys' part of each is enough.
  assert_true(key_matches(&tm, table, "(k = 15 AND v = 1) OR (k = 25 AND v = 2)", &f));
  assert_false(key_matches(&tm, table, "(k = 5 AND v = 1) OR k = 25", &f));
  assert_true(key_matches(&tm, table, "(k = 5 AND v = 1) OR v = 2", &f));
  assert_false(key_matches(&tm, table, "(v = 1 OR v = 2) AND ((k = 5 AND v = 1) OR k = 25)", &f));
  tn_table_release(table);
  tm_end(&tm);
}

static bool partition_matches(table_maker *tm, tn_table *table, const char *where,
                              const char *types, const char *values) {
  tn_scan_filter filter;
  tn_datum *datums;
  bool out;
  OK(tn_scan_filter_init(&filter, table, tm_where(tm, table, where), &tm->arena, err));
  OK(tn_partition_values(&tm->arena, table->schema, tm_row(tm, types, values), &datums, err));
  OK(tn_scan_filter_partition(&filter, datums, &out, err));
  return out;
}

/* Partition parts are tested on values, exactly; of mixed parts what they say of partitions alone.
 */
static void partition__exact_on_values(void **state) {
  table_maker tm;
  tn_table *table;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 v INT|1 q STRING|2 p INT", "p,q", "", "bucket=-1");
  table = tm_table(&tm, "");
  assert_true(partition_matches(&tm, table, "p = 1", "INT|STRING", "1|x"));
  assert_false(partition_matches(&tm, table, "p = 1", "INT|STRING", "2|x"));
  assert_false(partition_matches(&tm, table, "p = 1 AND q = 'y'", "INT|STRING", "1|x"));
  assert_true(partition_matches(&tm, table, "p = 1 OR q = 'y'", "INT|STRING", "1|x"));
  assert_true(partition_matches(&tm, table, "p = 1 OR v = 3", "INT|STRING", "2|x"));
  assert_false(partition_matches(&tm, table, "(p = 1 AND v = 3) OR p = 4", "INT|STRING", "2|x"));
  assert_true(partition_matches(&tm, table, "(p = 1 AND v = 3) OR p = 4", "INT|STRING", "1|x"));
  assert_true(partition_matches(&tm, table, "(p = 1 AND v = 3) OR v = 4", "INT|STRING", "2|x"));
  assert_true(partition_matches(&tm, table, "q IS NULL", "INT|STRING", "1|null"));
  assert_false(partition_matches(&tm, table, "q = ''", "INT|STRING", "1|null"));
  tn_table_release(table);
  tm_end(&tm);
}

static bool manifest_matches(table_maker *tm, tn_table *table, const char *where,
                             const tn_manifest_file *m) {
  tn_scan_filter filter;
  bool out;
  OK(tn_scan_filter_init(&filter, table, tm_where(tm, table, where), &tm->arena, err));
  OK(tn_scan_filter_manifest(&filter, m, &out, err));
  return out;
}

static void manifest__by_partition_statistics(void **state) {
  table_maker tm;
  tn_table *table;
  tn_manifest_file m = {.n_added = 3, .n_deleted = 1};
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 v INT|1 p INT|2 q STRING", "p,q", "", "bucket=-1");
  table = tm_table(&tm, "");
  m.partition_stats.min_values = tm_row(&tm, "INT|STRING", "10|null");
  m.partition_stats.max_values = tm_row(&tm, "INT|STRING", "20|null");
  m.partition_stats.null_counts = tm_longs(&tm, "0,4");
  assert_true(manifest_matches(&tm, table, "p = 15", &m));
  assert_false(manifest_matches(&tm, table, "p = 25", &m));
  assert_true(manifest_matches(&tm, table, "v = 25", &m));
  assert_false(manifest_matches(&tm, table, "q = 'x'", &m));  // all 4 are null
  assert_true(manifest_matches(&tm, table, "q IS NULL", &m));
  // No statistics (an old or odd writer): kept.
  m.partition_stats.min_values = m.partition_stats.max_values = tm_entry("x", 1).partition;
  m.partition_stats.null_counts = (tn_record_array){NULL, 0};
  assert_true(manifest_matches(&tm, table, "p = 25", &m));
  tn_table_release(table);
  tm_end(&tm);
}

static void filter__corrupt_statistics_are_told(void **state) {
  table_maker tm;
  tn_table *table;
  tn_data_file f;
  tn_scan_filter filter;
  tn_filter_memo memo;
  bool out;
  tarn_error error = {0};
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 s STRING", "", "", "bucket=-1");
  table = tm_table(&tm, "");
  f = file_with(&tm, 0, NULL, "STRING", "a long enough text", "b", "0");
  ((uint8_t *)(uintptr_t)f.value_stats.min_values.data)[4 + 8 + 4] = 0x77;  // its offset
  OK(tn_scan_filter_init(&filter, table, tm_where(&tm, table, "s = 'x'"), &tm.arena, err));
  tn_filter_memo_init(&memo, &filter, &tm.arena);
  assert_int_equal(tn_scan_filter_value(&memo, &f, &out, &error), TARN_E_CORRUPT);
  f.value_stats.min_values.len = 3;
  assert_int_equal(tn_scan_filter_value(&memo, &f, &out, &error), TARN_E_CORRUPT);
  tn_filter_memo_reset(&memo);
  tn_table_release(table);
  tm_end(&tm);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(value__by_bounds_and_null_counts),
      cmocka_unit_test(value__dense_statistics),
      cmocka_unit_test(value__short_or_missing_statistics),
      cmocka_unit_test(value__float_bounds),
      cmocka_unit_test(value__bytes_prune_by_equality_only),
      cmocka_unit_test(value__older_schemas),
      cmocka_unit_test(index__embedded_drops_append_files),
      cmocka_unit_test(index__embedded_is_asked_under_the_names_of_the_file),
      cmocka_unit_test(index__embedded_drops_keyed_files_with_deletion_vectors_only),
      cmocka_unit_test(index__embedded_of_another_file_is_corrupt),
      cmocka_unit_test(key__tests_trimmed_primary_key),
      cmocka_unit_test(partition__exact_on_values),
      cmocka_unit_test(manifest__by_partition_statistics),
      cmocka_unit_test(filter__corrupt_statistics_are_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
