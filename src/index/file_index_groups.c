/* file_index_groups.c - indexes that know the rows of each value: bitmap and range-bitmap.
 *
 * Values are told apart by the bytes that are stored of them. A value of one row has no bitmap yet.
 */
#include <math.h>

#include "base/bytes.h"
#include "base/map.h"
#include "index/file_index_make.h"

#define MAX_KEY_BYTES (4 + (size_t)INT32_MAX)
#define GROUP_BYTES 160 /* what a value takes in the map, the array and its first bitmap */

typedef struct group {
  tn_slice stored; /* in the arena */
  tn_index_key key;
  uint32_t first_row;
  roaring_bitmap_t *rows; /* NULL: only the first */
} group;

typedef struct groups {
  tn_arena arena;
  tn_map by_bytes; /* places in items */
  group *items;    /* in the arena */
  size_t capacity;
  tn_buf key; /* scratch */
  roaring_bitmap_t *nulls;
} groups;

/* ------------------------------------------------------------------ gathering */

static tarn_status groups_create(tn_index_maker *maker, tarn_error *err) {
  groups *g = tn_calloc(&maker->env->mem, 1, sizeof(*g));
  if (g == NULL) {
    return tn_oom(err);
  }
  tn_arena_init(&g->arena, &maker->env->mem, SIZE_MAX);
  tn_map_init(&g->by_bytes, &maker->env->mem);
  tn_buf_init(&g->key, &maker->env->mem, MAX_KEY_BYTES);
  maker->state = g;
  return TARN_OK;
}

static void groups_free(tn_index_maker *maker) {
  groups *g = maker->state;
  if (g == NULL) {
    return;
  }
  for (size_t i = 0; i < g->by_bytes.count; i++) {
    if (g->items[i].rows != NULL) {
      roaring_bitmap_free(g->items[i].rows);
    }
  }
  if (g->nulls != NULL) {
    roaring_bitmap_free(g->nulls);
  }
  tn_map_reset(&g->by_bytes);
  tn_buf_reset(&g->key);
  tn_arena_reset(&g->arena);
  tn_free(&maker->env->mem, g);
}

/* What is stored of a value: big-endian, texts behind their length. */
static tarn_status put_value(const tn_index_maker *maker, const tn_datum *value, tn_index_key *key,
                             tn_buf *out, tarn_error *err) {
  uint8_t bytes[8];
  out->len = 0;
  *key = (tn_index_key){0};
  if (maker->code.form == TN_INDEX_TEXT) {
    TN_TRY(tn_put_i32(out, (int64_t)value->v.bytes.len, err));
    return tn_buf_append(out, value->v.bytes.data, value->v.bytes.len, err);
  }
  if (maker->code.form == TN_INDEX_FLOAT) {
    key->v.f = value->v.f64;
    if (maker->code.width == 4) {
      float narrow = (float)value->v.f64;
      uint32_t bits;
      memcpy(&bits, &narrow, sizeof(bits));
      tn_store_be32(bytes, isnan(narrow) ? 0x7fc00000u : bits);
    } else {
      uint64_t bits;
      memcpy(&bits, &value->v.f64, sizeof(bits));
      tn_store_be64(bytes, isnan(value->v.f64) ? 0x7ff8000000000000u : bits);
    }
    return tn_buf_append(out, bytes, maker->code.width, err);
  }
  TN_TRY(tn_maker_integer(maker, value, &key->v.i, err));
  tn_store_be64(bytes, (uint64_t)key->v.i);
  return tn_buf_append(out, bytes + 8 - maker->code.width, maker->code.width, err);
}

static tarn_status new_group(tn_index_maker *maker, tn_map_entry *entry, const tn_index_key *key,
                             tarn_error *err) {
  groups *g = maker->state;
  size_t at = g->by_bytes.count - 1; /* the entry is the last one */
  void *items = g->items;
  tn_slice stored = {0};
  if (!tn_arena_grow(&g->arena, &items, &g->capacity, at, sizeof(group)) ||
      !tn_arena_slice(&g->arena, tn_buf_slice(&g->key), &stored)) {
    g->by_bytes.count--; /* its key lies nowhere; the maker is only freed now */
    return tn_oom(err);
  }
  g->items = items;
  g->items[at] = (group){.stored = stored, .key = *key, .first_row = maker->n_rows};
  if (maker->code.form == TN_INDEX_TEXT) {
    g->items[at].key.v.text = tn_slice_of(stored.data + 4, stored.len - 4);
  }
  entry->key = stored;
  entry->value.num = (int64_t)at;
  return tn_maker_reserve(maker, GROUP_BYTES + stored.len, err);
}

