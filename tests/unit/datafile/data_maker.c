/* data_maker.c - Avro files of small rows. */
#include "data_maker.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "codec/hash.h"
#include "column/datum.h"

#define LIMIT (1u << 24)
#define SYNC "0123456789abcdef"

typedef struct column {
  char name[32];
  char type[32]; /* without NOT NULL */
  bool is_nullable;
} column;

typedef struct cells {
  char *text; /* of all rows */
  char *cells[4096][12];
  int n_rows, n_columns;
} cells;

static int parse_columns(const char *text, column *out) {
  int n = 0;
  while (*text != '\0') {
    size_t len = strcspn(text, "|"), name = strcspn(text, " ");
    const char *not_null = strstr(text, " NOT NULL");
    column *c = &out[n++];
    c->is_nullable = not_null == NULL || not_null >= text + len;
    snprintf(c->name, sizeof(c->name), "%.*s", (int)name, text);
    snprintf(c->type, sizeof(c->type), "%.*s",
             (int)((c->is_nullable ? len : (size_t)(not_null - text)) - name - 1), text + name + 1);
    text += len + (text[len] == '|');
  }
  return n;
}

static void parse_rows(const char *rows, cells *out) {
  char *at = out->text = strdup(rows);
  out->n_rows = out->n_columns = 0;
  while (*at != '\0') {
    char *end = at + strcspn(at, ";"), *next = *end == ';' ? end + 1 : end;
    int n = 0;
    *end = '\0';
    assert_true(out->n_rows < 4096);
    for (char *p = at;;) {
      char *bar = strchr(p, '|');
      assert_true(n < 12);
      out->cells[out->n_rows][n++] = p;
      if (bar == NULL) {
        break;
      }
      *bar = '\0';
      p = bar + 1;
    }
    out->n_rows++;
    out->n_columns = n;
    at = next;
  }
}

/* ------------------------------------------------------------------ Avro */

static void put_long(tn_buf *b, int64_t value) {
  uint64_t z = ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
  do {
    uint8_t byte = (uint8_t)((z & 0x7f) | (z > 0x7f ? 0x80 : 0));
    OK(tn_buf_append(b, &byte, 1, err));
    z >>= 7;
  } while (z > 0);
}

static void put_text(tn_buf *b, const char *text, size_t n) {
  put_long(b, (int64_t)n);
  OK(tn_buf_append(b, text, n, err));
}

static const char *avro_type(const char *type) {
  return strcmp(type, "BOOLEAN") == 0  ? "\"boolean\""
         : strcmp(type, "BIGINT") == 0 ? "\"long\""
         : strcmp(type, "DOUBLE") == 0 ? "\"double\""
         : strcmp(type, "STRING") == 0 ? "\"string\""
         : strcmp(type, "DATE") == 0   ? "{\"type\":\"int\",\"logicalType\":\"date\"}"
                                       : "\"int\"";
}

static void put_value(tn_buf *b, const column *c, const char *text) {
  if (c->is_nullable) {
    put_long(b, strcmp(text, "null") == 0 ? 0 : 1);
    if (strcmp(text, "null") == 0) {
      return;
    }
  }
  if (strcmp(c->type, "STRING") == 0) {
    put_text(b, text, strlen(text));
  } else if (strcmp(c->type, "DOUBLE") == 0) {
    double v = strtod(text, NULL);
    OK(tn_buf_append(b, &v, sizeof(v), err));
  } else if (strcmp(c->type, "BOOLEAN") == 0) {
    OK(tn_buf_append(b, text[0] == 't' ? "\1" : "\0", 1, err));
  } else {
    put_long(b, strtoll(text, NULL, 10));
  }
}

