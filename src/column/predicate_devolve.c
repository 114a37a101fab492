/* predicate_devolve.c - a predicate on current columns, rewritten for a file of an older schema.
 *
 * Rule: spec: read, 6 and datafiles, 6 "Reading with another schema" (SchemaEvolutionUtil,
 * CastExecutors.castLiteralsWithEvolution). What cannot be said about the old columns is unknown.
 */
#include "column/predicate_internal.h"

/* What a part became. UNKNOWN: nothing can be said, rows may match. */
typedef enum outcome { UNKNOWN, KNOWN, FAILED } outcome;

/* The type of the leaf's column in the file; NULL when the file lacks it. *is_row is false when a
 * step of the path is no ROW there. */
static const tn_type *type_in_file(const tn_pred *leaf, const tn_field *fields, int32_t n_fields,
                                   bool *is_row) {
  int32_t at = tn_fields_find_id(fields, n_fields, leaf->field_id);
  const tn_type *type = at < 0 ? NULL : &fields[at].type;
  *is_row = true;
  for (int32_t i = 0; i < leaf->n_path && type != NULL; i++) {
    if (type->root != TN_ROW) {
      *is_row = false;
      return NULL;
    }
    at = tn_fields_find_id(type->fields, type->n_fields, leaf->path[i]);
    type = at < 0 ? NULL : &type->fields[at].type;
  }
  return type;
}

/* Integers that became wider, all literals within the old type. */
static bool literals_fit(const tn_pred *leaf, const tn_type *old) {
  if (!tn_type_is_integer(old) || !tn_type_is_integer(&leaf->type) || old->root > leaf->type.root) {
    return false;
  }
  int shift = 64 - 8 * (int)tn_layout_width(tn_type_layout(old));
  int64_t max = INT64_MAX >> shift;
  for (int32_t i = 0; i < leaf->n_literals; i++) {
    const tn_datum *l = &leaf->literals[i];
    if (!l->is_null && (l->v.i64 > max || l->v.i64 < -max - 1)) {
      return false;
    }
  }
  return true;
}

static outcome devolve_leaf(tn_arena *arena, const tn_pred *leaf, const tn_field *fields,
                            int32_t n_fields, const tn_pred **out) {
  bool is_row;
  const tn_type *old = type_in_file(leaf, fields, n_fields, &is_row);
  if (!is_row) {
    return UNKNOWN;
  }
  if (old == NULL) {
    tn_datum null = {.is_null = true};
    *out = tn_pred_constant(arena, tn_pred_test_datum(leaf, &null));
    return *out == NULL ? FAILED : KNOWN;
  }
  if (tn_type_equal(old, &leaf->type, false)) {
    *out = leaf;
    return KNOWN;
  }
  if (!literals_fit(leaf, old)) {
    return UNKNOWN;
  }
  tn_pred *copy = tn_arena_memdup(arena, leaf, sizeof(*leaf));
  if (copy == NULL) {
    return FAILED;
  }
  copy->type = *old;
  *out = copy;
  return KNOWN;
}

static outcome devolve(tn_arena *arena, const tn_pred *pred, const tn_field *fields,
                       int32_t n_fields, const tn_pred **out) {
  if (tn_pred_is_constant(pred)) {
    *out = pred;
    return KNOWN;
  }
  if (!tn_pred_is_compound(pred)) {
    return devolve_leaf(arena, pred, fields, n_fields, out);
  }
  const tn_pred **list = tn_arena_calloc(arena, (size_t)pred->n_children, sizeof(*list));
  if (list == NULL) {
    return FAILED;
  }
  int32_t n = 0;
  for (int32_t i = 0; i < pred->n_children; i++) {  // depth: TN_PRED_MAX_DEPTH
    switch (devolve(arena, pred->children[i], fields, n_fields, &list[n])) {
      case KNOWN:
        n++;
        break;
      case UNKNOWN:
        if (pred->op == TN_PRED_OR) {
          return UNKNOWN;
        }
        break;
      case FAILED:
        return FAILED;
    }
  }
  if (n == 0) {
    return UNKNOWN;  // an AND of nothing that is known
  }
  *out = tn_pred_compound(arena, pred->op, list, n);
  return *out == NULL ? FAILED : KNOWN;
}

tarn_status tn_pred_devolve(tn_arena *arena, const tn_pred *pred, const tn_field *file_fields,
                            int32_t n_file_fields, const tn_pred **out, tarn_error *err) {
  const tn_pred *result = NULL;
  *out = NULL;
  switch (devolve(arena, pred, file_fields, n_file_fields, &result)) {
    case FAILED:
      return tn_oom(err);
    case KNOWN:
      *out = result->op == TN_PRED_TRUE ? NULL : result;
      break;
    case UNKNOWN:
      break;
  }
  return TARN_OK;
}
