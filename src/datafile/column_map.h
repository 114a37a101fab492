/* column_map.h - which column of a data file answers for a wanted column of the table, and data
 * shapes. Internal.
 *
 * Columns are matched by field id, then read under the name and type that the file's schema gives
 * them, and cast. ROW types are pruned to the wanted nested fields, matched by id likewise.
 * Rule: org.apache.paimon.schema.SchemaEvolutionUtil; spec: read, 6; datafiles, 2.1 and 7.
 */
#ifndef TN_DATAFILE_COLUMN_MAP_H
#define TN_DATAFILE_COLUMN_MAP_H

#include "datafile/data_reader.h"

typedef enum tn_column_origin {
  TN_FROM_FILE,      /* physical column `index` */
  TN_FROM_PARTITION, /* the same value in every row: partition key `index` */
  TN_FROM_NOTHING    /* the file lacks it: null */
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

/* The map lives in the arena; file_schema must outlive it. is_key_value: _SEQUENCE_NUMBER and
 * _VALUE_KIND are found by their ids. Errors: UNSUPPORTED (other system columns by name), NOMEM. */
TN_CHECKED tarn_status tn_column_map_make(tn_arena *arena, const tn_table *table,
                                          const tn_schema *file_schema, const tn_field *wanted,
                                          int32_t n_wanted, bool is_key_value, tn_column_map *out,
                                          tarn_error *err);

/* The maps of files of one schema. */
typedef struct tn_shape_maps {
  struct tn_shape_maps *next;
  tn_schema *schema; /* retained */
  tn_column_map first, rest;
  tn_field *joined; /* physical columns of both, for formats that read all at once */
} tn_shape_maps;

struct tn_data_shape {
  tn_table *table; /* retained */
  tn_arena arena;
  const tn_field *first_fields, *rest_fields;
  int32_t n_first, n_rest;
  bool is_key_value;
  tn_shape_maps *maps;
};

/* The maps for files of a schema, made when they are asked for the first time. */
TN_CHECKED tarn_status tn_data_shape_maps(tn_data_shape *shape, int64_t schema_id,
                                          const tn_shape_maps **out, tarn_error *err);

#endif
