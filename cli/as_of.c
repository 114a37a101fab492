/* as_of.c - the time of --as-of. */
#include "as_of.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct civil_time {
  int year, month, day, hour, minute, second, ms;
  bool has_offset;
  int offset_minutes; /* east of Greenwich */
} civil_time;

/* Exactly n digits. */
static bool take_number(const char **at, int n, int max, int *out) {
  int value = 0;
  for (int i = 0; i < n; i++) {
    char c = (*at)[i];
    if (c < '0' || c > '9') {
      return false;
    }
    value = value * 10 + (c - '0');
  }
  *at += n;
  *out = value;
  return value <= max;
}

static bool take_char(const char **at, char c) {
  if (**at != c) {
    return false;
  }
  (*at)++;
  return true;
}

static int days_of_month(int year, int month) {
  static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return days[month - 1] + (month == 2 && is_leap);
}

static bool take_date(const char **at, civil_time *t) {
  return take_number(at, 4, 9999, &t->year) && take_char(at, '-') &&
         take_number(at, 2, 12, &t->month) && take_char(at, '-') && t->month >= 1 &&
         take_number(at, 2, days_of_month(t->year, t->month), &t->day) && t->day >= 1;
}

/* Up to nine digits of a second's fraction, of which milliseconds count. */
static bool take_fraction(const char **at, int *ms) {
  int n = 0;
  for (; n < 9 && **at >= '0' && **at <= '9'; n++, (*at)++) {
    *ms = n < 3 ? *ms * 10 + (**at - '0') : *ms;
  }
  for (int i = n; i < 3; i++) {
    *ms *= 10;
  }
  return n > 0;
}

static bool take_clock(const char **at, civil_time *t) {
  if (!take_number(at, 2, 23, &t->hour) || !take_char(at, ':') ||
      !take_number(at, 2, 59, &t->minute)) {
    return false;
  }
  if (!take_char(at, ':')) {
    return true;
  }
  return take_number(at, 2, 59, &t->second) && (!take_char(at, '.') || take_fraction(at, &t->ms));
}

/* "Z", "+02:00", "+0200", "+02"; or nothing. */
static bool take_offset(const char **at, civil_time *t) {
  int hours = 0, minutes = 0, sign;
  (void)take_char(at, ' ');
  if (**at == '\0') {
    return (*at)[-1] != ' ';
  }
  t->has_offset = true;
  if (take_char(at, 'Z')) {
    return **at == '\0';
  }
  sign = **at == '-' ? -1 : 1;
  if (!take_char(at, '-') && !take_char(at, '+')) {
    return false;
  }
  if (!take_number(at, 2, 18, &hours) ||
      (**at != '\0' && ((void)take_char(at, ':'), !take_number(at, 2, 59, &minutes)))) {
    return false;
  }
  t->offset_minutes = sign * (hours * 60 + minutes);
  return **at == '\0';
}

static bool parse_time(const char *text, civil_time *t) {
  const char *at = text;
  memset(t, 0, sizeof(*t));
  if (!take_date(&at, t)) {
    return false;
  }
  if ((at[0] == 'T' || at[0] == ' ') && at[1] >= '0' && at[1] <= '9') {
    at++;
    if (!take_clock(&at, t)) {
      return false;
    }
  }
  return take_offset(&at, t);
}

/* Milliseconds since 1970 of a time with an offset. */
static int64_t to_millis(const civil_time *t) {
  int64_t years = t->year + 399; /* whole ones, since 400 years before the year 1 */
  int64_t days = years * 365 + years / 4 - years / 100 + years / 400 - 719162 - 146097;
  for (int m = 1; m < t->month; m++) {
    days += days_of_month(t->year, m);
  }
  days += t->day - 1;
  return (((days * 24 + t->hour) * 60 + t->minute - t->offset_minutes) * 60 + t->second) * 1000 +
         t->ms;
}

