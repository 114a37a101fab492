/* column_map.h - which column of a data file answers for a wanted column of the table, and data
 * shapes. Internal.
 *
 * Columns are matched by field id among those that the file was written with, then read under the
 * name and type that the file's schema gives them, and cast. ROW types are pruned to the wanted
 * nested fields, matched by id likewise. Rule: org.apache.paimon.schema.SchemaEvolutionUtil; spec:
 * read, 6; datafiles, 2.1 and 7.
 */
#ifndef TN_DATAFILE_COLUMN_MAP_H
#define TN_DATAFILE_COLUMN_MAP_H

#include "datafile/data_reader.h"
#include "datafile/row_tracking.h"

typedef enum tn_column_origin {
  TN_FROM_FILE,      /* physical column `index` */
  TN_FROM_PARTITION, /* the same value in every row: partition key `index` */
  TN_FROM_NOTHING,   /* the file lacks it: null */
  TN_FROM_ENTRY      /* row tracking: physical column `index`, or -1; where it has no value, what
                        the file's entry tells of the row */
} tn_column_origin;

typedef struct tn_column_place {
  tn_column_origin origin;
  int32_t index;
  bool needs_cast; /* the file's type is not the wanted one */
} tn_column_place;

typedef struct tn_column_map {
  const tn_field *wanted; /* borrowed */
  int32_t n_wanted;
  tn_column_place *places; /* n_wanted */
  tn_field *physical;      /* what to ask the format for */
  int32_t n_physical;
} tn_column_map;

/* What a file holds. */
typedef struct tn_file_columns {
  const tn_field *fields; /* those of the table that it was written with, as they were then */
  int32_t n_fields;
  bool is_key_value; /* _SEQUENCE_NUMBER and _VALUE_KIND are there */
  bool stores[2];    /* columns of tn_row_tracking_fields that may be there */
} tn_file_columns;

/* The map lives in the arena; the columns of the file must outlive it. Errors: UNSUPPORTED (other
 * system columns by name), NOMEM. */
TN_CHECKED tarn_status tn_column_map_make(tn_arena *arena, const tn_table *table,
                                          const tn_file_columns *file, const tn_field *wanted,
                                          int32_t n_wanted, tn_column_map *out, tarn_error *err);

/* The maps of files of one schema that were written with the same columns of it. */
typedef struct tn_shape_maps {
  struct tn_shape_maps *next;
  tn_schema *schema; /* retained */
  bool has_write_cols;
  tn_record_array write_cols; /* tn_slice; of the first such file */
  tn_file_columns columns;
  tn_column_map first, rest;
  tn_field *joined; /* physical columns of both, for formats that read all at once */
} tn_shape_maps;

struct tn_data_shape {
  tn_table *table; /* retained */
  tn_arena arena;
  const tn_field *first_fields, *rest_fields;
  int32_t n_first, n_rest;
  bool is_key_value;
  bool gives_descriptors; /* BLOB values are descriptors (option blob-as-descriptor) */
  tn_shape_maps *maps;
};

/* The maps for a file, made when the first of its kind asks for them. */
TN_CHECKED tarn_status tn_data_shape_maps(tn_data_shape *shape, const tn_data_file *file,
                                          const tn_shape_maps **out, tarn_error *err);

#endif
