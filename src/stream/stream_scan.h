/* stream_scan.h - the position of a stream, and its plans one after the other.
 *
 *   (no position) --first plan--> next = N --plan of snapshot N--> next = N + 1 --> ...
 *                                    |  nothing there yet: WAITING, ask again
 *                                    |  bounded: ENDED
 *
 * Invariants
 *   S1  The whole position is `next`, the first snapshot that is not planned yet; what a checkpoint
 *       holds is that after the last plan that was given.
 *   S2  One plan is of one snapshot. Snapshots that change nothing for a reader (compactions,
 *       overwrites unless they are asked for) are passed over without a plan.
 *   S3  The first plan leaves out the levels whose rows come again as changelog.
 *   S4  A position that cannot be reached any more is an error at the 16th plan in vain, or when
 *       tn_stream_scan_check() is asked; never silence.
 *   S5  The snapshot in front of the position, as long as it is kept, is the one that was planned:
 *       a table that was rolled back below it and written again is an error, where Java goes on
 *       with the new snapshots as if they came behind the old ones.
 *
 * One thread at a time. Rule: org.apache.paimon.table.source.DataTableStreamScan. Spec:
 * streaming-source, 2 to 5.
 */
#ifndef TN_STREAM_STREAM_SCAN_H
#define TN_STREAM_STREAM_SCAN_H

#include "plan/plan.h"

typedef struct tn_stream_scan tn_stream_scan;

typedef struct tn_stream_scan_options {
  tn_table *table;
  const tn_pred *predicate; /* NULL: none. Borrowed as long as the scan */
  bool keeps_stats;
  const tarn_cancel *cancel;
} tn_stream_scan_options;

typedef enum tn_stream_outcome {
  TN_STREAM_PLANNED, /* a plan, which may be without splits */
  TN_STREAM_STARTED, /* the place to start from was found; plan again */
  TN_STREAM_WAITING, /* nothing there yet */
  TN_STREAM_ENDED    /* bounded, and the bound is reached */
} tn_stream_outcome;

/* Checks what streams refuse. out: tn_stream_scan_free(). Errors: INVALID (with Java's words: a
 * merge engine without changelog producer, a consumer without expiration time,
 * streaming-read-overwrite without primary key, modes that are for batches), UNSUPPORTED. */
TN_CHECKED tarn_status tn_stream_scan_create(const tn_stream_scan_options *options,
                                             tn_stream_scan **out, tarn_error *err);
void tn_stream_scan_free(tn_stream_scan *scan); /* accepts NULL */

/* The next plan. *plan: NULL but for PLANNED; tn_plan_release(). A failed call leaves the position
 * as it was. Errors: EXPIRED, INVALID (see tn_follow_check()), NOT_FOUND, CORRUPT, IO, CANCELLED,
 * NOMEM. */
TN_CHECKED tarn_status tn_stream_scan_plan(tn_stream_scan *scan, tn_stream_outcome *outcome,
                                           tn_plan **plan, tarn_error *err);
/* Is the position still within reach, and of this past? Errors: as tn_follow_check(), INVALID. */
TN_CHECKED tarn_status tn_stream_scan_check(tn_stream_scan *scan, tarn_error *err);

/* The position; false: there is none yet. */
bool tn_stream_scan_position(const tn_stream_scan *scan, int64_t *next);
/* Go on from a position; is_full: read that snapshot in full first. has_next false: start anew. */
void tn_stream_scan_restore(tn_stream_scan *scan, bool has_next, int64_t next, bool is_full);
/* What tells the snapshot in front of the position from another one with its id (S5); 0: it is not
 * known. A checkpoint may keep it; set it behind tn_stream_scan_restore(). */
uint64_t tn_stream_scan_past(const tn_stream_scan *scan);
void tn_stream_scan_set_past(tn_stream_scan *scan, uint64_t past);
/* A hash of the predicate, by the ids of its columns, which stay when they are renamed; 0: none. */
TN_CHECKED tarn_status tn_stream_scan_filter(const tn_stream_scan *scan, uint64_t *out,
                                             tarn_error *err);
/* That of the last snapshot that was planned; false: it has none. */
bool tn_stream_scan_watermark(const tn_stream_scan *scan, int64_t *out);
/* The commit time of that snapshot; false: none was planned. */
bool tn_stream_scan_time(const tn_stream_scan *scan, int64_t *out_ms);
/* How long until the snapshot that streaming.read.snapshot.delay holds back may be read; false:
 * none is held back. */
bool tn_stream_scan_held_back(const tn_stream_scan *scan, int64_t *ms);
/* A checkpoint that holds `next` is complete: tell the consumer's file, if there is a consumer. */
TN_CHECKED tarn_status tn_stream_scan_complete(tn_stream_scan *scan, int64_t next, tarn_error *err);

/* What planning has done; times in milliseconds. */
typedef struct tn_stream_metrics {
  int64_t plans;                       /* with a plan */
  int64_t last_ms, sum_ms;             /* that they took */
  int64_t last_snapshot;               /* -1: none yet */
  int64_t last_manifests;              /* read */
  int64_t last_skipped, last_resulted; /* files */
  int64_t overwrites_passed_over;
} tn_stream_metrics;
const tn_stream_metrics *tn_stream_scan_metrics(const tn_stream_scan *scan);

/* How far behind a position is. */
typedef struct tn_stream_lag {
  int64_t snapshots; /* that are there and not planned */
  int64_t rows;      /* their changes; -1: not known (more than TN_LAG_SNAPSHOTS to look at) */
  int64_t ms;        /* since the first of them was committed; 0: none is there */
  int64_t latest;    /* the latest snapshot; 0: the table has none */
} tn_stream_lag;
#define TN_LAG_SNAPSHOTS 10000

/* Of the position; has_next: of this one instead (a consumer's). What was summed is remembered, so
 * that calls while a stream follows cost one listing and the new snapshots. */
TN_CHECKED tarn_status tn_stream_scan_lag(tn_stream_scan *scan, bool has_next, int64_t next,
                                          tn_stream_lag *out, tarn_error *err);

#endif
