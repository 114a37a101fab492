/* merge_test.c - runs from text, an input that gives them, rows to text. */
#include "merge_test.h"

#include <stdio.h>
#include <stdlib.h>

#include "step_test.h"
#include "support/torture.h"

void merge_test_begin(merge_test *m, tarn_env *env, const char *key_sql, bool has_user_sequence) {
  memset(m, 0, sizeof(*m));
  m->env = env;
  tn_arena_init(&m->arena, &env->mem, 1u << 24);
  m->key_fields[0].name = "k";
  m->key_fields[1] =
      (tn_field){.id = 1, .name = "user", .type = {.root = TN_INT, .is_nullable = true}};
  m->value_fields[0] = (tn_field){.id = 2, .name = "v"};
  if (tn_type_from_sql(&m->arena, key_sql, NULL, &m->key_fields[0].type, NULL) != TARN_OK ||
      tn_type_from_sql(&m->arena, "STRING", NULL, &m->value_fields[0].type, NULL) != TARN_OK) {
    return; /* out of memory: merge_to_text will tell */
  }
  m->out_fields[0] = m->key_fields[0];
  m->out_fields[1] = m->value_fields[0];
  m->out_columns[1] = -1;
  m->spec = (tn_merge_spec){.key_fields = m->key_fields,
                            .n_keys = 1,
                            .n_sequence_fields = has_user_sequence ? 1 : 0,
                            .n_key_fields = has_user_sequence ? 2 : 1,
                            .value_fields = m->value_fields,
                            .n_value_fields = 1,
                            .out_fields = m->out_fields,
                            .out_columns = m->out_columns,
                            .n_out_columns = 2,
                            .engine = &tn_engine_deduplicate,
                            .batch_rows = 8192,
                            .input_rows = 8192};
}

void merge_test_open(merge_test *m, const char *key_sql, bool has_user_sequence) {
  merge_test_begin(m, tn_test_env(1, 0), key_sql, has_user_sequence);
  m->owns_env = true;
}

void merge_test_end(merge_test *m) {
  for (int32_t i = 0; i < m->n_runs; i++) {
    free(m->runs[i].rows);
  }
  tn_arena_reset(&m->arena);
  if (m->owns_env) {
    tarn_env_free(m->env);
  }
}

/* ------------------------------------------------------------------ runs */

static void copy_field(char *to, size_t size, const char *from, const char *end) {
  size_t n = (size_t)(end - from);
  assert_true(n < size);
  memcpy(to, from, n);
  to[n] = '\0';
}

static void parse_row(const char *text, const char *end, test_row *row) {
  const char *parts[5] = {text}, *ends[5];
  int n = 1;
  for (const char *p = text; p < end; p++) {
    if (*p == ':' && n < 5) {
      ends[n - 1] = p;
      parts[n++] = p + 1;
    }
  }
  ends[n - 1] = end;
  assert_true(n >= 4);
  copy_field(row->key, sizeof(row->key), parts[0], ends[0]);
  row->sequence = strtoll(parts[1], NULL, 10);
  row->kind = *parts[2] == '+' ? 0 : *parts[2] == 'b' ? 1 : *parts[2] == 'u' ? 2 : 3;
  copy_field(row->value, sizeof(row->value), parts[3], ends[3]);
  if (n == 5) {
    copy_field(row->user, sizeof(row->user), parts[4], ends[4]);
  }
}

static tarn_status make_column(merge_test *m, const test_run *run, const tn_field *field, int which,
                               tn_vec *out, tarn_error *err) {
  size_t size = 64 * (size_t)(run->at - run->given + 1), at = 1;
  char *json = malloc(size);
  tarn_status st;
  bool is_text = tn_type_layout(&field->type) == TN_LAYOUT_BYTES;
  json[0] = '[';
  for (int32_t i = run->given; i < run->at; i++) {
    const test_row *row = &run->rows[i];
    const char *text = which == 0 ? row->key : which == 1 ? row->user : row->value;
    const char *quote = is_text ? "\"" : "";
    if (which == 1 && strcmp(text, "-") == 0) {
      text = "null";
    }
    at += (size_t)snprintf(json + at, size - at, "%s%s%s%s", i > run->given ? "," : "", quote, text,
                           quote);
  }
  snprintf(json + at, size - at, "]");
  st = build_vec(m->env, &field->type, json, out, err);
  free(json);
  return st;
}

