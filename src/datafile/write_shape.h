/* write_shape.h - what tn_write_shape holds; for this room only.
 *
 * Columns come in three orders: input (what tn_data_writer_write takes), file (what lies in a data
 * file: keys, _SEQUENCE_NUMBER, _VALUE_KIND, values) and values (the last part of both).
 */
#ifndef TN_DATAFILE_WRITE_SHAPE_H
#define TN_DATAFILE_WRITE_SHAPE_H

#include "datafile/data_writer.h"
#include "datafile/stats_collector.h"
#include "index/file_index_write.h"

/* How files of one level are written, or its changelog files. */
typedef struct tn_file_profile {
  int32_t level; /* -1: every level that no option names */
  bool is_changelog;
  const tn_format_writer_ops *format;
  bool is_columnar; /* Parquet, whose statistics and sizes have rules of their own; else Avro */
  tn_write_options options;
  const char *extension;      /* ".parquet", ".zst.parquet" */
  const tn_stats_mode *modes; /* of each column of the file */
} tn_file_profile;

/* A root of 'data-file.external-paths'. */
typedef struct tn_external_root {
  const char *path;     /* plain */
  const char *recorded; /* "file:/..." */
  uint64_t weights_end; /* of weight-robin: the sum of the weights up to and with this one */
} tn_external_root;

typedef enum tn_external_strategy { /* in the order of the option's values */
                                    TN_EXTERNAL_NONE,
                                    TN_EXTERNAL_SPECIFIC_FS,
                                    TN_EXTERNAL_ROUND_ROBIN,
                                    TN_EXTERNAL_WEIGHTED,
                                    TN_EXTERNAL_ENTROPY
} tn_external_strategy;

/* Columns of files of their own, beside the data file of a row (spec: datafiles, 8 "blob"). */
typedef enum tn_shape_part {
  TN_PART_ROWS,   /* all others; or all */
  TN_PART_BLOB,   /* one BLOB column */
  TN_PART_VECTORS /* all VECTOR columns, with 'vector.file.format' */
} tn_shape_part;

struct tn_write_shape {
  tn_table *table; /* retained */
  tn_arena arena;
  bool is_key_value, is_thin;
  tn_shape_part part;
  /* Of rows in several files: their shapes, TN_PART_ROWS first, and the place of each column of
   * each in the input. Such a shape has its input and nothing else. */
  tn_write_shape **parts;
  int32_t **part_inputs;
  int32_t n_parts; /* 0: rows lie in one file */

  tn_field *input_fields;
  int32_t n_input, n_input_system; /* _SEQUENCE_NUMBER and _VALUE_KIND: 2, else 0 */
  tn_field *file_fields;
  int32_t *file_inputs; /* the place of each in the input */
  int32_t *file_same;   /* an earlier one with the same values; -1: there is none */
  int32_t n_file;
  int32_t first_value; /* in the file; from there on all columns are values */
  int32_t n_values;
  int32_t n_told;       /* values that the file's entry tells of; others come behind them */
  tn_field *key_fields; /* "_KEY_..." */
  int32_t *key_values;  /* the place of each among the values */
  int32_t n_keys;
  tn_slice *write_names; /* of those told, when not all columns are written; NULL: all are */

  tn_file_profile *profiles; /* the last of data and of changelog files: level -1 */
  int32_t n_profiles;
  bool stats_are_dense;
  int64_t target_bytes, target_rows;
  const char *data_prefix, *changelog_prefix;
  tn_external_strategy external;
  tn_external_root *external_roots;
  int32_t n_external_roots;
  const tn_index_spec *indexes; /* of the values */
  int32_t n_indexes;
  int64_t embedded_index_bytes; /* a larger index is a file of its own */
};

const tn_file_profile *tn_write_shape_profile(const tn_write_shape *shape, int32_t level,
                                              bool is_changelog);

#endif
