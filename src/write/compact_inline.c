/* compact_inline.c - a writer that compacts the buckets that it writes. */
#include "write/compact_inline.h"

#include "compact/newest.h"
#include "datafile/index_place.h"
#include "model/partition.h"
#include "plan/plan.h"
#include "write/compact_jobs.h"

#define BATCH_COMMIT INT64_MAX /* the identifier of batch jobs */

/* Jobs that a writer leaves behind; then it waits for the oldest one. */
#define MAX_AHEAD 64
/* Compactions of one bucket that are lost to others for one commit. */
#define MAX_LOST 32
#define PATH_LIMIT ((size_t)1 << 20)

struct tn_inline_bucket {
  tn_compact_job job;
  tn_bucket_compactor *compactor; /* NULL: lost, until the bucket is restored */
  int64_t snapshot_id;            /* that it comes from; 0: none */
  bool was_lost;                  /* the last one; its bucket is restored then */
  int32_t n_lost;                 /* compactions since a commit, or one that went well */
  bool is_full;                   /* what runs */
  tn_data_file_names names;       /* its own: compactions run beside the writer */
  size_t n_given;                 /* files of the bucket that the compactor knows */
  int64_t last_identifier;        /* of the last commit with files of it */
  bool has_last;
  bool has_results;     /* that no message has */
  bool was_passed_over; /* they missed a commit, because a job ran */
  bool has_picked;      /* for the commit that is prepared, the last time */
};

/* The table as compactions take it: the writer's own, or, once files of a newer schema were met,
 * the one with that. Buckets that were opened before go on with the older one. */
typedef struct rewriting {
  struct rewriting *older;
  tn_table *table; /* retained */
  tn_compact_options options;
  tn_rewriter *rewriter;
} rewriting;

struct tn_inline {
  tn_compact_options options; /* the writer's own */
  rewriting *newest;          /* as new as the files that were met; NULL: while it is made */
  tn_compact_jobs jobs;
  tarn_cancel cancel;               /* when the caller has none */
  bool forces;                      /* commit.force-compact */
  bool picks_early;                 /* buckets with few files may be picked, too */
  tn_open_bucket *ahead[MAX_AHEAD]; /* buckets whose jobs may be on their way: a ring */
  size_t n_begun, n_awaited;        /* of those */

  /* The prepare that goes on. */
  bool is_preparing, waits, is_full;
  bool is_last;    /* of a batch */
  tn_arena *arena; /* of the messages */

  /* What is visible of this user's commits: from the snapshots up to this one. */
  int64_t seen_snapshot;
  int64_t committed;
  bool has_committed;
};

/* ------------------------------------------------------------------ which tables */

static tarn_status compacts(const tn_write *w, bool *out, tarn_error *err) {
  const tn_table_facts *f = &w->table->facts;
  bool write_only, clusters;
  *out = false;
  TN_TRY(tn_options_bool(&w->table->options, "write-only", &write_only, err));
  TN_TRY(tn_options_bool(&w->table->options, "clustering.incremental", &clusters, err));
  /* Tables with row tracking have no buckets ("it only support bucket = -1"). */
  if (!w->options.compacts || write_only || w->options.columns != NULL || f->data_evolution ||
      f->row_tracking) {
    return TARN_OK;
  }
  *out = f->has_primary_key ? f->bucket_mode != TN_BUCKETS_POSTPONE
                            : f->bucket_mode == TN_BUCKETS_FIXED && !clusters;
  return TARN_OK;
}

/* From now on buckets are opened with this table. */
static tarn_status add_rewriting(tn_write *w, tn_table *table, tarn_error *err) {
  tn_inline *in = w->compaction;
  rewriting *r = tn_arena_calloc(&w->arena, 1, sizeof(*r));
  tn_rewriter_setup setup = {.table = table,
                             .spill_folder = w->options.spill_folder,
                             /* Rows that wait have half of the memory. */
                             .n_threads = 2 * tn_pool_threads(w->env->pool),
                             .cancel = w->options.cancel != NULL ? w->options.cancel : &in->cancel};
  if (r == NULL) {
    return tn_oom(err);
  }
  TN_TRY(tn_compact_options_read(table, &w->arena, &r->options, err));
  setup.options = &r->options;
  TN_TRY(tn_rewriter_create(&setup, &r->rewriter, err));
  r->table = tn_table_retain(table);
  r->older = in->newest;
  in->newest = r;
  return TARN_OK;
}

