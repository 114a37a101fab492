/* What the Parquet writer refuses, what it holds in memory, and failing allocations. */
#include "write_test.h"

#include "base/bytes.h"
#include "format/parquet/parquet.h"
#include "support/test.h"
#include "support/torture.h"

static format_test t;

/* ------------------------------------------------------------------ refusals */

static tarn_status write_row(const char *row, tarn_error *err) {
  int32_t n;
  const tn_field *fields = sql_fields(&t, row, &n);
  tn_write_request request = {fields, n, NULL, NULL, 0};
  tn_format_file *file;
  tarn_status st = write_file(&t, &request, NULL, 0, &file, err);
  tn_format_file_release(file);
  return st;
}

static void refuses__types_that_parquet_files_do_not_have(void **state) {
  tarn_error err;
  (void)state;
  assert_int_equal(write_row("ROW<a INT, b ROW<c BLOB>>", &err), TARN_E_UNSUPPORTED);
  assert_contains(err.message, "a BLOB in another type");
  assert_int_equal(write_row("ROW<a VECTOR<FLOAT, 3>>", &err), TARN_E_UNSUPPORTED);
  assert_contains(err.message, "VECTOR");
  assert_int_equal(write_row("ROW<a ARRAY<BLOB>>", &err), TARN_E_UNSUPPORTED);
}

static void refuses__unknown_compression(void **state) {
  tarn_error err;
  int32_t n;
  const tn_field *fields = sql_fields(&t, "ROW<a INT>", &n);
  tn_write_options options = {.compression = "lzo"};
  tn_write_request request = {fields, n, &options, NULL, 0};
  tn_format_file *file;
  (void)state;
  assert_int_equal(write_file(&t, &request, NULL, 0, &file, &err), TARN_E_UNSUPPORTED);
  assert_contains(err.message, "\"lzo\"");
}

/* One row of nulls at every depth; null where `row` says NOT NULL. */
static void refuse_nulls(const char *wanted, const char *given, const char *named) {
  tarn_error err;
  int32_t n;
  const tn_field *fields = sql_fields(&t, wanted, &n), *loose = sql_fields(&t, given, &n);
  tn_write_request request = {fields, n, NULL, NULL, 0};
  tn_format_file *file;
  tn_batch batch;
  assert_works(tn_batch_init(t.env, loose, n, &batch, &err), err);
  batch.n_rows = 2;
  for (int is_flat = 0; is_flat < 2; is_flat++) {
    assert_works(tn_vec_init_nulls(t.env, &loose[0].type, 2, is_flat != 0, &batch.columns[0], &err),
                 err);
    if (!loose[0].type.is_nullable && batch.columns[0].encoding == TN_VEC_FLAT) {
      tn_buffer_release(batch.columns[0].valid_buffer);
      batch.columns[0].valid_buffer = NULL;
      batch.columns[0].valid = NULL;
      batch.columns[0].null_count = 0;
    } else if (!loose[0].type.is_nullable) {
      continue;
    }
    assert_int_equal(write_file(&t, &request, &batch, 1, &file, &err), TARN_E_INVALID);
    assert_contains(err.message, named);
    assert_contains(err.message, "`c`");
  }
  tn_batch_reset(t.env, &batch);
}

static void refuses__nulls_where_not_null(void **state) {
  (void)state;
  refuse_nulls("ROW<c INT NOT NULL>", "ROW<c INT>", "NOT NULL");
  refuse_nulls("ROW<c STRING NOT NULL>", "ROW<c STRING>", "NOT NULL");
  refuse_nulls("ROW<c ARRAY<INT> NOT NULL>", "ROW<c ARRAY<INT>>", "NOT NULL");
  refuse_nulls("ROW<c ROW<x INT> NOT NULL>", "ROW<c ROW<x INT>>", "NOT NULL");
  refuse_nulls("ROW<c ROW<x INT NOT NULL> NOT NULL>", "ROW<c ROW<x INT> NOT NULL>", "`x`");
}

