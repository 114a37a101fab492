/* tag_period.c - names of automatic tags. */
#include "maintain/tag_period.h"

#include <stdio.h>

#include "base/ascii.h"
#include "base/checked.h"
#include "base/civil.h"

#define DAY_MS ((int64_t)86400000)
#define HOUR_MS ((int64_t)3600000)

tarn_status tn_tag_mode_of(const tn_table *table, tn_tag_mode *out, tarn_error *err) {
  static const tn_tag_mode modes[] = {TN_TAGS_NONE, TN_TAGS_PROCESS_TIME, TN_TAGS_WATERMARK,
                                      TN_TAGS_BATCH};
  int32_t mode;
  TN_TRY(tn_options_enum(&table->options, "tag.automatic-creation", &mode, err));
  *out = modes[mode];
  return TARN_OK;
}

tarn_status tn_tag_period_init(tn_tag_period *period, const tn_table *table, tarn_error *err) {
  static const tn_tag_period kinds[3][3] = {
      {{DAY_MS, "yyyy-mm-dd", true}, {DAY_MS, "yyyymmdd", true}, {DAY_MS, "yyyymmdd", true}},
      {{HOUR_MS, "yyyy-mm-dd hh", false},
       {HOUR_MS, "yyyymmdd hh", false},
       {HOUR_MS, "yyyymmddhh", false}},
      {{2 * HOUR_MS, "yyyy-mm-dd hh", false},
       {2 * HOUR_MS, "yyyy-mm-dd hh", false},
       {2 * HOUR_MS, "yyyy-mm-dd hh", false}}};
  int64_t length;
  int32_t kind, form;
  bool is_set;
  TN_TRY(tn_options_int(&table->options, "tag.creation-period-duration", &length, &is_set, err));
  if (is_set) {
    *period = (tn_tag_period){length, "yyyymmddhhnn", false};
    return length > 0 ? TARN_OK
                      : tn_fail(err, TARN_E_INVALID,
                                "option 'tag.creation-period-duration' must be positive");
  }
  TN_TRY(tn_options_enum(&table->options, "tag.creation-period", &kind, err));
  TN_TRY(tn_options_enum(&table->options, "tag.period-formatter", &form, err));
  *period = kinds[kind][form];
  return TARN_OK;
}

int64_t tn_tag_period_before(const tn_tag_period *period, int64_t local_ms) {
  return local_ms / period->length_ms * period->length_ms - period->length_ms;
}

/* The parts of a date-time by the letters of formats. */
static const char letters[] = "ymdhn";

void tn_tag_period_name(const tn_tag_period *period, int64_t local_ms,
                        char out[TN_TAG_PERIOD_CHARS]) {
  int64_t days = tn_floor_div(local_ms, DAY_MS), minutes = (local_ms - days * DAY_MS) / 60000, year;
  int32_t month, day;
  size_t n = strlen(period->format);
  int64_t parts[5];
  tn_civil_from_days(days, &year, &month, &day);
  parts[0] = year < 0 ? 0 : year % 10000;
  parts[1] = month;
  parts[2] = day;
  parts[3] = minutes / 60;
  parts[4] = minutes % 60;
  out[n] = '\0';
  for (size_t i = n; i-- > 0;) {
    const char *letter = strchr(letters, period->format[i]);
    if (letter == NULL) {
      out[i] = period->format[i];
      continue;
    }
    out[i] = (char)('0' + parts[letter - letters] % 10);
    parts[letter - letters] /= 10;
  }
}

bool tn_tag_period_parse(const tn_tag_period *period, const char *name, int64_t *local_ms) {
  size_t n = strlen(period->format);
  int64_t parts[5] = {0, 0, 0, 0, 0};
  const char *end = period->is_daily ? strchr(name, ' ') : NULL;
  if ((end != NULL ? (size_t)(end - name) : strlen(name)) != n) {
    return false;
  }
  for (size_t i = 0; i < n; i++) {
    const char *letter = strchr(letters, period->format[i]);
    if (letter == NULL ? name[i] != period->format[i] : !tn_is_digit((uint8_t)name[i])) {
      return false;
    }
    if (letter != NULL) {
      parts[letter - letters] = parts[letter - letters] * 10 + (name[i] - '0');
    }
  }
  if (parts[1] < 1 || parts[1] > 12 || parts[2] < 1 ||
      parts[2] > tn_days_of_month(parts[0], (int32_t)parts[1]) || parts[3] > 23 || parts[4] > 59) {
    return false;
  }
  *local_ms = tn_days_from_civil(parts[0], (int32_t)parts[1], (int32_t)parts[2]) * DAY_MS +
              (parts[3] * 60 + parts[4]) * 60000;
  return true;
}
