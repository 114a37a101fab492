/* Keys: prefixes keep the order, whole keys decide what they leave open. */
#include "merge/key.h"

#include <stdio.h>
#include <stdlib.h>

#include "column_test.h"

/* Ascending values of each type a key can have. */
static const struct type_case {
  const char *sql;
  const char *ascending;
  bool is_exact; /* the prefix of this column alone is the whole key */
} types[] = {
    {"BOOLEAN NOT NULL", "[false,true]", true},
    {"TINYINT NOT NULL", "[-128,-1,0,1,127]", true},
    {"SMALLINT NOT NULL", "[-32768,-1,0,1,32767]", true},
    {"INT NOT NULL", "[-2147483648,-1,0,1,2147483647]", true},
    {"DATE NOT NULL", "[-719162,0,19000]", true},
    {"BIGINT NOT NULL", "[-9223372036854775807,-1,0,1,255,256,9223372036854775807]", true},
    {"TIMESTAMP(6) NOT NULL", "[-1,0,1700000000000000]", true},
    {"FLOAT NOT NULL", "[-1.5e30,-1.5,-0.0,0.0,1.5,2.5e30]", true},
    {"DOUBLE NOT NULL", "[-1.5e300,-1.5,-0.0,0.0,1e-300,1.5,2.5e300]", true},
    {"DECIMAL(18, 2) NOT NULL", "[-999999999999999999,-1,0,999999999999999999]", true},
    {"DECIMAL(38, 2) NOT NULL",
     "[\"-170141183460469231731687\",\"-170141183460469231731686\",-1,0,1,"
     "\"170141183460469231731686\",\"170141183460469231731687\"]",
     false},
    {"TIMESTAMP(9) NOT NULL", "[-1,0,1,\"10000000000000000000\",\"10000000000000000001\"]", false},
    {"STRING NOT NULL",
     "[\"\",\"\\u0001\",\"a\",\"aaaaaaa\",\"aaaaaaaa\",\"aaaaaaaaa\",\"aaaaaaab\",\"b\",\"z\","
     "\"\\u00e9\",\"\\uffff\",\"\\ud83d\\ude00\"]",
     false},
    {"BYTES NOT NULL", "[\"\",\"0\",\"00\",\"~\"]", false},
};

static const tn_slice none = {NULL, 0};

static int sign(int v) {
  return (v > 0) - (v < 0);
}

static tn_batch batch_of(const tn_field *fields, int32_t n, tn_vec *columns) {
  return (tn_batch){
      .n_rows = columns[0].length, .n_columns = n, .fields = fields, .columns = columns};
}

static void key_prefixes__keep_the_order_of_each_type(void **state) {
  (void)state;
  for (size_t c = 0; c < sizeof(types) / sizeof(types[0]); c++) {
    const char *encodings = "fdv";
    for (const char *e = encodings; *e != '\0'; e++) {
      column_test t;
      column_test_begin(&t);
      const tn_type *type = parse_type(&t, types[c].sql);
      tn_field field = {.id = 0, .name = "k", .type = *type};
      tn_vec flat, vec;
      uint64_t prefixes[16];
      tarn_error err;
      must_build(&t, type, types[c].ascending, &flat);
      if (*e == 'v' && tn_type_layout(type) != TN_LAYOUT_BYTES) {
        tn_vec_reset(t.env, &flat);
        column_test_end(&t);
        continue;
      }
      assert_int_equal(encode_vec(t.env, &flat, *e, &vec, &err), TARN_OK);
      tn_batch batch = batch_of(&field, 1, &vec);
      assert_int_equal(tn_key_prefixes(&batch, 1, none, prefixes, &err), TARN_OK);
      for (int64_t i = 0; i < vec.length; i++) {
        for (int64_t j = 0; j < vec.length; j++) {
          tn_datum a = tn_vec_datum(&vec, i), b = tn_vec_datum(&vec, j);
          int order = tn_key_compare(&batch, i, &batch, j, 1);
          assert_int_equal(sign(order), (i > j) - (i < j));
          assert_int_equal(sign(tn_datum_compare_key(type, &a, &b)), (i > j) - (i < j));
          if (prefixes[i] != prefixes[j]) {
            assert_int_equal(sign(order), prefixes[i] < prefixes[j] ? -1 : 1);
          } else {
            assert_true(i == j || !types[c].is_exact);
          }
        }
      }
      assert_int_equal(tn_key_is_prefix_exact(&field, 1), types[c].is_exact);
      tn_vec_reset(t.env, &vec);
      tn_vec_reset(t.env, &flat);
      column_test_end(&t);
    }
  }
}

