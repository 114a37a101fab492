/* JSON documents: what is read, what is refused and how it is told. */
#include "base/json.h"
#include "support/test.h"
#include "support/torture.h"

static tn_mem mem;

static int make_mem(void **state) {
  (void)state;
  tn_mem_init(&mem, NULL, 1 << 20);
  return 0;
}

static tn_json_doc *parse(const char *text) {
  tn_json_doc *doc = NULL;
  tarn_error err;
  assert_works(tn_json_parse(&mem, tn_slice_text(text), "f.json", &doc, &err), err);
  return doc;
}

static void parse__keeps_all_64_bits_of_integers(void **state) {
  static const struct {
    const char *text;
    int64_t value;
  } cases[] = {{"9223372036854775807", INT64_MAX},
               {"-9223372036854775808", INT64_MIN},
               {"9007199254740993", 9007199254740993},
               {"\"-9223372036854775808\"", INT64_MIN},
               {"\"+12\"", 12},
               {"-0", 0}};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tn_json_doc *doc = parse(cases[i].text);
    int64_t value = 1;
    assert_true(tn_json_int(tn_json_root(doc), &value));
    assert_int_equal(value, cases[i].value);
    tn_json_free(doc);
  }
}

static void int__is_refused_from_what_is_no_whole_number(void **state) {
  static const char *const texts[] = {"1.0",    "\"\"",   "\"1.5\"", "\"9223372036854775808\"",
                                      "\" 1\"", "\"-\"",  "true",    "[1]",
                                      "{}",     "\"1x\"", "null"};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(texts); i++) {
    tn_json_doc *doc = parse(texts[i]);
    int64_t value;
    assert_false(tn_json_int(tn_json_root(doc), &value));
    tn_json_free(doc);
  }
}

static void parse__refuses_bad_texts_with_place(void **state) {
  static const struct {
    const char *text, *part;
  } cases[] = {{"", "empty"},
               {" \n", "line"},
               {"{\"a\":1,}", "line 1"},
               {"{\n\"a\" 1}", "line 2"},
               {"[1] x", "line 1"},
               {"{\"a\":9223372036854775808}", "too big"},
               {"[\"\xFF\"]", "byte 0xFF at line 1, byte 3 is not UTF-8"},
               {"[\n\n\"\xC0\x80\"]", "byte 0xC0 at line 3, byte 2"},
               {"\"\xED\xA0\x80\"", "is not UTF-8"},
               {"\"abc", "line 1"},
               {"{\"a", "line 1"},
               {"\xEF\xBB\xBF{}", "line 1"},
               {"01", "line 1"},
               {"nul", "line 1"}};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tn_json_doc *doc = (tn_json_doc *)1;
    tarn_error err;
    assert_int_equal(tn_json_parse(&mem, tn_slice_text(cases[i].text), "dir/f.json", &doc, &err),
                     TARN_E_CORRUPT);
    assert_null(doc);
    assert_contains(err.message, "dir/f.json");
    assert_contains(err.message, cases[i].part);
    assert_int_equal(tn_json_parse(&mem, tn_slice_text(cases[i].text), "f", &doc, NULL),
                     TARN_E_CORRUPT);
  }
}

static void parse__allows_512_levels_and_no_more(void **state) {
  (void)state;
  for (size_t depth = 511; depth <= 100000; depth = depth < 514 ? depth + 1 : depth * 10) {
    char *text = malloc(2 * depth + 1);
    tn_json_doc *doc;
    tarn_error err;
    memset(text, '[', depth);
    memset(text + depth, ']', depth);
    if (depth <= 512) {
      assert_works(tn_json_parse(&mem, tn_slice_of(text, 2 * depth), "f", &doc, &err), err);
    } else {
      assert_int_equal(tn_json_parse(&mem, tn_slice_of(text, 2 * depth), "f", &doc, &err),
                       TARN_E_CORRUPT);
      assert_contains(err.message, "deeper than 512 at line 1, column 513");
    }
    tn_json_free(doc);
    free(text);
  }
}

static void parse__does_not_count_brackets_in_strings(void **state) {
  char text[4096];
  tn_json_doc *doc;
  (void)state;
  memset(text, '[', sizeof(text));
  memcpy(text, "[\"\\\"", 4);
  memcpy(text + sizeof(text) - 3, "\"]", 3);
  doc = parse(text);
  assert_int_equal(tn_json_count(tn_json_root(doc)), 1);
  tn_json_free(doc);
}

