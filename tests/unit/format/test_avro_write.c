/* Writing Avro files: what Java wrote is read and written again, byte for byte; rows of every type
 * and encoding; what cannot be written.
 */
#include "format/avro/avro_write.h" /* before cmocka, which makes a macro of skip */

#include "format/avro/avro.h"
#include "format/parquet/parquet.h"
#include "rows_text.h"
#include "support/files.h"
#include "support/test.h"
#include "support/torture.h"

static format_test t;

/* ------------------------------------------------------------------ files taken apart */

typedef struct parts {
  tn_avro_header header;
  tn_buf data; /* of all blocks, one after the other */
  int64_t n_records, n_blocks;
} parts;

static void take_apart(tn_slice file, parts *p) {
  tarn_error err;
  bool is_short;
  size_t at;
  tn_avro_unpacker unpacker;
  memset(p, 0, sizeof(*p));
  tn_buf_init(&p->data, &t.env->mem, 1 << 26);
  tn_avro_unpacker_init(&unpacker, t.env);
  assert_works(tn_avro_header_decode(&t.arena, file, "f", &p->header, &is_short, &err), err);
  assert_false(is_short);
  for (at = p->header.n_bytes; at < file.len;) {
    tn_avro_block block;
    tn_slice data, rest = tn_slice_of(file.data + at, file.len - at);
    size_t end;
    assert_works(tn_avro_block_decode(rest, (int64_t)at, (int64_t)file.len, "f", &block, &err),
                 err);
    end = (size_t)(block.data_offset + block.n_bytes);
    assert_works(tn_avro_sync_check(&p->header, file.data + end, (int64_t)end, "f", &err), err);
    assert_works(tn_avro_unpack(&unpacker, &p->header, &block,
                                tn_slice_of(file.data + block.data_offset, (size_t)block.n_bytes),
                                "f", &data, &err),
                 err);
    assert_works(tn_buf_append(&p->data, data.data, data.len, &err), err);
    p->n_records += block.n_records;
    p->n_blocks++;
    at = end + TN_AVRO_SYNC_BYTES;
  }
  assert_int_equal(at, file.len);
  tn_avro_unpacker_reset(&unpacker);
}

/* ------------------------------------------------------------------ writing what was read */

typedef struct copying {
  const tn_field *fields;
  int32_t n_fields;
  const tn_write_options *options;
  bool allows_encoded;
  int64_t batch_rows;
} copying;

static tarn_status copy_rows(tn_format_file *from, const copying *c, tn_format_writer *writer,
                             tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_reader *reader = NULL;
  tn_batch batch = {0};
  tn_read_request request = {.fields = c->fields,
                             .n_fields = c->n_fields,
                             .allows_encoded = c->allows_encoded,
                             .batch_rows = c->batch_rows};
  TN_TRY_TO(done, from->ops->read(from, &request, &reader, err));
  TN_TRY_TO(done, tn_batch_init(from->env, c->fields, c->n_fields, &batch, err));
  do {
    TN_TRY_TO(done, tn_reader_next(reader, c->batch_rows > 0 ? c->batch_rows : 1000, &batch, err));
    TN_TRY_TO(done, writer->calls->write(writer, &batch, err));
  } while (batch.n_rows > 0);
  TN_TRY_TO(done, writer->calls->finish(writer, err));
done:
  tn_batch_reset(from->env, &batch);
  tn_reader_free(reader);
  return st;
}

/* Write the rows of a file to `path` in a storage. */
static tarn_status copy_file(tn_format_file *from, const copying *c, tn_storage *to,
                             const char *path, tarn_error *err) {
  static const tn_write_metadata METADATA[] = {{"writer", "a test"}};
  tarn_status st = TARN_OK;
  tn_write_request request = {.fields = c->fields,
                              .n_fields = c->n_fields,
                              .options = c->options,
                              .metadata = METADATA,
                              .n_metadata = 1};
  tn_format_writer *writer = NULL;
  tn_sink *sink = NULL;
  TN_TRY(tn_storage_create(to, path, &sink, err));
  TN_TRY_TO(done, tn_avro_writer.create(from->env, sink, &request, &writer, err));
  TN_TRY_TO(done, copy_rows(from, c, writer, err));
  if (writer->calls->size(writer) != tn_sink_size(sink)) {
    st = tn_fail(err, TARN_E_INTERNAL, "the size of a finished file is wrong");
  }
done:
  if (writer != NULL) {
    writer->calls->free(writer);
  }
  if (st != TARN_OK) {
    tn_sink_abort(sink);
    return st;
  }
  return tn_sink_finish(sink, false, err);
}

