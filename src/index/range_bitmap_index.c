/* range_bitmap_index.c - a sorted dictionary of a column's values, and their codes as bit slices.
 *
 *   head size | u8 1 | rows | values | [least value, greatest value] | dictionary bytes
 *   dictionary: head size | u8 1 | chunks | bytes of offsets | bytes of heads
 *               | chunks x offset of head | heads | keys
 *     head of numbers:  u8 1 | value | code | place of keys | n | key bytes | key width
 *     head of texts:    u8 1 | value | code | place of keys | n | offset bytes | key bytes
 *     keys of a chunk:  (texts: n x offset) n values; the first value stands in the head alone
 *   slices: head size | u8 1 | u8 n | bitmap bytes | index bytes | n x (offset, length)
 *           | bitmap of rows with a value | n bitmaps, which the offsets count from
 *
 * Numbers are be32; a head size leaves itself out. Codes are the places of values in order. Read:
 * the heads, one chunk a literal, and all slices once a literal is within the values.
 * Rule: org.apache.paimon.fileindex.rangebitmap.*; spec: indexes, 5.
 */
#include "base/bytes.h"
#include "index/file_index_payload.h"

/* A stretch of the payload. */
typedef struct span {
  size_t begin, end;
} span;

typedef struct range_state {
  uint32_t n_rows, n_values;
  tn_index_key least, greatest; /* when n_values > 0 and the type is known */

  uint32_t n_chunks;
  tn_slice offsets, heads; /* of the dictionary; NULL data: not fetched yet */
  span directory, keys;

  size_t slices_at;
  bool has_slices;
  tn_bit_slices slices;
} range_state;

static void range_drop(void *state) {
  range_state *s = state;
  tn_bit_slices_reset(&s->slices);
}

/* ------------------------------------------------------------------ heads */

/* A size word and that many bytes from an offset of the payload. */
static tarn_status open_head(tn_payload *p, size_t at, tn_cursor *out, tarn_error *err) {
  uint8_t version;
  uint32_t n;
  tn_cursor_init(out, p, at, p->length);
  TN_TRY(tn_cursor_u32(out, &n, err));
  if (n > p->length - out->at) {
    return tn_payload_corrupt(p, err, "a head of %lu bytes at %zu of %zu", (unsigned long)n, at,
                              p->length);
  }
  out->end = out->at + n;
  TN_TRY(tn_cursor_u8(out, &version, err));
  if (version != 1) {
    return tn_fail(err, TARN_E_UNSUPPORTED, "%s: version %u", p->where, version);
  }
  return TARN_OK;
}

static tarn_status take_dictionary_head(tn_payload *p, range_state *s, span dictionary,
                                        tarn_error *err) {
  uint32_t n_offsets, n_heads;
  size_t left;
  tn_cursor c;
  TN_TRY(open_head(p, dictionary.begin, &c, err));
  TN_TRY(tn_cursor_u32(&c, &s->n_chunks, err));
  TN_TRY(tn_cursor_u32(&c, &n_offsets, err));
  TN_TRY(tn_cursor_u32(&c, &n_heads, err));
  left = c.end <= dictionary.end ? dictionary.end - c.end : 0;
  if (n_offsets > left || n_heads > left - n_offsets || n_offsets / 4 != s->n_chunks ||
      n_offsets % 4 != 0 || (s->n_chunks == 0) != (s->n_values == 0)) {
    return tn_payload_corrupt(p, err,
                              "a dictionary of %lu chunks, %lu bytes of offsets and %lu of heads "
                              "in %zu bytes",
                              (unsigned long)s->n_chunks, (unsigned long)n_offsets,
                              (unsigned long)n_heads, left);
  }
  s->directory = (span){c.end, c.end + n_offsets + n_heads};
  s->keys = (span){s->directory.end, dictionary.end};
  return TARN_OK;
}

