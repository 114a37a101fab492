/* Vectors: life, encodings, copies of rows. */
#include "column_test.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/torture.h"

/* One vector of each layout, five rows with nulls in it. The rows of any copy are known by name:
 * index into `rows`. */
static const struct layout_case {
  const char *sql;
  const char *rows[5];
  const char *encodings; /* that the layout can have */
} layouts[] = {
    {"BOOLEAN", {"true", "null", "false", "true", "false"}, "fdc"},
    {"TINYINT", {"-1", "2", "null", "4", "127"}, "fdc"},
    {"SMALLINT", {"-1", "2", "null", "4", "30000"}, "fdc"},
    {"INT", {"-1", "2", "null", "4", "5"}, "fdc"},
    {"BIGINT", {"-1", "2", "3", "4", "9223372036854775807"}, "fdc"},
    {"FLOAT", {"-1.5", "2", "null", "4", "5"}, "fdc"},
    {"DOUBLE", {"null", "2.5", "3", "null", "5"}, "fdc"},
    {"DECIMAL(38, 2)", {"-1", "\"170141183460469231731\"", "null", "4", "0"}, "fdc"},
    {"STRING",
     {"\"\"", "\"seven b\"", "null", "\"thirty three bytes of text, so it is\"",
      "\"a text of more than sixty four bytes, which takes the way of long ones: memcpy\""},
     "fdvc"},
    {"BYTES", {"\"a\"", "\"b\"", "\"sixteen bytes ok\"", "\"d\"", "\"e\""}, "fdvc"},
    {"ARRAY<INT>", {"[1,2]", "null", "[]", "[3,null]", "[4]"}, "fc"},
    {"ARRAY<ARRAY<STRING>>", {"[[\"a\",\"b\"],null]", "[]", "[[]]", "null", "[[\"c\"]]"}, "fc"},
    {"MAP<STRING, INT>", {"[[\"a\",1]]", "null", "[]", "[[\"b\",null],[\"c\",3]]", "[]"}, "fc"},
    {"MULTISET<INT>", {"[[1,1]]", "[]", "[[2,2],[3,3]]", "null", "[[null,1]]"}, "fc"},
    {"ROW<a INT, b STRING, c ARRAY<INT>>",
     {"[1,\"x\",[1]]", "null", "[null,null,null]", "[4,\"y\",[]]", "[5,\"z\",[6,7]]"},
     "fc"},
    {"VECTOR<FLOAT, 2>", {"[1,2]", "[3,4]", "null", "[5,6]", "[7,8]"}, "fc"},
    {"VARIANT",
     {"[\"m\",\"v\"]", "[\"m2\",\"v2\"]", "[\"\",\"\"]", "[\"n\",\"w\"]", "[\"a\",\"b\"]"},
     "fc"}};

static void join(const struct layout_case *c, const uint32_t *rows, size_t n, char *out,
                 size_t size) {
  size_t at = (size_t)snprintf(out, size, "[");
  for (size_t i = 0; i < n; i++) {
    at += (size_t)snprintf(out + at, size - at, "%s%s", i > 0 ? "," : "", c->rows[rows[i]]);
  }
  snprintf(out + at, size - at, "]");
}

static const uint32_t all_rows[] = {0, 1, 2, 3, 4};

static void build_case(column_test *t, const struct layout_case *c, tn_vec *out) {
  char json[1024];
  join(c, all_rows, 5, json, sizeof(json));
  must_build(t, parse_type(t, c->sql), json, out);
}

