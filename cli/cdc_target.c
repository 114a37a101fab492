/* cdc_target.c - one table that a change feed goes into: its writer, batches and commits. */
#include "cdc_target.h"

#include <stdio.h>
#include <stdlib.h>

#include "cdc_engine.h"
#include "follow.h"

/* ------------------------------------------------------------------ opening */

static tarn_status open_writer(cdc_target *t, tarn_error *err) {
  const cli_session *s = t->run->session;
  tarn_writer_options o = TARN_WRITER_OPTIONS_INIT;
  const char *spill = getenv("TMPDIR");
  o.commit_user =
      t->run->state != NULL ? tarn_sink_commit_user(t->sink) : s->args->values[OPT_COMMIT_USER];
  o.row_kind_name = t->run->kind_name;
  o.spill_folder = spill != NULL && *spill != '\0' ? spill : "/tmp";
  o.cancel = s->cancel;
  o.waits_for_compaction = t->run->waits;
  return tarn_writer_create(t->table, &o, &t->writer, err);
}

/* Truncates are commits without an identifier; the sink's user has none of those, so that its own
 * tell how far it has come. */
static tarn_status open_committer(cdc_target *t, tarn_error *err) {
  const char *user = tarn_writer_commit_user(t->writer);
  cli_text other = {0};
  tarn_status st;
  if (t->run->state == NULL) {
    return cli_committer(t->run->session, t->table, user, &t->committer, err);
  }
  cli_text_printf(&other, "%s-truncate", user);
  cli_text_char(&other, '\0');
  st = other.is_broken ? cli_no_memory(err)
                       : cli_committer(t->run->session, t->table, other.data, &t->committer, err);
  cli_text_reset(&other);
  return st;
}

static void close_table(cdc_target *t) {
  tarn_writer_stats stats = {sizeof(stats), 0, 0, 0, 0};
  if (t->writer != NULL) {
    tarn_writer_get_stats(t->writer, &stats);
    t->files += stats.files;
    t->bytes += stats.bytes;
  }
  tarn_writer_free(t->writer);
  tarn_committer_free(t->committer);
  cli_columns_free(t->columns);
  tarn_table_free(t->table);
  free(t->is_key);
  free(t->keeps_null);
  free(t->is_order);
  free(t->metas);
  t->writer = NULL;
  t->committer = NULL;
  t->columns = NULL;
  t->table = NULL;
  t->is_key = t->keeps_null = t->is_order = NULL;
  t->metas = NULL;
  t->kind_column = NULL;
  t->has_key = t->wants_before = t->needs_values = t->refuses_deletes = false;
  t->has_order = t->needs_all_order = t->ignores_deletes = false;
}

/* A sink that goes on where the state says, or, after a change of the schema, where the one before
 * stands: nothing is pending then. It commits before the writer is made. */
static tarn_status open_sink(cdc_target *t, tarn_error *err) {
  tarn_sink_options o = TARN_SINK_OPTIONS_INIT;
  tarn_sink *before = t->sink;
  tarn_string saved = {0};
  tarn_status st = TARN_OK;
  o.commit_user = t->run->session->args->values[OPT_COMMIT_USER];
  o.goes_on = 1;
  o.cancel = t->run->session->cancel;
  if (before != NULL) {
    st = tarn_sink_save(before, NULL, 0, &saved, err);
  }
  t->sink = NULL;
  tarn_sink_free(before);
  if (st == TARN_OK) {
    st = tarn_sink_create(t->table, &o, &t->sink, err);
  }
  if (st == TARN_OK) {
    st = before != NULL
             ? tarn_sink_restore(t->sink, saved.data, saved.length, NULL, NULL, err)
             : cdc_state_restore(t->run->state, t->name, !t->run->fans_out, t->sink, err);
  }
  tarn_string_free(&saved);
  return st;
}

