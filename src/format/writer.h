/* writer.h - writing data files of any format.
 *
 * Invariants
 *   W1  Batches have the columns of the request, flat or encoded, in its order; rows are appended.
 *   W2  Nothing of a file is valid before finish(): whoever stops earlier aborts the sink.
 *   W3  Memory: the writer holds at most one row group (Parquet) or block (Avro); both are bounded
 *       by the options, and charged to the budget of the environment.
 */
#ifndef TN_FORMAT_WRITER_H
#define TN_FORMAT_WRITER_H

#include "format/format.h"

typedef struct tn_format_writer tn_format_writer;

/* Values of options (file.compression, file.block-size, parquet.*); all zero: Paimon's defaults. */
typedef struct tn_write_options {
  /* "zstd", "snappy", "lz4", "gzip", "brotli", "none"; Parquet also "lz4_raw"; NULL: zstd */
  const char *compression;
  int32_t zstd_level;       /* file.compression.zstd-level; 0: 1 */
  int64_t block_bytes;      /* of a row group or block; 0: the format's default (128 MiB) */
  int64_t page_bytes;       /* parquet.page.size; 0: 1 MiB */
  int64_t page_rows;        /* parquet.page.row.count.limit; 0: 20000 */
  int64_t dictionary_bytes; /* parquet.dictionary.page.size; 0: 1 MiB */
  bool no_dictionary;       /* parquet.enable.dictionary = false */
} tn_write_options;

typedef struct tn_write_metadata {
  const char *key, *value;
} tn_write_metadata;

typedef struct tn_write_request {
  const tn_field *fields; /* names, types, ids; borrowed until the writer is freed */
  int32_t n_fields;
  const tn_write_options *options;   /* copied */
  const tn_write_metadata *metadata; /* key-value pairs for the file's footer or header; borrowed */
  int32_t n_metadata;
  /* Of each field: an earlier one of the same type that has the same values in every batch, so that
   * they need be encoded only once; -1: there is none. NULL: of no field. Borrowed likewise. */
  const int32_t *same_as;
} tn_write_request;

typedef struct tn_format_writer_ops {
  const char *name; /* "parquet" */
  /* The sink stays the caller's, who finishes or aborts it after finish(). */
  tarn_status (*create)(tarn_env *env, tn_sink *sink, const tn_write_request *request,
                        tn_format_writer **out, tarn_error *err);
} tn_format_writer_ops;

typedef struct tn_format_writer_calls {
  /* Append a batch; it is only read. INVALID naming the column: a null where the type is NOT NULL,
   * a value that the format cannot hold. */
  tarn_status (*write)(tn_format_writer *writer, const tn_batch *batch, tarn_error *err);
  /* Bytes of the file so far, those still in memory estimated as they will be stored. */
  int64_t (*size)(const tn_format_writer *writer);
  /* Write what is left, and the footer. */
  tarn_status (*finish)(tn_format_writer *writer, tarn_error *err);
  void (*free)(tn_format_writer *writer);
  /* What the rows of column i hold, after finish(): null count (-1: not known, as of nested
   * columns) and bounds in the order of filters, whole (of any length, -0.0 below 0.0, NaN above
   * all; strings and bytes by unsigned bytes). Borrowed from the writer. NULL: the format gathers
   * none. */
  void (*stat)(const tn_format_writer *writer, int32_t column, tn_stat *out);
} tn_format_writer_calls;

struct tn_format_writer {
  const tn_format_writer_calls *calls;
  tarn_env *env;
};

/* By name ("parquet", "avro"). Others are UNSUPPORTED by name. */
TN_CHECKED tarn_status tn_format_writer_by_name(tn_slice name, const tn_format_writer_ops **out,
                                                tarn_error *err);

#endif
