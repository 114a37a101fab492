/* config.c - the configuration file (paimon.yaml). */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINE 8192

typedef struct config {
  const char *path;
  char *warehouse, *metastore; /* owned */
} config;

static tarn_status fail(tarn_error *err, tarn_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static tarn_status fail(tarn_error *err, tarn_status status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  err->status = status;
  err->os_errno = 0;
  (void)vsnprintf(err->message, sizeof(err->message), format, args);
  va_end(args);
  return status;
}

static char *trim(char *text) {
  size_t n;
  text += strspn(text, " \t");
  n = strlen(text);
  while (n > 0 && strchr(" \t\r\n", text[n - 1]) != NULL) {
    n--;
  }
  text[n] = '\0';
  return text;
}

/* A value: without quotes, or without the comment behind it. NULL: a quote is not closed. */
static char *take_value(char *text) {
  char quote = *text == '"' || *text == '\'' ? *text : '\0';
  char *end;
  if (quote == '\0') {
    for (end = text; *end != '\0'; end++) {
      if (*end == '#' && (end == text || end[-1] == ' ' || end[-1] == '\t')) {
        *end = '\0';
        break;
      }
    }
    return trim(text);
  }
  end = strchr(text + 1, quote);
  if (end == NULL) {
    return NULL;
  }
  *end = '\0';
  return text + 1;
}

static tarn_status take_line(config *c, char *line, int number, tarn_error *err) {
  bool is_nested = *line == ' ' || *line == '\t';
  char *text = trim(line), *colon, *value, **to, *copy;
  if (*text == '\0' || *text == '#' || strcmp(text, "---") == 0) {
    return TARN_OK;
  }
  colon = strchr(text, ':');
  if (is_nested || colon == NULL || (colon[1] != '\0' && colon[1] != ' ' && colon[1] != '\t')) {
    return fail(err, TARN_E_INVALID, "%s: line %d: expected 'key: value'", c->path, number);
  }
  *colon = '\0';
  value = take_value(trim(colon + 1));
  if (value == NULL) {
    return fail(err, TARN_E_INVALID, "%s: line %d: a quote is not closed", c->path, number);
  }
  text = trim(text);
  to = strcmp(text, "warehouse") == 0   ? &c->warehouse
       : strcmp(text, "metastore") == 0 ? &c->metastore
                                        : NULL;
  if (to == NULL) {
    return TARN_OK;
  }
  copy = strdup(value);
  if (copy == NULL) {
    return fail(err, TARN_E_NOMEM, "out of memory");
  }
  free(*to);
  *to = copy;
  return TARN_OK;
}

static tarn_status read_lines(config *c, FILE *file, tarn_error *err) {
  char line[MAX_LINE];
  for (int number = 1; fgets(line, sizeof(line), file) != NULL; number++) {
    tarn_status st;
    if (strlen(line) == sizeof(line) - 1) {
      return fail(err, TARN_E_INVALID, "%s: line %d is too long", c->path, number);
    }
    st = take_line(c, line, number, err);
    if (st != TARN_OK) {
      return st;
    }
  }
  return ferror(file) ? fail(err, TARN_E_IO, "%s: %s", c->path, strerror(errno)) : TARN_OK;
}

tarn_status cli_config_warehouse(const char *path, char **out, tarn_error *err) {
  config c = {path, NULL, NULL};
  FILE *file = fopen(path, "r");
  tarn_status st;
  *out = NULL;
  if (file == NULL) {
    return fail(err, errno == ENOENT ? TARN_E_NOT_FOUND : TARN_E_IO, "configuration file %s: %s",
                path, strerror(errno));
  }
  st = read_lines(&c, file, err);
  (void)fclose(file);
  if (st == TARN_OK && c.metastore != NULL && strcmp(c.metastore, "filesystem") != 0) {
    st = fail(err, TARN_E_UNSUPPORTED,
              "%s: metastore '%s' is not in this release; expected filesystem", path, c.metastore);
  } else if (st == TARN_OK && (c.warehouse == NULL || *c.warehouse == '\0')) {
    st = fail(err, TARN_E_INVALID, "%s names no warehouse: expected a line 'warehouse: DIR'", path);
  }
  if (st == TARN_OK) {
    *out = c.warehouse;
    c.warehouse = NULL;
  }
  free(c.warehouse);
  free(c.metastore);
  return st;
}
