/* block_cache.c - shards of blocks; within a shard a hash table of chains, and a clock that finds
 * the block to make room: one that was not used since the hand passed it last.
 */
#include "lookup/block_cache.h"

#include <pthread.h>

#define SHARDS 16
#define SLAB_BLOCKS 64
#define SLAB_BYTES ((size_t)SLAB_BLOCKS * TN_LOOKUP_BLOCK_BYTES)
#define NONE UINT32_MAX
#define LARGE_BYTES ((size_t)16 * TN_LOOKUP_BLOCK_BYTES) /* reads that go past the cache */

typedef struct frame {
  uint64_t key; /* number of the file << 32 | number of the block */
  uint32_t next;
  bool is_full, was_used;
} frame;

typedef struct shard {
  pthread_mutex_t mutex;
  bool has_mutex;
  uint8_t **slabs;
  frame *frames;
  uint32_t n_frames, capacity; /* capacity: of frames and slabs, in frames */
  uint32_t n_filled;           /* frames[0 .. n_filled) were given out once */
  uint32_t hand;
  uint32_t *heads; /* n_heads chains */
  uint32_t n_heads;
  int64_t hits, misses;
} shard;

struct tn_block_cache {
  tarn_env *env;
  uint32_t most_frames; /* of a shard */
  int64_t max_bytes;
  _Atomic int64_t held_bytes, pinned_bytes; /* slabs and what is pinned; the latter alone */
  shard shards[SHARDS];
};

tarn_status tn_block_cache_create(tarn_env *env, int64_t max_bytes, tn_block_cache **out,
                                  tarn_error *err) {
  tn_block_cache *c = tn_calloc(&env->mem, 1, sizeof(*c));
  int64_t frames = max_bytes / TN_LOOKUP_BLOCK_BYTES / SHARDS;
  *out = NULL;
  if (c == NULL) {
    return tn_oom(err);
  }
  c->env = env;
  c->max_bytes = max_bytes;
  c->most_frames = frames < 1 << 28 ? (uint32_t)(frames < 0 ? 0 : frames) : 1u << 28;
  for (int i = 0; i < SHARDS; i++) {
    if (pthread_mutex_init(&c->shards[i].mutex, NULL) != 0) {
      tn_block_cache_free(c);
      return tn_oom(err);
    }
    c->shards[i].has_mutex = true;
  }
  *out = c;
  return TARN_OK;
}

void tn_block_cache_free(tn_block_cache *c) {
  tn_mem *mem;
  if (c == NULL) {
    return;
  }
  mem = &c->env->mem;
  for (int i = 0; i < SHARDS; i++) {
    shard *s = &c->shards[i];
    for (uint32_t k = 0; k < s->n_frames / SLAB_BLOCKS; k++) {
      tn_free(mem, s->slabs[k]);
      tn_unreserve(mem, SLAB_BYTES);
    }
    tn_free(mem, s->slabs);
    tn_free(mem, s->frames);
    tn_free(mem, s->heads);
    if (s->has_mutex) {
      pthread_mutex_destroy(&s->mutex);
    }
  }
  tn_free(mem, c);
}

/* ------------------------------------------------------------------ frames */

static uint64_t mix(uint64_t key) {
  key ^= key >> 33;
  key *= 0xff51afd7ed558ccdu;
  key ^= key >> 33;
  key *= 0xc4ceb9fe1a85ec53u;
  return key ^ key >> 33;
}

static uint8_t *data_of(const shard *s, uint32_t i) {
  return s->slabs[i / SLAB_BLOCKS] + (size_t)(i % SLAB_BLOCKS) * TN_LOOKUP_BLOCK_BYTES;
}

static uint32_t *head_of(const shard *s, uint64_t hash) {
  return &s->heads[(hash >> 8) & (s->n_heads - 1)];
}

