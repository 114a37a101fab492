/* row_sorter.c - sorted runs in memory and on disk. */
#include "dedicated/row_sorter.h"

#include "base/sort.h"
#include "merge/spill.h"
#include "write/write.h"

#define KEY_LIMIT ((size_t)4 << 30)
#define OUT_ROWS 8192
/* Runs on disk are read side by side, a block of each: about so many bytes. */
#define BLOCK_BYTES ((int64_t)128 << 10)
#define ROW_BYTES 64 /* what sorting takes for a row */

static const tn_field key_field = {
    .id = -1, .name = "_KEY", .type = {.root = TN_VARBINARY, .length = INT32_MAX}};

/* A row in memory. */
typedef struct sort_row {
  const uint8_t *key;
  uint32_t n_key;
  tn_row_ref at;
} sort_row;

/* A run that is being merged. */
typedef struct source {
  tn_spill_rows *rows;
  tn_batch batch;
  int64_t at;
  int32_t number;
} source;

struct tn_row_sorter {
  tarn_env *env;
  tn_row_sorter_setup setup;
  tn_field *fields; /* those of the rows, then the key */
  int32_t n_fields;
  tn_spill *spill; /* NULL: nothing was spilled */
  tn_batch *items;
  size_t n_items, capacity;
  int64_t n_rows, n_bytes;
};

/* ------------------------------------------------------------------ life */

tarn_status tn_row_sorter_create(tarn_env *env, const tn_row_sorter_setup *setup,
                                 tn_row_sorter **out, tarn_error *err) {
  tn_row_sorter *s = tn_calloc(&env->mem, 1, sizeof(*s));
  *out = NULL;
  if (s == NULL) {
    return tn_oom(err);
  }
  s->env = env;
  s->setup = *setup;
  s->n_fields = setup->n_fields + 1;
  s->fields = tn_calloc(&env->mem, (size_t)s->n_fields, sizeof(*s->fields));
  if (s->fields == NULL) {
    tn_free(&env->mem, s);
    return tn_oom(err);
  }
  memcpy(s->fields, setup->fields, (size_t)setup->n_fields * sizeof(*s->fields));
  s->fields[setup->n_fields] = key_field;
  *out = s;
  return TARN_OK;
}

static void drop_items(tn_row_sorter *s) {
  for (size_t i = 0; i < s->n_items; i++) {
    tn_batch_reset(s->env, &s->items[i]);
  }
  s->n_items = 0;
  s->n_rows = s->n_bytes = 0;
}

void tn_row_sorter_free(tn_row_sorter *s) {
  if (s != NULL) {
    tarn_env *env = s->env;
    drop_items(s);
    tn_free(&env->mem, s->items);
    tn_spill_free(s->spill);
    tn_free(&env->mem, s->fields);
    tn_free(&env->mem, s);
  }
}

/* ------------------------------------------------------------------ rows in memory */

static tarn_status fill_keys(tn_row_sorter *s, const tn_batch *batch, tn_vec *out,
                             tarn_error *err) {
  const tn_row_sorter_setup *q = &s->setup;
  int32_t *ends = tn_alloc(&s->env->mem, ((size_t)batch->n_rows + 1) * sizeof(*ends));
  tarn_status st = TARN_OK;
  tn_buf bytes;
  tn_buf_init(&bytes, &s->env->mem, KEY_LIMIT);
  if (ends == NULL) {
    return tn_oom(err);
  }
  TN_TRY_TO(done, tn_order_keys(batch, q->columns, q->n_columns, q->kind, &bytes, ends, err));
  TN_TRY_TO(done, tn_vec_alloc(s->env, out, batch->n_rows, bytes.len, err));
  if (bytes.len > 0) {
    memcpy(out->values, bytes.data, bytes.len);
  }
  memcpy(out->offsets + 1, ends, (size_t)batch->n_rows * sizeof(*ends));
done:
  tn_buf_reset(&bytes);
  tn_free(&s->env->mem, ends);
  return st;
}

static int by_key(void *ctx, const void *a, const void *b) {
  const sort_row *x = a, *y = b;
  (void)ctx;
  return tn_slice_compare(tn_slice_of(x->key, x->n_key), tn_slice_of(y->key, y->n_key));
}

