/* cdc_evolve.c - the types that columns get, or widen to, when a feed's schema has changed. */
#include "cdc_evolve.h"

#include <stdio.h>
#include <stdlib.h>

/* ------------------------------------------------------------------ MySQL's types */

/* Rule: MySqlTypeUtils, with its defaults (TINYINT(1) is a BOOLEAN). %d: the first number in
 * brackets, then the second. No type is longer than 60 bytes. */
static const struct {
  const char *name;
  const char *type, *unsigned_type; /* NULL: the same */
  int numbers;                      /* how many the type takes */
  int first, second;                /* when the source tells none */
} mysql_types[] = {
    {"tinyint(1)", "BOOLEAN", NULL, 0, 0, 0},
    {"bit(1)", "BOOLEAN", NULL, 0, 0, 0},
    {"bool", "BOOLEAN", NULL, 0, 0, 0},
    {"boolean", "BOOLEAN", NULL, 0, 0, 0},
    {"tinyint", "TINYINT", "SMALLINT", 0, 0, 0},
    {"smallint", "SMALLINT", "INT", 0, 0, 0},
    {"mediumint", "INT", "BIGINT", 0, 0, 0},
    {"int", "INT", "BIGINT", 0, 0, 0},
    {"integer", "INT", "BIGINT", 0, 0, 0},
    {"bigint", "BIGINT", "DECIMAL(20, 0)", 0, 0, 0},
    {"serial", "DECIMAL(20, 0)", NULL, 0, 0, 0},
    {"year", "INT", NULL, 0, 0, 0},
    {"float", "FLOAT", NULL, 0, 0, 0},
    {"double", "DOUBLE", NULL, 0, 0, 0},
    {"real", "DOUBLE", NULL, 0, 0, 0},
    {"decimal", "DECIMAL(%d, %d)", NULL, 2, 10, 0},
    {"numeric", "DECIMAL(%d, %d)", NULL, 2, 10, 0},
    {"date", "DATE", NULL, 0, 0, 0},
    {"time", "TIME(%d)", NULL, 1, 0, 0},
    {"datetime", "TIMESTAMP(%d)", NULL, 1, 0, 0},
    {"timestamp", "TIMESTAMP(%d) WITH LOCAL TIME ZONE", NULL, 1, 0, 0},
    {"char", "CHAR(%d)", NULL, 1, 1, 0},
    {"varchar", "VARCHAR(%d)", NULL, 1, 255, 0},
    {"binary", "BINARY(%d)", NULL, 1, 1, 0},
    {"varbinary", "VARBINARY(%d)", NULL, 1, 255, 0},
    {"tinyblob", "BYTES", NULL, 0, 0, 0},
    {"blob", "BYTES", NULL, 0, 0, 0},
    {"mediumblob", "BYTES", NULL, 0, 0, 0},
    {"longblob", "BYTES", NULL, 0, 0, 0},
    {"bit", "BYTES", NULL, 0, 0, 0},
    {"geometry", "BYTES", NULL, 0, 0, 0}, /* the bytes that MySQL keeps */
    {"point", "BYTES", NULL, 0, 0, 0},
    {"linestring", "BYTES", NULL, 0, 0, 0},
    {"polygon", "BYTES", NULL, 0, 0, 0},
    {"multipoint", "BYTES", NULL, 0, 0, 0},
    {"multilinestring", "BYTES", NULL, 0, 0, 0},
    {"multipolygon", "BYTES", NULL, 0, 0, 0},
    {"geometrycollection", "BYTES", NULL, 0, 0, 0},
    {"geomcollection", "BYTES", NULL, 0, 0, 0},
};

static bool mysql_type(const char *text, size_t n, char *out, size_t size) {
  char name[64];
  int numbers[2] = {-1, -1};
  size_t length = 0, best = SIZE_MAX, n_filled = 0;
  bool is_unsigned;
  char *bracket;
  for (; length < n && length + 1 < sizeof(name); length++) {
    char c = text[length];
    name[length] = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
  }
  name[length] = '\0';
  is_unsigned = strstr(name, "unsigned") != NULL;
  bracket = strchr(name, '(');
  if (bracket != NULL) {
    (void)sscanf(bracket, "(%5d ,%5d", &numbers[0], &numbers[1]);
  }
  for (size_t i = 0; i < CLI_COUNT(mysql_types); i++) {
    size_t n_type = strlen(mysql_types[i].name);
    bool is_whole = mysql_types[i].name[n_type - 1] == ')' || name[n_type] == '\0' ||
                    name[n_type] == ' ' || name[n_type] == '(';
    if (strncmp(name, mysql_types[i].name, n_type) == 0 && is_whole) {
      best = i;
      break;
    }
  }
  if (best == SIZE_MAX) { /* text, json, enum, set */
    (void)snprintf(out, size, "STRING");
    return true;
  }
  numbers[0] = numbers[0] >= 0 ? numbers[0] : mysql_types[best].first;
  numbers[1] = numbers[1] >= 0 ? numbers[1] : mysql_types[best].second;
  numbers[0] = mysql_types[best].numbers == 2 && numbers[0] > 38 ? 38 : numbers[0];
  if (is_unsigned && mysql_types[best].unsigned_type != NULL) {
    (void)snprintf(out, size, "%s", mysql_types[best].unsigned_type);
    return true;
  }
  length = 0;
  for (const char *at = mysql_types[best].type; *at != '\0' && length + 12 < size;) {
    if (at[0] == '%') { /* %d */
      length += (size_t)snprintf(out + length, size - length, "%d", numbers[n_filled++]);
      at += 2;
    } else {
      out[length++] = *at++;
    }
  }
  out[length] = '\0';
  return true;
}

