/* json.c - looking into the JSON texts that the library makes. */
#include "json.h"

#include <stdlib.h>

typedef struct json_parser {
  cli_json *json;
  size_t at, n;
  size_t open[CLI_JSON_MAX_DEPTH]; /* lists and objects that are not closed */
  size_t depth;
} json_parser;

void cli_json_reset(cli_json *json) {
  free(json->nodes);
  memset(json, 0, sizeof(*json));
}

static void skip_blanks(json_parser *p) {
  while (p->at < p->n && strchr(" \t\r\n", p->json->text[p->at]) != NULL &&
         p->json->text[p->at] != '\0') {
    p->at++;
  }
}

static char peek(const json_parser *p) {
  return p->at < p->n ? p->json->text[p->at] : '\0';
}

static cli_json_node *new_node(json_parser *p) {
  cli_json *json = p->json;
  if (json->n_nodes == json->capacity) {
    size_t capacity = json->capacity == 0 ? 64 : json->capacity * 2;
    cli_json_node *grown = realloc(json->nodes, capacity * sizeof(*grown));
    if (grown == NULL) {
      return NULL;
    }
    json->nodes = grown;
    json->capacity = capacity;
  }
  memset(&json->nodes[json->n_nodes], 0, sizeof(*json->nodes));
  json->nodes[json->n_nodes].after = json->n_nodes + 1;
  return &json->nodes[json->n_nodes++];
}

/* A string: its inside. */
static bool read_string(json_parser *p, size_t *begin, size_t *end) {
  if (peek(p) != '"') {
    return false;
  }
  *begin = ++p->at;
  while (p->at < p->n && p->json->text[p->at] != '"') {
    p->at += p->json->text[p->at] == '\\' ? 2 : 1;
  }
  *end = p->at;
  return p->at++ < p->n;
}

static bool read_scalar(json_parser *p, cli_json_node *node) {
  char c = peek(p);
  if (c == '"') {
    node->kind = CLI_JSON_STRING;
    return read_string(p, &node->begin, &node->end);
  }
  node->kind = c == 'n' ? CLI_JSON_NULL : c == 't' || c == 'f' ? CLI_JSON_BOOL : CLI_JSON_NUMBER;
  node->begin = p->at;
  while (p->at < p->n && strchr(",]} \t\r\n", p->json->text[p->at]) == NULL) {
    p->at++;
  }
  node->end = p->at;
  return node->end > node->begin;
}

/* Behind a value: commas, and the ends of what is open. false: a fault in the text. */
static bool close_values(json_parser *p) {
  for (;;) {
    cli_json_node *top;
    char c;
    skip_blanks(p);
    if (p->depth == 0) {
      return true;
    }
    top = &p->json->nodes[p->open[p->depth - 1]];
    c = peek(p);
    if (c == ',') {
      p->at++;
      return true;
    }
    if (c != (top->kind == CLI_JSON_LIST ? ']' : '}')) {
      return false;
    }
    top->end = ++p->at;
    top->after = p->json->n_nodes;
    p->depth--;
  }
}

static bool read_value(json_parser *p) {
  cli_json_node node = {0}, *to;
  bool is_member = p->depth > 0 && p->json->nodes[p->open[p->depth - 1]].kind == CLI_JSON_OBJECT;
  bool is_open;
  char c;
  skip_blanks(p);
  if (is_member) {
    if (!read_string(p, &node.key_begin, &node.key_end)) {
      return false;
    }
    skip_blanks(p);
    if (peek(p) != ':') {
      return false;
    }
    p->at++;
    skip_blanks(p);
  }
  c = peek(p);
  is_open = c == '{' || c == '[';
  if (is_open) {
    node.kind = c == '{' ? CLI_JSON_OBJECT : CLI_JSON_LIST;
    node.begin = p->at++;
  } else if (!read_scalar(p, &node)) {
    return false;
  }
  to = new_node(p);
  if (to == NULL || (is_open && p->depth == CLI_JSON_MAX_DEPTH)) {
    return false;
  }
  node.after = to->after;
  *to = node;
  if (is_open) {
    p->open[p->depth++] = p->json->n_nodes - 1;
    skip_blanks(p);
    if (peek(p) != (c == '{' ? '}' : ']')) {
      return true; /* its first value is next */
    }
  }
  return close_values(p);
}

bool cli_json_parse(const char *text, size_t n, cli_json *json) {
  json_parser p = {json, 0, n, {0}, 0};
  bool is_good;
  memset(json, 0, sizeof(*json));
  json->text = text;
  do {
    is_good = read_value(&p);
  } while (is_good && p.depth > 0);
  if (!is_good || p.at < n) {
    cli_json_reset(json);
    return false;
  }
  return true;
}

