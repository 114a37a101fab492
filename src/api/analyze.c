/* analyze.c - statistics of a table and of its columns, from one read of it.
 *
 * Distinct values are counted by 64-bit hashes; where these find no room in the budget, their
 * number is not told. Lengths are those of Spark: characters of texts, bytes of binaries, the usual
 * width of other types.
 *
 * Rule: org.apache.paimon.stats.{Statistics,ColStats}, PaimonAnalyzeTableColumnCommand; spec:
 * snapshot-schema, 6.
 */
#include "api/analyze.h"

#include "base/bytes.h"
#include "column/equal.h"
#include "model/statistics.h"
#include "plan/plan.h"

#define LEAST_SLOTS 1024

/* What is known of a column so far. */
typedef struct column_facts {
  const tn_field *field;
  int64_t n_nulls, n_values;
  int64_t sum_len, max_len;
  bool has_bounds;
  tn_datum min, max; /* bytes: in the buffers */
  tn_buf min_bytes, max_bytes;
  uint64_t *seen; /* hashes; 0: free */
  size_t n_slots, n_seen;
  bool is_uncounted; /* there was no room */
} column_facts;

typedef struct analysis {
  tarn_env *env;
  tn_table *table;
  tn_field *fields;
  column_facts *facts;
  int32_t n; /* columns */
  int64_t n_rows;
} analysis;

/* ------------------------------------------------------------------ distinct values */

static void drop_seen(tarn_env *env, column_facts *f) {
  tn_free(&env->mem, f->seen);
  tn_unreserve(&env->mem, f->n_slots * sizeof(*f->seen));
  f->seen = NULL;
  f->n_slots = 0;
}

/* The slot of a hash, or the free one where it belongs. */
static uint64_t *find_seen(const column_facts *f, uint64_t hash) {
  size_t mask = f->n_slots - 1, at = (size_t)(hash ^ hash >> 29) & mask;
  while (f->seen[at] != 0 && f->seen[at] != hash) {
    at = (at + 1) & mask;
  }
  return &f->seen[at];
}

static void grow_seen(tarn_env *env, column_facts *f) {
  column_facts grown = *f;
  grown.n_slots = f->n_slots == 0 ? LEAST_SLOTS : 2 * f->n_slots;
  if (tn_env_reserve(env, grown.n_slots * sizeof(*f->seen), "distinct values", NULL) != TARN_OK) {
    f->is_uncounted = true;
    drop_seen(env, f);
    return;
  }
  grown.seen = tn_calloc(&env->mem, grown.n_slots, sizeof(*f->seen));
  if (grown.seen == NULL) {
    tn_unreserve(&env->mem, grown.n_slots * sizeof(*f->seen));
    f->is_uncounted = true;
    drop_seen(env, f);
    return;
  }
  for (size_t i = 0; i < f->n_slots; i++) {
    if (f->seen[i] != 0) {
      *find_seen(&grown, f->seen[i]) = f->seen[i];
    }
  }
  drop_seen(env, f);
  *f = grown;
}

static void count_distinct(tarn_env *env, column_facts *f, uint64_t hash) {
  uint64_t *slot;
  if (!f->is_uncounted && 2 * (f->n_seen + 1) > f->n_slots) {
    grow_seen(env, f);
  }
  if (f->is_uncounted) {
    return;
  }
  hash = hash != 0 ? hash : 1;
  slot = find_seen(f, hash);
  f->n_seen += *slot == 0;
  *slot = hash;
}

/* ------------------------------------------------------------------ values */

static bool has_text_form(const tn_type *type) {
  return !tn_type_is_bytes(type);
}

static int64_t length_of(const tn_type *type, const tn_datum *value) {
  int64_t n = 0;
  switch (type->root) {
    case TN_CHAR:
    case TN_VARCHAR:
      for (size_t i = 0; i < value->v.bytes.len; i++) {
        n += (value->v.bytes.data[i] & 0xc0) != 0x80;
      }
      return n;
    case TN_BINARY:
    case TN_VARBINARY:
      return (int64_t)value->v.bytes.len;
    case TN_BOOLEAN:
      return 1;
    case TN_DECIMAL:
      return type->precision <= 18 ? 8 : 16;
    case TN_TIMESTAMP:
    case TN_TIMESTAMP_LTZ:
      return 8;
    default:
      return (int64_t)tn_layout_width(tn_type_layout(type));
  }
}

