/* Checksums against zlib's and published values; Murmur3 against values of the Java classes. */
#include "codec/hash.h"

#include <zlib.h>

#include "base/bytes.h"
#include "codec/crc32.h"
#include "support/files.h"
#include "support/test.h"

enum { N_BYTES = 5000 };
static uint8_t *bytes;

static int make_bytes(void **state) {
  uint32_t x = 12345;
  (void)state;
  bytes = malloc(N_BYTES);
  for (size_t i = 0; i < N_BYTES; i++) {
    x = x * 1664525u + 1013904223u;
    bytes[i] = (uint8_t)(x >> 24);
  }
  return 0;
}

static int free_bytes(void **state) {
  (void)state;
  free(bytes);
  return 0;
}

typedef uint32_t (*crc_fn)(uint32_t crc, const uint8_t *bytes, size_t n_bytes);

static uint32_t chosen(uint32_t crc, const uint8_t *p, size_t n) {
  return tn_crc32(crc, p, n);
}

static void check_against_zlib(crc_fn fn) {
  /* Every length up to a few steps of the loops, at every alignment of a vector. */
  for (size_t n = 0; n <= 300; n++) {
    for (size_t at = 0; at < 17; at++) {
      assert_int_equal(fn(0, bytes + at, n), crc32(0, bytes + at, (uInt)n));
    }
  }
  for (size_t n = 301; n + 3 < N_BYTES; n += 61) {
    uint32_t seed = (uint32_t)n * 2654435761u;
    assert_int_equal(fn(seed, bytes + 3, n), crc32(seed, bytes + 3, (uInt)n));
  }
  /* Chained at any place. */
  for (size_t at = 0; at <= 400; at++) {
    assert_int_equal(fn(fn(0, bytes, at), bytes + at, 400 - at), crc32(0, bytes, 400));
  }
  /* All bits set, all clear: nothing of the tables or constants is wrong. */
  for (int value = 0; value < 256; value += 255) {
    uint8_t same[1000];
    memset(same, value, sizeof(same));
    assert_int_equal(fn(0, same, sizeof(same)), crc32(0, same, sizeof(same)));
  }
}

static void crc32_tables__agrees_with_zlib(void **state) {
  (void)state;
  check_against_zlib(tn_crc32_tables);
}

static void crc32_fold__agrees_with_zlib(void **state) {
  (void)state;
  if (!tn_crc32_can_fold()) {
    print_message("skipped: this machine has no carry-less multiplication\n");
    skip();
  }
  check_against_zlib(tn_crc32_fold);
}

static void crc32__agrees_with_zlib(void **state) {
  (void)state;
  check_against_zlib(chosen);
}

static void crc32__has_the_published_check_value(void **state) {
  (void)state;
  assert_int_equal(tn_crc32(0, "123456789", 9), 0xCBF43926u);
  assert_int_equal(tn_crc32(0, NULL, 0), 0);
}

static void murmur3__agrees_with_java(void **state) {
  /* BinaryRow.hashCode of rows (spec: rows, 2). */
  static const struct {
    const char *hex;
    int32_t hash;
  } cases[] = {
      {"0000000000000000", -1670924195},
      {"00000000000000000100000000000000", 1465514398},
      {"0000000000000000f9ffffff00000000", 1485184587},
      {"00010000000000000000000000000000", -1748325344},
      {"00000000000000001581e97df4102211", -849297337},
      {"00000000000000000000000000000080", 302122119},
      {"0000000000000000000000800000000000000000000000800000c07f00000000000000000000f87f",
       2034855603},
      {"00000000000000000000000000000080", 302122119},
      {"00000000000000006100000000000081", 943281246},
      {"00000000000000006162636465666787", -1431907323},
      {"000000000000000008000000100000006162636465666768", -843760178},
      {"0000000000000000090000001000000061626364656667686900000000000000", 890550442},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    size_t n;
    uint8_t *row = tn_test_hex(cases[i].hex, &n);
    assert_int_equal(tn_murmur3_words(row, n, 42), cases[i].hash);
    free(row);
  }
}

/* The check values of the reference implementation, over the bytes it makes for them. */
static void xxh64__has_the_published_check_values(void **state) {
  static const uint64_t SEED = 2654435761u;
  static const struct {
    size_t n_bytes;
    bool has_seed;
    uint64_t hash;
  } cases[] = {
      {0, false, UINT64_C(0xEF46DB3751D8E999)},   {0, true, UINT64_C(0xAC75FDA2929B17EF)},
      {1, false, UINT64_C(0xE934A84ADB052768)},   {1, true, UINT64_C(0x5014607643A9B4C3)},
      {4, false, UINT64_C(0x9136A0DCA57457EE)},   {4, true, UINT64_C(0xCAAB286BD8E9FDB5)},
      {14, false, UINT64_C(0x8282DCC4994E35C8)},  {14, true, UINT64_C(0xC3BD6BF63DEB6DF0)},
      {222, false, UINT64_C(0xB641AE8CB691C174)}, {222, true, UINT64_C(0x20CB8AB7AE10C14A)},
  };
  uint8_t made[222];
  uint64_t generator = SEED;
  (void)state;
  for (size_t i = 0; i < sizeof(made); i++) {
    made[i] = (uint8_t)(generator >> 56);
    generator *= UINT64_C(11400714785074694797);
  }
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    assert_true(tn_xxh64(made, cases[i].n_bytes, cases[i].has_seed ? SEED : 0) == cases[i].hash);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(crc32_tables__agrees_with_zlib),
      cmocka_unit_test(crc32_fold__agrees_with_zlib),
      cmocka_unit_test(crc32__agrees_with_zlib),
      cmocka_unit_test(crc32__has_the_published_check_value),
      cmocka_unit_test(murmur3__agrees_with_java),
      cmocka_unit_test(xxh64__has_the_published_check_values),
  };
  return cmocka_run_group_tests_name("hash", tests, make_bytes, free_bytes);
}
