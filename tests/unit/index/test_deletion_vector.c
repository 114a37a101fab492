/* Deletion vectors: containers that Java wrote, vectors made here, and bad bytes. */
#include "index/deletion_vector.h"

#include <roaring.h>

#include "base/bytes.h"
#include "codec/hash.h"
#include "support/files.h"
#include "support/test.h"
#include "support/torture.h"

/* Written by paimon-bundle 1.4.2: bitmap64 = false and true. */
static const char container_v1[] =
    "01000000245e43f2d03a300000020000000000020001000000180000001e00000000000300070000006fdeda7f0000"
    "00"
    "135e43f2d03b300000010000630001000a00630012ca25b3";
static const char container_v2[] =
    "0100000030d1d339640100000000000000000000003a300000020000000000020001000000180000001e0000000000"
    "03"
    "0007000000ef55f6a50000001fd1d339640100000000000000000000003b300000010000630001000a006300e78135"
    "4d"
    "00000044d1d339640300000000000000000000003a3000000100000000000000100000000500010000003a30000000"
    "00"
    "0000020000003a3000000100000000000000100000000900c07ab251";

typedef struct fixture {
  tarn_env *env;
  tn_storage *storage;
} fixture;

static fixture f;

static void put(const char *path, const char *hex) {
  size_t n;
  uint8_t *bytes = tn_test_hex(hex, &n);
  tarn_error err;
  assert_works(tn_storage_memory_put(f.storage, path, tn_slice_of(bytes, n), &err), err);
  free(bytes);
}

static int set_up(void **state) {
  tarn_error err;
  (void)state;
  f.env = tn_test_env(1, 0);
  assert_works(tn_storage_memory(f.env, &f.storage, &err), err);
  put("/v1", container_v1);
  put("/v2", container_v2);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  tn_storage_release(f.storage);
  tarn_env_free(f.env);
  return 0;
}

static tn_dv *load(const char *path, int64_t offset, int64_t length, int64_t cardinality) {
  tn_dv_place place = {path, offset, length, cardinality};
  tn_dv *dv = NULL;
  tarn_error err;
  assert_works(tn_dv_load(f.env, f.storage, &place, &dv, &err), err);
  return dv;
}

typedef struct positions {
  int64_t list[4096];
  size_t n, max;
} positions;

static bool add_position(void *ctx, int64_t position) {
  positions *p = ctx;
  assert_true(p->n < TN_COUNT(p->list));
  p->list[p->n++] = position;
  return p->n != p->max;
}

static void check_positions(const tn_dv *dv, const int64_t *expected, size_t n) {
  static positions found;
  found.n = found.max = 0;
  tn_dv_each(dv, add_position, &found);
  assert_int_equal(found.n, n);
  assert_memory_equal(found.list, expected, n * sizeof(*expected));
  assert_int_equal(tn_dv_cardinality(dv), n);
  for (size_t i = 0; i < n; i++) {
    assert_true(tn_dv_contains(dv, expected[i]));
    assert_int_equal(tn_dv_contains(dv, expected[i] + 1),
                     i + 1 < n && expected[i + 1] == expected[i] + 1);
  }
}

static void load__reads_what_java_wrote(void **state) {
  static const struct {
    const char *path;
    int64_t offset, length, cardinality;
    int32_t version;
    int64_t list[4];
    size_t n;
  } cases[] = {
      {"/v1", 1, 36, 4, 1, {0, 3, 7, 65536}, 4},
      {"/v1", 1, 36, -1, 1, {0, 3, 7, 65536}, 4},
      {"/v2", 1, 56, 4, 2, {0, 3, 7, 65536}, 4},
      {"/v2", 96, 76, 2, 2, {5, 8589934601}, 2},
  };
  int64_t run[100];
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tn_dv *dv = load(cases[i].path, cases[i].offset, cases[i].length, cases[i].cardinality);
    assert_int_equal(tn_dv_version(dv), cases[i].version);
    check_positions(dv, cases[i].list, cases[i].n);
    tn_dv_release(dv);
  }
  for (int i = 0; i < 100; i++) {
    run[i] = 10 + i;
  }
  for (int i = 0; i < 2; i++) { /* run containers */
    tn_dv *dv = i == 0 ? load("/v1", 45, 19, 100) : load("/v2", 57, 39, 100);
    check_positions(dv, run, 100);
    tn_dv_release(dv);
  }
}

