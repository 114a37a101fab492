/* cdc_debezium.c - Debezium's change events, as its JSON converters write them.
 *
 * Plain ({"before","after","source","op",..}), in an envelope with the schema
 * ({"schema","payload"}), with the message's key beside it ({"key","value"}), or as kcat prints
 * messages ("key" and "payload" as texts); rows alone, as ExtractNewRecordState leaves them. A
 * schema is read once; the records that begin with the same text are known by it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cdc.h"

#define MAX_SCHEMAS 256 /* that are remembered */
#define MAX_HINT_DEPTH 16

/* ------------------------------------------------------------------ schemas */

struct cdc_schema {
  cdc_schema *next;
  char *text; /* owned, n bytes */
  size_t n;
  const cdc_hint *hints; /* owned */
  size_t n_hints;
};

/* Logical types. Rule: io.debezium.time, io.debezium.data, org.apache.kafka.connect.data. */
static const struct {
  const char *name;
  cdc_encoding encoding;
  const char *type; /* of a new column; NULL: by precision and scale */
} logical_types[] = {
    {"io.debezium.time.Date", CDC_DAYS, "DATE"},
    {"io.debezium.time.Time", CDC_MILLIS, "TIME(3)"},
    {"io.debezium.time.MicroTime", CDC_MICROS, "TIME(3)"},
    {"io.debezium.time.NanoTime", CDC_NANOS, "TIME(3)"},
    {"io.debezium.time.ZonedTime", CDC_ISO, "TIME(3)"},
    {"io.debezium.time.Timestamp", CDC_MILLIS, "TIMESTAMP(3)"},
    {"io.debezium.time.MicroTimestamp", CDC_MICROS, "TIMESTAMP(6)"},
    {"io.debezium.time.NanoTimestamp", CDC_NANOS, "TIMESTAMP(9)"},
    {"io.debezium.time.ZonedTimestamp", CDC_ISO, "TIMESTAMP(6) WITH LOCAL TIME ZONE"},
    {"io.debezium.time.IsoDate", CDC_ISO, "DATE"},
    {"io.debezium.time.IsoTime", CDC_ISO, "TIME(3)"},
    {"io.debezium.time.IsoTimestamp", CDC_ISO, "TIMESTAMP(6)"},
    {"io.debezium.time.Year", CDC_PLAIN, "INT"},
    {"org.apache.kafka.connect.data.Date", CDC_DAYS, "DATE"},
    {"org.apache.kafka.connect.data.Time", CDC_MILLIS, "TIME(3)"},
    {"org.apache.kafka.connect.data.Timestamp", CDC_MILLIS, "TIMESTAMP(3)"},
    {"org.apache.kafka.connect.data.Decimal", CDC_DECIMAL, NULL},
    {"io.debezium.data.VariableScaleDecimal", CDC_VARIABLE, "STRING"},
    {"io.debezium.data.Bits", CDC_BITS, "BYTES"},
};

/* Types of Kafka Connect. */
static const struct {
  const char *name;
  cdc_encoding encoding;
  const char *type;
} connect_types[] = {
    {"boolean", CDC_PLAIN, "BOOLEAN"}, {"int8", CDC_PLAIN, "TINYINT"},
    {"int16", CDC_PLAIN, "SMALLINT"},  {"int32", CDC_PLAIN, "INT"},
    {"int64", CDC_PLAIN, "BIGINT"},    {"float", CDC_PLAIN, "FLOAT"},
    {"float32", CDC_PLAIN, "FLOAT"},   {"double", CDC_PLAIN, "DOUBLE"},
    {"float64", CDC_PLAIN, "DOUBLE"},  {"string", CDC_PLAIN, "STRING"},
    {"bytes", CDC_BINARY, "BYTES"},    {"map", CDC_PLAIN, "MAP<STRING, STRING>"},
    {"struct", CDC_PLAIN, "STRING"},
};

static int32_t parameter(const cdc_json *json, uint32_t field, const char *name,
                         int32_t otherwise) {
  uint32_t at = cdc_json_find(json, cdc_json_find(json, field, "parameters"), name);
  return at != CDC_NONE ? (int32_t)strtol(json->text + json->nodes[at].begin, NULL, 10) : otherwise;
}

/* A schema that is being read: its text is moved to `to`. */
typedef struct hint_job {
  const cdc_json *json;
  const char *from, *to;
} hint_job;

