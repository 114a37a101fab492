/* builder.c - buffers that grow while rows are decoded, and become a vector's. */
#include "format/avro/builder.h"

#include "base/bytes.h"
#include "column/number_text.h"

/* The builders mirror the vectors that will take their buffers. */
tarn_status tn_avro_column_init(tn_arena *arena, const tn_vec *vec, const char *name,
                                tn_avro_column *c, tarn_error *err) {
  c->type = vec->type;
  c->name = name;
  c->layout = vec->layout;
  c->is_missing = true;
  /* Java keeps up to 18 digits as a long, whose sums it does not check: DECIMAL(3, 1) may hold
   * 199.8. */
  c->decimal_bound = vec->layout != TN_LAYOUT_I128 ? 1
                     : vec->type->precision <= 18  ? (tn_i128)1 << 63
                                                   : tn_power_of_ten(vec->type->precision);
  c->n_children = vec->n_children;
  c->children = tn_arena_calloc(arena, (size_t)vec->n_children, sizeof(tn_avro_column));
  if (c->children == NULL && c->n_children > 0) {
    c->n_children = 0;
    return tn_oom(err);
  }
  for (int32_t i = 0; i < vec->n_children; i++) {
    TN_TRY(tn_avro_column_init(arena, &vec->children[i], name, &c->children[i], err));
  }
  if (vec->layout == TN_LAYOUT_LIST && vec->type->root != TN_ARRAY) {
    c->children[0].is_required = true;
    c->children[0].children[0].is_required = true;
  }
  return TARN_OK;
}

static size_t value_bytes(const tn_avro_column *c, int64_t rows) {
  return c->layout == TN_LAYOUT_BIT ? TN_BITMAP_BYTES(rows)
                                    : (size_t)rows * tn_layout_width(c->layout);
}

static bool has_offsets(const tn_avro_column *c) {
  return c->layout == TN_LAYOUT_BYTES || c->layout == TN_LAYOUT_LIST;
}

static bool has_fixed_values(const tn_avro_column *c) {
  return c->layout <= TN_LAYOUT_I128;
}

void tn_avro_column_drop(tn_avro_column *columns, int32_t n) {
  for (int32_t i = 0; i < n; i++) {
    tn_avro_column *c = &columns[i];
    tn_buffer_release(c->valid);
    tn_buffer_release(c->offsets);
    tn_buffer_release(c->values);
    c->valid = c->offsets = c->values = NULL;
    c->length = c->capacity = c->null_count = 0;
    c->n_bytes = 0;
    tn_avro_column_drop(c->children, c->n_children);
  }
}

/* Buffers of an empty column for that many rows. */
tarn_status tn_avro_column_start(tn_avro_build *build, tn_avro_column *c, int64_t rows) {
  tarn_env *env = build->env;
  tarn_error *err = build->err;
  int64_t nested = rows;
  c->capacity = rows;
  if (has_offsets(c)) {
    TN_TRY(tn_buffer_create(env, (size_t)(rows + 1) * sizeof(int32_t), &c->offsets, err));
    memset(c->offsets->data, 0, sizeof(int32_t));
  }
  if (has_fixed_values(c)) {
    TN_TRY(c->layout == TN_LAYOUT_BIT
               ? tn_buffer_create_zeroed(env, value_bytes(c, rows), &c->values, err)
               : tn_buffer_create(env, value_bytes(c, rows), &c->values, err));
  } else if (c->layout == TN_LAYOUT_BYTES) {
    size_t guess = c->hint_bytes > 0 ? c->hint_bytes : (size_t)rows * 16;
    TN_TRY(tn_buffer_create(env, guess > 64 ? guess : 64, &c->values, err));
  }
  for (int32_t i = 0; i < c->n_children; i++) {
    if (c->children[i].is_missing) {
      continue;
    }
    if (c->layout != TN_LAYOUT_STRUCT) {
      nested = c->children[i].hint_rows > 16 ? c->children[i].hint_rows : 16;
    }
    TN_TRY(tn_avro_column_start(build, &c->children[i], nested));
  }
  return TARN_OK;
}

/* All rows from `from` on are not null until somebody says so. */
static void set_valid(tn_avro_column *c, int64_t from) {
  size_t whole = TN_BITMAP_BYTES(from);
  for (int64_t i = from; i < (int64_t)whole * 8; i++) {
    tn_bit_set(c->valid->data, i);
  }
  memset(c->valid->data + whole, 0xff, TN_BITMAP_BYTES(c->capacity) - whole);
}

/* Room for at least one row more. */
bool tn_avro_column_grow(tn_avro_build *build, tn_avro_column *c) {
  tarn_error *err = build->err;
  int64_t old = c->capacity;
  int64_t rows = old < 16 ? 32 : old * 2;
  tarn_status st = TARN_OK;
  if (rows >= INT32_MAX) {
    build->st = tn_fail(err, TARN_E_LIMIT, "column %s: more than 2^31 values in a batch", c->name);
    return false;
  }
  if (c->offsets != NULL) {
    TN_TRY_TO(failed, tn_buffer_grow(&c->offsets, (size_t)(old + 1) * sizeof(int32_t),
                                     (size_t)(rows + 1) * sizeof(int32_t), err));
  }
  if (has_fixed_values(c)) {
    size_t used = value_bytes(c, old), size = value_bytes(c, rows);
    TN_TRY_TO(failed, tn_buffer_grow(&c->values, used, size, err));
    if (c->layout == TN_LAYOUT_BIT) {
      memset(c->values->data + used, 0, size - used);
    }
  }
  if (c->valid != NULL) {
    TN_TRY_TO(failed, tn_buffer_grow(&c->valid, TN_BITMAP_BYTES(old), TN_BITMAP_BYTES(rows), err));
  }
  c->capacity = rows;
  if (c->valid != NULL) {
    set_valid(c, old);
  }
  return true;
failed:
  build->st = st;
  return false;
}

