/* table_maker.c - schemas, snapshots and manifests in memory. */
#include "table_maker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "model/partition.h"
#include "support/files.h"

#define BUF_LIMIT ((size_t)64 << 20)
#define SYNC "0123456789abcdef"

/* ------------------------------------------------------------------ parts */

void tm_begin_in(table_maker *tm, tarn_env *env) {
  memset(tm, 0, sizeof(*tm));
  tm->env = env;
  tm->branch_path = "/t";
  tn_arena_init(&tm->arena, &env->mem, BUF_LIMIT);
  OK(tn_storage_memory(env, &tm->storage, err));
}

void tm_begin(table_maker *tm, int32_t threads) {
  tarn_env_options options = TARN_ENV_OPTIONS_INIT;
  tarn_env *env = NULL;
  options.threads = threads;
  OK(tarn_env_create(&options, &env, err));
  tm_begin_in(tm, env);
}

void tm_end(table_maker *tm) {
  for (int i = 0; i < tm->n_schemas; i++) {
    tn_schema_release(tm->schemas[i]);
  }
  tn_storage_release(tm->storage);
  tn_arena_reset(&tm->arena);
  tarn_env_free(tm->env);
}

static char *copy(table_maker *tm, const char *text) {
  char *s = tn_arena_strdup(&tm->arena, text);
  assert_non_null(s);
  return s;
}

/* The next part of a text up to `separator`, in place; NULL at the end. */
static char *next_part(char **at, char separator) {
  char *part = *at, *end;
  if (part == NULL || *part == '\0') {
    return NULL;
  }
  end = strchr(part, separator);
  if (end != NULL) {
    *end = '\0';
    *at = end + 1;
  } else {
    *at = NULL;
  }
  return part;
}

void tm_put(table_maker *tm, const char *name, const char *text) {
  char path[512];
  snprintf(path, sizeof(path), "%s/%s", tm->branch_path, name);
  OK(tn_storage_memory_put(tm->storage, path, tn_slice_text(text), err));
}

/* ------------------------------------------------------------------ schemas */

static void put_list(tn_buf *b, table_maker *tm, const char *items) {
  char *at = copy(tm, items), *item;
  const char *comma = "";
  OK(tn_buf_text(b, "[", err));
  while ((item = next_part(&at, ',')) != NULL) {
    OK(tn_buf_printf(b, err, "%s\"%s\"", comma, item));
    comma = ",";
  }
  OK(tn_buf_text(b, "]", err));
}

tn_schema *tm_schema(table_maker *tm, int64_t id, const char *fields, const char *partition_keys,
                     const char *primary_keys, const char *options) {
  char *at = copy(tm, fields), *item, path[64];
  const char *comma = "";
  tn_schema *schema = NULL;
  tn_buf b;
  tn_buf_init(&b, &tm->env->mem, BUF_LIMIT);
  OK(tn_buf_printf(&b, err, "{\"version\":3,\"id\":%lld,\"fields\":[", (long long)id));
  while ((item = next_part(&at, '|')) != NULL) {
    char *rest = item;
    char *field_id = next_part(&rest, ' '), *name = next_part(&rest, ' ');
    OK(tn_buf_printf(&b, err, "%s{\"id\":%s,\"name\":\"%s\",\"type\":\"%s\"}", comma, field_id,
                     name, rest));
    comma = ",";
  }
  OK(tn_buf_text(&b, "],\"highestFieldId\":99,\"partitionKeys\":", err));
  put_list(&b, tm, partition_keys);
  OK(tn_buf_text(&b, ",\"primaryKeys\":", err));
  put_list(&b, tm, primary_keys);
  OK(tn_buf_text(&b, ",\"options\":{", err));
  at = copy(tm, options);
  comma = "";
  while ((item = next_part(&at, ';')) != NULL) {
    char *value = item;
    char *key = next_part(&value, '=');
    OK(tn_buf_printf(&b, err, "%s\"%s\":\"%s\"", comma, key, value));
    comma = ",";
  }
  OK(tn_buf_text(&b, "},\"timeMillis\":1}", err));
  snprintf(path, sizeof(path), "%s/schema/schema-%lld", tm->branch_path, (long long)id);
  OK(tn_storage_memory_put(tm->storage, path, tn_buf_slice(&b), err));
  OK(tn_schema_decode(tm->env, tn_buf_slice(&b), path, &schema, err));
  tn_buf_reset(&b);
  assert_true(tm->n_schemas < 8);
  tm->schemas[tm->n_schemas++] = schema;
  tm->schema = schema;
  return schema;
}