/* Files of a newer schema than that of the compactions: what it has beside would be lost. */
static tarn_status follow_schema(tn_write *w, const tn_data_file *files, int32_t n,
                                 tarn_error *err) {
  tn_table *own = w->compaction->newest->table, *table;
  int64_t newest = own->schema->id;
  tarn_status st;
  for (int32_t i = 0; i < n; i++) {
    newest = files[i].schema_id > newest ? files[i].schema_id : newest;
  }
  if (newest == own->schema->id) {
    return TARN_OK;
  }
  TN_TRY(tn_table_renew(own, newest, &table, err));
  if (table != own) {
    TN_TRY_TO(done, tn_table_check_alike(w->table, table, err));
    TN_TRY_TO(done, add_rewriting(w, table, err));
    tn_log(w->env, TARN_LOG_INFO, "event=compaction_schema table=%s from=%lld to=%lld",
           table->full_name, (long long)own->schema->id, (long long)table->schema->id);
  }
  st = TARN_OK;
done:
  tn_table_release(table);
  return st;
}

tarn_status tn_inline_create(tn_write *w, tarn_error *err) {
  tn_inline *in;
  bool is_wanted;
  TN_TRY(compacts(w, &is_wanted, err));
  if (!is_wanted) {
    return TARN_OK;
  }
  in = tn_arena_calloc(&w->arena, 1, sizeof(*in));
  if (in == NULL) {
    return tn_oom(err);
  }
  TN_TRY(tn_compact_options_read(w->table, &w->arena, &in->options, err));
  TN_TRY(tn_options_bool(&w->table->options, "commit.force-compact", &in->forces, err));
  in->picks_early = in->options.force_up_level_0 || in->options.has_optimization_interval ||
                    in->options.has_total_size_threshold ||
                    in->options.has_incremental_size_threshold;
  atomic_init(&in->cancel.is_set, false);
  TN_TRY(tn_compact_jobs_init(&in->jobs, w->env, err));
  w->compaction = in;
  return add_rewriting(w, w->table, err);
}

/* ------------------------------------------------------------------ buckets */

static void close_bucket(tn_write *w, tn_open_bucket *b) {
  tn_inline_bucket *x = b->compaction;
  tarn_status st;
  if (x == NULL) {
    return;
  }
  if (x->job.task != NULL) { /* it is done, or never ran */
    st = tn_bucket_compactor_finish(x->compactor, x->job.task, NULL);
    if (st != TARN_OK) {
      tn_log(w->env, TARN_LOG_WARN, "event=compaction_lost table=%s bucket=%d", w->table->full_name,
             (int)b->bucket);
    }
  }
  tn_bucket_compactor_free(x->compactor);
  tn_free(&w->env->mem, x->job.loss);
  tn_free(&w->env->mem, x);
  b->compaction = NULL;
}

static tarn_status check_file(const tn_write *w, const char *path, tarn_error *err) {
  return tn_storage_exists(w->table->storage, path)
             ? TARN_OK
             : tn_fail(err, TARN_E_NOT_FOUND,
                       "%s: compaction beside its writer: %s is gone, which the snapshot has",
                       w->table->full_name, path);
}

static tarn_status check_files(const tn_write *w, const tn_bucket_state *state, tn_arena *arena,
                               tarn_error *err) {
  tn_split split = {.files = (tn_data_file *)state->files, .n_files = state->n_files};
  tn_buf folder;
  tarn_status st;
  tn_buf_init(&folder, &w->env->mem, PATH_LIMIT);
  TN_TRY_TO(done, tn_bucket_path(w->table, state->partition, state->bucket, &folder, err));
  split.bucket_path = tn_arena_strndup(arena, (const char *)folder.data, folder.len);
  st = split.bucket_path != NULL ? TARN_OK : tn_oom(err);
  for (int32_t i = 0; i < state->n_files && st == TARN_OK; i++) {
    const char *path;
    TN_TRY_TO(done, tn_split_file_path(&split, i, arena, &path, err));
    TN_TRY_TO(done, tn_path_plain(arena, path, &path, err));
    st = check_file(w, path, err);
  }
  for (int32_t i = 0; i < state->n_vectors && st == TARN_OK; i++) {
    const char *path;
    TN_TRY_TO(done, tn_index_file_path(w->table, &state->vectors[i], arena, &path, err));
    st = check_file(w, path, err);
  }
done:
  tn_buf_reset(&folder);
  return st;
}

