/* slice.h - borrowed bytes with a length; text is UTF-8 and need not end in NUL. */
#ifndef TN_BASE_SLICE_H
#define TN_BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct tn_slice {
  const uint8_t *data; /* may be NULL when len is 0 */
  size_t len;
} tn_slice;

/* For printf: "%.*s", TN_SLICE_ARG(s). */
#define TN_SLICE_ARG(s) (int)((s).len > 4096 ? 4096 : (s).len), (const char *)(s).data

static inline tn_slice tn_slice_of(const void *data, size_t len) {
  tn_slice s = {(const uint8_t *)data, len};
  return s;
}

static inline tn_slice tn_slice_text(const char *text) {
  return tn_slice_of(text, text != NULL ? strlen(text) : 0);
}

static inline bool tn_slice_equal(tn_slice a, tn_slice b) {
  return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static inline bool tn_slice_is(tn_slice a, const char *text) {
  return tn_slice_equal(a, tn_slice_text(text));
}

/* Unsigned bytes, a shorter prefix first: the order of Paimon's strings. */
static inline int tn_slice_compare(tn_slice a, tn_slice b) {
  size_t n = a.len < b.len ? a.len : b.len;
  int c = n > 0 ? memcmp(a.data, b.data, n) : 0;
  return c != 0 ? c : (a.len > b.len) - (a.len < b.len);
}

static inline bool tn_slice_starts_with(tn_slice s, tn_slice prefix) {
  return s.len >= prefix.len && (prefix.len == 0 || memcmp(s.data, prefix.data, prefix.len) == 0);
}

#endif
