/* gather.c - copying rows out of vectors: gather, take, ranges, flattening.
 *
 * Every copy is: resolve the sources once (where are values, codes, validity), then loops over
 * plain arrays. A loop is made for each way to pick rows and each kind of source:
 *
 *   REFS   row refs[i].row of source refs[i].source   (the merge)
 *   ROWS   row rows[i] of the only source             (selections)
 *   RANGE  row begin + i of the only source           (decoding encoded vectors)
 *
 *   PLAIN  all sources are flat
 *   VIEWS  all sources are views (BYTES)
 *   MIXED  anything: tells them apart row by row
 *
 * Bytes are copied in steps of 16 past their end: values lie in buffers with 64 bytes of slack, the
 * copy has 64 bytes of slack, and the next value overwrites what was too much.
 */
#include "base/checked.h"
#include "column/bits.h"
#include "column/vector_parts.h"

typedef struct source {
  const void *values;     /* of the flat vector behind it, or views */
  const int32_t *offsets; /* BYTES; NULL: `values` are views */
  const int32_t *codes;   /* DICT; else NULL */
  const uint8_t *valid;
  uint32_t row_mask;   /* 0 for CONST: every row is row 0 */
  uint32_t valid_mask; /* 0 for CONST and without nulls */
  bool has_nulls;
} source;

typedef enum pick_mode { REFS, ROWS, RANGE } pick_mode;
typedef enum source_kind { PLAIN, VIEWS, MIXED } source_kind;

typedef struct picks {
  pick_mode mode;
  source_kind kind;
  const tn_vec *const *vectors;
  source *sources;
  int32_t n_sources;
  const tn_row_ref *refs;
  const uint32_t *rows;
  int64_t begin;
  int64_t n;
} picks;

#define FEW_SOURCES 32

/* ------------------------------------------------------------------ sources */

/* What stands in where a vector has no buffer: never used as a value, but may be loaded. */
static const TN_ALIGNED(64) uint8_t no_values[64] = {0};
static const uint8_t all_valid[1] = {0xff};

static void resolve(const tn_vec *vec, source *s) {
  const tn_vec *flat = vec->encoding == TN_VEC_CONST  ? vec->constant
                       : vec->encoding == TN_VEC_DICT ? &vec->dictionary->values
                                                      : vec;
  const tn_vec *nulls = vec->encoding == TN_VEC_CONST ? vec->constant : vec;
  s->values = flat->values != NULL ? flat->values : no_values;
  s->offsets = flat->offsets;
  if (flat->layout == TN_LAYOUT_BYTES && flat->encoding == TN_VEC_FLAT && s->offsets == NULL) {
    s->offsets = (const int32_t *)(const void *)no_values; /* no row */
  }
  s->codes = vec->encoding == TN_VEC_DICT ? vec->values : NULL;
  s->row_mask = vec->encoding == TN_VEC_CONST ? 0 : UINT32_MAX;
  s->has_nulls = vec->null_count > 0 && nulls->valid != NULL;
  s->valid = s->has_nulls ? nulls->valid : all_valid;
  s->valid_mask = s->has_nulls ? s->row_mask : 0;
}

static void resolve_all(picks *p) {
  bool all_flat = true, all_views = true;
  for (int32_t i = 0; i < p->n_sources; i++) {
    resolve(p->vectors[i], &p->sources[i]);
    all_flat &= p->vectors[i]->encoding == TN_VEC_FLAT;
    all_views &= p->vectors[i]->encoding == TN_VEC_VIEW;
  }
  p->kind = all_flat ? PLAIN : all_views ? VIEWS : MIXED;
}

static TN_ALWAYS_INLINE const source *pick(const picks *p, pick_mode mode, int64_t i,
                                           uint32_t *row) {
  if (mode == REFS) {
    *row = p->refs[i].row;
    return &p->sources[p->refs[i].source];
  }
  *row = mode == ROWS ? p->rows[i] : (uint32_t)(p->begin + i);
  return p->sources;
}

