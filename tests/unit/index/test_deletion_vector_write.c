/* Deletion vectors that are built and written: Java's bytes, both kinds, limits, and failures. */
#include "index/deletion_vector_write.h"

#include "support/files.h"
#include "support/test.h"
#include "support/torture.h"

/* Written by paimon-bundle 1.4.2: bitmap64 = false and true. */
static const char container_v1[] =
    "01000000245e43f2d03a300000020000000000020001000000180000001e00000000000300070000006fdeda7f"
    "000000135e43f2d03b300000010000630001000a00630012ca25b3";
static const char container_v2[] =
    "0100000030d1d339640100000000000000000000003a300000020000000000020001000000180000001e000000"
    "00000300070000"
    "00ef55f6a50000001fd1d339640100000000000000000000003b300000010000630001000a006300e781354d"
    "00000044d1d339640300000000000000000000003a3000000100000000000000100000000500010000003a3000"
    "00000000000"
    "20000003a3000000100000000000000100000000900c07ab251";

typedef struct fixture {
  tarn_env *env;
  tn_storage *storage;
  tn_arena arena;
} fixture;

static fixture f;

static int set_up(void **state) {
  tarn_error err;
  (void)state;
  f.env = tn_test_env(1, 0);
  tn_arena_init(&f.arena, &f.env->mem, 1 << 20);
  assert_works(tn_storage_memory(f.env, &f.storage, &err), err);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  tn_storage_release(f.storage);
  tn_arena_reset(&f.arena);
  tarn_env_free(f.env);
  return 0;
}

static tn_dv *build(int32_t version, const int64_t *positions, size_t n) {
  tn_dv_builder *b;
  tn_dv *dv;
  tarn_error err;
  assert_works(tn_dv_builder_create(f.env, version, NULL, &b, &err), err);
  for (size_t i = 0; i < n; i++) {
    assert_works(tn_dv_builder_add(b, positions[i], NULL, &err), err);
  }
  assert_works(tn_dv_builder_build(b, &dv, &err), err);
  assert_int_equal(tn_dv_builder_cardinality(b), 0);
  tn_dv_builder_free(b);
  return dv;
}

/* The vectors of the containers above. */
static size_t java_vectors(int32_t version, tn_dv_named out[3]) {
  static const int64_t a[] = {65536, 7, 0, 3}, c[] = {8589934601, 5};
  int64_t b[100];
  size_t n = version == 1 ? 2 : 3;
  for (int i = 0; i < 100; i++) {
    b[i] = 10 + (i * 37) % 100; /* in no order */
  }
  out[0] = (tn_dv_named){tn_slice_text("data-a.parquet"), build(version, a, TN_COUNT(a))};
  out[1] = (tn_dv_named){tn_slice_text("data-b.parquet"), build(version, b, TN_COUNT(b))};
  if (n > 2) {
    out[2] = (tn_dv_named){tn_slice_text("data-c.parquet"), build(version, c, TN_COUNT(c))};
  }
  return n;
}

static void release_all(tn_dv_named *list, size_t n) {
  for (size_t i = 0; i < n; i++) {
    tn_dv_release((tn_dv *)list[i].dv);
  }
}

static void check_file(const char *path, const char *hex) {
  size_t n;
  uint8_t *bytes = tn_test_hex(hex, &n);
  tn_buf found;
  tarn_error err;
  tn_buf_init(&found, &f.env->mem, 1 << 20);
  assert_works(tn_storage_read_all(f.storage, path, &found, &err), err);
  assert_int_equal(found.len, n);
  assert_memory_equal(found.data, bytes, n);
  tn_buf_reset(&found);
  free(bytes);
}

