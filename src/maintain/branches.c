/* branches.c - branches made, deleted, renamed, and followed. */
#include "maintain/branches.h"

#include "maintain/kept.h"
#include "maintain/names.h"
#include "maintain/tags.h"
#include "model/listing.h"
#include "model/snapshot_write.h"

#define ARENA_LIMIT ((size_t)1 << 30)
#define FILE_LIMIT ((size_t)256 << 20)

/* ------------------------------------------------------------------ names, paths */

static tarn_status check_new_name(const char *name, tarn_error *err) {
  if (strcmp(name, "main") == 0) {
    return tn_fail(err, TARN_E_INVALID,
                   "Branch name 'main' is the default branch and cannot be used.");
  }
  if (tn_name_is_blank(name)) {
    return tn_fail(err, TARN_E_INVALID, "Branch name '%s' is blank.", name);
  }
  if (name[strspn(name, "0123456789")] == '\0') {
    return tn_fail(err, TARN_E_INVALID, "Branch name cannot be pure numeric string but is '%s'.",
                   name);
  }
  return tn_name_check("branch", name, err);
}

static tarn_status branch_root(const tn_table *table, tn_arena *arena, const char *name,
                               const char **out, tarn_error *err) {
  *out = tn_arena_printf(arena, "%s/branch/branch-%s", table->path, name);
  return *out != NULL ? TARN_OK : tn_oom(err);
}

/* Is there such a folder or file? */
static tarn_status is_there(tn_table *table, const char *path, bool *out, tarn_error *err) {
  tn_file_info info;
  tarn_status st = tn_storage_info(table->storage, path, &info, err);
  *out = st == TARN_OK;
  if (st == TARN_E_NOT_FOUND) {
    tn_error_reset(err);
    st = TARN_OK;
  }
  return st;
}

static tarn_status require_branch(tn_table *table, tn_arena *arena, const char *name,
                                  const char **root, tarn_error *err) {
  bool exists = false;
  if (strchr(name, '/') == NULL && !tn_name_is_blank(name)) {
    TN_TRY(branch_root(table, arena, name, root, err));
    TN_TRY(is_there(table, *root, &exists, err));
  }
  return exists ? TARN_OK : tn_fail(err, TARN_E_NOT_FOUND, "Branch name '%s' doesn't exist.", name);
}

/* A name beside the branches that none of them has. */
static tarn_status hidden_root(tn_table *table, tn_arena *arena, const char *name, const char **out,
                               tarn_error *err) {
  char uuid[TN_UUID_CHARS + 1];
  TN_TRY(tn_env_uuid(table->env, uuid, err));
  *out = tn_arena_printf(arena, "%s/branch/.branch-%s.%s.tmp", table->path, name, uuid);
  return *out != NULL ? TARN_OK : tn_oom(err);
}

/* ------------------------------------------------------------------ copying */

/* *found NULL: a source that is not there is an error. */
static tarn_status copy_file(tn_table *table, const char *from, const char *to, bool *found,
                             tarn_error *err) {
  tarn_status st;
  tn_buf bytes;
  tn_buf_init(&bytes, &table->env->mem, FILE_LIMIT);
  st = tn_storage_read_all(table->storage, from, &bytes, err);
  if (found != NULL) {
    *found = st == TARN_OK;
    if (st == TARN_E_NOT_FOUND) {
      tn_error_reset(err);
      st = TARN_OK;
      goto done;
    }
  }
  TN_TRY_TO(done, st);
  TN_TRY_TO(done, tn_storage_replace(table->storage, to, tn_buf_slice(&bytes), true, err));
done:
  tn_buf_reset(&bytes);
  return st;
}

/* <from>/<part> to <to>/<part>. */
static tarn_status copy_part(tn_table *table, tn_arena *arena, const char *from, const char *to,
                             const char *part, bool *found, tarn_error *err) {
  const char *source = tn_path_join(arena, from, part, NULL);
  const char *target = tn_path_join(arena, to, part, NULL);
  if (source == NULL || target == NULL || part == NULL) {
    return tn_oom(err);
  }
  return copy_file(table, source, target, found, err);
}

