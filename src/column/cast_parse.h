/* cast_parse.h - texts as ARRAYs, MAPs and ROWs: default values of such columns.
 *
 *   ARRAY   [1, 2]         ARRAY(1, 2)
 *   MAP     {a -> 1}       MAP(a, 1)      NULL
 *   ROW     {1, x}         STRUCT(1, x)
 *
 * Parts are cut at commas outside of double quotes and of brackets, whose kinds are not told apart;
 * empty ones are left out, "null" is null, all others are cast in turn. What Java does beside that
 * is kept: quotes stay in parts of ARRAYs and ROWs and vanish from those of MAPs, where what is
 * behind a `\` vanishes, too; no name is needed for `{}`, the ROW of nulls.
 * Rule: org.apache.paimon.casting.{StringToArrayCastRule, StringToMapCastRule,
 * StringToRowCastRule}, found by asking 1.4.2.
 */
#ifndef TN_COLUMN_CAST_PARSE_H
#define TN_COLUMN_CAST_PARSE_H

#include "column/cast.h"

/* Is there a rule for it? */
bool tn_nested_has_text(const tn_type *type);
/* Can the text be had as such a value? What the value's types do not allow, nulls, is not looked
 * for, as Java does not. Errors: INVALID with the text and type. */
TN_CHECKED tarn_status tn_nested_check_text(tn_arena *scratch, const tn_zone *zone,
                                            const tn_type *type, tn_slice text, tarn_error *err);
/* The vector of the one value. Errors: INVALID, also for a null where the type takes none. */
TN_CHECKED tarn_status tn_nested_from_text(tarn_env *env, tn_arena *scratch, const tn_type *type,
                                           tn_slice text, tn_vec *out, tarn_error *err);

#endif
