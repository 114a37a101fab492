/* Casts. data/casts.jsonl holds what org.apache.paimon.casting of Java Paimon 1.4.2 gives: a line a
 * zone and pair of types, cases [input, result], result {"error":true}, {"hex":bytes} or
 * {"raw":milliseconds of a TIME outside the day}. */
#include "column_test.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "column/cast.h"
#include "column/cast_parse.h"
#include "column/predicate.h"  // literals as texts
#include "support/torture.h"

/* ------------------------------------------------------------------ Java's results */

static void value_text(const tn_json *json, char *out, size_t size, tn_slice *text) {
  int64_t n;
  bool b;
  if (tn_json_text(json, text)) {
    return;
  }
  if (tn_json_kind_of(json) == TN_JSON_INT && tn_json_int(json, &n)) {
    snprintf(out, size, "%lld", (long long)n);
  } else if (tn_json_bool(json, &b)) {
    snprintf(out, size, "%s", b ? "true" : "false");
  } else {
    fail_msg("a number must be a text here");
  }
  *text = tn_slice_text(out);
}

static tn_datum datum_of(column_test *t, const tn_type *type, const tn_json *json) {
  char buf[32];
  tn_slice text;
  tarn_error err;
  tn_datum out = {.is_null = true};
  int64_t raw;
  if (tn_json_kind_of(json) == TN_JSON_NULL) {
    return out;
  }
  if (tn_json_int(tn_json_get(json, "raw"), &raw)) {
    return (tn_datum){.v.i64 = raw};
  }
  const tn_type *read_as = type;
  if (tn_json_kind_of(json) == TN_JSON_OBJECT) {
    assert_true(tn_json_text(tn_json_get(json, "hex"), &text));
    read_as = parse_type(t, "BYTES");
  } else {
    value_text(json, buf, sizeof(buf), &text);
  }
  if (tn_pred_literal_text(&t->arena, read_as, NULL, text, false, &out, &err) != TARN_OK) {
    fail_msg("%s", err.message);
  }
  return out;
}

/* Is `got` what `wanted` says? Digits that the type's precision has no room for do not count:
 * Java's timestamps always hold nanoseconds. */
static bool is_result(column_test *t, const tn_type *to, const tn_json *wanted,
                      const tn_datum *got) {
  if (tn_json_kind_of(wanted) == TN_JSON_NULL || got->is_null) {
    return got->is_null == (tn_json_kind_of(wanted) == TN_JSON_NULL);
  }
  if (to->root == TN_TIMESTAMP || to->root == TN_TIMESTAMP_LTZ) {
    tn_type nanos = *to;
    nanos.precision = 9;
    tn_datum exact = datum_of(t, &nanos, wanted);
    int64_t per_tick = 1000000000 / tn_timestamp_ticks(to->precision);
    tn_i128 v = exact.v.i128 / per_tick - (exact.v.i128 % per_tick < 0);
    return v == (tn_type_layout(to) == TN_LAYOUT_I128 ? got->v.i128 : got->v.i64);
  }
  tn_datum exact = datum_of(t, to, wanted);
  return tn_datum_compare(to, &exact, got) == 0;
}

static void show(const tn_type *type, const tn_datum *d, char *out, size_t size, tarn_env *env) {
  tn_buf buf;
  tn_buf_init(&buf, &env->mem, 1 << 16);
  tarn_status st = tn_datum_to_json(type, d, &buf, NULL);
  snprintf(out, size, "%.*s", st == TARN_OK ? (int)buf.len : 1,
           st == TARN_OK ? (const char *)buf.data : "?");
  tn_buf_reset(&buf);
}

/* A flat vector of single values. */
static void gather_datums(tarn_env *env, const tn_type *type, const tn_datum *datums, int32_t n,
                          tn_vec *out) {
  tarn_error err;
  tn_vec *parts = calloc((size_t)n + 1, sizeof(*parts));
  const tn_vec **list = calloc((size_t)n + 1, sizeof(*list));
  tn_row_ref *refs = calloc((size_t)n + 1, sizeof(*refs));
  assert_true(parts != NULL && list != NULL && refs != NULL);
  for (int32_t i = 0; i < n; i++) {
    assert_int_equal(tn_datum_to_vec(env, type, &datums[i], &parts[i], &err), TARN_OK);
    list[i] = &parts[i];
    refs[i] = (tn_row_ref){(uint32_t)i, 0};
  }
  assert_int_equal(tn_vec_gather(env, type, list, n, refs, n, out, &err), TARN_OK);
  for (int32_t i = 0; i < n; i++) {
    tn_vec_reset(env, &parts[i]);
  }
  free(parts);
  free((void *)list);
  free(refs);
}

