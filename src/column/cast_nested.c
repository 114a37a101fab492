/* cast_nested.c - ROW, ARRAY and MAP of an old schema as those of the current one.
 *
 * Rule: SchemaEvolutionUtil; spec: datafiles, 7. ROW fields are matched by id, missing ones are
 * null; ARRAY elements and MAP values are cast, keys stay. Offsets and keys are shared, not copied.
 * What lies under a null parent is never cast: it may be anything. Values there become null, but
 * ROWs, ARRAYs and MAPs keep their own validity: a list that turns null would have to be empty.
 */
#include "base/bytes.h"
#include "column/cast_internal.h"
#include "column/vector_parts.h"

/* The elements of live lists. */
static tarn_status live_elements(tarn_env *env, const tn_vec *in, const uint8_t *live,
                                 tn_buffer **buffer, tarn_error *err) {
  const tn_vec *child = &in->children[0];
  *buffer = NULL;
  if (live == NULL) {
    return TARN_OK;  // null lists are empty
  }
  TN_TRY(tn_buffer_create_zeroed(env, TN_BITMAP_BYTES(child->length) + 1, buffer, err));
  for (int64_t i = 0; i < in->length; i++) {
    for (int32_t k = in->offsets[i]; tn_bit_get(live, i) && k < in->offsets[i + 1]; k++) {
      tn_bit_set((*buffer)->data, k);
    }
  }
  return TARN_OK;
}

static tarn_status cast_fields(tarn_env *env, const tn_vec *in, const uint8_t *live,
                               const tn_type *to, const char *column, tn_vec *out,
                               tarn_error *err) {
  for (int32_t i = 0; i < to->n_fields; i++) {
    const tn_type *type = &to->fields[i].type;
    int32_t at = tn_fields_find_id(in->type->fields, in->type->n_fields, to->fields[i].id);
    if (at < 0) {
      TN_TRY(tn_vec_init_nulls(env, type, in->length, true, &out->children[i], err));
    } else {
      TN_TRY(tn_cast_flat(env, &in->children[at], live, type, column, &out->children[i], err));
    }
  }
  return TARN_OK;
}

/* The child of a MAP: pairs of key and value. */
static tarn_status cast_pairs(tarn_env *env, const tn_vec *in, const uint8_t *live,
                              const tn_type *to, const char *column, tn_vec *out, tarn_error *err) {
  out->length = in->length;
  out->null_count = in->null_count;
  out->valid_buffer = tn_buffer_retain(in->valid_buffer);
  tn_vec_set_pointers(out);
  for (int i = 0; i < 2; i++) {
    TN_TRY(tn_cast_flat(env, &in->children[i], live, &to->fields[i].type, column, &out->children[i],
                        err));
  }
  return TARN_OK;
}

static tarn_status cast_list(tarn_env *env, const tn_vec *in, const uint8_t *live,
                             const tn_type *to, const char *column, tn_vec *out, tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_buffer *elements = NULL;
  TN_TRY_TO(done, live_elements(env, in, live, &elements, err));
  const uint8_t *live_child = elements != NULL ? elements->data : NULL;
  if (to->root == TN_MAP) {
    st = cast_pairs(env, &in->children[0], live_child, to, column, &out->children[0], err);
  } else {
    st = tn_cast_flat(env, &in->children[0], live_child, &to->fields[0].type, column,
                      &out->children[0], err);
  }
done:
  tn_buffer_release(elements);
  return st;
}

tarn_status tn_cast_nested(tarn_env *env, const tn_vec *in, const uint8_t *live, const tn_type *to,
                           const char *column, tn_vec *out, tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_buffer *rows = NULL;
  int64_t n_nulls;
  TN_TRY_TO(done, tn_vec_init(env, to, out, err));
  TN_TRY_TO(done, tn_cast_live_rows(env, in, live, &rows, &n_nulls, err));
  const uint8_t *live_rows = rows != NULL ? rows->data : NULL;
  out->length = in->length;
  out->null_count = in->null_count;
  out->valid_buffer = tn_buffer_retain(in->valid_buffer);
  out->offsets_buffer = tn_buffer_retain(in->offsets_buffer);
  tn_vec_set_pointers(out);
  if (to->root == TN_ROW) {
    TN_TRY_TO(done, cast_fields(env, in, live_rows, to, column, out, err));
  } else {  // without an outer mask all ranges are live: those of null lists are empty
    TN_TRY_TO(done, cast_list(env, in, live != NULL ? live_rows : NULL, to, column, out, err));
  }
done:
  tn_buffer_release(rows);
  if (st != TARN_OK) {
    tn_vec_reset(env, out);
  }
  return st;
}