/* The row of the flat vector behind source s. */
static TN_ALWAYS_INLINE uint32_t flat_row(const source *s, source_kind kind, uint32_t row) {
  if (kind == MIXED) {
    row &= s->row_mask;
    row = s->codes != NULL ? (uint32_t)s->codes[row] : row;
  }
  return row;
}

/* ------------------------------------------------------------------ fixed width */

#define DEFINE_COPY_FIXED(name, type)                                                      \
  static TN_ALWAYS_INLINE void name##_as(const picks *p, pick_mode mode, source_kind kind, \
                                         type *TN_RESTRICT out) {                          \
    for (int64_t i = 0; i < p->n; i++) {                                                   \
      uint32_t row;                                                                        \
      const source *s = pick(p, mode, i, &row);                                            \
      out[i] = ((const type *)s->values)[flat_row(s, kind, row)];                          \
    }                                                                                      \
  }                                                                                        \
  static TN_NOINLINE void name(const picks *p, void *out) {                                \
    switch (p->mode) {                                                                     \
      case REFS:                                                                           \
        if (p->kind == PLAIN) {                                                            \
          name##_as(p, REFS, PLAIN, out);                                                  \
        } else {                                                                           \
          name##_as(p, REFS, MIXED, out);                                                  \
        }                                                                                  \
        break;                                                                             \
      case ROWS:                                                                           \
        if (p->kind == PLAIN) {                                                            \
          name##_as(p, ROWS, PLAIN, out);                                                  \
        } else {                                                                           \
          name##_as(p, ROWS, MIXED, out);                                                  \
        }                                                                                  \
        break;                                                                             \
      case RANGE:                                                                          \
        name##_as(p, RANGE, MIXED, out);                                                   \
        break;                                                                             \
    }                                                                                      \
  }

DEFINE_COPY_FIXED(copy_8, uint8_t)
DEFINE_COPY_FIXED(copy_16, uint16_t)
DEFINE_COPY_FIXED(copy_32, uint32_t)
DEFINE_COPY_FIXED(copy_64, uint64_t)
DEFINE_COPY_FIXED(copy_128, tn_u128)

static void copy_fixed(const picks *p, size_t width, void *out) {
  switch (width) {
    case 1:
      copy_8(p, out);
      break;
    case 2:
      copy_16(p, out);
      break;
    case 4:
      copy_32(p, out);
      break;
    case 8:
      copy_64(p, out);
      break;
    default:
      copy_128(p, out);
      break;
  }
}

/* ------------------------------------------------------------------ bits */

typedef bool (*bit_fn)(const source *s, uint32_t row);

static TN_ALWAYS_INLINE bool value_bit(const source *s, uint32_t row) {
  return tn_bit_get(s->values, flat_row(s, MIXED, row));
}

static TN_ALWAYS_INLINE bool valid_bit(const source *s, uint32_t row) {
  return tn_bit_get(s->valid, row & s->valid_mask);
}

/* Gathers bits into words of 64; returns how many are set. Writes up to 7 bytes past the bitmap:
 * into the slack. */
static TN_ALWAYS_INLINE int64_t copy_bits_as(const picks *p, pick_mode mode, bit_fn bit,
                                             uint8_t *out) {
  int64_t set = 0;
  for (int64_t i = 0; i < p->n; i += 64) {
    int64_t end = p->n - i < 64 ? p->n : i + 64;
    uint64_t word = 0;
    for (int64_t k = i; k < end; k++) {
      uint32_t row;
      const source *s = pick(p, mode, k, &row);
      word |= (uint64_t)bit(s, row) << (k - i);
    }
    tn_store_le64(out + i / 8, word);
    set += __builtin_popcountll(word);
  }
  return set;
}

static TN_NOINLINE void copy_bits(const picks *p, uint8_t *out) {
  switch (p->mode) {
    case REFS:
      copy_bits_as(p, REFS, value_bit, out);
      break;
    case ROWS:
      copy_bits_as(p, ROWS, value_bit, out);
      break;
    case RANGE:
      copy_bits_as(p, RANGE, value_bit, out);
      break;
  }
}

