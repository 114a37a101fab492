/* test_write_schema.c - somebody changes the schema, and writes rows with it, while a writer that
 * compacts goes on with the one that it was opened with. */
#include <stdlib.h>

#include "support/torture.h"
#include "write/write_parts.h"
#include "write_maker.h"

#define BEFORE "0 k INT NOT NULL|1 v INT"
#define AFTER "0 k INT NOT NULL|2 x STRING|1 v BIGINT"

static tn_write *open_as(write_maker *m, const char *user, bool compacts) {
  m->write = NULL;
  m->options.user = user;
  m->options.compacts = compacts;
  m->options.waits = true;
  OK(wm_try_open(m, err));
  return m->write;
}

static void begin(write_maker *m, tarn_env *env, int32_t threads, const char *keys,
                  const char *options) {
  memset(m, 0, sizeof(*m));
  if (env != NULL) {
    tm_begin_in(&m->tm, env);
  } else {
    tm_begin(&m->tm, threads);
  }
  m->options.first_row_id = -1;
  wm_table(m, BEFORE, "", keys, options);
}

static void end(write_maker *m, tn_write *write) {
  tn_write_free(write);
  m->write = NULL;
  wm_end(m);
}

/* false: the compacting part was dropped. */
static tarn_status try_commit(write_maker *m, tn_write *write, const char *user, const char *rows,
                              bool *has_dropped, tarn_error *err) {
  tn_commit_options options = {.user = user, .drops_compaction = true};
  tn_committable c = {.identifier = m->identifier++};
  tn_commit_result result;
  m->write = write;
  TN_TRY(wm_try_write(m, rows, err));
  TN_TRY(tn_write_prepare(write, c.identifier, &m->tm.arena, &c.messages, &c.n_messages, err));
  TN_TRY(tn_commit_append(m->table, &options, &c, &result, err));
  *has_dropped = result.has_dropped;
  return TARN_OK;
}

static bool commit(write_maker *m, tn_write *write, const char *user, const char *rows) {
  bool has_dropped;
  OK(try_commit(m, write, user, rows, &has_dropped, err));
  return !has_dropped;
}

static void compact_fully(write_maker *m, tn_write *write, const char *user, const char *rows) {
  uint32_t only;
  tn_commit_options options = {.user = user, .drops_compaction = true};
  tn_committable c = {.identifier = m->identifier++};
  tn_commit_result result;
  m->write = write;
  wm_write(m, rows);
  OK(tn_partition_number(write, tn_binary_row_empty(), &only, err));
  OK(tn_write_compact(write, write->router.by_number[only], 0, true, err));
  OK(tn_write_prepare(write, c.identifier, &m->tm.arena, &c.messages, &c.n_messages, err));
  OK(tn_commit_append(m->table, &options, &c, &result, err));
  assert_false(result.has_dropped);
}

/* The schemas of the bucket's files, "1 1 0": the newest last. */
static const char *file_schemas(write_maker *m) {
  tn_scan scan = {.table = m->table, .limit = -1, .keeps_stats = true};
  char *out = tn_arena_calloc(&m->tm.arena, 1, 256);
  tn_plan *plan;
  OK(tn_plan_create(&scan, &plan, err));
  for (int32_t i = 0; i < plan->n_splits; i++) {
    for (int32_t k = 0; k < plan->splits[i].n_files; k++) {
      size_t len = strlen(out);
      snprintf(out + len, 256 - len, "%s%lld", len > 0 ? " " : "",
               (long long)plan->splits[i].files[k].schema_id);
    }
  }
  tn_plan_release(plan);
  return out;
}

/* ------------------------------------------------------------------ nothing is lost */

static const struct compacted_case {
  const char *keys, *options;
  const char *options_after; /* behind the others */
  const char *rows;
} compacted_cases[] = {
    {"k", "bucket=1", "", "1|null|12;2|null|2;9|keep|40000000000"},
    {"k", "bucket=-1", "", "1|null|12;2|null|2;9|keep|40000000000"},
    {"k", "bucket=1;changelog-producer=lookup", "", "1|null|12;2|null|2;9|keep|40000000000"},
    {"k", "bucket=1;changelog-producer=full-compaction", "",
     "1|null|12;2|null|2;9|keep|40000000000"},
    {"k", "bucket=1;deletion-vectors.enabled=true", "", "1|null|12;2|null|2;9|keep|40000000000"},
    {"k", "bucket=1;merge-engine=first-row", "", "1|one|40000000001;2|null|2;9|keep|40000000000"},
    {"k", "bucket=1;merge-engine=partial-update", "", "1|one|12;2|null|2;9|keep|40000000000"},
    /* What the function of the new column is only its schema says. */
    {"k", "bucket=1;merge-engine=aggregation;fields.v.aggregate-function=sum",
     ";fields.x.aggregate-function=first_non_null_value",
     "1|one|40000000034;2|null|2;9|keep|40000000000"},
    {"", "bucket=1;bucket-key=k;compaction.min.file-num=2", "",
     "1|null|10;1|null|11;1|null|12;1|one|40000000001;2|null|2;9|keep|40000000000"},
};

