/* cross.c - where a key is, over all partitions: tables whose primary key lacks partition columns.
 *
 * A key lives in one partition and bucket. All keys of the table are read when the first row comes,
 * and kept in memory; a row then goes
 *
 *   new key                      to the first bucket of its partition that is not full
 *   key in the same partition    to the bucket of the key
 *   key in another partition     deduplicate: -D there, with the new row's other values, and the
 *                                row to its own partition; first-row: nowhere; others: there, with
 *                                that partition's values in place of its own
 *
 * No index files are written: the rows tell everything. One writer at a time may do so, as nobody
 * else learns of keys that are not committed.
 *
 *   slots    [hash|at][hash|at]...     open addressing, at most three quarters used
 *   chunks   [partition|bucket|length|key bytes ...]   records of 8-byte multiples; at: in those
 *
 * Rule: org.apache.paimon.crosspartition.{GlobalIndexAssigner,IndexBootstrap,BucketAssigner,
 * DeleteExistingProcessor,UseOldExistingProcessor,SkipNewExistingProcessor}; spec: write-path, 12.
 */
#include "base/bytes.h"
#include "base/zone.h"
#include "column/binary_row.h"
#include "column/rowkind.h"
#include "model/partition.h"
#include "plan/plan.h"
#include "read/read.h"
#include "write/write_parts.h"

#define CHUNK_SHIFT 20
#define CHUNK_BYTES ((size_t)1 << CHUNK_SHIFT)
#define LEAST_SLOTS 1024
#define SNAPSHOT_TRIES 5
#define HEAD_BYTES 12
#define NOT_MOVED UINT32_MAX

typedef struct key_slot {
  uint32_t hash;
  uint32_t at; /* of the record, in 8 bytes, + 1; 0: free */
} key_slot;

/* How full the buckets of a partition are. */
typedef struct fill {
  int64_t *counts; /* -1: there is no such bucket */
  int32_t n;
  int32_t first_open; /* all before it are full, or not there */
} fill;

struct tn_cross {
  bool is_loaded;
  int32_t *key_columns; /* of the primary key, places in the table */
  tn_field *key_fields;
  int32_t n_keys;
  int64_t ttl_ms; /* files that are older tell nothing; -1: all do */
  size_t head;    /* null bits of a key's row, which are not kept: keys have no nulls */

  key_slot *slots;
  size_t n_slots, n_used;
  uint8_t **chunks;
  size_t n_chunks, chunks_capacity;
  size_t end;  /* of the records, from the first chunk on */
  fill *fills; /* by the partition's number */
  size_t n_fills;
  tn_buf key;

  /* Of the batch that is being routed: where each row goes. */
  uint32_t *partitions;
  int32_t *buckets;
};

/* ------------------------------------------------------------------ memory */

/* Rows that wait make room for keys. */
static tarn_status reserve(tn_write *w, size_t n_bytes, tarn_error *err) {
  tarn_status st;
  if (tn_env_reserve(w->env, n_bytes, "keys", NULL) == TARN_OK) {
    return TARN_OK;
  }
  if (w->store.n_rows > 0) {
    TN_TRY(tn_make_room(w, err));
  }
  st = tn_env_reserve(w->env, n_bytes, "keys", err);
  return st == TARN_OK
             ? st
             : tn_error_context(err, st,
                                "%s: its primary key lacks partition columns, so that a writer "
                                "holds all keys of the table in memory (%zu so far); raise the "
                                "memory limit, or let 'cross-partition-upsert.index-ttl' leave "
                                "out old ones",
                                w->table->full_name, w->cross->n_used);
}

static void *take_memory(tn_write *w, size_t n_bytes, tarn_status *st, tarn_error *err) {
  void *memory;
  *st = reserve(w, n_bytes, err);
  if (*st != TARN_OK) {
    return NULL;
  }
  memory = tn_calloc(&w->env->mem, 1, n_bytes);
  if (memory == NULL) {
    tn_unreserve(&w->env->mem, n_bytes);
    *st = tn_oom(err);
  }
  return memory;
}

static void give_memory(tn_write *w, void *memory, size_t n_bytes) {
  if (memory != NULL) {
    tn_free(&w->env->mem, memory);
    tn_unreserve(&w->env->mem, n_bytes);
  }
}

