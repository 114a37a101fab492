/* source_split.h - a split on its way from the coordinator of a stream to a reader, and its bytes.
 *
 *   source split     UTF id | Java serialization of the split | i64 rows to skip
 *   pending splits   i32 n | n * (i32 length, source split) | i64 next snapshot, -1: none
 *
 * These are the bytes of Flink's state (FileStoreSourceSplitSerializer, PendingSplitsCheckpoint
 * Serializer, version 1). Rule: spec: wire, 4, 8; streaming-source, 8.
 */
#ifndef TN_STREAM_SOURCE_SPLIT_H
#define TN_STREAM_SOURCE_SPLIT_H

#include "plan/plan.h"

#define TN_SPLIT_ID_BYTES 80 /* with the NUL: "<uuid>-<number>" and to spare */

typedef struct tn_source_split {
  char id[TN_SPLIT_ID_BYTES];
  tn_plan *plan; /* retained; owns the split */
  const tn_split *split;
  int64_t rows_to_skip; /* given to somebody before */
} tn_source_split;

/* A queue of them; all zero but for mem: empty. */
typedef struct tn_split_queue {
  tn_mem *mem;
  tn_source_split *items; /* a ring */
  size_t capacity, head, count;
} tn_split_queue;

void tn_split_queue_init(tn_split_queue *queue, tn_mem *mem);
void tn_split_queue_reset(tn_split_queue *queue); /* releases what is in it */
tn_source_split *tn_split_queue_at(const tn_split_queue *queue, size_t i);
/* Both take the split's reference, on success only. Errors: NOMEM. */
TN_CHECKED tarn_status tn_split_queue_push(tn_split_queue *queue, const tn_source_split *split,
                                           tarn_error *err);
TN_CHECKED tarn_status tn_split_queue_push_front(tn_split_queue *queue,
                                                 const tn_source_split *split, tarn_error *err);
/* False: it is empty. The reference is the caller's: tn_source_split_reset(). */
bool tn_split_queue_pop(tn_split_queue *queue, tn_source_split *out);
void tn_source_split_reset(tn_source_split *split); /* accepts all zero */

/* Append the bytes of one. */
TN_CHECKED tarn_status tn_source_split_encode(const tn_source_split *split, tn_buf *out,
                                              tarn_error *err);
/* Untrusted. Errors: CORRUPT, UNSUPPORTED (a class that is no split of a stream). */
TN_CHECKED tarn_status tn_source_split_decode(tn_table *table, tn_slice bytes, tn_source_split *out,
                                              tarn_error *err);

/* Append the bytes of queues, one after the other, and of a position. */
TN_CHECKED tarn_status tn_pending_splits_encode(const tn_split_queue *queues, int32_t n_queues,
                                                bool has_next, int64_t next, tn_buf *out,
                                                tarn_error *err);
/* Append what they hold to a queue. Untrusted. Errors: CORRUPT, UNSUPPORTED, NOMEM; the queue may
 * then have some of them. */
TN_CHECKED tarn_status tn_pending_splits_decode(tn_table *table, tn_slice bytes,
                                                tn_split_queue *queue, bool *has_next,
                                                int64_t *next, tarn_error *err);

#endif
