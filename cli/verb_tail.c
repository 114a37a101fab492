/* verb_tail.c - table tail: the rows of a table, then its changes, as they come.
 *
 * Invariants
 *   T1  Rows are printed, and have left the program, before the state file moves behind them, and
 *       that before the consumer's file: after any end nothing is lost. A kill in between prints
 *       some rows twice; the state tells how many rows came before it ("rows" of _resumed), so who
 *       counts what arrived can leave those out.
 *   T2  An interrupt (ending.h) ends at a checkpoint: the batch at hand is printed whole.
 *   T3  An error in the middle is told after what was read has been printed and kept.
 *   T4  No checkpoint lies between a -U that waits for its +U and that +U (debezium, canal): an
 *       interrupt there leaves the checkpoint before, and what came since comes again.
 *   T5  Where a sink that keeps its own state reads the pipe, it keeps the place of the stream, too
 *       (follow_feed.h, decisions/0011). No row leaves before it is known who reads, and nothing is
 *       kept here that a row has left behind.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "as_of.h"
#include "complete.h"
#include "counters.h"
#include "ending.h"
#include "errors.h"
#include "follow_feed.h"
#include "follow_lock.h"
#include "follow_state.h"
#include "scan.h"
#include "source.h"

#define FLUSH_MS 20        /* rows do not stay longer in the program */
#define CHECKPOINT_MS 1000 /* between checkpoints while there is always more */
#define LOOK_MS 500        /* longest wait: does anybody read the pipe? */
#define ALIVE_MS 5000      /* the consumer's file and the counters, while nothing comes */
#define NO_LIMIT "9223372036854775807"

/* Who keeps the place of the stream? */
typedef enum tail_keeper {
  KEEPER_SELF,  /* this program, if anybody */
  KEEPER_ASKED, /* not known yet: the reader of the pipe tells (T5) */
  KEEPER_SINK   /* the reader of the pipe */
} tail_keeper;

typedef struct tail {
  cli_session *session;
  cli_scan scan;
  tarn_stream *stream;
  tarn_stream_reader *reader;
  cli_rows *rows;
  cli_complete *complete;                /* NULL: rows are printed as they come */
  cli_hidden_keys hidden;                /* columns at the end that are not printed */
  const char *state_path, *metrics_path; /* NULL: none */
  bool has_state;                        /* it goes on from one */
  tail_keeper keeper;
  bool can_ask;     /* a sink could read this */
  bool has_lost;    /* rows that were read and are not printed: no checkpoint may be behind them */
  bool has_begun;   /* it is known who reads, and the first line is out */
  bool is_doubtful; /* no sink was seen, and the reader has not taken rows yet */
  int64_t sink;     /* the process that keeps the place */
  cli_feed feed;    /* for it */
  bool has_place;   /* the sink's: a state of it was found */
  cli_follow_lock lock;             /* of the state file */
  struct ArrowSchema schema;        /* with columns that are not printed; else empty */
  struct ArrowSchema **kept_schema; /* its children without those */
  struct ArrowArray **kept_array;   /* the same of a batch */
  bool moves_consumer;              /* --consumer; with -o consumer-id its place is only read */
  bool until_idle;
  bool has_news;                /* the last wait ended with some */
  int64_t first_next;           /* the place that was restored */
  int64_t printed_before;       /* since the state began, by runs before */
  int64_t printed;              /* since the state began */
  int64_t checkpoint;           /* number of the last one */
  bool kept_rest;               /* that was when all was read */
  int64_t kept_rows, kept_next; /* what it holds */
  int64_t flushed_ms, checked_ms, alive_ms, idle_since_ms;
  int64_t fetch_lag_ms, emit_lag_ms; /* -1: not known */
} tail;

