/* VARIANT values from JSON text: bytes as Java's GenericVariant.fromJson makes them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "column/variant.h"
#include "column/variant_json.h"
#include "column_test.h"

typedef struct fixture {
  column_test t;
  tn_variant_builder b;
  tn_arena arena;
  tarn_error err;
} fixture;

static int begin(void **state) {
  fixture *f = calloc(1, sizeof(*f));
  assert_non_null(f);
  column_test_begin(&f->t);
  tn_variant_builder_init(&f->b, &f->t.env->mem);
  tn_arena_init(&f->arena, &f->t.env->mem, 1 << 24);
  *state = f;
  return 0;
}

static int end(void **state) {
  fixture *f = *state;
  tn_variant_builder_free(&f->b);
  tn_arena_reset(&f->arena);
  column_test_end(&f->t);
  free(f);
  return 0;
}

static void to_hex(tn_slice bytes, char *out, size_t size) {
  assert_true(2 * bytes.len < size);
  for (size_t i = 0; i < bytes.len; i++) {
    snprintf(out + 2 * i, 3, "%02x", bytes.data[i]);
  }
  out[2 * bytes.len] = '\0';
}

static tarn_status put(fixture *f, const char *json, size_t n) {
  /* A copy of its size, so that a sanitizer sees reads past the end. */
  char *text = malloc(n > 0 ? n : 1);
  tarn_status st;
  assert_non_null(text);
  memcpy(text, json, n);
  tn_variant_builder_reset(&f->b);
  st = tn_variant_put_json(&f->b, tn_slice_of(text, n), &f->arena, &f->err);
  free(text);
  return st;
}

static void variant_json__makes_the_bytes_of_java(void **state) {
  static const struct {
    const char *json, *metadata, *value;
  } CASES[] = {
      {"null", "010000", "00"},
      {"true", "010000", "04"},
      {" false ", "010000", "08"},
      {"0", "010000", "0c00"},
      {"-0", "010000", "0c00"},
      {"127", "010000", "0c7f"},
      {"-129", "010000", "107fff"},
      {"40000", "010000", "14409c0000"},
      {"-3000000000", "010000", "1800a22f4dffffffff"},
      {"9223372036854775807", "010000", "18ffffffffffffff7f"},
      {"9223372036854775808", "010000", "280000000000000000800000000000000000"},
      {"-9223372036854775808", "010000", "180000000000000080"},
      {"99999999999999999999999999999999999999", "010000", "2800ffffffff3f228a097ac4865aa84c3b4b"},
      {"100000000000000000000000000000000000000", "010000", "1cb1a1162ad3ced247"},
      {"1.0", "010000", "20010a000000"},
      {"-0.0", "010000", "200100000000"},
      {"1.50", "010000", "200296000000"},
      {"123456789012.25", "010000", "2402e92fce733a0b0000"},
      {"0.00000000000000000000000000000000000001", "010000",
       "282601000000000000000000000000000000"},
      {"0.000000000000000000000000000000000000001", "010000", "1c832d55b12fc7d537"},
      {"1e3", "010000", "1c0000000000408f40"},
      {"-2.5E-3", "010000", "1c7b14ae47e17a64bf"},
      {"1e400", "010000", "1c000000000000f07f"},
      {"\"\"", "010000", "01"},
      {"\"abc\"", "010000", "0d616263"},
      {"\"\\u00e4\\ud83d\\ude00\\n\"", "010000", "1dc3a4f09f98800a"},
      {"\"0123456789012345678901234567890123456789012345678901234567890123\"", "010000",
       "4040000000303132333435363738393031323334353637383930313233343536373839303132333435363738393"
       "03132333435363738393031323334353637383930313233"},
      {"[]", "010000", "030000"},
      {"{}", "010000", "020000"},
      {"[1,[2,{}],\"x\"]", "010000", "030300020c0e0c0103020002050c020200000578"},
      {"{\"b\":1,\"a\":{\"b\":null,\"c\":[true]}}", "010300010203626163",
       "0202010002000f0c0102020002000106000301000104"},
      {"{\"\\u0062\":1}", "0101000162", "02010000020c01"}};
  fixture *f = *state;
  for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
    char metadata_hex[256], value_hex[256];
    tn_slice metadata, value, json = tn_slice_text(CASES[i].json);
    tn_variant_builder_reset(&f->b);
    assert_int_equal(tn_variant_put_json(&f->b, json, &f->arena, &f->err), TARN_OK);
    assert_int_equal(tn_variant_take(&f->b, &metadata, &value, &f->err), TARN_OK);
    to_hex(metadata, metadata_hex, sizeof(metadata_hex));
    to_hex(value, value_hex, sizeof(value_hex));
    assert_string_equal(metadata_hex, CASES[i].metadata);
    assert_string_equal(value_hex, CASES[i].value);
  }
}

