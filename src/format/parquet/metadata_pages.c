/* metadata_pages.c - what lies next to the data: page headers, offset and column indexes. */
#include "format/parquet/metadata.h"
#include "format/parquet/thrift.h"

/* ------------------------------------------------------------------ page headers */

static void parse_data_page(tn_thrift *t, tn_pq_page_header *h) {
  tn_thrift_field f = {0, 0};
  while (tn_thrift_next(t, &f)) {
    switch (f.id) {
      case 1:
        tn_thrift_i32(t, &f, &h->n_values);
        break;
      case 2:
        tn_thrift_i32(t, &f, &h->encoding);
        break;
      case 3:
        tn_thrift_i32(t, &f, &h->def_encoding);
        break;
      case 4:
        tn_thrift_i32(t, &f, &h->rep_encoding);
        break;
      default:
        tn_thrift_skip(t, &f);
        break;
    }
  }
}

static void parse_dictionary_page(tn_thrift *t, tn_pq_page_header *h) {
  tn_thrift_field f = {0, 0};
  while (tn_thrift_next(t, &f)) {
    if (f.id == 1) {
      tn_thrift_i32(t, &f, &h->n_values);
    } else if (f.id == 2) {
      tn_thrift_i32(t, &f, &h->encoding);
    } else {
      tn_thrift_skip(t, &f);
    }
  }
}

static void parse_data_page_v2(tn_thrift *t, tn_pq_page_header *h) {
  tn_thrift_field f = {0, 0};
  while (tn_thrift_next(t, &f)) {
    switch (f.id) {
      case 1:
        tn_thrift_i32(t, &f, &h->n_values);
        break;
      case 2:
        tn_thrift_i32(t, &f, &h->n_nulls);
        break;
      case 3:
        tn_thrift_i32(t, &f, &h->n_rows);
        break;
      case 4:
        tn_thrift_i32(t, &f, &h->encoding);
        break;
      case 5:
        tn_thrift_i32(t, &f, &h->def_bytes);
        break;
      case 6:
        tn_thrift_i32(t, &f, &h->rep_bytes);
        break;
      case 7:
        tn_thrift_bool(t, &f, &h->is_compressed);
        break;
      default:
        tn_thrift_skip(t, &f);
        break;
    }
  }
}

static bool has_sane_counts(const tn_pq_page_header *h) {
  if (h->type < 0 || h->compressed_bytes < 0 || h->uncompressed_bytes < 0) {
    return false;
  }
  if (h->type == TN_PQ_DATA_PAGE || h->type == TN_PQ_DICTIONARY_PAGE) {
    return h->n_values >= 0 && h->encoding >= 0;
  }
  if (h->type == TN_PQ_DATA_PAGE_V2) {
    return h->n_values >= 0 && h->encoding >= 0 && h->n_rows >= 0 && h->def_bytes >= 0 &&
           h->rep_bytes >= 0 && (int64_t)h->def_bytes + h->rep_bytes <= h->uncompressed_bytes &&
           (int64_t)h->def_bytes + h->rep_bytes <= h->compressed_bytes;
  }
  return true;
}