static tarn_status run_next(tn_merge_input *input, int64_t max_rows, tn_merge_rows *out,
                            tarn_error *err) {
  test_run *run = TN_CONTAINER_OF(input, test_run, input);
  merge_test *m = run->t;
  int32_t n;
  bool has_deleted = false;
  if (run->fails_next != TARN_OK && run->at > 0) {
    return tn_fail(err, run->fails_next, "next fails");
  }
  run->given = run->at;
  while (run->at < run->n_rows && run->at - run->given < max_rows &&
         (run->at == run->given || !run->rows[run->at].begins_batch)) {
    has_deleted |= run->rows[run->at++].is_deleted;
  }
  n = run->at - run->given;
  if (n == 0) {
    return TARN_OK;
  }
  TN_TRY(tn_batch_init(m->env, m->key_fields, m->spec.n_key_fields, &out->keys, err));
  for (int32_t c = 0; c < m->spec.n_key_fields; c++) {
    tn_vec_reset(m->env, &out->keys.columns[c]);
    TN_TRY(make_column(m, run, &m->key_fields[c], c, &out->keys.columns[c], err));
  }
  out->keys.n_rows = n;
  out->keys.first_position = run->given;
  TN_TRY(tn_buffer_create(m->env, (size_t)n * 8, &out->sequences_buffer, err));
  TN_TRY(tn_buffer_create(m->env, (size_t)n, &out->kinds_buffer, err));
  if (has_deleted) {
    TN_TRY(tn_buffer_create(m->env, (size_t)n, &out->alive_buffer, err));
    out->alive = out->alive_buffer->data;
  }
  out->sequences = (int64_t *)(void *)out->sequences_buffer->data;
  out->kinds = (int8_t *)(void *)out->kinds_buffer->data;
  for (int32_t i = 0; i < n; i++) {
    const test_row *row = &run->rows[run->given + i];
    out->sequences[i] = row->sequence;
    out->kinds[i] = row->kind;
    if (has_deleted) {
      out->alive[i / 8] = (uint8_t)(i % 8 == 0 ? 0 : out->alive[i / 8]);
      out->alive[i / 8] |= (uint8_t)(!row->is_deleted << (i % 8));
    }
  }
  out->sequence = out->sequences[0];
  if (run->has_constant_sequence) {
    out->sequences = NULL;
  }
  out->level = run->rows[run->given].level;
  out->rank = run->rows[run->given].rank;
  out->file = (int32_t)(run - m->runs);
  out->is_looked_up = run->rows[run->given].is_looked_up;
  out->path = "the-run";
  return TARN_OK;
}

static tarn_status run_values(tn_merge_input *input, tn_batch *out, tarn_error *err) {
  test_run *run = TN_CONTAINER_OF(input, test_run, input);
  merge_test *m = run->t;
  run->n_values_calls++;
  if (run->fails_values != TARN_OK) {
    return tn_fail(err, run->fails_values, "values fail");
  }
  TN_TRY(tn_batch_init(m->env, m->value_fields, 1, out, err));
  tn_vec_reset(m->env, &out->columns[0]);
  TN_TRY(make_column(m, run, &m->value_fields[0], 2, &out->columns[0], err));
  out->n_rows = run->at - run->given;
  return TARN_OK;
}

static void run_free(tn_merge_input *input) {
  TN_CONTAINER_OF(input, test_run, input)->t->n_freed++;
}

static const tn_merge_input_ops run_ops = {run_next, run_values, run_free};

test_run *add_run(merge_test *m, const char *text) {
  test_run *run = &m->runs[m->n_runs];
  test_row next = {.rank = m->n_runs++};
  assert_true(m->n_runs <= MAX_RUNS);
  run->input.ops = &run_ops;
  run->t = m;
  run->rows = calloc(MAX_ROWS, sizeof(*run->rows));
  while (*text != '\0') {
    const char *end = text + strcspn(text, " ");
    if (*text == '|') {
      next.begins_batch = true;
    } else if (*text == '@') {
      next.level = atoi(text + 1);
    } else if (*text == '~') {
      next.is_looked_up = true;
    } else if (*text == '#') {
      next.rank = atoi(text + 1);
    } else if (end > text) {
      test_row *row = &run->rows[run->n_rows++];
      assert_true(run->n_rows < MAX_ROWS);
      *row = next;
      row->is_deleted = *text == '!';
      parse_row(row->is_deleted ? text + 1 : text, end, row);
      next.begins_batch = false;
    }
    text = *end == ' ' ? end + 1 : end;
  }
  return run;
}

