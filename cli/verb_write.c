/* verb_write.c - table write: rows from a file or standard input into a table.
 *
 * Rows gather in a writer and become visible by commits: one at the end, and one each --every rows
 * or --interval. What was prepared and could not be committed is removed again. With --follow or
 * --state they go through a sink (follow.h), which brings each of them in once, whatever happens.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "change.h"
#include "ending.h"
#include "errors.h"
#include "follow.h"
#include "input.h"
#include "json.h"
#include "signals.h"

#define KIND_NAME "_row_kind"
#define FOLLOW_INTERVAL_MS 10000 /* of commits, where nothing is said */

typedef struct write_job {
  cli_session *session;
  tarn_table *table;
  tarn_writer *writer;
  tarn_committer *committer;
  cli_input *input;
  cli_pairs partition;    /* of --overwrite-partition */
  cli_names columns;      /* of --columns */
  cli_text default_names; /* NUL-terminated, of columns with a default */
  cli_names defaults;     /* the same */
  const char *kind_name;  /* NULL: rows tell none */
  bool is_overwrite, is_dry_run;
  bool follows; /* through a sink */
  cli_follow follow;
  bool has_id;      /* of --commit-id: what is committed already is not committed again */
  bool was_dropped; /* the compactions of the last commit, whose identifier is last_id */
  int64_t last_id;
  int64_t next_id, every, interval_ms, first_row_id, watermark;
  bool has_watermark;
  int64_t since_commit; /* rows */
  int64_t wake_ms;
  int64_t n_commits, n_skipped; /* commits made, and those that were made before */
  int64_t first_snapshot, last_snapshot;
  int64_t committed_rows;
} write_job;

/* ------------------------------------------------------------------ arguments */

/* What --follow and --state need, and what contradicts them. */
static tarn_status check_follow(write_job *job, tarn_error *err) {
  static const cli_option_id others[] = {OPT_COMMIT_ID, OPT_DRY_RUN, OPT_OVERWRITE,
                                         OPT_OVERWRITE_PARTITION, OPT_COLUMNS};
  const cli_args *args = job->session->args;
  job->follows = cli_args_has(args, OPT_FOLLOW) || cli_args_has(args, OPT_STATE);
  for (size_t i = 0; i < CLI_COUNT(others) && job->follows; i++) {
    if (cli_args_has(args, others[i])) {
      return cli_usage(err, "--%s and --%s exclude each other",
                       cli_args_has(args, OPT_FOLLOW) ? "follow" : "state",
                       cli_options[others[i]].name);
    }
  }
  if (!job->follows && cli_args_has(args, OPT_METRICS)) {
    return cli_usage(err, "--metrics needs --follow or --state");
  }
  if (cli_args_has(args, OPT_FOLLOW) && job->every == 0 && job->interval_ms == 0) {
    job->interval_ms = FOLLOW_INTERVAL_MS;
  }
  return TARN_OK;
}

