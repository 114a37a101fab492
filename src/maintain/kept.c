/* kept.c - sets of what snapshots name. */
#include "maintain/kept.h"

#include "base/bytes.h"
#include "maintain/tags.h"
#include "model/listing.h"
#include "plan/entries.h"

#define ARENA_LIMIT ((size_t)32 << 30)
#define KEY_LIMIT ((size_t)1 << 26)
#define IS_KEPT 1
#define ONE_ENTRY 2

static tarn_status absent_is_fine(tarn_status st, bool *found, tarn_error *err) {
  *found = st == TARN_OK;
  if (st == TARN_E_NOT_FOUND) {
    tn_error_reset(err);
    return TARN_OK;
  }
  return st;
}

tarn_status tn_snapshot_find(tn_table *t, const char *root, int64_t id, tn_arena *arena,
                             tn_snapshot *out, bool *found, tarn_error *err) {
  return absent_is_fine(tn_snapshot_read(t->env, t->storage, root, id, arena, out, err), found,
                        err);
}

tarn_status tn_changelog_find(tn_table *t, const char *root, int64_t id, tn_arena *arena,
                              tn_snapshot *out, bool *found, tarn_error *err) {
  return absent_is_fine(tn_changelog_read(t->env, t->storage, root, id, arena, out, err), found,
                        err);
}

tarn_status tn_snapshot_is_whole(tn_table *t, const tn_snapshot *s, tn_arena *arena, bool *out,
                                 tarn_error *err) {
  int64_t earliest;
  tn_snapshot now;
  TN_TRY(tn_snapshot_earliest_id(t->env, t->storage, t->branch_path, &earliest, err));
  TN_TRY(tn_snapshot_find(t, t->branch_path, s->id, arena, &now, out, err));
  *out = *out && earliest <= s->id && tn_snapshot_is_same(&now, s);
  return TARN_OK;
}

/* ------------------------------------------------------------------ lists */

typedef struct list_read {
  tn_list *out;
  tn_arena *arena;
} list_read;

static tarn_status on_manifest(void *ctx, const tn_manifest_file *record, tarn_error *err) {
  list_read *r = ctx;
  tn_listed *item;
  if (!tn_arena_grow(r->arena, (void **)&r->out->items, &r->out->capacity, r->out->count,
                     sizeof(*r->out->items))) {
    return tn_oom(err);
  }
  item = &r->out->items[r->out->count];
  item->name =
      tn_arena_strndup(r->arena, (const char *)record->file_name.data, record->file_name.len);
  item->size_bytes = record->file_size;
  item->n_records = record->n_added + record->n_deleted;
  if (item->name == NULL) {
    return tn_oom(err);
  }
  r->out->count++;
  return TARN_OK;
}

tarn_status tn_list_read(tn_table *table, const char *name, int64_t size_bytes, tn_arena *arena,
                         tn_list *out, tarn_error *err) {
  const tn_manifest_name list = {name, size_bytes, -1};
  list_read r = {out, arena};
  size_t count = out->count;
  tarn_status st = TARN_OK;
  if (name != NULL) {
    st = tn_manifest_list_read(table->env, table->storage, &tn_plan_readers, table->path, &list,
                               on_manifest, &r, err);
  }
  if (st == TARN_E_NOT_FOUND) {
    tn_error_reset(err);
    out->count = count;
    out->is_gone = true;
    st = TARN_OK;
  }
  return st;
}

tarn_status tn_listed_read(tn_table *table, const tn_listed *manifest, tn_manifest_entry_sink sink,
                           void *ctx, tarn_error *err) {
  const tn_manifest_name name = {manifest->name, manifest->size_bytes, manifest->n_records};
  return tn_manifest_read(table->env, table->storage, &tn_plan_readers, table->path, &name, sink,
                          ctx, err);
}

static tarn_status read_there(tn_table *table, const char *name, int64_t size_bytes,
                              tn_arena *arena, tn_list *out, tarn_error *err) {
  out->is_gone = false;
  TN_TRY(tn_list_read(table, name, size_bytes, arena, out, err));
  return !out->is_gone
             ? TARN_OK
             : tn_fail(err, TARN_E_NOT_FOUND, "%s/manifest/%s does not exist", table->path, name);
}

