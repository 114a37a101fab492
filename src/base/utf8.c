/* utf8.c - what Java makes of bytes that are not UTF-8. */
#include "base/utf8.h"

static bool is_continuation(uint8_t c) {
  return (c & 0xC0) == 0x80;
}

/* Rule: java.lang.String.decodeUTF8. */
size_t tn_utf8_java_step(const uint8_t *p, size_t n_bytes) {
  size_t n = tn_utf8_step(p, n_bytes);
  bool has_second = n_bytes > 1 && is_continuation(p[1]);
  if (n > 0) {
    return n;
  }
  if ((p[0] & 0xF0) == 0xE0) {
    if (!has_second || (p[0] == 0xE0 && p[1] < 0xA0)) {
      return 1;
    }
    return n_bytes > 2 && is_continuation(p[2]) ? 3 : 2; /* a surrogate goes as a whole */
  }
  if (p[0] >= 0xF0 && p[0] <= 0xF4) {
    if (!has_second || (p[0] == 0xF0 && p[1] < 0x90) || (p[0] == 0xF4 && p[1] > 0x8F)) {
      return 1;
    }
    return n_bytes > 2 && is_continuation(p[2]) ? 3 : 2;
  }
  return 1;
}
