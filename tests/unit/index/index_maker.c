/* index_maker.c - see index_maker.h. */
#include "index_maker.h"

#include <math.h>
#include <roaring.h>

#include "base/bytes.h"
#include "support/files.h"

#define MAX_JAVA_INDEXES 128

static java_index indexes[MAX_JAVA_INDEXES];
static size_t n_indexes;

static void parse_name(const char *name, size_t n, java_index *out) {
  size_t n_type = n;
  const char *space, *nulls;
  while (name[n_type - 1] != ' ') {
    n_type--;
  }
  space = name + --n_type;
  snprintf(out->kind, sizeof(out->kind), "%.*s", (int)(n - n_type - 1), space + 1);
  nulls = n_type > 6 && memcmp(space - 6, " nulls", 6) == 0 ? space - 6 : NULL;
  out->is_null = nulls != NULL;
  n_type -= nulls != NULL ? 6 : 0;
  snprintf(out->type_text, sizeof(out->type_text), "%.*s", (int)n_type, name);
}

const java_index *java_indexes(size_t *n) {
  if (n_indexes == 0) {
    size_t n_bytes, at = 0;
    char *path = tn_test_path(TARN_SOURCE_DIR, "tests/unit/index/data/file_index_java.bin");
    static uint8_t *bytes;
    bytes = tn_test_read_file(path, &n_bytes);
    free(path);
    while (at < n_bytes) {
      size_t n_name = tn_load_be16(bytes + at);
      java_index *x = &indexes[n_indexes++];
      assert_true(n_indexes < MAX_JAVA_INDEXES);
      parse_name((const char *)bytes + at + 2, n_name, x);
      at += 2 + n_name;
      x->container = tn_slice_of(bytes + at + 4, tn_load_be32(bytes + at));
      at += 4 + x->container.len;
    }
    assert_int_equal(at, n_bytes);
  }
  *n = n_indexes;
  return indexes;
}

const java_index *java_index_of(const char *type_text, const char *kind) {
  size_t n;
  const java_index *all = java_indexes(&n);
  for (size_t i = 0; i < n; i++) {
    if (strcmp(all[i].type_text, type_text) == 0 && strcmp(all[i].kind, kind) == 0 &&
        !all[i].is_null) {
      return &all[i];
    }
  }
  fail_msg("no %s index of %s", kind, type_text);
  return NULL;
}

static uint64_t mix(uint64_t x) {
  x += UINT64_C(0x9E3779B97F4A7C15);
  x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
  return x ^ x >> 31;
}

static tn_slice java_text(int64_t d) {
  static char texts[JAVA_VALUES][32];
  if (d == 1) {
    return tn_slice_of(texts[d], 0);
  }
  snprintf(texts[d], sizeof(texts[d]),
           d % 5 == 0 ? "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80-%d" : "key %d", (int)d);
  return tn_slice_text(texts[d]);
}

tn_datum java_distinct(const tn_type *type, int64_t d) {
  tn_datum out = {0};
  int64_t s = d - 50;
  switch (type->root) {
    case TN_BOOLEAN:
      out.v.boolean = d % 2 == 1;
      break;
    case TN_TINYINT:
    case TN_DATE:
      out.v.i64 = s;
      break;
    case TN_SMALLINT:
      out.v.i64 = d * 100 - 5000;
      break;
    case TN_INT:
      out.v.i64 = d * 7 - 300;
      break;
    case TN_BIGINT:
      out.v.i64 = s * 1000000007;
      break;
    case TN_TIME:
      out.v.i64 = d * 1001;
      break;
    case TN_FLOAT:
    case TN_DOUBLE:
      out.v.f64 = d == 0                   ? (double)NAN
                  : d == 1                 ? -0.0
                  : d == 2                 ? 0.0
                  : type->root == TN_FLOAT ? (double)s / 8.0
                                           : (double)s / 3.0;
      break;
    case TN_DECIMAL:
      out.v.i128 = s * 1234567;
      break;
    case TN_VARCHAR:
      out.v.bytes = java_text(d);
      break;
    default:
      if (type->precision <= 3) {
        out.v.i64 = s * 86400123;
      } else if (type->precision <= 6) {
        out.v.i64 = s * INT64_C(86400123456);
      } else {
        out.v.i128 = (d / 3 - 16) * INT64_C(1000003) * 1000 + d % 3 * 333;
      }
  }
  return out;
}

