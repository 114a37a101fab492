/* manifest.c - which fields of a manifest's records go where; reading, copying, identity. */
#include "model/manifest.h"

#include "base/bytes.h"
#include "model/manifest_write.h"

#define MAX_MANIFEST_BYTES ((size_t)1 << 30)

/* ------------------------------------------------------------------ tables of fields */

#define REQUIRED(type, kind, name, member) \
  {name, TN_RECORD_##kind, offsetof(type, member), TN_RECORD_NO_FLAG, NULL, 0, 0}
#define NULLABLE(type, kind, name, member, flag) \
  {name, TN_RECORD_##kind, offsetof(type, member), offsetof(type, flag), NULL, 0, 0}
#define NESTED(type, name, member, table) \
  {name, TN_RECORD_STRUCT, offsetof(type, member), TN_RECORD_NO_FLAG, table, TN_COUNT(table), 0}

static const tn_record_field stats_fields[] = {
    REQUIRED(tn_simple_stats, BYTES, "_MIN_VALUES", min_values),
    REQUIRED(tn_simple_stats, BYTES, "_MAX_VALUES", max_values),
    NULLABLE(tn_simple_stats, LONGS, "_NULL_COUNTS", null_counts, has_null_counts),
};

static const tn_record_field list_fields[] = {
    REQUIRED(tn_manifest_file, INT, "_VERSION", version),
    REQUIRED(tn_manifest_file, TEXT, "_FILE_NAME", file_name),
    REQUIRED(tn_manifest_file, LONG, "_FILE_SIZE", file_size),
    REQUIRED(tn_manifest_file, LONG, "_NUM_ADDED_FILES", n_added),
    REQUIRED(tn_manifest_file, LONG, "_NUM_DELETED_FILES", n_deleted),
    NESTED(tn_manifest_file, "_PARTITION_STATS", partition_stats, stats_fields),
    REQUIRED(tn_manifest_file, LONG, "_SCHEMA_ID", schema_id),
    NULLABLE(tn_manifest_file, INT, "_MIN_BUCKET", min_bucket, has_buckets_min),
    NULLABLE(tn_manifest_file, INT, "_MAX_BUCKET", max_bucket, has_buckets_max),
    NULLABLE(tn_manifest_file, INT, "_MIN_LEVEL", min_level, has_level_min),
    NULLABLE(tn_manifest_file, INT, "_MAX_LEVEL", max_level, has_level_max),
    NULLABLE(tn_manifest_file, LONG, "_MIN_ROW_ID", min_row_id, has_row_id_min),
    NULLABLE(tn_manifest_file, LONG, "_MAX_ROW_ID", max_row_id, has_row_id_max),
};

static const tn_record_field file_fields[] = {
    REQUIRED(tn_data_file, TEXT, "_FILE_NAME", file_name),
    REQUIRED(tn_data_file, LONG, "_FILE_SIZE", file_size),
    REQUIRED(tn_data_file, LONG, "_ROW_COUNT", row_count),
    REQUIRED(tn_data_file, BYTES, "_MIN_KEY", min_key),
    REQUIRED(tn_data_file, BYTES, "_MAX_KEY", max_key),
    NESTED(tn_data_file, "_KEY_STATS", key_stats, stats_fields),
    NESTED(tn_data_file, "_VALUE_STATS", value_stats, stats_fields),
    REQUIRED(tn_data_file, LONG, "_MIN_SEQUENCE_NUMBER", min_sequence),
    REQUIRED(tn_data_file, LONG, "_MAX_SEQUENCE_NUMBER", max_sequence),
    REQUIRED(tn_data_file, LONG, "_SCHEMA_ID", schema_id),
    REQUIRED(tn_data_file, INT, "_LEVEL", level),
    REQUIRED(tn_data_file, TEXTS, "_EXTRA_FILES", extra_files),
    NULLABLE(tn_data_file, LONG, "_CREATION_TIME", creation_time_ms, has_creation_time),
    NULLABLE(tn_data_file, LONG, "_DELETE_ROW_COUNT", delete_row_count, has_delete_row_count),
    NULLABLE(tn_data_file, BYTES, "_EMBEDDED_FILE_INDEX", embedded_index, has_embedded_index),
    NULLABLE(tn_data_file, INT, "_FILE_SOURCE", source, has_source),
    NULLABLE(tn_data_file, TEXTS, "_VALUE_STATS_COLS", value_stats_cols, has_value_stats_cols),
    NULLABLE(tn_data_file, TEXT, "_EXTERNAL_PATH", external_path, has_external_path),
    NULLABLE(tn_data_file, LONG, "_FIRST_ROW_ID", first_row_id, has_first_row_id),
    NULLABLE(tn_data_file, TEXTS, "_WRITE_COLS", write_cols, has_write_cols),
};

static const tn_record_field entry_fields[] = {
    REQUIRED(tn_manifest_entry, INT, "_VERSION", version),
    REQUIRED(tn_manifest_entry, INT, "_KIND", kind),
    REQUIRED(tn_manifest_entry, BYTES, "_PARTITION", partition),
    REQUIRED(tn_manifest_entry, INT, "_BUCKET", bucket),
    REQUIRED(tn_manifest_entry, INT, "_TOTAL_BUCKETS", total_buckets),
    NESTED(tn_manifest_entry, "_FILE", file, file_fields),
};

static const tn_record_field range_fields[] = {
    REQUIRED(tn_dv_range, TEXT, "f0", data_file),
    REQUIRED(tn_dv_range, INT, "f1", offset),
    REQUIRED(tn_dv_range, INT, "f2", length),
    NULLABLE(tn_dv_range, LONG, "_CARDINALITY", cardinality, has_cardinality),
};

static const tn_record_field global_index_fields[] = {
    REQUIRED(tn_global_index, LONG, "_ROW_RANGE_START", first_row_id),
    REQUIRED(tn_global_index, LONG, "_ROW_RANGE_END", last_row_id),
    REQUIRED(tn_global_index, INT, "_INDEX_FIELD_ID", field_id),
    NULLABLE(tn_global_index, INTS, "_EXTRA_FIELD_IDS", extra_field_ids, has_extra_field_ids),
    NULLABLE(tn_global_index, BYTES, "_INDEX_META", index_meta, has_index_meta),
    NULLABLE(tn_global_index, BYTES, "_SOURCE_META", source_meta, has_source_meta),
};

static const tn_record_field index_fields[] = {
    REQUIRED(tn_index_entry, INT, "_VERSION", version),
    REQUIRED(tn_index_entry, INT, "_KIND", kind),
    REQUIRED(tn_index_entry, BYTES, "_PARTITION", partition),
    REQUIRED(tn_index_entry, INT, "_BUCKET", bucket),
    REQUIRED(tn_index_entry, TEXT, "_INDEX_TYPE", index_type),
    REQUIRED(tn_index_entry, TEXT, "_FILE_NAME", file_name),
    REQUIRED(tn_index_entry, LONG, "_FILE_SIZE", file_size),
    REQUIRED(tn_index_entry, LONG, "_ROW_COUNT", row_count),
    {"_DELETIONS_VECTORS_RANGES", TN_RECORD_STRUCTS, offsetof(tn_index_entry, dv_ranges),
     offsetof(tn_index_entry, has_dv_ranges), range_fields, TN_COUNT(range_fields),
     sizeof(tn_dv_range)},
    NULLABLE(tn_index_entry, TEXT, "_EXTERNAL_PATH", external_path, has_external_path),
    {"_GLOBAL_INDEX", TN_RECORD_STRUCT, offsetof(tn_index_entry, global_index),
     offsetof(tn_index_entry, has_global_index), global_index_fields, TN_COUNT(global_index_fields),
     0},
};

const tn_record_field *tn_manifest_fields(tn_manifest_kind kind, int32_t *n_fields) {
  static const struct {
    const tn_record_field *fields;
    int32_t n;
  } tables[] = {
      [TN_MANIFEST_LIST] = {list_fields, TN_COUNT(list_fields)},
      [TN_MANIFEST] = {entry_fields, TN_COUNT(entry_fields)},
      [TN_INDEX_MANIFEST] = {index_fields, TN_COUNT(index_fields)},
  };
  *n_fields = tables[kind].n;
  return tables[kind].fields;
}

/* ------------------------------------------------------------------ checking records */

typedef struct handoff {
  const char *path;
  tn_manifest_file_sink file_sink;
  tn_manifest_entry_sink entry_sink;
  tn_index_entry_sink index_sink;
  void *ctx;
  int64_t n_records;
} handoff;

static tarn_status check_record(handoff *h, int32_t version, int32_t expected, tn_slice file_name,
                                tarn_error *err) {
  h->n_records++;
  if (version != expected) {
    return tn_fail(err, TARN_E_UNSUPPORTED, "%s: a record of version %d; only %d can be read",
                   h->path, version, expected);
  }
  if (file_name.data == NULL || file_name.len == 0) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: a record without _FILE_NAME", h->path);
  }
  return TARN_OK;
}

static tarn_status check_kind(const handoff *h, int32_t kind, tarn_error *err) {
  return kind == TN_FILE_ADD || kind == TN_FILE_DELETE
             ? TARN_OK
             : tn_fail(err, TARN_E_CORRUPT, "%s: a record of kind %d, which is neither 0 nor 1",
                       h->path, kind);
}

/* What a sink finds wrong is wrong in this record. */
static tarn_status name_fault(const handoff *h, tarn_status st, tn_slice file_name,
                              tarn_error *err) {
  return st != TARN_E_CORRUPT
             ? st
             : tn_error_context(err, st, "%s: the entry of %.*s", h->path, TN_SLICE_ARG(file_name));
}

static tarn_status on_file(void *ctx, const void *record, tarn_error *err) {
  handoff *h = ctx;
  const tn_manifest_file *file = record;
  TN_TRY(check_record(h, file->version, TN_MANIFEST_VERSION, file->file_name, err));
  return name_fault(h, h->file_sink(h->ctx, file, err), file->file_name, err);
}

static tarn_status on_entry(void *ctx, const void *record, tarn_error *err) {
  handoff *h = ctx;
  const tn_manifest_entry *entry = record;
  TN_TRY(check_record(h, entry->version, TN_MANIFEST_VERSION, entry->file.file_name, err));
  TN_TRY(check_kind(h, entry->kind, err));
  if (entry->file.row_count < 0) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: file %.*s of %lld rows", h->path,
                   TN_SLICE_ARG(entry->file.file_name), (long long)entry->file.row_count);
  }
  return name_fault(h, h->entry_sink(h->ctx, entry, err), entry->file.file_name, err);
}

