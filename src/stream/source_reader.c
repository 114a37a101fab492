/* source_reader.c - one split after the other, and how far it has been read. */
#include "stream/source_reader.h"

#include "column/rowkind.h"

#define POSTPONE_BUCKET (-2)

struct tn_source_reader {
  tarn_env *env;
  tn_read_options options;
  tn_split_queue splits; /* the first one is being read, if there is a read */
  tn_read *read;
  size_t reserved;    /* of the memory budget, before it was opened */
  tn_split halves[2]; /* of an overwrite: the files before, those after */
  int32_t half, n_halves;
  bool is_met;   /* the first split was begun here; else rows of it were given by somebody before */
  int64_t given; /* rows of the first split that were read, those that were skipped too */
  int64_t held;  /* of them, those that wait */
  int64_t n_left; /* rows that the limit leaves; -1: no limit */
  bool has_consumed;
  int64_t consumed;
};

tarn_status tn_source_reader_create(tarn_env *env, const tn_read_options *options,
                                    tn_source_reader **out, tarn_error *err) {
  tn_source_reader *r = tn_calloc(&env->mem, 1, sizeof(*r));
  *out = NULL;
  if (r == NULL) {
    return tn_oom(err);
  }
  r->env = env;
  r->options = *options;
  r->options.limit = -1;
  r->n_left = options->limit >= 0 ? options->limit : -1;
  tn_split_queue_init(&r->splits, &env->mem);
  *out = r;
  return TARN_OK;
}

static void close_split(tn_source_reader *r) {
  tn_read_free(r->read);
  r->read = NULL;
  r->half = r->n_halves = 0;
}

void tn_source_reader_free(tn_source_reader *r) {
  if (r != NULL) {
    tarn_env *env = r->env;
    close_split(r);
    tn_split_queue_reset(&r->splits);
    tn_free(&env->mem, r);
  }
}

tn_split_queue *tn_source_reader_splits(tn_source_reader *r) {
  return &r->splits;
}

bool tn_source_reader_is_full(const tn_source_reader *r) {
  return r->n_left == 0;
}

bool tn_source_reader_consumed(const tn_source_reader *r, int64_t *out) {
  *out = r->consumed;
  return r->has_consumed;
}

/* ------------------------------------------------------------------ one split */

static tarn_status open_half(tn_source_reader *r, tarn_error *err) {
  const tn_split *split = &r->halves[r->half];
  return tn_read_create(r->env, &r->options, &split, 1, &r->read, err);
}

/* An overwrite is read as two states: what was there, merged, and what is there now. */
static tarn_status open_split(tn_source_reader *r, tarn_error *err) {
  const tn_source_split *first = tn_split_queue_at(&r->splits, 0);
  const tn_split *split = first->split;
  if (!r->is_met && r->n_left > 0) {
    // What was given before a restore counts for the limit, too.
    r->n_left = first->rows_to_skip < r->n_left ? r->n_left - first->rows_to_skip : 0;
  }
  r->is_met = true;
  r->reserved = atomic_load_explicit(&r->env->mem.reserved_bytes, memory_order_relaxed);
  r->given = 0;
  r->half = 0;
  r->n_halves = 1;
  r->halves[0] = *split;
  // Rows of bucket-postpone are not merged: what they retract is told, in a state as well.
  r->halves[0].is_streaming = split->is_streaming || split->bucket == POSTPONE_BUCKET;
  if (split->is_incremental) {
    r->n_halves = 2;
    for (int32_t i = 0; i < 2; i++) {
      r->halves[i] = tn_split_state(split, i == 0);
      r->halves[i].is_streaming = false;
      r->halves[i].is_raw_convertible = false;
    }
  }
  return open_half(r, err);
}

/* What reading a split left in the cache of the environment is of no use: nobody reads its files
 * again. As much is given back, so that a long stream does not fill the cache. */
static void give_back_cache(tn_source_reader *r) {
  size_t now = atomic_load_explicit(&r->env->mem.reserved_bytes, memory_order_relaxed);
  if (now > r->reserved) {
    tn_cache_shrink(r->env->cache, now - r->reserved);
  }
}

