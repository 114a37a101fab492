/* attempt.c - from changes to a published snapshot, again and again.
 *
 * What stays from one attempt to the next: manifests of changes that do not depend on the snapshot
 * before (their names do not either), and merged manifests if what they were made of is still
 * there. All else is written anew.
 */
#include "commit/attempt.h"

#include <stdlib.h>

#include "commit/conflicts.h"
#include "commit/index_manifest.h"
#include "commit/kinship.h"
#include "commit/latest.h"
#include "commit/rivals.h"
#include "commit/row_ids.h"
#include "model/listing.h"
#include "model/snapshot_write.h"
#include "model/statistics.h"

#define SNAPSHOT_LIMIT ((size_t)64 << 20)
#define STATISTICS_LIMIT ((size_t)256 << 20)
#define LATEST_TRIES 10 /* a snapshot may expire between its id and its reading */

/* A written list. */
typedef struct list_name {
  const char *name; /* NULL: not written */
  int64_t size_bytes;
} list_name;

/* What an attempt leaves for the next one. */
typedef struct run {
  tn_commit_job *job;
  const tn_attempt_request *request;
  bool has_tried;       /* a publication that did not succeed for certain */
  int64_t tried_behind; /* the latest snapshot of that attempt, 0: none */
  list_name delta, changelog;
  tn_arena merged_arena; /* of the merge that is kept */
  tn_metas merged_from, merged;
  bool has_merged;
  bool stopped_merging; /* others merge, too: this commit does not try again */
  bool is_twins;        /* the snapshot that was found is another process's of the same commit */
  int64_t replaced_id;  /* the first snapshot of ours that was replaced, 0: none */
  list_name replaced;   /* its delta */
} run;

/* One attempt. */
typedef struct attempt {
  run *run;
  tn_commit_job *job;
  const tn_attempt_request *request;
  tn_arena arena;
  bool has_latest;
  tn_snapshot latest; /* when there is one */
  tn_schema *schema;  /* the latest */
  tn_base overwritten, base;
  tn_commit_changes changes;
  list_name base_list;
  tn_snapshot next;
  tn_buf json; /* of it */
} attempt;

/* How a publication ended. */
typedef enum outcome { PUBLISHED, LOST, UNKNOWN, NOTHING_TO_DO } outcome;

/* ------------------------------------------------------------------ the snapshot before */

static tarn_status read_latest(attempt *a, tarn_error *err) {
  tn_table *table = a->job->table;
  tarn_status st = TARN_E_NOT_FOUND;
  for (int i = 0; i < LATEST_TRIES && st == TARN_E_NOT_FOUND; i++) {
    int64_t id;
    tn_error_reset(err);
    TN_TRY(tn_snapshot_latest_id(table->env, table->storage, table->branch_path, &id, err));
    if (id == 0) {
      return TARN_OK;
    }
    st = tn_snapshot_read(table->env, table->storage, table->branch_path, id, &a->arena, &a->latest,
                          err);
  }
  a->has_latest = st == TARN_OK;
  return st;
}

static tarn_status read_schema(attempt *a, tarn_error *err) {
  tn_table *table = a->job->table;
  int64_t *ids;
  int32_t n;
  TN_TRY(tn_schema_ids(table->env, table->storage, table->branch_path, &a->arena, &ids, &n, err));
  return tn_schema_load(table->env, table->storage, table->branch_path, ids[n - 1], &a->schema,
                        err);
}

static bool has_our_lists(const run *r, const tn_snapshot *s) {
  return s->delta_manifest_list != NULL && strstr(s->delta_manifest_list, r->job->uuid) != NULL;
}

/* Is a snapshot the one that this commit made? Another process may have made it, too, after a
 * failover. Identifiers of batch commits are all alike, so that only their lists tell. */
static bool is_ours(const run *r, const tn_snapshot *s) {
  const tn_attempt_request *request = r->request;
  if (s->commit_user == NULL || strcmp(s->commit_user, r->job->options->user) != 0 ||
      s->commit_identifier != request->identifier || s->commit_kind != request->kind) {
    return false;
  }
  return request->identifier != INT64_MAX || has_our_lists(r, s);
}

