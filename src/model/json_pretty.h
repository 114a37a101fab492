/* json_pretty.h - JSON laid out as Java's files have it. Internal to model/.
 *
 *   {
 *     "key" : value,
 *     "list" : [ 1, 2 ],
 *     "none" : [ ],
 *     "rows" : [ {
 *       "key" : "text"
 *     } ]
 *   }
 *
 * Rule: Jackson's DefaultPrettyPrinter, as org.apache.paimon.utils.JsonSerdeUtil uses it; spec:
 * snapshot-schema, 0.
 */
#ifndef TN_MODEL_JSON_PRETTY_H
#define TN_MODEL_JSON_PRETTY_H

#include "base/buf.h"

/* Append `compact` (JSON of our own without blanks) in that layout. Errors: NOMEM, LIMIT (nesting
 * deeper than types may be). */
TN_CHECKED tarn_status tn_json_pretty(tn_slice compact, tn_buf *out, tarn_error *err);

#endif