static TN_NOINLINE int64_t copy_valid_bits(const picks *p, uint8_t *out) {
  switch (p->mode) {
    case REFS:
      return copy_bits_as(p, REFS, valid_bit, out);
    case ROWS:
      return copy_bits_as(p, ROWS, valid_bit, out);
    default:
      return copy_bits_as(p, RANGE, valid_bit, out);
  }
}

static tarn_status copy_valid(tarn_env *env, const picks *p, tn_vec *out, tarn_error *err) {
  bool has_nulls = false;
  for (int32_t i = 0; i < p->n_sources; i++) {
    has_nulls |= p->sources[i].has_nulls;
  }
  if (!has_nulls || p->n == 0) {
    return TARN_OK;
  }
  TN_TRY(tn_buffer_create(env, TN_BITMAP_BYTES(p->n), &out->valid_buffer, err));
  out->null_count = p->n - copy_valid_bits(p, out->valid_buffer->data);
  if (out->null_count == 0) {
    tn_buffer_release(out->valid_buffer);
    out->valid_buffer = NULL;
  }
  tn_vec_set_pointers(out);
  return TARN_OK;
}

/* ------------------------------------------------------------------ bytes */

static TN_ALWAYS_INLINE tn_view bytes_at(const source *s, source_kind kind, uint32_t row) {
  tn_view v;
  if (kind == VIEWS) {
    return ((const tn_view *)s->values)[row];
  }
  if (kind == MIXED) {
    if (!valid_bit(s, row)) { /* the code of a null may be outside of an empty dictionary */
      return (tn_view){NULL, 0};
    }
    row = flat_row(s, MIXED, row);
    if (s->offsets == NULL) {
      return ((const tn_view *)s->values)[row];
    }
  }
  v.data = (const uint8_t *)s->values + s->offsets[row];
  v.len = s->offsets[row + 1] - s->offsets[row];
  return v;
}

/* offsets[i + 1]; the total may pass 2^31 - 1, then they are of no use. */
static TN_ALWAYS_INLINE int64_t sum_lengths_as(const picks *p, pick_mode mode, source_kind kind,
                                               int32_t *TN_RESTRICT offsets) {
  int64_t total = 0;
  for (int64_t i = 0; i < p->n; i++) {
    uint32_t row;
    const source *s = pick(p, mode, i, &row);
    total += bytes_at(s, kind, row).len;
    offsets[i + 1] = (int32_t)total;
  }
  return total;
}

static TN_ALWAYS_INLINE void copy_value(uint8_t *to, const uint8_t *from, int64_t len) {
  if (TN_LIKELY(len <= 32)) {
    if (len > 0) {
      tn_u128 a, b;
      memcpy(&a, from, 16);
      memcpy(&b, from + 16, 16);
      memcpy(to, &a, 16);
      memcpy(to + 16, &b, 16);
    }
  } else if (len <= 64) {
    memcpy(to, from, 64);
  } else {
    memcpy(to, from, (size_t)len);
  }
}

static TN_ALWAYS_INLINE void copy_values_as(const picks *p, pick_mode mode, source_kind kind,
                                            uint8_t *out) {
  for (int64_t i = 0; i < p->n; i++) {
    uint32_t row;
    const source *s = pick(p, mode, i, &row);
    tn_view v = bytes_at(s, kind, row);
    copy_value(out, v.data, v.len);
    out += v.len;
  }
}

#define DEFINE_BYTES(mode, kind)                                                         \
  static TN_NOINLINE int64_t lengths_##mode##_##kind(const picks *p, int32_t *offsets) { \
    return sum_lengths_as(p, mode, kind, offsets);                                       \
  }                                                                                      \
  static TN_NOINLINE void values_##mode##_##kind(const picks *p, uint8_t *out) {         \
    copy_values_as(p, mode, kind, out);                                                  \
  }

DEFINE_BYTES(REFS, PLAIN)
DEFINE_BYTES(REFS, VIEWS)
DEFINE_BYTES(REFS, MIXED)
DEFINE_BYTES(ROWS, PLAIN)
DEFINE_BYTES(ROWS, VIEWS)
DEFINE_BYTES(ROWS, MIXED)
DEFINE_BYTES(RANGE, PLAIN)
DEFINE_BYTES(RANGE, VIEWS)
DEFINE_BYTES(RANGE, MIXED)

