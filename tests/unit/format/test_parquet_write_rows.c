/* What is written to Parquet comes back: every type, nullable or not, in every style of values, by
 * options that make small pages, row groups and dictionaries, in batches of any size and encoding.
 */
#include "write_test.h"

#include "support/test.h"

static format_test t;

/* All zero: the defaults. */
static const tn_write_options option_sets[] = {
    {0},
    {.no_dictionary = true, .compression = "none"},
    {.page_rows = 10, .compression = "snappy"},
    {.page_rows = 64, .block_bytes = 2000, .compression = "lz4_raw"},
    {.page_bytes = 300, .dictionary_bytes = 200, .compression = "none"},
    {.page_bytes = 1, .block_bytes = 1, .compression = "gzip"},
    {.page_rows = 1, .no_dictionary = true},
};

/* Write `n_batches` batches of up to `most` rows and read them back in two ways. */
static void round_trip(const tn_field *fields, int32_t n_fields, const tn_write_options *options,
                       size_t n_batches, uint32_t most, uint64_t seed, bool is_encoded) {
  tarn_error err;
  random_source r = {.state = seed};
  tn_batch batches[8];
  tn_format_file *file;
  tn_write_request request = {fields, n_fields, options, NULL, 0};
  assert_true(n_batches <= TN_COUNT(batches));
  for (size_t i = 0; i < n_batches; i++) {
    random_batch(&t, fields, n_fields, random_below(&r, most + 1), &r, &batches[i]);
    if (is_encoded) {
      encode_batch(&t, &r, &batches[i]);
    }
  }
  if (write_file(&t, &request, batches, n_batches, &file, &err) != TARN_OK) {
    fail_msg("seed %llu: %s", (unsigned long long)seed, err.message);
  }
  check_rows(&t, file, fields, n_fields, batches, n_batches, 1000, false);
  check_rows(&t, file, fields, n_fields, batches, n_batches, 1 + (int64_t)(seed % 77), true);
  tn_format_file_release(file);
  for (size_t i = 0; i < n_batches; i++) {
    tn_batch_reset(t.env, &batches[i]);
  }
}

static const char *const types[] = {"BOOLEAN",
                                    "TINYINT",
                                    "SMALLINT",
                                    "INT",
                                    "BIGINT",
                                    "FLOAT",
                                    "DOUBLE",
                                    "CHAR(5)",
                                    "VARCHAR(20)",
                                    "STRING",
                                    "BINARY(8)",
                                    "VARBINARY(9)",
                                    "BYTES",
                                    "DATE",
                                    "TIME(3)",
                                    "TIMESTAMP(0)",
                                    "TIMESTAMP(3)",
                                    "TIMESTAMP(6)",
                                    "TIMESTAMP(9)",
                                    "TIMESTAMP_LTZ(3)",
                                    "TIMESTAMP_LTZ(6)",
                                    "TIMESTAMP_LTZ(9)",
                                    "DECIMAL(1, 0)",
                                    "DECIMAL(9, 2)",
                                    "DECIMAL(10, 2)",
                                    "DECIMAL(18, 18)",
                                    "DECIMAL(19, 0)",
                                    "DECIMAL(22, 3)",
                                    "DECIMAL(38, 10)",
                                    "VARIANT",
                                    "ARRAY<INT>",
                                    "ARRAY<STRING NOT NULL>",
                                    "ARRAY<ARRAY<BIGINT>>",
                                    "ARRAY<DECIMAL(20, 2)>",
                                    "MAP<STRING, INT>",
                                    "MAP<INT, DOUBLE NOT NULL>",
                                    "MAP<STRING, ARRAY<TIMESTAMP(9)>>",
                                    "MULTISET<STRING>",
                                    "ROW<a INT, b STRING NOT NULL>",
                                    "ROW<a ROW<b ROW<c BOOLEAN>>, d ARRAY<ROW<e DATE, f BYTES>>>",
                                    "ARRAY<MAP<BIGINT, ROW<x FLOAT, y MULTISET<INT>>>>",
                                    "ROW<v VARIANT, a ARRAY<VARIANT>>"};

static const tn_field *one_column(const char *type, bool is_nullable, int32_t *n) {
  const char *row = tn_arena_printf(&t.arena, "ROW<c %s%s>", type, is_nullable ? "" : " NOT NULL");
  assert_non_null(row);
  return sql_fields(&t, row, n);
}

