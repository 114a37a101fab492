/* write_parts.h - what the files of this room share.
 *
 *   write.c        the door: checks, defaults, row kinds; life of a writer
 *   bucket_hash.c  the bucket of every row of a batch
 *   router.c       partitions and buckets that are open, and which row goes where
 *   assign.c       buckets of tables that make them as keys come
 *   cross.c        keys over all partitions, and rows that move between those
 *   restore.c      what the latest snapshot knows of buckets that are opened
 *   presort.c      rows of a batch in the order of their keys, for speed
 *   row_store.c    rows that wait, of all buckets
 *   row_sort.c     the rows of one bucket in the order of their keys
 *   flush.c        rows that waited become files
 *   flush_merge.c  likewise through a merge engine
 *   append.c       rows that need not wait
 *   compact_inline.c, compact_jobs.c  buckets are compacted while they are written
 *
 * Rows that wait lie in the store in the batches they came in, whatever their bucket; each row
 * knows the number of its bucket, and how many rows of that came before it: the sequence number
 * follows from that. An open bucket holds no rows itself, so that ten thousand of them cost little.
 * Batches lie in the order in which they came, and so do rows of one key within a batch (WR1).
 */
#ifndef TN_WRITE_WRITE_PARTS_H
#define TN_WRITE_WRITE_PARTS_H

#include "base/map.h"
#include "datafile/data_writer.h"
#include "merge/merge.h"
#include "merge/spill.h"
#include "write/write.h"

/* ------------------------------------------------------------------ open buckets */

typedef struct tn_file_list {
  tn_data_file *items;
  size_t n, capacity;
} tn_file_list;

/* Compaction beside the writer (compact_inline.h), of all buckets and of one. */
typedef struct tn_inline tn_inline;
typedef struct tn_inline_bucket tn_inline_bucket;

/* A partition and bucket that rows came for. */
typedef struct tn_open_bucket {
  uint32_t number;    /* its own, in the router */
  tn_slice partition; /* arity-prefixed row */
  int32_t bucket;
  /* Before its next row it looks at the latest snapshot: it is new, or had no rows for a commit, so
   * that others may have written it. */
  bool must_restore;
  int64_t next_sequence; /* of the next row that comes */
  int64_t n_stored;      /* rows in the store */
  int64_t n_spilled;     /* rows in spilled runs */
  tn_data_file_names names;
  tn_data_writer *writer;              /* of rows that need not wait; NULL: none is open */
  tn_file_list files, changelog_files; /* complete, since the last prepare */
  tn_inline_bucket *compaction;        /* NULL: nothing can be compacted yet */
  bool wants_full;                     /* it was written since its last full compaction */
  bool was_compacted;                  /* messages of the batch's commit have compactions of it */
  bool is_redone;                      /* it is compacted with the next commit, without rows, too */
  const tn_commit_message *compacted;  /* for the commit that is prepared; NULL: nothing */
} tn_open_bucket;

typedef struct tn_router {
  tn_map partitions;         /* row bytes -> number */
  const tn_slice *by_number; /* likewise the way back */
  size_t n_partitions, partitions_capacity;
  tn_map places; /* partition number and bucket, 8 bytes -> the bucket's number */
  tn_open_bucket **buckets;
  size_t n_buckets, capacity;
  size_t n_must_restore;
} tn_router;

/* ------------------------------------------------------------------ dynamic buckets */

/* Which keys of a partition are in which bucket, by the hashes of the keys. */
typedef struct tn_hash_slot {
  int32_t hash;
  int32_t bucket; /* + 1; 0: free */
} tn_hash_slot;

typedef struct tn_key_index {
  tn_hash_slot *slots;
  size_t n_slots, n_hashes; /* n_slots: a power of two */
  int64_t *counts;          /* hashes of each bucket; -1: there is no such bucket */
  bool *is_changed;         /* buckets with hashes that no index file has */
  int32_t n_buckets;        /* of both arrays */
  int32_t n_used;           /* buckets that are */
  int32_t first_open;       /* all before it are full, or not there */
} tn_key_index;

typedef struct tn_assigner {
  tn_key_index **items; /* by the partition's number; NULL: not known yet */
  size_t n_items;
  int64_t target_rows;
  int32_t max_buckets;      /* -1: none is set */
  tn_data_file_names names; /* of index files */
} tn_assigner;