static const struct bytes_loops {
  int64_t (*lengths)(const picks *p, int32_t *offsets);
  void (*values)(const picks *p, uint8_t *out);
} bytes_loops[3][3] = {[REFS] = {[PLAIN] = {lengths_REFS_PLAIN, values_REFS_PLAIN},
                                 [VIEWS] = {lengths_REFS_VIEWS, values_REFS_VIEWS},
                                 [MIXED] = {lengths_REFS_MIXED, values_REFS_MIXED}},
                       [ROWS] = {[PLAIN] = {lengths_ROWS_PLAIN, values_ROWS_PLAIN},
                                 [VIEWS] = {lengths_ROWS_VIEWS, values_ROWS_VIEWS},
                                 [MIXED] = {lengths_ROWS_MIXED, values_ROWS_MIXED}},
                       [RANGE] = {[PLAIN] = {lengths_RANGE_PLAIN, values_RANGE_PLAIN},
                                  [VIEWS] = {lengths_RANGE_VIEWS, values_RANGE_VIEWS},
                                  [MIXED] = {lengths_RANGE_MIXED, values_RANGE_MIXED}}};

static tarn_status too_long(int64_t total, tarn_error *err) {
  return tn_fail(err, TARN_E_LIMIT,
                 "%lld bytes or elements of one column in a batch: more than the 2147483647 that "
                 "its offsets can count; ask for fewer rows",
                 (long long)total);
}

static tarn_status copy_bytes(tarn_env *env, const picks *p, tn_vec *out, tarn_error *err) {
  const struct bytes_loops *loops = &bytes_loops[p->mode][p->kind];
  int64_t total = loops->lengths(p, out->offsets);
  tn_buffer *values;
  if (total > INT32_MAX) {
    return too_long(total, err);
  }
  TN_TRY(tn_buffer_create(env, (size_t)total, &values, err));
  tn_buffer_release(out->values_buffer);
  out->values_buffer = values;
  tn_vec_set_pointers(out);
  loops->values(p, values->data);
  return TARN_OK;
}

/* ------------------------------------------------------------------ nested */

static tarn_status copy_rows(tarn_env *env, const picks *p, const tn_type *type, tn_layout layout,
                             tn_vec *out, tarn_error *err);

/* The nested vector of source i: the constant itself for CONST. */
static const tn_vec *nested_source(const picks *p, int32_t i) {
  const tn_vec *vec = p->vectors[i];
  return vec->encoding == TN_VEC_CONST ? vec->constant : vec;
}

/* Copy child c of every source, at the rows refs[0..n) of the children. */
static tarn_status copy_child(tarn_env *env, const picks *p, int32_t c, const tn_row_ref *refs,
                              int64_t n, tn_vec *out, tarn_error *err) {
  tarn_status st;
  picks q = {.mode = REFS, .n_sources = p->n_sources, .refs = refs, .n = n};
  const tn_type *type = out->type;
  const tn_vec **children =
      tn_calloc(&env->mem, (size_t)p->n_sources + 1, sizeof(*children) + sizeof(*q.sources));
  if (children == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < p->n_sources; i++) {
    children[i] = &nested_source(p, i)->children[c];
  }
  q.vectors = children;
  q.sources = (source *)(void *)(children + p->n_sources + 1);
  resolve_all(&q);
  tn_vec_reset(env, out);
  st = copy_rows(env, &q, type, p->n_sources > 0 ? children[0]->layout : tn_type_layout(type), out,
                 err);
  tn_free(&env->mem, (void *)children);
  return st;
}

/* The rows of children that the rows picked span: for every row the range row_range() gives. */
static TN_ALWAYS_INLINE void row_range(const tn_vec *vec, uint32_t row, int64_t *begin,
                                       int64_t *end) {
  switch (vec->layout) {
    case TN_LAYOUT_LIST:
      *begin = vec->offsets[row];
      *end = vec->offsets[(size_t)row + 1];
      break;
    case TN_LAYOUT_FIXED_LIST:
      *begin = (int64_t)row * vec->type->length;
      *end = *begin + vec->type->length;
      break;
    default:
      *begin = row;
      *end = *begin + 1;
      break;
  }
}

