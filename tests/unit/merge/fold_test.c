/* fold_test.c - cases of text through fold(). */
#include "fold_test.h"

#include <stdlib.h>

#include "support/test.h"
#include "support/torture.h"

#define MAX_STEPS 4096

typedef struct parsed_steps {
  uint32_t groups[MAX_STEPS];
  tn_row_ref rows[MAX_STEPS];
  uint8_t ops[MAX_STEPS];
  tn_fold_steps steps;
} parsed_steps;

static const tn_fold_op ops_of_text[128] = {
    ['~'] = TN_FOLD_ADD_REVERSED, ['-'] = TN_FOLD_RETRACT, ['='] = TN_FOLD_SET};

/* Rows of odd numbers are of the second source. */
static void parse_steps(const char *text, parsed_steps *p) {
  uint32_t n = 0;
  bool has_ops = false;
  p->steps.n_groups = 0;
  p->groups[0] = 0;
  for (;; text++) {
    if (*text == '|' || *text == '\0') {
      p->groups[++p->steps.n_groups] = n;
      if (*text == '\0') {
        break;
      }
    } else if (*text != ' ') {
      char *end;
      bool has_op = strchr("+~-=", *text) != NULL;
      assert_true(n < MAX_STEPS - 1);
      p->ops[n] = has_op ? (uint8_t)ops_of_text[(int)*text] : TN_FOLD_ADD;
      has_ops = has_ops || p->ops[n] != TN_FOLD_ADD;
      p->rows[n].row = (uint32_t)strtoul(text + has_op, &end, 10);
      p->rows[n].source = p->rows[n].row % 2;
      n++;
      text = end - 1;
    }
  }
  p->steps.groups = p->groups;
  p->steps.rows = p->rows;
  p->steps.ops = has_ops ? p->ops : NULL;
}

static tn_fold_spec spec_of(const fold_case *c, const tn_field *field) {
  return (tn_fold_spec){.function = c->function,
                        .field = field,
                        .ignores_retract = c->ignores_retract,
                        .is_distinct = c->is_distinct,
                        .count_limit = c->count_limit > 0 ? c->count_limit : INT32_MAX,
                        .nested_keys = (int32_t *)(uintptr_t)c->nested_keys,
                        .n_nested_keys = c->n_nested_keys,
                        .time_field = c->time_field,
                        .delimiter = tn_slice_text(c->delimiter != NULL ? c->delimiter : ",")};
}

/* The column that a function makes of the steps, whichever way it does. */
static tarn_status run_function(const tn_fold_input *in, const tn_fold_steps *steps, tn_vec *out,
                                tarn_error *err) {
  const tn_fold_function *f = in->spec->function;
  const tn_type *type = &in->spec->field->type;
  const tn_vec *sources[3] = {in->sources[0], in->sources[1], NULL};
  tn_row_ref refs[MAX_STEPS];
  tn_vec nulls = {0};
  tarn_status st;
  if (f->pick == NULL) {
    return f->fold(in, steps, out, err);
  }
  TN_TRY(f->pick(in, steps, refs, err));
  TN_TRY(tn_vec_init_nulls(in->env, type, 1, true, &nulls, err));
  sources[2] = &nulls;
  st = tn_vec_gather(in->env, type, sources, 3, refs, steps->n_groups, out, err);
  tn_vec_reset(in->env, &nulls);
  return st;
}

tarn_status fold_text(tarn_env *env, tn_arena *arena, const fold_case *c, char encoding,
                      char **text, tarn_error *err) {
  tarn_status st;
  tn_field field = {.id = 0, .name = "v"};
  tn_vec flat = {0}, even = {0}, odd = {0}, out = {0};
  const tn_vec *sources[2] = {&even, &odd};
  tn_fold_spec spec;
  parsed_steps *p = calloc(1, sizeof(*p));
  tn_fold_input in = {.env = env, .spec = &spec, .sources = sources, .n_sources = 2};
  assert_non_null(p);
  parse_steps(c->steps, p);
  TN_TRY_TO(done, tn_type_from_sql(arena, c->type, NULL, &field.type, err));
  spec = spec_of(c, &field);
  TN_TRY_TO(done, build_vec(env, &field.type, c->rows, &flat, err));
  TN_TRY_TO(done, tn_vec_share(env, &flat, &even, err));
  if (encoding == 'f') {
    TN_TRY_TO(done, tn_vec_share(env, &flat, &odd, err));
  } else {
    TN_TRY_TO(done, encode_vec(env, &flat, encoding, &odd, err));
  }
  TN_TRY_TO(done, run_function(&in, &p->steps, &out, err));
  TN_TRY_TO(done, tn_vec_validate(&out, err));
  if (text != NULL) {
    *text = vec_text(&out);
  }
done:
  tn_vec_reset(env, &out);
  tn_vec_reset(env, &even);
  tn_vec_reset(env, &odd);
  tn_vec_reset(env, &flat);
  free(p);
  return st;
}

static tarn_status fold_alone(const fold_case *c, char encoding, char **text, tarn_error *err) {
  column_test t;
  tarn_status st;
  column_test_begin(&t);
  st = fold_text(t.env, &t.arena, c, encoding, text, err);
  column_test_end(&t);
  return st;
}

void assert_folded(const fold_case *c) {
  bool is_binary = strncmp(c->type, "ARRAY", 5) != 0 && strncmp(c->type, "MAP", 3) != 0;
  for (const char *encoding = is_binary ? "fdv" : "f"; *encoding != '\0'; encoding++) {
    char *text = NULL;
    tarn_error err = {0};
    if (fold_alone(c, *encoding, &text, &err) != TARN_OK) {
      fail_msg("%s: %s", c->steps, err.message);
    }
    if (strcmp(text, c->expected) != 0) {
      fail_msg("%s of %s: %s, expected %s", c->steps, c->rows, text, c->expected);
    }
    free(text);
  }
}

void assert_folds_refused(const fold_case *c, tarn_status status, const char *words) {
  tarn_error err = {0};
  assert_int_equal(fold_alone(c, 'f', NULL, &err), status);
  assert_contains(err.message, words);
}

tarn_status check_column(const fold_case *c, tarn_error *err) {
  column_test t;
  tarn_status st;
  tn_field field = {.id = 0, .name = "v"};
  tn_fold_spec spec;
  column_test_begin(&t);
  field.type = *parse_type(&t, c->type);
  spec = spec_of(c, &field);
  st = c->function->check(&spec, err);
  column_test_end(&t);
  return st;
}

static tarn_status fold_once(void *ctx, tarn_env *env, tarn_error *err) {
  tn_arena arena;
  tarn_status st;
  tn_arena_init(&arena, &env->mem, (size_t)1 << 20);
  st = fold_text(env, &arena, ctx, 'f', NULL, err);
  tn_arena_reset(&arena);
  return st;
}

void assert_fold_survives_torture(const fold_case *c) {
  assert_true(tn_torture(fold_once, (void *)(uintptr_t)c, TARN_OK) > 3);
}
