/* Files of BLOBs and descriptors of them. */
#include "format/blob/blob.h"

#include "base/bytes.h"
#include "codec/hash.h"
#include "column/buffer.h"
#include "format/blob/blob_descriptor.h"
#include "support/test.h"
#include "support/torture.h"

#define PATH "/w/t/bucket-0/a.blob"

/* What Paimon 1.4.2 wrote for "hello", null, "world!!". */
static const char JAVA[] =
    "cf114e5868656c6c6f1500000000000000c8f6a751cf114e58776f726c642121"
    "1700000000000000c06ed53b2a2b300300000001";

static const tn_field blob_field = {.name = "b", .type = {.root = TN_BLOB, .is_nullable = true}};

typedef struct blobs {
  tarn_env *env;
  tn_storage *storage;
  tn_buf bytes; /* of the file */
  tn_buf index;
  int64_t last;
  tarn_error err;
} blobs;

static void begin(blobs *b, size_t budget) {
  memset(b, 0, sizeof(*b));
  b->env = tn_test_env(1, budget);
  assert_works(tn_storage_memory(b->env, &b->storage, &b->err), b->err);
  tn_buf_init(&b->bytes, &b->env->mem, 1u << 28);
  tn_buf_init(&b->index, &b->env->mem, 1u << 20);
}

static void end(blobs *b) {
  tn_buf_reset(&b->bytes);
  tn_buf_reset(&b->index);
  tn_storage_release(b->storage);
  tarn_env_free(b->env);
}

static void add_length(blobs *b, int64_t length) {
  int64_t delta = length - b->last;
  uint64_t z = ((uint64_t)delta << 1) ^ (uint64_t)(delta >> 63);
  b->last = length;
  do {
    uint8_t byte = (uint8_t)((z & 0x7f) | (z > 0x7f ? 0x80 : 0));
    assert_works(tn_buf_append(&b->index, &byte, 1, &b->err), b->err);
    z >>= 7;
  } while (z > 0);
}

/* A value of n bytes, all `fill`. */
static void add(blobs *b, size_t n, char fill) {
  uint8_t head[4], tail[12];
  size_t at = b->bytes.len;
  tn_store_le32(head, 1481511375u);
  tn_store_le64(tail, n + 16);
  assert_works(tn_buf_append(&b->bytes, head, 4, &b->err), b->err);
  for (size_t i = 0; i < n; i++) {
    assert_works(tn_buf_append(&b->bytes, &fill, 1, &b->err), b->err);
  }
  assert_works(tn_buf_append(&b->bytes, tail, 8, &b->err), b->err);
  tn_store_le32(tail, tn_crc32(0, b->bytes.data + at, b->bytes.len - at));
  assert_works(tn_buf_append(&b->bytes, tail, 4, &b->err), b->err);
  add_length(b, (int64_t)n + 16);
}

static void finish(blobs *b) {
  uint8_t tail[5] = {0, 0, 0, 0, 1};
  tn_store_le32(tail, (uint32_t)b->index.len);
  assert_works(tn_buf_append(&b->bytes, b->index.data, b->index.len, &b->err), b->err);
  assert_works(tn_buf_append(&b->bytes, tail, 5, &b->err), b->err);
}

static void from_hex(blobs *b, const char *hex) {
  for (; *hex != '\0'; hex += 2) {
    unsigned value;
    uint8_t byte;
    assert_int_equal(sscanf(hex, "%2x", &value), 1);
    byte = (uint8_t)value;
    assert_works(tn_buf_append(&b->bytes, &byte, 1, &b->err), b->err);
  }
}

static tarn_status open_blobs(blobs *b, tn_format_file **out) {
  tn_file *file;
  tarn_status st;
  *out = NULL;
  assert_works(tn_storage_memory_put(b->storage, PATH, tn_buf_slice(&b->bytes), &b->err), b->err);
  assert_works(tn_storage_open(b->storage, PATH, &file, &b->err), b->err);
  st = tn_blob_format.open(b->env, file, out, &b->err);
  tn_file_release(file);
  return st;
}

