/* predicate_text.c - a predicate as a WHERE text, which parses back to an equal tree. */
#include "base/ascii.h"
#include "column/predicate_internal.h"
#include "column/time_text.h"

static const char *const keywords[] = {"AND",   "OR",   "NOT",  "IN",       "BETWEEN",
                                       "LIKE",  "IS",   "NULL", "NAN",      "TRUE",
                                       "FALSE", "DATE", "TIME", "TIMESTAMP"};

static bool needs_quotes(tn_slice name) {
  for (size_t i = 0; i < name.len; i++) {
    uint8_t c = name.data[i];
    if (!tn_is_letter(c) && c != '_' && (i == 0 || !tn_is_digit(c))) {
      return true;
    }
  }
  for (size_t i = 0; i < TN_COUNT(keywords); i++) {
    if (tn_slice_is_nocase(name, keywords[i])) {
      return true;
    }
  }
  return name.len == 0;
}

static tarn_status put_quoted(tn_buf *out, tn_slice text, char quote, tarn_error *err) {
  TN_TRY(tn_buf_append(out, &quote, 1, err));
  for (size_t i = 0; i < text.len; i++) {
    TN_TRY(tn_buf_append(out, &text.data[i], 1, err));
    if (text.data[i] == (uint8_t)quote) {
      TN_TRY(tn_buf_append(out, &quote, 1, err));
    }
  }
  return tn_buf_append(out, &quote, 1, err);
}

static tarn_status put_name(tn_buf *out, tn_slice name, tarn_error *err) {
  return needs_quotes(name) ? put_quoted(out, name, '"', err)
                            : tn_buf_append(out, name.data, name.len, err);
}

