/* leaf.c - pages into the buffer, rows out of it, rows stepped over. */
#include "format/parquet/leaf.h"

#include "base/bytes.h"

#define LIMIT_BYTES ((int64_t)8 << 20)
#define PIECE_BYTES ((int64_t)256 << 10) /* of strings that are appended between two checks */

/* ------------------------------------------------------------------ life */

tarn_status tn_pq_leaf_init(tn_pq_leaf *leaf, tarn_env *env, const tn_pq_node *node,
                            const tn_type *type, const char *path, const char *column,
                            tn_codec_context *codec, tarn_error *err) {
  memset(leaf, 0, sizeof(*leaf));
  leaf->env = env;
  leaf->node = node;
  leaf->type = type;
  leaf->limit_bytes = LIMIT_BYTES;
  leaf->pages.env = env;
  leaf->pages.path = path;
  leaf->pages.column = column;
  leaf->pages.leaf = node;
  leaf->pages.codec = codec;
  tn_pq_values_init(&leaf->values, &env->mem);
  tn_pq_dense_init(&leaf->dense, env, type, &leaf->convert);
  if (type != NULL) {
    TN_TRY(tn_pq_convert_bind(node, type, path, column, &leaf->convert, err));
  }
  if (node->rep_slot > 0) {
    leaf->block_def = tn_alloc(&env->mem, 2 * TN_PQ_BLOCK);
    if (leaf->block_def == NULL) {
      return tn_oom(err);
    }
    leaf->block_rep = leaf->block_def + TN_PQ_BLOCK;
  }
  return TARN_OK;
}

/* An empty buffer, its first row to come being next_row. */
static void empty_buffer(tn_pq_leaf *leaf) {
  tn_pq_dense_reset(&leaf->dense);
  tn_buffer_release(leaf->def);
  leaf->def = NULL;
  leaf->n_started = leaf->n_entries = 0;
  leaf->is_row_open = false;
  leaf->first_row = leaf->next_row;
}

void tn_pq_leaf_close(tn_pq_leaf *leaf) {
  empty_buffer(leaf);
  tn_buffer_release(leaf->rep);
  leaf->rep = NULL;
  tn_pq_page_reset(&leaf->page);
  tn_dictionary_release(leaf->dictionary);
  leaf->dictionary = NULL;
}

void tn_pq_leaf_reset(tn_pq_leaf *leaf) {
  if (leaf->env != NULL) {
    tn_pq_leaf_close(leaf);
    tn_pq_values_reset(&leaf->values);
    tn_free(&leaf->env->mem, leaf->block_def);
  }
  memset(leaf, 0, sizeof(*leaf));
}

tarn_status tn_pq_leaf_open(tn_pq_leaf *leaf, const tn_pq_chunk *chunk, int64_t n_rows,
                            const tn_pq_page_source *source, tarn_error *err) {
  tn_pq_leaf_close(leaf);
  leaf->chunk = chunk;
  leaf->n_rows = n_rows;
  leaf->source = *source;
  leaf->pages.prefetch = source->prefetch;
  leaf->pages.range = source->range;
  leaf->pages.at = leaf->pages.page_offset = source->bytes.offset;
  leaf->pages.end = source->bytes.offset + source->bytes.length;
  leaf->entries_seen = leaf->next_row = leaf->first_row = 0;
  leaf->page_number = -1;
  leaf->has_header = false;
  leaf->page_left = leaf->page_rows = leaf->page_first_row = 0;
  leaf->block_at = leaf->block_n = 0;
  if (chunk->physical != (int32_t)leaf->node->element->physical) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: column `%s` is %s in the schema, %s in its data",
                   leaf->pages.path, leaf->pages.column,
                   tn_pq_physical_name((int32_t)leaf->node->element->physical),
                   tn_pq_physical_name(chunk->physical));
  }
  if (leaf->node->rep_slot == 0 && chunk->n_values != n_rows) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: column `%s` has %lld values, its row group %lld rows",
                   leaf->pages.path, leaf->pages.column, (long long)chunk->n_values,
                   (long long)n_rows);
  }
  if (!tn_pq_codec_id(chunk->codec, &leaf->pages.codec_id)) {
    return tn_fail(err, TARN_E_UNSUPPORTED, "%s: column `%s`: Parquet codec %d is not known",
                   leaf->pages.path, leaf->pages.column, (int)chunk->codec);
  }
  return TARN_OK;
}

