/* column.c - types bound to nodes; shapes of groups from levels. */
#include "format/parquet/column.h"

#include "base/bytes.h"

/* ------------------------------------------------------------------ binding */

typedef struct binder {
  const tn_pq_file *file;
  tn_arena *arena;
  tn_codec_context *codec;
  tn_pq_leaf_set *set;
  const char *name; /* of the top-level column, for messages */
  tarn_error *err;
} binder;

static const char *path_of(const binder *b) {
  return b->file->base.file->path;
}

/* Add a leaf; type NULL: its levels alone. */
static tarn_status add_leaf(binder *b, const tn_pq_node *node, const tn_type *type, int32_t *out) {
  tn_pq_leaf_set *set = b->set;
  tn_pq_leaf *leaf;
  if (!tn_arena_grow(b->arena, (void **)&set->leaves, &set->capacity, set->count,
                     sizeof(*set->leaves))) {
    return tn_oom(b->err);
  }
  leaf = &set->leaves[set->count];
  memset(leaf, 0, sizeof(*leaf));
  *out = (int32_t)set->count++;
  return tn_pq_leaf_init(leaf, b->file->base.env, node, type, path_of(b),
                         tn_pq_leaf_path(b->file, node->leaf), b->codec, b->err);
}

static tarn_status bind(binder *b, const tn_pq_node *node, const tn_type *type, int depth,
                        tn_pq_column *out);

static tarn_status mismatch(const binder *b, const tn_pq_node *node, const tn_type *type) {
  return tn_pq_type_mismatch(node, type, path_of(b), b->name, b->err);
}

/* Children are bound; the group's shape comes from the first that has a leaf. */
static tarn_status find_shape(binder *b, tn_pq_column *column) {
  for (int32_t i = 0; i < column->n_children; i++) {
    if (column->children[i].kind != TN_PQ_COLUMN_MISSING) {
      column->leaf = column->children[i].leaf;
      return TARN_OK;
    }
  }
  return add_leaf(b, tn_pq_node_level_leaf(column->node), NULL, &column->leaf);
}

static tarn_status make_children(binder *b, tn_pq_column *column, int32_t n) {
  column->n_children = n;
  column->children = tn_arena_calloc(b->arena, (size_t)n + 1, sizeof(*column->children));
  return column->children == NULL ? tn_oom(b->err) : TARN_OK;
}

static tarn_status bind_row(binder *b, const tn_pq_node *node, const tn_type *type, int depth,
                            tn_pq_column *out) {
  if (node->kind != TN_PQ_NODE_STRUCT) {
    return mismatch(b, node, type);
  }
  out->kind = TN_PQ_COLUMN_STRUCT;
  TN_TRY(make_children(b, out, type->n_fields));
  for (int32_t i = 0; i < type->n_fields; i++) {
    TN_TRY(bind(b, tn_pq_node_child(node, type->fields[i].name), &type->fields[i].type, depth + 1,
                &out->children[i]));
  }
  return find_shape(b, out);
}

static tarn_status bind_shredded(binder *b, const tn_pq_node *node, tn_pq_column *out) {
  tn_pq_shred_plan *plan;
  TN_TRY(tn_pq_shred_plan_make(b->arena, node, path_of(b), b->name, &plan, b->err));
  out->kind = TN_PQ_COLUMN_SHRED;
  out->shred = plan;
  TN_TRY(make_children(b, out, 1));
  // what is shredded may be as deep as the file's schema, which is bounded, rather than as types
  TN_TRY(bind(b, &plan->node, &plan->type, -TN_PQ_MAX_DEPTH, &out->children[0]));
  return find_shape(b, out);
}

static tarn_status bind_variant(binder *b, const tn_pq_node *node, const tn_type *type, int depth,
                                tn_pq_column *out) {
  static const char *const parts[] = {"metadata", "value"};
  static const tn_type part_type = {.root = TN_VARBINARY, .length = INT32_MAX};
  if (!tn_pq_node_is_variant(node)) {
    return mismatch(b, node, type);
  }
  if (tn_pq_node_is_shredded(node)) {
    return bind_shredded(b, node, out);
  }
  out->kind = TN_PQ_COLUMN_STRUCT;
  TN_TRY(make_children(b, out, 2));
  for (int32_t i = 0; i < 2; i++) {
    TN_TRY(bind(b, tn_pq_node_child(node, parts[i]), &part_type, depth + 1, &out->children[i]));
  }
  return find_shape(b, out);
}