/* Files were gone before. Are those there that the latest snapshot has? Else they have not expired,
 * but are lost. (Or a newer snapshot has come and let them expire: NOT_FOUND makes the restore try
 * again with that.) */
static tarn_status check_losses(const tn_write *w, const tn_inline_bucket *x,
                                const tn_bucket_state *state, tarn_error *err) {
  tn_arena arena;
  tarn_status st;
  if (!x->was_lost || state->n_files == 0) {
    return TARN_OK;
  }
  tn_arena_init(&arena, &w->env->mem, TN_PLAN_ARENA_BYTES);
  st = check_files(w, state, &arena, err);
  tn_arena_reset(&arena);
  return st;
}

tarn_status tn_inline_open(tn_write *w, tn_open_bucket *b, int64_t snapshot_id,
                           const tn_data_file *files, int32_t n_files,
                           const tn_index_entry *vectors, int32_t n_vectors, tarn_error *err) {
  tn_inline *in = w->compaction;
  tn_bucket_setup setup;
  tn_bucket_state state = {b->partition, b->bucket, files, n_files, vectors, n_vectors};
  tn_inline_bucket *x = b->compaction;
  tarn_status st;
  if (in == NULL || (x != NULL && x->compactor != NULL && !b->must_restore)) {
    return TARN_OK;
  }
  TN_TRY(follow_schema(w, files, n_files, err));
  x = x != NULL ? x : tn_calloc(&w->env->mem, 1, sizeof(*x));
  if (x == NULL) {
    return tn_oom(err);
  }
  tn_bucket_compactor_free(x->compactor); /* of a snapshot that expired while it was read */
  x->compactor = NULL;
  TN_TRY(check_losses(w, x, &state, err));
  setup =
      (tn_bucket_setup){in->newest->table, in->newest->rewriter, &in->newest->options, &x->names};
  st = tn_bucket_compactor_create(&setup, &state, &x->compactor, err);
  if (st != TARN_OK && b->compaction == NULL) {
    tn_free(&w->env->mem, x);
    return st;
  }
  b->compaction = x;
  x->snapshot_id = snapshot_id;
  x->was_lost = x->was_lost && st != TARN_OK;
  return st;
}

/* Which of this user's commits are visible: in snapshots that came since the last look. */
static tarn_status look_for_commits(tn_write *w, tarn_error *err) {
  tn_inline *in = w->compaction;
  const tn_table *t = w->table;
  tn_arena arena;
  int64_t latest;
  tarn_status st = TARN_OK;
  TN_TRY(tn_snapshot_latest_id(t->env, t->storage, t->branch_path, &latest, err));
  tn_arena_init(&arena, &w->env->mem, SIZE_MAX);
  for (int64_t id = latest; id > in->seen_snapshot; id--) {
    tn_snapshot s;
    tn_arena_reset(&arena);
    st = tn_snapshot_read(t->env, t->storage, t->branch_path, id, &arena, &s, err);
    if (st != TARN_OK) {
      break;
    }
    if (s.commit_user != NULL && strcmp(s.commit_user, w->options.user) == 0) {
      in->committed = s.commit_identifier;
      in->has_committed = true;
      break;
    }
  }
  tn_arena_reset(&arena);
  if (st == TARN_E_NOT_FOUND) { /* older ones have expired */
    tn_error_reset(err);
    st = TARN_OK;
  }
  in->seen_snapshot = st == TARN_OK ? latest : in->seen_snapshot;
  return st;
}

/* Is all visible that was prepared of the bucket, as far as was looked? */
static bool is_visible(const tn_inline *in, const tn_inline_bucket *x) {
  return !x->has_last || (in->has_committed && x->last_identifier <= in->committed);
}

