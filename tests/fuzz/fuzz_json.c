/* room: base */
/* JSON documents, and the quoting of their texts. */
#include <stdlib.h>

#include "base/json.h"

#define MAX_TEXT_BYTES ((size_t)1 << 20)

static void quote_and_parse(tn_mem *mem, tn_slice text) {
  tn_json_doc *doc = NULL;
  tn_slice again;
  tn_buf out;
  tn_buf_init(&out, mem, MAX_TEXT_BYTES * 8);
  if (tn_json_quote(&out, text, NULL) != TARN_OK ||
      tn_json_parse(mem, tn_buf_slice(&out), "quoted", &doc, NULL) != TARN_OK ||
      !tn_json_text(tn_json_root(doc), &again)) {
    abort();
  }
  /* What came out of a document is UTF-8, so it comes back as it was. */
  if (!tn_slice_equal(text, again)) {
    abort();
  }
  tn_json_free(doc);
  tn_buf_reset(&out);
}

/* Depth is bounded by the parser. */
static void walk(tn_mem *mem, const tn_json *value, int depth) {
  tn_json_member member = {.iter = NULL};
  tn_slice text;
  int64_t integer;
  double real;
  bool flag;
  if (depth > 512) {
    abort();
  }
  (void)tn_json_int(value, &integer);
  (void)tn_json_real(value, &real);
  (void)tn_json_bool(value, &flag);
  if (tn_json_text(value, &text)) {
    quote_and_parse(mem, text);
  }
  while (tn_json_next(value, &member)) {
    walk(mem, member.value, depth + 1);
  }
  if (tn_json_kind_of(value) == TN_JSON_ARRAY) {
    for (size_t i = 0; i < tn_json_count(value); i++) {
      walk(mem, tn_json_at(value, i), depth + 1);
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tn_json_doc *doc = NULL;
  tarn_status st;
  tarn_error err;
  tn_buf out;
  tn_mem mem;
  tn_mem_init(&mem, NULL, (size_t)1 << 30);
  st = tn_json_parse(&mem, tn_slice_of(data, size), "fuzz", &doc, &err);
  if (st == TARN_OK) {
    walk(&mem, tn_json_root(doc), 0);
  } else if (st != TARN_E_CORRUPT || doc != NULL || err.message[0] == '\0') {
    abort();
  }
  tn_json_free(doc);
  /* Any bytes can be quoted, and what comes out is JSON. */
  if (size > 0 && size < MAX_TEXT_BYTES) {
    tn_buf_init(&out, &mem, MAX_TEXT_BYTES * 8);
    if (tn_json_quote(&out, tn_slice_of(data, size), NULL) != TARN_OK ||
        tn_json_parse(&mem, tn_buf_slice(&out), "quoted", &doc, NULL) != TARN_OK) {
      abort();
    }
    tn_json_free(doc);
    tn_buf_reset(&out);
  }
  return 0;
}
