/* predicate_parse.c - the WHERE text.
 *
 *   or      := and { OR and }
 *   and     := unary { AND unary }
 *   unary   := { NOT } ( "(" or ")" | TRUE | FALSE | column test )
 *   test    := compare literal | IS [NOT] NULL | IS [NOT] NAN
 *            | [NOT] ( IN "(" literal { "," literal } ")" | BETWEEN literal AND literal
 *                    | LIKE literal )
 *   column  := name { "." name }      name: bare, "quoted" or `quoted`
 *   literal := number | 'text' | NULL | TRUE | FALSE | X'hex' | (DATE | TIME | TIMESTAMP) 'text'
 *
 * Keywords in any case. NOT is pushed to the leaves at once. Contract: docs/cli.md, "WHERE".
 */
#include <stdio.h>

#include "base/ascii.h"
#include "column/predicate_internal.h"

#define MAX_NESTING 256 /* open parentheses */

typedef enum token_kind {
  TOKEN_END,
  TOKEN_WORD,   /* bare name or keyword */
  TOKEN_NAME,   /* quoted name */
  TOKEN_STRING, /* 'text' */
  TOKEN_HEX,    /* X'..' */
  TOKEN_NUMBER,
  TOKEN_SYMBOL
} token_kind;

typedef struct token {
  token_kind kind;
  size_t begin, end; /* in the text */
  tn_slice value;    /* without quotes, '' made one */
} token;

typedef struct parser {
  tn_arena *arena;
  const tn_field *fields;
  int32_t n_fields;
  const tn_zone *zone;
  tn_slice text;
  token now; /* the token that is looked at */
  int nesting;
  int64_t position; /* of an error */
  tarn_error *err;
} parser;

/* ------------------------------------------------------------------ errors */

static tarn_status fail_at(parser *p, size_t at, const char *message) {
  p->position = (int64_t)at;
  return tn_fail(p->err, TARN_E_INVALID, "%s; at byte %zu", message, at);
}

/* "expected X, not 'token'" */
static tarn_status expected(parser *p, const char *what) {
  char message[256];
  tn_slice got = tn_slice_of(p->text.data + p->now.begin, p->now.end - p->now.begin);
  if (p->now.kind == TOKEN_END) {
    (void)snprintf(message, sizeof(message), "expected %s, but the text ends", what);
  } else {
    (void)snprintf(message, sizeof(message), "expected %s, not %.*s", what,
                   got.len > 80 ? 80 : (int)got.len, (const char *)got.data);
  }
  return fail_at(p, p->now.begin, message);
}

/* Put the position behind the message of a failed call; anything but NOMEM becomes INVALID. */
static tarn_status failed_at(parser *p, size_t at, tarn_status st, const tarn_error *why) {
  if (st == TARN_E_NOMEM) {
    return tn_oom(p->err);
  }
  return fail_at(p, at, why->message);
}

/* ------------------------------------------------------------------ tokens */

static bool is_blank(uint8_t c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}
static bool is_word(uint8_t c) {
  return tn_is_letter(c) || c == '_' || c == '$' || c >= 0x80 || tn_is_digit(c);
}

/* From the opening quote at `at` to behind the closing one; a doubled quote stands for itself. */
static tarn_status scan_quoted(parser *p, size_t at, token_kind kind) {
  uint8_t quote = p->text.data[at];
  size_t i = at + 1, n_doubled = 0;
  for (; i < p->text.len; i++) {
    if (p->text.data[i] == quote) {
      if (i + 1 == p->text.len || p->text.data[i + 1] != quote) {
        break;
      }
      n_doubled++;
      i++;
    }
  }
  if (i >= p->text.len) {
    return fail_at(p, at, kind == TOKEN_NAME ? "a quoted name has no end" : "a text has no end");
  }
  p->now.kind = kind;
  p->now.end = i + 1;
  p->now.value = tn_slice_of(p->text.data + at + 1, i - at - 1);
  if (n_doubled > 0) {
    uint8_t *copy = tn_arena_alloc(p->arena, p->now.value.len);
    if (copy == NULL) {
      return tn_oom(p->err);
    }
    size_t n = 0;
    for (size_t k = 0; k < p->now.value.len; k++) {
      copy[n++] = p->now.value.data[k];
      k += p->now.value.data[k] == quote;
    }
    p->now.value = tn_slice_of(copy, n);
  }
  return TARN_OK;
}

static size_t skip_digits(const parser *p, size_t i) {
  while (i < p->text.len && tn_is_digit(p->text.data[i])) {
    i++;
  }
  return i;
}

