/* write_page.c - plain values, and pages closed: levels and values put together, compressed, noted
 * for the indexes.
 */
#include "base/bytes.h"
#include "base/checked.h"
#include "codec/hash.h"
#include "format/parquet/write_leaf.h"
#include "format/parquet/write_rle.h"
#include "format/parquet/write_thrift.h"

#define CUT_BYTES 64 /* of bounds in a column index: parquet.columnindex.truncate.length */
/* Bounds of a chunk that are longer together are left out (Java: ParquetProperties, 4096). */
#define MAX_BOUND_BYTES 4096

/* ------------------------------------------------------------------ plain values */

/* The first 8 bytes, comparable as a number; len > 0. Up to 8 bytes past the end are read. */
static uint64_t head_of(const uint8_t *bytes, int64_t len) {
  uint64_t head = tn_load_be64(bytes);
  return len >= 8 ? head : head & ~(UINT64_MAX >> (8 * len));
}

static bool is_less(const uint8_t *a, int64_t a_len, const uint8_t *b, int64_t b_len) {
  return tn_slice_compare(tn_slice_of(a, (size_t)a_len), tn_slice_of(b, (size_t)b_len)) < 0;
}

/* Short values by wide stores, which may write 16 bytes past the end and read as far. */
static void copy_value(uint8_t *to, const tn_view *value) {
  if (TN_LIKELY(value->len <= 32)) {
    memcpy(to, value->data, 16);
    memcpy(to + 16, value->data + 16, 16);
  } else {
    memcpy(to, value->data, (size_t)value->len);
  }
}

static void note_new_bounds(tn_pq_leaf_writer *leaf, uint64_t head, const tn_view *value,
                            size_t at) {
  const uint8_t *values = leaf->values.data;
  if (head < leaf->min_head ||
      (head == leaf->min_head &&
       is_less(value->data, value->len, values + leaf->min_at, leaf->min_len))) {
    leaf->min_head = head;
    leaf->min_at = at;
    leaf->min_len = (uint32_t)value->len;
  }
  if (head > leaf->max_head ||
      (head == leaf->max_head &&
       is_less(values + leaf->max_at, leaf->max_len, value->data, value->len))) {
    leaf->max_head = head;
    leaf->max_at = at;
    leaf->max_len = (uint32_t)value->len;
  }
}

/* Values of a BYTE_ARRAY column: each behind its length. */
static tarn_status put_plain_bytes(tn_pq_leaf_writer *leaf, const tn_view *values, int64_t n,
                                   tarn_error *err) {
  size_t n_bytes = 0, at;
  for (int64_t i = 0; i < n; i++) {
    n_bytes += 4 + (size_t)values[i].len;
  }
  TN_TRY(tn_pq_bytes_reserve(&leaf->values, n_bytes, err));
  at = leaf->values.len;
  for (int64_t i = 0; i < n; i++) {
    uint8_t *out = leaf->values.data + at;
    uint64_t head = 0;
    tn_store_le32(out, (uint32_t)values[i].len);
    if (TN_LIKELY(values[i].len > 0)) {
      head = head_of(values[i].data, values[i].len);
      copy_value(out + 4, &values[i]);
    }
    if (TN_UNLIKELY(leaf->n_values == 0 && i == 0)) {
      leaf->min_head = leaf->max_head = head;
      leaf->min_at = leaf->max_at = at + 4;
      leaf->min_len = leaf->max_len = (uint32_t)values[i].len;
    } else if (head <= leaf->min_head || head >= leaf->max_head) {
      note_new_bounds(leaf, head, &values[i], at + 4);
    }
    at += 4 + (size_t)values[i].len;
  }
  leaf->values.len = at;
  return TARN_OK;
}

