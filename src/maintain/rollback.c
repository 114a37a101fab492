/* rollback.c - what is newer than a snapshot goes. */
#include "maintain/rollback.h"

#include "maintain/kept.h"
#include "maintain/tags_internal.h"
#include "model/listing.h"
#include "model/snapshot_write.h"
#include "plan/finder.h"

#define ARENA_LIMIT ((size_t)1 << 30)
#define SNAPSHOT_LIMIT ((size_t)16 << 20)
#define MAX_ROUNDS 100

static tarn_status remove_at(tn_table *t, const char *path, tarn_error *err) {
  return path != NULL ? tn_storage_remove(t->storage, path, err) : tn_oom(err);
}

/* Numbered files of a folder above an id, from the greatest down. *n_left: those that stay. */
static tarn_status remove_newer(tn_table *t, tn_arena *arena, const char *folder, int64_t id,
                                int32_t *n_left, int32_t *n_gone, tarn_error *err) {
  int64_t *ids;
  int32_t n;
  TN_TRY(tn_snapshot_ids(t->env, t->storage, t->branch_path, folder, arena, &ids, &n, err));
  *n_left = n;
  for (; *n_left > 0 && ids[*n_left - 1] > id; --*n_left) {
    TN_TRY(remove_at(t,
                     tn_arena_printf(arena, "%s/%s/%s-%lld", t->branch_path, folder, folder,
                                     (long long)ids[*n_left - 1]),
                     err));
  }
  *n_gone = n - *n_left;
  return TARN_OK;
}

static tarn_status remove_newer_changelogs(tn_table *t, tn_arena *arena, int64_t id,
                                           tarn_error *err) {
  int64_t *ids;
  int32_t n, n_left, n_gone;
  TN_TRY(tn_snapshot_ids(t->env, t->storage, t->branch_path, "changelog", arena, &ids, &n, err));
  if (n == 0 || ids[n - 1] <= id) {
    return TARN_OK;
  }
  /* -1: the next expiry tells. */
  TN_TRY(
      tn_hint_write(t->storage, t->branch_path, "changelog", "LATEST", ids[0] > id ? -1 : id, err));
  return remove_newer(t, arena, "changelog", id, &n_left, &n_gone, err);
}

static tarn_status remove_newer_tags(tn_table *t, tn_arena *arena, int64_t id, tarn_error *err) {
  tn_tag *tags;
  int32_t n;
  TN_TRY(tn_tags_load(t, t->branch_path, arena, &tags, &n, err));
  for (int32_t i = n - 1; i >= 0 && tags[i].snapshot.id > id; i--) {
    TN_TRY(
        remove_at(t, tn_arena_printf(arena, "%s/tag/tag-%s", t->branch_path, tags[i].name), err));
  }
  return TARN_OK;
}

/* The snapshot file of a tag whose snapshot has expired. */
static tarn_status restore_snapshot(tn_table *t, tn_arena *arena, const tn_snapshot *tag,
                                    tarn_error *err) {
  const char *path =
      tn_arena_printf(arena, "%s/snapshot/snapshot-%lld", t->branch_path, (long long)tag->id);
  tarn_status st = TARN_OK;
  tn_buf json;
  if (path == NULL) {
    return tn_oom(err);
  }
  tn_buf_init(&json, &t->env->mem, SNAPSHOT_LIMIT);
  TN_TRY_TO(done, tn_tag_encode_snapshot(t, tag, &json, err));
  st = tn_storage_publish(t->storage, path, tn_buf_slice(&json), err);
  if (st == TARN_E_EXISTS) {
    tn_error_reset(err);
    st = TARN_OK;
  }
done:
  tn_buf_reset(&json);
  return st;
}

static tarn_status tell_missing(int64_t id, tarn_error *err) {
  return tn_fail(err, TARN_E_NOT_FOUND, "Rollback snapshot '%lld' doesn't exist.", (long long)id);
}

/* An expiry moves EARLIEST first: what is below has lost files, or is about to, unless a tag keeps
 * them. */
