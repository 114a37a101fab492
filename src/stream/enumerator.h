/* enumerator.h - the coordinator of a stream: discovers splits and deals them out to readers.
 *
 *   tn_stream_scan --discover()--> queues --request(reader)--> readers
 *                                     ^------- add_back() --------'
 *
 * Invariants
 *   E1  Splits of one bucket go to one reader, in the order of their snapshots. (Tables without
 *       order have one queue for all.)
 *   E2  Position and queues together are all that a checkpoint of the coordinator holds: what was
 *       dealt out belongs to its reader, and comes back by add_back() or by a restore.
 *   E3  Nothing is planned while as many splits wait as scan.max-splits-per-task allows for each
 *       reader. One snapshot with more of them enters whole.
 *   E4  A consumer is told a snapshot only when all that comes before it was read by every reader,
 *       and the checkpoint that says so is complete.
 *
 *   E5  With source.checkpoint-align.enabled a checkpoint holds one snapshot: the next one is not
 *       planned before, and a checkpoint is refused while there is none, or it is being read.
 *
 * One thread at a time. Rule: org.apache.paimon.flink.source.ContinuousFileSplitEnumerator,
 * ConsumerProgressCalculator, assigners.*, align.*. Spec: streaming-source, 6, 8, 9, 11.
 */
#ifndef TN_STREAM_ENUMERATOR_H
#define TN_STREAM_ENUMERATOR_H

#include "stream/source_split.h"
#include "stream/stream_scan.h"

typedef struct tn_enumerator tn_enumerator;

typedef struct tn_enumerator_options {
  tn_stream_scan_options scan;
  int32_t n_readers; /* 1 or more; readers are numbered from 0 */
  int64_t
      max_plans; /* the stream ends after so many (also one that only finds the start); 0: none */
} tn_enumerator_options;

#define TN_MAX_READERS 32768

/* Starts anew; tn_enumerator_restore() goes on. out: tn_enumerator_free(). Errors: INVALID (as
 * tn_stream_scan_create(); the number of readers). */
TN_CHECKED tarn_status tn_enumerator_create(const tn_enumerator_options *options,
                                            tn_enumerator **out, tarn_error *err);
void tn_enumerator_free(tn_enumerator *enumerator); /* accepts NULL */
tn_stream_scan *tn_enumerator_scan(tn_enumerator *enumerator);
/* Which of n readers or writers a bucket belongs to where partitions count: (abs(hash of the
 * partition) % n + bucket) % n. Rule: org.apache.paimon.flink.sink.ChannelComputer. */
int32_t tn_bucket_channel(tn_slice partition, int32_t bucket, int32_t n);
/* More readers idle: the number of buckets; 32768 where it is not fixed. */
int32_t tn_enumerator_max_readers(const tn_enumerator *enumerator);

/* What a discovery did. */
typedef enum tn_discovery {
  TN_DISCOVERED_SPLITS,  /* planned; there may be none in the plan */
  TN_DISCOVERED_NOTHING, /* no snapshot yet: wait */
  TN_DISCOVERY_PAUSED,   /* enough is pending, or as many snapshots as a checkpoint may hold */
  TN_DISCOVERY_ENDED     /* bounded: no more will come */
} tn_discovery;

/* Plan one step ahead. Call it at the start, then at each interval or when the table has news, and
 * whenever TN_DISCOVERED_SPLITS says that there may be more. */
TN_CHECKED tarn_status tn_enumerator_discover(tn_enumerator *enumerator, tn_discovery *out,
                                              tarn_error *err);

/* What a reader is told that asks for splits. */
typedef enum tn_assignment {
  TN_ASSIGNED,     /* splits */
  TN_ASSIGN_LATER, /* none yet: ask again after the next discovery */
  TN_ASSIGN_NEVER  /* the stream has ended */
} tn_assignment;

/* Splits for a reader: appended to `into`. When there are none and nothing is known to be waited
 * for, one discovery is made at once. Errors: INVALID (no such reader), those of discovery. */
TN_CHECKED tarn_status tn_enumerator_request(tn_enumerator *enumerator, int32_t reader,
                                             tn_split_queue *into, tn_assignment *out,
                                             tarn_error *err);
/* A reader is through with the first n of the splits that it has. */
void tn_enumerator_finished(tn_enumerator *enumerator, int32_t reader, int64_t n);
/* A reader failed: its splits come to the front again, in their order; the queue is emptied. */
TN_CHECKED tarn_status tn_enumerator_add_back(tn_enumerator *enumerator, int32_t reader,
                                              tn_split_queue *splits, tarn_error *err);
/* Splits that wait, of all readers. */
int64_t tn_enumerator_pending(const tn_enumerator *enumerator);
/* Is the stream at its end, with nothing left to deal out? */
bool tn_enumerator_has_ended(const tn_enumerator *enumerator);

/* E5: the snapshot of the next checkpoint; false: none is planned yet, or nothing is aligned. */
bool tn_enumerator_aligned(const tn_enumerator *enumerator, int64_t *snapshot);
/* Is it so, and how long may a checkpoint wait for its snapshot? */
bool tn_enumerator_is_aligned(const tn_enumerator *enumerator, int64_t *timeout_ms);

/* Take a checkpoint: append its bytes (tn_pending_splits_encode()), and remember what the consumer
 * may be told when it is complete. Identifiers grow. Errors: STATE (E5), LIMIT, NOMEM. */
TN_CHECKED tarn_status tn_enumerator_checkpoint(tn_enumerator *enumerator, int64_t id, tn_buf *out,
                                                tarn_error *err);
/* The checkpoint, and those before it, are complete: the consumer's file is written, and does not
 * move back while this lives. */
TN_CHECKED tarn_status tn_enumerator_complete(tn_enumerator *enumerator, int64_t id,
                                              tarn_error *err);
/* Go on from the bytes of a checkpoint, of any number of readers; `held` (may be NULL, emptied):
 * what its readers had, which comes first. Untrusted. Errors: CORRUPT, UNSUPPORTED. */
TN_CHECKED tarn_status tn_enumerator_restore(tn_enumerator *enumerator, tn_slice bytes,
                                             tn_split_queue *held, tarn_error *err);

#endif
