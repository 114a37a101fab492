/* scan_filter.c - a predicate against partitions and statistics. */
#include "plan/scan_filter.h"

#include <math.h>
#include <stdio.h>

#include "datafile/row_tracking.h"
#include "index/file_index.h"

/* ------------------------------------------------------------------ splitting */

#define MAX_DEPTH 64 /* of predicates that are looked into */

static bool is_partition_field(void *ctx, int32_t field_id) {
  return tn_schema_partition_key(ctx, field_id) >= 0;
}

static bool is_key_field(void *ctx, int32_t field_id) {
  return tn_schema_key_column(ctx, field_id) >= 0;
}

static tarn_status join(tn_arena *arena, const tn_pred *const *parts, int32_t n_parts,
                        const tn_pred **out, tarn_error *err) {
  *out = NULL;
  if (n_parts > 0) {
    *out = n_parts == 1 ? parts[0] : tn_pred_compound(arena, TN_PRED_AND, parts, n_parts);
    return *out != NULL ? TARN_OK : tn_oom(err);
  }
  return TARN_OK;
}

/* What a predicate says of some columns alone, at least as weak: of an AND the children that say
 * something of them, of an OR those of all children. NULL: nothing.
 * Rule: org.apache.paimon.predicate.PredicateBuilder#transformFieldMapping. */
static tarn_status weaken(tn_arena *arena, const tn_pred *pred, bool (*is_field)(void *, int32_t),
                          void *ctx, int32_t depth, const tn_pred **out, tarn_error *err) {
  const tn_pred **children;
  int32_t n = 0;
  *out = NULL;
  if (tn_pred_only_uses(pred, is_field, ctx)) {
    *out = pred;
    return TARN_OK;
  }
  if ((pred->op != TN_PRED_AND && pred->op != TN_PRED_OR) || depth >= MAX_DEPTH) {
    return TARN_OK;
  }
  children = tn_arena_calloc(arena, (size_t)pred->n_children, sizeof(*children));
  if (children == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < pred->n_children; i++) {
    TN_TRY(weaken(arena, pred->children[i], is_field, ctx, depth + 1, &children[n], err));
    if (children[n] != NULL) {
      n++;
    } else if (pred->op == TN_PRED_OR) {
      return TARN_OK;
    }
  }
  if (n > 0) {
    *out = tn_pred_compound(arena, pred->op, children, n);
    return *out != NULL ? TARN_OK : tn_oom(err);
  }
  return TARN_OK;
}

tarn_status tn_scan_filter_init(tn_scan_filter *filter, tn_table *table, const tn_pred *predicate,
                                tn_arena *arena, tarn_error *err) {
  const tn_pred **parts = NULL, **of_partition, **of_value, **of_key;
  int32_t n_parts = 0, n_partition = 0, n_value = 0, n_key = 0;
  memset(filter, 0, sizeof(*filter));
  filter->table = table;
  TN_TRY(tn_bucket_filter_init(&filter->buckets, table, predicate, arena, err));
  if (predicate == NULL) {
    return TARN_OK;
  }
  TN_TRY(tn_pred_split_and(arena, predicate, &parts, &n_parts, err));
  of_partition = tn_arena_calloc(arena, (size_t)n_parts + 1, sizeof(*of_partition));
  of_value = tn_arena_calloc(arena, (size_t)n_parts + 1, sizeof(*of_value));
  of_key = tn_arena_calloc(arena, (size_t)n_parts + 1, sizeof(*of_key));
  if (of_partition == NULL || of_value == NULL || of_key == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < n_parts; i++) {
    if (parts[i]->op == TN_PRED_TRUE) {
      continue;
    }
    // A constant FALSE uses no column at all and so drops every partition.
    if (tn_pred_only_uses(parts[i], is_partition_field, table->schema)) {
      of_partition[n_partition++] = parts[i];
      continue;
    }
    of_value[n_value++] = parts[i];
    TN_TRY(weaken(arena, parts[i], is_partition_field, table->schema, 0, &of_partition[n_partition],
                  err));
    n_partition += of_partition[n_partition] != NULL;
    if (table->facts.has_primary_key) {
      TN_TRY(weaken(arena, parts[i], is_key_field, table->schema, 0, &of_key[n_key], err));
      n_key += of_key[n_key] != NULL;
    }
  }
  TN_TRY(join(arena, of_partition, n_partition, &filter->partition, err));
  TN_TRY(join(arena, of_value, n_value,
              table->facts.data_evolution ? &filter->evolution : &filter->value, err));
  return join(arena, of_key, n_key, &filter->key, err);
}