static tn_slice file_bytes(const char *path) {
  size_t n;
  uint8_t *bytes = tn_test_read_file(path, &n);
  void *copy = tn_arena_memdup(&t.arena, bytes, n);
  assert_non_null(copy);
  free(bytes);
  return tn_slice_of(copy, n);
}

static tn_slice memory_bytes(const char *path) {
  tn_buf all;
  tarn_error err;
  void *copy;
  tn_buf_init(&all, &t.env->mem, 1 << 26);
  assert_works(tn_storage_read_all(t.memory, path, &all, &err), err);
  copy = tn_arena_memdup(&t.arena, all.data, all.len);
  assert_non_null(copy);
  tn_slice out = tn_slice_of(copy, all.len);
  tn_buf_reset(&all);
  return out;
}

static const char TYPES[] =
    "ROW<id INT NOT NULL, f_boolean BOOLEAN, f_tinyint TINYINT, f_smallint SMALLINT, f_int INT, "
    "f_bigint BIGINT, f_float FLOAT, f_double DOUBLE, f_char CHAR(7), f_varchar VARCHAR(20), "
    "f_string STRING, f_binary BINARY(5), f_varbinary VARBINARY(30), f_bytes BYTES, "
    "f_dec5 DECIMAL(5, 2), f_dec18 DECIMAL(18, 6), f_dec38 DECIMAL(38, 10), f_date DATE, "
    "f_time TIME(3), f_ts TIMESTAMP(6), f_ltz TIMESTAMP_LTZ(6), f_nn STRING NOT NULL>";

static const char NESTED[] =
    "ROW<id INT NOT NULL, a_int ARRAY<INT>, a_str ARRAY<STRING NOT NULL>, "
    "a_arr ARRAY<ARRAY<BIGINT>>, m_si MAP<STRING, INT>, m_id MAP<INT, DECIMAL(20, 3)>, "
    "r ROW<x INT, y STRING, z ROW<p DOUBLE, q ARRAY<INT>>>, "
    "a_row ARRAY<ROW<k STRING, v TIMESTAMP(3)>>, m_row MAP<STRING, ROW<a INT, b ARRAY<STRING>>>, "
    "r_m ROW<m MAP<STRING, ARRAY<INT>>, d DATE>, ms MULTISET<STRING>>";

static void expect_same_bytes(const char *name, const char *type, bool allows_encoded) {
  const char *path = data_path(&t, name);
  copying c = {.allows_encoded = allows_encoded, .batch_rows = 7};
  tn_format_file *from = must_open(&t, &tn_avro_format, path);
  parts java, ours;
  tarn_error err;
  char copy_path[200];
  snprintf(copy_path, sizeof(copy_path), "/%s-%d", name, allows_encoded);
  c.fields = sql_fields(&t, type, &c.n_fields);
  assert_works(copy_file(from, &c, t.memory, copy_path, &err), err);
  take_apart(file_bytes(path), &java);
  take_apart(memory_bytes(copy_path), &ours);
  assert_string_equal(ours.header.codec_name, java.header.codec_name);
  assert_int_equal(ours.header.schema_json.len, java.header.schema_json.len);
  assert_memory_equal(ours.header.schema_json.data, java.header.schema_json.data,
                      java.header.schema_json.len);
  assert_int_equal(ours.n_records, java.n_records);
  assert_int_equal(ours.data.len, java.data.len);
  assert_memory_equal(ours.data.data, java.data.data, java.data.len);
  tn_buf_reset(&java.data);
  tn_buf_reset(&ours.data);
  tn_format_file_release(from);
}