static tarn_status count_elements(const picks *p, tn_vec *out, int64_t *total, tarn_error *err) {
  *total = 0;
  for (int64_t i = 0; i < p->n; i++) {
    uint32_t row;
    int64_t begin, end;
    int32_t source_index = p->mode == REFS ? (int32_t)p->refs[i].source : 0;
    const source *s = pick(p, p->mode, i, &row);
    row_range(nested_source(p, source_index), row & s->row_mask, &begin, &end);
    *total += end - begin;
    if (out->offsets != NULL) {
      if (*total > INT32_MAX) {
        return too_long(*total, err);
      }
      out->offsets[i + 1] = (int32_t)*total;
    }
    if (end > UINT32_MAX) {
      return too_long(end, err);
    }
  }
  return TARN_OK;
}

static bool has_constants(const picks *p) {
  bool has = false;
  for (int32_t i = 0; i < p->n_sources; i++) {
    has |= p->vectors[i]->encoding == TN_VEC_CONST;
  }
  return has;
}

static tarn_status copy_nested(tarn_env *env, const picks *p, tn_vec *out, tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_buffer *buffer = NULL;
  tn_row_ref *refs;
  int64_t total, at = 0;
  if (out->layout == TN_LAYOUT_STRUCT && p->mode == REFS && !has_constants(p)) {
    for (int32_t c = 0; c < out->n_children && st == TARN_OK; c++) {
      st = copy_child(env, p, c, p->refs, p->n, &out->children[c], err);
    }
    return st;
  }
  TN_TRY(count_elements(p, out, &total, err));
  TN_TRY(tn_buffer_create(env, (size_t)total * sizeof(*refs), &buffer, err));
  refs = (tn_row_ref *)(void *)buffer->data;
  for (int64_t i = 0; i < p->n; i++) {
    uint32_t row;
    int64_t begin, end;
    uint32_t source_index = p->mode == REFS ? p->refs[i].source : 0;
    const source *s = pick(p, p->mode, i, &row);
    row_range(nested_source(p, (int32_t)source_index), row & s->row_mask, &begin, &end);
    for (; begin < end; begin++) {
      refs[at++] = (tn_row_ref){source_index, (uint32_t)begin};
    }
  }
  for (int32_t c = 0; c < out->n_children && st == TARN_OK; c++) {
    st = copy_child(env, p, c, refs, total, &out->children[c], err);
  }
  tn_buffer_release(buffer);
  return st;
}

/* ------------------------------------------------------------------ all layouts */

static tarn_status fill_made(tarn_env *env, const picks *p, tn_vec *made, tarn_error *err) {
  TN_TRY(tn_vec_alloc(env, made, p->n, 0, err));
  TN_TRY(copy_valid(env, p, made, err));
  switch (made->layout) {
    case TN_LAYOUT_BIT:
      copy_bits(p, made->values);
      return TARN_OK;
    case TN_LAYOUT_BYTES:
      return copy_bytes(env, p, made, err);
    case TN_LAYOUT_LIST:
    case TN_LAYOUT_FIXED_LIST:
    case TN_LAYOUT_STRUCT:
      return copy_nested(env, p, made, err);
    default:
      copy_fixed(p, tn_layout_width(made->layout), made->values);
      return TARN_OK;
  }
}

/* Resolved picks into `out`, which is replaced; all zero on failure. */
static tarn_status copy_rows(tarn_env *env, const picks *p, const tn_type *type, tn_layout layout,
                             tn_vec *out, tarn_error *err) {
  tn_vec made;
  tarn_status st = tn_vec_init_as(env, type, layout, &made, err);
  if (st == TARN_OK) {
    st = fill_made(env, p, &made, err);
    if (st != TARN_OK) {
      tn_vec_reset(env, &made);
    }
  }
  tn_vec_reset(env, out);
  if (st == TARN_OK) {
    tn_vec_move(out, &made);
  }
  return st;
}