static void write__gives_the_bytes_of_java(void **state) {
  static const struct {
    int32_t version;
    const char *hex;
    int32_t offsets[3], lengths[3];
    int64_t cardinalities[3];
  } cases[] = {{1, container_v1, {1, 45}, {36, 19}, {4, 100}},
               {2, container_v2, {1, 57, 96}, {56, 39, 76}, {4, 100, 2}}};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    const char *path = i == 0 ? "/t/index/index-1" : "/t/index/index-2";
    tn_dv_named list[3];
    size_t n = java_vectors(cases[i].version, list), n_written;
    tn_index_entry entry;
    const tn_dv_range *ranges;
    tarn_error err;
    assert_works(
        tn_dv_file_write(f.env, f.storage, path, list, n, 0, &f.arena, &entry, &n_written, &err),
        err);
    assert_int_equal(n_written, n);
    check_file(path, cases[i].hex);
    assert_int_equal(entry.file_size, strlen(cases[i].hex) / 2);
    assert_int_equal(entry.row_count, n);
    assert_true(tn_slice_equal(entry.file_name, tn_slice_text(path + 9)));
    assert_true(tn_slice_equal(entry.index_type, tn_slice_text("DELETION_VECTORS")));
    assert_int_equal(entry.dv_ranges.count, n);
    ranges = entry.dv_ranges.items;
    for (size_t j = 0; j < n; j++) {
      assert_true(tn_slice_equal(ranges[j].data_file, list[j].data_file));
      assert_int_equal(ranges[j].offset, cases[i].offsets[j]);
      assert_int_equal(ranges[j].length, cases[i].lengths[j]);
      assert_true(ranges[j].has_cardinality);
      assert_int_equal(ranges[j].cardinality, cases[i].cardinalities[j]);
    }
    release_all(list, n);
  }
}

static void write__of_nothing_is_a_legal_file(void **state) {
  tn_index_entry entry;
  size_t n_written;
  tarn_error err;
  (void)state;
  assert_works(
      tn_dv_file_write(f.env, f.storage, "/i", NULL, 0, 100, &f.arena, &entry, &n_written, &err),
      err);
  check_file("/i", "01");
  assert_int_equal(entry.file_size, 1);
  assert_int_equal(entry.row_count, 0);
  assert_true(entry.has_dv_ranges);
  assert_int_equal(entry.dv_ranges.count, 0);
  assert_int_equal(
      tn_dv_file_write(f.env, f.storage, "/i", NULL, 0, 0, &f.arena, &entry, &n_written, &err),
      TARN_E_EXISTS);
}

static void write__stops_behind_the_vector_that_passes_the_target(void **state) {
  static const struct {
    int64_t target;
    size_t n;
  } cases[] = {{1, 1}, {44, 1}, {45, 2}, {1000, 2}, {0, 2}};
  tn_dv_named list[3];
  size_t n = java_vectors(1, list);
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tn_index_entry entry;
    size_t n_written;
    tarn_error err;
    assert_works(tn_dv_file_write(f.env, f.storage, "/i", list, n, cases[i].target, &f.arena,
                                  &entry, &n_written, &err),
                 err);
    assert_int_equal(n_written, cases[i].n);
    assert_int_equal(entry.dv_ranges.count, cases[i].n);
    tn_storage_memory_remove(f.storage, "/i");
  }
  release_all(list, n);
}

static void encode__is_read_back_equal(void **state) {
  static int64_t list[20000];
  (void)state;
  for (int32_t version = 1; version <= 2; version++) {
    tn_dv *dv, *back;
    tn_buf out;
    tarn_error err;
    for (size_t i = 0; i < TN_COUNT(list); i++) { /* arrays, a bitmap, runs */
      list[i] = i < 6000 ? (int64_t)i * 2 : i < 6100 ? (int64_t)i * 7000 : 900000000 + (int64_t)i;
    }
    tn_buf_init(&out, &f.env->mem, 1 << 24);
    dv = build(version, list, TN_COUNT(list));
    assert_int_equal(tn_dv_cardinality(dv), TN_COUNT(list));
    assert_works(tn_dv_encode(dv, &out, &err), err);
    assert_works(tn_dv_decode(f.env, tn_buf_slice(&out), "x", &back, &err), err);
    assert_int_equal(tn_dv_version(back), version);
    assert_int_equal(tn_dv_cardinality(back), TN_COUNT(list));
    for (size_t i = 0; i < TN_COUNT(list); i++) {
      assert_true(tn_dv_contains(back, list[i]));
    }
    tn_dv_release(dv);
    tn_dv_release(back);
    tn_buf_reset(&out);
  }
}