/* ------------------------------------------------------------------ statistics */

/* The bounds of a FLOAT or DOUBLE column that are safe under the order of filters (NaN greatest,
 * -0.0 < 0.0): a NaN bound tells nothing, an ORC bound leaves NaN values out, and either zero may
 * stand for both (spec: datafiles, 6 "Float columns"). */
static void widen_floats(tn_stat *stat, bool is_orc) {
  if (isnan(stat->min.v.f64)) {
    stat->has_bounds = false;
    return;
  }
  if (stat->min.v.f64 == 0) {
    stat->min.v.f64 = -0.0;
  }
  if (is_orc) {
    stat->max.v.f64 = (double)NAN;
  } else if (stat->max.v.f64 == 0) {
    stat->max.v.f64 = 0.0;
  }
}

/* Statistics of one column, at its position in rows of minima and maxima. */
typedef struct stat_rows {
  const tn_simple_stats *stats;
  int64_t row_count;
  int32_t n_columns; /* that the rows must have */
  bool is_orc;
  bool is_decoded, is_usable;
  tn_binary_row min, max;
} stat_rows;

static tarn_status decode_rows(stat_rows *rows, tarn_error *err) {
  rows->is_decoded = true;
  if (rows->stats->min_values.len == 0 || rows->stats->max_values.len == 0) {
    return TARN_OK;  // no statistics at all
  }
  TN_TRY(tn_binary_row_decode(rows->stats->min_values, "_MIN_VALUES", &rows->min, err));
  TN_TRY(tn_binary_row_decode(rows->stats->max_values, "_MAX_VALUES", &rows->max, err));
  // A row of another width belongs to other columns than these: unknown.
  rows->is_usable = rows->min.arity == rows->n_columns && rows->max.arity == rows->n_columns;
  return TARN_OK;
}

