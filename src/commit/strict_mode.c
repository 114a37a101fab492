/* strict_mode.c - commit.strict-mode.last-safe-snapshot: nobody else compacts or overwrites. */
#include "commit/conflicts.h"

static tarn_status has_real_bucket(tn_commit_job *job, const tn_snapshot *s, tn_arena *arena,
                                   bool *out, tarn_error *err) {
  const tn_base_request request = {.snapshot = s, .is_delta = true, .hides_postpone = true};
  tn_base delta;
  tarn_status st = tn_base_read(job, &request, arena, &delta, err);
  *out = st == TARN_OK && delta.count > 0;
  tn_base_reset(&delta);
  return st;
}

static tarn_status check_strict(tn_commit_job *job, int64_t new_id, tn_commit_kind kind,
                                const tn_snapshot *s, tn_arena *arena, tarn_error *err) {
  const char *what = "";
  bool is_conflict = s->commit_kind == TN_COMMIT_COMPACT || s->commit_kind == TN_COMMIT_OVERWRITE;
  if (s->commit_user != NULL && strcmp(s->commit_user, job->options->user) == 0) {
    return TARN_OK;
  }
  if (s->commit_kind == TN_COMMIT_APPEND && kind == TN_COMMIT_OVERWRITE) {
    what = " which committed files to fixed bucket";
    TN_TRY(has_real_bucket(job, s, arena, &is_conflict, err));
  }
  return !is_conflict
             ? TARN_OK
             : tn_fail(err, TARN_E_CONFLICT,
                       "When trying to commit snapshot %lld, commit user %s has found a %s "
                       "snapshot (id: %lld) by another user %s%s. Giving up committing as "
                       "commit.strict-mode.last-safe-snapshot is set.",
                       (long long)new_id, job->options->user, tn_commit_kind_name(s->commit_kind),
                       (long long)s->id, s->commit_user != NULL ? s->commit_user : "", what);
}

tarn_status tn_conflicts_find_strict(tn_commit_job *job, int64_t new_id, tn_commit_kind kind,
                                     tn_arena *arena, tarn_error *err) {
  const tn_table *table = job->table;
  if (!job->settings.has_safe_snapshot) {
    return TARN_OK;
  }
  for (int64_t id = job->settings.safe_snapshot + 1; id < new_id; id++) {
    tn_snapshot s;
    TN_TRY(tn_snapshot_read(table->env, table->storage, table->branch_path, id, arena, &s, err));
    TN_TRY(check_strict(job, new_id, kind, &s, arena, err));
  }
  job->settings.safe_snapshot = new_id - 1;
  return TARN_OK;
}