static void vec_encodings__hold_the_same_rows(void **state) {
  column_test *t = *state;
  for (size_t i = 0; i < TN_COUNT(layouts); i++) {
    tn_vec flat;
    build_case(t, &layouts[i], &flat);
    for (const char *e = layouts[i].encodings; *e != '\0'; e++) {
      static const uint32_t zeros[5] = {0};
      char expected[1024];
      tarn_error err;
      tn_vec encoded, shared;
      memset(&shared, 0, sizeof(shared));
      join(&layouts[i], *e == 'c' ? zeros : all_rows, 5, expected, sizeof(expected));
      assert_int_equal(encode_vec(t->env, &flat, *e, &encoded, &err), TARN_OK);
      assert_vec(&encoded, expected);
      assert_int_equal(tn_vec_share(t->env, &encoded, &shared, &err), TARN_OK);
      tn_vec_reset(t->env, &encoded);
      assert_vec(&shared, expected);
      assert_int_equal(tn_vec_flatten(t->env, &shared, &err), TARN_OK);
      assert_int_equal(shared.encoding, TN_VEC_FLAT);
      assert_vec(&shared, expected);
      tn_vec_reset(t->env, &shared);
    }
    tn_vec_reset(t->env, &flat);
  }
}

static void vec_take__copies_any_rows_of_any_encoding(void **state) {
  column_test *t = *state;
  static const uint32_t rows[] = {4, 0, 0, 3, 2, 1, 4};
  for (size_t i = 0; i < TN_COUNT(layouts); i++) {
    tn_vec flat;
    build_case(t, &layouts[i], &flat);
    for (const char *e = layouts[i].encodings; *e != '\0'; e++) {
      static const uint32_t zeros[7] = {0};
      char expected[1024];
      tarn_error err;
      tn_vec encoded, out;
      memset(&out, 0, sizeof(out));
      assert_int_equal(encode_vec(t->env, &flat, *e, &encoded, &err), TARN_OK);
      join(&layouts[i], *e == 'c' ? zeros : rows, 7, expected, sizeof(expected));
      assert_int_equal(tn_vec_take(t->env, &encoded, rows, 7, &out, &err), TARN_OK);
      assert_vec(&out, expected);
      assert_int_equal(tn_vec_take(t->env, &encoded, rows, 0, &out, &err), TARN_OK);
      assert_vec(&out, "[]");
      tn_vec_reset(t->env, &out);
      tn_vec_reset(t->env, &encoded);
    }
    tn_vec_reset(t->env, &flat);
  }
}

static void vec_copy_range__copies_every_range(void **state) {
  column_test *t = *state;
  for (size_t i = 0; i < TN_COUNT(layouts); i++) {
    tn_vec flat;
    build_case(t, &layouts[i], &flat);
    for (const char *e = layouts[i].encodings; *e != 'c'; e++) {
      tarn_error err;
      tn_vec encoded, out;
      memset(&out, 0, sizeof(out));
      assert_int_equal(encode_vec(t->env, &flat, *e, &encoded, &err), TARN_OK);
      for (int64_t begin = 0; begin <= 5; begin++) {
        for (int64_t n = 0; begin + n <= 5; n++) {
          char expected[1024];
          join(&layouts[i], all_rows + begin, (size_t)n, expected, sizeof(expected));
          assert_int_equal(tn_vec_copy_range(t->env, &encoded, begin, n, &out, &err), TARN_OK);
          assert_vec(&out, expected);
        }
      }
      tn_vec_reset(t->env, &out);
      tn_vec_reset(t->env, &encoded);
    }
    tn_vec_reset(t->env, &flat);
  }
}

