/* bucketless.c - append tables without buckets: small files of a partition, and those with many
 * deleted rows, are put together.
 *
 *   partition -> files that are worth it -> tasks -> new files
 *             -> index files of deletion vectors without those of the files that left
 *
 * Rule: org.apache.paimon.append.{AppendCompactCoordinator,AppendCompactTask},
 * deletionvectors.append.AppendDeleteFileMaintainer; spec: compaction, 13.2.
 */
#include <stdio.h>

#include "compact/append_picks.h"
#include "datafile/index_place.h"
#include "dedicated/run.h"
#include "index/deletion_vector_write.h"

#define TEXT_LIMIT ((size_t)1 << 30)
/* A full compaction closes a task behind so many output files, so that others run beside it. */
#define TASK_TARGETS 4

/* Files that are put together. */
typedef struct concat_job {
  struct concat_part *part;
  tn_rewrite_file *files;
  int32_t n_files;
  int64_t n_bytes;
  tn_data_file_names names;
  tn_arena arena; /* of the result */
  tn_rewrite_result result;
} concat_job;

/* A partition, with what becomes of it. */
typedef struct concat_part {
  const tn_live_bucket *bucket;
  tn_data_file *files;
  tn_small_file *small; /* parallel to files */
  tn_map vectors;       /* name of a data file -> tn_dv_range, of files that have one */
  size_t first_job, n_jobs;
} concat_part;

typedef struct portion {
  tn_compact_run_state *run;
  tn_arena arena;
  concat_part **parts;
  size_t n_parts, part_room;
  concat_job **jobs;
  size_t n_jobs, job_room;
  tn_buf picks;
  int64_t index_bytes;      /* target size of an index file */
  tn_data_file_names names; /* of index files */
} portion;

/* ------------------------------------------------------------------ picks */

/* Which vector, in which index file, each file has. */
static tarn_status find_vectors(portion *p, concat_part *part, tarn_error *err) {
  const tn_live_bucket *b = part->bucket;
  tn_map places; /* name -> number of the file */
  tarn_status st = TARN_OK;
  tn_map_init(&places, &p->run->env->mem);
  for (int64_t i = 0; i < b->n_entries; i++) {
    tn_map_entry *slot;
    part->small[i].file = &part->files[i];
    TN_TRY_TO(done, tn_map_put(&places, part->files[i].file_name, &slot, NULL, err));
    slot->value.num = i;
  }
  for (int32_t k = 0; k < b->n_vectors; k++) {
    const tn_index_entry *e = &b->vectors[k];
    const tn_dv_range *ranges = e->dv_ranges.items;
    for (int64_t i = 0; e->has_dv_ranges && i < e->dv_ranges.count; i++) {
      const tn_map_entry *place = tn_map_find(&places, ranges[i].data_file);
      tn_map_entry *slot;
      if (place == NULL) {
        continue; /* of a file that is gone */
      }
      part->small[place->value.num].index_file = e->file_name;
      part->small[place->value.num].has_cardinality = ranges[i].has_cardinality;
      part->small[place->value.num].cardinality = ranges[i].cardinality;
      TN_TRY_TO(done, tn_map_put(&part->vectors, ranges[i].data_file, &slot, NULL, err));
    }
  }
done:
  tn_map_reset(&places);
  return st;
}