/* ------------------------------------------------------------------ keys over all partitions */

/* Which partition and bucket a key is in, and where the rows of a batch go. */
typedef struct tn_cross tn_cross;

/* ------------------------------------------------------------------ rows that wait */

/* Rows that came together. */
typedef struct tn_stored {
  tn_batch batch;
  int8_t *kinds;        /* NULL: all +I */
  uint32_t *bucket_of;  /* numbers of open buckets */
  uint32_t *ordinal_of; /* how many rows of the bucket came before, since it was empty */
  tn_buffer *kinds_buffer, *bucket_of_buffer, *ordinal_of_buffer;
  int64_t n_bytes;
} tn_stored;

typedef struct tn_row_store {
  tarn_env *env;
  const tn_field *fields;
  int32_t n_fields;
  tn_stored *items;
  size_t n_items, capacity;
  size_t n_small; /* items at the end that are small, and may be joined */
  int64_t n_small_rows;
  int64_t n_rows;
  int64_t n_bytes; /* with what sorting will take */
} tn_row_store;

void tn_row_store_init(tn_row_store *store, tarn_env *env, const tn_field *fields,
                       int32_t n_fields);
/* Take a batch (which becomes all zero), and copies of the three arrays. order (NULL: none): row i
 * of the batch is row order[i] of the arrays. */
TN_CHECKED tarn_status tn_row_store_add(tn_row_store *store, tn_batch *batch, const int8_t *kinds,
                                        const uint32_t *bucket_of, const uint32_t *ordinal_of,
                                        const uint32_t *order, tarn_error *err);
/* Join the small items at the end. */
TN_CHECKED tarn_status tn_row_store_settle(tn_row_store *store, tarn_error *err);
/* Drop the rows of the buckets for which is_gone[number]. */
TN_CHECKED tarn_status tn_row_store_drop(tn_row_store *store, const bool *is_gone, tarn_error *err);
void tn_row_store_clear(tn_row_store *store);

/* A row of the store: prefix of its key, number (see tn_row_places), and how many rows of its
 * bucket came before it. */
typedef struct tn_sort_row {
  uint64_t prefix;
  uint32_t at;
  uint32_t ordinal;
} tn_sort_row;

/* Where row number `at` lies: numbers of an item begin at a multiple of 2^TN_PLACE_SHIFT. */
#define TN_PLACE_SHIFT 10
typedef struct tn_row_places {
  uint32_t *item_of; /* by at >> TN_PLACE_SHIFT */
  uint32_t *base;    /* of each item */
} tn_row_places;

static inline tn_row_ref tn_row_place(const tn_row_places *places, uint32_t at) {
  uint32_t item = places->item_of[at >> TN_PLACE_SHIFT];
  return (tn_row_ref){item, at - places->base[item]};
}

/* What the order of rows is made of. */
typedef struct tn_row_order {
  const tn_batch *keys; /* of each item: key columns, then sequence columns; borrowed vectors */
  int32_t n_keys, n_sequence_fields;
  bool is_descending; /* of the sequence fields */
  bool is_exact;      /* prefixes are whole keys */
  const tn_row_places *places;
} tn_row_order;

/* Sort rows by key, user sequence fields, ordinal. They come in the order of their ordinals;
 * scratch has room for n, too. */
void tn_rows_sort(const tn_row_order *order, tn_sort_row *rows, tn_sort_row *scratch, int64_t n);
/* The rows of a batch by bucket and key: *order has as many as the batch, tn_free(); NULL: as they
 * are. */
TN_CHECKED tarn_status tn_presort(tn_write *w, const tn_batch *batch, const uint32_t *bucket_of,
                                  uint32_t **order, tarn_error *err);
/* Do two rows have one key? */
bool tn_rows_same_key(const tn_row_order *order, const tn_sort_row *a, const tn_sort_row *b);

/* ------------------------------------------------------------------ the writer */

struct tn_write {
  tarn_env *env;
  tn_table *table; /* retained; as it is written (postpone buckets have options of their own) */
  tn_table_write_options options; /* columns and texts are in the arena */
  tn_arena arena;
  tn_arena files_arena; /* of the files since the last prepare */
  const tn_field *fields;
  int32_t n_fields;
  bool is_key_value;
  bool sorts;        /* rows are sorted and merged before they become files */
  bool is_postponed; /* bucket-postpone: key-value rows as they come, without numbers */