/* ------------------------------------------------------------------ looking */

size_t cli_json_count(const cli_json *json, size_t at) {
  size_t n = 0;
  for (size_t i = cli_json_first(json, at); i < json->nodes[at].after; i = json->nodes[i].after) {
    n++;
  }
  return n;
}

bool cli_json_is_scalar(const cli_json *json, size_t at) {
  return json->nodes[at].kind < CLI_JSON_LIST;
}

size_t cli_json_find(const cli_json *json, size_t at, const char *key) {
  size_t n = strlen(key);
  if (json->nodes[at].kind != CLI_JSON_OBJECT) {
    return SIZE_MAX;
  }
  for (size_t i = cli_json_first(json, at); i < json->nodes[at].after; i = json->nodes[i].after) {
    const cli_json_node *node = &json->nodes[i];
    if (node->key_end - node->key_begin == n && memcmp(json->text + node->key_begin, key, n) == 0) {
      return i;
    }
  }
  return SIZE_MAX;
}

int64_t cli_json_int(const cli_json *json, size_t at, const char *key) {
  char digits[32];
  cli_json_copy(json, at, key, digits, sizeof(digits));
  return strtoll(digits, NULL, 10);
}

void cli_json_copy(const cli_json *json, size_t at, const char *key, char *out, size_t size) {
  size_t member = cli_json_find(json, at, key);
  cli_text text = {0};
  if (member != SIZE_MAX) {
    cli_json_text(json, member, &text);
  }
  cli_text_copy(&text, out, size);
  cli_text_reset(&text);
}

static int hex4(const char *at) {
  int value = 0;
  for (int i = 0; i < 4; i++) {
    char c = at[i], low = (char)(c | 0x20);
    int digit = c >= '0' && c <= '9' ? c - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
    if (digit < 0) {
      return -1;
    }
    value = value << 4 | digit;
  }
  return value;
}

size_t cli_json_escaped(const char *at, uint32_t *out) {
  int high = hex4(at + 2), low;
  if (high < 0 || (high >= 0xDC00 && high < 0xE000)) {
    return 0;
  }
  if (high < 0xD800 || high >= 0xE000) {
    *out = (uint32_t)high;
    return 6;
  }
  low = at[6] == '\\' && at[7] == 'u' ? hex4(at + 8) : -1;
  if (low < 0xDC00 || low >= 0xE000) {
    return 0;
  }
  *out = 0x10000 + ((uint32_t)(high - 0xD800) << 10) + (uint32_t)(low - 0xDC00);
  return 12;
}

/* The escape at text[at], a backslash; returns its length. */
static size_t add_unescaped(const char *text, size_t at, size_t end, cli_text *out) {
  static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
  char c = at + 1 < end ? text[at + 1] : '\\';
  const char *found = strchr(from, c);
  if (c == 'u' && at + 6 <= end) {
    uint32_t code = (uint32_t)hex4(text + at + 2);
    if (code >= 0xD800 && code < 0xDC00 && at + 12 <= end && text[at + 6] == '\\') {
      uint32_t low = (uint32_t)hex4(text + at + 8);
      cli_text_character(out, 0x10000 + ((code - 0xD800) << 10) + (low & 0x3FF));
      return 12;
    }
    cli_text_character(out, code);
    return 6;
  }
  cli_text_char(out, found != NULL && c != '\0' ? to[found - from] : c);
  return 2;
}

static void add_string(const char *text, size_t begin, size_t end, cli_text *out) {
  while (begin < end) {
    const char *stop = memchr(text + begin, '\\', end - begin);
    size_t n = stop != NULL ? (size_t)(stop - text) - begin : end - begin;
    cli_text_add(out, text + begin, n);
    begin += n;
    if (begin < end) {
      begin += add_unescaped(text, begin, end, out);
    }
  }
}

void cli_json_text(const cli_json *json, size_t at, cli_text *out) {
  const cli_json_node *node = &json->nodes[at];
  if (node->kind == CLI_JSON_STRING) {
    add_string(json->text, node->begin, node->end, out);
  } else if (node->kind != CLI_JSON_NULL) {
    cli_text_add(out, json->text + node->begin, node->end - node->begin);
  }
}

void cli_json_key(const cli_json *json, size_t at, cli_text *out) {
  add_string(json->text, json->nodes[at].key_begin, json->nodes[at].key_end, out);
}