/* Vectors of any encoding give what single values give; the errors are left out. */
static void check_vectors(tarn_env *env, const tn_type *from, const tn_type *to,
                          const tn_datum *inputs, const tn_datum *results, int32_t n) {
  tarn_error err;
  tn_vec flat;
  memset(&flat, 0, sizeof(flat));
  gather_datums(env, from, inputs, n, &flat);
  for (const char *e = flat.layout == TN_LAYOUT_BYTES ? "fdvc" : "fdc"; *e != 0 && n > 0; e++) {
    tn_vec in, out;
    memset(&out, 0, sizeof(out));
    assert_int_equal(encode_vec(env, &flat, *e, &in, &err), TARN_OK);
    if (tn_cast_vec(env, &in, to, "c", &out, &err) != TARN_OK) {
      fail_msg("%s", err.message);
    }
    assert_ptr_equal(out.type, to);
    assert_int_equal(out.length, n);
    assert_int_equal(tn_vec_validate(&out, &err), TARN_OK);
    int64_t n_nulls = 0;
    for (int32_t i = 0; i < n; i++) {
      tn_datum got = tn_vec_datum(&out, i);
      const tn_datum *wanted = &results[*e == 'c' ? 0 : i];
      n_nulls += got.is_null;
      assert_int_equal(tn_vec_is_null(&out, i), wanted->is_null);
      assert_int_equal(got.is_null, wanted->is_null);
      assert_true(got.is_null || tn_datum_compare(to, &got, wanted) == 0);
    }
    assert_int_equal(out.null_count, n_nulls);
    tn_vec_reset(env, &out);
    tn_vec_reset(env, &in);
  }
  tn_vec_reset(env, &flat);
}

static int check_line(column_test *t, const tn_json *line) {
  tn_slice from_sql, to_sql, zone;
  tarn_error err;
  int n_wrong = 0;
  assert_true(tn_json_text(tn_json_get(line, "from"), &from_sql));
  assert_true(tn_json_text(tn_json_get(line, "to"), &to_sql));
  assert_true(tn_json_text(tn_json_get(line, "zone"), &zone));
  const tn_type *from =
      parse_type(t, tn_arena_strndup(&t->arena, (const char *)from_sql.data, from_sql.len));
  const tn_type *to =
      parse_type(t, tn_arena_strndup(&t->arena, (const char *)to_sql.data, to_sql.len));
  const tn_json *cases = tn_json_get(line, "cases");
  size_t n = tn_json_count(cases);
  tn_datum *inputs = calloc(n + 1, sizeof(*inputs)), *results = calloc(n + 1, sizeof(*results));
  assert_true(inputs != NULL && results != NULL && n > 0);
  assert_true(tn_cast_exists(from, to));
  int32_t n_good = 0;
  inputs[n_good] = results[n_good] = (tn_datum){.is_null = true};
  for (size_t i = 0; i < n; i++) {
    const tn_json *input = tn_json_at(tn_json_at(cases, i), 0);
    const tn_json *wanted = tn_json_at(tn_json_at(cases, i), 1);
    tn_datum in = datum_of(t, from, input), got;
    memset(&err, 0, sizeof(err));
    tarn_status st = tn_cast_datum(&t->arena, t->env->zone, from, &in, to, &got, &err);
    bool is_error = tn_json_get(wanted, "error") != NULL;
    bool is_right =
        is_error ? st == TARN_E_INVALID : st == TARN_OK && is_result(t, to, wanted, &got);
    if (!is_right) {
      char a[200], b[200] = "an error";
      show(from, &in, a, sizeof(a), t->env);
      if (st == TARN_OK) {
        show(to, &got, b, sizeof(b), t->env);
      }
      print_error("%.*s %.*s -> %.*s: %s gives %s %s\n", TN_SLICE_ARG(zone), TN_SLICE_ARG(from_sql),
                  TN_SLICE_ARG(to_sql), a, b, err.message);
      n_wrong++;
    } else if (!is_error) {
      inputs[n_good] = in;
      results[n_good++] = got;
    }
  }
  if (n_wrong == 0) {
    inputs[n_good] = results[n_good] = (tn_datum){.is_null = true};
    check_vectors(t->env, from, to, inputs, results, n_good + 1);
  }
  free(inputs);
  free(results);
  return n_wrong;
}

