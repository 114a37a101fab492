/* sink.c - checkpoints of a sink on their way from writers to the table. */
#include "sink/sink.h"

#include <inttypes.h>

#include "base/bytes.h"
#include "maintain/identity.h"
#include "sink/sink_parts.h"

/* Java's words, by which jobs that restart are recognised. */
#define RESTART                                                                           \
  "This exception is intentionally thrown after committing the restored checkpoints. By " \
  "restarting the job we hope that writers can start writing based on these new commits."

/* ------------------------------------------------------------------ life */

static void free_group(tn_table_sink *sink, tn_table_sink_group *g) {
  if (g != NULL) {
    tn_buf_reset(&g->messages);
    tn_buf_reset(&g->committable);
    tn_free(&sink->env->mem, g);
  }
}

tarn_status tn_table_sink_create(tn_table *table, const tn_table_sink_options *options,
                                 tn_table_sink **out, tarn_error *err) {
  tarn_env *env = table->env;
  tn_table_sink *sink;
  tarn_status st = TARN_OK;
  *out = NULL;
  if (options->n_writers < 1 || options->n_writers > 32768 || options->max_pending < 0) {
    return tn_fail(err, TARN_E_INVALID,
                   "a sink of %d writers with at most %d checkpoints pending: expected 1 to 32768, "
                   "and 0 or more",
                   options->n_writers, options->max_pending);
  }
  sink = tn_calloc(&env->mem, 1, sizeof(*sink));
  if (sink == NULL) {
    return tn_oom(err);
  }
  sink->env = env;
  sink->table = tn_table_retain(table);
  sink->options = *options;
  sink->options.user = NULL;
  sink->stats.snapshot_id = -1;
  tn_buf_init(&sink->name, &env->mem, TN_SINK_LIMIT);
  sink->user = tn_strdup(&env->mem, options->user);
  sink->clocks = tn_calloc(&env->mem, (size_t)options->n_writers, sizeof(*sink->clocks));
  sink->has_mutex = pthread_mutex_init(&sink->mutex, NULL) == 0;
  if (sink->user == NULL || sink->clocks == NULL || !sink->has_mutex) {
    st = tn_oom(err);
    goto done;
  }
  TN_TRY_TO(done, tn_options_bool(&table->options, "commit.force-create-snapshot",
                                  &sink->forces_snapshots, err));
  TN_TRY_TO(done, tn_table_identity(table, &sink->name, err));
  *out = sink;
  sink = NULL;
done:
  tn_table_sink_free(sink);
  return st;
}

void tn_table_sink_free(tn_table_sink *sink) {
  tarn_env *env;
  if (sink == NULL) {
    return;
  }
  env = sink->env;
  while (sink->groups != NULL) {
    tn_table_sink_group *next = sink->groups->next;
    free_group(sink, sink->groups);
    sink->groups = next;
  }
  if (sink->has_mutex) {
    pthread_mutex_destroy(&sink->mutex);
  }
  tn_buf_reset(&sink->name);
  tn_free(&env->mem, sink->clocks);
  tn_free(&env->mem, sink->user);
  tn_table_release(sink->table);
  tn_free(&env->mem, sink);
}

const char *tn_table_sink_user(const tn_table_sink *sink) {
  return sink->user;
}

/* ------------------------------------------------------------------ what writers give */

