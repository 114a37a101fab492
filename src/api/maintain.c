/* maintain.c - tags, branches, consumers, snapshots: made, changed, expired. */
#include "maintain/branches.h"
#include "maintain/consumers.h"
#include "maintain/expire.h"
#include "maintain/rollback.h"
#include "maintain/tags.h"

#include "api/handles.h"

/* Every call begins like this: *out is the data table. */
static tarn_status begin(tarn_table *table, tn_table **out, tarn_error *err) {
  tn_error_reset(err);
  TN_TRY(tn_env_check(table->env, err));
  if (table->system != NULL) {
    return tn_fail(err, TARN_E_INVALID, "%s is a system table: there is nothing to maintain in it",
                   table->system->full_name);
  }
  *out = table->table;
  return TARN_OK;
}

/* ------------------------------------------------------------------ tags */

tarn_status tarn_tag_create(tarn_table *table, const char *name, int64_t snapshot_id,
                            int64_t retained_ms, tarn_error *err) {
  tn_table *t;
  TN_TRY(begin(table, &t, err));
  if (snapshot_id < 0) {
    return tn_fail(err, TARN_E_INVALID, "no snapshot has the id %lld", (long long)snapshot_id);
  }
  return tn_tag_create(t, name, snapshot_id,
                       retained_ms < 0 ? TN_TAG_RETAINED_BY_OPTION : retained_ms, err);
}

tarn_status tarn_tag_delete(tarn_table *table, const char *name, tarn_error *err) {
  tn_table *t;
  TN_TRY(begin(table, &t, err));
  return tn_tag_delete(t, name, err);
}

tarn_status tarn_tag_rename(tarn_table *table, const char *from, const char *to, tarn_error *err) {
  tn_table *t;
  TN_TRY(begin(table, &t, err));
  return tn_tag_rename(t, from, to, err);
}

tarn_status tarn_tags_expire(tarn_table *table, int64_t *n_expired, tarn_error *err) {
  tn_table *t;
  TN_TRY(begin(table, &t, err));
  return tn_tags_expire(t, n_expired, err);
}

/* ------------------------------------------------------------------ branches */

tarn_status tarn_branch_create(tarn_table *table, const char *name, const char *tag,
                               tarn_error *err) {
  tn_table *t;
  TN_TRY(begin(table, &t, err));
  return tn_branch_create(t, name, tag, err);
}

tarn_status tarn_branch_delete(tarn_table *table, const char *name, tarn_error *err) {
  tn_table *t;
  TN_TRY(begin(table, &t, err));
  return tn_branch_delete(t, name, err);
}

tarn_status tarn_branch_rename(tarn_table *table, const char *from, const char *to,
                               tarn_error *err) {
  tn_table *t;
  TN_TRY(begin(table, &t, err));
  return tn_branch_rename(t, from, to, err);
}

tarn_status tarn_branch_fast_forward(tarn_table *table, const char *name, tarn_error *err) {
  tn_table *t;
  TN_TRY(begin(table, &t, err));
  return tn_branch_fast_forward(t, name, err);
}

/* ------------------------------------------------------------------ consumers */

tarn_status tarn_consumer_set(tarn_table *table, const char *id, int64_t next_snapshot,
                              tarn_error *err) {
  tn_table *t;
  TN_TRY(begin(table, &t, err));
  return tn_consumer_set(t, id, next_snapshot, err);
}

tarn_status tarn_consumer_delete(tarn_table *table, const char *id, tarn_error *err) {
  tn_table *t;
  TN_TRY(begin(table, &t, err));
  return tn_consumer_delete(t, id, err);
}

tarn_status tarn_consumers_clear(tarn_table *table, const char *including, const char *excluding,
                                 int64_t *n_deleted, tarn_error *err) {
  tn_table *t;
  TN_TRY(begin(table, &t, err));
  return tn_consumers_clear(t, including != NULL ? including : ".*", excluding, n_deleted, err);
}

/* ------------------------------------------------------------------ snapshots */

tarn_status tarn_table_expire(tarn_table *table, const tarn_expire_options *options,
                              int64_t *n_expired, tarn_error *err) {
  tarn_expire_options o = TARN_EXPIRE_OPTIONS_INIT;
  tn_expire_request request;
  tn_table *t;
  TN_TRY(begin(table, &t, err));
  if (options != NULL) {
    memcpy(&o, options, options->struct_size < sizeof(o) ? options->struct_size : sizeof(o));
  }
  if (o.retain_max < 0 || o.retain_min < 0 || o.max_deletes < 0 || o.older_than_ms < 0) {
    return tn_fail(err, TARN_E_INVALID, "what is to be retained must not be negative");
  }
  request = (tn_expire_request){.retain_max = o.retain_max,
                                .retain_min = o.retain_min,
                                .older_than_ms = o.older_than_ms,
                                .max_deletes = o.max_deletes,
                                .is_dry = o.dry_run != 0,
                                .cancel = o.cancel};
  if (!request.is_dry) {
    TN_TRY(tn_tags_finish(t, err));
  }
  TN_TRY(tn_expire_snapshots(t, &request, n_expired, err));
  return tn_expire_changelogs(t, &request, NULL, err);
}

tarn_status tarn_table_rollback(tarn_table *table, int64_t snapshot_id, tarn_error *err) {
  tn_table *t;
  TN_TRY(begin(table, &t, err));
  return tn_rollback_to_snapshot(t, snapshot_id, err);
}

tarn_status tarn_table_rollback_to_tag(tarn_table *table, const char *tag, tarn_error *err) {
  tn_table *t;
  TN_TRY(begin(table, &t, err));
  return tn_rollback_to_tag(t, tag, err);
}

tarn_status tarn_table_rollback_to_time(tarn_table *table, int64_t time_ms, tarn_error *err) {
  tn_table *t;
  TN_TRY(begin(table, &t, err));
  return tn_rollback_to_time(t, time_ms, err);
}
