/* BinaryRow: the bytes, hashes and buckets that Java gives, and bytes that are no rows. */
#include "column/binary_row.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "binary_rows_data.h"
#include "column_test.h"
#include "support/torture.h"

static void to_hex(tn_slice bytes, char *out) {
  for (size_t i = 0; i < bytes.len; i++) {
    snprintf(out + 2 * i, 3, "%02x", bytes.data[i]);
  }
  out[2 * bytes.len] = '\0';
}

static void build_row(column_test *t, const struct row_vector *v, tn_vec *row) {
  char json[4096];
  snprintf(json, sizeof(json), "[%s]", v->values);
  must_build(t, parse_type(t, v->types), json, row);
}

/* Row 0 of a ROW vector. by_datum: fields of atomic types go through datums. */
static tarn_status write_row(const tn_vec *row, int kind, bool by_datum, tn_buf *out,
                             tarn_error *err) {
  tn_binary_row_writer w;
  TN_TRY(tn_binary_row_begin(&w, out, row->n_children, err));
  out->data[w.start] = (uint8_t)kind;
  for (int32_t i = 0; i < row->n_children; i++) {
    const tn_vec *field = &row->children[i];
    if (by_datum && field->n_children == 0) {
      tn_datum d = tn_vec_datum(field, 0);
      TN_TRY(tn_binary_row_set(&w, i, field->type, &d, err));
    } else {
      TN_TRY(tn_binary_row_set_vec(&w, i, field, 0, err));
    }
  }
  return TARN_OK;
}

static void binary_row_writer__writes_the_bytes_of_java(void **state) {
  column_test *t = *state;
  for (size_t i = 0; i < TN_COUNT(row_vectors); i++) {
    const struct row_vector *v = &row_vectors[i];
    tn_vec row;
    build_row(t, v, &row);
    for (int by_datum = 0; by_datum <= 1; by_datum++) {
      char hex[2048];
      tn_buf out;
      tarn_error err;
      tn_buf_init(&out, &t->env->mem, 1 << 20);
      assert_int_equal(tn_buf_text(&out, "abc", &err), TARN_OK); /* rows start anywhere */
      assert_int_equal(write_row(&row, v->kind, by_datum, &out, &err), TARN_OK);
      to_hex(tn_slice_of(out.data + 3, out.len - 3), hex);
      assert_string_equal(hex, v->hex);
      tn_buf_reset(&out);
    }
    tn_vec_reset(t->env, &row);
  }
}

static void binary_row_get__reads_back_what_java_wrote(void **state) {
  column_test *t = *state;
  for (size_t i = 0; i < TN_COUNT(row_vectors); i++) {
    const struct row_vector *v = &row_vectors[i];
    uint8_t bytes[1024] = {0};
    tn_binary_row row;
    tarn_error err;
    tn_vec wanted;
    size_t n;
    build_row(t, v, &wanted);
    bytes[3] = (uint8_t)v->arity;
    n = 4 + from_hex(v->hex, bytes + 4);
    assert_int_equal(tn_binary_row_decode(tn_slice_of(bytes, n), "m", &row, &err), TARN_OK);
    assert_int_equal(row.arity, v->arity);
    for (int32_t f = 0; f < v->arity; f++) {
      const tn_vec *field = &wanted.children[f];
      tn_datum d;
      tn_vec one;
      char *text;
      if (field->n_children > 0) {
        continue;
      }
      memset(&one, 0, sizeof(one));
      assert_int_equal(tn_binary_row_get(&row, f, field->type, &d, &err), TARN_OK);
      assert_int_equal(tn_datum_to_vec(t->env, field->type, &d, &one, &err), TARN_OK);
      text = vec_text(field);
      assert_vec(&one, text);
      free(text);
      tn_vec_reset(t->env, &one);
    }
    tn_vec_reset(t->env, &wanted);
  }
}