static void refuses__values_that_do_not_fit(void **state) {
  static const char *const rows[] = {"ROW<c DECIMAL(9, 0)>", "ROW<c DECIMAL(18, 0)>",
                                     "ROW<c DECIMAL(19, 0)>", "ROW<c TIMESTAMP(9)>"};
  tarn_error err;
  (void)state;
  for (size_t i = 0; i < TN_COUNT(rows); i++) {
    int32_t n;
    const tn_field *fields = sql_fields(&t, rows[i], &n);
    tn_write_request request = {fields, n, NULL, NULL, 0};
    tn_format_file *file;
    tn_batch batch;
    assert_works(tn_batch_init(t.env, fields, n, &batch, &err), err);
    assert_works(tn_vec_alloc(t.env, &batch.columns[0], 1, 0, &err), err);
    tn_store_i128(batch.columns[0].values, (tn_i128)1 << 126);
    batch.n_rows = 1;
    assert_int_equal(write_file(&t, &request, &batch, 1, &file, &err), TARN_E_INVALID);
    assert_contains(err.message, "`c`");
    tn_batch_reset(t.env, &batch);
  }
}

static void refuses__batches_of_other_columns(void **state) {
  tarn_error err;
  int32_t n, n_others;
  const tn_field *fields = sql_fields(&t, "ROW<a INT, b INT>", &n);
  const tn_field *others = sql_fields(&t, "ROW<a INT, b BIGINT>", &n_others);
  tn_write_request request = {fields, n, NULL, NULL, 0};
  tn_format_file *file;
  random_source r = {.state = 1};
  tn_batch batch;
  (void)state;
  random_batch(&t, others, 2, 3, &r, &batch);
  assert_int_equal(write_file(&t, &request, &batch, 1, &file, &err), TARN_E_INVALID);
  assert_contains(err.message, "`b`");
  tn_batch_reset(t.env, &batch);
  random_batch(&t, others, 1, 3, &r, &batch);
  assert_int_equal(write_file(&t, &request, &batch, 1, &file, &err), TARN_E_INVALID);
  tn_batch_reset(t.env, &batch);
}

static void refuses__to_go_on_after_the_end(void **state) {
  tarn_error err;
  int32_t n;
  const tn_field *fields = sql_fields(&t, "ROW<a BIGINT>", &n);
  tn_format_writer *writer;
  tn_sink *sink;
  tn_write_request request = {fields, n, NULL, NULL, 0};
  random_source r = {.state = 1};
  tn_batch batch;
  (void)state;
  random_batch(&t, fields, n, 3, &r, &batch);
  assert_works(tn_storage_create(t.memory, "/ended", &sink, &err), err);
  assert_works(tn_parquet_writer_ops.create(t.env, sink, &request, &writer, &err), err);
  assert_works(writer->calls->write(writer, &batch, &err), err);
  assert_works(writer->calls->finish(writer, &err), err);
  assert_int_equal(writer->calls->write(writer, &batch, &err), TARN_E_STATE);
  assert_int_equal(writer->calls->finish(writer, &err), TARN_E_STATE);
  writer->calls->free(writer);
  tn_sink_abort(sink);
  tn_batch_reset(t.env, &batch);
}

static void by_name__gives_the_writer_or_refuses(void **state) {
  const tn_format_writer_ops *ops;
  tarn_error err;
  (void)state;
  assert_works(tn_format_writer_by_name(tn_slice_text("PARQUET"), &ops, &err), err);
  assert_ptr_equal(ops, &tn_parquet_writer_ops);
  assert_int_equal(tn_format_writer_by_name(tn_slice_text("orc"), &ops, &err), TARN_E_UNSUPPORTED);
  assert_contains(err.message, "\"orc\"");
}

/* ------------------------------------------------------------------ sizes and memory */

/* The estimate never goes back much, and ends near the file's size. */
static void size__tells_about_what_the_file_will_have(void **state) {
  tarn_error err;
  int32_t n;
  const tn_field *fields = sql_fields(&t, "ROW<a BIGINT, b STRING, c ARRAY<INT>>", &n);
  tn_write_request request = {fields, n, NULL, NULL, 0};
  random_source r = {.state = 5};
  tn_format_writer *writer;
  tn_sink *sink;
  int64_t last = 0, size;
  (void)state;
  assert_works(tn_storage_create(t.memory, "/size", &sink, &err), err);
  assert_works(tn_parquet_writer_ops.create(t.env, sink, &request, &writer, &err), err);
  for (int i = 0; i < 60; i++) {
    tn_batch batch;
    random_batch(&t, fields, n, 1000, &r, &batch);
    assert_works(writer->calls->write(writer, &batch, &err), err);
    tn_batch_reset(t.env, &batch);
    size = writer->calls->size(writer);
    assert_true(size > 0);
    last = size;
  }
  assert_works(writer->calls->finish(writer, &err), err);
  size = tn_sink_size(sink);
  assert_int_equal(writer->calls->size(writer), size);
  assert_true(last > size * 3 / 4 && last < size * 5 / 4);
  writer->calls->free(writer);
  tn_sink_abort(sink);
}

