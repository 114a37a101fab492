/* page.c - ranges of chunks, headers of pages, bodies decompressed. */
#include "format/parquet/page.h"

#include <stdio.h>

#include "base/bytes.h"
#include "codec/hash.h"

#define FIRST_HEADER_BYTES ((size_t)512)
#define MAX_HEADER_BYTES ((size_t)16 << 20) /* headers may hold bounds of any length */
#define OLD_WRITER_SLACK 100                /* a dictionary page header that was not counted */

tarn_status tn_pq_pages_fail(const tn_pq_pages *pages, tarn_error *err, const char *fmt, ...) {
  char text[512];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof(text), fmt, args);
  va_end(args);
  return tn_fail(err, TARN_E_CORRUPT, "%s: column `%s`: page at offset %lld: %s", pages->path,
                 pages->column, (long long)pages->page_offset, text);
}

tarn_status tn_pq_chunk_range(const tn_pq_chunk *chunk, int64_t data_end, bool is_old_writer,
                              const char *path, const char *column, tn_byte_range *out,
                              tarn_error *err) {
  int64_t begin = chunk->data_page_offset;
  if (chunk->dictionary_page_offset > 0 && chunk->dictionary_page_offset < begin) {
    begin = chunk->dictionary_page_offset;
  }
  if (begin < 4 || begin > data_end || chunk->compressed_bytes > data_end - begin) {
    return tn_fail(err, TARN_E_CORRUPT,
                   "%s: column `%s`: %lld bytes at offset %lld are outside of the data, which ends "
                   "at %lld",
                   path, column, (long long)chunk->compressed_bytes, (long long)begin,
                   (long long)data_end);
  }
  out->offset = begin;
  out->length = chunk->compressed_bytes;
  if (is_old_writer) {
    int64_t left = data_end - begin - out->length;
    out->length += left < OLD_WRITER_SLACK ? left : OLD_WRITER_SLACK;
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ headers */

static tarn_status read_header(tn_pq_pages *p, size_t *used, tarn_error *err) {
  size_t wanted = FIRST_HEADER_BYTES;
  int64_t left = p->end - p->at;
  for (;;) {
    const uint8_t *bytes;
    tn_pq_header_result result;
    size_t n = (uint64_t)left < wanted ? (size_t)left : wanted;
    size_t have;
    TN_TRY(tn_prefetch_peek(p->prefetch, p->range, p->at, n, &bytes, &have, err));
    if (have < n) {
      // peek gives what is at hand; whoever needs more must ask for all of it
      TN_TRY(tn_prefetch_get(p->prefetch, p->range, p->at, n, &bytes, err));
      have = n;
    }
    result = tn_pq_page_header_parse(tn_slice_of(bytes, have), &p->header, used);
    if (result == TN_PQ_HEADER_OK) {
      return TARN_OK;
    }
    if (result == TN_PQ_HEADER_BAD || (int64_t)n == left || wanted >= MAX_HEADER_BYTES) {
      return tn_pq_pages_fail(p, err, "the page header is damaged%s",
                              result == TN_PQ_HEADER_SHORT ? " or cut short" : "");
    }
    wanted *= 8;
  }
}

static bool is_read(int32_t type) {
  return type == TN_PQ_DATA_PAGE || type == TN_PQ_DATA_PAGE_V2 || type == TN_PQ_DICTIONARY_PAGE;
}

tarn_status tn_pq_pages_next(tn_pq_pages *p, bool *has_page, tarn_error *err) {
  *has_page = false;
  while (!*has_page && p->at < p->end) {
    size_t used = 0;
    p->page_offset = p->at;
    TN_TRY(read_header(p, &used, err));
    p->body_offset = p->at + (int64_t)used;
    if (p->header.compressed_bytes > p->end - p->body_offset) {
      return tn_pq_pages_fail(p, err, "%d bytes of data, %lld are left in the column",
                              (int)p->header.compressed_bytes,
                              (long long)(p->end - p->body_offset));
    }
    p->at = p->body_offset + p->header.compressed_bytes;
    *has_page = is_read(p->header.type);
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ bodies */

/* The most that a codec makes of n bytes, generously: a page that claims more is damaged, and no
 * memory is taken for it. */
static uint64_t most_bytes(tn_codec_id codec, uint64_t n) {
  switch (codec) {
    case TN_CODEC_NONE:
      return n;
    case TN_CODEC_SNAPPY:
      return 64 + n * 32;
    case TN_CODEC_LZ4_RAW:
    case TN_CODEC_LZ4_HADOOP:
      return 64 + n * 256;
    case TN_CODEC_GZIP:
      return 64 + n * 1100;
    case TN_CODEC_ZSTD:
      return 64 + n * 45000;  // blocks of 128 KiB from 3 bytes
    default:
      return UINT64_MAX;
  }
}

static tarn_status check_crc(const tn_pq_pages *p, const uint8_t *body, tarn_error *err) {
  uint32_t crc;
  if (!p->header.has_crc) {
    return TARN_OK;
  }
  crc = tn_crc32(0, body, (size_t)p->header.compressed_bytes);
  if (crc != p->header.crc) {
    return tn_pq_pages_fail(p, err, "CRC-32 is %08x, the header says %08x", (unsigned)crc,
                            (unsigned)p->header.crc);
  }
  return TARN_OK;
}

static tarn_status decompress(const tn_pq_pages *p, tn_codec_id codec, tn_slice in, uint8_t *out,
                              size_t n_out, tarn_error *err) {
  tarn_status st;
  if (codec == TN_CODEC_NONE) {
    if (in.len != n_out) {
      return tn_pq_pages_fail(p, err, "%zu bytes without compression, the header says %zu", in.len,
                              n_out);
    }
    if (n_out > 0) {
      memcpy(out, in.data, n_out);
    }
    return TARN_OK;
  }
  st = tn_decompress(p->codec, codec, in, out, n_out, err);
  if (st != TARN_OK) {
    tn_error_context(err, st, "%s: column `%s`: page at offset %lld", p->path, p->column,
                     (long long)p->page_offset);
  }
  return st;
}

/* The body into a buffer: n_plain bytes in front are not compressed (levels of v2). */
static tarn_status load_body(tn_pq_pages *p, size_t n_plain, tn_buffer **out, tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_buffer *buffer = NULL;
  static const uint8_t no_bytes[1] = {0};
  const uint8_t *body = no_bytes;
  size_t n_in = (size_t)p->header.compressed_bytes;
  size_t n_out = (size_t)p->header.uncompressed_bytes;
  tn_codec_id codec = p->header.is_compressed ? p->codec_id : TN_CODEC_NONE;
  if (n_in > 0) {
    TN_TRY(tn_prefetch_get(p->prefetch, p->range, p->body_offset, n_in, &body, err));
  }
  TN_TRY(check_crc(p, body, err));
  if (n_out - n_plain > most_bytes(codec, n_in - n_plain)) {
    return tn_pq_pages_fail(p, err, "%zu bytes cannot hold the %zu that the header promises",
                            n_in - n_plain, n_out - n_plain);
  }
  st = tn_buffer_create(p->env, n_out, &buffer, err);
  if (st != TARN_OK) {
    return tn_error_context(err, st, "%s: column `%s`: page at offset %lld", p->path, p->column,
                            (long long)p->page_offset);
  }
  if (n_plain > 0) {
    memcpy(buffer->data, body, n_plain);
  }
  // a page without values may have no body at all, whatever its codec
  if (n_in > n_plain || n_out > n_plain) {
    st = decompress(p, codec, tn_slice_of(body + n_plain, n_in - n_plain), buffer->data + n_plain,
                    n_out - n_plain, err);
  }
  if (st != TARN_OK) {
    tn_buffer_release(buffer);
    return st;
  }
  *out = buffer;
  return TARN_OK;
}

tarn_status tn_pq_pages_load_dictionary(tn_pq_pages *pages, tn_buffer **out, tarn_error *err) {
  return load_body(pages, 0, out, err);
}

/* Cut the levels of a v1 page off the front of *rest. */
static tarn_status cut_levels(const tn_pq_pages *p, uint8_t max, int32_t encoding, tn_slice *rest,
                              tn_pq_levels *out, tarn_error *err) {
  tn_slice bytes = {rest->data, 0};
  if (max == 0) {
    tn_pq_levels_init(out, bytes, 0, false);
    return TARN_OK;
  }
  if (encoding == TN_PQ_RLE) {
    uint32_t n = rest->len >= 4 ? tn_load_le32(rest->data) : 0;
    if (rest->len < 4 || n > rest->len - 4) {
      return tn_pq_pages_fail(p, err, "%u bytes of levels in %zu", (unsigned)n, rest->len);
    }
    bytes = tn_slice_of(rest->data + 4, n);
  } else if (encoding == TN_PQ_BIT_PACKED) {
    uint64_t bits = (uint64_t)p->header.n_values * tn_pq_bit_width(max);
    if ((bits + 7) / 8 > rest->len) {
      return tn_pq_pages_fail(p, err, "%d bit-packed levels in %zu bytes", (int)p->header.n_values,
                              rest->len);
    }
    bytes = tn_slice_of(rest->data, (size_t)((bits + 7) / 8));
  } else {
    return tn_pq_pages_fail(p, err, "levels of encoding %s (%d)", tn_pq_encoding_name(encoding),
                            (int)encoding);
  }
  tn_pq_levels_init(out, bytes, max, encoding == TN_PQ_BIT_PACKED);
  rest->len -= (size_t)(bytes.data + bytes.len - rest->data);
  rest->data = bytes.data + bytes.len;
  return TARN_OK;
}

static tarn_status open_v1(const tn_pq_pages *p, tn_slice body, tn_pq_page *page, tarn_error *err) {
  TN_TRY(cut_levels(p, p->leaf->rep_slot, p->header.rep_encoding, &body, &page->rep, err));
  TN_TRY(cut_levels(p, p->leaf->def_present, p->header.def_encoding, &body, &page->def, err));
  page->values = body;
  return TARN_OK;
}

static void open_v2(const tn_pq_pages *p, tn_slice body, tn_pq_page *page) {
  size_t n_rep = (size_t)p->header.rep_bytes, n_def = (size_t)p->header.def_bytes;
  tn_pq_levels_init(&page->rep, tn_slice_of(body.data, n_rep), p->leaf->rep_slot, false);
  tn_pq_levels_init(&page->def, tn_slice_of(body.data + n_rep, n_def), p->leaf->def_present, false);
  page->values = tn_slice_of(body.data + n_rep + n_def, body.len - n_rep - n_def);
}

tarn_status tn_pq_pages_load(tn_pq_pages *p, tn_pq_page *page, tarn_error *err) {
  bool is_v2 = p->header.type == TN_PQ_DATA_PAGE_V2;
  size_t n_plain = is_v2 ? (size_t)p->header.rep_bytes + (size_t)p->header.def_bytes : 0;
  tn_slice body;
  tn_pq_page_reset(page);
  TN_TRY(load_body(p, n_plain, &page->buffer, err));
  body = tn_slice_of(page->buffer->data, (size_t)p->header.uncompressed_bytes);
  page->encoding = p->header.encoding;
  page->n_entries = p->header.n_values;
  if (!is_v2) {
    return open_v1(p, body, page, err);
  }
  open_v2(p, body, page);
  return TARN_OK;
}

void tn_pq_page_reset(tn_pq_page *page) {
  tn_buffer_release(page->buffer);
  memset(page, 0, sizeof(*page));
}