/* Every pair of encodings as sources 0 and 1. */
static void vec_gather__mixes_sources_of_any_encoding(void **state) {
  column_test *t = *state;
  static const tn_row_ref refs[] = {{0, 4}, {1, 0}, {1, 3}, {0, 2}, {0, 1}, {1, 4}, {1, 2}};
  for (size_t i = 0; i < TN_COUNT(layouts); i++) {
    const char *encodings = layouts[i].encodings;
    size_t n = strlen(encodings);
    tn_vec flat;
    build_case(t, &layouts[i], &flat);
    for (size_t pair = 0; pair < n * n; pair++) {
      char kinds[2] = {encodings[pair / n], encodings[pair % n]}, expected[1024];
      uint32_t rows[TN_COUNT(refs)];
      tarn_error err;
      tn_vec sources[2], out;
      const tn_vec *list[2] = {&sources[0], &sources[1]};
      memset(&out, 0, sizeof(out));
      for (int s = 0; s < 2; s++) {
        assert_int_equal(encode_vec(t->env, &flat, kinds[s], &sources[s], &err), TARN_OK);
      }
      for (size_t k = 0; k < TN_COUNT(refs); k++) {
        rows[k] = kinds[refs[k].source] == 'c' ? 0 : refs[k].row;
      }
      join(&layouts[i], rows, TN_COUNT(refs), expected, sizeof(expected));
      assert_int_equal(tn_vec_gather(t->env, flat.type, list, 2, refs, TN_COUNT(refs), &out, &err),
                       TARN_OK);
      assert_vec(&out, expected);
      tn_vec_reset(t->env, &out);
      tn_vec_reset(t->env, &sources[0]);
      tn_vec_reset(t->env, &sources[1]);
    }
    tn_vec_reset(t->env, &flat);
  }
}

static void vec_gather__takes_no_source_and_many(void **state) {
  column_test *t = *state;
  tarn_error err;
  tn_vec vec, out;
  const tn_vec *list[100];
  tn_row_ref refs[300];
  memset(&out, 0, sizeof(out));
  must_build(t, parse_type(t, "INT"), "[0,1,null]", &vec);
  for (uint32_t i = 0; i < 100; i++) {
    list[i] = &vec;
  }
  for (uint32_t i = 0; i < 300; i++) {
    refs[i] = (tn_row_ref){i % 100, i % 3};
  }
  assert_int_equal(tn_vec_gather(t->env, vec.type, NULL, 0, NULL, 0, &out, &err), TARN_OK);
  assert_vec(&out, "[]");
  assert_int_equal(tn_vec_gather(t->env, vec.type, list, 100, refs, 300, &out, &err), TARN_OK);
  assert_int_equal(out.null_count, 100);
  for (int64_t i = 0; i < 300; i++) {
    assert_int_equal(tn_vec_is_null(&out, i), i % 3 == 2);
    assert_true(i % 3 == 2 || ((int32_t *)out.values)[i] == i % 3);
  }
  tn_vec_reset(t->env, &out);
  tn_vec_reset(t->env, &vec);
}

static void vec_gather__refuses_more_bytes_than_offsets_count(void **state) {
  column_test *t = *state;
  static const uint8_t lone[65] = {'x'};
  tarn_error err;
  tn_vec vec, out;
  tn_view *views;
  uint32_t rows[3] = {0, 0, 0};
  tn_row_ref refs[3] = {{0, 0}, {0, 0}, {0, 0}};
  const tn_vec *list[] = {&vec};
  memset(&vec, 0, sizeof(vec));
  memset(&out, 0, sizeof(out));
  assert_int_equal(tn_vec_init_views(t->env, parse_type(t, "STRING"), 1, &vec, &err), TARN_OK);
  views = vec.values;
  views[0] = (tn_view){lone, 1 << 30};
  assert_int_equal(tn_vec_take(t->env, &vec, rows, 3, &out, &err), TARN_E_LIMIT);
  assert_non_null(strstr(err.message, "3221225472"));
  assert_null(out.type);
  assert_true(tn_vec_gather_bytes(list, refs, 3) == INT64_C(3) << 30);
  tn_vec_reset(t->env, &vec);
}

static void vec_gather_bytes__bounds_every_offset(void **state) {
  column_test *t = *state;
  static const struct {
    const char *sql, *json;
    int64_t bytes;
  } cases[] = {{"BIGINT", "[1,2,3]", 24},
               {"BOOLEAN", "[true,null,false]", 3},
               {"STRING", "[\"abc\",null,\"de\"]", 5},
               {"ARRAY<STRING>", "[[\"abc\",\"\"],null,[null]]", 6},
               {"ROW<a INT, b STRING>", "[[1,\"ab\"],null,[2,\"\"]]", 14},
               {"VECTOR<FLOAT, 2>", "[[1,2],[1,2],[1,2]]", 30}};
  static const tn_row_ref refs[] = {{0, 0}, {0, 1}, {0, 2}};
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tn_vec vec;
    const tn_vec *list[] = {&vec};
    must_build(t, parse_type(t, cases[i].sql), cases[i].json, &vec);
    assert_int_equal(tn_vec_gather_bytes(list, refs, 3), cases[i].bytes);
    tn_vec_reset(t->env, &vec);
  }
}

