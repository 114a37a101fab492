/* Every kind of index, every type, every operator: indexes that Java wrote against the rows they
 * are of, one by one. */
#include <math.h>
#include <roaring.h>

#include "base/json.h"
#include "index_maker.h"
#include "support/files.h"
#include "support/torture.h"

static tarn_env *env;
static tn_arena arena;

static int set_up(void **state) {
  (void)state;
  env = tn_test_env(1, 0);
  tn_arena_init(&arena, &env->mem, SIZE_MAX);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  tn_arena_reset(&arena);
  tarn_env_free(env);
  return 0;
}

/* ------------------------------------------------------------------ checking one answer */

typedef struct column {
  tn_field field;
  const char *kind;
  const tn_datum *values;
  int64_t n_rows;
  tn_slice container;
} column;

/* How much an index of a kind tells with an operator. */
typedef enum precision { NOTHING, ONLY_ABSENCE, ALL_BUT_NULLS, EXACT } precision;

static bool is_kind(const column *c, const char *kind) {
  return strcmp(c->kind, kind) == 0;
}

static precision expected_precision(const column *c, tn_pred_op op) {
  bool has_order = is_kind(c, "bsi") || is_kind(c, "range-bitmap");
  bool is_cut = tn_type_layout(&c->field.type) == TN_LAYOUT_I128 && c->field.type.precision > 6 &&
                c->field.type.root != TN_DECIMAL;
  switch (op) {
    case TN_PRED_EQ:
    case TN_PRED_IN:
      return is_kind(c, "bloom-filter") || is_cut ? ONLY_ABSENCE : EXACT;
    case TN_PRED_NE:
    case TN_PRED_NOT_IN:
      return is_kind(c, "bloom-filter") || is_cut ? NOTHING : has_order ? EXACT : ALL_BUT_NULLS;
    case TN_PRED_IS_NULL:
    case TN_PRED_IS_NOT_NULL:
      return is_kind(c, "bloom-filter") ? NOTHING : EXACT;
    case TN_PRED_NOT_BETWEEN:
      return has_order && !is_cut ? EXACT : NOTHING;
    case TN_PRED_LT:
    case TN_PRED_LE:
    case TN_PRED_GT:
    case TN_PRED_GE:
    case TN_PRED_BETWEEN:
      return !has_order ? NOTHING : is_cut ? ONLY_ABSENCE : EXACT;
    default:
      return NOTHING;
  }
}

static bool is_in(const tn_index_result *result, int64_t row) {
  switch (result->verdict) {
    case TN_INDEX_REMAIN:
      return true;
    case TN_INDEX_SKIP:
      return false;
    default:
      return roaring_bitmap_contains(result->rows, (uint32_t)row);
  }
}

static int64_t n_skipped, n_asked;

static void check(const column *c, tn_pred_op op, const tn_datum *literals, int32_t n) {
  precision wanted = expected_precision(c, op);
  const tn_pred *leaf = tn_pred_leaf(&arena, op, &c->field, literals, n);
  tn_index_result result = {0};
  tn_file_index *index;
  tarn_error err;
  assert_non_null(leaf);
  assert_works(tn_file_index_open(env, c->container, "x.index", &index, &err), err);
  assert_works(tn_file_index_test(index, &c->field, 1, c->n_rows, leaf, &result, &err), err);
  n_asked++;
  n_skipped += result.verdict == TN_INDEX_SKIP;
  if (wanted == NOTHING) {
    assert_int_equal(result.verdict, TN_INDEX_REMAIN);
  }
  for (int64_t row = 0; row < c->n_rows; row++) {
    bool matches = tn_pred_test_datum(leaf, &c->values[row]), got = is_in(&result, row);
    bool may_be_wider =
        wanted <= ONLY_ABSENCE || (wanted == ALL_BUT_NULLS && c->values[row].is_null);
    if (matches ? !got : got && !may_be_wider) {
      fail_msg("%s, operator %d: row %d is %s", c->kind, (int)op, (int)row,
               matches ? "missing" : "too much");
    }
  }
  if (result.verdict == TN_INDEX_ROWS) {
    assert_true(tn_index_result_rows(&result) > 0 && tn_index_result_rows(&result) < c->n_rows);
  }
  tn_index_result_reset(&result);
  tn_file_index_release(index);
}

