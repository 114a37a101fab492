/* tags_internal.h - what tags.c and tag_auto.c share. */
#ifndef TN_MAINTAIN_TAGS_INTERNAL_H
#define TN_MAINTAIN_TAGS_INTERNAL_H

#include "maintain/tag_period.h"
#include "maintain/tags.h"

/* Store a snapshot as a tag. replaces_nothing: a name that is taken is left as it is, without
 * error. */
TN_CHECKED tarn_status tn_tag_store(tn_table *table, const char *name, const tn_snapshot *snapshot,
                                    int64_t retained_ms, bool leaves_taken, tarn_error *err);

#endif