tn_table *tm_table(table_maker *tm, const char *dynamic) {
  tn_option options[8];
  int32_t n = 0;
  char *at = copy(tm, dynamic), *item;
  tn_table *table = NULL;
  while ((item = next_part(&at, ';')) != NULL) {
    char *value = item;
    assert_true(n < 8);
    options[n].key = next_part(&value, '=');
    options[n++].value = value;
  }
  OK(tn_table_create(tm->env, tm->storage, "db.t", "/t", "main", tm->branch_path, tm->schema,
                     options, n, &table, err));
  return table;
}

/* ------------------------------------------------------------------ rows */

tn_slice tm_text(const char *text) {
  return tn_slice_text(text);
}

tn_slice tm_row(table_maker *tm, const char *types, const char *values) {
  char *type_at = copy(tm, types), *value_at = copy(tm, values), *type_text;
  tn_type type[16];
  tn_datum datum[16];
  int32_t n = 0;
  uint8_t arity[4];
  tn_binary_row_writer w;
  tn_slice out;
  tn_buf b;
  while ((type_text = next_part(&type_at, '|')) != NULL) {
    char *value = next_part(&value_at, '|');
    assert_true(n < 16 && value != NULL);
    OK(tn_type_from_sql(&tm->arena, type_text, NULL, &type[n], err));
    memset(&datum[n], 0, sizeof(datum[n]));
    datum[n].is_null = strcmp(value, "null") == 0;
    if (!datum[n].is_null) {
      OK(tn_datum_from_text(&tm->arena, &type[n], tn_slice_text(value), tm->env->zone, &datum[n],
                            err));
    }
    n++;
  }
  tn_buf_init(&b, &tm->env->mem, BUF_LIMIT);
  tn_store_be32(arity, (uint32_t)n);
  OK(tn_buf_append(&b, arity, 4, err));
  OK(tn_binary_row_begin(&w, &b, n, err));
  for (int32_t i = 0; i < n; i++) {
    OK(tn_binary_row_set(&w, i, &type[i], &datum[i], err));
  }
  assert_true(tn_arena_slice(&tm->arena, tn_buf_slice(&b), &out));
  tn_buf_reset(&b);
  return out;
}

tn_record_array tm_texts(table_maker *tm, const char *texts) {
  char *at = copy(tm, texts), *item;
  tn_slice *items = tn_arena_calloc(&tm->arena, strlen(texts) + 1, sizeof(*items));
  tn_record_array out = {items, 0};
  assert_non_null(items);
  while ((item = next_part(&at, ',')) != NULL) {
    items[out.count++] = tn_slice_text(item);
  }
  return out;
}

tn_record_array tm_longs(table_maker *tm, const char *longs) {
  char *at = copy(tm, longs), *item;
  int64_t *items = tn_arena_calloc(&tm->arena, strlen(longs) + 1, sizeof(*items));
  tn_record_array out = {items, 0};
  assert_non_null(items);
  while ((item = next_part(&at, ',')) != NULL) {
    items[out.count++] = strcmp(item, "null") == 0 ? INT64_MIN : strtoll(item, NULL, 10);
  }
  return out;
}

/* ------------------------------------------------------------------ entries */

static const uint8_t EMPTY_ROW[12];

tn_manifest_entry tm_entry(const char *name, int64_t rows) {
  const tn_slice empty = {EMPTY_ROW, sizeof(EMPTY_ROW)};
  tn_manifest_entry e = {
      .version = 2, .kind = TN_FILE_ADD, .partition = empty, .total_buckets = -1};
  tn_data_file *f = &e.file;
  f->file_name = tn_slice_text(name);
  f->file_size = 1000;
  f->row_count = rows;
  f->min_key = f->max_key = empty;
  f->key_stats.min_values = f->key_stats.max_values = empty;
  f->value_stats.min_values = f->value_stats.max_values = empty;
  f->has_value_stats_cols = true;
  f->has_creation_time = true;
  f->creation_time_ms = 1000;
  f->has_delete_row_count = true;
  f->has_source = true;
  return e;
}

