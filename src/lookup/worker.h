/* worker.h - working memory of one call of a lookup, kept for the next one. Internal.
 *
 * A worker also keeps the files that it has asked: as long as it sees the same view and no file was
 * dropped meanwhile, a call takes no lock and counts no reference for them.
 *
 * Invariants
 *   LW1  A worker is used by one call at a time; the lookup's lock guards those that wait.
 *   LW2  No worker that waits holds a file that was dropped, or a view that is not the lookup's,
 *        but for as long as a call of another thread goes on.
 */
#ifndef TN_LOOKUP_WORKER_H
#define TN_LOOKUP_WORKER_H

#include "lookup/view.h"

typedef struct tn_lookup_worker {
  struct tn_lookup_worker *next; /* among those that wait */
  tarn_env *env;
  tn_lookup_store *store;
  tn_files_view *view;   /* retained; NULL: none yet */
  tn_lookup_file **held; /* by number of the view's files; references; NULL: not held */
  int32_t *numbers;      /* those that are */
  int32_t n_held, capacity;
  int64_t n_drops; /* of the store, when the first of them was taken */

  tn_arena arena;
  uint8_t *arena_begin; /* of its first block; NULL: it has none */
  tn_buf key_bytes, rows;
  int64_t n_keys, n_found, n_merged; /* since it was taken: a call may be several answers */
} tn_lookup_worker;

TN_CHECKED tarn_status tn_lookup_worker_create(tarn_env *env, tn_lookup_store *store,
                                               tn_lookup_worker **out, tarn_error *err);
void tn_lookup_worker_free(tn_lookup_worker *worker); /* accepts NULL */

/* See a view; it is retained. NOMEM leaves the worker without any. */
TN_CHECKED tarn_status tn_lookup_worker_see(tn_lookup_worker *worker, tn_files_view *view,
                                            tarn_error *err);
/* Let go of the view and all files; memory stays. */
void tn_lookup_worker_forget(tn_lookup_worker *worker);
/* Let go of all files. */
void tn_lookup_worker_let_go(tn_lookup_worker *worker);
/* Was a file dropped since those at hand were taken? */
static inline bool tn_lookup_worker_is_stale(const tn_lookup_worker *worker) {
  return worker->n_drops != tn_lookup_store_drops(worker->store);
}
/* The file of the view is kept: the reference is the worker's. */
static inline void tn_lookup_worker_keep(tn_lookup_worker *worker, const tn_view_file *file,
                                         tn_lookup_file *kept) {
  worker->held[file->number] = kept;
  worker->numbers[worker->n_held++] = file->number;
}

/* An answer begins: memory for it, empty. */
TN_CHECKED tarn_status tn_lookup_worker_begin(tn_lookup_worker *worker, tarn_error *err);
/* It ends: what was much is given back. */
void tn_lookup_worker_end(tn_lookup_worker *worker);

#endif
