/* tags.c - tags made, deleted, renamed, expired. */
#include "maintain/tags.h"

#include <stdlib.h>

#include "maintain/names.h"
#include "maintain/success_file.h"
#include "maintain/sweep.h"
#include "maintain/tags_internal.h"
#include "model/listing.h"
#include "model/snapshot_write.h"

#define ARENA_LIMIT ((size_t)1 << 30)
#define TAG_LIMIT ((size_t)16 << 20)
#define HIDDEN_PREFIX ".tag-"
#define HIDDEN_SUFFIX ".deleted"
#define MAX_TRIES 5

/* ------------------------------------------------------------------ loading */

static int compare_tags(const void *a, const void *b) {
  const tn_tag *x = a, *y = b;
  if (x->snapshot.id != y->snapshot.id) {
    return x->snapshot.id < y->snapshot.id ? -1 : 1;
  }
  return strcmp(x->name, y->name);
}

tarn_status tn_tags_load(tn_table *table, const char *root, tn_arena *arena, tn_tag **out,
                         int32_t *n_out, tarn_error *err) {
  const char **names;
  int32_t n;
  *n_out = 0;
  TN_TRY(tn_tag_names(table->env, table->storage, root, arena, &names, &n, err));
  *out = tn_arena_calloc(arena, (size_t)n + 1, sizeof(**out));
  if (*out == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < n; i++) {
    tn_tag *tag = &(*out)[*n_out];
    tarn_status st =
        tn_tag_read(table->env, table->storage, root, names[i], arena, &tag->snapshot, err);
    tag->name = names[i];
    if (st == TARN_E_NOT_FOUND) {
      tn_error_reset(err);
      continue;
    }
    TN_TRY(st);
    ++*n_out;
  }
  qsort(*out, (size_t)*n_out, sizeof(**out), compare_tags);
  return TARN_OK;
}

tarn_status tn_tag_encode_snapshot(tn_table *table, const tn_snapshot *tag, tn_buf *out,
                                   tarn_error *err) {
  tn_snapshot s = *tag;
  tn_list list = {0};
  tarn_status st;
  tn_arena arena;
  s.has_tag_create = s.has_tag_retained = false;
  tn_arena_init(&arena, &table->env->mem, ARENA_LIMIT);
  TN_TRY_TO(done, tn_list_read(table, s.changelog_manifest_list, s.changelog_manifest_list_size,
                               &arena, &list, err));
  if (list.is_gone) {
    s.changelog_manifest_list = NULL;
    s.has_changelog_record_count = false;
  }
  TN_TRY_TO(done, tn_snapshot_encode(&s, out, err));
done:
  tn_arena_reset(&arena);
  return st;
}

