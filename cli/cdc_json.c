/* cdc_json.c - one record of a change feed, taken apart: strict JSON as a flat list of nodes. */
#include "cdc_json.h"

#include <stdio.h>
#include <stdlib.h>

#include "json.h"
#include "utf8.h"

typedef struct parser {
  cdc_json *json;
  const char *at, *end;
  uint32_t stack[CDC_MAX_DEPTH]; /* the lists and objects that are open */
  uint32_t depth;
  uint32_t key, n_key; /* of the member whose value comes */
  bool key_has_escapes;
} parser;

void cdc_json_reset(cdc_json *json) {
  free(json->nodes);
  memset(json, 0, sizeof(*json));
}

static bool wrong(parser *p, const char *expected) {
  p->json->fault_at = (size_t)(p->at - p->json->text);
  p->json->expected = expected;
  return false;
}

static void skip_blanks(parser *p) {
  while (*p->at == ' ' || *p->at == '\t' || *p->at == '\r') {
    p->at++;
  }
}

/* ------------------------------------------------------------------ strings */

/* How many of eight bytes stand in front of the first that is a quote, a backslash, a control
 * character or not ASCII. */
static size_t plain_bytes(const char *at) {
  const uint64_t ones = 0x0101010101010101u, high = 0x8080808080808080u;
  uint64_t word, quote, slash, found;
  memcpy(&word, at, sizeof(word));
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  word = __builtin_bswap64(word);
#endif
  quote = word ^ (ones * '"');
  slash = word ^ (ones * '\\');
  /* a borrow can only mark bytes behind the first one found */
  found = ((quote - ones) & ~quote) | ((slash - ones) & ~slash) | (word - ones * 0x20) | word;
  found &= high;
  return found == 0 ? 8 : (size_t)__builtin_ctzll(found) >> 3;
}

/* The string whose opening quote is at p->at. */
static bool read_string(parser *p, uint32_t *begin, uint32_t *n, bool *has_escapes) {
  static const char names[] = "\"\\/bfnrt";
  const char *from = ++p->at;
  *has_escapes = false;
  for (;;) {
    unsigned char c;
    while (p->end - p->at >= 8) {
      size_t plain = plain_bytes(p->at);
      p->at += plain;
      if (plain < 8) {
        break;
      }
    }
    c = (unsigned char)*p->at;
    if (c == '"') {
      break;
    }
    if (c >= 0x20 && c < 0x80 && c != '\\') {
      p->at++;
    } else if (c == '\\') {
      uint32_t ignored;
      size_t length = p->at[1] == 'u' ? cli_json_escaped(p->at, &ignored)
                      : memchr(names, p->at[1], sizeof(names) - 1) != NULL ? 2
                                                                           : 0;
      if (length == 0) {
        return wrong(p, "an escape of JSON");
      }
      *has_escapes = true;
      p->at += length;
    } else if (c < 0x20) {
      return wrong(p, "the closing quote of a string");
    } else {
      size_t length = cli_utf8_length((const uint8_t *)p->at, (size_t)(p->end - p->at));
      if (length == 0) {
        return wrong(p, "UTF-8");
      }
      p->at += length;
    }
  }
  *begin = (uint32_t)(from - p->json->text);
  *n = (uint32_t)(p->at - from);
  p->at++;
  return true;
}

/* The checked escape at `at`, as the n bytes of its character; returns its length. */
static size_t unescape_one(const char *at, char out[4], size_t *n) {
  static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
  const char *found = memchr(names, at[1], sizeof(names) - 1);
  uint32_t c = 0;
  size_t length;
  *n = 1;
  if (at[1] != 'u') {
    out[0] = found != NULL ? values[found - names] : at[1];
    return 2;
  }
  length = cli_json_escaped(at, &c);
  *n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  for (size_t i = *n; i-- > 1; c >>= 6) {
    out[i] = (char)(0x80 | (c & 0x3F));
  }
  out[0] = (char)(*n == 1 ? c : (0xF00u >> *n & 0xFF) | c);
  return length;
}

/* Checked escapes away. */
static void unescape(const char *at, size_t n, cli_text *out) {
  const char *end = at + n;
  while (at < end) {
    const char *slash = memchr(at, '\\', (size_t)(end - at));
    size_t plain = (size_t)((slash != NULL ? slash : end) - at);
    cli_text_add(out, at, plain);
    at += plain;
    if (at < end) {
      char bytes[4];
      size_t n_bytes;
      at += unescape_one(at, bytes, &n_bytes);
      cli_text_add(out, bytes, n_bytes);
    }
  }
}

/* ------------------------------------------------------------------ values */

static const char *skip_digits(const char *at) {
  while (*at >= '0' && *at <= '9') {
    at++;
  }
  return at;
}

