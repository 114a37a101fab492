/* data_writer.h - rows of one partition and bucket into data files: the format, rolling at the
 * target size, statistics, key ranges, file indexes; the metadata of what was written.
 *
 * Invariants
 *   DW1  A file is in the result only when it is complete and synced (its content, and its name by
 *        tn_data_writer_finish).
 *   DW2  A failure removes every file of this writer, the closed ones too.
 *   DW3  Metadata equals what Java 1.4.2 writes for the same rows: min and max key, sequence
 *        numbers, statistics by mode (metadata.stats-mode, fields.*.stats-mode), dense names,
 *        deleteRowCount, schema id, level, source, creation time.
 * Rule: org.apache.paimon.io.{RollingFileWriter,KeyValueDataFileWriter,RowDataFileWriter,
 * DataFilePathFactory}, stats.SimpleStatsCollector; spec: write-path, 9; datafiles.
 */
#ifndef TN_DATAFILE_DATA_WRITER_H
#define TN_DATAFILE_DATA_WRITER_H

#include "format/writer.h"
#include "model/manifest.h"
#include "model/table.h"

#define TN_POSTPONE_BUCKET (-2)

/* What the files of a table look like when written with its current schema and options; made once
 * per table writer, shared by its buckets. Immutable. */
typedef struct tn_write_shape tn_write_shape;

/* kind: rows as they are (append tables), or key-value rows: keys (unless thin mode),
 * _SEQUENCE_NUMBER, _VALUE_KIND, values. write_columns (NULL: all) restricts to some columns of the
 * table (row-tracking tables); those behind the last one of the table are tn_row_tracking_fields,
 * which files of compactions hold (with data evolution unlisted: behind the others). Errors:
 * UNSUPPORTED (format, type, option by name), INVALID. */
TN_CHECKED tarn_status tn_write_shape_create(tn_table *table, bool is_key_value,
                                             const int32_t *write_columns, int32_t n_write_columns,
                                             tn_write_shape **out, tarn_error *err);
void tn_write_shape_free(tn_write_shape *shape); /* accepts NULL */
/* Does the column lie in files of its own, beside data files? */
bool tn_column_is_apart(const tn_table *table, const tn_field *field);
/* The columns that tn_data_writer_write takes, in this order: those of the table (or the written
 * ones); key-value rows have _SEQUENCE_NUMBER and _VALUE_KIND in front. */
const tn_field *tn_write_shape_fields(const tn_write_shape *shape, int32_t *n_fields);

/* Have data files of two levels one format? */
bool tn_write_shape_same_format(const tn_write_shape *shape, int32_t level, int32_t other);

/* The names of the files of one bucket: one random part, which is counted up. All zero at first;
 * one thread. */
typedef struct tn_data_file_names {
  char uuid[TN_UUID_CHARS + 1];
  int32_t next;
} tn_data_file_names;

/* The next name, "<prefix><UUID>-<number><extension>" in the arena: of data files, and as "index-"
 * without extension of the hash indexes and deletion vectors of buckets. */
TN_CHECKED tarn_status tn_data_file_names_next(tarn_env *env, tn_data_file_names *names,
                                               tn_arena *arena, const char *prefix,
                                               const char *extension, const char **out,
                                               tarn_error *err);

typedef struct tn_data_writer_request {
  tn_write_shape *shape; /* outlives the writer */
  tn_slice partition;    /* arity-prefixed row; borrowed until the writer is freed */
  int32_t bucket;        /* TN_POSTPONE_BUCKET: the folder bucket-postpone */
  int32_t level;         /* picks format and compression per level */
  bool is_compaction;    /* the source, and the other target size rules */
  bool is_changelog;     /* names, format and compression of changelog files */
  bool rolls;            /* false: one file, whatever its size */
  /* Rows as they are: the sequence number of the first; each row has the next one. */
  int64_t first_sequence;
  /* Shared with the other writers of the bucket, outlives them; NULL: names of its own. */
  tn_data_file_names *names;
} tn_data_writer_request;

typedef struct tn_data_writer tn_data_writer;

TN_CHECKED tarn_status tn_data_writer_create(const tn_data_writer_request *request,
                                             tn_data_writer **out, tarn_error *err);
/* Append rows; key-value rows ascending by key (checked at file borders: they become min and max).
 * After a failure, which removes all files, the writer can only be freed. */
TN_CHECKED tarn_status tn_data_writer_write(tn_data_writer *writer, const tn_batch *batch,
                                            tarn_error *err);
/* Bytes of the open file as far as known. */
int64_t tn_data_writer_size(const tn_data_writer *writer);
/* Close the last file, sync, and give the metadata of all files (arena of the caller). The writer
 * can only be freed then. No rows: no files. */
TN_CHECKED tarn_status tn_data_writer_finish(tn_data_writer *writer, tn_arena *arena,
                                             tn_data_file **files, int32_t *n_files,
                                             tarn_error *err);
/* Free; files that were not given by finish() are removed. Accepts NULL. */
void tn_data_writer_free(tn_data_writer *writer);
/* Remove a file that this table wrote, with its extra files (an abort, a replaced intermediate). */
void tn_data_file_delete(tn_table *table, tn_slice partition, int32_t bucket,
                         const tn_data_file *file);

#endif
