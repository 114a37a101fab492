/* parquet_maker.c - pages, footers and their Thrift, byte by byte. */
#include "parquet_maker.h"

#include "base/bytes.h"
#include "format/parquet/rle.h"
#include "format/parquet/thrift.h"
#include "support/test.h"

/* ------------------------------------------------------------------ Thrift */

static void put(tn_buf *out, const void *bytes, size_t n) {
  tarn_error err;
  assert_works(tn_buf_append(out, bytes, n, &err), err);
}

static void put_byte(tn_buf *out, unsigned byte) {
  uint8_t b = (uint8_t)byte;
  put(out, &b, 1);
}

static void put_varint(tn_buf *out, uint64_t v) {
  for (; v >= 0x80; v >>= 7) {
    put_byte(out, (unsigned)(v & 0x7f) | 0x80);
  }
  put_byte(out, (unsigned)v);
}

static void put_zigzag(tn_buf *out, int64_t v) {
  put_varint(out, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

/* Always the long form: type, then the id. */
static void put_field(tn_buf *out, int id, int type) {
  put_byte(out, (unsigned)type);
  put_zigzag(out, id);
}

static void put_int(tn_buf *out, int id, int64_t v) {
  put_field(out, id, TN_THRIFT_I64);
  put_zigzag(out, v);
}

static void put_binary(tn_buf *out, int id, tn_slice s) {
  put_field(out, id, TN_THRIFT_BINARY);
  put_varint(out, s.len);
  put(out, s.data, s.len);
}

static void put_list(tn_buf *out, int id, int type, int64_t n) {
  put_field(out, id, TN_THRIFT_LIST);
  put_byte(out, 0xf0u | (unsigned)type);
  put_varint(out, (uint64_t)n);
}

static void put_stop(tn_buf *out) {
  put_byte(out, 0);
}

/* ------------------------------------------------------------------ schema */

void maker_begin(parquet_maker *m) {
  memset(m, 0, sizeof(*m));
  tn_mem_init(&m->mem, NULL, (size_t)1 << 30);
  tn_buf_init(&m->out, &m->mem, (size_t)1 << 26);
  tn_buf_init(&m->schema, &m->mem, (size_t)1 << 20);
  m->footer_rows = -1;
  put(&m->out, "PAR1", 4);
}

void maker_free(parquet_maker *m) {
  tn_buf_reset(&m->out);
  tn_buf_reset(&m->schema);
}

static void element(parquet_maker *m, const char *name, tn_pq_repetition repetition) {
  m->n_elements++;
  put_int(&m->schema, 3, repetition);
  put_binary(&m->schema, 4, tn_slice_text(name));
}

static void annotate(parquet_maker *m, maker_type type) {
  if (type != MAKER_PLAIN_TYPE) {
    put_int(&m->schema, 6, type);
  }
}

void maker_group(parquet_maker *m, const char *name, tn_pq_repetition repetition,
                 int32_t n_children, maker_type type) {
  element(m, name, repetition);
  put_int(&m->schema, 5, n_children);
  annotate(m, type);
  put_stop(&m->schema);
  m->n_top -= n_children;  // its children are not the root's
  m->n_top++;
}

static void leaf(parquet_maker *m, const char *name, tn_pq_repetition repetition,
                 tn_pq_physical physical, int32_t length) {
  assert_true(m->n_leaves < MAKER_MAX_LEAVES);
  element(m, name, repetition);
  put_int(&m->schema, 1, physical);
  if (length > 0) {
    put_int(&m->schema, 2, length);
  }
  m->physical[m->n_leaves++] = (int32_t)physical;
  m->n_top++;
}

void maker_leaf(parquet_maker *m, const char *name, tn_pq_repetition repetition,
                tn_pq_physical physical, int32_t length, maker_type type) {
  leaf(m, name, repetition, physical, length);
  annotate(m, type);
  put_stop(&m->schema);
}

void maker_decimal(parquet_maker *m, const char *name, tn_pq_physical physical, int32_t length,
                   int32_t precision, int32_t scale) {
  leaf(m, name, TN_PQ_REQUIRED, physical, length);
  annotate(m, MAKER_DECIMAL);
  put_int(&m->schema, 7, scale);
  put_int(&m->schema, 8, precision);
  put_stop(&m->schema);
}

void maker_time(parquet_maker *m, const char *name, tn_pq_physical physical, int member,
                tn_pq_unit unit) {
  tn_buf *s = &m->schema;
  leaf(m, name, TN_PQ_REQUIRED, physical, 0);
  put_field(s, 10, TN_THRIFT_STRUCT);
  put_field(s, member, TN_THRIFT_STRUCT);
  put_field(s, 1, TN_THRIFT_FALSE);  // not adjusted to UTC
  put_field(s, 2, TN_THRIFT_STRUCT);
  put_field(s, (int)unit + 1, TN_THRIFT_STRUCT);
  for (int i = 0; i < 5; i++) {
    put_stop(s);  // of the unit's member, the unit, the type, the union, the element
  }
}

/* ------------------------------------------------------------------ pages */

maker_chunk_spec *maker_chunk(parquet_maker *m, int64_t n_values) {
  maker_chunk_spec *c;
  assert_true(m->n_chunks < m->n_leaves);
  if (m->n_chunks > 0) {
    m->chunks[m->n_chunks - 1].end = (int64_t)m->out.len;
  }
  c = &m->chunks[m->n_chunks++];
  memset(c, 0, sizeof(*c));
  c->n_values = n_values;
  c->begin = (int64_t)m->out.len;
  c->null_count = -1;
  return c;
}

static void put_page(parquet_maker *m, int32_t type, const tn_buf *head, const tn_buf *body,
                     bool has_crc, uint32_t crc) {
  put_int(&m->out, 1, type);
  put_int(&m->out, 2, (int64_t)body->len);
  put_int(&m->out, 3, (int64_t)body->len);
  if (has_crc) {
    put_int(&m->out, 4, (int32_t)crc);
  }
  put(&m->out, head->data, head->len);
  put_stop(&m->out);
  put(&m->out, body->data, body->len);
}

/* Each level as a run of one. */
static void run_levels(const char *levels, tn_buf *out) {
  for (; *levels != '\0'; levels++) {
    put_byte(out, 1 << 1);
    put_byte(out, (unsigned)(*levels - '0'));
  }
}

/* From the most significant bit on. */
static void pack_levels(const char *levels, uint32_t max, tn_buf *out) {
  uint32_t width = tn_pq_bit_width(max);
  unsigned byte = 0;
  int n_bits = 0;
  for (; *levels != '\0'; levels++) {
    for (uint32_t b = width; b-- > 0;) {
      byte = byte << 1 | ((unsigned)(*levels - '0') >> b & 1);
      if (++n_bits == 8) {
        put_byte(out, byte);
        byte = 0;
        n_bits = 0;
      }
    }
  }
  if (n_bits > 0) {
    put_byte(out, byte << (8 - n_bits));
  }
}

static void put_levels(tn_buf *body, const char *levels, uint32_t max,
                       const maker_page_spec *page) {
  if (levels == NULL) {
    return;
  }
  if (page->levels_are_packed) {
    pack_levels(levels, max, body);
    return;
  }
  if (!page->is_v2) {
    uint8_t length[4];
    tn_store_le32(length, (uint32_t)strlen(levels) * 2);
    put(body, length, 4);
  }
  run_levels(levels, body);
}

static int64_t levels_bytes(const char *levels) {
  return levels == NULL ? 0 : (int64_t)strlen(levels) * 2;
}

static void data_head(tn_buf *head, const maker_page_spec *page) {
  int32_t levels = page->levels_are_packed ? TN_PQ_BIT_PACKED : TN_PQ_RLE;
  if (page->is_v2) {
    put_field(head, 8, TN_THRIFT_STRUCT);
    put_int(head, 1, page->n_values);
    put_int(head, 2, 0);
    put_int(head, 3, page->n_rows);
    put_int(head, 4, page->encoding);
    put_int(head, 5, levels_bytes(page->def));
    put_int(head, 6, levels_bytes(page->rep));
  } else {
    put_field(head, 5, TN_THRIFT_STRUCT);
    put_int(head, 1, page->n_values);
    put_int(head, 2, page->encoding);
    put_int(head, 3, levels);
    put_int(head, 4, levels);
  }
  put_stop(head);
}

void maker_page(parquet_maker *m, const maker_page_spec *page) {
  maker_chunk_spec *c = &m->chunks[m->n_chunks - 1];
  tn_buf head, body;
  tn_buf_init(&head, &m->mem, 1 << 20);
  tn_buf_init(&body, &m->mem, (size_t)1 << 26);
  put_levels(&body, page->rep, page->max_rep, page);
  put_levels(&body, page->def, page->max_def, page);
  put(&body, page->values.data, page->values.len);
  data_head(&head, page);
  c->data_begin = c->data_begin == 0 ? (int64_t)m->out.len : c->data_begin;
  c->encodings |= 1u << page->encoding;
  put_page(m, page->is_v2 ? TN_PQ_DATA_PAGE_V2 : TN_PQ_DATA_PAGE, &head, &body, page->has_crc,
           page->crc);
  tn_buf_reset(&head);
  tn_buf_reset(&body);
}

void maker_dictionary(parquet_maker *m, int32_t n_values, tn_slice values) {
  maker_chunk_spec *c = &m->chunks[m->n_chunks - 1];
  tn_buf head, body;
  tn_buf_init(&head, &m->mem, 1 << 20);
  tn_buf_init(&body, &m->mem, (size_t)1 << 26);
  put(&body, values.data, values.len);
  put_field(&head, 7, TN_THRIFT_STRUCT);
  put_int(&head, 1, n_values);
  put_int(&head, 2, TN_PQ_PLAIN);
  put_stop(&head);
  c->dictionary_at = c->dictionary_at == 0 ? (int64_t)m->out.len : c->dictionary_at;
  put_page(m, TN_PQ_DICTIONARY_PAGE, &head, &body, false, 0);
  tn_buf_reset(&head);
  tn_buf_reset(&body);
}

void maker_index_page(parquet_maker *m) {
  tn_buf head, body;
  tn_buf_init(&head, &m->mem, 64);
  tn_buf_init(&body, &m->mem, 64);
  put_field(&head, 6, TN_THRIFT_STRUCT);
  put_stop(&head);
  put(&body, "what only an index reader knows", 31);
  put_page(m, TN_PQ_INDEX_PAGE, &head, &body, false, 0);
  tn_buf_reset(&head);
  tn_buf_reset(&body);
}

/* ------------------------------------------------------------------ footer */

static void put_stats(tn_buf *out, const maker_chunk_spec *c) {
  put_field(out, 12, TN_THRIFT_STRUCT);
  if (c->min.data != NULL) {
    put_binary(out, c->has_old_stats ? 1 : 5, c->max);
    put_binary(out, c->has_old_stats ? 2 : 6, c->min);
  }
  if (c->null_count >= 0) {
    put_int(out, 3, c->null_count);
  }
  put_stop(out);
}

static void put_chunk(tn_buf *out, const maker_chunk_spec *c, int32_t physical) {
  int64_t n_encodings = 0;
  put_int(out, 2, c->begin);
  put_field(out, 3, TN_THRIFT_STRUCT);
  put_int(out, 1, physical);
  for (int i = 0; i < TN_PQ_N_ENCODINGS; i++) {
    n_encodings += c->encodings >> i & 1;
  }
  put_list(out, 2, TN_THRIFT_I32, n_encodings);
  for (int i = 0; i < TN_PQ_N_ENCODINGS; i++) {
    if ((c->encodings >> i & 1) != 0) {
      put_zigzag(out, i);
    }
  }
  put_int(out, 4, 0);
  put_int(out, 5, c->n_values);
  put_int(out, 6, c->end - c->begin);
  put_int(out, 7, c->end - c->begin);
  put_int(out, 9, c->hides_dictionary || c->data_begin == 0 ? c->begin : c->data_begin);
  if (c->dictionary_at > 0 && !c->hides_dictionary) {
    put_int(out, 11, c->dictionary_at);
  }
  put_stats(out, c);
  put_stop(out);
  put_stop(out);
}

tn_slice maker_end(parquet_maker *m, int64_t n_rows) {
  tn_buf *out = &m->out;
  size_t begin = out->len;
  uint8_t length[4];
  assert_int_equal(m->n_chunks, m->n_leaves);
  m->chunks[m->n_chunks - 1].end = (int64_t)out->len;
  put_int(out, 1, 1);
  put_list(out, 2, TN_THRIFT_STRUCT, m->n_elements + 1);
  put_binary(out, 4, tn_slice_text("root"));
  put_int(out, 5, m->n_top);
  put_stop(out);
  put(out, m->schema.data, m->schema.len);
  put_int(out, 3, m->footer_rows >= 0 ? m->footer_rows : n_rows);
  put_list(out, 4, TN_THRIFT_STRUCT, 1);
  put_list(out, 1, TN_THRIFT_STRUCT, m->n_chunks);
  for (int32_t i = 0; i < m->n_chunks; i++) {
    put_chunk(out, &m->chunks[i], m->physical[i]);
  }
  put_int(out, 2, (int64_t)begin);
  put_int(out, 3, n_rows);
  put_stop(out);
  if (m->created_by != NULL) {
    put_binary(out, 6, tn_slice_text(m->created_by));
  }
  if (m->is_encrypted) {
    put_field(out, 8, TN_THRIFT_STRUCT);
    put_stop(out);
  }
  put_stop(out);
  tn_store_le32(length, (uint32_t)(out->len - begin));
  put(out, length, 4);
  put(out, "PAR1", 4);
  return tn_buf_slice(out);
}
