/* file_index_make.c - bloom filters and bit-sliced numbers of rows. */
#include "index/file_index_make.h"

#include <math.h>

#include "base/bytes.h"
#include "base/checked.h"
#include "codec/hash.h"

#define NANOS_PER_MICRO 1000

/* ------------------------------------------------------------------ what all share */

const tn_maker_kind *tn_maker_kind_of(const char *name) {
  static const tn_maker_kind *const kinds[] = {&tn_bloom_maker, &tn_bitmap_maker, &tn_bsi_maker,
                                               &tn_range_bitmap_maker};
  for (size_t i = 0; i < TN_COUNT(kinds); i++) {
    if (strcmp(kinds[i]->name, name) == 0) {
      return kinds[i];
    }
  }
  return NULL;
}

tarn_status tn_maker_reserve(tn_index_maker *maker, size_t n_bytes, tarn_error *err) {
  TN_TRY(tn_env_reserve(maker->env, n_bytes, "indexes of files", err));
  maker->reserved_bytes += n_bytes;
  return TARN_OK;
}

tarn_status tn_maker_integer(const tn_index_maker *maker, const tn_datum *value, int64_t *out,
                             tarn_error *err) {
  const tn_type *type = maker->spec->type;
  tn_i128 wide;
  if (type->root == TN_BOOLEAN) {
    *out = value->v.boolean;
    return TARN_OK;
  }
  if (!maker->code.is_cut && type->root != TN_DECIMAL) {
    *out = value->v.i64;
    return TARN_OK;
  }
  wide = value->v.i128;
  if (maker->code.is_cut) {
    wide = wide / NANOS_PER_MICRO - (wide % NANOS_PER_MICRO < 0);
  }
  if (wide < INT64_MIN || wide > INT64_MAX) {
    return tn_fail(err, TARN_E_INVALID,
                   "column '%s': a value beyond 64 bits has no place in a %s "
                   "index",
                   maker->spec->name, maker->kind->name);
  }
  *out = (int64_t)wide;
  return TARN_OK;
}

tarn_status tn_put_u8(tn_buf *out, uint8_t value, tarn_error *err) {
  return tn_buf_append(out, &value, 1, err);
}

tarn_status tn_put_i32(tn_buf *out, int64_t value, tarn_error *err) {
  uint8_t bytes[4];
  if (value < INT32_MIN || value > INT32_MAX) {
    return tn_fail(err, TARN_E_LIMIT, "an index of a file passes 2 GiB");
  }
  tn_store_be32(bytes, (uint32_t)(int32_t)value);
  return tn_buf_append(out, bytes, sizeof(bytes), err);
}

tarn_status tn_put_i64(tn_buf *out, int64_t value, tarn_error *err) {
  uint8_t bytes[8];
  tn_store_be64(bytes, (uint64_t)value);
  return tn_buf_append(out, bytes, sizeof(bytes), err);
}

tarn_status tn_put_bitmap(tn_buf *out, roaring_bitmap_t *bitmap, tarn_error *err) {
  static const uint8_t empty[8] = {0x3a, 0x30};
  size_t n_bytes;
  if (bitmap == NULL) {
    return tn_buf_append(out, empty, sizeof(empty), err);
  }
  (void)roaring_bitmap_run_optimize(bitmap);
  n_bytes = roaring_bitmap_portable_size_in_bytes(bitmap);
  TN_TRY(tn_buf_reserve(out, n_bytes, err));
  out->len += roaring_bitmap_portable_serialize(bitmap, (char *)out->data + out->len);
  return TARN_OK;
}

tarn_status tn_bitmap_add(roaring_bitmap_t **bitmap, uint32_t row, tarn_error *err) {
  if (*bitmap == NULL) {
    *bitmap = roaring_bitmap_create();
    if (*bitmap == NULL) {
      return tn_oom(err);
    }
  }
  roaring_bitmap_add(*bitmap, row);
  return TARN_OK;
}

/* ------------------------------------------------------------------ bloom filter */

