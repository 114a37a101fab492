/* json_pretty.c - from compact JSON to Java's layout, character by character. */
#include "model/json_pretty.h"

#define MAX_DEPTH 512

typedef struct layouter {
  const uint8_t *at, *end;
  tn_buf *out;
  tarn_error *err;
  int depth;   /* containers that are open */
  int indents; /* objects among them */
  bool is_array[MAX_DEPTH];
} layouter;

static tarn_status put(layouter *l, const char *text) {
  return tn_buf_text(l->out, text, l->err);
}

static tarn_status put_line(layouter *l) {
  TN_TRY(put(l, "\n"));
  for (int i = 0; i < l->indents; i++) {
    TN_TRY(put(l, "  "));
  }
  return TARN_OK;
}

/* Jackson writes the digits of escapes in upper case. */
static tarn_status put_escape(layouter *l) {
  size_t n = l->at[1] == 'u' ? 6 : 2;
  for (size_t i = 0; i < n && l->at < l->end; i++, l->at++) {
    uint8_t c = *l->at;
    if (i >= 2 && c >= 'a' && c <= 'f') {
      c = (uint8_t)(c - 'a' + 'A');
    }
    TN_TRY(tn_buf_append(l->out, &c, 1, l->err));
  }
  return TARN_OK;
}

/* From a quote to behind the next one. */
static tarn_status put_string(layouter *l) {
  const uint8_t *begin = l->at++;
  while (l->at < l->end && *l->at != '"') {
    if (*l->at != '\\') {
      l->at++;
      continue;
    }
    TN_TRY(tn_buf_append(l->out, begin, (size_t)(l->at - begin), l->err));
    TN_TRY(put_escape(l));
    begin = l->at;
  }
  l->at++;
  return tn_buf_append(l->out, begin, (size_t)(l->at - begin), l->err);
}

static tarn_status open_container(layouter *l, bool is_array) {
  uint8_t closing = is_array ? ']' : '}';
  l->at++;
  if (l->at < l->end && *l->at == closing) {
    l->at++;
    return put(l, is_array ? "[ ]" : "{ }");
  }
  if (l->depth == MAX_DEPTH) {
    return tn_fail(l->err, TARN_E_LIMIT, "JSON nested deeper than %d", MAX_DEPTH);
  }
  l->is_array[l->depth++] = is_array;
  l->indents += is_array ? 0 : 1;
  if (is_array) {
    return put(l, "[ ");
  }
  TN_TRY(put(l, "{"));
  return put_line(l);
}

static tarn_status close_container(layouter *l) {
  bool is_array = l->depth > 0 && l->is_array[l->depth - 1];
  l->at++;
  l->depth -= l->depth > 0 ? 1 : 0;
  l->indents -= is_array || l->indents == 0 ? 0 : 1;
  if (is_array) {
    return put(l, " ]");
  }
  TN_TRY(put_line(l));
  return put(l, "}");
}

static tarn_status put_comma(layouter *l) {
  l->at++;
  if (l->depth > 0 && l->is_array[l->depth - 1]) {
    return put(l, ", ");
  }
  TN_TRY(put(l, ","));
  return put_line(l);
}

tarn_status tn_json_pretty(tn_slice compact, tn_buf *out, tarn_error *err) {
  layouter l = {.at = compact.data, .end = compact.data + compact.len, .out = out, .err = err};
  while (l.at < l.end) {
    switch (*l.at) {
      case '"':
        TN_TRY(put_string(&l));
        break;
      case '{':
      case '[':
        TN_TRY(open_container(&l, *l.at == '['));
        break;
      case '}':
      case ']':
        TN_TRY(close_container(&l));
        break;
      case ',':
        TN_TRY(put_comma(&l));
        break;
      case ':':
        l.at++;
        TN_TRY(put(&l, " : "));
        break;
      default:
        TN_TRY(tn_buf_append(out, l.at++, 1, err));
    }
  }
  return TARN_OK;
}
