/* cast.c - which casts there are, and how they run over vectors of any encoding. */
#include "column/cast.h"

#include "base/bytes.h"
#include "column/cast_internal.h"
#include "column/vector_parts.h"

/* ------------------------------------------------------------------ rules */

#define ROOT(root) (1u << (root))
#define BOOLEANS ROOT(TN_BOOLEAN)
#define SECONDS (ROOT(TN_INT) | ROOT(TN_BIGINT)) /* integers that are taken for seconds */
#define INTEGERS (ROOT(TN_TINYINT) | ROOT(TN_SMALLINT) | SECONDS)
#define REALS (ROOT(TN_FLOAT) | ROOT(TN_DOUBLE))
#define DECIMALS ROOT(TN_DECIMAL)
#define NUMBERS (INTEGERS | REALS | DECIMALS)
#define TEXTS (ROOT(TN_CHAR) | ROOT(TN_VARCHAR))
#define BINARIES (ROOT(TN_BINARY) | ROOT(TN_VARBINARY))
#define DATES ROOT(TN_DATE)
#define TIMES ROOT(TN_TIME)
#define TIMESTAMPS (ROOT(TN_TIMESTAMP) | ROOT(TN_TIMESTAMP_LTZ))
#define NESTED (ROOT(TN_ARRAY) | ROOT(TN_MAP) | ROOT(TN_ROW))

/* CastExecutors.resolve(); the first that fits. Equal types and nested ones are not asked for. */
static const struct {
  uint32_t from, to;
  bool only_unbounded; /* to STRING, but not to VARCHAR(n) or CHAR(n) */
  tn_cast_fn run;
} rules[] = {
    {BOOLEANS, NUMBERS, false, tn_cast_boolean_to_number},
    {INTEGERS, BOOLEANS, false, tn_cast_integer_to_boolean},
    {INTEGERS, NUMBERS, false, tn_cast_integer_to_number},
    {SECONDS, TIMESTAMPS, false, tn_cast_integer_to_timestamp},
    {REALS, NUMBERS, false, tn_cast_real_to_number},
    {DECIMALS, NUMBERS, false, tn_cast_decimal_to_number},
    {BOOLEANS | NUMBERS, TEXTS, false, tn_cast_value_to_text},
    {DATES | TIMES | TIMESTAMPS, TEXTS, true, tn_cast_value_to_text},
    {TEXTS, BOOLEANS | NUMBERS | DATES | TIMES | TIMESTAMPS, false, tn_cast_text_to_value},
    {TEXTS, TEXTS, false, tn_cast_text_to_text},
    {TEXTS | BINARIES, BINARIES, false, tn_cast_to_bytes},
    {BINARIES, TEXTS, false, tn_cast_bytes_to_text},
    {DATES, TIMESTAMPS, false, tn_cast_date_to_timestamp},
    {TIMES, TIMESTAMPS, false, tn_cast_time_to_timestamp},
    {TIMESTAMPS, SECONDS | DATES | TIMES | TIMESTAMPS, false, tn_cast_timestamp},
};

static tn_cast_fn find_rule(const tn_type *from, const tn_type *to) {
  for (size_t i = 0; i < TN_COUNT(rules); i++) {
    if ((rules[i].from & ROOT(from->root)) != 0 && (rules[i].to & ROOT(to->root)) != 0) {
      bool is_unbounded = to->root == TN_VARCHAR && to->length == INT32_MAX;
      return rules[i].only_unbounded && !is_unbounded ? NULL : rules[i].run;
    }
  }
  return NULL;
}

bool tn_cast_exists(const tn_type *from, const tn_type *to) {
  if (tn_type_equal(from, to, false)) {
    return true;
  }
  if (from->root != to->root) {
    bool is_text = (ROOT(to->root) & TEXTS) != 0 && (ROOT(from->root) & NESTED) != 0;
    return is_text ? tn_cast_has_text(from) : find_rule(from, to) != NULL;
  }
  switch (from->root) {  // depth: TN_MAX_TYPE_DEPTH
    case TN_ROW:
      for (int32_t i = 0; i < to->n_fields; i++) {
        int32_t at = tn_fields_find_id(from->fields, from->n_fields, to->fields[i].id);
        if (at >= 0 && !tn_cast_exists(&from->fields[at].type, &to->fields[i].type)) {
          return false;
        }
      }
      return true;
    case TN_ARRAY:
      return tn_cast_exists(&from->fields[0].type, &to->fields[0].type);
    case TN_MAP:
      return tn_type_equal(&from->fields[0].type, &to->fields[0].type, false) &&
             tn_cast_exists(&from->fields[1].type, &to->fields[1].type);
    default:
      return find_rule(from, to) != NULL;
  }
}