static tarn_status read_arguments(write_job *job, tarn_error *err) {
  const cli_args *args = job->session->args;
  const char *partition = args->values[OPT_OVERWRITE_PARTITION];
  tarn_status st = TARN_OK;
  job->next_id = -1;
  job->first_row_id = -1;
  job->is_dry_run = cli_args_has(args, OPT_DRY_RUN);
  job->is_overwrite = cli_args_has(args, OPT_OVERWRITE) || partition != NULL;
  job->has_watermark = cli_args_has(args, OPT_WATERMARK);
  if (partition != NULL) {
    st = cli_pairs_parse("--overwrite-partition", partition, &job->partition, err);
  }
  if (st == TARN_OK) {
    st = cli_args_number(args, OPT_COMMIT_ID, 0, INT64_MAX, &job->next_id, err);
  }
  if (st == TARN_OK) {
    st = cli_signed(args, OPT_WATERMARK, &job->watermark, err);
  }
  if (st == TARN_OK) {
    st = cli_args_number(args, OPT_EVERY, 1, INT64_MAX, &job->every, err);
  }
  if (st == TARN_OK) {
    st = cli_duration(args, OPT_INTERVAL, &job->interval_ms, err);
  }
  if (st == TARN_OK) {
    st = cli_names_parse("--columns", args->values[OPT_COLUMNS], &job->columns, err);
  }
  if (st == TARN_OK) {
    st = cli_args_number(args, OPT_FIRST_ROW_ID, 0, INT64_MAX, &job->first_row_id, err);
  }
  if (st != TARN_OK) {
    return st;
  }
  job->has_id = job->next_id >= 0;
  if (job->has_id && !cli_args_has(args, OPT_COMMIT_USER)) {
    return cli_usage(err, "--commit-id needs --commit-user: identifiers are counted by user");
  }
  if (job->is_overwrite && (job->every > 0 || job->interval_ms > 0)) {
    return cli_usage(err,
                     "--%s would overwrite what was just written: leave it out, or the overwrite",
                     job->every > 0 ? "every" : "interval");
  }
  if ((job->columns.count > 0) != (job->first_row_id >= 0)) {
    return cli_usage(err, "--columns and --first-row-id go together: which columns, of which rows");
  }
  st = check_follow(job, err);
  if (st == TARN_OK && !job->has_id) {
    job->next_id = job->every > 0 || job->interval_ms > 0 ? 1 : TARN_BATCH_COMMIT;
  }
  return st;
}

/* ------------------------------------------------------------------ columns */

/* One column of the table's description. */
static void look_at_column(write_job *job, const cli_json *json, size_t column) {
  cli_text *names = &job->default_names;
  size_t name = cli_json_find(json, column, "name"), value = cli_json_find(json, column, "default");
  size_t begin = names->len;
  if (name == SIZE_MAX) {
    return;
  }
  cli_json_text(json, name, names);
  cli_text_char(names, '\0');
  if (!names->is_broken && strcmp(names->data + begin, KIND_NAME) == 0 &&
      !cli_args_has(job->session->args, OPT_ROW_KIND_NAME)) {
    job->kind_name = NULL; /* it is the table's own */
  }
  if (value == SIZE_MAX || json->nodes[value].kind == CLI_JSON_NULL) {
    names->len = begin;
  }
}

/* Which columns have a default, and whether one has the row kind's name. */
static tarn_status look_at_columns(write_job *job, tarn_error *err) {
  const char *given = job->session->args->values[OPT_ROW_KIND_NAME];
  cli_text *names = &job->default_names;
  tarn_string facts;
  cli_json json;
  tarn_status st = tarn_table_describe(job->table, &facts, err);
  job->kind_name = given != NULL ? given : KIND_NAME;
  if (st != TARN_OK) {
    return st;
  }
  if (cli_json_parse(facts.data, facts.length, &json)) {
    size_t fields = cli_json_find(&json, 0, "fields");
    size_t i = fields != SIZE_MAX ? cli_json_first(&json, fields) : SIZE_MAX;
    for (; i != SIZE_MAX && i < json.nodes[fields].after; i = json.nodes[i].after) {
      look_at_column(job, &json, i);
    }
    cli_json_reset(&json);
  }
  tarn_string_free(&facts);
  job->defaults.items = calloc(names->len + 1, sizeof(*job->defaults.items));
  if (names->is_broken || job->defaults.items == NULL) {
    return cli_no_memory(err);
  }
  for (size_t at = 0; at < names->len; at += strlen(names->data + at) + 1) {
    job->defaults.items[job->defaults.count++] = names->data + at;
  }
  return TARN_OK;
}

/* The columns of --columns, in that order: children move out of the table's schema. */
static tarn_status pick_columns(const write_job *job, struct ArrowSchema *schema, tarn_error *err) {
  int64_t n = 0;
  for (size_t k = 0; k < job->columns.count; k++) {
    int64_t i = n;
    struct ArrowSchema *found;
    while (i < schema->n_children &&
           strcmp(schema->children[i]->name, job->columns.items[k]) != 0) {
      i++;
    }
    if (i == schema->n_children) {
      return cli_usage(err, "--columns: there is no column '%s', or it comes twice",
                       job->columns.items[k]);
    }
    found = schema->children[i]; /* swapped, so that all of them are released in the end */
    schema->children[i] = schema->children[n];
    schema->children[n++] = found;
  }
  return TARN_OK;
}

