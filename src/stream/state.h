/* state.h - all that a stream and its readers hold, as one piece of bytes that names its table.
 *
 *   "TARNSTRM" | i32 version | UTF table | i64 rows given | i64 past | i64 filter |
 *   i32 length, pending splits of the coordinator | i32 n | n * (i32 length, splits of a reader) |
 *   u32 CRC-32 of all that
 *
 * past: tn_stream_scan_past(). filter: tn_stream_scan_filter(); how many rows of a split were given
 * is counted behind it, so a stream with another filter cannot go on from the state. Version 1 has
 * neither of both, and is taken without these questions.
 *
 * Numbers are big-endian, splits as in source_split.h. The table is told by its identity
 * (maintain/identity.h).
 */
#ifndef TN_STREAM_STATE_H
#define TN_STREAM_STATE_H

#include "stream/enumerator.h"
#include "stream/source_reader.h"

/* Take checkpoint `id` of a coordinator and its readers, none of which may work meanwhile: append
 * the bytes. rows: given in all, for whoever counts what arrived. */
TN_CHECKED tarn_status tn_stream_state_save(tn_table *table, tn_enumerator *enumerator,
                                            tn_source_reader *const *readers, int32_t n_readers,
                                            int64_t id, int64_t rows, tn_buf *out, tarn_error *err);
/* Go on from such bytes, with any number of readers, which have no splits then: they ask for them.
 * Untrusted. Errors: INVALID (of another table, another filter), UNSUPPORTED (of another version),
 * CORRUPT. */
TN_CHECKED tarn_status tn_stream_state_load(tn_table *table, tn_slice bytes,
                                            tn_enumerator *enumerator, int64_t *rows,
                                            tarn_error *err);

#endif
