/* predicate.c - building predicates, negating them, taking them apart. */
#include "column/predicate.h"

#include "base/sort.h"
#include "column/predicate_internal.h"

/* Literals of one WHERE text, generously: 10 million of 32 bytes. */
#define PREDICATE_MAX_BYTES ((size_t)512 << 20)

struct tarn_predicate *tn_predicate_retain(struct tarn_predicate *predicate) {
  if (predicate != NULL) {
    atomic_fetch_add_explicit(&predicate->refs, 1, memory_order_relaxed);
  }
  return predicate;
}

void tn_predicate_release(struct tarn_predicate *predicate) {
  if (predicate == NULL ||
      atomic_fetch_sub_explicit(&predicate->refs, 1, memory_order_acq_rel) != 1) {
    return;
  }
  tn_arena_reset(&predicate->arena);
  tn_free(&predicate->env->mem, predicate);
}

tarn_status tn_predicate_create(tarn_env *env, struct tarn_predicate **out, tarn_error *err) {
  struct tarn_predicate *p = tn_calloc(&env->mem, 1, sizeof(*p));
  *out = p;
  if (p == NULL) {
    return tn_oom(err);
  }
  atomic_init(&p->refs, 1);
  p->env = env;
  tn_arena_init(&p->arena, &env->mem, PREDICATE_MAX_BYTES);
  return TARN_OK;
}

/* ------------------------------------------------------------------ leaves */

static int by_value(void *type, const void *a, const void *b) {
  return tn_datum_compare(type, a, b);
}

/* Literals of a set: in order, each once. */
static int32_t sort_literals(tn_type *type, const tn_datum **items, const tn_datum **scratch,
                             int32_t n) {
  int32_t kept = 0;
  tn_sort_stable((const void **)items, (const void **)scratch, n, by_value, type);
  for (int32_t i = 0; i < n; i++) {
    if (kept == 0 || tn_datum_compare(type, items[kept - 1], items[i]) != 0) {
      items[kept++] = items[i];
    }
  }
  return kept;
}

static bool copy_column(tn_arena *arena, const tn_pred_column *column, tn_pred *leaf) {
  leaf->field_id = column->field_id;
  leaf->name = tn_arena_strdup(arena, column->name);
  leaf->n_path = column->n_path;
  if (leaf->name == NULL || tn_type_copy(arena, column->type, &leaf->type, NULL) != TARN_OK) {
    return false;
  }
  if (column->n_path > 0) {
    leaf->path =
        tn_arena_memdup(arena, column->path, (size_t)column->n_path * sizeof(*column->path));
  }
  return column->n_path == 0 || leaf->path != NULL;
}

tn_pred *tn_pred_leaf_at(tn_arena *arena, tn_pred_op op, const tn_pred_column *column,
                         const tn_datum *literals, int32_t n_literals) {
  tn_pred *leaf = tn_arena_calloc(arena, 1, sizeof(*leaf));
  if (leaf == NULL || !copy_column(arena, column, leaf)) {
    return NULL;
  }
  leaf->op = op;
  leaf->depth = 1;
  bool is_set = op == TN_PRED_IN || op == TN_PRED_NOT_IN;
  const tn_datum **items = tn_arena_calloc(arena, 2 * (size_t)n_literals, sizeof(*items));
  int32_t n = 0;
  if (items == NULL) {
    return NULL;
  }
  for (int32_t i = 0; i < n_literals; i++) {
    leaf->has_null_literal |= literals[i].is_null;
    if (!is_set || !literals[i].is_null) {
      items[n++] = &literals[i];
    }
  }
  if (is_set) {
    n = sort_literals(&leaf->type, items, items + n_literals, n);
  }
  tn_datum *copies = tn_arena_calloc(arena, (size_t)n, sizeof(*copies));
  if (copies == NULL) {
    return NULL;
  }
  for (int32_t i = 0; i < n; i++) {
    copies[i].is_null = items[i]->is_null;
    if (!items[i]->is_null && !tn_datum_copy(arena, &leaf->type, items[i], &copies[i])) {
      return NULL;
    }
  }
  leaf->literals = copies;
  leaf->n_literals = n;
  return leaf;
}

