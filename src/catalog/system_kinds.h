/* system_kinds.h - what the files of system tables share: a kind of table, and one scan of it.
 * Internal to catalog/.
 */
#ifndef TN_CATALOG_SYSTEM_KINDS_H
#define TN_CATALOG_SYSTEM_KINDS_H

#include "catalog/system.h"
#include "catalog/system_rows.h"

#define TN_SYSTEM_TEXT_BYTES ((size_t)1 << 30)

/* ------------------------------------------------------------------ columns */

#define TN_NOT_NULL false
#define TN_NULLABLE true
#define TN_SYSTEM_FIELD(id_, name_, root_, nullable_, length_, precision_) \
  {                                                                        \
    .id = (id_), .name = (name_), .type = {                                \
      .root = (root_),                                                     \
      .is_nullable = (nullable_),                                          \
      .length = (length_),                                                 \
      .precision = (precision_)                                            \
    }                                                                      \
  }
#define TN_LONG(id, name, nullable) TN_SYSTEM_FIELD(id, name, TN_BIGINT, nullable, 0, 0)
#define TN_INTEGER(id, name, nullable) TN_SYSTEM_FIELD(id, name, TN_INT, nullable, 0, 0)
#define TN_FLAG(id, name, nullable) TN_SYSTEM_FIELD(id, name, TN_BOOLEAN, nullable, 0, 0)
#define TN_TEXT(id, name, nullable) TN_SYSTEM_FIELD(id, name, TN_VARCHAR, nullable, INT32_MAX, 0)
#define TN_TIME3(id, name, nullable) TN_SYSTEM_FIELD(id, name, TN_TIMESTAMP, nullable, 0, 3)
#define TN_LIST(id_, name_, nullable_, element_) \
  {                                              \
    .id = (id_), .name = (name_), .type = {      \
      .root = TN_ARRAY,                          \
      .is_nullable = (nullable_),                \
      .n_fields = 1,                             \
      .fields = (element_)                       \
    }                                            \
  }

/* ------------------------------------------------------------------ kinds */

/* One scan of a table whose rows are made here. */
typedef struct tn_system_scan {
  const tn_system *system;
  tarn_env *env;
  tn_table *table;     /* NULL: of sys */
  tn_system_rows rows; /* of this piece */
  tn_arena scratch;    /* of this piece */
  void *state;         /* kind->start made it */
  bool has_more;       /* set by kind->rows: it has to be called once more */
  const tarn_cancel *cancel;
} tn_system_scan;

/* Rows that a kind gives at once when it may have many. */
#define TN_SYSTEM_PIECE_ROWS 8192

typedef struct tn_system_kind {
  const char *name;
  const tn_field *fields; /* NULL: made by `shape` */
  int32_t n_fields;
  const char *const *primary_keys;
  int32_t n_primary_keys;
  bool ignores_travel; /* shows the same whatever snapshot, tag or time a read is of */

  /* Of rows that are made here: add all of them, or a piece and set scan->has_more. */
  tarn_status (*rows)(tn_system_scan *scan, tarn_error *err);
  void (*finish)(tn_system_scan *scan); /* frees scan->state, which may be NULL; may be absent */

  /* Of the table's rows in another dress: */
  tarn_status (*shape)(tn_system *system, const tn_option *dynamic, int32_t n_dynamic,
                       tarn_error *err); /* columns and keys */
} tn_system_kind;

#define TN_SYSTEM_KIND_OF(name, fields, keys, rows, ignores)                                  \
  const tn_system_kind tn_system_##name = {                                                   \
      #name, fields, (int32_t)TN_COUNT(fields), keys, (int32_t)TN_COUNT(keys), ignores, rows, \
      NULL,  NULL}
#define TN_SYSTEM_KIND(name, fields, keys, rows) TN_SYSTEM_KIND_OF(name, fields, keys, rows, false)
#define TN_TIMELESS_KIND(name, fields, keys, rows) TN_SYSTEM_KIND_OF(name, fields, keys, rows, true)

/* system_metadata.c */
extern const tn_system_kind tn_system_snapshots, tn_system_schemas, tn_system_options,
    tn_system_tags, tn_system_branches, tn_system_consumers, tn_system_aggregation_fields,
    tn_system_statistics;
