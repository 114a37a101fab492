/* predicate.c - building row filters. */
#include <stdio.h>

#include "api/handles.h"

tarn_predicate *tarn_predicate_retain(tarn_predicate *predicate) {
  return tn_predicate_retain(predicate);
}

void tarn_predicate_free(tarn_predicate *predicate) {
  tn_predicate_release(predicate);
}

/* Make a predicate whose root `build` sets. */
typedef tarn_status (*build_fn)(void *ctx, tarn_predicate *predicate, tarn_error *err);

static tarn_status make(tarn_env *env, build_fn build, void *ctx, tarn_predicate **out,
                        tarn_error *err) {
  tarn_predicate *predicate = NULL;
  tarn_status st;
  tn_error_reset(err);
  *out = NULL;
  TN_TRY(tn_env_check(env, err));
  TN_TRY(tn_predicate_create(env, &predicate, err));
  st = build(ctx, predicate, err);
  if (st == TARN_OK && predicate->root == NULL) {
    st = tn_oom(err);
  }
  if (st != TARN_OK) {
    tn_predicate_release(predicate);
    return st;
  }
  *out = predicate;
  return TARN_OK;
}

/* ------------------------------------------------------------------ parsing */

typedef struct parse_request {
  tarn_table *table;
  const char *text;
  int64_t *position;
} parse_request;

static tarn_status build_parsed(void *ctx, tarn_predicate *p, tarn_error *err) {
  parse_request *r = ctx;
  int32_t n_fields;
  const tn_field *fields = tn_api_named_fields(r->table, &p->arena, &n_fields);
  if (fields == NULL) {
    return tn_oom(err);
  }
  return tn_pred_parse(&p->arena, fields, n_fields, p->env->zone, tn_slice_text(r->text), &p->root,
                       r->position, err);
}

tarn_status tarn_predicate_parse(tarn_table *table, const char *text, tarn_predicate **out,
                                 int64_t *position, tarn_error *err) {
  parse_request r = {table, text, position};
  if (position != NULL) {
    *position = -1;
  }
  return make(table->env, build_parsed, &r, out, err);
}

/* ------------------------------------------------------------------ leaves */

typedef struct leaf_request {
  tarn_table *table;
  const char *column;
  tn_pred_op op;
  const tarn_literal *literals;
  size_t n_literals;
} leaf_request;

static tarn_status literal_datum(tarn_predicate *p, const tn_type *type,
                                 const tarn_literal *literal, tn_datum *out, tarn_error *err) {
  const tn_zone *zone = p->env->zone;
  char number[32];
  memset(out, 0, sizeof(*out));
  switch (literal->kind) {
    case TARN_LITERAL_NULL:
      out->is_null = true;
      return TARN_OK;
    case TARN_LITERAL_BOOL:
      return tn_pred_literal_bool(type, literal->integer != 0, out, err);
    case TARN_LITERAL_INT:
      snprintf(number, sizeof(number), "%lld", (long long)literal->integer);
      return tn_pred_literal_text(&p->arena, type, zone, tn_slice_text(number), true, out, err);
    case TARN_LITERAL_DOUBLE: {
      size_t n = tn_double_to_java(literal->real, number);
      bool is_number = number[0] == '-' ? number[1] != 'I' : number[0] <= '9';
      return tn_pred_literal_text(&p->arena, type, zone, tn_slice_of(number, n), is_number, out,
                                  err);
    }
    case TARN_LITERAL_TEXT:
      return tn_pred_literal_text(&p->arena, type, zone,
                                  tn_slice_of(literal->data, literal->length), false, out, err);
    case TARN_LITERAL_BYTES:
      return tn_pred_literal_bytes(&p->arena, type, tn_slice_of(literal->data, literal->length),
                                   out, err);
  }
  return tn_fail(err, TARN_E_INVALID, "literal kind %d", (int)literal->kind);
}

static tarn_status find_column(leaf_request *r, tarn_predicate *p, tn_pred_column *out,
                               tarn_error *err) {
  int32_t n_fields;
  const tn_field *fields = tn_api_named_fields(r->table, &p->arena, &n_fields);
  if (fields == NULL) {
    return tn_oom(err);
  }
  return tn_pred_column_find(&p->arena, fields, n_fields, tn_slice_text(r->column), out, err);
}

static tarn_status build_leaf(void *ctx, tarn_predicate *p, tarn_error *err) {
  leaf_request *r = ctx;
  tn_pred_column column;
  tn_datum *literals;
  TN_TRY(find_column(r, p, &column, err));
  literals = tn_arena_calloc(&p->arena, r->n_literals, sizeof(*literals));
  if (literals == NULL || r->n_literals > INT32_MAX) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < r->n_literals; i++) {
    TN_TRY(literal_datum(p, column.type, &r->literals[i], &literals[i], err));
  }
  p->root = tn_pred_leaf_at(&p->arena, r->op, &column, literals, (int32_t)r->n_literals);
  return TARN_OK;
}