static tarn_status no_rule(const tn_type *from, const tn_type *to, const char *column,
                           tarn_error *err) {
  return tn_fail(err, TARN_E_UNSUPPORTED, "column %s: there is no cast from %s to %s", column,
                 tn_type_text_of(from).text, tn_type_text_of(to).text);
}

/* ------------------------------------------------------------------ without a cast */

/* Values of the old type are values of the new one, byte for byte. */
static bool is_same_bytes(const tn_type *from, const tn_type *to) {
  if (tn_type_equal(from, to, false)) {
    return true;
  }
  bool widens = from->length <= to->length;
  bool from_binary = (ROOT(from->root) & BINARIES) != 0;
  switch (to->root) {
    case TN_DECIMAL:
      return from->root == TN_DECIMAL && from->scale == to->scale &&
             from->precision <= to->precision;
    case TN_VARCHAR:
      return from_binary || (tn_type_is_string(from) && widens);
    case TN_CHAR:
      return from_binary;
    case TN_VARBINARY:
      return from_binary && widens;
    case TN_TIMESTAMP:
    case TN_TIMESTAMP_LTZ:  // all digits that the layout has
      return from->root == to->root && tn_type_layout(from) == tn_type_layout(to) &&
             tn_timestamp_ticks(from->precision) == tn_timestamp_ticks(to->precision) &&
             to->precision % 3 == 0 && to->precision > 0;
    default:
      return false;
  }
}

static tarn_status share_as(tarn_env *env, const tn_vec *in, const tn_type *to, tn_vec *out,
                            tarn_error *err) {
  TN_TRY(tn_vec_share(env, in, out, err));
  tn_vec_retype(out, to);
  return TARN_OK;
}

/* ------------------------------------------------------------------ flat rows */

tarn_status tn_cast_live_rows(tarn_env *env, const tn_vec *in, const uint8_t *live,
                              tn_buffer **buffer, int64_t *null_count, tarn_error *err) {
  *buffer = NULL;
  *null_count = 0;
  if (live == NULL) {
    *buffer = tn_buffer_retain(in->valid_buffer);
    *null_count = in->null_count;
    return TARN_OK;
  }
  size_t n_bytes = TN_BITMAP_BYTES(in->length);
  TN_TRY(tn_buffer_create_zeroed(env, n_bytes, buffer, err));
  for (size_t i = 0; i < n_bytes; i++) {
    (*buffer)->data[i] = (uint8_t)(live[i] & (in->valid != NULL ? in->valid[i] : 0xff));
  }
  for (int64_t i = 0; i < in->length; i++) {
    *null_count += !tn_bit_get((*buffer)->data, i);
  }
  return TARN_OK;
}

/* A column that is being written row by row. */
typedef struct writer {
  tarn_env *env;
  tn_vec *out;
  size_t used; /* BYTES: of the values */
} writer;

static tarn_status put_null(writer *w, int64_t i, tarn_error *err) {
  tn_vec *out = w->out;
  if (out->valid == NULL) {
    TN_TRY(tn_vec_alloc_valid(w->env, out, true, err));
  }
  tn_bit_clear(out->valid, i);
  out->null_count++;
  size_t width = tn_layout_width(out->layout);
  if (out->layout == TN_LAYOUT_BYTES) {
    out->offsets[i + 1] = (int32_t)w->used;
  } else if (out->layout == TN_LAYOUT_BIT) {
    tn_bit_clear(out->values, i);
  } else {
    memset((uint8_t *)out->values + (size_t)i * width, 0, width);
  }
  return TARN_OK;
}

static tarn_status put_bytes(writer *w, int64_t i, tn_slice bytes, tarn_error *err) {
  tn_vec *out = w->out;
  if (bytes.len > INT32_MAX - w->used) {
    return tn_fail(err, TARN_E_LIMIT, "the texts of one batch pass 2 GiB");
  }
  if (w->used + bytes.len > out->values_buffer->capacity) {
    size_t capacity = 2 * (w->used + bytes.len) + 256;
    TN_TRY(tn_buffer_grow(&out->values_buffer, w->used, capacity, err));
    tn_vec_set_pointers(out);
  }
  if (bytes.len > 0) {
    memcpy((uint8_t *)out->values + w->used, bytes.data, bytes.len);
  }
  w->used += bytes.len;
  out->offsets[i + 1] = (int32_t)w->used;
  return TARN_OK;
}

