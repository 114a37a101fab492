/* cdc_rows.c - the changes of a record as rows of its table. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cdc_evolve.h"
#include "cdc_target.h"
#include "json_rows.h"

/* What is being added: a record into a table. */
typedef struct image_job {
  cdc_target *t;
  const cdc_reader *reader;
  const cdc_json *json;
  const cdc_record *record;
  cli_text *changes;
  cli_row_fault *fault;
  bool needs_change; /* a change of the schema would help */
  int32_t n_met;     /* columns of the row that have their value */
} image_job;

static bool fault_at(image_job *j, uint32_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool fault_at(image_job *j, uint32_t at, const char *format, ...) {
  char path[200], message[480];
  va_list args;
  cdc_json_path(j->json, at, path, sizeof(path));
  va_start(args, format);
  (void)vsnprintf(message, sizeof(message), format, args);
  va_end(args);
  j->fault->at =
      cdc_place(j->reader, j->json->nodes[at].begin - (j->json->nodes[at].kind == CDC_STRING));
  (void)snprintf(j->fault->message, sizeof(j->fault->message), "%s%s%s%s",
                 path[0] != '\0' ? "field " : "", path, path[0] != '\0' ? ": " : "", message);
  return false;
}

/* A value that its column has refused; columns->expected tells why. */
static bool refused(image_job *j, const cli_column *c, uint32_t at) {
  cli_row_fault inner = {0, ""};
  char path[200];
  const cdc_node *node = &j->json->nodes[at];
  size_t begin = node->begin - (node->kind == CDC_STRING);
  (void)cli_row_refuse(j->t->columns, c, j->json->text,
                       j->json->nodes[0].begin + j->json->nodes[0].n, begin, &inner);
  cdc_json_path(j->json, at, path, sizeof(path));
  j->fault->at = cdc_place(j->reader, begin);
  (void)snprintf(j->fault->message, sizeof(j->fault->message), "field %s: %.490s", path,
                 inner.message);
  return false;
}

/* A change of the schema, as JSON: {"verb":"column","type":"TYPE"}. */
static void add_schema_change(image_job *j, const char *verb, const char *column, size_t n,
                              const char *type) {
  cli_text *out = j->changes;
  cli_text_char(out, out->len == 0 ? '[' : ',');
  cli_text_printf(out, "{\"%s\":[", verb);
  cli_text_json(out, column, n);
  cli_text_puts(out, "],\"type\":");
  cli_text_json(out, type, strlen(type));
  cli_text_char(out, '}');
  j->needs_change = true;
}

static bool is_in_changes(const image_job *j, const char *column, size_t n) {
  cli_text quoted = {0};
  bool is_in = false;
  cli_text_char(&quoted, '[');
  cli_text_json(&quoted, column, n);
  cli_text_char(&quoted, ']');
  for (size_t i = 0; !quoted.is_broken && i + quoted.len <= j->changes->len && !is_in; i++) {
    is_in = memcmp(j->changes->data + i, quoted.data, quoted.len) == 0;
  }
  cli_text_reset(&quoted);
  return is_in;
}

/* A member that is no column: a new one, if that is wanted; a null tells nothing. */
static bool unknown_member(image_job *j, uint32_t at, const char *name, size_t n,
                           const cdc_hint *hint) {
  char type[80];
  char message[400];
  if (j->t->run->evolves) {
    if (!cdc_new_type(j->json, at, hint, cdc_json_member(j->json, j->record->types, name, n), type,
                      sizeof(type))) {
      return true;
    }
    if (!is_in_changes(j, name, n)) {
      add_schema_change(j, "add", name, n, type);
    }
    return true;
  }
  cli_row_unknown(j->t->columns, &j->t->columns->root, name, n, message, sizeof(message));
  return fault_at(j, at, "%s (--evolve adds columns)", message);
}

static bool value_refused(image_job *j, cli_column *c, const cdc_hint *hint) {
  char type[80];
  uint32_t bad = j->t->values.bad;
  if (j->t->columns->is_out_of_memory) {
    return refused(j, c, bad);
  }
  if (j->t->run->evolves && c->parent == &j->t->columns->root &&
      cdc_wider_type(j->json, bad, hint, c, type, sizeof(type)) &&
      (strlen(type) > c->n_type || memcmp(type, c->type, strlen(type)) != 0)) {
    if (!is_in_changes(j, c->name, c->n_name)) {
      add_schema_change(j, "retype", c->name, c->n_name, type);
    }
    return true;
  }
  return refused(j, c, bad);
}

/* ------------------------------------------------------------------ values that were not logged */

#define PLACEHOLDER "__debezium_unavailable_value"

/* Does the node's text, as it stands there, say it? As a text; as bytes in base64 or hexadecimal
 * digits; as the JSON of a map. */
static bool is_placeholder(const cdc_json *json, const cdc_node *node) {
  static const char *const words[] = {
      PLACEHOLDER, "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==",
      "5f5f646562657a69756d5f756e617661696c61626c655f76616c7565",
      "{\\\"" PLACEHOLDER "\\\":\\\"" PLACEHOLDER "\\\"}",
      "b68a35a7-17ad-35b3-af2a-ae46edb4545a" /* in a list of UUIDs: the one of that name */};
  for (size_t i = 0; i < CLI_COUNT(words); i++) {
    if (node->n == strlen(words[i]) && memcmp(json->text + node->begin, words[i], node->n) == 0) {
      return true;
    }
  }
  return false;
}

/* A list of it, or of its bytes as numbers; a map of it to itself. */
static bool is_nested_placeholder(const cdc_json *json, uint32_t at) {
  static const char word[] = PLACEHOLDER;
  const cdc_node *node = &json->nodes[at], *item = node + 1;
  size_t n = node->after - at - 1;
  if (n == 1) {
    return item->kind == CDC_STRING && is_placeholder(json, item) &&
           (node->kind == CDC_LIST || cdc_json_key_is(json, at + 1, word, sizeof(word) - 1));
  }
  if (node->kind != CDC_LIST || n != sizeof(word) - 1) {
    return false;
  }
  for (size_t i = 0; i < n; i++, item++) {
    if (item->kind != CDC_NUMBER ||
        strtod(json->text + item->begin, NULL) != (double)(unsigned char)word[i]) {
      return false;
    }
  }
  return true;
}

/* Postgres, Oracle: a value that was too long to be logged, and did not change. Rule: Debezium's
 * unavailable.value.placeholder, UnchangedToastedPlaceholder. */
static bool is_unavailable(const cdc_json *json, uint32_t at) {
  const cdc_node *node = &json->nodes[at];
  switch (node->kind) {
    case CDC_STRING:
      return node->n >= sizeof(PLACEHOLDER) - 1 && node->n <= 67 && is_placeholder(json, node);
    case CDC_LIST:
    case CDC_OBJECT:
      return is_nested_placeholder(json, at);
    default:
      return false;
  }
}

/* ------------------------------------------------------------------ values */

static uint32_t find_member(const cdc_json *json, uint32_t image, const cli_column *c) {
  return cdc_json_member(json, image, c->name, c->n_name);
}

/* The column of a member; most often the one behind the last. */
static cli_column *column_of(cli_column *root, const char *name, size_t n) {
  if (root->next_child < root->n_children) {
    cli_column *c = &root->children[root->next_child];
    if (c->n_name == n && memcmp(c->name, name, n) == 0) {
      root->next_child++;
      return c;
    }
  }
  return cli_column_find(root, name, n);
}

static bool may_be_bytes(const cdc_json *json, const cdc_node *node) {
  bool may_be = node->has_escapes;
  for (uint32_t i = 0; i < node->n && !may_be; i++) {
    may_be = (unsigned char)json->text[node->begin + i] >= 0x80;
  }
  return may_be;
}

/* What Canal writes for a text column, where its type matters: numbers of an ENUM's or SET's names,
 * and bytes, one a character. *is_added false: a text like all others. */
static bool add_typed_text(image_job *j, cli_column *c, uint32_t at, bool *is_added) {
  const cdc_node *node = &j->json->nodes[at];
  char first = node->n > 0 ? j->json->text[node->begin] : ' ';
  const char *type;
  uint32_t type_at;
  size_t n;
  bool may_be_ordinal = first >= '0' && first <= '9';
  if (!may_be_ordinal && !may_be_bytes(j->json, node)) {
    return true;
  }
  type_at = find_member(j->json, j->record->types, c);
  if (!cdc_json_is(j->json, type_at, CDC_STRING)) { /* it is not told */
    return true;
  }
  cdc_json_string(j->json, type_at, &j->t->values.type, &type, &n);
  if (may_be_ordinal && !cdc_add_ordinal(&j->t->values, c, at, type, n, is_added)) {
    return false;
  }
  if (!*is_added && may_be_bytes(j->json, node) && cdc_mysql_is_bytes(type, n)) {
    *is_added = true;
    return cdc_add_text_of_bytes(&j->t->values, c, at);
  }
  return true;
}

/* A column's value. */
static bool add_value(image_job *j, cli_column *c, uint32_t at, const cdc_hint *hint) {
  bool is_added = false;
  if (c->kind == CLI_COLUMN_TEXT && j->json->nodes[at].kind == CDC_STRING &&
      cdc_json_is(j->json, j->record->types, CDC_OBJECT)) {
    if (!add_typed_text(j, c, at, &is_added)) {
      return value_refused(j, c, hint);
    }
  }
  return is_added || cdc_add_value(&j->t->values, c, at, hint) || value_refused(j, c, hint);
}

static bool add_member(image_job *j, uint32_t at, bool may_fill, size_t *next_hint) {
  cli_columns *columns = j->t->columns;
  const cdc_node *node = &j->json->nodes[at];
  const cdc_hint *hint = NULL;
  const char *name = j->json->text + node->key;
  size_t n = node->n_key;
  cli_column *c;
  if (node->key_has_escapes) {
    cdc_json_key(j->json, at, &j->t->values.scratch, &name, &n);
  }
  c = column_of(&columns->root, name, n);
  if (j->record->schema != NULL) {
    hint = cdc_schema_find(j->record->schema, name, n, next_hint);
  }
  if (c == NULL) {
    return unknown_member(j, at, name, n, hint);
  }
  if (cli_column_is_met(&columns->root, c)) {
    return fault_at(j, at, "the column '%s' comes twice in one row", c->name);
  }
  if (node->kind >= CDC_STRING && is_unavailable(j->json, at)) {
    return true; /* as if it were not there */
  }
  if (node->kind == CDC_NULL && may_fill && !c->takes_null &&
      !j->t->is_key[c - columns->root.children]) {
    j->n_met++;
    return cdc_add_nothing(columns, c) || refused(j, c, at);
  }
  j->n_met++;
  return add_value(j, c, at, hint);
}

/* The value that --metadata names: its way through the record. */
static uint32_t find_meta(const image_job *j, const char *path) {
  uint32_t at = j->record->meta;
  while (at != CDC_NONE && *path != '\0') {
    size_t n = strcspn(path, ".");
    char name[128];
    (void)snprintf(name, sizeof(name), "%.*s", (int)(n < 127 ? n : 127), path);
    at = cdc_json_find(j->json, at, name);
    path += n + (path[n] == '.');
  }
  return at;
}

/* What the name of a field beside the row says of its unit; NULL: nothing. */
static const cdc_hint *meta_hint(const image_job *j, const char *path) {
  static const cdc_hint units[] = {{.encoding = CDC_SECONDS},
                                   {.encoding = CDC_MILLIS},
                                   {.encoding = CDC_MICROS},
                                   {.encoding = CDC_NANOS}};
  static const struct {
    const char *format, *end;
    cdc_encoding encoding;
  } fields[] = {{"debezium", "ts_ms", CDC_MILLIS}, {"debezium", "ts_us", CDC_MICROS},
                {"debezium", "ts_ns", CDC_NANOS},  {"canal", "es", CDC_MILLIS},
                {"canal", "ts", CDC_MILLIS},       {"maxwell", "ts", CDC_SECONDS}};
  size_t n = strlen(path);
  for (size_t i = 0; i < CLI_COUNT(fields); i++) {
    size_t n_end = strlen(fields[i].end);
    if (strcmp(fields[i].format, j->t->run->format->name) == 0 && n >= n_end &&
        strcmp(path + n - n_end, fields[i].end) == 0 &&
        (n == n_end || path[n - n_end - 1] == '.' || path[n - n_end - 1] == '_')) {
      return &units[fields[i].encoding - CDC_SECONDS];
    }
  }
  return NULL;
}

/* ------------------------------------------------------------------ rows */

/* The columns that the image has not. */
static bool add_missing(image_job *j, const char *kind, uint32_t image, uint32_t fallback,
                        bool may_fill) {
  cli_columns *columns = j->t->columns;
  for (size_t i = 0; i < j->t->run->n_metas; i++) {
    cli_column *c = j->t->metas[i];
    uint32_t at = find_meta(j, j->t->run->metas[i].value);
    if (at != CDC_NONE && !cli_column_is_met(&columns->root, c) &&
        !cdc_add_value(&j->t->values, c, at, meta_hint(j, j->t->run->metas[i].value))) {
      return refused(j, c, j->t->values.bad);
    }
  }
  for (int32_t i = 0; i < columns->root.n_children; i++) {
    cli_column *c = &columns->root.children[i];
    uint32_t at;
    if (cli_column_is_met(&columns->root, c)) {
      continue;
    }
    if (c == j->t->kind_column) {
      if (!cli_add_text(columns, c, kind, 2)) {
        return refused(j, c, image);
      }
      continue;
    }
    at = find_member(j->json, fallback, c);
    if (at != CDC_NONE && !is_unavailable(j->json, at)) {
      size_t next = 0;
      const cdc_hint *hint = cdc_schema_find(j->record->schema, c->name, c->n_name, &next);
      if (!add_value(j, c, at, hint)) {
        return false;
      }
      continue;
    }
    at = find_member(j->json, image, c);
    if (at != CDC_NONE && !may_fill && is_unavailable(j->json, at) &&
        (!j->t->keeps_null[i] || kind[1] != 'U')) {
      return fault_at(j, at,
                      "the value of column '%s' did not change and is not in the record; the row "
                      "before would have it (REPLICA IDENTITY FULL)",
                      c->name);
    }
    if (may_fill && !c->takes_null && !j->t->is_key[i] && !cdc_add_nothing(columns, c)) {
      return refused(j, c, image);
    }
  }
  return true;
}

/* The value that a row gets in a column, from wherever; CDC_NONE: null. */
static uint32_t value_of(const image_job *j, int32_t i, uint32_t image, uint32_t fallback) {
  const cli_column *c = &j->t->columns->root.children[i];
  uint32_t places[3] = {find_member(j->json, image, c), CDC_NONE,
                        find_member(j->json, fallback, c)};
  for (size_t k = 0; k < j->t->run->n_metas; k++) {
    places[1] = j->t->metas[k] == c ? find_meta(j, j->t->run->metas[k].value) : places[1];
  }
  for (size_t k = 0; k < 3; k++) {
    if (!cdc_json_is_null(j->json, places[k]) && !is_unavailable(j->json, places[k])) {
      return places[k];
    }
  }
  return CDC_NONE;
}

/* Does the image have more than the key? A connector that logs keys only leaves the others away, or
 * makes them null. */
static bool is_whole(const image_job *j, uint32_t image) {
  const cli_column *root = &j->t->columns->root;
  bool has_others = false, has_values = false;
  if (image == CDC_NONE) {
    return false;
  }
  for (int32_t i = 0; i < root->n_children; i++) {
    if (!j->t->is_key[i]) {
      uint32_t at = find_member(j->json, image, &root->children[i]);
      has_others = true;
      has_values |= at != CDC_NONE && !cdc_json_is(j->json, at, CDC_NULL);
      if (at == CDC_NONE && !root->children[i].takes_null) {
        return false;
      }
    }
  }
  return !has_others || has_values;
}

/* A delete that has no place in the order of the key's rows would be older than all, and the row
 * would stay. */
static bool has_place(image_job *j, uint32_t image, uint32_t fallback) {
  const cdc_target *t = j->t;
  const char *without = NULL;
  bool has_one = false;
  for (int32_t i = 0; i < t->columns->root.n_children; i++) {
    if (!t->is_order[i]) {
      continue;
    }
    if (value_of(j, i, image, fallback) != CDC_NONE) {
      has_one = true;
    } else {
      without = t->columns->root.children[i].name;
    }
  }
  if (without == NULL || (has_one && !t->needs_all_order) || is_whole(j, image)) {
    return true;
  }
  return fault_at(
      j, image,
      "a delete without a value of column '%s', which the table orders rows by: the row "
      "would stay. --metadata %s=FIELD takes it from the record, such as source.ts_ms",
      without, without);
}

/* A row that takes another one away. */
static bool takes_away(image_job *j, uint32_t image) {
  return !j->t->refuses_deletes ||
         fault_at(j, image,
                  "a delete, or a change of the key, which the table's merge engine takes only "
                  "with 'ignore-delete' or other options of its own");
}

/* Does a row of table tail tell its snapshot there? */
static bool is_snapshot(const image_job *j, uint32_t at) {
  static const char name[] = CLI_SNAPSHOT_NAME;
  return cdc_json_key_is(j->json, at, name, sizeof(name) - 1) &&
         cli_column_find(&j->t->columns->root, name, sizeof(name) - 1) == NULL;
}

/* One row. fallback: the image that has what this one lacks; may_fill: NOT NULL columns without a
 * value get one of no meaning. */
static bool add_image(image_job *j, const char *kind, uint32_t image, uint32_t fallback,
                      bool may_fill) {
  cli_columns *columns = j->t->columns;
  cli_column *bad = &columns->root;
  const char *kind_name = !j->t->run->format->names_tables ? j->t->run->kind_name
                                                           : NULL; /* JSON lines have it inside */
  size_t next_hint = 0;
  j->n_met = 0;
  columns->root.next_child = 0;
  if (j->t->has_order && kind[1] == 'D' && !j->t->ignores_deletes &&
      !has_place(j, image, fallback)) {
    return false;
  }
  for (uint32_t i = image + 1; i < j->json->nodes[image].after; i = j->json->nodes[i].after) {
    const cdc_node *node = &j->json->nodes[i];
    if (kind_name != NULL &&
        (cdc_json_key_is(j->json, i, kind_name, strlen(kind_name)) || is_snapshot(j, i))) {
      continue;
    }
    if (j->record->is_flat && node->n_key > 2 && memcmp(j->json->text + node->key, "__", 2) == 0) {
      continue;
    }
    if (!add_member(j, i, may_fill, &next_hint)) {
      return false;
    }
  }
  if (j->needs_change) { /* the row is taken back anyway */
    return true;
  }
  if (j->n_met != columns->root.n_children && !add_missing(j, kind, image, fallback, may_fill)) {
    return false;
  }
  if (j->needs_change) {
    return true;
  }
  if (!cli_add_kind(columns, kind, 2)) {
    return fault_at(j, image, "expected %s", columns->expected);
  }
  if (!cli_add_row_end(columns, &columns->root, &bad)) {
    cli_row_fault inner = {0, ""};
    if (bad == &columns->root) {
      return refused(j, bad, image);
    }
    (void)cli_row_misses(bad, 0, &inner);
    inner.message[400] = '\0';
    return fault_at(j, image, "%s", inner.message);
  }
  return true;
}

/* ------------------------------------------------------------------ changes */

static bool is_same_value(image_job *j, uint32_t a, uint32_t b) {
  const cdc_json *json = j->json;
  const cdc_node *x = &json->nodes[a], *y = &json->nodes[b];
  if (x->kind == CDC_STRING && y->kind == CDC_STRING && (x->has_escapes || y->has_escapes)) {
    const char *text;
    size_t n;
    cdc_json_string(json, a, &j->t->values.scratch, &text, &n);
    return cdc_json_name_is(json->text + y->begin, y->n, y->has_escapes, text, n);
  }
  return x->kind == y->kind && x->n == y->n &&
         memcmp(json->text + x->begin, json->text + y->begin, x->n) == 0;
}

/* Has a column of the key another value than before? */
static bool key_changes(image_job *j, const cdc_change *change) {
  const cli_column *root = &j->t->columns->root;
  for (int32_t i = 0; i < root->n_children; i++) {
    uint32_t before, after;
    if (!j->t->is_key[i]) {
      continue;
    }
    before = find_member(j->json, change->before, &root->children[i]);
    after = before != CDC_NONE ? find_member(j->json, change->after, &root->children[i]) : CDC_NONE;
    if (after != CDC_NONE && !is_same_value(j, before, after)) {
      return true;
    }
  }
  return false;
}

static bool add_update(image_job *j, const cdc_change *change) {
  cdc_target *t = j->t;
  uint32_t rest = change->before_is_patch ? change->after : CDC_NONE;
  uint32_t fallback = change->before_is_patch ? CDC_NONE : change->before;
  bool whole;
  if (t->has_key && change->before != CDC_NONE && key_changes(j, change)) {
    return takes_away(j, change->before) &&
           add_image(j, "-D", change->before, rest, !t->needs_values) &&
           add_image(j, "+I", change->after, fallback, false);
  }
  if (!t->wants_before) {
    return add_image(j, "+U", change->after, fallback, false);
  }
  whole = change->before != CDC_NONE && (change->before_is_patch || is_whole(j, change->before));
  if (!whole && t->needs_values) {
    return fault_at(j, change->after,
                    "the table aggregates, so an update needs the whole row before (as with "
                    "REPLICA IDENTITY FULL)");
  }
  t->without_before += !whole;
  return (!whole || add_image(j, "-U", change->before, rest, false)) &&
         add_image(j, "+U", change->after, fallback, false);
}

static bool add_change(image_job *j, const cdc_change *change) {
  cdc_target *t = j->t;
  if (change->kind != NULL) { /* as the feed says */
    if (change->before != CDC_NONE && !takes_away(j, change->before)) {
      return false;
    }
    return add_image(j, change->kind, change->before != CDC_NONE ? change->before : change->after,
                     CDC_NONE, change->kind[1] == 'D' && !t->needs_values);
  }
  if (change->op == CDC_INSERT) {
    return add_image(j, "+I", change->after, CDC_NONE, false);
  }
  if (change->op == CDC_UPDATE) {
    return add_update(j, change);
  }
  if (!t->has_key) {
    return fault_at(j, change->before,
                    "a delete, and the table has no primary key to find the row by");
  }
  if (t->needs_values && !is_whole(j, change->before)) {
    return fault_at(j, change->before,
                    "the table aggregates, so a delete needs the whole row before (as with REPLICA "
                    "IDENTITY FULL)");
  }
  return takes_away(j, change->before) &&
         add_image(j, "-D", change->before, CDC_NONE, !t->needs_values);
}

cdc_outcome cdc_target_add(cdc_target *t, const cdc_reader *reader, const cdc_record *record,
                           cli_text *changes, cli_row_fault *fault) {
  int64_t before = cli_columns_rows(t->columns), without = t->without_before;
  image_job j = {t, reader, &reader->json, record, changes, fault, false, 0};
  cdc_outcome outcome = CDC_TAKEN;
  t->values.json = &reader->json;
  t->values.style = t->run->style;
  if (record->is_own && t->run->style.decimals == CDC_DECIMALS_GUESS) {
    t->values.style.decimals = CDC_DECIMALS_TEXT;
  }
  t->values.style.bytes_are_told = t->run->style.bytes_are_told || record->is_own;
  changes->len = 0;
  for (size_t i = 0; i < record->n_changes && outcome == CDC_TAKEN; i++) {
    if (!add_change(&j, &record->changes[i])) {
      outcome = CDC_FAULT;
    } else if (j.needs_change) {
      outcome = CDC_EVOLVE;
    }
  }
  if (outcome != CDC_TAKEN) {
    cli_columns_cut(t->columns, before);
    t->without_before = without;
  }
  if (outcome == CDC_EVOLVE) {
    cli_text_puts(changes, "]");
    cli_text_char(changes, '\0');
  }
  return t->columns->is_out_of_memory || changes->is_broken || t->values.scratch.is_broken ||
                 t->values.type.is_broken || t->values.bytes.is_broken
             ? CDC_NO_MEMORY
             : outcome;
}