/* ------------------------------------------------------------------ the sets */

void tn_kept_init(tn_kept *kept, tn_table *table) {
  tn_mem *mem = &table->env->mem;
  kept->table = table;
  tn_arena_init(&kept->arena, mem, ARENA_LIMIT);
  tn_buf_init(&kept->key, mem, KEY_LIMIT);
  tn_map_init(&kept->files, mem);
  tn_map_init(&kept->metas, mem);
}

void tn_kept_reset(tn_kept *kept) {
  tn_map_reset(&kept->metas);
  tn_map_reset(&kept->files);
  tn_buf_reset(&kept->key);
  tn_arena_reset(&kept->arena);
}

tarn_status tn_bucket_key(tn_buf *out, tn_slice partition, int32_t bucket, tn_slice name,
                          tarn_error *err) {
  uint8_t head[8];
  tn_store_le32(head, (uint32_t)bucket);
  tn_store_le32(head + 4, (uint32_t)partition.len);
  out->len = 0;
  TN_TRY(tn_buf_append(out, head, sizeof(head), err));
  TN_TRY(tn_buf_append(out, partition.data, partition.len, err));
  return tn_buf_append(out, name.data, name.len, err);
}

static tarn_status put_key(tn_kept *kept, tn_map *map, tn_slice key, tn_map_entry **entry,
                           tarn_error *err) {
  *entry = tn_map_find(map, key);
  if (*entry != NULL) {
    return TARN_OK;
  }
  if (!tn_arena_slice(&kept->arena, key, &key)) {
    return tn_oom(err);
  }
  return tn_map_put(map, key, entry, NULL, err);
}

static tarn_status keep_meta(tn_kept *kept, tn_slice name, tarn_error *err) {
  tn_map_entry *entry;
  return put_key(kept, &kept->metas, name, &entry, err);
}

static tarn_status keep_name(tn_kept *kept, const char *name, tarn_error *err) {
  return name != NULL ? keep_meta(kept, tn_slice_text(name), err) : TARN_OK;
}

static tarn_status entry_of(tn_kept *kept, const tn_manifest_entry *record, tn_map_entry **entry,
                            tarn_error *err) {
  TN_TRY(tn_bucket_key(&kept->key, record->partition, record->bucket, record->file.file_name, err));
  return put_key(kept, &kept->files, tn_buf_slice(&kept->key), entry, err);
}

tarn_status tn_kept_has_file(tn_kept *kept, tn_slice partition, int32_t bucket, tn_slice name,
                             bool *out, tarn_error *err) {
  const tn_map_entry *entry;
  TN_TRY(tn_bucket_key(&kept->key, partition, bucket, name, err));
  entry = tn_map_find(&kept->files, tn_buf_slice(&kept->key));
  *out = entry != NULL && (entry->value.num & IS_KEPT) != 0;
  return TARN_OK;
}

/* Counting needs no order: a file that moves to another level has two ADD entries and a DELETE. */
static tarn_status count_entry(void *ctx, const tn_manifest_entry *record, tarn_error *err) {
  tn_map_entry *entry;
  TN_TRY(entry_of(ctx, record, &entry, err));
  entry->value.num += record->kind == TN_FILE_ADD ? ONE_ENTRY : -ONE_ENTRY;
  return TARN_OK;
}

static void settle_counts(tn_kept *kept) {
  for (size_t i = 0; i < kept->files.count; i++) {
    int64_t *num = &kept->files.entries[i].value.num;
    *num = (*num & IS_KEPT) != 0 || *num >= ONE_ENTRY ? IS_KEPT : 0;
  }
}

static tarn_status keep_added(void *ctx, const tn_manifest_entry *record, tarn_error *err) {
  tn_map_entry *entry;
  if (record->kind != TN_FILE_ADD) {
    return TARN_OK;
  }
  TN_TRY(entry_of(ctx, record, &entry, err));
  entry->value.num |= IS_KEPT;
  return TARN_OK;
}