/* A bucket whose compaction was lost: its tree from the latest snapshot. */
static tarn_status restore_lost(tn_write *w, tn_open_bucket *b, tarn_error *err) {
  tn_inline_bucket *x = b->compaction;
  tarn_status st;
  if (!is_visible(w->compaction, x)) {
    TN_TRY(look_for_commits(w, err));
  }
  if (!is_visible(w->compaction, x)) {
    return TARN_OK;
  }
  b->must_restore = true;
  st = tn_restore(w, &b, 1, x->snapshot_id != 0, err);
  b->must_restore = false;
  TN_TRY(st);
  return x->compactor != NULL ? TARN_OK : tn_inline_open(w, b, 0, NULL, 0, NULL, 0, err);
}

/* The bucket's tree, with all of its files in it. *out NULL: there is none, as nothing can be
 * picked, or not yet again. */
static tarn_status grow(tn_write *w, tn_open_bucket *b, bool is_needed, tn_inline_bucket **out,
                        tarn_error *err) {
  tn_inline *in = w->compaction;
  int64_t least = w->is_key_value ? in->options.trigger : in->options.append_min_files;
  *out = NULL;
  if (b->compaction == NULL) {
    /* Files that need not wait for others can wait for the commit. */
    is_needed |= in->picks_early && in->is_preparing;
    if (b->files.n == 0 || (!is_needed && (int64_t)b->files.n < least)) {
      return TARN_OK;
    }
    TN_TRY(tn_inline_open(w, b, 0, NULL, 0, NULL, 0, err));
  }
  if (b->compaction->compactor == NULL) {
    TN_TRY(restore_lost(w, b, err));
    if (b->compaction->compactor == NULL) {
      return TARN_OK;
    }
  }
  for (; b->compaction->n_given < b->files.n; b->compaction->n_given++) {
    TN_TRY(tn_bucket_compactor_add(b->compaction->compactor,
                                   &b->files.items[b->compaction->n_given], err));
  }
  *out = b->compaction;
  return TARN_OK;
}

/* ------------------------------------------------------------------ jobs */

tarn_status tn_inline_check(tn_write *w, tarn_error *err) {
  tarn_status st;
  if (w->compaction == NULL) {
    return TARN_OK;
  }
  st = tn_compact_jobs_status(&w->compaction->jobs, err);
  return st == TARN_OK
             ? TARN_OK
             : tn_error_context(err, st, "%s: compaction beside its writer", w->table->full_name);
}

void tn_inline_saw(tn_write *w, int64_t snapshot_id) {
  if (w->compaction != NULL && w->compaction->seen_snapshot == 0) {
    w->compaction->seen_snapshot = snapshot_id;
  }
}

/* Files that a compaction needs are gone. If others have made snapshots since the tree was made,
 * they have compacted them away: then everything that no message has is dropped, but for the new
 * files. loss: what was said; else files of the table are lost. */
static tarn_status lose(tn_write *w, tn_open_bucket *b, const tarn_error *loss, tarn_error *err) {
  tn_inline_bucket *x = b->compaction;
  const tn_table *t = w->table;
  int64_t latest;
  TN_TRY(tn_snapshot_latest_id(t->env, t->storage, t->branch_path, &latest, err));
  if (latest == x->snapshot_id || ++x->n_lost > MAX_LOST) {
    if (err != NULL) {
      *err = *loss;
    }
    return tn_error_context(err, TARN_E_NOT_FOUND, "%s: compaction beside its writer",
                            t->full_name);
  }
  tn_log(w->env, TARN_LOG_INFO,
         "event=compaction_lost table=%s bucket=%d snapshot=%lld reason=\"%.200s\"", t->full_name,
         (int)b->bucket, (long long)latest, loss->message);
  tn_bucket_compactor_free(x->compactor);
  x->was_lost = true;
  x->compactor = NULL;
  x->n_given = 0;
  x->has_results = x->was_passed_over = false;
  b->wants_full |= x->is_full;
  return TARN_OK;
}