  int32_t *not_null; /* columns */
  int32_t n_not_null;
  tn_vec *defaults;    /* of each column: one value; all zero: it has none */
  int32_t kind_column; /* rowkind.field; -1: none */
  bool ignores_retracts, ignores_update_before;
  bool writes_changelog;
  bool has_tried[4]; /* by row kind: does the engine take it? (tn_flush_try_retractions()) */

  tn_write_shape *shape;
  const tn_field *shape_fields; /* what files are written of */
  int32_t n_shape_fields;

  /* Sorting and merging. */
  const tn_field *key_fields; /* key, then user sequence fields that are no key columns */
  int32_t *key_columns;       /* of the table; n_keys + n_sequence_fields */
  int32_t *value_columns;     /* the others; merge.n_value_fields */
  int32_t n_keys, n_sequence_fields;
  tn_merge_spec merge;
  bool has_exact_keys; /* prefixes are whole keys */

  int32_t *bucket_columns; /* places in fields; n_bucket_columns */
  int32_t n_bucket_columns;
  int32_t *partition_columns; /* likewise */
  int32_t n_partition_columns;
  tn_router router;
  tn_assigner assigner;
  tn_cross *cross; /* NULL: keys stay in their partitions */
  tn_row_store store;
  tn_spill *spill;      /* NULL: none */
  int64_t buffer_bytes; /* the most that rows in the store may take */
  int64_t spill_bytes;  /* the most that runs may take on disk */

  bool buffers; /* rows of append tables go to the store */
  bool always_buffers;
  int32_t n_writers, max_writers;
  int64_t next_row_id;   /* of rows of single columns */
  tn_inline *compaction; /* NULL: the writer does not compact */

  tn_write_stats stats;
  bool has_failed;
};

/* ------------------------------------------------------------------ routing */

/* numbers[0 .. n): the bucket of each row. */
TN_CHECKED tarn_status tn_bucket_numbers(const tn_write *w, const tn_batch *batch, int32_t *numbers,
                                         tarn_error *err);
/* hashes[0 .. n_rows): of the columns as a BinaryRow. */
TN_CHECKED tarn_status tn_key_hashes(tarn_env *env, const tn_batch *batch, const int32_t *columns,
                                     int32_t n, int32_t *hashes, tarn_error *err);
/* Dynamic buckets: the bucket of each row, a new one if need be. partitions: the number of each
 * row's; NULL: all are in number 0. */
TN_CHECKED tarn_status tn_assign_buckets(tn_write *w, const tn_batch *batch,
                                         const uint32_t *partitions, int32_t *numbers,
                                         tarn_error *err);
/* Write the index file of a bucket that has new keys; *out stays zero when it has none. */
TN_CHECKED tarn_status tn_assign_write(tn_write *w, const tn_open_bucket *bucket, tn_arena *arena,
                                       tn_index_files *out, tarn_error *err);
/* All index files that were written are the caller's: no bucket has changes. */
void tn_assign_settle(tn_write *w);
void tn_assign_reset(tn_write *w);
/* Sets w->cross, in the arena. */
TN_CHECKED tarn_status tn_cross_create(tn_write *w, tarn_error *err);
/* Let rows move between partitions: the batch gets the rows that are written, kinds theirs. Reads
 * the keys of the table when they are not known. Errors: those of reading; LIMIT (keys pass the
 * budget), CORRUPT (a key is in two places). */
TN_CHECKED tarn_status tn_cross_settle(tn_write *w, tn_batch *batch, int8_t **kinds,
                                       tarn_error *err);
/* Partition numbers and buckets of the rows of the batch that was settled last. */
void tn_cross_places(const tn_write *w, const uint32_t **partitions, const int32_t **buckets);
void tn_cross_reset(tn_write *w); /* forgets all keys; accepts a writer without them */
void tn_router_init(tn_router *router, tn_mem *mem);
void tn_router_reset(tn_router *router, tarn_env *env);
/* The number of a partition, a new one if need be; and those of all rows of a batch of a table that
 * has partitions. */
TN_CHECKED tarn_status tn_partition_number(tn_write *w, tn_slice bytes, uint32_t *out,
                                           tarn_error *err);
TN_CHECKED tarn_status tn_partition_numbers(tn_write *w, const tn_batch *batch, uint32_t *numbers,
                                            tarn_error *err);
