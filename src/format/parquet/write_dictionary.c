/* write_dictionary.c - one table for each kind of value, of the same shape. */
#include "format/parquet/write_dictionary.h"

#include "base/bytes.h"

#define MIN_SLOTS 64
#define FACTOR 0x9e3779b97f4a7c15u /* 2^64 over the golden ratio */

typedef struct slot_32 {
  uint32_t key;
  uint32_t code; /* plus one */
} slot_32;

typedef struct slot_64 {
  uint64_t key;
  uint64_t code; /* plus one */
} slot_64;

/* BYTES and FIXED: the slot has a hash for its key. */
typedef slot_32 slot_bytes;

void tn_pq_dictionary_init(tn_pq_dictionary *d, tarn_env *env, tn_pq_dictionary_kind kind,
                           uint32_t width, size_t limit_bytes) {
  memset(d, 0, sizeof(*d));
  d->env = env;
  d->kind = kind;
  d->width = width;
  d->limit_bytes = limit_bytes;
  tn_pq_bytes_init(&d->page, env);
  tn_pq_bytes_init(&d->starts, env);
}

void tn_pq_dictionary_reset(tn_pq_dictionary *d) {
  tn_buffer_release(d->slots);
  tn_pq_bytes_reset(&d->page);
  tn_pq_bytes_reset(&d->starts);
  d->slots = NULL;
  d->n_slots = d->n = 0;
}

/* ------------------------------------------------------------------ hashes */

/* The slot that a key of 32 or 64 bits belongs to: the upper bits of a product. */
static uint32_t slot_of(uint64_t key, unsigned shift) {
  return (uint32_t)((key * FACTOR) >> shift);
}

