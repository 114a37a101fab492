/* cache.h - one least-recently-used cache of immutable things, in the environment.
 *
 * Keys are bytes that name immutable content: kind, path and size. What is cached is counted
 * (retain/release functions), charges the environment's budget, and makes room when the budget is
 * needed elsewhere: tn_cache_shrink(). Thread-safe.
 */
#ifndef TN_BASE_CACHE_H
#define TN_BASE_CACHE_H

#include "base/mem.h"
#include "base/slice.h"

typedef struct tn_cache tn_cache;

typedef struct tn_cache_ops {
  const char *kind; /* part of the key */
  void (*retain)(void *value);
  void (*release)(void *value);
} tn_cache_ops;

/* max_bytes: the most all values may hold together (their n_bytes, their keys and what the cache
 * itself needs for them). */
TN_CHECKED tarn_status tn_cache_create(tn_mem *mem, size_t max_bytes, tn_cache **out,
                                       tarn_error *err);
void tn_cache_free(tn_cache *cache);

/* A retained value, or NULL when absent. */
void *tn_cache_get(tn_cache *cache, const tn_cache_ops *ops, tn_slice key);
/* Offer a value that holds value_bytes; the cache retains it if it takes it. Never fails: what does
 * not fit (or finds no memory) is left out. An existing value of the key stays. */
void tn_cache_put(tn_cache *cache, const tn_cache_ops *ops, tn_slice key, void *value,
                  size_t value_bytes);
/* Drop the oldest values until n_bytes are given back or nothing is left. */
void tn_cache_shrink(tn_cache *cache, size_t n_bytes);
void tn_cache_stats(tn_cache *cache, int64_t *hits, int64_t *misses);

#endif
