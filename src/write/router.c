/* router.c - which rows go where.
 *
 * Rows of one partition are found by hashing within the batch: the first row of each is then looked
 * up by the bytes of its partition row, which files and manifests have, too. Buckets are numbered
 * in the order in which they were opened.
 */
#include "base/bytes.h"
#include "column/binary_row.h"
#include "column/equal.h"
#include "write/write_parts.h"

void tn_router_init(tn_router *router, tn_mem *mem) {
  memset(router, 0, sizeof(*router));
  tn_map_init(&router->partitions, mem);
  tn_map_init(&router->places, mem);
}

void tn_router_reset(tn_router *router, tarn_env *env) {
  for (size_t i = 0; i < router->n_buckets; i++) {
    tn_data_writer_free(router->buckets[i]->writer);
    router->buckets[i]->writer = NULL;
  }
  tn_map_reset(&router->partitions);
  tn_map_reset(&router->places);
  tn_free(&env->mem, (void *)router->buckets);
  tn_free(&env->mem, (void *)router->by_number);
  tn_router_init(router, &env->mem);
}

/* ------------------------------------------------------------------ partitions */

/* The partition row of row i, its arity in front. */
static tarn_status put_partition(const tn_write *w, const tn_batch *batch, int64_t i, tn_buf *out,
                                 tarn_error *err) {
  tn_binary_row_writer row;
  uint8_t arity[4];
  out->len = 0;
  tn_store_be32(arity, (uint32_t)w->n_partition_columns);
  TN_TRY(tn_buf_append(out, arity, sizeof(arity), err));
  TN_TRY(tn_binary_row_begin(&row, out, w->n_partition_columns, err));
  for (int32_t c = 0; c < w->n_partition_columns; c++) {
    TN_TRY(tn_binary_row_set_vec(&row, c, &batch->columns[w->partition_columns[c]], i, err));
  }
  return TARN_OK;
}

tarn_status tn_partition_number(tn_write *w, tn_slice bytes, uint32_t *out, tarn_error *err) {
  tn_router *r = &w->router;
  tn_map_entry *entry = tn_map_find(&r->partitions, bytes);
  tn_slice kept;
  if (entry != NULL) {
    *out = (uint32_t)entry->value.num;
    return TARN_OK;
  }
  if (r->n_partitions == r->partitions_capacity) {
    size_t capacity = r->partitions_capacity * 2 + 16;
    tn_slice *grown =
        tn_realloc(&w->env->mem, (void *)(uintptr_t)r->by_number, capacity * sizeof(*grown));
    if (grown == NULL) {
      return tn_oom(err);
    }
    r->by_number = grown;
    r->partitions_capacity = capacity;
  }
  if (!tn_arena_slice(&w->arena, bytes, &kept)) {
    return tn_oom(err);
  }
  TN_TRY(tn_map_put(&r->partitions, kept, &entry, NULL, err));
  *out = (uint32_t)r->n_partitions;
  entry->value.num = *out;
  ((tn_slice *)(uintptr_t)r->by_number)[r->n_partitions++] = kept;
  return TARN_OK;
}

/* The groups of a batch: an open-addressed table of first rows. */
typedef struct row_groups {
  const tn_write *w;
  const tn_batch *batch;
  uint32_t *slots; /* first row + 1; 0: free */
  uint32_t mask;
} row_groups;

static tarn_status same_partition(const row_groups *g, int64_t i, int64_t k, bool *out,
                                  tarn_error *err) {
  *out = true;
  for (int32_t c = 0; c < g->w->n_partition_columns && *out; c++) {
    const tn_vec *vec = &g->batch->columns[g->w->partition_columns[c]];
    TN_TRY(tn_vec_rows_equal(&g->w->env->mem, vec, i, vec, k, out, err));
  }
  return TARN_OK;
}

