/* stats.c - where bounds may be trusted, and floats made safe. */
#include "format/parquet/stats.h"

#include <math.h>

static bool is_float(const tn_type *type) {
  return type->root == TN_FLOAT || type->root == TN_DOUBLE;
}

/* Do bounds of this column follow the order of its values? */
static bool has_order(const tn_pq_stat_column *column) {
  const tn_pq_element *e = column->node->element;
  switch (e->logical.kind) {
    case TN_PQ_INTERVAL:
    case TN_PQ_GEOMETRY:
    case TN_PQ_GEOGRAPHY:
    case TN_PQ_NULL:
      return false;
    default:
      return e->physical != TN_PQ_INT96 && column->order != TN_PQ_ORDER_UNKNOWN;
  }
}

/* The deprecated pair was compared as signed numbers, byte by byte for the rest. */
static bool has_old_order(const tn_pq_stat_column *column) {
  const tn_pq_element *e = column->node->element;
  if (e->logical.kind == TN_PQ_INTEGER && !e->logical.is_signed) {
    return false;
  }
  return e->physical == TN_PQ_BOOLEAN || e->physical == TN_PQ_INT32 || e->physical == TN_PQ_INT64 ||
         e->physical == TN_PQ_FLOAT || e->physical == TN_PQ_DOUBLE;
}

static void make_floats_safe(const tn_pq_stat_column *column, tn_datum *min, tn_datum *max) {
  bool leaves_out_nan = !column->has_nan_in_bounds || column->order == TN_PQ_ORDER_TOTAL;
  if (isnan(min->v.f64)) {
    min->v.f64 = -INFINITY;
  } else if (min->v.f64 == 0) {
    min->v.f64 = -0.0;
  }
  if (leaves_out_nan) {
    max->v.f64 = NAN;  // the greatest value there is
  } else if (max->v.f64 == 0) {
    max->v.f64 = 0.0;
  }
}

static int compare(const tn_type *type, const tn_datum *a, const tn_datum *b) {
  return tn_type_is_bytes(type) ? tn_slice_compare(a->v.bytes, b->v.bytes)
                                : tn_datum_compare(type, a, b);
}

bool tn_pq_bounds(const tn_pq_stat_column *column, tn_slice min, tn_slice max, tn_datum *out_min,
                  tn_datum *out_max) {
  if (!has_order(column) || !tn_pq_convert_datum(&column->convert, min, out_min) ||
      !tn_pq_convert_datum(&column->convert, max, out_max)) {
    return false;
  }
  if (is_float(column->type)) {
    make_floats_safe(column, out_min, out_max);
  }
  return compare(column->type, out_min, out_max) <= 0;
}

void tn_pq_chunk_stat(const tn_pq_stat_column *column, const tn_pq_stats *stats, int64_t n_rows,
                      tn_stat *out) {
  memset(out, 0, sizeof(*out));
  out->row_count = n_rows;
  out->null_count = stats->null_count >= 0 && stats->null_count <= n_rows ? stats->null_count : -1;
  if (column->node->def_present == 0) {
    out->null_count = 0;
  }
  if (stats->has_bounds) {
    out->has_bounds = tn_pq_bounds(column, stats->min, stats->max, &out->min, &out->max);
  } else if (stats->has_old_bounds && has_old_order(column)) {
    out->has_bounds = tn_pq_bounds(column, stats->old_min, stats->old_max, &out->min, &out->max);
  }
}
