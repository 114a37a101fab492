/* type_sql.c - the SQL text of types, both ways.
 *
 * One parser serves two callers: JSON schema files, whose strings hold atomic types (and VECTOR),
 * and SQL texts, where all constructed types are allowed.
 *
 *   type     := name [parameters] [NULL | NOT NULL] [(ARRAY | MULTISET) [NULL | NOT NULL]]
 *   SQL only := ARRAY<type> | MULTISET<type> | MAP<type, type>
 *             | ROW<name type [COMMENT 'text'], ...>
 *
 * Keywords have no case. Rule: org.apache.paimon.types.DataTypeJsonParser; asSQLString() of each
 * type. Spec: snapshot-schema, 2.
 */
#include <limits.h>
#include <stdio.h>

#include "base/ascii.h"
#include "base/map.h"
#include "base/utf8.h"
#include "column/type_text.h"

/* ------------------------------------------------------------------ names */

const char *tn_type_root_name(tn_type_root root) {
  static const char *const names[TN_N_TYPE_ROOTS] = {
      [TN_BOOLEAN] = "BOOLEAN",     [TN_TINYINT] = "TINYINT",
      [TN_SMALLINT] = "SMALLINT",   [TN_INT] = "INT",
      [TN_BIGINT] = "BIGINT",       [TN_FLOAT] = "FLOAT",
      [TN_DOUBLE] = "DOUBLE",       [TN_DECIMAL] = "DECIMAL",
      [TN_CHAR] = "CHAR",           [TN_VARCHAR] = "VARCHAR",
      [TN_BINARY] = "BINARY",       [TN_VARBINARY] = "VARBINARY",
      [TN_DATE] = "DATE",           [TN_TIME] = "TIME",
      [TN_TIMESTAMP] = "TIMESTAMP", [TN_TIMESTAMP_LTZ] = "TIMESTAMP",
      [TN_ARRAY] = "ARRAY",         [TN_MAP] = "MAP",
      [TN_MULTISET] = "MULTISET",   [TN_ROW] = "ROW",
      [TN_VARIANT] = "VARIANT",     [TN_BLOB] = "BLOB",
      [TN_VECTOR] = "VECTOR"};
  return names[root];
}

typedef enum parameters {
  NO_PARAMETERS,
  LENGTH,    /* [(n)], 1 .. 2147483647 */
  PRECISION, /* [(p)], 0 .. 9 */
  DECIMAL_P, /* [(p[, s])] */
  CONSTRUCTED,
  NEWER /* a type of later Paimon releases */
} parameters;

static const struct type_word {
  const char *word;
  tn_type_root root;
  parameters parameters;
  int32_t standard; /* length or precision when none is given */
} type_words[] = {{"BOOLEAN", TN_BOOLEAN, NO_PARAMETERS, 0},
                  {"TINYINT", TN_TINYINT, NO_PARAMETERS, 0},
                  {"SMALLINT", TN_SMALLINT, NO_PARAMETERS, 0},
                  {"INT", TN_INT, NO_PARAMETERS, 0},
                  {"INTEGER", TN_INT, NO_PARAMETERS, 0},
                  {"BIGINT", TN_BIGINT, NO_PARAMETERS, 0},
                  {"FLOAT", TN_FLOAT, NO_PARAMETERS, 0},
                  {"DOUBLE", TN_DOUBLE, NO_PARAMETERS, 0},
                  {"DECIMAL", TN_DECIMAL, DECIMAL_P, 10},
                  {"DEC", TN_DECIMAL, DECIMAL_P, 10},
                  {"NUMERIC", TN_DECIMAL, DECIMAL_P, 10},
                  {"CHAR", TN_CHAR, LENGTH, 1},
                  {"VARCHAR", TN_VARCHAR, LENGTH, 1},
                  {"STRING", TN_VARCHAR, NO_PARAMETERS, INT_MAX},
                  {"BINARY", TN_BINARY, LENGTH, 1},
                  {"VARBINARY", TN_VARBINARY, LENGTH, 1},
                  {"BYTES", TN_VARBINARY, NO_PARAMETERS, INT_MAX},
                  {"DATE", TN_DATE, NO_PARAMETERS, 0},
                  {"TIME", TN_TIME, PRECISION, 0},
                  {"TIMESTAMP", TN_TIMESTAMP, PRECISION, 6},
                  {"TIMESTAMP_LTZ", TN_TIMESTAMP_LTZ, PRECISION, 6},
                  {"VARIANT", TN_VARIANT, NO_PARAMETERS, 0},
                  {"BLOB", TN_BLOB, NO_PARAMETERS, 0},
                  {"ARRAY", TN_ARRAY, CONSTRUCTED, 0},
                  {"MULTISET", TN_MULTISET, CONSTRUCTED, 0},
                  {"MAP", TN_MAP, CONSTRUCTED, 0},
                  {"ROW", TN_ROW, CONSTRUCTED, 0},
                  {"VECTOR", TN_VECTOR, CONSTRUCTED, 0},
                  {"GEOMETRY", TN_N_TYPE_ROOTS, NEWER, 0},
                  {"GEOGRAPHY", TN_N_TYPE_ROOTS, NEWER, 0}};

