/* system_tables.c - the table of system tables; opening and reading them.
 *
 * Rows that are made here come in pieces; a piece is filtered as a whole and handed out in batches.
 * Rule: org.apache.paimon.table.system.SystemTableLoader.
 */
#include <string.h>

#include "base/ascii.h"
#include "base/nearest.h"
#include "catalog/system_kinds.h"
#include "column/rowkind.h"
#include "plan/plan.h"

#define BATCH_ROWS 8192

static const tn_system_kind *const kinds[] = {
    &tn_system_aggregation_fields,
    &tn_system_audit_log,
    &tn_system_binlog,
    &tn_system_branches,
    &tn_system_buckets,
    &tn_system_consumers,
    &tn_system_file_key_ranges,
    &tn_system_files,
    &tn_system_manifests,
    &tn_system_options,
    &tn_system_partitions,
    &tn_system_ro,
    &tn_system_row_tracking,
    &tn_system_schemas,
    &tn_system_snapshots,
    &tn_system_statistics,
    &tn_system_table_indexes,
    &tn_system_tags,
};

static const tn_system_kind *const global_kinds[] = {
    &tn_system_all_table_options,
    &tn_system_catalog_options,
    &tn_system_all_partitions,
    &tn_system_tables,
};

/* Tables that only Paimon after 2.0 has. */
static const char *const newer[] = {"file_indexes"};

/* ------------------------------------------------------------------ opening */

static const tn_system_kind *find_kind(const tn_system_kind *const *list, size_t n,
                                       const char *name) {
  for (size_t i = 0; i < n; i++) {
    if (tn_slice_is_nocase(tn_slice_text(name), list[i]->name)) {
      return list[i];
    }
  }
  return NULL;
}

static tarn_status no_such_table(const char *name, tarn_error *err) {
  tn_nearest nearest;
  for (size_t i = 0; i < TN_COUNT(newer); i++) {
    if (strcmp(newer[i], name) == 0) {
      return tn_fail(err, TARN_E_UNSUPPORTED,
                     "system table $%s is not in this release: it came after Paimon 2.0", name);
    }
  }
  tn_nearest_init(&nearest, tn_slice_text(name));
  for (size_t i = 0; i < TN_COUNT(kinds); i++) {
    tn_nearest_offer(&nearest, kinds[i]->name);
  }
  return tn_fail(err, TARN_E_NOT_FOUND, "there is no system table $%s%s", name,
                 tn_nearest_hint(&nearest).text);
}

static tarn_status make_system(tarn_env *env, const tn_system_kind *kind, tn_system **out,
                               tarn_error *err) {
  tn_system *system = tn_calloc(&env->mem, 1, sizeof(*system));
  if (system == NULL) {
    return tn_oom(err);
  }
  system->env = env;
  system->kind = kind;
  system->name = kind->name;
  system->fields = kind->fields;
  system->n_fields = kind->n_fields;
  system->primary_keys = kind->primary_keys;
  system->n_primary_keys = kind->n_primary_keys;
  tn_arena_init(&system->arena, &env->mem, TN_SYSTEM_TEXT_BYTES);
  *out = system;
  return TARN_OK;
}

/* A read of a certain snapshot, tag or time is not answered with what is there now. Java answers so
 * (TableScan classes that look at no scan option). */
static tarn_status check_travel(const tn_system *system, const tn_option *dynamic, int32_t n,
                                tarn_error *err) {
  static const char *const keys[] = {"scan.snapshot-id",
                                     "scan.tag-name",
                                     "scan.timestamp",
                                     "scan.timestamp-millis",
                                     "log.scan.timestamp-millis",
                                     "scan.version",
                                     "scan.watermark",
                                     "scan.creation-time-millis",
                                     "scan.file-creation-time-millis",
                                     "incremental-between",
                                     "incremental-between-timestamp",
                                     "incremental-to-auto-tag"};
  for (int32_t i = 0; i < n && system->kind->ignores_travel; i++) {
    for (size_t k = 0; k < TN_COUNT(keys); k++) {
      if (strcmp(dynamic[i].key, keys[k]) == 0) {
        return tn_fail(err, TARN_E_INVALID,
                       "%s is the same for every snapshot: option '%s' cannot be obeyed",
                       system->full_name, keys[k]);
      }
    }
  }
  return TARN_OK;
}

