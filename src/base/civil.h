/* civil.h - days since 1970 and dates of the proleptic Gregorian calendar, any year that fits. */
#ifndef TN_BASE_CIVIL_H
#define TN_BASE_CIVIL_H

#include <stdbool.h>
#include <stdint.h>

void tn_civil_from_days(int64_t days, int64_t *year, int32_t *month, int32_t *day);
int64_t tn_days_from_civil(int64_t year, int32_t month, int32_t day);

static inline bool tn_is_leap_year(int64_t year) {
  return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* month: 1 to 12. */
static inline int32_t tn_days_of_month(int64_t year, int32_t month) {
  return month == 2 ? 28 + tn_is_leap_year(year) : 30 + (month + (month > 7)) % 2;
}

#endif
