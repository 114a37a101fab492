/* split_reader.h - what a read asks of every split, and the readers of one split. Internal.
 *
 *   tn_read ── tn_split_reader ─┬─ files one after the other (file_list.c): raw splits, sections of
 *                               │  one run, splits that are not merged
 *                               ├─ files side by side (evolution_reader.c) over lanes
 *                               └─ sections of overlapping runs (merge_reader.c) over merge/
 *
 * The context is made once and shared by all threads; a split reader belongs to one thread at a
 * time.
 */
#ifndef TN_READ_SPLIT_READER_H
#define TN_READ_SPLIT_READER_H

#include "datafile/data_reader.h"
#include "datafile/row_tracking.h"
#include "merge/key.h"
#include "merge/merge.h"
#include "read/read.h"

#define TN_READ_BATCH_ROWS 8192

typedef struct tn_read_context {
  tarn_env *env;
  tn_read_options o; /* fields and predicate stay borrowed */
  tn_arena arena;
  const tn_field *out_fields; /* _row_kind, if wanted, then o.fields */
  int32_t n_out;
  const tn_pred *key_filter;   /* AND-parts that use key columns alone; NULL: none */
  const tn_pred *value_filter; /* all others; NULL: none */
  const tn_engine_ops *engine; /* NULL: tables without primary key */
  int64_t batch_rows;
} tn_read_context;

typedef struct tn_split_reader tn_split_reader;

typedef struct tn_split_reader_ops {
  /* The next rows, with the context's output columns, flat; out is all zero. n_rows == 0: the end.
   */
  tarn_status (*next)(tn_split_reader *reader, tn_batch *out, tarn_error *err);
  void (*free)(tn_split_reader *reader);
} tn_split_reader_ops;

struct tn_split_reader {
  const tn_split_reader_ops *ops;
};

static inline void tn_split_reader_free(tn_split_reader *reader) {
  if (reader != NULL) {
    reader->ops->free(reader);
  }
}

/* How a split is to be read (spec: read, 2). */
typedef enum tn_split_way {
  TN_SPLIT_RAW,       /* files as they are, all rows are +I */
  TN_SPLIT_MERGED,    /* sections and runs */
  TN_SPLIT_NOT_MERGED /* files one after the other, with their row kinds */
} tn_split_way;

tn_split_way tn_split_choose_way(const tn_read_context *context, const tn_split *split);

/* ------------------------------------------------------------------ lists of files */

typedef struct tn_file_list {
  const tn_split *split;
  const int32_t *files; /* indexes into split->files, borrowed; NULL: first .. first + n_files */
  int32_t first;
  int32_t n_files;
  bool has_kinds;        /* _VALUE_KIND is obeyed; false: every row is +I */
  bool pushes_values;    /* value filters may skip rows, too; false: key filters only */
  const tn_pred *filter; /* exact, on the rows; NULL: none */
} tn_file_list;

TN_CHECKED tarn_status tn_file_list_read(const tn_read_context *context, const tn_file_list *list,
                                         tn_split_reader **out, tarn_error *err);

/* The same of a table whose rows lie in several files side by side. first and n_files are a share
 * of the split: rows belong to whom has the first of their files, in the order of row ids. */
TN_CHECKED tarn_status tn_evolution_read(const tn_read_context *context, const tn_file_list *list,
                                         tn_split_reader **out, tarn_error *err);

/* A split of the way MERGED. */
TN_CHECKED tarn_status tn_merge_split_read(const tn_read_context *context, const tn_split *split,
                                           tn_split_reader **out, tarn_error *err);

/* ------------------------------------------------------------------ one file of a split */

/* A data file that is being read, with what it borrows. All zero: none. */
typedef struct tn_open_file {
  tn_data_reader *reader;
  tn_dv *deletions;
  tn_arena arena;
  const char *path;
  tn_ranges rows;
} tn_open_file;

typedef struct tn_open_request {
  const tn_read_context *context;
  const tn_split *split;
  int32_t index;
  tn_data_shape *shape;
  const tn_pred *pushed;
  int64_t first_position; /* of the rows that are wanted */
  const tn_ranges *rows;  /* instead: their positions; NULL: all from there on */
  bool gives_deleted;     /* whoever asks looks for deleted rows itself */
  bool wants_flat;        /* unless rows are deleted */
  int64_t batch_rows;
} tn_open_request;

TN_CHECKED tarn_status tn_open_file_open(const tn_open_request *request, tn_open_file *out,
                                         tarn_error *err);
void tn_open_file_close(tn_open_file *file); /* accepts all zero */
/* The positions that a predicate leaves of a file of a split, as tn_data_file_prune(). */
TN_CHECKED tarn_status tn_open_file_prune(const tn_read_context *context, const tn_split *split,
                                          int32_t index, tn_data_shape *shape, const tn_pred *pred,
                                          tn_ranges *out, tarn_error *err);

/* Does _VALUE_KIND of this file have to be read: may it hold retractions, or does somebody want to
 * tell +U from +I? */
bool tn_file_needs_kinds(const tn_read_context *context, const tn_data_file *file);
/* As many rows as a batch of this file may have so that it takes about max_bytes, by a guess from
 * types and file size; at least TN_LEAST_ROWS, at most max_rows. */
int64_t tn_file_batch_rows(const tn_read_context *context, const tn_data_file *file,
                           int64_t max_rows, int64_t max_bytes);
#define TN_LEAST_ROWS 16
/* Bytes of the values of a batch, any encoding, as if they were flat. */
int64_t tn_batch_bytes(const tn_batch *batch);
/* The column _VALUE_KIND of key-value files. */
extern const tn_field tn_kind_field;
/* Every kind is one of the four, no one is null. */
TN_CHECKED tarn_status tn_check_kinds(const tn_vec *kinds, const char *path, tarn_error *err);

/* A column of the table, or of what row tracking adds to it, by id; NULL: none. */
const tn_field *tn_read_field(const tn_read_context *context, int32_t id);
/* The index of `field` among fields[0 .. *n), added at the end if no equal one is there. */
int32_t tn_fields_add(tn_field *fields, int32_t *n, const tn_field *field);
/* Append the columns that a predicate tests, once each. fields has room for all columns of the
 * table and those that row tracking adds. */
void tn_fields_add_tested(const tn_read_context *context, const tn_pred *pred, tn_field *fields,
                          int32_t *n);

#endif