static tarn_status open_input(write_job *job, tarn_error *err) {
  struct ArrowSchema schema = {0};
  tarn_status st = tarn_table_schema(job->table, &schema, err);
  if (st == TARN_OK && job->columns.count > 0) {
    st = pick_columns(job, &schema, err);
    if (st != TARN_OK) {
      schema.release(&schema);
    }
  }
  return st == TARN_OK
             ? cli_input_open(job->session, &schema, job->columns.count, job->defaults.items,
                              job->defaults.count, job->kind_name, &job->input, err)
             : st;
}

static tarn_status open_writer(write_job *job, tarn_error *err) {
  tarn_writer_options o = TARN_WRITER_OPTIONS_INIT;
  const char *spill = getenv("TMPDIR");
  o.commit_user = job->follows ? tarn_sink_commit_user(job->follow.sink)
                               : job->session->args->values[OPT_COMMIT_USER];
  o.ignores_previous = job->is_overwrite;
  o.columns = job->columns.count > 0 ? job->columns.items : NULL;
  o.n_columns = job->columns.count;
  o.first_row_id = job->first_row_id;
  o.row_kind_name = job->kind_name != NULL ? job->kind_name : "";
  o.spill_folder = spill != NULL && *spill != '\0' ? spill : "/tmp";
  o.cancel = job->session->cancel;
  o.waits_for_compaction = job->interval_ms == 0; /* else the next commits have it */
  o.skips_full_compaction = job->has_id;          /* who names commits says when, too */
  return tarn_writer_create(job->table, &o, &job->writer, err);
}

/* ------------------------------------------------------------------ commits */

static tarn_status commit_messages(write_job *job, const tarn_messages *messages,
                                   tarn_commit_result *result, tarn_error *err) {
  tarn_commit_request request = {sizeof(request), job->has_watermark, job->watermark, NULL, 0};
  if (job->is_overwrite) {
    return tarn_committer_overwrite(job->committer, job->next_id, job->partition.items,
                                    job->partition.count, messages, &request, result, err);
  }
  return job->has_id
             ? tarn_committer_recover(job->committer, job->next_id, messages, &request, result, err)
             : tarn_committer_commit(job->committer, job->next_id, messages, &request, result, err);
}

/* The same through the sink. */
static tarn_status commit_followed(write_job *job, tarn_error *err) {
  tarn_sink_result result = TARN_SINK_RESULT_INIT;
  tarn_status st = TARN_OK;
  job->wake_ms = cli_wake_ms(job->interval_ms);
  job->was_dropped = false;
  if (!cli_follow_can_commit(&job->follow)) {
    return cli_follow_metrics(&job->follow, job->writer, err); /* the source tells it before long */
  }
  st = cli_follow_commit(&job->follow, job->writer, &result, err);
  job->n_commits += result.commits;
  job->committed_rows += result.commits > 0 ? job->since_commit : 0;
  job->first_snapshot = job->first_snapshot == 0 ? result.first_snapshot_id : job->first_snapshot;
  job->last_snapshot = result.last_snapshot_id > 0 ? result.last_snapshot_id : job->last_snapshot;
  job->since_commit = st == TARN_OK ? 0 : job->since_commit;
  job->was_dropped = result.must_refresh != 0;
  return st == TARN_OK ? cli_follow_metrics(&job->follow, job->writer, err) : st;
}

/* Compactions that the last commit has dropped are made again: rows of some tables are not seen
 * before. Nothing is left to do when others have compacted them. */
