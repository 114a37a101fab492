/* roaring64.c - the stored form of Java's Roaring64Bitmap, little-endian throughout:
 *
 *   u8 0                                         the empty set
 *   u8 1, i64 keys, tree, blocks, i64 containers, i32 last block, i32 last slot
 *
 *   tree    pre-order, children by ascending key byte. Inner node: u8 type, u16 children, u8 prefix
 *           length, prefix, key map. Leaf: u8 4, u16 0, u8 0, 6 bytes key (big-endian), i64 slot
 *   blocks  i32 1, then u8 FE, i32 slots, and each slot: u8 0, or u8 1, u8 kind, i32 cardinality,
 *           and by kind
 *             0 runs    u16 n, n x (u16 start, u16 length - 1)
 *             1 bitmap  8192 bytes
 *             2 array   u16 values
 *
 * Slots are given out in the order in which keys are added.
 */
#include "merge/roaring64.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/checked.h"

#define KEY_BYTES 6
#define BITMAP_BYTES 8192u
#define BITMAP_WORDS 1024
#define MAX_ARRAY 4096u /* values; more are a bitmap */
#define LEAF 4
#define BLOCK_MARK 0xFE
#define SLOT_NUMBER_BYTES 8

enum { RUNS, BITMAP, ARRAY };

/* Types of inner nodes: most children, bytes of the key map. */
static const struct node_type {
  uint32_t max_children, map_bytes;
} node_types[] = {{4, 4}, {16, 16}, {48, 256}, {256, 32}};

/* ------------------------------------------------------------------ life */

void tn_roaring64_init(tn_roaring64 *set, tn_mem *mem) {
  *set = (tn_roaring64){.mem = mem, .last_slot = -1};
}

void tn_roaring64_reset(tn_roaring64 *set) {
  if (set->mem == NULL) {
    return;
  }
  for (size_t i = 0; i < set->n_slots; i++) {
    tn_free(set->mem, set->slots[i].owned);
  }
  tn_free(set->mem, set->slots);
  tn_free(set->mem, set->keys);
  tn_roaring64_init(set, set->mem);
}

/* The place of a key among the first n, or where it belongs. */
static size_t find_key(const tn_roaring64 *set, size_t from, uint64_t key) {
  size_t low = from, high = set->n_keys;
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    if (set->keys[mid].key < key) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  return low;
}

/* ------------------------------------------------------------------ decode: tree */

typedef struct reader {
  const uint8_t *begin, *at, *end;
  tarn_error *err;
} reader;

static size_t left(const reader *r) {
  return (size_t)(r->end - r->at);
}

static tarn_status corrupt(const reader *r, const char *what) {
  return tn_fail(r->err, TARN_E_CORRUPT, "64-bit roaring bitmap: offset %zu: %s",
                 (size_t)(r->at - r->begin), what);
}

static uint64_t load_key(const uint8_t *bytes) {
  return (uint64_t)tn_load_be32(bytes) << 16 | tn_load_be16(bytes + 4);
}

static tarn_status read_leaf(tn_roaring64 *set, reader *r, size_t n_keys) {
  uint64_t key, slot;
  if (left(r) < KEY_BYTES + SLOT_NUMBER_BYTES) {
    return corrupt(r, "cut off in a leaf");
  }
  key = load_key(r->at);
  slot = tn_load_le64(r->at + KEY_BYTES);
  if (set->n_keys == n_keys) {
    return corrupt(r, "more leaves than keys");
  }
  if (set->n_keys > 0 && key <= set->keys[set->n_keys - 1].key) {
    return corrupt(r, "keys do not ascend");
  }
  if (slot > INT32_MAX) {
    return corrupt(r, "a container of another block");
  }
  set->keys[set->n_keys++] = (tn_roaring64_key){key, (uint32_t)slot};
  r->at += KEY_BYTES + SLOT_NUMBER_BYTES;
  return TARN_OK;
}

