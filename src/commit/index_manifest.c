/* index_manifest.c - old index files and changes, combined by kind of index. */
#include "commit/index_manifest.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "format/avro/avro_write.h"

/* ------------------------------------------------------------------ reading */

static tarn_status copy_ranges(tn_arena *arena, const tn_record_array *from, tn_record_array *to,
                               tarn_error *err) {
  const tn_dv_range *in = from->items;
  tn_dv_range *items = tn_arena_calloc(arena, (size_t)from->count + 1, sizeof(*items));
  if (items == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < from->count; i++) {
    items[i] = in[i];
    if (!tn_arena_slice(arena, in[i].data_file, &items[i].data_file)) {
      return tn_oom(err);
    }
  }
  to->items = items;
  return TARN_OK;
}

tarn_status tn_index_entry_copy(tn_arena *arena, const tn_index_entry *from, tn_index_entry *to,
                                tarn_error *err) {
  const tn_global_index *g = &from->global_index;
  *to = *from;
  to->global_index.extra_field_ids.items = tn_arena_memdup(
      arena, g->extra_field_ids.items, (size_t)g->extra_field_ids.count * sizeof(int32_t));
  if (to->global_index.extra_field_ids.items == NULL ||
      !tn_arena_slice(arena, g->index_meta, &to->global_index.index_meta) ||
      !tn_arena_slice(arena, g->source_meta, &to->global_index.source_meta) ||
      !tn_arena_slice(arena, from->partition, &to->partition) ||
      !tn_arena_slice(arena, from->index_type, &to->index_type) ||
      !tn_arena_slice(arena, from->file_name, &to->file_name) ||
      !tn_arena_slice(arena, from->external_path, &to->external_path)) {
    return tn_oom(err);
  }
  return copy_ranges(arena, &from->dv_ranges, &to->dv_ranges, err);
}

typedef struct index_read {
  tn_arena *arena;
  tn_index_list *out;
} index_read;

static tarn_status on_entry(void *ctx, const tn_index_entry *entry, tarn_error *err) {
  const index_read *r = ctx;
  tn_index_entry copy;
  TN_TRY(tn_index_entry_copy(r->arena, entry, &copy, err));
  return tn_index_list_add(r->out, r->arena, &copy, err);
}

tarn_status tn_index_list_read(tn_table *table, const char *name, tn_arena *arena,
                               tn_index_list *out, tarn_error *err) {
  const tn_manifest_name file = {name, -1, -1};
  index_read r = {arena, out};
  *out = (tn_index_list){NULL, 0, 0};
  return name == NULL ? TARN_OK
                      : tn_index_manifest_read(table->env, table->storage, &tn_plan_readers,
                                               table->path, &file, on_entry, &r, err);
}

/* ------------------------------------------------------------------ combining */

typedef enum combiner {
  BY_BUCKET,     /* one file a bucket and type; deletions first */
  BY_VECTOR,     /* deletion vectors without buckets: files by name, in order, checked */
  BY_GLOBAL_NAME /* global indexes: files by name, deletions first */
} combiner;

typedef struct combination {
  const tn_table *table;
  tn_arena *arena;
  tn_map entries; /* keys to tn_index_entry, NULL when it is gone */
  tn_map vectors; /* BY_VECTOR: data files that have one; num 1, or 0 when it is gone */
  tarn_error *err;
} combination;

static combiner combiner_of(const tn_table *table, const tn_index_entry *entry) {
  if (tn_index_is_vectors(entry)) {
    return table->facts.bucket_mode == TN_BUCKETS_UNAWARE ? BY_VECTOR : BY_BUCKET;
  }
  return tn_slice_is(entry->index_type, "HASH") ? BY_BUCKET : BY_GLOBAL_NAME;
}