/* The slot of the first row with the partition of row i; it is free when i is the first. */
static tarn_status find_slot(const row_groups *g, int64_t i, uint32_t *slot, tarn_error *err) {
  uint64_t hash = 0;
  uint32_t at;
  for (int32_t c = 0; c < g->w->n_partition_columns; c++) {
    hash = tn_hash_join(hash, tn_vec_row_hash(&g->batch->columns[g->w->partition_columns[c]], i));
  }
  at = (uint32_t)(hash ^ hash >> 32) & g->mask;
  for (;; at = (at + 1) & g->mask) {
    bool is_same = true;
    if (g->slots[at] != 0) {
      TN_TRY(same_partition(g, i, (int64_t)g->slots[at] - 1, &is_same, err));
    }
    if (is_same) {
      *slot = at;
      return TARN_OK;
    }
  }
}

tarn_status tn_partition_numbers(tn_write *w, const tn_batch *batch, uint32_t *numbers,
                                 tarn_error *err) {
  row_groups g = {.w = w, .batch = batch, .mask = 63};
  tn_buf bytes;
  tarn_status st = TARN_OK;
  int64_t last = -1;
  tn_buf_init(&bytes, &w->env->mem, (size_t)INT32_MAX);
  while (g.mask < 2 * (uint64_t)batch->n_rows) {
    g.mask = g.mask * 2 + 1;
  }
  g.slots = tn_calloc(&w->env->mem, (size_t)g.mask + 1, sizeof(*g.slots));
  if (g.slots == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < batch->n_rows; i++) {
    uint32_t slot;
    bool is_same = false;
    if (last >= 0) { /* rows often come partition by partition */
      TN_TRY_TO(done, same_partition(&g, i, last, &is_same, err));
    }
    if (is_same) {
      numbers[i] = numbers[last];
      continue;
    }
    TN_TRY_TO(done, find_slot(&g, i, &slot, err));
    if (g.slots[slot] == 0) {
      TN_TRY_TO(done, put_partition(w, batch, i, &bytes, err));
      TN_TRY_TO(done, tn_partition_number(w, tn_buf_slice(&bytes), &numbers[i], err));
      g.slots[slot] = (uint32_t)i + 1;
    } else {
      numbers[i] = numbers[g.slots[slot] - 1];
    }
    last = i;
  }
done:
  tn_free(&w->env->mem, g.slots);
  tn_buf_reset(&bytes);
  return st;
}

/* ------------------------------------------------------------------ buckets */

static tarn_status open_bucket(tn_write *w, uint32_t partition, int32_t number, uint32_t *out,
                               tarn_error *err) {
  tn_router *r = &w->router;
  tn_open_bucket *b;
  tn_map_entry *entry;
  uint8_t *key;
  if (r->n_buckets == r->capacity) {
    size_t capacity = r->capacity * 2 + 16;
    tn_open_bucket **grown =
        tn_realloc(&w->env->mem, (void *)r->buckets, capacity * sizeof(*grown));
    if (grown == NULL) {
      return tn_oom(err);
    }
    r->buckets = grown;
    r->capacity = capacity;
  }
  b = tn_arena_calloc(&w->arena, 1, sizeof(*b));
  key = tn_arena_alloc(&w->arena, 8);
  if (b == NULL || key == NULL) {
    return tn_oom(err);
  }
  tn_store_le32(key, partition);
  tn_store_le32(key + 4, (uint32_t)number);
  TN_TRY(tn_map_put(&r->places, tn_slice_of(key, 8), &entry, NULL, err));
  b->number = (uint32_t)r->n_buckets;
  b->partition = r->by_number[partition];
  b->bucket = number;
  b->must_restore = true;
  r->n_must_restore++;
  entry->value.num = b->number;
  r->buckets[r->n_buckets++] = b;
  *out = b->number;
  return TARN_OK;
}

tarn_status tn_open_bucket_number(tn_write *w, uint32_t partition, int32_t number, uint32_t *out,
                                  tarn_error *err) {
  uint8_t key[8];
  const tn_map_entry *entry;
  tn_store_le32(key, partition);
  tn_store_le32(key + 4, (uint32_t)number);
  entry = tn_map_find(&w->router.places, tn_slice_of(key, 8));
  if (entry == NULL) {
    return open_bucket(w, partition, number, out, err);
  }
  *out = (uint32_t)entry->value.num;
  return TARN_OK;
}

/* Few buckets of one partition: their numbers are looked up once. */
#define FEW_BUCKETS 256

