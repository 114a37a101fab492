/* predicate_filter.c - which rows of a batch match, a leaf at a time over whole columns.
 *
 *   F1  The selection is an array of 64-bit words; a leaf only ever clears bits in it. A word that
 *       is zero is not looked at again, so an AND costs little once few rows are left. Bits past
 *       the last row are zero.
 *   F2  Values of fixed layouts become integers whose order is the order of the values; every
 *       comparison is then one test against an interval [low, high], or its opposite.
 *   F3  A dictionary is tested once and its codes are mapped; a constant is tested once.
 *   F4  OR collects in a second array what its parts leave of the rows that are still undecided.
 *
 * Null logic and order: spec, read, 5.
 */
#include "base/bytes.h"
#include "column/predicate_internal.h"

typedef struct filter {
  tarn_env *env;
  const tn_batch *batch;
  tarn_error *err;
} filter;

static size_t words_for(int64_t n_rows) {
  return ((size_t)n_rows + 63) / 64;
}

/* Word w of an Arrow bitmap of n rows; bits past the end are zero. */
static uint64_t load_word(const uint8_t *bits, int64_t w, int64_t n) {
  int64_t left = n - w * 64;
  if (left >= 64) {
    return tn_load_le64(bits + w * 8);
  }
  uint64_t word = 0;
  memcpy(&word, bits + w * 8, TN_BITMAP_BYTES(left));
  return word & (((uint64_t)1 << left) - 1);
}

static bool is_any_set(const uint64_t *words, size_t n_words) {
  for (size_t w = 0; w < n_words; w++) {
    if (words[w] != 0) {
      return true;
    }
  }
  return false;
}

static void clear_all(uint64_t *words, int64_t n) {
  memset(words, 0, words_for(n) * sizeof(*words));
}

static void set_all(uint64_t *words, int64_t n) {
  memset(words, 0xff, words_for(n) * sizeof(*words));
  if (n % 64 != 0) {
    words[n / 64] = ((uint64_t)1 << (n % 64)) - 1;
  }
}

static void keep_valid(const uint8_t *valid, int64_t n, uint64_t *words) {
  for (int64_t w = 0; w < (int64_t)words_for(n); w++) {
    words[w] &= load_word(valid, w, n);
  }
}

/* 64 bytes of 0 or 1 as bits, the first lowest. */
static inline uint64_t pack_bytes(const uint8_t *bytes) {
  uint64_t word = 0;
  for (int i = 0; i < 8; i++) {
    word |= ((tn_load_le64(bytes + 8 * i) * 0x0102040810204080u) >> 56) << (8 * i);
  }
  return word;
}

/* ------------------------------------------------------------------ fixed layouts: intervals */

/* Floats as integers in the order of Double.compare: -0.0 < 0.0, one NaN above everything. */
static inline int32_t key_of_f32(float v) {
  int32_t k;
  memcpy(&k, &v, sizeof(k));
  k = v != v ? 0x7fc00000 : k;
  return k ^ (int32_t)((uint32_t)(k >> 31) >> 1);
}
static inline int64_t key_of_f64(double v) {
  int64_t k;
  memcpy(&k, &v, sizeof(k));
  k = v != v ? 0x7ff8000000000000 : k;
  return k ^ (int64_t)((uint64_t)(k >> 63) >> 1);
}