tn_datum java_value(const tn_type *type, int64_t row) {
  tn_datum null = {.is_null = true};
  if (mix((uint64_t)row + 1000000) % 16 == 0) {
    return null;
  }
  return java_distinct(type, (int64_t)(mix((uint64_t)row) % JAVA_VALUES));
}

tn_field column_of(const char *type_text) {
  static tn_arena arena;
  static bool is_there;
  tn_field field = {.id = 7, .name = "c"};
  tarn_error err;
  if (!is_there) {
    static tn_mem mem;
    tn_mem_init(&mem, NULL, SIZE_MAX);
    tn_arena_init(&arena, &mem, SIZE_MAX);
    is_there = true;
  }
  assert_works(tn_type_from_sql(&arena, type_text, NULL, &field.type, &err), err);
  return field;
}

/* ------------------------------------------------------------------ containers */

static void put_utf(tn_buf *out, const char *text) {
  uint8_t length[2];
  tarn_error err;
  tn_store_be16(length, (uint16_t)strlen(text));
  assert_works(tn_buf_append(out, length, 2, &err), err);
  assert_works(tn_buf_append(out, text, strlen(text), &err), err);
}

static void put_u32(tn_buf *out, uint32_t n) {
  uint8_t bytes[4];
  tarn_error err;
  tn_store_be32(bytes, n);
  assert_works(tn_buf_append(out, bytes, 4, &err), err);
}

static size_t parts_of_column(const made_part *parts, size_t n, size_t i) {
  size_t end = i + 1;
  while (end < n && parts[end].column == NULL) {
    end++;
  }
  return end - i;
}

/* The head, in which payloads start at `at`. */
static void put_head(tn_buf *out, const made_part *parts, size_t n, size_t n_head, size_t at) {
  uint32_t n_columns = 0;
  for (size_t i = 0; i < n; i++) {
    n_columns += parts[i].column != NULL;
  }
  put_u32(out, 0x00054E4E);
  put_u32(out, 0xD01A35AE);
  put_u32(out, 1);
  put_u32(out, (uint32_t)n_head);
  put_u32(out, n_columns);
  for (size_t i = 0; i < n; i++) {
    if (parts[i].column != NULL) {
      put_utf(out, parts[i].column);
      put_u32(out, (uint32_t)parts_of_column(parts, n, i));
    }
    put_utf(out, parts[i].kind);
    put_u32(out, parts[i].payload.data != NULL ? (uint32_t)at : UINT32_MAX);
    put_u32(out, (uint32_t)parts[i].payload.len);
    at += parts[i].payload.len;
  }
  put_u32(out, 0);
}

uint8_t *make_container(const made_part *parts, size_t n, size_t n_filler, size_t *n_bytes) {
  size_t n_head, at;
  uint8_t *bytes;
  tn_mem mem;
  tn_buf head;
  tn_mem_init(&mem, NULL, SIZE_MAX);
  tn_buf_init(&head, &mem, SIZE_MAX);
  put_head(&head, parts, n, 0, 0);
  n_head = head.len;
  tn_buf_reset(&head);
  put_head(&head, parts, n, n_head, n_head + n_filler);
  at = n_head + n_filler;
  *n_bytes = at;
  for (size_t i = 0; i < n; i++) {
    *n_bytes += parts[i].payload.len;
  }
  bytes = calloc(1, *n_bytes + 1);
  memcpy(bytes, head.data, n_head);
  for (size_t i = 0; i < n; i++) {
    if (parts[i].payload.len > 0) {
      memcpy(bytes + at, parts[i].payload.data, parts[i].payload.len);
    }
    at += parts[i].payload.len;
  }
  tn_buf_reset(&head);
  return bytes;
}

