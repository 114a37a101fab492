/* Parquet files as old or odd writers make them, put together by hand. */
#include "format/parquet/parquet.h"
#include "parquet_maker.h"
#include "rows_text.h"
#include "support/test.h"

/* Read `row` from the made file and compare its lines, which are given joined by line ends. Reads
 * again row by row and by ranges: the result must be the same. */
static void check_made(parquet_maker *m, int64_t n_rows, const char *row, const char *expected) {
  format_test t;
  tarn_error err;
  tn_format_file *file;
  rows_text rows, single;
  rows_request request = {0};
  tn_buf text;
  format_test_begin(&t);
  tn_buf_init(&text, &t.env->mem, 1 << 20);
  assert_works(open_bytes(&t, &tn_parquet_format, maker_end(m, n_rows), &file, &err), err);
  request.fields = sql_fields(&t, row, &request.n_fields);
  assert_works(read_rows(&t, file, &request, &rows, &err), err);
  for (int64_t i = 0; i < rows.n; i++) {
    assert_works(tn_buf_printf(&text, &err, "%s%s", i > 0 ? "\n" : "", rows.lines[i]), err);
  }
  assert_works(tn_buf_append(&text, "", 1, &err), err);
  assert_string_equal((const char *)text.data, expected);
  request.batch_rows = 1;
  request.allows_encoded = true;
  assert_works(read_rows(&t, file, &request, &single, &err), err);
  assert_int_equal(single.n, rows.n);
  for (int64_t i = 0; i < rows.n; i++) {
    tn_ranges one;
    rows_text some;
    assert_string_equal(single.lines[i], rows.lines[i]);
    tn_ranges_init(&one, &t.env->mem);
    assert_works(tn_ranges_add(&one, i, i + 1, &err), err);
    request.rows = &one;
    assert_works(read_rows(&t, file, &request, &some, &err), err);
    assert_int_equal(some.n, 1);
    assert_string_equal(some.lines[0], rows.lines[i]);
    tn_ranges_reset(&one);
  }
  tn_buf_reset(&text);
  tn_format_file_release(file);
  format_test_end(&t);
  maker_free(m);
}

/* One column, one page of PLAIN INT32 1, 2, 3, ... */
static void ints_page(parquet_maker *m, int32_t n_entries, const char *rep, const char *def,
                      int32_t n_present) {
  uint8_t values[64 * 4];
  memset(values, 0, sizeof(values));
  for (int32_t i = 0; i < n_present; i++) {
    values[4 * i] = (uint8_t)(i + 1);
  }
  maker_chunk(m, n_entries);
  maker_page(m, &(maker_page_spec){.n_values = n_entries,
                                   .rep = rep,
                                   .def = def,
                                   .values = tn_slice_of(values, (size_t)n_present * 4)});
}

/* ------------------------------------------------------------------ levels */

static void levels__bit_packed_from_the_top(void **state) {
  parquet_maker m;
  (void)state;
  maker_begin(&m);
  maker_leaf(&m, "x", TN_PQ_OPTIONAL, TN_PQ_INT32, 0, MAKER_PLAIN_TYPE);
  maker_chunk(&m, 10);
  maker_page(&m, &(maker_page_spec){.n_values = 10,
                                    .def = "1011000001",
                                    .levels_are_packed = true,
                                    .max_def = 1,
                                    .values = LITERAL("\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0")});
  check_made(&m, 10, "ROW<x INT>",
             "[1]\n[null]\n[2]\n[3]\n[null]\n[null]\n[null]\n[null]\n[null]\n[4]");
}

static void levels__bit_packed_of_lists(void **state) {
  parquet_maker m;
  (void)state;
  maker_begin(&m);
  maker_group(&m, "l", TN_PQ_OPTIONAL, 1, MAKER_LIST);
  maker_group(&m, "list", TN_PQ_REPEATED, 1, MAKER_PLAIN_TYPE);
  maker_leaf(&m, "element", TN_PQ_OPTIONAL, TN_PQ_INT32, 0, MAKER_PLAIN_TYPE);
  maker_chunk(&m, 5);
  maker_page(&m, &(maker_page_spec){.n_values = 5,
                                    .rep = "01001",
                                    .def = "32031",
                                    .levels_are_packed = true,
                                    .max_rep = 1,
                                    .max_def = 3,
                                    .values = LITERAL("\1\0\0\0\2\0\0\0")});
  // the last entry goes on with its list, but has no item: its level cannot be 1
  format_test t;
  tarn_error err;
  tn_format_file *file;
  rows_text rows;
  rows_request request = {0};
  format_test_begin(&t);
  assert_works(open_bytes(&t, &tn_parquet_format, maker_end(&m, 3), &file, &err), err);
  assert_int_equal(read_rows(&t, file, &request, &rows, &err), TARN_E_CORRUPT);
  assert_contains(err.message, "levels contradict the shape of `l`");
  tn_format_file_release(file);
  format_test_end(&t);
  maker_free(&m);
}