static bool read_fields(const hint_job *job, uint32_t fields, int depth, const cdc_hint **out,
                        size_t *n_out);

/* Of a list's elements, of a map's keys and values, of the fields of a struct. */
static bool read_inner(const hint_job *job, uint32_t field, int depth, cdc_hint *out);

/* What the schema of one value tells. false: no memory. */
static bool read_hint(const hint_job *job, uint32_t field, int depth, cdc_hint *out) {
  const cdc_json *json = job->json;
  uint32_t name = cdc_json_find(json, field, "name"), type = cdc_json_find(json, field, "type");
  (void)snprintf(out->type, sizeof(out->type), "STRING");
  for (size_t i = 0; i < CLI_COUNT(connect_types); i++) {
    if (cdc_json_equals(json, type, connect_types[i].name)) {
      out->encoding = connect_types[i].encoding;
      (void)snprintf(out->type, sizeof(out->type), "%s", connect_types[i].type);
    }
  }
  for (size_t i = 0; i < CLI_COUNT(logical_types); i++) {
    if (cdc_json_equals(json, name, logical_types[i].name)) {
      out->encoding = logical_types[i].encoding;
      if (logical_types[i].type != NULL) {
        (void)snprintf(out->type, sizeof(out->type), "%s", logical_types[i].type);
      }
    }
  }
  if (out->encoding == CDC_DECIMAL) {
    out->scale = parameter(json, field, "scale", 0);
    out->precision = parameter(json, field, "connect.decimal.precision", 38);
    out->precision = out->precision > 0 && out->precision <= 38 ? out->precision : 38;
    (void)snprintf(out->type, sizeof(out->type), "DECIMAL(%d, %d)", (int)out->precision,
                   (int)out->scale);
  }
  return depth == MAX_HINT_DEPTH || read_inner(job, field, depth + 1, out);
}

static bool read_inner(const hint_job *job, uint32_t field, int depth, cdc_hint *out) {
  static const char *const of_list[] = {"items"}, *const of_map[] = {"keys", "values"};
  const cdc_json *json = job->json;
  uint32_t type = cdc_json_find(json, field, "type");
  bool is_list = cdc_json_equals(json, type, "array");
  const char *const *names = is_list ? of_list : of_map;
  size_t n = is_list ? 1 : 2;
  cdc_hint *inner;
  if (cdc_json_equals(json, type, "struct")) {
    return read_fields(job, cdc_json_find(json, field, "fields"), depth, &out->inner,
                       &out->n_inner);
  }
  if (!is_list && !cdc_json_equals(json, type, "map")) {
    return true;
  }
  out->inner = inner = calloc(n, sizeof(*inner));
  out->n_inner = inner != NULL ? n : 0;
  for (size_t i = 0; i < out->n_inner; i++) {
    if (!read_hint(job, cdc_json_find(json, field, names[i]), depth, &inner[i])) {
      return false;
    }
  }
  if (inner != NULL && is_list && strlen(inner->type) + sizeof("ARRAY<>") <= sizeof(out->type)) {
    (void)snprintf(out->type, sizeof(out->type), "ARRAY<%.50s>", inner->type);
  }
  return inner != NULL;
}

static void free_hints(const cdc_hint *hints, size_t n) {
  for (size_t i = 0; i < n; i++) { /* no deeper than MAX_HINT_DEPTH */
    free_hints(hints[i].inner, hints[i].n_inner);
  }
  free((void *)(uintptr_t)hints);
}

static void free_schema(cdc_schema *schema) {
  free_hints(schema->hints, schema->n_hints);
  free(schema->text);
  free(schema);
}

void cdc_schemas_free(cdc_reader *reader) {
  while (reader->schemas != NULL) {
    cdc_schema *next = reader->schemas->next;
    free_schema(reader->schemas);
    reader->schemas = next;
  }
}

/* The fields of the rows: those of "after" or "before" in an envelope, else the schema's own. */
static uint32_t row_fields(const cdc_json *json, uint32_t schema) {
  uint32_t fields = cdc_json_find(json, schema, "fields");
  if (!cdc_json_is(json, fields, CDC_LIST)) {
    return CDC_NONE;
  }
  for (uint32_t i = fields + 1; i < json->nodes[fields].after; i = json->nodes[i].after) {
    uint32_t field = cdc_json_find(json, i, "field");
    if (cdc_json_equals(json, field, "after") || cdc_json_equals(json, field, "before")) {
      uint32_t inner = cdc_json_find(json, i, "fields");
      return cdc_json_is(json, inner, CDC_LIST) ? inner : CDC_NONE;
    }
  }
  return fields;
}

