/* system_files.c - $files and $file_key_ranges: the data files that a batch read would see, and
 * those of level 0 that it would not. Rows are made piece by piece from one plan.
 *
 * Rule: table.system.{FilesTable,FileKeyRangesTable}, stats.SimpleStatsEvolution; spec:
 * system-tables, $files.
 */
#include <stdlib.h>
#include <string.h>

#include "catalog/system_kinds.h"
#include "column/cast.h"
#include "plan/plan.h"

static const tn_field text_element[] = {TN_TEXT(-1, "element", TN_NULLABLE)};

#define FILE_FIELDS                                                                           \
  TN_TEXT(0, "partition", TN_NULLABLE), TN_INTEGER(1, "bucket", TN_NOT_NULL),                 \
      TN_TEXT(2, "file_path", TN_NOT_NULL), TN_TEXT(3, "file_format", TN_NOT_NULL),           \
      TN_LONG(4, "schema_id", TN_NOT_NULL), TN_INTEGER(5, "level", TN_NOT_NULL),              \
      TN_LONG(6, "record_count", TN_NOT_NULL), TN_LONG(7, "file_size_in_bytes", TN_NOT_NULL), \
      TN_TEXT(8, "min_key", TN_NULLABLE), TN_TEXT(9, "max_key", TN_NULLABLE)

static const tn_field file_fields[] = {
    FILE_FIELDS,
    TN_TEXT(10, "null_value_counts", TN_NOT_NULL),
    TN_TEXT(11, "min_value_stats", TN_NOT_NULL),
    TN_TEXT(12, "max_value_stats", TN_NOT_NULL),
    TN_LONG(13, "min_sequence_number", TN_NULLABLE),
    TN_LONG(14, "max_sequence_number", TN_NULLABLE),
    TN_TIME3(15, "creation_time", TN_NULLABLE),
    TN_LONG(16, "deleteRowCount", TN_NULLABLE),
    TN_TEXT(17, "file_source", TN_NULLABLE),
    TN_LONG(18, "first_row_id", TN_NULLABLE),
    TN_LIST(19, "write_cols", TN_NULLABLE, text_element),
};
enum { NULL_COUNTS = 10, MIN_STATS = 11, MAX_STATS = 12 };

static const tn_field range_fields[] = {FILE_FIELDS, TN_LONG(10, "first_row_id", TN_NULLABLE)};

/* ------------------------------------------------------------------ the scan */

typedef struct files_scan {
  tn_mem *mem;
  tn_table *table; /* as the scan's, but level 0 is seen */
  tn_plan *plan;
  int32_t split, file; /* the next one */
  tn_arena arena;
  tn_buf text, partition;   /* partition: of `split` */
  const tn_field **by_name; /* columns of the table */
  tn_schema *schema;        /* of the file before; NULL: none yet */
  int32_t *places;          /* columns of the table in it; -1: it lacks them */
} files_scan;

static void files_finish(tn_system_scan *scan) {
  files_scan *f = scan->state;
  if (f != NULL) {
    tn_mem *mem = f->mem;
    tn_schema_release(f->schema);
    tn_plan_release(f->plan);
    tn_table_release(f->table);
    tn_buf_reset(&f->text);
    tn_buf_reset(&f->partition);
    tn_arena_reset(&f->arena);
    tn_free(mem, f);
  }
}

static int compare_names(const void *a, const void *b) {
  return strcmp((*(const tn_field *const *)a)->name, (*(const tn_field *const *)b)->name);
}

static tarn_status sort_columns(files_scan *f, tarn_error *err) {
  const tn_schema *schema = f->table->schema;
  f->by_name = tn_arena_calloc(&f->arena, (size_t)schema->n_fields, sizeof(*f->by_name));
  f->places = tn_arena_calloc(&f->arena, (size_t)schema->n_fields, sizeof(*f->places));
  if (f->by_name == NULL || f->places == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < schema->n_fields; i++) {
    f->by_name[i] = &schema->fields[i];
  }
  qsort(f->by_name, (size_t)schema->n_fields, sizeof(*f->by_name), compare_names);
  return TARN_OK;
}

static tarn_status files_start(tn_system_scan *scan, bool has_stats, tarn_error *err) {
  tn_mem *mem = &scan->env->mem;
  files_scan *f = tn_calloc(mem, 1, sizeof(*f));
  tn_scan request = {.limit = -1, .keeps_stats = has_stats, .cancel = scan->cancel};
  if (f == NULL) {
    return tn_oom(err);
  }
  scan->state = f;
  f->mem = mem;
  tn_arena_init(&f->arena, mem, TN_SYSTEM_TEXT_BYTES);
  tn_buf_init(&f->text, mem, TN_SYSTEM_TEXT_BYTES);
  tn_buf_init(&f->partition, mem, TN_SYSTEM_TEXT_BYTES);
  TN_TRY(tn_table_with_schema(scan->table, scan->table->schema, &f->table, err));
  f->table->facts.skips_level_0 = false;  // nobody else has seen this table yet
  TN_TRY(sort_columns(f, err));
  request.table = f->table;
  return tn_plan_create(&request, &f->plan, err);
}