/* As tables tell times; cli_now_ms() is for how long something took. */
static int64_t wall_ms(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_REALTIME, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ------------------------------------------------------------------ where to start */

static tarn_status add_option(cli_session *s, const char *key, const char *value, tarn_error *err) {
  return cli_args_add_option(s->args, key, strlen(key), value, err);
}

/* The first snapshot that is not earlier than a time. It is looked for through a stream of its own:
 * the options of a time would also give the columns that the table had then. */
static tarn_status locate(cli_session *s, int64_t ms, int64_t *next, tarn_error *err) {
  size_t n_options = s->args->n_table_options;
  tarn_table *table = NULL;
  tarn_scan *scan = NULL;
  tarn_stream *stream = NULL;
  tarn_plan *plan = NULL;
  tarn_stream_outcome outcome;
  char text[24];
  tarn_status st;
  (void)snprintf(text, sizeof(text), "%lld", (long long)ms);
  st = add_option(s, "scan.mode", "from-timestamp", err);
  st = st == TARN_OK ? add_option(s, "scan.timestamp-millis", text, err) : st;
  st = st == TARN_OK ? cli_session_table(s, NULL, &table, err) : st;
  st = st == TARN_OK ? tarn_scan_create(table, NULL, &scan, err) : st;
  st = st == TARN_OK ? tarn_stream_create(scan, NULL, &stream, err) : st;
  st = st == TARN_OK ? tarn_stream_plan(stream, &outcome, &plan, err) : st;
  if (st == TARN_OK) {
    *next = tarn_stream_position(stream);
    *next = *next != 0 ? *next : 1; /* the table has no snapshot yet */
  }
  tarn_plan_free(plan);
  tarn_stream_free(stream);
  tarn_scan_free(scan);
  tarn_table_free(table);
  while (s->args->n_table_options > n_options) {
    free((void *)s->args->table_options[--s->args->n_table_options].key);
  }
  return st;
}

/* --from: a mode for the table's options, or a snapshot to seek (*next, 0: none). */
static tarn_status take_from(cli_session *s, int64_t *next, bool *is_exact, tarn_error *err) {
  const char *from = s->args->values[OPT_FROM];
  int64_t ms = 0;
  *next = 0;
  *is_exact = false;
  if (from == NULL) {
    return TARN_OK;
  }
  if (strcmp(from, "latest") == 0 || strcmp(from, "full") == 0) {
    return add_option(s, "scan.mode", strcmp(from, "full") == 0 ? "latest-full" : from, err);
  }
  if (strncmp(from, "snapshot:", 9) == 0) {
    char *end;
    long long id = strtoll(from + 9, &end, 10);
    if (end == from + 9 || *end != '\0' || id < 1) {
      return cli_usage(err, "--from %s: expected the id of a snapshot behind the colon", from);
    }
    *next = id;
    *is_exact = true;
    return TARN_OK;
  }
  if (strncmp(from, "ts:", 3) == 0) {
    tarn_status st = cli_time_parse("from ts", from + 3, s->args->values[OPT_TIME_ZONE], &ms, err);
    return st == TARN_OK ? locate(s, ms, next, err) : st;
  }
  return strcmp(from, "earliest") == 0
             ? locate(s, 0, next, err)
             : cli_usage(err, "--from %s: expected latest, earliest, full, snapshot:N or ts:TIME",
                         from);
}

/* Does the consumer have a record, and is it obeyed? Tells it if that has expired. */
static bool follows_consumer(tail *t, int64_t *next) {
  cli_session *s = t->session;
  const char *id = s->args->values[OPT_CONSUMER];
  tarn_stream_status status = TARN_STREAM_STATUS_INIT;
  for (size_t i = 0; i < s->args->n_table_options; i++) {
    const tarn_option *o = &s->args->table_options[i];
    id = strcmp(o->key, "consumer-id") == 0 ? o->value : id;
    if (strcmp(o->key, "consumer.ignore-progress") == 0 && strcmp(o->value, "true") == 0) {
      return false;
    }
  }
  if (id == NULL || tarn_stream_get_consumer_lag(t->stream, id, &status, NULL) != TARN_OK) {
    return false;
  }
  *next = status.next_snapshot;
  return true;
}

/* The sink's file, which the state file names. */
static tarn_status read_link(tail *t, const cli_follow_link *link, cli_follow_file *file,
                             tarn_error *err) {
  const char *sink = link->sink.data;
  tarn_status st;
  if (!t->can_ask) {
    return cli_error(
        err, TARN_E_INVALID,
        "%.300s: the place of this stream is kept in %.300s, by a 'table write': rows go "
        "to it alone, as jsonl through a pipe; for another reader begin with another "
        "state file",
        t->state_path, sink);
  }
  st = cli_follow_file_read(sink, file, err);
  if (st == TARN_OK && !file->is_there) {
    return cli_error(
        err, TARN_E_STATE,
        "%.250s: the place of this stream is kept in %.250s, which is not there: put it "
        "back. Where it was moved to X, go on with table tail --checkpoints --state X | "
        "table write --state X; where it is lost, begin anew, with an empty table and "
        "without %.250s",
        t->state_path, sink, t->state_path);
  }
  if (st == TARN_OK && strcmp(file->checkpoint.stream, link->stream) != 0) {
    return cli_error(
        err, TARN_E_STATE,
        "%.300s: the place of this stream was kept in %.300s, which is of another stream "
        "now",
        t->state_path, sink);
  }
  return st;
}

/* A state without what comes behind the stream's own bytes. */
static tarn_status restore_state(tail *t, const cli_text *bytes, int64_t *rows, tarn_error *err) {
  size_t n = bytes->len;
  tarn_status st = cli_complete_restore(t->complete, t->state_path, bytes->data, &n, err);
  return st == TARN_OK ? tarn_stream_restore(t->stream, bytes->data, n, rows, err) : st;
}

/* Go on from what the sink has; where that is nothing yet, from where the stream began. */
static tarn_status restore_given(tail *t, const cli_text *bytes, tarn_error *err) {
  cli_follow_link link = {0};
  cli_follow_file file = {0};
  bool is_restored = false;
  tarn_status st = cli_follow_link_parse(t->state_path, bytes, &link, err);
  st = st == TARN_OK ? read_link(t, &link, &file, err) : st;
  if (st == TARN_OK) {
    t->keeper = KEEPER_SINK;
    memcpy(t->feed.name, link.stream, sizeof(t->feed.name));
    t->feed.sink = link.sink; /* moves */
    memset(&link.sink, 0, sizeof(link.sink));
    st = cli_feed_restore(&t->feed, t->stream, t->complete, &file, &t->printed, &is_restored, err);
  }
  t->has_state = t->has_place = st == TARN_OK && is_restored;
  if (st == TARN_OK && !is_restored && link.start.len > 0) {
    st = restore_state(t, &link.start, NULL, err);
    t->has_state = st == TARN_OK;
  }
  cli_follow_file_reset(&file);
  cli_follow_link_reset(&link);
  return st;
}

static tarn_status restore_own(tail *t, const cli_text *bytes, tarn_error *err) {
  size_t n = bytes->len;
  tarn_status st;
  if (cli_follow_file_is(bytes)) {
    return cli_error(err, TARN_E_INVALID,
                     "%.300s: it is the state of a 'table write': a tail needs a file of its own, "
                     "or --checkpoints",
                     t->state_path);
  }
  st = cli_complete_restore(t->complete, t->state_path, bytes->data, &n, err);
  if (st != TARN_OK) {
    return st;
  }
  st = tarn_stream_restore(t->stream, bytes->data, n, &t->printed, err);
  t->has_state = st == TARN_OK;
  return st == TARN_OK ? st : cli_error_prefix(err, t->state_path);
}

static tarn_status restore(tail *t, tarn_error *err) {
  cli_text bytes = {0};
  bool found;
  tarn_status st = cli_follow_state_read(t->state_path, &bytes, &found, err);
  if (st == TARN_OK && found) {
    st = cli_follow_link_is(&bytes) ? restore_given(t, &bytes, err) : restore_own(t, &bytes, err);
    t->printed_before = t->printed;
    t->first_next = tarn_stream_position(t->stream);
  }
  cli_text_reset(&bytes);
  if (st == TARN_OK && t->has_state) {
    (void)fprintf(stderr, "{\"_resumed\":{\"next_snapshot\":%lld,\"rows\":%lld}}\n",
                  (long long)tarn_stream_position(t->stream), (long long)t->printed);
    st = tarn_stream_check(t->stream, err);
  }
  return st;
}

static tarn_status start(tail *t, int64_t from, bool is_exact, tarn_error *err) {
  int64_t consumer_next = 0, next;
  bool has_record = follows_consumer(t, &consumer_next);
  tarn_status st = t->state_path != NULL ? restore(t, err) : TARN_OK;
  if (st != TARN_OK || t->has_state) {
    return st;
  }
  if (from != 0 && !has_record) {
    st = tarn_stream_seek(t->stream, from, 0, err);
    return st == TARN_OK && is_exact ? tarn_stream_check(t->stream, err) : st;
  }
  if (has_record) {
    // Looks for the start now, so that what the consumer missed can be told.
    tarn_stream_outcome outcome;
    tarn_plan *plan = NULL;
    st = tarn_stream_plan(t->stream, &outcome, &plan, err);
    tarn_plan_free(plan);
    next = tarn_stream_position(t->stream);
    if (st == TARN_OK && next > consumer_next) {
      cli_report_note(&t->session->report,
                      "the consumer asks for snapshot %lld, which has expired: it goes on at "
                      "snapshot %lld",
                      (long long)consumer_next, (long long)next);
    }
    if (st == TARN_OK && next != 0) {
      st = tarn_stream_check(t->stream, err);
    }
  }
  return st;
}

/* ------------------------------------------------------------------ counters */

static void put_normaliser(const tail *t, cli_text *out) {
  tarn_normaliser_stats kept = TARN_NORMALISER_STATS_INIT;
  cli_complete_stats(t->complete, &kept);
  const cli_counter counters[] = {
      {"tarn_normaliser_keys", "keys whose last row is kept", "gauge", kept.keys},
      {"tarn_normaliser_fileBytes", "bytes of these rows", "gauge", kept.file_bytes},
      {"tarn_normaliser_garbageBytes", "of them of no use", "gauge", kept.garbage_bytes},
  };
  cli_counters_put(out, counters, CLI_COUNT(counters));
}

/* Under Paimon's names where it has one. */
static tarn_status write_metrics(tail *t, tarn_error *err) {
  tarn_stream_status s = TARN_STREAM_STATUS_INIT;
  cli_text out = {0};
  tarn_status st = tarn_stream_get_status(t->stream, &s, err);
  int64_t idle = t->idle_since_ms != 0 ? cli_now_ms() - t->idle_since_ms : 0;
  if (st != TARN_OK) {
    return st == TARN_E_CANCELLED ? TARN_OK : st;
  }
  const cli_counter counters[] = {
      {"paimon_scan_lastScanDuration", "milliseconds of the last plan", "gauge", s.plan_ms},
      {"paimon_scan_lastScannedSnapshotId", "snapshot of the last plan, -1: none", "gauge",
       s.planned_snapshot},
      {"paimon_scan_lastScannedManifests", "manifests that it read", "gauge", s.planned_manifests},
      {"paimon_scan_lastScanSkippedTableFiles", "files that it left out", "gauge", s.skipped_files},
      {"paimon_scan_lastScanResultedTableFiles", "files in it", "gauge", s.planned_files},
      {"paimon_source_currentFetchEventTimeLag",
       "milliseconds from the oldest file of a split to its reading, -1: not known", "gauge",
       t->fetch_lag_ms},
      {"paimon_source_currentEmitEventTimeLag",
       "milliseconds from that file to the last rows, -1: not known", "gauge", t->emit_lag_ms},
      {"paimon_source_sourceIdleTime", "milliseconds without rows", "gauge", idle},
      {"paimon_source_sourceParallelismUpperBound", "readers beyond it idle", "gauge",
       tarn_stream_max_readers(t->stream)},
      {"tarn_stream_nextSnapshotId", "the position, 0: none yet", "gauge", s.next_snapshot},
      {"tarn_stream_latestSnapshotId", "of the table", "gauge", s.latest_snapshot},
      {"tarn_stream_lagSnapshots", "there and not planned", "gauge", s.lag_snapshots},
      {"tarn_stream_lagRows", "changes in them, -1: not known", "gauge", s.lag_rows},
      {"tarn_stream_lagMilliseconds", "since the first of them was committed", "gauge", s.lag_ms},
      {"tarn_stream_pendingSplits", "planned and not read", "gauge", s.pending_splits},
      {"tarn_stream_snapshotTime", "commit time of the last snapshot planned, 0: none", "gauge",
       s.snapshot_ms},
      {"tarn_stream_watermark", "of the last snapshot, 0: none", "gauge",
       s.has_watermark ? s.watermark : 0},
      {"tarn_stream_rows_total", "rows printed since the state began", "counter", t->printed},
      {"tarn_stream_checkpoints_total", "by this run", "counter", t->checkpoint},
      {"tarn_stream_skippedOverwrites_total", "snapshots that options pass over", "counter",
       s.skipped_overwrites},
  };
  cli_counters_put(&out, counters, CLI_COUNT(counters));
  cli_counters_put_summary(&out, "paimon_scan_scanDuration", "milliseconds of plans", s.plans_ms,
                           s.plans);
  if (t->complete != NULL) {
    put_normaliser(t, &out);
  }
  return cli_counters_write(&out, t->metrics_path, err);
}

/* ------------------------------------------------------------------ checkpoints */

static tarn_status flush(tail *t, tarn_error *err) {
  t->flushed_ms = cli_now_ms();
  return cli_output_flush(&t->session->output) ? TARN_OK
                                               : cli_output_status(&t->session->output, err);
}

/* The sink of a run before, which still had rows in its pipe, may have taken the place just now, or
 * brought it further than where this stream begins. */
static tarn_status check_own(const tail *t, tarn_error *err) {
  cli_follow_file file = {0};
  bool found, is_own = true;
  tarn_status st = TARN_OK;
  if (t->keeper == KEEPER_ASKED) {
    st = cli_follow_state_read(t->state_path, &file.bytes, &found, err);
    is_own = st != TARN_OK || !cli_follow_link_is(&file.bytes);
  } else if (t->keeper == KEEPER_SINK && !t->has_place) {
    st = cli_follow_file_read(t->feed.sink.data, &file, err);
    is_own = st != TARN_OK || file.checkpoint.state.len == 0;
  }
  cli_follow_file_reset(&file);
  return is_own
             ? st
             : cli_error(err, TARN_E_CONFLICT,
                         "%.600s: the sink of a run before has taken the place of the stream just "
                         "now; start again when it has ended",
                         t->state_path);
}

static tarn_status fail_closed(tail *t, tarn_error *err) {
  t->session->output.state = CLI_OUTPUT_CLOSED;
  return cli_output_status(&t->session->output, err);
}

/* Until the reader has taken what is in the pipe. *is_taken false: an interrupt came first. */
static tarn_status wait_for_reader(tail *t, bool *is_taken, tarn_error *err) {
  int fd = t->session->output.fd, wait_ms = 1;
  for (;;) {
    *is_taken = cli_pipe_unread(fd) == 0;
    if (*is_taken || cli_ending_came()) {
      return TARN_OK;
    }
    if (cli_pipe_is_closed(fd)) {
      return fail_closed(t, err);
    }
    (void)poll(NULL, 0, wait_ms);
    wait_ms = wait_ms < 16 ? wait_ms * 2 : 16;
  }
}

/* A sink that is killed gives its lock back a moment before its end of the pipe: in that moment it
 * looks like a reader that is no sink. Who takes the rows as well is alive, and is asked again. */
static tarn_status check_reader(tail *t, tarn_error *err) {
  int fd = t->session->output.fd;
  bool is_taken;
  tarn_status st = t->is_doubtful ? wait_for_reader(t, &is_taken, err) : TARN_OK;
  if (st != TARN_OK || !t->is_doubtful) {
    return st;
  }
  if (cli_pipe_is_closed(fd) || (is_taken && cli_pipe_keeper(fd) != 0)) {
    return fail_closed(t, err);
  }
  t->is_doubtful = !is_taken; /* interrupted: these rows come again */
  return TARN_OK;
}

static tarn_status write_state(tail *t, const tarn_string *state, tarn_error *err) {
  cli_text bytes = {0};
  tarn_status st = check_own(t, err);
  if (st != TARN_OK) {
    return st;
  }
  if (t->complete == NULL) {
    return cli_follow_state_write(t->state_path, state->data, state->length, true, err);
  }
  cli_text_add(&bytes, state->data, state->length);
  st = cli_complete_keep(t->complete, &bytes, err);
  st = st == TARN_OK ? cli_follow_state_write(t->state_path, bytes.data, bytes.len, true, err) : st;
  if (st == TARN_OK) {
    cli_complete_kept(t->complete);
  }
  cli_text_reset(&bytes);
  return st;
}

/* Hand it to the sink. */
static tarn_status give(tail *t, tarn_error *err) {
  cli_output *output = &t->session->output;
  tarn_status st =
      cli_feed_give(&t->feed, t->stream, t->complete, t->printed, &output->pending, err);
  t->checked_ms = cli_now_ms();
  t->checkpoint = t->feed.id;
  st = st == TARN_OK ? flush(t, err) : st;
  if (st == TARN_OK && cli_pipe_keeper(output->fd) != t->sink) {
    return fail_closed(t, err); /* another reader would begin in the middle */
  }
  st = st == TARN_OK ? cli_feed_complete(&t->feed, t->stream, t->complete, err) : st;
  return st == TARN_OK && t->metrics_path != NULL ? write_metrics(t, err) : st;
}

/* Keep where the stream has come to. is_rest: all that was planned is read. is_alive: also tell the
 * consumer's file that nothing moved. */
static tarn_status checkpoint(tail *t, bool is_rest, bool is_alive, tarn_error *err) {
  int64_t next = tarn_stream_position(t->stream);
  bool has_moved = t->checkpoint == 0 || next != t->kept_next || t->printed != t->kept_rows ||
                   is_rest != t->kept_rest;
  tarn_string state = {0};
  tarn_status st;
  if (t->keeper == KEEPER_SINK) {
    return t->has_begun ? give(t, err) : TARN_OK;
  }
  st = flush(t, err);
  st = st == TARN_OK ? check_reader(t, err) : st;
  if (st == TARN_OK && t->is_doubtful) {
    return TARN_OK;
  }
  t->checked_ms = cli_now_ms();
  if (st == TARN_OK && (has_moved || is_alive) && (t->state_path != NULL || t->moves_consumer)) {
    st = tarn_stream_checkpoint(t->stream, ++t->checkpoint, t->printed, &state, err);
    if (st == TARN_OK && t->state_path != NULL && has_moved) {
      st = write_state(t, &state, err);
    }
    tarn_string_free(&state);
    if (st == TARN_OK && t->moves_consumer) {
      st = tarn_stream_complete(t->stream, t->checkpoint, err);
    }
    t->kept_rest = is_rest;
    t->kept_next = next;
    t->kept_rows = t->printed;
  }
  return st == TARN_OK && t->metrics_path != NULL ? write_metrics(t, err) : st;
}

/* ------------------------------------------------------------------ who reads? */

/* The first byte of whatever comes is put into the pipe. When it is out again, the reader has begun
 * to read, and a sink has told before that that it is one (cli_source_hold()). No clock is asked.
 */
static tarn_status ask_reader(tail *t, tarn_error *err) {
  cli_output *output = &t->session->output;
  bool is_taken;
  tarn_status st;
  while (write(output->fd, "{", 1) != 1) {
    if (errno == EPIPE) {
      return fail_closed(t, err);
    }
    if (errno != EINTR) {
      output->state = CLI_OUTPUT_FAILED;
      output->os_errno = errno;
      return cli_output_status(output, err);
    }
  }
  output->n_early = 1;
  st = wait_for_reader(t, &is_taken, err);
  if (st == TARN_OK) {
    t->sink = cli_ending_came() ? 0 : cli_pipe_keeper(output->fd);
  }
  return st;
}

static tarn_status begin_rows(tail *t, tarn_error *err);

/* The reader keeps the place: of a stream that begins, unless the state file has told so. */
static tarn_status begin_given(tail *t, bool is_new, tarn_error *err) {
  tarn_status st = check_own(t, err); /* the sink that reads this has the lock of its file by now */
  if (st != TARN_OK) {
    return st;
  }
  t->keeper = KEEPER_SINK;
  if (is_new) {
    cli_feed_name(&t->feed);
    t->feed.id = t->checkpoint;
    t->printed = t->printed_before = 0;
  }
  cli_feed_begin(&t->feed, t->printed, t->has_state && !t->has_place ? t->first_next : 0,
                 &t->session->output.pending);
  return begin_rows(t, err);
}

/* Before the first row. */
static tarn_status begin(tail *t, tarn_error *err) {
  bool is_new = t->keeper == KEEPER_ASKED;
  tarn_status st = ask_reader(t, err);
  if (st != TARN_OK) {
    return st;
  }
  if (t->sink == 0 && !is_new) {
    if (cli_ending_came()) {
      return TARN_OK;
    }
    return cli_pipe_is_closed(t->session->output.fd)
               ? fail_closed(t, err)
               : cli_error(
                     err, TARN_E_STATE,
                     "%.300s: the place of this stream is kept in %.300s, by a 'table write', "
                     "and what reads the pipe is none with --state: for another reader begin "
                     "with another state file; with a program between both give --checkpoints "
                     "--state %.300s",
                     t->state_path, t->feed.sink.data, t->feed.sink.data);
  }
  t->has_begun = true;
  if (t->sink != 0) {
    return begin_given(t, is_new, err);
  }
  t->keeper = KEEPER_SELF;
  t->is_doubtful = true;
  if (cli_ending_came()) { /* who reads was not found out: these rows come again */
    t->state_path = NULL;
    t->moves_consumer = false;
  }
  return begin_rows(t, err);
}

/* ------------------------------------------------------------------ rows */

/* Rows printed since the state began. */
static void count(tail *t) {
  t->printed = t->printed_before + (t->rows != NULL ? cli_rows_count(t->rows) : 0);
}

/* A sink steps over the snapshot, and nobody asked for keys that --complete alone needs. */
static int64_t count_kept(const tail *t, int64_t n_columns) {
  return n_columns - (t->keeper == KEEPER_SINK) - (int64_t)t->hidden.count;
}

/* Where the i-th column that is printed is. */
static int64_t kept_at(const tail *t, int64_t i) {
  return i + (t->keeper == KEEPER_SINK && i > 0);
}

static tarn_status add_rows(tail *t, const struct ArrowArray *array, tarn_error *err) {
  struct ArrowArray view = *array;
  if (t->kept_array == NULL) {
    return cli_rows_add(t->rows, array, err);
  }
  view.n_children = count_kept(t, array->n_children);
  view.children = t->kept_array;
  for (int64_t i = 0; i < view.n_children; i++) {
    view.children[i] = array->children[kept_at(t, i)];
  }
  return cli_rows_add(t->rows, &view, err);
}

static void note_lags(tail *t, const tarn_stream_batch *batch) {
  int64_t now = wall_ms();
  t->emit_lag_ms = batch->created_ms >= 0 ? now - batch->created_ms : -1;
  t->fetch_lag_ms = batch->first_row == 0 ? t->emit_lag_ms : t->fetch_lag_ms;
  t->idle_since_ms = 0;
}

static tarn_status print_batch(tail *t, struct ArrowArray *array, const tarn_stream_batch *batch,
                               tarn_error *err) {
  int64_t now;
  tarn_status st = t->complete != NULL ? cli_complete_apply(t->complete, array, err) : TARN_OK;
  cli_rows_tell_time(t->rows, batch->created_ms);
  if (st == TARN_OK && array->release != NULL) {
    st = add_rows(t, array, err);
  }
  count(t);
  note_lags(t, batch);
  if (array->release != NULL) {
    array->release(array);
  }
  if (st != TARN_OK) {
    t->has_lost = true;
    return st;
  }
  now = cli_now_ms();
  if (t->keeper == KEEPER_SINK && !t->feed.has_given) {
    return checkpoint(t, false, false, err); /* before it the sink may commit nothing */
  }
  if (now - t->checked_ms >= CHECKPOINT_MS && !cli_rows_wait(t->rows)) {
    return checkpoint(t, false, false, err);
  }
  return now - t->flushed_ms >= FLUSH_MS ? flush(t, err) : TARN_OK;
}

/* A pipe that nobody reads tells so only when something is written, and that may be never. */
static tarn_status wait_for_news(tail *t, int32_t *has_news, tarn_error *err) {
  int fd = t->session->output.fd;
  struct stat facts;
  bool is_pipe = fstat(fd, &facts) == 0 && (S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode));
  if (is_pipe && cli_pipe_is_closed(fd)) {
    return fail_closed(t, err);
  }
  return tarn_stream_wait(t->stream, is_pipe ? LOOK_MS : -1, t->session->cancel, has_news, err);
}