/* All rows as "5h,null,7w": length and first byte of each; ";" between batches. */
static tarn_status read_blobs(blobs *b, tn_read_request request, char *text, size_t room) {
  tn_format_file *file;
  tn_reader *reader = NULL;
  tn_batch batch = {0};
  tarn_status st;
  size_t n = 0;
  request.fields = &blob_field;
  request.n_fields = 1;
  text[0] = '\0';
  TN_TRY_TO(done, open_blobs(b, &file));
  TN_TRY_TO(done, file->ops->read(file, &request, &reader, &b->err));
  TN_TRY_TO(done, tn_batch_init(b->env, &blob_field, 1, &batch, &b->err));
  for (;;) {
    TN_TRY_TO(done, tn_reader_next(reader, 1000, &batch, &b->err));
    if (batch.n_rows == 0) {
      break;
    }
    assert_works(tn_vec_validate(&batch.columns[0], &b->err), b->err);
    for (int64_t i = 0; i < batch.n_rows && n < room; i++) {
      tn_slice v = tn_vec_bytes(&batch.columns[0], i);
      n += (size_t)snprintf(text + n, room - n, "%s", i > 0 ? "," : n > 0 ? ";" : "");
      n += (size_t)(tn_vec_is_null(&batch.columns[0], i)
                        ? snprintf(text + n, room - n, "null")
                        : snprintf(text + n, room - n, "%zu%.1s", v.len,
                                   v.len > 0 ? (const char *)v.data : ""));
    }
  }
done:
  tn_batch_reset(b->env, &batch);
  tn_reader_free(reader);
  tn_format_file_release(file);
  return st;
}

static void assert_rows(blobs *b, tn_read_request request, const char *expected) {
  char text[4096];
  assert_works(read_blobs(b, request, text, sizeof(text)), b->err);
  assert_string_equal(text, expected);
}

static void blob__reads_what_java_wrote(void **state) {
  blobs b;
  tn_format_file *file;
  (void)state;
  begin(&b, 0);
  from_hex(&b, JAVA);
  assert_works(open_blobs(&b, &file), b.err);
  assert_int_equal(file->n_rows, 3);
  tn_format_file_release(file);
  assert_rows(&b, (tn_read_request){0}, "5h,null,7w");
  end(&b);
}

static void blob__reads_a_file_without_rows(void **state) {
  blobs b;
  (void)state;
  begin(&b, 0);
  finish(&b);
  assert_rows(&b, (tn_read_request){0}, "");
  end(&b);
}

static void blob__gives_the_rows_of_ranges(void **state) {
  blobs b;
  tn_range items[] = {{1, 3}, {5, 6}};
  tn_ranges rows = {.items = items, .count = 2};
  (void)state;
  begin(&b, 0);
  for (int i = 0; i < 7; i++) {
    if (i == 2) {
      add_length(&b, -1);
    } else {
      add(&b, (size_t)i, (char)('a' + i));
    }
  }
  finish(&b);
  assert_rows(&b, (tn_read_request){.rows = &rows}, "1b,null;5f");
  assert_rows(&b, (tn_read_request){.batch_rows = 3}, "0,1b,null;3d,4e,5f;6g");
  end(&b);
}

static void blob__skips_rows_that_nobody_wants(void **state) {
  blobs b;
  tn_format_file *file;
  tn_reader *reader;
  tn_batch batch;
  tn_read_request request = {.fields = &blob_field, .n_fields = 1};
  (void)state;
  begin(&b, 0);
  for (int i = 0; i < 5; i++) {
    add(&b, 10, (char)('a' + i));
  }
  b.bytes.data[26 + 5]++; /* row 1 is damaged, but is not read */
  finish(&b);
  assert_works(open_blobs(&b, &file), b.err);
  assert_works(file->ops->read(file, &request, &reader, &b.err), b.err);
  assert_works(tn_batch_init(b.env, &blob_field, 1, &batch, &b.err), b.err);
  assert_works(tn_reader_next(reader, 1, &batch, &b.err), b.err);
  assert_works(tn_reader_skip(reader, 2, &b.err), b.err);
  assert_works(tn_reader_next(reader, 10, &batch, &b.err), b.err);
  assert_int_equal(batch.n_rows, 2);
  assert_int_equal(batch.first_position, 3);
  assert_int_equal(tn_vec_bytes(&batch.columns[0], 0).data[0], 'd');
  tn_batch_reset(b.env, &batch);
  tn_reader_free(reader);
  tn_format_file_release(file);
  end(&b);
}

