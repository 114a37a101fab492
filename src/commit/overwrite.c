/* overwrite.c - live files and indexes of the partitions go, new ones come. */
#include "commit/overwrite.h"

#include "base/bytes.h"
#include "commit/conflicts.h"
#include "commit/index_manifest.h"

#define TEXT_LIMIT ((size_t)1 << 20)

static tarn_status matches(tn_commit_job *job, const tn_overwrite *o, tn_slice partition,
                           tn_arena *arena, bool *out, tarn_error *err) {
  if (o->only != NULL) {
    *out = tn_map_find(o->only, partition) != NULL;
    return TARN_OK;
  }
  return tn_partition_matches(job, o->filter, partition, arena, out, err);
}

static tarn_status foreign_partition(tn_commit_job *job, const tn_overwrite *o, tn_slice partition,
                                     tarn_error *err) {
  tn_table *table = job->table;
  char found[TN_PARTITION_TEXT];
  tarn_status st;
  tn_buf wanted;
  tn_buf_init(&wanted, &table->env->mem, TEXT_LIMIT);
  tn_job_partition_text(table, partition, found);
  st = tn_pred_to_text(o->filter, table->env->zone, &wanted, err);
  if (st == TARN_OK) {
    st = tn_fail(err, TARN_E_INVALID,
                 "%s: Trying to overwrite partition {%.*s}, but the changes in %s does not belong "
                 "to this partition",
                 table->full_name, (int)(wanted.len < 400 ? wanted.len : 400),
                 (const char *)wanted.data, found);
  }
  tn_buf_reset(&wanted);
  return st;
}

tarn_status tn_overwrite_check(tn_commit_job *job, const tn_overwrite *o, tarn_error *err) {
  tn_arena arena;
  tarn_status st = TARN_OK;
  tn_arena_init(&arena, &job->table->env->mem, TN_PLAN_ARENA_BYTES);
  for (size_t i = 0; i < o->own.files.count && st == TARN_OK; i++) {
    const tn_data_file *file = &o->own.files.items[i].file;
    bool is_inside = true;
    if (job->table->facts.data_evolution && file->has_first_row_id) {
      st = tn_fail(err, TARN_E_INVALID,
                   "%s: columns of rows that are there cannot overwrite (file %.*s, row %lld and "
                   "on): commit them without an overwrite",
                   job->table->full_name, TN_SLICE_ARG(file->file_name),
                   (long long)file->first_row_id);
      break;
    }
    st = matches(job, o, o->own.files.items[i].partition, &arena, &is_inside, err);
    if (st == TARN_OK && !is_inside) {
      st = foreign_partition(job, o, o->own.files.items[i].partition, err);
    }
  }
  tn_arena_reset(&arena);
  return st;
}

/* ------------------------------------------------------------------ upgrade */

/* The files of one bucket, chained in their order. */
typedef struct bucket_files {
  size_t first, last, n;
} bucket_files;

typedef struct upgrade {
  tn_commit_job *job;
  tn_entry_list *files;
  size_t *next; /* file behind file i in its bucket */
  tn_map buckets;
} upgrade;

static tarn_status group(upgrade *u, tarn_error *err) {
  for (size_t i = 0; i < u->files->count; i++) {
    const tn_manifest_entry *e = &u->files->items[i];
    uint8_t *key = tn_arena_calloc(&u->job->arena, e->partition.len + 4, 1);
    tn_map_entry *slot;
    bucket_files *b;
    bool is_new;
    if (key == NULL) {
      return tn_oom(err);
    }
    memcpy(key, e->partition.data, e->partition.len);
    tn_store_le32(key + e->partition.len, (uint32_t)e->bucket);
    TN_TRY(tn_map_put(&u->buckets, tn_slice_of(key, e->partition.len + 4), &slot, &is_new, err));
    if (is_new) {
      slot->value.ptr = tn_arena_calloc(&u->job->arena, 1, sizeof(bucket_files));
    }
    b = slot->value.ptr;
    if (b == NULL) {
      return tn_oom(err);
    }
    if (is_new) {
      b->first = i;
    } else {
      u->next[b->last] = i;
    }
    b->last = i;
    b->n++;
  }
  return TARN_OK;
}

