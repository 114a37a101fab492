/* fold_engine.c - layouts of folding engines, lists of steps, and what both engines ask of a plan.
 */
#include "merge/fold_engine.h"

#include <string.h>

#include "merge/key.h"

/* ------------------------------------------------------------------ layouts */

typedef struct making {
  tn_arena *arena;
  const tn_merge_options *options;
  const tn_schema *schema;
  tn_fold_layout *out;
  int32_t *group_of; /* layout's group of each of the options' groups; -1: none of it is read */
} making;

static int32_t column_of_schema(const tn_fold_layout *layout, int32_t schema_column) {
  for (int32_t i = 0; i < layout->n_columns; i++) {
    if (layout->columns[i].schema_column == schema_column) {
      return i;
    }
  }
  return -1;
}

/* Give the layout the options' group, if it has not got it. */
static tarn_status take_group(making *m, int32_t index, tarn_error *err) {
  const tn_sequence_group *from = &m->options->groups[index];
  tn_fold_group *to;
  if (m->group_of[index] >= 0) {
    return TARN_OK;
  }
  m->group_of[index] = m->out->n_groups;
  to = &m->out->groups[m->out->n_groups++];
  to->removes_record = from->removes_record;
  to->columns = tn_arena_calloc(m->arena, (size_t)from->n_columns + 1, sizeof(*to->columns));
  if (to->columns == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < from->n_columns; i++) {
    const tn_field *field = &m->schema->fields[from->columns[i]];
    int32_t column = column_of_schema(m->out, from->columns[i]);
    if (!tn_key_has_order(&field->type)) {
      return tn_fail(err, TARN_E_UNSUPPORTED, "option '%s': column '%s' is of a nested type",
                     from->option, field->name);
    }
    if (column < 0) {
      return TN_BUG(err, "a sequence column is not read");
    }
    to->columns[to->n_columns++] = column;
  }
  return TARN_OK;
}

static tarn_status choose_role(making *m, tn_fold_column *c, bool is_key, tarn_error *err) {
  const tn_column_merge *options = &m->options->columns[c->schema_column];
  const char *function = options->function != NULL ? options->function : "last_non_null_value";
  c->group = -1;
  c->role = TN_FOLD_KEY;
  if (is_key || options->is_key) {
    return TARN_OK;
  }
  c->role = TN_FOLD_FREE;
  if (options->group >= 0) {
    TN_TRY(take_group(m, options->group, err));
    c->group = m->group_of[options->group];
    c->role = options->orders_group       ? TN_FOLD_ORDERS
              : options->function != NULL ? TN_FOLD_GROUPED
                                          : TN_FOLD_MEMBER;
    m->out->groups[c->group].has_functions |= c->role == TN_FOLD_GROUPED;
  }
  if (!c->field->type.is_nullable) {
    m->out->not_null[m->out->n_not_null++] = (int32_t)(c - m->out->columns);
  }
  if (c->role == TN_FOLD_FREE || c->role == TN_FOLD_GROUPED) {
    TN_TRY(tn_fold_spec_make(m->arena, function, options, c->field, &c->spec, err));
    m->out->sets_first |= c->role == TN_FOLD_FREE && !c->spec.function->adds_first_as_it_is;
  }
  return TARN_OK;
}

static tarn_status allocate(making *m, tarn_error *err) {
  size_t n = (size_t)m->out->n_columns + 1, n_groups = (size_t)m->options->n_groups + 1;
  m->out->columns = tn_arena_calloc(m->arena, n, sizeof(*m->out->columns));
  m->out->not_null = tn_arena_calloc(m->arena, n, sizeof(*m->out->not_null));
  m->out->groups = tn_arena_calloc(m->arena, n_groups, sizeof(*m->out->groups));
  m->group_of = tn_arena_calloc(m->arena, n_groups, sizeof(*m->group_of));
  if (m->out->columns == NULL || m->out->not_null == NULL || m->out->groups == NULL ||
      m->group_of == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < n_groups; i++) {
    m->group_of[i] = -1;
  }
  return TARN_OK;
}

