/* sink.c - sinks of two phases: argument checks and handles (sink/sink.h). */
#include "sink/sink.h"

#include "api/write_handles.h"
#include "stream/resume.h"
#include "tarn/sink.h"

struct tarn_sink {
  tarn_env *env;
  tn_table_sink *sink;
  tn_table *table; /* of the sink, which keeps it */
  int32_t n_writers;
  tarn_cancel *cancel;
};

/* Results and counts of any older size. */
static void give(void *out, const void *all, size_t size) {
  size_t wanted;
  memcpy(&wanted, out, sizeof(wanted));
  memcpy((char *)out + sizeof(wanted), (const char *)all + sizeof(wanted),
         (wanted < size ? wanted : size) - sizeof(wanted));
}

static void give_result(const tn_table_sink_result *made, tarn_sink_result *out) {
  if (out != NULL) {
    const tarn_sink_result all = {.first_snapshot_id = made->first_id,
                                  .last_snapshot_id = made->last_id,
                                  .commits = made->n_commits,
                                  .filtered = made->n_filtered,
                                  .attempts = made->n_attempts,
                                  .must_refresh = made->must_refresh};
    give(out, &all, sizeof(all));
  }
}

tarn_status tarn_sink_create(tarn_table *table, const tarn_sink_options *options, tarn_sink **out,
                             tarn_error *err) {
  tarn_sink_options o = TARN_SINK_OPTIONS_INIT;
  tarn_env *env = table->env;
  tarn_sink *sink = NULL;
  char *user = NULL;
  tn_table *written;
  tarn_status st = TARN_OK;
  tn_error_reset(err);
  *out = NULL;
  TN_TRY(tn_env_check(env, err));
  TN_TRY(tn_api_written_table(table, &written, err));
  if (options != NULL) {
    memcpy(&o, options, options->struct_size < sizeof(o) ? options->struct_size : sizeof(o));
  }
  sink = tn_calloc(&env->mem, 1, sizeof(*sink));
  if (sink == NULL) {
    return tn_oom(err);
  }
  sink->env = env;
  TN_TRY_TO(done, tn_api_commit_user(written, o.commit_user, &user, err));
  const tn_table_sink_options inner = {.user = user,
                                       .n_writers = o.n_writers == 0 ? 1 : o.n_writers,
                                       .max_pending = o.max_pending,
                                       .commits_empty = o.commits_empty != 0,
                                       .goes_on = o.goes_on != 0,
                                       .skips_maintenance = o.skips_maintenance != 0,
                                       .cancel = o.cancel};
  TN_TRY_TO(done, tn_table_sink_create(written, &inner, &sink->sink, err));
  sink->table = written;
  sink->n_writers = inner.n_writers;
  sink->cancel = o.cancel;
  *out = sink;
  sink = NULL;
done:
  tn_free(&env->mem, user);
  tarn_sink_free(sink);
  return st;
}

void tarn_sink_free(tarn_sink *sink) {
  if (sink != NULL) {
    tn_table_sink_free(sink->sink);
    tn_free(&sink->env->mem, sink);
  }
}

const char *tarn_sink_commit_user(const tarn_sink *sink) {
  return tn_table_sink_user(sink->sink);
}

int64_t tarn_sink_last_checkpoint(tarn_sink *sink) {
  tn_table_sink_stats stats;
  tn_table_sink_get_stats(sink->sink, &stats);
  return stats.last_checkpoint;
}

tarn_status tarn_sink_add(tarn_sink *sink, int32_t writer, int64_t checkpoint,
                          const tarn_messages *messages, tarn_error *err) {
  tn_error_reset(err);
  TN_TRY(tn_env_check(sink->env, err));
  if (messages->checks_vectors) {
    return tn_fail(err, TARN_E_INVALID,
                   "messages of an edit: it is committed at once, by tarn_committer_commit()");
  }
  return tn_table_sink_add(sink->sink, writer, checkpoint, messages->items, messages->n_items, err);
}

tarn_status tarn_sink_watermark(tarn_sink *sink, int32_t writer, int64_t watermark,
                                tarn_error *err) {
  tn_error_reset(err);
  return tn_table_sink_watermark(sink->sink, writer, watermark, err);
}

tarn_status tarn_sink_seal(tarn_sink *sink, int64_t checkpoint, const tarn_option *properties,
                           size_t n, tarn_string *committable, tarn_error *err) {
  tn_property *pairs = NULL;
  tn_buf bytes;
  tarn_status st;
  tn_error_reset(err);
  if (committable != NULL) {
    memset(committable, 0, sizeof(*committable));
  }
  TN_TRY(tn_env_check(sink->env, err));
  if (n > 0) {
    pairs = n <= INT32_MAX ? tn_calloc(&sink->env->mem, n, sizeof(*pairs)) : NULL;
    if (pairs == NULL) {
      return tn_oom(err);
    }
    for (size_t i = 0; i < n; i++) {
      pairs[i] = (tn_property){properties[i].key, properties[i].value};
    }
  }
  tn_buf_init(&bytes, &sink->env->mem, TN_API_TEXT_LIMIT);
  st = tn_table_sink_seal(sink->sink, checkpoint, pairs, (int32_t)n,
                          committable != NULL ? &bytes : NULL, err);
  tn_free(&sink->env->mem, pairs);
  if (committable == NULL) {
    tn_buf_reset(&bytes);
    return st;
  }
  return tn_api_string(st, &bytes, committable, err);
}

