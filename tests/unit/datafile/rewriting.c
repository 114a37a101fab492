/* rewriting.c - rows of a file through the writer, its metadata beside Java's. */
#include "rewriting.h"

#include <stdio.h>

#include "datafile/data_reader.h"
#include "datafile/data_writer.h"
#include "index/file_index.h"
#include "model/partition.h"
#include "plan/entries.h"
#include "support/test.h"

#define MUST(expr)                                                        \
  do {                                                                    \
    tarn_error must_err_ = {0};                                           \
    tarn_error *err = &must_err_;                                         \
    if ((expr) != TARN_OK) {                                              \
      fail_msg("%s:%d: %s: %s", __FILE__, __LINE__, #expr, err->message); \
    }                                                                     \
  } while (0)

/* One table; it is read where it is and written into memory. */
typedef struct table_walk {
  tarn_env *env;
  tn_storage *disk, *memory;
  const char *path;
  rewriting *r;
  tn_arena arena;
} table_walk;

/* ------------------------------------------------------------------ comparing */

static void put_hex(tn_slice s) {
  for (size_t i = 0; i < s.len && i < 200; i++) {
    printf("%02x", s.data[i]);
  }
}

static bool same_bytes(const char *what, tn_slice a, tn_slice b) {
  if (tn_slice_equal(a, b)) {
    return true;
  }
  printf("  %s: ours ", what);
  put_hex(a);
  printf("\n  %*s  Java ", (int)strlen(what), "");
  put_hex(b);
  printf("\n");
  return false;
}

static bool same_number(const char *what, int64_t a, int64_t b) {
  if (a != b) {
    printf("  %s: ours %lld, Java %lld\n", what, (long long)a, (long long)b);
  }
  return a == b;
}

static bool same_names(const char *what, bool has_a, const tn_record_array *a, bool has_b,
                       const tn_record_array *b) {
  const tn_slice *x = a->items, *y = b->items;
  bool same = has_a == has_b && (!has_a || a->count == b->count);
  for (int64_t i = 0; same && has_a && i < a->count; i++) {
    same = tn_slice_equal(x[i], y[i]);
  }
  if (!same) {
    printf("  %s: ours", what);
    for (int64_t i = 0; has_a && i < a->count; i++) {
      printf(" %.*s", TN_SLICE_ARG(x[i]));
    }
    printf("%s, Java", has_a ? "" : " null");
    for (int64_t i = 0; has_b && i < b->count; i++) {
      printf(" %.*s", TN_SLICE_ARG(y[i]));
    }
    printf("%s\n", has_b ? "" : " null");
  }
  return same;
}

static bool same_stats(const char *what, const tn_simple_stats *a, const tn_simple_stats *b) {
  const int64_t *x = a->null_counts.items, *y = b->null_counts.items;
  bool same = same_bytes("least values", a->min_values, b->min_values);
  same = same_bytes("greatest values", a->max_values, b->max_values) && same;
  same = same_number("null counts", a->null_counts.count, b->null_counts.count) && same;
  for (int64_t i = 0; i < a->null_counts.count && i < b->null_counts.count; i++) {
    same = same_number("null count", x[i], y[i]) && same;
  }
  if (!same) {
    printf("  in %s\n", what);
  }
  return same;
}

static bool same_metadata(const tn_data_file *a, const tn_data_file *b, bool has_number) {
  bool same = same_number("rows", a->row_count, b->row_count);
  same = same_bytes("least key", a->min_key, b->min_key) && same;
  same = same_bytes("greatest key", a->max_key, b->max_key) && same;
  same = same_stats("key statistics", &a->key_stats, &b->key_stats) && same;
  same = same_stats("value statistics", &a->value_stats, &b->value_stats) && same;
  same = same_names("value columns", a->has_value_stats_cols, &a->value_stats_cols,
                    b->has_value_stats_cols, &b->value_stats_cols) &&
         same;
  same = same_names("written columns", a->has_write_cols, &a->write_cols, b->has_write_cols,
                    &b->write_cols) &&
         same;
  if (has_number) {
    same = same_number("least number", a->min_sequence, b->min_sequence) && same;
    same = same_number("greatest number", a->max_sequence, b->max_sequence) && same;
  }
  same = same_number("schema", a->schema_id, b->schema_id) && same;
  same = same_number("level", a->level, b->level) && same;
  same = same_number("deleted", a->delete_row_count, b->delete_row_count) && same;
  same =
      same_number("source", a->has_source ? a->source : -1, b->has_source ? b->source : -1) && same;
  same = same_number("extra files", a->extra_files.count, b->extra_files.count) && same;
  same = same_number("embedded index", a->has_embedded_index, b->has_embedded_index) && same;
  return same_number("external", a->has_external_path, b->has_external_path) && same;
}

/* The container of a file: embedded, or the file beside it. */
static tn_slice container_of(table_walk *w, tn_storage *storage, const char *folder,
                             const tn_data_file *file) {
  const tn_slice *extras = file->extra_files.items;
  tn_slice out = file->embedded_index;
  if (!file->has_embedded_index && file->extra_files.count > 0) {
    tn_buf buf;
    const char *path = tn_arena_printf(&w->arena, "%s/%.*s", folder, TN_SLICE_ARG(extras[0]));
    tn_buf_init(&buf, &w->env->mem, 1u << 28);
    MUST(tn_storage_read_all(storage, path, &buf, err));
    assert_true(tn_arena_slice(&w->arena, tn_buf_slice(&buf), &out));
    tn_buf_reset(&buf);
  }
  return out;
}

/* The same indexes; their bytes, but those of bitmap indexes, whose bitmaps Java puts in the order
 * of its hash table. */
static bool same_indexes(table_walk *w, tn_slice ours, tn_slice javas) {
  tn_file_index *a = NULL, *b = NULL;
  int32_t n_a, n_b;
  bool same = true;
  MUST(tn_file_index_open(w->env, ours, "ours", &a, err));
  MUST(tn_file_index_open(w->env, javas, "Java", &b, err));
  const tn_index_part *x = tn_file_index_parts(a, &n_a), *y = tn_file_index_parts(b, &n_b);
  same = same_number("indexes", n_a, n_b);
  for (int32_t i = 0; i < n_b; i++) {
    int32_t k = 0;
    while (k < n_a &&
           !(tn_slice_equal(x[k].column, y[i].column) && tn_slice_equal(x[k].kind, y[i].kind))) {
      k++;
    }
    if (k == n_a || !same_number("length of an index", x[k].length, y[i].length)) {
      same = false;
    } else if (y[i].start >= 0 && !tn_slice_is(y[i].kind, "bitmap")) {
      same = same_bytes("index", tn_slice_of(ours.data + x[k].start, (size_t)x[k].length),
                        tn_slice_of(javas.data + y[i].start, (size_t)y[i].length)) &&
             same;
    } else {
      same = same_number("start of an index", x[k].start < 0, y[i].start < 0) && same;
    }
  }
  tn_file_index_release(a);
  tn_file_index_release(b);
  return same;
}

/* ------------------------------------------------------------------ one file */

static const char *path_of(table_walk *w, tn_table *table, const tn_manifest_entry *entry) {
  const char *path;
  if (entry->file.has_external_path) {
    const char *text = tn_arena_strndup(&w->arena, (const char *)entry->file.external_path.data,
                                        entry->file.external_path.len);
    MUST(tn_path_plain(&w->arena, text, &path, err));
    return path;
  }
  MUST(tn_bucket_folder(table, entry->partition, entry->bucket, &w->arena, &path, err));
  return tn_arena_printf(&w->arena, "%s/%.*s", path, TN_SLICE_ARG(entry->file.file_name));
}

static const char *folder_of(table_walk *w, const char *path) {
  return tn_arena_strndup(&w->arena, path, (size_t)(strrchr(path, '/') - path));
}

static bool ends_with(tn_slice s, const char *end) {
  size_t n = strlen(end);
  return s.len >= n && memcmp(s.data + s.len - n, end, n) == 0;
}

/* The rows of the file, from one table to the other. */
static void copy_rows(table_walk *w, tn_table *table, tn_write_shape *to, const char *path,
                      const tn_manifest_entry *entry, tn_data_writer *writer) {
  int32_t n_fields;
  const tn_field *fields = tn_write_shape_fields(to, &n_fields);
  tn_data_shape *shape = NULL;
  tn_data_reader *reader = NULL;
  tn_batch batch = {0};
  const uint8_t *alive;
  tn_data_request request = {.file = &entry->file, .path = path, .partition = entry->partition};
  MUST(tn_data_shape_create(table, fields, n_fields, NULL, 0, table->facts.has_primary_key, &shape,
                            err));
  request.shape = shape;
  MUST(tn_data_reader_open(&request, &reader, err));
  for (;;) {
    MUST(tn_data_reader_next(reader, 700, &batch, &alive, err));
    if (batch.n_rows == 0) {
      break;
    }
    MUST(tn_data_writer_write(writer, &batch, err));
  }
  tn_batch_reset(w->env, &batch);
  tn_data_reader_free(reader);
  tn_data_shape_free(shape);
}

/* The columns of a file that has not all of them; false: some are none of the table's. */
static bool find_columns(table_walk *w, const tn_schema *schema, const tn_data_file *file,
                         int32_t **columns) {
  const tn_slice *names = file->write_cols.items;
  int32_t *out = tn_arena_calloc(&w->arena, (size_t)file->write_cols.count, sizeof(*out));
  for (int64_t i = 0; i < file->write_cols.count; i++) {
    out[i] = tn_fields_find(schema->fields, schema->n_fields, names[i]);
    if (out[i] < 0) {
      return false;
    }
  }
  *columns = out;
  return true;
}

static void leave_out(table_walk *w, const tn_manifest_entry *entry, const char *why) {
  w->r->n_left_out++;
  if (w->r->tells) {
    printf("  left out: %.*s: %s\n", TN_SLICE_ARG(entry->file.file_name), why);
  }
}

static void rewrite_with(table_walk *w, tn_table *from, tn_table *to, const char *path,
                         const tn_manifest_entry *entry) {
  const tn_data_file *file = &entry->file;
  bool is_key_value = to->facts.has_primary_key;
  tn_write_shape *shape = NULL;
  tn_data_writer *writer = NULL;
  tn_data_file *files;
  int32_t n_files, *columns = NULL;
  tarn_error error = {0};
  if (file->has_write_cols && !find_columns(w, to->schema, file, &columns)) {
    leave_out(w, entry, "columns that no table has");
    return;
  }
  if (tn_write_shape_create(to, is_key_value, columns,
                            columns != NULL ? (int32_t)file->write_cols.count : 0, &shape,
                            &error) != TARN_OK) {
    leave_out(w, entry, error.message);
    return;
  }
  MUST(tn_data_writer_create(
      &(tn_data_writer_request){
          .shape = shape,
          .partition = entry->partition,
          .bucket = entry->bucket,
          .level = file->level,
          .is_compaction = file->has_source && file->source == TN_SOURCE_COMPACT,
          .is_changelog = tn_slice_starts_with(file->file_name, tn_slice_text("changelog-")),
          .first_sequence = file->min_sequence},
      &writer, err));
  copy_rows(w, from, shape, path, entry, writer);
  MUST(tn_data_writer_finish(writer, &w->arena, &files, &n_files, err));
  assert_int_equal(n_files, 1);
  if (!ends_with(files[0].file_name, strrchr(path, '.'))) {
    leave_out(w, entry, "another format at its level");
  } else {
    tn_slice ours = container_of(w, w->memory, folder_of(w, path_of(w, to, entry)), &files[0]);
    tn_slice javas = container_of(w, w->disk, folder_of(w, path), file);
    w->r->n_files++;
    if (ours.len > 0 && javas.len > 0 && !same_indexes(w, ours, javas)) {
      printf("^ indexes of %s\n", path);
      w->r->n_different++;
    }
    if (!same_metadata(&files[0], file, is_key_value || !to->facts.row_tracking)) {
      printf("^ %s\n", path);
      w->r->n_different++;
    }
  }
  tn_data_writer_free(writer);
  tn_write_shape_free(shape);
}

static tarn_status rewrite_entry(void *ctx, const tn_manifest_entry *entry, tarn_error *error) {
  table_walk *w = ctx;
  tn_schema *schema = NULL;
  tn_table *from = NULL, *to = NULL;
  const char *path;
  (void)error;
  if (entry->kind != TN_FILE_ADD) {
    return TARN_OK;
  }
  MUST(tn_schema_load(w->env, w->disk, w->path, entry->file.schema_id, &schema, err));
  MUST(tn_table_create(w->env, w->disk, "d.t", w->path, "main", w->path, schema, NULL, 0, &from,
                       err));
  MUST(tn_table_create(w->env, w->memory, "d.t", "/t", "main", "/t", schema, NULL, 0, &to, err));
  path = path_of(w, from, entry);
  if (!ends_with(entry->file.file_name, ".parquet") && !ends_with(entry->file.file_name, ".avro")) {
    leave_out(w, entry, "its format");
  } else if (!tn_storage_exists(w->disk, path)) {
    leave_out(w, entry, "it is gone");
  } else {
    rewrite_with(w, from, to, path, entry);
  }
  tn_table_release(from);
  tn_table_release(to);
  tn_schema_release(schema);
  return TARN_OK;
}

static tarn_status rewrite_manifest(void *ctx, const char *name, bool is_directory,
                                    tarn_error *err) {
  table_walk *w = ctx;
  tn_manifest_name named = {name, -1, -1};
  if (is_directory || strncmp(name, "manifest-", 9) != 0 ||
      strncmp(name, "manifest-list-", 14) == 0) {
    return TARN_OK;
  }
  return tn_manifest_read(w->env, w->disk, &tn_plan_readers, w->path, &named, rewrite_entry, w,
                          err);
}

void rewrite_table(tarn_env *env, tn_storage *storage, const char *path, rewriting *r) {
  table_walk w = {.env = env, .disk = storage, .path = path, .r = r};
  const char *manifests;
  tn_arena_init(&w.arena, &env->mem, SIZE_MAX);
  MUST(tn_storage_memory(env, &w.memory, err));
  manifests = tn_arena_printf(&w.arena, "%s/manifest", path);
  MUST(tn_storage_list(w.disk, manifests, rewrite_manifest, &w, err));
  tn_storage_release(w.memory);
  tn_arena_reset(&w.arena);
}
