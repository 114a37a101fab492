/* The small decoders: Thrift, levels and runs, deltas, values of a page. Bytes lie in buffers with
 * room behind their end, as pages do. */
#include "base/bytes.h"
#include "format/parquet/delta.h"
#include "format/parquet/metadata.h"
#include "format/parquet/rle.h"
#include "format/parquet/thrift.h"
#include "format/parquet/values.h"
#include "support/files.h"
#include "support/test.h"

/* Bytes of a hex text with room behind. */
typedef struct padded {
  uint8_t bytes[8192 + 64];
  size_t n;
} padded;

static tn_slice from_hex(padded *p, const char *hex) {
  uint8_t *bytes = tn_test_hex(hex, &p->n);
  memset(p->bytes, 0xee, sizeof(p->bytes));
  assert_true(p->n <= 8192);
  memcpy(p->bytes, bytes, p->n);
  free(bytes);
  return tn_slice_of(p->bytes, p->n);
}

/* ------------------------------------------------------------------ Thrift */

static void thrift__steps_over_what_is_not_known(void **state) {
  // 1: list of 2 maps {i32: binary}; 2: struct {1: true, 2: list of 16 bools}; 3: uuid; 4: i32 7
  static const char hex[] =
      "192b 01 58 02 01 61 00"
      "1c 11 19 f1 10 01020102010201020102010201020102 00"
      "1d 000102030405060708090a0b0c0d0e0f"
      "15 0e 00";
  padded p;
  tn_thrift t;
  tn_thrift_field f = {0, 0};
  int32_t value = 0;
  (void)state;
  tn_thrift_init(&t, from_hex(&p, hex));
  while (tn_thrift_next(&t, &f)) {
    if (f.id == 4) {
      assert_true(tn_thrift_i32(&t, &f, &value));
    } else {
      tn_thrift_skip(&t, &f);
    }
  }
  assert_true(tn_thrift_is_ok(&t));
  assert_int_equal(value, 7);
  assert_int_equal(tn_thrift_used(&t), p.n);
}

static void thrift__a_field_of_another_type_is_stepped_over(void **state) {
  padded p;
  tn_thrift t;
  tn_thrift_field f = {0, 0};
  int32_t value = 5;
  (void)state;
  tn_thrift_init(&t, from_hex(&p, "18 03 616263 00"));
  assert_true(tn_thrift_next(&t, &f));
  assert_false(tn_thrift_i32(&t, &f, &value));
  assert_int_equal(value, 5);
  assert_false(tn_thrift_next(&t, &f));
  assert_true(tn_thrift_is_ok(&t));
}

static void thrift__tells_short_from_bad(void **state) {
  static const struct {
    const char *hex;
    tn_thrift_fault fault;
  } cases[] = {
      {"", TN_THRIFT_SHORT},
      {"15", TN_THRIFT_SHORT},
      {"1880808080 01", TN_THRIFT_SHORT},            // a text longer than the bytes
      {"19ff ffffffffffffffff7f", TN_THRIFT_SHORT},  // more elements than bytes
      {"192f 000000", TN_THRIFT_BAD},                // elements of no such type
      {"19f5 ffffff0f 00", TN_THRIFT_SHORT},         // more elements than bytes
      {"15 ffffffffffffffffffff01", TN_THRIFT_BAD},  // a varint that never ends
      {"1f", TN_THRIFT_BAD},                         // no such type
      {"05 ffffffff0f 00", TN_THRIFT_OK},            // a negative id is stepped over
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    padded p;
    tn_thrift t;
    tn_thrift_field f = {0, 0};
    tn_thrift_init(&t, from_hex(&p, cases[i].hex));
    while (tn_thrift_next(&t, &f)) {
      tn_thrift_skip(&t, &f);
    }
    if (i != 8) {
      assert_int_equal(t.fault, cases[i].fault);
    }
  }
}

static void thrift__nesting_is_bounded(void **state) {
  padded p;
  tn_thrift t;
  tn_thrift_field f = {0, 0};
  (void)state;
  memset(p.bytes, 0x1c, sizeof(p.bytes));  // structs in structs
  tn_thrift_init(&t, tn_slice_of(p.bytes, 8192));
  assert_true(tn_thrift_next(&t, &f));
  tn_thrift_skip(&t, &f);
  assert_int_equal(t.fault, TN_THRIFT_BAD);
}

