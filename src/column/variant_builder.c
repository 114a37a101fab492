/* variant_builder.c - values behind their headers: a group's values are written first, then they
 * move to make room for its header, as sizes and offsets are only known then. */
#include "column/variant_builder.h"

#include <math.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/map.h"

#define MAX_SHORT_STRING 63
#define MIN_SLOTS 64
#define FLOAT_NAN 0x7fc00000u
#define DOUBLE_NAN UINT64_C(0x7ff8000000000000)

void tn_variant_builder_init(tn_variant_builder *b, tn_mem *mem) {
  memset(b, 0, sizeof(*b));
  b->mem = mem;
  tn_buf_init(&b->value, mem, TN_VARIANT_MAX_BYTES);
  tn_buf_init(&b->metadata, mem, TN_VARIANT_MAX_BYTES);
}

void tn_variant_builder_free(tn_variant_builder *b) {
  if (b->mem != NULL) {
    tn_buf_reset(&b->value);
    tn_buf_reset(&b->metadata);
    tn_free(b->mem, b->entries);
    tn_free(b->mem, b->keys);
    tn_free(b->mem, b->slots);
    memset(b, 0, sizeof(*b));
  }
}

void tn_variant_builder_reset(tn_variant_builder *b) {
  b->value.len = b->metadata.len = 0;
  b->n_entries = 0;
  if (b->n_keys > 0) {
    memset(b->slots, 0, b->n_slots * sizeof(*b->slots));
  }
  b->n_keys = 0;
}

/* ------------------------------------------------------------------ scalars */

static uint8_t primitive_header(tn_variant_primitive type) {
  return (uint8_t)(type << 2);
}

/* A header and the lowest n bytes of v. */
static tarn_status put(tn_variant_builder *b, tn_variant_primitive type, uint64_t v, size_t n,
                       tarn_error *err) {
  uint8_t bytes[9];
  bytes[0] = primitive_header(type);
  tn_store_le64(bytes + 1, v);
  return tn_buf_append(&b->value, bytes, 1 + n, err);
}

tarn_status tn_variant_put_null(tn_variant_builder *b, tarn_error *err) {
  return put(b, TN_VARIANT_NULL, 0, 0, err);
}

tarn_status tn_variant_put_boolean(tn_variant_builder *b, bool v, tarn_error *err) {
  return put(b, v ? TN_VARIANT_TRUE : TN_VARIANT_FALSE, 0, 0, err);
}

tarn_status tn_variant_put_long(tn_variant_builder *b, int64_t v, tarn_error *err) {
  if (v == (int8_t)v) {
    return put(b, TN_VARIANT_INT1, (uint64_t)v, 1, err);
  }
  if (v == (int16_t)v) {
    return put(b, TN_VARIANT_INT2, (uint64_t)v, 2, err);
  }
  return v == (int32_t)v ? put(b, TN_VARIANT_INT4, (uint64_t)v, 4, err)
                         : put(b, TN_VARIANT_INT8, (uint64_t)v, 8, err);
}

tarn_status tn_variant_put_float(tn_variant_builder *b, float v, tarn_error *err) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof(bits));
  return put(b, TN_VARIANT_FLOAT, isnan(v) ? FLOAT_NAN : bits, 4, err);
}

tarn_status tn_variant_put_double(tn_variant_builder *b, double v, tarn_error *err) {
  uint64_t bits;
  memcpy(&bits, &v, sizeof(bits));
  return put(b, TN_VARIANT_DOUBLE, isnan(v) ? DOUBLE_NAN : bits, 8, err);
}

tarn_status tn_variant_put_decimal(tn_variant_builder *b, tn_i128 v, int32_t scale,
                                   tarn_error *err) {
  static const tn_i128 limits[] = {1000000000, INT64_C(1000000000000000000)};
  uint8_t bytes[18];
  size_t n = 4;
  tn_variant_primitive type = TN_VARIANT_DECIMAL4;
  if (scale > 18 || v >= limits[1] || v <= -limits[1]) {
    type = TN_VARIANT_DECIMAL16;
    n = 16;
  } else if (scale > 9 || v >= limits[0] || v <= -limits[0]) {
    type = TN_VARIANT_DECIMAL8;
    n = 8;
  }
  bytes[0] = primitive_header(type);
  bytes[1] = (uint8_t)scale;
  tn_store_i128(bytes + 2, v);
  return tn_buf_append(&b->value, bytes, 2 + n, err);
}

