/* format.c - which format a file has, and opening it. */
#include "format/format.h"

#include <stdio.h>

#include "base/ascii.h"
#include "format/avro/avro.h"
#include "format/blob/blob.h"
#include "format/parquet/parquet.h"

static const tn_format_ops *const formats[] = {&tn_parquet_format, &tn_avro_format,
                                               &tn_blob_format};

/* Formats of Paimon that are not built in; named so that the refusal can say so. */
static const char *const lacking[] = {"orc", "csv",   "json",   "text",
                                      "row", "lance", "vortex", "mosaic"};

/* Extensions that tell a compression, not a format (spec: layout, "Data file names"). */
static const char *const compressions[] = {"gz", "bz2", "deflate", "snappy", "lz4", "zst"};

tarn_status tn_format_by_name(tn_slice name, const tn_format_ops **out, tarn_error *err) {
  *out = NULL;
  for (size_t i = 0; i < TN_COUNT(formats); i++) {
    if (tn_slice_is_nocase(name, formats[i]->name)) {
      *out = formats[i];
      return TARN_OK;
    }
  }
  for (size_t i = 0; i < TN_COUNT(lacking); i++) {
    if (tn_slice_is_nocase(name, lacking[i])) {
      return tn_fail(err, TARN_E_UNSUPPORTED, "file format \"%s\" is not supported", lacking[i]);
    }
  }
  return tn_fail(err, TARN_E_UNSUPPORTED, "file format \"%.*s\" is not known", TN_SLICE_ARG(name));
}

static bool is_compression(tn_slice extension) {
  for (size_t i = 0; i < TN_COUNT(compressions); i++) {
    if (tn_slice_is_nocase(extension, compressions[i])) {
      return true;
    }
  }
  return false;
}

/* Cut what follows the last dot off *name; empty when there is no dot. */
static tn_slice cut_extension(tn_slice *name) {
  size_t dot = name->len;
  tn_slice extension = {NULL, 0};
  while (dot > 0 && name->data[dot - 1] != '.') {
    dot--;
  }
  if (dot > 0) {
    extension = tn_slice_of(name->data + dot, name->len - dot);
    name->len = dot - 1;
  }
  return extension;
}

tarn_status tn_format_of_file(const char *file_name, const tn_format_ops **out, tarn_error *err) {
  const char *slash = strrchr(file_name, '/');
  tn_slice rest = tn_slice_text(slash != NULL ? slash + 1 : file_name);
  tn_slice extension = cut_extension(&rest);
  tarn_status st;
  if (is_compression(extension)) {
    extension = cut_extension(&rest);
  }
  if (extension.len == 0) {
    *out = NULL;
    return tn_fail(err, TARN_E_UNSUPPORTED, "%s: the name has no extension that tells its format",
                   file_name);
  }
  st = tn_format_by_name(extension, out, err);
  return st == TARN_OK ? st : tn_error_context(err, st, "%s", file_name);
}

tarn_status tn_format_open(tarn_env *env, tn_storage *storage, const tn_format_ops *format,
                           const char *path, tn_format_file **out, tarn_error *err) {
  tarn_status st;
  tn_file *file;
  *out = NULL;
  TN_TRY(tn_storage_open(storage, path, &file, err));
  st = format->open(env, file, out, err);
  tn_file_release(file);
  return st;
}

tn_format_file *tn_format_file_retain(tn_format_file *file) {
  if (file != NULL) {
    atomic_fetch_add_explicit(&file->refs, 1, memory_order_relaxed);
  }
  return file;
}

void tn_format_file_release(tn_format_file *file) {
  if (file != NULL && atomic_fetch_sub_explicit(&file->refs, 1, memory_order_acq_rel) == 1) {
    file->ops->release(file);
  }
}
