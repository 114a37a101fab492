/* bucket.c - one bucket: its tree, picks, and the sum of what tasks did. */
#include "compact/bucket.h"

#include <stdio.h>

#include "compact/append_picks.h"
#include "compact/task.h"
#include "model/level_mark.h"

#define ARENA_LIMIT ((size_t)8 << 30)
#define TASK_ARENA_LIMIT ((size_t)4 << 30)
/* Records of files that left are dropped when they hold more than the others, and more than this.
 */
#define RENEW_BYTES ((size_t)256 << 10)

struct tn_bucket_compactor {
  tn_bucket_setup setup;
  tarn_env *env;
  tn_slice partition;
  int32_t bucket;
  bool is_append;
  tn_arena arena;       /* of what lives as long as the bucket */
  tn_arena files;       /* records of files */
  size_t renewed_bytes; /* of `files` when they were last made anew */
  tn_levels *levels;    /* primary key */
  tn_strategy strategy;
  tn_append_queue queue; /* append tables */
  tn_vectors vectors;
  bool has_task;

  /* Since the last take. */
  tn_arena results;
  tn_map before, after; /* name -> tn_data_file */
  tn_task_files changelog;
};

static bool is_there(const tn_map *map, tn_slice name) {
  const tn_map_entry *entry = tn_map_find(map, name);
  return entry != NULL && entry->value.ptr != NULL;
}

/* ------------------------------------------------------------------ life */

static tarn_status copy_files(tn_arena *arena, const tn_data_file *const *files, int64_t n,
                              const tn_data_file ***out, tarn_error *err) {
  const tn_data_file **list = tn_arena_calloc(arena, (size_t)n, sizeof(*list));
  if (list == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < n; i++) {
    tn_data_file *copy = tn_arena_alloc(arena, sizeof(*copy));
    if (copy == NULL) {
      return tn_oom(err);
    }
    TN_TRY(tn_data_file_copy(arena, files[i], true, copy, err));
    list[i] = copy;
  }
  *out = list;
  return TARN_OK;
}

/* The tree, or the queue, of files whose records are copied to b->files. */
static tarn_status plant(tn_bucket_compactor *b, const tn_data_file *const *files, int64_t n,
                         tarn_error *err) {
  const tn_compact_options *o = b->setup.options;
  const tn_data_file **copies;
  TN_TRY(copy_files(&b->files, files, n, &copies, err));
  if (b->is_append) {
    tn_append_queue_init(&b->queue, &b->env->mem, o);
    return tn_append_queue_add(&b->queue, copies, n, err);
  }
  return tn_levels_create(&b->env->mem, b->setup.table->schema, o->num_levels, o->checks_overlap,
                          copies, n, &b->levels, err);
}

/* What a newer schema has beside would be lost (newest.h): the last guard of those who forget. */
static tarn_status check_schemas(const tn_table *table, const tn_bucket_state *state,
                                 tarn_error *err) {
  for (int32_t i = 0; i < state->n_files; i++) {
    const tn_data_file *file = &state->files[i];
    if (file->schema_id > table->schema->id) {
      return tn_fail(err, TARN_E_STATE,
                     "%s: bucket %d has a file of schema %lld (%.*s), and is compacted with schema "
                     "%lld: what is new would be lost",
                     table->full_name, (int)state->bucket, (long long)file->schema_id,
                     TN_SLICE_ARG(file->file_name), (long long)table->schema->id);
    }
  }
  return TARN_OK;
}

static tarn_status open_bucket(tn_bucket_compactor *b, const tn_bucket_state *state,
                               tarn_error *err) {
  const tn_data_file **files;
  TN_TRY(check_schemas(b->setup.table, state, err));
  if (!tn_arena_slice(&b->arena, state->partition, &b->partition)) {
    return tn_oom(err);
  }
  tn_vectors_init(&b->vectors, b->setup.table, b->partition, b->bucket);
  if (b->setup.options->deletion_vectors) {
    TN_TRY(tn_vectors_load(&b->vectors, state->vectors, state->n_vectors, state->files,
                           state->n_files, err));
  }
  files = tn_arena_calloc(&b->results, (size_t)state->n_files, sizeof(*files));
  if (files == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < state->n_files; i++) {
    files[i] = &state->files[i];
  }
  TN_TRY(plant(b, files, state->n_files, err));
  tn_arena_reset(&b->results);
  b->renewed_bytes = b->files.held_bytes;
  return TARN_OK;
}

