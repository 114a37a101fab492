/* columns.c - rows that are read in: Arrow arrays that grow by one value at a time. */
#include "columns.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "args.h"
#include "nanoarrow/nanoarrow.h"
#include "nearest.h"
#include "utf8.h"

#define MAX_DEPTH 64
#define MAX_KEY_SHOWN 40

bool cli_expected(cli_columns *columns, const char *format, ...) {
  va_list args;
  va_start(args, format);
  (void)vsnprintf(columns->expected, sizeof(columns->expected), format, args);
  va_end(args);
  return false;
}

static bool out_of_memory(cli_columns *columns) {
  columns->is_out_of_memory = true;
  return cli_expected(columns, "less, for memory is out");
}

/* What an append of nanoarrow's says. */
static bool appended(cli_columns *columns, ArrowErrorCode code) {
  if (code == NANOARROW_OK) {
    return true;
  }
  return code == EOVERFLOW ? cli_expected(columns, "less than 2 GiB in one column of a batch")
                           : out_of_memory(columns);
}

/* ------------------------------------------------------------------ schema */

static tarn_status unsupported(const struct ArrowSchema *schema, tarn_error *err) {
  return cli_error(err, TARN_E_UNSUPPORTED,
                   "column '%s': rows cannot be read in for the Arrow type '%s'",
                   schema->name != NULL ? schema->name : "", schema->format);
}

static int digits_of_unit(enum ArrowTimeUnit unit) {
  return unit == NANOARROW_TIME_UNIT_SECOND  ? 0
         : unit == NANOARROW_TIME_UNIT_MILLI ? 3
         : unit == NANOARROW_TIME_UNIT_MICRO ? 6
                                             : 9;
}

static void set_int(cli_column *c, int bits) {
  c->kind = CLI_COLUMN_INT;
  c->max = (int64_t)(UINT64_MAX >> (65 - bits));
  c->min = -c->max - 1;
}

/* Kind and measures of a type; false: none that tables have. */
static bool set_kind(cli_column *c, const struct ArrowSchemaView *view) {
  static const struct {
    enum ArrowType type;
    cli_column_kind kind;
    const char *sql;
  } kinds[] = {
      {NANOARROW_TYPE_BOOL, CLI_COLUMN_BOOLEAN, "BOOLEAN"},
      {NANOARROW_TYPE_INT8, CLI_COLUMN_INT, "TINYINT"},
      {NANOARROW_TYPE_INT16, CLI_COLUMN_INT, "SMALLINT"},
      {NANOARROW_TYPE_INT32, CLI_COLUMN_INT, "INT"},
      {NANOARROW_TYPE_INT64, CLI_COLUMN_INT, "BIGINT"},
      {NANOARROW_TYPE_FLOAT, CLI_COLUMN_FLOAT, "FLOAT"},
      {NANOARROW_TYPE_DOUBLE, CLI_COLUMN_DOUBLE, "DOUBLE"},
      {NANOARROW_TYPE_DECIMAL128, CLI_COLUMN_DECIMAL, "DECIMAL"},
      {NANOARROW_TYPE_STRING, CLI_COLUMN_TEXT, "STRING"},
      {NANOARROW_TYPE_BINARY, CLI_COLUMN_BYTES, "BYTES"},
      {NANOARROW_TYPE_DATE32, CLI_COLUMN_DATE, "DATE"},
      {NANOARROW_TYPE_TIME32, CLI_COLUMN_TIME, "TIME"},
      {NANOARROW_TYPE_TIMESTAMP, CLI_COLUMN_TIMESTAMP, "TIMESTAMP"},
      {NANOARROW_TYPE_LIST, CLI_COLUMN_LIST, "ARRAY"},
      {NANOARROW_TYPE_FIXED_SIZE_LIST, CLI_COLUMN_VECTOR, "VECTOR"},
      {NANOARROW_TYPE_MAP, CLI_COLUMN_MAP, "MAP"},
      {NANOARROW_TYPE_STRUCT, CLI_COLUMN_ROW, "ROW"},
  };
  static const char variant[] = "arrow.parquet.variant";
  for (size_t i = 0; i < CLI_COUNT(kinds); i++) {
    if (kinds[i].type == view->type) {
      c->kind = kinds[i].kind;
      c->type = kinds[i].sql;
      if (c->kind == CLI_COLUMN_INT) {
        set_int(c, 8 << (i - 1));
      } else if (c->kind == CLI_COLUMN_DECIMAL) {
        c->precision = view->decimal_precision;
        c->scale = view->decimal_scale;
      } else if (c->kind == CLI_COLUMN_TIMESTAMP) {
        c->scale = digits_of_unit(view->time_unit);
        c->is_instant = view->timezone != NULL && view->timezone[0] != '\0';
        c->is_wide = view->time_unit == NANOARROW_TIME_UNIT_NANO;
      } else if (c->kind == CLI_COLUMN_VECTOR) {
        c->length = view->fixed_size;
      } else if (c->kind == CLI_COLUMN_ROW && view->extension_name.data != NULL &&
                 (size_t)view->extension_name.size_bytes == sizeof(variant) - 1 &&
                 memcmp(view->extension_name.data, variant, sizeof(variant) - 1) == 0) {
        c->kind = CLI_COLUMN_VARIANT;
        c->type = "VARIANT";
      }
      c->n_type = strlen(c->type);
      return true;
    }
  }
  return false;
}