/* Take in what a job did. The tree may be lost then. */
static tarn_status sync(tn_write *w, tn_open_bucket *b, bool waits, tarn_error *err) {
  tn_inline *in = w->compaction;
  tn_inline_bucket *x = b->compaction;
  if (x->job.task != NULL && tn_compact_job_is_done(&in->jobs, &x->job, waits)) {
    tn_compact_task *task = x->job.task;
    x->job.task = NULL;
    x->job.state = TN_JOB_NONE;
    TN_TRY(tn_bucket_compactor_finish(x->compactor, task, err));
    if (x->job.loss != NULL) {
      TN_TRY(lose(w, b, x->job.loss, err));
    } else {
      x->has_results = true;
      x->n_lost = 0;
    }
  }
  return tn_inline_check(w, err);
}

/* The tree as grow() has it, with what a job did; made anew if that was lost. */
static tarn_status grow_synced(tn_write *w, tn_open_bucket *b, bool is_needed, bool waits,
                               tn_inline_bucket **out, tarn_error *err) {
  TN_TRY(grow(w, b, is_needed, out, err));
  if (*out != NULL) {
    TN_TRY(sync(w, b, waits, err));
    TN_TRY(grow(w, b, is_needed, out, err));
  }
  return TARN_OK;
}

static void remove_files(tn_write *w, const tn_commit_message *m, const tn_data_files *files) {
  for (int32_t i = 0; i < files->n; i++) {
    bool was_there = false;
    for (int32_t k = 0; k < m->compact_before.n && !was_there; k++) {
      was_there = tn_slice_equal(m->compact_before.items[k].file_name, files->items[i].file_name);
    }
    if (!was_there) {
      tn_data_file_delete(w->table, m->partition, m->bucket, &files->items[i]);
    }
  }
}

static void remove_compacted(tn_write *w, tn_open_bucket *b) {
  const tn_commit_message *m = b->compacted;
  if (m != NULL) {
    remove_files(w, m, &m->compact_after);
    remove_files(w, m, &m->compact_changelog);
    tn_index_files_remove(w->table, &m->compact_new_indexes);
    b->compacted = NULL;
  }
}

/* Results so far, for the commit that is prepared. Nothing is picked for that any more. */
static tarn_status take(tn_write *w, tn_open_bucket *b, tarn_error *err) {
  tn_inline *in = w->compaction;
  tn_inline_bucket *x = b->compaction;
  tn_commit_message *m;
  bool has_any;
  if (x == NULL || !x->has_results || b->compacted != NULL) {
    return TARN_OK;
  }
  x->was_passed_over = x->job.task != NULL;
  if (x->was_passed_over) {
    return TARN_OK;
  }
  m = tn_arena_calloc(in->arena, 1, sizeof(*m));
  if (m == NULL) {
    return tn_oom(err);
  }
  TN_TRY(tn_bucket_compactor_take(x->compactor, in->arena, m, &has_any, err));
  m->partition = b->partition;
  m->bucket = b->bucket;
  x->has_results = false;
  b->compacted = has_any ? m : NULL;
  if (w->options.ignores_previous) { /* no changelog is committed with an overwrite */
    remove_files(w, m, &m->compact_changelog);
    m->compact_changelog = (tn_data_files){NULL, 0};
  }
  if (in->is_last) {
    b->was_compacted |= has_any;
    close_bucket(w, b);
  }
  return TARN_OK;
}

/* Wait for the oldest job; what is known of its bucket takes less memory then. */
static tarn_status await_oldest(tn_write *w, tarn_error *err) {
  tn_inline *in = w->compaction;
  tn_open_bucket *b = in->ahead[in->n_awaited++ % MAX_AHEAD];
  tn_inline_bucket *x = b->compaction;
  if (x == NULL || x->job.task == NULL) {
    return TARN_OK;
  }
  TN_TRY(sync(w, b, true, err));
  return x->has_picked ? take(w, b, err) : TARN_OK;
}

