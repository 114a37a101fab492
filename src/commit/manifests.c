/* manifests.c - lists of manifests, and manifests that roll. */
#include "commit/manifests.h"

#include "format/avro/avro_write.h"

#define ROLL_CHECK_ENTRIES 1000 /* RollingFileWriterImpl.CHECK_ROLLING_RECORD_CNT */
#define STATS_LIMIT ((size_t)1 << 30)

/* ------------------------------------------------------------------ lists */

static tarn_status copy_stats(tn_arena *arena, const tn_simple_stats *from, tn_simple_stats *to,
                              tarn_error *err) {
  size_t n = (size_t)from->null_counts.count * sizeof(int64_t);
  *to = *from;
  to->null_counts.items = tn_arena_memdup(arena, from->null_counts.items, n);
  return to->null_counts.items != NULL &&
                 tn_arena_slice(arena, from->min_values, &to->min_values) &&
                 tn_arena_slice(arena, from->max_values, &to->max_values)
             ? TARN_OK
             : tn_oom(err);
}

tarn_status tn_metas_add(tn_metas *metas, tn_arena *arena, const tn_manifest_file *meta,
                         tarn_error *err) {
  tn_manifest_file *to;
  if (metas->count >= INT32_MAX) {
    return tn_fail(err, TARN_E_LIMIT, "more than %d manifests", INT32_MAX);
  }
  if (!tn_arena_grow(arena, (void **)&metas->items, &metas->capacity, metas->count,
                     sizeof(*metas->items))) {
    return tn_oom(err);
  }
  to = &metas->items[metas->count];
  *to = *meta;
  if (!tn_arena_slice(arena, meta->file_name, &to->file_name)) {
    return tn_oom(err);
  }
  TN_TRY(copy_stats(arena, &meta->partition_stats, &to->partition_stats, err));
  metas->count++;
  return TARN_OK;
}

typedef struct list_read {
  tn_metas *out;
  tn_arena *arena;
} list_read;

static tarn_status on_meta(void *ctx, const tn_manifest_file *meta, tarn_error *err) {
  const list_read *r = ctx;
  return tn_metas_add(r->out, r->arena, meta, err);
}

tarn_status tn_metas_read_list(tn_table *table, const char *name, int64_t size_bytes,
                               tn_arena *arena, tn_metas *out, tarn_error *err) {
  const tn_manifest_name list = {name, size_bytes, -1};
  list_read r = {out, arena};
  return name == NULL ? TARN_OK
                      : tn_manifest_list_read(table->env, table->storage, &tn_plan_readers,
                                              table->path, &list, on_meta, &r, err);
}

tarn_status tn_metas_read(tn_table *table, const tn_snapshot *s, tn_arena *arena, tn_metas *out,
                          tarn_error *err) {
  TN_TRY(tn_metas_read_list(table, s->base_manifest_list, s->base_manifest_list_size, arena, out,
                            err));
  return tn_metas_read_list(table, s->delta_manifest_list, s->delta_manifest_list_size, arena, out,
                            err);
}

tarn_status tn_metas_write(tn_commit_job *job, tn_written_kind kind, const tn_metas *metas,
                           const char **name, int64_t *size_bytes, tarn_error *err) {
  tn_manifest_writer writer = {0};
  tn_slice file;
  tarn_status st;
  TN_TRY_TO(done,
            tn_manifest_writer_begin(job->table->env, &tn_avro_record_writer, TN_MANIFEST_LIST,
                                     job->settings.compression, &writer, err));
  for (size_t i = 0; i < metas->count; i++) {
    TN_TRY_TO(done, tn_manifest_writer_add_file(&writer, &metas->items[i], err));
  }
  TN_TRY_TO(done, tn_manifest_writer_finish(&writer, &file, err));
  *size_bytes = (int64_t)file.len;
  TN_TRY_TO(done, tn_job_write_list(job, kind, file, name, err));
done:
  tn_manifest_writer_end(&writer);
  return st;
}

/* ------------------------------------------------------------------ partition statistics */

static const tn_type *partition_type(const tn_roller *r, int32_t i) {
  const tn_schema *schema = r->job->table->schema;
  return &schema->fields[schema->partition_columns[i]].type;
}

