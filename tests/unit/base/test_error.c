/* test_error.c - messages: clean, cut at a character, with context. */
#include "base/error.h"

#include <errno.h>

#include "base/utf8.h"
#include "support/test.h"

static void fail__fills_the_error_and_gives_the_status(void **state) {
  tarn_error err;
  (void)state;
  assert_int_equal(tn_fail(&err, TARN_E_CORRUPT, "%s at %d", "bad", 7), TARN_E_CORRUPT);
  assert_int_equal(err.status, TARN_E_CORRUPT);
  assert_int_equal(err.os_errno, 0);
  assert_string_equal(err.message, "bad at 7");
  assert_int_equal(tn_fail(NULL, TARN_E_IO, "%s", "x"), TARN_E_IO);
}

static void fail__makes_one_clean_line(void **state) {
  tarn_error err;
  (void)state;
  tn_fail(&err, TARN_E_IO,
          "a\nb\tc\x7F"
          "d\xFFz\xC3\xA9");
  assert_string_equal(err.message, "a b c d?z\xC3\xA9");
}

static void fail__cuts_at_a_character(void **state) {
  (void)state;
  for (size_t shift = 0; shift < 4; shift++) {
    char text[3000];
    tarn_error err;
    size_t n;
    memset(text, 'x', shift);
    for (size_t i = shift; i + 4 < sizeof(text); i += 4) {
      memcpy(text + i, "\xF0\x9F\x98\x80", 5);
    }
    tn_fail(&err, TARN_E_IO, "%s", text);
    n = strlen(err.message);
    assert_true(n > sizeof(err.message) - 6 && n < sizeof(err.message));
    assert_int_equal(tn_utf8_check((const uint8_t *)err.message, n), n);
    assert_null(strchr(err.message, '?'));
  }
}

static void fail_errno__has_status_and_text_of_the_system(void **state) {
  static const struct {
    int os_errno;
    tarn_status status;
  } cases[] = {{ENOENT, TARN_E_NOT_FOUND}, {ENOTDIR, TARN_E_NOT_FOUND}, {EEXIST, TARN_E_EXISTS},
               {ENOMEM, TARN_E_NOMEM},     {EACCES, TARN_E_AUTH},       {EPERM, TARN_E_AUTH},
               {EIO, TARN_E_IO},           {EISDIR, TARN_E_IO}};
  tarn_error err;
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    assert_int_equal(tn_fail_errno(&err, cases[i].os_errno, "open %s", "/x"), cases[i].status);
    assert_int_equal(err.os_errno, cases[i].os_errno);
    assert_contains(err.message, "open /x: ");
    assert_contains(err.message, strerror(cases[i].os_errno));
  }
}

static void context__goes_in_front(void **state) {
  tarn_error err;
  (void)state;
  tn_fail(&err, TARN_E_CORRUPT, "inner");
  assert_int_equal(tn_error_context(&err, TARN_E_CORRUPT, "snapshot %d", 4), TARN_E_CORRUPT);
  assert_string_equal(err.message, "snapshot 4: inner");
  /* What it means here. */
  assert_int_equal(tn_error_context(&err, TARN_E_IO, "table t"), TARN_E_IO);
  assert_int_equal(err.status, TARN_E_IO);
  assert_string_equal(err.message, "table t: snapshot 4: inner");
  assert_int_equal(tn_error_context(NULL, TARN_E_IO, "x"), TARN_E_IO);
  tn_error_reset(&err);
  assert_int_equal(err.status, TARN_OK);
  assert_string_equal(err.message, "");
}

static void status_name__is_never_null(void **state) {
  (void)state;
  assert_string_equal(tarn_status_name(TARN_OK), "OK");
  assert_string_equal(tarn_status_name(TARN_E_INTERNAL), "INTERNAL");
  assert_string_equal(tarn_status_name((tarn_status)99), "UNKNOWN");
  assert_string_equal(tarn_status_name((tarn_status)-1), "UNKNOWN");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fail__fills_the_error_and_gives_the_status),
      cmocka_unit_test(fail__makes_one_clean_line),
      cmocka_unit_test(fail__cuts_at_a_character),
      cmocka_unit_test(fail_errno__has_status_and_text_of_the_system),
      cmocka_unit_test(context__goes_in_front),
      cmocka_unit_test(status_name__is_never_null),
  };
  return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
