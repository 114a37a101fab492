/* test_faults.c - every call of the storage fails in turn, every allocation fails in turn, the
 * power goes at every step: the table holds the old state or the new one, a commit that is tried
 * again with its identifier is there once.
 */
#include <errno.h>

#include "commit_maker.h"
#include "support/test.h"
#include "support/torture.h"

/* What is committed to a table with two snapshots, and what it makes of the state. */
typedef struct scenario {
  const char *name;
  const char *options;
  tarn_status (*commit)(table_maker *tm, tn_table *table, tn_commit_result *result,
                        tarn_error *err);
  const char *states[3]; /* plans: before, after the first snapshot, after the last */
  int n_snapshots;       /* that it makes */
} scenario;

#define FIRST_ID 3 /* of the commit */
#define IDENTIFIER 30

static tarn_status run_append(tn_table *table, const tn_committable *c, tn_commit_result *result,
                              tarn_error *err) {
  tn_commit_options options = cm_user("u");
  return tn_commit_append(table, &options, c, result, err);
}

static tarn_status commit_append(table_maker *tm, tn_table *table, tn_commit_result *result,
                                 tarn_error *err) {
  tn_committable c = cm_begin(IDENTIFIER);
  cm_file(tm, &c, CM_NEW, tm_entry("c", 3));
  cm_file(tm, &c, CM_CHANGELOG, tm_entry("log", 3));
  cm_index(tm, &c, CM_NEW, cm_index_entry(tm, "HASH", "hash", NULL));
  return run_append(table, &c, result, err);
}

static tarn_status commit_both(table_maker *tm, tn_table *table, tn_commit_result *result,
                               tarn_error *err) {
  tn_committable c = cm_begin(IDENTIFIER);
  cm_file(tm, &c, CM_NEW, tm_entry("c", 3));
  cm_file(tm, &c, CM_BEFORE, tm_entry("a", 1));
  cm_file(tm, &c, CM_BEFORE, tm_entry("c", 3));
  cm_file(tm, &c, CM_AFTER, tm_entry("d", 4));
  return run_append(table, &c, result, err);
}

static tarn_status commit_overwrite(table_maker *tm, tn_table *table, tn_commit_result *result,
                                    tarn_error *err) {
  tn_commit_options options = cm_user("u");
  tn_committable c = cm_begin(IDENTIFIER);
  cm_file(tm, &c, CM_NEW, tm_entry("c", 3));
  return tn_commit_overwrite(table, &options, &c, NULL, false, result, err);
}

static const scenario scenarios[] = {
    {"append", "bucket=-1", commit_append, {"0[a b]raw(3)", NULL, "0[a b c]raw(6)"}, 1},
    {"append, manifests merged",
     "bucket=-1;manifest.merge-min-count=2",
     commit_append,
     {"0[a b]raw(3)", NULL, "0[a b c]raw(6)"},
     1},
    {"append and compaction",
     "bucket=-1",
     commit_both,
     {"0[a b]raw(3)", "0[a b c]raw(6)", "0[b d]raw(6)"},
     2},
    {"overwrite", "bucket=-1", commit_overwrite, {"0[a b]raw(3)", NULL, "0[c]raw(3)"}, 1},
};

static void put_data_file(table_maker *tm) {
  tn_sink *sink = NULL;
  OK(tn_storage_create(tm->storage, "/t/bucket-0/c", &sink, err));
  OK(tn_sink_write(sink, "rows", 4, err));
  OK(tn_sink_finish(sink, true, err));
}

static void begin(table_maker *tm, const scenario *s) {
  tn_table *table;
  tm_begin(tm, 1);
  tm_schema(tm, 0, "0 a INT", "", "", s->options);
  table = tm_table(tm, "manifest.merge-min-count=30");
  assert_int_equal(cm_append_one(tm, table, "u", 10, "a", 1), 1);
  assert_int_equal(cm_append_one(tm, table, "u", 20, "b", 2), 2);
  tn_table_release(table);
  put_data_file(tm);
}

static tn_table *table_on(table_maker *tm, tn_storage *storage) {
  tn_table *table = NULL;
  OK(tn_table_create(tm->env, storage, "db.t", "/t", "main", tm->branch_path, tm->schema, NULL, 0,
                     &table, err));
  return table;
}

/* The state that the table is in; which of the three. */
static int state_of(table_maker *tm, const scenario *s) {
  tn_table *table = tm_table(tm, "");
  const char *text = tm_plan(tm, table, NULL, -1);
  int found = -1;
  for (int i = 0; i < 3; i++) {
    if (s->states[i] != NULL && strcmp(text, s->states[i]) == 0) {
      found = i;
    }
  }
  if (found < 0) {
    fail_msg("%s: %s", s->name, text);
  }
  tn_table_release(table);
  return found;
}

