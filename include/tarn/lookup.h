/* lookup.h - rows of a primary-key table by their keys: lookup joins, point reads.
 *
 *   tarn_lookup_options o = TARN_LOOKUP_OPTIONS_INIT;
 *   o.temp_folder = "/tmp";
 *   tarn_lookup_open(table, &o, &lookup, &err);
 *   tarn_lookup_get(lookup, &key_schema, &keys, &rows, row_of_key, &err);   // as often as needed
 *   tarn_lookup_refresh(lookup, NULL, &err);                                // see newer snapshots
 *   tarn_lookup_free(lookup);
 *
 * The answer to a key is the row that reading the table with "key = value" gives at the same
 * snapshot, whatever its merge engine, levels and deletion vectors. A data file is read once, when
 * a key first needs it, into a file on local disk which is then asked; memory and disk have
 * budgets. Local files have no names, so that nothing of them stays behind.
 */
#ifndef TARN_LOOKUP_H
#define TARN_LOOKUP_H

#include "tarn/table.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tarn_lookup tarn_lookup;

typedef struct tarn_lookup_options {
  size_t struct_size;
  const char *const *columns; /* wanted columns, as of scans; NULL: all */
  size_t n_columns;
  const char *temp_folder;  /* where local files lie; made if it is not there; copied */
  int64_t max_memory_bytes; /* of cached blocks; negative: the table's
                               'lookup.cache-max-memory-size', at most half of the memory budget */
  int64_t max_disk_bytes;   /* of local files, but for the one made last; negative:
                               'lookup.cache-max-disk-size' */
  int64_t retention_ms; /* a refresh drops local files that were not asked for so long; negative:
                           'lookup.cache-file-retention' */
  int32_t timestamp_ns_as_us; /* as of scans */
  tarn_cancel *cancel;        /* NULL: cannot be cancelled; must outlive the lookup */
} tarn_lookup_options;

#define TARN_LOOKUP_OPTIONS_INIT {sizeof(tarn_lookup_options), 0, 0, 0, -1, -1, -1, 0, 0}

/* At the table's latest snapshot, or the one that its options name. out: tarn_lookup_free().
 * Errors: TARN_E_INVALID (no primary key, no temp_folder, a system table, options that read
 * changes), TARN_E_NOT_FOUND (column, snapshot), TARN_E_UNSUPPORTED, TARN_E_IO. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_lookup_open(tarn_table *table,
                                                      const tarn_lookup_options *options,
                                                      tarn_lookup **out, tarn_error *err);
/* Nobody uses it any more. Accepts NULL. */
TARN_EXPORT void tarn_lookup_free(tarn_lookup *lookup);

/* The columns of a key, which are the primary key, in its order; and those of the rows. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_lookup_key_schema(tarn_lookup *lookup,
                                                            struct ArrowSchema *out,
                                                            tarn_error *err);
TARN_EXPORT TARN_CHECKED tarn_status tarn_lookup_schema(tarn_lookup *lookup,
                                                        struct ArrowSchema *out, tarn_error *err);

/* Look up keys. Any number of threads may do so at once.
 *
 * key_schema  of the keys: columns are matched by name, types as of tarn_writer_write(); all
 *             columns of the primary key must be there. NULL: that of tarn_lookup_key_schema(),
 *             which costs least: such keys are mostly not copied
 * keys        struct array; borrowed for the call
 * out         the rows that there are, in the order of their keys; the caller's to release
 * rows        room for keys->length numbers: the row in `out` of each key; -1: there is none. May
 *             be NULL
 *
 * Errors: TARN_E_INVALID (a key column is missing, a value that does not fit), TARN_E_NOT_FOUND (a
 * data file is gone: refresh; a column that is none of the key), TARN_E_IO (no space left),
 * TARN_E_CORRUPT, TARN_E_LIMIT, TARN_E_CANCELLED, TARN_E_NOMEM. */
TARN_EXPORT TARN_CHECKED tarn_status tarn_lookup_get(tarn_lookup *lookup,
                                                     const struct ArrowSchema *key_schema,
                                                     const struct ArrowArray *keys,
                                                     struct ArrowArray *out, int64_t *rows,
                                                     tarn_error *err);

/* Go on to the latest snapshot; only data files that were not there before will be read. Calls that
 * run meanwhile end with the snapshot they began with. snapshot_id (may be NULL): the one that is
 * seen now; 0: none. On failure the lookup stays as it was. Errors: TARN_E_STATE (a column has
 * got a type whose values that of the lookup cannot hold: open the table and a lookup of it anew),
 * those of tarn_lookup_open(). */
TARN_EXPORT TARN_CHECKED tarn_status tarn_lookup_refresh(tarn_lookup *lookup, int64_t *snapshot_id,
                                                         tarn_error *err);

typedef struct tarn_lookup_stats {
  size_t struct_size;
  int64_t snapshot_id;
  int64_t keys, found;               /* so far */
  int64_t merged;                    /* keys whose row the merge engine put together */
  int64_t local_files;               /* now */
  int64_t disk_bytes, memory_bytes;  /* that they and cached blocks take now */
  int64_t files_made, files_dropped; /* so far */
  int64_t bytes_read;                /* of data files, to make them */
  int64_t block_hits, block_misses;  /* of the cache */
} tarn_lookup_stats;

#define TARN_LOOKUP_STATS_INIT {sizeof(tarn_lookup_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

TARN_EXPORT void tarn_lookup_get_stats(tarn_lookup *lookup, tarn_lookup_stats *out);

#ifdef __cplusplus
}
#endif
#endif