static void finish_split(tn_source_reader *r, int64_t *finished) {
  tn_source_split done;
  int64_t id = tn_split_queue_at(&r->splits, 0)->split->snapshot_id;
  bool is_change = tn_split_queue_at(&r->splits, 0)->split->is_streaming;
  close_split(r);
  if (is_change) {
    give_back_cache(r);
  }
  r->held = 0;
  r->is_met = false;
  if (!r->has_consumed || id > r->consumed) {
    r->has_consumed = true;
    r->consumed = id;
  }
  (void)tn_split_queue_pop(&r->splits, &done);
  tn_source_split_reset(&done);
  ++*finished;
}

/* The next rows of the open split; n_rows == 0: it is through. */
static tarn_status next_of_split(tn_source_reader *r, tn_batch *out, tarn_error *err) {
  for (;;) {
    TN_TRY(tn_read_next(r->read, out, err));
    if (out->n_rows > 0 || r->half + 1 >= r->n_halves) {
      return TARN_OK;
    }
    tn_batch_reset(r->env, out);
    tn_read_free(r->read);
    r->read = NULL;
    r->half++;
    TN_TRY(open_half(r, err));
  }
}

/* ------------------------------------------------------------------ batches */

/* Keep the rows [begin, begin + n). */
static tarn_status cut_batch(tarn_env *env, tn_batch *batch, int64_t begin, int64_t n,
                             tarn_error *err) {
  for (int32_t i = 0; i < batch->n_columns; i++) {
    tn_vec cut = {.type = NULL};
    TN_TRY(tn_vec_init(env, batch->columns[i].type, &cut, err));
    tarn_status st = tn_vec_copy_range(env, &batch->columns[i], begin, n, &cut, err);
    if (st != TARN_OK) {
      tn_vec_reset(env, &cut);
      return st;
    }
    tn_vec_reset(env, &batch->columns[i]);
    tn_vec_move(&batch->columns[i], &cut);
  }
  batch->n_rows = n;
  batch->first_position = -1;
  return TARN_OK;
}

/* What was there before an overwrite is there no longer. (The kinds may be shared, so they are made
 * anew.) */
static tarn_status mark_deleted(tarn_env *env, tn_batch *batch, tarn_error *err) {
  const int8_t *kinds = batch->columns[0].values;
  tn_vec deleted = {.type = NULL};
  tarn_status st;
  for (int64_t i = 0; i < batch->n_rows; i++) {
    if (kinds[i] != TN_ROW_INSERT && kinds[i] != TN_ROW_UPDATE_AFTER) {
      return tn_fail(err, TARN_E_CORRUPT, "a retraction among the rows that an overwrite removed");
    }
  }
  TN_TRY(tn_vec_init(env, batch->columns[0].type, &deleted, err));
  st = tn_vec_alloc(env, &deleted, batch->n_rows, 0, err);
  if (st != TARN_OK) {
    tn_vec_reset(env, &deleted);
    return st;
  }
  memset(deleted.values, TN_ROW_DELETE, (size_t)batch->n_rows);
  tn_vec_reset(env, &batch->columns[0]);
  tn_vec_move(&batch->columns[0], &deleted);
  return TARN_OK;
}

/* The time of a file is the local one of its writer, taken to be that of the session. */
static int64_t oldest_file(const tarn_env *env, const tn_split *split) {
  int64_t local = INT64_MAX, seconds;
  for (int32_t i = 0; i < split->n_files; i++) {
    const tn_data_file *f = &split->files[i];
    if (f->has_creation_time && f->creation_time_ms < local) {
      local = f->creation_time_ms;
    }
  }
  if (local == INT64_MAX || local < 0) {
    return -1;
  }
  seconds = local / 1000;
  return tn_zone_local_to_utc(env->zone, seconds) * 1000 + local - seconds * 1000;
}

static void tell_where(const tn_source_reader *r, tn_source_batch *where) {
  const tn_source_split *split = tn_split_queue_at(&r->splits, 0);
  where->snapshot_id = split->split->snapshot_id;
  where->is_overwrite = split->split->is_incremental;
  where->created_ms = oldest_file(r->env, split->split);
  memcpy(where->split_id, split->id, sizeof(where->split_id));
}

