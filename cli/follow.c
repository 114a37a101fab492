/* follow.c - rows into a table, each once, over any number of runs. */
#include "follow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "errors.h"
#include "follow_state.h"

/* ------------------------------------------------------------------ states */

/* The line in front must be the one that the sink's bytes hold. */
static tarn_status restore(cli_follow *f, cli_follow_file *file, tarn_error *err) {
  tarn_sink_result result = TARN_SINK_RESULT_INIT;
  tarn_string head = {0};
  tarn_status st = tarn_sink_restore(f->sink, file->bytes.data + file->n_head,
                                     file->bytes.len - file->n_head, &head, &result, err);
  if (st == TARN_OK &&
      (head.length != file->n_head || memcmp(head.data, file->bytes.data, file->n_head) != 0)) {
    st = cli_error(err, TARN_E_CORRUPT, "%.300s: its first line was changed", f->state_path);
  } else if (st != TARN_OK) {
    st = cli_error_prefix(err, f->state_path);
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

static tarn_status open_sink(cli_session *s, tarn_table *table, cli_follow *f, tarn_error *err) {
  tarn_sink_options o = TARN_SINK_OPTIONS_INIT;
  cli_follow_file file = {0};
  tarn_status st;
  f->session = s;
  f->state_path = s->args->values[OPT_STATE];
  f->metrics_path = s->args->values[OPT_METRICS];
  f->can_replay = cli_source_replays(s->args->n_arguments > 1 ? s->args->arguments[1] : NULL);
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
      st = cli_error(err, TARN_E_STATE,
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
    return cli_error(err, TARN_E_STATE,
                     "%.300s: the rows in the table are of another stream than those that come. "
                     "The source's state file was lost, or it has none: it goes on with table "
                     "tail --checkpoints --state %.300s; or begin anew, with new state files",
                     path, path);
  }
  if (f->taken < first->rows) {
    return cli_error(err, TARN_E_STATE,
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
  if (st == TARN_OK && first->next > 0 && f->taken == 0 && f->checkpoint.state.len == 0) {
    cli_report_note(&f->session->report,
                    "%.300s held a place before: the stream begins there, at snapshot %lld, and "
                    "rows from before it do not come; for all rows begin with another state file",
                    first->source.data, (long long)first->next);
  }
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
    st = cli_error(err, TARN_E_STATE,
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
    return cli_error(err, TARN_E_STATE,
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

tarn_status cli_follow_seal(tarn_sink *sink, int64_t id, const tarn_messages *messages,
                            int64_t source_rows, tarn_error *err) {
  char rows[24];
  const tarn_option property = {"tarn.source-rows", rows};
  tarn_status st = messages != NULL ? tarn_sink_add(sink, 0, id, messages, err) : TARN_OK;
  (void)snprintf(rows, sizeof(rows), "%lld", (long long)source_rows);
  return st == TARN_OK ? tarn_sink_seal(sink, id, &property, source_rows >= 0, NULL, err) : st;
}

tarn_status cli_follow_commit(cli_follow *f, tarn_writer *writer, tarn_sink_result *out,
                              tarn_error *err) {
  int64_t id = tarn_sink_last_checkpoint(f->sink) + 1;
  tarn_messages *messages = NULL;
  tarn_status st = tarn_writer_prepare(writer, id, &messages, err);
  bool is_skipped = st == TARN_OK && !is_worth_it(f, messages);
  if (st == TARN_OK && !is_skipped) {
    st = cli_follow_seal(f->sink, id, messages, f->state_path != NULL ? f->taken : -1, err);
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
