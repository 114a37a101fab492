/* manifest_merge.c - fewer manifests with the same state.
 *
 *   full   what holds deletions or is small is written anew without deletions and what they delete;
 *          large manifests of ADD entries stay unless they hold something that is deleted
 *   minor  runs of manifests that fill a target size become one; a short rest waits
 *
 * Two passes over the manifests instead of one in memory: first the identities that are deleted,
 * then the entries, each looked up and written at once. Memory is that of the deletions.
 *
 * Rule: org.apache.paimon.operation.ManifestFileMerger; spec: commit, 7.
 */
#include <stdlib.h>

#include "commit/manifests.h"

#define IDENTITY_LIMIT ((size_t)1 << 30)

/* A deletion: identities are never added again, so it takes back one ADD entry at most. */
typedef struct deletion {
  tn_manifest_entry entry; /* in full, for those that are not matched */
  bool is_matched;
} deletion;

typedef struct merge {
  tn_commit_job *job;
  const tn_merge_rule *rule;
  tn_arena *arena; /* of the result */
  tn_metas *out;
  tn_arena scratch; /* of one group */
  tn_map deleted;   /* identities to deletions */
  tn_buf identity;
  tn_roller roller;
  bool keeps_deletions; /* unmatched ones are written at the end of a group */
  bool finds_deleted;   /* of a look through a manifest: it has an entry that is deleted */
} merge;

static tarn_status read_manifest(merge *m, const tn_manifest_file *meta,
                                 tn_manifest_entry_sink sink, tarn_error *err) {
  tn_table *table = m->job->table;
  char *text =
      tn_strndup(&table->env->mem, (const char *)meta->file_name.data, meta->file_name.len);
  tn_manifest_name name = {text, meta->file_size, meta->n_added + meta->n_deleted};
  tarn_status st;
  if (text == NULL) {
    return tn_oom(err);
  }
  st = tn_cancel_check(m->job->options->cancel, err);
  if (st == TARN_OK) {
    st = tn_manifest_read(table->env, table->storage, &tn_plan_readers, table->path, &name, sink, m,
                          err);
  }
  tn_free(&table->env->mem, text);
  return st;
}

static tarn_status identify(merge *m, const tn_manifest_entry *entry, tarn_error *err) {
  m->identity.len = 0;
  return tn_entry_identity(entry->partition, entry->bucket, &entry->file, &m->identity, err);
}

static tarn_status note_deletion(void *ctx, const tn_manifest_entry *entry, tarn_error *err) {
  merge *m = ctx;
  tn_map_entry *slot;
  deletion *d;
  tn_slice key;
  if (entry->kind != TN_FILE_DELETE) {
    return TARN_OK;
  }
  TN_TRY(identify(m, entry, err));
  d = tn_arena_calloc(&m->scratch, 1, sizeof(*d));
  if (d == NULL || !tn_arena_slice(&m->scratch, tn_buf_slice(&m->identity), &key)) {
    return tn_oom(err);
  }
  d->entry = *entry;
  if (!tn_arena_slice(&m->scratch, entry->partition, &d->entry.partition)) {
    return tn_oom(err);
  }
  if (m->keeps_deletions) {
    TN_TRY(tn_data_file_copy(&m->scratch, &entry->file, true, &d->entry.file, err));
  }
  TN_TRY(tn_map_put(&m->deleted, key, &slot, NULL, err));
  slot->value.ptr = d;
  return TARN_OK;
}

static tarn_status find_deletion(merge *m, const tn_manifest_entry *entry, deletion **out,
                                 tarn_error *err) {
  const tn_map_entry *slot;
  *out = NULL;
  if (m->deleted.count > 0) {
    TN_TRY(identify(m, entry, err));
    slot = tn_map_find(&m->deleted, tn_buf_slice(&m->identity));
    *out = slot != NULL ? slot->value.ptr : NULL;
  }
  return TARN_OK;
}

static tarn_status write_live(void *ctx, const tn_manifest_entry *entry, tarn_error *err) {
  merge *m = ctx;
  deletion *d;
  if (entry->kind != TN_FILE_ADD) {
    return TARN_OK;
  }
  TN_TRY(find_deletion(m, entry, &d, err));
  if (d != NULL) {
    d->is_matched = true;
    return TARN_OK;
  }
  return tn_roller_add(&m->roller, entry, err);
}

static tarn_status look_for_deleted(void *ctx, const tn_manifest_entry *entry, tarn_error *err) {
  merge *m = ctx;
  deletion *d;
  if (m->finds_deleted || entry->kind != TN_FILE_ADD) {
    return TARN_OK;
  }
  TN_TRY(find_deletion(m, entry, &d, err));
  m->finds_deleted = d != NULL;
  return TARN_OK;
}