static void alter(write_maker *m, const struct compacted_case *c) {
  char options[300];
  snprintf(options, sizeof(options), "%s%s", c->options, c->options_after);
  wm_table(m, AFTER, "", c->keys, options);
}

/* The writer opens its bucket behind the change. */
static void newer_files__keep_what_the_writer_does_not_know(void **state) {
  (void)state;
  for (size_t i = 0; i < TN_COUNT(compacted_cases) * 2; i++) {
    const struct compacted_case *c = &compacted_cases[i / 2];
    write_maker m;
    tn_write *own, *other;
    begin(&m, NULL, i % 2 == 0 ? 1 : 3, c->keys, c->options);
    own = open_as(&m, "u", true);
    alter(&m, c);
    other = open_as(&m, "o", false);
    assert_true(commit(&m, other, "o", "9|keep|40000000000;1|one|40000000001"));
    tn_write_free(other);
    assert_true(commit(&m, own, "u", "1|10;2|2"));
    assert_true(commit(&m, own, "u", "1|11"));
    compact_fully(&m, own, "u", "1|12");
    if (strcmp(file_schemas(&m), "1") != 0 || strcmp(wm_rows(&m), c->rows) != 0) {
      fail_msg("%s: files of schemas %s: %s", c->options, file_schemas(&m), wm_rows(&m));
    }
    end(&m, own);
  }
}

/* The writer has its bucket already; its compaction loses against that of somebody else, and so it
 * meets the files of the newer schema. */
static void dropped_compaction__is_made_again_with_the_newer_schema(void **state) {
  (void)state;
  for (size_t i = 0; i < TN_COUNT(compacted_cases); i++) {
    const struct compacted_case *c = &compacted_cases[i];
    write_maker m;
    tn_write *own, *other;
    int n_dropped = 0;
    if (strstr(c->options, "bucket=-1") != NULL || c->keys[0] == '\0') {
      continue; /* one writer at a time; and files without keys never are compacted twice */
    }
    begin(&m, NULL, 1, c->keys, c->options);
    own = open_as(&m, "u", true);
    assert_true(commit(&m, own, "u", "2|2"));
    alter(&m, c);
    other = open_as(&m, "o", true);
    compact_fully(&m, other, "o", "9|keep|40000000000;1|one|40000000001");
    tn_write_free(other);
    for (int n = 0; n < 12; n++) {
      if (!commit(&m, own, "u", n == 0 ? "1|10" : n == 1 ? "1|11" : n == 2 ? "1|12" : "3|3")) {
        n_dropped++;
        OK(tn_write_refresh(own, err));
      }
    }
    assert_true(n_dropped > 0);
    compact_fully(&m, own, "u", "2|2");
    if (strcmp(file_schemas(&m), "1") != 0 || strstr(wm_rows(&m), "9|keep|40000000000") == NULL) {
      fail_msg("%s: files of schemas %s: %s", c->options, file_schemas(&m), wm_rows(&m));
    }
    end(&m, own);
  }
}

/* Schemas that come one after the other. */
static void newer_schemas__are_met_again_and_again(void **state) {
  write_maker m;
  tn_write *own, *other;
  (void)state;
  begin(&m, NULL, 1, "k", "bucket=1;num-sorted-run.compaction-trigger=2");
  own = open_as(&m, "u", true);
  wm_table(&m, "0 k INT NOT NULL|1 v INT|2 x STRING", "", "k", "bucket=1");
  other = open_as(&m, "o", false);
  assert_true(commit(&m, other, "o", "8|8|x"));
  tn_write_free(other);
  compact_fully(&m, own, "u", "1|1");
  OK(tn_write_refresh(own, err)); /* it forgets its buckets */
  wm_table(&m, "0 k INT NOT NULL|1 v INT|2 x STRING|3 y BIGINT", "", "k", "bucket=1");
  other = open_as(&m, "o", false);
  assert_true(commit(&m, other, "o", "9|9|x|9000000000"));
  tn_write_free(other);
  compact_fully(&m, own, "u", "2|2");
  assert_string_equal(file_schemas(&m), "2");
  assert_string_equal(wm_rows(&m), "1|1|null|null;2|2|null|null;8|8|x|null;9|9|x|9000000000");
  end(&m, own);
}