/* All that was there is printed. *ends: that was all. */
static tarn_status rest(tail *t, bool *ends, tarn_error *err) {
  int32_t has_news;
  tarn_status st = TARN_OK;
  if (t->rows != NULL && (t->session->format == CLI_FORMAT_TABLE || cli_rows_wait(t->rows))) {
    /* a table waits for widths: it shows what it has; a -U has waited in vain */
    st = cli_rows_end(t->rows, err);
    count(t);
  }
  st = st == TARN_OK ? checkpoint(t, true, false, err) : st;
  *ends = t->until_idle;
  if (st != TARN_OK || *ends) {
    return st == TARN_OK && !cli_ending_came() ? tarn_stream_check(t->stream, err) : st;
  }
  if (t->idle_since_ms == 0 || t->has_news) {
    /* News without rows may be that the table has gone. */
    t->idle_since_ms = t->idle_since_ms == 0 ? cli_now_ms() : t->idle_since_ms;
    st = tarn_stream_check(t->stream, err);
  }
  st = st == TARN_OK ? wait_for_news(t, &has_news, err) : st;
  t->has_news = st == TARN_OK && has_news != 0;
  if (st != TARN_OK || has_news || cli_now_ms() - t->alive_ms < ALIVE_MS) {
    return st;
  }
  t->alive_ms = cli_now_ms();
  return checkpoint(t, true, true, err);
}

