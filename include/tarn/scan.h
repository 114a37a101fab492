/* scan.h - planning and reading.
 *
 *   tarn_scan *scan; tarn_plan *plan; struct ArrowArrayStream rows;
 *   tarn_scan_create(table, NULL, &scan, &err);
 *   tarn_scan_plan(scan, &plan, &err);
 *   tarn_plan_read(scan, plan, NULL, &rows, &err);      // or split by split, in other processes
 */
#ifndef TARN_SCAN_H
#define TARN_SCAN_H

#include "tarn/predicate.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ scan */

typedef struct tarn_scan tarn_scan;

typedef struct tarn_scan_options {
  size_t struct_size;
  const char *const *columns; /* wanted columns in this order; NULL: all. "r.x" takes a nested field
                                 (as a column named "r.x") */
  size_t n_columns;
  tarn_predicate *predicate;  /* NULL: all rows; retained */
  int64_t limit;              /* the most rows; negative: all */
  int32_t with_row_kind;      /* 1: a first column _row_kind, int8 (0 +I, 1 -U, 2 +U, 3 -D) */
  const char *row_kind_name;  /* its name; NULL: "_row_kind" */
  int32_t timestamp_ns_as_us; /* TIMESTAMP(7-9): 0: int64 nanoseconds, 1677 to 2262, what is beyond
                                 is TARN_E_LIMIT; 1: microseconds; 2: DECIMAL(38, 9), seconds since
                                 1970 with all digits, which has every value */
  int64_t batch_rows;         /* the most rows of a batch; 0: 8192 */
  int32_t keep_statistics; /* 1: plans keep the statistics of files, which tarn_split_describe and
                              tarn_split_encode then tell (without: as Java's dropStats) */
  tarn_cancel *cancel;    /* NULL: cannot be cancelled; must outlive the scan's plans and streams */
  const char *top_column; /* a hint: of the rows only the first top_n by this column are wanted, and
                             the caller sorts them; NULL: no hint. Plans leave out splits that
                             cannot hold any of those rows (append tables; no limit, no filter on
                             other columns than partition keys; at most 100 rows) */
  int64_t top_n;
  int32_t top_descending;  /* 1: the largest come first */
  int32_t top_nulls_first; /* 1: nulls come before all values, else behind */
} tarn_scan_options;

#define TARN_SCAN_OPTIONS_INIT \
  {sizeof(tarn_scan_options), 0, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/* options may be NULL: everything. out: tarn_scan_free(). Keeps what it needs of the table.
 * Errors: TARN_E_NOT_FOUND (column, nearest name offered), TARN_E_EXISTS (a user's column has the
 * name of the row kind's: rename ours), TARN_E_INVALID (negative sizes). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_scan_create(tarn_table *table,
                                                      const tarn_scan_options *options,
                                                      tarn_scan **out, tarn_error *err);
TARN_EXPORT void tarn_scan_free(tarn_scan *scan);

/* The columns that reads of this scan give. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_scan_schema(tarn_scan *scan, struct ArrowSchema *out,
                                                      tarn_error *err);

/* ------------------------------------------------------------------ plan */

typedef struct tarn_plan tarn_plan;
typedef struct tarn_split tarn_split;

/* Plan a batch read: snapshots, manifests, splits. What is read is asked of the table's options:
 * scan.mode and its keys, incremental-between and its like (changes are given as they are, with
 * with_row_kind in all kinds, else without retractions), scan.fallback-branch, scan.primary-branch.
 * Immutable; may be used by many threads.
 * Errors: TARN_E_NOT_FOUND (snapshot, tag), TARN_E_EXPIRED (an expired snapshot), TARN_E_CORRUPT,
 * TARN_E_IO, TARN_E_UNSUPPORTED (system tables: read them with tarn_scan_read). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_scan_plan(tarn_scan *scan, tarn_plan **out,
                                                    tarn_error *err);
TARN_EXPORT void tarn_plan_free(tarn_plan *plan);

TARN_EXPORT size_t tarn_plan_split_count(const tarn_plan *plan);
/* The id of the planned snapshot; 0: the table has none. */
TARN_EXPORT int64_t tarn_plan_snapshot_id(const tarn_plan *plan);
/* One JSON object: snapshot, counts of manifests and files looked at and pruned, what is not
 * visible yet and why. out: tarn_string_free(). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_plan_describe(const tarn_plan *plan, tarn_string *out,
                                                        tarn_error *err);

/* Split i; owned by the caller: tarn_split_free(). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_plan_split(const tarn_plan *plan, size_t i,
                                                     tarn_split **out, tarn_error *err);
TARN_EXPORT void tarn_split_free(tarn_split *split);
/* Rows the split holds for certain; -1: not known without reading. */
TARN_EXPORT int64_t tarn_split_row_count(const tarn_split *split);
/* One JSON object: partition, bucket, files with levels, key ranges, statistics, deletion vectors.
 */
TARN_EXPORT TARN_CHECKED tarn_status tarn_split_describe(const tarn_split *split, tarn_string *out,
                                                         tarn_error *err);
/* The bytes of Java's DataSplit, version 8; splits of other kinds (two states to compare, reads
 * over two branches) in the frame of its SplitSerializer. Decoding takes versions 1 to 9 and any
 * bytes at all. encode: out: tarn_string_free() (data may hold NULs). decode: errors
 * TARN_E_CORRUPT, TARN_E_UNSUPPORTED; the table gives schema and options for reading. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_split_encode(const tarn_split *split, tarn_string *out,
                                                       tarn_error *err);
TARN_EXPORT TARN_CHECKED tarn_status tarn_split_decode(tarn_table *table, const void *bytes,
                                                       size_t n_bytes, tarn_split **out,
                                                       tarn_error *err);

/* ------------------------------------------------------------------ read */

/* Rows of a plan, or of one split, as a stream of struct arrays; the split may come from another
 * process. run_time_filter: a further predicate, may be NULL. The stream is used by one thread at a
 * time; its arrays may be released on any thread. get_next fails with an errno (EIO, ENOMEM,
 * EINVAL, ECANCELED) and get_last_error tells the message; rows given before stay right, but are
 * not all. Errors of the call itself: TARN_E_UNSUPPORTED (merge engines, table kinds),
 * TARN_E_INVALID, TARN_E_STATE (since the table was opened a column has got a type whose values
 * that of the scan cannot hold: open it anew). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_plan_read(tarn_scan *scan, const tarn_plan *plan,
                                                    tarn_predicate *run_time_filter,
                                                    struct ArrowArrayStream *out, tarn_error *err);
TARN_EXPORT TARN_CHECKED tarn_status tarn_split_read(tarn_scan *scan, const tarn_split *split,
                                                     tarn_predicate *run_time_filter,
                                                     struct ArrowArrayStream *out, tarn_error *err);
/* Plan and read in one call; the only way to read a system table. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_scan_read(tarn_scan *scan, struct ArrowArrayStream *out,
                                                    tarn_error *err);
/* The status and text of the failure that a stream of Tarn's reported last; TARN_OK if none did. */
TARN_EXPORT tarn_status tarn_stream_error(struct ArrowArrayStream *stream, tarn_error *err);

#ifdef __cplusplus
}
#endif
#endif