/* What an entry is found by, among those of all combiners. */
static tarn_status key_of(const combination *c, const tn_index_entry *e, tn_slice *out) {
  combiner how = combiner_of(c->table, e);
  tn_slice name = how == BY_BUCKET ? e->partition : e->file_name;
  size_t n = 5 + e->index_type.len + 1 + name.len;
  uint8_t *key = tn_arena_calloc(c->arena, n, 1);
  if (key == NULL) {
    return tn_oom(c->err);
  }
  key[0] = (uint8_t)how;
  tn_store_le32(key + 1, how == BY_BUCKET ? (uint32_t)e->bucket : 0);
  if (e->index_type.len > 0) {
    memcpy(key + 5, e->index_type.data, e->index_type.len);
  }
  if (name.len > 0) {
    memcpy(key + 6 + e->index_type.len, name.data, name.len);
  }
  *out = tn_slice_of(key, n);
  return TARN_OK;
}

static tarn_status slot_of(combination *c, const tn_index_entry *e, tn_map_entry **out) {
  tn_slice key;
  TN_TRY(key_of(c, e, &key));
  return tn_map_put(&c->entries, key, out, NULL, c->err);
}

static tarn_status put(combination *c, const tn_index_entry *e) {
  tn_map_entry *slot;
  tn_index_entry *copy = tn_arena_memdup(c->arena, e, sizeof(*e));
  if (copy == NULL) {
    return tn_oom(c->err);
  }
  copy->kind = TN_FILE_ADD;
  TN_TRY(slot_of(c, e, &slot));
  slot->value.ptr = copy;
  return TARN_OK;
}

static tarn_status drop(combination *c, const tn_index_entry *e) {
  tn_map_entry *slot;
  TN_TRY(slot_of(c, e, &slot));
  slot->value.ptr = NULL;
  return TARN_OK;
}

static tarn_status note_vectors(combination *c, const tn_index_entry *e, bool checks, bool adds) {
  const tn_dv_range *ranges = e->dv_ranges.items;
  for (int64_t i = 0; e->has_dv_ranges && i < e->dv_ranges.count; i++) {
    tn_map_entry *slot;
    TN_TRY(tn_map_put(&c->vectors, ranges[i].data_file, &slot, NULL, c->err));
    if (checks && adds == (slot->value.num != 0)) {
      return tn_fail(c->err, TARN_E_CONFLICT, "Trying to %s dv for data file %.*s which is %s.",
                     adds ? "add" : "delete", TN_SLICE_ARG(ranges[i].data_file),
                     adds ? "already added" : "not exists");
    }
    slot->value.num = adds;
  }
  return TARN_OK;
}

static tarn_status change_vector(combination *c, const tn_index_entry *e) {
  bool adds = e->kind == TN_FILE_ADD;
  tn_map_entry *slot;
  TN_TRY(slot_of(c, e, &slot));
  if (adds == (slot->value.ptr != NULL)) {
    return tn_fail(c->err, TARN_E_CONFLICT, "Trying to %s file %.*s which is %s.",
                   adds ? "add" : "delete", TN_SLICE_ARG(e->file_name),
                   adds ? "already added" : "not exists");
  }
  TN_TRY(note_vectors(c, e, true, adds));
  return adds ? put(c, e) : drop(c, e);
}

/* A new range of rows must not overlap one that stays, of the same field. */
static tarn_status check_ranges(const combination *c, const tn_index_entry *added) {
  const tn_global_index *a = &added->global_index;
  for (size_t i = 0; added->has_global_index && i < c->entries.count; i++) {
    const tn_index_entry *e = c->entries.entries[i].value.ptr;
    const tn_global_index *b;
    if (e == NULL || !e->has_global_index || !tn_slice_equal(e->index_type, added->index_type)) {
      continue;
    }
    b = &e->global_index;
    if (b->field_id == a->field_id && b->first_row_id <= a->last_row_id &&
        a->first_row_id <= b->last_row_id) {
      return tn_fail(
          c->err, TARN_E_CONFLICT,
          "Trying to add global index file %.*s of type %.*s for index field %d with row range "
          "[%lld, %lld], but previous file %.*s still exists with overlapping row range [%lld, "
          "%lld]. Remove the previous file first.",
          TN_SLICE_ARG(added->file_name), TN_SLICE_ARG(added->index_type), (int)a->field_id,
          (long long)a->first_row_id, (long long)a->last_row_id, TN_SLICE_ARG(e->file_name),
          (long long)b->first_row_id, (long long)b->last_row_id);
    }
  }
  return TARN_OK;
}

