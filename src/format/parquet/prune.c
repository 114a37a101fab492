/* prune.c - row ranges of a Parquet file that cannot match a predicate.
 *
 * For each row group that holds wanted rows, from cheap to dear:
 *
 *   1. the statistics of its chunks                       -> the group, or nothing
 *   2. dictionaries of chunks that have no other pages     -> the group, or nothing
 *   3. column indexes with offset indexes                  -> rows of the pages that may match
 *
 * A leaf whose column cannot be told from these keeps everything; a column that the file lacks is
 * all null. AND intersects what its parts keep, OR unites it.
 */
#include "base/checked.h"
#include "format/parquet/dense.h"
#include "format/parquet/stats.h"

#define MAX_DICTIONARY_BYTES ((int64_t)1 << 20)
#define DICTIONARY_SHARE \
  4 /* a dictionary is read if the group has at least as many times its bytes */

/* A dictionary that was read for the row group at hand. */
typedef struct known_dictionary {
  int32_t leaf;
  tn_dictionary *dictionary; /* NULL: there is none to use */
} known_dictionary;

typedef struct pruner {
  tn_pq_file *file;
  const tn_field *fields;
  int32_t n_fields;
  const tn_pq_row_group *group;
  tn_arena arena; /* of the group */
  tn_pq_index_bytes at_hand;
  known_dictionary *known;
  size_t n_known, known_capacity;
  tn_codec_context *codec; /* made at first need */
} pruner;

typedef enum resolution { COLUMN_UNKNOWN, COLUMN_MISSING, COLUMN_FOUND } resolution;

/* The file's field that a leaf tests: by id where there are ids, else by name. */
static const tn_field *field_of(const pruner *p, const tn_pred *leaf) {
  int32_t i = leaf->field_id >= 0 ? tn_fields_find_id(p->fields, p->n_fields, leaf->field_id) : -1;
  if (i < 0) {
    i = tn_fields_find(p->fields, p->n_fields, tn_slice_text(leaf->name));
  }
  return i < 0 ? NULL : &p->fields[i];
}

static resolution resolve(const pruner *p, const tn_pred *leaf, tn_pq_stat_column *out) {
  const tn_pq_meta *meta = p->file->meta;
  const tn_field *field = field_of(p, leaf);
  if (field == NULL || leaf->n_path > 0 || !tn_type_equal(&field->type, &leaf->type, false)) {
    return COLUMN_UNKNOWN;
  }
  out->node = tn_pq_node_child(&meta->schema.root, field->name);
  out->type = &field->type;
  out->has_nan_in_bounds = meta->has_nan_in_bounds;
  if (out->node == NULL) {
    return COLUMN_MISSING;
  }
  if (out->node->kind != TN_PQ_NODE_LEAF ||
      tn_pq_convert_bind(out->node, out->type, "", "", &out->convert, NULL) != TARN_OK) {
    return COLUMN_UNKNOWN;  // reading it tells what is wrong
  }
  out->order =
      meta->footer.orders == NULL ? TN_PQ_ORDER_TYPE : meta->footer.orders[out->node->leaf];
  return COLUMN_FOUND;
}

/* ------------------------------------------------------------------ 1: chunk statistics */

static void all_null(int64_t n_rows, tn_stat *out) {
  memset(out, 0, sizeof(*out));
  out->row_count = out->null_count = n_rows;
}

