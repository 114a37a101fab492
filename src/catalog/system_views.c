/* system_views.c - system tables whose rows are the table's own in another dress: $ro,
 * $row_tracking, $audit_log, $binlog. They stream through plan/ and read/.
 *
 *   plan -> splits ($ro: top level only) -> rows -> of changes: dressed, the rest of the filter
 *                                                   (stream/views.h)
 *
 * Invariants
 *   V1  What of the predicate is on the table's own columns goes down to planning and reading,
 *       where they have their own values; the rest is tested on dressed rows.
 *   V2  $binlog joins a -U with the row behind it only within one split of changes, whose rows
 *       come in order; so such splits are read one after the other.
 *
 * Rule: table.system.{ReadOptimizedTable,RowTrackingTable,AuditLogTable,BinlogTable},
 * reader.PackChangelogReader; spec: system-tables.
 */
#include <string.h>

#include "catalog/system_kinds.h"
#include "datafile/row_tracking.h"
#include "read/read.h"
#include "stream/views.h"

static const tn_field kind_column = {
    .id = TN_FIELD_ID_ROWKIND,
    .name = "rowkind",
    .type = {.root = TN_VARCHAR, .length = INT32_MAX},
};
static const tn_field sequence_column = {
    .id = TN_FIELD_ID_SEQUENCE_NUMBER,
    .name = "_SEQUENCE_NUMBER",
    .type = {.root = TN_BIGINT},
};
#define SEQUENCE_OPTION "table-read.sequence-number.enabled"

/* ------------------------------------------------------------------ columns */

/* `before`, the table's columns, `after`. */
static tarn_status make_fields(tn_system *system, const tn_field *before, int32_t n_before,
                               const tn_field *after, int32_t n_after, tarn_error *err) {
  const tn_schema *schema = system->table->schema;
  int32_t n = n_before + schema->n_fields + n_after;
  tn_field *fields = tn_arena_calloc(&system->arena, (size_t)n, sizeof(*fields));
  if (fields == NULL) {
    return tn_oom(err);
  }
  if (n_before > 0) {
    memcpy(fields, before, (size_t)n_before * sizeof(*fields));
  }
  memcpy(fields + n_before, schema->fields, (size_t)schema->n_fields * sizeof(*fields));
  if (n_after > 0) {
    memcpy(fields + n_before + schema->n_fields, after, (size_t)n_after * sizeof(*fields));
  }
  for (int32_t i = 0; i < n_before + n_after; i++) {
    const char *name = i < n_before ? before[i].name : after[i - n_before].name;
    if (tn_fields_find(schema->fields, schema->n_fields, tn_slice_text(name)) >= 0) {
      return tn_fail(err, TARN_E_INVALID, "%s: the table has a column '%s' of its own",
                     system->full_name, name);
    }
  }
  system->fields = fields;
  system->n_fields = n;
  system->partition_keys = schema->partition_keys;
  system->n_partition_keys = schema->n_partition_keys;
  return TARN_OK;
}

static tarn_status shape_ro(tn_system *system, const tn_option *dynamic, int32_t n_dynamic,
                            tarn_error *err) {
  (void)dynamic;
  (void)n_dynamic;
  TN_TRY(make_fields(system, NULL, 0, NULL, 0, err));
  system->primary_keys = system->table->schema->primary_keys;
  system->n_primary_keys = system->table->schema->n_primary_keys;
  return TARN_OK;
}

static tarn_status shape_row_tracking(tn_system *system, const tn_option *dynamic,
                                      int32_t n_dynamic, tarn_error *err) {
  (void)dynamic;
  (void)n_dynamic;
  if (!system->table->facts.row_tracking) {
    return tn_fail(err, TARN_E_INVALID,
                   "table %s does not support row tracking: it needs the option "
                   "'row-tracking.enabled'",
                   system->table->full_name);
  }
  return make_fields(system, NULL, 0, tn_row_tracking_fields, TN_N_ROW_TRACKING_FIELDS, err);
}