static tarn_status scan_number(parser *p, size_t at) {
  const uint8_t *t = p->text.data;
  size_t n = p->text.len;
  size_t i = skip_digits(p, at + (t[at] == '-' || t[at] == '+'));
  if (i < n && t[i] == '.') {
    i = skip_digits(p, i + 1);
  }
  if (i < n && (t[i] == 'e' || t[i] == 'E')) {
    size_t k = i + 1;
    k += k < n && (t[k] == '-' || t[k] == '+');
    if (k < n && tn_is_digit(t[k])) {
      i = skip_digits(p, k);
    }
  }
  if (i < n && (is_word(t[i]) || t[i] == '.')) {
    return fail_at(p, at, "a number is followed by something else (quote texts and names)");
  }
  p->now.kind = TOKEN_NUMBER;
  p->now.end = i;
  p->now.value = tn_slice_of(t + at, i - at);
  return TARN_OK;
}

static bool starts_number(const parser *p, size_t i) {
  i += p->text.data[i] == '-' || p->text.data[i] == '+';
  i += i < p->text.len && p->text.data[i] == '.';
  return i < p->text.len && tn_is_digit(p->text.data[i]);
}

/* Look at the next token. */
static tarn_status advance(parser *p) {
  const uint8_t *t = p->text.data;
  size_t n = p->text.len, i = p->now.end;
  while (i < n && is_blank(t[i])) {
    i++;
  }
  p->now = (token){TOKEN_END, i, i, {NULL, 0}};
  if (i == n) {
    return TARN_OK;
  }
  uint8_t c = t[i];
  if (c == '\'') {
    return scan_quoted(p, i, TOKEN_STRING);
  }
  if (c == '"' || c == '`') {
    return scan_quoted(p, i, TOKEN_NAME);
  }
  if ((c == 'x' || c == 'X') && i + 1 < n && t[i + 1] == '\'') {
    return scan_quoted(p, i + 1, TOKEN_HEX);
  }
  if (starts_number(p, i)) {
    return scan_number(p, i);
  }
  size_t end = i;
  if (is_word(c)) {
    while (end < n && is_word(t[end])) {
      end++;
    }
    p->now.kind = TOKEN_WORD;
  } else {
    uint8_t next = i + 1 < n ? t[i + 1] : 0;
    bool is_pair = (c == '<' && (next == '=' || next == '>')) || (c == '>' && next == '=') ||
                   (c == '!' && next == '=');
    if (!is_pair && (c == 0 || strchr("=<>(),.", c) == NULL)) {
      return fail_at(p, i, "this character has no meaning here");
    }
    end = i + 1 + (size_t)is_pair;
    p->now.kind = TOKEN_SYMBOL;
  }
  p->now.end = end;
  p->now.value = tn_slice_of(t + i, end - i);
  return TARN_OK;
}

static bool is_symbol(const parser *p, const char *symbol) {
  return p->now.kind == TOKEN_SYMBOL && tn_slice_is(p->now.value, symbol);
}

static bool is_keyword(const parser *p, const char *word) {
  return p->now.kind == TOKEN_WORD && tn_slice_is_nocase(p->now.value, word);
}

/* Take the keyword if it stands here. */
static tarn_status take_keyword(parser *p, const char *word, bool *taken) {
  *taken = is_keyword(p, word);
  return *taken ? advance(p) : TARN_OK;
}

static tarn_status need_symbol(parser *p, const char *symbol, const char *what) {
  return is_symbol(p, symbol) ? advance(p) : expected(p, what);
}

/* ------------------------------------------------------------------ leaves */

static tarn_status parse_column(parser *p, tn_pred_column *column) {
  tn_slice names[TN_MAX_TYPE_DEPTH];
  int32_t n = 0;
  bool is_bare = true;
  size_t begin = p->now.begin, end = begin;
  for (;;) {
    if (p->now.kind != TOKEN_WORD && p->now.kind != TOKEN_NAME) {
      return expected(p, n == 0 ? "a column" : "the name of a field");
    }
    if (n == TN_MAX_TYPE_DEPTH) {
      return fail_at(p, begin, "a path has too many names");
    }
    is_bare = is_bare && p->now.kind == TOKEN_WORD && (n == 0 || p->now.begin == end + 1);
    names[n++] = p->now.value;
    end = p->now.end;
    TN_TRY(advance(p));
    if (!is_symbol(p, ".")) {
      break;
    }
    is_bare = is_bare && p->now.begin == end;
    TN_TRY(advance(p));
  }
  tarn_error why;
  tn_error_reset(&why);
  tarn_status st =
      is_bare ? tn_pred_column_find(p->arena, p->fields, p->n_fields,
                                    tn_slice_of(p->text.data + begin, end - begin), column, &why)
              : tn_pred_column_find_path(p->arena, p->fields, p->n_fields, names, n, column, &why);
  return st == TARN_OK ? TARN_OK : failed_at(p, begin, st, &why);
}