static void vec_init_nulls__makes_valid_vectors_of_every_type(void **state) {
  column_test *t = *state;
  for (size_t i = 0; i < TN_COUNT(layouts); i++) {
    const tn_type *type = parse_type(t, layouts[i].sql);
    tarn_error err;
    tn_vec vec;
    memset(&vec, 0, sizeof(vec));
    for (int is_flat = 0; is_flat <= 1; is_flat++) {
      assert_int_equal(tn_vec_init_nulls(t->env, type, 3, is_flat, &vec, &err), TARN_OK);
      assert_int_equal(vec.encoding, is_flat ? TN_VEC_FLAT : TN_VEC_CONST);
      assert_int_equal(vec.null_count, 3);
      assert_vec(&vec, "[null,null,null]");
    }
    tn_vec_reset(t->env, &vec);
  }
}

static void vec_validate__finds_what_is_broken(void **state) {
  column_test *t = *state;
  tarn_error err;
  tn_vec vec, dict, views;
  must_build(t, parse_type(t, "STRING"), "[\"ab\",null,\"cd\"]", &vec);
  assert_int_equal(encode_vec(t->env, &vec, 'd', &dict, &err), TARN_OK);
  assert_int_equal(encode_vec(t->env, &vec, 'v', &views, &err), TARN_OK);

  ((int32_t *)dict.values)[0] = 3;
  assert_int_equal(tn_vec_validate(&dict, &err), TARN_E_CORRUPT);
  ((int32_t *)dict.values)[0] = -1;
  assert_int_equal(tn_vec_validate(&dict, &err), TARN_E_CORRUPT);
  ((tn_view *)views.values)[2].len = 1000;
  assert_int_equal(tn_vec_validate(&views, &err), TARN_E_CORRUPT);
  ((tn_view *)views.values)[2] = (tn_view){(const uint8_t *)"elsewhere", 3};
  assert_int_equal(tn_vec_validate(&views, &err), TARN_E_CORRUPT);

  vec.null_count = 0;
  assert_int_equal(tn_vec_validate(&vec, &err), TARN_E_CORRUPT);
  vec.null_count = 1;
  vec.offsets[2] = 3;
  assert_int_equal(tn_vec_validate(&vec, &err), TARN_E_CORRUPT); /* a null with a byte */
  vec.offsets[2] = 1;
  assert_int_equal(tn_vec_validate(&vec, &err), TARN_E_CORRUPT); /* not ascending */
  vec.offsets[2] = 2;
  vec.offsets[3] = 1000;
  assert_int_equal(tn_vec_validate(&vec, &err), TARN_E_CORRUPT);
  vec.offsets[3] = 4;
  assert_int_equal(tn_vec_validate(&vec, &err), TARN_OK);
  vec.length = 1000;
  assert_int_equal(tn_vec_validate(&vec, &err), TARN_E_CORRUPT);
  vec.length = 3;
  tn_vec_reset(t->env, &vec);
  tn_vec_reset(t->env, &dict);
  tn_vec_reset(t->env, &views);
}