tarn_status tn_bucket_compactor_create(const tn_bucket_setup *setup, const tn_bucket_state *state,
                                       tn_bucket_compactor **out, tarn_error *err) {
  tarn_env *env = setup->table->env;
  tn_bucket_compactor *b = tn_calloc(&env->mem, 1, sizeof(*b));
  tarn_status st;
  *out = NULL;
  if (b == NULL) {
    return tn_oom(err);
  }
  b->setup = *setup;
  b->env = env;
  b->bucket = state->bucket;
  b->is_append = !setup->table->facts.has_primary_key;
  tn_table_retain(setup->table);
  tn_arena_init(&b->arena, &env->mem, ARENA_LIMIT);
  tn_arena_init(&b->files, &env->mem, ARENA_LIMIT);
  tn_arena_init(&b->results, &env->mem, ARENA_LIMIT);
  tn_map_init(&b->before, &env->mem);
  tn_map_init(&b->after, &env->mem);
  tn_strategy_init(&b->strategy, setup->options);
  st = tn_table_fault(setup->table, open_bucket(b, state, err), err);
  if (st != TARN_OK) {
    tn_bucket_compactor_free(b);
    return st;
  }
  *out = b;
  return TARN_OK;
}

/* What tasks made and nobody took goes. */
static void remove_results(tn_bucket_compactor *b) {
  for (size_t i = 0; i < b->after.count; i++) {
    const tn_map_entry *e = &b->after.entries[i];
    if (e->value.ptr != NULL && !is_there(&b->before, e->key)) {
      tn_data_file_delete(b->setup.table, b->partition, b->bucket, e->value.ptr);
    }
  }
  for (size_t i = 0; i < b->changelog.n; i++) {
    tn_data_file_delete(b->setup.table, b->partition, b->bucket, &b->changelog.items[i]);
  }
}

static void forget_results(tn_bucket_compactor *b) {
  tn_map_reset(&b->before);
  tn_map_reset(&b->after);
  tn_map_init(&b->before, &b->env->mem);
  tn_map_init(&b->after, &b->env->mem);
  b->changelog = (tn_task_files){0};
  tn_arena_reset(&b->results);
}

void tn_bucket_compactor_free(tn_bucket_compactor *b) {
  if (b != NULL) {
    tn_table *table = b->setup.table;
    remove_results(b);
    forget_results(b);
    tn_map_reset(&b->before);
    tn_map_reset(&b->after);
    tn_vectors_reset(&b->vectors);
    tn_levels_free(b->levels);
    tn_append_queue_free(&b->queue);
    tn_arena_reset(&b->files);
    tn_arena_reset(&b->arena);
    tn_free(&b->env->mem, b);
    tn_table_release(table);
  }
}

/* ------------------------------------------------------------------ picks */

tarn_status tn_bucket_compactor_add(tn_bucket_compactor *b, const tn_data_file *file,
                                    tarn_error *err) {
  const tn_data_file **copies;
  TN_TRY(copy_files(&b->files, &file, 1, &copies, err));
  return b->is_append ? tn_append_queue_add(&b->queue, copies, 1, err)
                      : tn_levels_add(b->levels, copies[0], err);
}

typedef struct file_check {
  const tn_bucket_compactor *b;
  int64_t now_ms;
  tarn_status status;
  tarn_error *err;
} file_check;

static bool has_expired_rows(void *ctx, const tn_data_file *file) {
  file_check *c = ctx;
  bool has_expired = false;
  if (c->status == TARN_OK) {
    c->status =
        tn_rewriter_has_expired(c->b->setup.rewriter, file, c->now_ms, &has_expired, c->err);
  }
  return has_expired;
}

static bool has_vector(void *ctx, const tn_data_file *file) {
  const file_check *c = ctx;
  return tn_vectors_find(&c->b->vectors, file->file_name) != NULL;
}

static int32_t local_hour(const tarn_env *env, int64_t now_ms) {
  int64_t seconds = now_ms / 1000;
  seconds += tn_zone_offset_at(env->zone, seconds);
  return (int32_t)((seconds % 86400 + 86400) % 86400 / 3600);
}

