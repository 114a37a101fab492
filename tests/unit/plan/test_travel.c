/* Which snapshot options ask for. */
#include "plan/travel.h"

#include <stdio.h>
#include <string.h>

#include "table_maker.h"

/* Snapshots first .. last of times id * 100, of schema 0. */
static void begin(table_maker *tm, int64_t first, int64_t last) {
  tm_begin(tm, 1);
  tm_schema(tm, 0, "0 a INT", "", "", "bucket=-1");
  for (int64_t id = first; id <= last; id++) {
    tm_snapshot_parts p = {.id = id, .time_ms = id * 100};
    tm_snapshot(tm, &p);
  }
}

/* The id of the snapshot, 0 for none, or the negated status. */
static int64_t resolve(table_maker *tm, const char *options, tarn_error *err) {
  tn_table *table = tm_table(tm, options);
  tn_travel travel;
  tarn_status st = tn_travel_resolve(table, &tm->arena, &travel, err);
  tn_table_release(table);
  if (st != TARN_OK) {
    return -(int64_t)st;
  }
  return travel.has_snapshot ? travel.snapshot.id : 0;
}

typedef struct travel_case {
  const char *options;
  int64_t id;          /* or the negated status */
  const char *message; /* part of it */
} travel_case;

static void run_cases(table_maker *tm, const travel_case *cases, size_t n) {
  for (size_t i = 0; i < n; i++) {
    tarn_error error = {0};
    int64_t id = resolve(tm, cases[i].options, &error);
    if (id != cases[i].id) {
      fail_msg("%s: %lld, expected %lld: %s", cases[i].options, (long long)id,
               (long long)cases[i].id, error.message);
    }
    if (cases[i].message != NULL && strstr(error.message, cases[i].message) == NULL) {
      fail_msg("%s: \"%s\" lacks \"%s\"", cases[i].options, error.message, cases[i].message);
    }
  }
}
#define RUN(tm, cases) run_cases(tm, cases, sizeof(cases) / sizeof((cases)[0]))

static void travel__by_mode_id_and_time(void **state) {
  static const travel_case CASES[] = {
      {"", 7, NULL},
      {"scan.mode=latest-full", 7, NULL},
      {"scan.mode=full", 7, NULL},
      {"scan.mode=LATEST", 7, NULL},
      {"scan.snapshot-id=4", 4, NULL},
      {"scan.mode=from-snapshot;scan.snapshot-id=5", 5, NULL},
      {"scan.mode=from-snapshot-full;scan.snapshot-id=3", 3, NULL},
      {"scan.snapshot-id=2", -TARN_E_EXPIRED,
       "scan.snapshot-id 2 is out of the available snapshot range [3, 7]"},
      {"scan.snapshot-id=8", -TARN_E_NOT_FOUND, "8 is out of the available snapshot range [3, 7]"},
      {"scan.timestamp-millis=700", 7, NULL},
      {"scan.timestamp-millis=9999", 7, NULL},
      {"scan.timestamp-millis=699", 6, NULL},
      {"scan.timestamp-millis=300", 3, NULL},
      {"scan.timestamp-millis=399", 3, NULL},
      {"scan.timestamp-millis=299", -TARN_E_NOT_FOUND,
       "no snapshot earlier than or equal to timestamp [299], the earliest snapshot's timestamp is "
       "[300]"},
      {"scan.timestamp=1970-01-01 00:00:00.5", 5, NULL},
      {"scan.timestamp=1970-01-02", 7, NULL},
      {"scan.timestamp=yesterday", -TARN_E_INVALID, "scan.timestamp"},
      {"scan.version=6", 6, NULL},
      {"scan.version=77", -TARN_E_NOT_FOUND, "77"},
      {"scan.version=spring", -TARN_E_NOT_FOUND, "spring"},
      {"scan.tag-name=nope", -TARN_E_NOT_FOUND, "nope"},
  };
  table_maker tm;
  (void)state;
  begin(&tm, 3, 7);
  RUN(&tm, CASES);
  tm_end(&tm);
}

static void travel__scan_timestamp_is_local(void **state) {
  tarn_env_options options = TARN_ENV_OPTIONS_INIT;
  tarn_env *env = NULL;
  table_maker tm;
  tarn_error error = {0};
  (void)state;
  options.time_zone = "+08:00";
  OK(tarn_env_create(&options, &env, err));
  tm_begin_in(&tm, env);
  tm_schema(&tm, 0, "0 a INT", "", "", "bucket=-1");
  for (int64_t id = 1; id <= 2; id++) {
    tm_snapshot_parts p = {.id = id, .time_ms = id * 3600000};
    tm_snapshot(&tm, &p);
  }
  // 09:30 there is 01:30 UTC.
  assert_int_equal(resolve(&tm, "scan.timestamp=1970-01-01 09:30:00", &error), 1);
  assert_int_equal(resolve(&tm, "scan.timestamp=1970-01-01 10:00:00", &error), 2);
  tm_end(&tm);
}