static void batch_clear__keeps_columns_that_can_be_filled_again(void **state) {
  column_test *t = *state;
  tarn_error err;
  tn_batch batch, moved;
  const tn_type *type;
  type = parse_type(t, "ROW<a INT, b ARRAY<INT>>");
  assert_int_equal(tn_batch_init(t->env, type->fields, 2, &batch, &err), TARN_OK);
  assert_int_equal(batch.first_position, -1);
  assert_int_equal(tn_vec_alloc(t->env, &batch.columns[0], 2, 0, &err), TARN_OK);
  assert_int_equal(
      tn_vec_init_nulls(t->env, batch.columns[1].type, 2, false, &batch.columns[1], &err), TARN_OK);
  batch.n_rows = 2;
  tn_batch_clear(t->env, &batch);
  assert_int_equal(batch.n_rows, 0);
  for (int i = 0; i < 2; i++) {
    assert_vec(&batch.columns[i], "[]");
    assert_ptr_equal(batch.columns[i].type, &type->fields[i].type);
  }
  assert_int_equal(batch.columns[1].n_children, 1);
  tn_batch_move(&moved, &batch);
  tn_batch_reset(t->env, &batch);
  tn_batch_reset(t->env, &moved);
}

/* ------------------------------------------------------------------ torture */

typedef struct copies {
  const tn_type *type;
  const char *json;
  char encoding;
} copies;

static tarn_status copy_in_every_way(void *ctx, tarn_env *env, tarn_error *err) {
  static const uint32_t rows[] = {4, 0, 2};
  static const tn_row_ref refs[] = {{1, 4}, {0, 0}, {1, 2}};
  const copies *c = ctx;
  tarn_status st = TARN_OK;
  tn_vec flat, encoded, shared, out;
  const tn_vec *list[] = {&flat, &encoded};
  memset(&flat, 0, sizeof(flat));
  memset(&encoded, 0, sizeof(encoded));
  memset(&shared, 0, sizeof(shared));
  memset(&out, 0, sizeof(out));
  TN_TRY_TO(done, build_vec(env, c->type, c->json, &flat, err));
  TN_TRY_TO(done, encode_vec(env, &flat, c->encoding, &encoded, err));
  TN_TRY_TO(done, tn_vec_share(env, &encoded, &shared, err));
  TN_TRY_TO(done, tn_vec_take(env, &encoded, rows, 3, &out, err));
  TN_TRY_TO(done, tn_vec_gather(env, c->type, list, 2, refs, 3, &out, err));
  TN_TRY_TO(done, tn_vec_copy_range(env, &encoded, 1, 3, &out, err));
  TN_TRY_TO(done, tn_vec_flatten(env, &shared, err));
  TN_TRY_TO(done, tn_vec_init_nulls(env, c->type, 3, true, &out, err));
  TN_TRY_TO(done, tn_vec_init_nulls(env, c->type, 3, false, &out, err));
done:
  tn_vec_reset(env, &flat);
  tn_vec_reset(env, &encoded);
  tn_vec_reset(env, &shared);
  tn_vec_reset(env, &out);
  return st;
}

static void vectors__survive_failing_allocations(void **state) {
  column_test *t = *state;
  for (size_t i = 0; i < TN_COUNT(layouts); i++) {
    for (const char *e = layouts[i].encodings; *e != '\0'; e++) {
      char json[1024];
      copies c = {parse_type(t, layouts[i].sql), json, *e};
      join(&layouts[i], all_rows, 5, json, sizeof(json));
      assert_true(tn_torture(copy_in_every_way, &c, TARN_OK) > 5);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      column_unit_test(vec_encodings__hold_the_same_rows),
      column_unit_test(vec_take__copies_any_rows_of_any_encoding),
      column_unit_test(vec_copy_range__copies_every_range),
      column_unit_test(vec_gather__mixes_sources_of_any_encoding),
      column_unit_test(vec_gather__takes_no_source_and_many),
      column_unit_test(vec_gather__refuses_more_bytes_than_offsets_count),
      column_unit_test(vec_gather_bytes__bounds_every_offset),
      column_unit_test(vec_init_nulls__makes_valid_vectors_of_every_type),
      column_unit_test(vec_validate__finds_what_is_broken),
      column_unit_test(batch_clear__keeps_columns_that_can_be_filled_again),
      column_unit_test(vectors__survive_failing_allocations)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
