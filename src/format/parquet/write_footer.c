/* write_footer.c - the Thrift structures at the end of a file. */
#include "format/parquet/write_footer.h"

#include <stdio.h>

#include "base/bytes.h"
#include "format/parquet/write_thrift.h"

#define FORMAT_VERSION 1 /* as Java: nothing of version 2 is used */
#define MAGIC "PAR1"

void tn_pq_footer_writer_init(tn_pq_footer_writer *footer, const tn_pq_write_schema *schema,
                              const tn_pq_write_settings *settings) {
  memset(footer, 0, sizeof(*footer));
  footer->schema = schema;
  footer->settings = settings;
  tn_pq_bytes_init(&footer->groups, settings->env);
  tn_pq_bytes_init(&footer->chunks, settings->env);
  tn_pq_bytes_init(&footer->metadata, settings->env);
  tn_pq_bytes_init(&footer->column_indexes, settings->env);
  tn_pq_bytes_init(&footer->offset_indexes, settings->env);
}

void tn_pq_footer_writer_reset(tn_pq_footer_writer *footer) {
  tn_pq_bytes_reset(&footer->groups);
  tn_pq_bytes_reset(&footer->chunks);
  tn_pq_bytes_reset(&footer->metadata);
  tn_pq_bytes_reset(&footer->column_indexes);
  tn_pq_bytes_reset(&footer->offset_indexes);
}

tarn_status tn_pq_footer_add_group(tn_pq_footer_writer *footer, const tn_pq_group_note *group,
                                   tarn_error *err) {
  footer->n_rows += group->n_rows;
  return tn_pq_bytes_append(&footer->groups, group, sizeof(*group), err);
}

/* ------------------------------------------------------------------ indexes of pages */

static bool is_bytes_bound(tn_pq_bound_kind kind) {
  return kind == TN_PQ_BOUND_FIXED || kind == TN_PQ_BOUND_BYTES;
}

static size_t page_count(const tn_pq_leaf_writer *leaf) {
  return leaf->notes.len / sizeof(tn_pq_page_note);
}

static const tn_pq_page_note *page_notes(const tn_pq_leaf_writer *leaf) {
  return (const void *)leaf->notes.data;
}

/* Bounds of one kind (least or greatest), page after page. */
typedef struct bound_walk {
  const tn_pq_leaf_writer *leaf;
  const tn_pq_page_note *note;
  const uint8_t *bytes;
  bool is_max;
  uint8_t plain[8];
} bound_walk;

static bound_walk walk_bounds(const tn_pq_leaf_writer *leaf, bool is_max) {
  bound_walk w = {leaf, page_notes(leaf), leaf->note_bytes.data, is_max, {0}};
  return w;
}

/* The next page's bound; empty for one of nulls only. */
static tn_slice next_bound(bound_walk *w) {
  const tn_pq_page_note *note = w->note++;
  tn_pq_bound_kind kind = w->leaf->node->bound;
  tn_slice bound = {NULL, 0};
  if (!note->has_values) {
    return bound;
  }
  if (!is_bytes_bound(kind)) {
    return tn_pq_bound_plain(kind, w->is_max ? note->max : note->min, w->is_max, w->plain);
  }
  bound = w->is_max ? tn_slice_of(w->bytes + note->min_len, note->max_len)
                    : tn_slice_of(w->bytes, note->min_len);
  w->bytes += (size_t)note->min_len + note->max_len;
  return bound;
}

/* Is `after` on the wrong side of `before`, as a page in ascending (1) or descending (-1) order? */
static bool is_misplaced(const tn_pq_leaf_writer *leaf, const tn_pq_page_note *before,
                         tn_slice before_bound, const tn_pq_page_note *after, tn_slice bound,
                         bool is_max, int direction) {
  int c;
  if (is_bytes_bound(leaf->node->bound)) {
    c = tn_pq_bounds_compare(leaf->node->bound, bound, before_bound);
  } else {
    int64_t a = is_max ? before->max : before->min, b = is_max ? after->max : after->min;
    c = (b > a) - (b < a);
  }
  return c * direction < 0;
}