static tarn_status on_index(void *ctx, const void *record, tarn_error *err) {
  handoff *h = ctx;
  const tn_index_entry *entry = record;
  TN_TRY(check_record(h, entry->version, TN_INDEX_MANIFEST_VERSION, entry->file_name, err));
  TN_TRY(check_kind(h, entry->kind, err));
  return name_fault(h, h->index_sink(h->ctx, entry, err), entry->file_name, err);
}

/* ------------------------------------------------------------------ reading */

static tarn_status pick_reader(const tn_record_readers *readers, tn_slice bytes, const char *path,
                               tn_record_read_fn *out, tarn_error *err) {
  if (tn_slice_starts_with(bytes, tn_slice_text("Obj\x01"))) {
    *out = readers->avro;
  } else if (tn_slice_starts_with(bytes, tn_slice_text("PAR1"))) {
    *out = readers->parquet;
  } else if (tn_slice_starts_with(bytes, tn_slice_text("ORC"))) {
    *out = NULL;
  } else {
    return tn_fail(err, TARN_E_CORRUPT,
                   "%s: not a manifest: the file of %zu bytes is neither Avro, Parquet nor ORC",
                   path, bytes.len);
  }
  if (*out == NULL) {
    return tn_fail(err, TARN_E_UNSUPPORTED, "%s: a manifest in %s is not supported", path,
                   bytes.data[0] == 'O' ? "ORC" : "Parquet");
  }
  return TARN_OK;
}

