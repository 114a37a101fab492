/* fold_pick.c - fold functions whose result is the value of one of the rows.
 *
 * Each function is a rule for two values, and what a retraction does. fold_with_ops() obeys all
 * operations; where every row is added, the usual functions have loops of their own.
 *
 * Rule: Field{Last,First}[NonNull]ValueAgg, Field{Min,Max}Agg, FieldBool{And,Or}Agg; comparison:
 * InternalRowUtils.compare; spec: merge-engines, 6.
 */
#include <string.h>

#include "merge/fold_functions.h"
#include "merge/fold_source.h"
#include "merge/key.h"

typedef struct value {
  tn_row_ref ref;
  bool is_null;
} value;

typedef struct column {
  const tn_fold_input *in;
  tn_fold_sources sources;
  bool has_begun;  /* first_*: the group has its first value */
  bool has_failed; /* two values that have no order met */
} column;

/* What becomes of an accumulator a and a value b; for reversed adds they change places. */
typedef value (*join_fn)(column *c, value a, value b);

typedef enum retract_rule { REFUSED, GIVES_NULL, GIVES_NULL_FOR_VALUE } retract_rule;

/* ------------------------------------------------------------------ rules for two values */

static value join_last(column *c, value a, value b) {
  (void)c, (void)a;
  return b;
}

static value join_last_non_null(column *c, value a, value b) {
  (void)c;
  return b.is_null ? a : b;
}

static value join_first(column *c, value a, value b) {
  if (c->has_begun) {
    return a;
  }
  c->has_begun = true;
  return b;
}

static value join_first_non_null(column *c, value a, value b) {
  if (c->has_begun || b.is_null) {
    return a;
  }
  c->has_begun = true;
  return b;
}

static int compare(column *c, value a, value b) {
  const tn_type *type = &c->in->spec->field->type;
  c->has_failed |= !tn_key_has_order(type) || type->root == TN_BOOLEAN;
  return c->has_failed ? 0
                       : tn_key_compare_value(c->in->sources[a.ref.source], a.ref.row,
                                              c->in->sources[b.ref.source], b.ref.row);
}

static value join_max(column *c, value a, value b) {
  if (a.is_null || b.is_null) {
    return a.is_null ? b : a;
  }
  return compare(c, a, b) < 0 ? b : a;
}

static value join_min(column *c, value a, value b) {
  if (a.is_null || b.is_null) {
    return a.is_null ? b : a;
  }
  return compare(c, a, b) < 0 ? a : b;
}

static bool is_true(const column *c, value v) {
  const tn_fold_source *s = &c->sources.items[v.ref.source];
  return tn_bit_get(s->values, tn_fold_row(s, v.ref.row, false));
}

static value join_and(column *c, value a, value b) {
  if (a.is_null || b.is_null) {
    return a.is_null ? b : a;
  }
  return is_true(c, a) ? b : a;
}

static value join_or(column *c, value a, value b) {
  if (a.is_null || b.is_null) {
    return a.is_null ? b : a;
  }
  return is_true(c, a) ? a : b;
}

/* ------------------------------------------------------------------ any operations */

static value value_of(const column *c, tn_row_ref ref) {
  return (value){ref, !tn_fold_is_valid(&c->sources.items[ref.source], ref.row)};
}

static tarn_status fold_with_ops(column *c, const tn_fold_steps *steps, join_fn join,
                                 retract_rule rule, tn_row_ref *refs, tarn_error *err) {
  const value null = {tn_fold_null(c->in), true};
  for (int64_t g = 0; g < steps->n_groups; g++) {
    value acc = null;
    c->has_begun = false;
    for (uint32_t i = steps->groups[g]; i < steps->groups[g + 1]; i++) {
      value v = value_of(c, steps->rows[i]);
      switch (steps->ops != NULL ? (tn_fold_op)steps->ops[i] : TN_FOLD_ADD) {
        case TN_FOLD_ADD:
          acc = join(c, acc, v);
          break;
        case TN_FOLD_ADD_REVERSED:
          acc = join(c, v, acc);
          break;
        case TN_FOLD_SET:
          acc = v;
          break;
        case TN_FOLD_RETRACT:
          if (c->in->spec->ignores_retract) {
            break;
          }
          if (rule == REFUSED) {
            return tn_fold_refuse_retract(c->in->spec, err);
          }
          acc = rule == GIVES_NULL || !v.is_null ? null : acc;
          break;
      }
    }
    refs[g] = acc.ref;
  }
  return c->has_failed ? tn_fail(err, TARN_E_INVALID, "incomparable type %s",
                                 tn_type_text_of(&c->in->spec->field->type).text)
                       : TARN_OK;
}

/* ------------------------------------------------------------------ all rows are added */

typedef void (*add_fn)(const column *c, const tn_fold_steps *steps, tn_row_ref *refs);