static void free_places(tn_write *w) {
  tn_free(&w->env->mem, w->cross->partitions);
  tn_free(&w->env->mem, w->cross->buckets);
  w->cross->partitions = NULL;
  w->cross->buckets = NULL;
}

void tn_cross_reset(tn_write *w) {
  tn_cross *x = w->cross;
  if (x == NULL) {
    return;
  }
  give_memory(w, x->slots, x->n_slots * sizeof(*x->slots));
  for (size_t i = 0; i < x->n_chunks; i++) {
    give_memory(w, x->chunks[i], CHUNK_BYTES);
  }
  tn_free(&w->env->mem, (void *)x->chunks);
  for (size_t i = 0; i < x->n_fills; i++) {
    tn_free(&w->env->mem, x->fills[i].counts);
  }
  tn_free(&w->env->mem, x->fills);
  tn_buf_reset(&x->key);
  free_places(w);
  x->slots = NULL;
  x->chunks = NULL;
  x->fills = NULL;
  x->n_slots = x->n_used = x->n_chunks = x->chunks_capacity = x->end = x->n_fills = 0;
  x->is_loaded = false;
}

/* ------------------------------------------------------------------ the table of keys */

static uint8_t *record_at(const tn_cross *x, uint32_t at) {
  size_t place = ((size_t)at - 1) * 8;
  return x->chunks[place >> CHUNK_SHIFT] + (place & (CHUNK_BYTES - 1));
}

/* The slot of a key, or the free one where it belongs. */
static key_slot *find_slot(const tn_cross *x, tn_slice key, uint32_t hash) {
  size_t mask = x->n_slots - 1, i = hash & mask;
  for (; x->slots[i].at != 0; i = (i + 1) & mask) {
    if (x->slots[i].hash == hash) {
      const uint8_t *record = record_at(x, x->slots[i].at);
      if (tn_load_le32(record + 8) == key.len &&
          memcmp(record + HEAD_BYTES, key.data, key.len) == 0) {
        break;
      }
    }
  }
  return &x->slots[i];
}

static tarn_status grow_slots(tn_write *w, tarn_error *err) {
  tn_cross *x = w->cross;
  size_t n_old = x->n_slots, n = n_old == 0 ? LEAST_SLOTS : 2 * n_old;
  key_slot *old = x->slots, *slots;
  tarn_status st;
  slots = take_memory(w, n * sizeof(*slots), &st, err);
  TN_TRY(st);
  for (size_t i = 0; i < n_old; i++) {
    if (old[i].at != 0) {
      size_t at = old[i].hash & (n - 1);
      while (slots[at].at != 0) {
        at = (at + 1) & (n - 1);
      }
      slots[at] = old[i];
    }
  }
  x->slots = slots;
  x->n_slots = n;
  give_memory(w, old, n_old * sizeof(*old));
  return TARN_OK;
}

static tarn_status add_chunk(tn_write *w, tarn_error *err) {
  tn_cross *x = w->cross;
  tarn_status st;
  if (x->n_chunks == x->chunks_capacity) {
    size_t capacity = 2 * x->chunks_capacity + 16;
    uint8_t **grown = tn_realloc(&w->env->mem, (void *)x->chunks, capacity * sizeof(*grown));
    if (grown == NULL) {
      return tn_oom(err);
    }
    x->chunks = grown;
    x->chunks_capacity = capacity;
  }
  x->chunks[x->n_chunks] = take_memory(w, CHUNK_BYTES, &st, err);
  TN_TRY(st);
  x->n_chunks++;
  return TARN_OK;
}