tarn_status tn_fold_layout_make(tn_arena *arena, const tn_engine_ops *engine,
                                const tn_merge_options *options, const tn_schema *schema,
                                const tn_field *key_fields, int32_t n_keys, int32_t n_key_fields,
                                const tn_field *value_fields, int32_t n_value_fields,
                                tn_fold_layout **out, tarn_error *err) {
  making m = {.arena = arena, .options = options, .schema = schema};
  *out = NULL;
  m.out = tn_arena_calloc(arena, 1, sizeof(*m.out));
  if (m.out == NULL) {
    return tn_oom(err);
  }
  m.out->engine = engine;
  m.out->n_columns = n_key_fields + n_value_fields;
  m.out->has_sequence_groups = options->n_groups > 0;
  m.out->removes_record_on_delete = options->removes_record_on_delete;
  TN_TRY(allocate(&m, err));
  for (int32_t i = 0; i < m.out->n_columns; i++) {
    tn_fold_column *c = &m.out->columns[i];
    c->field = i < n_key_fields ? &key_fields[i] : &value_fields[i - n_key_fields];
    c->schema_column = tn_fields_find_id(schema->fields, schema->n_fields, c->field->id);
    if (c->schema_column < 0) {
      return TN_BUG(err, "a column that the schema lacks");
    }
  }
  for (int32_t i = 0; i < options->n_groups; i++) {
    if (options->groups[i].removes_record) {
      TN_TRY(take_group(&m, i, err));
    }
  }
  for (int32_t i = 0; i < m.out->n_columns; i++) {
    TN_TRY(choose_role(&m, &m.out->columns[i], i < n_keys, err));
  }
  *out = m.out;
  return TARN_OK;
}

/* ------------------------------------------------------------------ lists of steps */

void tn_fold_take_rows(tn_fold *fold) {
  fold->steps[0] = (tn_fold_steps){
      .n_groups = fold->plan->n_groups, .groups = fold->plan->groups, .rows = fold->plan->rows};
}

tarn_status tn_fold_list_grow(tn_fold *fold, tn_fold_list *list, tarn_error *err) {
  tn_mem *mem = &fold->env->mem;
  size_t capacity = list->capacity > 0 ? list->capacity * 2 : 1024;
  tn_row_ref *rows;
  uint8_t *ops;
  if (capacity > UINT32_MAX) {
    return tn_fail(err, TARN_E_LIMIT, "more than %zu steps of one merge", list->capacity);
  }
  rows = tn_realloc(mem, list->rows, capacity * sizeof(*rows));
  if (rows == NULL) {
    return tn_oom(err);
  }
  list->rows = rows;
  ops = tn_realloc(mem, list->ops, capacity);
  if (ops == NULL) {
    return tn_oom(err);
  }
  list->ops = ops;
  list->capacity = capacity;
  return TARN_OK;
}

tarn_status tn_fold_list_begin(tn_fold *fold, int32_t list, tarn_error *err) {
  tn_fold_list *l = &fold->lists[list];
  if (l->borders == NULL) {
    l->borders = tn_calloc(&fold->env->mem, (size_t)fold->groups_capacity + 1, sizeof(*l->borders));
    if (l->borders == NULL) {
      return tn_oom(err);
    }
  }
  l->borders[0] = 0;
  l->n = 0;
  return TARN_OK;
}

void tn_fold_list_end(tn_fold *fold, int32_t list) {
  const tn_fold_list *l = &fold->lists[list];
  fold->steps[list] = (tn_fold_steps){
      .n_groups = fold->plan->n_groups, .groups = l->borders, .rows = l->rows, .ops = l->ops};
}

/* ------------------------------------------------------------------ questions of both engines */

bool tn_fold_may_miss_values(const tn_fold *fold) {
  for (int32_t i = 0; i < fold->layout->n_not_null; i++) {
    const tn_vec *const *vecs = fold->columns[fold->layout->not_null[i]];
    for (int32_t s = 0; s < fold->plan->n_sources; s++) {
      if (vecs[s]->null_count > 0) {
        return true;
      }
    }
  }
  return false;
}

tarn_status tn_fold_check_not_null(const tn_fold *fold, tn_row_ref row, tarn_error *err) {
  for (int32_t i = 0; i < fold->layout->n_not_null; i++) {
    int32_t column = fold->layout->not_null[i];
    if (tn_vec_is_null(fold->columns[column][row.source], row.row)) {
      const tn_fold_column *c = &fold->layout->columns[column];
      const char *path = fold->plan->sources[row.source]->path;
      return tn_fail(err, TARN_E_INVALID, "%s: field %d ('%s') can not be null",
                     path != NULL ? path : "merge", (int)c->schema_column, c->field->name);
    }
  }
  return TARN_OK;
}

bool tn_fold_is_all_inserts(const tn_fold *fold) {
  const tn_merge_plan *plan = fold->plan;
  bool has_kinds = false;
  int8_t any = 0;
  for (int32_t s = 0; s < plan->n_sources; s++) {
    has_kinds |= plan->sources[s]->kinds != NULL;
  }
  for (int64_t i = plan->groups[0]; has_kinds && i < plan->groups[plan->n_groups]; i++) {
    any |= tn_merge_kind(plan, i);
  }
  return any == 0;
}
