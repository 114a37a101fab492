/* input.c - rows that are written into a table. */
#include "input.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ending.h"
#include "errors.h"
#include "follow_lines.h"
#include "json.h"
#include "nanoarrow/nanoarrow_ipc.h"
#include "refused.h"
#include "signals.h"
#include "wide_time.h"

#define BATCH_BYTES ((size_t)8 << 20) /* of text */
#define BATCH_ROWS 8192

struct cli_input {
  cli_session *session;
  cli_input_format format;
  cli_refused refused;
  int64_t n_faults; /* texts of the batch that are no rows */
  bool follows;     /* lines of checkpoints may come */
  cli_text checkpoint;
  /* texts */
  cli_source source;
  bool has_source, has_begun, is_finished;
  cli_columns *columns;
  cli_csv csv;
  cli_text scratch;
  int64_t *lines; /* BATCH_ROWS: where each row of the batch begins */
  cli_text raw;   /* their texts, kept only for a dead-letter file */
  size_t *raw_at; /* BATCH_ROWS + 1 */
  /* streams */
  struct ArrowArrayStream stream;
  struct ArrowSchema stream_schema;
  struct ArrowArray array; /* the last one, and how many of its rows were handed out */
  int64_t taken, first_row;
  const char *name;
};

/* ------------------------------------------------------------------ refused rows */

static bool begins_with(const cli_source *source, const char *bytes) {
  size_t n = strlen(bytes);
  return cli_source_left(source) >= n && memcmp(cli_source_text(source), bytes, n) == 0;
}

/* Is this how table tail begins as csv, or as arrow, which has names in its first message? */
static bool is_tail(const cli_source *source) {
  const size_t n = strlen(CLI_SNAPSHOT_NAME);
  size_t left = cli_source_left(source);
  if (begins_with(source, "_row_kind," CLI_SNAPSHOT_NAME)) {
    return true;
  }
  for (size_t i = 0; begins_with(source, "\xff\xff\xff\xff") && i + n <= left && i < 1024; i++) {
    if (memcmp(cli_source_text(source) + i, CLI_SNAPSHOT_NAME, n) == 0) {
      return true;
    }
  }
  return false;
}

/* A fault in the record that the source stands on. */
static tarn_status refuse_record(cli_input *in, const cli_row_fault *fault, size_t n,
                                 tarn_error *err) {
  int64_t line, column;
  if (in->columns->is_out_of_memory) {
    return cli_no_memory(err);
  }
  if (in->format == CLI_INPUT_JSONL && in->source.line == 1 && is_tail(&in->source)) {
    return cli_error(err, TARN_E_INVALID, "%s: %s", in->source.name, CLI_TAIL_ADVICE);
  }
  cli_source_place(&in->source, fault->at, &line, &column);
  (void)cli_error(err, TARN_E_INVALID, "%s, line %lld, column %lld: %s", in->source.name,
                  (long long)line, (long long)column, fault->message);
  return fault->ends_all ? err->status
                         : cli_refused_add(&in->refused, cli_source_text(&in->source), n, err);
}

tarn_status cli_input_refused(cli_input *in, int64_t i, tarn_error *err) {
  static const char row[] = "row 0";
  char message[sizeof(err->message)];
  const char *why = err->message;
  if (strncmp(why, row, sizeof(row) - 1) == 0) { /* it was given alone */
    why += sizeof(row) - 1;
    why += strspn(why, ":, ");
  }
  if (in->columns != NULL) {
    (void)snprintf(message, sizeof(message), "%.300s, line %lld: %.600s", in->source.name,
                   (long long)in->lines[i], why);
  } else {
    (void)snprintf(message, sizeof(message), "%.300s, row %lld: %.600s", in->name,
                   (long long)(in->first_row + i + 1), why);
  }
  memcpy(err->message, message, sizeof(message));
  return in->raw_at != NULL ? cli_refused_add(&in->refused, in->raw.data + in->raw_at[i],
                                              in->raw_at[i + 1] - in->raw_at[i], err)
                            : cli_refused_add(&in->refused, NULL, 0, err);
}

bool cli_input_goes_on(const cli_input *in) {
  return in->refused.goes_on;
}

int64_t cli_input_n_refused(const cli_input *in) {
  return in->refused.count;
}

