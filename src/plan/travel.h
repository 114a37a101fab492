/* travel.h - which snapshot a batch read sees: startup modes, time travel, and their checks.
 *
 * Rule: org.apache.paimon.CoreOptions.StartupMode, schema.SchemaValidation, table.source.snapshot.
 * TimeTravelUtil, utils.SnapshotManager. Spec: scan-plan, 2 to 4.
 */
#ifndef TN_PLAN_TRAVEL_H
#define TN_PLAN_TRAVEL_H

#include "model/snapshot.h"
#include "model/table.h"

/* Where a plan starts. */
typedef struct tn_travel {
  bool has_snapshot; /* false: the table has none */
  bool is_latest;    /* not asked for by id, tag or time: planning again may see another one */
  tn_snapshot snapshot;
} tn_travel;

/* Do the scan options go together? INVALID names the keys, with Java's text. */
TN_CHECKED tarn_status tn_travel_check(const tn_table *table, tarn_error *err);

/* Find the snapshot to read; texts go to the arena. Snapshots may expire meanwhile.
 * Errors: INVALID (options), UNSUPPORTED (a scan mode this release lacks, by name), NOT_FOUND (no
 * such snapshot, tag, time or watermark), EXPIRED (an id below the earliest), CORRUPT, IO. */
TN_CHECKED tarn_status tn_travel_resolve(tn_table *table, tn_arena *arena, tn_travel *out,
                                         tarn_error *err);

#endif
