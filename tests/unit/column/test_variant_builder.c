/* VARIANT values put together: bytes as Java's GenericVariantBuilder makes them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "column/variant.h"
#include "column/variant_builder.h"
#include "column_test.h"
#include "support/torture.h"

typedef struct fixture {
  column_test t;
  tn_variant_builder b;
  tarn_error err;
} fixture;

static int begin(void **state) {
  fixture *f = calloc(1, sizeof(*f));
  assert_non_null(f);
  column_test_begin(&f->t);
  tn_variant_builder_init(&f->b, &f->t.env->mem);
  *state = f;
  return 0;
}

static int end(void **state) {
  fixture *f = *state;
  tn_variant_builder_free(&f->b);
  column_test_end(&f->t);
  free(f);
  return 0;
}

static void expect_hex(tn_slice found, const char *wanted) {
  char text[4096];
  assert_true(2 * found.len < sizeof(text));
  for (size_t i = 0; i < found.len; i++) {
    snprintf(text + 2 * i, 3, "%02x", found.data[i]);
  }
  text[2 * found.len] = '\0';
  assert_string_equal(text, wanted);
}

/* Takes the value and starts anew. */
static void expect(fixture *f, const char *metadata_hex, const char *value_hex) {
  tn_slice metadata, value;
  assert_int_equal(tn_variant_take(&f->b, &metadata, &value, &f->err), TARN_OK);
  expect_hex(metadata, metadata_hex);
  expect_hex(value, value_hex);
  tn_variant_builder_reset(&f->b);
}

#define NO_NAMES "010000"

static void variant_builder__takes_the_fewest_bytes_for_integers(void **state) {
  static const struct {
    int64_t v;
    const char *hex;
  } CASES[] = {{127, "0c7f"},
               {-128, "0c80"},
               {128, "108000"},
               {-32768, "100080"},
               {32768, "1400800000"},
               {INT32_MIN, "1400000080"},
               {(int64_t)INT32_MAX + 1, "180000008000000000"}};
  fixture *f = *state;
  for (size_t i = 0; i < TN_COUNT(CASES); i++) {
    assert_int_equal(tn_variant_put_long(&f->b, CASES[i].v, &f->err), TARN_OK);
    expect(f, NO_NAMES, CASES[i].hex);
  }
}

static void variant_builder__takes_decimals_by_digits_and_scale(void **state) {
  static const struct {
    int64_t v;
    int32_t scale;
    const char *hex;
  } CASES[] = {{999999999, 9, "2009ffc99a3b"},
               {-1, 2, "2002ffffffff"},
               {1000000000, 0, "240000ca9a3b00000000"},
               {5, 10, "240a0500000000000000"},
               {-5, 19, "2813fbffffffffffffffffffffffffffffff"},
               {1000000000000000000, 1,
                "28010000"
                "64a7b3b6e00d0000000000000000"}};
  fixture *f = *state;
  for (size_t i = 0; i < TN_COUNT(CASES); i++) {
    assert_int_equal(tn_variant_put_decimal(&f->b, CASES[i].v, CASES[i].scale, &f->err), TARN_OK);
    expect(f, NO_NAMES, CASES[i].hex);
  }
}

static void variant_builder__has_one_nan(void **state) {
  static const uint8_t odd_nan[] = {1, 0, 0xc0, 0xff, 1, 0, 0, 0, 0, 0, 0xf8, 0xff};
  fixture *f = *state;
  assert_int_equal(tn_variant_put_float(&f->b, tn_load_f32(odd_nan), &f->err), TARN_OK);
  expect(f, NO_NAMES, "380000c07f");
  assert_int_equal(tn_variant_put_double(&f->b, tn_load_f64(odd_nan + 4), &f->err), TARN_OK);
  expect(f, NO_NAMES, "1c000000000000f87f");
}

static void variant_builder__makes_short_and_long_strings(void **state) {
  char text[65], hex[256];
  fixture *f = *state;
  int n;
  memset(text, 'a', sizeof(text));
  assert_int_equal(tn_variant_put_string(&f->b, tn_slice_of(text, 63), &f->err), TARN_OK);
  n = snprintf(hex, sizeof(hex), "fd");
  for (int i = 0; i < 63; i++, n += 2) {
    snprintf(hex + n, 3, "61");
  }
  expect(f, NO_NAMES, hex);
  assert_int_equal(tn_variant_put_string(&f->b, tn_slice_of(text, 64), &f->err), TARN_OK);
  n = snprintf(hex, sizeof(hex), "4040000000");
  for (int i = 0; i < 64; i++, n += 2) {
    snprintf(hex + n, 3, "61");
  }
  expect(f, NO_NAMES, hex);
}

