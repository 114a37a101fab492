/* json_file.h - reading a small JSON file that its writer may not have made at once.
 * Internal to model/.
 *
 * On stores without an atomic create a reader may meet an empty or cut file. Text that does not
 * parse is read again a few times, for about half a second in all; then it is CORRUPT.
 * Rule: org.apache.paimon.utils.SnapshotManager.tryFromPath; spec: layout, 3.
 */
#ifndef TN_MODEL_JSON_FILE_H
#define TN_MODEL_JSON_FILE_H

#include "base/json.h"
#include "io/storage.h"

/* out: owned by the caller, tn_json_free(). Errors: NOT_FOUND, CORRUPT, IO, AUTH, LIMIT (size). */
TN_CHECKED tarn_status tn_json_file_read(tarn_env *env, tn_storage *storage, const char *path,
                                         tn_json_doc **out, tarn_error *err);

#endif