/* Put a key that is new. Its slot may be another one then. */
static tarn_status put_key(tn_write *w, tn_slice key, uint32_t hash, uint32_t partition,
                           int32_t bucket, tarn_error *err) {
  tn_cross *x = w->cross;
  size_t n_bytes = (HEAD_BYTES + key.len + 7) & ~(size_t)7, left;
  uint8_t *record;
  if (n_bytes > CHUNK_BYTES) {
    return tn_fail(err, TARN_E_LIMIT, "%s: a primary key of %zu bytes", w->table->full_name,
                   key.len);
  }
  if (4 * (x->n_used + 1) > 3 * x->n_slots) {
    TN_TRY(grow_slots(w, err));
  }
  left = (x->n_chunks << CHUNK_SHIFT) - x->end;
  if (left < n_bytes) {
    TN_TRY(add_chunk(w, err));
    x->end = (x->n_chunks - 1) << CHUNK_SHIFT;
  }
  if (x->end / 8 >= UINT32_MAX) {
    return tn_fail(err, TARN_E_LIMIT, "%s: its keys take more than 32 GiB", w->table->full_name);
  }
  *find_slot(x, key, hash) = (key_slot){hash, (uint32_t)(x->end / 8) + 1};
  record = record_at(x, (uint32_t)(x->end / 8) + 1);
  tn_store_le32(record, partition);
  tn_store_le32(record + 4, (uint32_t)bucket);
  tn_store_le32(record + 8, (uint32_t)key.len);
  memcpy(record + HEAD_BYTES, key.data, key.len);
  x->end += n_bytes;
  x->n_used++;
  return TARN_OK;
}

/* The bytes of the key of row i; columns: of the primary key in the batch. */
static tarn_status key_of(tn_cross *x, const tn_batch *batch, const int32_t *columns, int64_t i,
                          tn_slice *out, uint32_t *hash, tarn_error *err) {
  tn_binary_row_writer row;
  uint64_t h;
  x->key.len = 0;
  TN_TRY(tn_binary_row_begin(&row, &x->key, x->n_keys, err));
  for (int32_t c = 0; c < x->n_keys; c++) {
    int32_t column = columns != NULL ? columns[c] : c;
    TN_TRY(tn_binary_row_set_vec(&row, c, &batch->columns[column], i, err));
  }
  *out = tn_slice_of(x->key.data + x->head, x->key.len - x->head);
  h = tn_hash_bytes(out->data, out->len);
  *hash = (uint32_t)(h ^ h >> 32);
  return TARN_OK;
}

/* ------------------------------------------------------------------ how full buckets are */

static tarn_status fill_of(tn_write *w, uint32_t partition, fill **out, tarn_error *err) {
  tn_cross *x = w->cross;
  if (partition >= x->n_fills) {
    size_t n = w->router.n_partitions;
    fill *fills = tn_realloc(&w->env->mem, x->fills, n * sizeof(*fills));
    if (fills == NULL) {
      return tn_oom(err);
    }
    memset(fills + x->n_fills, 0, (n - x->n_fills) * sizeof(*fills));
    x->fills = fills;
    x->n_fills = n;
  }
  *out = &x->fills[partition];
  return TARN_OK;
}

static tarn_status count_key(tn_write *w, fill *f, int32_t bucket, tarn_error *err) {
  if (bucket >= f->n) {
    int32_t n = bucket + 1 + bucket / 2 + 3;
    int64_t *counts = tn_realloc(&w->env->mem, f->counts, (size_t)n * sizeof(*counts));
    if (counts == NULL) {
      return tn_oom(err);
    }
    for (int32_t i = f->n; i < n; i++) {
      counts[i] = -1;
    }
    f->counts = counts;
    f->n = n;
  }
  f->counts[bucket] = f->counts[bucket] < 0 ? 1 : f->counts[bucket] + 1;
  return TARN_OK;
}

/* The first bucket that has room, else the first that is not there. */
static int32_t choose_bucket(const tn_write *w, fill *f) {
  int32_t unused = 0;
  while (f->first_open < f->n &&
         (f->counts[f->first_open] < 0 || f->counts[f->first_open] >= w->assigner.target_rows)) {
    f->first_open++;
  }
  if (f->first_open < f->n) {
    return f->first_open;
  }
  while (unused < f->n && f->counts[unused] >= 0) {
    unused++;
  }
  f->first_open = unused;
  return unused;
}

/* ------------------------------------------------------------------ keys of the table */