static tarn_status pick(tn_write *w, tn_open_bucket *b, bool is_full, tarn_error *err) {
  tn_inline *in = w->compaction;
  tn_inline_bucket *x = b->compaction;
  tarn_error why;
  tarn_status st;
  if (x->job.task != NULL || x->compactor == NULL) {
    return TARN_OK;
  }
  tn_error_reset(&why);
  x->is_full = is_full;
  st = tn_bucket_compactor_pick(x->compactor, is_full, &x->job.task, &why);
  if (st == TARN_E_NOT_FOUND) { /* it looks into files, too */
    return lose(w, b, &why, err);
  }
  if (st != TARN_OK && err != NULL) {
    *err = why;
  }
  TN_TRY(st);
  if (x->job.task == NULL) {
    return TARN_OK;
  }
  tn_compact_job_start(&in->jobs, &x->job);
  if (in->n_begun - in->n_awaited == MAX_AHEAD) {
    TN_TRY(await_oldest(w, err));
  }
  in->ahead[in->n_begun++ % MAX_AHEAD] = b;
  return TARN_OK;
}

/* A flush of Java's writer, but for the files: it waits before a bucket gets one run too many. */
static tarn_status flushed(tn_write *w, tn_open_bucket *b, bool waits, tarn_error *err) {
  const tn_inline *in = w->compaction;
  tn_inline_bucket *x = b->compaction;
  waits |= x != NULL && x->compactor != NULL && x->n_given < b->files.n &&
           tn_bucket_compactor_should_wait(x->compactor);
  TN_TRY(grow_synced(w, b, false, waits, &x, err));
  if (x == NULL) {
    return TARN_OK;
  }
  if (in->is_preparing && (!in->waits || in->is_full)) {
    return TARN_OK; /* the next one is picked behind the commit, which has the results so far */
  }
  x->has_picked = in->is_preparing;
  return pick(w, b, false, err);
}

tarn_status tn_inline_flushed(tn_write *w, tn_open_bucket *b, tarn_error *err) {
  return w->compaction != NULL ? flushed(w, b, w->compaction->waits, err) : TARN_OK;
}

tarn_status tn_inline_compact(tn_write *w, tn_open_bucket *b, bool is_full, tarn_error *err) {
  tn_inline_bucket *x;
  if (w->compaction == NULL) {
    return TARN_OK;
  }
  TN_TRY(grow_synced(w, b, true, true, &x, err));
  return x != NULL ? pick(w, b, is_full, err) : TARN_OK;
}

/* ------------------------------------------------------------------ a commit */

/* Every so many commits what was written is compacted fully; 0: never. Rule:
 * GlobalFullCompactionSinkWrite. */
static int64_t full_interval(const tn_write *w) {
  const tn_compact_options *o = &w->compaction->options;
  return o->delta_commits == 0 && o->changelog_producer == TN_CHANGELOG_FULL_COMPACTION &&
                 !w->options.skips_full_compaction
             ? 1
             : o->delta_commits;
}

static bool is_full_due(const tn_write *w, int64_t identifier) {
  int64_t n = full_interval(w);
  return n > 0 && (identifier == BATCH_COMMIT || identifier % n == 0);
}

static tarn_status settle_bucket(tn_write *w, tn_open_bucket *b, tarn_error *err) {
  tn_inline *in = w->compaction;
  const tn_inline_bucket *x = b->compaction;
  if (in->is_full && b->wants_full) {
    tn_inline_bucket *grown;
    TN_TRY(grow_synced(w, b, true, true, &grown, err));
    if (grown != NULL) {
      b->wants_full = false;
      grown->has_picked = true;
      TN_TRY(pick(w, b, true, err));
    }
  } else if (b->compacted == NULL && (x != NULL ? !x->has_picked : b->files.n > 0)) {
    TN_TRY(flushed(w, b, in->waits, err));
  }
  return TARN_OK;
}

/* What a commit waits for: in place of a compaction that was lost the next one. */
static tarn_status await(tn_write *w, tn_open_bucket *b, bool waits, tarn_error *err) {
  tn_inline_bucket *x = b->compaction;
  TN_TRY(sync(w, b, waits, err));
  while (waits && x->compactor == NULL) { /* no more than MAX_LOST times */
    bool is_full = w->compaction->is_full && b->wants_full;
    tn_inline_bucket *grown;
    TN_TRY(grow(w, b, true, &grown, err));
    if (grown == NULL) { /* not all is visible yet that was prepared before */
      return TARN_OK;
    }
    b->wants_full &= !is_full;
    TN_TRY(pick(w, b, is_full, err));
    TN_TRY(sync(w, b, true, err));
  }
  return TARN_OK;
}