/* ------------------------------------------------------------------ parts */

bool tn_type_fits_vector(const tn_type *element) {
  return element->root == TN_BOOLEAN || tn_type_is_integer(element) || element->root == TN_FLOAT ||
         element->root == TN_DOUBLE;
}

tarn_status tn_type_set_parts(tn_arena *arena, tn_type *type, const tn_type *first,
                              const tn_type *second, tarn_error *err) {
  static const tn_type count = {.root = TN_INT, .is_nullable = false};
  int32_t n = type->root == TN_MAP || type->root == TN_MULTISET ? 2 : 1;
  tn_field *fields = tn_arena_calloc(arena, (size_t)n, sizeof(*fields));
  if (fields == NULL) {
    return tn_oom(err);
  }
  fields[0].id = -1;
  fields[0].name = type->root == TN_MAP ? "key" : "element";
  fields[0].type = *first;
  if (n == 2) {
    fields[1].id = -1;
    fields[1].name = type->root == TN_MAP ? "value" : "count";
    fields[1].type = type->root == TN_MAP ? *second : count;
  }
  type->fields = fields;
  type->n_fields = n;
  return TARN_OK;
}

tarn_status tn_type_check_names(const tn_type *row, tn_mem *mem, const char *where,
                                tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_map names;
  tn_map_init(&names, mem);
  for (int32_t i = 0; i < row->n_fields; i++) {
    tn_map_entry *entry;
    bool is_new = true;
    const char *name = row->fields[i].name;
    TN_TRY_TO(done, tn_map_put(&names, tn_slice_text(name), &entry, &is_new, err));
    if (!is_new) {
      st = tn_fail(err, TARN_E_CORRUPT, "%s: a ROW type has two fields named \"%s\"", where, name);
      goto done;
    }
  }
done:
  tn_map_reset(&names);
  return st;
}

/* ------------------------------------------------------------------ tokens */

typedef enum token_kind {
  END,
  SYMBOL, /* one of < > ( ) , */
  NUMBER,
  WORD,
  QUOTED_NAME, /* `a ``b``` */
  QUOTED_TEXT, /* 'it''s' */
  BROKEN       /* a quote without its end */
} token_kind;

typedef struct token {
  token_kind kind;
  size_t at;
  tn_slice text; /* with quotes */
} token;

typedef struct parser {
  tn_arena *arena;
  tn_slice text;
  const char *where;      /* NULL: SQL */
  tarn_status bad_status; /* CORRUPT in files, INVALID in SQL */
  int32_t *next_field_id;
  size_t at; /* behind `ahead` */
  token ahead;
} parser;

static bool is_space(uint8_t c) {
  return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f);
}

static bool is_symbol(uint8_t c) {
  return c == '<' || c == '>' || c == '(' || c == ')' || c == ',' || c == '.';
}

/* The position behind the closing quote of the token that starts at `at`; 0 when there is none. */
static size_t quote_end(tn_slice text, size_t at) {
  uint8_t quote = text.data[at++];
  for (; at < text.len; at++) {
    if (text.data[at] == quote) {
      if (at + 1 == text.len || text.data[at + 1] != quote) {
        return at + 1;
      }
      at++;
    }
  }
  return 0;
}

