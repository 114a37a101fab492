/* system_test.c - system tables read to text. */
#include "system_test.h"

#include <stdio.h>
#include <string.h>

void st_begin(system_test *t, int32_t threads) {
  memset(t, 0, sizeof(*t));
  tm_begin(&t->tm, threads);
  tn_buf_init(&t->text, &t->tm.env->mem, 1u << 24);
  t->limit = -1;
}

void st_end(system_test *t) {
  tn_buf_reset(&t->text);
  tn_table_release(t->table);
  tm_end(&t->tm);
}

void st_open(system_test *t, const char *dynamic) {
  tn_table *opened = tm_table(&t->tm, dynamic);
  tn_table_release(t->table);
  t->table = NULL;
  t->dynamic = dynamic;
  OK(tn_plan_travel(opened, &t->table, err));
  tn_table_release(opened);
}

/* ------------------------------------------------------------------ text */

static void put(tarn_env *env, const tn_vec *vec, int64_t row, tn_buf *out);

static void put_items(tarn_env *env, const tn_vec *vec, int64_t row, tn_buf *out) {
  OK(tn_buf_text(out, "[", err));
  for (int32_t i = vec->offsets[row]; i < vec->offsets[row + 1]; i++) {
    OK(tn_buf_text(out, i > vec->offsets[row] ? "," : "", err));
    put(env, &vec->children[0], i, out);
  }
  OK(tn_buf_text(out, "]", err));
}

static void put(tarn_env *env, const tn_vec *vec, int64_t row, tn_buf *out) {
  tn_datum value;
  if (tn_vec_is_null(vec, row)) {
    OK(tn_buf_text(out, "null", err));
  } else if (vec->layout == TN_LAYOUT_LIST) {
    put_items(env, vec, row, out);
  } else if (vec->layout == TN_LAYOUT_STRUCT) {
    for (int32_t i = 0; i < vec->n_children; i++) {
      OK(tn_buf_text(out, i > 0 ? "," : "(", err));
      put(env, &vec->children[i], row, out);
    }
    OK(tn_buf_text(out, ")", err));
  } else {
    value = tn_vec_datum(vec, row);
    OK(tn_datum_to_text(vec->type, &value, env->zone, out, err));
  }
}

void st_text(tarn_env *env, const tn_batch *batch, tn_buf *out) {
  for (int64_t row = 0; row < batch->n_rows; row++) {
    OK(tn_buf_text(out, out->len > 0 ? ";" : "", err));
    for (int32_t c = 0; c < batch->n_columns; c++) {
      OK(tn_buf_text(out, c > 0 ? "|" : "", err));
      put(env, &batch->columns[c], row, out);
    }
  }
}

/* ------------------------------------------------------------------ reading */

static const char *next_part(const char **list, char end, char *out, size_t size) {
  size_t n = strcspn(*list, (char[]){end, '\0'});
  assert_true(n < size);
  memcpy(out, *list, n);
  out[n] = '\0';
  *list += n + ((*list)[n] != '\0');
  return out;
}

static int32_t split_options(const char *dynamic, tn_option *out, char texts[8][2][64]) {
  int32_t n = 0;
  while (dynamic != NULL && *dynamic != '\0') {
    const char *option;
    char both[128];
    option = next_part(&dynamic, ';', both, sizeof(both));
    out[n].key = next_part(&option, '=', texts[n][0], 64);
    out[n].value = strcpy(texts[n][1], option);
    n++;
  }
  return n;
}

static tarn_status open_system(system_test *t, tn_system **out, tarn_error *err) {
  tn_option options[8];
  char texts[8][2][64];
  int32_t n = split_options(t->dynamic, options, texts);
  return tn_system_open(t->table, t->system, options, n, out, err);
}

static void select_fields(system_test *t, const tn_system *system, tn_system_request *q,
                          tn_field *fields) {
  const char *names = t->select;
  char name[64];
  q->fields = system->fields;
  q->n_fields = system->n_fields;
  if (names == NULL) {
    return;
  }
  for (q->n_fields = 0; *names != '\0'; q->n_fields++) {
    int32_t at = tn_fields_find(system->fields, system->n_fields,
                                tn_slice_text(next_part(&names, ',', name, sizeof(name))));
    assert_true(at >= 0);
    fields[q->n_fields] = system->fields[at];
  }
  q->fields = fields;
}

tarn_status st_read(system_test *t, tarn_error *error) {
  tn_system_request q = {
      .limit = t->limit, .batch_rows = t->batch_rows, .with_row_kind = t->with_row_kind};
  tn_system_read *read = NULL;
  tn_system *system = NULL;
  tn_field fields[32];
  tarn_status st;
  t->text.len = 0;
  t->n_batches = 0;
  st = open_system(t, &system, error);
  if (st != TARN_OK) {
    return st;
  }
  q.system = system;
  select_fields(t, system, &q, fields);
  if (t->where != NULL) {
    OK(tn_pred_parse(&t->tm.arena, system->fields, system->n_fields, t->tm.env->zone,
                     tn_slice_text(t->where), &q.predicate, NULL, err));
  }
  st = tn_system_read_create(&q, &read, error);
  while (st == TARN_OK) {
    tn_batch batch;
    bool is_end;
    memset(&batch, 0, sizeof(batch));
    st = tn_system_read_next(read, &batch, error);
    is_end = st != TARN_OK || batch.n_rows == 0;
    if (!is_end) {
      t->n_batches++;
      for (int32_t c = 0; c < batch.n_columns; c++) {
        assert_int_equal(batch.columns[c].encoding, TN_VEC_FLAT);
        assert_int_equal(batch.columns[c].length, batch.n_rows);
        OK(tn_vec_validate(&batch.columns[c], err));
      }
      st_text(t->tm.env, &batch, &t->text);
    }
    tn_batch_reset(t->tm.env, &batch);
    if (is_end) {
      break;
    }
  }
  tn_system_read_free(read);
  tn_system_free(system);
  return st;
}

void st_assert(system_test *t, const char *expected) {
  tarn_error error = {0};
  if (st_read(t, &error) != TARN_OK) {
    fail_msg("%s", error.message);
  }
  OK(tn_buf_append(&t->text, "", 1, err));
  assert_string_equal((const char *)t->text.data, expected);
}

void st_assert_fails(system_test *t, tarn_status status, const char *text) {
  tarn_error error = {0};
  assert_int_equal(st_read(t, &error), status);
  if (strstr(error.message, text) == NULL) {
    fail_msg("\"%s\" lacks \"%s\"", error.message, text);
  }
}

void st_assert_columns(system_test *t, const char *expected) {
  tn_system *system = NULL;
  OK(open_system(t, &system, err));
  t->text.len = 0;
  for (int32_t i = 0; i < system->n_fields; i++) {
    OK(tn_buf_printf(&t->text, err, "%s%s ", i > 0 ? ", " : "", system->fields[i].name));
    OK(tn_type_to_sql(&system->fields[i].type, &t->text, err));
  }
  OK(tn_buf_append(&t->text, "", 1, err));
  assert_string_equal((const char *)t->text.data, expected);
  tn_system_free(system);
}