/* Buckets that are compacted once more, whether rows came or not. */
static tarn_status open_redone(tn_write *w, tarn_error *err) {
  const tn_router *r = &w->router;
  tn_open_bucket **buckets = tn_alloc(&w->env->mem, (r->n_must_restore + 1) * sizeof(*buckets));
  size_t n = 0;
  tarn_status st = TARN_OK;
  if (buckets == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < r->n_buckets; i++) {
    tn_open_bucket *b = r->buckets[i];
    if (b->is_redone && b->must_restore) {
      buckets[n++] = b;
    }
    b->is_redone = false;
  }
  st = n > 0 ? tn_restore(w, buckets, n, true, err) : TARN_OK;
  for (size_t i = 0; i < n && st == TARN_OK; i++) {
    buckets[i]->must_restore = false;
    w->router.n_must_restore--;
  }
  tn_free(&w->env->mem, (void *)buckets);
  return st;
}

tarn_status tn_inline_settle(tn_write *w, tarn_error *err) {
  tn_inline *in = w->compaction;
  const tn_router *r = &w->router;
  if (in == NULL) {
    return TARN_OK;
  }
  TN_TRY(open_redone(w, err));
  for (size_t i = 0; i < r->n_buckets; i++) {
    r->buckets[i]->wants_full |= full_interval(w) > 0 && r->buckets[i]->files.n > 0;
    TN_TRY(settle_bucket(w, r->buckets[i], err));
  }
  for (size_t i = 0; i < r->n_buckets; i++) {
    tn_open_bucket *b = r->buckets[i];
    tn_inline_bucket *x = b->compaction;
    if (x != NULL) {
      bool waits =
          in->waits || x->was_passed_over ||
          (x->compactor != NULL && tn_bucket_compactor_should_wait_to_prepare(x->compactor));
      TN_TRY(await(w, b, waits, err));
      x->has_picked = false;
      TN_TRY(take(w, b, err));
    }
  }
  return TARN_OK;
}

void tn_inline_begin_prepare(tn_write *w, int64_t identifier, tn_arena *arena) {
  tn_inline *in = w->compaction;
  if (in != NULL) {
    in->is_preparing = true;
    in->is_last = identifier == BATCH_COMMIT;
    in->is_full = is_full_due(w, identifier);
    in->waits = w->options.waits || in->is_last || in->is_full || in->forces ||
                (in->options.needs_lookup && in->options.lookup_wait);
    in->arena = arena;
  }
}

static void end_prepare(tn_inline *in) {
  in->is_preparing = in->waits = in->is_full = in->is_last = false;
  in->arena = NULL;
}

/* ------------------------------------------------------------------ buckets that are done */

static bool is_behind_commit(const tn_inline *in, const tn_inline_bucket *x) {
  return !x->has_last || (in->has_committed && x->last_identifier < in->committed);
}

/* Rule: AbstractFileStoreWrite#prepareCommit, its cleaner; MergeTreeWriter#compactNotCompleted. */
static tarn_status let_go(tn_write *w, tn_open_bucket *b, tarn_error *err) {
  tn_inline_bucket *x = b->compaction;
  if (b->wants_full || x->has_results || x->job.task != NULL ||
      !is_behind_commit(w->compaction, x)) {
    return TARN_OK;
  }
  TN_TRY(pick(w, b, false, err));
  if (x->job.task == NULL && x->compactor != NULL && !tn_bucket_compactor_is_behind(x->compactor)) {
    close_bucket(w, b);
  }
  return TARN_OK;
}

