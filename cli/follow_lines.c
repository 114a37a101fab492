/* follow_lines.c - lines and files by which a source and a sink agree. */
#include "follow_lines.h"

#include <stdio.h>
#include <string.h>

#include "args.h"
#include "follow_state.h"
#include "json.h"

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
  memset(checkpoint, 0, sizeof(*checkpoint));
}

static void put_object(cli_text *out, int64_t id, int64_t rows, const void *state, size_t n) {
  cli_text_printf(out, "{\"id\":%lld,\"rows\":%lld", (long long)id, (long long)rows);
  if (n > 0) {
    cli_text_puts(out, ",\"state\":\"");
    put_base64(out, state, n);
    cli_text_char(out, '"');
  }
  cli_text_char(out, '}');
}

void cli_checkpoint_put(cli_text *out, int64_t id, int64_t rows, const void *state, size_t n) {
  cli_text_puts(out, CLI_CHECKPOINT_BEGIN);
  put_object(out, id, rows, state, n);
  cli_text_puts(out, "}\n");
}

static tarn_status fail(tarn_error *err, tarn_status status, const char *what) {
  err->status = status;
  err->os_errno = 0;
  (void)snprintf(err->message, sizeof(err->message), "%s", what);
  return status;
}

static bool take_object(const cli_json *json, size_t at, cli_checkpoint *out) {
  size_t state = cli_json_find(json, at, "state");
  if (json->nodes[at].kind != CLI_JSON_OBJECT || cli_json_find(json, at, "rows") == SIZE_MAX) {
    return false;
  }
  out->id = cli_json_int(json, at, "id");
  out->rows = cli_json_int(json, at, "rows");
  return out->rows >= 0 && out->id >= 0 &&
         (state == SIZE_MAX ||
          (json->nodes[state].kind == CLI_JSON_STRING &&
           take_base64(json->text + json->nodes[state].begin,
                       json->nodes[state].end - json->nodes[state].begin, &out->state)));
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
  if (is_one && out->state.is_broken) {
    return cli_no_memory(err);
  }
  return is_one ? TARN_OK
                : fail(err, TARN_E_INVALID,
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
  put_object(out, c->id, c->rows, c->state.data, c->state.len);
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
    char message[600];
    (void)snprintf(message, sizeof(message), "%.400s: no state of 'table write --state'%s", path,
                   out->bytes.len >= 8 && memcmp(out->bytes.data, "TARNSTRM", 8) == 0
                       ? ": it is one of 'table tail --state', which is of no use to a sink"
                       : ", or damaged");
    return fail(err, TARN_E_CORRUPT, message);
  }
  return TARN_OK;
}
