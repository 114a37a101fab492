/* start.h - where a stream starts: the first plan of every scan.mode, and of a consumer's record.
 * Internal.
 *
 *   stream-scan-mode, then the consumer's record, then scan.mode
 *
 * Rule: org.apache.paimon.table.source.AbstractDataTableScan#createStartingScanner and
 * snapshot.Continuous*StartingScanner. Spec: streaming-source, 3; scan-plan, 4.
 */
#ifndef TN_STREAM_START_H
#define TN_STREAM_START_H

#include "model/snapshot.h"
#include "model/table.h"

typedef enum tn_start_kind {
  TN_START_NOT_YET, /* there is nothing to start from; ask again */
  TN_START_NEXT,    /* follow from `next` on */
  TN_START_FULL     /* read `snapshot` in full, then follow */
} tn_start_kind;

typedef struct tn_start {
  tn_start_kind kind;
  int64_t next;
  tn_snapshot snapshot;    /* texts in the arena */
  bool is_latest;          /* it was not asked for by id: another one will do as well */
  bool has_min_creation;   /* only files created since: */
  int64_t min_creation_ms; /* milliseconds since 1970 */
} tn_start;

/* What is remembered between tries. All zero: nothing. */
typedef struct tn_starter {
  bool has_looked;     /* the table was looked at once; then it had */
  int64_t latest_then; /* this latest snapshot, 0: none */
} tn_starter;

/* Errors: INVALID (modes that streams do not have, with Java's words), NOT_FOUND, CORRUPT, IO. */
TN_CHECKED tarn_status tn_start_find(tn_table *table, tn_starter *starter, tn_arena *arena,
                                     tn_start *out, tarn_error *err);

/* What the consumer `id` reads next; *found false: it has no record. Errors: CORRUPT after reading
 * it again for a while. */
TN_CHECKED tarn_status tn_consumer_next(tn_table *table, const char *id, int64_t *out, bool *found,
                                        tarn_error *err);

#endif
