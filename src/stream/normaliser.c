/* normaliser.c - rows against the last ones of their keys.
 *
 * Rows go through as bytes: what comes in is encoded once, compared with what was kept, and the
 * rows that go out are decoded into new vectors.
 */
#include "stream/normaliser.h"

#include <string.h>

#include "codec/hash.h"
#include "column/rowkind.h"
#include "lookup/row_code.h"

#define NORMALISER_LAYOUT 1 /* of the rows in files */
#define BYTES_LIMIT ((size_t)4 << 30)

/* A row that goes out. */
typedef struct change {
  int8_t kind;
  uint32_t row;      /* that made it */
  size_t begin, end; /* of its bytes */
} change;

struct tn_normaliser {
  tarn_env *env;
  tn_row_store *store;
  const tn_field *fields; /* borrowed */
  int32_t n_fields;
  int32_t *keys; /* owned; columns without the kind */
  int32_t n_keys;
  int32_t *kept; /* owned; columns that are kept, without the kind: places first */
  int32_t n_kept, n_places;
  bool *is_passed; /* owned; by columns without the kind */
  bool keeps_unchanged, is_broken;
  tn_buf key, bytes;
  change *changes; /* owned */
  size_t n_changes, capacity;
};

/* ------------------------------------------------------------------ life */

/* What rows look like: names and types of the columns that are kept, and which are the key. */
static tarn_status hash_layout(const tn_normaliser *n, uint64_t *out, tarn_error *err) {
  tn_buf text;
  tarn_status st;
  tn_buf_init(&text, &n->env->mem, (size_t)1 << 28);
  TN_TRY_TO(done, tn_buf_printf(&text, err, "%d", NORMALISER_LAYOUT));
  for (int32_t i = 0; i < n->n_kept; i++) {
    const tn_field *f = &n->fields[n->kept[i] + 1];
    TN_TRY_TO(done, tn_buf_printf(&text, err, "\n%s ", f->name));
    TN_TRY_TO(done, tn_type_to_sql(&f->type, &text, err));
  }
  for (int32_t i = 0; i < n->n_keys; i++) {
    TN_TRY_TO(done, tn_buf_printf(&text, err, "\n%s", n->fields[n->keys[i] + 1].name));
  }
  *out = tn_xxh64(text.data, text.len, 0);
  st = TARN_OK;
done:
  tn_buf_reset(&text);
  return st;
}

static bool is_kept(const tn_normaliser *n, int32_t column) {
  bool is_there = false;
  for (int32_t i = 0; i < n->n_kept; i++) {
    is_there |= n->kept[i] == column;
  }
  return is_there;
}

/* Rows begin with their places, which can be compared without the rest. */
static tarn_status order_columns(tn_normaliser *n, const tn_normaliser_options *o,
                                 tarn_error *err) {
  for (int32_t i = 0; i < o->n_places; i++) {
    if (o->places[i] < 1 || o->places[i] >= o->n_fields || n->is_passed[o->places[i] - 1]) {
      return tn_fail(err, TARN_E_INVALID, "a column of the place is no column of the rows");
    }
    if (!is_kept(n, o->places[i] - 1)) {
      n->kept[n->n_kept++] = o->places[i] - 1;
    }
  }
  n->n_places = n->n_kept;
  for (int32_t i = 0; i < o->n_fields - 1; i++) {
    if (!n->is_passed[i] && !is_kept(n, i)) {
      n->kept[n->n_kept++] = i;
    }
  }
  return TARN_OK;
}

static tarn_status take_options(tn_normaliser *n, const tn_normaliser_options *o, tarn_error *err) {
  n->fields = o->fields;
  n->n_fields = o->n_fields;
  n->n_keys = o->n_keys;
  n->keeps_unchanged = o->keeps_unchanged;
  n->keys = tn_calloc(&n->env->mem, (size_t)o->n_keys + 1, sizeof(*n->keys));
  n->kept = tn_calloc(&n->env->mem, (size_t)o->n_fields + 1, sizeof(*n->kept));
  n->is_passed = tn_calloc(&n->env->mem, (size_t)o->n_fields + 1, sizeof(*n->is_passed));
  if (n->keys == NULL || n->kept == NULL || n->is_passed == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 1; i < o->n_fields && o->is_passed != NULL; i++) {
    n->is_passed[i - 1] = o->is_passed[i];
  }
  for (int32_t i = 0; i < o->n_keys; i++) {
    if (o->keys[i] < 1 || o->keys[i] >= o->n_fields || n->is_passed[o->keys[i] - 1]) {
      return tn_fail(err, TARN_E_INVALID, "a column of the key is no column of the rows");
    }
    n->keys[i] = o->keys[i] - 1;
  }
  TN_TRY(order_columns(n, o, err));
  return o->n_keys > 0 ? TARN_OK : tn_fail(err, TARN_E_INVALID, "rows without a key");
}

