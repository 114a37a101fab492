/* Changes of schemas: ids, places, renames that options follow, and what is refused. */
#include "model/schema_change.h"
#include "model/schema_check.h"
#include "model/schema_json_in.h"
#include "model/schema_write.h"
#include "unit/model/model_test.h"

#define COLUMN(name, type) "{\"name\":\"" name "\",\"type\":\"" type "\"}"

static const char nested[] =
    "{\"fields\":[" COLUMN("id", "INT NOT NULL") "," COLUMN("n", "INT") "," COLUMN(
        "r", "ROW<x INT, y ROW<z STRING>>") "," COLUMN("a", "ARRAY<ROW<k INT>>") "," COLUMN(
        "m", "MAP<STRING, ROW<q INT, s INT>>") "," COLUMN("e", "ARRAY<INT>") "," COLUMN("p", "INT") "],"
    "\"primaryKeys\":[\"id\",\"p\"],\"partitionKeys\":[\"p\"],\"options\":{\"bucket\":\"2\"}}";

/* A schema as its file would be read. */
static tn_schema *make(fixture *f, const char *json) {
  tn_schema draft, *schema = NULL;
  tn_buf bytes;
  tn_buf_init(&bytes, &f->env->mem, 1 << 20);
  expect_ok(f, tn_schema_from_json(f->env, tn_slice_text(json), &draft, &f->err));
  expect_ok(f, tn_schema_normalize(&draft, NULL, 0, &f->err));
  expect_ok(f, tn_schema_encode(&draft, &bytes, &f->err));
  expect_ok(f, tn_schema_decode(f->env, tn_buf_slice(&bytes), "schema-0", &schema, &f->err));
  tn_buf_reset(&bytes);
  tn_arena_reset(&draft.arena);
  return schema;
}

/* The next schema; freed by the caller. */
static tarn_status apply(fixture *f, const tn_schema *old, bool has_snapshots, const char *json,
                         tn_schema *out) {
  tn_change_context context = {"d.t", has_snapshots, 77, f->env->zone};
  tn_schema_change *changes;
  int32_t n;
  memset(out, 0, sizeof(*out));
  TN_TRY(tn_changes_from_json(&f->arena, tn_slice_text(json), &changes, &n, &f->err));
  TN_TRY(tn_schema_apply(old, changes, n, &context, out, &f->err));
  return tn_schema_check(out, &f->err);
}

/* "id:0 r:2<x:3 y:5<z:4>>": names and ids. */
static void put_ids(fixture *f, const tn_field *fields, int32_t n, tn_buf *out) {
  for (int32_t i = 0; i < n; i++) {
    const tn_type *type = &fields[i].type;
    bool is_row = type->root == TN_ROW;
    if (fields[i].id >= 0) {
      expect_ok(f, tn_buf_printf(out, &f->err, "%s%s:%d", i > 0 ? " " : "", fields[i].name,
                                 (int)fields[i].id));
    }
    if (type->n_fields > 0 && type->root != TN_MULTISET) {
      expect_ok(f, tn_buf_text(out, is_row ? "<" : "", &f->err));
      put_ids(f, type->fields, type->n_fields, out);
      expect_ok(f, tn_buf_text(out, is_row ? ">" : "", &f->err));
    }
  }
}

static void expect_ids(fixture *f, const tn_schema *s, const char *wanted) {
  tn_buf text;
  tn_buf_init(&text, &f->env->mem, 1 << 16);
  put_ids(f, s->fields, s->n_fields, &text);
  expect_ok(f, tn_buf_append(&text, "", 1, &f->err));
  assert_string_equal((const char *)text.data, wanted);
  tn_buf_reset(&text);
}

typedef struct change_case {
  const char *changes;
  const char *ids;     /* that the columns have then; NULL: it is refused */
  const char *message; /* of the refusal */
  tarn_status status;
} change_case;