static tarn_status load_batch(tn_write *w, const tn_batch *batch, uint32_t partition,
                              int32_t bucket, tarn_error *err) {
  tn_cross *x = w->cross;
  fill *f;
  TN_TRY(fill_of(w, partition, &f, err));
  for (int64_t i = 0; i < batch->n_rows; i++) {
    tn_slice key;
    uint32_t hash;
    TN_TRY(key_of(x, batch, NULL, i, &key, &hash, err));
    if (x->n_slots > 0 && find_slot(x, key, hash)->at != 0) {
      return tn_fail(err, TARN_E_CORRUPT,
                     "%s: a primary key is in two partitions or buckets; the likely cause is that "
                     "several writers wrote the table at a time",
                     w->table->full_name);
    }
    TN_TRY(put_key(w, key, hash, partition, bucket, err));
    TN_TRY(count_key(w, f, bucket, err));
  }
  return TARN_OK;
}

static tarn_status load_split(tn_write *w, tn_table *table, const tn_split *split,
                              tarn_error *err) {
  tn_read_options o = {.table = table,
                       .fields = w->cross->key_fields,
                       .n_fields = w->cross->n_keys,
                       .limit = -1,
                       .cancel = w->options.cancel};
  tn_read *read;
  uint32_t partition;
  tarn_status st;
  if (split->bucket < 0 || split->bucket == INT32_MAX) {
    return TARN_OK; /* postponed rows, of when the table had such buckets */
  }
  TN_TRY(tn_partition_number(w, split->partition, &partition, err));
  TN_TRY(tn_read_create(w->env, &o, &split, 1, &read, err));
  for (;;) {
    tn_batch batch = {0};
    int64_t n;
    st = tn_read_next(read, &batch, err);
    if (st != TARN_OK) {
      break;
    }
    n = batch.n_rows;
    st = load_batch(w, &batch, partition, split->bucket, err);
    tn_batch_reset(w->env, &batch);
    if (st != TARN_OK || n == 0) {
      break;
    }
  }
  tn_read_free(read);
  return st;
}

/* Is any file of the split young enough? The time of a file is the local one of its writer, taken
 * to be that of the session. */
static bool is_alive(const tn_write *w, const tn_split *split) {
  int64_t now = tn_env_now_ms(w->env);
  for (int32_t i = 0; i < split->n_files && w->cross->ttl_ms >= 0; i++) {
    int64_t local = split->files[i].creation_time_ms, seconds = local / 1000 - (local % 1000 < 0);
    int64_t made = tn_zone_local_to_utc(w->env->zone, seconds) * 1000 + local - seconds * 1000;
    if (!split->files[i].has_creation_time || now - made <= w->cross->ttl_ms) {
      return true;
    }
  }
  return w->cross->ttl_ms < 0;
}

/* The table as its keys are read: the latest snapshot, rows of level 0 too. */
static tarn_status latest_table(tn_write *w, tn_arena *arena, tn_table **out, tarn_error *err) {
  tn_table *t = w->table;
  size_t n = (size_t)t->options.count;
  tn_option *options = tn_arena_calloc(arena, n + 1, sizeof(*options));
  if (options == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < n; i++) {
    options[i] = t->options.items[i];
  }
  options[n] = (tn_option){"scan.mode", "latest"};
  TN_TRY(tn_table_create(t->env, t->storage, t->full_name, t->path, t->branch, t->branch_path,
                         t->schema, options, (int32_t)n + 1, out, err));
  (*out)->facts.skips_level_0 = false; /* nobody else has seen this table yet */
  return TARN_OK;
}

static tarn_status load_snapshot(tn_write *w, tn_table *table, tarn_error *err) {
  tn_scan scan = {.table = table, .limit = -1, .cancel = w->options.cancel};
  tn_plan *plan;
  tarn_status st = TARN_OK;
  TN_TRY(tn_plan_create(&scan, &plan, err));
  for (int32_t i = 0; i < plan->n_splits && st == TARN_OK; i++) {
    if (is_alive(w, &plan->splits[i])) {
      st = load_split(w, table, &plan->splits[i], err);
    }
  }
  tn_plan_release(plan);
  return st;
}