/* Is the value at `at` beyond the bound at `bound`? direction 1: greater, -1: less. */
static bool is_beyond(const tn_pq_leaf_writer *leaf, size_t at, size_t bound, int direction) {
  size_t width = (size_t)leaf->node->width;
  return direction * tn_pq_bounds_compare(TN_PQ_BOUND_FIXED,
                                          tn_slice_of(leaf->values.data + at, width),
                                          tn_slice_of(leaf->values.data + bound, width)) >
         0;
}

/* Bounds of decimals among the n values from `at` on. They are wider than 8 bytes, of which the
 * first ones decide nearly always. */
static void add_fixed_bounds(tn_pq_leaf_writer *leaf, size_t at, int64_t n, bool is_first) {
  size_t width = (size_t)leaf->node->width;
  for (int64_t i = 0; i < n; i++, at += width) {
    /* The sign's bit turned over, heads compare as unsigned numbers. */
    uint64_t head = tn_load_be64(leaf->values.data + at) ^ ((uint64_t)1 << 63);
    if (is_first && i == 0) {
      leaf->min_at = leaf->max_at = at;
      leaf->min_head = leaf->max_head = head;
      leaf->min_len = leaf->max_len = (uint32_t)width;
    }
    if (head <= leaf->min_head && is_beyond(leaf, at, leaf->min_at, -1)) {
      leaf->min_at = at;
      leaf->min_head = head;
    }
    if (head >= leaf->max_head && is_beyond(leaf, at, leaf->max_at, 1)) {
      leaf->max_at = at;
      leaf->max_head = head;
    }
  }
}

/* Decimals and INT96 by their bytes, of which there are 9 to 16: by stores of 16. */
static tarn_status put_plain_fixed(tn_pq_leaf_writer *leaf, const tn_view *values, int64_t n,
                                   tarn_error *err) {
  size_t width = (size_t)leaf->node->width, begin = leaf->values.len;
  uint8_t *out;
  TN_TRY(tn_pq_bytes_reserve(&leaf->values, (size_t)n * width, err));
  out = leaf->values.data + begin;
  for (int64_t i = 0; i < n; i++) {
    memcpy(out, values[i].data, 16);
    out += width;
  }
  leaf->values.len += (size_t)n * width;
  if (leaf->node->bound == TN_PQ_BOUND_FIXED) {
    add_fixed_bounds(leaf, begin, n, leaf->n_values == 0);
  }
  return TARN_OK;
}

static tarn_status put_plain_booleans(tn_pq_leaf_writer *leaf, const uint8_t *values, int64_t n,
                                      tarn_error *err) {
  int64_t at = leaf->n_values;
  size_t n_bytes = TN_BITMAP_BYTES(at + n);
  TN_TRY(tn_pq_bytes_reserve(&leaf->values, n_bytes - leaf->values.len, err));
  memset(leaf->values.data + leaf->values.len, 0, n_bytes - leaf->values.len);
  leaf->values.len = n_bytes;
  for (int64_t i = 0; i < n; i++, at++) {
    leaf->values.data[at / 8] |= (uint8_t)(values[i] << (at % 8));
  }
  tn_pq_bounds_add_key(&leaf->bounds, memchr(values, 0, (size_t)n) == NULL);
  tn_pq_bounds_add_key(&leaf->bounds, memchr(values, 1, (size_t)n) != NULL);
  return TARN_OK;
}

tarn_status tn_pq_leaf_writer_put_plain(tn_pq_leaf_writer *leaf, const void *values, int64_t n,
                                        tarn_error *err) {
  switch (leaf->node->physical) {
    case TN_PQ_BOOLEAN:
      TN_TRY(put_plain_booleans(leaf, values, n, err));
      break;
    case TN_PQ_INT32:
    case TN_PQ_FLOAT:
      TN_TRY(tn_pq_bytes_append(&leaf->values, values, (size_t)n * 4, err));
      tn_pq_bounds_add_32(&leaf->bounds, leaf->node->bound, values, n);
      break;
    case TN_PQ_INT64:
    case TN_PQ_DOUBLE:
      TN_TRY(tn_pq_bytes_append(&leaf->values, values, (size_t)n * 8, err));
      tn_pq_bounds_add_64(&leaf->bounds, leaf->node->bound, values, n);
      break;
    case TN_PQ_BYTE_ARRAY:
      TN_TRY(put_plain_bytes(leaf, values, n, err));
      break;
    default:
      TN_TRY(put_plain_fixed(leaf, values, n, err));
      break;
  }
  leaf->n_values += n;
  return TARN_OK;
}

