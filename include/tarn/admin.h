/* admin.h - creating, changing and maintaining: databases, tables.
 *
 * Every call is one change that either happened or not. Two that change one schema at once: one
 * wins, the other gets TARN_E_CONFLICT.
 */
#ifndef TARN_ADMIN_H
#define TARN_ADMIN_H

#include "tarn/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ databases, tables */

/* Errors: TARN_E_EXISTS, TARN_E_INVALID (a name that no folder can have; "sys"). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_database_create(tarn_catalog *catalog, const char *name,
                                                          tarn_error *err);
/* cascade: 0: only when it has no tables (else TARN_E_INVALID). Errors: also TARN_E_NOT_FOUND. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_database_drop(tarn_catalog *catalog, const char *name,
                                                        int32_t cascade, tarn_error *err);

/* Create a table: schema 0. schema_json: {"fields": [{"name", "type", "description", "default"}],
 * "primaryKeys": [], "partitionKeys": [], "options": {}, "comment"}, types as SQL texts
 * (docs/cli.md, "table create").
 * Errors: TARN_E_EXISTS, TARN_E_NOT_FOUND (database), TARN_E_INVALID (each rule of Java's
 * SchemaValidation, in its words), TARN_E_UNSUPPORTED (a kind or option of table, by name). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_table_create(tarn_catalog *catalog, const char *name,
                                                       const char *schema_json, tarn_error *err);
/* The schema_json that has the columns of an Arrow schema. out: tarn_string_free(). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_schema_from_arrow(
    tarn_env *env, const struct ArrowSchema *schema, const char *const *primary_keys,
    size_t n_primary_keys, const char *const *partition_keys, size_t n_partition_keys,
    const tarn_option *options, size_t n_options, tarn_string *out, tarn_error *err);
/* Apply a list of changes, in order, as one new schema. changes_json: [{"add": "c", "type": "INT",
 * "comment": "..", "first": true | "last": true | "after": "a" | "before": "a"}, {"drop": "c"},
 * {"rename": "a", "to": "b"}, {"retype": "a", "type": "BIGINT"}, {"nullable": "a", "value": true},
 * {"move": "a", "first": true | ...}, {"describe": "a", "comment": ".."}, {"default": "a", "value":
 * "5"}, {"set": "option", "value": ".."}, {"reset": "option"}, {"table_comment": ".."},
 * {"drop_primary_key": true}]; null takes a comment or default away. Nested columns are dotted:
 * "r.x" in a ROW, "a.element.k" in an ARRAY, "m.value.q" in a MAP; where a name itself has a dot, a
 * list of names stands for it: ["r", "x.y"]. Keys and options that name a column follow when it is
 * renamed. The table's handles that are open keep the schema they have. name: also
 * "db.t$branch_b". schema_id (may be NULL): of the new schema.
 * Errors: TARN_E_INVALID (a change that is not allowed, in Java's words), TARN_E_NOT_FOUND (table,
 * column), TARN_E_EXISTS (column), TARN_E_CONFLICT. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_table_alter(tarn_catalog *catalog, const char *name,
                                                      const char *changes_json, int64_t *schema_id,
                                                      tarn_error *err);
/* Errors: TARN_E_NOT_FOUND, TARN_E_EXISTS, TARN_E_INVALID (a branch; a name as above). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_table_rename(tarn_catalog *catalog, const char *from,
                                                       const char *to, tarn_error *err);
/* The table with its branches is gone at once; then its folder is deleted. Files outside of it
 * (data-file.external-paths) stay: a warning in the log names them. Errors: TARN_E_NOT_FOUND,
 * TARN_E_INVALID (a branch). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_table_drop(tarn_catalog *catalog, const char *name,
                                                     tarn_error *err);

#ifdef __cplusplus
}
#endif
#endif
