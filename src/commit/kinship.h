/* kinship.h - whether somebody has gone on from a snapshot of ours that is not there any more.
 * Internal. */
#ifndef TN_COMMIT_KINSHIP_H
#define TN_COMMIT_KINSHIP_H

#include "commit/attempt.h"

typedef enum tn_kinship { TN_BUILT_ON_OURS, TN_BUILT_ON_ANOTHER, TN_NOT_TOLD } tn_kinship;

/* Was snapshot `id` built on one of ours? It was if the state before it has our manifests; these
 * may have been merged, so else a file tells: one that the request brings is there or not; one that
 * it takes away, if it brings none, is there still, or it is not told.
 *
 * delta_list, size_bytes  the list of our manifests
 * Errors: NOT_FOUND (it has expired), those of reading manifests. Why: docs/decisions/0013. */
TN_CHECKED tarn_status tn_kinship_tell(tn_commit_job *job, const tn_attempt_request *request,
                                       int64_t id, const char *delta_list, int64_t size_bytes,
                                       tn_arena *arena, tn_kinship *out, tarn_error *err);
/* The same of whatever is there behind snapshot `id` when that one has expired itself. Where its
 * file is not among those any more, it may have been compacted away: expiry has deleted it then, if
 * no tag or branch keeps it. */
TN_CHECKED tarn_status tn_kinship_tell_later(tn_commit_job *job, const tn_attempt_request *request,
                                             int64_t id, const char *delta_list, int64_t size_bytes,
                                             tn_arena *arena, tn_kinship *out, tarn_error *err);

#endif
