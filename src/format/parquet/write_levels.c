/* write_levels.c - one pass over the slots of each node, from the column down.
 *
 * A node is handed the entries around it: those with a row are slots of the node. It hands its
 * children the entries that its slots become: STRUCT keeps them and cuts off at nulls, LIST and MAP
 * spread them out to their items. Depth is bounded by that of types.
 */
#include "format/parquet/write_levels.h"

#include "base/bytes.h"

typedef struct walker {
  tarn_env *env;
  const tn_pq_write_node *column;
  const tn_pq_leaf_sink *sink;
  tarn_error *err;
} walker;

/* Entries that are being made, in one block: rows, then both levels. */
typedef struct made_entries {
  tn_buffer *block;
  uint32_t *rows;
  uint8_t *def, *rep;
} made_entries;

static tarn_status make_entries(walker *w, int64_t n, made_entries *out) {
  TN_TRY(tn_buffer_create(w->env, (size_t)n * 6 + 8, &out->block, w->err));
  out->rows = (void *)out->block->data;
  out->def = out->block->data + (size_t)n * 4;
  out->rep = out->def + n;
  return TARN_OK;
}

static bool is_null(const tn_vec *vec, uint32_t row) {
  return vec->valid != NULL && !tn_bit_get(vec->valid, row);
}

tarn_status tn_pq_null_in_not_null(const tn_pq_write_node *column, const tn_pq_write_node *node,
                                   tarn_error *err) {
  return node == column
             ? tn_fail(err, TARN_E_INVALID, "column `%s`: a null in a NOT NULL column",
                       column->name)
             : tn_fail(err, TARN_E_INVALID, "column `%s`: a null in `%s`, which is NOT NULL",
                       column->name, node->name);
}

static tarn_status check_no_nulls(walker *w, const tn_pq_write_node *node, const tn_vec *vec,
                                  const tn_pq_entries *in) {
  if (vec->null_count == 0) {
    return TARN_OK;
  }
  for (int64_t i = 0; i < in->n; i++) {
    if (in->rows[i] != TN_PQ_NO_ROW && is_null(vec, in->rows[i])) {
      return tn_pq_null_in_not_null(w->column, node, w->err);
    }
  }
  return TARN_OK;
}

static tarn_status walk(walker *w, const tn_pq_write_node *node, const tn_vec *vec,
                        const tn_pq_entries *in);

static tarn_status walk_children(walker *w, const tn_pq_write_node *node, const tn_vec *vec,
                                 const tn_pq_entries *in) {
  for (int32_t i = 0; i < node->n_children; i++) {
    const tn_pq_write_node *child = &node->children[i];
    TN_TRY(walk(w, child, &vec->children[child->child], in));
  }
  return TARN_OK;
}

static tarn_status walk_struct(walker *w, const tn_pq_write_node *node, const tn_vec *vec,
                               const tn_pq_entries *in) {
  tn_pq_entries out = *in;
  made_entries made;
  tarn_status st;
  if (!node->is_nullable) {
    return walk_children(w, node, vec, in);
  }
  TN_TRY(make_entries(w, in->n, &made));
  for (int64_t i = 0; i < in->n; i++) {
    bool is_there = in->rows[i] != TN_PQ_NO_ROW && !is_null(vec, in->rows[i]);
    made.rows[i] = is_there ? in->rows[i] : TN_PQ_NO_ROW;
    made.def[i] = is_there ? node->max_def : in->def[i];
  }
  out.rows = made.rows;
  out.def = made.def;
  st = walk_children(w, node, vec, &out);
  tn_buffer_release(made.block);
  return st;
}

/* Entries that the lists of a node's slots become. */
static int64_t count_items(const tn_vec *vec, const tn_pq_entries *in) {
  int64_t n = 0;
  for (int64_t i = 0; i < in->n; i++) {
    uint32_t row = in->rows[i];
    int32_t len =
        row != TN_PQ_NO_ROW && !is_null(vec, row) ? vec->offsets[row + 1] - vec->offsets[row] : 0;
    n += len > 0 ? len : 1;
  }
  return n;
}

