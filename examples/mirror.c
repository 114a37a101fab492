/* mirror.c - one table follows another, each row once, however often the program is killed.
 *
 *   mirror WAREHOUSE DB.SOURCE DB.TARGET STATE [follow]
 *
 * Copies what SOURCE has, then what changes in it, into TARGET, which has the same columns and keys
 * (and is made beforehand). STATE is a file: where the source stands and what is being committed,
 * in one. Ends when all that is there has been copied; with `follow` it waits for more.
 *
 * The order of steps makes it exact: files are written, then the state that names them is kept,
 * then they become visible. Killed before the state: the files are in no table, and the rows come
 * again. Killed behind it: the next run commits what the state names, unless that is done.
 */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tarn/tarn.h>

#define CHECKPOINT_ROWS 100000 /* between checkpoints, while there is always more */

typedef struct mirror {
  tarn_env *env;
  tarn_catalog *catalog;
  tarn_table *source, *target;
  tarn_scan *scan;
  tarn_stream *stream;
  tarn_stream_reader *reader;
  tarn_sink *sink;
  tarn_writer *writer;
  struct ArrowSchema schema; /* of the rows: the table's columns, and _row_kind */
  const char *state_path;
  int64_t n_rows, n_commits; /* copied by this run */
} mirror;

static tarn_status failed(const char *what, const char *path, tarn_error *error) {
  error->status = TARN_E_IO;
  snprintf(error->message, sizeof(error->message), "%s: %s: %s", path, what, strerror(errno));
  return TARN_E_IO;
}

/* ------------------------------------------------------------------ the state file */

/* Replace the file at once: whoever looks sees the old state or the new one. */
static tarn_status keep_state(const mirror *m, const tarn_string *state, tarn_error *error) {
  char path[4096];
  snprintf(path, sizeof(path), "%s.new", m->state_path);
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  size_t done = 0;
  if (fd < 0) {
    return failed("cannot be made", path, error);
  }
  while (done < state->length) {
    ssize_t n = write(fd, state->data + done, state->length - done);
    if (n < 0) {
      close(fd);
      return failed("cannot be written", path, error);
    }
    done += (size_t)n;
  }
  if (fsync(fd) != 0 || close(fd) != 0 || rename(path, m->state_path) != 0) {
    return failed("cannot be kept", path, error);
  }
  return TARN_OK;
}

/* Go on from the state, if there is one: first the target, then the source. */
static tarn_status restore(mirror *m, tarn_error *error) {
  FILE *file = fopen(m->state_path, "rb");
  struct stat facts;
  char *bytes = NULL;
  tarn_string position = {0};
  tarn_status status = TARN_OK;
  if (file == NULL) {
    return errno == ENOENT ? TARN_OK : failed("cannot be opened", m->state_path, error);
  }
  if (fstat(fileno(file), &facts) != 0 || (bytes = malloc((size_t)facts.st_size + 1)) == NULL ||
      fread(bytes, 1, (size_t)facts.st_size, file) != (size_t)facts.st_size) {
    status = failed("cannot be read", m->state_path, error);
  }
  if (status == TARN_OK) {
    status = tarn_sink_restore(m->sink, bytes, (size_t)facts.st_size, &position, NULL, error);
  }
  if (status == TARN_OK) {
    status = tarn_stream_restore(m->stream, position.data, position.length, NULL, error);
  }
  tarn_string_free(&position);
  free(bytes);
  fclose(file);
  return status;
}

/* ------------------------------------------------------------------ rows */

/* What was written since the last checkpoint becomes visible. */
static tarn_status checkpoint(mirror *m, tarn_error *error) {
  int64_t id = tarn_sink_last_checkpoint(m->sink) + 1;
  tarn_messages *messages = NULL;
  tarn_string position = {0}, state = {0};
  tarn_sink_result result = TARN_SINK_RESULT_INIT;
  tarn_status status = TARN_OK;
  if ((status = tarn_writer_prepare(m->writer, id, &messages, error)) ||
      (status = tarn_sink_add(m->sink, 0, id, messages, error)) ||
      (status = tarn_sink_seal(m->sink, id, NULL, 0, NULL, error)) ||
      (status = tarn_stream_checkpoint(m->stream, id, m->n_rows, &position, error)) ||
      (status = tarn_sink_save(m->sink, position.data, position.length, &state, error)) ||
      (status = keep_state(m, &state, error)) ||
      (status = tarn_sink_complete(m->sink, id, &result, error)) ||
      (status =
           tarn_stream_complete(m->stream, id, error))) { /* a consumer, if the source has one */
    goto done;
  }
  m->n_commits += result.commits;
  if (result.must_refresh) {
    status = tarn_writer_refresh(m->writer, error);
  }
done:
  tarn_string_free(&state);
  tarn_string_free(&position);
  tarn_messages_free(messages);
  return status;
}