static void key_prefixes__take_every_nan_as_one_greatest_value(void **state) {
  column_test *t = *state;
  tn_field field = {.id = 0, .name = "k", .type = *parse_type(t, "DOUBLE NOT NULL")};
  const uint64_t bits[] = {0x7ff0000000000000u, 0x7ff8000000000000u, 0xfff8000000000001u};
  uint64_t prefixes[3];
  tarn_error err;
  tn_vec vec;
  must_build(t, &field.type, "[0,0,0]", &vec);
  memcpy(vec.values, bits, sizeof(bits));
  tn_batch batch = batch_of(&field, 1, &vec);
  assert_int_equal(tn_key_prefixes(&batch, 1, none, prefixes, &err), TARN_OK);
  assert_true(prefixes[0] < prefixes[1]);
  assert_true(prefixes[1] == prefixes[2]);
  assert_int_equal(tn_key_compare(&batch, 1, &batch, 2, 1), 0);
  assert_true(tn_key_compare(&batch, 0, &batch, 2, 1) < 0);
  tn_vec_reset(t->env, &vec);
}

/* Several columns: rows in ascending order, as JSON columns. */
static const struct joined_case {
  const char *sql[3];
  const char *columns[3];
  bool is_exact;
  bool are_prefixes_distinct;
} joined[] = {
    {{"INT NOT NULL", "INT NOT NULL"}, {"[-1,-1,0,1,1]", "[5,6,-9,-7,0]"}, true, true},
    {{"SMALLINT NOT NULL", "TINYINT NOT NULL", "DATE NOT NULL"},
     {"[1,1,1,2]", "[-3,-3,4,-128]", "[0,9,-9,0]"},
     true,
     true},
    {{"INT NOT NULL", "BIGINT NOT NULL"}, {"[1,1,2]", "[-1,1,0]"}, false, false},
    {{"BIGINT NOT NULL", "INT NOT NULL"}, {"[1,1,2]", "[-1,1,0]"}, false, false},
    {{"SMALLINT NOT NULL", "STRING NOT NULL", "INT NOT NULL"},
     {"[1,1,1,2]", "[\"\",\"abcdef\",\"abcdefg\",\"a\"]", "[3,2,1,0]"},
     false,
     false},
    {{"STRING NOT NULL", "STRING NOT NULL"},
     {"[\"a\",\"ab\",\"ab\"]", "[\"z\",\"\",\"b\"]"},
     false,
     false},
};

static void key_prefixes__pack_as_many_columns_as_fit(void **state) {
  (void)state;
  for (size_t c = 0; c < sizeof(joined) / sizeof(joined[0]); c++) {
    column_test t;
    tn_field fields[3];
    tn_vec vecs[3];
    uint64_t prefixes[8];
    int32_t n = 0;
    tarn_error err;
    column_test_begin(&t);
    memset(fields, 0, sizeof(fields));
    while (n < 3 && joined[c].sql[n] != NULL) {
      fields[n].name = "k";
      fields[n].type = *parse_type(&t, joined[c].sql[n]);
      must_build(&t, &fields[n].type, joined[c].columns[n], &vecs[n]);
      n++;
    }
    tn_batch batch = batch_of(fields, n, vecs);
    assert_int_equal(tn_key_prefixes(&batch, n, none, prefixes, &err), TARN_OK);
    assert_int_equal(tn_key_is_prefix_exact(fields, n), joined[c].is_exact);
    for (int64_t i = 0; i + 1 < batch.n_rows; i++) {
      assert_true(prefixes[i] <= prefixes[i + 1]);
      assert_true(!joined[c].are_prefixes_distinct || prefixes[i] != prefixes[i + 1]);
      assert_true(tn_key_compare(&batch, i, &batch, i + 1, n) < 0);
      assert_true(tn_key_compare(&batch, i + 1, &batch, i, n) > 0);
      assert_int_equal(tn_key_compare(&batch, i, &batch, i, n), 0);
    }
    for (int32_t i = 0; i < n; i++) {
      tn_vec_reset(t.env, &vecs[i]);
    }
    column_test_end(&t);
  }
}

