/* room: column */
/* Any text as a WHERE over a fixed table: parsing never goes wrong, a predicate printed and parsed
 * again is equal, and so is a predicate negated twice; LIKE and comparisons take any value. */
#include <stdlib.h>

#include "base/env.h"
#include "column/predicate.h"

static const char schema[] =
    "ROW<ti TINYINT, i INT, l BIGINT, f FLOAT, d DOUBLE, dec DECIMAL(10, 2), s STRING, bo BOOLEAN, "
    "bin BYTES, da DATE, t TIME(3), ts TIMESTAMP(3), ts6 TIMESTAMP(6), ts9 TIMESTAMP(9), "
    "z TIMESTAMP_LTZ(3), r ROW<x INT, y ROW<z STRING>>, arr ARRAY<INT>, `a.b` INT, `AND` INT, "
    "big DECIMAL(38, 0)>";

static void need(bool holds) {
  if (!holds) {
    abort();
  }
}

static const tn_pred *parse(tn_arena *arena, const tn_type *row, tn_slice text) {
  const tn_pred *pred = NULL;
  int64_t position;
  tarn_error err;
  tarn_status st =
      tn_pred_parse(arena, row->fields, row->n_fields, NULL, text, &pred, &position, &err);
  need((st == TARN_OK) == (pred != NULL));
  need(st == TARN_OK || st == TARN_E_NOMEM ||
       (position >= 0 && position <= (int64_t)text.len && err.message[0] != 0));
  return pred;
}

/* Values that are taken from the input's own bytes. */
typedef struct values {
  tn_slice input;
} values;

static tarn_status give_value(void *ctx, const tn_pred *leaf, tn_datum *out, tarn_error *err) {
  const values *v = ctx;
  uint64_t word = 0;
  (void)err;
  memset(out, 0, sizeof(*out));
  memcpy(&word, v->input.data, v->input.len < 8 ? v->input.len : 8);
  switch (tn_type_layout(&leaf->type)) {
    case TN_LAYOUT_BIT:
      out->v.boolean = word & 1;
      break;
    case TN_LAYOUT_F32:
    case TN_LAYOUT_F64:
      memcpy(&out->v.f64, &word, 8);
      break;
    case TN_LAYOUT_I128:
      out->v.i128 = (int64_t)word;
      break;
    case TN_LAYOUT_BYTES:
      out->v.bytes = v->input;
      break;
    default:
      out->v.i64 = (int64_t)word;
      break;
  }
  return TARN_OK;
}

/* Without nulls a predicate and its negation never agree. */
static void check_negation(const tn_pred *pred, tn_arena *arena, tn_slice input) {
  values v = {input};
  bool is_true = false, is_negated = false, is_never = false;
  const tn_pred *negated = tn_pred_negate(arena, pred);
  need(negated != NULL);
  need(tn_pred_test(pred, give_value, &v, &is_true, NULL) == TARN_OK);
  need(tn_pred_test(negated, give_value, &v, &is_negated, NULL) == TARN_OK);
  is_never = !is_true && !is_negated;  // a null literal
  need(is_never || is_true != is_negated);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tn_mem mem;
  tn_arena arena;
  tn_buf text;
  tn_type row;
  int32_t next_id = 0;
  tn_slice input = tn_slice_of(data, size);
  if (size > 20000) {
    return 0;
  }
  tn_mem_init(&mem, NULL, SIZE_MAX);
  tn_arena_init(&arena, &mem, (size_t)1 << 30);
  tn_buf_init(&text, &mem, (size_t)1 << 28);
  need(tn_type_from_sql(&arena, schema, &next_id, &row, NULL) == TARN_OK);
  const tn_pred *pred = parse(&arena, &row, input);
  if (pred != NULL) {
    need(pred->depth <= TN_PRED_MAX_DEPTH);
    need(tn_pred_to_text(pred, NULL, &text, NULL) == TARN_OK);
    const tn_pred *again = parse(&arena, &row, tn_buf_slice(&text));
    need(again != NULL && tn_pred_equal(pred, again));
    const tn_pred *copy = tn_pred_copy(&arena, pred);
    need(copy != NULL && tn_pred_equal(pred, copy));
    check_negation(pred, &arena, input);
  }
  tn_buf_reset(&text);
  tn_arena_reset(&arena);
  return 0;
}