static tarn_status load_keys(tn_write *w, tarn_error *err) {
  tn_cross *x = w->cross;
  tn_arena arena;
  tn_table *table = NULL;
  tarn_status st = TARN_OK;
  if (x->is_loaded) {
    return TARN_OK;
  }
  tn_arena_init(&arena, &w->env->mem, TN_PLAN_ARENA_BYTES);
  if (!w->options.ignores_previous) {
    st = latest_table(w, &arena, &table, err);
    for (int i = 0; table != NULL && i < SNAPSHOT_TRIES; i++) {
      st = load_snapshot(w, table, err);
      if (st != TARN_E_NOT_FOUND) { /* else it was expired meanwhile */
        break;
      }
      tn_cross_reset(w);
    }
  }
  if (st == TARN_OK && x->n_slots == 0) {
    st = grow_slots(w, err);
  }
  x->is_loaded = st == TARN_OK;
  tn_table_release(table);
  tn_arena_reset(&arena);
  return st;
}

/* ------------------------------------------------------------------ rows of a batch */

/* What becomes of a batch: at most two rows for each that came. */
typedef struct outcome {
  tn_write *w;
  const int8_t *kinds; /* of the batch; NULL: all +I */
  int64_t n;
  uint32_t *rows;  /* of the batch */
  int8_t *kind_of; /* of each */
  uint32_t *moved; /* the partition that it goes to in place of its own; NOT_MOVED: its own */
  uint32_t *partitions;
  int32_t *buckets;
  bool has_kinds, has_moved;
} outcome;

static void emit(outcome *o, int64_t row, int8_t kind, uint32_t moved, uint32_t partition,
                 int32_t bucket) {
  o->rows[o->n] = (uint32_t)row;
  o->kind_of[o->n] = kind;
  o->moved[o->n] = moved;
  o->partitions[o->n] = partition;
  o->buckets[o->n++] = bucket;
  o->has_kinds = o->has_kinds || kind != TN_ROW_INSERT;
  o->has_moved = o->has_moved || moved != NOT_MOVED;
}

/* A row whose key is in another partition. */
static tarn_status move_row(outcome *o, int64_t row, int8_t kind, uint8_t *record,
                            uint32_t partition, tarn_error *err) {
  tn_write *w = o->w;
  uint32_t old = tn_load_le32(record);
  int32_t bucket = (int32_t)tn_load_le32(record + 4);
  fill *f;
  if (w->table->facts.merge_engine == TN_ENGINE_FIRST_ROW) {
    return TARN_OK;
  }
  if (w->table->facts.merge_engine != TN_ENGINE_DEDUPLICATE) {
    emit(o, row, kind, old, old, bucket);
    return TARN_OK;
  }
  if (!w->ignores_retracts) {
    emit(o, row, TN_ROW_DELETE, old, old, bucket);
  }
  TN_TRY(fill_of(w, old, &f, err));
  f->counts[bucket]--;
  f->first_open = bucket < f->first_open ? bucket : f->first_open;
  TN_TRY(fill_of(w, partition, &f, err));
  bucket = choose_bucket(w, f);
  TN_TRY(count_key(w, f, bucket, err));
  tn_store_le32(record, partition);
  tn_store_le32(record + 4, (uint32_t)bucket);
  emit(o, row, kind, NOT_MOVED, partition, bucket);
  return TARN_OK;
}

static tarn_status place_row(outcome *o, const tn_batch *batch, int64_t i, uint32_t partition,
                             tarn_error *err) {
  tn_write *w = o->w;
  tn_cross *x = w->cross;
  int8_t kind = o->kinds != NULL ? o->kinds[i] : (int8_t)TN_ROW_INSERT;
  const key_slot *slot;
  tn_slice key;
  uint32_t hash;
  int32_t bucket;
  fill *f;
  TN_TRY(key_of(x, batch, x->key_columns, i, &key, &hash, err));
  slot = find_slot(x, key, hash);
  if (slot->at != 0) {
    uint8_t *record = record_at(x, slot->at);
    if (tn_load_le32(record) != partition) {
      return move_row(o, i, kind, record, partition, err);
    }
    emit(o, i, kind, NOT_MOVED, partition, (int32_t)tn_load_le32(record + 4));
    return TARN_OK;
  }
  TN_TRY(fill_of(w, partition, &f, err));
  bucket = choose_bucket(w, f);
  TN_TRY(put_key(w, key, hash, partition, bucket, err));
  TN_TRY(count_key(w, f, bucket, err));
  emit(o, i, kind, NOT_MOVED, partition, bucket);
  return TARN_OK;
}

