/* json_rows.c - one row from a JSON object, by hand: each value goes to its column as it is read.
 *
 * The byte behind the text is a control character, which no value may hold: it ends every loop, so
 * none of them looks at the length.
 */
#include "json_rows.h"

#include <stdio.h>

#include "json.h"
#include "utf8.h"

#define MAX_SHOWN 40 /* bytes of a value in a message */

typedef struct json_row {
  cli_columns *columns;
  const char *begin, *at, *end;
  cli_text *scratch; /* a string with escapes, without them */
  cli_row_fault *fault;
} json_row;

/* ------------------------------------------------------------------ faults */

/* Up to the bracket that closes the first one, or a little more than what is shown. */
static size_t nested_length(const char *text, size_t n) {
  size_t length = 0, depth = 0;
  bool is_string = false;
  while (length < n && length <= MAX_SHOWN && (unsigned char)text[length] >= 0x20) {
    char c = text[length++];
    if (is_string && c == '\\' && length < n) {
      length++;
    } else if (c == '"') {
      is_string = !is_string;
    } else if (!is_string && (c == '[' || c == '{')) {
      depth++;
    } else if (!is_string && (c == ']' || c == '}') && --depth == 0) {
      break;
    }
  }
  return length;
}

/* How much of the text to show: the value that begins here, cut. */
static size_t shown_length(const char *text, size_t n) {
  size_t taken, length = 0;
  bool is_string = n > 0 && text[0] == '"';
  if (n > 0 && (text[0] == '[' || text[0] == '{')) {
    length = nested_length(text, n);
    return length <= MAX_SHOWN ? length : cli_utf8_cut(text, length, MAX_SHOWN, &taken);
  }
  while (length < n && (unsigned char)text[length] >= 0x20 &&
         (is_string
              ? length == 0 || text[length - 1] != '"' || length == 1 || text[length - 2] == '\\'
              : strchr(",]}", text[length]) == NULL || length == 0)) {
    length++;
  }
  return length <= MAX_SHOWN ? length : cli_utf8_cut(text, length, MAX_SHOWN, &taken);
}

static void describe(const cli_column *column, const char *expected, const char *text, size_t n,
                     size_t at, cli_row_fault *fault) {
  char path[160], where[240] = "";
  size_t left = at < n ? n - at : 0, shown = shown_length(text + at, left);
  if (column != NULL && column->parent != NULL) {
    cli_column_path(column, path, sizeof(path));
    if (path[0] != '\0') {
      (void)snprintf(where, sizeof(where), "column '%s' of type %.*s: ", path,
                     (int)(column->n_type < 60 ? column->n_type : 60), column->type);
    }
  }
  fault->at = at;
  if (left == 0) {
    (void)snprintf(fault->message, sizeof(fault->message), "%sexpected %s, found the end", where,
                   expected);
  } else {
    (void)snprintf(fault->message, sizeof(fault->message), "%sexpected %s, found %.*s%s", where,
                   expected, (int)shown, text + at, shown == MAX_SHOWN ? "..." : "");
  }
}

bool cli_row_refuse(const cli_columns *columns, const cli_column *column, const char *text,
                    size_t n, size_t at, cli_row_fault *fault) {
  describe(column, columns->expected, text, n, at, fault);
  return false;
}

bool cli_row_misses(const cli_column *column, size_t at, cli_row_fault *fault) {
  char path[160];
  cli_column_path(column, path, sizeof(path));
  fault->at = at;
  (void)snprintf(fault->message, sizeof(fault->message),
                 "column '%s' of type %.*s: the row has no value for it", path,
                 (int)(column->n_type < 60 ? column->n_type : 60), column->type);
  return false;
}

void cli_row_unknown(const cli_columns *columns, const cli_column *row, const char *name, size_t n,
                     char *out, size_t size) {
  const char *near = cli_column_nearest(columns, row, name, n);
  char path[160];
  size_t taken, shown = n <= MAX_SHOWN ? n : cli_utf8_cut(name, n, MAX_SHOWN, &taken);
  cli_column_path(row, path, sizeof(path));
  (void)snprintf(out, size, "there is no column '%s%s%.*s'%s%s%s", path, path[0] != '\0' ? "." : "",
                 (int)shown, name, near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
                 near != NULL ? "'?" : "");
}

