/* write_leaf.c - rows to levels and values, codes while they pay. */
#include "format/parquet/write_leaf.h"

#include "base/bytes.h"
#include "column/bits.h"

#define SLICE_ROWS 2048 /* rows taken at once: what they need stays in the cache */
/* A first page with that many values, of which all but a 32nd are new, needs no second look. */
#define ENOUGH_VALUES 4096
#define MAX_PAGE_ENTRIES ((int64_t)1 << 20) /* of nested columns: codes are 4 bytes in memory */

static bool may_have_codes(const tn_pq_leaf_writer *leaf) {
  return leaf->settings->has_dictionaries && leaf->node->physical != TN_PQ_BOOLEAN;
}

static tn_pq_dictionary_kind dictionary_kind(const tn_pq_write_node *node) {
  switch (node->physical) {
    case TN_PQ_INT32:
    case TN_PQ_FLOAT:
      return TN_PQ_DICTIONARY_32;
    case TN_PQ_INT64:
    case TN_PQ_DOUBLE:
      return TN_PQ_DICTIONARY_64;
    case TN_PQ_BYTE_ARRAY:
      return TN_PQ_DICTIONARY_BYTES;
    default:
      return TN_PQ_DICTIONARY_FIXED;
  }
}

void tn_pq_leaf_writer_init(tn_pq_leaf_writer *leaf, const tn_pq_write_node *node,
                            const tn_pq_write_settings *settings) {
  tarn_env *env = settings->env;
  memset(leaf, 0, sizeof(*leaf));
  leaf->node = node;
  leaf->settings = settings;
  leaf->has_codes = may_have_codes(leaf);
  tn_pq_bytes_init(&leaf->defs, env);
  tn_pq_bytes_init(&leaf->reps, env);
  tn_pq_bytes_init(&leaf->values, env);
  leaf->values.head = TN_PQ_VALUES_HEAD;
  tn_pq_dictionary_init(&leaf->dictionary, env, dictionary_kind(node), (uint32_t)node->width,
                        (size_t)settings->dictionary_bytes);
  tn_pq_pieces_init(&leaf->pages, env);
  tn_pq_kept_bounds_init(&leaf->chunk_bounds, env);
  tn_pq_bytes_init(&leaf->notes, env);
  tn_pq_bytes_init(&leaf->note_bytes, env);
  tn_pq_kept_bounds_init(&leaf->file_bounds, env);
  tn_pq_bytes_init(&leaf->memo, env);
}

static void forget_memo(tn_pq_leaf_writer *leaf) {
  tn_dictionary_release(leaf->memo_of);
  leaf->memo_of = NULL;
  tn_pq_bytes_reset(&leaf->memo);
}

void tn_pq_leaf_writer_reset(tn_pq_leaf_writer *leaf) {
  forget_memo(leaf);
  tn_pq_bytes_reset(&leaf->defs);
  tn_pq_bytes_reset(&leaf->reps);
  tn_pq_bytes_reset(&leaf->values);
  tn_pq_dictionary_reset(&leaf->dictionary);
  tn_pq_pieces_reset(&leaf->pages);
  tn_pq_kept_bounds_reset(&leaf->chunk_bounds);
  tn_pq_bytes_reset(&leaf->notes);
  tn_pq_bytes_reset(&leaf->note_bytes);
  tn_pq_kept_bounds_reset(&leaf->file_bounds);
}

/* ------------------------------------------------------------------ values */

static tarn_status add_codes(tn_pq_leaf_writer *leaf, const void *values, int64_t n, int64_t *done,
                             tarn_error *err) {
  tn_pq_dictionary *d = &leaf->dictionary;
  uint32_t *codes;
  TN_TRY(tn_pq_bytes_reserve(&leaf->values, (size_t)n * sizeof(*codes), err));
  codes = (void *)(leaf->values.data + leaf->values.len);
  switch (d->kind) {
    case TN_PQ_DICTIONARY_32:
      TN_TRY(tn_pq_dictionary_add_32(d, values, n, codes, done, err));
      break;
    case TN_PQ_DICTIONARY_64:
      TN_TRY(tn_pq_dictionary_add_64(d, values, n, codes, done, err));
      break;
    default:
      TN_TRY(tn_pq_dictionary_add_bytes(d, values, n, codes, done, err));
      break;
  }
  leaf->values.len += (size_t)*done * sizeof(*codes);
  leaf->n_values += *done;
  return TARN_OK;
}