static void parse__takes_the_last_of_equal_names(void **state) {
  tn_json_doc *doc = parse("{\"a\":1,\"b\":5,\"a\":2}");
  int64_t value = 0;
  (void)state;
  assert_true(tn_json_int(tn_json_get(tn_json_root(doc), "a"), &value));
  assert_int_equal(value, 2);
  assert_int_equal(tn_json_count(tn_json_root(doc)), 2);
  tn_json_free(doc);
}

static void text__may_hold_nul(void **state) {
  tn_json_doc *doc = parse("\"a\\u0000b\"");
  tn_slice text;
  (void)state;
  assert_true(tn_json_text(tn_json_root(doc), &text));
  assert_int_equal(text.len, 3);
  assert_memory_equal(text.data, "a\0b", 3);
  tn_json_free(doc);
}

static void next__gives_members_in_file_order(void **state) {
  tn_json_doc *doc = parse("{\"z\":1,\"a\":null,\"m\":[],\"b\":true}");
  static const char *const keys[] = {"z", "a", "m", "b"};
  tn_json_member member = {.iter = NULL};
  size_t n = 0;
  (void)state;
  while (tn_json_next(tn_json_root(doc), &member)) {
    assert_true(n < TN_COUNT(keys));
    assert_string_equal(member.key, keys[n]);
    assert_true((member.value == NULL) == (n == 1));
    n++;
  }
  assert_int_equal(n, 4);
  member.iter = NULL;
  assert_false(tn_json_next(tn_json_get(tn_json_root(doc), "m"), &member));
  assert_false(tn_json_next(NULL, &member));
  tn_json_free(doc);
}

static void kinds__are_told(void **state) {
  tn_json_doc *doc = parse("[null,true,1,1.5,\"x\",[],{}]");
  const tn_json *root = tn_json_root(doc);
  bool flag = false;
  double real = 0;
  (void)state;
  for (size_t i = 0; i < 7; i++) {
    assert_int_equal(tn_json_kind_of(tn_json_at(root, i)), (tn_json_kind)i);
  }
  assert_null(tn_json_at(root, 7));
  assert_null(tn_json_get(root, "x"));
  assert_int_equal(tn_json_count(NULL), 0);
  assert_int_equal(tn_json_kind_of(NULL), TN_JSON_NULL);
  assert_true(tn_json_bool(tn_json_at(root, 1), &flag) && flag);
  assert_false(tn_json_bool(tn_json_at(root, 2), &flag));
  assert_true(tn_json_real(tn_json_at(root, 2), &real) && real == 1.0);
  assert_true(tn_json_real(tn_json_at(root, 3), &real) && real == 1.5);
  assert_false(tn_json_real(tn_json_at(root, 4), &real));
  tn_json_free(doc);
}

static void members__are_checked_for_presence_and_type(void **state) {
  tn_json_doc *doc = parse("{\"i\":7,\"s\":\"x\",\"n\":null}");
  const tn_json *root = tn_json_root(doc);
  int64_t i = 0;
  tn_slice s;
  bool is_present = false;
  tarn_error err;
  (void)state;
  assert_works(tn_json_get_int(root, "i", "f", &i, &is_present, &err), err);
  assert_true(is_present && i == 7);
  assert_works(tn_json_get_int(root, "n", "f", &i, &is_present, &err), err);
  assert_false(is_present);
  assert_works(tn_json_get_text(root, "none", "f", &s, &is_present, &err), err);
  assert_false(is_present);
  assert_works(tn_json_get_text(root, "s", "f", &s, NULL, &err), err);
  assert_true(tn_slice_is(s, "x"));
  assert_int_equal(tn_json_get_int(root, "n", "dir/f", &i, NULL, &err), TARN_E_CORRUPT);
  assert_string_equal(err.message, "dir/f: \"n\" is missing");
  assert_int_equal(tn_json_get_int(root, "s", "dir/f", &i, NULL, &err), TARN_E_CORRUPT);
  assert_string_equal(err.message, "dir/f: \"s\" must be an integer of 64 bits, found a text");
  assert_int_equal(tn_json_get_text(root, "i", "dir/f", &s, &is_present, &err), TARN_E_CORRUPT);
  assert_string_equal(err.message, "dir/f: \"i\" must be a text, found an integer");
  assert_int_equal(tn_json_get_text(NULL, "i", "dir/f", &s, NULL, &err), TARN_E_CORRUPT);
  assert_contains(err.message, "found null");
  tn_json_free(doc);
}

