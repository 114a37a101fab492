/* expire.c - which snapshots and changelogs go, and in which order. */
#include "maintain/expire.h"

#include "commit/rivals.h"
#include "maintain/sweep.h"
#include "maintain/tags.h"
#include "model/listing.h"
#include "model/snapshot_write.h"

#define ARENA_LIMIT ((size_t)1 << 30)
#define SNAPSHOT_LIMIT ((size_t)16 << 20)
#define MAX_ATTEMPTS 5

/* How many stay, and how long. */
typedef struct retention {
  int64_t max, min, time_ms;
} retention;

typedef struct expiry {
  const tn_expire_request *request;
  const char *root;
  retention snapshots, changelogs;
  int64_t max_deletes;
  bool keeps_changelogs; /* longer than snapshots */
  bool cleans_folders;
  bool consumers_of_changelogs_only;
  int64_t begin, end; /* what goes: ids in [begin, end) */
  tn_snapshot *going; /* those that are there */
  int32_t n_going;
  tn_snapshot end_snapshot; /* the first that stays */
  tn_tag *tags;
  int32_t n_tags;
  const char *branches; /* as text */
  bool is_lockless;     /* the lock was not to be had */
  tn_clearing work;
} expiry;

/* ------------------------------------------------------------------ settings */

/* What is not set, not even by a default, stays as it is. */
static tarn_status number(const expiry *x, const char *key, int64_t *out, tarn_error *err) {
  int64_t value;
  bool is_set;
  TN_TRY(tn_options_int(&x->work.table->options, key, &value, &is_set, err));
  *out = is_set || tn_option_find(key)->default_value != NULL ? value : *out;
  return TARN_OK;
}

static tarn_status load_settings(expiry *x, tarn_error *err) {
  const tn_expire_request *r = x->request;
  bool only;
  TN_TRY(number(x, "snapshot.num-retained.max", &x->snapshots.max, err));
  TN_TRY(number(x, "snapshot.num-retained.min", &x->snapshots.min, err));
  TN_TRY(number(x, "snapshot.time-retained", &x->snapshots.time_ms, err));
  TN_TRY(number(x, "snapshot.expire.limit", &x->max_deletes, err));
  if (r->retain_max != 0) {
    x->snapshots.max = r->retain_max;
  }
  if (r->retain_min != 0) {
    x->snapshots.min = r->retain_min;
  }
  if (r->older_than_ms != 0) {
    x->snapshots.time_ms = tn_env_now_ms(x->work.table->env) - r->older_than_ms;
  }
  if (r->max_deletes != 0) {
    x->max_deletes = r->max_deletes;
  }
  x->changelogs = x->snapshots;
  TN_TRY(number(x, "changelog.num-retained.max", &x->changelogs.max, err));
  TN_TRY(number(x, "changelog.num-retained.min", &x->changelogs.min, err));
  TN_TRY(number(x, "changelog.time-retained", &x->changelogs.time_ms, err));
  x->keeps_changelogs = x->changelogs.max > x->snapshots.max ||
                        x->changelogs.min > x->snapshots.min ||
                        x->changelogs.time_ms > x->snapshots.time_ms;
  TN_TRY(tn_options_bool(&x->work.table->options, "snapshot.clean-empty-directories",
                         &x->cleans_folders, err));
  TN_TRY(tn_options_bool(&x->work.table->options, "consumer.changelog-only", &only, err));
  x->consumers_of_changelogs_only = only && x->keeps_changelogs;
  return TARN_OK;
}

static tarn_status check_retention(const retention *r, tarn_error *err) {
  if (r->min < 1) {
    return tn_fail(err, TARN_E_INVALID, "retainMin (%lld) must be at least 1", (long long)r->min);
  }
  return r->max >= r->min ? TARN_OK
                          : tn_fail(err, TARN_E_INVALID,
                                    "retainMax (%lld) must not be less than retainMin (%lld).",
                                    (long long)r->max, (long long)r->min);
}

static void expiry_init(expiry *x, tn_table *table, const tn_expire_request *request) {
  *x = (expiry){.request = request, .root = table->branch_path};
  tn_clearing_init(&x->work, table);
}

