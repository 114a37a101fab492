/* key.h - comparing keys of rows in batches: a normalised 8-byte prefix, and the rest.
 *
 * The prefix of a key is an integer whose unsigned order is the key's order, as far as 8 bytes
 * tell: equal prefixes need tn_key_compare, unless the prefix is the whole key
 * (tn_key_is_prefix_exact). Order: spec: rows, 5.
 */
#ifndef TN_MERGE_KEY_H
#define TN_MERGE_KEY_H

#include "column/datum.h"

/* prefixes[0 .. n_rows) of the first n_keys columns of a batch (any encoding). */
TN_CHECKED tarn_status tn_key_prefixes(const tn_batch *batch, int32_t n_keys, uint64_t *prefixes,
                                       tarn_error *err);
/* Do equal prefixes mean equal keys for these types (NOT NULL columns)? */
bool tn_key_is_prefix_exact(const tn_field *fields, int32_t n_keys);
/* Compare whole keys: row i of a with row j of b. */
int tn_key_compare(const tn_batch *a, int64_t i, const tn_batch *b, int64_t j, int32_t n_keys);

#endif
