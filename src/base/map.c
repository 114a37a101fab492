/* map.c - a table of indexes into the entries, open addressing; the hash function. */
#include "base/map.h"

#include "base/bytes.h"
#include "base/checked.h"

static inline uint64_t mix(uint64_t a, uint64_t b) {
  tn_u128 m = (tn_u128)(a ^ 0x9E3779B97F4A7C15u) * (b ^ 0xD1B54A32D192ED03u);
  return (uint64_t)m ^ (uint64_t)(m >> 64);
}

/* Keys may come from files that somebody made to collide, so the seed is the place where this
 * process has the code: not known outside, and no state. */
uint64_t tn_hash_bytes(const void *bytes, size_t n_bytes) {
  const uint8_t *p = bytes;
  size_t n = n_bytes;
  uint64_t seed = mix((uint64_t)(uintptr_t)tn_hash_bytes, 0x8EBC6AF09C88C6E3u);
  uint64_t h = seed ^ n_bytes, tail[2] = {0, 0};
  while (n >= 16) {
    h = mix(tn_load_le64(p) ^ h, tn_load_le64(p + 8) ^ seed);
    p += 16;
    n -= 16;
  }
  if (n >= 8) { /* the last 8 overlap the first */
    tail[0] = tn_load_le64(p);
    tail[1] = tn_load_le64(p + n - 8);
  } else if (n >= 4) {
    tail[0] = (uint64_t)tn_load_le32(p) << 32 | tn_load_le32(p + n - 4);
  } else if (n > 0) {
    tail[0] = (uint64_t)p[0] << 16 | (uint64_t)p[n / 2] << 8 | p[n - 1];
  }
  return mix(tail[0] ^ h, tail[1] ^ seed);
}

void tn_map_init(tn_map *map, tn_mem *mem) {
  memset(map, 0, sizeof(*map));
  map->mem = mem;
}

void tn_map_reset(tn_map *map) {
  if (map->mem != NULL) {
    tn_free(map->mem, map->entries);
    tn_free(map->mem, map->slots);
  }
  tn_map_init(map, map->mem);
}

/* The slot that holds key, or the free one where it belongs. */
static size_t slot_of(const tn_map *map, tn_slice key, uint64_t hash) {
  size_t mask = map->n_slots - 1;
  size_t i = (size_t)hash & mask;
  while (map->slots[i] != 0) {
    const tn_map_entry *e = &map->entries[map->slots[i] - 1];
    if (e->hash == hash && tn_slice_equal(e->key, key)) {
      break;
    }
    i = (i + 1) & mask;
  }
  return i;
}

tn_map_entry *tn_map_find(const tn_map *map, tn_slice key) {
  size_t slot;
  if (map->n_slots == 0) {
    return NULL;
  }
  slot = slot_of(map, key, tn_hash_bytes(key.data, key.len));
  return map->slots[slot] != 0 ? &map->entries[map->slots[slot] - 1] : NULL;
}

static tarn_status grow(tn_map *map, tarn_error *err) {
  size_t capacity = map->capacity > 0 ? map->capacity * 2 : 8;
  size_t n_slots = capacity * 2, bytes;
  tn_map_entry *entries;
  uint32_t *slots;
  if (capacity > UINT32_MAX / 4 || !tn_mul_size(capacity, sizeof(*entries), &bytes)) {
    return tn_fail(err, TARN_E_LIMIT, "too many entries in a map");
  }
  slots = tn_calloc(map->mem, n_slots, sizeof(*slots));
  if (slots == NULL) {
    return tn_oom(err);
  }
  entries = tn_realloc(map->mem, map->entries, bytes);
  if (entries == NULL) {
    tn_free(map->mem, slots);
    return tn_oom(err);
  }
  tn_free(map->mem, map->slots);
  map->entries = entries;
  map->capacity = capacity;
  map->slots = slots;
  map->n_slots = n_slots;
  for (size_t i = 0; i < map->count; i++) {
    slots[slot_of(map, entries[i].key, entries[i].hash)] = (uint32_t)i + 1;
  }
  return TARN_OK;
}

tarn_status tn_map_put(tn_map *map, tn_slice key, tn_map_entry **entry, bool *is_new,
                       tarn_error *err) {
  uint64_t hash = tn_hash_bytes(key.data, key.len);
  size_t slot;
  if (map->count == map->capacity) {
    TN_TRY(grow(map, err));
  }
  slot = slot_of(map, key, hash);
  if (is_new != NULL) {
    *is_new = map->slots[slot] == 0;
  }
  if (map->slots[slot] == 0) {
    tn_map_entry *e = &map->entries[map->count++];
    e->key = key;
    e->hash = hash;
    e->value.num = 0;
    e->value.ptr = NULL;
    map->slots[slot] = (uint32_t)map->count;
  }
  *entry = &map->entries[map->slots[slot] - 1];
  return TARN_OK;
}