tarn_status tarn_sink_save(tarn_sink *sink, const void *bytes, size_t n_bytes, tarn_string *out,
                           tarn_error *err) {
  tn_buf state;
  tarn_status st;
  tn_error_reset(err);
  memset(out, 0, sizeof(*out));
  TN_TRY(tn_env_check(sink->env, err));
  tn_buf_init(&state, &sink->env->mem, TN_API_TEXT_LIMIT);
  st = tn_table_sink_save(sink->sink, tn_slice_of(bytes, n_bytes), &state, err);
  return tn_api_string(st, &state, out, err);
}

tarn_status tarn_sink_complete(tarn_sink *sink, int64_t checkpoint, tarn_sink_result *result,
                               tarn_error *err) {
  tn_table_sink_result made = {0};
  tarn_status st;
  tn_error_reset(err);
  st = tn_env_check(sink->env, err);
  if (st == TARN_OK) {
    st = tn_table_sink_complete(sink->sink, checkpoint, &made, err);
  }
  give_result(&made, result);
  return st;
}

tarn_status tarn_sink_restore(tarn_sink *sink, const void *bytes, size_t n_bytes,
                              tarn_string *caller, tarn_sink_result *result, tarn_error *err) {
  tn_table_sink_result made = {0};
  tarn_status st, given;
  tn_buf own;
  tn_error_reset(err);
  if (caller != NULL) {
    memset(caller, 0, sizeof(*caller));
  }
  TN_TRY(tn_env_check(sink->env, err));
  tn_buf_init(&own, &sink->env->mem, TN_API_TEXT_LIMIT);
  st = tn_table_sink_restore(sink->sink, tn_slice_of(bytes, n_bytes), &own, &made, err);
  give_result(&made, result);
  if (caller != NULL && (st == TARN_OK || st == TARN_E_STATE)) {
    given = tn_api_string(TARN_OK, &own, caller, st == TARN_OK ? err : NULL);
    return st == TARN_OK ? given : st;
  }
  tn_buf_reset(&own);
  return st;
}

tarn_status tarn_sink_resume(tarn_sink *sink, int32_t number, tarn_writer *writer,
                             int64_t *n_buckets, tarn_error *err) {
  int64_t n = 0;
  tarn_status st;
  tn_error_reset(err);
  TN_TRY(tn_env_check(sink->env, err));
  st = tn_writer_resume(sink->table, tn_api_writer_write(writer), number, sink->n_writers,
                        sink->cancel, &n, err);
  if (n_buckets != NULL) {
    *n_buckets = n;
  }
  return st;
}

tarn_status tarn_sink_abort(tarn_sink *sink, tarn_error *err) {
  tn_error_reset(err);
  TN_TRY(tn_env_check(sink->env, err));
  return tn_table_sink_abort(sink->sink, err);
}

void tarn_sink_get_stats(tarn_sink *sink, tarn_sink_stats *out) {
  tn_table_sink_stats s;
  tarn_sink_stats all = {0};
  tn_table_sink_get_stats(sink->sink, &s);
  all.commit_ms = s.duration_ms;
  all.commits_ms = s.durations_ms;
  all.commits = s.n_commits;
  all.attempts = s.n_attempts;
  all.snapshots = s.n_snapshots;
  all.files_added = s.files_added;
  all.files_deleted = s.files_deleted;
  all.files_appended = s.files_appended;
  all.files_compacted = s.files_compacted;
  all.changelog_files_appended = s.changelog_appended;
  all.changelog_files_compacted = s.changelog_compacted;
  all.delta_records = s.delta_rows;
  all.changelog_records = s.changelog_rows;
  all.delta_records_compacted = s.delta_rows_compacted;
  all.changelog_records_compacted = s.changelog_rows_compacted;
  all.partitions = s.n_partitions;
  all.buckets = s.n_buckets;
  all.compaction_input_bytes = s.compaction_input_bytes;
  all.compaction_output_bytes = s.compaction_output_bytes;
  all.snapshot_id = s.snapshot_id;
  all.total_rows = s.rows;
  all.total_bytes = s.bytes;
  all.pending = s.n_pending;
  all.recovered = s.n_recovered;
  all.last_checkpoint = s.last_checkpoint;
  give(out, &all, sizeof(all));
}