tn_manifest_entry tm_entry_in(table_maker *tm, int32_t partition, const char *name, int64_t rows) {
  tn_manifest_entry e = tm_entry(name, rows);
  char value[16];
  snprintf(value, sizeof(value), "%d", (int)partition);
  e.partition = tm_row(tm, "INT", value);
  return e;
}

tn_manifest_entry tm_entry_keyed(table_maker *tm, const char *name, int32_t level, int32_t min,
                                 int32_t max) {
  tn_manifest_entry e = tm_entry(name, (int64_t)max - min + 1);
  char value[16];
  e.total_buckets = 1;
  e.file.level = level;
  snprintf(value, sizeof(value), "%d", (int)min);
  e.file.min_key = e.file.key_stats.min_values = tm_row(tm, "INT", value);
  snprintf(value, sizeof(value), "%d", (int)max);
  e.file.max_key = e.file.key_stats.max_values = tm_row(tm, "INT", value);
  e.file.key_stats.null_counts = tm_longs(tm, "0");
  return e;
}

tn_manifest_entry tm_deleted(tn_manifest_entry entry) {
  entry.kind = TN_FILE_DELETE;
  return entry;
}

/* ------------------------------------------------------------------ Avro, by hand */

static void put_long(tn_buf *b, int64_t value) {
  uint64_t z = ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
  do {
    uint8_t byte = (uint8_t)((z & 0x7F) | (z > 0x7F ? 0x80 : 0));
    OK(tn_buf_append(b, &byte, 1, err));
    z >>= 7;
  } while (z != 0);
}

static void put_bytes(tn_buf *b, tn_slice bytes) {
  put_long(b, (int64_t)bytes.len);
  OK(tn_buf_append(b, bytes.data, bytes.len, err));
}

/* The branch of a union with null; true: a value follows. */
static bool put_branch(tn_buf *b, bool is_set) {
  put_long(b, is_set ? 1 : 0);
  return is_set;
}

static void put_optional_long(tn_buf *b, bool is_set, int64_t value) {
  if (put_branch(b, is_set)) {
    put_long(b, value);
  }
}

static void put_optional_bytes(tn_buf *b, bool is_set, tn_slice value) {
  if (put_branch(b, is_set)) {
    put_bytes(b, value);
  }
}

static void put_texts(tn_buf *b, const tn_record_array *texts) {
  if (texts->count > 0) {
    put_long(b, texts->count);
    for (int64_t i = 0; i < texts->count; i++) {
      put_bytes(b, ((const tn_slice *)texts->items)[i]);
    }
  }
  put_long(b, 0);
}

static void put_optional_texts(tn_buf *b, bool is_set, const tn_record_array *texts) {
  if (put_branch(b, is_set)) {
    put_texts(b, texts);
  }
}

static void put_stats(tn_buf *b, const tn_simple_stats *stats) {
  const int64_t *counts = stats->null_counts.items;
  put_bytes(b, stats->min_values);
  put_bytes(b, stats->max_values);
  put_branch(b, true);
  if (stats->null_counts.count > 0) {
    put_long(b, stats->null_counts.count);
    for (int64_t i = 0; i < stats->null_counts.count; i++) {
      put_optional_long(b, counts[i] != INT64_MIN, counts[i]);
    }
  }
  put_long(b, 0);
}

static void put_file(tn_buf *b, const tn_data_file *f, bool is_old) {
  put_bytes(b, f->file_name);
  put_long(b, f->file_size);
  put_long(b, f->row_count);
  put_bytes(b, f->min_key);
  put_bytes(b, f->max_key);
  put_stats(b, &f->key_stats);
  put_stats(b, &f->value_stats);
  put_long(b, f->min_sequence);
  put_long(b, f->max_sequence);
  put_long(b, f->schema_id);
  put_long(b, f->level);
  put_texts(b, &f->extra_files);
  put_optional_long(b, f->has_creation_time, f->creation_time_ms);
  put_optional_long(b, f->has_delete_row_count, f->delete_row_count);
  put_optional_bytes(b, f->has_embedded_index, f->embedded_index);
  put_optional_long(b, f->has_source, f->source);
  put_optional_texts(b, f->has_value_stats_cols, &f->value_stats_cols);
  put_optional_bytes(b, f->has_external_path, f->external_path);
  if (!is_old) {
    put_optional_long(b, f->has_first_row_id, f->first_row_id);
    put_optional_texts(b, f->has_write_cols, &f->write_cols);
  }
}