static tarn_status follow(tail *t, tarn_error *err) {
  bool ends = false;
  tarn_status st = t->keeper == KEEPER_SELF   ? begin_rows(t, err)
                   : t->keeper == KEEPER_SINK ? begin(t, err)
                                              : TARN_OK;
  while (st == TARN_OK && !ends && !cli_ending_came()) {
    tarn_stream_batch batch = TARN_STREAM_BATCH_INIT;
    struct ArrowArray array = {0};
    st = tarn_stream_reader_next(t->reader, &array, &batch, err);
    if (st == TARN_OK && array.release != NULL && array.length > 0 && t->keeper == KEEPER_ASKED) {
      st = begin(t, err);
      if (st != TARN_OK) {
        array.release(&array);
        t->has_lost = true;
        return st;
      }
    }
    if (st == TARN_OK && array.release != NULL && t->rows == NULL) {
      array.release(&array); /* of no rows */
    } else if (st == TARN_OK && array.release != NULL) {
      st = print_batch(t, &array, &batch, err);
    } else if (st == TARN_OK) {
      ends = batch.has_ended;
      st = ends ? TARN_OK : rest(t, &ends, err);
    }
  }
  return st == TARN_E_CANCELLED && cli_ending_came() ? TARN_OK : st;
}

/* ------------------------------------------------------------------ the verb */