/* ------------------------------------------------------------------ without the dictionary */

#define GIVE_UP_STEP 512

/* Values of codes in the form of tn_pq_values_make. */
static const void *values_of_codes(const tn_pq_leaf_writer *leaf, const uint32_t *codes, int64_t n,
                                   tn_view *out) {
  const tn_pq_dictionary *d = &leaf->dictionary;
  for (int64_t i = 0; i < n; i++) {
    tn_slice value = tn_pq_dictionary_get(d, codes[i]);
    if (d->kind == TN_PQ_DICTIONARY_32) {
      memcpy((uint8_t *)out + 4 * i, value.data, 4);
    } else if (d->kind == TN_PQ_DICTIONARY_64) {
      memcpy((uint8_t *)out + 8 * i, value.data, 8);
    } else {
      out[i] = (tn_view){value.data, (int64_t)value.len};
    }
  }
  return out;
}

tarn_status tn_pq_leaf_writer_give_up_codes(tn_pq_leaf_writer *leaf, tarn_error *err) {
  tn_pq_bytes codes = leaf->values;
  tn_view views[GIVE_UP_STEP];
  int64_t n = leaf->n_values;
  tarn_status st = TARN_OK;
  leaf->values = (tn_pq_bytes){.env = codes.env, .head = codes.head};
  leaf->has_codes = false;
  leaf->n_values = 0;
  for (int64_t i = 0; i < n && st == TARN_OK; i += GIVE_UP_STEP) {
    int64_t step = n - i < GIVE_UP_STEP ? n - i : GIVE_UP_STEP;
    const uint32_t *from = (const uint32_t *)(const void *)codes.data + i;
    st = tn_pq_leaf_writer_put_plain(leaf, values_of_codes(leaf, from, step, views), step, err);
  }
  tn_pq_bytes_reset(&codes);
  tn_pq_bytes_reset(&leaf->memo);
  if (leaf->n_code_pages == 0) {
    tn_pq_dictionary_reset(&leaf->dictionary);
  }
  return st;
}

/* Is the open page one of codes? One of nulls only, before there is any value, is not: a dictionary
 * is never empty. */
static bool uses_codes(const tn_pq_leaf_writer *leaf) {
  return leaf->has_codes && leaf->dictionary.n > 0;
}

static uint32_t code_width(const tn_pq_leaf_writer *leaf) {
  return leaf->dictionary.n > 1 ? 32 - (uint32_t)__builtin_clz(leaf->dictionary.n - 1) : 1;
}

/* Bytes that the open page's codes stand for. */
static int64_t bytes_of_codes(const tn_pq_leaf_writer *leaf) {
  const tn_pq_dictionary *d = &leaf->dictionary;
  const uint32_t *codes = (const void *)leaf->values.data;
  int64_t sum = 0;
  if (d->kind != TN_PQ_DICTIONARY_BYTES) {
    return leaf->n_values * d->width;
  }
  for (int64_t i = 0; i < leaf->n_values; i++) {
    sum += 4 + (int64_t)tn_pq_dictionary_get(d, codes[i]).len;
  }
  return sum;
}

/* ------------------------------------------------------------------ bodies */

static uint8_t *put_levels(const uint8_t *levels, int64_t n, uint8_t max, uint8_t *out) {
  uint8_t *end =
      tn_pq_rle_put_bytes(levels, n, 32 - (uint32_t)__builtin_clz((uint32_t)max), out + 4);
  tn_store_le32(out, (uint32_t)(end - out - 4));
  return end;
}