static void load__takes_ranges_in_any_order(void **state) {
  /* A vector is where its range says, not behind the one that was read before (B59). */
  tn_dv *last = load("/v2", 96, 76, 2), *first = load("/v2", 1, 56, 4);
  (void)state;
  assert_true(tn_dv_contains(last, 5) && !tn_dv_contains(last, 3));
  assert_true(tn_dv_contains(first, 3) && !tn_dv_contains(first, 5));
  tn_dv_release(last);
  tn_dv_release(first);
}

static void load__knows_how_each_version_counts_its_length(void **state) {
  static const struct {
    const char *path;
    int64_t offset, length;
  } cases[] = {{"/v1", 1, 44}, {"/v2", 1, 48}, {"/v1", 1, 35}, {"/v1", 1, 37},
               {"/v2", 1, 55}, {"/v2", 1, 57}, {"/v1", 2, 36}, {"/v1", 45, 27}};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tn_dv_place place = {cases[i].path, cases[i].offset, cases[i].length, -1};
    tn_dv *dv = (tn_dv *)1;
    tarn_error err;
    assert_int_equal(tn_dv_load(f.env, f.storage, &place, &dv, &err), TARN_E_CORRUPT);
    assert_null(dv);
    assert_contains(err.message, cases[i].path);
  }
}

static void load__refuses_places_outside_of_the_file(void **state) {
  static const struct {
    int64_t offset, length;
  } cases[] = {{1, 72},         {72, 36},       {100, 36},       {-1, 36}, {1, -1},
               {1, 0},          {1, INT64_MAX}, {INT64_MAX, 36}, {71, 1},  {45, 28},
               {INT64_MIN, 36}, {68, 4},        {1, INT64_MIN}};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tn_dv_place place = {"/v1", cases[i].offset, cases[i].length, -1};
    tn_dv *dv;
    tarn_error err;
    assert_int_equal(tn_dv_load(f.env, f.storage, &place, &dv, &err), TARN_E_CORRUPT);
  }
  {
    tn_dv_place place = {"/none", 1, 36, -1};
    tn_dv *dv;
    tarn_error err;
    assert_int_equal(tn_dv_load(f.env, f.storage, &place, &dv, &err), TARN_E_NOT_FOUND);
    assert_contains(err.message, "/none");
  }
  assert_int_equal(atomic_load(&f.env->mem.reserved_bytes), 0);
}

static void load__refuses_another_cardinality(void **state) {
  tn_dv_place place = {"/v1", 1, 36, 5};
  tn_dv *dv;
  tarn_error err;
  (void)state;
  for (int i = 0; i < 2; i++) { /* from the file, and from the cache */
    assert_int_equal(tn_dv_load(f.env, f.storage, &place, &dv, &err), TARN_E_CORRUPT);
    assert_contains(err.message, "4 positions, but 5 are recorded");
  }
}

static void load__goes_through_the_cache(void **state) {
  tn_dv *a = load("/v1", 1, 36, 4), *b;
  int64_t before = atomic_load(&f.env->read_requests);
  (void)state;
  b = load("/v1", 1, 36, 4);
  assert_ptr_equal(a, b);
  tn_dv_release(b);
  b = load("/v1", 45, 19, 100);
  assert_ptr_not_equal(a, b);
  assert_int_equal(atomic_load(&f.env->read_requests) - before, 1);
  tn_dv_release(a);
  tn_dv_release(b);
  tn_dv_release(NULL);
}

/* ------------------------------------------------------------------ vectors made here */

/* A blob of the given body, with length word and CRC. */
static uint8_t *frame(const uint8_t *body, size_t n, size_t *n_blob) {
  uint8_t *blob = malloc(n + 8);
  tn_store_be32(blob, (uint32_t)n);
  memcpy(blob + 4, body, n);
  tn_store_be32(blob + 4 + n, tn_crc32(0, body, n));
  *n_blob = n + 8;
  return blob;
}