/* More frames than before may come: the tables grow with them. false: no memory. */
static bool grow_tables(tn_mem *mem, shard *s) {
  uint32_t capacity = s->capacity > 0 ? s->capacity * 2 : SLAB_BLOCKS;
  frame *frames = tn_realloc(mem, s->frames, capacity * sizeof(*frames));
  uint8_t **slabs;
  uint32_t *heads;
  if (frames == NULL) {
    return false;
  }
  s->frames = frames;
  slabs = tn_realloc(mem, s->slabs, capacity / SLAB_BLOCKS * sizeof(*slabs));
  if (slabs == NULL) {
    return false;
  }
  s->slabs = slabs;
  heads = tn_alloc(mem, capacity * sizeof(*heads));
  if (heads == NULL) {
    return false;
  }
  tn_free(mem, s->heads);
  s->heads = heads;
  s->n_heads = capacity;
  s->capacity = capacity;
  memset(heads, 0xff, capacity * sizeof(*heads));
  for (uint32_t i = 0; i < s->n_filled; i++) {
    if (frames[i].is_full) {
      uint32_t *head = head_of(s, mix(frames[i].key));
      frames[i].next = *head;
      *head = i;
    }
  }
  return true;
}

/* Count n bytes, if there is room for them in the cache and in the budget. */
static bool hold(tn_block_cache *c, int64_t n) {
  int64_t held = atomic_fetch_add_explicit(&c->held_bytes, n, memory_order_relaxed) + n;
  if (held <= c->max_bytes && tn_reserve_try(&c->env->mem, (size_t)n)) {
    return true;
  }
  atomic_fetch_sub_explicit(&c->held_bytes, n, memory_order_relaxed);
  return false;
}

static void let_go(tn_block_cache *c, int64_t n) {
  atomic_fetch_sub_explicit(&c->held_bytes, n, memory_order_relaxed);
  tn_unreserve(&c->env->mem, (size_t)n);
}

bool tn_block_cache_pin(tn_block_cache *c, size_t n_bytes, int n_quarters) {
  int64_t n = (int64_t)n_bytes;
  int64_t pinned = atomic_fetch_add_explicit(&c->pinned_bytes, n, memory_order_relaxed) + n;
  if (pinned <= c->max_bytes / 4 * n_quarters && hold(c, n)) {
    return true;
  }
  atomic_fetch_sub_explicit(&c->pinned_bytes, n, memory_order_relaxed);
  return false;
}

void tn_block_cache_unpin(tn_block_cache *c, size_t n_bytes) {
  atomic_fetch_sub_explicit(&c->pinned_bytes, (int64_t)n_bytes, memory_order_relaxed);
  let_go(c, (int64_t)n_bytes);
}

static bool add_slab(tn_block_cache *c, shard *s) {
  tn_mem *mem = &c->env->mem;
  uint8_t *slab;
  if (s->n_frames + SLAB_BLOCKS > c->most_frames ||
      (s->n_frames == s->capacity && !grow_tables(mem, s)) || !hold(c, (int64_t)SLAB_BYTES)) {
    return false;
  }
  slab = tn_alloc(mem, SLAB_BYTES);
  if (slab == NULL) {
    let_go(c, (int64_t)SLAB_BYTES);
    return false;
  }
  s->slabs[s->n_frames / SLAB_BLOCKS] = slab;
  s->n_frames += SLAB_BLOCKS;
  return true;
}

static void unchain(shard *s, uint32_t i) {
  uint32_t *at = head_of(s, mix(s->frames[i].key));
  while (*at != i) {
    at = &s->frames[*at].next;
  }
  *at = s->frames[i].next;
  s->frames[i].is_full = false;
}

