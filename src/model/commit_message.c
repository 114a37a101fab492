/* commit_message.c - commit messages and committables as Java's bytes.
 *
 *   message     = partition | i32 bucket | bool [i32 total buckets] | 3 lists of files | 2 of
 *                 indexes | 3 lists of files | 2 of indexes
 *   committable = i64 identifier | bool no watermark [i64] | i32 n, properties | i32 version of the
 *                 messages | i32 n, messages
 *
 * A list is a count and rows with their length in front. Before version 10 the indexes came last,
 * for both parts.
 */
#include "model/commit_message.h"

#include "model/file_meta.h"
#include "model/index_meta.h"
#include "model/wire.h"

#define ROW_LIMIT ((size_t)1 << 30)

typedef struct message_layout {
  int32_t n_file_fields; /* 0: not read */
  int32_t index_layout;
  bool ignores_last_field; /* it was reserved, and is null */
  bool has_total_buckets, has_split_indexes;
} message_layout;

static const message_layout layouts[] = {
    [3] = {16, 1, false, false, false}, [4] = {17, 1, false, false, false},
    [5] = {17, 2, false, false, false}, [6] = {18, 2, false, false, false},
    [7] = {18, 2, false, true, false},  [8] = {20, 2, true, true, false},
    [9] = {20, 3, false, true, false},  [10] = {20, 3, false, true, true},
    [11] = {20, 4, false, true, true},  [12] = {20, 5, false, true, true},
    [13] = {21, 5, false, true, true},
};

/* ------------------------------------------------------------------ writing */

static tarn_status put_files(const tn_data_files *files, tn_buf *row, tn_buf *out,
                             tarn_error *err) {
  TN_TRY(tn_wire_put_i32(out, files->n, err));
  for (int32_t i = 0; i < files->n; i++) {
    row->len = 0;
    TN_TRY(tn_file_meta_encode(&files->items[i], row, err));
    TN_TRY(tn_wire_put_bytes(out, tn_buf_slice(row), err));
  }
  return TARN_OK;
}

static tarn_status put_indexes(const tn_index_files *files, tn_buf *row, tn_buf *out,
                               tarn_error *err) {
  TN_TRY(tn_wire_put_i32(out, files->n, err));
  for (int32_t i = 0; i < files->n; i++) {
    row->len = 0;
    TN_TRY(tn_index_meta_encode(&files->items[i], row, err));
    TN_TRY(tn_wire_put_bytes(out, tn_buf_slice(row), err));
  }
  return TARN_OK;
}

static tarn_status put_lists(const tn_commit_message *m, tn_buf *row, tn_buf *out,
                             tarn_error *err) {
  TN_TRY(put_files(&m->new_files, row, out, err));
  TN_TRY(put_files(&m->deleted_files, row, out, err));
  TN_TRY(put_files(&m->changelog_files, row, out, err));
  TN_TRY(put_indexes(&m->new_indexes, row, out, err));
  TN_TRY(put_indexes(&m->deleted_indexes, row, out, err));
  TN_TRY(put_files(&m->compact_before, row, out, err));
  TN_TRY(put_files(&m->compact_after, row, out, err));
  TN_TRY(put_files(&m->compact_changelog, row, out, err));
  TN_TRY(put_indexes(&m->compact_new_indexes, row, out, err));
  return put_indexes(&m->compact_deleted_indexes, row, out, err);
}

tarn_status tn_commit_message_encode(const tn_commit_message *message, tn_buf *out,
                                     tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_buf row;
  TN_TRY(tn_wire_put_bytes(out, message->partition, err));
  TN_TRY(tn_wire_put_i32(out, message->bucket, err));
  TN_TRY(tn_wire_put_bool(out, message->has_total_buckets, err));
  if (message->has_total_buckets) {
    TN_TRY(tn_wire_put_i32(out, message->total_buckets, err));
  }
  tn_buf_init(&row, out->mem, ROW_LIMIT);
  st = put_lists(message, &row, out, err);
  tn_buf_reset(&row);
  return st;
}

