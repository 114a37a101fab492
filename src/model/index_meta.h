/* index_meta.h - IndexFileMeta as the binary row that commit messages carry.
 *
 * Rule: org.apache.paimon.index.IndexFileMetaSerializer and its predecessors. Spec: wire, 5.
 */
#ifndef TN_MODEL_INDEX_META_H
#define TN_MODEL_INDEX_META_H

#include "model/manifest.h"

/* Layouts 1 to 5 are those of Paimon 0.8 to 2.0. */
#define TN_INDEX_META_WRITTEN 4 /* of Paimon 1.4 */
#define TN_INDEX_META_NEWEST 5

/* Append the row, without arity or length; kind, partition and bucket are not in it. UNSUPPORTED:
 * metadata of Paimon 2, which would be lost. */
TN_CHECKED tarn_status tn_index_meta_encode(const tn_index_entry *index, tn_buf *out,
                                            tarn_error *err);
/* From a row of that layout. Bytes are borrowed; arrays go to the arena. Untrusted. Errors:
 * CORRUPT, NOMEM. */
TN_CHECKED tarn_status tn_index_meta_decode(tn_slice bytes, int32_t layout, tn_arena *arena,
                                            tn_index_entry *out, tarn_error *err);

#endif