static tarn_status groups_add(tn_index_maker *maker, const tn_datum *value, tarn_error *err) {
  groups *g = maker->state;
  tn_map_entry *entry;
  tn_index_key key;
  group *item;
  bool is_new;
  TN_TRY(put_value(maker, value, &key, &g->key, err));
  TN_TRY(tn_map_put(&g->by_bytes, tn_buf_slice(&g->key), &entry, &is_new, err));
  if (is_new) {
    return new_group(maker, entry, &key, err);
  }
  item = &g->items[entry->value.num];
  if (item->rows == NULL) {
    TN_TRY(tn_bitmap_add(&item->rows, item->first_row, err));
  }
  return tn_bitmap_add(&item->rows, maker->n_rows, err);
}

static tarn_status groups_add_null(tn_index_maker *maker, tarn_error *err) {
  groups *g = maker->state;
  return tn_bitmap_add(&g->nulls, maker->n_rows, err);
}

/* ------------------------------------------------------------------ in order */

/* The groups by value; heap sort, as stability is no matter. *out: n pointers in the arena. */
static tarn_status sort_groups(tn_index_maker *maker, group ***out, tarn_error *err) {
  groups *g = maker->state;
  size_t n = g->by_bytes.count, end = n;
  group **items = tn_arena_calloc(&g->arena, n, sizeof(*items));
  if (items == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < n; i++) {
    items[i] = &g->items[i];
  }
  for (size_t start = n / 2; end > 1;) {
    group *moved;
    size_t root, child;
    if (start > 0) {
      moved = items[--start];
    } else {
      moved = items[--end];
      items[end] = items[0];
    }
    for (root = start; (child = 2 * root + 1) < end; root = child) {
      if (child + 1 < end &&
          tn_index_key_compare(&maker->code, &items[child]->key, &items[child + 1]->key) < 0) {
        child++;
      }
      if (tn_index_key_compare(&maker->code, &moved->key, &items[child]->key) >= 0) {
        break;
      }
      items[root] = items[child];
    }
    items[root] = moved;
  }
  *out = items;
  return TARN_OK;
}

/* ------------------------------------------------------------------ bitmap */

static bool bitmap_takes(const tn_type *type) {
  return tn_index_code_of(type).form != TN_INDEX_NONE && !tn_type_is_bytes(type) &&
         type->root != TN_DECIMAL;
}

/* Where the rows of each value lie: in the body, or the one row itself. */
typedef struct placed {
  int64_t offset, length;
} placed;

static tarn_status put_body(const groups *g, group *const *items, placed *places, tn_buf *body,
                            placed *nulls, tarn_error *err) {
  *nulls = (placed){0, 0};
  if (g->nulls != NULL) {
    TN_TRY(tn_put_bitmap(body, g->nulls, err));
    nulls->length = (int64_t)body->len;
    if (roaring_bitmap_get_cardinality(g->nulls) == 1) {
      nulls->offset = -1 - (int64_t)roaring_bitmap_minimum(g->nulls);
      body->len = 0;
    }
  }
  for (size_t i = 0; i < g->by_bytes.count; i++) {
    if (items[i]->rows == NULL) {
      places[i] = (placed){-1 - (int64_t)items[i]->first_row, -1};
    } else {
      places[i].offset = (int64_t)body->len;
      TN_TRY(tn_put_bitmap(body, items[i]->rows, err));
      places[i].length = (int64_t)body->len - places[i].offset;
    }
  }
  return TARN_OK;
}

static tarn_status put_entry(tn_buf *out, const group *item, const placed *place, bool has_length,
                             tarn_error *err) {
  TN_TRY(tn_buf_append(out, item->stored.data, item->stored.len, err));
  TN_TRY(tn_put_i32(out, place->offset, err));
  return has_length ? tn_put_i32(out, place->length, err) : TARN_OK;
}