/* As a job that starts again: what is not there yet is committed. */
static void commit_again(table_maker *tm, const scenario *s) {
  tn_table *table = tm_table(tm, "");
  tn_commit_result result;
  int64_t identifier;
  bool has_one;
  int state;
  OK(tn_commit_last_identifier(table, "u", &has_one, &identifier, err));
  assert_true(has_one);
  if (identifier < IDENTIFIER) {
    OK(s->commit(tm, table, &result, err));
    assert_int_equal(result.last_id - result.first_id, s->n_snapshots - 1);
  }
  state = state_of(tm, s);
  /* A job that dies between its two snapshots leaves the compaction undone, as in Java. */
  assert_true(state == 2 || (state == 1 && identifier == IDENTIFIER));
  tn_table_release(table);
}

/* Nothing lies in manifest/ that no snapshot needs: as many files as after the same commits without
 * faults. */
static int files_without_faults(const scenario *s, int n_snapshots) {
  table_maker tm;
  tn_commit_result result;
  tn_table *table;
  int n;
  begin(&tm, s);
  table = tm_table(&tm, "");
  if (n_snapshots > 0) {
    OK(s->commit(&tm, table, &result, err));
  }
  n = cm_count(&tm, "manifest");
  tn_table_release(table);
  tm_end(&tm);
  return n;
}

typedef struct fault_kind {
  bool reads, is_done_anyway, is_fatal, tears;
} fault_kind;

/* One run with the n-th call failing; false: there is no such call. */
static bool run_with_fault(const scenario *s, const fault_kind *kind, int64_t n) {
  tn_storage_fault fault = {.os_errno = EIO,
                            .fail_at_call = kind->reads ? n : 0,
                            .fail_at_write = kind->reads ? 0 : n,
                            .is_done_anyway = kind->is_done_anyway,
                            .tears_write = kind->tears,
                            .is_fatal = kind->is_fatal};
  tn_storage *faulty = NULL;
  tn_commit_result result;
  tarn_error why = {0};
  table_maker tm;
  tn_table *table;
  tarn_status st;
  bool has_failed;
  int state, n_files;
  begin(&tm, s);
  n_files = cm_count(&tm, "manifest");
  OK(tn_storage_faulty(tm.storage, &fault, &faulty, err));
  table = table_on(&tm, faulty);
  st = s->commit(&tm, table, &result, &why);
  has_failed = (kind->reads ? fault.calls : fault.writes) >= n;
  tn_table_release(table);
  tn_storage_release(faulty);
  if (kind->is_fatal) {
    tn_storage_memory_crash(tm.storage);
  }
  state = state_of(&tm, s);
  if (st == TARN_OK && state != 2) {
    fail_msg("%s: call %lld: told as done, but it is not there", s->name, (long long)n);
  }
  if (st != TARN_OK && why.message[0] == '\0') {
    fail_msg("%s: call %lld: no message", s->name, (long long)n);
  }
  if (st != TARN_OK && state == 0 && !kind->is_fatal && !kind->is_done_anyway) {
    if (cm_count(&tm, "manifest") != n_files) {
      fail_msg("%s: %s %lld: files stay behind: %s (%s)", s->name, kind->reads ? "call" : "step",
               (long long)n, cm_list(&tm, "manifest"), why.message);
    }
  }
  commit_again(&tm, s);
  tm_end(&tm);
  return has_failed;
}

static void run_all_faults(const fault_kind *kind) {
  for (size_t i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++) {
    int64_t n = 1;
    while (run_with_fault(&scenarios[i], kind, n)) {
      n++;
    }
    assert_true(n > 5);
  }
}

static void commit__survives_each_failing_step_of_writing(void **state) {
  const fault_kind kinds[] = {{.tears = false}, {.tears = true}, {.is_done_anyway = true}};
  (void)state;
  for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
    run_all_faults(&kinds[i]);
  }
}

static void commit__survives_each_failing_read(void **state) {
  const fault_kind kind = {.reads = true};
  (void)state;
  run_all_faults(&kind);
}

static void commit__survives_the_loss_of_power_at_each_step(void **state) {
  const fault_kind kinds[] = {{.is_fatal = true},
                              {.is_fatal = true, .is_done_anyway = true},
                              {.is_fatal = true, .tears = true}};
  (void)state;
  for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
    run_all_faults(&kinds[i]);
  }
}