static void page_header__every_cut_is_short(void **state) {
  // a data page with statistics
  static const char hex[] =
      "15 00 15 50 15 50 15 c49ada970c 1c 15 14 15 00 15 06 15 06 1c 18 04 01000000 00 00 00";
  padded p;
  tn_pq_page_header h;
  size_t used;
  tn_slice all = from_hex(&p, hex);
  (void)state;
  assert_int_equal(tn_pq_page_header_parse(all, &h, &used), TN_PQ_HEADER_OK);
  assert_int_equal(used, p.n);
  assert_int_equal(h.n_values, 10);
  assert_int_equal(h.compressed_bytes, 40);
  for (size_t cut = 0; cut < p.n; cut++) {
    assert_int_equal(tn_pq_page_header_parse(tn_slice_of(all.data, cut), &h, &used),
                     TN_PQ_HEADER_SHORT);
  }
}

/* ------------------------------------------------------------------ runs and levels */

static void put_bits(uint8_t *out, uint64_t at, uint32_t value, uint32_t width) {
  for (uint32_t b = 0; b < width; b++) {
    tn_bit_put(out, (int64_t)(at * width + b), (value >> b & 1) != 0);
  }
}

/* Values of any width, in packed groups, taken in pieces of any size. */
static void rle__unpacks_every_width(void **state) {
  (void)state;
  for (uint32_t width = 1; width <= 32; width++) {
    padded p;
    tn_pq_rle rle;
    uint32_t values[200], mask = width == 32 ? UINT32_MAX : (1u << width) - 1;
    uint32_t seed = width;
    memset(p.bytes, 0xee, sizeof(p.bytes));
    p.bytes[0] = 25 << 1 | 1;  // 25 groups of 8
    for (uint32_t i = 0; i < 200; i++) {
      seed = seed * 1664525 + 1013904223;
      values[i] = seed & mask;
      put_bits(p.bytes + 1, i, values[i], width);
    }
    for (int64_t piece = 1; piece < 40; piece += 6) {
      int64_t done = 0;
      assert_true(tn_pq_rle_init(&rle, tn_slice_of(p.bytes, 1 + 25 * width), width));
      while (done < 200) {
        uint32_t out[64];
        int64_t k = tn_pq_rle_get(&rle, piece, out);
        assert_true(k > 0);
        assert_memory_equal(out, values + done, (size_t)k * 4);
        done += k;
        if (done < 200) {
          done += tn_pq_rle_skip(&rle, 3 < 200 - done ? 3 : 200 - done);
        }
      }
      assert_int_equal(tn_pq_rle_skip(&rle, 1), 0);
    }
    if (width <= 8) {
      uint8_t out[200];
      assert_true(tn_pq_rle_init(&rle, tn_slice_of(p.bytes, 1 + 25 * width), width));
      assert_int_equal(tn_pq_rle_get_bytes(&rle, 200, out), 200);
      for (int i = 0; i < 200; i++) {
        assert_int_equal(out[i], values[i]);
      }
    }
  }
}

static void rle__mixes_runs_and_groups(void **state) {
  padded p;
  tn_pq_rle rle;
  uint32_t out[32];
  static const uint32_t expected[] = {5, 5, 5, 0, 1, 2, 3, 4, 5, 6, 7, 2};
  (void)state;
  // three times 5; an empty run; a group 0..7; once 2
  assert_true(tn_pq_rle_init(&rle, from_hex(&p, "06 05 00 01 03 88c6fa 02 02"), 3));
  assert_int_equal(tn_pq_rle_get(&rle, 32, out), 12);
  assert_memory_equal(out, expected, sizeof(expected));
}

static void rle__a_cut_group_gives_what_is_there(void **state) {
  padded p;
  tn_pq_rle rle;
  uint32_t out[32];
  (void)state;
  // two groups of 4 bits each are told, five bytes are there
  assert_true(tn_pq_rle_init(&rle, from_hex(&p, "05 1032547698"), 4));
  assert_int_equal(tn_pq_rle_get(&rle, 32, out), 10);
  assert_int_equal(out[9], 9);
}