/* ------------------------------------------------------------------ the range */

static tarn_status cap_by_consumers(expiry *x, int64_t *end, tarn_error *err) {
  tn_consumer *consumers;
  int32_t n;
  TN_TRY(tn_consumer_list(x->work.table->env, x->work.table->storage, x->root, &x->work.arena,
                          &consumers, &n, err));
  for (int32_t i = 0; i < n; i++) {
    if (consumers[i].next_snapshot < *end) {
      *end = consumers[i].next_snapshot;
    }
  }
  return TARN_OK;
}

static tarn_status read_numbered(expiry *x, bool is_changelog, int64_t id, tn_snapshot *out,
                                 bool *found, tarn_error *err) {
  return is_changelog
             ? tn_changelog_find(x->work.table, x->root, id, &x->work.arena, out, found, err)
             : tn_snapshot_find(x->work.table, x->root, id, &x->work.arena, out, found, err);
}

static int64_t limited_sum(int64_t a, int64_t b) {
  return b > INT64_MAX - a ? INT64_MAX : a + b;
}

/* Ids from first on that are too young end the range; is_closed: `end` itself is looked at, too. */
static tarn_status cap_by_age(expiry *x, const int64_t *ids, int32_t n_ids, bool is_changelog,
                              int64_t first, int64_t *end, tarn_error *err) {
  const retention *r = is_changelog ? &x->changelogs : &x->snapshots;
  int64_t now = tn_env_now_ms(x->work.table->env);
  int64_t older_than = r->time_ms > now ? INT64_MIN : now - r->time_ms;
  for (int32_t i = 0; i < n_ids; i++) {
    tn_snapshot s;
    bool found;
    if (ids[i] < first || ids[i] > *end || (ids[i] == *end && !is_changelog)) {
      continue;
    }
    TN_TRY(read_numbered(x, is_changelog, ids[i], &s, &found, err));
    if (found && older_than <= s.time_ms) {
      *end = ids[i];
      return TARN_OK;
    }
  }
  return TARN_OK;
}