static void encode__of_an_empty_vector_is_read_back(void **state) {
  (void)state;
  for (int32_t version = 1; version <= 2; version++) {
    tn_dv *dv = build(version, NULL, 0), *back;
    tn_buf out;
    tarn_error err;
    tn_buf_init(&out, &f.env->mem, 1 << 20);
    assert_works(tn_dv_encode(dv, &out, &err), err);
    assert_works(tn_dv_decode(f.env, tn_buf_slice(&out), "x", &back, &err), err);
    assert_int_equal(tn_dv_cardinality(back), 0);
    assert_int_equal(tn_dv_version(back), version);
    tn_dv_release(dv);
    tn_dv_release(back);
    tn_buf_reset(&out);
  }
}

static void builder__keeps_what_was_deleted_and_its_kind(void **state) {
  static const int64_t old[] = {5, 9}, wide[] = {5, 8589934601};
  tn_dv *from = build(1, old, 2), *from_wide = build(2, wide, 2), *dv;
  tn_dv_builder *b;
  bool is_new;
  tarn_error err;
  (void)state;
  assert_works(tn_dv_builder_create(f.env, 2, from, &b, &err), err);
  assert_works(tn_dv_builder_add(b, 9, &is_new, &err), err);
  assert_false(is_new);
  assert_works(tn_dv_builder_add(b, 10, &is_new, &err), err);
  assert_true(is_new);
  assert_true(tn_dv_builder_contains(b, 5) && tn_dv_builder_contains(b, 10));
  assert_false(tn_dv_builder_contains(b, 4294967301) || tn_dv_builder_contains(b, -1));
  assert_int_equal(tn_dv_builder_unite(b, from_wide, &err), TARN_E_INVALID);
  assert_works(tn_dv_builder_build(b, &dv, &err), err);
  assert_int_equal(tn_dv_version(dv), 1);
  assert_int_equal(tn_dv_cardinality(dv), 3);
  assert_int_equal(tn_dv_cardinality(from), 2); /* nobody else sees it */
  tn_dv_release(dv);
  tn_dv_builder_free(b);

  assert_works(tn_dv_builder_create(f.env, 2, NULL, &b, &err), err);
  assert_works(tn_dv_builder_add(b, 8589934602, &is_new, &err), err);
  assert_works(tn_dv_builder_add(b, 4294967301, &is_new, &err), err);
  assert_works(tn_dv_builder_unite(b, from_wide, &err), err);
  assert_works(tn_dv_builder_unite(b, from_wide, &err), err);
  assert_int_equal(tn_dv_builder_cardinality(b), 4);
  assert_works(tn_dv_builder_build(b, &dv, &err), err);
  assert_true(tn_dv_contains(dv, 8589934602) && tn_dv_contains(dv, 8589934601));
  assert_true(tn_dv_contains(dv, 4294967301) && tn_dv_contains(dv, 5));
  tn_dv_release(dv);
  tn_dv_builder_free(b);
  tn_dv_release(from);
  tn_dv_release(from_wide);
}