tarn_status tn_variant_put_time(tn_variant_builder *b, tn_variant_primitive type, int64_t v,
                                tarn_error *err) {
  return put(b, type, (uint64_t)v, type == TN_VARIANT_DATE ? 4 : 8, err);
}

static tarn_status put_long_bytes(tn_variant_builder *b, tn_variant_primitive type, tn_slice v,
                                  tarn_error *err) {
  if (v.len > TN_VARIANT_MAX_BYTES) {
    return tn_fail(err, TARN_E_LIMIT, "variant: a string or binary of %zu bytes", v.len);
  }
  TN_TRY(put(b, type, v.len, 4, err));
  return tn_buf_append(&b->value, v.data, v.len, err);
}

tarn_status tn_variant_put_binary(tn_variant_builder *b, tn_slice v, tarn_error *err) {
  return put_long_bytes(b, TN_VARIANT_BINARY, v, err);
}

tarn_status tn_variant_put_string(tn_variant_builder *b, tn_slice v, tarn_error *err) {
  uint8_t header = (uint8_t)(v.len << 2 | TN_VARIANT_SHORT_STRING);
  if (v.len > MAX_SHORT_STRING) {
    return put_long_bytes(b, TN_VARIANT_STRING, v, err);
  }
  TN_TRY(tn_buf_append(&b->value, &header, 1, err));
  return tn_buf_append(&b->value, v.data, v.len, err);
}

tarn_status tn_variant_put_uuid(tn_variant_builder *b, const uint8_t *v, tarn_error *err) {
  TN_TRY(put(b, TN_VARIANT_UUID, 0, 0, err));
  return tn_buf_append(&b->value, v, 16, err);
}

/* ------------------------------------------------------------------ names */

static bool grow(tn_mem *mem, void **array, size_t *capacity, size_t count, size_t element_bytes) {
  size_t wanted = *capacity < 16 ? 16 : *capacity * 2;
  void *bigger;
  if (count < *capacity) {
    return true;
  }
  bigger = tn_realloc(mem, *array, wanted * element_bytes);
  if (bigger == NULL) {
    return false;
  }
  *array = bigger;
  *capacity = wanted;
  return true;
}

static void place_key(tn_variant_builder *b, size_t id) {
  size_t slot = (size_t)b->keys[id].hash & (b->n_slots - 1);
  while (b->slots[slot] != 0) {
    slot = (slot + 1) & (b->n_slots - 1);
  }
  b->slots[slot] = (uint32_t)id + 1;
}

static bool grow_slots(tn_variant_builder *b) {
  size_t n = b->n_slots < MIN_SLOTS ? MIN_SLOTS : b->n_slots * 2;
  uint32_t *slots;
  if (b->n_slots >= 2 * (b->n_keys + 1)) {
    return true;
  }
  slots = tn_calloc(b->mem, n, sizeof(*slots));
  if (slots == NULL) {
    return false;
  }
  tn_free(b->mem, b->slots);
  b->slots = slots;
  b->n_slots = n;
  for (size_t i = 0; i < b->n_keys; i++) {
    place_key(b, i);
  }
  return true;
}

/* The id of a name, which is new or met before. */
static tarn_status find_id(tn_variant_builder *b, tn_slice name, uint32_t *id, tarn_error *err) {
  uint64_t hash = tn_hash_bytes(name.data, name.len);
  size_t slot;
  if (!grow_slots(b) ||
      !grow(b->mem, (void **)&b->keys, &b->keys_capacity, b->n_keys, sizeof(*b->keys))) {
    return tn_oom(err);
  }
  slot = (size_t)hash & (b->n_slots - 1);
  for (; b->slots[slot] != 0; slot = (slot + 1) & (b->n_slots - 1)) {
    const tn_variant_key *key = &b->keys[b->slots[slot] - 1];
    if (key->hash == hash && tn_slice_equal(key->name, name)) {
      *id = b->slots[slot] - 1;
      return TARN_OK;
    }
  }
  b->keys[b->n_keys] = (tn_variant_key){name, hash};
  *id = (uint32_t)b->n_keys++;
  b->slots[slot] = *id + 1;
  return TARN_OK;
}

