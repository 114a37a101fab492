/* dry_run.h - what a dry run has to look for, so that it ends as the command would without
 * --dry-run. All do nothing when that option was not given. */
#ifndef CLI_DRY_RUN_H
#define CLI_DRY_RUN_H

#include "change.h"

/* Is there a tag, branch or snapshot (its id as text) of this name? A snapshot that has expired is
 * there if a tag is its. Errors: TARN_E_NOT_FOUND, those of opening and reading. */
tarn_status cli_dry_run_tag(cli_session *session, const char *name, tarn_error *err);
tarn_status cli_dry_run_branch(cli_session *session, const char *name, tarn_error *err);
tarn_status cli_dry_run_snapshot(cli_session *session, const char *id, tarn_error *err);
/* Has the branch a snapshot that the table can become? Errors: as above; TARN_E_STATE. */
tarn_status cli_dry_run_forward(cli_session *session, const char *name, tarn_error *err);
/* Is there a snapshot of that time (milliseconds since 1970) or before? Errors as above. */
tarn_status cli_dry_run_time(cli_session *session, int64_t time_ms, tarn_error *err);

/* Is this a table, neither a system table nor a branch? Errors: TARN_E_INVALID. */
tarn_status cli_dry_run_whole(cli_session *session, tarn_table *table, tarn_error *err);
/* Do all keys name partition columns of the table? Errors: TARN_E_INVALID. */
tarn_status cli_dry_run_partition(cli_session *session, tarn_table *table,
                                  const cli_pairs *partition, tarn_error *err);

#endif