/* The extent of a number as JSON has it; 0: it is none. */
static size_t number_length(const char *begin) {
  const char *at = begin + (*begin == '-'), *part = at;
  at = *at == '0' ? at + 1 : skip_digits(at);
  if (at == part) {
    return 0;
  }
  if (*at == '.') {
    part = ++at;
    at = skip_digits(at);
    if (at == part) {
      return 0;
    }
  }
  if (*at == 'e' || *at == 'E') {
    at++;
    at += *at == '+' || *at == '-';
    part = at;
    at = skip_digits(at);
    if (at == part) {
      return 0;
    }
  }
  return (size_t)(at - begin);
}

/* A fresh node for the value that begins here; NULL: no memory. */
static cdc_node *add_node(parser *p, cdc_kind kind) {
  cdc_json *json = p->json;
  cdc_node *node;
  if (json->n_nodes == json->capacity) {
    uint32_t capacity = json->capacity < 256 ? 256 : json->capacity * 2;
    cdc_node *grown = capacity < json->capacity
                          ? NULL
                          : realloc(json->nodes, (size_t)capacity * sizeof(*json->nodes));
    if (grown == NULL) {
      json->is_out_of_memory = true;
      return NULL;
    }
    json->nodes = grown;
    json->capacity = capacity;
  }
  node = &json->nodes[json->n_nodes++];
  node->kind = (uint8_t)kind;
  node->key = p->key;
  node->n_key = p->n_key;
  node->key_has_escapes = p->key_has_escapes;
  node->has_escapes = false;
  node->begin = (uint32_t)(p->at - json->text);
  node->after = json->n_nodes;
  return node;
}

static bool read_word(parser *p, const char *word, size_t n, cdc_kind kind) {
  cdc_node *node;
  if (strncmp(p->at, word, n) != 0) {
    return wrong(p, "a value");
  }
  node = add_node(p, kind);
  if (node == NULL) {
    return wrong(p, "less, for memory is out");
  }
  node->n = (uint32_t)n;
  p->at += n;
  return true;
}

static bool read_scalar(parser *p) {
  cdc_node *node;
  size_t n;
  switch (*p->at) {
    case '"':
      node = add_node(p, CDC_STRING);
      return node != NULL ? read_string(p, &node->begin, &node->n, &node->has_escapes)
                          : wrong(p, "less, for memory is out");
    case 'n':
      return read_word(p, "null", 4, CDC_NULL);
    case 't':
      return read_word(p, "true", 4, CDC_TRUE);
    case 'f':
      return read_word(p, "false", 5, CDC_FALSE);
    default:
      n = number_length(p->at);
      if (n == 0) {
        return wrong(p, "a value");
      }
      node = add_node(p, CDC_NUMBER);
      if (node == NULL) {
        return wrong(p, "less, for memory is out");
      }
      node->n = (uint32_t)n;
      p->at += n;
      return true;
  }
}

/* ------------------------------------------------------------------ structure */

/* The name of a member and its colon. */
static bool read_name(parser *p) {
  if (*p->at != '"') {
    return wrong(p, "a name in quotes");
  }
  if (!read_string(p, &p->key, &p->n_key, &p->key_has_escapes)) {
    return false;
  }
  skip_blanks(p);
  if (*p->at != ':') {
    return wrong(p, "a colon");
  }
  p->at++;
  skip_blanks(p);
  return true;
}

/* The innermost list or object ends here. */
static void pop(parser *p) {
  cdc_node *node = &p->json->nodes[p->stack[--p->depth]];
  p->at++;
  node->n = (uint32_t)(p->at - p->json->text) - node->begin;
  node->after = p->json->n_nodes;
}

/* Behind a value: commas and closing brackets, up to where the next value begins. is_end: there is
 * none. */
static bool go_on(parser *p, bool *is_end) {
  for (;;) {
    bool is_object;
    skip_blanks(p);
    if (p->depth == 0) {
      *is_end = true;
      return p->at == p->end || wrong(p, "the end of the line (one record a line)");
    }
    is_object = p->json->nodes[p->stack[p->depth - 1]].kind == CDC_OBJECT;
    if (*p->at == ',') {
      p->at++;
      skip_blanks(p);
      return !is_object || read_name(p);
    }
    if (*p->at != (is_object ? '}' : ']')) {
      return wrong(p, is_object ? "a comma or }" : "a comma or ]");
    }
    pop(p);
  }
}

/* An opening bracket; false with *is_good: the list or object is not empty, its first value comes.
 */
static bool open_is_empty(parser *p, bool *is_good) {
  bool is_object = *p->at == '{';
  *is_good = false;
  if (p->depth == CDC_MAX_DEPTH) {
    return wrong(p, "less nesting");
  }
  if (add_node(p, is_object ? CDC_OBJECT : CDC_LIST) == NULL) {
    return wrong(p, "less, for memory is out");
  }
  p->stack[p->depth++] = p->json->n_nodes - 1;
  p->at++;
  p->n_key = p->key = 0;
  p->key_has_escapes = false;
  skip_blanks(p);
  *is_good = true;
  if (*p->at == (is_object ? '}' : ']')) {
    pop(p);
    return true;
  }
  if (is_object) {
    *is_good = read_name(p);
  }
  return false;
}