static tarn_status copy(mirror *m, int follows, tarn_error *error) {
  tarn_status status = TARN_OK;
  int64_t since = 0;
  for (;;) {
    struct ArrowArray rows = {0};
    tarn_stream_batch batch = TARN_STREAM_BATCH_INIT;
    int has_rows;
    if ((status = tarn_stream_reader_next(m->reader, &rows, &batch, error))) {
      return status;
    }
    has_rows = rows.release != NULL;
    if (has_rows) {
      since += rows.length;
      m->n_rows += rows.length;
      status = tarn_writer_write(m->writer, &m->schema, &rows, error);
      rows.release(&rows);
    }
    if (status == TARN_OK && since > 0 && (!has_rows || since >= CHECKPOINT_ROWS)) {
      status = checkpoint(m, error);
      since = 0;
    }
    if (status == TARN_OK && !has_rows) { /* all that is there was read */
      int32_t has_news;
      if (batch.has_ended || !follows) {
        return TARN_OK;
      }
      status = tarn_stream_wait(m->stream, -1, NULL, &has_news, error);
    }
    if (status) {
      return status;
    }
  }
}

/* ------------------------------------------------------------------ begin and end */

static tarn_status open_mirror(mirror *m, const char *warehouse, const char *source,
                               const char *target, tarn_error *error) {
  tarn_scan_options of_scan = TARN_SCAN_OPTIONS_INIT;
  tarn_sink_options of_sink = TARN_SINK_OPTIONS_INIT;
  tarn_writer_options of_writer = TARN_WRITER_OPTIONS_INIT;
  tarn_status status;
  of_scan.with_row_kind = 1; /* as writers take it */
  of_sink.goes_on = 1; /* the writer is made behind the restore: it sees what that committed */
  if ((status = tarn_env_create(NULL, &m->env, error)) ||
      (status = tarn_catalog_open(m->env, warehouse, &m->catalog, error)) ||
      (status = tarn_table_open(m->env, m->catalog, source, NULL, 0, &m->source, error)) ||
      (status = tarn_table_open(m->env, m->catalog, target, NULL, 0, &m->target, error)) ||
      (status = tarn_scan_create(m->source, &of_scan, &m->scan, error)) ||
      (status = tarn_stream_create(m->scan, NULL, &m->stream, error)) ||
      (status = tarn_stream_schema(m->stream, &m->schema, error)) ||
      (status = tarn_sink_create(m->target, &of_sink, &m->sink, error)) ||
      (status = restore(m, error))) {
    return status;
  }
  of_writer.commit_user = tarn_sink_commit_user(m->sink);
  if ((status = tarn_writer_create(m->target, &of_writer, &m->writer, error))) {
    return status;
  }
  return tarn_stream_reader_create(m->stream, 0, &m->reader, error);
}

static void close_mirror(mirror *m) {
  tarn_writer_free(m->writer);
  tarn_sink_free(m->sink);
  tarn_stream_reader_free(m->reader);
  tarn_stream_free(m->stream);
  if (m->schema.release != NULL) {
    m->schema.release(&m->schema);
  }
  tarn_scan_free(m->scan);
  tarn_table_free(m->target);
  tarn_table_free(m->source);
  tarn_catalog_free(m->catalog);
  tarn_env_free(m->env);
}

int main(int argc, char **argv) {
  mirror m = {0};
  tarn_error error = {0};
  tarn_status status;
  int follows = argc == 6 && strcmp(argv[5], "follow") == 0;
  if (argc != 5 && !follows) {
    fprintf(stderr, "usage: %s WAREHOUSE DB.SOURCE DB.TARGET STATE [follow]\n", argv[0]);
    return 2;
  }
  m.state_path = argv[4];
  if ((status = open_mirror(&m, argv[1], argv[2], argv[3], &error)) ||
      (status = copy(&m, follows, &error))) {
    fprintf(stderr, "%s: %s\n", tarn_status_name(status), error.message);
  } else {
    printf("%" PRId64 " row%s in %" PRId64 " commit%s\n", m.n_rows, m.n_rows == 1 ? "" : "s",
           m.n_commits, m.n_commits == 1 ? "" : "s");
  }
  close_mirror(&m);
  return status == TARN_OK ? 0 : 1;
}