static tarn_status compact_again(write_job *job, tarn_error *err) {
  tarn_status st = TARN_OK;
  for (int i = 0; job->was_dropped && i < CLI_MAX_COMPACTIONS && st == TARN_OK; i++) {
    tarn_commit_result result = {sizeof(result), 0, 0, 0, 0};
    tarn_messages *messages = NULL;
    st = tarn_writer_prepare(job->writer, job->last_id, &messages, err);
    if (st == TARN_OK && tarn_messages_count(messages) > 0) {
      int64_t latest = cli_latest_snapshot(job->table);
      st = tarn_committer_commit(job->committer, job->last_id, messages, NULL, &result, err);
      if (st != TARN_OK) {
        cli_clean_up(job->session, job->table, st, latest, job->committer, messages);
      }
    }
    tarn_messages_free(messages);
    job->was_dropped = result.compaction_dropped != 0;
    job->last_snapshot = result.last_snapshot_id > 0 ? result.last_snapshot_id : job->last_snapshot;
    if (st == TARN_OK && job->was_dropped) {
      st = tarn_writer_refresh(job->writer, err);
    }
  }
  return st;
}

/* Commit what was written since the last commit. */
static tarn_status commit(write_job *job, tarn_error *err) {
  tarn_commit_result result = {sizeof(result), 0, 0, 0};
  tarn_messages *messages = NULL;
  bool is_lost = false; /* files of the messages went that the writer knows */
  tarn_status st = tarn_writer_prepare(job->writer, job->next_id, &messages, err);
  if (st == TARN_OK && job->is_dry_run) {
    st = tarn_committer_abort(job->committer, messages, err);
    is_lost = true;
  } else if (st == TARN_OK) {
    int64_t latest = cli_latest_snapshot(job->table);
    st = commit_messages(job, messages, &result, err);
    if (st != TARN_OK || (job->has_id && result.last_snapshot_id == 0)) {
      cli_clean_up(job->session, job->table, st, latest, job->committer, messages);
      is_lost = true;
    }
    is_lost = is_lost || result.compaction_dropped;
    job->was_dropped = result.compaction_dropped != 0;
    job->last_id = job->next_id;
  }
  if (st == TARN_OK) {
    bool is_made = result.last_snapshot_id > 0;
    job->n_commits += is_made;
    job->n_skipped += !is_made && job->has_id && tarn_messages_count(messages) > 0;
    job->committed_rows += is_made ? job->since_commit : 0;
    job->first_snapshot = job->first_snapshot == 0 ? result.first_snapshot_id : job->first_snapshot;
    job->last_snapshot = is_made ? result.last_snapshot_id : job->last_snapshot;
    job->since_commit = 0;
    job->next_id += job->next_id < TARN_BATCH_COMMIT;
    job->wake_ms = cli_wake_ms(job->interval_ms);
  }
  if (st == TARN_OK && is_lost) {
    st = tarn_writer_refresh(job->writer, err);
  }
  tarn_messages_free(messages);
  return st;
}

/* ------------------------------------------------------------------ rows */

/* The table refused some row of a batch: find it, by giving the rows one by one. */
static tarn_status write_one_by_one(write_job *job, const cli_batch *batch, tarn_error *err) {
  struct ArrowArray one = batch->array;
  tarn_status st = TARN_OK;
  for (int64_t i = 0; i < batch->n_rows && st == TARN_OK; i++) {
    one.offset = batch->array.offset + i;
    one.length = 1;
    one.null_count = -1;
    st = tarn_writer_write(job->writer, &batch->schema, &one, err);
    if (st == TARN_OK) {
      job->since_commit++;
    } else {
      st = cli_input_refused(job->input, i, err);
    }
  }
  return st;
}

/* A column that the table has not is a fault of the input: Arrow and Parquet name theirs first in a
 * batch. Files that went are none. */
static tarn_status write_failure(const write_job *job, tarn_error *err) {
  static const char words[] = "there is no column '";
  const cli_args *args = job->session->args;
  const char *path = args->n_arguments > 1 ? args->arguments[1] : "-";
  if (err->status == TARN_E_NOT_FOUND && err->os_errno == 0 &&
      strstr(err->message, words) != NULL) {
    return cli_error(err, TARN_E_INVALID, "%.400s: %.580s",
                     strcmp(path, "-") == 0 ? "standard input" : path, err->message);
  }
  return err->status;
}

