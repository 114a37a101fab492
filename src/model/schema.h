/* schema.h - a table's schema file: fields, keys, options.
 *
 * A schema is counted and immutable. Rule: org.apache.paimon.schema.TableSchema, SchemaSerializer.
 */
#ifndef TN_MODEL_SCHEMA_H
#define TN_MODEL_SCHEMA_H

#include "column/type.h"
#include "io/storage.h"

typedef struct tn_option {
  const char *key;
  const char *value;
} tn_option;

typedef struct tn_schema {
  _Atomic int32_t refs;
  tarn_env *env;
  tn_arena arena; /* owns all below */
  int32_t version;
  int64_t id;
  int32_t highest_field_id;
  tn_field *fields;
  int32_t n_fields;
  const char **partition_keys;
  int32_t n_partition_keys;
  const char **primary_keys; /* with the partition keys */
  int32_t n_primary_keys;
  tn_option *options; /* as stored, in file order; then those that its version implies */
  int32_t n_options;
  const char *comment; /* NULL when absent */
  int64_t time_ms;

  /* Derived. Column indexes into fields. */
  int32_t *partition_columns; /* n_partition_keys */
  int32_t *key_columns;       /* trimmed primary key: primary key minus partition keys */
  int32_t n_key_columns;
} tn_schema;

/* Parse the JSON of a schema file. Old versions imply options (spec: snapshot-schema, 2): up to 1
 * "bucket" = "1", up to 2 "file.format" = "orc", where the file has none.
 * Errors: CORRUPT, UNSUPPORTED (types), LIMIT (nesting). */
TN_CHECKED tarn_status tn_schema_decode(tarn_env *env, tn_slice json, const char *path,
                                        tn_schema **out, tarn_error *err);
tn_schema *tn_schema_retain(tn_schema *schema);
void tn_schema_release(tn_schema *schema); /* accepts NULL */

/* schema/schema-<id> under `root` (a table or branch folder), through the cache.
 * Errors: NOT_FOUND, CORRUPT, IO. */
TN_CHECKED tarn_status tn_schema_load(tarn_env *env, tn_storage *storage, const char *root,
                                      int64_t id, tn_schema **out, tarn_error *err);
/* The ids of all schema files, ascending (arena). NOT_FOUND when there is no such folder or file.
 */
TN_CHECKED tarn_status tn_schema_ids(tarn_env *env, tn_storage *storage, const char *root,
                                     tn_arena *arena, int64_t **ids, int32_t *n_ids,
                                     tarn_error *err);

/* The place of the field with this id among the partition keys, or in the trimmed primary key; -1:
 * it is none of them. */
int32_t tn_schema_partition_key(const tn_schema *schema, int32_t field_id);
int32_t tn_schema_key_column(const tn_schema *schema, int32_t field_id);

/* Append options as a JSON object. */
TN_CHECKED tarn_status tn_options_to_json(const tn_option *options, int32_t n, tn_buf *out,
                                          tarn_error *err);
/* The stored option, NULL when absent. */
const char *tn_schema_option(const tn_schema *schema, const char *key);

#endif
