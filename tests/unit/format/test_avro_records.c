/* Avro files of records into C structs, and the container around them. */
#include "format/avro/avro.h" /* before cmocka, which makes a macro of skip */

#include <stddef.h>

#include "support/torture.h"
#include "unit/format/avro_maker.h"

typedef struct part {
  int32_t number;
  tn_slice name;
  int64_t maybe;
  bool has_maybe;
} part;

typedef struct inner {
  tn_slice bytes;
  int64_t deep;
  bool has_deep;
} inner;

typedef struct record {
  int32_t version;
  int64_t size;
  tn_slice name;
  int64_t maybe;
  bool has_maybe;
  inner inner;
  bool has_inner;
  tn_record_array texts; /* tn_slice */
  bool has_texts;
  tn_record_array longs; /* int64_t */
  tn_record_array ints;  /* int32_t */
  tn_record_array parts; /* part */
  bool has_parts;
} record;

#define NO TN_RECORD_NO_FLAG

static const tn_record_field PART_FIELDS[] = {
    {"number", TN_RECORD_INT, offsetof(part, number), NO, NULL, 0, 0},
    {"name", TN_RECORD_TEXT, offsetof(part, name), NO, NULL, 0, 0},
    {"maybe", TN_RECORD_LONG, offsetof(part, maybe), offsetof(part, has_maybe), NULL, 0, 0},
};

static const tn_record_field INNER_FIELDS[] = {
    {"bytes", TN_RECORD_BYTES, offsetof(inner, bytes), NO, NULL, 0, 0},
    {"deep", TN_RECORD_LONG, offsetof(inner, deep), offsetof(inner, has_deep), NULL, 0, 0},
};

static const tn_record_field FIELDS[] = {
    {"version", TN_RECORD_INT, offsetof(record, version), NO, NULL, 0, 0},
    {"size", TN_RECORD_LONG, offsetof(record, size), NO, NULL, 0, 0},
    {"name", TN_RECORD_TEXT, offsetof(record, name), NO, NULL, 0, 0},
    {"maybe", TN_RECORD_LONG, offsetof(record, maybe), offsetof(record, has_maybe), NULL, 0, 0},
    {"inner", TN_RECORD_STRUCT, offsetof(record, inner), offsetof(record, has_inner), INNER_FIELDS,
     2, 0},
    {"texts", TN_RECORD_TEXTS, offsetof(record, texts), offsetof(record, has_texts), NULL, 0, 0},
    {"longs", TN_RECORD_LONGS, offsetof(record, longs), NO, NULL, 0, 0},
    {"ints", TN_RECORD_INTS, offsetof(record, ints), NO, NULL, 0, 0},
    {"parts", TN_RECORD_STRUCTS, offsetof(record, parts), offsetof(record, has_parts), PART_FIELDS,
     3, sizeof(part)},
};

static void show_slice(shown *s, tn_slice v) {
  show(s, "'%.*s'", TN_SLICE_ARG(v));
}

static tarn_status show_record(void *ctx, const void *bytes, tarn_error *err) {
  shown *s = ctx;
  const record *r = bytes;
  (void)err;
  show(s, "v%d s%lld ", r->version, (long long)r->size);
  show_slice(s, r->name);
  if (r->has_maybe) {
    show(s, " maybe %lld", (long long)r->maybe);
  }
  if (r->has_inner) {
    show(s, " inner(");
    show_slice(s, r->inner.bytes);
    if (r->inner.has_deep) {
      show(s, " %lld", (long long)r->inner.deep);
    }
    show(s, ")");
  }
  if (r->has_texts) {
    show(s, " texts");
    for (int64_t i = 0; i < r->texts.count; i++) {
      show(s, " ");
      show_slice(s, ((const tn_slice *)r->texts.items)[i]);
    }
  }
  for (int64_t i = 0; i < r->longs.count; i++) {
    show(s, " l%lld", (long long)((const int64_t *)r->longs.items)[i]);
  }
  for (int64_t i = 0; i < r->ints.count; i++) {
    show(s, " i%d", ((const int32_t *)r->ints.items)[i]);
  }
  if (r->has_parts) {
    show(s, " parts");
    for (int64_t i = 0; i < r->parts.count; i++) {
      const part *p = &((const part *)r->parts.items)[i];
      show(s, " %d:", p->number);
      show_slice(s, p->name);
      if (p->has_maybe) {
        show(s, ":%lld", (long long)p->maybe);
      }
    }
  }
  show(s, "\n");
  return TARN_OK;
}