tn_pred *tn_pred_leaf(tn_arena *arena, tn_pred_op op, const tn_field *field,
                      const tn_datum *literals, int32_t n_literals) {
  tn_pred_column column = {field->id, field->name, &field->type, 0, NULL};
  return tn_pred_leaf_at(arena, op, &column, literals, n_literals);
}

tn_pred *tn_pred_constant(tn_arena *arena, bool value) {
  tn_pred *pred = tn_arena_calloc(arena, 1, sizeof(*pred));
  if (pred != NULL) {
    pred->op = value ? TN_PRED_TRUE : TN_PRED_FALSE;
    pred->depth = 1;
  }
  return pred;
}

/* ------------------------------------------------------------------ compounds */

tn_pred *tn_pred_compound(tn_arena *arena, tn_pred_op op, const tn_pred *const *children,
                          int32_t n_children) {
  tn_pred_op neutral = op == TN_PRED_AND ? TN_PRED_TRUE : TN_PRED_FALSE;
  tn_pred_op absorbing = op == TN_PRED_AND ? TN_PRED_FALSE : TN_PRED_TRUE;
  size_t n = 0;
  int32_t depth = 0;
  for (int32_t i = 0; i < n_children; i++) {
    const tn_pred *child = children[i];
    if (child->op == absorbing) {
      return tn_pred_constant(arena, op == TN_PRED_OR);
    }
    if (child->op != neutral) {
      n += child->op == op ? (size_t)child->n_children : 1;
      int32_t below = child->op == op ? child->depth - 1 : child->depth;
      depth = below > depth ? below : depth;
    }
  }
  if (n == 0) {
    return tn_pred_constant(arena, op == TN_PRED_AND);
  }
  if (n > INT32_MAX || (n > 1 && depth >= TN_PRED_MAX_DEPTH)) {
    return NULL;
  }
  const tn_pred **list = tn_arena_calloc(arena, n, sizeof(*list));
  if (list == NULL) {
    return NULL;
  }
  n = 0;
  for (int32_t i = 0; i < n_children; i++) {
    const tn_pred *child = children[i];
    if (child->op == op) {
      for (int32_t k = 0; k < child->n_children; k++) {
        list[n++] = child->children[k];
      }
    } else if (child->op != neutral) {
      list[n++] = child;
    }
  }
  if (n == 1) {
    return tn_arena_memdup(arena, list[0], sizeof(*list[0]));
  }
  tn_pred *pred = tn_arena_calloc(arena, 1, sizeof(*pred));
  if (pred != NULL) {
    pred->op = op;
    pred->depth = depth + 1;
    pred->n_children = (int32_t)n;
    pred->children = list;
  }
  return pred;
}

/* The operator that is true where the first is false and the value is not null; what is missing
 * has a pattern. */
static const struct {
  tn_pred_op op, negated;
} opposites[] = {
    {TN_PRED_EQ, TN_PRED_NE},
    {TN_PRED_LT, TN_PRED_GE},
    {TN_PRED_LE, TN_PRED_GT},
    {TN_PRED_IN, TN_PRED_NOT_IN},
    {TN_PRED_BETWEEN, TN_PRED_NOT_BETWEEN},
    {TN_PRED_IS_NULL, TN_PRED_IS_NOT_NULL},
    {TN_PRED_IS_NAN, TN_PRED_IS_NOT_NAN},
    {TN_PRED_TRUE, TN_PRED_FALSE},
};

static bool find_opposite(tn_pred_op op, tn_pred_op *negated) {
  for (size_t i = 0; i < TN_COUNT(opposites); i++) {
    if (opposites[i].op == op || opposites[i].negated == op) {
      *negated = opposites[i].op == op ? opposites[i].negated : opposites[i].op;
      return true;
    }
  }
  return false;
}

/* The pattern that STARTS_WITH, ENDS_WITH or CONTAINS stands for. */
static bool pattern_of(tn_arena *arena, tn_pred_op op, tn_slice text, tn_slice *out) {
  if (text.len > (SIZE_MAX - 2) / 2) {
    return false;
  }
  uint8_t *pattern = tn_arena_alloc(arena, 2 * text.len + 2);
  if (pattern == NULL) {
    return false;
  }
  size_t n = 0;
  if (op != TN_PRED_STARTS_WITH) {
    pattern[n++] = '%';
  }
  for (size_t i = 0; i < text.len; i++) {
    if (text.data[i] == '%' || text.data[i] == '_' || text.data[i] == '\\') {
      pattern[n++] = '\\';
    }
    pattern[n++] = text.data[i];
  }
  if (op != TN_PRED_ENDS_WITH) {
    pattern[n++] = '%';
  }
  *out = tn_slice_of(pattern, n);
  return true;
}

