/* flush.c - rows that waited become files of level 0, or a run on disk.
 *
 * All rows of the buckets at hand are listed bucket after bucket, with the prefixes of their keys;
 * each bucket is sorted by itself, and its rows are copied once, in that order.
 *
 * Rule: org.apache.paimon.mergetree.{MergeTreeWriter.flushWriteBuffer,SortBufferWriteBuffer};
 * spec: write-path, 5 and 6.
 */
#include <stdlib.h>

#include "base/bytes.h"
#include "merge/key.h"
#include "write/compact_inline.h"

#define BATCH_ROWS 8192
#define LEAST_BATCH_ROWS 16
#define BATCH_BYTES ((int64_t)4 << 20)
#define MAX_RUNS 128 /* that are merged at once; local-sort.max-num-file-handles of Java */

/* ------------------------------------------------------------------ listing rows */

static void end_flush(tn_flush *f) {
  tn_mem *mem = &f->w->env->mem;
  tn_free(mem, f->places.item_of);
  tn_free(mem, f->places.base);
  for (size_t i = 0; f->keys != NULL && i < f->w->store.n_items; i++) {
    tn_free(mem, f->keys[i].columns);
  }
  tn_free(mem, f->keys);
  tn_free(mem, (void *)f->vecs);
  tn_free(mem, f->rows);
  tn_free(mem, f->begins);
  tn_free(mem, f->scratch);
  tn_free(mem, f->refs);
  tn_unreserve(mem, f->reserved);
  memset(f, 0, sizeof(*f));
}

static tarn_status number_rows(tn_flush *f, tarn_error *err) {
  const tn_row_store *store = &f->w->store;
  tn_mem *mem = &f->w->env->mem;
  uint64_t n_places = 0;
  for (size_t i = 0; i < store->n_items; i++) {
    n_places += ((uint64_t)store->items[i].batch.n_rows >> TN_PLACE_SHIFT) + 1;
  }
  if (n_places > UINT32_MAX >> TN_PLACE_SHIFT) {
    return tn_fail(err, TARN_E_LIMIT, "too many rows wait to be written");
  }
  f->places.item_of = tn_alloc(mem, (size_t)n_places * sizeof(uint32_t));
  f->places.base = tn_alloc(mem, store->n_items * sizeof(uint32_t));
  if (f->places.item_of == NULL || f->places.base == NULL) {
    return tn_oom(err);
  }
  n_places = 0;
  for (size_t i = 0; i < store->n_items; i++) {
    uint64_t n = ((uint64_t)store->items[i].batch.n_rows >> TN_PLACE_SHIFT) + 1;
    f->places.base[i] = (uint32_t)(n_places << TN_PLACE_SHIFT);
    while (n-- > 0) {
      f->places.item_of[n_places++] = (uint32_t)i;
    }
  }
  return TARN_OK;
}

/* The key columns of each item, and all columns as lists of vectors. */
static tarn_status list_columns(tn_flush *f, tarn_error *err) {
  const tn_write *w = f->w;
  const tn_row_store *store = &w->store;
  tn_mem *mem = &w->env->mem;
  int32_t n = w->n_keys + w->n_sequence_fields;
  f->vecs = tn_alloc(mem, store->n_items * (size_t)w->n_fields * sizeof(*f->vecs));
  f->keys = tn_calloc(mem, store->n_items, sizeof(*f->keys));
  if (f->vecs == NULL || f->keys == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < store->n_items; i++) {
    const tn_batch *batch = &store->items[i].batch;
    for (int32_t c = 0; c < w->n_fields; c++) {
      f->vecs[(size_t)c * store->n_items + i] = &batch->columns[c];
    }
    f->keys[i] = (tn_batch){.n_rows = batch->n_rows, .n_columns = n, .fields = w->key_fields};
    f->keys[i].columns = tn_alloc(mem, (size_t)n * sizeof(tn_vec));
    if (f->keys[i].columns == NULL) {
      return tn_oom(err);
    }
    for (int32_t c = 0; c < n; c++) {
      f->keys[i].columns[c] = batch->columns[w->key_columns[c]]; /* borrowed */
    }
  }
  f->order = (tn_row_order){.keys = f->keys,
                            .n_keys = w->n_keys,
                            .n_sequence_fields = w->n_sequence_fields,
                            .is_descending = w->merge.sequence_descending,
                            .is_exact = w->has_exact_keys,
                            .places = &f->places};
  return TARN_OK;
}

