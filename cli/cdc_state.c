/* cdc_state.c - how far a change feed has come into its tables. */
#include "cdc_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "errors.h"
#include "follow_state.h"
#include "json.h"
#include "source.h"

static tarn_status corrupt(const cdc_state *s, tarn_error *err, const char *what) {
  return cli_error(err, TARN_E_CORRUPT, "%.300s: %s", s->path, what);
}

/* ------------------------------------------------------------------ the file */

/* The bytes of its own that each table's state has: they bind it to the line in front. */
static void put_seal(cli_text *out, int64_t rows, int64_t letters, bool tombstone_is_all, size_t i,
                     size_t n, const char *name) {
  cli_text_printf(out, "%lld %lld %d %zu %zu %s", (long long)rows, (long long)letters,
                  (int)tombstone_is_all, i, n, name);
}

static bool take_part(cdc_state *s, const cli_json *json, size_t i, size_t *at) {
  cdc_state_part *part = &s->parts[s->n_parts];
  size_t name = cli_json_find(json, i, "table");
  int64_t n = cli_json_int(json, i, "bytes");
  cli_text text = {0};
  if (json->nodes[i].kind != CLI_JSON_OBJECT || name == SIZE_MAX ||
      json->nodes[name].kind != CLI_JSON_STRING || n <= 0 || (size_t)n > s->bytes.len - *at) {
    return false;
  }
  cli_json_text(json, name, &text);
  cli_text_char(&text, '\0');
  if (text.is_broken) {
    cli_text_reset(&text);
    return false;
  }
  *part = (cdc_state_part){text.data, *at, (size_t)n, false};
  s->n_parts++;
  *at += (size_t)n;
  return true;
}

/* false: it is no such file. */
static bool take_head(cdc_state *s, int64_t *letters) {
  const cli_args *args = s->session->args;
  const char *kept_in = args->values[OPT_DEAD_LETTER];
  char before[4096], into[4096];
  const char *end = s->bytes.len > 0 ? memchr(s->bytes.data, '\n', s->bytes.len) : NULL;
  cli_json json;
  size_t tables, at, tombstones;
  bool is_one;
  if (end == NULL || !cli_json_parse(s->bytes.data, (size_t)(end - s->bytes.data), &json)) {
    return false;
  }
  tables = cli_json_find(&json, 0, "tables");
  tombstones = cli_json_find(&json, 0, "tombstones");
  is_one = cli_json_int(&json, 0, "tarn_feed") == 1 && tables != SIZE_MAX &&
           json.nodes[tables].kind == CLI_JSON_LIST;
  s->taken = s->taken_before = cli_json_int(&json, 0, "rows");
  s->letters_before = cli_json_int(&json, 0, "letters");
  cli_json_copy(&json, 0, "letters_file", before, sizeof(before));
  cli_json_copy(&json, 0, "into", into, sizeof(into));
  s->is_of_another = (strchr(into, '{') != NULL || strchr(args->arguments[0], '{') != NULL) &&
                     strcmp(into, args->arguments[0]) != 0;
  /* how long another file was says nothing of this one */
  *letters = kept_in != NULL && strcmp(before, kept_in) == 0 ? s->letters_before : -1;
  s->tombstone_is_all = tombstones != SIZE_MAX && json.nodes[tombstones].kind == CLI_JSON_BOOL &&
                        json.text[json.nodes[tombstones].begin] == 't';
  at = (size_t)(end - s->bytes.data) + 1;
  s->parts = is_one ? calloc(cli_json_count(&json, tables) + 1, sizeof(*s->parts)) : NULL;
  is_one = s->parts != NULL && s->taken >= 0;
  for (size_t i = is_one ? cli_json_first(&json, tables) : SIZE_MAX;
       is_one && i < json.nodes[tables].after; i = json.nodes[i].after) {
    is_one = take_part(s, &json, i, &at);
  }
  cli_json_reset(&json);
  return is_one && at == s->bytes.len;
}

