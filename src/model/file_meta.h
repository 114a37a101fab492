/* file_meta.h - DataFileMeta as the binary row that splits and commit messages carry.
 *
 * Rule: org.apache.paimon.io.DataFileMetaSerializer and its predecessors. Spec: wire, 2.
 */
#ifndef TN_MODEL_FILE_META_H
#define TN_MODEL_FILE_META_H

#include "model/manifest.h"

#define TN_FILE_META_FIELDS 20 /* of the layout of Paimon 1.3 to 2.0, which is written */

/* Append the row, without arity or length. */
TN_CHECKED tarn_status tn_file_meta_encode(const tn_data_file *file, tn_buf *out, tarn_error *err);
/* From a row of n_fields (13 to 21); the last of them may be one to ignore. Bytes are borrowed from
 * `bytes`; arrays go to the arena. Untrusted. Errors: CORRUPT, NOMEM. */
TN_CHECKED tarn_status tn_file_meta_decode(tn_slice bytes, int32_t n_fields, tn_arena *arena,
                                           tn_data_file *out, tarn_error *err);

#endif
