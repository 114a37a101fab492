/* fold_lists.c - bags of elements, and the loop over groups and steps around them. */
#include "merge/fold_lists.h"

#include "base/bytes.h"
#include "base/checked.h"
#include "column/bits.h"
#include "column/equal.h"

tarn_status tn_fold_grow(tn_mem *mem, void **array, size_t *capacity, size_t count,
                         size_t element_bytes, tarn_error *err) {
  size_t more = *capacity < 16 ? 16 : *capacity * 2, n_bytes;
  void *grown;
  if (count < *capacity) {
    return TARN_OK;
  }
  if (!tn_mul_size(more, element_bytes, &n_bytes)) {
    return tn_oom(err);
  }
  grown = tn_realloc(mem, *array, n_bytes);
  if (grown == NULL) {
    return tn_oom(err);
  }
  *array = grown;
  *capacity = more;
  return TARN_OK;
}

/* ------------------------------------------------------------------ bags: order */

void tn_bag_clear(tn_bag *bag) {
  for (size_t i = 0; i < bag->n_classes; i++) {
    bag->slots[bag->classes[i].slot] = 0;
  }
  bag->n_classes = 0;
  bag->n_items = bag->n_living = 0;
  bag->first = bag->last = TN_NO_ITEM;
  bag->is_indexed = false;
}

static void reset_bag(tn_bag *bag) {
  tn_free(bag->mem, bag->items);
  tn_free(bag->mem, bag->classes);
  tn_free(bag->mem, bag->slots);
}

static void link_item(tn_bag *bag, uint32_t i, bool in_front) {
  tn_bag_item *item = &bag->items[i];
  item->prev = in_front ? TN_NO_ITEM : bag->last;
  item->next = in_front ? bag->first : TN_NO_ITEM;
  *(item->prev != TN_NO_ITEM ? &bag->items[item->prev].next : &bag->first) = i;
  *(item->next != TN_NO_ITEM ? &bag->items[item->next].prev : &bag->last) = i;
}

void tn_bag_remove(tn_bag *bag, uint32_t i) {
  tn_bag_item *item = &bag->items[i];
  *(item->prev != TN_NO_ITEM ? &bag->items[item->prev].next : &bag->first) = item->next;
  *(item->next != TN_NO_ITEM ? &bag->items[item->next].prev : &bag->last) = item->prev;
  item->is_gone = true;
  bag->n_living--;
}

/* ------------------------------------------------------------------ bags: search */

static uint64_t hash_of(const tn_bag *bag, tn_row_ref at) {
  const tn_vec *vec = bag->elements[at.source];
  uint64_t h = 0;
  if (bag->n_columns == 0) {
    return tn_vec_row_hash(vec, at.row);
  }
  for (int32_t c = 0; c < bag->n_columns; c++) {
    h = tn_hash_join(h, tn_vec_row_hash(&vec->children[bag->columns[c]], at.row));
  }
  return h;
}

static tarn_status alike(const tn_bag *bag, tn_row_ref a, tn_row_ref b, bool *is_alike,
                         tarn_error *err) {
  const tn_vec *va = bag->elements[a.source], *vb = bag->elements[b.source];
  if (bag->n_columns == 0) {
    return tn_vec_rows_equal(bag->mem, va, a.row, vb, b.row, is_alike, err);
  }
  *is_alike = true;
  for (int32_t c = 0; c < bag->n_columns && *is_alike; c++) {
    int32_t column = bag->columns[c];
    TN_TRY(tn_vec_rows_equal(bag->mem, &va->children[column], a.row, &vb->children[column], b.row,
                             is_alike, err));
  }
  return TARN_OK;
}