/* A node; *n_children: of a leaf 0. Leaves hold the whole key, so key maps are skipped. */
static tarn_status read_node(tn_roaring64 *set, reader *r, size_t n_keys, uint32_t *n_children) {
  uint32_t type, prefix;
  size_t skipped;
  if (left(r) < 4) {
    return corrupt(r, "cut off in a node");
  }
  type = r->at[0];
  *n_children = tn_load_le16(r->at + 1);
  prefix = r->at[3];
  if (type == LEAF && prefix <= KEY_BYTES && left(r) >= 4 + prefix) {
    *n_children = 0;
    r->at += 4 + prefix;
    return read_leaf(set, r, n_keys);
  }
  if (type >= LEAF || prefix > KEY_BYTES || *n_children == 0 ||
      *n_children > node_types[type].max_children) {
    return corrupt(r, "not a node");
  }
  skipped = 4 + prefix + node_types[type].map_bytes;
  if (left(r) < skipped) {
    return corrupt(r, "cut off in a node");
  }
  r->at += skipped;
  return TARN_OK;
}

static tarn_status read_tree(tn_roaring64 *set, reader *r, size_t n_keys) {
  uint32_t to_come[KEY_BYTES + 1] = {1}; /* nodes on each level */
  int32_t depth = 0;
  while (depth >= 0) {
    uint32_t n_children;
    if (to_come[depth] == 0) {
      depth--;
      continue;
    }
    to_come[depth]--;
    TN_TRY(read_node(set, r, n_keys, &n_children));
    if (n_children > 0) {
      if (++depth > KEY_BYTES) {
        return corrupt(r, "more levels than a key has bytes");
      }
      to_come[depth] = n_children;
    }
  }
  return set->n_keys == n_keys ? TARN_OK : corrupt(r, "fewer leaves than keys");
}

/* ------------------------------------------------------------------ decode: containers */

static bool array_is_valid(const uint8_t *bytes, uint32_t n) {
  for (uint32_t i = 1; i < n; i++) {
    if (tn_load_le16(bytes + 2 * (size_t)i) <= tn_load_le16(bytes + 2 * (size_t)i - 2)) {
      return false;
    }
  }
  return true;
}

static bool runs_are_valid(const uint8_t *bytes, uint32_t n_runs, uint32_t cardinality) {
  uint32_t end = 0, sum = 0; /* end: the first value a run may begin with */
  for (uint32_t i = 0; i < n_runs; i++) {
    uint32_t start = tn_load_le16(bytes + 4 * (size_t)i);
    uint32_t length = (uint32_t)tn_load_le16(bytes + 4 * (size_t)i + 2) + 1;
    if (start < end || start + length > 65536) {
      return false;
    }
    end = start + length + 1;
    sum += length;
  }
  return sum == cardinality;
}

static uint32_t count_bits(const uint8_t *bytes) {
  uint32_t n = 0;
  for (size_t i = 0; i < BITMAP_BYTES; i += 8) {
    n += (uint32_t)__builtin_popcountll(tn_load_le64(bytes + i));
  }
  return n;
}

static tarn_status read_container(tn_roaring64_container *c, reader *r) {
  size_t n_bytes = 0, n_runs = 0;
  bool is_valid;
  if (left(r) < 7) {
    return corrupt(r, "cut off in a container");
  }
  c->kind = r->at[0];
  c->cardinality = tn_load_le32(r->at + 1);
  if (c->kind > ARRAY || c->cardinality < 1 || c->cardinality > 65536) {
    return corrupt(r, "not a container");
  }
  r->at += 5;
  if (c->kind == RUNS) {
    n_runs = tn_load_le16(r->at);
  }
  n_bytes = c->kind == RUNS     ? 2 + 4 * n_runs
            : c->kind == BITMAP ? BITMAP_BYTES
                                : 2 * (size_t)c->cardinality;
  if (left(r) < n_bytes) {
    return corrupt(r, "cut off in a container");
  }
  is_valid = c->kind == RUNS     ? runs_are_valid(r->at + 2, (uint32_t)n_runs, c->cardinality)
             : c->kind == BITMAP ? count_bits(r->at) == c->cardinality
                                 : array_is_valid(r->at, c->cardinality);
  if (!is_valid) {
    return corrupt(r, "values of a container are out of order or number");
  }
  c->bytes = r->at;
  c->n_bytes = (uint32_t)n_bytes;
  r->at += n_bytes;
  return TARN_OK;
}

