/* changes.c - messages become entries. */
#include "commit/changes.h"

#include "base/bytes.h"
#include "model/level_mark.h"

void tn_changes_get(const tn_commit_changes *c, int64_t i, tn_manifest_entry *out) {
  const tn_scan_entry *e;
  if (i >= c->n_taken) {
    *out = c->files.items[i - c->n_taken];
    return;
  }
  e = c->taken[i];
  *out = (tn_manifest_entry){.version = TN_MANIFEST_VERSION,
                             .kind = TN_FILE_DELETE,
                             .partition = e->partition->bytes,
                             .bucket = e->bucket,
                             .total_buckets = e->total_buckets};
  tn_scan_entry_file(e, &out->file);
  if (c->drops_stats) {
    out->file.value_stats = (tn_simple_stats){.min_values = {NULL, 0}};
  }
}

/* ------------------------------------------------------------------ messages */

tarn_status tn_entry_list_add(tn_entry_list *list, tn_arena *arena, const tn_manifest_entry *entry,
                              tarn_error *err) {
  if (!tn_arena_grow(arena, (void **)&list->items, &list->capacity, list->count, sizeof(*entry))) {
    return tn_oom(err);
  }
  list->items[list->count++] = *entry;
  return TARN_OK;
}

tarn_status tn_index_list_add(tn_index_list *list, tn_arena *arena, const tn_index_entry *entry,
                              tarn_error *err) {
  if (!tn_arena_grow(arena, (void **)&list->items, &list->capacity, list->count, sizeof(*entry))) {
    return tn_oom(err);
  }
  list->items[list->count++] = *entry;
  return TARN_OK;
}

typedef struct collector {
  const tn_table *table;
  const tn_commit_message *message;
  tn_arena *arena;
  tarn_error *err;
} collector;

static tarn_status check_file(const collector *c, const tn_data_file *file) {
  return file->file_name.len > 0 && file->row_count >= 0
             ? TARN_OK
             : tn_fail(c->err, TARN_E_INVALID, "%s: a message with a file '%.*s' of %lld rows",
                       c->table->full_name, TN_SLICE_ARG(file->file_name),
                       (long long)file->row_count);
}

static tarn_status add_files(const collector *c, const tn_data_files *files, tn_file_kind kind,
                             tn_entry_list *out) {
  const tn_commit_message *m = c->message;
  tn_manifest_entry entry = {
      .version = TN_MANIFEST_VERSION,
      .kind = (int32_t)kind,
      .partition = m->partition,
      .bucket = m->bucket,
      .total_buckets = m->has_total_buckets ? m->total_buckets : c->table->facts.bucket};
  for (int32_t i = 0; i < files->n; i++) {
    TN_TRY(check_file(c, &files->items[i]));
    entry.file = files->items[i];
    TN_TRY(tn_entry_list_add(out, c->arena, &entry, c->err));
  }
  return TARN_OK;
}

static tarn_status add_indexes(const collector *c, const tn_index_files *files, tn_file_kind kind,
                               tn_commit_changes *out) {
  for (int32_t i = 0; i < files->n; i++) {
    tn_index_entry entry = files->items[i];
    entry.version = TN_INDEX_MANIFEST_VERSION;
    entry.kind = (int32_t)kind;
    entry.partition = c->message->partition;
    entry.bucket = c->message->bucket;
    TN_TRY(tn_index_list_add(tn_is_level_mark(&entry) ? &out->level_marks : &out->indexes, c->arena,
                             &entry, c->err));
  }
  return TARN_OK;
}

static tarn_status collect(const collector *c, tn_commit_changes *append,
                           tn_commit_changes *compact) {
  const tn_commit_message *m = c->message;
  TN_TRY(add_files(c, &m->new_files, TN_FILE_ADD, &append->files));
  TN_TRY(add_files(c, &m->deleted_files, TN_FILE_DELETE, &append->files));
  TN_TRY(add_files(c, &m->changelog_files, TN_FILE_ADD, &append->changelog));
  TN_TRY(add_indexes(c, &m->deleted_indexes, TN_FILE_DELETE, append));
  TN_TRY(add_indexes(c, &m->new_indexes, TN_FILE_ADD, append));
  TN_TRY(add_files(c, &m->compact_before, TN_FILE_DELETE, &compact->files));
  TN_TRY(add_files(c, &m->compact_after, TN_FILE_ADD, &compact->files));
  TN_TRY(add_files(c, &m->compact_changelog, TN_FILE_ADD, &compact->changelog));
  TN_TRY(add_indexes(c, &m->compact_deleted_indexes, TN_FILE_DELETE, compact));
  return add_indexes(c, &m->compact_new_indexes, TN_FILE_ADD, compact);
}

