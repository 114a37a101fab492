/* format.h - data files of any format: the table of calls that a format implements.
 *
 * A tn_format_file is an opened file with its footer parsed: counted, immutable, shared by threads.
 * Parsed footers are cached in the environment by path and size; open files are not, so that many
 * cached footers hold no descriptors. A tn_reader gives its rows front to back as batches of the
 * columns that were asked for.
 *
 * Invariants
 *   F1  Columns are asked for by name and by the Paimon type that the file's schema gives them; the
 *       format converts its physical type to that type's layout or fails with CORRUPT. A column
 *       (or nested field) that the file lacks reads as null.
 *   F2  The rows of one batch are contiguous in the file: positions first_position .. + n_rows.
 *   F3  Without `rows` every row is given. With `rows` only rows in these ranges.
 *   F4  prune() only ever removes rows that cannot match.
 */
#ifndef TN_FORMAT_FORMAT_H
#define TN_FORMAT_FORMAT_H

#include "column/predicate.h"
#include "io/storage.h"

typedef struct tn_format_file tn_format_file;
typedef struct tn_reader tn_reader;

typedef struct tn_read_request {
  const tn_field *fields; /* wanted columns with the file's own types; borrowed by the reader */
  int32_t n_fields;
  const tn_ranges *rows; /* NULL: all; borrowed until the reader is freed */
  bool allows_encoded;   /* top-level columns may be DICT, VIEW or CONST vectors */
  int64_t batch_rows;    /* the most rows of a batch; 0: the format's choice (about 8192) */
  const char *blob_uri;  /* NULL: files of BLOBs give bytes; else descriptors of them at this URI */
  const tarn_cancel *cancel;
} tn_read_request;

typedef struct tn_format_ops {
  const char *name; /* "parquet" */
  bool is_columnar; /* two readers over disjoint columns cost no more than one over both */

  /* Open: reads the footer or header. Retains the file. */
  tarn_status (*open)(tarn_env *env, tn_file *file, tn_format_file **out, tarn_error *err);
  void (*release)(tn_format_file *file);
  /* Remove row ranges that cannot match pred (leaves on columns by name; types are the file's
   * own as told by `fields`). ranges holds what is wanted so far. Uses row-group and page
   * statistics and dictionaries, as the format has them. */
  tarn_status (*prune)(tn_format_file *file, const tn_field *fields, int32_t n_fields,
                       const tn_pred *pred, tn_ranges *ranges, tarn_error *err);
  tarn_status (*read)(tn_format_file *file, const tn_read_request *request, tn_reader **out,
                      tarn_error *err);
  /* Append a JSON object that tells footer, schema, row groups, encodings, statistics. */
  tarn_status (*inspect)(tn_format_file *file, tn_buf *out, tarn_error *err);
  /* The columns of the file as Paimon fields (inspect --rows; files without a table). */
  tarn_status (*schema)(tn_format_file *file, tn_arena *arena, tn_field **fields, int32_t *n_fields,
                        tarn_error *err);
} tn_format_ops;

struct tn_format_file {
  const tn_format_ops *ops;
  tarn_env *env;
  tn_file *file;
  int64_t n_rows; /* -1: not known without reading (Avro) */
  _Atomic int32_t refs;
};

typedef struct tn_reader_ops {
  /* The next batch: `out` was initialised by the caller with the request's fields (or holds the
   * previous batch: it is cleared first). n_rows == 0: the end. max_rows > 0. */
  tarn_status (*next)(tn_reader *reader, int64_t max_rows, tn_batch *out, tarn_error *err);
  /* Step over the next n rows of what next() would give. */
  tarn_status (*skip)(tn_reader *reader, int64_t n_rows, tarn_error *err);
  void (*free)(tn_reader *reader);
} tn_reader_ops;

struct tn_reader {
  const tn_reader_ops *ops;
  tarn_env *env;
};

tn_format_file *tn_format_file_retain(tn_format_file *file);
void tn_format_file_release(tn_format_file *file); /* accepts NULL */

TN_CHECKED static inline tarn_status tn_reader_next(tn_reader *reader, int64_t max_rows,
                                                    tn_batch *out, tarn_error *err) {
  return reader->ops->next(reader, max_rows, out, err);
}
TN_CHECKED static inline tarn_status tn_reader_skip(tn_reader *reader, int64_t n_rows,
                                                    tarn_error *err) {
  return reader->ops->skip(reader, n_rows, err);
}
static inline void tn_reader_free(tn_reader *reader) {
  if (reader != NULL) {
    reader->ops->free(reader);
  }
}

/* By name ("parquet"), or by a file's name as Paimon does (spec: layout, "Data file names": the
 * last extension, or the one before a compression extension). Formats that Tarn lacks (orc, csv,
 * json, text, row, lance, vortex, mosaic) are UNSUPPORTED by name. */
TN_CHECKED tarn_status tn_format_by_name(tn_slice name, const tn_format_ops **out, tarn_error *err);
TN_CHECKED tarn_status tn_format_of_file(const char *file_name, const tn_format_ops **out,
                                         tarn_error *err);

/* Open a file of the storage; its footer may come from the environment's cache. Errors: those of
 * tn_storage_open(), CORRUPT, UNSUPPORTED, LIMIT, NOMEM. */
TN_CHECKED tarn_status tn_format_open(tarn_env *env, tn_storage *storage,
                                      const tn_format_ops *format, const char *path,
                                      tn_format_file **out, tarn_error *err);

#endif