static tarn_status init_column(cli_column *c, cli_column *parent, const struct ArrowSchema *schema,
                               int depth, tarn_error *err) {
  struct ArrowSchemaView view;
  struct ArrowStringView sql = {NULL, 0};
  if (depth > MAX_DEPTH || ArrowSchemaViewInit(&view, schema, NULL) != NANOARROW_OK ||
      !set_kind(c, &view)) {
    return unsupported(schema, err);
  }
  c->parent = parent;
  c->name = schema->name != NULL ? schema->name : "";
  c->n_name = strlen(c->name);
  c->takes_null = (schema->flags & ARROW_FLAG_NULLABLE) != 0;
  if (ArrowMetadataGetValue(schema->metadata, ArrowCharView("paimon.type"), &sql) == NANOARROW_OK &&
      sql.size_bytes > 0) {
    c->type = sql.data;
    c->n_type = (size_t)sql.size_bytes;
  }
  if (c->kind < CLI_COLUMN_LIST || c->kind == CLI_COLUMN_VARIANT) {
    return TARN_OK;
  }
  c->children = calloc((size_t)schema->n_children + 1, sizeof(*c->children));
  if (c->children == NULL) {
    return cli_no_memory(err);
  }
  for (int64_t i = 0; i < schema->n_children; i++) {
    tarn_status st;
    c->n_children = (int32_t)i + 1;
    st = init_column(&c->children[i], c, schema->children[i], depth + 1, err);
    if (st != TARN_OK) {
      return st;
    }
  }
  return TARN_OK;
}

static void free_column(cli_column *c) {
  for (int32_t i = 0; i < c->n_children; i++) {
    free_column(&c->children[i]); /* no deeper than MAX_DEPTH */
  }
  free(c->children);
}

/* A decimal of seconds, which "paimon.type" tells from a number. */
static int widen_time(const cli_column *c, struct ArrowSchema *schema) {
  const struct ArrowStringView key = ArrowCharView("paimon.type");
  struct ArrowBuffer metadata;
  int code = ArrowSchemaSetTypeDecimal(schema, NANOARROW_TYPE_DECIMAL128, 38, 9);
  if (code != NANOARROW_OK || ArrowMetadataHasKey(schema->metadata, key)) {
    return code;
  }
  code = ArrowMetadataBuilderInit(&metadata, schema->metadata);
  if (code == NANOARROW_OK) {
    code = ArrowMetadataBuilderAppend(
        &metadata, key,
        ArrowCharView(c->is_instant ? "TIMESTAMP(9) WITH LOCAL TIME ZONE" : "TIMESTAMP(9)"));
    code =
        code == NANOARROW_OK ? ArrowSchemaSetMetadata(schema, (const char *)metadata.data) : code;
    ArrowBufferReset(&metadata);
  }
  return code;
}

/* Timestamps of nanoseconds become decimals; the columns, which were made before, know them for
 * what they are. */
static int widen_times(const cli_column *c, struct ArrowSchema *schema) {
  int code = c->is_wide ? widen_time(c, schema) : NANOARROW_OK;
  for (int32_t i = 0; i < c->n_children && code == NANOARROW_OK; i++) {
    code = widen_times(&c->children[i], schema->children[i]); /* no deeper than MAX_DEPTH */
  }
  return code;
}

