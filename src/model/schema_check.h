/* schema_check.h - may a table be like that: every rule that a schema has to keep before its file
 * is written. Reading does not ask (a schema that is there is read as far as it goes).
 *
 * Messages are those of the Java library, so that they can be looked up.
 *
 * Rule: org.apache.paimon.schema.{Schema,TableSchema,SchemaValidation}, the merge function
 * factories, FileFormat.validateDataFields; spec: write-path, 15.
 */
#ifndef TN_MODEL_SCHEMA_CHECK_H
#define TN_MODEL_SCHEMA_CHECK_H

#include "model/schema.h"

/* What Java's Schema makes of columns, keys and options: the options "primary-key" and "partition"
 * become the keys, columns of the primary key NOT NULL; options get the order that Java writes.
 * defaults: options that count where the schema has none (borrowed as long as the schema lives).
 * Memory is from the schema's arena. Errors: INVALID (keys that are no columns ...), NOMEM. */
TN_CHECKED tarn_status tn_schema_normalize(tn_schema *schema, const tn_option *defaults,
                                           int32_t n_defaults, tarn_error *err);

/* All rules, after tn_schema_normalize(). Scratch memory is from the schema's arena; nothing else
 * changes. Errors: INVALID, UNSUPPORTED (a kind of table that this release does not have), NOMEM.
 */
TN_CHECKED tarn_status tn_schema_check(tn_schema *schema, tarn_error *err);

/* The options of a new table, and those that changes set: values parse; one warning for each that
 * Paimon does not know. Errors: INVALID. */
TN_CHECKED tarn_status tn_schema_check_option(tarn_env *env, const char *key, const char *value,
                                              tarn_error *err);

/* May a column have this default value (NULL: none)? Rule: utils.DefaultValueUtils. */
TN_CHECKED tarn_status tn_schema_check_default(tn_arena *scratch, const tn_zone *zone,
                                               const tn_type *type, const char *value,
                                               tarn_error *err);

#endif
