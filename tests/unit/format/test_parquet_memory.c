/* Parquet columns of very different value sizes in bounded memory: batches end early, what other
 * columns have decoded waits for the next one. */
#include <stdio.h>

#include "base/bytes.h"
#include "format/parquet/parquet.h"
#include "parquet_maker.h"
#include "rows_text.h"
#include "support/test.h"
#include "support/torture.h"

#define BUDGET_BYTES ((size_t)12 << 20)
#define N_ROWS 60
#define LONG_BYTES ((size_t)300 << 10)
#define PAGE_ROWS 6

/* Column `number`: 0, 1, 2, ... */
static void number_column(parquet_maker *m) {
  uint8_t values[4 * N_ROWS];
  for (uint32_t i = 0; i < N_ROWS; i++) {
    tn_store_le32(values + 4 * i, i);
  }
  maker_chunk(m, N_ROWS);
  maker_page(m,
             &(maker_page_spec){.n_values = N_ROWS, .values = tn_slice_of(values, sizeof(values))});
}

/* Column `flag`: every third row is null, others are true when even. */
static void flag_column(parquet_maker *m) {
  char def[N_ROWS + 1] = {0};
  uint8_t bits[N_ROWS] = {0};
  int64_t n = 0;
  for (int i = 0; i < N_ROWS; i++) {
    def[i] = i % 3 == 0 ? '0' : '1';
    if (i % 3 != 0) {
      tn_bit_put(bits, n++, i % 2 == 0);
    }
  }
  maker_chunk(m, N_ROWS);
  maker_page(m,
             &(maker_page_spec){
                 .n_values = N_ROWS, .def = def, .values = tn_slice_of(bits, (size_t)(n + 7) / 8)});
}

/* Column `word`: "w0", null, "w2", ... in plain pages. */
static void word_column(parquet_maker *m) {
  char def[N_ROWS + 1] = {0};
  uint8_t bytes[N_ROWS * 8];
  size_t len = 0;
  for (int i = 0; i < N_ROWS; i++) {
    def[i] = i % 2 == 0 ? '1' : '0';
    if (i % 2 == 0) {
      char word[8];
      int n = snprintf(word, sizeof(word), "w%d", i);
      tn_store_le32(bytes + len, (uint32_t)n);
      memcpy(bytes + len + 4, word, (size_t)n);
      len += 4 + (size_t)n;
    }
  }
  maker_chunk(m, N_ROWS);
  maker_page(m,
             &(maker_page_spec){.n_values = N_ROWS, .def = def, .values = tn_slice_of(bytes, len)});
}

/* Column `code`: "a" and "bb" in turn, from a dictionary. */
static void code_column(parquet_maker *m) {
  uint8_t codes[2 + N_ROWS / 8 + 1] = {1, (N_ROWS + 7) / 8 << 1 | 1};
  memset(codes + 2, 0xaa, sizeof(codes) - 2);
  maker_chunk(m, N_ROWS);
  maker_dictionary(m, 2, LITERAL("\1\0\0\0a\2\0\0\0bb"));
  maker_page(m, &(maker_page_spec){.n_values = N_ROWS,
                                   .encoding = TN_PQ_RLE_DICTIONARY,
                                   .values = tn_slice_of(codes, sizeof(codes))});
}

/* Column `list`: row i has i % 3 items, the row's number. */
static void list_column(parquet_maker *m) {
  char rep[3 * N_ROWS + 1] = {0}, def[3 * N_ROWS + 1] = {0};
  uint8_t values[4 * 2 * N_ROWS];
  int32_t n = 0, n_values = 0;
  for (int i = 0; i < N_ROWS; i++) {
    for (int k = 0; k < (i % 3 > 0 ? i % 3 : 1); k++) {
      rep[n] = k == 0 ? '0' : '1';
      def[n++] = i % 3 == 0 ? '0' : '1';
      if (i % 3 > 0) {
        tn_store_le32(values + 4 * n_values++, (uint32_t)i);
      }
    }
  }
  maker_chunk(m, n);
  maker_page(m, &(maker_page_spec){.n_values = n,
                                   .rep = rep,
                                   .def = def,
                                   .values = tn_slice_of(values, (size_t)n_values * 4)});
}