/* Pointers to all rows in order; *memory holds them, tn_free(). */
static tarn_status sort_rows(tn_row_sorter *s, const sort_row ***out, void **memory,
                             tarn_error *err) {
  size_t n = (size_t)s->n_rows, at = 0;
  sort_row *rows = tn_alloc(&s->env->mem, (n + 1) * (sizeof(*rows) + 2 * sizeof(void *)));
  const void **order;
  *memory = rows;
  if (rows == NULL) {
    return tn_oom(err);
  }
  order = (const void **)(rows + n);
  for (size_t i = 0; i < s->n_items; i++) {
    const tn_vec *keys = &s->items[i].columns[s->n_fields - 1];
    for (int64_t k = 0; k < s->items[i].n_rows; k++, at++) {
      rows[at] = (sort_row){(const uint8_t *)keys->values + keys->offsets[k],
                            (uint32_t)(keys->offsets[k + 1] - keys->offsets[k]),
                            {(uint32_t)i, (uint32_t)k}};
      order[at] = &rows[at];
    }
  }
  tn_sort_stable(order, order + n, (int64_t)n, by_key, NULL);
  *out = (const sort_row **)order;
  return TARN_OK;
}

/* Rows refs[0 .. n) of batches as one (raw memory), of the first n_fields columns. */
static tarn_status gather(tn_row_sorter *s, const tn_batch *const *batches, int32_t n_batches,
                          const tn_row_ref *refs, int64_t n, int32_t n_fields, tn_batch *out,
                          tarn_error *err) {
  const tn_vec **vecs = tn_alloc(&s->env->mem, ((size_t)n_batches + 1) * sizeof(*vecs));
  tarn_status st;
  memset(out, 0, sizeof(*out));
  if (vecs == NULL) {
    return tn_oom(err);
  }
  TN_TRY_TO(done, tn_batch_init(s->env, s->fields, n_fields, out, err));
  for (int32_t c = 0; c < n_fields; c++) {
    for (int32_t i = 0; i < n_batches; i++) {
      vecs[i] = &batches[i]->columns[c];
    }
    TN_TRY_TO(done, tn_vec_gather(s->env, &s->fields[c].type, vecs, n_batches, refs, n,
                                  &out->columns[c], err));
  }
  out->n_rows = n;
done:
  if (st != TARN_OK) {
    tn_batch_reset(s->env, out);
  }
  tn_free(&s->env->mem, vecs);
  return st;
}

typedef tarn_status (*take_fn)(void *ctx, const tn_batch *batch, tarn_error *err);

/* All rows in memory in order, at most `step` at once. */
static tarn_status give_memory(tn_row_sorter *s, int64_t step, int32_t n_fields, take_fn take,
                               void *ctx, tarn_error *err) {
  const tn_batch **batches = tn_alloc(&s->env->mem, (s->n_items + 1) * sizeof(*batches));
  tn_row_ref *refs = tn_alloc(&s->env->mem, (size_t)step * sizeof(*refs));
  const sort_row **order = NULL;
  void *memory = NULL;
  tarn_status st = batches != NULL && refs != NULL ? TARN_OK : tn_oom(err);
  for (size_t i = 0; i < s->n_items && st == TARN_OK; i++) {
    batches[i] = &s->items[i];
  }
  st = st == TARN_OK ? sort_rows(s, &order, &memory, err) : st;
  for (int64_t at = 0; at < s->n_rows && st == TARN_OK; at += step) {
    int64_t n = s->n_rows - at < step ? s->n_rows - at : step;
    tn_batch out;
    for (int64_t i = 0; i < n; i++) {
      refs[i] = order[at + i]->at;
    }
    st = gather(s, batches, (int32_t)s->n_items, refs, n, n_fields, &out, err);
    if (st == TARN_OK) {
      st = take(ctx, &out, err);
      tn_batch_reset(s->env, &out);
    }
  }
  tn_free(&s->env->mem, memory);
  tn_free(&s->env->mem, refs);
  tn_free(&s->env->mem, batches);
  return st;
}

/* ------------------------------------------------------------------ runs on disk */

static tarn_status add_to_run(void *ctx, const tn_batch *batch, tarn_error *err) {
  return tn_spill_add(ctx, 0, batch, NULL, NULL, err);
}

