/* bucket_filter.c - values of bucket keys out of a predicate, and their buckets. */
#include "plan/bucket_filter.h"

#include <math.h>
#include <stdlib.h>

#define MAX_DEPTH 64           /* of predicates that are looked into */
#define MAX_SETS 64            /* bucket numbers of one partition that are remembered */
#define KEYS_LIMIT (64u << 20) /* bytes of all key rows together */

/* The values that one bucket column can have: literals of leaves, without nulls. */
typedef struct column_values {
  bool is_known;
  tn_datum *items;
  int32_t count;
} column_values;

typedef struct mentions {
  const tn_table *table;
  uint64_t bucket_columns; /* bit i: bucket column i is mentioned */
  bool partition_columns;
} mentions;

static void note_leaf(void *ctx, const tn_pred *leaf) {
  mentions *m = ctx;
  const tn_table_facts *facts = &m->table->facts;
  for (int32_t i = 0; i < facts->n_bucket_columns; i++) {
    if (m->table->schema->fields[facts->bucket_columns[i]].id == leaf->field_id) {
      m->bucket_columns |= (uint64_t)1 << i;
    }
  }
  m->partition_columns |= tn_schema_partition_key(m->table->schema, leaf->field_id) >= 0;
}

/* ------------------------------------------------------------------ putting partition values in */

typedef struct substitution {
  const tn_table *table;
  const tn_datum *partition; /* NULL: leave partition columns alone */
  tn_arena *arena;
} substitution;

static const tn_pred always = {.op = TN_PRED_TRUE};
static const tn_pred never = {.op = TN_PRED_FALSE};

/* The predicate with leaves on partition columns replaced by their truth. NULL: out of memory. */
static const tn_pred *substitute(const substitution *s, const tn_pred *pred, int32_t depth) {
  int32_t at;
  if (pred->op == TN_PRED_AND || pred->op == TN_PRED_OR) {
    const tn_pred **children;
    if (depth >= MAX_DEPTH) {
      return &always;  // unknown, which prunes nothing
    }
    children = tn_arena_calloc(s->arena, (size_t)pred->n_children, sizeof(*children));
    if (children == NULL) {
      return NULL;
    }
    for (int32_t i = 0; i < pred->n_children; i++) {
      children[i] = substitute(s, pred->children[i], depth + 1);
      if (children[i] == NULL) {
        return NULL;
      }
    }
    return tn_pred_compound(s->arena, pred->op, children, pred->n_children);
  }
  if (s->partition == NULL || pred->op == TN_PRED_TRUE || pred->op == TN_PRED_FALSE) {
    return pred;
  }
  at = tn_schema_partition_key(s->table->schema, pred->field_id);
  return at < 0 ? pred : tn_pred_test_datum(pred, &s->partition[at]) ? &always : &never;
}

/* ------------------------------------------------------------------ collecting values */

/* Only = and IN fix values. */
static int32_t bucket_column_of(const tn_table *table, const tn_pred *leaf) {
  if ((leaf->op != TN_PRED_EQ && leaf->op != TN_PRED_IN) || leaf->n_path > 0) {
    return -1;
  }
  for (int32_t i = 0; i < table->facts.n_bucket_columns; i++) {
    if (table->schema->fields[table->facts.bucket_columns[i]].id == leaf->field_id) {
      return i;
    }
  }
  return -1;
}

/* NaN has many bit patterns, and only one of them is hashed here. */
static bool is_nan(const tn_type *type, const tn_datum *value) {
  return (type->root == TN_FLOAT || type->root == TN_DOUBLE) && isnan(value->v.f64);
}

static bool contains(const tn_type *type, const column_values *values, const tn_datum *value) {
  for (int32_t i = 0; i < values->count; i++) {
    if (tn_datum_compare(type, &values->items[i], value) == 0) {
      return true;
    }
  }
  return false;
}