static void expect_cases(fixture *f, const char *json, bool has_snapshots, const change_case *cases,
                         size_t n) {
  tn_schema *old = make(f, json);
  for (size_t i = 0; i < n; i++) {
    tn_schema s;
    tarn_status st;
    tn_error_reset(&f->err);
    st = apply(f, old, has_snapshots, cases[i].changes, &s);
    if (st != cases[i].status ||
        (st != TARN_OK && strstr(f->err.message, cases[i].message) == NULL)) {
      fail_msg("%s: %d %s", cases[i].changes, (int)st, f->err.message);
    }
    if (st == TARN_OK && cases[i].ids != NULL) {
      assert_int_equal(s.id, 1);
      assert_int_equal(s.time_ms, 77);
      expect_ids(f, &s, cases[i].ids);
    }
    tn_arena_reset(&s.arena);
  }
  tn_schema_release(old);
}

#define EXPECT_CASES(f, json, has_snapshots, cases) \
  expect_cases(f, json, has_snapshots, cases, TN_COUNT(cases))
#define OK(changes, ids) {changes, ids, NULL, TARN_OK}
#define NO(changes, status, message) {changes, NULL, message, status}

/* n:1 r:2<x:3 y:5<z:4>> a:6<k:7> m:8<q:9 s:10> e:11 p:12 */
#define BEGIN "id:0 n:1 "
#define ROWS "r:2<x:3 y:5<z:4>> a:6<k:7> m:8<q:9 s:10> e:11 p:12"

static void schema_apply__adds_columns(void **state) {
  static const change_case cases[] = {
      OK("[{\"add\":\"c\",\"type\":\"INT\"}]", BEGIN ROWS " c:13"),
      OK("[{\"add\":\"c\",\"type\":\"INT\",\"first\":true}]", "c:13 " BEGIN ROWS),
      OK("[{\"add\":\"c\",\"type\":\"INT\",\"last\":true}]", BEGIN ROWS " c:13"),
      OK("[{\"add\":\"c\",\"type\":\"INT\",\"after\":\"id\"}]", "id:0 c:13 n:1 " ROWS),
      OK("[{\"add\":\"c\",\"type\":\"INT\",\"before\":\"id\"}]", "c:13 " BEGIN ROWS),
      OK("[{\"add\":\"c\",\"type\":\"ROW<a INT, b ROW<x INT>>\"},{\"add\":\"d\",\"type\":\"INT\"}]",
         BEGIN ROWS " c:13<a:14 b:16<x:15>> d:17"),
      OK("[{\"add\":\"r.c\",\"type\":\"INT\",\"after\":\"x\"}]",
         BEGIN "r:2<x:3 c:13 y:5<z:4>> a:6<k:7> m:8<q:9 s:10> e:11 p:12"),
      OK("[{\"add\":\"a.element.c\",\"type\":\"INT\",\"first\":true}]",
         BEGIN "r:2<x:3 y:5<z:4>> a:6<c:13 k:7> m:8<q:9 s:10> e:11 p:12"),
      OK("[{\"add\":\"m.value.c\",\"type\":\"INT\"}]",
         BEGIN "r:2<x:3 y:5<z:4>> a:6<k:7> m:8<q:9 s:10 c:13> e:11 p:12"),
      OK("[{\"add\":[\"r\",\"x.y\"],\"type\":\"INT\"}]",
         BEGIN "r:2<x:3 y:5<z:4> x.y:13> a:6<k:7> m:8<q:9 s:10> e:11 p:12"),
      /* ids are never given twice */
      OK("[{\"add\":\"c\",\"type\":\"INT\"},{\"drop\":\"c\"},{\"add\":\"c\",\"type\":\"INT\"}]",
         BEGIN ROWS " c:14"),
      NO("[{\"add\":\"c\",\"type\":\"INT NOT NULL\"}]", TARN_E_INVALID,
         "Column c cannot specify NOT NULL in the d.t table."),
      NO("[{\"add\":\"n\",\"type\":\"INT\"}]", TARN_E_EXISTS,
         "Column n already exists in the d.t table."),
      NO("[{\"add\":\"r.x\",\"type\":\"INT\"}]", TARN_E_EXISTS, "Column r.x already exists"),
      NO("[{\"add\":\"c\",\"type\":\"INT\",\"after\":\"zz\"}]", TARN_E_NOT_FOUND,
         "Column zz does not exist in the d.t table."),
      NO("[{\"add\":\"zz.c\",\"type\":\"INT\"}]", TARN_E_NOT_FOUND, "Column zz does not exist"),
      NO("[{\"add\":\"n.c\",\"type\":\"INT\"}]", TARN_E_NOT_FOUND, "Column n.c does not exist"),
      NO("[{\"add\":\"m.key.c\",\"type\":\"INT\"}]", TARN_E_NOT_FOUND,
         "Column m.key does not exist"),
      NO("[{\"add\":\"_KEY_c\",\"type\":\"INT\"}]", TARN_E_INVALID, "cannot start with [_KEY_]"),
      NO("[{\"add\":\"c\",\"type\":\"INTT\"}]", TARN_E_INVALID, "column c"),
  };
  EXPECT_CASES(*state, nested, false, cases);
}

