/* Which buckets a predicate leaves. */
#include "plan/bucket_filter.h"

#include <stdio.h>
#include <string.h>

#include "table_maker.h"

#define FIELDS "0 p INT|1 k INT|2 s STRING|3 v INT"

/* "any" or the buckets of 0 .. n-1 that stay, "0 3". */
static const char *buckets(table_maker *tm, const tn_table *table, const char *where,
                           const char *partition, int32_t n_buckets) {
  static char text[256];
  const tn_pred *pred = tm_where(tm, table, where);
  tn_bucket_filter filter;
  tn_bucket_keys keys;
  tn_bucket_set *sets = NULL;
  tn_datum value = {0};
  size_t at = 0;
  int32_t n_kept = 0;
  OK(tn_bucket_filter_init(&filter, table, pred, &tm->arena, err));
  text[0] = '\0';
  if (!filter.is_active) {
    return "any";
  }
  keys = filter.common;
  if (filter.by_partition) {
    const tn_type type = {.root = TN_INT};
    OK(tn_datum_from_text(&tm->arena, &type, tn_slice_text(partition), tm->env->zone, &value, err));
    OK(tn_bucket_filter_keys(&filter, &value, &tm->arena, &keys, err));
  }
  for (int32_t b = 0; b < n_buckets; b++) {
    bool keeps;
    OK(tn_bucket_filter_test(&filter, &keys, b, n_buckets, &tm->arena, &sets, &keeps, err));
    if (keeps) {
      at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%d", at > 0 ? " " : "", (int)b);
      n_kept++;
    }
  }
  return n_kept == n_buckets ? "any" : text;
}

/* The bucket of one key by the same function. */
static int32_t bucket_of(table_maker *tm, const char *types, const char *values, int32_t n) {
  tn_slice bytes = tm_row(tm, types, values);
  tn_binary_row row;
  tn_type type[2] = {{.root = TN_INT}, {.root = TN_VARCHAR, .length = INT32_MAX}};
  const tn_type *list[2] = {&type[0], &type[1]};
  int32_t bucket;
  OK(tn_binary_row_decode(bytes, "key", &row, err));
  OK(tn_bucket_of(TN_BUCKET_DEFAULT, &row, list, n, &bucket, err));
  return bucket;
}

static void filter__takes_equals_and_in(void **state) {
  static const struct {
    const char *where;
    const char *keys; /* "1,2", or NULL: any */
  } CASES[] = {
      {"k = 5", "5"},
      {"k IN (5, 7)", "5,7"},
      {"k = 5 OR k = 7", "5,7"},
      {"k = 5 OR k IN (7, 9)", "5,7,9"},
      {"k = 5 AND v > 3", "5"},
      {"k IN (5, 7) AND k IN (7, 9)", "7"},
      {"k = 5 AND k > 3", "5"},
      {"k IN (5, NULL)", "5"},
      {"k > 5", NULL},
      {"k <> 5", NULL},
      {"v = 5", NULL},
      {"k = 5 OR v = 7", NULL},
      {"k = 5 OR k > 9", NULL},
      {"k = 5 AND k = 7", NULL}, /* contradictory: nothing is pruned */
      {"k NOT IN (1, 2)", NULL},
      {"k IS NULL", NULL},
  };
  table_maker tm;
  tn_table *table;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, FIELDS, "", "", "bucket=16;bucket-key=k");
  table = tm_table(&tm, "");
  for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
    const char *got = buckets(&tm, table, CASES[i].where, NULL, 16);
    char expected[128] = "", keys[64] = "";
    bool set[16] = {false};
    size_t at = 0;
    if (CASES[i].keys == NULL) {
      assert_string_equal(got, "any");
      continue;
    }
    snprintf(keys, sizeof(keys), "%s", CASES[i].keys);
    for (char *k = strtok(keys, ","); k != NULL; k = strtok(NULL, ",")) {
      set[bucket_of(&tm, "INT", k, 16)] = true;
    }
    for (int b = 0; b < 16; b++) {
      if (set[b]) {
        at += (size_t)snprintf(expected + at, sizeof(expected) - at, "%s%d", at > 0 ? " " : "", b);
      }
    }
    assert_string_equal(got, expected);
  }
  tn_table_release(table);
  tm_end(&tm);
}

/* Every bucket column must be fixed; combinations are hashed together. */
static void filter__needs_all_columns(void **state) {
  table_maker tm;
  tn_table *table;
  char expected[16];
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, FIELDS, "", "", "bucket=16;bucket-key=k,s");
  table = tm_table(&tm, "");
  assert_string_equal(buckets(&tm, table, "k = 5", NULL, 16), "any");
  assert_string_equal(buckets(&tm, table, "k = 5 AND s > 'a'", NULL, 16), "any");
  snprintf(expected, sizeof(expected), "%d", (int)bucket_of(&tm, "INT|STRING", "5|a", 16));
  assert_string_equal(buckets(&tm, table, "k = 5 AND s = 'a'", NULL, 16), expected);
  assert_string_equal(buckets(&tm, table, "s = 'a' AND k IN (5)", NULL, 16), expected);
  tn_table_release(table);
  tm_end(&tm);
}