static void binary_row_hash__and_buckets_are_those_of_java(void **state) {
  column_test *t = *state;
  static const int32_t counts[] = {1, 2, 3, 4, 5, 7, 8, 16, 64, 1000};
  static const tn_bucket_function functions[] = {TN_BUCKET_DEFAULT, TN_BUCKET_MOD, TN_BUCKET_HIVE};
  for (size_t i = 0; i < TN_COUNT(row_vectors); i++) {
    const struct row_vector *v = &row_vectors[i];
    const tn_type *type = parse_type(t, v->types), *types[64];
    uint8_t bytes[1024];
    tn_binary_row row;
    tarn_error err;
    tn_slice s = tn_slice_of(bytes, from_hex(v->hex, bytes));
    assert_int_equal(tn_binary_row_hash(s), v->hash);
    assert_int_equal(tn_binary_row_view(s, v->arity, "m", &row, &err), TARN_OK);
    for (int32_t f = 0; f < v->arity; f++) {
      types[f] = &type->fields[f].type;
    }
    for (int f = 0; f < 3; f++) {
      for (int n = 0; n < 10; n++) {
        int32_t bucket = -7;
        if (v->buckets[f][n] >= 0) {
          assert_int_equal(tn_bucket_of(functions[f], &row, types, counts[n], &bucket, &err),
                           TARN_OK);
          assert_int_equal(bucket, v->buckets[f][n]);
        }
      }
    }
  }
}

static void bucket_of__refuses_types_by_name(void **state) {
  static const tn_type string = {.root = TN_VARCHAR},
                       timestamp = {.root = TN_TIMESTAMP, .precision = 3};
  static const tn_type *const strings[] = {&string}, *const timestamps[] = {&timestamp};
  static const uint8_t bytes[16] = {0};
  tn_binary_row row;
  tarn_error err;
  int32_t bucket;
  (void)state;
  assert_int_equal(tn_binary_row_view(tn_slice_of(bytes, 16), 1, "m", &row, &err), TARN_OK);
  assert_int_equal(tn_bucket_of(TN_BUCKET_MOD, &row, strings, 4, &bucket, &err),
                   TARN_E_UNSUPPORTED);
  assert_int_equal(tn_bucket_of(TN_BUCKET_HIVE, &row, timestamps, 4, &bucket, &err),
                   TARN_E_UNSUPPORTED);
  assert_non_null(strstr(err.message, "TIMESTAMP"));
}

static void binary_row_decode__rejects_what_is_too_short(void **state) {
  static const struct {
    const char *hex, *message;
  } cases[] = {{"", "needs 4 bytes"},
               {"000000", "needs 4 bytes"},
               {"00000000", "row of 0 fields does not fit in 0 bytes"},
               {"000000010000000000000000", "row of 1 fields does not fit in 8 bytes"},
               {"ffffffff0000000000000000", "row of -1 fields"},
               {"7fffffff0000000000000000", "row of 2147483647 fields"}};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    uint8_t bytes[64];
    tn_binary_row row;
    tarn_error err;
    size_t n = from_hex(cases[i].hex, bytes);
    assert_int_equal(tn_binary_row_decode(tn_slice_of(bytes, n), "manifest m", &row, &err),
                     TARN_E_CORRUPT);
    assert_non_null(strstr(err.message, "manifest m"));
    assert_non_null(strstr(err.message, cases[i].message));
  }
}

