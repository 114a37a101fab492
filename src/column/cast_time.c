/* cast_time.c - casts to and from DATE, TIME, TIMESTAMP and TIMESTAMP WITH LOCAL TIME ZONE.
 *
 * Rule: org.apache.paimon.casting.*Timestamp*CastRule, DateTimeUtils; spec: datafiles, 7. Java's
 * quirks are kept, since they are what readers of these tables see:
 *   T1  A TIMESTAMP goes to DATE, TIME and seconds by division toward zero, so before 1970 not
 *       downwards; -1 ms as TIME is -1. LTZ to DATE and TIME goes by the local time, downwards.
 *   T2  A precision of 0 to 2 is cut toward zero by milliseconds; above, digits of the nanoseconds
 *       are cut, unless the nanoseconds of the second have no more digits than the precision.
 *   T3  INT and BIGINT are seconds; for LTZ they give the *local* time of that second, read as if
 *       it were UTC. TIME gives an instant on 1970-01-01 UTC for both.
 */
#include "base/checked.h"
#include "column/cast_internal.h"
#include "column/number_text.h"

#define MS_PER_DAY 86400000

/* Java's Timestamp: milliseconds, downwards, and nanoseconds of the millisecond. */
typedef struct moment {
  int64_t ms;
  int32_t nanos;
} moment;

static int64_t add_wrapping(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a + (uint64_t)b);
}

static moment moment_of(const tn_type *type, const tn_datum *d) {
  int64_t per_ms = tn_timestamp_ticks(type->precision) / 1000;
  if (tn_type_layout(type) == TN_LAYOUT_I128) {
    tn_i128 v = d->v.i128;
    tn_i128 ms = v / per_ms - (v % per_ms < 0);
    return (moment){(int64_t)ms, (int32_t)(v - ms * per_ms)};
  }
  int64_t ms = tn_floor_div(d->v.i64, per_ms);
  return (moment){ms, (int32_t)((d->v.i64 - ms * per_ms) * (1000000 / per_ms))};
}

/* Digits that the layout cannot hold are dropped. */
static tarn_status put_moment(const tn_type *type, moment m, tn_datum *out, tarn_error *err) {
  int64_t per_ms = tn_timestamp_ticks(type->precision) / 1000;
  tn_i128 v = (tn_i128)m.ms * per_ms + m.nanos / (1000000 / per_ms);
  if (tn_type_layout(type) == TN_LAYOUT_I128) {
    out->v.i128 = v;
    return TARN_OK;
  }
  if (v < INT64_MIN || v > INT64_MAX) {
    return tn_fail(err, TARN_E_INVALID, "%lld ms since 1970 are out of range of TIMESTAMP(%d)",
                   (long long)m.ms, type->precision);
  }
  out->v.i64 = (int64_t)v;
  return TARN_OK;
}

/* Milliseconds to add to the UTC time for the local one. */
static int64_t local_offset_ms(const tn_zone *zone, int64_t utc_ms) {
  return zone == NULL ? 0 : (int64_t)tn_zone_offset_at(zone, tn_floor_div(utc_ms, 1000)) * 1000;
}

static int64_t local_to_utc_ms(const tn_zone *zone, int64_t local_ms) {
  int64_t seconds = tn_floor_div(local_ms, 1000);
  return zone == NULL
             ? local_ms
             : add_wrapping(local_ms, (tn_zone_local_to_utc(zone, seconds) - seconds) * 1000);
}

static int64_t cut_toward_zero(int64_t v, int n_digits) {
  return v - v % (int64_t)tn_power_of_ten(n_digits);
}

/* T2: DateTimeUtils.truncate. */
static moment cut_precision(moment m, int32_t precision) {
  int64_t ms_of_second = (m.ms % 1000 + 1000) % 1000;
  int64_t of_second = ms_of_second * 1000000 + m.nanos;
  int n_digits = 1;
  for (int64_t v = of_second; v >= 10; v /= 10) {
    n_digits++;
  }
  if (n_digits <= precision) {
    return m;
  }
  if (precision <= 3) {
    return (moment){cut_toward_zero(m.ms, 3 - precision), 0};
  }
  m.nanos = (int32_t)cut_toward_zero(m.nanos, 9 - precision);
  return m;
}

/* The product wraps, as Java's does. */
static int64_t seconds_to_ms(int64_t seconds) {
  return (int64_t)((uint64_t)seconds * 1000);
}

tarn_status tn_cast_integer_to_timestamp(const tn_cast *cast, const tn_datum *in, tn_datum *out,
                                         tarn_error *err) {
  moment m = {seconds_to_ms(in->v.i64), 0};
  if (cast->to->root == TN_TIMESTAMP_LTZ) {  // T3
    m.ms = add_wrapping(m.ms, local_offset_ms(cast->zone, m.ms));
  }
  return put_moment(cast->to, m, out, err);
}

tarn_status tn_cast_date_to_timestamp(const tn_cast *cast, const tn_datum *in, tn_datum *out,
                                      tarn_error *err) {
  moment m = {in->v.i64 * MS_PER_DAY, 0};
  if (cast->to->root == TN_TIMESTAMP_LTZ) {
    m.ms = local_to_utc_ms(cast->zone, m.ms);
  }
  return put_moment(cast->to, m, out, err);
}

tarn_status tn_cast_time_to_timestamp(const tn_cast *cast, const tn_datum *in, tn_datum *out,
                                      tarn_error *err) {
  return put_moment(cast->to, (moment){in->v.i64, 0}, out, err);  // T3
}

tarn_status tn_cast_timestamp(const tn_cast *cast, const tn_datum *in, tn_datum *out,
                              tarn_error *err) {
  moment m = moment_of(cast->from, in);
  bool from_ltz = cast->from->root == TN_TIMESTAMP_LTZ;
  switch (cast->to->root) {
    case TN_INT:
      out->v.i64 = (int32_t)(uint32_t)(uint64_t)(m.ms / 1000);  // T1
      return TARN_OK;
    case TN_BIGINT:
      out->v.i64 = m.ms / 1000;
      return TARN_OK;
    case TN_DATE:
    case TN_TIME: {
      int64_t local = from_ltz ? add_wrapping(m.ms, local_offset_ms(cast->zone, m.ms)) : m.ms;
      int64_t day = from_ltz ? tn_floor_div(local, MS_PER_DAY) : local / MS_PER_DAY;
      if (day < INT32_MIN || day > INT32_MAX) {
        return tn_fail(err, TARN_E_INVALID, "%lld ms since 1970 are out of range of DATE",
                       (long long)m.ms);
      }
      out->v.i64 = cast->to->root == TN_DATE ? day : local - day * MS_PER_DAY;
      return TARN_OK;
    }
    default:
      break;
  }
  if (from_ltz && cast->to->root == TN_TIMESTAMP) {
    m.ms = add_wrapping(m.ms, local_offset_ms(cast->zone, m.ms));
  } else if (!from_ltz && cast->to->root == TN_TIMESTAMP_LTZ) {
    m.ms = local_to_utc_ms(cast->zone, m.ms);
  }
  return put_moment(cast->to, cut_precision(m, cast->to->precision), out, err);
}
