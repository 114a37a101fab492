/* Files of data-evolution tables: which stand together, which cannot match; row ids in plans. */
#include "plan/evolution.h"

#include <stdio.h>

#include "datafile/row_tracking.h"
#include "table_maker.h"

#define EVOLVED "bucket=-1;row-tracking.enabled=true;data-evolution.enabled=true"

/* ------------------------------------------------------------------ spans */

static void spans__stand_together_when_they_overlap(void **state) {
  static const struct {
    tn_row_span spans[6];
    int n;
    const char *groups; /* numbers of files; "|" between groups */
  } cases[] = {
      {{{0, 0, 0}}, 0, ""},
      {{{5, 9, 0}, {0, 4, 1}}, 2, "1|0"},
      {{{0, 4, 0}, {5, 9, 1}, {0, 4, 2}}, 3, "0 2|1"},
      {{{0, 9, 0}, {3, 3, 1}, {9, 12, 2}, {13, 13, 3}}, 4, "0 1 2|3"},
      {{{4, 9, 0}, {0, 9, 1}, {0, 3, 2}}, 3, "0 1 2"},
      {{{-1, -1, 0}, {0, 1, 1}, {-1, -1, 2}, {1, 5, 3}}, 4, "0|2|1 3"},
  };
  table_maker tm;
  (void)state;
  tm_begin(&tm, 1);
  for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
    tn_row_span spans[6];
    int64_t *begins, n_groups;
    char text[64] = "";
    size_t n = 0;
    memcpy(spans, cases[c].spans, sizeof(spans));
    OK(tn_row_spans_group(&tm.arena, spans, cases[c].n, &begins, &n_groups, err));
    for (int64_t g = 0; g < n_groups; g++) {
      for (int64_t i = begins[g]; i < begins[g + 1]; i++) {
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%d",
                              i == 0           ? ""
                              : i == begins[g] ? "|"
                                               : " ",
                              (int)spans[i].file);
      }
    }
    assert_string_equal(text, cases[c].groups);
  }
  tm_end(&tm);
}

static void spans__tell_kinds_of_files_by_name(void **state) {
  (void)state;
  assert_true(tn_is_blob_file(tn_slice_text("data-1.blob")));
  assert_false(tn_is_blob_file(tn_slice_text("data-1.blob.avro")));
  assert_true(tn_is_vector_file(tn_slice_text("data-1.vector.avro")));
  assert_false(tn_is_vector_file(tn_slice_text("data-1.avro")));
  assert_false(tn_is_vector_file(tn_slice_text("vector.avro")));
}

/* ------------------------------------------------------------------ plans */

/* A file of INT columns with bounds "1,5": minima and maxima of the columns that it has. */
static tn_manifest_entry file_of(table_maker *tm, const char *name, int64_t first, int64_t sequence,
                                 const char *columns, const char *types, const char *min,
                                 const char *max, const char *nulls) {
  tn_manifest_entry e = tm_entry(name, 10);
  e.file.schema_id = tm->schema->id;
  e.file.has_value_stats_cols = false;
  e.file.has_first_row_id = true;
  e.file.first_row_id = first;
  e.file.min_sequence = e.file.max_sequence = sequence;
  e.file.value_stats.min_values = tm_row(tm, types, min);
  e.file.value_stats.max_values = tm_row(tm, types, max);
  e.file.value_stats.null_counts = tm_longs(tm, nulls);
  e.file.value_stats.has_null_counts = true;
  if (columns != NULL) {
    e.file.has_write_cols = true;
    e.file.write_cols = tm_texts(tm, columns);
  }
  return e;
}

static void assert_plans(table_maker *tm, const char *const cases[][2], size_t n) {
  tn_table *table = tm_table(tm, "");
  for (size_t i = 0; i < n; i++) {
    assert_string_equal(tm_plan(tm, table, cases[i][0], -1), cases[i][1]);
  }
  tn_table_release(table);
}

static void plan__prunes_rows_by_the_newest_file_of_a_column(void **state) {
  static const char *const cases[][2] = {
      {NULL, "0[a b c d](20)"},    {"a = 3", ""}, /* in the older file only */
      {"a = 105", "0[a b](10)"},   {"id = 3", "0[a b](10)"},
      {"id = 13", "0[c d](10)"},   {"n = 5", "0[a b c d](20)"}, /* no statistics of n anywhere */
      {"a = 105 AND id = 13", ""}, {"a = 105 OR id = 13", "0[a b c d](20)"},
  };
  table_maker tm;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 id INT|1 a INT|2 n INT|3 p BLOB", "", "", EVOLVED);
  tn_manifest_entry entries[] = {
      file_of(&tm, "a", 0, 1, "id,a", "INT|INT", "0|0", "9|9", "0,0"),
      file_of(&tm, "b", 0, 3, "a", "INT", "100", "109", "0"),
      file_of(&tm, "c", 10, 2, "id,a", "INT|INT", "10|10", "19|19", "0,0"),
      file_of(&tm, "d", 10, 4, "p", "INT", "1", "1", "0"),
  };
  entries[3].file.file_name = tm_text("d.blob");
  tm_commit(&tm, 1, entries, 4);
  tn_table *table = tm_table(&tm, "");
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    const char *expected = cases[i][1];
    char *text = tn_arena_printf(&tm.arena, "%s", tm_plan(&tm, table, cases[i][0], -1));
    char *dot = strstr(text, ".blob");
    if (dot != NULL) {
      memmove(dot, dot + 5, strlen(dot + 5) + 1);
    }
    assert_string_equal(text, expected);
  }
  tn_table_release(table);
  tm_end(&tm);
}

