/* lookup_table.h - rows of a primary-key table by their keys, at a snapshot.
 *
 * The answer to a key is what a batch read with "key = value" gives at that snapshot. Data files
 * are read once each, when a key first needs them, into local files (lookup_file.h) that are read
 * through a cache of blocks; a refresh keeps those that are still in the table.
 *
 *   key ── partition, bucket, section (view.h) ── candidates, newest file first ─┬─ the newest wins
 *                                                                               └─ merged (merge/)
 *
 * Invariants
 *   LT1  Every get is answered from one snapshot, the one of the last refresh before it began.
 *   LT2  Rows of a key are merged as reading merges them (merge.h M1 to M7): where the newest row
 *        need not be the answer, all candidates go through the engine.
 *   LT3  Any number of threads may look up and refresh at once.
 *
 * Rule: org.apache.paimon.table.query.LocalTableQuery, mergetree.LookupLevels, which only know
 * tables whose newest row is the answer.
 */
#ifndef TN_LOOKUP_LOOKUP_TABLE_H
#define TN_LOOKUP_LOOKUP_TABLE_H

#include "base/cancel.h"
#include "column/vector.h"
#include "model/table.h"
#include "tarn/arrow.h"

typedef struct tn_lookup tn_lookup;

typedef struct tn_lookup_options {
  const tn_field *fields; /* wanted columns of the table (not nested ones); copied, but for names
                             and types, which outlive the lookup */
  int32_t n_fields;
  const char *folder;   /* for local files, on the local file system; made if it is not there */
  int64_t max_memory;   /* of cached blocks; negative: lookup.cache-max-memory-size, at most half
                           of the environment's budget */
  int64_t max_disk;     /* of local files; negative: lookup.cache-max-disk-size */
  int64_t retention_ms; /* local files that are not used go after it; negative:
                           lookup.cache-file-retention */
  const tarn_cancel *cancel;
} tn_lookup_options;

/* At the table's latest snapshot (or the one that its options name). The table is retained.
 * Errors: INVALID (no primary key; options that read changes), UNSUPPORTED, those of planning. */
TN_CHECKED tarn_status tn_lookup_open(tn_table *table, const tn_lookup_options *options,
                                      tn_lookup **out, tarn_error *err);
void tn_lookup_free(tn_lookup *lookup); /* accepts NULL; nobody uses it any more */

/* The columns of a key, in order: the primary key. */
const tn_field *tn_lookup_key_fields(const tn_lookup *lookup, int32_t *n);

/* Look up the rows of `keys`, whose columns are those fields, flat. batch (all zero): the rows that
 * are there, in the order of their keys. rows (keys->n_rows of them): the row of each key in it;
 * -1: there is none, or a part of the key is null. Errors: those of reading. */
TN_CHECKED tarn_status tn_lookup_get(tn_lookup *lookup, const tn_batch *keys, tn_batch *batch,
                                     int64_t *rows, tarn_error *err);

/* The same with the rows as an array (release is set on success only), which for a few keys saves
 * more than the looking up costs; only if tn_lookup_is_plain(): no wanted column is nested, comes
 * twice or leaves in another form than it is stored in (TIMESTAMP of precision 0 and 7 to 9). */
TN_CHECKED tarn_status tn_lookup_get_array(tn_lookup *lookup, const tn_batch *keys,
                                           struct ArrowArray *out, int64_t *rows, tarn_error *err);
bool tn_lookup_is_plain(const tn_lookup *lookup);

/* Look at the snapshot that is the latest now. Lookups that run go on with theirs. On failure the
 * lookup stays as it was. */
TN_CHECKED tarn_status tn_lookup_refresh(tn_lookup *lookup, int64_t *snapshot_id, tarn_error *err);

typedef struct tn_lookup_stats {
  int64_t snapshot_id;              /* 0: the table has none */
  int64_t n_keys, n_found;          /* looked up so far */
  int64_t n_merged;                 /* of them put together by the merge engine */
  int64_t n_files;                  /* local files now */
  int64_t disk_bytes, memory_bytes; /* that they take, and cached blocks */
  int64_t n_made, n_dropped;        /* local files made and dropped so far */
  int64_t read_bytes;               /* size of the data files that were read for them */
  int64_t block_hits, block_misses;
} tn_lookup_stats;
void tn_lookup_get_stats(tn_lookup *lookup, tn_lookup_stats *out);

#endif
