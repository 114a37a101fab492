/* diff_reader.c - two merged states walked side by side. */
#include "read/diff_reader.h"

#include <string.h>

#include "base/bytes.h"
#include "column/equal.h"
#include "column/rowkind.h"

#define BEFORE 0
#define AFTER 1

typedef struct diff_side {
  tn_split split;
  tn_split_reader *reader;
  tn_batch batch; /* _row_kind, then all columns; rows at .. n_rows are left */
  int64_t at;
  bool is_ended;
} diff_side;

typedef struct diff_reader {
  tn_split_reader reader;
  const tn_read_context *c;
  tn_read_context inner; /* of both sides: all columns, keys first; kinds; the key filter */
  tn_arena arena;
  tn_field *fields;
  int32_t n_fields, n_compared;
  bool maps_are_sets;     /* the order of their entries means nothing */
  tn_field *given_fields; /* output and tested columns */
  int32_t *given_from;    /* index into fields */
  int32_t n_given;
  int32_t *out_at; /* o.n_fields: index into given_fields */
  diff_side sides[2];

  tn_row_ref *refs; /* rows found, not given yet */
  int8_t *kinds;
  uint8_t *selected;
  int64_t n_rows, capacity;
} diff_reader;

/* ------------------------------------------------------------------ sameness */

static bool same_fixed(const tn_vec *a, int64_t i, const tn_vec *b, int64_t k) {
  size_t width = tn_layout_width(a->layout);
  const uint8_t *x = (const uint8_t *)a->values + (size_t)i * width;
  const uint8_t *y = (const uint8_t *)b->values + (size_t)k * width;
  if (a->layout == TN_LAYOUT_BIT) {
    return tn_bit_get(a->values, i) == tn_bit_get(b->values, k);
  }
  if (memcmp(x, y, width) == 0) {
    return true;
  }
  /* Every NaN is the same. */
  if (a->layout == TN_LAYOUT_F32) {
    return ((const float *)a->values)[i] != ((const float *)a->values)[i] &&
           ((const float *)b->values)[k] != ((const float *)b->values)[k];
  }
  return a->layout == TN_LAYOUT_F64 &&
         ((const double *)a->values)[i] != ((const double *)a->values)[i] &&
         ((const double *)b->values)[k] != ((const double *)b->values)[k];
}

/* Row i of a and row k of b, flat vectors of one type. Depth: that of the type. */
static bool same_value(const tn_vec *a, int64_t i, const tn_vec *b, int64_t k) {
  bool is_null = tn_vec_is_null(a, i);
  int64_t from_a = i, from_b = k, n = 1;
  if (is_null || tn_vec_is_null(b, k)) {
    return is_null && tn_vec_is_null(b, k);
  }
  switch (a->layout) {
    case TN_LAYOUT_BYTES:
      return tn_slice_equal(tn_vec_bytes(a, i), tn_vec_bytes(b, k));
    case TN_LAYOUT_LIST:
      from_a = a->offsets[i];
      from_b = b->offsets[k];
      n = a->offsets[i + 1] - from_a;
      if (b->offsets[k + 1] - from_b != n) {
        return false;
      }
      break;
    case TN_LAYOUT_FIXED_LIST:
      n = a->type->length;
      from_a = i * n;
      from_b = k * n;
      break;
    case TN_LAYOUT_STRUCT:
      break;
    default:
      return same_fixed(a, i, b, k);
  }
  for (int32_t c = 0; c < a->n_children; c++) {
    for (int64_t e = 0; e < n; e++) {
      if (!same_value(&a->children[c], from_a + e, &b->children[c], from_b + e)) {
        return false;
      }
    }
  }
  return true;
}

static int8_t kind_at(const diff_side *side) {
  return ((const int8_t *)side->batch.columns[0].values)[side->at];
}