static tarn_status pick_append(tn_bucket_compactor *b, bool is_full, tn_compact_task *t,
                               file_check *check, tarn_error *err) {
  tn_file_list list;
  TN_TRY(is_full ? tn_append_queue_pick_full(&b->queue,
                                             b->setup.options->deletion_vectors ? has_vector : NULL,
                                             check, &t->arena, &list, err)
                 : tn_append_queue_pick(&b->queue, &t->arena, &list, err));
  t->unit = (tn_compact_unit){.reason = is_full ? TN_PICK_FULL : TN_PICK_FILE_NUM,
                              .files = list.files,
                              .n_files = list.n_files};
  for (int64_t i = 0; i < list.n_files; i++) {
    t->unit.size_bytes += list.files[i]->file_size;
  }
  snprintf(t->reason, sizeof(t->reason), "reason=%s files=%lld bytes=%lld",
           is_full ? "full" : "file-num", (long long)list.n_files, (long long)t->unit.size_bytes);
  return TARN_OK;
}

static tarn_status pick_levels(tn_bucket_compactor *b, bool is_full, tn_compact_task *t,
                               file_check *check, tarn_error *err) {
  const tn_compact_options *o = b->setup.options;
  if (is_full) {
    tn_file_checks checks = {check, o->has_record_expiry ? has_expired_rows : NULL,
                             o->deletion_vectors ? has_vector : NULL};
    TN_TRY(tn_strategy_pick_full(&b->strategy, b->levels, &checks, &t->arena, &t->unit, err));
    TN_TRY(check->status);
  } else {
    TN_TRY(tn_strategy_pick(&b->strategy, b->levels, t->now_ms, local_hour(b->env, t->now_ms),
                            &t->arena, &t->unit, err));
  }
  tn_compact_unit_text(&t->unit, t->reason, sizeof(t->reason));
  return TARN_OK;
}

/* The runs of the levels beyond the output, as they are now. */
static tarn_status take_deeper(tn_bucket_compactor *b, tn_compact_task *t, tarn_error *err) {
  t->deeper = tn_arena_calloc(&t->arena, (size_t)b->levels->n_runs, sizeof(*t->deeper));
  if (t->deeper == NULL) {
    return tn_oom(err);
  }
  for (int64_t r = 0; r < b->levels->n_runs; r++) {
    const tn_level_run *run = &b->levels->runs[r];
    tn_rewrite_file *files;
    if (run->level <= t->unit.output_level) {
      continue;
    }
    files = tn_arena_calloc(&t->arena, (size_t)run->n_files, sizeof(*files));
    if (files == NULL) {
      return tn_oom(err);
    }
    for (int64_t i = 0; i < run->n_files; i++) {
      files[i].meta = run->files[i]->file;
      files[i].deletions = tn_vectors_find(&b->vectors, files[i].meta->file_name);
    }
    t->deeper[t->n_deeper++] = (tn_rewrite_run){files, (int32_t)run->n_files};
  }
  return TARN_OK;
}

static tarn_status pick(tn_bucket_compactor *b, bool is_full, tn_compact_task *t, tarn_error *err) {
  file_check check = {b, t->now_ms, TARN_OK, err};
  if (b->is_append) {
    return pick_append(b, is_full, t, &check, err);
  }
  TN_TRY(pick_levels(b, is_full, t, &check, err));
  t->top_level = tn_levels_max(b->levels);
  return b->setup.options->needs_lookup && t->unit.n_files > 0 ? take_deeper(b, t, err) : TARN_OK;
}

tarn_status tn_bucket_compactor_pick(tn_bucket_compactor *b, bool is_full, tn_compact_task **out,
                                     tarn_error *err) {
  tn_compact_task *t;
  tarn_status st;
  *out = NULL;
  if (b->has_task) {
    return TN_BUG(err, "a compaction task is still running while another one is asked for");
  }
  t = tn_calloc(&b->env->mem, 1, sizeof(*t));
  if (t == NULL) {
    return tn_oom(err);
  }
  t->setup = b->setup;
  t->schema = b->setup.table->schema;
  t->partition = b->partition;
  t->bucket = b->bucket;
  t->vectors = &b->vectors;
  t->is_append = b->is_append;
  t->now_ms = tn_env_now_ms(b->env);
  tn_arena_init(&t->arena, &b->env->mem, TASK_ARENA_LIMIT);
  tn_map_init(&t->marks, &b->env->mem);
  tn_map_init(&t->rewritten, &b->env->mem);
  tn_map_init(&t->made, &b->env->mem);
  st = tn_table_fault(b->setup.table, pick(b, is_full, t, err), err);
  if (st != TARN_OK || t->unit.n_files == 0) {
    tn_task_free(t);
    return st;
  }
  tn_log(b->env, TARN_LOG_DEBUG, "event=compaction_picked table=%s bucket=%d %s",
         b->setup.table->full_name, (int)b->bucket, t->reason);
  b->has_task = true;
  *out = t;
  return TARN_OK;
}

