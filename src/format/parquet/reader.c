/* reader.c - the rows of a Parquet file, front to back, as batches.
 *
 *   row groups   [ group 0            ][ group 1            ] ...
 *   wanted rows     [====)    [=====)        [=========)          (all, without ranges)
 *   batches         [1 ][2]   [3   ]         [4  ][5   ]
 *
 * R1  A batch never crosses the end of a row group or of a wanted range (F2), nor `max_rows`.
 * R2  All leaves are filled before a column is taken: a leaf that stops early (its byte limit, the
 *     end of its dictionary pages) shortens the batch for all, what others hold stays buffered.
 * R3  Where only some rows of a group are wanted and the chunk has an offset index, only the pages
 *     that hold wanted rows are planned and read.
 */
#include <stdlib.h>

#include "format/parquet/column.h"
#include "format/wanted_rows.h"

#define DEFAULT_BATCH_ROWS 8192
#define MAX_BATCH_ROWS (1 << 18)
#define MAX_LIMIT_BYTES ((size_t)8 << 20) /* what a leaf may buffer */
#define MIN_LIMIT_BYTES ((size_t)64 << 10)

typedef struct pq_reader {
  tn_reader base;
  tn_pq_file *file;
  tn_read_request request; /* fields and rows are the caller's */
  tn_arena arena;
  tn_codec_context *codec;
  tn_pq_column *columns;
  tn_pq_leaf_set set;
  tn_wanted_rows rows;
  bool has_failed; /* what is buffered is then of no use */
  /* The row group that is open. */
  int32_t group; /* -1: none */
  tn_arena group_arena;
  tn_prefetch *prefetch;
} pq_reader;

static pq_reader *reader_of(tn_reader *reader) {
  return TN_CONTAINER_OF(reader, pq_reader, base);
}

static const tn_pq_footer *footer_of(const pq_reader *r) {
  return &r->file->meta->footer;
}

/* ------------------------------------------------------------------ opening row groups */

/* A stretch of a chunk that is to be read, before stretches are put in order. */
typedef struct stretch {
  tn_byte_range bytes;
  int32_t leaf;       /* in the set */
  int32_t first_page; /* of the index; -1: the dictionary; -2: the whole chunk */
  int32_t end_page;
} stretch;

typedef struct group_plan {
  pq_reader *reader;
  const tn_pq_row_group *group;
  tn_pq_page_source *sources; /* one a leaf */
  int32_t **page_ranges;      /* one a leaf with an index */
  stretch *stretches;
  size_t n_stretches, capacity;
} group_plan;

static tarn_status add_stretch(group_plan *p, stretch s, tarn_error *err) {
  if (!tn_arena_grow(&p->reader->group_arena, (void **)&p->stretches, &p->capacity, p->n_stretches,
                     sizeof(*p->stretches))) {
    return tn_oom(err);
  }
  p->stretches[p->n_stretches++] = s;
  return TARN_OK;
}

/* Is a row in [begin, end) of the file wanted? Ranges are walked from *at on. */
static bool is_wanted(const tn_ranges *rows, size_t *at, int64_t begin, int64_t end) {
  while (*at < rows->count && rows->items[*at].end <= begin) {
    ++*at;
  }
  return *at < rows->count && rows->items[*at].begin < end;
}

static bool wants_all(const pq_reader *r, const tn_pq_row_group *group) {
  size_t at = r->rows.at;
  return r->request.rows == NULL ||
         (is_wanted(r->request.rows, &at, group->first_row, group->first_row + 1) &&
          r->request.rows->items[at].begin <= group->first_row &&
          r->request.rows->items[at].end >= group->first_row + group->n_rows);
}

static int64_t page_end_row(const group_plan *p, const tn_pq_offset_index *index, int32_t k) {
  return k + 1 < index->n_pages ? index->pages[k + 1].first_row : p->group->n_rows;
}