static bool is_flat(const tn_pq_leaf *leaf) {
  return leaf->node->rep_slot == 0;
}

/* ------------------------------------------------------------------ pages */

static tarn_status load_dictionary(tn_pq_leaf *leaf, tn_pq_pages *pages, tarn_error *err) {
  const tn_vec *values;
  if (leaf->type == NULL) {
    return TARN_OK;  // levels need none
  }
  if (leaf->dictionary != NULL) {
    return tn_pq_pages_fail(pages, err, "a second dictionary");
  }
  TN_TRY(tn_pq_dictionary_load(pages, leaf->type, &leaf->convert, &leaf->dictionary, err));
  values = &leaf->dictionary->values;
  leaf->dictionary_max_len = 0;
  for (int64_t i = 0; leaf->convert.layout == TN_LAYOUT_BYTES && i < values->length; i++) {
    int64_t len = values->offsets[i + 1] - values->offsets[i];
    leaf->dictionary_max_len = len > leaf->dictionary_max_len ? len : leaf->dictionary_max_len;
  }
  return TARN_OK;
}

/* With an index, the dictionary is looked for when the first page needs it. */
static tarn_status find_dictionary(tn_pq_leaf *leaf, tarn_error *err) {
  tn_pq_pages pages = leaf->pages;
  bool has_page;
  if (leaf->source.dictionary_range < 0) {
    return TARN_OK;
  }
  pages.range = leaf->source.dictionary_range;
  pages.at = pages.page_offset = leaf->source.dictionary_bytes.offset;
  pages.end = pages.at + leaf->source.dictionary_bytes.length;
  TN_TRY(tn_pq_pages_next(&pages, &has_page, err));
  if (has_page && pages.header.type == TN_PQ_DICTIONARY_PAGE) {
    return load_dictionary(leaf, &pages, err);
  }
  return TARN_OK;
}

/* Point at page k of the index. */
static void go_to_page(tn_pq_leaf *leaf, int32_t k) {
  const tn_pq_page_location *location = &leaf->source.index->pages[k];
  leaf->page_number = k;
  leaf->pages.range = leaf->source.page_ranges[k];
  leaf->pages.at = location->offset;
  leaf->pages.end = location->offset + location->bytes;
}

static int64_t indexed_rows(const tn_pq_leaf *leaf, int32_t k) {
  const tn_pq_offset_index *index = leaf->source.index;
  int64_t end = k + 1 < index->n_pages ? index->pages[k + 1].first_row : leaf->n_rows;
  return end - index->pages[k].first_row;
}

/* What the header tells of rows (L2), checked against the row group. */
static tarn_status note_page_rows(tn_pq_leaf *leaf, tarn_error *err) {
  const tn_pq_page_header *h = &leaf->pages.header;
  bool is_v2 = h->type == TN_PQ_DATA_PAGE_V2;
  leaf->page_first_row = leaf->next_row;
  leaf->page_rows = is_flat(leaf) ? h->n_values : is_v2 ? h->n_rows : -1;
  leaf->starts_row = is_v2 || leaf->source.index != NULL;
  if (leaf->source.index != NULL) {
    int64_t rows = indexed_rows(leaf, leaf->page_number);
    if (leaf->page_rows >= 0 && leaf->page_rows != rows) {
      return tn_pq_pages_fail(&leaf->pages, err, "%lld rows, the offset index says %lld",
                              (long long)leaf->page_rows, (long long)rows);
    }
    leaf->page_rows = rows;
  }
  if (leaf->page_rows > leaf->n_rows - leaf->next_row) {
    return tn_pq_pages_fail(&leaf->pages, err, "rows %lld to %lld, the row group has %lld",
                            (long long)leaf->next_row,
                            (long long)(leaf->next_row + leaf->page_rows), (long long)leaf->n_rows);
  }
  leaf->entries_seen += h->n_values;
  if (leaf->entries_seen > leaf->chunk->n_values && leaf->source.index == NULL) {
    return tn_pq_pages_fail(&leaf->pages, err, "%lld values so far, the column has %lld",
                            (long long)leaf->entries_seen, (long long)leaf->chunk->n_values);
  }
  return TARN_OK;
}

