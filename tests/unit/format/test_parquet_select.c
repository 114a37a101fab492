/* Reading parts of Parquet files: row ranges, skips, batches of any size; always the same values as
 * a full read gives at those rows. */
#include "base/bytes.h"
#include "format/parquet/file.h"
#include "format/parquet/parquet.h"
#include "parquet_cases.h"
#include "rows_text.h"
#include "support/files.h"
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

/* ------------------------------------------------------------------ pages nobody wants */

/* One page of a leaf: where it lies, its rows in the file. */
typedef struct seen_page {
  int64_t offset, bytes, begin_row, end_row;
} seen_page;

static bool overlaps(const tn_ranges *rows, int64_t begin, int64_t end) {
  for (size_t i = 0; i < rows->count; i++) {
    if (rows->items[i].begin < end && rows->items[i].end > begin) {
      return true;
    }
  }
  return false;
}

static void wipe(uint8_t *bytes, const seen_page *page, const tn_ranges *rows, int64_t *n_wiped) {
  if (!overlaps(rows, page->begin_row, page->end_row)) {
    memset(bytes + page->offset, 0xff, (size_t)page->bytes);
    ++*n_wiped;
  }
}

/* By the offset index: header and body of every page without wanted rows. */
static void wipe_by_index(format_test *t, tn_format_file *file, uint8_t *bytes,
                          const tn_ranges *rows, int64_t *n_wiped) {
  const tn_pq_file *f = tn_pq_file_of(file);
  const tn_pq_footer *footer = &f->meta->footer;
  for (int32_t g = 0; g < footer->n_row_groups; g++) {
    const tn_pq_row_group *group = &footer->row_groups[g];
    for (int32_t leaf = 0; leaf < footer->n_leaves; leaf++) {
      tarn_error err;
      tn_pq_offset_index index;
      tn_pq_index_bytes none = {0, {NULL, 0}};
      assert_works(tn_pq_offset_index_load(f, group, leaf, &t->arena, &none, &index, &err), err);
      for (int32_t k = 0; k < index.n_pages; k++) {
        seen_page page = {index.pages[k].offset, index.pages[k].bytes,
                          group->first_row + index.pages[k].first_row,
                          group->first_row + (k + 1 < index.n_pages ? index.pages[k + 1].first_row
                                                                    : group->n_rows)};
        wipe(bytes, &page, rows, n_wiped);
      }
    }
  }
}

/* By walking: bodies of pages without wanted rows, of flat columns and v2 pages. */
static void wipe_by_headers(tn_format_file *file, uint8_t *bytes, const tn_ranges *rows,
                            int64_t *n_wiped) {
  const tn_pq_meta *meta = tn_pq_file_of(file)->meta;
  for (int32_t g = 0; g < meta->footer.n_row_groups; g++) {
    const tn_pq_row_group *group = &meta->footer.row_groups[g];
    for (int32_t leaf = 0; leaf < meta->footer.n_leaves; leaf++) {
      tarn_error err;
      tn_byte_range chunk;
      int64_t row = group->first_row;
      assert_works(
          tn_pq_chunk_range(&group->chunks[leaf], meta->data_end, false, "", "", &chunk, &err),
          err);
      for (int64_t at = chunk.offset; at < chunk.offset + chunk.length;) {
        tn_pq_page_header h;
        size_t used;
        tn_slice left = {bytes + at, (size_t)(chunk.offset + chunk.length - at)};
        assert_int_equal(tn_pq_page_header_parse(left, &h, &used), TN_PQ_HEADER_OK);
        if (h.type != TN_PQ_DICTIONARY_PAGE) {
          bool is_v2 = h.type == TN_PQ_DATA_PAGE_V2;
          bool is_flat = meta->schema.leaves[leaf]->rep_slot == 0;
          int64_t n = is_flat ? h.n_values : h.n_rows;
          seen_page page = {at + (int64_t)used, h.compressed_bytes, row, row + n};
          if (is_flat || is_v2) {
            wipe(bytes, &page, rows, n_wiped);
          }
          row += n;
        }
        at += (int64_t)used + h.compressed_bytes;
      }
    }
  }
}

static void check_wiped(const char *name, bool by_index) {
  static const tn_range wanted[] = {{33, 34}, {60, 63}, {69, 70}};
  format_test t;
  tarn_error err;
  tn_format_file *file, *wiped;
  rows_text all, some;
  rows_request request = {0};
  tn_ranges rows;
  int64_t n_wiped = 0, at = 0;
  size_t n;
  format_test_begin(&t);
  file = open_case(&t, case_named(name), &all);
  uint8_t *bytes = tn_test_read_file(file->file->path, &n);
  tn_ranges_init(&rows, &t.env->mem);
  for (size_t i = 0; i < TN_COUNT(wanted); i++) {
    assert_works(tn_ranges_add(&rows, wanted[i].begin, wanted[i].end, &err), err);
  }
  if (by_index) {
    wipe_by_index(&t, file, bytes, &rows, &n_wiped);
  } else {
    wipe_by_headers(file, bytes, &rows, &n_wiped);
  }
  assert_true(n_wiped > 10);
  assert_works(open_bytes(&t, &tn_parquet_format, tn_slice_of(bytes, n), &wiped, &err), err);
  request.rows = &rows;
  assert_works(read_rows(&t, wiped, &request, &some, &err), err);
  assert_int_equal(some.n, tn_ranges_rows(&rows));
  for (size_t i = 0; i < TN_COUNT(wanted); i++) {
    for (int64_t row = wanted[i].begin; row < wanted[i].end; row++) {
      assert_string_equal(some.lines[at++], all.lines[row]);
    }
  }
  tn_ranges_reset(&rows);
  tn_format_file_release(wiped);
  tn_format_file_release(file);
  free(bytes);
  format_test_end(&t);
}

static void select__leaves_unwanted_pages_of_an_index_alone(void **state) {
  (void)state;
  check_wiped("nested_index", true);
  check_wiped("plain_v1", true);
  check_wiped("dictionary_v1", true);
  check_wiped("edges_index", true);
}

static void select__leaves_unwanted_bodies_alone(void **state) {
  (void)state;
  check_wiped("plain_required", false);
  check_wiped("dictionary_v2", false);
  check_wiped("nested_v2", false);
  check_wiped("edges", false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(select__gives_the_values_of_a_full_read),
      cmocka_unit_test(skip__goes_on_with_the_row_behind),
      cmocka_unit_test(select__counts_rows_from_the_start_of_the_file),
      cmocka_unit_test(select__steps_over_values_not_items),
      cmocka_unit_test(select__single_rows),
      cmocka_unit_test(select__leaves_unwanted_pages_of_an_index_alone),
      cmocka_unit_test(select__leaves_unwanted_bodies_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