tarn_status tn_system_open(tn_table *table, const char *name, const tn_option *dynamic,
                           int32_t n_dynamic, tn_system **out, tarn_error *err) {
  const tn_system_kind *kind = find_kind(kinds, TN_COUNT(kinds), name);
  tn_system *system;
  tarn_status st;
  *out = NULL;
  if (kind == NULL) {
    return no_such_table(name, err);
  }
  TN_TRY(make_system(table->env, kind, &system, err));
  system->table = tn_table_retain(table);
  system->full_name = tn_arena_printf(&system->arena, "%s$%s", table->full_name, name);
  st = system->full_name != NULL ? check_travel(system, dynamic, n_dynamic, err) : tn_oom(err);
  if (st == TARN_OK && kind->shape != NULL) {
    st = kind->shape(system, dynamic, n_dynamic, err);
  }
  if (st != TARN_OK) {
    tn_system_free(system);
    return st;
  }
  *out = system;
  return TARN_OK;
}

static bool shows_catalog_options(const tn_catalog *catalog) {
  const char *value = tn_catalog_option(catalog, "catalog-options-table.enabled");
  return value != NULL && strcmp(value, "true") == 0;
}

tarn_status tn_system_open_global(const tn_catalog *catalog, const char *name,
                                  const tn_option *dynamic, int32_t n_dynamic, tn_system **out,
                                  tarn_error *err) {
  const tn_system_kind *kind = find_kind(global_kinds, TN_COUNT(global_kinds), name);
  tn_system *system;
  tarn_status st;
  *out = NULL;
  if (kind == NULL) {
    tn_nearest nearest;
    tn_nearest_init(&nearest, tn_slice_text(name));
    for (size_t i = 0; i < TN_COUNT(global_kinds); i++) {
      tn_nearest_offer(&nearest, global_kinds[i]->name);
    }
    return tn_fail(err, TARN_E_NOT_FOUND, "table '" TN_SYSTEM_DATABASE ".%s' does not exist%s",
                   name, tn_nearest_hint(&nearest).text);
  }
  if (kind == &tn_system_catalog_options && !shows_catalog_options(catalog)) {
    return tn_fail(err, TARN_E_NOT_FOUND,
                   "table '" TN_SYSTEM_DATABASE
                   ".%s' needs the catalog option "
                   "catalog-options-table.enabled=true, as it may tell secrets",
                   name);
  }
  TN_TRY(make_system(catalog->env, kind, &system, err));
  st = tn_catalog_open(catalog->env, NULL, catalog->options, catalog->n_options, &system->catalog,
                       err);
  if (st == TARN_OK) {
    system->full_name = tn_arena_printf(&system->arena, TN_SYSTEM_DATABASE ".%s", system->name);
    st = system->full_name != NULL ? check_travel(system, dynamic, n_dynamic, err) : tn_oom(err);
  }
  if (st != TARN_OK) {
    tn_system_free(system);
    return st;
  }
  *out = system;
  return TARN_OK;
}

void tn_system_free(tn_system *system) {
  if (system != NULL) {
    tarn_env *env = system->env;
    tn_table_release(system->table);
    tn_catalog_free(system->catalog);
    tn_arena_reset(&system->arena);
    tn_free(&env->mem, system);
  }
}