/* DATE '..', TIME '..', TIMESTAMP '..' and the columns they may be compared with. */
static const struct {
  const char *word;
  tn_type_root root, columns[3];
} typed_texts[] = {
    {"DATE", TN_DATE, {TN_DATE, TN_TIMESTAMP, TN_TIMESTAMP_LTZ}},
    {"TIME", TN_TIME, {TN_TIME, TN_TIME, TN_TIME}},
    {"TIMESTAMP", TN_TIMESTAMP_LTZ, {TN_TIMESTAMP, TN_TIMESTAMP_LTZ, TN_DATE}},
};

static tarn_status parse_typed_text(parser *p, const tn_pred_column *column, size_t kind,
                                    tn_datum *out, tarn_error *why) {
  bool fits = false;
  for (size_t i = 0; i < 3; i++) {
    fits = fits || typed_texts[kind].columns[i] == column->type->root;
  }
  if (!fits) {
    return tn_fail(why, TARN_E_INVALID, "a %s cannot be compared with column %s",
                   typed_texts[kind].word, column->name);
  }
  /* DATE '2024-01-01 12:00' is no date, though the column could take it. */
  tn_type own = {.root = typed_texts[kind].root, .is_nullable = true, .precision = 9};
  TN_TRY(tn_pred_literal_text(p->arena, &own, p->zone, p->now.value, false, out, why));
  return tn_pred_literal_text(p->arena, column->type, p->zone, p->now.value, false, out, why);
}

static tarn_status convert_literal(parser *p, const tn_pred_column *column, tn_datum *out,
                                   tarn_error *why) {
  const tn_type *type = column->type;
  switch (p->now.kind) {
    case TOKEN_STRING:
    case TOKEN_NUMBER:
      return tn_pred_literal_text(p->arena, type, p->zone, p->now.value,
                                  p->now.kind == TOKEN_NUMBER, out, why);
    case TOKEN_HEX: {
      static const tn_type bytes = {.root = TN_VARBINARY, .is_nullable = true, .length = INT32_MAX};
      TN_TRY(tn_pred_literal_text(p->arena, &bytes, p->zone, p->now.value, false, out, why));
      return tn_pred_literal_bytes(p->arena, type, out->v.bytes, out, why);
    }
    default:
      return tn_pred_literal_bool(type, is_keyword(p, "TRUE"), out, why);
  }
}

static tarn_status parse_literal(parser *p, const tn_pred_column *column, tn_datum *out) {
  size_t begin = p->now.begin;
  tarn_error why;
  tarn_status st = TARN_OK;
  tn_error_reset(&why);
  *out = (tn_datum){.is_null = true};
  if (is_keyword(p, "NULL")) {
    return advance(p);
  }
  for (size_t i = 0; i < TN_COUNT(typed_texts); i++) {
    if (is_keyword(p, typed_texts[i].word)) {
      TN_TRY(advance(p));
      if (p->now.kind != TOKEN_STRING) {
        return expected(p, "a 'text' behind the name of a type");
      }
      st = parse_typed_text(p, column, i, out, &why);
      return st == TARN_OK ? advance(p) : failed_at(p, begin, st, &why);
    }
  }
  bool is_literal = p->now.kind == TOKEN_STRING || p->now.kind == TOKEN_NUMBER ||
                    p->now.kind == TOKEN_HEX || is_keyword(p, "TRUE") || is_keyword(p, "FALSE");
  if (!is_literal) {
    return expected(p, "a literal (a number, 'text', TRUE, FALSE, NULL, X'0aff' or DATE '...')");
  }
  st = convert_literal(p, column, out, &why);
  if (st != TARN_OK && p->now.kind == TOKEN_NUMBER && tn_type_is_string(column->type)) {
    return fail_at(p, begin, "a number cannot be compared with a text: write it in quotes");
  }
  return st == TARN_OK ? advance(p) : failed_at(p, begin, st, &why);
}

