/* job.c - options, names, files and waiting of one commit. */
#include "commit/job.h"

#include <stdio.h>
#include <time.h>

#include "base/bytes.h"
#include "model/listing.h"
#include "plan/plan.h"

#define PARTITION_TEXT_LIMIT ((size_t)1 << 20)
#define WAIT_STEP_MS 20 /* between looks at the caller's cancel */

/* ------------------------------------------------------------------ options */

static tarn_status read_max_level(const tn_options *options, int32_t *out, tarn_error *err) {
  int64_t levels, trigger;
  bool is_set;
  TN_TRY(tn_options_int(options, "num-levels", &levels, &is_set, err));
  if (!is_set) {
    TN_TRY(tn_options_int(options, "num-sorted-run.compaction-trigger", &trigger, NULL, err));
    levels = trigger < INT32_MAX ? trigger + 1 : trigger;
  }
  *out = (int32_t)(levels > 0 ? levels - 1 : 0);
  return TARN_OK;
}

static tarn_status read_settings(const tn_options *options, tn_commit_settings *s,
                                 tarn_error *err) {
  const char *format = tn_options_get(options, "manifest.format");
  bool is_set;
  if (format != NULL && strcmp(format, "avro") != 0) {
    return tn_fail(err, TARN_E_UNSUPPORTED,
                   "option 'manifest.format' = '%s': manifests are written as Avro only", format);
  }
  s->compression = tn_options_get(options, "manifest.compression");
  s->compression = s->compression != NULL ? s->compression : "zstd";
  TN_TRY(tn_options_int(options, "manifest.target-file-size", &s->manifest_bytes, NULL, err));
  TN_TRY(tn_options_int(options, "manifest.merge-min-count", &s->merge_min_count, NULL, err));
  TN_TRY(tn_options_int(options, "manifest.full-compaction-threshold-size", &s->full_merge_bytes,
                        NULL, err));
  TN_TRY(tn_options_int(options, "commit.max-retries", &s->max_retries, NULL, err));
  TN_TRY(tn_options_int(options, "commit.min-retry-wait", &s->min_wait_ms, NULL, err));
  TN_TRY(tn_options_int(options, "commit.max-retry-wait", &s->max_wait_ms, NULL, err));
  TN_TRY(tn_options_int(options, "commit.timeout", &s->timeout_ms, &is_set, err));
  s->timeout_ms = is_set ? s->timeout_ms : INT64_MAX;
  TN_TRY(tn_options_bool(options, "commit.discard-duplicate-files", &s->discards_duplicates, err));
  TN_TRY(tn_options_bool(options, "manifest.delete-file-drop-stats", &s->drops_delete_stats, err));
  TN_TRY(tn_options_bool(options, "overwrite-upgrade", &s->upgrades_overwrites, err));
  TN_TRY(tn_options_int(options, "commit.strict-mode.last-safe-snapshot", &s->safe_snapshot,
                        &s->has_safe_snapshot, err));
  if (s->full_merge_bytes <= 0) {
    return tn_fail(err, TARN_E_INVALID, "Manifest full compaction size trigger cannot be zero.");
  }
  return read_max_level(options, &s->max_level, err);
}

tarn_status tn_job_begin(tn_commit_job *job, tn_table *table, const tn_commit_options *options,
                         tarn_error *err) {
  *job = (tn_commit_job){.table = table, .options = options};
  tn_arena_init(&job->arena, &table->env->mem, TN_PLAN_ARENA_BYTES);
  if (options->user == NULL || options->user[0] == '\0') {
    return tn_fail(err, TARN_E_INVALID, "%s: a commit needs a user", table->full_name);
  }
  TN_TRY(read_settings(&table->options, &job->settings, err));
  if (tn_options_get(&table->options, "commit.callbacks") != NULL) {
    tn_log(table->env, TARN_LOG_WARN, "event=commit_callbacks_not_called table=%s",
           table->full_name);
  }
  return tn_env_uuid(table->env, job->uuid, err);
}

void tn_job_end(tn_commit_job *job) {
  if (job->arena.mem != NULL) {
    tn_arena_reset(&job->arena);
  }
}

/* ------------------------------------------------------------------ files */

static tarn_status note(tn_commit_job *job, tn_written_kind kind, const char *path,
                        tarn_error *err) {
  size_t n = strlen(path) + 1;
  tn_written *w = tn_arena_alloc(&job->arena, sizeof(*w) + n);
  if (w == NULL) {
    return tn_oom(err);
  }
  w->kind = kind;
  memcpy(w->path, path, n);
  w->next = job->written;
  job->written = w;
  return TARN_OK;
}

static tarn_status write_file(tn_commit_job *job, tn_written_kind kind, const char *folder,
                              const char *name, tn_slice bytes, tarn_error *err) {
  tn_table *table = job->table;
  const char *path = tn_path_join(&job->arena, table->path, folder, name, NULL);
  tn_sink *sink;
  tarn_status st;
  if (path == NULL) {
    return tn_oom(err);
  }
  TN_TRY(note(job, kind, path, err));
  TN_TRY(tn_storage_create(table->storage, path, &sink, err));
  st = tn_sink_write(sink, bytes.data, bytes.len, err);
  if (st != TARN_OK) {
    tn_sink_abort(sink);
    return st;
  }
  TN_TRY(tn_sink_finish(sink, true, err));
  job->has_unsynced_names = true;
  return TARN_OK;
}

