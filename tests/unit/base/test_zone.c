/* Time zones. Expected numbers are java.time's (JDK 17). */
#include "base/zone.h"

#include "base/bytes.h"
#include "base/checked.h"
#include "support/test.h"
#include "support/torture.h"

static tn_mem mem;

static int make_mem(void **state) {
  (void)state;
  tn_mem_init(&mem, NULL, 1 << 20);
  return 0;
}

static tn_zone *zone_of(const char *name) {
  tn_zone *zone = NULL;
  tarn_error err;
  assert_works(tn_zone_open(&mem, name, &zone, &err), err);
  assert_string_equal(tn_zone_name(zone), name);
  return zone;
}

static void open__takes_the_fixed_forms_of_zone_id(void **state) {
  static const struct {
    const char *name;
    int32_t offset;
  } cases[] = {
      {"Z", 0},
      {"UTC", 0},
      {"GMT", 0},
      {"UT", 0},
      {"+8", 28800},
      {"-8", -28800},
      {"+08", 28800},
      {"+0830", 30600},
      {"-08:30", -30600},
      {"+083015", 30615},
      {"+08:30:15", 30615},
      {"UTC+8", 28800},
      {"UTC-08:30", -30600},
      {"GMT-03:30", -12600},
      {"UT+1", 3600},
      {"+18:00", 64800},
      {"-18", -64800},
      {"+00:00", 0},
      {"GMT0", 0},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tn_zone *zone = zone_of(cases[i].name);
    assert_int_equal(tn_zone_offset_at(zone, 0), cases[i].offset);
    assert_int_equal(tn_zone_offset_at(zone, INT64_MIN), cases[i].offset);
    assert_int_equal(tn_zone_offset_at(zone, INT64_MAX), cases[i].offset);
    assert_int_equal(tn_zone_local_to_utc(zone, 1000000), 1000000 - cases[i].offset);
    tn_zone_free(&mem, zone);
  }
}

static void open__refuses_other_names(void **state) {
  static const char *const names[] = {"",
                                      "A",
                                      "8",
                                      "+",
                                      "+1:00",
                                      "+08:60",
                                      "+08:00:60",
                                      "+18:01",
                                      "+19",
                                      "UTC+19",
                                      "UTC+",
                                      "UTCx",
                                      "utc",
                                      "z",
                                      "+8:",
                                      "+08-30",
                                      "+08:30x",
                                      "Nowhere",
                                      "America",
                                      "zone.tab",
                                      "../etc/passwd",
                                      "/etc/passwd",
                                      "Europe/../Europe/Paris",
                                      "right/UTC",
                                      "Europe/Berlin ",
                                      "tzdata.zi",
                                      "+ 8"};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(names); i++) {
    tn_zone *zone = (tn_zone *)1;
    tarn_error err;
    assert_int_equal(tn_zone_open(&mem, names[i], &zone, &err), TARN_E_INVALID);
    assert_null(zone);
    assert_contains(err.message, "no such time zone");
    assert_contains(err.message, names[i]);
  }
}

typedef struct moment {
  const char *zone;
  int64_t at;        /* as an instant and as a local time */
  int32_t offset;    /* at the instant */
  int64_t local_utc; /* the instant of the local time */
} moment;

static void check_moments(const moment *moments, size_t n) {
  for (size_t i = 0; i < n; i++) {
    tn_zone *zone = zone_of(moments[i].zone);
    if (tn_zone_offset_at(zone, moments[i].at) != moments[i].offset ||
        tn_zone_local_to_utc(zone, moments[i].at) != moments[i].local_utc) {
      fail_msg("%s at %lld: %d, %lld", moments[i].zone, (long long)moments[i].at,
               (int)tn_zone_offset_at(zone, moments[i].at),
               (long long)tn_zone_local_to_utc(zone, moments[i].at));
    }
    tn_zone_free(&mem, zone);
  }
}

