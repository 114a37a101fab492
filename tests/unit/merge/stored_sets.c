/* stored_sets.c - the lines of the file, and folds of binary values. */
#include "stored_sets.h"

#include "support/files.h"
#include "support/test.h"
#include "support/torture.h"

static void parse_line(char *line, const tn_fold_function *function, stored_union *u) {
  char *rest = NULL, *word = strtok_r(line, " ", &rest);
  u->function = function;
  u->n_inputs = 0;
  for (int32_t i = 0; (word = strtok_r(NULL, " ", &rest)) != NULL; i++) {
    stored_bytes bytes;
    bytes.data = tn_test_hex(word, &bytes.len);
    if (i == 0) {
      u->result = bytes;
    } else {
      assert_true(u->n_inputs < MAX_SETS);
      u->inputs[u->n_inputs++] = bytes;
    }
  }
}

static void free_union(stored_union *u) {
  free(u->result.data);
  for (int32_t i = 0; i < u->n_inputs; i++) {
    free(u->inputs[i].data);
  }
}

void each_stored_union(const char *word, const tn_fold_function *function, int32_t least,
                       void (*use)(const stored_union *u)) {
  char *path = tn_test_path(TARN_SOURCE_DIR, "tests/unit/merge/data/stored-sets.txt"), *rest = NULL;
  size_t n_bytes;
  uint8_t *file = tn_test_read_file(path, &n_bytes);
  char *text = malloc(n_bytes + 1), *note = NULL;
  assert_non_null(text);
  memcpy(text, file, n_bytes);
  text[n_bytes] = '\0';
  for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
    if (line[0] == '#') {
      note = line + 2;
    } else if (strncmp(line, word, strlen(word)) == 0 && line[strlen(word)] == ' ') {
      stored_union u = {.note = note};
      parse_line(line, function, &u);
      use(&u);
      free_union(&u);
      least--;
    }
  }
  assert_true(least <= 0);
  free(text);
  free(file);
  free(path);
}

/* A vector of the inputs; data NULL: a null. */
static tarn_status make_vec(tarn_env *env, const tn_type *type, const stored_bytes *inputs,
                            int32_t n, tn_vec *vec, tarn_error *err) {
  size_t total = 0, at = 0;
  for (int32_t i = 0; i < n; i++) {
    total += inputs[i].len;
  }
  TN_TRY(tn_vec_init(env, type, vec, err));
  TN_TRY(tn_vec_alloc(env, vec, n, total, err));
  TN_TRY(tn_vec_alloc_valid(env, vec, true, err));
  for (int32_t i = 0; i < n; i++) {
    if (inputs[i].data == NULL) {
      vec->valid[i / 8] &= (uint8_t)~(1u << (i % 8));
      vec->null_count++;
    } else if (inputs[i].len > 0) {
      memcpy((uint8_t *)vec->values + at, inputs[i].data, inputs[i].len);
      at += inputs[i].len;
    }
    vec->offsets[i + 1] = (int32_t)at;
  }
  return TARN_OK;
}

tarn_status fold_stored(tarn_env *env, const tn_fold_function *function, bool ignores_retract,
                        const stored_bytes *inputs, const uint8_t *ops, int32_t n,
                        stored_bytes *out, tarn_error *err) {
  static const tn_field field = {
      .name = "v", .type = {.root = TN_VARBINARY, .is_nullable = true, .length = INT32_MAX}};
  tn_fold_spec spec = {.function = function, .field = &field, .ignores_retract = ignores_retract};
  tarn_status st;
  tn_vec vec = {0}, made = {0};
  const tn_vec *sources[1] = {&vec};
  uint32_t groups[2] = {0, (uint32_t)n};
  tn_row_ref rows[MAX_SETS];
  tn_fold_steps steps = {.n_groups = 1, .groups = groups, .rows = rows, .ops = ops};
  tn_fold_input in = {.env = env, .spec = &spec, .sources = sources, .n_sources = 1};
  *out = (stored_bytes){NULL, 0};
  for (int32_t i = 0; i < n; i++) {
    rows[i] = (tn_row_ref){0, (uint32_t)i};
  }
  TN_TRY_TO(done, make_vec(env, &field.type, inputs, n, &vec, err));
  TN_TRY_TO(done, function->fold(&in, &steps, &made, err));
  TN_TRY_TO(done, tn_vec_validate(&made, err));
  if (!tn_vec_is_null(&made, 0)) {
    tn_slice bytes = tn_vec_bytes(&made, 0);
    out->len = bytes.len;
    out->data = malloc(bytes.len + 1);
    assert_non_null(out->data);
    memcpy(out->data, bytes.data, bytes.len);
  }
done:
  tn_vec_reset(env, &vec);
  tn_vec_reset(env, &made);
  return st;
}

static void assert_result(const stored_union *u, const stored_bytes *inputs, const uint8_t *ops) {
  tarn_env *env = tn_test_env(0, 0);
  tarn_error err = {0};
  stored_bytes out;
  if (fold_stored(env, u->function, false, inputs, ops, u->n_inputs, &out, &err) != TARN_OK) {
    fail_msg("%s: %s", u->note, err.message);
  }
  if (out.len != u->result.len || memcmp(out.data, u->result.data, out.len) != 0) {
    size_t at = 0;
    while (at < out.len && at < u->result.len && out.data[at] == u->result.data[at]) {
      at++;
    }
    fail_msg("%s: %zu bytes, expected %zu; byte %zu differs", u->note, out.len, u->result.len, at);
  }
  free(out.data);
  tarn_env_free(env);
}

void assert_united(const stored_union *u) {
  assert_result(u, u->inputs, NULL);
}

/* Of two: the first comes too late. */
void assert_united_from_behind(const stored_union *u) {
  if (u->n_inputs == 2) {
    stored_bytes inputs[2] = {u->inputs[1], u->inputs[0]};
    uint8_t ops[2] = {TN_FOLD_ADD, TN_FOLD_ADD_REVERSED};
    assert_result(u, inputs, ops);
  }
}

void assert_survives_cuts(const stored_union *u) {
  tarn_env *env = tn_test_env(0, 0);
  stored_bytes inputs[2] = {u->inputs[0], u->inputs[0]};
  size_t n = u->inputs[0].len, step = n > 2000 ? n / 500 : 1;
  for (size_t len = 0; len < n; len += step) {
    tarn_error err = {0};
    stored_bytes out;
    tarn_status st;
    /* In memory of its own, so that what is read behind it is found. */
    inputs[1].data = malloc(len + 1);
    assert_non_null(inputs[1].data);
    memcpy(inputs[1].data, u->inputs[0].data, len);
    inputs[1].len = len;
    st = fold_stored(env, u->function, false, inputs, NULL, 2, &out, &err);
    assert_true(st == TARN_OK || st == TARN_E_CORRUPT);
    assert_true(st == TARN_OK || strstr(err.message, u->function->name) == err.message);
    free(out.data);
    free(inputs[1].data);
  }
  tarn_env_free(env);
}

static tarn_status unite_once(void *ctx, tarn_env *env, tarn_error *err) {
  const stored_union *u = ctx;
  stored_bytes out;
  tarn_status st = fold_stored(env, u->function, false, u->inputs, NULL, u->n_inputs, &out, err);
  free(out.data);
  return st;
}

void assert_survives_torture(const stored_union *u) {
  assert_true(tn_torture(unite_once, (void *)(uintptr_t)u, TARN_OK) > 3);
}
