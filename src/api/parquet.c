/* parquet.c - Arrow batches to a Parquet file that a function of the caller's takes. */
#include <string.h>

#include "api/handles.h"
#include "column/arrow_import.h"
#include "datafile/writer_settings.h"
#include "io/stream_sink.h"

/* Rows that are taken out of an array at once: their copies fit the caches of the machine. */
#define CHUNK_ROWS 16384

struct tarn_parquet_writer {
  tarn_env *env;
  tn_arena arena; /* fields, import */
  tn_field *fields;
  int32_t n_fields;
  tn_arrow_import *import; /* NULL: no columns */
  tarn_write_fn write;
  void *ctx;
  tn_sink *sink; /* NULL: finished, or failed while finishing */
  tn_format_writer *file;
  bool is_broken;
};

/* ------------------------------------------------------------------ options */

static tarn_status check_option(const char *key, tarn_error *err) {
  static const char *const general[] = {"file.compression", "file.compression.zstd-level",
                                        "file.block-size"};
  const char *nearest;
  for (size_t i = 0; i < TN_COUNT(general); i++) {
    if (strcmp(key, general[i]) == 0) {
      return TARN_OK;
    }
  }
  if (strncmp(key, "parquet.", 8) == 0 && tn_writer_settings_know(key)) {
    return TARN_OK;
  }
  nearest = tn_option_nearest(key);
  return tn_fail(err, TARN_E_NOT_FOUND, "option '%s': not one of the writer of Parquet files%s%s%s",
                 key, nearest != NULL ? "; is it '" : "", nearest != NULL ? nearest : "",
                 nearest != NULL ? "'?" : "");
}

/* Texts of out live as long as those of the options. Later ones win. */
static tarn_status read_options(tarn_parquet_writer *writer, const tarn_option *given, size_t n,
                                tn_write_options *out, tarn_error *err) {
  tn_options options = {tn_arena_calloc(&writer->arena, n + 1, sizeof(*options.items)), 0};
  const char *compression;
  if (options.items == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < n; i++) {
    int32_t at = 0;
    TN_TRY(check_option(given[i].key, err));
    while (at < options.count && strcmp(options.items[at].key, given[i].key) != 0) {
      at++;
    }
    options.items[at] = (tn_option){given[i].key, given[i].value};
    options.count += at == options.count;
  }
  compression = tn_options_get(&options, "file.compression");
  return tn_writer_settings(&options, "parquet", compression != NULL ? compression : "zstd", out,
                            err);
}

/* ------------------------------------------------------------------ columns */

/* What Parquet has no type for, as what it can be read as. */
static void plain_type(tn_type *type) {
  if (type->root == TN_BLOB) {
    type->root = TN_VARBINARY;
    type->length = INT32_MAX;
  } else if (type->root == TN_VECTOR) {
    type->root = TN_ARRAY;
    type->length = 0;
  }
}

/* Recursion is bounded: types are at most TN_MAX_TYPE_DEPTH deep. */
static tarn_status plain_fields(tn_arena *arena, tn_field *fields, int32_t n, tarn_error *err) {
  for (int32_t i = 0; i < n; i++) {
    tn_type *type = &fields[i].type;
    plain_type(type);
    if (type->n_fields > 0) {
      tn_field *inner =
          tn_arena_memdup(arena, type->fields, (size_t)type->n_fields * sizeof(*type->fields));
      if (inner == NULL) {
        return tn_oom(err);
      }
      type->fields = inner;
      TN_TRY(plain_fields(arena, inner, type->n_fields, err));
    }
  }
  return TARN_OK;
}

static tarn_status make_columns(tarn_parquet_writer *writer, const struct ArrowSchema *schema,
                                tarn_error *err) {
  TN_TRY(tn_api_arrow_fields(&writer->arena, schema, &writer->fields, &writer->n_fields, err));
  TN_TRY(plain_fields(&writer->arena, writer->fields, writer->n_fields, err));
  return tn_arrow_import_prepare(&writer->arena, schema, writer->fields, writer->n_fields, NULL,
                                 &writer->import, err);
}

/* ------------------------------------------------------------------ life */