static tarn_status check_whole(tn_table *t, tn_arena *arena, const tn_snapshot *s,
                               tarn_error *err) {
  int64_t earliest;
  bool is_kept;
  TN_TRY(tn_snapshot_earliest_id(t->env, t->storage, t->branch_path, &earliest, err));
  TN_TRY(tn_tags_keep(t, s, NULL, arena, &is_kept, err));
  return earliest <= s->id || is_kept
             ? TARN_OK
             : tn_fail(err, TARN_E_EXPIRED,
                       "snapshot %lld of table %s has begun to expire, its files may be gone: roll "
                       "back to snapshot %lld (snapshot/EARLIEST), a later one, or a tag",
                       (long long)s->id, t->full_name, (long long)earliest);
}

/* Until nobody brings newer ones, who did not wait for the lock. */
static tarn_status remove_all_newer(tn_table *t, tn_arena *arena, int64_t id, int32_t *n_gone,
                                    tarn_error *err) {
  int32_t n_now = 1;
  *n_gone = 0;
  for (int i = 0; i < MAX_ROUNDS && n_now > 0; i++) {
    int32_t n_left;
    TN_TRY(remove_newer(t, arena, "snapshot", id, &n_left, &n_now, err));
    *n_gone += n_now;
  }
  return TARN_OK;
}

static tarn_status check_tagged(tn_table *t, tn_arena *arena, const tn_snapshot *tag,
                                tarn_error *err) {
  bool is_kept;
  TN_TRY(tn_tags_keep(t, tag, NULL, arena, &is_kept, err));
  return is_kept ? TARN_OK
                 : tn_fail(err, TARN_E_NOT_FOUND,
                           "nothing is rolled back: the tag of snapshot %lld of table %s has been "
                           "deleted meanwhile",
                           (long long)tag->id, t->full_name);
}

/* The snapshot of a tag comes back, unless it is there. A tag that is deleted meanwhile takes its
 * files with it, if the snapshot is not seen. Another one may have its number. *is_new: it was not
 * there. */
static tarn_status restore_tagged(tn_table *t, tn_arena *arena, const tn_snapshot *tag,
                                  bool *is_new, tarn_error *err) {
  tn_snapshot now;
  bool has_number;
  int32_t n_gone;
  tarn_status st, removed;
  TN_TRY(tn_snapshot_find(t, t->branch_path, tag->id, arena, &now, &has_number, err));
  *is_new = !has_number || !tn_snapshot_is_same(&now, tag);
  if (!*is_new) {
    return check_whole(t, arena, tag, err);
  }
  TN_TRY(check_tagged(t, arena, tag, err));
  if (has_number) {
    TN_TRY(tn_hint_remove(t->storage, t->branch_path, "snapshot", "LATEST", err));
    TN_TRY(remove_all_newer(t, arena, tag->id - 1, &n_gone, err));
  }
  TN_TRY(restore_snapshot(t, arena, tag, err));
  st = check_tagged(t, arena, tag, err);
  if (st == TARN_OK) {
    return st;
  }
  removed = remove_at(
      t, tn_arena_printf(arena, "%s/snapshot/snapshot-%lld", t->branch_path, (long long)tag->id),
      NULL);
  (void)removed;
  return st;
}

static tarn_status check_snapshot(tn_table *t, tn_arena *arena, int64_t id, tarn_error *err) {
  tn_snapshot s;
  bool found;
  TN_TRY(tn_snapshot_find(t, t->branch_path, id, arena, &s, &found, err));
  return found ? check_whole(t, arena, &s, err) : tell_missing(id, err);
}