static tarn_status read_file(tarn_env *env, tn_storage *storage, const tn_record_readers *readers,
                             const tn_manifest_name *name, const char *path,
                             const tn_record_field *fields, int32_t n_fields, size_t record_bytes,
                             tn_record_sink sink, handoff *h, tarn_error *err) {
  tarn_status st;
  size_t reserved = 0;
  tn_record_read_fn reader;
  tn_buf bytes;
  tn_buf_init(&bytes, &env->mem, MAX_MANIFEST_BYTES);
  TN_TRY_TO(done, tn_storage_read_all(storage, path, &bytes, err));
  TN_TRY_TO(done, tn_env_reserve(env, bytes.capacity, "a manifest", err));
  reserved = bytes.capacity;
  if (name->size_bytes >= 0 && bytes.len < (size_t)name->size_bytes) {
    st = tn_fail(err, TARN_E_CORRUPT, "%s: the file has %zu bytes where %lld were written", path,
                 bytes.len, (long long)name->size_bytes);
    goto done;
  }
  TN_TRY_TO(done, pick_reader(readers, tn_buf_slice(&bytes), path, &reader, err));
  h->path = path;
  TN_TRY_TO(done,
            reader(env, tn_buf_slice(&bytes), path, fields, n_fields, record_bytes, sink, h, err));
  if (name->n_records >= 0 && h->n_records != name->n_records) {
    st = tn_fail(err, TARN_E_CORRUPT,
                 "%s: the file has %lld entries where its manifest list tells of %lld", path,
                 (long long)h->n_records, (long long)name->n_records);
  }
done:
  tn_unreserve(&env->mem, reserved);
  tn_buf_reset(&bytes);
  return st;
}