tarn_status tn_committable_encode(const tn_committable *committable, tn_buf *out, tarn_error *err) {
  TN_TRY(tn_wire_put_i64(out, committable->identifier, err));
  TN_TRY(tn_wire_put_bool(out, !committable->has_watermark, err));
  if (committable->has_watermark) {
    TN_TRY(tn_wire_put_i64(out, committable->watermark, err));
  }
  TN_TRY(tn_wire_put_i32(out, committable->n_properties, err));
  for (int32_t i = 0; i < committable->n_properties; i++) {
    TN_TRY(tn_wire_put_text(out, committable->properties[i].key, err));
    TN_TRY(tn_wire_put_text(out, committable->properties[i].value, err));
  }
  TN_TRY(tn_wire_put_i32(out, TN_COMMIT_MESSAGE_VERSION, err));
  TN_TRY(tn_wire_put_i32(out, committable->n_messages, err));
  for (int32_t i = 0; i < committable->n_messages; i++) {
    TN_TRY(tn_commit_message_encode(&committable->messages[i], out, err));
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ reading */

/* The fewest bytes of a row of n fields with its length in front. */
static size_t least_row(int32_t n_fields) {
  return 4 + 8 + 8 * (size_t)n_fields;
}

static tarn_status take_files(tn_wire_reader *r, const message_layout *layout, tn_data_files *out,
                              tarn_error *err) {
  TN_TRY(tn_wire_take_count(r, least_row(layout->n_file_fields), &out->n, "a list of files", err));
  out->items = tn_arena_calloc(r->arena, (size_t)out->n + 1, sizeof(*out->items));
  if (out->items == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < out->n; i++) {
    tn_slice row;
    TN_TRY(tn_wire_take_bytes(r, &row, "a data file", err));
    TN_TRY(tn_file_meta_decode(row, layout->n_file_fields, r->arena, &out->items[i], err));
    if (layout->ignores_last_field) {
      out->items[i].has_write_cols = false;
    }
  }
  return TARN_OK;
}

static tarn_status take_indexes(tn_wire_reader *r, const message_layout *layout,
                                const tn_commit_message *m, tn_file_kind kind, tn_index_files *out,
                                tarn_error *err) {
  TN_TRY(tn_wire_take_count(r, least_row(5), &out->n, "a list of index files", err));
  out->items = tn_arena_calloc(r->arena, (size_t)out->n + 1, sizeof(*out->items));
  if (out->items == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < out->n; i++) {
    tn_index_entry *entry = &out->items[i];
    tn_slice row;
    TN_TRY(tn_wire_take_bytes(r, &row, "an index file", err));
    TN_TRY(tn_index_meta_decode(row, layout->index_layout, r->arena, entry, err));
    entry->kind = (int32_t)kind;
    entry->partition = m->partition;
    entry->bucket = m->bucket;
  }
  return TARN_OK;
}

static tarn_status take_index_pair(tn_wire_reader *r, const message_layout *layout,
                                   const tn_commit_message *m, tn_index_files *added,
                                   tn_index_files *deleted, tarn_error *err) {
  TN_TRY(take_indexes(r, layout, m, TN_FILE_ADD, added, err));
  return take_indexes(r, layout, m, TN_FILE_DELETE, deleted, err);
}

/* The indexes of old versions belong to the compaction if there is one. */
static tarn_status take_joint_indexes(tn_wire_reader *r, const message_layout *layout,
                                      tn_commit_message *m, tarn_error *err) {
  bool is_compaction = m->compact_before.n + m->compact_after.n + m->compact_changelog.n > 0;
  return take_index_pair(r, layout, m, is_compaction ? &m->compact_new_indexes : &m->new_indexes,
                         is_compaction ? &m->compact_deleted_indexes : &m->deleted_indexes, err);
}

static tarn_status take_message(tn_wire_reader *r, const message_layout *layout,
                                tn_commit_message *m, tarn_error *err) {
  tn_binary_row row;
  TN_TRY(tn_wire_take_bytes(r, &m->partition, "partition", err));
  TN_TRY(tn_binary_row_decode(m->partition, "commit message: partition", &row, err));
  TN_TRY(tn_wire_take_i32(r, &m->bucket, "bucket", err));
  if (layout->has_total_buckets) {
    TN_TRY(tn_wire_take_bool(r, &m->has_total_buckets, "the mark of total buckets", err));
  }
  if (m->has_total_buckets) {
    TN_TRY(tn_wire_take_i32(r, &m->total_buckets, "total buckets", err));
  }
  TN_TRY(take_files(r, layout, &m->new_files, err));
  TN_TRY(take_files(r, layout, &m->deleted_files, err));
  TN_TRY(take_files(r, layout, &m->changelog_files, err));
  if (layout->has_split_indexes) {
    TN_TRY(take_index_pair(r, layout, m, &m->new_indexes, &m->deleted_indexes, err));
  }
  TN_TRY(take_files(r, layout, &m->compact_before, err));
  TN_TRY(take_files(r, layout, &m->compact_after, err));
  TN_TRY(take_files(r, layout, &m->compact_changelog, err));
  return layout->has_split_indexes ? take_index_pair(r, layout, m, &m->compact_new_indexes,
                                                     &m->compact_deleted_indexes, err)
                                   : take_joint_indexes(r, layout, m, err);
}

static tarn_status find_layout(int32_t version, const message_layout **out, tarn_error *err) {
  if (version < 0 || version >= (int32_t)TN_COUNT(layouts) || layouts[version].n_file_fields == 0) {
    return tn_fail(err, TARN_E_UNSUPPORTED, "commit message: version %d, known are 3 to %d",
                   (int)version, (int)TN_COUNT(layouts) - 1);
  }
  *out = &layouts[version];
  return TARN_OK;
}

tarn_status tn_commit_message_decode(tn_slice bytes, int32_t version, tn_arena *arena,
                                     tn_commit_message *out, tarn_error *err) {
  tn_wire_reader r = tn_wire_reader_of(bytes, arena, "commit message");
  const message_layout *layout = NULL;
  memset(out, 0, sizeof(*out));
  TN_TRY(find_layout(version, &layout, err));
  TN_TRY(take_message(&r, layout, out, err));
  return tn_wire_take_end(&r, err);
}

static tarn_status skip_log_offsets(tn_wire_reader *r, tarn_error *err) {
  int32_t n, bucket;
  int64_t offset;
  TN_TRY(tn_wire_take_count(r, 12, &n, "log offsets", err));
  for (int32_t i = 0; i < n; i++) {
    TN_TRY(tn_wire_take_i32(r, &bucket, "a bucket", err));
    TN_TRY(tn_wire_take_i64(r, &offset, "a log offset", err));
  }
  return TARN_OK;
}

static tarn_status take_properties(tn_wire_reader *r, tn_committable *out, tarn_error *err) {
  TN_TRY(tn_wire_take_count(r, 4, &out->n_properties, "properties", err));
  out->properties =
      tn_arena_calloc(r->arena, (size_t)out->n_properties + 1, sizeof(*out->properties));
  if (out->properties == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < out->n_properties; i++) {
    TN_TRY(tn_wire_take_text(r, &out->properties[i].key, "the name of a property", err));
    TN_TRY(tn_wire_take_text(r, &out->properties[i].value, "a property", err));
  }
  return TARN_OK;
}

static tarn_status take_messages(tn_wire_reader *r, tn_committable *out, tarn_error *err) {
  const message_layout *layout = NULL;
  int32_t version;
  TN_TRY(tn_wire_take_i32(r, &version, "the version of messages", err));
  TN_TRY(find_layout(version, &layout, err));
  /* A message has at least its partition, bucket and eight counts. */
  TN_TRY(tn_wire_take_count(r, 16 + 4 + 8 * 4, &out->n_messages, "messages", err));
  out->messages = tn_arena_calloc(r->arena, (size_t)out->n_messages + 1, sizeof(*out->messages));
  if (out->messages == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < out->n_messages; i++) {
    TN_TRY(take_message(r, layout, &out->messages[i], err));
  }
  return TARN_OK;
}

tarn_status tn_committable_decode(tn_slice bytes, int32_t version, tn_arena *arena,
                                  tn_committable *out, tarn_error *err) {
  tn_wire_reader r = tn_wire_reader_of(bytes, arena, "committable");
  bool is_null;
  memset(out, 0, sizeof(*out));
  if (version < 2 || version > TN_COMMITTABLE_VERSION) {
    return tn_fail(err, TARN_E_UNSUPPORTED, "committable: version %d, known are 2 to %d",
                   (int)version, TN_COMMITTABLE_VERSION);
  }
  TN_TRY(tn_wire_take_i64(&r, &out->identifier, "identifier", err));
  TN_TRY(tn_wire_take_bool(&r, &is_null, "the mark of a watermark", err));
  out->has_watermark = !is_null;
  if (out->has_watermark) {
    TN_TRY(tn_wire_take_i64(&r, &out->watermark, "watermark", err));
  }
  if (version <= 4) {
    TN_TRY(skip_log_offsets(&r, err));
  }
  if (version >= 4) {
    TN_TRY(take_properties(&r, out, err));
  }
  TN_TRY(take_messages(&r, out, err));
  return tn_wire_take_end(&r, err);
}