static void zones__agree_with_java(void **state) {
  static const moment moments[] = {
      {"Asia/Shanghai", -2208988800, 29143, -2209017943},       /* 1900-01-01T00:00:00 */
      {"Asia/Shanghai", -1600644600, 32400, -1600673400},       /* 1919-04-13T00:30:00 */
      {"Asia/Shanghai", 0, 28800, -28800},                      /* 1970-01-01T00:00:00 */
      {"Asia/Shanghai", 515557800, 32400, 515529000},           /* 1986-05-04T02:30:00 */
      {"Asia/Shanghai", 527045400, 28800, 527013000},           /* 1986-09-14T01:30:00 */
      {"Asia/Shanghai", 1780315200, 28800, 1780286400},         /* 2026-06-01T12:00:00 */
      {"Europe/Berlin", -2840140800, 3208, -2840144008},        /* 1880-01-01T00:00:00 */
      {"Europe/Berlin", -776554200, 10800, -776561400},         /* 1945-05-24T02:30:00 */
      {"Europe/Berlin", 1711852200, 7200, 1711848600},          /* 2024-03-31T02:30:00 */
      {"Europe/Berlin", 1729996200, 3600, 1729989000},          /* 2024-10-27T02:30:00 */
      {"Europe/Berlin", 1729994399, 3600, 1729987199},          /* 2024-10-27T01:59:59 */
      {"Europe/Berlin", 1729998000, 3600, 1729994400},          /* 2024-10-27T03:00:00 */
      {"Europe/Berlin", 2145913200, 3600, 2145909600},          /* 2037-12-31T23:00:00 */
      {"Europe/Berlin", 2161555200, 7200, 2161548000},          /* 2038-07-01T00:00:00 */
      {"Europe/Berlin", 4109884200, 7200, 4109880600},          /* 2100-03-28T02:30:00 */
      {"Europe/Berlin", 253402300799, 3600, 253402297199},      /* 9999-12-31T23:59:59 */
      {"America/New_York", 1710037800, -18000, 1710055800},     /* 2024-03-10T02:30:00 */
      {"America/New_York", 1730597400, -14400, 1730611800},     /* 2024-11-03T01:30:00 */
      {"America/New_York", 16740864000, -14400, 16740878400},   /* 2500-07-01T00:00:00 */
      {"Australia/Lord_Howe", 1712454300, 37800, 1712414700},   /* 2024-04-07T01:45:00 */
      {"Australia/Lord_Howe", 1728180900, 39600, 1728143100},   /* 2024-10-06T02:15:00 */
      {"Australia/Lord_Howe", 11833862400, 39600, 11833822800}, /* 2345-01-01T00:00:00 */
      {"Australia/Lord_Howe", 11849500800, 37800, 11849463000}, /* 2345-07-01T00:00:00 */
      {"Pacific/Apia", 1325246400, 50400, 1325282400},          /* 2011-12-30T12:00:00 */
      {"Pacific/Apia", 1325203199, -36000, 1325239199},         /* 2011-12-29T23:59:59 */
      {"Pacific/Apia", 1325289600, 50400, 1325239200},          /* 2011-12-31T00:00:00 */
      {"Europe/Dublin", 1704067200, 0, 1704067200},             /* 2024-01-01T00:00:00 */
      {"Europe/Dublin", 1719792000, 3600, 1719788400},          /* 2024-07-01T00:00:00 */
      {"Europe/Dublin", 2540246400, 3600, 2540242800},          /* 2050-07-01T00:00:00 */
      {"America/St_Johns", 576030600, -12600, 576043200},       /* 1988-04-03T00:30:00 */
      {"America/St_Johns", 1162080030, -9000, 1162089030},      /* 2006-10-29T00:00:30 */
      {"Asia/Kolkata", 1704067200, 19800, 1704047400},          /* 2024-01-01T00:00:00 */
      {"Africa/Monrovia", 44582400, -2670, 44585070},           /* 1971-06-01T00:00:00 */
      {"Etc/GMT+8", 1704067200, -28800, 1704096000},            /* 2024-01-01T00:00:00 */
  };
  (void)state;
  check_moments(moments, TN_COUNT(moments));
}

static void put_be32(uint8_t *p, uint32_t v) {
  tn_store_be32(p, v);
}

/* A version 2 file without old data: n_times transitions to type 1, then 0, ... and a footer. */
static size_t make_file(uint8_t *file, const int64_t *times, uint32_t n_times, int32_t offset0,
                        int32_t offset1, const char *footer) {
  size_t n = 0;
  memset(file, 0, 88);
  memcpy(file, "TZif2", 5);
  put_be32(file + 36, 1); /* one type and one name byte in the old block */
  put_be32(file + 40, 1);
  n = 44 + 6 + 1;
  memset(file + 44, 0, 7);
  memset(file + n, 0, 44);
  memcpy(file + n, "TZif2", 5);
  put_be32(file + n + 32, n_times);
  put_be32(file + n + 36, 2);
  put_be32(file + n + 40, 1);
  n += 44;
  for (uint32_t i = 0; i < n_times; i++) {
    tn_store_be64(file + n, (uint64_t)times[i]);
    n += 8;
  }
  for (uint32_t i = 0; i < n_times; i++) {
    file[n++] = i % 2 == 0 ? 1 : 0;
  }
  put_be32(file + n, (uint32_t)offset0);
  file[n + 4] = file[n + 5] = 0;
  put_be32(file + n + 6, (uint32_t)offset1);
  file[n + 10] = file[n + 11] = 0;
  n += 12;
  file[n++] = 0;
  file[n++] = '\n';
  memcpy(file + n, footer, strlen(footer));
  n += strlen(footer);
  file[n++] = '\n';
  return n;
}