/* What writers wrote is all that streams read of a delta. */
static tarn_status keep_appended(void *ctx, const tn_manifest_entry *record, tarn_error *err) {
  return record->file.has_source && record->file.source == TN_SOURCE_COMPACT
             ? TARN_OK
             : keep_added(ctx, record, err);
}

tarn_status tn_kept_files(tn_kept *kept, const tn_snapshot *s, tarn_error *err) {
  tn_list list = {0};
  TN_TRY(read_there(kept->table, s->base_manifest_list, s->base_manifest_list_size, &kept->arena,
                    &list, err));
  TN_TRY(read_there(kept->table, s->delta_manifest_list, s->delta_manifest_list_size, &kept->arena,
                    &list, err));
  for (size_t i = 0; i < list.count; i++) {
    TN_TRY(tn_listed_read(kept->table, &list.items[i], count_entry, kept, err));
  }
  settle_counts(kept);
  return TARN_OK;
}

#define WITH_FILES 1 /* what the manifests of a list add, too */
#define MAY_LACK 2   /* the list may be gone */
#define APPENDED 4   /* with files: only those that writers wrote */

/* A list and its manifests. */
static tarn_status keep_list(tn_kept *kept, const char *name, int64_t size_bytes, int how,
                             tarn_error *err) {
  tn_list list = {0};
  TN_TRY(keep_name(kept, name, err));
  TN_TRY((how & MAY_LACK) != 0
             ? tn_list_read(kept->table, name, size_bytes, &kept->arena, &list, err)
             : read_there(kept->table, name, size_bytes, &kept->arena, &list, err));
  for (size_t i = 0; i < list.count; i++) {
    TN_TRY(keep_name(kept, list.items[i].name, err));
    if ((how & WITH_FILES) != 0) {
      TN_TRY(tn_listed_read(kept->table, &list.items[i],
                            (how & APPENDED) != 0 ? keep_appended : keep_added, kept, err));
    }
  }
  return TARN_OK;
}

static tarn_status keep_index(void *ctx, const tn_index_entry *record, tarn_error *err) {
  return keep_meta(ctx, record->file_name, err);
}

static tarn_status keep_all_metas(tn_kept *kept, const tn_snapshot *s, int how, tarn_error *err) {
  const tn_manifest_name index = {s->index_manifest, -1, -1};
  tarn_status st = TARN_OK;
  TN_TRY(keep_list(kept, s->base_manifest_list, s->base_manifest_list_size, how, err));
  TN_TRY(keep_list(kept, s->delta_manifest_list, s->delta_manifest_list_size, how, err));
  TN_TRY(keep_name(kept, s->index_manifest, err));
  TN_TRY(keep_name(kept, s->statistics, err));
  if (s->index_manifest != NULL) {
    st = tn_index_manifest_read(kept->table->env, kept->table->storage, &tn_plan_readers,
                                kept->table->path, &index, keep_index, kept, err);
    if (st == TARN_E_NOT_FOUND && how == MAY_LACK) {
      tn_error_reset(err);
      st = TARN_OK;
    }
  }
  return st;
}

tarn_status tn_kept_metas(tn_kept *kept, const tn_snapshot *snapshot, tarn_error *err) {
  return keep_all_metas(kept, snapshot, 0, err);
}

tarn_status tn_kept_metas_left(tn_kept *kept, const tn_snapshot *snapshot, tarn_error *err) {
  return keep_all_metas(kept, snapshot, MAY_LACK, err);
}

/* ------------------------------------------------------------------ changelogs, branches */