/* The literals of one AND part, if it is an OR of = and IN on one bucket column; column -1: not. */
static tarn_status values_of_part(const tn_table *table, const tn_pred *part, tn_arena *arena,
                                  int32_t *column, column_values *out, tarn_error *err) {
  const tn_pred *const *leaves = part->op == TN_PRED_OR ? part->children : &part;
  int32_t n_leaves = part->op == TN_PRED_OR ? part->n_children : 1;
  int64_t n_literals = 0;
  *column = n_leaves > 0 ? bucket_column_of(table, leaves[0]) : -1;
  for (int32_t i = 0; i < n_leaves && *column >= 0; i++) {
    if (bucket_column_of(table, leaves[i]) != *column) {
      *column = -1;
    }
    n_literals += leaves[i]->n_literals;
  }
  if (*column < 0 || n_literals > TN_BUCKET_FILTER_MAX_KEYS) {
    *column = -1;
    return TARN_OK;
  }
  out->is_known = true;
  out->count = 0;
  out->items = tn_arena_calloc(arena, (size_t)n_literals, sizeof(*out->items));
  if (out->items == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < n_leaves; i++) {
    for (int32_t k = 0; k < leaves[i]->n_literals; k++) {
      const tn_datum *value = &leaves[i]->literals[k];
      if (value->is_null) {
        continue;
      }
      if (is_nan(&leaves[i]->type, value)) {
        *column = -1;
        return TARN_OK;
      }
      out->items[out->count++] = *value;
    }
  }
  return TARN_OK;
}

/* Same column twice: what both allow. *any: nothing is left, and Java then prunes nothing. */
static void intersect(const tn_type *type, column_values *into, const column_values *other,
                      bool *any) {
  int32_t n = 0;
  if (!into->is_known) {
    *into = *other;
    return;
  }
  for (int32_t i = 0; i < into->count; i++) {
    if (contains(type, other, &into->items[i])) {
      into->items[n++] = into->items[i];
    }
  }
  into->count = n;
  *any |= n == 0;
}

/* All combinations of the columns' values as binary rows. */
static tarn_status make_rows(const tn_table *table, const column_values *values, int32_t n_rows,
                             tn_arena *arena, tn_bucket_keys *out, tarn_error *err) {
  const tn_table_facts *facts = &table->facts;
  tn_buf buf;
  tarn_status st = TARN_OK;
  out->rows = tn_arena_calloc(arena, (size_t)n_rows + 1, sizeof(*out->rows));
  if (out->rows == NULL) {
    return tn_oom(err);
  }
  tn_buf_init(&buf, arena->mem, KEYS_LIMIT);
  for (int32_t r = 0; r < n_rows; r++) {
    tn_binary_row_writer w;
    tn_slice bytes;
    int32_t rest = r;
    buf.len = 0;
    TN_TRY_TO(done, tn_binary_row_begin(&w, &buf, facts->n_bucket_columns, err));
    for (int32_t c = 0; c < facts->n_bucket_columns; c++) {
      const tn_type *type = &table->schema->fields[facts->bucket_columns[c]].type;
      TN_TRY_TO(done,
                tn_binary_row_set(&w, c, type, &values[c].items[rest % values[c].count], err));
      rest /= values[c].count;
    }
    if (!tn_arena_slice(arena, tn_buf_slice(&buf), &bytes)) {
      st = tn_oom(err);
      goto done;
    }
    TN_TRY_TO(done,
              tn_binary_row_view(bytes, facts->n_bucket_columns, "bucket key", &out->rows[r], err));
  }
  out->n_rows = n_rows;
  out->is_any = false;
done:
  tn_buf_reset(&buf);
  return st;
}

tarn_status tn_bucket_filter_keys(const tn_bucket_filter *filter, const tn_datum *partition,
                                  tn_arena *arena, tn_bucket_keys *out, tarn_error *err) {
  const tn_table *table = filter->table;
  const tn_table_facts *facts = &table->facts;
  const substitution s = {table, partition, arena};
  const tn_pred *pred = substitute(&s, filter->predicate, 0);
  const tn_pred **parts = NULL;
  int32_t n_parts = 0;
  int64_t n_rows = 1;
  bool any = false;
  column_values *values;
  memset(out, 0, sizeof(*out));
  out->is_any = true;
  values = tn_arena_calloc(arena, (size_t)facts->n_bucket_columns, sizeof(*values));
  if (pred == NULL || values == NULL) {
    return tn_oom(err);
  }
  TN_TRY(tn_pred_split_and(arena, pred, &parts, &n_parts, err));
  for (int32_t i = 0; i < n_parts; i++) {
    column_values found = {0};
    int32_t column;
    TN_TRY(values_of_part(table, parts[i], arena, &column, &found, err));
    if (column >= 0) {
      intersect(&table->schema->fields[facts->bucket_columns[column]].type, &values[column], &found,
                &any);
    }
  }
  for (int32_t c = 0; c < facts->n_bucket_columns; c++) {
    if (!values[c].is_known) {
      return TARN_OK;
    }
    n_rows *= values[c].count;
    if (n_rows > TN_BUCKET_FILTER_MAX_KEYS) {
      return TARN_OK;
    }
  }
  if (any) {
    return TARN_OK;
  }
  return make_rows(table, values, (int32_t)n_rows, arena, out, err);
}

