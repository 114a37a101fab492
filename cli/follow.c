/* follow.c - rows into a table, each once, over any number of runs. */
#include "follow.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "follow_state.h"

static tarn_status fail(tarn_error *err, tarn_status status, const char *path, const char *what) {
  char message[sizeof(err->message)];
  (void)snprintf(message, sizeof(message), "%.300s: %.680s", path, what);
  memcpy(err->message, message, sizeof(message));
  err->status = status;
  return status;
}

/* ------------------------------------------------------------------ states */

/* The line in front must be the one that the sink's bytes hold. */
static tarn_status restore(cli_follow *f, cli_follow_file *file, tarn_error *err) {
  tarn_sink_result result = TARN_SINK_RESULT_INIT;
  tarn_string head = {0};
  tarn_status st = tarn_sink_restore(f->sink, file->bytes.data + file->n_head,
                                     file->bytes.len - file->n_head, &head, &result, err);
  if (st == TARN_OK &&
      (head.length != file->n_head || memcmp(head.data, file->bytes.data, file->n_head) != 0)) {
    err->os_errno = 0;
    st = fail(err, TARN_E_CORRUPT, f->state_path, "its first line was changed");
  } else if (st != TARN_OK) {
    st = fail(err, st, f->state_path, err->message);
  }
  tarn_string_free(&head);
  if (st == TARN_OK) {
    f->taken = f->taken_before = file->rows;
    f->checkpoint = file->checkpoint; /* moves */
    memset(&file->checkpoint, 0, sizeof(file->checkpoint));
    f->n_recovered = result.commits;
    if (result.commits > 0) {
      cli_report_note(&f->session->report,
                      "%d commit%s of the run before made up for: snapshot %lld is the last",
                      result.commits, result.commits == 1 ? "" : "s",
                      (long long)result.last_snapshot_id);
    }
  }
  return st;
}

static tarn_status keep_state(cli_follow *f, tarn_error *err) {
  cli_text head = {0};
  tarn_string state = {0};
  tarn_status st;
  cli_follow_head_put(&head, f->taken, &f->checkpoint);
  if (head.is_broken) {
    cli_text_reset(&head);
    return cli_no_memory(err);
  }
  st = tarn_sink_save(f->sink, head.data, head.len, &state, err);
  if (st == TARN_OK) {
    cli_text_add(&head, state.data, state.length);
    st = head.is_broken ? cli_no_memory(err)
                        : cli_follow_state_write(f->state_path, head.data, head.len, true, err);
  }
  tarn_string_free(&state);
  cli_text_reset(&head);
  return st;
}

/* Does the input begin anew in each run, as a file does? */
static bool input_replays(const cli_session *s) {
  const char *path = s->args->n_arguments > 1 ? s->args->arguments[1] : NULL;
  struct stat facts;
  int code = path == NULL || strcmp(path, "-") == 0 ? fstat(0, &facts) : stat(path, &facts);
  return code == 0 && S_ISREG(facts.st_mode);
}

static tarn_status open_sink(cli_session *s, tarn_table *table, cli_follow *f, tarn_error *err) {
  tarn_sink_options o = TARN_SINK_OPTIONS_INIT;
  cli_follow_file file = {0};
  tarn_status st;
  f->session = s;
  f->state_path = s->args->values[OPT_STATE];
  f->metrics_path = s->args->values[OPT_METRICS];
  f->can_replay = input_replays(s);
  f->checkpoint_ms = cli_now_ms();
  o.commit_user = s->args->values[OPT_COMMIT_USER];
  o.goes_on = 1; /* the writer is made behind it */
  o.cancel = s->cancel;
  st = tarn_sink_create(table, &o, &f->sink, err);
  if (st == TARN_OK && f->state_path != NULL) {
    st = cli_follow_file_read(f->state_path, &file, err);
    if (st == TARN_OK && file.is_there) {
      st = restore(f, &file, err);
    }
  }
  cli_follow_file_reset(&file);
  return st;
}