static tarn_status read_file(cdc_state *s, bool *found, int64_t *letters, tarn_error *err) {
  tarn_status st = cli_follow_state_read(s->path, &s->bytes, found, err);
  if (st != TARN_OK || !*found) {
    return st;
  }
  if (s->bytes.is_broken) {
    return cli_no_memory(err);
  }
  if (!take_head(s, letters)) {
    static const char sink[] = "{\"tarn_follow\":";
    return corrupt(s, err,
                   s->bytes.len > sizeof(sink) && memcmp(s->bytes.data, sink, sizeof(sink) - 1) == 0
                       ? "no state of 'table write --cdc --state': it is one of 'table write "
                         "--state' without --cdc"
                       : "no state of 'table write --cdc --state', or damaged");
  }
  if (s->is_of_another) {
    return cli_error(err, TARN_E_INVALID,
                     "%.300s: it is the state of a feed into other tables than %.400s", s->path,
                     s->session->args->arguments[0]);
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ letters */

static tarn_status letters_failed(const cdc_state *s, tarn_error *err) {
  int number = errno;
  tarn_status st = cli_error(err, TARN_E_IO, "%.300s: %s",
                             s->session->args->values[OPT_DEAD_LETTER], strerror(number));
  err->os_errno = number;
  return st;
}

/* Letters of two runs in one file could not be told apart. */
static tarn_status lock_letters(const cdc_state *s, tarn_error *err) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  if (fcntl(s->letters, F_SETLK, &lock) != 0 && (errno == EAGAIN || errno == EACCES)) {
    return cli_error(
        err, TARN_E_STATE,
        "%.300s: another run with a state keeps its letters here: each needs a file of its own",
        s->session->args->values[OPT_DEAD_LETTER]);
  }
  return TARN_OK; /* a file system without locks has none */
}

/* -1: no letters are kept, or where they go cannot be cut. */
static tarn_status letters_length(const cdc_state *s, int64_t *out, tarn_error *err) {
  struct stat facts;
  *out = -1;
  if (s->letters < 0) {
    return TARN_OK;
  }
  if (fstat(s->letters, &facts) != 0) {
    return letters_failed(s, err);
  }
  *out = (int64_t)facts.st_size;
  return TARN_OK;
}

/* Cut off the letters of records that will come again. */
static tarn_status cut_letters(const cdc_state *s, int64_t letters, tarn_error *err) {
  int64_t length;
  tarn_status st = letters_length(s, &length, err);
  if (st == TARN_OK && s->can_replay && letters >= 0 && length > letters) {
    if (ftruncate(s->letters, (off_t)letters) != 0) {
      return letters_failed(s, err);
    }
    cli_report_note(&s->session->report,
                    "%s: %lld bytes of records that are read again cut off its end",
                    s->session->args->values[OPT_DEAD_LETTER], (long long)(length - letters));
  }
  return st;
}

/* ------------------------------------------------------------------ opening */

tarn_status cdc_state_open(cli_session *session, const cli_refused *refused, cdc_state *s,
                           tarn_error *err) {
  const char *input = session->args->n_arguments > 1 ? session->args->arguments[1] : NULL;
  struct stat facts;
  int64_t letters = -1;
  bool found = false;
  tarn_status st = TARN_OK;
  *s = (cdc_state){.session = session, .path = session->args->values[OPT_STATE], .letters = -1};
  s->can_replay = cli_source_replays(input);
  if (cli_refused_keeps(refused) && fstat(refused->file, &facts) == 0 && S_ISREG(facts.st_mode)) {
    s->letters = refused->file;
    st = lock_letters(s, err);
  }
  if (st == TARN_OK) {
    st = read_file(s, &found, &letters, err);
  }
  if (st == TARN_OK && s->letters >= 0) {
    st = found ? cut_letters(s, letters, err) : cdc_state_keep(s, NULL, 0, err);
  }
  return st;
}

void cdc_state_close(cdc_state *s) {
  for (size_t i = 0; i < s->n_parts; i++) {
    free(s->parts[i].name);
  }
  free(s->parts);
  cli_text_reset(&s->bytes);
  memset(s, 0, sizeof(*s));
}

/* ------------------------------------------------------------------ tables */

static tarn_status restore(cdc_state *s, size_t i, tarn_sink *sink, tarn_error *err) {
  cdc_state_part *part = &s->parts[i];
  tarn_sink_result result = TARN_SINK_RESULT_INIT;
  tarn_string own = {0};
  cli_text expected = {0};
  tarn_status st = tarn_sink_restore(sink, s->bytes.data + part->at, part->n, &own, &result, err);
  put_seal(&expected, s->taken_before, s->letters_before, s->tombstone_is_all, i, s->n_parts,
           part->name);
  part->is_used = true;
  if (st != TARN_OK) {
    char where[600];
    (void)snprintf(where, sizeof(where), "%.300s: table %.200s", s->path, part->name);
    st = cli_error_prefix(err, where);
  } else if (own.length != expected.len || memcmp(own.data, expected.data, own.length) != 0) {
    st = expected.is_broken ? cli_no_memory(err) : corrupt(s, err, "its first line was changed");
  }
  if (st == TARN_OK && result.commits > 0) {
    s->n_recovered += result.commits;
    cli_report_note(&s->session->report,
                    "%s: %d commit%s of the run before made up for: snapshot %lld is the last",
                    part->name, result.commits, result.commits == 1 ? "" : "s",
                    (long long)result.last_snapshot_id);
  }
  tarn_string_free(&own);
  cli_text_reset(&expected);
  return st;
}

tarn_status cdc_state_restore(cdc_state *s, const char *name, bool only, tarn_sink *sink,
                              tarn_error *err) {
  for (size_t i = 0; i < s->n_parts; i++) {
    if (!s->parts[i].is_used && (only || strcmp(s->parts[i].name, name) == 0)) {
      return restore(s, i, sink, err);
    }
  }
  return TARN_OK;
}

bool cdc_state_drops(cdc_state *s) {
  if (!s->has_begun) {
    s->to_skip = s->can_replay ? s->taken : 0;
    s->has_begun = true;
  }
  if (s->to_skip == 0) {
    return false;
  }
  s->to_skip--;
  s->n_dropped++;
  return true;
}

/* ------------------------------------------------------------------ keeping */

static void put_head(cli_text *out, const cdc_state *s, int64_t letters,
                     const cdc_state_table *tables, const tarn_string *saved, size_t n) {
  cli_text_printf(out, "{\"tarn_feed\":1,\"rows\":%lld,\"letters\":%lld,\"tombstones\":%s",
                  (long long)s->taken, (long long)letters, s->tombstone_is_all ? "true" : "false");
  cli_text_puts(out, ",\"into\":");
  cli_text_json(out, s->session->args->arguments[0], strlen(s->session->args->arguments[0]));
  if (letters >= 0) {
    const char *kept_in = s->session->args->values[OPT_DEAD_LETTER];
    cli_text_puts(out, ",\"letters_file\":");
    cli_text_json(out, kept_in, strlen(kept_in));
  }
  cli_text_puts(out, ",\"tables\":[");
  for (size_t i = 0; i < n; i++) {
    cli_text_puts(out, i > 0 ? ",{\"table\":" : "{\"table\":");
    cli_text_json(out, tables[i].name, strlen(tables[i].name));
    cli_text_printf(out, ",\"bytes\":%zu}", saved[i].length);
  }
  cli_text_puts(out, "]}\n");
}

tarn_status cdc_state_keep(cdc_state *s, const cdc_state_table *tables, size_t n, tarn_error *err) {
  cli_text file = {0}, seal = {0};
  tarn_string *saved = calloc(n + 1, sizeof(*saved));
  int64_t letters = -1;
  tarn_status st = saved == NULL ? cli_no_memory(err) : letters_length(s, &letters, err);
  if (st == TARN_OK && s->letters >= 0 && fsync(s->letters) != 0) {
    st = letters_failed(s, err);
  }
  for (size_t i = 0; i < n && st == TARN_OK; i++) {
    seal.len = 0;
    put_seal(&seal, s->taken, letters, s->tombstone_is_all, i, n, tables[i].name);
    st = seal.is_broken ? cli_no_memory(err)
                        : tarn_sink_save(tables[i].sink, seal.data, seal.len, &saved[i], err);
  }
  if (st == TARN_OK) {
    put_head(&file, s, letters, tables, saved, n);
    for (size_t i = 0; i < n; i++) {
      cli_text_add(&file, saved[i].data, saved[i].length);
    }
    st = file.is_broken ? cli_no_memory(err)
                        : cli_follow_state_write(s->path, file.data, file.len, true, err);
  }
  s->taken_before = st == TARN_OK ? s->taken : s->taken_before;
  for (size_t i = 0; saved != NULL && i < n; i++) {
    tarn_string_free(&saved[i]);
  }
  free(saved);
  cli_text_reset(&file);
  cli_text_reset(&seal);
  return st;
}