static void decode__follows_the_footer_of_any_kind(void **state) {
  /* Instants in 2001 (978307200 starts it); offsets that the rule gives. */
  static const struct {
    const char *footer;
    int64_t at;
    int32_t offset;
  } cases[] = {
      {"AAA-1", 978307200, 3600},
      {"<+0330>-3:30", 978307200, 12600},
      {"AAA5BBB,M3.2.0,M11.1.0", 984293999, -18000}, /* March 11th, 01:59:59 */
      {"AAA5BBB,M3.2.0,M11.1.0", 984294000, -14400},
      {"AAA5BBB,M3.2.0,M11.1.0", 1004853599, -14400}, /* November 4th */
      {"AAA5BBB,M3.2.0,M11.1.0", 1004853600, -18000},
      {"AAA-10BBB,M10.5.0/3,M4.1.0", 978307200, 39600}, /* the southern half */
      {"AAA0BBB-2,J60/0,J61/0", 983404799, 0},          /* March 1st in any year */
      {"AAA0BBB-2,J60/0,J61/0", 983404800, 7200},
      {"AAA0BBB-2,59/0,60/0", 983404800, 7200},       /* the 60th day, counted from 0 */
      {"AAA0BBB,M3.5.0/-1,M10.5.0/25", 985474799, 0}, /* Saturday 23:00 before March 25th */
      {"AAA0BBB,M3.5.0/-1,M10.5.0/25", 985474800, 3600},
      {"XXX3EDT4,0/0,J365/23", 993945600, -14400}, /* daylight time all the year */
      {"XXX3EDT4,0/0,J365/23", 978318000, -14400},
      {"XXX3EDT4,0/0,J365/23", 1009854000, -14400},
  };
  static const int64_t times[] = {0, 100000};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    uint8_t file[512];
    size_t n = make_file(file, times, 2, 0, 60, cases[i].footer);
    tn_zone *zone = NULL;
    tarn_error err;
    const int64_t cycle = INT64_C(146097) * 86400;
    /* Without daylight time the rule is what the last transition led to: say so in the file. */
    bool is_plain = strchr(cases[i].footer, ',') == NULL;
    if (is_plain) {
      n = make_file(file, times, 2, cases[i].offset, 60, cases[i].footer);
    }
    assert_works(tn_zone_decode(&mem, tn_slice_of(file, n), "made", &zone, &err), err);
    for (int64_t k = 0; k < 1000; k += 99) {
      if (tn_zone_offset_at(zone, cases[i].at + k * cycle) != cases[i].offset) {
        fail_msg("%s at %lld + %lld cycles: %d", cases[i].footer, (long long)cases[i].at,
                 (long long)k, (int)tn_zone_offset_at(zone, cases[i].at + k * cycle));
      }
    }
    assert_int_equal(tn_zone_offset_at(zone, 50), 60);
    tn_zone_free(&mem, zone);
  }
}

static void decode__without_transitions_has_the_rule_of_its_footer(void **state) {
  uint8_t file[512];
  size_t n = make_file(file, NULL, 0, 0, 0, "AAA-5:30");
  tn_zone *zone = NULL;
  tarn_error err;
  (void)state;
  assert_works(tn_zone_decode(&mem, tn_slice_of(file, n), "made", &zone, &err), err);
  assert_int_equal(tn_zone_offset_at(zone, INT64_MIN), 19800);
  assert_int_equal(tn_zone_offset_at(zone, INT64_MAX), 19800);
  tn_zone_free(&mem, zone);
}

