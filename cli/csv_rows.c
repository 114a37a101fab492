/* csv_rows.c - rows from CSV. */
#include "csv_rows.h"

#include <stdio.h>
#include <stdlib.h>

#include "utf8.h"

void cli_csv_reset(cli_csv *csv) {
  free(csv->fields);
  free(csv->targets);
  cli_text_reset(&csv->scratch);
  cli_text_reset(&csv->json_scratch);
  memset(csv, 0, sizeof(*csv));
}

static bool say(cli_row_fault *fault, size_t at, const char *message) {
  fault->at = at;
  (void)snprintf(fault->message, sizeof(fault->message), "%s", message);
  return false;
}

static bool no_memory(cli_csv *csv, cli_row_fault *fault) {
  csv->columns->is_out_of_memory = true;
  return say(fault, 0, "out of memory");
}

/* ------------------------------------------------------------------ records */

static cli_csv_field *new_field(cli_csv *csv) {
  if (csv->n_fields == csv->capacity) {
    size_t capacity = csv->capacity == 0 ? 32 : csv->capacity * 2;
    cli_csv_field *grown = realloc(csv->fields, capacity * sizeof(*grown));
    if (grown == NULL) {
      return NULL;
    }
    csv->fields = grown;
    csv->capacity = capacity;
  }
  return &csv->fields[csv->n_fields++];
}

/* The field that begins at *at; *at then stands on what ends it. */
static cli_csv_found split_field(cli_csv_field *f, const char *text, size_t n, bool is_end,
                                 size_t *at, cli_row_fault *fault) {
  size_t i = *at;
  memset(f, 0, sizeof(*f));
  if (i < n && text[i] == '"') {
    size_t begin = i++;
    f->is_quoted = true;
    f->at = i;
    for (;; i += 2) {
      const char *quote = memchr(text + i, '"', n - i);
      if (quote == NULL) {
        if (is_end) {
          (void)say(fault, begin, "the quote that begins here is not closed");
        }
        return is_end ? CLI_CSV_FAULT : CLI_CSV_MORE;
      }
      i = (size_t)(quote - text);
      if (i + 1 == n && !is_end) {
        return CLI_CSV_MORE;
      }
      if (i + 1 == n || text[i + 1] != '"') {
        break;
      }
      f->has_quotes = true;
    }
    f->n = i - f->at;
    i++;
    if (i < n && text[i] != ',' && text[i] != '\n' && text[i] != '\r') {
      (void)say(fault, i, "expected a comma or the end of the line behind the closing quote");
      return CLI_CSV_FAULT;
    }
  } else {
    f->at = i;
    while (i < n && text[i] != ',' && text[i] != '\n') {
      i++;
    }
    f->n = i - f->at;
    if (f->n > 0 && (i == n || text[i] == '\n') && text[i - 1] == '\r') {
      f->n--;
    }
  }
  *at = i;
  return CLI_CSV_RECORD;
}

static size_t line_length(const char *text, size_t n) {
  const char *end = memchr(text, '\n', n);
  return end != NULL ? (size_t)(end - text) + 1 : n;
}

cli_csv_found cli_csv_split(cli_csv *csv, const char *text, size_t n, bool is_end, size_t *used,
                            cli_row_fault *fault) {
  size_t at = 0;
  csv->n_fields = 0;
  for (;;) {
    cli_csv_field *f = new_field(csv);
    cli_csv_found found;
    if (f == NULL) {
      (void)no_memory(csv, fault);
      *used = line_length(text, n);
      return CLI_CSV_FAULT;
    }
    found = split_field(f, text, n, is_end, &at, fault);
    if (found == CLI_CSV_FAULT) {
      size_t line = line_length(text + fault->at, n - fault->at);
      *used = fault->at + line;
    }
    if (found != CLI_CSV_RECORD) {
      return found;
    }
    if (at < n && text[at] == ',') {
      at++;
      continue;
    }
    at += at < n && text[at] == '\r';
    if (at >= n && !is_end) {
      return CLI_CSV_MORE;
    }
    if (at < n && text[at] != '\n') {
      (void)say(fault, at, "expected a line break behind a carriage return");
      *used = at + line_length(text + at, n - at);
      return CLI_CSV_FAULT;
    }
    *used = at < n ? at + 1 : n;
    return CLI_CSV_RECORD;
  }
}

bool cli_csv_is_blank(const cli_csv *csv) {
  return csv->n_fields == 1 && csv->fields[0].n == 0 && !csv->fields[0].is_quoted;
}

/* The content of a field, with a NUL behind it when it was copied. */
static const char *field_text(cli_csv *csv, const char *text, const cli_csv_field *f, bool copies,
                              size_t *n) {
  if (!f->has_quotes && !copies) {
    *n = f->n;
    return text + f->at;
  }
  csv->scratch.len = 0;
  for (size_t i = f->at; i < f->at + f->n; i++) {
    cli_text_char(&csv->scratch, text[i]);
    i += f->has_quotes && text[i] == '"';
  }
  *n = csv->scratch.len;
  cli_text_char(&csv->scratch, '\0');
  return csv->scratch.is_broken ? NULL : csv->scratch.data;
}

