/* fold.c - the table of fold functions, columns that are folded, and sources made ready. */
#include "merge/fold.h"

#include <string.h>

#include "base/ascii.h"
#include "merge/fold_functions.h"
#include "merge/fold_source.h"

static const tn_fold_function *const fold_functions[] = {
    &tn_fold_last_non_null_value,
    &tn_fold_last_value,
    &tn_fold_first_value,
    &tn_fold_first_non_null_value,
    &tn_fold_first_not_null_value,
    &tn_fold_min,
    &tn_fold_max,
    &tn_fold_bool_and,
    &tn_fold_bool_or,
    &tn_fold_sum,
    &tn_fold_product,
    &tn_fold_listagg,
    &tn_fold_collect,
    &tn_fold_merge_map,
    &tn_fold_merge_map_with_keytime,
    &tn_fold_nested_update,
    &tn_fold_nested_partial_update,
    &tn_fold_rbm32,
    &tn_fold_rbm64,
    &tn_fold_hll_sketch,
    &tn_fold_theta_sketch,
};

const tn_fold_function *tn_fold_function_find(const char *name) {
  for (size_t i = 0; i < TN_COUNT(fold_functions); i++) {
    if (strcmp(fold_functions[i]->name, name) == 0) {
      return fold_functions[i];
    }
  }
  return NULL;
}

tarn_status tn_fold_refuse_retract(const tn_fold_spec *spec, tarn_error *err) {
  return tn_fail(err, TARN_E_INVALID,
                 "aggregate function '%s' does not support retraction; 'fields.%s.ignore-retract' "
                 "= 'true' lets it ignore retraction messages",
                 spec->function->name, spec->field->name);
}

/* ------------------------------------------------------------------ specs */

/* The fields of the ROW that an ARRAY has as elements, or a MAP as values; NULL: no ROW. */
static const tn_type *inner_row(const tn_type *type) {
  const tn_type *inner = type->root == TN_ARRAY ? &type->fields[0].type
                         : type->root == TN_MAP ? &type->fields[1].type
                                                : NULL;
  return inner != NULL && inner->root == TN_ROW ? inner : NULL;
}

static tarn_status find_inner(const tn_fold_spec *spec, const char *option, tn_slice name,
                              int32_t *out, tarn_error *err) {
  const tn_type *row = inner_row(&spec->field->type);
  *out = row != NULL ? tn_fields_find(row->fields, row->n_fields, name) : -1;
  return *out >= 0 ? TARN_OK
                   : tn_fail(err, TARN_E_INVALID,
                             "option 'fields.%s.%s' names '%.*s', which is no field of %s",
                             spec->field->name, option, TN_SLICE_ARG(name),
                             tn_type_text_of(&spec->field->type).text);
}

static tarn_status list_nested_keys(tn_arena *arena, const char *list, tn_fold_spec *spec,
                                    tarn_error *err) {
  size_t room = 1;
  for (const char *at = list; *at != '\0'; at++) {
    room += *at == ',';
  }
  spec->nested_keys = tn_arena_calloc(arena, room, sizeof(*spec->nested_keys));
  if (spec->nested_keys == NULL) {
    return tn_oom(err);
  }
  for (const char *at = list; at != NULL;) {
    const char *comma = strchr(at, ',');
    tn_slice name =
        tn_slice_trim(tn_slice_of(at, comma != NULL ? (size_t)(comma - at) : strlen(at)));
    if (name.len > 0) {
      TN_TRY(find_inner(spec, "nested-key", name, &spec->nested_keys[spec->n_nested_keys++], err));
    }
    at = comma != NULL ? comma + 1 : NULL;
  }
  return TARN_OK;
}

tarn_status tn_fold_spec_make(tn_arena *arena, const char *function, const tn_column_merge *options,
                              const tn_field *field, tn_fold_spec *out, tarn_error *err) {
  *out = (tn_fold_spec){
      .function = tn_fold_function_find(function),
      .field = field,
      .ignores_retract = options->ignores_retract,
      .is_distinct = options->is_distinct,
      .delimiter = tn_slice_text(options->delimiter),
      .count_limit = options->count_limit,
      .time_field = -1,
  };
  if (out->function == NULL) {
    return tn_fail(err, TARN_E_INVALID,
                   "column '%s': could not find any aggregate function for identifier '%s'",
                   field->name, function);
  }
  if (options->nested_key != NULL) {
    TN_TRY(list_nested_keys(arena, options->nested_key, out, err));
  }
  if (options->time_field != NULL) {
    TN_TRY(find_inner(out, "ts-field", tn_slice_text(options->time_field), &out->time_field, err));
  }
  return out->function->check != NULL ? out->function->check(out, err) : TARN_OK;
}

/* ------------------------------------------------------------------ sources */

/* What stands in where a vector has no buffer: never used as a value, but may be loaded. */
static const TN_ALIGNED(64) uint8_t no_values[64] = {0};
static const uint8_t all_valid[1] = {0xff};

static void resolve(const tn_vec *vec, tn_fold_source *s) {
  const tn_vec *flat = vec->encoding == TN_VEC_CONST  ? vec->constant
                       : vec->encoding == TN_VEC_DICT ? &vec->dictionary->values
                                                      : vec;
  const tn_vec *nulls = vec->encoding == TN_VEC_CONST ? vec->constant : vec;
  bool has_nulls = vec->null_count > 0 && nulls->valid != NULL;
  s->values = flat->values != NULL ? flat->values : no_values;
  s->codes = vec->encoding == TN_VEC_DICT ? vec->values : NULL;
  s->row_mask = vec->encoding == TN_VEC_CONST ? 0 : UINT32_MAX;
  s->valid = has_nulls ? nulls->valid : all_valid;
  s->valid_mask = has_nulls ? s->row_mask : 0;
}

tarn_status tn_fold_sources_resolve(const tn_fold_input *in, tn_fold_sources *out,
                                    tarn_error *err) {
  out->items = out->few;
  out->is_flat = true;
  out->has_nulls = false;
  if (in->n_sources > TN_FOLD_FEW_SOURCES) {
    out->items = tn_calloc(&in->env->mem, (size_t)in->n_sources, sizeof(*out->items));
    if (out->items == NULL) {
      return tn_oom(err);
    }
  }
  for (int32_t i = 0; i < in->n_sources; i++) {
    resolve(in->sources[i], &out->items[i]);
    out->is_flat &= in->sources[i]->encoding == TN_VEC_FLAT;
    out->has_nulls |= in->sources[i]->null_count > 0;
  }
  return TARN_OK;
}

void tn_fold_sources_reset(const tn_fold_input *in, tn_fold_sources *sources) {
  if (sources->items != sources->few) {
    tn_free(&in->env->mem, sources->items);
  }
  sources->items = NULL;
}