/* bucket_of[i] = the number of the open bucket of row i, which is opened if need be. */
TN_CHECKED tarn_status tn_route(tn_write *w, const tn_batch *batch, uint32_t *bucket_of,
                                tarn_error *err);
/* The open bucket of a partition's number, opened if need be. */
TN_CHECKED tarn_status tn_open_bucket_number(tn_write *w, uint32_t partition, int32_t bucket,
                                             uint32_t *out, tarn_error *err);
/* Raise the sequence numbers of buckets[0 .. n), which must be restored, behind those of the latest
 * snapshot (WR2); what they hold there is compacted with what comes. is_redone: a compaction is to
 * be made again, for which a writer that overwrites looks there, too. */
TN_CHECKED tarn_status tn_restore(tn_write *w, tn_open_bucket **buckets, size_t n, bool is_redone,
                                  tarn_error *err);

/* ------------------------------------------------------------------ files */

/* A writer of data files of a bucket. */
TN_CHECKED tarn_status tn_open_data_writer(tn_write *w, tn_open_bucket *bucket, bool is_changelog,
                                           int64_t first_sequence, tn_data_writer **out,
                                           tarn_error *err);
/* Finish and free it; its files are the bucket's then. */
TN_CHECKED tarn_status tn_close_data_writer(tn_write *w, tn_open_bucket *bucket, bool is_changelog,
                                            tn_data_writer *writer, tarn_error *err);
/* Rows of the store become files: of all buckets, or of the largest ones. Runs on disk are merged
 * with them. */
TN_CHECKED tarn_status tn_flush_all(tn_write *w, tarn_error *err);
/* Make room in the store: by a spilled run, or by files of the largest buckets (WR4). */
TN_CHECKED tarn_status tn_make_room(tn_write *w, tarn_error *err);
/* Rows of tables that do not sort straight to files. kinds: NULL: all +I. */
TN_CHECKED tarn_status tn_append_rows(tn_write *w, const tn_batch *batch, const int8_t *kinds,
                                      const uint32_t *bucket_of, tarn_error *err);
TN_CHECKED tarn_status tn_close_writers(tn_write *w, tarn_error *err);

/* ------------------------------------------------------------------ a flush */

/* Rows of the store, sorted, bucket after bucket. */
typedef struct tn_flush {
  tn_write *w;
  tn_row_places places;
  tn_row_order order;
  tn_batch *keys;      /* borrowed vectors; of order.keys */
  const tn_vec **vecs; /* columns x items */
  tn_sort_row *rows;
  int64_t n_rows;
  int64_t *begins; /* of each bucket in rows; n_buckets + 1 */
  tn_sort_row *scratch;
  size_t reserved;
  int64_t batch_rows; /* of output batches */
  tn_row_ref *refs;
  int64_t refs_capacity;
} tn_flush;

/* Copies n rows as the columns of a batch (raw memory): columns[i] of the table, or all. */
TN_CHECKED tarn_status tn_flush_gather(tn_flush *f, const tn_sort_row *rows, int64_t n,
                                       const tn_field *fields, const int32_t *columns,
                                       int32_t n_columns, tn_batch *out, tarn_error *err);
/* A batch of the shape: numbers (NULL: rows have none), kinds (NULL: all +I), values (moved in). */
TN_CHECKED tarn_status tn_flush_write(tn_write *w, tn_data_writer *writer, tn_batch *values,
                                      tn_buffer *sequences, tn_buffer *kinds, tarn_error *err);
/* A retraction that is alone of its key passes the merger as it is: an engine that takes none would
 * refuse it later, to every reader. So the first of each kind is merged by itself, for nothing.
 * Errors: INVALID, in the engine's words. */
TN_CHECKED tarn_status tn_flush_try_retractions(tn_flush *f, tarn_error *err);
/* Merge the rows [rows, rows + n) of a bucket, and its spilled runs, into its files. */
TN_CHECKED tarn_status tn_flush_merged(tn_flush *f, tn_open_bucket *bucket, const tn_sort_row *rows,
                                       int64_t n, tn_data_writer *writer, tarn_error *err);
/* Kinds of rows; *out NULL: all +I. */
int8_t tn_flush_kind(const tn_flush *f, const tn_sort_row *row);

#endif
