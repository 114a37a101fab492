/* assign.c - buckets of tables that make them as keys come ('bucket' = -1 with a primary key).
 *
 * A key stays in its bucket for ever: the hashes of the keys of a bucket lie in its index file,
 * which is written whole whenever it gets new ones. Keys that are new go to the first bucket that
 * is not full, else to a new one, else to any. One writer at a time may do so.
 *
 * Rule: org.apache.paimon.index.{HashBucketAssigner,PartitionIndex,HashIndexFile,
 * HashIndexMaintainer}; spec: rows, 4 "Dynamic bucket"; indexes, 3.
 */
#include "base/bytes.h"
#include "datafile/index_place.h"
#include "plan/entries.h"
#include "plan/plan.h"
#include "write/write_parts.h"

#define MAX_BUCKETS 32767
#define LEAST_SLOTS 64
#define SNAPSHOT_TRIES 5
#define MAX_FILE_BYTES ((size_t)1 << 30)

/* Drop what an index holds. */
static void empty_index(tn_write *w, tn_key_index *x) {
  tn_unreserve(&w->env->mem, x->n_slots * sizeof(*x->slots));
  tn_free(&w->env->mem, x->slots);
  tn_free(&w->env->mem, x->counts);
  tn_free(&w->env->mem, x->is_changed);
  memset(x, 0, sizeof(*x));
}

void tn_assign_reset(tn_write *w) {
  tn_assigner *a = &w->assigner;
  for (size_t i = 0; i < a->n_items; i++) {
    empty_index(w, a->items[i]);
    tn_free(&w->env->mem, a->items[i]);
  }
  tn_free(&w->env->mem, (void *)a->items);
  a->items = NULL;
  a->n_items = 0;
}

/* ------------------------------------------------------------------ the table of hashes */

/* The slot of a hash, or the free one where it belongs. */
static tn_hash_slot *find_slot(const tn_key_index *x, int32_t hash) {
  size_t mask = x->n_slots - 1;
  size_t at = ((uint32_t)hash * 0x9e3779b1u >> 7) & mask;
  while (x->slots[at].bucket != 0 && x->slots[at].hash != hash) {
    at = (at + 1) & mask;
  }
  return &x->slots[at];
}

static tarn_status grow_slots(tn_write *w, tn_key_index *x, tarn_error *err) {
  size_t n = x->n_slots == 0 ? LEAST_SLOTS : 2 * x->n_slots, n_old = x->n_slots;
  tn_hash_slot *old = x->slots, *slots;
  TN_TRY(tn_env_reserve(w->env, n * sizeof(*slots), "the keys of a partition", err));
  slots = tn_calloc(&w->env->mem, n, sizeof(*slots));
  if (slots == NULL) {
    tn_unreserve(&w->env->mem, n * sizeof(*slots));
    return tn_oom(err);
  }
  x->slots = slots;
  x->n_slots = n;
  for (size_t i = 0; i < n_old; i++) {
    if (old[i].bucket != 0) {
      *find_slot(x, old[i].hash) = old[i];
    }
  }
  tn_free(&w->env->mem, old);
  tn_unreserve(&w->env->mem, n_old * sizeof(*old));
  return TARN_OK;
}

static tarn_status grow_buckets(tn_write *w, tn_key_index *x, int32_t bucket, tarn_error *err) {
  int32_t n = x->n_buckets * 2 > bucket + 8 ? x->n_buckets * 2 : bucket + 8;
  int64_t *counts;
  bool *is_changed;
  if (bucket < x->n_buckets) {
    return TARN_OK;
  }
  counts = tn_realloc(&w->env->mem, x->counts, (size_t)n * sizeof(*counts));
  if (counts == NULL) {
    return tn_oom(err);
  }
  x->counts = counts;
  is_changed = tn_realloc(&w->env->mem, x->is_changed, (size_t)n * sizeof(*is_changed));
  if (is_changed == NULL) {
    return tn_oom(err);
  }
  x->is_changed = is_changed;
  for (int32_t i = x->n_buckets; i < n; i++) {
    counts[i] = -1;
    is_changed[i] = false;
  }
  x->n_buckets = n;
  return TARN_OK;
}