static tarn_status take_heads(tn_payload *p, range_state *s, tarn_error *err) {
  const uint8_t *length;
  size_t begin;
  tn_cursor c;
  TN_TRY(open_head(p, 0, &c, err));
  TN_TRY(tn_cursor_u32(&c, &s->n_rows, err));
  TN_TRY(tn_payload_check_rows(p, s->n_rows, err));
  TN_TRY(tn_cursor_u32(&c, &s->n_values, err));
  if (s->n_values > s->n_rows) {
    return tn_payload_corrupt(p, err, "%lu values in %lu rows", (unsigned long)s->n_values,
                              (unsigned long)s->n_rows);
  }
  if (p->type == NULL) { /* step over the values, whose sizes are not known */
    size_t left = c.end - c.at;
    TN_TRY(tn_cursor_take(&c, left > 4 ? left - 4 : 0, &length, err));
  } else if (s->n_values > 0) {
    TN_TRY(tn_cursor_key(&c, &s->least, err));
    TN_TRY(tn_cursor_key(&c, &s->greatest, err));
    if (tn_index_key_compare(&p->code, &s->least, &s->greatest) > 0) {
      return tn_payload_corrupt(p, err, "the least value is above the greatest");
    }
  }
  TN_TRY(tn_cursor_take(&c, 4, &length, err));
  begin = c.end;
  if (tn_load_be32(length) > p->length - begin) {
    return tn_payload_corrupt(p, err, "a dictionary of %lu bytes at %zu of %zu",
                              (unsigned long)tn_load_be32(length), begin, p->length);
  }
  s->slices_at = begin + tn_load_be32(length);
  return take_dictionary_head(p, s, (span){begin, s->slices_at}, err);
}

static tarn_status open_state(tn_payload *p, range_state **out, tarn_error *err) {
  if (p->state == NULL) {
    TN_TRY(tn_payload_calloc(p, 1, sizeof(range_state), &p->state, err));
    TN_TRY(take_heads(p, p->state, err));
  }
  *out = p->state;
  return TARN_OK;
}

/* ------------------------------------------------------------------ slices */

static tarn_status take_slices(tn_payload *p, tn_cursor *head, uint8_t n, uint32_t all_bytes,
                               tn_bit_slices *out, tarn_error *err) {
  size_t begin = head->end, base;
  uint32_t offset, length;
  tn_slice bytes;
  /* One read: the slices follow each other to the end of the payload. */
  TN_TRY(tn_payload_fetch(p, begin, p->length - begin, &bytes, err));
  if (all_bytes > bytes.len) {
    return tn_payload_corrupt(p, err, "a bitmap of %lu bytes in %zu", (unsigned long)all_bytes,
                              bytes.len);
  }
  TN_TRY(tn_payload_bitmap(p, tn_slice_of(bytes.data, all_bytes), &out->all, NULL, err));
  base = all_bytes;
  for (uint8_t i = 0; i < n; i++) {
    TN_TRY(tn_cursor_u32(head, &offset, err));
    TN_TRY(tn_cursor_u32(head, &length, err));
    if (offset > bytes.len - base || length > bytes.len - base - offset) {
      return tn_payload_corrupt(p, err, "slice %u: %lu bytes at %lu of %zu", i,
                                (unsigned long)length, (unsigned long)offset, bytes.len - base);
    }
    TN_TRY(tn_payload_bitmap(p, tn_slice_of(bytes.data + base + offset, length), &out->slices[i],
                             NULL, err));
    out->n_slices++;
  }
  return TARN_OK;
}

/* The head of the slices: how many, and the size of the bitmap in front of them. */
static tarn_status open_slices(tn_payload *p, const range_state *s, tn_cursor *head, uint8_t *n,
                               uint32_t *all_bytes, tarn_error *err) {
  uint32_t index_bytes;
  TN_TRY(open_head(p, s->slices_at, head, err));
  TN_TRY(tn_cursor_u8(head, n, err));
  TN_TRY(tn_cursor_u32(head, all_bytes, err));
  TN_TRY(tn_cursor_u32(head, &index_bytes, err));
  if (*n > TN_MAX_SLICES || index_bytes != 8u * *n ||
      (s->n_values > 0 && *n < 32 && (uint64_t)(s->n_values - 1) >> *n != 0)) {
    return tn_payload_corrupt(p, err, "%u slices, an index of %lu bytes for %lu values", *n,
                              (unsigned long)index_bytes, (unsigned long)s->n_values);
  }
  return TARN_OK;
}

static tarn_status load_slices(tn_payload *p, range_state *s, tarn_error *err) {
  uint32_t all_bytes;
  tn_cursor head;
  uint8_t n;
  if (s->has_slices || s->n_values == 0) {
    return TARN_OK;
  }
  TN_TRY(open_slices(p, s, &head, &n, &all_bytes, err));
  TN_TRY(take_slices(p, &head, n, all_bytes, &s->slices, err));
  s->has_slices = true;
  return TARN_OK;
}

/* ------------------------------------------------------------------ dictionary */

/* Values that follow each other: the first one has `code`, the n others the codes behind it. */
typedef struct chunk {
  tn_index_key first;
  uint32_t code;
  uint32_t n;
  span offsets; /* of texts; in the payload */
  span keys;    /* likewise */
} chunk;