/* Java compares what is Comparable: bytes are not, so they have no minimum. Rule:
 * org.apache.paimon.statistics.FullSimpleColStatsCollector. */
static bool has_order(const tn_type *type) {
  return type->root != TN_BINARY && type->root != TN_VARBINARY;
}

static tarn_status widen(tn_roller *r, int32_t i, tarn_error *err) {
  const tn_type *type = partition_type(r, i);
  const tn_datum *value = &r->last[i];
  if (!has_order(type)) {
    return TARN_OK;
  }
  if ((r->min[i].is_null || tn_datum_compare_key(type, value, &r->min[i]) < 0) &&
      !tn_datum_copy(&r->values, type, value, &r->min[i])) {
    return tn_oom(err);
  }
  if ((r->max[i].is_null || tn_datum_compare_key(type, value, &r->max[i]) > 0) &&
      !tn_datum_copy(&r->values, type, value, &r->max[i])) {
    return tn_oom(err);
  }
  return TARN_OK;
}

static tarn_status note_partition(tn_roller *r, tn_slice partition, tarn_error *err) {
  int32_t n = r->job->table->schema->n_partition_keys;
  bool is_new = r->last_partition.data == NULL || !tn_slice_equal(partition, r->last_partition);
  if (n == 0) {
    return TARN_OK;
  }
  if (is_new) {
    if (!tn_arena_slice(&r->values, partition, &r->last_partition)) {
      return tn_oom(err);
    }
    TN_TRY(
        tn_partition_values(&r->values, r->job->table->schema, r->last_partition, &r->last, err));
  }
  for (int32_t i = 0; i < n; i++) {
    if (r->last[i].is_null) {
      r->n_null[i]++;
    } else if (is_new) {
      TN_TRY(widen(r, i, err));
    }
  }
  return TARN_OK;
}

