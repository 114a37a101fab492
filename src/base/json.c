/* json.c - JSON over jansson.
 *
 * A tn_json is a json_t under another name. jansson allocates with malloc: its allocator can only
 * be changed for the whole process, which a library must not do. It parses by recursion, so the
 * depth is bounded by a scan before.
 */
#include "base/json.h"

#include <jansson.h>
#include <stdio.h>

#include "base/utf8.h"

#define MAX_DEPTH 512

struct tn_json_doc {
  tn_mem *mem;
  json_t *root;
};

static const json_t *of(const tn_json *value) {
  return (const json_t *)value;
}

static const tn_json *wrap(const json_t *value) {
  return json_is_null(value) ? NULL : (const tn_json *)value;
}

/* Brackets outside of strings. Where the text is not JSON the count may be wrong, but then the
 * parser, which reads strings by the same rule, has stopped before. */
static tarn_status check_depth(tn_slice text, const char *path, tarn_error *err) {
  size_t depth = 0, line = 1, line_start = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.len; i++) {
    uint8_t c = text.data[i];
    if (c == '\n') {
      line++;
      line_start = i + 1;
    } else if (in_string) {
      if (c == '\\') {
        i++;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > MAX_DEPTH) {
        return tn_fail(err, TARN_E_CORRUPT,
                       "%s: JSON nested deeper than %d at line %zu, column %zu", path, MAX_DEPTH,
                       line, i - line_start + 1);
      }
    } else if ((c == ']' || c == '}') && depth > 0) {
      depth--;
    }
  }
  return TARN_OK;
}

static tarn_status check_utf8(tn_slice text, const char *path, tarn_error *err) {
  size_t at = tn_utf8_check(text.data, text.len), line = 1, line_start = 0;
  if (at == text.len) {
    return TARN_OK;
  }
  for (size_t i = 0; i < at; i++) {
    if (text.data[i] == '\n') {
      line++;
      line_start = i + 1;
    }
  }
  return tn_fail(err, TARN_E_CORRUPT, "%s: byte 0x%02X at line %zu, byte %zu is not UTF-8", path,
                 text.data[at], line, at - line_start + 1);
}

tarn_status tn_json_parse(tn_mem *mem, tn_slice text, const char *path, tn_json_doc **out,
                          tarn_error *err) {
  json_error_t why;
  tn_json_doc *doc;
  *out = NULL;
  if (text.len == 0) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: empty, expected JSON", path);
  }
  TN_TRY(check_utf8(text, path, err));
  TN_TRY(check_depth(text, path, err));
  doc = tn_alloc(mem, sizeof(*doc));
  if (doc == NULL) {
    return tn_oom(err);
  }
  doc->mem = mem;
  doc->root = json_loadb((const char *)text.data, text.len, JSON_ALLOW_NUL | JSON_DECODE_ANY, &why);
  if (doc->root == NULL) {
    tn_free(mem, doc);
    if (json_error_code(&why) == json_error_out_of_memory) {
      return tn_oom(err);
    }
    return tn_fail(err, TARN_E_CORRUPT, "%s: bad JSON at line %d, column %d: %s", path, why.line,
                   why.column, why.text);
  }
  *out = doc;
  return TARN_OK;
}

void tn_json_free(tn_json_doc *doc) {
  if (doc != NULL) {
    json_decref(doc->root);
    tn_free(doc->mem, doc);
  }
}

const tn_json *tn_json_root(const tn_json_doc *doc) {
  return wrap(doc->root);
}

tn_json_kind tn_json_kind_of(const tn_json *value) {
  if (value == NULL) {
    return TN_JSON_NULL;
  }
  switch (json_typeof(of(value))) {
    case JSON_OBJECT:
      return TN_JSON_OBJECT;
    case JSON_ARRAY:
      return TN_JSON_ARRAY;
    case JSON_STRING:
      return TN_JSON_STRING;
    case JSON_INTEGER:
      return TN_JSON_INT;
    case JSON_REAL:
      return TN_JSON_REAL;
    case JSON_TRUE:
    case JSON_FALSE:
      return TN_JSON_BOOL;
    default:
      return TN_JSON_NULL;
  }
}

const tn_json *tn_json_get(const tn_json *object, const char *key) {
  return wrap(json_object_get(of(object), key)); /* NULL for NULL and for what is no object */
}

size_t tn_json_count(const tn_json *array_or_object) {
  const json_t *value = of(array_or_object);
  return json_is_array(value) ? json_array_size(value) : json_object_size(value);
}

const tn_json *tn_json_at(const tn_json *array, size_t i) {
  return wrap(json_array_get(of(array), i));
}

bool tn_json_next(const tn_json *object, tn_json_member *member) {
  json_t *value = (json_t *)(uintptr_t)object; /* jansson's iterators take no const; none writes */
  if (!json_is_object(value)) {
    return false;
  }
  member->iter =
      member->iter == NULL ? json_object_iter(value) : json_object_iter_next(value, member->iter);
  if (member->iter == NULL) {
    return false;
  }
  member->key = json_object_iter_key(member->iter);
  member->value = wrap(json_object_iter_value(member->iter));
  return true;
}

bool tn_json_text(const tn_json *value, tn_slice *out) {
  if (!json_is_string(of(value))) {
    return false;
  }
  *out = tn_slice_of(json_string_value(of(value)), json_string_length(of(value)));
  return true;
}