/* Rows whose key lies within [low, high], or outside of it, stay. low <= high. */
#define DEFINE_KEEP_INTERVAL(name, type, key_type, ukey_type, key)                              \
  static void name(const void *values, int64_t n, tn_i128 low128, tn_i128 high128, bool inside, \
                   uint64_t *words) {                                                           \
    const type *v = values;                                                                     \
    const ukey_type low = (ukey_type)(key_type)low128;                                          \
    const ukey_type span = (ukey_type)((ukey_type)(key_type)high128 - low);                     \
    const uint64_t flip = inside ? 0 : ~(uint64_t)0;                                            \
    for (int64_t w = 0; w * 64 < n; w++) {                                                      \
      if (words[w] == 0) {                                                                      \
        continue;                                                                               \
      }                                                                                         \
      uint8_t hit[64] = {0};                                                                    \
      const type *at = v + w * 64;                                                              \
      if (n - w * 64 >= 64) {                                                                   \
        for (int j = 0; j < 64; j++) {                                                          \
          hit[j] = (ukey_type)((ukey_type)key(at[j]) - low) <= span;                            \
        }                                                                                       \
      } else {                                                                                  \
        for (int j = 0; j < (int)(n - w * 64); j++) {                                           \
          hit[j] = (ukey_type)((ukey_type)key(at[j]) - low) <= span;                            \
        }                                                                                       \
      }                                                                                         \
      words[w] &= pack_bytes(hit) ^ flip;                                                       \
    }                                                                                           \
  }

#define KEY_ITSELF(v) (v)
DEFINE_KEEP_INTERVAL(keep_i8, int8_t, int8_t, uint8_t, KEY_ITSELF)
DEFINE_KEEP_INTERVAL(keep_i16, int16_t, int16_t, uint16_t, KEY_ITSELF)
DEFINE_KEEP_INTERVAL(keep_i32, int32_t, int32_t, uint32_t, KEY_ITSELF)
DEFINE_KEEP_INTERVAL(keep_i64, int64_t, int64_t, uint64_t, KEY_ITSELF)
DEFINE_KEEP_INTERVAL(keep_f32, float, int32_t, uint32_t, key_of_f32)
DEFINE_KEEP_INTERVAL(keep_f64, double, int64_t, uint64_t, key_of_f64)
DEFINE_KEEP_INTERVAL(keep_i128, tn_i128, tn_i128, tn_u128, KEY_ITSELF)

static int64_t key_at_i8(const void *values, int64_t i) {
  return ((const int8_t *)values)[i];
}
static int64_t key_at_i16(const void *values, int64_t i) {
  return ((const int16_t *)values)[i];
}
static int64_t key_at_i32(const void *values, int64_t i) {
  return ((const int32_t *)values)[i];
}
static int64_t key_at_i64(const void *values, int64_t i) {
  return ((const int64_t *)values)[i];
}
static int64_t key_at_f32(const void *values, int64_t i) {
  return key_of_f32(((const float *)values)[i]);
}
static int64_t key_at_f64(const void *values, int64_t i) {
  return key_of_f64(((const double *)values)[i]);
}

#define I128_MAX ((tn_i128)(~(tn_u128)0 >> 1))

static const struct fixed_layout {
  tn_layout layout;
  int key_bits;
  void (*keep)(const void *values, int64_t n, tn_i128 low, tn_i128 high, bool inside,
               uint64_t *words);
  int64_t (*key_at)(const void *values, int64_t i); /* NULL: the key is wider */
} fixed_layouts[] = {
    {TN_LAYOUT_I8, 8, keep_i8, key_at_i8},     {TN_LAYOUT_I16, 16, keep_i16, key_at_i16},
    {TN_LAYOUT_I32, 32, keep_i32, key_at_i32}, {TN_LAYOUT_I64, 64, keep_i64, key_at_i64},
    {TN_LAYOUT_F32, 32, keep_f32, key_at_f32}, {TN_LAYOUT_F64, 64, keep_f64, key_at_f64},
    {TN_LAYOUT_I128, 128, keep_i128, NULL},
};

static const struct fixed_layout *find_fixed_layout(tn_layout layout) {
  for (size_t i = 0; i < TN_COUNT(fixed_layouts); i++) {
    if (fixed_layouts[i].layout == layout) {
      return &fixed_layouts[i];
    }
  }
  return NULL;
}

static tn_i128 key_of_datum(tn_layout layout, const tn_datum *d) {
  switch (layout) {
    case TN_LAYOUT_F32:
      return key_of_f32((float)d->v.f64);
    case TN_LAYOUT_F64:
      return key_of_f64(d->v.f64);
    case TN_LAYOUT_I128:
      return d->v.i128;
    default:
      return d->v.i64;
  }
}