static tarn_status copy_schemas(tn_table *table, tn_arena *arena, const char *from, const char *to,
                                int64_t first, int64_t last, tarn_error *err) {
  int64_t *ids;
  int32_t n;
  TN_TRY(tn_schema_ids(table->env, table->storage, from, arena, &ids, &n, err));
  for (int32_t i = 0; i < n; i++) {
    if (ids[i] >= first && ids[i] <= last) {
      TN_TRY(copy_part(table, arena, from, to,
                       tn_arena_printf(arena, "schema/schema-%lld", (long long)ids[i]), NULL, err));
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ create */

/* The snapshot of the tag; written from the tag when it has expired or begins to (its changelog
 * goes then), or another one has its number now: the tag does not keep that. */
static tarn_status copy_tagged(tn_table *t, tn_arena *arena, const char *tag, const char *to,
                               const tn_snapshot *s, tarn_error *err) {
  const char *part = tn_arena_printf(arena, "snapshot/snapshot-%lld", (long long)s->id), *path;
  bool is_whole, found = false;
  tarn_status st = TARN_OK;
  tn_buf json;
  TN_TRY(copy_part(t, arena, t->branch_path, to, tn_arena_printf(arena, "tag/tag-%s", tag), NULL,
                   err));
  TN_TRY(tn_snapshot_is_whole(t, s, arena, &is_whole, err));
  TN_TRY(is_whole ? copy_part(t, arena, t->branch_path, to, part, &found, err) : TARN_OK);
  if (found) {
    return TARN_OK;
  }
  path = tn_path_join(arena, to, part, NULL);
  if (path == NULL) {
    return tn_oom(err);
  }
  tn_buf_init(&json, &t->env->mem, FILE_LIMIT);
  TN_TRY_TO(done, tn_tag_encode_snapshot(t, s, &json, err));
  TN_TRY_TO(done, tn_storage_publish(t->storage, path, tn_buf_slice(&json), err));
done:
  tn_buf_reset(&json);
  return st;
}

static tarn_status fill_branch(tn_table *t, tn_arena *arena, const char *tag, const char *to,
                               tarn_error *err) {
  int64_t last = INT64_MAX;
  tn_snapshot s;
  if (tag != NULL) {
    TN_TRY(tn_tag_read(t->env, t->storage, t->branch_path, tag, arena, &s, err));
    TN_TRY(copy_tagged(t, arena, tag, to, &s, err));
    last = s.schema_id;
  }
  return copy_schemas(t, arena, t->branch_path, to, 0, last, err);
}

/* Whoever deletes a tag looks for branches afterwards, and deletes what none has: nothing keeps the
 * files of one that comes too late. */
static tarn_status check_tag(tn_table *t, tn_arena *arena, const char *name, const char *tag,
                             const char *root, const char *hidden, tarn_error *err) {
  const char *path =
      tn_arena_printf(arena, "%s/tag/tag-%s", t->branch_path, tag != NULL ? tag : "");
  bool exists;
  if (tag == NULL) {
    return TARN_OK;
  }
  TN_TRY(path != NULL ? is_there(t, path, &exists, err) : tn_oom(err));
  if (exists) {
    return TARN_OK;
  }
  TN_TRY(tn_storage_rename(t->storage, root, hidden, err));
  TN_TRY(tn_storage_remove_tree(t->storage, hidden, err));
  return tn_fail(err, TARN_E_NOT_FOUND,
                 "branch '%s' was not created: tag '%s' has been deleted meanwhile", name, tag);
}

static tarn_status create_branch(tn_table *t, tn_arena *arena, const char *name, const char *tag,
                                 tarn_error *err) {
  const char *root, *hidden, *folder = tn_path_join(arena, t->path, "branch", NULL);
  bool exists;
  tarn_status st;
  TN_TRY(folder != NULL ? branch_root(t, arena, name, &root, err) : tn_oom(err));
  TN_TRY(is_there(t, root, &exists, err));
  if (exists) {
    return tn_fail(err, TARN_E_EXISTS, "Branch name '%s' already exists.", name);
  }
  TN_TRY(hidden_root(t, arena, name, &hidden, err));
  TN_TRY_TO(undo, fill_branch(t, arena, tag, hidden, err));
  st = tn_storage_rename(t->storage, hidden, root, err);
  if (st == TARN_E_EXISTS) {
    st = tn_fail(err, st, "Branch name '%s' already exists.", name);
  }
undo:
  if (st != TARN_OK) {
    tarn_status ignored = tn_storage_remove_tree(t->storage, hidden, NULL);
    (void)ignored;
    return st;
  }
  TN_TRY(check_tag(t, arena, name, tag, root, hidden, err));
  return tn_storage_sync_folder(t->storage, folder, err);
}

tarn_status tn_branch_create(tn_table *table, const char *name, const char *tag, tarn_error *err) {
  tarn_status st;
  tn_arena arena;
  TN_TRY(check_new_name(name, err));
  tn_arena_init(&arena, &table->env->mem, ARENA_LIMIT);
  st = create_branch(table, &arena, name, tag, err);
  tn_arena_reset(&arena);
  return st;
}

/* ------------------------------------------------------------------ delete, rename */

static tarn_status check_unused(const tn_table *table, const char *name, tarn_error *err) {
  static const char *const keys[] = {"scan.fallback-branch", "scan.primary-branch"};
  for (size_t i = 0; i < TN_COUNT(keys); i++) {
    const char *value = tn_options_get(&table->options, keys[i]);
    if (value != NULL && strcmp(value, name) == 0) {
      return tn_fail(err, TARN_E_INVALID,
                     "Cannot delete branch '%s' because it is configured as '%s'. Unset '%s' "
                     "first.",
                     name, keys[i], keys[i]);
    }
  }
  return TARN_OK;
}

tarn_status tn_branch_delete(tn_table *table, const char *name, tarn_error *err) {
  const char *root, *hidden;
  tarn_status st = TARN_OK;
  tn_arena arena;
  TN_TRY(check_unused(table, name, err));
  tn_arena_init(&arena, &table->env->mem, ARENA_LIMIT);
  TN_TRY_TO(done, require_branch(table, &arena, name, &root, err));
  TN_TRY_TO(done, hidden_root(table, &arena, name, &hidden, err));
  TN_TRY_TO(done, tn_storage_rename(table->storage, root, hidden, err));
  TN_TRY_TO(done, tn_storage_remove_tree(table->storage, hidden, err));
done:
  tn_arena_reset(&arena);
  return st;
}

tarn_status tn_branch_rename(tn_table *table, const char *from, const char *to, tarn_error *err) {
  const char *source, *target;
  tarn_status st = TARN_OK;
  tn_arena arena;
  if (strcmp(from, "main") == 0) {
    return tn_fail(err, TARN_E_INVALID, "Cannot rename the main branch.");
  }
  TN_TRY(check_new_name(to, err));
  tn_arena_init(&arena, &table->env->mem, ARENA_LIMIT);
  TN_TRY_TO(done, require_branch(table, &arena, from, &source, err));
  TN_TRY_TO(done, branch_root(table, &arena, to, &target, err));
  st = tn_storage_rename(table->storage, source, target, err);
  if (st == TARN_E_EXISTS) {
    st = tn_fail(err, st, "Branch name '%s' already exists.", to);
  }
done:
  tn_arena_reset(&arena);
  return st;
}

/* ------------------------------------------------------------------ fast-forward */

typedef struct forward {
  tn_table *table;
  tn_arena arena;
  const char *root, *branch; /* what becomes the branch; the branch */
  int64_t *snapshots;        /* of the branch */
  int32_t n_snapshots;
  int64_t first_schema;
} forward;

static tarn_status remove_part(forward *f, const char *part, tarn_error *err) {
  const char *path = part != NULL ? tn_path_join(&f->arena, f->root, part, NULL) : NULL;
  return path != NULL ? tn_storage_remove(f->table->storage, path, err) : tn_oom(err);
}

/* From the latest down, so that at each moment an older state is the latest. */
static tarn_status remove_snapshots(forward *f, tarn_error *err) {
  int64_t *ids;
  int32_t n;
  TN_TRY(tn_snapshot_ids(f->table->env, f->table->storage, f->root, "snapshot", &f->arena, &ids, &n,
                         err));
  for (int32_t i = n - 1; i >= 0 && ids[i] >= f->snapshots[0]; i--) {
    TN_TRY(remove_part(f, tn_arena_printf(&f->arena, "snapshot/snapshot-%lld", (long long)ids[i]),
                       err));
  }
  return TARN_OK;
}

static tarn_status remove_tags(forward *f, tarn_error *err) {
  tn_tag *tags;
  int32_t n;
  TN_TRY(tn_tags_load(f->table, f->root, &f->arena, &tags, &n, err));
  for (int32_t i = n - 1; i >= 0 && tags[i].snapshot.id >= f->snapshots[0]; i--) {
    TN_TRY(remove_part(f, tn_arena_printf(&f->arena, "tag/tag-%s", tags[i].name), err));
  }
  return TARN_OK;
}

/* Replaced, never missing: a table without schema would be none. */
static tarn_status replace_schemas(forward *f, tarn_error *err) {
  tn_table *t = f->table;
  int64_t *own, *theirs;
  int32_t n_own, n_theirs;
  TN_TRY(tn_schema_ids(t->env, t->storage, f->branch, &f->arena, &theirs, &n_theirs, err));
  TN_TRY(copy_schemas(t, &f->arena, f->branch, f->root, 0, INT64_MAX, err));
  TN_TRY(tn_schema_ids(t->env, t->storage, f->root, &f->arena, &own, &n_own, err));
  for (int32_t i = n_own - 1; i >= 0 && own[i] > theirs[n_theirs - 1]; i--) {
    if (own[i] >= f->first_schema) {
      TN_TRY(
          remove_part(f, tn_arena_printf(&f->arena, "schema/schema-%lld", (long long)own[i]), err));
    }
  }
  return TARN_OK;
}

static tarn_status copy_snapshots(forward *f, tarn_error *err) {
  for (int32_t i = 0; i < f->n_snapshots; i++) {
    TN_TRY(
        copy_part(f->table, &f->arena, f->branch, f->root,
                  tn_arena_printf(&f->arena, "snapshot/snapshot-%lld", (long long)f->snapshots[i]),
                  NULL, err));
  }
  return TARN_OK;
}

static tarn_status copy_tags(forward *f, tarn_error *err) {
  const char **names;
  int32_t n;
  TN_TRY(tn_tag_names(f->table->env, f->table->storage, f->branch, &f->arena, &names, &n, err));
  for (int32_t i = 0; i < n; i++) {
    TN_TRY(copy_part(f->table, &f->arena, f->branch, f->root,
                     tn_arena_printf(&f->arena, "tag/tag-%s", names[i]), NULL, err));
  }
  return TARN_OK;
}

/* Those that the branch has, as they are. */
static tarn_status copy_hints(forward *f, tarn_error *err) {
  bool found;
  TN_TRY(copy_part(f->table, &f->arena, f->branch, f->root, "snapshot/EARLIEST", &found, err));
  return copy_part(f->table, &f->arena, f->branch, f->root, "snapshot/LATEST", &found, err);
}

static tarn_status find_branch(forward *f, const char *name, tarn_error *err) {
  tn_table *t = f->table;
  tn_snapshot first;
  int64_t earliest;
  if (strcmp(name, "main") == 0) {
    return tn_fail(err, TARN_E_INVALID, "Branch name 'main' do not use in fast-forward.");
  }
  if (tn_name_is_blank(name)) {
    return tn_fail(err, TARN_E_INVALID, "Branch name '%s' is blank.", name);
  }
  if (strcmp(name, t->branch) == 0) {
    return tn_fail(err, TARN_E_INVALID, "Fast-forward from the current branch '%s' is not allowed.",
                   name);
  }
  f->root = t->branch_path;
  TN_TRY(require_branch(t, &f->arena, name, &f->branch, err));
  TN_TRY(tn_snapshot_ids(t->env, t->storage, f->branch, "snapshot", &f->arena, &f->snapshots,
                         &f->n_snapshots, err));
  if (f->n_snapshots == 0) {
    return tn_fail(err, TARN_E_STATE,
                   "Cannot fast forward branch %s, because it does not have snapshot.", name);
  }
  /* What is below has begun to expire. */
  TN_TRY(tn_snapshot_earliest_id(t->env, t->storage, f->branch, &earliest, err));
  while (f->n_snapshots > 1 && f->snapshots[0] < earliest) {
    f->snapshots++;
    f->n_snapshots--;
  }
  TN_TRY(tn_snapshot_read(t->env, t->storage, f->branch, f->snapshots[0], &f->arena, &first, err));
  f->first_schema = first.schema_id;
  return TARN_OK;
}

static tarn_status follow(forward *f, const char *name, tarn_error *err) {
  TN_TRY(find_branch(f, name, err)); /* as it is under the lock */
  TN_TRY(tn_hint_remove(f->table->storage, f->root, "snapshot", "LATEST", err));
  TN_TRY(remove_tags(f, err));
  TN_TRY(remove_snapshots(f, err));
  TN_TRY(replace_schemas(f, err));
  TN_TRY(copy_snapshots(f, err));
  TN_TRY(copy_tags(f, err));
  return copy_hints(f, err);
}

/* Not while commits take names in the one or the other, or expiries give them up. The locks by the
 * order of their names: two branches may be about to become each other. */
static tarn_status fast_forward(forward *f, const char *name, tarn_error *err) {
  tn_storage *storage = f->table->storage;
  const char *own, *theirs;
  tarn_status st;
  bool is_own_first;
  int locks[2];
  TN_TRY(find_branch(f, name, err));
  own = tn_path_join(&f->arena, f->root, "snapshot", NULL);
  theirs = tn_path_join(&f->arena, f->branch, "snapshot", NULL);
  if (own == NULL || theirs == NULL) {
    return tn_oom(err);
  }
  is_own_first = strcmp(own, theirs) < 0;
  locks[0] = tn_storage_lock_folder(storage, is_own_first ? own : theirs);
  locks[1] = tn_storage_lock_folder(storage, is_own_first ? theirs : own);
  st = follow(f, name, err);
  tn_storage_unlock_folder(storage, locks[1]);
  tn_storage_unlock_folder(storage, locks[0]);
  return st;
}

tarn_status tn_branch_fast_forward(tn_table *table, const char *name, tarn_error *err) {
  forward f = {.table = table};
  tarn_status st;
  tn_arena_init(&f.arena, &table->env->mem, ARENA_LIMIT);
  st = fast_forward(&f, name, err);
  tn_arena_reset(&f.arena);
  return st;
}
