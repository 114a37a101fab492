/* One data file as the table's columns of today. */
#include "datafile/data_reader.h"

#include <stdio.h>
#include <stdlib.h>

#include "data_maker.h"
#include "support/files.h"

/* A file that is read whole: the first and the rest columns of every batch as text. */
typedef struct reading {
  table_maker tm;
  tn_table *table;
  tn_data_file file;
  const char *path;
  const tn_field *first, *rest;
  int32_t n_first, n_rest;
  tn_data_request request;
  bool is_key_value;
  bool skips_rest; /* asks for the rest of every second batch alone */
  int64_t max_rows;
  tn_buf text;
  int64_t selected_rows;
  bool has_encoded; /* a column was not flat */
} reading;

static void begin(reading *r) {
  memset(r, 0, sizeof(*r));
  tm_begin(&r->tm, 1);
  tn_buf_init(&r->text, &r->tm.env->mem, 1u << 20);
  r->max_rows = 8192;
}

/* All columns of the table first, no rest. */
static void open_table(reading *r, const char *dynamic) {
  r->table = tm_table(&r->tm, dynamic);
  r->first = r->table->schema->fields;
  r->n_first = r->table->schema->n_fields;
}

static void end(reading *r) {
  tn_buf_reset(&r->text);
  tn_table_release(r->table);
  tm_end(&r->tm);
}

static int setup(void **state) {
  *state = malloc(sizeof(reading));
  begin(*state);
  return 0;
}