/* The loss of power behind a commit that was told as done takes nothing away. */
static void commit__that_is_done_survives_the_loss_of_power(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++) {
    table_maker tm;
    tn_commit_result result;
    tn_table *table;
    begin(&tm, &scenarios[i]);
    table = tm_table(&tm, "");
    OK(scenarios[i].commit(&tm, table, &result, err));
    tn_storage_memory_crash(tm.storage);
    assert_int_equal(state_of(&tm, &scenarios[i]), 2);
    assert_true(tn_storage_exists(tm.storage, "/t/bucket-0/c"));
    assert_int_equal(cm_count(&tm, "manifest"),
                     files_without_faults(&scenarios[i], scenarios[i].n_snapshots));
    tn_table_release(table);
    tm_end(&tm);
  }
}

/* ------------------------------------------------------------------ memory */

/* A table and two appends, then what may fail. */
typedef struct torture {
  const char *schema; /* what follows the fields */
  tn_manifest_entry (*entry)(table_maker *tm, const char *name, int32_t number);
  tarn_status (*commit)(table_maker *tm, tn_table *table, tn_commit_result *result,
                        tarn_error *err);
} torture;

static tn_manifest_entry plain_entry(table_maker *tm, const char *name, int32_t number) {
  (void)tm;
  return tm_entry(name, number);
}

/* Of partition `number`, keys 10 * number and on. */
static tn_manifest_entry keyed_entry(table_maker *tm, const char *name, int32_t number) {
  tn_manifest_entry e = tm_entry_keyed(tm, name, 0, 10 * number, 10 * number + 5);
  e.partition = tm_entry_in(tm, number, name, 1).partition;
  return e;
}

static tarn_status overwrite_keyed(table_maker *tm, tn_table *table, tn_commit_result *result,
                                   tarn_error *err) {
  tn_commit_options options = cm_user("u");
  tn_committable c = cm_begin(IDENTIFIER);
  cm_file(tm, &c, CM_NEW, keyed_entry(tm, "c", 1));
  cm_file(tm, &c, CM_NEW, keyed_entry(tm, "d", 3));
  return tn_commit_overwrite(table, &options, &c, NULL, true, result, err);
}

static tarn_status overwrite_filtered(table_maker *tm, tn_table *table, tn_commit_result *result,
                                      tarn_error *err) {
  tn_commit_options options = cm_user("u");
  tn_committable c = cm_begin(IDENTIFIER);
  tn_datum one = {.v.i64 = 1};
  const tn_pred *filter = tn_pred_leaf(&tm->arena, TN_PRED_EQ, &table->schema->fields[0], &one, 1);
  cm_file(tm, &c, CM_NEW, keyed_entry(tm, "c", 1));
  return tn_commit_overwrite(table, &options, &c, filter, false, result, err);
}

static tarn_status compact_keyed(table_maker *tm, tn_table *table, tn_commit_result *result,
                                 tarn_error *err) {
  tn_committable c = cm_begin(IDENTIFIER);
  tn_manifest_entry after = keyed_entry(tm, "c", 1);
  after.file.level = 5;
  cm_file(tm, &c, CM_BEFORE, keyed_entry(tm, "a", 1));
  cm_file(tm, &c, CM_AFTER, after);
  cm_file(tm, &c, CM_COMPACT_CHANGELOG, keyed_entry(tm, "log", 1));
  return run_append(table, &c, result, err);
}

static tarn_status delete_rows(table_maker *tm, tn_table *table, tn_commit_result *result,
                               tarn_error *err) {
  tn_committable c = cm_begin(IDENTIFIER);
  cm_index(tm, &c, CM_NEW, cm_index_entry(tm, "DELETION_VECTORS", "dv", "a"));
  TN_TRY(run_append(table, &c, result, err));
  c = cm_begin(IDENTIFIER + 1);
  cm_index(tm, &c, CM_DELETED, cm_index_entry(tm, "DELETION_VECTORS", "dv", "a"));
  cm_index(tm, &c, CM_NEW, cm_index_entry(tm, "DELETION_VECTORS", "dv2", "a,b"));
  return run_append(table, &c, result, err);
}

static tarn_status update_columns(table_maker *tm, tn_table *table, tn_commit_result *result,
                                  tarn_error *err) {
  tn_commit_options options = cm_user("u");
  tn_committable c = cm_begin(IDENTIFIER);
  tn_manifest_entry e = tm_entry("c", 1);
  options.checks_row_ids = true;
  options.row_ids_since = 1;
  e.file.has_first_row_id = true;
  cm_file(tm, &c, CM_NEW, e);
  return tn_commit_append(table, &options, &c, result, err);
}