static tarn_status write_batch(write_job *job, const cli_batch *batch, tarn_error *err) {
  tarn_error first;
  tarn_status st;
  if (batch->n_rows == 0) {
    return TARN_OK;
  }
  st = tarn_writer_write(job->writer, &batch->schema, &batch->array, err);
  if (st == TARN_OK) {
    job->since_commit += batch->n_rows;
    return TARN_OK;
  }
  if (st != TARN_E_INVALID) {
    return write_failure(job, err);
  }
  first = *err;
  st = write_one_by_one(job, batch, err);
  if (st == TARN_E_STATE || (st == TARN_OK && !cli_input_goes_on(job->input))) {
    *err = first; /* the writer had enough of it, or takes the rows alone: what it said */
    st = first.status;
  }
  return st;
}

/* The loop of a sink. A signal is the end of the input (ending.h). */
static tarn_status write_stream(write_job *job, tarn_error *err) {
  cli_batch batch;
  tarn_status st;
  cli_input_follow(job->input,
                   cli_args_has(job->session->args, OPT_STATE) && !job->follow.can_replay);
  cli_ending_catch(NULL);
  job->wake_ms = cli_wake_ms(job->interval_ms);
  do {
    int64_t max_rows = job->every > job->since_commit ? job->every - job->since_commit : INT64_MAX;
    bool is_old = false;
    max_rows = cli_follow_max(&job->follow, max_rows);
    st = cli_input_next(job->input, max_rows, job->wake_ms, &batch, err);
    st = st == TARN_OK ? cli_follow_take(&job->follow, &batch, &is_old, err) : st;
    if (st == TARN_OK && !is_old) {
      st = write_batch(job, &batch, err);
    }
    if (st == TARN_OK && ((job->every > 0 && job->since_commit >= job->every) ||
                          (job->wake_ms > 0 && cli_now_ms() >= job->wake_ms))) {
      st = commit_followed(job, err); /* without rows that of compactions */
      job->wake_ms = cli_wake_ms(job->interval_ms);
    }
    cli_progress_update(&job->session->progress, job->committed_rows + job->since_commit);
  } while (st == TARN_OK && !batch.is_end && !cli_ending_came());
  if (st == TARN_OK) {
    st = job->since_commit > 0 ? commit_followed(job, err)
                               : cli_follow_metrics(&job->follow, job->writer, err);
  }
  for (int i = 0; i < CLI_MAX_COMPACTIONS && st == TARN_OK && job->was_dropped; i++) {
    st = commit_followed(job, err);
  }
  return st;
}

static tarn_status write_rows(write_job *job, tarn_error *err) {
  cli_batch batch;
  tarn_status st;
  job->wake_ms = cli_wake_ms(job->interval_ms);
  do {
    int64_t max_rows = job->every > 0 ? job->every - job->since_commit : INT64_MAX;
    st = cli_input_next(job->input, max_rows, job->wake_ms, &batch, err);
    if (st == TARN_OK) {
      st = write_batch(job, &batch, err);
    }
    if (st == TARN_OK && ((job->every > 0 && job->since_commit >= job->every) ||
                          (job->wake_ms > 0 && cli_now_ms() >= job->wake_ms))) {
      if (job->since_commit > 0) {
        st = commit(job, err);
      } else {
        job->wake_ms = cli_wake_ms(job->interval_ms);
      }
    }
    cli_progress_update(&job->session->progress, job->committed_rows + job->since_commit);
  } while (st == TARN_OK && !batch.is_end);
  /* The commit at the end, unless the last rows were committed just now; of no rows at all it is
   * for the table to tell whether that is a snapshot. */
  if (st == TARN_OK && (job->since_commit > 0 || job->n_commits + job->n_skipped == 0)) {
    st = commit(job, err);
  }
  return st == TARN_OK ? compact_again(job, err) : st;
}

/* ------------------------------------------------------------------ the end */

