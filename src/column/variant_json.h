/* variant_json.h - VARIANT values from JSON text, byte for byte as Java makes them.
 *
 * Rule: org.apache.paimon.data.variant.GenericVariantBuilder.parseJson: whole numbers of 64 bits
 * are integers, other plain numbers of up to 38 digits are decimals with the digits as written, all
 * else is DOUBLE; a name twice in an object is a fault.
 */
#ifndef TN_COLUMN_VARIANT_JSON_H
#define TN_COLUMN_VARIANT_JSON_H

#include "base/arena.h"
#include "column/variant_builder.h"

/* Put the one value that the text holds into a builder; blanks around it are fine.
 *
 * arena   takes names that have escapes; they and the text must stay until the value is taken
 * Errors: INVALID with the byte where the text went wrong (also for text that is not UTF-8, and for
 *         a surrogate without the other half), LIMIT (nesting past TN_VARIANT_MAX_DEPTH), NOMEM.
 */
TN_CHECKED tarn_status tn_variant_put_json(tn_variant_builder *b, tn_slice text, tn_arena *arena,
                                           tarn_error *err);

#endif