/* The value behind n others, in the form of tn_pq_values_make. */
static const void *values_behind(const tn_pq_leaf_writer *leaf, const void *values, int64_t n) {
  size_t width =
      leaf->node->physical == TN_PQ_BOOLEAN ? 1
      : leaf->dictionary.kind == TN_PQ_DICTIONARY_32 || leaf->dictionary.kind == TN_PQ_DICTIONARY_64
          ? (size_t)leaf->node->width
          : sizeof(tn_view);
  return (const uint8_t *)values + (size_t)n * width;
}

static tarn_status put_values(tn_pq_leaf_writer *leaf, const void *values, int64_t n,
                              tarn_error *err) {
  int64_t done = 0;
  if (leaf->has_codes) {
    TN_TRY(add_codes(leaf, values, n, &done, err));
    if (done < n) {
      TN_TRY(tn_pq_leaf_writer_give_up_codes(leaf, err));
    } else if (leaf->n_code_pages == 0 && leaf->n_values >= ENOUGH_VALUES &&
               (int64_t)leaf->dictionary.n > leaf->n_values - leaf->n_values / 32) {
      return tn_pq_leaf_writer_give_up_codes(leaf, err);
    }
  }
  return done < n
             ? tn_pq_leaf_writer_put_plain(leaf, values_behind(leaf, values, done), n - done, err)
             : TARN_OK;
}

/* ------------------------------------------------------------------ codes of DICT and CONST */

static int64_t longest_value(const tn_vec *values) {
  int64_t longest = 0;
  for (int64_t i = 0; values->layout == TN_LAYOUT_BYTES && i < values->length; i++) {
    int64_t len = (int64_t)tn_vec_bytes(values, i).len;
    longest = len > longest ? len : longest;
  }
  return longest;
}

/* Keep a dictionary, with room to note the codes of its values unless that would cost more than it
 * saves. */
static tarn_status note_dictionary(tn_pq_leaf_writer *leaf, tn_dictionary *dictionary,
                                   int64_t n_rows, tarn_error *err) {
  size_t n_bytes = (size_t)dictionary->values.length * sizeof(uint32_t);
  if (leaf->memo_of == dictionary) {
    return TARN_OK;
  }
  tn_dictionary_release(leaf->memo_of);
  leaf->memo_of = NULL;
  leaf->memo.len = 0;
  if (leaf->has_codes && dictionary->values.length <= 4 * n_rows) {
    TN_TRY(tn_pq_bytes_reserve(&leaf->memo, n_bytes, err));
    memset(leaf->memo.data, 0, n_bytes);
    leaf->memo.len = n_bytes;
  }
  leaf->memo_longest = longest_value(&dictionary->values);
  leaf->memo_of = tn_dictionary_retain(dictionary);
  return TARN_OK;
}

/* Codes of the memo's dictionary; *done: as many as fitted ours. */
static tarn_status put_memo_codes(tn_pq_leaf_writer *leaf, tn_pq_scratch *scratch,
                                  const uint32_t *rows, int64_t n, int64_t *done, tarn_error *err) {
  uint32_t *memo = (void *)leaf->memo.data, *codes;
  int64_t i = 0;
  *done = 0;
  TN_TRY(tn_pq_bytes_reserve(&leaf->values, (size_t)n * sizeof(*codes), err));
  codes = (void *)(leaf->values.data + leaf->values.len);
  for (; i < n; i++) {
    uint32_t code = memo[rows[i]];
    if (TN_UNLIKELY(code == 0)) {
      const void *value;
      int64_t added;
      TN_TRY(tn_pq_values_make(scratch, leaf->node, &leaf->memo_of->values, 0, &rows[i], 1, &value,
                               err));
      if (leaf->dictionary.kind == TN_PQ_DICTIONARY_32) {
        TN_TRY(tn_pq_dictionary_add_32(&leaf->dictionary, value, 1, &code, &added, err));
      } else if (leaf->dictionary.kind == TN_PQ_DICTIONARY_64) {
        TN_TRY(tn_pq_dictionary_add_64(&leaf->dictionary, value, 1, &code, &added, err));
      } else {
        TN_TRY(tn_pq_dictionary_add_bytes(&leaf->dictionary, value, 1, &code, &added, err));
      }
      if (added == 0) {
        break;
      }
      memo[rows[i]] = ++code;
    }
    codes[i] = code - 1;
  }
  *done = i;
  leaf->values.len += (size_t)i * sizeof(*codes);
  leaf->n_values += i;
  return TARN_OK;
}