/* A batch of the first split, without the rows that were given before; it may be empty then. */
static tarn_status take_batch(tn_source_reader *r, tn_batch *batch, tn_source_batch *where,
                              tarn_error *err) {
  tn_source_split *split = tn_split_queue_at(&r->splits, 0);
  int64_t begin = split->rows_to_skip - r->given, n = batch->n_rows;
  if (r->options.with_row_kind && r->n_halves == 2 && r->half == 0) {
    TN_TRY(mark_deleted(r->env, batch, err));
  }
  begin = begin > 0 ? begin : 0;
  if (begin >= n) {
    r->given += n;
    tn_batch_reset(r->env, batch);
    return TARN_OK;
  }
  n -= begin;
  n = r->n_left >= 0 && n > r->n_left ? r->n_left : n;
  if (begin > 0 || n < batch->n_rows) {
    TN_TRY(cut_batch(r->env, batch, begin, n, err));
  }
  tell_where(r, where);
  where->first_row = r->given + begin;
  r->given += begin + n;
  split->rows_to_skip = r->given;
  r->n_left -= r->n_left >= 0 ? n : 0;
  return TARN_OK;
}

static tarn_status next_batch(tn_source_reader *r, tn_batch *out, tn_source_batch *where,
                              int64_t *finished, tarn_error *err) {
  while (out->n_rows == 0 && r->splits.count > 0 && r->n_left != 0) {
    if (r->read == NULL) {
      TN_TRY(open_split(r, err));
      continue;  // nothing may be left of the limit
    }
    TN_TRY(next_of_split(r, out, err));
    if (out->n_rows > 0) {
      TN_TRY(take_batch(r, out, where, err));
      continue;
    }
    tn_batch_reset(r->env, out);
    if (r->given < tn_split_queue_at(&r->splits, 0)->rows_to_skip) {
      return tn_fail(err, TARN_E_CORRUPT, "skip(%lld) more than the number of remaining elements.",
                     (long long)tn_split_queue_at(&r->splits, 0)->rows_to_skip);
    }
    finish_split(r, finished);
  }
  return TARN_OK;
}

tarn_status tn_source_reader_next(tn_source_reader *r, tn_batch *out, tn_source_batch *where,
                                  int64_t *finished, tarn_error *err) {
  tarn_status st;
  memset(out, 0, sizeof(*out));
  memset(where, 0, sizeof(*where));
  *finished = 0;
  st = next_batch(r, out, where, finished, err);
  if (st != TARN_OK) {
    tn_batch_reset(r->env, out);
    close_split(r);  // the next call reads it again and skips what was given
    if (r->splits.count > 0 && st != TARN_E_CANCELLED) {
      const tn_source_split *split = tn_split_queue_at(&r->splits, 0);
      st =
          tn_error_context(err, st, "%s: snapshot %lld, bucket %d%s", r->options.table->full_name,
                           (long long)split->split->snapshot_id, (int)split->split->bucket,
                           st == TARN_E_NOT_FOUND ? ", which may have been expired meanwhile" : "");
    }
  }
  return st;
}

void tn_source_reader_take_back(tn_source_reader *r, int64_t n) {
  if (r->splits.count > 0) {
    tn_split_queue_at(&r->splits, 0)->rows_to_skip -= n;
    r->n_left += r->n_left >= 0 ? n : 0;
    close_split(r);
  }
}

void tn_source_reader_hold(tn_source_reader *r, int64_t n) {
  r->held = n;
}

tarn_status tn_source_reader_checkpoint(tn_source_reader *r, tn_buf *out, tarn_error *err) {
  int64_t held = r->splits.count > 0 ? r->held : 0;
  tn_source_split *first = held > 0 ? tn_split_queue_at(&r->splits, 0) : NULL;
  tarn_status st;
  if (first != NULL) {
    first->rows_to_skip -= held;
  }
  st = tn_pending_splits_encode(&r->splits, 1, false, 0, out, err);
  if (first != NULL) {
    first->rows_to_skip += held;
  }
  return st;
}
