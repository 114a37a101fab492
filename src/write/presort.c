/* presort.c - rows of a batch put in the order of their buckets and keys when they come.
 *
 * Nothing depends on it but speed: a flush copies rows in the order of their keys, and finds those
 * of a batch that was sorted one behind the other, instead of anywhere in memory. A batch that has
 * just come is still in the caches, so that moving its rows costs little more than the copy that
 * must be made anyway. Rows with equal prefixes keep their order.
 */
#include "merge/key.h"
#include "write/write_parts.h"

#define LEAST_ROWS 256
#define MAX_BUCKETS 65536

/* Stable, by the number of the bucket. */
static tarn_status order_buckets(tn_write *w, const uint32_t *bucket_of, const tn_sort_row *from,
                                 tn_sort_row *to, int64_t n, tarn_error *err) {
  size_t n_buckets = w->router.n_buckets;
  uint32_t *at = tn_calloc(&w->env->mem, n_buckets + 1, sizeof(*at)), sum = 0;
  if (at == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < n; i++) {
    at[bucket_of[i]]++;
  }
  for (size_t b = 0; b < n_buckets; b++) {
    uint32_t count = at[b];
    at[b] = sum;
    sum += count;
  }
  for (int64_t i = 0; i < n; i++) {
    to[at[bucket_of[from[i].at]]++] = from[i];
  }
  tn_free(&w->env->mem, at);
  return TARN_OK;
}

static tarn_status order_rows(tn_write *w, const tn_batch *batch, const uint32_t *bucket_of,
                              tn_sort_row *rows, tn_sort_row *scratch, uint64_t *prefixes,
                              tn_vec *columns, bool *is_same, tarn_error *err) {
  static const tn_row_order by_prefix = {.is_exact = true};
  int64_t n = batch->n_rows;
  tn_batch keys = {
      .n_rows = n, .n_columns = w->n_keys, .fields = w->key_fields, .columns = columns};
  tn_sort_row *sorted = rows;
  for (int32_t c = 0; c < w->n_keys; c++) {
    columns[c] = batch->columns[w->key_columns[c]]; /* borrowed */
  }
  TN_TRY(tn_key_prefixes(&keys, w->n_keys, tn_slice_of(NULL, 0), prefixes, err));
  for (int64_t i = 0; i < n; i++) {
    rows[i] = (tn_sort_row){prefixes[i], (uint32_t)i, 0};
  }
  tn_rows_sort(&by_prefix, rows, scratch, n);
  if (w->router.n_buckets > 1) {
    TN_TRY(order_buckets(w, bucket_of, rows, scratch, n, err));
    sorted = scratch;
  }
  *is_same = true;
  for (int64_t i = 0; i < n; i++) {
    *is_same &= sorted[i].at == (uint32_t)i;
    ((uint32_t *)prefixes)[i] = sorted[i].at; /* not needed any more */
  }
  return TARN_OK;
}

tarn_status tn_presort(tn_write *w, const tn_batch *batch, const uint32_t *bucket_of,
                       uint32_t **out, tarn_error *err) {
  tn_mem *mem = &w->env->mem;
  size_t n = (size_t)batch->n_rows;
  tn_sort_row *rows = NULL;
  uint64_t *prefixes = NULL;
  tn_vec *columns = NULL;
  bool is_same = true;
  tarn_status st = TARN_OK;
  *out = NULL;
  if (!w->sorts || n < LEAST_ROWS || w->router.n_buckets > MAX_BUCKETS) {
    return TARN_OK;
  }
  rows = tn_alloc(mem, 2 * n * sizeof(*rows));
  prefixes = tn_alloc(mem, n * sizeof(*prefixes));
  columns = tn_alloc(mem, (size_t)w->n_keys * sizeof(*columns));
  if (rows == NULL || prefixes == NULL || columns == NULL) {
    st = tn_oom(err);
    goto done;
  }
  TN_TRY_TO(done,
            order_rows(w, batch, bucket_of, rows, rows + n, prefixes, columns, &is_same, err));
  if (!is_same) {
    *out = (uint32_t *)prefixes;
    prefixes = NULL;
  }
done:
  tn_free(mem, rows);
  tn_free(mem, prefixes);
  tn_free(mem, columns);
  return st;
}
