/* fsck_state.c - the live files of snapshots, one after the other: a base is the base before it
 * with its delta, and rows add up.
 *
 * Manifests that the base before had as well are not read again: what is merged must have the same
 * sum of entries as what it was made of.
 */
#include "base/bytes.h"
#include "maintain/fsck_parts.h"
#include "plan/entries.h"

#define ARENA_LIMIT ((size_t)32 << 30)
#define KEY_LIMIT ((size_t)1 << 26)

void tn_fsck_state_init(tn_fsck_state *state, tn_mem *mem) {
  memset(state, 0, sizeof(*state));
  tn_arena_init(&state->arena, mem, ARENA_LIMIT);
  tn_map_init(&state->files, mem);
}

void tn_fsck_state_reset(tn_fsck_state *state) {
  tn_map_reset(&state->files);
  tn_arena_reset(&state->arena);
  state->n_rows = 0;
  state->manifests = NULL;
  state->n_manifests = 0;
  state->is_whole = false;
}

/* ------------------------------------------------------------------ entries */

/* Reading manifests into a state, or into a sum of entries alone. */
typedef struct entry_read {
  tn_fsck_run *f;
  tn_fsck_state *state; /* NULL: the sum */
  tn_map *sum;
  tn_arena arena; /* of touched, and of the keys of the sum */
  tn_buf key;
  int64_t sign, n_rows; /* ADD less DELETE */
  int64_t n_added_rows;
  tn_fsck_file **touched;
  size_t n_touched, capacity;
  bool collects; /* what is touched */
} entry_read;

static void entry_read_init(entry_read *r, tn_fsck_run *f, tn_fsck_state *state) {
  tn_mem *mem = &f->table->env->mem;
  memset(r, 0, sizeof(*r));
  r->f = f;
  r->state = state;
  r->sign = 1;
  tn_arena_init(&r->arena, mem, ARENA_LIMIT);
  tn_buf_init(&r->key, mem, KEY_LIMIT);
}

static void entry_read_reset(entry_read *r) {
  tn_buf_reset(&r->key);
  tn_arena_reset(&r->arena);
}

static tarn_status make_key(entry_read *r, const tn_manifest_entry *e, tarn_error *err) {
  uint8_t head[12];
  tn_store_le32(head, (uint32_t)e->bucket);
  tn_store_le32(head + 4, (uint32_t)e->file.level);
  tn_store_le32(head + 8, (uint32_t)e->partition.len);
  r->key.len = 0;
  TN_TRY(tn_buf_append(&r->key, head, sizeof(head), err));
  TN_TRY(tn_buf_append(&r->key, e->partition.data, e->partition.len, err));
  return tn_buf_append(&r->key, e->file.file_name.data, e->file.file_name.len, err);
}

static tarn_status put(entry_read *r, tn_map *map, tn_arena *arena, tn_map_entry **out,
                       bool *is_new, tarn_error *err) {
  tn_slice key = tn_buf_slice(&r->key);
  *out = tn_map_find(map, key);
  *is_new = *out == NULL;
  if (!*is_new) {
    return TARN_OK;
  }
  if (!tn_arena_slice(arena, key, &key)) {
    return tn_oom(err);
  }
  return tn_map_put(map, key, out, NULL, err);
}

static tarn_status new_file(entry_read *r, const tn_manifest_entry *e, tn_fsck_file **out,
                            tarn_error *err) {
  tn_arena *arena = &r->state->arena;
  tn_fsck_file *file = tn_arena_calloc(arena, 1, sizeof(*file));
  if (file == NULL || !tn_arena_slice(arena, e->partition, &file->partition)) {
    return tn_oom(err);
  }
  file->bucket = e->bucket;
  file->total_buckets = e->total_buckets;
  *out = file;
  return tn_data_file_copy(arena, &e->file, false, &file->file, err);
}