static uint8_t *blob_v1(const roaring_bitmap_t *bitmap, size_t *n_blob) {
  size_t n = 4 + roaring_bitmap_portable_size_in_bytes(bitmap);
  uint8_t *body = malloc(n), *blob;
  tn_store_be32(body, 0x5E43F2D0u);
  roaring_bitmap_portable_serialize(bitmap, (char *)body + 4);
  blob = frame(body, n, n_blob);
  free(body);
  return blob;
}

static uint8_t *blob_v2(const uint32_t *keys, roaring_bitmap_t *const *bitmaps, uint64_t count,
                        size_t *n_blob) {
  size_t n = 12;
  uint8_t *body, *blob;
  for (uint64_t i = 0; i < count; i++) {
    n += 4 + roaring_bitmap_portable_size_in_bytes(bitmaps[i]);
  }
  body = malloc(n);
  tn_store_le32(body, 0x6439D3D1u);
  tn_store_le64(body + 4, count);
  n = 12;
  for (uint64_t i = 0; i < count; i++) {
    tn_store_le32(body + n, keys[i]);
    n += 4 + roaring_bitmap_portable_serialize(bitmaps[i], (char *)body + n + 4);
  }
  blob = frame(body, n, n_blob);
  free(body);
  return blob;
}

static tarn_status decode(const uint8_t *blob, size_t n, tn_dv **out, tarn_error *err) {
  return tn_dv_decode(f.env, tn_slice_of(blob, n), "x.dv", out, err);
}

/* A mix of array, bitset and run containers. */
static roaring_bitmap_t *make_bitmap(void) {
  roaring_bitmap_t *b = roaring_bitmap_create();
  for (uint32_t i = 0; i < 3000; i++) {
    roaring_bitmap_add(b, i * 17);
  }
  roaring_bitmap_add_range(b, 100000, 180000);
  for (uint32_t i = 0; i < 30000; i++) {
    roaring_bitmap_add(b, 200000 + i * 2);
  }
  roaring_bitmap_run_optimize(b);
  return b;
}

static void apply__clears_the_deleted_rows_of_a_window(void **state) {
  enum { N = 300000, MAX_ROWS = 70000 };
  roaring_bitmap_t *bitmap = make_bitmap();
  size_t n_blob;
  uint8_t *blob = blob_v1(bitmap, &n_blob), *bits = malloc(MAX_ROWS / 8 + 16);
  static const int64_t rows[] = {1, 7, 8, 9, 63, 64, 1000, 8192, MAX_ROWS};
  tn_dv *dv = NULL;
  tarn_error err;
  (void)state;
  assert_works(decode(blob, n_blob, &dv, &err), err);
  for (size_t r = 0; r < TN_COUNT(rows); r++) {
    for (int64_t first = 0; first < N; first += rows[r] < 100 ? 4999 : rows[r] - 1) {
      int64_t kept = 0;
      memset(bits, 0xFF, MAX_ROWS / 8 + 16);
      tn_bit_clear(bits, 0); /* what is cleared stays so */
      tn_dv_apply(dv, first, rows[r], bits);
      for (int64_t i = 1; i < rows[r]; i++) {
        bool is_deleted = roaring_bitmap_contains(bitmap, (uint32_t)(first + i));
        if (tn_bit_get(bits, i) == is_deleted) {
          fail_msg("row %lld of the window at %lld", (long long)i, (long long)first);
        }
        kept += is_deleted ? 0 : 1;
      }
      assert_false(tn_bit_get(bits, 0));
      for (int64_t i = rows[r]; i < rows[r] + 64; i++) {
        assert_true(tn_bit_get(bits, i)); /* nothing behind the window is touched */
      }
      assert_int_equal(tn_dv_count(dv, first + 1, first + rows[r]), rows[r] - 1 - kept);
    }
  }
  assert_int_equal(tn_dv_count(dv, 0, INT64_MAX), tn_dv_cardinality(dv));
  assert_int_equal(tn_dv_count(dv, 5, 5), 0);
  tn_dv_release(dv);
  free(bits);
  free(blob);
  roaring_bitmap_free(bitmap);
}

