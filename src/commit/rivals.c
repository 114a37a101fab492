/* rivals.c - wait for who looked at a snapshot's name before it was taken, and may still rename. */
#include "commit/rivals.h"

#include <string.h>
#include <time.h>

#include "base/cancel.h"

#define RIVALS_MAX_MS 5000

typedef struct search {
  const char *name;
  bool is_found;
} search;

static tarn_status look_at(void *ctx, const char *file, bool is_directory, tarn_error *err) {
  search *s = ctx;
  size_t n = strlen(s->name), n_file = strlen(file);
  (void)is_directory;
  (void)err;
  s->is_found |= n_file > n + 2 + TN_HIDDEN_VERSION_AT && file[0] == '.' &&
                 memcmp(file + 1, s->name, n) == 0 && file[n + 1] == '.' &&
                 file[n + 2 + TN_HIDDEN_VERSION_AT] != TN_HIDDEN_VERSION &&
                 strcmp(file + n_file - 4, ".tmp") == 0;
  return TARN_OK;
}

/* What cannot be listed has no rivals that could be waited for. */
static bool has_rivals(tn_storage *storage, const char *folder, const char *name) {
  search s = {name, false};
  return tn_storage_list(storage, folder, look_at, &s, NULL) == TARN_OK && s.is_found;
}

void tn_rivals_wait(tn_storage *storage, const char *path, const tarn_cancel *cancel) {
  tn_mem *mem = &storage->env->mem;
  char *folder = path != NULL ? tn_strdup(mem, path) : NULL;
  char *slash = folder != NULL ? strrchr(folder, '/') : NULL;
  int64_t waited_ms = 0, pause_ms = 1;
  if (slash != NULL) {
    *slash = '\0';
  }
  while (slash != NULL && has_rivals(storage, folder, slash + 1) && waited_ms < RIVALS_MAX_MS &&
         tn_cancel_check(cancel, NULL) == TARN_OK) {
    struct timespec pause = {0, (long)pause_ms * 1000000};
    (void)nanosleep(&pause, NULL);
    waited_ms += pause_ms;
    pause_ms = pause_ms < 16 ? pause_ms * 2 : pause_ms;
  }
  tn_free(mem, folder);
}
