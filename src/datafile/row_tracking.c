/* row_tracking.c - the system columns of row tracking, and row ids out of predicates. */
#include "datafile/row_tracking.h"

const tn_field tn_row_tracking_fields[TN_N_ROW_TRACKING_FIELDS] = {
    {.id = TN_FIELD_ID_ROW_ID, .name = "_ROW_ID", .type = {.root = TN_BIGINT, .is_nullable = true}},
    {.id = TN_FIELD_ID_SEQUENCE_NUMBER,
     .name = "_SEQUENCE_NUMBER",
     .type = {.root = TN_BIGINT, .is_nullable = true}},
};

const tn_field *tn_row_tracking_field(int32_t id) {
  for (size_t i = 0; i < TN_N_ROW_TRACKING_FIELDS; i++) {
    if (tn_row_tracking_fields[i].id == id) {
      return &tn_row_tracking_fields[i];
    }
  }
  return NULL;
}

bool tn_data_file_has_column(const tn_data_file *file, tn_slice name) {
  const tn_slice *names = file->write_cols.items;
  for (int32_t i = 0; file->has_write_cols && i < file->write_cols.count; i++) {
    if (tn_slice_equal(names[i], name)) {
      return true;
    }
  }
  return !file->has_write_cols;
}

/* Commits give ids to the files that do not list the column. Sequence numbers of rows that a
 * compaction put together are in the file, though nothing lists them (tn_write_shape_create). */
bool tn_data_file_may_store(const tn_data_file *file, const tn_field *field) {
  if (field->id == TN_FIELD_ID_SEQUENCE_NUMBER && file->has_source &&
      file->source == TN_SOURCE_COMPACT) {
    return true;
  }
  return file->has_write_cols ? tn_data_file_has_column(file, tn_slice_text(field->name))
                              : !file->has_first_row_id;
}

bool tn_data_file_row_ids(const tn_data_file *file, int64_t *first, int64_t *last) {
  *first = file->first_row_id;
  return file->has_first_row_id && file->first_row_id >= 0 && file->row_count >= 0 &&
         !__builtin_add_overflow(file->first_row_id, file->row_count - 1, last) &&
         *last < INT64_MAX;
}

/* ------------------------------------------------------------------ predicates */

static tarn_status add(tn_ranges *out, int64_t first, int64_t last, tarn_error *err) {
  first = first > 0 ? first : 0;
  last = last < INT64_MAX ? last : INT64_MAX - 1;
  return first <= last ? tn_ranges_add(out, first, last + 1, err) : TARN_OK;
}

static tarn_status ids_of_leaf(const tn_pred *leaf, tn_ranges *out, tarn_error *err) {
  const tn_datum *l = leaf->literals;
  bool is_plain =
      leaf->field_id == TN_FIELD_ID_ROW_ID && leaf->n_path == 0 && leaf->type.root == TN_BIGINT;
  for (int32_t i = 0; i < leaf->n_literals; i++) {
    is_plain = is_plain && !l[i].is_null;
  }
  if (!is_plain) {
    return add(out, 0, INT64_MAX, err);
  }
  switch (leaf->op) {
    case TN_PRED_EQ:
      return add(out, l[0].v.i64, l[0].v.i64, err);
    case TN_PRED_LE:
      return add(out, 0, l[0].v.i64, err);
    case TN_PRED_LT:
      return l[0].v.i64 > INT64_MIN ? add(out, 0, l[0].v.i64 - 1, err) : TARN_OK;
    case TN_PRED_GE:
      return add(out, l[0].v.i64, INT64_MAX, err);
    case TN_PRED_GT:
      return l[0].v.i64 < INT64_MAX ? add(out, l[0].v.i64 + 1, INT64_MAX, err) : TARN_OK;
    case TN_PRED_BETWEEN:
      return add(out, l[0].v.i64, l[1].v.i64, err);
    case TN_PRED_IN: /* sorted */
      for (int32_t i = 0; i < leaf->n_literals; i++) {
        TN_TRY(add(out, l[i].v.i64, l[i].v.i64, err));
      }
      return TARN_OK;
    default:
      return add(out, 0, INT64_MAX, err);
  }
}

tarn_status tn_row_ids_of_predicate(const tn_pred *pred, tn_ranges *out, tarn_error *err) {
  if (pred->op == TN_PRED_FALSE) {
    return TARN_OK;
  }
  if (pred->op == TN_PRED_TRUE) {
    return add(out, 0, INT64_MAX, err);
  }
  if (pred->op != TN_PRED_AND && pred->op != TN_PRED_OR) {
    return ids_of_leaf(pred, out, err);
  }
  for (int32_t i = 0; i < pred->n_children; i++) {
    tn_ranges of_child;
    tarn_status st;
    tn_ranges_init(&of_child, out->mem);
    st = tn_row_ids_of_predicate(pred->children[i], &of_child, err);
    if (st == TARN_OK && i == 0) {
      st = tn_ranges_unite(out, &of_child, err);
    } else if (st == TARN_OK) {
      st = pred->op == TN_PRED_AND ? tn_ranges_intersect(out, &of_child, err)
                                   : tn_ranges_unite(out, &of_child, err);
    }
    tn_ranges_reset(&of_child);
    TN_TRY(st);
  }
  return TARN_OK;
}
