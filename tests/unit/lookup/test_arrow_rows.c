/* test_arrow_rows.c - rows of lookup files as one block of an Arrow array. */
#include "column/arrow.h"
#include "column/arrow_import.h"
#include "column/equal.h"
#include "lookup/arrow_rows.h"
#include "lookup/row_code.h"
#include "support/random_vec.h"
#include "support/test.h"
#include "support/torture.h"

enum { MAX_COLUMNS = 6, MAX_ROWS = 200 };

/* Rows of random columns, of which the first n_keys are a key. */
typedef struct sample {
  tarn_env *env;
  tn_arena arena;
  tn_field fields[MAX_COLUMNS], out_fields[MAX_COLUMNS];
  tn_vec columns[MAX_COLUMNS];
  tn_lookup_layout layout;
  int32_t stored_out[MAX_COLUMNS], n_out;
  tn_lookup_row rows[MAX_ROWS];
  const tn_lookup_row *refs[MAX_ROWS];
  int64_t n_rows;
  tn_buf bytes;
} sample;

static void random_column(sample *s, random_source *r, int32_t k) {
  tarn_error err;
  tn_field *field = &s->fields[k];
  do {
    assert_true(random_type(&s->arena, r, 1, &field->type));
  } while (!tn_row_type_is_plain(&field->type));
  field->type.is_nullable = k >= s->layout.n_keys;
  field->name = tn_arena_printf(&s->arena, "c%d", (int)k);
  field->id = k;
  assert_works(random_vec(s->env, &field->type, s->n_rows, r, &s->columns[k], &err), err);
  assert_works(tn_vec_flatten(s->env, &s->columns[k], &err), err);
}

/* Half of the rows lie in the buffer, the others in memory of their own. */
static void put_rows(sample *s) {
  tarn_error err;
  for (int64_t i = 0; i < s->n_rows; i++) {
    tn_lookup_row *row = &s->rows[i];
    size_t begin = s->bytes.len;
    row->key_at = begin;
    for (int32_t k = 0; k < s->layout.n_fields; k++) {
      row->values_at = k == s->layout.n_keys ? s->bytes.len : row->values_at;
      assert_works(k < s->layout.n_keys ? tn_row_put_key(&s->bytes, &s->columns[k], i, &err)
                                        : tn_row_put(&s->bytes, &s->columns[k], i, &err),
                   err);
    }
    row->values_at = s->layout.n_keys == s->layout.n_fields ? s->bytes.len : row->values_at;
    row->end = s->bytes.len;
    if (i % 2 == 1) {
      row->held = tn_arena_memdup(&s->arena, s->bytes.data + begin, row->end - begin);
      assert_non_null(row->held);
      row->values_at -= begin;
      row->end -= begin;
      row->key_at = 0;
      s->bytes.len = begin;
    }
    s->refs[i] = row;
  }
}

static void make_sample(sample *s, tarn_env *env, uint64_t seed) {
  random_source r = {.state = seed};
  memset(s, 0, sizeof(*s));
  s->env = env;
  tn_arena_init(&s->arena, &env->mem, 1u << 26);
  tn_buf_init(&s->bytes, &env->mem, 1u << 26);
  s->n_rows = seed % 7 == 0 ? 0 : seed % 3 == 0 ? 1 : 1 + random_below(&r, MAX_ROWS - 1);
  s->layout.fields = s->fields;
  s->layout.n_fields = 1 + (int32_t)random_below(&r, MAX_COLUMNS);
  s->layout.n_keys = seed % 2 == 0 ? 1 : 0;
  for (int32_t k = 0; k < s->layout.n_fields; k++) {
    random_column(s, &r, k);
    s->stored_out[k] = k == 0 || random_below(&r, 4) > 0 ? s->n_out : -1;
    if (s->stored_out[k] >= 0) {
      s->out_fields[s->n_out++] = s->fields[k];
    }
  }
  for (int64_t i = 0; i < s->n_rows && s->layout.n_keys > 0; i++) {
    if (tn_vec_is_null(&s->columns[0], i)) { /* keys are not null */
      s->layout.n_keys = 0;
    }
  }
  put_rows(s);
}

static void drop_sample(sample *s) {
  for (int32_t k = 0; k < s->layout.n_fields; k++) {
    tn_vec_reset(s->env, &s->columns[k]);
  }
  tn_buf_reset(&s->bytes);
  tn_arena_reset(&s->arena);
}

static tarn_status convert(sample *s, struct ArrowArray *out, tarn_error *err) {
  const tn_rows_shape shape = {&s->layout, s->stored_out, s->n_out};
  memset(out, 0, sizeof(*out));
  return tn_rows_to_array(s->env, &s->arena, &shape, s->refs, s->n_rows, &s->bytes, out, err);
}

