/* grid.h - texts in aligned columns.
 *
 * Cells are added row by row; every print shows what was added since the last one, so that a long
 * table can be shown in pieces. Widths only grow. Memory that runs out is remembered in `text` and
 * in the text that is printed to.
 *
 * Where a line has no room for all (max_width), the first print decides: columns of the highest
 * rank are left out until the others have room; then the widest cells are cut, headers last; and
 * where not even the headers have room, rows stand (may_stand): a line for each of their values.
 */
#ifndef CLI_GRID_H
#define CLI_GRID_H

#include <stdint.h>

#include "text.h"

typedef enum cli_cell_style {
  CLI_STYLE_PLAIN = 0,
  CLI_STYLE_NULL,
  CLI_STYLE_HEADER
} cli_cell_style;

typedef struct cli_grid_column {
  bool is_right;    /* aligned */
  size_t width;     /* columns of the terminal */
  size_t header;    /* of its header alone */
  const char *name; /* borrowed; for rows that stand */
  uint32_t rank;    /* 0: never left out; else those of the highest rank are first */
  bool is_hidden;
  size_t shown; /* columns of the terminal that it has now */
} cli_grid_column;

typedef struct cli_grid {
  size_t n_columns;
  cli_grid_column *columns; /* owned */
  cli_text text;            /* the cells, one behind the other */
  struct cli_grid_cell *cells;
  size_t n_cells, capacity;
  bool has_colors;
  size_t max_width; /* of a line, 0: any */
  bool may_stand;   /* the columns have names */
  enum { CLI_GRID_UNDECIDED = 0, CLI_GRID_LIES, CLI_GRID_STANDS } layout;
  size_t n_hidden; /* columns that are left out */
  int64_t n_rows;  /* that stand */
  const char *indent;
} cli_grid;

/* false: no memory. */
bool cli_grid_init(cli_grid *grid, size_t n_columns);
void cli_grid_reset(cli_grid *grid);

/* Add a cell; foreign bytes are made fit for a terminal. */
void cli_grid_add(cli_grid *grid, const void *bytes, size_t n, cli_cell_style style);
/* A line of dashes under each column, once their widths are known. */
void cli_grid_rule(cli_grid *grid);
void cli_grid_print(cli_grid *grid, cli_text *out);

#endif
