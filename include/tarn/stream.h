/* stream.h - following a table: its rows, then its changes, snapshot after snapshot.
 *
 *   tarn_scan *scan; tarn_stream *stream; tarn_stream_reader *reader;
 *   tarn_scan_create(table, &scan_options, &scan, &err);          // with_row_kind = 1
 *   tarn_stream_create(scan, NULL, &stream, &err);
 *   tarn_stream_restore(stream, state, n_bytes, &err);            // if there is a state
 *   tarn_stream_reader_create(stream, 0, &reader, &err);
 *   for (;;) {
 *     tarn_stream_reader_next(reader, &array, &batch, &err);
 *     if (array.release != NULL) {
 *       ...                                                       // rows
 *     } else if (batch.has_ended) {
 *       break;                                                    // bounded streams only
 *     } else {                                                    // all that is there was read
 *       tarn_stream_checkpoint(stream, ++id, rows, &state, &err); // keep it, then
 *       tarn_stream_complete(stream, id, &err);                   // tell the consumer's file
 *       tarn_stream_wait(stream, -1, cancel, &has_news, &err);
 *     }
 *   }
 *
 * What a stream starts with, and what it follows, is asked of the table's options: scan.mode and
 * its keys, consumer-id, changelog-producer, streaming-read-overwrite, scan.bounded.watermark and
 * their like. Its position is one number, the next snapshot.
 *
 * A stream is its coordinator and 1 or more readers, numbered from 0. Splits of one bucket go to
 * one reader, in their order. Readers of one process ask their stream for splits by themselves,
 * each on a thread of its own; readers in other processes are handed them as bytes
 * (tarn_stream_assign()).
 *
 * Rule: org.apache.paimon.table.source.DataTableStreamScan, flink.source.
 * ContinuousFileSplitEnumerator.
 */
#ifndef TARN_STREAM_H
#define TARN_STREAM_H

#include "tarn/scan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ stream */

typedef struct tarn_stream tarn_stream; /* thread-safe, but for free */

typedef struct tarn_stream_options {
  size_t struct_size;
  int32_t n_readers;     /* 0: 1. At most 32768 */
  int32_t with_snapshot; /* 1: a column _snapshot (int64) behind the row kind, or first: that of the
                            row; NULL for what an overwrite replaced */
  const char *snapshot_name; /* its name; NULL: "_snapshot" */
  int64_t max_plans; /* the stream ends after so many plans (one that only finds the start counts,
                        one in vain does not); 0: never */
  int32_t allows_endless_consumer; /* 1: a consumer-id without consumer.expiration-time is taken, as
                                      by Java's core; 0: refused, as by Flink */
} tarn_stream_options;

#define TARN_STREAM_OPTIONS_INIT {sizeof(tarn_stream_options), 0, 0, 0, 0, 0}

/* A stream of a scan: of its columns (with_row_kind tells -U and -D from +I; without it there are
 * no retractions), predicate and limit (which each reader counts for itself). options may be NULL.
 * out: tarn_stream_free(), after its readers. Keeps what it needs of the scan. Errors:
 * TARN_E_INVALID, with Java's words: a merge engine that needs a changelog producer, a consumer-id
 * without consumer.expiration-time, options for batches; TARN_E_UNSUPPORTED (system tables but
 * $audit_log and $binlog, and filters on these);
 * TARN_E_EXISTS (a column has the name of the snapshot's). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_stream_create(tarn_scan *scan,
                                                        const tarn_stream_options *options,
                                                        tarn_stream **out, tarn_error *err);
TARN_EXPORT void tarn_stream_free(tarn_stream *stream); /* accepts NULL */
/* The columns that readers give. out->release is the caller's to call. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_stream_schema(tarn_stream *stream,
                                                        struct ArrowSchema *out, tarn_error *err);

/* What kinds of rows follow the first rows, which are all +I (or +U, as their last version was). */
typedef enum tarn_stream_kinds {
  TARN_STREAM_INSERTS = 0, /* +I alone: no primary key, or first-row */
  TARN_STREAM_UPSERTS = 1, /* rows as written, the latest of a key counts; -D, but no -U: not a
                              complete changelog. Who needs one keeps the rows by key himself */
  TARN_STREAM_CHANGES = 2  /* +I, -U, +U and -D: a complete changelog (or as much of one as was put
                              in, with changelog-producer=input or scan.remove-normalize) */
} tarn_stream_kinds;
/* Errors: TARN_E_INVALID (a nullable primary key without changelog producer). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_stream_get_kinds(tarn_table *table,
                                                           tarn_stream_kinds *out, tarn_error *err);
/* Readers beyond this number idle: the number of buckets; 32768 where it is not fixed. */
TARN_EXPORT int32_t tarn_stream_max_readers(const tarn_stream *stream);