/* A row of the partition's columns with its arity, in the arena. */
static tarn_status put_row(tn_roller *r, const tn_datum *values, tn_slice *out, tarn_error *err) {
  int32_t n = r->job->table->schema->n_partition_keys;
  uint8_t arity[4] = {(uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n};
  tn_binary_row_writer w;
  tarn_status st;
  tn_buf buf;
  tn_buf_init(&buf, &r->job->table->env->mem, STATS_LIMIT);
  TN_TRY_TO(done, tn_buf_append(&buf, arity, sizeof(arity), err));
  TN_TRY_TO(done, tn_binary_row_begin(&w, &buf, n, err));
  for (int32_t i = 0; i < n; i++) {
    TN_TRY_TO(done, tn_binary_row_set(&w, i, partition_type(r, i), &values[i], err));
  }
  if (!tn_arena_slice(r->arena, tn_buf_slice(&buf), out)) {
    st = tn_oom(err);
  }
done:
  tn_buf_reset(&buf);
  return st;
}

static tarn_status put_stats(tn_roller *r, tarn_error *err) {
  tn_simple_stats *stats = &r->meta.partition_stats;
  int32_t n = r->job->table->schema->n_partition_keys;
  stats->has_null_counts = true;
  stats->null_counts = (tn_record_array){r->n_null, n};
  TN_TRY(put_row(r, r->min, &stats->min_values, err));
  return put_row(r, r->max, &stats->max_values, err);
}

/* ------------------------------------------------------------------ rolling */

tarn_status tn_roller_begin(tn_roller *roller, tn_commit_job *job, tn_written_kind kind,
                            tn_arena *arena, tn_metas *out, tarn_error *err) {
  size_t n = (size_t)job->table->schema->n_partition_keys + 1;
  *roller = (tn_roller){.job = job, .kind = kind, .arena = arena, .out = out};
  tn_arena_init(&roller->values, &job->table->env->mem, TN_PLAN_ARENA_BYTES);
  roller->min = tn_arena_calloc(arena, n, sizeof(tn_datum));
  roller->max = tn_arena_calloc(arena, n, sizeof(tn_datum));
  roller->n_null = tn_arena_calloc(arena, n, sizeof(int64_t));
  return roller->min != NULL && roller->max != NULL && roller->n_null != NULL ? TARN_OK
                                                                              : tn_oom(err);
}

static tarn_status open_manifest(tn_roller *r, tarn_error *err) {
  tn_commit_job *job = r->job;
  for (int32_t i = 0; i < job->table->schema->n_partition_keys; i++) {
    r->min[i].is_null = r->max[i].is_null = true;
    r->n_null[i] = 0;
  }
  tn_arena_reset(&r->values);
  r->last_partition = (tn_slice){NULL, 0};
  r->knows_row_ids = true;
  r->meta = (tn_manifest_file){.version = TN_MANIFEST_VERSION,
                               .schema_id = INT64_MIN,
                               .min_bucket = INT32_MAX,
                               .max_bucket = INT32_MIN,
                               .min_level = INT32_MAX,
                               .max_level = INT32_MIN,
                               .min_row_id = INT64_MAX,
                               .max_row_id = INT64_MIN};
  TN_TRY(tn_manifest_writer_begin(job->table->env, &tn_avro_record_writer, TN_MANIFEST,
                                  job->settings.compression, &r->writer, err));
  r->is_open = true;
  return TARN_OK;
}

static tarn_status close_manifest(tn_roller *r, tarn_error *err) {
  tn_manifest_file *meta = &r->meta;
  tn_slice file;
  const char *name;
  TN_TRY(tn_manifest_writer_finish(&r->writer, &file, err));
  TN_TRY(tn_job_write_manifest(r->job, r->kind, file, &name, err));
  meta->file_name = tn_slice_text(name);
  meta->file_size = (int64_t)file.len;
  meta->has_buckets_min = meta->has_buckets_max = true;
  meta->has_level_min = meta->has_level_max = true;
  meta->has_row_id_min = meta->has_row_id_max = r->knows_row_ids;
  TN_TRY(put_stats(r, err));
  TN_TRY(tn_metas_add(r->out, r->arena, meta, err));
  tn_manifest_writer_end(&r->writer);
  r->is_open = false;
  return TARN_OK;
}

static void note_row_ids(tn_roller *r, const tn_data_file *file) {
  tn_manifest_file *meta = &r->meta;
  int64_t last;
  r->knows_row_ids = r->knows_row_ids && file->has_first_row_id &&
                     !__builtin_add_overflow(file->first_row_id, file->row_count - 1, &last);
  if (r->knows_row_ids) {
    meta->min_row_id =
        file->first_row_id < meta->min_row_id ? file->first_row_id : meta->min_row_id;
    meta->max_row_id = last > meta->max_row_id ? last : meta->max_row_id;
  }
}

tarn_status tn_roller_add(tn_roller *r, const tn_manifest_entry *entry, tarn_error *err) {
  tn_manifest_file *meta = &r->meta;
  const tn_data_file *file = &entry->file;
  if (!r->is_open) {
    TN_TRY(open_manifest(r, err));
  }
  TN_TRY(tn_manifest_writer_add_entry(&r->writer, entry, err));
  TN_TRY(note_partition(r, entry->partition, err));
  note_row_ids(r, file);
  meta->n_added += entry->kind == TN_FILE_ADD;
  meta->n_deleted += entry->kind != TN_FILE_ADD;
  meta->schema_id = file->schema_id > meta->schema_id ? file->schema_id : meta->schema_id;
  meta->min_bucket = entry->bucket < meta->min_bucket ? entry->bucket : meta->min_bucket;
  meta->max_bucket = entry->bucket > meta->max_bucket ? entry->bucket : meta->max_bucket;
  meta->min_level = file->level < meta->min_level ? file->level : meta->min_level;
  meta->max_level = file->level > meta->max_level ? file->level : meta->max_level;
  r->n_entries++;
  return r->n_entries % ROLL_CHECK_ENTRIES == 0 &&
                 tn_manifest_writer_size(&r->writer) >= r->job->settings.manifest_bytes
             ? close_manifest(r, err)
             : TARN_OK;
}

tarn_status tn_roller_finish(tn_roller *r, tarn_error *err) {
  return r->is_open ? close_manifest(r, err) : TARN_OK;
}

void tn_roller_end(tn_roller *r) {
  tn_manifest_writer_end(&r->writer);
  if (r->values.mem != NULL) {
    tn_arena_reset(&r->values);
  }
}