static tarn_status get_chunk_stat(void *ctx, const tn_pred *leaf, tn_stat *out, bool *is_known,
                                  tarn_error *err) {
  const pruner *p = ctx;
  tn_pq_stat_column column;
  resolution r = resolve(p, leaf, &column);
  (void)err;
  *is_known = r != COLUMN_UNKNOWN;
  if (r == COLUMN_MISSING) {
    all_null(p->group->n_rows, out);
  } else if (r == COLUMN_FOUND) {
    tn_pq_chunk_stat(&column, &p->group->chunks[column.node->leaf].stats, p->group->n_rows, out);
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ 2: dictionaries */

/* Are all data pages of the chunk dictionary-encoded for certain? As parquet-java's
 * DictionaryFilter.hasNonDictionaryPages tells it. */
static bool is_all_codes(const tn_pq_chunk *chunk) {
  const uint32_t levels = 1u << TN_PQ_RLE | 1u << TN_PQ_BIT_PACKED;
  int64_t n_pages = 0;
  for (int32_t i = 0; i < chunk->n_encoding_stats; i++) {
    const tn_pq_encoding_stats *s = &chunk->encoding_stats[i];
    if ((s->page_type == TN_PQ_DATA_PAGE || s->page_type == TN_PQ_DATA_PAGE_V2) && s->count > 0) {
      if (s->encoding != TN_PQ_PLAIN_DICTIONARY && s->encoding != TN_PQ_RLE_DICTIONARY) {
        return false;
      }
      n_pages += s->count;
    }
  }
  if (chunk->n_encoding_stats > 0) {
    return n_pages > 0;
  }
  // without them PLAIN may be of the dictionary, if that is RLE_DICTIONARY: not told apart
  return (chunk->encodings & 1u << TN_PQ_PLAIN_DICTIONARY) != 0 &&
         (chunk->encodings & ~levels & ~(1u << TN_PQ_PLAIN_DICTIONARY)) == 0;
}

/* Where the dictionary lies; false: not known, or not worth reading. */
static bool dictionary_range(const pruner *p, const tn_pq_chunk *chunk, tn_byte_range *out) {
  int64_t group_bytes = 0;
  if (!is_all_codes(chunk) || chunk->dictionary_page_offset < 4 ||
      chunk->data_page_offset <= chunk->dictionary_page_offset ||
      chunk->data_page_offset > p->file->meta->data_end) {
    return false;
  }
  out->offset = chunk->dictionary_page_offset;
  out->length = chunk->data_page_offset - chunk->dictionary_page_offset;
  for (int32_t i = 0; i < p->file->meta->footer.n_leaves; i++) {
    if (!tn_add_i64(group_bytes, p->group->chunks[i].compressed_bytes, &group_bytes)) {
      return false;
    }
  }
  return out->length <= MAX_DICTIONARY_BYTES && out->length <= group_bytes / DICTIONARY_SHARE;
}

static tarn_status read_dictionary(pruner *p, const tn_pq_stat_column *column,
                                   const tn_pq_chunk *chunk, tn_byte_range range,
                                   tn_dictionary **out, tarn_error *err) {
  tarn_status st = TARN_OK;
  bool has_page = false;
  tn_pq_pages pages;
  if (p->codec == NULL) {
    TN_TRY(tn_codec_context_take(p->file->base.env, &p->codec, err));
  }
  memset(&pages, 0, sizeof(pages));
  pages.env = p->file->base.env;
  pages.path = p->file->base.file->path;
  pages.column = tn_pq_leaf_path(p->file, column->node->leaf);
  pages.leaf = column->node;
  pages.codec = p->codec;
  pages.at = range.offset;
  pages.end = range.offset + range.length;
  if (!tn_pq_codec_id(chunk->codec, &pages.codec_id)) {
    return TARN_OK;
  }
  TN_TRY(tn_prefetch_create(p->file->base.file, &range, 1, &pages.prefetch, err));
  TN_TRY_TO(done, tn_pq_pages_next(&pages, &has_page, err));
  if (has_page && pages.header.type == TN_PQ_DICTIONARY_PAGE) {
    st = tn_pq_dictionary_load(&pages, column->type, &column->convert, out, err);
  }
done:
  tn_prefetch_free(pages.prefetch);
  return st;
}

/* The dictionary of a chunk of codes alone; *out NULL: none to use. Borrowed. */
static tarn_status get_dictionary(pruner *p, const tn_pq_stat_column *column,
                                  const tn_dictionary **out, tarn_error *err) {
  int32_t leaf = column->node->leaf;
  const tn_pq_chunk *chunk = &p->group->chunks[leaf];
  known_dictionary *entry;
  tn_byte_range range;
  *out = NULL;
  for (size_t i = 0; i < p->n_known; i++) {
    if (p->known[i].leaf == leaf) {
      *out = p->known[i].dictionary;
      return TARN_OK;
    }
  }
  if (!tn_arena_grow(&p->arena, (void **)&p->known, &p->known_capacity, p->n_known,
                     sizeof(*p->known))) {
    return tn_oom(err);
  }
  entry = &p->known[p->n_known++];
  entry->leaf = leaf;
  entry->dictionary = NULL;
  if (column->convert.source != TN_PQ_SOURCE_BITS && dictionary_range(p, chunk, &range)) {
    TN_TRY(read_dictionary(p, column, chunk, range, &entry->dictionary, err));
  }
  *out = entry->dictionary;
  return TARN_OK;
}

static tarn_status leaf_has_value(pruner *p, const tn_pred *leaf, bool *out, tarn_error *err) {
  tn_pq_stat_column column;
  const tn_dictionary *dictionary;
  *out = true;
  if (leaf->op == TN_PRED_IS_NULL || resolve(p, leaf, &column) != COLUMN_FOUND) {
    return TARN_OK;
  }
  TN_TRY(get_dictionary(p, &column, &dictionary, err));
  if (dictionary == NULL) {
    return TARN_OK;
  }
  *out = false;
  for (int64_t i = 0; i < dictionary->values.length && !*out; i++) {
    tn_datum value = tn_vec_datum(&dictionary->values, i);
    *out = tn_pred_test_datum(leaf, &value);
  }
  return TARN_OK;
}

/* Nothing but IS NULL is true of a null: a row matches only by a value of the dictionary. */
static tarn_status group_has_value(pruner *p, const tn_pred *pred, bool *out, tarn_error *err) {
  bool stops_at = pred->op == TN_PRED_OR;
  if (pred->op == TN_PRED_TRUE || pred->op == TN_PRED_FALSE) {
    *out = pred->op == TN_PRED_TRUE;
    return TARN_OK;
  }
  if (pred->op != TN_PRED_AND && pred->op != TN_PRED_OR) {
    bool may;
    TN_TRY(tn_pred_may_match(pred, get_chunk_stat, p, &may, err));
    *out = false;
    return may ? leaf_has_value(p, pred, out, err) : TARN_OK;
  }
  *out = !stops_at;
  for (int32_t i = 0; i < pred->n_children && *out != stops_at; i++) {
    TN_TRY(group_has_value(p, pred->children[i], out, err));
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ 3: page indexes */

typedef struct page_stat {
  const tn_pq_stat_column *column;
  const tn_pq_column_index *index;
  int32_t page;
  int64_t n_rows;
} page_stat;

static tarn_status get_page_stat(void *ctx, const tn_pred *leaf, tn_stat *out, bool *is_known,
                                 tarn_error *err) {
  const page_stat *s = ctx;
  const tn_pq_column_index *index = s->index;
  (void)leaf;
  (void)err;
  *is_known = true;
  if (index->null_pages[s->page]) {
    all_null(s->n_rows, out);
    return TARN_OK;
  }
  memset(out, 0, sizeof(*out));
  out->row_count = s->n_rows;
  out->null_count = index->null_counts == NULL ? -1 : index->null_counts[s->page];
  if (out->null_count < 0 || out->null_count > s->n_rows) {
    out->null_count = -1;
  }
  if (s->column->node->def_present == 0) {
    out->null_count = 0;
  }
  out->has_bounds =
      tn_pq_bounds(s->column, index->min[s->page], index->max[s->page], &out->min, &out->max);
  return TARN_OK;
}

static tarn_status add_group_rows(const pruner *p, tn_ranges *out, tarn_error *err) {
  return tn_ranges_add(out, p->group->first_row, p->group->first_row + p->group->n_rows, err);
}

static tarn_status pages_of_leaf(pruner *p, const tn_pred *leaf, const tn_pq_stat_column *column,
                                 tn_ranges *out, tarn_error *err) {
  tn_pq_offset_index offsets;
  tn_pq_column_index index;
  page_stat stat;
  TN_TRY(tn_pq_offset_index_load(p->file, p->group, column->node->leaf, &p->arena, &p->at_hand,
                                 &offsets, err));
  TN_TRY(tn_pq_column_index_load(p->file, p->group, column->node->leaf, &p->arena, &p->at_hand,
                                 &index, err));
  if (offsets.n_pages != index.n_pages) {
    return tn_fail(err, TARN_E_CORRUPT,
                   "%s: column `%s`: the offset index has %d pages, the column index %d",
                   p->file->base.file->path, tn_pq_leaf_path(p->file, column->node->leaf),
                   (int)offsets.n_pages, (int)index.n_pages);
  }
  stat.column = column;
  stat.index = &index;
  for (int32_t k = 0; k < offsets.n_pages; k++) {
    int64_t begin = offsets.pages[k].first_row;
    int64_t end = k + 1 < offsets.n_pages ? offsets.pages[k + 1].first_row : p->group->n_rows;
    bool may;
    stat.page = k;
    stat.n_rows = end - begin;
    if (end == begin) {
      continue;
    }
    TN_TRY(tn_pred_may_match(leaf, get_page_stat, &stat, &may, err));
    if (may) {
      TN_TRY(tn_ranges_add(out, p->group->first_row + begin, p->group->first_row + end, err));
    }
  }
  return TARN_OK;
}

static tarn_status leaf_rows(pruner *p, const tn_pred *leaf, tn_ranges *out, tarn_error *err) {
  tn_pq_stat_column column;
  bool may;
  if (resolve(p, leaf, &column) == COLUMN_FOUND) {
    const tn_pq_chunk *chunk = &p->group->chunks[column.node->leaf];
    if (tn_pq_chunk_has_index(chunk, TN_PQ_OFFSET_INDEX) &&
        tn_pq_chunk_has_index(chunk, TN_PQ_COLUMN_INDEX)) {
      return pages_of_leaf(p, leaf, &column, out, err);
    }
  }
  TN_TRY(tn_pred_may_match(leaf, get_chunk_stat, p, &may, err));
  return may ? add_group_rows(p, out, err) : TARN_OK;
}

/* The rows of the group that may match, into an empty set. Depth: the predicate's, bounded when it
 * was built. */
static tarn_status matching_rows(pruner *p, const tn_pred *pred, tn_ranges *out, tarn_error *err) {
  tarn_status st = TARN_OK;
  if (pred->op == TN_PRED_FALSE) {
    return TARN_OK;
  }
  if (pred->op == TN_PRED_TRUE) {
    return add_group_rows(p, out, err);
  }
  if (pred->op != TN_PRED_AND && pred->op != TN_PRED_OR) {
    return leaf_rows(p, pred, out, err);
  }
  if (pred->op == TN_PRED_AND) {
    TN_TRY(add_group_rows(p, out, err));
  }
  for (int32_t i = 0; i < pred->n_children && st == TARN_OK; i++) {
    tn_ranges part;
    tn_ranges_init(&part, &p->file->base.env->mem);
    st = matching_rows(p, pred->children[i], &part, err);
    if (st == TARN_OK) {
      st = pred->op == TN_PRED_AND ? tn_ranges_intersect(out, &part, err)
                                   : tn_ranges_unite(out, &part, err);
    }
    tn_ranges_reset(&part);
  }
  return st;
}

/* ------------------------------------------------------------------ row groups */

/* The leaf columns a predicate tests, for reading their indexes at once. */
typedef struct tested {
  const pruner *pruner;
  int32_t leaves[64];
  int32_t n;
} tested;

static void note_leaf(void *ctx, const tn_pred *leaf) {
  tested *t = ctx;
  tn_pq_stat_column column;
  if (t->n < (int32_t)TN_COUNT(t->leaves) && resolve(t->pruner, leaf, &column) == COLUMN_FOUND) {
    t->leaves[t->n++] = column.node->leaf;
  }
}

static tarn_status keep_of_group(pruner *p, const tn_pred *pred, tn_ranges *kept, tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_ranges rows;
  tested t;
  bool may;
  TN_TRY(tn_pred_may_match(pred, get_chunk_stat, p, &may, err));
  if (may) {
    TN_TRY(group_has_value(p, pred, &may, err));
  }
  if (!may) {
    return TARN_OK;
  }
  t.pruner = p;
  t.n = 0;
  tn_pred_each_leaf(pred, note_leaf, &t);
  TN_TRY(
      tn_pq_indexes_prefetch(p->file, p->group, t.leaves, t.n, true, &p->arena, &p->at_hand, err));
  tn_ranges_init(&rows, &p->file->base.env->mem);
  st = matching_rows(p, pred, &rows, err);
  for (size_t i = 0; i < rows.count && st == TARN_OK; i++) {
    st = tn_ranges_add(kept, rows.items[i].begin, rows.items[i].end, err);
  }
  tn_ranges_reset(&rows);
  return st;
}

static void leave_group(pruner *p) {
  for (size_t i = 0; i < p->n_known; i++) {
    tn_dictionary_release(p->known[i].dictionary);
  }
  p->known = NULL;
  p->n_known = p->known_capacity = 0;
  tn_arena_reset(&p->arena);
}

static bool has_wanted_rows(const tn_ranges *ranges, const tn_pq_row_group *group) {
  for (size_t i = 0; i < ranges->count; i++) {
    if (ranges->items[i].begin < group->first_row + group->n_rows &&
        ranges->items[i].end > group->first_row) {
      return true;
    }
  }
  return false;
}

tarn_status tn_pq_prune(tn_format_file *file, const tn_field *fields, int32_t n_fields,
                        const tn_pred *pred, tn_ranges *ranges, tarn_error *err) {
  tarn_status st = TARN_OK;
  tarn_env *env = file->env;
  tn_ranges kept;
  pruner p;
  memset(&p, 0, sizeof(p));
  p.file = tn_pq_file_of(file);
  p.fields = fields;
  p.n_fields = n_fields;
  tn_arena_init(&p.arena, &env->mem, env->mem.budget_bytes);
  tn_ranges_init(&kept, &env->mem);
  for (int32_t i = 0; i < p.file->meta->footer.n_row_groups && st == TARN_OK; i++) {
    p.group = &p.file->meta->footer.row_groups[i];
    if (p.group->n_rows > 0 && has_wanted_rows(ranges, p.group)) {
      memset(&p.at_hand, 0, sizeof(p.at_hand));
      st = keep_of_group(&p, pred, &kept, err);
      leave_group(&p);
    }
  }
  if (st == TARN_OK) {
    st = tn_ranges_intersect(ranges, &kept, err);
  }
  tn_ranges_reset(&kept);
  tn_codec_context_give(p.codec);
  return st;
}