tarn_status tn_normaliser_create(tarn_env *env, const tn_normaliser_options *options,
                                 tn_normaliser **out, tarn_error *err) {
  tn_normaliser *n = tn_calloc(&env->mem, 1, sizeof(*n));
  tn_row_store_options store = options->store;
  tarn_status st;
  *out = NULL;
  if (n == NULL) {
    return tn_oom(err);
  }
  n->env = env;
  tn_buf_init(&n->key, &env->mem, (size_t)1 << 30);
  tn_buf_init(&n->bytes, &env->mem, BYTES_LIMIT);
  TN_TRY_TO(fail, take_options(n, options, err));
  TN_TRY_TO(fail, hash_layout(n, &store.layout, err));
  TN_TRY_TO(fail, tn_row_store_create(env, &store, &n->store, err));
  *out = n;
  return TARN_OK;
fail:
  tn_normaliser_free(n);
  return st;
}

void tn_normaliser_free(tn_normaliser *n) {
  if (n != NULL) {
    tn_mem *mem = &n->env->mem;
    tn_row_store_free(n->store);
    tn_buf_reset(&n->key);
    tn_buf_reset(&n->bytes);
    tn_free(mem, n->changes);
    tn_free(mem, n->keys);
    tn_free(mem, n->kept);
    tn_free(mem, n->is_passed);
    tn_free(mem, n);
  }
}

tn_row_store *tn_normaliser_store(tn_normaliser *n) {
  return n->store;
}

void tn_normaliser_break(tn_normaliser *n) {
  n->is_broken = true;
}

tarn_status tn_normaliser_checkpoint(tn_normaliser *n, tn_buf *out, tarn_error *err) {
  return n->is_broken ? tn_fail(err, TARN_E_STATE,
                                "a call of the normaliser failed before: what it "
                                "keeps is not that of any row")
                      : tn_row_store_checkpoint(n->store, out, err);
}

/* ------------------------------------------------------------------ rows */

static tarn_status add_change(tn_normaliser *n, int8_t kind, int64_t row, size_t begin, size_t end,
                              tarn_error *err) {
  if (n->n_changes == n->capacity) {
    size_t capacity = n->capacity < 1024 ? 1024 : n->capacity * 2;
    change *grown = tn_realloc(&n->env->mem, n->changes, capacity * sizeof(*grown));
    if (grown == NULL) {
      return tn_oom(err);
    }
    n->changes = grown;
    n->capacity = capacity;
  }
  n->changes[n->n_changes++] = (change){kind, (uint32_t)row, begin, end};
  return TARN_OK;
}

static tarn_status put_key(tn_normaliser *n, const tn_batch *rows, int64_t row, tarn_error *err) {
  n->key.len = 0;
  for (int32_t i = 0; i < n->n_keys; i++) {
    const tn_vec *column = &rows->columns[n->keys[i]];
    if (tn_vec_is_null(column, row)) {
      return tn_fail(err, TARN_E_INVALID, "row %lld: column '%s' of the key is null",
                     (long long)row, n->fields[n->keys[i] + 1].name);
    }
    TN_TRY(tn_row_put_key(&n->key, column, row, err));
  }
  return TARN_OK;
}

/* The first n_columns of those that are kept. */
static tarn_status put_row(tn_normaliser *n, const tn_batch *rows, int64_t row, int32_t n_columns,
                           tarn_error *err) {
  for (int32_t i = 0; i < n_columns; i++) {
    TN_TRY(tn_row_put(&n->bytes, &rows->columns[n->kept[i]], row, err));
  }
  return TARN_OK;
}

/* bytes: the row that was kept, from `old` to their end. */
static tarn_status retract_row(tn_normaliser *n, tn_row_place *place, const tn_batch *rows,
                               int64_t row, size_t old, tarn_error *err) {
  size_t begin = n->bytes.len, n_place;
  const uint8_t *bytes;
  if (place->offset == 0) {
    return TARN_OK;
  }
  TN_TRY(put_row(n, rows, row, n->n_places, err));
  n_place = n->bytes.len - begin;
  bytes = n->bytes.data;
  if (n_place > begin - old || (n_place > 0 && memcmp(bytes + old, bytes + begin, n_place) != 0)) {
    n->bytes.len = old;
    return TARN_OK;
  }
  TN_TRY(add_change(n, TN_ROW_DELETE, row, old, begin, err));
  return tn_row_store_remove(n->store, place, tn_buf_slice(&n->key), err);
}