/* STARTS_WITH and the like become NOT_LIKE with the pattern, NOT_LIKE what LIKE would become. */
static tn_pred *negate_pattern(tn_arena *arena, const tn_pred *leaf) {
  tn_pred_column column = {leaf->field_id, leaf->name, &leaf->type, leaf->n_path, leaf->path};
  if (leaf->op == TN_PRED_NOT_LIKE) {
    const tn_pred *like;
    if (tn_pred_like(arena, &column, leaf->literals, &like, NULL) != TARN_OK) {
      return NULL;
    }
    return tn_arena_memdup(arena, like, sizeof(*like));
  }
  tn_datum pattern = leaf->literals[0];
  if (!pattern.is_null && leaf->op != TN_PRED_LIKE &&
      !pattern_of(arena, leaf->op, leaf->literals[0].v.bytes, &pattern.v.bytes)) {
    return NULL;
  }
  return tn_pred_leaf_at(arena, TN_PRED_NOT_LIKE, &column, &pattern, 1);
}

tn_pred *tn_pred_negate(tn_arena *arena, const tn_pred *pred) {
  if (tn_pred_is_compound(pred)) {
    const tn_pred **list = tn_arena_calloc(arena, (size_t)pred->n_children, sizeof(*list));
    if (list == NULL) {
      return NULL;
    }
    for (int32_t i = 0; i < pred->n_children; i++) {
      list[i] = tn_pred_negate(arena, pred->children[i]);  // depth: TN_PRED_MAX_DEPTH
      if (list[i] == NULL) {
        return NULL;
      }
    }
    return tn_pred_compound(arena, pred->op == TN_PRED_AND ? TN_PRED_OR : TN_PRED_AND, list,
                            pred->n_children);
  }
  tn_pred_op negated;
  if (!find_opposite(pred->op, &negated)) {
    return negate_pattern(arena, pred);
  }
  tn_pred *copy = tn_arena_memdup(arena, pred, sizeof(*pred));
  if (copy != NULL) {
    copy->op = negated;
  }
  return copy;
}

tn_pred *tn_pred_copy(tn_arena *arena, const tn_pred *pred) {
  if (!tn_pred_is_compound(pred)) {
    tn_pred_column column = {pred->field_id, pred->name, &pred->type, pred->n_path, pred->path};
    if (tn_pred_is_constant(pred)) {
      return tn_pred_constant(arena, pred->op == TN_PRED_TRUE);
    }
    tn_pred *leaf = tn_pred_leaf_at(arena, pred->op, &column, pred->literals, pred->n_literals);
    if (leaf != NULL) {
      leaf->has_null_literal = pred->has_null_literal;
    }
    return leaf;
  }
  tn_pred *copy = tn_arena_memdup(arena, pred, sizeof(*pred));
  const tn_pred **list = tn_arena_calloc(arena, (size_t)pred->n_children, sizeof(*list));
  if (copy == NULL || list == NULL) {
    return NULL;
  }
  for (int32_t i = 0; i < pred->n_children; i++) {
    list[i] = tn_pred_copy(arena, pred->children[i]);  // depth: TN_PRED_MAX_DEPTH
    if (list[i] == NULL) {
      return NULL;
    }
  }
  copy->children = list;
  return copy;
}

/* ------------------------------------------------------------------ taking apart */

tarn_status tn_pred_split_and(tn_arena *arena, const tn_pred *pred, const tn_pred ***parts,
                              int32_t *n_parts, tarn_error *err) {
  const tn_pred *const *more = pred->op == TN_PRED_AND ? pred->children : &pred;
  int32_t n_more = pred->op == TN_PRED_AND ? pred->n_children : 1;
  if (n_more > INT32_MAX - *n_parts) {
    return tn_fail(err, TARN_E_LIMIT, "a predicate has more than %d parts", INT32_MAX);
  }
  int32_t n = *n_parts + n_more;
  const tn_pred **list = tn_arena_calloc(arena, (size_t)n, sizeof(*list));
  if (list == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < n; i++) {
    list[i] = i < *n_parts ? (*parts)[i] : more[i - *n_parts];
  }
  *parts = list;
  *n_parts = n;
  return TARN_OK;
}

