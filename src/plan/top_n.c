/* top_n.c - splits by the bounds of one column. */
#include "plan/top_n.h"

#include "base/sort.h"
#include "plan/scan_filter.h"

#define MAX_ROWS 100 /* beyond it the work does not pay (spec: scan-plan, 9) */

/* The bounds of a split's rows. */
typedef struct bounds {
  int32_t split;
  bool has_values; /* one that is not null */
  tn_datum min, max;
  int64_t null_count;
} bounds;

typedef struct top_n {
  const tn_scan *scan;
  const tn_top_n *top;
  tn_pred leaf; /* names the column */
  tn_plan *plan;
  bounds *known;
  int32_t n_known;
} top_n;

static const tn_field *column_of(const tn_scan *scan) {
  const tn_schema *schema = scan->table->schema;
  int32_t at = tn_fields_find_id(schema->fields, schema->n_fields, scan->top->field_id);
  return at >= 0 ? &schema->fields[at] : NULL;
}

static bool has_tight_bounds(const tn_type *type) {
  return type->root == TN_BOOLEAN || type->root == TN_DATE || tn_type_is_integer(type);
}

bool tn_top_n_applies(const tn_scan *scan, bool has_value_filter, tn_plan_kind kind) {
  const tn_table_facts *f = &scan->table->facts;
  const tn_field *column = scan->top != NULL ? column_of(scan) : NULL;
  return column != NULL && has_tight_bounds(&column->type) && scan->top->n >= 0 &&
         scan->top->n <= MAX_ROWS && scan->limit < 0 && !has_value_filter &&
         kind == TN_PLAN_STATE && !f->has_primary_key && !f->deletion_vectors &&
         !f->data_evolution && !f->ignore_lost_files && !f->ignore_corrupt_files;
}

static void add_file(const top_n *t, const tn_stat *stat, bounds *b) {
  const tn_type *type = &t->leaf.type;
  if (stat->has_bounds) {
    if (!b->has_values || tn_datum_compare(type, &stat->min, &b->min) < 0) {
      b->min = stat->min;
    }
    if (!b->has_values || tn_datum_compare(type, &stat->max, &b->max) > 0) {
      b->max = stat->max;
    }
    b->has_values = true;
  }
  b->null_count += stat->null_count;
}

/* The bounds of a split; *is_known false: they are not, or not tight. */
static tarn_status find_bounds(top_n *t, int32_t i, bounds *out, bool *is_known, tarn_error *err) {
  const tn_split *split = &t->plan->splits[i];
  tn_schema *schema = NULL;
  tarn_status st = TARN_OK;
  *out = (bounds){.split = i};
  *is_known = split->is_raw_convertible && !split->is_streaming && split->deletions == NULL;
  for (int32_t f = 0; f < split->n_files && *is_known; f++) {
    const tn_data_file *file = &split->files[f];
    tn_stat stat = {0};
    tn_schema_release(schema);
    schema = NULL;
    TN_TRY_TO(done, tn_table_schema(t->scan->table, file->schema_id, &schema, err));
    if (tn_fields_find_id(schema->fields, schema->n_fields, t->leaf.field_id) < 0) {
      stat.null_count = file->row_count; /* the column came later */
    } else {
      TN_TRY_TO(done, tn_scan_filter_stat(schema, file, &t->leaf, &stat, is_known, err));
    }
    *is_known = *is_known && file->row_count > 0 && stat.null_count >= 0 &&
                (stat.has_bounds || stat.null_count == file->row_count) &&
                !(file->has_delete_row_count && file->delete_row_count != 0);
    add_file(t, &stat, out);
  }
done:
  tn_schema_release(schema);
  return st;
}

static int by_bounds(void *ctx, const void *x, const void *y) {
  const top_n *t = ctx;
  const bounds *a = x, *b = y;
  int order = 0;
  if (t->top->nulls_first && a->null_count != b->null_count) {
    return a->null_count > b->null_count ? -1 : 1;
  }
  if (!a->has_values || !b->has_values) {
    return (a->has_values ? -1 : 0) + (b->has_values ? 1 : 0);
  }
  order = t->top->is_descending ? tn_datum_compare(&t->leaf.type, &b->max, &a->max)
                                : tn_datum_compare(&t->leaf.type, &a->min, &b->min);
  return order != 0 ? order : (a->null_count > b->null_count) - (a->null_count < b->null_count);
}

/* Of the splits with known bounds the first n stay. */
static tarn_status mark(const top_n *t, tn_arena *scratch, bool *is_dropped, tarn_error *err) {
  size_t n = (size_t)t->n_known + 1;
  const void **order = tn_arena_calloc(scratch, n, sizeof(*order));
  const void **spare = tn_arena_calloc(scratch, n, sizeof(*spare));
  if (order == NULL || spare == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < t->n_known; i++) {
    order[i] = &t->known[i];
  }
  tn_sort_stable(order, spare, t->n_known, by_bounds, (void *)(uintptr_t)t);
  for (int64_t i = t->top->n; i < t->n_known; i++) {
    is_dropped[((const bounds *)order[i])->split] = true;
  }
  return TARN_OK;
}

tarn_status tn_top_n_prune(const tn_scan *scan, tn_plan *plan, tn_arena *scratch, tarn_error *err) {
  const tn_field *column = column_of(scan);
  top_n t = {.scan = scan, .top = scan->top, .plan = plan};
  size_t n = (size_t)plan->n_splits + 1;
  bool *is_dropped = tn_arena_calloc(scratch, n, sizeof(*is_dropped));
  int32_t n_left = 0;
  t.known = tn_arena_calloc(scratch, n, sizeof(*t.known));
  if (is_dropped == NULL || t.known == NULL) {
    return tn_oom(err);
  }
  if (plan->n_splits <= scan->top->n) {
    return TARN_OK;
  }
  t.leaf.field_id = column->id;
  t.leaf.type = column->type;
  for (int32_t i = 0; i < plan->n_splits; i++) {
    bool is_known;
    TN_TRY(find_bounds(&t, i, &t.known[t.n_known], &is_known, err));
    t.n_known += is_known;
  }
  TN_TRY(mark(&t, scratch, is_dropped, err));
  for (int32_t i = 0; i < plan->n_splits; i++) {
    if (!is_dropped[i]) {
      plan->splits[n_left++] = plan->splits[i];
    }
  }
  plan->n_splits = n_left;
  return TARN_OK;
}
