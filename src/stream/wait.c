/* wait.c - the folder "snapshot" of a table, watched. */
#include "stream/wait.h"

#include <stdatomic.h>

#include "io/watch.h"
#include "model/listing.h"

#define PREFIX "snapshot-"

struct tn_wait {
  tarn_env *env;
  tn_table *table; /* retained */
  tn_arena arena;
  const char *folder, *root;
  tn_watch *watch;       /* NULL: none can be had */
  bool is_of_root;       /* the folder is not there yet: its root is watched */
  atomic_bool is_prompt; /* there is a watch; asked by other threads than the one that waits */
};

/* Watch the folder; while it is not there, the one above it. */
static tarn_status start_watch(tn_wait *w, tarn_error *err) {
  tarn_status st;
  tn_watch_free(w->watch);
  w->watch = NULL;
  w->is_of_root = false;
  st = tn_watch_create(w->table->storage, w->folder, PREFIX, &w->watch, err);
  if (st == TARN_E_NOT_FOUND) {
    w->is_of_root = true;
    st = tn_watch_create(w->table->storage, w->root, "", &w->watch, err);
    if (st == TARN_OK && tn_storage_exists(w->table->storage, w->folder)) {
      // It was made in between.
      tn_watch_free(w->watch);
      w->watch = NULL;
      w->is_of_root = false;
      st = tn_watch_create(w->table->storage, w->folder, PREFIX, &w->watch, err);
    }
  }
  if (st != TARN_OK && st != TARN_E_NOMEM) {
    tn_error_reset(err);  // then it polls
    st = TARN_OK;
  }
  atomic_store(&w->is_prompt, w->watch != NULL);
  return st;
}

tarn_status tn_wait_create(tn_table *table, tn_wait **out, tarn_error *err) {
  tarn_env *env = table->env;
  tn_wait *w = tn_calloc(&env->mem, 1, sizeof(*w));
  tarn_status st = TARN_OK;
  *out = NULL;
  if (w == NULL) {
    return tn_oom(err);
  }
  w->env = env;
  w->table = tn_table_retain(table);
  w->root = table->branch_path;
  tn_arena_init(&w->arena, &env->mem, (size_t)1 << 20);
  w->folder = tn_path_join(&w->arena, table->branch_path, "snapshot", NULL);
  st = w->folder != NULL ? start_watch(w, err) : tn_oom(err);
  if (st != TARN_OK) {
    tn_wait_free(w);
    return st;
  }
  *out = w;
  return TARN_OK;
}

void tn_wait_free(tn_wait *w) {
  if (w != NULL) {
    tarn_env *env = w->env;
    tn_watch_free(w->watch);
    tn_table_release(w->table);
    tn_arena_reset(&w->arena);
    tn_free(&env->mem, w);
  }
}

bool tn_wait_is_prompt(const tn_wait *w) {
  return atomic_load(&w->is_prompt);
}

tarn_status tn_wait_for(tn_wait *w, int64_t timeout_ms, const tarn_cancel *cancel, bool *has_news,
                        tarn_error *err) {
  bool is_gone = false;
  if (w->watch == NULL) {
    *has_news = false;
    return tn_watch_sleep(timeout_ms, cancel, err);
  }
  TN_TRY(tn_watch_wait(w->watch, timeout_ms, cancel, has_news, &is_gone, err));
  if (is_gone || (w->is_of_root && *has_news)) {
    *has_news = true;
    return start_watch(w, err);
  }
  return TARN_OK;
}