static tarn_status read_all(tarn_env *env, tn_slice file, shown *out, tarn_error *err) {
  out->len = 0;
  out->text[0] = '\0';
  return tn_avro_read_records(env, file, "/m/f", FIELDS, TN_COUNT(FIELDS), sizeof(record),
                              show_record, out, err);
}

static tarn_env *new_env(void) {
  tarn_env *env;
  assert_int_equal(tarn_env_create(NULL, &env, NULL), TARN_OK);
  return env;
}

static void expect(const avro_bytes *file, const char *wanted) {
  tarn_env *env = new_env();
  tarn_error err;
  shown out;
  if (read_all(env, avro_slice(file), &out, &err) != TARN_OK) {
    fail_msg("%s", err.message);
  }
  assert_string_equal(out.text, wanted);
  tarn_env_free(env);
}

static void expect_failure(const avro_bytes *file, tarn_status wanted, const char *message) {
  tarn_env *env = new_env();
  tarn_error err = {0};
  shown out;
  assert_int_equal(read_all(env, avro_slice(file), &out, &err), wanted);
  if (strstr(err.message, message) == NULL) {
    fail_msg("'%s' is not in: %s", message, err.message);
  }
  tarn_env_free(env);
}

#define RECORD(fields) \
  "{\"type\":\"record\",\"name\":\"record\",\"namespace\":\"org.x\",\"fields\":[" fields "]}"
#define FIELD(name, type) "{\"name\":\"" name "\",\"type\":" type "}"
#define NULLABLE(type) "[\"null\"," type "]"
#define ARRAY(type) "{\"type\":\"array\",\"items\":" type "}"
#define PART                                                                                    \
  "{\"type\":\"record\",\"name\":\"part\",\"fields\":[{\"name\":\"name\",\"type\":\"string\"}," \
  "{\"name\":\"extra\",\"type\":\"double\"},{\"name\":\"number\",\"type\":\"int\"},{\"name\":"  \
  "\"maybe\",\"type\":[\"null\",\"long\"]}]}"
#define INNER                                                                                    \
  "{\"type\":\"record\",\"name\":\"inner\",\"fields\":[{\"name\":\"bytes\",\"type\":\"bytes\"}," \
  "{\"name\":\"deep\",\"type\":[\"long\",\"null\"]}]}"

#define WHOLE \
  RECORD(FIELD("version", "\"int\"") "," FIELD("extra", "\"boolean\"") ","               \
         FIELD("size", "\"long\"") "," FIELD("name", "\"string\"") ","                   \
         FIELD("maybe", NULLABLE("\"long\"")) "," FIELD("inner", NULLABLE(INNER)) ","    \
         FIELD("texts", NULLABLE(ARRAY("\"string\""))) ","                               \
         FIELD("longs", ARRAY(NULLABLE("\"long\""))) "," FIELD("ints", ARRAY("\"int\"")) "," \
         FIELD("parts", NULLABLE(ARRAY(NULLABLE(PART)))))

static void put_part(avro_bytes *rows, const char *name, int number) {
  avro_long(rows, 1);
  avro_text(rows, name);
  avro_f64(rows, 0.5);
  avro_long(rows, number);
  avro_long(rows, 1);
  avro_long(rows, number * 100);
}

static void put_whole(avro_bytes *rows) {
  avro_long(rows, 2);
  avro_byte(rows, 1);
  avro_long(rows, 1ll << 40);
  avro_text(rows, "name");
  avro_long(rows, 1);
  avro_long(rows, -7);
  avro_long(rows, 1); /* inner */
  avro_run(rows, "ab", 2);
  avro_long(rows, 0);
  avro_long(rows, 9);
  avro_long(rows, 1); /* texts, in two pieces, the second with its size */
  avro_long(rows, 1);
  avro_text(rows, "t1");
  avro_long(rows, -2);
  avro_long(rows, 4);
  avro_text(rows, "t2");
  avro_text(rows, "");
  avro_long(rows, 0);
  avro_long(rows, 2); /* longs */
  avro_long(rows, 1);
  avro_long(rows, 3);
  avro_long(rows, 0);
  avro_long(rows, 0);
  avro_long(rows, 1); /* ints */
  avro_long(rows, -3);
  avro_long(rows, 0);
  avro_long(rows, 1); /* parts */
  avro_long(rows, 2);
  put_part(rows, "p", 1);
  put_part(rows, "q", 2);
  avro_long(rows, 0);
}