static tarn_status write_numbered(tn_commit_job *job, tn_written_kind kind, const char *folder,
                                  const char *prefix, int32_t *counter, tn_slice bytes,
                                  const char **name, tarn_error *err) {
  *name = tn_arena_printf(&job->arena, "%s-%s-%d", prefix, job->uuid, (int)*counter);
  if (*name == NULL) {
    return tn_oom(err);
  }
  ++*counter;
  return write_file(job, kind, folder, *name, bytes, err);
}

tarn_status tn_job_write_manifest(tn_commit_job *job, tn_written_kind kind, tn_slice bytes,
                                  const char **name, tarn_error *err) {
  return write_numbered(job, kind, "manifest", "manifest", &job->n_manifests, bytes, name, err);
}

tarn_status tn_job_write_list(tn_commit_job *job, tn_written_kind kind, tn_slice bytes,
                              const char **name, tarn_error *err) {
  return write_numbered(job, kind, "manifest", "manifest-list", &job->n_lists, bytes, name, err);
}

tarn_status tn_job_write_index(tn_commit_job *job, tn_slice bytes, const char **name,
                               tarn_error *err) {
  return write_numbered(job, TN_WRITTEN_ATTEMPT, "manifest", "index-manifest", &job->n_indexes,
                        bytes, name, err);
}

tarn_status tn_job_write_statistics(tn_commit_job *job, tn_slice bytes, const char **name,
                                    tarn_error *err) {
  const char *folder = tn_path_join(&job->arena, job->table->path, "statistics", NULL);
  if (folder == NULL) {
    return tn_oom(err);
  }
  TN_TRY(write_numbered(job, TN_WRITTEN_STATISTICS, "statistics", "stat", &job->n_statistics, bytes,
                        name, err));
  return tn_storage_sync_folders(job->table->storage, folder, job->table->path, err);
}

tarn_status tn_job_sync(tn_commit_job *job, tarn_error *err) {
  const char *folder = tn_path_join(&job->arena, job->table->path, "manifest", NULL);
  if (folder == NULL) {
    return tn_oom(err);
  }
  if (job->has_unsynced_names) {
    TN_TRY(tn_storage_sync_folders(job->table->storage, folder, job->table->path, err));
  }
  job->has_unsynced_names = false;
  return TARN_OK;
}

void tn_job_discard(tn_commit_job *job, int kinds) {
  tn_written **at = &job->written;
  while (*at != NULL) {
    tn_written *w = *at;
    if ((w->kind & kinds) != 0) {
      if (tn_storage_remove(job->table->storage, w->path, NULL) != TARN_OK) {
        tn_log(job->table->env, TARN_LOG_WARN, "event=file_not_removed path=%s", w->path);
      }
      *at = w->next;
    } else {
      at = &w->next;
    }
  }
}

void tn_job_keep(tn_commit_job *job) {
  job->written = NULL;
}

void tn_job_partition_text(const tn_table *table, tn_slice partition, char out[TN_PARTITION_TEXT]) {
  tn_buf text;
  tn_buf_init(&text, &table->env->mem, PARTITION_TEXT_LIMIT);
  if (tn_partition_text(table, partition, &text, NULL) != TARN_OK) {
    text.len = 0;
  }
  snprintf(out, TN_PARTITION_TEXT, "{%.*s}", (int)text.len, (const char *)text.data);
  tn_buf_reset(&text);
}

/* ------------------------------------------------------------------ waiting */

tarn_status tn_job_wait(const tn_commit_job *job, int64_t retry, tarn_error *err) {
  const tn_commit_settings *s = &job->settings;
  int64_t wait = s->min_wait_ms > 0 ? s->min_wait_ms : 0;
  uint8_t random[4] = {0};
  for (int64_t i = 0; i < retry && wait < s->max_wait_ms; i++) {
    wait = wait <= INT64_MAX / 2 ? wait * 2 : INT64_MAX;
    if (wait == 0) {
      break;
    }
  }
  wait = wait < s->max_wait_ms ? wait : s->max_wait_ms;
  wait = wait > 0 && wait < INT32_MAX ? wait : wait > 0 ? INT32_MAX : 0;
  TN_TRY(tn_env_random(job->table->env, random, sizeof(random), err));
  wait += (int64_t)(tn_load_le32(random) % (uint32_t)(wait / 5 > 0 ? wait / 5 : 1));
  while (wait > 0) {
    int64_t step = wait < WAIT_STEP_MS ? wait : WAIT_STEP_MS;
    struct timespec time = {step / 1000, (long)(step % 1000) * 1000000};
    TN_TRY(tn_cancel_check(job->options->cancel, err));
    (void)nanosleep(&time, NULL);
    wait -= step;
  }
  return tn_cancel_check(job->options->cancel, err);
}
