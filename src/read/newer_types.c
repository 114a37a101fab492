/* newer_types.c - which types hold the values of which others. The columns of what reads are
 * settled when its table is opened, so that it has no other way than to open it anew. */
#include "read/newer_types.h"

static int32_t digits_in_front(const tn_type *type) {
  return type->precision - type->scale;
}

/* Recursion is bounded: types are at most 64 deep. */
static bool holds_inside(const tn_type *type, const tn_type *values) {
  for (int32_t i = 0; i < type->n_fields; i++) {
    int32_t k = type->root == TN_ROW
                    ? tn_fields_find_id(values->fields, values->n_fields, type->fields[i].id)
                    : (i < values->n_fields ? i : -1);
    if (k >= 0 && !tn_type_holds(&type->fields[i].type, &values->fields[k].type)) {
      return false;
    }
  }
  return true;
}

bool tn_type_holds(const tn_type *type, const tn_type *values) {
  if (tn_type_is_integer(type) && tn_type_is_integer(values)) {
    return values->root <= type->root;
  }
  if (tn_type_is_string(type) && tn_type_is_string(values)) {
    return values->length <= type->length;
  }
  if (type->root != values->root) {
    return (type->root == TN_DOUBLE && values->root == TN_FLOAT) ||
           (type->root == TN_VARBINARY && values->root == TN_BINARY &&
            values->length <= type->length);
  }
  switch (type->root) {
    case TN_DECIMAL:
      return values->scale <= type->scale && digits_in_front(values) <= digits_in_front(type);
    case TN_BINARY:
    case TN_VARBINARY:
      return values->length <= type->length;
    case TN_TIMESTAMP:
    case TN_TIMESTAMP_LTZ:
      return values->precision <= type->precision;
    case TN_VECTOR:
      return values->length == type->length && holds_inside(type, values);
    default: /* a TIME has milliseconds, whatever its precision */
      return !tn_type_is_nested(type) || holds_inside(type, values);
  }
}

/* What is looked at in one schema. */
typedef struct check {
  const tn_schema *own, *newer;
  const tn_field *before, *after; /* of a column that cannot hold its values; NULL: none */
} check;

static void check_column(check *c, int32_t field_id) {
  int32_t own = tn_fields_find_id(c->own->fields, c->own->n_fields, field_id);
  int32_t newer = tn_fields_find_id(c->newer->fields, c->newer->n_fields, field_id);
  if (c->before == NULL && own >= 0 && newer >= 0 &&
      !tn_type_holds(&c->own->fields[own].type, &c->newer->fields[newer].type)) {
    c->before = &c->own->fields[own];
    c->after = &c->newer->fields[newer];
  }
}

static void check_leaf(void *ctx, const tn_pred *leaf) {
  check_column(ctx, leaf->field_id);
}

/* Does the column say which of two rows counts? Then it is read without being asked for. */
static bool orders_rows(const tn_table_facts *facts, int32_t column) {
  bool is_sequence = facts->merge != NULL && facts->merge->columns[column].orders_group;
  for (int32_t i = 0; i < facts->n_sequence_columns; i++) {
    is_sequence |= facts->sequence_columns[i] == column;
  }
  return is_sequence;
}

static tarn_status check_schema(const tn_read_options *o, int64_t schema_id, tarn_error *err) {
  check c = {.own = o->table->schema};
  tn_schema *newer;
  tarn_status st = tn_table_schema(o->table, schema_id, &newer, err);
  if (st == TARN_E_NOT_FOUND) { /* reading tells it, with the file */
    tn_error_reset(err);
    return TARN_OK;
  }
  TN_TRY(st);
  c.newer = newer;
  for (int32_t i = 0; i < o->n_fields; i++) {
    check_column(&c, o->fields[i].id);
  }
  if (o->predicate != NULL) {
    tn_pred_each_leaf(o->predicate, check_leaf, &c);
  }
  for (int32_t i = 0; i < c.own->n_fields; i++) {
    if (orders_rows(&o->table->facts, i)) {
      check_column(&c, c.own->fields[i].id);
    }
  }
  if (c.before != NULL) {
    st = tn_fail(err, TARN_E_STATE,
                 "the column '%s' has become %s; it was %s when this began, which cannot hold all "
                 "values: start it again",
                 c.after->name, tn_type_text_of(&c.after->type).text,
                 tn_type_text_of(&c.before->type).text);
  }
  tn_schema_release(newer);
  return st;
}

tarn_status tn_newer_types_check(const tn_read_options *o, const tn_split *split,
                                 int64_t *schema_id, tarn_error *err) {
  for (int32_t i = 0; i < split->n_files + split->n_before; i++) {
    const tn_data_file *file =
        i < split->n_files ? &split->files[i] : &split->before[i - split->n_files];
    int64_t id = file->schema_id;
    if (id > o->table->named_by->id && id != *schema_id) {
      TN_TRY(check_schema(o, id, err));
      *schema_id = id;
    }
  }
  return TARN_OK;
}