static void rle__takes_runs_of_a_value(void **state) {
  padded p;
  tn_pq_rle rle;
  (void)state;
  // 100 times 1, 10 times 0, a group
  assert_true(tn_pq_rle_init(&rle, from_hex(&p, "c801 01 14 00 03 ff"), 1));
  assert_int_equal(tn_pq_rle_take_run(&rle, 60, 1), 60);
  assert_int_equal(tn_pq_rle_take_run(&rle, 60, 1), 40);
  assert_int_equal(tn_pq_rle_take_run(&rle, 60, 1), 0);
  assert_int_equal(tn_pq_rle_take_run(&rle, 60, 0), 10);
  assert_int_equal(tn_pq_rle_take_run(&rle, 60, 1), 0);  // packed values are not looked at
  assert_int_equal(tn_pq_rle_skip(&rle, 60), 8);
}

static void levels__end_before_one_above_the_maximum(void **state) {
  padded p;
  tn_pq_levels levels;
  uint8_t out[8];
  (void)state;
  tn_pq_levels_init(&levels, from_hex(&p, "02 01 02 02 02 03 02 00"), 2, false);
  assert_int_equal(tn_pq_levels_get(&levels, 8, out), 2);
}

/* ------------------------------------------------------------------ deltas */

/* The example of Encodings.md: 7, 5, 3, 1, 2, 3, 4, 5. */
static void delta__example_of_the_format(void **state) {
  static const int64_t expected[] = {7, 5, 3, 1, 2, 3, 4, 5};
  padded p;
  tn_pq_delta delta;
  int64_t out[16];
  const uint8_t *end;
  // block 128, 4 miniblocks, 8 values, first 7; least delta -2, widths 2 0 0 0
  tn_slice bytes = from_hex(&p, "8001 04 08 0e 03 02000000 c03f000000000000");
  (void)state;
  assert_true(tn_pq_delta_init(&delta, bytes, false));
  assert_true(tn_pq_delta_find_end(&delta, &end));
  assert_ptr_equal(end, bytes.data + bytes.len);
  assert_int_equal(tn_pq_delta_get(&delta, 3, out), 3);
  assert_int_equal(tn_pq_delta_get(&delta, 13, out + 3), 5);
  assert_memory_equal(out, expected, sizeof(expected));
}

static void delta__sums_wrap_at_their_width(void **state) {
  padded p;
  tn_pq_delta delta;
  int64_t out[2];
  (void)state;
  // first 2147483647, delta 1
  assert_true(tn_pq_delta_init(&delta, from_hex(&p, "8001 04 02 feffffff0f 02 00000000"), false));
  assert_int_equal(tn_pq_delta_get(&delta, 2, out), 2);
  assert_int_equal(out[1], INT32_MIN);
  assert_true(tn_pq_delta_init(&delta, from_hex(&p, "8001 04 02 feffffff0f 02 00000000"), true));
  assert_int_equal(tn_pq_delta_get(&delta, 2, out), 2);
  assert_int_equal(out[1], (int64_t)INT32_MAX + 1);
}

static void delta__every_width(void **state) {
  (void)state;
  for (uint32_t width = 1; width <= 64; width++) {
    padded p;
    tn_pq_delta delta;
    int64_t out[33];
    uint64_t mask = width == 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1, sum = 0;
    uint64_t deltas[32], seed = width;
    memset(p.bytes, 0, sizeof(p.bytes));
    memcpy(p.bytes, "\x80\1\4\x21\0\0\0\0\0\0", 10);  // 33 values, first 0, least delta 0
    p.bytes[6] = (uint8_t)width;
    for (int i = 0; i < 32; i++) {
      seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
      deltas[i] = seed & mask;
      for (uint32_t b = 0; b < width; b++) {
        tn_bit_put(p.bytes + 10, (int64_t)i * width + b, (deltas[i] >> b & 1) != 0);
      }
    }
    assert_true(tn_pq_delta_init(&delta, tn_slice_of(p.bytes, 10 + 4 * width), true));
    assert_int_equal(tn_pq_delta_get(&delta, 33, out), 33);
    for (int i = 0; i < 32; i++) {
      sum += deltas[i];
      assert_int_equal(out[i + 1], (int64_t)sum);
    }
  }
}

