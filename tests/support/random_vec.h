/* random_vec.h - types, vectors and batches out of a stream of numbers: for property tests (a seed)
 * and fuzzers (bytes). Include it once in a program; failures are told by status, as anywhere.
 */
#ifndef TN_TESTS_SUPPORT_RANDOM_VEC_H
#define TN_TESTS_SUPPORT_RANDOM_VEC_H

#include "base/bytes.h"
#include "column/vector.h"

typedef struct random_source {
  const uint8_t *bytes; /* used up first */
  size_t n_bytes;
  uint64_t state;
} random_source;

static inline uint32_t random_next(random_source *r) {
  r->state = r->state * 6364136223846793005u + 1442695040888963407u;
  if (r->n_bytes >= 2) {
    uint32_t v = tn_load_le16(r->bytes);
    r->bytes += 2;
    r->n_bytes -= 2;
    return v * 0x10001u;
  }
  return (uint32_t)(r->state >> 33);
}

/* 0 .. n - 1 */
static inline uint32_t random_below(random_source *r, uint32_t n) {
  return random_next(r) % n;
}

/* ------------------------------------------------------------------ types */

static inline tn_type random_leaf_type(random_source *r) {
  static const tn_type_root roots[] = {
      TN_BOOLEAN, TN_TINYINT, TN_SMALLINT, TN_INT,       TN_BIGINT, TN_FLOAT,        TN_DOUBLE,
      TN_DECIMAL, TN_VARCHAR, TN_BINARY,   TN_VARBINARY, TN_DATE,   TN_TIME,         TN_TIMESTAMP,
      TN_CHAR,    TN_VARCHAR, TN_INT,      TN_BIGINT,    TN_DOUBLE, TN_TIMESTAMP_LTZ};
  tn_type type = {.root = roots[random_below(r, TN_COUNT(roots))],
                  .is_nullable = random_below(r, 4) != 0,
                  .length = 2147483647};
  if (type.root == TN_DECIMAL) {
    type.precision = 1 + (int32_t)random_below(r, 38);
    type.scale = (int32_t)random_below(r, (uint32_t)type.precision + 1);
  } else if (type.root == TN_TIMESTAMP || type.root == TN_TIMESTAMP_LTZ) {
    type.precision = (int32_t)random_below(r, 10);
  } else if (type.root == TN_TIME) {
    type.precision = 3;
  }
  return type;
}

/* false: out of memory. */
static inline bool random_type(tn_arena *arena, random_source *r, int depth, tn_type *out) {
  static const char *const names[] = {"f0", "f1", "f2", "f3"};
  uint32_t shape = depth > 0 ? random_below(r, 10) : 0;
  tn_field *fields;
  *out = random_leaf_type(r);
  if (shape < 5) {
    return true;
  }
  out->root = shape == 5   ? TN_ARRAY
              : shape == 6 ? TN_MAP
              : shape == 7 ? TN_MULTISET
              : shape == 8 ? TN_VARIANT
                           : TN_ROW;
  out->n_fields = out->root == TN_ARRAY     ? 1
                  : out->root == TN_ROW     ? 1 + (int32_t)random_below(r, 4)
                  : out->root == TN_VARIANT ? 0
                                            : 2;
  out->precision = out->scale = 0;
  if (out->n_fields == 0) {
    return true;
  }
  fields = tn_arena_calloc(arena, (size_t)out->n_fields, sizeof(*fields));
  if (fields == NULL) {
    return false;
  }
  out->fields = fields;
  for (int32_t i = 0; i < out->n_fields; i++) {
    fields[i].id = out->root == TN_ROW ? i : -1;
    fields[i].name = out->root == TN_ROW     ? names[i]
                     : out->root == TN_ARRAY ? "element"
                     : i == 0                ? "key"
                                             : "value";
    if (!random_type(arena, r, depth - 1, &fields[i].type)) {
      return false;
    }
    if (i == 0 && (out->root == TN_MAP || out->root == TN_MULTISET)) {
      fields[i].type.is_nullable = false;
    }
  }
  if (out->root == TN_MULTISET) {
    fields[1].type = (tn_type){.root = TN_INT};
  }
  return true;
}

