/* cdc.c - records of a change feed as changes of rows: what the formats share, Canal, Maxwell, JSON
 * lines. */
#include "cdc.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_SHOWN 40 /* bytes of a value in a message */

const char *const cdc_class_names[CDC_N_CLASSES] = {
    "rows",           "truncates", "tombstones", "heartbeats", "transaction markers",
    "schema changes", "others"};

/* ------------------------------------------------------------------ what formats share */

void cdc_reader_init(cdc_reader *reader, const cdc_format *format, const char *kind_name) {
  memset(reader, 0, sizeof(*reader));
  reader->format = format;
  reader->kind_name = kind_name;
}

void cdc_reader_reset(cdc_reader *reader) {
  cdc_json_reset(&reader->json);
  cdc_schemas_free(reader);
  free(reader->changes);
  cli_text_reset(&reader->scratch);
  cli_text_reset(&reader->unwrapped);
  memset(reader, 0, sizeof(*reader));
}

bool cdc_wrong(const cdc_json *json, uint32_t at, const char *expected, cli_row_fault *fault) {
  char path[200];
  size_t begin = json->nodes[at].begin, n = json->nodes[at].n;
  if (json->nodes[at].kind == CDC_STRING) {
    begin--;
    n += 2;
  }
  cdc_json_path(json, at, path, sizeof(path));
  fault->at = begin;
  (void)snprintf(fault->message, sizeof(fault->message), "%s%s%sexpected %s, found %.*s%s",
                 path[0] != '\0' ? "field " : "", path, path[0] != '\0' ? ": " : "", expected,
                 (int)(n < MAX_SHOWN ? n : MAX_SHOWN), json->text + begin,
                 n > MAX_SHOWN ? "..." : "");
  return false;
}

cdc_change *cdc_add_change(cdc_reader *reader, cdc_record *record, cli_row_fault *fault) {
  cdc_change *change;
  if (record->n_changes == reader->capacity) {
    size_t capacity = reader->capacity < 8 ? 8 : reader->capacity * 2;
    cdc_change *grown = realloc(reader->changes, capacity * sizeof(*grown));
    if (grown == NULL) {
      fault->at = 0;
      (void)snprintf(fault->message, sizeof(fault->message), "memory is out");
      reader->json.is_out_of_memory = true;
      return NULL;
    }
    reader->changes = grown;
    reader->capacity = capacity;
  }
  record->changes = reader->changes;
  change = &reader->changes[record->n_changes++];
  *change = (cdc_change){.before = CDC_NONE, .after = CDC_NONE};
  return change;
}

bool cdc_take_name(cdc_reader *reader, uint32_t at, cdc_name *out) {
  const char *text;
  size_t n;
  out->n = 0;
  out->text[0] = '\0';
  if (!cdc_json_is(&reader->json, at, CDC_STRING)) {
    return true;
  }
  cdc_json_string(&reader->json, at, &reader->scratch, &text, &n);
  if (n >= sizeof(out->text)) {
    return false;
  }
  memcpy(out->text, text, n);
  out->text[n] = '\0';
  out->n = n;
  return true;
}

static bool take_names(cdc_reader *reader, cdc_record *out, uint32_t root, cli_row_fault *fault) {
  uint32_t database = cdc_json_find(&reader->json, root, "database");
  uint32_t table = cdc_json_find(&reader->json, root, "table");
  if (!cdc_json_is(&reader->json, table, CDC_STRING) ||
      !cdc_take_name(reader, table, &out->table)) {
    return cdc_wrong(&reader->json, table != CDC_NONE ? table : root,
                     "the name of a table in the field 'table'", fault);
  }
  return cdc_take_name(reader, database, &out->database) ||
         cdc_wrong(&reader->json, database, "the name of a database", fault);
}