static tarn_status parse_in(parser *p, const tn_pred_column *column, tn_datum **literals,
                            int32_t *n_literals) {
  tn_datum *array = NULL;
  size_t capacity = 0, n = 0;
  TN_TRY(need_symbol(p, "(", "( behind IN"));
  for (;;) {
    if (!tn_arena_grow(p->arena, (void **)&array, &capacity, n, sizeof(*array)) || n == INT32_MAX) {
      return tn_oom(p->err);
    }
    TN_TRY(parse_literal(p, column, &array[n++]));
    if (!is_symbol(p, ",")) {
      break;
    }
    TN_TRY(advance(p));
  }
  *literals = array;
  *n_literals = (int32_t)n;
  return need_symbol(p, ")", ", or ) in the list");
}

static tarn_status parse_like(parser *p, const tn_pred_column *column, const tn_pred **out) {
  size_t begin = p->now.begin;
  tn_datum pattern;
  tarn_error why;
  tn_error_reset(&why);
  if (!tn_type_is_string(column->type)) {
    return fail_at(p, begin, "LIKE needs a column of texts (CHAR, VARCHAR, STRING)");
  }
  TN_TRY(parse_literal(p, column, &pattern));
  tarn_status st = tn_pred_like(p->arena, column, &pattern, out, &why);
  return st == TARN_OK ? TARN_OK : failed_at(p, begin, st, &why);
}

/* What stands behind IS. */
static tarn_status parse_is(parser *p, const tn_pred_column *column, tn_pred_op *op) {
  bool is_not, is_null = false, is_nan = false;
  TN_TRY(take_keyword(p, "NOT", &is_not));
  size_t begin = p->now.begin;
  TN_TRY(take_keyword(p, "NULL", &is_null));
  if (!is_null) {
    TN_TRY(take_keyword(p, "NAN", &is_nan));
  }
  if (!is_null && !is_nan) {
    return expected(p, "NULL or NAN");
  }
  if (is_nan && column->type->root != TN_FLOAT && column->type->root != TN_DOUBLE) {
    return fail_at(p, begin, "IS NAN needs a FLOAT or DOUBLE column");
  }
  *op = is_null ? (is_not ? TN_PRED_IS_NOT_NULL : TN_PRED_IS_NULL)
                : (is_not ? TN_PRED_IS_NOT_NAN : TN_PRED_IS_NAN);
  return TARN_OK;
}

static const struct {
  const char *symbol;
  tn_pred_op op;
} comparisons[] = {
    {"=", TN_PRED_EQ},  {"<>", TN_PRED_NE}, {"!=", TN_PRED_NE}, {"<", TN_PRED_LT},
    {"<=", TN_PRED_LE}, {">", TN_PRED_GT},  {">=", TN_PRED_GE},
};

static tarn_status make_leaf(parser *p, tn_pred_op op, const tn_pred_column *column,
                             const tn_datum *literals, int32_t n, const tn_pred **out) {
  *out = tn_pred_leaf_at(p->arena, op, column, literals, n);
  return *out == NULL ? tn_oom(p->err) : TARN_OK;
}

static tarn_status parse_words_test(parser *p, const tn_pred_column *column, const tn_pred **out) {
  bool is_not, is_in = false, is_between = false, is_like = false;
  TN_TRY(take_keyword(p, "NOT", &is_not));
  TN_TRY(take_keyword(p, "IN", &is_in));
  if (is_in) {
    tn_datum *literals = NULL;
    int32_t n = 0;
    TN_TRY(parse_in(p, column, &literals, &n));
    return make_leaf(p, is_not ? TN_PRED_NOT_IN : TN_PRED_IN, column, literals, n, out);
  }
  TN_TRY(take_keyword(p, "BETWEEN", &is_between));
  if (is_between) {
    tn_datum bounds[2];
    bool has_and;
    TN_TRY(parse_literal(p, column, &bounds[0]));
    TN_TRY(take_keyword(p, "AND", &has_and));
    if (!has_and) {
      return expected(p, "AND between the bounds");
    }
    TN_TRY(parse_literal(p, column, &bounds[1]));
    return make_leaf(p, is_not ? TN_PRED_NOT_BETWEEN : TN_PRED_BETWEEN, column, bounds, 2, out);
  }
  TN_TRY(take_keyword(p, "LIKE", &is_like));
  if (!is_like) {
    return expected(
        p, is_not ? "IN, BETWEEN or LIKE" : "=, <>, <, <=, >, >=, IS, IN, BETWEEN, LIKE or NOT");
  }
  TN_TRY(parse_like(p, column, out));
  if (is_not) {
    *out = tn_pred_negate(p->arena, *out);
  }
  return *out == NULL ? tn_oom(p->err) : TARN_OK;
}