/* ------------------------------------------------------------------ results */

/* All that taking in a task needs and might fail: once it is there, nothing fails any more. */
typedef struct task_results {
  tn_data_file *before, *after; /* copies, as many as the task has */
  tn_dv **vectors;              /* one for each of the task's marks */
} task_results;

static bool comes_again(const tn_compact_task *t, tn_slice name) {
  for (size_t i = 0; i < t->after.n; i++) {
    if (tn_slice_equal(t->after.items[i].file_name, name)) {
      return true;
    }
  }
  return false;
}

/* Copies of files, and entries of their names. */
static tarn_status copy_results(tn_bucket_compactor *b, const tn_task_files *files, tn_map *map,
                                tn_data_file **out, tarn_error *err) {
  tn_data_file *copies = tn_arena_calloc(&b->results, files->n, sizeof(*copies));
  if (copies == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < files->n; i++) {
    tn_map_entry *entry;
    bool is_new;
    TN_TRY(tn_data_file_copy(&b->results, &files->items[i], true, &copies[i], err));
    TN_TRY(tn_map_put(map, copies[i].file_name, &entry, &is_new, err));
  }
  *out = copies;
  return TARN_OK;
}

/* Copies behind those that count. */
static tarn_status copy_changelog(tn_bucket_compactor *b, const tn_compact_task *t,
                                  tarn_error *err) {
  for (size_t i = 0; i < t->changelog.n; i++) {
    size_t at = b->changelog.n + i;
    if (!tn_arena_grow(&b->results, (void **)&b->changelog.items, &b->changelog.capacity, at,
                       sizeof(*b->changelog.items))) {
      return tn_oom(err);
    }
    TN_TRY(
        tn_data_file_copy(&b->results, &t->changelog.items[i], true, &b->changelog.items[at], err));
  }
  return TARN_OK;
}

static tarn_status build_vectors(tn_bucket_compactor *b, tn_compact_task *t, task_results *r,
                                 tarn_error *err) {
  r->vectors = tn_arena_calloc(&t->arena, t->marks.count, sizeof(*r->vectors));
  if (r->vectors == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < t->marks.count; i++) {
    TN_TRY(tn_vectors_reserve(&b->vectors, t->marks.entries[i].key, err));
    TN_TRY(tn_dv_builder_build(t->marks.entries[i].value.ptr, &r->vectors[i], err));
  }
  return TARN_OK;
}

/* The tree as it is then; the last thing that may fail. */
static tarn_status update_files(tn_bucket_compactor *b, tn_compact_task *t, tarn_error *err) {
  const tn_data_file **before, **after, **copies;
  before = tn_arena_calloc(&t->arena, t->before.n, sizeof(*before));
  after = tn_arena_calloc(&t->arena, t->after.n, sizeof(*after));
  if (before == NULL || after == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < t->before.n; i++) {
    before[i] = &t->before.items[i];
  }
  for (size_t i = 0; i < t->after.n; i++) {
    after[i] = &t->after.items[i];
  }
  TN_TRY(copy_files(&b->files, after, (int64_t)t->after.n, &copies, err));
  return b->is_append ? tn_append_queue_done(&b->queue, copies, (int64_t)t->after.n, err)
                      : tn_levels_update(b->levels, before, (int64_t)t->before.n, copies,
                                         (int64_t)t->after.n, err);
}

/* Rule: MergeTreeWriter#updateCompactResult. */
static void count_files(tn_bucket_compactor *b, const tn_compact_task *t, const task_results *r) {
  for (size_t i = 0; i < t->before.n; i++) {
    tn_slice name = r->before[i].file_name;
    tn_map_entry *made = tn_map_find(&b->after, name);
    if (made == NULL || made->value.ptr == NULL) {
      tn_map_find(&b->before, name)->value.ptr = &r->before[i];
      continue;
    }
    made->value.ptr = NULL;
    /* A file between two tasks; not one that only changed its level. */
    if (!is_there(&b->before, name) && !comes_again(t, name)) {
      tn_data_file_delete(b->setup.table, b->partition, b->bucket, &r->before[i]);
    }
  }
  for (size_t i = 0; i < t->after.n; i++) {
    tn_map_find(&b->after, r->after[i].file_name)->value.ptr = &r->after[i];
  }
  b->changelog.n += t->changelog.n;
}