/* In the order of Java's strings: by UTF-16, in which the characters of four bytes come before
 * those from U+E000 on. */
static int compare_names(tn_slice a, tn_slice b) {
  size_t n = a.len < b.len ? a.len : b.len;
  for (size_t i = 0; i < n; i++) {
    uint8_t x = a.data[i], y = b.data[i];
    if (x != y) {
      if (x >= 0xee && y >= 0xee && (x >= 0xf0) != (y >= 0xf0)) {
        return x >= 0xf0 ? -1 : 1;
      }
      return x < y ? -1 : 1;
    }
  }
  return (a.len > b.len) - (a.len < b.len);
}

/* ------------------------------------------------------------------ groups */

void tn_variant_open(tn_variant_builder *b, tn_variant_open_group *g) {
  g->start = b->value.len;
  g->first = b->n_entries;
}

static tarn_status add_entry(tn_variant_builder *b, const tn_variant_open_group *g, uint32_t id,
                             tarn_error *err) {
  if (!grow(b->mem, (void **)&b->entries, &b->entries_capacity, b->n_entries,
            sizeof(*b->entries))) {
    return tn_oom(err);
  }
  b->entries[b->n_entries++] = (tn_variant_entry){id, (uint32_t)(b->value.len - g->start)};
  return TARN_OK;
}

tarn_status tn_variant_add_field(tn_variant_builder *b, const tn_variant_open_group *g,
                                 tn_slice name, tarn_error *err) {
  uint32_t id;
  TN_TRY(find_id(b, name, &id, err));
  return add_entry(b, g, id, err);
}

tarn_status tn_variant_add_item(tn_variant_builder *b, const tn_variant_open_group *g,
                                tarn_error *err) {
  return add_entry(b, g, 0, err);
}

/* NULL as long as no group had any. */
static tn_variant_entry *entries_of(const tn_variant_builder *b, const tn_variant_open_group *g) {
  return b->entries != NULL ? b->entries + g->first : NULL;
}

/* Bytes of a number. */
static size_t number_size(size_t v) {
  return v <= 0xff ? 1 : v <= 0xffff ? 2 : v <= 0xffffff ? 3 : 4;
}

static uint8_t *store_number(uint8_t *at, size_t v, size_t size) {
  for (size_t i = 0; i < size; i++) {
    at[i] = (uint8_t)(v >> (8 * i));
  }
  return at + size;
}

/* The header in front of the values; the group's entries are done with. */
static tarn_status close_group(tn_variant_builder *b, const tn_variant_open_group *g,
                               bool is_object, size_t max_id, tarn_error *err) {
  const tn_variant_entry *entries = entries_of(b, g);
  size_t n = b->n_entries - g->first, n_data = b->value.len - g->start;
  size_t id_size = is_object ? number_size(max_id) : 0, offset_size = number_size(n_data);
  bool is_large = n > 0xff;
  size_t n_header = 1 + (is_large ? 4 : 1) + n * id_size + (n + 1) * offset_size;
  uint8_t *at;
  TN_TRY(tn_buf_reserve(&b->value, n_header, err));
  at = b->value.data + g->start;
  memmove(at + n_header, at, n_data);
  b->value.len += n_header;
  *at++ = (uint8_t)(is_object ? is_large << 6 | (id_size - 1) << 4 | (offset_size - 1) << 2 |
                                    TN_VARIANT_OBJECT
                              : is_large << 4 | (offset_size - 1) << 2 | TN_VARIANT_ARRAY);
  at = store_number(at, n, is_large ? 4 : 1);
  for (size_t i = 0; i < n; i++) {
    at = store_number(at, entries[i].id, id_size);
  }
  for (size_t i = 0; i < n; i++) {
    at = store_number(at, entries[i].offset, offset_size);
  }
  store_number(at, n_data, offset_size);
  b->n_entries = g->first;
  return TARN_OK;
}

static int by_name(const tn_variant_builder *b, const tn_variant_entry *x,
                   const tn_variant_entry *y) {
  return compare_names(b->keys[x->id].name, b->keys[y->id].name);
}

