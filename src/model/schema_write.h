/* schema_write.h - the bytes of a schema file as Java 1.4.2 writes them.
 *
 * Rule: org.apache.paimon.schema.{TableSchema,SchemaSerializer}; spec: snapshot-schema, 2.
 */
#ifndef TN_MODEL_SCHEMA_WRITE_H
#define TN_MODEL_SCHEMA_WRITE_H

#include "model/schema.h"

#define TN_SCHEMA_VERSION 3 /* of what is written */

/* Append a schema: its own version, options in their order (those that an old version implies are
 * written, too). What is derived is not looked at, so that whoever changes a schema fills the rest.
 * Errors: NOMEM, LIMIT. */
TN_CHECKED tarn_status tn_schema_encode(const tn_schema *schema, tn_buf *out, tarn_error *err);

#endif