static tarn_status take_in(tn_bucket_compactor *b, tn_compact_task *t, tarn_error *err) {
  task_results r = {0};
  tarn_status st;
  TN_TRY_TO(failed, copy_results(b, &t->before, &b->before, &r.before, err));
  TN_TRY_TO(failed, copy_results(b, &t->after, &b->after, &r.after, err));
  TN_TRY_TO(failed, copy_changelog(b, t, err));
  TN_TRY_TO(failed, build_vectors(b, t, &r, err));
  TN_TRY_TO(failed, update_files(b, t, err));
  count_files(b, t, &r);
  for (size_t i = 0; i < t->marks.count; i++) {
    tn_vectors_set(&b->vectors, t->marks.entries[i].key, r.vectors[i]);
  }
  for (size_t i = 0; i < t->rewritten.count; i++) {
    tn_vectors_set(&b->vectors, t->rewritten.entries[i].key, NULL);
  }
  tn_task_let_go(t);
  return TARN_OK;
failed:
  for (size_t i = 0; r.vectors != NULL && i < t->marks.count; i++) {
    tn_dv_release(r.vectors[i]);
  }
  return st;
}

tarn_status tn_bucket_compactor_finish(tn_bucket_compactor *b, tn_compact_task *t,
                                       tarn_error *err) {
  tarn_status st = TARN_OK;
  b->has_task = false;
  if (t->is_done) {
    st = take_in(b, t, err);
  }
  if (b->is_append && (!t->is_done || st != TARN_OK)) { /* the files wait again */
    tarn_status kept = tn_append_queue_add(&b->queue, t->unit.files, t->unit.n_files, NULL);
    st = st == TARN_OK && kept != TARN_OK ? tn_oom(err) : st;
  }
  tn_task_free(t);
  return tn_table_fault(b->setup.table, st, err);
}

/* ------------------------------------------------------------------ what is committed */

static tarn_status give_files(const tn_map *map, tn_arena *arena, tn_data_files *out,
                              tarn_error *err) {
  out->items = tn_arena_calloc(arena, map->count, sizeof(*out->items));
  out->n = 0;
  if (out->items == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < map->count; i++) {
    if (map->entries[i].value.ptr != NULL) {
      TN_TRY(tn_data_file_copy(arena, map->entries[i].value.ptr, true, &out->items[out->n], err));
      out->n++;
    }
  }
  return TARN_OK;
}

static tarn_status give_changelog(const tn_bucket_compactor *b, tn_arena *arena, tn_data_files *out,
                                  tarn_error *err) {
  out->items = tn_arena_calloc(arena, b->changelog.n, sizeof(*out->items));
  out->n = 0;
  if (out->items == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < b->changelog.n; i++) {
    TN_TRY(tn_data_file_copy(arena, &b->changelog.items[i], true, &out->items[out->n], err));
    out->n++;
  }
  return TARN_OK;
}

/* Deletions of a file; what does not say may have some. */
static int64_t count_deletes(const tn_data_files *files) {
  int64_t sum = 0;
  for (int32_t i = 0; i < files->n; i++) {
    const tn_data_file *f = &files->items[i];
    sum += f->has_delete_row_count ? f->delete_row_count : f->row_count;
  }
  return sum;
}

/* Is what was done right only if the levels are those that the tree has? Rows that come up were
 * looked for there; deletions that are gone had nothing left to delete. */
static bool rests_on_levels(const tn_bucket_compactor *b, const tn_commit_message *m) {
  bool has_risen = false;
  for (int32_t i = 0; i < m->compact_before.n && !has_risen; i++) {
    has_risen = m->compact_before.items[i].level == 0;
  }
  return !b->is_append && has_risen &&
         (b->setup.options->needs_lookup ||
          count_deletes(&m->compact_before) > count_deletes(&m->compact_after));
}