/* Rows of v1 pages may go on in the next page. */
static void levels__rows_across_pages(void **state) {
  parquet_maker m;
  (void)state;
  maker_begin(&m);
  maker_leaf(&m, "x", TN_PQ_REPEATED, TN_PQ_INT32, 0, MAKER_PLAIN_TYPE);
  maker_chunk(&m, 7);
  maker_page(&m,
             &(maker_page_spec){
                 .n_values = 2, .rep = "01", .def = "11", .values = LITERAL("\1\0\0\0\2\0\0\0")});
  maker_page(&m, &(maker_page_spec){.n_values = 0, .rep = "", .def = ""});
  maker_page(&m,
             &(maker_page_spec){
                 .n_values = 2, .rep = "11", .def = "11", .values = LITERAL("\3\0\0\0\4\0\0\0")});
  maker_page(&m,
             &(maker_page_spec){
                 .n_values = 3, .rep = "100", .def = "110", .values = LITERAL("\5\0\0\0\6\0\0\0")});
  check_made(&m, 3, "ROW<x ARRAY<INT>>", "[[1, 2, 3, 4, 5]]\n[[6]]\n[[]]");
}

/* ------------------------------------------------------------------ lists and maps */

static void shape__two_level_list(void **state) {
  parquet_maker m;
  (void)state;
  maker_begin(&m);
  maker_group(&m, "l", TN_PQ_OPTIONAL, 1, MAKER_LIST);
  maker_leaf(&m, "array", TN_PQ_REPEATED, TN_PQ_INT32, 0, MAKER_PLAIN_TYPE);
  ints_page(&m, 5, "01000", "22012", 3);
  check_made(&m, 4, "ROW<l ARRAY<INT>>", "[[1, 2]]\n[null]\n[[]]\n[[3]]");
}

static void shape__list_of_groups_named_array_or_tuple(void **state) {
  static const char *const names[] = {"array", "l_tuple"};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(names); i++) {
    parquet_maker m;
    maker_begin(&m);
    maker_group(&m, "l", TN_PQ_OPTIONAL, 1, MAKER_LIST);
    maker_group(&m, names[i], TN_PQ_REPEATED, 1, MAKER_PLAIN_TYPE);
    maker_leaf(&m, "x", TN_PQ_OPTIONAL, TN_PQ_INT32, 0, MAKER_PLAIN_TYPE);
    ints_page(&m, 3, "010", "321", 1);
    check_made(&m, 2, "ROW<l ARRAY<ROW<x INT>>>", "[[[1], [null]]]\n[[]]");
  }
}

static void shape__list_of_groups_of_two(void **state) {
  parquet_maker m;
  (void)state;
  maker_begin(&m);
  maker_group(&m, "l", TN_PQ_REQUIRED, 1, MAKER_LIST);
  maker_group(&m, "element", TN_PQ_REPEATED, 2, MAKER_PLAIN_TYPE);
  maker_leaf(&m, "x", TN_PQ_REQUIRED, TN_PQ_INT32, 0, MAKER_PLAIN_TYPE);
  maker_leaf(&m, "y", TN_PQ_OPTIONAL, TN_PQ_INT32, 0, MAKER_PLAIN_TYPE);
  ints_page(&m, 3, "010", "110", 2);
  ints_page(&m, 3, "010", "210", 1);
  check_made(&m, 2, "ROW<l ARRAY<ROW<y INT, x INT>>>", "[[[1, 1], [null, 2]]]\n[[]]");
}

static void shape__repeated_group_without_annotation(void **state) {
  parquet_maker m;
  (void)state;
  maker_begin(&m);
  maker_group(&m, "g", TN_PQ_OPTIONAL, 1, MAKER_PLAIN_TYPE);
  maker_group(&m, "p", TN_PQ_REPEATED, 1, MAKER_PLAIN_TYPE);
  maker_leaf(&m, "x", TN_PQ_REQUIRED, TN_PQ_INT32, 0, MAKER_PLAIN_TYPE);
  ints_page(&m, 4, "0100", "2201", 2);
  check_made(&m, 3, "ROW<g ROW<p ARRAY<ROW<x INT>>>>", "[[[[1], [2]]]]\n[null]\n[[[]]]");
}

