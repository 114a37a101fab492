/* success_file.h - files that say that something is complete, and since when.
 *
 * Rule: org.apache.paimon.partition.file.SuccessFile; spec: snapshot-schema, 7.
 */
#ifndef TN_MAINTAIN_SUCCESS_FILE_H
#define TN_MAINTAIN_SUCCESS_FILE_H

#include "io/storage.h"

/* Write it at `path`; one that is there keeps its time of creation. One that is no
 * success file is replaced. Errors: IO, AUTH. */
TN_CHECKED tarn_status tn_success_file_write(tn_storage *storage, const char *path, int64_t now_ms,
                                             tarn_error *err);

#endif
