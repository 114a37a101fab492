/* recommit.c - commit what somebody else has committed, snapshot by snapshot, into a copy.
 *
 * usage: recommit SOURCE COPY [--merge]
 *
 * SOURCE and COPY are folders of tables; COPY holds the data and index files of SOURCE, and nothing
 * in schema/, snapshot/ and manifest/. Each snapshot of SOURCE becomes messages, which are
 * committed with its user, identifier, kind, watermark, properties and time; what is assigned by a
 * commit (row ids) is taken from the messages before. Then both snapshots, and what their delta
 * lists say of manifests, must be equal but for names and sizes. --merge: manifests are merged at
 * every commit. Exit status: 0, 1 with a line that tells the difference, 3: such a history cannot
 * be followed (expired snapshots, manifests in other formats).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commit/commit.h"
#include "plan/entries.h"

#define LIMIT ((size_t)1 << 30)

typedef struct recommit {
  tarn_env *env;
  tn_storage *storage;
  tn_arena arena;
  const char *source, *copy;
  int64_t now_ms; /* of the clock */
  bool merges;
  int64_t n_schemas; /* that the copy has */
  tn_table *table;   /* of the copy */
  tn_table *original;
  tarn_error err;
} recommit;

static void fail(const recommit *r, int64_t id, const char *what) {
  printf("snapshot %" PRId64 ": %s: %s\n", id, what, r->err.message);
  exit(r->err.status == TARN_E_UNSUPPORTED ? 3 : 1);
}