tn_pq_header_result tn_pq_page_header_parse(tn_slice bytes, tn_pq_page_header *out, size_t *used) {
  tn_thrift t;
  tn_thrift_field f = {0, 0};
  int32_t crc = 0;
  memset(out, 0, sizeof(*out));
  out->type = out->compressed_bytes = out->uncompressed_bytes = -1;
  out->n_values = out->encoding = -1;
  out->def_encoding = out->rep_encoding = TN_PQ_RLE;
  out->is_compressed = true;
  tn_thrift_init(&t, bytes);
  while (tn_thrift_next(&t, &f)) {
    switch (f.id) {
      case 1:
        tn_thrift_i32(&t, &f, &out->type);
        break;
      case 2:
        tn_thrift_i32(&t, &f, &out->uncompressed_bytes);
        break;
      case 3:
        tn_thrift_i32(&t, &f, &out->compressed_bytes);
        break;
      case 4:
        out->has_crc = tn_thrift_i32(&t, &f, &crc);
        break;
      case 5:
        if (tn_thrift_open(&t, &f)) {
          parse_data_page(&t, out);
        }
        break;
      case 7:
        if (tn_thrift_open(&t, &f)) {
          parse_dictionary_page(&t, out);
        }
        break;
      case 8:
        if (tn_thrift_open(&t, &f)) {
          parse_data_page_v2(&t, out);
        }
        break;
      default:
        tn_thrift_skip(&t, &f);
        break;
    }
  }
  if (t.fault == TN_THRIFT_SHORT) {
    return TN_PQ_HEADER_SHORT;
  }
  if (t.fault != TN_THRIFT_OK || !has_sane_counts(out)) {
    return TN_PQ_HEADER_BAD;
  }
  out->crc = (uint32_t)crc;
  *used = tn_thrift_used(&t);
  return TN_PQ_HEADER_OK;
}

/* ------------------------------------------------------------------ indexes */

static void parse_location(tn_thrift *t, tn_pq_page_location *page) {
  tn_thrift_field f = {0, 0};
  *page = (tn_pq_page_location){-1, -1, -1};
  while (tn_thrift_next(t, &f)) {
    if (f.id == 1) {
      tn_thrift_i64(t, &f, &page->offset);
    } else if (f.id == 2) {
      tn_thrift_i32(t, &f, &page->bytes);
    } else if (f.id == 3) {
      tn_thrift_i64(t, &f, &page->first_row);
    } else {
      tn_thrift_skip(t, &f);
    }
  }
}

/* Pages lie behind one another and each but an empty one starts at a later row. */
static bool follows(const tn_pq_page_location *before, const tn_pq_page_location *page,
                    int64_t n_rows) {
  if (page->offset < 0 || page->offset > INT64_MAX / 2 || page->bytes <= 0 || page->first_row < 0 ||
      page->first_row > n_rows) {
    return false;
  }
  if (before == NULL) {
    return page->first_row == 0;
  }
  return page->offset >= before->offset + before->bytes && page->first_row >= before->first_row;
}

tarn_status tn_pq_offset_index_parse(tn_arena *arena, tn_slice bytes, int64_t n_rows,
                                     const char *where, tn_pq_offset_index *out, tarn_error *err) {
  tn_pq_page_location *pages = NULL;
  size_t capacity = 0;
  tn_thrift t;
  tn_thrift_field f = {0, 0};
  bool is_good = true;
  memset(out, 0, sizeof(*out));
  tn_thrift_init(&t, bytes);
  while (tn_thrift_next(&t, &f)) {
    int64_t count;
    if (f.id != 1 || out->n_pages > 0) {
      tn_thrift_skip(&t, &f);
      continue;
    }
    if (!tn_thrift_list_of(&t, &f, TN_THRIFT_STRUCT, &count)) {
      continue;
    }
    for (int64_t i = 0; i < count && is_good; i++) {
      if (!tn_arena_grow(arena, (void **)&pages, &capacity, (size_t)i, sizeof(*pages))) {
        return tn_oom(err);
      }
      parse_location(&t, &pages[i]);
      is_good = tn_thrift_is_ok(&t) && follows(i > 0 ? &pages[i - 1] : NULL, &pages[i], n_rows);
      out->n_pages++;
    }
    if (!is_good) {
      break;
    }
  }
  if (!is_good || !tn_thrift_is_ok(&t) || (out->n_pages == 0 && n_rows > 0)) {
    return tn_fail(err, TARN_E_CORRUPT,
                   "%s: the offset index (%zu bytes) is damaged at page %d: %lld rows are expected",
                   where, bytes.len, (int)out->n_pages, (long long)n_rows);
  }
  out->pages = pages;
  return TARN_OK;
}

