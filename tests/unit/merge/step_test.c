/* step_test.c - the steps of a merger as text. */
#include "step_test.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "column_test.h"

#define MAX_COLUMNS 16

typedef struct text {
  char *chars;
  size_t length;
} text;

static void put(text *t, const char *chars, size_t n) {
  t->chars = realloc(t->chars, t->length + n + 1);
  assert_non_null(t->chars);
  memcpy(t->chars + t->length, chars, n);
  t->length += n;
  t->chars[t->length] = '\0';
}

static void put_string(text *t, const char *chars) {
  put(t, chars, strlen(chars));
}

/* The value at *at, without quotes; *at moves behind it and its comma. */
static void put_value(text *t, const char **at) {
  int depth = 0;
  bool is_quoted = false;
  for (; depth > 0 || is_quoted || (**at != ',' && **at != ']' && **at != '\0'); ++*at) {
    is_quoted ^= **at == '"';
    depth += (**at == '[' || **at == '{') - (**at == ']' || **at == '}');
    if (**at != '"') {
      put(t, *at, 1);
    }
  }
  *at += **at == ',';
}

/* Rows of a batch, each as a text of its own. */
static text *rows_of(const tn_batch *batch, const tn_buffer *kinds, const tn_buffer *sequences) {
  static const char *const kind_names[] = {"+I", "-U", "+U", "-D"};
  text *rows = calloc((size_t)batch->n_rows + 1, sizeof(*rows));
  char *columns[MAX_COLUMNS];
  const char *at[MAX_COLUMNS];
  assert_true(batch->n_columns <= MAX_COLUMNS);
  for (int32_t c = 0; c < batch->n_columns && batch->n_rows > 0; c++) {
    assert_int_equal(batch->columns[c].length, batch->n_rows);
    assert_int_equal(batch->columns[c].encoding, TN_VEC_FLAT);
    columns[c] = vec_text(&batch->columns[c]);
    at[c] = columns[c] + 1;
  }
  for (int64_t i = 0; i < batch->n_rows; i++) {
    char head[32];
    snprintf(head, sizeof(head), "%s%lld[", kind_names[kinds->data[i]],
             (long long)tn_load_le64(sequences->data + i * 8));
    put_string(&rows[i], head);
    for (int32_t c = 0; c < batch->n_columns; c++) {
      put_string(&rows[i], c > 0 ? "," : "");
      put_value(&rows[i], &at[c]);
    }
    put_string(&rows[i], "]");
  }
  for (int32_t c = 0; c < batch->n_columns && batch->n_rows > 0; c++) {
    free(columns[c]);
  }
  return rows;
}

static void put_group(text *t, const tn_merge_step *step, const tn_merge_group *g,
                      const text *after, const text *before) {
  put_string(t, g->after < 0 ? "0" : after[g->after].chars);
  assert_true(g->after < step->after.n_rows && g->before < step->before.n_rows);
  if (g->has_before) {
    char place[48];
    snprintf(place, sizeof(place), "@%d:%lld", (int)g->before_file, (long long)g->before_position);
    put_string(t, "<");
    put_string(t, g->before < 0 ? "?" : before[g->before].chars);
    put_string(t, place);
  } else {
    assert_int_equal(g->before, -1);
  }
  put_string(t, g->is_fresh ? "f" : "");
  put_string(t, g->is_single ? "s" : "");
  put_string(t, g->after_is_looked_up ? "A" : "");
  put_string(t, g->before_is_looked_up ? "B" : "");
}

static void put_step(text *t, const tn_merge_step *step) {
  text *after = rows_of(&step->after, step->after_kinds, step->after_sequences);
  text *before = rows_of(&step->before, step->before_kinds, step->before_sequences);
  put_string(t, t->length > 0 ? " | " : "");
  for (int64_t i = 0; i < step->n_groups; i++) {
    put_string(t, i > 0 ? " " : "");
    put_group(t, step, &step->groups[i], after, before);
  }
  for (int64_t i = 0; i < step->after.n_rows; i++) {
    free(after[i].chars);
  }
  for (int64_t i = 0; i < step->before.n_rows; i++) {
    free(before[i].chars);
  }
  free(after);
  free(before);
}

tarn_status steps_to_text(tarn_env *env, const tn_merge_spec *spec, const tn_merge_changes *changes,
                          tn_merge_input **inputs, int32_t n_inputs, char **out, tarn_error *err) {
  tn_merger *merger = NULL;
  text t = {0};
  bool is_end;
  tarn_status st = tn_merger_create_changes(env, spec, changes, inputs, n_inputs, &merger, err);
  put_string(&t, "");
  while (st == TARN_OK) {
    tn_merge_step step;
    st = tn_merger_step(merger, &step, err);
    is_end = step.n_groups == 0;
    if (st == TARN_OK && !is_end) {
      put_step(&t, &step);
    }
    tn_merge_step_reset(env, &step);
    if (is_end) {
      break;
    }
  }
  tn_merger_free(merger);
  *out = t.chars;
  return st;
}