static uint8_t *put_bitmap(const tn_pq_leaf_writer *leaf, uint8_t *out) {
  uint8_t *end = leaf->has_bits ? tn_pq_rle_put_bits(leaf->defs.data, leaf->n_entries, out + 4)
                                : tn_pq_rle_put_run(1, leaf->n_entries, 1, out + 4);
  tn_store_le32(out, (uint32_t)(end - out - 4));
  return end;
}

/* Is it a column of its own, with a bitmap for levels? */
static bool is_flat(const tn_pq_write_node *node) {
  return node->n_names == 1;
}

/* The page's levels and codes, or levels and plain values. */
static tarn_status make_body(tn_pq_leaf_writer *leaf, tn_pq_bytes *body, tarn_error *err) {
  const tn_pq_write_node *node = leaf->node;
  uint32_t width = code_width(leaf);
  size_t values_bytes =
      leaf->has_codes ? 1 + tn_pq_rle_bound(leaf->n_values, width) : leaf->values.len;
  size_t level_bytes = 2 * (4 + tn_pq_rle_bound(leaf->n_entries, 8));
  uint8_t *out;
  body->len = 0;
  TN_TRY(tn_pq_bytes_reserve(body, values_bytes + level_bytes, err));
  out = body->data;
  if (node->max_rep > 0) {
    out = put_levels(leaf->reps.data, leaf->n_entries, node->max_rep, out);
  }
  if (is_flat(node) && node->max_def > 0) {
    out = put_bitmap(leaf, out);
  } else if (node->max_def > 0) {
    out = put_levels(leaf->defs.data, leaf->n_entries, node->max_def, out);
  }
  if (uses_codes(leaf)) {
    *out++ = (uint8_t)width;
  }
  if (uses_codes(leaf) && leaf->n_values > 0) {
    out = tn_pq_rle_put((const void *)leaf->values.data, leaf->n_values, width, out);
  } else if (!leaf->has_codes && leaf->values.len > 0) {
    memcpy(out, leaf->values.data, leaf->values.len);
    out += leaf->values.len;
  }
  body->len = (size_t)(out - body->data);
  return TARN_OK;
}

/* The same without a copy: plain values that have no levels, or short ones, which then go in front
 * of them. false: it takes a copy. */
static bool make_body_in_place(tn_pq_leaf_writer *leaf, tn_slice *body) {
  uint8_t levels[TN_PQ_VALUES_HEAD];
  size_t n = 0;
  if (leaf->has_codes || leaf->has_bits || leaf->values.len == 0 ||
      (leaf->node->max_def > 0 && !is_flat(leaf->node)) || leaf->node->max_rep > 0) {
    return false;
  }
  if (leaf->node->max_def > 0) {
    n = (size_t)(put_bitmap(leaf, levels) - levels);
    memcpy(leaf->values.data - n, levels, n);
  }
  *body = tn_slice_of(leaf->values.data - n, n + leaf->values.len);
  return true;
}

/* The body compressed; *out is one of the scratch buffers, or the body itself. */
static tarn_status compress_body(const tn_pq_write_settings *s, tn_slice body, tn_pq_bytes *packed,
                                 tn_slice *out, tarn_error *err) {
  tn_codec_context *context;
  size_t bound, written = 0;
  tarn_status st;
  *out = body;
  if (s->codec == TN_CODEC_NONE) {
    return TARN_OK;
  }
  bound = tn_compress_bound(s->codec, body.len);
  packed->len = 0;
  TN_TRY(tn_pq_bytes_reserve(packed, bound, err));
  TN_TRY(tn_codec_context_take(s->env, &context, err));
  st = tn_compress(context, s->codec, s->level, body, packed->data, bound, &written, err);
  tn_codec_context_give(context);
  *out = tn_slice_of(packed->data, written);
  return st;
}

typedef struct page_kind {
  tn_pq_page_type type;
  int64_t n_values; /* nulls included */
  tn_pq_encoding encoding;
} page_kind;

