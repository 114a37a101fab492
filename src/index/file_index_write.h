/* file_index_write.h - building the secondary indexes of one data file while it is written.
 *
 * The kinds are those of file_index.h; Java reads the bytes as its own. They are Java's but for the
 * order of columns and kinds in the container and of bitmaps in a bitmap index, which follows its
 * hash tables.
 * Rule: org.apache.paimon.fileindex.*, io.DataFileIndexWriter; spec: indexes, 4 and 5.
 */
#ifndef TN_INDEX_FILE_INDEX_WRITE_H
#define TN_INDEX_FILE_INDEX_WRITE_H

#include "column/vector.h"
#include "model/options.h"

/* One index that is wanted. */
typedef struct tn_index_spec {
  const char *kind;    /* "bitmap" */
  const char *name;    /* as it is stored: the column's, or "m[key]" */
  int32_t column;      /* among the fields */
  const char *map_key; /* of the values that a MAP column has for a key; NULL: the column itself */
  const tn_type *type; /* of the values */
  int64_t bloom_items;
  double bloom_fpp;
  int32_t bitmap_version;
  int64_t block_bytes; /* index-block-size of bitmap, chunk-size of range-bitmap */
} tn_index_spec;

/* The indexes that the options "file-index.<kind>.columns" want of some fields, with their
 * settings; all in the arena, fields borrowed. Columns of the table (all_fields) that are not among
 * the fields have none. Errors: INVALID (a column that the table lacks, a setting of no index, a
 * value that does not parse), UNSUPPORTED (a kind that is not known, a type that it does not take).
 */
TN_CHECKED tarn_status tn_index_specs_read(tn_arena *arena, const tn_options *options,
                                           const tn_field *all_fields, int32_t n_all,
                                           const tn_field *fields, int32_t n_fields,
                                           const tn_index_spec **out, int32_t *n_specs,
                                           tarn_error *err);

/* One thread. The specs are borrowed until it is freed. */
typedef struct tn_index_writer tn_index_writer;

TN_CHECKED tarn_status tn_index_writer_create(tarn_env *env, const tn_index_spec *specs, int32_t n,
                                              tn_index_writer **out, tarn_error *err);
void tn_index_writer_free(tn_index_writer *writer); /* accepts NULL */
/* The next n_rows rows: columns as the fields that the specs were made for, any encoding.
 * Errors: INVALID (a value that an index cannot hold), LIMIT (more than 2^31 - 1 rows), NOMEM. */
TN_CHECKED tarn_status tn_index_writer_add(tn_index_writer *writer, const tn_vec *columns,
                                           int64_t n_rows, tarn_error *err);
/* Append the container. Nothing can be added then. */
TN_CHECKED tarn_status tn_index_writer_finish(tn_index_writer *writer, tn_buf *out,
                                              tarn_error *err);

#endif