/* Column `long`: a third of a megabyte each, ending in the row's number. */
static void long_column(parquet_maker *m) {
  uint8_t *page = calloc(PAGE_ROWS, LONG_BYTES + 4);
  maker_chunk(m, N_ROWS);
  for (int i = 0; i < N_ROWS; i++) {
    uint8_t *value = page + (size_t)(i % PAGE_ROWS) * (LONG_BYTES + 4);
    tn_store_le32(value, (uint32_t)LONG_BYTES);
    value[4 + LONG_BYTES - 1] = (uint8_t)i;
    if (i % PAGE_ROWS == PAGE_ROWS - 1) {
      maker_page(m, &(maker_page_spec){.n_values = PAGE_ROWS,
                                       .values = tn_slice_of(page, PAGE_ROWS * (LONG_BYTES + 4))});
    }
  }
  free(page);
}

static void make_file(parquet_maker *m) {
  maker_begin(m);
  maker_leaf(m, "number", TN_PQ_REQUIRED, TN_PQ_INT32, 0, MAKER_PLAIN_TYPE);
  maker_leaf(m, "flag", TN_PQ_OPTIONAL, TN_PQ_BOOLEAN, 0, MAKER_PLAIN_TYPE);
  maker_leaf(m, "word", TN_PQ_OPTIONAL, TN_PQ_BYTE_ARRAY, 0, MAKER_UTF8);
  maker_leaf(m, "code", TN_PQ_REQUIRED, TN_PQ_BYTE_ARRAY, 0, MAKER_UTF8);
  maker_leaf(m, "list", TN_PQ_REPEATED, TN_PQ_INT32, 0, MAKER_PLAIN_TYPE);
  maker_leaf(m, "long", TN_PQ_REQUIRED, TN_PQ_BYTE_ARRAY, 0, MAKER_PLAIN_TYPE);
  number_column(m);
  flag_column(m);
  word_column(m);
  code_column(m);
  list_column(m);
  long_column(m);
}

static void expected_line(int64_t i, char *out, size_t n_out) {
  static const char *const flags[] = {"false", "true"};
  char word[16], list[32];
  snprintf(word, sizeof(word), "\"w%d\"", (int)i);
  snprintf(list, sizeof(list),
           i % 3 == 0   ? "[]"
           : i % 3 == 1 ? "[%d]"
                        : "[%d, %d]",
           (int)i, (int)i);
  snprintf(out, n_out, "%d %s %s \"%s\" %s", (int)i, i % 3 == 0 ? "null" : flags[i % 2 == 0],
           i % 2 == 0 ? word : "null", i % 2 == 0 ? "a" : "bb", list);
}

static void check_rows(tarn_env *env, const tn_batch *batch) {
  tarn_error err;
  for (int32_t c = 0; c < batch->n_columns; c++) {
    assert_int_equal(batch->columns[c].length, batch->n_rows);
    assert_works(tn_vec_validate(&batch->columns[c], &err), err);
  }
  for (int64_t row = 0; row < batch->n_rows; row++) {
    char expected[128];
    tn_slice tail = tn_vec_bytes(&batch->columns[5], row);
    tn_buf line;
    tn_buf_init(&line, &env->mem, 1 << 16);
    for (int32_t c = 0; c < 5; c++) {
      assert_works(tn_buf_text(&line, c > 0 ? " " : "", &err), err);
      assert_works(value_text(&batch->columns[c], row, &line, &err), err);
    }
    assert_works(tn_buf_append(&line, "", 1, &err), err);
    expected_line(batch->first_position + row, expected, sizeof(expected));
    assert_string_equal((const char *)line.data, expected);
    assert_int_equal(tail.len, LONG_BYTES);
    assert_int_equal(tail.data[LONG_BYTES - 1], batch->first_position + row);
    tn_buf_reset(&line);
  }
}

