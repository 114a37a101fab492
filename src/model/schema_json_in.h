/* schema_json_in.h - what users write for a new table and for changes of one: JSON to values.
 *
 * Members that nobody knows are refused, so that a slip does not make another table.
 */
#ifndef TN_MODEL_SCHEMA_JSON_IN_H
#define TN_MODEL_SCHEMA_JSON_IN_H

#include "model/schema_change.h"

/* {"fields": [{"name", "type", "description", "default"}], "primaryKeys": [], "partitionKeys": [],
 * "options": {}, "comment"}: schema 0, its field ids given as org.apache.paimon.schema.Schema.
 * Builder does, options as they are written; neither normalised nor checked (schema_check.h). `out`
 * is raw memory; its arena is set up here, and tn_arena_reset(&out->arena) frees it after success
 * and failure alike. Errors: INVALID (no such JSON, a type that does not parse), LIMIT, NOMEM. */
TN_CHECKED tarn_status tn_schema_from_json(tarn_env *env, tn_slice json, tn_schema *out,
                                           tarn_error *err);

/* A list of changes (tarn/admin.h, tarn_table_alter), in the arena. Errors: INVALID, NOMEM. */
TN_CHECKED tarn_status tn_changes_from_json(tn_arena *arena, tn_slice json,
                                            tn_schema_change **changes, int32_t *n_changes,
                                            tarn_error *err);

#endif