static void write__gives_the_bytes_of_java(void **state) {
  (void)state;
  for (int encoded = 0; encoded < 2; encoded++) {
    expect_same_bytes("java_types.avro", TYPES, encoded);
    expect_same_bytes("java_nested.avro", NESTED, encoded);
  }
}

static const char *const CODECS[] = {"zstd",    "ZSTD", "zstandard", "snappy",
                                     "deflate", "null", "none"};

static void write__is_read_with_every_codec(void **state) {
  tn_format_file *from = must_open(&t, &tn_avro_format, data_path(&t, "java_nested.avro"));
  rows_request rows = {0};
  rows_text wanted, found;
  copying c = {0};
  tarn_error err;
  (void)state;
  c.fields = rows.fields = sql_fields(&t, NESTED, &c.n_fields);
  rows.n_fields = c.n_fields;
  assert_works(read_rows(&t, from, &rows, &wanted, &err), err);
  for (size_t i = 0; i < TN_COUNT(CODECS); i++) {
    tn_write_options options = {.compression = CODECS[i], .zstd_level = 3};
    tn_format_file *copy;
    char path[100];
    snprintf(path, sizeof(path), "/copy-%zu.avro", i);
    c.options = &options;
    assert_works(copy_file(from, &c, t.memory, path, &err), err);
    assert_works(tn_format_open(t.env, t.memory, &tn_avro_format, path, &copy, &err), err);
    assert_works(read_rows(&t, copy, &rows, &found, &err), err);
    assert_int_equal(found.n, wanted.n);
    for (int64_t row = 0; row < wanted.n; row++) {
      assert_string_equal(found.lines[row], wanted.lines[row]);
    }
    tn_format_file_release(copy);
  }
  tn_format_file_release(from);
}

/* The columns whose types Avro can have, moved to the front. */
static int32_t keep_writable(int32_t n, tn_field *fields) {
  int32_t kept = 0;
  for (int32_t i = 0; i < n; i++) {
    tn_buf out;
    tn_buf_init(&out, &t.env->mem, 1 << 20);
    if (tn_avro_schema_of_fields(&fields[i], 1, &out, NULL) == TARN_OK) {
      fields[kept++] = fields[i];
    }
    tn_buf_reset(&out);
  }
  assert_true(kept > 3);
  return kept;
}

/* Dictionaries, views and constants. */
static void write__takes_encoded_columns(void **state) {
  static const char *const FILES[] = {"dictionary_v1.parquet", "nested_v1.parquet"};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(FILES); i++) {
    tn_format_file *from = must_open(&t, &tn_parquet_format, data_path(&t, FILES[i])), *copy;
    rows_request rows = {0};
    rows_text wanted, found;
    copying c = {.allows_encoded = true};
    tarn_error err;
    char path[100];
    snprintf(path, sizeof(path), "/encoded-%zu.avro", i);
    c.fields = rows.fields = must_schema(&t, from, &c.n_fields);
    c.n_fields = rows.n_fields = keep_writable(c.n_fields, (tn_field *)(uintptr_t)c.fields);
    assert_works(read_rows(&t, from, &rows, &wanted, &err), err);
    assert_works(copy_file(from, &c, t.memory, path, &err), err);
    assert_works(tn_format_open(t.env, t.memory, &tn_avro_format, path, &copy, &err), err);
    assert_works(read_rows(&t, copy, &rows, &found, &err), err);
    assert_int_equal(found.n, wanted.n);
    for (int64_t row = 0; row < wanted.n; row++) {
      assert_string_equal(found.lines[row], wanted.lines[row]);
    }
    tn_format_file_release(copy);
    tn_format_file_release(from);
  }
}

/* ------------------------------------------------------------------ what cannot be */

typedef struct refusal {
  const char *type;
  tarn_status status;
  const char *message;
} refusal;