static tarn_status read_slots(tn_roaring64 *set, reader *r, size_t *n_used) {
  *n_used = 0;
  for (size_t i = 0; i < set->n_slots; i++) {
    uint8_t is_used;
    if (left(r) < 1) {
      return corrupt(r, "cut off in the slots");
    }
    is_used = *r->at;
    if (is_used > 1) {
      return corrupt(r, "not a slot");
    }
    r->at++;
    if (is_used != 0) {
      TN_TRY(read_container(&set->slots[i], r));
      set->last_slot = (int64_t)i;
      ++*n_used;
    }
  }
  return TARN_OK;
}

static tarn_status read_blocks(tn_roaring64 *set, reader *r, size_t *n_used) {
  uint32_t n_blocks, n_slots;
  if (left(r) < 9) {
    return corrupt(r, "cut off in front of the containers");
  }
  n_blocks = tn_load_le32(r->at);
  n_slots = tn_load_le32(r->at + 5);
  if (n_blocks > 1) {
    return tn_fail(r->err, TARN_E_UNSUPPORTED,
                   "64-bit roaring bitmap: %lu blocks of containers, one is supported",
                   (unsigned long)n_blocks);
  }
  if (n_blocks != 1 || r->at[4] != BLOCK_MARK || n_slots > left(r) - 9) {
    return corrupt(r, "not a block of containers");
  }
  r->at += 9;
  set->slots = tn_calloc(set->mem, (size_t)n_slots + 1, sizeof(*set->slots));
  if (set->slots == NULL) {
    return tn_oom(r->err);
  }
  set->n_slots = n_slots;
  return read_slots(set, r, n_used);
}

/* Each key has a container of its own, and each container a key. */
static tarn_status match_slots(const tn_roaring64 *set, const reader *r, size_t n_used) {
  tarn_status st = TARN_OK;
  uint8_t *seen = tn_calloc(set->mem, set->n_slots + 1, 1);
  if (seen == NULL) {
    return tn_oom(r->err);
  }
  for (size_t i = 0; i < set->n_keys && st == TARN_OK; i++) {
    uint32_t slot = set->keys[i].slot;
    if (slot >= set->n_slots || set->slots[slot].bytes == NULL || seen[slot] != 0) {
      st = corrupt(r, "a key without a container of its own");
    } else {
      seen[slot] = 1;
    }
  }
  tn_free(set->mem, seen);
  return st != TARN_OK || n_used == set->n_keys ? st : corrupt(r, "a container without a key");
}

static tarn_status decode(tn_roaring64 *set, reader *r) {
  uint64_t n_keys;
  size_t n_used;
  int64_t last_slot;
  if (left(r) < 1 || *r->at > 1) {
    return corrupt(r, "not a 64-bit roaring bitmap");
  }
  if (*r->at++ == 0) {
    return TARN_OK;
  }
  n_keys = left(r) >= 8 ? tn_load_le64(r->at) : 0;
  if (n_keys == 0 || n_keys > left(r) / (4 + KEY_BYTES + SLOT_NUMBER_BYTES)) {
    return corrupt(r, "not a number of keys");
  }
  r->at += 8;
  set->keys = tn_calloc(set->mem, (size_t)n_keys, sizeof(*set->keys));
  if (set->keys == NULL) {
    return tn_oom(r->err);
  }
  set->key_capacity = (size_t)n_keys;
  TN_TRY(read_tree(set, r, (size_t)n_keys));
  TN_TRY(read_blocks(set, r, &n_used));
  TN_TRY(match_slots(set, r, n_used));
  if (left(r) < 16) {
    return corrupt(r, "cut off behind the containers");
  }
  last_slot = (int32_t)tn_load_le32(r->at + 12);
  if (last_slot < set->last_slot || last_slot >= (int64_t)set->n_slots) {
    return corrupt(r, "the last slot is not the last one used");
  }
  set->last_slot = last_slot;
  return TARN_OK;
}

tarn_status tn_roaring64_decode(tn_roaring64 *set, tn_slice bytes, tarn_error *err) {
  reader r = {bytes.data, bytes.data, bytes.data + bytes.len, err};
  tarn_status st;
  tn_roaring64_reset(set);
  st = decode(set, &r);
  if (st != TARN_OK) {
    tn_roaring64_reset(set);
  }
  return st;
}