static const tn_pred_op one_literal[] = {TN_PRED_EQ, TN_PRED_NE, TN_PRED_LT,
                                         TN_PRED_LE, TN_PRED_GT, TN_PRED_GE};

static void check_all(const column *c, const tn_datum *literals, int32_t n) {
  tn_datum null = {.is_null = true}, pair[2];
  check(c, TN_PRED_IS_NULL, NULL, 0);
  check(c, TN_PRED_IS_NOT_NULL, NULL, 0);
  check(c, TN_PRED_IS_NAN, NULL, 0);
  for (size_t k = 0; k < TN_COUNT(one_literal); k++) {
    for (int32_t i = 0; i < n; i++) {
      check(c, one_literal[k], &literals[i], 1);
    }
  }
  for (int32_t i = 0; i < n; i++) {
    for (int32_t k = 0; k < n; k += 3) { /* also with the low end above the high one */
      pair[0] = literals[i];
      pair[1] = literals[k];
      check(c, TN_PRED_BETWEEN, pair, 2);
      check(c, TN_PRED_NOT_BETWEEN, pair, 2);
    }
  }
  check(c, TN_PRED_IN, literals, n);
  check(c, TN_PRED_NOT_IN, literals, n);
  pair[0] = literals[0];
  pair[1] = null;
  check(c, TN_PRED_IN, pair, 2);
  if (!is_kind(c, "bloom-filter")) { /* false for every row; some kinds say nothing of it */
    tn_index_result result = {0};
    tn_file_index *index;
    tarn_error err;
    assert_works(tn_file_index_open(env, c->container, "x.index", &index, &err), err);
    assert_works(
        tn_file_index_test(index, &c->field, 1, c->n_rows,
                           tn_pred_leaf(&arena, TN_PRED_NOT_IN, &c->field, pair, 2), &result, &err),
        err);
    assert_int_equal(result.verdict, TN_INDEX_SKIP);
    tn_file_index_release(index);
  }
}

/* ------------------------------------------------------------------ what Java wrote */

/* Values of the column, values between and beside them. Returns how many. */
static int32_t make_literals(const tn_type *type, tn_datum *out) {
  static const int64_t picks[] = {0, 1, 2, 3, 4, 25, 49, 50, 51, 52, 75, 98, 99};
  int32_t n = 0;
  for (size_t i = 0; i < TN_COUNT(picks); i++) {
    tn_datum value = java_distinct(type, picks[i]), beside = value;
    out[n++] = value;
    if (type->root == TN_FLOAT || type->root == TN_DOUBLE) {
      beside.v.f64 += 0.0625;
    } else if (type->root == TN_VARCHAR) {
      char *text = tn_arena_printf(&arena, "%.*s!", TN_SLICE_ARG(value.v.bytes));
      beside.v.bytes = tn_slice_text(text);
    } else if (type->root == TN_DECIMAL || (tn_type_layout(type) == TN_LAYOUT_I128)) {
      beside.v.i128 += 1;
    } else if (type->root != TN_BOOLEAN) {
      beside.v.i64 += 1;
    }
    out[n++] = beside;
  }
  if (type->root == TN_DECIMAL || tn_type_layout(type) == TN_LAYOUT_I128) {
    out[n].is_null = false;
    out[n++].v.i128 = (tn_i128)1 << 90;
    out[n].is_null = false;
    out[n++].v.i128 = -((tn_i128)1 << 90);
  } else if (type->root == TN_BIGINT) {
    out[n++].v.i64 = INT64_MAX;
    out[n++].v.i64 = INT64_MIN;
  } else if (type->root == TN_VARCHAR) {
    out[n++].v.bytes = tn_slice_text("\xF4\x8F\xBF\xBF");
  } else if (type->root == TN_FLOAT || type->root == TN_DOUBLE) {
    out[n++].v.f64 = -(double)INFINITY;
  }
  return n;
}