tarn_status tn_bucket_filter_init(tn_bucket_filter *filter, const tn_table *table,
                                  const tn_pred *predicate, tn_arena *arena, tarn_error *err) {
  const tn_table_facts *facts = &table->facts;
  mentions m = {table, 0, false};
  memset(filter, 0, sizeof(*filter));
  filter->table = table;
  filter->predicate = predicate;
  filter->common.is_any = true;
  if (predicate == NULL || facts->n_bucket_columns == 0 || facts->n_bucket_columns > 63 ||
      (facts->bucket_mode != TN_BUCKETS_FIXED && facts->bucket_mode != TN_BUCKETS_POSTPONE)) {
    return TARN_OK;
  }
  tn_pred_each_leaf(predicate, note_leaf, &m);
  if (m.bucket_columns != ((uint64_t)1 << facts->n_bucket_columns) - 1) {
    return TARN_OK;
  }
  filter->by_partition = m.partition_columns;
  if (!filter->by_partition) {
    TN_TRY(tn_bucket_filter_keys(filter, NULL, arena, &filter->common, err));
  }
  filter->is_active = filter->by_partition || !filter->common.is_any;
  return TARN_OK;
}

/* ------------------------------------------------------------------ testing */

static int compare_int(const void *a, const void *b) {
  int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

static tarn_status make_set(const tn_bucket_filter *filter, const tn_bucket_keys *keys,
                            int32_t n_buckets, tn_arena *arena, tn_bucket_set *set,
                            tarn_error *err) {
  const tn_table_facts *facts = &filter->table->facts;
  const tn_type **types = tn_arena_calloc(arena, (size_t)facts->n_bucket_columns, sizeof(*types));
  set->buckets = tn_arena_calloc(arena, (size_t)keys->n_rows + 1, sizeof(*set->buckets));
  if (types == NULL || set->buckets == NULL) {
    return tn_oom(err);
  }
  for (int32_t c = 0; c < facts->n_bucket_columns; c++) {
    types[c] = &filter->table->schema->fields[facts->bucket_columns[c]].type;
  }
  for (int32_t r = 0; r < keys->n_rows; r++) {
    tarn_status st = tn_bucket_of((tn_bucket_function)facts->bucket_function, &keys->rows[r], types,
                                  n_buckets, &set->buckets[r], err);
    if (st == TARN_E_UNSUPPORTED) {
      tn_error_reset(err);
      set->is_any = true;  // a type that the function does not take: nothing can be told
      return TARN_OK;
    }
    TN_TRY(st);
  }
  set->count = keys->n_rows;
  qsort(set->buckets, (size_t)set->count, sizeof(*set->buckets), compare_int);
  return TARN_OK;
}

tarn_status tn_bucket_filter_test(const tn_bucket_filter *filter, const tn_bucket_keys *keys,
                                  int32_t bucket, int32_t n_buckets, tn_arena *arena,
                                  tn_bucket_set **sets, bool *out, tarn_error *err) {
  tn_bucket_set *set = *sets;
  int32_t n_sets = 0;
  *out = true;
  // Real buckets of a known number only: -1 and -2 stand for tables whose buckets no hash gives.
  if (keys->is_any || n_buckets < 1 || bucket < 0) {
    return TARN_OK;
  }
  while (set != NULL && set->n_buckets != n_buckets) {
    set = set->next;
    n_sets++;
  }
  if (set == NULL && n_sets >= MAX_SETS) {
    return TARN_OK;
  }
  if (set == NULL) {
    set = tn_arena_calloc(arena, 1, sizeof(*set));
    if (set == NULL) {
      return tn_oom(err);
    }
    set->n_buckets = n_buckets;
    TN_TRY(make_set(filter, keys, n_buckets, arena, set, err));
    set->next = *sets;
    *sets = set;
  }
  *out = set->is_any ||
         bsearch(&bucket, set->buckets, (size_t)set->count, sizeof(bucket), compare_int) != NULL;
  return TARN_OK;
}
