/* bsi_index.c - a number column as bit slices.
 *
 *   u8 1 | rows | u8 has values >= 0 | [group] | u8 has values < 0 | [group of their magnitudes]
 *   group: u8 1 | be64 min | be64 max | bitmap of rows | n | n x bitmap, digit i of value - min
 *
 * Numbers are be32 where nothing else is said. Read whole.
 * Rule: org.apache.paimon.fileindex.bsi.BitSliceIndexBitmapFileIndex,
 * utils.BitSliceIndexRoaringBitmap; spec: indexes, 5.
 */
#include "base/bytes.h"
#include "index/file_index_payload.h"

/* Rows of one sign: their magnitude is min + number. */
typedef struct group {
  bool is_there;
  uint64_t min, max;
  tn_bit_slices slices;
} group;

typedef struct bsi_state {
  uint32_t n_rows;
  group positive, negative;
} bsi_state;

/* ------------------------------------------------------------------ decode */

static void bsi_drop(void *state) {
  bsi_state *s = state;
  tn_bit_slices_reset(&s->positive.slices);
  tn_bit_slices_reset(&s->negative.slices);
}

static tarn_status take_u64(tn_cursor *c, uint64_t *out, tarn_error *err) {
  const uint8_t *p;
  TN_TRY(tn_cursor_take(c, 8, &p, err));
  *out = tn_load_be64(p);
  return TARN_OK;
}

/* The cursor's window is the whole payload, so that bitmaps, which tell their own size, are in it.
 */
static tarn_status take_bitmap(tn_cursor *c, roaring_bitmap_t **out, tarn_error *err) {
  size_t used;
  const uint8_t *p;
  TN_TRY(tn_payload_bitmap(c->payload, c->window, out, &used, err));
  return tn_cursor_take(c, used, &p, err);
}

static tarn_status take_group(tn_cursor *c, group *g, tarn_error *err) {
  tn_payload *p = c->payload;
  uint8_t is_there, version;
  uint32_t n;
  int width;
  TN_TRY(tn_cursor_u8(c, &is_there, err));
  if (is_there == 0) {
    return TARN_OK;
  }
  TN_TRY(tn_cursor_u8(c, &version, err));
  if (version != 1) {
    return tn_fail(err, TARN_E_UNSUPPORTED, "%s: slices of version %u", p->where, version);
  }
  TN_TRY(take_u64(c, &g->min, err));
  TN_TRY(take_u64(c, &g->max, err));
  if (g->min > g->max || g->max > INT64_MAX) {
    return tn_payload_corrupt(p, err, "magnitudes from %llu to %llu", (unsigned long long)g->min,
                              (unsigned long long)g->max);
  }
  TN_TRY(take_bitmap(c, &g->slices.all, err));
  TN_TRY(tn_cursor_u32(c, &n, err));
  width = g->max == g->min ? 0 : 64 - __builtin_clzll(g->max - g->min);
  if (n != (uint32_t)width) {
    return tn_payload_corrupt(p, err, "%lu slices for magnitudes from %llu to %llu",
                              (unsigned long)n, (unsigned long long)g->min,
                              (unsigned long long)g->max);
  }
  for (uint32_t i = 0; i < n; i++) {
    TN_TRY(take_bitmap(c, &g->slices.slices[i], err));
    g->slices.n_slices++;
  }
  g->is_there = true;
  return TARN_OK;
}

static tarn_status take_all(tn_payload *p, bsi_state *s, tarn_error *err) {
  uint8_t version;
  tn_cursor c;
  tn_cursor_init(&c, p, 0, p->length);
  TN_TRY(tn_payload_fetch(p, 0, p->length, &c.window, err));
  TN_TRY(tn_cursor_u8(&c, &version, err));
  if (version != 1) {
    return tn_fail(err, TARN_E_UNSUPPORTED, "%s: version %u", p->where, version);
  }
  TN_TRY(tn_cursor_u32(&c, &s->n_rows, err));
  TN_TRY(tn_payload_check_rows(p, s->n_rows, err));
  TN_TRY(take_group(&c, &s->positive, err));
  return take_group(&c, &s->negative, err);
}

/* What was taken before a failure is dropped with the state, too. */
static tarn_status open_state(tn_payload *p, bsi_state **out, tarn_error *err) {
  if (p->state == NULL) {
    TN_TRY(tn_payload_calloc(p, 1, sizeof(bsi_state), &p->state, err));
    TN_TRY(take_all(p, p->state, err));
  }
  *out = p->state;
  return TARN_OK;
}

/* ------------------------------------------------------------------ rows */