typedef struct bloom {
  int32_t n_hashes;
  int32_t n_bits;
  uint8_t bits[];
} bloom;

static bool bloom_takes(const tn_type *type) {
  return tn_index_code_of(type).form != TN_INDEX_NONE && type->root != TN_BOOLEAN &&
         type->root != TN_DECIMAL;
}

/* Java's (int): saturating. */
static int32_t to_int(double value) {
  return value >= INT32_MAX ? INT32_MAX : value <= INT32_MIN ? INT32_MIN : (int32_t)value;
}

static tarn_status bloom_create(tn_index_maker *maker, tarn_error *err) {
  const tn_index_spec *spec = maker->spec;
  int32_t bits = to_int((double)-spec->bloom_items * log(spec->bloom_fpp) / (log(2) * log(2)));
  double hashes;
  bloom *b;
  if (bits < 0 || bits > INT32_MAX - 8) {
    return tn_fail(err, TARN_E_INVALID, "column '%s': a bloom filter of %lld items passes 256 MiB",
                   spec->name, (long long)spec->bloom_items);
  }
  bits += 8 - bits % 8;
  hashes = floor((double)bits / (double)spec->bloom_items * log(2) + 0.5);
  TN_TRY(tn_maker_reserve(maker, (size_t)bits / 8, err));
  b = tn_calloc(&maker->env->mem, 1, sizeof(*b) + (size_t)bits / 8);
  if (b == NULL) {
    return tn_oom(err);
  }
  b->n_bits = bits;
  b->n_hashes = hashes < 1 ? 1 : to_int(hashes);
  maker->state = b;
  return TARN_OK;
}

static void bloom_free(tn_index_maker *maker) {
  tn_free(&maker->env->mem, maker->state);
}

/* Thomas Wang's hash of 64 bits; shifts to the right keep the sign. */
static uint64_t wang(int64_t value) {
  uint64_t k = (uint64_t)value;
  k = ~k + (k << 21);
  k ^= (uint64_t)((int64_t)k >> 24);
  k = k + (k << 3) + (k << 8);
  k ^= (uint64_t)((int64_t)k >> 14);
  k = k + (k << 2) + (k << 4);
  k ^= (uint64_t)((int64_t)k >> 28);
  return k + (k << 31);
}

/* Float.floatToIntBits, Double.doubleToLongBits: one NaN. */
static int64_t float_bits(const tn_index_code *code, double value) {
  if (code->width == 4) {
    float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof(bits));
    return isnan(value) ? 0x7fc00000 : (int64_t)(int32_t)bits;
  }
  uint64_t wide;
  memcpy(&wide, &value, sizeof(wide));
  return isnan(value) ? 0x7ff8000000000000 : (int64_t)wide;
}

static tarn_status bloom_add(tn_index_maker *maker, const tn_datum *value, tarn_error *err) {
  bloom *b = maker->state;
  uint64_t hash;
  int64_t number;
  uint32_t h1, h2;
  if (maker->code.form == TN_INDEX_TEXT) {
    hash = tn_xxh64(value->v.bytes.data, value->v.bytes.len, 0);
  } else if (maker->code.form == TN_INDEX_FLOAT) {
    hash = wang(float_bits(&maker->code, value->v.f64));
  } else {
    TN_TRY(tn_maker_integer(maker, value, &number, err));
    hash = wang(number);
  }
  h1 = (uint32_t)hash;
  h2 = (uint32_t)(hash >> 32);
  for (int32_t i = 1; i <= b->n_hashes; i++) {
    uint32_t h = h1 + (uint32_t)i * h2;
    h = h >> 31 ? ~h : h;
    tn_bit_set(b->bits, (int64_t)(h % (uint32_t)b->n_bits));
  }
  return TARN_OK;
}

static tarn_status bloom_finish(tn_index_maker *maker, tn_buf *out, tarn_error *err) {
  const bloom *b = maker->state;
  TN_TRY(tn_put_i32(out, b->n_hashes, err));
  return tn_buf_append(out, b->bits, (size_t)b->n_bits / 8, err);
}

