/* cell.h - the values of Arrow arrays as text.
 *
 * A cell is a column (or what is nested in one): its type, taken once from the schema, and where
 * its values lie in the batch that is bound. Two forms: JSON, as Paimon's tools exchange rows, and
 * plain text for tables and csv (nested values are JSON there, too).
 *
 *   DECIMAL  a string with all its digits       BINARY  lower-case hex
 *   DATE     2024-02-29                         TIME    12:34:56.789
 *   TIMESTAMP  2024-02-29T12:34:56.123456000, with Z when it is an instant; as plain text
 *              2024-02-29 12:34:56.123 with the digits of its precision (0, 3, 6, 9)
 *   FLOAT, DOUBLE  Java's shortest form; "NaN", "Infinity", "-Infinity"
 *   ARRAY    list       MAP  list of [key, value], MULTISET of [element, count], sorted by the JSON
 *   ROW      object          text of the key (as UTF-16)
 *   VARIANT  {"json": its JSON text}; as plain text that text alone
 *
 * A set belongs to one thread at a time.
 */
#ifndef CLI_CELL_H
#define CLI_CELL_H

#include "tarn/inspect.h"
#include "text.h"

typedef struct cli_cells cli_cells;
typedef struct cli_cell cli_cell;

typedef void (*cli_cell_fn)(cli_cell *cell, int64_t at, cli_text *out);

struct cli_cell {
  cli_cell_fn json,
      plain;            /* print value `at`, which is not null and counts from the buffers' start */
  const uint8_t *valid; /* a bit a value; NULL: none is null */
  const void *values;   /* fixed-width values, bits or offsets */
  const uint8_t *data;  /* bytes of texts */
  int64_t offset;       /* of the first row in the buffers */
  cli_cell *children;   /* owned; n_children */
  int32_t n_children;
  int32_t scale;  /* decimal digits; digits of a timestamp's unit */
  int32_t length; /* of a VECTOR */
  bool is_instant;
  bool is_wide;     /* a timestamp of 128 bits */
  bool is_number;   /* stands on the right of a table's column */
  const char *name; /* borrowed from the schema */
  cli_text key;     /* name as JSON, with the colon */
  cli_cells *cells;
  cli_text scratch; /* maps: the entries, while they are sorted */
  struct cli_map_entry *entries;
  size_t entry_capacity;
};

struct cli_cells {
  tarn_env *env;
  struct ArrowSchema schema; /* owned */
  cli_cell root;             /* a struct: the columns are its children */
  tarn_error error;          /* the first value that could not be told; status TARN_OK: none */
};

/* The cells of a struct schema.
 *
 * schema    taken, on failure too
 * has_kind  the first column is the row kind
 * out       cli_cells_free()
 * Errors: TARN_E_UNSUPPORTED (an Arrow type that Tarn's streams never have), TARN_E_NOMEM.
 */
tarn_status cli_cells_create(tarn_env *env, struct ArrowSchema *schema, bool has_kind,
                             cli_cells **out, tarn_error *err);
void cli_cells_free(cli_cells *cells);

/* Look at a batch, which must outlive the use of its cells. Errors: TARN_E_INTERNAL (its layout is
 * not that of the schema). */
tarn_status cli_cells_bind(cli_cells *cells, const struct ArrowArray *batch, tarn_error *err);

static inline bool cli_cell_is_null(const cli_cell *cell, int64_t row) {
  int64_t at = cell->offset + row;
  return cell->valid != NULL && ((cell->valid[at / 8] >> (at % 8)) & 1) == 0;
}
/* Null is `null`. A value that cannot be told leaves an error in the set. */
static inline void cli_cell_json(cli_cell *cell, int64_t row, cli_text *out) {
  if (cli_cell_is_null(cell, row)) {
    cli_text_add(out, "null", 4);
  } else {
    cell->json(cell, cell->offset + row, out);
  }
}
/* Only for values that are not null. */
static inline void cli_cell_plain(cli_cell *cell, int64_t row, cli_text *out) {
  cell->plain(cell, cell->offset + row, out);
}

/* ------------------------------------------------------------------ internal to the cell files */

/* The functions of a type without children; false: it has another type. */
bool cli_cell_set_scalar(cli_cell *cell, const char *format);
/* A timestamp that comes as decimal seconds of 128 bits (timestamp_ns_as_us = 2). */
void cli_cell_set_time(cli_cell *cell, bool is_instant);

#endif
