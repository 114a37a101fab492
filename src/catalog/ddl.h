/* ddl.h - databases and tables come, change, get other names and go.
 *
 * Each call is one change that happened or did not:
 *
 *   D1  A table begins with the publishing of schema-0, a change of it is the publishing of
 *       schema-(N+1); both are exclusive, so that of two one wins.
 *   D2  A table or database that is dropped first gets a name that nobody looks for, in one step;
 *       then its files go. Its folder can be made anew at once, and never shows a part of the old.
 *   D3  A failed publish whose outcome is not known is resolved by looking.
 *
 * Rule: org.apache.paimon.catalog.{AbstractCatalog,FileSystemCatalog}, schema.SchemaManager; spec:
 * catalog, 3; write-path, 15 and 16.
 */
#ifndef TN_CATALOG_DDL_H
#define TN_CATALOG_DDL_H

#include "catalog/catalog.h"
#include "model/schema_change.h"

/* Errors: EXISTS, INVALID (a name that no folder can have, or that names could not tell apart; the
 * database sys), IO. */
TN_CHECKED tarn_status tn_database_create(tn_catalog *catalog, const char *name, tarn_error *err);
/* With all that is in its folder. Errors: NOT_FOUND, INVALID (it has tables and `cascade` is not
 * given; the database sys), IO. */
TN_CHECKED tarn_status tn_database_drop(tn_catalog *catalog, const char *name, bool cascade,
                                        tarn_error *err);
/* Change properties. Errors: INVALID (the database sys), UNSUPPORTED when there is a change: a file
 * system has no place for them. Java does not look for the database either. */
TN_CHECKED tarn_status tn_database_alter(const char *name, size_t n_changes, tarn_error *err);

/* A table from its JSON (schema_json_in.h). catalog may be NULL for a path, whose parent folder
 * must be there. Errors: EXISTS, NOT_FOUND (the database), INVALID, UNSUPPORTED (a kind of table),
 * IO. */
TN_CHECKED tarn_status tn_ddl_create(tarn_env *env, tn_catalog *catalog, const tn_table_name *name,
                                     tn_slice json, tarn_error *err);
/* Apply a list of changes (schema_json_in.h) to a table or branch. *schema_id: of the new schema;
 * of the one there is when the list is empty. Errors: NOT_FOUND (table, column), INVALID, EXISTS
 * (column), CONFLICT (somebody else changed it meanwhile), IO. */
TN_CHECKED tarn_status tn_ddl_alter(tarn_env *env, tn_catalog *catalog, const tn_table_name *name,
                                    tn_slice json, int64_t *schema_id, tarn_error *err);
/* Errors: NOT_FOUND (the table, the new database), EXISTS, INVALID (a branch, a path, a name that
 * no folder can have), IO. */
TN_CHECKED tarn_status tn_ddl_rename(tn_catalog *catalog, const tn_table_name *from,
                                     const tn_table_name *to, tarn_error *err);
/* Files outside of its folder (data-file.external-paths) stay: a warning tells where. Errors:
 * NOT_FOUND, INVALID (a branch), IO. */
TN_CHECKED tarn_status tn_ddl_drop(tarn_env *env, tn_catalog *catalog, const tn_table_name *name,
                                   tarn_error *err);

#endif
