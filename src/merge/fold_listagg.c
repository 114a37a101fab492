/* fold_listagg.c - listagg: strings joined with a delimiter.
 *
 * The accumulator is the end of one growing buffer that holds the results of all groups. With
 * `distinct`, tokens of the input that are empty or already among the accumulator's are left out;
 * the accumulator itself is not cleaned. Its tokens are kept in a hash table.
 *
 * Rule: FieldListaggAgg (1.4.2: only the empty string is skipped); spec: merge-engines, 6.
 */
#include <string.h>

#include "base/bytes.h"
#include "base/map.h"
#include "merge/fold_functions.h"

#define MAX_BYTES INT32_MAX

typedef struct token {
  uint32_t begin, len; /* in the buffer */
  uint32_t hash;
} token;

typedef struct listing {
  const tn_fold_input *in;
  tn_slice delimiter;
  tn_buf bytes;
  size_t begin; /* of the accumulator */
  bool is_null;
  /* The accumulator's tokens, open addressing; len 0: free. Valid if has_tokens. */
  token *tokens;
  size_t n_slots, n_tokens;
  bool has_tokens;
} listing;

static tarn_status put(listing *l, tn_slice bytes, tarn_error *err) {
  return tn_buf_append(&l->bytes, bytes.data, bytes.len, err);
}

/* ------------------------------------------------------------------ tokens */

/* The next token of a text; false at its end. An empty delimiter is a blank, as in Java. */
static bool next_token(tn_slice *rest, tn_slice delimiter, tn_slice *out) {
  size_t at = 0;
  if (rest->data == NULL) {
    return false;
  }
  while (at + delimiter.len <= rest->len &&
         memcmp(rest->data + at, delimiter.data, delimiter.len) != 0) {
    at++;
  }
  if (at + delimiter.len > rest->len) {
    *out = *rest;
    *rest = (tn_slice){NULL, 0};
  } else {
    *out = tn_slice_of(rest->data, at);
    *rest = tn_slice_of(rest->data + at + delimiter.len, rest->len - at - delimiter.len);
  }
  return true;
}

static tn_slice split_by(const listing *l) {
  return l->delimiter.len > 0 ? l->delimiter : tn_slice_text(" ");
}

/* The slot of a token, or a free one. */
static token *find_slot(const listing *l, tn_slice text, uint32_t hash) {
  size_t at = hash & (l->n_slots - 1);
  while (l->tokens[at].len > 0) {
    const token *t = &l->tokens[at];
    if (t->hash == hash && tn_slice_equal(tn_slice_of(l->bytes.data + t->begin, t->len), text)) {
      break;
    }
    at = (at + 1) & (l->n_slots - 1);
  }
  return &l->tokens[at];
}

static tarn_status grow_tokens(listing *l, tarn_error *err) {
  token *old = l->tokens;
  size_t n_old = l->n_slots;
  token *more = tn_calloc(&l->in->env->mem, n_old > 0 ? n_old * 2 : 64, sizeof(*more));
  if (more == NULL) {
    return tn_oom(err);
  }
  l->tokens = more;
  l->n_slots = n_old > 0 ? n_old * 2 : 64;
  for (size_t i = 0; i < n_old; i++) {
    if (old[i].len > 0) {
      tn_slice text = tn_slice_of(l->bytes.data + old[i].begin, old[i].len);
      *find_slot(l, text, old[i].hash) = old[i];
    }
  }
  tn_free(&l->in->env->mem, old);
  return TARN_OK;
}

/* Note a token that lies in the buffer. */
static tarn_status note_token(listing *l, tn_slice text, tarn_error *err) {
  uint32_t hash = (uint32_t)tn_hash_bytes(text.data, text.len);
  token *slot;
  if (text.len == 0) {
    return TARN_OK;
  }
  if (l->n_tokens * 2 >= l->n_slots) {
    TN_TRY(grow_tokens(l, err));
  }
  slot = find_slot(l, text, hash);
  l->n_tokens += slot->len == 0;
  *slot = (token){(uint32_t)(text.data - l->bytes.data), (uint32_t)text.len, hash};
  return TARN_OK;
}

static tarn_status note_tokens(listing *l, tarn_error *err) {
  tn_slice rest = tn_slice_of(l->bytes.data + l->begin, l->bytes.len - l->begin), text;
  if (l->n_tokens > 0) {
    memset(l->tokens, 0, l->n_slots * sizeof(*l->tokens));
  }
  l->n_tokens = 0;
  l->has_tokens = true;
  while (next_token(&rest, split_by(l), &text)) {
    TN_TRY(note_token(l, text, err));
  }
  return TARN_OK;
}

