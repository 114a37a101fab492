/* follow_lines.c - lines and files by which a source and a sink agree. */
#include "follow_lines.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "args.h"
#include "errors.h"
#include "follow_state.h"
#include "json.h"
#include "utf8.h"

#define LINK_BEGIN "{\"tarn_kept_by\":"
#define FILE_BEGIN "{\"tarn_follow\":"
#define MAX_PATH_BYTES ((size_t)1 << 16)

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void put_base64(cli_text *out, const uint8_t *bytes, size_t n) {
  for (size_t i = 0; i < n; i += 3) {
    uint32_t v = (uint32_t)bytes[i] << 16 | (i + 1 < n ? (uint32_t)bytes[i + 1] << 8 : 0) |
                 (i + 2 < n ? bytes[i + 2] : 0);
    cli_text_char(out, digits[v >> 18]);
    cli_text_char(out, digits[v >> 12 & 63]);
    cli_text_char(out, i + 1 < n ? digits[v >> 6 & 63] : '=');
    cli_text_char(out, i + 2 < n ? digits[v & 63] : '=');
  }
}

/* false: it is none. */
static bool take_base64(const char *text, size_t n, cli_text *out) {
  uint32_t v = 0;
  size_t n_end = 0;
  if (n % 4 != 0) {
    return false;
  }
  for (size_t i = 0; i < n; i++) {
    const char *at = text[i] != '\0' ? strchr(digits, text[i]) : NULL;
    if (text[i] == '=' && i + 2 >= n) {
      n_end++;
    } else if (at == NULL || n_end > 0) {
      return false;
    }
    v = v << 6 | (at != NULL ? (uint32_t)(at - digits) : 0);
    if (i % 4 == 3) {
      const char bytes[3] = {(char)(v >> 16), (char)(v >> 8), (char)v};
      cli_text_add(out, bytes, 3 - n_end);
    }
  }
  return true;
}

void cli_checkpoint_reset(cli_checkpoint *checkpoint) {
  cli_text_reset(&checkpoint->state);
  cli_text_reset(&checkpoint->source);
  memset(checkpoint, 0, sizeof(*checkpoint));
}

static void put_text(cli_text *out, const char *name, const void *bytes, size_t n) {
  if (n > 0) {
    cli_text_printf(out, ",\"%s\":", name);
    cli_text_json(out, bytes, n);
  }
}

static void put_bytes(cli_text *out, const char *name, const cli_text *bytes) {
  if (bytes->len > 0) {
    cli_text_printf(out, ",\"%s\":\"", name);
    put_base64(out, (const uint8_t *)bytes->data, bytes->len);
    cli_text_char(out, '"');
  }
}

static void put_object(cli_text *out, const cli_checkpoint *c) {
  cli_text_printf(out, "{\"id\":%lld,\"rows\":%lld", (long long)c->id, (long long)c->rows);
  put_text(out, "stream", c->stream, strlen(c->stream));
  put_text(out, "source", c->source.data, c->source.len);
  if (c->next > 0) {
    cli_text_printf(out, ",\"next_snapshot\":%lld", (long long)c->next);
  }
  put_bytes(out, "state", &c->state);
  cli_text_char(out, '}');
}

void cli_checkpoint_put(cli_text *out, const cli_checkpoint *checkpoint) {
  cli_text_puts(out, CLI_CHECKPOINT_BEGIN);
  put_object(out, checkpoint);
  cli_text_puts(out, "}\n");
}

/* What is not would come out of JSON as something else. */
static bool is_utf8(const void *bytes, size_t length) {
  size_t at = 0, n = 1;
  while (at < length && n > 0) {
    n = cli_utf8_length((const uint8_t *)bytes + at, length - at);
    at += n;
  }
  return n > 0;
}

/* Members; one that is not there is empty. false: it is none. */
static bool take_bytes(const cli_json *json, size_t object, const char *name, cli_text *out) {
  size_t at = cli_json_find(json, object, name);
  return at == SIZE_MAX || (json->nodes[at].kind == CLI_JSON_STRING &&
                            take_base64(json->text + json->nodes[at].begin,
                                        json->nodes[at].end - json->nodes[at].begin, out));
}

/* Is it written as it is read? What JSON escapes would be longer as text. */
static bool is_plain(const char *text, size_t n) {
  bool holds = true;
  for (size_t i = 0; i < n; i++) {
    uint8_t c = (uint8_t)text[i];
    holds = holds && (c >= 0x80 || cli_text_is_plain(c));
  }
  return holds;
}