static void make_map(parquet_maker *m, maker_type outer, maker_type inner, bool has_value) {
  maker_begin(m);
  maker_group(m, "m", TN_PQ_OPTIONAL, 1, outer);
  maker_group(m, "map", TN_PQ_REPEATED, has_value ? 2 : 1, inner);
  maker_leaf(m, "k", TN_PQ_REQUIRED, TN_PQ_INT32, 0, MAKER_PLAIN_TYPE);
  if (has_value) {
    maker_leaf(m, "v", TN_PQ_OPTIONAL, TN_PQ_INT32, 0, MAKER_PLAIN_TYPE);
  }
  ints_page(m, 4, "0100", "2201", 2);
  if (has_value) {
    ints_page(m, 4, "0100", "3201", 1);
  }
}

static void shape__maps_by_position(void **state) {
  static const maker_type kinds[][2] = {{MAKER_MAP, MAKER_MAP_KEY_VALUE},
                                        {MAKER_MAP_KEY_VALUE, MAKER_PLAIN_TYPE},
                                        {MAKER_MAP, MAKER_PLAIN_TYPE}};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(kinds); i++) {
    parquet_maker m;
    make_map(&m, kinds[i][0], kinds[i][1], true);
    check_made(&m, 3, "ROW<m MAP<INT, INT>>", "[[[1, 1], [2, null]]]\n[null]\n[[]]");
  }
}

static void shape__map_without_value(void **state) {
  parquet_maker m;
  (void)state;
  make_map(&m, MAKER_MAP, MAKER_MAP_KEY_VALUE, false);
  check_made(&m, 3, "ROW<m MAP<INT, STRING>>", "[[[1, null], [2, null]]]\n[null]\n[[]]");
}

static void shape__multiset_is_a_map(void **state) {
  parquet_maker m;
  (void)state;
  make_map(&m, MAKER_MAP, MAKER_MAP_KEY_VALUE, true);
  check_made(&m, 3, "ROW<m MULTISET<INT>>", "[[[1, 1], [2, null]]]\n[null]\n[[]]");
}

/* ------------------------------------------------------------------ what the file lacks */

static void missing__columns_and_fields_are_null(void **state) {
  parquet_maker m;
  (void)state;
  maker_begin(&m);
  maker_leaf(&m, "x", TN_PQ_REQUIRED, TN_PQ_INT32, 0, MAKER_PLAIN_TYPE);
  maker_group(&m, "g", TN_PQ_OPTIONAL, 1, MAKER_PLAIN_TYPE);
  maker_leaf(&m, "y", TN_PQ_OPTIONAL, TN_PQ_INT32, 0, MAKER_PLAIN_TYPE);
  ints_page(&m, 3, NULL, NULL, 3);
  ints_page(&m, 3, NULL, "201", 1);
  check_made(&m, 3, "ROW<no STRING, g ROW<z BIGINT, y INT>, none ARRAY<INT>, x INT>",
             "[null, [null, 1], null, 1]\n[null, null, null, 2]\n[null, [null, null], null, 3]");
}

/* The shape of a group is known even if none of its wanted fields is there. */
static void missing__fields_leave_their_group(void **state) {
  parquet_maker m;
  (void)state;
  maker_begin(&m);
  maker_group(&m, "g", TN_PQ_OPTIONAL, 1, MAKER_PLAIN_TYPE);
  maker_leaf(&m, "y", TN_PQ_OPTIONAL, TN_PQ_INT32, 0, MAKER_PLAIN_TYPE);
  ints_page(&m, 3, NULL, "201", 1);
  check_made(&m, 3, "ROW<g ROW<z BIGINT>>", "[[null]]\n[null]\n[[null]]");
}

static void missing__fields_leave_the_items_of_a_list(void **state) {
  parquet_maker m;
  (void)state;
  maker_begin(&m);
  maker_group(&m, "l", TN_PQ_OPTIONAL, 1, MAKER_LIST);
  maker_group(&m, "list", TN_PQ_REPEATED, 1, MAKER_PLAIN_TYPE);
  maker_group(&m, "element", TN_PQ_OPTIONAL, 1, MAKER_PLAIN_TYPE);
  maker_leaf(&m, "x", TN_PQ_REQUIRED, TN_PQ_INT32, 0, MAKER_PLAIN_TYPE);
  ints_page(&m, 5, "01000", "32013", 2);
  check_made(&m, 4, "ROW<l ARRAY<ROW<z STRING>>>", "[[[null], null]]\n[null]\n[[]]\n[[[null]]]");
}

static void missing__only_rows_are_counted(void **state) {
  parquet_maker m;
  (void)state;
  maker_begin(&m);
  maker_leaf(&m, "x", TN_PQ_REQUIRED, TN_PQ_INT32, 0, MAKER_PLAIN_TYPE);
  ints_page(&m, 2, NULL, NULL, 2);
  check_made(&m, 2, "ROW<no STRING>", "[null]\n[null]");
}

/* ------------------------------------------------------------------ pages */