static void each__stops_when_it_is_told(void **state) {
  tn_dv *dv = load("/v1", 45, 19, 100);
  static positions found;
  (void)state;
  found.n = 0;
  found.max = 7;
  tn_dv_each(dv, add_position, &found);
  assert_int_equal(found.n, 7);
  tn_dv_release(dv);
}

static void v2__crosses_borders_of_32_bits(void **state) {
  static const uint32_t keys[] = {0, 1, 2, 5, 0x7FFFFFFE};
  roaring_bitmap_t *bitmaps[5];
  size_t n_blob;
  uint8_t *blob, bits[32];
  tn_dv *dv = NULL;
  tarn_error err;
  int64_t border = INT64_C(1) << 32;
  (void)state;
  bitmaps[0] = roaring_bitmap_from_range(0xFFFFFFF0u, INT64_C(1) << 32, 1);
  bitmaps[1] = roaring_bitmap_from_range(0, 5, 1);
  bitmaps[2] = roaring_bitmap_create(); /* as Java writes the keys in between */
  bitmaps[3] = roaring_bitmap_from_range(7, 8, 1);
  bitmaps[4] = roaring_bitmap_from_range(0xFFFFFFFFu, INT64_C(1) << 32, 1);
  blob = blob_v2(keys, bitmaps, 5, &n_blob);
  assert_works(decode(blob, n_blob, &dv, &err), err);
  assert_int_equal(tn_dv_cardinality(dv), 16 + 5 + 1 + 1);
  memset(bits, 0xFF, sizeof(bits));
  tn_dv_apply(dv, border - 20, 40, bits);
  for (int64_t i = 0; i < 40; i++) {
    assert_int_equal(tn_bit_get(bits, i), i < 4 || i >= 25);
  }
  assert_int_equal(tn_dv_count(dv, border - 1, border + 1), 2);
  assert_int_equal(tn_dv_count(dv, 5 * border, 6 * border), 1);
  assert_int_equal(tn_dv_count(dv, 0, INT64_MAX), 23);
  assert_true(tn_dv_contains(dv, 5 * border + 7));
  assert_true(tn_dv_contains(dv, ((int64_t)0x7FFFFFFE << 32) + 0xFFFFFFFF));
  assert_false(tn_dv_contains(dv, 2 * border));
  assert_false(tn_dv_contains(dv, -1));
  assert_false(tn_dv_contains(dv, INT64_MAX));
  tn_dv_release(dv);
  free(blob);
  for (int i = 0; i < 5; i++) {
    roaring_bitmap_free(bitmaps[i]);
  }
}

static void empty_vectors__delete_nothing(void **state) {
  roaring_bitmap_t *empty = roaring_bitmap_create();
  uint32_t key = 0;
  (void)state;
  for (int i = 0; i < 3; i++) {
    size_t n_blob;
    uint8_t *blob =
        i == 0 ? blob_v1(empty, &n_blob) : blob_v2(&key, &empty, i == 1 ? 1 : 0, &n_blob);
    uint8_t bits[2] = {0xFF, 0xFF};
    tn_dv *dv = NULL;
    tarn_error err;
    assert_works(decode(blob, n_blob, &dv, &err), err);
    assert_int_equal(tn_dv_cardinality(dv), 0);
    tn_dv_apply(dv, 0, 16, bits);
    assert_int_equal(bits[0] & bits[1], 0xFF);
    assert_int_equal(tn_dv_count(dv, 0, INT64_MAX), 0);
    assert_false(tn_dv_contains(dv, 0));
    tn_dv_release(dv);
    free(blob);
  }
  roaring_bitmap_free(empty);
}

static void v1__refuses_positions_past_its_limit(void **state) {
  static const uint32_t last[] = {0x7FFFFFFF, 0x80000000, 0xFFFFFFFF};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(last); i++) {
    roaring_bitmap_t *bitmap = roaring_bitmap_from_range(last[i], (uint64_t)last[i] + 1, 1);
    size_t n_blob;
    uint8_t *blob = blob_v1(bitmap, &n_blob);
    tn_dv *dv = NULL;
    tarn_error err;
    assert_int_equal(decode(blob, n_blob, &dv, &err), i == 0 ? TARN_OK : TARN_E_CORRUPT);
    tn_dv_release(dv);
    free(blob);
    roaring_bitmap_free(bitmap);
  }
}