static void blob__ends_batches_at_a_part_of_the_budget(void **state) {
  blobs b;
  (void)state;
  begin(&b, (size_t)64 << 20); /* a 32nd part of it: 2 MiB */
  add(&b, 900 << 10, 'a');
  add(&b, 900 << 10, 'b');
  add(&b, 900 << 10, 'c');
  add(&b, 5 << 20, 'd'); /* one value is always given */
  add(&b, 3, 'e');
  finish(&b);
  assert_rows(&b, (tn_read_request){0}, "921600a,921600b;921600c;5242880d;3e");
  end(&b);
}

static void blob__gives_descriptors_without_reading_records(void **state) {
  blobs b;
  tn_format_file *file;
  tn_reader *reader;
  tn_batch batch;
  tn_blob_descriptor d;
  tn_read_request request = {.fields = &blob_field, .n_fields = 1, .blob_uri = "file:" PATH};
  (void)state;
  begin(&b, 0);
  from_hex(&b, JAVA);
  memset(b.bytes.data, 0, 32); /* no record is whole */
  assert_works(open_blobs(&b, &file), b.err);
  assert_works(file->ops->read(file, &request, &reader, &b.err), b.err);
  assert_works(tn_batch_init(b.env, &blob_field, 1, &batch, &b.err), b.err);
  assert_works(tn_reader_next(reader, 10, &batch, &b.err), b.err);
  assert_int_equal(batch.n_rows, 3);
  assert_true(tn_vec_is_null(&batch.columns[0], 1));
  assert_works(tn_blob_descriptor_decode(tn_vec_bytes(&batch.columns[0], 2), &d, &b.err), b.err);
  assert_true(tn_slice_is(d.uri, "file:" PATH));
  assert_int_equal(d.offset, 21 + 4);
  assert_int_equal(d.length, 7);
  tn_batch_reset(b.env, &batch);
  tn_reader_free(reader);
  tn_format_file_release(file);
  end(&b);
}

