/* text.h - a growing text, which the program prepares its output in.
 *
 * Out of memory is remembered rather than reported at once: what is added after that is dropped,
 * and whoever hands the text on looks at `is_broken`. One thread at a time.
 */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CLI_COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef struct cli_text {
  char *data; /* owned; not NUL-terminated */
  size_t len, capacity;
  bool is_broken; /* memory ran out */
} cli_text;

/* All zero is an empty text. */
void cli_text_reset(cli_text *text);

/* Room for n more bytes behind the end; the caller writes there and adds to len. NULL: no memory.
 */
char *cli_text_grow(cli_text *text, size_t n);
static inline char *cli_text_room(cli_text *text, size_t n) {
  return text->data != NULL && n <= text->capacity - text->len ? text->data + text->len
                                                               : cli_text_grow(text, n);
}

static inline void cli_text_add(cli_text *text, const void *bytes, size_t n) {
  char *to = cli_text_room(text, n);
  if (to != NULL && n > 0) {
    memcpy(to, bytes, n);
    text->len += n;
  }
}

static inline void cli_text_char(cli_text *text, char c) {
  char *to = cli_text_room(text, 1);
  if (to != NULL) {
    *to = c;
    text->len++;
  }
}

static inline void cli_text_puts(cli_text *text, const char *words) {
  cli_text_add(text, words, strlen(words));
}

/* A NUL behind the end, which is not counted. */
static inline void cli_text_terminate(cli_text *text) {
  cli_text_char(text, '\0');
  text->len -= !text->is_broken;
}

/* Does the byte stand inside a JSON string as it is? Of ASCII: bytes of other characters do not
 * tell it. */
static inline bool cli_text_is_plain(uint8_t c) {
  return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

/* A character as UTF-8. */
void cli_text_character(cli_text *text, uint32_t c);
void cli_text_fill(cli_text *text, char c, size_t n);
void cli_text_int(cli_text *text, int64_t value);
void cli_text_printf(cli_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The bytes as a JSON string: control characters escaped, what is not UTF-8 replaced by U+FFFD. */
void cli_text_json(cli_text *text, const void *bytes, size_t n);
/* The bytes fit for one line of a terminal: control characters as \n, \t or \x1b, what is not UTF-8
 * as U+FFFD. */
void cli_text_line(cli_text *text, const void *bytes, size_t n);

/* NUL-terminated copy of the whole text in `out`, cut to its size. */
void cli_text_copy(const cli_text *text, char *out, size_t size);

#endif