static tarn_status walk_list(walker *w, const tn_pq_write_node *node, const tn_vec *vec,
                             const tn_pq_entries *in) {
  const tn_vec *items = &vec->children[0];
  tn_pq_entries out = {.n = count_items(vec, in)};
  made_entries made;
  int64_t at = 0;
  tarn_status st;
  TN_TRY(make_entries(w, out.n, &made));
  for (int64_t i = 0; i < in->n; i++) {
    uint32_t row = in->rows[i], item;
    int32_t len;
    if (row == TN_PQ_NO_ROW || is_null(vec, row) || vec->offsets[row] == vec->offsets[row + 1]) {
      bool is_empty = row != TN_PQ_NO_ROW && !is_null(vec, row);
      made.rows[at] = TN_PQ_NO_ROW;
      made.def[at] = is_empty ? node->max_def : in->def[i];
      made.rep[at++] = in->rep[i];
      continue;
    }
    item = (uint32_t)vec->offsets[row];
    len = vec->offsets[row + 1] - vec->offsets[row];
    memset(made.def + at, node->max_def + 1, (size_t)len);
    memset(made.rep + at, node->max_rep, (size_t)len);
    made.rep[at] = in->rep[i];
    for (int32_t k = 0; k < len; k++) {
      made.rows[at + k] = item + (uint32_t)k;
    }
    at += len;
  }
  out.rows = made.rows;
  out.def = made.def;
  out.rep = made.rep;
  if (node->shape == TN_PQ_SHAPE_LIST) {
    st = walk(w, &node->children[0], items, &out);
  } else {
    st = walk_children(w, node, items, &out);
  }
  tn_buffer_release(made.block);
  return st;
}

static tarn_status walk(walker *w, const tn_pq_write_node *node, const tn_vec *vec,
                        const tn_pq_entries *in) {
  if (!node->is_nullable) {
    TN_TRY(check_no_nulls(w, node, vec, in));
  }
  switch (node->shape) {
    case TN_PQ_SHAPE_STRUCT:
      return walk_struct(w, node, vec, in);
    case TN_PQ_SHAPE_LIST:
    case TN_PQ_SHAPE_MAP:
      return walk_list(w, node, vec, in);
    default:
      return w->sink->put(w->sink->ctx, node, vec, in, w->err);
  }
}

tarn_status tn_pq_levels_walk(tarn_env *env, const tn_pq_write_node *column, const tn_vec *vec,
                              int64_t begin, int64_t n, const tn_pq_leaf_sink *sink,
                              tarn_error *err) {
  walker w = {env, column, sink, err};
  made_entries made;
  tn_pq_entries rows = {.n = n};
  tarn_status st;
  TN_TRY(make_entries(&w, n, &made));
  memset(made.def, 0, (size_t)(2 * n)); /* and made.rep */
  for (int64_t i = 0; i < n; i++) {
    made.rows[i] = (uint32_t)(begin + i);
  }
  rows.rows = made.rows;
  rows.def = made.def;
  rows.rep = made.rep;
  st = walk(&w, column, vec, &rows);
  tn_buffer_release(made.block);
  return st;
}

/* ------------------------------------------------------------------ sizes */

int64_t tn_pq_levels_entries(const tn_vec *vec, int64_t begin, int64_t n) {
  int64_t most = n;
  if (n == 0) {
    return 0;
  }
  if (vec->layout == TN_LAYOUT_LIST) {
    int64_t first = vec->offsets[begin], end = vec->offsets[begin + n];
    return n + tn_pq_levels_entries(&vec->children[0], first, end - first);
  }
  for (int32_t i = 0; vec->layout == TN_LAYOUT_STRUCT && i < vec->n_children; i++) {
    int64_t entries = tn_pq_levels_entries(&vec->children[i], begin, n);
    most = entries > most ? entries : most;
  }
  return most;
}

static int64_t view_bytes(const tn_view *views, int64_t n) {
  int64_t sum = 0;
  for (int64_t i = 0; i < n; i++) {
    sum += views[i].len;
  }
  return sum;
}

int64_t tn_pq_levels_bytes(const tn_vec *vec, int64_t begin, int64_t n) {
  int64_t sum = n; /* levels */
  if (n == 0) {
    return 0;
  }
  switch (vec->encoding) {
    case TN_VEC_DICT:
      return n * 4;
    case TN_VEC_CONST:
      return n + n * tn_pq_levels_bytes(vec->constant, 0, 1);
    case TN_VEC_VIEW:
      return 4 * n + view_bytes((const tn_view *)vec->values + begin, n);
    default:
      break;
  }
  switch (vec->layout) {
    case TN_LAYOUT_BYTES:
      return 4 * n + vec->offsets[begin + n] - vec->offsets[begin];
    case TN_LAYOUT_LIST: {
      int64_t first = vec->offsets[begin], end = vec->offsets[begin + n];
      return n + tn_pq_levels_bytes(&vec->children[0], first, end - first);
    }
    case TN_LAYOUT_STRUCT:
      for (int32_t i = 0; i < vec->n_children; i++) {
        sum += tn_pq_levels_bytes(&vec->children[i], begin, n);
      }
      return sum;
    default:
      return n * (int64_t)(tn_layout_width(vec->layout) > 0 ? tn_layout_width(vec->layout) : 1);
  }
}