/* What is no JSON. */
static bool no_json(const cdc_json *json, const char *text, size_t n, cli_row_fault *fault) {
  size_t at = json->fault_at < n ? json->fault_at : n, shown = 0;
  while (at + shown < n && shown < MAX_SHOWN && (unsigned char)text[at + shown] >= 0x20 &&
         (unsigned char)text[at + shown] < 0x80) {
    shown++;
  }
  fault->at = at;
  if (at == n) {
    (void)snprintf(fault->message, sizeof(fault->message), "expected %s, found the end",
                   json->expected);
  } else if (shown == 0) {
    (void)snprintf(fault->message, sizeof(fault->message), "expected %s, found the byte 0x%02x",
                   json->expected, (unsigned char)text[at]);
  } else {
    (void)snprintf(fault->message, sizeof(fault->message), "expected %s, found %.*s",
                   json->expected, (int)shown, text + at);
  }
  return false;
}

bool cdc_reparse(cdc_reader *reader, cli_row_fault *fault) {
  cdc_json *json = &reader->json;
  size_t n = reader->unwrapped.len;
  cli_text_char(&reader->unwrapped, '\n');
  if (reader->unwrapped.is_broken) {
    json->is_out_of_memory = true;
    (void)snprintf(fault->message, sizeof(fault->message), "memory is out");
    return false;
  }
  reader->is_unwrapped = true;
  return cdc_json_parse(json, reader->unwrapped.data, n) ||
         no_json(json, reader->unwrapped.data, n, fault);
}

static bool read_record(cdc_reader *reader, const char *text, size_t n, cdc_record *out,
                        cli_row_fault *fault) {
  cdc_json *json = &reader->json;
  size_t known =
      reader->format->read == cdc_read_debezium ? cdc_schema_recognize(reader, text, n) : 0;
  if (!(known > 0 ? cdc_json_parse_rest(json, text, n, known) : cdc_json_parse(json, text, n))) {
    return no_json(json, text, n, fault);
  }
  if (json->nodes[0].kind == CDC_NULL && reader->format->read != cdc_read_debezium) {
    out->class = CDC_TOMBSTONE;
    return true;
  }
  if (json->nodes[0].kind != CDC_OBJECT && json->nodes[0].kind != CDC_NULL) {
    return cdc_wrong(json, 0, "an object {...}", fault);
  }
  return reader->format->read(reader, out, fault);
}

bool cdc_read(cdc_reader *reader, const char *text, size_t n, cdc_record *out,
              cli_row_fault *fault) {
  out->class = CDC_ROWS;
  out->n_changes = 0;
  out->schema = NULL;
  out->is_flat = out->is_own = false;
  out->types = CDC_NONE;
  out->meta = 0;
  out->database.n = out->schema_name.n = out->table.n = 0;
  out->database.text[0] = out->schema_name.text[0] = out->table.text[0] = '\0';
  reader->is_unwrapped = false;
  fault->at = 0;
  if (read_record(reader, text, n, out, fault)) {
    return true;
  }
  fault->at = cdc_place(reader, fault->at);
  return false;
}

/* ------------------------------------------------------------------ Canal
 *
 * {"data":[{..}],"old":[{..}],"database":"d","table":"t","type":"UPDATE","isDdl":false,"es":..,
 * "ts":..,"mysqlType":{..},"pkNames":[..]}: FlatMessage, several rows a record, every value a text;
 * `old` has only the columns that differ.
 */

