/* room: format */
/* fuzz_parquet_variant.c - every group of a Parquet file read as a VARIANT, shredded or not: whole,
 * in small batches and by ranges. The vectors that come out must be sound, and what was put
 * together from shredded columns must print.
 */
#include <stdlib.h>

#include "column/variant.h"
#include "format/parquet/file.h"
#include "format/parquet/parquet.h"

#define BUDGET_BYTES ((size_t)64 << 20)
#define MAX_ROWS 2000
#define MAX_FIELDS 32

static void require(bool condition) {
  if (!condition) {
    abort();
  }
}

/* A Variant that was copied from the file as it is need not print; the texts are bounded. */
static void print_rows(tarn_env *env, const tn_vec *vec, bool must_print) {
  tarn_error err;
  tn_buf json;
  tn_buf_init(&json, &env->mem, 1 << 16);
  for (int64_t row = 0; row < vec->length; row++) {
    json.len = 0;
    if (!tn_vec_is_null(vec, row)) {
      tarn_status st = tn_variant_to_json(tn_vec_bytes(&vec->children[0], row),
                                          tn_vec_bytes(&vec->children[1], row), NULL, &json, &err);
      require(st == TARN_OK || !must_print || st == TARN_E_LIMIT || st == TARN_E_NOMEM ||
              strstr(err.message, "decimal") != NULL || strstr(err.message, "time") != NULL);
    }
  }
  tn_buf_reset(&json);
}

static void read_rows(tn_format_file *file, const tn_field *field, bool must_print,
                      const tn_ranges *rows, int64_t batch_rows) {
  tn_read_request request = {
      .fields = field, .n_fields = 1, .rows = rows, .batch_rows = batch_rows};
  tarn_error err;
  tn_reader *reader;
  tn_batch batch;
  int64_t n_rows = 0;
  if (file->ops->read(file, &request, &reader, &err) != TARN_OK) {
    require(err.message[0] != '\0');
    return;
  }
  if (tn_batch_init(file->env, field, 1, &batch, &err) == TARN_OK) {
    while (n_rows < MAX_ROWS && tn_reader_next(reader, 1024, &batch, &err) == TARN_OK &&
           batch.n_rows > 0) {
      require(tn_vec_validate(&batch.columns[0], &err) == TARN_OK);
      print_rows(file->env, &batch.columns[0], must_print);
      n_rows += batch.n_rows;
    }
    tn_batch_reset(file->env, &batch);
  }
  tn_reader_free(reader);
}

static void use_file(tn_format_file *file, uint32_t seed) {
  const tn_pq_schema *schema = &tn_pq_file_of(file)->meta->schema;
  tarn_error err;
  tn_ranges ranges;
  tn_ranges_init(&ranges, &file->env->mem);
  for (int64_t at = seed & 3; at < file->n_rows && at < MAX_ROWS; at += 3 + (seed & 7)) {
    if (tn_ranges_add(&ranges, at, at + 1, &err) != TARN_OK) {
      break;
    }
  }
  for (int32_t i = 0; i < schema->root.n_children && i < MAX_FIELDS; i++) {
    const tn_pq_node *node = &schema->root.children[i];
    const tn_field field = {
        .id = 0, .name = node->name, .type = {.root = TN_VARIANT, .is_nullable = true}};
    if (node->kind != TN_PQ_NODE_LEAF) {
      bool must_print =
          node->kind == TN_PQ_NODE_STRUCT && tn_pq_node_child(node, "typed_value") != NULL;
      read_rows(file, &field, must_print, NULL, 0);
      read_rows(file, &field, must_print, NULL, 1 + (seed & 15));
      read_rows(file, &field, must_print, &ranges, 0);
    }
  }
  tn_ranges_reset(&ranges);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  tarn_env_options options = TARN_ENV_OPTIONS_INIT;
  tarn_env *env;
  tn_storage *storage;
  tn_format_file *file;
  tarn_error err;
  options.memory_budget_bytes = BUDGET_BYTES;
  require(tarn_env_create(&options, &env, &err) == TARN_OK);
  require(tn_storage_memory(env, &storage, &err) == TARN_OK);
  require(tn_storage_memory_put(storage, "/f.parquet", tn_slice_of(data, n), &err) == TARN_OK);
  if (tn_format_open(env, storage, &tn_parquet_format, "/f.parquet", &file, &err) == TARN_OK) {
    use_file(file, (uint32_t)n * 2654435761u >> 8);
    tn_format_file_release(file);
  }
  tn_storage_release(storage);
  tarn_env_free(env);
  return 0;
}
