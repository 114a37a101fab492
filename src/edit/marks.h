/* marks.h - deletion vectors that an edit makes, and the index files that hold them. Internal.
 *
 * Tables without buckets have several index files a partition: those with a vector that changes
 * are replaced, with the vectors of theirs that stay. Bucketed ones have one file a bucket, which a
 * new one with all vectors replaces.
 * Rule: org.apache.paimon.deletionvectors.append.{AppendDeleteFileMaintainer,
 * BucketedAppendDeleteFileMaintainer}; spec: indexes, 2.
 */
#ifndef TN_EDIT_MARKS_H
#define TN_EDIT_MARKS_H

#include "index/deletion_vector.h"
#include "model/commit_message.h"
#include "model/table.h"
#include "plan/plan.h"

/* The new vector of one data file. */
typedef struct tn_mark {
  const tn_split *split; /* its partition and bucket */
  tn_slice data_file;
  tn_dv *dv; /* owned */
} tn_mark;

typedef struct tn_marks {
  tn_mark *items; /* in the order of splits */
  size_t count, capacity;
} tn_marks;

/* Takes the vector, on failure too. */
TN_CHECKED tarn_status tn_marks_add(tn_marks *marks, tarn_env *env, const tn_split *split,
                                    tn_slice data_file, tn_dv *dv, tarn_error *err);
/* Write the index files, synced with their names, and a message for each bucket (room for
 * marks->count of them). After a failure there is none of the files. */
TN_CHECKED tarn_status tn_marks_write(const tn_marks *marks, tn_table *table, const tn_plan *plan,
                                      tn_arena *arena, tn_commit_message *messages,
                                      int32_t *n_messages, tarn_error *err);
/* Remove the files of the messages again. */
void tn_marks_remove(tn_table *table, const tn_commit_message *messages, int32_t n_messages);
void tn_marks_reset(tn_marks *marks, tarn_env *env);

#endif