/* Syntax: what should stand at r->at. */
static bool wrong(json_row *r, const cli_column *column, const char *expected) {
  describe(column, expected, r->begin, (size_t)(r->end - r->begin), (size_t)(r->at - r->begin),
           r->fault);
  return false;
}

/* A value that its column refused. */
static bool refuse(json_row *r, const cli_column *column, const char *at) {
  return cli_row_refuse(r->columns, column, r->begin, (size_t)(r->end - r->begin),
                        (size_t)(at - r->begin), r->fault);
}

static bool wrong_type(json_row *r, const cli_column *column) {
  (void)cli_expected_type(r->columns, column);
  return refuse(r, column, r->at);
}

/* ------------------------------------------------------------------ strings */

static void skip_blanks(json_row *r) {
  while (*r->at == ' ' || *r->at == '\t' || *r->at == '\r') {
    r->at++;
  }
}

/* The escape at r->at, a backslash. */
static bool read_escape(json_row *r) {
  static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
  const char *found = memchr(names, r->at[1], sizeof(names) - 1);
  uint32_t c;
  size_t length;
  if (found != NULL) {
    cli_text_char(r->scratch, values[found - names]);
    r->at += 2;
    return true;
  }
  if (r->at[1] != 'u') {
    return wrong(r, NULL, "an escape of JSON");
  }
  length = cli_json_escaped(r->at, &c);
  if (length == 0) {
    return wrong(r, NULL, "\\u and the four hexadecimal digits of a character");
  }
  cli_text_character(r->scratch, c);
  r->at += length;
  return true;
}

/* The content of a string whose quote is at r->at: in the text, or in the scratch. */
static bool read_string(json_row *r, const char **out, size_t *n) {
  const char *begin = ++r->at;
  bool has_escapes = false;
  for (;;) {
    unsigned char c = (unsigned char)*r->at;
    size_t length;
    if (c == '"') {
      break;
    }
    if (c >= 0x20 && c < 0x80 && c != '\\') {
      r->at++;
      continue;
    }
    if (c < 0x20) {
      return wrong(r, NULL, "the closing quote of a string");
    }
    if (c == '\\') {
      if (!has_escapes) {
        r->scratch->len = 0;
        has_escapes = true;
      }
      cli_text_add(r->scratch, begin, (size_t)(r->at - begin));
      if (!read_escape(r)) {
        return false;
      }
      begin = r->at;
      continue;
    }
    length = cli_utf8_length((const uint8_t *)r->at, (size_t)(r->end - r->at));
    if (length == 0) {
      char expected[64];
      (void)snprintf(expected, sizeof(expected), "UTF-8, not the byte 0x%02x", c);
      r->fault->at = (size_t)(r->at - r->begin);
      (void)snprintf(r->fault->message, sizeof(r->fault->message), "expected %s", expected);
      return false;
    }
    r->at += length;
  }
  *out = begin;
  *n = (size_t)(r->at++ - begin);
  if (has_escapes) {
    cli_text_add(r->scratch, begin, *n);
    *n = r->scratch->len;
    cli_text_char(r->scratch, '\0');
    *out = r->scratch->data;
    if (r->scratch->is_broken) {
      r->columns->is_out_of_memory = true;
      return wrong(r, NULL, "less, for memory is out");
    }
  }
  return true;
}

/* ------------------------------------------------------------------ values */

static bool read_value(json_row *r, cli_column *c);

/* The extent of a number as JSON has it; 0: it is none. */
static size_t number_length(const char *at) {
  const char *begin = at;
  at += *at == '-';
  if (*at == '0') {
    at++;
  } else {
    for (; *at >= '0' && *at <= '9'; at++) {
    }
  }
  if (at == begin + (*begin == '-')) {
    return 0;
  }
  if (*at == '.') {
    const char *point = at++;
    for (; *at >= '0' && *at <= '9'; at++) {
    }
    if (at == point + 1) {
      return 0;
    }
  }
  if (*at == 'e' || *at == 'E') {
    const char *digits;
    at++;
    at += *at == '+' || *at == '-';
    for (digits = at; *at >= '0' && *at <= '9'; at++) {
    }
    if (at == digits) {
      return 0;
    }
  }
  return (size_t)(at - begin);
}