/* rowkind, and _SEQUENCE_NUMBER where the table asks for it. */
static tarn_status shape_changes(tn_system *system, const tn_option *dynamic, int32_t n_dynamic,
                                 tarn_error *err) {
  const tn_field before[] = {kind_column, sequence_column};
  bool has_sequence;
  for (int32_t i = 0; i < n_dynamic; i++) {
    if (strcmp(dynamic[i].key, SEQUENCE_OPTION) == 0 && strcmp(dynamic[i].value, "true") == 0) {
      return tn_fail(err, TARN_E_UNSUPPORTED,
                     SEQUENCE_OPTION " is not supported by hint: set it in the table's options");
    }
  }
  TN_TRY(tn_options_bool(&system->table->options, SEQUENCE_OPTION, &has_sequence, err));
  return make_fields(system, before, has_sequence ? 2 : 1, NULL, 0, err);
}

/* Every column of the table as an array of its values. */
static tarn_status shape_binlog(tn_system *system, const tn_option *dynamic, int32_t n_dynamic,
                                tarn_error *err) {
  tn_field *fields;
  TN_TRY(shape_changes(system, dynamic, n_dynamic, err));
  fields = tn_arena_memdup(&system->arena, system->fields,
                           (size_t)system->n_fields * sizeof(*system->fields));
  if (fields == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = system->n_fields - system->table->schema->n_fields; i < system->n_fields; i++) {
    tn_field *element = tn_arena_calloc(&system->arena, 1, sizeof(*element));
    if (element == NULL) {
      return tn_oom(err);
    }
    element->id = -1;
    element->name = "element";
    element->type = fields[i].type;
    element->type.is_nullable = true;
    fields[i].type =
        (tn_type){.root = TN_ARRAY, .is_nullable = true, .n_fields = 1, .fields = element};
  }
  system->fields = fields;
  return TARN_OK;
}

const tn_system_kind tn_system_ro = {.name = "ro", .shape = shape_ro};
const tn_system_kind tn_system_row_tracking = {.name = "row_tracking", .shape = shape_row_tracking};
const tn_system_kind tn_system_audit_log = {.name = "audit_log", .shape = shape_changes};
const tn_system_kind tn_system_binlog = {.name = "binlog", .shape = shape_binlog};

/* ------------------------------------------------------------------ one read */

struct tn_view_read {
  tn_system_request q;
  tarn_env *env;
  tn_table *table;
  tn_arena arena;
  bool has_changes; /* $audit_log and $binlog: */
  tn_stream_view view;
  const tn_field *out_fields;
  int32_t n_out;

  tn_plan *plan;
  const tn_split **splits;
  int32_t n_splits, next_split; /* splits before it were handed to a read */
  tn_read *read;
  int64_t rows_left; /* of the limit; -1: no end */
};

/* What of the predicate is tested where the table's own columns have their own values. */
static const tn_pred *pushed(const tn_view_read *v) {
  return v->has_changes ? v->view.pushed : v->q.predicate;
}

static tarn_status make_view(tn_view_read *v, tarn_error *err) {
  const tn_stream_view_options options = {
      .table = v->table,
      .is_binlog = v->q.system->kind == &tn_system_binlog,
      .columns = v->q.system->fields,
      .n_columns = v->q.system->n_fields,
      .fields = v->q.fields,
      .n_fields = v->q.n_fields,
      .with_row_kind = v->q.with_row_kind,
      .predicate = v->q.predicate,
  };
  return tn_stream_view_init(&options, &v->view, err);
}

/* ------------------------------------------------------------------ $ro: the top level */

static tarn_status top_level(const tn_table *table, int64_t *out, tarn_error *err) {
  int64_t levels;
  bool is_set;
  TN_TRY(tn_options_int(&table->options, "num-levels", &levels, &is_set, err));
  if (!is_set) {
    TN_TRY(tn_options_int(&table->options, "num-sorted-run.compaction-trigger", &levels, &is_set,
                          err));
    levels = levels > 0 ? levels + 1 : 6;
  }
  *out = levels - 1;
  return TARN_OK;
}