static bool read_fields(const hint_job *job, uint32_t fields, int depth, const cdc_hint **out,
                        size_t *n_out) {
  const cdc_json *json = job->json;
  uint32_t n = 0;
  cdc_hint *hints;
  if (!cdc_json_is(json, fields, CDC_LIST)) {
    return true;
  }
  for (uint32_t i = fields + 1; i < json->nodes[fields].after; i = json->nodes[i].after) {
    n++;
  }
  *out = hints = calloc((size_t)n + 1, sizeof(*hints));
  if (hints == NULL) {
    return false;
  }
  for (uint32_t i = fields + 1; i < json->nodes[fields].after; i = json->nodes[i].after) {
    uint32_t name = cdc_json_find(json, i, "field");
    cdc_hint *hint = &hints[*n_out];
    if (!cdc_json_is(json, name, CDC_STRING)) {
      continue;
    }
    ++*n_out;
    if (!read_hint(job, i, depth, hint)) {
      return false;
    }
    hint->name = job->to + (json->text + json->nodes[name].begin - job->from);
    hint->n_name = json->nodes[name].n;
    hint->name_has_escapes = json->nodes[name].has_escapes;
  }
  return true;
}

static void use_schema(cdc_reader *reader, cdc_schema *schema, cdc_schema **link) {
  *link = schema->next;
  schema->next = reader->schemas;
  reader->schemas = schema;
}

const cdc_schema *cdc_schema_take(cdc_reader *reader, uint32_t at) {
  const cdc_json *json = &reader->json;
  const char *text = json->text + json->nodes[at].begin;
  size_t n = json->nodes[at].n, count = 0;
  uint32_t fields = row_fields(json, at);
  cdc_schema *made, **link = &reader->schemas;
  hint_job job;
  for (; *link != NULL; link = &(*link)->next) {
    if ((*link)->n == n && memcmp((*link)->text, text, n) == 0) {
      use_schema(reader, *link, link);
      return reader->schemas;
    }
    if (++count == MAX_SCHEMAS) {
      free_schema(*link); /* the one that was used longest ago */
      *link = NULL;
      break;
    }
  }
  if (fields == CDC_NONE) {
    return NULL;
  }
  made = calloc(1, sizeof(*made));
  if (made == NULL) {
    return NULL;
  }
  made->text = malloc(n + 1);
  made->n = n;
  job = (hint_job){json, text, made->text};
  if (made->text == NULL || !read_fields(&job, fields, 0, &made->hints, &made->n_hints)) {
    free_schema(made);
    return NULL;
  }
  memcpy(made->text, text, n);
  made->next = reader->schemas;
  reader->schemas = made;
  return made;
}

static size_t skip_blanks(const char *text, size_t at) {
  while (text[at] == ' ' || text[at] == '\t') {
    at++;
  }
  return at;
}

size_t cdc_schema_recognize(cdc_reader *reader, const char *text, size_t n) {
  static const char name[] = "\"schema\"";
  cdc_schema **link = &reader->schemas;
  size_t at = skip_blanks(text, 0);
  reader->schema_in_front = NULL;
  if (text[at] != '{') {
    return 0;
  }
  at = skip_blanks(text, at + 1);
  if (strncmp(text + at, name, sizeof(name) - 1) != 0) {
    return 0;
  }
  at = skip_blanks(text, at + sizeof(name) - 1);
  if (text[at] != ':') {
    return 0;
  }
  at = skip_blanks(text, at + 1);
  for (; *link != NULL; link = &(*link)->next) {
    if ((*link)->n < n - at && memcmp((*link)->text, text + at, (*link)->n) == 0) {
      use_schema(reader, *link, link);
      reader->schema_in_front = reader->schemas;
      return at + reader->schemas->n;
    }
  }
  return 0;
}

const cdc_hint *cdc_schema_find(const cdc_schema *schema, const char *name, size_t n,
                                size_t *next) {
  return schema != NULL ? cdc_hint_find(schema->hints, schema->n_hints, name, n, next) : NULL;
}

