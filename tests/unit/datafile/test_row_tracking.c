/* Row ids out of predicates and entries. (Reading them: tests/unit/read/test_evolution.c.) */
#include "datafile/row_tracking.h"

#include <stdio.h>

#include "data_maker.h"

static const tn_pred *leaf(table_maker *tm, tn_pred_op op, int64_t a, int64_t b, int n) {
  tn_datum literals[2] = {{.v.i64 = a}, {.v.i64 = b}};
  return tn_pred_leaf(&tm->arena, op, &tn_row_tracking_fields[0], literals, n);
}

static void assert_ids(table_maker *tm, const tn_pred *pred, const char *expected) {
  tn_ranges ids;
  char text[128] = "";
  size_t n = 0;
  tn_ranges_init(&ids, &tm->env->mem);
  OK(tn_row_ids_of_predicate(pred, &ids, err));
  for (size_t i = 0; i < ids.count; i++) {
    n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%lld", i > 0 ? " " : "",
                          (long long)ids.items[i].begin);
    n += (size_t)(ids.items[i].end == INT64_MAX ? snprintf(text + n, sizeof(text) - n, "..")
                                                : snprintf(text + n, sizeof(text) - n, "-%lld",
                                                           (long long)ids.items[i].end - 1));
  }
  assert_string_equal(text, expected);
  tn_ranges_reset(&ids);
}

static void row_ids__of_leaves(void **state) {
  static const struct {
    tn_pred_op op;
    int64_t a, b;
    int n;
    const char *ids;
  } cases[] = {
      {TN_PRED_EQ, 5, 0, 1, "5-5"},      {TN_PRED_EQ, -5, 0, 1, ""},
      {TN_PRED_LT, 5, 0, 1, "0-4"},      {TN_PRED_LT, INT64_MIN, 0, 1, ""},
      {TN_PRED_LE, 5, 0, 1, "0-5"},      {TN_PRED_GT, 5, 0, 1, "6.."},
      {TN_PRED_GT, INT64_MAX, 0, 1, ""}, {TN_PRED_GE, -1, 0, 1, "0.."},
      {TN_PRED_BETWEEN, 3, 4, 2, "3-4"}, {TN_PRED_BETWEEN, 4, 3, 2, ""},
      {TN_PRED_IN, 3, 7, 2, "3-3 7-7"},  {TN_PRED_IN, 3, 4, 2, "3-4"},
      {TN_PRED_NE, 3, 0, 1, "0.."},      {TN_PRED_IS_NULL, 0, 0, 0, "0.."},
  };
  table_maker tm;
  (void)state;
  tm_begin(&tm, 1);
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    assert_ids(&tm, leaf(&tm, cases[i].op, cases[i].a, cases[i].b, cases[i].n), cases[i].ids);
  }
  tm_end(&tm);
}

static void row_ids__of_compounds(void **state) {
  table_maker tm;
  const tn_pred *parts[2], *ors[2];
  tn_field other = {.id = 3, .name = "x", .type = {.root = TN_BIGINT}};
  tn_datum one = {.v.i64 = 1};
  (void)state;
  tm_begin(&tm, 1);
  parts[0] = leaf(&tm, TN_PRED_GE, 3, 0, 1);
  parts[1] = leaf(&tm, TN_PRED_LT, 6, 0, 1);
  assert_ids(&tm, tn_pred_compound(&tm.arena, TN_PRED_AND, parts, 2), "3-5");
  ors[0] = leaf(&tm, TN_PRED_EQ, 9, 0, 1);
  ors[1] = tn_pred_compound(&tm.arena, TN_PRED_AND, parts, 2);
  assert_ids(&tm, tn_pred_compound(&tm.arena, TN_PRED_OR, ors, 2), "3-5 9-9");
  parts[1] = tn_pred_leaf(&tm.arena, TN_PRED_EQ, &other, &one, 1); /* of another column */
  assert_ids(&tm, tn_pred_compound(&tm.arena, TN_PRED_AND, parts, 2), "3..");
  assert_ids(&tm, tn_pred_compound(&tm.arena, TN_PRED_OR, parts, 2), "0..");
  assert_ids(&tm, tn_pred_constant(&tm.arena, false), "");
  tm_end(&tm);
}

static void row_ids__of_entries(void **state) {
  static const struct {
    bool has;
    int64_t first, rows;
    bool is_known;
    int64_t last;
  } cases[] = {
      {true, 0, 1, true, 0},
      {true, 7, 3, true, 9},
      {true, 7, 0, true, 6},
      {false, 7, 3, false, 0},
      {true, -1, 3, false, 0},
      {true, INT64_MAX, 1, false, 0},
      {true, INT64_MAX - 1, 5, false, 0},
      {true, 3, -1, false, 0},
  };
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    tn_data_file file = {.has_first_row_id = cases[i].has,
                         .first_row_id = cases[i].first,
                         .row_count = cases[i].rows};
    int64_t first, last;
    assert_int_equal(tn_data_file_row_ids(&file, &first, &last), cases[i].is_known);
    if (cases[i].is_known) {
      assert_int_equal(first, cases[i].first);
      assert_int_equal(last, cases[i].last);
    }
  }
}

static void row_tracking__files_that_may_store_columns(void **state) {
  tn_slice stored[] = {tn_slice_text("a"), tn_slice_text("_ROW_ID")};
  tn_data_file file = {.has_first_row_id = true};
  (void)state;
  assert_false(tn_data_file_may_store(&file, &tn_row_tracking_fields[0]));
  file.has_first_row_id = false;
  assert_true(tn_data_file_may_store(&file, &tn_row_tracking_fields[0]));
  file.has_write_cols = true;
  file.write_cols = (tn_record_array){stored, 1};
  assert_false(tn_data_file_may_store(&file, &tn_row_tracking_fields[0]));
  file.write_cols.count = 2;
  assert_true(tn_data_file_may_store(&file, &tn_row_tracking_fields[0]));
  assert_false(tn_data_file_may_store(&file, &tn_row_tracking_fields[1]));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(row_ids__of_leaves),
      cmocka_unit_test(row_ids__of_compounds),
      cmocka_unit_test(row_ids__of_entries),
      cmocka_unit_test(row_tracking__files_that_may_store_columns),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