static void add_null(fixture *f, const tn_variant_open_group *g, const char *name) {
  assert_int_equal(tn_variant_add_field(&f->b, g, tn_slice_text(name), &f->err), TARN_OK);
  assert_int_equal(tn_variant_put_null(&f->b, &f->err), TARN_OK);
}

/* Ids by first use, fields in the order of UTF-16: U+1F600 before U+FFEE. */
static void variant_builder__orders_fields_as_java_does(void **state) {
  fixture *f = *state;
  tn_variant_open_group g, inner;
  tn_variant_open(&f->b, &g);
  add_null(f, &g, "\xef\xbf\xae");
  add_null(f, &g, "b");
  add_null(f, &g, "\xf0\x9f\x98\x80");
  assert_int_equal(tn_variant_add_field(&f->b, &g, tn_slice_text("a"), &f->err), TARN_OK);
  tn_variant_open(&f->b, &inner);
  add_null(f, &inner, "b");
  assert_int_equal(tn_variant_close_object(&f->b, &inner, &f->err), TARN_OK);
  assert_int_equal(tn_variant_close_object(&f->b, &g, &f->err), TARN_OK);
  expect(f, "01040003040809efbfae62f09f988061",
         "020403010200030102000900000002010100010"
         "0");
}

static void variant_builder__refuses_a_field_twice(void **state) {
  fixture *f = *state;
  tn_variant_open_group g;
  tn_variant_open(&f->b, &g);
  add_null(f, &g, "a");
  add_null(f, &g, "c");
  add_null(f, &g, "a");
  assert_int_equal(tn_variant_close_object(&f->b, &g, &f->err), TARN_E_CORRUPT);
  assert_non_null(strstr(f->err.message, "two fields named a"));
}

/* 300 fields, added in no order: 4 bytes for their number, 2 for ids and offsets; they come out
 * sorted. */
static void variant_builder__makes_large_objects(void **state) {
  static char names[300][8];
  fixture *f = *state;
  tn_variant_open_group g;
  tn_slice metadata, value;
  tn_buf json;
  const char *at;
  tn_variant_open(&f->b, &g);
  for (int i = 0; i < 300; i++) {
    snprintf(names[i], sizeof(names[i]), "k%03d", i * 7 % 300);
    add_null(f, &g, names[i]);
  }
  assert_int_equal(tn_variant_close_object(&f->b, &g, &f->err), TARN_OK);
  assert_int_equal(tn_variant_take(&f->b, &metadata, &value, &f->err), TARN_OK);
  assert_int_equal(value.data[0], 2 | 1 << 2 | 1 << 4 | 1 << 6);
  assert_int_equal(value.len, 1 + 4 + 300 * 2 + 301 * 2 + 300);
  tn_buf_init(&json, &f->t.env->mem, 1 << 20);
  assert_int_equal(tn_variant_to_json(metadata, value, NULL, &json, &f->err), TARN_OK);
  assert_int_equal(tn_buf_append(&json, "", 1, &f->err), TARN_OK);
  at = (const char *)json.data;
  for (int i = 0; i < 300; i++) {
    char field[24];
    snprintf(field, sizeof(field), "%c\"k%03d\":null", i == 0 ? '{' : ',', i);
    assert_memory_equal(at, field, strlen(field));
    at += strlen(field);
  }
  assert_string_equal(at, "}");
  tn_buf_reset(&json);
}

/* {"b":[{"a":1}],"c":5} with names in another order gets ids of its own. */
static const uint8_t other_names[] = {1, 4, 0, 1, 2, 3, 4, 'x', 'c', 'a', 'b'};
static const uint8_t other_value[] = {2, 2,    3,    1,    0,    11,   13,   3,    1,    0,
                                      7, 0x02, 0x01, 0x02, 0x00, 0x02, 0x0c, 0x01, 0x0c, 0x05};

