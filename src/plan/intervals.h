/* intervals.h - files by their key ranges: sections of sorted runs.
 *
 *   keys     0 ......................................... 100
 *   section  |--- f1 ---||-- f2 --|     |- f5 -| |-- f6 --|
 *               |---- f3 ----|             |---- f7 -----|
 *   runs     {f1, f2} {f3}              {f5, f6} {f7}
 *
 * A section holds files whose key ranges hang together; keys of different sections differ. Within a
 * run key ranges are disjoint and ascending.
 * Rule: org.apache.paimon.mergetree.compact.IntervalPartition. Spec: scan-plan, 8.
 */
#ifndef TN_PLAN_INTERVALS_H
#define TN_PLAN_INTERVALS_H

#include "column/datum.h"
#include "model/schema.h"

/* A file and its key range, both ends in it: a value for each key column. */
typedef struct tn_interval {
  const tn_datum *min, *max;
  int64_t file; /* the caller's number of it */
  /* Set by tn_intervals_arrange: */
  struct tn_interval *next; /* of its run */
} tn_interval;

typedef struct tn_interval_section {
  tn_interval **runs; /* the first file of each */
  int64_t n_runs, n_files;
  const tn_datum *min, *max; /* key range of all files */
} tn_interval_section;

/* Ends of key ranges: nulls first, then by value, column after column. */
int tn_interval_compare(const tn_schema *schema, const tn_datum *a, const tn_datum *b);
/* The values of a key as manifests have it, into n_key_columns datums; bytes are borrowed.
 * Errors: CORRUPT. */
TN_CHECKED tarn_status tn_interval_key(const tn_schema *schema, tn_slice key, tn_datum *out,
                                       tarn_error *err);
/* Sections in key order, runs in the order that Java gives them; all in the arena. */
TN_CHECKED tarn_status tn_intervals_arrange(tn_arena *arena, const tn_schema *schema,
                                            tn_interval *items, int64_t n,
                                            tn_interval_section **out, int64_t *n_out,
                                            tarn_error *err);

#endif
