/* room: format */
/* A file of BLOBs: its index, its values, descriptors of them and what they refer to. */
#include "base/env.h"
#include "format/blob/blob.h"
#include "format/blob/blob_descriptor.h"

#define PATH "/f.blob"

static const tn_field field = {.name = "b", .type = {.root = TN_BLOB, .is_nullable = true}};

static tarn_status read_rows(tarn_env *env, tn_storage *storage, tn_format_file *file,
                             const char *uri, tarn_error *err) {
  tarn_status st;
  tn_reader *reader = NULL;
  tn_batch batch = {0};
  tn_read_request request = {.fields = &field, .n_fields = 1, .batch_rows = 100, .blob_uri = uri};
  TN_TRY_TO(done, file->ops->read(file, &request, &reader, err));
  TN_TRY_TO(done, tn_batch_init(env, &field, 1, &batch, err));
  for (int batches = 0; batches < 1000; batches++) {
    TN_TRY_TO(done, tn_reader_next(reader, INT64_MAX, &batch, err));
    if (batch.n_rows == 0) {
      break;
    }
    if (tn_vec_validate(&batch.columns[0], err) != TARN_OK) {
      __builtin_trap();
    }
    TN_TRY_TO(done, tn_blob_resolve(env, storage, &batch.columns[0], err));
    if (tn_vec_validate(&batch.columns[0], err) != TARN_OK) {
      __builtin_trap();
    }
  }
done:
  tn_batch_reset(env, &batch);
  tn_reader_free(reader);
  return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tarn_env_options options = TARN_ENV_OPTIONS_INIT;
  tarn_env *env = NULL;
  tn_storage *storage = NULL;
  tn_format_file *file = NULL;
  tarn_error err;
  tn_buf out;
  options.threads = 1;
  options.memory_budget_bytes = (size_t)64 << 20;
  if (tarn_env_create(&options, &env, &err) != TARN_OK) {
    return 0;
  }
  tn_buf_init(&out, &env->mem, 1u << 20);
  if (tn_storage_memory(env, &storage, &err) == TARN_OK &&
      tn_storage_memory_put(storage, PATH, tn_slice_of(data, size), &err) == TARN_OK &&
      tn_format_open(env, storage, &tn_blob_format, PATH, &file, &err) == TARN_OK) {
    if (read_rows(env, storage, file, NULL, &err) != TARN_OK ||
        read_rows(env, storage, file, PATH, &err) != TARN_OK ||
        file->ops->inspect(file, &out, &err) != TARN_OK) {
      tn_error_reset(&err);
    }
  }
  tn_buf_reset(&out);
  tn_format_file_release(file);
  tn_storage_release(storage);
  tarn_env_free(env);
  return 0;
}