/* The slot of the class of an element, or the free one for it. There is one. */
static tarn_status slot_of(const tn_bag *bag, tn_row_ref at, uint64_t hash, size_t *slot,
                           tarn_error *err) {
  size_t mask = bag->n_slots - 1;
  for (size_t i = (size_t)hash & mask;; i = (i + 1) & mask) {
    const tn_bag_class *class;
    bool is_alike = false;
    *slot = i;
    if (bag->slots[i] == 0) {
      return TARN_OK;
    }
    class = &bag->classes[bag->slots[i] - 1];
    if (class->hash == hash) {
      TN_TRY(alike(bag, class->at, at, &is_alike, err));
    }
    if (is_alike) {
      return TARN_OK;
    }
  }
}

static tarn_status grow_slots(tn_bag *bag, tarn_error *err) {
  size_t n = bag->n_slots > 0 ? bag->n_slots * 2 : 32;
  uint32_t *slots;
  if ((bag->n_classes + 1) * 2 <= bag->n_slots) {
    return TARN_OK;
  }
  slots = tn_calloc(bag->mem, n, sizeof(*slots));
  if (slots == NULL) {
    return tn_oom(err);
  }
  for (size_t c = 0; c < bag->n_classes; c++) {
    size_t at = (size_t)bag->classes[c].hash & (n - 1);
    while (slots[at] != 0) {
      at = (at + 1) & (n - 1);
    }
    slots[at] = (uint32_t)c + 1;
    bag->classes[c].slot = at;
  }
  tn_free(bag->mem, bag->slots);
  bag->slots = slots;
  bag->n_slots = n;
  return TARN_OK;
}

/* Put an item into its class. */
static tarn_status index_item(tn_bag *bag, uint32_t i, bool in_front, tarn_error *err) {
  tn_bag_item *item = &bag->items[i];
  uint64_t hash = hash_of(bag, item->at);
  tn_bag_class *class;
  size_t slot;
  TN_TRY(grow_slots(bag, err));
  TN_TRY(slot_of(bag, item->at, hash, &slot, err));
  item->next_alike = TN_NO_ITEM;
  if (bag->slots[slot] == 0) {
    TN_TRY(tn_fold_grow(bag->mem, (void **)&bag->classes, &bag->class_capacity, bag->n_classes,
                        sizeof(*bag->classes), err));
    bag->classes[bag->n_classes++] = (tn_bag_class){hash, item->at, i, i, slot};
    bag->slots[slot] = (uint32_t)bag->n_classes;
    return TARN_OK;
  }
  class = &bag->classes[bag->slots[slot] - 1];
  if (in_front) {
    item->next_alike = class->first;
    class->first = i;
    class->last = class->last != TN_NO_ITEM ? class->last : i;
  } else {
    *(class->last != TN_NO_ITEM ? &bag->items[class->last].next_alike : &class->first) = i;
    class->last = i;
  }
  return TARN_OK;
}

static tarn_status make_index(tn_bag *bag, tarn_error *err) {
  if (!bag->is_indexed) {
    TN_TRY(grow_slots(bag, err));
    bag->is_indexed = true;
    for (uint32_t i = bag->first; i != TN_NO_ITEM; i = bag->items[i].next) {
      TN_TRY(index_item(bag, i, false, err));
    }
  }
  return TARN_OK;
}

tarn_status tn_bag_add(tn_bag *bag, tn_row_ref at, bool in_front, tarn_error *err) {
  uint32_t i = (uint32_t)bag->n_items;
  if (bag->n_items >= INT32_MAX) {
    return tn_fail(err, TARN_E_LIMIT, "more than 2147483647 elements in one value");
  }
  TN_TRY(tn_fold_grow(bag->mem, (void **)&bag->items, &bag->item_capacity, bag->n_items,
                      sizeof(*bag->items), err));
  bag->items[i] = (tn_bag_item){.at = at};
  if (bag->is_indexed) {
    TN_TRY(index_item(bag, i, in_front, err));
  }
  bag->n_items++;
  bag->n_living++;
  link_item(bag, i, in_front);
  return TARN_OK;
}