static void variant_json__refuses_what_is_no_json(void **state) {
  static const struct {
    const char *json, *message;
  } CASES[] = {
      {"", "byte 1 of the JSON: expected a value, found its end"},
      {"  ", "byte 3 of the JSON"},
      {"nul", "expected a value, found 'nul'"},
      {"tru e", "expected a value"},
      {"01", "byte 1 of the JSON"},
      {"1.", "expected a value"},
      {"+1", "expected a value"},
      {"1e", "expected a value"},
      {"-", "expected a value"},
      {"1 2", "byte 3 of the JSON: expected its end, found '2'"},
      {"[1,]", "byte 4 of the JSON: expected a value"},
      {"[1 2]", "a comma or ]"},
      {"[", "expected a value, found its end"},
      {"{\"a\":1", "a comma or }"},
      {"{\"a\" 1}", "expected a colon"},
      {"{a:1}", "the name of a member"},
      {"{\"a\":1,}", "the name of a member"},
      {"{\"a\":1,\"a\":2}", "two fields named a"},
      {"\"abc", "the closing quote"},
      {"\"a\nb\"", "the closing quote"},
      {"\"\\x\"", "an escape"},
      {"\"\\u12g4\"", "hexadecimal"},
      {"\"\\ud800\"", "both surrogates"},
      {"\"\\udc00\"", "hexadecimal digits of a character"},
      {"\"\\u00", "hexadecimal"},
      {"\"\xff\"", "expected UTF-8"},
  };
  fixture *f = *state;
  for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
    assert_int_equal(put(f, CASES[i].json, strlen(CASES[i].json)), TARN_E_INVALID);
    assert_int_equal(f->err.status, TARN_E_INVALID);
    if (strstr(f->err.message, CASES[i].message) == NULL) {
      fail_msg("%s: %s", CASES[i].json, f->err.message);
    }
  }
}

static void variant_json__refuses_a_zero_byte(void **state) {
  assert_int_equal(put(*state, "\"\\\0\"", 4), TARN_E_INVALID);
  assert_int_equal(put(*state, "1\0", 2), TARN_E_INVALID);
}

static void variant_json__bounds_the_depth(void **state) {
  fixture *f = *state;
  char text[2 * TN_VARIANT_MAX_DEPTH + 2];
  memset(text, '[', TN_VARIANT_MAX_DEPTH + 1);
  memset(text + TN_VARIANT_MAX_DEPTH + 1, ']', TN_VARIANT_MAX_DEPTH + 1);
  assert_int_equal(put(f, text, sizeof(text)), TARN_E_LIMIT);
  assert_int_equal(put(f, text + 1, sizeof(text) - 2), TARN_OK);
}

static void variant_json__comes_back(void **state) {
  static const char json[] = "{\"a\":[1,2.50,\"x\",null,true],\"b\":{\"\\u00e9\\t\":-1}}";
  fixture *f = *state;
  tn_slice metadata, value;
  tn_buf out;
  tn_buf_init(&out, &f->t.env->mem, 4096);
  assert_int_equal(tn_variant_put_json(&f->b, tn_slice_text(json), &f->arena, &f->err), TARN_OK);
  assert_int_equal(tn_variant_take(&f->b, &metadata, &value, &f->err), TARN_OK);
  assert_int_equal(tn_variant_to_json(metadata, value, NULL, &out, &f->err), TARN_OK);
  assert_int_equal(tn_buf_append(&out, "", 1, &f->err), TARN_OK);
  assert_string_equal((char *)out.data,
                      "{\"a\":[1,2.5,\"x\",null,true],\"b\":{\"\xc3\xa9\\t\":-1}}");
  tn_buf_reset(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(variant_json__makes_the_bytes_of_java, begin, end),
      cmocka_unit_test_setup_teardown(variant_json__refuses_what_is_no_json, begin, end),
      cmocka_unit_test_setup_teardown(variant_json__refuses_a_zero_byte, begin, end),
      cmocka_unit_test_setup_teardown(variant_json__bounds_the_depth, begin, end),
      cmocka_unit_test_setup_teardown(variant_json__comes_back, begin, end),
  };
  return cmocka_run_group_tests_name("variant_json", tests, NULL, NULL);
}
