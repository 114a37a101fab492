/* room: cli */
/* Any text as a record of a change feed, by each connector's format, with and without a change of
 * the schema: it is taken, refused with a reason and a place in it, or skipped; what was refused
 * leaves no row behind, and what was taken leaves whole ones. */
#include <stdlib.h>

#include "cdc_target.h"
#include "nanoarrow/nanoarrow.h"

static void need(bool holds) {
  if (!holds) {
    abort();
  }
}

static tarn_env *env;
static const struct {
  const char *name, *sql;
  enum ArrowType type;
  enum ArrowTimeUnit unit; /* of times */
} columns[] = {
    {"id", "INT NOT NULL", NANOARROW_TYPE_INT32, NANOARROW_TIME_UNIT_SECOND},
    {"s", "VARCHAR(5)", NANOARROW_TYPE_STRING, NANOARROW_TIME_UNIT_SECOND},
    {"n", "TINYINT NOT NULL", NANOARROW_TYPE_INT8, NANOARROW_TIME_UNIT_SECOND},
    {"d", "DOUBLE", NANOARROW_TYPE_DOUBLE, NANOARROW_TIME_UNIT_SECOND},
    {"bo", "BOOLEAN", NANOARROW_TYPE_BOOL, NANOARROW_TIME_UNIT_SECOND},
    {"b", "BYTES", NANOARROW_TYPE_BINARY, NANOARROW_TIME_UNIT_SECOND},
    {"da", "DATE", NANOARROW_TYPE_DATE32, NANOARROW_TIME_UNIT_SECOND},
    {"tm", "TIME(6)", NANOARROW_TYPE_TIME32, NANOARROW_TIME_UNIT_MILLI},
    {"t3", "TIMESTAMP(3)", NANOARROW_TYPE_TIMESTAMP, NANOARROW_TIME_UNIT_MILLI},
    {"t9", "TIMESTAMP(9)", NANOARROW_TYPE_TIMESTAMP, NANOARROW_TIME_UNIT_NANO},
    {"dec", "DECIMAL(10, 2)", NANOARROW_TYPE_DECIMAL128, NANOARROW_TIME_UNIT_SECOND},
    {"arr", "ARRAY<INT>", NANOARROW_TYPE_LIST, NANOARROW_TIME_UNIT_SECOND},
    {"m", "MAP<STRING, INT>", NANOARROW_TYPE_MAP, NANOARROW_TIME_UNIT_SECOND},
};

static void set_column(struct ArrowSchema *out, size_t i) {
  struct ArrowBuffer metadata;
  enum ArrowType type = columns[i].type;
  if (type == NANOARROW_TYPE_TIME32 || type == NANOARROW_TYPE_TIMESTAMP) {
    need(ArrowSchemaSetTypeDateTime(out, type, columns[i].unit, NULL) == 0);
  } else if (type == NANOARROW_TYPE_DECIMAL128) {
    need(ArrowSchemaSetTypeDecimal(out, type, 10, 2) == 0);
  } else {
    need(ArrowSchemaSetType(out, type) == 0);
  }
  if (type == NANOARROW_TYPE_LIST) {
    need(ArrowSchemaSetType(out->children[0], NANOARROW_TYPE_INT32) == 0);
  } else if (type == NANOARROW_TYPE_MAP) {
    need(ArrowSchemaSetType(out->children[0]->children[0], NANOARROW_TYPE_STRING) == 0);
    need(ArrowSchemaSetType(out->children[0]->children[1], NANOARROW_TYPE_INT32) == 0);
  }
  need(ArrowSchemaSetName(out, columns[i].name) == 0);
  out->flags = strstr(columns[i].sql, "NOT NULL") == NULL ? ARROW_FLAG_NULLABLE : 0;
  need(ArrowMetadataBuilderInit(&metadata, NULL) == 0);
  need(ArrowMetadataBuilderAppend(&metadata, ArrowCharView("paimon.type"),
                                  ArrowCharView(columns[i].sql)) == 0);
  need(ArrowSchemaSetMetadata(out, (const char *)metadata.data) == 0);
  ArrowBufferReset(&metadata);
}