static tarn_status bind_items(binder *b, const tn_pq_node *node, const tn_type *type, int depth,
                              tn_pq_column *out) {
  bool is_map = type->root != TN_ARRAY;
  if (node->kind != (is_map ? TN_PQ_NODE_MAP : TN_PQ_NODE_LIST)) {
    return mismatch(b, node, type);
  }
  out->kind = is_map ? TN_PQ_COLUMN_MAP : TN_PQ_COLUMN_LIST;
  TN_TRY(make_children(b, out, type->n_fields));
  for (int32_t i = 0; i < type->n_fields; i++) {
    const tn_pq_node *child = i < node->n_children ? &node->children[i] : NULL;
    TN_TRY(bind(b, child, &type->fields[i].type, depth + 1, &out->children[i]));
  }
  return find_shape(b, out);
}

static tarn_status bind(binder *b, const tn_pq_node *node, const tn_type *type, int depth,
                        tn_pq_column *out) {
  out->type = type;
  out->node = node;
  if (depth > TN_MAX_TYPE_DEPTH) {
    return tn_fail(b->err, TARN_E_LIMIT, "%s: column `%s` is nested deeper than %d levels",
                   path_of(b), b->name, TN_MAX_TYPE_DEPTH);
  }
  if (type->root == TN_VECTOR) {
    return tn_fail(b->err, TARN_E_UNSUPPORTED,
                   "%s: column `%s`: VECTOR in Parquet files is not supported", path_of(b),
                   b->name);
  }
  if (node == NULL) {
    out->kind = TN_PQ_COLUMN_MISSING;
    return TARN_OK;
  }
  switch (type->root) {
    case TN_ROW:
      return bind_row(b, node, type, depth, out);
    case TN_VARIANT:
      return bind_variant(b, node, type, depth, out);
    case TN_ARRAY:
    case TN_MAP:
    case TN_MULTISET:
      return bind_items(b, node, type, depth, out);
    default:
      break;
  }
  if (node->kind != TN_PQ_NODE_LEAF) {
    return mismatch(b, node, type);
  }
  out->kind = TN_PQ_COLUMN_LEAF;
  return add_leaf(b, node, type, &out->leaf);
}

tarn_status tn_pq_columns_bind(const tn_pq_file *file, const tn_read_request *request,
                               tn_arena *arena, tn_codec_context *codec, tn_pq_column **columns,
                               tn_pq_leaf_set *set, tarn_error *err) {
  binder b = {file, arena, codec, set, NULL, err};
  int32_t at = 0;
  *columns = tn_arena_calloc(arena, (size_t)request->n_fields + 1, sizeof(**columns));
  if (*columns == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < request->n_fields; i++) {
    const tn_field *field = &request->fields[i];
    tn_pq_column *column = &(*columns)[i];
    b.name = field->name;
    TN_TRY(bind(&b, tn_pq_node_next_child(&file->meta->schema.root, field->name, &at), &field->type,
                0, column));
    if (column->kind == TN_PQ_COLUMN_LEAF) {
      set->leaves[column->leaf].allows_encoded = request->allows_encoded;
    }
  }
  // the leaves are at rest now: what points into them may be set
  for (size_t i = 0; i < set->count; i++) {
    tn_pq_leaf *leaf = &set->leaves[i];
    tn_pq_dense_init(&leaf->dense, leaf->env, leaf->type, &leaf->convert);
  }
  set->entries = tn_arena_calloc(arena, set->count + 1, sizeof(*set->entries));
  return set->entries == NULL ? tn_oom(err) : TARN_OK;
}

void tn_pq_leaf_set_reset(tn_pq_leaf_set *set) {
  for (size_t i = 0; i < set->count; i++) {
    tn_pq_leaf_reset(&set->leaves[i]);
  }
  set->count = 0;
}

/* ------------------------------------------------------------------ vectors from levels */

/* What the levels tell of a group. */
typedef struct shape {
  int64_t n_slots;
  int64_t n_present;
  int64_t n_items;
  tn_buffer *valid;   /* n_slots bits; NULL: all are present */
  tn_buffer *offsets; /* LIST, MAP: n_slots + 1 */
} shape;

static void shape_reset(shape *s) {
  tn_buffer_release(s->valid);
  tn_buffer_release(s->offsets);
  memset(s, 0, sizeof(*s));
}

