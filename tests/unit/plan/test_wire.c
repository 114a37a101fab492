/* Splits as Java's bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "support/files.h"
#include "support/torture.h"
#include "table_maker.h"

/* A committed vector; malloc'ed. */
static uint8_t *vector(const char *name, size_t *n) {
  char *path = tn_test_path(TARN_SOURCE_DIR "/tests/unit/plan/data", name);
  uint8_t *hex = tn_test_read_file(path, n), *bytes;
  char *text = malloc(*n + 1);
  assert_non_null(text);
  memcpy(text, hex, *n);
  text[*n] = '\0';
  bytes = tn_test_hex(text, n);
  free(text);
  free(hex);
  free(path);
  return bytes;
}

static tarn_env *new_env(void) {
  tarn_env *env = NULL;
  OK(tarn_env_create(NULL, &env, err));
  return env;
}

static tn_plan *decode(tarn_env *env, const uint8_t *bytes, size_t n) {
  tn_plan *plan = NULL;
  OK(tn_split_decode(env, NULL, tn_slice_of(bytes, n), &plan, err));
  assert_int_equal(plan->n_splits, 1);
  return plan;
}

static void assert_encodes_to(tarn_env *env, const tn_split *split, const uint8_t *bytes,
                              size_t n) {
  tn_buf out;
  tn_buf_init(&out, &env->mem, 1 << 20);
  OK(tn_split_encode(split, &out, err));
  assert_int_equal(out.len, n);
  assert_memory_equal(out.data, bytes, n);
  tn_buf_reset(&out);
}

static void assert_text(tn_slice s, const char *text) {
  assert_true(tn_slice_is(s, text));
}

static void split__empty_vector(void **state) {
  tarn_env *env = new_env();
  size_t n;
  uint8_t *bytes = vector("datasplit-v8-empty.hex", &n);
  tn_plan *plan = decode(env, bytes, n);
  const tn_split *s = plan->splits;
  (void)state;
  assert_int_equal(n, 66);
  assert_int_equal(s->snapshot_id, 1);
  assert_int_equal(s->partition.len, 12);
  assert_int_equal(s->bucket, 0);
  assert_string_equal(s->bucket_path, "/t/bucket-0");
  assert_false(s->has_total_buckets);
  assert_int_equal(s->n_files, 0);
  assert_null(s->deletions);
  assert_true(s->is_streaming);
  assert_false(s->is_raw_convertible);
  assert_encodes_to(env, s, bytes, n);
  tn_plan_release(plan);
  free(bytes);
  tarn_env_free(env);
}

static void check_full_file(const tn_data_file *f) {
  assert_text(f->file_name, "data-00000000-0000-0000-0000-000000000001-0.parquet");
  assert_int_equal(f->file_size, 1234);
  assert_int_equal(f->row_count, 10);
  assert_int_equal(f->min_key.len, 20);
  assert_int_equal(f->min_key.data[12], 1);
  assert_int_equal(f->max_key.data[12], 9);
  assert_int_equal(f->key_stats.null_counts.count, 1);
  assert_int_equal(((const int64_t *)f->value_stats.null_counts.items)[1], 2);
  assert_int_equal(f->min_sequence, 100);
  assert_int_equal(f->max_sequence, 109);
  assert_int_equal(f->schema_id, 3);
  assert_int_equal(f->level, 5);
  assert_int_equal(f->extra_files.count, 1);
  assert_true(f->has_creation_time);
  assert_true(f->creation_time_ms == 1700000000123);
  assert_int_equal(f->delete_row_count, 1);
  assert_int_equal(f->embedded_index.len, 3);
  assert_int_equal(f->source, TN_SOURCE_COMPACT);
  assert_int_equal(f->value_stats_cols.count, 2);
  assert_text(((const tn_slice *)f->value_stats_cols.items)[1], "v");
  assert_true(f->has_external_path);
  assert_int_equal(f->first_row_id, 1000);
  assert_text(((const tn_slice *)f->write_cols.items)[0], "k");
}