static bool read_number(json_row *r, cli_column *c) {
  size_t n = number_length(r->at);
  char behind = r->at[n];
  if (n == 0 || (behind != ',' && behind != '}' && behind != ']' && (unsigned char)behind > ' ')) {
    return wrong_type(r, c);
  }
  if (!cli_add_number(r->columns, c, r->at, n)) {
    return refuse(r, c, r->at);
  }
  r->at += n;
  return true;
}

static bool read_text(json_row *r, cli_column *c) {
  const char *begin = r->at, *text;
  size_t n;
  return read_string(r, &text, &n) && (cli_add_text(r->columns, c, text, n) || refuse(r, c, begin));
}

static bool read_word(json_row *r, cli_column *c) {
  const char *word = *r->at == 't' ? "true" : "false";
  size_t n = strlen(word);
  if (strncmp(r->at, word, n) != 0) {
    return wrong_type(r, c);
  }
  if (!cli_add_int(r->columns, c, *word == 't')) {
    return refuse(r, c, r->at);
  }
  r->at += n;
  return true;
}

/* Behind a value in a list or object: a comma (true) or the end, which is passed over, too. */
static bool next_item(json_row *r, const cli_column *c, char close, bool *is_end) {
  skip_blanks(r);
  *is_end = *r->at == close;
  if (!*is_end && *r->at != ',') {
    return wrong(r, c, close == ']' ? "a comma or ]" : "a comma or }");
  }
  r->at++;
  skip_blanks(r);
  return true;
}

/* Behind an opening bracket. */
static bool is_empty(json_row *r, char close) {
  r->at++;
  skip_blanks(r);
  if (*r->at != close) {
    return false;
  }
  r->at++;
  return true;
}

static bool end_value(json_row *r, cli_column *c, const char *begin) {
  return cli_add_end(r->columns, c) || refuse(r, c, begin);
}

static bool read_list(json_row *r, cli_column *c) {
  const char *begin = r->at;
  bool is_end = is_empty(r, ']');
  while (!is_end) {
    if (!read_value(r, &c->children[0]) || !next_item(r, c, ']', &is_end)) {
      return false;
    }
  }
  return end_value(r, c, begin);
}

/* A colon behind the name of a member. */
static bool read_colon(json_row *r, const cli_column *c) {
  skip_blanks(r);
  if (*r->at != ':') {
    return wrong(r, c, "a colon");
  }
  r->at++;
  skip_blanks(r);
  return true;
}

/* [[key, value], ...], or an object when keys are texts. */
static bool read_map(json_row *r, cli_column *c) {
  cli_column *entry = &c->children[0], *key = &entry->children[0], *value = &entry->children[1];
  const char *begin = r->at;
  char close = *r->at == '[' ? ']' : '}';
  bool is_end = is_empty(r, close), is_pair_end = false;
  while (!is_end) {
    const char *pair = r->at;
    if (close == ']') {
      if (*r->at != '[') {
        return wrong_type(r, c);
      }
      r->at++;
      if (!read_value(r, key) || !next_item(r, c, ']', &is_pair_end)) {
        return false;
      }
      if (!is_pair_end && (!read_value(r, value) || !next_item(r, c, ']', &is_pair_end))) {
        return false;
      }
      if (!is_pair_end || !cli_column_is_met(entry, value)) {
        r->at = pair;
        return wrong_type(r, c);
      }
    } else if (*r->at != '"') {
      return wrong(r, c, "a key in quotes");
    } else if (!read_text(r, key) || !read_colon(r, c) || !read_value(r, value)) {
      return false;
    }
    if (!end_value(r, entry, pair)) {
      return false;
    }
    /* behind the brackets of a pair next_item has passed over blanks */
    if (!next_item(r, c, close, &is_end)) {
      return false;
    }
  }
  return end_value(r, c, begin);
}

