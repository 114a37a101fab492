/* room: column */
/* Any text as a type: what parses, prints and parses again to an equal type with the same text, in
 * the SQL form and in the JSON form. */
#include <stdlib.h>
#include <string.h>

#include "column/type.h"
#include "column/type_text.h"

#define MAX_TEXT ((size_t)1 << 22)

static void need(bool holds) {
  if (!holds) {
    abort();
  }
}

static void round_trip_sql(tn_arena *arena, const tn_type *type) {
  tn_buf first, second;
  tn_type again;
  tarn_error err;
  tn_buf_init(&first, arena->mem, MAX_TEXT);
  tn_buf_init(&second, arena->mem, MAX_TEXT);
  need(tn_type_to_sql(type, &first, &err) == TARN_OK &&
       tn_buf_append(&first, "", 1, &err) == TARN_OK);
  need(tn_type_from_sql(arena, (const char *)first.data, NULL, &again, &err) == TARN_OK);
  need(tn_type_to_sql(&again, &second, &err) == TARN_OK &&
       tn_buf_append(&second, "", 1, &err) == TARN_OK);
  need(tn_slice_equal(tn_buf_slice(&first), tn_buf_slice(&second)));
  tn_buf_reset(&first);
  tn_buf_reset(&second);
}

static void round_trip_json(tn_arena *arena, const tn_type *type) {
  tn_buf text;
  tn_type again;
  tarn_error err;
  tn_json_doc *doc;
  tn_buf_init(&text, arena->mem, MAX_TEXT);
  need(tn_type_to_json(type, &text, &err) == TARN_OK);
  need(tn_json_parse(arena->mem, tn_buf_slice(&text), "t", &doc, &err) == TARN_OK);
  need(tn_type_from_json(arena, tn_json_root(doc), "t", &again, &err) == TARN_OK);
  need(tn_type_equal(type, &again, true));
  tn_json_free(doc);
  tn_buf_reset(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tn_mem mem;
  tn_arena arena;
  tn_type type;
  tn_json_doc *doc;
  tarn_error err;
  int32_t next_id = 0;
  char *sql;
  if (size > 8192) {
    return 0;
  }
  tn_mem_init(&mem, NULL, 1 << 24);
  tn_arena_init(&arena, &mem, 1 << 26);
  sql = tn_arena_strndup(&arena, (const char *)data, size);
  need(sql != NULL);
  if (tn_type_from_sql(&arena, sql, &next_id, &type, &err) == TARN_OK) {
    round_trip_sql(&arena, &type);
    round_trip_json(&arena, &type);
  } else {
    need(err.message[0] != '\0');
  }
  if (tn_type_from_atomic_text(&arena, tn_slice_of(data, size), "t", 1, &type, &err) == TARN_OK) {
    round_trip_json(&arena, &type);
  }
  if (tn_json_parse(&mem, tn_slice_of(data, size), "t", &doc, &err) == TARN_OK) {
    if (tn_type_from_json(&arena, tn_json_root(doc), "t", &type, &err) == TARN_OK) {
      round_trip_json(&arena, &type);
    }
    tn_json_free(doc);
  }
  tn_arena_reset(&arena);
  return 0;
}
