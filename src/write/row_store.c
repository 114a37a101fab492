/* row_store.c - rows that wait, in the batches they came in.
 *
 * Batches of few rows are joined once there are some of them: each costs about as much as a
 * thousand rows.
 */
#include "base/bytes.h"
#include "write/write_parts.h"

#define SMALL_ROWS 4096
#define MAX_SMALL 64 /* items */
#define SORT_BYTES (2 * (int64_t)sizeof(tn_sort_row))

void tn_row_store_init(tn_row_store *store, tarn_env *env, const tn_field *fields,
                       int32_t n_fields) {
  *store = (tn_row_store){.env = env, .fields = fields, .n_fields = n_fields};
}

static void reset_item(tarn_env *env, tn_stored *item) {
  tn_batch_reset(env, &item->batch);
  tn_buffer_release(item->kinds_buffer);
  tn_buffer_release(item->bucket_of_buffer);
  tn_buffer_release(item->ordinal_of_buffer);
  memset(item, 0, sizeof(*item));
}

void tn_row_store_clear(tn_row_store *store) {
  for (size_t i = 0; i < store->n_items; i++) {
    reset_item(store->env, &store->items[i]);
  }
  tn_free(&store->env->mem, store->items);
  tn_row_store_init(store, store->env, store->fields, store->n_fields);
}

/* Children of nested types are bounded by TN_MAX_TYPE_DEPTH. */
static int64_t vec_bytes(const tn_vec *vec) {
  int64_t sum = vec->valid != NULL ? (vec->length + 7) / 8 : 0;
  switch (vec->layout) {
    case TN_LAYOUT_BYTES:
      sum += 4 * (vec->length + 1) + (vec->offsets != NULL ? vec->offsets[vec->length] : 0);
      break;
    case TN_LAYOUT_LIST:
      sum += 4 * (vec->length + 1);
      break;
    case TN_LAYOUT_BIT:
      sum += (vec->length + 7) / 8;
      break;
    default:
      sum += vec->length * (int64_t)tn_layout_width(vec->layout);
      break;
  }
  for (int32_t i = 0; i < vec->n_children; i++) {
    sum += vec_bytes(&vec->children[i]);
  }
  return sum;
}

size_t tn_write_batch_bytes(const tn_batch *batch) {
  int64_t sum = 0;
  for (int32_t i = 0; i < batch->n_columns; i++) {
    const tn_vec *vec = &batch->columns[i];
    sum += vec->encoding == TN_VEC_CONST  ? vec_bytes(vec->constant)
           : vec->encoding == TN_VEC_DICT ? 4 * vec->length + vec_bytes(&vec->dictionary->values)
           : vec->encoding == TN_VEC_VIEW ? (int64_t)sizeof(tn_view) * vec->length
                                          : vec_bytes(vec);
  }
  return (size_t)sum;
}

static void measure(tn_row_store *store, tn_stored *item) {
  int64_t n = item->batch.n_rows;
  /* Each vector, and each of its buffers, takes some hundred bytes beside its values. */
  item->n_bytes = (int64_t)tn_write_batch_bytes(&item->batch) + n * (8 + SORT_BYTES) +
                  (item->kinds != NULL ? n : 0) + 512 * (int64_t)(item->batch.n_columns + 1);
  store->n_bytes += item->n_bytes;
}

static tarn_status make_array(tarn_env *env, size_t n_bytes, tn_buffer **buffer, void **out,
                              tarn_error *err) {
  TN_TRY(tn_buffer_create(env, n_bytes, buffer, err));
  *out = (*buffer)->data;
  return TARN_OK;
}

/* The arrays of an item of n rows. */
static tarn_status make_arrays(tarn_env *env, tn_stored *item, int64_t n, bool has_kinds,
                               tarn_error *err) {
  void *bucket_of = NULL, *ordinal_of = NULL, *kinds = NULL;
  TN_TRY(make_array(env, (size_t)n * sizeof(uint32_t), &item->bucket_of_buffer, &bucket_of, err));
  TN_TRY(make_array(env, (size_t)n * sizeof(uint32_t), &item->ordinal_of_buffer, &ordinal_of, err));
  if (has_kinds) {
    TN_TRY(make_array(env, (size_t)n, &item->kinds_buffer, &kinds, err));
  }
  item->bucket_of = bucket_of;
  item->ordinal_of = ordinal_of;
  item->kinds = kinds;
  return TARN_OK;
}