/* {"json": "..."}, or the text alone. */
static bool read_variant(json_row *r, cli_column *c) {
  static const char key[] = "\"json\"";
  const char *begin = r->at;
  if (*r->at == '"') {
    return read_text(r, c);
  }
  r->at++;
  skip_blanks(r);
  if (strncmp(r->at, key, sizeof(key) - 1) != 0) {
    r->at = begin;
    return wrong_type(r, c);
  }
  r->at += sizeof(key) - 1;
  if (!read_colon(r, c)) {
    return false;
  }
  if (*r->at != '"') {
    r->at = begin;
    return wrong_type(r, c);
  }
  if (!read_text(r, c)) {
    return false;
  }
  skip_blanks(r);
  if (*r->at != '}') {
    return wrong(r, c, "}");
  }
  r->at++;
  return true;
}

/* ------------------------------------------------------------------ objects */

/* What a member of an object is for. */
typedef enum member {
  MEMBER_COLUMN,
  MEMBER_KIND,    /* of the row */
  MEMBER_SNAPSHOT /* that table tail prints with each row; no table takes it */
} member;

/* The column of the member whose quote is at r->at; NULL: see *what. */
static bool find_member(json_row *r, cli_column *row, cli_column **out, member *what) {
  const char *kind_name = row == &r->columns->root ? r->columns->kind_name : NULL;
  const char *begin = r->at, *name;
  size_t n;
  if (row->next_child < row->n_children) { /* most often: the one behind the last */
    cli_column *c = &row->children[row->next_child];
    if (memcmp(r->at + 1, c->name,
               c->n_name < (size_t)(r->end - r->at) ? c->n_name : (size_t)(r->end - r->at)) == 0 &&
        c->n_name < (size_t)(r->end - r->at) && r->at[1 + c->n_name] == '"') {
      row->next_child++;
      r->at += c->n_name + 2;
      *out = c;
      return true;
    }
  }
  if (*r->at != '"') {
    return wrong(r, row, "the name of a column in quotes");
  }
  if (!read_string(r, &name, &n)) {
    return false;
  }
  *out = cli_column_find(row, name, n);
  if (*out == NULL && kind_name != NULL && strlen(kind_name) == n &&
      memcmp(kind_name, name, n) == 0) {
    *what = MEMBER_KIND;
  } else if (*out == NULL && kind_name != NULL && strlen(CLI_SNAPSHOT_NAME) == n &&
             memcmp(CLI_SNAPSHOT_NAME, name, n) == 0) {
    *what = MEMBER_SNAPSHOT;
  } else if (*out == NULL) {
    r->fault->at = (size_t)(begin - r->begin);
    cli_row_unknown(r->columns, row, name, n, r->fault->message, sizeof(r->fault->message));
    return false;
  }
  return true;
}

static bool twice(json_row *r, const char *name, const char *at) {
  r->fault->at = (size_t)(at - r->begin);
  (void)snprintf(r->fault->message, sizeof(r->fault->message),
                 "the column '%.200s' comes twice in one row", name);
  return false;
}

static bool read_kind(json_row *r) {
  const char *begin = r->at, *text;
  size_t n;
  if (*r->at != '"') {
    return wrong(r, NULL, "\"+I\", \"-U\", \"+U\" or \"-D\" as the row kind");
  }
  if (!read_string(r, &text, &n)) {
    return false;
  }
  if (!cli_add_kind(r->columns, text, n)) {
    r->at = begin;
    return wrong(r, NULL, "\"+I\", \"-U\", \"+U\" or \"-D\" as the row kind");
  }
  return true;
}

/* A number, or null for what an overwrite replaced; stepped over. */
static bool skip_snapshot(json_row *r) {
  const char *begin;
  if (r->columns->refuses_snapshots) {
    r->fault->at = (size_t)(r->at - r->begin);
    (void)snprintf(r->fault->message, sizeof(r->fault->message),
                   "rows of 'table tail' without checkpoints: what is under way when either side "
                   "is killed would be lost; give it a --state of its own and nothing between, or "
                   "--checkpoints and this --state");
    r->fault->ends_all = true;
    return false;
  }
  skip_blanks(r);
  begin = r->at;
  if (strncmp(r->at, "null", 4) == 0) {
    r->at += 4;
    return true;
  }
  while (*r->at >= '0' && *r->at <= '9') {
    r->at++;
  }
  return r->at > begin || wrong(r, NULL, "the number of a snapshot");
}

