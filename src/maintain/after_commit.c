/* after_commit.c - maintenance in Java's order. */
#include "maintain/after_commit.h"

#include "maintain/consumers.h"
#include "maintain/expire.h"
#include "maintain/partition_expire.h"
#include "maintain/tags.h"

typedef struct after {
  tn_table *table;
  tn_maintenance *maintenance;
  const tn_after_commit_request *request;
} after;

static tarn_status create_tags(after *a, tarn_error *err) {
  return tn_tags_create_automatic(a->table, err);
}

static tarn_status expire_tags(after *a, tarn_error *err) {
  bool is_enabled;
  TN_TRY(tn_options_bool(&a->table->options, "tag.time-expire-enabled", &is_enabled, err));
  return is_enabled ? tn_tags_expire(a->table, NULL, err) : TARN_OK;
}

/* The first check of a committer is put off by a part of the interval, so that many committers do
 * not check at once. */
static tarn_status is_partition_check_due(after *a, bool *out, tarn_error *err) {
  const tn_options *options = &a->table->options;
  int64_t now = tn_env_now_ms(a->table->env), interval;
  uint64_t random;
  bool at_end;
  TN_TRY(tn_options_int(options, "partition.expiration-check-interval", &interval, NULL, err));
  TN_TRY(tn_options_bool(options, "end-input.check-partition-expire", &at_end, err));
  if (!a->maintenance->has_checked_partitions) {
    a->maintenance->has_checked_partitions = true;
    a->maintenance->partitions_checked_ms = now;
    if (interval >= 1000) {
      TN_TRY(tn_env_random(a->table->env, &random, sizeof(random), err));
      a->maintenance->partitions_checked_ms -=
          (int64_t)(random % (uint64_t)(interval / 1000)) * 1000;
    }
  }
  *out = interval == 0 || now > a->maintenance->partitions_checked_ms + interval ||
         (at_end && a->request->identifier == INT64_MAX);
  return TARN_OK;
}

static tarn_status expire_partitions(after *a, tarn_error *err) {
  tn_partition_rule rule;
  bool is_due;
  TN_TRY(tn_partition_rule_init(&rule, a->table, err));
  if (!rule.is_set) {
    return TARN_OK;
  }
  TN_TRY(is_partition_check_due(a, &is_due, err));
  if (!is_due) {
    return TARN_OK;
  }
  a->maintenance->partitions_checked_ms = tn_env_now_ms(a->table->env);
  return tn_partitions_expire(a->table, a->request->user, a->request->identifier,
                              a->request->cancel, NULL, err);
}

static tarn_status expire_consumers(after *a, tarn_error *err) {
  return tn_consumers_expire(a->table, NULL, err);
}

static tarn_status expire_snapshots(after *a, tarn_error *err) {
  const tn_expire_request request = {.cancel = a->request->cancel};
  return a->table->facts.bucket_mode != TN_BUCKETS_POSTPONE
             ? tn_expire_snapshots(a->table, &request, NULL, err)
             : TARN_OK;
}

static tarn_status expire_changelogs(after *a, tarn_error *err) {
  const tn_expire_request request = {.cancel = a->request->cancel};
  return a->table->facts.bucket_mode != TN_BUCKETS_POSTPONE
             ? tn_expire_changelogs(a->table, &request, NULL, err)
             : TARN_OK;
}

static const struct {
  const char *name;
  tarn_status (*run)(after *a, tarn_error *err);
} steps[] = {
    {"create_tags", create_tags},
    {"expire_tags", expire_tags},
    {"expire_partitions", expire_partitions},
    {"expire_consumers", expire_consumers},
    {"expire_snapshots", expire_snapshots},
    {"expire_changelogs", expire_changelogs},
};

tarn_status tn_after_commit(tn_table *table, tn_maintenance *maintenance,
                            const tn_after_commit_request *request, tarn_error *err) {
  after a = {table, maintenance, request};
  tarn_status st = TARN_OK;
  bool is_write_only;
  TN_TRY(tn_options_bool(&table->options, "write-only", &is_write_only, err));
  for (size_t i = 0; i < TN_COUNT(steps) && !is_write_only; i++) {
    tarn_error why = {0};
    tarn_status now = steps[i].run(&a, &why);
    if (now == TARN_OK) {
      continue;
    }
    tn_log(table->env, TARN_LOG_WARN, "event=maintenance_failed table=%s step=%s reason=%s",
           table->full_name, steps[i].name, why.message);
    if (st == TARN_OK) {
      st = now;
      if (err != NULL) {
        *err = why;
      }
    }
    if (now == TARN_E_CANCELLED) {
      break;
    }
  }
  return st;
}

tarn_status tn_after_batch(tn_table *table, tarn_error *err) {
  return tn_tags_create_batch(table, err);
}