static void split__vector_with_two_files(void **state) {
  tarn_env *env = new_env();
  size_t n;
  uint8_t *bytes = vector("datasplit-v8-two-files.hex", &n);
  tn_plan *plan = decode(env, bytes, n);
  const tn_split *s = plan->splits;
  tn_arena arena;
  const char *path;
  (void)state;
  assert_int_equal(s->snapshot_id, 42);
  assert_int_equal(s->partition.len, 44);
  assert_string_equal(s->bucket_path, "file:/t/dt=2024-01-01/hh=7/bucket-1");
  assert_true(s->has_total_buckets);
  assert_int_equal(s->total_buckets, 2);
  assert_int_equal(s->n_files, 2);
  assert_text(s->files[0].file_name, "d.orc");
  assert_false(s->files[0].has_source);
  assert_false(s->files[0].has_write_cols);
  assert_false(s->files[0].has_value_stats_cols);
  check_full_file(&s->files[1]);
  assert_string_equal(s->deletions[0].path, "file:/t/index/index-1");
  assert_int_equal(s->deletions[0].offset, 22);
  assert_int_equal(s->deletions[0].length, 33);
  assert_int_equal(s->deletions[0].cardinality, 4);
  assert_null(s->deletions[1].path);
  assert_false(s->is_streaming);
  assert_true(s->is_raw_convertible);
  assert_encodes_to(env, s, bytes, n);
  tn_arena_init(&arena, &env->mem, 1 << 20);
  OK(tn_split_file_path(s, 0, &arena, &path, err));
  assert_string_equal(path, "file:/t/dt=2024-01-01/hh=7/bucket-1/d.orc");
  OK(tn_split_file_path(s, 1, &arena, &path, err));
  assert_string_equal(path,
                      "file:/ext/p/bucket-0/data-00000000-0000-0000-0000-000000000001-0.parquet");
  tn_arena_reset(&arena);
  tn_plan_release(plan);
  free(bytes);
  tarn_env_free(env);
}

/* ------------------------------------------------------------------ older versions */

static void put_be(tn_buf *b, uint64_t value, size_t n) {
  uint8_t bytes[8];
  tn_store_be64(bytes, value);
  OK(tn_buf_append(b, bytes + 8 - n, n, err));
}

static void put_utf(tn_buf *b, const char *text) {
  put_be(b, strlen(text), 2);
  OK(tn_buf_text(b, text, err));
}

/* A DataFileMeta row of the first n_fields fields. */
static void put_file_row(tn_buf *b, tarn_env *env, int32_t n_fields) {
  static const uint8_t EMPTY_ROW[12] = {0}, EMPTY_ARRAY[8] = {0};
  const tn_slice empty_row = {EMPTY_ROW, 12}, empty_array = {EMPTY_ARRAY, 8};
  tn_binary_row_writer w;
  tn_buf row, piece;
  tn_buf_init(&row, &env->mem, 1 << 20);
  tn_buf_init(&piece, &env->mem, 1 << 20);
  OK(tn_binary_row_begin(&w, &piece, 3, err));
  OK(tn_binary_row_set_bytes(&w, 0, empty_row, err));
  OK(tn_binary_row_set_bytes(&w, 1, empty_row, err));
  OK(tn_binary_row_set_piece(&w, 2, empty_array, err));
  OK(tn_binary_row_begin(&w, &row, n_fields, err));
  OK(tn_binary_row_set_bytes(&w, 0, tn_slice_text("file-name.parquet"), err));
  tn_binary_row_set_slot(&w, 1, 777);
  tn_binary_row_set_slot(&w, 2, 9);
  OK(tn_binary_row_set_bytes(&w, 3, empty_row, err));
  OK(tn_binary_row_set_bytes(&w, 4, empty_row, err));
  OK(tn_binary_row_set_piece(&w, 5, tn_buf_slice(&piece), err));
  OK(tn_binary_row_set_piece(&w, 6, tn_buf_slice(&piece), err));
  tn_binary_row_set_slot(&w, 7, 1);
  tn_binary_row_set_slot(&w, 8, 2);
  tn_binary_row_set_slot(&w, 9, 0);
  tn_binary_row_set_slot(&w, 10, 3);
  OK(tn_binary_row_set_piece(&w, 11, empty_array, err));
  tn_binary_row_set_slot(&w, 12, 1700000000123);
  for (int32_t i = 13; i < n_fields; i++) {
    if (i == 13 || i == 15 || i == 18) {
      tn_binary_row_set_slot(&w, i, i == 15 ? 1 : 4);
    } else {
      tn_binary_row_set_null(&w, i);
    }
  }
  put_be(b, row.len, 4);
  OK(tn_buf_append(b, row.data, row.len, err));
  tn_buf_reset(&piece);
  tn_buf_reset(&row);
}