tarn_status tn_bag_find(tn_bag *bag, tn_row_ref at, uint32_t *item, tarn_error *err) {
  tn_bag_class *class;
  size_t slot;
  *item = TN_NO_ITEM;
  TN_TRY(make_index(bag, err));
  TN_TRY(slot_of(bag, at, hash_of(bag, at), &slot, err));
  if (bag->slots[slot] == 0) {
    return TARN_OK;
  }
  class = &bag->classes[bag->slots[slot] - 1];
  while (class->first != TN_NO_ITEM && bag->items[class->first].is_gone) {
    class->first = bag->items[class->first].next_alike;
  }
  class->last = class->first != TN_NO_ITEM ? class->last : TN_NO_ITEM;
  *item = class->first;
  return TARN_OK;
}

tarn_status tn_bag_unify(tn_bag *bag, bool takes_last, tarn_error *err) {
  TN_TRY(make_index(bag, err));
  for (size_t c = 0; c < bag->n_classes; c++) {
    uint32_t first = TN_NO_ITEM, i = bag->classes[c].first;
    for (; i != TN_NO_ITEM; i = bag->items[i].next_alike) {
      if (bag->items[i].is_gone) {
        continue;
      }
      if (first == TN_NO_ITEM) {
        first = i;
        continue;
      }
      if (takes_last) {
        bag->items[first].at = bag->items[i].at;
      }
      tn_bag_remove(bag, i);
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ the accumulator */

void tn_list_fold_set(tn_list_fold *f, tn_list value) {
  tn_bag_clear(&f->bag);
  f->n_watched = 0;
  f->form = value.is_null ? TN_LIST_NULL : TN_LIST_RAW;
  f->raw = value;
}

tarn_status tn_list_fold_load(tn_list_fold *f, tarn_error *err) {
  bool is_raw = f->form == TN_LIST_RAW;
  f->form = TN_LIST_BAG;
  return is_raw ? f->ops->load(f, f->raw, err) : TARN_OK;
}

/* The list of a row. */
static tn_list list_at(const tn_list_fold *f, tn_row_ref ref) {
  const tn_vec *vec = f->in->sources[ref.source];
  int64_t row = ref.row;
  tn_list list = {.is_null = true, .source = ref.source};
  if (tn_vec_is_null(vec, row)) {
    return list;
  }
  if (vec->encoding == TN_VEC_CONST) {
    vec = vec->constant;
    row = 0;
  } else if (vec->encoding == TN_VEC_DICT) {
    row = ((const int32_t *)vec->values)[row];
    vec = &vec->dictionary->values;
  }
  list.is_null = false;
  list.begin = (uint32_t)vec->offsets[row];
  list.end = (uint32_t)vec->offsets[row + 1];
  return list;
}

static tarn_status add(tn_list_fold *f, tn_list_step step, tn_list value, tarn_error *err) {
  if (value.is_null && !f->ops->adds_null) {
    return TARN_OK;
  }
  if (f->form == TN_LIST_NULL && !f->ops->adds_null) {
    tn_list_fold_set(f, value);
    return TARN_OK;
  }
  return step(f, value, err);
}

static tarn_status take_step(tn_list_fold *f, tn_fold_op op, tn_list value, tarn_error *err) {
  switch (op) {
    case TN_FOLD_ADD:
      return add(f, f->ops->add, value, err);
    case TN_FOLD_ADD_REVERSED:
      f->mark++;
      return add(f, f->ops->add_reversed, value, err);
    case TN_FOLD_SET:
      tn_list_fold_set(f, value);
      return TARN_OK;
    case TN_FOLD_RETRACT:
      break;
  }
  if (f->spec->ignores_retract) {
    return TARN_OK;
  }
  if (f->ops->retract == NULL) {
    return tn_fold_refuse_retract(f->spec, err);
  }
  if (f->form == TN_LIST_NULL || value.is_null) {
    return TARN_OK;
  }
  return f->ops->retract(f, value, err);
}

/* ------------------------------------------------------------------ the result */

/* Room for n more references in each column of the result. */
static tarn_status reserve_refs(tn_list_fold *f, size_t n, tarn_error *err) {
  size_t columns = 1 + f->n_cells, capacity = f->ref_capacity * 2, need, n_bytes;
  tn_row_ref *grown;
  if (!tn_add_size(f->n_refs, n, &need) || need > INT32_MAX) {
    return tn_fail(err, TARN_E_LIMIT,
                   "more than 2147483647 elements in a batch; ask for fewer rows");
  }
  if (need <= f->ref_capacity) {
    return TARN_OK;
  }
  capacity = capacity < need ? need + 64 : capacity;
  if (!tn_mul_size(capacity * sizeof(*grown), columns, &n_bytes)) {
    return tn_oom(err);
  }
  grown = tn_alloc(&f->env->mem, n_bytes);
  if (grown == NULL) {
    return tn_oom(err);
  }
  for (size_t c = 0; c < columns && f->n_refs > 0; c++) {
    memcpy(grown + c * capacity, f->refs + c * f->ref_capacity, f->n_refs * sizeof(*grown));
  }
  tn_free(&f->env->mem, f->refs);
  f->refs = grown;
  f->ref_capacity = capacity;
  return TARN_OK;
}

static void push_ref(tn_list_fold *f, tn_row_ref at, const tn_row_ref *cells) {
  f->refs[f->n_refs] = at;
  for (size_t c = 0; c < f->n_cells; c++) {
    f->refs[(1 + c) * f->ref_capacity + f->n_refs] = cells != NULL ? cells[c] : at;
  }
  f->n_refs++;
}

/* The accumulator is the result of group g. */
static tarn_status close_group(tn_list_fold *f, int64_t g, tarn_error *err) {
  if (f->form == TN_LIST_RAW) {
    TN_TRY(reserve_refs(f, f->raw.end - f->raw.begin, err));
    for (uint32_t row = f->raw.begin; row < f->raw.end; row++) {
      push_ref(f, tn_list_ref(f->raw, row), NULL);
    }
  } else if (f->form == TN_LIST_BAG) {
    TN_TRY(reserve_refs(f, f->bag.n_living, err));
    for (uint32_t i = f->bag.first; i != TN_NO_ITEM; i = f->bag.items[i].next) {
      push_ref(f, f->bag.items[i].at, f->cells != NULL ? f->cells + i * f->n_cells : NULL);
    }
  } else {
    tn_bit_clear(f->out->valid, g);
    f->out->null_count++;
  }
  f->out->offsets[g + 1] = (int32_t)f->n_refs;
  return TARN_OK;
}

/* Child c of the elements. */
static tarn_status gather_column(tn_list_fold *f, int32_t c, const tn_row_ref *refs,
                                 const tn_vec **columns, tn_vec *out, tarn_error *err) {
  for (int32_t s = 0; s < f->in->n_sources; s++) {
    columns[s] = &f->elements[s]->children[c];
  }
  return tn_vec_gather(f->env, out->type, columns, f->in->n_sources, refs, (int64_t)f->n_refs, out,
                       err);
}

/* Elements that are gathered column by column: entries of maps, which have no type of their own,
 * and rows made of several. */
static tarn_status gather_columns(tn_list_fold *f, tn_vec *out, tarn_error *err) {
  tarn_status st = TARN_OK;
  const tn_vec **columns = tn_calloc(&f->env->mem, (size_t)f->in->n_sources + 1, sizeof(*columns));
  if (columns == NULL) {
    return tn_oom(err);
  }
  TN_TRY_TO(done, tn_vec_alloc(f->env, out, (int64_t)f->n_refs, 0, err));
  for (int32_t c = 0; c < out->n_children; c++) {
    const tn_row_ref *refs = f->refs;
    if (f->n_cells > 0) {
      refs += (size_t)(1 + c) * f->ref_capacity;
    }
    TN_TRY_TO(done, gather_column(f, c, refs, columns, &out->children[c], err));
  }
  for (size_t i = 0; i < f->n_refs; i++) {
    if (tn_list_fold_is_null(f, f->refs[i])) {
      if (out->valid == NULL) {
        TN_TRY_TO(done, tn_vec_alloc_valid(f->env, out, true, err));
      }
      tn_bit_clear(out->valid, (int64_t)i);
      out->null_count++;
    }
  }
done:
  tn_free(&f->env->mem, (void *)columns);
  return st;
}

static tarn_status finish(tn_list_fold *f, tarn_error *err) {
  tn_vec *out = f->out, *elements = &out->children[0];
  if (out->null_count == 0) {
    tn_buffer_release(out->valid_buffer);
    out->valid_buffer = NULL;
    out->valid = NULL;
  }
  if (f->n_cells > 0 || out->type->root != TN_ARRAY) {
    return gather_columns(f, elements, err);
  }
  return tn_vec_gather(f->env, elements->type, f->elements, f->in->n_sources, f->refs,
                       (int64_t)f->n_refs, elements, err);
}

/* ------------------------------------------------------------------ the loop */

static const tn_vec *elements_of(const tn_vec *vec) {
  return vec->encoding == TN_VEC_CONST  ? &vec->constant->children[0]
         : vec->encoding == TN_VEC_DICT ? &vec->dictionary->values.children[0]
                                        : &vec->children[0];
}

static tarn_status begin(tn_list_fold *f, int64_t n_groups, tarn_error *err) {
  static const int32_t map_key[1] = {0};
  const tn_type *type = &f->spec->field->type;
  f->elements = tn_calloc(&f->env->mem, (size_t)f->in->n_sources + 1, sizeof(*f->elements));
  if (f->elements == NULL) {
    return tn_oom(err);
  }
  for (int32_t s = 0; s < f->in->n_sources; s++) {
    f->elements[s] = elements_of(f->in->sources[s]);
  }
  f->bag = (tn_bag){.mem = &f->env->mem, .elements = f->elements};
  if (type->root != TN_ARRAY) {
    f->bag.columns = map_key;
    f->bag.n_columns = 1;
  } else if (f->ops->is_keyed) {
    f->bag.columns = f->spec->nested_keys;
    f->bag.n_columns = f->spec->n_nested_keys;
  }
  f->n_cells = f->ops->has_cells ? (size_t)type->fields[0].type.n_fields : 0;
  tn_bag_clear(&f->bag);
  TN_TRY(tn_vec_init(f->env, type, f->out, err));
  TN_TRY(tn_vec_alloc(f->env, f->out, n_groups, 0, err));
  return tn_vec_alloc_valid(f->env, f->out, true, err);
}

tarn_status tn_list_fold_run(const tn_fold_input *in, const tn_fold_steps *steps,
                             const tn_list_ops *ops, tn_vec *out, tarn_error *err) {
  static const tn_list null_list = {.is_null = true};
  tarn_status st;
  tn_list_fold f = {.env = in->env, .in = in, .spec = in->spec, .ops = ops, .out = out};
  tn_vec_reset(in->env, out);
  TN_TRY_TO(done, begin(&f, steps->n_groups, err));
  for (int64_t g = 0; g < steps->n_groups; g++) {
    tn_list_fold_set(&f, null_list);
    for (uint32_t i = steps->groups[g]; i < steps->groups[g + 1]; i++) {
      tn_fold_op op = steps->ops != NULL ? (tn_fold_op)steps->ops[i] : TN_FOLD_ADD;
      TN_TRY_TO(done, take_step(&f, op, list_at(&f, steps->rows[i]), err));
    }
    TN_TRY_TO(done, close_group(&f, g, err));
  }
  st = finish(&f, err);
done:
  tn_free(&in->env->mem, (void *)f.elements);
  reset_bag(&f.bag);
  tn_free(&in->env->mem, f.watched);
  tn_free(&in->env->mem, f.cells);
  tn_free(&in->env->mem, f.refs);
  if (st != TARN_OK) {
    tn_vec_reset(in->env, out);
  }
  return st;
}