/* Has an attempt before succeeded (C2)? Snapshots that have expired meanwhile tell nothing. */
static tarn_status find_ours(attempt *a, int64_t *id, tarn_error *err) {
  tn_table *table = a->job->table;
  *id = 0;
  if (!a->run->has_tried || !a->has_latest) {
    return TARN_OK;
  }
  for (int64_t i = a->latest.id; i > a->run->tried_behind; i--) {
    tn_snapshot s = a->latest;
    tarn_status st = TARN_OK;
    if (i != a->latest.id) {
      st = tn_snapshot_read(table->env, table->storage, table->branch_path, i, &a->arena, &s, err);
    }
    if (st == TARN_E_NOT_FOUND) {
      tn_error_reset(err);
      return TARN_OK;
    }
    TN_TRY(st);
    if (is_ours(a->run, &s)) {
      *id = i;
      a->run->is_twins = !has_our_lists(a->run, &s);
      return TARN_OK;
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ built on ours or not */

static tarn_status tell_kinship(attempt *a, int64_t id, const list_name *delta, tn_kinship *out,
                                tarn_error *err) {
  return tn_kinship_tell(a->job, a->request, id, delta->name, delta->size_bytes, &a->arena, out,
                         err);
}

/* Somebody may have read our snapshot and gone on from it before it was replaced: then all of this
 * commit is in his. *is_unsure: what would tell has expired. */
static tarn_status find_built_on_ours(attempt *a, int64_t *id, bool *is_unsure, tarn_error *err) {
  int64_t from = a->run->replaced_id;
  *is_unsure = false;
  if (from == 0 || !a->has_latest || a->request->compacts_manifests) {
    return TARN_OK;
  }
  for (int64_t i = from + 1; i <= a->latest.id; i++) {
    tn_kinship kin;
    tarn_status st = tell_kinship(a, i, &a->run->replaced, &kin, err);
    *is_unsure = st == TARN_E_NOT_FOUND;
    if (*is_unsure) {
      return tn_error_context(err, TARN_E_IO,
                              "snapshot %lld of %s was replaced by another program's, and what "
                              "came behind it has expired: it cannot be told whether it has the "
                              "changes",
                              (long long)from, a->job->table->full_name);
    }
    TN_TRY(st);
    if (kin == TN_BUILT_ON_OURS) {
      *id = i;
      return TARN_OK;
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ checks */

static tarn_status drop_duplicates(attempt *a, tarn_error *err) {
  tn_commit_changes *c = &a->changes;
  tn_mem *mem = &a->job->table->env->mem;
  tn_manifest_entry *kept = tn_arena_calloc(&a->arena, c->files.count + 1, sizeof(*kept));
  size_t n = 0;
  tarn_status st = TARN_OK;
  tn_map map;
  tn_buf buf;
  if (kept == NULL) {
    return tn_oom(err);
  }
  tn_map_init(&map, mem);
  tn_buf_init(&buf, mem, SNAPSHOT_LIMIT);
  for (int64_t i = 0; i < a->base.count; i++) {
    const tn_scan_entry *e = a->base.items[i];
    tn_map_entry *slot;
    tn_data_file file;
    tn_slice key;
    tn_scan_entry_file(e, &file);
    buf.len = 0;
    TN_TRY_TO(done, tn_entry_identity(e->partition->bytes, e->bucket, &file, &buf, err));
    if (!tn_arena_slice(&a->arena, tn_buf_slice(&buf), &key)) {
      st = tn_oom(err);
      goto done;
    }
    TN_TRY_TO(done, tn_map_put(&map, key, &slot, NULL, err));
  }
  for (size_t i = 0; i < c->files.count; i++) {
    const tn_manifest_entry *e = &c->files.items[i];
    buf.len = 0;
    TN_TRY_TO(done, tn_entry_identity(e->partition, e->bucket, &e->file, &buf, err));
    if (tn_map_find(&map, tn_buf_slice(&buf)) == NULL) {
      kept[n++] = *e;
    }
  }
  c->files = (tn_entry_list){kept, n, c->files.count + 1};
done:
  tn_buf_reset(&buf);
  tn_map_reset(&map);
  return st;
}

/* The bucket count of the table changed since the files were written. */
static bool has_other_buckets(const attempt *a) {
  const char *text = tn_schema_option(a->schema, "bucket");
  int64_t buckets = text != NULL ? strtoll(text, NULL, 10) : 0;
  for (size_t i = 0; i < a->changes.files.count; i++) {
    int32_t total = a->changes.files.items[i].total_buckets;
    if (total > 0 && total != buckets) {
      return true;
    }
  }
  return false;
}

static tarn_status check(attempt *a, tarn_error *err) {
  tn_conflict_check c = {.job = a->job,
                         .latest = a->has_latest ? &a->latest : NULL,
                         .base = &a->base,
                         .changes = &a->changes,
                         .kind = a->request->kind,
                         .arena = &a->arena};
  bool discards = a->job->settings.discards_duplicates && a->request->kind == TN_COMMIT_APPEND;
  bool checks_all = a->request->checks_conflicts || discards;
  tn_base_request request = {.snapshot = &a->latest};
  tarn_status st = TARN_OK;
  tn_map partitions;
  if (!a->has_latest) {
    return tn_conflicts_find_first(&c, err);
  }
  if (!checks_all && !has_other_buckets(a)) {
    return TARN_OK;
  }
  tn_map_init(&partitions, &a->job->table->env->mem);
  request.only = &partitions;
  TN_TRY_TO(done, tn_changes_partitions(&a->changes, &partitions, err));
  if (partitions.count > 0) {
    TN_TRY_TO(done, tn_base_read(a->job, &request, &a->arena, &a->base, err));
  }
  if (discards) {
    TN_TRY_TO(done, drop_duplicates(a, err));
  }
  TN_TRY_TO(done, checks_all ? tn_conflicts_find(&c, err) : tn_conflicts_find_buckets(&c, err));
done:
  tn_map_reset(&partitions);
  return st;
}

/* ------------------------------------------------------------------ manifests */

static tarn_status write_entries(attempt *a, const tn_commit_changes *changes,
                                 const tn_entry_list *list, list_name *out, tarn_error *err) {
  tn_metas metas = {NULL, 0, 0};
  tn_roller roller = {.job = NULL};
  tarn_status st;
  int64_t n = list != NULL ? (int64_t)list->count : tn_changes_count(changes);
  TN_TRY_TO(done, tn_roller_begin(&roller, a->job, TN_WRITTEN_DELTA, &a->arena, &metas, err));
  for (int64_t i = 0; i < n; i++) {
    tn_manifest_entry entry;
    if (list != NULL) {
      entry = list->items[i];
    } else {
      tn_changes_get(changes, i, &entry);
    }
    TN_TRY_TO(done, tn_roller_add(&roller, &entry, err));
  }
  TN_TRY_TO(done, tn_roller_finish(&roller, err));
  TN_TRY_TO(done,
            tn_metas_write(a->job, TN_WRITTEN_DELTA, &metas, &out->name, &out->size_bytes, err));
done:
  tn_roller_end(&roller);
  return st;
}

/* Where `part` begins as a run in `whole`, by names; -1: nowhere. */
static int64_t find_run(const tn_metas *whole, const tn_metas *part) {
  for (size_t i = 0; i + part->count <= whole->count && part->count > 0; i++) {
    size_t k = 0;
    while (k < part->count &&
           tn_slice_equal(whole->items[i + k].file_name, part->items[k].file_name)) {
      k++;
    }
    if (k == part->count) {
      return (int64_t)i;
    }
  }
  return -1;
}

/* The merge of an attempt before in place of what it was made of. */
static tarn_status reuse_merged(attempt *a, const tn_metas *in, int64_t at, tn_metas *out,
                                tarn_error *err) {
  const run *r = a->run;
  for (int64_t i = 0; i < at; i++) {
    TN_TRY(tn_metas_add(out, &a->arena, &in->items[i], err));
  }
  for (size_t i = 0; i < r->merged.count; i++) {
    TN_TRY(tn_metas_add(out, &a->arena, &r->merged.items[i], err));
  }
  for (size_t i = (size_t)at + r->merged_from.count; i < in->count; i++) {
    TN_TRY(tn_metas_add(out, &a->arena, &in->items[i], err));
  }
  return TARN_OK;
}

/* Merge anew; the result is kept for attempts to come. */
static tarn_status merge_anew(attempt *a, const tn_metas *in, tn_metas *out, bool *is_changed,
                              tarn_error *err) {
  const tn_commit_settings *s = &a->job->settings;
  bool is_all = a->request->compacts_manifests;
  const tn_merge_rule rule = {s->manifest_bytes, is_all ? 1 : s->merge_min_count,
                              is_all ? 1 : s->full_merge_bytes};
  run *r = a->run;
  int32_t n_written = a->job->n_manifests;
  tn_arena_reset(&r->merged_arena);
  r->merged = r->merged_from = (tn_metas){NULL, 0, 0};
  TN_TRY(tn_manifests_merge(a->job, in, &rule, &r->merged_arena, &r->merged, err));
  *is_changed = in->count != r->merged.count || a->job->n_manifests != n_written;
  if (*is_changed) {
    for (size_t i = 0; i < in->count; i++) {
      TN_TRY(tn_metas_add(&r->merged_from, &r->merged_arena, &in->items[i], err));
    }
    r->has_merged = true;
  }
  *out = r->merged;
  return TARN_OK;
}

/* Manifests of the state before; *is_changed: they differ from `in`. */
static tarn_status merge(attempt *a, const tn_metas *in, tn_metas *out, bool *is_changed,
                         tarn_error *err) {
  run *r = a->run;
  int64_t at = r->has_merged ? find_run(in, &r->merged_from) : -1;
  if (at >= 0) {
    *is_changed = true;
    return reuse_merged(a, in, at, out, err);
  }
  if (r->has_merged) {
    tn_job_discard(a->job, TN_WRITTEN_MERGED);
    r->has_merged = false;
    r->stopped_merging = true;
  }
  if (r->stopped_merging && !a->request->compacts_manifests) {
    *out = *in;
    return TARN_OK;
  }
  return merge_anew(a, in, out, is_changed, err);
}

/* ------------------------------------------------------------------ the new snapshot */

static tarn_status add_rows(int64_t *sum, int64_t rows, bool is_add, tarn_error *err) {
  bool overflows =
      is_add ? __builtin_add_overflow(*sum, rows, sum) : __builtin_sub_overflow(*sum, rows, sum);
  return overflows ? tn_fail(err, TARN_E_LIMIT, "more rows than a snapshot can count") : TARN_OK;
}

static tarn_status count_rows(const attempt *a, tn_snapshot *s, tarn_error *err) {
  const tn_commit_changes *c = &a->changes;
  s->delta_record_count = 0;
  for (int64_t i = 0; i < c->n_taken; i++) {
    TN_TRY(add_rows(&s->delta_record_count, c->taken[i]->row_count, false, err));
  }
  for (size_t i = 0; i < c->files.count; i++) {
    const tn_manifest_entry *e = &c->files.items[i];
    TN_TRY(add_rows(&s->delta_record_count, e->file.row_count, e->kind == TN_FILE_ADD, err));
  }
  s->total_record_count = a->has_latest ? a->latest.total_record_count : 0;
  TN_TRY(add_rows(&s->total_record_count, s->delta_record_count, true, err));
  s->has_changelog_record_count = c->changelog.count > 0;
  for (size_t i = 0; i < c->changelog.count; i++) {
    TN_TRY(add_rows(&s->changelog_record_count, c->changelog.items[i].file.row_count, true, err));
  }
  return TARN_OK;
}

/* Statistics stay with their schema. Some that cannot be read any more are no reason to stop. */
static tarn_status inherit_statistics(attempt *a, const char **out, tarn_error *err) {
  tn_table *table = a->job->table;
  const char *name = a->has_latest ? a->latest.statistics : NULL;
  const char *path;
  tn_statistics statistics;
  tarn_status st;
  tn_buf buf;
  *out = NULL;
  if (name == NULL) {
    return TARN_OK;
  }
  path = tn_path_join(&a->arena, table->path, "statistics", name, NULL);
  if (path == NULL) {
    return tn_oom(err);
  }
  tn_buf_init(&buf, &table->env->mem, STATISTICS_LIMIT);
  TN_TRY_TO(done, tn_storage_read_all(table->storage, path, &buf, err));
  TN_TRY_TO(done, tn_statistics_decode(&table->env->mem, &a->arena, tn_buf_slice(&buf), path,
                                       &statistics, err));
  *out = statistics.schema_id == a->schema->id ? name : NULL;
done:
  tn_buf_reset(&buf);
  if (st == TARN_E_NOT_FOUND || st == TARN_E_CORRUPT) {
    tn_log(table->env, TARN_LOG_WARN, "event=statistics_not_inherited path=%s", path);
    tn_error_reset(err);
    st = TARN_OK;
  }
  return st;
}

static void set_watermark(const attempt *a, tn_snapshot *s) {
  s->has_watermark = a->request->has_watermark;
  s->watermark = a->request->watermark;
  if (a->has_latest && a->latest.has_watermark &&
      (!s->has_watermark || a->latest.watermark > s->watermark)) {
    s->has_watermark = true;
    s->watermark = a->latest.watermark;
  }
}

/* The manifest lists of the changes; those of an attempt before if they do not depend on it. */
static tarn_status write_changes(attempt *a, int64_t *next_row_id, tarn_error *err) {
  run *r = a->run;
  bool depends = a->request->overwrite != NULL || a->job->table->facts.row_tracking ||
                 a->job->settings.discards_duplicates;
  if (r->delta.name != NULL && !depends) {
    return TARN_OK;
  }
  if (r->delta.name != NULL) {
    tn_job_discard(a->job, TN_WRITTEN_DELTA);
    r->delta = r->changelog = (list_name){NULL, -1};
  }
  if (a->job->table->facts.row_tracking) {
    tn_commit_changes assigned;
    TN_TRY(tn_row_ids_assign(a->next.id, &a->changes, &a->arena, next_row_id, &assigned, err));
    a->changes = assigned;
  }
  if (a->changes.changelog.count > 0) {
    TN_TRY(write_entries(a, NULL, &a->changes.changelog, &r->changelog, err));
  }
  return write_entries(a, &a->changes, NULL, &r->delta, err);
}

/* An ordinary commit, or *is_done false: nothing to merge. */
static tarn_status write_manifests(attempt *a, int64_t *next_row_id, bool *has_work,
                                   tarn_error *err) {
  tn_metas in = {NULL, 0, 0}, out = {NULL, 0, 0};
  bool is_changed = false;
  *has_work = true;
  if (a->has_latest) {
    TN_TRY(tn_metas_read(a->job->table, &a->latest, &a->arena, &in, err));
    TN_TRY(merge(a, &in, &out, &is_changed, err));
  }
  if (a->request->compacts_manifests && !is_changed) {
    *has_work = false;
    return TARN_OK;
  }
  TN_TRY(tn_metas_write(a->job, TN_WRITTEN_ATTEMPT, &out, &a->base_list.name,
                        &a->base_list.size_bytes, err));
  return write_changes(a, next_row_id, err);
}

static void set_lists(const attempt *a, tn_snapshot *s) {
  const run *r = a->run;
  s->base_manifest_list = a->base_list.name;
  s->base_manifest_list_size = a->base_list.size_bytes;
  s->delta_manifest_list = r->delta.name;
  s->delta_manifest_list_size = r->delta.size_bytes;
  s->changelog_manifest_list = r->changelog.name;
  s->changelog_manifest_list_size = r->changelog.name != NULL ? r->changelog.size_bytes : -1;
}

static void set_origin(const attempt *a, tn_snapshot *s) {
  const tn_attempt_request *request = a->request;
  bool is_merge = request->compacts_manifests;
  s->version = 3;
  s->id = a->has_latest ? a->latest.id + 1 : 1;
  s->commit_user = a->job->options->user;
  s->commit_identifier = request->identifier;
  s->commit_kind = request->kind;
  s->time_ms = tn_env_now_ms(a->job->table->env);
  s->properties = is_merge ? a->latest.properties : (tn_property *)(uintptr_t)request->properties;
  s->n_properties = is_merge ? a->latest.n_properties : request->n_properties;
  s->schema_id = is_merge ? a->latest.schema_id : a->schema->id;
}

static tarn_status prepare(attempt *a, bool *has_work, tarn_error *err) {
  tn_snapshot *s = &a->next;
  int64_t next_row_id = a->has_latest && a->latest.has_next_row_id ? a->latest.next_row_id : 0;
  TN_TRY(write_manifests(a, &next_row_id, has_work, err));
  if (!*has_work) {
    return TARN_OK;
  }
  TN_TRY(count_rows(a, s, err));
  set_lists(a, s);
  TN_TRY(tn_index_manifest_combine(a->job, a->has_latest ? a->latest.index_manifest : NULL,
                                   &a->changes.indexes, &a->arena, &s->index_manifest, err));
  s->statistics = a->request->statistics;
  if (a->request->compacts_manifests) {
    s->statistics = a->latest.statistics;
  } else if (s->statistics == NULL) {
    TN_TRY(inherit_statistics(a, &s->statistics, err));
  }
  set_watermark(a, s);
  s->has_next_row_id = !a->request->compacts_manifests || a->latest.has_next_row_id;
  s->next_row_id = next_row_id;
  TN_TRY(tn_job_sync(a->job, err));
  return tn_snapshot_encode(s, &a->json, err);
}

/* ------------------------------------------------------------------ publication */

static const char *snapshot_folder(attempt *a) {
  return tn_path_join(&a->arena, a->job->table->branch_path, "snapshot", NULL);
}

static const char *path_of(attempt *a, int64_t id) {
  return tn_arena_printf(&a->arena, "%s/snapshot/snapshot-%lld", a->job->table->branch_path,
                         (long long)id);
}

static const char *snapshot_path(attempt *a) {
  return path_of(a, a->next.id);
}

/* Whose snapshot is it that is there now? */
static tarn_status look_back(attempt *a, const char *path, outcome *out, tarn_error *err) {
  tn_storage *storage = a->job->table->storage;
  tarn_status st;
  tn_buf found;
  tn_buf_init(&found, &storage->env->mem, SNAPSHOT_LIMIT);
  st = tn_storage_read_all(storage, path, &found, err);
  *out = UNKNOWN;
  if (st == TARN_E_NOT_FOUND || st == TARN_OK) {
    *out = st == TARN_OK && tn_slice_equal(tn_buf_slice(&found), tn_buf_slice(&a->json)) ? PUBLISHED
                                                                                         : LOST;
  }
  tn_buf_reset(&found);
  return st;
}

static tarn_status sync_snapshots(attempt *a, tarn_error *err) {
  const char *folder = snapshot_folder(a);
  return folder != NULL ? tn_storage_sync_folder(a->job->table->storage, folder, err) : tn_oom(err);
}

/* A publication that failed, or found the name taken. st: of the call. */
static tarn_status settle(attempt *a, const char *path, tarn_status st, outcome *out,
                          tarn_error *err) {
  tarn_error why = {0};
  tarn_status looked = look_back(a, path, out, &why);
  bool is_taken = st == TARN_E_EXISTS;
  if (*out == PUBLISHED) {
    /* It is there; it stays if its name is on the disk. */
    tn_error_reset(err);
    st = sync_snapshots(a, err);
    return st == TARN_OK ? st
                         : tn_error_context(err, st,
                                            "snapshot %lld of %s is visible, but it is not sure "
                                            "that a loss of power leaves it",
                                            (long long)a->next.id, a->job->table->full_name);
  }
  if (*out == UNKNOWN) {
    return tn_error_context(err, st,
                            "snapshot %lld of %s: it cannot be told whether it was published",
                            (long long)a->next.id, a->job->table->full_name);
  }
  /* Somebody was first, or his snapshot has expired already; else nothing was published. */
  if (is_taken || looked == TARN_OK) {
    tn_error_reset(err);
    return TARN_OK;
  }
  return st;
}

/* Names of snapshots become free again when they expire: a free one is the next only if nothing
 * has come behind it. Java does not look, and goes back to where the table was then. And the one
 * before is still the one that was read: a rollback may have made place for another one. */
static tarn_status is_behind_latest(attempt *a, bool *out, tarn_error *err) {
  tn_table *table = a->job->table;
  tn_snapshot now;
  tarn_status st;
  int64_t id;
  TN_TRY(tn_snapshot_latest_id(table->env, table->storage, table->branch_path, &id, err));
  *out = id == a->next.id - 1;
  if (!*out || !a->has_latest) {
    return TARN_OK;
  }
  st = tn_snapshot_read(table->env, table->storage, table->branch_path, id, &a->arena, &now, err);
  *out = st == TARN_OK && tn_snapshot_is_same(&now, &a->latest);
  if (st == TARN_E_NOT_FOUND) {
    tn_error_reset(err);
    st = TARN_OK;
  }
  return st;
}

/* Look and take the name, while no expiry or rollback of ours gives names up. */
static tarn_status take_name(attempt *a, const char *path, bool *is_next, tarn_error *err) {
  tn_storage *storage = a->job->table->storage;
  const char *folder = snapshot_folder(a);
  tarn_status st;
  int lock;
  *is_next = false;
  if (folder == NULL) {
    return tn_oom(err);
  }
  lock = tn_storage_lock_folder(storage, folder);
  st = is_behind_latest(a, is_next, err);
  if (st == TARN_OK && *is_next) {
    a->run->has_tried = true;
    a->run->tried_behind = a->next.id - 1;
    st = tn_storage_publish(storage, path, tn_buf_slice(&a->json), err);
  } else {
    *is_next = false;
  }
  tn_storage_unlock_folder(storage, lock);
  return st;
}

static tarn_status publish(attempt *a, outcome *out, tarn_error *err) {
  const char *path = snapshot_path(a);
  tarn_status st;
  bool has_tried;
  *out = LOST;
  if (path == NULL) {
    return tn_oom(err);
  }
  TN_TRY(tn_cancel_check(a->job->options->cancel, err));
  st = take_name(a, path, &has_tried, err);
  if (!has_tried) {
    return st;
  }
  if (st == TARN_OK) {
    *out = PUBLISHED;
    return st;
  }
  return settle(a, path, st, out, err);
}

/* Ours is there, and others are behind it: have they gone on from it, or from one of its name that
 * expired just before ours came? Expiry takes the older ones first. */
static tarn_status is_dead_branch(attempt *a, bool *out, tarn_error *err) {
  *out = false;
  for (int i = 0; i < 2; i++) {
    bool is_there;
    TN_TRY(tn_latest_exists(a->job->table, a->next.id + 1, &is_there, err));
    if (is_there) {
      tn_kinship kin;
      tarn_status st = tell_kinship(a, a->next.id + 1, &a->run->delta, &kin, err);
      if (st != TARN_E_NOT_FOUND) {
        *out = st == TARN_OK && kin == TN_BUILT_ON_ANOTHER;
        return st;
      }
      tn_error_reset(err); /* it has expired meanwhile */
    }
    TN_TRY(tn_latest_is_behind(a->job->table, a->next.id, &is_there, err));
    if (!is_there) {
      return TARN_OK;
    }
  }
  TN_TRY(tn_latest_exists(a->job->table, a->next.id + 1, out, err));
  *out = !*out;
  return TARN_OK;
}

/* An expiry that has seen a snapshot of ours deletes what only that has, even after it was taken
 * away or replaced: attempts to come write all of it anew. */
static void forget_written(attempt *a) {
  run *r = a->run;
  r->delta = r->changelog = (list_name){NULL, -1};
  r->merged = r->merged_from = (tn_metas){NULL, 0, 0};
  r->has_merged = false;
}

/* A snapshot that nobody will build on is taken away again: nobody takes it for the latest. */
static tarn_status leave_dead_branch(attempt *a, outcome *out, tarn_error *err) {
  const char *path = snapshot_path(a);
  bool is_dead;
  tarn_status st;
  if (path == NULL) {
    return tn_oom(err);
  }
  st = is_dead_branch(a, &is_dead, err);
  if (st == TARN_OK && is_dead) { /* unless it has expired as well, or was replaced */
    outcome now = UNKNOWN;
    is_dead = look_back(a, path, &now, NULL) == TARN_OK && now == PUBLISHED;
  }
  if (st == TARN_OK && is_dead) {
    tn_log(a->job->table->env, TARN_LOG_INFO, "event=snapshot_behind_expired_ones snapshot=%lld",
           (long long)a->next.id);
    st = tn_storage_remove(a->job->table->storage, path, err);
    *out = LOST;
    if (st == TARN_OK) {
      tn_job_discard(a->job, TN_WRITTEN_DELTA | TN_WRITTEN_MERGED);
      forget_written(a);
    }
  }
  if (st != TARN_OK) {
    *out = UNKNOWN;
    st = tn_error_context(err, st == TARN_E_NOMEM ? st : TARN_E_IO,
                          "snapshot %lld of %s was made when others had come and expired: it "
                          "cannot be told whether it is part of the table",
                          (long long)a->next.id, a->job->table->full_name);
  }
  return st;
}

/* Ours has expired: was it replaced before? What came behind it tells; else that there was nobody
 * who could have done so. */
static bool was_replaced_before(attempt *a, bool had_rivals) {
  const list_name *delta = &a->run->delta;
  tn_kinship kin;
  if (tn_kinship_tell_later(a->job, a->request, a->next.id, delta->name, delta->size_bytes,
                            &a->arena, &kin, NULL) != TARN_OK) {
    return had_rivals;
  }
  return kin == TN_BUILT_ON_ANOTHER || (kin == TN_NOT_TOLD && had_rivals);
}

/* Java looks whether a snapshot's name is free and renames its own to it then, on a local disk
 * without a lock: ours may have been replaced in between. That it is ours still is looked up when
 * nobody can do that any more. */
static bool was_replaced(attempt *a) {
  const char *path = snapshot_path(a), *folder = snapshot_folder(a);
  outcome now = UNKNOWN;
  tarn_status st;
  bool had_rivals, is_other;
  if (folder == NULL || path == NULL) {
    return false;
  }
  had_rivals =
      tn_rivals_wait(a->job->table->storage, folder, a->next.id, path, a->job->options->cancel);
  st = look_back(a, path, &now, NULL);
  is_other =
      st == TARN_E_NOT_FOUND ? was_replaced_before(a, had_rivals) : st == TARN_OK && now == LOST;
  if (is_other) {
    tn_log(a->job->table->env, TARN_LOG_WARN, "event=snapshot_replaced snapshot=%lld",
           (long long)a->next.id);
  }
  return is_other;
}

/* Who has read our snapshot may be about to build on it: none of its files may go any more. */
static void note_replaced(attempt *a) {
  run *r = a->run;
  r->replaced_id = r->replaced_id == 0 ? a->next.id : r->replaced_id;
  r->replaced = r->delta;
  tn_job_keep(a->job);
  forget_written(a);
}

/* ------------------------------------------------------------------ one attempt */

static tarn_status make_changes(attempt *a, tarn_error *err) {
  const tn_attempt_request *request = a->request;
  if (request->changes != NULL) {
    a->changes = *request->changes;
  } else if (request->overwrite != NULL) {
    return tn_overwrite_changes(a->job, request->overwrite, a->has_latest ? &a->latest : NULL,
                                &a->arena, &a->overwritten, &a->changes, err);
  }
  return TARN_OK;
}

/* The same message wherever it fails. Rule: FileStoreCommitImpl#tryCommitOnce. */
static tarn_status tell_preparing(const attempt *a, tarn_status st, tarn_error *err) {
  return tn_error_context(err, st,
                          "Exception occurs when preparing snapshot #%lld by user %s with hash "
                          "%lld and kind %s",
                          (long long)a->next.id, a->job->options->user,
                          (long long)a->request->identifier, tn_commit_kind_name(a->request->kind));
}

static tarn_status try_once(attempt *a, outcome *out, int64_t *id, tarn_error *err) {
  tarn_status st;
  bool has_work, is_unsure;
  *out = LOST;
  TN_TRY(read_latest(a, err));
  TN_TRY(find_ours(a, id, err));
  if (*id != 0) {
    *out = PUBLISHED;
    return TARN_OK;
  }
  st = find_built_on_ours(a, id, &is_unsure, err);
  if (st != TARN_OK || *id != 0) {
    *out = is_unsure ? UNKNOWN : *id != 0 ? PUBLISHED : LOST;
    return st;
  }
  if (a->request->compacts_manifests && !a->has_latest) {
    *out = NOTHING_TO_DO;
    return TARN_OK;
  }
  TN_TRY(read_schema(a, err));
  if (a->has_latest && a->latest.id == INT64_MAX) {
    return tn_fail(err, TARN_E_LIMIT, "snapshot ids are used up");
  }
  set_origin(a, &a->next);
  TN_TRY(make_changes(a, err));
  TN_TRY(tn_conflicts_find_strict(a->job, a->next.id, a->request->kind, &a->arena, err));
  TN_TRY(check(a, err));
  st = prepare(a, &has_work, err);
  if (st != TARN_OK) {
    return st == TARN_E_NOMEM || st == TARN_E_CANCELLED ? st : tell_preparing(a, st, err);
  }
  if (!has_work) {
    *out = NOTHING_TO_DO;
    return TARN_OK;
  }
  TN_TRY(publish(a, out, err));
  if (*out == PUBLISHED) {
    TN_TRY(leave_dead_branch(a, out, err));
  }
  if (*out == PUBLISHED) {
    tn_latest_write(a->job->table, a->next.id);
    *id = a->next.id;
    if (was_replaced(a)) {
      note_replaced(a);
      *out = LOST;
      *id = 0;
    }
  }
  return TARN_OK;
}

/* Files of the snapshot that was built on are gone: has it expired behind newer ones? */
static bool has_expired(const attempt *a) {
  const tn_table *table = a->job->table;
  int64_t id;
  return a->has_latest &&
         tn_snapshot_latest_id(table->env, table->storage, table->branch_path, &id, NULL) ==
             TARN_OK &&
         id != a->latest.id;
}

static tarn_status attempt_once(run *r, outcome *out, int64_t *id, tarn_error *err) {
  tn_mem *mem = &r->job->table->env->mem;
  attempt a = {.run = r, .job = r->job, .request = r->request};
  tarn_status st;
  *id = 0;
  tn_arena_init(&a.arena, mem, TN_PLAN_ARENA_BYTES);
  tn_buf_init(&a.json, mem, SNAPSHOT_LIMIT);
  st = try_once(&a, out, id, err);
  if (st == TARN_E_NOT_FOUND && *out == LOST && has_expired(&a)) { /* the race is lost */
    tn_error_reset(err);
    st = TARN_OK;
  }
  tn_buf_reset(&a.json);
  tn_base_reset(&a.base);
  tn_base_reset(&a.overwritten);
  tn_schema_release(a.schema);
  tn_arena_reset(&a.arena);
  return st;
}

/* ------------------------------------------------------------------ all of them */

/* Java's words, but with the time that it took, where Java tells the timeout. */
static tarn_status give_up(const run *r, int64_t retries, int64_t took_ms, bool is_late,
                           tarn_error *err) {
  return tn_fail(err, is_late ? TARN_E_TIMEOUT : TARN_E_CONFLICT,
                 "%s: Commit failed after %lld millis with %lld retries, there maybe exist commit "
                 "conflicts between multiple jobs: commit again, or raise '%s'",
                 r->job->table->full_name, (long long)took_ms, (long long)retries,
                 is_late ? "commit.timeout" : "commit.max-retries");
}

/* The files of the job, by how its last attempt ended. */
static void end_files(run *r, outcome out) {
  if (out == UNKNOWN || (out == PUBLISHED && !r->is_twins)) {
    tn_job_keep(r->job);
  } else {
    tn_job_discard(r->job, TN_WRITTEN_ALL);
  }
}

static tarn_status try_all(run *r, tn_commit_result *result, outcome *out, tarn_error *err) {
  const tn_commit_settings *s = &r->job->settings;
  int64_t started = tn_env_now_ms(r->job->table->env);
  for (int64_t retry = 0;; retry++) {
    int64_t id = 0;
    int64_t took_ms;
    tarn_status st = attempt_once(r, out, &id, err);
    result->n_attempts++;
    if (*out == PUBLISHED) {
      result->first_id = result->first_id == 0 ? id : result->first_id;
      result->last_id = id;
    }
    result->is_unsure = *out == UNKNOWN;
    if (st != TARN_OK || *out != LOST) {
      result->is_unsure |= st != TARN_OK && r->replaced_id != 0;
      return st;
    }
    tn_job_discard(r->job, TN_WRITTEN_ATTEMPT);
    took_ms = tn_env_now_ms(r->job->table->env) - started;
    result->is_unsure = r->replaced_id != 0;
    if (took_ms > s->timeout_ms || retry >= s->max_retries) {
      return give_up(r, retry, took_ms, took_ms > s->timeout_ms, err);
    }
    TN_TRY(tn_job_wait(r->job, retry, err));
    result->is_unsure = false;
  }
}

tarn_status tn_attempt_run(tn_commit_job *job, const tn_attempt_request *request,
                           tn_commit_result *result, tarn_error *err) {
  run r = {.job = job, .request = request, .delta = {NULL, -1}, .changelog = {NULL, -1}};
  outcome out = LOST;
  tarn_status st;
  tn_arena_init(&r.merged_arena, &job->table->env->mem, TN_PLAN_ARENA_BYTES);
  st = try_all(&r, result, &out, err);
  end_files(&r, out);
  tn_arena_reset(&r.merged_arena);
  return st;
}
