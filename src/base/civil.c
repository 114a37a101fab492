/* civil.c - days and dates of the proleptic Gregorian calendar.
 *
 * Years are counted from March, so that the leap day is the last of its year, in eras of 400 years
 * of 146,097 days. The method is Howard Hinnant's ("chrono-compatible low-level date algorithms").
 */
#include "base/civil.h"

#include "base/checked.h"

#define DAYS_OF_ERA 146097
#define DAYS_0000_03_01_TO_1970 719468

void tn_civil_from_days(int64_t days, int64_t *year, int32_t *month, int32_t *day) {
  int64_t era = tn_floor_div(days, DAYS_OF_ERA), d = days - era * DAYS_OF_ERA;
  int64_t y, m;
  d += DAYS_0000_03_01_TO_1970;
  era += d / DAYS_OF_ERA;
  d %= DAYS_OF_ERA;
  y = (d - d / 1460 + d / 36524 - d / 146096) / 365;
  d -= 365 * y + y / 4 - y / 100;
  m = (5 * d + 2) / 153; /* 0 is March */
  *day = (int32_t)(d - (153 * m + 2) / 5 + 1);
  *month = (int32_t)(m < 10 ? m + 3 : m - 9);
  *year = y + era * 400 + (*month <= 2);
}

int64_t tn_days_from_civil(int64_t year, int32_t month, int32_t day) {
  int64_t y = year - (month <= 2), era = tn_floor_div(y, 400), of_era = y - era * 400;
  int64_t m = month > 2 ? month - 3 : month + 9;
  int64_t of_year = (153 * m + 2) / 5 + day - 1;
  return era * DAYS_OF_ERA + of_era * 365 + of_era / 4 - of_era / 100 + of_year -
         DAYS_0000_03_01_TO_1970;
}