static bool grow_bytes(tn_avro_build *build, tn_avro_column *c, size_t more) {
  size_t size = c->values->capacity * 2;
  if (c->n_bytes + more > INT32_MAX) {
    build->st =
        tn_fail(build->err, TARN_E_LIMIT, "column %s: more than 2^31 bytes in a batch", c->name);
    return false;
  }
  if (size < c->n_bytes + more) {
    size = c->n_bytes + more;
  }
  build->st = tn_buffer_grow(&c->values, c->n_bytes, size, build->err);
  return build->st == TARN_OK;
}

bool tn_avro_column_bytes(tn_avro_build *build, tn_avro_column *c, const void *bytes, size_t n) {
  if (!tn_avro_column_room(build, c)) {
    return false;
  }
  if (TN_UNLIKELY(n > c->values->capacity - c->n_bytes) && !grow_bytes(build, c, n)) {
    return false;
  }
  if (n > 0) {
    memcpy(c->values->data + c->n_bytes, bytes, n);
  }
  c->n_bytes += n;
  tn_avro_column_offsets(c)[++c->length] = (int32_t)c->n_bytes;
  return true;
}

bool tn_avro_column_null(tn_avro_build *build, tn_avro_column *c) {
  if (c->is_missing) {
    return true;
  }
  if (!tn_avro_column_room(build, c)) {
    return false;
  }
  if (c->valid == NULL) {
    build->st = tn_buffer_create(build->env, TN_BITMAP_BYTES(c->capacity), &c->valid, build->err);
    if (build->st != TARN_OK) {
      return false;
    }
    set_valid(c, 0);
  }
  tn_bit_clear(c->valid->data, c->length);
  c->null_count++;
  if (c->offsets != NULL) {
    tn_avro_column_offsets(c)[c->length + 1] = tn_avro_column_offsets(c)[c->length];
  } else if (c->layout == TN_LAYOUT_STRUCT) {
    for (int32_t i = 0; i < c->n_children; i++) {
      if (!tn_avro_column_null(build, &c->children[i])) {
        return false;
      }
    }
  } else if (c->layout == TN_LAYOUT_FIXED_LIST) {
    build->weight += c->type->length;
    for (int32_t i = 0; i < c->type->length; i++) {
      if (!tn_avro_column_null(build, &c->children[0])) {
        return false;
      }
    }
  } else if (c->layout != TN_LAYOUT_BIT) {
    size_t width = tn_layout_width(c->layout);
    memset(c->values->data + (size_t)c->length * width, 0, width);
  }
  c->length++;
  return true;
}

/* The builder's rows become the vector's; it is empty afterwards. */
tarn_status tn_avro_column_finish(tn_avro_build *build, tn_avro_column *c, int64_t length,
                                  bool allows_const, tn_vec *vec) {
  tarn_error *err = build->err;
  tarn_env *env = build->env;
  if (c->is_missing) {
    tn_vec_reset(env, vec);
    return tn_vec_init_nulls(env, c->type, length, !allows_const, vec, err);
  }
  vec->encoding = TN_VEC_FLAT;
  vec->length = length;
  vec->null_count = c->null_count;
  vec->valid_buffer = c->valid;
  vec->offsets_buffer = c->offsets;
  vec->values_buffer = c->values;
  vec->valid = c->valid != NULL ? c->valid->data : NULL;
  vec->offsets = c->offsets != NULL ? tn_avro_column_offsets(c) : NULL;
  vec->values = c->values != NULL ? c->values->data : NULL;
  c->valid = c->offsets = c->values = NULL;
  c->hint_rows = length;
  c->hint_bytes = c->n_bytes + c->n_bytes / 8;
  c->length = c->capacity = c->null_count = 0;
  c->n_bytes = 0;
  for (int32_t i = 0; i < c->n_children; i++) {
    tn_avro_column *child = &c->children[i];
    int64_t rows = c->layout == TN_LAYOUT_STRUCT ? length
                   : c->layout == TN_LAYOUT_LIST ? vec->offsets[length]
                                                 : length * c->type->length;
    TN_TRY(tn_avro_column_finish(build, child, rows, false, &vec->children[i]));
  }
  return TARN_OK;
}

int64_t tn_avro_column_width(const tn_avro_column *columns, int32_t n, int64_t most) {
  int64_t sum = 0;
  for (int32_t i = 0; i < n && sum < most; i++) {
    const tn_avro_column *c = &columns[i];
    int64_t below =
        c->layout == TN_LAYOUT_LIST ? 4 : tn_avro_column_width(c->children, c->n_children, most);
    if (c->layout == TN_LAYOUT_FIXED_LIST) {
      below *= c->type->length;
    }
    sum += below + (has_fixed_values(c) ? (int64_t)tn_layout_width(c->layout) + 1 : 4);
  }
  return sum;
}
