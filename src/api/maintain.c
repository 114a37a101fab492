/* maintain.c - tags, branches, consumers, snapshots, partitions: made, changed, expired; fsck. */
#include "maintain/branches.h"
#include "maintain/consumers.h"
#include "maintain/expire.h"
#include "maintain/fsck.h"
#include "maintain/mark_done.h"
#include "maintain/partition_expire.h"
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

/* ------------------------------------------------------------------ partitions */

tarn_status tarn_partitions_expire(tarn_table *table, const char *commit_user, int64_t identifier,
                                   int64_t *n_expired, tarn_error *err) {
  char user[TN_UUID_CHARS + 1];
  tn_partition_rule rule;
  tn_table *t;
  TN_TRY(begin(table, &t, err));
  TN_TRY(tn_partition_rule_init(&rule, t, err));
  if (!rule.is_set) {
    return tn_fail(err, TARN_E_INVALID,
                   "partitions of %s do not expire: it is not partitioned, or option "
                   "'partition.expiration-time' is not set",
                   t->full_name);
  }
  if (commit_user == NULL) {
    TN_TRY(tn_env_uuid(t->env, user, err));
    commit_user = user;
  }
  return tn_partitions_expire(t, commit_user, identifier, NULL, n_expired, err);
}

tarn_status tarn_partition_mark_done(tarn_table *table, const tarn_option *partition, size_t n,
                                     tarn_error *err) {
  const tn_schema *schema;
  const char **values;
  tarn_status st;
  tn_table *t;
  TN_TRY(begin(table, &t, err));
  schema = t->schema;
  values = tn_calloc(&t->env->mem, (size_t)schema->n_partition_keys + 1, sizeof(*values));
  if (values == NULL) {
    return tn_oom(err);
  }
  st = n == (size_t)schema->n_partition_keys
           ? TARN_OK
           : tn_fail(err, TARN_E_INVALID, "%zu values are given, %s has %d partition columns", n,
                     t->full_name, (int)schema->n_partition_keys);
  for (size_t i = 0; i < n && st == TARN_OK; i++) {
    int32_t k = 0;
    while (k < schema->n_partition_keys &&
           (values[k] != NULL || strcmp(schema->partition_keys[k], partition[i].key) != 0)) {
      k++;
    }
    if (k == schema->n_partition_keys) {
      st = tn_fail(err, TARN_E_INVALID, "'%s' is no partition column of %s, or given twice",
                   partition[i].key, t->full_name);
    } else {
      values[k] = partition[i].value;
    }
  }
  if (st == TARN_OK) {
    st = tn_partition_mark_done(t, values, err);
  }
  tn_free(&t->env->mem, values);
  return st;
}

/* ------------------------------------------------------------------ fsck */

tarn_status tarn_table_fsck(tarn_table *table, const tarn_fsck_options *options, int64_t *n_faults,
                            tarn_string *out, tarn_error *err) {
  tarn_fsck_options o = TARN_FSCK_OPTIONS_INIT;
  tn_fsck_request request;
  int64_t n = 0;
  tn_table *t;
  tarn_status st;
  tn_buf text;
  *out = (tarn_string){0};
  TN_TRY(begin(table, &t, err));
  if (options != NULL) {
    memcpy(&o, options, options->struct_size < sizeof(o) ? options->struct_size : sizeof(o));
  }
  request = (tn_fsck_request){
      .is_deep = o.deep != 0, .left_since_ms = o.left_since_ms, .cancel = o.cancel};
  tn_buf_init(&text, &t->env->mem, TN_API_TEXT_LIMIT);
  st = tn_fsck(t, &request, &text, &n, err);
  if (n_faults != NULL) {
    *n_faults = n;
  }
  return tn_api_string(st, &text, out, err);
}