static bool has_order(const tn_pq_leaf_writer *leaf, bool is_max, int direction) {
  bound_walk w = walk_bounds(leaf, is_max);
  const tn_pq_page_note *before = NULL;
  tn_slice before_bound = {NULL, 0};
  for (size_t i = 0; i < page_count(leaf); i++) {
    const tn_pq_page_note *note = w.note;
    tn_slice bound = next_bound(&w);
    if (!note->has_values) {
      continue;
    }
    if (before != NULL &&
        is_misplaced(leaf, before, before_bound, note, bound, is_max, direction)) {
      return false;
    }
    before = note;
    before_bound = bound;
  }
  return true;
}

/* BoundaryOrder: 1 ascending, 2 descending, 0 neither. */
static int32_t boundary_order(const tn_pq_leaf_writer *leaf) {
  return has_order(leaf, false, 1) && has_order(leaf, true, 1)     ? 1
         : has_order(leaf, false, -1) && has_order(leaf, true, -1) ? 2
                                                                   : 0;
}

/* No index where a page's bounds would say nothing: INT96, NaNs (as Java). */
static bool has_column_index(const tn_pq_leaf_writer *leaf) {
  return leaf->node->bound != TN_PQ_BOUND_NONE &&
         !tn_pq_bounds_have_nan(leaf->node->bound, &leaf->chunk_bounds.bounds);
}

static void put_bounds(tn_thrift_out *t, const tn_pq_leaf_writer *leaf, int32_t id, bool is_max) {
  bound_walk w = walk_bounds(leaf, is_max);
  tn_thrift_put_list(t, id, TN_THRIFT_BINARY, page_count(leaf));
  for (size_t i = 0; i < page_count(leaf); i++) {
    tn_thrift_put_binary_element(t, next_bound(&w));
  }
}

static tarn_status encode_column_index(const tn_pq_leaf_writer *leaf, tn_pq_bytes *out,
                                       tarn_error *err) {
  const tn_pq_page_note *notes = page_notes(leaf);
  size_t n = page_count(leaf);
  tn_thrift_out t;
  tn_thrift_out_begin(&t, out);
  tn_thrift_put_list(&t, 1, TN_THRIFT_TRUE, n);
  for (size_t i = 0; i < n; i++) {
    tn_thrift_put_bool_element(&t, !notes[i].has_values);
  }
  put_bounds(&t, leaf, 2, false);
  put_bounds(&t, leaf, 3, true);
  tn_thrift_put_int(&t, 4, TN_THRIFT_I32, boundary_order(leaf));
  tn_thrift_put_list(&t, 5, TN_THRIFT_I64, n);
  for (size_t i = 0; i < n; i++) {
    tn_thrift_put_int_element(&t, notes[i].null_count);
  }
  return tn_thrift_out_end(&t, err);
}

static tarn_status encode_offset_index(const tn_pq_leaf_writer *leaf, int64_t data_offset,
                                       tn_pq_bytes *out, tarn_error *err) {
  const tn_pq_page_note *notes = page_notes(leaf);
  size_t n = page_count(leaf);
  tn_thrift_out t;
  tn_thrift_out_begin(&t, out);
  tn_thrift_put_list(&t, 1, TN_THRIFT_STRUCT, n);
  for (size_t i = 0; i < n; i++) {
    tn_thrift_put_struct_element(&t);
    tn_thrift_put_int(&t, 1, TN_THRIFT_I64, data_offset + notes[i].offset);
    tn_thrift_put_int(&t, 2, TN_THRIFT_I32, notes[i].bytes);
    tn_thrift_put_int(&t, 3, TN_THRIFT_I64, notes[i].first_row);
    tn_thrift_put_end(&t);
  }
  return tn_thrift_out_end(&t, err);
}

/* ------------------------------------------------------------------ chunks */

/* Bounds go into the newer pair only, whose order is told. With a NaN they are left out: Java
 * writes it as the greatest value, which other readers do not expect. */
