/* test_cli_json.c - JSON texts looked into and outlined. */
#include "json.h"
#include "support/test.h"

static void json_parse__finds_members(void **state) {
  static const char text[] =
      " {\"a\": 12, \"b\" :[1,[2,{}],{\"x\":null}], \"c\":\"q\\\"\\u00e4\\ud83d\\ude00\\n\", "
      "\"d\":{}, \"e\":true}\n";
  cli_json json;
  char out[32];
  (void)state;
  assert_true(cli_json_parse(text, sizeof(text) - 1, &json));
  assert_int_equal(cli_json_count(&json, 0), 5);
  assert_int_equal(cli_json_int(&json, 0, "a"), 12);
  assert_int_equal(cli_json_count(&json, cli_json_find(&json, 0, "b")), 3);
  assert_int_equal(cli_json_count(&json, cli_json_find(&json, 0, "d")), 0);
  cli_json_copy(&json, 0, "c", out, sizeof(out));
  assert_string_equal(out, "q\"\xC3\xA4\xF0\x9F\x98\x80\n");
  cli_json_copy(&json, 0, "e", out, sizeof(out));
  assert_string_equal(out, "true");
  cli_json_copy(&json, 0, "none", out, sizeof(out));
  assert_string_equal(out, "");
  assert_true(cli_json_find(&json, 0, "x") == SIZE_MAX);
  cli_json_reset(&json);
}

static void json_parse__refuses_what_is_no_json(void **state) {
  static const char *const cases[] = {"",      "{",     "[1",    "{\"a\"}",  "{\"a\":}",
                                      "[1,]x", "[1 2]", "{a:1}", "\"open",   "\"x\\",
                                      "1 2",   "[}",    "{]",    "{\"a\":1", "[[[[1]]]"};
  cli_json json;
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    if (cli_json_parse(cases[i], strlen(cases[i]), &json)) {
      fail_msg("accepted: %s", cases[i]);
    }
  }
}

static void json_parse__bounds_the_nesting(void **state) {
  char text[2 * CLI_JSON_MAX_DEPTH + 2];
  cli_json json;
  (void)state;
  memset(text, '[', CLI_JSON_MAX_DEPTH);
  memset(text + CLI_JSON_MAX_DEPTH, ']', CLI_JSON_MAX_DEPTH);
  assert_true(cli_json_parse(text, (size_t)2 * CLI_JSON_MAX_DEPTH, &json));
  cli_json_reset(&json);
  memset(text, '[', CLI_JSON_MAX_DEPTH + 1);
  memset(text + CLI_JSON_MAX_DEPTH + 1, ']', CLI_JSON_MAX_DEPTH + 1);
  assert_false(cli_json_parse(text, (size_t)2 * CLI_JSON_MAX_DEPTH + 2, &json));
}

static void json_outline__is_for_people(void **state) {
  static const struct {
    const char *json, *outline;
  } cases[] = {
      {"{\"name\":\"t\",\"comment\":null,\"n\":3}", "name: t\ncomment: -\nn: 3\n"},
      {"{\"keys\":[\"a\",\"b\"],\"none\":[],\"also\":{}}", "keys: a, b\nnone: -\nalso: -\n"},
      {"{\"options\":{\"bucket\":\"1\"}}", "options:\n  bucket: 1\n"},
      {"{\"fields\":[{\"id\":0,\"name\":\"a\"},{\"id\":10,\"name\":\"bcd\",\"doc\":\"x\"}]}",
       "fields:\n  id  name  doc\n   0  a\n  10  bcd   x\n"},
      {"{\"groups\":[{\"a\":1,\"in\":[{\"b\":2}]}]}",
       "groups:\n  -\n    a: 1\n    in:\n      b\n      2\n"},
      {"{\"a\\nb\":\"c\\u001b[1m\"}", "a\\nb: c\\x1b[1m\n"},
      {"5", "5\n"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    cli_json json;
    cli_text out = {0};
    assert_true(cli_json_parse(cases[i].json, strlen(cases[i].json), &json));
    cli_json_outline(&json, 0, 0, false, &out);
    cli_text_char(&out, '\0');
    assert_string_equal(out.data, cases[i].outline);
    cli_text_reset(&out);
    cli_json_reset(&json);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(json_parse__finds_members),
      cmocka_unit_test(json_parse__refuses_what_is_no_json),
      cmocka_unit_test(json_parse__bounds_the_nesting),
      cmocka_unit_test(json_outline__is_for_people),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