static tarn_status compare_rows(const diff_reader *d, bool *is_same, tarn_error *err) {
  const diff_side *a = &d->sides[BEFORE], *b = &d->sides[AFTER];
  *is_same = tn_row_kind_is_retract(kind_at(a)) == tn_row_kind_is_retract(kind_at(b));
  for (int32_t c = 1; c <= d->n_compared && *is_same; c++) {
    const tn_vec *x = &a->batch.columns[c], *y = &b->batch.columns[c];
    if (!d->maps_are_sets) {
      *is_same = same_value(x, a->at, y, b->at);
    } else {
      TN_TRY(tn_vec_rows_equal(&d->c->env->mem, x, a->at, y, b->at, is_same, err));
    }
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ walking */

static bool has_row(const diff_side *side) {
  return side->at < side->batch.n_rows;
}

/* The next batch of a side that has none, unless it has ended. */
static tarn_status fill(diff_reader *d, int32_t which, tarn_error *err) {
  diff_side *side = &d->sides[which];
  if (has_row(side) || side->is_ended) {
    return TARN_OK;
  }
  tn_batch_reset(d->c->env, &side->batch);
  side->at = 0;
  if (side->reader == NULL) {
    TN_TRY(tn_merge_split_read(&d->inner, &side->split, &side->reader, err));
  }
  TN_TRY(side->reader->ops->next(side->reader, &side->batch, err));
  side->is_ended = side->batch.n_rows == 0;
  for (int32_t c = 0; c < side->batch.n_columns; c++) {
    TN_TRY(tn_vec_flatten(d->c->env, &side->batch.columns[c], err));
  }
  return TARN_OK;
}

static int compare_heads(const diff_reader *d) {
  const diff_side *a = &d->sides[BEFORE], *b = &d->sides[AFTER];
  tn_batch x = a->batch, y = b->batch;
  if (!has_row(a) || !has_row(b)) {
    return has_row(a) ? -1 : 1;
  }
  x.columns++; /* behind the kind */
  x.fields++;
  y.columns++;
  y.fields++;
  return tn_key_compare(&x, a->at, &y, b->at, d->inner.o.table->schema->n_key_columns);
}

static void take_row(diff_reader *d, int32_t which, int8_t kind) {
  if (d->c->o.keeps_deletes || !tn_row_kind_is_retract(kind)) {
    d->refs[d->n_rows] = (tn_row_ref){(uint32_t)which, (uint32_t)d->sides[which].at};
    d->kinds[d->n_rows++] = kind;
  }
}

/* Rows that differ, as far as both sides have rows to look at. */
static tarn_status walk(diff_reader *d, tarn_error *err) {
  diff_side *a = &d->sides[BEFORE], *b = &d->sides[AFTER];
  while (d->n_rows < d->capacity && (has_row(a) || a->is_ended) && (has_row(b) || b->is_ended) &&
         (has_row(a) || has_row(b))) {
    int order = compare_heads(d);
    bool is_same = false;
    if (order == 0) {
      TN_TRY(compare_rows(d, &is_same, err));
    }
    if (order < 0 && !tn_row_kind_is_retract(kind_at(a))) {
      take_row(d, BEFORE, TN_ROW_DELETE);
    } else if (order >= 0 && !is_same) {
      take_row(d, AFTER, kind_at(b));
    }
    a->at += order <= 0;
    b->at += order >= 0;
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ output */

/* The rows found as a batch of given_fields. */
static tarn_status gather(diff_reader *d, tn_batch *out, tarn_error *err) {
  TN_TRY(tn_batch_init(d->c->env, d->given_fields, d->n_given, out, err));
  for (int32_t i = 0; i < d->n_given; i++) {
    const tn_vec *sources[2];
    for (int32_t s = 0; s < 2; s++) {
      const tn_batch *batch = &d->sides[s].batch;
      /* An ended side has no columns; nothing refers to it. */
      sources[s] =
          &(batch->n_columns > 0 ? batch : &d->sides[1 - s].batch)->columns[1 + d->given_from[i]];
    }
    TN_TRY(tn_vec_gather(d->c->env, &d->given_fields[i].type, sources, 2, d->refs, d->n_rows,
                         &out->columns[i], err));
  }
  out->n_rows = d->n_rows;
  return TARN_OK;
}

/* Keep the rows that the predicate lets pass: their places in `rows`, n_rows of them. */
static tarn_status filter(diff_reader *d, const tn_batch *found, uint32_t *rows, tarn_error *err) {
  int64_t n = 0;
  memset(d->selected, 0xff, TN_BITMAP_BYTES(d->n_rows));
  if (d->c->o.predicate != NULL) {
    TN_TRY(tn_pred_filter(d->c->env, d->c->o.predicate, found, d->selected, err));
  }
  for (int64_t i = 0; i < d->n_rows; i++) {
    if (tn_bit_get(d->selected, i)) {
      d->kinds[n] = d->kinds[i];
      rows[n++] = (uint32_t)i;
    }
  }
  d->n_rows = n;
  return TARN_OK;
}

static tarn_status give(diff_reader *d, const tn_batch *found, const uint32_t *rows, tn_batch *out,
                        tarn_error *err) {
  tarn_env *env = d->c->env;
  int32_t n_before = d->c->o.with_row_kind ? 1 : 0;
  TN_TRY(tn_batch_init(env, d->c->out_fields, d->c->n_out, out, err));
  if (n_before > 0) {
    TN_TRY(tn_vec_alloc(env, &out->columns[0], d->n_rows, 0, err));
    memcpy(out->columns[0].values, d->kinds, (size_t)d->n_rows);
  }
  for (int32_t i = 0; i < d->c->o.n_fields; i++) {
    tn_vec *to = &out->columns[n_before + i];
    TN_TRY(tn_vec_take(env, &found->columns[d->out_at[i]], rows, d->n_rows, to, err));
    tn_vec_retype(to, &d->c->o.fields[i].type); /* batches outlive this reader's fields */
  }
  out->n_rows = d->n_rows;
  out->first_position = -1;
  return TARN_OK;
}

static tarn_status give_rows(diff_reader *d, tn_batch *out, tarn_error *err) {
  tn_mem *mem = &d->c->env->mem;
  tn_batch found = {0};
  uint32_t *rows = tn_alloc(mem, ((size_t)d->n_rows + 1) * sizeof(*rows));
  tarn_status st = TARN_OK;
  if (rows == NULL) {
    return tn_oom(err);
  }
  TN_TRY_TO(done, gather(d, &found, err));
  TN_TRY_TO(done, filter(d, &found, rows, err));
  if (d->n_rows > 0) {
    TN_TRY_TO(done, give(d, &found, rows, out, err));
  }
done:
  tn_batch_reset(d->c->env, &found);
  tn_free(mem, rows);
  d->n_rows = 0;
  if (st != TARN_OK) {
    tn_batch_reset(d->c->env, out);
  }
  return st;
}

static tarn_status diff_next(tn_split_reader *reader, tn_batch *out, tarn_error *err) {
  diff_reader *d = TN_CONTAINER_OF(reader, diff_reader, reader);
  while (out->n_rows == 0) {
    TN_TRY(tn_cancel_check(d->c->o.cancel, err));
    TN_TRY(fill(d, BEFORE, err));
    TN_TRY(fill(d, AFTER, err));
    if (d->sides[BEFORE].is_ended && d->sides[AFTER].is_ended) {
      return TARN_OK;
    }
    TN_TRY(walk(d, err));
    if (d->n_rows > 0) {
      TN_TRY(give_rows(d, out, err));
    }
  }
  return TARN_OK;
}

static void diff_free(tn_split_reader *reader) {
  diff_reader *d = TN_CONTAINER_OF(reader, diff_reader, reader);
  tn_mem *mem = &d->c->env->mem;
  for (int32_t i = 0; i < 2; i++) {
    tn_batch_reset(d->c->env, &d->sides[i].batch);
    tn_split_reader_free(d->sides[i].reader);
  }
  tn_arena_reset(&d->arena);
  tn_free(mem, d);
}

static const tn_split_reader_ops diff_ops = {diff_next, diff_free};

/* ------------------------------------------------------------------ create */

/* All columns, keys first, and what is asked for beside the table's own. */
static tarn_status lay_out_inner(diff_reader *d, tarn_error *err) {
  const tn_read_options *o = &d->c->o;
  const tn_schema *schema = o->table->schema;
  size_t n_max = (size_t)schema->n_fields + (size_t)schema->n_key_columns + (size_t)o->n_fields + 1;
  tn_field *out_fields = tn_arena_calloc(&d->arena, n_max + 1, sizeof(*out_fields));
  d->fields = tn_arena_calloc(&d->arena, n_max, sizeof(*d->fields));
  if (d->fields == NULL || out_fields == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < schema->n_key_columns; i++) {
    d->fields[d->n_fields++] = schema->fields[schema->key_columns[i]];
  }
  for (int32_t i = 0; i < schema->n_fields; i++) {
    (void)tn_fields_add(d->fields, &d->n_fields, &schema->fields[i]);
  }
  d->n_compared = d->n_fields;
  for (int32_t i = 0; i < o->n_fields; i++) {
    (void)tn_fields_add(d->fields, &d->n_fields, &o->fields[i]);
  }
  out_fields[0] =
      (tn_field){.id = TN_FIELD_ID_ROWKIND, .name = "_row_kind", .type = {.root = TN_TINYINT}};
  memcpy(out_fields + 1, d->fields, (size_t)d->n_fields * sizeof(*d->fields));
  d->inner = *d->c;
  d->inner.o.fields = d->fields;
  d->inner.o.n_fields = d->n_fields;
  d->inner.o.predicate = d->c->key_filter;
  d->inner.o.limit = -1;
  d->inner.o.with_row_kind = true;
  d->inner.out_fields = out_fields;
  d->inner.n_out = d->n_fields + 1;
  d->inner.value_filter = NULL;
  return TARN_OK;
}

static tarn_status lay_out_given(diff_reader *d, tarn_error *err) {
  const tn_read_options *o = &d->c->o;
  size_t n_max = (size_t)d->n_fields + (size_t)o->n_fields + 1;
  d->given_fields = tn_arena_calloc(&d->arena, n_max, sizeof(*d->given_fields));
  d->given_from = tn_arena_calloc(&d->arena, n_max, sizeof(*d->given_from));
  d->out_at = tn_arena_calloc(&d->arena, (size_t)o->n_fields + 1, sizeof(*d->out_at));
  d->capacity = d->c->batch_rows;
  d->refs = tn_arena_calloc(&d->arena, (size_t)d->capacity + 1, sizeof(*d->refs));
  d->kinds = tn_arena_calloc(&d->arena, (size_t)d->capacity + 1, sizeof(*d->kinds));
  d->selected = tn_arena_calloc(&d->arena, TN_BITMAP_BYTES(d->capacity) + 8, 1);
  if (d->given_fields == NULL || d->given_from == NULL || d->out_at == NULL || d->refs == NULL ||
      d->kinds == NULL || d->selected == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < o->n_fields; i++) {
    d->out_at[i] = tn_fields_add(d->given_fields, &d->n_given, &o->fields[i]);
  }
  tn_fields_add_tested(d->c, o->predicate, d->given_fields, &d->n_given);
  for (int32_t i = 0; i < d->n_given; i++) {
    int32_t n = d->n_fields;
    d->given_from[i] = tn_fields_add(d->fields, &n, &d->given_fields[i]);
  }
  return TARN_OK;
}

/* Readers of Avro put entries of maps into an order of their own: that of a hash table. */
static bool is_all_avro(const tn_split *split) {
  static const char suffix[] = ".avro";
  const size_t n = sizeof(suffix) - 1;
  for (int32_t i = 0; i < split->n_before + split->n_files; i++) {
    const tn_data_file *file =
        i < split->n_before ? &split->before[i] : &split->files[i - split->n_before];
    if (file->file_name.len < n ||
        memcmp(file->file_name.data + file->file_name.len - n, suffix, n) != 0) {
      return false;
    }
  }
  return true;
}

tarn_status tn_diff_split_read(const tn_read_context *c, const tn_split *split,
                               tn_split_reader **out, tarn_error *err) {
  diff_reader *d = tn_calloc(&c->env->mem, 1, sizeof(*d));
  tarn_status st = TARN_OK;
  *out = NULL;
  if (d == NULL) {
    return tn_oom(err);
  }
  d->reader.ops = &diff_ops;
  d->c = c;
  d->maps_are_sets = is_all_avro(split);
  d->sides[BEFORE].split = tn_split_state(split, true);
  d->sides[AFTER].split = tn_split_state(split, false);
  tn_arena_init(&d->arena, &c->env->mem, (size_t)1 << 30);
  TN_TRY_TO(done, lay_out_inner(d, err));
  TN_TRY_TO(done, lay_out_given(d, err));
done:
  if (st != TARN_OK) {
    diff_free(&d->reader);
    return st;
  }
  *out = &d->reader;
  return TARN_OK;
}
