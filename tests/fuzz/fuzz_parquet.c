/* room: format */
/* fuzz_parquet.c - bytes as a Parquet file: open, schema, inspect, prune, and reads of all rows, of
 * ranges, with skips, flat and encoded. Vectors that come out must be sound whatever the bytes are.
 */
#include <stdlib.h>

#include "format/parquet/parquet.h"

#define BUDGET_BYTES ((size_t)64 << 20)
#define MAX_ROWS 20000 /* files of few bytes may hold very many rows */
#define MAX_FIELDS 256

static void require(bool condition) {
  if (!condition) {
    abort();
  }
}

static void look_at(const tn_batch *batch) {
  tarn_error err;
  for (int32_t c = 0; c < batch->n_columns; c++) {
    require(batch->columns[c].length == batch->n_rows);
    require(tn_vec_validate(&batch->columns[c], &err) == TARN_OK);
  }
}

static void read_rows(tn_format_file *file, const tn_read_request *request, uint32_t seed) {
  tarn_error err;
  tn_reader *reader;
  tn_batch batch;
  int64_t n_rows = 0;
  if (file->ops->read(file, request, &reader, &err) != TARN_OK) {
    return;
  }
  if (tn_batch_init(file->env, request->fields, request->n_fields, &batch, &err) == TARN_OK) {
    while (n_rows < MAX_ROWS) {
      seed = seed * 1664525 + 1013904223;
      if (seed >> 30 == 3 && tn_reader_skip(reader, seed >> 16 & 63, &err) != TARN_OK) {
        break;
      }
      if (tn_reader_next(reader, 1 + (seed >> 8 & 1023), &batch, &err) != TARN_OK ||
          batch.n_rows == 0) {
        break;
      }
      look_at(&batch);
      n_rows += batch.n_rows;
    }
    tn_batch_reset(file->env, &batch);
  }
  tn_reader_free(reader);
}

/* A leaf for an atomic column, with an operator and a literal that its position picks. */
static const tn_pred *make_leaf(tn_arena *arena, const tn_field *field, int32_t i) {
  static const tn_pred_op ops[] = {TN_PRED_EQ,          TN_PRED_LT,    TN_PRED_GE,
                                   TN_PRED_NE,          TN_PRED_IN,    TN_PRED_IS_NULL,
                                   TN_PRED_IS_NOT_NULL, TN_PRED_NOT_IN};
  tn_pred_op op = ops[(size_t)i % TN_COUNT(ops)];
  tn_datum literal;
  memset(&literal, 0, sizeof(literal));
  if (tn_type_layout(&field->type) == TN_LAYOUT_BYTES) {
    literal.v.bytes = tn_slice_text("m");
  }
  return tn_pred_leaf(arena, op, field, &literal,
                      op == TN_PRED_IS_NULL || op == TN_PRED_IS_NOT_NULL ? 0 : 1);
}

static void prune(tn_format_file *file, tn_arena *arena, const tn_field *fields, int32_t n,
                  tn_ranges *ranges) {
  const tn_pred *leaves[16], *halves[2], *root;
  int32_t n_leaves = 0;
  tarn_error err;
  for (int32_t i = 0; i < n && n_leaves < 16; i++) {
    if (!tn_type_is_nested(&fields[i].type) && fields[i].type.root != TN_VARIANT) {
      leaves[n_leaves] = make_leaf(arena, &fields[i], i);
      n_leaves += leaves[n_leaves] != NULL;
    }
  }
  if (n_leaves < 2) {
    return;
  }
  halves[0] = tn_pred_compound(arena, TN_PRED_OR, leaves, n_leaves / 2);
  halves[1] = tn_pred_compound(arena, TN_PRED_OR, leaves + n_leaves / 2, n_leaves - n_leaves / 2);
  root = halves[0] != NULL && halves[1] != NULL ? tn_pred_compound(arena, TN_PRED_AND, halves, 2)
                                                : NULL;
  if (root != NULL && file->ops->prune(file, fields, n, root, ranges, &err) == TARN_OK) {
    for (size_t i = 0; i < ranges->count; i++) {
      require(ranges->items[i].begin < ranges->items[i].end &&
              ranges->items[i].end <= file->n_rows);
    }
  }
}

static void add_ranges(int64_t n_rows, uint32_t seed, tn_ranges *out) {
  tarn_error err;
  int64_t at = seed & 7;
  for (int i = 0; i < 64 && at < n_rows; i++) {
    int64_t end;
    seed = seed * 1664525 + 1013904223;
    end = at + 1 + (seed >> 24 & 31);
    end = end < n_rows ? end : n_rows;
    if (tn_ranges_add(out, at, end, &err) != TARN_OK) {
      return;
    }
    at = end + 1 + (seed >> 16 & 63);
  }
}

static void use_file(tn_format_file *file, uint32_t seed) {
  tarn_error err;
  tn_arena arena;
  tn_field *fields = NULL;
  int32_t n = 0;
  tn_buf text;
  tn_ranges ranges;
  tn_arena_init(&arena, &file->env->mem, BUDGET_BYTES);
  tn_buf_init(&text, &file->env->mem, (size_t)16 << 20);
  tn_ranges_init(&ranges, &file->env->mem);
  (void)!file->ops->inspect(file, &text, &err);
  if (file->ops->schema(file, &arena, &fields, &n, &err) == TARN_OK) {
    tn_read_request request;
    memset(&request, 0, sizeof(request));
    n = n < MAX_FIELDS ? n : MAX_FIELDS;
    request.fields = fields;
    request.n_fields = n;
    read_rows(file, &request, 1);
    request.allows_encoded = true;
    read_rows(file, &request, seed);
    add_ranges(file->n_rows, seed, &ranges);
    request.rows = &ranges;
    read_rows(file, &request, seed);
    tn_ranges_reset(&ranges);
    if (file->n_rows > 0 && tn_ranges_add(&ranges, 0, file->n_rows, &err) == TARN_OK) {
      prune(file, &arena, fields, n, &ranges);
      request.allows_encoded = false;
      read_rows(file, &request, seed >> 5);
    }
  }
  tn_ranges_reset(&ranges);
  tn_buf_reset(&text);
  tn_arena_reset(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  tarn_env_options options = TARN_ENV_OPTIONS_INIT;
  tarn_env *env;
  tn_storage *storage;
  tn_format_file *file;
  tarn_error err;
  uint32_t seed = (uint32_t)n * 2654435761u;
  options.memory_budget_bytes = BUDGET_BYTES;
  require(tarn_env_create(&options, &env, &err) == TARN_OK);
  require(tn_storage_memory(env, &storage, &err) == TARN_OK);
  require(tn_storage_memory_put(storage, "/f.parquet", tn_slice_of(data, n), &err) == TARN_OK);
  if (tn_format_open(env, storage, &tn_parquet_format, "/f.parquet", &file, &err) == TARN_OK) {
    use_file(file, seed);
    tn_format_file_release(file);
  }
  tn_storage_release(storage);
  tarn_env_free(env);
  return 0;
}
