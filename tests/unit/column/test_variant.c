/* VARIANT as JSON: what Java prints, and bytes that are none. */
#include "column/variant.h"

#include <stdio.h>
#include <stdlib.h>

#include "column_test.h"
#include "support/torture.h"

/* Cut the next tab-separated part off. */
static char *next_part(char **line) {
  char *part = *line, *tab = strchr(part, '\t');
  assert_non_null(tab);
  *tab = '\0';
  *line = tab + 1;
  return part;
}

static void variant_to_json__prints_what_java_prints(void **state) {
  column_test *t = *state;
  static char line[8192];
  static uint8_t metadata[4096], value[4096];
  char path[512];
  int n = 0;
  FILE *f;
  snprintf(path, sizeof(path), "%s/tests/unit/column/data/variants.txt", TARN_SOURCE_DIR);
  f = fopen(path, "r");
  assert_non_null(f);
  while (fgets(line, sizeof(line), f) != NULL) {
    char *rest = line;
    tn_slice m, v;
    tn_zone *zone;
    tn_buf out;
    tarn_error err;
    tarn_status st;
    if (line[0] == '#') {
      continue;
    }
    line[strcspn(line, "\n")] = '\0';
    m = tn_slice_of(metadata, from_hex(next_part(&rest), metadata));
    v = tn_slice_of(value, from_hex(next_part(&rest), value));
    assert_int_equal(tn_zone_open(&t->env->mem, next_part(&rest), &zone, &err), TARN_OK);
    tn_buf_init(&out, &t->env->mem, 1 << 20);
    st = tn_variant_to_json(m, v, zone, &out, &err);
    if (strcmp(rest, "!") == 0) {
      assert_int_equal(st, TARN_E_CORRUPT);
    } else {
      assert_int_equal(st, TARN_OK);
      assert_int_equal(tn_buf_append(&out, "", 1, &err), TARN_OK);
      assert_string_equal((char *)out.data, rest);
    }
    tn_buf_reset(&out);
    tn_zone_free(&t->env->mem, zone);
    n++;
  }
  fclose(f);
  assert_int_equal(n, 135);
}

/* 03 01 00 n: an array of one element of n bytes, which is the next array. */
static tarn_status nested_arrays(int depth, size_t limit, tarn_error *err) {
  static uint8_t value[5 * 1000];
  uint8_t metadata[3] = {1, 0, 0};
  tn_mem mem;
  tn_buf out;
  tarn_status st;
  size_t n = 0;
  for (int i = 0; i < depth; i++) {
    static const uint8_t header[] = {0x03, 0x01, 0x00, 0x00};
    memcpy(value + n, header, 4);
    n += 4;
  }
  value[n++] = 0; /* null */
  tn_mem_init(&mem, NULL, 1 << 20);
  tn_buf_init(&out, &mem, limit);
  st = tn_variant_to_json(tn_slice_of(metadata, 3), tn_slice_of(value, n), NULL, &out, err);
  tn_buf_reset(&out);
  return st;
}

static void variant_to_json__bounds_the_depth(void **state) {
  tarn_error err;
  (void)state;
  assert_int_equal(nested_arrays(512, 1 << 20, &err), TARN_OK);
  assert_int_equal(nested_arrays(513, 1 << 20, &err), TARN_E_LIMIT);
  assert_non_null(strstr(err.message, "deeper than 512"));
}

static void variant_to_json__keeps_to_the_limit_of_its_output(void **state) {
  tarn_error err;
  (void)state;
  assert_int_equal(nested_arrays(100, 150, &err), TARN_E_LIMIT);
}

static tarn_status print_once(void *ctx, tarn_env *env, tarn_error *err) {
  static const uint8_t metadata[] = {0x01, 0x01, 0x00, 0x01, 0x61};
  static const uint8_t value[] = {0x02, 0x01, 0x00, 0x00, 0x02, 0x0c, 0x01};
  tn_buf out;
  tarn_status st;
  (void)ctx;
  tn_buf_init(&out, &env->mem, 1 << 20);
  st = tn_variant_to_json(tn_slice_of(metadata, 5), tn_slice_of(value, 7), NULL, &out, err);
  tn_buf_reset(&out);
  return st;
}

static void variant_to_json__survives_failing_allocations(void **state) {
  (void)state;
  assert_true(tn_torture(print_once, NULL, TARN_OK) > 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      column_unit_test(variant_to_json__prints_what_java_prints),
      cmocka_unit_test(variant_to_json__bounds_the_depth),
      cmocka_unit_test(variant_to_json__keeps_to_the_limit_of_its_output),
      cmocka_unit_test(variant_to_json__survives_failing_allocations)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
