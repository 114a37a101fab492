/* cache.c - a hash table of fixed size and a list by last use, under one mutex. */
#include "base/cache.h"

#include <pthread.h>

#include "base/checked.h"
#include "base/map.h"

typedef struct cache_item {
  const tn_cache_ops *ops;
  void *value;
  size_t n_bytes;
  uint64_t hash;
  struct cache_item *older, *newer; /* by last use */
  struct cache_item *chain;         /* of the hash bucket */
  size_t key_len;
  uint8_t key[];
} cache_item;

#define N_BUCKETS 4096u

struct tn_cache {
  tn_mem *mem;
  pthread_mutex_t mutex; /* guards everything below */
  cache_item *oldest, *newest;
  size_t held_bytes, max_bytes;
  int64_t hits, misses;
  cache_item *buckets[N_BUCKETS];
};

tarn_status tn_cache_create(tn_mem *mem, size_t max_bytes, tn_cache **out, tarn_error *err) {
  tn_cache *cache = tn_calloc(mem, 1, sizeof(*cache));
  *out = cache;
  if (cache == NULL) {
    return tn_oom(err);
  }
  cache->mem = mem;
  cache->max_bytes = max_bytes;
  pthread_mutex_init(&cache->mutex, NULL);
  return TARN_OK;
}

static uint64_t key_hash(const tn_cache_ops *ops, tn_slice key) {
  return tn_hash_bytes(key.data, key.len) ^ (uint64_t)(uintptr_t)ops;
}

static void unlink_use(tn_cache *cache, cache_item *item) {
  *(item->older != NULL ? &item->older->newer : &cache->oldest) = item->newer;
  *(item->newer != NULL ? &item->newer->older : &cache->newest) = item->older;
}

static void link_newest(tn_cache *cache, cache_item *item) {
  item->older = cache->newest;
  item->newer = NULL;
  *(cache->newest != NULL ? &cache->newest->newer : &cache->oldest) = item;
  cache->newest = item;
}

/* Out of the structure, onto a list of what is to be released outside the lock. */
static void take_out(tn_cache *cache, cache_item *item, cache_item **dropped) {
  cache_item **at = &cache->buckets[item->hash % N_BUCKETS];
  while (*at != item) {
    at = &(*at)->chain;
  }
  *at = item->chain;
  unlink_use(cache, item);
  cache->held_bytes -= item->n_bytes;
  item->chain = *dropped;
  *dropped = item;
}

static void release_dropped(tn_cache *cache, cache_item *dropped) {
  while (dropped != NULL) {
    cache_item *next = dropped->chain;
    dropped->ops->release(dropped->value);
    tn_unreserve(cache->mem, dropped->n_bytes);
    tn_free(cache->mem, dropped);
    dropped = next;
  }
}

void tn_cache_free(tn_cache *cache) {
  if (cache != NULL) {
    tn_cache_shrink(cache, SIZE_MAX);
    pthread_mutex_destroy(&cache->mutex);
    tn_free(cache->mem, cache);
  }
}

static cache_item *find(tn_cache *cache, const tn_cache_ops *ops, tn_slice key, uint64_t hash) {
  cache_item *item = cache->buckets[hash % N_BUCKETS];
  while (item != NULL && !(item->hash == hash && item->ops == ops &&
                           tn_slice_equal(tn_slice_of(item->key, item->key_len), key))) {
    item = item->chain;
  }
  return item;
}

void *tn_cache_get(tn_cache *cache, const tn_cache_ops *ops, tn_slice key) {
  void *value = NULL;
  cache_item *item;
  pthread_mutex_lock(&cache->mutex);
  item = find(cache, ops, key, key_hash(ops, key));
  if (item != NULL) {
    value = item->value;
    ops->retain(value);
    unlink_use(cache, item);
    link_newest(cache, item);
    cache->hits++;
  } else {
    cache->misses++;
  }
  pthread_mutex_unlock(&cache->mutex);
  return value;
}

void tn_cache_put(tn_cache *cache, const tn_cache_ops *ops, tn_slice key, void *value,
                  size_t value_bytes) {
  cache_item *item, *dropped = NULL;
  uint64_t hash = key_hash(ops, key);
  size_t n_bytes;
  /* The item counts, too: many small values must not hold much more than was allowed. */
  if (!tn_add_size(value_bytes, sizeof(*item) + key.len, &n_bytes) ||
      n_bytes > cache->max_bytes / 4) {
    return;
  }
  if (!tn_reserve_try(cache->mem, n_bytes)) {
    tn_cache_shrink(cache, n_bytes);
    if (!tn_reserve_try(cache->mem, n_bytes)) {
      return;
    }
  }
  item = tn_alloc(cache->mem, sizeof(*item) + key.len);
  if (item == NULL) {
    tn_unreserve(cache->mem, n_bytes);
    return;
  }
  item->ops = ops;
  item->value = value;
  item->n_bytes = n_bytes;
  item->hash = hash;
  item->key_len = key.len;
  if (key.len > 0) {
    memcpy(item->key, key.data, key.len);
  }
  pthread_mutex_lock(&cache->mutex);
  if (find(cache, ops, key, hash) != NULL) {
    pthread_mutex_unlock(&cache->mutex);
    tn_free(cache->mem, item);
    tn_unreserve(cache->mem, n_bytes);
    return;
  }
  ops->retain(value);
  item->chain = cache->buckets[hash % N_BUCKETS];
  cache->buckets[hash % N_BUCKETS] = item;
  link_newest(cache, item);
  cache->held_bytes += n_bytes;
  while (cache->held_bytes > cache->max_bytes) {
    take_out(cache, cache->oldest, &dropped);
  }
  pthread_mutex_unlock(&cache->mutex);
  release_dropped(cache, dropped);
}

void tn_cache_shrink(tn_cache *cache, size_t n_bytes) {
  cache_item *dropped = NULL;
  size_t given_back = 0;
  pthread_mutex_lock(&cache->mutex);
  while (given_back < n_bytes && cache->oldest != NULL) {
    given_back += cache->oldest->n_bytes;
    take_out(cache, cache->oldest, &dropped);
  }
  pthread_mutex_unlock(&cache->mutex);
  release_dropped(cache, dropped);
}

void tn_cache_stats(tn_cache *cache, int64_t *hits, int64_t *misses) {
  pthread_mutex_lock(&cache->mutex);
  *hits = cache->hits;
  *misses = cache->misses;
  pthread_mutex_unlock(&cache->mutex);
}