static void add_last(const column *c, const tn_fold_steps *steps, tn_row_ref *refs) {
  const uint32_t *groups = steps->groups;
  for (int64_t g = 0; g < steps->n_groups; g++) {
    refs[g] = groups[g + 1] > groups[g] ? steps->rows[groups[g + 1] - 1] : tn_fold_null(c->in);
  }
}

static void add_first(const column *c, const tn_fold_steps *steps, tn_row_ref *refs) {
  const uint32_t *groups = steps->groups;
  for (int64_t g = 0; g < steps->n_groups; g++) {
    refs[g] = groups[g + 1] > groups[g] ? steps->rows[groups[g]] : tn_fold_null(c->in);
  }
}

/* Where all are null, the row that is looked at last: it is null, too. */
static void add_last_non_null(const column *c, const tn_fold_steps *steps, tn_row_ref *refs) {
  const uint32_t *groups = steps->groups;
  const tn_row_ref *rows = steps->rows;
  if (!c->sources.has_nulls) {
    add_last(c, steps, refs);
    return;
  }
  for (int64_t g = 0; g < steps->n_groups; g++) {
    uint32_t at = groups[g + 1];
    refs[g] = tn_fold_null(c->in);
    while (at > groups[g]) {
      refs[g] = rows[--at];
      if (tn_fold_is_valid(&c->sources.items[rows[at].source], rows[at].row)) {
        break;
      }
    }
  }
}

static void add_first_non_null(const column *c, const tn_fold_steps *steps, tn_row_ref *refs) {
  const uint32_t *groups = steps->groups;
  const tn_row_ref *rows = steps->rows;
  for (int64_t g = 0; g < steps->n_groups; g++) {
    refs[g] = tn_fold_null(c->in);
    for (uint32_t i = groups[g]; i < groups[g + 1]; i++) {
      refs[g] = rows[i];
      if (tn_fold_is_valid(&c->sources.items[rows[i].source], rows[i].row)) {
        break;
      }
    }
  }
}

/* Float.compare and Double.compare as an order of integers: -0.0 before 0.0, one NaN, the greatest.
 */
static inline int32_t f32_order(uint32_t bits) {
  bits = (bits & 0x7fffffff) > 0x7f800000 ? 0x7fc00000 : bits;
  return (int32_t)(bits ^ (uint32_t)(-(int32_t)(bits >> 31) & 0x7fffffff));
}

static inline int64_t f64_order(uint64_t bits) {
  bits = (bits & INT64_MAX) > 0x7ff0000000000000 ? 0x7ff8000000000000 : bits;
  return (int64_t)(bits ^ (uint64_t)(-(int64_t)(bits >> 63) & INT64_MAX));
}

#define AS_IT_IS(v) (v)

/* max keeps the first of equal values, min the last. */
#define DEFINE_EXTREME(name, stored, ordered, order)                                            \
  static TN_ALWAYS_INLINE void name##_as(const column *c, const tn_fold_steps *steps,           \
                                         tn_row_ref *refs, bool is_max, bool is_flat) {         \
    const uint32_t *groups = steps->groups;                                                     \
    const tn_row_ref *rows = steps->rows;                                                       \
    for (int64_t g = 0; g < steps->n_groups; g++) {                                             \
      tn_row_ref best = tn_fold_null(c->in);                                                    \
      ordered best_value = 0;                                                                   \
      bool has_best = false;                                                                    \
      for (uint32_t i = groups[g]; i < groups[g + 1]; i++) {                                    \
        const tn_fold_source *s = &c->sources.items[rows[i].source];                            \
        if (tn_fold_is_valid(s, rows[i].row)) {                                                 \
          ordered v = order(((const stored *)s->values)[tn_fold_row(s, rows[i].row, is_flat)]); \
          bool is_better = !has_best || (is_max ? best_value < v : v <= best_value);            \
          best = is_better ? rows[i] : best;                                                    \
          best_value = is_better ? v : best_value;                                              \
          has_best = true;                                                                      \
        }                                                                                       \
      }                                                                                         \
      refs[g] = best;                                                                           \
    }                                                                                           \
  }                                                                                             \
  static TN_NOINLINE void name(const column *c, const tn_fold_steps *steps, tn_row_ref *refs,   \
                               bool is_max) {                                                   \
    if (c->sources.is_flat) {                                                                   \
      is_max ? name##_as(c, steps, refs, true, true) : name##_as(c, steps, refs, false, true);  \
    } else {                                                                                    \
      name##_as(c, steps, refs, is_max, false);                                                 \
    }                                                                                           \
  }

DEFINE_EXTREME(extreme_i8, int8_t, int32_t, AS_IT_IS)
DEFINE_EXTREME(extreme_i16, int16_t, int32_t, AS_IT_IS)
DEFINE_EXTREME(extreme_i32, int32_t, int32_t, AS_IT_IS)
DEFINE_EXTREME(extreme_i64, int64_t, int64_t, AS_IT_IS)
DEFINE_EXTREME(extreme_f32, uint32_t, int32_t, f32_order)
DEFINE_EXTREME(extreme_f64, uint64_t, int64_t, f64_order)
DEFINE_EXTREME(extreme_i128, tn_i128, tn_i128, AS_IT_IS)

