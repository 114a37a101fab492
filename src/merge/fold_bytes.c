/* fold_bytes.c - the loop over groups and steps around stored sets. */
#include "merge/fold_bytes.h"

#include "base/bytes.h"

typedef enum form { NONE, RAW, SET } form;

/* The accumulator. */
typedef struct accumulator {
  const tn_fold_input *in;
  const tn_stored_set_ops *ops;
  form form;
  tn_slice raw;
  void *set;
} accumulator;

static tarn_status unite(accumulator *acc, tn_slice value, bool is_reversed, tarn_error *err) {
  tarn_env *env = acc->in->env;
  tarn_status st = TARN_OK;
  if (acc->form == NONE) {
    acc->form = RAW;
    acc->raw = value;
    return TARN_OK;
  }
  if (acc->form == RAW) {
    acc->form = SET;
    st = acc->ops->load(acc->set, env, acc->raw, err);
  }
  if (st == TARN_OK) {
    st = acc->ops->unite(acc->set, env, value, is_reversed, err);
  }
  return st != TARN_OK ? tn_error_context(err, st, "%s", acc->ops->what) : TARN_OK;
}

static tarn_status take_step(accumulator *acc, tn_fold_op op, tn_row_ref ref, tarn_error *err) {
  const tn_fold_spec *spec = acc->in->spec;
  const tn_vec *vec = acc->in->sources[ref.source];
  bool is_null = tn_vec_is_null(vec, ref.row);
  if (op == TN_FOLD_RETRACT) {
    return spec->ignores_retract ? TARN_OK : tn_fold_refuse_retract(spec, err);
  }
  if (op == TN_FOLD_SET) {
    acc->form = NONE;
  }
  return is_null ? TARN_OK
                 : unite(acc, tn_vec_bytes(vec, ref.row), op == TN_FOLD_ADD_REVERSED, err);
}

static tarn_status close_group(accumulator *acc, int64_t g, tn_buf *bytes, tn_vec *out,
                               tarn_error *err) {
  if (acc->form == RAW) {
    TN_TRY(tn_buf_append(bytes, acc->raw.data, acc->raw.len, err));
  } else if (acc->form == SET) {
    TN_TRY(acc->ops->store(acc->set, bytes, err));
  } else {
    tn_bit_clear(out->valid, g);
    out->null_count++;
  }
  out->offsets[g + 1] = (int32_t)bytes->len;
  return TARN_OK;
}

static tarn_status fold_groups(accumulator *acc, const tn_fold_steps *steps, tn_buf *bytes,
                               tn_vec *out, tarn_error *err) {
  for (int64_t g = 0; g < steps->n_groups; g++) {
    acc->form = NONE;
    for (uint32_t i = steps->groups[g]; i < steps->groups[g + 1]; i++) {
      tn_fold_op op = steps->ops != NULL ? (tn_fold_op)steps->ops[i] : TN_FOLD_ADD;
      TN_TRY(take_step(acc, op, steps->rows[i], err));
    }
    TN_TRY(close_group(acc, g, bytes, out, err));
  }
  return TARN_OK;
}

tarn_status tn_fold_stored_sets(const tn_fold_input *in, const tn_fold_steps *steps,
                                const tn_stored_set_ops *ops, tn_vec *out, tarn_error *err) {
  tarn_env *env = in->env;
  tarn_status st;
  tn_buf bytes;
  accumulator acc = {.in = in, .ops = ops};
  tn_buf_init(&bytes, &env->mem, INT32_MAX);
  tn_vec_reset(env, out);
  acc.set = tn_calloc(&env->mem, 1, ops->n_bytes);
  if (acc.set == NULL) {
    return tn_oom(err);
  }
  TN_TRY_TO(done, tn_vec_init(env, &in->spec->field->type, out, err));
  TN_TRY_TO(done, tn_vec_alloc(env, out, steps->n_groups, 0, err));
  TN_TRY_TO(done, tn_vec_alloc_valid(env, out, true, err));
  TN_TRY_TO(done, fold_groups(&acc, steps, &bytes, out, err));
  tn_buffer_release(out->values_buffer);
  out->values_buffer = NULL;
  out->values = NULL;
  TN_TRY_TO(done, tn_buffer_create(env, bytes.len, &out->values_buffer, err));
  out->values = out->values_buffer->data;
  if (bytes.len > 0) {
    memcpy(out->values, bytes.data, bytes.len);
  }
  if (out->null_count == 0) {
    tn_buffer_release(out->valid_buffer);
    out->valid_buffer = NULL;
    out->valid = NULL;
  }
done:
  ops->reset(acc.set, env);
  tn_free(&env->mem, acc.set);
  tn_buf_reset(&bytes);
  if (st != TARN_OK) {
    tn_vec_reset(env, out);
  }
  return st;
}

tarn_status tn_fold_check_varbinary(const tn_fold_spec *spec, const char *what, tarn_error *err) {
  const tn_type *type = &spec->field->type;
  if (type->root != TN_VARBINARY) {
    return tn_fail(err, TARN_E_INVALID,
                   "Data type for %s column must be 'VarBinaryType' but was '%s'.", what,
                   tn_type_text_of(type).text);
  }
  return TARN_OK;
}