/* files: of the part, n of them. */
static tarn_status add_job(portion *p, concat_part *part, const tn_data_file *const *files,
                           int64_t n, const char *reason, tarn_error *err) {
  concat_job *job = tn_arena_calloc(&p->arena, 1, sizeof(*job));
  tn_compact_facts facts = {.n_files = (int32_t)n, .n_level_0 = (int32_t)n, .files = files};
  char text[128];
  if (job == NULL || n > INT32_MAX ||
      !tn_arena_grow(&p->arena, (void **)&p->jobs, &p->job_room, p->n_jobs, sizeof(*p->jobs))) {
    return tn_oom(err);
  }
  job->files = tn_arena_calloc(&p->arena, (size_t)n, sizeof(*job->files));
  if (job->files == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < n; i++) {
    job->files[job->n_files++].meta = files[i];
    job->n_bytes += files[i]->file_size;
  }
  job->part = part;
  tn_arena_init(&job->arena, &p->run->env->mem, TN_PLAN_ARENA_BYTES);
  p->jobs[p->n_jobs++] = job;
  part->n_jobs++;
  snprintf(text, sizeof(text), "reason=%s files=%lld bytes=%lld", reason, (long long)n,
           (long long)job->n_bytes);
  tn_log(p->run->env, TARN_LOG_DEBUG, "event=compaction_picked table=%s bucket=%d %s",
         p->run->table->full_name, (int)part->bucket->bucket, text);
  facts.reason = text;
  facts.n_bytes = job->n_bytes;
  return tn_run_tell_pick(p->run, part->bucket->partition, part->bucket->bucket, &facts, &p->picks,
                          err);
}

/* All files but those that are large and whole, in their order. */
static tarn_status pick_full(portion *p, concat_part *part, tarn_error *err) {
  const tn_compact_options *o = &p->run->options;
  int64_t n_files = part->bucket->n_entries, n = 0, begin = 0, bytes = 0, all = 0;
  const tn_data_file **files = tn_arena_calloc(&p->arena, (size_t)n_files, sizeof(*files));
  bool has_vectors = false;
  if (files == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < n_files; i++) {
    const tn_small_file *s = &part->small[i];
    if (o->force_rewrite_all_files || s->file->file_size < o->small_file_bytes ||
        s->index_file.len > 0) {
      files[n++] = s->file;
      all += s->file->file_size;
      has_vectors = has_vectors || s->index_file.len > 0;
    }
  }
  if (n == 0 || (n == 1 && !has_vectors && !o->force_rewrite_all_files)) {
    return TARN_OK;
  }
  for (int64_t i = 0; i < n; i++) {
    bytes += files[i]->file_size;
    all -= files[i]->file_size;
    if (i + 1 == n ||
        (bytes / TASK_TARGETS >= o->target_file_bytes && all >= o->target_file_bytes)) {
      TN_TRY(add_job(p, part, files + begin, i + 1 - begin, "full", err));
      begin = i + 1;
      bytes = 0;
    }
  }
  return TARN_OK;
}

static tarn_status pick_small(portion *p, concat_part *part, tarn_error *err) {
  tn_small_files small;
  tn_file_list *tasks;
  int64_t n;
  tarn_status st;
  tn_small_files_init(&small, &p->run->env->mem, &p->run->options);
  TN_TRY_TO(done, tn_small_files_add(&small, part->small, part->bucket->n_entries, err));
  TN_TRY_TO(done, tn_small_files_pick(&small, &p->arena, &tasks, &n, err));
  for (int64_t i = 0; i < n; i++) {
    TN_TRY_TO(done, add_job(p, part, tasks[i].files, tasks[i].n_files, "small-files", err));
  }
done:
  tn_small_files_free(&small);
  return st;
}

static tarn_status pick_partition(portion *p, const tn_live_bucket *bucket, tarn_error *err) {
  concat_part *part = tn_arena_calloc(&p->arena, 1, sizeof(*part));
  if (part == NULL ||
      !tn_arena_grow(&p->arena, (void **)&p->parts, &p->part_room, p->n_parts, sizeof(*p->parts))) {
    return tn_oom(err);
  }
  part->bucket = bucket;
  part->first_job = p->n_jobs;
  tn_map_init(&part->vectors, &p->run->env->mem);
  p->parts[p->n_parts++] = part;
  part->small = tn_arena_calloc(&p->arena, (size_t)bucket->n_entries, sizeof(*part->small));
  if (part->small == NULL) {
    return tn_oom(err);
  }
  TN_TRY(tn_live_bucket_files(bucket, &p->arena, &part->files, err));
  TN_TRY(find_vectors(p, part, err));
  return p->run->q->is_full ? pick_full(p, part, err) : pick_small(p, part, err);
}

/* ------------------------------------------------------------------ rewriting */