static void casts__give_what_java_gives(void **state) {
  static const char *const zones[] = {"UTC", "+08:00", "-03:30"};
  int n_wrong = 0, n_lines = 0;
  (void)state;
  FILE *file = fopen(TARN_SOURCE_DIR "/tests/unit/column/data/casts.jsonl", "rb");
  assert_non_null(file);
  enum { MAX_LINE = 1 << 16 };
  char *line = malloc(MAX_LINE);
  assert_non_null(line);
  for (size_t z = 0; z < TN_COUNT(zones); z++) {
    column_test t;
    tarn_error err;
    tarn_env_options options = TARN_ENV_OPTIONS_INIT;
    options.time_zone = zones[z];
    rewind(file);
    assert_int_equal(tarn_env_create(&options, &t.env, &err), TARN_OK);
    while (fgets(line, MAX_LINE, file) != NULL) {
      tn_json_doc *doc = NULL;
      tn_slice zone;
      assert_int_equal(tn_json_parse(&t.env->mem, tn_slice_text(line), "casts", &doc, &err),
                       TARN_OK);
      assert_true(tn_json_text(tn_json_get(tn_json_root(doc), "zone"), &zone));
      if (tn_slice_is(zone, zones[z])) {
        tn_arena_init(&t.arena, &t.env->mem, (size_t)16 << 20);
        n_wrong += check_line(&t, tn_json_root(doc));
        n_lines++;
        tn_arena_reset(&t.arena);
      }
      tn_json_free(doc);
    }
    tn_buffers_trim(t.env);
    tarn_env_free(t.env);
  }
  fclose(file);
  free(line);
  assert_true(n_lines > 200);
  assert_int_equal(n_wrong, 0);
}

static void casts__exist_as_in_java(void **state) {
  column_test *t = *state;
  static const struct {
    const char *type, *row;
  } matrix[] = {
      {"BOOLEAN", /*           */ "=xxxxxxxxxx............."},
      {"TINYINT", /*           */ "x=xxxxxxxxx............."},
      {"INT", /*               */ "xx=xxxxxxxx.....xxx....."},
      {"BIGINT", /*            */ "xxx=xxxxxxx.....xxx....."},
      {"FLOAT", /*             */ ".xxx=xxxxxx............."},
      {"DOUBLE", /*            */ ".xxxx=xxxxx............."},
      {"DECIMAL(10, 2)", /*    */ ".xxxxx=xxxx............."},
      {"DECIMAL(12, 2)", /*    */ ".xxxxxx=xxx............."},
      {"CHAR(3)", /*           */ "xxxxxxxx=xxxxxxxxxx....."},
      {"VARCHAR(5)", /*        */ "xxxxxxxxx=xxxxxxxxx....."},
      {"STRING", /*            */ "xxxxxxxxxx=xxxxxxxx....."},
      {"BINARY(3)", /*         */ "........xxx=x..........."},
      {"BYTES", /*             */ "........xxxx=..........."},
      {"DATE", /*              */ "..........x..=..xxx....."},
      {"TIME(0)", /*           */ "..........x...=.xxx....."},
      {"TIME(3)", /*           */ "..........x....=xxx....."},
      {"TIMESTAMP(3)", /*      */ "..xx......x..xxx=xx....."},
      {"TIMESTAMP(9)", /*      */ "..xx......x..xxxx=x....."},
      {"TIMESTAMP_LTZ(6)", /*  */ "..xx......x..xxxxx=....."},
      {"ARRAY<INT>", /*        */ "........xxx........=...."},
      {"MAP<STRING, INT>", /*  */ "........xxx.........=..."},
      {"MULTISET<STRING>", /*  */ ".....................=.."},
      {"VARIANT", /*           */ "......................=."},
      {"BLOB", /*              */ ".......................="},
  };
  for (size_t i = 0; i < TN_COUNT(matrix); i++) {
    for (size_t k = 0; k < TN_COUNT(matrix); k++) {
      bool exists = tn_cast_exists(parse_type(t, matrix[i].type), parse_type(t, matrix[k].type));
      if (exists != (matrix[i].row[k] != '.')) {
        fail_msg("%s to %s: %d", matrix[i].type, matrix[k].type, exists);
      }
    }
  }
}

