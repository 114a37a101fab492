/* test_partitions.c - partitions that expire, partitions that are done, what a commit sets off. */
#include "maintain/after_commit.h"
#include "maintain/mark_done.h"
#include "maintain/partition_expire.h"
#include "maintain/tags.h"
#include "maintain/time_pattern.h"
#include "maintain_maker.h"
#include "model/partition.h"
#include "support/test.h"

#define DAY_MS ((int64_t)86400000)
#define NOW_MS (DAY_MS * 20000 + 43200000) /* 2024-10-04 12:00 */

/* ------------------------------------------------------------------ times in texts */

static void time__is_taken_from_text_as_java_does(void **state) {
  static const struct {
    const char *pattern, *text;
    int64_t ms; /* -1: none */
  } cases[] = {
      {NULL, "2024-10-04", DAY_MS * 20000},
      {NULL, "2024-10-4", DAY_MS * 20000},
      {NULL, "2024-10-04 12:00:00", NOW_MS},
      {NULL, "2024-10-04 1:2:3", DAY_MS * 20000 + 3723000},
      {NULL, "2024-10-04 12:00:00.25", NOW_MS + 250},
      {NULL, "2024-09-34", DAY_MS * 20000}, /* carried over */
      {NULL, "2023-22-04", DAY_MS * 20000},
      {NULL, "2024-10-04 12:00", -1},
      {NULL, "2024-10-04T12:00:00", -1},
      {NULL, "20241004", -1},
      {NULL, "19800", -1},
      {NULL, "garbage", -1},
      {NULL, "", -1},
      {"yyyyMMdd", "20241004", DAY_MS * 20000},
      {"yyyyMMdd", "2024104", -1},
      {"yyyyMMdd", "202410040", -1},
      {"yyyyMMddHH", "2024100412", NOW_MS},
      {"yyyy-MM-dd HH:mm:ss", "2024-10-04 12:00:00", NOW_MS},
      {"yyyy-MM-dd'T'HH:mm", "2024-10-04T12:00", NOW_MS},
      {"yyyy-MM-dd", "2022-2-3", -1},
      {"yyyy-M-d", "2024-10-4", DAY_MS * 20000},
      {"yyyy/MM/dd", "2024/10/04", DAY_MS * 20000},
      {"yy-MM-dd", "24-10-04", DAY_MS * 20000},
      {"yyyy-MM-dd", "2023-02-30", DAY_MS * 19416}, /* the last day of the month */
      {"yyyy-MM-dd", "2023-02-32", -1},
      {"yyyy-MM-dd HH", "2024-10-04 24", -1},
      {"yyyy-MM", "2024-10", -1},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    int64_t ms = -1;
    bool ok = tn_time_pattern_parse(cases[i].pattern, tn_slice_text(cases[i].text), &ms);
    if (ok != (cases[i].ms >= 0) || (ok && ms != cases[i].ms)) {
      fail_msg("%s by %s: %d, %lld", cases[i].text, cases[i].pattern, (int)ok, (long long)ms);
    }
  }
}

static void time__pattern_that_is_not_understood_is_refused(void **state) {
  static const struct {
    const char *pattern;
    tarn_status status;
  } cases[] = {
      {"yyyy-MM-dd HH:mm:ss.SSS", TARN_OK}, {"yyyy''MM", TARN_OK},
      {"yyyy'MM", TARN_E_INVALID},          {"yyyy-MMM-dd", TARN_E_UNSUPPORTED},
      {"yyyy-MM-dd z", TARN_E_UNSUPPORTED}, {"yyyy[-MM]", TARN_E_UNSUPPORTED},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    assert_int_equal(tn_time_pattern_check(cases[i].pattern, NULL), cases[i].status);
  }
}

/* ------------------------------------------------------------------ partitions that expire */

typedef struct parts {
  table_maker tm;
  tn_table *table;
  int64_t now;
  int n_files;
} parts;

static int64_t clock_ms(void *ctx) {
  return ((parts *)ctx)->now;
}