/* ------------------------------------------------------------------ containers */

static void set_range(uint64_t *words, uint32_t begin, uint32_t end) {
  for (; begin < end && begin % 64 != 0; begin++) {
    words[begin / 64] |= UINT64_C(1) << (begin % 64);
  }
  for (; begin + 64 <= end; begin += 64) {
    words[begin / 64] = UINT64_MAX;
  }
  for (; begin < end; begin++) {
    words[begin / 64] |= UINT64_C(1) << (begin % 64);
  }
}

static void add_to_words(const tn_roaring64_container *c, uint64_t *words) {
  switch (c->kind) {
    case RUNS:
      for (size_t at = 2; at < c->n_bytes; at += 4) {
        uint32_t start = tn_load_le16(c->bytes + at);
        set_range(words, start, start + tn_load_le16(c->bytes + at + 2) + 1);
      }
      break;
    case BITMAP:
      for (size_t i = 0; i < BITMAP_WORDS; i++) {
        words[i] |= tn_load_le64(c->bytes + 8 * i);
      }
      break;
    default:
      for (uint32_t i = 0; i < c->cardinality; i++) {
        uint32_t value = tn_load_le16(c->bytes + 2 * (size_t)i);
        words[value / 64] |= UINT64_C(1) << (value % 64);
      }
      break;
  }
}

static void count_words(const uint64_t *words, uint32_t *cardinality, uint32_t *n_runs) {
  uint64_t before = 0; /* the last bit of the word before */
  *cardinality = *n_runs = 0;
  for (size_t i = 0; i < BITMAP_WORDS; i++) {
    *cardinality += (uint32_t)__builtin_popcountll(words[i]);
    *n_runs += (uint32_t)__builtin_popcountll(words[i] & ~(words[i] << 1 | before));
    before = words[i] >> 63;
  }
}

static void write_runs(const uint64_t *words, uint32_t n_runs, uint8_t *to) {
  uint32_t at = 0;
  tn_store_le16(to, (uint16_t)n_runs);
  for (uint32_t run = 0; run < n_runs; run++) {
    uint32_t start;
    while ((words[at / 64] >> (at % 64)) == 0) {
      at = (at / 64 + 1) * 64;
    }
    at += (uint32_t)__builtin_ctzll(words[at / 64] >> (at % 64));
    start = at;
    while (at < 65536 && (words[at / 64] >> (at % 64) & 1) != 0) {
      at += at % 64 == 0 && words[at / 64] == UINT64_MAX ? 64 : 1;
    }
    tn_store_le16(to + 2 + 4 * (size_t)run, (uint16_t)start);
    tn_store_le16(to + 4 + 4 * (size_t)run, (uint16_t)(at - 1 - start));
  }
}

static void write_array(const uint64_t *words, uint8_t *to) {
  for (uint32_t i = 0; i < BITMAP_WORDS; i++) {
    for (uint64_t word = words[i]; word != 0; word &= word - 1) {
      tn_store_le16(to, (uint16_t)(i * 64 + (uint32_t)__builtin_ctzll(word)));
      to += 2;
    }
  }
}

/* c = the values of words. */
static tarn_status store_words(tn_roaring64 *set, tn_roaring64_container *c, const uint64_t *words,
                               uint32_t cardinality, uint32_t n_runs, uint8_t kind,
                               tarn_error *err) {
  size_t n_bytes = kind == RUNS     ? 2 + 4 * (size_t)n_runs
                   : kind == BITMAP ? BITMAP_BYTES
                                    : 2 * (size_t)cardinality;
  uint8_t *bytes = tn_alloc(set->mem, n_bytes);
  if (bytes == NULL) {
    return tn_oom(err);
  }
  if (kind == RUNS) {
    write_runs(words, n_runs, bytes);
  } else if (kind == BITMAP) {
    memcpy(bytes, words, BITMAP_BYTES);
  } else {
    write_array(words, bytes);
  }
  tn_free(set->mem, c->owned);
  *c = (tn_roaring64_container){kind, cardinality, bytes, (uint32_t)n_bytes, bytes};
  return TARN_OK;
}