static tarn_status make_header(const page_kind *kind, size_t plain_bytes, tn_slice packed,
                               tn_pq_bytes *header, tarn_error *err) {
  tn_thrift_out t;
  header->len = 0;
  if (plain_bytes > INT32_MAX || packed.len > INT32_MAX - 1024) {
    return tn_fail(err, TARN_E_LIMIT, "a page of %zu bytes: 2 GiB are the most", plain_bytes);
  }
  tn_thrift_out_begin(&t, header);
  tn_thrift_put_int(&t, 1, TN_THRIFT_I32, kind->type);
  tn_thrift_put_int(&t, 2, TN_THRIFT_I32, (int64_t)plain_bytes);
  tn_thrift_put_int(&t, 3, TN_THRIFT_I32, (int64_t)packed.len);
  tn_thrift_put_int(&t, 4, TN_THRIFT_I32, (int32_t)tn_crc32(0, packed.data, packed.len));
  tn_thrift_put_struct(&t, kind->type == TN_PQ_DATA_PAGE ? 5 : 7);
  tn_thrift_put_int(&t, 1, TN_THRIFT_I32, kind->n_values);
  tn_thrift_put_int(&t, 2, TN_THRIFT_I32, kind->encoding);
  if (kind->type == TN_PQ_DATA_PAGE) {
    tn_thrift_put_int(&t, 3, TN_THRIFT_I32, TN_PQ_RLE);
    tn_thrift_put_int(&t, 4, TN_THRIFT_I32, TN_PQ_RLE);
  }
  tn_thrift_put_end(&t);
  return tn_thrift_out_end(&t, err);
}

/* ------------------------------------------------------------------ bounds of a page */

/* Bounds of the seen ones among a dictionary's byte strings; the first 8 bytes decide mostly. */
static void seen_bytes_bounds(const tn_pq_dictionary *d, const uint8_t *seen,
                              tn_pq_write_bounds *b) {
  uint64_t min_head = 0, max_head = 0;
  for (uint32_t i = 0; i < d->n; i++) {
    tn_slice value;
    uint64_t head;
    if (seen[i] == 0) {
      continue;
    }
    value = tn_pq_dictionary_get(d, i);
    head = value.len > 0 ? head_of(value.data, (int64_t)value.len) : 0;
    if (!b->is_set || head <= min_head || head >= max_head) {
      min_head = !b->is_set || head < min_head ? head : min_head;
      max_head = !b->is_set || head > max_head ? head : max_head;
      tn_pq_bounds_add_bytes(b, TN_PQ_BOUND_BYTES, value);
    }
  }
}

static void seen_bounds(const tn_pq_dictionary *d, tn_pq_bound_kind kind, const uint8_t *seen,
                        tn_pq_write_bounds *b) {
  for (uint32_t i = 0; i < d->n; i++) {
    if (seen[i] == 0) {
      continue;
    }
    if (kind == TN_PQ_BOUND_FIXED) {
      tn_pq_bounds_add_bytes(b, kind, tn_pq_dictionary_get(d, i));
    } else {
      tn_pq_bounds_add_key(b, tn_pq_bounds_key(kind, tn_pq_dictionary_get(d, i).data));
    }
  }
}

/* Bounds of a page of codes: of the values that occur, each looked at once. */
static tarn_status code_bounds(tn_pq_leaf_writer *leaf, tn_pq_bytes *seen, tn_pq_write_bounds *b,
                               tarn_error *err) {
  const tn_pq_dictionary *d = &leaf->dictionary;
  const uint32_t *codes = (const void *)leaf->values.data;
  seen->len = 0;
  TN_TRY(tn_pq_bytes_reserve(seen, d->n, err));
  memset(seen->data, 0, d->n);
  for (int64_t i = 0; i < leaf->n_values; i++) {
    seen->data[codes[i]] = 1;
  }
  if (leaf->node->bound == TN_PQ_BOUND_BYTES) {
    seen_bytes_bounds(d, seen->data, b);
  } else {
    seen_bounds(d, leaf->node->bound, seen->data, b);
  }
  return TARN_OK;
}

