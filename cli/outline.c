/* outline.c - JSON for people. */
#include <stdlib.h>

#include "grid.h"
#include "json.h"

#define INDENT 2

typedef struct outline {
  const cli_json *json;
  cli_text *out;
  size_t max_width;
  bool has_colors;
} outline;

/* Are all members scalars, or lists of scalars? */
static bool is_flat(const cli_json *json, size_t at) {
  if (json->nodes[at].kind != CLI_JSON_OBJECT) {
    return false;
  }
  for (size_t i = cli_json_first(json, at); i < json->nodes[at].after; i = json->nodes[i].after) {
    if (!cli_json_is_scalar(json, i)) {
      return false;
    }
  }
  return true;
}

/* Does the list have items that all pass? */
static bool are_all(const cli_json *json, size_t at, bool (*test)(const cli_json *, size_t)) {
  if (json->nodes[at].kind != CLI_JSON_LIST) {
    return false;
  }
  for (size_t i = cli_json_first(json, at); i < json->nodes[at].after; i = json->nodes[i].after) {
    if (!test(json, i)) {
      return false;
    }
  }
  return true;
}

static void add_line_text(outline *o, size_t at) {
  cli_text text = {0};
  cli_json_text(o->json, at, &text);
  cli_text_line(o->out, text.len > 0 ? text.data : "-", text.len > 0 ? text.len : 1);
  cli_text_reset(&text);
}

static void add_scalars(outline *o, size_t at) {
  const cli_json *json = o->json;
  if (json->nodes[at].after == at + 1) {
    cli_text_char(o->out, '-');
  }
  for (size_t i = cli_json_first(json, at); i < json->nodes[at].after; i = json->nodes[i].after) {
    cli_text_puts(o->out, i > at + 1 ? ", " : "");
    add_line_text(o, i);
  }
}

/* ------------------------------------------------------------------ tables */

/* The keys of all items in the order in which they appear first, as nodes. */
static size_t *find_columns(const cli_json *json, size_t at, size_t *n_out) {
  size_t *columns = NULL, n = 0, capacity = 0;
  for (size_t i = cli_json_first(json, at); i < json->nodes[at].after; i = json->nodes[i].after) {
    for (size_t j = cli_json_first(json, i); j < json->nodes[i].after; j = json->nodes[j].after) {
      const cli_json_node *a = &json->nodes[j];
      size_t length = a->key_end - a->key_begin, k = 0;
      for (; k < n; k++) {
        const cli_json_node *b = &json->nodes[columns[k]];
        if (b->key_end - b->key_begin == length &&
            memcmp(json->text + a->key_begin, json->text + b->key_begin, length) == 0) {
          break;
        }
      }
      if (k < n) {
        continue;
      }
      if (n == capacity) {
        size_t *grown = realloc(columns, (capacity = capacity * 2 + 8) * sizeof(*grown));
        if (grown == NULL) {
          free(columns);
          return NULL;
        }
        columns = grown;
      }
      columns[n++] = j;
    }
  }
  *n_out = n;
  return columns;
}

/* The member of an object that has the key of another member. */
static size_t same_member(const cli_json *json, size_t at, size_t like) {
  const cli_json_node *b = &json->nodes[like];
  for (size_t i = cli_json_first(json, at); i < json->nodes[at].after; i = json->nodes[i].after) {
    const cli_json_node *a = &json->nodes[i];
    if (a->key_end - a->key_begin == b->key_end - b->key_begin &&
        memcmp(json->text + a->key_begin, json->text + b->key_begin, b->key_end - b->key_begin) ==
            0) {
      return i;
    }
  }
  return SIZE_MAX;
}

static void add_cell(cli_grid *grid, const cli_json *json, size_t at) {
  cli_text text = {0};
  if (at != SIZE_MAX) {
    cli_json_text(json, at, &text);
  }
  cli_grid_add(grid, text.len > 0 ? text.data : "", text.len, CLI_STYLE_PLAIN);
  cli_text_reset(&text);
}

static void add_table(outline *o, size_t at, size_t indent) {
  const cli_json *json = o->json;
  size_t n = 0, *columns = find_columns(json, at, &n);
  char blanks[CLI_JSON_MAX_DEPTH * INDENT + 1];
  cli_grid grid = {0};
  if (columns == NULL || !cli_grid_init(&grid, n)) {
    o->out->is_broken |= n > 0;
    free(columns);
    return;
  }
  memset(blanks, ' ', sizeof(blanks));
  blanks[indent < sizeof(blanks) ? indent : sizeof(blanks) - 1] = '\0';
  grid.indent = blanks;
  grid.max_width = o->max_width;
  grid.has_colors = o->has_colors;
  for (size_t k = 0; k < n; k++) {
    cli_text key = {0};
    cli_json_key(json, columns[k], &key);
    grid.columns[k].is_right = json->nodes[columns[k]].kind == CLI_JSON_NUMBER;
    cli_grid_add(&grid, key.data, key.len, CLI_STYLE_HEADER);
    cli_text_reset(&key);
  }
  for (size_t i = cli_json_first(json, at); i < json->nodes[at].after; i = json->nodes[i].after) {
    for (size_t k = 0; k < n; k++) {
      add_cell(&grid, json, same_member(json, i, columns[k]));
    }
  }
  cli_grid_print(&grid, o->out);
  cli_grid_reset(&grid);
  free(columns);
}

/* ------------------------------------------------------------------ nesting */

static void add_members(outline *o, size_t at, size_t indent);

/* What stands behind "key:", with the end of its line. Depth is bounded by the parser. */
static void add_value(outline *o, size_t at, size_t indent) {
  const cli_json *json = o->json;
  if (cli_json_is_scalar(json, at)) {
    cli_text_char(o->out, ' ');
    add_line_text(o, at);
    cli_text_char(o->out, '\n');
  } else if (json->nodes[at].after == at + 1 || are_all(json, at, cli_json_is_scalar)) {
    cli_text_char(o->out, ' ');
    add_scalars(o, at);
    cli_text_char(o->out, '\n');
  } else {
    cli_text_char(o->out, '\n');
    add_members(o, at, indent + INDENT);
  }
}

static void add_members(outline *o, size_t at, size_t indent) {
  const cli_json *json = o->json;
  if (are_all(json, at, is_flat)) {
    add_table(o, at, indent);
    return;
  }
  for (size_t i = cli_json_first(json, at); i < json->nodes[at].after; i = json->nodes[i].after) {
    cli_text_fill(o->out, ' ', indent);
    if (json->nodes[at].kind == CLI_JSON_OBJECT) {
      cli_text key = {0};
      cli_json_key(json, i, &key);
      cli_text_line(o->out, key.data, key.len);
      cli_text_reset(&key);
      cli_text_char(o->out, ':');
    } else {
      cli_text_char(o->out, '-');
    }
    add_value(o, i, indent);
  }
}

void cli_json_outline(const cli_json *json, size_t at, size_t max_width, bool has_colors,
                      cli_text *out) {
  outline o = {json, out, max_width, has_colors};
  if (cli_json_is_scalar(json, at)) {
    add_line_text(&o, at);
    cli_text_char(out, '\n');
  } else {
    add_members(&o, at, 0);
  }
}