static bool take_stream(const cli_json *json, size_t object, char *out) {
  size_t at = cli_json_find(json, object, "stream");
  *out = '\0';
  if (at != SIZE_MAX) {
    cli_json_copy(json, object, "stream", out, CLI_STREAM_SIZE);
  }
  return at == SIZE_MAX || (json->nodes[at].kind == CLI_JSON_STRING &&
                            json->nodes[at].end - json->nodes[at].begin < CLI_STREAM_SIZE &&
                            is_plain(json->text + json->nodes[at].begin,
                                     json->nodes[at].end - json->nodes[at].begin) &&
                            is_utf8(out, strlen(out)));
}

/* A path is no NUL, and is not empty. */
static bool take_path(const cli_json *json, size_t object, const char *name, cli_text *out) {
  size_t at = cli_json_find(json, object, name);
  if (at == SIZE_MAX) {
    return true;
  }
  if (json->nodes[at].kind != CLI_JSON_STRING ||
      json->nodes[at].end - json->nodes[at].begin > MAX_PATH_BYTES) {
    return false;
  }
  cli_json_text(json, at, out);
  cli_text_terminate(out);
  return out->is_broken || (out->len > 0 && memchr(out->data, '\0', out->len) == NULL &&
                            is_utf8(out->data, out->len));
}

static bool take_object(const cli_json *json, size_t at, cli_checkpoint *out) {
  if (json->nodes[at].kind != CLI_JSON_OBJECT || cli_json_find(json, at, "rows") == SIZE_MAX) {
    return false;
  }
  out->id = cli_json_int(json, at, "id");
  out->rows = cli_json_int(json, at, "rows");
  out->next = cli_json_find(json, at, "next_snapshot") != SIZE_MAX
                  ? cli_json_int(json, at, "next_snapshot")
                  : 0;
  return out->rows >= 0 && out->id >= 0 && take_stream(json, at, out->stream) &&
         take_path(json, at, "source", &out->source) && take_bytes(json, at, "state", &out->state);
}

tarn_status cli_checkpoint_parse(const char *line, size_t n, cli_checkpoint *out, tarn_error *err) {
  cli_json json;
  size_t at;
  bool is_one = false;
  memset(out, 0, sizeof(*out));
  if (cli_json_parse(line, n, &json)) {
    at = cli_json_find(&json, 0, "_checkpoint");
    is_one = at != SIZE_MAX && take_object(&json, at, out);
    cli_json_reset(&json);
  }
  if (is_one && (out->state.is_broken || out->source.is_broken)) {
    return cli_no_memory(err);
  }
  return is_one ? TARN_OK
                : cli_error(err, TARN_E_INVALID,
                            "a line with \"_checkpoint\" that is not {\"_checkpoint\":{\"id\":..,"
                            "\"rows\":..,\"state\":\"base64\"}}");
}

/* ------------------------------------------------------------------ state files */

void cli_follow_file_reset(cli_follow_file *file) {
  cli_checkpoint_reset(&file->checkpoint);
  cli_text_reset(&file->bytes);
  memset(file, 0, sizeof(*file));
}

void cli_follow_head_put(cli_text *out, int64_t rows, const cli_checkpoint *c) {
  cli_text_printf(out, "{\"tarn_follow\":1,\"rows\":%lld,\"checkpoint\":", (long long)rows);
  put_object(out, c);
  cli_text_puts(out, "}\n");
}

static bool take_head(cli_follow_file *out) {
  const char *end = out->bytes.len > 0 ? memchr(out->bytes.data, '\n', out->bytes.len) : NULL;
  cli_json json;
  size_t at;
  bool is_one;
  if (end == NULL || !cli_json_parse(out->bytes.data, (size_t)(end - out->bytes.data), &json)) {
    return false;
  }
  at = cli_json_find(&json, 0, "checkpoint");
  is_one = cli_json_int(&json, 0, "tarn_follow") == 1 && at != SIZE_MAX &&
           take_object(&json, at, &out->checkpoint);
  out->rows = cli_json_int(&json, 0, "rows");
  out->n_head = (size_t)(end - out->bytes.data) + 1;
  cli_json_reset(&json);
  return is_one;
}

tarn_status cli_follow_file_read(const char *path, cli_follow_file *out, tarn_error *err) {
  tarn_status st;
  memset(out, 0, sizeof(*out));
  st = cli_follow_state_read(path, &out->bytes, &out->is_there, err);
  if (st != TARN_OK || !out->is_there) {
    return st;
  }
  if (out->bytes.is_broken) {
    return cli_no_memory(err);
  }
  if (!take_head(out)) {
    const char *why =
        out->bytes.len >= 8 && memcmp(out->bytes.data, "TARNSTRM", 8) == 0
            ? ": it is one of 'table tail --state', which is of no use to a sink"
        : cli_follow_link_is(&out->bytes)
            ? ": it is one of 'table tail --state', which names the sink's in its first line"
            : ", or damaged";
    return cli_error(err, TARN_E_CORRUPT, "%.400s: no state of 'table write --state'%s", path, why);
  }
  return TARN_OK;
}