/* The kind that Java ends with after or() and runOptimize(). What was runs stays so when an array
 * or bitmap would not be smaller, others become runs when those are smaller; an array is counted
 * with two bytes more by the former, so it matters which it was (RunContainer.toEfficientContainer,
 * ArrayContainer.runOptimize). */
static uint8_t kind_of(uint32_t cardinality, uint32_t n_runs, bool was_runs) {
  uint32_t as_runs = 2 + 4 * n_runs;
  uint32_t as_array = 2 * cardinality + (was_runs ? 2 : 0);
  uint32_t other = cardinality <= MAX_ARRAY && as_array < BITMAP_BYTES ? as_array : BITMAP_BYTES;
  if (was_runs ? as_runs <= other : as_runs < other) {
    return RUNS;
  }
  return cardinality <= MAX_ARRAY ? ARRAY : BITMAP;
}

/* Container.ior(), then runOptimize(). */
static tarn_status unite_containers(tn_roaring64 *set, tn_roaring64_container *to,
                                    const tn_roaring64_container *from, tarn_error *err) {
  uint64_t words[BITMAP_WORDS] = {0};
  uint32_t cardinality, n_runs;
  bool was_runs =
      (to->kind == RUNS && from->kind != BITMAP) || (from->kind == RUNS && to->kind != BITMAP);
  add_to_words(to, words);
  add_to_words(from, words);
  count_words(words, &cardinality, &n_runs);
  return store_words(set, to, words, cardinality, n_runs, kind_of(cardinality, n_runs, was_runs),
                     err);
}

/* Container.runOptimize(), whose result Roaring64Bitmap takes only when it is runs. */
static tarn_status optimize_container(tn_roaring64 *set, tn_roaring64_container *c,
                                      tarn_error *err) {
  uint64_t words[BITMAP_WORDS] = {0};
  uint32_t cardinality, n_runs, other = c->kind == ARRAY ? 2 * c->cardinality : BITMAP_BYTES;
  if (c->bytes == NULL || c->kind == RUNS) {
    return TARN_OK;
  }
  add_to_words(c, words);
  count_words(words, &cardinality, &n_runs);
  return 2 + 4 * n_runs < other ? store_words(set, c, words, cardinality, n_runs, RUNS, err)
                                : TARN_OK;
}

static tarn_status optimize(tn_roaring64 *set, tarn_error *err) {
  for (size_t i = 0; i < set->n_slots && !set->is_optimized; i++) {
    TN_TRY(optimize_container(set, &set->slots[i], err));
  }
  set->is_optimized = true;
  return TARN_OK;
}

/* ------------------------------------------------------------------ unite */

/* Room for n more keys. Slots grow as Containers.grow() has them: by half, one by one. */
static tarn_status make_room(tn_roaring64 *set, size_t n, tarn_error *err) {
  size_t keys = set->n_keys + n, slots = set->n_slots, wanted = (size_t)(set->last_slot + 1) + n;
  void *grown;
  if (keys > INT32_MAX / 2 || wanted > INT32_MAX / 2) {
    return tn_fail(err, TARN_E_LIMIT, "64-bit roaring bitmap: %zu containers", keys);
  }
  if (keys > set->key_capacity) {
    grown = tn_realloc(set->mem, set->keys, keys * sizeof(*set->keys));
    if (grown == NULL) {
      return tn_oom(err);
    }
    set->keys = grown;
    set->key_capacity = keys;
  }
  while (slots < wanted) {
    slots = slots < 2 ? slots + 1 : slots + slots / 2;
  }
  if (slots > set->n_slots) {
    grown = tn_realloc(set->mem, set->slots, slots * sizeof(*set->slots));
    if (grown == NULL) {
      return tn_oom(err);
    }
    set->slots = grown;
    memset(set->slots + set->n_slots, 0, (slots - set->n_slots) * sizeof(*set->slots));
    set->n_slots = slots;
  }
  return TARN_OK;
}