/* Values of partitions that rows move to: of each partition number one, for one column. */
typedef struct moves {
  uint32_t *source_of; /* by partition number; 0: none yet */
  uint32_t *numbers;   /* of source 1 and so on */
  int32_t n;
} moves;

static tarn_status list_moves(const outcome *o, moves *m, tarn_error *err) {
  tn_write *w = o->w;
  size_t n = w->router.n_partitions;
  m->source_of = tn_calloc(&w->env->mem, n, sizeof(*m->source_of));
  m->numbers = tn_alloc(&w->env->mem, n * sizeof(*m->numbers));
  if (m->source_of == NULL || m->numbers == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < o->n; i++) {
    if (o->moved[i] != NOT_MOVED && m->source_of[o->moved[i]] == 0) {
      m->numbers[m->n++] = o->moved[i];
      m->source_of[o->moved[i]] = (uint32_t)m->n;
    }
  }
  return TARN_OK;
}

/* Column c of the partition key with the values of the partitions that rows move to. */
static tarn_status gather_moved(const outcome *o, const moves *m, int32_t c, const tn_vec *vec,
                                tn_arena *arena, tn_vec *out, tarn_error *err) {
  tn_write *w = o->w;
  tn_mem *mem = &w->env->mem;
  size_t n = (size_t)m->n;
  const tn_vec **sources = tn_alloc(mem, (n + 1) * sizeof(*sources));
  tn_vec *values = tn_calloc(mem, n, sizeof(*values));
  tn_row_ref *refs = tn_alloc(mem, (size_t)o->n * sizeof(*refs));
  tarn_status st = TARN_OK;
  if (sources == NULL || values == NULL || refs == NULL) {
    st = tn_oom(err);
    goto done;
  }
  sources[0] = vec;
  for (size_t i = 0; i < n; i++) {
    tn_datum *row;
    TN_TRY_TO(done, tn_partition_values(arena, w->table->schema, w->router.by_number[m->numbers[i]],
                                        &row, err));
    TN_TRY_TO(done, tn_datum_to_vec(w->env, vec->type, &row[c], &values[i], err));
    sources[i + 1] = &values[i];
  }
  for (int64_t i = 0; i < o->n; i++) {
    bool is_moved = o->moved[i] != NOT_MOVED;
    refs[i] = (tn_row_ref){is_moved ? m->source_of[o->moved[i]] : 0, is_moved ? 0 : o->rows[i]};
  }
  st = tn_vec_gather(w->env, vec->type, sources, m->n + 1, refs, o->n, out, err);
done:
  for (size_t i = 0; i < n && values != NULL; i++) {
    tn_vec_reset(w->env, &values[i]);
  }
  tn_free(mem, values);
  tn_free(mem, (void *)sources);
  tn_free(mem, refs);
  return st;
}

static int32_t partition_place(const tn_write *w, int32_t column) {
  for (int32_t i = 0; i < w->n_partition_columns; i++) {
    if (w->partition_columns[i] == column) {
      return i;
    }
  }
  return -1;
}

/* Make the batch that of the outcome. */
static tarn_status apply(const outcome *o, tn_batch *batch, tarn_error *err) {
  tn_write *w = o->w;
  moves m = {0};
  tn_arena arena;
  tarn_status st = TARN_OK;
  tn_arena_init(&arena, &w->env->mem, SIZE_MAX);
  if (o->has_moved) {
    TN_TRY_TO(done, list_moves(o, &m, err));
  }
  for (int32_t c = 0; c < batch->n_columns; c++) {
    int32_t p = o->has_moved ? partition_place(w, c) : -1;
    tn_vec made = {0};
    TN_TRY_TO(done, p >= 0 ? gather_moved(o, &m, p, &batch->columns[c], &arena, &made, err)
                           : tn_vec_take(w->env, &batch->columns[c], o->rows, o->n, &made, err));
    tn_vec_reset(w->env, &batch->columns[c]);
    tn_vec_move(&batch->columns[c], &made);
  }
  batch->n_rows = o->n;
done:
  tn_free(&w->env->mem, m.source_of);
  tn_free(&w->env->mem, m.numbers);
  tn_arena_reset(&arena);
  return st;
}