static const refusal REFUSALS[] = {
    {"ROW<t TIMESTAMP(9)>", TARN_E_UNSUPPORTED, "TIMESTAMP(9)"},
    {"ROW<t ARRAY<TIMESTAMP_LTZ(7)>>", TARN_E_UNSUPPORTED, "TIMESTAMP(7)"},
    {"ROW<t TIME(6)>", TARN_E_UNSUPPORTED, "TIME(6)"},
    {"ROW<v VARIANT>", TARN_E_UNSUPPORTED, "VARIANT"},
    {"ROW<`a-b` INT>", TARN_E_INVALID, "a-b"},
    {"ROW<`1a` INT>", TARN_E_INVALID, "1a"},
    {"ROW<a ROW<b ROW<c INT>>, a_b ROW<d INT>>", TARN_E_INVALID, "record_a_b"},
};

static void create__refuses_what_avro_cannot_hold(void **state) {
  (void)state;
  for (size_t i = 0; i < TN_COUNT(REFUSALS); i++) {
    tn_format_writer *writer;
    tn_write_request request = {0};
    tn_sink *sink;
    tarn_error err;
    assert_works(tn_storage_create(t.memory, "/x", &sink, &err), err);
    request.fields = sql_fields(&t, REFUSALS[i].type, &request.n_fields);
    assert_int_equal(tn_avro_writer.create(t.env, sink, &request, &writer, &err),
                     REFUSALS[i].status);
    assert_contains(err.message, REFUSALS[i].message);
    assert_null(writer);
    tn_sink_abort(sink);
  }
}

static void create__refuses_other_compressions_by_name(void **state) {
  static const char *const LACKING[] = {"lz4", "bzip2", "xz", "gzip", ""};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(LACKING); i++) {
    tn_write_options options = {.compression = LACKING[i]};
    tn_format_writer *writer;
    tn_write_request request = {.options = &options};
    tn_sink *sink;
    tarn_error err;
    assert_works(tn_storage_create(t.memory, "/x", &sink, &err), err);
    assert_int_equal(tn_avro_writer.create(t.env, sink, &request, &writer, &err),
                     TARN_E_UNSUPPORTED);
    assert_contains(err.message, LACKING[i]);
    tn_sink_abort(sink);
  }
}

static void writer__is_found_by_name(void **state) {
  const tn_format_writer_ops *found;
  tarn_error err;
  (void)state;
  assert_works(tn_format_writer_by_name(tn_slice_text("Avro"), &found, &err), err);
  assert_ptr_equal(found, &tn_avro_writer);
}

static void write__refuses_null_where_it_may_not_be(void **state) {
  copying c = {0};
  tn_format_file *from = must_open(&t, &tn_avro_format, data_path(&t, "java_types.avro"));
  tarn_error err;
  (void)state;
  c.fields = sql_fields(&t, "ROW<id INT NOT NULL, f_int INT NOT NULL>", &c.n_fields);
  assert_int_equal(copy_file(from, &c, t.memory, "/x", &err), TARN_E_INVALID);
  assert_contains(err.message, "column f_int");
  tn_format_file_release(from);
}

static void write__ends_blocks_as_java_does(void **state) {
  tn_vec *column;
  tn_batch batch;
  tn_write_options options = {.compression = "null"};
  tn_write_request request = {.options = &options};
  tn_format_writer *writer;
  tn_sink *sink;
  tarn_error err;
  parts p;
  (void)state;
  request.fields = sql_fields(&t, "ROW<n BIGINT NOT NULL>", &request.n_fields);
  assert_works(tn_batch_init(t.env, request.fields, 1, &batch, &err), err);
  column = &batch.columns[0];
  assert_works(tn_vec_alloc(t.env, column, 50000, 0, &err), err);
  for (int64_t i = 0; i < 50000; i++) {
    ((int64_t *)column->values)[i] = 1000000; /* three bytes each */
  }
  batch.n_rows = 50000;
  assert_works(tn_storage_create(t.memory, "/blocks", &sink, &err), err);
  assert_works(tn_avro_writer.create(t.env, sink, &request, &writer, &err), err);
  assert_works(writer->calls->write(writer, &batch, &err), err);
  assert_true(writer->calls->size(writer) > 149000);
  assert_works(writer->calls->finish(writer, &err), err);
  writer->calls->free(writer);
  assert_works(tn_sink_finish(sink, false, &err), err);
  tn_batch_reset(t.env, &batch);
  take_apart(memory_bytes("/blocks"), &p);
  assert_int_equal(p.n_records, 50000);
  assert_int_equal(p.n_blocks, 3); /* of 21,334 records: the first that reach 64,000 bytes */
  tn_buf_reset(&p.data);
}