/* ------------------------------------------------------------------ header */

static bool add_target(cli_csv *csv, cli_column *c) {
  cli_column **grown = realloc(csv->targets, (csv->n_targets + 1) * sizeof(cli_column *));
  if (grown == NULL) {
    return false;
  }
  csv->targets = grown;
  grown[csv->n_targets++] = c;
  return true;
}

bool cli_csv_no_header(cli_csv *csv) {
  cli_column *root = &csv->columns->root;
  for (int32_t i = 0; i < root->n_children; i++) {
    if (!add_target(csv, &root->children[i])) {
      return false;
    }
  }
  return true;
}

bool cli_csv_header(cli_csv *csv, const char *text, cli_row_fault *fault) {
  cli_column *root = &csv->columns->root;
  const char *kind_name = csv->columns->kind_name;
  for (size_t i = 0; i < csv->n_fields; i++) {
    size_t n;
    const char *name = field_text(csv, text, &csv->fields[i], false, &n);
    cli_column *c = name != NULL ? cli_column_find(root, name, n) : NULL;
    fault->at = csv->fields[i].at;
    if (c == NULL && (kind_name == NULL || name == NULL || strlen(kind_name) != n ||
                      memcmp(kind_name, name, n) != 0)) {
      if (name == NULL) {
        return no_memory(csv, fault);
      }
      cli_row_unknown(csv->columns, root, name, n, fault->message, sizeof(fault->message));
      if (kind_name != NULL && n == strlen(CLI_SNAPSHOT_NAME) &&
          memcmp(name, CLI_SNAPSHOT_NAME, n) == 0) {
        (void)snprintf(fault->message, sizeof(fault->message), "%s", CLI_TAIL_ADVICE);
      }
      return false;
    }
    for (size_t j = 0; j < csv->n_targets; j++) {
      if (csv->targets[j] == c) {
        (void)snprintf(fault->message, sizeof(fault->message), "the column '%.200s' comes twice",
                       c != NULL ? c->name : kind_name);
        return false;
      }
    }
    if (!add_target(csv, c)) {
      return no_memory(csv, fault);
    }
  }
  return true;
}

/* ------------------------------------------------------------------ rows */

static bool is_utf8(const char *text, size_t n, size_t *at) {
  for (*at = 0; *at < n;) {
    size_t length =
        (unsigned char)text[*at] < 0x80 ? 1 : cli_utf8_length((const uint8_t *)text + *at, n - *at);
    if (length == 0) {
      return false;
    }
    *at += length;
  }
  return true;
}

static bool add_field(cli_csv *csv, const char *text, const cli_csv_field *f, cli_column *c,
                      cli_row_fault *fault) {
  cli_columns *columns = csv->columns;
  const char *null_text = csv->null_text != NULL ? csv->null_text : "";
  bool is_nested = c != NULL && c->kind >= CLI_COLUMN_LIST && c->kind != CLI_COLUMN_VARIANT;
  size_t n, at;
  const char *value;
  if (!f->is_quoted && strlen(null_text) == f->n && memcmp(text + f->at, null_text, f->n) == 0) {
    if (c == NULL) {
      return true; /* no row kind: +I */
    }
    return cli_add_null(columns, c) || cli_row_refuse(columns, c, text, f->at + f->n, f->at, fault);
  }
  value = field_text(csv, text, f, is_nested, &n);
  if (value == NULL) {
    return no_memory(csv, fault);
  }
  if (!is_utf8(value, n, &at)) {
    fault->at = f->at;
    (void)snprintf(fault->message, sizeof(fault->message),
                   "expected UTF-8, not the byte 0x%02x of column '%.200s'",
                   (unsigned char)value[at], c != NULL ? c->name : columns->kind_name);
    return false;
  }
  if (c == NULL) {
    return cli_add_kind(columns, value, n) ||
           cli_row_refuse(columns, c, text, f->at + f->n, f->at, fault);
  }
  if (is_nested) {
    if (!cli_json_value(columns, c, value, n, &csv->json_scratch, fault)) {
      fault->at = f->at;
      return false;
    }
    return true;
  }
  return cli_add_text(columns, c, value, n) ||
         cli_row_refuse(columns, c, text, f->at + f->n, f->at, fault);
}

bool cli_csv_row(cli_csv *csv, const char *text, cli_row_fault *fault) {
  cli_column *root = &csv->columns->root, *bad = NULL;
  if (csv->n_fields != csv->n_targets) {
    fault->at = 0;
    (void)snprintf(fault->message, sizeof(fault->message), "expected %zu fields, found %zu",
                   csv->n_targets, csv->n_fields);
    return false;
  }
  for (size_t i = 0; i < csv->n_fields; i++) {
    if (!add_field(csv, text, &csv->fields[i], csv->targets[i], fault)) {
      return false;
    }
  }
  return cli_add_row_end(csv->columns, root, &bad) || cli_row_misses(bad, 0, fault);
}