static tarn_status stat_at(stat_rows *rows, int32_t position, const tn_type *type, tn_stat *out,
                           bool *is_known, tarn_error *err) {
  const tn_record_array *counts = &rows->stats->null_counts;
  *is_known = false;
  if (!rows->is_decoded) {
    TN_TRY(decode_rows(rows, err));
  }
  if (!rows->is_usable || position < 0 || position >= rows->n_columns) {
    return TARN_OK;
  }
  memset(out, 0, sizeof(*out));
  out->row_count = rows->row_count;
  out->null_count = -1;
  if (position < counts->count && ((const int64_t *)counts->items)[position] >= 0) {
    out->null_count = ((const int64_t *)counts->items)[position];
  }
  *is_known = true;
  // Nested types and VARIANT never have bounds.
  if (!tn_type_is_nested(type) && type->root != TN_VARIANT && type->root != TN_VECTOR &&
      !tn_binary_row_is_null(&rows->min, position) &&
      !tn_binary_row_is_null(&rows->max, position)) {
    TN_TRY(tn_binary_row_get(&rows->min, position, type, &out->min, err));
    TN_TRY(tn_binary_row_get(&rows->max, position, type, &out->max, err));
    out->has_bounds = true;
  }
  if (out->has_bounds && (type->root == TN_FLOAT || type->root == TN_DOUBLE)) {
    widen_floats(out, rows->is_orc);
  }
  // ORC gives the bounds of CHAR with the blanks that fill it up.
  if (type->root == TN_CHAR && rows->is_orc) {
    out->has_bounds = false;
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ partitions */

typedef struct partition_stats {
  const tn_schema *schema;
  stat_rows rows;
} partition_stats;

static tarn_status get_partition_stat(void *ctx, const tn_pred *leaf, tn_stat *out, bool *is_known,
                                      tarn_error *err) {
  partition_stats *p = ctx;
  int32_t i = tn_schema_partition_key(p->schema, leaf->field_id);
  *is_known = false;
  if (i < 0 || leaf->n_path > 0) {
    return TARN_OK;
  }
  return stat_at(&p->rows, i, &p->schema->fields[p->schema->partition_columns[i]].type, out,
                 is_known, err);
}

static tarn_status get_row_id_stat(void *ctx, const tn_pred *leaf, tn_stat *out, bool *is_known,
                                   tarn_error *err) {
  const tn_manifest_file *manifest = ctx;
  (void)err;
  *is_known = leaf->field_id == TN_FIELD_ID_ROW_ID;
  *out = (tn_stat){.has_bounds = true, .null_count = 0, .row_count = 1};
  out->min.v.i64 = manifest->min_row_id;
  out->max.v.i64 = manifest->max_row_id;
  return TARN_OK;
}

/* The ids of all rows of the manifest's files are told, unless one of them has none. */
static tarn_status test_row_ids(const tn_scan_filter *filter, const tn_manifest_file *manifest,
                                bool *out, tarn_error *err) {
  const tn_pred *pred = filter->evolution != NULL ? filter->evolution : filter->value;
  tn_manifest_file copy = *manifest;
  *out = true;
  if (pred == NULL || !filter->table->facts.row_tracking || !manifest->has_row_id_min ||
      !manifest->has_row_id_max) {
    return TARN_OK;
  }
  return tn_pred_may_match(pred, get_row_id_stat, &copy, out, err);
}

tarn_status tn_scan_filter_manifest(const tn_scan_filter *filter, const tn_manifest_file *manifest,
                                    bool *out, tarn_error *err) {
  const tn_schema *schema = filter->table->schema;
  partition_stats ctx = {.schema = schema};
  int64_t n_rows;
  TN_TRY(test_row_ids(filter, manifest, out, err));
  if (!*out || filter->partition == NULL) {
    return TARN_OK;
  }
  if (schema->n_partition_keys == 0) {
    return tn_pred_may_match(filter->partition, get_partition_stat, &ctx, out, err);
  }
  ctx.rows.stats = &manifest->partition_stats;
  ctx.rows.n_columns = schema->n_partition_keys;
  if (__builtin_add_overflow(manifest->n_added, manifest->n_deleted, &n_rows)) {
    return TARN_OK;
  }
  ctx.rows.row_count = n_rows;
  return tn_pred_may_match(filter->partition, get_partition_stat, &ctx, out, err);
}

typedef struct partition_row {
  const tn_schema *schema;
  const tn_datum *values;
} partition_row;

static tarn_status get_partition_value(void *ctx, const tn_pred *leaf, tn_datum *out,
                                       tarn_error *err) {
  const partition_row *row = ctx;
  int32_t i = tn_schema_partition_key(row->schema, leaf->field_id);
  if (i < 0) {
    return TN_BUG(err, "a partition filter on a column that is no partition column");
  }
  *out = row->values[i];
  return TARN_OK;
}

tarn_status tn_scan_filter_partition(const tn_scan_filter *filter, const tn_datum *values,
                                     bool *out, tarn_error *err) {
  partition_row ctx = {filter->table->schema, values};
  *out = true;
  if (filter->partition == NULL) {
    return TARN_OK;
  }
  return tn_pred_test(filter->partition, get_partition_value, &ctx, out, err);
}

/* ------------------------------------------------------------------ files, schema by schema */

void tn_filter_memo_init(tn_filter_memo *memo, const tn_scan_filter *filter, tn_arena *arena) {
  memo->filter = filter;
  memo->arena = arena;
  memo->schemas = NULL;
}

void tn_filter_memo_reset(tn_filter_memo *memo) {
  for (tn_file_schema *s = memo->schemas; s != NULL; s = s->next) {
    tn_schema_release(s->schema);
  }
  memo->schemas = NULL;
}

/* Hashes of rows that an older schema wrote are those of the older types. */
static bool has_bucket_types(const tn_table *table, const tn_schema *old) {
  for (int32_t i = 0; i < table->facts.n_bucket_columns; i++) {
    const tn_field *field = &table->schema->fields[table->facts.bucket_columns[i]];
    int32_t at = tn_fields_find_id(old->fields, old->n_fields, field->id);
    if (at < 0 || !tn_type_equal(&old->fields[at].type, &field->type, false)) {
      return false;
    }
  }
  return true;
}

/* The value filter for files of an older schema, which have what row tracking tells of rows, too.
 */
static tarn_status devolve_values(tn_filter_memo *memo, tn_file_schema *s, tarn_error *err) {
  int32_t n = s->schema->n_fields;
  tn_field *fields =
      tn_arena_alloc(memo->arena, ((size_t)n + TN_N_ROW_TRACKING_FIELDS) * sizeof(*fields));
  if (fields == NULL) {
    return tn_oom(err);
  }
  memcpy(fields, s->schema->fields, (size_t)n * sizeof(*fields));
  memcpy(fields + n, tn_row_tracking_fields, sizeof(tn_row_tracking_fields));
  return tn_pred_devolve(memo->arena, memo->filter->value, fields, n + TN_N_ROW_TRACKING_FIELDS,
                         &s->value, err);
}

static tarn_status load_schema(tn_filter_memo *memo, int64_t id, tn_file_schema *s,
                               tarn_error *err) {
  const tn_scan_filter *filter = memo->filter;
  tn_table *table = filter->table;
  s->id = id;
  s->value = filter->value;
  s->key = filter->key;
  s->prunes_buckets = true;
  if (id == table->schema->id) {
    s->schema = tn_schema_retain(table->schema);
    return TARN_OK;
  }
  TN_TRY(tn_table_schema(table, id, &s->schema, err));
  s->prunes_buckets = has_bucket_types(table, s->schema);
  if (filter->value != NULL) {
    TN_TRY(devolve_values(memo, s, err));
  }
  if (filter->key != NULL) {
    TN_TRY(tn_pred_devolve(memo->arena, filter->key, s->schema->fields, s->schema->n_fields,
                           &s->key, err));
  }
  return TARN_OK;
}

tarn_status tn_filter_memo_schema(tn_filter_memo *memo, int64_t id, tn_file_schema **out,
                                  tarn_error *err) {
  tn_file_schema **at = &memo->schemas, *s;
  tarn_status st;
  while (*at != NULL && (*at)->id != id) {
    at = &(*at)->next;
  }
  s = *at;
  if (s != NULL) {
    *at = s->next;
  } else {
    s = tn_arena_calloc(memo->arena, 1, sizeof(*s));
    if (s == NULL) {
      return tn_oom(err);
    }
    st = load_schema(memo, id, s, err);
    if (st != TARN_OK) {
      tn_schema_release(s->schema);
      return st;
    }
  }
  s->next = memo->schemas;
  memo->schemas = s;
  *out = s;
  return TARN_OK;
}

typedef struct file_stats {
  const tn_data_file *file;
  const tn_schema *schema;      /* of the file */
  const tn_record_array *names; /* the columns the rows have; NULL: all of the schema */
  stat_rows rows;
} file_stats;

static bool name_is(const tn_record_array *names, int32_t i, tn_slice name) {
  return tn_slice_equal(((const tn_slice *)names->items)[i], name);
}

/* Dense rows keep the order of columns, so that a name is at or before its column's position. */
static int32_t find_name(const tn_record_array *names, int32_t column, tn_slice name) {
  int32_t count = (int32_t)names->count;
  int32_t from = column < count ? column : count - 1;
  for (int32_t i = from; i >= 0; i--) {
    if (name_is(names, i, name)) {
      return i;
    }
  }
  for (int32_t i = from + 1; i < count; i++) {
    if (name_is(names, i, name)) {
      return i;
    }
  }
  return -1;
}

/* Row tracking: bounds of what the file's entry tells of its rows; unknown where the file may hold
 * other values. */
static tarn_status get_tracked_stat(const tn_data_file *file, const tn_field *field, tn_stat *out,
                                    bool *is_known) {
  int64_t first = file->max_sequence, last = file->max_sequence;
  if (tn_data_file_may_store(file, field) ||
      (field->id == TN_FIELD_ID_ROW_ID && !tn_data_file_row_ids(file, &first, &last))) {
    return TARN_OK;
  }
  *out = (tn_stat){.has_bounds = true, .null_count = 0, .row_count = file->row_count};
  out->min.v.i64 = first;
  out->max.v.i64 = last;
  *is_known = true;
  return TARN_OK;
}

static tarn_status get_value_stat(void *ctx, const tn_pred *leaf, tn_stat *out, bool *is_known,
                                  tarn_error *err) {
  file_stats *f = ctx;
  int32_t column = tn_fields_find_id(f->schema->fields, f->schema->n_fields, leaf->field_id);
  int32_t position = column;
  *is_known = false;
  if (column < 0 && leaf->n_path == 0 && tn_row_tracking_field(leaf->field_id) != NULL) {
    return get_tracked_stat(f->file, tn_row_tracking_field(leaf->field_id), out, is_known);
  }
  if (column < 0 || leaf->n_path > 0) {
    return TARN_OK;
  }
  if (f->names != NULL) {
    position = find_name(f->names, column, tn_slice_text(f->schema->fields[column].name));
  }
  return stat_at(&f->rows, position, &f->schema->fields[column].type, out, is_known, err);
}

static bool is_orc(tn_slice name) {
  return name.len >= 4 && memcmp(name.data + name.len - 4, ".orc", 4) == 0;
}

static file_stats value_stats_of(const tn_schema *schema, const tn_data_file *file) {
  file_stats f = {.file = file, .schema = schema};
  if (file->has_value_stats_cols) {
    f.names = &file->value_stats_cols;
  } else if (file->has_write_cols) {
    f.names = &file->write_cols;
  }
  f.rows.stats = &file->value_stats;
  f.rows.row_count = file->row_count;
  f.rows.n_columns = f.names != NULL ? (int32_t)f.names->count : schema->n_fields;
  f.rows.is_orc = is_orc(file->file_name);
  return f;
}

/* Are bounds of the one type those of the values as the other one? */
static bool keeps_bounds(const tn_type *from, const tn_type *to) {
  return tn_type_equal(from, to, false) ||
         (tn_type_is_integer(from) && tn_type_is_integer(to) && from->root <= to->root);
}

tarn_status tn_scan_filter_stat(const tn_schema *schema, const tn_data_file *file,
                                const tn_pred *leaf, tn_stat *out, bool *is_known,
                                tarn_error *err) {
  file_stats f = value_stats_of(schema, file);
  int32_t at = tn_fields_find_id(schema->fields, schema->n_fields, leaf->field_id);
  *is_known = false;
  return at < 0 || keeps_bounds(&schema->fields[at].type, &leaf->type)
             ? get_value_stat(&f, leaf, out, is_known, err)
             : TARN_OK;
}

static tarn_status get_key_stat(void *ctx, const tn_pred *leaf, tn_stat *out, bool *is_known,
                                tarn_error *err) {
  file_stats *f = ctx;
  *is_known = false;
  for (int32_t i = 0; i < f->schema->n_key_columns && leaf->n_path == 0; i++) {
    const tn_field *field = &f->schema->fields[f->schema->key_columns[i]];
    if (field->id == leaf->field_id) {
      return stat_at(&f->rows, i, &field->type, out, is_known, err);
    }
  }
  return TARN_OK;
}

tarn_status tn_scan_filter_key(tn_filter_memo *memo, const tn_data_file *file, bool *out,
                               tarn_error *err) {
  tn_file_schema *s;
  *out = true;
  if (memo->filter->key == NULL) {
    return TARN_OK;
  }
  TN_TRY(tn_filter_memo_schema(memo, file->schema_id, &s, err));
  if (s->key == NULL) {
    return TARN_OK;
  }
  file_stats ctx = {.schema = s->schema};
  ctx.rows.stats = &file->key_stats;
  ctx.rows.row_count = file->row_count;
  ctx.rows.n_columns = s->schema->n_key_columns;
  ctx.rows.is_orc = is_orc(file->file_name);
  return tn_pred_may_match(s->key, get_key_stat, &ctx, out, err);
}

/* Indexes tell of the rows of a file as they are. Where files are merged, a row that does not match
 * may still decide about one that does. */
static bool uses_embedded_index(const tn_table *table, const tn_data_file *file) {
  const tn_table_facts *facts = &table->facts;
  return file->has_embedded_index && file->embedded_index.len > 0 && facts->file_index_read &&
         (!facts->has_primary_key || facts->deletion_vectors) && file->row_count >= 0 &&
         file->row_count <= INT32_MAX;
}

#define NAME_BYTES 512

static tarn_status test_index(tn_filter_memo *memo, const tn_file_schema *s,
                              const tn_data_file *file, bool *out, tarn_error *err) {
  const tn_table *table = memo->filter->table;
  tn_index_result result = {0};
  tn_file_index *index;
  char name[NAME_BYTES]; /* for messages */
  tarn_status st;
  snprintf(name, sizeof(name), "%s: data file %.*s", table->full_name,
           TN_SLICE_ARG(file->file_name));
  st = tn_file_index_open(table->env, file->embedded_index, name, &index, err);
  if (st == TARN_OK) {
    st = tn_file_index_test(index, s->schema->fields, s->schema->n_fields, file->row_count,
                            s->value, &result, err);
  }
  if (st == TARN_E_UNSUPPORTED) { /* of a newer Paimon */
    tn_error_reset(err);
    st = TARN_OK;
  }
  *out = result.verdict != TN_INDEX_SKIP;
  tn_index_result_reset(&result);
  tn_file_index_release(index);
  return st;
}

tarn_status tn_scan_filter_value(tn_filter_memo *memo, const tn_data_file *file, bool *out,
                                 tarn_error *err) {
  tn_file_schema *s;
  *out = true;
  if (memo->filter->value == NULL) {
    return TARN_OK;
  }
  TN_TRY(tn_filter_memo_schema(memo, file->schema_id, &s, err));
  if (s->value == NULL) {
    return TARN_OK;
  }
  file_stats ctx = value_stats_of(s->schema, file);
  TN_TRY(tn_pred_may_match(s->value, get_value_stat, &ctx, out, err));
  return *out && uses_embedded_index(memo->filter->table, file)
             ? test_index(memo, s, file, out, err)
             : TARN_OK;
}