/* ------------------------------------------------------------------ values */

/* How the values of a vector go on. */
typedef enum random_style {
  RANDOM_WIDE,   /* of the whole range */
  RANDOM_FEW,    /* some, again and again */
  RANDOM_RUNS,   /* the same for a while */
  RANDOM_RISING, /* one after the other */
  RANDOM_N_STYLES
} random_style;

static inline uint64_t random_number(random_source *r, random_style style, int64_t i) {
  switch (style) {
    case RANDOM_FEW:
      return random_below(r, 11) * 0x0101010101u;
    case RANDOM_RUNS:
      return (uint64_t)i / 37 * 0x10001u;
    case RANDOM_RISING:
      return (uint64_t)i * 3;
    default:
      return (uint64_t)random_next(r) << 33 ^ (uint64_t)random_next(r) << 11 ^ random_next(r);
  }
}

static inline tn_i128 random_power_of_ten(int32_t n) {
  tn_i128 v = 1;
  for (; n > 0; n--) {
    v *= 10;
  }
  return v;
}

static inline void random_store(const tn_type *type, tn_layout layout, uint64_t number, void *out) {
  tn_i128 wide = (tn_i128)(int64_t)number;
  switch (layout) {
    case TN_LAYOUT_I8:
      *(uint8_t *)out = (uint8_t)number;
      break;
    case TN_LAYOUT_I16:
      tn_store_le16(out, (uint16_t)number);
      break;
    case TN_LAYOUT_I32:
      tn_store_le32(out, type->root == TN_TIME ? (uint32_t)(number % 86400000) : (uint32_t)number);
      break;
    case TN_LAYOUT_F32: {
      static const float special[] = {0.0f, -0.0f, 1.5f, -2.25f};
      float v = (float)(int64_t)number / 64;
      v = number % 7 == 3 ? special[number / 7 % 4] : v;
      memcpy(out, &v, sizeof(v));
      break;
    }
    case TN_LAYOUT_F64: {
      static const uint64_t special[] = {0, 0x8000000000000000u, 0x7ff0000000000000u,
                                         0x7ff8000000000000u};
      double v = (double)(int64_t)number / 64;
      memcpy(out, &v, sizeof(v));
      if (number % 13 == 5) {
        tn_store_le64(out, special[number / 13 % 4]);
      }
      break;
    }
    case TN_LAYOUT_I64:
      tn_store_le64(out, number);
      break;
    default:
      if (type->root == TN_DECIMAL) {
        wide = (wide * wide + wide) % random_power_of_ten(type->precision);
        wide = number % 2 != 0 ? -wide : wide;
      }
      tn_store_i128(out, wide);
      break;
  }
}

/* Text of up to 40 bytes; returns its length. */
static inline size_t random_text(const tn_type *type, uint64_t number, uint8_t *out) {
  static const char *const words[] = {"",  "a", "\xc3\xa9", "\xe6\x97\xa5", "\xf0\x9f\x98\x80",
                                      "zz"};
  size_t n = 0, n_words = (number >> 3) % 10;
  if (type->root == TN_BINARY || type->root == TN_VARBINARY) {
    n = number % 21;
    for (size_t i = 0; i < n; i++) {
      out[i] = (uint8_t)(number >> (i % 8 * 8));
    }
    return n;
  }
  for (size_t i = 0; i < n_words; i++) {
    const char *word = words[(number >> (2 * i)) % TN_COUNT(words)];
    memcpy(out + n, word, strlen(word));
    n += strlen(word);
  }
  return n;
}

TN_CHECKED static inline tarn_status random_vec(tarn_env *env, const tn_type *type, int64_t n,
                                                random_source *r, tn_vec *out, tarn_error *err);

