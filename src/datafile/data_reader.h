/* data_reader.h - one data file of any format, read as the table's columns of today.
 *
 * It hides: the format; the schema the file was written with (columns by field id, casts, nested
 * changes); partition columns (taken from the partition, not the file); key columns of key-value
 * files; the deletion vector; row selection.
 *
 * Columns come in two groups: `first` (what the caller needs to decide) and `rest` (what it needs
 * of rows that survive). next() reads the first group; rest() the other for the same rows, or not
 * at all.
 *
 * Invariants
 *   D1  Rows of a batch are contiguous in the file (F2); deletions only clear bits of `alive`.
 *   D2  Pushed predicates skip, never filter exactly: the caller tests rows again. They go to the
 *       file index and to statistics in the file alike.
 *   D3  A file that ends early, or holds another number of rows than its metadata, is CORRUPT.
 *   D4  With scan.ignore-lost-files a file that is gone has no rows; with scan.ignore-corrupt-files
 *       a file ends where reading it fails. Each time a warning goes to the log.
 * Rule: org.apache.paimon.utils.FormatReaderMapping, schema.SchemaEvolutionUtil; spec: read, 6-7.
 */
#ifndef TN_DATAFILE_DATA_READER_H
#define TN_DATAFILE_DATA_READER_H

#include "column/cast.h"
#include "column/predicate.h"
#include "format/format.h"
#include "index/deletion_vector.h"
#include "model/manifest.h"
#include "model/table.h"

/* What is wanted of each file of a table: the two groups of columns, and how files of each schema
 * answer them (kept by schema id). It must outlive the readers made with it and the encoded vectors
 * that they gave. One thread at a time. */
typedef struct tn_data_shape tn_data_shape;

/* Columns are of the table's read type (nested ROWs may be pruned). System columns by id: of
 * key-value files _SEQUENCE_NUMBER (BIGINT) and _VALUE_KIND (TINYINT), of others with row tracking
 * tn_row_tracking_fields. The fields are borrowed until all batches are gone. is_key_value: files
 * of a primary-key table. */
TN_CHECKED tarn_status tn_data_shape_create(tn_table *table, const tn_field *first_fields,
                                            int32_t n_first, const tn_field *rest_fields,
                                            int32_t n_rest, bool is_key_value, tn_data_shape **out,
                                            tarn_error *err);
void tn_data_shape_free(tn_data_shape *shape); /* accepts NULL */

typedef struct tn_data_request {
  tn_data_shape *shape;
  const tn_data_file *file; /* borrowed, as all below, until the reader is freed */
  const char *path;         /* of the file */
  const char *full_path;    /* as Paimon records it, for descriptors of BLOBs; NULL: path */
  tn_slice partition;       /* arity-prefixed row */
  tn_dv *deletions;         /* NULL: none */
  const tn_pred *pushed;    /* on current columns; NULL: none */
  const tn_ranges *rows;    /* positions that are wanted; NULL: all */
  bool wants_flat;          /* no encoded vectors: the columns leave the library as they are */
  int64_t batch_rows;       /* 0: the reader's choice */
  const tarn_cancel *cancel;
} tn_data_request;

typedef struct tn_data_reader tn_data_reader;

/* Errors: NOT_FOUND (the file is gone: "may have expired"), CORRUPT, UNSUPPORTED (format by name),
 * INVALID (a value that cannot be cast), IO, LIMIT. */
TN_CHECKED tarn_status tn_data_reader_open(const tn_data_request *request, tn_data_reader **out,
                                           tarn_error *err);
void tn_data_reader_free(tn_data_reader *reader); /* accepts NULL */

/* The first columns of the next rows; n_rows == 0: the end. *alive: bitmap of the rows that are not
 * deleted, owned by the reader and valid until the next call; NULL: all are alive. `first` is all
 * zero or holds a previous batch, which is reset; its types are those of the request's fields. */
TN_CHECKED tarn_status tn_data_reader_next(tn_data_reader *reader, int64_t max_rows,
                                           tn_batch *first, const uint8_t **alive, tarn_error *err);
/* The rest columns of the rows that next() gave. At most once a next(). `rest` likewise. */
TN_CHECKED tarn_status tn_data_reader_rest(tn_data_reader *reader, tn_batch *rest, tarn_error *err);
/* Step over the next n rows of what next() would give. Not between next() and rest(). */
TN_CHECKED tarn_status tn_data_reader_skip(tn_data_reader *reader, int64_t n_rows, tarn_error *err);
/* Rows of the file that statistics, selection and deletions left to be read. */
int64_t tn_data_reader_selected_rows(const tn_data_reader *reader);

/* Which positions of the file a reader of the request would give, but for single deleted rows: what
 * selection, file index and statistics leave. out was initialised and is filled. */
TN_CHECKED tarn_status tn_data_file_prune(const tn_data_request *request, tn_ranges *out,
                                          tarn_error *err);

#endif