/* ------------------------------------------------------------------ schemas of files */

static tarn_status use_schema(files_scan *f, int64_t id, tarn_error *err) {
  const tn_schema *now = f->table->schema;
  tn_schema *schema;
  if (f->schema != NULL && f->schema->id == id) {
    return TARN_OK;
  }
  TN_TRY(tn_table_schema(f->table, id, &schema, err));
  tn_schema_release(f->schema);
  f->schema = schema;
  for (int32_t i = 0; i < now->n_fields; i++) {
    f->places[i] = tn_fields_find_id(schema->fields, schema->n_fields, now->fields[i].id);
  }
  return TARN_OK;
}

/* Arrays.toString of a key: "[k1, k2]". A file without keys has null. */
static tarn_status set_key(tn_system_rows *rows, files_scan *f, int32_t column, tn_slice key,
                           tarn_error *err) {
  const tn_schema *schema = f->schema;
  tn_binary_row row;
  if (key.len == 0 || !tn_system_rows_wants(rows, column)) {
    return TARN_OK;
  }
  TN_TRY(tn_binary_row_decode(key, "key range of a file", &row, err));
  if (row.arity <= 0) {
    return TARN_OK;
  }
  f->text.len = 0;
  for (int32_t i = 0; i < row.arity; i++) {
    bool has_keys = schema->n_key_columns > 0;
    const tn_field *field;
    tn_datum value;
    if (i >= (has_keys ? schema->n_key_columns : schema->n_fields)) {
      return tn_fail(err, TARN_E_CORRUPT, "a key of %d columns in a file of schema %lld", row.arity,
                     (long long)schema->id);
    }
    field = &schema->fields[has_keys ? schema->key_columns[i] : i];
    TN_TRY(tn_binary_row_get(&row, i, &field->type, &value, err));
    TN_TRY(tn_buf_text(&f->text, i > 0 ? ", " : "[", err));
    TN_TRY(tn_system_java_text(&field->type, &value, f->table->env->zone, &f->text, err));
  }
  TN_TRY(tn_buf_text(&f->text, "]", err));
  return tn_system_rows_slice(rows, column, tn_buf_slice(&f->text), err);
}

/* ------------------------------------------------------------------ statistics */

/* Where the statistics of a column are, when they are nowhere. */
enum {
  STAT_ABSENT = -1,  /* the file's schema lacks the column: all null */
  STAT_UNKNOWN = -2, /* none were kept */
  STAT_HIDDEN = -3   /* the file does not hold the column: not listed */
};

static int32_t find_text(const tn_record_array *texts, const char *text) {
  const tn_slice *items = texts->items;
  for (int64_t i = 0; i < texts->count; i++) {
    if (tn_slice_is(items[i], text)) {
      return (int32_t)i;
    }
  }
  return -1;
}

static int32_t stat_place(const files_scan *f, const tn_data_file *file, int32_t column,
                          int32_t arity) {
  int32_t place = f->places[column];
  const char *name;
  if (place < 0) {
    return STAT_ABSENT;
  }
  name = f->schema->fields[place].name;
  if (file->has_value_stats_cols) {
    place = find_text(&file->value_stats_cols, name);
    return place >= 0 && place < arity ? place : STAT_UNKNOWN;
  }
  if (file->has_write_cols) {
    place = find_text(&file->write_cols, name);
  }
  return place >= 0 && place < arity ? place : STAT_HIDDEN;
}

/* A bound in the type that the column has now; null where it cannot be told. */
static tarn_status bound_text(files_scan *f, const tn_binary_row *bounds, int32_t column,
                              int32_t place, tn_arena *scratch, tn_buf *out, tarn_error *err) {
  const tn_type *now = &f->table->schema->fields[column].type;
  const tn_type *then;
  tn_layout layout = tn_type_layout(now);
  tn_datum value = {.is_null = true};
  if (place >= 0 && layout != TN_LAYOUT_LIST && layout != TN_LAYOUT_FIXED_LIST &&
      layout != TN_LAYOUT_STRUCT) {
    then = &f->schema->fields[f->places[column]].type;
    layout = tn_type_layout(then);
    if (layout != TN_LAYOUT_LIST && layout != TN_LAYOUT_FIXED_LIST && layout != TN_LAYOUT_STRUCT) {
      TN_TRY(tn_binary_row_get(bounds, place, then, &value, err));
    }
    if (!value.is_null && !tn_type_equal(then, now, false)) {
      tn_datum cast;
      tarn_status st = tn_cast_datum(scratch, f->table->env->zone, then, &value, now, &cast, NULL);
      if (st == TARN_E_NOMEM) {
        return tn_oom(err);
      }
      value = st == TARN_OK ? cast : (tn_datum){.is_null = true};
    }
  }
  return tn_system_java_text(now, &value, f->table->env->zone, out, err);
}