/* Values of a source by rows; is_dictionary: it is the noted dictionary. */
static tarn_status put_rows(tn_pq_leaf_writer *leaf, tn_pq_scratch *scratch, const tn_vec *source,
                            int64_t begin, const uint32_t *rows, int64_t n, bool is_dictionary,
                            tarn_error *err) {
  const void *values;
  int64_t done = 0;
  if (is_dictionary && leaf->has_codes && leaf->memo.len > 0) {
    TN_TRY(put_memo_codes(leaf, scratch, rows, n, &done, err));
    if (done == n) {
      return TARN_OK;
    }
    TN_TRY(tn_pq_leaf_writer_give_up_codes(leaf, err));
  }
  TN_TRY(tn_pq_values_make(scratch, leaf->node, source, begin, rows != NULL ? rows + done : NULL,
                           n - done, &values, err));
  return put_values(leaf, values, n - done, err);
}

/* ------------------------------------------------------------------ flat columns */

/* Append bits[begin .. begin + n) to a bitmap of `at` bits, whose spare bits are clear. 8 bytes
 * behind either may be touched. */
static void append_bits(uint8_t *to, int64_t at, const uint8_t *bits, int64_t begin, int64_t n) {
  while (n > 0) {
    int64_t taken = n < 56 ? n : 56;
    uint64_t word = tn_load_le64(bits + begin / 8) >> (begin % 8);
    uint8_t *out = to + at / 8;
    word &= ((uint64_t)1 << taken) - 1;
    word = word << (at % 8);
    if (at % 8 != 0) {
      word |= out[0];
    }
    tn_store_le64(out, word);
    begin += taken;
    at += taken;
    n -= taken;
  }
}

/* The page's bitmap of what is not null: `n` rows more, by a bitmap or all alike. */
static tarn_status put_valid(tn_pq_leaf_writer *leaf, const uint8_t *valid, bool is_valid,
                             int64_t begin, int64_t n, int64_t n_nulls, tarn_error *err) {
  static const uint64_t ones[2] = {~(uint64_t)0, ~(uint64_t)0}, zeros[2] = {0, 0};
  tn_pq_bytes *defs = &leaf->defs;
  int64_t at = leaf->n_entries;
  if (n_nulls == 0 && !leaf->has_bits) {
    return TARN_OK;
  }
  defs->len = TN_BITMAP_BYTES(at);
  TN_TRY(tn_pq_bytes_reserve(defs, TN_BITMAP_BYTES(n) + 8, err));
  if (!leaf->has_bits) {
    leaf->has_bits = true;
    tn_bits_fill(defs->data, at, true);
    if (at % 8 != 0) {
      defs->data[at / 8] = (uint8_t)((1u << (at % 8)) - 1);
    }
  }
  if (valid != NULL) {
    append_bits(defs->data, at, valid, begin, n);
    return TARN_OK;
  }
  while (n > 0) {
    int64_t taken = n < 56 ? n : 56;
    append_bits(defs->data, at, (const uint8_t *)(is_valid ? ones : zeros), 0, taken);
    at += taken;
    n -= taken;
  }
  return TARN_OK;
}

static int64_t count_nulls(const tn_vec *vec, int64_t begin, int64_t n) {
  int64_t nulls = n;
  if (vec->null_count == 0 || vec->valid == NULL) {
    return 0;
  }
  for (int64_t i = 0; i < n; i += 56) {
    int64_t taken = n - i < 56 ? n - i : 56;
    uint64_t word = tn_load_le64(vec->valid + (begin + i) / 8) >> ((begin + i) % 8);
    nulls -= __builtin_popcountll(word & (((uint64_t)1 << taken) - 1));
  }
  return nulls;
}

/* Codes of a DICT vector's rows that are not null, as rows of its dictionary. */
static tarn_status dictionary_rows(tn_pq_scratch *scratch, const tn_vec *vec, int64_t begin,
                                   int64_t n, int64_t n_nulls, const uint32_t **rows,
                                   tarn_error *err) {
  const uint32_t *codes = vec->values;
  uint32_t *out;
  size_t k = 0;
  if (n_nulls == 0) {
    *rows = codes + begin;
    return TARN_OK;
  }
  scratch->rows.len = 0;
  TN_TRY(tn_pq_bytes_reserve(&scratch->rows, (size_t)(n + 1) * sizeof(*out), err));
  out = (void *)scratch->rows.data;
  for (int64_t i = 0; i < n; i++) {
    out[k] = codes[begin + i];
    k += tn_bit_get(vec->valid, begin + i);
  }
  *rows = out;
  return TARN_OK;
}