/* The end of the block that begins at a value: as many as its bytes hold, at least one. */
static size_t end_of_block(group *const *items, size_t begin, size_t n, int64_t block_bytes,
                           int64_t *n_bytes) {
  size_t at = begin;
  *n_bytes = 4;
  while (at < n) {
    int64_t entry = 8 + (int64_t)items[at]->stored.len;
    if (at > begin && *n_bytes + entry > block_bytes) {
      break;
    }
    *n_bytes += entry;
    at++;
  }
  return at;
}

static tarn_status put_blocks(const tn_index_maker *maker, group *const *items,
                              const placed *places, tn_buf *out, tarn_error *err) {
  const groups *g = maker->state;
  size_t n = g->by_bytes.count;
  int64_t n_blocks = 0, offset = 0, n_bytes;
  for (size_t at = 0; at < n; n_blocks++) {
    at = end_of_block(items, at, n, maker->spec->block_bytes, &n_bytes);
  }
  TN_TRY(tn_put_i32(out, n_blocks, err));
  for (size_t at = 0; at < n; offset += n_bytes) {
    TN_TRY(tn_buf_append(out, items[at]->stored.data, items[at]->stored.len, err));
    TN_TRY(tn_put_i32(out, offset, err));
    at = end_of_block(items, at, n, maker->spec->block_bytes, &n_bytes);
  }
  TN_TRY(tn_put_i32(out, offset, err));
  for (size_t at = 0; at < n;) {
    size_t end = end_of_block(items, at, n, maker->spec->block_bytes, &n_bytes);
    TN_TRY(tn_put_i32(out, (int64_t)(end - at), err));
    for (; at < end; at++) {
      TN_TRY(put_entry(out, items[at], &places[at], true, err));
    }
  }
  return TARN_OK;
}

static tarn_status put_bitmap_index(tn_index_maker *maker, tn_buf *body, tn_buf *out,
                                    tarn_error *err) {
  groups *g = maker->state;
  size_t n = g->by_bytes.count;
  bool is_v2 = maker->spec->bitmap_version == 2;
  placed nulls, *places = tn_arena_calloc(&g->arena, n, sizeof(*places));
  group **items = NULL;
  if (places == NULL) {
    return tn_oom(err);
  }
  TN_TRY(sort_groups(maker, &items, err));
  TN_TRY(put_body(g, items, places, body, &nulls, err));
  TN_TRY(tn_put_u8(out, (uint8_t)maker->spec->bitmap_version, err));
  TN_TRY(tn_put_i32(out, maker->n_rows, err));
  TN_TRY(tn_put_i32(out, (int64_t)n, err));
  TN_TRY(tn_put_u8(out, g->nulls != NULL, err));
  if (g->nulls != NULL) {
    TN_TRY(tn_put_i32(out, nulls.offset, err));
  }
  if (g->nulls != NULL && is_v2) {
    TN_TRY(tn_put_i32(out, nulls.length, err));
  }
  if (is_v2) {
    TN_TRY(put_blocks(maker, items, places, out, err));
  }
  for (size_t i = 0; !is_v2 && i < n; i++) {
    TN_TRY(put_entry(out, items[i], &places[i], false, err));
  }
  return tn_buf_append(out, body->data, body->len, err);
}

static tarn_status bitmap_finish(tn_index_maker *maker, tn_buf *out, tarn_error *err) {
  tn_buf body;
  tarn_status st;
  tn_buf_init(&body, &maker->env->mem, (size_t)INT32_MAX);
  st = put_bitmap_index(maker, &body, out, err);
  tn_buf_reset(&body);
  return st;
}

const tn_maker_kind tn_bitmap_maker = {"bitmap",   bitmap_takes,    groups_create, groups_free,
                                       groups_add, groups_add_null, bitmap_finish};

/* ------------------------------------------------------------------ range-bitmap */

static bool range_takes(const tn_type *type) {
  if (type->root == TN_DECIMAL) {
    return type->precision <= 18;
  }
  if (type->root == TN_TIMESTAMP || type->root == TN_TIMESTAMP_LTZ) {
    return type->precision <= 6;
  }
  return bitmap_takes(type);
}

