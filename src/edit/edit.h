/* edit.h - rows of a table without primary key are taken out or get new values.
 *
 * The files of the latest snapshot that may hold rows of the predicate are walked, one at a time:
 *
 *   copy on write     a file with rows that match is read once more, and written without them, or
 *                     with the new values in their places; the old file is named as deleted
 *   deletion vectors  ('deletion-vectors.enabled') the places of the rows are marked; new values
 *                     are new rows
 *
 * Invariants
 *   E1  Nothing is visible before the messages are committed, all in one commit; what they delete
 *       and who else changed it is checked there.
 *   E2  A file is named as deleted only when all its rows were read: as many as its entry tells.
 *   E3  Rows that do not match keep their values: a null stays one, whatever the column's default.
 *   E4  Memory: a batch of rows at a time; of deletion vectors one for each file with marks.
 * Rule: org.apache.paimon.spark.commands.{DeleteFromPaimonTableCommand, UpdatePaimonTableCommand},
 * org.apache.paimon.deletionvectors.append.*; spec: indexes, 2; commit, 5.
 */
#ifndef TN_EDIT_EDIT_H
#define TN_EDIT_EDIT_H

#include "base/cancel.h"
#include "column/predicate.h"
#include "model/commit_message.h"
#include "model/table.h"

typedef struct tn_edit_request {
  tn_table *table;
  const tn_pred *predicate; /* NULL: all rows. Borrowed until the edit is freed */
  bool is_update;
  const char *user;         /* of the commit; copied */
  const char *spill_folder; /* as of writers; copied */
  const tarn_cancel *cancel;
} tn_edit_request;

typedef struct tn_edit tn_edit; /* one thread at a time */

/* Errors: INVALID (a primary key; a read of something else than one snapshot), UNSUPPORTED (row
 * tracking, data evolution, fallback branches, what cannot be written: by name), STATE (files of a
 * newer schema than the table's: what that has beside would be lost), those of plans. */
TN_CHECKED tarn_status tn_edit_create(tarn_env *env, const tn_edit_request *request, tn_edit **out,
                                      tarn_error *err);
void tn_edit_free(tn_edit *edit); /* accepts NULL; removes the files that nobody was told of */

/* The next rows that match: *n_rows of them, 0 at the end. Deletes: they are out, and rows may be
 * NULL. Updates: `rows` (raw memory; the caller's) gets all their columns, and tn_edit_replace() is
 * called before the next one. */
TN_CHECKED tarn_status tn_edit_next(tn_edit *edit, tn_batch *rows, int64_t *n_rows,
                                    tarn_error *err);
/* What stands in the place of the rows that tn_edit_next() gave, as many of them; borrowed. Errors:
 * INVALID naming row and column (null in NOT NULL); the rows may be given once more then. */
TN_CHECKED tarn_status tn_edit_replace(tn_edit *edit, const tn_batch *rows, tarn_error *err);
/* At the end: the messages (arena of the caller) of one commit; none when no row matched. Once. */
TN_CHECKED tarn_status tn_edit_prepare(tn_edit *edit, int64_t identifier, tn_arena *arena,
                                       tn_commit_message **messages, int32_t *n_messages,
                                       tarn_error *err);
/* The index manifest of the snapshot that was read; NULL: it has none. For the commit. */
const char *tn_edit_index_manifest(const tn_edit *edit);

#endif