static void advance(parser *p) {
  const uint8_t *s = p->text.data;
  size_t n = p->text.len, at = p->at, end;
  token_kind kind = WORD;
  while (at < n && is_space(s[at])) {
    at++;
  }
  end = at;
  if (at == n) {
    kind = END;
  } else if (is_symbol(s[at])) {
    kind = SYMBOL;
    end = at + 1;
  } else if (s[at] == '`' || s[at] == '\'') {
    kind = s[at] == '`' ? QUOTED_NAME : QUOTED_TEXT;
    end = quote_end(p->text, at);
    if (end == 0) {
      kind = BROKEN;
      end = n;
    }
  } else if (tn_is_digit(s[at])) {
    kind = NUMBER;
    while (end < n && tn_is_digit(s[end])) {
      end++;
    }
  } else {
    while (end < n && !is_space(s[end]) && !is_symbol(s[end])) {
      end++;
    }
  }
  p->ahead = (token){kind, at, tn_slice_of(s + at, end - at)};
  p->at = end;
}

static tarn_status refuse(const parser *p, const char *expected, tarn_error *err) {
  const char *where = p->where != NULL ? p->where : "type";
  if (p->ahead.kind == END) {
    return tn_fail(err, p->bad_status, "%s: \"%.*s\" ends where %s is expected; at byte %zu", where,
                   TN_SLICE_ARG(p->text), expected, p->ahead.at);
  }
  return tn_fail(err, p->bad_status, "%s: \"%.*s\": expected %s, found \"%.*s\"; at byte %zu",
                 where, TN_SLICE_ARG(p->text), expected, TN_SLICE_ARG(p->ahead.text), p->ahead.at);
}

static bool ahead_is(const parser *p, const char *word) {
  return p->ahead.kind == WORD && tn_slice_is_nocase(p->ahead.text, word);
}

static bool skip_word(parser *p, const char *word) {
  bool is = ahead_is(p, word);
  if (is) {
    advance(p);
  }
  return is;
}

static bool skip_symbol(parser *p, char symbol) {
  bool is = p->ahead.kind == SYMBOL && p->ahead.text.data[0] == (uint8_t)symbol;
  if (is) {
    advance(p);
  }
  return is;
}

static tarn_status expect_symbol(parser *p, char symbol, tarn_error *err) {
  char expected[] = {'\'', symbol, '\'', '\0'};
  return skip_symbol(p, symbol) ? TARN_OK : refuse(p, expected, err);
}

static tarn_status expect_word(parser *p, const char *word, tarn_error *err) {
  return skip_word(p, word) ? TARN_OK : refuse(p, word, err);
}

static tarn_status expect_int(parser *p, int32_t min, int32_t max, int32_t *out, tarn_error *err) {
  char expected[64];
  int64_t value = 0;
  bool fits = p->ahead.kind == NUMBER;
  for (size_t i = 0; fits && i < p->ahead.text.len; i++) {
    value = value * 10 + (p->ahead.text.data[i] - '0');
    fits = value <= max;
  }
  if (!fits || value < min) {
    snprintf(expected, sizeof(expected), "a number from %d to %d", min, max);
    return refuse(p, expected, err);
  }
  *out = (int32_t)value;
  advance(p);
  return TARN_OK;
}

/* ------------------------------------------------------------------ types */

static tarn_status parse_type(parser *p, int32_t depth, tn_type *out, tarn_error *err);

static bool parse_nullability(parser *p, bool *is_nullable) {
  *is_nullable = true;
  if (skip_word(p, "NULL")) {
    return true;
  }
  if (ahead_is(p, "NOT")) {
    parser before = *p;
    advance(p);
    if (!skip_word(p, "NULL")) {
      *p = before;
      return false;
    }
    *is_nullable = false;
  }
  return true;
}

static tarn_status parse_zone(parser *p, tn_type *out, tarn_error *err) {
  if (out->root != TN_TIME && out->root != TN_TIMESTAMP) {
    return TARN_OK;
  }
  if (skip_word(p, "WITHOUT")) {
    TN_TRY(expect_word(p, "TIME", err));
    return expect_word(p, "ZONE", err);
  }
  if (out->root == TN_TIMESTAMP && skip_word(p, "WITH")) {
    TN_TRY(expect_word(p, "LOCAL", err));
    TN_TRY(expect_word(p, "TIME", err));
    out->root = TN_TIMESTAMP_LTZ;
    return expect_word(p, "ZONE", err);
  }
  return TARN_OK;
}

