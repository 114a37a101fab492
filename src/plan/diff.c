/* diff.c - pairing the buckets of two states, and finding the files that both have. */
#include "plan/diff.h"

#include "base/bytes.h"
#include "base/map.h"
#include "plan/intervals.h"

/* Comparisons of key ranges in one bucket; beyond it all common files stay, which is right, too. */
#define MAX_COMPARISONS (INT64_C(1) << 24)

/* ------------------------------------------------------------------ buckets */

/* Partition and bucket in one text. */
static tarn_status group_key(tn_arena *arena, const tn_file_group *group, tn_slice *out,
                             tarn_error *err) {
  size_t n = group->partition.len;
  uint8_t *key = tn_arena_alloc(arena, n + 4);
  if (key == NULL) {
    return tn_oom(err);
  }
  memcpy(key, group->partition.data, n);
  tn_store_le32(key + n, (uint32_t)group->bucket);
  *out = tn_slice_of(key, n + 4);
  return TARN_OK;
}

/* Rows of another bucket count lie in other buckets: there is nothing to compare. */
static tarn_status check_buckets(const tn_table *table, const tn_file_groups *before,
                                 const tn_file_groups *after, tarn_error *err) {
  tn_map counts;
  tarn_status st = TARN_OK;
  tn_map_init(&counts, &table->env->mem);
  for (int64_t g = 0; g < before->count && table->facts.bucket != -1; g++) {
    tn_map_entry *slot;
    if (before->items[g].total_buckets >= 0) {
      TN_TRY_TO(done, tn_map_put(&counts, before->items[g].partition, &slot, NULL, err));
      slot->value.num = before->items[g].total_buckets;
    }
  }
  for (int64_t g = 0; g < after->count; g++) {
    const tn_file_group *group = &after->items[g];
    const tn_map_entry *slot = tn_map_find(&counts, group->partition);
    if (slot != NULL && group->total_buckets >= 0 && slot->value.num != group->total_buckets) {
      st = tn_fail(err, TARN_E_INVALID,
                   "%s: The bucket number of two snapshots are different (%lld, %d), which is not "
                   "supported in incremental diff query.",
                   table->full_name, (long long)slot->value.num, (int)group->total_buckets);
      goto done;
    }
  }
done:
  tn_map_reset(&counts);
  return st;
}

static tarn_status pair_up(const tn_file_groups *before, const tn_file_groups *after, tn_map *map,
                           tn_arena *arena, tn_diff_pair *pairs, int64_t *n_out, tarn_error *err) {
  int64_t n = after->count;
  for (int64_t g = 0; g < after->count; g++) {
    tn_map_entry *slot;
    tn_slice key;
    pairs[g].after = after->items[g];
    TN_TRY(group_key(arena, &after->items[g], &key, err));
    TN_TRY(tn_map_put(map, key, &slot, NULL, err));
    slot->value.num = g;
  }
  for (int64_t g = 0; g < before->count; g++) {
    const tn_map_entry *slot;
    tn_slice key;
    TN_TRY(group_key(arena, &before->items[g], &key, err));
    slot = tn_map_find(map, key);
    pairs[slot != NULL ? slot->value.num : n++].before = before->items[g];
  }
  *n_out = n;
  return TARN_OK;
}

tarn_status tn_diff_pairs(const tn_table *table, const tn_file_groups *before,
                          const tn_file_groups *after, tn_arena *arena, tn_diff_pair **out,
                          int64_t *n_out, tarn_error *err) {
  tn_map map;
  tarn_status st;
  TN_TRY(check_buckets(table, before, after, err));
  *out = tn_arena_calloc(arena, (size_t)before->count + (size_t)after->count + 1, sizeof(**out));
  if (*out == NULL) {
    return tn_oom(err);
  }
  tn_map_init(&map, &table->env->mem);
  st = pair_up(before, after, &map, arena, *out, n_out, err);
  tn_map_reset(&map);
  return st;
}

/* ------------------------------------------------------------------ common files */

typedef struct common_search {
  const tn_table *table;
  const tn_deletions *before, *after;
  tn_arena *arena;
  tn_diff_pair *pair;
  bool *is_common; /* of each file before */
  int64_t *twin;   /* its place among the files after */
  bool *is_alone;  /* of each file after: the state before lacks it */
  int64_t n_common;
} common_search;

static tarn_status find_common(common_search *s, tn_map *map, tarn_error *err) {
  tn_file_group *before = &s->pair->before, *after = &s->pair->after;
  for (int64_t i = 0; i < after->n_files; i++) {
    const tn_scan_entry *e = after->files[i];
    tn_map_entry *slot;
    TN_TRY(tn_map_put(map, tn_slice_of(e->file_name, e->file_name_len), &slot, NULL, err));
    slot->value.num = i;
    s->is_alone[i] = true;
  }
  for (int64_t i = 0; i < before->n_files; i++) {
    const tn_scan_entry *e = before->files[i];
    const tn_map_entry *slot = tn_map_find(map, tn_slice_of(e->file_name, e->file_name_len));
    if (slot != NULL && tn_scan_entry_same(e, after->files[slot->value.num])) {
      s->is_common[i] = true;
      s->twin[i] = slot->value.num;
      s->is_alone[slot->value.num] = false;
      s->n_common++;
    }
  }
  return TARN_OK;
}