static tarn_status load_vector(const tn_table *table, const tn_index_entry *e,
                               const tn_dv_range *range, tn_arena *arena, tn_dv **out,
                               tarn_error *err) {
  tn_dv_place place = {NULL, range->offset, range->length,
                       range->has_cardinality ? range->cardinality : -1};
  TN_TRY(tn_index_file_path(table, e, arena, &place.path, err));
  if (range->offset < 0 || range->length < 0) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: deletion vector of %.*s at %lld, %lld bytes",
                   place.path, TN_SLICE_ARG(range->data_file), (long long)range->offset,
                   (long long)range->length);
  }
  return tn_dv_load(table->env, table->storage, &place, out, err);
}

static tarn_status load_vectors(const portion *p, concat_job *job, tarn_error *err) {
  const concat_part *part = job->part;
  const tn_live_bucket *b = part->bucket;
  tn_map files;
  tarn_status st = TARN_OK;
  if (part->vectors.count == 0) {
    return TARN_OK;
  }
  tn_map_init(&files, &p->run->env->mem);
  for (int32_t i = 0; i < job->n_files; i++) {
    tn_map_entry *slot;
    TN_TRY_TO(done, tn_map_put(&files, job->files[i].meta->file_name, &slot, NULL, err));
    slot->value.ptr = &job->files[i];
  }
  for (int32_t k = 0; k < b->n_vectors; k++) {
    const tn_dv_range *ranges = b->vectors[k].dv_ranges.items;
    for (int64_t i = 0; b->vectors[k].has_dv_ranges && i < b->vectors[k].dv_ranges.count; i++) {
      const tn_map_entry *slot = tn_map_find(&files, ranges[i].data_file);
      if (slot != NULL) {
        tn_rewrite_file *file = slot->value.ptr;
        tn_dv_release(file->deletions);
        file->deletions = NULL;
        TN_TRY_TO(done, load_vector(p->run->table, &b->vectors[k], &ranges[i], &job->arena,
                                    &file->deletions, err));
      }
    }
  }
done:
  tn_map_reset(&files);
  return st;
}

static tarn_status run_job(void *ctx, int64_t i, tarn_error *err) {
  portion *p = ctx;
  concat_job *job = p->jobs[i];
  const tn_concat_request request = {.partition = job->part->bucket->partition,
                                     .bucket = job->part->bucket->bucket,
                                     .files = job->files,
                                     .n_files = job->n_files,
                                     .names = &job->names};
  tarn_status st = load_vectors(p, job, err);
  if (st == TARN_OK) {
    st = tn_concat(p->run->rewriter, &request, &job->arena, &job->result, err);
  }
  for (int32_t k = 0; k < job->n_files; k++) {
    tn_dv_release(job->files[k].deletions);
    job->files[k].deletions = NULL;
  }
  if (st == TARN_OK) {
    tn_run_progress(p->run, job->result.n_bytes_in, job->result.n_bytes_out);
  }
  return st;
}

/* ------------------------------------------------------------------ what is told */

typedef struct vector_list {
  tn_dv_named *items; /* vectors are owned */
  size_t n, room;
} vector_list;

/* Index files that cover a file which leaves (into the message), and what else they hold. */
static tarn_status take_index_files(portion *p, const concat_part *part, const tn_map *gone,
                                    tn_commit_message *m, vector_list *kept, tarn_error *err) {
  const tn_live_bucket *b = part->bucket;
  tn_index_files *deleted = &m->compact_deleted_indexes;
  deleted->items = tn_arena_calloc(&p->arena, (size_t)b->n_vectors + 1, sizeof(*deleted->items));
  if (deleted->items == NULL) {
    return tn_oom(err);
  }
  for (int32_t k = 0; k < b->n_vectors; k++) {
    const tn_index_entry *e = &b->vectors[k];
    const tn_dv_range *ranges = e->dv_ranges.items;
    int64_t n = e->has_dv_ranges ? e->dv_ranges.count : 0;
    bool is_touched = false;
    for (int64_t i = 0; i < n && !is_touched; i++) {
      is_touched = tn_map_find(gone, ranges[i].data_file) != NULL;
    }
    for (int64_t i = 0; i < n && is_touched; i++) {
      tn_dv *dv;
      if (tn_map_find(gone, ranges[i].data_file) != NULL ||
          tn_map_find(&part->vectors, ranges[i].data_file) == NULL) {
        continue; /* its file leaves, or has left long ago */
      }
      if (!tn_arena_grow(&p->arena, (void **)&kept->items, &kept->room, kept->n,
                         sizeof(*kept->items))) {
        return tn_oom(err);
      }
      TN_TRY(load_vector(p->run->table, e, &ranges[i], &p->arena, &dv, err));
      kept->items[kept->n++] = (tn_dv_named){ranges[i].data_file, dv};
    }
    if (is_touched) {
      deleted->items[deleted->n++] = *e;
    }
  }
  return TARN_OK;
}