static tarn_status upgrade_bucket(upgrade *u, const bucket_files *b, tarn_error *err) {
  tn_arena *arena = &u->job->arena;
  tn_manifest_entry **files = tn_arena_calloc(arena, b->n + 1, sizeof(*files));
  size_t at = b->first;
  bool is_disjoint;
  if (files == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < b->n; i++, at = u->next[at]) {
    files[i] = &u->files->items[at];
  }
  TN_TRY(tn_files_are_disjoint(u->job, arena, files, (int64_t)b->n, &is_disjoint, err));
  for (size_t i = 0; i < b->n && is_disjoint; i++) {
    files[i]->file.level = u->job->settings.max_level;
  }
  return TARN_OK;
}

tarn_status tn_overwrite_upgrade(tn_commit_job *job, tn_overwrite *o, tarn_error *err) {
  upgrade u = {.job = job, .files = &o->own.files};
  tarn_status st = TARN_OK;
  if (!job->settings.upgrades_overwrites || !job->table->facts.has_primary_key ||
      job->settings.max_level == 0) {
    return TARN_OK;
  }
  for (size_t i = 0; i < u.files->count; i++) {
    const tn_manifest_entry *e = &u.files->items[i];
    if (e->file.level > 0 || e->bucket < 0 || e->kind != TN_FILE_ADD) {
      return TARN_OK;
    }
  }
  u.next = tn_arena_calloc(&job->arena, u.files->count + 1, sizeof(size_t));
  if (u.next == NULL) {
    return tn_oom(err);
  }
  tn_map_init(&u.buckets, &job->table->env->mem);
  TN_TRY_TO(done, group(&u, err));
  for (size_t i = 0; i < u.buckets.count; i++) {
    TN_TRY_TO(done, upgrade_bucket(&u, u.buckets.entries[i].value.ptr, err));
  }
done:
  tn_map_reset(&u.buckets);
  return st;
}

/* ------------------------------------------------------------------ changes */

static tarn_status take_indexes(tn_commit_job *job, const tn_overwrite *o,
                                const tn_snapshot *latest, tn_arena *arena, tn_index_list *out,
                                tarn_error *err) {
  tn_index_list live;
  TN_TRY(tn_index_list_read(job->table, latest->index_manifest, arena, &live, err));
  for (size_t i = 0; i < live.count; i++) {
    tn_index_entry *e = &live.items[i];
    bool goes;
    TN_TRY(matches(job, o, e->partition, arena, &goes, err));
    if (goes) {
      e->kind = TN_FILE_DELETE;
      TN_TRY(tn_index_list_add(out, arena, e, err));
    }
  }
  return TARN_OK;
}

tarn_status tn_overwrite_changes(tn_commit_job *job, const tn_overwrite *o,
                                 const tn_snapshot *latest, tn_arena *arena, tn_base *base,
                                 tn_commit_changes *out, tarn_error *err) {
  const tn_base_request request = {
      .snapshot = latest,
      .only = o->only,
      .filter = o->filter,
      .keeps_stats = true,
      .hides_postpone = job->table->facts.bucket_mode != TN_BUCKETS_POSTPONE};
  *out = o->own;
  out->changelog = (tn_entry_list){NULL, 0, 0};
  out->drops_stats = job->settings.drops_delete_stats;
  if (latest == NULL) {
    return TARN_OK;
  }
  TN_TRY(tn_base_read(job, &request, arena, base, err));
  out->taken = base->items;
  out->n_taken = base->count;
  out->indexes = (tn_index_list){NULL, 0, 0};
  TN_TRY(take_indexes(job, o, latest, arena, &out->indexes, err));
  for (size_t i = 0; i < o->own.indexes.count; i++) {
    TN_TRY(tn_index_list_add(&out->indexes, arena, &o->own.indexes.items[i], err));
  }
  return TARN_OK;
}