/* A dictionary under construction. */
typedef struct dictionary {
  tn_buf offsets, chunks, keys;
  int64_t n_chunks;
} dictionary;

/* The chunk of the values from `begin` on: the first lies in its head, others among the keys, up to
 * `limit` bytes. *end: the first value behind it. */
static tarn_status put_chunk(const tn_index_maker *maker, group *const *items, size_t begin,
                             size_t n, dictionary *d, size_t *end, tarn_error *err) {
  bool is_text = maker->code.form == TN_INDEX_TEXT;
  int64_t limit = maker->spec->block_bytes, n_bytes = 0, offset = (int64_t)d->keys.len;
  size_t at = begin + 1, count;
  while (at < n && n_bytes + (int64_t)items[at]->stored.len <= limit &&
         (!is_text || (int64_t)(at - begin) * 4 <= limit)) {
    n_bytes += (int64_t)items[at++]->stored.len;
  }
  count = at - begin - 1;
  TN_TRY(tn_put_i32(&d->offsets, (int64_t)d->chunks.len, err));
  TN_TRY(tn_put_u8(&d->chunks, 1, err)); /* version */
  TN_TRY(tn_buf_append(&d->chunks, items[begin]->stored.data, items[begin]->stored.len, err));
  TN_TRY(tn_put_i32(&d->chunks, (int64_t)begin, err)); /* its code */
  TN_TRY(tn_put_i32(&d->chunks, offset, err));
  TN_TRY(tn_put_i32(&d->chunks, (int64_t)count, err));
  TN_TRY(tn_put_i32(&d->chunks, is_text ? 4 * (int64_t)count : n_bytes, err));
  TN_TRY(tn_put_i32(&d->chunks, is_text ? n_bytes : maker->code.width, err));
  n_bytes = 0;
  for (size_t i = begin + 1; is_text && i < at; i++) {
    TN_TRY(tn_put_i32(&d->keys, n_bytes, err));
    n_bytes += (int64_t)items[i]->stored.len;
  }
  for (size_t i = begin + 1; i < at; i++) {
    TN_TRY(tn_buf_append(&d->keys, items[i]->stored.data, items[i]->stored.len, err));
  }
  d->n_chunks++;
  *end = at;
  return TARN_OK;
}

static tarn_status put_dictionary(const tn_index_maker *maker, group *const *items, size_t n,
                                  dictionary *d, tn_buf *out, tarn_error *err) {
  int64_t head = 1 + 3 * 4;
  for (size_t at = 0; at < n;) {
    TN_TRY(put_chunk(maker, items, at, n, d, &at, err));
  }
  TN_TRY(tn_put_i32(
      out, 4 + head + (int64_t)d->offsets.len + (int64_t)d->chunks.len + (int64_t)d->keys.len,
      err));
  TN_TRY(tn_put_i32(out, head, err));
  TN_TRY(tn_put_u8(out, 1, err)); /* version */
  TN_TRY(tn_put_i32(out, d->n_chunks, err));
  TN_TRY(tn_put_i32(out, (int64_t)d->offsets.len, err));
  TN_TRY(tn_put_i32(out, (int64_t)d->chunks.len, err));
  TN_TRY(tn_buf_append(out, d->offsets.data, d->offsets.len, err));
  TN_TRY(tn_buf_append(out, d->chunks.data, d->chunks.len, err));
  return tn_buf_append(out, d->keys.data, d->keys.len, err);
}

/* Rows whose code has a bit, and all rows with a code. */
typedef struct code_slices {
  roaring_bitmap_t *rows, *bits[64];
  int32_t n;
} code_slices;

static tarn_status add_code(code_slices *s, size_t code, uint32_t row, tarn_error *err) {
  for (uint64_t bits = code; bits != 0; bits &= bits - 1) {
    TN_TRY(tn_bitmap_add(&s->bits[__builtin_ctzll(bits)], row, err));
  }
  return tn_bitmap_add(&s->rows, row, err);
}

