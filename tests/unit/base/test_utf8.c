/* test_utf8.c - which bytes are UTF-8, and what Java makes of others. */
#include "base/utf8.h"

#include "base/compat.h"
#include "support/test.h"

static void step__knows_the_borders_of_utf8(void **state) {
  static const struct {
    const char *bytes;
    size_t n, step;
  } cases[] = {
      {"a", 1, 1},
      {"\x7F", 1, 1},
      {"\x80", 1, 0},
      {"\xC1\xBF", 2, 0},
      {"\xC2\x80", 2, 2},
      {"\xC2", 1, 0},
      {"\xC2\x41", 2, 0},
      {"\xDF\xBF", 2, 2},
      {"\xE0\x9F\xBF", 3, 0},
      {"\xE0\xA0\x80", 3, 3},
      {"\xED\x9F\xBF", 3, 3},
      {"\xED\xA0\x80", 3, 0},
      {"\xEE\x80\x80", 3, 3},
      {"\xEF\xBF\xBF", 3, 3},
      {"\xEF\xBF", 2, 0},
      {"\xEF\xBF\xC0", 3, 0},
      {"\xF0\x8F\xBF\xBF", 4, 0},
      {"\xF0\x90\x80\x80", 4, 4},
      {"\xF4\x8F\xBF\xBF", 4, 4},
      {"\xF4\x90\x80\x80", 4, 0},
      {"\xF5\x80\x80\x80", 4, 0},
      {"\xF0\x90\x80", 3, 0},
      {"\xFF", 1, 0},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    assert_int_equal(tn_utf8_step((const uint8_t *)cases[i].bytes, cases[i].n), cases[i].step);
  }
}

static void check__finds_the_first_bad_byte(void **state) {
  (void)state;
  assert_int_equal(tn_utf8_check((const uint8_t *)"ab\xC3\xA9\xFFz", 6), 4);
  assert_int_equal(tn_utf8_check((const uint8_t *)"ab\xC3\xA9", 4), 4);
  assert_int_equal(tn_utf8_check((const uint8_t *)"ab\xC3\xA9", 3), 2);
  assert_int_equal(tn_utf8_check((const uint8_t *)"", 0), 0);
}

/* As java.lang.String says (JDK 17): how many characters the bytes become. */
static void java_step__counts_as_java(void **state) {
  static const struct {
    const char *bytes;
    size_t n, characters;
  } cases[] = {
      {"a\xC3\xA9", 3, 2},
      {"\xFF", 1, 1},
      {"\xC3(", 2, 2},
      {"\xC0\x80", 2, 2},
      {"\xE6\x97", 2, 1},
      {"\xE6\x97"
       "A",
       3, 2},
      {"\xE0\x80\x80", 3, 3},
      {"\xED\xA0\x80\xED\xA0\x80", 6, 2},
      {"\xED\xBF", 2, 1},
      {"\xF0\x9F\x98", 3, 1},
      {"\xF0\x80", 2, 2},
      {"\xF0\x90\x8D"
       "A",
       4, 2},
      {"\xF4\x90\x80\x80", 4, 4},
      {"\xF4\xBF", 2, 2},
      {"\xF8\x88\x80\x80", 4, 4},
      {"\xC2", 1, 1},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    size_t at = 0, n = 0;
    for (; at < cases[i].n; n++) {
      at += tn_utf8_java_step((const uint8_t *)cases[i].bytes + at, cases[i].n - at);
    }
    assert_int_equal(at, cases[i].n);
    assert_int_equal(n, cases[i].characters);
  }
}

static void utf8_put__is_read_back(void **state) {
  static const struct {
    uint32_t point, next;
    const char *bytes;
  } cases[] = {{0, 1, ""},
               {0x7f, 0x80, "\x7f"},
               {0x80, 0x81, "\xc2\x80"},
               {0x7ff, 0x800, "\xdf\xbf"},
               {0x800, 0x801, "\xe0\xa0\x80"},
               {0xd7ff, 0xe000, "\xed\x9f\xbf"},
               {0xffff, 0x10000, "\xef\xbf\xbf"},
               {0x10000, 0x10001, "\xf0\x90\x80\x80"},
               {0x10ffff, 0x110000, "\xf4\x8f\xbf\xbf"}};
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    uint8_t out[4];
    size_t n = tn_utf8_put(cases[i].point, out);
    assert_int_equal(n, i == 0 ? 1 : strlen(cases[i].bytes));
    assert_memory_equal(out, cases[i].bytes, n);
    assert_int_equal(tn_utf8_step(out, n), n);
    assert_int_equal(tn_utf8_point(out, n), cases[i].point);
    assert_int_equal(tn_utf8_next_point(cases[i].point), cases[i].next);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(utf8_put__is_read_back),
      cmocka_unit_test(step__knows_the_borders_of_utf8),
      cmocka_unit_test(check__finds_the_first_bad_byte),
      cmocka_unit_test(java_step__counts_as_java),
  };
  return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