static void put_entry(tn_buf *b, const tn_manifest_entry *e, bool is_old) {
  put_long(b, e->version);
  put_long(b, e->kind);
  put_bytes(b, e->partition);
  put_long(b, e->bucket);
  put_long(b, e->total_buckets);
  put_file(b, &e->file, is_old);
}

static void put_manifest_file(tn_buf *b, const tn_manifest_file *m, bool is_old) {
  put_long(b, m->version);
  put_bytes(b, m->file_name);
  put_long(b, m->file_size);
  put_long(b, m->n_added);
  put_long(b, m->n_deleted);
  put_stats(b, &m->partition_stats);
  put_long(b, m->schema_id);
  if (!is_old) {
    put_optional_long(b, m->has_buckets_min, m->min_bucket);
    put_optional_long(b, m->has_buckets_max, m->max_bucket);
    put_optional_long(b, m->has_level_min, m->min_level);
    put_optional_long(b, m->has_level_max, m->max_level);
    put_optional_long(b, m->has_row_id_min, m->min_row_id);
    put_optional_long(b, m->has_row_id_max, m->max_row_id);
  }
}

static void put_index_entry(tn_buf *b, const tn_index_entry *e) {
  put_long(b, e->version);
  put_long(b, e->kind);
  put_bytes(b, e->partition);
  put_long(b, e->bucket);
  put_bytes(b, e->index_type);
  put_bytes(b, e->file_name);
  put_long(b, e->file_size);
  put_long(b, e->row_count);
  if (put_branch(b, e->has_dv_ranges)) {
    if (e->dv_ranges.count > 0) {
      put_long(b, e->dv_ranges.count);
    }
    for (int64_t i = 0; i < e->dv_ranges.count; i++) {
      const tn_dv_range *r = &((const tn_dv_range *)e->dv_ranges.items)[i];
      put_branch(b, true);
      put_bytes(b, r->data_file);
      put_long(b, r->offset);
      put_long(b, r->length);
      put_optional_long(b, r->has_cardinality, r->cardinality);
    }
    put_long(b, 0);
  }
  put_optional_bytes(b, e->has_external_path, e->external_path);
  put_branch(b, false);
}

/* A container with one block; its name. */
static const char *put_container(table_maker *tm, const char *kind, const char *schema,
                                 const tn_buf *records, int n) {
  char path[512], version[8];
  char *schema_path, *name;
  uint8_t *text;
  size_t n_text;
  tn_buf b;
  snprintf(version, sizeof(version), "%s", tm->is_old ? "1.0.1" : "1.4.2");
  snprintf(path, sizeof(path), "tests/unit/plan/data/avro-schema-%s-%s.json", schema, version);
  schema_path = tn_test_path(TARN_SOURCE_DIR, path);
  text = tn_test_read_file(schema_path, &n_text);
  free(schema_path);
  tn_buf_init(&b, &tm->env->mem, BUF_LIMIT);
  OK(tn_buf_append(&b, "Obj\x01", 4, err));
  put_long(&b, 2);
  put_bytes(&b, tn_slice_text("avro.schema"));
  put_bytes(&b, tn_slice_of(text, n_text));
  put_bytes(&b, tn_slice_text("avro.codec"));
  put_bytes(&b, tn_slice_text("null"));
  put_long(&b, 0);
  OK(tn_buf_text(&b, SYNC, err));
  if (n > 0) {
    put_long(&b, n);
    put_bytes(&b, tn_buf_slice(records));
    OK(tn_buf_text(&b, SYNC, err));
  }
  free(text);
  snprintf(path, sizeof(path), "%s-%d", kind, tm->n_files++);
  name = copy(tm, path);
  snprintf(path, sizeof(path), "/t/manifest/%s", name);
  OK(tn_storage_memory_put(tm->storage, path, tn_buf_slice(&b), err));
  tn_buf_reset(&b);
  return name;
}

