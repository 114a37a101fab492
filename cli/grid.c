/* grid.c - texts in aligned columns. */
#include "grid.h"

#include <stdlib.h>

#include "utf8.h"

#define GAP 2       /* blanks between columns */
#define MIN_WIDTH 8 /* cells are not cut below this */
/* What a cell should have before columns are left out for it: a UUID fits. */
#define WANTED_WIDTH 36

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
  if (style == CLI_STYLE_HEADER) {
    grid->columns[column].header = cell->width;
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

/* ------------------------------------------------------------------ widths */

static size_t least(size_t a, size_t b) {
  return a < b ? a : b;
}

/* What a column cannot do without: its header, and a few letters of a cell. */
static size_t floor_of(const cli_grid_column *c, bool keeps_headers) {
  return least(c->width, keeps_headers && c->header > MIN_WIDTH ? c->header : MIN_WIDTH);
}

/* The columns of a line in which no cell takes more than `cap`, unless its column has to. */
static size_t line_width(const cli_grid *grid, bool keeps_headers, size_t cap) {
  size_t sum = strlen(grid->indent), n = 0;
  for (size_t i = 0; i < grid->n_columns; i++) {
    const cli_grid_column *c = &grid->columns[i];
    size_t floor = floor_of(c, keeps_headers);
    if (!c->is_hidden) {
      sum += (n++ > 0 ? GAP : 0) + (cap > floor ? least(c->width, cap) : floor);
    }
  }
  return sum;
}

/* The column that is left out next, or n_columns. */
static size_t next_hidden(const cli_grid *grid) {
  size_t found = grid->n_columns;
  for (size_t i = 0; i < grid->n_columns; i++) {
    const cli_grid_column *c = &grid->columns[i];
    if (!c->is_hidden && c->rank > 0 &&
        (found == grid->n_columns || c->rank >= grid->columns[found].rank)) {
      found = i;
    }
  }
  return found;
}

static void decide_layout(cli_grid *grid) {
  size_t column;
  grid->layout = CLI_GRID_LIES;
  if (grid->max_width == 0) {
    return;
  }
  while (line_width(grid, true, WANTED_WIDTH) > grid->max_width &&
         (column = next_hidden(grid)) < grid->n_columns) {
    grid->columns[column].is_hidden = true;
    grid->n_hidden++;
  }
  if (grid->may_stand && line_width(grid, true, 0) > grid->max_width) {
    grid->layout = CLI_GRID_STANDS;
  }
}

/* Fair shares: the short ones get what they need, the others the same. */
static void share_width(cli_grid *grid) {
  size_t low = 0, high = 0;
  bool keeps_headers = grid->max_width == 0 || line_width(grid, true, 0) <= grid->max_width;
  for (size_t i = 0; i < grid->n_columns; i++) {
    high = grid->columns[i].width > high ? grid->columns[i].width : high;
  }
  low = grid->max_width == 0 ? high : 0;
  while (low < high) { /* the largest cap with which it fits */
    size_t mid = low + (high - low + 1) / 2;
    if (line_width(grid, keeps_headers, mid) <= grid->max_width) {
      low = mid;
    } else {
      high = mid - 1;
    }
  }
  for (size_t i = 0; i < grid->n_columns; i++) {
    cli_grid_column *c = &grid->columns[i];
    size_t floor = floor_of(c, keeps_headers);
    c->shown = low > floor ? least(c->width, low) : floor;
  }
}

/* ------------------------------------------------------------------ print */

/* A cell in `width` columns; is_padded: with the blanks behind it. */
static void print_cell(const cli_grid *grid, const grid_cell *cell, size_t width, bool is_right,
                       bool is_padded, cli_text *out) {
  static const char *const colors[] = {"", "\x1b[2m", "\x1b[1m"};
  size_t length = cell->length, shown = cell->width;
  bool is_cut = cell->width > width;
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
  if (is_right) {
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
  if (is_padded && !is_right) {
    cli_text_fill(out, ' ', width - shown);
  }
}

static void print_line(const cli_grid *grid, const grid_cell *cells, cli_text *out) {
  size_t begin = out->len, last = grid->n_columns, n = 0;
  while (last > 0 && grid->columns[last - 1].is_hidden) {
    last--;
  }
  cli_text_puts(out, grid->indent);
  for (size_t i = 0; i < last; i++) {
    const cli_grid_column *c = &grid->columns[i];
    if (!c->is_hidden) {
      cli_text_fill(out, ' ', n++ > 0 ? GAP : 0);
      print_cell(grid, &cells[i], c->shown, c->is_right, i + 1 < last, out);
    }
  }
  while (last > 0 && cells[last - 1].width == 0 && out->len > begin &&
         out->data[out->len - 1] == ' ') {
    out->len--; /* nothing stands there */
  }
  cli_text_char(out, '\n');
}

/* A row as lines: its number, then each name and value. */
static void print_standing(cli_grid *grid, const grid_cell *cells, cli_text *out) {
  size_t widest = 0, taken;
  if (cells[0].style == CLI_STYLE_HEADER || cells[0].is_rule) {
    return;
  }
  for (size_t i = 0; i < grid->n_columns; i++) {
    size_t width = cli_utf8_width(grid->columns[i].name, strlen(grid->columns[i].name));
    widest = width > widest ? width : widest;
  }
  widest = least(widest, grid->max_width / 2);
  cli_text_printf(out, "%srow %lld%s\n", grid->has_colors ? "\x1b[1m" : "",
                  (long long)++grid->n_rows, grid->has_colors ? "\x1b[0m" : "");
  for (size_t i = 0; i < grid->n_columns; i++) {
    const char *name = grid->columns[i].name;
    size_t length = cli_utf8_cut(name, strlen(name), widest, &taken);
    size_t left = grid->max_width > widest + 2 * GAP ? grid->max_width - widest - 2 * GAP : 0;
    cli_text_fill(out, ' ', GAP);
    cli_text_line(out, name, length);
    if (cells[i].width > 0) {
      cli_text_fill(out, ' ', GAP + (widest > taken ? widest - taken : 0));
      print_cell(grid, &cells[i], left > MIN_WIDTH ? left : MIN_WIDTH, false, false, out);
    }
    cli_text_char(out, '\n');
  }
}

void cli_grid_print(cli_grid *grid, cli_text *out) {
  if (grid->text.is_broken) {
    out->is_broken = true;
    return;
  }
  if (grid->layout == CLI_GRID_UNDECIDED) {
    decide_layout(grid);
  }
  share_width(grid);
  for (size_t i = 0; grid->n_columns > 0 && i + grid->n_columns <= grid->n_cells;
       i += grid->n_columns) {
    if (grid->layout == CLI_GRID_STANDS) {
      print_standing(grid, &grid->cells[i], out);
    } else {
      print_line(grid, &grid->cells[i], out);
    }
  }
  grid->n_cells = 0;
  grid->text.len = 0;
}
