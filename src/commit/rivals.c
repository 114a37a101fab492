/* rivals.c - wait for who looked at a snapshot's name before it was taken, and may still rename. */
#include "commit/rivals.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cancel.h"

#define RIVALS_MAX_MS 5000

typedef struct search {
  char begin[40]; /* of their names, in front of the UUID */
  bool is_found;
} search;

static tarn_status look_at(void *ctx, const char *file, bool is_directory, tarn_error *err) {
  search *s = ctx;
  size_t n = strlen(s->begin), n_file = strlen(file);
  (void)is_directory;
  (void)err;
  s->is_found |= n_file > n + TN_HIDDEN_VERSION_AT && memcmp(file, s->begin, n) == 0 &&
                 file[n + TN_HIDDEN_VERSION_AT] != TN_HIDDEN_VERSION &&
                 strcmp(file + n_file - 4, ".tmp") == 0;
  return TARN_OK;
}

/* What cannot be listed has no rivals that could be waited for. */
static bool has_rivals(tn_storage *storage, const char *folder, search *s) {
  s->is_found = false;
  return tn_storage_list(storage, folder, look_at, s, NULL) == TARN_OK && s->is_found;
}

void tn_rivals_wait(tn_storage *storage, const char *folder, int64_t id,
                    const tarn_cancel *cancel) {
  int64_t waited_ms = 0, pause_ms = 1;
  search s;
  (void)snprintf(s.begin, sizeof(s.begin), ".snapshot-%lld.", (long long)id);
  while (has_rivals(storage, folder, &s) && waited_ms < RIVALS_MAX_MS &&
         tn_cancel_check(cancel, NULL) == TARN_OK) {
    struct timespec pause = {0, (long)pause_ms * 1000000};
    (void)nanosleep(&pause, NULL);
    waited_ms += pause_ms;
    pause_ms = pause_ms < 16 ? pause_ms * 2 : pause_ms;
  }
}