static void delta__bad_headers(void **state) {
  static const char *const heads[] = {
      "",                               // nothing
      "8001 04 08",                     // no first value
      "00 04 08 0e",                    // blocks of nothing
      "4004 04 08 0e",                  // not a multiple of 128
      "8001 00 08 0e",                  // no miniblocks
      "8001 03 08 0e",                  // that do not divide the block
      "8001 08 08 0e",                  // of 16 values
      "80808001 04 08 0e",              // blocks of millions
      "8001 04 ffffffffffffffff7f 0e",  // more values than a page can have
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(heads); i++) {
    padded p;
    tn_pq_delta delta;
    assert_false(tn_pq_delta_init(&delta, from_hex(&p, heads[i]), true));
  }
}

/* ------------------------------------------------------------------ values */

/* DELTA_BYTE_ARRAY: "axis", "axle", "babble", "babyhood" as in Encodings.md, one by one and at
 * once. */
static void values__prefixes_across_calls(void **state) {
  static const char *const words[] = {"axis", "axle", "babble", "babyhood"};
  (void)state;
  for (int64_t step = 1; step <= 4; step += 3) {
    padded p;
    tn_mem mem;
    tn_pq_values v;
    tn_view views[4];
    tarn_error err;
    int64_t k, done = 0;
    // the miniblock of prefixes: least delta -2, deltas 2, -2, 3; suffixes: -2, 4, -1
    memset(p.bytes, 0, sizeof(p.bytes));
    memcpy(p.bytes, "\x80\1\4\4\0\3\3\0\0\0", 10);
    put_bits(p.bytes + 10, 0, 4, 3);
    put_bits(p.bytes + 10, 1, 0, 3);
    put_bits(p.bytes + 10, 2, 5, 3);
    memcpy(p.bytes + 22, "\x80\1\4\4\x08\3\3\0\0\0", 10);
    put_bits(p.bytes + 32, 0, 0, 3);
    put_bits(p.bytes + 32, 1, 6, 3);
    put_bits(p.bytes + 32, 2, 1, 3);
    memcpy(p.bytes + 44, "axislebabbleyhood", 17);
    tn_mem_init(&mem, NULL, 1 << 20);
    tn_pq_values_init(&v, &mem);
    assert_null(tn_pq_values_open(&v, TN_PQ_BYTE_ARRAY, 0, TN_PQ_DELTA_BYTE_ARRAY,
                                  tn_slice_of(p.bytes, 61)));
    while (done < 4) {
      assert_works(tn_pq_values_views(&v, step, views, &k, &err), err);
      assert_int_equal(k, step);
      for (int64_t i = 0; i < k; i++) {
        assert_true(tn_slice_is(tn_slice_of(views[i].data, (size_t)views[i].len), words[done++]));
      }
    }
    assert_works(tn_pq_values_views(&v, 1, views, &k, &err), err);
    assert_int_equal(k, 0);
    tn_pq_values_reset(&v);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(thrift__steps_over_what_is_not_known),
      cmocka_unit_test(thrift__a_field_of_another_type_is_stepped_over),
      cmocka_unit_test(thrift__tells_short_from_bad),
      cmocka_unit_test(thrift__nesting_is_bounded),
      cmocka_unit_test(page_header__every_cut_is_short),
      cmocka_unit_test(rle__unpacks_every_width),
      cmocka_unit_test(rle__mixes_runs_and_groups),
      cmocka_unit_test(rle__a_cut_group_gives_what_is_there),
      cmocka_unit_test(rle__takes_runs_of_a_value),
      cmocka_unit_test(levels__end_before_one_above_the_maximum),
      cmocka_unit_test(delta__example_of_the_format),
      cmocka_unit_test(delta__sums_wrap_at_their_width),
      cmocka_unit_test(delta__every_width),
      cmocka_unit_test(delta__bad_headers),
      cmocka_unit_test(values__prefixes_across_calls),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
