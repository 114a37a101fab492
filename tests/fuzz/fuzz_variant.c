/* room: column */
/* Any bytes as a VARIANT: the first two tell the length of the metadata. What prints is one JSON
 * value without control characters. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "column/variant.h"

static void need(bool holds) {
  if (!holds) {
    abort();
  }
}

/* Brackets match outside of strings, and strings end. */
static bool is_balanced(tn_slice text) {
  size_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.len; i++) {
    uint8_t c = text.data[i];
    if (c < 0x20) {
      return false;
    }
    if (in_string) {
      i += c == '\\';
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      depth++;
    } else if (c == '}' || c == ']') {
      if (depth-- == 0) {
        return false;
      }
    }
  }
  return depth == 0 && !in_string && text.len > 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tn_mem mem;
  tn_buf out;
  tarn_error err;
  size_t n;
  if (size < 2) {
    return 0;
  }
  n = tn_load_le16(data);
  n = n > size - 2 ? size - 2 : n;
  tn_mem_init(&mem, NULL, 1 << 24);
  tn_buf_init(&out, &mem, 1 << 20);
  if (tn_variant_to_json(tn_slice_of(data + 2, n), tn_slice_of(data + 2 + n, size - 2 - n), NULL,
                         &out, &err) == TARN_OK) {
    need(is_balanced(tn_buf_slice(&out)));
  } else {
    need(err.message[0] != '\0');
  }
  tn_buf_reset(&out);
  return 0;
}