/* What is null or empty wherever it may be. */
static void put_bare(avro_bytes *rows) {
  avro_long(rows, 1);
  avro_byte(rows, 0);
  avro_long(rows, 0);
  avro_text(rows, "");
  for (int i = 0; i < 6; i++) {
    avro_long(rows, 0);
  }
}

#define WHOLE_SHOWN                                                        \
  "v2 s1099511627776 'name' maybe -7 inner('ab' 9) texts 't1' 't2' '' l3 " \
  "l-9223372036854775808 i-3 parts 1:'p':100 2:'q':200\n"

/* ------------------------------------------------------------------ records */

static void avro_records__fills_structs(void **state) {
  static const char *const CODECS[] = {"null", "deflate", "snappy", "zstandard"};
  for (size_t i = 0; i < TN_COUNT(CODECS); i++) {
    avro_bytes file = {0}, rows = {0};
    avro_begin(&file, WHOLE, CODECS[i]);
    put_whole(&rows);
    put_bare(&rows);
    avro_block(&file, CODECS[i], 2, &rows);
    put_whole(&rows);
    avro_block(&file, CODECS[i], 1, &rows);
    expect(&file, WHOLE_SHOWN "v1 s0 ''\n" WHOLE_SHOWN);
    avro_free(&file);
    avro_free(&rows);
  }
  (void)state;
}