static tarn_status count_text(const tn_data_file *file, int32_t place, tn_buf *out,
                              tarn_error *err) {
  const tn_record_array *counts = &file->value_stats.null_counts;
  int64_t count = INT64_MIN;
  if (place == STAT_ABSENT) {
    count = file->row_count;
  } else if (place >= 0 && file->value_stats.has_null_counts && place < counts->count) {
    count = ((const int64_t *)counts->items)[place];
  }
  return count == INT64_MIN ? tn_buf_text(out, "null", err)
                            : tn_buf_printf(out, err, "%lld", (long long)count);
}

/* TreeMap.toString: "{a=0, b=null}". */
static tarn_status set_stats(tn_system_scan *scan, files_scan *f, const tn_data_file *file,
                             int32_t column, tarn_error *err) {
  tn_slice bytes =
      column == MAX_STATS ? file->value_stats.max_values : file->value_stats.min_values;
  const tn_schema *schema = f->table->schema;
  const char *between = "";
  tn_binary_row row = {0};
  if (!tn_system_rows_wants(&scan->rows, column)) {
    return TARN_OK;
  }
  if (bytes.len > 0) {
    TN_TRY(tn_binary_row_decode(bytes, "statistics of a file", &row, err));
  }
  f->text.len = 0;
  TN_TRY(tn_buf_text(&f->text, "{", err));
  for (int32_t i = 0; i < schema->n_fields; i++) {
    int32_t c = (int32_t)(f->by_name[i] - schema->fields),
            place = stat_place(f, file, c, row.arity);
    if (place == STAT_HIDDEN) {
      continue;
    }
    TN_TRY(tn_buf_printf(&f->text, err, "%s%s=", between, schema->fields[c].name));
    TN_TRY(column == NULL_COUNTS ? count_text(file, place, &f->text, err)
                                 : bound_text(f, &row, c, place, &scan->scratch, &f->text, err));
    between = ", ";
  }
  TN_TRY(tn_buf_text(&f->text, "}", err));
  return tn_system_rows_slice(&scan->rows, column, tn_buf_slice(&f->text), err);
}

/* ------------------------------------------------------------------ rows */

static bool is_compression(tn_slice suffix) {
  static const char *const suffixes[] = {"gz", "bz2", "deflate", "snappy", "lz4", "zst"};
  for (size_t i = 0; i < TN_COUNT(suffixes); i++) {
    if (tn_slice_is(suffix, suffixes[i])) {
      return true;
    }
  }
  return false;
}

/* What stands behind the last dot, or before a suffix of compression. Rule:
 * io.DataFilePathFactory.formatIdentifier. */
static tn_slice format_of(tn_slice name) {
  size_t end = name.len, begin = name.len;
  for (int tries = 0; tries < 2; tries++) {
    while (begin > 0 && name.data[begin - 1] != '.') {
      begin--;
    }
    if (begin == 0) {
      return tries == 0 ? tn_slice_of(NULL, 0)
                        : tn_slice_of(name.data + end + 1, name.len - end - 1);
    }
    if (tries > 0 || !is_compression(tn_slice_of(name.data + begin, end - begin))) {
      break;
    }
    end = --begin;
  }
  return tn_slice_of(name.data + begin, end - begin);
}

static tarn_status set_path(tn_system_rows *rows, files_scan *f, const tn_split *split,
                            const tn_data_file *file, tarn_error *err) {
  if (!tn_system_rows_wants(rows, 2)) {
    return TARN_OK;
  }
  if (file->has_external_path) {
    return tn_system_rows_slice(rows, 2, file->external_path, err);
  }
  f->text.len = 0;
  TN_TRY(tn_buf_printf(&f->text, err, "%s/", split->bucket_path != NULL ? split->bucket_path : ""));
  TN_TRY(tn_buf_append(&f->text, file->file_name.data, file->file_name.len, err));
  return tn_system_rows_slice(rows, 2, tn_buf_slice(&f->text), err);
}

