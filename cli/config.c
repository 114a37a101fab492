/* config.c - the configuration file (paimon.yaml). */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "errors.h"

#define MAX_LINE 8192

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

void cli_config_reset(cli_config *config) {
  for (size_t i = 0; i < config->n_options; i++) {
    free((void *)(uintptr_t)config->options[i].key);
    free((void *)(uintptr_t)config->options[i].value);
  }
  free(config->options);
  free(config->warehouse);
  memset(config, 0, sizeof(*config));
}

static tarn_status add_option(cli_config *c, const char *key, const char *value, tarn_error *err) {
  tarn_option *options = realloc(c->options, (c->n_options + 1) * sizeof(*options));
  char *own_key = strdup(key), *own_value = strdup(value);
  if (options != NULL) {
    c->options = options;
  }
  if (options == NULL || own_key == NULL || own_value == NULL) {
    free(own_key);
    free(own_value);
    return cli_no_memory(err);
  }
  c->options[c->n_options++] = (tarn_option){own_key, own_value};
  return TARN_OK;
}

/* The last value of a key; NULL: there is none. */
static const char *find_option(const cli_config *c, const char *key) {
  for (size_t i = c->n_options; i > 0; i--) {
    if (strcmp(c->options[i - 1].key, key) == 0) {
      return c->options[i - 1].value;
    }
  }
  return NULL;
}

static tarn_status take_line(cli_config *c, const char *path, char *line, int number,
                             tarn_error *err) {
  bool is_nested = *line == ' ' || *line == '\t';
  char *text = trim(line), *colon, *value;
  if (*text == '\0' || *text == '#' || strcmp(text, "---") == 0) {
    return TARN_OK;
  }
  colon = strchr(text, ':');
  if (is_nested || colon == NULL || (colon[1] != '\0' && colon[1] != ' ' && colon[1] != '\t')) {
    return cli_error(err, TARN_E_INVALID, "%s: line %d: expected 'key: value'", path, number);
  }
  *colon = '\0';
  value = take_value(trim(colon + 1));
  if (value == NULL) {
    return cli_error(err, TARN_E_INVALID, "%s: line %d: a quote is not closed", path, number);
  }
  return add_option(c, trim(text), value, err);
}

static tarn_status read_lines(cli_config *c, const char *path, FILE *file, tarn_error *err) {
  char line[MAX_LINE];
  for (int number = 1; fgets(line, sizeof(line), file) != NULL; number++) {
    tarn_status st;
    size_t n = strlen(line);
    if (n == sizeof(line) - 1 || ((n == 0 || line[n - 1] != '\n') && !feof(file))) {
      return cli_error(err, TARN_E_INVALID, "%s: line %d is too long, or has a NUL character", path,
                       number);
    }
    st = take_line(c, path, line, number, err);
    if (st != TARN_OK) {
      return st;
    }
  }
  return ferror(file) ? cli_error(err, TARN_E_IO, "%s: %s", path, strerror(errno)) : TARN_OK;
}

tarn_status cli_config_read(const char *path, cli_config *out, tarn_error *err) {
  FILE *file = fopen(path, "r");
  const char *warehouse, *metastore;
  tarn_status st;
  memset(out, 0, sizeof(*out));
  if (file == NULL) {
    return cli_error(err, errno == ENOENT ? TARN_E_NOT_FOUND : TARN_E_IO,
                     "configuration file %s: %s", path, strerror(errno));
  }
  st = read_lines(out, path, file, err);
  (void)fclose(file);
  if (st != TARN_OK) {
    return st;
  }
  metastore = find_option(out, "metastore");
  warehouse = find_option(out, "warehouse");
  if (metastore != NULL && strcmp(metastore, "filesystem") != 0) {
    return cli_error(err, TARN_E_UNSUPPORTED,
                     "%s: metastore '%s' is not in this release; expected filesystem", path,
                     metastore);
  }
  if (warehouse == NULL || *warehouse == '\0') {
    return cli_error(err, TARN_E_INVALID, "%s names no warehouse: expected a line 'warehouse: DIR'",
                     path);
  }
  out->warehouse = strdup(warehouse);
  return out->warehouse != NULL ? TARN_OK : cli_no_memory(err);
}