/* A table with the columns dt STRING, hh INT, v INT; partitioned by the first two. */
static void parts_begin(parts *p, const char *options) {
  tarn_env_options env_options = TARN_ENV_OPTIONS_INIT;
  tarn_env *env = NULL;
  memset(p, 0, sizeof(*p));
  env_options.clock_ms = clock_ms;
  env_options.clock_ctx = p;
  p->now = NOW_MS;
  OK(tarn_env_create(&env_options, &env, err));
  tm_begin_in(&p->tm, env);
  tm_schema(&p->tm, 0, "0 dt STRING|1 hh INT|2 v INT", "dt,hh", "", options);
  p->table = tm_table(&p->tm, "");
}

static void parts_end(parts *p) {
  tn_table_release(p->table);
  tm_end(&p->tm);
}

/* "dt|hh", created so many days ago. */
static void add(parts *p, const char *values, int64_t days_ago) {
  tn_committable c = cm_begin(p->n_files + 1);
  tn_manifest_entry e = tm_entry(tn_arena_printf(&p->tm.arena, "f%d", p->n_files++), 1);
  e.partition = tm_row(&p->tm, "STRING|INT", values);
  e.file.creation_time_ms = p->now - days_ago * DAY_MS;
  cm_file(&p->tm, &c, CM_NEW, e);
  cm_append(p->table, "u", &c);
}

/* The partitions that are left, "dt/hh dt/hh ...". */
static const char *left(parts *p) {
  tn_partition_info *all;
  const char *text = "";
  int32_t n;
  OK(tn_plan_partitions(p->table, &p->tm.arena, &all, &n, err));
  for (int32_t i = 0; i < n; i++) {
    tn_datum *values;
    OK(tn_partition_values(&p->tm.arena, p->table->schema, all[i].partition, &values, err));
    text = tn_arena_printf(&p->tm.arena, "%s%s%.*s", text, i > 0 ? " " : "",
                           values[0].is_null ? 4 : (int)values[0].v.bytes.len,
                           values[0].is_null ? "null" : (const char *)values[0].v.bytes.data);
    assert_non_null(text);
  }
  return text;
}

static void expire__drops_what_is_too_old(void **state) {
  static const struct {
    const char *options, *left;
    int64_t n;
  } cases[] = {
      {"partition.expiration-time=7 d", "2024-10-01 2024-9-30 null garbage", 2},
      {"partition.expiration-time=7 d;partition.timestamp-formatter=yyyy-MM-dd",
       "2024-10-01 2024-9-30 null garbage", 2},
      {"partition.expiration-time=2 d;partition.timestamp-formatter=yyyy-MM-dd",
       "2024-9-30 null garbage", 3},
      {"partition.expiration-time=7 d;partition.timestamp-pattern=$dt $hh:00:00",
       "2024-10-01 2024-9-30 null garbage 2024-01-02", 1},
      {"partition.expiration-time=7 d;partition.timestamp-pattern=$dt",
       "2024-10-01 2024-9-30 null garbage", 2},
      {"partition.expiration-time=7 d;partition.expiration-max-num=1",
       "2024-10-01 2024-9-30 null garbage 2024-01-02", 1},
      {"partition.expiration-time=5 d;partition.expiration-strategy=update-time",
       "2024-01-01 2024-10-01", 4},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    parts p;
    int64_t n;
    parts_begin(&p, "bucket=-1");
    tn_table_release(p.table);
    p.table = tm_table(&p.tm, cases[i].options);
    add(&p, "2024-01-01|1", 0);
    add(&p, "2024-10-01|2", 1);
    add(&p, "2024-9-30|3", 6);
    add(&p, "null|4", 6);
    add(&p, "garbage|5", 6);
    add(&p, "2024-01-02|null", 6);
    OK(tn_partitions_expire(p.table, "u", 77, NULL, &n, err));
    assert_int_equal(n, cases[i].n);
    assert_string_equal(left(&p), cases[i].left);
    assert_string_equal(
        cm_snapshot_text(&p.tm, 7),
        tn_arena_printf(&p.tm.arena, "OVERWRITE u:77 rows=%d(-%d)", 6 - (int)n, (int)n));
    parts_end(&p);
  }
}