static void variant_builder__gives_copied_names_new_ids(void **state) {
  fixture *f = *state;
  tn_variant_names names;
  assert_int_equal(
      tn_variant_names_read(tn_slice_of(other_names, sizeof(other_names)), &names, &f->err),
      TARN_OK);
  assert_int_equal(
      tn_variant_put_value(&f->b, &names, tn_slice_of(other_value, sizeof(other_value)), &f->err),
      TARN_OK);
  expect(f,
         "0103000102036261"
         "63",
         "020200020"
         "00b0d"
         "03010007"
         "020101"
         "0002"
         "0c01"
         "0c05");
}

static bool is_b(const void *ctx, tn_slice name) {
  (void)ctx;
  return tn_slice_is(name, "b");
}

static void variant_builder__refuses_what_is_shredded_and_not(void **state) {
  static const uint8_t number[] = {0x0c, 0x01};
  fixture *f = *state;
  tn_variant_names names;
  tn_variant_open_group g;
  assert_int_equal(
      tn_variant_names_read(tn_slice_of(other_names, sizeof(other_names)), &names, &f->err),
      TARN_OK);
  tn_variant_open(&f->b, &g);
  assert_int_equal(
      tn_variant_add_fields(&f->b, &g, &names, tn_slice_of(other_value, sizeof(other_value)), is_b,
                            NULL, &f->err),
      TARN_E_CORRUPT);
  assert_non_null(strstr(f->err.message, "field b is shredded and not"));
  assert_int_equal(
      tn_variant_add_fields(&f->b, &g, &names, tn_slice_of(number, 2), is_b, NULL, &f->err),
      TARN_E_CORRUPT);
  assert_non_null(strstr(f->err.message, "no object beside"));
}

/* Arrays of 16 items that all lie in one place, 8 deep: 16^8 values in a few hundred bytes. */
static void variant_builder__refuses_values_that_share_their_bytes(void **state) {
  uint8_t value[8 * 19 + 1], *at = value;
  fixture *f = *state;
  tn_variant_names names;
  for (int i = 0; i < 8; i++) {
    *at++ = 3;
    *at++ = 16;
    memset(at, 0, 17);
    at += 17;
  }
  *at = 0;
  assert_int_equal(tn_variant_names_read(tn_slice_of("\x01\x00\x00", 3), &names, &f->err), TARN_OK);
  assert_int_equal(tn_variant_put_value(&f->b, &names, tn_slice_of(value, sizeof(value)), &f->err),
                   TARN_E_CORRUPT);
  assert_non_null(strstr(f->err.message, "share their bytes"));
}

static tarn_status build_in_need(void *ctx, tarn_env *env, tarn_error *err) {
  tarn_status st;
  tn_variant_builder b;
  tn_variant_names names;
  tn_variant_open_group g;
  tn_slice metadata, value;
  (void)ctx;
  tn_variant_builder_init(&b, &env->mem);
  TN_TRY_TO(done,
            tn_variant_names_read(tn_slice_of(other_names, sizeof(other_names)), &names, err));
  tn_variant_open(&b, &g);
  for (int i = 0; i < 100; i++) {
    TN_TRY_TO(done, tn_variant_add_item(&b, &g, err));
    TN_TRY_TO(done,
              tn_variant_put_value(&b, &names, tn_slice_of(other_value, sizeof(other_value)), err));
  }
  TN_TRY_TO(done, tn_variant_close_array(&b, &g, err));
  st = tn_variant_take(&b, &metadata, &value, err);
done:
  tn_variant_builder_free(&b);
  return st;
}

static void variant_builder__survives_any_failed_allocation(void **state) {
  (void)state;
  assert_true(tn_torture(build_in_need, NULL, TARN_OK) > 5);
}

#define BUILDER_TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
  const struct CMUnitTest tests[] = {
      BUILDER_TEST(variant_builder__takes_the_fewest_bytes_for_integers),
      BUILDER_TEST(variant_builder__takes_decimals_by_digits_and_scale),
      BUILDER_TEST(variant_builder__has_one_nan),
      BUILDER_TEST(variant_builder__makes_short_and_long_strings),
      BUILDER_TEST(variant_builder__orders_fields_as_java_does),
      BUILDER_TEST(variant_builder__refuses_a_field_twice),
      BUILDER_TEST(variant_builder__makes_large_objects),
      BUILDER_TEST(variant_builder__gives_copied_names_new_ids),
      BUILDER_TEST(variant_builder__refuses_what_is_shredded_and_not),
      BUILDER_TEST(variant_builder__refuses_values_that_share_their_bytes),
      cmocka_unit_test(variant_builder__survives_any_failed_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