static void put_split(tn_buf *b, tarn_env *env, int32_t version) {
  static const int32_t FIELDS[] = {0, 15, 16, 17, 17, 18, 18, 20, 20, 21};
  if (version > 1) {
    put_be(b, (uint64_t)-2394839472490812314LL, 8);
    put_be(b, (uint64_t)version, 4);
  }
  put_be(b, 5, 8);
  put_be(b, 12, 4);
  put_be(b, 0, 8);
  put_be(b, 0, 4);
  put_be(b, 3, 4); /* bucket */
  put_utf(b, "/t/bucket-3");
  if (version >= 6) {
    put_be(b, 1, 1);
    put_be(b, 8, 4);
  }
  put_be(b, 0, 5); /* before files and deletions */
  put_be(b, 1, 4);
  put_file_row(b, env, FIELDS[version]);
  put_be(b, 1, 1);
  put_be(b, 1, 4);
  put_be(b, 1, 1);
  put_utf(b, "/t/index/i");
  put_be(b, 1, 8);
  put_be(b, 30, 8);
  if (version >= 4) {
    put_be(b, 2, 8);
  }
  put_be(b, 0, 1);
  put_be(b, 1, 1);
}

static void split__every_version(void **state) {
  tarn_env *env = new_env();
  (void)state;
  for (int32_t version = 1; version <= 9; version++) {
    tn_buf b;
    tn_plan *plan;
    const tn_split *s;
    tn_buf_init(&b, &env->mem, 1 << 20);
    put_split(&b, env, version);
    plan = decode(env, b.data, b.len);
    s = plan->splits;
    assert_int_equal(s->snapshot_id, 5);
    assert_int_equal(s->bucket, 3);
    assert_int_equal(s->has_total_buckets, version >= 6);
    assert_int_equal(s->total_buckets, version >= 6 ? 8 : 0);
    assert_int_equal(s->n_files, 1);
    assert_text(s->files[0].file_name, "file-name.parquet");
    assert_int_equal(s->files[0].level, 3);
    assert_int_equal(s->files[0].delete_row_count, 4);
    assert_int_equal(s->files[0].has_source, version >= 2);
    assert_int_equal(s->files[0].has_first_row_id, version >= 7);
    assert_int_equal(s->deletions[0].cardinality, version >= 4 ? 2 : -1);
    assert_int_equal(tn_split_row_count(s), version >= 4 ? 7 : -1);
    assert_true(s->is_raw_convertible);
    if (version == 8) {
      assert_encodes_to(env, s, b.data, b.len);
    }
    tn_plan_release(plan);
    tn_buf_reset(&b);
  }
  tarn_env_free(env);
}