#define MAX_MADE_ROWS 64

/* A parsed column: its rows by value. */
typedef struct made_column {
  uint32_t n_rows;
  roaring_bitmap_t *nulls;
  size_t n_values;
  int32_t values[MAX_MADE_ROWS];
  roaring_bitmap_t *rows[MAX_MADE_ROWS];
} made_column;

static void parse_column(const char *text, made_column *out) {
  memset(out, 0, sizeof(*out));
  out->nulls = roaring_bitmap_create();
  for (const char *at = text; *at != 0; out->n_rows++) {
    char *end = NULL;
    if (strncmp(at, "null", 4) == 0) {
      roaring_bitmap_add(out->nulls, out->n_rows);
      at += 4;
    } else {
      int32_t value = (int32_t)strtol(at, &end, 10);
      size_t i = 0;
      while (i < out->n_values && out->values[i] != value) {
        i++;
      }
      if (i == out->n_values) {
        assert_true(i < MAX_MADE_ROWS);
        out->values[out->n_values++] = value;
        out->rows[i] = roaring_bitmap_create();
      }
      roaring_bitmap_add(out->rows[i], out->n_rows);
      at = end;
    }
    at += *at == ',';
  }
}

/* The offset that stands for the rows; what has to be stored goes to `body`. */
static uint32_t put_rows(const roaring_bitmap_t *rows, tn_buf *body) {
  size_t n = roaring_bitmap_portable_size_in_bytes(rows), offset = body->len;
  tarn_error err;
  if (roaring_bitmap_get_cardinality(rows) == 1) {
    return UINT32_MAX - roaring_bitmap_minimum(rows);
  }
  assert_works(tn_buf_reserve(body, n, &err), err);
  roaring_bitmap_portable_serialize(rows, (char *)body->data + offset);
  body->len += n;
  return (uint32_t)offset;
}

tn_slice make_bitmap_of(tn_arena *arena, const char *column, const char *values) {
  made_column c;
  made_part part = {.column = column, .kind = "bitmap"};
  size_t n_bytes;
  uint8_t *bytes;
  tn_slice out;
  tn_mem mem;
  tn_buf head, body;
  tarn_error err;
  bool has_null;
  parse_column(values, &c);
  tn_mem_init(&mem, NULL, SIZE_MAX);
  tn_buf_init(&head, &mem, SIZE_MAX);
  tn_buf_init(&body, &mem, SIZE_MAX);
  has_null = !roaring_bitmap_is_empty(c.nulls);
  assert_works(tn_buf_append(&head, "\1", 1, &err), err);
  put_u32(&head, c.n_rows);
  put_u32(&head, (uint32_t)c.n_values);
  assert_works(tn_buf_append(&head, has_null ? "\1" : "\0", 1, &err), err);
  if (has_null) {
    put_u32(&head, put_rows(c.nulls, &body));
  }
  for (size_t i = 0; i < c.n_values; i++) {
    put_u32(&head, (uint32_t)c.values[i]);
    put_u32(&head, put_rows(c.rows[i], &body));
    roaring_bitmap_free(c.rows[i]);
  }
  roaring_bitmap_free(c.nulls);
  assert_works(tn_buf_append(&head, body.data, body.len, &err), err);
  part.payload = tn_buf_slice(&head);
  bytes = make_container(&part, 1, 0, &n_bytes);
  assert_true(tn_arena_slice(arena, tn_slice_of(bytes, n_bytes), &out));
  free(bytes);
  tn_buf_reset(&head);
  tn_buf_reset(&body);
  return out;
}

tn_slice first_payload(tarn_env *env, tn_slice container) {
  tn_file_index *index;
  tarn_error err;
  int32_t n;
  tn_slice out;
  assert_works(tn_file_index_open(env, container, "x.index", &index, &err), err);
  const tn_index_part *part = tn_file_index_parts(index, &n);
  assert_int_equal(n, 1);
  out = tn_slice_of(container.data + part->start, (size_t)part->length);
  tn_file_index_release(index);
  return out;
}