static tarn_status parse_atomic(parser *p, const struct type_word *word, tn_type *out,
                                tarn_error *err) {
  bool has_parameters;
  switch (word->parameters) {
    case LENGTH:
      out->length = word->standard;
      if (skip_symbol(p, '(')) {
        TN_TRY(expect_int(p, 1, INT_MAX, &out->length, err));
        return expect_symbol(p, ')', err);
      }
      return TARN_OK;
    case PRECISION:
      out->precision = word->standard;
      if (skip_symbol(p, '(')) {
        TN_TRY(expect_int(p, 0, 9, &out->precision, err));
        TN_TRY(expect_symbol(p, ')', err));
      }
      return parse_zone(p, out, err);
    case DECIMAL_P:
      out->precision = word->standard;
      has_parameters = skip_symbol(p, '(');
      if (has_parameters) {
        TN_TRY(expect_int(p, 1, 38, &out->precision, err));
        if (skip_symbol(p, ',')) {
          TN_TRY(expect_int(p, 0, out->precision, &out->scale, err));
        }
        return expect_symbol(p, ')', err);
      }
      return TARN_OK;
    default:
      out->length = word->standard; /* STRING and BYTES; 0 for others */
      if (out->root == TN_DOUBLE) {
        (void)skip_word(p, "PRECISION");
      }
      return TARN_OK;
  }
}

/* A name, quoted or not, into the arena. */
static tarn_status parse_name(parser *p, const char **out, tarn_error *err) {
  tn_slice text = p->ahead.text;
  char *name;
  size_t n = 0;
  if (p->ahead.kind != WORD && p->ahead.kind != QUOTED_NAME && p->ahead.kind != QUOTED_TEXT) {
    return refuse(p, "a name", err);
  }
  name = tn_arena_alloc(p->arena, text.len + 1);
  if (name == NULL) {
    return tn_oom(err);
  }
  if (p->ahead.kind == WORD) {
    memcpy(name, text.data, text.len);
    n = text.len;
  } else {
    for (size_t i = 1; i + 1 < text.len; i++) {
      name[n++] = (char)text.data[i];
      i += text.data[i] == text.data[0]; /* a doubled quote is one */
    }
  }
  name[n] = '\0';
  *out = name;
  if (memchr(name, '\0', n) != NULL || tn_utf8_check((const uint8_t *)name, n) < n) {
    return refuse(p, "a name in UTF-8 without NUL", err);
  }
  advance(p);
  return TARN_OK;
}

static tarn_status parse_row_field(parser *p, int32_t depth, tn_field *out, tarn_error *err) {
  memset(out, 0, sizeof(*out));
  if (p->ahead.kind == QUOTED_TEXT) {
    return refuse(p, "a field name", err);
  }
  TN_TRY(parse_name(p, &out->name, err));
  TN_TRY(parse_type(p, depth + 1, &out->type, err));
  if (skip_word(p, "COMMENT")) {
    if (p->ahead.kind != QUOTED_TEXT) {
      return refuse(p, "a text in single quotes", err);
    }
    TN_TRY(parse_name(p, &out->description, err));
  }
  /* Own id after those of the children: the order of org.apache.paimon.types.ReassignFieldId. */
  out->id = p->next_field_id != NULL ? (*p->next_field_id)++ : -1;
  return TARN_OK;
}

static tarn_status parse_row(parser *p, int32_t depth, tn_type *out, tarn_error *err) {
  tn_field *fields = NULL;
  size_t capacity = 0, n = 0;
  tarn_status st;
  TN_TRY(expect_symbol(p, '<', err));
  if (!skip_symbol(p, '>')) {
    do {
      if (!tn_arena_grow(p->arena, (void **)&fields, &capacity, n, sizeof(*fields))) {
        return tn_oom(err);
      }
      TN_TRY(parse_row_field(p, depth, &fields[n], err));
      n++;
    } while (skip_symbol(p, ','));
    TN_TRY(expect_symbol(p, '>', err));
  }
  out->fields = fields;
  out->n_fields = (int32_t)n;
  st = tn_type_check_names(out, p->arena->mem, "type", err);
  return st == TARN_OK || st == TARN_E_NOMEM
             ? st
             : refuse(p, "fields of different names before this", err);
}