static tarn_status page_bounds(tn_pq_leaf_writer *leaf, tn_pq_scratch *scratch,
                               tn_pq_write_bounds *b, tarn_error *err) {
  const tn_pq_bound_kind kind = leaf->node->bound;
  memset(b, 0, sizeof(*b));
  if (leaf->n_values == 0 || kind == TN_PQ_BOUND_NONE) {
    return TARN_OK;
  }
  if (leaf->has_codes) {
    return code_bounds(leaf, &scratch->seen, b, err);
  }
  if (kind != TN_PQ_BOUND_FIXED && kind != TN_PQ_BOUND_BYTES) {
    *b = leaf->bounds;
    return TARN_OK;
  }
  b->is_set = true;
  b->min_bytes = tn_slice_of(leaf->values.data + leaf->min_at, leaf->min_len);
  b->max_bytes = tn_slice_of(leaf->values.data + leaf->max_at, leaf->max_len);
  return TARN_OK;
}

/* Note a page for the indexes; bounds of bytes are cut. */
static tarn_status note_page(tn_pq_leaf_writer *leaf, const tn_pq_write_bounds *b, size_t n_bytes,
                             tarn_error *err) {
  const tn_pq_write_node *node = leaf->node;
  uint8_t raised[CUT_BYTES + 4];
  tn_pq_page_note note = {.offset = (int64_t)leaf->pages.len,
                          .first_row = leaf->chunk_rows,
                          .null_count = leaf->n_entries - leaf->n_values,
                          .min = b->min,
                          .max = b->max,
                          .bytes = (int32_t)n_bytes,
                          .has_values = leaf->n_values > 0};
  if (b->is_set && (node->bound == TN_PQ_BOUND_BYTES || node->bound == TN_PQ_BOUND_FIXED)) {
    tn_slice min = tn_pq_bound_cut_min(b->min_bytes, CUT_BYTES, node->is_text);
    tn_slice max = tn_pq_bound_cut_max(b->max_bytes, CUT_BYTES, node->is_text, raised);
    note.min_len = (uint32_t)min.len;
    note.max_len = (uint32_t)max.len;
    TN_TRY(tn_pq_bytes_append(&leaf->note_bytes, min.data, min.len, err));
    TN_TRY(tn_pq_bytes_append(&leaf->note_bytes, max.data, max.len, err));
  }
  return tn_pq_bytes_append(&leaf->notes, &note, sizeof(note), err);
}

/* ------------------------------------------------------------------ pages */

static void open_page(tn_pq_leaf_writer *leaf) {
  leaf->chunk_rows += leaf->n_rows;
  leaf->chunk_entries += leaf->n_entries;
  leaf->chunk_nulls += leaf->n_entries - leaf->n_values;
  leaf->n_rows = leaf->n_entries = leaf->n_values = 0;
  leaf->has_bits = false;
  leaf->defs.len = leaf->reps.len = leaf->values.len = 0;
  memset(&leaf->bounds, 0, sizeof(leaf->bounds));
}

/* A dictionary that saves nothing in the first page is not kept (isCompressionSatisfying). */
static bool pays(const tn_pq_leaf_writer *leaf) {
  int64_t codes = leaf->n_values * (int64_t)code_width(leaf) / 8;
  return leaf->n_code_pages > 0 || leaf->n_values == 0 ||
         codes + (int64_t)leaf->dictionary.page.len < bytes_of_codes(leaf);
}

