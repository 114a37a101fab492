/* catalog.h - databases and tables of a warehouse on a file system; names; system tables.
 *
 * Rule: org.apache.paimon.catalog.{FileSystemCatalog,Identifier}; spec: catalog, layout,
 * system-tables.
 */
#ifndef TN_CATALOG_CATALOG_H
#define TN_CATALOG_CATALOG_H

#include "model/table.h"
#include "read/read.h"

/* Immutable once opened. */
typedef struct tn_catalog {
  tarn_env *env;
  tn_storage *storage;
  tn_arena arena;
  const char *warehouse;
} tn_catalog;

TN_CHECKED tarn_status tn_catalog_open(tarn_env *env, const char *warehouse, tn_catalog **out,
                                       tarn_error *err);
void tn_catalog_free(tn_catalog *catalog); /* accepts NULL */

/* Sorted names, in the arena. */
TN_CHECKED tarn_status tn_catalog_databases(tn_catalog *catalog, tn_arena *arena,
                                            const char ***names, int32_t *n_names, tarn_error *err);
TN_CHECKED tarn_status tn_catalog_tables(tn_catalog *catalog, const char *database, tn_arena *arena,
                                         const char ***names, int32_t *n_names, tarn_error *err);

/* "db.t", "db.t$branch_b", "db.t$snapshots", "db.t$branch_b$snapshots", or a path of a table's
 * folder ("/w/db.db/t", "./t"). Parts in the arena; system is lower case, NULL when absent. */
typedef struct tn_table_name {
  const char *database, *table, *branch, *system;
  const char *path; /* when given as a path */
} tn_table_name;
TN_CHECKED tarn_status tn_table_name_parse(tn_arena *arena, const char *text, tn_table_name *out,
                                           tarn_error *err);

/* Open the data table of a name (its system part is ignored here). NOT_FOUND names what is missing
 * and what is near. catalog may be NULL for a path. */
TN_CHECKED tarn_status tn_catalog_table(tarn_env *env, tn_catalog *catalog,
                                        const tn_table_name *name, const tn_option *dynamic,
                                        int32_t n_dynamic, tn_table **out, tarn_error *err);

/* ------------------------------------------------------------------ system tables */

/* A system table: columns, and a function that makes all its rows. */
typedef struct tn_system_table {
  const char *name; /* "snapshots" */
  const tn_field *fields;
  int32_t n_fields;
  /* rows: batch initialised with `fields`. */
  tarn_status (*rows)(tn_table *table, tn_batch *rows, tarn_error *err);
} tn_system_table;

/* UNSUPPORTED for one that Paimon has and this release lacks; NOT_FOUND else. */
TN_CHECKED tarn_status tn_system_table_find(const char *name, const tn_system_table **out,
                                            tarn_error *err);

#endif