static tarn_status open_table(cdc_target *t, tarn_error *err) {
  cli_session *s = t->run->session;
  const char *pattern = s->args->arguments[0];
  struct ArrowSchema schema = {0};
  tarn_status st;
  s->args->arguments[0] = t->name; /* --branch and -o are those of the command line */
  st = cli_session_table(s, NULL, &t->table, err);
  s->args->arguments[0] = pattern;
  if (st == TARN_OK) {
    st = tarn_table_schema(t->table, &schema, err);
  }
  if (st == TARN_OK) {
    st = cli_columns_create(s->env, &schema, 0, t->run->kind_name, &t->columns, err);
  }
  if (st == TARN_OK) {
    size_t n = (size_t)t->columns->root.n_children + 1;
    t->is_key = calloc(n, sizeof(*t->is_key));
    t->keeps_null = calloc(n, sizeof(*t->keeps_null));
    t->is_order = calloc(n, sizeof(*t->is_order));
    t->metas = calloc(t->run->n_metas + 1, sizeof(*t->metas));
    st = t->is_key == NULL || t->keeps_null == NULL || t->is_order == NULL || t->metas == NULL
             ? cli_no_memory(err)
             : cdc_engine_look(t, err);
  }
  for (size_t i = 0; i < t->run->n_metas && st == TARN_OK; i++) {
    t->metas[i] = cdc_engine_column(t, t->run->metas[i].key);
    if (t->metas[i] == NULL) {
      st = cli_usage(err, "--metadata: the table %s has no column '%s'", t->name,
                     t->run->metas[i].key);
    }
  }
  if (st == TARN_OK && t->run->state != NULL) {
    st = open_sink(t, err);
  }
  if (st == TARN_OK) {
    st = open_writer(t, err);
  }
  if (st == TARN_OK && t->run->state != NULL) {
    st = tarn_sink_resume(t->sink, 0, t->writer, NULL, err);
  }
  if (st == TARN_OK) {
    st = open_committer(t, err);
  }
  t->values.columns = t->columns;
  return st == TARN_OK ? cli_columns_begin(t->columns, err) : st;
}

tarn_status cdc_target_open(const cdc_run *run, const char *name, cdc_target **out,
                            tarn_error *err) {
  cdc_target *t = *out = calloc(1, sizeof(*t));
  size_t n = strlen(name) + 1;
  if (t == NULL) {
    return cli_no_memory(err);
  }
  t->run = run;
  t->next_id = 1;
  t->values.style = run->style;
  t->name = malloc(n);
  if (t->name == NULL) {
    return cli_no_memory(err);
  }
  memcpy(t->name, name, n);
  return open_table(t, err);
}

void cdc_target_free(cdc_target *t) {
  if (t == NULL) {
    return;
  }
  close_table(t);
  tarn_sink_free(t->sink);
  cdc_values_reset(&t->values);
  cli_text_reset(&t->raw);
  free(t->lines);
  free(t->raw_at);
  free(t->name);
  free(t);
}

/* ------------------------------------------------------------------ batches */

tarn_status cdc_target_note(cdc_target *t, int64_t line, const char *text, size_t n,
                            tarn_error *err) {
  int64_t rows = cli_columns_rows(t->columns);
  bool keeps = cli_refused_keeps(&t->run->refused);
  if ((size_t)rows > t->capacity) {
    size_t capacity = (size_t)rows < CDC_BATCH_ROWS ? CDC_BATCH_ROWS : (size_t)rows * 2;
    int64_t *lines = realloc(t->lines, capacity * sizeof(*lines));
    size_t *raw_at;
    t->lines = lines != NULL ? lines : t->lines;
    raw_at = lines != NULL ? realloc(t->raw_at, (capacity + 1) * sizeof(*raw_at)) : NULL;
    t->raw_at = raw_at != NULL ? raw_at : t->raw_at;
    if (lines == NULL || raw_at == NULL) {
      return cli_no_memory(err);
    }
    t->capacity = capacity;
  }
  for (; t->n_noted < rows; t->n_noted++) {
    t->lines[t->n_noted] = line;
    t->raw_at[t->n_noted] = t->raw.len;
  }
  t->n_bytes += n;
  if (keeps) {
    cli_text_add(&t->raw, text, n);
    cli_text_char(&t->raw, '\0');
  }
  return t->raw.is_broken ? cli_no_memory(err) : TARN_OK;
}