/* The mark of the tree's levels, with room for one entry before it; *out NULL: none. */
static tarn_status make_level_mark(const tn_bucket_compactor *b, tn_arena *arena,
                                   const tn_commit_message *m, tn_index_entry **out,
                                   tarn_error *err) {
  tn_level_mark mark = {0};
  *out = NULL;
  if (!rests_on_levels(b, m)) {
    return TARN_OK;
  }
  for (int64_t i = 0; i < b->levels->n_files; i++) {
    const tn_data_file *f = b->levels->files[i]->file;
    tn_level_mark_add(&mark, f->file_name, f->level);
  }
  *out = tn_arena_calloc(arena, 2, sizeof(**out));
  return *out != NULL ? tn_level_mark_put(&mark, arena, *out + 1, err) : tn_oom(err);
}

static void add_level_mark(tn_index_entry *mark, tn_index_files *list) {
  if (mark != NULL && list->n == 0) {
    *list = (tn_index_files){mark + 1, 1};
  } else if (mark != NULL) {
    mark[0] = list->items[0];
    *list = (tn_index_files){mark, 2};
  }
}

/* Records of the files that are left, in an arena of their own, when many have left. */
static tarn_status renew_files(tn_bucket_compactor *b, tarn_error *err) {
  tn_arena old = b->files;
  tn_levels *levels = b->levels;
  tn_append_queue queue = b->queue;
  tarn_status st;
  if (old.held_bytes < RENEW_BYTES || old.held_bytes / 4 < b->renewed_bytes) {
    return TARN_OK;
  }
  tn_arena_init(&b->files, &b->env->mem, ARENA_LIMIT);
  if (b->is_append) {
    st = plant(b, queue.files, queue.n_files, err);
  } else {
    const tn_data_file **files =
        tn_arena_calloc(&b->results, (size_t)levels->n_files, sizeof(*files));
    for (int64_t i = 0; files != NULL && i < levels->n_files; i++) {
      files[i] = levels->files[i]->file;
    }
    b->levels = NULL;
    st = files != NULL ? plant(b, files, levels->n_files, err) : tn_oom(err);
  }
  if (st == TARN_OK) {
    tn_levels_free(levels);
    tn_append_queue_free(&queue);
    tn_arena_reset(&old);
    b->renewed_bytes = b->files.held_bytes;
  } else { /* as it was; that it takes more memory than it could does not matter */
    tn_arena_reset(&b->files);
    tn_append_queue_free(&b->queue);
    b->files = old;
    b->levels = levels;
    b->queue = queue;
    tn_error_reset(err);
  }
  return TARN_OK;
}

tarn_status tn_bucket_compactor_take(tn_bucket_compactor *b, tn_arena *arena,
                                     tn_commit_message *message, bool *has_any, tarn_error *err) {
  tn_index_entry *mark;
  *has_any = false;
  if (b->has_task) {
    return TN_BUG(err, "the results of a bucket are asked for while a task runs");
  }
  TN_TRY(give_files(&b->before, arena, &message->compact_before, err));
  TN_TRY(give_files(&b->after, arena, &message->compact_after, err));
  TN_TRY(give_changelog(b, arena, &message->compact_changelog, err));
  TN_TRY(make_level_mark(b, arena, message, &mark, err));
  TN_TRY(tn_table_fault(b->setup.table,
                        tn_vectors_write(&b->vectors, arena, &message->compact_new_indexes,
                                         &message->compact_deleted_indexes, err),
                        err));
  add_level_mark(mark, &message->compact_deleted_indexes);
  *has_any = message->compact_before.n + message->compact_after.n + message->compact_changelog.n +
                 message->compact_new_indexes.n >
             0;
  forget_results(b);
  return renew_files(b, err);
}

/* ------------------------------------------------------------------ questions */

bool tn_bucket_compactor_should_wait(const tn_bucket_compactor *b) {
  return !b->is_append && tn_compact_waits_for_latest(b->setup.options, b->levels);
}

bool tn_bucket_compactor_should_wait_to_prepare(const tn_bucket_compactor *b) {
  return !b->is_append && tn_compact_waits_for_commit(b->setup.options, b->levels);
}

int32_t tn_bucket_compactor_level_0(const tn_bucket_compactor *b) {
  return b->is_append ? 0 : (int32_t)b->levels->n_level_0;
}

bool tn_bucket_compactor_is_behind(const tn_bucket_compactor *b) {
  return !b->is_append && tn_compact_is_pending(b->setup.options, b->levels, b->has_task);
}