static void read_within_budget(bool is_encoded, const tn_ranges *rows) {
  tarn_error err;
  parquet_maker m;
  tarn_env_stats stats = TARN_ENV_STATS_INIT;
  tarn_env *env = tn_test_env(1, BUDGET_BYTES);
  tn_storage *storage;
  tn_format_file *file;
  tn_reader *reader;
  tn_batch batch;
  tn_arena arena;
  tn_field *fields;
  tn_read_request request;
  int64_t n_rows = 0, n_batches = 0;
  tn_arena_init(&arena, &env->mem, 1 << 20);
  make_file(&m);
  assert_works(tn_storage_memory(env, &storage, &err), err);
  assert_works(tn_storage_memory_put(storage, "/f", maker_end(&m, N_ROWS), &err), err);
  assert_works(tn_format_open(env, storage, &tn_parquet_format, "/f", &file, &err), err);
  memset(&request, 0, sizeof(request));
  assert_works(file->ops->schema(file, &arena, &fields, &request.n_fields, &err), err);
  request.fields = fields;
  request.allows_encoded = is_encoded;
  request.rows = rows;
  assert_works(file->ops->read(file, &request, &reader, &err), err);
  assert_works(tn_batch_init(env, fields, request.n_fields, &batch, &err), err);
  for (;;) {
    assert_works(tn_reader_next(reader, 8192, &batch, &err), err);
    if (batch.n_rows == 0) {
      break;
    }
    check_rows(env, &batch);
    n_rows += batch.n_rows;
    n_batches++;
  }
  assert_int_equal(n_rows, rows != NULL ? tn_ranges_rows(rows) : N_ROWS);
  assert_true(n_batches > 3);
  tarn_env_stats_get(env, &stats);
  assert_true(stats.memory_peak_bytes <= BUDGET_BYTES);
  tn_batch_reset(env, &batch);
  tn_reader_free(reader);
  tn_format_file_release(file);
  tn_storage_release(storage);
  tn_arena_reset(&arena);
  tarn_env_free(env);
  maker_free(&m);
}

/* 18 MB of strings by a budget of 12. */
static void memory__long_values_end_batches_early(void **state) {
  (void)state;
  read_within_budget(false, NULL);
  read_within_budget(true, NULL);
}

/* What waits is stepped over, too. */
static void memory__ranges_behind_early_ends(void **state) {
  tarn_error err;
  tarn_env *env = tn_test_env(1, BUDGET_BYTES);
  tn_ranges rows;
  (void)state;
  tn_ranges_init(&rows, &env->mem);
  assert_works(tn_ranges_add(&rows, 1, 29, &err), err);
  assert_works(tn_ranges_add(&rows, 31, 32, &err), err);
  assert_works(tn_ranges_add(&rows, 35, 60, &err), err);
  read_within_budget(false, &rows);
  read_within_budget(true, &rows);
  tn_ranges_reset(&rows);
  tarn_env_free(env);
}

/* Rows that skip() steps over may be waiting in a buffer. */
static void memory__skips_behind_early_ends(void **state) {
  (void)state;
  for (int is_encoded = 0; is_encoded < 2; is_encoded++) {
    format_test t;
    tarn_error err;
    parquet_maker m;
    tn_format_file *file;
    tn_reader *reader;
    tn_batch batch;
    tn_read_request request;
    int64_t next = 0, step = 1;
    format_test_begin(&t);
    make_file(&m);
    assert_works(open_bytes(&t, &tn_parquet_format, maker_end(&m, N_ROWS), &file, &err), err);
    memset(&request, 0, sizeof(request));
    request.fields = must_schema(&t, file, &request.n_fields);
    request.allows_encoded = is_encoded != 0;
    assert_works(file->ops->read(file, &request, &reader, &err), err);
    assert_works(tn_batch_init(t.env, request.fields, request.n_fields, &batch, &err), err);
    for (;;) {
      assert_works(tn_reader_next(reader, 8192, &batch, &err), err);
      if (batch.n_rows == 0) {
        break;
      }
      assert_int_equal(batch.first_position, next);
      check_rows(t.env, &batch);
      assert_works(tn_reader_skip(reader, step, &err), err);
      next += batch.n_rows + step;
      step = step == 1 ? 3 : 1;
    }
    assert_true(next >= N_ROWS);
    tn_batch_reset(t.env, &batch);
    tn_reader_free(reader);
    tn_format_file_release(file);
    maker_free(&m);
    format_test_end(&t);
  }
}

#define ITEM_BYTES ((size_t)250 << 10)

/* Lists of long strings: row i has i % 3 of them, which end in the row's number; four rows a page.
 */
static void make_lists(parquet_maker *m) {
  uint8_t *page = calloc(8, ITEM_BYTES + 4);
  int64_t n_entries = 0;
  maker_chunk_spec *c;
  maker_begin(m);
  maker_leaf(m, "x", TN_PQ_REPEATED, TN_PQ_BYTE_ARRAY, 0, MAKER_PLAIN_TYPE);
  c = maker_chunk(m, 0);
  for (int first = 0; first < N_ROWS; first += 4) {
    char rep[16] = {0}, def[16] = {0};
    int32_t n = 0;
    size_t len = 0;
    for (int row = first; row < first + 4; row++) {
      for (int k = 0; k < (row % 3 > 0 ? row % 3 : 1); k++) {
        rep[n] = k == 0 ? '0' : '1';
        def[n++] = row % 3 == 0 ? '0' : '1';
        if (row % 3 > 0) {
          tn_store_le32(page + len, (uint32_t)ITEM_BYTES);
          len += 4 + ITEM_BYTES;
          page[len - 1] = (uint8_t)row;
        }
      }
    }
    n_entries += n;
    maker_page(m, &(maker_page_spec){
                      .n_values = n, .rep = rep, .def = def, .values = tn_slice_of(page, len)});
  }
  c->n_values = n_entries;
  free(page);
}