static tarn_status write_index_files(portion *p, const concat_part *part, const vector_list *kept,
                                     tn_commit_message *m, tarn_error *err) {
  tn_table *t = p->run->table;
  tn_index_files *made = &m->compact_new_indexes;
  const tn_index_entry place = {.partition = part->bucket->partition,
                                .bucket = part->bucket->bucket};
  made->items = tn_arena_calloc(&p->arena, kept->n + 1, sizeof(*made->items));
  return made->items != NULL ? tn_index_vectors_write(t, &place, &p->names, kept->items, kept->n,
                                                      p->index_bytes, &p->arena, made, err)
                             : tn_oom(err);
}

/* Deletion vectors without those of the files that leave. */
static tarn_status settle_vectors(portion *p, const concat_part *part, tn_commit_message *m,
                                  tarn_error *err) {
  vector_list kept = {NULL, 0, 0};
  tn_map gone;
  tarn_status st = TARN_OK;
  if (part->vectors.count == 0) {
    return TARN_OK;
  }
  tn_map_init(&gone, &p->run->env->mem);
  for (int32_t i = 0; i < m->compact_before.n; i++) {
    tn_map_entry *slot;
    TN_TRY_TO(done, tn_map_put(&gone, m->compact_before.items[i].file_name, &slot, NULL, err));
  }
  TN_TRY_TO(done, take_index_files(p, part, &gone, m, &kept, err));
  st = write_index_files(p, part, &kept, m, err);
done:
  for (size_t i = 0; i < kept.n; i++) {
    tn_dv_release((tn_dv *)kept.items[i].dv);
  }
  tn_map_reset(&gone);
  return st;
}

static tarn_status join_files(portion *p, const concat_part *part, tn_commit_message *m,
                              tarn_error *err) {
  size_t n_before = 0, n_after = 0;
  for (size_t i = 0; i < part->n_jobs; i++) {
    const concat_job *job = p->jobs[part->first_job + i];
    n_before += (size_t)job->n_files;
    n_after += (size_t)job->result.n_files;
  }
  m->compact_before.items = tn_arena_calloc(&p->arena, n_before, sizeof(tn_data_file));
  m->compact_after.items = tn_arena_calloc(&p->arena, n_after, sizeof(tn_data_file));
  if (m->compact_before.items == NULL || m->compact_after.items == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < part->n_jobs; i++) {
    const concat_job *job = p->jobs[part->first_job + i];
    for (int32_t k = 0; k < job->n_files; k++) {
      m->compact_before.items[m->compact_before.n++] = *job->files[k].meta;
    }
    for (int32_t k = 0; k < job->result.n_files; k++) {
      m->compact_after.items[m->compact_after.n++] = job->result.files[k];
    }
  }
  return TARN_OK;
}

/* Before a message has them. */
static void delete_files(const portion *p) {
  for (size_t i = 0; i < p->n_jobs; i++) {
    const concat_job *job = p->jobs[i];
    for (int32_t k = 0; k < job->result.n_files; k++) {
      tn_data_file_delete(p->run->table, job->part->bucket->partition, job->part->bucket->bucket,
                          &job->result.files[k]);
    }
  }
}