/* The table refused some row of a batch: find it, by giving the rows one by one. */
static tarn_status write_one_by_one(cdc_target *t, const struct ArrowSchema *schema,
                                    const struct ArrowArray *array, tarn_error *err) {
  struct ArrowArray one = *array;
  cli_refused *refusals = (cli_refused *)(uintptr_t)&t->run->refused;
  tarn_status st = TARN_OK;
  for (int64_t i = 0; i < array->length && st == TARN_OK; i++) {
    one.offset = array->offset + i;
    one.length = 1;
    one.null_count = -1;
    st = tarn_writer_write(t->writer, schema, &one, err);
    if (st == TARN_OK) {
      t->since_commit++;
      t->rows++;
    } else {
      char message[sizeof(err->message)];
      const char *raw = cli_refused_keeps(refusals) ? t->raw.data + t->raw_at[i] : NULL;
      const char *why = err->message;
      if (strncmp(why, "row 0", 5) == 0) { /* it was given alone */
        why += 5;
        why += strspn(why, ":, ");
      }
      (void)snprintf(message, sizeof(message), "%.300s, line %lld: %.600s", t->run->source_name,
                     (long long)t->lines[i], why);
      memcpy(err->message, message, sizeof(message));
      st = cli_refused_add(refusals, raw, raw != NULL ? strlen(raw) : 0, err);
    }
  }
  return st;
}

tarn_status cdc_target_flush(cdc_target *t, tarn_error *err) {
  struct ArrowSchema schema;
  struct ArrowArray array;
  tarn_error first;
  tarn_status st;
  if (cli_columns_rows(t->columns) == 0) {
    return TARN_OK;
  }
  st = cli_columns_finish(t->columns, &schema, &array, err);
  if (st == TARN_OK) {
    st = tarn_writer_write(t->writer, &schema, &array, err);
    if (st == TARN_OK) {
      t->since_commit += array.length;
      t->rows += array.length;
    } else if (st == TARN_E_INVALID) {
      first = *err;
      st = write_one_by_one(t, &schema, &array, err);
      if (st == TARN_E_STATE || (st == TARN_OK && !t->run->refused.goes_on)) {
        *err = first;
        st = first.status;
      }
    }
  }
  t->n_noted = 0;
  t->n_bytes = 0;
  t->raw.len = 0;
  return st == TARN_OK ? cli_columns_begin(t->columns, err) : st;
}

/* ------------------------------------------------------------------ commits */

/* What there is to commit under an identifier. *out NULL: no row, and no compaction has ended. */
static tarn_status prepare(cdc_target *t, int64_t id, tarn_messages **out, tarn_error *err) {
  tarn_status st = tarn_writer_prepare(t->writer, id, out, err);
  if (st == TARN_OK && t->since_commit == 0 && tarn_messages_count(*out) == 0) {
    tarn_messages_free(*out);
    *out = NULL;
  }
  t->owes = false;
  return st;
}

tarn_status cdc_target_prepare(cdc_target *t, tarn_messages **out, tarn_error *err) {
  tarn_status st = prepare(t, t->next_id, out, err);
  t->next_id += st == TARN_OK && *out != NULL;
  return st;
}

/* What the writer knows of its buckets is old; a compaction that was dropped is made again. */
static tarn_status refresh(cdc_target *t, tarn_error *err) {
  t->owes = true;
  return tarn_writer_refresh(t->writer, err);
}