static tarn_status spill(tn_row_sorter *s, tarn_error *err) {
  int64_t step = s->n_rows * BLOCK_BYTES / (s->n_bytes + 1);
  tn_spill_run *run;
  tarn_status st;
  if (s->setup.spill_folder == NULL) {
    return tn_fail(err, TARN_E_LIMIT,
                   "rows to sort take more than %lld bytes of memory, and there is no folder to "
                   "spill into",
                   (long long)s->setup.max_bytes);
  }
  if (s->spill == NULL) {
    TN_TRY(tn_spill_create(s->env, s->setup.spill_folder, s->fields, s->n_fields, &s->spill, err));
  }
  TN_TRY(tn_spill_begin(s->spill, &run, err));
  step = step < 16 ? 16 : step > OUT_ROWS ? OUT_ROWS : step;
  st = give_memory(s, step, s->n_fields, add_to_run, run, err);
  if (st != TARN_OK) {
    tn_spill_abandon(run);
    return st;
  }
  TN_TRY(tn_spill_end(run, err));
  drop_items(s);
  return TARN_OK;
}

tarn_status tn_row_sorter_add(tn_row_sorter *s, tn_batch *batch, tarn_error *err) {
  tn_batch own = {0};
  tarn_status st = tn_cancel_check(s->setup.cancel, err);
  TN_TRY_TO(done, st);
  if (s->n_items == s->capacity) {
    size_t capacity = s->capacity > 0 ? 2 * s->capacity : 64;
    tn_batch *items = tn_realloc(&s->env->mem, s->items, capacity * sizeof(*items));
    if (items == NULL) {
      TN_TRY_TO(done, tn_oom(err));
    }
    s->items = items;
    s->capacity = capacity;
  }
  TN_TRY_TO(done, tn_batch_init(s->env, s->fields, s->n_fields, &own, err));
  TN_TRY_TO(done, fill_keys(s, batch, &own.columns[s->n_fields - 1], err));
  for (int32_t c = 0; c < s->n_fields - 1; c++) {
    tn_vec_reset(s->env, &own.columns[c]);
    tn_vec_move(&own.columns[c], &batch->columns[c]);
    tn_vec_retype(&own.columns[c], &s->fields[c].type);
  }
  own.n_rows = batch->n_rows;
  s->n_rows += own.n_rows;
  s->n_bytes += (int64_t)tn_write_batch_bytes(&own) + own.n_rows * ROW_BYTES;
  s->items[s->n_items++] = own;
  own = (tn_batch){0};
  st = s->n_bytes > s->setup.max_bytes ? spill(s, err) : TARN_OK;
done:
  tn_batch_reset(s->env, &own);
  tn_batch_reset(s->env, batch);
  return st;
}

/* ------------------------------------------------------------------ the merge */

typedef struct merge {
  tn_row_sorter *s;
  source *sources; /* by number of the run: what came first comes first among equal keys */
  source **heap;
  int32_t n_sources, n_heap;
  const tn_batch **batches; /* of the sources; those at their end have none */
  tn_batch none;
  tn_row_ref refs[OUT_ROWS];
  int64_t n_refs;
  take_fn take;
  void *ctx;
} merge;

static tn_slice key_at(const merge *m, const source *x) {
  const tn_vec *keys = &x->batch.columns[m->s->n_fields - 1];
  return tn_slice_of((const uint8_t *)keys->values + keys->offsets[x->at],
                     (size_t)(keys->offsets[x->at + 1] - keys->offsets[x->at]));
}

static bool is_before(const merge *m, const source *a, const source *b) {
  int order = tn_slice_compare(key_at(m, a), key_at(m, b));
  return order != 0 ? order < 0 : a->number < b->number;
}

static void sift(merge *m, int32_t i) {
  for (;;) {
    int32_t least = i, left = 2 * i + 1;
    source *swap = m->heap[i];
    for (int32_t k = left; k <= left + 1 && k < m->n_heap; k++) {
      least = is_before(m, m->heap[k], m->heap[least]) ? k : least;
    }
    if (least == i) {
      return;
    }
    m->heap[i] = m->heap[least];
    m->heap[least] = swap;
    i = least;
  }
}