/* Read what goes; *end moves up to the first one that is there. */
static tarn_status collect(expiry *x, const int64_t *ids, int32_t n_ids, bool is_changelog,
                           bool *has_end, tarn_error *err) {
  x->going = tn_arena_calloc(&x->work.arena, (size_t)n_ids + 1, sizeof(*x->going));
  *has_end = false;
  if (x->going == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < n_ids && !*has_end; i++) {
    bool found;
    if (ids[i] < x->begin) {
      continue;
    }
    if (ids[i] >= x->end) {
      TN_TRY(read_numbered(x, is_changelog, ids[i], &x->end_snapshot, has_end, err));
      x->end = *has_end ? ids[i] : x->end;
      continue;
    }
    TN_TRY(read_numbered(x, is_changelog, ids[i], &x->going[x->n_going], &found, err));
    x->n_going += found;
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ protection */

/* What the delta of snapshot `from` or a later one takes away was live in the tag before it, or in
 * one that follows up to the end. */
static tarn_status keep_tags(expiry *x, int64_t from, bool may_lack, tarn_error *err) {
  int32_t first = 0;
  TN_TRY(tn_tags_load(x->work.table, x->root, &x->work.arena, &x->tags, &x->n_tags, err));
  while (first + 1 < x->n_tags && x->tags[first + 1].snapshot.id < from) {
    first++;
  }
  for (int32_t i = first; i < x->n_tags && x->tags[i].snapshot.id < x->end; i++) {
    const tn_snapshot *s = &x->tags[i].snapshot;
    tarn_status st = TARN_OK;
    if (i > first && s->id == x->tags[i - 1].snapshot.id) {
      continue; /* another name of one state */
    }
    st = tn_kept_files(&x->work.kept, s, err);
    if (st == TARN_OK) {
      st = may_lack ? tn_kept_metas_left(&x->work.kept, s, err)
                    : tn_kept_metas(&x->work.kept, s, err);
    }
    if (st != TARN_OK) {
      return tn_error_context(err, st, "nothing expires: what tag '%s' needs is not known",
                              x->tags[i].name);
    }
  }
  return TARN_OK;
}

/* Tags that came since they were looked at. */
static tarn_status check_tags(expiry *x, bool *is_same, tarn_error *err) {
  tn_tag *now;
  int32_t n;
  TN_TRY(tn_tags_load(x->work.table, x->root, &x->work.arena, &now, &n, err));
  *is_same = true;
  for (int32_t i = 0, k = 0; i < n && *is_same; i++) {
    while (k < x->n_tags && (x->tags[k].snapshot.id < now[i].snapshot.id ||
                             (x->tags[k].snapshot.id == now[i].snapshot.id &&
                              strcmp(x->tags[k].name, now[i].name) < 0))) {
      k++;
    }
    *is_same = k < x->n_tags && x->tags[k].snapshot.id == now[i].snapshot.id &&
               strcmp(x->tags[k].name, now[i].name) == 0;
  }
  return TARN_OK;
}

/* The branches, each with its first snapshot: one that is made anew has another one, or needs what
 * was kept for it before. */
static tarn_status tell_branches(expiry *x, const char **out, tarn_error *err) {
  tn_table *t = x->work.table;
  tn_arena *arena = &x->work.arena;
  tn_branch *branches;
  int32_t n;
  TN_TRY(tn_branch_list(t->env, t->storage, t->path, arena, &branches, &n, err));
  *out = tn_arena_strdup(arena, "");
  for (int32_t i = 0; i < n && *out != NULL; i++) {
    const char *root = tn_arena_printf(arena, "%s/branch/branch-%s", t->path, branches[i].name);
    bool has_first = false;
    tn_snapshot first;
    int64_t *ids;
    int32_t n_ids;
    if (root == NULL) {
      return tn_oom(err);
    }
    TN_TRY(tn_snapshot_ids(t->env, t->storage, root, "snapshot", arena, &ids, &n_ids, err));
    TN_TRY(n_ids > 0 ? tn_snapshot_find(t, root, ids[0], arena, &first, &has_first, err) : TARN_OK);
    *out = tn_arena_printf(arena, "%s%s %s\n", *out, branches[i].name,
                           has_first ? first.base_manifest_list : "");
  }
  return *out != NULL ? TARN_OK : tn_oom(err);
}

/* Tags and branches that came since they were looked at; the tags first: one that a branch was made
 * of may be gone already. */
static tarn_status check_newcomers(expiry *x, tarn_error *err) {
  const char *branches;
  bool is_same;
  TN_TRY(check_tags(x, &is_same, err));
  if (is_same) {
    TN_TRY(tell_branches(x, &branches, err));
    is_same = strcmp(branches, x->branches) == 0;
  }
  return is_same ? TARN_OK
                 : tn_fail(err, TARN_E_CONFLICT,
                           "nothing expires this time: a tag or branch of table %s has been made "
                           "meanwhile",
                           x->work.table->full_name);
}

/* Who holds it for long, as a process that was stopped, is waited for once. */
static int lock_names(expiry *x, const char *folder) {
  int lock = x->is_lockless ? -1 : tn_storage_lock_folder(x->work.table->storage, folder);
  x->is_lockless = lock < 0;
  return lock;
}

/* ------------------------------------------------------------------ rollbacks */

static tarn_status numbered_path(expiry *x, const char *folder, int64_t id, const char **out,
                                 tarn_error *err) {
  *out = tn_arena_printf(&x->work.arena, "%s/%s/%s-%lld", x->root, folder, folder, (long long)id);
  return *out != NULL ? TARN_OK : tn_oom(err);
}

/* Is the first snapshot that stays still there? A rollback or fast-forward takes it away, or puts
 * another one in its place; then the table needs other files. Under the lock of the folder. */
static tarn_status look_at_end(expiry *x, bool *is_same, tarn_error *err) {
  tn_snapshot now;
  TN_TRY(read_numbered(x, false, x->end, &now, is_same, err));
  *is_same = *is_same && tn_snapshot_is_same(&now, &x->end_snapshot);
  return TARN_OK;
}

static tarn_status tell_rollback(const expiry *x, tarn_error *err) {
  return tn_fail(err, TARN_E_CONFLICT,
                 "nothing expires this time: table %s has been rolled back meanwhile, or another "
                 "program has replaced snapshot %lld",
                 x->work.table->full_name, (long long)x->end);
}

/* EARLIEST as it was before it was moved, since nothing has gone. What a rollback or another expiry
 * has written since stays. Under the lock of the folder. */
static tarn_status put_back_hint(expiry *x, int64_t was, tarn_error *err) {
  tn_table *t = x->work.table;
  int64_t now;
  TN_TRY(tn_snapshot_earliest_hint(t->env, t->storage, x->root, &now, err));
  return now == x->end && was < now
             ? tn_hint_write(t->storage, x->root, "snapshot", "EARLIEST", was, err)
             : TARN_OK;
}

/* Java replaces snapshots that have just come (docs/decisions/0013): the one that stays may be the
 * latest. A rollback holds the lock from its look at EARLIEST to its end: what begins from now on
 * sees it; what was before has left its traces. was: what EARLIEST was before it was moved. */
static tarn_status check_rollback(expiry *x, int64_t was, tarn_error *err) {
  tn_storage *storage = x->work.table->storage;
  const char *folder = tn_path_join(&x->work.arena, x->root, "snapshot", NULL), *end;
  bool is_same;
  tarn_status st;
  int lock;
  if (folder == NULL) {
    return tn_oom(err);
  }
  TN_TRY(numbered_path(x, "snapshot", x->end, &end, err));
  (void)tn_rivals_wait(storage, folder, x->end, end, x->request->cancel);
  lock = lock_names(x, folder);
  st = look_at_end(x, &is_same, err);
  if (st == TARN_OK && !is_same) {
    st = put_back_hint(x, was, err);
    st = st == TARN_OK ? tell_rollback(x, err) : st;
  }
  tn_storage_unlock_folder(storage, lock);
  return st;
}

/* ------------------------------------------------------------------ snapshots */

static tarn_status plan_snapshots(expiry *x, tarn_error *err) {
  bool has_changelog = x->work.table->facts.changelog_producer != TN_CHANGELOG_NONE;
  bool delta_is_changelog = x->keeps_changelogs && !has_changelog;
  const tn_meta_sweep which = {
      .states = !delta_is_changelog, .changelog = !x->keeps_changelogs, .others = true};
  TN_TRY(keep_tags(x, x->begin + 1, false, err));
  TN_TRY(tell_branches(x, &x->branches, err));
  TN_TRY(tn_kept_others(&x->work.kept, x->root, err));
  if (!x->keeps_changelogs) { /* left from times when they were kept */
    TN_TRY(tn_kept_changelogs(&x->work.kept, x->root, err));
  }
  TN_TRY(tn_kept_metas(&x->work.kept, &x->end_snapshot, err));
  for (int32_t i = 1; i <= x->n_going; i++) {
    const tn_snapshot *s = i < x->n_going ? &x->going[i] : &x->end_snapshot;
    TN_TRY(tn_cancel_check(x->request->cancel, err));
    TN_TRY(tn_sweep_deleted(&x->work.files, &x->work.kept, s, delta_is_changelog, err));
  }
  for (int32_t i = 0; i < x->n_going && !x->keeps_changelogs; i++) {
    if (x->going[i].changelog_manifest_list != NULL) {
      TN_TRY(tn_sweep_changelog(&x->work.files, &x->work.kept, &x->going[i], err));
    }
  }
  for (int32_t i = 0; i < x->n_going; i++) {
    TN_TRY(tn_sweep_metas(&x->work.metas, &x->work.kept, &x->going[i], which, err));
  }
  return TARN_OK;
}

/* The snapshot's own bytes become the changelog. */
static tarn_status store_changelog(expiry *x, int64_t id, tarn_error *err) {
  const char *from, *to;
  tarn_status st;
  tn_buf bytes;
  TN_TRY(numbered_path(x, "snapshot", id, &from, err));
  TN_TRY(numbered_path(x, "changelog", id, &to, err));
  tn_buf_init(&bytes, &x->work.table->env->mem, SNAPSHOT_LIMIT);
  st = tn_storage_read_all(x->work.table->storage, from, &bytes, err);
  if (st == TARN_E_NOT_FOUND) { /* somebody else does the same */
    tn_error_reset(err);
    st = TARN_OK;
    goto done;
  }
  TN_TRY_TO(done, st);
  TN_TRY_TO(done, tn_storage_replace(x->work.table->storage, to, tn_buf_slice(&bytes), true, err));
  TN_TRY_TO(done, tn_hint_write(x->work.table->storage, x->root, "changelog", "LATEST", id, err));
done:
  tn_buf_reset(&bytes);
  return st;
}

/* Not while a commit looks whether the name that it takes is the next; nor those that have come
 * with a branch since. */
static tarn_status remove_names(expiry *x, tarn_error *err) {
  tn_storage *storage = x->work.table->storage;
  const char *folder = tn_path_join(&x->work.arena, x->root, "snapshot", NULL), *path;
  tarn_status st;
  bool is_same;
  int lock;
  if (folder == NULL) {
    return tn_oom(err);
  }
  lock = lock_names(x, folder);
  st = look_at_end(x, &is_same, err);
  if (st == TARN_OK && !is_same) {
    st = tell_rollback(x, err);
  }
  for (int32_t i = 0; i < x->n_going && st == TARN_OK; i++) {
    st = numbered_path(x, "snapshot", x->going[i].id, &path, err);
    st = st == TARN_OK ? tn_storage_remove(storage, path, err) : st;
  }
  tn_storage_unlock_folder(storage, lock);
  return st;
}

static tarn_status remove_snapshots(expiry *x, tarn_error *err) {
  for (int32_t i = 0; i < x->n_going && x->keeps_changelogs; i++) {
    TN_TRY(store_changelog(x, x->going[i].id, err));
  }
  return remove_names(x, err);
}

static tarn_status carry_out(expiry *x, tarn_error *err) {
  TN_TRY(tn_sweep_run(&x->work.files, x->request->cancel, err));
  if (x->cleans_folders) {
    TN_TRY(tn_sweep_folders(&x->work.files, err));
  }
  return tn_sweep_run(&x->work.metas, x->request->cancel, err);
}

/* EARLIEST is missing: whoever reads next shall not have to list. */
static tarn_status ensure_hint(expiry *x, tarn_error *err) {
  const char *path = tn_path_join(&x->work.arena, x->root, "snapshot", "EARLIEST", NULL);
  tn_file_info info;
  tarn_status st;
  if (path == NULL) {
    return tn_oom(err);
  }
  st = tn_storage_info(x->work.table->storage, path, &info, err);
  if (st == TARN_E_NOT_FOUND) {
    tn_error_reset(err);
    st = tn_hint_write(x->work.table->storage, x->root, "snapshot", "EARLIEST", x->begin, err);
  }
  return st;
}

/* On a disk that is full the hint may have no room but its own, and nothing else would make room:
 * without it whoever reads lists, and nothing is gone yet. */
static tarn_status write_hint(expiry *x, tarn_error *err) {
  tn_storage *storage = x->work.table->storage;
  tarn_status st = tn_hint_write(storage, x->root, "snapshot", "EARLIEST", x->end, err);
  if (st == TARN_E_IO &&
      tn_hint_remove(storage, x->root, "snapshot", "EARLIEST", NULL) == TARN_OK) {
    tn_error_reset(err);
    st = tn_hint_write(storage, x->root, "snapshot", "EARLIEST", x->end, err);
  }
  return st;
}

/* EARLIEST moves before the first file goes (X2), and not back behind another expiry. *was: what it
 * was before. Consumers are looked at once more: to find out what has to stay takes its time. */
static tarn_status move_hint(expiry *x, int64_t *was, tarn_error *err) {
  tn_table *t = x->work.table;
  const char *folder = tn_path_join(&x->work.arena, x->root, "snapshot", NULL);
  int64_t end = x->end;
  tarn_status st;
  int lock;
  TN_TRY(x->consumers_of_changelogs_only ? TARN_OK : cap_by_consumers(x, &end, err));
  if (end < x->end) {
    return tn_fail(err, TARN_E_CONFLICT,
                   "nothing expires this time: a consumer of table %s has come meanwhile",
                   t->full_name);
  }
  if (folder == NULL) {
    return tn_oom(err);
  }
  lock = lock_names(x, folder);
  st = tn_snapshot_earliest_id(t->env, t->storage, x->root, was, err);
  if (st == TARN_OK && *was <= x->end) {
    st = write_hint(x, err);
  }
  tn_storage_unlock_folder(t->storage, lock);
  return st;
}

static tarn_status find_snapshots(expiry *x, bool *has_range, tarn_error *err) {
  tn_table *t = x->work.table;
  int64_t *ids, latest, first, end;
  int32_t n_ids;
  *has_range = false;
  TN_TRY(tn_snapshot_latest_id(t->env, t->storage, x->root, &latest, err));
  TN_TRY(
      tn_snapshot_ids(t->env, t->storage, x->root, "snapshot", &x->work.arena, &ids, &n_ids, err));
  if (latest == 0 || n_ids == 0) {
    return TARN_OK;
  }
  TN_TRY(check_retention(&x->snapshots, err));
  /* As listed: below EARLIEST there may be what a run that was cut off has left. */
  x->begin = ids[0];
  first = latest - x->snapshots.max + 1 > x->begin ? latest - x->snapshots.max + 1 : x->begin;
  end = latest - x->snapshots.min + 1;
  if (!x->consumers_of_changelogs_only) {
    TN_TRY(cap_by_consumers(x, &end, err));
  }
  if (end > limited_sum(x->begin, x->max_deletes)) {
    end = x->begin + x->max_deletes;
  }
  TN_TRY(cap_by_age(x, ids, n_ids, false, first, &end, err));
  if (end <= x->begin) {
    return x->request->is_dry ? TARN_OK : ensure_hint(x, err);
  }
  x->end = end;
  return collect(x, ids, n_ids, false, has_range, err);
}

static tarn_status expire_snapshots(expiry *x, int64_t *n_expired, tarn_error *err) {
  tn_table *t = x->work.table;
  bool has_range;
  int64_t was;
  TN_TRY(load_settings(x, err));
  TN_TRY(find_snapshots(x, &has_range, err));
  if (!has_range || x->n_going == 0) {
    return TARN_OK;
  }
  *n_expired = x->n_going;
  if (x->request->is_dry) {
    return TARN_OK;
  }
  TN_TRY(plan_snapshots(x, err));
  TN_TRY(move_hint(x, &was, err));
  TN_TRY(check_newcomers(x, err));
  TN_TRY(check_rollback(x, was, err));
  TN_TRY(carry_out(x, err));
  TN_TRY(remove_snapshots(x, err));
  tn_log(t->env, TARN_LOG_INFO, "event=snapshots_expired table=%s from=%lld to=%lld files=%zu",
         t->full_name, (long long)x->going[0].id, (long long)x->end - 1,
         x->work.files.paths.count + x->work.metas.paths.count);
  return TARN_OK;
}

tarn_status tn_expire_snapshots(tn_table *table, const tn_expire_request *request,
                                int64_t *n_expired, tarn_error *err) {
  int64_t n = 0;
  expiry x;
  tarn_status st = TARN_E_CONFLICT;
  /* Another expiry, a tag, a branch or a rollback came in between: look again at what there is. */
  for (int i = 0; i < MAX_ATTEMPTS && (st == TARN_E_CONFLICT || st == TARN_E_NOT_FOUND); i++) {
    n = 0;
    tn_error_reset(err);
    expiry_init(&x, table, request);
    st = expire_snapshots(&x, &n, err);
    tn_clearing_reset(&x.work);
  }
  if (n_expired != NULL) {
    *n_expired = st == TARN_OK ? n : 0;
  }
  return st;
}

/* ------------------------------------------------------------------ changelogs */

static tarn_status find_changelogs(expiry *x, bool *has_range, tarn_error *err) {
  tn_table *t = x->work.table;
  int64_t *ids, latest, first, end;
  int32_t n_ids;
  *has_range = false;
  TN_TRY(tn_snapshot_latest_id(t->env, t->storage, x->root, &latest, err));
  TN_TRY(
      tn_snapshot_ids(t->env, t->storage, x->root, "changelog", &x->work.arena, &ids, &n_ids, err));
  if (latest == 0 || n_ids == 0) {
    return TARN_OK;
  }
  TN_TRY(check_retention(&x->changelogs, err));
  x->begin = ids[0];
  first = latest - x->changelogs.max + 1 > x->begin ? latest - x->changelogs.max + 1 : x->begin;
  end = latest - x->changelogs.min + 1;
  TN_TRY(cap_by_consumers(x, &end, err));
  if (end > limited_sum(x->begin, x->max_deletes)) {
    end = x->begin + x->max_deletes;
  }
  end = end < ids[n_ids - 1] ? end : ids[n_ids - 1];
  if (end < x->begin) {
    return TARN_OK;
  }
  TN_TRY(cap_by_age(x, ids, n_ids, true, first, &end, err));
  x->end = end;
  return collect(x, ids, n_ids, true, has_range, err);
}

static tarn_status keep_for_changelogs(expiry *x, tarn_error *err) {
  tn_table *t = x->work.table;
  tn_snapshot earliest;
  int64_t id;
  bool found;
  TN_TRY(keep_tags(x, x->begin, true, err));
  TN_TRY(tn_kept_others(&x->work.kept, x->root, err));
  TN_TRY(tn_kept_metas_left(&x->work.kept, &x->end_snapshot, err));
  TN_TRY(tn_snapshot_earliest_id(t->env, t->storage, x->root, &id, err));
  TN_TRY(read_numbered(x, false, id, &earliest, &found, err));
  return found ? tn_kept_metas_left(&x->work.kept, &earliest, err)
               : tn_fail(err, TARN_E_NOT_FOUND,
                         "no changelog expires: the earliest snapshot %lld of table %s is gone",
                         (long long)id, t->full_name);
}

/* Each changelog with all that is its own, then the next one. */
static tarn_status expire_changelog(expiry *x, const tn_snapshot *s, tarn_error *err) {
  bool has_list = s->changelog_manifest_list != NULL;
  const tn_meta_sweep which = {.states = !has_list, .changelog = has_list};
  const char *path;
  TN_TRY(has_list ? tn_sweep_changelog(&x->work.files, &x->work.kept, s, err)
                  : tn_sweep_deleted(&x->work.files, &x->work.kept, s, false, err));
  TN_TRY(tn_sweep_metas(&x->work.metas, &x->work.kept, s, which, err));
  TN_TRY(numbered_path(x, "changelog", s->id, &path, err));
  return tn_sweep_path(&x->work.metas, path, err);
}

static tarn_status expire_changelogs(expiry *x, int64_t *n_expired, tarn_error *err) {
  bool has_range;
  TN_TRY(load_settings(x, err));
  if (!x->keeps_changelogs) {
    return TARN_OK;
  }
  TN_TRY(find_changelogs(x, &has_range, err));
  *n_expired = x->n_going;
  if (!has_range || x->request->is_dry) {
    return TARN_OK;
  }
  if (x->n_going > 0) {
    TN_TRY(keep_for_changelogs(x, err));
  }
  for (int32_t i = 0; i < x->n_going; i++) {
    TN_TRY(expire_changelog(x, &x->going[i], err));
  }
  TN_TRY(tn_hint_write(x->work.table->storage, x->root, "changelog", "EARLIEST", x->end, err));
  return carry_out(x, err);
}

tarn_status tn_expire_changelogs(tn_table *table, const tn_expire_request *request,
                                 int64_t *n_expired, tarn_error *err) {
  int64_t n = 0;
  expiry x;
  tarn_status st;
  expiry_init(&x, table, request);
  st = expire_changelogs(&x, &n, err);
  if (n_expired != NULL) {
    *n_expired = st == TARN_OK ? n : 0;
  }
  tn_clearing_reset(&x.work);
  return st;
}
