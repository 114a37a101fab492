/* scan.c - what to read: columns, filter, limit. */
#include "api/handles.h"

void tn_api_scan_release(tarn_scan *scan) {
  if (scan != NULL && atomic_fetch_sub_explicit(&scan->refs, 1, memory_order_acq_rel) == 1) {
    tarn_env *env = scan->env;
    tn_predicate_release(scan->predicate);
    tn_api_table_release(scan->table);
    tn_arena_reset(&scan->arena);
    tn_free(&env->mem, scan);
  }
}

void tarn_scan_free(tarn_scan *scan) {
  tn_api_scan_release(scan);
}

/* The hint of the first rows; columns of system tables have none. */
static tarn_status resolve_top(tarn_scan *scan, const tarn_scan_options *o, tarn_error *err) {
  int32_t n_fields, at;
  const tn_field *fields = tn_api_table_fields(scan->table, &n_fields);
  if (o->top_column == NULL) {
    return TARN_OK;
  }
  if (o->top_n < 0) {
    return tn_fail(err, TARN_E_INVALID, "top_n is %lld", (long long)o->top_n);
  }
  at = tn_fields_find(fields, n_fields, tn_slice_text(o->top_column));
  if (at < 0) {
    return tn_fail(err, TARN_E_NOT_FOUND, "top_column: there is no column '%s'", o->top_column);
  }
  scan->has_top = scan->table->system == NULL;
  scan->top = (tn_top_n){fields[at].id, o->top_n, o->top_descending != 0, o->top_nulls_first != 0};
  return TARN_OK;
}

tarn_status tarn_scan_create(tarn_table *table, const tarn_scan_options *options, tarn_scan **out,
                             tarn_error *err) {
  tarn_scan_options o = TARN_SCAN_OPTIONS_INIT;
  tarn_env *env = table->env;
  tarn_scan *scan;
  tarn_status st;
  tn_error_reset(err);
  *out = NULL;
  TN_TRY(tn_env_check(env, err));
  if (options != NULL) {
    if (options->struct_size < sizeof(size_t) || options->struct_size > sizeof(o)) {
      return tn_fail(err, TARN_E_INVALID,
                     "tarn_scan_options.struct_size is %zu, expected at most %zu: use "
                     "TARN_SCAN_OPTIONS_INIT",
                     options->struct_size, sizeof(o));
    }
    memcpy(&o, options, options->struct_size);
  }
  if (o.batch_rows < 0 || o.batch_rows > INT32_MAX) {
    return tn_fail(err, TARN_E_INVALID, "batch_rows is %lld: 0 to 2147483647 are allowed",
                   (long long)o.batch_rows);
  }
  scan = tn_calloc(&env->mem, 1, sizeof(*scan));
  if (scan == NULL) {
    return tn_oom(err);
  }
  atomic_init(&scan->refs, 1);
  scan->env = env;
  tn_arena_init(&scan->arena, &env->mem, TN_API_TEXT_LIMIT);
  scan->table = table;
  atomic_fetch_add_explicit(&table->refs, 1, memory_order_relaxed);
  scan->predicate = o.predicate != NULL ? tn_predicate_retain(o.predicate) : NULL;
  scan->limit = o.limit < 0 ? -1 : o.limit;
  scan->with_row_kind = o.with_row_kind != 0;
  scan->arrow = tn_api_times(o.timestamp_ns_as_us);
  scan->batch_rows = o.batch_rows;
  scan->keeps_stats = o.keep_statistics != 0;
  scan->cancel = o.cancel;
  st = tn_api_resolve_columns(scan, o.columns, o.n_columns,
                              o.row_kind_name != NULL ? o.row_kind_name : "_row_kind", err);
  if (st == TARN_OK) {
    st = resolve_top(scan, &o, err);
  }
  if (st != TARN_OK) {
    tn_api_scan_release(scan);
    return st;
  }
  *out = scan;
  return TARN_OK;
}

tarn_status tarn_scan_schema(tarn_scan *scan, struct ArrowSchema *out, tarn_error *err) {
  tn_error_reset(err);
  TN_TRY(tn_env_check(scan->env, err));
  return tn_arrow_export_schema(scan->env, scan->out_fields, scan->n_out, &scan->arrow, out, err);
}
