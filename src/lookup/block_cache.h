/* block_cache.h - blocks of local files in memory, as many as fit a budget. Internal.
 *
 * Memory is taken in slabs and counted to the environment's budget; when there is none to be had,
 * blocks that were not used lately make room, and without any slab reads go to the file. Thread
 * safe: shards of blocks with a lock each. Files are told apart by numbers that never come twice,
 * so that blocks of a file that is gone are never met and make room in their turn.
 */
#ifndef TN_LOOKUP_BLOCK_CACHE_H
#define TN_LOOKUP_BLOCK_CACHE_H

#include "io/storage.h"

#define TN_LOOKUP_BLOCK_BYTES 4096

typedef struct tn_block_cache tn_block_cache;

/* max_bytes: of all slabs. */
TN_CHECKED tarn_status tn_block_cache_create(tarn_env *env, int64_t max_bytes, tn_block_cache **out,
                                             tarn_error *err);
void tn_block_cache_free(tn_block_cache *cache); /* accepts NULL */

/* A file of this number has size_bytes; all n bytes at offset are within it. */
typedef struct tn_cached_file {
  tn_file *file;
  uint32_t number;
  int64_t size_bytes;
} tn_cached_file;

TN_CHECKED tarn_status tn_block_cache_read(tn_block_cache *cache, const tn_cached_file *file,
                                           int64_t offset, void *out, size_t n_bytes,
                                           tarn_error *err);

/* Memory for a part of a file that is held as a whole, counted with the blocks, as long as all such
 * parts take no more than n_quarters of what the cache may hold. false: there is none to be had. */
bool tn_block_cache_pin(tn_block_cache *cache, size_t n_bytes, int n_quarters);
void tn_block_cache_unpin(tn_block_cache *cache, size_t n_bytes);

typedef struct tn_block_cache_stats {
  int64_t hits, misses, held_bytes;
} tn_block_cache_stats;
void tn_block_cache_get_stats(tn_block_cache *cache, tn_block_cache_stats *out);

#endif