/* ------------------------------------------------------------------ nested values */

/* Types with field ids in the order of writing. */
static const tn_type *type_with_ids(column_test *t, const char *sql, int32_t first_id) {
  tarn_error err;
  tn_type *type = tn_arena_calloc(&t->arena, 1, sizeof(*type));
  if (tn_type_from_sql(&t->arena, sql, &first_id, type, &err) != TARN_OK) {
    fail_msg("%s", err.message);
  }
  return type;
}

static void set_ids(const tn_type *row, const int32_t *ids) {
  for (int32_t i = 0; i < row->n_fields; i++) {
    ((tn_field *)(uintptr_t)&row->fields[i])->id = ids[i];
  }
}

static void check_cast(column_test *t, const tn_type *from, const char *rows, const tn_type *to,
                       const char *expected) {
  tarn_error err;
  tn_vec in, out;
  memset(&in, 0, sizeof(in));
  memset(&out, 0, sizeof(out));
  must_build(t, from, rows, &in);
  if (tn_cast_vec(t->env, &in, to, "c", &out, &err) != TARN_OK) {
    fail_msg("%s: %s", rows, err.message);
  }
  tn_vec_reset(t->env, &in);  // the result stands alone
  assert_ptr_equal(out.type, to);
  assert_int_equal(tn_vec_validate(&out, &err), TARN_OK);
  assert_vec(&out, expected);
  tn_vec_reset(t->env, &out);
}

static void rows__are_matched_by_id(void **state) {
  column_test *t = *state;
  const tn_type *from = type_with_ids(t, "ROW<a INT, b STRING, c INT>", 0);
  const tn_type *to = type_with_ids(t, "ROW<z STRING, new INT, x BIGINT, b STRING>", 0);
  set_ids(from, (const int32_t[]){1, 2, 3});
  set_ids(to, (const int32_t[]){3, 9, 1, 2});  // c as text, none, a widened, b
  assert_true(tn_cast_exists(from, to));
  check_cast(t, from, "[[1,\"x\",7],null,[null,null,null],[2,\"y\",-8]]", to,
             "[[\"7\",null,1,\"x\"],null,[null,null,null,null],[\"-8\",null,2,\"y\"]]");
}

static void lists_and_maps__cast_what_they_hold(void **state) {
  column_test *t = *state;
  check_cast(t, parse_type(t, "ARRAY<INT>"), "[[1,null],null,[],[300]]",
             parse_type(t, "ARRAY<TINYINT>"), "[[1,null],null,[],[44]]");
  check_cast(t, parse_type(t, "ARRAY<ARRAY<INT>>"), "[[[1],null],[]]",
             parse_type(t, "ARRAY<ARRAY<STRING>>"), "[[[\"1\"],null],[]]");
  check_cast(t, parse_type(t, "MAP<STRING, INT>"), "[[[\"k\",1],[\"l\",null]],null,[]]",
             parse_type(t, "MAP<STRING, DOUBLE>"), "[[[\"k\",1],[\"l\",null]],null,[]]");
  const tn_type *from = type_with_ids(t, "MAP<INT, ROW<a INT, b ARRAY<INT>>>", 5);
  const tn_type *to = type_with_ids(t, "MAP<INT, ROW<b ARRAY<STRING>, c INT>>", 5);
  set_ids(&from->fields[1].type, (const int32_t[]){1, 2});
  set_ids(&to->fields[1].type, (const int32_t[]){2, 3});
  check_cast(t, from, "[[[1,[7,[8,9]]],[2,null]],null]", to,
             "[[[1,[[\"8\",\"9\"],null]],[2,null]],null]");
  assert_false(tn_cast_exists(parse_type(t, "MAP<INT, INT>"), parse_type(t, "MAP<BIGINT, INT>")));
  assert_false(tn_cast_exists(parse_type(t, "ARRAY<INT>"), parse_type(t, "ARRAY<DATE>")));
}