/* A message for each partition that has tasks. What was written is in them on failure, too. */
static tarn_status make_messages(portion *p, tn_commit_message *messages, int32_t *n,
                                 tarn_error *err) {
  for (size_t i = 0; i < p->n_parts; i++) {
    const concat_part *part = p->parts[i];
    tn_commit_message *m = &messages[*n];
    if (part->n_jobs == 0) {
      continue;
    }
    *m = (tn_commit_message){.partition = part->bucket->partition,
                             .bucket = part->bucket->bucket,
                             .total_buckets = part->bucket->total_buckets,
                             .has_total_buckets = true};
    (*n)++;
    TN_TRY(join_files(p, part, m, err));
    TN_TRY(settle_vectors(p, part, m, err));
  }
  return TARN_OK;
}

static tarn_status commit_portion(portion *p, const tn_snapshot *snapshot, tarn_error *err) {
  tn_commit_message *messages = tn_arena_calloc(&p->arena, p->n_parts, sizeof(*messages));
  int32_t n = 0;
  tarn_status st;
  if (messages == NULL) {
    delete_files(p);
    return tn_oom(err);
  }
  st = make_messages(p, messages, &n, err);
  if (st == TARN_OK) {
    return tn_run_commit(p->run, snapshot, messages, n, err);
  }
  for (int32_t i = 0; i < n; i++) { /* data files are deleted below, once */
    messages[i].compact_after.n = messages[i].compact_before.n = 0;
  }
  tn_run_drop(p->run, messages, n);
  delete_files(p);
  return st;
}

/* ------------------------------------------------------------------ portions */

static tarn_status run_portion(portion *p, const tn_snapshot *snapshot, tarn_error *err) {
  tn_compact_run_state *run = p->run;
  tarn_status st;
  run->result->n_picks += (int64_t)p->n_jobs;
  TN_TRY(tn_run_add_picks(run, &p->picks, err));
  if (run->q->is_dry_run) {
    for (size_t i = 0; i < p->n_jobs; i++) {
      run->result->n_files_in += p->jobs[i]->n_files;
      run->result->n_bytes_in += p->jobs[i]->n_bytes;
    }
    return TARN_OK;
  }
  if (p->n_jobs == 0) {
    return TARN_OK;
  }
  run->progress.n_units += (int64_t)p->n_jobs;
  TN_TRY(tn_run_open_rewriter(run, err));
  st = tn_parallel_for(run->env->pool, (int64_t)p->n_jobs, run->n_threads, run_job, p, err);
  if (st != TARN_OK) {
    delete_files(p);
    return st;
  }
  return commit_portion(p, snapshot, err);
}

static void reset_portion(portion *p) {
  for (size_t i = 0; i < p->n_jobs; i++) {
    tn_arena_reset(&p->jobs[i]->arena);
  }
  for (size_t i = 0; i < p->n_parts; i++) {
    tn_map_reset(&p->parts[i]->vectors);
  }
  tn_arena_reset(&p->arena);
  tn_buf_reset(&p->picks);
  p->parts = NULL;
  p->jobs = NULL;
  p->n_parts = p->part_room = p->n_jobs = p->job_room = 0;
}

tarn_status tn_run_bucketless(tn_compact_run_state *run, const tn_live_table *live,
                              tarn_error *err) {
  portion p = {.run = run};
  tarn_status st = TARN_OK;
  tn_arena_init(&p.arena, &run->env->mem, TN_PLAN_ARENA_BYTES);
  tn_buf_init(&p.picks, &run->env->mem, TEXT_LIMIT);
  TN_TRY(tn_options_int(&run->table->options, "deletion-vector.index-file.target-size",
                        &p.index_bytes, NULL, err));
  /* What it cannot rewrite is refused before anything is looked at. */
  TN_TRY(tn_run_open_rewriter(run, err));
  for (int64_t i = 0; i < live->n_buckets && st == TARN_OK; i++) {
    st = pick_partition(&p, &live->buckets[i], err);
    if (st == TARN_OK && (p.n_jobs >= TN_PORTION || i + 1 == live->n_buckets)) {
      st = run_portion(&p, &live->snapshot, err);
      reset_portion(&p);
    }
  }
  reset_portion(&p);
  return st;
}