static void blob__tells_of_damage(void **state) {
  static const struct {
    int at; /* this byte, from the end when negative, becomes: */
    int value;
    tarn_status status;
    const char *text;
  } cases[] = {
      {0, 0, TARN_E_CORRUPT, "no magic"},
      {4, 'H', TARN_E_CORRUPT, "checksum"},
      {9, 0x16, TARN_E_CORRUPT, "another length"},
      {17, 0, TARN_E_CORRUPT, "checksum"},
      {-1, 2, TARN_E_UNSUPPORTED, "version 2"},
      {-1, 0, TARN_E_CORRUPT, "version 0"},
      {-5, 200, TARN_E_CORRUPT, "an index of 200 bytes"},
      {-5, 2, TARN_E_CORRUPT, "index begins at"},
      {-6, 0x30 | 0x80, TARN_E_CORRUPT, "cut"},
      {-6, 0x32, TARN_E_CORRUPT, "record of 24 bytes"},
      {-6, 0x2e, TARN_E_CORRUPT, "records end at offset 43"},
      {-8, 0x02, TARN_E_CORRUPT, "record of 1 bytes"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    blobs b;
    char text[256];
    begin(&b, 0);
    from_hex(&b, JAVA);
    b.bytes.data[cases[i].at >= 0 ? (size_t)cases[i].at : b.bytes.len - (size_t)-cases[i].at] =
        (uint8_t)cases[i].value;
    assert_int_equal(read_blobs(&b, (tn_read_request){0}, text, sizeof(text)), cases[i].status);
    assert_contains(b.err.message, cases[i].text);
    assert_contains(b.err.message, PATH);
    end(&b);
  }
}

static void blob__tells_of_short_files(void **state) {
  (void)state;
  for (size_t n = 0; n < sizeof(JAVA) / 2; n++) {
    blobs b;
    char text[256];
    begin(&b, 0);
    from_hex(&b, JAVA);
    b.bytes.len = n;
    assert_int_not_equal(read_blobs(&b, (tn_read_request){0}, text, sizeof(text)), TARN_OK);
    end(&b);
  }
}

static void blob__refuses_placeholders(void **state) {
  blobs b;
  char text[256];
  tn_range items[] = {{0, 1}};
  tn_ranges rows = {.items = items, .count = 1};
  (void)state;
  begin(&b, 0);
  add(&b, 1, 'a');
  add_length(&b, -2);
  finish(&b);
  assert_int_equal(read_blobs(&b, (tn_read_request){0}, text, sizeof(text)), TARN_E_UNSUPPORTED);
  assert_contains(b.err.message, "row 1 is a placeholder");
  assert_rows(&b, (tn_read_request){.rows = &rows}, "1a");
  end(&b);
}

static void blob__inspects_a_file(void **state) {
  blobs b;
  tn_format_file *file;
  tn_buf out;
  (void)state;
  begin(&b, 0);
  from_hex(&b, JAVA);
  assert_works(open_blobs(&b, &file), b.err);
  tn_buf_init(&out, &b.env->mem, 1u << 16);
  assert_works(file->ops->inspect(file, &out, &b.err), b.err);
  assert_works(tn_buf_append(&out, "", 1, &b.err), b.err);
  assert_string_equal((const char *)out.data,
                      "{\"format\":\"blob\",\"version\":1,\"rows\":3,\"nulls\":1,"
                      "\"value_bytes\":12,\"largest_value_bytes\":7}");
  tn_buf_reset(&out);
  tn_format_file_release(file);
  end(&b);
}

/* ------------------------------------------------------------------ descriptors */

static size_t encode(uint8_t *out, const char *uri, int64_t offset, int64_t length) {
  tn_blob_descriptor d = {tn_slice_text(uri), offset, length};
  tn_blob_descriptor_encode(&d, out);
  return tn_blob_descriptor_bytes(strlen(uri));
}

/* As Paimon 1.4.2 has it. */
static void descriptor__has_javas_bytes(void **state) {
  static const uint8_t java[] = {2, 'C', 'S', 'E', 'D', 'B', 'O', 'L', 'B', 2, 0, 0, 0, '/', 'x', 4,
                                 0, 0,   0,   0,   0,   0,   0,   3,   0,   0, 0, 0, 0, 0,   0};
  uint8_t bytes[64];
  (void)state;
  assert_int_equal(encode(bytes, "/x", 4, 3), sizeof(java));
  assert_memory_equal(bytes, java, sizeof(java));
  assert_true(tn_blob_is_descriptor(tn_slice_of(bytes, sizeof(java))));
  assert_false(tn_blob_is_descriptor(tn_slice_of(bytes, 8)));
  bytes[0] = 3;
  assert_false(tn_blob_is_descriptor(tn_slice_of(bytes, sizeof(java))));
}

static void descriptor__tells_of_bad_ones(void **state) {
  uint8_t bytes[64];
  tn_blob_descriptor d;
  tarn_error err;
  size_t n = encode(bytes, "/x", 4, 3);
  (void)state;
  for (size_t i = 0; i < n; i++) {
    assert_int_equal(tn_blob_descriptor_decode(tn_slice_of(bytes, i), &d, &err), TARN_E_CORRUPT);
  }
  n = encode(bytes, "/x", -1, 3);
  assert_int_equal(tn_blob_descriptor_decode(tn_slice_of(bytes, n), &d, &err), TARN_E_CORRUPT);
  n = encode(bytes, "/x", 1, -2);
  assert_int_equal(tn_blob_descriptor_decode(tn_slice_of(bytes, n), &d, &err), TARN_E_CORRUPT);
}

static void values_of(blobs *b, const tn_slice *values, size_t n, tn_vec *out) {
  size_t sum = 0;
  for (size_t i = 0; i < n; i++) {
    sum += values[i].len;
  }
  assert_works(tn_vec_init(b->env, &blob_field.type, out, &b->err), b->err);
  assert_works(tn_vec_alloc(b->env, out, (int64_t)n, sum, &b->err), b->err);
  for (size_t i = 0; i < n; i++) {
    out->offsets[i + 1] = out->offsets[i] + (int32_t)values[i].len;
    memcpy((uint8_t *)out->values + out->offsets[i], values[i].data, values[i].len);
  }
}

static void resolve__reads_what_descriptors_refer_to(void **state) {
  uint8_t first[64], rest[64];
  blobs b;
  tn_vec vec;
  (void)state;
  begin(&b, 0);
  assert_works(tn_storage_memory_put(b.storage, "/src", tn_slice_text("0123456789"), &b.err),
               b.err);
  tn_slice values[] = {tn_slice_of(first, encode(first, "file:/src", 2, 3)), tn_slice_text("raw"),
                       tn_slice_of(rest, encode(rest, "/src", 7, -1))};
  values_of(&b, values, 3, &vec);
  assert_works(tn_blob_resolve(b.env, b.storage, &vec, &b.err), b.err);
  assert_true(tn_slice_is(tn_vec_bytes(&vec, 0), "234"));
  assert_true(tn_slice_is(tn_vec_bytes(&vec, 1), "raw"));
  assert_true(tn_slice_is(tn_vec_bytes(&vec, 2), "789"));
  tn_vec_reset(b.env, &vec);
  end(&b);
}

static void resolve__tells_what_cannot_be_read(void **state) {
  static const struct {
    const char *uri;
    int64_t offset, length;
    tarn_status status;
    const char *text;
  } cases[] = {
      {"/src", 8, 3, TARN_E_CORRUPT, "3 bytes at offset 8 of /src"},
      {"/src", 11, -1, TARN_E_CORRUPT, "/src"},
      {"/gone", 0, 1, TARN_E_NOT_FOUND, "/gone"},
      {"https://h/x", 0, 1, TARN_E_UNSUPPORTED, "https"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    uint8_t bytes[64];
    blobs b;
    tn_vec vec;
    begin(&b, 0);
    assert_works(tn_storage_memory_put(b.storage, "/src", tn_slice_text("0123456789"), &b.err),
                 b.err);
    tn_slice value =
        tn_slice_of(bytes, encode(bytes, cases[i].uri, cases[i].offset, cases[i].length));
    values_of(&b, &value, 1, &vec);
    assert_int_equal(tn_blob_resolve(b.env, b.storage, &vec, &b.err), cases[i].status);
    assert_contains(b.err.message, cases[i].text);
    tn_vec_reset(b.env, &vec);
    end(&b);
  }
}

/* ------------------------------------------------------------------ allocations */

static tarn_status read_once(void *ctx, tarn_env *env, tarn_error *err) {
  tn_slice *bytes = ctx;
  tn_read_request request = {.fields = &blob_field, .n_fields = 1};
  tn_storage *storage = NULL;
  tn_format_file *opened = NULL;
  tn_reader *reader = NULL;
  tn_batch batch = {0};
  tarn_status st;
  TN_TRY_TO(done, tn_storage_memory(env, &storage, err));
  TN_TRY_TO(done, tn_storage_memory_put(storage, PATH, *bytes, err));
  TN_TRY_TO(done, tn_format_open(env, storage, &tn_blob_format, PATH, &opened, err));
  TN_TRY_TO(done, opened->ops->read(opened, &request, &reader, err));
  TN_TRY_TO(done, tn_batch_init(env, &blob_field, 1, &batch, err));
  TN_TRY_TO(done, tn_reader_next(reader, 100, &batch, err));
  TN_TRY_TO(done, tn_blob_resolve(env, storage, &batch.columns[0], err));
done:
  tn_batch_reset(env, &batch);
  tn_reader_free(reader);
  tn_format_file_release(opened);
  tn_storage_release(storage);
  return st;
}

static void blob__survives_failing_allocations(void **state) {
  blobs b;
  uint8_t descriptor[64];
  size_t n = encode(descriptor, PATH, 4, 5);
  tn_slice bytes;
  (void)state;
  begin(&b, 0);
  add(&b, 5000, 'a');
  add_length(&b, -1);
  add(&b, n, 'x');
  memcpy(b.bytes.data + 5016 + 4, descriptor, n); /* refers to a part of the first */
  tn_store_le32(b.bytes.data + b.bytes.len - 4,
                tn_crc32(0, b.bytes.data + 5016, b.bytes.len - 4 - 5016));
  finish(&b);
  bytes = tn_buf_slice(&b.bytes);
  assert_true(tn_torture(read_once, &bytes, TARN_OK) > 10);
  end(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blob__reads_what_java_wrote),
      cmocka_unit_test(blob__reads_a_file_without_rows),
      cmocka_unit_test(blob__gives_the_rows_of_ranges),
      cmocka_unit_test(blob__skips_rows_that_nobody_wants),
      cmocka_unit_test(blob__ends_batches_at_a_part_of_the_budget),
      cmocka_unit_test(blob__gives_descriptors_without_reading_records),
      cmocka_unit_test(blob__tells_of_damage),
      cmocka_unit_test(blob__tells_of_short_files),
      cmocka_unit_test(blob__refuses_placeholders),
      cmocka_unit_test(blob__inspects_a_file),
      cmocka_unit_test(descriptor__has_javas_bytes),
      cmocka_unit_test(descriptor__tells_of_bad_ones),
      cmocka_unit_test(resolve__reads_what_descriptors_refer_to),
      cmocka_unit_test(resolve__tells_what_cannot_be_read),
      cmocka_unit_test(blob__survives_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
