/* columns.h - rows that are read in: Arrow arrays that grow by one value at a time.
 *
 * The columns are those of a table; behind them stands the row kind, which is left out of a batch
 * in which no row told one. A row that turns out to be bad is taken back (cli_columns_cut), so a
 * batch holds whole rows only.
 *
 * Timestamps of nanoseconds are decimal seconds of nine digits (TIMESTAMP(7-9), tarn/write.h), for
 * 64 bits end in 1677 and 2262.
 *
 * Values are taken from text (value.c) or from JSON (json_rows.c). What a value should have been
 * is told in `expected`. One thread at a time.
 */
#ifndef CLI_COLUMNS_H
#define CLI_COLUMNS_H

#include <stdbool.h>

#include "tarn/inspect.h"
#include "text.h"

typedef enum cli_column_kind {
  CLI_COLUMN_BOOLEAN,
  CLI_COLUMN_INT, /* 8 to 64 bits */
  CLI_COLUMN_FLOAT,
  CLI_COLUMN_DOUBLE,
  CLI_COLUMN_DECIMAL,
  CLI_COLUMN_TEXT,
  CLI_COLUMN_BYTES,
  CLI_COLUMN_DATE,
  CLI_COLUMN_TIME, /* milliseconds */
  CLI_COLUMN_TIMESTAMP,
  CLI_COLUMN_LIST,
  CLI_COLUMN_VECTOR,
  CLI_COLUMN_MAP, /* MULTISET, too; its child is a ROW of two */
  CLI_COLUMN_ROW,
  CLI_COLUMN_VARIANT
} cli_column_kind;

typedef struct cli_column cli_column;
struct cli_column {
  cli_column_kind kind;
  const char *name; /* borrowed from the schema */
  size_t n_name;
  const char *type; /* as SQL, or what comes near; n_type bytes, borrowed */
  size_t n_type;
  bool takes_null;
  int64_t min, max;         /* INT */
  int32_t precision, scale; /* DECIMAL; scale: digits of a TIMESTAMP's unit */
  int32_t length;           /* VECTOR */
  bool is_instant;          /* TIMESTAMP_LTZ */
  bool is_wide;             /* TIMESTAMP of nanoseconds: as decimals of 128 bits */
  cli_column *parent;       /* NULL: the root */
  cli_column *children;     /* owned */
  int32_t n_children;
  int32_t next_child; /* ROW: where the next member is most likely found */
  struct ArrowArray *array;
};

typedef struct cli_columns {
  tarn_env *env;
  struct ArrowSchema schema; /* owned; the last child is the row kind */
  struct ArrowArray array;   /* owned */
  cli_column root;           /* a ROW, without the row kind */
  const char *kind_name;     /* NULL: rows tell none */
  struct ArrowArray *kinds;
  bool has_kinds;     /* a row of the batch told one */
  bool has_kind;      /* this row did */
  char expected[256]; /* what a refused value should have been */
  bool is_out_of_memory;
  cli_text keys; /* of a map that ends: its keys as bytes */
  struct cli_map_key *key_list;
  size_t key_capacity;
  /* Rows that 'table tail' prints without checkpoints are refused: where they come from goes on
   * without knowing what was kept of them. */
  bool refuses_snapshots;
} cli_columns;

/* schema        of the columns (struct); taken, on failure too
 * n_columns     only so many of them are wanted; 0: all
 * kind_name     of the row kind; NULL: there is none; borrowed
 * out           cli_columns_free()
 * Errors: TARN_E_UNSUPPORTED (a type, by name), TARN_E_NOMEM. */
tarn_status cli_columns_create(tarn_env *env, struct ArrowSchema *schema, size_t n_columns,
                               const char *kind_name, cli_columns **out, tarn_error *err);
void cli_columns_free(cli_columns *columns);

/* Begin an empty batch. */
tarn_status cli_columns_begin(cli_columns *columns, tarn_error *err);
/* Rows of the batch so far. */
static inline int64_t cli_columns_rows(const cli_columns *columns);
/* Take back what was added behind the first n_rows. */
void cli_columns_cut(cli_columns *columns, int64_t n_rows);
/* The batch that was begun: a view, valid until the next begin or free; neither is released. */
tarn_status cli_columns_finish(cli_columns *columns, struct ArrowSchema *schema,
                               struct ArrowArray *array, tarn_error *err);

/* ------------------------------------------------------------------ for parsers */

/* A child of a ROW by its name; NULL: there is none. Looks first where the last one leads to. */
cli_column *cli_column_find(cli_column *row, const char *name, size_t n);
/* The name among the row's that is nearest; NULL: none is near. */
const char *cli_column_nearest(const cli_columns *columns, const cli_column *row, const char *name,
                               size_t n);
/* "r.x", "a.element", "m.value"; cut to its size. */
void cli_column_path(const cli_column *column, char *out, size_t size);

/* Each adds one value; false: `expected` tells what it should have been, or memory is out. */
bool cli_add_null(cli_columns *columns, cli_column *column);
bool cli_add_int(cli_columns *columns, cli_column *column, int64_t value);
/* Seconds since 1970 and nanoseconds of one, 0 to 999999999, for a TIMESTAMP that is wide. */
bool cli_add_time(cli_columns *columns, cli_column *column, int64_t seconds, int64_t nanos);
bool cli_add_real(cli_columns *columns, cli_column *column, double value);
bool cli_add_bytes(cli_columns *columns, cli_column *column, const void *bytes, size_t n);
bool cli_add_kind(cli_columns *columns, const char *text, size_t n);
/* The plain text form of a type without children (cell.h). The byte behind the text is readable and
 * no part of a number. */
bool cli_add_text(cli_columns *columns, cli_column *column, const char *text, size_t n);
/* A number in digits, as in JSON; of the number types only. */
bool cli_add_number(cli_columns *columns, cli_column *column, const char *text, size_t n);
/* Does this ROW value, which is not ended yet, have the child already? */
static inline bool cli_column_is_met(const cli_column *row, const cli_column *child);
/* The end of a ROW, LIST, VECTOR or MAP value whose children were added. Of a MAP or MULTISET each
 * key must be there once: readers differ in which of two they show. */
bool cli_add_end(cli_columns *columns, cli_column *column);
/* The end of a whole row: members that were not met become null, the kind +I. *bad gets the column
 * that takes no null. */
bool cli_add_row_end(cli_columns *columns, cli_column *row, cli_column **bad);

/* Fill `expected`. Returns false. */
bool cli_expected(cli_columns *columns, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* What the type takes, for the message. */
bool cli_expected_type(cli_columns *columns, const cli_column *column);

static inline int64_t cli_columns_rows(const cli_columns *columns) {
  return columns->array.length;
}
static inline bool cli_column_is_met(const cli_column *row, const cli_column *child) {
  return child->array->length > row->array->length;
}

#endif