/* ------------------------------------------------------------------ results */

static void add_batch_text(const tn_batch *batch, const tn_buffer *kinds, char **text,
                           size_t *length) {
  char *keys = vec_text(&batch->columns[0]), *values = vec_text(&batch->columns[1]);
  char *k = keys + 1, *v = values + 1;
  *text = realloc(*text, *length + strlen(keys) + strlen(values) + (size_t)batch->n_rows * 4 + 8);
  if (*length > 0) {
    *length += (size_t)sprintf(*text + *length, " | ");
  }
  for (int64_t i = 0; i < batch->n_rows; i++) {
    char *k_end = strpbrk(k, ",]"), *v_end = strpbrk(v, ",]");
    *k_end = *v_end = '\0';
    if (v[0] == '"') {
      v[strlen(v) - 1] = '\0';
      v++;
    }
    *length += (size_t)sprintf(*text + *length, "%s%s=%s", i > 0 ? " " : "", k, v);
    if (kinds != NULL) {
      *length += (size_t)sprintf(*text + *length, "%c", "+bu-"[kinds->data[i]]);
    }
    k = k_end + 1;
    v = v_end + 1;
  }
  free(keys);
  free(values);
}

tarn_status merge_to_text(merge_test *m, bool with_kinds, char **out, tarn_error *err) {
  tn_merge_input *inputs[MAX_RUNS];
  tn_merger *merger = NULL;
  char *text = calloc(1, 1);
  size_t length = 0;
  tarn_status st;
  for (int32_t i = 0; i < m->n_runs; i++) {
    m->runs[i].at = 0;
    inputs[i] = &m->runs[i].input;
  }
  m->n_freed = 0;
  st = tn_merger_create(m->env, &m->spec, inputs, m->n_runs, &merger, err);
  while (st == TARN_OK) {
    tn_batch batch;
    tn_buffer *kinds = NULL;
    bool is_end;
    st = tn_merger_next(merger, &batch, with_kinds ? &kinds : NULL, NULL, err);
    is_end = st != TARN_OK || batch.n_rows == 0;
    if (!is_end) {
      add_batch_text(&batch, kinds, &text, &length);
    }
    tn_batch_reset(m->env, &batch);
    tn_buffer_release(kinds);
    if (is_end) {
      break;
    }
  }
  tn_merger_free(merger);
  assert_int_equal(m->n_freed, m->n_runs);
  *out = text;
  return st;
}

tarn_status changes_to_text(merge_test *m, const tn_merge_changes *changes, char **out,
                            tarn_error *err) {
  tn_merge_input *inputs[MAX_RUNS];
  tarn_status st;
  for (int32_t i = 0; i < m->n_runs; i++) {
    m->runs[i].at = 0;
    inputs[i] = &m->runs[i].input;
  }
  m->n_freed = 0;
  st = steps_to_text(m->env, &m->spec, changes, inputs, m->n_runs, out, err);
  assert_int_equal(m->n_freed, m->n_runs);
  return st;
}

void assert_merged(merge_test *m, bool with_kinds, const char *expected) {
  char *text;
  tarn_error err = {0};
  assert_works(merge_to_text(m, with_kinds, &text, &err), err);
  assert_string_equal(text, expected);
  free(text);
}

void assert_case(const char *name, tarn_status st, const tarn_error *err, const char *text,
                 tarn_status status, const char *expected) {
  if (st != status || (expected != NULL && strcmp(text, expected) != 0)) {
    fail_msg("%s: status %d (%s), got \"%s\", expected \"%s\"", name, st, err->message, text,
             expected);
  }
  if (st != TARN_OK) {
    assert_non_null(strstr(err->message, "the-run"));
  }
}

/* ------------------------------------------------------------------ random rows */

uint32_t next_random(uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return *seed >> 8;
}

int random_user(uint32_t *seed, bool has_user_sequence) {
  int user = (int)(next_random(seed) % 4) - 1;
  return has_user_sequence ? user : 0;
}

int random_row_order(const void *a, const void *b) {
  const random_row *x = a, *y = b;
  if (x->key != y->key) {
    return x->key < y->key ? -1 : 1;
  }
  if (x->user != y->user) {
    return x->user < y->user ? -1 : 1;
  }
  if (x->sequence != y->sequence) {
    return x->sequence < y->sequence ? -1 : 1;
  }
  return x->run - y->run;
}