static tarn_status grow_items(tn_row_store *store, tarn_error *err) {
  if (store->n_items == store->capacity) {
    size_t capacity = store->capacity * 2 + 64;
    tn_stored *items = tn_realloc(&store->env->mem, store->items, capacity * sizeof(*items));
    if (items == NULL) {
      return tn_oom(err);
    }
    store->items = items;
    store->capacity = capacity;
  }
  return TARN_OK;
}

/* Put an item at the end; it becomes all zero. */
static tarn_status push(tn_row_store *store, tn_stored *item, tarn_error *err) {
  TN_TRY(grow_items(store, err));
  measure(store, item);
  store->items[store->n_items++] = *item;
  memset(item, 0, sizeof(*item));
  return TARN_OK;
}

/* ------------------------------------------------------------------ joining */

/* The rows refs[0 .. n) of items as one. */
static tarn_status gather_item(const tn_row_store *store, const tn_stored *items, int32_t n_items,
                               const tn_row_ref *refs, int64_t n, tn_stored *out, tarn_error *err) {
  tarn_env *env = store->env;
  const tn_vec **vecs = tn_alloc(&env->mem, (size_t)n_items * sizeof(*vecs));
  tarn_status st = TARN_OK;
  bool has_kinds = false;
  memset(out, 0, sizeof(*out));
  if (vecs == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < n_items; i++) {
    has_kinds |= items[i].kinds != NULL;
  }
  TN_TRY_TO(done, tn_batch_init(env, store->fields, store->n_fields, &out->batch, err));
  for (int32_t c = 0; c < store->n_fields; c++) {
    for (int32_t i = 0; i < n_items; i++) {
      vecs[i] = &items[i].batch.columns[c];
    }
    TN_TRY_TO(done, tn_vec_gather(env, &store->fields[c].type, vecs, n_items, refs, n,
                                  &out->batch.columns[c], err));
  }
  out->batch.n_rows = n;
  TN_TRY_TO(done, make_arrays(env, out, n, has_kinds, err));
  for (int64_t i = 0; i < n; i++) {
    const tn_stored *item = &items[refs[i].source];
    out->bucket_of[i] = item->bucket_of[refs[i].row];
    out->ordinal_of[i] = item->ordinal_of[refs[i].row];
    if (has_kinds) {
      out->kinds[i] = item->kinds != NULL ? item->kinds[refs[i].row] : (int8_t)TN_ROW_INSERT;
    }
  }
done:
  tn_free(&env->mem, (void *)vecs);
  if (st != TARN_OK) {
    reset_item(env, out);
  }
  return st;
}

static tarn_status join_small(tn_row_store *store, tarn_error *err) {
  size_t first = store->n_items - store->n_small;
  tn_stored *items = store->items + first, joined;
  tn_row_ref *refs;
  int64_t n = 0;
  tarn_status st;
  refs = tn_alloc(&store->env->mem, (size_t)store->n_small_rows * sizeof(*refs));
  if (refs == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < store->n_small; i++) {
    for (int64_t row = 0; row < items[i].batch.n_rows; row++) {
      refs[n++] = (tn_row_ref){(uint32_t)i, (uint32_t)row};
    }
  }
  st = gather_item(store, items, (int32_t)store->n_small, refs, n, &joined, err);
  tn_free(&store->env->mem, refs);
  TN_TRY(st);
  for (size_t i = 0; i < store->n_small; i++) {
    store->n_bytes -= items[i].n_bytes;
    reset_item(store->env, &items[i]);
  }
  store->n_items = first;
  store->n_small_rows = n;
  store->n_small = n < SMALL_ROWS;
  return push(store, &joined, err); /* there is room */
}

