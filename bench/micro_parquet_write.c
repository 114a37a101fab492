/* room: format */
/* micro_parquet_write.c - CPU seconds to encode Parquet: micro_parquet_write [-e] [-n rounds]
 * [-b rows] [-z codec] [-l level] [-o out.parquet] [-c col,col] file...
 *
 * The files are read into memory first, flat or (-e) with dictionaries and views as the reader
 * gives them; a round writes all their rows to one file, in memory or as told. bench/parquet_write
 * does the same with pyarrow.
 */
#include <stdio.h>
#include <stdlib.h>

#include "format/parquet/parquet.h"
#include "format/parquet/write.h"
#include "measure.h"

#define MAX_BATCHES 100000

typedef struct bench {
  tarn_env *env;
  tn_storage *storage, *memory;
  const char *columns; /* NULL: all */
  const char *out;     /* NULL: in memory */
  tn_write_options options;
  bool is_encoded;
  int64_t batch_rows, n_rows, n_bytes;
  tn_arena arena;
  const tn_field *fields;
  int32_t n_fields;
  tn_batch *batches;
  size_t n_batches;
} bench;

static void check(tarn_status st, const tarn_error *err) {
  if (st != TARN_OK) {
    fprintf(stderr, "micro_parquet_write: %s\n", err->message);
    exit(1);
  }
}

static void read_file(bench *b, const char *path) {
  tarn_error err;
  tn_format_file *file;
  tn_reader *reader;
  tn_field *fields;
  int32_t n_fields, n = 0;
  tn_read_request request = {0};
  check(tn_format_open(b->env, b->storage, &tn_parquet_format, path, &file, &err), &err);
  check(file->ops->schema(file, &b->arena, &fields, &n_fields, &err), &err);
  for (int32_t i = 0; i < n_fields; i++) {
    if (is_listed(b->columns, fields[i].name)) {
      fields[n++] = fields[i];
    }
  }
  if (b->fields == NULL) {
    b->fields = fields;
    b->n_fields = n;
  }
  request.fields = b->fields;
  request.n_fields = b->n_fields;
  request.allows_encoded = b->is_encoded;
  request.batch_rows = b->batch_rows;
  check(file->ops->read(file, &request, &reader, &err), &err);
  while (b->n_batches < MAX_BATCHES) {
    tn_batch *batch = &b->batches[b->n_batches++];
    check(tn_batch_init(b->env, b->fields, b->n_fields, batch, &err), &err);
    check(tn_reader_next(reader, b->batch_rows, batch, &err), &err);
    if (batch->n_rows == 0) {
      break;
    }
    b->n_rows += batch->n_rows;
  }
  tn_reader_free(reader);
  tn_format_file_release(file);
}

static void write_all(bench *b) {
  tarn_error err;
  tn_sink *sink;
  tn_format_writer *writer;
  tn_write_request request = {b->fields, b->n_fields, &b->options, NULL, 0};
  tn_storage *storage = b->out != NULL ? b->storage : b->memory;
  const char *path = b->out != NULL ? b->out : "/out";
  check(tn_storage_remove(storage, path, &err), &err);
  check(tn_storage_create(storage, path, &sink, &err), &err);
  check(tn_parquet_writer_ops.create(b->env, sink, &request, &writer, &err), &err);
  for (size_t i = 0; i < b->n_batches; i++) {
    check(writer->calls->write(writer, &b->batches[i], &err), &err);
  }
  check(writer->calls->finish(writer, &err), &err);
  b->n_bytes = tn_sink_size(sink);
  check(tn_sink_finish(sink, false, &err), &err);
  writer->calls->free(writer);
}

static const char *option_value(int argc, char **argv, int *i, const char *name) {
  return *i + 1 < argc && strcmp(argv[*i], name) == 0 ? argv[++*i] : NULL;
}

int main(int argc, char **argv) {
  bench b = {0};
  tarn_error err;
  tarn_env_options env_options = TARN_ENV_OPTIONS_INIT;
  int rounds = 7, n_files = 0;
  const char *value;
  b.batch_rows = 8192;
  env_options.memory_budget_bytes = (uint64_t)8 << 30;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "-e") == 0) {
      b.is_encoded = true;
    } else if ((value = option_value(argc, argv, &i, "-n")) != NULL) {
      rounds = atoi(value);
    } else if ((value = option_value(argc, argv, &i, "-b")) != NULL) {
      b.batch_rows = atoll(value);
    } else if ((value = option_value(argc, argv, &i, "-z")) != NULL) {
      b.options.compression = value;
    } else if ((value = option_value(argc, argv, &i, "-l")) != NULL) {
      b.options.zstd_level = atoi(value);
    } else if ((value = option_value(argc, argv, &i, "-o")) != NULL) {
      b.out = value;
    } else if ((value = option_value(argc, argv, &i, "-c")) != NULL) {
      b.columns = value;
    } else {
      argv[1 + n_files++] = argv[i];
    }
  }
  if (n_files == 0 || b.batch_rows <= 0) {
    fprintf(stderr,
            "usage: micro_parquet_write [-e] [-n rounds] [-b rows] [-z codec] [-l level] "
            "[-o out] [-c a,b] file...\n");
    return 2;
  }
  b.batches = calloc(MAX_BATCHES, sizeof(*b.batches));
  check(tarn_env_create(&env_options, &b.env, &err), &err);
  check(tn_storage_local(b.env, &b.storage, &err), &err);
  check(tn_storage_memory(b.env, &b.memory, &err), &err);
  tn_arena_init(&b.arena, &b.env->mem, (size_t)1 << 28);
  for (int i = 0; i < n_files; i++) {
    read_file(&b, argv[1 + i]);
  }
  for (int round = 0; round < rounds; round++) {
    double begin = seconds(CLOCK_PROCESS_CPUTIME_ID);
    write_all(&b);
    printf("%lld rows  %.4f CPU s  %lld bytes\n", (long long)b.n_rows,
           seconds(CLOCK_PROCESS_CPUTIME_ID) - begin, (long long)b.n_bytes);
  }
  for (size_t i = 0; i < b.n_batches; i++) {
    tn_batch_reset(b.env, &b.batches[i]);
  }
  free(b.batches);
  tn_arena_reset(&b.arena);
  tn_storage_release(b.memory);
  tn_storage_release(b.storage);
  tarn_env_free(b.env);
  return 0;
}