/* The files of one level of a list, and their deletion vectors. */
static tarn_status keep_level(tn_view_read *v, int64_t level, const tn_data_file **files,
                              int32_t *n_files, const tn_dv_place **deletions, tarn_error *err) {
  tn_data_file *kept;
  tn_dv_place *places;
  int32_t n = 0;
  for (int32_t i = 0; i < *n_files; i++) {
    n += (*files)[i].level == level;
  }
  if (n == *n_files) {
    return TARN_OK;
  }
  kept = tn_arena_calloc(&v->arena, (size_t)n, sizeof(*kept));
  places = tn_arena_calloc(&v->arena, (size_t)n, sizeof(*places));
  if (kept == NULL || places == NULL) {
    return tn_oom(err);
  }
  n = 0;
  for (int32_t i = 0; i < *n_files; i++) {
    if ((*files)[i].level == level) {
      if (*deletions != NULL) {
        places[n] = (*deletions)[i];
      }
      kept[n++] = (*files)[i];
    }
  }
  *deletions = *deletions != NULL ? places : NULL;
  *files = kept;
  *n_files = n;
  return TARN_OK;
}

/* A split of the files of the top level alone. Their key ranges are disjoint, so they are read as
 * they are unless they may hold retractions. */
static tarn_status keep_top_level(tn_view_read *v, const tn_split *from, const tn_split **out,
                                  tarn_error *err) {
  const tn_table *table = from->table != NULL ? from->table : v->table;
  tn_split *split = tn_arena_memdup(&v->arena, from, sizeof(*from));
  int64_t level;
  *out = NULL;
  if (split == NULL) {
    return tn_oom(err);
  }
  TN_TRY(top_level(table, &level, err));
  TN_TRY(keep_level(v, level, &split->files, &split->n_files, &split->deletions, err));
  TN_TRY(keep_level(v, level, &split->before, &split->n_before, &split->before_deletions, err));
  if (split->n_files == 0 && split->n_before == 0) {
    return TARN_OK;
  }
  if (!split->is_incremental && !split->is_streaming && !split->is_raw_convertible) {
    split->is_raw_convertible = true;
    for (int32_t i = 0; i < split->n_files; i++) {
      const tn_data_file *file = &split->files[i];
      split->is_raw_convertible &=
          file->level > 0 && file->has_delete_row_count && file->delete_row_count == 0;
    }
  }
  *out = split;
  return TARN_OK;
}

/* ------------------------------------------------------------------ splits */

static tarn_status make_plan(tn_view_read *v, tarn_error *err) {
  const tn_scan scan = {
      .table = v->table, .predicate = pushed(v), .limit = -1, .cancel = v->q.cancel};
  bool is_ro = v->q.system->kind == &tn_system_ro && v->table->facts.has_primary_key;
  TN_TRY(tn_plan_create(&scan, &v->plan, err));
  v->splits = tn_arena_calloc(&v->arena, (size_t)v->plan->n_splits, sizeof(*v->splits));
  if (v->splits == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < v->plan->n_splits; i++) {
    const tn_split *split = &v->plan->splits[i];
    if (v->view.is_binlog && split->is_incremental) {
      return tn_fail(err, TARN_E_UNSUPPORTED,
                     "%s: $binlog cannot show what differs between two snapshots; read $audit_log",
                     v->q.system->full_name);
    }
    if (is_ro) {
      TN_TRY(keep_top_level(v, split, &split, err));
    }
    if (split != NULL) {
      v->splits[v->n_splits++] = split;
    }
  }
  return TARN_OK;
}

/* V2 */
static bool must_read_alone(const tn_view_read *v, int32_t split) {
  return v->view.is_binlog && v->splits[split]->is_streaming;
}

