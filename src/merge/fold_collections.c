/* fold_collections.c - collect, merge_map and merge_map_with_keytime.
 *
 * Java leaves the order of distinct elements and of map entries to its hash tables. Here they keep
 * the order in which they came first; an entry that is updated keeps its place.
 *
 * Rule: org.apache.paimon.mergetree.compact.aggregate.{FieldCollectAgg, FieldMergeMapAgg,
 * FieldMergeMapWithKeyTimeAgg}; spec: merge-engines, 6.
 */
#include "merge/fold_lists.h"

/* ------------------------------------------------------------------ collect */

/* Java 1.4.2 compares constructed elements by their values, and then trusts the accumulator to be
 * without doubles; others go through a hash set, accumulator and all. Binary ones are compared by
 * value since 2.x. */
static bool trusts_accumulator(const tn_fold_spec *spec) {
  const tn_type *element = &spec->field->type.fields[0].type;
  return !spec->is_distinct || tn_type_is_nested(element) || tn_type_is_bytes(element) ||
         element->root == TN_VARIANT || element->root == TN_VECTOR;
}

static tarn_status append_all(tn_list_fold *f, tn_list value, tarn_error *err) {
  for (uint32_t row = value.begin; row < value.end; row++) {
    TN_TRY(tn_bag_add(&f->bag, tn_list_ref(value, row), false, err));
  }
  return TARN_OK;
}

static tarn_status load_collected(tn_list_fold *f, tn_list value, tarn_error *err) {
  return append_all(f, value, err);
}

static tarn_status collect_distinct(tn_list_fold *f, tn_list value, tarn_error *err) {
  bool has_raw = f->form == TN_LIST_RAW;
  if (f->form == TN_LIST_NULL && value.is_null) {
    return TARN_OK;
  }
  TN_TRY(tn_list_fold_load(f, err));
  if (has_raw && !trusts_accumulator(f->spec)) {
    TN_TRY(tn_bag_unify(&f->bag, false, err));
  }
  for (uint32_t row = value.begin; row < value.end; row++) {
    uint32_t item;
    TN_TRY(tn_bag_find(&f->bag, tn_list_ref(value, row), &item, err));
    if (item == TN_NO_ITEM) {
      TN_TRY(tn_bag_add(&f->bag, tn_list_ref(value, row), false, err));
    }
  }
  return TARN_OK;
}

static tarn_status collect_add(tn_list_fold *f, tn_list value, tarn_error *err) {
  TN_TRY(tn_list_fold_load(f, err));
  return append_all(f, value, err);
}

/* What comes too late is appended all the same, but for columns with ignore-retract: their wrapper
 * has the reversed order of all functions. */
static tarn_status collect_add_reversed(tn_list_fold *f, tn_list value, tarn_error *err) {
  if (!f->spec->ignores_retract) {
    return collect_add(f, value, err);
  }
  TN_TRY(tn_list_fold_load(f, err));
  for (uint32_t row = value.end; row > value.begin; row--) {
    TN_TRY(tn_bag_add(&f->bag, tn_list_ref(value, row - 1), true, err));
  }
  return TARN_OK;
}

/* Each retracted element takes its first equal away. */
static tarn_status collect_retract(tn_list_fold *f, tn_list value, tarn_error *err) {
  if (value.begin == value.end) {
    return TARN_OK;
  }
  TN_TRY(tn_list_fold_load(f, err));
  for (uint32_t row = value.begin; row < value.end; row++) {
    uint32_t item;
    TN_TRY(tn_bag_find(&f->bag, tn_list_ref(value, row), &item, err));
    if (item != TN_NO_ITEM) {
      tn_bag_remove(&f->bag, item);
    }
  }
  return TARN_OK;
}

static tarn_status collect_fold(const tn_fold_input *in, const tn_fold_steps *steps, tn_vec *out,
                                tarn_error *err) {
  static const tn_list_ops ops = {.load = load_collected,
                                  .add = collect_add,
                                  .add_reversed = collect_add_reversed,
                                  .retract = collect_retract};
  static const tn_list_ops distinct_ops = {.load = load_collected,
                                           .add = collect_distinct,
                                           .add_reversed = collect_distinct,
                                           .retract = collect_retract,
                                           .adds_null = true};
  return tn_list_fold_run(in, steps, in->spec->is_distinct ? &distinct_ops : &ops, out, err);
}

static tarn_status collect_check(const tn_fold_spec *spec, tarn_error *err) {
  const tn_type *type = &spec->field->type;
  if (type->root != TN_ARRAY) {
    return tn_fail(err, TARN_E_INVALID,
                   "Data type for collect column must be 'Array' but was '%s'.",
                   tn_type_text_of(type).text);
  }
  return TARN_OK;
}

const tn_fold_function tn_fold_collect = {
    .name = "collect", .check = collect_check, .fold = collect_fold};

/* ------------------------------------------------------------------ merge_map */

/* A map may come with a key twice; the last entry counts once maps are merged. */
static tarn_status load_map(tn_list_fold *f, tn_list value, tarn_error *err) {
  TN_TRY(append_all(f, value, err));
  return tn_bag_unify(&f->bag, true, err);
}