static void v2__refuses_bad_keys_and_counts(void **state) {
  static const struct {
    uint32_t keys[2];
  } cases[] = {{{0, 0}}, {{5, 4}}, {{0, 0x7FFFFFFF}}, {{0, 0xFFFFFFFF}}};
  roaring_bitmap_t *bitmap = roaring_bitmap_from_range(1, 3, 1), *both[2] = {bitmap, bitmap};
  static const uint64_t counts[] = {0, 1, 3, 1000, UINT64_MAX, UINT64_MAX / 12, 1 << 30};
  static const uint32_t keys[2] = {0, 1};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    size_t n_blob;
    uint8_t *blob = blob_v2(cases[i].keys, both, 2, &n_blob);
    tn_dv *dv;
    tarn_error err;
    assert_int_equal(decode(blob, n_blob, &dv, &err), TARN_E_CORRUPT);
    assert_contains(err.message, "bitmap key");
    free(blob);
  }
  for (size_t i = 0; i < TN_COUNT(counts); i++) {
    size_t n_blob;
    uint8_t *blob = blob_v2(keys, both, 2, &n_blob);
    tn_dv *dv;
    tarn_error err;
    tn_store_le64(blob + 8, counts[i]);
    tn_store_be32(blob + n_blob - 4, tn_crc32(0, blob + 4, n_blob - 8));
    assert_int_equal(decode(blob, n_blob, &dv, &err), TARN_E_CORRUPT);
    free(blob);
  }
  roaring_bitmap_free(bitmap);
}

static void decode__rejects_wrong_crc(void **state) {
  size_t n;
  uint8_t *file = tn_test_hex(container_v1, &n);
  tn_dv *dv;
  tarn_error err;
  (void)state;
  file[1 + 4 + 36] ^= 1;
  assert_int_equal(decode(file + 1, 44, &dv, &err), TARN_E_CORRUPT);
  assert_contains(err.message, "x.dv");
  assert_contains(err.message, "CRC is 6fdeda7f, expected 6ededa7f");
  free(file);
}

static void decode__rejects_unknown_magic(void **state) {
  static const char *const bodies[] = {"5e43f2d1 3a30000000000000", "d0f2435e 3a30000000000000",
                                       "6439d3d1 0000000000000000"};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(bodies); i++) {
    size_t n, n_blob;
    uint8_t *body = tn_test_hex(bodies[i], &n), *blob = frame(body, n, &n_blob);
    tn_dv *dv;
    tarn_error err;
    assert_int_equal(decode(blob, n_blob, &dv, &err), TARN_E_CORRUPT);
    assert_contains(err.message, "magic");
    free(body);
    free(blob);
  }
}

