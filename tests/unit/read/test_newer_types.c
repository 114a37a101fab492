/* test_newer_types.c - which types hold the values of which others. */
#include "read/newer_types.h"
#include "support/test.h"

static void type_holds__values_as_they_are(void **state) {
  static const struct {
    const char *type, *values;
    bool holds, holds_back; /* and the other way round */
  } cases[] = {
      {"INT", "INT NOT NULL", true, true},
      {"BIGINT", "INT", true, false},
      {"SMALLINT", "TINYINT", true, false},
      {"DOUBLE", "FLOAT", true, false},
      {"DOUBLE", "INT", false, false},
      {"BIGINT", "STRING", false, false},
      {"INT", "DATE", false, false},
      {"DECIMAL(7, 2)", "DECIMAL(5, 2)", true, false},
      {"DECIMAL(7, 2)", "DECIMAL(7, 3)", false, false},
      {"STRING", "VARCHAR(3)", true, false},
      {"VARCHAR(3)", "CHAR(3)", true, true},
      {"BYTES", "BINARY(3)", true, false},
      {"VARBINARY(4)", "VARBINARY(3)", true, false},
      {"TIMESTAMP(6)", "TIMESTAMP(3)", true, false},
      {"TIMESTAMP(6)", "TIMESTAMP(6) WITH LOCAL TIME ZONE", false, false},
      {"TIME(3)", "TIME(0)", true, true},
      {"ARRAY<BIGINT>", "ARRAY<INT>", true, false},
      {"MAP<STRING, BIGINT>", "MAP<STRING, INT>", true, false},
      {"MULTISET<STRING>", "MULTISET<VARCHAR(3)>", true, false},
      {"ROW<a BIGINT, b STRING>", "ROW<a INT, b STRING>", true, false},
      {"ROW<a INT>", "ROW<a INT, b STRING>", true, true},
      {"ARRAY<ROW<a INT>>", "ARRAY<ROW<a BIGINT>>", false, true},
      {"VECTOR<FLOAT, 2>", "VECTOR<FLOAT, 3>", false, false},
  };
  tarn_env *env;
  tarn_error err;
  tn_arena arena;
  (void)state;
  assert_works(tarn_env_create(NULL, &env, &err), err);
  tn_arena_init(&arena, &env->mem, 1 << 20);
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    tn_type type, values;
    int32_t ids = 0, same_ids = 0;
    assert_works(tn_type_from_sql(&arena, cases[i].type, &ids, &type, &err), err);
    assert_works(tn_type_from_sql(&arena, cases[i].values, &same_ids, &values, &err), err);
    if (tn_type_holds(&type, &values) != cases[i].holds ||
        tn_type_holds(&values, &type) != cases[i].holds_back) {
      fail_msg("%s and %s", cases[i].type, cases[i].values);
    }
  }
  tn_arena_reset(&arena);
  tarn_env_free(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(type_holds__values_as_they_are),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