static tarn_status apply_row(tn_normaliser *n, int8_t kind, const tn_batch *rows, int64_t row,
                             tarn_error *err) {
  size_t old = n->bytes.len, begin, end;
  tn_row_place place;
  TN_TRY(put_key(n, rows, row, err));
  TN_TRY(tn_row_store_find(n->store, tn_buf_slice(&n->key), &place, &n->bytes, err));
  begin = n->bytes.len;
  if (tn_row_kind_is_retract(kind)) {
    return retract_row(n, &place, rows, row, old, err);
  }
  TN_TRY(put_row(n, rows, row, n->n_kept, err));
  end = n->bytes.len;
  if (place.offset == 0) {
    TN_TRY(add_change(n, TN_ROW_INSERT, row, begin, end, err));
  } else {
    bool is_same =
        end - begin == begin - old &&
        (end == begin || memcmp(n->bytes.data + old, n->bytes.data + begin, end - begin) == 0);
    if (is_same && !n->keeps_unchanged) {
      n->bytes.len = old;
      return TARN_OK;
    }
    TN_TRY(add_change(n, TN_ROW_UPDATE_BEFORE, row, old, begin, err));
    TN_TRY(add_change(n, TN_ROW_UPDATE_AFTER, row, begin, end, err));
    if (is_same) {
      return TARN_OK;
    }
  }
  return tn_row_store_put(n->store, &place, tn_buf_slice(&n->key),
                          tn_slice_of(n->bytes.data + begin, end - begin), err);
}

/* ------------------------------------------------------------------ columns */

static tarn_status fill_kinds(const tn_normaliser *n, tn_vec *out, tarn_error *err) {
  int8_t *kinds;
  TN_TRY(tn_vec_alloc(n->env, out, (int64_t)n->n_changes, 0, err));
  kinds = out->values;
  for (size_t i = 0; i < n->n_changes; i++) {
    kinds[i] = n->changes[i].kind;
  }
  return TARN_OK;
}

static tarn_status fill_passed(const tn_normaliser *n, const tn_vec *from, tn_vec *out,
                               tarn_error *err) {
  uint32_t *rows = tn_alloc(&n->env->mem, n->n_changes * sizeof(*rows));
  tarn_status st;
  if (rows == NULL) {
    return tn_oom(err);
  }
  for (size_t i = 0; i < n->n_changes; i++) {
    rows[i] = n->changes[i].row;
  }
  st = tn_vec_take(n->env, from, rows, (int64_t)n->n_changes, out, err);
  tn_free(&n->env->mem, rows);
  return st;
}

static tarn_status fill_rows(const tn_normaliser *n, tn_batch *out, tarn_error *err) {
  for (int32_t c = 0; c < n->n_kept; c++) {
    TN_TRY(tn_row_vec_begin(n->env, (int64_t)n->n_changes, &out->columns[n->kept[c] + 1], err));
  }
  for (size_t i = 0; i < n->n_changes; i++) {
    tn_row_cursor at = {n->bytes.data + n->changes[i].begin, n->bytes.data + n->changes[i].end};
    for (int32_t c = 0; c < n->n_kept; c++) {
      TN_TRY(tn_row_take(n->env, &at, false, &out->columns[n->kept[c] + 1], err));
    }
  }
  for (int32_t c = 0; c < n->n_kept; c++) {
    TN_TRY(tn_row_vec_end(n->env, &out->columns[n->kept[c] + 1], err));
  }
  return TARN_OK;
}

static tarn_status fill(const tn_normaliser *n, const tn_batch *rows, tn_batch *out,
                        tarn_error *err) {
  out->n_rows = (int64_t)n->n_changes;
  TN_TRY(fill_kinds(n, &out->columns[0], err));
  for (int32_t c = 1; c < n->n_fields; c++) {
    if (n->is_passed[c - 1]) {
      TN_TRY(fill_passed(n, &rows->columns[c - 1], &out->columns[c], err));
    }
  }
  return fill_rows(n, out, err);
}

static tarn_status apply(tn_normaliser *n, const int8_t *kinds, tn_batch *rows, tn_batch *out,
                         tarn_error *err) {
  if (rows->n_columns != n->n_fields - 1 || rows->n_rows > UINT32_MAX) {
    return TN_BUG(err, "rows of other columns, or too many of them");
  }
  for (int32_t i = 0; i < rows->n_columns; i++) {
    TN_TRY(tn_vec_flatten(n->env, &rows->columns[i], err));
  }
  n->n_changes = 0;
  n->bytes.len = 0;
  for (int64_t i = 0; i < rows->n_rows; i++) {
    if (kinds[i] < TN_ROW_INSERT || kinds[i] > TN_ROW_DELETE) {
      return tn_fail(err, TARN_E_INVALID, "row %lld: a row kind of %d", (long long)i,
                     (int)kinds[i]);
    }
    TN_TRY(apply_row(n, kinds[i], rows, i, err));
  }
  return n->n_changes > 0 ? fill(n, rows, out, err) : TARN_OK;
}

tarn_status tn_normaliser_apply(tn_normaliser *n, const int8_t *kinds, tn_batch *rows,
                                tn_batch *out, tarn_error *err) {
  tarn_status st;
  memset(out, 0, sizeof(*out));
  if (n->is_broken) {
    return tn_fail(err, TARN_E_STATE, "a call of the normaliser failed before: begin anew");
  }
  TN_TRY(tn_batch_init(n->env, n->fields, n->n_fields, out, err));
  st = apply(n, kinds, rows, out, err);
  if (st != TARN_OK) {
    n->is_broken = true;
    tn_batch_reset(n->env, out);
  }
  return st;
}
