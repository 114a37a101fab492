/* verb_feed.c - table tail --checkpoints: the rows of a table for `table write --state`, whose file
 * --state names. Rules: follow_feed.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ending.h"
#include "follow_feed.h"
#include "follow_lock.h"
#include "scan.h"
#include "source.h"

#define FLUSH_MS 20        /* rows do not stay longer in the program */
#define CHECKPOINT_MS 1000 /* between states while there is always more */
#define LOOK_MS 500        /* longest wait: is the sink still there? */
#define CHECK_RESTS 20     /* a listing each so many rests: is the position within reach? */
#define NO_LIMIT "9223372036854775807"

typedef struct feed {
  cli_session *session;
  cli_scan scan;
  tarn_stream *stream;
  tarn_stream_reader *reader;
  cli_rows *rows;
  const char *state_path;
  cli_feed given;
  cli_complete *complete; /* NULL: rows are given as they come */
  cli_hidden_keys hidden;
  bool has_lost; /* rows that were read and are not given: no state may be behind them */
  struct ArrowSchema schema; /* with the columns that are not given */
  cli_follow_lock lock;      /* of what is kept for --complete */
  bool until_idle;
  int64_t n_rows; /* of the stream */
  int64_t flushed_ms, checked_ms;
  int64_t n_rests;
} feed;

static void release_nothing(struct ArrowSchema *schema) {
  schema->release = NULL;
}

/* ------------------------------------------------------------------ start */

static tarn_status start_at(feed *f, tarn_error *err) {
  const char *from = f->session->args->values[OPT_FROM];
  char *end;
  long long id;
  if (from == NULL || strcmp(from, "latest") == 0 || strcmp(from, "full") == 0) {
    return TARN_OK; /* an option of the table by now */
  }
  id = strncmp(from, "snapshot:", 9) == 0 ? strtoll(from + 9, &end, 10) : 0;
  if (id < 1 || *end != '\0') {
    return cli_usage(err, "--from %s: with --checkpoints expected latest, full or snapshot:N",
                     from);
  }
  if (tarn_stream_seek(f->stream, id, 0, err) != TARN_OK) {
    return err->status;
  }
  return tarn_stream_check(f->stream, err);
}

/* Go on from the state that the sink keeps. */
static tarn_status restore(feed *f, bool *is_restored, tarn_error *err) {
  cli_follow_file file = {0};
  tarn_status st = TARN_OK;
  *is_restored = false;
  if (f->state_path != NULL) {
    cli_text_puts(&f->given.sink, f->state_path);
    cli_text_terminate(&f->given.sink);
    st = f->given.sink.is_broken ? cli_no_memory(err)
                                 : cli_follow_file_read(f->state_path, &file, err);
  }
  st = st == TARN_OK ? cli_feed_restore(&f->given, f->stream, f->complete, &file, &f->n_rows,
                                        is_restored, err)
                     : st;
  if (st == TARN_OK && !*is_restored) {
    cli_feed_name(&f->given);
  }
  cli_follow_file_reset(&file);
  return st;
}

static tarn_status add_option(cli_session *s, const char *key, const char *value, tarn_error *err) {
  return cli_args_add_option(s->args, key, strlen(key), value, err);
}

static tarn_status take_arguments(feed *f, tarn_error *err) {
  cli_session *s = f->session;
  const char *from = s->args->values[OPT_FROM], *consumer = s->args->values[OPT_CONSUMER];
  tarn_status st = TARN_OK;
  f->state_path = s->args->values[OPT_STATE];
  cli_feed_take_consumer(&f->given, s->args);
  f->until_idle = cli_args_has(s->args, OPT_UNTIL_IDLE) || cli_args_has(s->args, OPT_MAX_PLANS);
  if (cli_args_has(s->args, OPT_METRICS)) {
    return cli_usage(err, "--metrics with --checkpoints: the sink counts, ask it");
  }
  if (cli_args_has(s->args, OPT_COMPLETE) && f->state_path == NULL) {
    return cli_usage(err,
                     "--complete with --checkpoints needs --state FILE, the sink's: beside it, in "
                     "FILE.rows, is kept what is known of each key");
  }
  if (cli_args_has(s->args, OPT_FORMAT) && s->format != CLI_FORMAT_JSONL) {
    return cli_usage(err, "--checkpoints are lines between rows of jsonl");
  }
  if (!cli_args_has(s->args, OPT_LIMIT)) {
    s->args->values[OPT_LIMIT] = NO_LIMIT; /* also on a terminal */
  }
  s->args->values[OPT_ROW_KIND] = "";
  if (from != NULL && (strcmp(from, "latest") == 0 || strcmp(from, "full") == 0)) {
    st = add_option(s, "scan.mode", strcmp(from, "full") == 0 ? "latest-full" : from, err);
  }
  return st == TARN_OK && consumer != NULL ? add_option(s, "consumer-id", consumer, err) : st;
}