/* Read the header of the next page with entries; *has_page is false at the chunk's end. */
static tarn_status next_page(tn_pq_leaf *leaf, bool *has_page, tarn_error *err) {
  tn_pq_page_reset(&leaf->page);
  leaf->page_left = 0;
  *has_page = false;
  for (;;) {
    if (leaf->source.index != NULL) {
      int32_t k = leaf->page_number + 1;
      if (k >= leaf->source.index->n_pages || leaf->source.page_ranges[k] < 0) {
        return TARN_OK;
      }
      go_to_page(leaf, k);
    } else if (leaf->entries_seen >= leaf->chunk->n_values) {
      return TARN_OK;
    }
    TN_TRY(tn_pq_pages_next(&leaf->pages, has_page, err));
    if (!*has_page) {
      return TARN_OK;
    }
    if (leaf->pages.header.type == TN_PQ_DICTIONARY_PAGE) {
      TN_TRY(load_dictionary(leaf, &leaf->pages, err));
    } else if (leaf->pages.header.n_values > 0) {
      break;
    }
    *has_page = false;
  }
  leaf->has_header = true;
  return note_page_rows(leaf, err);
}

/* Entries that may be decoded without passing the byte limit by much. */
static int64_t piece_of_page(const tn_pq_leaf *leaf) {
  int64_t bytes_each;
  if (leaf->convert.layout != TN_LAYOUT_BYTES || leaf->page_mode != TN_PQ_MODE_FLAT) {
    return INT64_MAX;
  }
  if (leaf->values.kind == TN_PQ_VALUES_DELTA_BYTES) {
    return 64;  // each may be as long as all before it together
  }
  bytes_each = leaf->values.kind == TN_PQ_VALUES_CODES
                   ? leaf->dictionary_max_len
                   : (int64_t)leaf->page.values.len / (leaf->page.n_entries + 1);
  return 1 + PIECE_BYTES / (bytes_each + 1);
}

static tn_pq_mode mode_of_page(const tn_pq_leaf *leaf) {
  tn_layout layout = leaf->convert.layout;
  if (leaf->allows_encoded && leaf->values.kind == TN_PQ_VALUES_CODES && leaf->dictionary != NULL &&
      (layout == TN_LAYOUT_BYTES || layout == TN_LAYOUT_I128)) {
    return TN_PQ_MODE_CODES;
  }
  if (leaf->allows_encoded && layout == TN_LAYOUT_BYTES && tn_pq_values_are_stable(&leaf->values)) {
    return TN_PQ_MODE_VIEWS;
  }
  return TN_PQ_MODE_FLAT;
}

/* Load the page whose header was read. */
static tarn_status load_page(tn_pq_leaf *leaf, tarn_error *err) {
  const char *wrong;
  uint32_t width = leaf->convert.source == TN_PQ_SOURCE_FIXED ? leaf->convert.raw_width : 0;
  TN_TRY(tn_pq_pages_load(&leaf->pages, &leaf->page, err));
  leaf->has_header = false;
  leaf->page_left = leaf->page.n_entries;
  leaf->block_at = leaf->block_n = 0;
  leaf->piece = INT64_MAX;
  leaf->page_mode = TN_PQ_MODE_FLAT;
  if (leaf->type == NULL) {
    return TARN_OK;
  }
  wrong = tn_pq_values_open(&leaf->values, leaf->node->element->physical, width,
                            leaf->page.encoding, leaf->page.values);
  if (wrong != NULL) {
    return tn_pq_pages_fail(&leaf->pages, err, "%s (%d): %s",
                            tn_pq_encoding_name(leaf->page.encoding), (int)leaf->page.encoding,
                            wrong);
  }
  if (leaf->values.kind == TN_PQ_VALUES_CODES && leaf->dictionary == NULL) {
    TN_TRY(find_dictionary(leaf, err));
  }
  leaf->page_mode = mode_of_page(leaf);
  leaf->piece = piece_of_page(leaf);
  return TARN_OK;
}

static tarn_status rows_missing(const tn_pq_leaf *leaf, tarn_error *err) {
  return tn_fail(err, TARN_E_CORRUPT, "%s: column `%s` ends after %lld rows of a row group of %lld",
                 leaf->pages.path, leaf->pages.column, (long long)leaf->next_row,
                 (long long)leaf->n_rows);
}

