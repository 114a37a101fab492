/* test_row_sorter.c - sort keys as bytes, and rows in their order, in memory and on disk. */
#include "dedicated/row_sorter.h"

#include "support/files.h"
#include "write_maker.h"

/* ------------------------------------------------------------------ keys */

typedef struct order_case {
  const char *type, *rows; /* ascending */
} order_case;

/* Keys of rows that ascend ascend. */
static void linear__is_the_order_of_values(void **state) {
  static const order_case cases[] = {
      {"INT", "null;-2147483648;-1;0;1;2147483647"},
      {"BIGINT", "null;-9223372036854775808;-1;0;9223372036854775807"},
      {"BOOLEAN", "null;false;true"},
      {"DOUBLE", "null;-1e300;-1.5;0.0;1e-300;2.5"},
      {"FLOAT", "-3.5;-0.5;0.0;0.25"},
      {"STRING", "null;a;a b;ab;b"},
      {"DECIMAL(38, 2)",
       "null;-99999999999999999999999.01;-0.01;0.00;5.00;99999999999999999999999.01"},
      {"DATE", "null;1969-12-31;1970-01-01;2024-02-29"},
  };
  static const int32_t column = 0;
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    char fields[64];
    int32_t ends[16];
    write_maker m;
    tn_batch batch;
    int8_t *kinds;
    tn_buf keys;
    snprintf(fields, sizeof(fields), "0 a %s", cases[i].type);
    wm_begin(&m, fields, "", "", "bucket=-1");
    wm_batch(m.tm.env, m.table->schema->fields, 1, cases[i].rows, &batch, &kinds);
    tn_buf_init(&keys, &m.tm.env->mem, 1 << 20);
    OK(tn_order_keys(&batch, &column, 1, TN_ORDER_LINEAR, &keys, ends, err));
    for (int64_t k = 1; k < batch.n_rows; k++) {
      int32_t before = k > 1 ? ends[k - 2] : 0;
      tn_slice a = tn_slice_of(keys.data + before, (size_t)(ends[k - 1] - before));
      tn_slice b = tn_slice_of(keys.data + ends[k - 1], (size_t)(ends[k] - ends[k - 1]));
      if (tn_slice_compare(a, b) >= 0) {
        fail_msg("%s: row %d is not behind the one before", cases[i].type, (int)k);
      }
    }
    tn_buf_reset(&keys);
    tn_batch_reset(m.tm.env, &batch);
    free(kinds);
    wm_end(&m);
  }
}

/* Of the 16 x 16 points of a square, in the order of their keys. */
static void points(tn_order_kind kind, int32_t x[256], int32_t y[256]) {
  static const int32_t columns[] = {0, 1};
  static const tn_field fields[] = {{.id = 0, .name = "x", .type = {.root = TN_INT}},
                                    {.id = 1, .name = "y", .type = {.root = TN_INT}}};
  uint8_t used[256] = {0};
  int32_t ends[256];
  tarn_env *env;
  tn_batch batch;
  tn_buf keys;
  OK(tarn_env_create(NULL, &env, err));
  OK(tn_batch_init(env, fields, 2, &batch, err));
  for (int c = 0; c < 2; c++) {
    int32_t *values;
    OK(tn_vec_alloc(env, &batch.columns[c], 256, 0, err));
    values = batch.columns[c].values;
    for (int i = 0; i < 256; i++) {
      values[i] = c == 0 ? i / 16 : i % 16;
    }
  }
  batch.n_rows = 256;
  tn_buf_init(&keys, &env->mem, 1 << 20);
  OK(tn_order_keys(&batch, columns, 2, kind, &keys, ends, err));
  for (int n = 0; n < 256; n++) {
    int least = -1;
    for (int i = 0; i < 256; i++) {
      assert_int_equal(ends[i], 16 * (i + 1));
      if (!used[i] && (least < 0 || memcmp(keys.data + 16 * i, keys.data + 16 * least, 16) < 0)) {
        least = i;
      }
    }
    used[least] = 1;
    x[n] = least / 16;
    y[n] = least % 16;
  }
  tn_buf_reset(&keys);
  tn_batch_reset(env, &batch);
  tarn_env_free(env);
}

static void hilbert__goes_from_neighbour_to_neighbour(void **state) {
  int32_t x[256], y[256];
  (void)state;
  points(TN_ORDER_HILBERT, x, y);
  for (int i = 1; i < 256; i++) {
    assert_int_equal(abs(x[i] - x[i - 1]) + abs(y[i] - y[i - 1]), 1);
  }
}