static int teardown(void **state) {
  end(*state);
  free(*state);
  return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* The file of the table that is read. */
static void put_file(reading *r, const char *columns, const char *rows) {
  r->file = dm_append(&r->tm, "/t", "f.avro", columns, rows);
  r->path = dm_path(&r->tm, "/t", "f.avro");
}

static void add_rows(reading *r, const tn_batch *first, const tn_batch *rest,
                     const uint8_t *alive) {
  for (int32_t c = 0; c < first->n_columns; c++) {
    r->has_encoded |= first->columns[c].encoding != TN_VEC_FLAT;
  }
  if (rest->n_rows > 0) {
    assert_int_equal(rest->n_rows, first->n_rows);
    dm_text(first, &r->text);
    OK(tn_buf_text(&r->text, " + ", err));
    dm_text(rest, &r->text);
  } else {
    dm_text(first, &r->text);
  }
  for (int64_t i = 0; alive != NULL && i < first->n_rows; i++) {
    bool is_alive = (alive[i / 8] >> (i % 8)) & 1;
    OK(tn_buf_text(&r->text, is_alive ? "" : i == 0 ? " !0" : " !", err));
    if (!is_alive && i > 0) {
      OK(tn_buf_printf(&r->text, err, "%d", (int)i));
    }
  }
}

static tarn_status read_whole(reading *r, tarn_error *err) {
  tn_data_shape *shape = NULL;
  tn_data_reader *reader = NULL;
  tn_batch first = {0}, rest = {0};
  const uint8_t *alive;
  tarn_status st;
  int n = 0;
  st = tn_data_shape_create(r->table, r->first, r->n_first, r->rest, r->n_rest, r->is_key_value,
                            &shape, err);
  r->request.shape = shape;
  r->request.file = &r->file;
  r->request.path = r->path;
  if (st == TARN_OK) {
    st = tn_data_reader_open(&r->request, &reader, err);
  }
  r->selected_rows = st == TARN_OK ? tn_data_reader_selected_rows(reader) : -1;
  while (st == TARN_OK) {
    st = tn_data_reader_next(reader, r->max_rows, &first, &alive, err);
    if (st != TARN_OK || first.n_rows == 0) {
      break;
    }
    tn_batch_reset(r->tm.env, &rest);
    if (r->n_rest > 0 && (!r->skips_rest || n++ % 2 == 1)) {
      st = tn_data_reader_rest(reader, &rest, err);
    }
    if (st == TARN_OK) {
      add_rows(r, &first, &rest, alive);
    }
  }
  tn_batch_reset(r->tm.env, &first);
  tn_batch_reset(r->tm.env, &rest);
  tn_data_reader_free(reader);
  tn_data_shape_free(shape);
  return st;
}

static void assert_read(reading *r, const char *expected) {
  tarn_error error = {0};
  if (read_whole(r, &error) != TARN_OK) {
    fail_msg("%s", error.message);
  }
  OK(tn_buf_append(&r->text, "", 1, err));
  assert_string_equal((const char *)r->text.data, expected);
  r->text.len = 0;
}

static void assert_fails(reading *r, tarn_status status, const char *text) {
  tarn_error err = {0};
  assert_int_equal(read_whole(r, &err), status);
  if (strstr(err.message, text) == NULL) {
    fail_msg("\"%s\" lacks \"%s\"", err.message, text);
  }
  r->text.len = 0;
}

/* ------------------------------------------------------------------ columns */

static void data_reader__reads_older_files_as_the_table_is_today(void **state) {
  reading *r = *state;
  tm_schema(&r->tm, 0, "0 a INT NOT NULL|1 b STRING|2 gone INT", "", "", "");
  put_file(r, "a INT NOT NULL|b STRING|gone INT", "1|x|9;2|null|8");
  tm_schema(&r->tm, 1, "1 renamed STRING|0 a BIGINT NOT NULL|3 gone INT", "", "", "");
  open_table(r, "");
  assert_read(r, "x|1|null;null|2|null");
}

static void data_reader__names_file_and_column_of_a_value_that_cannot_be_cast(void **state) {
  reading *r = *state;
  tm_schema(&r->tm, 0, "0 a STRING", "", "", "");
  put_file(r, "a STRING", "12;junk");
  tm_schema(&r->tm, 1, "0 number INT", "", "", "");
  open_table(r, "");
  assert_fails(r, TARN_E_INVALID, "/t/f.avro");
  assert_fails(r, TARN_E_INVALID, "number");
}

static void data_reader__takes_partition_keys_from_the_partition(void **state) {
  reading *r = *state;
  tm_schema(&r->tm, 0, "0 p INT|1 a INT", "p", "", "");
  put_file(r, "p INT|a INT", "5|1;5|2");
  r->request.partition = tm_row(&r->tm, "INT", "7");
  open_table(r, "");
  assert_read(r, "7|1;7|2");
  assert_true(r->has_encoded);
  r->has_encoded = false;
  r->request.wants_flat = true;
  assert_read(r, "7|1;7|2");
  assert_false(r->has_encoded);
  r->request.partition = tm_row(&r->tm, "INT", "null");
  assert_read(r, "null|1;null|2");
}

static void data_reader__reads_sequence_numbers_and_kinds(void **state) {
  reading *r = *state;
  static const tn_field fields[] = {
      {.id = 1,
       .name = "v",
       .type = {.root = TN_VARCHAR, .is_nullable = true, .length = INT32_MAX}},
      {.id = TN_FIELD_ID_SEQUENCE_NUMBER, .name = "_SEQUENCE_NUMBER", .type = {.root = TN_BIGINT}},
      {.id = TN_FIELD_ID_VALUE_KIND, .name = "_VALUE_KIND", .type = {.root = TN_TINYINT}}};
  tm_schema(&r->tm, 0, "0 k INT NOT NULL|1 v STRING", "", "k", "bucket=1");
  r->file = dm_keyed(&r->tm, "/t", "f.avro", 1, "k INT NOT NULL|v STRING", "7|+|1|a;9|-|2|b");
  r->path = dm_path(&r->tm, "/t", "f.avro");
  open_table(r, "");
  r->first = fields;
  r->n_first = 3;
  r->is_key_value = true;
  assert_read(r, "a|7|0;b|9|3");
}

static void data_reader__counts_rows_of_which_no_column_is_wanted(void **state) {
  reading *r = *state;
  tm_schema(&r->tm, 0, "0 a INT", "", "", "");
  put_file(r, "a INT", "1;2;3");
  tm_schema(&r->tm, 1, "5 added INT", "", "", "");
  open_table(r, "");
  assert_read(r, "null;null;null");
}

/* ------------------------------------------------------------------ groups */

static void data_reader__reads_the_rest_of_batches_that_are_asked_for(void **state) {
  reading *r = *state;
  tm_schema(&r->tm, 0, "0 a INT|1 b STRING", "", "", "");
  put_file(r, "a INT|b STRING", "1|a;2|b;3|c;4|d;5|e");
  open_table(r, "");
  r->n_first = 1;
  r->rest = r->first + 1;
  r->n_rest = 1;
  r->max_rows = 2;
  assert_read(r, "1;2 + a;b;3;4 + c;d;5 + e");
  r->skips_rest = true;
  assert_read(r, "1;2;3;4 + c;d;5");
}

/* A file of data/ in the memory storage; columns a INT, b STRING. */
static void put_parquet(reading *r, const char *name, int64_t n_rows) {
  char *folder = tn_test_path(TARN_SOURCE_DIR, "tests/unit/datafile/data");
  char *path = tn_test_path(folder, name);
  size_t n;
  uint8_t *bytes = tn_test_read_file(path, &n);
  tm_schema(&r->tm, 0, "0 a INT|1 b STRING", "", "", "");
  r->path = dm_path(&r->tm, "/t", name);
  OK(tn_storage_memory_put(r->tm.storage, r->path, tn_slice_of(bytes, n), err));
  r->file = tm_entry(name, n_rows).file;
  open_table(r, "");
  r->n_first = 1;
  r->rest = r->first + 1;
  r->n_rest = 1;
  free(bytes);
  free(path);
  free(folder);
}

/* Rows 0 to 999 of paged.parquet: b is "b<a>", null for multiples of 7. Three row groups of 300 and
 * one of 100, pages of 50 rows and less. */
static void check_paged(reading *r, const tn_batch *first, const tn_batch *rest) {
  for (int64_t i = 0; i < first->n_rows; i++) {
    int32_t a = ((const int32_t *)first->columns[0].values)[i];
    char text[16];
    sprintf(text, "b%d", (int)a);
    assert_int_equal(a, first->first_position + i);
    assert_int_equal(tn_vec_is_null(&rest->columns[0], i), a % 7 == 0);
    if (a % 7 != 0) {
      assert_true(tn_slice_is(tn_vec_bytes(&rest->columns[0], i), text));
    }
    r->selected_rows++;
  }
}

/* Read paged.parquet; ask for the rest of every `every`-th batch. Rows that were checked. */
static int64_t read_paged(reading *r, int64_t max_rows, int every, int64_t *n_first) {
  tn_data_shape *shape;
  tn_data_reader *reader;
  tn_batch first = {0}, rest = {0};
  OK(tn_data_shape_create(r->table, r->first, 1, r->rest, 1, false, &shape, err));
  r->request.shape = shape;
  r->request.file = &r->file;
  r->request.path = r->path;
  r->selected_rows = 0;
  *n_first = 0;
  OK(tn_data_reader_open(&r->request, &reader, err));
  for (int n = 1;; n++) {
    const uint8_t *alive;
    OK(tn_data_reader_next(reader, max_rows, &first, &alive, err));
    if (first.n_rows == 0) {
      break;
    }
    *n_first += first.n_rows;
    if (n % every == 0) {
      OK(tn_data_reader_rest(reader, &rest, err));
      assert_int_equal(rest.n_rows, first.n_rows);
      OK(tn_vec_flatten(r->tm.env, &first.columns[0], err));
      check_paged(r, &first, &rest);
    }
  }
  tn_batch_reset(r->tm.env, &first);
  tn_batch_reset(r->tm.env, &rest);
  tn_data_reader_free(reader);
  tn_data_shape_free(shape);
  return r->selected_rows;
}

static void data_reader__keeps_both_groups_of_a_columnar_file_in_step(void **state) {
  reading *r = *state;
  int64_t n_first;
  put_parquet(r, "paged.parquet", 1000);
  for (int64_t max_rows = 1; max_rows < 2000; max_rows = max_rows * 3 + 1) {
    for (int every = 1; every < 5; every++) {
      int64_t n = read_paged(r, max_rows, every, &n_first);
      assert_int_equal(n_first, 1000);
      assert_true(every > 1 ? n < 1000 || max_rows > 1000 : n == 1000);
    }
  }
  /* The same with ranges that begin and end within pages, and a filter that drops row groups. */
  tn_ranges rows;
  tn_ranges_init(&rows, &r->tm.env->mem);
  OK(tn_ranges_add(&rows, 3, 77, err));
  OK(tn_ranges_add(&rows, 299, 301, err));
  OK(tn_ranges_add(&rows, 555, 950, err));
  r->request.rows = &rows;
  for (int every = 1; every < 4; every++) {
    read_paged(r, 20, every, &n_first);
    assert_int_equal(n_first, 74 + 2 + 395);
  }
  r->request.pushed = tm_where(&r->tm, r->table, "a >= 900");
  read_paged(r, 20, 1, &n_first);
  assert_true(n_first >= 50 && n_first < 471);
  tn_ranges_reset(&rows);
}

/* 300 values of 100,000 bytes: the reader of the rest ends its batches early. */
static void data_reader__joins_batches_of_the_rest_that_end_early(void **state) {
  reading *r = *state;
  tn_data_shape *shape;
  tn_data_reader *reader;
  tn_batch first = {0}, rest = {0};
  const uint8_t *alive;
  int64_t n = 0;
  put_parquet(r, "large.parquet", 300);
  OK(tn_data_shape_create(r->table, r->first, 1, r->rest, 1, false, &shape, err));
  r->request.shape = shape;
  r->request.file = &r->file;
  r->request.path = r->path;
  OK(tn_data_reader_open(&r->request, &reader, err));
  for (;;) {
    OK(tn_data_reader_next(reader, 200, &first, &alive, err));
    if (first.n_rows == 0) {
      break;
    }
    OK(tn_data_reader_rest(reader, &rest, err));
    assert_int_equal(rest.n_rows, first.n_rows);
    for (int64_t i = 0; i < rest.n_rows; i++) {
      tn_slice value = tn_vec_bytes(&rest.columns[0], i);
      assert_int_equal(value.len, 100000);
      assert_int_equal(value.data[99999], 'a' + (n + i) % 26);
    }
    n += rest.n_rows;
  }
  assert_int_equal(n, 300);
  tn_batch_reset(r->tm.env, &first);
  tn_batch_reset(r->tm.env, &rest);
  tn_data_reader_free(reader);
  tn_data_shape_free(shape);
}

static void data_reader__refuses_a_columnar_file_of_another_number_of_rows(void **state) {
  reading *r = *state;
  put_parquet(r, "paged.parquet", 999);
  assert_fails(r, TARN_E_CORRUPT, "holds 1000 rows");
}

/* ------------------------------------------------------------------ rows */

static void data_reader__clears_deleted_rows(void **state) {
  reading *r = *state;
  tm_schema(&r->tm, 0, "0 a INT", "", "", "");
  put_file(r, "a INT", "1;2;3;4");
  open_table(r, "");
  r->max_rows = 2;
  r->request.deletions = dm_deletions(&r->tm, "0,1,3");
  assert_read(r, "1;2 !0 !1;3;4 !1");
  tn_dv_release(r->request.deletions);
  r->request.deletions = dm_deletions(&r->tm, "0,1,2,3");
  assert_read(r, "");
  assert_int_equal(r->selected_rows, 0);
  tn_dv_release(r->request.deletions);
}

static void data_reader__steps_over_long_deleted_stretches(void **state) {
  reading *r = *state;
  char rows[3000 * 8] = "", deleted[1100 * 6] = "";
  size_t at = 0, del_at = 0;
  for (int i = 0; i < 3000; i++) {
    at += (size_t)sprintf(rows + at, "%s%d", i > 0 ? ";" : "", i);
  }
  for (int i = 1024; i < 2048; i++) {
    del_at += (size_t)sprintf(deleted + del_at, "%d,", i);
  }
  tm_schema(&r->tm, 0, "0 a INT", "", "", "");
  put_file(r, "a INT", rows);
  open_table(r, "");
  r->request.deletions = dm_deletions(&r->tm, deleted);
  OK(read_whole(r, err));
  OK(tn_buf_append(&r->text, "", 1, err));
  assert_int_equal(r->selected_rows, 3000 - 1024);
  assert_non_null(strstr((const char *)r->text.data, ";1023;2048;"));
  tn_dv_release(r->request.deletions);
}

static void data_reader__gives_selected_rows_alone(void **state) {
  reading *r = *state;
  tn_ranges rows;
  tm_schema(&r->tm, 0, "0 a INT", "", "", "");
  put_file(r, "a INT", "0;1;2;3;4;5;6");
  open_table(r, "");
  tn_ranges_init(&rows, &r->tm.env->mem);
  OK(tn_ranges_add(&rows, 1, 3, err));
  OK(tn_ranges_add(&rows, 5, 100, err));
  r->request.rows = &rows;
  assert_read(r, "1;2;5;6");
  assert_int_equal(r->selected_rows, 4);
  tn_ranges_reset(&rows);
}

static void data_reader__reads_nothing_when_a_missing_column_must_not_be_null(void **state) {
  reading *r = *state;
  tm_schema(&r->tm, 0, "0 a INT", "", "", "");
  put_file(r, "a INT", "1;2");
  tm_schema(&r->tm, 1, "0 a INT|1 added INT|2 p INT", "p", "", "");
  open_table(r, "");
  r->request.partition = tm_row(&r->tm, "INT", "7");
  r->request.pushed = tm_where(&r->tm, r->table, "added IS NOT NULL");
  assert_read(r, "");
  /* A partition key is not looked for in the file. */
  r->request.pushed = tm_where(&r->tm, r->table, "p = 7 AND added IS NULL");
  assert_read(r, "1|null|7;2|null|7");
}

/* ------------------------------------------------------------------ trouble */

static void data_reader__refuses_a_wrong_number_of_rows(void **state) {
  reading *r = *state;
  tm_schema(&r->tm, 0, "0 a INT", "", "", "");
  put_file(r, "a INT", "1;2;3");
  open_table(r, "");
  r->file.row_count = 4;
  assert_fails(r, TARN_E_CORRUPT, "f.avro");
  r->file.row_count = 2;
  assert_fails(r, TARN_E_CORRUPT, "f.avro");
  r->file.row_count = -1;
  assert_fails(r, TARN_E_CORRUPT, "-1");
}

static void data_reader__tells_that_a_lost_file_may_have_expired(void **state) {
  reading *r = *state;
  tm_schema(&r->tm, 0, "0 a INT", "", "", "");
  r->file = tm_entry("gone.avro", 3).file;
  r->path = "/t/gone.avro";
  open_table(r, "");
  assert_fails(r, TARN_E_NOT_FOUND, "/t/gone.avro");
  assert_fails(r, TARN_E_NOT_FOUND, "expired");
}

static int n_warnings;

static void count_warnings(void *ctx, tarn_log_level level, const char *message) {
  (void)ctx;
  n_warnings += level == TARN_LOG_WARN && strstr(message, "file_skipped") != NULL;
}

static void data_reader__skips_lost_files_when_told_so(void **state) {
  reading *r = *state;
  r->tm.env->log = count_warnings;
  r->tm.env->log_level = TARN_LOG_WARN;
  n_warnings = 0;
  tm_schema(&r->tm, 0, "0 a INT", "", "", "");
  r->file = tm_entry("gone.avro", 3).file;
  r->path = "/t/gone.avro";
  open_table(r, "scan.ignore-lost-files=true");
  assert_read(r, "");
  assert_int_equal(n_warnings, 1);
}

static void data_reader__ends_corrupt_files_early_when_told_so(void **state) {
  reading *r = *state;
  tn_buf bytes;
  char rows[250 * 12] = "";
  size_t at = 0;
  for (int i = 0; i < 250; i++) {
    at += (size_t)sprintf(rows + at, "%s%d|b%d", i > 0 ? ";" : "", i, i);
  }
  tm_schema(&r->tm, 0, "0 a INT|1 b STRING", "", "", "");
  r->file = dm_append(&r->tm, "/t", "f.avro", "a INT|b STRING", rows);
  tn_buf_init(&bytes, &r->tm.env->mem, 1u << 20);
  OK(tn_storage_read_all(r->tm.storage, dm_path(&r->tm, "/t", "f.avro"), &bytes, err));
  memset(bytes.data + bytes.len - 60, 0xff, 40); /* in the last block: rows from 200 on */
  OK(tn_storage_memory_put(r->tm.storage, "/t/bad.avro", tn_buf_slice(&bytes), err));
  tn_buf_reset(&bytes);
  r->path = "/t/bad.avro";
  r->max_rows = 50;
  open_table(r, "");
  r->n_first = 1;
  r->rest = r->first + 1;
  r->n_rest = 1;
  assert_fails(r, TARN_E_CORRUPT, "bad.avro");
  tn_table_release(r->table);
  r->tm.env->log = count_warnings;
  n_warnings = 0;
  open_table(r, "scan.ignore-corrupt-files=true");
  r->n_first = 1;
  OK(read_whole(r, err));
  OK(tn_buf_append(&r->text, "", 1, err));
  assert_int_equal(n_warnings, 1);
  assert_int_equal(strncmp((const char *)r->text.data, "0;1;2;", 6), 0);
  assert_non_null(strstr((const char *)r->text.data, ";199 + "));
  assert_non_null(strstr((const char *)r->text.data, ";b199"));
}

static void data_reader__refuses_formats_by_name(void **state) {
  reading *r = *state;
  static const char *const names[] = {"/t/f.orc", "/t/f.csv", "/t/f.row", "/t/f.lance"};
  tm_schema(&r->tm, 0, "0 a INT", "", "", "");
  open_table(r, "");
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    r->file = tm_entry("f", 3).file;
    r->path = names[i];
    assert_fails(r, TARN_E_UNSUPPORTED, strrchr(names[i], '.') + 1);
  }
}