static tarn_status touch(entry_read *r, tn_fsck_file *file, tarn_error *err) {
  if (!r->collects) {
    return TARN_OK;
  }
  if (!tn_arena_grow(&r->arena, (void **)&r->touched, &r->capacity, r->n_touched,
                     sizeof(tn_fsck_file *))) {
    return tn_oom(err);
  }
  r->touched[r->n_touched++] = file;
  return TARN_OK;
}

static tarn_status on_entry(void *ctx, const tn_manifest_entry *e, tarn_error *err) {
  entry_read *r = ctx;
  int64_t step = e->kind == TN_FILE_ADD ? r->sign : -r->sign;
  tn_map_entry *entry;
  tn_fsck_file *file;
  bool is_new;
  r->n_rows += step * e->file.row_count;
  r->n_added_rows += e->kind == TN_FILE_ADD ? e->file.row_count : 0;
  TN_TRY(make_key(r, e, err));
  if (r->state == NULL) {
    TN_TRY(put(r, r->sum, &r->arena, &entry, &is_new, err));
    entry->value.num += step;
    return TARN_OK;
  }
  TN_TRY(put(r, &r->state->files, &r->state->arena, &entry, &is_new, err));
  if (is_new) {
    TN_TRY(new_file(r, e, &file, err));
    entry->value.ptr = file;
  }
  file = entry->value.ptr;
  file->count += step;
  return touch(r, file, err);
}

/* *is_whole becomes false when something cannot be read. */
static tarn_status read_manifests(entry_read *r, const tn_listed *manifests, size_t n,
                                  bool *is_whole, tarn_error *err) {
  tn_fsck_run *f = r->f;
  for (size_t i = 0; i < n; i++) {
    tarn_error why = {0};
    tarn_status st;
    bool is_there;
    TN_TRY(tn_cancel_check(f->request->cancel, err));
    TN_TRY(tn_fsck_reach_meta(f, "manifest", manifests[i].name, manifests[i].size_bytes, &is_there,
                              err));
    st = is_there ? tn_listed_read(f->table, &manifests[i], on_entry, r, &why) : TARN_OK;
    if (st != TARN_OK || !is_there) {
      *is_whole = false;
    }
    TN_TRY(tn_fsck_told(f, st, manifests[i].name, &why, err));
  }
  return TARN_OK;
}

static tarn_status read_list(tn_fsck_run *f, const char *name, int64_t size_bytes, tn_arena *arena,
                             tn_list *out, bool *is_whole, tarn_error *err) {
  tarn_error why = {0};
  bool is_there;
  tarn_status st = TARN_OK;
  TN_TRY(tn_fsck_reach_meta(f, "manifest", name, size_bytes, &is_there, err));
  if (is_there) {
    st = tn_list_read(f->table, name, size_bytes, arena, out, &why);
  }
  if (!is_there || st != TARN_OK || out->is_gone) {
    *is_whole = false;
  }
  return tn_fsck_told(f, st, name, &why, err);
}

/* ------------------------------------------------------------------ the chain */

static tarn_status put_names(tn_map *map, const tn_listed *items, size_t n, tarn_error *err) {
  for (size_t i = 0; i < n; i++) {
    tn_map_entry *entry;
    TN_TRY(tn_map_put(map, tn_slice_text(items[i].name), &entry, NULL, err));
    entry->value.ptr = (void *)(uintptr_t)&items[i];
  }
  return TARN_OK;
}

/* Those of items whose names are not in the map. */
static tarn_status read_others(entry_read *r, const tn_listed *items, size_t n, const tn_map *known,
                               bool *is_whole, tarn_error *err) {
  for (size_t i = 0; i < n; i++) {
    if (tn_map_find(known, tn_slice_text(items[i].name)) == NULL) {
      TN_TRY(read_manifests(r, &items[i], 1, is_whole, err));
    }
  }
  return TARN_OK;
}