/* May a sink read this, and keep the place? */
static tarn_status look_at_output(tail *t, tarn_error *err) {
  cli_session *s = t->session;
  struct stat facts;
  tarn_status st;
  if (t->state_path == NULL || s->format != CLI_FORMAT_JSONL || fstat(s->output.fd, &facts) != 0 ||
      !S_ISFIFO(facts.st_mode)) {
    return TARN_OK;
  }
  st = cli_follow_whole_path(t->state_path, &t->feed.source, err);
  if (st == TARN_E_INVALID) {
    return TARN_OK; /* it could not be told the path */
  }
  t->can_ask = st == TARN_OK;
  t->keeper = KEEPER_ASKED;
  cli_feed_take_consumer(&t->feed, s->args);
  return st;
}

static int open_tail(tail *t, int64_t from, bool is_exact) {
  cli_session *s = t->session;
  tarn_stream_options o = TARN_STREAM_OPTIONS_INIT;
  tarn_stream_kinds kinds;
  tarn_error err;
  int code = cli_scan_open(s, NULL, CLI_SCAN_ROWS, &t->scan);
  tarn_status st;
  if (code != CLI_EXIT_OK) {
    return code;
  }
  o.with_snapshot = 1;
  o.allows_endless_consumer = !cli_args_has(s->args, OPT_CONSUMER); /* -o is for who knows */
  st = cli_args_number(s->args, OPT_MAX_PLANS, 1, INT64_MAX, &o.max_plans, &err);
  st = st == TARN_OK ? tarn_stream_create(t->scan.scan, &o, &t->stream, &err) : st;
  st = st == TARN_OK ? tarn_stream_get_kinds(t->scan.table, &kinds, &err) : st;
  if (st == TARN_OK && cli_args_has(s->args, OPT_COMPLETE)) {
    st = cli_complete_create(s, t->scan.table, t->stream, true, t->state_path, &t->complete, &err);
  } else if (st == TARN_OK && kinds == TARN_STREAM_UPSERTS && isatty(STDERR_FILENO) == 1) {
    cli_report_note(&s->report,
                    "the table has no changelog: rows come as they were written, without -U; "
                    "--complete, or changelog-producer=lookup or input, gives a complete one");
  }
  st = st == TARN_OK ? look_at_output(t, &err) : st;
  st = st == TARN_OK ? start(t, from, is_exact, &err) : st;
  st = st == TARN_OK ? tarn_stream_reader_create(t->stream, 0, &t->reader, &err) : st;
  return st == TARN_OK ? CLI_EXIT_OK : cli_fail(s, &err);
}