static tarn_status torture(void *ctx, tarn_env *env, tarn_error *err) {
  tn_storage *local = NULL, *memory = NULL;
  tn_format_file *from = NULL;
  tarn_status st = TARN_OK;
  TN_TRY_TO(done, tn_storage_local(env, &local, err));
  TN_TRY_TO(done, tn_storage_memory(env, &memory, err));
  TN_TRY_TO(done, tn_format_open(env, local, &tn_avro_format, data_path(&t, "java_nested.avro"),
                                 &from, err));
  TN_TRY_TO(done, copy_file(from, ctx, memory, "/x", err));
done:
  tn_format_file_release(from);
  tn_storage_release(local);
  tn_storage_release(memory);
  return st;
}

static void write__survives_failing_allocations(void **state) {
  copying c = {0};
  (void)state;
  c.fields = sql_fields(&t, NESTED, &c.n_fields);
  assert_true(tn_torture(torture, &c, TARN_OK) > 50);
}

/* ------------------------------------------------------------------ records */

typedef struct inner {
  int32_t number;
  tn_slice text;
  bool has_text;
} inner;

typedef struct outer {
  int64_t id;
  tn_slice bytes;
  inner in;
  tn_record_array texts, longs, ints, inners;
  bool has_longs;
} outer;

static const tn_record_field INNER[] = {
    {"number", TN_RECORD_INT, offsetof(inner, number), TN_RECORD_NO_FLAG, NULL, 0, 0},
    {"text", TN_RECORD_TEXT, offsetof(inner, text), offsetof(inner, has_text), NULL, 0, 0},
};

static const tn_record_field OUTER[] = {
    {"id", TN_RECORD_LONG, offsetof(outer, id), TN_RECORD_NO_FLAG, NULL, 0, 0},
    {"bytes", TN_RECORD_BYTES, offsetof(outer, bytes), TN_RECORD_NO_FLAG, NULL, 0, 0},
    {"in", TN_RECORD_STRUCT, offsetof(outer, in), TN_RECORD_NO_FLAG, INNER, TN_COUNT(INNER), 0},
    {"texts", TN_RECORD_TEXTS, offsetof(outer, texts), TN_RECORD_NO_FLAG, NULL, 0, 0},
    {"longs", TN_RECORD_LONGS, offsetof(outer, longs), offsetof(outer, has_longs), NULL, 0, 0},
    {"ints", TN_RECORD_INTS, offsetof(outer, ints), TN_RECORD_NO_FLAG, NULL, 0, 0},
    {"inners", TN_RECORD_STRUCTS, offsetof(outer, inners), TN_RECORD_NO_FLAG, INNER,
     TN_COUNT(INNER), sizeof(inner)},
};

#define INNER_FIELDS \
  "[{\"name\":\"number\",\"type\":\"int\"},{\"name\":\"text\",\"type\":[\"null\",\"string\"]}]"
static const char OUTER_SCHEMA[] =
    "{\"type\":\"record\",\"name\":\"o\",\"fields\":[{\"name\":\"id\",\"type\":\"long\"},"
    "{\"name\":\"unknown\",\"type\":[\"null\",\"int\"]},{\"name\":\"bytes\",\"type\":\"bytes\"},"
    "{\"name\":\"in\",\"type\":{\"type\":\"record\",\"name\":\"i\",\"fields\":" INNER_FIELDS
    "}},{\"name\":\"texts\",\"type\":{\"type\":\"array\",\"items\":\"string\"}},"
    "{\"name\":\"longs\",\"type\":[\"null\",{\"type\":\"array\",\"items\":[\"null\",\"long\"]}]},"
    "{\"name\":\"ints\",\"type\":{\"type\":\"array\",\"items\":\"int\"}},"
    "{\"name\":\"inners\",\"type\":{\"type\":\"array\",\"items\":[\"null\",{\"type\":\"record\","
    "\"name\":\"j\",\"fields\":" INNER_FIELDS "}]}}]}";