/* ------------------------------------------------------------------ wrapped messages */

/* One half of a message: its JSON, whether it stands there as it is or as a text. */
static void add_half(cdc_reader *reader, const char *name, uint32_t at) {
  const cdc_json *json = &reader->json;
  const char *text = "null";
  size_t n = 4;
  if (at != CDC_NONE && (json->nodes[at].kind != CDC_STRING || json->nodes[at].n > 0)) {
    cdc_json_string(json, at, &reader->scratch, &text, &n);
  }
  cli_text_puts(&reader->unwrapped, name);
  cli_text_add(&reader->unwrapped, text, n);
}

/* A message whose halves are texts: as one JSON text without them. */
static bool unwrap(cdc_reader *reader, uint32_t key, uint32_t value, cli_row_fault *fault) {
  reader->unwrapped.len = 0;
  reader->wrapped_at = reader->json.nodes[value != CDC_NONE ? value : 0].begin;
  add_half(reader, "{\"key\":", key);
  add_half(reader, ",\"value\":", value);
  cli_text_char(&reader->unwrapped, '}');
  for (size_t i = 0; i < reader->unwrapped.len; i++) { /* JSON texts may have lines; one has none */
    char c = reader->unwrapped.data[i];
    reader->unwrapped.data[i] = c == '\n' || c == '\r' ? ' ' : c;
  }
  return cdc_reparse(reader, fault);
}

/* Is it a change, or a row that was taken out of one? Such a row may have columns of any name,
 * those of envelopes, too. */
static bool is_change(const cdc_json *json, uint32_t at) {
  return cdc_json_find(json, at, "op") != CDC_NONE || cdc_json_find(json, at, "__op") != CDC_NONE ||
         cdc_json_find(json, at, "__deleted") != CDC_NONE;
}

/* The content of a half: without its schema. (What stands in front of a known schema's record is
 * not among the nodes.) */
static uint32_t content(const cdc_json *json, uint32_t at) {
  uint32_t payload = cdc_json_find(json, at, "payload");
  bool is_envelope = payload != CDC_NONE &&
                     ((payload == at + 1 && json->nodes[payload].after == json->nodes[at].after) ||
                      cdc_json_find(json, at, "schema") != CDC_NONE);
  return is_envelope ? payload : at;
}

/* ------------------------------------------------------------------ records */

/* A value without "op": no change of rows. */
static bool read_other(cdc_reader *reader, uint32_t root, cdc_record *out, cli_row_fault *fault) {
  const cdc_json *json = &reader->json;
  static const struct {
    const char *member;
    cdc_class class;
  } others[] = {{"ddl", CDC_DDL},
                {"tableChanges", CDC_DDL},
                {"data_collections", CDC_TRANSACTION},
                {"event_count", CDC_TRANSACTION}};
  bool has_others = json->nodes[root].after == root + 1;
  for (size_t i = 0; i < CLI_COUNT(others); i++) {
    if (cdc_json_find(json, root, others[i].member) != CDC_NONE) {
      out->class = others[i].class;
      return true;
    }
  }
  if (cdc_json_find(json, root, "status") != CDC_NONE &&
      cdc_json_find(json, root, "id") != CDC_NONE) {
    out->class = CDC_TRANSACTION;
    return true;
  }
  for (uint32_t i = root + 1; i < json->nodes[root].after; i = json->nodes[i].after) {
    has_others |=
        json->nodes[i].n_key < 3 || memcmp(json->text + json->nodes[i].key, "ts_", 3) != 0;
  }
  if (!has_others) {
    out->class = CDC_HEARTBEAT;
    return true;
  }
  return cdc_wrong(json, root,
                   "a change of Debezium with the field 'op', or a row with '__op' or '__deleted' "
                   "in it (ExtractNewRecordState with add.fields=op)",
                   fault);
}

static bool wrong_field(const cdc_json *json, uint32_t at, uint32_t root, const char *expected,
                        cli_row_fault *fault) {
  return cdc_wrong(json, at != CDC_NONE ? at : root, expected, fault);
}