static void release_nothing(struct ArrowSchema *schema) {
  schema->release = NULL;
}

/* The columns that are printed alone. */
static tarn_status drop_columns(tail *t, struct ArrowSchema *schema, tarn_error *err) {
  size_t n = (size_t)schema->n_children;
  t->schema = *schema; /* moves; what is given out is a view of it */
  t->kept_schema = calloc(n, sizeof(*t->kept_schema));
  t->kept_array = calloc(n, sizeof(*t->kept_array));
  schema->release = release_nothing;
  if (t->kept_schema == NULL || t->kept_array == NULL) {
    return cli_no_memory(err);
  }
  schema->n_children = count_kept(t, t->schema.n_children);
  for (int64_t i = 0; i < schema->n_children; i++) {
    t->kept_schema[i] = t->schema.children[kept_at(t, i)];
  }
  schema->children = t->kept_schema;
  return TARN_OK;
}

static tarn_status begin_rows(tail *t, tarn_error *err) {
  cli_session *s = t->session;
  struct ArrowSchema schema = {0};
  cli_row_style style = {
      .format = s->format,
      .has_kind = true,
      .has_header = !cli_args_has(s->args, OPT_NO_HEADER),
      .null_text = s->args->values[OPT_NULL],
      .has_colors = s->has_colors,
      .max_width = s->max_width,
  };
  tarn_string facts = {0};
  tarn_status st = tarn_table_describe(t->scan.table, &facts, err);
  style.facts = facts.data;
  style.n_facts = facts.length;
  st = st == TARN_OK ? tarn_stream_schema(t->stream, &schema, err) : st;
  if (st == TARN_OK && count_kept(t, 0) < 0) {
    st = drop_columns(t, &schema, err);
  }
  st = st == TARN_OK ? cli_rows_begin(s->env, &schema, &style, &s->output, &t->rows, err) : st;
  tarn_string_free(&facts);
  return st;
}

