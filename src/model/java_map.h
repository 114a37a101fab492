/* java_map.h - options in the order that Java's schema files have them.
 *
 * Java keeps options in a java.util.HashMap and writes them as it walks over it: by the slot of a
 * key, and within a slot in the order of insertion. How many slots there are depends on how the map
 * was made and grew, so this map goes the same way. (Slots of nine keys and more in maps of 64
 * slots and more become trees in Java; that order is not followed.)
 *
 * Rule: java.util.HashMap of JDK 8 and later.
 */
#ifndef TN_MODEL_JAVA_MAP_H
#define TN_MODEL_JAVA_MAP_H

#include "model/schema.h"

/* Keys and values are borrowed; the items live in the arena. */
typedef struct tn_java_map {
  tn_arena *arena;
  tn_option *items; /* in the order of insertion */
  size_t count, capacity;
  uint32_t slots; /* 0: none yet */
} tn_java_map;

/* The order of a walk over a map of so many slots (a power of two) whose keys were put in this
 * order: order[i] is the place of the i-th. Scratch memory lies in the arena. */
TN_CHECKED tarn_status tn_java_slot_order(tn_arena *arena, const char *const *keys, size_t n,
                                          uint32_t slots, int32_t *order, tarn_error *err);

/* new HashMap(), or with room for n_expected keys as putAll() of so many into an empty map and the
 * constructor that copies give it (0: no such thing). */
void tn_java_map_init(tn_java_map *map, tn_arena *arena, size_t n_expected);
/* NULL when absent. */
const char *tn_java_map_get(const tn_java_map *map, const char *key);
/* Errors: NOMEM, LIMIT (10,000 keys). */
TN_CHECKED tarn_status tn_java_map_put(tn_java_map *map, const char *key, const char *value,
                                       tarn_error *err);
/* The value that was there, NULL: none. */
const char *tn_java_map_remove(tn_java_map *map, const char *key);
/* Bring the items into the order of a walk. Nothing else changes: keys that share a slot keep
 * their order. */
TN_CHECKED tarn_status tn_java_map_sort(tn_java_map *map, tarn_error *err);
/* new HashMap(map): sorts `map` first. */
TN_CHECKED tarn_status tn_java_map_copy(tn_java_map *map, tn_java_map *out, tarn_error *err);

#endif