/* The frame of the cross-language form, around version 8. */
static void split__in_a_frame(void **state) {
  tarn_env *env = new_env();
  tn_buf b;
  tn_plan *plan;
  tarn_error error = {0};
  (void)state;
  tn_buf_init(&b, &env->mem, 1 << 20);
  put_be(&b, 0x53504C49545F5631ULL, 8);
  put_be(&b, 1, 4);
  put_be(&b, 1, 4);
  put_split(&b, env, 8);
  plan = decode(env, b.data, b.len);
  assert_int_equal(plan->splits->bucket, 3);
  tn_plan_release(plan);
  b.data[15] = 3;  // an indexed split
  assert_int_equal(tn_split_decode(env, NULL, tn_buf_slice(&b), &plan, &error), TARN_E_UNSUPPORTED);
  assert_null(plan);
  tn_buf_reset(&b);
  tarn_env_free(env);
}

/* Modified UTF-8: NUL and characters beyond U+FFFF are not as in UTF-8. */
static void split__paths_beyond_ascii(void **state) {
  static const char PATH[] = "/t/p=\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80/bucket-0";
  tarn_env *env = new_env();
  size_t n;
  uint8_t *bytes = vector("datasplit-v8-empty.hex", &n);
  tn_plan *plan = decode(env, bytes, n), *again;
  tn_split s = plan->splits[0];
  tn_buf b;
  (void)state;
  s.bucket_path = PATH;
  tn_buf_init(&b, &env->mem, 1 << 20);
  OK(tn_split_encode(&s, &b, err));
  // 8 + 4 + 8, partition 4 + 12, bucket 4: then the length.
  assert_int_equal(tn_load_be16(b.data + 40), strlen(PATH) + 2);
  again = decode(env, b.data, b.len);
  assert_string_equal(again->splits->bucket_path, PATH);
  tn_plan_release(again);
  tn_plan_release(plan);
  tn_buf_reset(&b);
  free(bytes);
  tarn_env_free(env);
}

/* ------------------------------------------------------------------ bad bytes */

static void split__rejects_every_truncation(void **state) {
  tarn_env *env = new_env();
  size_t n;
  uint8_t *bytes = vector("datasplit-v8-two-files.hex", &n);
  (void)state;
  for (size_t i = 0; i < n; i++) {
    tn_plan *plan = NULL;
    tarn_error error = {0};
    uint8_t *copy = malloc(i + 1);  // its own block: reading past it is seen
    memcpy(copy, bytes, i);
    assert_int_equal(tn_split_decode(env, NULL, tn_slice_of(copy, i), &plan, &error),
                     TARN_E_CORRUPT);
    assert_null(plan);
    assert_true(error.message[0] != '\0');
    free(copy);
  }
  free(bytes);
  tarn_env_free(env);
}

static void split__survives_every_flipped_bit(void **state) {
  tarn_env *env = new_env();
  size_t n;
  uint8_t *bytes = vector("datasplit-v8-two-files.hex", &n);
  (void)state;
  for (size_t i = 0; i < n * 8; i++) {
    tn_plan *plan = NULL;
    tarn_status st;
    tarn_error error = {0};
    bytes[i / 8] ^= (uint8_t)(1u << (i % 8));
    st = tn_split_decode(env, NULL, tn_slice_of(bytes, n), &plan, &error);
    assert_true(st == TARN_OK || st == TARN_E_CORRUPT || st == TARN_E_UNSUPPORTED);
    tn_plan_release(plan);
    bytes[i / 8] ^= (uint8_t)(1u << (i % 8));
  }
  free(bytes);
  tarn_env_free(env);
}