static outer an_outer(int64_t id) {
  static tn_slice texts[2];
  static int64_t longs[] = {1, INT64_MIN, -1};
  static int32_t ints[] = {7};
  static inner inners[2];
  outer o = {.id = id, .bytes = tn_slice_text("bb"), .in = {.number = -3}, .has_longs = true};
  texts[0] = tn_slice_text("");
  texts[1] = tn_slice_text("two");
  inners[0] = (inner){.number = 1, .text = tn_slice_text("x"), .has_text = true};
  inners[1] = (inner){.number = 2};
  o.texts = (tn_record_array){texts, 2};
  o.longs = (tn_record_array){longs, 3};
  o.ints = (tn_record_array){ints, 1};
  o.inners = (tn_record_array){inners, 2};
  return o;
}

static void records__are_encoded_as_avro_says(void **state) {
  /* id 5, unknown null, "bb", {-3, null}, ["", "two"], [1, null, -1], [7], [{1, "x"}, {2}] */
  static const char WANTED[] =
      "0a 00 046262 05 00 04 00 0674776f 00 02 06 02 02 00 02 01 00 02 0e "
      "00 04 02 02 02 02 78 02 04 00 00";
  tn_record_writer *w;
  outer o = an_outer(5);
  tarn_error err;
  tn_slice file;
  size_t n;
  uint8_t *wanted = tn_test_hex(WANTED, &n);
  parts p;
  (void)state;
  assert_works(
      tn_avro_record_writer.create(t.env, OUTER_SCHEMA, "null", OUTER, TN_COUNT(OUTER), &w, &err),
      err);
  assert_works(tn_avro_record_writer.add(w, &o, &err), err);
  assert_works(tn_avro_record_writer.finish(w, &file, &err), err);
  assert_int_equal(tn_avro_record_writer.size(w), file.len);
  take_apart(file, &p);
  assert_int_equal(p.n_records, 1);
  assert_int_equal(p.data.len, n);
  assert_memory_equal(p.data.data, wanted, n);
  tn_buf_reset(&p.data);
  free(wanted);
  tn_avro_record_writer.free(w);
}

typedef struct seen {
  int64_t n;
} seen;

static tarn_status see(void *ctx, const void *record, tarn_error *err) {
  seen *s = ctx;
  const outer *o = record, wanted = an_outer(s->n);
  (void)err;
  assert_int_equal(o->id, s->n++);
  assert_true(tn_slice_equal(o->bytes, wanted.bytes));
  assert_int_equal(o->in.number, -3);
  assert_false(o->in.has_text);
  assert_int_equal(o->texts.count, 2);
  assert_true(tn_slice_equal(((tn_slice *)o->texts.items)[1], tn_slice_text("two")));
  assert_true(o->has_longs);
  assert_memory_equal(o->longs.items, wanted.longs.items, 24);
  assert_int_equal(o->inners.count, 2);
  assert_true(((inner *)o->inners.items)[0].has_text);
  return TARN_OK;
}

static void records__are_read_with_every_codec(void **state) {
  (void)state;
  for (size_t i = 0; i < TN_COUNT(CODECS); i++) {
    tn_record_writer *w;
    tn_slice file;
    tarn_error err;
    seen s = {0};
    assert_works(tn_avro_record_writer.create(t.env, OUTER_SCHEMA, CODECS[i], OUTER,
                                              TN_COUNT(OUTER), &w, &err),
                 err);
    for (int64_t id = 0; id < 5000; id++) {
      outer o = an_outer(id);
      assert_works(tn_avro_record_writer.add(w, &o, &err), err);
    }
    assert_works(tn_avro_record_writer.finish(w, &file, &err), err);
    assert_works(tn_avro_read_records(t.env, file, "f", OUTER, TN_COUNT(OUTER), sizeof(outer), see,
                                      &s, &err),
                 err);
    assert_int_equal(s.n, 5000);
    tn_avro_record_writer.free(w);
  }
}