static tarn_status keep_bound(const tn_type *type, const tn_datum *value, tn_datum *bound,
                              tn_buf *bytes, tarn_error *err) {
  *bound = *value;
  if (tn_type_layout(type) == TN_LAYOUT_BYTES) {
    bytes->len = 0;
    TN_TRY(tn_buf_append(bytes, value->v.bytes.data, value->v.bytes.len, err));
    bound->v.bytes = tn_buf_slice(bytes);
  }
  return TARN_OK;
}

static tarn_status add_column(analysis *a, column_facts *f, const tn_vec *vec, tarn_error *err) {
  const tn_type *type = &f->field->type;
  for (int64_t i = 0; i < vec->length; i++) {
    tn_datum value = tn_vec_datum(vec, i);
    int64_t len;
    if (value.is_null) {
      f->n_nulls++;
      continue;
    }
    len = length_of(type, &value);
    f->n_values++;
    f->sum_len += len;
    f->max_len = len > f->max_len ? len : f->max_len;
    count_distinct(a->env, f, tn_vec_row_hash(vec, i));
    if (!has_text_form(type)) {
      continue;
    }
    if (!f->has_bounds || tn_datum_compare(type, &value, &f->min) < 0) {
      TN_TRY(keep_bound(type, &value, &f->min, &f->min_bytes, err));
    }
    if (!f->has_bounds || tn_datum_compare(type, &value, &f->max) > 0) {
      TN_TRY(keep_bound(type, &value, &f->max, &f->max_bytes, err));
    }
    f->has_bounds = true;
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ reading */

static tarn_status read_rows(analysis *a, const tn_plan *plan, const tn_split **splits,
                             const tarn_cancel *cancel, tarn_error *err) {
  tn_read_options o = {.table = a->table,
                       .fields = a->n > 0 ? a->fields : a->table->schema->fields,
                       .n_fields = a->n > 0 ? a->n : 1,
                       .limit = -1,
                       .cancel = cancel};
  tn_read *read = NULL;
  bool is_end = false;
  tarn_status st = tn_read_create(a->env, &o, splits, plan->n_splits, &read, err);
  while (st == TARN_OK && !is_end) {
    tn_batch batch;
    st = tn_read_next(read, &batch, err);
    if (st != TARN_OK) {
      break;
    }
    is_end = batch.n_rows == 0;
    a->n_rows += batch.n_rows;
    for (int32_t c = 0; c < a->n && !is_end && st == TARN_OK; c++) {
      st = add_column(a, &a->facts[c], &batch.columns[c], err);
    }
    tn_batch_reset(a->env, &batch);
  }
  tn_read_free(read);
  return st;
}

static tarn_status read_table(analysis *a, const tarn_cancel *cancel, tn_arena *arena,
                              tarn_error *err) {
  const tn_scan scan = {.table = a->table, .limit = -1, .cancel = cancel};
  tn_plan *plan = NULL;
  const tn_split **splits;
  tarn_status st;
  TN_TRY(tn_plan_create(&scan, &plan, err));
  splits = tn_arena_calloc(arena, (size_t)plan->n_splits + 1, sizeof(*splits));
  if (splits == NULL) {
    tn_plan_release(plan);
    return tn_oom(err);
  }
  for (int32_t i = 0; i < plan->n_splits; i++) {
    splits[i] = &plan->splits[i];
  }
  st = read_rows(a, plan, splits, cancel, err);
  tn_plan_release(plan);
  return st;
}

/* ------------------------------------------------------------------ what is told */

/* As Java's serializers of a type tell a value (ColStats#serializeFieldsToString): it must parse
 * them to commit again. DATE and TIME are numbers there, TIMESTAMP_LTZ is told in UTC as if it were
 * local. */
static tarn_status bound_text(const analysis *a, const column_facts *f, const tn_datum *bound,
                              tn_arena *arena, const char **out, tarn_error *err) {
  tn_type type = f->field->type;
  tn_buf text;
  tarn_status st;
  if (type.root == TN_DATE || type.root == TN_TIME) {
    *out = tn_arena_printf(arena, "%lld", (long long)bound->v.i64);
    return *out != NULL ? TARN_OK : tn_oom(err);
  }
  tn_buf_init(&text, &a->env->mem, TN_API_TEXT_LIMIT);
  if (type.root == TN_TIMESTAMP_LTZ) {
    type.root = TN_TIMESTAMP;
  }
  st = tn_datum_to_text(&type, bound, a->env->zone, &text, err);
  if (st == TARN_OK) {
    *out = tn_arena_strndup(arena, text.len > 0 ? (const char *)text.data : "", text.len);
    st = *out != NULL ? TARN_OK : tn_oom(err);
  }
  tn_buf_reset(&text);
  return st;
}

static tarn_status tell_column(const analysis *a, const column_facts *f, tn_arena *arena,
                               tn_column_statistics *out, tarn_error *err) {
  *out = (tn_column_statistics){.name = f->field->name,
                                .field_id = f->field->id,
                                .distinct_count = f->is_uncounted ? -1 : (int64_t)f->n_seen,
                                .null_count = f->n_nulls,
                                .max_len = f->max_len};
  out->avg_len = f->n_values > 0 ? (f->sum_len + f->n_values - 1) / f->n_values : 0;
  if (f->has_bounds) {
    TN_TRY(bound_text(a, f, &f->min, arena, &out->min, err));
    TN_TRY(bound_text(a, f, &f->max, arena, &out->max, err));
  }
  return TARN_OK;
}

/* Columns that statistics can be of. */
static tarn_status choose_columns(analysis *a, tn_arena *arena, tarn_error *err) {
  const tn_schema *schema = a->table->schema;
  size_t n = (size_t)schema->n_fields;
  a->fields = tn_arena_calloc(arena, n, sizeof(*a->fields));
  a->facts = tn_arena_calloc(arena, n, sizeof(*a->facts));
  if (a->fields == NULL || a->facts == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < schema->n_fields; i++) {
    const tn_field *field = &schema->fields[i];
    if (tn_type_layout(&field->type) <= TN_LAYOUT_BYTES && field->type.root != TN_BLOB) {
      a->fields[a->n] = *field;
      a->facts[a->n].field = field;
      tn_buf_init(&a->facts[a->n].min_bytes, &a->env->mem, TN_API_TEXT_LIMIT);
      tn_buf_init(&a->facts[a->n].max_bytes, &a->env->mem, TN_API_TEXT_LIMIT);
      a->n++;
    }
  }
  return TARN_OK;
}

tarn_status tn_api_analyze(tn_table *table, bool with_columns, const tarn_cancel *cancel,
                           tn_arena *arena, int64_t *n_rows, tn_column_statistics **columns,
                           int32_t *n_columns, tarn_error *err) {
  analysis a = {.env = table->env, .table = table};
  tn_column_statistics *told = NULL;
  tarn_status st = with_columns ? choose_columns(&a, arena, err) : TARN_OK;
  TN_TRY_TO(done, st);
  TN_TRY_TO(done, read_table(&a, cancel, arena, err));
  told = tn_arena_calloc(arena, (size_t)a.n, sizeof(*told));
  if (told == NULL) {
    st = tn_oom(err);
    goto done;
  }
  for (int32_t i = 0; i < a.n; i++) {
    TN_TRY_TO(done, tell_column(&a, &a.facts[i], arena, &told[i], err));
  }
  *n_rows = a.n_rows;
  *columns = told;
  *n_columns = a.n;
done:
  for (int32_t i = 0; i < a.n; i++) {
    drop_seen(a.env, &a.facts[i]);
    tn_buf_reset(&a.facts[i].min_bytes);
    tn_buf_reset(&a.facts[i].max_bytes);
  }
  return st;
}