static void report(write_job *job) {
  tarn_writer_stats stats = {sizeof(stats), 0, 0, 0, 0};
  int64_t n_refused = cli_input_n_refused(job->input);
  char json[400], refused[64] = "", commits[64] = "", snapshot[64] = "no snapshot";
  tarn_writer_get_stats(job->writer, &stats);
  (void)snprintf(json, sizeof(json),
                 "\"rows\":%lld,\"refused\":%lld,\"files\":%lld,\"bytes\":%lld,\"commits\":%lld,"
                 "\"first_snapshot\":%lld,\"snapshot\":%lld,\"commits_made_before\":%lld",
                 (long long)stats.rows, (long long)n_refused, (long long)stats.files,
                 (long long)stats.bytes, (long long)job->n_commits, (long long)job->first_snapshot,
                 (long long)job->last_snapshot, (long long)job->n_skipped);
  if (n_refused > 0) {
    (void)snprintf(refused, sizeof(refused), " (%lld left out)", (long long)n_refused);
  }
  if (job->n_commits > 1) {
    (void)snprintf(commits, sizeof(commits), " in %lld commits", (long long)job->n_commits);
  }
  if (job->is_dry_run) {
    (void)snprintf(snapshot, sizeof(snapshot), "not committed (--dry-run)");
  } else if (job->last_snapshot > 0) {
    (void)snprintf(snapshot, sizeof(snapshot), "snapshot %lld", (long long)job->last_snapshot);
  } else if (job->n_skipped > 0) {
    (void)snprintf(snapshot, sizeof(snapshot), "committed before, not again");
  }
  cli_progress_clear(&job->session->progress);
  cli_change_report(job->session, json, "%lld row%s%s, %lld file%s, %lld bytes%s, %s",
                    (long long)stats.rows, cli_s(stats.rows), refused, (long long)stats.files,
                    cli_s(stats.files), (long long)stats.bytes, commits, snapshot);
}

static void close_job(write_job *job) {
  tarn_writer_free(job->writer);
  tarn_committer_free(job->committer);
  cli_follow_close(&job->follow);
  cli_input_close(job->input);
  tarn_table_free(job->table);
  cli_pairs_reset(&job->partition);
  cli_names_reset(&job->columns);
  cli_names_reset(&job->defaults);
  cli_text_reset(&job->default_names);
}

/* --input is a way to name the file. */
static tarn_status find_file(cli_args *args, tarn_error *err) {
  const char *input = args->values[OPT_INPUT];
  if (input != NULL && args->n_arguments > 1) {
    return cli_usage(err, "--input %s: '%s' was given, too", input, args->arguments[1]);
  }
  if (input != NULL) { /* there is room for one: the verb's own words */
    args->arguments[args->n_arguments++] = input;
  }
  return TARN_OK;
}

int cli_run_write(cli_session *s) {
  write_job job = {.session = s};
  tarn_error err;
  int code = CLI_EXIT_OK;
  tarn_status st = find_file(s->args, &err);
  if (st == TARN_OK && cli_args_has(s->args, OPT_CDC)) {
    return cli_run_cdc(s);
  }
  if (st == TARN_OK) {
    st = read_arguments(&job, &err);
  }
  if (st == TARN_OK) {
    st = cli_session_table(s, NULL, &job.table, &err);
  }
  if (st == TARN_OK) {
    st = look_at_columns(&job, &err);
  }
  if (st == TARN_OK && job.follows) {
    st = cli_follow_open(s, job.table, &job.follow, &err);
  }
  if (st == TARN_OK) {
    st = open_writer(&job, &err);
  }
  if (st == TARN_OK && job.follows) {
    st = tarn_sink_resume(job.follow.sink, 0, job.writer, NULL, &err);
  }
  if (st == TARN_OK && !job.follows) {
    st = cli_committer(s, job.table, tarn_writer_commit_user(job.writer), &job.committer, &err);
  }
  if (st == TARN_OK) {
    st = open_input(&job, &err);
  }
  if (st == TARN_OK) {
    st = job.follows ? write_stream(&job, &err) : write_rows(&job, &err);
  }
  if (st == TARN_OK) {
    report(&job);
    code = cli_ending_came() ? CLI_EXIT_INTERRUPTED : code;
  } else {
    cli_progress_clear(&s->progress);
    code = cli_fail(s, &err);
    if (job.n_commits > 0) {
      cli_report_note(
          &s->report, "before that, %lld row%s became visible: snapshot %lld is the last",
          (long long)job.committed_rows, cli_s(job.committed_rows), (long long)job.last_snapshot);
    }
  }
  close_job(&job);
  return code;
}