static void builder__refuses_positions_that_its_kind_cannot_hold(void **state) {
  static const struct {
    int32_t version;
    int64_t position;
    tarn_status status;
  } cases[] = {{1, -1, TARN_E_INVALID},
               {1, 2147483647, TARN_OK},
               {1, 2147483648, TARN_E_LIMIT},
               {2, INT64_MIN, TARN_E_INVALID},
               {2, 2147483648, TARN_OK},
               {2, ((int64_t)2147483647 << 32) - 1, TARN_OK},
               {2, (int64_t)2147483647 << 32, TARN_E_LIMIT},
               {2, INT64_MAX, TARN_E_LIMIT}};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tn_dv_builder *b;
    tarn_error err;
    assert_works(tn_dv_builder_create(f.env, cases[i].version, NULL, &b, &err), err);
    assert_int_equal(tn_dv_builder_add(b, cases[i].position, NULL, &err), cases[i].status);
    assert_int_equal(tn_dv_builder_cardinality(b), cases[i].status == TARN_OK);
    tn_dv_builder_free(b);
  }
}

static void encode__refuses_more_than_two_gigabytes(void **state) {
  static const int64_t far[] = {((int64_t)2147483647 << 32) - 1};
  tn_dv *dv = build(2, far, 1);
  tn_buf out;
  tarn_error err;
  (void)state;
  tn_buf_init(&out, &f.env->mem, SIZE_MAX);
  assert_int_equal(tn_dv_encode(dv, &out, &err), TARN_E_LIMIT);
  tn_buf_reset(&out);
  tn_dv_release(dv);
}

static tarn_status write_once(void *ctx, tarn_env *env, tarn_error *err) {
  tarn_status st = TARN_OK;
  tn_storage *storage = NULL;
  tn_dv_builder *b = NULL;
  tn_dv *dv = NULL, *more = NULL;
  tn_index_entry entry;
  size_t n;
  tn_arena arena;
  (void)ctx;
  tn_arena_init(&arena, &env->mem, 1 << 20);
  TN_TRY_TO(done, tn_storage_memory(env, &storage, err));
  TN_TRY_TO(done, tn_dv_builder_create(env, 2, NULL, &b, err));
  for (int64_t i = 0; i < 5; i++) {
    TN_TRY_TO(done, tn_dv_builder_add(b, i << 32, NULL, err));
  }
  TN_TRY_TO(done, tn_dv_builder_build(b, &dv, err));
  tn_dv_builder_free(b);
  b = NULL;
  TN_TRY_TO(done, tn_dv_builder_create(env, 1, dv, &b, err));
  TN_TRY_TO(done, tn_dv_builder_build(b, &more, err));
  {
    tn_dv_named list[2] = {{tn_slice_text("a"), dv}, {tn_slice_text("b"), more}};
    st = tn_dv_file_write(env, storage, "/t/i", list, 2, 0, &arena, &entry, &n, err);
    if (st != TARN_OK) {
      assert_false(tn_storage_exists(storage, "/t/i"));
      goto done;
    }
  }
  assert_int_equal(entry.dv_ranges.count, 2);
done:
  tn_dv_release(dv);
  tn_dv_release(more);
  tn_dv_builder_free(b);
  tn_storage_release(storage);
  tn_arena_reset(&arena);
  return st;
}

static void write__leaves_nothing_behind_when_memory_ends(void **state) {
  (void)state;
  assert_true(tn_torture(write_once, NULL, TARN_OK) > 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(write__gives_the_bytes_of_java, set_up, tear_down),
      cmocka_unit_test_setup_teardown(write__of_nothing_is_a_legal_file, set_up, tear_down),
      cmocka_unit_test_setup_teardown(write__stops_behind_the_vector_that_passes_the_target, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(encode__is_read_back_equal, set_up, tear_down),
      cmocka_unit_test_setup_teardown(encode__of_an_empty_vector_is_read_back, set_up, tear_down),
      cmocka_unit_test_setup_teardown(builder__keeps_what_was_deleted_and_its_kind, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(builder__refuses_positions_that_its_kind_cannot_hold, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(encode__refuses_more_than_two_gigabytes, set_up, tear_down),
      cmocka_unit_test(write__leaves_nothing_behind_when_memory_ends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