static void put_statistics(tn_thrift_out *t, const tn_pq_leaf_writer *leaf) {
  tn_pq_bound_kind kind = leaf->node->bound;
  const tn_pq_write_bounds *b = &leaf->chunk_bounds.bounds;
  uint8_t min_plain[8], max_plain[8];
  tn_thrift_put_struct(t, 12);
  tn_thrift_put_int(t, 3, TN_THRIFT_I64, leaf->chunk_nulls);
  if (b->is_set && !tn_pq_bounds_have_nan(kind, b) && !tn_pq_leaf_writer_has_long_bounds(leaf)) {
    tn_slice min =
        is_bytes_bound(kind) ? b->min_bytes : tn_pq_bound_plain(kind, b->min, false, min_plain);
    tn_slice max =
        is_bytes_bound(kind) ? b->max_bytes : tn_pq_bound_plain(kind, b->max, true, max_plain);
    tn_thrift_put_binary(t, 5, max);
    tn_thrift_put_binary(t, 6, min);
    tn_thrift_put_bool(t, 7, true);
    tn_thrift_put_bool(t, 8, true);
  }
  tn_thrift_put_end(t);
}

static void put_encodings(tn_thrift_out *t, const tn_pq_leaf_writer *leaf) {
  bool has_plain = leaf->n_plain_pages > 0, has_codes = leaf->n_code_pages > 0;
  tn_thrift_put_list(t, 2, TN_THRIFT_I32, (size_t)1 + has_plain + has_codes);
  if (has_codes) {
    tn_thrift_put_int_element(t, TN_PQ_PLAIN_DICTIONARY);
  }
  if (has_plain) {
    tn_thrift_put_int_element(t, TN_PQ_PLAIN);
  }
  tn_thrift_put_int_element(t, TN_PQ_RLE);
}

static void put_encoding_stat(tn_thrift_out *t, tn_pq_page_type type, tn_pq_encoding encoding,
                              int32_t count) {
  tn_thrift_put_struct_element(t);
  tn_thrift_put_int(t, 1, TN_THRIFT_I32, type);
  tn_thrift_put_int(t, 2, TN_THRIFT_I32, encoding);
  tn_thrift_put_int(t, 3, TN_THRIFT_I32, count);
  tn_thrift_put_end(t);
}

static void put_encoding_stats(tn_thrift_out *t, const tn_pq_leaf_writer *leaf) {
  bool has_plain = leaf->n_plain_pages > 0, has_codes = leaf->n_code_pages > 0;
  tn_thrift_put_list(t, 13, TN_THRIFT_STRUCT, (size_t)has_plain + 2 * (size_t)has_codes);
  if (has_codes) {
    put_encoding_stat(t, TN_PQ_DICTIONARY_PAGE, TN_PQ_PLAIN_DICTIONARY, 1);
    put_encoding_stat(t, TN_PQ_DATA_PAGE, TN_PQ_PLAIN_DICTIONARY, leaf->n_code_pages);
  }
  if (has_plain) {
    put_encoding_stat(t, TN_PQ_DATA_PAGE, TN_PQ_PLAIN, leaf->n_plain_pages);
  }
}

static tarn_status encode_metadata(const tn_pq_footer_writer *footer, const tn_pq_leaf_writer *leaf,
                                   int64_t offset, int64_t dictionary_bytes, tn_pq_bytes *out,
                                   tarn_error *err) {
  const tn_pq_write_node *node = leaf->node;
  tn_thrift_out t;
  tn_thrift_out_begin(&t, out);
  tn_thrift_put_int(&t, 1, TN_THRIFT_I32, node->physical);
  put_encodings(&t, leaf);
  tn_thrift_put_list(&t, 3, TN_THRIFT_BINARY, (size_t)node->n_names);
  for (int32_t i = 0; i < node->n_names; i++) {
    tn_thrift_put_binary_element(&t, tn_slice_text(node->names[i]));
  }
  tn_thrift_put_int(&t, 4, TN_THRIFT_I32, footer->settings->codec_number);
  tn_thrift_put_int(&t, 5, TN_THRIFT_I64, leaf->chunk_entries);
  tn_thrift_put_int(&t, 6, TN_THRIFT_I64, leaf->plain_bytes);
  tn_thrift_put_int(&t, 7, TN_THRIFT_I64, dictionary_bytes + (int64_t)leaf->pages.len);
  tn_thrift_put_int(&t, 9, TN_THRIFT_I64, offset + dictionary_bytes);
  if (dictionary_bytes > 0) {
    tn_thrift_put_int(&t, 11, TN_THRIFT_I64, offset);
  }
  put_statistics(&t, leaf);
  put_encoding_stats(&t, leaf);
  return tn_thrift_out_end(&t, err);
}