/* The schema with the row kind behind its columns. */
static int add_kind_column(struct ArrowSchema *from, size_t n_columns, const char *kind_name,
                           struct ArrowSchema *out) {
  int64_t n = n_columns > 0 ? (int64_t)n_columns : from->n_children;
  int code;
  ArrowSchemaInit(out);
  code = ArrowSchemaSetTypeStruct(out, n + 1);
  if (code == NANOARROW_OK) {
    code = ArrowSchemaSetType(out->children[n], NANOARROW_TYPE_INT8);
  }
  if (code == NANOARROW_OK) {
    code = ArrowSchemaSetName(out->children[n], kind_name != NULL ? kind_name : "");
  }
  for (int64_t i = 0; i < n && code == NANOARROW_OK; i++) {
    out->children[i]->release(out->children[i]); /* a copy may be changed */
    code = ArrowSchemaDeepCopy(from->children[i], out->children[i]);
  }
  return code;
}

tarn_status cli_columns_create(tarn_env *env, struct ArrowSchema *schema, size_t n_columns,
                               const char *kind_name, cli_columns **out, tarn_error *err) {
  cli_columns *columns = calloc(1, sizeof(*columns));
  tarn_status st = columns == NULL ? cli_no_memory(err) : TARN_OK;
  *out = NULL;
  if (st == TARN_OK) {
    columns->env = env;
    columns->kind_name = kind_name;
    if (add_kind_column(schema, n_columns, kind_name, &columns->schema) != NANOARROW_OK) {
      st = cli_no_memory(err);
    }
  }
  schema->release(schema);
  if (st == TARN_OK) {
    columns->schema.n_children--;
    st = init_column(&columns->root, NULL, &columns->schema, 0, err);
    columns->schema.n_children++;
    if (st == TARN_OK && widen_times(&columns->root, &columns->schema) != NANOARROW_OK) {
      st = cli_no_memory(err);
    }
  }
  if (st != TARN_OK) {
    cli_columns_free(columns);
    return st;
  }
  *out = columns;
  return TARN_OK;
}

void cli_columns_free(cli_columns *columns) {
  if (columns != NULL) {
    free_column(&columns->root);
    if (columns->array.release != NULL) {
      columns->array.release(&columns->array);
    }
    if (columns->schema.release != NULL) {
      columns->schema.release(&columns->schema);
    }
    cli_text_reset(&columns->keys);
    free(columns->key_list);
    free(columns);
  }
}

/* ------------------------------------------------------------------ batches */

static void bind(cli_column *c, struct ArrowArray *array) {
  c->array = array;
  for (int32_t i = 0; i < c->n_children; i++) {
    bind(&c->children[i], array->children[i]);
  }
}

tarn_status cli_columns_begin(cli_columns *columns, tarn_error *err) {
  if (columns->array.release != NULL) {
    columns->array.release(&columns->array);
  }
  if (ArrowArrayInitFromSchema(&columns->array, &columns->schema, NULL) != NANOARROW_OK ||
      ArrowArrayStartAppending(&columns->array) != NANOARROW_OK) {
    return cli_no_memory(err);
  }
  bind(&columns->root, &columns->array);
  columns->kinds = columns->array.children[columns->array.n_children - 1];
  columns->has_kinds = columns->has_kind = false;
  return TARN_OK;
}

/* The first n values stay. */
static void cut(struct ArrowArray *array, int64_t n) {
  struct ArrowArrayPrivateData *p = array->private_data;
  struct ArrowBitmap *valid = ArrowArrayValidityBitmap(array);
  int64_t child = n;
  for (int i = 1; i < NANOARROW_MAX_FIXED_BUFFERS; i++) {
    struct ArrowBuffer *buffer = ArrowArrayBuffer(array, i);
    int64_t bits = p->layout.element_size_bits[i];
    if (p->layout.buffer_type[i] == NANOARROW_BUFFER_TYPE_DATA_OFFSET) {
      child = ((const int32_t *)(const void *)buffer->data)[n]; /* where bytes or items end */
      buffer->size_bytes = (n + 1) * 4;
    } else if (p->layout.buffer_type[i] == NANOARROW_BUFFER_TYPE_DATA) {
      buffer->size_bytes = bits > 0 ? (n * bits + 7) / 8 : child;
    }
  }
  if (valid->buffer.data != NULL) {
    valid->size_bits = n;
    valid->buffer.size_bytes = (n + 7) / 8;
    array->null_count = n - ArrowBitCountSet(valid->buffer.data, 0, n);
  }
  array->length = n;
  for (int64_t i = 0; i < array->n_children; i++) {
    cut(array->children[i], p->storage_type == NANOARROW_TYPE_FIXED_SIZE_LIST
                                ? n * p->layout.child_size_elements
                                : child);
  }
}