/* Without LATEST the greatest id is the latest: at each moment a state that was. */
static tarn_status remove_states(tn_table *t, tn_arena *arena, int64_t id, const tn_snapshot *tag,
                                 tarn_error *err) {
  const char *root = t->branch_path;
  bool is_restored = false;
  int64_t earliest;
  int32_t n_gone;
  TN_TRY(tag != NULL ? restore_tagged(t, arena, tag, &is_restored, err)
                     : check_snapshot(t, arena, id, err));
  TN_TRY(tn_hint_remove(t->storage, root, "snapshot", "LATEST", err));
  TN_TRY(remove_all_newer(t, arena, id, &n_gone, err));
  if (n_gone > 0 || is_restored) { /* a newer one must not come back behind the hints */
    const char *folder = tn_path_join(arena, root, "snapshot", NULL);
    TN_TRY(folder != NULL ? tn_storage_sync_folder(t->storage, folder, err) : tn_oom(err));
  }
  TN_TRY(tn_snapshot_earliest_hint(t->env, t->storage, root, &earliest, err));
  if (is_restored || earliest > id) { /* it names one that has gone, or is older than all */
    TN_TRY(tn_hint_write(t->storage, root, "snapshot", "EARLIEST", id, err));
  }
  TN_TRY(remove_newer_changelogs(t, arena, id, err));
  TN_TRY(remove_newer_tags(t, arena, id, err));
  TN_TRY(tn_hint_write(t->storage, root, "snapshot", "LATEST", id, err));
  tn_log(t->env, TARN_LOG_INFO, "event=rolled_back table=%s snapshot=%lld removed=%d", t->full_name,
         (long long)id, n_gone);
  return TARN_OK;
}

/* Not while a commit takes a name, or an expiry is about to delete files. tag: the state that has
 * this id, and comes back where it is not there any more; NULL: the snapshot of the id. */
static tarn_status roll_back(tn_table *t, tn_arena *arena, int64_t id, const tn_snapshot *tag,
                             tarn_error *err) {
  const char *folder = tn_path_join(arena, t->branch_path, "snapshot", NULL);
  tarn_status st;
  int lock;
  if (folder == NULL) {
    return tn_oom(err);
  }
  lock = tn_storage_lock_folder(t->storage, folder);
  st = remove_states(t, arena, id, tag, err);
  tn_storage_unlock_folder(t->storage, lock);
  return st;
}

static tarn_status to_snapshot(tn_table *t, tn_arena *arena, int64_t id, tarn_error *err) {
  tn_snapshot s;
  tn_tag *tags;
  int32_t n;
  bool found;
  TN_TRY(tn_snapshot_find(t, t->branch_path, id, arena, &s, &found, err));
  if (found) {
    return roll_back(t, arena, id, NULL, err);
  }
  TN_TRY(tn_tags_load(t, t->branch_path, arena, &tags, &n, err));
  for (int32_t i = 0; i < n; i++) {
    if (tags[i].snapshot.id == id) {
      return roll_back(t, arena, id, &tags[i].snapshot, err);
    }
  }
  return tell_missing(id, err);
}

static tarn_status to_tag(tn_table *t, tn_arena *arena, const char *tag, tarn_error *err) {
  tn_snapshot s;
  TN_TRY(tn_tag_read(t->env, t->storage, t->branch_path, tag, arena, &s, err));
  return roll_back(t, arena, s.id, &s, err);
}

static tarn_status to_time(tn_table *t, tn_arena *arena, int64_t time_ms, tarn_error *err) {
  tn_finder finder;
  tn_snapshot s;
  bool found;
  TN_TRY(tn_finder_init(&finder, t, arena, err));
  TN_TRY(tn_find_time(&finder, time_ms, &found, &s, err));
  return found ? roll_back(t, arena, s.id, NULL, err)
               : tn_fail(err, TARN_E_NOT_FOUND,
                         "table %s has no snapshot that is as old as %lld ms since 1970",
                         t->full_name, (long long)time_ms);
}

tarn_status tn_rollback_to_snapshot(tn_table *table, int64_t id, tarn_error *err) {
  tn_arena arena;
  tarn_status st;
  tn_arena_init(&arena, &table->env->mem, ARENA_LIMIT);
  st = to_snapshot(table, &arena, id, err);
  tn_arena_reset(&arena);
  return st;
}

tarn_status tn_rollback_to_tag(tn_table *table, const char *tag, tarn_error *err) {
  tn_arena arena;
  tarn_status st;
  tn_arena_init(&arena, &table->env->mem, ARENA_LIMIT);
  st = to_tag(table, &arena, tag, err);
  tn_arena_reset(&arena);
  return st;
}

tarn_status tn_rollback_to_time(tn_table *table, int64_t time_ms, tarn_error *err) {
  tn_arena arena;
  tarn_status st;
  tn_arena_init(&arena, &table->env->mem, ARENA_LIMIT);
  st = to_time(table, &arena, time_ms, err);
  tn_arena_reset(&arena);
  return st;
}
