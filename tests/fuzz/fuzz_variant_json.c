/* room: column */
/* Any bytes as the JSON text of a VARIANT. What is taken prints as JSON again. */
#include <stdlib.h>

#include "column/variant.h"
#include "column/variant_json.h"

static void need(bool holds) {
  if (!holds) {
    abort();
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tn_mem mem;
  tn_arena arena;
  tn_variant_builder builder;
  tn_slice metadata, value;
  tn_buf out;
  tarn_error err = {TARN_OK, 0, ""};
  tn_mem_init(&mem, NULL, 1 << 26);
  tn_arena_init(&arena, &mem, 1 << 24);
  tn_variant_builder_init(&builder, &mem);
  tn_buf_init(&out, &mem, 1 << 24);
  if (tn_variant_put_json(&builder, tn_slice_of(data, size), &arena, &err) == TARN_OK) {
    need(tn_variant_take(&builder, &metadata, &value, &err) == TARN_OK);
    need(tn_variant_to_json(metadata, value, NULL, &out, &err) == TARN_OK && out.len > 0);
  } else {
    need(err.message[0] != '\0');
  }
  tn_buf_reset(&out);
  tn_variant_builder_free(&builder);
  tn_arena_reset(&arena);
  return 0;
}