static void note_range(int32_t value, bool is_first, int32_t *min, int32_t *max) {
  *min = is_first || value < *min ? value : *min;
  *max = is_first || value > *max ? value : *max;
}

tn_manifest_file tm_manifest(table_maker *tm, const tn_manifest_entry *entries, int n) {
  const tn_slice empty = {EMPTY_ROW, sizeof(EMPTY_ROW)};
  tn_manifest_file m = {.version = 2, .file_size = 1};
  tn_buf b;
  tn_buf_init(&b, &tm->env->mem, BUF_LIMIT);
  for (int i = 0; i < n; i++) {
    put_entry(&b, &entries[i], tm->is_old);
    m.n_added += entries[i].kind == TN_FILE_ADD;
    m.n_deleted += entries[i].kind == TN_FILE_DELETE;
    note_range(entries[i].bucket, i == 0, &m.min_bucket, &m.max_bucket);
    note_range(entries[i].file.level, i == 0, &m.min_level, &m.max_level);
  }
  m.has_buckets_min = m.has_buckets_max = m.has_level_min = m.has_level_max = true;
  m.partition_stats.min_values = m.partition_stats.max_values = empty;
  m.file_name = tn_slice_text(put_container(tm, "manifest", "manifest", &b, n));
  tn_buf_reset(&b);
  return m;
}

const char *tm_list(table_maker *tm, const tn_manifest_file *manifests, int n) {
  const char *name;
  tn_buf b;
  tn_buf_init(&b, &tm->env->mem, BUF_LIMIT);
  for (int i = 0; i < n; i++) {
    put_manifest_file(&b, &manifests[i], tm->is_old);
  }
  name = put_container(tm, "manifest-list", "manifest-list", &b, n);
  tn_buf_reset(&b);
  return name;
}

const char *tm_index(table_maker *tm, const tn_index_entry *entries, int n) {
  const char *name;
  tn_buf b;
  tn_buf_init(&b, &tm->env->mem, BUF_LIMIT);
  for (int i = 0; i < n; i++) {
    put_index_entry(&b, &entries[i]);
  }
  name = put_container(tm, "index-manifest", "index-manifest", &b, n);
  tn_buf_reset(&b);
  return name;
}

/* ------------------------------------------------------------------ snapshots */

static void put_snapshot(table_maker *tm, const char *name, const tm_snapshot_parts *p) {
  tn_buf b;
  const char *base = p->base != NULL ? p->base : tm_list(tm, NULL, 0);
  const char *delta = p->delta != NULL ? p->delta : tm_list(tm, NULL, 0);
  tn_buf_init(&b, &tm->env->mem, BUF_LIMIT);
  OK(tn_buf_printf(&b, err,
                   "{\"version\":3,\"id\":%lld,\"schemaId\":%lld,\"baseManifestList\":\"%s\","
                   "\"deltaManifestList\":\"%s\",",
                   (long long)p->id, (long long)p->schema_id, base, delta));
  if (p->changelog != NULL) {
    OK(tn_buf_printf(&b, err, "\"changelogManifestList\":\"%s\",", p->changelog));
  } else {
    OK(tn_buf_text(&b, "\"changelogManifestList\":null,", err));
  }
  if (p->index != NULL) {
    OK(tn_buf_printf(&b, err, "\"indexManifest\":\"%s\",", p->index));
  }
  if (p->has_watermark) {
    OK(tn_buf_printf(&b, err, "\"watermark\":%lld,", (long long)p->watermark));
  }
  OK(tn_buf_printf(&b, err,
                   "\"commitUser\":\"u\",\"commitIdentifier\":%lld,\"commitKind\":\"%s\","
                   "\"timeMillis\":%lld,\"totalRecordCount\":1,\"deltaRecordCount\":1}",
                   (long long)p->identifier, tn_commit_kind_name(p->kind), (long long)p->time_ms));
  OK(tn_buf_append(&b, "", 1, err));
  tm_put(tm, name, (const char *)b.data);
  tn_buf_reset(&b);
}

void tm_snapshot(table_maker *tm, const tm_snapshot_parts *p) {
  char name[64];
  snprintf(name, sizeof(name), "snapshot/snapshot-%lld", (long long)p->id);
  put_snapshot(tm, name, p);
}