/* ------------------------------------------------------------------ plans by hand */

typedef enum tarn_stream_outcome {
  TARN_STREAM_PLANNED = 0, /* a plan, of one snapshot */
  TARN_STREAM_STARTED = 1, /* the place to start from was found: plan again */
  TARN_STREAM_WAITING = 2, /* there is nothing yet */
  TARN_STREAM_ENDED = 3    /* bounded, and the bound is reached */
} tarn_stream_outcome;

/* The next plan, for engines that deal out splits themselves: instead of readers, never beside
 * them. *plan: NULL but with TARN_STREAM_PLANNED; tarn_plan_free(). Read its splits with
 * tarn_split_read(). The position has moved behind it. Errors: TARN_E_EXPIRED (the position has
 * expired), TARN_E_INVALID (it lies beyond the table: made anew, or rolled back), each after 16
 * plans in vain or from tarn_stream_check(); TARN_E_NOT_FOUND, TARN_E_CORRUPT, TARN_E_IO. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_stream_plan(tarn_stream *stream,
                                                      tarn_stream_outcome *outcome,
                                                      tarn_plan **plan, tarn_error *err);
/* The next snapshot; 0: there is no position yet. */
TARN_EXPORT int64_t tarn_stream_position(tarn_stream *stream);
/* Go on from a snapshot; is_full: read it in full first. next 0: start anew. Pending splits are
 * dropped. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_stream_seek(tarn_stream *stream, int64_t next,
                                                      int32_t is_full, tarn_error *err);
/* Is the position within reach? At once, where plans look only now and then. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_stream_check(tarn_stream *stream, tarn_error *err);

/* ------------------------------------------------------------------ waiting, lag */