/* The rows that match are those within the interval, or outside of it when is_outside. */
typedef struct interval {
  tn_i128 low, high; /* low > high: empty */
  bool is_outside;
} interval;

/* false: the leaf is no interval (a list of several values). */
static bool interval_of(const tn_pred *leaf, const struct fixed_layout *fixed, interval *out) {
  tn_i128 max = fixed->key_bits == 128 ? I128_MAX : ((tn_i128)1 << (fixed->key_bits - 1)) - 1;
  tn_i128 min = -max - 1;
  tn_i128 a = 0, b = 0;
  if (leaf->op == TN_PRED_IS_NAN || leaf->op == TN_PRED_IS_NOT_NAN) {
    tn_datum nan = {.v.f64 = (double)__builtin_nan("")};
    a = key_of_datum(fixed->layout, &nan);
  } else if (leaf->n_literals > 0) {
    a = key_of_datum(fixed->layout, &leaf->literals[0]);
    b = key_of_datum(fixed->layout, &leaf->literals[leaf->n_literals - 1]);
  }
  *out = (interval){min, max, false};
  switch (leaf->op) {
    case TN_PRED_NE:
    case TN_PRED_IS_NOT_NAN:
      out->is_outside = true;
      out->low = out->high = a;
      break;
    case TN_PRED_EQ:
    case TN_PRED_IS_NAN:
      out->low = out->high = a;
      break;
    case TN_PRED_LE:
      out->high = a;
      break;
    case TN_PRED_GT:  // not within [min, a]: a + 1 might not exist
      out->high = a;
      out->is_outside = true;
      break;
    case TN_PRED_GE:
      out->low = a;
      break;
    case TN_PRED_LT:
      out->low = a;
      out->is_outside = true;
      break;
    case TN_PRED_NOT_BETWEEN:
      out->is_outside = true;
      out->low = a;
      out->high = b;
      break;
    case TN_PRED_BETWEEN:
      out->low = a;
      out->high = b;
      break;
    case TN_PRED_IN:
    case TN_PRED_NOT_IN:
      out->is_outside = leaf->op == TN_PRED_NOT_IN;
      out->low = leaf->n_literals > 0 ? a : 1;
      out->high = leaf->n_literals > 0 ? b : 0;
      /* Distinct integers without a gap are an interval, too. */
      return leaf->n_literals <= 1 || (tn_u128)b - (tn_u128)a == (tn_u128)leaf->n_literals - 1;
    default:
      return false;
  }
  out->low = out->low < min ? min : out->low;
  out->high = out->high > max ? max : out->high;
  return true;
}

/* The integer keys of a long list: sorted, and a bitmap of their hashes that turns most other keys
 * away before they are looked for. */
typedef struct key_set {
  int64_t *keys; /* owned: one block with the bitmap */
  size_t n;
  uint64_t *bitmap;
  int shift; /* of a hash; 64: no bitmap */
} key_set;

static inline uint64_t hash_key(const key_set *set, int64_t key) {
  return ((uint64_t)key * 0x9e3779b97f4a7c15u) >> set->shift;
}

/* The bitmap pays when there are about as many rows as keys. */
static tarn_status key_set_init(const filter *f, const tn_pred *leaf, tn_layout layout,
                                int64_t n_rows, key_set *set) {
  size_t n = (size_t)leaf->n_literals, n_bits = 64;
  int log2 = 6;
  while (n_bits < 16 * n && log2 < 24) {
    n_bits *= 2;
    log2++;
  }
  bool has_bitmap = n > 8 && (size_t)n_rows > n / 4;
  set->n = n;
  set->shift = has_bitmap ? 64 - log2 : 64;
  set->keys = tn_alloc(&f->env->mem, n * sizeof(*set->keys) + (has_bitmap ? n_bits / 8 : 0));
  if (set->keys == NULL) {
    return tn_oom(f->err);
  }
  set->bitmap = (uint64_t *)(set->keys + n);
  if (has_bitmap) {
    memset(set->bitmap, 0, n_bits / 8);
  }
  for (size_t i = 0; i < n; i++) {
    set->keys[i] = (int64_t)key_of_datum(layout, &leaf->literals[i]);
    if (has_bitmap) {
      uint64_t hash = hash_key(set, set->keys[i]);
      set->bitmap[hash / 64] |= (uint64_t)1 << (hash % 64);
    }
  }
  return TARN_OK;
}

