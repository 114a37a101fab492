/* write.c - life of a writer, and what happens to a batch before its rows are taken in.
 */
#include "write/write.h"

#include "base/bytes.h"
#include "column/arrow_import.h"
#include "column/rowkind.h"
#include "datafile/index_place.h"
#include "merge/key.h"
#include "write/compact_inline.h"

/* ------------------------------------------------------------------ checks */

const tn_field *tn_write_fields(const tn_write *write, int32_t *n_fields) {
  *n_fields = write->n_fields;
  return write->fields;
}

static tarn_status check_state(const tn_write *w, tarn_error *err) {
  return w->has_failed ? tn_fail(err, TARN_E_STATE, "a writer that has failed can only be freed")
                       : TARN_OK;
}

/* The first row with a null where none may be, and the first such column of it. Rule:
 * TableWriteImpl.checkNullability. */
static tarn_status check_nulls(const tn_write *w, const tn_batch *batch, int64_t first_row,
                               tarn_error *err) {
  int64_t worst = INT64_MAX;
  int32_t column = -1;
  for (int32_t k = 0; k < w->n_not_null; k++) {
    const tn_vec *vec = &batch->columns[w->not_null[k]];
    for (int64_t i = 0; vec->null_count > 0 && i < batch->n_rows && i < worst; i++) {
      if (tn_vec_is_null(vec, i)) {
        worst = i;
        column = w->not_null[k];
      }
    }
  }
  return column < 0
             ? TARN_OK
             : tn_fail(err, TARN_E_INVALID, "row %lld: Cannot write null to non-null column(%s)",
                       (long long)(first_row + worst), w->fields[column].name);
}

static const char *const kind_names[4] = {"+I", "-U", "+U", "-D"};
static const char *const kind_words[4] = {"INSERT", "UPDATE_BEFORE", "UPDATE_AFTER", "DELETE"};

/* Rule: RowKind.fromShortString. */
static tarn_status kind_of_text(const tn_vec *vec, int64_t i, int64_t row, int8_t *out,
                                tarn_error *err) {
  tn_slice text = tn_vec_bytes(vec, i);
  if (tn_vec_is_null(vec, i)) {
    return tn_fail(err, TARN_E_INVALID, "row %lld: Row kind cannot be null.", (long long)row);
  }
  for (int8_t k = 0; k < 4; k++) {
    if (tn_slice_is(text, kind_names[k])) {
      *out = k;
      return TARN_OK;
    }
  }
  return tn_fail(err, TARN_E_INVALID, "row %lld: Unsupported short string '%.*s' for row kind.",
                 (long long)row, TN_SLICE_ARG(text));
}

static bool is_dropped(const tn_write *w, int8_t kind) {
  return (w->ignores_retracts && tn_row_kind_is_retract(kind)) ||
         (w->ignores_update_before && kind == TN_ROW_UPDATE_BEFORE);
}

/* The kind of row i, which is checked. */
static tarn_status kind_of(const tn_write *w, const tn_batch *batch, const int8_t *kinds, int64_t i,
                           int64_t row, int8_t *out, tarn_error *err) {
  *out = kinds != NULL ? kinds[i] : (int8_t)TN_ROW_INSERT;
  if (w->kind_column >= 0) {
    TN_TRY(kind_of_text(&batch->columns[w->kind_column], i, row, out, err));
  }
  if ((uint8_t)*out > TN_ROW_DELETE) {
    return tn_fail(err, TARN_E_INVALID, "row %lld: %d is no row kind", (long long)row, (int)*out);
  }
  if (!w->is_key_value && tn_row_kind_is_retract(*out) && !is_dropped(w, *out)) {
    return tn_fail(err, TARN_E_INVALID,
                   "row %lld: Append-only writer can only accept insert or update_after row kind, "
                   "but current row kind is: %s. You can configure 'ignore-delete' to ignore "
                   "retract records.",
                   (long long)row, kind_words[*out]);
  }
  return TARN_OK;
}

