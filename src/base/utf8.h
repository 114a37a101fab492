/* utf8.h - telling UTF-8 from other bytes, and what Java makes of those. */
#ifndef TN_BASE_UTF8_H
#define TN_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The length of the well-formed character at p (1 to 4; no surrogates, no overlong forms, nothing
 * past U+10FFFF), or 0 when the n_bytes (at least 1) do not start with one. */
static inline size_t tn_utf8_step(const uint8_t *p, size_t n_bytes) {
  uint8_t low = 0x80, high = 0xBF; /* of the second byte */
  size_t n;
  if (p[0] < 0x80) {
    return 1;
  } else if (p[0] >= 0xC2 && p[0] <= 0xDF) {
    n = 2;
  } else if (p[0] >= 0xE0 && p[0] <= 0xEF) {
    n = 3;
    low = p[0] == 0xE0 ? 0xA0 : 0x80;
    high = p[0] == 0xED ? 0x9F : 0xBF;
  } else if (p[0] >= 0xF0 && p[0] <= 0xF4) {
    n = 4;
    low = p[0] == 0xF0 ? 0x90 : 0x80;
    high = p[0] == 0xF4 ? 0x8F : 0xBF;
  } else {
    return 0;
  }
  if (n_bytes < n || p[1] < low || p[1] > high) {
    return 0;
  }
  for (size_t i = 2; i < n; i++) {
    if ((p[i] & 0xC0) != 0x80) {
      return 0;
    }
  }
  return n;
}

/* The character of a well-formed sequence of n bytes (1 to 4) at p. */
static inline uint32_t tn_utf8_point(const uint8_t *p, size_t n) {
  uint32_t point = n == 1 ? p[0] : p[0] & (0x7fu >> n);
  for (size_t i = 1; i < n; i++) {
    point = point << 6 | (p[i] & 0x3fu);
  }
  return point;
}

/* The next character, of which there is none behind U+10FFFF. (Java raises U+D7FF to half a
 * character, which it then stores as '?', below the values.) */
static inline uint32_t tn_utf8_next_point(uint32_t point) {
  return point == 0xd7ff ? 0xe000 : point + 1;
}

/* Write a character; returns its length. */
static inline size_t tn_utf8_put(uint32_t point, uint8_t out[4]) {
  static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
  size_t n = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  for (size_t i = n; i-- > 1;) {
    out[i] = (uint8_t)(0x80 | (point & 0x3f));
    point >>= 6;
  }
  out[0] = (uint8_t)(lead[n] | point);
  return n;
}

/* The place of the first byte that is not UTF-8; n_bytes if there is none. */
static inline size_t tn_utf8_check(const uint8_t *p, size_t n_bytes) {
  size_t at = 0;
  while (at < n_bytes) {
    size_t n = tn_utf8_step(p + at, n_bytes - at);
    if (n == 0) {
      break;
    }
    at += n;
  }
  return at;
}

/* The bytes at p that Java decodes to one character: a well-formed one, or what becomes one U+FFFD.
 * n_bytes is at least 1. */
size_t tn_utf8_java_step(const uint8_t *p, size_t n_bytes);

#endif