bool tn_pred_only_uses(const tn_pred *pred, bool (*keep)(void *ctx, int32_t field_id), void *ctx) {
  if (tn_pred_is_constant(pred)) {
    return true;
  }
  if (!tn_pred_is_compound(pred)) {
    return keep(ctx, pred->field_id);
  }
  for (int32_t i = 0; i < pred->n_children; i++) {
    if (!tn_pred_only_uses(pred->children[i], keep, ctx)) {
      return false;
    }
  }
  return true;
}

tarn_status tn_pred_part(tn_arena *arena, const tn_pred *pred,
                         bool (*keep)(void *ctx, int32_t field_id), void *ctx, const tn_pred **kept,
                         const tn_pred **others, tarn_error *err) {
  const tn_pred **parts = NULL, **of_kept, **of_others;
  int32_t n_parts = 0, n_kept = 0, n_others = 0;
  *kept = *others = NULL;
  if (pred == NULL) {
    return TARN_OK;
  }
  TN_TRY(tn_pred_split_and(arena, pred, &parts, &n_parts, err));
  of_kept = tn_arena_calloc(arena, (size_t)n_parts, sizeof(*of_kept));
  of_others = tn_arena_calloc(arena, (size_t)n_parts, sizeof(*of_others));
  if (of_kept == NULL || of_others == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < n_parts; i++) {
    if (tn_pred_only_uses(parts[i], keep, ctx)) {
      of_kept[n_kept++] = parts[i];
    } else {
      of_others[n_others++] = parts[i];
    }
  }
  *kept = n_kept > 0 ? tn_pred_compound(arena, TN_PRED_AND, of_kept, n_kept) : NULL;
  *others = n_others > 0 ? tn_pred_compound(arena, TN_PRED_AND, of_others, n_others) : NULL;
  return (n_kept > 0 && *kept == NULL) || (n_others > 0 && *others == NULL) ? tn_oom(err) : TARN_OK;
}

void tn_pred_each_leaf(const tn_pred *pred, void (*visit)(void *ctx, const tn_pred *leaf),
                       void *ctx) {
  if (tn_pred_is_compound(pred)) {
    for (int32_t i = 0; i < pred->n_children; i++) {
      tn_pred_each_leaf(pred->children[i], visit, ctx);
    }
  } else if (!tn_pred_is_constant(pred)) {
    visit(ctx, pred);
  }
}

static bool equal_leaves(const tn_pred *a, const tn_pred *b) {
  if (a->field_id != b->field_id || a->n_path != b->n_path || a->n_literals != b->n_literals ||
      a->has_null_literal != b->has_null_literal || !tn_type_equal(&a->type, &b->type, false)) {
    return false;
  }
  for (int32_t i = 0; i < a->n_path; i++) {
    if (a->path[i] != b->path[i]) {
      return false;
    }
  }
  for (int32_t i = 0; i < a->n_literals; i++) {
    if (a->literals[i].is_null != b->literals[i].is_null ||
        (!a->literals[i].is_null &&
         tn_datum_compare(&a->type, &a->literals[i], &b->literals[i]) != 0)) {
      return false;
    }
  }
  return true;
}

bool tn_pred_equal(const tn_pred *a, const tn_pred *b) {
  if (a->op != b->op || a->n_children != b->n_children) {
    return false;
  }
  for (int32_t i = 0; i < a->n_children; i++) {
    if (!tn_pred_equal(a->children[i], b->children[i])) {
      return false;
    }
  }
  return tn_pred_is_compound(a) || tn_pred_is_constant(a) || equal_leaves(a, b);
}

/* ------------------------------------------------------------------ row by row */