/* A row was taken: remember where it stands. */
static tarn_status note_row(cli_input *in, size_t n, tarn_error *err) {
  int64_t row = cli_columns_rows(in->columns) - 1;
  in->lines[row] = in->source.line;
  if (in->raw_at != NULL) {
    cli_text_add(&in->raw, cli_source_text(&in->source), n);
    in->raw_at[row + 1] = in->raw.len;
    if (in->raw.is_broken) {
      return cli_no_memory(err);
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ JSON lines */

/* Is a line whole that ends without a line break? No part of an object is one itself. */
static bool is_whole(const char *text, size_t n) {
  cli_json json = {0};
  bool is_object;
  while (n > 0 && strchr(" \t\r", text[n - 1]) != NULL) {
    n--;
  }
  is_object = n > 0 && text[n - 1] == '}' && cli_json_parse(text, n, &json);
  cli_json_reset(&json);
  return is_object;
}

/* The first line: its length with the line break. *has_one is false at the end, and when the time
 * came first. Of a stream that is followed a line may be cut short: it comes again. */
static tarn_status find_line(cli_input *in, int64_t wake_ms, size_t *n, bool *has_one,
                             tarn_error *err) {
  bool has_break;
  tarn_status st = cli_source_find_line(&in->source, wake_ms, n, &has_break, err);
  if (st == TARN_OK && in->follows && !has_break &&
      (cli_ending_came() || !is_whole(cli_source_text(&in->source), *n))) {
    *n = 0;
  }
  *has_one = st == TARN_OK && *n > 0;
  in->is_finished = st == TARN_OK && *n == 0 && in->source.is_end;
  return st;
}

/* What the first n bytes of the text turned out to be. */
typedef enum text_outcome { TEXT_ROW, TEXT_NOTHING, TEXT_FAULT } text_outcome;

/* The row is noted, or what there is of it cut off behind `rows_before` rows and the fault told;
 * the bytes are taken. */
static tarn_status end_text(cli_input *in, text_outcome outcome, const cli_row_fault *fault,
                            int64_t rows_before, size_t n, size_t *n_bytes, tarn_error *err) {
  tarn_status st = TARN_OK;
  if (outcome == TEXT_ROW) {
    st = note_row(in, n, err);
  } else if (outcome == TEXT_FAULT) {
    cli_columns_cut(in->columns, rows_before);
    in->n_faults++;
    st = refuse_record(in, fault, n, err);
  }
  *n_bytes += n;
  cli_source_consume(&in->source, n);
  return st;
}

/* A line of checkpoints is an end of a batch of its own. */
static tarn_status end_checkpoint(cli_input *in, size_t n, bool *has_one, tarn_error *err) {
  *has_one = false; /* it waits until the rows before it are taken */
  if (cli_columns_rows(in->columns) + in->n_faults > 0) {
    return TARN_OK;
  }
  cli_text_add(&in->checkpoint, cli_source_text(&in->source), n);
  cli_source_consume(&in->source, n);
  return in->checkpoint.is_broken ? cli_no_memory(err) : TARN_OK;
}

static tarn_status next_line(cli_input *in, int64_t wake_ms, bool *has_one, size_t *n_bytes,
                             tarn_error *err) {
  cli_row_fault fault;
  const char *text;
  size_t n = 0, length;
  int64_t before = cli_columns_rows(in->columns);
  text_outcome outcome = TEXT_NOTHING;
  tarn_status st = find_line(in, wake_ms, &n, has_one, err);
  fault.ends_all = false;
  if (st != TARN_OK || !*has_one) {
    return st;
  }
  text = cli_source_text(&in->source);
  length = n - (text[n - 1] == '\n');
  if (in->follows && n > strlen(CLI_CHECKPOINT_BEGIN) &&
      memcmp(text, CLI_CHECKPOINT_BEGIN, strlen(CLI_CHECKPOINT_BEGIN)) == 0) {
    return end_checkpoint(in, length, has_one, err);
  }
  if (strspn(text, " \t\r") < length) { /* ends at the line break at last */
    outcome = cli_json_row(in->columns, text, length, &in->scratch, &fault) ? TEXT_ROW : TEXT_FAULT;
  }
  return end_text(in, outcome, &fault, before, n, n_bytes, err);
}

/* ------------------------------------------------------------------ CSV */

/* The first record. */
static tarn_status find_record(cli_input *in, int64_t wake_ms, size_t *n, cli_csv_found *found,
                               bool *has_one, cli_row_fault *fault, tarn_error *err) {
  cli_source *s = &in->source;
  bool is_idle = false;
  *has_one = false;
  for (;;) {
    size_t left = cli_source_left(s);
    tarn_status st;
    if (left == 0 && s->is_end) {
      in->is_finished = true;
      return TARN_OK;
    }
    if (left > 0) {
      *found = cli_csv_split(&in->csv, cli_source_text(s), left, s->is_end, n, fault);
      if (*found != CLI_CSV_MORE) {
        *has_one = true;
        return TARN_OK;
      }
    }
    st = cli_source_fill(s, wake_ms, &is_idle, err);
    if (st != TARN_OK || is_idle) {
      return st;
    }
  }
}

static tarn_status next_record(cli_input *in, int64_t wake_ms, bool *has_one, size_t *n_bytes,
                               tarn_error *err) {
  cli_row_fault fault;
  size_t n = 0;
  int64_t before = cli_columns_rows(in->columns);
  cli_csv_found found = CLI_CSV_RECORD;
  text_outcome outcome;
  tarn_status st;
  fault.ends_all = false;
  st = find_record(in, wake_ms, &n, &found, has_one, &fault, err);
  if (st != TARN_OK || !*has_one) {
    return st;
  }
  if (found == CLI_CSV_FAULT) {
    outcome = TEXT_FAULT;
  } else if (cli_csv_is_blank(&in->csv) && in->csv.n_targets != 1) {
    outcome = TEXT_NOTHING; /* an empty line */
  } else {
    outcome = cli_csv_row(&in->csv, cli_source_text(&in->source), &fault) ? TEXT_ROW : TEXT_FAULT;
  }
  return end_text(in, outcome, &fault, before, n, n_bytes, err);
}

/* The header, which is told again at the top of a dead-letter file. */
static tarn_status read_header(cli_input *in, int64_t wake_ms, bool *has_one, tarn_error *err) {
  cli_row_fault fault;
  cli_csv_found found = CLI_CSV_RECORD;
  bool goes_on = in->refused.goes_on;
  struct stat facts;
  size_t n = 0;
  tarn_status st;
  fault.ends_all = false;
  *has_one = true;
  if (cli_args_has(in->session->args, OPT_NO_HEADER)) {
    return cli_csv_no_header(&in->csv) ? TARN_OK : cli_no_memory(err);
  }
  st = find_record(in, wake_ms, &n, &found, has_one, &fault, err);
  if (st != TARN_OK || !*has_one) {
    return st;
  }
  if (found == CLI_CSV_FAULT || !cli_csv_header(&in->csv, cli_source_text(&in->source), &fault)) {
    in->refused.goes_on = false;
    st = refuse_record(in, &fault, n, err);
    in->refused.goes_on = goes_on;
    return st;
  }
  if (cli_refused_keeps(&in->refused) && fstat(in->refused.file, &facts) == 0 &&
      facts.st_size == 0) {
    st = cli_refused_keep(&in->refused, cli_source_text(&in->source), n, err);
  }
  cli_source_consume(&in->source, n);
  return st;
}

/* ------------------------------------------------------------------ texts */

/* Before the first row: a byte order mark, the header. */
static tarn_status begin_text(cli_input *in, int64_t wake_ms, bool *has_begun, tarn_error *err) {
  static const char mark[] = "\xEF\xBB\xBF";
  bool is_idle = false;
  tarn_status st = TARN_OK;
  *has_begun = false;
  while (cli_source_left(&in->source) < 3 && !in->source.is_end) {
    st = cli_source_fill(&in->source, wake_ms, &is_idle, err);
    if (st != TARN_OK || is_idle) {
      return st;
    }
    if (memcmp(mark, cli_source_text(&in->source),
               cli_source_left(&in->source) < 3 ? cli_source_left(&in->source) : 3) != 0) {
      break;
    }
  }
  if (cli_source_left(&in->source) >= 3 && memcmp(mark, cli_source_text(&in->source), 3) == 0) {
    cli_source_consume(&in->source, 3);
  }
  *has_begun = true;
  return in->format == CLI_INPUT_CSV ? read_header(in, wake_ms, has_begun, err) : st;
}

static tarn_status next_text(cli_input *in, int64_t max_rows, int64_t wake_ms, cli_batch *out,
                             tarn_error *err) {
  size_t n_bytes = 0;
  bool has_one = true;
  tarn_status st = cli_columns_begin(in->columns, err);
  in->raw.len = 0;
  in->n_faults = 0;
  in->checkpoint.len = 0;
  max_rows = max_rows < BATCH_ROWS ? max_rows : BATCH_ROWS;
  if (st == TARN_OK && !in->has_begun) {
    st = begin_text(in, wake_ms, &in->has_begun, err);
    has_one = in->has_begun;
  }
  while (st == TARN_OK && has_one && n_bytes < BATCH_BYTES &&
         cli_columns_rows(in->columns) + in->n_faults < max_rows) {
    st = in->format == CLI_INPUT_CSV ? next_record(in, wake_ms, &has_one, &n_bytes, err)
                                     : next_line(in, wake_ms, &has_one, &n_bytes, err);
  }
  if (st == TARN_OK) {
    st = cli_columns_finish(in->columns, &out->schema, &out->array, err);
    out->n_rows = out->array.length;
    out->n_records = out->n_rows + in->n_faults;
    out->is_end = in->is_finished;
    out->checkpoint = in->checkpoint.len > 0 ? in->checkpoint.data : NULL;
    out->n_checkpoint = in->checkpoint.len;
  }
  return st;
}

static tarn_status open_text(cli_input *in, const char *path, struct ArrowSchema *columns,
                             size_t n_columns, const char *const *has_default, size_t n_has_default,
                             const char *kind_name, tarn_error *err) {
  tarn_status st =
      cli_columns_create(in->session->env, columns, n_columns, kind_name, &in->columns, err);
  for (size_t i = 0; i < n_has_default && st == TARN_OK; i++) {
    cli_column *c = cli_column_find(&in->columns->root, has_default[i], strlen(has_default[i]));
    if (c != NULL) {
      c->takes_null = true; /* the table puts its default there */
    }
  }
  if (st == TARN_OK) {
    in->lines = calloc(BATCH_ROWS, sizeof(*in->lines));
    in->csv.columns = in->columns;
    in->csv.null_text = in->session->args->values[OPT_NULL];
    if (cli_refused_keeps(&in->refused)) {
      in->raw_at = calloc(BATCH_ROWS + 1, sizeof(*in->raw_at));
    }
    if (in->lines == NULL || (cli_refused_keeps(&in->refused) && in->raw_at == NULL)) {
      st = cli_no_memory(err);
    }
  }
  if (st == TARN_OK) {
    in->has_source = true;
    st = cli_source_open(path, &in->source, err);
  }
  return st;
}

/* ------------------------------------------------------------------ Arrow and Parquet */

static tarn_status stream_failure(cli_input *in, int code, tarn_error *err) {
  tarn_status st = TARN_OK;
  const char *why;
  memset(err, 0, sizeof(*err));
  if (in->format == CLI_INPUT_FILE) {
    st = tarn_stream_error(&in->stream, err);
  }
  if (st == TARN_OK) {
    why = in->stream.get_last_error(&in->stream);
    st = err->status = code == ENOMEM ? TARN_E_NOMEM : TARN_E_CORRUPT;
    (void)snprintf(err->message, sizeof(err->message), "%s: %s", in->name,
                   why != NULL && why[0] != '\0' ? why : strerror(code));
  }
  return st;
}

static tarn_status next_array(cli_input *in, int64_t max_rows, cli_batch *out, tarn_error *err) {
  int code;
  if (cli_signals_interrupted()) {
    return cli_error(err, TARN_E_CANCELLED, "interrupted");
  }
  while (!in->is_finished && in->taken == in->array.length) {
    in->first_row += in->array.length;
    if (in->array.release != NULL) {
      in->array.release(&in->array);
    }
    memset(&in->array, 0, sizeof(in->array));
    in->taken = 0;
    code = cli_ending_came() ? 0 : in->stream.get_next(&in->stream, &in->array);
    if (code != 0) {
      memset(&in->array, 0, sizeof(in->array));
    }
    if (code != 0 && !cli_ending_came()) {
      return stream_failure(in, code, err);
    }
    in->is_finished = in->array.release == NULL;
  }
  out->schema = in->stream_schema;
  out->array = in->array;
  out->n_rows = in->is_finished ? 0 : in->array.length - in->taken;
  out->n_rows = out->n_rows < max_rows ? out->n_rows : max_rows;
  out->n_records = out->n_rows;
  out->array.offset += in->taken;
  out->array.length = out->n_rows;
  out->array.null_count = in->array.null_count == 0 ? 0 : -1;
  in->taken += out->n_rows;
  out->is_end = in->is_finished;
  return TARN_OK;
}

/* An IPC stream; a file of Arrow's has one behind the eight bytes that it begins with. */
static tarn_status open_arrow(cli_input *in, const char *path, tarn_error *err) {
  static const char magic[] = "ARROW1";
  bool is_stdin = path == NULL || strcmp(path, "-") == 0;
  FILE *file = is_stdin ? stdin : fopen(path, "rb");
  struct ArrowIpcInputStream input;
  char begin[8];
  int c;
  if (file == NULL) {
    err->status = errno == ENOENT ? TARN_E_NOT_FOUND : TARN_E_IO;
    err->os_errno = errno;
    (void)snprintf(err->message, sizeof(err->message), "%s: %s", path, strerror(errno));
    return err->status;
  }
  c = getc(file);
  if (c == magic[0]) {
    begin[0] = (char)c;
    if (fread(begin + 1, 1, 7, file) != 7 || memcmp(begin, magic, 6) != 0) {
      begin[0] = '\0'; /* not Arrow at all: nanoarrow says so about what follows */
    }
  } else if (c != EOF) {
    (void)ungetc(c, file);
  }
  if (ArrowIpcInputStreamInitFile(&input, file, is_stdin ? 0 : 1) != NANOARROW_OK) {
    if (!is_stdin) {
      (void)fclose(file);
    }
    return cli_no_memory(err);
  }
  return ArrowIpcArrayStreamReaderInit(&in->stream, &input, NULL) == NANOARROW_OK
             ? TARN_OK
             : cli_no_memory(err);
}

/* The INT96 of Parquet files are the times of both kinds: of local ones the schema says nothing, so
 * that either column takes them. Recursion is bounded: types are at most 64 deep. */
static ArrowErrorCode untell_times(struct ArrowSchema *schema) {
  ArrowErrorCode code = NANOARROW_OK;
  if (cli_wide_time_of(schema) == CLI_WIDE_LOCAL) {
    code = ArrowSchemaSetMetadata(schema, NULL);
  }
  for (int64_t i = 0; i < schema->n_children && code == NANOARROW_OK; i++) {
    code = untell_times(schema->children[i]);
  }
  return code;
}

/* The schema of a file's rows, as a copy, for it is changed. */
static tarn_status take_file_schema(cli_input *in, tarn_error *err) {
  struct ArrowSchema copy = {0};
  ArrowErrorCode code = ArrowSchemaDeepCopy(&in->stream_schema, &copy);
  if (code == NANOARROW_OK) {
    in->stream_schema.release(&in->stream_schema);
    in->stream_schema = copy;
    code = untell_times(&in->stream_schema);
  }
  return code == NANOARROW_OK ? TARN_OK : cli_no_memory(err);
}

static tarn_status open_stream(cli_input *in, const char *path, tarn_error *err) {
  tarn_status st;
  int code;
  if (in->format == CLI_INPUT_FILE) {
    if (path == NULL || strcmp(path, "-") == 0) {
      return cli_usage(err,
                       "--format parquet: a Parquet file is read from its end: name the file "
                       "rather than giving it on standard input");
    }
    st = tarn_inspect_rows(in->session->env, path, -1, 2, &in->stream, err);
  } else {
    st = open_arrow(in, path, err);
  }
  if (st != TARN_OK) {
    return st;
  }
  code = in->stream.get_schema(&in->stream, &in->stream_schema);
  if (code != 0) {
    memset(&in->stream_schema, 0, sizeof(in->stream_schema));
    return stream_failure(in, code, err);
  }
  return in->format == CLI_INPUT_FILE ? take_file_schema(in, err) : TARN_OK;
}

static bool has_column(const struct ArrowSchema *schema, const char *name) {
  bool is_there = false;
  for (int64_t i = 0; i < schema->n_children; i++) {
    const char *own = schema->children[i]->name;
    is_there = is_there || (own != NULL && strcmp(own, name) == 0);
  }
  return is_there;
}

/* ------------------------------------------------------------------ opening */

static tarn_status find_input_format(const cli_args *args, const char *path, cli_input_format *out,
                                     tarn_error *err) {
  static const struct {
    const char *name;
    cli_input_format format;
  } names[] = {
      {"jsonl", CLI_INPUT_JSONL},  {"csv", CLI_INPUT_CSV},       {"arrow", CLI_INPUT_ARROW},
      {"parquet", CLI_INPUT_FILE}, {"ndjson", CLI_INPUT_JSONL},  {"arrows", CLI_INPUT_ARROW},
      {"ipc", CLI_INPUT_ARROW},    {"feather", CLI_INPUT_ARROW}, {"avro", CLI_INPUT_FILE}};
  const char *given = args->values[OPT_FORMAT];
  const char *dot = path != NULL ? strrchr(path, '.') : NULL;
  const char *name = given != NULL ? given : dot != NULL ? dot + 1 : "jsonl";
  for (size_t i = 0; i < CLI_COUNT(names); i++) {
    if (strcmp(name, names[i].name) == 0) {
      *out = names[i].format;
      return TARN_OK;
    }
  }
  *out = CLI_INPUT_JSONL;
  return given == NULL ? TARN_OK
                       : cli_usage(err,
                                   "--format %s: rows are read as jsonl (an object a line), csv, "
                                   "arrow (an IPC stream) or parquet",
                                   given);
}

static tarn_status find_policy(cli_input *in, tarn_error *err) {
  if (in->format > CLI_INPUT_CSV && in->session->args->values[OPT_DEAD_LETTER] != NULL) {
    return cli_usage(err,
                     "--on-error dead-letter keeps lines of jsonl and csv; rows of other formats "
                     "can only be skipped");
  }
  return cli_refused_open(in->session, &in->refused, err);
}

tarn_status cli_input_open(cli_session *session, struct ArrowSchema *columns, size_t n_columns,
                           const char *const *has_default, size_t n_has_default,
                           const char *kind_name, cli_input **out, tarn_error *err) {
  const char *path = session->args->n_arguments > 1 ? session->args->arguments[1] : NULL;
  cli_input *in = *out = calloc(1, sizeof(*in));
  tarn_status st;
  if (in == NULL) {
    columns->release(columns);
    return cli_no_memory(err);
  }
  in->session = session;
  in->name = path != NULL && strcmp(path, "-") != 0 ? path : "standard input";
  st = find_input_format(session->args, path, &in->format, err);
  if (st == TARN_OK) {
    st = find_policy(in, err);
  }
  if (st != TARN_OK || in->format > CLI_INPUT_CSV) {
    st = st == TARN_OK ? open_stream(in, path, err) : st;
    if (st == TARN_OK && kind_name != NULL && has_column(&in->stream_schema, CLI_SNAPSHOT_NAME) &&
        !has_column(columns, CLI_SNAPSHOT_NAME)) {
      st = cli_error(err, TARN_E_INVALID, "%s: %s", in->name, CLI_TAIL_ADVICE);
    }
    columns->release(columns);
    return st;
  }
  return open_text(in, path, columns, n_columns, has_default, n_has_default, kind_name, err);
}

void cli_input_close(cli_input *in) {
  if (in == NULL) {
    return;
  }
  if (in->array.release != NULL) {
    in->array.release(&in->array);
  }
  if (in->stream_schema.release != NULL) {
    in->stream_schema.release(&in->stream_schema);
  }
  if (in->stream.release != NULL) {
    in->stream.release(&in->stream);
  }
  if (in->has_source) {
    cli_source_close(&in->source);
  }
  cli_refused_close(&in->refused);
  cli_columns_free(in->columns);
  cli_csv_reset(&in->csv);
  cli_text_reset(&in->scratch);
  cli_text_reset(&in->raw);
  cli_text_reset(&in->checkpoint);
  free(in->lines);
  free(in->raw_at);
  free(in);
}

void cli_input_follow(cli_input *in, bool needs_checkpoints) {
  in->follows = in->format == CLI_INPUT_JSONL;
  if (in->columns != NULL) {
    in->columns->refuses_snapshots = needs_checkpoints;
  }
  if (in->follows && needs_checkpoints && in->has_source) {
    cli_source_hold(&in->source);
  }
}

tarn_status cli_input_next(cli_input *in, int64_t max_rows, int64_t wake_ms, cli_batch *out,
                           tarn_error *err) {
  memset(out, 0, sizeof(*out));
  return in->columns != NULL ? next_text(in, max_rows, wake_ms, out, err)
                             : next_array(in, max_rows, out, err);
}