static tarn_status append_distinct(listing *l, tn_slice v, tarn_error *err) {
  tn_slice rest = v, text;
  if (!l->has_tokens) {
    TN_TRY(note_tokens(l, err));
  }
  while (next_token(&rest, split_by(l), &text)) {
    uint32_t hash = (uint32_t)tn_hash_bytes(text.data, text.len);
    if (text.len > 0 && (l->n_slots == 0 || find_slot(l, text, hash)->len == 0)) {
      TN_TRY(put(l, l->delimiter, err));
      TN_TRY(put(l, text, err));
      text = tn_slice_of(l->bytes.data + l->bytes.len - text.len, text.len);
      TN_TRY(note_token(l, text, err));
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ operations */

static tarn_status set(listing *l, tn_slice v, bool is_null, tarn_error *err) {
  l->bytes.len = l->begin;
  l->is_null = is_null;
  l->has_tokens = false;
  return is_null ? TARN_OK : put(l, v, err);
}

/* acc = agg(acc, v) */
static tarn_status add(listing *l, tn_slice v, tarn_error *err) {
  if (l->is_null || l->bytes.len == l->begin) {
    return l->is_null || v.len > 0 ? set(l, v, false, err) : TARN_OK;
  }
  if (v.len == 0) {
    return TARN_OK;
  }
  if (l->in->spec->is_distinct) {
    return append_distinct(l, v, err);
  }
  TN_TRY(put(l, l->delimiter, err));
  return put(l, v, err);
}

/* acc = agg(v, acc), for values that are not null. */
static tarn_status add_reversed(listing *l, tn_slice v, tarn_error *err) {
  tn_buf acc;
  tarn_status st = TARN_OK;
  bool was_null = l->is_null;
  tn_buf_init(&acc, &l->in->env->mem, MAX_BYTES);
  TN_TRY_TO(done, tn_buf_append(&acc, l->bytes.data + l->begin, l->bytes.len - l->begin, err));
  TN_TRY_TO(done, set(l, v, false, err));
  if (!was_null) {
    TN_TRY_TO(done, add(l, tn_buf_slice(&acc), err));
  }
done:
  tn_buf_reset(&acc);
  return st;
}

static tarn_status do_step(listing *l, tn_fold_op op, tn_row_ref ref, tarn_error *err) {
  const tn_vec *vec = l->in->sources[ref.source];
  bool is_null = tn_vec_is_null(vec, ref.row);
  tn_slice v = tn_vec_bytes(vec, ref.row);
  switch (op) {
    case TN_FOLD_ADD:
      return is_null ? TARN_OK : add(l, v, err);
    case TN_FOLD_ADD_REVERSED:
      return is_null ? TARN_OK : add_reversed(l, v, err);
    case TN_FOLD_SET:
      return set(l, v, is_null, err);
    case TN_FOLD_RETRACT:
      return l->in->spec->ignores_retract ? TARN_OK : tn_fold_refuse_retract(l->in->spec, err);
  }
  return TN_BUG(err, "an operation of a fold");
}

static tarn_status fold_groups(listing *l, const tn_fold_steps *steps, tn_vec *out,
                               tarn_error *err) {
  int64_t null_count = 0;
  for (int64_t g = 0; g < steps->n_groups; g++) {
    l->begin = l->bytes.len;
    l->is_null = true;
    l->has_tokens = false;
    for (uint32_t i = steps->groups[g]; i < steps->groups[g + 1]; i++) {
      tn_fold_op op = steps->ops != NULL ? (tn_fold_op)steps->ops[i] : TN_FOLD_ADD;
      TN_TRY(do_step(l, op, steps->rows[i], err));
    }
    out->offsets[g + 1] = (int32_t)l->bytes.len;
    if (l->is_null) {
      tn_bit_clear(out->valid, g);
      null_count++;
    }
  }
  out->null_count = null_count;
  return TARN_OK;
}

static tarn_status fold_listagg(const tn_fold_input *in, const tn_fold_steps *steps, tn_vec *out,
                                tarn_error *err) {
  listing l = {.in = in, .delimiter = in->spec->delimiter};
  tn_vec folded = {0};
  tarn_status st = TARN_OK;
  tn_buf_init(&l.bytes, &in->env->mem, MAX_BYTES);
  /* Values come once it is known how many bytes there are. */
  TN_TRY_TO(done, tn_vec_init(in->env, &in->spec->field->type, &folded, err));
  TN_TRY_TO(done, tn_vec_alloc(in->env, &folded, steps->n_groups, 0, err));
  TN_TRY_TO(done, tn_vec_alloc_valid(in->env, &folded, true, err));
  TN_TRY_TO(done, fold_groups(&l, steps, &folded, err));
  tn_buffer_release(folded.values_buffer);
  folded.values_buffer = NULL;
  folded.values = NULL;
  TN_TRY_TO(done, tn_buffer_create(in->env, l.bytes.len, &folded.values_buffer, err));
  folded.values = folded.values_buffer->data;
  if (l.bytes.len > 0) {
    memcpy(folded.values, l.bytes.data, l.bytes.len);
  }
  tn_vec_move(out, &folded);
done:
  tn_vec_reset(in->env, &folded);
  tn_buf_reset(&l.bytes);
  tn_free(&in->env->mem, l.tokens);
  return st;
}

static tarn_status check_string(const tn_fold_spec *spec, tarn_error *err) {
  const tn_type *type = &spec->field->type;
  if (type->root == TN_VARCHAR && type->length == INT32_MAX) {
    return TARN_OK;
  }
  return tn_fail(err, TARN_E_INVALID,
                 "data type for listagg column '%s' must be STRING (unbounded VARCHAR) but was %s",
                 spec->field->name, tn_type_text_of(type).text);
}

const tn_fold_function tn_fold_listagg = {
    .name = "listagg", .check = check_string, .fold = fold_listagg, .adds_first_as_it_is = true};