static tarn_status put_const(tn_pq_leaf_writer *leaf, tn_pq_scratch *scratch, const tn_vec *vec,
                             int64_t n, tarn_error *err) {
  uint32_t *rows;
  if (tn_vec_is_null(vec->constant, 0)) {
    return put_valid(leaf, NULL, false, 0, n, n, err);
  }
  TN_TRY(put_valid(leaf, NULL, true, 0, n, 0, err));
  scratch->rows.len = 0;
  TN_TRY(tn_pq_bytes_reserve(&scratch->rows, (size_t)n * sizeof(*rows), err));
  rows = (void *)scratch->rows.data;
  memset(rows, 0, (size_t)n * sizeof(*rows));
  return put_rows(leaf, scratch, vec->constant, 0, rows, n, false, err);
}

static tarn_status put_slice(tn_pq_leaf_writer *leaf, tn_pq_scratch *scratch, const tn_vec *vec,
                             int64_t begin, int64_t n, tarn_error *err) {
  bool is_dict = vec->encoding == TN_VEC_DICT;
  int64_t n_nulls = count_nulls(vec, begin, n), n_values = n - n_nulls;
  const uint32_t *rows = NULL;
  TN_TRY(put_valid(leaf, vec->null_count > 0 ? vec->valid : NULL, true, begin, n, n_nulls, err));
  if (n_values == 0) {
    return TARN_OK;
  }
  if (is_dict) {
    TN_TRY(dictionary_rows(scratch, vec, begin, n, n_nulls, &rows, err));
    return put_rows(leaf, scratch, &vec->dictionary->values, 0, rows, n_values, true, err);
  }
  if (n_nulls > 0) {
    TN_TRY(tn_pq_valid_rows(scratch, vec->valid, begin, n, (uint32_t)begin, &n_values, err));
    rows = (const void *)scratch->rows.data;
  }
  return put_rows(leaf, scratch, vec, begin, rows, n_values, false, err);
}

/* Bytes that these rows of a BYTES column may take as plain values. */
static int64_t slice_bytes(const tn_pq_leaf_writer *leaf, const tn_vec *vec, int64_t begin,
                           int64_t n) {
  return vec->encoding == TN_VEC_DICT ? n * (4 + leaf->memo_longest)
                                      : tn_pq_levels_bytes(vec, begin, n);
}

/* How many of the rows to take at once: within the page's rows, about within its bytes. */
static int64_t slice_rows(const tn_pq_leaf_writer *leaf, const tn_vec *vec, int64_t begin,
                          int64_t n) {
  const tn_pq_write_settings *s = leaf->settings;
  int64_t room = s->page_bytes, rows = s->page_rows - leaf->n_rows;
  if (!leaf->has_codes) {
    room -= (int64_t)leaf->values.len;
    room = room > s->page_bytes / 16 ? room : s->page_bytes / 16;
  }
  n = n < SLICE_ROWS ? n : SLICE_ROWS;
  n = n < rows ? n : rows;
  if (leaf->node->width > 0) {
    rows = room / leaf->node->width;
    return n < rows ? n : rows > 0 ? rows : 1;
  }
  while (leaf->node->layout == TN_LAYOUT_BYTES && n > 1 &&
         slice_bytes(leaf, vec, begin, n) > room) {
    n = (n + 1) / 2;
  }
  return n;
}