static void scalar_text__is_what_jackson_gives(void **state) {
  tn_json_doc *doc = parse("[\"x\",true,false,-12,1.5,[],null]");
  static const char *const texts[] = {"x", "true", "false", "-12", "1.5"};
  tarn_error err;
  tn_buf out;
  (void)state;
  tn_buf_init(&out, &mem, 100);
  for (size_t i = 0; i < TN_COUNT(texts); i++) {
    out.len = 0;
    assert_works(tn_json_scalar_text(tn_json_at(tn_json_root(doc), i), &out, &err), err);
    assert_true(tn_slice_is(tn_buf_slice(&out), texts[i]));
  }
  assert_int_equal(tn_json_scalar_text(tn_json_at(tn_json_root(doc), 5), &out, &err),
                   TARN_E_CORRUPT);
  assert_int_equal(tn_json_scalar_text(NULL, &out, &err), TARN_E_CORRUPT);
  tn_buf_reset(&out);
  tn_json_free(doc);
}

static void quote__escapes_what_must_be(void **state) {
  static const struct {
    const char *bytes;
    size_t n;
    const char *json;
  } cases[] = {
      {"", 0, "\"\""},
      {"plain", 5, "\"plain\""},
      {"a\"b\\c/d", 7, "\"a\\\"b\\\\c/d\""},
      {"\b\t\n\f\r", 5, "\"\\b\\t\\n\\f\\r\""},
      {"\0\x01\x1F\x20\x7F", 5, "\"\\u0000\\u0001\\u001f \x7F\""},
      {"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", 9, "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\""},
      {"a\xFFz", 3, "\"a\xEF\xBF\xBDz\""},
      {"\xE2\x82", 2, "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},
  };
  tarn_error err;
  tn_buf out;
  (void)state;
  tn_buf_init(&out, &mem, 1000);
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tn_json_doc *doc;
    out.len = 0;
    assert_works(tn_json_quote(&out, tn_slice_of(cases[i].bytes, cases[i].n), &err), err);
    assert_true(tn_slice_is(tn_buf_slice(&out), cases[i].json));
    assert_works(tn_json_parse(&mem, tn_buf_slice(&out), "q", &doc, &err), err);
    tn_json_free(doc);
  }
  tn_buf_reset(&out);
}

static tarn_status parse_and_quote(void *ctx, tarn_env *env, tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_json_doc *doc = NULL;
  tn_slice text;
  tn_buf out;
  (void)ctx;
  tn_buf_init(&out, &env->mem, 4096);
  TN_TRY_TO(done, tn_json_parse(&env->mem, tn_slice_text("[\"a\\nb\"]"), "f", &doc, err));
  assert_true(tn_json_text(tn_json_at(tn_json_root(doc), 0), &text));
  for (int i = 0; i < 40; i++) {
    TN_TRY_TO(done, tn_json_quote(&out, text, err));
  }
done:
  tn_json_free(doc);
  tn_buf_reset(&out);
  return st;
}

static void json__survives_failing_allocations(void **state) {
  (void)state;
  assert_true(tn_torture(parse_and_quote, NULL, TARN_OK) > 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parse__keeps_all_64_bits_of_integers),
      cmocka_unit_test(int__is_refused_from_what_is_no_whole_number),
      cmocka_unit_test(parse__refuses_bad_texts_with_place),
      cmocka_unit_test(parse__allows_512_levels_and_no_more),
      cmocka_unit_test(parse__does_not_count_brackets_in_strings),
      cmocka_unit_test(parse__takes_the_last_of_equal_names),
      cmocka_unit_test(text__may_hold_nul),
      cmocka_unit_test(next__gives_members_in_file_order),
      cmocka_unit_test(kinds__are_told),
      cmocka_unit_test(members__are_checked_for_presence_and_type),
      cmocka_unit_test(scalar_text__is_what_jackson_gives),
      cmocka_unit_test(quote__escapes_what_must_be),
      cmocka_unit_test(json__survives_failing_allocations),
  };
  return cmocka_run_group_tests_name("json", tests, make_mem, NULL);
}
