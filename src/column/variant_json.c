/* variant_json.c - VARIANT values from JSON text. */
#include "column/variant_json.h"

#include <string.h>

#include "base/utf8.h"
#include "column/number_text.h"

#define MAX_DECIMAL_DIGITS 38

typedef struct json_reader {
  tn_slice text;
  size_t at;
  tn_variant_builder *b;
  tn_arena *arena;
  tn_buf scratch; /* the text of a string with escapes */
} json_reader;

/* An object or array that is open. */
typedef struct open_value {
  tn_variant_open_group group;
  bool is_object, has_children;
} open_value;

static tarn_status wrong(const json_reader *r, const char *expected, tarn_error *err) {
  if (r->at >= r->text.len) {
    return tn_fail(err, TARN_E_INVALID, "variant: byte %zu of the JSON: expected %s, found its end",
                   r->at + 1, expected);
  }
  return tn_fail(err, TARN_E_INVALID, "variant: byte %zu of the JSON: expected %s, found '%.*s'",
                 r->at + 1, expected,
                 (int)(r->text.len - r->at < 16 ? r->text.len - r->at : (size_t)16),
                 (const char *)r->text.data + r->at);
}

static int peek(const json_reader *r) {
  return r->at < r->text.len ? r->text.data[r->at] : -1;
}

static void skip_blanks(json_reader *r) {
  int c;
  while ((c = peek(r)) == ' ' || c == '\t' || c == '\n' || c == '\r') {
    r->at++;
  }
}

/* ------------------------------------------------------------------ strings */

/* Four hexadecimal digits, or -1. */
static int32_t hex4(const json_reader *r, size_t at) {
  int32_t v = 0;
  if (r->text.len < 4 || at > r->text.len - 4) {
    return -1;
  }
  for (size_t i = at; i < at + 4; i++) {
    uint8_t c = r->text.data[i], low = c | 0x20;
    if (c >= '0' && c <= '9') {
      v = v << 4 | (c - '0');
    } else if (low >= 'a' && low <= 'f') {
      v = v << 4 | (low - 'a' + 10);
    } else {
      return -1;
    }
  }
  return v;
}

static tarn_status add_character(tn_buf *out, uint32_t c, tarn_error *err) {
  uint8_t bytes[4];
  size_t n;
  if (c < 0x80) {
    bytes[0] = (uint8_t)c;
    n = 1;
  } else if (c < 0x800) {
    bytes[0] = (uint8_t)(0xC0 | c >> 6);
    n = 2;
  } else if (c < 0x10000) {
    bytes[0] = (uint8_t)(0xE0 | c >> 12);
    n = 3;
  } else {
    bytes[0] = (uint8_t)(0xF0 | c >> 18);
    n = 4;
  }
  for (size_t i = 1; i < n; i++) {
    bytes[i] = (uint8_t)(0x80 | (c >> (6 * (n - 1 - i)) & 0x3F));
  }
  return tn_buf_append(out, bytes, n, err);
}

/* The escape behind a backslash, which r->at stands on. */
static tarn_status read_escape(json_reader *r, tarn_error *err) {
  static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
  size_t at = r->at + 1;
  const char *found = at < r->text.len ? memchr(names, r->text.data[at], sizeof(names) - 1) : NULL;
  int32_t high, low;
  if (found != NULL) {
    r->at += 2;
    return tn_buf_append(&r->scratch, &values[found - names], 1, err);
  }
  if (at >= r->text.len || r->text.data[at] != 'u') {
    return wrong(r, "an escape of JSON", err);
  }
  high = hex4(r, at + 1);
  if (high < 0 || (high >= 0xDC00 && high < 0xE000)) {
    return wrong(r, "\\u and four hexadecimal digits of a character", err);
  }
  if (high < 0xD800 || high >= 0xE000) {
    r->at += 6;
    return add_character(&r->scratch, (uint32_t)high, err);
  }
  low = at + 6 < r->text.len && r->text.data[at + 5] == '\\' && r->text.data[at + 6] == 'u'
            ? hex4(r, at + 7)
            : -1;
  if (low < 0xDC00 || low >= 0xE000) {
    return wrong(r, "both surrogates of a character", err);
  }
  r->at += 12;
  return add_character(&r->scratch,
                       0x10000 + ((uint32_t)(high - 0xD800) << 10) + (uint32_t)(low - 0xDC00), err);
}

