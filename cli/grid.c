/* grid.c - texts in aligned columns. */
#include "grid.h"

#include <stdlib.h>

#include "utf8.h"

#define GAP 2       /* blanks between columns */
#define MIN_WIDTH 8 /* cells are not cut below this */

static const char ellipsis[] = "\xE2\x80\xA6"; /* one column */

typedef struct cli_grid_cell {
  size_t begin, length, width;
  cli_cell_style style;
  bool is_rule;
} grid_cell;

bool cli_grid_init(cli_grid *grid, size_t n_columns) {
  memset(grid, 0, sizeof(*grid));
  grid->n_columns = n_columns;
  grid->columns = calloc(n_columns + 1, sizeof(*grid->columns));
  grid->indent = "";
  return grid->columns != NULL;
}

void cli_grid_reset(cli_grid *grid) {
  free(grid->columns);
  free(grid->cells);
  cli_text_reset(&grid->text);
  memset(grid, 0, sizeof(*grid));
}

static grid_cell *new_cell(cli_grid *grid) {
  if (grid->n_cells == grid->capacity) {
    size_t capacity = grid->capacity == 0 ? 64 : grid->capacity * 2;
    grid_cell *grown = realloc(grid->cells, capacity * sizeof(*grown));
    if (grown == NULL) {
      grid->text.is_broken = true;
      return NULL;
    }
    grid->cells = grown;
    grid->capacity = capacity;
  }
  memset(&grid->cells[grid->n_cells], 0, sizeof(*grid->cells));
  return &grid->cells[grid->n_cells++];
}

void cli_grid_add(cli_grid *grid, const void *bytes, size_t n, cli_cell_style style) {
  size_t column = grid->n_cells % (grid->n_columns > 0 ? grid->n_columns : 1);
  grid_cell *cell = new_cell(grid);
  if (cell == NULL) {
    return;
  }
  cell->begin = grid->text.len;
  cell->style = style;
  cli_text_line(&grid->text, bytes, n);
  cell->length = grid->text.len - cell->begin;
  cell->width = cell->length > 0 ? cli_utf8_width(grid->text.data + cell->begin, cell->length) : 0;
  if (cell->width > grid->columns[column].width) {
    grid->columns[column].width = cell->width;
  }
}

void cli_grid_rule(cli_grid *grid) {
  for (size_t i = 0; i < grid->n_columns; i++) {
    grid_cell *cell = new_cell(grid);
    if (cell != NULL) {
      cell->is_rule = true;
    }
  }
}

/* The most columns that a cell may take so that a line fits. */
static size_t find_cap(const cli_grid *grid) {
  size_t widest = 0, low = MIN_WIDTH, high;
  for (size_t i = 0; i < grid->n_columns; i++) {
    widest = grid->columns[i].width > widest ? grid->columns[i].width : widest;
  }
  if (grid->max_width == 0 || widest <= MIN_WIDTH) {
    return widest;
  }
  high = widest;
  while (low < high) { /* the largest cap with which it fits, else MIN_WIDTH */
    size_t mid = low + (high - low + 1) / 2, sum = strlen(grid->indent);
    for (size_t i = 0; i < grid->n_columns; i++) {
      size_t w = grid->columns[i].width;
      sum += (w < mid ? w : mid) + (i > 0 ? GAP : 0);
    }
    if (sum <= grid->max_width) {
      low = mid;
    } else {
      high = mid - 1;
    }
  }
  return low;
}

static void print_cell(const cli_grid *grid, const grid_cell *cell, size_t column, size_t cap,
                       cli_text *out) {
  static const char *const colors[] = {"", "\x1b[2m", "\x1b[1m"};
  size_t width = grid->columns[column].width < cap ? grid->columns[column].width : cap;
  size_t length = cell->length, shown = cell->width;
  bool is_cut = cell->width > width, is_last = column + 1 == grid->n_columns;
  bool is_colored = grid->has_colors && cell->style != CLI_STYLE_PLAIN;
  const char *text = grid->text.data + cell->begin;
  if (cell->is_rule) {
    cli_text_fill(out, '-', width);
    return;
  }
  if (is_cut) {
    length = cli_utf8_cut(text, cell->length, width - 1, &shown);
    shown++;
  }
  if (grid->columns[column].is_right) {
    cli_text_fill(out, ' ', width - shown);
  }
  if (is_colored) {
    cli_text_puts(out, colors[cell->style]);
  }
  if (length > 0) {
    cli_text_add(out, text, length);
  }
  if (is_cut) {
    cli_text_puts(out, ellipsis);
  }
  if (is_colored) {
    cli_text_puts(out, "\x1b[0m");
  }
  if (!grid->columns[column].is_right && !is_last) {
    cli_text_fill(out, ' ', width - shown);
  }
}

void cli_grid_print(cli_grid *grid, cli_text *out) {
  size_t cap = find_cap(grid);
  if (grid->text.is_broken) {
    out->is_broken = true;
    return;
  }
  for (size_t i = 0; grid->n_columns > 0 && i + grid->n_columns <= grid->n_cells;
       i += grid->n_columns) {
    size_t begin = out->len;
    cli_text_puts(out, grid->indent);
    for (size_t j = 0; j < grid->n_columns; j++) {
      cli_text_fill(out, ' ', j > 0 ? GAP : 0);
      print_cell(grid, &grid->cells[i + j], j, cap, out);
    }
    while (grid->cells[i + grid->n_columns - 1].width == 0 && out->len > begin &&
           out->data[out->len - 1] == ' ') {
      out->len--; /* nothing stands there */
    }
    cli_text_char(out, '\n');
  }
  grid->n_cells = 0;
  grid->text.len = 0;
}