static void binary_row_get__rejects_pieces_outside(void **state) {
  column_test *t = *state;
  static const struct {
    const char *sql, *slot, *message;
  } cases[] = {{"STRING", "0800000010000000", "8 bytes at offset 16, past its end"},
               {"STRING", "ffffffff00000000", "4294967295 bytes"},
               {"STRING", "01000000ffffff7f", "offset 2147483647"},
               {"STRING", "0000000000000088", "8 bytes in a slot of 7"},
               {"DECIMAL(38, 2)", "0000000008000000", "decimal of 0 bytes"},
               {"DECIMAL(38, 2)", "1100000000000000", "17 bytes at offset 0"},
               {"DECIMAL(38, 2)", "0100000011000000", "1 bytes at offset 17"},
               {"TIMESTAMP(6)", "0000000009000000", "8 bytes at offset 9"},
               {"TIMESTAMP(6)", "40420f0008000000", "1000000 nanoseconds"},
               {"TIMESTAMP(9)", "ffffffff00000000", "4294967295 nanoseconds"}};
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    uint8_t bytes[16] = {0};
    tn_binary_row row;
    tn_datum d;
    tarn_error err;
    from_hex(cases[i].slot, bytes + 8);
    assert_int_equal(tn_binary_row_view(tn_slice_of(bytes, 16), 1, "m", &row, &err), TARN_OK);
    assert_int_equal(tn_binary_row_get(&row, 0, parse_type(t, cases[i].sql), &d, &err),
                     TARN_E_CORRUPT);
    if (strstr(err.message, cases[i].message) == NULL) {
      fail_msg("\"%s\" is not in \"%s\"", cases[i].message, err.message);
    }
    assert_int_equal(tn_binary_row_get(&row, 1, parse_type(t, cases[i].sql), &d, &err),
                     TARN_E_CORRUPT);
  }
}

/* A timestamp of years that microseconds do not hold. */
static void binary_row_get__rejects_timestamps_that_do_not_fit(void **state) {
  uint8_t bytes[24] = {0};
  static const tn_type micros = {.root = TN_TIMESTAMP, .precision = 6};
  static const tn_type nanos = {.root = TN_TIMESTAMP, .precision = 9};
  tn_binary_row row;
  tn_datum d;
  tarn_error err;
  (void)state;
  from_hex(
      "0000000010000000"
      "ffffffffffffff7f",
      bytes + 8);
  assert_int_equal(tn_binary_row_view(tn_slice_of(bytes, 24), 1, "m", &row, &err), TARN_OK);
  assert_int_equal(tn_binary_row_get(&row, 0, &micros, &d, &err), TARN_E_CORRUPT);
  assert_int_equal(tn_binary_row_get(&row, 0, &nanos, &d, &err), TARN_OK);
  assert_true(d.v.i128 == (tn_i128)INT64_MAX * 1000000);
}

/* Two faults of other writers: the 16 bytes of a wide decimal, and those of its null. */
static void binary_row_writer__reserves_for_wide_types(void **state) {
  column_test *t = *state;
  static const struct {
    const char *sql, *json, *hex;
  } cases[] = {{"DECIMAL(38, 18)", "[1500000000000000000]",
                "0000000000000000"
                "0800000010000000"
                "14d1120d7b160000"
                "0000000000000000"},
               {"DECIMAL(38, 18)", "[-1500000000000000000]",
                "0000000000000000"
                "0800000010000000"
                "eb2eedf284ea0000"
                "0000000000000000"},
               {"DECIMAL(20, 0)", "[\"10000000000000000000\"]",
                "0000000000000000"
                "0900000010000000"
                "008ac7230489e800"
                "0000000000000000"},
               {"DECIMAL(20, 2)", "[null]",
                "0001000000000000"
                "0000000010000000"
                "0000000000000000"
                "0000000000000000"},
               {"DECIMAL(18, 2)", "[null]",
                "0001000000000000"
                "0000000000000000"},
               {"TIMESTAMP(9)", "[null]",
                "0001000000000000"
                "0000000010000000"
                "0000000000000000"},
               {"TIMESTAMP(3)", "[null]",
                "0001000000000000"
                "0000000000000000"},
               {"ARRAY<DECIMAL(20, 2)>", "[[null]]",
                "0000000000000000"
                "1000000010000000"
                "0100000001000000"
                "0000000000000000"}};
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tn_vec vec;
    tn_binary_row_writer w;
    tn_buf out;
    tarn_error err;
    char hex[256];
    must_build(t, parse_type(t, cases[i].sql), cases[i].json, &vec);
    tn_buf_init(&out, &t->env->mem, 1 << 20);
    assert_int_equal(tn_binary_row_begin(&w, &out, 1, &err), TARN_OK);
    assert_int_equal(tn_binary_row_set_vec(&w, 0, &vec, 0, &err), TARN_OK);
    to_hex(tn_buf_slice(&out), hex);
    assert_string_equal(hex, cases[i].hex);
    tn_buf_reset(&out);
    tn_vec_reset(t->env, &vec);
  }
}