static void nested_values__become_texts(void **state) {
  column_test *t = *state;
  static const struct {
    const char *type, *to, *row, *expected;
  } cases[] = {
      {"ARRAY<INT>", "STRING", "[1,null,3]", "\"[1, null, 3]\""},
      {"ARRAY<INT>", "VARCHAR(2)", "[1,null,3]", "\"[1, null, 3]\""},
      {"ARRAY<INT>", "CHAR(20)", "[]", "\"[]\""},
      {"ARRAY<STRING>", "STRING", "[\"a\",null,\"b,c\",\"\"]", "\"[a, null, b,c, ]\""},
      {"ARRAY<DOUBLE>", "STRING", "[1,1e10]", "\"[1.0, 1.0E10]\""},
      {"ARRAY<BOOLEAN>", "STRING", "[true]", "\"[true]\""},
      {"ARRAY<DECIMAL(10, 2)>", "STRING", "[110]", "\"[1.10]\""},
      {"ARRAY<BYTES>", "STRING", "[\"abc\"]", "\"[abc]\""},
      {"ARRAY<DATE>", "STRING", "[19782]", "\"[2024-02-29]\""},
      {"ARRAY<TIME(3)>", "STRING", "[45296100]", "\"[12:34:56.1]\""},
      {"ARRAY<TIMESTAMP(3)>", "STRING", "[100]", "\"[1970-01-01 00:00:00.100]\""},
      {"ARRAY<ARRAY<INT>>", "STRING", "[[1],null,[]]", "\"[[1], null, []]\""},
      {"MAP<STRING, INT>", "STRING", "[[\"k\",1],[\"z\",null]]", "\"{k -> 1, z -> null}\""},
      {"MAP<INT, ARRAY<INT>>", "STRING", "[[1,[1,2]]]", "\"{1 -> [1, 2]}\""},
      {"ROW<a INT, b STRING>", "STRING", "[1,\"x\"]", "\"{1, x}\""},
      {"ROW<a INT, b STRING>", "STRING", "[null,null]", "\"{null, null}\""},
      {"ROW<a INT, r ROW<x DOUBLE, y ARRAY<INT>>>", "STRING", "[1,[1.5,[1]]]",
       "\"{1, {1.5, [1]}}\""},
  };
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    char rows[256], expected[256];
    snprintf(rows, sizeof(rows), "[%s,null]", cases[i].row);
    snprintf(expected, sizeof(expected), "[%s,null]", cases[i].expected);
    check_cast(t, parse_type(t, cases[i].type), rows, parse_type(t, cases[i].to), expected);
  }
  assert_false(tn_cast_exists(parse_type(t, "ARRAY<MULTISET<INT>>"), parse_type(t, "STRING")));
}

static void bytes_in_nested_values__are_decoded_as_in_java(void **state) {
  column_test *t = *state;
  static const struct {
    const char *bytes;
    size_t n;
    const char *text; /* U+FFFD as ? */
  } cases[] = {
      {"\xff", 1, "[?]"},
      {"\xc3(", 2, "[?(]"},
      {"\xe6\x97", 2, "[?]"},
      {"\xff\xff"
       "a",
       3, "[??a]"},
      {"a\xc3\xa9", 3, "[a\xc3\xa9]"},
      {"\xed\xa0\x80", 3, "[?]"},
      {"\xe0\x80\x80", 3, "[???]"},
      {"\xf0\x9f\x98", 3, "[?]"},
      {"\xc0\x80", 2, "[??]"},
  };
  tarn_error err;
  const tn_type *from = parse_type(t, "ARRAY<BYTES>"), *to = parse_type(t, "STRING");
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tn_vec in, out;
    char expected[64];
    size_t n = 0;
    memset(&in, 0, sizeof(in));
    memset(&out, 0, sizeof(out));
    must_build(t, from, "[[\"xxx\"]]", &in);
    memcpy(in.children[0].values, cases[i].bytes, cases[i].n);
    in.children[0].offsets[1] = (int32_t)cases[i].n;
    assert_int_equal(tn_cast_vec(t->env, &in, to, "c", &out, &err), TARN_OK);
    for (const char *c = cases[i].text; *c != 0; c++) {
      n += (size_t)snprintf(expected + n, sizeof(expected) - n, *c == '?' ? "\xef\xbf\xbd" : "%c",
                            *c);
    }
    tn_slice got = tn_vec_bytes(&out, 0);
    assert_int_equal(got.len, n);
    assert_memory_equal(got.data, expected, n);
    tn_vec_reset(t->env, &in);
    tn_vec_reset(t->env, &out);
  }
}

