/* resume.c - finding buckets whose changelog waits for a compaction. */
#include "stream/resume.h"

#include "compact/options.h"
#include "model/listing.h"
#include "stream/enumerator.h"
#include "stream/snapshot_plan.h"

#define ARENA_LIMIT ((size_t)1 << 28)
#define MAX_TRIES 4 /* of the latest snapshot, while snapshots expire */

/* What waits in a table. */
typedef struct wait_rule {
  bool is_any;
  bool is_full;      /* all files of the bucket go to the last level */
  int32_t top_level; /* with is_full: files below it wait; else those of level 0 */
} wait_rule;

static tarn_status find_rule(const tn_table *table, wait_rule *out, tarn_error *err) {
  tn_compact_options o;
  tn_arena arena;
  tarn_status st;
  *out = (wait_rule){.is_any = false};
  if (!table->facts.has_primary_key || table->facts.bucket_mode == TN_BUCKETS_POSTPONE) {
    return TARN_OK;
  }
  tn_arena_init(&arena, &table->env->mem, ARENA_LIMIT);
  st = tn_compact_options_read(table, &arena, &o, err);
  if (st == TARN_OK) {
    out->is_full = o.changelog_producer == TN_CHANGELOG_FULL_COMPACTION || o.delta_commits > 0;
    out->is_any = !o.write_only && (o.needs_lookup || out->is_full);
    out->top_level = o.num_levels - 1;
  }
  tn_arena_reset(&arena);
  return st;
}

/* Does a bucket wait? Splits of one bucket come one behind the other. */
static bool waits(const wait_rule *rule, const tn_split *split) {
  for (int32_t i = 0; i < split->n_files; i++) {
    int32_t level = split->files[i].level;
    if (rule->is_full ? level < rule->top_level : level == 0) {
      return true;
    }
  }
  return false;
}

static bool is_same_bucket(const tn_split *a, const tn_split *b) {
  return a->bucket == b->bucket && tn_slice_equal(a->partition, b->partition);
}

static tarn_status plan_latest(tn_table *table, const tarn_cancel *cancel, tn_plan **out,
                               tarn_error *err) {
  const tn_snapshot_scan scan = {.table = table, .real_buckets_only = true, .cancel = cancel};
  tarn_status st = TARN_OK;
  *out = NULL;
  for (int i = 0; i < MAX_TRIES; i++) {
    tn_arena arena;
    tn_snapshot snapshot;
    int64_t id;
    TN_TRY(tn_snapshot_latest_id(table->env, table->storage, table->branch_path, &id, err));
    if (id == 0) {
      return TARN_OK;
    }
    tn_arena_init(&arena, &table->env->mem, ARENA_LIMIT);
    st = tn_snapshot_read(table->env, table->storage, table->branch_path, id, &arena, &snapshot,
                          err);
    st = st == TARN_OK ? tn_snapshot_plan(&scan, TN_SNAPSHOT_STATE, &snapshot, out, err) : st;
    tn_arena_reset(&arena);
    if (st != TARN_E_NOT_FOUND) {
      break; /* else it has expired meanwhile, and there is a later one */
    }
  }
  return st;
}

tarn_status tn_writer_resume(tn_table *table, tn_write *write, int32_t number, int32_t n_writers,
                             const tarn_cancel *cancel, int64_t *n_buckets, tarn_error *err) {
  const tn_split *last = NULL;
  tn_plan *plan = NULL;
  wait_rule rule;
  tarn_status st = TARN_OK;
  *n_buckets = 0;
  if (number < 0 || number >= n_writers) {
    return tn_fail(err, TARN_E_INVALID, "writer %d of %d", number, n_writers);
  }
  TN_TRY(find_rule(table, &rule, err));
  if (!rule.is_any) {
    return TARN_OK;
  }
  TN_TRY(plan_latest(table, cancel, &plan, err));
  for (int32_t i = 0; plan != NULL && i < plan->n_splits && st == TARN_OK; i++) {
    const tn_split *split = &plan->splits[i];
    if ((last == NULL || !is_same_bucket(last, split)) && waits(&rule, split) &&
        tn_bucket_channel(split->partition, split->bucket, n_writers) == number) {
      last = split;
      ++*n_buckets;
      st = tn_cancel_check(cancel, err);
      st = st == TARN_OK
               ? tn_write_compact(write, split->partition, split->bucket, rule.is_full, err)
               : st;
    }
  }
  tn_plan_release(plan);
  return st;
}
