/* fsck.h - is everything there that is named, and does it agree?
 *
 * All branches are looked at, whichever the handle has open. What is wrong is told, not mended.
 * What an expiry or a deletion of a tag that did not end leaves is no fault: the next one completes
 * it.
 *
 * One JSON object a line: {"fault", "path", "detail"} each, then {"snapshots", "files", "bytes",
 * "unreachable", "unread", "faults"}; unread: data files that we cannot read. Faults:
 *
 *   missing       a file that is named is not there
 *   size          it has another size than whoever names it says
 *   corrupt       it cannot be read, or says what cannot be
 *   hint          LATEST names no snapshot
 *   gap           ids between the earliest and the latest snapshot are missing
 *   chain         a base is not the base before with its delta, or a delta takes away what was not
 *                 there or adds what was
 *   count         numbers of rows do not add up
 *   overlap       key ranges of one level overlap, or buckets of a partition are counted twice
 *   rows          deep: rows of a file are not those that its entry tells
 *   left          a file that nobody names, modified since the time that was asked for
 */
#ifndef TN_MAINTAIN_FSCK_H
#define TN_MAINTAIN_FSCK_H

#include "base/cancel.h"
#include "model/table.h"

typedef struct tn_fsck_request {
  bool is_deep; /* read the rows of all live files */
  /* Files that nobody names and that were modified since are faults: for whoever knows when the
   * writers began that have ended. 0: they are only counted; negative: before 1970. */
  int64_t left_since_ms;
  const tarn_cancel *cancel;
} tn_fsck_request;

/* Appends to out. Errors: those of the storage, UNSUPPORTED (metadata), NOMEM, LIMIT, CANCELLED;
 * faults are none. */
TN_CHECKED tarn_status tn_fsck(tn_table *table, const tn_fsck_request *request, tn_buf *out,
                               int64_t *n_faults, tarn_error *err);

#endif