/* What all values of the first key column begin with; borrowed from the first one. */
static tn_slice common_start(const tn_flush *f) {
  tn_slice start = {NULL, 0};
  bool has_one = false;
  for (size_t i = 0; i < f->w->store.n_items; i++) {
    const tn_vec *vec = &f->keys[i].columns[0];
    for (int64_t row = 0; row < vec->length; row++) {
      tn_slice s = tn_vec_bytes(vec, row);
      size_t n = 0;
      if (!has_one) {
        start = s;
        has_one = true;
        continue;
      }
      while (n < start.len && n < s.len && start.data[n] == s.data[n]) {
        n++;
      }
      start.len = n;
      if (n == 0) {
        return start;
      }
    }
  }
  return start;
}

static tarn_status reserve(tn_flush *f, size_t n_bytes, tarn_error *err) {
  TN_TRY(tn_env_reserve(f->w->env, n_bytes, "the order of rows to be written", err));
  f->reserved += n_bytes;
  return TARN_OK;
}

static tarn_status fill_item(tn_flush *f, size_t i, const bool *is_wanted, tn_slice start,
                             uint64_t *prefixes, int64_t *at, tarn_error *err) {
  const tn_stored *item = &f->w->store.items[i];
  if (f->w->sorts) {
    TN_TRY(tn_key_prefixes(&f->keys[i], f->w->n_keys, start, prefixes, err));
  }
  for (int64_t row = 0; row < item->batch.n_rows; row++) {
    uint32_t bucket = item->bucket_of[row];
    if (is_wanted == NULL || is_wanted[bucket]) {
      f->rows[at[bucket]++] = (tn_sort_row){.prefix = f->w->sorts ? prefixes[row] : 0,
                                            .at = f->places.base[i] + (uint32_t)row,
                                            .ordinal = item->ordinal_of[row]};
    }
  }
  return TARN_OK;
}

/* f->rows of the buckets that are wanted (NULL: all), in the order in which they came. */
static tarn_status fill_rows(tn_flush *f, const bool *is_wanted, tarn_error *err) {
  const tn_write *w = f->w;
  const tn_router *r = &w->router;
  tn_mem *mem = &w->env->mem;
  int64_t largest = 0, most = 1, *at;
  uint64_t *prefixes = NULL;
  tn_slice start = {NULL, 0};
  tarn_status st = TARN_OK;
  f->begins = tn_alloc(mem, (r->n_buckets + 1) * sizeof(*f->begins));
  at = tn_alloc(mem, (r->n_buckets + 1) * sizeof(*at));
  if (f->begins == NULL || at == NULL) {
    st = tn_oom(err);
    goto done;
  }
  for (size_t b = 0; b < r->n_buckets; b++) {
    int64_t n = is_wanted == NULL || is_wanted[b] ? r->buckets[b]->n_stored : 0;
    f->begins[b] = at[b] = f->n_rows;
    f->n_rows += n;
    largest = n > largest ? n : largest;
  }
  f->begins[r->n_buckets] = f->n_rows;
  for (size_t i = 0; i < w->store.n_items; i++) {
    most = w->store.items[i].batch.n_rows > most ? w->store.items[i].batch.n_rows : most;
  }
  TN_TRY_TO(done, reserve(f,
                          (size_t)(f->n_rows + (w->sorts ? largest : 0)) * sizeof(*f->rows) +
                              (size_t)most * 8,
                          err));
  f->rows = tn_alloc(mem, (size_t)f->n_rows * sizeof(*f->rows));
  f->scratch = w->sorts ? tn_alloc(mem, (size_t)largest * sizeof(*f->scratch)) : NULL;
  prefixes = tn_alloc(mem, (size_t)most * sizeof(*prefixes));
  if (f->rows == NULL || (w->sorts && f->scratch == NULL) || prefixes == NULL) {
    st = tn_oom(err);
    goto done;
  }
  if (w->sorts && tn_type_layout(&w->key_fields[0].type) == TN_LAYOUT_BYTES) {
    start = common_start(f);
  }
  for (size_t i = 0; i < w->store.n_items; i++) {
    TN_TRY_TO(done, fill_item(f, i, is_wanted, start, prefixes, at, err));
  }
done:
  tn_free(mem, prefixes);
  tn_free(mem, at);
  return st;
}