/* The end, good or bad: what was read is printed and kept, then told. */
static int end_tail(tail *t, tarn_status st, const tarn_error *why) {
  cli_session *s = t->session;
  tarn_error err;
  int64_t next;
  bool is_output = s->output.state != CLI_OUTPUT_FINE;
  bool waits = t->rows != NULL && (st != TARN_OK || cli_ending_came()) && cli_rows_wait(t->rows);
  tarn_status last = is_output                  ? TARN_OK
                     : waits || t->rows == NULL ? flush(t, &err)
                                                : cli_rows_end(t->rows, &err);
  count(t);
  if (last == TARN_OK && !is_output && !waits && !t->has_lost) {
    last = checkpoint(t, st == TARN_OK && !cli_ending_came(), false, &err);
  }
  if (st != TARN_OK) {
    return cli_fail(s, why);
  }
  if (last != TARN_OK) {
    return cli_fail(s, &err);
  }
  next = tarn_stream_position(t->stream);
  if (next != 0) {
    (void)fprintf(stderr, "{\"_next_snapshot\":%lld}\n", (long long)next);
  } else {
    (void)fputs("{\"_next_snapshot\":null}\n", stderr);
  }
  return cli_ending_came() ? CLI_EXIT_INTERRUPTED : CLI_EXIT_OK;
}

