/* room: format */
/* rewrite_parquet.c - read a Parquet file and write its rows as a new one, for other readers to
 * judge: rewrite_parquet [key=value]... in.parquet out.parquet
 *
 * Keys: compression, zstd-level, block-bytes, page-bytes, page-rows, dictionary-bytes, dictionary
 * (true, false), batch-rows, encoded (true: dictionaries and views as read), size (bytes that the
 * new file shall have, filled up behind its first four: for a place that an old one had; exit code
 * 3 when it is larger), metadata (text of the key-value pair "test").
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/parquet/parquet.h"
#include "format/parquet/write.h"

#define MAX_TRIES 20
#define TOO_LARGE 3

typedef struct job {
  tarn_env *env;
  tn_storage *storage;
  const char *in, *out;
  tn_write_options options;
  tn_write_metadata metadata;
  int64_t batch_rows, size;
  bool is_encoded;
} job;

static void check(tarn_status st, const tarn_error *err) {
  if (st != TARN_OK) {
    fprintf(stderr, "error: %s\n", err->message);
    exit(1);
  }
}

static void set_option(job *j, char *text) {
  char *value = strchr(text, '=');
  const char *key = text;
  int64_t number;
  if (value == NULL) {
    fprintf(stderr, "error: %s is no key=value\n", text);
    exit(2);
  }
  *value++ = '\0';
  number = strtoll(value, NULL, 10);
  if (strcmp(key, "compression") == 0) {
    j->options.compression = value;
  } else if (strcmp(key, "zstd-level") == 0) {
    j->options.zstd_level = (int32_t)number;
  } else if (strcmp(key, "block-bytes") == 0) {
    j->options.block_bytes = number;
  } else if (strcmp(key, "page-bytes") == 0) {
    j->options.page_bytes = number;
  } else if (strcmp(key, "page-rows") == 0) {
    j->options.page_rows = number;
  } else if (strcmp(key, "dictionary-bytes") == 0) {
    j->options.dictionary_bytes = number;
  } else if (strcmp(key, "dictionary") == 0) {
    j->options.no_dictionary = strcmp(value, "false") == 0;
  } else if (strcmp(key, "batch-rows") == 0) {
    j->batch_rows = number;
  } else if (strcmp(key, "encoded") == 0) {
    j->is_encoded = strcmp(value, "true") == 0;
  } else if (strcmp(key, "size") == 0) {
    j->size = number;
  } else if (strcmp(key, "metadata") == 0) {
    j->metadata = (tn_write_metadata){"test", value};
  } else {
    fprintf(stderr, "error: no option %s\n", key);
    exit(2);
  }
}

static void fill(tn_sink *sink, int64_t n_bytes) {
  static const uint8_t zeros[4096];
  tarn_error err;
  while (n_bytes > 0) {
    size_t n = n_bytes < (int64_t)sizeof(zeros) ? (size_t)n_bytes : sizeof(zeros);
    check(tn_sink_write(sink, zeros, n, &err), &err);
    n_bytes -= (int64_t)n;
  }
}

static void copy_rows(job *j, tn_format_file *file, const tn_read_request *request,
                      tn_format_writer *writer) {
  tarn_error err;
  tn_reader *reader;
  tn_batch batch;
  check(file->ops->read(file, request, &reader, &err), &err);
  check(tn_batch_init(j->env, request->fields, request->n_fields, &batch, &err), &err);
  for (;;) {
    check(tn_reader_next(reader, j->batch_rows, &batch, &err), &err);
    if (batch.n_rows == 0) {
      break;
    }
    check(writer->calls->write(writer, &batch, &err), &err);
  }
  tn_batch_reset(j->env, &batch);
  tn_reader_free(reader);
}

/* Returns the bytes of the new file, which has n_filled of no use. */
static int64_t rewrite(job *j, int64_t n_filled) {
  tarn_error err;
  tn_format_file *file;
  tn_arena arena;
  tn_field *fields;
  tn_sink *sink;
  tn_format_writer *writer;
  tn_read_request request = {.allows_encoded = j->is_encoded, .batch_rows = j->batch_rows};
  tn_write_request to = {
      .options = &j->options, .metadata = &j->metadata, .n_metadata = j->metadata.key != NULL};
  int64_t size;
  tn_arena_init(&arena, &j->env->mem, (size_t)1 << 28);
  check(tn_format_open(j->env, j->storage, &tn_parquet_format, j->in, &file, &err), &err);
  check(file->ops->schema(file, &arena, &fields, &request.n_fields, &err), &err);
  request.fields = to.fields = fields;
  to.n_fields = request.n_fields;
  check(tn_storage_remove(j->storage, j->out, &err), &err);
  check(tn_storage_create(j->storage, j->out, &sink, &err), &err);
  check(tn_parquet_writer_ops.create(j->env, sink, &to, &writer, &err), &err);
  fill(sink, n_filled);
  copy_rows(j, file, &request, writer);
  check(writer->calls->finish(writer, &err), &err);
  size = tn_sink_size(sink);
  check(tn_sink_finish(sink, false, &err), &err);
  writer->calls->free(writer);
  tn_format_file_release(file);
  tn_arena_reset(&arena);
  return size;
}

/* Offsets grow with what is filled in, so the size is found by trying. */
static int rewrite_to_size(job *j) {
  int64_t n_filled = 0;
  for (int i = 0; i < MAX_TRIES; i++) {
    int64_t size = rewrite(j, n_filled);
    if (size == j->size) {
      return 0;
    }
    n_filled += j->size - size;
    if (n_filled < 0) {
      break;
    }
  }
  fprintf(stderr, "error: %s does not come out at %" PRId64 " bytes\n", j->out, j->size);
  return TOO_LARGE;
}

int main(int argc, char **argv) {
  job j = {0};
  tarn_error err;
  int rc = 0, at = 1;
  j.batch_rows = 1024;
  for (; argc - at > 2; at++) {
    set_option(&j, argv[at]);
  }
  if (argc - at != 2) {
    fprintf(stderr, "usage: rewrite_parquet [key=value]... in.parquet out.parquet\n");
    return 2;
  }
  j.in = argv[at];
  j.out = argv[at + 1];
  check(tarn_env_create(NULL, &j.env, &err), &err);
  check(tn_storage_local(j.env, &j.storage, &err), &err);
  if (j.size > 0) {
    rc = rewrite_to_size(&j);
  } else {
    printf("%" PRId64 "\n", rewrite(&j, 0));
  }
  tn_storage_release(j.storage);
  tarn_env_free(j.env);
  return rc;
}