/* Is most often in order already; else a heap sort, which needs nothing beside the entries. */
static void sort_fields(const tn_variant_builder *b, tn_variant_entry *e, size_t n) {
  size_t sorted = 1;
  while (sorted < n && by_name(b, &e[sorted - 1], &e[sorted]) <= 0) {
    sorted++;
  }
  if (sorted >= n) {
    return;
  }
  for (size_t start = n / 2, end = n; end > 1;) {
    tn_variant_entry moved;
    size_t root, child;
    if (start > 0) {
      moved = e[--start];
    } else {
      moved = e[--end];
      e[end] = e[0];
    }
    for (root = start; (child = 2 * root + 1) < end; root = child) {
      child += child + 1 < end && by_name(b, &e[child], &e[child + 1]) < 0;
      if (by_name(b, &moved, &e[child]) >= 0) {
        break;
      }
      e[root] = e[child];
    }
    e[root] = moved;
  }
}

tarn_status tn_variant_close_object(tn_variant_builder *b, const tn_variant_open_group *g,
                                    tarn_error *err) {
  tn_variant_entry *e = entries_of(b, g);
  size_t n = b->n_entries - g->first, max_id = 0;
  sort_fields(b, e, n);
  for (size_t i = 0; i < n; i++) {
    if (i > 0 && e[i].id == e[i - 1].id) {
      return tn_fail(err, TARN_E_CORRUPT, "variant: an object has two fields named %.*s",
                     TN_SLICE_ARG(b->keys[e[i].id].name));
    }
    max_id = e[i].id > max_id ? e[i].id : max_id;
  }
  return close_group(b, g, true, max_id, err);
}

tarn_status tn_variant_close_array(tn_variant_builder *b, const tn_variant_open_group *g,
                                   tarn_error *err) {
  return close_group(b, g, false, 0, err);
}

/* ------------------------------------------------------------------ values that are copied */

/* A group of the value that is copied, and the one it becomes. */
typedef struct copied_group {
  tn_variant_group from;
  size_t next;
  tn_variant_open_group to;
} copied_group;

/* Values that do not share bytes have more bytes than parts. */
static tarn_status spend(tn_variant_builder *b, size_t n, size_t at, tarn_error *err) {
  if (n > b->work_left) {
    return tn_variant_malformed("values that share their bytes many times over", at, err);
  }
  b->work_left -= n;
  return TARN_OK;
}

static tarn_status copy_scalar(tn_variant_builder *b, tn_slice value, size_t at, tarn_error *err) {
  tn_variant_primitive type;
  tn_slice bytes;
  size_t n;
  TN_TRY(tn_variant_scalar(value, at, &type, &bytes, err));
  n = (size_t)(bytes.data - (value.data + at)) + bytes.len;
  TN_TRY(spend(b, n, at, err));
  return tn_buf_append(&b->value, value.data + at, n, err);
}

static tarn_status open_copied(tn_variant_builder *b, tn_slice value, size_t at, copied_group *c,
                               tarn_error *err) {
  TN_TRY(spend(b, 2, at, err));
  TN_TRY(tn_variant_group_open(value, at, &c->from, err));
  tn_variant_open(b, &c->to);
  c->next = 0;
  return TARN_OK;
}

static tarn_status close_copied(tn_variant_builder *b, const copied_group *c, tarn_error *err) {
  return c->from.ids != 0 ? tn_variant_close_object(b, &c->to, err)
                          : tn_variant_close_array(b, &c->to, err);
}

static tarn_status next_copied(tn_variant_builder *b, const tn_variant_names *names, tn_slice value,
                               copied_group *c, size_t *at, tarn_error *err) {
  size_t id;
  tn_slice name;
  TN_TRY(tn_variant_child(value, &c->from, c->next++, &id, at, err));
  if (c->from.ids == 0) {
    return tn_variant_add_item(b, &c->to, err);
  }
  TN_TRY(tn_variant_name(names, id, &name, err));
  return tn_variant_add_field(b, &c->to, name, err);
}

