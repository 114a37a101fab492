/* map.h - a hash map from borrowed bytes to a pointer or number. Keys must outlive the map.
 *
 * Insertion order is kept: entries[0 .. count). One thread at a time.
 */
#ifndef TN_BASE_MAP_H
#define TN_BASE_MAP_H

#include "base/mem.h"
#include "base/slice.h"

typedef struct tn_map_entry {
  tn_slice key;
  uint64_t hash;
  union {
    void *ptr;
    int64_t num;
  } value;
} tn_map_entry;

typedef struct tn_map {
  tn_mem *mem;
  tn_map_entry *entries;
  size_t count, capacity;
  uint32_t *slots; /* index + 1 into entries, 0 = free; open addressing */
  size_t n_slots;
} tn_map;

void tn_map_init(tn_map *map, tn_mem *mem);
void tn_map_reset(tn_map *map);
/* NULL when absent. The pointer is valid until the next insertion. */
tn_map_entry *tn_map_find(const tn_map *map, tn_slice key);
/* The entry of key, made with a zero value if absent (*is_new tells; may be NULL). */
TN_CHECKED tarn_status tn_map_put(tn_map *map, tn_slice key, tn_map_entry **entry, bool *is_new,
                                  tarn_error *err);

/* 64-bit hash of bytes; for tables in memory only, never written. */
uint64_t tn_hash_bytes(const void *bytes, size_t n_bytes);

#endif