tarn_status tn_cross_settle(tn_write *w, tn_batch *batch, int8_t **kinds, tarn_error *err) {
  tn_mem *mem = &w->env->mem;
  size_t n = (size_t)batch->n_rows;
  outcome o = {.w = w, .kinds = *kinds};
  uint32_t *partitions = NULL;
  tarn_status st = TARN_OK;
  if (n > UINT32_MAX / 2) {
    return tn_fail(err, TARN_E_LIMIT, "a batch of more than 2147483647 rows");
  }
  TN_TRY(load_keys(w, err));
  free_places(w);
  partitions = tn_alloc(mem, n * sizeof(*partitions));
  o.rows = tn_alloc(mem, 2 * n * sizeof(*o.rows));
  o.kind_of = tn_alloc(mem, 2 * n);
  o.moved = tn_alloc(mem, 2 * n * sizeof(*o.moved));
  o.partitions = tn_alloc(mem, 2 * n * sizeof(*o.partitions));
  o.buckets = tn_alloc(mem, 2 * n * sizeof(*o.buckets));
  if (partitions == NULL || o.rows == NULL || o.kind_of == NULL || o.moved == NULL ||
      o.partitions == NULL || o.buckets == NULL) {
    st = tn_oom(err);
    goto done;
  }
  TN_TRY_TO(done, tn_partition_numbers(w, batch, partitions, err));
  for (size_t i = 0; i < n; i++) {
    TN_TRY_TO(done, place_row(&o, batch, (int64_t)i, partitions[i], err));
  }
  if (o.has_moved || o.n != batch->n_rows) {
    TN_TRY_TO(done, apply(&o, batch, err));
  }
  if (o.has_kinds || *kinds != NULL) {
    tn_free(mem, *kinds);
    *kinds = o.kind_of;
    o.kind_of = NULL;
  }
  w->cross->partitions = o.partitions;
  w->cross->buckets = o.buckets;
  o.partitions = NULL;
  o.buckets = NULL;
done:
  tn_free(mem, partitions);
  tn_free(mem, o.rows);
  tn_free(mem, o.kind_of);
  tn_free(mem, o.moved);
  tn_free(mem, o.partitions);
  tn_free(mem, o.buckets);
  return st;
}

void tn_cross_places(const tn_write *w, const uint32_t **partitions, const int32_t **buckets) {
  *partitions = w->cross->partitions;
  *buckets = w->cross->buckets;
}

/* ------------------------------------------------------------------ life */

tarn_status tn_cross_create(tn_write *w, tarn_error *err) {
  const tn_schema *schema = w->table->schema;
  tn_cross *x = tn_arena_calloc(&w->arena, 1, sizeof(*x));
  int32_t n = schema->n_primary_keys;
  bool has_ttl;
  if (x == NULL) {
    return tn_oom(err);
  }
  x->key_columns = tn_arena_calloc(&w->arena, (size_t)n, sizeof(*x->key_columns));
  x->key_fields = tn_arena_calloc(&w->arena, (size_t)n, sizeof(*x->key_fields));
  if (x->key_columns == NULL || x->key_fields == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < n; i++) {
    int32_t c =
        tn_fields_find(schema->fields, schema->n_fields, tn_slice_text(schema->primary_keys[i]));
    if (c < 0) {
      return TN_BUG(err, "a primary key column that the table does not have");
    }
    x->key_columns[i] = c;
    x->key_fields[i] = schema->fields[c];
  }
  x->n_keys = n;
  x->head = ((size_t)n + 63 + 8) / 64 * 8;
  TN_TRY(tn_options_int(&w->table->options, "cross-partition-upsert.index-ttl", &x->ttl_ms,
                        &has_ttl, err));
  x->ttl_ms = has_ttl ? x->ttl_ms : -1;
  tn_buf_init(&x->key, &w->env->mem, (size_t)INT32_MAX);
  w->cross = x;
  return TARN_OK;
}