/* The group of a checkpoint, made if there is none; the mutex is held. */
static tarn_status open_group(tn_table_sink *sink, int64_t id, tn_table_sink_group **out,
                              tarn_error *err) {
  tn_table_sink_group **at = &sink->groups, *g;
  while (*at != NULL && (*at)->id < id) {
    at = &(*at)->next;
  }
  *out = *at;
  if (*at != NULL && (*at)->id == id && (!(*at)->is_sealed || id == TN_SINK_END)) {
    return TARN_OK;
  }
  if (id <= sink->last_sealed && id != TN_SINK_END) {
    return tn_fail(err, TARN_E_STATE,
                   "checkpoint %" PRId64 " comes behind %" PRId64
                   ", which is sealed: Repeatedly commit the same checkpoint files.",
                   id, sink->last_sealed);
  }
  g = tn_calloc(&sink->env->mem, 1, sizeof(*g));
  if (g == NULL) {
    return tn_oom(err);
  }
  g->id = id;
  tn_buf_init(&g->messages, &sink->env->mem, TN_SINK_LIMIT);
  tn_buf_init(&g->committable, &sink->env->mem, TN_SINK_LIMIT);
  g->next = *at;
  *at = g;
  *out = g;
  return TARN_OK;
}

static tarn_status check_writer(const tn_table_sink *sink, int32_t writer, tarn_error *err) {
  return writer >= 0 && writer < sink->options.n_writers
             ? TARN_OK
             : tn_fail(err, TARN_E_INVALID, "writer %d: the sink has %d, numbered from 0", writer,
                       sink->options.n_writers);
}

static tarn_status add_messages(tn_table_sink *sink, int64_t checkpoint,
                                const tn_commit_message *messages, int32_t n, tarn_error *err) {
  tn_table_sink_group *g;
  size_t length;
  tarn_status st = TARN_OK;
  TN_TRY(open_group(sink, checkpoint, &g, err));
  if (sink->is_busy && g->is_sealed) {
    return tn_fail(err, TARN_E_STATE, "the end of the input is being committed");
  }
  length = g->messages.len;
  for (int32_t i = 0; i < n && st == TARN_OK; i++) {
    st = g->n_messages <= INT32_MAX - n
             ? tn_commit_message_encode(&messages[i], &g->messages, err)
             : tn_fail(err, TARN_E_LIMIT, "more than %d messages for a checkpoint", INT32_MAX);
  }
  if (st != TARN_OK) {
    g->messages.len = length;
    return st;
  }
  g->n_messages += n;
  return TARN_OK;
}

tarn_status tn_table_sink_add(tn_table_sink *sink, int32_t writer, int64_t checkpoint,
                              const tn_commit_message *messages, int32_t n, tarn_error *err) {
  tarn_status st;
  TN_TRY(check_writer(sink, writer, err));
  if (n == 0) {
    return TARN_OK; /* a checkpoint that only has these has no committable */
  }
  pthread_mutex_lock(&sink->mutex);
  sink->has_begun = true;
  st = add_messages(sink, checkpoint, messages, n, err);
  pthread_mutex_unlock(&sink->mutex);
  return st;
}