static void dictionary_page(parquet_maker *m) {
  maker_dictionary(m, 2, LITERAL("\7\0\0\0\x09\0\0\0"));
}

static void pages__dictionary_is_found_by_looking(void **state) {
  parquet_maker m;
  (void)state;
  maker_begin(&m);
  maker_leaf(&m, "x", TN_PQ_REQUIRED, TN_PQ_INT32, 0, MAKER_PLAIN_TYPE);
  maker_chunk(&m, 3)->hides_dictionary = true;
  dictionary_page(&m);
  maker_page(&m, &(maker_page_spec){.n_values = 3,
                                    .encoding = TN_PQ_RLE_DICTIONARY,
                                    .values = LITERAL("\1\x02\1\x04\0")});
  check_made(&m, 3, "ROW<x INT>", "[9]\n[7]\n[7]");
}

static void pages__index_pages_are_stepped_over(void **state) {
  parquet_maker m;
  (void)state;
  maker_begin(&m);
  maker_leaf(&m, "x", TN_PQ_REQUIRED, TN_PQ_INT32, 0, MAKER_PLAIN_TYPE);
  maker_chunk(&m, 3);
  dictionary_page(&m);
  maker_index_page(&m);
  maker_page(&m,
             &(maker_page_spec){
                 .n_values = 1, .encoding = TN_PQ_PLAIN_DICTIONARY, .values = LITERAL("\1\x02\1")});
  maker_index_page(&m);
  maker_page(&m, &(maker_page_spec){.n_values = 2, .values = LITERAL("\1\0\0\0\2\0\0\0")});
  check_made(&m, 3, "ROW<x INT>", "[9]\n[1]\n[2]");
}

static void pages__booleans_of_every_encoding(void **state) {
  parquet_maker m;
  (void)state;
  maker_begin(&m);
  maker_leaf(&m, "x", TN_PQ_REQUIRED, TN_PQ_BOOLEAN, 0, MAKER_PLAIN_TYPE);
  maker_chunk(&m, 15);
  maker_page(&m, &(maker_page_spec){.n_values = 3, .values = LITERAL("\5")});
  maker_page(&m, &(maker_page_spec){
                     .n_values = 4, .encoding = TN_PQ_RLE, .values = LITERAL("\2\0\0\0\3\x0a")});
  maker_page(&m, &(maker_page_spec){.n_values = 8,
                                    .n_rows = 8,
                                    .is_v2 = true,
                                    .encoding = TN_PQ_RLE,
                                    .values = LITERAL("\4\0\0\0\6\1\xa\0")});
  check_made(&m, 15, "ROW<x BOOLEAN>",
             "[true]\n[false]\n[true]\n[false]\n[true]\n[false]\n[true]\n[true]\n[true]\n[true]\n"
             "[false]\n[false]\n[false]\n[false]\n[false]");
}

static void pages__of_both_versions_in_one_column(void **state) {
  parquet_maker m;
  (void)state;
  maker_begin(&m);
  maker_leaf(&m, "x", TN_PQ_OPTIONAL, TN_PQ_INT32, 0, MAKER_PLAIN_TYPE);
  maker_chunk(&m, 5);
  maker_page(&m, &(maker_page_spec){.n_values = 2, .def = "10", .values = LITERAL("\1\0\0\0")});
  maker_page(&m, &(maker_page_spec){.n_values = 3,
                                    .n_rows = 3,
                                    .is_v2 = true,
                                    .def = "011",
                                    .values = LITERAL("\2\0\0\0\3\0\0\0")});
  check_made(&m, 5, "ROW<x INT>", "[1]\n[null]\n[null]\n[2]\n[3]");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(levels__bit_packed_from_the_top),
      cmocka_unit_test(levels__bit_packed_of_lists),
      cmocka_unit_test(levels__rows_across_pages),
      cmocka_unit_test(shape__two_level_list),
      cmocka_unit_test(shape__list_of_groups_named_array_or_tuple),
      cmocka_unit_test(shape__list_of_groups_of_two),
      cmocka_unit_test(shape__repeated_group_without_annotation),
      cmocka_unit_test(shape__maps_by_position),
      cmocka_unit_test(shape__map_without_value),
      cmocka_unit_test(shape__multiset_is_a_map),
      cmocka_unit_test(missing__columns_and_fields_are_null),
      cmocka_unit_test(missing__fields_leave_their_group),
      cmocka_unit_test(missing__fields_leave_the_items_of_a_list),
      cmocka_unit_test(missing__only_rows_are_counted),
      cmocka_unit_test(pages__dictionary_is_found_by_looking),
      cmocka_unit_test(pages__index_pages_are_stepped_over),
      cmocka_unit_test(pages__booleans_of_every_encoding),
      cmocka_unit_test(pages__of_both_versions_in_one_column),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
