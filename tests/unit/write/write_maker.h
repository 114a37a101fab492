/* write_maker.h - rows as text in, files and rows as text out, for tests of the write room.
 *
 * Rows are "1|a;-D 2|null": a row kind (+I if there is none), values with bars between them.
 */
#ifndef TN_TESTS_UNIT_WRITE_WRITE_MAKER_H
#define TN_TESTS_UNIT_WRITE_WRITE_MAKER_H

#include "commit/commit.h"
#include "read/read.h"
#include "support/test.h"
#include "table_maker.h"
#include "write/write.h"

typedef struct write_maker {
  table_maker tm;
  tn_table *table;
  tn_table_write_options options;
  tn_write *write;
  int64_t identifier; /* of the next commit */
} write_maker;

/* A table (see tm_schema) and a writer of it; budget 0: the default. */
void wm_begin(write_maker *m, const char *fields, const char *partition_keys,
              const char *primary_keys, const char *options);
void wm_begin_in(write_maker *m, tarn_env *env, const char *fields, const char *partition_keys,
                 const char *primary_keys, const char *options);
void wm_end(write_maker *m);
/* Only the table; m->write is NULL. */
void wm_table(write_maker *m, const char *fields, const char *partition_keys,
              const char *primary_keys, const char *options);
/* (Re)open the writer with m->options. */
void wm_open(write_maker *m);
void wm_close(write_maker *m);
tarn_status wm_try_open(write_maker *m, tarn_error *err);

/* Rows of text as a batch (raw memory) of some fields; kinds: NULL when all are +I, else malloc'ed.
 */
void wm_batch(tarn_env *env, const tn_field *fields, int32_t n_fields, const char *rows,
              tn_batch *batch, int8_t **kinds);
void wm_write(write_maker *m, const char *rows);
tarn_status wm_try_write(write_maker *m, const char *rows, tarn_error *err);
/* prepare(); what messages tell is in the maker's arena. */
tn_committable wm_prepare(write_maker *m);
void wm_commit_it(write_maker *m, const tn_committable *c);
void wm_commit(write_maker *m); /* both */

/* "p/b0[3 rows, 0-2, -1]": partition (if any), bucket, and each new file with its rows, sequence
 * numbers and deletions (if any); changelog files behind a "~". */
const char *wm_messages(write_maker *m, const tn_committable *c);
/* The rows of a plan as dm_text() writes them, in its order, appended. */
void wm_scan_text(write_maker *maker, const tn_scan *scan, const tn_read_options *options,
                  tn_buf *text);
/* The table's rows, sorted: "1|a;2|b"; row kinds in front with with_kinds. */
const char *wm_rows(write_maker *m);
/* How many data files lie in the table's folders. */
int wm_count_files(write_maker *m);

#endif