static tarn_status begin_flush(tn_flush *f, tn_write *w, const bool *is_wanted, tarn_error *err) {
  int64_t row_bytes;
  *f = (tn_flush){.w = w};
  TN_TRY(tn_row_store_settle(&w->store, err));
  row_bytes = w->store.n_bytes / (w->store.n_rows + 1) + 1;
  f->batch_rows = BATCH_BYTES / row_bytes;
  f->batch_rows = f->batch_rows > BATCH_ROWS         ? BATCH_ROWS
                  : f->batch_rows < LEAST_BATCH_ROWS ? LEAST_BATCH_ROWS
                                                     : f->batch_rows;
  TN_TRY(number_rows(f, err));
  TN_TRY(list_columns(f, err));
  return fill_rows(f, is_wanted, err);
}

/* ------------------------------------------------------------------ copying rows */

tarn_status tn_flush_gather(tn_flush *f, const tn_sort_row *rows, int64_t n, const tn_field *fields,
                            const int32_t *columns, int32_t n_columns, tn_batch *out,
                            tarn_error *err) {
  tn_write *w = f->w;
  tarn_status st;
  memset(out, 0, sizeof(*out));
  if (n > f->refs_capacity) {
    tn_free(&w->env->mem, f->refs);
    f->refs_capacity = 0;
    f->refs = tn_alloc(&w->env->mem, (size_t)n * sizeof(*f->refs));
    if (f->refs == NULL) {
      return tn_oom(err);
    }
    f->refs_capacity = n;
  }
  for (int64_t i = 0; i < n; i++) {
    f->refs[i] = tn_row_place(&f->places, rows[i].at);
  }
  TN_TRY(tn_batch_init(w->env, fields, n_columns, out, err));
  for (int32_t c = 0; c < n_columns; c++) {
    int32_t column = columns != NULL ? columns[c] : c;
    st = tn_vec_gather(w->env, &fields[c].type, f->vecs + (size_t)column * w->store.n_items,
                       (int32_t)w->store.n_items, f->refs, n, &out->columns[c], err);
    if (st != TARN_OK) {
      tn_batch_reset(w->env, out);
      return st;
    }
  }
  out->n_rows = n;
  return TARN_OK;
}

int8_t tn_flush_kind(const tn_flush *f, const tn_sort_row *row) {
  tn_row_ref place = tn_row_place(&f->places, row->at);
  const int8_t *kinds = f->w->store.items[place.source].kinds;
  return kinds != NULL ? kinds[place.row] : (int8_t)TN_ROW_INSERT;
}

/* Take a buffer as the values of a flat column. */
static void take_values(tn_vec *vec, tn_buffer *values, int64_t n) {
  vec->length = n;
  vec->values_buffer = values;
  vec->values = values->data;
}

/* KeyValue.UNKNOWN_SEQUENCE for each row. */
static tarn_status no_sequences(tn_write *w, int64_t n, tn_buffer **out, tarn_error *err) {
  TN_TRY(tn_buffer_create(w->env, (size_t)n * sizeof(int64_t), out, err));
  memset((*out)->data, 0xff, (size_t)n * sizeof(int64_t));
  return TARN_OK;
}

tarn_status tn_flush_write(tn_write *w, tn_data_writer *writer, tn_batch *values,
                           tn_buffer *sequences, tn_buffer *kinds, tarn_error *err) {
  tn_batch batch = {0};
  int64_t n = values->n_rows;
  tarn_status st;
  if (!w->is_key_value) {
    st = tn_data_writer_write(writer, values, err);
    goto done;
  }
  if (sequences == NULL) {
    TN_TRY_TO(done, no_sequences(w, n, &sequences, err));
  }
  TN_TRY_TO(done, tn_batch_init(w->env, w->shape_fields, w->n_shape_fields, &batch, err));
  if (kinds == NULL) {
    TN_TRY_TO(done, tn_buffer_create_zeroed(w->env, (size_t)n, &kinds, err)); /* all +I */
  }
  take_values(&batch.columns[0], sequences, n);
  take_values(&batch.columns[1], kinds, n);
  sequences = kinds = NULL;
  for (int32_t c = 0; c < values->n_columns; c++) {
    tn_vec_reset(w->env, &batch.columns[2 + c]);
    tn_vec_move(&batch.columns[2 + c], &values->columns[c]);
  }
  batch.n_rows = n;
  st = tn_data_writer_write(writer, &batch, err);
done:
  tn_buffer_release(sequences);
  tn_buffer_release(kinds);
  tn_batch_reset(w->env, &batch);
  tn_batch_reset(w->env, values);
  return st;
}