static bool read_canal(cdc_reader *reader, cdc_record *out, cli_row_fault *fault) {
  static const struct {
    const char *type;
    cdc_op op;
  } ops[] = {{"INSERT", CDC_INSERT}, {"UPDATE", CDC_UPDATE}, {"DELETE", CDC_DELETE}};
  const cdc_json *json = &reader->json;
  uint32_t type = cdc_json_find(json, 0, "type"), data, old, old_row = CDC_NONE;
  size_t op = 0;
  if (cdc_json_is(json, cdc_json_find(json, 0, "isDdl"), CDC_TRUE)) {
    out->class = CDC_DDL;
    if (!cdc_json_equals(json, type, "TRUNCATE")) {
      return true;
    }
    out->class = CDC_TRUNCATE;
    return take_names(reader, out, 0, fault);
  }
  if (!cdc_json_is(json, type, CDC_STRING)) {
    return cdc_wrong(json, type != CDC_NONE ? type : 0,
                     "a record of Canal with \"type\": \"INSERT\", \"UPDATE\" or \"DELETE\"",
                     fault);
  }
  while (op < CLI_COUNT(ops) && !cdc_json_equals(json, type, ops[op].type)) {
    op++;
  }
  if (op == CLI_COUNT(ops)) {
    static const char *const others[] = {"QUERY",          "INIT_DDL",  "TRANSACTIONBEGIN",
                                         "TRANSACTIONEND", "HEARTBEAT", "MHEARTBEAT",
                                         "TIDB_WATERMARK"};
    for (size_t i = 0; i < CLI_COUNT(others); i++) {
      if (cdc_json_equals(json, type, others[i])) {
        out->class = i < 2 ? CDC_OTHER : i < 4 ? CDC_TRANSACTION : CDC_HEARTBEAT;
        return true;
      }
    }
    return cdc_wrong(json, type, "\"INSERT\", \"UPDATE\" or \"DELETE\"", fault);
  }
  if (!take_names(reader, out, 0, fault)) {
    return false;
  }
  data = cdc_json_find(json, 0, "data");
  old = cdc_json_find(json, 0, "old");
  out->types = cdc_json_find(json, 0, "mysqlType");
  if (!cdc_json_is(json, data, CDC_LIST)) {
    return cdc_wrong(json, data != CDC_NONE ? data : 0, "a list of rows in the field 'data'",
                     fault);
  }
  if (ops[op].op == CDC_UPDATE && cdc_json_is(json, old, CDC_LIST)) {
    old_row = old + 1 < json->nodes[old].after ? old + 1 : CDC_NONE;
  }
  for (uint32_t i = data + 1; i < json->nodes[data].after; i = json->nodes[i].after) {
    cdc_change *change;
    if (!cdc_json_is(json, i, CDC_OBJECT)) {
      return cdc_wrong(json, i, "a row as an object", fault);
    }
    change = cdc_add_change(reader, out, fault);
    if (change == NULL) {
      return false;
    }
    change->op = ops[op].op;
    if (change->op == CDC_DELETE) {
      change->before = i;
      continue;
    }
    change->after = i;
    if (old_row != CDC_NONE) {
      if (cdc_json_is(json, old_row, CDC_OBJECT)) {
        change->before = old_row;
        change->before_is_patch = true;
      } else if (!cdc_json_is_null(json, old_row)) {
        return cdc_wrong(json, old_row, "the former values as an object", fault);
      }
      old_row = json->nodes[old_row].after < json->nodes[old].after ? json->nodes[old_row].after
                                                                    : CDC_NONE;
    }
  }
  return true;
}

/* ------------------------------------------------------------------ Maxwell
 *
 * {"database":"d","table":"t","type":"update","ts":..,"xid":..,"commit":true,"data":{..},"old":{..}}
 */