static tarn_status take_arguments(tail *t, int64_t *from, bool *is_exact, tarn_error *err) {
  cli_session *s = t->session;
  const char *consumer = s->args->values[OPT_CONSUMER];
  tarn_status st = TARN_OK;
  t->state_path = s->args->values[OPT_STATE];
  t->metrics_path = s->args->values[OPT_METRICS];
  t->until_idle = !cli_args_has(s->args, OPT_FOLLOW) &&
                  (cli_args_has(s->args, OPT_UNTIL_IDLE) || cli_args_has(s->args, OPT_MAX_PLANS));
  if (cli_args_has(s->args, OPT_FOLLOW) && cli_args_has(s->args, OPT_UNTIL_IDLE)) {
    return cli_usage(err, "--follow and --until-idle exclude each other");
  }
  if (!cli_args_has(s->args, OPT_LIMIT)) {
    s->args->values[OPT_LIMIT] = NO_LIMIT; /* also on a terminal */
  }
  s->args->values[OPT_ROW_KIND] = "";
  /* Its checkpoints are its own affair, and never wait. */
  st = add_option(s, "source.checkpoint-align.enabled", "false", err);
  st = st == TARN_OK ? take_from(s, from, is_exact, err) : st;
  t->moves_consumer = consumer != NULL;
  if (st == TARN_OK && consumer != NULL) {
    st = add_option(s, "consumer-id", consumer, err);
  }
  return st;
}

int cli_run_tail(cli_session *s) {
  tail t = {.session = s, .fetch_lag_ms = -1, .emit_lag_ms = -1};
  int64_t from = 0;
  bool is_exact = false;
  tarn_error err;
  tarn_status st = take_arguments(&t, &from, &is_exact, &err);
  int code;
  st = st == TARN_OK ? cli_complete_add_keys(s, &t.hidden, &err) : st;
  if (st == TARN_OK && t.state_path != NULL) {
    st = cli_follow_lock_take(t.state_path, &t.lock, &err);
  }
  code = st == TARN_OK ? open_tail(&t, from, is_exact) : cli_fail(s, &err);
  if (code == CLI_EXIT_OK) {
    cli_ending_catch(s->cancel);
    t.flushed_ms = t.checked_ms = cli_now_ms();
    st = follow(&t, &err);
    code = end_tail(&t, st, &err);
  }
  cli_ending_forget();
  cli_rows_free(t.rows);
  cli_complete_free(t.complete);
  tarn_stream_reader_free(t.reader);
  tarn_stream_free(t.stream);
  cli_scan_close(&t.scan);
  cli_feed_reset(&t.feed);
  cli_follow_lock_release(&t.lock);
  if (t.schema.release != NULL) {
    t.schema.release(&t.schema);
  }
  free(t.kept_schema);
  free(t.kept_array);
  cli_text_reset(&t.hidden.select);
  return code;
}