static void data_reader__stops_when_cancelled(void **state) {
  reading *r = *state;
  tarn_cancel *cancel;
  OK(tarn_cancel_create(r->tm.env, &cancel, err));
  tm_schema(&r->tm, 0, "0 a INT", "", "", "");
  put_file(r, "a INT", "1");
  open_table(r, "");
  r->request.cancel = cancel;
  tarn_cancel_set(cancel);
  assert_fails(r, TARN_E_CANCELLED, "cancel");
  tarn_cancel_free(cancel);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(data_reader__reads_older_files_as_the_table_is_today),
      TEST(data_reader__names_file_and_column_of_a_value_that_cannot_be_cast),
      TEST(data_reader__takes_partition_keys_from_the_partition),
      TEST(data_reader__reads_sequence_numbers_and_kinds),
      TEST(data_reader__counts_rows_of_which_no_column_is_wanted),
      TEST(data_reader__reads_the_rest_of_batches_that_are_asked_for),
      TEST(data_reader__keeps_both_groups_of_a_columnar_file_in_step),
      TEST(data_reader__joins_batches_of_the_rest_that_end_early),
      TEST(data_reader__refuses_a_columnar_file_of_another_number_of_rows),
      TEST(data_reader__clears_deleted_rows),
      TEST(data_reader__steps_over_long_deleted_stretches),
      TEST(data_reader__gives_selected_rows_alone),
      TEST(data_reader__reads_nothing_when_a_missing_column_must_not_be_null),
      TEST(data_reader__refuses_a_wrong_number_of_rows),
      TEST(data_reader__tells_that_a_lost_file_may_have_expired),
      TEST(data_reader__skips_lost_files_when_told_so),
      TEST(data_reader__ends_corrupt_files_early_when_told_so),
      TEST(data_reader__refuses_formats_by_name),
      TEST(data_reader__stops_when_cancelled),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