/* Binary search without a branch that could be foretold wrongly. */
static inline bool key_set_has(const key_set *set, int64_t key) {
  if (set->shift < 64) {
    uint64_t hash = hash_key(set, key);
    if ((set->bitmap[hash / 64] >> (hash % 64) & 1) == 0) {
      return false;
    }
  }
  const int64_t *base = set->keys;
  for (size_t n = set->n; n > 1;) {
    size_t half = n / 2;
    base = base[half] <= key ? base + half : base;
    n -= half;
  }
  return *base == key;
}

/* IN and NOT_IN with several literals: row by row among those still selected. */
static tarn_status keep_listed(const filter *f, const tn_pred *leaf,
                               const struct fixed_layout *fixed, const tn_vec *vec, int64_t n,
                               uint64_t *words) {
  bool wanted = leaf->op == TN_PRED_IN;
  key_set set = {0};
  if (fixed->key_at != NULL) {
    TN_TRY(key_set_init(f, leaf, fixed->layout, n, &set));
  }
  for (int64_t w = 0; w < (int64_t)words_for(n); w++) {
    for (uint64_t left = words[w]; left != 0; left &= left - 1) {
      int64_t row = w * 64 + __builtin_ctzll(left);
      bool is_listed;
      if (fixed->key_at != NULL) {
        is_listed = key_set_has(&set, fixed->key_at(vec->values, row));
      } else {
        tn_datum value = {.v.i128 = ((const tn_i128 *)vec->values)[row]};
        is_listed = tn_pred_literals_have(leaf, &value);
      }
      if (is_listed != wanted) {
        words[w] &= ~(left & (~left + 1));
      }
    }
  }
  tn_free(&f->env->mem, set.keys);
  return TARN_OK;
}