tarn_status tn_system_global_names(const tn_catalog *catalog, tn_arena *arena, const char ***names,
                                   int32_t *n_names, tarn_error *err) {
  *n_names = 0;
  *names = tn_arena_calloc(arena, TN_COUNT(global_kinds), sizeof(**names));
  if (*names == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < TN_COUNT(global_kinds); i++) {
    if (global_kinds[i] != &tn_system_catalog_options || shows_catalog_options(catalog)) {
      (*names)[(*n_names)++] = global_kinds[i]->name;
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ what reads give */

tarn_status tn_system_out_fields(const tn_system_request *request, tn_arena *arena,
                                 const tn_field **fields, int32_t *n_fields, tarn_error *err) {
  static const tn_field kind = {
      .id = TN_FIELD_ID_ROWKIND, .name = "_row_kind", .type = {.root = TN_TINYINT}};
  int32_t first = request->with_row_kind ? 1 : 0;
  tn_field *all = tn_arena_calloc(arena, (size_t)(request->n_fields + first), sizeof(*all));
  if (all == NULL) {
    return tn_oom(err);
  }
  all[0] = kind;
  if (request->n_fields > 0) {
    memcpy(all + first, request->fields, (size_t)request->n_fields * sizeof(*all));
  }
  *fields = all;
  *n_fields = request->n_fields + first;
  return TARN_OK;
}

tarn_status tn_system_all_inserts(tarn_env *env, int64_t n, tn_vec *out, tarn_error *err) {
  TN_TRY(tn_vec_alloc(env, out, n, 0, err));
  memset(out->values, TN_ROW_INSERT, (size_t)n);
  return TARN_OK;
}

/* ------------------------------------------------------------------ reading */

struct tn_system_read {
  tn_system_request q;
  tarn_env *env;
  tn_view_read *view; /* of a view; else: */
  tn_arena arena;
  const tn_field *out_fields;
  int32_t n_out;
  bool *wanted;
  bool is_scanned; /* the last piece has been made */
  tn_system_scan scan;
  tn_batch piece; /* all columns of the system table */
  tn_row_pick pick;
  int64_t given;     /* of pick.n */
  int64_t rows_left; /* of the limit; -1: no end */
};

static void mark_tested(void *ctx, const tn_pred *leaf) {
  tn_system_read *r = ctx;
  const tn_system *system = r->q.system;
  int32_t at = tn_fields_find_id(system->fields, system->n_fields, leaf->field_id);
  if (at >= 0) {
    r->wanted[at] = true;
  }
}

static tarn_status prepare(tn_system_read *r, tarn_error *err) {
  const tn_system *system = r->q.system;
  r->wanted = tn_arena_calloc(&r->arena, (size_t)system->n_fields, sizeof(*r->wanted));
  if (r->wanted == NULL) {
    return tn_oom(err);
  }
  TN_TRY(tn_system_out_fields(&r->q, &r->arena, &r->out_fields, &r->n_out, err));
  for (int32_t i = 0; i < r->q.n_fields; i++) {
    int32_t at = tn_fields_find_id(system->fields, system->n_fields, r->q.fields[i].id);
    if (at < 0) {
      return tn_fail(err, TARN_E_INTERNAL, "%s has no column '%s'", system->full_name,
                     r->q.fields[i].name);
    }
    r->wanted[at] = true;
  }
  if (r->q.predicate != NULL) {
    tn_pred_each_leaf(r->q.predicate, mark_tested, r);
  }
  r->scan.system = system;
  r->scan.env = r->env;
  r->scan.table = system->table;
  r->scan.cancel = r->q.cancel;
  tn_arena_init(&r->scan.scratch, &r->env->mem, TN_PLAN_ARENA_BYTES);
  tn_system_rows_init(&r->scan.rows, r->env, system->fields, system->n_fields, r->wanted);
  return TARN_OK;
}

tarn_status tn_system_read_create(const tn_system_request *request, tn_system_read **out,
                                  tarn_error *err) {
  tarn_env *env = request->system->env;
  tn_system_read *r = tn_calloc(&env->mem, 1, sizeof(*r));
  tarn_status st;
  *out = NULL;
  if (r == NULL) {
    return tn_oom(err);
  }
  r->q = *request;
  r->q.batch_rows = request->batch_rows > 0 ? request->batch_rows : BATCH_ROWS;
  r->env = env;
  r->rows_left = request->limit;
  tn_arena_init(&r->arena, &env->mem, TN_SYSTEM_TEXT_BYTES);
  st = request->system->kind->shape != NULL ? tn_view_read_create(&r->q, &r->view, err)
                                            : prepare(r, err);
  if (st != TARN_OK) {
    tn_system_read_free(r);
    return st;
  }
  *out = r;
  return TARN_OK;
}

void tn_system_read_free(tn_system_read *r) {
  if (r != NULL) {
    tarn_env *env = r->env;
    tn_view_read_free(r->view);
    if (r->scan.system != NULL) {
      if (r->q.system->kind->finish != NULL) {
        r->q.system->kind->finish(&r->scan);
      }
      tn_system_rows_reset(&r->scan.rows);
      tn_arena_reset(&r->scan.scratch);
    }
    tn_batch_reset(env, &r->piece);
    tn_free(&env->mem, r->pick.rows);
    tn_arena_reset(&r->arena);
    tn_free(&env->mem, r);
  }
}

/* Make the next piece, and choose from its rows. */
static tarn_status next_piece(tn_system_read *r, tarn_error *err) {
  tn_system_scan *scan = &r->scan;
  tn_batch_reset(r->env, &r->piece);
  tn_free(&r->env->mem, r->pick.rows);
  r->pick = (tn_row_pick){0};
  r->given = 0;
  tn_system_rows_reset(&scan->rows);
  tn_arena_reset(&scan->scratch);
  scan->has_more = false;
  TN_TRY(tn_cancel_check(r->q.cancel, err));
  TN_TRY(r->q.system->kind->rows(scan, err));
  r->is_scanned = !scan->has_more;
  TN_TRY(tn_batch_init(r->env, scan->rows.fields, scan->rows.n_fields, &r->piece, err));
  TN_TRY(tn_system_rows_finish(&scan->rows, &r->piece, err));
  return tn_pred_pick(r->env, r->q.predicate, &r->piece, r->rows_left, &r->pick, err);
}

static tarn_status give(tn_system_read *r, tn_batch *out, tarn_error *err) {
  const tn_system *system = r->q.system;
  const uint32_t *rows = r->pick.rows + r->given;
  int32_t first = r->q.with_row_kind ? 1 : 0;
  int64_t n = r->pick.n - r->given;
  tarn_status st = TARN_OK;
  n = n > r->q.batch_rows ? r->q.batch_rows : n;
  TN_TRY(tn_batch_init(r->env, r->out_fields, r->n_out, out, err));
  if (first > 0) {
    TN_TRY_TO(fail, tn_system_all_inserts(r->env, n, &out->columns[0], err));
  }
  for (int32_t i = 0; i < r->q.n_fields; i++) {
    int32_t at = tn_fields_find_id(system->fields, system->n_fields, r->q.fields[i].id);
    TN_TRY_TO(fail,
              tn_vec_take(r->env, &r->piece.columns[at], rows, n, &out->columns[first + i], err));
  }
  out->n_rows = n;
  r->given += n;
  r->rows_left -= r->rows_left >= 0 ? n : 0;
  return TARN_OK;
fail:
  tn_batch_reset(r->env, out);
  return st;
}

tarn_status tn_system_read_next(tn_system_read *r, tn_batch *out, tarn_error *err) {
  tarn_status st = TARN_OK;
  if (r->view != NULL) {
    st = tn_view_read_next(r->view, out, err);
  } else {
    while (st == TARN_OK && r->given == r->pick.n && !r->is_scanned && r->rows_left != 0) {
      st = next_piece(r, err);
    }
    if (st == TARN_OK && r->given < r->pick.n) {
      st = give(r, out, err);
    }
  }
  return r->scan.table != NULL || r->view != NULL ? tn_table_fault(r->q.system->table, st, err)
                                                  : st;
}
