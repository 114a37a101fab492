/* column_test.c - JSON text to vectors and back. */
#include "column_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/json.h"

#define OK(expr, err)                                                      \
  do {                                                                     \
    if ((expr) != TARN_OK) {                                               \
      fail_msg("%s:%d: %s: %s", __FILE__, __LINE__, #expr, (err).message); \
    }                                                                      \
  } while (0)

void column_test_begin(column_test *t) {
  tarn_error err;
  OK(tarn_env_create(NULL, &t->env, &err), err);
  tn_arena_init(&t->arena, &t->env->mem, (size_t)16 << 20);
}

void column_test_end(column_test *t) {
  tn_arena_reset(&t->arena);
  tn_buffers_trim(t->env);
  assert_int_equal(t->env->mem.reserved_bytes, 0);
  tarn_env_free(t->env);
}

int column_test_setup(void **state) {
  column_test *t = malloc(sizeof(*t));
  column_test_begin(t);
  *state = t;
  return 0;
}

int column_test_teardown(void **state) {
  column_test_end(*state);
  free(*state);
  return 0;
}

const tn_type *parse_type(column_test *t, const char *sql) {
  tarn_error err;
  tn_type *type = tn_arena_calloc(&t->arena, 1, sizeof(*type));
  assert_non_null(type);
  OK(tn_type_from_sql(&t->arena, sql, NULL, type, &err), err);
  return type;
}

/* ------------------------------------------------------------------ building */

typedef struct items {
  const tn_json **at;
  size_t n;
} items;

static tn_i128 parse_i128(const tn_json *json) {
  int64_t small;
  tn_slice text;
  tn_i128 value = 0;
  if (tn_json_kind_of(json) == TN_JSON_INT && tn_json_int(json, &small)) {
    return small;
  }
  assert_true(tn_json_text(json, &text));
  for (size_t i = text.data[0] == '-'; i < text.len; i++) {
    value = value * 10 + (text.data[i] - '0');
  }
  return text.data[0] == '-' ? -value : value;
}

static void put_fixed(tn_vec *vec, size_t i, const tn_json *json) {
  int64_t n = 0;
  double d = 0;
  bool b = false;
  tn_slice text;
  uint8_t *to = (uint8_t *)vec->values + i * tn_layout_width(vec->layout);
  switch (vec->layout) {
    case TN_LAYOUT_BIT:
      assert_true(tn_json_bool(json, &b));
      tn_bit_put(vec->values, (int64_t)i, b);
      break;
    case TN_LAYOUT_F32:
    case TN_LAYOUT_F64:
      if (tn_json_kind_of(json) == TN_JSON_STRING) {
        assert_true(tn_json_text(json, &text)); /* "NaN" and the like */
        d = strtod((const char *)text.data, NULL);
      } else {
        assert_true(tn_json_real(json, &d));
      }
      if (vec->layout == TN_LAYOUT_F32) {
        float f = (float)d;
        memcpy(to, &f, 4);
      } else {
        memcpy(to, &d, 8);
      }
      break;
    case TN_LAYOUT_I128:
      tn_store_i128(to, parse_i128(json));
      break;
    default:
      assert_true(tn_json_int(json, &n));
      memcpy(to, &n, tn_layout_width(vec->layout));
      break;
  }
}

/* Binary values may be "hex:00ff". */
static size_t put_bytes(tn_vec *vec, size_t at, tn_slice text) {
  uint8_t *to = (uint8_t *)vec->values + at;
  if (tn_type_is_bytes(vec->type) && tn_slice_starts_with(text, tn_slice_text("hex:"))) {
    size_t n = (text.len - 4) / 2;
    for (size_t i = 0; i < n; i++) {
      char digits[3] = {(char)text.data[4 + 2 * i], (char)text.data[5 + 2 * i], '\0'};
      to[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return n;
  }
  memcpy(to, text.data, text.len);
  return text.len;
}

static tarn_status build(tarn_env *env, tn_vec *vec, items in, tarn_error *err);

/* Children of a struct, or the elements of lists: `in` flattened one level. */
static tarn_status build_children(tarn_env *env, tn_vec *vec, items in, tarn_error *err) {
  tarn_status st = TARN_OK;
  bool is_struct = vec->layout == TN_LAYOUT_STRUCT;
  for (int32_t c = 0; c < vec->n_children && st == TARN_OK; c++) {
    size_t capacity = 0;
    items part = {NULL, 0};
    for (size_t i = 0; i < in.n; i++) {
      capacity += is_struct ? 1 : tn_json_count(in.at[i]) + (size_t)vec->type->length;
    }
    part.at = calloc(capacity + 1, sizeof(*part.at));
    assert_non_null(part.at);
    for (size_t i = 0; i < in.n; i++) {
      size_t count = tn_json_kind_of(in.at[i]) == TN_JSON_ARRAY ? tn_json_count(in.at[i]) : 0;
      if (is_struct) {
        part.at[part.n++] = count > 0 ? tn_json_at(in.at[i], (size_t)c) : NULL;
        continue;
      }
      if (vec->layout == TN_LAYOUT_FIXED_LIST && count == 0) {
        part.n += (size_t)vec->type->length; /* nulls */
      }
      for (size_t k = 0; k < count; k++) {
        part.at[part.n++] = tn_json_at(in.at[i], k);
      }
    }
    st = build(env, &vec->children[c], part, err);
    free((void *)part.at);
  }
  return st;
}

static tarn_status build(tarn_env *env, tn_vec *vec, items in, tarn_error *err) {
  size_t n_bytes = 0;
  tn_slice text;
  for (size_t i = 0; i < in.n && vec->layout == TN_LAYOUT_BYTES; i++) {
    n_bytes += tn_json_text(in.at[i], &text) ? text.len : 0;
  }
  TN_TRY(tn_vec_alloc(env, vec, (int64_t)in.n, n_bytes, err));
  for (size_t i = 0; i < in.n; i++) {
    bool is_null = tn_json_kind_of(in.at[i]) == TN_JSON_NULL;
    if (is_null) {
      if (vec->valid == NULL) {
        TN_TRY(tn_vec_alloc_valid(env, vec, true, err));
      }
      tn_bit_clear(vec->valid, (int64_t)i);
      vec->null_count++;
    }
    if (vec->layout == TN_LAYOUT_BYTES) {
      size_t at = (size_t)vec->offsets[i];
      text = tn_slice_of(NULL, 0);
      if (!is_null) {
        assert_true(tn_json_text(in.at[i], &text));
        text.len = put_bytes(vec, at, text);
      }
      vec->offsets[i + 1] = (int32_t)(at + text.len);
    } else if (vec->layout == TN_LAYOUT_LIST) {
      vec->offsets[i + 1] = vec->offsets[i] + (is_null ? 0 : (int32_t)tn_json_count(in.at[i]));
    } else if (vec->n_children == 0) {
      if (is_null && tn_layout_width(vec->layout) > 0) {
        memset((uint8_t *)vec->values + i * tn_layout_width(vec->layout), 0x77,
               tn_layout_width(vec->layout));
      } else if (!is_null && vec->layout != TN_LAYOUT_STRUCT) {
        put_fixed(vec, i, in.at[i]);
      }
    }
  }
  return vec->n_children > 0 ? build_children(env, vec, in, err) : TARN_OK;
}

tarn_status build_vec(tarn_env *env, const tn_type *type, const char *json, tn_vec *out,
                      tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_json_doc *doc = NULL;
  items in = {NULL, 0};
  memset(out, 0, sizeof(*out));
  TN_TRY(tn_json_parse(&env->mem, tn_slice_text(json), "test", &doc, err));
  in.n = tn_json_count(tn_json_root(doc));
  in.at = calloc(in.n + 1, sizeof(*in.at));
  assert_non_null(in.at);
  for (size_t i = 0; i < in.n; i++) {
    in.at[i] = tn_json_at(tn_json_root(doc), i);
  }
  TN_TRY_TO(done, tn_vec_init(env, type, out, err));
  TN_TRY_TO(done, build(env, out, in, err));
done:
  if (st != TARN_OK) {
    tn_vec_reset(env, out);
  }
  free((void *)in.at);
  tn_json_free(doc);
  return st;
}

void must_build(column_test *t, const tn_type *type, const char *json, tn_vec *out) {
  tarn_error err;
  OK(build_vec(t->env, type, json, out, &err), err);
  OK(tn_vec_validate(out, &err), err);
}

/* ------------------------------------------------------------------ encodings */

static tarn_status share_valid(tarn_env *env, const tn_vec *flat, tn_vec *out, tarn_error *err) {
  if (flat->valid != NULL) {
    TN_TRY(tn_vec_alloc_valid(env, out, true, err));
    memcpy(out->valid, flat->valid, TN_BITMAP_BYTES(flat->length));
    out->null_count = flat->null_count;
  }
  return TARN_OK;
}

/* Every value is its own entry, entries in reverse order, with one more that no row uses. */
static tarn_status encode_dict(tarn_env *env, const tn_vec *flat, tn_vec *out, tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_vec values;
  tn_dictionary *dictionary = NULL;
  uint32_t *rows = calloc((size_t)flat->length + 2, sizeof(*rows));
  uint32_t n = 0;
  assert_non_null(rows);
  memset(&values, 0, sizeof(values));
  for (int64_t i = flat->length - 1; i >= 0; i--) {
    if (!tn_vec_is_null(flat, i)) {
      rows[n++] = (uint32_t)i;
    }
  }
  if (n > 0) {
    rows[n] = rows[0];
    n++;
  }
  TN_TRY_TO(done, tn_vec_take(env, flat, rows, n, &values, err));
  TN_TRY_TO(done, tn_dictionary_create(env, &values, &dictionary, err));
  TN_TRY_TO(done, tn_vec_init_dict(env, flat->type, flat->length, dictionary, out, err));
  memset(out->values, 0, (size_t)flat->length * sizeof(int32_t));
  for (uint32_t i = 0; n > 0 && i < n - 1; i++) {
    ((int32_t *)out->values)[rows[i]] = (int32_t)i;
  }
  TN_TRY_TO(done, share_valid(env, flat, out, err));
done:
  free(rows);
  tn_dictionary_release(dictionary);
  return st;
}

static tarn_status encode_views(tarn_env *env, const tn_vec *flat, tn_vec *out, tarn_error *err) {
  tn_view *views;
  TN_TRY(tn_vec_init_views(env, flat->type, flat->length, out, err));
  views = out->values;
  for (int64_t i = 0; i < flat->length; i++) {
    tn_slice s = tn_vec_bytes(flat, i);
    bool is_null = tn_vec_is_null(flat, i);
    views[i] = (tn_view){is_null ? NULL : s.data, is_null ? 0 : (int64_t)s.len};
  }
  TN_TRY(tn_vec_retain_buffer(env, out, flat->values_buffer, err));
  return share_valid(env, flat, out, err);
}

tarn_status encode_vec(tarn_env *env, const tn_vec *flat, char encoding, tn_vec *out,
                       tarn_error *err) {
  tarn_status st;
  tn_vec one;
  memset(out, 0, sizeof(*out));
  memset(&one, 0, sizeof(one));
  switch (encoding) {
    case 'd':
      st = encode_dict(env, flat, out, err);
      break;
    case 'v':
      st = encode_views(env, flat, out, err);
      break;
    case 'c':
      st = tn_vec_copy_range(env, flat, 0, 1, &one, err);
      if (st == TARN_OK) {
        st = tn_vec_init_const(env, flat->type, flat->length, &one, out, err);
      }
      break;
    default:
      st = tn_vec_share(env, flat, out, err);
      break;
  }
  if (st != TARN_OK) {
    tn_vec_reset(env, out);
  }
  return st;
}

/* ------------------------------------------------------------------ text */

static void print_i128(FILE *f, tn_i128 value) {
  char digits[48];
  int n = 0;
  tn_u128 rest = value < 0 ? -(tn_u128)value : (tn_u128)value;
  do {
    digits[sizeof(digits) - (size_t)++n] = (char)('0' + (int)(rest % 10));
    rest /= 10;
  } while (rest > 0);
  fputs(n > 18 ? "\"" : "", f);
  fputs(value < 0 ? "-" : "", f);
  fprintf(f, "%.*s", n, digits + sizeof(digits) - n);
  fputs(n > 18 ? "\"" : "", f);
}

static void print_row(FILE *f, const tn_vec *vec, int64_t i);

static void print_rows(FILE *f, const tn_vec *vec, int64_t begin, int64_t end) {
  fputc('[', f);
  for (int64_t i = begin; i < end; i++) {
    fputs(i > begin ? "," : "", f);
    print_row(f, vec, i);
  }
  fputc(']', f);
}

static void print_nested(FILE *f, const tn_vec *vec, int64_t i) {
  if (vec->layout == TN_LAYOUT_LIST) {
    print_rows(f, &vec->children[0], vec->offsets[i], vec->offsets[i + 1]);
  } else if (vec->layout == TN_LAYOUT_FIXED_LIST) {
    print_rows(f, &vec->children[0], i * vec->type->length, (i + 1) * vec->type->length);
  } else {
    fputc('[', f);
    for (int32_t c = 0; c < vec->n_children; c++) {
      fputs(c > 0 ? "," : "", f);
      print_row(f, &vec->children[c], i);
    }
    fputc(']', f);
  }
}

static void print_fixed(FILE *f, const tn_vec *vec, int64_t i) {
  const uint8_t *at = (const uint8_t *)vec->values + (size_t)i * tn_layout_width(vec->layout);
  switch (vec->layout) {
    case TN_LAYOUT_BIT:
      fputs(tn_bit_get(vec->values, i) ? "true" : "false", f);
      break;
    case TN_LAYOUT_I8:
      fprintf(f, "%d", (int8_t)at[0]);
      break;
    case TN_LAYOUT_I16:
      fprintf(f, "%d", (int16_t)tn_load_le16(at));
      break;
    case TN_LAYOUT_I32:
      fprintf(f, "%d", (int32_t)tn_load_le32(at));
      break;
    case TN_LAYOUT_I64:
      fprintf(f, "%" PRId64, (int64_t)tn_load_le64(at));
      break;
    case TN_LAYOUT_F32:
      fprintf(f, "%g", (double)tn_load_f32(at));
      break;
    case TN_LAYOUT_F64:
      fprintf(f, "%g", tn_load_f64(at));
      break;
    default:
      print_i128(f, tn_load_i128(at));
      break;
  }
}

static void print_row(FILE *f, const tn_vec *vec, int64_t i) {
  if (tn_vec_is_null(vec, i)) {
    fputs("null", f);
  } else if (vec->layout == TN_LAYOUT_BYTES) {
    tn_slice s = tn_vec_bytes(vec, i);
    fputc('"', f);
    fwrite(s.data, 1, s.len, f);
    fputc('"', f);
  } else if (vec->encoding == TN_VEC_CONST) {
    print_row(f, vec->constant, 0);
  } else if (vec->encoding == TN_VEC_DICT) {
    print_row(f, &vec->dictionary->values, ((const int32_t *)vec->values)[i]);
  } else if (vec->n_children > 0 || vec->layout == TN_LAYOUT_STRUCT) {
    print_nested(f, vec, i);
  } else {
    print_fixed(f, vec, i);
  }
}

char *vec_text(const tn_vec *vec) {
  char *text = NULL;
  size_t n;
  FILE *f = open_memstream(&text, &n);
  assert_non_null(f);
  print_rows(f, vec, 0, vec->length);
  fclose(f);
  return text;
}

void assert_vec(const tn_vec *vec, const char *expected) {
  tarn_error err;
  char *text;
  OK(tn_vec_validate(vec, &err), err);
  text = vec_text(vec);
  assert_string_equal(text, expected);
  free(text);
}

size_t from_hex(const char *hex, uint8_t *out) {
  size_t n = strlen(hex) / 2;
  for (size_t i = 0; i < n; i++) {
    char digits[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
    out[i] = (uint8_t)strtoul(digits, NULL, 16);
  }
  return n;
}