tarn_status tn_tags_keep(tn_table *t, const tn_snapshot *s, const char *but, tn_arena *arena,
                         bool *out, tarn_error *err) {
  tn_tag *tags;
  int32_t n;
  TN_TRY(tn_tags_load(t, t->branch_path, arena, &tags, &n, err));
  *out = false;
  for (int32_t i = 0; i < n && !*out; i++) {
    *out = tn_snapshot_is_same(&tags[i].snapshot, s) &&
           (but == NULL || strcmp(tags[i].name, but) != 0);
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ creating */

static tarn_status tag_path(const tn_table *table, tn_arena *arena, const char *name,
                            const char **out, tarn_error *err) {
  *out = tn_arena_printf(arena, "%s/tag/tag-%s", table->branch_path, name);
  return *out != NULL ? TARN_OK : tn_oom(err);
}

/* tag.create-success-file: a file beside the tags says that this one is complete. */
static tarn_status success_path(const tn_table *table, tn_arena *arena, const char *name,
                                const char **out, tarn_error *err) {
  bool is_asked;
  *out = NULL;
  TN_TRY(tn_options_bool(&table->options, "tag.create-success-file", &is_asked, err));
  if (is_asked) {
    *out = tn_arena_printf(arena, "%s/tag/tag-success-file/%s_SUCCESS", table->branch_path, name);
    return *out != NULL ? TARN_OK : tn_oom(err);
  }
  return TARN_OK;
}

static int64_t local_now(const tarn_env *env) {
  int64_t now = tn_env_now_ms(env);
  return now + (int64_t)tn_zone_offset_at(env->zone, now / 1000) * 1000;
}

/* Milliseconds; negative: for ever. */
static tarn_status retention_of(const tn_table *table, int64_t asked_ms, int64_t *out,
                                tarn_error *err) {
  bool is_set = true;
  *out = asked_ms;
  if (asked_ms == TN_TAG_RETAINED_BY_OPTION) {
    TN_TRY(tn_options_int(&table->options, "tag.default-time-retained", out, &is_set, err));
  }
  *out = is_set ? *out : TN_TAG_RETAINED_FOREVER;
  return *out <= INT64_MAX / 1000000
             ? TARN_OK
             : tn_fail(err, TARN_E_INVALID, "a tag cannot be retained for %lld ms",
                       (long long)*out);
}

/* *is_new: the name was free. */
static tarn_status write_tag(tn_table *table, const tn_tag_request *request,
                             const tn_snapshot *snapshot, const char *path, bool *is_new,
                             tarn_error *err) {
  int64_t retained_ms;
  tn_snapshot tag = *snapshot;
  tarn_status st = TARN_OK;
  tn_buf json;
  *is_new = false;
  tn_buf_init(&json, &table->env->mem, TAG_LIMIT);
  TN_TRY_TO(done, retention_of(table, request->retained_ms, &retained_ms, err));
  tag.has_tag_create = tag.has_tag_retained = retained_ms >= 0;
  tag.tag_create_ms = local_now(table->env);
  tag.tag_retained_ns = retained_ms * 1000000;
  TN_TRY_TO(done, tn_snapshot_encode(&tag, &json, err));
  st = tn_storage_publish(table->storage, path, tn_buf_slice(&json), err);
  *is_new = st == TARN_OK;
  if (st == TARN_E_EXISTS) {
    tn_error_reset(err);
    st = request->leaves_taken
             ? TARN_OK
             : tn_fail(err, TARN_E_EXISTS, "Tag '%s' already exists.", request->name);
  }
done:
  tn_buf_reset(&json);
  return st;
}

/* What keeps the files of a snapshot. */
typedef struct keepers {
  bool is_live;   /* itself: it is there, and no expiry has begun to delete it */
  bool is_tagged; /* a tag of another name */
} keepers;

static tarn_status find_keepers(tn_table *t, const tn_snapshot *s, const char *name,
                                tn_arena *arena, keepers *out, tarn_error *err) {
  *out = (keepers){false, false};
  TN_TRY(tn_snapshot_is_whole(t, s, arena, &out->is_live, err));
  return tn_tags_keep(t, s, name, arena, &out->is_tagged, err);
}

/* Whoever expires or deletes tags looks for tags after he has told; who tags looks for that
 * afterwards (T2). Of two tags that are made at once neither counts for the other. */
static tarn_status store_kept(tn_table *t, const tn_tag_request *request, const tn_snapshot *s,
                              const char *path, bool *is_new, tn_arena *arena, tarn_error *err) {
  keepers before, after;
  *is_new = false;
  TN_TRY(find_keepers(t, s, request->name, arena, &before, err));
  if (before.is_live || before.is_tagged) {
    TN_TRY(write_tag(t, request, s, path, is_new, err));
    TN_TRY(*is_new ? find_keepers(t, s, request->name, arena, &after, err) : TARN_OK);
    if (!*is_new || after.is_live || (before.is_tagged && after.is_tagged)) {
      return TARN_OK;
    }
    *is_new = false;
    TN_TRY(tn_storage_remove(t->storage, path, err));
  }
  return tn_fail(err, TARN_E_EXPIRED, "tag '%s' was not created: snapshot %lld expired meanwhile",
                 request->name, (long long)s->id);
}

tarn_status tn_tag_store(tn_table *table, const tn_tag_request *request,
                         const tn_snapshot *snapshot, tarn_error *err) {
  const char *path, *success;
  tarn_status st = TARN_OK;
  bool is_new;
  tn_arena arena;
  tn_arena_init(&arena, &table->env->mem, ARENA_LIMIT);
  TN_TRY_TO(done, tag_path(table, &arena, request->name, &path, err));
  TN_TRY_TO(done, success_path(table, &arena, request->name, &success, err));
  TN_TRY_TO(done, store_kept(table, request, snapshot, path, &is_new, &arena, err));
  if (is_new && success != NULL) {
    st = tn_success_file_write(table->storage, success, tn_env_now_ms(table->env), err);
  }
done:
  tn_arena_reset(&arena);
  return st;
}

/* A snapshot has at most one tag with an automatic name. */
static tarn_status check_automatic(tn_table *table, const char *name, int64_t id, tn_arena *arena,
                                   tarn_error *err) {
  tn_tag_period period;
  tn_tag_mode mode;
  tn_tag *tags;
  int32_t n;
  int64_t at;
  TN_TRY(tn_tag_mode_of(table, &mode, err));
  if (mode != TN_TAGS_PROCESS_TIME && mode != TN_TAGS_WATERMARK) {
    return TARN_OK;
  }
  TN_TRY(tn_tag_period_init(&period, table, err));
  if (!tn_tag_period_parse(&period, name, &at)) {
    return TARN_OK;
  }
  TN_TRY(tn_tags_load(table, table->branch_path, arena, &tags, &n, err));
  for (int32_t i = 0; i < n; i++) {
    if (tags[i].snapshot.id == id && tn_tag_period_parse(&period, tags[i].name, &at) &&
        strcmp(tags[i].name, name) != 0) {
      return tn_fail(err, TARN_E_INVALID, "Snapshot %lld is already auto-tagged with [%s].",
                     (long long)id, tags[i].name);
    }
  }
  return TARN_OK;
}

/* The snapshot to tag: by id also from a tag, when it has expired. */
static tarn_status find_snapshot(tn_table *t, int64_t id, tn_arena *arena, tn_snapshot *out,
                                 tarn_error *err) {
  const char *root = t->branch_path;
  bool found;
  tn_tag *tags;
  int32_t n;
  if (id == 0) {
    TN_TRY(tn_snapshot_latest_id(t->env, t->storage, root, &id, err));
    if (id == 0) {
      return tn_fail(err, TARN_E_NOT_FOUND,
                     "Cannot create tag because latest snapshot doesn't exist.");
    }
  }
  TN_TRY(tn_snapshot_find(t, root, id, arena, out, &found, err));
  if (found) {
    return TARN_OK;
  }
  TN_TRY(tn_tags_load(t, root, arena, &tags, &n, err));
  for (int32_t i = 0; i < n; i++) {
    if (tags[i].snapshot.id == id) {
      *out = tags[i].snapshot;
      return TARN_OK;
    }
  }
  return tn_fail(err, TARN_E_NOT_FOUND,
                 "Cannot create tag because given snapshot #%lld doesn't exist.", (long long)id);
}

static tarn_status create_tag(tn_table *t, const tn_tag_request *request, int64_t id,
                              tn_arena *arena, tarn_error *err) {
  tn_snapshot s;
  TN_TRY(find_snapshot(t, id, arena, &s, err));
  TN_TRY(check_automatic(t, request->name, s.id, arena, err));
  return tn_tag_store(t, request, &s, err);
}

tarn_status tn_tag_create(tn_table *table, const char *name, int64_t snapshot_id,
                          int64_t retained_ms, tarn_error *err) {
  const tn_tag_request request = {name, retained_ms, false};
  tarn_status st;
  tn_arena arena;
  if (tn_name_is_blank(name)) {
    return tn_fail(err, TARN_E_INVALID, "Tag name shouldn't be blank.");
  }
  TN_TRY(tn_name_check("tag", name, err));
  tn_arena_init(&arena, &table->env->mem, ARENA_LIMIT);
  st = create_tag(table, &request, snapshot_id, &arena, err);
  tn_arena_reset(&arena);
  return st;
}

/* ------------------------------------------------------------------ deleting */

typedef struct deletion {
  tn_clearing work;
  const char *path, *hidden, *success;
  bool has_files; /* that may go with the tag */
} deletion;

static tarn_status keep_state(deletion *d, const tn_snapshot *s, tarn_error *err) {
  TN_TRY(tn_kept_files(&d->work.kept, s, err));
  return tn_kept_metas(&d->work.kept, s, err);
}

/* A file is live in a run of ids: what neither of the neighbours has, nobody has. */
static tarn_status keep_neighbours(deletion *d, const char *name, const tn_snapshot *s, bool *alone,
                                   tarn_error *err) {
  tn_table *t = d->work.table;
  const tn_snapshot *left = NULL, *right = NULL;
  tn_snapshot earliest;
  tarn_status st;
  tn_tag *tags;
  int32_t n;
  int64_t id;
  TN_TRY(tn_tags_load(t, t->branch_path, &d->work.arena, &tags, &n, err));
  for (int32_t i = 0; i < n; i++) {
    if (strcmp(tags[i].name, name) == 0) {
      continue;
    }
    if (tags[i].snapshot.id == s->id) {
      *alone = false;
      return TARN_OK;
    }
    if (tags[i].snapshot.id < s->id) {
      left = &tags[i].snapshot;
    } else if (right == NULL) {
      right = &tags[i].snapshot;
    }
  }
  st = left != NULL ? keep_state(d, left, err) : TARN_OK;
  if (st == TARN_OK && right != NULL) {
    st = keep_state(d, right, err);
  }
  TN_TRY(st);
  TN_TRY(tn_snapshot_earliest_id(t->env, t->storage, t->branch_path, &id, err));
  if (id != 0) {
    TN_TRY(
        tn_snapshot_read(t->env, t->storage, t->branch_path, id, &d->work.arena, &earliest, err));
    TN_TRY(keep_state(d, &earliest, err));
  }
  return TARN_OK;
}

/* Plan what goes with a tag of this snapshot. */
static tarn_status plan_deletion(deletion *d, const char *name, const tn_snapshot *s,
                                 tarn_error *err) {
  static const tn_meta_sweep which = {.states = true, .changelog = false, .others = true};
  tn_table *t = d->work.table;
  const char *path = tn_arena_printf(&d->work.arena, "%s/snapshot/snapshot-%lld", t->branch_path,
                                     (long long)s->id);
  tn_file_info info;
  bool alone = true;
  tarn_status st = path != NULL ? tn_storage_info(t->storage, path, &info, err) : tn_oom(err);
  if (st != TARN_E_NOT_FOUND) {
    return st; /* the snapshot needs the same files */
  }
  tn_error_reset(err);
  TN_TRY(keep_neighbours(d, name, s, &alone, err));
  if (!alone) {
    return TARN_OK;
  }
  TN_TRY(tn_kept_changelogs(&d->work.kept, t->branch_path, err));
  TN_TRY(tn_kept_others(&d->work.kept, t->branch_path, err));
  TN_TRY(tn_sweep_state(&d->work.files, &d->work.kept, s, err));
  TN_TRY(tn_sweep_metas(&d->work.metas, &d->work.kept, s, which, err));
  d->has_files = true;
  return TARN_OK;
}

static tarn_status remove_files(deletion *d, tarn_error *err) {
  bool cleans_folders;
  TN_TRY(tn_options_bool(&d->work.table->options, "snapshot.clean-empty-directories",
                         &cleans_folders, err));
  TN_TRY(tn_sweep_run(&d->work.files, NULL, err));
  if (cleans_folders) {
    TN_TRY(tn_sweep_folders(&d->work.files, err));
  }
  TN_TRY(tn_sweep_run(&d->work.metas, NULL, err));
  return tn_storage_remove(d->work.table->storage, d->hidden, err);
}

static tarn_status deletion_paths(deletion *d, const char *name, tarn_error *err) {
  TN_TRY(tag_path(d->work.table, &d->work.arena, name, &d->path, err));
  TN_TRY(success_path(d->work.table, &d->work.arena, name, &d->success, err));
  d->hidden = tn_arena_printf(&d->work.arena, "%s/tag/" HIDDEN_PREFIX "%s" HIDDEN_SUFFIX,
                              d->work.table->branch_path, name);
  return d->hidden != NULL ? TARN_OK : tn_oom(err);
}

/* The tag vanishes by one step: a rename where files go with it, which follows then. */
static tarn_status hide_tag(deletion *d, const char *name, tarn_error *err) {
  tn_table *t = d->work.table;
  tn_snapshot s;
  TN_TRY(tn_tag_read(t->env, t->storage, t->branch_path, name, &d->work.arena, &s, err));
  TN_TRY(plan_deletion(d, name, &s, err));
  if (d->has_files) {
    TN_TRY(tn_storage_remove(t->storage, d->hidden, err));
    TN_TRY(tn_storage_rename(t->storage, d->path, d->hidden, err));
  } else {
    TN_TRY(tn_storage_remove(t->storage, d->path, err));
  }
  return d->success != NULL ? tn_storage_remove(t->storage, d->success, err) : TARN_OK;
}

/* Complete a deletion whose tag has its hidden name. What goes is planned when it has it: nobody
 * makes a tag, a branch or a snapshot of it any more, and who has done so is seen. */
static tarn_status finish_deletion(deletion *d, const char *name, tarn_error *err) {
  tn_table *t = d->work.table;
  tn_snapshot s;
  tarn_status st;
  tn_buf json;
  (void)name;
  tn_buf_init(&json, &t->env->mem, TAG_LIMIT);
  st = tn_storage_read_all(t->storage, d->hidden, &json, err);
  if (st == TARN_OK) {
    st = tn_snapshot_decode(&t->env->mem, &d->work.arena, tn_buf_slice(&json), d->hidden, &s, err);
  }
  tn_buf_reset(&json);
  if (st == TARN_E_NOT_FOUND) { /* somebody else has done it */
    tn_error_reset(err);
    return TARN_OK;
  }
  TN_TRY(st);
  TN_TRY(plan_deletion(d, "", &s, err));
  if (d->has_files) {
    return remove_files(d, err);
  }
  return tn_storage_remove(t->storage, d->hidden, err);
}

/* A step of a deletion: again if what it read has expired meanwhile, and the tag is there still.
 * *has_files: they go with it. */
static tarn_status run_step(tn_table *table, const char *name,
                            tarn_status (*step)(deletion *, const char *, tarn_error *),
                            bool *has_files, tarn_error *err) {
  bool is_again = true;
  tarn_status st = TARN_OK;
  for (int i = 0; i < MAX_TRIES && is_again; i++) {
    deletion d;
    memset(&d, 0, sizeof(d));
    tn_error_reset(err);
    tn_clearing_init(&d.work, table);
    st = deletion_paths(&d, name, err);
    st = st == TARN_OK ? step(&d, name, err) : st;
    *has_files = d.has_files;
    is_again = st == TARN_E_NOT_FOUND && (tn_storage_exists(table->storage, d.path) ||
                                          tn_storage_exists(table->storage, d.hidden));
    tn_clearing_reset(&d.work);
  }
  return st;
}

tarn_status tn_tags_finish(tn_table *table, tarn_error *err) {
  const size_t n_suffix = strlen(HIDDEN_SUFFIX);
  const char *folder, **names;
  tarn_status st = TARN_OK;
  tn_arena arena;
  int32_t n;
  tn_arena_init(&arena, &table->env->mem, ARENA_LIMIT);
  folder = tn_path_join(&arena, table->branch_path, "tag", NULL);
  TN_TRY_TO(done, folder != NULL ? TARN_OK : tn_oom(err));
  TN_TRY_TO(done, tn_listing_names(table->storage, folder, HIDDEN_PREFIX, false, &arena, &names, &n,
                                   err));
  for (int32_t i = 0; i < n; i++) {
    size_t len = strlen(names[i]);
    bool has_files;
    if (len <= n_suffix || strcmp(names[i] + len - n_suffix, HIDDEN_SUFFIX) != 0) {
      continue;
    }
    names[i] = tn_arena_strndup(&arena, names[i], len - n_suffix);
    TN_TRY_TO(done, names[i] != NULL ? TARN_OK : tn_oom(err));
    TN_TRY_TO(done, run_step(table, names[i], finish_deletion, &has_files, err));
  }
done:
  tn_arena_reset(&arena);
  return st;
}

static tarn_status delete_one(tn_table *table, const char *name, tarn_error *err) {
  bool has_files;
  TN_TRY(run_step(table, name, hide_tag, &has_files, err));
  return has_files ? run_step(table, name, finish_deletion, &has_files, err) : TARN_OK;
}

tarn_status tn_tag_delete(tn_table *table, const char *name, tarn_error *err) {
  if (tn_name_is_blank(name)) {
    return tn_fail(err, TARN_E_INVALID, "Tag name shouldn't be blank.");
  }
  TN_TRY(tn_tags_finish(table, err));
  return delete_one(table, name, err);
}

/* ------------------------------------------------------------------ renaming */

tarn_status tn_tag_rename(tn_table *table, const char *from, const char *to, tarn_error *err) {
  const char *source, *target;
  tarn_status st = TARN_OK;
  tn_arena arena;
  if (tn_name_is_blank(from)) {
    return tn_fail(err, TARN_E_INVALID, "Original tag name shouldn't be blank.");
  }
  if (tn_name_is_blank(to)) {
    return tn_fail(err, TARN_E_INVALID, "New tag name shouldn't be blank.");
  }
  TN_TRY(tn_name_check("tag", to, err));
  tn_arena_init(&arena, &table->env->mem, ARENA_LIMIT);
  TN_TRY_TO(done, tag_path(table, &arena, from, &source, err));
  TN_TRY_TO(done, tag_path(table, &arena, to, &target, err));
  st = strchr(from, '/') != NULL ? TARN_E_NOT_FOUND
                                 : tn_storage_rename(table->storage, source, target, err);
  if (st == TARN_E_NOT_FOUND) {
    st = tn_fail(err, st, "Tag '%s' doesn't exist.", from);
  } else if (st == TARN_E_EXISTS) {
    st = tn_fail(err, st, "Tag '%s' already exists.", to);
  }
done:
  tn_arena_reset(&arena);
  return st;
}

/* ------------------------------------------------------------------ expiring */

static bool is_over(const tn_snapshot *tag, int64_t local_ms) {
  int64_t retained_ms = tag->tag_retained_ns / 1000000;
  return tag->has_tag_create && tag->has_tag_retained &&
         retained_ms < local_ms - tag->tag_create_ms;
}

tarn_status tn_tags_expire(tn_table *table, int64_t *n_expired, tarn_error *err) {
  int64_t now = local_now(table->env), n_gone = 0;
  tarn_status st = TARN_OK;
  tn_arena arena;
  tn_tag *tags;
  int32_t n;
  tn_arena_init(&arena, &table->env->mem, ARENA_LIMIT);
  TN_TRY_TO(done, tn_tags_finish(table, err));
  TN_TRY_TO(done, tn_tags_load(table, table->branch_path, &arena, &tags, &n, err));
  for (int32_t i = 0; i < n; i++) {
    if (is_over(&tags[i].snapshot, now)) {
      st = delete_one(table, tags[i].name, err);
      if (st == TARN_E_NOT_FOUND) { /* somebody else does the same */
        tn_error_reset(err);
        st = TARN_OK;
      }
      TN_TRY_TO(done, st);
      n_gone++;
    }
  }
done:
  if (n_expired != NULL) {
    *n_expired = n_gone;
  }
  tn_arena_reset(&arena);
  return st;
}