tarn_status tn_row_store_settle(tn_row_store *store, tarn_error *err) {
  if (store->n_small > 1) {
    TN_TRY(join_small(store, err));
  }
  store->n_small = 0;
  store->n_small_rows = 0;
  return TARN_OK;
}

static tarn_status push_joining(tn_row_store *store, tn_stored *item, tarn_error *err) {
  int64_t n = item->batch.n_rows;
  if (n >= SMALL_ROWS) {
    TN_TRY(tn_row_store_settle(store, err));
    return push(store, item, err);
  }
  TN_TRY(push(store, item, err));
  store->n_small++;
  store->n_small_rows += n;
  if (store->n_small >= MAX_SMALL || store->n_small_rows >= 2 * SMALL_ROWS) {
    tarn_status st = join_small(store, err);
    return st == TARN_E_LIMIT ? TARN_OK : st; /* they stay as they are until there is room */
  }
  return TARN_OK;
}

tarn_status tn_row_store_add(tn_row_store *store, tn_batch *batch, const int8_t *kinds,
                             const uint32_t *bucket_of, const uint32_t *ordinal_of,
                             const uint32_t *order, tarn_error *err) {
  tn_stored item = {0};
  int64_t n = batch->n_rows;
  bool all_insert = true;
  tarn_status st = TARN_OK;
  for (int64_t i = 0; kinds != NULL && i < n; i++) {
    all_insert &= kinds[i] == TN_ROW_INSERT;
  }
  TN_TRY_TO(done, make_arrays(store->env, &item, n, !all_insert, err));
  for (int64_t i = 0; i < n; i++) {
    int64_t from = order != NULL ? order[i] : i;
    item.bucket_of[i] = bucket_of[from];
    item.ordinal_of[i] = ordinal_of[from];
  }
  for (int64_t i = 0; i < n && !all_insert; i++) {
    item.kinds[i] = kinds[order != NULL ? order[i] : i];
  }
  tn_batch_move(&item.batch, batch);
  TN_TRY_TO(done, push_joining(store, &item, err));
  store->n_rows += n;
done:
  if (item.batch.columns != NULL) {
    tn_batch_move(batch, &item.batch);
  }
  reset_item(store->env, &item);
  return st;
}

/* ------------------------------------------------------------------ dropping */

/* The rows of an item that stay, as an item of a new store. */
static tarn_status keep_rows(tn_row_store *to, const tn_stored *item, const bool *is_gone,
                             tn_row_ref *refs, tarn_error *err) {
  tn_stored kept;
  int64_t n = 0;
  tarn_status st;
  for (int64_t row = 0; row < item->batch.n_rows; row++) {
    if (!is_gone[item->bucket_of[row]]) {
      refs[n++] = (tn_row_ref){0, (uint32_t)row};
    }
  }
  if (n == 0) {
    return TARN_OK;
  }
  TN_TRY(gather_item(to, item, 1, refs, n, &kept, err));
  st = push_joining(to, &kept, err);
  to->n_rows += st == TARN_OK ? n : 0;
  reset_item(to->env, &kept);
  return st;
}

tarn_status tn_row_store_drop(tn_row_store *store, const bool *is_gone, tarn_error *err) {
  tn_row_store kept;
  tn_row_ref *refs = NULL;
  int64_t most = 0;
  tarn_status st = TARN_OK;
  tn_row_store_init(&kept, store->env, store->fields, store->n_fields);
  for (size_t i = 0; i < store->n_items; i++) {
    most = store->items[i].batch.n_rows > most ? store->items[i].batch.n_rows : most;
  }
  refs = tn_alloc(&store->env->mem, (size_t)most * sizeof(*refs));
  if (refs == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < store->n_items && st == TARN_OK; i++) {
    st = keep_rows(&kept, &store->items[i], is_gone, refs, err);
    reset_item(store->env, &store->items[i]); /* room for the next one */
  }
  tn_free(&store->env->mem, refs);
  tn_row_store_clear(store);
  *store = kept;
  return st;
}