/* Wait until there may be a new snapshot: at once on a local disk, else when the table's
 * continuous.discovery-interval is over. timeout_ms: the longest wait; negative: that interval.
 * cancel may be NULL. *has_news: 0: the time has passed; look all the same. One thread at a time.
 * Errors: TARN_E_CANCELLED. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_stream_wait(tarn_stream *stream, int64_t timeout_ms,
                                                      tarn_cancel *cancel, int32_t *has_news,
                                                      tarn_error *err);

typedef struct tarn_stream_status {
  size_t struct_size;
  int64_t next_snapshot;   /* 0: none yet */
  int64_t latest_snapshot; /* of the table; 0: none */
  int64_t lag_snapshots;   /* there and not planned */
  int64_t lag_rows;        /* changes in them; -1: not known (more than 10,000 snapshots) */
  int64_t lag_ms;          /* since the first of them was committed; 0: nothing waits */
  int64_t pending_splits;  /* planned and not dealt out */
  int64_t watermark;       /* of the last snapshot planned */
  int32_t has_watermark;
  int64_t snapshot_ms; /* its commit time; 0: none was planned */
  int32_t is_prompt;   /* 1: waits end at once when a snapshot comes */
  int64_t plans;       /* made; the last one, and all together: */
  int64_t plan_ms, plans_ms;
  int64_t planned_snapshot; /* of the last plan; -1: none yet */
  int64_t planned_manifests, planned_files, skipped_files;
  int64_t skipped_overwrites; /* snapshots that are not read without streaming-read-overwrite */
} tarn_stream_status;
#define TARN_STREAM_STATUS_INIT \
  {sizeof(tarn_stream_status), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/* How far behind the stream is. Cost: a listing, and the snapshots that were not counted before. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_stream_get_status(tarn_stream *stream,
                                                            tarn_stream_status *out,
                                                            tarn_error *err);
/* The same lag (next_snapshot and the first four numbers) of a consumer by its file. Errors:
 * TARN_E_NOT_FOUND (no such consumer). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_stream_get_consumer_lag(tarn_stream *stream,
                                                                  const char *consumer_id,
                                                                  tarn_stream_status *out,
                                                                  tarn_error *err);

/* ------------------------------------------------------------------ readers */

typedef struct tarn_stream_reader tarn_stream_reader; /* one thread at a time */

typedef struct tarn_stream_batch {
  size_t struct_size;
  int64_t snapshot_id;
  int32_t is_overwrite; /* 1: what an overwrite replaced (-D), and what it put there (+I) */
  int64_t first_row;    /* its number among the rows of its split */
  int64_t created_ms; /* of the oldest file of the split, milliseconds since 1970; -1: not known */
  int32_t has_ended;  /* 1, without rows: the stream is at its end, or the limit is reached */
} tarn_stream_batch;
#define TARN_STREAM_BATCH_INIT {sizeof(tarn_stream_batch), 0, 0, 0, 0, 0}

/* A reader in this process. out: tarn_stream_reader_free(), before the stream; what it still has
 * goes back to the stream. Errors: TARN_E_INVALID (no such number, or it is taken). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_stream_reader_create(tarn_stream *stream, int32_t number,
                                                               tarn_stream_reader **out,
                                                               tarn_error *err);
TARN_EXPORT void tarn_stream_reader_free(tarn_stream_reader *reader); /* accepts NULL */
/* The next rows, as a struct array of the stream's schema; out->release NULL: there are none now
 * (batch->has_ended tells whether for ever). Asks the stream for splits, which plans when it has
 * none. Rows of one key come in order. A call that failed may be made again: after
 * TARN_E_CANCELLED, TARN_E_IO or TARN_E_NOMEM it goes on behind the rows that were given. Errors:
 * those of tarn_stream_plan() and of reading; TARN_E_STATE (a column has got a type whose values
 * the stream's column cannot hold: open the table anew, and restore a new stream of it from the
 * checkpoint). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_stream_reader_next(tarn_stream_reader *reader,
                                                             struct ArrowArray *out,
                                                             tarn_stream_batch *batch,
                                                             tarn_error *err);

/* ------------------------------------------------------------------ checkpoints */

/* Take a checkpoint of the stream and of its readers here, none of which may work meanwhile: all
 * rows that were given are behind it. Identifiers grow. rows: a number of the caller's that
 * tarn_stream_restore() gives back, such as the rows that were passed on. out: tarn_string_free()
 * (data holds NULs). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_stream_checkpoint(tarn_stream *stream, int64_t id,
                                                            int64_t rows, tarn_string *out,
                                                            tarn_error *err);
/* With the option source.checkpoint-align.enabled a checkpoint holds exactly one snapshot: plans
 * stop behind it, and tarn_stream_checkpoint() is TARN_E_STATE while there is none or it is not
 * read. This call makes sure that there is one: it plans, and waits up to
 * source.checkpoint-align.timeout. *snapshot_id: what the readers have to read before the
 * checkpoint; 0: the stream has ended. Errors: TARN_E_TIMEOUT (which wait, and how long),
 * TARN_E_CANCELLED, TARN_E_STATE (nothing is aligned). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_stream_align(tarn_stream *stream, tarn_cancel *cancel,
                                                       int64_t *snapshot_id, tarn_error *err);
/* The checkpoint, and all before it, are kept for good: the file of the table's consumer-id (if
 * there is one) is told the least snapshot that a reader still needs. consumer.mode=exactly-once:
 * nothing below it will be read again; at-least-once: as Java tells it, the snapshot being read. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_stream_complete(tarn_stream *stream, int64_t id,
                                                          tarn_error *err);
/* Go on from a checkpoint, with any number of readers. Before any reader is made. rows may be NULL.
 * Any bytes at all. Errors: TARN_E_INVALID (of another table, or of one that was made anew; of a
 * scan with another predicate, behind which rows are counted),
 * TARN_E_UNSUPPORTED (of another version), TARN_E_CORRUPT; the stream is then as it was. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_stream_restore(tarn_stream *stream, const void *bytes,
                                                         size_t n_bytes, int64_t *rows,
                                                         tarn_error *err);

/* ------------------------------------------------------------------ readers elsewhere
 *
 * The bytes are those of Flink's pending splits, version 1: int count, then for each an int length,
 * its id, the split as a Java object, the rows to skip; then -1.
 */

/* Plan one step, as far as back-pressure (scan.max-splits-per-task, scan.max-snapshot.count) lets.
 * *more: 1: it planned, and there may be more. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_stream_discover(tarn_stream *stream, int32_t *more,
                                                          tarn_error *err);
/* Splits for a reader that has none. *n: how many; 0: none now. *has_ended: none ever. out:
 * tarn_string_free(). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_stream_assign(tarn_stream *stream, int32_t number,
                                                        tarn_string *out, int64_t *n,
                                                        int32_t *has_ended, tarn_error *err);
/* The reader is through with the first n splits of those it was assigned. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_stream_finished(tarn_stream *stream, int32_t number,
                                                          int64_t n, tarn_error *err);
/* The reader failed: splits (such bytes) that it had and did not finish come again. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_stream_add_back(tarn_stream *stream, int32_t number,
                                                          const void *bytes, size_t n_bytes,
                                                          tarn_error *err);
/* A reader that is fed: of splits of any stream of this scan's table. out:
 * tarn_stream_reader_free(). Its rows come from tarn_stream_reader_next(); without rows it wants
 * more splits. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_stream_reader_open(tarn_scan *scan,
                                                             const tarn_stream_options *options,
                                                             tarn_stream_reader **out,
                                                             tarn_error *err);
TARN_EXPORT TARN_CHECKED tarn_status tarn_stream_reader_add(tarn_stream_reader *reader,
                                                            const void *bytes, size_t n_bytes,
                                                            tarn_error *err);
/* Splits finished since the call before, for tarn_stream_finished(). */
TARN_EXPORT int64_t tarn_stream_reader_take_finished(tarn_stream_reader *reader);
/* What it has, such bytes: its part of a checkpoint, and what to add back when it fails. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_stream_reader_checkpoint(tarn_stream_reader *reader,
                                                                   tarn_string *out,
                                                                   tarn_error *err);

/* ------------------------------------------------------------------ complete changelogs
 *
 * Upserts (TARN_STREAM_UPSERTS) made a complete changelog: the last row of each key is kept, in
 * bounded memory and in files. A row of a key that is not known is +I, of a known one -U of the row
 * before and +U; -D (and -U) of a known key is -D with all values of the row before, of an unknown
 * one nothing. As Flink's ChangelogNormalize. Keys are known from the first row that comes on, so a
 * stream should begin with the state of the table. Rows count in the order in which they come: of a
 * table with sequence.field that need not be the table's.
 */

typedef struct tarn_normaliser tarn_normaliser; /* one thread at a time */

typedef struct tarn_normaliser_options {
  size_t struct_size;
  const char *folder;        /* for the files, of this normaliser alone; made at need. Never NULL */
  int32_t is_temporary;      /* 1: files without names that go with the process; no checkpoints */
  int32_t keeps_unchanged;   /* 1: -U and +U also of a row that comes once more as it was */
  int64_t memory_bytes;      /* for pages of the files; 0: half of the environment's */
  const char *const *passed; /* columns that tell of the change, not of the row, such as _snapshot:
                                -U and -D have them as they came with the change */
  size_t n_passed;
  const char *const *places; /* columns that tell where a row is, such as the partition columns
                                outside of the key: a -U or -D of another place than that of the
                                row kept is of one that has moved on, and makes no change */
  size_t n_places;
} tarn_normaliser_options;
#define TARN_NORMALISER_OPTIONS_INIT {sizeof(tarn_normaliser_options), 0, 0, 0, 0, 0, 0, 0, 0}

/* schema: of the rows, not taken: the row kind (int8) first, as tarn_stream_schema() gives it with
 * scan option with_row_kind. keys: the columns of the primary key. out: tarn_normaliser_free().
 * Errors: TARN_E_INVALID, TARN_E_NOT_FOUND (no such column, by name). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_normaliser_create(tarn_env *env,
                                                            const struct ArrowSchema *schema,
                                                            const char *const *keys, size_t n_keys,
                                                            const tarn_normaliser_options *options,
                                                            tarn_normaliser **out, tarn_error *err);
/* A file that no checkpoint names goes. Accepts NULL. */
TARN_EXPORT void tarn_normaliser_free(tarn_normaliser *normaliser);
/* The changes that these rows make, in the same columns; out->release NULL: none. rows: a struct
 * array of the schema, not taken. Errors: TARN_E_INVALID (a null in a key), TARN_E_IO, TARN_E_LIMIT
 * (2 GiB in one column), TARN_E_NOMEM; after one of them only tarn_normaliser_free() works. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_normaliser_apply(tarn_normaliser *normaliser,
                                                           const struct ArrowArray *rows,
                                                           struct ArrowArray *out, tarn_error *err);
/* Put what is kept on the disk, and its place into a few bytes, to be stored in one step with the
 * checkpoint of the stream: the rows applied so far are behind it. out: tarn_string_free() (data
 * holds NULs). Errors: TARN_E_STATE (temporary, or a call failed before), TARN_E_IO. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_normaliser_checkpoint(tarn_normaliser *normaliser,
                                                                tarn_string *out, tarn_error *err);
/* The last checkpoint is stored for good: files that only others need go. */
TARN_EXPORT void tarn_normaliser_complete(tarn_normaliser *normaliser);
/* One of its checkpoints, which need not be the last, is stored for good, and those behind it may
 * still be: files that only those before it need go. For who hands checkpoints on, and is behind in
 * what he knows of them. Errors: TARN_E_INVALID (of another normaliser), TARN_E_CORRUPT,
 * TARN_E_UNSUPPORTED. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_normaliser_complete_until(tarn_normaliser *normaliser,
                                                                    const void *bytes,
                                                                    size_t n_bytes,
                                                                    tarn_error *err);
/* Go on from a checkpoint, with the folder it was taken in, before any row: from any since the one
 * that was last told to be stored. Those behind it stay good, as long as the rows that come are
 * those that came behind it before. Reads what is kept once. Without this call all begins anew, and
 * a few files of runs before stay: their checkpoints may be stored only now. Any bytes. Errors:
 * TARN_E_INVALID (other columns or keys), TARN_E_NOT_FOUND (the files are gone, or those of another
 * are there), TARN_E_CORRUPT, TARN_E_UNSUPPORTED (another version). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_normaliser_restore(tarn_normaliser *normaliser,
                                                             const void *bytes, size_t n_bytes,
                                                             tarn_error *err);

typedef struct tarn_normaliser_stats {
  size_t struct_size;
  int64_t keys;          /* known */
  int64_t file_bytes;    /* of rows, those that are of no use any more too */
  int64_t garbage_bytes; /* of them */
  int64_t index_bytes;   /* in memory, or in a file of its own when there is no room for it */
  int64_t compactions;   /* of the files, so far */
  int64_t older_files;   /* at most so many are there for checkpoints of before */
} tarn_normaliser_stats;
#define TARN_NORMALISER_STATS_INIT {sizeof(tarn_normaliser_stats), 0, 0, 0, 0, 0, 0}
TARN_EXPORT void tarn_normaliser_get_stats(const tarn_normaliser *normaliser,
                                           tarn_normaliser_stats *out);

#ifdef __cplusplus
}
#endif
#endif
