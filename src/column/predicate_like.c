/* predicate_like.c - LIKE patterns: checked, rewritten when simple, matched.
 *
 * Rule: org.apache.paimon.predicate.Like and LikeOptimization; spec: read, 5 "LIKE". Java matches
 * with a regular expression whose `_` is "." and thus takes no line terminator. Unlike Java 1.4.2,
 * an escaped character in a simple pattern is unescaped when it becomes STARTS_WITH and the like.
 */
#include "base/utf8.h"
#include "column/predicate_internal.h"

/* java.util.regex: \n, \r, U+0085, U+2028, U+2029. */
static bool ends_line(const uint8_t *p, size_t n) {
  return (n == 1 && (p[0] == '\n' || p[0] == '\r')) || (n == 2 && p[0] == 0xc2 && p[1] == 0x85) ||
         (n == 3 && p[0] == 0xe2 && p[1] == 0x80 && (p[2] == 0xa8 || p[2] == 0xa9));
}

/* INVALID, as Java puts it, when an escape stands before anything but `_`, `%` and itself. */
static tarn_status check_pattern(tn_slice pattern, tarn_error *err) {
  int64_t characters = 0;
  for (size_t i = 0; i < pattern.len; characters++) {
    if (pattern.data[i] == '\\') {
      uint8_t next = i + 1 < pattern.len ? pattern.data[i + 1] : 0;
      if (next != '_' && next != '%' && next != '\\') {
        return tn_fail(
            err, TARN_E_INVALID,
            "Invalid escape sequence '%.*s', %lld: \\ may stand before _, %% and \\ only",
            TN_SLICE_ARG(pattern), (long long)characters);
      }
      i += 2;
      characters++;
    } else {
      i += tn_utf8_java_step(pattern.data + i, pattern.len - i);
    }
  }
  return TARN_OK;
}

/* Greedy, going back to the last `%` only: that one may take more, earlier ones need not. */
bool tn_like_match(tn_slice pattern, tn_slice text) {
  size_t p = 0, t = 0, star = SIZE_MAX, star_text = 0;
  while (t < text.len || p < pattern.len) {
    if (p < pattern.len && pattern.data[p] == '%') {
      star = ++p;
      star_text = t;
      if (p == pattern.len) {
        return true;
      }
      continue;
    }
    if (p < pattern.len && t < text.len) {
      if (pattern.data[p] == '_') {
        size_t step = tn_utf8_java_step(text.data + t, text.len - t);
        if (!ends_line(text.data + t, step)) {
          p++;
          t += step;
          continue;
        }
      } else {
        size_t at = pattern.data[p] == '\\' && p + 1 < pattern.len ? p + 1 : p;
        if (pattern.data[at] == text.data[t]) {
          p = at + 1;
          t++;
          continue;
        }
      }
    }
    if (star == SIZE_MAX || star_text >= text.len) {
      return false;
    }
    star_text += tn_utf8_java_step(text.data + star_text, text.len - star_text);
    p = star;
    t = star_text;
  }
  return true;
}

/* The pattern with its runs of % made one, and what it is made of. */
typedef struct shape {
  bool any_first, any_last, is_simple;
  tn_slice pattern; /* the shortened pattern */
  tn_slice text;    /* simple: what is between, unescaped */
} shape;

static bool take_apart(tn_arena *arena, tn_slice in, shape *out) {
  uint8_t *pattern = tn_arena_alloc(arena, in.len + 1);
  uint8_t *text = tn_arena_alloc(arena, in.len + 1);
  if (pattern == NULL || text == NULL) {
    return false;
  }
  size_t n_pattern = 0, n_text = 0, n_wild = 0;
  bool has_one = false, last_is_any = false;
  for (size_t i = 0; i < in.len; i++) {
    uint8_t c = in.data[i];
    if (c == '%' && last_is_any) {
      continue;
    }
    pattern[n_pattern++] = c;
    last_is_any = c == '%';
    if (c == '%') {
      n_wild++;
      continue;
    }
    has_one |= c == '_';
    if (c == '\\' && i + 1 < in.len) {
      c = in.data[++i];
      pattern[n_pattern++] = c;
    }
    text[n_text++] = c;
  }
  out->any_first = n_pattern > 0 && pattern[0] == '%';
  out->any_last = last_is_any && n_pattern > 1;
  out->is_simple = !has_one && n_wild == (size_t)out->any_first + (size_t)out->any_last;
  out->pattern = tn_slice_of(pattern, n_pattern);
  out->text = tn_slice_of(text, n_text);
  return true;
}

tarn_status tn_pred_like(tn_arena *arena, const tn_pred_column *column, const tn_datum *pattern,
                         const tn_pred **out, tarn_error *err) {
  tn_datum literal = {.is_null = true};
  tn_pred_op op = TN_PRED_LIKE;
  if (!tn_type_is_string(column->type)) {
    return tn_fail(err, TARN_E_INVALID, "LIKE needs a column of texts, which %s is not",
                   column->name);
  }
  if (pattern != NULL && !pattern->is_null) {
    TN_TRY(check_pattern(pattern->v.bytes, err));
    shape s;
    if (!take_apart(arena, pattern->v.bytes, &s)) {
      return tn_oom(err);
    }
    literal.is_null = false;
    literal.v.bytes = s.is_simple ? s.text : s.pattern;
    if (s.is_simple && s.text.len == 0 && s.any_first) {
      op = TN_PRED_STARTS_WITH;  // % alone: any text
    } else if (s.is_simple) {
      op = s.any_first ? (s.any_last ? TN_PRED_CONTAINS : TN_PRED_ENDS_WITH)
                       : (s.any_last ? TN_PRED_STARTS_WITH : TN_PRED_EQ);
    }
  }
  *out = tn_pred_leaf_at(arena, op, column, &literal, 1);
  return *out == NULL ? tn_oom(err) : TARN_OK;
}
