/* Reading parts of Parquet files: row ranges, skips, batches of any size; always the same values as
 * a full read gives at those rows. */
#include "format/parquet/parquet.h"
#include "parquet_cases.h"
#include "rows_text.h"
#include "support/test.h"

static uint32_t next_random(uint32_t *seed) {
  *seed = *seed * 1664525 + 1013904223;
  return *seed >> 8;
}

/* Ranges with gaps; `span` is about the length of both. */
static void random_ranges(format_test *t, int64_t n_rows, uint32_t span, uint32_t *seed,
                          tn_ranges *out) {
  tarn_error err;
  int64_t at = next_random(seed) % (span + 1);
  tn_ranges_init(out, &t->env->mem);
  while (at < n_rows) {
    int64_t end = at + 1 + next_random(seed) % span;
    end = end < n_rows ? end : n_rows;
    assert_works(tn_ranges_add(out, at, end, &err), err);
    at = end + 1 + next_random(seed) % span;
  }
}

/* The position of the ordinal-th wanted row. */
static int64_t wanted_position(const tn_ranges *rows, int64_t ordinal) {
  if (rows == NULL) {
    return ordinal;
  }
  for (size_t i = 0; i < rows->count; i++) {
    int64_t n = rows->items[i].end - rows->items[i].begin;
    if (ordinal < n) {
      return rows->items[i].begin + ordinal;
    }
    ordinal -= n;
  }
  return -1;
}

static void check_selection(format_test *t, tn_format_file *file, const char *name,
                            const rows_text *all, const rows_request *request) {
  tarn_error err;
  rows_text some;
  int64_t n_wanted = request->rows != NULL ? tn_ranges_rows(request->rows) : all->n;
  assert_works(read_rows(t, file, request, &some, &err), err);
  for (int64_t i = 0; i < some.n; i++) {
    int64_t position = wanted_position(request->rows, some.ordinals[i]);
    if (some.positions[i] != position || strcmp(some.lines[i], all->lines[position]) != 0) {
      fail_msg("%s: row %lld is %s at %lld, a full read gives %s at %lld", name, (long long)i,
               some.lines[i], (long long)some.positions[i], all->lines[position],
               (long long)position);
    }
  }
  if (request->skip_seed == 0 && some.n != n_wanted) {
    fail_msg("%s: %lld of %lld rows", name, (long long)some.n, (long long)n_wanted);
  }
}

static tn_format_file *open_case(format_test *t, const parquet_case *c, rows_text *all) {
  tarn_error err;
  rows_request everything = {0};
  tn_format_file *file = must_open(t, &tn_parquet_format,
                                   data_path(t, tn_arena_printf(&t->arena, "%s.parquet", c->name)));
  assert_works(read_rows(t, file, &everything, all, &err), err);
  return file;
}

static const int64_t batch_sizes[] = {1, 2, 7, 8192};

static void select__gives_the_values_of_a_full_read(void **state) {
  static const uint32_t spans[] = {1, 5, 40, 200};
  uint32_t seed = 42;
  (void)state;
  for (size_t i = 0; i < TN_COUNT(parquet_cases); i++) {
    format_test t;
    rows_text all;
    tn_format_file *file;
    format_test_begin(&t);
    file = open_case(&t, &parquet_cases[i], &all);
    for (size_t s = 0; s < TN_COUNT(spans); s++) {
      for (size_t b = 0; b < TN_COUNT(batch_sizes); b++) {
        rows_request request = {0};
        tn_ranges rows;
        random_ranges(&t, all.n, spans[s], &seed, &rows);
        request.rows = &rows;
        request.batch_rows = batch_sizes[b];
        request.allows_encoded = (s + b) % 2 == 0;
        check_selection(&t, file, parquet_cases[i].name, &all, &request);
        tn_ranges_reset(&rows);
      }
    }
    tn_format_file_release(file);
    format_test_end(&t);
  }
}

static void skip__goes_on_with_the_row_behind(void **state) {
  uint32_t seed = 7;
  (void)state;
  for (size_t i = 0; i < TN_COUNT(parquet_cases); i++) {
    format_test t;
    rows_text all;
    tn_format_file *file;
    format_test_begin(&t);
    file = open_case(&t, &parquet_cases[i], &all);
    for (size_t b = 0; b < TN_COUNT(batch_sizes) * 4; b++) {
      rows_request request = {0};
      tn_ranges rows;
      random_ranges(&t, all.n, 30, &seed, &rows);
      request.rows = b % 2 == 0 ? &rows : NULL;
      request.batch_rows = batch_sizes[b % TN_COUNT(batch_sizes)];
      request.allows_encoded = b % 3 == 0;
      request.skip_seed = next_random(&seed) | 1;
      check_selection(&t, file, parquet_cases[i].name, &all, &request);
      tn_ranges_reset(&rows);
    }
    tn_format_file_release(file);
    format_test_end(&t);
  }
}

static const parquet_case *case_named(const char *name) {
  for (size_t i = 0; i < TN_COUNT(parquet_cases); i++) {
    if (strcmp(parquet_cases[i].name, name) == 0) {
      return &parquet_cases[i];
    }
  }
  fail_msg("no case %s", name);
  return NULL;
}

static void check_rows(const char *name, const int64_t *wanted, size_t n, int64_t batch_rows) {
  format_test t;
  tarn_error err;
  rows_text all;
  rows_request request = {0};
  tn_ranges rows;
  format_test_begin(&t);
  tn_format_file *file = open_case(&t, case_named(name), &all);
  tn_ranges_init(&rows, &t.env->mem);
  for (size_t i = 0; i < n; i++) {
    assert_works(tn_ranges_add(&rows, wanted[i], wanted[i] + 1, &err), err);
  }
  request.rows = &rows;
  request.batch_rows = batch_rows;
  check_selection(&t, file, name, &all, &request);
  tn_ranges_reset(&rows);
  tn_format_file_release(file);
  format_test_end(&t);
}

/* Known fault B43: positions are the file's, also from the second row group on. */
static void select__counts_rows_from_the_start_of_the_file(void **state) {
  static const int64_t rows[] = {5, 55, 105, 109};
  (void)state;
  check_rows("delta_v1", rows, TN_COUNT(rows), 8192);
  check_rows("dictionary_v1", rows, TN_COUNT(rows), 8192);
}

/* Known fault B44: INT96, DELTA_BINARY_PACKED and levels of lists at the edges of ranges. */
static void select__steps_over_values_not_items(void **state) {
  static const int64_t rows[] = {1, 101, 201, 301, 401};
  (void)state;
  check_rows("edges", rows, TN_COUNT(rows), 2);
  check_rows("edges_index", rows, TN_COUNT(rows), 2);
}

/* The last row, the first row, rows around page and row-group borders. */
static void select__single_rows(void **state) {
  (void)state;
  for (int64_t row = 0; row < 110; row += 9) {
    check_rows("fallback", &row, 1, 8192);
    check_rows("plain_v1", &row, 1, 8192);
  }
  for (int64_t row = 0; row < 70; row++) {
    check_rows("nested_index", &row, 1, 8192);
    check_rows("nested_v1", &row, 1, 8192);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(select__gives_the_values_of_a_full_read),
      cmocka_unit_test(skip__goes_on_with_the_row_behind),
      cmocka_unit_test(select__counts_rows_from_the_start_of_the_file),
      cmocka_unit_test(select__steps_over_values_not_items),
      cmocka_unit_test(select__single_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