tarn_status tn_table_sink_watermark(tn_table_sink *sink, int32_t writer, int64_t watermark,
                                    tarn_error *err) {
  TN_TRY(check_writer(sink, writer, err));
  if (watermark != INT64_MAX) {
    pthread_mutex_lock(&sink->mutex);
    sink->clocks[writer] = (tn_table_sink_clock){true, watermark};
    pthread_mutex_unlock(&sink->mutex);
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ seal */

/* K6, and the table's end-input.watermark. */
static tarn_status current_watermark(const tn_table_sink *sink, int64_t id, tn_committable *out,
                                     tarn_error *err) {
  if (id == TN_SINK_END) {
    TN_TRY(tn_options_int(&sink->table->options, "end-input.watermark", &out->watermark,
                          &out->has_watermark, err));
    if (out->has_watermark) {
      return TARN_OK;
    }
  }
  out->has_watermark = true;
  out->watermark = INT64_MAX;
  for (int32_t i = 0; i < sink->options.n_writers; i++) {
    const tn_table_sink_clock *clock = &sink->clocks[i];
    out->has_watermark = out->has_watermark && clock->has_watermark;
    out->watermark = clock->watermark < out->watermark ? clock->watermark : out->watermark;
  }
  return TARN_OK;
}

/* Java's bytes of a group: those of a committable without messages end with their number. */
static tarn_status seal_group(tn_table_sink *sink, tn_table_sink_group *g,
                              const tn_property *properties, int32_t n_properties,
                              tarn_error *err) {
  tn_committable head = {.identifier = g->id, .n_properties = n_properties};
  tn_property *copies = NULL;
  tn_buf all;
  tarn_status st = TARN_OK;
  tn_buf_init(&all, &sink->env->mem, TN_SINK_LIMIT);
  if (n_properties > 0) {
    copies = tn_calloc(&sink->env->mem, (size_t)n_properties, sizeof(*copies));
    if (copies == NULL) {
      return tn_oom(err);
    }
    memcpy(copies, properties, (size_t)n_properties * sizeof(*copies));
    head.properties = copies;
  }
  TN_TRY_TO(done, current_watermark(sink, g->id, &head, err));
  TN_TRY_TO(done, tn_committable_encode(&head, &all, err));
  tn_store_be32(all.data + all.len - 4, (uint32_t)g->n_messages);
  TN_TRY_TO(done, tn_buf_append(&all, g->messages.data, g->messages.len, err));
  tn_buf_reset(&g->committable);
  g->committable = all;
  sink->n_pending += !g->is_sealed;
  g->is_sealed = true;
  tn_buf_init(&all, &sink->env->mem, TN_SINK_LIMIT);
done:
  tn_free(&sink->env->mem, copies);
  tn_buf_reset(&all);
  return st;
}

/* Does an automatic tag wait for a snapshot? Asked without the mutex: it looks into the table. What
 * fails is told to the log; the next checkpoint asks again. */
static bool is_tag_due(tn_table_sink *sink) {
  tn_tags_due due;
  tarn_error why = {0};
  bool is_due = false;
  if (sink->options.skips_maintenance) {
    return false; /* no commit makes the tag */
  }
  pthread_mutex_lock(&sink->mutex);
  due = sink->tags_due;
  pthread_mutex_unlock(&sink->mutex);
  if (tn_tags_force_snapshot(sink->table, &due, &is_due, &why) != TARN_OK) {
    tn_log(sink->env, TARN_LOG_WARN, "event=tags_not_known table=%s reason=%s",
           sink->table->full_name, why.message);
    return false;
  }
  pthread_mutex_lock(&sink->mutex);
  sink->tags_due = due;
  pthread_mutex_unlock(&sink->mutex);
  return is_due;
}

static bool has_group_until(const tn_table_sink *sink, int64_t checkpoint) {
  return sink->groups != NULL && sink->groups->id <= checkpoint;
}

/* The mutex is held. */
static tarn_status seal(tn_table_sink *sink, int64_t checkpoint, bool makes_snapshot,
                        const tn_property *properties, int32_t n_properties, tn_buf *bytes,
                        tarn_error *err) {
  tn_table_sink_group *g;
  if (checkpoint <= sink->last_sealed && checkpoint != TN_SINK_END) {
    return tn_fail(err, TARN_E_STATE,
                   "checkpoint %" PRId64 " comes behind %" PRId64 ", which is sealed", checkpoint,
                   sink->last_sealed);
  }
  if (sink->options.max_pending > 0 && sink->n_pending >= sink->options.max_pending) {
    return tn_fail(err, TARN_E_LIMIT,
                   "%" PRId64 " checkpoints are pending, the most that may be: complete some first",
                   sink->n_pending);
  }
  if (sink->forces_snapshots || sink->options.commits_empty ||
      (makes_snapshot && !has_group_until(sink, checkpoint))) {
    TN_TRY(open_group(sink, checkpoint, &g, err));
  }
  for (g = sink->groups; g != NULL && g->id <= checkpoint; g = g->next) {
    if (!g->is_sealed || (g->id == TN_SINK_END && !sink->is_busy)) {
      TN_TRY(seal_group(sink, g, properties, n_properties, err));
    }
    if (g->id == checkpoint && bytes != NULL) {
      TN_TRY(tn_buf_append(bytes, g->committable.data, g->committable.len, err));
    }
  }
  sink->last_sealed = checkpoint;
  return TARN_OK;
}

tarn_status tn_table_sink_seal(tn_table_sink *sink, int64_t checkpoint,
                               const tn_property *properties, int32_t n_properties, tn_buf *bytes,
                               tarn_error *err) {
  bool is_due, is_empty;
  tarn_status st;
  pthread_mutex_lock(&sink->mutex);
  is_empty = !has_group_until(sink, checkpoint);
  pthread_mutex_unlock(&sink->mutex);
  is_due = is_empty && is_tag_due(sink);
  pthread_mutex_lock(&sink->mutex);
  sink->has_begun = true;
  st = seal(sink, checkpoint, is_due, properties, n_properties, bytes, err);
  pthread_mutex_unlock(&sink->mutex);
  return st;
}

tarn_status tn_table_sink_save(tn_table_sink *sink, tn_slice caller, tn_buf *out, tarn_error *err) {
  size_t length = out->len;
  tarn_status st;
  pthread_mutex_lock(&sink->mutex);
  st = tn_table_sink_state_encode(sink, caller, out, err);
  pthread_mutex_unlock(&sink->mutex);
  if (st != TARN_OK) {
    out->len = length;
  }
  return st;
}

/* ------------------------------------------------------------------ commits */

static tarn_status begin_busy(tn_table_sink *sink, bool must_be_new, tarn_error *err) {
  tarn_status st = TARN_OK;
  pthread_mutex_lock(&sink->mutex);
  if (sink->is_busy || (must_be_new && sink->has_begun)) {
    st = tn_fail(err, TARN_E_STATE, "%s",
                 sink->is_busy ? "another thread commits checkpoints of this sink"
                               : "a state is restored before anything is added to the sink");
  } else {
    sink->is_busy = true;
    sink->has_begun = true;
  }
  pthread_mutex_unlock(&sink->mutex);
  return st;
}

static void end_busy(tn_table_sink *sink) {
  pthread_mutex_lock(&sink->mutex);
  sink->is_busy = false;
  pthread_mutex_unlock(&sink->mutex);
}

/* The commit has succeeded, whatever comes of the maintenance: failures are in the log, and the
 * next commit tries again. */
static void maintain(tn_table_sink *sink, int64_t identifier) {
  const tn_after_commit_request request = {
      .user = sink->user, .identifier = identifier, .cancel = sink->options.cancel};
  tarn_status st = tn_after_commit(sink->table, &sink->maintenance, &request, NULL);
  (void)st;
}

static tarn_status commit(tn_table_sink *sink, const tn_committable *all, bool checks_appends,
                          tn_table_sink_result *result, tarn_error *err) {
  tn_commit_options options = {.user = sink->user,
                               .commits_empty = true, /* whoever has a committable commits */
                               .checks_appends = checks_appends,
                               .drops_compaction = true,
                               .cancel = sink->options.cancel};
  tn_commit_result made = {0};
  int64_t begin_ms = tn_env_now_ms(sink->env);
  tarn_status st = tn_commit_append(sink->table, &options, all, &made, err);
  result->n_attempts = made.n_attempts;
  if (made.last_id != 0) { /* its first part may have succeeded alone */
    result->first_id = result->first_id == 0 ? made.first_id : result->first_id;
    result->last_id = made.last_id;
  }
  if (st != TARN_OK) {
    return st;
  }
  result->n_commits++;
  result->must_refresh = result->must_refresh || made.has_dropped;
  if (tn_table_sink_stats_add(sink, all, &made, tn_env_now_ms(sink->env) - begin_ms, NULL) !=
      TARN_OK) {
    tn_error_reset(err); /* counts that memory was too short for; the commit is made */
  }
  if (!sink->options.skips_maintenance) {
    maintain(sink, all->identifier);
  }
  return TARN_OK;
}

/* The same unless it has been done. */
static tarn_status commit_once(tn_table_sink *sink, const tn_committable *all,
                               tn_table_sink_result *result, tarn_error *err) {
  bool has_one;
  int64_t last;
  TN_TRY(tn_commit_last_identifier(sink->table, sink->user, &has_one, &last, err));
  if (has_one && last >= all->identifier) {
    result->n_filtered++;
    return TARN_OK;
  }
  TN_TRY(tn_commit_check_files(sink->table, all, err));
  return commit(sink, all, true, result, err);
}

static tarn_status commit_group(tn_table_sink *sink, const tn_table_sink_group *g,
                                tn_table_sink_result *result, tarn_error *err) {
  tn_committable all;
  tn_arena arena;
  tarn_status st;
  tn_arena_init(&arena, &sink->env->mem, SIZE_MAX);
  st = tn_committable_decode(tn_buf_slice(&g->committable), TN_COMMITTABLE_VERSION, &arena, &all,
                             err);
  if (st == TARN_OK) {
    st = sink->must_filter || g->id == TN_SINK_END ? commit_once(sink, &all, result, err)
                                                   : commit(sink, &all, false, result, err);
  }
  tn_arena_reset(&arena);
  return st;
}

/* The first group if it is pending and not beyond the checkpoint; NULL: none. */
static tn_table_sink_group *first_pending(tn_table_sink *sink, int64_t checkpoint) {
  tn_table_sink_group *g;
  pthread_mutex_lock(&sink->mutex);
  g = sink->groups;
  if (g != NULL && (!g->is_sealed || g->id > checkpoint)) {
    g = NULL;
  }
  pthread_mutex_unlock(&sink->mutex);
  return g;
}

static void drop_first(tn_table_sink *sink) {
  tn_table_sink_group *g;
  pthread_mutex_lock(&sink->mutex);
  g = sink->groups;
  sink->groups = g->next;
  sink->n_pending -= g->is_sealed;
  pthread_mutex_unlock(&sink->mutex);
  free_group(sink, g);
}

tarn_status tn_table_sink_complete(tn_table_sink *sink, int64_t checkpoint,
                                   tn_table_sink_result *result, tarn_error *err) {
  tn_table_sink_result made = {0};
  tn_table_sink_group *g;
  tarn_status st;
  if (result != NULL) {
    *result = made;
  }
  TN_TRY(begin_busy(sink, false, err));
  for (st = TARN_OK; st == TARN_OK && (g = first_pending(sink, checkpoint)) != NULL;) {
    st = commit_group(sink, g, &made, err);
    sink->must_filter = st != TARN_OK;
    if (st == TARN_OK) {
      drop_first(sink);
    }
  }
  end_busy(sink);
  if (result != NULL) {
    *result = made;
  }
  return st;
}

/* ------------------------------------------------------------------ restore */

/* Writers of these tables know their buckets' files, from a snapshot before the commits (K5). */
static bool is_stateful(const tn_table *table) {
  return table->facts.bucket_mode != TN_BUCKETS_UNAWARE &&
         table->facts.bucket_mode != TN_BUCKETS_POSTPONE;
}

/* A state from before some commits would give their identifiers to other rows. */
static tarn_status check_age(const tn_table_sink *sink, const tn_table_sink_saved *saved,
                             tarn_error *err) {
  bool has_one;
  int64_t last;
  TN_TRY(tn_commit_last_identifier(sink->table, saved->user, &has_one, &last, err));
  if (has_one && last > saved->last_sealed && last != TN_SINK_END) {
    return tn_fail(err, TARN_E_INVALID,
                   "%s: the state ends with checkpoint %" PRId64
                   ", but user %s has committed %" PRId64
                   " since: it is not the latest state. Roll the table back to the state's time, "
                   "or give the latest one",
                   sink->table->full_name, saved->last_sealed, saved->user, last);
  }
  return TARN_OK;
}

static tarn_status restore(tn_table_sink *sink, tn_slice bytes, tn_buf *caller, tn_arena *arena,
                           tn_table_sink_result *result, tarn_error *err) {
  tn_table_sink_saved saved;
  char *user;
  TN_TRY(tn_table_sink_state_decode(sink, bytes, arena, &saved, err));
  TN_TRY(check_age(sink, &saved, err));
  if (caller != NULL) {
    TN_TRY(tn_buf_append(caller, saved.caller.data, saved.caller.len, err));
  }
  user = tn_strdup(&sink->env->mem, saved.user);
  if (user == NULL) {
    return tn_oom(err);
  }
  tn_free(&sink->env->mem, sink->user);
  sink->user = user;
  sink->last_sealed = saved.last_sealed;
  for (int32_t i = 0; i < saved.n_committables; i++) {
    TN_TRY(commit_once(sink, &saved.committables[i], result, err));
  }
  sink->stats.n_recovered = result->n_commits;
  if (result->n_commits > 0 && is_stateful(sink->table)) {
    result->must_refresh = true;
    return sink->options.goes_on ? TARN_OK : tn_fail(err, TARN_E_STATE, "%s", RESTART);
  }
  return TARN_OK;
}

tarn_status tn_table_sink_restore(tn_table_sink *sink, tn_slice bytes, tn_buf *caller,
                                  tn_table_sink_result *result, tarn_error *err) {
  tn_table_sink_result made = {0};
  tn_arena arena;
  tarn_status st;
  if (result != NULL) {
    *result = made;
  }
  TN_TRY(begin_busy(sink, true, err));
  tn_arena_init(&arena, &sink->env->mem, SIZE_MAX);
  st = restore(sink, bytes, caller, &arena, &made, err);
  tn_arena_reset(&arena);
  end_busy(sink);
  if (result != NULL) {
    *result = made;
  }
  return st;
}

/* ------------------------------------------------------------------ the rest */

static tarn_status abort_group(tn_table_sink *sink, const tn_table_sink_group *g, tarn_error *err) {
  tn_committable all;
  tn_arena arena;
  tarn_status st;
  tn_arena_init(&arena, &sink->env->mem, SIZE_MAX);
  st = tn_committable_decode(tn_buf_slice(&g->committable), TN_COMMITTABLE_VERSION, &arena, &all,
                             err);
  st = st == TARN_OK ? tn_commit_abort(sink->table, &all, err) : st;
  tn_arena_reset(&arena);
  return st;
}

tarn_status tn_table_sink_abort(tn_table_sink *sink, tarn_error *err) {
  tn_table_sink_group *g;
  tarn_status st;
  pthread_mutex_lock(&sink->mutex);
  st = TARN_OK;
  for (g = sink->groups; g != NULL && st == TARN_OK; g = g->next) {
    st = g->is_sealed ? TARN_OK : seal_group(sink, g, NULL, 0, err);
  }
  pthread_mutex_unlock(&sink->mutex);
  TN_TRY(st);
  TN_TRY(begin_busy(sink, false, err));
  while (st == TARN_OK && (g = first_pending(sink, INT64_MAX)) != NULL) {
    st = abort_group(sink, g, err);
    drop_first(sink);
  }
  end_busy(sink);
  return st;
}

int64_t tn_table_sink_pending(tn_table_sink *sink) {
  int64_t n;
  pthread_mutex_lock(&sink->mutex);
  n = sink->n_pending;
  pthread_mutex_unlock(&sink->mutex);
  return n;
}

void tn_table_sink_get_stats(tn_table_sink *sink, tn_table_sink_stats *out) {
  pthread_mutex_lock(&sink->mutex);
  *out = sink->stats;
  out->n_pending = sink->n_pending;
  out->last_checkpoint = sink->last_sealed;
  pthread_mutex_unlock(&sink->mutex);
}
