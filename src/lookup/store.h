/* store.h - the lookup files of a table: made at first need, dropped when the disk budget or their
 * age asks for it, or when no view has their data file any more. Internal.
 *
 * Invariants
 *   LS1  All files together take no more disk than the budget, but for the one that was made last:
 *        those that were used least lately go first (the clock: files that were made).
 *   LS2  A slot's lock is never waited for while the store's is held.
 */
#ifndef TN_LOOKUP_STORE_H
#define TN_LOOKUP_STORE_H

#include <pthread.h>

#include "lookup/lookup_file.h"

typedef struct tn_lookup_store tn_lookup_store;

/* A data file that may have a lookup file. Counted: views that have the data file share it. */
typedef struct tn_lookup_slot {
  _Atomic int32_t refs;
  tn_lookup_store *store;
  struct tn_lookup_slot *next, *before; /* of the store; guarded by its lock */
  pthread_mutex_t mutex;                /* guards file */
  tn_lookup_file *file;                 /* NULL: not made, or dropped */
  _Atomic int64_t used_ms;              /* when it was used last */
  _Atomic int64_t use;                  /* how many files had been made then */
} tn_lookup_slot;

typedef struct tn_lookup_store_setup {
  const tn_read_context *context; /* outlives the store, like all below */
  const tn_lookup_layout *layout;
  const char *folder;
  tn_block_cache *cache;
  int64_t max_disk_bytes, retention_ms;
} tn_lookup_store_setup;

TN_CHECKED tarn_status tn_lookup_store_create(const tn_lookup_store_setup *setup,
                                              tn_lookup_store **out, tarn_error *err);
void tn_lookup_store_free(tn_lookup_store *store); /* all slots are released; accepts NULL */

TN_CHECKED tarn_status tn_lookup_slot_create(tn_lookup_store *store, tn_lookup_slot **out,
                                             tarn_error *err);
tn_lookup_slot *tn_lookup_slot_retain(tn_lookup_slot *slot);
void tn_lookup_slot_release(tn_lookup_slot *slot); /* accepts NULL */

/* The lookup file of data file `index` of the split, made if there is none; a reference of the
 * caller. Others that want the same one wait. Any thread. */
TN_CHECKED tarn_status tn_lookup_slot_file(tn_lookup_slot *slot, const tn_split *split,
                                           int32_t index, int64_t now_ms, tn_lookup_file **out,
                                           tarn_error *err);
/* The same if it is there; else *out is NULL. */
void tn_lookup_slot_peek(tn_lookup_slot *slot, int64_t now_ms, tn_lookup_file **out);
/* The file of a slot that the caller has a reference to is used once more; n_made: of the store. */
static inline void tn_lookup_slot_touch(tn_lookup_slot *slot, int64_t now_ms, int64_t n_made) {
  /* Written only where it changes: threads that look up at once share these lines. */
  if (atomic_load_explicit(&slot->used_ms, memory_order_relaxed) != now_ms) {
    atomic_store_explicit(&slot->used_ms, now_ms, memory_order_relaxed);
  }
  if (atomic_load_explicit(&slot->use, memory_order_relaxed) != n_made) {
    atomic_store_explicit(&slot->use, n_made, memory_order_relaxed);
  }
}
/* How many files were made and dropped so far. */
int64_t tn_lookup_store_made(const tn_lookup_store *store);
int64_t tn_lookup_store_drops(const tn_lookup_store *store);
/* Drop what was not used for longer than the retention time. */
void tn_lookup_store_age(tn_lookup_store *store, int64_t now_ms);

typedef struct tn_lookup_store_stats {
  int64_t n_files, disk_bytes; /* there now */
  int64_t n_made, n_dropped, rows_made;
  int64_t read_bytes; /* size of the data files that were read for them */
} tn_lookup_store_stats;
void tn_lookup_store_get_stats(tn_lookup_store *store, tn_lookup_store_stats *out);

#endif
