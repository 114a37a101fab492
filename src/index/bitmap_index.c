/* bitmap_index.c - the rows of each value of a column, as a bitmap a value.
 *
 *   v1  u8 1 | rows | values | u8 has null | [null offset] | values x (value, offset) | bitmaps
 *   v2  u8 2 | rows | values | u8 has null | [null offset, null length] |
 *       blocks | blocks x (first value, offset) | bytes of all blocks | blocks | bitmaps
 *       block: entries | entries x (value, offset, length), values ascending over all blocks
 *
 * Numbers are be32. Offsets of bitmaps count from the first one; a negative offset is a single row,
 * -1 - row, for which nothing is stored. v1 is read whole (its values have no order); of v2 the
 * head, one block and one bitmap a value. Rule: org.apache.paimon.fileindex.bitmap.BitmapFileIndex,
 * BitmapFileIndexMeta, BitmapFileIndexMetaV2; spec: indexes, 5.
 */
#include <stdlib.h>

#include "base/bytes.h"
#include "index/file_index_payload.h"

typedef struct entry {
  tn_index_key key; /* first: entries are sorted by it */
  int32_t offset;
  int32_t length; /* v1: -1, the bitmap tells it */
} entry;

typedef struct block {
  tn_index_key first;
  size_t begin, end; /* in the payload */
} block;

typedef struct bitmap_state {
  uint8_t version;
  uint32_t n_rows;
  uint32_t n_values;
  bool has_null;
  entry null;

  size_t body; /* in the payload: of the bitmaps */

  uint32_t n_blocks; /* v2 */
  block *blocks;
  uint32_t at_block; /* whose entries these are; n_blocks: none */

  uint32_t n_entries; /* ascending: all of v1, of one block of v2 */
  entry *entries;
} bitmap_state;

/* Is there room for n things of at least `least` bytes each? */
static bool holds(const tn_cursor *c, uint32_t n, size_t least) {
  return n <= (c->end - c->at) / least;
}

static size_t least_key_bytes(const tn_payload *p) {
  return p->code.form == TN_INDEX_TEXT ? 4 : p->code.width;
}

static tarn_status take_entries(tn_cursor *c, uint32_t n, bool has_lengths, bitmap_state *s,
                                tarn_error *err) {
  tn_payload *p = c->payload;
  uint32_t number;
  void *list;
  if (!holds(c, n, least_key_bytes(p) + (has_lengths ? 8 : 4))) {
    return tn_payload_corrupt(p, err, "%lu values in %zu bytes", (unsigned long)n, c->end - c->at);
  }
  s->n_entries = 0;
  TN_TRY(tn_payload_calloc(p, n, sizeof(entry), &list, err));
  s->entries = list;
  for (uint32_t i = 0; i < n; i++) {
    entry *e = &s->entries[i];
    TN_TRY(tn_cursor_key(c, &e->key, err));
    TN_TRY(tn_cursor_u32(c, &number, err));
    e->offset = (int32_t)number;
    e->length = -1;
    if (has_lengths) {
      TN_TRY(tn_cursor_u32(c, &number, err));
      e->length = (int32_t)number;
    }
  }
  s->n_entries = n;
  return TARN_OK;
}

/* ------------------------------------------------------------------ version 1 */

static int compare_ints(const void *a, const void *b) {
  static const tn_index_code CODE = {TN_INDEX_INT, 8, false};
  return tn_index_key_compare(&CODE, a, b);
}

static int compare_floats(const void *a, const void *b) {
  static const tn_index_code CODE = {TN_INDEX_FLOAT, 8, false};
  return tn_index_key_compare(&CODE, a, b);
}

static int compare_texts(const void *a, const void *b) {
  static const tn_index_code CODE = {TN_INDEX_TEXT, 0, false};
  return tn_index_key_compare(&CODE, a, b);
}

