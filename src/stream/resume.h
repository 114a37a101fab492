/* resume.h - compactions that a writer of before left behind, and the changelog that they owe.
 *
 * A writer may commit before its compactions are done (lookup-wait = false), or leave them to a
 * later commit (full-compaction.delta-commits). When it ends in between, nobody compacts these
 * buckets until rows come for them again, and their changelog stays away as long. Flink's sinks
 * keep such buckets in the state of their writers. Here the table tells them:
 *
 *   tables that need lookup               buckets with files of level 0
 *   full compaction every so many commits  buckets with files below the last level
 *
 * so that a lost state, or another writer's, loses nothing either (docs/decisions/0014). On the
 * writer's thread.
 *
 * Rule: org.apache.paimon.flink.sink.{AsyncLookupSinkWrite,GlobalFullCompactionSinkWrite,
 * StoreSinkWriteState,ChannelComputer}. Spec: changelog-producers, 4.1 and 5.
 */
#ifndef TN_STREAM_RESUME_H
#define TN_STREAM_RESUME_H

#include "base/cancel.h"
#include "write/write.h"

/* Begin these compactions in a writer that was just opened: of its own buckets among n_writers, as
 * tn_bucket_channel() deals them (stream/enumerator.h). What comes of them is in the messages of
 * its commits. *n_buckets: how many. Nothing happens where writers do not compact. Errors: INVALID
 * (no such writer), those of planning and of compactions. Cost: the manifests of the latest
 * snapshot. */
TN_CHECKED tarn_status tn_writer_resume(tn_table *table, tn_write *write, int32_t number,
                                        int32_t n_writers, const tarn_cancel *cancel,
                                        int64_t *n_buckets, tarn_error *err);

#endif
