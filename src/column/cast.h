/* cast.h - Java's casts between types, as schema evolution applies them to old files.
 *
 * Rule: org.apache.paimon.casting.CastExecutors. Spec: datafiles, 7 "Cast matrix".
 */
#ifndef TN_COLUMN_CAST_H
#define TN_COLUMN_CAST_H

#include "column/datum.h"

/* Is there a rule from one type to the other (equal types: yes)? */
bool tn_cast_exists(const tn_type *from, const tn_type *to);

/* out = in cast to `to`, flat or encoded (an encoded input keeps its encoding where the cast is by
 * value of a dictionary or constant). Nested values cast by the rules of evolution: ROW fields by
 * id, ARRAY elements and MAP values recursively; missing fields are null.
 * `column` names the column in messages. zone: for LTZ. Does not consume `in`.
 * Errors: INVALID (a value that cannot be cast, as Java's reader fails), UNSUPPORTED (no rule). */
TN_CHECKED tarn_status tn_cast_vec(tarn_env *env, const tn_vec *in, const tn_type *to,
                                   const char *column, tn_vec *out, tarn_error *err);
/* One value. */
TN_CHECKED tarn_status tn_cast_datum(tn_arena *arena, const tn_zone *zone, const tn_type *from,
                                     const tn_datum *in, const tn_type *to, tn_datum *out,
                                     tarn_error *err);

#endif
