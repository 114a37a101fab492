/* equal.c - values of any type compared and hashed where they lie. Recursion follows the nesting of
 * the type (TN_MAX_TYPE_DEPTH). */
#include "column/equal.h"

#include "base/bytes.h"
#include "base/map.h"

#define HASH_OF_NULL UINT64_C(0x9AE16A3B2F90404F)

uint64_t tn_hash_join(uint64_t h, uint64_t next) {
  uint64_t both[2] = {h, next};
  return tn_hash_bytes(both, sizeof(both));
}

/* The flat vector and row behind a row of any encoding but views. */
static const tn_vec *flat_row(const tn_vec *vec, int64_t *row) {
  if (vec->encoding == TN_VEC_CONST) {
    *row = 0;
    return vec->constant;
  }
  if (vec->encoding == TN_VEC_DICT) {
    *row = ((const int32_t *)vec->values)[*row];
    return &vec->dictionary->values;
  }
  return vec;
}

/* The value of a fixed layout in 16 bytes, one form for each value: all NaNs are one. */
static tn_u128 fixed_value(const tn_vec *vec, int64_t row) {
  tn_u128 v = 0;
  size_t width = tn_layout_width(vec->layout);
  if (vec->layout == TN_LAYOUT_BIT) {
    return tn_bit_get(vec->values, row);
  }
  if (vec->layout == TN_LAYOUT_F32) {
    float f = ((const float *)vec->values)[row];
    if (f != f) {
      return UINT32_C(0x7FC00000);
    }
  } else if (vec->layout == TN_LAYOUT_F64) {
    double d = ((const double *)vec->values)[row];
    if (d != d) {
      return UINT64_C(0x7FF8000000000000);
    }
  }
  memcpy(&v, (const uint8_t *)vec->values + (size_t)row * width, width);
  return v;
}

/* Where the elements of a row of a list lie in child 0. */
static void list_range(const tn_vec *vec, int64_t row, int64_t *begin, int64_t *n) {
  if (vec->layout == TN_LAYOUT_LIST) {
    *begin = vec->offsets[row];
    *n = vec->offsets[row + 1] - *begin;
  } else {
    *n = vec->type->length;
    *begin = row * *n;
  }
}

static bool is_map(const tn_vec *vec) {
  return vec->layout == TN_LAYOUT_LIST && vec->type->root != TN_ARRAY;
}

/* ------------------------------------------------------------------ hash */

uint64_t tn_vec_row_hash(const tn_vec *vec, int64_t row) {
  uint64_t h = 0;
  int64_t begin, n;
  if (tn_vec_is_null(vec, row)) {
    return HASH_OF_NULL;
  }
  if (vec->layout == TN_LAYOUT_BYTES) {
    tn_slice bytes = tn_vec_bytes(vec, row);
    return tn_hash_bytes(bytes.data, bytes.len);
  }
  vec = flat_row(vec, &row);
  switch (vec->layout) {
    case TN_LAYOUT_LIST:
    case TN_LAYOUT_FIXED_LIST:
      list_range(vec, row, &begin, &n);
      for (int64_t i = begin; i < begin + n; i++) {
        uint64_t next = tn_vec_row_hash(&vec->children[0], i);
        h = is_map(vec) ? h + next : tn_hash_join(h, next);
      }
      return tn_hash_join(h, (uint64_t)n);
    case TN_LAYOUT_STRUCT:
      for (int32_t c = 0; c < vec->n_children; c++) {
        h = tn_hash_join(h, tn_vec_row_hash(&vec->children[c], row));
      }
      return h;
    default: {
      tn_u128 v = fixed_value(vec, row);
      return tn_hash_bytes(&v, sizeof(v));
    }
  }
}

/* ------------------------------------------------------------------ maps */

/* Entries of a map as a bag: entries that are the same are counted in one place. */
typedef struct bag_entry {
  uint64_t hash;
  int64_t row;
  int64_t count; /* 0: the place is free */
} bag_entry;

