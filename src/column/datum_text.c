/* datum_text.c - values as text: the JSON of the program, and Java's cast to STRING.
 *
 * The two differ in dates past year 9999 (JSON has a plus sign there, as java.time prints them), in
 * times and timestamps (JSON always has all digits), and in binary values.
 */
#include "base/checked.h"
#include "column/datum.h"
#include "column/number_text.h"
#include "column/time_text.h"

#define DAY_MS 86400000

/* TIME(p): p digits at most, trailing zeros cut but for the first. Negative values (which casts can
 * make) count from midnight backwards. */
static char *put_time(char *out, int64_t ms, int32_t precision, bool is_json) {
  ms -= tn_floor_div(ms, DAY_MS) * DAY_MS * (ms < 0);
  out = tn_put_clock(out, ms / 1000);
  ms %= 1000;
  if (is_json || precision > 0) {
    int keep = is_json || precision > 3 ? 3 : precision;
    *out++ = '.';
    tn_put_padded(out, (uint64_t)ms, 3);
    while (!is_json && keep > 1 && out[keep - 1] == '0') {
      keep--;
    }
    out += keep;
  }
  return out;
}

static tarn_status append_hex(tn_slice bytes, tn_buf *out, tarn_error *err) {
  static const char hex[] = "0123456789abcdef";
  size_t n_bytes = bytes.len <= SIZE_MAX / 4 ? bytes.len * 2 : SIZE_MAX;
  TN_TRY(tn_buf_reserve(out, n_bytes, err));
  for (size_t i = 0; i < bytes.len; i++) {
    out->data[out->len++] = (uint8_t)hex[bytes.data[i] >> 4];
    out->data[out->len++] = (uint8_t)hex[bytes.data[i] & 15];
  }
  return TARN_OK;
}

static tarn_status put_timestamp(const tn_type *type, const tn_datum *datum, const tn_zone *zone,
                                 bool is_json, char **at, tarn_error *err) {
  int64_t seconds, nanos;
  bool is_ltz = type->root == TN_TIMESTAMP_LTZ;
  if (!tn_timestamp_split(type, datum, &seconds, &nanos)) {
    return tn_fail(err, TARN_E_LIMIT, "a timestamp past the years that can be printed");
  }
  if (is_ltz && !is_json && zone != NULL) {
    seconds += tn_zone_offset_at(zone, seconds);
  }
  *at = is_json ? tn_put_date_time(*at, seconds, nanos, 'T', 9, true)
                : tn_put_date_time(*at, seconds, nanos, ' ', type->precision, false);
  if (is_ltz && is_json) {
    *(*at)++ = 'Z';
  }
  return TARN_OK;
}

/* The text of a value that is neither null nor bytes, without quotes. *is_quoted: in JSON. */
static tarn_status put_value(const tn_type *type, const tn_datum *datum, const tn_zone *zone,
                             bool is_json, char **at, bool *is_quoted, tarn_error *err) {
  *is_quoted = false;
  switch (type->root) {
    case TN_BOOLEAN:
      memcpy(*at, datum->v.boolean ? "true" : "false", 5);
      *at += datum->v.boolean ? 4 : 5;
      return TARN_OK;
    case TN_TINYINT:
    case TN_SMALLINT:
    case TN_INT:
    case TN_BIGINT:
      if (datum->v.i64 < 0) {
        *(*at)++ = '-';
      }
      *at +=
          tn_digits_u64(datum->v.i64 < 0 ? -(uint64_t)datum->v.i64 : (uint64_t)datum->v.i64, *at);
      return TARN_OK;
    case TN_FLOAT:
    case TN_DOUBLE:
      *at += type->root == TN_FLOAT ? tn_float_to_java((float)datum->v.f64, *at)
                                    : tn_double_to_java(datum->v.f64, *at);
      *is_quoted = (*at)[-1] > '9'; /* NaN and Infinity */
      return TARN_OK;
    case TN_DECIMAL:
      *at += tn_decimal_to_plain(datum->v.i128, type->scale, *at);
      break;
    case TN_DATE:
      *at = tn_put_date(*at, datum->v.i64, is_json);
      break;
    case TN_TIME:
      *at = put_time(*at, datum->v.i64, type->precision, is_json);
      break;
    case TN_TIMESTAMP:
    case TN_TIMESTAMP_LTZ:
      TN_TRY(put_timestamp(type, datum, zone, is_json, at, err));
      break;
    default:
      return TN_BUG(err, "text of a value that is not atomic");
  }
  *is_quoted = true;
  return TARN_OK;
}

tarn_status tn_datum_to_json(const tn_type *type, const tn_datum *datum, tn_buf *out,
                             tarn_error *err) {
  char text[320], *at = text + 1;
  bool is_quoted;
  if (datum->is_null) {
    return tn_buf_append(out, "null", 4, err);
  }
  if (tn_type_is_string(type)) {
    return tn_json_quote(out, datum->v.bytes, err);
  }
  if (tn_type_is_bytes(type)) {
    TN_TRY(tn_buf_append(out, "\"", 1, err));
    TN_TRY(append_hex(datum->v.bytes, out, err));
    return tn_buf_append(out, "\"", 1, err);
  }
  TN_TRY(put_value(type, datum, NULL, true, &at, &is_quoted, err));
  if (is_quoted) {
    text[0] = '"';
    *at++ = '"';
  }
  return tn_buf_append(out, text + !is_quoted, (size_t)(at - text) - !is_quoted, err);
}

tarn_status tn_datum_to_text(const tn_type *type, const tn_datum *datum, const tn_zone *zone,
                             tn_buf *out, tarn_error *err) {
  char text[320], *at = text;
  bool is_quoted;
  if (datum->is_null) {
    return tn_buf_append(out, "null", 4, err);
  }
  if (tn_type_layout(type) == TN_LAYOUT_BYTES) {
    return tn_buf_append(out, datum->v.bytes.data, datum->v.bytes.len, err);
  }
  TN_TRY(put_value(type, datum, zone, false, &at, &is_quoted, err));
  return tn_buf_append(out, text, (size_t)(at - text), err);
}
