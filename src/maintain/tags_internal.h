/* tags_internal.h - what tags.c shares with tag_auto.c and rollback.c. */
#ifndef TN_MAINTAIN_TAGS_INTERNAL_H
#define TN_MAINTAIN_TAGS_INTERNAL_H

#include "maintain/tag_period.h"
#include "maintain/tags.h"

/* How a tag is stored. */
typedef struct tn_tag_request {
  const char *name;
  int64_t retained_ms;
  bool leaves_taken; /* a name that is taken is left as it is, without error */
} tn_tag_request;

/* Store a snapshot as a tag (T1, T2). Errors: EXISTS, EXPIRED (it has begun to expire; or the tag
 * that it was taken from is being deleted). */
TN_CHECKED tarn_status tn_tag_store(tn_table *table, const tn_tag_request *request,
                                    const tn_snapshot *snapshot, tarn_error *err);

/* Does a tag keep the files of a snapshot? Not one that is called `but` (NULL: any). */
TN_CHECKED tarn_status tn_tags_keep(tn_table *table, const tn_snapshot *snapshot, const char *but,
                                    tn_arena *arena, bool *out, tarn_error *err);

#endif