static void java_indexes__answer_as_their_rows(void **state) {
  size_t n;
  const java_index *all = java_indexes(&n);
  (void)state;
  assert_true(n > 60);
  for (size_t i = 0; i < n; i++) {
    static tn_datum values[JAVA_ROWS], literals[64];
    column c = {.field = column_of(all[i].type_text),
                .kind = all[i].kind,
                .values = values,
                .n_rows = JAVA_ROWS,
                .container = all[i].container};
    tn_datum null = {.is_null = true};
    for (int64_t row = 0; row < JAVA_ROWS; row++) {
      values[row] = all[i].is_null ? null : java_value(&c.field.type, row);
    }
    memset(literals, 0, sizeof(literals));
    check_all(&c, literals, make_literals(&c.field.type, literals));
    tn_arena_reset(&arena);
  }
}

/* A bloom filter that never skips would pass above, too. */
static void bloom_filters__skip_most_absent_values(void **state) {
  static const char *const types[] = {"TINYINT", "SMALLINT",     "INT",          "BIGINT",
                                      "FLOAT",   "DOUBLE",       "STRING",       "DATE",
                                      "TIME(3)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)"};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(types); i++) {
    tn_field field = column_of(types[i]);
    column c = {.field = field,
                .kind = "bloom-filter",
                .container = java_index_of(types[i], "bloom-filter")->container};
    n_skipped = n_asked = 0;
    for (int64_t d = 0; d < JAVA_VALUES; d++) {
      tn_datum absent = java_distinct(&field.type, d);
      if (field.type.root == TN_VARCHAR) {
        absent.v.bytes =
            tn_slice_text(tn_arena_printf(&arena, "%.*s ?", TN_SLICE_ARG(absent.v.bytes)));
      } else if (field.type.root == TN_FLOAT || field.type.root == TN_DOUBLE) {
        absent.v.f64 = (double)d + 1000.5;
      } else if (tn_type_layout(&field.type) == TN_LAYOUT_I128) {
        absent.v.i128 += 7000;
      } else {
        absent.v.i64 += field.type.root == TN_TINYINT || field.type.root == TN_DATE ? 1000 : 1;
      }
      check(&c, TN_PRED_EQ, &absent, 1);
    }
    if (n_skipped < n_asked / 2) { /* the false positives of 0.1 and the spread of 100 */
      fail_msg("%s: skipped %d of %d", types[i], (int)n_skipped, (int)n_asked);
    }
    tn_arena_reset(&arena);
  }
}

/* ------------------------------------------------------------------ the vectors of the format */

static tn_datum json_value(const tn_type *type, const tn_json *json) {
  tn_datum out = {.is_null = tn_json_kind_of(json) == TN_JSON_NULL};
  tn_slice text;
  if (out.is_null) {
    return out;
  }
  if (type->root == TN_BOOLEAN) {
    assert_true(tn_json_bool(json, &out.v.boolean));
  } else if (type->root == TN_DOUBLE) {
    assert_true(tn_json_real(json, &out.v.f64));
  } else if (type->root == TN_VARCHAR) {
    assert_true(tn_json_text(json, &out.v.bytes));
  } else if (type->root == TN_TIMESTAMP) {
    assert_true(tn_json_text(json, &text));
    out.v.i64 = strtoll((const char *)text.data + strlen("micros:"), NULL, 10);
  } else {
    assert_true(tn_json_int(json, &out.v.i64));
  }
  return out;
}

static const char *text_of(const tn_json *object, const char *key) {
  tn_slice text;
  assert_true(tn_json_text(tn_json_get(object, key), &text));
  return tn_arena_strndup(&arena, (const char *)text.data, text.len);
}

static void check_vector(const tn_json *vector) {
  const tn_json *list = tn_json_get(vector, "values");
  size_t n = tn_json_count(list), n_bytes;
  uint8_t *bytes = tn_test_hex(text_of(vector, "container_hex"), &n_bytes);
  tn_field field = column_of(text_of(vector, "type"));
  tn_datum *values = calloc(n + 1, sizeof(*values)), *literals = calloc(n + 4, sizeof(*literals));
  int32_t n_literals = 0;
  column c = {.field = field,
              .kind = text_of(vector, "index"),
              .values = values,
              .n_rows = (int64_t)n,
              .container = tn_slice_of(bytes, n_bytes)};
  field.name = "col";
  c.field = field;
  for (size_t i = 0; i < n; i++) {
    values[i] = json_value(&field.type, tn_json_at(list, i));
    if (!values[i].is_null) {
      literals[n_literals++] = values[i];
    }
  }
  if (field.type.root == TN_VARCHAR) {
    literals[n_literals++].v.bytes = tn_slice_text("aa");
  } else if (field.type.root != TN_BOOLEAN && field.type.root != TN_DOUBLE) {
    literals[n_literals++].v.i64 = 4;
    literals[n_literals++].v.i64 = -4;
  }
  check_all(&c, literals, n_literals);
  free(values);
  free(literals);
  free(bytes);
}