/* Go on to the splits that can be read together. */
static tarn_status open_next(tn_view_read *v, tarn_error *err) {
  int32_t first = v->next_split, end = first + 1, n_kinds = v->q.with_row_kind ? 1 : 0;
  tn_read_options o = {.table = v->table,
                       .fields = v->out_fields + n_kinds,
                       .n_fields = v->q.n_fields,
                       .predicate = pushed(v),
                       .limit = v->rows_left,
                       .with_row_kind = v->q.with_row_kind,
                       .batch_rows = v->q.batch_rows,
                       .cancel = v->q.cancel};
  while (!must_read_alone(v, first) && end < v->n_splits && !must_read_alone(v, end)) {
    end++;
  }
  if (v->has_changes) {
    o.fields = v->view.read;
    o.n_fields = v->view.n_read;
    o.limit = v->view.rest == NULL && !v->view.is_binlog ? v->rows_left : -1;
    o.with_row_kind = o.keeps_deletes = true;
    v->view.packs = must_read_alone(v, first);
  }
  tn_read_free(v->read);
  v->read = NULL;
  v->next_split = end;
  return tn_read_create(v->env, &o, v->splits + first, end - first, &v->read, err);
}

/* ------------------------------------------------------------------ giving */

/* Rows that were read, as they are shown; consumes them. There may be none. */
static tarn_status give(tn_view_read *v, tn_batch *read, tn_batch *out, tarn_error *err) {
  int64_t n_over;
  if (v->has_changes) {
    return tn_stream_view_dress(&v->view, read, read->n_rows > 0, v->rows_left, out, &n_over, err);
  }
  tn_batch_move(out, read);
  out->fields = v->out_fields; /* those of the read end with it */
  for (int32_t i = 0; i < v->n_out; i++) {
    tn_vec_retype(&out->columns[i], &v->out_fields[i].type);
  }
  out->first_position = -1;
  return TARN_OK;
}

tarn_status tn_view_read_next(tn_view_read *v, tn_batch *out, tarn_error *err) {
  while (v->rows_left != 0) {
    tn_batch read;
    memset(&read, 0, sizeof(read));
    if (v->read != NULL) {
      TN_TRY(tn_read_next(v->read, &read, err));
    }
    if (read.n_rows == 0 && tn_stream_view_held(&v->view) == 0) {
      tn_batch_reset(v->env, &read);
      if (v->next_split == v->n_splits) {
        return TARN_OK;
      }
      TN_TRY(open_next(v, err));
      continue;
    }
    TN_TRY(give(v, &read, out, err));
    if (out->n_rows > 0) {
      v->rows_left -= v->rows_left >= 0 ? out->n_rows : 0;
      return TARN_OK;
    }
    tn_batch_reset(v->env, out);
  }
  return TARN_OK;
}

tarn_status tn_view_read_create(const tn_system_request *request, tn_view_read **out,
                                tarn_error *err) {
  tarn_env *env = request->system->env;
  tn_view_read *v = tn_calloc(&env->mem, 1, sizeof(*v));
  tarn_status st;
  *out = NULL;
  if (v == NULL) {
    return tn_oom(err);
  }
  v->q = *request;
  v->env = env;
  v->table = request->system->table;
  v->has_changes =
      request->system->kind == &tn_system_binlog || request->system->kind == &tn_system_audit_log;
  v->rows_left = request->limit;
  tn_arena_init(&v->arena, &env->mem, TN_PLAN_ARENA_BYTES);
  TN_TRY_TO(fail, tn_system_out_fields(&v->q, &v->arena, &v->out_fields, &v->n_out, err));
  if (v->has_changes) {
    TN_TRY_TO(fail, make_view(v, err));
  }
  TN_TRY_TO(fail, make_plan(v, err));
  *out = v;
  return TARN_OK;
fail:
  tn_view_read_free(v);
  return st;
}

void tn_view_read_free(tn_view_read *v) {
  if (v != NULL) {
    tarn_env *env = v->env;
    tn_read_free(v->read);
    tn_stream_view_reset(&v->view);
    tn_plan_release(v->plan);
    tn_arena_reset(&v->arena);
    tn_free(&env->mem, v);
  }
}
