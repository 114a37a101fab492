/* system.h - system tables: what they are called, their columns, reading them.
 *
 * Two forms. The rows of most are made here from metadata, cell by cell (system_rows.h). Those of
 * $ro, $row_tracking, $audit_log and $binlog are the table's own rows in another dress, and stream
 * through read/ (system_views.c).
 *
 * Rule: org.apache.paimon.table.system.SystemTableLoader and the classes beside it. Spec:
 * system-tables.
 */
#ifndef TN_CATALOG_SYSTEM_H
#define TN_CATALOG_SYSTEM_H

#include "base/cancel.h"
#include "catalog/catalog.h"
#include "column/predicate.h"

/* An opened system table. Immutable. */
typedef struct tn_system {
  tarn_env *env;
  tn_arena arena;
  const struct tn_system_kind *kind;
  const char *name;      /* "files"; of the database sys: "tables" */
  const char *full_name; /* "db.t$files", "sys.tables" */
  tn_table *table;       /* retained; NULL: of the database sys */
  tn_catalog *catalog;   /* owned; of the database sys */
  const tn_field *fields;
  int32_t n_fields;
  const char *const *primary_keys;
  int32_t n_primary_keys;
  const char *const *partition_keys;
  int32_t n_partition_keys;
} tn_system;

/* A system table of a data table (retained, with its dynamic options applied and travelled).
 * dynamic: the dynamic options, some of which a system table refuses.
 * Errors: NOT_FOUND, UNSUPPORTED (one that Paimon has and this release lacks; an option by name),
 * INVALID (row tracking of a table that has none; an option of time travel, where the table is the
 * same at any time). */
TN_CHECKED tarn_status tn_system_open(tn_table *table, const char *name, const tn_option *dynamic,
                                      int32_t n_dynamic, tn_system **out, tarn_error *err);
/* A table of the database sys, its name in letters of any case. The catalog may be freed before.
 * Errors: NOT_FOUND, INVALID (an option of time travel). */
TN_CHECKED tarn_status tn_system_open_global(const tn_catalog *catalog, const char *name,
                                             const tn_option *dynamic, int32_t n_dynamic,
                                             tn_system **out, tarn_error *err);
void tn_system_free(tn_system *system); /* accepts NULL */

/* The names of the tables of sys, sorted, in the arena. */
TN_CHECKED tarn_status tn_system_global_names(const tn_catalog *catalog, tn_arena *arena,
                                              const char ***names, int32_t *n_names,
                                              tarn_error *err);

typedef struct tn_system_request {
  const tn_system *system;
  const tn_field
      *fields; /* output columns, some of the system table's; borrowed until it is freed */
  int32_t n_fields;
  const tn_pred *predicate; /* every row given satisfies it; NULL: none; borrowed likewise */
  int64_t limit;            /* the most rows; -1: none */
  bool with_row_kind;       /* a first column _row_kind (int8) */
  int64_t batch_rows;       /* the most rows of a batch; 0: 8192 */
  const tarn_cancel *cancel;
} tn_system_request;

typedef struct tn_system_read tn_system_read;

/* Errors: those of planning and of reading. */
TN_CHECKED tarn_status tn_system_read_create(const tn_system_request *request, tn_system_read **out,
                                             tarn_error *err);
/* The next batch, flat; n_rows == 0: the end. After a failure out is empty, and every call fails
 * alike. */
TN_CHECKED tarn_status tn_system_read_next(tn_system_read *read, tn_batch *out, tarn_error *err);
void tn_system_read_free(tn_system_read *read); /* accepts NULL */

#endif