/* False: the layout has no loop of its own. */
static bool add_extreme(const column *c, const tn_fold_steps *steps, tn_row_ref *refs,
                        bool is_max) {
  switch (tn_type_layout(&c->in->spec->field->type)) {
    case TN_LAYOUT_I8:
      extreme_i8(c, steps, refs, is_max);
      return true;
    case TN_LAYOUT_I16:
      extreme_i16(c, steps, refs, is_max);
      return true;
    case TN_LAYOUT_I32:
      extreme_i32(c, steps, refs, is_max);
      return true;
    case TN_LAYOUT_I64:
      extreme_i64(c, steps, refs, is_max);
      return true;
    case TN_LAYOUT_F32:
      extreme_f32(c, steps, refs, is_max);
      return true;
    case TN_LAYOUT_F64:
      extreme_f64(c, steps, refs, is_max);
      return true;
    case TN_LAYOUT_I128:
      extreme_i128(c, steps, refs, is_max);
      return true;
    default:
      return false;
  }
}

/* ------------------------------------------------------------------ the functions */

static tarn_status fold_column(const tn_fold_input *in, const tn_fold_steps *steps, join_fn join,
                               retract_rule rule, add_fn add, tn_row_ref *refs, tarn_error *err) {
  column c = {.in = in};
  tarn_status st = TARN_OK;
  TN_TRY(tn_fold_sources_resolve(in, &c.sources, err));
  if (steps->ops == NULL && add != NULL) {
    add(&c, steps, refs);
  } else if (steps->ops != NULL || (join != join_max && join != join_min) ||
             !add_extreme(&c, steps, refs, join == join_max)) {
    st = fold_with_ops(&c, steps, join, rule, refs, err);
  }
  tn_fold_sources_reset(in, &c.sources);
  return st;
}

#define DEFINE_PICK(name, join, rule, add)                                            \
  static tarn_status pick_##name(const tn_fold_input *in, const tn_fold_steps *steps, \
                                 tn_row_ref *refs, tarn_error *err) {                 \
    return fold_column(in, steps, join, rule, add, refs, err);                        \
  }

DEFINE_PICK(last_value, join_last, GIVES_NULL, add_last)
DEFINE_PICK(last_non_null_value, join_last_non_null, GIVES_NULL_FOR_VALUE, add_last_non_null)
DEFINE_PICK(first_value, join_first, REFUSED, add_first)
DEFINE_PICK(first_non_null_value, join_first_non_null, REFUSED, add_first_non_null)
DEFINE_PICK(min, join_min, REFUSED, NULL)
DEFINE_PICK(max, join_max, REFUSED, NULL)
DEFINE_PICK(bool_and, join_and, REFUSED, NULL)
DEFINE_PICK(bool_or, join_or, REFUSED, NULL)

static tarn_status check_boolean(const tn_fold_spec *spec, tarn_error *err) {
  return spec->field->type.root == TN_BOOLEAN
             ? TARN_OK
             : tn_fail(err, TARN_E_INVALID,
                       "data type for %s column '%s' must be BOOLEAN but was %s",
                       spec->function->name, spec->field->name,
                       tn_type_text_of(&spec->field->type).text);
}

const tn_fold_function tn_fold_last_value = {
    .name = "last_value", .pick = pick_last_value, .adds_first_as_it_is = true};
const tn_fold_function tn_fold_last_non_null_value = {
    .name = "last_non_null_value", .pick = pick_last_non_null_value, .adds_first_as_it_is = true};
const tn_fold_function tn_fold_first_value = {
    .name = "first_value", .pick = pick_first_value, .adds_first_as_it_is = true};
const tn_fold_function tn_fold_first_non_null_value = {
    .name = "first_non_null_value", .pick = pick_first_non_null_value, .adds_first_as_it_is = true};
/* The name before 0.5. */
const tn_fold_function tn_fold_first_not_null_value = {
    .name = "first_not_null_value", .pick = pick_first_non_null_value, .adds_first_as_it_is = true};
const tn_fold_function tn_fold_min = {.name = "min", .pick = pick_min, .adds_first_as_it_is = true};
const tn_fold_function tn_fold_max = {.name = "max", .pick = pick_max, .adds_first_as_it_is = true};
const tn_fold_function tn_fold_bool_and = {
    .name = "bool_and", .check = check_boolean, .pick = pick_bool_and, .adds_first_as_it_is = true};
const tn_fold_function tn_fold_bool_or = {
    .name = "bool_or", .check = check_boolean, .pick = pick_bool_or, .adds_first_as_it_is = true};