/* The content of a string whose quote r->at stands on: in the text itself, or in the scratch. */
static tarn_status read_string(json_reader *r, tn_slice *out, bool *has_escapes, tarn_error *err) {
  size_t begin = ++r->at;
  r->scratch.len = 0;
  *has_escapes = false;
  for (;;) {
    int c = peek(r);
    size_t n;
    if (c < 0x20) { /* the end of the text, too */
      return wrong(r, "the closing quote of a string", err);
    }
    if (c == '"') {
      break;
    }
    if (c == '\\') {
      TN_TRY(tn_buf_append(&r->scratch, r->text.data + begin, r->at - begin, err));
      TN_TRY(read_escape(r, err));
      *has_escapes = true;
      begin = r->at;
      continue;
    }
    n = tn_utf8_step(r->text.data + r->at, r->text.len - r->at);
    if (n == 0) {
      return wrong(r, "UTF-8", err);
    }
    r->at += n;
  }
  *out = tn_slice_of(r->text.data + begin, r->at - begin);
  if (*has_escapes) {
    TN_TRY(tn_buf_append(&r->scratch, out->data, out->len, err));
    *out = tn_buf_slice(&r->scratch);
  }
  r->at++;
  return TARN_OK;
}

/* ------------------------------------------------------------------ scalars */

static size_t count_digits(const json_reader *r, size_t at) {
  size_t begin = at;
  while (at < r->text.len && r->text.data[at] >= '0' && r->text.data[at] <= '9') {
    at++;
  }
  return at - begin;
}

/* The extent of a number as JSON has it; 0: it is none. */
static size_t number_length(const json_reader *r, bool *is_whole, bool *has_exponent) {
  size_t at = r->at + (peek(r) == '-'), n = count_digits(r, at);
  *is_whole = true;
  *has_exponent = false;
  if (n == 0 || (n > 1 && r->text.data[at] == '0')) {
    return 0;
  }
  at += n;
  if (at < r->text.len && r->text.data[at] == '.') {
    n = count_digits(r, at + 1);
    if (n == 0) {
      return 0;
    }
    at += 1 + n;
    *is_whole = false;
  }
  if (at < r->text.len && (r->text.data[at] | 0x20) == 'e') {
    at++;
    at += at < r->text.len && (r->text.data[at] == '+' || r->text.data[at] == '-');
    n = count_digits(r, at);
    if (n == 0) {
      return 0;
    }
    at += n;
    *is_whole = false;
    *has_exponent = true;
  }
  return at - r->at;
}

/* The digits as one number; false: more than 38 that count, or more behind the point. */
static bool to_decimal(tn_slice text, tn_i128 *unscaled, int32_t *scale) {
  tn_i128 v = 0;
  int32_t n_digits = 0;
  bool is_negative = false, is_fraction = false;
  *scale = 0;
  for (size_t i = 0; i < text.len; i++) {
    uint8_t c = text.data[i];
    if (c == '-') {
      is_negative = true;
      continue;
    }
    if (c == '.') {
      is_fraction = true;
      continue;
    }
    n_digits += n_digits > 0 || c != '0';
    *scale += is_fraction;
    if (n_digits > MAX_DECIMAL_DIGITS || *scale > MAX_DECIMAL_DIGITS) {
      return false;
    }
    v = v * 10 + (c - '0');
  }
  *unscaled = is_negative ? -v : v;
  return true;
}

static tarn_status read_number(json_reader *r, tarn_error *err) {
  bool is_whole, has_exponent;
  size_t n = number_length(r, &is_whole, &has_exponent);
  tn_slice text = tn_slice_of(r->text.data + r->at, n);
  tn_i128 unscaled = 0;
  int32_t scale = 0;
  double real;
  if (n == 0) {
    return wrong(r, "a value", err);
  }
  r->at += n;
  if (!has_exponent && to_decimal(text, &unscaled, &scale)) {
    return is_whole && unscaled >= INT64_MIN && unscaled <= INT64_MAX
               ? tn_variant_put_long(r->b, (int64_t)unscaled, err)
               : tn_variant_put_decimal(r->b, unscaled, scale, err);
  }
  if (!tn_double_from_text(text, &real)) {
    r->at -= n;
    return wrong(r, "a number", err);
  }
  return tn_variant_put_double(r->b, real, err);
}

static bool take_word(json_reader *r, const char *word) {
  size_t n = strlen(word);
  if (r->text.len - r->at < n || memcmp(r->text.data + r->at, word, n) != 0) {
    return false;
  }
  r->at += n;
  return true;
}

