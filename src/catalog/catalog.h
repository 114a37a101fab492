/* catalog.h - databases and tables of a warehouse on a file system; names.
 *
 * System tables: system.h. Rule: org.apache.paimon.catalog.{FileSystemCatalog,Identifier}; spec:
 * catalog, layout.
 */
#ifndef TN_CATALOG_CATALOG_H
#define TN_CATALOG_CATALOG_H

#include "model/table.h"

/* The database of tables that tell about the whole catalog; it has no folder. */
#define TN_SYSTEM_DATABASE "sys"

/* Immutable once opened. */
typedef struct tn_catalog {
  tarn_env *env;
  tn_storage *storage;
  tn_arena arena;
  const char *warehouse;
  const tn_option *options; /* as given, sorted by key; `warehouse` among them */
  int32_t n_options;
} tn_catalog;

/* options: of the catalog (copied); of several with one key the last counts. "warehouse" is needed
 * unless `warehouse` is given, which goes before it. Those that Tarn does not know are kept for
 * sys.catalog_options. Errors: NOT_FOUND, INVALID (no warehouse), UNSUPPORTED (a metastore that is
 * not the file system), IO. */
TN_CHECKED tarn_status tn_catalog_open(tarn_env *env, const char *warehouse,
                                       const tn_option *options, int32_t n_options,
                                       tn_catalog **out, tarn_error *err);
/* The value of an option; NULL when it is not set. */
const char *tn_catalog_option(const tn_catalog *catalog, const char *key);
void tn_catalog_free(tn_catalog *catalog); /* accepts NULL */

/* Sorted names, in the arena. The database "sys" is not listed, but its tables are. */
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

#endif
