/* attempt.h - one snapshot, tried until it is there or cannot be. Internal.
 *
 *   latest -> changes -> checks -> manifests -> publish -> done
 *     ^                    |           |          |
 *     |                conflict     failure    somebody was first; or: outcome unknown
 *     |                    v           v          |
 *     |                 (C3, C4: files go, the error is told)
 *     +------------- wait, look for our snapshot (C2) --+
 *
 * Rule: FileStoreCommitImpl#{tryCommit,tryCommitOnce,compactManifestOnce}; spec: commit, 3 and 4.
 */
#ifndef TN_COMMIT_ATTEMPT_H
#define TN_COMMIT_ATTEMPT_H

#include "commit/overwrite.h"

typedef struct tn_attempt_request {
  tn_commit_kind kind;
  int64_t identifier, watermark;
  bool has_watermark;
  const tn_property *properties;
  int32_t n_properties;
  const tn_commit_changes *changes; /* or, when this is NULL: */
  const tn_overwrite *overwrite;    /* against each new latest snapshot; both NULL: nothing */
  bool checks_conflicts;
  const char *statistics;  /* a new file's name; NULL: what was there is inherited */
  bool compacts_manifests; /* nothing else; no snapshot when there is nothing to merge */
} tn_attempt_request;

/* Make the snapshot; result gets its id and attempts. */
TN_CHECKED tarn_status tn_attempt_run(tn_commit_job *job, const tn_attempt_request *request,
                                      tn_commit_result *result, tarn_error *err);

#endif
