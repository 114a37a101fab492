/* file_index_leaf.c - one leaf against an index that knows the rows of each value.
 *
 * Null literals make a comparison false for every row (spec: read, 5). Where several values share a
 * key (nanoseconds kept as microseconds), the rows of a key are a superset of those of a value, so
 * that comparisons take in the key itself and NOT-forms say nothing.
 */
#include "index/file_index_payload.h"

typedef struct leaf_test {
  const tn_value_rows_ops *ops;
  tn_payload *payload;
  const tn_pred *leaf;
} leaf_test;

/* The key of literal i, and whether it is the literal itself. */
static tn_index_key literal_key(const leaf_test *t, int32_t i, bool *is_exact) {
  tn_index_key key =
      tn_index_key_of(&t->payload->code, &t->leaf->type, &t->leaf->literals[i], is_exact);
  *is_exact = *is_exact && !t->payload->code.is_cut;
  return key;
}

static bool has_null_literal(const tn_pred *leaf) {
  for (int32_t i = 0; i < leaf->n_literals; i++) {
    if (leaf->literals[i].is_null) {
      return true;
    }
  }
  return leaf->has_null_literal;
}

/* Rows whose value is one of the literals. */
static tarn_status rows_equal(const leaf_test *t, roaring_bitmap_t **out, tarn_error *err) {
  roaring_bitmap_t *rows = NULL;
  for (int32_t i = 0; i < t->leaf->n_literals; i++) {
    roaring_bitmap_t *more;
    bool is_exact;
    tn_index_key key = literal_key(t, i, &is_exact);
    tarn_status st = t->ops->equal(t->payload, &key, &more, err);
    if (st != TARN_OK) {
      roaring_bitmap_free(rows);
      return st;
    }
    if (rows == NULL) {
      rows = more;
    } else {
      roaring_bitmap_or_inplace(rows, more);
      roaring_bitmap_free(more);
    }
  }
  if (rows == NULL) {
    return tn_payload_no_rows(out, err);
  }
  *out = rows;
  return TARN_OK;
}

/* Rows with a value below literal i, or equal to it. Literals that lie between keys have the key
 * below them. is_subset: none that is not (else: all that are). */
static tarn_status rows_below(const leaf_test *t, int32_t i, bool or_equal, bool is_subset,
                              roaring_bitmap_t **out, tarn_error *err) {
  bool is_exact;
  tn_index_key key = literal_key(t, i, &is_exact);
  return t->ops->below(t->payload, &key, is_exact ? or_equal : !is_subset, out, err);
}

/* rows = all rows that have a value, without them. Takes the bitmap on failure. */
static tarn_status complement(const leaf_test *t, bool without_nulls, roaring_bitmap_t *rows,
                              tarn_error *err) {
  tarn_status st = TARN_OK;
  if (without_nulls) {
    roaring_bitmap_t *nulls;
    TN_TRY_TO(fail, t->ops->nulls(t->payload, &nulls, err));
    roaring_bitmap_or_inplace(rows, nulls);
    roaring_bitmap_free(nulls);
  }
  TN_TRY_TO(fail, tn_payload_flip(t->payload, rows, err));
  return TARN_OK;
fail:
  roaring_bitmap_free(rows);
  return st;
}

/* Rows from literal `low` to literal `high`, both included. */
static tarn_status rows_between(const leaf_test *t, int32_t low, int32_t high,
                                roaring_bitmap_t **out, tarn_error *err) {
  roaring_bitmap_t *below;
  tarn_status st;
  TN_TRY(rows_below(t, high, true, false, out, err));
  st = rows_below(t, low, false, true, &below, err);
  if (st != TARN_OK) {
    roaring_bitmap_free(*out);
    return st;
  }
  roaring_bitmap_andnot_inplace(*out, below);
  roaring_bitmap_free(below);
  return TARN_OK;
}

static tarn_status test_equality(const leaf_test *t, bool is_negated, roaring_bitmap_t **out,
                                 tarn_error *err) {
  TN_TRY(rows_equal(t, out, err));
  return is_negated ? complement(t, !t->ops->negations_keep_nulls, *out, err) : TARN_OK;
}

static tarn_status test_order(const leaf_test *t, roaring_bitmap_t **out, tarn_error *err) {
  switch (t->leaf->op) {
    case TN_PRED_LT:
    case TN_PRED_LE:
      return rows_below(t, 0, t->leaf->op == TN_PRED_LE, false, out, err);
    case TN_PRED_GT:
    case TN_PRED_GE:
      TN_TRY(rows_below(t, 0, t->leaf->op == TN_PRED_GT, true, out, err));
      return complement(t, true, *out, err);
    default: /* BETWEEN and its negation */
      TN_TRY(rows_between(t, 0, 1, out, err));
      return t->leaf->op == TN_PRED_NOT_BETWEEN ? complement(t, true, *out, err) : TARN_OK;
  }
}

static bool is_negation(tn_pred_op op) {
  return op == TN_PRED_NE || op == TN_PRED_NOT_IN || op == TN_PRED_NOT_BETWEEN;
}

static tarn_status find_rows(const leaf_test *t, roaring_bitmap_t **out, tarn_error *err) {
  switch (t->leaf->op) {
    case TN_PRED_EQ:
    case TN_PRED_IN:
      return test_equality(t, false, out, err);
    case TN_PRED_NE:
    case TN_PRED_NOT_IN:
      return test_equality(t, true, out, err);
    case TN_PRED_LT:
    case TN_PRED_LE:
    case TN_PRED_GT:
    case TN_PRED_GE:
    case TN_PRED_BETWEEN:
    case TN_PRED_NOT_BETWEEN:
      return t->ops->below != NULL ? test_order(t, out, err) : TARN_OK;
    case TN_PRED_IS_NULL:
      return t->ops->nulls(t->payload, out, err);
    case TN_PRED_IS_NOT_NULL:
      TN_TRY(t->ops->nulls(t->payload, out, err));
      return complement(t, false, *out, err);
    default:
      return TARN_OK;
  }
}

tarn_status tn_payload_test_leaf(const tn_value_rows_ops *ops, tn_payload *payload,
                                 const tn_pred *leaf, tn_index_result *out, tarn_error *err) {
  leaf_test t = {ops, payload, leaf};
  roaring_bitmap_t *rows = NULL;
  if (leaf->op <= TN_PRED_NOT_BETWEEN && leaf->op != TN_PRED_IN && has_null_literal(leaf)) {
    out->verdict = TN_INDEX_SKIP;
    return TARN_OK;
  }
  if (is_negation(leaf->op) && payload->code.is_cut) {
    return TARN_OK;
  }
  TN_TRY(find_rows(&t, &rows, err));
  if (rows != NULL) {
    out->verdict = TN_INDEX_ROWS;
    out->rows = rows;
  }
  return TARN_OK;
}
