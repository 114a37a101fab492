/* key.h - comparing keys of rows in batches: a normalised 8-byte prefix, and the rest.
 *
 * The prefix of a key is an integer whose unsigned order is the key's order, as far as 8 bytes
 * tell: equal prefixes need tn_key_compare, unless the prefix is the whole key
 * (tn_key_is_prefix_exact). As many leading columns as fit are packed: a fixed column takes its
 * width, a string or binary the bytes that are left. Order: spec: rows, 5, with the FLOAT and
 * DOUBLE order of Paimon 2 (-0.0 before 0.0, one NaN, the greatest).
 */
#ifndef TN_MERGE_KEY_H
#define TN_MERGE_KEY_H

#include "column/datum.h"

/* prefixes[0 .. n_rows) of the first n_keys columns of a batch (any encoding). common_start: bytes
 * that every value of the first column begins with, when that is a string or binary ("" if nothing
 * is known): they tell nothing, so the prefix begins behind them. CORRUPT: a null in a key, a value
 * that does not begin so. */
TN_CHECKED tarn_status tn_key_prefixes(const tn_batch *batch, int32_t n_keys, tn_slice common_start,
                                       uint64_t *prefixes, tarn_error *err);
/* Do equal prefixes mean equal keys for these types (NOT NULL columns)? */
bool tn_key_is_prefix_exact(const tn_field *fields, int32_t n_keys);
/* Compare whole keys: row i of a with row j of b. */
int tn_key_compare(const tn_batch *a, int64_t i, const tn_batch *b, int64_t j, int32_t n_keys);
/* Compare one value of two columns of the same atomic type, any encoding; nulls first. */
int tn_key_compare_value(const tn_vec *a, int64_t i, const tn_vec *b, int64_t j);
/* Is there an order for a key column of this type? */
bool tn_key_has_order(const tn_type *type);

#endif