static tarn_status add_container(tn_roaring64 *set, const tn_roaring64_container *from,
                                 tarn_error *err) {
  tn_roaring64_container *to = &set->slots[++set->last_slot];
  *to = *from;
  to->owned = NULL;
  if (from->owned != NULL) {
    to->bytes = to->owned = tn_alloc(set->mem, from->n_bytes);
    if (to->owned == NULL) {
      to->bytes = NULL;
      return tn_oom(err);
    }
    memcpy(to->owned, from->bytes, from->n_bytes);
  }
  return optimize_container(set, to, err);
}

tarn_status tn_roaring64_unite(tn_roaring64 *set, const tn_roaring64 *other, tarn_error *err) {
  size_t n_new = 0, at = 0, to;
  for (size_t i = 0; i < other->n_keys; i++) {
    const tn_roaring64_key *key = &other->keys[i];
    at = find_key(set, at, key->key);
    if (at < set->n_keys && set->keys[at].key == key->key) {
      TN_TRY(unite_containers(set, &set->slots[set->keys[at].slot], &other->slots[key->slot], err));
    } else {
      n_new++;
    }
  }
  TN_TRY(make_room(set, n_new, err));
  /* From the end, so that every key moves once; slots are then given out in ascending order. */
  at = set->n_keys;
  to = set->n_keys + n_new;
  for (size_t i = other->n_keys; i > 0 && to > at; i--) {
    uint64_t key = other->keys[i - 1].key;
    while (at > 0 && set->keys[at - 1].key > key) {
      set->keys[--to] = set->keys[--at];
    }
    if (at == 0 || set->keys[at - 1].key != key) {
      set->keys[--to] = (tn_roaring64_key){key, UINT32_MAX};
    }
  }
  set->n_keys += n_new;
  for (size_t i = 0, k = 0; i < set->n_keys && n_new > 0; i++) {
    if (set->keys[i].slot == UINT32_MAX) {
      k += find_key(other, k, set->keys[i].key) - k;
      TN_TRY(add_container(set, &other->slots[other->keys[k].slot], err));
      set->keys[i].slot = (uint32_t)set->last_slot;
    }
  }
  return optimize(set, err);
}

/* ------------------------------------------------------------------ encode */

static uint8_t key_byte(uint64_t key, int32_t i) {
  return (uint8_t)(key >> (8 * (KEY_BYTES - 1 - i)));
}

static tarn_status write_leaf(const tn_roaring64_key *key, tn_buf *out, tarn_error *err) {
  uint8_t leaf[4 + KEY_BYTES + SLOT_NUMBER_BYTES] = {LEAF};
  tn_store_be32(leaf + 4, (uint32_t)(key->key >> 16));
  tn_store_be16(leaf + 8, (uint16_t)key->key);
  tn_store_le64(leaf + 10, key->slot);
  return tn_buf_append(out, leaf, sizeof(leaf), err);
}

/* The children of a node: ranges of keys with the same byte. */
typedef struct child {
  uint8_t byte;
  uint32_t first_slot; /* of its keys: tells when it was added */
  size_t begin, end;
} child;

static int by_first_slot(const void *a, const void *b) {
  const child *ca = a, *cb = b;
  return (ca->first_slot > cb->first_slot) - (ca->first_slot < cb->first_slot);
}

/* Where Node48 has its children: those of the Node16 it grew from by key byte, then the others as
 * they came. map[byte]: place. */
static void place_children(const child *children, size_t n, uint8_t *map) {
  child ordered[48];
  bool is_first[256] = {false};
  uint8_t place = 0;
  memcpy(ordered, children, n * sizeof(*children));
  qsort(ordered, n, sizeof(*ordered), by_first_slot);
  for (size_t i = 0; i < 16; i++) {
    is_first[ordered[i].byte] = true;
  }
  memset(map, 0xFF, 256);
  for (size_t i = 0; i < n; i++) {
    if (is_first[children[i].byte]) {
      map[children[i].byte] = place++;
    }
  }
  for (size_t i = 16; i < n; i++) {
    map[ordered[i].byte] = place++;
  }
}

/* Longs in Java's order of bytes: written little-endian, each run of `width` bytes is reversed. */
static void reverse_runs(uint8_t *bytes, size_t n, size_t width) {
  for (size_t begin = 0; begin < n; begin += width) {
    for (size_t i = 0; i < width / 2; i++) {
      uint8_t byte = bytes[begin + i];
      bytes[begin + i] = bytes[begin + width - 1 - i];
      bytes[begin + width - 1 - i] = byte;
    }
  }
}

