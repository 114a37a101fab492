/* plan_internal.h - what the files of the plan room share among themselves. */
#ifndef TN_PLAN_PLAN_INTERNAL_H
#define TN_PLAN_PLAN_INTERNAL_H

#include "plan/plan.h"

/* An empty plan, counted; table may be NULL. NULL: out of memory. */
tn_plan *tn_plan_new(tarn_env *env, tn_table *table);

#endif