/* Let there be this bucket. */
static tarn_status use_bucket(tn_write *w, tn_key_index *x, int32_t bucket, tarn_error *err) {
  TN_TRY(grow_buckets(w, x, bucket, err));
  if (x->counts[bucket] < 0) {
    x->counts[bucket] = 0;
    x->n_used++;
  }
  return TARN_OK;
}

/* Put a hash into a bucket that is used, unless it is in one. */
static tarn_status put_hash(tn_write *w, tn_key_index *x, int32_t hash, int32_t bucket,
                            tarn_error *err) {
  tn_hash_slot *slot;
  if (2 * (x->n_hashes + 1) > x->n_slots) {
    TN_TRY(grow_slots(w, x, err));
  }
  slot = find_slot(x, hash);
  if (slot->bucket == 0) {
    *slot = (tn_hash_slot){hash, bucket + 1};
    x->n_hashes++;
    x->counts[bucket]++;
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ reading index files */

/* What is loaded from one snapshot. */
typedef struct loader {
  tn_write *w;
  size_t first; /* partitions from this number on are */
  tn_arena arena;
  tn_index_entry *entries;
  size_t n_entries, capacity;
} loader;

/* The index of a partition that is loaded; NULL: of another one. */
static tn_key_index *loaded_index(const loader *l, tn_slice partition) {
  const tn_map_entry *entry = tn_map_find(&l->w->router.partitions, partition);
  return entry != NULL && (size_t)entry->value.num >= l->first
             ? l->w->assigner.items[entry->value.num]
             : NULL;
}

static tarn_status on_entry(void *ctx, const tn_index_entry *entry, tarn_error *err) {
  loader *l = ctx;
  void *entries = l->entries;
  tn_index_entry *copy;
  if (!tn_slice_is(entry->index_type, "HASH") || entry->kind != TN_FILE_ADD ||
      loaded_index(l, entry->partition) == NULL) {
    return TARN_OK;
  }
  if (!tn_arena_grow(&l->arena, &entries, &l->capacity, l->n_entries, sizeof(*copy))) {
    return tn_oom(err);
  }
  l->entries = entries;
  copy = &l->entries[l->n_entries++];
  *copy = *entry;
  return tn_arena_slice(&l->arena, entry->partition, &copy->partition) &&
                 tn_arena_slice(&l->arena, entry->file_name, &copy->file_name) &&
                 tn_arena_slice(&l->arena, entry->external_path, &copy->external_path)
             ? TARN_OK
             : tn_oom(err);
}

static tarn_status load_file(loader *l, const tn_index_entry *entry, tarn_error *err) {
  tn_write *w = l->w;
  tn_key_index *x = loaded_index(l, entry->partition);
  const char *path;
  tn_buf bytes;
  tarn_status st = TARN_OK;
  TN_TRY(tn_index_file_path(w->table, entry, &l->arena, &path, err));
  tn_buf_init(&bytes, &w->env->mem, MAX_FILE_BYTES);
  TN_TRY_TO(done, tn_storage_read_all(w->table->storage, path, &bytes, err));
  if (bytes.len % 4 != 0 || entry->bucket < 0 || entry->bucket > MAX_BUCKETS) {
    st = tn_fail(err, TARN_E_CORRUPT, "%s: %zu bytes for bucket %d are no hashes of keys", path,
                 bytes.len, (int)entry->bucket);
    goto done;
  }
  TN_TRY_TO(done, use_bucket(w, x, entry->bucket, err));
  for (size_t i = 0; i < bytes.len; i += 4) {
    TN_TRY_TO(done, put_hash(w, x, (int32_t)tn_load_be32(bytes.data + i), entry->bucket, err));
  }
done:
  tn_buf_reset(&bytes);
  return st;
}

static tarn_status load_snapshot(loader *l, tarn_error *err) {
  tn_table *t = l->w->table;
  tn_snapshot snapshot;
  tn_manifest_name name = {NULL, -1, -1};
  int64_t id;
  TN_TRY(tn_snapshot_latest_id(t->env, t->storage, t->branch_path, &id, err));
  if (id == 0) {
    return TARN_OK;
  }
  TN_TRY(tn_snapshot_read(t->env, t->storage, t->branch_path, id, &l->arena, &snapshot, err));
  if (snapshot.index_manifest == NULL) {
    return TARN_OK;
  }
  name.name = snapshot.index_manifest;
  TN_TRY(tn_index_manifest_read(t->env, t->storage, &tn_plan_readers, t->path, &name, on_entry, l,
                                err));
  for (size_t i = 0; i < l->n_entries; i++) {
    TN_TRY(load_file(l, &l->entries[i], err));
  }
  return TARN_OK;
}

/* Fill the indexes of the partitions from number `first` on from the latest snapshot. */
static tarn_status load_indexes(tn_write *w, size_t first, tarn_error *err) {
  tn_assigner *a = &w->assigner;
  loader l = {.w = w, .first = first};
  tarn_status st = TARN_OK;
  tn_arena_init(&l.arena, &w->env->mem, TN_PLAN_ARENA_BYTES);
  for (int i = 0; !w->options.ignores_previous && i < SNAPSHOT_TRIES; i++) {
    st = load_snapshot(&l, err);
    if (st != TARN_E_NOT_FOUND) {
      break;
    }
    for (size_t k = first; k < a->n_items; k++) { /* it was expired meanwhile: once more */
      empty_index(w, a->items[k]);
    }
    tn_arena_reset(&l.arena);
    l.entries = NULL;
    l.n_entries = l.capacity = 0;
  }
  tn_arena_reset(&l.arena);
  for (size_t k = first; k < a->n_items && st == TARN_OK; k++) {
    st = a->items[k]->n_slots == 0 ? grow_slots(w, a->items[k], err) : TARN_OK;
  }
  return st;
}

/* Indexes of all partitions that the router has numbered. */
static tarn_status make_indexes(tn_write *w, tarn_error *err) {
  tn_assigner *a = &w->assigner;
  size_t first = a->n_items, n = w->router.n_partitions;
  tn_key_index **items;
  if (first == n) {
    return TARN_OK;
  }
  items = tn_realloc(&w->env->mem, (void *)a->items, n * sizeof(*items));
  if (items == NULL) {
    return tn_oom(err);
  }
  a->items = items;
  while (a->n_items < n) {
    tn_key_index *x = tn_calloc(&w->env->mem, 1, sizeof(*x));
    if (x == NULL) {
      return tn_oom(err);
    }
    a->items[a->n_items++] = x;
  }
  return load_indexes(w, first, err);
}

/* ------------------------------------------------------------------ assigning */

/* The bucket of a key that is new. */
static tarn_status choose_bucket(tn_write *w, tn_key_index *x, int32_t hash, int32_t *out,
                                 tarn_error *err) {
  const tn_assigner *a = &w->assigner;
  int32_t limit = a->max_buckets > 0 ? a->max_buckets : MAX_BUCKETS, unused = 0, nth;
  while (x->first_open < x->n_buckets &&
         (x->counts[x->first_open] < 0 || x->counts[x->first_open] >= a->target_rows)) {
    x->first_open++;
  }
  if (x->first_open < x->n_buckets) {
    *out = x->first_open;
    return TARN_OK;
  }
  while (unused < x->n_buckets && x->counts[unused] >= 0) {
    unused++;
  }
  if (unused < limit) {
    x->first_open = unused;
    *out = unused;
    return TARN_OK;
  }
  if (a->max_buckets < 0) {
    return tn_fail(err, TARN_E_LIMIT,
                   "%s: Too more bucket %d, you should increase target bucket row number %lld.",
                   w->table->full_name, MAX_BUCKETS, (long long)a->target_rows);
  }
  nth = (int32_t)((uint32_t)hash % (uint32_t)x->n_used); /* all are full: any of them */
  for (int32_t b = 0; b < x->n_buckets; b++) {
    if (x->counts[b] >= 0 && nth-- == 0) {
      *out = b;
      break;
    }
  }
  return TARN_OK;
}

tarn_status tn_assign_buckets(tn_write *w, const tn_batch *batch, const uint32_t *partitions,
                              int32_t *numbers, tarn_error *err) {
  TN_TRY(make_indexes(w, err));
  TN_TRY(tn_key_hashes(w->env, batch, w->key_columns, w->n_keys, numbers, err));
  for (int64_t i = 0; i < batch->n_rows; i++) {
    tn_key_index *x = w->assigner.items[partitions != NULL ? partitions[i] : 0];
    int32_t hash = numbers[i];
    const tn_hash_slot *slot = find_slot(x, hash);
    if (slot->bucket != 0) {
      numbers[i] = slot->bucket - 1;
      continue;
    }
    TN_TRY(choose_bucket(w, x, hash, &numbers[i], err));
    TN_TRY(use_bucket(w, x, numbers[i], err));
    TN_TRY(put_hash(w, x, hash, numbers[i], err));
    x->is_changed[numbers[i]] = true;
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ writing index files */

static tn_key_index *index_of(const tn_write *w, const tn_open_bucket *b) {
  const tn_map_entry *entry = tn_map_find(&w->router.partitions, b->partition);
  return entry != NULL && (size_t)entry->value.num < w->assigner.n_items
             ? w->assigner.items[entry->value.num]
             : NULL;
}

static tarn_status write_hashes(tn_write *w, const tn_key_index *x, int32_t bucket,
                                const char *path, tarn_error *err) {
  tn_sink *sink = NULL;
  TN_TRY(tn_storage_create(w->table->storage, path, &sink, err));
  for (size_t i = 0; i < x->n_slots; i++) {
    if (x->slots[i].bucket == bucket + 1) {
      uint8_t bytes[4];
      tarn_status st;
      tn_store_be32(bytes, (uint32_t)x->slots[i].hash);
      st = tn_sink_write(sink, bytes, sizeof(bytes), err);
      if (st != TARN_OK) {
        tn_sink_abort(sink);
        return st;
      }
    }
  }
  return tn_sink_finish(sink, true, err);
}

/* A name that no other index file has. Rule: IndexPathFactory. */
static tarn_status make_entry(tn_write *w, const tn_open_bucket *b, int64_t n_hashes,
                              tn_arena *arena, tn_index_entry **out, tarn_error *err) {
  tn_index_entry *entry = tn_arena_calloc(arena, 1, sizeof(*entry));
  const char *name;
  TN_TRY(tn_data_file_names_next(w->env, &w->assigner.names, arena, "index-", "", &name, err));
  if (entry == NULL || !tn_arena_slice(arena, b->partition, &entry->partition)) {
    return tn_oom(err);
  }
  entry->version = 1;
  entry->kind = TN_FILE_ADD;
  entry->bucket = b->bucket;
  entry->index_type = tn_slice_text("HASH");
  entry->file_name = tn_slice_text(name);
  entry->row_count = n_hashes;
  entry->file_size = 4 * n_hashes;
  *out = entry;
  return TARN_OK;
}

tarn_status tn_assign_write(tn_write *w, const tn_open_bucket *bucket, tn_arena *arena,
                            tn_index_files *out, tarn_error *err) {
  const tn_key_index *x = index_of(w, bucket);
  tn_index_entry *entry;
  const char *path;
  tarn_status st;
  if (x == NULL || bucket->bucket >= x->n_buckets || !x->is_changed[bucket->bucket]) {
    return TARN_OK;
  }
  TN_TRY(make_entry(w, bucket, x->counts[bucket->bucket], arena, &entry, err));
  TN_TRY(tn_index_file_path(w->table, entry, arena, &path, err));
  TN_TRY(write_hashes(w, x, bucket->bucket, path, err));
  *out = (tn_index_files){entry, 1};
  st = tn_index_folder_sync(w->table, path, arena, err);
  if (st != TARN_OK) {
    tn_index_files_remove(w->table, out);
    *out = (tn_index_files){NULL, 0};
  }
  return st;
}

void tn_assign_settle(tn_write *w) {
  for (size_t i = 0; i < w->assigner.n_items; i++) {
    tn_key_index *x = w->assigner.items[i];
    for (int32_t b = 0; b < x->n_buckets; b++) {
      x->is_changed[b] = false;
    }
  }
}