static void rubbish_under_null_parents__is_not_cast(void **state) {
  column_test *t = *state;
  tarn_error err;
  const tn_type *from = type_with_ids(t, "ROW<a STRING, b ARRAY<STRING>>", 0);
  const tn_type *to = type_with_ids(t, "ROW<a INT, b ARRAY<INT>>", 0);
  set_ids(from, (const int32_t[]){1, 2});
  set_ids(to, (const int32_t[]){1, 2});
  tn_vec in, out;
  memset(&in, 0, sizeof(in));
  memset(&out, 0, sizeof(out));
  must_build(t, from, "[[\"1\",[\"2\"]],[\"no number\",[\"none\",\"neither\"]],[\"3\",[\"4\"]]]",
             &in);
  assert_int_equal(tn_vec_alloc_valid(t->env, &in, true, &err), TARN_OK);
  in.valid[0] = 5;
  in.null_count = 1;
  assert_int_equal(tn_cast_vec(t->env, &in, to, "c", &out, &err), TARN_OK);
  assert_vec(&out, "[[1,[2]],null,[3,[4]]]");
  tn_vec_reset(t->env, &in);
  tn_vec_reset(t->env, &out);
}

/* ------------------------------------------------------------------ faults */

static void a_cast_without_rule__is_unsupported(void **state) {
  column_test *t = *state;
  tarn_error err;
  tn_vec in, out;
  memset(&in, 0, sizeof(in));
  memset(&out, 0, sizeof(out));
  must_build(t, parse_type(t, "INT"), "[1]", &in);
  assert_int_equal(tn_cast_vec(t->env, &in, parse_type(t, "DATE"), "col", &out, &err),
                   TARN_E_UNSUPPORTED);
  assert_string_equal(err.message, "column col: there is no cast from INT to DATE");
  tn_datum one = {.v.i64 = 1}, result;
  assert_int_equal(tn_cast_datum(&t->arena, NULL, parse_type(t, "INT"), &one, parse_type(t, "DATE"),
                                 &result, &err),
                   TARN_E_UNSUPPORTED);
  tn_vec_reset(t->env, &in);
}

static void a_value_without_cast__names_the_column(void **state) {
  column_test *t = *state;
  tarn_error err;
  const tn_type *from = parse_type(t, "STRING"), *to = parse_type(t, "INT");
  for (const char *e = "fdv"; *e != 0; e++) {
    tn_vec flat, in, out;
    memset(&flat, 0, sizeof(flat));
    memset(&out, 0, sizeof(out));
    must_build(t, from, "[\"1\",\"twelve\"]", &flat);
    assert_int_equal(encode_vec(t->env, &flat, *e, &in, &err), TARN_OK);
    assert_int_equal(tn_cast_vec(t->env, &in, to, "col", &out, &err), TARN_E_INVALID);
    assert_non_null(strstr(err.message, "column col"));
    assert_non_null(strstr(err.message, "twelve"));
    assert_null(out.values_buffer);
    tn_vec_reset(t->env, &in);
    tn_vec_reset(t->env, &flat);
  }
}

static void dictionary_values_that_no_row_uses__do_no_harm(void **state) {
  column_test *t = *state;
  tarn_error err;
  const tn_type *from = parse_type(t, "STRING"), *to = parse_type(t, "INT");
  tn_vec values, in, out;
  tn_dictionary *dictionary;
  memset(&values, 0, sizeof(values));
  memset(&in, 0, sizeof(in));
  memset(&out, 0, sizeof(out));
  must_build(t, from, "[\"twelve\",\"2\",\"3\"]", &values);
  assert_int_equal(tn_dictionary_create(t->env, &values, &dictionary, &err), TARN_OK);
  assert_int_equal(tn_vec_init_dict(t->env, from, 3, dictionary, &in, &err), TARN_OK);
  memcpy(in.values, (const int32_t[]){2, 1, 2}, 12);
  assert_int_equal(tn_cast_vec(t->env, &in, to, "c", &out, &err), TARN_OK);
  assert_vec(&out, "[3,2,3]");
  tn_vec_reset(t->env, &in);
  tn_vec_reset(t->env, &out);
  tn_dictionary_release(dictionary);
}