tarn_status tn_vec_gather(tarn_env *env, const tn_type *type, const tn_vec *const *sources,
                          int32_t n_sources, const tn_row_ref *refs, int64_t n, tn_vec *out,
                          tarn_error *err) {
  tarn_status st;
  source few[FEW_SOURCES];
  picks p = {.mode = REFS, .vectors = sources, .n_sources = n_sources, .refs = refs, .n = n};
  p.sources =
      n_sources <= FEW_SOURCES ? few : tn_calloc(&env->mem, (size_t)n_sources, sizeof(*p.sources));
  if (p.sources == NULL) {
    tn_vec_reset(env, out);
    return tn_oom(err);
  }
  resolve_all(&p);
  st = copy_rows(env, &p, type, tn_type_layout(type), out, err);
  if (p.sources != few) {
    tn_free(&env->mem, p.sources);
  }
  return st;
}

tarn_status tn_vec_take(tarn_env *env, const tn_vec *from, const uint32_t *rows, int64_t n,
                        tn_vec *out, tarn_error *err) {
  source one;
  picks p = {.mode = ROWS, .vectors = &from, .sources = &one, .n_sources = 1, .rows = rows, .n = n};
  resolve_all(&p);
  return copy_rows(env, &p, from->type, from->layout, out, err);
}

/* ------------------------------------------------------------------ ranges */

static tarn_status copy_flat_range(tarn_env *env, const tn_vec *from, int64_t begin, int64_t n,
                                   tn_vec *out, tarn_error *err);

static tarn_status copy_flat_children(tarn_env *env, const tn_vec *from, int64_t begin, int64_t n,
                                      tn_vec *made, tarn_error *err) {
  for (int32_t c = 0; c < from->n_children; c++) {
    TN_TRY(copy_flat_range(env, &from->children[c], begin, n, &made->children[c], err));
  }
  return TARN_OK;
}

static tarn_status fill_flat_range(tarn_env *env, const tn_vec *from, int64_t begin, int64_t n,
                                   tn_vec *made, tarn_error *err) {
  size_t width = tn_layout_width(from->layout);
  int32_t first = from->offsets != NULL ? from->offsets[begin] : 0;
  int32_t last = from->offsets != NULL ? from->offsets[begin + n] : 0;
  TN_TRY(tn_vec_alloc(env, made, n, from->layout == TN_LAYOUT_BYTES ? (size_t)(last - first) : 0,
                      err));
  if (from->null_count > 0 && from->valid != NULL && n > 0) {
    TN_TRY(tn_vec_alloc_valid(env, made, true, err));
    tn_bits_copy(made->valid, from->valid, begin, n);
    made->null_count = n - tn_bits_count(made->valid, n);
  }
  if (made->offsets != NULL && from->offsets != NULL) {
    for (int64_t i = 0; i < n; i++) {
      made->offsets[i + 1] = from->offsets[begin + i + 1] - first;
    }
  }
  switch (from->layout) {
    case TN_LAYOUT_BIT:
      tn_bits_copy(made->values, from->values, begin, n);
      return TARN_OK;
    case TN_LAYOUT_BYTES:
      if (last > first) {
        memcpy(made->values, (const uint8_t *)from->values + first, (size_t)(last - first));
      }
      return TARN_OK;
    case TN_LAYOUT_LIST:
      return copy_flat_children(env, from, first, last - first, made, err);
    case TN_LAYOUT_FIXED_LIST:
      return copy_flat_children(env, from, begin * from->type->length, n * from->type->length, made,
                                err);
    case TN_LAYOUT_STRUCT:
      return copy_flat_children(env, from, begin, n, made, err);
    default:
      if (n > 0) {
        memcpy(made->values, (const uint8_t *)from->values + (size_t)begin * width,
               (size_t)n * width);
      }
      return TARN_OK;
  }
}