static tarn_status load_directory(tn_payload *p, range_state *s, tarn_error *err) {
  tn_slice bytes;
  size_t n_offsets = (size_t)s->n_chunks * 4;
  if (s->heads.data != NULL) {
    return TARN_OK;
  }
  TN_TRY(
      tn_payload_fetch(p, s->directory.begin, s->directory.end - s->directory.begin, &bytes, err));
  s->offsets = tn_slice_of(bytes.data, n_offsets);
  s->heads = tn_slice_of(bytes.data + n_offsets, bytes.len - n_offsets);
  return TARN_OK;
}

static tarn_status take_chunk(tn_payload *p, const range_state *s, uint32_t i, chunk *out,
                              tarn_error *err) {
  bool is_text = p->code.form == TN_INDEX_TEXT;
  uint32_t at, place, first, second;
  size_t left = s->keys.end - s->keys.begin;
  uint8_t version;
  tn_cursor c;
  at = tn_load_be32(s->offsets.data + (size_t)i * 4);
  if (at > s->heads.len) {
    return tn_payload_corrupt(p, err, "chunk %lu at %lu of %zu", (unsigned long)i,
                              (unsigned long)at, s->heads.len);
  }
  tn_cursor_init(&c, p, s->directory.end - s->heads.len + at, s->directory.end);
  c.window = tn_slice_of(s->heads.data + at, s->heads.len - at);
  TN_TRY(tn_cursor_u8(&c, &version, err));
  if (version != 1) {
    return tn_fail(err, TARN_E_UNSUPPORTED, "%s: chunk of version %u", p->where, version);
  }
  TN_TRY(tn_cursor_key(&c, &out->first, err));
  TN_TRY(tn_cursor_u32(&c, &out->code, err));
  TN_TRY(tn_cursor_u32(&c, &place, err));
  TN_TRY(tn_cursor_u32(&c, &out->n, err));
  TN_TRY(tn_cursor_u32(&c, &first, err));
  TN_TRY(tn_cursor_u32(&c, &second, err));
  out->offsets = (span){s->keys.begin + place, s->keys.begin + place + (is_text ? first : 0)};
  out->keys = (span){out->offsets.end, out->offsets.end + (is_text ? second : first)};
  if (out->code >= s->n_values || out->n >= s->n_values - out->code || place > left ||
      out->keys.end > s->keys.end ||
      (is_text ? first / 4 != out->n || first % 4 != 0
               : first / p->code.width != out->n || second != p->code.width)) {
    return tn_payload_corrupt(p, err,
                              "chunk %lu: codes from %lu, %lu keys at %lu do not fit in %zu bytes",
                              (unsigned long)i, (unsigned long)out->code, (unsigned long)out->n,
                              (unsigned long)place, left);
  }
  return TARN_OK;
}

/* Key i of a chunk, behind its first one. */
static tarn_status take_key(tn_payload *p, const chunk *k, tn_slice bytes, uint32_t i,
                            tn_index_key *out, tarn_error *err) {
  size_t n_offsets = k->offsets.end - k->offsets.begin, n_keys = k->keys.end - k->keys.begin;
  size_t at = p->code.form == TN_INDEX_TEXT ? tn_load_be32(bytes.data + (size_t)i * 4)
                                            : (size_t)i * p->code.width;
  tn_cursor c;
  if (at > n_keys) {
    return tn_payload_corrupt(p, err, "key %lu at %zu of %zu", (unsigned long)i, at, n_keys);
  }
  tn_cursor_init(&c, p, k->keys.begin + at, k->keys.end);
  c.window = tn_slice_of(bytes.data + n_offsets + at, n_keys - at);
  return tn_cursor_key(&c, out, err);
}

