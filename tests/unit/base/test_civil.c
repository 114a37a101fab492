/* test_civil.c - days and dates. */
#include "base/civil.h"

#include "base/compat.h"
#include "support/test.h"

static void civil_days__round_trip_over_eras(void **state) {
  static const struct {
    int64_t days, year;
    int32_t month, day;
  } cases[] = {{0, 1970, 1, 1},         {-1, 1969, 12, 31},  {19782, 2024, 2, 29},
               {11016, 2000, 2, 29},    {-719528, 0, 1, 1},  {-719468, 0, 3, 1},
               {2932896, 9999, 12, 31}, {-25567, 1900, 1, 1}};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    int64_t year;
    int32_t month, day;
    tn_civil_from_days(cases[i].days, &year, &month, &day);
    assert_true(year == cases[i].year && month == cases[i].month && day == cases[i].day);
    assert_true(tn_days_from_civil(year, month, day) == cases[i].days);
  }
  for (int64_t days = -1000000; days < 1000000; days += 13) {
    int64_t year, far = days * 1000000;
    int32_t month, day;
    tn_civil_from_days(far, &year, &month, &day);
    assert_true(month >= 1 && month <= 12 && day >= 1 && day <= 31);
    assert_true(tn_days_from_civil(year, month, day) == far);
  }
}

static void days_of_month__know_leap_years(void **state) {
  (void)state;
  for (int64_t year = -400; year <= 2400; year += 25) {
    for (int32_t month = 1; month <= 12; month++) {
      int64_t next =
          month < 12 ? tn_days_from_civil(year, month + 1, 1) : tn_days_from_civil(year + 1, 1, 1);
      assert_int_equal(tn_days_of_month(year, month), next - tn_days_from_civil(year, month, 1));
    }
  }
  assert_true(tn_is_leap_year(2000) && tn_is_leap_year(-4) && !tn_is_leap_year(1900));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(civil_days__round_trip_over_eras),
      cmocka_unit_test(days_of_month__know_leap_years),
  };
  return cmocka_run_group_tests_name("civil", tests, NULL, NULL);
}