static void schema_apply__drops_columns(void **state) {
  static const change_case cases[] = {
      OK("[{\"drop\":\"n\"}]", "id:0 " ROWS),
      OK("[{\"drop\":\"r.x\"}]", BEGIN "r:2<y:5<z:4>> a:6<k:7> m:8<q:9 s:10> e:11 p:12"),
      OK("[{\"drop\":\"m.value.q\"}]", BEGIN "r:2<x:3 y:5<z:4>> a:6<k:7> m:8<s:10> e:11 p:12"),
      NO("[{\"drop\":\"id\"}]", TARN_E_INVALID, "Cannot drop partition key or primary key: [id]"),
      NO("[{\"drop\":\"p\"}]", TARN_E_INVALID, "Cannot drop partition key or primary key: [p]"),
      NO("[{\"drop\":\"a.element.k\"}]", TARN_E_INVALID, "Cannot drop all fields in table"),
      NO("[{\"drop\":\"zz\"}]", TARN_E_NOT_FOUND, "Column zz does not exist in the d.t table."),
      NO("[{\"drop\":\"r.zz\"}]", TARN_E_NOT_FOUND, "Column r.zz does not exist"),
      /* Java would drop the whole list */
      NO("[{\"drop\":\"a.element\"}]", TARN_E_INVALID, "a.element is part of an ARRAY or MAP"),
  };
  EXPECT_CASES(*state, nested, false, cases);
}

static void schema_apply__moves_columns(void **state) {
  static const char table[] = "{\"fields\":[" COLUMN("a", "INT") "," COLUMN("b", "INT") "," COLUMN(
      "c", "INT") "," COLUMN("d", "INT") "]}";
  static const change_case cases[] = {
      OK("[{\"move\":\"c\",\"first\":true}]", "c:2 a:0 b:1 d:3"),
      OK("[{\"move\":\"b\",\"last\":true}]", "a:0 c:2 d:3 b:1"),
      OK("[{\"move\":\"a\",\"after\":\"c\"}]", "b:1 c:2 a:0 d:3"),
      OK("[{\"move\":\"d\",\"after\":\"a\"}]", "a:0 d:3 b:1 c:2"),
      OK("[{\"move\":\"a\",\"before\":\"d\"}]", "b:1 c:2 a:0 d:3"),
      OK("[{\"move\":\"d\",\"before\":\"b\"}]", "a:0 d:3 b:1 c:2"),
      NO("[{\"move\":\"a\",\"first\":true}]", TARN_E_INVALID, "Cannot move itself for column a"),
      NO("[{\"move\":\"b\",\"after\":\"b\"}]", TARN_E_INVALID, "Cannot move itself for column b"),
      NO("[{\"move\":\"z\",\"first\":true}]", TARN_E_NOT_FOUND, "Field name not found: z"),
      NO("[{\"move\":\"a\",\"after\":\"z\"}]", TARN_E_NOT_FOUND,
         "Reference field name not found: z"),
      NO("[{\"move\":\"a\"}]", TARN_E_INVALID, "where to is missing"),
  };
  EXPECT_CASES(*state, table, false, cases);
}