static tarn_status put_datum(writer *w, int64_t i, const tn_datum *d, tarn_error *err) {
  if (d->is_null) {
    return put_null(w, i, err);
  }
  void *values = w->out->values;
  switch (w->out->layout) {
    case TN_LAYOUT_BIT:
      tn_bit_put(values, i, d->v.boolean);
      break;
    case TN_LAYOUT_I8:
      ((int8_t *)values)[i] = (int8_t)d->v.i64;
      break;
    case TN_LAYOUT_I16:
      ((int16_t *)values)[i] = (int16_t)d->v.i64;
      break;
    case TN_LAYOUT_I32:
      ((int32_t *)values)[i] = (int32_t)d->v.i64;
      break;
    case TN_LAYOUT_I64:
      ((int64_t *)values)[i] = d->v.i64;
      break;
    case TN_LAYOUT_F32:
      ((float *)values)[i] = (float)d->v.f64;
      break;
    case TN_LAYOUT_F64:
      ((double *)values)[i] = d->v.f64;
      break;
    case TN_LAYOUT_I128:
      ((tn_i128 *)values)[i] = d->v.i128;
      break;
    default:
      return put_bytes(w, i, d->v.bytes, err);
  }
  return TARN_OK;
}

#define TEXT_MAX_BYTES ((size_t)INT32_MAX)
#define SCRATCH_BYTES ((size_t)64 << 10) /* kept between values */

/* Row by row: by a rule, or (rule NULL) the texts of nested values. */
static tarn_status cast_rows(tarn_env *env, const tn_vec *in, const uint8_t *live, tn_cast_fn rule,
                             const tn_type *to, tn_vec *out, tarn_error *err) {
  tarn_status st = TARN_OK;
  writer w = {env, out, 0};
  tn_buf bytes;
  tn_arena arena;
  tn_cast cast = {in->type, to, env->zone, &bytes, &arena};
  tn_buf_init(&bytes, &env->mem, TEXT_MAX_BYTES);
  tn_arena_init(&arena, &env->mem, 2 * TEXT_MAX_BYTES);
  TN_TRY_TO(done, tn_vec_alloc(env, out, in->length, (size_t)in->length * 8, err));
  for (int64_t i = 0; i < in->length; i++) {
    bool is_live = (live == NULL || tn_bit_get(live, i)) && !tn_vec_is_null(in, i);
    tn_datum result = {.is_null = !is_live};
    bytes.len = 0;
    if (is_live && rule != NULL) {
      tn_datum value = tn_vec_datum(in, i);
      TN_TRY_TO(done, rule(&cast, &value, &result, err));
    } else if (is_live) {
      TN_TRY_TO(done, tn_cast_put_text(in, i, env->zone, &bytes, err));
      result.v.bytes = tn_buf_slice(&bytes);
    }
    TN_TRY_TO(done, put_datum(&w, i, &result, err));
    if (arena.held_bytes > SCRATCH_BYTES) {
      tn_arena_reset(&arena);
    }
  }
done:
  tn_arena_reset(&arena);
  tn_buf_reset(&bytes);
  return st;
}

static bool is_number_pair(const tn_type *from, const tn_type *to) {
  return (ROOT(from->root) & (INTEGERS | REALS)) != 0 && (ROOT(to->root) & (INTEGERS | REALS)) != 0;
}

/* All rows at once, nulls too; false in *done when there is no such loop. */
static tarn_status cast_numbers(tarn_env *env, const tn_vec *in, const uint8_t *live,
                                const tn_type *to, tn_vec *out, bool *done, tarn_error *err) {
  *done = in->encoding == TN_VEC_FLAT && is_number_pair(in->type, to) &&
          tn_cast_numbers(in->layout, NULL, tn_type_layout(to), NULL, 0);
  if (!*done) {
    return TARN_OK;
  }
  TN_TRY(tn_vec_alloc(env, out, in->length, 0, err));
  TN_TRY(tn_cast_live_rows(env, in, live, &out->valid_buffer, &out->null_count, err));
  tn_vec_set_pointers(out);
  (void)tn_cast_numbers(in->layout, in->values, out->layout, out->values, in->length);
  return TARN_OK;
}

tarn_status tn_cast_flat(tarn_env *env, const tn_vec *in, const uint8_t *live, const tn_type *to,
                         const char *column, tn_vec *out, tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_vec made;
  memset(&made, 0, sizeof(made));
  bool is_done;
  if (is_same_bytes(in->type, to)) {
    TN_TRY_TO(done, share_as(env, in, to, &made, err));
  } else if (in->type->root == to->root && (ROOT(to->root) & NESTED) != 0) {
    TN_TRY_TO(done, tn_cast_nested(env, in, live, to, column, &made, err));
  } else {
    TN_TRY_TO(done, tn_vec_init(env, to, &made, err));
    TN_TRY_TO(done, cast_numbers(env, in, live, to, &made, &is_done, err));
    if (!is_done) {
      tn_cast_fn rule = find_rule(in->type, to);
      if (rule == NULL && !((ROOT(in->type->root) & NESTED) != 0 && tn_type_is_string(to))) {
        st = no_rule(in->type, to, column, err);
        goto done;
      }
      st = cast_rows(env, in, live, rule, to, &made, err);
      if (st != TARN_OK) {
        st = tn_error_context(err, st, "column %s", column);
        goto done;
      }
    }
  }
  tn_vec_reset(env, out);
  tn_vec_move(out, &made);
done:
  tn_vec_reset(env, &made);
  return st;
}

