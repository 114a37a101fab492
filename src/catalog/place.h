/* place.h - where a table lies, and what is said when it does not. Internal to catalog/.
 */
#ifndef TN_CATALOG_PLACE_H
#define TN_CATALOG_PLACE_H

#include "catalog/catalog.h"

#define TN_DATABASE_SUFFIX ".db"

typedef struct tn_place {
  tn_storage *storage;                                 /* owned: tn_storage_release() */
  const char *full_name, *path, *branch, *branch_path; /* as in tn_table; in the arena */
} tn_place;

/* Nothing is looked at: the table need not exist. catalog may be NULL for a path. */
TN_CHECKED tarn_status tn_place_table(tarn_env *env, tn_catalog *catalog, const tn_table_name *name,
                                      tn_arena *arena, tn_place *out, tarn_error *err);
/* Is there a schema file under `root` (of a table or branch)? */
TN_CHECKED tarn_status tn_place_has_schema(tarn_env *env, tn_storage *storage, const char *root,
                                           bool *out, tarn_error *err);
/* Why a table has no schema: NOT_FOUND, saying which part of its name does not exist and what is
 * near. */
TN_CHECKED tarn_status tn_place_missing(tarn_env *env, tn_catalog *catalog,
                                        const tn_table_name *name, const tn_place *place,
                                        tn_arena *arena, tarn_error *err);
/* NOT_FOUND for a database. */
TN_CHECKED tarn_status tn_place_no_database(tn_catalog *catalog, const char *database,
                                            tn_arena *arena, tarn_error *err);

#endif