/* What is kept for --complete is one source's at a time. */
static tarn_status lock_rows(feed *f, tarn_error *err) {
  cli_text path = {0};
  tarn_status st;
  if (!cli_args_has(f->session->args, OPT_COMPLETE)) {
    return TARN_OK;
  }
  cli_text_printf(&path, "%s.rows.source", f->state_path);
  cli_text_terminate(&path);
  st = path.is_broken ? cli_no_memory(err) : cli_follow_lock_take(path.data, &f->lock, err);
  cli_text_reset(&path);
  return st;
}

static tarn_status begin_rows(feed *f, tarn_error *err) {
  const cli_row_style style = {.format = CLI_FORMAT_JSONL, .has_kind = true};
  struct ArrowSchema given;
  tarn_status st = tarn_stream_schema(f->stream, &f->schema, err);
  if (st != TARN_OK) {
    return st;
  }
  given = f->schema; /* lent */
  given.n_children -= (int64_t)f->hidden.count;
  given.release = release_nothing;
  return cli_rows_begin(f->session->env, &given, &style, &f->session->output, &f->rows, err);
}

static int open_feed(feed *f) {
  cli_session *s = f->session;
  tarn_stream_options o = TARN_STREAM_OPTIONS_INIT;
  bool is_restored = false;
  tarn_error err;
  int code = cli_scan_open(s, NULL, CLI_SCAN_ROWS, &f->scan);
  tarn_status st;
  if (code != CLI_EXIT_OK) {
    return code;
  }
  o.allows_endless_consumer = !f->given.has_consumer;
  st = cli_args_number(s->args, OPT_MAX_PLANS, 1, INT64_MAX, &o.max_plans, &err);
  st = st == TARN_OK ? tarn_stream_create(f->scan.scan, &o, &f->stream, &err) : st;
  if (st == TARN_OK && cli_args_has(s->args, OPT_COMPLETE)) {
    st = cli_complete_create(s, f->scan.table, f->stream, false, f->state_path, &f->complete, &err);
  }
  st = st == TARN_OK ? restore(f, &is_restored, &err) : st;
  st = st == TARN_OK && !is_restored ? start_at(f, &err) : st;
  st = st == TARN_OK ? tarn_stream_reader_create(f->stream, 0, &f->reader, &err) : st;
  st = st == TARN_OK ? begin_rows(f, &err) : st;
  return st == TARN_OK ? CLI_EXIT_OK : cli_fail(s, &err);
}

/* ------------------------------------------------------------------ states */

static tarn_status flush(feed *f, tarn_error *err) {
  f->flushed_ms = cli_now_ms();
  return cli_output_flush(&f->session->output) ? TARN_OK
                                               : cli_output_status(&f->session->output, err);
}

/* Give out where the stream stands, behind all rows so far. */
static tarn_status checkpoint(feed *f, tarn_error *err) {
  tarn_status st;
  f->checked_ms = cli_now_ms();
  st =
      cli_feed_give(&f->given, f->stream, f->complete, f->n_rows, &f->session->output.pending, err);
  st = st == TARN_OK ? flush(f, err) : st;
  return st == TARN_OK ? cli_feed_complete(&f->given, f->stream, f->complete, err) : st;
}

/* ------------------------------------------------------------------ rows */