static void records__of_none_are_a_header(void **state) {
  tn_record_writer *w;
  tn_slice file;
  tarn_error err;
  parts p;
  (void)state;
  assert_works(
      tn_avro_record_writer.create(t.env, OUTER_SCHEMA, NULL, OUTER, TN_COUNT(OUTER), &w, &err),
      err);
  assert_works(tn_avro_record_writer.finish(w, &file, &err), err);
  take_apart(file, &p);
  assert_int_equal(p.n_blocks, 0);
  assert_string_equal(p.header.codec_name, "zstandard");
  tn_avro_record_writer.free(w);
}

static void records__must_fit_their_schema(void **state) {
  static const struct {
    const char *schema, *message;
  } BAD[] = {
      {"{\"type\":\"record\",\"name\":\"o\",\"fields\":[{\"name\":\"id\",\"type\":\"string\"}]}",
       "id"},
      {"{\"type\":\"record\",\"name\":\"o\",\"fields\":[{\"name\":\"new\",\"type\":\"int\"}]}",
       "new"},
      {"\"int\"", "int"},
      {"{\"type\":\"record\",\"name\":\"o\",\"fields\":[{\"name\":\"texts\",\"type\":\"string\"}]}",
       "texts"},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(BAD); i++) {
    tn_record_writer *w;
    tarn_error err;
    assert_int_equal(tn_avro_record_writer.create(t.env, BAD[i].schema, "null", OUTER,
                                                  TN_COUNT(OUTER), &w, &err),
                     TARN_E_INVALID);
    assert_contains(err.message, BAD[i].message);
  }
}

static void records__without_a_value_are_refused_alone(void **state) {
  static const char SCHEMA[] =
      "{\"type\":\"record\",\"name\":\"o\",\"fields\":[{\"name\":\"id\",\"type\":\"long\"},"
      "{\"name\":\"longs\",\"type\":{\"type\":\"array\",\"items\":\"long\"}}]}";
  static int64_t numbers[] = {1, 2};
  tn_record_writer *w;
  outer bad = an_outer(1), good = an_outer(2);
  tn_slice file;
  tarn_error err;
  parts p;
  (void)state;
  good.longs = (tn_record_array){numbers, 2};
  assert_works(
      tn_avro_record_writer.create(t.env, SCHEMA, "null", OUTER, TN_COUNT(OUTER), &w, &err), err);
  assert_int_equal(tn_avro_record_writer.add(w, &bad, &err), TARN_E_INVALID);
  assert_contains(err.message, "longs");
  bad.has_longs = false;
  assert_int_equal(tn_avro_record_writer.add(w, &bad, &err), TARN_E_INVALID);
  assert_works(tn_avro_record_writer.add(w, &good, &err), err);
  assert_works(tn_avro_record_writer.finish(w, &file, &err), err);
  take_apart(file, &p);
  assert_int_equal(p.n_records, 1);
  assert_int_equal(p.data.len, 5);
  tn_buf_reset(&p.data);
  tn_avro_record_writer.free(w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      format_unit_test(&t, write__gives_the_bytes_of_java),
      format_unit_test(&t, write__is_read_with_every_codec),
      format_unit_test(&t, write__takes_encoded_columns),
      format_unit_test(&t, write__ends_blocks_as_java_does),
      format_unit_test(&t, create__refuses_what_avro_cannot_hold),
      format_unit_test(&t, create__refuses_other_compressions_by_name),
      format_unit_test(&t, writer__is_found_by_name),
      format_unit_test(&t, write__refuses_null_where_it_may_not_be),
      format_unit_test(&t, write__survives_failing_allocations),
      format_unit_test(&t, records__are_encoded_as_avro_says),
      format_unit_test(&t, records__are_read_with_every_codec),
      format_unit_test(&t, records__of_none_are_a_header),
      format_unit_test(&t, records__must_fit_their_schema),
      format_unit_test(&t, records__without_a_value_are_refused_alone),
  };
  return cmocka_run_group_tests_name("avro_write", tests, NULL, NULL);
}