static tarn_status number_rows(tn_write *w, const tn_batch *batch, const uint32_t *partitions,
                               const int32_t *buckets, uint32_t *bucket_of, tarn_error *err) {
  uint32_t known[FEW_BUCKETS], last_partition = UINT32_MAX;
  memset(known, 0xff, sizeof(known));
  for (int64_t i = 0; i < batch->n_rows; i++) {
    uint32_t partition = partitions != NULL ? partitions[i] : 0, number;
    if (partition != last_partition) {
      memset(known, 0xff, sizeof(known));
      last_partition = partition;
    }
    if ((uint32_t)buckets[i] < FEW_BUCKETS && known[buckets[i]] != UINT32_MAX) {
      bucket_of[i] = known[buckets[i]];
      continue;
    }
    TN_TRY(tn_open_bucket_number(w, partition, buckets[i], &number, err));
    if ((uint32_t)buckets[i] < FEW_BUCKETS) {
      known[buckets[i]] = number;
    }
    bucket_of[i] = number;
  }
  return TARN_OK;
}

/* Restore the buckets of a batch that must be. */
static tarn_status restore_buckets(tn_write *w, const uint32_t *bucket_of, int64_t n_rows,
                                   tarn_error *err) {
  tn_router *r = &w->router;
  tn_open_bucket **buckets;
  size_t n = 0;
  tarn_status st;
  if (r->n_must_restore == 0) {
    return TARN_OK;
  }
  buckets = tn_alloc(&w->env->mem, r->n_must_restore * sizeof(*buckets));
  if (buckets == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < n_rows; i++) {
    tn_open_bucket *b = r->buckets[bucket_of[i]];
    if (b->must_restore) {
      b->must_restore = false; /* it is in the list */
      buckets[n++] = b;
    }
  }
  for (size_t i = 0; i < n; i++) {
    buckets[i]->must_restore = true;
  }
  st = n > 0 ? tn_restore(w, buckets, n, false, err) : TARN_OK;
  for (size_t i = 0; i < n && st == TARN_OK; i++) {
    buckets[i]->must_restore = false;
    r->n_must_restore--;
  }
  tn_free(&w->env->mem, (void *)buckets);
  return st;
}

/* The partitions and buckets of rows that may not move. */
static tarn_status place_rows(tn_write *w, const tn_batch *batch, uint32_t *partitions,
                              int32_t *buckets, tarn_error *err) {
  uint32_t only;
  if (w->n_partition_columns > 0) {
    TN_TRY(tn_partition_numbers(w, batch, partitions, err));
  } else if (w->router.n_partitions == 0) {
    TN_TRY(tn_partition_number(w, tn_binary_row_empty(), &only, err));
  }
  return w->table->facts.bucket_mode == TN_BUCKETS_DYNAMIC
             ? tn_assign_buckets(w, batch, partitions, buckets, err)
             : tn_bucket_numbers(w, batch, buckets, err);
}

tarn_status tn_route(tn_write *w, const tn_batch *batch, uint32_t *bucket_of, tarn_error *err) {
  tn_mem *mem = &w->env->mem;
  size_t n = (size_t)batch->n_rows;
  const uint32_t *known_partitions;
  const int32_t *known_buckets;
  int32_t *buckets = NULL;
  uint32_t *partitions = NULL;
  tarn_status st = TARN_OK;
  if (w->cross != NULL) {
    tn_cross_places(w, &known_partitions, &known_buckets);
    TN_TRY(number_rows(w, batch, known_partitions, known_buckets, bucket_of, err));
    return restore_buckets(w, bucket_of, batch->n_rows, err);
  }
  buckets = tn_alloc(mem, n * sizeof(*buckets));
  partitions = w->n_partition_columns > 0 ? tn_alloc(mem, n * sizeof(*partitions)) : NULL;
  if (buckets == NULL || (w->n_partition_columns > 0 && partitions == NULL)) {
    st = tn_oom(err);
    goto done;
  }
  TN_TRY_TO(done, place_rows(w, batch, partitions, buckets, err));
  TN_TRY_TO(done, number_rows(w, batch, partitions, buckets, bucket_of, err));
  st = restore_buckets(w, bucket_of, batch->n_rows, err);
done:
  tn_free(mem, buckets);
  tn_free(mem, partitions);
  return st;
}