static bool begins(const cli_text *bytes, const char *words) {
  size_t n = strlen(words);
  return bytes->len >= n && memcmp(bytes->data, words, n) == 0;
}

bool cli_follow_file_is(const cli_text *bytes) {
  return begins(bytes, FILE_BEGIN);
}

/* ------------------------------------------------------------------ links */

bool cli_follow_link_is(const cli_text *bytes) {
  return begins(bytes, LINK_BEGIN);
}

void cli_follow_link_reset(cli_follow_link *link) {
  cli_text_reset(&link->sink);
  cli_text_reset(&link->start);
  memset(link, 0, sizeof(*link));
}

/* Bytes of the folder in front of a name, with the slash. */
static size_t folder_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash != NULL ? (size_t)(slash - path) + 1 : 0;
}

/* A name alone is one beside the file. */
static void put_folder_before(const char *path, cli_text *name) {
  cli_text whole = {0};
  if (name->is_broken || memchr(name->data, '/', name->len) != NULL) {
    return;
  }
  cli_text_add(&whole, path, folder_length(path));
  cli_text_add(&whole, name->data, name->len);
  cli_text_terminate(&whole);
  cli_text_reset(name);
  *name = whole;
}

tarn_status cli_follow_link_parse(const char *path, const cli_text *bytes, cli_follow_link *out,
                                  tarn_error *err) {
  cli_json json;
  bool is_one = false;
  memset(out, 0, sizeof(*out));
  if (bytes->len > 0 && cli_json_parse(bytes->data, bytes->len, &json)) {
    is_one = json.nodes[0].kind == CLI_JSON_OBJECT && take_stream(&json, 0, out->stream) &&
             take_path(&json, 0, "tarn_kept_by", &out->sink) && out->sink.len > 0 &&
             take_bytes(&json, 0, "start", &out->start);
    cli_json_reset(&json);
  }
  if (is_one) {
    put_folder_before(path, &out->sink);
  }
  if (is_one && (out->sink.is_broken || out->start.is_broken)) {
    return cli_no_memory(err);
  }
  return is_one ? TARN_OK
                : cli_error(err, TARN_E_CORRUPT,
                            "%.400s: a state that names a sink's, and is damaged", path);
}

/* Do both lie in one folder? */
static bool are_beside(const char *a, const char *b) {
  struct stat facts[2];
  const char *paths[2] = {a, b};
  for (size_t i = 0; i < 2; i++) {
    cli_text folder = {0};
    int code;
    cli_text_add(&folder, paths[i], folder_length(paths[i]));
    cli_text_puts(&folder, folder.len == 0 ? "." : "");
    cli_text_terminate(&folder);
    code = folder.is_broken ? -1 : stat(folder.data, &facts[i]);
    cli_text_reset(&folder);
    if (code != 0) {
      return false;
    }
  }
  return facts[0].st_dev == facts[1].st_dev && facts[0].st_ino == facts[1].st_ino;
}

void cli_follow_link_put(cli_text *out, const char *path, const cli_follow_link *link) {
  size_t n = are_beside(path, link->sink.data) ? folder_length(link->sink.data) : 0;
  cli_text_puts(out, LINK_BEGIN);
  cli_text_json(out, link->sink.data + n, link->sink.len - n);
  put_text(out, "stream", link->stream, strlen(link->stream));
  put_bytes(out, "start", &link->start);
  cli_text_puts(out, "}\n");
}

tarn_status cli_follow_whole_path(const char *path, cli_text *out, tarn_error *err) {
  if (*path != '/') {
    char *to = cli_text_room(out, MAX_PATH_BYTES);
    if (to != NULL && getcwd(to, MAX_PATH_BYTES) == NULL) {
      err->status = TARN_E_IO;
      err->os_errno = errno;
      (void)snprintf(err->message, sizeof(err->message), "the working folder: %s",
                     strerror(err->os_errno));
      return TARN_E_IO;
    }
    out->len = to != NULL ? strlen(to) : 0;
    cli_text_char(out, '/');
  }
  cli_text_puts(out, path);
  cli_text_terminate(out);
  if (out->is_broken) {
    return cli_no_memory(err);
  }
  return is_utf8(out->data, out->len)
             ? TARN_OK
             : cli_error(err, TARN_E_INVALID,
                         "the path of --state is not UTF-8, as lines in a pipe have to be");
}