tarn_status tn_inline_prepared(tn_write *w, int64_t identifier, tarn_error *err) {
  tn_inline *in = w->compaction;
  const tn_router *r = &w->router;
  bool has_looked = false, has_waited;
  if (in == NULL) {
    return TARN_OK;
  }
  has_waited = in->waits;
  end_prepare(in);
  if (identifier == BATCH_COMMIT) { /* it was the only one */
    return TARN_OK;
  }
  for (size_t i = 0; i < r->n_buckets; i++) {
    tn_open_bucket *b = r->buckets[i];
    tn_inline_bucket *x;
    TN_TRY(grow(w, b, true, &x, err));
    x = b->compaction;
    if (x == NULL) {
      continue;
    }
    x->n_given = 0;
    x->n_lost = 0; /* beside a busy compaction each commit may lose one */
    if (b->files.n > 0 || b->changelog_files.n > 0 || b->compacted != NULL) {
      x->last_identifier = identifier;
      x->has_last = true;
      if (!has_waited) {
        TN_TRY(pick(w, b, false, err));
      }
      continue;
    }
    if (!has_looked) {
      TN_TRY(look_for_commits(w, err));
      has_looked = true;
    }
    TN_TRY(let_go(w, b, err));
  }
  return TARN_OK;
}

void tn_inline_abandon(tn_write *w) {
  for (size_t i = 0; w->compaction != NULL && i < w->router.n_buckets; i++) {
    remove_compacted(w, w->router.buckets[i]);
  }
}

void tn_inline_reset(tn_write *w) {
  tn_inline *in = w->compaction;
  if (in == NULL) {
    return;
  }
  atomic_store(&in->cancel.is_set, true);
  tn_compact_jobs_stop(&in->jobs);
  for (size_t i = 0; i < w->router.n_buckets; i++) {
    close_bucket(w, w->router.buckets[i]);
  }
  tn_compact_jobs_forgive(&in->jobs);
  atomic_store(&in->cancel.is_set, false);
  in->n_begun = in->n_awaited = 0;
  end_prepare(in);
}

/* ------------------------------------------------------------------ once more */

tarn_status tn_inline_note_redo(const tn_write *w, tn_inline_redo **out, size_t *n,
                                tarn_error *err) {
  const tn_inline *in = w->compaction;
  *out = NULL;
  *n = 0;
  if (in == NULL || !(in->options.needs_lookup || full_interval(w) > 0)) {
    return TARN_OK;
  }
  *out = tn_alloc(&w->env->mem, (w->router.n_buckets + 1) * sizeof(**out));
  if (*out == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < w->router.n_buckets; i++) {
    const tn_open_bucket *b = w->router.buckets[i];
    if (b->compaction != NULL || b->was_compacted || b->is_redone) {
      (*out)[(*n)++] = (tn_inline_redo){b->partition, b->bucket};
    }
  }
  return TARN_OK;
}

tarn_status tn_inline_redo_all(tn_write *w, const tn_inline_redo *redo, size_t n, tarn_error *err) {
  for (size_t i = 0; i < n; i++) {
    uint32_t number;
    TN_TRY(tn_partition_number(w, redo[i].partition, &number, err));
    TN_TRY(tn_open_bucket_number(w, number, redo[i].bucket, &number, err));
    w->router.buckets[number]->is_redone = true;
    w->router.buckets[number]->wants_full = full_interval(w) > 0;
  }
  return TARN_OK;
}

void tn_inline_get_stats(const tn_write *w, tn_write_stats *out) {
  tn_inline *in = w->compaction;
  if (in == NULL) {
    return;
  }
  tn_compact_jobs_counts(&in->jobs, &out->compactions);
  for (size_t i = 0; i < w->router.n_buckets; i++) {
    const tn_inline_bucket *x = w->router.buckets[i]->compaction;
    if (x != NULL && x->compactor != NULL) {
      int64_t n = tn_bucket_compactor_level_0(x->compactor);
      out->n_trees++;
      out->n_level_0 += n;
      out->max_level_0 = n > out->max_level_0 ? n : out->max_level_0;
    }
  }
}

void tn_inline_free(tn_write *w) {
  if (w->compaction != NULL) {
    tn_inline_reset(w);
    for (const rewriting *r = w->compaction->newest; r != NULL; r = r->older) {
      tn_rewriter_free(r->rewriter);
      tn_table_release(r->table);
    }
    tn_compact_jobs_reset(&w->compaction->jobs, &w->env->mem);
    w->compaction = NULL;
  }
}