static tarn_status flush(merge *m, tarn_error *err) {
  tn_batch out;
  tarn_status st;
  if (m->n_refs == 0) {
    return TARN_OK;
  }
  TN_TRY(tn_cancel_check(m->s->setup.cancel, err));
  TN_TRY(gather(m->s, m->batches, m->n_sources, m->refs, m->n_refs, m->s->n_fields - 1, &out, err));
  m->n_refs = 0;
  st = m->take(m->ctx, &out, err);
  tn_batch_reset(m->s->env, &out);
  return st;
}

/* The next block; none: *is_end. */
static tarn_status load(source *x, bool *is_end, tarn_error *err) {
  tn_buffer *sequences = NULL, *kinds = NULL;
  TN_TRY(tn_spill_next(x->rows, &x->batch, &sequences, &kinds, err));
  tn_buffer_release(sequences);
  tn_buffer_release(kinds);
  x->at = 0;
  *is_end = x->batch.n_rows == 0;
  return TARN_OK;
}

static tarn_status run_merge(merge *m, tarn_error *err) {
  for (int32_t i = m->n_heap / 2 - 1; i >= 0; i--) {
    sift(m, i);
  }
  while (m->n_heap > 0) {
    source *x = m->heap[0];
    m->refs[m->n_refs++] = (tn_row_ref){(uint32_t)x->number, (uint32_t)x->at++};
    if (m->n_refs == OUT_ROWS || x->at == x->batch.n_rows) {
      TN_TRY(flush(m, err)); /* before the block goes */
    }
    if (x->at == x->batch.n_rows) {
      bool is_end;
      TN_TRY(load(x, &is_end, err));
      if (is_end) {
        m->batches[x->number] = &m->none;
        m->heap[0] = m->heap[--m->n_heap];
      }
    }
    if (m->n_heap > 0) {
      sift(m, 0);
    }
  }
  return TARN_OK;
}

static tarn_status open_sources(merge *m, tarn_error *err) {
  for (int32_t i = 0; i < m->n_sources; i++) {
    source *x = &m->sources[i];
    bool is_end = true;
    x->number = i;
    m->batches[i] = &m->none;
    TN_TRY(tn_spill_open(m->s->spill, i, 0, &x->rows, err));
    if (x->rows != NULL) {
      TN_TRY(load(x, &is_end, err));
    }
    if (!is_end) {
      m->batches[i] = &x->batch;
      m->heap[m->n_heap++] = x;
    }
  }
  return TARN_OK;
}

static tarn_status give_runs(tn_row_sorter *s, take_fn take, void *ctx, tarn_error *err) {
  tn_mem *mem = &s->env->mem;
  merge *m = tn_calloc(mem, 1, sizeof(*m));
  size_t n = (size_t)tn_spill_runs(s->spill);
  tarn_status st = TARN_OK;
  if (m == NULL) {
    return tn_oom(err);
  }
  m->s = s;
  m->take = take;
  m->ctx = ctx;
  m->sources = tn_calloc(mem, n, sizeof(*m->sources));
  m->heap = tn_calloc(mem, n, sizeof(*m->heap));
  m->batches = tn_calloc(mem, n, sizeof(*m->batches));
  if (m->sources == NULL || m->heap == NULL || m->batches == NULL) {
    TN_TRY_TO(done, tn_oom(err));
  }
  m->n_sources = (int32_t)n;
  TN_TRY_TO(done, tn_batch_init(s->env, s->fields, s->n_fields, &m->none, err));
  TN_TRY_TO(done, open_sources(m, err));
  st = run_merge(m, err);
done:
  for (size_t i = 0; i < n && m->sources != NULL; i++) {
    tn_batch_reset(s->env, &m->sources[i].batch);
    tn_spill_close(m->sources[i].rows);
  }
  tn_batch_reset(s->env, &m->none);
  tn_free(mem, m->sources);
  tn_free(mem, m->heap);
  tn_free(mem, m->batches);
  tn_free(mem, m);
  return st;
}

tarn_status tn_row_sorter_give(tn_row_sorter *s, take_fn take, void *ctx, tarn_error *err) {
  if (s->spill == NULL) {
    return give_memory(s, OUT_ROWS, s->n_fields - 1, take, ctx, err);
  }
  if (s->n_rows > 0) {
    TN_TRY(spill(s, err));
  }
  return give_runs(s, take, ctx, err);
}