static void zorder__fills_a_quarter_before_the_next(void **state) {
  int32_t x[256], y[256];
  (void)state;
  points(TN_ORDER_ZORDER, x, y);
  for (int i = 0; i < 256; i++) {
    assert_int_equal(x[i] / 8 * 2 + y[i] / 8, i / 64);
  }
}

/* ------------------------------------------------------------------ rows */

typedef struct checker {
  int64_t n, last;
  int32_t last_serial;
} checker;

static tarn_status check_rows(void *ctx, const tn_batch *batch, tarn_error *err) {
  checker *c = ctx;
  (void)err;
  assert_int_equal(batch->n_columns, 2);
  for (int64_t i = 0; i < batch->n_rows; i++) {
    int64_t value = ((const int64_t *)batch->columns[0].values)[i];
    int32_t serial = ((const int32_t *)batch->columns[1].values)[i];
    assert_true(value > c->last || (value == c->last && serial > c->last_serial));
    c->last = value;
    c->last_serial = serial;
    c->n++;
  }
  return TARN_OK;
}

enum { N_BATCHES = 40, BATCH_ROWS = 1000 };

static const tn_field row_fields[] = {{.id = 0, .name = "v", .type = {.root = TN_BIGINT}},
                                      {.id = 1, .name = "serial", .type = {.root = TN_INT}}};

static tarn_status add_rows(tarn_env *env, tn_row_sorter *sorter, tarn_error *why) {
  uint64_t z = 7;
  int32_t serial = 0;
  for (int b = 0; b < N_BATCHES; b++) {
    tn_batch batch;
    OK(tn_batch_init(env, row_fields, 2, &batch, err));
    OK(tn_vec_alloc(env, &batch.columns[0], BATCH_ROWS, 0, err));
    OK(tn_vec_alloc(env, &batch.columns[1], BATCH_ROWS, 0, err));
    for (int i = 0; i < BATCH_ROWS; i++) {
      z = z * 6364136223846793005u + 1442695040888963407u;
      ((int64_t *)batch.columns[0].values)[i] = (int64_t)(z >> 33) % 5000 - 2500;
      ((int32_t *)batch.columns[1].values)[i] = ++serial;
    }
    batch.n_rows = BATCH_ROWS;
    TN_TRY(tn_row_sorter_add(sorter, &batch, why));
  }
  return TARN_OK;
}

/* In memory, with many runs, and where there is no folder for them. */
static void rows__come_in_order_and_equal_ones_as_they_came(void **state) {
  static const int64_t sizes[] = {(int64_t)1 << 30, 1 << 20, 100000};
  static const int32_t column = 0;
  char *folder = tn_test_temp_dir();
  (void)state;
  for (size_t i = 0; i < TN_COUNT(sizes); i++) {
    const tn_row_sorter_setup setup = {.fields = row_fields,
                                       .n_fields = 2,
                                       .columns = &column,
                                       .n_columns = 1,
                                       .max_bytes = sizes[i],
                                       .spill_folder = folder};
    checker c = {0, INT64_MIN, 0};
    tn_row_sorter *sorter;
    tarn_env *env;
    OK(tarn_env_create(NULL, &env, err));
    OK(tn_row_sorter_create(env, &setup, &sorter, err));
    OK(add_rows(env, sorter, err));
    OK(tn_row_sorter_give(sorter, check_rows, &c, err));
    assert_int_equal(c.n, N_BATCHES * BATCH_ROWS);
    tn_row_sorter_free(sorter);
    tarn_env_free(env);
  }
  tn_test_temp_dir_remove(folder);
}

static void rows__without_a_folder_have_a_limit(void **state) {
  static const int32_t column = 0;
  const tn_row_sorter_setup setup = {
      .fields = row_fields, .n_fields = 2, .columns = &column, .n_columns = 1, .max_bytes = 100000};
  tn_row_sorter *sorter;
  tarn_error error;
  tarn_env *env;
  (void)state;
  OK(tarn_env_create(NULL, &env, err));
  OK(tn_row_sorter_create(env, &setup, &sorter, err));
  assert_int_equal(add_rows(env, sorter, &error), TARN_E_LIMIT);
  tn_row_sorter_free(sorter);
  tarn_env_free(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(linear__is_the_order_of_values),
      cmocka_unit_test(hilbert__goes_from_neighbour_to_neighbour),
      cmocka_unit_test(zorder__fills_a_quarter_before_the_next),
      cmocka_unit_test(rows__come_in_order_and_equal_ones_as_they_came),
      cmocka_unit_test(rows__without_a_folder_have_a_limit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
