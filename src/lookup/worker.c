/* worker.c - working memory of calls, and the files that they keep. */
#include "lookup/worker.h"

#define ARENA_BYTES ((size_t)1 << 30)
#define ROWS_LIMIT ((size_t)4 << 30)
#define KEPT_BYTES 16384u /* of arena and buffers, between calls */

tarn_status tn_lookup_worker_create(tarn_env *env, tn_lookup_store *store, tn_lookup_worker **out,
                                    tarn_error *err) {
  tn_lookup_worker *w = tn_calloc(&env->mem, 1, sizeof(*w));
  *out = w;
  if (w == NULL) {
    return tn_oom(err);
  }
  w->env = env;
  w->store = store;
  tn_arena_init(&w->arena, &env->mem, ARENA_BYTES);
  tn_buf_init(&w->key_bytes, &env->mem, ROWS_LIMIT);
  tn_buf_init(&w->rows, &env->mem, ROWS_LIMIT);
  return TARN_OK;
}

void tn_lookup_worker_free(tn_lookup_worker *w) {
  if (w != NULL) {
    tn_lookup_worker_forget(w);
    tn_free(&w->env->mem, w->held);
    tn_free(&w->env->mem, w->numbers);
    tn_arena_reset(&w->arena);
    tn_buf_reset(&w->key_bytes);
    tn_buf_reset(&w->rows);
    tn_free(&w->env->mem, w);
  }
}

void tn_lookup_worker_let_go(tn_lookup_worker *w) {
  for (int32_t i = 0; i < w->n_held; i++) {
    tn_lookup_file_release(w->held[w->numbers[i]]);
    w->held[w->numbers[i]] = NULL;
  }
  w->n_held = 0;
  w->n_drops = tn_lookup_store_drops(w->store);
}

void tn_lookup_worker_forget(tn_lookup_worker *w) {
  tn_lookup_worker_let_go(w);
  tn_files_view_release(w->view);
  w->view = NULL;
}

tarn_status tn_lookup_worker_see(tn_lookup_worker *w, tn_files_view *view, tarn_error *err) {
  size_t n = (size_t)view->n_files;
  tn_lookup_worker_forget(w);
  if (view->n_files > w->capacity) {
    tn_free(&w->env->mem, w->held);
    tn_free(&w->env->mem, w->numbers);
    w->capacity = 0;
    w->held = tn_calloc(&w->env->mem, n, sizeof(tn_lookup_file *));
    w->numbers = tn_alloc(&w->env->mem, n * sizeof(*w->numbers));
    if (w->held == NULL || w->numbers == NULL) {
      return tn_oom(err);
    }
    w->capacity = view->n_files;
  }
  w->view = tn_files_view_retain(view);
  return TARN_OK;
}

tarn_status tn_lookup_worker_begin(tn_lookup_worker *w, tarn_error *err) {
  w->key_bytes.len = w->rows.len = 0;
  if (w->arena_begin == NULL) {
    w->arena_begin = tn_arena_alloc(&w->arena, KEPT_BYTES);
    if (w->arena_begin == NULL) {
      return tn_oom(err);
    }
  }
  w->arena.at = w->arena_begin;
  return TARN_OK;
}

void tn_lookup_worker_end(tn_lookup_worker *w) {
  if (w->arena.held_bytes > KEPT_BYTES) {
    tn_arena_reset(&w->arena);
    w->arena_begin = NULL;
  }
  if (w->key_bytes.capacity > KEPT_BYTES) {
    tn_buf_reset(&w->key_bytes);
  }
  if (w->rows.capacity > KEPT_BYTES) {
    tn_buf_reset(&w->rows);
  }
}
