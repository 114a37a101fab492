/* system_views.c - system tables whose rows are the table's own in another dress: $ro,
 * $row_tracking, $audit_log, $binlog. They stream through plan/ and read/.
 *
 *   plan -> splits ($ro: top level only) -> rows with kinds -> dressed columns -> rest of filter
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

#include "base/bytes.h"
#include "catalog/system_kinds.h"
#include "column/pieces.h"
#include "column/rowkind.h"
#include "datafile/row_tracking.h"
#include "read/read.h"

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
  bool is_binlog, has_changes; /* has_changes: $audit_log and $binlog */
  const tn_pred *pushed, *rest;

  /* Read from the table: kinds first if has_kinds. */
  bool has_kinds;
  tn_field *fields;
  int32_t n_fields;
  /* Dressed, and filtered: the columns asked for, then those that are only tested. */
  tn_field *shown;
  int32_t *sources; /* of each: column in `fields`; -1: the row kind */
  int32_t n_shown;
  const tn_field *out_fields;
  int32_t n_out;

  tn_plan *plan;
  const tn_split **splits;
  int32_t n_splits, next_split; /* splits before it were handed to a read */
  tn_read *read;
  bool packs;        /* the split that is read holds changes of a binlog */
  tn_pieces held;    /* a -U that waits for the row behind it */
  int64_t rows_left; /* of the limit; -1: no end */
};

/* ------------------------------------------------------------------ columns of a read */

static int32_t add_column(tn_view_read *v, const tn_field *field) {
  int32_t at = tn_fields_find_id(v->fields, v->n_fields, field->id);
  if (at >= 0) {
    return at;
  }
  v->fields[v->n_fields] = *field;
  return v->n_fields++;
}

/* A column of the system table: shown and, unless it is the row kind, read. */
static void add_shown(tn_view_read *v, const tn_field *field) {
  const tn_schema *schema = v->table->schema;
  int32_t own = tn_fields_find_id(schema->fields, schema->n_fields, field->id);
  v->shown[v->n_shown] = *field;
  if (own < 0 && field->id == TN_FIELD_ID_ROWKIND) {
    v->sources[v->n_shown++] = -1;
  } else {
    v->sources[v->n_shown++] = add_column(v, own >= 0 ? &schema->fields[own] : field);
  }
}

static void add_tested(void *ctx, const tn_pred *leaf) {
  tn_view_read *v = ctx;
  const tn_system *system = v->q.system;
  if (tn_fields_find_id(v->shown, v->n_shown, leaf->field_id) < 0) {
    int32_t at = tn_fields_find_id(system->fields, system->n_fields, leaf->field_id);
    if (at >= 0) {
      add_shown(v, &system->fields[at]);
    }
  }
}

/* Is it read from the table? */
static bool is_read_column(void *ctx, int32_t field_id) {
  const tn_view_read *v = ctx;
  const tn_schema *schema = v->table->schema;
  return tn_fields_find_id(schema->fields, schema->n_fields, field_id) >= 0 ||
         (v->q.system->kind == &tn_system_row_tracking && tn_row_tracking_field(field_id) != NULL);
}

/* V1. The columns of $binlog are arrays, whose values are not the table's. */
static tarn_status part_predicate(tn_view_read *v, tarn_error *err) {
  if (v->is_binlog) {
    v->rest = v->q.predicate;
    return TARN_OK;
  }
  return tn_pred_part(&v->arena, v->q.predicate, is_read_column, v, &v->pushed, &v->rest, err);
}