/* Put the entries of a map; those of items before `n_kept` stay as they are. */
static tarn_status put_entries(tn_list_fold *f, tn_list value, size_t n_kept, tarn_error *err) {
  for (uint32_t row = value.begin; row < value.end; row++) {
    tn_row_ref at = tn_list_ref(value, row);
    uint32_t item;
    TN_TRY(tn_bag_find(&f->bag, at, &item, err));
    if (item == TN_NO_ITEM) {
      TN_TRY(tn_bag_add(&f->bag, at, false, err));
    } else if (item >= n_kept) {
      f->bag.items[item].at = at;
    }
  }
  return TARN_OK;
}

static tarn_status map_add(tn_list_fold *f, tn_list value, tarn_error *err) {
  TN_TRY(tn_list_fold_load(f, err));
  return put_entries(f, value, 0, err);
}

static tarn_status map_add_reversed(tn_list_fold *f, tn_list value, tarn_error *err) {
  TN_TRY(tn_list_fold_load(f, err));
  return put_entries(f, value, f->bag.n_items, err);
}

static tarn_status fold_merge_map(const tn_fold_input *in, const tn_fold_steps *steps, tn_vec *out,
                                  tarn_error *err) {
  static const tn_list_ops ops = {.load = load_map,
                                  .add = map_add,
                                  .add_reversed = map_add_reversed,
                                  .retract = collect_retract};
  return tn_list_fold_run(in, steps, &ops, out, err);
}

static tarn_status merge_map_check(const tn_fold_spec *spec, tarn_error *err) {
  const tn_type *type = &spec->field->type;
  if (type->root != TN_MAP) {
    return tn_fail(err, TARN_E_INVALID, "Data type for merge map column must be 'MAP' but was '%s'",
                   tn_type_text_of(type).text);
  }
  return TARN_OK;
}

const tn_fold_function tn_fold_merge_map = {.name = "merge_map",
                                            .check = merge_map_check,
                                            .fold = fold_merge_map,
                                            .adds_first_as_it_is = true};

/* ------------------------------------------------------------------ merge_map_with_keytime */

static int32_t time_field(const tn_fold_spec *spec) {
  int32_t n = spec->field->type.fields[1].type.n_fields;
  return spec->time_field >= 0 ? spec->time_field : n - 1;
}

/* The row of an entry, and its time; NULL: no row, or no time. */
static const tn_vec *entry_row(const tn_list_fold *f, tn_row_ref at) {
  const tn_vec *rows = &f->elements[at.source]->children[1];
  return tn_vec_is_null(rows, at.row) ? NULL : rows;
}

static const tn_vec *entry_time(const tn_list_fold *f, tn_row_ref at) {
  const tn_vec *rows = entry_row(f, at);
  const tn_vec *times = rows != NULL ? &rows->children[time_field(f->spec)] : NULL;
  return times != NULL && !tn_vec_is_null(times, at.row) ? times : NULL;
}

/* The order of Java's strings: by UTF-16 units, where the units of what is beyond U+FFFF come
 * before U+E000 to U+FFFF. */
static int compare_utf16(tn_slice a, tn_slice b) {
  size_t n = a.len < b.len ? a.len : b.len, i = 0;
  while (i < n && a.data[i] == b.data[i]) {
    i++;
  }
  if (i < n) {
    bool a_is_high = a.data[i] >= 0xEE && a.data[i] <= 0xEF;
    bool b_is_high = b.data[i] >= 0xEE && b.data[i] <= 0xEF;
    if (a_is_high && b.data[i] >= 0xF0) {
      return 1;
    }
    if (b_is_high && a.data[i] >= 0xF0) {
      return -1;
    }
  }
  return tn_slice_compare(a, b);
}

/* Is the time of a after that of b? Both have one. */
static tarn_status is_after(const tn_list_fold *f, tn_row_ref a, tn_row_ref b, bool *is,
                            tarn_error *err) {
  const tn_vec *time_a = entry_time(f, a), *time_b = entry_time(f, b);
  if (!tn_type_is_string(time_a->type)) {
    return tn_fail(err, TARN_E_INVALID,
                   "merge_map_with_keytime compares times as strings, but field '%s' is %s",
                   f->spec->field->type.fields[1].type.fields[time_field(f->spec)].name,
                   tn_type_text_of(time_a->type).text);
  }
  *is = compare_utf16(tn_vec_bytes(time_a, a.row), tn_vec_bytes(time_b, b.row)) > 0;
  return TARN_OK;
}

/* Items without a row or a time, which came in with a first map, are watched: they vanish when an
 * older map is put under them. */
static tarn_status watch(tn_list_fold *f, uint32_t item, tarn_error *err) {
  if (entry_time(f, f->bag.items[item].at) != NULL) {
    return TARN_OK;
  }
  TN_TRY(tn_fold_grow(&f->env->mem, (void **)&f->watched, &f->watched_capacity, f->n_watched,
                      sizeof(*f->watched), err));
  f->watched[f->n_watched++] = item;
  return TARN_OK;
}