static tarn_status copy_value(tn_variant_builder *b, const tn_variant_names *names, tn_slice value,
                              size_t at, tarn_error *err) {
  copied_group open[TN_VARIANT_MAX_DEPTH];
  size_t depth = 0;
  for (;;) {
    if (tn_variant_basic_at(value, at) < TN_VARIANT_OBJECT) {
      TN_TRY(copy_scalar(b, value, at, err));
    } else if (depth == TN_VARIANT_MAX_DEPTH) {
      return tn_fail(err, TARN_E_LIMIT, "variant: nested deeper than %d", TN_VARIANT_MAX_DEPTH);
    } else {
      TN_TRY(open_copied(b, value, at, &open[depth], err));
      depth++;
    }
    while (depth > 0 && open[depth - 1].next == open[depth - 1].from.n) {
      TN_TRY(close_copied(b, &open[--depth], err));
    }
    if (depth == 0) {
      return TARN_OK;
    }
    TN_TRY(next_copied(b, names, value, &open[depth - 1], &at, err));
  }
}

/* What values may share of their bytes, with room to spare. */
static tarn_status begin_copy(tn_variant_builder *b, tn_slice value, tarn_error *err) {
  b->work_left = 16 * (uint64_t)value.len + 1024;
  return value.len > 0 ? TARN_OK : tn_variant_malformed("no value", 0, err);
}

tarn_status tn_variant_put_value(tn_variant_builder *b, const tn_variant_names *names,
                                 tn_slice value, tarn_error *err) {
  TN_TRY(begin_copy(b, value, err));
  return copy_value(b, names, value, 0, err);
}

tarn_status tn_variant_add_fields(tn_variant_builder *b, const tn_variant_open_group *g,
                                  const tn_variant_names *names, tn_slice value,
                                  bool (*is_taken)(const void *ctx, tn_slice name), const void *ctx,
                                  tarn_error *err) {
  tn_variant_group from;
  TN_TRY(begin_copy(b, value, err));
  if (tn_variant_basic_at(value, 0) != TN_VARIANT_OBJECT) {
    return tn_variant_malformed("no object beside shredded fields", 0, err);
  }
  TN_TRY(tn_variant_group_open(value, 0, &from, err));
  for (size_t i = 0; i < from.n; i++) {
    size_t id, at;
    tn_slice name;
    TN_TRY(tn_variant_child(value, &from, i, &id, &at, err));
    TN_TRY(tn_variant_name(names, id, &name, err));
    if (is_taken(ctx, name)) {
      return tn_fail(err, TARN_E_CORRUPT, "variant: field %.*s is shredded and not",
                     TN_SLICE_ARG(name));
    }
    TN_TRY(tn_variant_add_field(b, g, name, err));
    TN_TRY(copy_value(b, names, value, at, err));
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ the end */

tarn_status tn_variant_take(tn_variant_builder *b, tn_slice *metadata, tn_slice *value,
                            tarn_error *err) {
  uint64_t n_names = 0, largest, n;
  size_t size, offset = 0;
  uint8_t *at, *names;
  for (size_t i = 0; i < b->n_keys; i++) {
    n_names += b->keys[i].name.len;
  }
  largest = n_names > b->n_keys ? n_names : b->n_keys;
  if (largest > TN_VARIANT_MAX_BYTES) {
    return tn_fail(err, TARN_E_LIMIT, "variant: metadata of %llu bytes",
                   (unsigned long long)largest);
  }
  size = number_size((size_t)largest);
  n = 1 + size + (b->n_keys + 1) * size + n_names;
  TN_TRY(tn_buf_reserve(&b->metadata, (size_t)n, err));
  at = b->metadata.data;
  *at++ = (uint8_t)(TN_VARIANT_VERSION | (size - 1) << 6);
  at = store_number(at, b->n_keys, size);
  names = at + (b->n_keys + 1) * size;
  for (size_t i = 0; i < b->n_keys; i++) {
    tn_slice name = b->keys[i].name;
    at = store_number(at, offset, size);
    if (name.len > 0) {
      memcpy(names + offset, name.data, name.len);
    }
    offset += name.len;
  }
  store_number(at, offset, size);
  b->metadata.len = (size_t)n;
  *metadata = tn_buf_slice(&b->metadata);
  *value = tn_buf_slice(&b->value);
  return TARN_OK;
}