/* A budget that the default row group does not fit: row groups end early instead. */
static void memory__short_budget_ends_row_groups_early(void **state) {
  tarn_error err;
  tarn_env *env = tn_test_env(1, (size_t)24 << 20);
  format_test small = {.env = env};
  int32_t n;
  const tn_field *fields;
  tn_write_options options = {.compression = "none", .no_dictionary = true};
  tn_format_writer *writer;
  tn_sink *sink;
  tn_batch batch;
  int64_t written = 0;
  (void)state;
  tn_arena_init(&small.arena, &env->mem, (size_t)1 << 20);
  assert_works(tn_storage_local(env, &small.storage, &err), err);
  fields = sql_fields(&small, "ROW<a BIGINT NOT NULL>", &n);
  tn_write_request request = {fields, n, &options, NULL, 0};
  assert_works(tn_storage_create(t.memory, "/short", &sink, &err), err);
  assert_works(tn_parquet_writer_ops.create(env, sink, &request, &writer, &err), err);
  assert_works(tn_batch_init(env, fields, n, &batch, &err), err);
  assert_works(tn_vec_alloc(env, &batch.columns[0], 100000, 0, &err), err);
  memset(batch.columns[0].values, 1, 800000);
  batch.n_rows = 100000;
  for (int i = 0; i < 50; i++) {
    assert_works(writer->calls->write(writer, &batch, &err), err);
    written = tn_sink_size(sink);
  }
  assert_true(written > (int64_t)16 << 20);
  assert_works(writer->calls->finish(writer, &err), err);
  writer->calls->free(writer);
  tn_sink_abort(sink);
  tn_batch_reset(env, &batch);
  tn_storage_release(small.storage);
  tn_arena_reset(&small.arena);
  tarn_env_free(env);
}

/* A writer that waits with few rows holds little. */
static void memory__idle_writers_are_small(void **state) {
  tarn_error err;
  tn_test_alloc alloc;
  tarn_allocator hooks;
  tarn_env_options options = TARN_ENV_OPTIONS_INIT;
  tarn_env *env;
  tn_storage *storage;
  tn_arena arena;
  tn_type type;
  int32_t next_id = 0;
  tn_format_writer *writers[100];
  tn_sink *sinks[100];
  int64_t before;
  (void)state;
  tn_test_alloc_init(&alloc);
  hooks = tn_test_alloc_hooks(&alloc);
  options.allocator = &hooks;
  options.threads = 1;
  assert_works(tarn_env_create(&options, &env, &err), err);
  assert_works(tn_storage_memory(env, &storage, &err), err);
  tn_arena_init(&arena, &env->mem, (size_t)1 << 20);
  assert_works(
      tn_type_from_sql(&arena, "ROW<a BIGINT, b INT, c STRING, d DOUBLE>", &next_id, &type, &err),
      err);
  tn_write_request request = {type.fields, type.n_fields, NULL, NULL, 0};
  before = alloc.live_bytes;
  for (int i = 0; i < 100; i++) {
    random_source r = {.state = (uint64_t)i};
    tn_batch batch;
    assert_works(tn_storage_create(storage, tn_arena_printf(&arena, "/%d", i), &sinks[i], &err),
                 err);
    assert_works(tn_parquet_writer_ops.create(env, sinks[i], &request, &writers[i], &err), err);
    assert_works(tn_batch_init(env, type.fields, type.n_fields, &batch, &err), err);
    for (int32_t c = 0; c < type.n_fields; c++) {
      assert_works(random_vec(env, &type.fields[c].type, 10, &r, &batch.columns[c], &err), err);
    }
    batch.n_rows = 10;
    assert_works(writers[i]->calls->write(writers[i], &batch, &err), err);
    tn_batch_reset(env, &batch);
  }
  tn_buffers_trim(env);
  assert_true((alloc.live_bytes - before) / 100 < 24 << 10);
  for (int i = 0; i < 100; i++) {
    writers[i]->calls->free(writers[i]);
    tn_sink_abort(sinks[i]);
  }
  tn_arena_reset(&arena);
  tn_storage_release(storage);
  tarn_env_free(env);
  assert_int_equal(alloc.live_blocks, 0);
}

