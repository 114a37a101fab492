/* room: format */
/* fuzz_parquet_write.c - bytes as a schema, options and batches: what is written is read back
 * equal, whatever the types, nulls, nestings, encodings and sizes of pages and row groups.
 */
#include <stdio.h>
#include <stdlib.h>

#include "column/equal.h"
#include "format/parquet/parquet.h"
#include "format/parquet/write.h"
#include "support/random_vec.h"

#define BUDGET_BYTES ((size_t)64 << 20)
#define MAX_COLUMNS 5
#define MAX_BATCHES 4
#define MAX_ROWS 700
#define MAX_DEPTH 4

typedef struct fuzz {
  tarn_env *env;
  tn_storage *storage;
  tn_arena arena;
  random_source r;
  tn_field fields[MAX_COLUMNS];
  int32_t n_fields;
  tn_batch batches[MAX_BATCHES];
  int32_t n_batches;
} fuzz;

static void require(bool condition) {
  if (!condition) {
    abort();
  }
}

static void must(tarn_status st, const tarn_error *err) {
  if (st != TARN_OK) {
    fprintf(stderr, "%s\n", err->message);
    abort();
  }
}

static void make_fields(fuzz *f) {
  static const char *const names[] = {"c0", "c1", "c2", "c3", "c4"};
  f->n_fields = 1 + (int32_t)random_below(&f->r, MAX_COLUMNS);
  for (int32_t i = 0; i < f->n_fields; i++) {
    f->fields[i].id = (int32_t)random_below(&f->r, 1000);
    f->fields[i].name = names[i];
    require(random_type(&f->arena, &f->r, MAX_DEPTH, &f->fields[i].type));
  }
}

/* The column by another encoding, if it can have one. */
static void encode(fuzz *f, tn_vec *column) {
  tarn_error err;
  tn_vec encoded = {0}, one = {0};
  uint32_t how = random_below(&f->r, 4);
  int64_t n = column->length;
  if (n == 0 || how == 0) {
    return;
  }
  if (how == 1 && column->layout == TN_LAYOUT_BYTES) {
    must(random_views(f->env, column, &encoded, &err), &err);
  } else if (how == 2 && !tn_type_is_nested(column->type) && column->type->root != TN_VARIANT &&
             column->null_count == 0) {
    must(random_dict(f->env, column, n, &f->r, &encoded, &err), &err);
  } else if (how == 3) {
    must(tn_vec_copy_range(f->env, column, random_below(&f->r, (uint32_t)n), 1, &one, &err), &err);
    must(tn_vec_init_const(f->env, column->type, n, &one, &encoded, &err), &err);
    encoded.null_count = tn_vec_is_null(encoded.constant, 0) ? n : 0;
  } else {
    return;
  }
  tn_vec_reset(f->env, column);
  tn_vec_move(column, &encoded);
}

static void make_batches(fuzz *f) {
  tarn_error err;
  f->n_batches = (int32_t)random_below(&f->r, MAX_BATCHES + 1);
  for (int32_t b = 0; b < f->n_batches; b++) {
    tn_batch *batch = &f->batches[b];
    int64_t n = random_below(&f->r, random_below(&f->r, 4) == 0 ? MAX_ROWS : 40);
    must(tn_batch_init(f->env, f->fields, f->n_fields, batch, &err), &err);
    for (int32_t c = 0; c < f->n_fields; c++) {
      must(random_vec(f->env, &f->fields[c].type, n, &f->r, &batch->columns[c], &err), &err);
      encode(f, &batch->columns[c]);
    }
    batch->n_rows = n;
  }
}

static void write_file(fuzz *f) {
  static const char *const codecs[] = {NULL, "none", "snappy", "lz4_raw", "lz4", "gzip"};
  tarn_error err;
  tn_write_options options = {
      .compression = codecs[random_below(&f->r, TN_COUNT(codecs))],
      .block_bytes = random_below(&f->r, 3) == 0 ? random_below(&f->r, 5000) : 0,
      .page_bytes = random_below(&f->r, 2) == 0 ? random_below(&f->r, 900) : 0,
      .page_rows = random_below(&f->r, 2) == 0 ? random_below(&f->r, 90) : 0,
      .dictionary_bytes = random_below(&f->r, 3) == 0 ? random_below(&f->r, 300) : 0,
      .no_dictionary = random_below(&f->r, 5) == 0};
  tn_write_request request = {f->fields, f->n_fields, &options, NULL, 0};
  tn_format_writer *writer;
  tn_sink *sink;
  must(tn_storage_create(f->storage, "/out", &sink, &err), &err);
  must(tn_parquet_writer_ops.create(f->env, sink, &request, &writer, &err), &err);
  for (int32_t b = 0; b < f->n_batches; b++) {
    must(writer->calls->write(writer, &f->batches[b], &err), &err);
    require(writer->calls->size(writer) > 0);
  }
  must(writer->calls->finish(writer, &err), &err);
  must(tn_sink_finish(sink, false, &err), &err);
  writer->calls->free(writer);
}

static void compare(fuzz *f, tn_format_file *file, bool allows_encoded, int64_t batch_rows) {
  tarn_error err;
  tn_reader *reader;
  tn_batch batch;
  tn_read_request request = {.fields = f->fields,
                             .n_fields = f->n_fields,
                             .allows_encoded = allows_encoded,
                             .batch_rows = batch_rows};
  int32_t b = 0;
  int64_t i = 0;
  must(file->ops->read(file, &request, &reader, &err), &err);
  must(tn_batch_init(f->env, f->fields, f->n_fields, &batch, &err), &err);
  for (;;) {
    must(tn_reader_next(reader, batch_rows, &batch, &err), &err);
    for (int64_t k = 0; k < batch.n_rows; k++, i++) {
      while (b < f->n_batches && i == f->batches[b].n_rows) {
        b++;
        i = 0;
      }
      require(b < f->n_batches);
      for (int32_t c = 0; c < f->n_fields; c++) {
        bool is_equal;
        must(tn_vec_rows_equal(&f->env->mem, &f->batches[b].columns[c], i, &batch.columns[c], k,
                               &is_equal, &err),
             &err);
        require(is_equal);
      }
    }
    if (batch.n_rows == 0) {
      break;
    }
  }
  for (; b < f->n_batches && i == f->batches[b].n_rows; b++) {
    i = 0;
  }
  require(b == f->n_batches);
  tn_batch_reset(f->env, &batch);
  tn_reader_free(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  tarn_env_options options = TARN_ENV_OPTIONS_INIT;
  tarn_error err;
  tn_format_file *file;
  fuzz f;
  memset(&f, 0, sizeof(f));
  options.memory_budget_bytes = BUDGET_BYTES;
  must(tarn_env_create(&options, &f.env, &err), &err);
  must(tn_storage_memory(f.env, &f.storage, &err), &err);
  tn_arena_init(&f.arena, &f.env->mem, BUDGET_BYTES);
  f.r = (random_source){.bytes = data, .n_bytes = n, .state = n};
  make_fields(&f);
  make_batches(&f);
  write_file(&f);
  must(tn_format_open(f.env, f.storage, &tn_parquet_format, "/out", &file, &err), &err);
  compare(&f, file, false, 1 + random_below(&f.r, 300));
  compare(&f, file, true, 1 + random_below(&f.r, 300));
  tn_format_file_release(file);
  for (int32_t b = 0; b < f.n_batches; b++) {
    tn_batch_reset(f.env, &f.batches[b]);
  }
  tn_arena_reset(&f.arena);
  tn_storage_release(f.storage);
  tarn_env_free(f.env);
  return 0;
}