static uint64_t mix(uint64_t a, uint64_t b) {
  tn_u128 product = (tn_u128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The first n bytes, 1 <= n <= 8, of 8 that can be read. */
static uint64_t load_first(const uint8_t *p, size_t n) {
  return tn_load_le64(p) << (64 - 8 * n);
}

/* Reads up to 16 bytes past the end. */
static uint32_t hash_bytes(const uint8_t *p, size_t n) {
  uint64_t h = n * FACTOR;
  size_t left = n;
  for (; left > 16; left -= 16, p += 16) {
    h = mix(tn_load_le64(p) ^ h, tn_load_le64(p + 8) ^ FACTOR);
  }
  if (left > 8) {
    h = mix(tn_load_le64(p) ^ h, load_first(p + 8, left - 8) ^ FACTOR);
  } else if (left > 0) {
    h = mix(load_first(p, left) ^ h, FACTOR);
  }
  return (uint32_t)(h ^ h >> 32);
}

/* Both may be read 8 bytes past their ends. */
static bool is_equal(const uint8_t *a, const uint8_t *b, size_t n) {
  for (; n > 8; n -= 8, a += 8, b += 8) {
    if (tn_load_le64(a) != tn_load_le64(b)) {
      return false;
    }
  }
  return n == 0 || load_first(a, n) == load_first(b, n);
}

/* ------------------------------------------------------------------ growth */

static unsigned shift_of(uint32_t n_slots) {
  return 64 - (unsigned)__builtin_ctz(n_slots);
}

static void insert_32(slot_32 *slots, uint32_t n_slots, slot_32 slot, uint32_t at) {
  while (slots[at].code != 0) {
    at = (at + 1) & (n_slots - 1);
  }
  slots[at] = slot;
}

static void move_slots(const tn_pq_dictionary *d, void *to, uint32_t n_slots) {
  const slot_32 *narrow = d->slots != NULL ? (const void *)d->slots->data : NULL;
  const slot_64 *wide = (const void *)narrow;
  unsigned shift = shift_of(n_slots);
  for (uint32_t i = 0; i < d->n_slots; i++) {
    if (d->kind == TN_PQ_DICTIONARY_64) {
      if (wide[i].code != 0) {
        slot_64 *slots = to;
        uint32_t at = slot_of(wide[i].key, shift);
        while (slots[at].code != 0) {
          at = (at + 1) & (n_slots - 1);
        }
        slots[at] = wide[i];
      }
    } else if (narrow[i].code != 0) {
      insert_32(to, n_slots, narrow[i],
                d->kind == TN_PQ_DICTIONARY_32 ? slot_of(narrow[i].key, shift)
                                               : narrow[i].key & (n_slots - 1));
    }
  }
}

/* Four times the slots, or the first ones. */
static tarn_status grow(tn_pq_dictionary *d, tarn_error *err) {
  size_t slot_bytes_each = d->kind == TN_PQ_DICTIONARY_64 ? sizeof(slot_64) : sizeof(slot_32);
  uint32_t n_slots = d->n_slots > 0 ? 4 * d->n_slots : MIN_SLOTS;
  tn_buffer *slots;
  if (d->n_slots >= (uint32_t)1 << 29) {
    return tn_fail(err, TARN_E_LIMIT, "a dictionary of %u values is too large", d->n);
  }
  TN_TRY(tn_buffer_create_zeroed(d->env, n_slots * slot_bytes_each, &slots, err));
  move_slots(d, slots->data, n_slots);
  tn_buffer_release(d->slots);
  d->slots = slots;
  d->n_slots = n_slots;
  return TARN_OK;
}

/* Room for one value more; *is_full: the page has none. */
static tarn_status make_room(tn_pq_dictionary *d, size_t n_bytes, bool *is_full, tarn_error *err) {
  *is_full = d->page.len + n_bytes > d->limit_bytes;
  if (*is_full) {
    return TARN_OK;
  }
  if (d->kind == TN_PQ_DICTIONARY_BYTES) {
    TN_TRY(tn_pq_bytes_reserve(&d->starts, sizeof(uint32_t), err));
  }
  TN_TRY(tn_pq_bytes_reserve(&d->page, n_bytes, err));
  return 2 * (d->n + 1) > d->n_slots ? grow(d, err) : TARN_OK;
}

/* ------------------------------------------------------------------ values of 4 and 8 bytes */

/* A table is looked up until a value is new; then it may grow, and the search begins anew. */
#define DEFINE_ADD(bits)                                                                     \
  tarn_status tn_pq_dictionary_add_##bits(tn_pq_dictionary *d, const uint##bits##_t *values, \
                                          int64_t n, uint32_t *codes, int64_t *done,         \
                                          tarn_error *err) {                                 \
    int64_t i = 0;                                                                           \
    bool is_full = false;                                                                    \
    *done = 0;                                                                               \
    if (d->n_slots == 0) {                                                                   \
      TN_TRY(grow(d, err));                                                                  \
    }                                                                                        \
    while (i < n) {                                                                          \
      slot_##bits *slots = (void *)d->slots->data;                                           \
      const uint32_t mask = d->n_slots - 1;                                                  \
      const unsigned shift = shift_of(d->n_slots);                                           \
      uint32_t at = 0;                                                                       \
      for (; i < n; i++) {                                                                   \
        uint##bits##_t key = values[i];                                                      \
        at = slot_of(key, shift);                                                            \
        while (slots[at].code != 0 && slots[at].key != key) {                                \
          at = (at + 1) & mask;                                                              \
        }                                                                                    \
        if (TN_UNLIKELY(slots[at].code == 0)) {                                              \
          if (TN_UNLIKELY(2 * (d->n + 1) > d->n_slots ||                                     \
                          d->page.len + sizeof(key) > d->page.capacity ||                    \
                          d->page.len + sizeof(key) > d->limit_bytes)) {                     \
            break;                                                                           \
          }                                                                                  \
          memcpy(d->page.data + d->page.len, &key, sizeof(key));                             \
          d->page.len += sizeof(key);                                                        \
          slots[at].key = key;                                                               \
          slots[at].code = ++d->n;                                                           \
        }                                                                                    \
        codes[i] = (uint32_t)slots[at].code - 1;                                             \
      }                                                                                      \
      *done = i;                                                                             \
      if (i < n) {                                                                           \
        TN_TRY(make_room(d, sizeof(values[0]), &is_full, err));                              \
        if (is_full) {                                                                       \
          break;                                                                             \
        }                                                                                    \
      }                                                                                      \
    }                                                                                        \
    return TARN_OK;                                                                          \
  }

DEFINE_ADD(32)
DEFINE_ADD(64)

/* ------------------------------------------------------------------ bytes */

/* The slot of a value, or the free one where it belongs. */
static uint32_t find_bytes(const tn_pq_dictionary *d, const tn_view *value, uint32_t hash) {
  const slot_bytes *slots = (const void *)d->slots->data;
  const uint32_t mask = d->n_slots - 1;
  uint32_t at = hash & mask;
  for (; slots[at].code != 0; at = (at + 1) & mask) {
    if (slots[at].key == hash) {
      tn_slice held = tn_pq_dictionary_get(d, slots[at].code - 1);
      if (held.len == (size_t)value->len && is_equal(held.data, value->data, held.len)) {
        break;
      }
    }
  }
  return at;
}

static void append_value(tn_pq_dictionary *d, const tn_view *value) {
  if (d->kind == TN_PQ_DICTIONARY_BYTES) {
    tn_store_le32(d->starts.data + d->starts.len, (uint32_t)d->page.len);
    d->starts.len += sizeof(uint32_t);
    tn_store_le32(d->page.data + d->page.len, (uint32_t)value->len);
    d->page.len += sizeof(uint32_t);
  }
  if (value->len > 0) {
    memcpy(d->page.data + d->page.len, value->data, (size_t)value->len);
    d->page.len += (size_t)value->len;
  }
}

/* One value, whose hash is known; *code is left alone when there is no room. */
static tarn_status add_one(tn_pq_dictionary *d, const tn_view *value, uint32_t hash, uint32_t *code,
                           bool *is_full, tarn_error *err) {
  uint32_t at = find_bytes(d, value, hash);
  slot_bytes *slot = (slot_bytes *)(void *)d->slots->data + at;
  *is_full = false;
  if (TN_UNLIKELY(slot->code == 0)) {
    size_t head = d->kind == TN_PQ_DICTIONARY_BYTES ? sizeof(uint32_t) : 0;
    uint32_t n_slots = d->n_slots;
    TN_TRY(make_room(d, head + (size_t)value->len, is_full, err));
    if (*is_full) {
      return TARN_OK;
    }
    if (d->n_slots != n_slots) {
      slot = (slot_bytes *)(void *)d->slots->data + find_bytes(d, value, hash);
    }
    append_value(d, value);
    *slot = (slot_bytes){hash, ++d->n};
  }
  *code = slot->code - 1;
  return TARN_OK;
}

/* Ask for the memory that a block of look-ups will touch: slots, then the values they name. */
static void fetch_ahead(const tn_pq_dictionary *d, const uint32_t *hashes, int64_t n) {
  const slot_bytes *slots = (const void *)d->slots->data;
  const uint32_t mask = d->n_slots - 1;
  for (int64_t i = 0; i < n; i++) {
    __builtin_prefetch(&slots[hashes[i] & mask]);
  }
  for (int64_t i = 0; i < n; i++) {
    uint32_t code = slots[hashes[i] & mask].code;
    if (code != 0) {
      __builtin_prefetch(tn_pq_dictionary_place(d, code - 1));
    }
  }
}

#define BLOCK 32
#define LARGE 2048 /* values; what is smaller lies in the first cache anyway */

tarn_status tn_pq_dictionary_add_bytes(tn_pq_dictionary *d, const tn_view *values, int64_t n,
                                       uint32_t *codes, int64_t *done, tarn_error *err) {
  uint32_t hashes[BLOCK];
  *done = 0;
  if (d->n_slots == 0) {
    TN_TRY(grow(d, err));
  }
  while (*done < n) {
    const tn_view *block = values + *done;
    int64_t n_block = n - *done < BLOCK ? n - *done : BLOCK;
    for (int64_t i = 0; i < n_block; i++) {
      hashes[i] = hash_bytes(block[i].data, (size_t)block[i].len);
    }
    if (d->n >= LARGE) {
      fetch_ahead(d, hashes, n_block);
    }
    for (int64_t i = 0; i < n_block; i++) {
      bool is_full;
      TN_TRY(add_one(d, &block[i], hashes[i], &codes[*done], &is_full, err));
      if (is_full) {
        return TARN_OK;
      }
      ++*done;
    }
  }
  return TARN_OK;
}