/* The sequence number of the first row of a bucket in the store. */
static int64_t first_sequence(const tn_open_bucket *b) {
  return b->next_sequence - b->n_stored;
}

static tarn_status sequences_of(tn_flush *f, const tn_open_bucket *b, const tn_sort_row *rows,
                                int64_t n, tn_buffer **out, tarn_error *err) {
  int64_t base = first_sequence(b), *to;
  TN_TRY(tn_buffer_create(f->w->env, (size_t)n * sizeof(*to), out, err));
  to = (int64_t *)(void *)(*out)->data;
  for (int64_t i = 0; i < n; i++) {
    to[i] = base + rows[i].ordinal;
  }
  return TARN_OK;
}

static tarn_status kinds_of(tn_flush *f, const tn_sort_row *rows, int64_t n, tn_buffer **out,
                            tarn_error *err) {
  bool has_kinds = false;
  *out = NULL;
  for (size_t i = 0; i < f->w->store.n_items; i++) {
    has_kinds |= f->w->store.items[i].kinds != NULL;
  }
  if (has_kinds) {
    TN_TRY(tn_buffer_create(f->w->env, (size_t)n, out, err));
    for (int64_t i = 0; i < n; i++) {
      ((int8_t *)(*out)->data)[i] = tn_flush_kind(f, &rows[i]);
    }
  }
  return TARN_OK;
}

/* All columns of n rows, with what belongs to them. */
static tarn_status gather_rows(tn_flush *f, const tn_open_bucket *b, const tn_sort_row *rows,
                               int64_t n, tn_batch *batch, tn_buffer **sequences, tn_buffer **kinds,
                               tarn_error *err) {
  tarn_status st;
  *sequences = *kinds = NULL;
  TN_TRY(tn_flush_gather(f, rows, n, f->w->fields, NULL, f->w->n_fields, batch, err));
  st = f->w->sorts ? sequences_of(f, b, rows, n, sequences, err) : TARN_OK;
  if (st == TARN_OK && f->w->is_key_value) {
    st = kinds_of(f, rows, n, kinds, err);
  }
  if (st != TARN_OK) {
    tn_buffer_release(*sequences);
    tn_batch_reset(f->w->env, batch);
    *sequences = NULL;
  }
  return st;
}