/* ------------------------------------------------------------------ torture */

#define TORTURE_ROW                                                                            \
  "ROW<a BIGINT, s STRING, d DECIMAL(30, 2), t TIMESTAMP(9), b BOOLEAN, l ARRAY<ROW<x INT, y " \
  "BYTES>>>"

static tarn_status write_twice(tarn_env *env, const tn_type *type, tn_sink *sink, tarn_error *err) {
  tn_write_options options = {.compression = "snappy", .page_rows = 20, .block_bytes = 1500};
  tn_write_request request = {type->fields, type->n_fields, &options, NULL, 0};
  tn_format_writer *writer = NULL;
  tn_batch batch;
  tarn_status st = TARN_OK;
  memset(&batch, 0, sizeof(batch));
  TN_TRY_TO(done, tn_parquet_writer_ops.create(env, sink, &request, &writer, err));
  TN_TRY_TO(done, tn_batch_init(env, type->fields, type->n_fields, &batch, err));
  batch.n_rows = 60;
  for (uint64_t round = 0; round < 2; round++) {
    random_source r = {.state = 3 + round};
    for (int32_t c = 0; c < type->n_fields; c++) {
      TN_TRY_TO(done, random_vec(env, &type->fields[c].type, 60, &r, &batch.columns[c], err));
    }
    if (round == 1 && batch.columns[1].null_count == 0) {
      tn_vec dict = {0};
      TN_TRY_TO(done, random_dict(env, &batch.columns[1], 60, &r, &dict, err));
      tn_vec_reset(env, &batch.columns[1]);
      tn_vec_move(&batch.columns[1], &dict);
    }
    TN_TRY_TO(done, writer->calls->write(writer, &batch, err));
  }
  st = writer->calls->finish(writer, err);
done:
  tn_batch_reset(env, &batch);
  if (writer != NULL) {
    writer->calls->free(writer);
  }
  return st;
}

static tarn_status write_tortured(void *ctx, tarn_env *env, tarn_error *err) {
  tn_storage *storage = NULL;
  tn_sink *sink = NULL;
  tn_arena arena;
  tn_type type;
  int32_t next_id = 0;
  tarn_status st = TARN_OK;
  (void)ctx;
  tn_arena_init(&arena, &env->mem, (size_t)1 << 20);
  TN_TRY_TO(done, tn_type_from_sql(&arena, TORTURE_ROW, &next_id, &type, err));
  TN_TRY_TO(done, tn_storage_memory(env, &storage, err));
  TN_TRY_TO(done, tn_storage_create(storage, "/out", &sink, err));
  st = write_twice(env, &type, sink, err);
done:
  tn_sink_abort(sink);
  tn_storage_release(storage);
  tn_arena_reset(&arena);
  return st;
}

static void torture__failing_allocations_leave_nothing(void **state) {
  (void)state;
  tn_torture(write_tortured, NULL, TARN_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      format_unit_test(&t, refuses__types_that_parquet_files_do_not_have),
      format_unit_test(&t, refuses__unknown_compression),
      format_unit_test(&t, refuses__nulls_where_not_null),
      format_unit_test(&t, refuses__values_that_do_not_fit),
      format_unit_test(&t, refuses__batches_of_other_columns),
      format_unit_test(&t, refuses__to_go_on_after_the_end),
      format_unit_test(&t, by_name__gives_the_writer_or_refuses),
      format_unit_test(&t, size__tells_about_what_the_file_will_have),
      format_unit_test(&t, memory__short_budget_ends_row_groups_early),
      format_unit_test(&t, memory__idle_writers_are_small),
      cmocka_unit_test(torture__failing_allocations_leave_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