static void schema_apply__retypes_columns(void **state) {
  static const change_case cases[] = {
      OK("[{\"retype\":\"n\",\"type\":\"BIGINT\"}]", BEGIN ROWS),
      OK("[{\"retype\":\"n\",\"type\":\"BIGINT NOT NULL\"}]", BEGIN ROWS),
      OK("[{\"retype\":\"e.element\",\"type\":\"STRING\"}]", BEGIN ROWS),
      OK("[{\"retype\":\"r\",\"type\":\"STRING\"}]", BEGIN "r:2 a:6<k:7> m:8<q:9 s:10> e:11 p:12"),
      NO("[{\"retype\":\"id\",\"type\":\"BIGINT\"}]", TARN_E_INVALID, "Cannot update primary key"),
      NO("[{\"retype\":\"p\",\"type\":\"BIGINT\"}]", TARN_E_INVALID,
         "Cannot update partition column: [p]"),
      NO("[{\"retype\":\"n\",\"type\":\"DATE\"}]", TARN_E_INVALID,
         "Column type n[INT] cannot be converted to DATE without loosing information."),
      NO("[{\"retype\":\"e\",\"type\":\"ARRAY<BIGINT>\"}]", TARN_E_INVALID,
         "Column type e[ARRAY<INT>] cannot be converted to ARRAY<BIGINT>"),
      NO("[{\"retype\":\"m.key\",\"type\":\"INT\"}]", TARN_E_NOT_FOUND,
         "Column m.key does not exist"),
      NO("[{\"retype\":\"zz\",\"type\":\"INT\"}]", TARN_E_NOT_FOUND, "Column zz does not exist"),
  };
  EXPECT_CASES(*state, nested, false, cases);
}

static void schema_apply__keeps_nullability_when_it_retypes(void **state) {
  fixture *f = *state;
  tn_schema *old = make(f, nested), s;
  expect_ok(f, apply(f, old, false,
                     "[{\"retype\":\"n\",\"type\":\"BIGINT NOT NULL\"},"
                     "{\"retype\":\"e.element\",\"type\":\"DOUBLE\"}]",
                     &s));
  assert_int_equal(s.fields[1].type.root, TN_BIGINT);
  assert_true(s.fields[1].type.is_nullable);
  assert_int_equal(s.fields[5].type.root, TN_ARRAY);
  assert_int_equal(s.fields[5].type.fields[0].type.root, TN_DOUBLE);
  assert_int_equal(old->fields[1].type.root, TN_INT); /* the old one stays as it is */
  tn_arena_reset(&s.arena);
  tn_schema_release(old);
}

static void schema_can_retype__follows_javas_tables(void **state) {
  static const struct {
    const char *from, *to;
    bool implicit, any;
  } cases[] = {
      {"INT", "BIGINT", true, true},
      {"BIGINT", "INT", false, true},
      {"INT", "STRING", false, true},
      {"STRING", "INT", false, true},
      {"INT", "BOOLEAN", false, true},
      {"DOUBLE", "BOOLEAN", false, false},
      {"BOOLEAN", "BOOLEAN", false, false},
      {"DATE", "DATE", false, false},
      {"INT", "INT", true, true},
      {"DATE", "STRING", false, true},
      {"DATE", "VARCHAR(10)", false, false},
      {"TIMESTAMP(3)", "DATE", true, true},
      {"DATE", "TIMESTAMP(3)", false, true},
      {"TIMESTAMP(3)", "TIMESTAMP_LTZ(6)", true, true},
      {"ARRAY<INT>", "STRING", false, true},
      {"MULTISET<INT>", "STRING", false, false},
      {"VARIANT", "STRING", false, false},
      {"STRING", "ARRAY<INT>", false, false},
      {"CHAR(3)", "VARCHAR(9)", true, true},
      {"VARCHAR(9)", "CHAR(3)", false, true},
      {"BYTES", "BINARY(3)", false, true},
      {"BINARY(3)", "BYTES", true, true},
  };
  fixture *f = *state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tn_type from, to;
    expect_ok(f, tn_type_from_sql(&f->arena, cases[i].from, NULL, &from, &f->err));
    expect_ok(f, tn_type_from_sql(&f->arena, cases[i].to, NULL, &to, &f->err));
    if (tn_schema_can_retype(&from, &to, false) != cases[i].implicit ||
        tn_schema_can_retype(&from, &to, true) != cases[i].any) {
      fail_msg("%s to %s", cases[i].from, cases[i].to);
    }
  }
}