static cli_columns *make_columns(void) {
  struct ArrowSchema schema;
  cli_columns *out;
  tarn_error err;
  ArrowSchemaInit(&schema);
  need(ArrowSchemaSetTypeStruct(&schema, CLI_COUNT(columns)) == 0);
  for (size_t i = 0; i < CLI_COUNT(columns); i++) {
    set_column(schema.children[i], i);
  }
  need(cli_columns_create(env, &schema, 0, "_row_kind", &out, &err) == TARN_OK);
  return out;
}

/* What a record names is within it. */
static void take(cdc_target *t, cdc_reader *reader, const char *text, size_t n) {
  cdc_record record;
  cli_row_fault fault = {SIZE_MAX, ""};
  cli_text changes = {0};
  int64_t before = cli_columns_rows(t->columns);
  if (!cdc_read(reader, text, n, &record, &fault)) {
    need(fault.at <= n && fault.message[0] != '\0');
    return;
  }
  if (record.class == CDC_ROWS) {
    cdc_outcome outcome = cdc_target_add(t, reader, &record, &changes, &fault);
    need(outcome != CDC_FAULT || (fault.at <= n && fault.message[0] != '\0'));
    need(outcome != CDC_EVOLVE || changes.len > 2);
    need(outcome == CDC_TAKEN || cli_columns_rows(t->columns) == before);
  }
  for (size_t i = 0; i < CLI_COUNT(columns); i++) {
    need(t->columns->root.children[i].array->length == cli_columns_rows(t->columns));
  }
  cli_text_reset(&changes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static const tarn_option metas[] = {{"t3", "ts_ms"}, {"d", "source.lsn"}};
  bool is_key[CLI_COUNT(columns)] = {true};
  cdc_run run = {.kind_name = "_row_kind"};
  bool keeps_null[CLI_COUNT(columns)] = {false, true, false, true}; /* s, d */
  bool is_order[CLI_COUNT(columns)] = {false, false, false, true};  /* d */
  cdc_target t = {.run = &run, .is_key = is_key, .keeps_null = keeps_null, .is_order = is_order};
  cdc_reader reader;
  struct ArrowSchema schema;
  struct ArrowArray array;
  tarn_error err;
  char *text;
  if (n == 0) {
    return 0;
  }
  if (env == NULL) {
    need(tarn_env_create(NULL, &env, &err) == TARN_OK);
  }
  text = malloc(n);
  need(text != NULL);
  memcpy(text, data + 1, n - 1);
  text[n - 1] = '\n'; /* what readers put behind a record */
  run.format = &cdc_formats[data[0] & 3];
  run.style = run.format->style;
  run.evolves = data[0] & 4;
  t.has_key = true;
  t.wants_before = data[0] & 8;
  t.needs_values = data[0] & 16;
  t.has_order = t.needs_all_order = data[0] & 128;
  run.style.zone = data[0] & 32 ? "Europe/Berlin" : NULL;
  run.metas = metas;
  run.n_metas = data[0] & 64 ? CLI_COUNT(metas) : 0;
  t.values.style = run.style;
  t.columns = t.values.columns = make_columns();
  need(cli_columns_begin(t.columns, &err) == TARN_OK);
  t.metas = (cli_column *[]){&t.columns->root.children[8], &t.columns->root.children[3]};
  cdc_reader_init(&reader, run.format, run.kind_name);
  for (size_t at = 0; at < n - 1;) { /* lines; the second of a schema is known by the first */
    const char *end = memchr(text + at, '\n', n - at);
    take(&t, &reader, text + at, (size_t)(end - text) - at);
    at = (size_t)(end - text) + 1;
  }
  need(cli_columns_finish(t.columns, &schema, &array, &err) == TARN_OK);
  cdc_reader_reset(&reader);
  cdc_values_reset(&t.values);
  cli_columns_free(t.columns);
  free(text);
  return 0;
}