/* A tag goes before an id of the same digits, and outlives its snapshot. */
static void travel__tags_and_versions(void **state) {
  static const travel_case CASES[] = {
      {"scan.tag-name=old", 1, NULL},        {"scan.version=old", 1, NULL},
      {"scan.version=5", 2, NULL},           {"scan.version=6", 6, NULL},
      {"scan.version=watermark-5", 1, NULL},
  };
  static const tm_snapshot_parts OLD = {.id = 1, .time_ms = 100};
  static const tm_snapshot_parts FIVE = {.id = 2, .time_ms = 200};
  table_maker tm;
  (void)state;
  begin(&tm, 4, 7);
  tm_tag(&tm, "old", &OLD);
  tm_tag(&tm, "5", &FIVE);
  tm_tag(&tm, "watermark-5", &OLD);
  RUN(&tm, CASES);
  tm_end(&tm);
}

/* Watermarks may be missing, or the least long. */
static void travel__by_sparse_watermarks(void **state) {
  static const struct {
    bool has;
    int64_t mark;
  } MARKS[] = {{false, 0}, {true, 10}, {false, 0}, {true, INT64_MIN}, {true, 30}, {false, 0}};
  table_maker tm;
  tarn_error error = {0};
  (void)state;
  begin(&tm, 1, 0);
  for (int64_t id = 1; id <= 6; id++) {
    tm_snapshot_parts p = {.id = id,
                           .time_ms = id,
                           .has_watermark = MARKS[id - 1].has,
                           .watermark = MARKS[id - 1].mark};
    tm_snapshot(&tm, &p);
  }
  for (int mark = 0; mark <= 40; mark++) {
    char options[64];
    snprintf(options, sizeof(options), "scan.watermark=%d", mark);
    assert_int_equal(resolve(&tm, options, &error), mark <= 10   ? 2
                                                    : mark <= 30 ? 5
                                                                 : -(int64_t)TARN_E_NOT_FOUND);
  }
  assert_non_null(strstr(error.message, "watermark[40]"));
  assert_int_equal(resolve(&tm, "scan.version=watermark-20", &error), 5);
  tm_end(&tm);
}

/* Of equal watermarks the first counts, of equal times the last. */
static void travel__equal_marks_and_times(void **state) {
  table_maker tm;
  tarn_error error = {0};
  (void)state;
  begin(&tm, 1, 0);
  for (int64_t id = 1; id <= 6; id++) {
    tm_snapshot_parts p = {
        .id = id, .time_ms = id < 3 ? 1 : 2, .has_watermark = true, .watermark = id == 1 ? 5 : 7};
    tm_snapshot(&tm, &p);
  }
  assert_int_equal(resolve(&tm, "scan.watermark=7", &error), 2);
  assert_int_equal(resolve(&tm, "scan.watermark=6", &error), 2);
  assert_int_equal(resolve(&tm, "scan.timestamp-millis=1", &error), 2);
  assert_int_equal(resolve(&tm, "scan.timestamp-millis=2", &error), 6);
  tm_end(&tm);
}

static void travel__an_empty_table(void **state) {
  static const travel_case CASES[] = {
      {"", 0, NULL},
      {"scan.mode=latest", 0, NULL},
      {"scan.snapshot-id=1", -TARN_E_NOT_FOUND, "there is currently no snapshot"},
      {"scan.timestamp-millis=5", -TARN_E_NOT_FOUND, "timestamp is [null]"},
      {"scan.watermark=5", -TARN_E_NOT_FOUND, "watermark[5]"},
      {"scan.tag-name=x", -TARN_E_NOT_FOUND, "x"},
  };
  table_maker tm;
  (void)state;
  begin(&tm, 1, 0);
  RUN(&tm, CASES);
  tm_end(&tm);
}