static tarn_status bad_levels(const tn_pq_leaf *leaf, const tn_pq_node *node, tarn_error *err) {
  return tn_fail(err, TARN_E_CORRUPT,
                 "%s: column `%s`: its levels contradict the shape of `%s` near row %lld of its "
                 "row group",
                 leaf->pages.path, leaf->pages.column, node->name, (long long)leaf->first_row);
}

/* A struct that nothing repeated surrounds: every entry is a slot. */
static tarn_status flat_struct_shape(tarn_env *env, const tn_pq_leaf *leaf, const tn_pq_node *node,
                                     int64_t n, shape *out, tarn_error *err) {
  out->n_slots = out->n_present = n;
  if (leaf->def == NULL || node->def_present == 0) {
    return TARN_OK;
  }
  TN_TRY(tn_buffer_create(env, TN_BITMAP_BYTES(n), &out->valid, err));
  out->n_present = tn_pq_bits_from_levels(leaf->def->data, n, node->def_present, out->valid->data);
  return TARN_OK;
}

static tarn_status struct_shape(tarn_env *env, const tn_pq_leaf *leaf, const tn_pq_node *node,
                                int64_t n, shape *out, tarn_error *err) {
  const uint8_t *def, *rep;
  uint8_t *bits;
  if (leaf->node->rep_slot == 0) {
    return flat_struct_shape(env, leaf, node, n, out, err);
  }
  TN_TRY(tn_buffer_create(env, TN_BITMAP_BYTES(n), &out->valid, err));
  def = leaf->def->data;
  rep = leaf->rep->data;
  bits = out->valid->data;
  for (int64_t i = 0; i < n; i++) {
    if (rep[i] <= node->rep_slot && def[i] >= node->def_slot) {
      bool is_present = def[i] >= node->def_present;
      tn_bit_put(bits, out->n_slots++, is_present);
      out->n_present += is_present;
    }
  }
  return TARN_OK;
}

/* Lists: also where the items of each slot begin. */
static tarn_status list_shape(tarn_env *env, const tn_pq_leaf *leaf, const tn_pq_node *node,
                              int64_t n, shape *out, tarn_error *err) {
  const uint8_t *def = leaf->def->data, *rep = leaf->rep->data;
  uint8_t *bits;
  int32_t *offsets;
  bool has_items = false;  // may the slot that is open get more of them?
  if (n > INT32_MAX - 1) {
    return tn_fail(err, TARN_E_LIMIT, "%s: column `%s`: more than 2^31 items in one row or a few",
                   leaf->pages.path, leaf->pages.column);
  }
  TN_TRY(tn_buffer_create(env, TN_BITMAP_BYTES(n), &out->valid, err));
  TN_TRY(tn_buffer_create(env, ((size_t)n + 1) * sizeof(int32_t), &out->offsets, err));
  bits = out->valid->data;
  offsets = (int32_t *)(void *)out->offsets->data;
  for (int64_t i = 0; i < n; i++) {
    if (rep[i] <= node->rep_slot) {
      if (def[i] < node->def_slot) {
        has_items = false;
        continue;
      }
      bool is_present = def[i] >= node->def_present;
      tn_bit_put(bits, out->n_slots, is_present);
      offsets[out->n_slots++] = (int32_t)out->n_items;
      out->n_present += is_present;
      has_items = def[i] >= node->def_item;
      out->n_items += has_items;
    } else if (rep[i] == node->rep_item) {
      if (!has_items || def[i] < node->def_item) {
        return bad_levels(leaf, node, err);
      }
      out->n_items++;
    } else if (!has_items) {
      return bad_levels(leaf, node, err);
    }
  }
  offsets[out->n_slots] = (int32_t)out->n_items;
  return TARN_OK;
}

/* Validity moves into the vector unless it says nothing. */
static void set_shape(shape *s, tn_vec *out) {
  out->length = s->n_slots;
  out->null_count = s->n_slots - s->n_present;
  if (out->null_count > 0) {
    out->valid_buffer = s->valid;
    out->valid = s->valid->data;
    s->valid = NULL;
  }
  if (s->offsets != NULL) {
    out->offsets_buffer = s->offsets;
    out->offsets = (int32_t *)(void *)s->offsets->data;
    s->offsets = NULL;
  }
}

/* take() for a column within others: n_slots is what its parent tells. */
static tarn_status take_child(tarn_env *env, const tn_pq_column *column, tn_pq_leaf_set *set,
                              int64_t n_slots, tn_vec *out, tarn_error *err);