static void binary_row_writer__sets_raw_slots_and_pieces(void **state) {
  column_test *t = *state;
  tn_binary_row_writer w;
  tn_binary_row row;
  tn_buf out;
  tn_slice piece;
  tarn_error err;
  tn_buf_init(&out, &t->env->mem, 1 << 20);
  assert_int_equal(tn_binary_row_begin(&w, &out, 4, &err), TARN_OK);
  tn_binary_row_set_slot(&w, 0, 77);
  assert_int_equal(tn_binary_row_set_piece(&w, 1, tn_slice_text("ab"), &err), TARN_OK);
  assert_int_equal(tn_binary_row_set_bytes(&w, 2, tn_slice_text("cd"), &err), TARN_OK);
  tn_binary_row_set_null(&w, 3);
  assert_int_equal(out.len, 8 + 32 + 8);
  assert_int_equal(tn_binary_row_view(tn_buf_slice(&out), 4, "m", &row, &err), TARN_OK);
  assert_int_equal(tn_binary_row_slot(&row, 0), 77);
  assert_true(tn_binary_row_slot(&row, 1) == ((uint64_t)40 << 32 | 2));
  assert_int_equal(tn_binary_row_piece(&row, 1, &piece, &err), TARN_OK);
  assert_true(tn_slice_is(piece, "ab"));
  assert_int_equal(tn_binary_row_piece(&row, 2, &piece, &err), TARN_OK);
  assert_true(tn_slice_is(piece, "cd"));
  assert_true(tn_binary_row_is_null(&row, 3) && !tn_binary_row_is_null(&row, 2));
  tn_buf_reset(&out);
}

static tarn_status write_all(void *ctx, tarn_env *env, tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_buf out;
  const tn_vec *rows = ctx;
  tn_buf_init(&out, &env->mem, 1 << 20);
  for (size_t i = 0; i < TN_COUNT(row_vectors) && st == TARN_OK; i++) {
    st = write_row(&rows[i], 0, i % 2 == 0, &out, err);
  }
  tn_buf_reset(&out);
  return st;
}

static void binary_row_writer__survives_failing_allocations(void **state) {
  column_test *t = *state;
  tn_vec rows[TN_COUNT(row_vectors)];
  for (size_t i = 0; i < TN_COUNT(row_vectors); i++) {
    build_row(t, &row_vectors[i], &rows[i]);
  }
  assert_true(tn_torture(write_all, rows, TARN_OK) > 3);
  for (size_t i = 0; i < TN_COUNT(row_vectors); i++) {
    tn_vec_reset(t->env, &rows[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      column_unit_test(binary_row_writer__writes_the_bytes_of_java),
      column_unit_test(binary_row_get__reads_back_what_java_wrote),
      column_unit_test(binary_row_hash__and_buckets_are_those_of_java),
      cmocka_unit_test(bucket_of__refuses_types_by_name),
      cmocka_unit_test(binary_row_decode__rejects_what_is_too_short),
      column_unit_test(binary_row_get__rejects_pieces_outside),
      cmocka_unit_test(binary_row_get__rejects_timestamps_that_do_not_fit),
      column_unit_test(binary_row_writer__reserves_for_wide_types),
      column_unit_test(binary_row_writer__sets_raw_slots_and_pieces),
      column_unit_test(binary_row_writer__survives_failing_allocations)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