tarn_status tn_pq_footer_add_chunk(tn_pq_footer_writer *footer, const tn_pq_leaf_writer *leaf,
                                   int64_t offset, int64_t dictionary_bytes, tarn_error *err) {
  tn_pq_chunk_note note = {footer->metadata.len, footer->column_indexes.len,
                           footer->offset_indexes.len};
  TN_TRY(encode_metadata(footer, leaf, offset, dictionary_bytes, &footer->metadata, err));
  if (has_column_index(leaf)) {
    TN_TRY(encode_column_index(leaf, &footer->column_indexes, err));
  }
  TN_TRY(encode_offset_index(leaf, offset + dictionary_bytes, &footer->offset_indexes, err));
  note.metadata_bytes = footer->metadata.len - note.metadata_bytes;
  note.column_index_bytes = footer->column_indexes.len - note.column_index_bytes;
  note.offset_index_bytes = footer->offset_indexes.len - note.offset_index_bytes;
  return tn_pq_bytes_append(&footer->chunks, &note, sizeof(note), err);
}

/* ------------------------------------------------------------------ the footer */

/* Where the next chunk's parts lie. */
typedef struct footer_places {
  const uint8_t *metadata;
  int64_t column_index, offset_index;
} footer_places;

/* ColumnChunk. */
static void put_chunk(tn_thrift_out *t, const tn_pq_chunk_note *note, footer_places *at) {
  tn_thrift_put_struct_element(t);
  tn_thrift_put_int(t, 2, TN_THRIFT_I64, 0);
  tn_thrift_put_raw_struct(t, 3, tn_slice_of(at->metadata, note->metadata_bytes));
  tn_thrift_put_int(t, 4, TN_THRIFT_I64, at->offset_index);
  tn_thrift_put_int(t, 5, TN_THRIFT_I32, (int64_t)note->offset_index_bytes);
  if (note->column_index_bytes > 0) {
    tn_thrift_put_int(t, 6, TN_THRIFT_I64, at->column_index);
    tn_thrift_put_int(t, 7, TN_THRIFT_I32, (int64_t)note->column_index_bytes);
  }
  tn_thrift_put_end(t);
  at->metadata += note->metadata_bytes;
  at->column_index += (int64_t)note->column_index_bytes;
  at->offset_index += (int64_t)note->offset_index_bytes;
}

static void put_groups(tn_thrift_out *t, const tn_pq_footer_writer *footer, int64_t offset) {
  const tn_pq_group_note *groups = (const void *)footer->groups.data;
  const tn_pq_chunk_note *chunk = (const void *)footer->chunks.data;
  size_t n = footer->groups.len / sizeof(*groups);
  footer_places at = {footer->metadata.data, offset, offset + (int64_t)footer->column_indexes.len};
  tn_thrift_put_list(t, 4, TN_THRIFT_STRUCT, n);
  for (size_t i = 0; i < n; i++) {
    tn_thrift_put_struct_element(t);
    tn_thrift_put_list(t, 1, TN_THRIFT_STRUCT, (size_t)footer->schema->n_leaves);
    for (int32_t k = 0; k < footer->schema->n_leaves; k++) {
      put_chunk(t, chunk++, &at);
    }
    tn_thrift_put_int(t, 2, TN_THRIFT_I64, groups[i].plain_bytes);
    tn_thrift_put_int(t, 3, TN_THRIFT_I64, groups[i].n_rows);
    tn_thrift_put_int(t, 5, TN_THRIFT_I64, groups[i].offset);
    tn_thrift_put_int(t, 6, TN_THRIFT_I64, groups[i].packed_bytes);
    if (i <= INT16_MAX) {
      tn_thrift_put_int(t, 7, TN_THRIFT_I16, (int64_t)i);
    }
    tn_thrift_put_end(t);
  }
}