/* The parts of a nested path; names with dots of their own cannot be told apart and stay whole. */
static tarn_status put_column(tn_buf *out, const tn_pred *leaf, tarn_error *err) {
  tn_slice name = tn_slice_text(leaf->name);
  int32_t n_dots = 0;
  for (size_t i = 0; i < name.len; i++) {
    n_dots += name.data[i] == '.';
  }
  if (n_dots != leaf->n_path) {
    return put_name(out, name, err);
  }
  size_t begin = 0;
  for (size_t i = 0; i <= name.len; i++) {
    if (i == name.len || name.data[i] == '.') {
      TN_TRY(put_name(out, tn_slice_of(name.data + begin, i - begin), err));
      TN_TRY(tn_buf_text(out, i < name.len ? "." : "", err));
      begin = i + 1;
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ literals */

static tarn_status put_real(tn_buf *out, const tn_type *type, double value, tarn_error *err) {
  char text[40];
  size_t n = type->root == TN_FLOAT ? tn_float_to_java((float)value, text + 1)
                                    : tn_double_to_java(value, text + 1);
  bool is_finite = value - value == 0;
  text[0] = text[n + 1] = '\'';
  return tn_buf_append(out, is_finite ? text + 1 : text, is_finite ? n : n + 2, err);
}

static tarn_status put_timestamp(tn_buf *out, const tn_type *type, const tn_datum *value,
                                 tarn_error *err) {
  int64_t ticks = tn_timestamp_ticks(type->precision), seconds, nanos;
  int digits = ticks == 1000 ? 3 : ticks == 1000000 ? 6 : 9;
  char text[64], *end;
  if (!tn_timestamp_split(type, value, &seconds, &nanos)) {
    return tn_fail(err, TARN_E_LIMIT, "a timestamp past the years that can be printed");
  }
  end = tn_put_date_time(text, seconds, nanos, ' ', nanos != 0 ? digits : 0, true);
  return tn_buf_printf(out, err, "TIMESTAMP '%.*s%s'", (int)(end - text), text,
                       type->root == TN_TIMESTAMP_LTZ ? "Z" : "");
}

static tarn_status put_literal(tn_buf *out, const tn_type *type, const tn_datum *value,
                               tarn_error *err) {
  char text[32];
  if (value->is_null) {
    return tn_buf_text(out, "NULL", err);
  }
  switch (type->root) {
    case TN_BOOLEAN:
      return tn_buf_text(out, value->v.boolean ? "TRUE" : "FALSE", err);
    case TN_TINYINT:
    case TN_SMALLINT:
    case TN_INT:
    case TN_BIGINT:
      return tn_buf_printf(out, err, "%lld", (long long)value->v.i64);
    case TN_FLOAT:
    case TN_DOUBLE:
      return put_real(out, type, value->v.f64, err);
    case TN_DECIMAL:
      return tn_datum_to_text(type, value, NULL, out, err);
    case TN_CHAR:
    case TN_VARCHAR:
      return put_quoted(out, value->v.bytes, '\'', err);
    case TN_BINARY:
    case TN_VARBINARY:
    case TN_BLOB:
      TN_TRY(tn_buf_text(out, "X'", err));
      for (size_t i = 0; i < value->v.bytes.len; i++) {
        TN_TRY(tn_buf_printf(out, err, "%02x", value->v.bytes.data[i]));
      }
      return tn_buf_text(out, "'", err);
    case TN_DATE:
      return tn_buf_printf(out, err, "DATE '%.*s'",
                           (int)(tn_put_date(text, value->v.i64, true) - text), text);
    case TN_TIME: {
      int64_t ms = value->v.i64;
      return tn_buf_printf(out, err, "TIME '%02d:%02d:%02d.%03d'", (int)(ms / 3600000),
                           (int)(ms / 60000 % 60), (int)(ms / 1000 % 60), (int)(ms % 1000));
    }
    case TN_TIMESTAMP:
    case TN_TIMESTAMP_LTZ:
      return put_timestamp(out, type, value, err);
    default:
      return TN_BUG(err, "a literal of a type that has none");
  }
}

/* ------------------------------------------------------------------ leaves */

/* Operators with one form: the words behind the column, and between two literals. */
static const struct {
  tn_pred_op op;
  const char *words;
} forms[] = {
    {TN_PRED_EQ, " = "},
    {TN_PRED_NE, " <> "},
    {TN_PRED_LT, " < "},
    {TN_PRED_LE, " <= "},
    {TN_PRED_GT, " > "},
    {TN_PRED_GE, " >= "},
    {TN_PRED_IN, " IN ("},
    {TN_PRED_NOT_IN, " NOT IN ("},
    {TN_PRED_BETWEEN, " BETWEEN "},
    {TN_PRED_NOT_BETWEEN, " NOT BETWEEN "},
    {TN_PRED_IS_NULL, " IS NULL"},
    {TN_PRED_IS_NOT_NULL, " IS NOT NULL"},
    {TN_PRED_IS_NAN, " IS NAN"},
    {TN_PRED_IS_NOT_NAN, " IS NOT NAN"},
    {TN_PRED_STARTS_WITH, " LIKE "},
    {TN_PRED_ENDS_WITH, " LIKE "},
    {TN_PRED_CONTAINS, " LIKE "},
    {TN_PRED_LIKE, " LIKE "},
    {TN_PRED_NOT_LIKE, " NOT LIKE "},
};

static const char *words_of(tn_pred_op op) {
  for (size_t i = 0; i < TN_COUNT(forms); i++) {
    if (forms[i].op == op) {
      return forms[i].words;
    }
  }
  return " ? ";
}

/* The pattern of STARTS_WITH and its like, with quotes. */
static tarn_status put_pattern(tn_buf *out, const tn_pred *leaf, tarn_error *err) {
  tn_slice text = leaf->literals[0].v.bytes;
  TN_TRY(tn_buf_text(out, leaf->op == TN_PRED_STARTS_WITH ? "'" : "'%", err));
  for (size_t i = 0; i < text.len; i++) {
    uint8_t c = text.data[i];
    if (c == '%' || c == '_' || c == '\\') {
      TN_TRY(tn_buf_text(out, "\\", err));
    }
    TN_TRY(tn_buf_append(out, &c, 1, err));
    if (c == '\'') {
      TN_TRY(tn_buf_text(out, "'", err));
    }
  }
  return tn_buf_text(out, leaf->op == TN_PRED_ENDS_WITH ? "'" : "%'", err);
}

static tarn_status put_leaf(const tn_pred *leaf, tn_buf *out, tarn_error *err) {
  TN_TRY(put_column(out, leaf, err));
  bool is_set = leaf->op == TN_PRED_IN || leaf->op == TN_PRED_NOT_IN;
  if (is_set && leaf->n_literals == 0 && !leaf->has_null_literal) {  // no such text: an equal one
    return tn_buf_text(out, leaf->op == TN_PRED_IN ? " IN (NULL)" : " IS NOT NULL", err);
  }
  TN_TRY(tn_buf_text(out, words_of(leaf->op), err));
  bool is_shape = leaf->op == TN_PRED_STARTS_WITH || leaf->op == TN_PRED_ENDS_WITH ||
                  leaf->op == TN_PRED_CONTAINS;
  if (is_shape && !leaf->has_null_literal) {
    return put_pattern(out, leaf, err);
  }
  for (int32_t i = 0; i < leaf->n_literals; i++) {
    TN_TRY(tn_buf_text(out, i == 0 ? "" : is_set ? ", " : " AND ", err));
    TN_TRY(put_literal(out, &leaf->type, &leaf->literals[i], err));
  }
  if (is_set) {
    const char *end = !leaf->has_null_literal ? ")" : leaf->n_literals > 0 ? ", NULL)" : "NULL)";
    return tn_buf_text(out, end, err);
  }
  return TARN_OK;
}

tarn_status tn_pred_to_text(const tn_pred *pred, const tn_zone *zone, tn_buf *out,
                            tarn_error *err) {
  if (tn_pred_is_constant(pred)) {
    return tn_buf_text(out, pred->op == TN_PRED_TRUE ? "TRUE" : "FALSE", err);
  }
  if (!tn_pred_is_compound(pred)) {
    return put_leaf(pred, out, err);
  }
  for (int32_t i = 0; i < pred->n_children; i++) {
    bool is_inner_or = pred->children[i]->op == TN_PRED_OR;
    TN_TRY(tn_buf_text(out, i == 0 ? "" : pred->op == TN_PRED_AND ? " AND " : " OR ", err));
    TN_TRY(tn_buf_text(out, is_inner_or ? "(" : "", err));
    TN_TRY(tn_pred_to_text(pred->children[i], zone, out, err));  // depth: TN_PRED_MAX_DEPTH
    TN_TRY(tn_buf_text(out, is_inner_or ? ")" : "", err));
  }
  return TARN_OK;
}