/* What the caller has set beside the schema stays, and what the schema said no longer is. */
static void options__of_the_newer_schema_and_of_the_caller(void **state) {
  write_maker m;
  tn_write *own, *other;
  (void)state;
  begin(&m, NULL, 1, "k", "bucket=1;file.format=avro");
  tn_table_release(m.table);
  m.table = tm_table(&m.tm, "file.compression=none");
  own = open_as(&m, "u", true);
  wm_table(&m, AFTER, "", "k", "bucket=1;file.format=parquet");
  other = open_as(&m, "o", false);
  assert_true(commit(&m, other, "o", "9|keep|40000000000"));
  tn_write_free(other);
  compact_fully(&m, own, "u", "1|1");
  {
    tn_scan scan = {.table = m.table, .limit = -1, .keeps_stats = true};
    tn_plan *plan;
    OK(tn_plan_create(&scan, &plan, err));
    assert_int_equal(plan->splits[0].n_files, 1);
    assert_non_null(strstr((const char *)plan->splits[0].files[0].file_name.data, ".parquet"));
    tn_plan_release(plan);
  }
  assert_string_equal(wm_rows(&m), "1|null|1;9|keep|40000000000");
  end(&m, own);
}

/* ------------------------------------------------------------------ where it cannot go on */

static void another_kind_of_table__ends_the_writer(void **state) {
  static const struct {
    const char *before, *after, *message;
  } cases[] = {
      {"bucket=1", "bucket=1;merge-engine=partial-update", "with another merge engine"},
      {"bucket=1", "bucket=1;changelog-producer=lookup", "with another changelog producer"},
      {"bucket=1", "bucket=1;sequence.field=v", "with another sequence field"},
      {"bucket=1", "bucket=1;deletion-vectors.enabled=true", "with another "},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    write_maker m;
    tn_write *own, *other;
    tarn_error error = {0};
    tarn_status st = TARN_OK;
    bool has_dropped;
    int n_files;
    begin(&m, NULL, 1, "k", cases[i].before);
    own = open_as(&m, "u", true);
    wm_table(&m, AFTER, "", "k", cases[i].after);
    other = open_as(&m, "o", true);
    compact_fully(&m, other, "o", "9|keep|40000000000");
    tn_write_free(other);
    n_files = wm_count_files(&m);
    st = try_commit(&m, own, "u", "1|1", &has_dropped, &error);
    assert_int_equal(st, TARN_E_STATE);
    if (strstr(error.message, cases[i].message) == NULL ||
        strstr(error.message, "changed from 0 to 1") == NULL ||
        strstr(error.message, "open the writer again") == NULL) {
      fail_msg("%s: %s", cases[i].after, error.message);
    }
    tn_write_free(own);
    m.write = NULL;
    assert_int_equal(wm_count_files(&m), n_files);
    own = open_as(&m, "u", true); /* opened again it goes on */
    compact_fully(&m, own, "u", "1|x|1");
    assert_string_equal(wm_rows(&m), "1|x|1;9|keep|40000000000");
    end(&m, own);
  }
}

/* ------------------------------------------------------------------ failures */

static tarn_status meet_once(void *ctx, tarn_env *env, tarn_error *why) {
  tn_test_alloc *alloc = env->mem.hooks.ctx;
  int64_t fail_at = alloc->fail_at, calls = alloc->calls;
  write_maker m;
  tn_write *own, *other;
  const tn_field *fields;
  tn_batch batch;
  int8_t *kinds;
  int32_t n;
  tarn_status st;
  bool has_dropped;
  (void)ctx;
  alloc->fail_at = 0;
  begin(&m, env, 1, "k", "bucket=1;num-sorted-run.compaction-trigger=2");
  own = open_as(&m, "u", true);
  wm_table(&m, AFTER, "", "k", "bucket=1");
  other = open_as(&m, "o", false);
  assert_true(commit(&m, other, "o", "9|keep|40000000000"));
  tn_write_free(other);
  fields = tn_write_fields(own, &n);
  wm_batch(env, fields, n, "1|1", &batch, &kinds);
  alloc->calls = calls;
  alloc->fail_at = fail_at;
  st = tn_write_batch(own, &batch, kinds, why);
  fail_at = alloc->fail_at;
  calls = alloc->calls;
  alloc->fail_at = 0;
  tn_batch_reset(env, &batch);
  if (st == TARN_OK) {
    OK(try_commit(&m, own, "u", "2|2", &has_dropped, err));
    assert_string_equal(wm_rows(&m), "1|null|1;2|null|2;9|keep|40000000000");
  }
  tn_write_free(own);
  m.write = NULL;
  m.tm.env = NULL; /* tn_torture() frees it */
  wm_end(&m);
  alloc->fail_at = fail_at;
  alloc->calls = calls;
  return st;
}

static void torture__meeting_a_newer_schema_leaks_nothing(void **state) {
  (void)state;
  assert_true(tn_torture(meet_once, NULL, TARN_OK) > 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(newer_files__keep_what_the_writer_does_not_know),
      cmocka_unit_test(dropped_compaction__is_made_again_with_the_newer_schema),
      cmocka_unit_test(newer_schemas__are_met_again_and_again),
      cmocka_unit_test(options__of_the_newer_schema_and_of_the_caller),
      cmocka_unit_test(another_kind_of_table__ends_the_writer),
      cmocka_unit_test(torture__meeting_a_newer_schema_leaks_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
