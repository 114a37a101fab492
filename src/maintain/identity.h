/* identity.h - which table a state is of, however its path was written.
 *
 *   "<path>@<ms>"   path: of the table or branch, without links, dots and doubled slashes (that of
 *                   another storage as it is); ms: when its first schema was made, so that a table
 *                   that was dropped and made again is another one
 *
 * States of before have the path as it was given ("t/@1"), or, those of sinks, a name and a branch
 * ("db.t/main@1"); they are still known. Why so: docs/decisions/0012. From any thread.
 */
#ifndef TN_MAINTAIN_IDENTITY_H
#define TN_MAINTAIN_IDENTITY_H

#include "model/table.h"

/* Append the identity, and a NUL. May read the first schema. */
TN_CHECKED tarn_status tn_table_identity(tn_table *table, tn_buf *out, tarn_error *err);
/* Is `found`, of a state, that of this table? own: tn_table_identity(). Errors: NOMEM. */
TN_CHECKED tarn_status tn_table_identity_is(const tn_table *table, const char *own,
                                            const char *found, bool *out, tarn_error *err);
/* The refusal if it is not. Errors: INVALID, NOMEM. */
TN_CHECKED tarn_status tn_table_identity_check(const tn_table *table, const char *own,
                                               const char *found, tarn_error *err);

#endif
