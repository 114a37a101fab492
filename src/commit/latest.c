/* latest.c - the hint is believed where a snapshot has its number, and never alone. */
#include "commit/latest.h"

#include <stdio.h>

#include "model/snapshot.h"
#include "model/snapshot_write.h"

#define HINT_TRIES 3

tarn_status tn_latest_exists(const tn_table *table, int64_t id, bool *out, tarn_error *err) {
  tn_file_info info;
  tarn_status st = TARN_OK;
  tn_buf path;
  *out = false;
  tn_buf_init(&path, &table->env->mem, (size_t)1 << 20);
  TN_TRY_TO(done, tn_buf_printf(&path, err, "%s/snapshot/snapshot-%lld", table->branch_path,
                                (long long)id));
  TN_TRY_TO(done, tn_buf_append(&path, "", 1, err));
  st = tn_storage_info(table->storage, (const char *)path.data, &info, err);
  *out = st == TARN_OK;
  if (st == TARN_E_NOT_FOUND) {
    tn_error_reset(err);
    st = TARN_OK;
  }
done:
  tn_buf_reset(&path);
  return st;
}

/* As it stands; 0: nothing. */
static int64_t read_hint(const tn_table *t) {
  int64_t id;
  return tn_snapshot_latest_hint(t->env, t->storage, t->branch_path, &id, NULL) == TARN_OK ? id : 0;
}

tarn_status tn_latest_is_behind(const tn_table *table, int64_t id, bool *out, tarn_error *err) {
  int64_t hint = read_hint(table), seen = 0;
  *out = false;
  while (hint > id && hint != seen) {
    int64_t latest;
    TN_TRY(tn_snapshot_latest_id(table->env, table->storage, table->branch_path, &latest, err));
    if (latest > id) {
      *out = true;
      return TARN_OK;
    }
    seen = hint;
    hint = read_hint(table);
  }
  return TARN_OK;
}

/* A rollback came before the hint: it must not name what is gone, Java believes it. */
static void mend(const tn_table *t, int64_t named) {
  bool is_there = true;
  int64_t id = 0;
  tarn_status st = tn_latest_exists(t, named, &is_there, NULL);
  if (st != TARN_OK || is_there ||
      tn_snapshot_latest_id(t->env, t->storage, t->branch_path, &id, NULL) != TARN_OK) {
    return;
  }
  if (id != 0) {
    st = tn_hint_write(t->storage, t->branch_path, "snapshot", "LATEST", id, NULL);
  }
  if (id == 0 || st != TARN_OK) {
    st = tn_hint_remove(t->storage, t->branch_path, "snapshot", "LATEST", NULL);
  }
  (void)st; /* what is left costs a listing */
}

void tn_latest_write(const tn_table *table, int64_t id) {
  int64_t hint = read_hint(table);
  bool is_ahead = false;
  if (hint > id && tn_latest_exists(table, hint, &is_ahead, NULL) == TARN_OK && is_ahead) {
    return;
  }
  for (int i = 0; i < HINT_TRIES; i++) {
    if (tn_hint_write(table->storage, table->branch_path, "snapshot", "LATEST", id, NULL) ==
        TARN_OK) {
      mend(table, id);
      return;
    }
  }
  tn_log(table->env, TARN_LOG_WARN, "event=latest_hint_not_written snapshot=%lld", (long long)id);
}