static tarn_status open_v1(tn_cursor *c, bitmap_state *s, tarn_error *err) {
  tn_index_form form = c->payload->code.form;
  TN_TRY(take_entries(c, s->n_values, false, s, err));
  s->body = c->at;
  if (s->n_entries > 1) {
    qsort(s->entries, s->n_entries, sizeof(*s->entries),
          form == TN_INDEX_TEXT    ? compare_texts
          : form == TN_INDEX_FLOAT ? compare_floats
                                   : compare_ints);
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ version 2 */

static tarn_status open_v2(tn_cursor *c, bitmap_state *s, tarn_error *err) {
  tn_payload *p = c->payload;
  uint32_t n, offset, total;
  void *list;
  TN_TRY(tn_cursor_u32(c, &n, err));
  if (!holds(c, n, least_key_bytes(p) + 4)) {
    return tn_payload_corrupt(p, err, "%lu blocks in %zu bytes", (unsigned long)n, c->end - c->at);
  }
  TN_TRY(tn_payload_calloc(p, n, sizeof(block), &list, err));
  s->blocks = list;
  for (uint32_t i = 0; i < n; i++) {
    block *b = &s->blocks[i];
    TN_TRY(tn_cursor_key(c, &b->first, err));
    TN_TRY(tn_cursor_u32(c, &offset, err));
    b->begin = offset;
    if ((i == 0 && offset != 0) || (i > 0 && offset <= b[-1].begin) ||
        (i > 0 && tn_index_key_compare(&p->code, &b[-1].first, &b->first) >= 0)) {
      return tn_payload_corrupt(p, err, "block %lu is out of order", (unsigned long)i);
    }
  }
  TN_TRY(tn_cursor_u32(c, &total, err));
  if (total > c->end - c->at || (n > 0 && s->blocks[n - 1].begin >= total)) {
    return tn_payload_corrupt(p, err, "%lu bytes of blocks in %zu bytes", (unsigned long)total,
                              c->end - c->at);
  }
  for (uint32_t i = 0; i < n; i++) {
    s->blocks[i].begin += c->at;
    s->blocks[i].end = i + 1 < n ? s->blocks[i + 1].begin + c->at : c->at + total;
  }
  s->n_blocks = n;
  s->at_block = n;
  s->body = c->at + total;
  return TARN_OK;
}

/* The entries of a block, which must be in order. */
static tarn_status load_block(tn_payload *p, bitmap_state *s, uint32_t i, tarn_error *err) {
  const block *b = &s->blocks[i];
  uint32_t n;
  tn_cursor c;
  if (s->at_block == i) {
    return TARN_OK;
  }
  s->at_block = s->n_blocks;
  tn_cursor_init(&c, p, b->begin, b->end);
  TN_TRY(tn_cursor_u32(&c, &n, err));
  TN_TRY(take_entries(&c, n, true, s, err));
  for (uint32_t k = 0; k < n; k++) {
    const tn_index_key *key = &s->entries[k].key;
    bool is_right = k == 0 ? tn_index_key_compare(&p->code, key, &b->first) == 0
                           : tn_index_key_compare(&p->code, &s->entries[k - 1].key, key) < 0;
    if (!is_right || (i + 1 < s->n_blocks &&
                      tn_index_key_compare(&p->code, key, &s->blocks[i + 1].first) >= 0)) {
      return tn_payload_corrupt(p, err, "value %lu of block %lu is out of order", (unsigned long)k,
                                (unsigned long)i);
    }
  }
  s->at_block = i;
  return TARN_OK;
}

/* The block that may hold a key; n_blocks: none. */
static uint32_t find_block(const tn_payload *p, const bitmap_state *s, const tn_index_key *key) {
  uint32_t low = 0, high = s->n_blocks; /* blocks before `low` start at or below the key */
  while (low < high) {
    uint32_t mid = low + (high - low) / 2;
    if (tn_index_key_compare(&p->code, &s->blocks[mid].first, key) <= 0) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  return low == 0 ? s->n_blocks : low - 1;
}

/* ------------------------------------------------------------------ head */

/* Everything up to the values. */
static tarn_status take_head(tn_cursor *c, bitmap_state *s, tarn_error *err) {
  tn_payload *p = c->payload;
  uint8_t has_null;
  uint32_t number;
  TN_TRY(tn_cursor_u8(c, &s->version, err));
  if (s->version != 1 && s->version != 2) {
    return tn_fail(err, TARN_E_UNSUPPORTED, "%s: version %u", p->where, s->version);
  }
  TN_TRY(tn_cursor_u32(c, &s->n_rows, err));
  TN_TRY(tn_payload_check_rows(p, s->n_rows, err));
  TN_TRY(tn_cursor_u32(c, &s->n_values, err));
  TN_TRY(tn_cursor_u8(c, &has_null, err));
  s->has_null = has_null != 0;
  s->null.length = -1;
  if (s->has_null) {
    TN_TRY(tn_cursor_u32(c, &number, err));
    s->null.offset = (int32_t)number;
    if (s->version == 2) {
      TN_TRY(tn_cursor_u32(c, &number, err));
      s->null.length = (int32_t)number;
    }
  }
  return TARN_OK;
}

static tarn_status open_state(tn_payload *p, bitmap_state **out, tarn_error *err) {
  bitmap_state *s = p->state;
  void *state;
  tn_cursor c;
  if (s == NULL) {
    TN_TRY(tn_payload_calloc(p, 1, sizeof(*s), &state, err));
    s = state;
    tn_cursor_init(&c, p, 0, p->length);
    TN_TRY(take_head(&c, s, err));
    TN_TRY(s->version == 1 ? open_v1(&c, s, err) : open_v2(&c, s, err));
    p->state = s;
  }
  *out = s;
  return TARN_OK;
}

/* ------------------------------------------------------------------ rows */

static tarn_status rows_of_entry(tn_payload *p, const bitmap_state *s, const entry *e,
                                 roaring_bitmap_t **out, tarn_error *err) {
  size_t at, used, n;
  tn_slice bytes;
  if (e->offset < 0) {
    return tn_payload_single(p, -1 - (int64_t)e->offset, out, err);
  }
  at = s->body + (size_t)e->offset;
  if (at >= p->length) {
    return tn_payload_corrupt(p, err, "a bitmap at %zu of %zu bytes", at, p->length);
  }
  n = e->length < 0 ? p->length - at : (size_t)e->length;
  TN_TRY(tn_payload_fetch(p, at, n, &bytes, err));
  return tn_payload_bitmap(p, bytes, out, e->length < 0 ? &used : NULL, err);
}

static tarn_status bitmap_equal(tn_payload *p, const tn_index_key *key, roaring_bitmap_t **out,
                                tarn_error *err) {
  bitmap_state *s = NULL;
  uint32_t low = 0, high;
  TN_TRY(open_state(p, &s, err));
  if (s->version == 2) {
    uint32_t i = find_block(p, s, key);
    if (i < s->n_blocks) {
      TN_TRY(load_block(p, s, i, err));
    } else {
      s->n_entries = 0;
      s->at_block = s->n_blocks;
    }
  }
  high = s->n_entries;
  while (low < high) {
    uint32_t mid = low + (high - low) / 2;
    int order = tn_index_key_compare(&p->code, &s->entries[mid].key, key);
    if (order == 0) {
      return rows_of_entry(p, s, &s->entries[mid], out, err);
    }
    if (order < 0) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  return tn_payload_no_rows(out, err);
}

static tarn_status bitmap_nulls(tn_payload *p, roaring_bitmap_t **out, tarn_error *err) {
  bitmap_state *s = NULL;
  TN_TRY(open_state(p, &s, err));
  if (s->has_null) {
    return rows_of_entry(p, s, &s->null, out, err);
  }
  return tn_payload_no_rows(out, err);
}

static const tn_value_rows_ops rows_ops = {bitmap_equal, NULL, bitmap_nulls, true};

static tarn_status bitmap_test(tn_payload *p, const tn_pred *leaf, tn_index_result *out,
                               tarn_error *err) {
  if (tn_type_is_bytes(p->type) || p->type->root == TN_DECIMAL) {
    return TARN_OK;
  }
  return tn_payload_test_leaf(&rows_ops, p, leaf, out, err);
}

static tarn_status bitmap_describe(tn_payload *p, tn_buf *out, tarn_error *err) {
  bitmap_state s = {0};
  uint32_t n_blocks;
  tn_cursor c;
  tn_cursor_init(&c, p, 0, p->length);
  TN_TRY(take_head(&c, &s, err));
  TN_TRY(tn_buf_printf(out, err, ",\"version\":%u,\"rows\":%lu,\"distinct\":%lu,\"has_nulls\":%s",
                       s.version, (unsigned long)s.n_rows, (unsigned long)s.n_values,
                       s.has_null ? "true" : "false"));
  if (s.version == 2) {
    TN_TRY(tn_cursor_u32(&c, &n_blocks, err));
    return tn_buf_printf(out, err, ",\"blocks\":%lu", (unsigned long)n_blocks);
  }
  return TARN_OK;
}

const tn_payload_kind tn_bitmap_index_kind = {"bitmap", bitmap_test, bitmap_describe, NULL};