static tarn_status parse_leaf(parser *p, const tn_pred **out) {
  tn_pred_column column;
  TN_TRY(parse_column(p, &column));
  bool is_is;
  TN_TRY(take_keyword(p, "IS", &is_is));
  if (is_is) {
    tn_pred_op op = TN_PRED_IS_NULL;
    TN_TRY(parse_is(p, &column, &op));
    return make_leaf(p, op, &column, NULL, 0, out);
  }
  if (tn_type_layout(column.type) >= TN_LAYOUT_LIST) {
    return expected(p, "IS [NOT] NULL, the only test of nested values");
  }
  for (size_t i = 0; i < TN_COUNT(comparisons); i++) {
    if (is_symbol(p, comparisons[i].symbol)) {
      tn_datum literal;
      TN_TRY(advance(p));
      TN_TRY(parse_literal(p, &column, &literal));
      return make_leaf(p, comparisons[i].op, &column, &literal, 1, out);
    }
  }
  return parse_words_test(p, &column, out);
}

/* ------------------------------------------------------------------ the tree */

static tarn_status parse_or(parser *p, const tn_pred **out);

static tarn_status parse_unary(parser *p, const tn_pred **out) {
  bool is_negated = false, has_not;
  for (;;) {
    TN_TRY(take_keyword(p, "NOT", &has_not));
    if (!has_not) {
      break;
    }
    is_negated = !is_negated;
  }
  if (is_symbol(p, "(")) {
    if (p->nesting == MAX_NESTING) {
      return fail_at(p, p->now.begin, "more than 256 parentheses are open");
    }
    p->nesting++;
    TN_TRY(advance(p));
    TN_TRY(parse_or(p, out));
    TN_TRY(need_symbol(p, ")", "AND, OR or )"));
    p->nesting--;
  } else if (is_keyword(p, "TRUE") || is_keyword(p, "FALSE")) {
    *out = tn_pred_constant(p->arena, is_keyword(p, "TRUE"));
    TN_TRY(advance(p));
  } else {
    TN_TRY(parse_leaf(p, out));
  }
  if (*out != NULL && is_negated) {
    *out = tn_pred_negate(p->arena, *out);
  }
  return *out == NULL ? tn_oom(p->err) : TARN_OK;
}

/* One or more of a part with AND or OR between. */
static tarn_status parse_list(parser *p, tn_pred_op op, const tn_pred **out) {
  void *array = NULL;
  size_t capacity = 0, n = 0;
  for (;;) {
    if (n >= INT32_MAX || !tn_arena_grow(p->arena, &array, &capacity, n, sizeof(tn_pred *))) {
      return tn_oom(p->err);
    }
    const tn_pred **parts = array;
    if (op == TN_PRED_AND) {
      TN_TRY(parse_unary(p, &parts[n++]));
    } else {
      TN_TRY(parse_list(p, TN_PRED_AND, &parts[n++]));
    }
    bool has_more;
    TN_TRY(take_keyword(p, op == TN_PRED_AND ? "AND" : "OR", &has_more));
    if (!has_more) {
      break;
    }
  }
  const tn_pred *const *parts = array;
  *out = n == 1 ? parts[0] : tn_pred_compound(p->arena, op, parts, (int32_t)n);
  return *out == NULL ? tn_oom(p->err) : TARN_OK;
}

static tarn_status parse_or(parser *p, const tn_pred **out) {
  return parse_list(p, TN_PRED_OR, out);
}

tarn_status tn_pred_parse(tn_arena *arena, const tn_field *fields, int32_t n_fields,
                          const tn_zone *zone, tn_slice text, const tn_pred **out,
                          int64_t *position, tarn_error *err) {
  parser p = {.arena = arena,
              .fields = fields,
              .n_fields = n_fields,
              .zone = zone,
              .text = text,
              .position = -1,
              .err = err};
  *out = NULL;
  tarn_status st = advance(&p);
  if (st == TARN_OK) {
    st = parse_or(&p, out);
  }
  if (st == TARN_OK && p.now.kind != TOKEN_END) {
    st = expected(&p, "AND, OR or the end");
  }
  if (st != TARN_OK) {
    *out = NULL;
  }
  if (position != NULL) {
    *position = p.position;
  }
  return st;
}