static void put_file(table_maker *tm, const char *path, const column *columns, int n_columns,
                     const cells *rows) {
  tn_buf schema, records, b;
  tn_buf_init(&schema, &tm->env->mem, LIMIT);
  tn_buf_init(&records, &tm->env->mem, LIMIT);
  tn_buf_init(&b, &tm->env->mem, LIMIT);
  OK(tn_buf_text(&schema,
                 "{\"type\":\"record\",\"name\":\"record\",\"namespace\":"
                 "\"org.apache.paimon.avro.generated\",\"fields\":[",
                 err));
  for (int c = 0; c < n_columns; c++) {
    const char *type = avro_type(columns[c].type);
    OK(tn_buf_printf(&schema, err,
                     columns[c].is_nullable ? "%s{\"name\":\"%s\",\"type\":[\"null\",%s]}"
                                            : "%s{\"name\":\"%s\",\"type\":%s}",
                     c > 0 ? "," : "", columns[c].name, type));
  }
  OK(tn_buf_text(&schema, "]}", err));
  OK(tn_buf_append(&b, "Obj\x01", 4, err));
  put_long(&b, 2);
  put_text(&b, "avro.schema", 11);
  put_text(&b, (const char *)schema.data, schema.len);
  put_text(&b, "avro.codec", 10);
  put_text(&b, "null", 4);
  put_long(&b, 0);
  OK(tn_buf_text(&b, SYNC, err));
  for (int begin = 0; begin < rows->n_rows; begin += 100) {
    int end = begin + 100 < rows->n_rows ? begin + 100 : rows->n_rows;
    records.len = 0;
    for (int r = begin; r < end; r++) {
      for (int c = 0; c < n_columns; c++) {
        put_value(&records, &columns[c], rows->cells[r][c]);
      }
    }
    put_long(&b, end - begin);
    put_text(&b, (const char *)records.data, records.len);
    OK(tn_buf_text(&b, SYNC, err));
  }
  OK(tn_storage_memory_put(tm->storage, path, tn_buf_slice(&b), err));
  tn_buf_reset(&schema);
  tn_buf_reset(&records);
  tn_buf_reset(&b);
}

/* ------------------------------------------------------------------ files */

const char *dm_path(table_maker *tm, const char *folder, const char *name) {
  char *path = tn_arena_printf(&tm->arena, "%s/%s", folder, name);
  assert_non_null(path);
  return path;
}

tn_data_file dm_append(table_maker *tm, const char *folder, const char *name, const char *columns,
                       const char *rows) {
  column c[12];
  cells *r = malloc(sizeof(*r));
  tn_data_file file = tm_entry(tn_arena_strdup(&tm->arena, name), 0).file;
  int n = parse_columns(columns, c);
  parse_rows(rows, r);
  put_file(tm, dm_path(tm, folder, name), c, n, r);
  file.row_count = r->n_rows;
  file.file_size = 1000;
  file.schema_id = tm->schema->id;
  free(r->text);
  free(r);
  return file;
}

/* The key of a row as "1|a". */
static const char *key_of(const cells *r, int row, int n_keys, char *out) {
  char *at = out;
  for (int k = 0; k < n_keys; k++) {
    at += sprintf(at, "%s%s", k > 0 ? "|" : "", r->cells[row][k]);
  }
  return out;
}

tn_data_file dm_keyed(table_maker *tm, const char *folder, const char *name, int n_keys,
                      const char *columns, const char *rows) {
  column c[12];
  cells *r = malloc(sizeof(*r));
  tn_data_file file = tm_entry(tn_arena_strdup(&tm->arena, name), 0).file;
  int n = parse_columns(columns, c), n_all = n_keys + 2 + n;
  static char kinds[4][2] = {"0", "1", "2", "3"};
  char types[256] = "", key[256];
  column all[12];
  parse_rows(rows, r);
  for (int k = 0; k < n_keys; k++) {
    all[k] = c[k];
    snprintf(all[k].name, sizeof(all[k].name), "_KEY_%.20s", c[k].name);
    sprintf(types + strlen(types), "%s%s", k > 0 ? "|" : "", c[k].type);
  }
  all[n_keys] = (column){"_SEQUENCE_NUMBER", "BIGINT", false};
  all[n_keys + 1] = (column){"_VALUE_KIND", "TINYINT", false};
  memcpy(&all[n_keys + 2], c, (size_t)n * sizeof(*c));
  file.min_sequence = INT64_MAX;
  file.max_sequence = 0;
  file.delete_row_count = 0;
  file.has_delete_row_count = true;
  for (int i = 0; i < r->n_rows; i++) {
    char **cell = r->cells[i], *given[12];
    int64_t sequence = strtoll(cell[0], NULL, 10);
    int kind = (int)(strchr("+bu-", cell[1][0]) - "+bu-");
    memcpy(given, cell, sizeof(given));
    for (int k = 0; k < n_keys; k++) {
      cell[k] = given[2 + k];
    }
    cell[n_keys] = given[0];
    cell[n_keys + 1] = kinds[kind];
    for (int k = 0; k < n; k++) {
      cell[n_keys + 2 + k] = given[2 + k];
    }
    file.min_sequence = sequence < file.min_sequence ? sequence : file.min_sequence;
    file.max_sequence = sequence > file.max_sequence ? sequence : file.max_sequence;
    file.delete_row_count += kind & 1;
  }
  put_file(tm, dm_path(tm, folder, name), all, n_all, r);
  file.row_count = r->n_rows;
  file.file_size = 1000;
  file.schema_id = tm->schema->id;
  file.min_key = tm_row(tm, types, key_of(r, 0, n_keys, key));
  file.max_key = tm_row(tm, types, key_of(r, r->n_rows - 1, n_keys, key));
  free(r->text);
  free(r);
  return file;
}

