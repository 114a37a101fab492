/* test_races.c - several committers at once: ids without a gap, nothing lost, nothing twice. */
#include <pthread.h>
#include <unistd.h>

#include "commit_maker.h"
#include "support/files.h"
#include "support/test.h"

#define N_THREADS 4
#define N_COMMITS 12

typedef struct racer {
  table_maker *tm; /* read only in threads */
  tn_table *table;
  int number;
  const char *user;
  bool overwrites, retries;
  int n_conflicts, n_done;
} racer;

static tn_committable make_committable(tn_commit_message *m, tn_data_file *file, int64_t identifier,
                                       const char *name) {
  tn_manifest_entry e = tm_entry(name, 1);
  *file = e.file;
  *m = (tn_commit_message){.partition = e.partition,
                           .has_total_buckets = true,
                           .total_buckets = -1,
                           .new_files = {file, 1}};
  return (tn_committable){.identifier = identifier, .messages = m, .n_messages = 1};
}

static void *race(void *arg) {
  racer *r = arg;
  for (int i = 0; i < N_COMMITS; i++) {
    char name[32];
    tn_commit_message m;
    tn_data_file file;
    tn_commit_options options = cm_user(r->user);
    tn_commit_result result;
    tarn_error why = {0};
    tn_committable c;
    tarn_status st;
    snprintf(name, sizeof(name), "t%d-%d", r->number, i);
    c = make_committable(&m, &file, INT64_MAX, name);
    do {
      st = r->overwrites ? tn_commit_overwrite(r->table, &options, &c, NULL, false, &result, &why)
                         : tn_commit_append(r->table, &options, &c, &result, &why);
      r->n_conflicts += st == TARN_E_CONFLICT;
    } while (st == TARN_E_CONFLICT && r->retries);
    if (st != TARN_OK) {
      fprintf(stderr, "%s\n", why.message);
    }
    require_in_thread(st == TARN_OK);
    r->n_done++;
  }
  return NULL;
}

static void run(racer *racers, int n) {
  pthread_t threads[N_THREADS];
  for (int i = 0; i < n; i++) {
    require_in_thread(pthread_create(&threads[i], NULL, race, &racers[i]) == 0);
  }
  for (int i = 0; i < n; i++) {
    pthread_join(threads[i], NULL);
  }
}

static int count_files(table_maker *tm, tn_table *table) {
  const char *plan = tm_plan(tm, table, NULL, -1);
  int n = 0;
  for (const char *at = plan; (at = strstr(at, "t")) != NULL && at[1] != '\0'; at++) {
    n += at[1] >= '0' && at[1] <= '9';
  }
  return n;
}

static void check_ids(table_maker *tm, int64_t n) {
  int64_t *ids;
  int32_t n_ids;
  OK(tn_snapshot_ids(tm->env, tm->storage, tm->branch_path, "snapshot", &tm->arena, &ids, &n_ids,
                     err));
  assert_int_equal(n_ids, n);
  for (int32_t i = 0; i < n_ids; i++) {
    assert_int_equal(ids[i], i + 1);
  }
  assert_int_equal(cm_snapshot(tm, n).total_record_count, n);
}

typedef struct race_case {
  const char *options;
  bool retries;
} race_case;

/* Many retries inside of a commit, or few and the caller tries again; manifests merged meanwhile.
 */
static const race_case race_cases[] = {
    {"bucket=-1;commit.max-retries=1000;commit.min-retry-wait=1 ms;commit.max-retry-wait=4 ms",
     false},
    {"bucket=-1;commit.max-retries=1;commit.min-retry-wait=1 ms", true},
    {"bucket=-1;commit.max-retries=1000;commit.min-retry-wait=1 ms;commit.max-retry-wait=4 "
     "ms;manifest.merge-min-count=2",
     false},
};

