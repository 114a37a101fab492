/* predicate_test.h - a table of one column a type, for the tests of predicates. */
#ifndef TN_TESTS_PREDICATE_TEST_H
#define TN_TESTS_PREDICATE_TEST_H

#include "column_test.h"

#include <stdlib.h>

#include "column/predicate.h"

static const char predicate_schema[] =
    "ROW<ti TINYINT, si SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE, dec DECIMAL(10, 2), "
    "big DECIMAL(38, 0), s STRING, c CHAR(5), bo BOOLEAN, bin BYTES, da DATE, t TIME(3), "
    "ts TIMESTAMP(3), ts6 TIMESTAMP(6), ts9 TIMESTAMP(9), z TIMESTAMP_LTZ(3), "
    "z9 TIMESTAMP_LTZ(9), r ROW<x INT, y ROW<z STRING>>, arr ARRAY<INT>, `a.b` INT, `select` INT, "
    "`say \"hi\"` INT, `date` DATE>";

typedef struct predicate_test {
  column_test t;
  const tn_type *row;
  const tn_field *fields;
  int32_t n_fields;
  tn_zone *zone; /* +08:00 */
} predicate_test;

static inline void predicate_test_begin(predicate_test *p) {
  tarn_error err;
  int32_t next_id = 0;
  column_test_begin(&p->t);
  tn_type *row = tn_arena_calloc(&p->t.arena, 1, sizeof(*row));
  assert_int_equal(tn_type_from_sql(&p->t.arena, predicate_schema, &next_id, row, &err), TARN_OK);
  assert_int_equal(tn_zone_open(&p->t.env->mem, "+08:00", &p->zone, &err), TARN_OK);
  p->row = row;
  p->fields = row->fields;
  p->n_fields = row->n_fields;
}

static inline void predicate_test_end(predicate_test *p) {
  tn_zone_free(&p->t.env->mem, p->zone);
  column_test_end(&p->t);
}

static inline const tn_field *field_named(const predicate_test *p, const char *name) {
  int32_t at = tn_fields_find(p->fields, p->n_fields, tn_slice_text(name));
  assert_true(at >= 0);
  return &p->fields[at];
}

/* Fails the test when the text does not parse. */
static inline const tn_pred *where(predicate_test *p, const char *text) {
  tarn_error err;
  const tn_pred *pred = NULL;
  int64_t position;
  if (tn_pred_parse(&p->t.arena, p->fields, p->n_fields, p->zone, tn_slice_text(text), &pred,
                    &position, &err) != TARN_OK) {
    fail_msg("%s: %s", text, err.message);
  }
  assert_int_equal(position, -1);
  return pred;
}

/* The text of a predicate, in the arena. */
static inline const char *text_of(predicate_test *p, const tn_pred *pred) {
  tarn_error err;
  tn_buf buf;
  tn_buf_init(&buf, &p->t.env->mem, 1 << 22);
  if (tn_pred_to_text(pred, p->zone, &buf, &err) != TARN_OK) {
    fail_msg("%s", err.message);
  }
  const char *text = tn_arena_strndup(&p->t.arena, (const char *)buf.data, buf.len);
  tn_buf_reset(&buf);
  assert_non_null(text);
  return text;
}

#endif