static tarn_status give_batch(feed *f, struct ArrowArray *array, tarn_error *err) {
  tarn_status st = f->complete != NULL ? cli_complete_apply(f->complete, array, err) : TARN_OK;
  int64_t now;
  if (st == TARN_OK && array->release != NULL) {
    struct ArrowArray given = *array; /* lent */
    given.n_children -= (int64_t)f->hidden.count;
    st = cli_rows_add(f->rows, &given, err);
    f->n_rows += array->length;
  }
  f->has_lost = st != TARN_OK;
  if (array->release != NULL) {
    array->release(array);
  }
  now = cli_now_ms();
  if (st == TARN_OK && (!f->given.has_given || now - f->checked_ms >= CHECKPOINT_MS)) {
    return checkpoint(f, err); /* before it the sink may commit nothing */
  }
  return st == TARN_OK && now - f->flushed_ms >= FLUSH_MS ? flush(f, err) : st;
}

static tarn_status rest(feed *f, bool *ends, tarn_error *err) {
  int32_t has_news;
  tarn_status st = checkpoint(f, err);
  *ends = f->until_idle;
  if (st == TARN_OK && (*ends || f->n_rests++ % CHECK_RESTS == 0)) {
    st = tarn_stream_check(f->stream, err);
  }
  if (st == TARN_OK && !*ends && cli_pipe_is_closed(f->session->output.fd)) {
    f->session->output.state = CLI_OUTPUT_CLOSED;
    return cli_output_status(&f->session->output, err);
  }
  return st == TARN_OK && !*ends
             ? tarn_stream_wait(f->stream, LOOK_MS, f->session->cancel, &has_news, err)
             : st;
}

static tarn_status follow(feed *f, tarn_error *err) {
  bool ends = false;
  tarn_status st = TARN_OK;
  cli_feed_begin(&f->given, f->n_rows, 0, &f->session->output.pending);
  st = flush(f, err);
  while (st == TARN_OK && !ends && !cli_ending_came()) {
    tarn_stream_batch batch = TARN_STREAM_BATCH_INIT;
    struct ArrowArray array = {0};
    st = tarn_stream_reader_next(f->reader, &array, &batch, err);
    if (st == TARN_OK && array.release != NULL) {
      st = give_batch(f, &array, err);
    } else if (st == TARN_OK) {
      ends = batch.has_ended;
      st = ends ? TARN_OK : rest(f, &ends, err);
    }
  }
  return st == TARN_E_CANCELLED && cli_ending_came() ? TARN_OK : st;
}

static int run_feed(cli_session *s) {
  feed f = {.session = s};
  tarn_error err, last;
  tarn_status st = take_arguments(&f, &err);
  int code;
  st = st == TARN_OK ? cli_complete_add_keys(s, &f.hidden, &err) : st;
  st = st == TARN_OK ? lock_rows(&f, &err) : st;
  code = st == TARN_OK ? open_feed(&f) : cli_fail(s, &err);
  if (code == CLI_EXIT_OK) {
    cli_ending_catch(s->cancel);
    f.flushed_ms = f.checked_ms = cli_now_ms();
    st = follow(&f, &err);
    if (st == TARN_OK) {
      st = checkpoint(&f, &err);
    } else if (s->output.state == CLI_OUTPUT_FINE &&
               (f.has_lost || checkpoint(&f, &last) != TARN_OK)) {
      cli_output_drop(&s->output); /* the first failure is told */
    }
    code = st != TARN_OK ? cli_fail(s, &err) : cli_ending_came() ? CLI_EXIT_INTERRUPTED : code;
    cli_ending_forget();
  }
  cli_rows_free(f.rows);
  cli_complete_free(f.complete);
  tarn_stream_reader_free(f.reader);
  tarn_stream_free(f.stream);
  cli_scan_close(&f.scan);
  cli_feed_reset(&f.given);
  if (f.schema.release != NULL) {
    f.schema.release(&f.schema);
  }
  cli_text_reset(&f.hidden.select);
  cli_follow_lock_release(&f.lock);
  return code;
}

int cli_run_tail_or_feed(cli_session *session) {
  return cli_args_has(session->args, OPT_CHECKPOINTS) ? run_feed(session) : cli_run_tail(session);
}
