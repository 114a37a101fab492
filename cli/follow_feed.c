/* follow_feed.c - a source that hands its place on. */
#include "follow_feed.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "errors.h"
#include "follow_state.h"

void cli_feed_reset(cli_feed *feed) {
  cli_text_reset(&feed->source);
  cli_text_reset(&feed->sink);
  free(feed->given);
  memset(feed, 0, sizeof(*feed));
}

void cli_feed_take_consumer(cli_feed *feed, const cli_args *args) {
  feed->has_consumer = cli_args_has(args, OPT_CONSUMER);
  for (size_t i = 0; i < args->n_table_options && !feed->has_consumer; i++) {
    feed->is_read_only |= strcmp(args->table_options[i].key, "consumer-id") == 0;
  }
}

void cli_feed_name(cli_feed *feed) {
  uint64_t words[2] = {0, 0};
  struct timespec now = {0, 0};
  int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  bool is_random = fd >= 0 && read(fd, words, sizeof(words)) == (ssize_t)sizeof(words);
  if (fd >= 0) {
    (void)close(fd);
  }
  if (!is_random) {
    (void)clock_gettime(CLOCK_REALTIME, &now);
    words[0] = (uint64_t)now.tv_sec;
    words[1] = (uint64_t)now.tv_nsec << 32 | (uint64_t)getpid();
  }
  (void)snprintf(feed->name, sizeof(feed->name), "%016llx%016llx", (unsigned long long)words[0],
                 (unsigned long long)words[1]);
}

tarn_status cli_feed_restore(cli_feed *feed, tarn_stream *stream, cli_complete *complete,
                             const cli_follow_file *file, int64_t *rows, bool *is_restored,
                             tarn_error *err) {
  const cli_checkpoint *c = &file->checkpoint;
  size_t n = c->state.len;
  *is_restored = false;
  if (n == 0) {
    return TARN_OK;
  }
  if (cli_complete_restore(complete, feed->sink.data, c->state.data, &n, err) != TARN_OK ||
      tarn_stream_restore(stream, c->state.data, n, rows, err) != TARN_OK) {
    return err->status;
  }
  memcpy(feed->name, c->stream, sizeof(feed->name));
  feed->id = c->id;
  *is_restored = true;
  return tarn_stream_check(stream, err);
}

void cli_feed_begin(const cli_feed *feed, int64_t rows, int64_t next, cli_text *out) {
  cli_checkpoint c = {.id = feed->id, .rows = rows, .source = feed->source, .next = next};
  memcpy(c.stream, feed->name, sizeof(c.stream));
  cli_checkpoint_put(out, &c);
}

static tarn_status remember(cli_feed *feed, int64_t id, int64_t rows, tarn_error *err) {
  if (feed->n_given == feed->given_room) {
    size_t room = feed->given_room * 2 + 16;
    cli_feed_state *grown = realloc(feed->given, room * sizeof(*grown));
    if (grown == NULL) {
      return cli_no_memory(err);
    }
    feed->given = grown;
    feed->given_room = room;
  }
  feed->given[feed->n_given++] = (cli_feed_state){id, rows};
  return TARN_OK;
}

/* Did this run give the state that the sink has? It and those before it are taken off the list. A
 * sink of a run before may bring one with the number of one of ours, and another place. */
static bool take_given(cli_feed *feed, const cli_checkpoint *kept) {
  for (size_t i = 0; i < feed->n_given; i++) {
    if (feed->given[i].id == kept->id && feed->given[i].rows == kept->rows) {
      feed->n_given -= i + 1;
      memmove(feed->given, feed->given + i + 1, feed->n_given * sizeof(*feed->given));
      return true;
    }
  }
  return false;
}

tarn_status cli_feed_give(cli_feed *feed, tarn_stream *stream, cli_complete *complete, int64_t rows,
                          cli_text *out, tarn_error *err) {
  int64_t next = tarn_stream_position(stream);
  cli_checkpoint c = {.rows = rows};
  tarn_string state = {0};
  tarn_status st;
  if (next == 0 || (feed->has_given && feed->given_rows == rows && feed->given_next == next)) {
    return TARN_OK;
  }
  c.id = ++feed->id;
  st = tarn_stream_checkpoint(stream, c.id, rows, &state, err);
  if (st == TARN_OK) {
    cli_text_add(&c.state, state.data, state.length);
    st = complete != NULL    ? cli_complete_keep(complete, &c.state, err)
         : c.state.is_broken ? cli_no_memory(err)
                             : TARN_OK;
  }
  if (st == TARN_OK && feed->has_consumer) {
    st = remember(feed, c.id, rows, err);
  }
  if (st == TARN_OK) {
    cli_checkpoint_put(out, &c);
    feed->has_given = true;
    feed->given_rows = rows;
    feed->given_next = next;
  }
  cli_checkpoint_reset(&c);
  tarn_string_free(&state);
  return st;
}

/* The sink has told its file by now, if it ever does. */
static tarn_status find_sink(cli_feed *feed, tarn_error *err) {
  cli_text bytes = {0};
  cli_follow_link link = {0};
  bool found;
  tarn_status st = cli_follow_state_read(feed->source.data, &bytes, &found, err);
  if (st == TARN_OK && found && cli_follow_link_is(&bytes)) {
    st = cli_follow_link_parse(feed->source.data, &bytes, &link, err);
    if (st == TARN_OK) {
      feed->sink = link.sink; /* moves */
      memset(&link.sink, 0, sizeof(link.sink));
    }
  }
  cli_follow_link_reset(&link);
  cli_text_reset(&bytes);
  return st;
}

/* What the sink's file holds is kept for good. */
static tarn_status complete_kept(cli_feed *feed, tarn_stream *stream, cli_complete *complete,
                                 const cli_checkpoint *kept, tarn_error *err) {
  tarn_status st = TARN_OK;
  if (strcmp(kept->stream, feed->name) != 0 || kept->state.len == 0) {
    return TARN_OK;
  }
  if (complete != NULL) {
    st = cli_complete_kept_in(complete, feed->sink.data, &kept->state, err);
  }
  return st == TARN_OK && take_given(feed, kept) ? tarn_stream_complete(stream, kept->id, err) : st;
}

tarn_status cli_feed_complete(cli_feed *feed, tarn_stream *stream, cli_complete *complete,
                              tarn_error *err) {
  cli_follow_file file = {0};
  bool has_older = complete != NULL && cli_complete_has_older(complete);
  tarn_status st = TARN_OK;
  if (!feed->has_consumer && !feed->is_read_only && feed->id > 0) {
    /* no file moves, but scan.max-snapshot.count counts anew */
    st = tarn_stream_complete(stream, feed->id, err);
  }
  if (st != TARN_OK || (!feed->has_consumer && !has_older)) {
    return st;
  }
  if (feed->sink.len == 0 && feed->source.len > 0) {
    st = find_sink(feed, err);
  }
  if (st != TARN_OK || feed->sink.len == 0) {
    return st;
  }
  st = cli_follow_file_read(feed->sink.data, &file, err);
  st = st == TARN_OK
           ? complete_kept(feed, stream, has_older ? complete : NULL, &file.checkpoint, err)
           : st;
  cli_follow_file_reset(&file);
  return st;
}