static tarn_status read_named(tarn_env *env, tn_storage *storage, const tn_record_readers *readers,
                              const char *table_path, const tn_manifest_name *name,
                              const tn_record_field *fields, int32_t n_fields, size_t record_bytes,
                              tn_record_sink sink, handoff *h, tarn_error *err) {
  tarn_status st;
  tn_buf path;
  tn_buf_init(&path, &env->mem, (size_t)1 << 20);
  TN_TRY_TO(done, tn_buf_printf(&path, err, "%s/manifest/%s", table_path, name->name));
  TN_TRY_TO(done, tn_buf_append(&path, "", 1, err));
  TN_TRY_TO(done, read_file(env, storage, readers, name, (const char *)path.data, fields, n_fields,
                            record_bytes, sink, h, err));
done:
  tn_buf_reset(&path);
  return st;
}

tarn_status tn_manifest_list_read(tarn_env *env, tn_storage *storage,
                                  const tn_record_readers *readers, const char *table_path,
                                  const tn_manifest_name *name, tn_manifest_file_sink sink,
                                  void *ctx, tarn_error *err) {
  handoff h = {.file_sink = sink, .ctx = ctx};
  return read_named(env, storage, readers, table_path, name, list_fields, TN_COUNT(list_fields),
                    sizeof(tn_manifest_file), on_file, &h, err);
}

tarn_status tn_manifest_read(tarn_env *env, tn_storage *storage, const tn_record_readers *readers,
                             const char *table_path, const tn_manifest_name *name,
                             tn_manifest_entry_sink sink, void *ctx, tarn_error *err) {
  handoff h = {.entry_sink = sink, .ctx = ctx};
  return read_named(env, storage, readers, table_path, name, entry_fields, TN_COUNT(entry_fields),
                    sizeof(tn_manifest_entry), on_entry, &h, err);
}

tarn_status tn_index_manifest_read(tarn_env *env, tn_storage *storage,
                                   const tn_record_readers *readers, const char *table_path,
                                   const tn_manifest_name *name, tn_index_entry_sink sink,
                                   void *ctx, tarn_error *err) {
  handoff h = {.index_sink = sink, .ctx = ctx};
  return read_named(env, storage, readers, table_path, name, index_fields, TN_COUNT(index_fields),
                    sizeof(tn_index_entry), on_index, &h, err);
}

/* ------------------------------------------------------------------ copying */