/* Each body cut off, changed in each bit, or with bytes behind it, in a sound frame. */
static void decode__survives_bad_bitmaps_in_a_sound_frame(void **state) {
  roaring_bitmap_t *bitmap = roaring_bitmap_from_range(3, 60, 5), *both[2] = {bitmap, bitmap};
  static const uint32_t keys[2] = {0, 3};
  (void)state;
  roaring_bitmap_add_range(bitmap, 70000, 70100);
  roaring_bitmap_run_optimize(bitmap);
  for (int version = 1; version <= 2; version++) {
    size_t n_blob, n_made;
    uint8_t *blob = version == 1 ? blob_v1(bitmap, &n_blob) : blob_v2(keys, both, 2, &n_blob);
    uint8_t *body = malloc(n_blob), *made;
    size_t n = n_blob - 8;
    tn_dv *dv;
    tarn_error err;
    memcpy(body, blob + 4, n);
    body[n] = 0;
    for (size_t cut = 0; cut <= n + 1; cut++) {
      tarn_status st;
      made = frame(body, cut, &n_made);
      st = decode(made, n_made, &dv, &err);
      assert_int_equal(st, cut == n ? TARN_OK : TARN_E_CORRUPT);
      tn_dv_release(dv);
      free(made);
    }
    for (size_t bit = 0; bit < n * 8; bit++) {
      tarn_status st;
      body[bit / 8] ^= (uint8_t)(1u << (bit % 8));
      made = frame(body, n, &n_made);
      st = decode(made, n_made, &dv, &err);
      assert_true(st == TARN_OK || st == TARN_E_CORRUPT);
      if (st == TARN_OK) {
        uint8_t bits[128];
        memset(bits, 0xFF, sizeof(bits));
        tn_dv_apply(dv, 69500, 1024, bits);
        assert_int_equal(tn_dv_count(dv, 0, INT64_MAX), tn_dv_cardinality(dv));
      }
      tn_dv_release(dv);
      free(made);
      body[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
    free(body);
    free(blob);
  }
  roaring_bitmap_free(bitmap);
}

/* A flip anywhere in a container is found, whatever it hits: length word, magic, bitmap or CRC. */
static void load__finds_every_flip(void **state) {
  static const struct {
    const char *hex;
    int64_t offset, length, cardinality;
  } cases[] = {{container_v1, 1, 36, 4}, {container_v1, 45, 19, 100}, {container_v2, 96, 76, 2}};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    size_t n;
    uint8_t *file = tn_test_hex(cases[i].hex, &n);
    int64_t end = cases[i].offset + cases[i].length + (cases[i].hex == container_v1 ? 8 : 0);
    for (int64_t bit = cases[i].offset * 8; bit < end * 8; bit++) {
      char path[32];
      tn_dv_place place = {path, cases[i].offset, cases[i].length, cases[i].cardinality};
      tn_dv *dv;
      tarn_error err;
      snprintf(path, sizeof(path), "/flip-%zu-%lld", i, (long long)bit);
      file[bit / 8] ^= (uint8_t)(1u << (bit % 8));
      assert_works(tn_storage_memory_put(f.storage, path, tn_slice_of(file, n), &err), err);
      assert_int_equal(tn_dv_load(f.env, f.storage, &place, &dv, &err), TARN_E_CORRUPT);
      tn_storage_memory_remove(f.storage, path);
      file[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
    free(file);
  }
}

static tarn_status load_once(void *ctx, tarn_env *env, tarn_error *err) {
  tn_dv_place place = {ctx, 1, strcmp(ctx, "/v1") == 0 ? 36 : 56, 4};
  tn_storage *storage = NULL;
  tn_dv *dv = NULL;
  tarn_status st = TARN_OK;
  size_t n;
  uint8_t *bytes = tn_test_hex(strcmp(ctx, "/v1") == 0 ? container_v1 : container_v2, &n);
  TN_TRY_TO(done, tn_storage_memory(env, &storage, err));
  TN_TRY_TO(done, tn_storage_memory_put(storage, ctx, tn_slice_of(bytes, n), err));
  TN_TRY_TO(done, tn_dv_load(env, storage, &place, &dv, err));
  assert_int_equal(tn_dv_cardinality(dv), 4);
done:
  tn_dv_release(dv);
  tn_storage_release(storage);
  free(bytes);
  return st;
}

static void load__survives_failing_allocations(void **state) {
  (void)state;
  assert_true(tn_torture(load_once, "/v1", TARN_OK) > 5);
  assert_true(tn_torture(load_once, "/v2", TARN_OK) > 5);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(load__reads_what_java_wrote),
      TEST(load__takes_ranges_in_any_order),
      TEST(load__knows_how_each_version_counts_its_length),
      TEST(load__refuses_places_outside_of_the_file),
      TEST(load__refuses_another_cardinality),
      TEST(load__goes_through_the_cache),
      TEST(apply__clears_the_deleted_rows_of_a_window),
      TEST(each__stops_when_it_is_told),
      TEST(v2__crosses_borders_of_32_bits),
      TEST(empty_vectors__delete_nothing),
      TEST(v1__refuses_positions_past_its_limit),
      TEST(v2__refuses_bad_keys_and_counts),
      TEST(decode__rejects_wrong_crc),
      TEST(decode__rejects_unknown_magic),
      TEST(decode__survives_bad_bitmaps_in_a_sound_frame),
      TEST(load__finds_every_flip),
      TEST(load__survives_failing_allocations),
  };
  return cmocka_run_group_tests_name("deletion_vector", tests, NULL, NULL);
}