static void schema_apply__nullability(void **state) {
  static const change_case cases[] = {
      OK("[{\"nullable\":\"id\",\"value\":false}]", BEGIN ROWS),
      NO("[{\"nullable\":\"id\",\"value\":true}]", TARN_E_INVALID,
         "Cannot change nullability of primary key"),
      NO("[{\"nullable\":\"n\",\"value\":false}]", TARN_E_INVALID,
         "Cannot update column type from nullable to non nullable for n. You can set table "
         "configuration option 'alter-column-null-to-not-null.disabled' = 'false'"),
      NO("[{\"nullable\":\"e.element\",\"value\":false}]", TARN_E_INVALID,
         "from nullable to non nullable for e.element"),
      NO("[{\"nullable\":\"n\"}]", TARN_E_INVALID, "\"value\" is not true or false"),
  };
  static const char lenient[] =
      "{\"fields\":[" COLUMN("a", "INT") "," COLUMN("e", "ARRAY<INT>") "],\"options\":{"
      "\"alter-column-null-to-not-null.disabled\":\"false\"}}";
  fixture *f = *state;
  tn_schema *old = make(f, lenient), s;
  EXPECT_CASES(f, nested, false, cases);
  expect_ok(
      f,
      apply(f, old, false,
            "[{\"nullable\":\"a\",\"value\":false},{\"nullable\":\"e.element\",\"value\":false}]",
            &s));
  assert_false(s.fields[0].type.is_nullable);
  assert_true(s.fields[1].type.is_nullable);
  assert_false(s.fields[1].type.fields[0].type.is_nullable);
  tn_arena_reset(&s.arena);
  tn_schema_release(old);
}

/* ------------------------------------------------------------------ renames */

static const char grouped[] =
    "{\"fields\":[" COLUMN("k", "INT") "," COLUMN("g", "INT") "," COLUMN("v", "INT") "," COLUMN(
        "l", "ARRAY<ROW<x INT, y INT>>") "," COLUMN("p", "INT") "],\"primaryKeys\":[\"k\",\"p\"],"
    "\"partitionKeys\":[\"p\"],\"options\":{\"bucket\":\"2\",\"bucket-key\":\"k\","
    "\"merge-engine\":\"partial-update\",\"fields.g.sequence-group\":\"v,l\","
    "\"fields.v.aggregate-function\":\"sum\",\"fields.v.ignore-retract\":\"true\","
    "\"fields.l.aggregate-function\":\"nested_update\",\"fields.l.nested-key\":\"x\","
    "\"fields.l.count-limit\":\"5\"}}";

static void schema_apply__options_follow_renames(void **state) {
  static const struct {
    const char *changes;
    const char *options[8]; /* key, value ...; a NULL value: it is gone */
  } cases[] = {
      {"[{\"rename\":\"k\",\"to\":\"kk\"}]", {"bucket-key", "kk"}},
      {"[{\"rename\":\"v\",\"to\":\"w\"}]",
       {"fields.g.sequence-group", "w,l", "fields.w.aggregate-function", "sum",
        "fields.w.ignore-retract", "true", "fields.v.ignore-retract", NULL}},
      {"[{\"rename\":\"g\",\"to\":\"h\"}]",
       {"fields.h.sequence-group", "v,l", "fields.g.sequence-group", NULL}},
      {"[{\"rename\":\"l\",\"to\":\"m\"}]",
       {"fields.g.sequence-group", "v,m", "fields.m.nested-key", "x", "fields.m.count-limit", "5",
        "fields.l.count-limit", NULL}},
      {"[{\"rename\":\"l.element.x\",\"to\":\"z\"}]",
       {"fields.l.nested-key", "z", "fields.l.aggregate-function", "nested_update"}},
      /* one after the other */
      {"[{\"rename\":\"v\",\"to\":\"w\"},{\"rename\":\"w\",\"to\":\"u\"}]",
       {"fields.g.sequence-group", "u,l", "fields.u.aggregate-function", "sum"}},
  };
  fixture *f = *state;
  tn_schema *old = make(f, grouped);
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tn_schema s;
    expect_ok(f, apply(f, old, true, cases[i].changes, &s));
    for (size_t k = 0; k < 8 && cases[i].options[k] != NULL; k += 2) {
      const char *value = tn_schema_option(&s, cases[i].options[k]);
      if (cases[i].options[k + 1] == NULL) {
        assert_null(value);
      } else {
        assert_non_null(value);
        assert_string_equal(value, cases[i].options[k + 1]);
      }
    }
    tn_arena_reset(&s.arena);
  }
  tn_schema_release(old);
}

