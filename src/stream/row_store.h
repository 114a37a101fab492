/* row_store.h - the last row of each key, in bounded memory, and kept from checkpoint to
 * checkpoint.
 *
 *   log     rows-<generation>: a head, then records, only ever appended to
 *   head    64 bytes: "TARNROWS", u32 version, u32 0, u64 identity, u64 layout, zeros
 *   record  u32 bytes of the key, u32 bytes of the row, u32 CRC-32 of both and of what follows, u32
 *           1: the key is removed; then key and row
 *   index   slots of 16 bytes: u64 hash of the key, u64 offset of its record (0: free, 1: was
 *           removed); open addressing by linear probing, the upper bits of the hash choose
 *
 * Invariants
 *   RS1 A checkpoint is a few bytes: which log, how much of it, a sum over that. A store goes on
 *       from any checkpoint whose log is there, not only the last (decisions/0015).
 *   RS2 The rows that came tell what is in a log, whoever runs: who goes on from a checkpoint
 *       writes what the run before wrote behind it once more. So nothing is cut off, and
 *       checkpoints behind the one that was come back to stay good. The sum finds what went
 *       otherwise.
 *   RS3 When more than half of the log is of no use, what is of use is copied into the next
 *       generation. A log goes when it is told that nobody comes back to it.
 *   RS4 A store that begins anew takes the next generation, and leaves the newest logs that it
 *       finds, a few: it is not known yet whose place is the one that is kept, and it may be that
 *       of a run before several that came to nothing.
 *   RS5 The index is made anew from the log by who goes on; it is never kept.
 *   RS6 After a call that failed the store is only to be freed, or restored.
 *
 * Memory: up to half of memory_bytes for pages of the logs (a quarter, but while one is compacted),
 * the other half for the index; what does not fit lies in files. One thread at a time. Internal.
 */
#ifndef TN_STREAM_ROW_STORE_H
#define TN_STREAM_ROW_STORE_H

#include "base/buf.h"
#include "stream/paged_file.h"

typedef struct tn_row_store tn_row_store;

typedef struct tn_row_store_options {
  const char *folder;    /* of the files; made when it is needed */
  bool is_temporary;     /* files without names; no checkpoints */
  size_t memory_bytes;   /* 0: 64 MiB */
  uint64_t layout;       /* a hash of what rows look like: a log of others is refused */
  int64_t compact_bytes; /* logs below it are not compacted; 0: 32 MiB */
} tn_row_store_options;

/* out: tn_row_store_free(). */
TN_CHECKED tarn_status tn_row_store_create(tarn_env *env, const tn_row_store_options *options,
                                           tn_row_store **out, tarn_error *err);
/* A log of this run that no checkpoint names goes. Accepts NULL. */
void tn_row_store_free(tn_row_store *store);

/* Where a key is, or would be; valid until the store changes. */
typedef struct tn_row_place {
  uint64_t hash, slot;
  int64_t offset;  /* of its record; 0: there is none */
  int64_t n_bytes; /* of that record */
  bool was_free;   /* the slot, rather than of a removed key */
} tn_row_place;

/* Look for a key; its row is appended to `row`. */
TN_CHECKED tarn_status tn_row_store_find(tn_row_store *store, tn_slice key, tn_row_place *place,
                                         tn_buf *row, tarn_error *err);
/* Put a row in the place of its key. Errors: IO, LIMIT (a row of 1 GiB), NOMEM. */
TN_CHECKED tarn_status tn_row_store_put(tn_row_store *store, const tn_row_place *place,
                                        tn_slice key, tn_slice row, tarn_error *err);
/* Remove a key that was found. */
TN_CHECKED tarn_status tn_row_store_remove(tn_row_store *store, const tn_row_place *place,
                                           tn_slice key, tarn_error *err);

/* Append the bytes of a checkpoint; what they name is on the disk. */
TN_CHECKED tarn_status tn_row_store_checkpoint(tn_row_store *store, tn_buf *out, tarn_error *err);
/* The last checkpoint is kept for good, and only what comes behind it may still be: other logs
 * go. */
void tn_row_store_complete(tn_row_store *store);
/* A checkpoint of this store, not the last perhaps, is kept for good: logs of those before it go.
 * Errors: CORRUPT, INVALID (of another store), UNSUPPORTED (version). */
TN_CHECKED tarn_status tn_row_store_complete_until(tn_row_store *store, tn_slice bytes,
                                                   tarn_error *err);
/* Go on from a checkpoint, before anything else. Any bytes. Errors: CORRUPT, NOT_FOUND (the log is
 * gone, or in its place is that of another store), INVALID (rows of another layout), UNSUPPORTED
 * (version). */
TN_CHECKED tarn_status tn_row_store_restore(tn_row_store *store, tn_slice bytes, tarn_error *err);

typedef struct tn_row_store_stats {
  int64_t n_keys, log_bytes, garbage_bytes, generation, index_bytes, n_compactions;
  int64_t n_older; /* logs at most that are there for checkpoints of before */
} tn_row_store_stats;
void tn_row_store_get_stats(const tn_row_store *store, tn_row_store_stats *out);

#endif