/* The lists of a column index, each of as many elements as the first that was met. */
typedef struct index_lists {
  int64_t n_null_pages, n_min, n_max, n_null_counts;
  bool *null_pages;
  tn_slice *min, *max;
  int64_t *null_counts;
} index_lists;

static tarn_status parse_slices(tn_arena *arena, tn_thrift *t, int64_t count, tn_slice **out,
                                tarn_error *err) {
  *out = tn_arena_calloc(arena, (size_t)count + 1, sizeof(**out));
  if (*out == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < count; i++) {
    (*out)[i] = tn_thrift_element_binary(t);
  }
  return TARN_OK;
}

static tarn_status parse_index_list(tn_arena *arena, tn_thrift *t, const tn_thrift_field *f,
                                    index_lists *lists, tarn_error *err) {
  static const uint8_t expected[] = {
      [1] = TN_THRIFT_TRUE, [2] = TN_THRIFT_BINARY, [3] = TN_THRIFT_BINARY, [5] = TN_THRIFT_I64};
  uint8_t element_type;
  int64_t count;
  if (!tn_thrift_list(t, f, &element_type, &count)) {
    return TARN_OK;
  }
  if (element_type == TN_THRIFT_FALSE) {
    element_type = TN_THRIFT_TRUE;  // both stand for bool
  }
  if (element_type != expected[f->id] && count > 0) {
    tn_thrift_skip_elements(t, element_type, count);
    return TARN_OK;
  }
  if (f->id == 2) {
    lists->n_min = count;
    return parse_slices(arena, t, count, &lists->min, err);
  }
  if (f->id == 3) {
    lists->n_max = count;
    return parse_slices(arena, t, count, &lists->max, err);
  }
  if (f->id == 1) {
    lists->n_null_pages = count;
    lists->null_pages = tn_arena_calloc(arena, (size_t)count + 1, sizeof(bool));
    if (lists->null_pages == NULL) {
      return tn_oom(err);
    }
    for (int64_t i = 0; i < count; i++) {
      lists->null_pages[i] = tn_thrift_element_bool(t);
    }
    return TARN_OK;
  }
  lists->n_null_counts = count;
  lists->null_counts = tn_arena_calloc(arena, (size_t)count + 1, sizeof(int64_t));
  if (lists->null_counts == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < count; i++) {
    lists->null_counts[i] = tn_thrift_element_int(t);
  }
  return TARN_OK;
}

tarn_status tn_pq_column_index_parse(tn_arena *arena, tn_slice bytes, const char *where,
                                     tn_pq_column_index *out, tarn_error *err) {
  tn_thrift t;
  tn_thrift_field f = {0, 0};
  index_lists lists;
  memset(&lists, 0, sizeof(lists));
  memset(out, 0, sizeof(*out));
  tn_thrift_init(&t, bytes);
  while (tn_thrift_next(&t, &f)) {
    if (f.id == 1 || f.id == 2 || f.id == 3 || f.id == 5) {
      TN_TRY(parse_index_list(arena, &t, &f, &lists, err));
    } else {
      tn_thrift_skip(&t, &f);
    }
  }
  if (!tn_thrift_is_ok(&t) || lists.null_pages == NULL || lists.n_min != lists.n_null_pages ||
      lists.n_max != lists.n_null_pages || lists.n_null_pages > INT32_MAX ||
      (lists.null_counts != NULL && lists.n_null_counts != lists.n_null_pages)) {
    return tn_fail(err, TARN_E_CORRUPT,
                   "%s: the column index (%zu bytes) is damaged: %lld null pages, %lld minima, "
                   "%lld maxima",
                   where, bytes.len, (long long)lists.n_null_pages, (long long)lists.n_min,
                   (long long)lists.n_max);
  }
  out->n_pages = (int32_t)lists.n_null_pages;
  out->null_pages = lists.null_pages;
  out->min = lists.min;
  out->max = lists.max;
  out->null_counts = lists.null_counts;
  return TARN_OK;
}