tarn_status tn_pq_leaf_writer_put(tn_pq_leaf_writer *leaf, tn_pq_scratch *scratch,
                                  const tn_vec *vec, int64_t begin, int64_t n, tarn_error *err) {
  if (!leaf->node->is_nullable &&
      (vec->encoding == TN_VEC_CONST ? tn_vec_is_null(vec->constant, 0)
                                     : count_nulls(vec, begin, n) > 0)) {
    return tn_pq_null_in_not_null(leaf->node, leaf->node, err);
  }
  if (vec->encoding == TN_VEC_DICT) {
    TN_TRY(note_dictionary(leaf, vec->dictionary, vec->length, err));
  }
  while (n > 0) {
    int64_t rows = slice_rows(leaf, vec, begin, n);
    if (vec->encoding == TN_VEC_CONST) {
      TN_TRY(put_const(leaf, scratch, vec, rows, err));
    } else {
      TN_TRY(put_slice(leaf, scratch, vec, begin, rows, err));
    }
    leaf->n_rows += rows;
    leaf->n_entries += rows;
    begin += rows;
    n -= rows;
    TN_TRY(tn_pq_leaf_writer_close_full(leaf, scratch, err));
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ nested columns */

/* Append definition levels, taking the leaf's own nulls into account; rows of values that are there
 * go to scratch->rows. */
static tarn_status put_definitions(tn_pq_leaf_writer *leaf, tn_pq_scratch *scratch,
                                   const tn_vec *vec, const tn_pq_entries *entries,
                                   int64_t *n_values, tarn_error *err) {
  const uint8_t max_def = leaf->node->max_def;
  const bool has_nulls = leaf->node->is_nullable && vec->null_count > 0 && vec->valid != NULL;
  uint32_t *rows;
  uint8_t *defs;
  size_t k = 0;
  scratch->rows.len = 0;
  TN_TRY(tn_pq_bytes_reserve(&scratch->rows, (size_t)(entries->n + 1) * sizeof(*rows), err));
  TN_TRY(tn_pq_bytes_reserve(&leaf->defs, (size_t)entries->n, err));
  rows = (void *)scratch->rows.data;
  defs = leaf->defs.data + leaf->defs.len;
  for (int64_t i = 0; i < entries->n; i++) {
    uint32_t row = entries->rows[i];
    bool is_there = row != TN_PQ_NO_ROW && (!has_nulls || tn_bit_get(vec->valid, row));
    rows[k] = row;
    k += is_there;
    defs[i] = is_there ? max_def : entries->def[i];
  }
  leaf->defs.len += (size_t)entries->n;
  *n_values = (int64_t)k;
  return TARN_OK;
}

tarn_status tn_pq_leaf_writer_put_entries(tn_pq_leaf_writer *leaf, tn_pq_scratch *scratch,
                                          const tn_vec *vec, const tn_pq_entries *entries,
                                          int64_t n_rows, tarn_error *err) {
  int64_t n_values = 0;
  if (leaf->node->max_rep > 0) {
    TN_TRY(tn_pq_bytes_append(&leaf->reps, entries->rep, (size_t)entries->n, err));
  }
  TN_TRY(put_definitions(leaf, scratch, vec, entries, &n_values, err));
  leaf->n_rows += n_rows;
  leaf->n_entries += entries->n;
  if (n_values == 0) {
    return TARN_OK;
  }
  return put_rows(leaf, scratch, vec, 0, (const void *)scratch->rows.data, n_values, false, err);
}

/* ------------------------------------------------------------------ sizes */

/* Bytes of the open page's body, about. */
static int64_t page_bytes(const tn_pq_leaf_writer *leaf) {
  int64_t bytes = (int64_t)leaf->values.len;
  if (leaf->has_codes) {
    uint32_t most = leaf->dictionary.n > 0 ? leaf->dictionary.n : 1;
    bytes = leaf->n_values * (32 - __builtin_clz(most)) / 8;
  }
  return bytes + (leaf->node->max_def > 0 ? leaf->n_entries / 8 : 0);
}

tarn_status tn_pq_leaf_writer_close_full(tn_pq_leaf_writer *leaf, tn_pq_scratch *scratch,
                                         tarn_error *err) {
  return leaf->n_rows >= leaf->settings->page_rows ||
                 page_bytes(leaf) >= leaf->settings->page_bytes ||
                 leaf->n_entries >= MAX_PAGE_ENTRIES
             ? tn_pq_leaf_writer_close_page(leaf, scratch, err)
             : TARN_OK;
}

int64_t tn_pq_leaf_writer_held_bytes(const tn_pq_leaf_writer *leaf) {
  return (int64_t)(leaf->pages.len + leaf->values.len + leaf->defs.len + leaf->reps.len +
                   leaf->dictionary.page.len);
}

int64_t tn_pq_leaf_writer_file_bytes(const tn_pq_leaf_writer *leaf) {
  int64_t open = page_bytes(leaf) + (int64_t)leaf->dictionary.page.len;
  if (leaf->plain_bytes > 0) {
    open = (int64_t)((double)open * (double)leaf->pages.len / (double)leaf->plain_bytes);
  }
  return (int64_t)leaf->pages.len + open;
}