static tarn_status write_bytes(void *ctx, const void *data, size_t n_bytes, tarn_error *err) {
  const tarn_parquet_writer *writer = ctx;
  int32_t number = writer->write(writer->ctx, data, n_bytes);
  tarn_status st = TARN_OK;
  if (number != 0) {
    st = TARN_E_IO; /* whatever the number: no file was looked for, no name taken */
    (void)tn_fail_errno(err, number, "write the bytes of a Parquet file");
    if (err != NULL) {
      err->status = st;
    }
  }
  return st;
}

tarn_status tarn_parquet_writer_create(tarn_env *env, const struct ArrowSchema *schema,
                                       const tarn_option *options, size_t n_options,
                                       tarn_write_fn write, void *ctx, tarn_parquet_writer **out,
                                       tarn_error *err) {
  tn_write_options settings;
  tn_write_request request = {.options = &settings};
  const tn_format_writer_ops *format;
  tarn_parquet_writer *writer;
  tarn_status st;
  tn_error_reset(err);
  *out = NULL;
  TN_TRY(tn_env_check(env, err));
  TN_TRY(tn_format_writer_by_name(tn_slice_text("parquet"), &format, err));
  writer = tn_calloc(&env->mem, 1, sizeof(*writer));
  if (writer == NULL) {
    return tn_oom(err);
  }
  writer->env = env;
  writer->write = write;
  writer->ctx = ctx;
  tn_arena_init(&writer->arena, &env->mem, TN_API_TEXT_LIMIT);
  TN_TRY_TO(failed, read_options(writer, options, n_options, &settings, err));
  if (schema != NULL) {
    TN_TRY_TO(failed, make_columns(writer, schema, err));
  }
  request.fields = writer->fields;
  request.n_fields = writer->n_fields;
  TN_TRY_TO(failed, tn_stream_sink(env, "Parquet file", write_bytes, writer, &writer->sink, err));
  TN_TRY_TO(failed, format->create(env, writer->sink, &request, &writer->file, err));
  *out = writer;
  return TARN_OK;
failed:
  tarn_parquet_writer_free(writer);
  return st;
}

void tarn_parquet_writer_free(tarn_parquet_writer *writer) {
  if (writer != NULL) {
    tarn_env *env = writer->env;
    if (writer->file != NULL) {
      writer->file->calls->free(writer->file);
    }
    tn_sink_abort(writer->sink);
    tn_arena_reset(&writer->arena);
    tn_free(&env->mem, writer);
  }
}

/* ------------------------------------------------------------------ rows */

static tarn_status check_open(const tarn_parquet_writer *writer, tarn_error *err) {
  TN_TRY(tn_env_check(writer->env, err));
  return writer->sink != NULL && !writer->is_broken
             ? TARN_OK
             : tn_fail(err, TARN_E_STATE, "the Parquet file is finished, or a write of it failed");
}

static tarn_status write_rows(tarn_parquet_writer *writer, const struct ArrowArray *array,
                              tarn_error *err) {
  for (int64_t begin = 0; begin < array->length; begin += CHUNK_ROWS) {
    int64_t left = array->length - begin;
    const int8_t *kinds;
    tn_batch batch;
    tarn_status st;
    TN_TRY(tn_arrow_import_rows(writer->env, writer->import, array, begin,
                                left < CHUNK_ROWS ? left : CHUNK_ROWS, &batch, &kinds, err));
    st = writer->file->calls->write(writer->file, &batch, err);
    tn_batch_reset(writer->env, &batch);
    TN_TRY(st);
  }
  return TARN_OK;
}

tarn_status tarn_parquet_writer_write(tarn_parquet_writer *writer, const struct ArrowArray *array,
                                      tarn_error *err) {
  tarn_status st;
  tn_error_reset(err);
  TN_TRY(check_open(writer, err));
  if (array == NULL || array->release == NULL) {
    return tn_fail(err, TARN_E_INVALID, "an array that is released");
  }
  if (writer->import == NULL) {
    return tn_fail(err, TARN_E_INVALID, "rows for a Parquet file without columns");
  }
  st = write_rows(writer, array, err);
  writer->is_broken = st != TARN_OK;
  return st;
}

tarn_status tarn_parquet_writer_finish(tarn_parquet_writer *writer, tarn_error *err) {
  tarn_status st;
  tn_error_reset(err);
  TN_TRY(check_open(writer, err));
  st = writer->file->calls->finish(writer->file, err);
  if (st == TARN_OK) {
    st = tn_sink_finish(writer->sink, false, err);
    writer->sink = NULL;
  }
  writer->is_broken = st != TARN_OK;
  return st;
}