/* ------------------------------------------------------------------ encodings */

/* The dictionary cast once; *out stays empty when that does not do: a value that is perhaps not
 * used has no cast, or becomes null, which dictionaries do not hold. */
static tarn_status cast_dictionary(tarn_env *env, const tn_vec *in, const tn_type *to,
                                   const char *column, tn_vec *out, bool *is_cast,
                                   tarn_error *err) {
  tn_vec values;
  memset(&values, 0, sizeof(values));
  *is_cast = false;
  tarn_status st = tn_cast_flat(env, &in->dictionary->values, NULL, to, column, &values, err);
  if (st == TARN_E_INVALID || (st == TARN_OK && values.null_count > 0)) {
    tn_vec_reset(env, &values);
    return TARN_OK;
  }
  if (st != TARN_OK) {
    return st;
  }
  tn_dictionary *dictionary = NULL;
  TN_TRY(tn_dictionary_create(env, &values, &dictionary, err));
  st = tn_vec_share(env, in, out, err);
  if (st != TARN_OK) {
    tn_dictionary_release(dictionary);
    return st;
  }
  tn_dictionary_release(out->dictionary);
  out->dictionary = dictionary;
  out->type = to;
  out->layout = tn_type_layout(to);
  *is_cast = true;
  return TARN_OK;
}

static tarn_status cast_flattened(tarn_env *env, const tn_vec *in, const tn_type *to,
                                  const char *column, tn_vec *out, tarn_error *err) {
  tn_vec flat;
  memset(&flat, 0, sizeof(flat));
  tarn_status st;
  TN_TRY_TO(done, tn_vec_share(env, in, &flat, err));
  TN_TRY_TO(done, tn_vec_flatten(env, &flat, err));
  TN_TRY_TO(done, tn_cast_flat(env, &flat, NULL, to, column, out, err));
done:
  tn_vec_reset(env, &flat);
  return st;
}

static tarn_status cast_constant(tarn_env *env, const tn_vec *in, const tn_type *to,
                                 const char *column, tn_vec *out, tarn_error *err) {
  tn_vec constant;
  memset(&constant, 0, sizeof(constant));
  if (in->length == 0) {
    return cast_flattened(env, in, to, column, out, err);
  }
  TN_TRY(tn_cast_flat(env, in->constant, NULL, to, column, &constant, err));
  return tn_vec_init_const(env, to, in->length, &constant, out, err);
}

tarn_status tn_cast_vec(tarn_env *env, const tn_vec *in, const tn_type *to, const char *column,
                        tn_vec *out, tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_vec made;
  bool is_cast = false;
  memset(&made, 0, sizeof(made));
  if (!tn_cast_exists(in->type, to)) {
    return no_rule(in->type, to, column, err);
  }
  switch (in->encoding) {
    case TN_VEC_CONST:
      st = cast_constant(env, in, to, column, &made, err);
      break;
    case TN_VEC_DICT:
      if (in->dictionary->values.length <= 2 * in->length + 64) {
        st = cast_dictionary(env, in, to, column, &made, &is_cast, err);
      }
      if (st == TARN_OK && !is_cast) {
        st = cast_flattened(env, in, to, column, &made, err);
      }
      break;
    default:
      st = tn_cast_flat(env, in, NULL, to, column, &made, err);
      break;
  }
  if (st == TARN_OK) {
    tn_vec_reset(env, out);
    tn_vec_move(out, &made);
  }
  tn_vec_reset(env, &made);
  return st;
}

tarn_status tn_cast_datum(tn_arena *arena, const tn_zone *zone, const tn_type *from,
                          const tn_datum *in, const tn_type *to, tn_datum *out, tarn_error *err) {
  memset(out, 0, sizeof(*out));
  if (in->is_null) {
    out->is_null = true;
    return TARN_OK;
  }
  if (tn_type_equal(from, to, false)) {
    return tn_datum_copy(arena, to, in, out) ? TARN_OK : tn_oom(err);
  }
  tn_cast_fn rule = find_rule(from, to);
  if (rule == NULL) {
    return tn_fail(err, TARN_E_UNSUPPORTED, "there is no cast between these types");
  }
  tn_buf bytes;
  tn_datum result = {.is_null = false};
  tn_buf_init(&bytes, arena->mem, TEXT_MAX_BYTES);
  tn_cast cast = {from, to, zone, &bytes, arena};
  tarn_status st = rule(&cast, in, &result, err);
  if (st == TARN_OK && !tn_datum_copy(arena, to, &result, out)) {
    st = tn_oom(err);
  }
  tn_buf_reset(&bytes);
  return st;
}