void cli_columns_cut(cli_columns *columns, int64_t n_rows) {
  cut(&columns->array, n_rows);
  columns->has_kind = false;
}

tarn_status cli_columns_finish(cli_columns *columns, struct ArrowSchema *schema,
                               struct ArrowArray *array, tarn_error *err) {
  if (ArrowArrayFinishBuildingDefault(&columns->array, NULL) != NANOARROW_OK) {
    return cli_no_memory(err);
  }
  *schema = columns->schema;
  *array = columns->array;
  if (!columns->has_kinds) {
    schema->n_children--;
    array->n_children--;
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ names */

cli_column *cli_column_find(cli_column *row, const char *name, size_t n) {
  int32_t i = row->next_child;
  for (int32_t left = row->n_children; left > 0; left--, i++) {
    cli_column *c;
    i = i < row->n_children ? i : 0;
    c = &row->children[i];
    if (c->n_name == n && memcmp(c->name, name, n) == 0) {
      row->next_child = i + 1;
      return c;
    }
  }
  return NULL;
}

const char *cli_column_nearest(const cli_columns *columns, const cli_column *row, const char *name,
                               size_t n) {
  char copy[128];
  cli_nearest nearest;
  (void)snprintf(copy, sizeof(copy), "%.*s", (int)(n < sizeof(copy) ? n : sizeof(copy) - 1), name);
  cli_nearest_init(&nearest, copy);
  for (int32_t i = 0; i < row->n_children; i++) {
    cli_nearest_offer(&nearest, row->children[i].name);
  }
  if (row == &columns->root && columns->kind_name != NULL) {
    cli_nearest_offer(&nearest, columns->kind_name);
  }
  return nearest.best;
}

void cli_column_path(const cli_column *column, char *out, size_t size) {
  const cli_column *steps[MAX_DEPTH + 2];
  size_t n = 0, len = 0;
  for (const cli_column *c = column; c->parent != NULL; c = c->parent) {
    if (c->parent->kind != CLI_COLUMN_MAP) { /* its entries have no name */
      steps[n++] = c;
    }
  }
  out[0] = '\0';
  while (n > 0 && len + 1 < size) {
    const cli_column *c = steps[--n];
    bool is_item = c->parent->kind == CLI_COLUMN_LIST || c->parent->kind == CLI_COLUMN_VECTOR;
    int written =
        snprintf(out + len, size - len, "%s%s", len > 0 ? "." : "", is_item ? "element" : c->name);
    len += written > 0 ? (size_t)written : 0;
  }
}

/* ------------------------------------------------------------------ keys of maps */

typedef struct cli_map_key {
  const char *bytes; /* set when all are there */
  size_t begin, length;
  int64_t entry; /* from 0 */
} cli_map_key;

static const uint8_t *buffer_of(const struct ArrowArray *array, int i) {
  return ArrowArrayBuffer((struct ArrowArray *)array, i)->data;
}

/* Value i as bytes that are those of another value only if both are the same. The depth is that of
 * the type. */
static void put_key(const struct ArrowArray *array, int64_t i, cli_text *out) {
  const struct ArrowArrayPrivateData *p = array->private_data;
  const uint8_t *valid = p->bitmap.buffer.size_bytes > 0 ? p->bitmap.buffer.data : NULL;
  bool is_null = valid != NULL && !ArrowBitGet(valid, i);
  int64_t begin = i, end = i + 1;
  int32_t offsets[2];
  cli_text_char(out, is_null ? 0 : 1);
  if (is_null) {
    return;
  }
  switch (p->storage_type) {
    case NANOARROW_TYPE_STRING:
    case NANOARROW_TYPE_BINARY:
      memcpy(offsets, buffer_of(array, 1) + (size_t)i * 4, sizeof(offsets));
      begin = offsets[1] - offsets[0];
      cli_text_add(out, (const char *)&begin, sizeof(begin));
      if (begin > 0) {
        cli_text_add(out, (const char *)buffer_of(array, 2) + offsets[0], (size_t)begin);
      }
      break;
    case NANOARROW_TYPE_BOOL:
      cli_text_char(out, ArrowBitGet(buffer_of(array, 1), i) ? 1 : 0);
      break;
    case NANOARROW_TYPE_LIST:
    case NANOARROW_TYPE_MAP:
      memcpy(offsets, buffer_of(array, 1) + (size_t)i * 4, sizeof(offsets));
      begin = offsets[0];
      end = offsets[1];
      break;
    case NANOARROW_TYPE_FIXED_SIZE_LIST:
      begin = i * p->layout.child_size_elements;
      end = begin + p->layout.child_size_elements;
      break;
    case NANOARROW_TYPE_STRUCT:
      break;
    default: {
      size_t width = (size_t)p->layout.element_size_bits[1] / 8;
      cli_text_add(out, (const char *)buffer_of(array, 1) + (size_t)i * width, width);
      break;
    }
  }
  if (array->n_children > 0) {
    int64_t n = end - begin;
    cli_text_add(out, (const char *)&n, sizeof(n));
    for (int64_t c = 0; c < array->n_children; c++) {
      for (int64_t at = begin; at < end; at++) {
        put_key(array->children[c], at, out);
      }
    }
  }
}

static int compare_keys(const void *a, const void *b) {
  const cli_map_key *x = a, *y = b;
  int order = memcmp(x->bytes, y->bytes, x->length < y->length ? x->length : y->length);
  if (order == 0 && x->length == y->length) {
    return x->entry < y->entry ? -1 : 1;
  }
  return order != 0 ? order : x->length < y->length ? -1 : 1;
}

static bool grow_keys(cli_columns *columns, size_t n) {
  cli_map_key *grown;
  if (n <= columns->key_capacity) {
    return true;
  }
  grown = n > SIZE_MAX / sizeof(*grown) ? NULL : realloc(columns->key_list, n * sizeof(*grown));
  columns->is_out_of_memory |= grown == NULL;
  if (grown != NULL) {
    columns->key_list = grown;
    columns->key_capacity = n;
  }
  return grown != NULL;
}

/* Two entries of a map with the same key, which is told if it is a text. */
static bool refuse_key(cli_columns *columns, const cli_column *map, int64_t entry, int64_t before) {
  const cli_column *key = &map->children[0].children[0];
  cli_text shown = {0};
  int32_t offsets[2];
  int64_t begin, at;
  size_t taken;
  memcpy(offsets, buffer_of(map->array, 1) + (size_t)map->array->length * 4, 4);
  at = offsets[0] + entry;
  if (key->kind == CLI_COLUMN_TEXT) {
    memcpy(offsets, buffer_of(key->array, 1) + (size_t)at * 4, sizeof(offsets));
    begin = offsets[1] - offsets[0];
    if (begin > 0) {
      const char *text = (const char *)buffer_of(key->array, 2) + offsets[0];
      size_t n = cli_utf8_cut(text, (size_t)begin, MAX_KEY_SHOWN, &taken);
      cli_text_json(&shown, text, n);
      cli_text_puts(&shown, n < (size_t)begin ? "..." : "");
    } else {
      cli_text_puts(&shown, "\"\"");
    }
  }
  (void)cli_expected(columns, "each key once, but entry %lld has the key of entry %lld%s%.*s",
                     (long long)entry + 1, (long long)before + 1, shown.len > 0 ? ", " : "",
                     (int)shown.len, shown.len > 0 ? shown.data : "");
  cli_text_reset(&shown);
  return false;
}

/* The entries that came since the map's last end. */
static bool has_distinct_keys(cli_columns *columns, const cli_column *map) {
  const struct ArrowArray *keys = map->children[0].children[0].array;
  int64_t twice = -1, before = 0;
  int32_t begin;
  size_t n;
  memcpy(&begin, buffer_of(map->array, 1) + (size_t)map->array->length * 4, sizeof(begin));
  n = (size_t)(map->children[0].array->length - begin);
  if (n < 2) {
    return true;
  }
  if (!grow_keys(columns, n)) {
    return false;
  }
  columns->keys.len = 0;
  for (size_t i = 0; i < n; i++) {
    cli_map_key *key = &columns->key_list[i];
    key->begin = columns->keys.len;
    key->entry = (int64_t)i;
    put_key(keys, begin + (int64_t)i, &columns->keys);
    key->length = columns->keys.len - key->begin;
  }
  if (columns->keys.is_broken) {
    columns->is_out_of_memory = true;
    return false;
  }
  for (size_t i = 0; i < n; i++) {
    columns->key_list[i].bytes = columns->keys.data + columns->key_list[i].begin;
  }
  qsort(columns->key_list, n, sizeof(*columns->key_list), compare_keys);
  for (size_t i = 1; i < n; i++) {
    const cli_map_key *a = &columns->key_list[i - 1], *b = &columns->key_list[i];
    if (a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0 &&
        (twice < 0 || b->entry < twice)) {
      twice = b->entry;
      before = a->entry;
    }
  }
  return twice < 0 || refuse_key(columns, map, twice, before);
}

/* ------------------------------------------------------------------ values */

bool cli_add_null(cli_columns *columns, cli_column *column) {
  return column->takes_null ? appended(columns, ArrowArrayAppendNull(column->array, 1))
                            : cli_expected(columns, "a value, as the column is NOT NULL");
}

/* Little endian: the low eight bytes first. */
static bool add_wide(cli_columns *columns, cli_column *c, uint64_t low, uint64_t high) {
  struct ArrowDecimal decimal;
  ArrowDecimalInit(&decimal, 128, 38, 9);
  decimal.words[decimal.low_word_index] = low;
  decimal.words[decimal.high_word_index] = high;
  return appended(columns, ArrowArrayAppendDecimal(c->array, &decimal));
}

bool cli_add_time(cli_columns *columns, cli_column *column, int64_t seconds, int64_t nanos) {
  static const uint64_t billion = 1000000000;
  uint64_t size = seconds < 0 ? 0 - (uint64_t)seconds : (uint64_t)seconds;
  uint64_t high_half = (size >> 32) * billion, low_half = (size & UINT32_MAX) * billion;
  uint64_t low = (high_half << 32) + low_half;
  uint64_t high = (high_half >> 32) + (low < low_half);
  if (seconds < 0) {
    low = 0 - low;
    high = ~high + (low == 0);
  }
  low += (uint64_t)nanos;
  return add_wide(columns, column, low, high + (low < (uint64_t)nanos));
}

bool cli_add_int(cli_columns *columns, cli_column *column, int64_t value) {
  if (column->is_wide) {
    return add_wide(columns, column, (uint64_t)value, value < 0 ? UINT64_MAX : 0);
  }
  return appended(columns, ArrowArrayAppendInt(column->array, value));
}

bool cli_add_real(cli_columns *columns, cli_column *column, double value) {
  return appended(columns, ArrowArrayAppendDouble(column->array, value));
}

bool cli_add_bytes(cli_columns *columns, cli_column *column, const void *bytes, size_t n) {
  struct ArrowBufferView view = {{bytes}, (int64_t)n};
  return appended(columns, ArrowArrayAppendBytes(column->array, view));
}

bool cli_add_kind(cli_columns *columns, const char *text, size_t n) {
  static const char kinds[] = "+I-U+U-D";
  for (int i = 0; i < 4 && n == 2; i++) {
    if (memcmp(text, kinds + 2 * i, 2) == 0) {
      columns->has_kind = columns->has_kinds = true;
      return appended(columns, ArrowArrayAppendInt(columns->kinds, i));
    }
  }
  return cli_expected(columns, "+I, -U, +U or -D");
}

bool cli_add_end(cli_columns *columns, cli_column *column) {
  ArrowErrorCode code;
  if (column->kind == CLI_COLUMN_MAP && !has_distinct_keys(columns, column)) {
    return false;
  }
  code = ArrowArrayFinishElement(column->array);
  return code == EINVAL ? cli_expected(columns, "%d elements", (int)column->length)
                        : appended(columns, code);
}

bool cli_add_row_end(cli_columns *columns, cli_column *row, cli_column **bad) {
  int64_t n = row->array->length + 1;
  for (int32_t i = 0; i < row->n_children; i++) {
    cli_column *c = &row->children[i];
    if (c->array->length < n && !cli_add_null(columns, c)) {
      *bad = c;
      return false;
    }
  }
  *bad = row;
  if (row == &columns->root) {
    if (!columns->has_kind && !appended(columns, ArrowArrayAppendInt(columns->kinds, 0))) {
      return false;
    }
    columns->has_kind = false;
  }
  return cli_add_end(columns, row);
}
