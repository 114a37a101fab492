/* lookup_file.h - the rows of one data file, on local disk, found by their keys. Internal.
 *
 *   rows    head, key, values of the other stored columns; one behind the other
 *   index   at the next whole block: slots of 8 bytes, open addressing by linear probing;
 *           hash of the key: its upper bits choose the slot, its lower 16 are kept in it
 *   head    u32 bytes of key and values, u32 bytes of the key, u32 place in the data file, u8 kind,
 *           i64 sequence number
 *
 * A row is read as the table's columns of today, whatever the schema it was written with; rows that
 * deletion vectors delete are there: whoever finds one asks the vector of the snapshot at hand, so
 * that a new vector costs no reading.
 *
 * The index of a file is held in memory as long as the cache has room for it, and so are the rows
 * (within half of the cache, indexes within three quarters); else they are read block by block.
 *
 * Invariants
 *   LF1  The file has no name once it is open: nothing stays behind, whatever happens to the
 *        process.
 *   LF2  Making it takes memory by the budget, not by the file: the index is put together window by
 *        window, from hashes that wait on disk when there are many.
 *   LF3  Immutable once made; any thread.
 */
#ifndef TN_LOOKUP_LOOKUP_FILE_H
#define TN_LOOKUP_LOOKUP_FILE_H

#include "base/compat.h"
#include "lookup/block_cache.h"
#include "read/split_reader.h"

/* Columns that are kept: the key first (its values make the key), then others. Shared by all files
 * of a table. */
typedef struct tn_lookup_layout {
  const tn_field *fields;
  int32_t n_fields, n_keys;
  double load_factor; /* of the index: rows a slot */
} tn_lookup_layout;

typedef struct tn_lookup_file {
  _Atomic int32_t refs;
  tarn_env *env;
  tn_cached_file data;
  int64_t index_at; /* offset of slot 0 */
  uint64_t n_slots; /* that hashes choose from; at least one free slot follows the last used one */
  int64_t n_rows;
  size_t guess_bytes; /* that a row takes, for the first read of it */
  tn_block_cache *cache;
  uint64_t *index; /* the slots, where the cache had memory for them; NULL: they are read */
  uint8_t *tags;   /* with it: of each slot a byte of the hash that is not 0; 0: it is free */
  uint8_t *rows;   /* all that is before the index, likewise; NULL: rows are read */
  uint8_t *held;   /* where these lie; NULL: nothing is held */
  size_t held_bytes;
} tn_lookup_file;

typedef struct tn_lookup_source {
  const tn_read_context *context; /* its table and cancel flag are used, its fields for sizes */
  const tn_split *split;          /* that has the data file */
  int32_t index;                  /* the file's place in it */
  const tn_lookup_layout *layout;
  const char *folder;    /* for the new file, on the local file system; exists */
  uint32_t number;       /* for the cache */
  tn_block_cache *cache; /* outlives the file */
} tn_lookup_source;

/* Errors: those of data readers; IO (no space left), LIMIT, NOMEM. out: one reference. */
TN_CHECKED tarn_status tn_lookup_file_make(const tn_lookup_source *source, tn_lookup_file **out,
                                           tarn_error *err);
tn_lookup_file *tn_lookup_file_retain(tn_lookup_file *file);
void tn_lookup_file_release(tn_lookup_file *file); /* accepts NULL */

/* A row that was found; it lies in the buffer that took it, or in the memory of the file. */
typedef struct tn_lookup_row {
  const uint8_t *held;           /* as long as the file is; NULL: it is in the buffer */
  size_t key_at, values_at, end; /* offsets in the buffer, or behind `held` */
  int64_t sequence;
  uint32_t position; /* in the data file */
  int8_t kind;
} tn_lookup_row;

/* The row's bytes: its offsets count from there. */
static inline const uint8_t *tn_lookup_row_data(const tn_lookup_row *row, const tn_buf *rows) {
  return row->held != NULL ? row->held : rows->data;
}

/* Look for a key (tn_row_put_key of all its columns). rows: gets the row appended if it is found
 * and the file does not hold its rows, else it is as it was. Errors: IO, CORRUPT, NOMEM, LIMIT (the
 * buffer's). */
TN_CHECKED tarn_status tn_lookup_file_find(const tn_lookup_file *file, tn_slice key, uint64_t hash,
                                           tn_buf *rows, tn_lookup_row *out, bool *is_found,
                                           tarn_error *err);

/* Have what a look for a hash will touch first fetched while something else is done: the tag, and
 * with it the slot (where one key is waited for). */
static inline void tn_lookup_file_prefetch(const tn_lookup_file *file, uint64_t hash,
                                           bool with_slot) {
  if (file->tags != NULL) {
    uint64_t at = (uint64_t)(((tn_u128)hash * file->n_slots) >> 64);
    __builtin_prefetch(file->tags + at);
    if (with_slot) {
      __builtin_prefetch(file->index + at);
    }
  }
}
/* When the tag is at hand: the slot; when that is: the row. */
void tn_lookup_file_prefetch_slot(const tn_lookup_file *file, uint64_t hash);
void tn_lookup_file_prefetch_row(const tn_lookup_file *file, uint64_t hash);

uint64_t tn_lookup_hash(tn_slice key);

/* Remove files that processes which have died left in a folder, half made. Never fails: what cannot
 * be removed stays. */
void tn_lookup_sweep(tarn_env *env, const char *folder);

#endif
