/* fold_nested.c - nested_update and nested_partial_update: arrays of rows as small tables.
 *
 * Java leaves the order of keyed rows to its hash table. Here they keep the order in which their
 * keys came first. A first array is taken as it is; nulls and older rows of a key are dropped, and
 * limits kept, when something is merged with it. With a nested key and a full table Java 1.4.2
 * loses updates; the rule of 2.x is kept here: keys that are there are updated, new ones limited.
 *
 * Rule: org.apache.paimon.mergetree.compact.aggregate.{FieldNestedUpdateAgg,
 * FieldNestedPartialUpdateAgg}; spec: merge-engines, 6.1.
 */
#include "merge/fold_lists.h"

static bool is_keyed(const tn_list_fold *f) {
  return f->spec->n_nested_keys > 0;
}

static size_t limit_of(const tn_list_fold *f) {
  return f->spec->count_limit > 0 ? (size_t)f->spec->count_limit : 0;
}

static tarn_status check_rows(const tn_fold_spec *spec, tarn_error *err) {
  const tn_type *type = &spec->field->type;
  if (type->root != TN_ARRAY || type->fields[0].type.root != TN_ROW) {
    return tn_fail(err, TARN_E_INVALID,
                   "Data type for nested table column must be 'Array<Row>' but was '%s'.",
                   tn_type_text_of(type).text);
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ nested_update */

/* The accumulator without its nulls; keyed: with the last row of each key. */
static tarn_status load_rows(tn_list_fold *f, tn_list value, tarn_error *err) {
  for (uint32_t row = value.begin; row < value.end; row++) {
    tn_row_ref at = tn_list_ref(value, row);
    if (!tn_list_fold_is_null(f, at)) {
      TN_TRY(tn_bag_add(&f->bag, at, false, err));
    }
  }
  return is_keyed(f) ? tn_bag_unify(&f->bag, true, err) : TARN_OK;
}

/* Without a key rows are appended up to the limit; nulls of the accumulator count until they are
 * dropped. */
static tarn_status append_rows(tn_list_fold *f, tn_list value, tarn_error *err) {
  size_t size = f->form == TN_LIST_RAW ? f->raw.end - f->raw.begin : f->bag.n_living;
  size_t limit = limit_of(f), n_more;
  if (size >= limit) {
    return TARN_OK;
  }
  n_more = limit - size;
  TN_TRY(tn_list_fold_load(f, err));
  for (uint32_t row = value.begin; row < value.end && n_more > 0; row++) {
    tn_row_ref at = tn_list_ref(value, row);
    if (!tn_list_fold_is_null(f, at)) {
      TN_TRY(tn_bag_add(&f->bag, at, false, err));
      n_more--;
    }
  }
  return TARN_OK;
}

static tarn_status nested_add(tn_list_fold *f, tn_list value, tarn_error *err) {
  if (!is_keyed(f)) {
    return append_rows(f, value, err);
  }
  TN_TRY(tn_list_fold_load(f, err));
  for (uint32_t row = value.begin; row < value.end; row++) {
    tn_row_ref at = tn_list_ref(value, row);
    uint32_t item;
    if (tn_list_fold_is_null(f, at)) {
      continue;
    }
    TN_TRY(tn_bag_find(&f->bag, at, &item, err));
    if (item != TN_NO_ITEM) {
      f->bag.items[item].at = at;
    } else if (f->bag.n_living < limit_of(f)) {
      TN_TRY(tn_bag_add(&f->bag, at, false, err));
    }
  }
  return TARN_OK;
}

/* Take rows off the end that are not marked, until no more than n of them are left. */
static void truncate_rows(tn_list_fold *f, size_t n_unmarked, size_t n) {
  uint32_t i = f->bag.last;
  while (i != TN_NO_ITEM && n_unmarked > n) {
    uint32_t prev = f->bag.items[i].prev;
    if (f->bag.items[i].mark != f->mark) {
      tn_bag_remove(&f->bag, i);
      n_unmarked--;
    }
    i = prev;
  }
}

/* The value comes first, the rows of the accumulator behind it. */
static tarn_status append_rows_to(tn_list_fold *f, tn_list value, tarn_error *err) {
  size_t size = value.end - value.begin, limit = limit_of(f);
  if (size >= limit) {
    tn_list_fold_set(f, value);
    return TARN_OK;
  }
  TN_TRY(tn_list_fold_load(f, err));
  truncate_rows(f, f->bag.n_living, limit - size);
  for (uint32_t row = value.end; row > value.begin; row--) {
    tn_row_ref at = tn_list_ref(value, row - 1);
    if (!tn_list_fold_is_null(f, at)) {
      TN_TRY(tn_bag_add(&f->bag, at, true, err));
    }
  }
  return TARN_OK;
}

static tarn_status update_rows_of(tn_list_fold *f, tn_list value, tarn_error *err) {
  size_t n_unmarked, n_kept, n_of_value = 0;
  TN_TRY(tn_list_fold_load(f, err));
  n_kept = f->bag.n_items;
  n_unmarked = f->bag.n_living;
  for (uint32_t row = value.begin; row < value.end; row++) {
    tn_row_ref at = tn_list_ref(value, row);
    uint32_t item;
    if (tn_list_fold_is_null(f, at)) {
      continue;
    }
    TN_TRY(tn_bag_find(&f->bag, at, &item, err));
    if (item == TN_NO_ITEM) {
      TN_TRY(tn_bag_add(&f->bag, at, false, err));
      f->bag.items[f->bag.n_items - 1].mark = f->mark;
      n_of_value++;
    } else if (item >= n_kept) {
      f->bag.items[item].at = at;
    } else if (f->bag.items[item].mark != f->mark) {
      f->bag.items[item].mark = f->mark;
      n_unmarked--;
      n_of_value++;
    }
  }
  truncate_rows(f, n_unmarked, n_of_value < limit_of(f) ? limit_of(f) - n_of_value : 0);
  return TARN_OK;
}

static tarn_status nested_add_reversed(tn_list_fold *f, tn_list value, tarn_error *err) {
  return is_keyed(f) ? update_rows_of(f, value, err) : append_rows_to(f, value, err);
}

/* All rows that are alike go: the whole row without a key. */
static tarn_status nested_retract(tn_list_fold *f, tn_list value, tarn_error *err) {
  TN_TRY(tn_list_fold_load(f, err));
  for (uint32_t row = value.begin; row < value.end; row++) {
    tn_row_ref at = tn_list_ref(value, row);
    uint32_t item = TN_NO_ITEM;
    if (tn_list_fold_is_null(f, at)) {
      continue;
    }
    do {
      TN_TRY(tn_bag_find(&f->bag, at, &item, err));
      if (item != TN_NO_ITEM) {
        tn_bag_remove(&f->bag, item);
      }
    } while (item != TN_NO_ITEM);
  }
  return TARN_OK;
}

static tarn_status fold_nested_update(const tn_fold_input *in, const tn_fold_steps *steps,
                                      tn_vec *out, tarn_error *err) {
  static const tn_list_ops ops = {.load = load_rows,
                                  .add = nested_add,
                                  .add_reversed = nested_add_reversed,
                                  .retract = nested_retract,
                                  .is_keyed = true};
  return tn_list_fold_run(in, steps, &ops, out, err);
}

const tn_fold_function tn_fold_nested_update = {.name = "nested_update",
                                                .check = check_rows,
                                                .fold = fold_nested_update,
                                                .adds_first_as_it_is = true};

/* ------------------------------------------------------------------ nested_partial_update */

static bool cell_is_null(const tn_list_fold *f, tn_row_ref at, size_t column) {
  return tn_vec_is_null(&f->elements[at.source]->children[column], at.row);
}

static bool is_of(tn_list value, tn_row_ref at) {
  return at.source == value.source && at.row >= value.begin && at.row < value.end;
}

static tarn_status add_row_of_cells(tn_list_fold *f, tn_row_ref at, tarn_error *err) {
  size_t item = f->bag.n_items;
  TN_TRY(tn_fold_grow(&f->env->mem, (void **)&f->cells, &f->cell_capacity, item,
                      f->n_cells * sizeof(*f->cells), err));
  TN_TRY(tn_bag_add(&f->bag, at, false, err));
  for (size_t c = 0; c < f->n_cells; c++) {
    f->cells[item * f->n_cells + c] = at;
  }
  return TARN_OK;
}

/* Merge the rows of a list by key: a cell that is not null replaces one that is null or, unless the
 * value came too late, any; and always one of the same list. */
static tarn_status merge_cells(tn_list_fold *f, tn_list value, bool is_late, tarn_error *err) {
  for (uint32_t row = value.begin; row < value.end; row++) {
    tn_row_ref at = tn_list_ref(value, row), *cells;
    uint32_t item;
    if (tn_list_fold_is_null(f, at)) {
      continue;
    }
    TN_TRY(tn_bag_find(&f->bag, at, &item, err));
    if (item == TN_NO_ITEM) {
      TN_TRY(add_row_of_cells(f, at, err));
      continue;
    }
    cells = f->cells + item * f->n_cells;
    for (size_t c = 0; c < f->n_cells; c++) {
      if (!cell_is_null(f, at, c) &&
          (!is_late || is_of(value, cells[c]) || cell_is_null(f, cells[c], c))) {
        cells[c] = at;
      }
    }
  }
  return TARN_OK;
}

static tarn_status load_cells(tn_list_fold *f, tn_list value, tarn_error *err) {
  return merge_cells(f, value, false, err);
}

static tarn_status partial_add(tn_list_fold *f, tn_list value, tarn_error *err) {
  TN_TRY(tn_list_fold_load(f, err));
  return merge_cells(f, value, false, err);
}

static tarn_status partial_add_reversed(tn_list_fold *f, tn_list value, tarn_error *err) {
  TN_TRY(tn_list_fold_load(f, err));
  return merge_cells(f, value, true, err);
}

static tarn_status fold_nested_partial(const tn_fold_input *in, const tn_fold_steps *steps,
                                       tn_vec *out, tarn_error *err) {
  static const tn_list_ops ops = {.load = load_cells,
                                  .add = partial_add,
                                  .add_reversed = partial_add_reversed,
                                  .is_keyed = true,
                                  .has_cells = true};
  return tn_list_fold_run(in, steps, &ops, out, err);
}

static tarn_status partial_check(const tn_fold_spec *spec, tarn_error *err) {
  if (spec->n_nested_keys == 0) {
    return tn_fail(err, TARN_E_INVALID,
                   "column '%s': nested_partial_update needs fields.%s.nested-key",
                   spec->field->name, spec->field->name);
  }
  return check_rows(spec, err);
}

const tn_fold_function tn_fold_nested_partial_update = {.name = "nested_partial_update",
                                                        .check = partial_check,
                                                        .fold = fold_nested_partial,
                                                        .adds_first_as_it_is = true};