tarn_status tn_pq_leaf_writer_close_page(tn_pq_leaf_writer *leaf, tn_pq_scratch *scratch,
                                         tarn_error *err) {
  page_kind kind = {TN_PQ_DATA_PAGE, leaf->n_entries, TN_PQ_PLAIN};
  tn_pq_write_bounds bounds;
  tn_slice body, packed;
  if (leaf->n_rows == 0) {
    return TARN_OK;
  }
  if (leaf->has_codes && !pays(leaf)) {
    TN_TRY(tn_pq_leaf_writer_give_up_codes(leaf, err));
  }
  if (uses_codes(leaf)) {
    kind.encoding = TN_PQ_PLAIN_DICTIONARY;
  }
  TN_TRY(page_bounds(leaf, scratch, &bounds, err));
  if (!make_body_in_place(leaf, &body)) {
    TN_TRY(make_body(leaf, &scratch->body, err));
    body = tn_pq_bytes_slice(&scratch->body);
  }
  TN_TRY(compress_body(leaf->settings, body, &scratch->packed, &packed, err));
  TN_TRY(make_header(&kind, body.len, packed, &scratch->header, err));
  TN_TRY(note_page(leaf, &bounds, scratch->header.len + packed.len, err));
  TN_TRY(tn_pq_kept_bounds_add(&leaf->chunk_bounds, leaf->node->bound, &bounds, err));
  TN_TRY(tn_pq_pieces_append(&leaf->pages, scratch->header.data, scratch->header.len, err));
  TN_TRY(tn_pq_pieces_append(&leaf->pages, packed.data, packed.len, err));
  leaf->plain_bytes += (int64_t)(scratch->header.len + body.len);
  leaf->n_code_pages += uses_codes(leaf);
  leaf->n_plain_pages += !uses_codes(leaf);
  open_page(leaf);
  return TARN_OK;
}

tarn_status tn_pq_leaf_writer_dictionary_page(tn_pq_leaf_writer *leaf, tn_pq_scratch *scratch,
                                              tarn_error *err) {
  page_kind kind = {TN_PQ_DICTIONARY_PAGE, leaf->dictionary.n, TN_PQ_PLAIN_DICTIONARY};
  tn_slice packed;
  scratch->body.len = 0;
  if (leaf->n_code_pages == 0) {
    return TARN_OK;
  }
  TN_TRY(compress_body(leaf->settings, tn_pq_bytes_slice(&leaf->dictionary.page), &scratch->packed,
                       &packed, err));
  TN_TRY(make_header(&kind, leaf->dictionary.page.len, packed, &scratch->header, err));
  leaf->plain_bytes += (int64_t)(scratch->header.len + leaf->dictionary.page.len);
  TN_TRY(tn_pq_bytes_append(&scratch->body, scratch->header.data, scratch->header.len, err));
  return tn_pq_bytes_append(&scratch->body, packed.data, packed.len, err);
}

bool tn_pq_leaf_writer_has_long_bounds(const tn_pq_leaf_writer *leaf) {
  const tn_pq_write_bounds *b = &leaf->chunk_bounds.bounds;
  return leaf->node->bound == TN_PQ_BOUND_BYTES &&
         b->min_bytes.len + b->max_bytes.len >= MAX_BOUND_BYTES;
}

tarn_status tn_pq_leaf_writer_next_chunk(tn_pq_leaf_writer *leaf, tarn_error *err) {
  TN_TRY(tn_pq_kept_bounds_add(&leaf->file_bounds, leaf->node->bound, &leaf->chunk_bounds.bounds,
                               err));
  leaf->file_nulls += leaf->chunk_nulls;
  leaf->chunk_rows = leaf->chunk_entries = leaf->chunk_nulls = leaf->plain_bytes = 0;
  leaf->n_code_pages = leaf->n_plain_pages = 0;
  leaf->has_codes = leaf->settings->has_dictionaries && leaf->node->physical != TN_PQ_BOOLEAN;
  leaf->notes.len = leaf->note_bytes.len = 0;
  tn_pq_dictionary_reset(&leaf->dictionary);
  tn_pq_pieces_reset(&leaf->pages);
  tn_pq_kept_bounds_clear(&leaf->chunk_bounds);
  tn_dictionary_release(leaf->memo_of);
  leaf->memo_of = NULL;
  leaf->memo.len = 0;
  return TARN_OK;
}