static tarn_status take_struct(tarn_env *env, const tn_pq_column *column, tn_pq_leaf_set *set,
                               tn_vec *out, tarn_error *err) {
  const tn_pq_leaf *leaf = &set->leaves[column->leaf];
  tarn_status st = TARN_OK;
  shape s;
  memset(&s, 0, sizeof(s));
  TN_TRY_TO(done, struct_shape(env, leaf, column->node, set->entries[column->leaf], &s, err));
  set_shape(&s, out);
  for (int32_t i = 0; i < column->n_children; i++) {
    TN_TRY_TO(done,
              take_child(env, &column->children[i], set, out->length, &out->children[i], err));
  }
done:
  shape_reset(&s);
  return st;
}

static tarn_status take_items(tarn_env *env, const tn_pq_column *column, tn_pq_leaf_set *set,
                              tn_vec *out, tarn_error *err) {
  const tn_pq_leaf *leaf = &set->leaves[column->leaf];
  tarn_status st = TARN_OK;
  tn_vec *items = &out->children[0];
  shape s;
  memset(&s, 0, sizeof(s));
  TN_TRY_TO(done, list_shape(env, leaf, column->node, set->entries[column->leaf], &s, err));
  set_shape(&s, out);
  if (column->kind == TN_PQ_COLUMN_LIST) {
    st = take_child(env, &column->children[0], set, s.n_items, items, err);
    goto done;
  }
  items->length = s.n_items;  // the entries of a map: a struct that is never null
  for (int32_t i = 0; i < column->n_children; i++) {
    TN_TRY_TO(done,
              take_child(env, &column->children[i], set, s.n_items, &items->children[i], err));
  }
done:
  shape_reset(&s);
  return st;
}

static tarn_status take_shredded(tarn_env *env, const tn_pq_column *column, tn_pq_leaf_set *set,
                                 tn_vec *out, tarn_error *err) {
  const tn_pq_leaf *leaf = &set->leaves[column->leaf];
  tarn_status st;
  tn_vec rows;
  TN_TRY(tn_vec_init(env, &column->shred->type, &rows, err));
  TN_TRY_TO(done, take_struct(env, &column->children[0], set, &rows, err));
  st = tn_pq_shred_join(env, column->shred, &rows, out, err);
  if (st != TARN_OK) {
    st = tn_error_context(err, st, "%s: column `%s` near row %lld of its row group",
                          leaf->pages.path, column->node->name, (long long)leaf->first_row);
  }
done:
  tn_vec_reset(env, &rows);
  return st;
}

static tarn_status take(tarn_env *env, const tn_pq_column *column, tn_pq_leaf_set *set, tn_vec *out,
                        tarn_error *err) {
  switch (column->kind) {
    case TN_PQ_COLUMN_LEAF:
      return tn_pq_leaf_take(&set->leaves[column->leaf], set->entries[column->leaf], out, err);
    case TN_PQ_COLUMN_STRUCT:
      return take_struct(env, column, set, out, err);
    case TN_PQ_COLUMN_SHRED:
      return take_shredded(env, column, set, out, err);
    default:
      return take_items(env, column, set, out, err);
  }
}

static tarn_status take_child(tarn_env *env, const tn_pq_column *column, tn_pq_leaf_set *set,
                              int64_t n_slots, tn_vec *out, tarn_error *err) {
  if (column->kind == TN_PQ_COLUMN_MISSING) {
    return tn_vec_init_nulls(env, column->type, n_slots, true, out, err);
  }
  TN_TRY(take(env, column, set, out, err));
  if (out->length != n_slots) {
    return bad_levels(&set->leaves[column->leaf], column->node, err);
  }
  return TARN_OK;
}

tarn_status tn_pq_column_take(tarn_env *env, const tn_pq_column *column, tn_pq_leaf_set *set,
                              int64_t n_rows, bool is_flat, tn_vec *out, tarn_error *err) {
  if (column->kind == TN_PQ_COLUMN_MISSING) {
    return tn_vec_init_nulls(env, column->type, n_rows, is_flat, out, err);
  }
  if (column->kind != TN_PQ_COLUMN_LEAF || out->encoding != TN_VEC_FLAT || out->length != 0) {
    tn_vec_reset(env, out);
    TN_TRY(tn_vec_init(env, column->type, out, err));
  }
  TN_TRY(take(env, column, set, out, err));
  if (out->length != n_rows) {
    return bad_levels(&set->leaves[column->leaf], column->node, err);
  }
  return TARN_OK;
}