static void plan__keeps_rows_of_which_a_file_holds_a_part(void **state) {
  static const char *const cases[][2] = {{"a = 3", "0[a b](10)"}};
  table_maker tm;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 id INT|1 a INT", "", "", EVOLVED);
  tn_manifest_entry entries[] = {
      file_of(&tm, "a", 0, 1, "id,a", "INT|INT", "0|0", "9|9", "0,0"),
      file_of(&tm, "b", 0, 3, "a", "INT", "100", "109", "0"),
  };
  entries[1].file.row_count = 5; /* rows 5 to 9 have the older values */
  tm_commit(&tm, 1, entries, 2);
  assert_plans(&tm, cases, 1);
  tm_end(&tm);
}

static void plan__does_not_count_rows_of_files_that_overlap_in_part(void **state) {
  static const char *const cases[][2] = {{NULL, "0[a b](?)"}};
  table_maker tm;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 id INT|1 a INT", "", "", EVOLVED);
  tn_manifest_entry entries[] = {
      file_of(&tm, "a", 0, 1, "id,a", "INT|INT", "0|0", "9|9", "0,0"),
      file_of(&tm, "b", 5, 3, "a", "INT", "100", "109", "0"),
  };
  tm_commit(&tm, 1, entries, 2);
  assert_plans(&tm, cases, 1);
  tm_end(&tm);
}

static void plan__follows_statistics_through_schemas(void **state) {
  static const char *const cases[][2] = {
      {"wider = 105", "0[a b](10)"},
      {"wider = 3", ""},
      {"text = '3'", "0[a b](10)"}, /* bounds of numbers tell nothing of texts */
  };
  table_maker tm;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 id INT|1 a INT", "", "", EVOLVED);
  tn_manifest_entry entries[] = {
      file_of(&tm, "a", 0, 1, "id,a", "INT|INT", "100|0", "109|9", "0,0"),
      file_of(&tm, "b", 0, 3, "a", "INT", "100", "109", "0"),
  };
  tm_schema(&tm, 1, "0 text STRING|1 wider BIGINT", "", "", EVOLVED);
  tm_commit(&tm, 1, entries, 2);
  assert_plans(&tm, cases, sizeof(cases) / sizeof(cases[0]));
  tm_end(&tm);
}

/* Plan with a predicate on _ROW_ID. */
static const char *plan_of_ids(table_maker *tm, tn_table *table, int64_t min, int64_t max,
                               int64_t *manifests) {
  tn_datum literals[2] = {{.v.i64 = min}, {.v.i64 = max}};
  tn_scan scan = {.table = table, .limit = -1};
  tn_plan *plan;
  const char *text;
  scan.predicate =
      tn_pred_leaf(&tm->arena, TN_PRED_BETWEEN, &tn_row_tracking_fields[0], literals, 2);
  OK(tn_plan_create(&scan, &plan, err));
  text = tm_plan_text(tm, plan);
  *manifests = plan->stats.manifests_read;
  tn_plan_release(plan);
  return text;
}

static void plan__prunes_files_by_row_ids(void **state) {
  static const char *const options[] = {EVOLVED, "bucket=-1;row-tracking.enabled=true"};
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    table_maker tm;
    int64_t manifests;
    tm_begin(&tm, 1);
    tm_schema(&tm, 0, "0 id INT", "", "", options[i]);
    tn_manifest_entry entries[] = {
        file_of(&tm, "a", 0, 1, NULL, "INT", "0", "9", "0"),
        file_of(&tm, "b", 10, 2, NULL, "INT", "0", "9", "0"),
        file_of(&tm, "c", 20, 3, NULL, "INT", "0", "9", "0"),
    };
    tm_commit(&tm, 1, entries, 3);
    tn_table *table = tm_table(&tm, "");
    assert_string_equal(plan_of_ids(&tm, table, 9, 10, &manifests), "0[a b]raw(20)");
    assert_string_equal(plan_of_ids(&tm, table, 20, 20, &manifests), "0[c]raw(10)");
    assert_int_equal(manifests, 1);
    assert_string_equal(plan_of_ids(&tm, table, 30, 99, &manifests), "");
    tn_table_release(table);
    tm_end(&tm);
  }
}

static void plan__leaves_out_manifests_of_other_row_ids(void **state) {
  table_maker tm;
  int64_t manifests;
  tn_manifest_file lists[2];
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 id INT", "", "", EVOLVED);
  for (int i = 0; i < 2; i++) {
    tn_manifest_entry e = file_of(&tm, i == 0 ? "a" : "b", 10 * i, 1, NULL, "INT", "0", "9", "0");
    lists[i] = tm_manifest(&tm, &e, 1);
    lists[i].has_row_id_min = lists[i].has_row_id_max = true;
    lists[i].min_row_id = 10 * i;
    lists[i].max_row_id = 10 * i + 9;
  }
  tm_snapshot(&tm, &(tm_snapshot_parts){.id = 1, .base = tm_list(&tm, lists, 2)});
  tn_table *table = tm_table(&tm, "");
  assert_string_equal(plan_of_ids(&tm, table, 12, 13, &manifests), "0[b]raw(10)");
  assert_int_equal(manifests, 1);
  tn_table_release(table);
  tm_end(&tm);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(spans__stand_together_when_they_overlap),
      cmocka_unit_test(spans__tell_kinds_of_files_by_name),
      cmocka_unit_test(plan__prunes_rows_by_the_newest_file_of_a_column),
      cmocka_unit_test(plan__keeps_rows_of_which_a_file_holds_a_part),
      cmocka_unit_test(plan__does_not_count_rows_of_files_that_overlap_in_part),
      cmocka_unit_test(plan__follows_statistics_through_schemas),
      cmocka_unit_test(plan__prunes_files_by_row_ids),
      cmocka_unit_test(plan__leaves_out_manifests_of_other_row_ids),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