static tarn_status slice_codes(group *const *items, size_t n, code_slices *s, tarn_error *err) {
  /* The greatest code of no values is -1: 64 slices. */
  s->n = n == 0 ? 64 : n == 1 ? 1 : 64 - __builtin_clzll((uint64_t)n - 1);
  for (size_t i = 0; i < n; i++) {
    const group *item = items[i];
    roaring_uint32_iterator_t it;
    if (item->rows == NULL) {
      TN_TRY(add_code(s, i, item->first_row, err));
      continue;
    }
    roaring_iterator_init(item->rows, &it);
    while (it.has_value) {
      TN_TRY(add_code(s, i, it.current_value, err));
      (void)roaring_uint32_iterator_advance(&it);
    }
  }
  return TARN_OK;
}

static tarn_status put_codes(const code_slices *s, tn_buf *body, tn_buf *out, tarn_error *err) {
  size_t n_rows_bytes;
  TN_TRY(tn_put_bitmap(body, s->rows, err));
  n_rows_bytes = body->len;
  TN_TRY(tn_put_i32(out, 1 + 1 + 4 + 4 + 8 * (int64_t)s->n, err));
  TN_TRY(tn_put_u8(out, 1, err)); /* version */
  TN_TRY(tn_put_u8(out, (uint8_t)s->n, err));
  TN_TRY(tn_put_i32(out, (int64_t)n_rows_bytes, err));
  TN_TRY(tn_put_i32(out, 8 * (int64_t)s->n, err));
  for (int32_t i = 0; i < s->n; i++) {
    size_t start = body->len;
    TN_TRY(tn_put_bitmap(body, s->bits[i], err));
    TN_TRY(tn_put_i32(out, (int64_t)(start - n_rows_bytes), err));
    TN_TRY(tn_put_i32(out, (int64_t)(body->len - start), err));
  }
  return tn_buf_append(out, body->data, body->len, err);
}

static tarn_status put_range_index(tn_index_maker *maker, dictionary *d, code_slices *s,
                                   tn_buf *body, tn_buf *out, tarn_error *err) {
  groups *g = maker->state;
  group **items = NULL;
  size_t n = g->by_bytes.count;
  int64_t head = 1 + 4 + 4 + 4;
  TN_TRY(sort_groups(maker, &items, err));
  if (n > 0) {
    head += (int64_t)items[0]->stored.len + (int64_t)items[n - 1]->stored.len;
  }
  TN_TRY(tn_put_i32(out, head, err));
  TN_TRY(tn_put_u8(out, 1, err)); /* version */
  TN_TRY(tn_put_i32(out, maker->n_rows, err));
  TN_TRY(tn_put_i32(out, (int64_t)n, err));
  if (n > 0) {
    TN_TRY(tn_buf_append(out, items[0]->stored.data, items[0]->stored.len, err));
    TN_TRY(tn_buf_append(out, items[n - 1]->stored.data, items[n - 1]->stored.len, err));
  }
  TN_TRY(put_dictionary(maker, items, n, d, out, err));
  TN_TRY(slice_codes(items, n, s, err));
  return put_codes(s, body, out, err);
}

static tarn_status range_finish(tn_index_maker *maker, tn_buf *out, tarn_error *err) {
  tn_mem *mem = &maker->env->mem;
  dictionary d = {.n_chunks = 0};
  code_slices s = {.n = 0};
  tn_buf body;
  tarn_status st;
  tn_buf_init(&d.offsets, mem, (size_t)INT32_MAX);
  tn_buf_init(&d.chunks, mem, (size_t)INT32_MAX);
  tn_buf_init(&d.keys, mem, (size_t)INT32_MAX);
  tn_buf_init(&body, mem, (size_t)INT32_MAX);
  st = put_range_index(maker, &d, &s, &body, out, err);
  tn_buf_reset(&d.offsets);
  tn_buf_reset(&d.chunks);
  tn_buf_reset(&d.keys);
  tn_buf_reset(&body);
  if (s.rows != NULL) {
    roaring_bitmap_free(s.rows);
  }
  for (size_t i = 0; i < TN_COUNT(s.bits); i++) {
    if (s.bits[i] != NULL) {
      roaring_bitmap_free(s.bits[i]);
    }
  }
  return st;
}

const tn_maker_kind tn_range_bitmap_maker = {
    "range-bitmap", range_takes, groups_create, groups_free, groups_add, NULL, range_finish};