static void expire__goes_in_batches(void **state) {
  parts p;
  int64_t n;
  (void)state;
  parts_begin(&p, "bucket=-1;partition.expiration-time=1 d;partition.expiration-batch-size=2");
  add(&p, "2024-01-01|1", 0);
  add(&p, "2024-01-02|1", 0);
  add(&p, "2024-01-03|1", 0);
  OK(tn_partitions_expire(p.table, "u", 77, NULL, &n, err));
  assert_int_equal(n, 3);
  assert_int_equal(cm_snapshot(&p.tm, 4).delta_record_count, -2);
  assert_int_equal(cm_snapshot(&p.tm, 5).delta_record_count, -1);
  parts_end(&p);
}

static void expire__does_nothing_when_nothing_is_old(void **state) {
  parts p;
  int64_t n;
  (void)state;
  parts_begin(&p, "bucket=-1;partition.expiration-time=9999 d");
  add(&p, "2024-01-01|1", 0);
  OK(tn_partitions_expire(p.table, "u", 77, NULL, &n, err));
  assert_int_equal(n, 0);
  assert_int_equal(cm_count(&p.tm, "snapshot"), 2); /* with the hint */
  parts_end(&p);
}

static void expire__refuses_a_strategy_that_is_none(void **state) {
  parts p;
  tarn_error why = {0};
  (void)state;
  parts_begin(&p, "bucket=-1;partition.expiration-time=1 d;partition.expiration-strategy=x");
  assert_int_equal(tn_partitions_expire(p.table, "u", 1, NULL, NULL, &why), TARN_E_INVALID);
  assert_string_equal(why.message, "Unknown partitionExpireStrategy: x");
  parts_end(&p);
}

/* ------------------------------------------------------------------ done */

static void mark_done__keeps_the_first_time(void **state) {
  static const char *const values[] = {"2024-10-01", "7"};
  parts p;
  (void)state;
  parts_begin(&p, "bucket=-1");
  p.now = 1000;
  OK(tn_partition_mark_done(p.table, values, err));
  p.now = 2000;
  OK(tn_partition_mark_done(p.table, values, err));
  assert_string_equal(tm_content(&p.tm, "/t/dt=2024-10-01/hh=7/_SUCCESS"),
                      "{\n  \"creationTime\" : 1000,\n  \"modificationTime\" : 2000\n}");
  parts_end(&p);
}

static void mark_done__replaces_what_is_none(void **state) {
  static const char *const values[] = {NULL, "7"};
  parts p;
  (void)state;
  parts_begin(&p, "bucket=-1");
  p.now = 1000;
  tm_put(&p.tm, "dt=__DEFAULT_PARTITION__/hh=7/_SUCCESS", "");
  OK(tn_partition_mark_done(p.table, values, err));
  assert_contains(tm_content(&p.tm, "/t/dt=__DEFAULT_PARTITION__/hh=7/_SUCCESS"), "1000");
  parts_end(&p);
}

static void mark_done__refuses_actions_that_we_lack(void **state) {
  static const char *const values[] = {"2024-10-01", "7"};
  static const char *const bad[] = {"2024-10-01", "x"};
  parts p;
  tarn_error why = {0};
  (void)state;
  parts_begin(&p, "bucket=-1;partition.mark-done-action=success-file,mark-event");
  assert_int_equal(tn_partition_mark_done(p.table, values, &why), TARN_E_UNSUPPORTED);
  assert_string_equal(why.message, "partition.mark-done-action 'mark-event'");
  parts_end(&p);
  parts_begin(&p, "bucket=-1");
  assert_int_equal(tn_partition_mark_done(p.table, bad, &why), TARN_E_INVALID);
  parts_end(&p);
}

/* ------------------------------------------------------------------ what a commit sets off */

static tarn_status after(parts *p, tn_maintenance *m) {
  const tn_after_commit_request request = {.user = "u", .identifier = 5};
  return tn_after_commit(p->table, m, &request, NULL);
}