/* The pages of a leaf that hold wanted rows, neighbours as one stretch. */
static tarn_status plan_pages(group_plan *p, int32_t leaf, tn_byte_range chunk, tarn_error *err) {
  tn_pq_page_source *source = &p->sources[leaf];
  const tn_pq_offset_index *index = source->index;
  const tn_ranges *rows = p->reader->request.rows;
  size_t at = p->reader->rows.at;
  stretch open = {{0, 0}, leaf, 0, -1};
  for (int32_t k = 0; k < index->n_pages; k++) {
    const tn_pq_page_location *page = &index->pages[k];
    p->page_ranges[leaf][k] = -1;
    if (!is_wanted(rows, &at, p->group->first_row + page->first_row,
                   p->group->first_row + page_end_row(p, index, k))) {
      continue;
    }
    if (open.end_page == k && page->offset == open.bytes.offset + open.bytes.length) {
      open.bytes.length += page->bytes;
      open.end_page = k + 1;
      continue;
    }
    if (open.end_page > 0) {
      TN_TRY(add_stretch(p, open, err));
    }
    open.bytes = (tn_byte_range){page->offset, page->bytes};
    open.first_page = k;
    open.end_page = k + 1;
  }
  if (open.end_page > 0) {
    TN_TRY(add_stretch(p, open, err));
  }
  if (index->n_pages > 0 && chunk.offset < index->pages[0].offset) {
    source->dictionary_bytes = (tn_byte_range){chunk.offset, index->pages[0].offset - chunk.offset};
    TN_TRY(add_stretch(p, (stretch){source->dictionary_bytes, leaf, -1, -1}, err));
  }
  return TARN_OK;
}

static tarn_status plan_leaf(group_plan *p, int32_t i, const tn_pq_index_bytes *at_hand,
                             bool is_partial, tarn_error *err) {
  pq_reader *r = p->reader;
  const tn_pq_leaf *leaf = &r->set.leaves[i];
  int32_t number = leaf->node->leaf;
  const tn_pq_chunk *chunk = &p->group->chunks[number];
  tn_pq_page_source *source = &p->sources[i];
  tn_byte_range bytes;
  source->dictionary_range = -1;
  TN_TRY(tn_pq_chunk_range(chunk, r->file->meta->data_end, r->file->meta->is_old_writer,
                           leaf->pages.path, leaf->pages.column, &bytes, err));
  if (is_partial && tn_pq_chunk_has_index(chunk, TN_PQ_OFFSET_INDEX)) {
    tn_pq_offset_index *index = tn_arena_alloc(&r->group_arena, sizeof(*index));
    if (index == NULL) {
      return tn_oom(err);
    }
    TN_TRY(
        tn_pq_offset_index_load(r->file, p->group, number, &r->group_arena, at_hand, index, err));
    p->page_ranges[i] =
        tn_arena_calloc(&r->group_arena, (size_t)index->n_pages + 1, sizeof(int32_t));
    if (p->page_ranges[i] == NULL) {
      return tn_oom(err);
    }
    source->index = index;
    source->page_ranges = p->page_ranges[i];
    return plan_pages(p, i, bytes, err);
  }
  source->bytes = bytes;
  return add_stretch(p, (stretch){bytes, i, -2, -1}, err);
}

static int by_offset(const void *a, const void *b) {
  const stretch *x = a, *y = b;
  return (x->bytes.offset > y->bytes.offset) - (x->bytes.offset < y->bytes.offset);
}

/* In order of offset they become the prefetch plan; each page learns its range. */
static tarn_status start_prefetch(group_plan *p, tarn_error *err) {
  pq_reader *r = p->reader;
  tn_byte_range *ranges;
  if (p->n_stretches == 0) {
    return TARN_OK;
  }
  if (p->n_stretches > INT32_MAX / 2) {
    return tn_fail(err, TARN_E_LIMIT, "%s: too many pages in a row group",
                   r->file->base.file->path);
  }
  ranges = tn_arena_calloc(&r->group_arena, p->n_stretches, sizeof(*ranges));
  if (ranges == NULL) {
    return tn_oom(err);
  }
  qsort(p->stretches, p->n_stretches, sizeof(*p->stretches), by_offset);
  for (size_t i = 0; i < p->n_stretches; i++) {
    const stretch *s = &p->stretches[i];
    ranges[i] = s->bytes;
    if (s->first_page == -2) {
      p->sources[s->leaf].range = (int32_t)i;
    } else if (s->first_page == -1) {
      p->sources[s->leaf].dictionary_range = (int32_t)i;
    }
    for (int32_t k = s->first_page; k >= 0 && k < s->end_page; k++) {
      p->page_ranges[s->leaf][k] = (int32_t)i;
    }
  }
  return tn_prefetch_create(r->file->base.file, ranges, (int32_t)p->n_stretches, &r->prefetch, err);
}