static tarn_status levels_missing(const tn_pq_leaf *leaf, tarn_error *err) {
  return tn_pq_pages_fail(&leaf->pages, err,
                          "levels of %d entries are cut short or above their maximum",
                          (int)leaf->page.n_entries);
}

/* ------------------------------------------------------------------ levels */

int64_t tn_pq_bits_from_levels(const uint8_t *levels, int64_t n, uint8_t least, uint8_t *out) {
  int64_t i = 0, count = 0;
  for (; i + 8 <= n; i += 8) {
    uint32_t byte = 0;
    for (int b = 0; b < 8; b++) {
      byte |= (uint32_t)(levels[i + b] >= least) << b;
    }
    out[i / 8] = (uint8_t)byte;
    count += __builtin_popcount(byte);
  }
  if (i < n) {
    out[i / 8] = 0;
    for (; i < n; i++) {
      tn_bit_put(out, i, levels[i] >= least);
      count += levels[i] >= least;
    }
  }
  return count;
}

static int64_t count_equal(const uint8_t *levels, int64_t n, uint8_t level) {
  int64_t count = 0;
  for (int64_t i = 0; i < n; i++) {
    count += levels[i] == level;
  }
  return count;
}

/* Room for n more levels in a buffer of levels. */
static tarn_status make_level_room(tn_pq_leaf *leaf, tn_buffer **levels, int64_t n,
                                   tarn_error *err) {
  size_t used = (size_t)leaf->n_entries, wanted = used + (size_t)n;
  if (*levels == NULL) {
    return tn_buffer_create(leaf->env, wanted, levels, err);
  }
  if (wanted <= (*levels)->capacity) {
    return TARN_OK;
  }
  return tn_buffer_grow(levels, used, wanted + wanted / 2, err);
}

/* The values of the entries that were just decoded. */
static tarn_status append_values(tn_pq_leaf *leaf, int64_t n_present, tarn_error *err) {
  if (leaf->type == NULL) {
    return TARN_OK;
  }
  return tn_pq_dense_append(&leaf->dense, &leaf->values, &leaf->page, leaf->dictionary, n_present,
                            &leaf->pages, err);
}