/* The columns that both tables have. */
static tarn_status add_file(tn_system_scan *scan, files_scan *f, const tn_split *split,
                            const tn_data_file *file, tarn_error *err) {
  tn_system_rows *rows = &scan->rows;
  TN_TRY(use_schema(f, file->schema_id, err));
  TN_TRY(tn_system_rows_add(rows, err));
  TN_TRY(tn_system_rows_slice(rows, 0, tn_buf_slice(&f->partition), err));
  tn_system_rows_int(rows, 1, split->bucket);
  TN_TRY(set_path(rows, f, split, file, err));
  TN_TRY(tn_system_rows_slice(rows, 3, format_of(file->file_name), err));
  tn_system_rows_int(rows, 4, file->schema_id);
  tn_system_rows_int(rows, 5, file->level);
  tn_system_rows_int(rows, 6, file->row_count);
  tn_system_rows_int(rows, 7, file->file_size);
  TN_TRY(set_key(rows, f, 8, file->min_key, err));
  return set_key(rows, f, 9, file->max_key, err);
}

static tarn_status set_write_cols(tn_system_rows *rows, const tn_data_file *file, tarn_error *err) {
  const tn_slice *names = file->write_cols.items;
  tn_cell *items;
  TN_TRY(tn_system_rows_list(rows, 19, file->write_cols.count, &items, err));
  for (int64_t i = 0; i < file->write_cols.count; i++) {
    TN_TRY(tn_system_cell_text(rows, &items[i], names[i], err));
  }
  return TARN_OK;
}

/* The further columns of $files. */
static tarn_status add_details(tn_system_scan *scan, files_scan *f, const tn_data_file *file,
                               tarn_error *err) {
  tn_system_rows *rows = &scan->rows;
  for (int32_t c = NULL_COUNTS; c <= MAX_STATS; c++) {
    TN_TRY(set_stats(scan, f, file, c, err));
  }
  tn_system_rows_int(rows, 13, file->min_sequence);
  tn_system_rows_int(rows, 14, file->max_sequence);
  if (file->has_creation_time) {
    tn_system_rows_int(rows, 15, file->creation_time_ms);
  }
  if (file->has_delete_row_count) {
    tn_system_rows_int(rows, 16, file->delete_row_count);
  }
  if (file->has_source && file->source != TN_SOURCE_UNKNOWN) {
    TN_TRY(tn_system_rows_text(rows, 17, file->source == TN_SOURCE_COMPACT ? "COMPACT" : "APPEND",
                               err));
  }
  if (file->has_first_row_id) {
    tn_system_rows_int(rows, 18, file->first_row_id);
  }
  return file->has_write_cols ? set_write_cols(rows, file, err) : TARN_OK;
}

static tarn_status next_files(tn_system_scan *scan, bool is_full, tarn_error *err) {
  files_scan *f;
  if (scan->state == NULL) {
    TN_TRY(files_start(scan,
                       is_full && (tn_system_rows_wants(&scan->rows, NULL_COUNTS) ||
                                   tn_system_rows_wants(&scan->rows, MIN_STATS) ||
                                   tn_system_rows_wants(&scan->rows, MAX_STATS)),
                       err));
  }
  f = scan->state;
  while (f->split < f->plan->n_splits && scan->rows.count < TN_SYSTEM_PIECE_ROWS) {
    const tn_split *split = &f->plan->splits[f->split];
    const tn_data_file *file;
    if (f->file == 0) {
      f->partition.len = 0;
      TN_TRY(tn_system_partition_text(f->table, split->partition, &f->partition, err));
    }
    // FilesTable lists what partitions of the main branch hold, which come from it alone.
    if (f->file == split->n_files || (split->has_branch && split->is_fallback)) {
      f->split++;
      f->file = 0;
      continue;
    }
    file = &split->files[f->file++];
    TN_TRY(add_file(scan, f, split, file, err));
    if (is_full) {
      TN_TRY(add_details(scan, f, file, err));
    } else if (file->has_first_row_id) {
      tn_system_rows_int(&scan->rows, 10, file->first_row_id);
    }
  }
  scan->has_more = f->split < f->plan->n_splits;
  return TARN_OK;
}

static tarn_status file_rows(tn_system_scan *scan, tarn_error *err) {
  return next_files(scan, true, err);
}

static tarn_status range_rows(tn_system_scan *scan, tarn_error *err) {
  return next_files(scan, false, err);
}

static const char *const keys[] = {"file_path"};

const tn_system_kind tn_system_files = {
    .name = "files",
    .fields = file_fields,
    .n_fields = (int32_t)TN_COUNT(file_fields),
    .primary_keys = keys,
    .n_primary_keys = 1,
    .rows = file_rows,
    .finish = files_finish,
};
const tn_system_kind tn_system_file_key_ranges = {
    .name = "file_key_ranges",
    .fields = range_fields,
    .n_fields = (int32_t)TN_COUNT(range_fields),
    .primary_keys = keys,
    .n_primary_keys = 1,
    .rows = range_rows,
    .finish = files_finish,
};