static void avro_records__leaves_missing_fields_zero(void **state) {
  avro_bytes file = {0}, rows = {0};
  avro_begin(&file, RECORD(FIELD("name", "\"string\"")), NULL);
  avro_text(&rows, "x");
  avro_block(&file, NULL, 1, &rows);
  expect(&file, "v0 s0 'x'\n");
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

static void avro_records__forgets_the_record_before(void **state) {
  avro_bytes file = {0}, rows = {0};
  avro_begin(&file,
             RECORD(FIELD("maybe", NULLABLE("\"long\"")) "," FIELD("longs", ARRAY("\"long\""))),
             NULL);
  avro_long(&rows, 1);
  avro_long(&rows, 5);
  avro_long(&rows, 1);
  avro_long(&rows, 6);
  avro_long(&rows, 0);
  avro_long(&rows, 0);
  avro_long(&rows, 0);
  avro_block(&file, NULL, 2, &rows);
  expect(&file, "v0 s0 '' maybe 5 l6\nv0 s0 ''\n");
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

/* Other writers: no namespace, plain values where Java has unions, ints where it has longs. */
static void avro_records__takes_other_writers_forms(void **state) {
  avro_bytes file = {0}, rows = {0};
  avro_begin(&file,
             "{\"type\":\"record\",\"name\":\"ManifestEntry\",\"fields\":[" FIELD(
                 "size", "\"int\"") "," FIELD("maybe", "\"long\"") "," FIELD("inner", INNER) ","
                 FIELD("parts", ARRAY(PART)) "," FIELD("longs", ARRAY("\"int\"")) ","
                 FIELD("version", "[\"int\",\"null\",\"long\"]") "]}",
             "null");
  avro_long(&rows, 3);
  avro_long(&rows, 4);
  avro_run(&rows, "b", 1);
  avro_long(&rows, 1);
  avro_long(&rows, 1);
  avro_text(&rows, "n");
  avro_f64(&rows, 1);
  avro_long(&rows, 8);
  avro_long(&rows, 0);
  avro_long(&rows, 0);
  avro_long(&rows, 1);
  avro_long(&rows, 5);
  avro_long(&rows, 0);
  avro_long(&rows, 2);
  avro_long(&rows, 6);
  avro_block(&file, "null", 1, &rows);
  expect(&file, "v6 s3 '' maybe 4 inner('b') l5 parts 8:'n'\n");
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

static void avro_records__uses_named_types_again(void **state) {
  avro_bytes file = {0}, rows = {0};
  avro_begin(&file,
             RECORD(FIELD("extra", INNER) "," FIELD("inner", "\"org.x.inner\"") "," FIELD(
                 "more", NULLABLE("\"inner\""))),
             "null");
  for (int i = 0; i < 3; i++) {
    if (i == 2) {
      avro_long(&rows, 1);
    }
    avro_run(&rows, i == 1 ? "B" : "A", 1);
    avro_long(&rows, 0);
    avro_long(&rows, i);
  }
  avro_block(&file, "null", 1, &rows);
  expect(&file, "v0 s0 '' inner('B' 1)\n");
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

static void avro_records__refuses_null_for_a_field_that_must_be(void **state) {
  avro_bytes file = {0}, rows = {0};
  avro_begin(&file, RECORD(FIELD("size", NULLABLE("\"long\""))), "null");
  avro_long(&rows, 0);
  avro_block(&file, "null", 1, &rows);
  expect_failure(&file, TARN_E_CORRUPT, "byte 1 of its data: size: is null");
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

static void avro_records__refuses_fields_of_another_type(void **state) {
  static const char *const SCHEMAS[] = {
      RECORD(FIELD("size", "\"string\"")),
      RECORD(FIELD("name", "\"long\"")),
      RECORD(FIELD("inner", "\"int\"")),
      RECORD(FIELD("longs", ARRAY("\"string\""))),
      RECORD(FIELD("texts", "\"string\"")),
      RECORD(FIELD("parts", ARRAY("\"int\""))),
      RECORD(FIELD("maybe", "[\"string\",\"boolean\"]")),
  };
  for (size_t i = 0; i < TN_COUNT(SCHEMAS); i++) {
    avro_bytes file = {0};
    avro_begin(&file, SCHEMAS[i], "null");
    expect_failure(&file, TARN_E_CORRUPT, "/m/f: field ");
    avro_free(&file);
  }
  (void)state;
}

static void avro_records__refuses_ints_of_more_than_32_bits(void **state) {
  avro_bytes file = {0}, rows = {0};
  avro_begin(&file, RECORD(FIELD("version", "\"int\"")), "null");
  avro_long(&rows, 1ll << 31);
  avro_block(&file, "null", 1, &rows);
  expect_failure(&file, TARN_E_CORRUPT, "version: a number of more than 32 bits");
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

/* Arrays larger than the scratch of the record before. */
static void avro_records__reads_growing_arrays(void **state) {
  tarn_env *env = new_env();
  tarn_error err;
  avro_bytes file = {0}, rows = {0};
  shown *out = malloc(sizeof(*out));
  assert_non_null(out);
  avro_begin(&file, RECORD(FIELD("longs", ARRAY("\"long\"")) "," FIELD("size", "\"long\"")),
             "null");
  for (int n = 1; n <= 100; n *= 10) {
    avro_long(&rows, n);
    for (int i = 0; i < n; i++) {
      avro_long(&rows, i);
    }
    avro_long(&rows, 0);
    avro_long(&rows, n);
  }
  avro_block(&file, "null", 3, &rows);
  if (read_all(env, avro_slice(&file), out, &err) != TARN_OK) {
    fail_msg("%s", err.message);
  }
  assert_non_null(strstr(out->text, "v0 s100 '' l0 l1 l2 "));
  assert_non_null(strstr(out->text, " l98 l99\n"));
  free(out);
  avro_free(&file);
  avro_free(&rows);
  tarn_env_free(env);
  (void)state;
}

static tarn_status refuse_record(void *ctx, const void *bytes, tarn_error *err) {
  ++*(int *)ctx;
  (void)bytes;
  return tn_fail(err, TARN_E_STATE, "no more");
}

static void avro_records__stops_when_the_sink_fails(void **state) {
  tarn_env *env = new_env();
  avro_bytes file = {0}, rows = {0};
  tarn_error err;
  int calls = 0;
  avro_begin(&file, WHOLE, "null");
  put_bare(&rows);
  put_bare(&rows);
  avro_block(&file, "null", 2, &rows);
  assert_int_equal(tn_avro_read_records(env, avro_slice(&file), "f", FIELDS, TN_COUNT(FIELDS),
                                        sizeof(record), refuse_record, &calls, &err),
                   TARN_E_STATE);
  assert_int_equal(calls, 1);
  assert_string_equal(err.message, "no more");
  avro_free(&file);
  avro_free(&rows);
  tarn_env_free(env);
  (void)state;
}

/* ------------------------------------------------------------------ the container */

static void avro_container__refuses_what_is_no_avro_file(void **state) {
  avro_bytes file = {0};
  avro_raw(&file, "PAR1....", 8);
  expect_failure(&file, TARN_E_CORRUPT, "/m/f: not an Avro file");
  file.len = 0;
  expect_failure(&file, TARN_E_CORRUPT, "ends within its Avro header");
  avro_raw(&file, "Obj", 3);
  expect_failure(&file, TARN_E_CORRUPT, "ends within its Avro header");
  avro_free(&file);
  (void)state;
}

static void avro_container__refuses_codecs_by_name(void **state) {
  static const char *const NAMES[] = {"bzip2", "xz", "lzma"};
  for (size_t i = 0; i < TN_COUNT(NAMES); i++) {
    char message[64];
    avro_bytes file = {0};
    avro_begin(&file, WHOLE, NAMES[i]);
    (void)snprintf(message, sizeof(message), "/m/f: Avro codec '%s' is not supported", NAMES[i]);
    expect_failure(&file, TARN_E_UNSUPPORTED, message);
    avro_free(&file);
  }
  (void)state;
}

static void avro_container__refuses_bad_schemas(void **state) {
  static const struct {
    const char *schema;
    tarn_status status;
    const char *message;
  } CASES[] = {
      {"{", TARN_E_CORRUPT, "/m/f"},
      {"\"int\"", TARN_E_CORRUPT, "the root of the Avro schema is of type int"},
      {"\"Lost\"", TARN_E_CORRUPT, "unknown type 'Lost'"},
      {"[]", TARN_E_CORRUPT, "a union without branches"},
      {"[\"null\",[\"int\"]]", TARN_E_CORRUPT, "a union in a union"},
      {"7", TARN_E_CORRUPT, "neither text, list nor object"},
      {"{\"type\":\"record\",\"fields\":[]}", TARN_E_CORRUPT, "a named type without a name"},
      {"{\"type\":\"record\",\"name\":\"R\"}", TARN_E_CORRUPT, "no fields in record R"},
      {RECORD("{\"name\":\"a\"}"), TARN_E_CORRUPT, "neither text, list nor object"},
      {RECORD(FIELD("a", "{\"type\":\"fixed\",\"name\":\"F\",\"size\":-1}")), TARN_E_CORRUPT,
       "no legal size in fixed"},
      {RECORD(FIELD("a", "{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\"]}") "," FIELD(
           "b", "{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\"]}")),
       TARN_E_CORRUPT, "a second definition of org.x.E"},
      {RECORD(FIELD("a", NULLABLE("\"record\""))), TARN_E_UNSUPPORTED,
       "type 'org.x.record' contains itself"},
  };
  for (size_t i = 0; i < TN_COUNT(CASES); i++) {
    avro_bytes file = {0};
    avro_begin(&file, CASES[i].schema, "null");
    expect_failure(&file, CASES[i].status, CASES[i].message);
    avro_free(&file);
  }
  (void)state;
}

static void avro_container__refuses_a_file_without_schema(void **state) {
  avro_bytes file = {0};
  avro_raw(&file, "Obj\x01", 4);
  avro_long(&file, 0);
  avro_raw(&file, AVRO_SYNC, 16);
  expect_failure(&file, TARN_E_CORRUPT, "no avro.schema");
  avro_free(&file);
  (void)state;
}

static void avro_container__bounds_the_depth_of_types(void **state) {
  avro_bytes schema = {0}, file = {0};
  avro_literal(&schema,
               "{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"a\",\"type\":");
  for (int i = 0; i < 80; i++) {
    avro_literal(&schema, "{\"type\":\"array\",\"items\":");
  }
  avro_literal(&schema, "\"int\"");
  for (int i = 0; i < 80; i++) {
    avro_literal(&schema, "}");
  }
  avro_literal(&schema, "}]}");
  avro_byte(&schema, 0);
  avro_begin(&file, (const char *)schema.data, "null");
  expect_failure(&file, TARN_E_LIMIT, "types nested deeper than 64");
  avro_free(&schema);
  avro_free(&file);
  (void)state;
}

/* Each type uses the one before twice: 2^40 fields when unfolded. */
static void avro_container__bounds_types_that_unfold(void **state) {
  avro_bytes schema = {0}, file = {0};
  avro_literal(&schema, "{\"type\":\"record\",\"name\":\"r\",\"fields\":[");
  for (int i = 0; i < 40; i++) {
    char field[256], below[16];
    (void)snprintf(below, sizeof(below), i == 0 ? "int" : "t%d", i - 1);
    (void)snprintf(field, sizeof(field),
                   "%s{\"name\":\"f%d\",\"type\":{\"type\":\"record\",\"name\":\"t%d\",\"fields\":["
                   "{\"name\":\"x\",\"type\":\"%s\"},{\"name\":\"y\",\"type\":\"%s\"}]}}",
                   i > 0 ? "," : "", i, i, below, below);
    avro_literal(&schema, field);
  }
  avro_literal(&schema, "]}");
  avro_byte(&schema, 0);
  avro_begin(&file, (const char *)schema.data, "null");
  expect_failure(&file, TARN_E_LIMIT, "more than 1048576 types");
  avro_free(&schema);
  avro_free(&file);
  (void)state;
}

/* A file of one block that is wrong in one way. */
static void avro_container__refuses_bad_blocks(void **state) {
  static const struct {
    int64_t n_records, n_bytes;
    const char *message;
  } CASES[] = {
      {-1, 2, "bad or cut head of an Avro block"},
      {1, -1, "bad or cut head of an Avro block"},
      {1, 1000, "an Avro block of 1000 bytes runs past the end of the file"},
      {1, 1, "a number runs past the end of the block"},
      {1, 3, "the sync marker behind an Avro block is another"},
      {0, 2, "byte 0 of its data: bytes are left behind the last record"},
      {3, 2, "a number runs past the end of the block"},
      {INT64_MAX, 2, "a number runs past the end of the block"},
  };
  for (size_t i = 0; i < TN_COUNT(CASES); i++) {
    avro_bytes file = {0};
    avro_begin(&file, RECORD(FIELD("size", "\"long\"")), "null");
    avro_long(&file, CASES[i].n_records);
    avro_long(&file, CASES[i].n_bytes);
    avro_raw(&file, CASES[i].n_bytes == 1 ? "\x80" : "\x02\x04", CASES[i].n_bytes == 1 ? 1 : 2);
    avro_raw(&file, AVRO_SYNC, 16);
    avro_raw(&file, "\x00", CASES[i].n_bytes == 3 ? 1 : 0);
    expect_failure(&file, TARN_E_CORRUPT, CASES[i].message);
    avro_free(&file);
  }
  (void)state;
}

static void avro_container__refuses_bytes_behind_the_last_block(void **state) {
  avro_bytes file = {0}, rows = {0};
  avro_begin(&file, WHOLE, "null");
  put_bare(&rows);
  avro_block(&file, "null", 1, &rows);
  avro_raw(&file, "trash", 5);
  expect_failure(&file, TARN_E_CORRUPT, "/m/f: offset ");
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

static void avro_container__checks_the_checksum_of_snappy_blocks(void **state) {
  avro_bytes file = {0}, rows = {0};
  avro_begin(&file, WHOLE, "snappy");
  put_whole(&rows);
  avro_block(&file, "snappy", 1, &rows);
  file.data[file.len - 17] ^= 1;
  expect_failure(&file, TARN_E_CORRUPT, "checksum of snappy data");
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

/* Values that take no bytes are believed only up to a bound. */
static void avro_container__bounds_values_without_bytes(void **state) {
  avro_bytes file = {0}, rows = {0};
  avro_begin(&file, RECORD(FIELD("extra", "\"null\"")), "null");
  avro_block(&file, "null", 1ll << 40, &rows);
  expect_failure(&file, TARN_E_CORRUPT, "too many records without bytes");
  file.len = 0;
  avro_begin(&file, RECORD(FIELD("extra", ARRAY("\"null\""))), "null");
  avro_long(&rows, 1ll << 40);
  avro_long(&rows, 0);
  avro_block(&file, "null", 1, &rows);
  expect_failure(&file, TARN_E_CORRUPT, "too many items without bytes");
  file.len = 0;
  avro_begin(&file, RECORD(FIELD("longs", ARRAY("\"long\""))), "null");
  avro_long(&rows, 1ll << 40);
  avro_long(&rows, 0);
  avro_block(&file, "null", 1, &rows);
  expect_failure(&file, TARN_E_CORRUPT, "more items than bytes for them");
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

static void avro_container__refuses_numbers_of_more_than_64_bits(void **state) {
  avro_bytes file = {0}, rows = {0};
  avro_begin(&file, RECORD(FIELD("size", "\"long\"")), "null");
  avro_raw(&rows, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10);
  avro_block(&file, "null", 1, &rows);
  expect_failure(&file, TARN_E_CORRUPT, "a number of more than 64 bits");
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

/* ------------------------------------------------------------------ damage and need */

static void avro_records__survive_damage_of_every_byte(void **state) {
  static const char *const CODECS[] = {"null", "zstandard"};
  tarn_env *env = new_env();
  shown *out = malloc(sizeof(*out));
  assert_non_null(out);
  for (size_t c = 0; c < TN_COUNT(CODECS); c++) {
    avro_bytes file = {0}, rows = {0};
    avro_begin(&file, WHOLE, CODECS[c]);
    put_whole(&rows);
    put_bare(&rows);
    avro_block(&file, CODECS[c], 2, &rows);
    for (size_t i = 0; i < file.len; i++) {
      for (int bit = 0; bit < 8; bit++) {
        tarn_error err = {0};
        tarn_status st;
        file.data[i] ^= (uint8_t)(1u << bit);
        st = read_all(env, avro_slice(&file), out, &err);
        assert_true(st == TARN_OK || st == TARN_E_CORRUPT || st == TARN_E_UNSUPPORTED ||
                    st == TARN_E_LIMIT);
        assert_true(st == TARN_OK || err.message[0] != '\0');
        file.data[i] ^= (uint8_t)(1u << bit);
      }
    }
    for (size_t n = 0; n < file.len; n++) {
      tarn_status st = read_all(env, tn_slice_of(file.data, n), out, NULL);
      assert_true(st == TARN_E_CORRUPT || (st == TARN_OK && out->len == 0));
    }
    avro_free(&file);
    avro_free(&rows);
  }
  free(out);
  tarn_env_free(env);
  (void)state;
}

static tarn_status read_in_need(void *ctx, tarn_env *env, tarn_error *err) {
  static shown out;
  return read_all(env, avro_slice(ctx), &out, err);
}

static void avro_records__survive_any_failed_allocation(void **state) {
  avro_bytes file = {0}, rows = {0};
  avro_begin(&file, WHOLE, "zstandard");
  put_whole(&rows);
  put_bare(&rows);
  avro_block(&file, "zstandard", 2, &rows);
  assert_true(tn_torture(read_in_need, &file, TARN_OK) > 10);
  avro_free(&file);
  avro_free(&rows);
  (void)state;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(avro_records__fills_structs),
      cmocka_unit_test(avro_records__leaves_missing_fields_zero),
      cmocka_unit_test(avro_records__forgets_the_record_before),
      cmocka_unit_test(avro_records__takes_other_writers_forms),
      cmocka_unit_test(avro_records__uses_named_types_again),
      cmocka_unit_test(avro_records__refuses_null_for_a_field_that_must_be),
      cmocka_unit_test(avro_records__refuses_fields_of_another_type),
      cmocka_unit_test(avro_records__refuses_ints_of_more_than_32_bits),
      cmocka_unit_test(avro_records__reads_growing_arrays),
      cmocka_unit_test(avro_records__stops_when_the_sink_fails),
      cmocka_unit_test(avro_container__refuses_what_is_no_avro_file),
      cmocka_unit_test(avro_container__refuses_codecs_by_name),
      cmocka_unit_test(avro_container__refuses_bad_schemas),
      cmocka_unit_test(avro_container__refuses_a_file_without_schema),
      cmocka_unit_test(avro_container__bounds_the_depth_of_types),
      cmocka_unit_test(avro_container__bounds_types_that_unfold),
      cmocka_unit_test(avro_container__refuses_bad_blocks),
      cmocka_unit_test(avro_container__refuses_bytes_behind_the_last_block),
      cmocka_unit_test(avro_container__checks_the_checksum_of_snappy_blocks),
      cmocka_unit_test(avro_container__bounds_values_without_bytes),
      cmocka_unit_test(avro_container__refuses_numbers_of_more_than_64_bits),
      cmocka_unit_test(avro_records__survive_damage_of_every_byte),
      cmocka_unit_test(avro_records__survive_any_failed_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