static tarn_status skip_values(tn_pq_leaf *leaf, int64_t n_present, tarn_error *err) {
  int64_t skipped;
  if (leaf->type == NULL || n_present == 0) {
    return TARN_OK;
  }
  TN_TRY(tn_pq_values_skip(&leaf->values, n_present, &skipped, err));
  if (skipped != n_present) {
    return tn_pq_pages_fail(&leaf->pages, err, "fewer values (%s) than its %d entries call for",
                            tn_pq_encoding_name(leaf->page.encoding), (int)leaf->page.n_entries);
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ flat columns */

/* The levels of the next n entries of the page: how many have a value. */
static tarn_status flat_levels(tn_pq_leaf *leaf, int64_t n, int64_t *n_present, tarn_error *err) {
  uint8_t max = leaf->node->def_present;
  int64_t done = 0;
  *n_present = 0;
  while (done < n) {
    int64_t k = tn_pq_levels_take_max(&leaf->page.def, n - done);
    if (k > 0) {
      if (leaf->def != NULL) {
        TN_TRY(make_level_room(leaf, &leaf->def, k, err));
        memset(leaf->def->data + leaf->n_entries, max, (size_t)k);
      }
      *n_present += k;
    } else {
      uint8_t *to;
      k = n - done < TN_PQ_BLOCK ? n - done : TN_PQ_BLOCK;
      if (leaf->def == NULL) {
        TN_TRY(make_level_room(leaf, &leaf->def, n, err));
        memset(leaf->def->data, max, (size_t)leaf->n_entries);
      }
      TN_TRY(make_level_room(leaf, &leaf->def, k, err));
      to = leaf->def->data + leaf->n_entries;
      if (tn_pq_levels_get(&leaf->page.def, k, to) != k) {
        return levels_missing(leaf, err);
      }
      *n_present += count_equal(to, k, max);
    }
    leaf->n_entries += k;
    done += k;
  }
  return TARN_OK;
}

static tarn_status fill_flat(tn_pq_leaf *leaf, int64_t n, tarn_error *err) {
  while (leaf->n_started < n && leaf->dense.n_bytes < leaf->limit_bytes) {
    int64_t k, n_present;
    if (leaf->page_left == 0 && !leaf->has_header) {
      bool has_page;
      TN_TRY(next_page(leaf, &has_page, err));
      if (!has_page) {
        return rows_missing(leaf, err);
      }
    }
    if (leaf->has_header) {
      TN_TRY(load_page(leaf, err));
      continue;  // it may have no entries
    }
    if (leaf->n_started == 0) {
      TN_TRY(leaf->type == NULL ? TARN_OK
                                : tn_pq_dense_start(&leaf->dense, leaf->page_mode, n, err));
    } else if (leaf->page_mode != leaf->dense.mode) {
      return TARN_OK;  // L4
    }
    k = n - leaf->n_started;
    k = k < leaf->page_left ? k : leaf->page_left;
    k = k < leaf->piece ? k : leaf->piece;
    TN_TRY(flat_levels(leaf, k, &n_present, err));
    TN_TRY(append_values(leaf, n_present, err));
    leaf->page_left -= k;
    leaf->n_started += k;
    leaf->next_row += k;
  }
  return TARN_OK;
}

/* Step over n entries of the page that is loaded. */
static tarn_status skip_flat_in_page(tn_pq_leaf *leaf, int64_t n, tarn_error *err) {
  uint8_t scratch[TN_PQ_BLOCK];
  int64_t done = 0, n_present = 0;
  while (done < n) {
    int64_t k = tn_pq_levels_take_max(&leaf->page.def, n - done);
    if (k > 0) {
      n_present += k;
    } else {
      k = n - done < TN_PQ_BLOCK ? n - done : TN_PQ_BLOCK;
      if (tn_pq_levels_get(&leaf->page.def, k, scratch) != k) {
        return levels_missing(leaf, err);
      }
      n_present += count_equal(scratch, k, leaf->node->def_present);
    }
    done += k;
  }
  leaf->page_left -= n;
  leaf->next_row += n;
  return skip_values(leaf, n_present, err);
}

/* ------------------------------------------------------------------ nested columns */

/* More levels of the page that is loaded. */
static tarn_status next_block(tn_pq_leaf *leaf, tarn_error *err) {
  int64_t n = leaf->page_left < TN_PQ_BLOCK ? leaf->page_left : TN_PQ_BLOCK;
  bool is_first = leaf->page_left == leaf->page.n_entries;
  if (tn_pq_levels_get(&leaf->page.rep, n, leaf->block_rep) != n ||
      tn_pq_levels_get(&leaf->page.def, n, leaf->block_def) != n) {
    return levels_missing(leaf, err);
  }
  if (is_first && leaf->block_rep[0] != 0 && (leaf->starts_row || leaf->next_row == 0)) {
    return tn_pq_pages_fail(&leaf->pages, err, "it begins within a row (repetition level %d)",
                            (int)leaf->block_rep[0]);
  }
  leaf->page_left -= n;
  leaf->block_at = 0;
  leaf->block_n = (int32_t)n;
  return TARN_OK;
}

/* At a page's end: did it hold the rows it was said to? Pages may only be stepped over by what they
 * say (L2) if they keep it. */
static tarn_status check_page_rows(tn_pq_leaf *leaf, tarn_error *err) {
  int64_t rows = leaf->next_row - leaf->page_first_row;
  bool is_at_end = leaf->block_at == leaf->block_n && leaf->page_left == 0;
  if (is_at_end && leaf->page_rows >= 0 && leaf->page.buffer != NULL && rows != leaf->page_rows) {
    return tn_pq_pages_fail(&leaf->pages, err, "%lld rows, %lld were said", (long long)rows,
                            (long long)leaf->page_rows);
  }
  return TARN_OK;
}

/* Entries of the block, `most` at the most, up to the one that would start row `end_row`:
 * *is_closed tells that it was met. */
static int32_t block_entries(tn_pq_leaf *leaf, int64_t end_row, int64_t most, int64_t *n_started,
                             bool *is_closed) {
  int32_t i = leaf->block_at;
  int64_t end = leaf->block_n - i < most ? leaf->block_n : i + most;
  *n_started = 0;
  *is_closed = false;
  for (; i < end; i++) {
    if (leaf->block_rep[i] == 0) {
      if (leaf->next_row + *n_started == end_row) {
        *is_closed = true;
        break;
      }
      ++*n_started;
    }
  }
  return i - leaf->block_at;
}

/* Get a block with entries. *has_block false: the chunk has none left. */
static tarn_status more_entries(tn_pq_leaf *leaf, bool *has_block, tarn_error *err) {
  *has_block = leaf->block_at < leaf->block_n;
  while (!*has_block) {
    if (leaf->has_header) {
      TN_TRY(load_page(leaf, err));
    } else if (leaf->page_left == 0) {
      bool has_page;
      TN_TRY(check_page_rows(leaf, err));
      TN_TRY(next_page(leaf, &has_page, err));
      if (!has_page) {
        return TARN_OK;
      }
      continue;
    }
    if (leaf->page_left > 0) {
      TN_TRY(next_block(leaf, err));
      *has_block = true;
    }
  }
  return TARN_OK;
}

/* Does the row that was started last end here for certain, without looking into the next page?
 * Pages of a kind that starts with a row are followed by such pages. */
static bool ends_with_page(const tn_pq_leaf *leaf) {
  return leaf->block_at == leaf->block_n && leaf->page_left == 0 && !leaf->has_header &&
         (leaf->starts_row || leaf->entries_seen == leaf->chunk->n_values);
}

static tarn_status append_entries(tn_pq_leaf *leaf, int32_t n, tarn_error *err) {
  const uint8_t *def = leaf->block_def + leaf->block_at;
  TN_TRY(make_level_room(leaf, &leaf->def, n, err));
  TN_TRY(make_level_room(leaf, &leaf->rep, n, err));
  memcpy(leaf->def->data + leaf->n_entries, def, (size_t)n);
  memcpy(leaf->rep->data + leaf->n_entries, leaf->block_rep + leaf->block_at, (size_t)n);
  leaf->n_entries += n;
  leaf->block_at += n;
  return append_values(leaf, count_equal(def, n, leaf->node->def_present), err);
}

static int64_t buffered_bytes(const tn_pq_leaf *leaf) {
  return leaf->dense.n_bytes + leaf->dense.n * leaf->convert.out_width + 2 * leaf->n_entries;
}

/* Until n rows are whole, or the limit is passed: then one row is enough. */
static tarn_status fill_nested(tn_pq_leaf *leaf, int64_t n, tarn_error *err) {
  while (leaf->n_started - leaf->is_row_open < n) {
    bool is_full = leaf->n_started > 0 && buffered_bytes(leaf) >= leaf->limit_bytes;
    bool has_block, is_closed;
    int64_t n_started;
    int32_t k;
    if (is_full && leaf->n_started - leaf->is_row_open > 0) {
      return TARN_OK;
    }
    if (leaf->is_row_open && ends_with_page(leaf)) {
      leaf->is_row_open = false;
      continue;
    }
    TN_TRY(more_entries(leaf, &has_block, err));
    if (!has_block) {
      leaf->is_row_open = false;
      return leaf->n_started < n ? rows_missing(leaf, err) : TARN_OK;
    }
    if (leaf->n_started == 0 && leaf->block_rep[leaf->block_at] != 0) {
      return tn_pq_pages_fail(&leaf->pages, err, "it goes on with a row that has ended");
    }
    k = block_entries(leaf, is_full ? leaf->next_row : leaf->first_row + n, leaf->piece, &n_started,
                      &is_closed);
    leaf->is_row_open = !is_closed;
    leaf->n_started += n_started;
    leaf->next_row += n_started;
    if (leaf->next_row == leaf->n_rows && is_closed) {
      return tn_pq_pages_fail(&leaf->pages, err, "more rows than the %lld of the row group",
                              (long long)leaf->n_rows);
    }
    if (k > 0) {
      TN_TRY(append_entries(leaf, k, err));
      TN_TRY(check_page_rows(leaf, err));
    }
  }
  return TARN_OK;
}

/* Step over entries of the loaded page until one starts `row`, or the page ends. */
static tarn_status skip_nested_in_page(tn_pq_leaf *leaf, int64_t row, tarn_error *err) {
  bool is_closed = false;
  while (!is_closed) {
    int64_t n_started;
    int32_t k;
    if (leaf->block_at == leaf->block_n) {
      if (leaf->page_left == 0) {
        return TARN_OK;
      }
      TN_TRY(next_block(leaf, err));
    }
    k = block_entries(leaf, row, TN_PQ_BLOCK, &n_started, &is_closed);
    TN_TRY(skip_values(
        leaf, count_equal(leaf->block_def + leaf->block_at, k, leaf->node->def_present), err));
    leaf->block_at += k;
    leaf->next_row += n_started;
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ positions */

/* Go to the page of the index that holds a row, unless it is the one at hand. */
static tarn_status seek_by_index(tn_pq_leaf *leaf, int64_t row, tarn_error *err) {
  const tn_pq_offset_index *index = leaf->source.index;
  int32_t low = 0, high = index->n_pages;
  while (high - low > 1) {
    int32_t middle = low + (high - low) / 2;
    if (index->pages[middle].first_row <= row) {
      low = middle;
    } else {
      high = middle;
    }
  }
  if (low != leaf->page_number) {
    bool has_page;
    if (leaf->source.page_ranges[low] < 0) {
      return TN_BUG(err, "a row of a page that was not asked for");
    }
    leaf->page_number = low - 1;
    leaf->next_row = index->pages[low].first_row;
    leaf->block_at = leaf->block_n = 0;
    TN_TRY(next_page(leaf, &has_page, err));
  }
  return TARN_OK;
}

/* Is the whole page at hand in front of `row`, as far as its header tells? */
static bool can_step_over(const tn_pq_leaf *leaf, int64_t row) {
  return leaf->has_header && leaf->page_rows >= 0 && leaf->page_first_row + leaf->page_rows <= row;
}

/* The next entry to decode becomes the one that starts `row`. The buffer is empty. */
static tarn_status seek(tn_pq_leaf *leaf, int64_t row, tarn_error *err) {
  while (leaf->next_row < row || leaf->is_row_open) {
    bool has_page = true;
    if (leaf->source.index != NULL && leaf->next_row < row) {
      TN_TRY(seek_by_index(leaf, row, err));
      leaf->is_row_open = false;
    }
    if (can_step_over(leaf, row)) {
      leaf->next_row += leaf->page_rows;
      leaf->has_header = false;
      leaf->is_row_open = false;
    }
    if (leaf->page_left == 0 && !leaf->has_header && leaf->block_at == leaf->block_n) {
      if (leaf->next_row == row && (!leaf->is_row_open || ends_with_page(leaf))) {
        break;
      }
      if (!is_flat(leaf)) {
        TN_TRY(check_page_rows(leaf, err));
      }
      TN_TRY(next_page(leaf, &has_page, err));
      if (!has_page) {
        break;
      }
      continue;
    }
    if (leaf->has_header) {
      TN_TRY(load_page(leaf, err));
      continue;
    }
    if (is_flat(leaf)) {
      int64_t n = row - leaf->next_row;
      TN_TRY(skip_flat_in_page(leaf, n < leaf->page_left ? n : leaf->page_left, err));
    } else {
      TN_TRY(skip_nested_in_page(leaf, row, err));
      leaf->is_row_open = leaf->block_at == leaf->block_n;
    }
  }
  leaf->is_row_open = false;
  leaf->first_row = leaf->next_row;
  return leaf->next_row == row ? TARN_OK : rows_missing(leaf, err);
}

/* Rows in front of `row` leave the buffer; what it cannot reach that way is sought. */
static tarn_status go_to_row(tn_pq_leaf *leaf, int64_t row, tarn_error *err) {
  int64_t n = row - leaf->first_row;
  if (n < 0) {
    return TN_BUG(err, "a leaf cannot go back");
  }
  if (n == 0) {
    return TARN_OK;
  }
  if (n < leaf->n_started) {
    return tn_pq_leaf_drop(leaf, n, tn_pq_leaf_entries(leaf, n), false, err);
  }
  // the row that is open goes on behind the buffer: seek() steps over the rest of it
  bool is_row_open = leaf->is_row_open;
  empty_buffer(leaf);
  leaf->is_row_open = is_row_open;
  return seek(leaf, row, err);
}

tarn_status tn_pq_leaf_fill(tn_pq_leaf *leaf, int64_t row, int64_t n, int64_t *n_out,
                            tarn_error *err) {
  *n_out = 0;
  TN_TRY(go_to_row(leaf, row, err));
  if (leaf->source.index != NULL && leaf->page_number < 0) {
    TN_TRY(seek_by_index(leaf, row, err));
  }
  TN_TRY(is_flat(leaf) ? fill_flat(leaf, n, err) : fill_nested(leaf, n, err));
  *n_out = leaf->n_started - leaf->is_row_open;
  *n_out = *n_out < n ? *n_out : n;
  return TARN_OK;
}

/* ------------------------------------------------------------------ taking */

int64_t tn_pq_leaf_entries(const tn_pq_leaf *leaf, int64_t n_rows) {
  int64_t rows = 0;
  if (is_flat(leaf)) {
    return n_rows;
  }
  if (n_rows == leaf->n_started) {
    return leaf->n_entries;
  }
  for (int64_t i = 0; i < leaf->n_entries; i++) {
    if (leaf->rep->data[i] == 0 && rows++ == n_rows) {
      return i;
    }
  }
  return leaf->n_entries;
}

static int64_t count_present(const tn_pq_leaf *leaf, int64_t n_entries) {
  return leaf->def == NULL ? n_entries
                           : count_equal(leaf->def->data, n_entries, leaf->node->def_present);
}

/* Which slots have a value: a bit for each entry that has a slot. */
static int64_t slot_bits(const tn_pq_leaf *leaf, int64_t n_entries, uint8_t *bits) {
  const uint8_t *def = leaf->def->data;
  uint8_t def_slot = leaf->node->def_slot, max = leaf->node->def_present;
  int64_t n = 0;
  if (def_slot == 0) {
    tn_pq_bits_from_levels(def, n_entries, max, bits);
    return n_entries;
  }
  for (int64_t i = 0; i < n_entries; i++) {
    if (def[i] >= def_slot) {
      tn_bit_put(bits, n++, def[i] == max);
    }
  }
  if (n % 8 != 0) {
    bits[n / 8] &= (uint8_t)((1u << (n % 8)) - 1);
  }
  return n;
}

tarn_status tn_pq_leaf_take(tn_pq_leaf *leaf, int64_t n_entries, tn_vec *out, tarn_error *err) {
  tn_buffer *valid = NULL;
  int64_t n_present = count_present(leaf, n_entries), n_slots = n_entries;
  if (leaf->def != NULL) {
    TN_TRY(tn_buffer_create(leaf->env, TN_BITMAP_BYTES(n_entries), &valid, err));
    n_slots = slot_bits(leaf, n_entries, valid->data);
  }
  return tn_pq_dense_take(&leaf->dense, n_present, valid, n_slots, out, err);
}

/* n values go to nobody. */
static tarn_status drop_values(tn_pq_leaf *leaf, int64_t n, tarn_error *err) {
  tn_vec none;
  tarn_status st;
  if (leaf->type == NULL) {
    return TARN_OK;
  }
  TN_TRY(tn_vec_init(leaf->env, leaf->type, &none, err));
  st = tn_pq_dense_take(&leaf->dense, n, NULL, n, &none, err);
  tn_vec_reset(leaf->env, &none);
  return st;
}

tarn_status tn_pq_leaf_drop(tn_pq_leaf *leaf, int64_t n_rows, int64_t n_entries, bool is_taken,
                            tarn_error *err) {
  int64_t left = leaf->n_entries - n_entries;
  if (!is_taken) {
    TN_TRY(drop_values(leaf, count_present(leaf, n_entries), err));
  }
  if (left > 0 && leaf->def != NULL) {
    memmove(leaf->def->data, leaf->def->data + n_entries, (size_t)left);
  }
  if (left > 0 && leaf->rep != NULL) {
    memmove(leaf->rep->data, leaf->rep->data + n_entries, (size_t)left);
  }
  if (left == 0 && is_flat(leaf)) {
    tn_buffer_release(leaf->def);
    leaf->def = NULL;  // none are needed until a null is met
  }
  leaf->n_entries = left;
  leaf->n_started -= n_rows;
  leaf->first_row += n_rows;
  return TARN_OK;
}