static tarn_status combine(combination *c, const tn_index_list *old, const tn_index_list *changes) {
  for (size_t i = 0; i < old->count; i++) {
    const tn_index_entry *e = &old->items[i];
    if (e->kind != TN_FILE_ADD) {
      return tn_fail(c->err, TARN_E_CORRUPT, "%s: an index manifest with a deletion of %.*s",
                     c->table->full_name, TN_SLICE_ARG(e->file_name));
    }
    TN_TRY(put(c, e));
    if (combiner_of(c->table, e) == BY_VECTOR) {
      TN_TRY(note_vectors(c, e, false, true));
    }
  }
  for (size_t i = 0; i < changes->count; i++) {
    const tn_index_entry *e = &changes->items[i];
    if (combiner_of(c->table, e) == BY_VECTOR) {
      TN_TRY(change_vector(c, e));
    } else if (e->kind == TN_FILE_DELETE) {
      TN_TRY(drop(c, e));
    }
  }
  for (size_t i = 0; i < changes->count; i++) {
    const tn_index_entry *e = &changes->items[i];
    if (e->kind == TN_FILE_ADD && combiner_of(c->table, e) == BY_GLOBAL_NAME) {
      TN_TRY(check_ranges(c, e));
    }
  }
  for (size_t i = 0; i < changes->count; i++) {
    const tn_index_entry *e = &changes->items[i];
    if (e->kind == TN_FILE_ADD && combiner_of(c->table, e) != BY_VECTOR) {
      TN_TRY(put(c, e));
    }
  }
  return TARN_OK;
}

static tarn_status write_entries(tn_commit_job *job, const tn_map *entries, const char **name,
                                 tarn_error *err) {
  tn_manifest_writer writer = {0};
  tn_slice file;
  tarn_status st;
  TN_TRY_TO(done,
            tn_manifest_writer_begin(job->table->env, &tn_avro_record_writer, TN_INDEX_MANIFEST,
                                     job->settings.compression, &writer, err));
  for (size_t i = 0; i < entries->count; i++) {
    const tn_index_entry *e = entries->entries[i].value.ptr;
    if (e != NULL) {
      TN_TRY_TO(done, tn_manifest_writer_add_index(&writer, e, err));
    }
  }
  TN_TRY_TO(done, tn_manifest_writer_finish(&writer, &file, err));
  TN_TRY_TO(done, tn_job_write_index(job, file, name, err));
done:
  tn_manifest_writer_end(&writer);
  return st;
}

tarn_status tn_index_manifest_combine(tn_commit_job *job, const char *before,
                                      const tn_index_list *changes, tn_arena *arena,
                                      const char **name, tarn_error *err) {
  combination c = {.table = job->table, .arena = arena, .err = err};
  tn_index_list old;
  tarn_status st;
  *name = before;
  if (changes->count == 0) {
    return TARN_OK;
  }
  tn_map_init(&c.entries, &job->table->env->mem);
  tn_map_init(&c.vectors, &job->table->env->mem);
  TN_TRY_TO(done, tn_index_list_read(job->table, before, arena, &old, err));
  TN_TRY_TO(done, combine(&c, &old, changes));
  TN_TRY_TO(done, write_entries(job, &c.entries, name, err));
done:
  tn_map_reset(&c.vectors);
  tn_map_reset(&c.entries);
  return st;
}