static void rows__of_every_type_come_back(void **state) {
  (void)state;
  for (size_t i = 0; i < TN_COUNT(types); i++) {
    for (int is_nullable = 0; is_nullable < 2; is_nullable++) {
      for (size_t o = 0; o < TN_COUNT(option_sets); o++) {
        int32_t n;
        const tn_field *fields = one_column(types[i], is_nullable != 0, &n);
        for (uint64_t seed = 1; seed <= 4; seed++) {
          round_trip(fields, n, &option_sets[o], 3, 150, seed * 1000 + i, seed % 2 == 0);
        }
      }
    }
  }
}

static void rows__of_long_columns_come_back(void **state) {
  (void)state;
  for (size_t i = 0; i < TN_COUNT(types); i++) {
    int32_t n;
    const tn_field *fields = one_column(types[i], i % 3 != 0, &n);
    round_trip(fields, n, &option_sets[0], 4, 15000, 7 + i, false);
    round_trip(fields, n, &option_sets[0], 4, 6000, 8 + i, true);
  }
}

static void rows__no_rows_make_a_file(void **state) {
  int32_t n;
  const tn_field *fields = sql_fields(&t, "ROW<a INT, b ARRAY<STRING>>", &n);
  (void)state;
  round_trip(fields, n, &option_sets[0], 0, 0, 1, false);
  round_trip(fields, n, &option_sets[0], 3, 0, 1, false);
}

static void rows__of_random_schemas_come_back(void **state) {
  static const char *const names[] = {"c0", "c1", "c2", "c3", "c4", "c5"};
  (void)state;
  for (uint64_t seed = 1; seed <= 400; seed++) {
    random_source r = {.state = seed};
    tn_field fields[TN_COUNT(names)];
    int32_t n = 1 + (int32_t)random_below(&r, TN_COUNT(names));
    memset(fields, 0, sizeof(fields));
    for (int32_t i = 0; i < n; i++) {
      fields[i].id = i;
      fields[i].name = names[i];
      assert_true(random_type(&t.arena, &r, 4, &fields[i].type));
    }
    round_trip(fields, n, &option_sets[seed % TN_COUNT(option_sets)], 1 + seed % 8, 120, seed,
               seed % 3 == 0);
  }
}

/* Long values: pages and slices end by bytes, not by rows. */
static void rows__of_long_values_come_back(void **state) {
  tarn_error err;
  int32_t n;
  const tn_field *fields = sql_fields(&t, "ROW<id INT, s STRING, a ARRAY<BYTES>>", &n);
  tn_write_options options = {.compression = "lz4_raw"};
  tn_write_request request = {fields, n, &options, NULL, 0};
  tn_batch batch;
  tn_format_file *file;
  const int64_t n_rows = 60;
  const int32_t longest = 100000;
  (void)state;
  assert_works(tn_batch_init(t.env, fields, n, &batch, &err), err);
  batch.n_rows = n_rows;
  assert_works(tn_vec_alloc(t.env, &batch.columns[0], n_rows, 0, &err), err);
  assert_works(tn_vec_alloc(t.env, &batch.columns[1], n_rows, (size_t)n_rows * 100000, &err), err);
  assert_works(tn_vec_alloc(t.env, &batch.columns[2], n_rows, 0, &err), err);
  assert_works(
      tn_vec_alloc(t.env, &batch.columns[2].children[0], n_rows, (size_t)n_rows * 100000, &err),
      err);
  for (int32_t i = 0; i < n_rows; i++) {
    tn_vec *s = &batch.columns[1], *items = &batch.columns[2].children[0];
    ((int32_t *)batch.columns[0].values)[i] = i;
    memset((uint8_t *)s->values + s->offsets[i], 'a' + i % 26, (size_t)longest - (size_t)i);
    s->offsets[i + 1] = s->offsets[i] + longest - i;
    memset((uint8_t *)items->values + items->offsets[i], i, (size_t)i * 1000);
    items->offsets[i + 1] = items->offsets[i] + i * 1000;
    batch.columns[2].offsets[i + 1] = i + 1;
  }
  assert_works(write_file(&t, &request, &batch, 1, &file, &err), err);
  check_rows(&t, file, fields, n, &batch, 1, 7, false);
  tn_format_file_release(file);
  tn_batch_reset(t.env, &batch);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      format_unit_test(&t, rows__of_every_type_come_back),
      format_unit_test(&t, rows__of_long_columns_come_back),
      format_unit_test(&t, rows__no_rows_make_a_file),
      format_unit_test(&t, rows__of_random_schemas_come_back),
      format_unit_test(&t, rows__of_long_values_come_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