static void put_key_values(tn_thrift_out *t, const tn_write_metadata *metadata, int32_t n) {
  if (n == 0) {
    return;
  }
  tn_thrift_put_list(t, 5, TN_THRIFT_STRUCT, (size_t)n);
  for (int32_t i = 0; i < n; i++) {
    tn_thrift_put_struct_element(t);
    tn_thrift_put_binary(t, 1, tn_slice_text(metadata[i].key));
    if (metadata[i].value != NULL) {
      tn_thrift_put_binary(t, 2, tn_slice_text(metadata[i].value));
    }
    tn_thrift_put_end(t);
  }
}

/* Every column is ordered by its type. */
static void put_orders(tn_thrift_out *t, int32_t n_leaves) {
  tn_thrift_put_list(t, 7, TN_THRIFT_STRUCT, (size_t)n_leaves);
  for (int32_t i = 0; i < n_leaves; i++) {
    tn_thrift_put_struct_element(t);
    tn_thrift_put_empty_struct(t, 1);
    tn_thrift_put_end(t);
  }
}

int64_t tn_pq_footer_bytes(const tn_pq_footer_writer *footer) {
  size_t n_chunks = footer->chunks.len / sizeof(tn_pq_chunk_note);
  return (int64_t)(footer->metadata.len + footer->column_indexes.len + footer->offset_indexes.len +
                   footer->schema->elements.len + n_chunks * 24 + 64);
}

tarn_status tn_pq_footer_encode(tn_pq_footer_writer *footer, int64_t offset,
                                const tn_write_metadata *metadata, int32_t n_metadata,
                                tn_pq_bytes *out, tarn_error *err) {
  char created_by[64];
  uint8_t length[4];
  size_t begin;
  tn_thrift_out t;
  snprintf(created_by, sizeof(created_by), "tarn version %d.%d.%d", TARN_VERSION_MAJOR,
           TARN_VERSION_MINOR, TARN_VERSION_PATCH);
  out->len = 0;
  TN_TRY(tn_pq_bytes_append(out, footer->column_indexes.data, footer->column_indexes.len, err));
  TN_TRY(tn_pq_bytes_append(out, footer->offset_indexes.data, footer->offset_indexes.len, err));
  begin = out->len;
  tn_thrift_out_begin(&t, out);
  tn_thrift_put_int(&t, 1, TN_THRIFT_I32, FORMAT_VERSION);
  tn_thrift_put_list(&t, 2, TN_THRIFT_STRUCT, (size_t)footer->schema->n_elements);
  tn_thrift_put_raw(&t, tn_pq_bytes_slice(&footer->schema->elements));
  tn_thrift_put_int(&t, 3, TN_THRIFT_I64, footer->n_rows);
  put_groups(&t, footer, offset);
  put_key_values(&t, metadata, n_metadata);
  tn_thrift_put_binary(&t, 6, tn_slice_text(created_by));
  put_orders(&t, footer->schema->n_leaves);
  TN_TRY(tn_thrift_out_end(&t, err));
  if (out->len - begin > INT32_MAX) {
    return tn_fail(err, TARN_E_LIMIT, "a Parquet footer of %zu bytes: 2 GiB are the most",
                   out->len - begin);
  }
  tn_store_le32(length, (uint32_t)(out->len - begin));
  TN_TRY(tn_pq_bytes_append(out, length, sizeof(length), err));
  return tn_pq_bytes_append(out, MAGIC, 4, err);
}