static void check_lists(const tn_batch *batch) {
  const tn_vec *vec = &batch->columns[0];
  tarn_error err;
  assert_works(tn_vec_validate(vec, &err), err);
  for (int64_t i = 0; i < batch->n_rows; i++) {
    int64_t row = batch->first_position + i;
    assert_int_equal(vec->offsets[i + 1] - vec->offsets[i], row % 3);
    for (int32_t k = vec->offsets[i]; k < vec->offsets[i + 1]; k++) {
      tn_slice item = tn_vec_bytes(&vec->children[0], k);
      assert_int_equal(item.len, ITEM_BYTES);
      assert_int_equal(item.data[ITEM_BYTES - 1], row);
    }
  }
}

static void memory__lists_of_long_values_end_batches_early(void **state) {
  tarn_error err;
  parquet_maker m;
  tarn_env *env = tn_test_env(1, BUDGET_BYTES);
  tn_storage *storage;
  tn_format_file *file;
  tn_reader *reader;
  tn_batch batch;
  tn_arena arena;
  tn_field *fields;
  tn_read_request request;
  int64_t n_rows = 0, n_batches = 0;
  (void)state;
  tn_arena_init(&arena, &env->mem, 1 << 20);
  make_lists(&m);
  assert_works(tn_storage_memory(env, &storage, &err), err);
  assert_works(tn_storage_memory_put(storage, "/f", maker_end(&m, N_ROWS), &err), err);
  assert_works(tn_format_open(env, storage, &tn_parquet_format, "/f", &file, &err), err);
  memset(&request, 0, sizeof(request));
  assert_works(file->ops->schema(file, &arena, &fields, &request.n_fields, &err), err);
  request.fields = fields;
  assert_works(file->ops->read(file, &request, &reader, &err), err);
  assert_works(tn_batch_init(env, fields, 1, &batch, &err), err);
  do {
    assert_works(tn_reader_next(reader, 8192, &batch, &err), err);
    check_lists(&batch);
    n_rows += batch.n_rows;
    n_batches++;
  } while (batch.n_rows > 0);
  assert_int_equal(n_rows, N_ROWS);
  assert_true(n_batches > 3);
  tn_batch_reset(env, &batch);
  tn_reader_free(reader);
  tn_format_file_release(file);
  tn_storage_release(storage);
  tn_arena_reset(&arena);
  tarn_env_free(env);
  maker_free(&m);
}

static void memory__a_page_larger_than_the_budget_is_a_limit(void **state) {
  const size_t n = (size_t)35 << 20;
  format_test t;
  tarn_error err;
  parquet_maker m;
  tn_format_file *file;
  rows_text rows;
  rows_request request = {0};
  uint8_t *page = calloc(1, n);
  (void)state;
  format_test_begin(&t);
  maker_begin(&m);
  maker_leaf(&m, "x", TN_PQ_REQUIRED, TN_PQ_BYTE_ARRAY, 0, MAKER_UTF8);
  maker_chunk(&m, 1);
  tn_store_le32(page, (uint32_t)(n - 4));
  maker_page(&m, &(maker_page_spec){.n_values = 1, .values = tn_slice_of(page, n)});
  // the window, the page and the vector: 105 MB of the test's 64
  assert_works(open_bytes(&t, &tn_parquet_format, maker_end(&m, 1), &file, &err), err);
  assert_int_equal(read_rows(&t, file, &request, &rows, &err), TARN_E_LIMIT);
  assert_contains(err.message, "memory budget");
  tn_format_file_release(file);
  maker_free(&m);
  free(page);
  format_test_end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory__long_values_end_batches_early),
      cmocka_unit_test(memory__ranges_behind_early_ends),
      cmocka_unit_test(memory__skips_behind_early_ends),
      cmocka_unit_test(memory__lists_of_long_values_end_batches_early),
      cmocka_unit_test(memory__a_page_larger_than_the_budget_is_a_limit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
