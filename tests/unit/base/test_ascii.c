/* test_ascii.c - letters, digits and blanks of ASCII. */
#include "base/ascii.h"

#include "support/test.h"

static void classes__hold_what_ascii_says(void **state) {
  (void)state;
  for (int c = 0; c < 256; c++) {
    bool is_upper = c >= 'A' && c <= 'Z', is_lower = c >= 'a' && c <= 'z';
    assert_true(tn_is_letter((uint8_t)c) == (is_upper || is_lower));
    assert_true(tn_is_digit((uint8_t)c) == (c >= '0' && c <= '9'));
    assert_int_equal(tn_lower((uint8_t)c), is_upper ? c + 32 : c);
  }
}

static void hex_value__takes_both_cases(void **state) {
  static const char digits[] = "0123456789abcdefABCDEF";
  (void)state;
  for (int c = 0; c < 256; c++) {
    const char *found = c != 0 ? strchr(digits, c) : NULL;
    int at = found != NULL ? (int)(found - digits) : -1;
    assert_int_equal(tn_hex_value((uint8_t)c), at >= 16 ? at - 6 : at);
  }
}

static void equal_nocase__compares_whole_texts(void **state) {
  (void)state;
  assert_true(tn_slice_is_nocase(tn_slice_text("LATEST-Full"), "latest-fULL"));
  assert_true(tn_slice_is_nocase(tn_slice_of(NULL, 0), ""));
  assert_false(tn_slice_is_nocase(tn_slice_text("latest"), "latest-full"));
  assert_false(tn_slice_is_nocase(tn_slice_text("latest-full"), "latest"));
  assert_false(tn_slice_is_nocase(tn_slice_text("[at]"), "{at}"));  // differ by the bit of the case
  assert_false(tn_slice_is_nocase(tn_slice_text("\xC3\xA9"), "\xC3\x89"));
}

static void trim__takes_blanks_of_both_ends(void **state) {
  (void)state;
  assert_true(tn_slice_is(tn_slice_trim(tn_slice_text(" \t\na b\x01 ")), "a b"));
  assert_int_equal(tn_slice_trim(tn_slice_text(" \t ")).len, 0);
  assert_int_equal(tn_slice_trim(tn_slice_of(NULL, 0)).len, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(classes__hold_what_ascii_says),
      cmocka_unit_test(hex_value__takes_both_cases),
      cmocka_unit_test(equal_nocase__compares_whole_texts),
      cmocka_unit_test(trim__takes_blanks_of_both_ends),
  };
  return cmocka_run_group_tests_name("ascii", tests, NULL, NULL);
}