static void dictionaries__are_cast_once(void **state) {
  column_test *t = *state;
  tarn_error err;
  const tn_type *from = parse_type(t, "INT"), *to = parse_type(t, "STRING");
  const tn_type *small = parse_type(t, "DECIMAL(2, 0)");
  tn_vec flat, in, out;
  memset(&flat, 0, sizeof(flat));
  memset(&out, 0, sizeof(out));
  must_build(t, from, "[7,7,null,300,7]", &flat);
  assert_int_equal(encode_vec(t->env, &flat, 'd', &in, &err), TARN_OK);
  assert_int_equal(tn_cast_vec(t->env, &in, to, "c", &out, &err), TARN_OK);
  assert_int_equal(out.encoding, TN_VEC_DICT);
  assert_vec(&out, "[\"7\",\"7\",null,\"300\",\"7\"]");
  assert_int_equal(tn_cast_vec(t->env, &in, small, "c", &out, &err), TARN_OK);  // 300: null
  assert_vec(&out, "[7,7,null,null,7]");
  assert_int_equal(out.null_count, 2);
  tn_vec_reset(t->env, &in);
  tn_vec_reset(t->env, &flat);
  tn_vec_reset(t->env, &out);
}

static void empty_vectors__have_nothing_to_fail_on(void **state) {
  column_test *t = *state;
  check_cast(t, parse_type(t, "STRING"), "[]", parse_type(t, "INT"), "[]");
  check_cast(t, parse_type(t, "ARRAY<INT>"), "[]", parse_type(t, "STRING"), "[]");
}

typedef struct cast_run {
  const tn_type *from, *to;
  const char *rows;
  char encoding;
} cast_run;

static tarn_status cast_once(void *ctx, tarn_env *env, tarn_error *err) {
  const cast_run *run = ctx;
  tn_vec flat, in, out;
  tarn_status st;
  memset(&flat, 0, sizeof(flat));
  memset(&in, 0, sizeof(in));
  memset(&out, 0, sizeof(out));
  TN_TRY_TO(done, build_vec(env, run->from, run->rows, &flat, err));
  TN_TRY_TO(done, encode_vec(env, &flat, run->encoding, &in, err));
  TN_TRY_TO(done, tn_cast_vec(env, &in, run->to, "c", &out, err));
done:
  tn_vec_reset(env, &flat);
  tn_vec_reset(env, &in);
  tn_vec_reset(env, &out);
  tn_buffers_trim(env);
  return st;
}

static void casts__survive_failing_allocations(void **state) {
  column_test *t = *state;
  const tn_type *rows = type_with_ids(t, "ROW<a INT, b STRING>", 0);
  const tn_type *wider = type_with_ids(t, "ROW<a BIGINT, b CHAR(3), c ARRAY<INT>>", 0);
  const cast_run runs[] = {
      {parse_type(t, "INT"), parse_type(t, "BIGINT"), "[1,null,3]", 'f'},
      {parse_type(t, "INT"), parse_type(t, "STRING"), "[1,null,3]", 'd'},
      {parse_type(t, "STRING"), parse_type(t, "INT"), "[\"1\",null]", 'v'},
      {parse_type(t, "STRING"), parse_type(t, "CHAR(8)"), "[\"1\",null]", 'c'},
      {parse_type(t, "ARRAY<INT>"), parse_type(t, "STRING"), "[[1],null]", 'f'},
      {parse_type(t, "MAP<INT, INT>"), parse_type(t, "MAP<INT, STRING>"), "[[[1,2]],null]", 'f'},
      {rows, wider, "[[1,\"x\"],null]", 'f'},
  };
  for (size_t i = 0; i < TN_COUNT(runs); i++) {
    assert_true(tn_torture(cast_once, (void *)(uintptr_t)&runs[i], TARN_OK) > 2);
  }
}

/* ------------------------------------------------------------------ texts of nested values */

typedef struct parse_run {
  const tn_type *type;
  const char *text;
  tarn_status wanted;
} parse_run;