/* Hints may be stale, torn, garbage or ahead of reality: what counts is what is there. */
static void travel__hints_are_only_hints(void **state) {
  static const char *const HINTS[] = {"5",   "",   "abc", "5\n",
                                      "900", "-3", "0",   "99999999999999999999"};
  table_maker tm;
  tarn_error error = {0};
  (void)state;
  begin(&tm, 3, 7);
  for (size_t i = 0; i < sizeof(HINTS) / sizeof(HINTS[0]); i++) {
    tm_put(&tm, "snapshot/LATEST", HINTS[i]);
    assert_int_equal(resolve(&tm, "", &error), 7);
    assert_int_equal(resolve(&tm, "scan.snapshot-id=6", &error), 6);
    if (HINTS[i][0] != '5') {
      tm_put(&tm, "snapshot/EARLIEST", HINTS[i]);
    }
    assert_int_equal(resolve(&tm, "scan.snapshot-id=3", &error), 3);
  }
  tm_end(&tm);
}

static void check__rejects_options_that_contradict(void **state) {
  static const travel_case CASES[] = {
      {"scan.snapshot-id=4;scan.timestamp-millis=4", -TARN_E_INVALID,
       "[scan.snapshot-id] must be null when you set [scan.timestamp-millis,scan.timestamp]"},
      {"scan.snapshot-id=4;scan.tag-name=x", -TARN_E_INVALID,
       "must set only one key in [scan.snapshot-id,scan.tag-name,scan.watermark] when you use "
       "from-snapshot for scan.mode"},
      {"scan.timestamp=1970-01-01;scan.timestamp-millis=4", -TARN_E_INVALID,
       "must set only one key in [scan.timestamp-millis,scan.timestamp]"},
      {"scan.mode=from-snapshot", -TARN_E_INVALID, "must set only one key in"},
      {"scan.mode=from-snapshot-full", -TARN_E_INVALID,
       "scan.snapshot-id can not be null when you use from-snapshot-full for scan.mode"},
      {"scan.mode=latest-full;scan.snapshot-id=4", -TARN_E_INVALID,
       "scan.snapshot-id must be null when you use latest-full for scan.mode"},
      {"scan.mode=latest;scan.version=4", -TARN_E_INVALID,
       "scan.version must be null when you use latest for scan.mode"},
  };
  table_maker tm;
  (void)state;
  begin(&tm, 3, 7);
  RUN(&tm, CASES);
  tm_end(&tm);
}

/* Another schema takes the place of the table's; options stay. A snapshot that cannot be found is
 * left to planning. */
static void plan_travel__takes_the_snapshots_schema(void **state) {
  table_maker tm;
  tn_table *table, *old;
  (void)state;
  begin(&tm, 1, 1);
  tm_schema(&tm, 1, "0 a INT|1 b INT", "", "", "bucket=-1");
  {
    tm_snapshot_parts p = {.id = 2, .schema_id = 1, .time_ms = 200};
    tm_snapshot(&tm, &p);
  }
  table = tm_table(&tm, "scan.snapshot-id=1");
  OK(tn_plan_travel(table, &old, err));
  assert_int_equal(old->schema->id, 0);
  assert_int_equal(old->schema->n_fields, 1);
  assert_string_equal(tn_options_get(&old->options, "scan.snapshot-id"), "1");
  tn_table_release(old);
  tn_table_release(table);

  table = tm_table(&tm, "scan.snapshot-id=99");
  OK(tn_plan_travel(table, &old, err));
  assert_int_equal(old->schema->id, 1);
  tn_table_release(old);
  tn_table_release(table);

  table = tm_table(&tm, "");
  OK(tn_plan_travel(table, &old, err));
  assert_ptr_equal(old, table);
  tn_table_release(old);
  tn_table_release(table);
  tm_end(&tm);
}

static void plan_travel__checks_options(void **state) {
  table_maker tm;
  tn_table *table, *out;
  tarn_error error = {0};
  (void)state;
  begin(&tm, 1, 1);
  table = tm_table(&tm, "scan.snapshot-id=1;scan.tag-name=x");
  assert_int_equal(tn_plan_travel(table, &out, &error), TARN_E_INVALID);
  assert_null(out);
  tn_table_release(table);
  tm_end(&tm);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(travel__by_mode_id_and_time),
      cmocka_unit_test(travel__scan_timestamp_is_local),
      cmocka_unit_test(travel__tags_and_versions),
      cmocka_unit_test(travel__by_sparse_watermarks),
      cmocka_unit_test(travel__equal_marks_and_times),
      cmocka_unit_test(travel__an_empty_table),
      cmocka_unit_test(travel__hints_are_only_hints),
      cmocka_unit_test(check__rejects_options_that_contradict),
      cmocka_unit_test(plan_travel__takes_the_snapshots_schema),
      cmocka_unit_test(plan_travel__checks_options),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