static tarn_status choose_columns(tn_view_read *v, tarn_error *err) {
  size_t most = (size_t)v->q.n_fields + (size_t)v->q.system->n_fields + 1;
  v->fields = tn_arena_calloc(&v->arena, most, sizeof(*v->fields));
  v->shown = tn_arena_calloc(&v->arena, most, sizeof(*v->shown));
  v->sources = tn_arena_calloc(&v->arena, most, sizeof(*v->sources));
  if (v->fields == NULL || v->shown == NULL || v->sources == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < v->q.n_fields; i++) {
    add_shown(v, &v->q.fields[i]);
  }
  if (v->rest != NULL) {
    tn_pred_each_leaf(v->rest, add_tested, v);
  }
  v->has_kinds = v->has_changes || v->q.with_row_kind;
  return tn_system_out_fields(&v->q, &v->arena, &v->out_fields, &v->n_out, err);
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
      .table = v->table, .predicate = v->pushed, .limit = -1, .cancel = v->q.cancel};
  bool is_ro = v->q.system->kind == &tn_system_ro && v->table->facts.has_primary_key;
  TN_TRY(tn_plan_create(&scan, &v->plan, err));
  v->splits = tn_arena_calloc(&v->arena, (size_t)v->plan->n_splits, sizeof(*v->splits));
  if (v->splits == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < v->plan->n_splits; i++) {
    const tn_split *split = &v->plan->splits[i];
    if (v->is_binlog && split->is_incremental) {
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
  return v->is_binlog && v->splits[split]->is_streaming;
}

/* Go on to the splits that can be read together. */
static tarn_status open_next(tn_view_read *v, tarn_error *err) {
  int32_t first = v->next_split, end = first + 1;
  tn_read_options o = {0};
  while (!must_read_alone(v, first) && end < v->n_splits && !must_read_alone(v, end)) {
    end++;
  }
  o.table = v->table;
  o.fields = v->fields;
  o.n_fields = v->n_fields;
  o.predicate = v->pushed;
  o.limit = v->rest == NULL && !v->is_binlog ? v->rows_left : -1;
  o.with_row_kind = v->has_kinds;
  o.keeps_deletes = v->has_changes;
  o.batch_rows = v->q.batch_rows;
  o.cancel = v->q.cancel;
  tn_read_free(v->read);
  v->read = NULL;
  v->packs = must_read_alone(v, first);
  v->next_split = end;
  return tn_read_create(v->env, &o, v->splits + first, end - first, &v->read, err);
}

/* ------------------------------------------------------------------ packing updates */

/* A -U at the end of a batch waits for the row behind it, which comes with the next one. */
static tarn_status hold_back(tn_view_read *v, tn_batch *batch, tarn_error *err) {
  const int8_t *kinds;
  tn_batch last, others;
  tarn_status st = TARN_OK;
  int64_t n = batch->n_rows, run = n;
  TN_TRY(tn_vec_flatten(v->env, &batch->columns[0], err));
  kinds = batch->columns[0].values;
  while (run > 0 && kinds[run - 1] == TN_ROW_UPDATE_BEFORE) {
    run--;
  }
  if ((n - run) % 2 == 0) {
    return TARN_OK;
  }
  TN_TRY(tn_batch_init(v->env, batch->fields, batch->n_columns, &last, err));
  st = tn_batch_init(v->env, batch->fields, batch->n_columns, &others, err);
  if (st != TARN_OK) {
    tn_batch_reset(v->env, &last);
    return st;
  }
  for (int32_t i = 0; i < batch->n_columns; i++) {
    TN_TRY_TO(done, tn_vec_copy_range(v->env, &batch->columns[i], n - 1, 1, &last.columns[i], err));
    TN_TRY_TO(done,
              tn_vec_copy_range(v->env, &batch->columns[i], 0, n - 1, &others.columns[i], err));
  }
  last.n_rows = 1;
  others.n_rows = n - 1;
  TN_TRY_TO(done, tn_pieces_add(&v->held, v->env, &last, err));
  tn_batch_reset(v->env, batch);
  tn_batch_move(batch, &others);
done:
  tn_batch_reset(v->env, &others);
  tn_batch_reset(v->env, &last);
  return st;
}

/* The next rows with what was held back in front; whole groups of rows only. n_rows == 0: the end
 * of the split. */
static tarn_status next_whole(tn_view_read *v, tn_batch *out, tarn_error *err) {
  do {
    tn_batch next;
    memset(&next, 0, sizeof(next));
    tn_batch_reset(v->env, out);
    TN_TRY(tn_read_next(v->read, &next, err));
    if (v->held.count > 0) {
      tarn_status st = TARN_OK;
      const tn_field *fields = v->held.items[0].fields;
      int32_t n_columns = v->held.items[0].n_columns;
      bool is_end = next.n_rows == 0;
      if (!is_end) {
        st = tn_pieces_add(&v->held, v->env, &next, err);
      }
      tn_batch_reset(v->env, &next);
      if (st == TARN_OK) {
        st = tn_pieces_join(&v->held, v->env, fields, n_columns, out, err);
      }
      tn_pieces_clear(&v->held, v->env);
      if (st != TARN_OK || is_end) {
        return st;
      }
    } else {
      tn_batch_move(out, &next);
    }
    if (out->n_rows == 0) {
      return TARN_OK;
    }
    TN_TRY(hold_back(v, out, err));
  } while (out->n_rows == 0);
  return TARN_OK;
}

/* ------------------------------------------------------------------ dressing */

/* Rows of a batch by rows that are shown: begins[i] is the first one of shown row i. NULL: each is
 * its own. */
typedef struct groups {
  int32_t *begins; /* n + 1 */
  int64_t n;
} groups;

static tarn_status find_groups(tn_view_read *v, const tn_batch *batch, groups *out,
                               tarn_error *err) {
  const int8_t *kinds;
  out->begins = NULL;
  out->n = batch->n_rows;
  if (!v->packs) { /* there may be no column at all */
    return TARN_OK;
  }
  kinds = batch->columns[0].values;
  out->begins = tn_calloc(&v->env->mem, (size_t)batch->n_rows + 1, sizeof(*out->begins));
  if (out->begins == NULL) {
    return tn_oom(err);
  }
  out->n = 0;
  for (int64_t i = 0; i < batch->n_rows; out->n++) {
    out->begins[out->n] = (int32_t)i;
    i += kinds[i] == TN_ROW_UPDATE_BEFORE && i + 1 < batch->n_rows ? 2 : 1;
  }
  out->begins[out->n] = (int32_t)batch->n_rows;
  return TARN_OK;
}

static int64_t group_begin(const groups *g, int64_t i) {
  return g->begins != NULL ? g->begins[i] : i;
}

/* The kind of the last row of each group, as a text. */
static tarn_status dress_kinds(tn_view_read *v, const tn_vec *kinds, const groups *g, tn_vec *out,
                               tarn_error *err) {
  static const char names[4][3] = {"+I", "-U", "+U", "-D"};
  TN_TRY(tn_vec_alloc(v->env, out, g->n, (size_t)g->n * 2, err));
  for (int64_t i = 0; i < g->n; i++) {
    int8_t kind = ((const int8_t *)kinds->values)[group_begin(g, i + 1) - 1];
    memcpy((uint8_t *)out->values + i * 2, names[kind & 3], 2);
    out->offsets[i + 1] = (int32_t)(i + 1) * 2;
  }
  return TARN_OK;
}

/* The values of each group as an array; they stay where they are. */
static tarn_status dress_array(tn_view_read *v, tn_vec *values, const groups *g, tn_vec *out,
                               tarn_error *err) {
  TN_TRY(tn_vec_alloc(v->env, out, g->n, 0, err));
  for (int64_t i = 0; i <= g->n; i++) {
    out->offsets[i] = (int32_t)group_begin(g, i);
  }
  tn_vec_reset(v->env, &out->children[0]);
  TN_TRY(tn_vec_share(v->env, values, &out->children[0], err));
  tn_vec_retype(&out->children[0], &out->type->fields[0].type);
  return TARN_OK;
}

/* The value of the first row of each group. */
static tarn_status dress_plain(tn_view_read *v, tn_vec *values, const groups *g, tn_vec *out,
                               const tn_type *type, tarn_error *err) {
  if (g->begins == NULL) {
    TN_TRY(tn_vec_share(v->env, values, out, err));
  } else {
    TN_TRY(tn_vec_take(v->env, values, (const uint32_t *)g->begins, g->n, out, err));
  }
  tn_vec_retype(out, type);
  return TARN_OK;
}

/* The shown columns of a batch of the table's rows. */
static tarn_status dress(tn_view_read *v, tn_batch *read, tn_batch *out, tarn_error *err) {
  int32_t first = v->has_kinds ? 1 : 0;
  tarn_status st = TARN_OK;
  groups g = {0};
  for (int32_t i = 0; i < read->n_columns; i++) {
    TN_TRY(tn_vec_flatten(v->env, &read->columns[i], err));
  }
  TN_TRY(find_groups(v, read, &g, err));
  TN_TRY_TO(done, tn_batch_init(v->env, v->shown, v->n_shown, out, err));
  for (int32_t i = 0; i < v->n_shown; i++) {
    tn_vec *to = &out->columns[i];
    tn_vec *from = v->sources[i] >= 0 ? &read->columns[first + v->sources[i]] : NULL;
    if (from == NULL) {
      st = dress_kinds(v, &read->columns[0], &g, to, err);
    } else if (v->is_binlog && v->shown[i].id != TN_FIELD_ID_SEQUENCE_NUMBER) {
      st = dress_array(v, from, &g, to, err);
    } else {
      st = dress_plain(v, from, &g, to, &v->shown[i].type, err);
    }
    TN_TRY_TO(done, st);
  }
  out->n_rows = g.n;
  out->first_position = -1;
done:
  tn_free(&v->env->mem, g.begins);
  return st;
}

/* ------------------------------------------------------------------ giving */

/* The columns asked for of the rows that match, at most as many as are left. `all` is consumed. */
static tarn_status give(tn_view_read *v, tn_batch *all, const tn_vec *kinds, tn_batch *out,
                        tarn_error *err) {
  int32_t first = v->q.with_row_kind ? 1 : 0;
  tn_row_pick pick = {0};
  tarn_status st = TARN_OK;
  TN_TRY(tn_pred_pick(v->env, v->rest, all, v->rows_left, &pick, err));
  if (pick.n == 0) {
    goto done;
  }
  TN_TRY_TO(done, tn_batch_init(v->env, v->out_fields, v->n_out, out, err));
  for (int32_t i = 0; i < v->q.n_fields; i++) {
    if (pick.n == all->n_rows) {
      tn_vec_reset(v->env, &out->columns[first + i]);
      tn_vec_move(&out->columns[first + i], &all->columns[i]);
    } else {
      TN_TRY_TO(done, tn_vec_take(v->env, &all->columns[i], pick.rows, pick.n,
                                  &out->columns[first + i], err));
    }
  }
  if (first > 0 && !v->has_changes) {
    TN_TRY_TO(done, tn_vec_take(v->env, kinds, pick.rows, pick.n, &out->columns[0], err));
  } else if (first > 0) {
    TN_TRY_TO(done, tn_system_all_inserts(v->env, pick.n, &out->columns[0], err));
  }
  out->n_rows = pick.n;
  v->rows_left -= v->rows_left >= 0 ? pick.n : 0;
done:
  if (st != TARN_OK) {
    tn_batch_reset(v->env, out);
  }
  tn_free(&v->env->mem, pick.rows);
  return st;
}

tarn_status tn_view_read_next(tn_view_read *v, tn_batch *out, tarn_error *err) {
  while (v->rows_left != 0) {
    tn_batch read, all;
    tarn_status st;
    memset(&read, 0, sizeof(read));
    memset(&all, 0, sizeof(all));
    if (v->read != NULL) {
      TN_TRY_TO(done, v->packs ? next_whole(v, &read, err) : tn_read_next(v->read, &read, err));
    }
    if (read.n_rows == 0) {
      tn_batch_reset(v->env, &read);
      if (v->next_split == v->n_splits) {
        return TARN_OK;
      }
      TN_TRY(open_next(v, err));
      continue;
    }
    TN_TRY_TO(done, dress(v, &read, &all, err));
    st = give(v, &all, v->has_kinds ? &read.columns[0] : NULL, out, err);
  done:
    tn_batch_reset(v->env, &all);
    tn_batch_reset(v->env, &read);
    if (st != TARN_OK || out->n_rows > 0) {
      return st;
    }
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
  v->is_binlog = request->system->kind == &tn_system_binlog;
  v->has_changes = v->is_binlog || request->system->kind == &tn_system_audit_log;
  v->rows_left = request->limit;
  tn_arena_init(&v->arena, &env->mem, TN_PLAN_ARENA_BYTES);
  TN_TRY_TO(fail, part_predicate(v, err));
  TN_TRY_TO(fail, choose_columns(v, err));
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
    tn_pieces_reset(&v->held, env);
    tn_plan_release(v->plan);
    tn_arena_reset(&v->arena);
    tn_free(&env->mem, v);
  }
}
