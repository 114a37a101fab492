/* cdc_json.h - one record of a change feed, taken apart: strict JSON as a flat list of nodes.
 *
 * The nodes inside a list or an object follow it. Everything is checked while it is taken apart
 * (escapes, UTF-8, numbers), so whoever looks at the nodes meets no syntax. The text is borrowed
 * and must live as long as the nodes are looked at. Depth is bounded. One thread at a time.
 */
#ifndef CLI_CDC_JSON_H
#define CLI_CDC_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text.h"

#define CDC_MAX_DEPTH 128
#define CDC_NONE UINT32_MAX /* no node */

typedef enum cdc_kind {
  CDC_NULL,
  CDC_FALSE,
  CDC_TRUE,
  CDC_NUMBER,
  CDC_STRING,
  CDC_LIST,
  CDC_OBJECT
} cdc_kind;

typedef struct cdc_node {
  uint32_t begin, n;   /* in the text; of a string without its quotes */
  uint32_t key, n_key; /* of a member of an object, without the quotes */
  uint32_t after;      /* the node behind this one and all inside it */
  uint8_t kind;        /* cdc_kind */
  bool has_escapes, key_has_escapes;
} cdc_node;

typedef struct cdc_json {
  const char *text;
  cdc_node *nodes; /* owned; [0] is the whole */
  uint32_t n_nodes, capacity;
  size_t fault_at;      /* of a text that is no JSON: where, */
  const char *expected; /* and what should stand there */
  bool is_out_of_memory;
} cdc_json;

/* All zero is empty. */
void cdc_json_reset(cdc_json *json);

/* Take n bytes apart; the byte behind them must be readable and a control character. n is below
 * 4 GiB. false: no JSON (fault_at, expected), or no memory. */
bool cdc_json_parse(cdc_json *json, const char *text, size_t n);
/* The same of an object whose first members were read before: the text goes on at `at`, behind a
 * member. Node 0 is the object with the others. */
bool cdc_json_parse_rest(cdc_json *json, const char *text, size_t n, size_t at);

/* Is a name, as it stands in a text that was checked, this one? Writers may escape characters. */
bool cdc_json_name_is(const char *text, size_t n_text, bool has_escapes, const char *name,
                      size_t n);
static inline bool cdc_json_key_is(const cdc_json *json, uint32_t at, const char *name, size_t n) {
  const cdc_node *node = &json->nodes[at];
  return (node->n_key == n || node->key_has_escapes) &&
         cdc_json_name_is(json->text + node->key, node->n_key, node->key_has_escapes, name, n);
}
/* A member of an object; CDC_NONE: there is none of that name, or the node is no object. */
uint32_t cdc_json_find(const cdc_json *json, uint32_t at, const char *name);
static inline bool cdc_json_is(const cdc_json *json, uint32_t at, cdc_kind kind) {
  return at != CDC_NONE && json->nodes[at].kind == kind;
}
/* Is there no such node, or is it null? */
static inline bool cdc_json_is_null(const cdc_json *json, uint32_t at) {
  return at == CDC_NONE || json->nodes[at].kind == CDC_NULL;
}
/* The same for any n bytes of a name. */
uint32_t cdc_json_member(const cdc_json *json, uint32_t at, const char *name, size_t n);
/* Is the node a string of exactly these bytes? */
bool cdc_json_equals(const cdc_json *json, uint32_t at, const char *word);
/* The bytes of a string, or the text of any other node: in the text, or without escapes in the
 * scratch, with a NUL behind. */
void cdc_json_string(const cdc_json *json, uint32_t at, cli_text *scratch, const char **out,
                     size_t *n);
/* The same of a member's name. */
void cdc_json_key(const cdc_json *json, uint32_t at, cli_text *scratch, const char **out,
                  size_t *n);
/* "payload.after.price", the way from the whole to a node; cut to its size. */
void cdc_json_path(const cdc_json *json, uint32_t at, char *out, size_t size);

#endif
