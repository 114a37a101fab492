/* incremental.h - reads between two points: which snapshots, and what of them.
 *
 *   incremental-between            ids: (L, R], changes or a diff. Tags: a diff of their states, or
 *                                  with incremental-between-tag-to-snapshot the changes between
 *   incremental-between-timestamp  the last snapshots at two times
 *   incremental-to-auto-tag        a diff of a tag that was made by the clock and the one before
 *
 * Rule: org.apache.paimon.table.source.AbstractDataTableScan#createIncrementalStartingScanner,
 * snapshot.{IncrementalDeltaStartingScanner,IncrementalDiffStartingScanner}, tag.TagPeriodHandler.
 * Spec: scan-plan, 5.
 */
#ifndef TN_PLAN_INCREMENTAL_H
#define TN_PLAN_INCREMENTAL_H

#include "plan/finder.h"
#include "plan/travel.h"

/* The range that the options ask for; out->has_snapshot false: it is empty.
 * Errors: INVALID (options, with Java's text), NOT_FOUND, EXPIRED, CORRUPT, IO. */
TN_CHECKED tarn_status tn_incremental_resolve(tn_finder *finder, tn_travel *out, tarn_error *err);

#endif