static bool read_names(cdc_reader *reader, uint32_t root, cdc_record *out, cli_row_fault *fault) {
  const cdc_json *json = &reader->json;
  uint32_t source = cdc_json_find(json, root, "source");
  uint32_t table = cdc_json_find(json, source, "table");
  if (!cdc_json_is_null(json, source) && !cdc_json_is(json, source, CDC_OBJECT)) {
    return cdc_wrong(json, source, "the source as an object", fault);
  }
  out->is_own = cdc_json_equals(json, cdc_json_find(json, source, "connector"), "tarn");
  return (cdc_take_name(reader, table, &out->table) &&
          cdc_take_name(reader, cdc_json_find(json, source, "db"), &out->database) &&
          cdc_take_name(reader, cdc_json_find(json, source, "schema"), &out->schema_name)) ||
         cdc_wrong(json, source, "shorter names", fault);
}

static bool read_change(cdc_reader *reader, uint32_t root, uint32_t op, uint32_t key,
                        cdc_record *out, cli_row_fault *fault) {
  const cdc_json *json = &reader->json;
  uint32_t before = cdc_json_find(json, root, "before");
  uint32_t after = cdc_json_find(json, root, "after");
  char letter = json->text[json->nodes[op].begin];
  cdc_change *change = cdc_add_change(reader, out, fault);
  if (change == NULL) {
    return false;
  }
  change->op = letter == 'u' ? CDC_UPDATE : letter == 'd' ? CDC_DELETE : CDC_INSERT;
  if (!cdc_json_is_null(json, before) && !cdc_json_is(json, before, CDC_OBJECT)) {
    return cdc_wrong(json, before, "the row before as an object", fault);
  }
  if (change->op != CDC_DELETE) {
    if (!cdc_json_is(json, after, CDC_OBJECT)) {
      return wrong_field(json, after, root, "the row as an object in the field 'after'", fault);
    }
    change->after = after;
    change->before = cdc_json_is_null(json, before) ? CDC_NONE : before;
    return true;
  }
  if (cdc_json_is_null(json, before)) { /* the key is all there is of the row */
    before = key != CDC_NONE ? content(json, key) : CDC_NONE;
    if (!cdc_json_is(json, before, CDC_OBJECT)) {
      return cdc_wrong(json, root,
                       "the deleted row in the field 'before', or the message's key beside the "
                       "value ({\"key\":{..},\"value\":{..}})",
                       fault);
    }
  }
  change->before = before;
  return true;
}

/* The first of these members that is a text. */
static bool take_flat_name(cdc_reader *reader, uint32_t root, const char *short_name,
                           const char *long_name, cdc_name *out) {
  uint32_t at = cdc_json_find(&reader->json, root, short_name);
  return cdc_take_name(reader, at != CDC_NONE ? at : cdc_json_find(&reader->json, root, long_name),
                       out);
}

/* A message with no value. Behind a delete it is for the log's compaction alone; of rows that are
 * taken out of their changes, and do not say themselves that they are deleted, it is the delete.
 * Rule: delete.tombstone.handling.mode (delete.handling.mode=drop, drop.tombstones=false). */
static bool read_tombstone(cdc_reader *reader, uint32_t key, cdc_record *out,
                           cli_row_fault *fault) {
  const cdc_json *json = &reader->json;
  uint32_t row = key != CDC_NONE ? content(json, key) : CDC_NONE;
  cdc_change *change;
  out->class = CDC_TOMBSTONE;
  if (!reader->tombstone_is_all) {
    return true;
  }
  out->class = CDC_ROWS;
  if (!cdc_json_is(json, row, CDC_OBJECT)) {
    return cdc_wrong(json, row != CDC_NONE ? row : 0,
                     "the message's key beside it ({\"key\":{..},\"value\":null}): of flat rows "
                     "without '__deleted' a tombstone is all that tells of a delete",
                     fault);
  }
  change = cdc_add_change(reader, out, fault);
  if (change == NULL) {
    return false;
  }
  out->is_flat = true;
  change->op = CDC_DELETE;
  change->before = row;
  return true;
}

/* What ExtractNewRecordState leaves of a change: the row, with "__op", "__deleted", "__table" in it
 * (add.fields, delete.tombstone.handling.mode=rewrite). */