static void schema_apply__keys_follow_renames(void **state) {
  fixture *f = *state;
  tn_schema *old = make(f, grouped), s;
  expect_ok(f, apply(f, old, true, "[{\"rename\":\"k\",\"to\":\"key\"}]", &s));
  assert_string_equal(s.primary_keys[0], "key");
  assert_string_equal(s.fields[0].name, "key");
  assert_false(s.fields[0].type.is_nullable);
  tn_arena_reset(&s.arena);
  tn_schema_release(old);
}

static void schema_apply__refuses_renames(void **state) {
  static const change_case cases[] = {
      NO("[{\"rename\":\"p\",\"to\":\"q\"}]", TARN_E_INVALID,
         "Cannot rename partition column: [p]"),
      NO("[{\"rename\":\"v\",\"to\":\"g\"}]", TARN_E_EXISTS,
         "Column g already exists in the d.t table."),
      NO("[{\"rename\":\"l.element.x\",\"to\":\"y\"}]", TARN_E_EXISTS,
         "Column l.element.y already exists"),
      NO("[{\"rename\":\"z\",\"to\":\"y\"}]", TARN_E_NOT_FOUND, "Column z does not exist"),
      NO("[{\"rename\":\"l.element\",\"to\":\"y\"}]", TARN_E_INVALID, "is part of an ARRAY or MAP"),
      NO("[{\"rename\":\"v\"}]", TARN_E_INVALID, "\"to\" is missing"),
      NO("[{\"drop\":\"v\"}]", TARN_E_INVALID, "Field v can not be found in table schema."),
  };
  EXPECT_CASES(*state, grouped, false, cases);
}

/* ------------------------------------------------------------------ texts, options */

static void schema_apply__texts(void **state) {
  fixture *f = *state;
  tn_schema *old = make(f, nested), s;
  expect_ok(
      f,
      apply(f, old, false,
            "[{\"describe\":\"n\",\"comment\":\"one\"},{\"describe\":\"r.x\",\"comment\":\"two\"},"
            "{\"default\":\"n\",\"value\":\"5\"},{\"table_comment\":\"three\"}]",
            &s));
  assert_string_equal(s.fields[1].description, "one");
  assert_string_equal(s.fields[2].type.fields[0].description, "two");
  assert_string_equal(s.fields[1].default_value, "5");
  assert_string_equal(s.comment, "three");
  tn_arena_reset(&s.arena);
  expect_ok(f,
            apply(f, old, false,
                  "[{\"describe\":\"n\",\"comment\":\"one\"},{\"describe\":\"n\",\"comment\":null},"
                  "{\"default\":\"n\",\"value\":\"5\"},{\"default\":\"n\",\"value\":null},"
                  "{\"table_comment\":\"x\"},{\"table_comment\":null}]",
                  &s));
  assert_null(s.fields[1].description);
  assert_null(s.fields[1].default_value);
  assert_null(s.comment);
  tn_arena_reset(&s.arena);
  expect_error(f, apply(f, old, false, "[{\"default\":\"n\",\"value\":\"x\"}]", &s), TARN_E_INVALID,
               "Unsupported default value `x` for type INT");
  tn_arena_reset(&s.arena);
  tn_schema_release(old);
}

