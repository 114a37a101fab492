/* compact.c - compacting a whole table. */
#include "tarn/compact.h"

#include "api/write_handles.h"
#include "base/nearest.h"
#include "dedicated/compact_table.h"

#define ARENA_LIMIT ((size_t)1 << 26)

/* ------------------------------------------------------------------ partitions */

/* The AND of both ways to choose partitions; NULL: all. */
static tarn_status choose_partitions(const tn_table *table, const tarn_compact_options *o,
                                     tn_arena *arena, const tn_pred **out, tarn_error *err) {
  const tn_pred **parts = tn_arena_calloc(arena, o->n_partition + 1, sizeof(*parts));
  int32_t n = 0;
  *out = NULL;
  if (parts == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < o->n_partition; i++) {
    TN_TRY(tn_api_partition_leaf(table, arena, &o->partition[i], &parts[n++], err));
  }
  if (o->predicate != NULL) {
    parts[n++] = o->predicate->root;
  }
  if (n == 0) {
    return TARN_OK;
  }
  *out = n == 1 ? parts[0] : tn_pred_compound(arena, TN_PRED_AND, parts, n);
  return *out != NULL ? TARN_OK : tn_oom(err);
}

/* ------------------------------------------------------------------ order */

static tarn_status find_order(const tn_table *table, const tarn_compact_options *o, tn_arena *arena,
                              tn_table_compact_request *request, tarn_error *err) {
  static const tn_order_kind kinds[] = {TN_ORDER_LINEAR, TN_ORDER_ZORDER, TN_ORDER_HILBERT};
  const tn_schema *schema = table->schema;
  int32_t *columns = tn_arena_calloc(arena, o->n_order_by + 1, sizeof(*columns));
  if (columns == NULL || o->n_order_by > INT32_MAX) {
    return tn_oom(err);
  }
  if ((size_t)o->order >= TN_COUNT(kinds)) {
    return tn_fail(err, TARN_E_INVALID, "%d is no order of rows", (int)o->order);
  }
  for (size_t i = 0; i < o->n_order_by; i++) {
    tn_slice name = tn_slice_text(o->order_by[i]);
    columns[i] = tn_fields_find(schema->fields, schema->n_fields, name);
    if (columns[i] < 0) {
      tn_nearest nearest;
      tn_nearest_init(&nearest, name);
      for (int32_t k = 0; k < schema->n_fields; k++) {
        tn_nearest_offer(&nearest, schema->fields[k].name);
      }
      return tn_fail(err, TARN_E_NOT_FOUND, "%s: there is no column '%s'%s", table->full_name,
                     o->order_by[i], tn_nearest_hint(&nearest).text);
    }
  }
  request->order_columns = columns;
  request->n_order_columns = (int32_t)o->n_order_by;
  request->order = kinds[o->order];
  return TARN_OK;
}

/* ------------------------------------------------------------------ the call */

static void on_progress(void *ctx, const tn_compact_progress *p) {
  const tarn_compact_options *o = ctx;
  const tarn_compact_progress told = {sizeof(told), p->n_units, p->n_done, p->n_bytes_in,
                                      p->n_bytes_out};
  o->progress(o->progress_ctx, &told);
}

static void give_result(const tn_table_compact_result *r, tarn_compact_result *out) {
  if (out != NULL) {
    const tarn_compact_result all = {.struct_size = out->struct_size,
                                     .first_snapshot_id = r->first_id,
                                     .last_snapshot_id = r->last_id,
                                     .commits = r->n_commits,
                                     .buckets = r->n_buckets,
                                     .picks = r->n_picks,
                                     .files_in = r->n_files_in,
                                     .files_out = r->n_files_out,
                                     .bytes_in = r->n_bytes_in,
                                     .bytes_out = r->n_bytes_out,
                                     .rows_in = r->n_rows_in,
                                     .rows_out = r->n_rows_out,
                                     .files_moved = r->n_upgraded,
                                     .changelog_files = r->n_changelog_files};
    memcpy(out, &all, out->struct_size < sizeof(all) ? out->struct_size : sizeof(all));
  }
}

static tarn_status compact(tn_table *table, tarn_compact_options *o, tn_arena *arena, tn_buf *picks,
                           tn_table_compact_result *result, tarn_error *err) {
  tn_table_compact_request request = {
      .table = table,
      .is_full = o->full != 0,
      .is_dry_run = o->dry_run != 0,
      .n_threads = o->threads,
      .identifier = o->commit_identifier >= 0 ? o->commit_identifier : TARN_BATCH_COMMIT,
      .is_once = o->commit_identifier >= 0,
      .spill_folder = o->spill_folder,
      .cancel = o->cancel,
      .progress = o->progress != NULL ? on_progress : NULL,
      .progress_ctx = o};
  char *user = NULL;
  tarn_status st;
  TN_TRY(choose_partitions(table, o, arena, &request.predicate, err));
  TN_TRY(find_order(table, o, arena, &request, err));
  TN_TRY(tn_api_commit_user(table, o->commit_user, &user, err));
  request.user = user;
  st = tn_table_compact(&request, result, picks, err);
  tn_free(&table->env->mem, user);
  return st;
}

tarn_status tarn_table_compact(tarn_table *table, const tarn_compact_options *options,
                               tarn_compact_result *result, tarn_string *picks, tarn_error *err) {
  tarn_compact_options o = TARN_COMPACT_OPTIONS_INIT;
  tn_table_compact_result all = {0};
  tarn_env *env = table->env;
  tn_table *written;
  tarn_status st;
  tn_arena arena;
  tn_buf text;
  tn_error_reset(err);
  give_result(&all, result);
  if (picks != NULL) {
    memset(picks, 0, sizeof(*picks));
  }
  TN_TRY(tn_env_check(env, err));
  TN_TRY(tn_api_written_table(table, &written, err));
  if (options != NULL) {
    memcpy(&o, options, options->struct_size < sizeof(o) ? options->struct_size : sizeof(o));
  }
  tn_arena_init(&arena, &env->mem, ARENA_LIMIT);
  tn_buf_init(&text, &env->mem, TN_API_TEXT_LIMIT);
  st = compact(written, &o, &arena, picks != NULL ? &text : NULL, &all, err);
  give_result(&all, result);
  if (picks != NULL) {
    tarn_status given = tn_api_string(TARN_OK, &text, picks, st == TARN_OK ? err : NULL);
    st = st == TARN_OK ? given : st;
  }
  tn_buf_reset(&text);
  tn_arena_reset(&arena);
  return st;
}