static tarn_status read_scalar(json_reader *r, tarn_error *err) {
  tn_slice text;
  bool has_escapes;
  switch (peek(r)) {
    case '"':
      TN_TRY(read_string(r, &text, &has_escapes, err));
      return tn_variant_put_string(r->b, text, err);
    case 't':
      return take_word(r, "true") ? tn_variant_put_boolean(r->b, true, err)
                                  : wrong(r, "a value", err);
    case 'f':
      return take_word(r, "false") ? tn_variant_put_boolean(r->b, false, err)
                                   : wrong(r, "a value", err);
    case 'n':
      return take_word(r, "null") ? tn_variant_put_null(r->b, err) : wrong(r, "a value", err);
    default:
      return read_number(r, err);
  }
}

/* ------------------------------------------------------------------ objects and arrays */

/* A name and its colon, or nothing in an array: up to the child's value. */
static tarn_status begin_child(json_reader *r, open_value *open, tarn_error *err) {
  tn_slice name;
  bool has_escapes;
  open->has_children = true;
  if (!open->is_object) {
    return tn_variant_add_item(r->b, &open->group, err);
  }
  if (peek(r) != '"') {
    return wrong(r, "the name of a member in quotes", err);
  }
  TN_TRY(read_string(r, &name, &has_escapes, err));
  if (has_escapes && name.len > 0) {
    uint8_t *kept = tn_arena_alloc(r->arena, name.len);
    if (kept == NULL) {
      return tn_oom(err);
    }
    memcpy(kept, name.data, name.len);
    name.data = kept;
  }
  TN_TRY(tn_variant_add_field(r->b, &open->group, name, err));
  skip_blanks(r);
  if (peek(r) != ':') {
    return wrong(r, "a colon", err);
  }
  r->at++;
  skip_blanks(r);
  return TARN_OK;
}

/* Behind a value, or behind the bracket of what was just opened: close what ends here, up to the
 * next child's value. */
static tarn_status next_child(json_reader *r, open_value *stack, size_t *depth, bool is_new,
                              tarn_error *err) {
  while (*depth > 0) {
    open_value *top = &stack[*depth - 1];
    skip_blanks(r);
    if (peek(r) == (top->is_object ? '}' : ']')) {
      r->at++;
      TN_TRY(top->is_object ? tn_variant_close_object(r->b, &top->group, err)
                            : tn_variant_close_array(r->b, &top->group, err));
      (*depth)--;
      is_new = false;
      continue;
    }
    if (!is_new) {
      if (peek(r) != ',') {
        return wrong(r, top->is_object ? "a comma or }" : "a comma or ]", err);
      }
      r->at++;
      skip_blanks(r);
    }
    return begin_child(r, top, err);
  }
  return TARN_OK;
}

static tarn_status read_value(json_reader *r, tarn_error *err) {
  open_value stack[TN_VARIANT_MAX_DEPTH];
  size_t depth = 0;
  do {
    int c;
    bool is_open;
    skip_blanks(r);
    c = peek(r);
    is_open = c == '{' || c == '[';
    if (!is_open) {
      TN_TRY(read_scalar(r, err));
    } else if (depth == TN_VARIANT_MAX_DEPTH) {
      return tn_fail(err, TARN_E_LIMIT, "variant: nested deeper than %d", TN_VARIANT_MAX_DEPTH);
    } else {
      r->at++;
      stack[depth].is_object = c == '{';
      stack[depth].has_children = false;
      tn_variant_open(r->b, &stack[depth++].group);
    }
    TN_TRY(next_child(r, stack, &depth, is_open, err));
  } while (depth > 0);
  skip_blanks(r);
  return r->at == r->text.len ? TARN_OK : wrong(r, "its end", err);
}

tarn_status tn_variant_put_json(tn_variant_builder *b, tn_slice text, tn_arena *arena,
                                tarn_error *err) {
  json_reader r = {text, 0, b, arena, {0}};
  tarn_status st;
  tn_buf_init(&r.scratch, b->mem, TN_VARIANT_MAX_BYTES);
  st = read_value(&r, err);
  tn_buf_reset(&r.scratch);
  if (st == TARN_E_CORRUPT) { /* a name twice */
    st = TARN_E_INVALID;
    if (err != NULL) {
      err->status = st;
    }
  }
  return st;
}