/* A whole decimal number with an optional sign, as Long.parseLong takes it. */
static bool parse_int(tn_slice text, int64_t *out) {
  bool is_negative = text.len > 0 && text.data[0] == '-';
  size_t i = is_negative || (text.len > 0 && text.data[0] == '+') ? 1 : 0;
  int64_t value = 0;
  if (i == text.len) {
    return false;
  }
  for (; i < text.len; i++) {
    int64_t digit = (int64_t)text.data[i] - '0';
    if (digit < 0 || digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
        __builtin_sub_overflow(value, digit, &value)) {
      return false; /* collected as a negative number, of which there is one more */
    }
  }
  if (!is_negative && value == INT64_MIN) {
    return false;
  }
  *out = is_negative ? value : -value;
  return true;
}

bool tn_json_int(const tn_json *value, int64_t *out) {
  tn_slice text;
  if (json_is_integer(of(value))) {
    *out = json_integer_value(of(value));
    return true;
  }
  return tn_json_text(value, &text) && parse_int(text, out);
}

bool tn_json_bool(const tn_json *value, bool *out) {
  if (!json_is_boolean(of(value))) {
    return false;
  }
  *out = json_is_true(of(value));
  return true;
}

bool tn_json_real(const tn_json *value, double *out) {
  if (!json_is_number(of(value))) {
    return false;
  }
  *out = json_number_value(of(value));
  return true;
}

static const char *kind_name(const tn_json *value) {
  static const char *const names[] = {"null",   "a boolean", "an integer", "a real number",
                                      "a text", "an array",  "an object"};
  return names[tn_json_kind_of(value)];
}

/* The member, when it is there; tells the caller about an absent one. */
static tarn_status find_member(const tn_json *object, const char *key, const char *path,
                               const tn_json **member, bool *is_present, tarn_error *err) {
  if (tn_json_kind_of(object) != TN_JSON_OBJECT) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: expected an object with \"%s\", found %s", path, key,
                   kind_name(object));
  }
  *member = tn_json_get(object, key);
  if (is_present != NULL) {
    *is_present = *member != NULL;
  } else if (*member == NULL) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: \"%s\" is missing", path, key);
  }
  return TARN_OK;
}

tarn_status tn_json_get_int(const tn_json *object, const char *key, const char *path, int64_t *out,
                            bool *is_present, tarn_error *err) {
  const tn_json *member;
  TN_TRY(find_member(object, key, path, &member, is_present, err));
  if (member != NULL && !tn_json_int(member, out)) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: \"%s\" must be an integer of 64 bits, found %s", path,
                   key, kind_name(member));
  }
  return TARN_OK;
}

tarn_status tn_json_get_text(const tn_json *object, const char *key, const char *path,
                             tn_slice *out, bool *is_present, tarn_error *err) {
  const tn_json *member;
  TN_TRY(find_member(object, key, path, &member, is_present, err));
  if (member != NULL && !tn_json_text(member, out)) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: \"%s\" must be a text, found %s", path, key,
                   kind_name(member));
  }
  return TARN_OK;
}

tarn_status tn_json_scalar_text(const tn_json *value, tn_buf *out, tarn_error *err) {
  tn_slice text;
  switch (tn_json_kind_of(value)) {
    case TN_JSON_STRING:
      return tn_json_text(value, &text) ? tn_buf_append(out, text.data, text.len, err)
                                        : TN_BUG(err, "a string without text");
    case TN_JSON_BOOL:
      return tn_buf_text(out, json_is_true(of(value)) ? "true" : "false", err);
    case TN_JSON_INT:
      return tn_buf_printf(out, err, "%lld", (long long)json_integer_value(of(value)));
    case TN_JSON_REAL: {
      char number[64];
      size_t n = json_dumpb(of(value), number, sizeof(number), JSON_ENCODE_ANY);
      return n > 0 && n <= sizeof(number) ? tn_buf_append(out, number, n, err) : tn_oom(err);
    }
    default:
      return tn_fail(err, TARN_E_CORRUPT, "expected a text, number or boolean, found %s",
                     kind_name(value));
  }
}

tarn_status tn_json_quote(tn_buf *out, tn_slice text, tarn_error *err) {
  static const char short_escapes[0x20] = {
      ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
  size_t i = 0;
  TN_TRY(tn_buf_append(out, "\"", 1, err));
  while (i < text.len) {
    size_t start = i, n = 1;
    /* A run that needs no change. */
    while (i < text.len && text.data[i] >= 0x20 && text.data[i] != '"' && text.data[i] != '\\' &&
           (n = tn_utf8_step(text.data + i, text.len - i)) > 0) {
      i += n;
    }
    TN_TRY(tn_buf_append(out, text.data + start, i - start, err));
    if (i == text.len) {
      break;
    }
    if (n == 0) {
      TN_TRY(tn_buf_text(out, "\xEF\xBF\xBD", err));
    } else if (text.data[i] >= 0x20) {
      TN_TRY(tn_buf_append(out, (char[2]){'\\', (char)text.data[i]}, 2, err));
    } else if (short_escapes[text.data[i]] != 0) {
      TN_TRY(tn_buf_append(out, (char[2]){'\\', short_escapes[text.data[i]]}, 2, err));
    } else {
      TN_TRY(tn_buf_printf(out, err, "\\u%04x", text.data[i]));
    }
    i++;
  }
  return tn_buf_append(out, "\"", 1, err);
}

tarn_status tn_json_quote_list(tn_buf *out, const char *const *texts, int32_t n, tarn_error *err) {
  TN_TRY(tn_buf_text(out, "[", err));
  for (int32_t i = 0; i < n; i++) {
    TN_TRY(tn_buf_text(out, i > 0 ? "," : "", err));
    TN_TRY(tn_json_quote(out, tn_slice_text(texts[i]), err));
  }
  return tn_buf_text(out, "]", err);
}
