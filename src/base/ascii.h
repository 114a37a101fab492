/* ascii.h - digits, letters and blanks of ASCII, whatever the locale; other bytes are none of them.
 */
#ifndef TN_BASE_ASCII_H
#define TN_BASE_ASCII_H

#include "base/slice.h"

static inline bool tn_is_digit(uint8_t c) {
  return c >= '0' && c <= '9';
}

static inline bool tn_is_letter(uint8_t c) {
  return (uint8_t)((c | 0x20) - 'a') < 26;
}

static inline uint8_t tn_lower(uint8_t c) {
  return c >= 'A' && c <= 'Z' ? (uint8_t)(c + ('a' - 'A')) : c;
}

/* 0 to 15; -1: not a hexadecimal digit. */
static inline int tn_hex_value(uint8_t c) {
  uint8_t low = tn_lower(c);
  return tn_is_digit(c) ? c - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

/* Equal but for the case of letters. */
static inline bool tn_slice_equal_nocase(tn_slice a, tn_slice b) {
  size_t i = 0;
  while (i < a.len && i < b.len && tn_lower(a.data[i]) == tn_lower(b.data[i])) {
    i++;
  }
  return i == a.len && i == b.len;
}

static inline bool tn_slice_is_nocase(tn_slice a, const char *text) {
  return tn_slice_equal_nocase(a, tn_slice_text(text));
}

/* Without blanks and control characters at both ends (java.lang.String.trim). */
static inline tn_slice tn_slice_trim(tn_slice s) {
  while (s.len > 0 && s.data[0] <= ' ') {
    s.data++;
    s.len--;
  }
  while (s.len > 0 && s.data[s.len - 1] <= ' ') {
    s.len--;
  }
  return s;
}

#endif
