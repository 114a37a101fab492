/* time_text.c - dates and times of day as text. */
#include "column/time_text.h"

#include "base/checked.h"
#include "base/civil.h"
#include "column/number_text.h"

bool tn_timestamp_split(const tn_type *type, const tn_datum *datum, int64_t *seconds,
                        int64_t *nanos) {
  int64_t ticks = tn_timestamp_ticks(type->precision), rest;
  if (ticks == 1000000000) {
    tn_i128 s = datum->v.i128 / ticks;
    s -= datum->v.i128 % ticks < 0;
    if (s > INT64_MAX / 4 || s < INT64_MIN / 4) {
      return false;
    }
    *seconds = (int64_t)s;
    *nanos = (int64_t)(datum->v.i128 - s * ticks);
    return true;
  }
  rest = datum->v.i64 % ticks;
  *seconds = datum->v.i64 / ticks - (rest < 0);
  *nanos = (rest < 0 ? rest + ticks : rest) * (1000000000 / ticks);
  return true;
}

char *tn_put_date(char *out, int64_t days, bool has_plus) {
  int64_t year;
  int32_t month, day;
  tn_civil_from_days(days, &year, &month, &day);
  if (year < 0) {
    *out++ = '-';
    year = -year;
  } else if (year > 9999 && has_plus) {
    *out++ = '+';
  }
  if (year > 9999) {
    out += tn_digits_u64((uint64_t)year, out);
  } else {
    out = tn_put_padded(out, (uint64_t)year, 4);
  }
  *out++ = '-';
  out = tn_put_padded(out, (uint64_t)month, 2);
  *out++ = '-';
  return tn_put_padded(out, (uint64_t)day, 2);
}

char *tn_put_clock(char *out, int64_t second_of_day) {
  out = tn_put_padded(out, (uint64_t)second_of_day / 3600, 2);
  *out++ = ':';
  out = tn_put_padded(out, (uint64_t)second_of_day / 60 % 60, 2);
  *out++ = ':';
  return tn_put_padded(out, (uint64_t)second_of_day % 60, 2);
}

char *tn_put_date_time(char *out, int64_t seconds, int64_t nanos, char separator, int min_digits,
                       bool has_plus) {
  int64_t days = tn_floor_div(seconds, 86400);
  out = tn_put_date(out, days, has_plus);
  *out++ = separator;
  out = tn_put_clock(out, seconds - days * 86400);
  if (nanos > 0 || min_digits > 0) {
    int digits = 9;
    *out++ = '.';
    out = tn_put_padded(out, (uint64_t)nanos, 9);
    for (; digits > min_digits && out[-1] == '0'; digits--) {
      out--;
    }
  }
  return out;
}

tarn_status tn_timestamp_java_text(const tn_type *type, const tn_datum *value, tn_buf *out,
                                   tarn_error *err) {
  char text[64], *end;
  int64_t seconds, nanos;
  int digits;
  if (!tn_timestamp_split(type, value, &seconds, &nanos)) {
    return tn_fail(err, TARN_E_CORRUPT, "a value beyond the range of timestamps");
  }
  digits = nanos == 0 ? 0 : nanos % 1000000 == 0 ? 3 : nanos % 1000 == 0 ? 6 : 9;
  end = tn_put_date_time(text, seconds, nanos, 'T', digits, true);
  end -= nanos == 0 && seconds % 60 == 0 ? 3 : 0;
  return tn_buf_append(out, text, (size_t)(end - text), err);
}