static inline bool random_is_null(const tn_vec *vec, int64_t i) {
  return vec->valid != NULL && !tn_bit_get(vec->valid, i);
}

/* Nulls of a vector that has its length. */
static inline tarn_status random_nulls(tarn_env *env, const tn_type *type, random_source *r,
                                       tn_vec *out, tarn_error *err) {
  uint32_t one_in = random_below(r, 6); /* 0: no nulls; 1: all; 5: runs of them */
  if (!type->is_nullable || one_in == 0) {
    return TARN_OK;
  }
  TN_TRY(tn_vec_alloc_valid(env, out, true, err));
  for (int64_t i = 0; i < out->length; i++) {
    if (one_in == 5 ? i / 70 % 2 == 1 : random_below(r, one_in) == 0) {
      tn_bit_clear(out->valid, i);
      out->null_count++;
    }
  }
  return TARN_OK;
}

static inline void random_texts(const tn_type *type, random_source *r, random_style style,
                                tn_vec *out) {
  int32_t at = 0;
  for (int64_t i = 0; i < out->length; i++) {
    out->offsets[i] = at;
    if (!random_is_null(out, i)) {
      at += (int32_t)random_text(type, random_number(r, style, i), (uint8_t *)out->values + at);
    }
  }
  out->offsets[out->length] = at;
}

static inline void random_fixed(const tn_type *type, random_source *r, random_style style,
                                tn_vec *out) {
  size_t width = tn_layout_width(out->layout);
  for (int64_t i = 0; i < out->length; i++) {
    uint64_t number = random_number(r, style, i);
    if (out->layout == TN_LAYOUT_BIT) {
      tn_bit_put(out->values, i, number % 2 != 0);
    } else {
      random_store(type, out->layout, number, (uint8_t *)out->values + (size_t)i * width);
    }
  }
}

/* Keys are never null, whatever their type says. */
static inline void random_drop_nulls(tn_vec *vec) {
  tn_buffer_release(vec->valid_buffer);
  vec->valid_buffer = NULL;
  vec->valid = NULL;
  vec->null_count = 0;
}

static inline tarn_status random_lists(tarn_env *env, const tn_type *type, random_source *r,
                                       tn_vec *out, tarn_error *err) {
  int32_t at = 0;
  uint32_t longest = 1 + random_below(r, 6);
  for (int64_t i = 0; i < out->length; i++) {
    out->offsets[i] = at;
    at += random_is_null(out, i) ? 0 : (int32_t)random_below(r, longest);
  }
  out->offsets[out->length] = at;
  if (type->root == TN_ARRAY) {
    return random_vec(env, &type->fields[0].type, at, r, &out->children[0], err);
  }
  out->children[0].length = at;
  TN_TRY(random_vec(env, &type->fields[0].type, at, r, &out->children[0].children[0], err));
  random_drop_nulls(&out->children[0].children[0]);
  return random_vec(env, &type->fields[1].type, at, r, &out->children[0].children[1], err);
}

/* Metadata and values of small integers. */
static inline tarn_status random_variants(tarn_env *env, random_source *r, tn_vec *out,
                                          tarn_error *err) {
  static const uint8_t metadata[] = {1, 0, 0};
  int64_t n = out->length;
  tn_vec *first = &out->children[0], *second = &out->children[1];
  TN_TRY(tn_vec_alloc(env, first, n, (size_t)n * 3, err));
  TN_TRY(tn_vec_alloc(env, second, n, (size_t)n * 2, err));
  for (int64_t i = 0; i < n; i++) {
    uint8_t *value = (uint8_t *)second->values + 2 * i;
    memcpy((uint8_t *)first->values + 3 * i, metadata, 3);
    value[0] = 3 << 2; /* int8 */
    value[1] = (uint8_t)random_next(r);
    first->offsets[i + 1] = (int32_t)(3 * (i + 1));
    second->offsets[i + 1] = (int32_t)(2 * (i + 1));
  }
  return TARN_OK;
}

