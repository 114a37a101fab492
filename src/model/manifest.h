/* manifest.h - manifest lists, manifests and index manifests: values and their bytes, no decisions.
 *
 * Decoding hands each record to a sink; slices in it are borrowed for the call. Sinks keep what
 * they need in an arena. Rule: org.apache.paimon.manifest.*; spec: manifest.
 */
#ifndef TN_MODEL_MANIFEST_H
#define TN_MODEL_MANIFEST_H

#include "column/binary_row.h"
#include "column/record.h"
#include "io/storage.h"

/* _MIN_VALUES, _MAX_VALUES: BinaryRow with arity prefix; without bytes: no statistics. null_counts:
 * items INT64_MIN = unknown. */
typedef struct tn_simple_stats {
  tn_slice min_values, max_values;
  tn_record_array null_counts; /* int64_t */
  bool has_null_counts;        /* else nothing is known of nulls */
} tn_simple_stats;

/* A record of a manifest list. */
typedef struct tn_manifest_file {
  int32_t version;
  tn_slice file_name;
  int64_t file_size;
  int64_t n_added, n_deleted;
  tn_simple_stats partition_stats;
  int64_t schema_id;
  bool has_buckets_min, has_buckets_max, has_level_min, has_level_max, has_row_id_min,
      has_row_id_max;
  int32_t min_bucket, max_bucket, min_level, max_level;
  int64_t min_row_id, max_row_id;
} tn_manifest_file;

typedef enum tn_file_kind { TN_FILE_ADD = 0, TN_FILE_DELETE = 1 } tn_file_kind;
typedef enum tn_file_source {
  TN_SOURCE_UNKNOWN = -1,
  TN_SOURCE_APPEND = 0,
  TN_SOURCE_COMPACT = 1
} tn_file_source;

/* DataFileMeta (spec: manifest, 4). */
typedef struct tn_data_file {
  tn_slice file_name;
  int64_t file_size;
  int64_t row_count;
  tn_slice min_key, max_key; /* BinaryRow with arity prefix */
  tn_simple_stats key_stats, value_stats;
  int64_t min_sequence, max_sequence;
  int64_t schema_id;
  int32_t level;
  tn_record_array extra_files; /* tn_slice */
  int64_t creation_time_ms;    /* the writer's local wall clock, as if UTC */
  int64_t delete_row_count;
  tn_slice embedded_index;
  int32_t source;                   /* tn_file_source when has_source */
  tn_record_array value_stats_cols; /* tn_slice */
  tn_slice external_path;
  int64_t first_row_id;
  tn_record_array write_cols; /* tn_slice */
  bool has_creation_time, has_delete_row_count, has_embedded_index, has_source,
      has_value_stats_cols, has_external_path, has_first_row_id, has_write_cols;
} tn_data_file;

/* A record of a manifest. */
typedef struct tn_manifest_entry {
  int32_t version;
  int32_t kind;       /* tn_file_kind */
  tn_slice partition; /* BinaryRow with arity prefix */
  int32_t bucket;
  int32_t total_buckets;
  tn_data_file file;
} tn_manifest_entry;

/* One vector in a container file (spec: indexes, 2). */
typedef struct tn_dv_range {
  tn_slice data_file;
  int32_t offset, length;
  int64_t cardinality;
  bool has_cardinality;
} tn_dv_range;

/* What a file of a global index covers (GlobalIndexMeta). */
typedef struct tn_global_index {
  int64_t first_row_id, last_row_id; /* the last one is covered, too */
  int32_t field_id;
  tn_record_array extra_field_ids; /* int32_t */
  tn_slice index_meta;             /* the index's own */
  tn_slice source_meta;            /* of Paimon 2 */
  bool has_extra_field_ids, has_index_meta, has_source_meta;
} tn_global_index;

/* A record of an index manifest. */
typedef struct tn_index_entry {
  int32_t version;
  int32_t kind;
  tn_slice partition;
  int32_t bucket;
  tn_slice index_type; /* "HASH", "DELETION_VECTORS", or a global index */
  tn_slice file_name;
  int64_t file_size;
  int64_t row_count;
  tn_record_array dv_ranges; /* tn_dv_range */
  bool has_dv_ranges;
  tn_slice external_path;
  tn_global_index global_index;
  bool has_external_path, has_global_index;
} tn_index_entry;

typedef tarn_status (*tn_manifest_file_sink)(void *ctx, const tn_manifest_file *record,
                                             tarn_error *err);
typedef tarn_status (*tn_manifest_entry_sink)(void *ctx, const tn_manifest_entry *record,
                                              tarn_error *err);
typedef tarn_status (*tn_index_entry_sink)(void *ctx, const tn_index_entry *record,
                                           tarn_error *err);

/* A manifest or list by its name, with what whoever names it says of it; -1: nothing. A file that
 * is shorter, or has another number of records, lost a part: CORRUPT. */
typedef struct tn_manifest_name {
  const char *name;
  int64_t size_bytes;
  int64_t n_records;
} tn_manifest_name;

/* Read <table>/manifest/<name> and hand on its records. The first bytes of the file tell its
 * format. Versions that are not 2 (index: 1) are UNSUPPORTED. Thread-safe.
 * Errors: NOT_FOUND (path), CORRUPT (path and offset; a record without file name, a kind that is
 * none), IO, UNSUPPORTED (manifest in ORC, codec), LIMIT (more than 1 GiB), the sink's. */
TN_CHECKED tarn_status tn_manifest_list_read(tarn_env *env, tn_storage *storage,
                                             const tn_record_readers *readers,
                                             const char *table_path, const tn_manifest_name *name,
                                             tn_manifest_file_sink sink, void *ctx,
                                             tarn_error *err);
TN_CHECKED tarn_status tn_manifest_read(tarn_env *env, tn_storage *storage,
                                        const tn_record_readers *readers, const char *table_path,
                                        const tn_manifest_name *name, tn_manifest_entry_sink sink,
                                        void *ctx, tarn_error *err);
TN_CHECKED tarn_status tn_index_manifest_read(tarn_env *env, tn_storage *storage,
                                              const tn_record_readers *readers,
                                              const char *table_path, const tn_manifest_name *name,
                                              tn_index_entry_sink sink, void *ctx, tarn_error *err);

/* A deep copy into one piece of an arena. keeps_stats: with key and value statistics and the names
 * of their columns; else the copy has none of them, as if they had never been collected. */
TN_CHECKED tarn_status tn_data_file_copy(tn_arena *arena, const tn_data_file *from,
                                         bool keeps_stats, tn_data_file *to, tarn_error *err);

#endif