#define CHECK(id, call)      \
  do {                       \
    if ((call) != TARN_OK) { \
      fail(r, id, #call);    \
    }                        \
  } while (0)

static int64_t clock_ms(void *ctx) {
  return ((const recommit *)ctx)->now_ms;
}

/* ------------------------------------------------------------------ what a snapshot holds */

typedef struct entries {
  recommit *r;
  tn_manifest_entry *items;
  size_t count, capacity;
} entries;

typedef struct lists {
  recommit *r;
  tn_manifest_file *items;
  size_t count, capacity;
} lists;

typedef struct indexes {
  recommit *r;
  tn_index_entry *items;
  size_t count, capacity;
} indexes;

static void *grow(recommit *r, void *items, size_t *capacity, size_t count, size_t size) {
  if (!tn_arena_grow(&r->arena, &items, capacity, count, size)) {
    abort();
  }
  return items;
}

static tn_slice keep(recommit *r, tn_slice s) {
  tn_slice copy;
  if (!tn_arena_slice(&r->arena, s, &copy)) {
    abort();
  }
  return copy;
}

static tarn_status on_entry(void *ctx, const tn_manifest_entry *e, tarn_error *err) {
  entries *list = ctx;
  list->items = grow(list->r, list->items, &list->capacity, list->count, sizeof(*list->items));
  list->items[list->count] = *e;
  list->items[list->count].partition = keep(list->r, e->partition);
  return tn_data_file_copy(&list->r->arena, &e->file, true, &list->items[list->count++].file, err);
}

static tarn_status on_list(void *ctx, const tn_manifest_file *m, tarn_error *err) {
  lists *list = ctx;
  tn_manifest_file *to;
  (void)err;
  list->items = grow(list->r, list->items, &list->capacity, list->count, sizeof(*list->items));
  to = &list->items[list->count++];
  *to = *m;
  to->file_name = keep(list->r, m->file_name);
  to->partition_stats.min_values = keep(list->r, m->partition_stats.min_values);
  to->partition_stats.max_values = keep(list->r, m->partition_stats.max_values);
  to->partition_stats.null_counts.items =
      tn_arena_memdup(&list->r->arena, m->partition_stats.null_counts.items,
                      (size_t)m->partition_stats.null_counts.count * sizeof(int64_t));
  return TARN_OK;
}

static tarn_status on_index(void *ctx, const tn_index_entry *e, tarn_error *err) {
  indexes *list = ctx;
  recommit *r = list->r;
  tn_index_entry *to;
  const tn_dv_range *from = e->dv_ranges.items;
  tn_dv_range *ranges = tn_arena_calloc(&r->arena, (size_t)e->dv_ranges.count + 1, sizeof(*ranges));
  (void)err;
  list->items = grow(r, list->items, &list->capacity, list->count, sizeof(*list->items));
  to = &list->items[list->count++];
  *to = *e;
  to->partition = keep(r, e->partition);
  to->index_type = keep(r, e->index_type);
  to->file_name = keep(r, e->file_name);
  to->external_path = keep(r, e->external_path);
  to->global_index.index_meta = keep(r, e->global_index.index_meta);
  to->global_index.extra_field_ids.items =
      tn_arena_memdup(&r->arena, e->global_index.extra_field_ids.items,
                      (size_t)e->global_index.extra_field_ids.count * sizeof(int32_t));
  for (int64_t i = 0; i < e->dv_ranges.count; i++) {
    ranges[i] = from[i];
    ranges[i].data_file = keep(r, from[i].data_file);
  }
  to->dv_ranges.items = ranges;
  return TARN_OK;
}

static lists read_list(recommit *r, const tn_table *table, int64_t id, const char *name) {
  const tn_manifest_name list = {name, -1, -1};
  lists out = {.r = r};
  if (name != NULL) {
    CHECK(id, tn_manifest_list_read(r->env, r->storage, &tn_plan_readers, table->path, &list,
                                    on_list, &out, &r->err));
  }
  return out;
}

static entries read_entries(recommit *r, int64_t id, const char *list_name) {
  lists list = read_list(r, r->original, id, list_name);
  entries out = {.r = r};
  for (size_t i = 0; i < list.count; i++) {
    const tn_manifest_name name = {
        tn_arena_strndup(&r->arena, (const char *)list.items[i].file_name.data,
                         list.items[i].file_name.len),
        -1, -1};
    CHECK(id, tn_manifest_read(r->env, r->storage, &tn_plan_readers, r->source, &name, on_entry,
                               &out, &r->err));
  }
  return out;
}

static indexes read_indexes(recommit *r, int64_t id, const tn_table *table, const char *name) {
  const tn_manifest_name file = {name, -1, -1};
  indexes out = {.r = r};
  if (name != NULL) {
    CHECK(id, tn_index_manifest_read(r->env, r->storage, &tn_plan_readers, table->path, &file,
                                     on_index, &out, &r->err));
  }
  return out;
}

static bool has_index(const indexes *list, const tn_index_entry *e) {
  for (size_t i = 0; i < list->count; i++) {
    if (tn_slice_equal(list->items[i].file_name, e->file_name)) {
      return true;
    }
  }
  return false;
}

/* ------------------------------------------------------------------ messages */

typedef struct messages {
  recommit *r;
  tn_commit_message *items;
  size_t count, capacity;
} messages;

static tn_commit_message *add(messages *m, tn_slice partition, int32_t bucket) {
  m->items = grow(m->r, m->items, &m->capacity, m->count, sizeof(*m->items));
  m->items[m->count] = (tn_commit_message){.partition = partition, .bucket = bucket};
  return &m->items[m->count++];
}

/* What the commit had assigned is taken away: ids behind those of the snapshot before. */
static void forget_assigned(const recommit *r, const tn_snapshot *s, const tn_snapshot *before,
                            tn_manifest_entry *e) {
  if (!r->table->facts.row_tracking || e->kind != TN_FILE_ADD ||
      e->file.source != TN_SOURCE_APPEND || s->commit_kind == TN_COMMIT_COMPACT) {
    return;
  }
  if (e->file.has_first_row_id && e->file.first_row_id >= before->next_row_id) {
    e->file.has_first_row_id = false;
  }
  if (e->file.min_sequence == s->id) {
    e->file.min_sequence = e->file.max_sequence = 0;
  }
}

static messages make_messages(recommit *r, const tn_snapshot *s, const tn_snapshot *before) {
  bool is_compaction = s->commit_kind == TN_COMMIT_COMPACT;
  entries delta = read_entries(r, s->id, s->delta_manifest_list);
  entries changelog = read_entries(r, s->id, s->changelog_manifest_list);
  indexes old = read_indexes(r, s->id, r->original, before->index_manifest);
  indexes now = read_indexes(r, s->id, r->original, s->index_manifest);
  messages m = {.r = r};
  for (size_t i = 0; i < delta.count + changelog.count; i++) {
    bool is_changelog = i >= delta.count;
    tn_manifest_entry *e = is_changelog ? &changelog.items[i - delta.count] : &delta.items[i];
    tn_commit_message *to = add(&m, e->partition, e->bucket);
    bool is_add = e->kind == TN_FILE_ADD;
    tn_data_files *list = is_changelog
                              ? (is_compaction ? &to->compact_changelog : &to->changelog_files)
                          : is_compaction ? (is_add ? &to->compact_after : &to->compact_before)
                                          : (is_add ? &to->new_files : &to->deleted_files);
    forget_assigned(r, s, before, e);
    to->has_total_buckets = true;
    to->total_buckets = e->total_buckets;
    list->items = &e->file;
    list->n = 1;
  }
  for (size_t i = 0; i < old.count + now.count; i++) {
    bool is_new = i >= old.count;
    tn_index_entry *e = is_new ? &now.items[i - old.count] : &old.items[i];
    tn_commit_message *to;
    tn_index_files *list;
    if (has_index(is_new ? &old : &now, e)) {
      continue;
    }
    to = add(&m, e->partition, e->bucket);
    list = is_compaction ? (is_new ? &to->compact_new_indexes : &to->compact_deleted_indexes)
                         : (is_new ? &to->new_indexes : &to->deleted_indexes);
    list->items = e;
    list->n = 1;
  }
  return m;
}

/* ------------------------------------------------------------------ commits */

static bool takes_away(const messages *m) {
  for (size_t i = 0; i < m->count; i++) {
    if (m->items[i].deleted_files.n > 0 ||
        (m->items[i].new_indexes.n > 0 &&
         tn_slice_is(m->items[i].new_indexes.items[0].index_type, "DELETION_VECTORS"))) {
      return true;
    }
  }
  return false;
}

static void copy_file(recommit *r, const char *name) {
  char from[4096], to[4096];
  tn_buf buf;
  snprintf(from, sizeof(from), "%s/%s", r->source, name);
  snprintf(to, sizeof(to), "%s/%s", r->copy, name);
  tn_buf_init(&buf, &r->env->mem, LIMIT);
  CHECK(0, tn_storage_read_all(r->storage, from, &buf, &r->err));
  CHECK(0, tn_storage_publish(r->storage, to, tn_buf_slice(&buf), &r->err));
  tn_buf_reset(&buf);
}

/* Schemas come as they came in the source; the table is opened with the newest one. */
static void bring_schemas(recommit *r, int64_t up_to) {
  static const tn_option options[] = {{"overwrite-upgrade", "false"},
                                      {"manifest.merge-min-count", "2"}};
  tn_schema *schema = NULL;
  if (r->n_schemas > up_to) {
    return;
  }
  for (; r->n_schemas <= up_to; r->n_schemas++) {
    char name[64];
    snprintf(name, sizeof(name), "schema/schema-%" PRId64, r->n_schemas);
    copy_file(r, name);
  }
  CHECK(0, tn_schema_load(r->env, r->storage, r->source, up_to, &schema, &r->err));
  tn_table_release(r->table);
  tn_table_release(r->original);
  CHECK(0, tn_table_create(r->env, r->storage, "db.t", r->copy, "main", r->copy, schema, options,
                           r->merges ? 2 : 1, &r->table, &r->err));
  CHECK(0, tn_table_create(r->env, r->storage, "db.t", r->source, "main", r->source, schema, NULL,
                           0, &r->original, &r->err));
  tn_schema_release(schema);
}

static void analyze(recommit *r, const tn_snapshot *s, const tn_commit_options *options,
                    tn_commit_result *result) {
  char path[4096];
  tn_buf buf;
  snprintf(path, sizeof(path), "%s/statistics/%s", r->source, s->statistics);
  tn_buf_init(&buf, &r->env->mem, LIMIT);
  CHECK(s->id, tn_storage_read_all(r->storage, path, &buf, &r->err));
  CHECK(s->id,
        tn_commit_analyze(r->table, options, tn_buf_slice(&buf), s->id - 1, result, &r->err));
  tn_buf_reset(&buf);
}

static void commit_again(recommit *r, const tn_snapshot *s, const tn_snapshot *before) {
  tn_commit_options options = {.user = s->commit_user};
  messages m = make_messages(r, s, before);
  tn_committable c = {.identifier = s->commit_identifier,
                      .watermark = s->watermark,
                      .has_watermark = s->has_watermark,
                      .properties = s->properties,
                      .n_properties = s->n_properties,
                      .messages = m.items,
                      .n_messages = (int32_t)m.count};
  tn_commit_result result;
  options.commits_empty = m.count == 0;
  if (s->commit_kind == TN_COMMIT_ANALYZE) {
    analyze(r, s, &options, &result);
  } else if (s->commit_kind == TN_COMMIT_COMPACT && m.count == 0) {
    CHECK(s->id, tn_commit_compact_manifests(r->table, &options, &result, &r->err));
  } else if (s->commit_kind == TN_COMMIT_OVERWRITE && !takes_away(&m)) {
    const tn_pred *none = tn_pred_constant(&r->arena, false);
    CHECK(s->id, tn_commit_overwrite(r->table, &options, &c, m.count == 0 ? none : NULL,
                                     m.count > 0, &result, &r->err));
  } else {
    CHECK(s->id, tn_commit_append(r->table, &options, &c, &result, &r->err));
  }
  if (result.last_id != s->id) {
    printf("snapshot %" PRId64 ": the copy has made %" PRId64 "\n", s->id, result.last_id);
    exit(1);
  }
}

/* ------------------------------------------------------------------ differences */

static void differ(int64_t id, const char *what, int64_t wanted, int64_t found) {
  if (wanted != found) {
    printf("snapshot %" PRId64 ": %s: %" PRId64 " in the source, %" PRId64 " in the copy\n", id,
           what, wanted, found);
    exit(1);
  }
}

static void compare_lists(recommit *r, int64_t id, const char *what, const char *wanted,
                          const char *found) {
  lists a = read_list(r, r->original, id, wanted), b = read_list(r, r->table, id, found);
  char name[64];
  differ(id, what, (int64_t)a.count, (int64_t)b.count);
  for (size_t i = 0; i < a.count; i++) {
    const tn_manifest_file *x = &a.items[i], *y = &b.items[i];
#define MEMBER(member)                                          \
  snprintf(name, sizeof(name), "%s %zu: %s", what, i, #member); \
  differ(id, name, (int64_t)x->member, (int64_t)y->member)
    MEMBER(n_added);
    MEMBER(n_deleted);
    MEMBER(schema_id);
    if (x->has_buckets_min) { /* since 1.1 */
      MEMBER(min_bucket);
      MEMBER(max_bucket);
      MEMBER(min_level);
      MEMBER(max_level);
    }
    if (x->has_row_id_min) { /* since 1.4 */
      MEMBER(has_row_id_min);
      MEMBER(min_row_id);
      MEMBER(max_row_id);
    }
    MEMBER(partition_stats.null_counts.count);
    snprintf(name, sizeof(name), "%s %zu: partition statistics", what, i);
    differ(id, name, 1,
           tn_slice_equal(x->partition_stats.min_values, y->partition_stats.min_values) &&
               tn_slice_equal(x->partition_stats.max_values, y->partition_stats.max_values) &&
               memcmp(x->partition_stats.null_counts.items, y->partition_stats.null_counts.items,
                      (size_t)x->partition_stats.null_counts.count * sizeof(int64_t)) == 0);
  }
}

static void compare(recommit *r, const tn_snapshot *s) {
  tn_snapshot t;
  indexes a, b;
  CHECK(s->id, tn_snapshot_read(r->env, r->storage, r->copy, s->id, &r->arena, &t, &r->err));
  differ(s->id, "version", 3, t.version);
  differ(s->id, "schemaId", s->schema_id, t.schema_id);
  differ(s->id, "commitKind", s->commit_kind, t.commit_kind);
  differ(s->id, "commitIdentifier", s->commit_identifier, t.commit_identifier);
  differ(s->id, "commitUser", 0, strcmp(s->commit_user, t.commit_user));
  differ(s->id, "timeMillis", s->time_ms, t.time_ms);
  differ(s->id, "totalRecordCount", s->total_record_count, t.total_record_count);
  differ(s->id, "deltaRecordCount", s->delta_record_count, t.delta_record_count);
  differ(s->id, "changelogRecordCount", s->changelog_record_count, t.changelog_record_count);
  differ(s->id, "watermark", s->has_watermark ? s->watermark : 0,
         t.has_watermark ? t.watermark : 0);
  differ(s->id, "nextRowId", s->next_row_id, t.next_row_id);
  differ(s->id, "properties", s->n_properties, t.n_properties);
  differ(s->id, "statistics", s->statistics != NULL, t.statistics != NULL);
  differ(s->id, "indexManifest", s->index_manifest != NULL, t.index_manifest != NULL);
  compare_lists(r, s->id, "delta list", s->delta_manifest_list, t.delta_manifest_list);
  compare_lists(r, s->id, "changelog list", s->changelog_manifest_list, t.changelog_manifest_list);
  a = read_indexes(r, s->id, r->original, s->index_manifest);
  b = read_indexes(r, s->id, r->table, t.index_manifest);
  differ(s->id, "index files", (int64_t)a.count, (int64_t)b.count);
  for (size_t i = 0; i < a.count; i++) {
    differ(s->id, "an index file", 1, has_index(&b, &a.items[i]));
  }
}

int main(int argc, char **argv) {
  tarn_env_options options = TARN_ENV_OPTIONS_INIT;
  recommit state = {.merges = argc == 4}, *r = &state;
  tn_snapshot before = {0};
  int64_t *ids = NULL;
  int32_t n_ids = 0;
  if (argc < 3) {
    fprintf(stderr, "usage: recommit SOURCE COPY [--merge]\n");
    return 2;
  }
  r->source = argv[1];
  r->copy = argv[2];
  options.threads = 1;
  options.clock_ms = clock_ms;
  options.clock_ctx = r;
  CHECK(0, tarn_env_create(&options, &r->env, &r->err));
  CHECK(0, tn_storage_local(r->env, &r->storage, &r->err));
  tn_arena_init(&r->arena, &r->env->mem, LIMIT);
  CHECK(0, tn_snapshot_ids(r->env, r->storage, r->source, "snapshot", &r->arena, &ids, &n_ids,
                           &r->err));
  if (n_ids == 0 || ids[0] != 1 || ids[n_ids - 1] != n_ids) {
    printf("the first snapshots are not there\n");
    return 3;
  }
  for (int32_t i = 0; i < n_ids; i++) {
    tn_snapshot s;
    CHECK(ids[i], tn_snapshot_read(r->env, r->storage, r->source, ids[i], &r->arena, &s, &r->err));
    bring_schemas(r, s.schema_id);
    r->now_ms = s.time_ms;
    commit_again(r, &s, &before);
    compare(r, &s);
    before = s;
  }
  CHECK(0, tn_schema_ids(r->env, r->storage, r->source, &r->arena, &ids, &n_ids, &r->err));
  bring_schemas(r, ids[n_ids - 1]);
  tn_table_release(r->table);
  tn_table_release(r->original);
  tn_arena_reset(&r->arena);
  tn_storage_release(r->storage);
  tarn_env_free(r->env);
  return 0;
}