static void decode__refuses_bad_footers(void **state) {
  static const char *const footers[] = {"A",
                                        "AA5",
                                        "AAA",
                                        "AAA25",
                                        "AAA5BB",
                                        "AAA5BBB",
                                        "AAA5BBB,M3.2.0",
                                        "AAA5BBB,M0.2.0,M11.1.0",
                                        "AAA5BBB,M13.2.0,M11.1.0",
                                        "AAA5BBB,M3.6.0,M11.1.0",
                                        "AAA5BBB,M3.2.7,M11.1.0",
                                        "AAA5BBB,J0,J5",
                                        "AAA5BBB,366,5",
                                        "AAA5BBB,M3.2.0,M11.1.0x",
                                        "AAA5BBB,M3.2.0/168,M11.1.0",
                                        "<AAA5",
                                        "AAA5:60",
                                        "AAA5x"};
  static const int64_t times[] = {0, 100000};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(footers); i++) {
    uint8_t file[512];
    size_t n = make_file(file, times, 2, 0, 0, footers[i]);
    tn_zone *zone;
    tarn_error err;
    if (tn_zone_decode(&mem, tn_slice_of(file, n), "made", &zone, &err) != TARN_E_CORRUPT) {
      fail_msg("accepted: %s", footers[i]);
    }
    assert_contains(err.message, "made");
  }
}

static void decode__refuses_every_truncation_and_survives_every_flip(void **state) {
  static const int64_t times[] = {0, 100000, 200000};
  uint8_t file[512];
  size_t n = make_file(file, times, 3, 3600, 7200, "AAA5BBB,M3.2.0,M11.1.0");
  (void)state;
  for (size_t i = 0; i < n; i++) {
    tn_zone *zone;
    uint8_t *cut = malloc(i + 1); /* exactly sized, so that a sanitizer sees a read behind it */
    memcpy(cut, file, i);
    tarn_status st = tn_zone_decode(&mem, tn_slice_of(cut, i), "cut", &zone, NULL);
    if (st == TARN_OK) {
      /* Only a footer may be missing. */
      assert_int_equal(i, n - strlen("\nAAA5BBB,M3.2.0,M11.1.0\n"));
      tn_zone_free(&mem, zone);
    }
    free(cut);
  }
  for (size_t i = 0; i < n * 8; i++) {
    tn_zone *zone;
    file[i / 8] ^= (uint8_t)(1u << (i % 8));
    if (tn_zone_decode(&mem, tn_slice_of(file, n), "flip", &zone, NULL) == TARN_OK) {
      (void)tn_zone_offset_at(zone, 1000000000);
      (void)tn_zone_local_to_utc(zone, INT64_MAX);
      (void)tn_zone_local_to_utc(zone, INT64_MIN);
      tn_zone_free(&mem, zone);
    }
    file[i / 8] ^= (uint8_t)(1u << (i % 8));
  }
}

static void decode__refuses_transitions_out_of_order(void **state) {
  static const int64_t times[] = {100, 100};
  uint8_t file[512];
  size_t n = make_file(file, times, 2, 0, 0, "AAA0");
  tn_zone *zone;
  tarn_error err;
  (void)state;
  assert_int_equal(tn_zone_decode(&mem, tn_slice_of(file, n), "made", &zone, &err), TARN_E_CORRUPT);
  assert_contains(err.message, "out of order");
}

static tarn_status open_berlin(void *ctx, tarn_env *env, tarn_error *err) {
  tn_zone *zone = NULL;
  tarn_status st = tn_zone_open(&env->mem, ctx, &zone, err);
  tn_zone_free(&env->mem, zone);
  return st;
}

static void open__survives_failing_allocations(void **state) {
  (void)state;
  assert_true(tn_torture(open_berlin, "Europe/Berlin", TARN_OK) > 3);
  tn_torture(open_berlin, "+8", TARN_OK);
  tn_torture(open_berlin, "Nowhere", TARN_E_INVALID);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(open__takes_the_fixed_forms_of_zone_id),
      cmocka_unit_test(open__refuses_other_names),
      cmocka_unit_test(zones__agree_with_java),
      cmocka_unit_test(decode__follows_the_footer_of_any_kind),
      cmocka_unit_test(decode__without_transitions_has_the_rule_of_its_footer),
      cmocka_unit_test(decode__refuses_bad_footers),
      cmocka_unit_test(decode__refuses_every_truncation_and_survives_every_flip),
      cmocka_unit_test(decode__refuses_transitions_out_of_order),
      cmocka_unit_test(open__survives_failing_allocations),
  };
  return cmocka_run_group_tests_name("zone", tests, make_mem, NULL);
}