static tarn_status compare_sums(tn_fsck_run *f, const tn_map *sum, tarn_error *err) {
  for (size_t i = 0; i < sum->count; i++) {
    if (sum->entries[i].value.num != 0) {
      tn_slice key = sum->entries[i].key;
      size_t head = 12 + tn_load_le32(key.data + 8);
      return tn_fsck_fault(
          f, "chain", NULL, err,
          "the base of %s %s file %.*s, unlike the base and delta of the snapshot before", f->place,
          sum->entries[i].value.num > 0 ? "has" : "lacks", (int)(key.len - head),
          (const char *)key.data + head);
    }
  }
  return TARN_OK;
}

/* The base against what the state before was made of. */
static tarn_status check_base(tn_fsck_run *f, const tn_fsck_state *state, const tn_list *base,
                              bool *is_whole, tarn_error *err) {
  tn_mem *mem = &f->table->env->mem;
  tn_map before, now, sum;
  tarn_status st;
  entry_read r;
  entry_read_init(&r, f, NULL);
  tn_map_init(&before, mem);
  tn_map_init(&now, mem);
  tn_map_init(&sum, mem);
  r.sum = &sum;
  TN_TRY_TO(done, put_names(&before, state->manifests, state->n_manifests, err));
  TN_TRY_TO(done, put_names(&now, base->items, base->count, err));
  TN_TRY_TO(done, read_others(&r, base->items, base->count, &before, is_whole, err));
  r.sign = -1;
  TN_TRY_TO(done, read_others(&r, state->manifests, state->n_manifests, &now, is_whole, err));
  if (*is_whole) {
    st = compare_sums(f, &sum, err);
  }
done:
  tn_map_reset(&sum);
  tn_map_reset(&now);
  tn_map_reset(&before);
  entry_read_reset(&r);
  return st;
}

/* ------------------------------------------------------------------ one snapshot */

/* Files of the snapshot that had no say before: there, of a schema that is there, added once. */
static tarn_status check_file(tn_fsck_run *f, tn_fsck_file *file, tarn_error *err) {
  if (file->count == 0) {
    return TARN_OK;
  }
  TN_TRY(tn_fsck_reach_data(f, file->partition, file->bucket, &file->file, &file->path, err));
  if (file->count < 0 || file->count > 1) {
    TN_TRY(
        tn_fsck_fault(f, "chain", file->path, err, "%s %s", f->place,
                      file->count < 0 ? "takes it away, and it was not there" : "adds it again"));
    file->count = file->count < 0 ? 0 : 1;
  }
  return tn_fsck_has_schema(f, file->file.schema_id)
             ? TARN_OK
             : tn_fsck_fault(f, "missing", file->path, err,
                             "it was written with schema %lld, which %s does not have",
                             (long long)file->file.schema_id, f->root);
}

static tarn_status check_files(tn_fsck_run *f, tn_fsck_state *state, const entry_read *delta,
                               bool is_fresh, tarn_error *err) {
  if (is_fresh) {
    for (size_t i = 0; i < state->files.count; i++) {
      TN_TRY(check_file(f, state->files.entries[i].value.ptr, err));
    }
    return TARN_OK;
  }
  for (size_t i = 0; i < delta->n_touched; i++) {
    TN_TRY(check_file(f, delta->touched[i], err));
  }
  return TARN_OK;
}

static tarn_status check_counts(tn_fsck_run *f, const tn_snapshot *s, int64_t n_total,
                                int64_t n_delta, tarn_error *err) {
  if (s->version < 3) {
    return TARN_OK;
  }
  if (s->delta_record_count != n_delta) {
    TN_TRY(tn_fsck_fault(f, "count", NULL, err, "%s says %lld rows more, its delta %lld", f->place,
                         (long long)s->delta_record_count, (long long)n_delta));
  }
  return s->total_record_count == n_total
             ? TARN_OK
             : tn_fsck_fault(f, "count", NULL, err, "%s says %lld rows, its files have %lld",
                             f->place, (long long)s->total_record_count, (long long)n_total);
}

static tarn_status keep_manifests(tn_fsck_state *state, const tn_list *base, const tn_list *delta,
                                  tarn_error *err) {
  size_t n = base->count + delta->count;
  state->manifests = tn_arena_calloc(&state->arena, n + 1, sizeof(*state->manifests));
  if (state->manifests == NULL) {
    return tn_oom(err);
  }
  state->n_manifests = n;
  for (size_t i = 0; i < n; i++) {
    state->manifests[i] = i < base->count ? base->items[i] : delta->items[i - base->count];
  }
  return TARN_OK;
}