tarn_status cli_follow_open(cli_session *s, tarn_table *table, cli_follow *f, tarn_error *err) {
  const char *path = s->args->values[OPT_STATE];
  tarn_status st;
  memset(f, 0, sizeof(*f));
  st = path != NULL ? cli_follow_lock_take(path, &f->lock, err) : TARN_OK;
  return st == TARN_OK ? open_sink(s, table, f, err) : st;
}

void cli_follow_close(cli_follow *f) {
  tarn_sink_free(f->sink);
  cli_checkpoint_reset(&f->checkpoint);
  cli_follow_lock_release(&f->lock);
  memset(f, 0, sizeof(*f));
}

/* ------------------------------------------------------------------ rows */

int64_t cli_follow_max(const cli_follow *f, int64_t max_rows) {
  int64_t to_skip = f->has_begun ? f->to_skip : f->can_replay ? f->taken : 0;
  return to_skip > 0 && to_skip < max_rows ? to_skip : max_rows;
}

/* The first record of a source that tells no checkpoints. */
static void begin(cli_follow *f) {
  if (!f->has_begun) {
    f->to_skip = f->can_replay ? f->taken : 0;
    f->has_begun = true;
  }
}

static tarn_status fail_state(tarn_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static tarn_status fail_state(tarn_error *err, const char *format, ...) {
  va_list args;
  va_start(args, format);
  (void)vsnprintf(err->message, sizeof(err->message), format, args);
  va_end(args);
  err->status = TARN_E_STATE;
  err->os_errno = 0;
  return TARN_E_STATE;
}

static bool are_same(const char *a, const char *b) {
  struct stat facts[2];
  return stat(a, &facts[0]) == 0 && stat(b, &facts[1]) == 0 && facts[0].st_dev == facts[1].st_dev &&
         facts[0].st_ino == facts[1].st_ino;
}

/* Does the source's file name this one? *is_mine false: it names none, and may be told. bytes: what
 * is in it. */
static tarn_status look_at_link(const cli_follow *f, const cli_checkpoint *first, cli_text *bytes,
                                bool *is_mine, tarn_error *err) {
  const char *source = first->source.data;
  cli_follow_link link = {0};
  bool found;
  tarn_status st = cli_follow_state_read(source, bytes, &found, err);
  *is_mine = st == TARN_OK && cli_follow_link_is(bytes);
  if (*is_mine) {
    st = cli_follow_link_parse(source, bytes, &link, err);
    if (st == TARN_OK &&
        (!are_same(link.sink.data, f->state_path) || strcmp(link.stream, first->stream) != 0)) {
      st = fail_state(err,
                      "%.300s: the place of its stream is kept in %.300s, and this is %.300s: give "
                      "each pipeline two state files of its own",
                      source, link.sink.data, f->state_path);
    }
  }
  cli_follow_link_reset(&link);
  return st;
}

/* From now on the source finds its place here (F4). This file is written first: a name leads to
 * one, or to one that was lost. start: what is in the source's file. */
static tarn_status claim(cli_follow *f, const char *source, const cli_text *start,
                         tarn_error *err) {
  cli_follow_link link = {0};
  cli_text out = {0};
  tarn_status st = keep_state(f, err);
  st = st == TARN_OK ? cli_follow_whole_path(f->state_path, &link.sink, err) : st;
  if (st == TARN_OK) {
    memcpy(link.stream, f->checkpoint.stream, sizeof(link.stream));
    link.start = *start; /* lent */
    cli_follow_link_put(&out, source, &link);
    memset(&link.start, 0, sizeof(link.start));
    st = out.is_broken ? cli_no_memory(err)
                       : cli_follow_state_write(source, out.data, out.len, true, err);
  }
  cli_follow_link_reset(&link);
  cli_text_reset(&out);
  return st;
}

/* Are these the rows that go on? */
static tarn_status check_first(const cli_follow *f, const cli_checkpoint *first, tarn_error *err) {
  const char *path = f->state_path != NULL ? f->state_path : "FILE";
  if ((f->taken > 0 || f->checkpoint.state.len > 0) &&
      strcmp(f->checkpoint.stream, first->stream) != 0) {
    return fail_state(err,
                      "%.300s: the rows in the table are of another stream than those that come. "
                      "The source's state file was lost, or it has none: it goes on with table "
                      "tail --checkpoints --state %.300s; or begin anew, with new state files",
                      path, path);
  }
  if (f->taken < first->rows) {
    return fail_state(
        err,
        "the source goes on at row %lld, but %lld are in the table: those between are "
        "missing. Start it with the sink's own file: table tail --checkpoints --state "
        "%.300s",
        (long long)first->rows, (long long)f->taken, path);
  }
  return TARN_OK;
}

/* The source begins at a row. */
static tarn_status begin_feed(cli_follow *f, const cli_checkpoint *first, tarn_error *err) {
  cli_text start = {0};
  bool has_source = first->source.len > 0 && f->state_path != NULL, is_mine = false;
  tarn_status st = has_source ? look_at_link(f, first, &start, &is_mine, err) : TARN_OK;
  st = st == TARN_OK ? check_first(f, first, err) : st;
  if (st == TARN_OK) {
    f->is_feed = true;
    f->to_skip = f->taken - first->rows;
    memcpy(f->checkpoint.stream, first->stream, sizeof(f->checkpoint.stream));
    st = has_source && !is_mine ? claim(f, first->source.data, &start, err) : TARN_OK;
  }
  cli_text_reset(&start);
  return st;
}

static tarn_status take_checkpoint(cli_follow *f, const cli_batch *batch, tarn_error *err) {
  cli_checkpoint c;
  tarn_status st = cli_checkpoint_parse(batch->checkpoint, batch->n_checkpoint, &c, err);
  int64_t at = f->taken - f->to_skip; /* of the next row */
  if (st == TARN_OK && !f->has_begun) {
    st = begin_feed(f, &c, err);
  } else if (st == TARN_OK && c.rows != at) {
    st = fail_state(err,
                    "the source tells a checkpoint behind row %lld, but %lld have come: rows were "
                    "lost or added on the way",
                    (long long)c.rows, (long long)at);
  }
  if (st == TARN_OK && c.state.len > 0 && f->to_skip == 0) {
    memcpy(c.stream, f->checkpoint.stream, sizeof(c.stream));
    cli_text_reset(&c.source);
    cli_checkpoint_reset(&f->checkpoint);
    f->checkpoint = c;
    return TARN_OK;
  }
  cli_checkpoint_reset(&c);
  return st;
}

tarn_status cli_follow_take(cli_follow *f, const cli_batch *batch, bool *is_old, tarn_error *err) {
  tarn_status st = TARN_OK;
  *is_old = false;
  if (batch->checkpoint != NULL) {
    st = take_checkpoint(f, batch, err);
    f->has_begun = true;
    return st;
  }
  if (batch->n_records == 0) {
    return TARN_OK;
  }
  if (!f->has_begun && (f->checkpoint.stream[0] != '\0' || f->checkpoint.state.len > 0)) {
    return fail_state(
        err,
        "%.300s: it keeps the place of a 'table tail', and rows come without the line "
        "that tells which they are: of another input, or from the middle of a pipe",
        f->state_path);
  }
  begin(f);
  *is_old = f->to_skip > 0;
  if (*is_old) { /* cli_follow_max(): never more than that */
    f->to_skip -= batch->n_records;
    f->n_dropped += batch->n_records;
  } else {
    f->taken += batch->n_records;
  }
  return TARN_OK;
}

bool cli_follow_drops(cli_follow *f) {
  begin(f);
  if (f->to_skip == 0) {
    return false;
  }
  f->to_skip--;
  f->n_dropped++;
  return true;
}

bool cli_follow_can_commit(const cli_follow *f) {
  return !f->is_feed || f->checkpoint.state.len > 0;
}

/* ------------------------------------------------------------------ commits */

/* Without rows and compactions a checkpoint still tells the table that time goes on, for tags that
 * are made by it; not each time that nothing came. */
#define EMPTY_CHECKPOINT_MS 10000

static bool is_worth_it(cli_follow *f, const tarn_messages *messages) {
  int64_t now = cli_now_ms();
  bool has_news = f->taken > f->taken_before || tarn_messages_count(messages) > 0;
  if (!has_news && now - f->checkpoint_ms < EMPTY_CHECKPOINT_MS) {
    return false;
  }
  f->checkpoint_ms = now;
  return true;
}

static tarn_status seal(cli_follow *f, int64_t id, const tarn_messages *messages, tarn_error *err) {
  char rows[24];
  const tarn_option property = {"tarn.source-rows", rows};
  tarn_status st = tarn_sink_add(f->sink, 0, id, messages, err);
  (void)snprintf(rows, sizeof(rows), "%lld", (long long)f->taken);
  return st == TARN_OK ? tarn_sink_seal(f->sink, id, &property, f->state_path != NULL, NULL, err)
                       : st;
}

tarn_status cli_follow_commit(cli_follow *f, tarn_writer *writer, tarn_sink_result *out,
                              tarn_error *err) {
  int64_t id = tarn_sink_last_checkpoint(f->sink) + 1;
  tarn_messages *messages = NULL;
  tarn_status st = tarn_writer_prepare(writer, id, &messages, err);
  bool is_skipped = st == TARN_OK && !is_worth_it(f, messages);
  if (st == TARN_OK && !is_skipped) {
    st = seal(f, id, messages, err);
  }
  tarn_messages_free(messages);
  if (is_skipped) {
    return TARN_OK;
  }
  if (st == TARN_OK && f->state_path != NULL) {
    st = keep_state(f, err);
  }
  if (st == TARN_OK) {
    st = tarn_sink_complete(f->sink, id, out, err);
  }
  f->taken_before = st == TARN_OK ? f->taken : f->taken_before;
  if (st == TARN_OK && out->must_refresh) {
    st = tarn_writer_refresh(writer, err);
  }
  return st;
}

/* ------------------------------------------------------------------ counters */

tarn_status cli_follow_metrics(cli_follow *f, tarn_writer *writer, tarn_error *err) {
  tarn_sink_stats s = TARN_SINK_STATS_INIT;
  tarn_writer_stats w = {.struct_size = sizeof(w)};
  cli_text out = {0};
  tarn_status st;
  if (f->metrics_path == NULL) {
    return TARN_OK;
  }
  tarn_sink_get_stats(f->sink, &s);
  tarn_writer_get_stats(writer, &w);
  const struct {
    const char *name, *help, *type;
    int64_t value;
  } metrics[] = {
      {"paimon_commit_lastCommitDuration", "milliseconds of the last commit", "gauge", s.commit_ms},
      {"paimon_commit_lastCommitAttempts", "attempts of the last commit", "gauge", s.attempts},
      {"paimon_commit_lastTableFilesAdded", "files that it added", "gauge", s.files_added},
      {"paimon_commit_lastTableFilesDeleted", "files that it deleted", "gauge", s.files_deleted},
      {"paimon_commit_lastTableFilesAppended", "files of its rows", "gauge", s.files_appended},
      {"paimon_commit_lastTableFilesCommitCompacted", "files that it compacted, before and after",
       "gauge", s.files_compacted},
      {"paimon_commit_lastChangelogFilesAppended", "changelog files of its rows", "gauge",
       s.changelog_files_appended},
      {"paimon_commit_lastChangelogFileCommitCompacted", "changelog files of its compactions",
       "gauge", s.changelog_files_compacted},
      {"paimon_commit_lastGeneratedSnapshots", "snapshots that it made", "gauge", s.snapshots},
      {"paimon_commit_lastDeltaRecordsAppended", "rows in its files", "gauge", s.delta_records},
      {"paimon_commit_lastChangelogRecordsAppended", "rows in its changelog files", "gauge",
       s.changelog_records},
      {"paimon_commit_lastDeltaRecordsCommitCompacted", "rows in compacted files", "gauge",
       s.delta_records_compacted},
      {"paimon_commit_lastChangelogRecordsCommitCompacted",
       "rows in changelog files of compactions", "gauge", s.changelog_records_compacted},
      {"paimon_commit_lastPartitionsWritten", "partitions that it changed", "gauge", s.partitions},
      {"paimon_commit_lastBucketsWritten", "buckets that it changed", "gauge", s.buckets},
      {"paimon_commit_lastCompactionInputFileSize", "bytes that were compacted", "gauge",
       s.compaction_input_bytes},
      {"paimon_commit_lastCompactionOutputFileSize", "bytes that came of it", "gauge",
       s.compaction_output_bytes},
      {"paimon_commit_lastCommittedSnapshotId", "its snapshot, -1: none yet", "gauge",
       s.snapshot_id},
      {"paimon_writerBuffer_numWriters", "buckets that are open", "gauge", w.writers},
      {"paimon_writerBuffer_bufferPreemptCount", "full buffers that were written out early",
       "gauge", w.preempted},
      {"paimon_writerBuffer_usedWriteBufferSizeByte", "bytes of buffered rows", "gauge",
       w.used_bytes},
      {"paimon_writerBuffer_totalWriteBufferSizeByte", "bytes that buffers may have", "gauge",
       w.total_bytes},
      {"paimon_compaction_maxLevel0FileCount", "most files of level 0 of a bucket", "gauge",
       w.level_0_max_files},
      {"paimon_compaction_avgLevel0FileCount", "files of level 0, of a bucket", "gauge",
       w.level_0_avg_files},
      {"paimon_compaction_compactionThreadBusy", "percent, 100 for each thread", "gauge",
       w.compaction_threads_busy},
      {"paimon_compaction_avgCompactionTime", "milliseconds of a compaction", "gauge",
       w.compaction_avg_ms},
      {"paimon_compaction_compactionCompletedCount", "compactions that ended", "counter",
       w.compactions_completed},
      {"paimon_compaction_compactionTotalCount", "compactions that were begun", "counter",
       w.compactions},
      {"paimon_compaction_compactionQueuedCount", "compactions that wait or run", "gauge",
       w.compactions_queued},
      {"paimon_compaction_avgCompactionInputSize", "bytes that one read", "gauge",
       w.compaction_avg_input_bytes},
      {"paimon_compaction_maxCompactionInputSize", "most bytes that one read", "gauge",
       w.compaction_max_input_bytes},
      {"paimon_compaction_avgCompactionOutputSize", "bytes that came of one", "gauge",
       w.compaction_avg_output_bytes},
      {"paimon_compaction_maxCompactionOutputSize", "most bytes that came of one", "gauge",
       w.compaction_max_output_bytes},
      {"tarn_sink_rows_total", "rows taken in by this run", "counter", w.rows},
      {"tarn_sink_rowsDropped_total", "rows that came again", "counter", f->n_dropped},
      {"tarn_sink_streamRows", "rows of the stream, over all runs", "gauge", f->taken},
      {"tarn_sink_files_total", "files written by this run", "counter", w.files},
      {"tarn_sink_bytes_total", "bytes of them", "counter", w.bytes},
      {"tarn_sink_spilledBytes_total", "bytes that were spilled", "counter", w.spilled_bytes},
      {"tarn_sink_lastCheckpoint", "identifier of the last commit", "gauge", s.last_checkpoint},
      {"tarn_sink_pendingCheckpoints", "prepared and not committed", "gauge", s.pending},
      {"tarn_sink_recoveredCommits", "made up for at the start", "gauge", f->n_recovered},
  };
  for (size_t i = 0; i < CLI_COUNT(metrics); i++) {
    cli_text_printf(&out, "# HELP %s %s\n# TYPE %s %s\n%s %lld\n", metrics[i].name, metrics[i].help,
                    metrics[i].name, metrics[i].type, metrics[i].name, (long long)metrics[i].value);
  }
  cli_text_printf(
      &out,
      "# HELP paimon_commit_commitDuration milliseconds of commits\n"
      "# TYPE paimon_commit_commitDuration summary\n"
      "paimon_commit_commitDuration_sum %lld\npaimon_commit_commitDuration_count %lld\n",
      (long long)s.commits_ms, (long long)s.commits);
  st = out.is_broken ? cli_no_memory(err)
                     : cli_follow_state_write(f->metrics_path, out.data, out.len, false, err);
  cli_text_reset(&out);
  return st;
}