tarn_status tn_write_check(const tn_write *w, const tn_batch *batch, const int8_t *kinds,
                           int64_t first_row, tarn_error *err) {
  TN_TRY(check_state(w, err));
  if (batch->n_columns != w->n_fields) {
    return TN_BUG(err, "a batch of other columns than the writer's");
  }
  TN_TRY(check_nulls(w, batch, first_row, err));
  for (int64_t i = 0; (kinds != NULL || w->kind_column >= 0) && i < batch->n_rows; i++) {
    int8_t kind;
    TN_TRY(kind_of(w, batch, kinds, i, first_row + i, &kind, err));
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ defaults and kinds */

/* A column with its default in place of nulls. */
static tarn_status put_default(tn_write *w, const tn_vec *vec, const tn_vec *value, tn_vec *out,
                               tarn_error *err) {
  const tn_vec *sources[2] = {vec, value};
  int64_t n = vec->length;
  tn_row_ref *refs = tn_alloc(&w->env->mem, (size_t)n * sizeof(*refs));
  tarn_status st;
  if (refs == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < n; i++) {
    bool is_null = tn_vec_is_null(vec, i);
    refs[i] = (tn_row_ref){is_null, is_null ? 0 : (uint32_t)i};
  }
  st = tn_vec_gather(w->env, vec->type, sources, 2, refs, n, out, err);
  tn_free(&w->env->mem, refs);
  return st;
}

/* The batch as it is written: with defaults; shares what stays. */
static tarn_status complete_batch(tn_write *w, const tn_batch *batch, tn_batch *out,
                                  tarn_error *err) {
  tarn_status st = TARN_OK;
  TN_TRY(tn_batch_init(w->env, w->fields, w->n_fields, out, err));
  for (int32_t c = 0; c < w->n_fields && st == TARN_OK; c++) {
    const tn_vec *vec = &batch->columns[c];
    bool has_default = w->defaults[c].type != NULL && vec->null_count > 0;
    st = has_default ? put_default(w, vec, &w->defaults[c], &out->columns[c], err)
                     : tn_vec_share(w->env, vec, &out->columns[c], err);
  }
  out->n_rows = batch->n_rows;
  if (st != TARN_OK) {
    tn_batch_reset(w->env, out);
  }
  return st;
}

/* Take out the rows whose kinds the table ignores. kinds are packed likewise. */
static tarn_status drop_rows(tn_write *w, tn_batch *batch, int8_t *kinds, tarn_error *err) {
  int64_t n = 0;
  uint32_t *rows = tn_alloc(&w->env->mem, (size_t)batch->n_rows * sizeof(*rows));
  tarn_status st = TARN_OK;
  if (rows == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < batch->n_rows; i++) {
    if (!is_dropped(w, kinds[i])) {
      kinds[n] = kinds[i];
      rows[n++] = (uint32_t)i;
    }
  }
  for (int32_t c = 0; c < batch->n_columns && n < batch->n_rows && st == TARN_OK; c++) {
    tn_vec kept = {0};
    st = tn_vec_take(w->env, &batch->columns[c], rows, n, &kept, err);
    if (st == TARN_OK) {
      tn_vec_reset(w->env, &batch->columns[c]);
      tn_vec_move(&batch->columns[c], &kept);
    }
  }
  batch->n_rows = n;
  tn_free(&w->env->mem, rows);
  return st;
}

/* *out: the kind of each row; NULL: all +I. Rows that are ignored are gone. */
static tarn_status settle_kinds(tn_write *w, tn_batch *batch, const int8_t *kinds, int8_t **out,
                                tarn_error *err) {
  int8_t *own;
  tarn_status st = TARN_OK;
  *out = NULL;
  if (kinds == NULL && w->kind_column < 0) {
    return TARN_OK;
  }
  own = tn_alloc(&w->env->mem, (size_t)batch->n_rows);
  if (own == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < batch->n_rows && st == TARN_OK; i++) {
    st = kind_of(w, batch, kinds, i, i, &own[i], err);
  }
  if (st == TARN_OK && (w->ignores_retracts || w->ignores_update_before)) {
    st = drop_rows(w, batch, own, err);
  }
  if (st != TARN_OK) {
    tn_free(&w->env->mem, own);
    own = NULL;
  }
  *out = own;
  return st;
}

/* ------------------------------------------------------------------ taking rows in */

/* Do the buckets of a batch, with those that have a file open, pass the number that is written at
 * once? Then rows wait from now on. */
static tarn_status choose_way(tn_write *w, const uint32_t *bucket_of, int64_t n, tarn_error *err) {
  int32_t n_open = w->n_writers;
  bool *is_counted;
  if (w->buffers || w->router.n_buckets <= (size_t)w->max_writers) {
    return TARN_OK;
  }
  is_counted = tn_calloc(&w->env->mem, w->router.n_buckets, sizeof(*is_counted));
  if (is_counted == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < n; i++) {
    uint32_t b = bucket_of[i];
    n_open += !is_counted[b] && w->router.buckets[b]->writer == NULL;
    is_counted[b] = true;
  }
  tn_free(&w->env->mem, is_counted);
  if (n_open <= w->max_writers) {
    return TARN_OK;
  }
  w->buffers = true;
  return tn_close_writers(w, err);
}

/* The batch in memory of its own, flat, in this order. */
static tarn_status own_columns(tn_write *w, tn_batch *batch, const uint32_t *order,
                               tarn_error *err) {
  for (int32_t c = 0; c < batch->n_columns; c++) {
    tn_vec *vec = &batch->columns[c], taken = {0};
    if (order == NULL) {
      TN_TRY(tn_arrow_own(w->env, vec, err));
      TN_TRY(tn_vec_flatten(w->env, vec, err));
      continue;
    }
    TN_TRY(tn_vec_take(w->env, vec, order, batch->n_rows, &taken, err));
    tn_vec_reset(w->env, vec);
    tn_vec_move(vec, &taken);
  }
  return TARN_OK;
}

static tarn_status count_rows(tn_write *w, const uint32_t *bucket_of, int64_t n,
                              uint32_t *ordinal_of, tarn_error *err) {
  for (int64_t i = 0; i < n; i++) {
    tn_open_bucket *b = w->router.buckets[bucket_of[i]];
    if (b->n_stored == UINT32_MAX) {
      return tn_fail(err, TARN_E_LIMIT, "too many rows of one bucket wait to be written");
    }
    ordinal_of[i] = (uint32_t)b->n_stored++;
    b->next_sequence++;
  }
  return TARN_OK;
}

/* Others may hold what is left of the budget: then rows that wait make room before more come. */
static tarn_status have_room(tn_write *w, const tn_batch *batch, tarn_error *err) {
  size_t wanted = 2 * tn_write_batch_bytes(batch) + 64 * (size_t)batch->n_rows;
  if (w->store.n_rows == 0) {
    return TARN_OK;
  }
  if (tn_env_reserve(w->env, wanted, "rows to be written", NULL) != TARN_OK) {
    return tn_make_room(w, err);
  }
  tn_unreserve(&w->env->mem, wanted);
  return TARN_OK;
}

static tarn_status store_rows(tn_write *w, tn_batch *batch, const int8_t *kinds,
                              const uint32_t *bucket_of, tarn_error *err) {
  int64_t n = batch->n_rows;
  uint32_t *order = NULL, *ordinal_of = tn_alloc(&w->env->mem, (size_t)n * sizeof(*ordinal_of));
  tarn_status st;
  if (ordinal_of == NULL) {
    return tn_oom(err);
  }
  TN_TRY_TO(done, have_room(w, batch, err));
  TN_TRY_TO(done, tn_presort(w, batch, bucket_of, &order, err));
  TN_TRY_TO(done, own_columns(w, batch, order, err));
  TN_TRY_TO(done, count_rows(w, bucket_of, n, ordinal_of, err));
  st = tn_row_store_add(&w->store, batch, kinds, bucket_of, ordinal_of, order, err);
done:
  tn_free(&w->env->mem, order);
  tn_free(&w->env->mem, ordinal_of);
  TN_TRY(st);
  return w->store.n_bytes >= w->buffer_bytes ? tn_make_room(w, err) : TARN_OK;
}

static tarn_status take_rows(tn_write *w, tn_batch *batch, const int8_t *kinds, tarn_error *err) {
  uint32_t *bucket_of = tn_alloc(&w->env->mem, (size_t)batch->n_rows * sizeof(*bucket_of));
  tarn_status st;
  if (bucket_of == NULL) {
    return tn_oom(err);
  }
  TN_TRY_TO(done, tn_route(w, batch, bucket_of, err));
  TN_TRY_TO(done, choose_way(w, bucket_of, batch->n_rows, err));
  st = w->buffers ? store_rows(w, batch, kinds, bucket_of, err)
                  : tn_append_rows(w, batch, kinds, bucket_of, err);
done:
  tn_free(&w->env->mem, bucket_of);
  return st;
}

tarn_status tn_write_batch(tn_write *w, const tn_batch *batch, const int8_t *kinds,
                           tarn_error *err) {
  tn_batch complete;
  int8_t *own_kinds = NULL;
  tarn_status st;
  TN_TRY(tn_write_check(w, batch, kinds, 0, err));
  TN_TRY(tn_cancel_check(w->options.cancel, err));
  TN_TRY(tn_inline_check(w, err));
  if (batch->n_rows == 0) {
    return TARN_OK;
  }
  if (batch->n_rows > UINT32_MAX) {
    return tn_fail(err, TARN_E_LIMIT, "a batch of more than 4294967295 rows");
  }
  TN_TRY(complete_batch(w, batch, &complete, err));
  st = settle_kinds(w, &complete, kinds, &own_kinds, err);
  w->stats.n_rows += st == TARN_OK ? complete.n_rows : 0;
  if (st == TARN_OK && complete.n_rows > 0 && w->cross != NULL) {
    st = tn_cross_settle(w, &complete, &own_kinds, err);
    w->has_failed = st != TARN_OK;
  }
  if (st == TARN_OK && complete.n_rows > 0) {
    st = take_rows(w, &complete, own_kinds, err);
    w->has_failed = st != TARN_OK;
  }
  tn_free(&w->env->mem, own_kinds);
  tn_batch_reset(w->env, &complete);
  return tn_table_fault(w->table, st, err);
}

/* ------------------------------------------------------------------ messages */

static tarn_status copy_files(tn_arena *arena, const tn_file_list *from, tn_data_files *to,
                              tarn_error *err) {
  to->items = tn_arena_calloc(arena, from->n, sizeof(*to->items));
  if (to->items == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < from->n; i++) {
    TN_TRY(tn_data_file_copy(arena, &from->items[i], true, &to->items[i], err));
  }
  to->n = (int32_t)from->n;
  return TARN_OK;
}

/* Index files of buckets with new keys; messages[i] is that of owners[i]. */
static tarn_status put_indexes(tn_write *w, tn_arena *arena, tn_commit_message *messages,
                               const tn_open_bucket **owners, int32_t n, tarn_error *err) {
  for (int32_t i = 0; i < n; i++) {
    tarn_status st = tn_assign_write(w, owners[i], arena, &messages[i].new_indexes, err);
    if (st != TARN_OK) {
      for (int32_t k = 0; k < i; k++) {
        tn_index_files_remove(w->table, &messages[k].new_indexes);
        messages[k].new_indexes = (tn_index_files){NULL, 0};
      }
      return st;
    }
  }
  tn_assign_settle(w);
  return TARN_OK;
}

static tarn_status put_message(const tn_write *w, const tn_open_bucket *b, tn_arena *arena,
                               tn_commit_message *m, bool *has_any, tarn_error *err) {
  m->bucket = b->bucket;
  m->total_buckets = w->table->facts.bucket;
  m->has_total_buckets = true;
  if (!tn_arena_slice(arena, b->partition, &m->partition)) {
    return tn_oom(err);
  }
  TN_TRY(copy_files(arena, &b->files, &m->new_files, err));
  TN_TRY(copy_files(arena, &b->changelog_files, &m->changelog_files, err));
  if (b->compacted != NULL) {
    m->compact_before = b->compacted->compact_before;
    m->compact_after = b->compacted->compact_after;
    m->compact_changelog = b->compacted->compact_changelog;
    m->compact_new_indexes = b->compacted->compact_new_indexes;
    m->compact_deleted_indexes = b->compacted->compact_deleted_indexes;
  }
  *has_any = b->files.n > 0 || b->changelog_files.n > 0 || b->compacted != NULL;
  return TARN_OK;
}

/* On failure *messages are those whose index files may have been written. */
static tarn_status put_messages(tn_write *w, tn_arena *arena, tn_commit_message **messages,
                                int32_t *n_messages, tarn_error *err) {
  const tn_router *r = &w->router;
  tn_commit_message *all = tn_arena_calloc(arena, r->n_buckets, sizeof(*all));
  const tn_open_bucket **owners = tn_arena_calloc(arena, r->n_buckets, sizeof(*owners));
  if (all == NULL || owners == NULL) {
    return tn_oom(err);
  }
  *messages = all;
  for (size_t i = 0; i < r->n_buckets; i++) {
    tn_commit_message *m = &all[*n_messages];
    bool has_any;
    TN_TRY(put_message(w, r->buckets[i], arena, m, &has_any, err));
    if (has_any) {
      owners[(*n_messages)++] = r->buckets[i];
    }
  }
  return put_indexes(w, arena, all, owners, *n_messages, err);
}

static void forget_files(tn_write *w) {
  for (size_t i = 0; i < w->router.n_buckets; i++) {
    tn_open_bucket *b = w->router.buckets[i];
    if (b->files.n == 0 && !b->must_restore && b->compaction == NULL) {
      b->must_restore = true;
      w->router.n_must_restore++;
    }
    b->files = b->changelog_files = (tn_file_list){0};
    b->compacted = NULL;
  }
  tn_arena_reset(&w->files_arena);
}

static tarn_status flush_rows(tn_write *w, tarn_error *err) {
  TN_TRY(tn_flush_all(w, err));
  return tn_close_writers(w, err);
}

tarn_status tn_write_prepare(tn_write *w, int64_t identifier, tn_arena *arena,
                             tn_commit_message **messages, int32_t *n_messages, tarn_error *err) {
  tarn_status st;
  *messages = NULL;
  *n_messages = 0;
  TN_TRY(check_state(w, err));
  w->has_failed = true;
  tn_inline_begin_prepare(w, identifier, arena);
  st = flush_rows(w, err);
  st = st == TARN_OK ? tn_inline_settle(w, err) : st;
  st = st == TARN_OK ? put_messages(w, arena, messages, n_messages, err) : st;
  st = st == TARN_OK ? tn_inline_prepared(w, identifier, err) : st;
  if (st != TARN_OK) {
    tn_inline_abandon(w);
    for (int32_t i = 0; i < *n_messages; i++) {
      tn_index_files_remove(w->table, &(*messages)[i].new_indexes);
    }
    *messages = NULL;
    *n_messages = 0;
  }
  TN_TRY(tn_table_fault(w->table, st, err));
  w->has_failed = false;
  forget_files(w);
  w->buffers = w->always_buffers;
  return TARN_OK;
}

/* ------------------------------------------------------------------ compaction */

/* The bucket, opened and restored. */
static tarn_status have_bucket(tn_write *w, tn_slice partition, int32_t bucket,
                               tn_open_bucket **out, tarn_error *err) {
  uint32_t number;
  TN_TRY(tn_partition_number(w, partition, &number, err));
  TN_TRY(tn_open_bucket_number(w, number, bucket, &number, err));
  *out = w->router.buckets[number];
  if ((*out)->must_restore) {
    TN_TRY(tn_restore(w, out, 1, false, err));
    (*out)->must_restore = false;
    w->router.n_must_restore--;
  }
  return TARN_OK;
}

tarn_status tn_write_compact(tn_write *w, tn_slice partition, int32_t bucket, bool is_full,
                             tarn_error *err) {
  tn_open_bucket *b;
  tarn_status st;
  TN_TRY(check_state(w, err));
  if (w->compaction == NULL) {
    return TARN_OK;
  }
  w->has_failed = true;
  TN_TRY_TO(done, flush_rows(w, err));
  TN_TRY_TO(done, have_bucket(w, partition, bucket, &b, err));
  st = tn_inline_compact(w, b, is_full, err);
done:
  w->has_failed = st != TARN_OK;
  return tn_table_fault(w->table, st, err);
}

tarn_status tn_write_compact_all(tn_write *w, bool is_full, tarn_error *err) {
  tarn_status st;
  TN_TRY(check_state(w, err));
  if (w->compaction == NULL) {
    return TARN_OK;
  }
  w->has_failed = true;
  st = flush_rows(w, err);
  for (size_t i = 0; i < w->router.n_buckets && st == TARN_OK; i++) {
    if (w->router.buckets[i]->files.n > 0) {
      st = tn_inline_compact(w, w->router.buckets[i], is_full, err);
    }
  }
  w->has_failed = st != TARN_OK;
  return tn_table_fault(w->table, st, err);
}

/* ------------------------------------------------------------------ the end */

static void remove_files(tn_write *w) {
  for (size_t i = 0; i < w->router.n_buckets; i++) {
    const tn_open_bucket *b = w->router.buckets[i];
    const tn_file_list *lists[] = {&b->files, &b->changelog_files};
    for (size_t k = 0; k < TN_COUNT(lists); k++) {
      for (size_t j = 0; j < lists[k]->n; j++) {
        tn_data_file_delete(w->table, b->partition, b->bucket, &lists[k]->items[j]);
      }
    }
  }
}

static void forget_buckets(tn_write *w) {
  tn_inline_reset(w);
  remove_files(w);
  tn_assign_reset(w);
  tn_cross_reset(w);
  tn_router_reset(&w->router, w->env);
  w->n_writers = 0;
  tn_arena_reset(&w->files_arena);
  tn_row_store_clear(&w->store);
}

tarn_status tn_write_refresh(tn_write *w, tarn_error *err) {
  tn_inline_redo *redo;
  size_t n_redo;
  tarn_status st;
  TN_TRY(check_state(w, err));
  TN_TRY(tn_inline_note_redo(w, &redo, &n_redo, err));
  forget_buckets(w);
  w->buffers = w->always_buffers;
  st = w->spill != NULL ? tn_spill_clear(w->spill, err) : TARN_OK;
  st = st == TARN_OK ? tn_inline_redo_all(w, redo, n_redo, err) : st;
  tn_free(&w->env->mem, redo);
  return st;
}

void tn_write_get_stats(const tn_write *write, tn_write_stats *out) {
  *out = write->stats;
  out->n_buckets = (int64_t)write->router.n_buckets;
  out->held_bytes = (int64_t)write->store.n_bytes;
  out->room_bytes = write->buffer_bytes;
  tn_inline_get_stats(write, out);
}

void tn_write_free(tn_write *w) {
  if (w != NULL) {
    tn_mem *mem = &w->env->mem;
    forget_buckets(w);
    tn_inline_free(w);
    tn_spill_free(w->spill);
    for (int32_t c = 0; w->defaults != NULL && c < w->n_fields; c++) {
      tn_vec_reset(w->env, &w->defaults[c]);
    }
    tn_write_shape_free(w->shape);
    tn_arena_reset(&w->arena);
    tn_arena_reset(&w->files_arena);
    tn_table_release(w->table);
    tn_free(mem, w);
  }
}
