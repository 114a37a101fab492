/* top_n.h - leaving out splits that cannot hold any of the first n rows by one column. Internal.
 *
 * A split whose bounds are tight holds a row with each of them. If n splits have a lesser one than
 * another split, none of that split's rows need be among the first n. Bounds are tight where files
 * are raw, without deletion vectors, and not merged; those of strings may be cut, those of FLOAT
 * and DOUBLE leave out NaN: such columns prune nothing.
 *
 * Rule: org.apache.paimon.table.source.TopNDataSplitEvaluator. Spec: scan-plan, 9 "TopN".
 */
#ifndef TN_PLAN_TOP_N_H
#define TN_PLAN_TOP_N_H

#include "plan/plan.h"

/* May the plan be pruned at all? Then its splits need the statistics of files. */
bool tn_top_n_applies(const tn_scan *scan, bool has_value_filter, tn_plan_kind kind);
/* Drop splits of a plan for which it applies; the others keep their order. */
TN_CHECKED tarn_status tn_top_n_prune(const tn_scan *scan, tn_plan *plan, tn_arena *scratch,
                                      tarn_error *err);

#endif
