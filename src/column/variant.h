/* variant.h - the Parquet Variant encoding, version 1: its JSON text.
 *
 * Rule: Apache Parquet "Variant Binary Encoding"; org.apache.paimon.data.variant.GenericVariant.
 */
#ifndef TN_COLUMN_VARIANT_H
#define TN_COLUMN_VARIANT_H

#include "base/buf.h"
#include "base/zone.h"

/* Append the JSON text that Java's GenericVariant.toJson gives. Untrusted; nesting past 512 is
 * LIMIT. Errors: CORRUPT, LIMIT. */
TN_CHECKED tarn_status tn_variant_to_json(tn_slice metadata, tn_slice value, const tn_zone *zone,
                                          tn_buf *out, tarn_error *err);

#endif
