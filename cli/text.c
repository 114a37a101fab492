/* text.c - a growing text, and the two ways of making foreign bytes harmless. */
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "utf8.h"

#define MIN_CAPACITY 256

static const char replacement[] = "\xEF\xBF\xBD"; /* U+FFFD */

void cli_text_reset(cli_text *text) {
  free(text->data);
  memset(text, 0, sizeof(*text));
}

char *cli_text_grow(cli_text *text, size_t n) {
  size_t capacity = text->capacity < MIN_CAPACITY ? MIN_CAPACITY : text->capacity;
  char *data;
  if (text->is_broken || n > SIZE_MAX / 4 || text->len > SIZE_MAX / 4) {
    text->is_broken = true;
    return NULL;
  }
  while (capacity - text->len < n) {
    capacity *= 2;
  }
  data = realloc(text->data, capacity);
  if (data == NULL) {
    text->is_broken = true;
    return NULL;
  }
  text->data = data;
  text->capacity = capacity;
  return data + text->len;
}

void cli_text_character(cli_text *text, uint32_t c) {
  if (c < 0x80) {
    cli_text_char(text, (char)c);
    return;
  }
  if (c < 0x800) {
    cli_text_char(text, (char)(0xC0 | c >> 6));
  } else {
    if (c < 0x10000) {
      cli_text_char(text, (char)(0xE0 | c >> 12));
    } else {
      cli_text_char(text, (char)(0xF0 | c >> 18));
      cli_text_char(text, (char)(0x80 | (c >> 12 & 0x3F)));
    }
    cli_text_char(text, (char)(0x80 | (c >> 6 & 0x3F)));
  }
  cli_text_char(text, (char)(0x80 | (c & 0x3F)));
}

void cli_text_fill(cli_text *text, char c, size_t n) {
  char *to = cli_text_room(text, n);
  if (to != NULL) {
    memset(to, c, n);
    text->len += n;
  }
}

void cli_text_int(cli_text *text, int64_t value) {
  static const char pairs[] =
      "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
      "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
      "8081828384858687888990919293949596979899";
  char digits[24], *at = digits + sizeof(digits);
  uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  while (rest >= 100) {
    at -= 2;
    memcpy(at, pairs + rest % 100 * 2, 2);
    rest /= 100;
  }
  if (rest >= 10) {
    at -= 2;
    memcpy(at, pairs + rest * 2, 2);
  } else {
    *--at = (char)('0' + rest);
  }
  if (value < 0) {
    *--at = '-';
  }
  cli_text_add(text, at, (size_t)(digits + sizeof(digits) - at));
}

void cli_text_printf(cli_text *text, const char *format, ...) {
  va_list args;
  int n;
  va_start(args, format);
  n = vsnprintf(NULL, 0, format, args);
  va_end(args);
  if (n >= 0) {
    char *to = cli_text_room(text, (size_t)n + 1);
    if (to != NULL) {
      va_start(args, format);
      (void)vsnprintf(to, (size_t)n + 1, format, args);
      va_end(args);
      text->len += (size_t)n;
    }
  }
}

/* ------------------------------------------------------------------ foreign bytes */

static void add_escape(cli_text *text, uint8_t c) {
  switch (c) {
    case '"':
      cli_text_add(text, "\\\"", 2);
      break;
    case '\\':
      cli_text_add(text, "\\\\", 2);
      break;
    case '\n':
      cli_text_add(text, "\\n", 2);
      break;
    case '\r':
      cli_text_add(text, "\\r", 2);
      break;
    case '\t':
      cli_text_add(text, "\\t", 2);
      break;
    default:
      cli_text_printf(text, "\\u%04x", (unsigned)c);
      break;
  }
}

void cli_text_json(cli_text *text, const void *bytes, size_t n) {
  const uint8_t *b = bytes;
  size_t done = 0;
  cli_text_char(text, '"');
  for (size_t i = 0; i < n;) {
    size_t step = 1;
    if (cli_text_is_plain(b[i])) {
      i++;
      continue;
    }
    if (b[i] >= 0x80) {
      step = cli_utf8_length(b + i, n - i);
      if (step > 0) {
        i += step;
        continue;
      }
      step = 1;
    }
    cli_text_add(text, b + done, i - done);
    if (b[i] >= 0x80) {
      cli_text_add(text, replacement, sizeof(replacement) - 1);
    } else {
      add_escape(text, b[i]);
    }
    i += step;
    done = i;
  }
  if (n > done) {
    cli_text_add(text, b + done, n - done);
  }
  cli_text_char(text, '"');
}

void cli_text_line(cli_text *text, const void *bytes, size_t n) {
  const uint8_t *b = bytes;
  for (size_t i = 0; i < n;) {
    size_t step = cli_utf8_length(b + i, n - i);
    if (step == 0) {
      cli_text_add(text, replacement, sizeof(replacement) - 1);
      step = 1;
    } else if (b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
      add_escape(text, b[i]);
    } else if (b[i] < 0x20 || b[i] == 0x7F) {
      cli_text_printf(text, "\\x%02x", (unsigned)b[i]);
    } else if (b[i] == 0xC2 && b[i + 1] < 0xA0) { /* C1 controls, which terminals obey, too */
      cli_text_printf(text, "\\x%02x", (unsigned)b[i + 1]);
    } else {
      cli_text_add(text, b + i, step);
    }
    i += step;
  }
}

void cli_text_copy(const cli_text *text, char *out, size_t size) {
  size_t n = text->len < size - 1 ? text->len : size - 1;
  if (n > 0) {
    memcpy(out, text->data, n);
  }
  out[n] = '\0';
}