static void split__rejects_what_it_does_not_know(void **state) {
  tarn_env *env = new_env();
  size_t n;
  uint8_t *bytes = vector("datasplit-v8-empty.hex", &n), *indexed;
  uint8_t longer[80];
  tn_plan *plan;
  tarn_error error = {0};
  (void)state;
  memcpy(longer, bytes, n);
  longer[n] = 0;
  assert_int_equal(tn_split_decode(env, NULL, tn_slice_of(longer, n + 1), &plan, &error),
                   TARN_E_CORRUPT);
  bytes[11] = 10;  // version
  assert_int_equal(tn_split_decode(env, NULL, tn_slice_of(bytes, n), &plan, &error),
                   TARN_E_UNSUPPORTED);
  assert_non_null(strstr(error.message, "version 10"));
  bytes[11] = 8;
  bytes[57] = 1;  // before files: bytes 54 to 57
  assert_int_equal(tn_split_decode(env, NULL, tn_slice_of(bytes, n), &plan, &error),
                   TARN_E_UNSUPPORTED);
  free(bytes);
  indexed = vector("indexedsplit-v1.hex", &n);
  assert_int_equal(tn_split_decode(env, NULL, tn_slice_of(indexed, n), &plan, &error),
                   TARN_E_CORRUPT);
  free(indexed);
  tarn_env_free(env);
}

typedef struct bytes_ctx {
  uint8_t *bytes;
  size_t n;
} bytes_ctx;

static tarn_status round_trip(void *ctx, tarn_env *env, tarn_error *err) {
  bytes_ctx *c = ctx;
  tn_plan *plan = NULL;
  tn_buf out;
  tarn_status st = tn_split_decode(env, NULL, tn_slice_of(c->bytes, c->n), &plan, err);
  if (st == TARN_OK) {
    tn_buf_init(&out, &env->mem, 1 << 20);
    st = tn_split_encode(plan->splits, &out, err);
    tn_buf_reset(&out);
  }
  tn_plan_release(plan);
  return st;
}

static void split__survives_failing_allocations(void **state) {
  bytes_ctx ctx;
  (void)state;
  ctx.bytes = vector("datasplit-v8-two-files.hex", &ctx.n);
  assert_true(tn_torture(round_trip, &ctx, TARN_OK) > 3);
  free(ctx.bytes);
}

/* The bytes that Java has in its serialised object, in the frame that tells their kind. */
static uint8_t *framed_incremental(size_t *n) {
  static const uint8_t FRAME[16] = {0x53, 0x50, 0x4C, 0x49, 0x54, 0x5F, 0x56, 0x31,
                                    0,    0,    0,    1,    0,    0,    0,    2};
  size_t n_body;
  uint8_t *body = vector("incrementalsplit-v1.hex", &n_body);
  uint8_t *framed = malloc(sizeof(FRAME) + n_body);
  memcpy(framed, FRAME, sizeof(FRAME));
  memcpy(framed + sizeof(FRAME), body, n_body);
  free(body);
  *n = sizeof(FRAME) + n_body;
  return framed;
}

static void split__incremental_vector(void **state) {
  tarn_env *env = new_env();
  size_t n;
  uint8_t *bytes = framed_incremental(&n);
  tn_plan *plan = decode(env, bytes, n);
  const tn_split *s = plan->splits;
  tn_arena arena;
  const char *path;
  tarn_error error = {0};
  (void)state;
  assert_true(s->is_incremental);
  assert_int_equal(s->snapshot_id, 42);
  assert_int_equal(s->bucket, 1);
  assert_int_equal(s->total_buckets, 2);
  assert_int_equal(s->n_before, 1);
  assert_text(s->before[0].file_name, "d.orc");
  assert_int_equal(tn_split_row_count(s), -1);
  assert_true(s->is_streaming);
  assert_int_equal(s->n_files, 0); /* with a deletion vector too many: it is nobody's */
  {
    tn_buf out;
    tn_plan *again;
    tn_buf_init(&out, &env->mem, 1 << 20);
    OK(tn_split_encode(s, &out, err));
    assert_memory_equal(out.data, bytes, n - 53);
    again = decode(env, out.data, out.len);
    assert_encodes_to(env, again->splits, out.data, out.len);
    tn_plan_release(again);
    tn_buf_reset(&out);
  }
  /* Its folder is the table's to tell. */
  assert_null(s->bucket_path);
  tn_arena_init(&arena, &env->mem, 1 << 20);
  {
    const tn_split before = tn_split_state(s, true), after = tn_split_state(s, false);
    assert_int_equal(before.n_files, s->n_before);
    assert_ptr_equal(after.files, s->files);
    assert_false(before.is_incremental || after.is_incremental);
    assert_int_equal(tn_split_file_path(&before, 0, &arena, &path, &error), TARN_E_INVALID);
  }
  tn_arena_reset(&arena);
  tn_plan_release(plan);
  free(bytes);
  tarn_env_free(env);
}

