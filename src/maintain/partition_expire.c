/* partition_expire.c - which partitions are too old, and their end. */
#include "maintain/partition_expire.h"

#include <stdio.h>

#include "base/sort.h"
#include "commit/commit.h"
#include "maintain/time_pattern.h"
#include "model/partition.h"
#include "plan/plan.h"

#define TEXT_LIMIT ((size_t)1 << 20)

/* ------------------------------------------------------------------ the rule */

tarn_status tn_partition_rule_init(tn_partition_rule *rule, const tn_table *table,
                                   tarn_error *err) {
  const tn_options *options = &table->options;
  const char *strategy = tn_options_get(options, "partition.expiration-strategy");
  *rule = (tn_partition_rule){.table = table};
  TN_TRY(tn_options_int(options, "partition.expiration-time", &rule->age_ms, &rule->is_set, err));
  rule->is_set = rule->is_set && table->schema->n_partition_keys > 0;
  rule->by_values = strategy == NULL || strcmp(strategy, "values-time") == 0;
  if (!rule->by_values && strcmp(strategy, "update-time") != 0) {
    return tn_fail(err, TARN_E_INVALID, "Unknown partitionExpireStrategy: %s", strategy);
  }
  rule->pattern = tn_options_get(options, "partition.timestamp-pattern");
  rule->formatter = tn_options_get(options, "partition.timestamp-formatter");
  return rule->is_set && rule->by_values && rule->formatter != NULL
             ? tn_time_pattern_check(rule->formatter, err)
             : TARN_OK;
}

/* As Java's internal value prints itself: a DATE is a number of days. */
static tarn_status value_text(const tn_table *table, const tn_type *type, const tn_datum *value,
                              tn_buf *out, tarn_error *err) {
  static const tn_type integer = {.root = TN_INT};
  return tn_datum_to_text(type->root == TN_DATE ? &integer : type, value, table->env->zone, out,
                          err);
}

/* The partition column that `text` begins with, the longest name of all; -1: none. */
static int32_t column_at(const tn_schema *schema, const char *text) {
  int32_t best = -1;
  size_t best_len = 0;
  for (int32_t i = 0; i < schema->n_partition_keys; i++) {
    size_t n = strlen(schema->partition_keys[i]);
    if (n > best_len && strncmp(text, schema->partition_keys[i], n) == 0) {
      best = i;
      best_len = n;
    }
  }
  return best;
}

/* *has_nulls: a column that it is made of is null. */
static tarn_status time_text(const tn_partition_rule *rule, const tn_datum *values, tn_buf *out,
                             bool *has_nulls, tarn_error *err) {
  const tn_schema *schema = rule->table->schema;
  const char *at = rule->pattern;
  *has_nulls = false;
  if (at == NULL) {
    *has_nulls = values[0].is_null;
    return *has_nulls ? TARN_OK
                      : value_text(rule->table, &schema->fields[schema->partition_columns[0]].type,
                                   &values[0], out, err);
  }
  while (*at != '\0' && !*has_nulls) {
    int32_t i = *at == '$' ? column_at(schema, at + 1) : -1;
    if (i < 0) {
      TN_TRY(tn_buf_append(out, at++, 1, err));
      continue;
    }
    at += 1 + strlen(schema->partition_keys[i]);
    *has_nulls = values[i].is_null;
    if (!*has_nulls) {
      TN_TRY(value_text(rule->table, &schema->fields[schema->partition_columns[i]].type, &values[i],
                        out, err));
    }
  }
  return TARN_OK;
}

tarn_status tn_partition_rule_test(const tn_partition_rule *rule, tn_slice partition,
                                   int64_t local_ms, bool *knows, bool *is_expired,
                                   tarn_error *err) {
  tarn_env *env = rule->table->env;
  bool has_nulls = true;
  int64_t time_ms;
  tn_datum *values;
  tarn_status st = TARN_OK;
  tn_arena arena;
  tn_buf text;
  *knows = *is_expired = false;
  if (!rule->is_set || !rule->by_values) {
    return TARN_OK;
  }
  tn_arena_init(&arena, &env->mem, TEXT_LIMIT);
  tn_buf_init(&text, &env->mem, TEXT_LIMIT);
  TN_TRY_TO(done, tn_partition_values(&arena, rule->table->schema, partition, &values, err));
  TN_TRY_TO(done, time_text(rule, values, &text, &has_nulls, err));
  if (!has_nulls && tn_time_pattern_parse(rule->formatter, tn_buf_slice(&text), &time_ms)) {
    *knows = true;
    *is_expired = local_ms - rule->age_ms > time_ms;
  }
done:
  tn_buf_reset(&text);
  tn_arena_reset(&arena);
  return st;
}

/* ------------------------------------------------------------------ expiring */

typedef struct old_partition {
  tn_slice partition;
  const char *text; /* its values, joined */
} old_partition;

typedef struct partition_run {
  tn_table *table;
  tn_partition_rule rule;
  tn_arena arena;
  int64_t local_ms, max_num, batch_size;
  const void **old; /* old_partition */
  int32_t n_old;
} partition_run;

static int compare_old(void *ctx, const void *a, const void *b) {
  (void)ctx;
  return strcmp(((const old_partition *)a)->text, ((const old_partition *)b)->text);
}