/* Seconds east of Greenwich of a zone in the form of an offset: "+08:00", "UTC+8" is none. */
static bool parse_offset_zone(const char *zone, int *minutes) {
  civil_time t = {0};
  const char *at = zone;
  if (*zone != '+' && *zone != '-' && strcmp(zone, "Z") != 0) {
    return false;
  }
  if (strlen(zone) == 2) { /* "+8" */
    *minutes = (zone[0] == '-' ? -60 : 60) * (zone[1] - '0');
    return zone[1] >= '0' && zone[1] <= '9';
  }
  if (!take_offset(&at, &t)) {
    return false;
  }
  *minutes = t.offset_minutes;
  return true;
}

/* Milliseconds east of Greenwich of the C library's zone at an instant. */
static int64_t zone_offset(int64_t utc_millis) {
  time_t second = (time_t)(utc_millis / 1000);
  struct tm parts;
  civil_time t = {0};
  if (localtime_r(&second, &parts) == NULL) {
    return 0;
  }
  t.year = parts.tm_year + 1900;
  t.month = parts.tm_mon + 1;
  t.day = parts.tm_mday;
  t.hour = parts.tm_hour;
  t.minute = parts.tm_min;
  t.second = parts.tm_sec;
  return to_millis(&t) - (int64_t)second * 1000;
}

/* A local time by the C library's own zones. Rule: java.time.LocalDateTime.atZone; a time that
 * clocks show twice is the first one, one that they pass over comes as much later. */
static int64_t local_millis(const civil_time *t, const char *zone) {
  const int64_t day = 86400000, local = to_millis(t);
  int64_t before, after;
  if (zone != NULL) {
    (void)setenv("TZ", zone, 1);
  }
  tzset();
  before = local - zone_offset(local - day);
  after = local - zone_offset(local + day);
  return before + zone_offset(before) != local && after + zone_offset(after) == local ? after
                                                                                      : before;
}

tarn_status cli_time_parse(const char *option, const char *text, const char *zone, int64_t *out,
                           tarn_error *err) {
  civil_time t;
  if (*text != '\0' && strspn(text, "0123456789") == strlen(text) && strlen(text) <= 18) {
    *out = strtoll(text, NULL, 10);
    return TARN_OK;
  }
  if (!parse_time(text, &t)) {
    return cli_usage(err,
                     "--%s '%s': expected a time such as 2024-05-01, '2024-05-01 12:30:00' or "
                     "2024-05-01T12:30:00Z, or milliseconds since 1970",
                     option, text);
  }
  *out = t.has_offset || (zone != NULL && parse_offset_zone(zone, &t.offset_minutes))
             ? to_millis(&t)
             : local_millis(&t, zone);
  return TARN_OK;
}

tarn_status cli_as_of(cli_args *args, const char *text, tarn_error *err) {
  static const char local_key[] = "scan.timestamp", millis_key[] = "scan.timestamp-millis";
  char value[64];
  civil_time t;
  if (*text != '\0' && strspn(text, "0123456789") == strlen(text) && strlen(text) <= 18) {
    return cli_args_add_option(args, millis_key, sizeof(millis_key) - 1, text, err);
  }
  if (!parse_time(text, &t)) {
    return cli_usage(err,
                     "--as-of '%s': expected a time such as 2024-05-01, '2024-05-01 12:30:00' "
                     "or 2024-05-01T12:30:00Z, or milliseconds since 1970",
                     text);
  }
  if (t.has_offset) {
    (void)snprintf(value, sizeof(value), "%lld", (long long)to_millis(&t));
    return cli_args_add_option(args, millis_key, sizeof(millis_key) - 1, value, err);
  }
  (void)snprintf(value, sizeof(value), "%04d-%02d-%02d %02d:%02d:%02d.%03d", t.year, t.month, t.day,
                 t.hour, t.minute, t.second, t.ms);
  return cli_args_add_option(args, local_key, sizeof(local_key) - 1, value, err);
}