static tarn_status read_deletions(merge *m, const tn_manifest_file *const *metas, size_t n,
                                  tarn_error *err) {
  tn_map_reset(&m->deleted);
  tn_arena_reset(&m->scratch);
  for (size_t i = 0; i < n; i++) {
    if (metas[i]->n_deleted > 0) {
      TN_TRY(read_manifest(m, metas[i], note_deletion, err));
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ minor */

static tarn_status merge_group(merge *m, const tn_manifest_file *const *group, size_t n,
                               tarn_error *err) {
  tarn_status st = TARN_OK;
  if (n == 1) {
    return tn_metas_add(m->out, m->arena, group[0], err);
  }
  TN_TRY(read_deletions(m, group, n, err));
  TN_TRY_TO(done, tn_roller_begin(&m->roller, m->job, TN_WRITTEN_MERGED, m->arena, m->out, err));
  for (size_t i = 0; i < n; i++) {
    if (group[i]->n_added > 0) {
      TN_TRY_TO(done, read_manifest(m, group[i], write_live, err));
    }
  }
  for (size_t i = 0; i < m->deleted.count; i++) {
    const deletion *d = m->deleted.entries[i].value.ptr;
    if (!d->is_matched) {
      TN_TRY_TO(done, tn_roller_add(&m->roller, &d->entry, err));
    }
  }
  TN_TRY_TO(done, tn_roller_finish(&m->roller, err));
done:
  tn_roller_end(&m->roller);
  return st;
}

static tarn_status merge_minor(merge *m, const tn_manifest_file *const *in, size_t n,
                               tarn_error *err) {
  size_t begin = 0;
  int64_t bytes = 0;
  m->keeps_deletions = true;
  for (size_t i = 0; i < n; i++) {
    bytes += in[i]->file_size;
    if (bytes >= m->rule->target_bytes) {
      TN_TRY(merge_group(m, in + begin, i + 1 - begin, err));
      begin = i + 1;
      bytes = 0;
    }
  }
  if (n > begin && (int64_t)(n - begin) >= m->rule->min_count) {
    return merge_group(m, in + begin, n - begin, err);
  }
  for (; begin < n; begin++) {
    TN_TRY(tn_metas_add(m->out, m->arena, in[begin], err));
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ full */

static bool must_change(const merge *m, const tn_manifest_file *meta) {
  return meta->n_deleted > 0 || meta->file_size < m->rule->target_bytes;
}

/* The range of the deleted partitions, column by column. */
typedef struct partition_range {
  int32_t n;
  tn_datum *min, *max;
  bool *has_value, *has_null;
} partition_range;

static const tn_type *partition_type(const merge *m, int32_t i) {
  const tn_schema *schema = m->job->table->schema;
  return &schema->fields[schema->partition_columns[i]].type;
}

static tarn_status find_range(merge *m, partition_range *range, tarn_error *err) {
  tn_schema *schema = m->job->table->schema;
  size_t room = (size_t)schema->n_partition_keys + 1;
  range->n = schema->n_partition_keys;
  range->min = tn_arena_calloc(&m->scratch, room, sizeof(tn_datum));
  range->max = tn_arena_calloc(&m->scratch, room, sizeof(tn_datum));
  range->has_value = tn_arena_calloc(&m->scratch, room, sizeof(bool));
  range->has_null = tn_arena_calloc(&m->scratch, room, sizeof(bool));
  if (range->min == NULL || range->max == NULL || range->has_value == NULL ||
      range->has_null == NULL) {
    return tn_oom(err);
  }
  for (size_t k = 0; k < m->deleted.count; k++) {
    const deletion *d = m->deleted.entries[k].value.ptr;
    tn_datum *values;
    TN_TRY(tn_partition_values(&m->scratch, schema, d->entry.partition, &values, err));
    for (int32_t i = 0; i < range->n; i++) {
      const tn_type *type = partition_type(m, i);
      if (values[i].is_null) {
        range->has_null[i] = true;
        continue;
      }
      if (!range->has_value[i] || tn_datum_compare_key(type, &values[i], &range->min[i]) < 0) {
        range->min[i] = values[i];
      }
      if (!range->has_value[i] || tn_datum_compare_key(type, &values[i], &range->max[i]) > 0) {
        range->max[i] = values[i];
      }
      range->has_value[i] = true;
    }
  }
  return TARN_OK;
}

/* May column i of a partition in the manifest be one of the range? Unknown statistics: it may. */
static tarn_status overlaps(merge *m, const partition_range *range, int32_t i,
                            const tn_binary_row *min, const tn_binary_row *max,
                            const tn_simple_stats *stats, bool *out, tarn_error *err) {
  const tn_type *type = partition_type(m, i);
  const int64_t *nulls = stats->null_counts.items;
  bool may_be_null = !stats->has_null_counts || i >= stats->null_counts.count || nulls[i] != 0;
  tn_datum low, high;
  *out = true;
  if (i >= min->arity || i >= max->arity || (range->has_null[i] && may_be_null)) {
    return TARN_OK;
  }
  TN_TRY(tn_binary_row_get(min, i, type, &low, err));
  TN_TRY(tn_binary_row_get(max, i, type, &high, err));
  if (!low.is_null && !high.is_null) {
    *out = range->has_value[i] && tn_datum_compare_key(type, &range->max[i], &low) >= 0 &&
           tn_datum_compare_key(type, &range->min[i], &high) <= 0;
  }
  return TARN_OK;
}

/* May the manifest hold an entry that is deleted? */
static tarn_status may_hold_deleted(merge *m, const partition_range *range,
                                    const tn_manifest_file *meta, bool *out, tarn_error *err) {
  const tn_simple_stats *stats = &meta->partition_stats;
  tn_binary_row min, max;
  *out = m->deleted.count > 0;
  if (!*out || range->n == 0 || stats->min_values.len == 0 || stats->max_values.len == 0) {
    return TARN_OK;
  }
  TN_TRY(tn_binary_row_decode(stats->min_values, "partition statistics of a manifest", &min, err));
  TN_TRY(tn_binary_row_decode(stats->max_values, "partition statistics of a manifest", &max, err));
  for (int32_t i = 0; i < range->n && *out; i++) {
    TN_TRY(overlaps(m, range, i, &min, &max, stats, out, err));
  }
  return TARN_OK;
}

static tarn_status rewrite(merge *m, const tn_manifest_file *meta, tarn_error *err) {
  if (meta->n_added <= 0) {
    return TARN_OK;
  }
  if (!must_change(m, meta)) {
    m->finds_deleted = false;
    TN_TRY(read_manifest(m, meta, look_for_deleted, err));
    if (!m->finds_deleted) {
      return tn_metas_add(m->out, m->arena, meta, err);
    }
  }
  return read_manifest(m, meta, write_live, err);
}

/* *is_done false: minor merging it is; nothing is in the result then. */
static tarn_status merge_full(merge *m, const tn_manifest_file *const *in, size_t n, bool *is_done,
                              tarn_error *err) {
  const tn_manifest_file **todo = NULL;
  partition_range range = {0};
  tarn_status st = TARN_OK;
  int64_t bytes = 0;
  size_t n_todo = 0;
  *is_done = false;
  for (size_t i = 0; i < n; i++) {
    bytes += must_change(m, in[i]) ? in[i]->file_size : 0;
  }
  if (bytes < m->rule->full_bytes) {
    return TARN_OK;
  }
  m->keeps_deletions = false;
  TN_TRY(read_deletions(m, in, n, err));
  TN_TRY(find_range(m, &range, err));
  todo = tn_arena_calloc(m->arena, n + 1, sizeof(const tn_manifest_file *));
  if (todo == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < n; i++) {
    bool may = must_change(m, in[i]);
    if (!may) {
      TN_TRY(may_hold_deleted(m, &range, in[i], &may, err));
    }
    if (may) {
      todo[n_todo++] = in[i];
    } else {
      TN_TRY(tn_metas_add(m->out, m->arena, in[i], err));
    }
  }
  if (n_todo <= 1) {
    m->out->count = 0;
    return TARN_OK;
  }
  TN_TRY_TO(done, tn_roller_begin(&m->roller, m->job, TN_WRITTEN_MERGED, m->arena, m->out, err));
  for (size_t i = 0; i < n_todo; i++) {
    TN_TRY_TO(done, rewrite(m, todo[i], err));
  }
  TN_TRY_TO(done, tn_roller_finish(&m->roller, err));
  *is_done = true;
done:
  tn_roller_end(&m->roller);
  return st;
}

tarn_status tn_manifests_merge(tn_commit_job *job, const tn_metas *in, const tn_merge_rule *rule,
                               tn_arena *arena, tn_metas *out, tarn_error *err) {
  merge m = {.job = job, .rule = rule, .arena = arena, .out = out};
  tn_mem *mem = &job->table->env->mem;
  const tn_manifest_file **metas =
      tn_arena_calloc(arena, in->count + 1, sizeof(const tn_manifest_file *));
  bool is_done;
  tarn_status st;
  *out = (tn_metas){NULL, 0, 0};
  if (metas == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < in->count; i++) {
    metas[i] = &in->items[i];
  }
  tn_arena_init(&m.scratch, mem, TN_PLAN_ARENA_BYTES);
  tn_map_init(&m.deleted, mem);
  tn_buf_init(&m.identity, mem, IDENTITY_LIMIT);
  TN_TRY_TO(done, merge_full(&m, metas, in->count, &is_done, err));
  if (!is_done) {
    TN_TRY_TO(done, merge_minor(&m, metas, in->count, err));
  }
done:
  tn_buf_reset(&m.identity);
  tn_map_reset(&m.deleted);
  tn_arena_reset(&m.scratch);
  return st;
}
