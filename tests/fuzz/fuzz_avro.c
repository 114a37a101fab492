/* room: format */
/* An Avro data file: its header, its types, all its rows, and some of its rows. */
#include "base/env.h"
#include "format/avro/avro.h"

static tarn_status read_rows(tarn_env *env, tn_format_file *file, tn_field *fields, int32_t n,
                             const tn_ranges *rows, tarn_error *err) {
  tarn_status st;
  tn_reader *reader = NULL;
  tn_batch batch = {0};
  tn_read_request request = {
      .fields = fields, .n_fields = n, .rows = rows, .allows_encoded = true, .batch_rows = 100};
  TN_TRY_TO(done, file->ops->read(file, &request, &reader, err));
  TN_TRY_TO(done, tn_batch_init(env, fields, n, &batch, err));
  for (int batches = 0; batches < 1000; batches++) {
    TN_TRY_TO(done, tn_reader_next(reader, INT64_MAX, &batch, err));
    if (batch.n_rows == 0) {
      break;
    }
    for (int32_t i = 0; i < n; i++) {
      if (tn_vec_validate(&batch.columns[i], err) != TARN_OK ||
          batch.columns[i].length != batch.n_rows) {
        __builtin_trap();
      }
    }
  }
done:
  tn_batch_reset(env, &batch);
  tn_reader_free(reader);
  return st;
}

static void read_file(tarn_env *env, tn_slice bytes) {
  tarn_error err;
  tn_storage *storage = NULL;
  tn_file *file = NULL;
  tn_format_file *opened = NULL;
  tn_field *fields = NULL;
  int32_t n = 0;
  tn_arena arena;
  tn_ranges rows;
  tn_buf text;
  tn_arena_init(&arena, &env->mem, SIZE_MAX);
  tn_ranges_init(&rows, &env->mem);
  tn_buf_init(&text, &env->mem, (size_t)1 << 24);
  if (tn_storage_memory(env, &storage, &err) == TARN_OK &&
      tn_storage_memory_put(storage, "/f", bytes, &err) == TARN_OK &&
      tn_storage_open(storage, "/f", &file, &err) == TARN_OK &&
      tn_avro_format.open(env, file, &opened, &err) == TARN_OK) {
    (void)!opened->ops->inspect(opened, &text, &err);
    if (opened->ops->schema(opened, &arena, &fields, &n, &err) == TARN_OK &&
        tn_ranges_add(&rows, 1, 3, &err) == TARN_OK &&
        tn_ranges_add(&rows, 7, 1000000, &err) == TARN_OK) {
      (void)!read_rows(env, opened, fields, n, NULL, &err);
      (void)!read_rows(env, opened, fields, n > 0 ? 1 : 0, &rows, &err);
    }
  }
  if (opened != NULL) {
    tn_format_file_release(opened);
  }
  tn_file_release(file);
  tn_storage_release(storage);
  tn_buf_reset(&text);
  tn_ranges_reset(&rows);
  tn_arena_reset(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tarn_env *env;
  if (tarn_env_create(NULL, &env, NULL) == TARN_OK) {
    read_file(env, tn_slice_of(data, size));
    tarn_env_free(env);
  }
  return 0;
}