static bool parse_values(parser *p) {
  bool is_end = false;
  while (!is_end) {
    if (*p->at == '{' || *p->at == '[') {
      bool is_good, is_empty = open_is_empty(p, &is_good);
      if (!is_good) {
        return false;
      }
      if (!is_empty) {
        continue;
      }
    } else if (!read_scalar(p)) {
      return false;
    }
    p->n_key = 0;
    if (!go_on(p, &is_end)) {
      return false;
    }
  }
  return true;
}

bool cdc_json_parse(cdc_json *json, const char *text, size_t n) {
  parser p = {.json = json, .at = text, .end = text + n};
  json->text = text;
  json->n_nodes = 0;
  json->is_out_of_memory = false;
  skip_blanks(&p);
  return parse_values(&p);
}

bool cdc_json_parse_rest(cdc_json *json, const char *text, size_t n, size_t at) {
  parser p = {.json = json, .at = text, .end = text + n};
  bool is_end = false;
  json->text = text;
  json->n_nodes = 0;
  json->is_out_of_memory = false;
  if (add_node(&p, CDC_OBJECT) == NULL) {
    return wrong(&p, "less, for memory is out");
  }
  p.stack[p.depth++] = 0;
  p.at = text + at;
  return go_on(&p, &is_end) && (is_end || parse_values(&p));
}

/* ------------------------------------------------------------------ looking */

bool cdc_json_name_is(const char *text, size_t n_text, bool has_escapes, const char *name,
                      size_t n) {
  const char *end = text + n_text;
  if (!has_escapes) {
    return n_text == n && memcmp(text, name, n) == 0;
  }
  while (text < end) {
    char bytes[4] = {*text};
    size_t n_bytes = 1;
    text += *text == '\\' ? unescape_one(text, bytes, &n_bytes) : 1;
    if (n < n_bytes || memcmp(name, bytes, n_bytes) != 0) {
      return false;
    }
    name += n_bytes;
    n -= n_bytes;
  }
  return n == 0;
}

uint32_t cdc_json_member(const cdc_json *json, uint32_t at, const char *name, size_t n) {
  if (!cdc_json_is(json, at, CDC_OBJECT)) {
    return CDC_NONE;
  }
  for (uint32_t i = at + 1; i < json->nodes[at].after; i = json->nodes[i].after) {
    if (cdc_json_key_is(json, i, name, n)) {
      return i;
    }
  }
  return CDC_NONE;
}

uint32_t cdc_json_find(const cdc_json *json, uint32_t at, const char *name) {
  return cdc_json_member(json, at, name, strlen(name));
}

bool cdc_json_equals(const cdc_json *json, uint32_t at, const char *word) {
  const cdc_node *node = &json->nodes[at == CDC_NONE ? 0 : at];
  return cdc_json_is(json, at, CDC_STRING) &&
         cdc_json_name_is(json->text + node->begin, node->n, node->has_escapes, word, strlen(word));
}

static void string_of(const char *text, size_t n_text, bool has_escapes, cli_text *scratch,
                      const char **out, size_t *n) {
  *out = text;
  *n = n_text;
  if (has_escapes) {
    scratch->len = 0;
    unescape(text, n_text, scratch);
    *n = scratch->len;
    cli_text_char(scratch, '\0');
    *out = scratch->is_broken ? "" : scratch->data;
    *n = scratch->is_broken ? 0 : *n;
  }
}

void cdc_json_string(const cdc_json *json, uint32_t at, cli_text *scratch, const char **out,
                     size_t *n) {
  const cdc_node *node = &json->nodes[at];
  string_of(json->text + node->begin, node->n, node->has_escapes, scratch, out, n);
}

void cdc_json_key(const cdc_json *json, uint32_t at, cli_text *scratch, const char **out,
                  size_t *n) {
  const cdc_node *node = &json->nodes[at];
  string_of(json->text + node->key, node->n_key, node->key_has_escapes, scratch, out, n);
}

void cdc_json_path(const cdc_json *json, uint32_t at, char *out, size_t size) {
  uint32_t inside = 0;
  size_t len = 0;
  out[0] = '\0';
  while (inside != at && inside < json->n_nodes && len + 1 < size) {
    bool is_list = json->nodes[inside].kind == CDC_LIST;
    uint32_t i = inside + 1, item = 0;
    int written;
    for (; i < json->n_nodes && json->nodes[i].after <= at; i = json->nodes[i].after) {
      item++;
    }
    if (i > at || i >= json->n_nodes) {
      return;
    }
    written = is_list ? snprintf(out + len, size - len, "[%u]", (unsigned)item)
                      : snprintf(out + len, size - len, "%s%.*s", len > 0 ? "." : "",
                                 (int)json->nodes[i].n_key, json->text + json->nodes[i].key);
    len += written > 0 ? (size_t)written : 0;
    inside = i;
  }
}