static tarn_status copy_flat_range(tarn_env *env, const tn_vec *from, int64_t begin, int64_t n,
                                   tn_vec *out, tarn_error *err) {
  tn_vec made;
  tarn_status st = tn_vec_init_as(env, from->type, from->layout, &made, err);
  if (st == TARN_OK) {
    st = fill_flat_range(env, from, begin, n, &made, err);
    if (st != TARN_OK) {
      tn_vec_reset(env, &made);
    }
  }
  tn_vec_reset(env, out);
  if (st == TARN_OK) {
    tn_vec_move(out, &made);
  }
  return st;
}

tarn_status tn_vec_copy_range(tarn_env *env, const tn_vec *from, int64_t begin, int64_t n,
                              tn_vec *out, tarn_error *err) {
  source one;
  picks p = {.mode = RANGE, .vectors = &from, .sources = &one, .n_sources = 1, .n = n};
  if (begin < 0 || n < 0 || begin > from->length - n) {
    tn_vec_reset(env, out);
    return TN_BUG(err, "range of rows outside of the vector");
  }
  if (from->encoding == TN_VEC_FLAT) {
    return copy_flat_range(env, from, begin, n, out, err);
  }
  p.begin = begin;
  resolve_all(&p);
  return copy_rows(env, &p, from->type, from->layout, out, err);
}

tarn_status tn_vec_flatten(tarn_env *env, tn_vec *vec, tarn_error *err) {
  tn_vec flat;
  if (vec->encoding == TN_VEC_FLAT) {
    return TARN_OK;
  }
  memset(&flat, 0, sizeof(flat));
  TN_TRY(tn_vec_copy_range(env, vec, 0, vec->length, &flat, err));
  tn_vec_reset(env, vec);
  tn_vec_move(vec, &flat);
  return TARN_OK;
}

/* ------------------------------------------------------------------ sizes */

/* Bytes that the rows [begin, end) of a flat vector hold, elements of lists counted as a byte at
 * least: so no offset of a copy is larger than the sum. */
static int64_t range_bytes(const tn_vec *vec, int64_t begin, int64_t end) {
  int64_t n = end - begin, sum = 0;
  switch (vec->layout) {
    case TN_LAYOUT_BIT:
      return n;
    case TN_LAYOUT_BYTES:
      return vec->offsets == NULL ? 0 : vec->offsets[end] - vec->offsets[begin];
    case TN_LAYOUT_LIST:
      if (vec->offsets != NULL) {
        int64_t first = vec->offsets[begin], last = vec->offsets[end];
        sum = last - first + range_bytes(&vec->children[0], first, last);
      }
      return sum;
    case TN_LAYOUT_FIXED_LIST:
      return n * vec->type->length +
             range_bytes(&vec->children[0], begin * vec->type->length, end * vec->type->length);
    case TN_LAYOUT_STRUCT:
      for (int32_t c = 0; c < vec->n_children; c++) {
        sum += range_bytes(&vec->children[c], begin, end);
      }
      return sum;
    default:
      return n * (int64_t)tn_layout_width(vec->layout);
  }
}

int64_t tn_vec_gather_bytes(const tn_vec *const *sources, const tn_row_ref *refs, int64_t n) {
  int64_t sum = 0;
  size_t width = n > 0 ? tn_layout_width(sources[refs[0].source]->layout) : 0;
  if (n > 0 && (width > 0 || sources[refs[0].source]->layout == TN_LAYOUT_BIT)) {
    return n * (int64_t)(width > 0 ? width : 1);
  }
  for (int64_t i = 0; i < n; i++) {
    const tn_vec *vec = sources[refs[i].source];
    uint32_t row = refs[i].row;
    if (vec->encoding == TN_VEC_VIEW) {
      sum += ((const tn_view *)vec->values)[row].len;
    } else if (vec->encoding == TN_VEC_DICT) {
      sum += (int64_t)tn_vec_bytes(vec, row).len;
    } else if (vec->encoding == TN_VEC_CONST) {
      sum += range_bytes(vec->constant, 0, 1);
    } else {
      sum += range_bytes(vec, row, (int64_t)row + 1);
    }
  }
  return sum;
}