bool cdc_mysql_is_bytes(const char *text, size_t n) {
  char type[80];
  return mysql_type(text, n, type, sizeof(type)) &&
         (strcmp(type, "BYTES") == 0 || strncmp(type, "BINARY", 6) == 0 ||
          strncmp(type, "VARBINARY", 9) == 0);
}

/* ------------------------------------------------------------------ new columns */

bool cdc_new_type(const cdc_json *json, uint32_t value, const cdc_hint *hint, uint32_t type,
                  char *out, size_t size) {
  const cdc_node *node = &json->nodes[value];
  if (hint != NULL) {
    (void)snprintf(out, size, "%s", hint->type);
    return true;
  }
  if (cdc_json_is(json, type, CDC_STRING)) {
    return mysql_type(json->text + json->nodes[type].begin, json->nodes[type].n, out, size);
  }
  switch ((cdc_kind)node->kind) {
    case CDC_NULL:
      return false;
    case CDC_TRUE:
    case CDC_FALSE:
      (void)snprintf(out, size, "BOOLEAN");
      return true;
    case CDC_NUMBER: {
      bool is_whole = true;
      for (uint32_t i = 0; i < node->n; i++) {
        char c = json->text[node->begin + i];
        is_whole = is_whole && c != '.' && c != 'e' && c != 'E';
      }
      (void)snprintf(out, size, !is_whole ? "DOUBLE" : node->n <= 18 ? "BIGINT" : "DECIMAL(38, 0)");
      return true;
    }
    default:
      (void)snprintf(out, size, "STRING");
      return true;
  }
}

/* ------------------------------------------------------------------ wider types */

static bool wider_int(const char *text, size_t n, char *out, size_t size) {
  char copy[24], *end;
  long long value;
  if (n >= 20) {
    return false;
  }
  memcpy(copy, text, n);
  copy[n] = '\0';
  value = strtoll(copy, &end, 10);
  if (*end != '\0' || n == 0) {
    return false;
  }
  (void)snprintf(out, size,
                 value >= INT16_MIN && value <= INT16_MAX   ? "SMALLINT"
                 : value >= INT32_MIN && value <= INT32_MAX ? "INT"
                                                            : "BIGINT");
  return true;
}

/* Digits in front of the point and behind it that both the column and the value have. */
static bool wider_decimal(const cli_column *column, const char *text, size_t n, char *out,
                          size_t size) {
  int front = 0, behind = 0;
  bool has_point = false;
  for (size_t i = 0; i < n; i++) {
    if (text[i] == '.') {
      has_point = true;
    } else if (text[i] >= '0' && text[i] <= '9') {
      behind += has_point;
      front += !has_point && (front > 0 || text[i] != '0');
    } else if (i > 0 || (text[i] != '-' && text[i] != '+')) {
      return false;
    }
  }
  front = front > column->precision - column->scale ? front : column->precision - column->scale;
  behind = behind > column->scale ? behind : column->scale;
  if (front + behind > 38) {
    return false;
  }
  (void)snprintf(out, size, "DECIMAL(%d, %d)", front + behind, behind);
  return true;
}

bool cdc_wider_type(const cdc_json *json, uint32_t value, const cdc_hint *hint,
                    const cli_column *column, char *out, size_t size) {
  const cdc_node *node = &json->nodes[value];
  const char *text = json->text + node->begin;
  bool is_scalar = node->kind == CDC_NUMBER || node->kind == CDC_STRING;
  if (!is_scalar || node->has_escapes) {
    return false;
  }
  switch (column->kind) {
    case CLI_COLUMN_INT:
      return wider_int(text, node->n, out, size);
    case CLI_COLUMN_FLOAT:
      (void)snprintf(out, size, "DOUBLE");
      return node->kind == CDC_NUMBER;
    case CLI_COLUMN_DECIMAL:
      if (hint != NULL && hint->encoding == CDC_DECIMAL) {
        int front = hint->precision - hint->scale, own = column->precision - column->scale;
        int scale = hint->scale > column->scale ? hint->scale : column->scale;
        front = front > own ? front : own;
        front = front + scale > 38 ? 38 - scale : front;
        (void)snprintf(out, size, "DECIMAL(%d, %d)", front + scale, scale);
        return front >= own && (front > own || scale > column->scale);
      }
      return wider_decimal(column, text, node->n, out, size);
    case CLI_COLUMN_TEXT:
      (void)snprintf(out, size, "STRING");
      return column->type[0] == 'V' || column->type[0] == 'C';
    case CLI_COLUMN_BYTES:
      (void)snprintf(out, size, "BYTES");
      return cdc_type_number(column, 0, -1) > 0;
    case CLI_COLUMN_TIMESTAMP: {
      int digits = column->scale < 3 ? 3 : column->scale < 6 ? 6 : 9;
      (void)snprintf(out, size, "TIMESTAMP(%d)%s", digits,
                     column->is_instant ? " WITH LOCAL TIME ZONE" : "");
      return column->scale < 9;
    }
    default:
      return false;
  }
}