static bool read_member(json_row *r, cli_column *row) {
  const char *begin = r->at;
  cli_column *c = NULL;
  member what = MEMBER_COLUMN;
  if (!find_member(r, row, &c, &what)) {
    return false;
  }
  if (what == MEMBER_KIND ? r->columns->has_kind
                          : what == MEMBER_COLUMN && cli_column_is_met(row, c)) {
    return twice(r, what == MEMBER_KIND ? r->columns->kind_name : c->name, begin);
  }
  if (*r->at == ':' && r->at[1] != ' ') {
    r->at++;
  } else if (!read_colon(r, c)) {
    return false;
  }
  switch (what) {
    case MEMBER_KIND:
      return read_kind(r);
    case MEMBER_SNAPSHOT:
      return skip_snapshot(r);
    case MEMBER_COLUMN:
      break;
  }
  return read_value(r, c);
}

static bool read_object(json_row *r, cli_column *row) {
  const char *begin = r->at;
  cli_column *bad = row;
  bool is_end = is_empty(r, '}');
  row->next_child = 0;
  while (!is_end) {
    if (!read_member(r, row)) {
      return false;
    }
    if (*r->at == ',' && r->at[1] == '"') {
      r->at++;
    } else if (!next_item(r, row, '}', &is_end)) {
      return false;
    }
  }
  if (cli_add_row_end(r->columns, row, &bad)) {
    return true;
  }
  return bad != row ? cli_row_misses(bad, (size_t)(begin - r->begin), r->fault)
                    : refuse(r, bad, begin);
}

static bool read_value(json_row *r, cli_column *c) {
  char first;
  skip_blanks(r);
  first = *r->at;
  if (first == 'n' && strncmp(r->at, "null", 4) == 0) {
    if (!cli_add_null(r->columns, c)) {
      return refuse(r, c, r->at);
    }
    r->at += 4;
    return true;
  }
  switch (c->kind) {
    case CLI_COLUMN_BOOLEAN:
      return first == 't' || first == 'f' ? read_word(r, c) : wrong_type(r, c);
    case CLI_COLUMN_INT:
      return read_number(r, c);
    case CLI_COLUMN_FLOAT:
    case CLI_COLUMN_DOUBLE:
      if (first == '"') {
        return r->at[1] == 'N' || r->at[1] == 'I' || r->at[1] == '-' ? read_text(r, c)
                                                                     : wrong_type(r, c);
      }
      return read_number(r, c);
    case CLI_COLUMN_DECIMAL:
      return first == '"' ? read_text(r, c) : read_number(r, c);
    case CLI_COLUMN_LIST:
    case CLI_COLUMN_VECTOR:
      return first == '[' ? read_list(r, c) : wrong_type(r, c);
    case CLI_COLUMN_MAP:
      return first == '[' || (first == '{' && c->children[0].children[0].kind == CLI_COLUMN_TEXT)
                 ? read_map(r, c)
                 : wrong_type(r, c);
    case CLI_COLUMN_ROW:
      return first == '{' ? read_object(r, c) : wrong_type(r, c);
    case CLI_COLUMN_VARIANT:
      return first == '"' || first == '{' ? read_variant(r, c) : wrong_type(r, c);
    default:
      return first == '"' ? read_text(r, c) : wrong_type(r, c);
  }
}

/* Nothing but blanks behind the value. */
static bool read_end(json_row *r) {
  skip_blanks(r);
  return r->at == r->end || wrong(r, NULL, "the end of the line (one object a line)");
}

bool cli_json_row(cli_columns *columns, const char *text, size_t n, cli_text *scratch,
                  cli_row_fault *fault) {
  json_row r = {columns, text, text, text + n, scratch, fault};
  skip_blanks(&r);
  if (*r.at != '{') {
    return wrong(&r, NULL, "an object {...}");
  }
  return read_object(&r, &columns->root) && read_end(&r);
}

bool cli_json_value(cli_columns *columns, cli_column *column, const char *text, size_t n,
                    cli_text *scratch, cli_row_fault *fault) {
  json_row r = {columns, text, text, text + n, scratch, fault};
  return read_value(&r, column) && read_end(&r);
}