bool tn_pred_literals_have(const tn_pred *leaf, const tn_datum *value) {
  int32_t low = 0, high = leaf->n_literals;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    int c = tn_datum_compare(&leaf->type, &leaf->literals[middle], value);
    if (c == 0) {
      return true;
    }
    if (c < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return false;
}

static bool ends_with(tn_slice text, tn_slice end) {
  return text.len >= end.len &&
         tn_slice_equal(tn_slice_of(text.data + (text.len - end.len), end.len), end);
}

static bool contains(tn_slice text, tn_slice part) {
  if (part.len == 0) {
    return true;
  }
  while (text.len >= part.len) {
    const uint8_t *hit = memchr(text.data, part.data[0], text.len - part.len + 1);
    if (hit == NULL) {
      return false;
    }
    if (memcmp(hit, part.data, part.len) == 0) {
      return true;
    }
    text.len -= (size_t)(hit + 1 - text.data);
    text.data = hit + 1;
  }
  return false;
}

static bool is_nan(const tn_datum *value) {
  return value->v.f64 != value->v.f64;
}

bool tn_pred_test_datum(const tn_pred *leaf, const tn_datum *value) {
  const tn_datum *l = leaf->literals;
  if (value->is_null) {
    return leaf->op == TN_PRED_IS_NULL || leaf->op == TN_PRED_TRUE;
  }
  switch (leaf->op) {
    case TN_PRED_TRUE:
    case TN_PRED_IS_NOT_NULL:
      return true;
    case TN_PRED_FALSE:
    case TN_PRED_IS_NULL:
      return false;
    case TN_PRED_IS_NAN:
      return is_nan(value);
    case TN_PRED_IS_NOT_NAN:
      return !is_nan(value);
    case TN_PRED_IN:
      return tn_pred_literals_have(leaf, value);
    case TN_PRED_NOT_IN:
      return !leaf->has_null_literal && !tn_pred_literals_have(leaf, value);
    default:
      break;
  }
  if (leaf->has_null_literal || leaf->n_literals == 0) {
    return false;
  }
  switch (leaf->op) {
    case TN_PRED_EQ:
      return tn_datum_compare(&leaf->type, value, &l[0]) == 0;
    case TN_PRED_NE:
      return tn_datum_compare(&leaf->type, value, &l[0]) != 0;
    case TN_PRED_LT:
      return tn_datum_compare(&leaf->type, value, &l[0]) < 0;
    case TN_PRED_LE:
      return tn_datum_compare(&leaf->type, value, &l[0]) <= 0;
    case TN_PRED_GT:
      return tn_datum_compare(&leaf->type, value, &l[0]) > 0;
    case TN_PRED_GE:
      return tn_datum_compare(&leaf->type, value, &l[0]) >= 0;
    case TN_PRED_BETWEEN:
      return tn_datum_compare(&leaf->type, value, &l[0]) >= 0 &&
             tn_datum_compare(&leaf->type, value, &l[1]) <= 0;
    case TN_PRED_NOT_BETWEEN:
      return tn_datum_compare(&leaf->type, value, &l[0]) < 0 ||
             tn_datum_compare(&leaf->type, value, &l[1]) > 0;
    case TN_PRED_STARTS_WITH:
      return tn_slice_starts_with(value->v.bytes, l[0].v.bytes);
    case TN_PRED_ENDS_WITH:
      return ends_with(value->v.bytes, l[0].v.bytes);
    case TN_PRED_CONTAINS:
      return contains(value->v.bytes, l[0].v.bytes);
    case TN_PRED_LIKE:
      return tn_like_match(l[0].v.bytes, value->v.bytes);
    case TN_PRED_NOT_LIKE:
      return !tn_like_match(l[0].v.bytes, value->v.bytes);
    default:
      return false;  // AND and OR are no leaves
  }
}

tarn_status tn_pred_test(const tn_pred *pred, tn_pred_get_fn get, void *ctx, bool *out,
                         tarn_error *err) {
  if (tn_pred_is_constant(pred)) {
    *out = pred->op == TN_PRED_TRUE;
    return TARN_OK;
  }
  if (!tn_pred_is_compound(pred)) {
    tn_datum value = {.is_null = true};
    TN_TRY(get(ctx, pred, &value, err));
    *out = tn_pred_test_datum(pred, &value);
    return TARN_OK;
  }
  bool stops_at = pred->op == TN_PRED_OR;
  *out = !stops_at;
  for (int32_t i = 0; i < pred->n_children && *out != stops_at; i++) {
    TN_TRY(tn_pred_test(pred->children[i], get, ctx, out, err));  // depth: TN_PRED_MAX_DEPTH
  }
  return TARN_OK;
}