static void check_appends(table_maker *tm, const char *user, bool retries) {
  racer racers[N_THREADS];
  tn_table *table = tm_table(tm, "");
  for (int i = 0; i < N_THREADS; i++) {
    static const char *const users[] = {"u0", "u1", "u2", "u3"};
    racers[i] =
        (racer){.tm = tm, .table = table, .number = i, .user = user != NULL ? user : users[i]};
    racers[i].retries = retries;
  }
  run(racers, N_THREADS);
  check_ids(tm, N_THREADS * N_COMMITS);
  assert_int_equal(count_files(tm, table), N_THREADS * N_COMMITS);
  tn_table_release(table);
}

static void appends__at_once_are_all_there(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(race_cases) / sizeof(*race_cases); i++) {
    table_maker tm;
    tm_begin(&tm, 1);
    tm_schema(&tm, 0, "0 a INT", "", "", race_cases[i].options);
    check_appends(&tm, NULL, race_cases[i].retries);
    tm_end(&tm);
  }
}

/* Batch commits of one user have one identifier: none is taken for another one. */
static void appends__of_one_user_at_once_are_all_there(void **state) {
  table_maker tm;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 a INT", "", "", race_cases[0].options);
  check_appends(&tm, "same", false);
  tm_end(&tm);
}

static void appends__at_once_on_a_disk_are_all_there(void **state) {
  table_maker tm;
  char *folder = tn_test_temp_dir(), *schema_path;
  tn_buf json;
  tn_storage *local = NULL;
  tn_table *table = NULL;
  racer racers[N_THREADS];
  int64_t *ids;
  int32_t n_ids;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 a INT", "", "", race_cases[0].options);
  tn_buf_init(&json, &tm.env->mem, 1 << 20);
  OK(tn_storage_read_all(tm.storage, "/t/schema/schema-0", &json, err));
  OK(tn_storage_local(tm.env, &local, err));
  schema_path = tn_test_path(folder, "schema/schema-0");
  OK(tn_storage_replace(local, schema_path, tn_buf_slice(&json), true, err));
  OK(tn_table_create(tm.env, local, "db.t", folder, "main", folder, tm.schema, NULL, 0, &table,
                     err));
  for (int i = 0; i < N_THREADS; i++) {
    racers[i] = (racer){.tm = &tm, .table = table, .number = i, .user = "u"};
  }
  run(racers, N_THREADS);
  OK(tn_snapshot_ids(tm.env, local, folder, "snapshot", &tm.arena, &ids, &n_ids, err));
  assert_int_equal(n_ids, N_THREADS * N_COMMITS);
  assert_int_equal(ids[n_ids - 1], n_ids);
  assert_int_equal(count_files(&tm, table), n_ids);
  tn_table_release(table);
  tn_storage_release(local);
  tn_buf_reset(&json);
  free(schema_path);
  tn_test_temp_dir_remove(folder);
  tm_end(&tm);
}

/* Whatever the order: the last overwrite leaves its file, and what was appended behind it. */
static void overwrite__against_appends_leaves_a_state_that_was(void **state) {
  table_maker tm;
  tn_table *table;
  racer racers[2];
  int64_t last = 2 * N_COMMITS;
  int64_t expected = 0;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 a INT", "", "", race_cases[0].options);
  table = tm_table(&tm, "");
  racers[0] = (racer){.tm = &tm, .table = table, .number = 0, .user = "a", .retries = true};
  racers[1] = (racer){.tm = &tm, .table = table, .number = 1, .user = "o", .retries = true};
  racers[1].overwrites = true;
  run(racers, 2);
  for (int64_t id = 1; id <= last; id++) {
    tn_snapshot s = cm_snapshot(&tm, id);
    expected = s.commit_kind == TN_COMMIT_OVERWRITE ? 1 : expected + 1;
    assert_int_equal(s.total_record_count, expected);
  }
  assert_int_equal(count_files(&tm, table), expected);
  tn_table_release(table);
  tm_end(&tm);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(appends__at_once_are_all_there),
      cmocka_unit_test(appends__of_one_user_at_once_are_all_there),
      cmocka_unit_test(appends__at_once_on_a_disk_are_all_there),
      cmocka_unit_test(overwrite__against_appends_leaves_a_state_that_was),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