static void schema_apply__options_of_tables_with_snapshots(void **state) {
  static const change_case cases[] = {
      NO("[{\"set\":\"merge-engine\",\"value\":\"first-row\"}]", TARN_E_INVALID,
         "Change 'merge-engine' is not supported yet."),
      NO("[{\"set\":\"bucket-key\",\"value\":\"id\"}]", TARN_E_INVALID,
         "Change 'bucket-key' is not supported yet."),
      NO("[{\"reset\":\"rowkind.field\"}]", TARN_E_INVALID,
         "Change 'rowkind.field' is not supported yet."),
      OK("[{\"set\":\"bucket\",\"value\":\"5\"}]", NULL),
      NO("[{\"set\":\"bucket\",\"value\":\"-1\"}]", TARN_E_INVALID, "Cannot change bucket to -1."),
      NO("[{\"reset\":\"bucket\"}]", TARN_E_INVALID, "Cannot reset bucket."),
      NO("[{\"set\":\"deletion-vectors.enabled\",\"value\":\"true\"}]", TARN_E_INVALID,
         "Cannot change deletion vectors mode from false to true."),
      OK("[{\"set\":\"deletion-vectors.enabled\",\"value\":\"false\"}]", NULL),
      NO("[{\"set\":\"path\",\"value\":\"/x\"}]", TARN_E_INVALID,
         "Change path is not supported yet."),
      NO("[{\"drop_primary_key\":true}]", TARN_E_INVALID,
         "Cannot drop primary keys on a non-empty table."),
      OK("[{\"set\":\"nobody.knows\",\"value\":\"x\"}]", NULL),
  };
  static const char marked[] =
      "{\"fields\":[" COLUMN("id", "INT") "],\"primaryKeys\":[\"id\"],\"options\":{\"bucket\":\"-1\","
      "\"ignore-delete\":\"true\",\"ignore-update-before\":\"true\",\"deletion-vectors.enabled\":\"true\"}}";
  static const change_case marked_cases[] = {
      NO("[{\"set\":\"bucket\",\"value\":\"2\"}]", TARN_E_INVALID,
         "Cannot change bucket when it is -1."),
      NO("[{\"set\":\"ignore-delete\",\"value\":\"false\"}]", TARN_E_INVALID,
         "Cannot change ignore-delete from true to false."),
      NO("[{\"set\":\"ignore-update-before\",\"value\":\"false\"}]", TARN_E_INVALID,
         "Cannot change ignore-update-before from true to false."),
      NO("[{\"reset\":\"ignore-delete\"}]", TARN_E_INVALID,
         "Cannot change ignore-delete from true to false."),
      NO("[{\"reset\":\"deletion-vectors.enabled\"}]", TARN_E_INVALID,
         "Cannot change deletion vectors mode from true to false."),
  };
  EXPECT_CASES(*state, nested, true, cases);
  EXPECT_CASES(*state, marked, true, marked_cases);
}

static void schema_apply__options_of_empty_tables(void **state) {
  static const change_case cases[] = {
      OK("[{\"set\":\"merge-engine\",\"value\":\"first-row\"}]", NULL),
      OK("[{\"set\":\"bucket\",\"value\":\"-1\"}]", NULL),
      OK("[{\"reset\":\"bucket\"}]", NULL),
      OK("[{\"drop_primary_key\":true},{\"reset\":\"bucket\"}]", NULL),
      NO("[{\"set\":\"primary-key\",\"value\":\"n\"}]", TARN_E_INVALID,
         "Cannot define primary key on DDL and table options at the same time."),
      NO("[{\"set\":\"snapshot.num-retained.min\",\"value\":\"0\"}]", TARN_E_INVALID,
         "snapshot.num-retained.min should be at least 1"),
  };
  EXPECT_CASES(*state, nested, false, cases);
}

static void schema_apply__adds_before_partitions(void **state) {
  static const char table[] = "{\"fields\":[" COLUMN("a", "INT") "," COLUMN(
      "p",
      "INT") "],\"partitionKeys\":[\"p\"],\"options\":{\"add-column-before-partition\":\"true\"}}";
  static const change_case cases[] = {
      OK("[{\"add\":\"c\",\"type\":\"INT\"}]", "a:0 c:2 p:1"),
      OK("[{\"add\":\"c\",\"type\":\"INT\",\"last\":true}]", "a:0 p:1 c:2"),
  };
  EXPECT_CASES(*state, table, false, cases);
}