/* Above 1000 combinations nothing is pruned. */
static void filter__stops_at_a_thousand_keys(void **state) {
  table_maker tm;
  tn_table *table;
  char where[16000] = "k IN (1";
  size_t at;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, FIELDS, "", "", "bucket=5000;bucket-key=k");
  table = tm_table(&tm, "");
  at = strlen(where);
  for (int i = 2; i <= 1000; i++) {
    at += (size_t)snprintf(where + at, sizeof(where) - at, ",%d", i);
  }
  snprintf(where + at, sizeof(where) - at, ")");
  assert_string_not_equal(buckets(&tm, table, where, NULL, 2), "");
  {
    tn_bucket_filter filter;
    OK(tn_bucket_filter_init(&filter, table, tm_where(&tm, table, where), &tm.arena, err));
    assert_true(filter.is_active);
    assert_int_equal(filter.common.n_rows, 1000);
    snprintf(where + at, sizeof(where) - at, ",1001)");
    OK(tn_bucket_filter_init(&filter, table, tm_where(&tm, table, where), &tm.arena, err));
    assert_false(filter.is_active);
  }
  tn_table_release(table);
  tm_end(&tm);
}

/* Leaves on partition columns are replaced by their truth in each partition. */
static void filter__follows_partitions(void **state) {
  static const char WHERE[] = "(p = 1 AND k = 5) OR (p = 2 AND k = 7)";
  table_maker tm;
  tn_table *table;
  char five[16], seven[16];
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, FIELDS, "p", "", "bucket=16;bucket-key=k");
  table = tm_table(&tm, "");
  snprintf(five, sizeof(five), "%d", (int)bucket_of(&tm, "INT", "5", 16));
  snprintf(seven, sizeof(seven), "%d", (int)bucket_of(&tm, "INT", "7", 16));
  assert_string_equal(buckets(&tm, table, WHERE, "1", 16), five);
  assert_string_equal(buckets(&tm, table, WHERE, "2", 16), seven);
  assert_string_equal(buckets(&tm, table, WHERE, "3", 16), "any");
  assert_string_equal(buckets(&tm, table, "p = 1 AND k = 5", "1", 16), five);
  assert_string_equal(buckets(&tm, table, "p = 1 OR k = 5", "2", 16), five);
  assert_string_equal(buckets(&tm, table, "p = 1 OR k = 5", "1", 16), "any");
  tn_table_release(table);
  tm_end(&tm);
}

/* The number of buckets is that of the entry, not of the table. */
static void filter__hashes_modulo_the_entrys_buckets(void **state) {
  table_maker tm;
  tn_table *table;
  tn_bucket_filter filter;
  tn_bucket_set *sets = NULL;
  bool keeps;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, FIELDS, "", "", "bucket=4;bucket-key=k");
  table = tm_table(&tm, "");
  OK(tn_bucket_filter_init(&filter, table, tm_where(&tm, table, "k = 5"), &tm.arena, err));
  for (int32_t n = 1; n <= 9; n++) {
    int32_t bucket = bucket_of(&tm, "INT", "5", n);
    for (int32_t b = 0; b < n; b++) {
      OK(tn_bucket_filter_test(&filter, &filter.common, b, n, &tm.arena, &sets, &keeps, err));
      assert_int_equal(keeps, b == bucket);
    }
  }
  // -1 and -2 are no numbers of buckets, and bucket-postpone has none.
  OK(tn_bucket_filter_test(&filter, &filter.common, 0, -1, &tm.arena, &sets, &keeps, err));
  assert_true(keeps);
  OK(tn_bucket_filter_test(&filter, &filter.common, -2, 4, &tm.arena, &sets, &keeps, err));
  assert_true(keeps);
  tn_table_release(table);
  tm_end(&tm);
}

static void filter__is_off_without_fixed_buckets(void **state) {
  table_maker tm;
  tn_table *table;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, FIELDS, "", "", "bucket=-1");
  table = tm_table(&tm, "");
  assert_string_equal(buckets(&tm, table, "k = 5", NULL, 4), "any");
  tn_table_release(table);
  tm_end(&tm);
}

/* NaN has many bit patterns and hashes by one of them. */
static void filter__does_not_hash_nan(void **state) {
  table_maker tm;
  tn_table *table;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 d DOUBLE", "", "", "bucket=16;bucket-key=d");
  table = tm_table(&tm, "");
  assert_string_equal(buckets(&tm, table, "d = 'NaN'", NULL, 16), "any");
  assert_string_not_equal(buckets(&tm, table, "d = 1.5", NULL, 16), "any");
  tn_table_release(table);
  tm_end(&tm);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(filter__takes_equals_and_in),
      cmocka_unit_test(filter__needs_all_columns),
      cmocka_unit_test(filter__stops_at_a_thousand_keys),
      cmocka_unit_test(filter__follows_partitions),
      cmocka_unit_test(filter__hashes_modulo_the_entrys_buckets),
      cmocka_unit_test(filter__is_off_without_fixed_buckets),
      cmocka_unit_test(filter__does_not_hash_nan),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