static tarn_status filter_fixed(const filter *f, const tn_pred *leaf, const tn_vec *vec, int64_t n,
                                uint64_t *words) {
  const struct fixed_layout *fixed = find_fixed_layout(vec->layout);
  interval i;
  if (fixed == NULL) {
    return TN_BUG(f->err, "a predicate on a column of nested values");
  }
  if (!interval_of(leaf, fixed, &i)) {
    return leaf->op == TN_PRED_IN || leaf->op == TN_PRED_NOT_IN
               ? keep_listed(f, leaf, fixed, vec, n, words)
               : TN_BUG(f->err, "a test of texts on a column of another type");
  }
  if (i.low <= i.high) {
    fixed->keep(vec->values, n, i.low, i.high, !i.is_outside, words);
  } else if (!i.is_outside) {
    clear_all(words, n);
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ bits and bytes */

static void filter_bits(const tn_pred *leaf, const tn_vec *vec, int64_t n, uint64_t *words) {
  tn_datum value = {.v.boolean = true};
  uint64_t keep_true = tn_pred_test_datum(leaf, &value) ? ~(uint64_t)0 : 0;
  value.v.boolean = false;
  uint64_t keep_false = tn_pred_test_datum(leaf, &value) ? ~(uint64_t)0 : 0;
  for (int64_t w = 0; w < (int64_t)words_for(n); w++) {
    uint64_t bits = load_word(vec->values, w, n);
    words[w] &= (bits & keep_true) | (~bits & keep_false);
  }
}

static inline tn_slice bytes_at(const tn_vec *vec, int64_t row) {
  if (vec->encoding == TN_VEC_VIEW) {
    const tn_view *view = (const tn_view *)vec->values + row;
    return tn_slice_of(view->data, (size_t)view->len);
  }
  int32_t begin = vec->offsets[row];
  return tn_slice_of((const uint8_t *)vec->values + begin, (size_t)(vec->offsets[row + 1] - begin));
}

static void filter_bytes(const tn_pred *leaf, const tn_vec *vec, int64_t n, uint64_t *words) {
  bool is_equal = leaf->op == TN_PRED_EQ || leaf->op == TN_PRED_NE;
  bool wanted = leaf->op == TN_PRED_EQ;
  tn_slice literal = is_equal ? leaf->literals[0].v.bytes : tn_slice_of(NULL, 0);
  tn_datum value = {.is_null = false};
  for (int64_t w = 0; w < (int64_t)words_for(n); w++) {
    for (uint64_t left = words[w]; left != 0; left &= left - 1) {
      value.v.bytes = bytes_at(vec, w * 64 + __builtin_ctzll(left));
      bool stays = is_equal ? tn_slice_equal(value.v.bytes, literal) == wanted
                            : tn_pred_test_datum(leaf, &value);
      if (!stays) {
        words[w] &= ~(left & (~left + 1));
      }
    }
  }
}

/* ------------------------------------------------------------------ encodings */

static tarn_status filter_vec(const filter *f, const tn_pred *leaf, int32_t step, const tn_vec *vec,
                              int64_t n, uint64_t *words);

static tarn_status filter_constant(const filter *f, const tn_pred *leaf, int32_t step,
                                   const tn_vec *vec, int64_t n, uint64_t *words) {
  uint64_t one = 1;
  TN_TRY(filter_vec(f, leaf, step, vec->constant, 1, &one));
  if (one == 0) {
    clear_all(words, n);
  }
  return TARN_OK;
}

/* A dictionary much larger than the batch is not worth testing as a whole. */
static tarn_status filter_flattened(const filter *f, const tn_pred *leaf, int32_t step,
                                    const tn_vec *vec, int64_t n, uint64_t *words) {
  tn_vec flat;
  memset(&flat, 0, sizeof(flat));
  tarn_status st;
  TN_TRY_TO(done, tn_vec_share(f->env, vec, &flat, f->err));
  TN_TRY_TO(done, tn_vec_flatten(f->env, &flat, f->err));
  TN_TRY_TO(done, filter_vec(f, leaf, step, &flat, n, words));
done:
  tn_vec_reset(f->env, &flat);
  return st;
}

static tarn_status filter_dictionary(const filter *f, const tn_pred *leaf, int32_t step,
                                     const tn_vec *vec, int64_t n, uint64_t *words) {
  const tn_vec *values = &vec->dictionary->values;
  const int32_t *codes = vec->values;
  if (values->length > 4 * n + 64) {
    return filter_flattened(f, leaf, step, vec, n, words);
  }
  size_t n_words = words_for(values->length);
  uint64_t *matches = tn_alloc(&f->env->mem, n_words * 8 + n_words * 64 + 64);
  if (matches == NULL) {
    return tn_oom(f->err);
  }
  uint8_t *table = (uint8_t *)(matches + n_words); /* a byte for each code; at least code 0 */
  set_all(matches, values->length);
  table[0] = 0;
  tarn_status st = filter_vec(f, leaf, step, values, values->length, matches);
  for (int64_t i = 0; i < values->length && st == TARN_OK; i++) {
    table[i] = (matches[i >> 6] >> (i & 63)) & 1;
  }
  for (int64_t w = 0; w < (int64_t)words_for(n) && st == TARN_OK; w++) {
    if (words[w] != 0) {
      uint8_t hit[64] = {0};
      int64_t end = n - w * 64 < 64 ? n - w * 64 : 64;
      for (int64_t j = 0; j < end; j++) {
        hit[j] = table[codes[w * 64 + j]];
      }
      words[w] &= pack_bytes(hit);
    }
  }
  tn_free(&f->env->mem, matches);
  return st;
}

/* ------------------------------------------------------------------ leaves */

/* Is the vector of the type that the leaf's literals have? */
static bool has_leafs_type(const tn_pred *leaf, const tn_vec *vec) {
  const tn_type *a = &leaf->type, *b = vec->type;
  if (tn_type_layout(a) != vec->layout) {
    return false;
  }
  switch (a->root) {
    case TN_DECIMAL:
      return b->root == TN_DECIMAL && a->scale == b->scale;
    case TN_TIMESTAMP:
    case TN_TIMESTAMP_LTZ:
      return a->root == b->root &&
             tn_timestamp_ticks(a->precision) == tn_timestamp_ticks(b->precision);
    default:
      return true;
  }
}

/* Steps into nested ROWs from `step` on, then tests. IS_NULL does not come here. */
static tarn_status filter_vec(const filter *f, const tn_pred *leaf, int32_t step, const tn_vec *vec,
                              int64_t n, uint64_t *words) {
  if (vec->encoding == TN_VEC_CONST) {
    return filter_constant(f, leaf, step, vec, n, words);
  }
  if (vec->valid != NULL) {
    keep_valid(vec->valid, n, words);
  }
  bool at_end = step == leaf->n_path;
  if (at_end && leaf->op == TN_PRED_IS_NOT_NULL) {
    return TARN_OK;
  }
  if (vec->encoding == TN_VEC_DICT) {
    return filter_dictionary(f, leaf, step, vec, n, words);
  }
  if (!at_end) {
    int32_t child =
        vec->type->root == TN_ROW
            ? tn_fields_find_id(vec->type->fields, vec->type->n_fields, leaf->path[step])
            : -1;
    if (child < 0 || child >= vec->n_children) {
      return tn_fail(f->err, TARN_E_INTERNAL, "predicate on %s: the batch has no such field",
                     leaf->name);
    }
    return filter_vec(f, leaf, step + 1, &vec->children[child], n, words);
  }
  if (!has_leafs_type(leaf, vec)) {
    return tn_fail(f->err, TARN_E_INTERNAL, "predicate on %s: the batch has another type",
                   leaf->name);
  }
  if (vec->layout == TN_LAYOUT_BIT) {
    filter_bits(leaf, vec, n, words);
  } else if (vec->layout == TN_LAYOUT_BYTES) {
    filter_bytes(leaf, vec, n, words);
  } else {
    return filter_fixed(f, leaf, vec, n, words);
  }
  return TARN_OK;
}

/* Never true, whatever the value: a null literal where it counts. */
static bool is_never(const tn_pred *leaf) {
  return leaf->has_null_literal && leaf->op != TN_PRED_IN;
}

static tarn_status filter_leaf(const filter *f, const tn_pred *leaf, uint64_t *words) {
  int64_t n = f->batch->n_rows;
  int32_t at = tn_fields_find_id(f->batch->fields, f->batch->n_columns, leaf->field_id);
  if (at < 0) {
    return tn_fail(f->err, TARN_E_INTERNAL, "predicate on %s: the batch lacks the column",
                   leaf->name);
  }
  const tn_vec *vec = &f->batch->columns[at];
  if (is_never(leaf)) {
    clear_all(words, n);
    return TARN_OK;
  }
  if (leaf->op != TN_PRED_IS_NULL) {
    return filter_vec(f, leaf, 0, vec, n, words);
  }
  /* Null anywhere on the path is null: the rows that "is not null" leaves are those to clear. */
  tn_pred opposite = *leaf;
  opposite.op = TN_PRED_IS_NOT_NULL;
  size_t n_words = words_for(n);
  uint64_t *present = tn_alloc(&f->env->mem, n_words * 8);
  if (present == NULL) {
    return tn_oom(f->err);
  }
  memcpy(present, words, n_words * 8);
  tarn_status st = filter_vec(f, &opposite, 0, vec, n, present);
  for (size_t w = 0; w < n_words; w++) {
    words[w] &= ~present[w];
  }
  tn_free(&f->env->mem, present);
  return st;
}

static tarn_status filter_node(const filter *f, const tn_pred *pred, uint64_t *words);

static tarn_status filter_or(const filter *f, const tn_pred *pred, uint64_t *words) {
  size_t n_words = words_for(f->batch->n_rows);
  uint64_t *found = tn_calloc(&f->env->mem, 2 * n_words, 8);
  if (found == NULL) {
    return tn_oom(f->err);
  }
  uint64_t *part = found + n_words;
  tarn_status st = TARN_OK;
  for (int32_t i = 0; i < pred->n_children && st == TARN_OK; i++) {
    uint64_t undecided = 0;
    for (size_t w = 0; w < n_words; w++) {
      part[w] = words[w] & ~found[w];
      undecided |= part[w];
    }
    if (undecided == 0) {
      break;
    }
    st = filter_node(f, pred->children[i], part);
    for (size_t w = 0; w < n_words; w++) {
      found[w] |= part[w];
    }
  }
  memcpy(words, found, n_words * 8);
  tn_free(&f->env->mem, found);
  return st;
}

static tarn_status filter_node(const filter *f, const tn_pred *pred, uint64_t *words) {
  size_t n_words = words_for(f->batch->n_rows);
  switch (pred->op) {
    case TN_PRED_TRUE:
      return TARN_OK;
    case TN_PRED_FALSE:
      clear_all(words, f->batch->n_rows);
      return TARN_OK;
    case TN_PRED_OR:
      return filter_or(f, pred, words);
    case TN_PRED_AND:
      for (int32_t i = 0; i < pred->n_children && is_any_set(words, n_words); i++) {
        TN_TRY(filter_node(f, pred->children[i], words));  // depth: TN_PRED_MAX_DEPTH
      }
      return TARN_OK;
    default:
      return filter_leaf(f, pred, words);
  }
}

tarn_status tn_pred_filter(tarn_env *env, const tn_pred *pred, const tn_batch *batch,
                           uint8_t *selected, tarn_error *err) {
  filter f = {env, batch, err};
  int64_t n = batch->n_rows;
  size_t n_words = words_for(n);
  if (n == 0) {
    return TARN_OK;
  }
  uint64_t *words = tn_alloc(&env->mem, n_words * 8);
  if (words == NULL) {
    return tn_oom(err);
  }
  for (size_t w = 0; w < n_words; w++) {
    words[w] = load_word(selected, (int64_t)w, n);
  }
  tarn_status st = filter_node(&f, pred, words);
  if (st == TARN_OK) {
    memcpy(selected, words, TN_BITMAP_BYTES(n));
  }
  tn_free(&env->mem, words);
  return st;
}

tarn_status tn_pred_pick(tarn_env *env, const tn_pred *pred, const tn_batch *batch,
                         int64_t max_rows, tn_row_pick *out, tarn_error *err) {
  size_t n_bytes = TN_BITMAP_BYTES(batch->n_rows);
  uint8_t *selected = tn_alloc(&env->mem, n_bytes + 8);
  tarn_status st = TARN_OK;
  out->n = 0;
  out->rows = tn_calloc(&env->mem, (size_t)batch->n_rows, sizeof(*out->rows));
  if (selected == NULL || out->rows == NULL) {
    st = tn_oom(err);
    goto done;
  }
  memset(selected, 0xFF, n_bytes);
  if (pred != NULL) {
    TN_TRY_TO(done, tn_pred_filter(env, pred, batch, selected, err));
  }
  for (int64_t i = 0; i < batch->n_rows && out->n != max_rows; i++) {
    if (tn_bit_get(selected, i)) {
      out->rows[out->n++] = (uint32_t)i;
    }
  }
done:
  tn_free(&env->mem, selected);
  if (st != TARN_OK) {
    tn_free(&env->mem, out->rows);
    out->rows = NULL;
  }
  return st;
}
