/* java_map.c - options in the order of a java.util.HashMap. */
#include "model/java_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define FIRST_SLOTS 16u
#define MAX_SLOTS (1u << 30)
#define TREE_SLOTS 64u /* from here on a full slot becomes a tree; below, the map grows */
#define FULL_SLOT 9u
#define MAX_KEYS 10000u /* what looking for a key one by one bears */

/* String.hashCode, over UTF-16, spread as HashMap.hash does. */
static uint32_t hash_of(const char *text) {
  const uint8_t *p = (const uint8_t *)text;
  size_t n = strlen(text);
  uint32_t hash = 0;
  for (size_t i = 0; i < n;) {
    size_t step = tn_utf8_step(p + i, n - i);
    uint32_t c = p[i];
    if (step == 2) {
      c = (c & 0x1f) << 6 | (p[i + 1] & 0x3fu);
    } else if (step == 3) {
      c = (c & 0x0f) << 12 | (p[i + 1] & 0x3fu) << 6 | (p[i + 2] & 0x3fu);
    } else if (step == 4) {
      c = (c & 0x07) << 18 | (p[i + 1] & 0x3fu) << 12 | (p[i + 2] & 0x3fu) << 6 |
          (p[i + 3] & 0x3fu);
      hash = hash * 31 + 0xd7c0 + (c >> 10);
      c = 0xdc00 | (c & 0x3ff);
    }
    hash = hash * 31 + c;
    i += step > 0 ? step : 1;
  }
  return hash ^ hash >> 16;
}

void tn_java_map_init(tn_java_map *map, tn_arena *arena, size_t n_expected) {
  memset(map, 0, sizeof(*map));
  map->arena = arena;
  if (n_expected > 0) {
    /* HashMap.putMapEntries computes it with a float. */
    float wanted = (float)n_expected / 0.75f + 1.0f;
    map->slots = 1;
    while (map->slots < MAX_SLOTS && map->slots < (uint32_t)wanted) {
      map->slots *= 2;
    }
  }
}

static size_t find(const tn_java_map *map, const char *key) {
  size_t i = 0;
  while (i < map->count && strcmp(map->items[i].key, key) != 0) {
    i++;
  }
  return i;
}

const char *tn_java_map_get(const tn_java_map *map, const char *key) {
  size_t i = find(map, key);
  return i < map->count ? map->items[i].value : NULL;
}

/* How many keys share the slot of `key`. */
static size_t slot_size(const tn_java_map *map, const char *key) {
  uint32_t mask = map->slots - 1, slot = hash_of(key) & mask;
  size_t n = 0;
  for (size_t i = 0; i < map->count; i++) {
    n += (hash_of(map->items[i].key) & mask) == slot;
  }
  return n;
}

tarn_status tn_java_map_put(tn_java_map *map, const char *key, const char *value, tarn_error *err) {
  size_t i = find(map, key);
  if (i < map->count) {
    map->items[i].value = value;
    return TARN_OK;
  }
  if (map->count == MAX_KEYS) {
    return tn_fail(err, TARN_E_LIMIT, "a table has at most %u options", MAX_KEYS);
  }
  if (!tn_arena_grow(map->arena, (void **)&map->items, &map->capacity, map->count,
                     sizeof(*map->items))) {
    return tn_oom(err);
  }
  map->items[map->count++] = (tn_option){key, value};
  if (map->slots == 0) {
    map->slots = FIRST_SLOTS;
  }
  if (map->slots < TREE_SLOTS && slot_size(map, key) >= FULL_SLOT) {
    map->slots *= 2;
  }
  /* The threshold is an integer: 3/4 of the slots, which for 1 and 2 slots is cut. */
  if (map->slots < MAX_SLOTS && map->count > (uint32_t)((float)map->slots * 0.75f)) {
    map->slots *= 2;
  }
  return TARN_OK;
}

const char *tn_java_map_remove(tn_java_map *map, const char *key) {
  size_t i = find(map, key);
  const char *value;
  if (i == map->count) {
    return NULL;
  }
  value = map->items[i].value;
  map->count--;
  memmove(&map->items[i], &map->items[i + 1], (map->count - i) * sizeof(*map->items));
  return value;
}

typedef struct placed {
  uint32_t slot;
  int32_t place;
} placed;

static int compare_placed(const void *a, const void *b) {
  const placed *x = a, *y = b;
  if (x->slot != y->slot) {
    return x->slot < y->slot ? -1 : 1;
  }
  return x->place < y->place ? -1 : x->place > y->place;
}

tarn_status tn_java_slot_order(tn_arena *arena, const char *const *keys, size_t n, uint32_t slots,
                               int32_t *order, tarn_error *err) {
  placed *sorted = tn_arena_calloc(arena, n + 1, sizeof(*sorted));
  if (sorted == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < n; i++) {
    sorted[i] = (placed){hash_of(keys[i]) & (slots - 1), (int32_t)i};
  }
  qsort(sorted, n, sizeof(*sorted), compare_placed);
  for (size_t i = 0; i < n; i++) {
    order[i] = sorted[i].place;
  }
  return TARN_OK;
}

tarn_status tn_java_map_sort(tn_java_map *map, tarn_error *err) {
  const char **keys;
  tn_option *items;
  int32_t *order;
  if (map->count == 0) {
    return TARN_OK;
  }
  keys = tn_arena_calloc(map->arena, map->count, sizeof(*keys));
  order = tn_arena_calloc(map->arena, map->count, sizeof(*order));
  items = tn_arena_memdup(map->arena, map->items, map->count * sizeof(*items));
  if (keys == NULL || order == NULL || items == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < map->count; i++) {
    keys[i] = items[i].key;
  }
  TN_TRY(tn_java_slot_order(map->arena, keys, map->count, map->slots, order, err));
  for (size_t i = 0; i < map->count; i++) {
    map->items[i] = items[order[i]];
  }
  return TARN_OK;
}

tarn_status tn_java_map_copy(tn_java_map *map, tn_java_map *out, tarn_error *err) {
  TN_TRY(tn_java_map_sort(map, err));
  tn_java_map_init(out, map->arena, map->count);
  for (size_t i = 0; i < map->count; i++) {
    TN_TRY(tn_java_map_put(out, map->items[i].key, map->items[i].value, err));
  }
  return TARN_OK;
}