/* A blob of version 1: one array container. */
static void put_deletions(table_maker *tm, const char *positions, tn_buf *b) {
  uint16_t at[4096];
  uint32_t n = 0;
  uint8_t head[4 + 4 + 4 + 4 + 4 + 4], crc[4];
  while (*positions != '\0') {
    char *end;
    assert_true(n < 4096);
    at[n++] = (uint16_t)strtol(positions, &end, 10);
    positions = *end == ',' ? end + 1 : end;
  }
  tn_buf_init(b, &tm->env->mem, LIMIT);
  tn_store_be32(head, (uint32_t)(sizeof(head) - 4 + n * 2)); /* magic and bitmap */
  tn_store_be32(head + 4, 1581511376u);
  tn_store_le32(head + 8, 12346); /* no runs */
  tn_store_le32(head + 12, 1);    /* one container */
  tn_store_le32(head + 16, (n - 1) << 16);
  tn_store_le32(head + 20, 16);
  OK(tn_buf_append(b, head, sizeof(head), err));
  OK(tn_buf_append(b, at, n * 2, err));
  tn_store_be32(crc, tn_crc32(0, b->data + 4, b->len - 4));
  OK(tn_buf_append(b, crc, 4, err));
}

tn_dv *dm_deletions(table_maker *tm, const char *positions) {
  tn_buf b;
  tn_dv *dv;
  put_deletions(tm, positions, &b);
  OK(tn_dv_decode(tm->env, tn_buf_slice(&b), "dv", &dv, err));
  tn_buf_reset(&b);
  return dv;
}

tn_dv_place dm_deletions_file(table_maker *tm, const char *path, const char *positions) {
  tn_buf blob, file;
  tn_dv_place place = {.path = path, .offset = 1, .cardinality = -1};
  put_deletions(tm, positions, &blob);
  tn_buf_init(&file, &tm->env->mem, LIMIT);
  OK(tn_buf_append(&file, "\1", 1, err));
  OK(tn_buf_append(&file, blob.data, blob.len, err));
  OK(tn_storage_memory_put(tm->storage, path, tn_buf_slice(&file), err));
  place.length = (int64_t)blob.len - 8;
  tn_buf_reset(&blob);
  tn_buf_reset(&file);
  return place;
}

void dm_text(const tn_batch *batch, tn_buf *out) {
  for (int64_t i = 0; i < batch->n_rows; i++) {
    bool is_first = out->len == 0 || out->data[out->len - 1] == ' ';
    OK(tn_buf_text(out, is_first ? "" : ";", err));
    OK(tn_buf_text(out, batch->n_columns == 0 ? "()" : "", err));
    for (int32_t c = 0; c < batch->n_columns; c++) {
      tn_datum datum = tn_vec_datum(&batch->columns[c], i);
      const tn_type *type = &batch->fields[c].type;
      OK(tn_buf_text(out, c > 0 ? "|" : "", err));
      OK(datum.is_null ? tn_buf_text(out, "null", err)
                       : tn_datum_to_text(type, &datum, NULL, out, err));
    }
  }
}