static void close_group(pq_reader *r) {
  for (size_t i = 0; i < r->set.count; i++) {
    tn_pq_leaf_close(&r->set.leaves[i]);
  }
  tn_prefetch_free(r->prefetch);
  r->prefetch = NULL;
  tn_arena_reset(&r->group_arena);
  r->group = -1;
}

static tarn_status prefetch_indexes(group_plan *p, tn_pq_index_bytes *at_hand, tarn_error *err) {
  pq_reader *r = p->reader;
  int32_t *leaves = tn_arena_calloc(&r->group_arena, r->set.count + 1, sizeof(*leaves));
  if (leaves == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < r->set.count; i++) {
    leaves[i] = r->set.leaves[i].node->leaf;
  }
  return tn_pq_indexes_prefetch(r->file, p->group, leaves, (int32_t)r->set.count, false,
                                &r->group_arena, at_hand, err);
}

static tarn_status open_group(pq_reader *r, int32_t number, tarn_error *err) {
  group_plan p;
  tn_pq_index_bytes at_hand = {0, {NULL, 0}};
  bool is_partial;
  memset(&p, 0, sizeof(p));
  close_group(r);
  p.reader = r;
  p.group = &footer_of(r)->row_groups[number];
  is_partial = !wants_all(r, p.group);
  p.sources = tn_arena_calloc(&r->group_arena, r->set.count + 1, sizeof(*p.sources));
  p.page_ranges = tn_arena_calloc(&r->group_arena, r->set.count + 1, sizeof(*p.page_ranges));
  if (p.sources == NULL || p.page_ranges == NULL) {
    return tn_oom(err);
  }
  if (is_partial) {
    TN_TRY(prefetch_indexes(&p, &at_hand, err));
  }
  for (size_t i = 0; i < r->set.count; i++) {
    TN_TRY(plan_leaf(&p, (int32_t)i, &at_hand, is_partial, err));
  }
  TN_TRY(start_prefetch(&p, err));
  for (size_t i = 0; i < r->set.count; i++) {
    tn_pq_leaf *leaf = &r->set.leaves[i];
    p.sources[i].prefetch = r->prefetch;
    TN_TRY(tn_pq_leaf_open(leaf, &p.group->chunks[leaf->node->leaf], p.group->n_rows, &p.sources[i],
                           err));
  }
  r->group = number;
  return TARN_OK;
}

/* ------------------------------------------------------------------ positions */

/* The row group that holds the position; groups may be empty. */
static int32_t find_group(const pq_reader *r) {
  const tn_pq_footer *footer = footer_of(r);
  int32_t i = r->group >= 0 ? r->group : 0;
  while (i < footer->n_row_groups &&
         footer->row_groups[i].first_row + footer->row_groups[i].n_rows <= r->rows.position) {
    i++;
  }
  return i;
}

/* ------------------------------------------------------------------ the calls */

static tarn_status fill_leaves(pq_reader *r, int64_t row, int64_t *n, tarn_error *err) {
  for (size_t i = 0; i < r->set.count; i++) {
    TN_TRY(tn_pq_leaf_fill(&r->set.leaves[i], row, *n, n, err));
  }
  for (size_t i = 0; i < r->set.count; i++) {
    r->set.entries[i] = tn_pq_leaf_entries(&r->set.leaves[i], *n);
  }
  return TARN_OK;
}

static tarn_status take_columns(pq_reader *r, int64_t n, tn_batch *out, tarn_error *err) {
  for (int32_t i = 0; i < r->request.n_fields; i++) {
    TN_TRY(tn_pq_column_take(r->base.env, &r->columns[i], &r->set, n, !r->request.allows_encoded,
                             &out->columns[i], err));
  }
  for (size_t i = 0; i < r->set.count; i++) {
    TN_TRY(tn_pq_leaf_drop(&r->set.leaves[i], n, r->set.entries[i], true, err));
  }
  return TARN_OK;
}