static void after_commit__does_all_that_options_ask_for(void **state) {
  tn_maintenance m = {0};
  parts p;
  (void)state;
  parts_begin(&p,
              "bucket=-1;partition.expiration-time=7 d;partition.expiration-check-interval=0 s;"
              "snapshot.num-retained.min=1;snapshot.num-retained.max=2;"
              "tag.automatic-creation=process-time;tag.num-retained-max=1");
  add(&p, "2024-01-01|1", 0);
  add(&p, "2024-10-01|1", 0);
  OK(tn_tag_create(p.table, "over", 1, 0, err));
  p.now += 2 * DAY_MS;
  add(&p, "2024-10-02|1", 0);
  assert_int_equal(after(&p, &m), TARN_OK);
  assert_string_equal(left(&p), "2024-10-01 2024-10-02");
  /* Snapshot 4 dropped a partition; 3 and 4 are left; the tag of 1 is over, that of 3 the newest.
   */
  assert_string_equal(cm_list(&p.tm, "snapshot"), "EARLIEST LATEST snapshot-3 snapshot-4 ");
  assert_string_equal(cm_list(&p.tm, "tag"), "tag-2024-10-05 ");
  parts_end(&p);
}

static void after_commit__does_nothing_when_write_only(void **state) {
  tn_maintenance m = {0};
  parts p;
  (void)state;
  parts_begin(&p,
              "bucket=-1;write-only=true;snapshot.num-retained.min=1;"
              "snapshot.num-retained.max=1;tag.automatic-creation=process-time");
  add(&p, "2024-01-01|1", 0);
  add(&p, "2024-10-01|1", 0);
  assert_int_equal(after(&p, &m), TARN_OK);
  assert_string_equal(cm_list(&p.tm, "snapshot"), "LATEST snapshot-1 snapshot-2 ");
  assert_string_equal(cm_list(&p.tm, "tag"), "");
  parts_end(&p);
}

static void after_commit__checks_partitions_by_an_interval(void **state) {
  tn_maintenance m = {0};
  parts p;
  (void)state;
  parts_begin(&p,
              "bucket=-1;partition.expiration-time=7 d;partition.expiration-check-interval=1 h");
  add(&p, "2024-01-01|1", 0);
  assert_int_equal(after(&p, &m), TARN_OK);
  assert_string_equal(left(&p), "2024-01-01");
  p.now += 3600001;
  assert_int_equal(after(&p, &m), TARN_OK);
  assert_string_equal(left(&p), "");
  add(&p, "2024-01-01|2", 0);
  assert_int_equal(after(&p, &m), TARN_OK);
  assert_string_equal(left(&p), "2024-01-01");
  parts_end(&p);
}

static void after_commit__goes_on_when_one_step_fails(void **state) {
  tn_maintenance m = {0};
  parts p;
  (void)state;
  parts_begin(&p,
              "bucket=-1;tag.automatic-creation=process-time;tag.creation-delay=9 d;"
              "snapshot.num-retained.min=1;snapshot.num-retained.max=1");
  add(&p, "2024-01-01|1", 0);
  add(&p, "2024-01-01|1", 0);
  p.now++;
  assert_int_equal(after(&p, &m), TARN_E_INVALID);
  assert_string_equal(cm_list(&p.tm, "snapshot"), "EARLIEST LATEST snapshot-2 ");
  parts_end(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(time__is_taken_from_text_as_java_does),
      cmocka_unit_test(time__pattern_that_is_not_understood_is_refused),
      cmocka_unit_test(expire__drops_what_is_too_old),
      cmocka_unit_test(expire__goes_in_batches),
      cmocka_unit_test(expire__does_nothing_when_nothing_is_old),
      cmocka_unit_test(expire__refuses_a_strategy_that_is_none),
      cmocka_unit_test(mark_done__keeps_the_first_time),
      cmocka_unit_test(mark_done__replaces_what_is_none),
      cmocka_unit_test(mark_done__refuses_actions_that_we_lack),
      cmocka_unit_test(after_commit__does_all_that_options_ask_for),
      cmocka_unit_test(after_commit__does_nothing_when_write_only),
      cmocka_unit_test(after_commit__checks_partitions_by_an_interval),
      cmocka_unit_test(after_commit__goes_on_when_one_step_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
