/* test_cli_text.c - growing texts, escapes, widths on a terminal. */
#include "support/test.h"
#include "text.h"
#include "utf8.h"

#define BYTES(literal) literal, sizeof(literal) - 1

static void assert_text(cli_text *text, const char *expected) {
  cli_text_char(text, '\0');
  assert_string_equal(text->data, expected);
  cli_text_reset(text);
}

static void text_int__writes_every_width(void **state) {
  static const struct {
    int64_t value;
    const char *text;
  } cases[] = {{0, "0"},
               {7, "7"},
               {-7, "-7"},
               {10, "10"},
               {99, "99"},
               {100, "100"},
               {-1234567, "-1234567"},
               {INT64_MAX, "9223372036854775807"},
               {INT64_MIN, "-9223372036854775808"}};
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    cli_text text = {0};
    cli_text_int(&text, cases[i].value);
    assert_text(&text, cases[i].text);
  }
}

static void text_json__escapes_what_json_cannot_hold(void **state) {
  static const struct {
    const char *bytes;
    size_t n;
    const char *json;
  } cases[] = {
      {BYTES(""), "\"\""},
      {BYTES("plain"), "\"plain\""},
      {BYTES("a\"b\\c"), "\"a\\\"b\\\\c\""},
      {BYTES("\n\r\t\x01\x7F"), "\"\\n\\r\\t\\u0001\\u007f\""},
      {BYTES("a\0b"), "\"a\\u0000b\""},
      {BYTES("\xC3\xA4\xE6\xBC\xA2\xF0\x9F\x98\x80"), "\"\xC3\xA4\xE6\xBC\xA2\xF0\x9F\x98\x80\""},
      {BYTES("x\xFFy"), "\"x\xEF\xBF\xBDy\""},
      {BYTES("\xE6\xBC"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},
      {BYTES("\xED\xA0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""}, /* a surrogate */
      {BYTES("\xC0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},                 /* too long a form */
  };
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    cli_text text = {0};
    cli_text_json(&text, cases[i].bytes, cases[i].n);
    assert_text(&text, cases[i].json);
  }
}

static void text_line__leaves_no_control_characters(void **state) {
  static const struct {
    const char *bytes;
    size_t n;
    const char *line;
  } cases[] = {
      {BYTES("a\nb\tc"), "a\\nb\\tc"},
      {BYTES("\x1b[31mred"), "\\x1b[31mred"},
      {BYTES("\xC2\x9B"
             "31m"),
       "\\x9b31m"}, /* the same as one character */
      {BYTES("\xC2\xA9 \xFF"), "\xC2\xA9 \xEF\xBF\xBD"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    cli_text text = {0};
    cli_text_line(&text, cases[i].bytes, cases[i].n);
    assert_text(&text, cases[i].line);
  }
}

static void text_copy__cuts_to_the_size(void **state) {
  cli_text text = {0};
  char out[4];
  (void)state;
  cli_text_copy(&text, out, sizeof(out));
  assert_string_equal(out, "");
  cli_text_puts(&text, "abcdef");
  cli_text_copy(&text, out, sizeof(out));
  assert_string_equal(out, "abc");
  cli_text_reset(&text);
}

static void utf8_width__counts_columns(void **state) {
  static const struct {
    const char *text;
    size_t width;
  } cases[] = {{"", 0},
               {"abc", 3},
               {"\xC3\xA4", 1},         /* a letter of two bytes */
               {"\xE6\xBC\xA2", 2},     /* a Han character */
               {"e\xCC\x81", 1},        /* a combining accent */
               {"\xF0\x9F\x98\x80", 2}, /* an emoji */
               {"\xEF\xBD\xB1", 1},     /* a half-width kana */
               {"\xFF\xFF", 2}};
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    assert_int_equal(cli_utf8_width(cases[i].text, strlen(cases[i].text)), cases[i].width);
  }
}

static void utf8_cut__never_splits_a_character(void **state) {
  static const char text[] =
      "a\xE6\xBC\xA2"
      "b"; /* 1 + 2 + 1 columns */
  static const struct {
    size_t width, bytes, taken;
  } cases[] = {{0, 0, 0}, {1, 1, 1}, {2, 1, 1}, {3, 4, 3}, {4, 5, 4}, {9, 5, 4}};
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    size_t taken;
    assert_int_equal(cli_utf8_cut(text, strlen(text), cases[i].width, &taken), cases[i].bytes);
    assert_int_equal(taken, cases[i].taken);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_int__writes_every_width),
      cmocka_unit_test(text_json__escapes_what_json_cannot_hold),
      cmocka_unit_test(text_line__leaves_no_control_characters),
      cmocka_unit_test(text_copy__cuts_to_the_size),
      cmocka_unit_test(utf8_width__counts_columns),
      cmocka_unit_test(utf8_cut__never_splits_a_character),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