static bool same_vector(const common_search *s, const tn_scan_entry *e) {
  tn_slice name = tn_slice_of(e->file_name, e->file_name_len);
  tn_dv_place x, y;
  tn_deletions_find(s->before, e->partition->bytes, e->bucket, name, &x);
  tn_deletions_find(s->after, e->partition->bytes, e->bucket, name, &y);
  return (x.path == NULL) == (y.path == NULL) &&
         (x.path == NULL || (strcmp(x.path, y.path) == 0 && x.offset == y.offset));
}

static tarn_status key_range(const common_search *s, const tn_scan_entry *e, tn_interval *out,
                             tarn_error *err) {
  const tn_schema *schema = s->table->schema;
  size_t width = (size_t)schema->n_key_columns;
  tn_datum *keys = tn_arena_calloc(s->arena, 2 * width + 1, sizeof(*keys));
  if (keys == NULL) {
    return tn_oom(err);
  }
  TN_TRY(tn_interval_key(schema, tn_slice_of(e->min_key, e->min_key_len), keys, err));
  TN_TRY(tn_interval_key(schema, tn_slice_of(e->max_key, e->max_key_len), keys + width, err));
  *out = (tn_interval){keys, keys + width, 0, NULL};
  return TARN_OK;
}

/* The key ranges of files that one state has alone. */
static tarn_status ranges_alone(const common_search *s, tn_interval **out, int64_t *n_out,
                                tarn_error *err) {
  const tn_file_group *before = &s->pair->before, *after = &s->pair->after;
  int64_t n = 0;
  *out = tn_arena_calloc(s->arena, (size_t)(before->n_files + after->n_files) + 1, sizeof(**out));
  if (*out == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < before->n_files; i++) {
    if (!s->is_common[i]) {
      TN_TRY(key_range(s, before->files[i], &(*out)[n++], err));
    }
  }
  for (int64_t i = 0; i < after->n_files; i++) {
    if (s->is_alone[i]) {
      TN_TRY(key_range(s, after->files[i], &(*out)[n++], err));
    }
  }
  *n_out = n;
  return TARN_OK;
}

/* Common files that are needed are common no more. */
static tarn_status keep_needed(common_search *s, tarn_error *err) {
  const tn_table_facts *f = &s->table->facts;
  const tn_file_group *before = &s->pair->before;
  bool combines = f->merge_engine != TN_ENGINE_DEDUPLICATE || f->n_sequence_columns > 0;
  tn_interval *alone = NULL, range;
  int64_t n_alone = 0;
  if (combines && s->n_common > 0) {
    TN_TRY(ranges_alone(s, &alone, &n_alone, err));
  }
  for (int64_t i = 0; i < before->n_files; i++) {
    bool is_needed = false;
    if (!s->is_common[i]) {
      continue;
    }
    is_needed = (f->deletion_vectors && !same_vector(s, before->files[i])) ||
                (n_alone > 0 && s->n_common > MAX_COMPARISONS / n_alone);
    if (n_alone > 0 && !is_needed) {
      TN_TRY(key_range(s, before->files[i], &range, err));
    }
    for (int64_t k = 0; k < n_alone && !is_needed; k++) {
      is_needed = tn_interval_compare(s->table->schema, range.min, alone[k].max) <= 0 &&
                  tn_interval_compare(s->table->schema, alone[k].min, range.max) <= 0;
    }
    if (is_needed) {
      s->is_common[i] = false;
      s->is_alone[s->twin[i]] = true;
    }
  }
  return TARN_OK;
}

static void drop_files(tn_file_group *group, const bool *is_dropped, bool what) {
  int64_t n = 0;
  for (int64_t i = 0; i < group->n_files; i++) {
    if (is_dropped[i] != what) {
      group->files[n++] = group->files[i];
    }
  }
  group->n_files = n;
}

tarn_status tn_diff_drop_common(const tn_table *table, const tn_deletions *before,
                                const tn_deletions *after, tn_arena *arena, tn_diff_pair *pair,
                                tarn_error *err) {
  common_search s = {
      .table = table, .before = before, .after = after, .arena = arena, .pair = pair};
  size_t n_before = (size_t)pair->before.n_files, n_after = (size_t)pair->after.n_files;
  tn_map map;
  tarn_status st;
  if (n_before == 0 || n_after == 0) {
    return TARN_OK;
  }
  s.is_common = tn_arena_calloc(arena, n_before, sizeof(*s.is_common));
  s.twin = tn_arena_calloc(arena, n_before, sizeof(*s.twin));
  s.is_alone = tn_arena_calloc(arena, n_after, sizeof(*s.is_alone));
  if (s.is_common == NULL || s.twin == NULL || s.is_alone == NULL) {
    return tn_oom(err);
  }
  tn_map_init(&map, &table->env->mem);
  st = find_common(&s, &map, err);
  tn_map_reset(&map);
  if (st == TARN_OK && table->facts.has_primary_key) {
    st = keep_needed(&s, err);
  }
  if (st == TARN_OK) {
    drop_files(&pair->before, s.is_common, true);
    drop_files(&pair->after, s.is_alone, false);
  }
  return st;
}