static bool read_maxwell(cdc_reader *reader, cdc_record *out, cli_row_fault *fault) {
  static const struct {
    const char *type;
    cdc_class class;
    cdc_op op;
  } types[] = {
      {"insert", CDC_ROWS, CDC_INSERT},           {"update", CDC_ROWS, CDC_UPDATE},
      {"delete", CDC_ROWS, CDC_DELETE},           {"bootstrap-insert", CDC_ROWS, CDC_INSERT},
      {"bootstrap-start", CDC_OTHER, CDC_INSERT}, {"bootstrap-complete", CDC_OTHER, CDC_INSERT},
      {"heartbeat", CDC_HEARTBEAT, CDC_INSERT},   {"table-create", CDC_DDL, CDC_INSERT},
      {"table-alter", CDC_DDL, CDC_INSERT},       {"table-drop", CDC_DDL, CDC_INSERT},
      {"database-create", CDC_DDL, CDC_INSERT},   {"database-alter", CDC_DDL, CDC_INSERT},
      {"database-drop", CDC_DDL, CDC_INSERT}};
  const cdc_json *json = &reader->json;
  uint32_t type = cdc_json_find(json, 0, "type"), data, old;
  cdc_change *change;
  size_t i = 0;
  while (i < CLI_COUNT(types) && !cdc_json_equals(json, type, types[i].type)) {
    i++;
  }
  if (i == CLI_COUNT(types)) {
    return cdc_wrong(json, type != CDC_NONE ? type : 0,
                     "a record of Maxwell with \"type\": \"insert\", \"update\" or \"delete\"",
                     fault);
  }
  out->class = types[i].class;
  if (out->class != CDC_ROWS) {
    return true;
  }
  if (!take_names(reader, out, 0, fault)) {
    return false;
  }
  data = cdc_json_find(json, 0, "data");
  old = cdc_json_find(json, 0, "old");
  if (!cdc_json_is(json, data, CDC_OBJECT)) {
    return cdc_wrong(json, data != CDC_NONE ? data : 0, "a row as an object in the field 'data'",
                     fault);
  }
  if (!cdc_json_is_null(json, old) && !cdc_json_is(json, old, CDC_OBJECT)) {
    return cdc_wrong(json, old, "the former values as an object", fault);
  }
  change = cdc_add_change(reader, out, fault);
  if (change == NULL) {
    return false;
  }
  change->op = types[i].op;
  if (change->op == CDC_DELETE) {
    change->before = data;
    return true;
  }
  change->after = data;
  if (change->op == CDC_UPDATE && cdc_json_is(json, old, CDC_OBJECT)) {
    change->before = old;
    change->before_is_patch = true;
  }
  return true;
}

/* ------------------------------------------------------------------ JSON lines
 *
 * A row a line, and in it its kind.
 */

static bool read_jsonl(cdc_reader *reader, cdc_record *out, cli_row_fault *fault) {
  static const char *const kinds[] = {"+I", "-U", "+U", "-D"};
  const cdc_json *json = &reader->json;
  uint32_t kind = cdc_json_find(json, 0, reader->kind_name);
  cdc_change *change = cdc_add_change(reader, out, fault);
  size_t i = 0;
  if (change == NULL) {
    return false;
  }
  if (kind != CDC_NONE) {
    while (i < 4 && !cdc_json_equals(json, kind, kinds[i])) {
      i++;
    }
    if (i == 4) {
      return cdc_wrong(json, kind, "\"+I\", \"-U\", \"+U\" or \"-D\" as the row kind", fault);
    }
  }
  change->kind = kinds[i];
  change->n_kind = 2;
  change->op = i == 3 || i == 1 ? CDC_DELETE : CDC_INSERT;
  change->before = i == 3 || i == 1 ? 0 : CDC_NONE;
  change->after = i == 3 || i == 1 ? CDC_NONE : 0;
  return true;
}

/* ------------------------------------------------------------------ formats */

const cdc_format cdc_formats[] = {
    {"debezium", {CDC_BASE64, CDC_PLAIN, CDC_DECIMALS_GUESS, NULL, false}, true, cdc_read_debezium},
    {"canal", {CDC_LATIN1, CDC_PLAIN, CDC_DECIMALS_TEXT, NULL, true}, true, read_canal},
    {"maxwell", {CDC_BASE64, CDC_PLAIN, CDC_DECIMALS_TEXT, NULL, false}, true, read_maxwell},
    {"jsonl", {CDC_HEX, CDC_PLAIN, CDC_DECIMALS_TEXT, NULL, true}, false, read_jsonl},
};
const size_t cdc_n_formats = CLI_COUNT(cdc_formats);

const cdc_format *cdc_format_find(const char *name) {
  for (size_t i = 0; i < cdc_n_formats; i++) {
    if (strcmp(name, cdc_formats[i].name) == 0) {
      return &cdc_formats[i];
    }
  }
  return NULL;
}