static inline tarn_status random_fill(tarn_env *env, const tn_type *type, int64_t n,
                                      random_source *r, tn_vec *out, tarn_error *err) {
  random_style style = (random_style)random_below(r, RANDOM_N_STYLES);
  TN_TRY(tn_vec_alloc(env, out, n, (size_t)n * 40, err));
  TN_TRY(random_nulls(env, type, r, out, err));
  switch (out->layout) {
    case TN_LAYOUT_BYTES:
      random_texts(type, r, style, out);
      return TARN_OK;
    case TN_LAYOUT_LIST:
      return random_lists(env, type, r, out, err);
    case TN_LAYOUT_STRUCT:
      if (type->root == TN_VARIANT) {
        return random_variants(env, r, out, err);
      }
      for (int32_t i = 0; i < type->n_fields; i++) {
        TN_TRY(random_vec(env, &type->fields[i].type, n, r, &out->children[i], err));
      }
      return TARN_OK;
    default:
      random_fixed(type, r, style, out);
      return TARN_OK;
  }
}

/* A flat vector; `out` is all zero or initialised with the type. All zero after a failure. */
static inline tarn_status random_vec(tarn_env *env, const tn_type *type, int64_t n,
                                     random_source *r, tn_vec *out, tarn_error *err) {
  tarn_status st;
  if (out->type == NULL) {
    TN_TRY(tn_vec_init(env, type, out, err));
  }
  st = random_fill(env, type, n, r, out, err);
  if (st != TARN_OK) {
    tn_vec_reset(env, out);
  }
  return st;
}

/* ------------------------------------------------------------------ encodings */

/* Rows of a flat vector of length > 0 by codes into it, as DICT. The dictionary has no nulls. */
static inline tarn_status random_dict(tarn_env *env, const tn_vec *flat, int64_t n,
                                      random_source *r, tn_vec *out, tarn_error *err) {
  tn_vec values = {0};
  tn_dictionary *dictionary = NULL;
  tarn_status st = TARN_OK;
  bool has_nulls = flat->type->is_nullable && random_below(r, 2) == 0;
  TN_TRY_TO(done, tn_vec_copy_range(env, flat, 0, flat->length, &values, err));
  TN_TRY_TO(done, tn_dictionary_create(env, &values, &dictionary, err));
  TN_TRY_TO(done, tn_vec_init_dict(env, flat->type, n, dictionary, out, err));
  if (has_nulls) {
    TN_TRY_TO(done, tn_vec_alloc_valid(env, out, true, err));
  }
  for (int64_t i = 0; i < n; i++) {
    int32_t code = (int32_t)random_below(r, (uint32_t)flat->length);
    if (has_nulls && random_below(r, 3) == 0) {
      tn_bit_clear(out->valid, i);
      out->null_count++;
      code = 0;
    }
    ((int32_t *)out->values)[i] = code;
  }
done:
  tn_dictionary_release(dictionary);
  tn_vec_reset(env, &values);
  return st;
}

/* The same bytes seen through views. */
static inline tarn_status random_views(tarn_env *env, const tn_vec *flat, tn_vec *out,
                                       tarn_error *err) {
  tn_view *views;
  TN_TRY(tn_vec_init_views(env, flat->type, flat->length, out, err));
  if (flat->values_buffer != NULL) {
    TN_TRY(tn_vec_retain_buffer(env, out, flat->values_buffer, err));
  }
  views = out->values;
  for (int64_t i = 0; i < flat->length; i++) {
    views[i] = (tn_view){(const uint8_t *)flat->values + flat->offsets[i],
                         flat->offsets[i + 1] - flat->offsets[i]};
  }
  if (flat->null_count > 0) {
    TN_TRY(tn_vec_alloc_valid(env, out, true, err));
    memcpy(out->valid, flat->valid, TN_BITMAP_BYTES(flat->length));
    out->null_count = flat->null_count;
  }
  return TARN_OK;
}

#endif
