/* stream_maker.h - tables that are written commit by commit, and what a stream of them tells, as
 * text, for tests of the stream room.
 *
 * Tables and their rows are those of write_maker.h, in memory. The clock stands at `now`, which
 * tests move; commit n is made at n * 1000.
 */
#ifndef TN_TESTS_UNIT_STREAM_STREAM_MAKER_H
#define TN_TESTS_UNIT_STREAM_STREAM_MAKER_H

#include "stream/enumerator.h"
#include "stream/source_reader.h"
#include "write_maker.h"

typedef struct stream_maker {
  write_maker w;
  int64_t now;
} stream_maker;

/* "0 k INT NOT NULL|1 v STRING", key "k" or "": see tm_schema. */
void sm_begin(stream_maker *m, const char *fields, const char *partition_keys,
              const char *primary_keys, const char *options);
void sm_begin_in(stream_maker *m, tarn_env *env, const char *fields, const char *partition_keys,
                 const char *primary_keys, const char *options);
void sm_end(stream_maker *m);
void sm_end_in(stream_maker *m); /* the environment stays */

/* Commit rows ("1|a;-D 2|b"); the id of the snapshot. */
int64_t sm_commit(stream_maker *m, const char *rows);
/* The same with a watermark. */
int64_t sm_commit_at(stream_maker *m, const char *rows, int64_t watermark);
/* Replace all rows. */
int64_t sm_overwrite(stream_maker *m, const char *rows);
/* A compaction that only adds changelog rows: what a producer would have made. */
int64_t sm_changelog(stream_maker *m, const char *rows);
/* Remove snapshot `id`'s file; is_kept: its changelog stays. */
void sm_expire(stream_maker *m, int64_t id, bool is_kept);
/* The same table with other options ("scan.mode=latest"); tn_table_release(). */
tn_table *sm_table(stream_maker *m, const char *options);

/* A scan of it. */
tn_stream_scan *sm_scan(stream_maker *m, tn_table *table);
/* Its next step: "3: +I 1|a;-D 2|b" (the snapshot and rows of a plan), "started 3", "waiting",
 * "ended", "EXPIRED ..." (the failure). */
const char *sm_step(stream_maker *m, tn_stream_scan *scan, tn_table *table);
/* Rows of splits, in their order. */
const char *sm_rows(stream_maker *m, tn_table *table, const tn_plan *plan);
/* All that a reader gives now: "+I 1|a;+I 2|b". */
const char *sm_read_all(stream_maker *m, tn_source_reader *reader);
/* Append a batch's rows to a text. */
void sm_put_rows(tn_buf *out, const tn_batch *batch);
/* A reader of all columns with row kinds; batch_rows: of its batches. */
tn_source_reader *sm_reader(stream_maker *m, tn_table *table, int64_t batch_rows);
const char *sm_keep(stream_maker *m, tn_buf *text);

#endif