/* system_manifests.c */
extern const tn_system_kind tn_system_partitions, tn_system_buckets, tn_system_manifests,
    tn_system_table_indexes;
/* system_files.c */
extern const tn_system_kind tn_system_files, tn_system_file_key_ranges;
/* system_views.c */
extern const tn_system_kind tn_system_ro, tn_system_row_tracking, tn_system_audit_log,
    tn_system_binlog;
/* system_global.c: the database sys */
extern const tn_system_kind tn_system_tables, tn_system_all_partitions, tn_system_all_table_options,
    tn_system_catalog_options;

/* ------------------------------------------------------------------ files of a snapshot */

/* What the live files of a partition (and bucket) come to. */
typedef struct tn_file_sum {
  tn_slice partition;
  int32_t bucket;
  int64_t n_rows, n_bytes, n_files;
  int64_t last_ms; /* when the newest file was made, one that is deleted again as well: the writer's
                      wall clock, as if UTC */
} tn_file_sum;

/* table: whose partition it is. */
typedef tarn_status (*tn_file_sum_sink)(void *ctx, const tn_table *table, const tn_file_sum *sum,
                                        tarn_error *err);
/* The partitions of the snapshot that a read of the table sees, of both branches where it reads
 * two; level 0 counts, bucket-postpone does not. Slices are borrowed for the call of the sink. */
TN_CHECKED tarn_status tn_system_each_partition(tn_table *table, tn_arena *scratch,
                                                const tarn_cancel *cancel, tn_file_sum_sink sink,
                                                void *ctx, tarn_error *err);

/* ------------------------------------------------------------------ views */

/* Rows of a view: as tn_system_read. */
typedef struct tn_view_read tn_view_read;
TN_CHECKED tarn_status tn_view_read_create(const tn_system_request *request, tn_view_read **out,
                                           tarn_error *err);
TN_CHECKED tarn_status tn_view_read_next(tn_view_read *read, tn_batch *out, tarn_error *err);
void tn_view_read_free(tn_view_read *read); /* accepts NULL */

/* ------------------------------------------------------------------ what reads give */

/* An empty batch of the columns that a request gives, _row_kind first when it wants that. The
 * fields are kept in the arena. */
TN_CHECKED tarn_status tn_system_out_fields(const tn_system_request *request, tn_arena *arena,
                                            const tn_field **fields, int32_t *n_fields,
                                            tarn_error *err);
/* A column of row kinds: n inserts. */
TN_CHECKED tarn_status tn_system_all_inserts(tarn_env *env, int64_t n, tn_vec *out,
                                             tarn_error *err);

/* ------------------------------------------------------------------ parts of rows */

/* Epoch milliseconds as the date-time in the environment's zone that these tables show. */
int64_t tn_system_local_ms(const tarn_env *env, int64_t epoch_ms);
/* The way back, for a date-time of that zone. */
int64_t tn_system_epoch_ms(const tarn_env *env, int64_t local_ms);

/* Append a partition row (with its arity) as its cast to STRING: "{v1, v2}". Rule:
 * casting.RowToStringCastRule. */
TN_CHECKED tarn_status tn_system_partition_text(const tn_table *table, tn_slice partition,
                                                tn_buf *out, tarn_error *err);
/* The same into a cell; null for no bytes. */
TN_CHECKED tarn_status tn_system_rows_partition(tn_system_rows *rows, int32_t column,
                                                const tn_table *table, tn_slice partition,
                                                tarn_error *err);
/* Append a value as Java prints its internal form: days, milliseconds, LocalDateTime.toString
 * (spec: system-tables, $files). Null: "null". */
TN_CHECKED tarn_status tn_system_java_text(const tn_type *type, const tn_datum *value,
                                           const tn_zone *zone, tn_buf *out, tarn_error *err);
/* order[i]: the item that comes i-th when a java.util.HashMap with these keys, put in this order,
 * is walked over. In the arena. */
TN_CHECKED tarn_status tn_system_java_order(tn_arena *arena, const tn_option *items, int32_t n,
                                            int32_t **order, tarn_error *err);

#endif