static tarn_status parse_constructed(parser *p, int32_t depth, tn_type *out, tarn_error *err) {
  tn_type parts[2];
  if (out->root == TN_ROW) {
    return parse_row(p, depth, out, err);
  }
  memset(parts, 0, sizeof(parts));
  TN_TRY(expect_symbol(p, '<', err));
  TN_TRY(parse_type(p, depth + 1, &parts[0], err));
  if (out->root == TN_MAP) {
    TN_TRY(expect_symbol(p, ',', err));
    TN_TRY(parse_type(p, depth + 1, &parts[1], err));
  } else if (out->root == TN_VECTOR) {
    if (!tn_type_fits_vector(&parts[0])) {
      return refuse(p, "BOOLEAN, an integer, FLOAT or DOUBLE as element before this", err);
    }
    TN_TRY(expect_symbol(p, ',', err));
    TN_TRY(expect_int(p, 1, INT_MAX, &out->length, err));
  }
  TN_TRY(expect_symbol(p, '>', err));
  return tn_type_set_parts(p->arena, out, &parts[0], &parts[1], err);
}

/* INT ARRAY, INT NOT NULL MULTISET: `type` becomes the element. */
static tarn_status parse_suffix(parser *p, int32_t depth, tn_type *type, tarn_error *err) {
  tn_type outer;
  memset(&outer, 0, sizeof(outer));
  if (ahead_is(p, "ARRAY")) {
    outer.root = TN_ARRAY;
  } else if (ahead_is(p, "MULTISET")) {
    outer.root = TN_MULTISET;
  } else {
    return TARN_OK;
  }
  if (depth + 1 > TN_MAX_TYPE_DEPTH) {
    return tn_fail(err, TARN_E_LIMIT, "type: nested deeper than %d", TN_MAX_TYPE_DEPTH);
  }
  advance(p);
  if (!parse_nullability(p, &outer.is_nullable)) {
    return refuse(p, "NOT NULL", err);
  }
  TN_TRY(tn_type_set_parts(p->arena, &outer, type, NULL, err));
  *type = outer;
  return TARN_OK;
}

static tarn_status parse_type(parser *p, int32_t depth, tn_type *out, tarn_error *err) {
  const struct type_word *word = NULL;
  memset(out, 0, sizeof(*out));
  if (depth > TN_MAX_TYPE_DEPTH) {
    return tn_fail(err, TARN_E_LIMIT, "%s: nested deeper than %d",
                   p->where != NULL ? p->where : "type", TN_MAX_TYPE_DEPTH);
  }
  for (size_t i = 0; i < TN_COUNT(type_words) && word == NULL; i++) {
    word = ahead_is(p, type_words[i].word) ? &type_words[i] : NULL;
  }
  if (word == NULL ||
      (word->parameters == CONSTRUCTED && p->where != NULL && word->root != TN_VECTOR)) {
    return refuse(p, "a type", err);
  }
  if (word->parameters == NEWER) {
    return tn_fail(err, TARN_E_UNSUPPORTED, "%s: %s columns are not supported",
                   p->where != NULL ? p->where : "type", word->word);
  }
  advance(p);
  out->root = word->root;
  if (word->parameters == CONSTRUCTED) {
    TN_TRY(parse_constructed(p, depth, out, err));
  } else {
    TN_TRY(parse_atomic(p, word, out, err));
  }
  if (!parse_nullability(p, &out->is_nullable)) {
    return refuse(p, "NOT NULL", err);
  }
  return parse_suffix(p, depth, out, err);
}

static tarn_status parse_all(parser *p, int32_t depth, tn_type *out, tarn_error *err) {
  advance(p);
  TN_TRY(parse_type(p, depth, out, err));
  return p->ahead.kind == END ? TARN_OK : refuse(p, "the end", err);
}