/* The array, read as any consumer reads it, has the values. */
static void check(sample *s, const struct ArrowArray *array) {
  struct ArrowSchema schema;
  tn_arrow_import *import;
  const int8_t *kinds;
  tn_batch batch;
  tarn_error err;
  assert_works(tn_arrow_export_schema(s->env, s->out_fields, s->n_out, NULL, &schema, &err), err);
  assert_works(
      tn_arrow_import_prepare(&s->arena, &schema, s->out_fields, s->n_out, NULL, &import, &err),
      err);
  assert_works(tn_arrow_import_rows(s->env, import, array, 0, s->n_rows, &batch, &kinds, &err),
               err);
  for (int32_t k = 0; k < s->layout.n_fields; k++) {
    int32_t out = s->stored_out[k];
    if (out < 0) {
      continue;
    }
    assert_int_equal(array->children[out]->null_count, s->columns[k].null_count);
    for (int64_t b = 1; b < array->children[out]->n_buffers; b++) {
      assert_int_equal((uintptr_t)array->children[out]->buffers[b] % 64, 0);
    }
    for (int64_t i = 0; i < s->n_rows; i++) {
      bool is_equal;
      assert_works(tn_vec_rows_equal(&s->env->mem, &s->columns[k], i, &batch.columns[out], i,
                                     &is_equal, &err),
                   err);
      assert_true(is_equal);
    }
  }
  tn_batch_reset(s->env, &batch);
  schema.release(&schema);
}

static void arrow_rows__hold_what_rows_hold(void **state) {
  tarn_env *env = tn_test_env(1, 0);
  tarn_error err;
  (void)state;
  for (uint64_t seed = 1; seed <= 300; seed++) {
    struct ArrowArray array;
    sample s;
    make_sample(&s, env, seed);
    assert_works(convert(&s, &array, &err), err);
    assert_int_equal(array.length, s.n_rows);
    assert_int_equal(array.n_children, s.n_out);
    check(&s, &array);
    array.release(&array);
    assert_null(array.release);
    drop_sample(&s);
  }
  tn_buffers_trim(env);
  assert_int_equal(env->mem.reserved_bytes, 0);
  tarn_env_free(env);
}

/* A child that was moved out outlives the array, and the other way round. */
static void arrow_rows__children_can_be_moved_out(void **state) {
  tarn_env *env = tn_test_env(1, 0);
  tarn_error err;
  (void)state;
  for (int way = 0; way < 3; way++) {
    struct ArrowArray array, child;
    uint8_t copy[1];
    sample s;
    make_sample(&s, env, 12);
    assert_works(convert(&s, &array, &err), err);
    child = *array.children[0];
    array.children[0]->release = NULL;
    if (way == 0) {
      array.release(&array);
      memcpy(copy, child.buffers[1], 1); /* still there */
      assert_int_equal(child.length, s.n_rows);
      child.release(&child);
    } else {
      child.release(&child);
      array.release(&array);
    }
    assert_null(child.release);
    drop_sample(&s);
  }
  tarn_env_free(env);
}

/* Rows that end early are refused, whatever is behind them. */
static void arrow_rows__refuses_what_is_cut_off(void **state) {
  tarn_env *env = tn_test_env(1, 0);
  tarn_error err;
  (void)state;
  for (uint64_t seed = 3; seed <= 150; seed += 3) { /* one row each */
    sample s;
    size_t end;
    make_sample(&s, env, seed);
    end = s.n_rows == 1 ? s.rows[0].end : 0;
    for (size_t n = s.layout.n_keys > 0 ? s.rows[0].values_at : 0; n < end && n < 200; n++) {
      struct ArrowArray array;
      uint8_t *copy = malloc(n + 1);
      memcpy(copy, s.bytes.data, n);
      s.rows[0].held = copy;
      s.rows[0].end = n;
      if (s.layout.n_fields > s.layout.n_keys) {
        assert_int_equal(convert(&s, &array, &err), TARN_E_CORRUPT);
        assert_null(array.release);
      }
      free(copy);
    }
    drop_sample(&s);
  }
  tarn_env_free(env);
}

static void arrow_rows__survives_failing_allocations(void **state) {
  tn_test_alloc alloc;
  tarn_allocator hooks;
  tarn_env_options o = TARN_ENV_OPTIONS_INIT;
  tarn_env *env;
  tarn_error err;
  sample s;
  tarn_status st = TARN_E_NOMEM;
  (void)state;
  tn_test_alloc_init(&alloc);
  hooks = tn_test_alloc_hooks(&alloc);
  o.allocator = &hooks;
  assert_works(tarn_env_create(&o, &env, &err), err);
  make_sample(&s, env, 16);
  for (int64_t n = 1; st == TARN_E_NOMEM; n++) {
    struct ArrowArray array;
    atomic_store(&alloc.calls, 0);
    atomic_store(&alloc.fail_at, n);
    st = convert(&s, &array, &err);
    atomic_store(&alloc.fail_at, 0);
    if (st == TARN_OK) {
      array.release(&array);
      assert_true(n > 1);
    } else {
      assert_int_equal(st, TARN_E_NOMEM);
      assert_null(array.release);
    }
  }
  drop_sample(&s);
  tn_buffers_trim(env);
  assert_int_equal(env->mem.reserved_bytes, 0);
  tarn_env_free(env);
  assert_int_equal(alloc.live_blocks, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(arrow_rows__hold_what_rows_hold),
      cmocka_unit_test(arrow_rows__children_can_be_moved_out),
      cmocka_unit_test(arrow_rows__refuses_what_is_cut_off),
      cmocka_unit_test(arrow_rows__survives_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
