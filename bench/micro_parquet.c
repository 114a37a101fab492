/* room: format */
/* micro_parquet.c - CPU seconds to decode Parquet files: micro_parquet [-f] [-n rounds] [-b rows]
 * file... [-c col,col]
 *
 * -f asks for flat vectors only. Every round reads all files; the times of the rounds and a sum
 * over the values are printed, so that two runs can be compared and nothing is left out.
 */
#include <stdio.h>
#include <stdlib.h>

#include "format/parquet/parquet.h"
#include "measure.h"

typedef struct bench {
  tarn_env *env;
  tn_storage *storage;
  const char *columns; /* NULL: all */
  bool is_flat;
  int64_t batch_rows;
  int64_t n_rows;
  uint64_t sum;
} bench;

static void check(tarn_status st, const tarn_error *err) {
  if (st != TARN_OK) {
    fprintf(stderr, "micro_parquet: %s\n", err->message);
    exit(1);
  }
}

/* A few values of each column, so that a wrong read shows. */
static void look_at(bench *b, const tn_batch *batch) {
  for (int32_t c = 0; c < batch->n_columns; c++) {
    const tn_vec *v = &batch->columns[c];
    b->sum += (uint64_t)v->null_count * 31 + (uint64_t)v->encoding;
    if (v->layout == TN_LAYOUT_BYTES) {
      tn_slice s = tn_vec_bytes(v, batch->n_rows - 1);
      b->sum += s.len + (s.len > 0 ? s.data[s.len - 1] : 0);
    } else if (v->layout == TN_LAYOUT_I64 && v->encoding == TN_VEC_FLAT) {
      b->sum += ((const uint64_t *)v->values)[batch->n_rows - 1];
    }
  }
}

static void read_file(bench *b, const char *path) {
  tarn_error err;
  tn_format_file *file;
  tn_reader *reader;
  tn_arena arena;
  tn_field *fields;
  int32_t n_fields, n = 0;
  tn_batch batch;
  tn_read_request request = {0};
  tn_arena_init(&arena, &b->env->mem, (size_t)1 << 24);
  check(tn_format_open(b->env, b->storage, &tn_parquet_format, path, &file, &err), &err);
  check(file->ops->schema(file, &arena, &fields, &n_fields, &err), &err);
  for (int32_t i = 0; i < n_fields; i++) {
    if (is_listed(b->columns, fields[i].name)) {
      fields[n++] = fields[i];
    }
  }
  request.fields = fields;
  request.n_fields = n;
  request.allows_encoded = !b->is_flat;
  request.batch_rows = b->batch_rows;
  check(file->ops->read(file, &request, &reader, &err), &err);
  check(tn_batch_init(b->env, fields, n, &batch, &err), &err);
  for (;;) {
    check(tn_reader_next(reader, b->batch_rows, &batch, &err), &err);
    if (batch.n_rows == 0) {
      break;
    }
    b->n_rows += batch.n_rows;
    look_at(b, &batch);
  }
  tn_batch_reset(b->env, &batch);
  tn_reader_free(reader);
  tn_format_file_release(file);
  tn_arena_reset(&arena);
}

int main(int argc, char **argv) {
  bench b = {0};
  tarn_error err;
  int rounds = 7, first_file = argc, n_files = 0;
  b.batch_rows = 8192;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "-f") == 0) {
      b.is_flat = true;
    } else if (i + 1 < argc && strcmp(argv[i], "-n") == 0) {
      rounds = atoi(argv[++i]);
    } else if (i + 1 < argc && strcmp(argv[i], "-b") == 0) {
      b.batch_rows = atoll(argv[++i]);
    } else if (i + 1 < argc && strcmp(argv[i], "-c") == 0) {
      b.columns = argv[++i];
    } else {
      first_file = first_file < i ? first_file : i;
      argv[first_file + n_files++] = argv[i];
    }
  }
  if (n_files == 0 || b.batch_rows <= 0) {
    fprintf(stderr, "usage: micro_parquet [-f] [-n rounds] [-b rows] [-c a,b] file...\n");
    return 2;
  }
  check(tarn_env_create(NULL, &b.env, &err), &err);
  check(tn_storage_local(b.env, &b.storage, &err), &err);
  for (int round = 0; round < rounds; round++) {
    double begin = seconds(CLOCK_PROCESS_CPUTIME_ID);
    b.n_rows = 0;
    b.sum = 0;
    for (int i = 0; i < n_files; i++) {
      read_file(&b, argv[first_file + i]);
    }
    printf("%lld rows  %.4f CPU s  sum %016llx\n", (long long)b.n_rows,
           seconds(CLOCK_PROCESS_CPUTIME_ID) - begin, (unsigned long long)b.sum);
  }
  tn_storage_release(b.storage);
  tarn_env_free(b.env);
  return 0;
}
