/* Splits that may hold one of the first n rows. */
#include "plan/top_n.h"

#include <string.h>

#include "table_maker.h"

#define N(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* A file of 10 rows whose v is between min and max, with some nulls; no min: nothing is known. */
static tn_manifest_entry file(table_maker *tm, const char *name, const char *min, const char *max,
                              const char *nulls) {
  tn_manifest_entry e = tm_entry(name, 10);
  if (min != NULL) {
    e.file.value_stats_cols = tm_texts(tm, "v");
    e.file.value_stats.min_values = tm_row(tm, "INT", min);
    e.file.value_stats.max_values = tm_row(tm, "INT", max);
    e.file.value_stats.null_counts = tm_longs(tm, nulls);
  }
  return e;
}

static void begin(table_maker *tm, const char *options) {
  char all[200] = "bucket=-1;source.split.target-size=1 b;source.split.open-file-cost=1 b";
  tm_begin(tm, 1);
  strcat(all, options);
  tm_schema(tm, 0, "0 v INT|1 s STRING|2 d DOUBLE", "", "", all);
  {
    const tn_manifest_entry e[] = {
        file(tm, "a", "1", "5", "0"),        file(tm, "b", "3", "9", "2"),
        file(tm, "c", "7", "8", "0"),        file(tm, "x", NULL, NULL, ""),
        file(tm, "n", "null", "null", "10"),
    };
    tm_commit(tm, 1, e, N(e));
  }
}

static const char *plan(table_maker *tm, tn_table *table, const char *where, int64_t limit,
                        tn_top_n top) {
  tn_scan scan = {
      .table = table, .predicate = tm_where(tm, table, where), .limit = limit, .top = &top};
  tn_plan *out;
  char *text, *to;
  OK(tn_plan_create(&scan, &out, err));
  text = to = tn_arena_calloc(&tm->arena, 100, 1);
  for (int32_t i = 0; i < out->n_splits; i++) {
    for (int32_t f = 0; f < out->splits[i].n_files; f++) {
      *to++ = (char)out->splits[i].files[f].file_name.data[0];
    }
  }
  tn_plan_release(out);
  return text;
}

static void top_n__keeps_splits_that_may_hold_the_first(void **state) {
  static const struct {
    int64_t n;
    bool is_descending, nulls_first;
    const char *expected;
  } CASES[] = {
      /* x, of which nothing is known, always stays */
      {1, false, false, "ax"},    {2, false, false, "abx"},   {3, false, false, "abcx"},
      {4, false, false, "abcxn"}, {9, false, false, "abcxn"}, {0, false, false, "x"},
      {1, true, false, "bx"},     {2, true, false, "bcx"},    {1, false, true, "xn"},
      {2, false, true, "bxn"},    {3, false, true, "abxn"},   {3, true, true, "bcxn"},
  };
  table_maker tm;
  tn_table *table;
  (void)state;
  begin(&tm, "");
  table = tm_table(&tm, "");
  for (int i = 0; i < N(CASES); i++) {
    const char *text =
        plan(&tm, table, NULL, -1,
             (tn_top_n){0, CASES[i].n, CASES[i].is_descending, CASES[i].nulls_first});
    if (strcmp(text, CASES[i].expected) != 0) {
      fail_msg("case %d: %s, expected %s", i, text, CASES[i].expected);
    }
  }
  tn_table_release(table);
  tm_end(&tm);
}

static void top_n__keeps_all_where_bounds_tell_nothing(void **state) {
  table_maker tm;
  tn_table *table;
  (void)state;
  begin(&tm, "");
  table = tm_table(&tm, "");
  assert_string_equal(plan(&tm, table, NULL, -1, (tn_top_n){1, 1, false, false}), "abcxn");
  assert_string_equal(plan(&tm, table, NULL, -1, (tn_top_n){2, 1, false, false}), "abcxn");
  assert_string_equal(plan(&tm, table, NULL, -1, (tn_top_n){9, 1, false, false}), "abcxn");
  assert_string_equal(plan(&tm, table, NULL, -1, (tn_top_n){0, 101, false, false}), "abcxn");
  assert_string_equal(plan(&tm, table, "s <> 'x'", -1, (tn_top_n){0, 1, false, false}), "abcxn");
  assert_string_equal(plan(&tm, table, NULL, 45, (tn_top_n){0, 1, false, false}), "abcxn");
  tn_table_release(table);
  table = tm_table(&tm, "scan.ignore-lost-files=true");
  assert_string_equal(plan(&tm, table, NULL, -1, (tn_top_n){0, 1, false, false}), "abcxn");
  tn_table_release(table);
  tm_end(&tm);
  begin(&tm, ";deletion-vectors.enabled=true");
  table = tm_table(&tm, "");
  assert_string_equal(plan(&tm, table, NULL, -1, (tn_top_n){0, 1, false, false}), "abcxn");
  tn_table_release(table);
  tm_end(&tm);
}

/* A column that the file's schema lacks is null in all its rows. */
static void top_n__knows_columns_that_came_later(void **state) {
  table_maker tm;
  tn_table *table;
  (void)state;
  begin(&tm, "");
  tm_schema(&tm, 1, "0 v INT|1 s STRING|2 d DOUBLE|3 w INT", "", "",
            "bucket=-1;source.split.target-size=1 b;source.split.open-file-cost=1 b");
  table = tm_table(&tm, "");
  assert_string_equal(plan(&tm, table, NULL, -1, (tn_top_n){3, 1, false, true}), "a");
  tn_table_release(table);
  tm_end(&tm);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(top_n__keeps_splits_that_may_hold_the_first),
      cmocka_unit_test(top_n__keeps_all_where_bounds_tell_nothing),
      cmocka_unit_test(top_n__knows_columns_that_came_later),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
