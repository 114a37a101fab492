/* room: cli */
/* Lines by which a source and a sink agree, and state files that name a sink's: any bytes are taken
 * or refused; what was taken is written, and read again, as the same. */
#include <stdlib.h>

#include "follow_lines.h"

static void need(bool holds) {
  if (!holds) {
    abort();
  }
}

static bool is_same(const cli_text *a, const cli_text *b) {
  return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

static void try_checkpoint(const char *text, size_t n) {
  cli_checkpoint c, again;
  cli_text line = {0};
  tarn_error err;
  if (cli_checkpoint_parse(text, n, &c, &err) == TARN_OK) {
    cli_checkpoint_put(&line, &c);
    need(cli_checkpoint_parse(line.data, line.len, &again, &err) == TARN_OK);
    need(c.id == again.id && c.rows == again.rows && strcmp(c.stream, again.stream) == 0);
    need(is_same(&c.state, &again.state) && is_same(&c.source, &again.source));
    cli_checkpoint_reset(&again);
  }
  cli_checkpoint_reset(&c);
  cli_text_reset(&line);
}

static void try_link(const char *text, size_t n) {
  cli_follow_link link, again;
  cli_text bytes = {0}, line = {0};
  tarn_error err;
  cli_text_add(&bytes, text, n);
  if (cli_follow_link_parse("/folder/s", &bytes, &link, &err) == TARN_OK) {
    cli_follow_link_put(&line, "/folder/s", &link);
    need(cli_follow_link_is(&line));
    need(cli_follow_link_parse("/folder/s", &line, &again, &err) == TARN_OK);
    need(strcmp(link.stream, again.stream) == 0 && is_same(&link.start, &again.start));
    need(is_same(&link.sink, &again.sink));
    cli_follow_link_reset(&again);
  }
  cli_follow_link_reset(&link);
  cli_text_reset(&bytes);
  cli_text_reset(&line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size > 0 && data[size - 1] == '\n') { /* readers give it without its end */
    size--;
  }
  try_checkpoint((const char *)data, size);
  try_link((const char *)data, size);
  return 0;
}