static tarn_status check_partition(const tn_table *table, tn_slice partition, tarn_error *err) {
  tn_binary_row row;
  TN_TRY(tn_binary_row_decode(partition, "commit message: partition", &row, err));
  return row.arity == table->schema->n_partition_keys
             ? TARN_OK
             : tn_fail(err, TARN_E_INVALID,
                       "%s: a message for a partition of %d columns, the table has %d",
                       table->full_name, (int)row.arity, (int)table->schema->n_partition_keys);
}

tarn_status tn_changes_collect(const tn_table *table, const tn_committable *committable,
                               tn_arena *arena, tn_commit_changes *append,
                               tn_commit_changes *compact, tarn_error *err) {
  collector c = {.table = table, .arena = arena, .err = err};
  memset(append, 0, sizeof(*append));
  memset(compact, 0, sizeof(*compact));
  for (int32_t i = 0; i < committable->n_messages; i++) {
    c.message = &committable->messages[i];
    TN_TRY(check_partition(table, c.message->partition, err));
    TN_TRY(collect(&c, append, compact));
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ partitions, identities */

tarn_status tn_changes_partitions(const tn_commit_changes *c, tn_map *map, tarn_error *err) {
  tn_map_entry *slot;
  tn_slice last = {NULL, 0};
  for (int64_t i = 0; i < c->n_taken; i++) {
    if (!tn_slice_equal(c->taken[i]->partition->bytes, last)) {
      last = c->taken[i]->partition->bytes;
      TN_TRY(tn_map_put(map, last, &slot, NULL, err));
    }
  }
  for (size_t i = 0; i < c->files.count; i++) {
    TN_TRY(tn_map_put(map, c->files.items[i].partition, &slot, NULL, err));
  }
  for (size_t i = 0; i < c->indexes.count; i++) {
    if (tn_index_is_vectors(&c->indexes.items[i])) {
      TN_TRY(tn_map_put(map, c->indexes.items[i].partition, &slot, NULL, err));
    }
  }
  return TARN_OK;
}

static tarn_status put_number(tn_buf *out, uint32_t number, tarn_error *err) {
  uint8_t bytes[4];
  tn_store_le32(bytes, number);
  return tn_buf_append(out, bytes, sizeof(bytes), err);
}

static tarn_status put_run(tn_buf *out, bool is_there, tn_slice run, tarn_error *err) {
  if (run.len >= UINT32_MAX) {
    return tn_fail(err, TARN_E_LIMIT, "%zu bytes in an entry of a manifest", run.len);
  }
  TN_TRY(put_number(out, is_there ? (uint32_t)run.len + 1 : 0, err));
  return is_there ? tn_buf_append(out, run.data, run.len, err) : TARN_OK;
}

tarn_status tn_entry_identity(tn_slice partition, int32_t bucket, const tn_data_file *file,
                              tn_buf *out, tarn_error *err) {
  const tn_slice *extra = file->extra_files.items;
  TN_TRY(put_run(out, true, file->file_name, err));
  TN_TRY(put_run(out, true, partition, err));
  TN_TRY(put_number(out, (uint32_t)bucket, err));
  TN_TRY(put_number(out, (uint32_t)file->level, err));
  for (int64_t i = 0; i < file->extra_files.count; i++) {
    TN_TRY(put_run(out, true, extra[i], err));
  }
  TN_TRY(put_number(out, 0, err)); /* the end of the extra files */
  TN_TRY(put_run(out, file->has_embedded_index, file->embedded_index, err));
  return put_run(out, file->has_external_path, file->external_path, err);
}