static tarn_status parse_once(void *ctx, tarn_env *env, tarn_error *err) {
  const parse_run *run = ctx;
  tn_arena arena;
  tarn_status st;
  tn_vec out;
  memset(&out, 0, sizeof(out));
  tn_arena_init(&arena, &env->mem, 1 << 20);
  st = tn_nested_check_text(&arena, env->zone, run->type, tn_slice_text(run->text), err);
  if (st == TARN_OK) {
    st = tn_nested_from_text(env, &arena, run->type, tn_slice_text(run->text), &out, err);
  }
  tn_vec_reset(env, &out);
  tn_arena_reset(&arena);
  tn_buffers_trim(env);
  return st;
}

static void nested_texts__survive_failing_allocations(void **state) {
  column_test *t = *state;
  const tn_type *rows = type_with_ids(t, "ROW<a INT, b ARRAY<STRING>, c MAP<STRING, INT>>", 0);
  const parse_run runs[] = {
      {parse_type(t, "ARRAY<INT>"), "[1, null, 3]", TARN_OK},
      {parse_type(t, "ARRAY<ARRAY<STRING>>"), "[[a, b], null, ARRAY(c)]", TARN_OK},
      {parse_type(t, "MAP<STRING, ARRAY<INT>>"), "{a -> [1], b -> null}", TARN_OK},
      {parse_type(t, "MAP<STRING, INT>"), "NULL", TARN_OK},
      {parse_type(t, "ARRAY<INT>"), "", TARN_E_INVALID},
      {parse_type(t, "ARRAY<INT>"), "[1, x]", TARN_E_INVALID},
      {parse_type(t, "MAP<STRING, INT>"), "MAP(a, 1, b)", TARN_E_INVALID},
      {rows, "{1, [x, y], {k -> 1}}", TARN_OK},
      {rows, "{}", TARN_OK},
      {rows, "{1, [x]}", TARN_E_INVALID},
  };
  for (size_t i = 0; i < TN_COUNT(runs); i++) {
    assert_true(tn_torture(parse_once, (void *)(uintptr_t)&runs[i], runs[i].wanted) >= 1);
  }
}

/* Any bytes give a value or an error, whatever is not closed, escaped or named. */
static void nested_texts__of_any_kind_are_taken_or_refused(void **state) {
  column_test *t = *state;
  static const char *const pieces[] = {"[",     "]",      "{",  "}",  "(",   ")",    ",",
                                       "\"",    "\\",     "->", "a",  "1",   "null", "MAP",
                                       "ARRAY", "STRUCT", " ",  "\n", "\xff"};
  uint32_t seed = 1;
  const tn_type *types[] = {parse_type(t, "ARRAY<MAP<STRING, INT>>"),
                            parse_type(t, "MAP<INT, ARRAY<STRING>>"),
                            type_with_ids(t, "ROW<a INT, b ARRAY<INT>>", 0)};
  for (int i = 0; i < 20000; i++) {
    char text[128] = "";
    tarn_error err;
    parse_run run = {types[i % 3], text, TARN_OK};
    int n = i % 12;
    for (int k = 0; k < n; k++) {
      seed = seed * 1664525u + 1013904223u;
      strcat(text, pieces[(seed >> 16) % TN_COUNT(pieces)]);
    }
    tarn_status st = parse_once(&run, t->env, &err);
    assert_true(st == TARN_OK || st == TARN_E_INVALID);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(casts__give_what_java_gives),
      column_unit_test(casts__exist_as_in_java),
      column_unit_test(rows__are_matched_by_id),
      column_unit_test(lists_and_maps__cast_what_they_hold),
      column_unit_test(nested_values__become_texts),
      column_unit_test(bytes_in_nested_values__are_decoded_as_in_java),
      column_unit_test(rubbish_under_null_parents__is_not_cast),
      column_unit_test(a_cast_without_rule__is_unsupported),
      column_unit_test(a_value_without_cast__names_the_column),
      column_unit_test(dictionary_values_that_no_row_uses__do_no_harm),
      column_unit_test(dictionaries__are_cast_once),
      column_unit_test(empty_vectors__have_nothing_to_fail_on),
      column_unit_test(casts__survive_failing_allocations),
      column_unit_test(nested_texts__survive_failing_allocations),
      column_unit_test(nested_texts__of_any_kind_are_taken_or_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