/* The parts of a data file that lie outside of its struct. */
typedef struct parts {
  tn_slice *slices[10];
  int n_slices;
  tn_record_array *texts[3];
  int n_texts;
  tn_record_array *longs[2];
  int n_longs;
} parts;

static void add_stats(parts *p, tn_simple_stats *stats) {
  p->slices[p->n_slices++] = &stats->min_values;
  p->slices[p->n_slices++] = &stats->max_values;
  p->longs[p->n_longs++] = &stats->null_counts;
}

static void find_parts(tn_data_file *file, bool keeps_stats, parts *p) {
  memset(p, 0, sizeof(*p));
  p->slices[p->n_slices++] = &file->file_name;
  p->slices[p->n_slices++] = &file->min_key;
  p->slices[p->n_slices++] = &file->max_key;
  p->slices[p->n_slices++] = &file->embedded_index;
  p->slices[p->n_slices++] = &file->external_path;
  p->texts[p->n_texts++] = &file->extra_files;
  p->texts[p->n_texts++] = &file->write_cols;
  if (keeps_stats) {
    add_stats(p, &file->key_stats);
    add_stats(p, &file->value_stats);
    p->texts[p->n_texts++] = &file->value_stats_cols;
  } else {
    memset(&file->key_stats, 0, sizeof(file->key_stats));
    memset(&file->value_stats, 0, sizeof(file->value_stats));
    file->value_stats_cols = (tn_record_array){NULL, 0};
    file->has_value_stats_cols = false;
  }
}

/* Bytes of all parts: arrays first, so that they are aligned, then what slices point to. They lie
 * in memory already, so their sum fits. */
static void measure(const parts *p, size_t *arrays, size_t *bytes) {
  *arrays = *bytes = 0;
  for (int i = 0; i < p->n_slices; i++) {
    *bytes += p->slices[i]->len;
  }
  for (int i = 0; i < p->n_longs; i++) {
    *arrays += (size_t)p->longs[i]->count * sizeof(int64_t);
  }
  for (int i = 0; i < p->n_texts; i++) {
    const tn_slice *items = p->texts[i]->items;
    *arrays += (size_t)p->texts[i]->count * sizeof(tn_slice);
    for (int64_t k = 0; k < p->texts[i]->count; k++) {
      *bytes += items[k].len;
    }
  }
}

static void move_slice(tn_slice *slice, uint8_t **at) {
  if (slice->len > 0) {
    memcpy(*at, slice->data, slice->len);
    slice->data = *at;
    *at += slice->len;
  } else if (slice->data != NULL) {
    slice->data = *at; /* present and empty */
  }
}

static void move_array(tn_record_array *array, size_t item_bytes, uint8_t **at) {
  size_t n = (size_t)array->count * item_bytes;
  if (n > 0) {
    memcpy(*at, array->items, n);
  }
  array->items = *at;
  *at += n;
}

tarn_status tn_data_file_copy(tn_arena *arena, const tn_data_file *from, bool keeps_stats,
                              tn_data_file *to, tarn_error *err) {
  size_t arrays, bytes;
  uint8_t *array_at, *byte_at;
  parts p;
  *to = *from;
  find_parts(to, keeps_stats, &p);
  measure(&p, &arrays, &bytes);
  array_at = tn_arena_alloc(arena, arrays + bytes);
  if (array_at == NULL) {
    memset(to, 0, sizeof(*to));
    return tn_oom(err);
  }
  byte_at = array_at + arrays;
  for (int i = 0; i < p.n_slices; i++) {
    move_slice(p.slices[i], &byte_at);
  }
  for (int i = 0; i < p.n_longs; i++) {
    move_array(p.longs[i], sizeof(int64_t), &array_at);
  }
  for (int i = 0; i < p.n_texts; i++) {
    tn_slice *items = (tn_slice *)(void *)array_at;
    move_array(p.texts[i], sizeof(tn_slice), &array_at);
    for (int64_t k = 0; k < p.texts[i]->count; k++) {
      move_slice(&items[k], &byte_at);
    }
  }
  return TARN_OK;
}