tarn_status cdc_target_commit(cdc_target *t, tarn_messages *messages, tarn_error *err) {
  tarn_commit_result result = {sizeof(result), 0, 0, 0, 0};
  cli_session *s = t->run->session;
  int64_t latest;
  tarn_status st;
  if (cli_args_has(s->args, OPT_DRY_RUN)) {
    t->since_commit = 0;
    st = tarn_committer_abort(t->committer, messages, err);
    return st == TARN_OK ? tarn_writer_refresh(t->writer, err) : st;
  }
  latest = cli_latest_snapshot(t->table);
  st = tarn_committer_commit(t->committer, t->next_id - 1, messages, NULL, &result, err);
  if (st != TARN_OK) {
    cli_clean_up(s, t->table, st, latest, t->committer, messages);
    return st;
  }
  t->commits += result.last_snapshot_id > 0;
  t->snapshot = result.last_snapshot_id > 0 ? result.last_snapshot_id : t->snapshot;
  t->since_commit = 0;
  return result.compaction_dropped ? refresh(t, err) : TARN_OK;
}

tarn_status cdc_target_seal(cdc_target *t, tarn_error *err) {
  int64_t id = tarn_sink_last_checkpoint(t->sink) + 1;
  const cdc_state *state = t->run->state;
  tarn_messages *messages = NULL;
  tarn_status st = prepare(t, id, &messages, err);
  if (st == TARN_OK && messages == NULL &&
      (t->run->fans_out || state->taken == state->taken_before)) {
    return TARN_OK;
  }
  if (st == TARN_OK) {
    st = cli_follow_seal(t->sink, id, messages, state->taken, err);
  }
  tarn_messages_free(messages);
  t->is_sealed = st == TARN_OK;
  return st;
}

tarn_status cdc_target_complete(cdc_target *t, bool *has_committed, tarn_error *err) {
  tarn_sink_result result = TARN_SINK_RESULT_INIT;
  tarn_status st;
  if (!t->is_sealed) {
    return TARN_OK;
  }
  st = tarn_sink_complete(t->sink, tarn_sink_last_checkpoint(t->sink), &result, err);
  *has_committed |= result.commits > 0;
  t->commits += result.commits;
  t->snapshot = result.last_snapshot_id > 0 ? result.last_snapshot_id : t->snapshot;
  if (st == TARN_OK) {
    t->is_sealed = false;
    t->since_commit = 0;
    st = result.must_refresh ? refresh(t, err) : TARN_OK;
  }
  return st;
}

tarn_status cdc_target_truncate(cdc_target *t, tarn_error *err) {
  tarn_commit_result result = {sizeof(result), 0, 0, 0, 0};
  tarn_status st;
  if (cli_args_has(t->run->session->args, OPT_DRY_RUN)) {
    return TARN_OK;
  }
  st = tarn_committer_truncate(t->committer, &result, err);
  t->snapshot = result.last_snapshot_id > 0 ? result.last_snapshot_id : t->snapshot;
  return st == TARN_OK ? tarn_writer_refresh(t->writer, err) : st;
}

tarn_status cdc_target_alter(cdc_target *t, const char *changes, tarn_error *err) {
  cli_session *s = t->run->session;
  const char *branch = s->args->values[OPT_BRANCH];
  tarn_catalog *catalog;
  cli_text name = {0};
  tarn_status st = TARN_OK;
  if (strchr(t->name, '/') != NULL) {
    return cli_usage(err, "--evolve needs a table of a warehouse, DB.TABLE rather than a folder");
  }
  cli_text_puts(&name, t->name);
  if (branch != NULL) {
    cli_text_printf(&name, "$branch_%s", branch);
  }
  cli_text_char(&name, '\0');
  st = name.is_broken ? cli_no_memory(err) : cli_session_catalog(s, &catalog, err);
  if (st == TARN_OK) {
    st = tarn_table_alter(catalog, name.data, changes, NULL, err);
  }
  cli_text_reset(&name);
  if (st == TARN_OK || st == TARN_E_CONFLICT || st == TARN_E_EXISTS) { /* another was first */
    close_table(t);
    st = open_table(t, err);
  }
  return st;
}
