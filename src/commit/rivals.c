/* rivals.c - wait for who looked at a snapshot's name before it was taken, and may still rename. */
#include "commit/rivals.h"

#include <string.h>
#include <time.h>

#include "base/cancel.h"
#include "model/listing.h"

#define RIVALS_MAX_MS 5000
#define DEAD_AFTER_MS 60000
#define NAMES_LIMIT ((size_t)16 << 20)

typedef struct rivalry {
  tn_storage *storage;
  const char *folder;
  int64_t id;
  int64_t ours_ms; /* when our snapshot was written, by the clock of the files; 0: it is gone */
} rivalry;

/* What stands behind ".snapshot-<id>." in a name of another program. */
static bool is_foreign(const char *rest) {
  size_t n = strlen(rest);
  return n > TN_HIDDEN_VERSION_AT && rest[TN_HIDDEN_VERSION_AT] != TN_HIDDEN_VERSION &&
         strcmp(rest + n - 4, ".tmp") == 0;
}

/* Was a file written so long before ours that whoever wrote it is dead? One that cannot be looked
 * at is not. */
static bool is_dead(const rivalry *r, tn_arena *arena, const char *prefix, const char *rest) {
  const char *path = tn_arena_printf(arena, "%s/%s%s", r->folder, prefix, rest);
  tn_file_info info;
  return path != NULL && tn_storage_info(r->storage, path, &info, NULL) == TARN_OK &&
         info.modified_ms < r->ours_ms - DEAD_AFTER_MS;
}

/* What cannot be listed has no rivals that could be waited for. */
static bool has_rivals(const rivalry *r) {
  bool is_found = false;
  const char *prefix, **names = NULL;
  int32_t n = 0;
  tn_arena arena;
  tn_arena_init(&arena, &r->storage->env->mem, NAMES_LIMIT);
  prefix = tn_arena_printf(&arena, ".snapshot-%lld.", (long long)r->id);
  if (prefix != NULL &&
      tn_listing_names(r->storage, r->folder, prefix, false, &arena, &names, &n, NULL) == TARN_OK) {
    for (int32_t i = 0; i < n && !is_found; i++) {
      is_found = is_foreign(names[i]) && !is_dead(r, &arena, prefix, names[i]);
    }
  }
  tn_arena_reset(&arena);
  return is_found;
}

bool tn_rivals_wait(tn_storage *storage, const char *folder, int64_t id, const char *path,
                    const tarn_cancel *cancel) {
  rivalry r = {storage, folder, id, 0};
  int64_t waited_ms = 0, pause_ms = 1;
  bool were_there = false;
  tn_file_info ours;
  if (tn_storage_info(storage, path, &ours, NULL) == TARN_OK) {
    r.ours_ms = ours.modified_ms;
  }
  while (has_rivals(&r)) {
    struct timespec pause = {0, (long)pause_ms * 1000000};
    were_there = true;
    if (waited_ms >= RIVALS_MAX_MS || tn_cancel_check(cancel, NULL) != TARN_OK) {
      break;
    }
    (void)nanosleep(&pause, NULL);
    waited_ms += pause_ms;
    pause_ms = pause_ms < 16 ? pause_ms * 2 : pause_ms;
  }
  return were_there;
}