static tarn_status write_rows(tn_flush *f, const tn_open_bucket *b, const tn_sort_row *rows,
                              int64_t n, tn_data_writer *writer, tarn_error *err) {
  for (int64_t at = 0; at < n; at += f->batch_rows) {
    int64_t step = n - at < f->batch_rows ? n - at : f->batch_rows;
    tn_batch batch;
    tn_buffer *sequences, *kinds;
    TN_TRY(tn_cancel_check(f->w->options.cancel, err));
    TN_TRY(gather_rows(f, b, rows + at, step, &batch, &sequences, &kinds, err));
    TN_TRY(tn_flush_write(f->w, writer, &batch, sequences, kinds, err));
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ deduplicate */

/* The last row of each key stays where it is among the first ones; returns how many. */
static int64_t keep_last(const tn_row_order *order, tn_sort_row *rows, int64_t n) {
  int64_t kept = 0;
  if (order->is_exact) {
    for (int64_t i = 0; i < n; i++) {
      rows[kept] = rows[i];
      kept += i + 1 == n || rows[i + 1].prefix != rows[i].prefix;
    }
    return kept;
  }
  for (int64_t i = 0; i < n; i++) {
    bool is_last = i + 1 == n || !tn_rows_same_key(order, &rows[i], &rows[i + 1]);
    rows[kept] = rows[i];
    kept += is_last;
  }
  return kept;
}

/* ------------------------------------------------------------------ a bucket */

/* Rows of spilled runs of a table that does not sort, in the order in which they came. */
static tarn_status copy_runs(tn_write *w, const tn_open_bucket *b, tn_data_writer *writer,
                             tarn_error *err) {
  tn_spill_rows *rows = NULL;
  tn_batch batch = {0};
  tarn_status st = TARN_OK;
  for (int32_t i = 0; i < tn_spill_runs(w->spill) && b->n_spilled > 0; i++) {
    TN_TRY_TO(done, tn_spill_open(w->spill, i, b->number, &rows, err));
    while (rows != NULL) {
      tn_buffer *sequences, *kinds;
      TN_TRY_TO(done, tn_cancel_check(w->options.cancel, err));
      TN_TRY_TO(done, tn_spill_next(rows, &batch, &sequences, &kinds, err));
      if (batch.n_rows == 0) {
        tn_buffer_release(sequences);
        tn_buffer_release(kinds);
        break;
      }
      TN_TRY_TO(done, tn_flush_write(w, writer, &batch, sequences, kinds, err));
    }
    tn_spill_close(rows);
    rows = NULL;
  }
done:
  tn_batch_reset(w->env, &batch);
  tn_spill_close(rows);
  return st;
}

static tarn_status write_bucket(tn_flush *f, tn_open_bucket *b, tn_sort_row *rows, int64_t n,
                                tn_data_writer *writer, tarn_error *err) {
  tn_write *w = f->w;
  if (!w->sorts) {
    if (w->spill != NULL) {
      TN_TRY(copy_runs(w, b, writer, err));
    }
    return write_rows(f, b, rows, n, writer, err);
  }
  if (w->merge.engine == &tn_engine_deduplicate && b->n_spilled == 0) {
    return write_rows(f, b, rows, keep_last(&f->order, rows, n), writer, err);
  }
  return tn_flush_merged(f, b, rows, n, writer, err);
}

/* Every row, sorted: what changelog-producer = input keeps. */
static tarn_status write_changelog(tn_flush *f, tn_open_bucket *b, const tn_sort_row *rows,
                                   int64_t n, tarn_error *err) {
  tn_data_writer *writer = NULL;
  tarn_status st;
  TN_TRY(tn_open_data_writer(f->w, b, true, 0, &writer, err));
  st = write_rows(f, b, rows, n, writer, err);
  if (st != TARN_OK) {
    tn_data_writer_free(writer);
    return st;
  }
  return tn_close_data_writer(f->w, b, true, writer, err);
}

static tarn_status flush_bucket(tn_flush *f, tn_open_bucket *b, tn_sort_row *rows, int64_t n,
                                tarn_error *err) {
  tn_write *w = f->w;
  tn_data_writer *writer = NULL;
  tarn_status st;
  if (n == 0 && b->n_spilled == 0) {
    return TARN_OK;
  }
  if (w->sorts) {
    tn_rows_sort(&f->order, rows, f->scratch, n);
  }
  if (w->writes_changelog) {
    TN_TRY(write_changelog(f, b, rows, n, err));
  }
  TN_TRY(tn_open_data_writer(w, b, false, first_sequence(b) - b->n_spilled, &writer, err));
  st = write_bucket(f, b, rows, n, writer, err);
  if (st != TARN_OK) {
    tn_data_writer_free(writer);
    return st;
  }
  TN_TRY(tn_close_data_writer(w, b, false, writer, err));
  b->n_stored = b->n_spilled = 0;
  return tn_inline_flushed(w, b, err);
}

static tarn_status flush_buckets(tn_write *w, const bool *is_wanted, tarn_error *err) {
  tn_flush f;
  tarn_status st = begin_flush(&f, w, is_wanted, err);
  st = st == TARN_OK ? tn_flush_try_retractions(&f, err) : st;
  for (size_t b = 0; b < w->router.n_buckets && st == TARN_OK; b++) {
    if (is_wanted == NULL || is_wanted[b]) {
      st = flush_bucket(&f, w->router.buckets[b], f.rows + f.begins[b],
                        f.begins[b + 1] - f.begins[b], err);
    }
  }
  end_flush(&f);
  return st;
}

tarn_status tn_flush_all(tn_write *w, tarn_error *err) {
  if (w->store.n_items > 0 || (w->spill != NULL && tn_spill_runs(w->spill) > 0)) {
    TN_TRY(flush_buckets(w, NULL, err));
  }
  tn_row_store_clear(&w->store);
  return w->spill != NULL ? tn_spill_clear(w->spill, err) : TARN_OK;
}

/* ------------------------------------------------------------------ making room */

/* A batch of spilled rows ends between two keys: runs are merged by whole groups. */
static int64_t rows_of_batch(const tn_flush *f, const tn_sort_row *rows, int64_t n) {
  int64_t step = n < f->batch_rows ? n : f->batch_rows;
  while (f->w->sorts && step < n && tn_rows_same_key(&f->order, &rows[step - 1], &rows[step])) {
    step++;
  }
  return step;
}

static tarn_status spill_bucket(tn_flush *f, tn_spill_run *run, const tn_open_bucket *b,
                                tn_sort_row *rows, int64_t n, tarn_error *err) {
  if (f->w->sorts) {
    tn_rows_sort(&f->order, rows, f->scratch, n);
  }
  for (int64_t at = 0, step; at < n; at += step) {
    tn_batch batch;
    tn_buffer *sequences, *kinds;
    tarn_status st;
    step = rows_of_batch(f, rows + at, n - at);
    TN_TRY(tn_cancel_check(f->w->options.cancel, err));
    TN_TRY(gather_rows(f, b, rows + at, step, &batch, &sequences, &kinds, err));
    st = tn_spill_add(run, b->number, &batch,
                      sequences != NULL ? (const int64_t *)(const void *)sequences->data : NULL,
                      kinds != NULL ? (const int8_t *)kinds->data : NULL, err);
    tn_batch_reset(f->w->env, &batch);
    tn_buffer_release(sequences);
    tn_buffer_release(kinds);
    TN_TRY(st);
  }
  return TARN_OK;
}

static tarn_status spill_all(tn_write *w, tarn_error *err) {
  tn_flush f;
  tn_spill_run *run = NULL;
  int64_t before = tn_spill_bytes(w->spill);
  tarn_status st;
  TN_TRY_TO(done, begin_flush(&f, w, NULL, err));
  TN_TRY_TO(done, tn_flush_try_retractions(&f, err));
  TN_TRY_TO(done, tn_spill_begin(w->spill, &run, err));
  for (size_t b = 0; b < w->router.n_buckets; b++) {
    TN_TRY_TO(done, spill_bucket(&f, run, w->router.buckets[b], f.rows + f.begins[b],
                                 f.begins[b + 1] - f.begins[b], err));
  }
  st = tn_spill_end(run, err);
  run = NULL;
done:
  tn_spill_abandon(run);
  end_flush(&f);
  TN_TRY(st);
  for (size_t b = 0; b < w->router.n_buckets; b++) {
    tn_open_bucket *bucket = w->router.buckets[b];
    bucket->n_spilled += bucket->n_stored;
    bucket->n_stored = 0;
  }
  w->stats.n_spilled_bytes += tn_spill_bytes(w->spill) - before;
  tn_row_store_clear(&w->store);
  return TARN_OK;
}

static int by_stored(const void *a, const void *b) {
  const tn_open_bucket *const *x = a, *const *y = b;
  return ((*x)->n_stored < (*y)->n_stored) - ((*x)->n_stored > (*y)->n_stored);
}

/* The buckets that hold half of the rows, largest first. */
static tarn_status flush_largest(tn_write *w, tarn_error *err) {
  tn_mem *mem = &w->env->mem;
  size_t n = w->router.n_buckets;
  tn_open_bucket **buckets = tn_alloc(mem, n * sizeof(*buckets));
  bool *is_wanted = tn_calloc(mem, n, sizeof(*is_wanted));
  int64_t n_rows = 0;
  tarn_status st = TARN_OK;
  if (buckets == NULL || is_wanted == NULL) {
    st = tn_oom(err);
    goto done;
  }
  memcpy(buckets, w->router.buckets, n * sizeof(*buckets));
  qsort(buckets, n, sizeof(*buckets), by_stored);
  for (size_t i = 0; i < n && n_rows < (w->store.n_rows + 1) / 2; i++) {
    is_wanted[buckets[i]->number] = true;
    n_rows += buckets[i]->n_stored;
  }
  TN_TRY_TO(done, flush_buckets(w, is_wanted, err));
  if (n_rows == w->store.n_rows) {
    tn_row_store_clear(&w->store);
  } else {
    st = tn_row_store_drop(&w->store, is_wanted, err);
  }
done:
  tn_free(mem, buckets);
  tn_free(mem, is_wanted);
  return st;
}

tarn_status tn_make_room(tn_write *w, tarn_error *err) {
  w->stats.n_preempted++;
  if (w->spill != NULL && !w->writes_changelog) {
    return tn_spill_runs(w->spill) < MAX_RUNS && tn_spill_bytes(w->spill) < w->spill_bytes
               ? spill_all(w, err)
               : tn_flush_all(w, err);
  }
  return flush_largest(w, err);
}