tarn_status tn_kept_changelogs(tn_kept *kept, const char *root, tarn_error *err) {
  int64_t *ids;
  int32_t n_ids;
  TN_TRY(tn_snapshot_ids(kept->table->env, kept->table->storage, root, "changelog", &kept->arena,
                         &ids, &n_ids, err));
  for (int32_t i = 0; i < n_ids; i++) {
    tn_snapshot s;
    bool found;
    TN_TRY(tn_changelog_find(kept->table, root, ids[i], &kept->arena, &s, &found, err));
    if (found && s.changelog_manifest_list != NULL) {
      TN_TRY(keep_list(kept, s.changelog_manifest_list, s.changelog_manifest_list_size,
                       WITH_FILES | MAY_LACK, err));
    } else if (found && kept->table->facts.changelog_producer == TN_CHANGELOG_NONE) {
      TN_TRY(keep_list(kept, s.delta_manifest_list, s.delta_manifest_list_size,
                       WITH_FILES | MAY_LACK | APPENDED, err));
    }
  }
  return TARN_OK;
}

/* The state of the first snapshot that is there whole, then what each later one added. */
static tarn_status keep_snapshots(tn_kept *kept, const char *root, tarn_error *err) {
  int64_t *ids, earliest;
  int32_t n_ids;
  bool has_state = false;
  TN_TRY(tn_snapshot_earliest_id(kept->table->env, kept->table->storage, root, &earliest, err));
  TN_TRY(tn_snapshot_ids(kept->table->env, kept->table->storage, root, "snapshot", &kept->arena,
                         &ids, &n_ids, err));
  for (int32_t i = 0; i < n_ids; i++) {
    tarn_status st = TARN_OK;
    tn_snapshot s;
    bool found;
    TN_TRY(tn_snapshot_find(kept->table, root, ids[i], &kept->arena, &s, &found, err));
    if (!found) {
      has_state = false;
      continue;
    }
    if (!has_state || ids[i] != ids[i - 1] + 1) {
      st = tn_kept_files(kept, &s, err);
    } else {
      st = keep_list(kept, s.delta_manifest_list, s.delta_manifest_list_size, WITH_FILES, err);
    }
    /* A branch may have been made when the changelog of its first snapshot expired. */
    if (st == TARN_OK && s.changelog_manifest_list != NULL) {
      st = keep_list(kept, s.changelog_manifest_list, s.changelog_manifest_list_size,
                     WITH_FILES | MAY_LACK, err);
    }
    if (st == TARN_OK) {
      st = tn_kept_metas(kept, &s, err);
    }
    has_state = st == TARN_OK;
    /* What an expiry that did not end has left of it. */
    if (st == TARN_E_NOT_FOUND && ids[i] < earliest) {
      tn_error_reset(err);
      st = TARN_OK;
    }
    TN_TRY(st);
  }
  return TARN_OK;
}

static tarn_status keep_root(tn_kept *kept, const char *root, tarn_error *err) {
  tn_tag *tags;
  int32_t n_tags;
  TN_TRY(keep_snapshots(kept, root, err));
  TN_TRY(tn_tags_load(kept->table, root, &kept->arena, &tags, &n_tags, err));
  for (int32_t i = 0; i < n_tags; i++) {
    TN_TRY(tn_kept_files(kept, &tags[i].snapshot, err));
    TN_TRY(tn_kept_metas(kept, &tags[i].snapshot, err));
  }
  return tn_kept_changelogs(kept, root, err);
}

tarn_status tn_kept_others(tn_kept *kept, const char *root, tarn_error *err) {
  tn_table *t = kept->table;
  tn_branch *branches;
  int32_t n_branches;
  tarn_status st;
  TN_TRY(tn_branch_list(t->env, t->storage, t->path, &kept->arena, &branches, &n_branches, err));
  for (int32_t i = -1; i < n_branches; i++) {
    const char *other =
        i < 0 ? t->path
              : tn_arena_printf(&kept->arena, "%s/branch/branch-%s", t->path, branches[i].name);
    if (other == NULL) {
      return tn_oom(err);
    }
    if (strcmp(other, root) != 0) {
      st = keep_root(kept, other, err);
      if (st != TARN_OK) {
        return tn_error_context(
            err, st, "nothing is deleted: what branch '%s' needs is not known%s",
            i < 0 ? "main" : branches[i].name, i < 0 ? "" : " (a broken branch can be deleted)");
      }
    }
  }
  return TARN_OK;
}