static void vectors__answer_as_their_rows(void **state) {
  char *path = tn_test_path(TARN_SOURCE_DIR, "tests/unit/index/data/file_index.json");
  size_t n_bytes, n_checked = 0;
  uint8_t *text = tn_test_read_file(path, &n_bytes);
  tn_json_doc *doc;
  tarn_error err;
  (void)state;
  assert_works(tn_json_parse(&env->mem, tn_slice_of(text, n_bytes), path, &doc, &err), err);
  const tn_json *vectors = tn_json_get(tn_json_root(doc), "vectors");
  for (size_t i = 0; i < tn_json_count(vectors); i++) {
    if (tn_json_count(tn_json_get(tn_json_at(vectors, i), "values")) > 0) {
      check_vector(tn_json_at(vectors, i));
      n_checked++;
    }
  }
  assert_int_equal(n_checked, 15); /* the other one is an empty index */
  tn_json_free(doc);
  free(text);
  free(path);
}

/* ------------------------------------------------------------------ faults of other readers */

/* B53: not only the first and the last of five. */
static void range_bitmap__of_nulls_gives_all_of_them(void **state) {
  const java_index *all;
  size_t n;
  (void)state;
  all = java_indexes(&n);
  for (size_t i = 0; i < n; i++) {
    tn_field field = column_of("INT");
    tn_index_result result = {0};
    tn_file_index *index;
    tarn_error err;
    if (!all[i].is_null || strcmp(all[i].kind, "range-bitmap") != 0) {
      continue;
    }
    assert_works(tn_file_index_open(env, all[i].container, "x.index", &index, &err), err);
    assert_works(
        tn_file_index_test(index, &field, 1, JAVA_ROWS,
                           tn_pred_leaf(&arena, TN_PRED_IS_NULL, &field, NULL, 0), &result, &err),
        err);
    assert_int_equal(result.verdict, TN_INDEX_REMAIN);
    tn_file_index_release(index);
    return;
  }
  fail_msg("no such index");
}

/* ------------------------------------------------------------------ out of memory */

static tarn_status ask_once(void *ctx, tarn_env *own, tarn_error *err) {
  const java_index *x = ctx;
  tn_field field = column_of(x->type_text);
  tn_datum pair[2] = {java_distinct(&field.type, 25), java_distinct(&field.type, 75)};
  tn_index_result result = {0};
  tn_file_index *index = NULL;
  tarn_status st = tn_file_index_open(own, x->container, "x.index", &index, err);
  if (st == TARN_OK) {
    st = tn_file_index_test(index, &field, 1, JAVA_ROWS,
                            tn_pred_leaf(&arena, TN_PRED_NOT_IN, &field, pair, 2), &result, err);
    tn_index_result_reset(&result);
  }
  if (st == TARN_OK) {
    st = tn_file_index_test(index, &field, 1, JAVA_ROWS,
                            tn_pred_leaf(&arena, TN_PRED_BETWEEN, &field, pair, 2), &result, err);
  }
  tn_index_result_reset(&result);
  tn_file_index_release(index);
  return st;
}

static void asking__survives_failing_allocations(void **state) {
  static const char *const kinds[] = {"bloom-filter", "bitmap", "bsi", "range-bitmap"};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(kinds); i++) {
    const java_index *x = java_index_of("INT", kinds[i]);
    tn_torture(ask_once, (void *)(uintptr_t)x, TARN_OK);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(java_indexes__answer_as_their_rows),
      cmocka_unit_test(bloom_filters__skip_most_absent_values),
      cmocka_unit_test(vectors__answer_as_their_rows),
      cmocka_unit_test(range_bitmap__of_nulls_gives_all_of_them),
      cmocka_unit_test(asking__survives_failing_allocations),
  };
  return cmocka_run_group_tests_name("file_index_kinds", tests, set_up, tear_down);
}