/* A frame to fill; NONE: there are none. */
static uint32_t free_frame(tn_block_cache *c, shard *s) {
  if (s->n_filled < s->n_frames || add_slab(c, s)) {
    s->frames[s->n_filled] = (frame){.next = NONE};
    return s->n_filled++;
  }
  if (s->n_frames == 0) {
    return NONE;
  }
  for (;;) {
    uint32_t i = s->hand;
    s->hand = i + 1 < s->n_frames ? i + 1 : 0;
    if (!s->frames[i].is_full) {
      return i;
    }
    if (!s->frames[i].was_used) {
      unchain(s, i);
      return i;
    }
    s->frames[i].was_used = false;
  }
}

static uint32_t find_frame(const shard *s, uint64_t hash, uint64_t key) {
  uint32_t i = s->n_heads > 0 ? *head_of(s, hash) : NONE;
  while (i != NONE && s->frames[i].key != key) {
    i = s->frames[i].next;
  }
  return i;
}

/* ------------------------------------------------------------------ reading */

/* n bytes at `at` of one block, under the lock of its shard. */
static tarn_status read_block(tn_block_cache *c, shard *s, const tn_cached_file *file,
                              uint64_t block, size_t at, void *out, size_t n, tarn_error *err) {
  uint64_t key = (uint64_t)file->number << 32 | block, hash = mix(key);
  int64_t begin = (int64_t)block * TN_LOOKUP_BLOCK_BYTES, left = file->size_bytes - begin;
  uint32_t i = find_frame(s, hash, key);
  if (i != NONE) {
    s->hits++;
    s->frames[i].was_used = true;
    memcpy(out, data_of(s, i) + at, n);
    return TARN_OK;
  }
  s->misses++;
  i = free_frame(c, s);
  if (i == NONE) {
    return tn_file_read(file->file, begin + (int64_t)at, out, n, err);
  }
  TN_TRY(tn_file_read(file->file, begin, data_of(s, i),
                      left < TN_LOOKUP_BLOCK_BYTES ? (size_t)left : TN_LOOKUP_BLOCK_BYTES, err));
  uint32_t *head = head_of(s, hash);
  s->frames[i] = (frame){.key = key, .next = *head, .is_full = true, .was_used = true};
  *head = i;
  memcpy(out, data_of(s, i) + at, n);
  return TARN_OK;
}

tarn_status tn_block_cache_read(tn_block_cache *c, const tn_cached_file *file, int64_t offset,
                                void *out, size_t n_bytes, tarn_error *err) {
  if (offset < 0 || offset > file->size_bytes || n_bytes > (uint64_t)(file->size_bytes - offset)) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: no place in a lookup file: offset %lld, %zu bytes",
                   file->file->path, (long long)offset, n_bytes);
  }
  if (n_bytes > LARGE_BYTES || file->size_bytes / TN_LOOKUP_BLOCK_BYTES >= (int64_t)UINT32_MAX) {
    return tn_file_read(file->file, offset, out, n_bytes, err);
  }
  while (n_bytes > 0) {
    uint64_t block = (uint64_t)offset / TN_LOOKUP_BLOCK_BYTES;
    size_t at = (size_t)offset % TN_LOOKUP_BLOCK_BYTES, n = TN_LOOKUP_BLOCK_BYTES - at;
    shard *s = &c->shards[mix((uint64_t)file->number << 32 | block) % SHARDS];
    tarn_status st;
    n = n < n_bytes ? n : n_bytes;
    pthread_mutex_lock(&s->mutex);
    st = read_block(c, s, file, block, at, out, n, err);
    pthread_mutex_unlock(&s->mutex);
    TN_TRY(st);
    out = (uint8_t *)out + n;
    offset += (int64_t)n;
    n_bytes -= n;
  }
  return TARN_OK;
}

void tn_block_cache_get_stats(tn_block_cache *c, tn_block_cache_stats *out) {
  memset(out, 0, sizeof(*out));
  out->held_bytes = c->held_bytes;
  for (int i = 0; i < SHARDS; i++) {
    shard *s = &c->shards[i];
    pthread_mutex_lock(&s->mutex);
    out->hits += s->hits;
    out->misses += s->misses;
    pthread_mutex_unlock(&s->mutex);
  }
}
