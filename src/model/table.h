/* table.h - what the rooms below the catalog know of an opened table: where it is, its schema, its
 * options as values. Immutable and counted; shared by scans and readers.
 */
#ifndef TN_MODEL_TABLE_H
#define TN_MODEL_TABLE_H

#include "model/merge_options.h"
#include "model/options.h"

typedef enum tn_merge_engine {
  TN_ENGINE_DEDUPLICATE,
  TN_ENGINE_PARTIAL_UPDATE,
  TN_ENGINE_AGGREGATION,
  TN_ENGINE_FIRST_ROW
} tn_merge_engine;

typedef enum tn_changelog_producer {
  TN_CHANGELOG_NONE,
  TN_CHANGELOG_INPUT,
  TN_CHANGELOG_FULL_COMPACTION,
  TN_CHANGELOG_LOOKUP
} tn_changelog_producer;

typedef enum tn_bucket_mode {
  TN_BUCKETS_FIXED,   /* bucket > 0 */
  TN_BUCKETS_UNAWARE, /* append, bucket = -1 */
  TN_BUCKETS_DYNAMIC, /* primary key with all partition keys, bucket = -1 */
  TN_BUCKETS_CROSS,   /* primary key without them, bucket = -1 */
  TN_BUCKETS_POSTPONE /* bucket = -2 */
} tn_bucket_mode;

/* Options as values (defaults applied). */
typedef struct tn_table_facts {
  bool has_primary_key;
  int32_t bucket;
  tn_bucket_mode bucket_mode;
  int32_t bucket_function;  /* tn_bucket_function */
  int32_t *bucket_columns;  /* indexes into schema fields, in bucket-key order */
  int32_t n_bucket_columns; /* 0: not known (an old append table; columns that this schema lacks) */
  tn_merge_engine merge_engine;
  tn_changelog_producer changelog_producer;
  bool deletion_vectors;
  /* Primary key with deletion vectors: the schema since which they have been enabled without a
   * break. Files of older schemas may hold superseded rows that no vector marks. */
  int64_t vectors_since_schema;
  bool skips_level_0; /* batch reads of primary-key tables: deletion vectors, or first-row */
  bool needs_lookup; /* the same with lookup changelog, deletion vectors, force-lookup, first-row */
  bool ignore_delete;
  const tn_merge_options *merge; /* of partial-update and aggregation; NULL: other engines */
  int32_t *sequence_columns;     /* user sequence fields */
  int32_t n_sequence_columns;
  bool sequence_descending;
  bool row_tracking, data_evolution;
  bool file_index_read;
  bool ignore_corrupt_files, ignore_lost_files;
  bool plan_sort_partition;
  int64_t split_target_bytes, split_open_cost_bytes;
  const char *partition_default_name;
  bool partition_legacy_name;
  const char *data_path_directory; /* NULL: none */
  bool index_in_data_dir;
} tn_table_facts;

typedef struct tn_table {
  _Atomic int32_t refs;
  tarn_env *env;
  tn_storage *storage;
  tn_arena arena;
  const char *full_name;   /* "db.t", for messages */
  const char *path;        /* table root: data, manifests, indexes */
  const char *branch;      /* "main" or the branch */
  const char *branch_path; /* root of schema/, snapshot/, tag/, changelog/, consumer/ */
  tn_schema *schema;       /* effective: the latest, or that of the snapshot travelled to */
  tn_schema *named_by;     /* the one whose column names the options use */
  tn_options options;      /* merged */
  tn_table_facts facts;
} tn_table;

tn_table *tn_table_retain(tn_table *table);
void tn_table_release(tn_table *table); /* accepts NULL */

/* Make a table of a schema (retained) and options: merges, checks (tn_options_check_read) and
 * computes the facts. full_name, path, branch, branch_path, dynamic are copied. Errors: INVALID
 * (bad values, names that are no columns, a dynamic option that only the table itself may set),
 * UNSUPPORTED (refused by name). */
TN_CHECKED tarn_status tn_table_create(tarn_env *env, tn_storage *storage, const char *full_name,
                                       const char *path, const char *branch,
                                       const char *branch_path, tn_schema *schema,
                                       const tn_option *dynamic, int32_t n_dynamic, tn_table **out,
                                       tarn_error *err);
/* The same table with another effective schema (time travel); options stay the current ones, and
 * columns that they name are found by id, whatever they were called then. */
TN_CHECKED tarn_status tn_table_with_schema(tn_table *table, tn_schema *schema, tn_table **out,
                                            tarn_error *err);

/* The schema a data file was written with. */
TN_CHECKED tarn_status tn_table_schema(tn_table *table, int64_t schema_id, tn_schema **out,
                                       tarn_error *err);

/* Corrupt metadata or data whose place the message does not tell is named by its table: returns
 * status; err (which may be NULL) gets the table's name in front, unless it has that or a path of
 * the table. */
tarn_status tn_table_fault(const tn_table *table, tarn_status status, tarn_error *err);

#endif