static tarn_status load_timed(tn_list_fold *f, tn_list value, tarn_error *err) {
  TN_TRY(load_map(f, value, err));
  for (uint32_t i = f->bag.first; i != TN_NO_ITEM; i = f->bag.items[i].next) {
    TN_TRY(watch(f, i, err));
  }
  return TARN_OK;
}

static tarn_status put_timed(tn_list_fold *f, tn_row_ref at, tarn_error *err) {
  uint32_t item;
  bool is_newer = true;
  TN_TRY(tn_bag_find(&f->bag, at, &item, err));
  if (entry_row(f, at) == NULL) {
    if (item != TN_NO_ITEM) {
      tn_bag_remove(&f->bag, item);
    }
    return TARN_OK;
  }
  if (entry_time(f, at) == NULL) {
    return TARN_OK;
  }
  if (item == TN_NO_ITEM) {
    return tn_bag_add(&f->bag, at, false, err);
  }
  if (entry_time(f, f->bag.items[item].at) != NULL) {
    TN_TRY(is_after(f, at, f->bag.items[item].at, &is_newer, err));
  }
  if (is_newer) {
    f->bag.items[item].at = at;
  }
  return TARN_OK;
}

static tarn_status timed_add(tn_list_fold *f, tn_list value, tarn_error *err) {
  TN_TRY(tn_list_fold_load(f, err));
  for (uint32_t row = value.begin; row < value.end; row++) {
    TN_TRY(put_timed(f, tn_list_ref(value, row), err));
  }
  return TARN_OK;
}

/* An entry of a map that is put under the accumulator: which entry of the key is left is what
 * putting the accumulator's on top of it gives. */
static tarn_status put_timed_under(tn_list_fold *f, tn_row_ref at, tarn_error *err) {
  tn_row_ref old;
  bool is_newer = false;
  uint32_t item;
  TN_TRY(tn_bag_find(&f->bag, at, &item, err));
  if (item == TN_NO_ITEM) {
    TN_TRY(tn_bag_add(&f->bag, at, false, err));
    f->bag.items[f->bag.n_items - 1].mark = f->mark;
    return watch(f, (uint32_t)f->bag.n_items - 1, err);
  }
  old = f->bag.items[item].at;
  if (entry_row(f, old) == NULL) {
    tn_bag_remove(&f->bag, item);
    return TARN_OK;
  }
  if (entry_time(f, old) != NULL && entry_time(f, at) != NULL) {
    TN_TRY(is_after(f, old, at, &is_newer, err));
  } else {
    is_newer = entry_time(f, old) != NULL;
  }
  if (!is_newer) {
    f->bag.items[item].at = at;
    TN_TRY(watch(f, item, err));
  }
  f->bag.items[item].mark = f->mark;
  return TARN_OK;
}

static tarn_status timed_add_reversed(tn_list_fold *f, tn_list value, tarn_error *err) {
  size_t n_watched, n_left = 0;
  TN_TRY(tn_list_fold_load(f, err));
  n_watched = f->n_watched;
  for (uint32_t row = value.begin; row < value.end; row++) {
    TN_TRY(put_timed_under(f, tn_list_ref(value, row), err));
  }
  for (size_t i = 0; i < f->n_watched; i++) {
    tn_bag_item *item = &f->bag.items[f->watched[i]];
    bool is_timeless = !item->is_gone && entry_time(f, item->at) == NULL;
    if (i < n_watched && is_timeless && item->mark != f->mark) {
      tn_bag_remove(&f->bag, f->watched[i]);
    } else if (i >= n_watched && is_timeless) {
      f->watched[n_left++] = f->watched[i];
    }
  }
  f->n_watched = n_left;
  return TARN_OK;
}

static tarn_status fold_timed(const tn_fold_input *in, const tn_fold_steps *steps, tn_vec *out,
                              tarn_error *err) {
  static const tn_list_ops ops = {
      .load = load_timed, .add = timed_add, .add_reversed = timed_add_reversed};
  return tn_list_fold_run(in, steps, &ops, out, err);
}

static tarn_status timed_check(const tn_fold_spec *spec, tarn_error *err) {
  const tn_field *field = spec->field;
  const tn_type *value = field->type.root == TN_MAP ? &field->type.fields[1].type : NULL;
  if (value == NULL) {
    return tn_fail(err, TARN_E_INVALID, "Data type for field '%s' must be 'MAP' but was '%s'",
                   field->name, tn_type_text_of(&field->type).text);
  }
  if (value->root != TN_ROW) {
    return tn_fail(err, TARN_E_INVALID, "Value type of MAP for field '%s' must be ROW but was '%s'",
                   field->name, tn_type_text_of(value).text);
  }
  if (value->n_fields < 2) {
    return tn_fail(err, TARN_E_INVALID,
                   "ROW type for field '%s' must have at least 2 fields, but found %d", field->name,
                   (int)value->n_fields);
  }
  return TARN_OK;
}

const tn_fold_function tn_fold_merge_map_with_keytime = {.name = "merge_map_with_keytime",
                                                         .check = timed_check,
                                                         .fold = fold_timed,
                                                         .adds_first_as_it_is = true};
