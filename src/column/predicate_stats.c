/* predicate_stats.c - may a row of a file match? Judged by minimum, maximum and null count.
 *
 * Rule: org.apache.paimon.predicate.LeafPredicate.test(rowCount, min, max, nullCount) and the leaf
 * functions; spec: read, 5 "Stats test". The answer "no" must be certain; everything else is yes.
 */
#include "column/predicate_internal.h"

/* Statistics of bytes are in unsigned order, filters in signed order: only = and IN, which know no
 * order, may use them. */
static int compare_bound(const tn_type *type, const tn_datum *a, const tn_datum *b) {
  return tn_type_is_bytes(type) ? tn_slice_compare(a->v.bytes, b->v.bytes)
                                : tn_datum_compare(type, a, b);
}

static bool is_within(const tn_pred *leaf, const tn_stat *s, const tn_datum *literal) {
  return compare_bound(&leaf->type, &s->min, literal) <= 0 &&
         compare_bound(&leaf->type, literal, &s->max) <= 0;
}

/* Is a literal of a sorted list within the bounds? The first that is not below the minimum tells;
 * bytes are sorted in the other order and are all tried. */
static bool any_within(const tn_pred *leaf, const tn_stat *s) {
  int32_t low = 0, high = leaf->n_literals;
  if (tn_type_is_bytes(&leaf->type)) {
    for (int32_t i = 0; i < high; i++) {
      if (is_within(leaf, s, &leaf->literals[i])) {
        return true;
      }
    }
    return false;
  }
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (tn_datum_compare(&leaf->type, &leaf->literals[middle], &s->min) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < leaf->n_literals &&
         tn_datum_compare(&leaf->type, &leaf->literals[low], &s->max) <= 0;
}

static bool prefix_may_match(const tn_stat *s, tn_slice prefix) {
  tn_slice min = s->min.v.bytes, max = s->max.v.bytes;
  return (tn_slice_starts_with(min, prefix) || tn_slice_compare(min, prefix) <= 0) &&
         (tn_slice_starts_with(max, prefix) || tn_slice_compare(max, prefix) >= 0);
}

/* Every row has the value min = max, and NOT_IN lists it. */
static bool only_value_is_listed(const tn_pred *leaf, const tn_stat *s) {
  return tn_datum_compare(&leaf->type, &s->min, &s->max) == 0 &&
         tn_pred_literals_have(leaf, &s->min);
}

/* The bounds are known and the literals not null. */
static bool bounds_may_match(const tn_pred *leaf, const tn_stat *s) {
  const tn_datum *l = leaf->literals;
  const tn_type *type = &leaf->type;
  if (tn_type_is_bytes(type) && leaf->op != TN_PRED_EQ && leaf->op != TN_PRED_IN) {
    return true;
  }
  switch (leaf->op) {
    case TN_PRED_EQ:
      return is_within(leaf, s, &l[0]);
    case TN_PRED_NE:
      return tn_datum_compare(type, &s->min, &l[0]) != 0 ||
             tn_datum_compare(type, &s->max, &l[0]) != 0;
    case TN_PRED_LT:
      return tn_datum_compare(type, &s->min, &l[0]) < 0;
    case TN_PRED_LE:
      return tn_datum_compare(type, &s->min, &l[0]) <= 0;
    case TN_PRED_GT:
      return tn_datum_compare(type, &s->max, &l[0]) > 0;
    case TN_PRED_GE:
      return tn_datum_compare(type, &s->max, &l[0]) >= 0;
    case TN_PRED_BETWEEN:
      return tn_datum_compare(type, &l[0], &s->max) <= 0 &&
             tn_datum_compare(type, &l[1], &s->min) >= 0;
    case TN_PRED_NOT_BETWEEN:
      return tn_datum_compare(type, &l[0], &s->min) > 0 ||
             tn_datum_compare(type, &l[1], &s->max) < 0;
    case TN_PRED_IN:
      return any_within(leaf, s);
    case TN_PRED_NOT_IN:
      return !only_value_is_listed(leaf, s);
    case TN_PRED_STARTS_WITH:
      return prefix_may_match(s, l[0].v.bytes);
    default:  // ENDS_WITH, CONTAINS, LIKE, NOT_LIKE, IS_NAN, IS_NOT_NAN: the bounds do not tell
      return true;
  }
}

static bool leaf_may_match(const tn_pred *leaf, const tn_stat *s) {
  bool all_null = s->null_count >= 0 && s->null_count == s->row_count;
  if (!all_null && !s->has_bounds) {
    return true;
  }
  switch (leaf->op) {
    case TN_PRED_IS_NULL:
      return s->null_count != 0;
    case TN_PRED_IS_NOT_NULL:
    case TN_PRED_IS_NOT_NAN:
      return !all_null;
    case TN_PRED_IS_NAN:
      return true;
    default:
      break;
  }
  bool takes_nulls = leaf->op == TN_PRED_IN;  // an IN ignores null literals
  if (all_null || (s->null_count >= 0 && leaf->has_null_literal && !takes_nulls)) {
    return false;
  }
  if (leaf->has_null_literal && !takes_nulls) {
    return leaf->op != TN_PRED_NOT_IN;
  }
  return bounds_may_match(leaf, s);
}

tarn_status tn_pred_may_match(const tn_pred *pred, tn_stat_get_fn get, void *ctx, bool *out,
                              tarn_error *err) {
  if (tn_pred_is_constant(pred)) {
    *out = pred->op == TN_PRED_TRUE;
    return TARN_OK;
  }
  if (!tn_pred_is_compound(pred)) {
    tn_stat stat;
    bool is_known = false;
    memset(&stat, 0, sizeof(stat));
    stat.null_count = -1;
    *out = true;
    if (pred->n_path > 0) {
      return TARN_OK;
    }
    TN_TRY(get(ctx, pred, &stat, &is_known, err));
    *out = !is_known || leaf_may_match(pred, &stat);
    return TARN_OK;
  }
  bool stops_at = pred->op == TN_PRED_OR;
  *out = !stops_at;
  for (int32_t i = 0; i < pred->n_children && *out != stops_at; i++) {
    TN_TRY(tn_pred_may_match(pred->children[i], get, ctx, out, err));  // depth: TN_PRED_MAX_DEPTH
  }
  return TARN_OK;
}