static tarn_status check_state(tn_fsck_run *f, const tn_snapshot *s, tn_fsck_state *state,
                               entry_read *base_read, entry_read *delta_read, tarn_error *err) {
  tn_list base = {0}, delta = {0};
  bool is_whole = true, is_fresh = !state->is_whole;
  if (is_fresh) {
    tn_fsck_state_reset(state);
  }
  TN_TRY(read_list(f, s->base_manifest_list, s->base_manifest_list_size, &state->arena, &base,
                   &is_whole, err));
  TN_TRY(read_list(f, s->delta_manifest_list, s->delta_manifest_list_size, &state->arena, &delta,
                   &is_whole, err));
  if (is_fresh) {
    TN_TRY(read_manifests(base_read, base.items, base.count, &is_whole, err));
    state->n_rows = base_read->n_rows;
  } else if (is_whole) {
    TN_TRY(check_base(f, state, &base, &is_whole, err));
  }
  delta_read->collects = !is_fresh;
  TN_TRY(read_manifests(delta_read, delta.items, delta.count, &is_whole, err));
  state->n_rows += delta_read->n_rows;
  state->is_whole = is_whole;
  if (!is_whole) {
    return TARN_OK;
  }
  TN_TRY(check_files(f, state, delta_read, is_fresh, err));
  TN_TRY(check_counts(f, s, state->n_rows, delta_read->n_rows, err));
  return keep_manifests(state, &base, &delta, err);
}

tarn_status tn_fsck_snapshot(tn_fsck_run *f, const tn_snapshot *s, tn_fsck_state *state,
                             tarn_error *err) {
  entry_read base, delta;
  tarn_status st;
  entry_read_init(&base, f, state);
  entry_read_init(&delta, f, state);
  st = check_state(f, s, state, &base, &delta, err);
  entry_read_reset(&delta);
  entry_read_reset(&base);
  return st;
}

/* ------------------------------------------------------------------ lists alone */

/* The files of a delta that stands for a changelog are those that writers wrote. */
static bool counts(const tn_fsck_file *file, tn_fsck_list_kind kind) {
  bool is_appended = !file->file.has_source || file->file.source != TN_SOURCE_COMPACT;
  return file->count > 0 && (kind != TN_FSCK_DELTA || is_appended);
}

tarn_status tn_fsck_list(tn_fsck_run *f, const char *name, int64_t size_bytes,
                         tn_fsck_list_kind kind, int64_t *n_rows, bool *is_whole, tarn_error *err) {
  tn_fsck_state state;
  tn_list list = {0};
  tarn_status st;
  entry_read r;
  bool is_there;
  *is_whole = true;
  *n_rows = 0;
  tn_fsck_state_init(&state, &f->table->env->mem);
  entry_read_init(&r, f, &state);
  TN_TRY_TO(done, read_list(f, name, size_bytes, &state.arena, &list, is_whole, err));
  for (size_t i = 0; i < list.count && kind == TN_FSCK_NAMES; i++) {
    TN_TRY_TO(done, tn_fsck_reach_meta(f, "manifest", list.items[i].name, list.items[i].size_bytes,
                                       &is_there, err));
  }
  if (kind != TN_FSCK_NAMES) {
    TN_TRY_TO(done, read_manifests(&r, list.items, list.count, is_whole, err));
  }
  *n_rows = r.n_added_rows;
  for (size_t i = 0; i < state.files.count; i++) {
    tn_fsck_file *file = state.files.entries[i].value.ptr;
    if (counts(file, kind)) {
      TN_TRY_TO(done, tn_fsck_reach_data(f, file->partition, file->bucket, &file->file, &file->path,
                                         err));
    }
  }
done:
  entry_read_reset(&r);
  tn_fsck_state_reset(&state);
  return st;
}