tarn_status tn_type_from_atomic_text(tn_arena *arena, tn_slice text, const char *where,
                                     int32_t depth, tn_type *out, tarn_error *err) {
  parser p = {arena, text, where, TARN_E_CORRUPT, NULL, 0, {END, 0, {NULL, 0}}};
  return parse_all(&p, depth, out, err);
}

tarn_status tn_type_from_sql(tn_arena *arena, const char *text, int32_t *next_field_id,
                             tn_type *out, tarn_error *err) {
  parser p = {arena, tn_slice_text(text), NULL, TARN_E_INVALID, next_field_id,
              0,     {END, 0, {NULL, 0}}};
  return parse_all(&p, 1, out, err);
}

/* ------------------------------------------------------------------ printing */

/* `text` in quotes, the quotes in it doubled. */
static tarn_status print_quoted(const char *text, char quote, tn_buf *out, tarn_error *err) {
  TN_TRY(tn_buf_append(out, &quote, 1, err));
  for (const char *c = text; *c != '\0'; c++) {
    TN_TRY(tn_buf_append(out, c, 1, err));
    if (*c == quote) {
      TN_TRY(tn_buf_append(out, c, 1, err));
    }
  }
  return tn_buf_append(out, &quote, 1, err);
}

static tarn_status print_row(const tn_type *type, tn_buf *out, tarn_error *err) {
  TN_TRY(tn_buf_text(out, "ROW<", err));
  for (int32_t i = 0; i < type->n_fields; i++) {
    const tn_field *f = &type->fields[i];
    if (i > 0) {
      TN_TRY(tn_buf_text(out, ", ", err));
    }
    TN_TRY(print_quoted(f->name, '`', out, err));
    TN_TRY(tn_buf_text(out, " ", err));
    TN_TRY(tn_type_to_sql(&f->type, out, err));
    if (f->description != NULL && f->description[0] != '\0') {
      TN_TRY(tn_buf_text(out, " COMMENT ", err));
      TN_TRY(print_quoted(f->description, '\'', out, err));
    }
  }
  return tn_buf_text(out, ">", err);
}

static tarn_status print_constructed(const tn_type *type, tn_buf *out, tarn_error *err) {
  TN_TRY(tn_buf_printf(out, err, "%s<", tn_type_root_name(type->root)));
  TN_TRY(tn_type_to_sql(&type->fields[0].type, out, err));
  if (type->root == TN_MAP) {
    TN_TRY(tn_buf_text(out, ", ", err));
    TN_TRY(tn_type_to_sql(&type->fields[1].type, out, err));
  } else if (type->root == TN_VECTOR) {
    TN_TRY(tn_buf_printf(out, err, ", %d", type->length));
  }
  return tn_buf_text(out, ">", err);
}

static tarn_status print_body(const tn_type *type, tn_buf *out, tarn_error *err) {
  const char *name = tn_type_root_name(type->root);
  switch (type->root) {
    case TN_CHAR:
    case TN_BINARY:
      return tn_buf_printf(out, err, "%s(%d)", name, type->length);
    case TN_VARCHAR:
    case TN_VARBINARY:
      if (type->length == INT_MAX) {
        return tn_buf_text(out, type->root == TN_VARCHAR ? "STRING" : "BYTES", err);
      }
      return tn_buf_printf(out, err, "%s(%d)", name, type->length);
    case TN_DECIMAL:
      return tn_buf_printf(out, err, "DECIMAL(%d, %d)", type->precision, type->scale);
    case TN_TIME:
    case TN_TIMESTAMP:
      return tn_buf_printf(out, err, "%s(%d)", name, type->precision);
    case TN_TIMESTAMP_LTZ:
      return tn_buf_printf(out, err, "%s(%d) WITH LOCAL TIME ZONE", name, type->precision);
    case TN_ARRAY:
    case TN_MULTISET:
    case TN_MAP:
    case TN_VECTOR:
      return print_constructed(type, out, err);
    case TN_ROW:
      return print_row(type, out, err);
    default:
      return tn_buf_text(out, name, err);
  }
}

tarn_status tn_type_to_sql(const tn_type *type, tn_buf *out, tarn_error *err) {
  TN_TRY(print_body(type, out, err));
  return type->is_nullable ? TARN_OK : tn_buf_text(out, " NOT NULL", err);
}