static void changes_from_json__refuses_what_is_no_change(void **state) {
  static const struct {
    const char *json, *message;
  } cases[] = {
      {"", "changes"},
      {"{}", "expected a JSON list of changes"},
      {"[1]", "change 1: expected a JSON object"},
      {"[{}]", "change 1: not a change"},
      {"[{\"drop\":\"a\"},{\"remove\":\"a\"}]", "change 2: not a change"},
      {"[{\"drop\":\"a\",\"type\":\"INT\"}]", "unknown member \"type\""},
      {"[{\"drop\":\"a..b\"}]", "a step of \"a..b\" is empty"},
      {"[{\"drop\":\"\"}]", "a step of \"\" is empty"},
      {"[{\"drop\":[]}]", "\"drop\" is not the name of a column"},
      {"[{\"drop\":5}]", "\"drop\" is not a list of names"},
      {"[{\"add\":\"a\"}]", "\"type\" is missing"},
      {"[{\"add\":\"a\",\"type\":\"INT\",\"first\":true,\"after\":\"b\"}]", "more than one place"},
      {"[{\"add\":\"a\",\"type\":\"INT\",\"first\":\"yes\"}]", "\"first\" is not true"},
      {"[{\"set\":\"a\"}]", "\"value\" is missing"},
      {"[{\"set\":\"a\",\"value\":[]}]", "\"value\" is not a string, number or boolean"},
  };
  fixture *f = *state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tn_schema_change *changes;
    int32_t n;
    expect_error(
        f, tn_changes_from_json(&f->arena, tn_slice_text(cases[i].json), &changes, &n, &f->err),
        TARN_E_INVALID, cases[i].message);
  }
}

/* ------------------------------------------------------------------ memory */

static tarn_status change_once(void *ctx, tarn_env *env, tarn_error *err) {
  tn_change_context context = {"d.t", true, 1, env->zone};
  tn_schema draft, next;
  tn_schema_change *changes;
  tn_arena arena;
  int32_t n;
  tarn_status st;
  memset(&next, 0, sizeof(next));
  tn_arena_init(&arena, &env->mem, SIZE_MAX);
  TN_TRY_TO(done, tn_schema_from_json(env, tn_slice_text(grouped), &draft, err));
  TN_TRY_TO(done, tn_schema_normalize(&draft, NULL, 0, err));
  TN_TRY_TO(done, tn_changes_from_json(&arena, tn_slice_text(ctx), &changes, &n, err));
  TN_TRY_TO(done, tn_schema_apply(&draft, changes, n, &context, &next, err));
  TN_TRY_TO(done, tn_schema_check(&next, err));
done:
  tn_arena_reset(&draft.arena);
  tn_arena_reset(&next.arena);
  tn_arena_reset(&arena);
  return st;
}

static void schema_apply__each_allocation_may_fail(void **state) {
  static char changes[] =
      "[{\"add\":\"c\",\"type\":\"ROW<a INT>\",\"comment\":\"x\"},{\"rename\":\"v\",\"to\":\"w\"},"
      "{\"rename\":\"l.element.x\",\"to\":\"z\"},{\"retype\":\"w\",\"type\":\"BIGINT\"},"
      "{\"set\":\"a\",\"value\":\"b\"},{\"default\":\"w\",\"value\":\"5\"},{\"drop\":\"c\"}]";
  (void)state;
  assert_true(tn_torture(change_once, changes, TARN_OK) > 1);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      MODEL_TEST(schema_apply__adds_columns),
      MODEL_TEST(schema_apply__drops_columns),
      MODEL_TEST(schema_apply__moves_columns),
      MODEL_TEST(schema_apply__retypes_columns),
      MODEL_TEST(schema_apply__keeps_nullability_when_it_retypes),
      MODEL_TEST(schema_can_retype__follows_javas_tables),
      MODEL_TEST(schema_apply__nullability),
      MODEL_TEST(schema_apply__options_follow_renames),
      MODEL_TEST(schema_apply__keys_follow_renames),
      MODEL_TEST(schema_apply__refuses_renames),
      MODEL_TEST(schema_apply__texts),
      MODEL_TEST(schema_apply__options_of_tables_with_snapshots),
      MODEL_TEST(schema_apply__options_of_empty_tables),
      MODEL_TEST(schema_apply__adds_before_partitions),
      MODEL_TEST(changes_from_json__refuses_what_is_no_change),
      MODEL_TEST(schema_apply__each_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