static tarn_status read_batch(pq_reader *r, int64_t max_rows, tn_batch *out, tarn_error *err) {
  const tn_pq_row_group *group;
  int64_t n = tn_wanted_rows_find(&r->rows);
  int64_t usual = r->request.batch_rows > 0 ? r->request.batch_rows : DEFAULT_BATCH_ROWS;
  int64_t in_group;
  int32_t number;
  if (n == 0) {
    return TARN_OK;
  }
  number = find_group(r);
  if (number != r->group) {
    TN_TRY(open_group(r, number, err));
  }
  group = &footer_of(r)->row_groups[number];
  in_group = r->rows.position - group->first_row;
  n = n < group->n_rows - in_group ? n : group->n_rows - in_group;
  n = n < max_rows ? n : max_rows;
  n = n < usual ? n : usual;
  n = n < MAX_BATCH_ROWS ? n : MAX_BATCH_ROWS;
  TN_TRY(fill_leaves(r, in_group, &n, err));
  TN_TRY(take_columns(r, n, out, err));
  out->n_rows = n;
  out->first_position = r->rows.position;
  r->rows.position += n;
  return TARN_OK;
}

static tarn_status reader_next(tn_reader *reader, int64_t max_rows, tn_batch *out,
                               tarn_error *err) {
  pq_reader *r = reader_of(reader);
  tarn_status st;
  tn_batch_clear(reader->env, out);
  if (r->has_failed) {
    return tn_fail(err, TARN_E_STATE, "%s: reading it has failed before", r->file->base.file->path);
  }
  TN_TRY(tn_cancel_check(r->request.cancel, err));
  st = read_batch(r, max_rows, out, err);
  if (st != TARN_OK) {
    tn_batch_clear(reader->env, out);
    r->has_failed = true;
  }
  return st;
}

static tarn_status reader_skip(tn_reader *reader, int64_t n_rows, tarn_error *err) {
  pq_reader *r = reader_of(reader);
  (void)err;
  tn_wanted_rows_skip(&r->rows, n_rows);  // leaves follow when they are filled next
  return TARN_OK;
}

static void reader_free(tn_reader *reader) {
  pq_reader *r = reader_of(reader);
  tarn_env *env = reader->env;
  close_group(r);
  tn_pq_leaf_set_reset(&r->set);
  tn_codec_context_give(r->codec);
  tn_arena_reset(&r->arena);
  tn_format_file_release(&r->file->base);
  tn_free(&env->mem, r);
}

static const tn_reader_ops reader_ops = {reader_next, reader_skip, reader_free};

static int64_t limit_bytes(const tarn_env *env, size_t n_leaves) {
  size_t limit = env->mem.budget_bytes / 8 / (n_leaves + 1);
  limit = limit < MAX_LIMIT_BYTES ? limit : MAX_LIMIT_BYTES;
  return (int64_t)(limit > MIN_LIMIT_BYTES ? limit : MIN_LIMIT_BYTES);
}

tarn_status tn_pq_read(tn_format_file *file, const tn_read_request *request, tn_reader **out,
                       tarn_error *err) {
  tarn_status st = TARN_OK;
  tarn_env *env = file->env;
  pq_reader *r = tn_calloc(&env->mem, 1, sizeof(*r));
  *out = NULL;
  if (r == NULL) {
    return tn_oom(err);
  }
  r->base.ops = &reader_ops;
  r->base.env = env;
  r->file = tn_pq_file_of(tn_format_file_retain(file));
  r->request = *request;
  r->rows = (tn_wanted_rows){.ranges = request->rows, .n_rows = file->n_rows};
  r->group = -1;
  tn_arena_init(&r->arena, &env->mem, SIZE_MAX / 2);
  tn_arena_init(&r->group_arena, &env->mem, env->mem.budget_bytes);
  TN_TRY_TO(fail, tn_codec_context_take(env, &r->codec, err));
  TN_TRY_TO(fail,
            tn_pq_columns_bind(r->file, request, &r->arena, r->codec, &r->columns, &r->set, err));
  for (size_t i = 0; i < r->set.count; i++) {
    r->set.leaves[i].limit_bytes = limit_bytes(env, r->set.count);
  }
  *out = &r->base;
  return TARN_OK;
fail:
  reader_free(&r->base);
  return st;
}
