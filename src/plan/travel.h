/* travel.h - what a batch read sees: the state of a snapshot, the changes of some, or what differs
 * between two; startup modes, time travel, and their checks.
 *
 * Rule: org.apache.paimon.CoreOptions.StartupMode, schema.SchemaValidation, table.source.
 * AbstractDataTableScan, table.source.snapshot. Spec: scan-plan, 2 to 5.
 */
#ifndef TN_PLAN_TRAVEL_H
#define TN_PLAN_TRAVEL_H

#include "model/snapshot.h"
#include "model/table.h"
#include "plan/plan.h"

/* Where a plan starts. */
typedef struct tn_travel {
  tn_plan_kind kind;
  bool has_snapshot;   /* false: nothing to read: no snapshot, or an empty range of them */
  bool is_latest;      /* not asked for by id, tag or time: planning again may see another one */
  bool is_incremental; /* level 0 is seen as well */
  tn_snapshot snapshot;
  tn_snapshot before;      /* DIFF: the other one; texts in the arena likewise */
  int64_t after_id;        /* DELTA, CHANGELOG: of the snapshots (after_id, snapshot.id] */
  bool has_min_creation;   /* only files created since: */
  int64_t min_creation_ms; /* milliseconds since 1970 */
} tn_travel;

/* Do the scan options go together? INVALID names the keys, with Java's text. */
TN_CHECKED tarn_status tn_travel_check(const tn_table *table, tarn_error *err);

/* Find what to read; texts go to the arena. Snapshots may expire meanwhile.
 * Errors: INVALID (options), NOT_FOUND (no such snapshot, tag, time or watermark), EXPIRED (an id
 * below the earliest), CORRUPT, IO. */
TN_CHECKED tarn_status tn_travel_resolve(tn_table *table, tn_arena *arena, tn_travel *out,
                                         tarn_error *err);

#endif