static tarn_status note_old(partition_run *r, tn_slice partition, tarn_error *err) {
  const tn_schema *schema = r->table->schema;
  old_partition *old = tn_arena_calloc(&r->arena, 1, sizeof(*old));
  tarn_status st = TARN_OK;
  tn_datum *values;
  tn_buf text;
  if (old == NULL) {
    return tn_oom(err);
  }
  tn_buf_init(&text, &r->table->env->mem, TEXT_LIMIT);
  TN_TRY_TO(done, tn_partition_values(&r->arena, schema, partition, &values, err));
  for (int32_t i = 0; i < schema->n_partition_keys; i++) {
    TN_TRY_TO(done, i > 0 ? tn_buf_text(&text, ",", err) : TARN_OK);
    if (values[i].is_null) {
      TN_TRY_TO(done, tn_buf_text(&text, r->table->facts.partition_default_name, err));
    } else {
      TN_TRY_TO(done, value_text(r->table, &schema->fields[schema->partition_columns[i]].type,
                                 &values[i], &text, err));
    }
  }
  old->partition = partition;
  old->text = tn_arena_strndup(&r->arena, (const char *)text.data, text.len);
  r->old[r->n_old++] = old;
  st = old->text != NULL ? TARN_OK : tn_oom(err);
done:
  tn_buf_reset(&text);
  return st;
}

static tarn_status select_old(partition_run *r, tarn_error *err) {
  tn_partition_info *all;
  const void **scratch;
  int32_t n;
  TN_TRY(tn_plan_partitions(r->table, &r->arena, &all, &n, err));
  r->old = tn_arena_calloc(&r->arena, (size_t)n + 1, sizeof(*r->old));
  scratch = tn_arena_calloc(&r->arena, (size_t)n + 1, sizeof(*scratch));
  if (r->old == NULL || scratch == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < n; i++) {
    bool knows = true, is_old = r->local_ms - r->rule.age_ms > all[i].last_creation_ms;
    if (r->rule.by_values) {
      TN_TRY(tn_partition_rule_test(&r->rule, all[i].partition, r->local_ms, &knows, &is_old, err));
    }
    if (knows && is_old) {
      TN_TRY(note_old(r, all[i].partition, err));
    }
  }
  tn_sort_stable(r->old, scratch, r->n_old, compare_old, NULL);
  if (r->n_old > r->max_num) {
    r->n_old = r->max_num > 0 ? (int32_t)r->max_num : 0;
  }
  return TARN_OK;
}

static tarn_status predicate_of(partition_run *r, const old_partition *old, const tn_pred **out,
                                tarn_error *err) {
  const tn_schema *schema = r->table->schema;
  int32_t n = schema->n_partition_keys;
  const tn_pred **parts = tn_arena_calloc(&r->arena, (size_t)n, sizeof(*parts));
  tn_datum *values;
  if (parts == NULL) {
    return tn_oom(err);
  }
  TN_TRY(tn_partition_values(&r->arena, schema, old->partition, &values, err));
  for (int32_t i = 0; i < n; i++) {
    parts[i] = tn_pred_leaf(&r->arena, values[i].is_null ? TN_PRED_IS_NULL : TN_PRED_EQ,
                            &schema->fields[schema->partition_columns[i]], &values[i],
                            values[i].is_null ? 0 : 1);
    if (parts[i] == NULL) {
      return tn_oom(err);
    }
  }
  *out = n == 1 ? parts[0] : tn_pred_compound(&r->arena, TN_PRED_AND, parts, n);
  return *out != NULL ? TARN_OK : tn_oom(err);
}

static tarn_status drop(partition_run *r, int32_t first, int32_t n,
                        const tn_commit_options *options, int64_t identifier, tarn_error *err) {
  const tn_pred **parts = tn_arena_calloc(&r->arena, (size_t)n, sizeof(*parts));
  const tn_committable nothing = {.identifier = identifier};
  tn_commit_result result;
  const tn_pred *all;
  if (parts == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < n; i++) {
    TN_TRY(predicate_of(r, r->old[first + i], &parts[i], err));
  }
  all = n == 1 ? parts[0] : tn_pred_compound(&r->arena, TN_PRED_OR, parts, n);
  return all != NULL ? tn_commit_overwrite(r->table, options, &nothing, all, false, &result, err)
                     : tn_oom(err);
}

static tarn_status expire_partitions(partition_run *r, const tn_commit_options *options,
                                     int64_t identifier, tarn_error *err) {
  const tn_options *o = &r->table->options;
  int64_t now = tn_env_now_ms(r->table->env);
  bool has_batches;
  TN_TRY(tn_partition_rule_init(&r->rule, r->table, err));
  if (!r->rule.is_set) {
    return TARN_OK;
  }
  r->local_ms = now + (int64_t)tn_zone_offset_at(r->table->env->zone, now / 1000) * 1000;
  TN_TRY(tn_options_int(o, "partition.expiration-max-num", &r->max_num, NULL, err));
  TN_TRY(tn_options_int(o, "partition.expiration-batch-size", &r->batch_size, &has_batches, err));
  TN_TRY(select_old(r, err));
  if (!has_batches || r->batch_size <= 0 || r->batch_size > r->n_old) {
    r->batch_size = r->n_old;
  }
  for (int32_t i = 0; i < r->n_old; i += (int32_t)r->batch_size) {
    int32_t left = r->n_old - i;
    TN_TRY(
        drop(r, i, left < r->batch_size ? left : (int32_t)r->batch_size, options, identifier, err));
  }
  return TARN_OK;
}

tarn_status tn_partitions_expire(tn_table *table, const char *user, int64_t identifier,
                                 const tarn_cancel *cancel, int64_t *n_expired, tarn_error *err) {
  const tn_commit_options options = {.user = user, .cancel = cancel};
  partition_run r = {.table = table};
  tarn_status st;
  tn_arena_init(&r.arena, &table->env->mem, TN_PLAN_ARENA_BYTES);
  st = expire_partitions(&r, &options, identifier, err);
  if (n_expired != NULL) {
    *n_expired = st == TARN_OK ? r.n_old : 0;
  }
  tn_arena_reset(&r.arena);
  return st;
}