static void key_prefixes__begin_behind_the_common_start(void **state) {
  column_test *t = *state;
  tn_field field = {.id = 0, .name = "k", .type = *parse_type(t, "STRING NOT NULL")};
  uint64_t prefixes[3];
  tarn_error err;
  tn_vec vec;
  must_build(t, &field.type, "[\"customer-\",\"customer-1\",\"customer-2\"]", &vec);
  tn_batch batch = batch_of(&field, 1, &vec);
  assert_int_equal(tn_key_prefixes(&batch, 1, tn_slice_text("customer-"), prefixes, &err), TARN_OK);
  assert_true(prefixes[0] < prefixes[1] && prefixes[1] < prefixes[2]);
  assert_int_equal(tn_key_prefixes(&batch, 1, none, prefixes, &err), TARN_OK);
  assert_true(prefixes[0] == prefixes[2]);
  assert_int_equal(tn_key_prefixes(&batch, 1, tn_slice_text("customer-1"), prefixes, &err),
                   TARN_E_CORRUPT);
  assert_int_equal(tn_key_prefixes(&batch, 1, tn_slice_text("d"), prefixes, &err), TARN_E_CORRUPT);
  tn_vec_reset(t->env, &vec);
}

static void key_prefixes__refuse_a_null(void **state) {
  column_test *t = *state;
  tn_field field = {.id = 0, .name = "the_key", .type = *parse_type(t, "INT")};
  uint64_t prefixes[2];
  tarn_error err;
  tn_vec vec;
  must_build(t, &field.type, "[1,null]", &vec);
  tn_batch batch = batch_of(&field, 1, &vec);
  assert_int_equal(tn_key_prefixes(&batch, 1, none, prefixes, &err), TARN_E_CORRUPT);
  assert_non_null(strstr(err.message, "the_key"));
  tn_vec_reset(t->env, &vec);
}

static void key_compare_value__puts_nulls_first(void **state) {
  column_test *t = *state;
  const tn_type *type = parse_type(t, "INT");
  tn_vec vec;
  must_build(t, type, "[null,-5,7]", &vec);
  assert_int_equal(tn_key_compare_value(&vec, 0, &vec, 0), 0);
  assert_true(tn_key_compare_value(&vec, 0, &vec, 1) < 0);
  assert_true(tn_key_compare_value(&vec, 2, &vec, 0) > 0);
  assert_true(tn_key_compare_value(&vec, 1, &vec, 2) < 0);
  tn_vec_reset(t->env, &vec);
}

static void key_has_order__tells_nested_types(void **state) {
  column_test *t = *state;
  assert_true(tn_key_has_order(parse_type(t, "STRING")));
  assert_true(tn_key_has_order(parse_type(t, "DECIMAL(38, 0)")));
  assert_false(tn_key_has_order(parse_type(t, "ARRAY<INT>")));
  assert_false(tn_key_has_order(parse_type(t, "ROW<a INT>")));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(key_prefixes__keep_the_order_of_each_type),
      column_unit_test(key_prefixes__take_every_nan_as_one_greatest_value),
      cmocka_unit_test(key_prefixes__pack_as_many_columns_as_fit),
      column_unit_test(key_prefixes__begin_behind_the_common_start),
      column_unit_test(key_prefixes__refuse_a_null),
      column_unit_test(key_compare_value__puts_nulls_first),
      column_unit_test(key_has_order__tells_nested_types),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