/* Rows of a group with a magnitude below the bound. */
static tarn_status group_below(const group *g, uint64_t bound, roaring_bitmap_t **out,
                               tarn_error *err) {
  return tn_bit_slices_below(&g->slices, bound > g->min ? bound - g->min : 0, out, err);
}

static tarn_status group_equal(const group *g, uint64_t magnitude, roaring_bitmap_t **out,
                               tarn_error *err) {
  if (g->is_there && magnitude >= g->min) {
    return tn_bit_slices_equal(&g->slices, magnitude - g->min, out, err);
  }
  return tn_payload_no_rows(out, err);
}

static uint64_t magnitude_of(int64_t value) {
  return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

static tarn_status bsi_equal(tn_payload *p, const tn_index_key *key, roaring_bitmap_t **out,
                             tarn_error *err) {
  bsi_state *s = NULL;
  TN_TRY(open_state(p, &s, err));
  if (key->side != 0) {
    return tn_payload_no_rows(out, err);
  }
  return group_equal(key->v.i < 0 ? &s->negative : &s->positive, magnitude_of(key->v.i), out, err);
}

static void add_all(const group *g, roaring_bitmap_t *rows) {
  if (g->is_there) {
    roaring_bitmap_or_inplace(rows, g->slices.all);
  }
}

/* Values below a key of at least 0: all negative ones, and positive ones below it. Below a negative
 * one: negative ones with a larger magnitude. */
static tarn_status bsi_below(tn_payload *p, const tn_index_key *key, bool or_equal,
                             roaring_bitmap_t **out, tarn_error *err) {
  uint64_t magnitude = magnitude_of(key->v.i);
  roaring_bitmap_t *smaller;
  bsi_state *s = NULL;
  tarn_status st;
  TN_TRY(open_state(p, &s, err));
  if (key->side > 0 || (key->side == 0 && key->v.i >= 0)) {
    uint64_t bound = key->side > 0 ? (uint64_t)1 << 63 : magnitude + (or_equal ? 1 : 0);
    TN_TRY(group_below(&s->positive, bound, out, err));
    add_all(&s->negative, *out);
    return TARN_OK;
  }
  if (key->side < 0) {
    return tn_payload_no_rows(out, err);
  }
  TN_TRY(tn_bit_slices_all(&s->negative.slices, out, err));
  st = group_below(&s->negative, magnitude + (or_equal ? 0 : 1), &smaller, err);
  if (st != TARN_OK) {
    roaring_bitmap_free(*out);
    return st;
  }
  roaring_bitmap_andnot_inplace(*out, smaller);
  roaring_bitmap_free(smaller);
  return TARN_OK;
}

static tarn_status bsi_nulls(tn_payload *p, roaring_bitmap_t **out, tarn_error *err) {
  bsi_state *s = NULL;
  roaring_bitmap_t *rows;
  tarn_status st;
  TN_TRY(open_state(p, &s, err));
  TN_TRY(tn_bit_slices_all(&s->positive.slices, &rows, err));
  add_all(&s->negative, rows);
  st = tn_payload_flip(p, rows, err);
  if (st != TARN_OK) {
    roaring_bitmap_free(rows);
    return st;
  }
  *out = rows;
  return TARN_OK;
}

static const tn_value_rows_ops rows_ops = {bsi_equal, bsi_below, bsi_nulls, false};

static tarn_status bsi_test(tn_payload *p, const tn_pred *leaf, tn_index_result *out,
                            tarn_error *err) {
  if (p->code.form != TN_INDEX_INT || p->type->root == TN_BOOLEAN) {
    return TARN_OK;
  }
  return tn_payload_test_leaf(&rows_ops, p, leaf, out, err);
}

/* ------------------------------------------------------------------ describe */

static tarn_status describe_group(const group *g, const char *name, tn_buf *out, tarn_error *err) {
  if (!g->is_there) {
    return TARN_OK;
  }
  return tn_buf_printf(out, err, ",\"%s\":{\"rows\":%llu,\"min\":%llu,\"max\":%llu,\"slices\":%d}",
                       name, (unsigned long long)roaring_bitmap_get_cardinality(g->slices.all),
                       (unsigned long long)g->min, (unsigned long long)g->max,
                       (int)g->slices.n_slices);
}

static tarn_status bsi_describe(tn_payload *p, tn_buf *out, tarn_error *err) {
  bsi_state *s = NULL;
  TN_TRY(open_state(p, &s, err));
  TN_TRY(tn_buf_printf(out, err, ",\"version\":1,\"rows\":%lu", (unsigned long)s->n_rows));
  TN_TRY(describe_group(&s->positive, "positive", out, err));
  return describe_group(&s->negative, "negative", out, err);
}

const tn_payload_kind tn_bsi_index_kind = {"bsi", bsi_test, bsi_describe, bsi_drop};