/* The place of an entry that is the same as row `row` of `entries`, or the free one for it. */
static tarn_status bag_find(tn_mem *mem, bag_entry *bag, size_t mask, const tn_vec *bag_entries,
                            const tn_vec *entries, int64_t row, uint64_t hash, bag_entry **place,
                            tarn_error *err) {
  for (size_t at = (size_t)hash & mask;; at = (at + 1) & mask) {
    bool is_equal = false;
    *place = &bag[at];
    if (bag[at].count == 0) {
      return TARN_OK;
    }
    if (bag[at].hash == hash) {
      TN_TRY(tn_vec_rows_equal(mem, bag_entries, bag[at].row, entries, row, &is_equal, err));
    }
    if (is_equal) {
      return TARN_OK;
    }
  }
}

/* Do n entries from i on and from k on hold the same, in whatever order? */
static tarn_status same_bags(tn_mem *mem, const tn_vec *a, int64_t i, const tn_vec *b, int64_t k,
                             int64_t n, bool *is_equal, tarn_error *err) {
  tarn_status st = TARN_OK;
  size_t n_places = 16;
  bag_entry *bag, *place;
  while (n_places < (size_t)n * 2) {
    n_places *= 2;
  }
  bag = tn_calloc(mem, n_places, sizeof(*bag));
  if (bag == NULL) {
    return tn_oom(err);
  }
  for (int64_t e = k; e < k + n; e++) {
    uint64_t hash = tn_vec_row_hash(b, e);
    TN_TRY_TO(done, bag_find(mem, bag, n_places - 1, b, b, e, hash, &place, err));
    *place = (bag_entry){hash, place->count > 0 ? place->row : e, place->count + 1};
  }
  /* Counts go below one, not to zero, so that places stay taken: 1 stands for none left. */
  for (size_t at = 0; at < n_places; at++) {
    bag[at].count += bag[at].count > 0;
  }
  *is_equal = true;
  for (int64_t e = i; e < i + n && *is_equal; e++) {
    TN_TRY_TO(done, bag_find(mem, bag, n_places - 1, b, a, e, tn_vec_row_hash(a, e), &place, err));
    *is_equal = place->count > 1;
    place->count--;
  }
done:
  tn_free(mem, bag);
  return st;
}

/* ------------------------------------------------------------------ equal */

static tarn_status lists_equal(tn_mem *mem, const tn_vec *a, int64_t i, const tn_vec *b, int64_t k,
                               bool *is_equal, tarn_error *err) {
  int64_t begin_a, begin_b, n_a, n_b;
  list_range(a, i, &begin_a, &n_a);
  list_range(b, k, &begin_b, &n_b);
  *is_equal = n_a == n_b;
  for (int64_t e = 0; e < n_a && *is_equal; e++) {
    TN_TRY(tn_vec_rows_equal(mem, &a->children[0], begin_a + e, &b->children[0], begin_b + e,
                             is_equal, err));
    if (!*is_equal && is_map(a)) {
      return same_bags(mem, &a->children[0], begin_a + e, &b->children[0], begin_b + e, n_a - e,
                       is_equal, err);
    }
  }
  return TARN_OK;
}

tarn_status tn_vec_rows_equal(tn_mem *mem, const tn_vec *a, int64_t i, const tn_vec *b, int64_t k,
                              bool *is_equal, tarn_error *err) {
  bool is_null = tn_vec_is_null(a, i);
  *is_equal = is_null == tn_vec_is_null(b, k);
  if (is_null || !*is_equal) {
    return TARN_OK;
  }
  if (a->layout == TN_LAYOUT_BYTES) {
    *is_equal = tn_slice_equal(tn_vec_bytes(a, i), tn_vec_bytes(b, k));
    return TARN_OK;
  }
  a = flat_row(a, &i);
  b = flat_row(b, &k);
  switch (a->layout) {
    case TN_LAYOUT_LIST:
    case TN_LAYOUT_FIXED_LIST:
      return lists_equal(mem, a, i, b, k, is_equal, err);
    case TN_LAYOUT_STRUCT:
      for (int32_t c = 0; c < a->n_children && *is_equal; c++) {
        TN_TRY(tn_vec_rows_equal(mem, &a->children[c], i, &b->children[c], k, is_equal, err));
      }
      return TARN_OK;
    default:
      *is_equal = fixed_value(a, i) == fixed_value(b, k);
      return TARN_OK;
  }
}
