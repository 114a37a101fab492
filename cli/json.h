/* json.h - looking into the JSON texts that the library makes.
 *
 * A document is a list of nodes in the order of the text; the nodes inside a list or an object
 * follow it. Nesting is bounded. The text is borrowed.
 */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text.h"

#define CLI_JSON_MAX_DEPTH 64

typedef enum cli_json_kind {
  CLI_JSON_NULL,
  CLI_JSON_BOOL,
  CLI_JSON_NUMBER,
  CLI_JSON_STRING,
  CLI_JSON_LIST,
  CLI_JSON_OBJECT
} cli_json_kind;

typedef struct cli_json_node {
  cli_json_kind kind;
  size_t begin, end;         /* in the text; of a string without the quotes */
  size_t key_begin, key_end; /* of a member of an object, without the quotes */
  size_t after;              /* the node behind this one and all inside it */
} cli_json_node;

typedef struct cli_json {
  const char *text;
  cli_json_node *nodes; /* owned; [0] is the whole */
  size_t n_nodes, capacity;
} cli_json;

/* The character of the escape at a backslash that a 'u' follows, with the second half of a pair:
 * its length in the text; 0: none. The text ends in a NUL, here or later. */
size_t cli_json_escaped(const char *at, uint32_t *out);

/* false: not JSON, nested too deeply, or no memory; json is empty then. */
bool cli_json_parse(const char *text, size_t n, cli_json *json);
void cli_json_reset(cli_json *json);

/* Members and items: for (i = cli_json_first(j, at); i < j->nodes[at].after; i = j->nodes[i].after)
 */
static inline size_t cli_json_first(const cli_json *json, size_t at) {
  return json->nodes[at].kind >= CLI_JSON_LIST ? at + 1 : json->nodes[at].after;
}
size_t cli_json_count(const cli_json *json, size_t at);
bool cli_json_is_scalar(const cli_json *json, size_t at);
/* A member of an object; SIZE_MAX: it has none of that name. */
size_t cli_json_find(const cli_json *json, size_t at, const char *key);
/* A whole number member; 0 when there is none. */
int64_t cli_json_int(const cli_json *json, size_t at, const char *key);
/* Add the text of a scalar: a string's without quotes and escapes; null as nothing. Or a key's. */
void cli_json_text(const cli_json *json, size_t at, cli_text *out);
void cli_json_key(const cli_json *json, size_t at, cli_text *out);
/* The same of a member, into a fresh NUL-terminated array; "" when there is none. */
void cli_json_copy(const cli_json *json, size_t at, const char *key, char *out, size_t size);

/* The whole for people: "key: value" lines, indented; lists of flat objects as tables. */
void cli_json_outline(const cli_json *json, size_t at, size_t max_width, bool has_colors,
                      cli_text *out);

#endif