static bool read_flat(cdc_reader *reader, uint32_t root, cdc_record *out, cli_row_fault *fault) {
  const cdc_json *json = &reader->json;
  uint32_t op = cdc_json_find(json, root, "__op");
  uint32_t deleted = cdc_json_find(json, root, "__deleted");
  bool has_op = !cdc_json_is_null(json, op);
  char letter = 'u';
  cdc_change *change = cdc_add_change(reader, out, fault);
  if (change == NULL) {
    return false;
  }
  if (has_op) {
    letter = json->text[json->nodes[op].begin];
    if (!cdc_json_is(json, op, CDC_STRING) || json->nodes[op].n != 1 ||
        strchr("crud", letter) == NULL) {
      return cdc_wrong(json, op, "\"c\", \"r\", \"u\" or \"d\"", fault);
    }
  }
  if (cdc_json_is(json, deleted, CDC_TRUE) || cdc_json_equals(json, deleted, "true")) {
    letter = 'd';
  }
  out->is_flat = true;
  reader->tombstone_is_all = deleted == CDC_NONE;
  change->op = letter == 'd' ? CDC_DELETE : letter == 'u' ? CDC_UPDATE : CDC_INSERT;
  change->before = letter == 'd' ? root : CDC_NONE;
  change->after = letter == 'd' ? CDC_NONE : root;
  return (take_flat_name(reader, root, "__table", "__source_table", &out->table) &&
          take_flat_name(reader, root, "__db", "__source_db", &out->database) &&
          take_flat_name(reader, root, "__schema", "__source_schema", &out->schema_name)) ||
         cdc_wrong(json, root, "shorter names", fault);
}

bool cdc_read_debezium(cdc_reader *reader, cdc_record *out, cli_row_fault *fault) {
  const cdc_json *json = &reader->json;
  uint32_t key = CDC_NONE, value = CDC_NONE, payload = CDC_NONE, root = 0, schema, op;
  bool is_kcat = false;
  if (json->nodes[0].kind == CDC_NULL) {
    return read_tombstone(reader, CDC_NONE, out, fault);
  }
  if (!is_change(json, 0)) {
    key = cdc_json_find(json, 0, "key");
    value = cdc_json_find(json, 0, "value");
    payload = cdc_json_find(json, 0, "payload");
    is_kcat = payload != CDC_NONE && cdc_json_find(json, 0, "topic") != CDC_NONE;
  }
  if (is_kcat || cdc_json_is(json, value, CDC_STRING) || cdc_json_is(json, key, CDC_STRING)) {
    bool is_null = cdc_json_is_null(json, is_kcat ? payload : value);
    if (is_null && !reader->tombstone_is_all) { /* whatever the key is */
      out->class = CDC_TOMBSTONE;
      return true;
    }
    if (!unwrap(reader, key, is_kcat ? payload : value, fault)) {
      return false;
    }
    key = cdc_json_find(json, 0, "key");
    value = cdc_json_find(json, 0, "value");
  }
  if (value != CDC_NONE) {
    root = value;
  } else {
    key = CDC_NONE;
  }
  schema = cdc_json_find(json, root, "schema");
  if (cdc_json_is(json, schema, CDC_OBJECT)) {
    out->schema = cdc_schema_take(reader, schema);
  } else if (!reader->is_unwrapped && root == 0) {
    out->schema = reader->schema_in_front;
  }
  root = is_change(json, root) ? root : content(json, root);
  out->meta = root;
  if (json->nodes[root].kind == CDC_NULL) {
    return read_tombstone(reader, key, out, fault);
  }
  if (json->nodes[root].kind != CDC_OBJECT) {
    return cdc_wrong(json, root, "a change as an object", fault);
  }
  op = cdc_json_find(json, root, "op");
  if (op == CDC_NONE && (cdc_json_find(json, root, "__op") != CDC_NONE ||
                         cdc_json_find(json, root, "__deleted") != CDC_NONE)) {
    return read_flat(reader, root, out, fault);
  }
  if (op == CDC_NONE) {
    return read_other(reader, root, out, fault);
  }
  if (!cdc_json_is(json, op, CDC_STRING) || json->nodes[op].n != 1 ||
      strchr("crudtm", json->text[json->nodes[op].begin]) == NULL) {
    return cdc_wrong(json, op, "\"c\", \"r\", \"u\", \"d\" or \"t\"", fault);
  }
  if (json->text[json->nodes[op].begin] == 'm') {
    out->class = CDC_OTHER;
    return true;
  }
  if (!read_names(reader, root, out, fault)) {
    return false;
  }
  if (json->text[json->nodes[op].begin] == 't') {
    out->class = CDC_TRUNCATE;
    return true;
  }
  return read_change(reader, root, op, key, out, fault);
}