tarn_status tarn_predicate_compare(tarn_table *table, const char *column, tarn_compare op,
                                   const tarn_literal *literal, tarn_predicate **out,
                                   tarn_error *err) {
  static const tn_pred_op ops[] = {TN_PRED_EQ, TN_PRED_NE, TN_PRED_LT,
                                   TN_PRED_LE, TN_PRED_GT, TN_PRED_GE};
  leaf_request r = {table, column, TN_PRED_EQ, literal, 1};
  if ((unsigned)op >= TN_COUNT(ops)) {
    *out = NULL;
    return tn_fail(err, TARN_E_INVALID, "comparison %d", (int)op);
  }
  r.op = ops[op];
  return make(table->env, build_leaf, &r, out, err);
}

tarn_status tarn_predicate_in(tarn_table *table, const char *column, const tarn_literal *literals,
                              size_t n_literals, tarn_predicate **out, tarn_error *err) {
  leaf_request r = {table, column, TN_PRED_IN, literals, n_literals};
  return make(table->env, build_leaf, &r, out, err);
}

tarn_status tarn_predicate_is_null(tarn_table *table, const char *column, tarn_predicate **out,
                                   tarn_error *err) {
  leaf_request r = {table, column, TN_PRED_IS_NULL, NULL, 0};
  return make(table->env, build_leaf, &r, out, err);
}

static tarn_status build_like(void *ctx, tarn_predicate *p, tarn_error *err) {
  leaf_request *r = ctx;
  tn_pred_column column;
  tn_datum pattern = {0};
  TN_TRY(find_column(r, p, &column, err));
  pattern.v.bytes = tn_slice_of(r->literals->data, r->literals->length);
  return tn_pred_like(&p->arena, &column, &pattern, &p->root, err);
}

tarn_status tarn_predicate_like(tarn_table *table, const char *column, const char *pattern,
                                size_t length, tarn_predicate **out, tarn_error *err) {
  tarn_literal literal = {.kind = TARN_LITERAL_TEXT, .data = pattern, .length = length};
  leaf_request r = {table, column, TN_PRED_LIKE, &literal, 1};
  return make(table->env, build_like, &r, out, err);
}

/* ------------------------------------------------------------------ compounds */

typedef struct compound_request {
  tn_pred_op op;
  tarn_predicate *const *operands;
  size_t n;
} compound_request;

/* The node in the new tree's own arena, so that it does not depend on its operands' lives. */
static tarn_status build_compound(void *ctx, tarn_predicate *p, tarn_error *err) {
  compound_request *r = ctx;
  const tn_pred **children = tn_arena_calloc(&p->arena, r->n, sizeof(*children));
  if (children == NULL || r->n > INT32_MAX) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < r->n; i++) {
    if (r->operands[i]->root->depth >= TN_PRED_MAX_DEPTH) {
      return tn_fail(err, TARN_E_LIMIT, "a predicate of more than %d levels", TN_PRED_MAX_DEPTH);
    }
    children[i] = tn_pred_copy(&p->arena, r->operands[i]->root);
    if (children[i] == NULL) {
      return tn_oom(err);
    }
  }
  p->root = tn_pred_compound(&p->arena, r->op, children, (int32_t)r->n);
  return p->root != NULL ? TARN_OK : tn_oom(err);
}

tarn_status tarn_predicate_and(tarn_env *env, tarn_predicate *const *operands, size_t n,
                               tarn_predicate **out, tarn_error *err) {
  compound_request r = {TN_PRED_AND, operands, n};
  return make(env, build_compound, &r, out, err);
}

tarn_status tarn_predicate_or(tarn_env *env, tarn_predicate *const *operands, size_t n,
                              tarn_predicate **out, tarn_error *err) {
  compound_request r = {TN_PRED_OR, operands, n};
  return make(env, build_compound, &r, out, err);
}

static tarn_status build_negated(void *ctx, tarn_predicate *p, tarn_error *err) {
  tarn_predicate *operand = ctx;
  const tn_pred *copy = tn_pred_copy(&p->arena, operand->root);
  if (copy == NULL) {
    return tn_oom(err);
  }
  p->root = tn_pred_negate(&p->arena, copy);
  return TARN_OK;
}

tarn_status tarn_predicate_not(tarn_env *env, tarn_predicate *operand, tarn_predicate **out,
                               tarn_error *err) {
  return make(env, build_negated, operand, out, err);
}

/* ------------------------------------------------------------------ partitions */

tarn_status tn_api_partition_leaf(const tn_table *table, tn_arena *arena, const tarn_option *pair,
                                  const tn_pred **out, tarn_error *err) {
  const tn_schema *schema = table->schema;
  tn_datum value;
  for (int32_t i = 0; i < schema->n_partition_keys; i++) {
    const tn_field *field = &schema->fields[schema->partition_columns[i]];
    if (strcmp(field->name, pair->key) != 0) {
      continue;
    }
    if (strcmp(pair->value, table->facts.partition_default_name) == 0) {
      *out = tn_pred_leaf(arena, TN_PRED_IS_NULL, field, NULL, 0);
    } else {
      TN_TRY(tn_datum_from_text(arena, &field->type, tn_slice_text(pair->value), table->env->zone,
                                &value, err));
      *out = tn_pred_leaf(arena, TN_PRED_EQ, field, &value, 1);
    }
    return *out != NULL ? TARN_OK : tn_oom(err);
  }
  return tn_fail(err, TARN_E_INVALID, "%s: '%s' is no partition column", table->full_name,
                 pair->key);
}
