/* handles.h - what is inside each public handle. All are immutable after creation. */
#ifndef TN_API_HANDLES_H
#define TN_API_HANDLES_H

#include "catalog/system.h"
#include "column/arrow.h"
#include "datafile/row_tracking.h"
#include "format/format.h"
#include "read/read.h"
#include "tarn/tarn.h"

struct tarn_catalog {
  tn_catalog *catalog; /* owned */
};

/* A call that names a table: the name taken apart, and memory for the time of the call. */
typedef struct tn_api_name {
  tn_arena scratch;
  tn_table_name parts; /* lies in the scratch */
} tn_api_name;

/* The start of such a call: resets err, checks the environment. n: tn_api_name_end(), on failure
 * too. */
TN_CHECKED tarn_status tn_api_name_begin(tarn_env *env, const char *name, tn_api_name *n,
                                         tarn_error *err);
void tn_api_name_end(tn_api_name *n);

struct tarn_table {
  _Atomic int32_t refs; /* scans keep their table */
  tarn_env *env;
  tn_table *table;   /* retained; NULL for tables of the database sys */
  tn_system *system; /* owned; NULL: the data table itself */
};

void tn_api_table_release(tarn_table *table);
/* The columns a user sees. */
const tn_field *tn_api_table_fields(const tarn_table *table, int32_t *n_fields);
/* Those that may be asked for by name: behind them, what row tracking tells of rows. May lie in the
 * arena. NULL: out of memory. */
const tn_field *tn_api_named_fields(const tarn_table *table, tn_arena *arena, int32_t *n_fields);

/* Where an output column comes from: a column that is read, and steps into its ROWs. */
typedef struct tn_api_source {
  int32_t column; /* index into read_fields */
  int32_t n_path;
  const int32_t *path; /* child indexes */
} tn_api_source;

struct tarn_scan {
  _Atomic int32_t refs; /* streams keep their scan */
  tarn_env *env;
  tarn_table *table; /* retained */
  tn_arena arena;
  const tn_field *out_fields; /* what streams give */
  int32_t n_out;
  const tn_field *read_fields; /* top-level columns that are read for them */
  int32_t n_read;
  tn_api_source *sources; /* n_out; column -1: the row kind */
  tarn_predicate *predicate;
  int64_t limit;
  bool with_row_kind;
  tn_arrow_options arrow;
  int64_t batch_rows;
  bool keeps_stats;
  bool has_top;
  tn_top_n top;
  tarn_cancel *cancel;
};

void tn_api_scan_release(tarn_scan *scan);
/* What `timestamp_ns_as_us` of options means (tarn/scan.h). */
static inline tn_arrow_options tn_api_times(int32_t timestamp_ns_as_us) {
  return (tn_arrow_options){timestamp_ns_as_us != 0 && timestamp_ns_as_us != 2,
                            timestamp_ns_as_us == 2};
}

struct tarn_plan {
  tn_plan *plan; /* retained */
};

struct tarn_split {
  tn_plan *plan;   /* retained; owns the split */
  tn_table *table; /* retained: schema for describing it */
  const tn_split *split;
};

/* Resolve the columns of a scan (projection.c). */
TN_CHECKED tarn_status tn_api_resolve_columns(tarn_scan *scan, const char *const *columns,
                                              size_t n_columns, const char *row_kind_name,
                                              tarn_error *err);
/* A batch of read columns (with a first row kind column when the scan has one) as output columns;
 * consumes `read`. */
TN_CHECKED tarn_status tn_api_project(const tarn_scan *scan, tn_batch *read, tn_batch *out,
                                      tarn_error *err);

/* A stream over splits, or over the rows of a system table (stream.c). */
TN_CHECKED tarn_status tn_api_stream(tarn_scan *scan, const tn_split *const *splits,
                                     int32_t n_splits, tarn_predicate *run_time_filter,
                                     struct ArrowArrayStream *out, tarn_error *err);
/* A stream over a reader of one file (inspect --rows); takes the reader and the arena. */
typedef struct tn_api_file_rows {
  tarn_env *env;
  tn_arena arena; /* owns fields */
  const tn_field *fields;
  int32_t n_fields;
  tn_format_file *file; /* owned */
  tn_reader *reader;    /* owned */
  int64_t limit;
  tn_arrow_options arrow;
} tn_api_file_rows;
TN_CHECKED tarn_status tn_api_file_stream(tn_api_file_rows *rows, struct ArrowArrayStream *out,
                                          tarn_error *err);

/* The columns of an Arrow struct schema as fields in the arena, with ids: those of the metadata
 * "paimon.id", else new ones. Errors: INVALID naming the column, LIMIT (arrow_columns.c). */
TN_CHECKED tarn_status tn_api_arrow_fields(tn_arena *arena, const struct ArrowSchema *schema,
                                           tn_field **fields, int32_t *n_fields, tarn_error *err);

/* The end of a call that made a text: gives it to the caller when st is OK, resets the buffer, and
 * returns st or NOMEM (text.c). */
TN_CHECKED tarn_status tn_api_string(tarn_status st, tn_buf *text, tarn_string *out,
                                     tarn_error *err);

#define TN_API_TEXT_LIMIT ((size_t)1 << 30)

/* A partition column is what a text says: a leaf in the arena. Errors: INVALID (no partition
 * column, a text that is no value of it). */
TN_CHECKED tarn_status tn_api_partition_leaf(const tn_table *table, tn_arena *arena,
                                             const tarn_option *pair, const tn_pred **out,
                                             tarn_error *err);

#endif