/* How many keys of a chunk, without its first one, are below a key. */
static tarn_status count_below(tn_payload *p, const chunk *k, const tn_index_key *key,
                               uint32_t *out, bool *is_found, tarn_error *err) {
  uint32_t low = 0, high = k->n;
  tn_slice bytes;
  *is_found = false;
  TN_TRY(tn_payload_fetch(p, k->offsets.begin, k->keys.end - k->offsets.begin, &bytes, err));
  while (low < high) {
    uint32_t mid = low + (high - low) / 2;
    tn_index_key here;
    int order;
    TN_TRY(take_key(p, k, bytes, mid, &here, err));
    order = tn_index_key_compare(&p->code, &here, key);
    *is_found = *is_found || order == 0;
    if (order < 0) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  *out = low;
  return TARN_OK;
}

/* *code: how many values are below a key; *is_found: the next one is the key. */
static tarn_status find_code(tn_payload *p, range_state *s, const tn_index_key *key, uint32_t *code,
                             bool *is_found, tarn_error *err) {
  uint32_t low = 0, high, below;
  chunk here, found = {0};
  TN_TRY(load_directory(p, s, err));
  *code = 0;
  *is_found = false;
  high = s->n_chunks;
  while (low < high) { /* chunks before `low` start at or below the key; `found` is the last */
    uint32_t mid = low + (high - low) / 2;
    TN_TRY(take_chunk(p, s, mid, &here, err));
    if (tn_index_key_compare(&p->code, &here.first, key) <= 0) {
      found = here;
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  if (low == 0) {
    return TARN_OK;
  }
  *code = found.code;
  *is_found = tn_index_key_compare(&p->code, &found.first, key) == 0;
  if (*is_found) {
    return TARN_OK;
  }
  TN_TRY(count_below(p, &found, key, &below, is_found, err));
  *code += 1 + below;
  return TARN_OK;
}

/* ------------------------------------------------------------------ rows */

static tarn_status range_equal(tn_payload *p, const tn_index_key *key, roaring_bitmap_t **out,
                               tarn_error *err) {
  range_state *s = NULL;
  bool is_found;
  uint32_t code;
  TN_TRY(open_state(p, &s, err));
  if (s->n_values == 0 || tn_index_key_compare(&p->code, key, &s->least) < 0 ||
      tn_index_key_compare(&p->code, key, &s->greatest) > 0) {
    return tn_payload_no_rows(out, err);
  }
  TN_TRY(find_code(p, s, key, &code, &is_found, err));
  if (!is_found) {
    return tn_payload_no_rows(out, err);
  }
  TN_TRY(load_slices(p, s, err));
  return tn_bit_slices_equal(&s->slices, code, out, err);
}

static tarn_status range_below(tn_payload *p, const tn_index_key *key, bool or_equal,
                               roaring_bitmap_t **out, tarn_error *err) {
  range_state *s = NULL;
  bool is_found;
  uint32_t code;
  int order;
  TN_TRY(open_state(p, &s, err));
  if (s->n_values == 0) {
    return tn_payload_no_rows(out, err);
  }
  order = tn_index_key_compare(&p->code, key, &s->least);
  if (order < 0 || (order == 0 && !or_equal)) {
    return tn_payload_no_rows(out, err);
  }
  TN_TRY(load_slices(p, s, err));
  order = tn_index_key_compare(&p->code, key, &s->greatest);
  if (order > 0 || (order == 0 && or_equal)) {
    return tn_bit_slices_all(&s->slices, out, err);
  }
  TN_TRY(find_code(p, s, key, &code, &is_found, err));
  return tn_bit_slices_below(&s->slices, (uint64_t)code + (is_found && or_equal ? 1 : 0), out, err);
}

static tarn_status range_nulls(tn_payload *p, roaring_bitmap_t **out, tarn_error *err) {
  range_state *s = NULL;
  roaring_bitmap_t *rows;
  tarn_status st;
  TN_TRY(open_state(p, &s, err));
  TN_TRY(load_slices(p, s, err));
  TN_TRY(tn_bit_slices_all(&s->slices, &rows, err));
  st = tn_payload_flip(p, rows, err);
  if (st != TARN_OK) {
    roaring_bitmap_free(rows);
    return st;
  }
  *out = rows;
  return TARN_OK;
}

static const tn_value_rows_ops rows_ops = {range_equal, range_below, range_nulls, false};

#define MAX_DECIMAL_PRECISION 18

static tarn_status range_test(tn_payload *p, const tn_pred *leaf, tn_index_result *out,
                              tarn_error *err) {
  if (p->code.is_cut || tn_type_is_bytes(p->type) ||
      (p->type->root == TN_DECIMAL && p->type->precision > MAX_DECIMAL_PRECISION)) {
    return TARN_OK;
  }
  return tn_payload_test_leaf(&rows_ops, p, leaf, out, err);
}

static tarn_status range_describe(tn_payload *p, tn_buf *out, tarn_error *err) {
  uint32_t all_bytes;
  range_state *s = NULL;
  tn_cursor head;
  uint8_t n;
  TN_TRY(open_state(p, &s, err));
  TN_TRY(open_slices(p, s, &head, &n, &all_bytes, err));
  return tn_buf_printf(
      out, err, ",\"version\":1,\"rows\":%lu,\"distinct\":%lu,\"chunks\":%lu,\"slices\":%u",
      (unsigned long)s->n_rows, (unsigned long)s->n_values, (unsigned long)s->n_chunks, n);
}

const tn_payload_kind tn_range_bitmap_kind = {"range-bitmap", range_test, range_describe,
                                              range_drop};