static void split__incremental_bytes_cut_or_longer(void **state) {
  tarn_env *env = new_env();
  size_t n;
  uint8_t *bytes = framed_incremental(&n), *longer;
  tn_plan *plan;
  tarn_error error = {0};
  (void)state;
  for (size_t i = 0; i < n; i++) {
    uint8_t *cut = malloc(i + 1);
    memcpy(cut, bytes, i);
    assert_int_equal(tn_split_decode(env, NULL, tn_slice_of(cut, i), &plan, &error),
                     TARN_E_CORRUPT);
    assert_null(plan);
    free(cut);
  }
  longer = calloc(1, n + 1);
  memcpy(longer, bytes, n);
  assert_int_equal(tn_split_decode(env, NULL, tn_slice_of(longer, n + 1), &plan, &error),
                   TARN_E_CORRUPT);
  longer[19] = 3; /* version */
  assert_int_equal(tn_split_decode(env, NULL, tn_slice_of(longer, n), &plan, &error),
                   TARN_E_UNSUPPORTED);
  longer[15] = 4; /* a chain split */
  assert_int_equal(tn_split_decode(env, NULL, tn_slice_of(longer, n), &plan, &error),
                   TARN_E_UNSUPPORTED);
  free(longer);
  free(bytes);
  tarn_env_free(env);
}

/* FallbackSplitImpl around an incremental split; FallbackDataSplit around another. */
static void split__of_two_branches(void **state) {
  static const char *const VECTORS[] = {"datasplit-v8-two-files.hex", NULL};
  tarn_env *env = new_env();
  (void)state;
  for (int i = 0; i < 2; i++) {
    size_t n;
    uint8_t *bytes = VECTORS[i] != NULL ? vector(VECTORS[i], &n) : framed_incremental(&n);
    tn_plan *plan = decode(env, bytes, n), *again;
    tn_split s = plan->splits[0];
    tn_buf out;
    s.has_branch = true;
    s.is_fallback = true;
    tn_buf_init(&out, &env->mem, 1 << 20);
    OK(tn_split_encode(&s, &out, err));
    assert_int_equal(out.data[15], i == 0 ? 6 : 7);
    assert_true(i == 1 || out.len == 16 + n + 1);
    OK(tn_split_decode(env, NULL, tn_buf_slice(&out), &again, err));
    assert_true(again->splits->has_branch && again->splits->is_fallback);
    assert_true(again->splits->is_incremental == (i == 1));
    assert_encodes_to(env, again->splits, out.data, out.len);
    tn_plan_release(again);
    tn_buf_reset(&out);
    tn_plan_release(plan);
    free(bytes);
  }
  tarn_env_free(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(split__incremental_vector),
      cmocka_unit_test(split__incremental_bytes_cut_or_longer),
      cmocka_unit_test(split__of_two_branches),
      cmocka_unit_test(split__empty_vector),
      cmocka_unit_test(split__vector_with_two_files),
      cmocka_unit_test(split__every_version),
      cmocka_unit_test(split__in_a_frame),
      cmocka_unit_test(split__paths_beyond_ascii),
      cmocka_unit_test(split__rejects_every_truncation),
      cmocka_unit_test(split__survives_every_flipped_bit),
      cmocka_unit_test(split__rejects_what_it_does_not_know),
      cmocka_unit_test(split__survives_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
