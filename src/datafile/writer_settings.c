/* writer_settings.c - options of tables as settings of the writers of file formats. */
#include "datafile/writer_settings.h"

#include <stdlib.h>

#include "base/ascii.h"

bool tn_writer_settings_know(const char *key) {
  static const char *const known[] = {"parquet.block.size",
                                      "parquet.compression",
                                      "parquet.compression.codec.zstd.level",
                                      "parquet.dictionary.page.size",
                                      "parquet.enable.dictionary",
                                      "parquet.page.row.count.limit",
                                      "parquet.page.size",
                                      "parquet.writer.version",
                                      "avro.codec"};
  for (size_t i = 0; i < TN_COUNT(known); i++) {
    if (strcmp(known[i], key) == 0) {
      return true;
    }
  }
  return false;
}

static const char *text_option(const tn_options *options, const char *key, const char *usual) {
  const char *value = tn_options_get(options, key);
  return value != NULL ? value : usual;
}

/* Options that go to the writer of a format as they are: plain numbers, 0 where they are not set.
 */
static tarn_status number_option(const tn_options *options, const char *key, int64_t *out,
                                 tarn_error *err) {
  const char *text = tn_options_get(options, key);
  char *end = NULL;
  *out = text != NULL ? strtoll(text, &end, 10) : 0;
  if (text != NULL && (end == text || *end != '\0' || *out <= 0)) {
    return tn_fail(err, TARN_E_INVALID, "option '%s': cannot parse '%s' as a positive number", key,
                   text);
  }
  return TARN_OK;
}

static tarn_status parquet_options(const tn_options *options, tn_write_options *o,
                                   tarn_error *err) {
  const char *dictionary = text_option(options, "parquet.enable.dictionary", "true");
  int64_t level, block_bytes;
  TN_TRY(number_option(options, "parquet.block.size", &block_bytes, err));
  TN_TRY(number_option(options, "parquet.page.size", &o->page_bytes, err));
  TN_TRY(number_option(options, "parquet.page.row.count.limit", &o->page_rows, err));
  TN_TRY(number_option(options, "parquet.dictionary.page.size", &o->dictionary_bytes, err));
  TN_TRY(number_option(options, "parquet.compression.codec.zstd.level", &level, err));
  o->block_bytes = o->block_bytes > 0 ? o->block_bytes : block_bytes;
  o->zstd_level = level > 0 && level <= INT32_MAX ? (int32_t)level : o->zstd_level;
  o->compression = text_option(options, "parquet.compression", o->compression);
  o->no_dictionary = tn_slice_is_nocase(tn_slice_text(dictionary), "false");
  if (tn_slice_is_nocase(tn_slice_text(text_option(options, "parquet.writer.version", "v1")),
                         "v2") ||
      tn_slice_is_nocase(tn_slice_text(text_option(options, "parquet.writer.version", "v1")),
                         "PARQUET_2_0")) {
    return tn_fail(err, TARN_E_UNSUPPORTED, "option 'parquet.writer.version': only v1 is written");
  }
  if (tn_options_get(options, "variant.shreddingSchema") != NULL) {
    return tn_fail(err, TARN_E_UNSUPPORTED,
                   "option 'variant.shreddingSchema': shredded VARIANT columns cannot be written");
  }
  return TARN_OK;
}

tarn_status tn_writer_settings(const tn_options *options, const char *format,
                               const char *compression, tn_write_options *o, tarn_error *err) {
  int64_t level;
  *o = (tn_write_options){.compression = compression};
  TN_TRY(tn_options_int(options, "file.compression.zstd-level", &level, NULL, err));
  TN_TRY(tn_options_int(options, "file.block-size", &o->block_bytes, NULL, err));
  o->zstd_level = (int32_t)level;
  if (strcmp(format, "parquet") == 0) {
    return parquet_options(options, o, err);
  }
  o->compression = text_option(options, "avro.codec", o->compression);
  return TARN_OK;
}