static tarn_status compact_manifests(table_maker *tm, tn_table *table, tn_commit_result *result,
                                     tarn_error *err) {
  tn_commit_options options = cm_user("u");
  (void)tm;
  return tn_commit_compact_manifests(table, &options, result, err);
}

static tarn_status analyze(table_maker *tm, tn_table *table, tn_commit_result *result,
                           tarn_error *err) {
  tn_commit_options options = cm_user("u");
  tn_committable c = cm_begin(IDENTIFIER);
  TN_TRY(tn_commit_analyze(table, &options,
                           tn_slice_text("{\"snapshotId\":2,\"schemaId\":0,\"colStats\":{}}"), 2,
                           result, err));
  cm_file(tm, &c, CM_NEW, tm_entry("c", 1));
  return run_append(table, &c, result, err);
}

#define PLAIN "\"partitionKeys\":[],\"primaryKeys\":[],\"options\":{\"bucket\":\"-1\""
#define KEYED \
  "\"partitionKeys\":[\"p\"],\"primaryKeys\":[\"p\",\"k\"],\"options\":{\"bucket\":\"1\""

static const torture tortures[] = {
    {PLAIN ",\"manifest.merge-min-count\":\"2\"}", plain_entry, commit_append},
    {PLAIN ",\"manifest.full-compaction-threshold-size\":\"1 b\"}", plain_entry, commit_both},
    {PLAIN "}", plain_entry, commit_overwrite},
    {PLAIN "}", plain_entry, compact_manifests},
    {PLAIN "}", plain_entry, analyze},
    {PLAIN ",\"deletion-vectors.enabled\":\"true\"}", plain_entry, delete_rows},
    {PLAIN ",\"row-tracking.enabled\":\"true\",\"data-evolution.enabled\":\"true\"}", plain_entry,
     update_columns},
    {PLAIN ",\"commit.discard-duplicate-files\":\"true\"}", plain_entry, commit_append},
    {KEYED "}", keyed_entry, overwrite_keyed},
    {KEYED ",\"manifest.full-compaction-threshold-size\":\"1 b\"}", keyed_entry,
     overwrite_filtered},
    {KEYED "}", keyed_entry, compact_keyed},
};

/* Messages are made without failing, by another environment. */
static tarn_status commit_once(void *ctx, tarn_env *env, tarn_error *err) {
  static const char *const names[] = {"a", "b"};
  const torture *t = ctx;
  tn_storage *storage = NULL;
  tn_table *table = NULL;
  tn_schema *schema = NULL;
  tn_commit_result result;
  tarn_status st;
  table_maker outside;
  char json[1000];
  tm_begin(&outside, 1);
  snprintf(json, sizeof(json),
           "{\"version\":3,\"id\":0,\"fields\":[{\"id\":0,\"name\":\"p\",\"type\":\"INT NOT "
           "NULL\"},{\"id\":1,\"name\":\"k\",\"type\":\"INT NOT NULL\"}],\"highestFieldId\":1,"
           "%s,\"timeMillis\":1}",
           t->schema);
  TN_TRY_TO(done, tn_storage_memory(env, &storage, err));
  TN_TRY_TO(done, tn_schema_decode(env, tn_slice_text(json), "schema", &schema, err));
  TN_TRY_TO(done, tn_storage_memory_put(storage, "/t/schema/schema-0", tn_slice_text(json), err));
  TN_TRY_TO(done, tn_table_create(env, storage, "db.t", "/t", "main", "/t", schema, NULL, 0, &table,
                                  err));
  for (int i = 0; i < 2; i++) {
    tn_committable c = cm_begin(i);
    cm_file(&outside, &c, CM_NEW, t->entry(&outside, names[i], i + 1));
    TN_TRY_TO(done, run_append(table, &c, &result, err));
  }
  TN_TRY_TO(done, t->commit(&outside, table, &result, err));
done:
  tn_table_release(table);
  tn_schema_release(schema);
  tn_storage_release(storage);
  tm_end(&outside);
  return st;
}

static void commit__survives_each_failing_allocation(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(tortures) / sizeof(*tortures); i++) {
    torture t = tortures[i];
    assert_true(tn_torture(commit_once, &t, TARN_OK) > 100);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(commit__survives_each_failing_step_of_writing),
      cmocka_unit_test(commit__survives_each_failing_read),
      cmocka_unit_test(commit__survives_the_loss_of_power_at_each_step),
      cmocka_unit_test(commit__that_is_done_survives_the_loss_of_power),
      cmocka_unit_test(commit__survives_each_failing_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