const tn_maker_kind tn_bloom_maker = {"bloom-filter", bloom_takes, bloom_create, bloom_free,
                                      bloom_add,      NULL,        bloom_finish};

/* ------------------------------------------------------------------ bsi */

/* Rows of the values of one sign: those whose bit i is set, for each i. */
typedef struct slices {
  roaring_bitmap_t *rows, *bits[64];
  uint64_t max;
} slices;

typedef struct bsi {
  slices positive, negative;
} bsi;

static bool bsi_takes(const tn_type *type) {
  return tn_index_code_of(type).form == TN_INDEX_INT && type->root != TN_BOOLEAN;
}

static tarn_status bsi_create(tn_index_maker *maker, tarn_error *err) {
  maker->state = tn_calloc(&maker->env->mem, 1, sizeof(bsi));
  return maker->state != NULL ? TARN_OK : tn_oom(err);
}

static void free_bitmap(roaring_bitmap_t *bitmap) {
  if (bitmap != NULL) {
    roaring_bitmap_free(bitmap);
  }
}

static void free_slices(slices *s) {
  free_bitmap(s->rows);
  for (size_t i = 0; i < TN_COUNT(s->bits); i++) {
    free_bitmap(s->bits[i]);
  }
}

static void bsi_free(tn_index_maker *maker) {
  bsi *b = maker->state;
  if (b != NULL) {
    free_slices(&b->positive);
    free_slices(&b->negative);
    tn_free(&maker->env->mem, b);
  }
}

static tarn_status bsi_add(tn_index_maker *maker, const tn_datum *value, tarn_error *err) {
  bsi *b = maker->state;
  slices *s;
  int64_t number;
  uint64_t bits;
  TN_TRY(tn_maker_integer(maker, value, &number, err));
  if (number == INT64_MIN) {
    return tn_fail(err, TARN_E_INVALID, "column '%s': %lld has no place in a bsi index",
                   maker->spec->name, (long long)number);
  }
  s = number < 0 ? &b->negative : &b->positive;
  bits = (uint64_t)(number < 0 ? -number : number);
  s->max = bits > s->max ? bits : s->max;
  TN_TRY(tn_bitmap_add(&s->rows, maker->n_rows, err));
  for (; bits != 0; bits &= bits - 1) {
    TN_TRY(tn_bitmap_add(&s->bits[__builtin_ctzll(bits)], maker->n_rows, err));
  }
  return TARN_OK;
}

static int32_t bit_width(uint64_t value) {
  return value == 0 ? 0 : 64 - __builtin_clzll(value);
}

static tarn_status put_slices(tn_buf *out, const slices *s, tarn_error *err) {
  int32_t n = bit_width(s->max);
  TN_TRY(tn_put_u8(out, s->rows != NULL, err));
  if (s->rows == NULL) {
    return TARN_OK;
  }
  TN_TRY(tn_put_u8(out, 1, err)); /* version */
  TN_TRY(tn_put_i64(out, 0, err));
  TN_TRY(tn_put_i64(out, (int64_t)s->max, err));
  TN_TRY(tn_put_bitmap(out, s->rows, err));
  TN_TRY(tn_put_i32(out, n, err));
  for (int32_t i = 0; i < n; i++) {
    TN_TRY(tn_put_bitmap(out, s->bits[i], err));
  }
  return TARN_OK;
}

static tarn_status bsi_finish(tn_index_maker *maker, tn_buf *out, tarn_error *err) {
  const bsi *b = maker->state;
  TN_TRY(tn_put_u8(out, 1, err)); /* version */
  TN_TRY(tn_put_i32(out, maker->n_rows, err));
  TN_TRY(put_slices(out, &b->positive, err));
  return put_slices(out, &b->negative, err);
}

const tn_maker_kind tn_bsi_maker = {"bsi",   bsi_takes, bsi_create, bsi_free,
                                    bsi_add, NULL,      bsi_finish};