static void make_key_map(const child *children, size_t n, uint32_t type, uint8_t *map) {
  size_t n_bytes = node_types[type].map_bytes;
  memset(map, 0, n_bytes);
  if (type == 2) {
    place_children(children, n, map);
  }
  for (size_t i = 0; i < n && type != 2; i++) {
    if (type < 2) {
      map[i] = children[i].byte;
    } else {
      map[children[i].byte / 8] |= (uint8_t)(1u << (children[i].byte % 8));
    }
  }
  if (type < 3) {
    reverse_runs(map, n_bytes, type == 0 ? 4 : 8);
  }
}

/* The node of keys [begin, end), which agree in the bytes before `depth`. Recursion: a byte of the
 * key each. */
static tarn_status write_node(const tn_roaring64 *set, size_t begin, size_t end, int32_t depth,
                              tn_buf *out, tarn_error *err) {
  const tn_roaring64_key *keys = set->keys;
  child children[256];
  uint8_t node[4 + KEY_BYTES + 256];
  size_t n = 0;
  int32_t at = depth;
  uint32_t type;
  if (end - begin == 1) {
    return write_leaf(&keys[begin], out, err);
  }
  while (key_byte(keys[begin].key, at) == key_byte(keys[end - 1].key, at)) {
    at++;
  }
  for (size_t i = begin; i < end; i++) {
    uint8_t byte = key_byte(keys[i].key, at);
    if (n == 0 || children[n - 1].byte != byte) {
      children[n++] = (child){byte, keys[i].slot, i, i};
    }
    children[n - 1].end = i + 1;
    if (keys[i].slot < children[n - 1].first_slot) {
      children[n - 1].first_slot = keys[i].slot;
    }
  }
  type = n <= 4 ? 0 : n <= 16 ? 1 : n <= 48 ? 2 : 3;
  node[0] = (uint8_t)type;
  tn_store_le16(node + 1, (uint16_t)n);
  node[3] = (uint8_t)(at - depth);
  for (int32_t i = depth; i < at; i++) {
    node[4 + i - depth] = key_byte(keys[begin].key, i);
  }
  make_key_map(children, n, type, node + 4 + (at - depth));
  TN_TRY(tn_buf_append(out, node, 4 + (size_t)(at - depth) + node_types[type].map_bytes, err));
  for (size_t i = 0; i < n; i++) {
    TN_TRY(write_node(set, children[i].begin, children[i].end, at + 1, out, err));
  }
  return TARN_OK;
}

static tarn_status write_slot(const tn_roaring64_container *c, tn_buf *out, tarn_error *err) {
  uint8_t head[6] = {1, c->kind};
  if (c->bytes == NULL) {
    return tn_buf_append(out, "", 1, err);
  }
  tn_store_le32(head + 2, c->cardinality);
  TN_TRY(tn_buf_append(out, head, sizeof(head), err));
  return tn_buf_append(out, c->bytes, c->n_bytes, err);
}

tarn_status tn_roaring64_encode(tn_roaring64 *set, tn_buf *out, tarn_error *err) {
  uint8_t head[9] = {1}, block[9] = {1, 0, 0, 0, BLOCK_MARK}, trailer[16] = {0};
  if (set->n_keys == 0) {
    return tn_buf_append(out, "", 1, err);
  }
  TN_TRY(optimize(set, err));
  tn_store_le64(head + 1, set->n_keys);
  TN_TRY(tn_buf_append(out, head, sizeof(head), err));
  TN_TRY(write_node(set, 0, set->n_keys, 0, out, err));
  tn_store_le32(block + 5, (uint32_t)set->n_slots);
  TN_TRY(tn_buf_append(out, block, sizeof(block), err));
  for (size_t i = 0; i < set->n_slots; i++) {
    TN_TRY(write_slot(&set->slots[i], out, err));
  }
  tn_store_le64(trailer, set->n_keys);
  tn_store_le32(trailer + 12, (uint32_t)set->last_slot);
  return tn_buf_append(out, trailer, sizeof(trailer), err);
}