void tm_tag(table_maker *tm, const char *name, const tm_snapshot_parts *p) {
  char path[64];
  snprintf(path, sizeof(path), "tag/tag-%s", name);
  put_snapshot(tm, path, p);
}

void tm_commit(table_maker *tm, int64_t id, const tn_manifest_entry *entries, int n) {
  tn_manifest_file m = tm_manifest(tm, entries, n);
  tm_snapshot_parts p = {.id = id,
                         .schema_id = tm->schema->id,
                         .time_ms = id * 100,
                         .delta = tm_list(tm, &m, n > 0 ? 1 : 0)};
  tm_snapshot(tm, &p);
}

/* ------------------------------------------------------------------ plans */

const char *tm_content(table_maker *tm, const char *path) {
  const char *text;
  tn_buf b;
  tn_buf_init(&b, &tm->env->mem, 65536);
  OK(tn_storage_read_all(tm->storage, path, &b, err));
  text = tn_arena_strndup(&tm->arena, (const char *)b.data, b.len);
  assert_non_null(text);
  tn_buf_reset(&b);
  return text;
}

const tn_pred *tm_where(table_maker *tm, const tn_table *table, const char *where) {
  const tn_pred *pred = NULL;
  if (where != NULL) {
    OK(tn_pred_parse(&tm->arena, table->schema->fields, table->schema->n_fields, tm->env->zone,
                     tn_slice_text(where), &pred, NULL, err));
  }
  return pred;
}

static void put_files(tn_buf *b, const tn_data_file *files, int32_t n,
                      const tn_dv_place *deletions) {
  for (int32_t f = 0; f < n; f++) {
    OK(tn_buf_printf(b, err, "%s%.*s", f > 0 ? " " : "", TN_SLICE_ARG(files[f].file_name)));
    if (deletions != NULL && deletions[f].path != NULL) {
      OK(tn_buf_printf(b, err, "-%lld", (long long)deletions[f].cardinality));
    }
  }
}

const char *tm_plan_text(table_maker *tm, const tn_plan *plan) {
  const char *out;
  tn_buf b;
  tn_buf_init(&b, &tm->env->mem, BUF_LIMIT);
  for (int32_t i = 0; i < plan->n_splits; i++) {
    const tn_split *s = &plan->splits[i];
    int64_t rows = tn_split_row_count(s);
    OK(tn_buf_printf(&b, err, "%s%s", i > 0 ? " " : "", s->is_fallback ? "!" : ""));
    if (plan->table->schema->n_partition_keys > 0) {
      OK(tn_partition_text(plan->table, s->partition, &b, err));
      OK(tn_buf_text(&b, "/", err));
    }
    OK(tn_buf_printf(&b, err, "%d[", (int)s->bucket));
    put_files(&b, s->before, s->n_before, s->before_deletions);
    OK(tn_buf_text(&b, s->is_incremental ? " -> " : "", err));
    put_files(&b, s->files, s->n_files, s->deletions);
    OK(tn_buf_printf(&b, err, "]%s%s", s->is_streaming ? "~" : "",
                     s->is_raw_convertible ? "raw" : ""));
    if (rows >= 0) {
      OK(tn_buf_printf(&b, err, "(%lld)", (long long)rows));
    } else {
      OK(tn_buf_text(&b, "(?)", err));
    }
  }
  OK(tn_buf_append(&b, "", 1, err));
  out = copy(tm, (const char *)b.data);
  tn_buf_reset(&b);
  return out;
}

const char *tm_plan(table_maker *tm, tn_table *table, const char *where, int64_t limit) {
  tn_scan scan = {.table = table, .predicate = tm_where(tm, table, where), .limit = limit};
  tn_plan *plan = NULL;
  const char *text;
  OK(tn_plan_create(&scan, &plan, err));
  text = tm_plan_text(tm, plan);
  tn_plan_release(plan);
  return text;
}

tarn_status tm_plan_status(table_maker *tm, tn_table *table, tarn_error *err) {
  tn_scan scan = {.table = table, .limit = -1};
  tn_plan *plan = NULL;
  tarn_status st = tn_plan_create(&scan, &plan, err);
  (void)tm;
  assert_true(st == TARN_OK || plan == NULL);
  tn_plan_release(plan);
  return st;
}
