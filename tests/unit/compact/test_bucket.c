/* test_bucket.c - a bucket from its picks to what is committed: files, levels, vectors, failures.
 */
#include "compact/bucket.h"
#include "rewrite_maker.h"

#include <errno.h>

#include "support/torture.h"

#define KV "k INT NOT NULL|v STRING"
#define VECTORS ";deletion-vectors.enabled=true"

typedef struct bucket_maker {
  rewrite_maker m;
  tn_bucket_compactor *bucket;
  tn_index_entry vectors[2];
  int n_vectors, n_given; /* files that the bucket has */
  tn_commit_message message;
} bucket_maker;

static void begin_in(bucket_maker *b, tarn_env *env, const char *columns, const char *keys,
                     const char *options) {
  char text[300];
  memset(b, 0, sizeof(*b));
  snprintf(text, sizeof(text), "bucket=1;%sfile.format=avro%s%s",
           keys[0] != '\0' ? "" : "bucket-key=k;", options[0] != '\0' ? ";" : "", options);
  rm_open_in(&b->m, env, columns, keys, text);
}

static void begin(bucket_maker *b, const char *columns, const char *keys, const char *options) {
  begin_in(b, NULL, columns, keys, options);
}

/* A vector of file number `file` in an index file, for the bucket that is created next. */
static void give_vector(bucket_maker *b, int file, const char *positions) {
  table_maker *tm = &b->m.tm;
  tn_index_entry *e = &b->vectors[b->n_vectors];
  char *path = tn_arena_printf(&tm->arena, "/t/index/index-%d", b->n_vectors++);
  tn_dv_place place = dm_deletions_file(tm, path, positions);
  tn_dv_range *range = tn_arena_calloc(&tm->arena, 1, sizeof(*range));
  assert_non_null(range);
  *range = (tn_dv_range){.data_file = b->m.metas[file].file_name,
                         .offset = (int32_t)place.offset,
                         .length = (int32_t)place.length};
  *e = (tn_index_entry){.index_type = tn_slice_text("DELETION_VECTORS"),
                        .file_name = tn_slice_text(strrchr(path, '/') + 1),
                        .has_dv_ranges = true};
  e->dv_ranges.items = range;
  e->dv_ranges.count = 1;
}

static tarn_status create(bucket_maker *b, tarn_error *err) {
  tn_bucket_state state = {.partition = b->m.request.partition,
                           .files = b->m.metas,
                           .n_files = b->m.n_files,
                           .vectors = b->vectors,
                           .n_vectors = b->n_vectors};
  tn_bucket_setup setup;
  TN_TRY(rm_rewriter(&b->m, err));
  setup = (tn_bucket_setup){b->m.table, b->m.rewriter, &b->m.options, &b->m.names};
  b->n_given = b->m.n_files;
  return tn_bucket_compactor_create(&setup, &state, &b->bucket, err);
}

static void end(bucket_maker *b) {
  tn_bucket_compactor_free(b->bucket);
  rm_close(&b->m);
}

/* A new file of level 0. */
static void add(bucket_maker *b, const char *rows) {
  char text[64];
  snprintf(text, sizeof(text), "0L0 %s", rows);
  OK(tn_bucket_compactor_add(b->bucket, rm_file(&b->m, text), err));
}

/* One task; *has_one: was there any? */
static tarn_status compact(bucket_maker *b, bool is_full, bool *has_one, tarn_error *err) {
  tn_compact_task *task;
  tarn_status st;
  *has_one = false;
  TN_TRY(tn_bucket_compactor_pick(b->bucket, is_full, &task, err));
  if (task == NULL) {
    return TARN_OK;
  }
  *has_one = true;
  st = tn_compact_task_run(task, err);
  if (st != TARN_OK) {
    assert_int_equal(tn_bucket_compactor_finish(b->bucket, task, NULL), TARN_OK);
    return st;
  }
  return tn_bucket_compactor_finish(b->bucket, task, err);
}

static bool compacts(bucket_maker *b, bool is_full) {
  bool has_one;
  OK(compact(b, is_full, &has_one, err));
  return has_one;
}

/* Old files by their names, new ones by their rows. */
static void tell_files(bucket_maker *b, const tn_data_files *files, const char *sign, tn_buf *out) {
  for (int32_t i = 0; i < files->n; i++) {
    const tn_data_file *f = &files->items[i];
    bool is_old = f->file_name.data[0] == 'f';
    OK(tn_buf_printf(out, err, "%s%s", out->len > 0 ? " " : "", sign));
    if (is_old) {
      OK(tn_buf_printf(out, err, "%.*s", (int)strcspn((const char *)f->file_name.data, "."),
                       (const char *)f->file_name.data));
    } else {
      OK(tn_buf_text(out, rm_rows(&b->m, f, 1), err));
    }
    OK(tn_buf_printf(out, err, "@%d", (int)f->level));
  }
}

static tarn_status take(bucket_maker *b, bool *has_any, tarn_error *err) {
  b->message = (tn_commit_message){0};
  return tn_bucket_compactor_take(b->bucket, &b->m.tm.arena, &b->message, has_any, err);
}

/* "-f0@0 +[rows]@5 ~[changelog]@5 !2": the last one is how many vectors an index file holds. */
static void assert_takes(bucket_maker *b, const char *expected) {
  tn_buf text;
  bool has_any;
  OK(take(b, &has_any, err));
  assert_int_equal(has_any, expected[0] != '\0');
  tn_buf_init(&text, &b->m.tm.env->mem, 1u << 20);
  tell_files(b, &b->message.compact_before, "-", &text);
  tell_files(b, &b->message.compact_after, "+", &text);
  tell_files(b, &b->message.compact_changelog, "~", &text);
  for (int32_t i = 0; i < b->message.compact_new_indexes.n; i++) {
    const tn_index_entry *e = &b->message.compact_new_indexes.items[i];
    assert_true(tn_slice_is(e->index_type, "DELETION_VECTORS"));
    OK(tn_buf_printf(&text, err, " !%lld", (long long)e->dv_ranges.count));
  }
  OK(tn_buf_append(&text, "", 1, err));
  assert_string_equal((const char *)text.data, expected);
  tn_buf_reset(&text);
}

static void lose(bucket_maker *b, int file) {
  OK(tn_storage_remove(b->m.tm.storage,
                       tn_arena_printf(&b->m.tm.arena, "/t/bucket-0/f%d.avro", file), err));
}

/* ------------------------------------------------------------------ files */

static void bucket__merges_files_of_level_0(void **state) {
  bucket_maker b;
  (void)state;
  begin(&b, KV, "k", "num-sorted-run.compaction-trigger=2");
  OK(create(&b, err));
  add(&b, "1|+|1|a;2|+|2|b");
  assert_false(compacts(&b, false));
  assert_takes(&b, "");
  add(&b, "3|+|1|c;4|-|2|b");
  assert_true(compacts(&b, false));
  assert_false(compacts(&b, false));
  assert_takes(&b, "-f0@0 -f1@0 +[3|+I|1|c]@2");
  assert_takes(&b, "");
  end(&b);
}

static void bucket__lifts_a_lone_file(void **state) {
  bucket_maker b;
  (void)state;
  begin(&b, KV, "k", "");
  rm_file(&b.m, "0L0 1|+|1|a");
  OK(create(&b, err));
  assert_true(compacts(&b, true));
  assert_false(compacts(&b, true));
  assert_takes(&b, "-f0@0 +f0@5");
  assert_int_equal(rm_n_files(&b.m), 1);
  end(&b);
}

/* What one task made and the next one replaced is nobody's. */
static void bucket__removes_files_between_two_tasks(void **state) {
  bucket_maker b;
  (void)state;
  begin(&b, KV, "k", "changelog-producer=lookup");
  OK(create(&b, err));
  add(&b, "1|+|1|a");
  add(&b, "2|+|1|b");
  assert_true(compacts(&b, true));
  assert_int_equal(rm_n_files(&b.m), 4);
  add(&b, "3|+|1|c");
  assert_true(compacts(&b, true));
  /* Three of level 0, the result, two files with changes. */
  assert_int_equal(rm_n_files(&b.m), 6);
  assert_takes(&b, "-f0@0 -f1@0 -f2@0 +[3|+I|1|c]@5 ~[2|+I|1|b]@5 ~[2|-U|1|b;3|+U|1|c]@5");
  end(&b);
}

/* A file that was only lifted by the first task is the snapshot's: the second one keeps it. */
static void bucket__keeps_a_lifted_file_that_is_rewritten(void **state) {
  bucket_maker b;
  (void)state;
  begin(&b, KV, "k", "");
  OK(create(&b, err));
  add(&b, "1|+|1|a");
  assert_true(compacts(&b, true));
  add(&b, "2|+|1|b");
  assert_true(compacts(&b, true));
  assert_int_equal(rm_n_files(&b.m), 3);
  assert_takes(&b, "-f0@0 -f1@0 +[2|+I|1|b]@5");
  end(&b);
}

/* A new file that a second task lifts further comes once, on its last level. */
static void bucket__lifts_a_file_twice(void **state) {
  bucket_maker b;
  (void)state;
  begin(&b, KV, "k", "num-sorted-run.compaction-trigger=2;num-levels=6");
  rm_file(&b.m, "0L5 1|+|1|a;1|+|2|a;1|+|3|a;1|+|4|a;1|+|5|a;1|+|6|a;1|+|7|a")->file_size = 100000;
  b.m.metas[0].min_sequence = b.m.metas[0].max_sequence = 0;
  OK(create(&b, err));
  add(&b, "8|+|91|c");
  add(&b, "9|+|91|b");
  assert_true(compacts(&b, false)); /* to level 4: what is deeper is too large */
  assert_true(compacts(&b, true));
  assert_takes(&b,
               "-f1@0 -f2@0 -f0@5 +[1|+I|1|a;1|+I|2|a;1|+I|3|a;1|+I|4|a;1|+I|5|a;1|+I|6|a;"
               "1|+I|7|a;9|+I|91|b]@5");
  assert_int_equal(rm_n_files(&b.m), 4);
  end(&b);
}

static void bucket__free_removes_what_nobody_took(void **state) {
  bucket_maker b;
  (void)state;
  begin(&b, KV, "k", "changelog-producer=lookup");
  OK(create(&b, err));
  add(&b, "1|+|1|a");
  add(&b, "2|+|1|b");
  assert_true(compacts(&b, true));
  assert_takes(&b, "-f0@0 -f1@0 +[2|+I|1|b]@5 ~[2|+I|1|b]@5");
  add(&b, "3|+|1|c");
  assert_true(compacts(&b, true));
  assert_int_equal(rm_n_files(&b.m), 7);
  tn_bucket_compactor_free(b.bucket);
  b.bucket = NULL;
  assert_int_equal(rm_n_files(&b.m), 5);
  end(&b);
}

/* A task that was never run, too. */
static void bucket__drops_a_task_that_did_not_run(void **state) {
  bucket_maker b;
  tn_compact_task *task, *other;
  tn_compact_facts facts;
  tarn_error error = {0};
  (void)state;
  begin(&b, KV, "k", "");
  OK(create(&b, err));
  add(&b, "1|+|1|a");
  OK(tn_bucket_compactor_pick(b.bucket, true, &task, err));
  assert_non_null(task);
  tn_compact_task_facts(task, &facts);
  assert_int_equal(facts.n_files, 1);
  assert_int_equal(facts.n_level_0, 1);
  assert_int_equal(facts.output_level, 5);
  assert_true(facts.drops_deletes);
  assert_int_equal(tn_bucket_compactor_pick(b.bucket, true, &other, &error), TARN_E_INTERNAL);
  OK(tn_bucket_compactor_finish(b.bucket, task, err));
  assert_takes(&b, "");
  assert_true(compacts(&b, true));
  assert_takes(&b, "-f0@0 +f0@5");
  end(&b);
}

/* B86: level 1 does not grow beside level 2. */
static void bucket__takes_level_1_and_2_along(void **state) {
  bucket_maker b;
  tn_compact_task *task;
  tn_compact_facts facts;
  static const int64_t sizes[] = {10, 20, 97, 100};
  (void)state;
  begin(&b, KV, "k", "num-sorted-run.compaction-trigger=3");
  rm_file(&b.m, "0L0 9|+|1|a");
  rm_file(&b.m, "0L0 8|+|1|a");
  rm_file(&b.m, "0L1 7|+|1|a");
  rm_file(&b.m, "0L2 6|+|1|a");
  for (int i = 0; i < 4; i++) {
    b.m.metas[i].file_size = sizes[i];
  }
  OK(create(&b, err));
  OK(tn_bucket_compactor_pick(b.bucket, false, &task, err));
  assert_non_null(task);
  tn_compact_task_facts(task, &facts);
  assert_int_equal(facts.n_files, 4);
  assert_int_equal(facts.output_level, 3);
  OK(tn_compact_task_run(task, err));
  OK(tn_bucket_compactor_finish(b.bucket, task, err));
  assert_takes(&b, "-f1@0 -f2@1 -f3@2 -f0@0 +[9|+I|1|a]@3");
  end(&b);
}

/* B76: a key that a deeper level has is no new one. */
static void bucket__keeps_the_first_row(void **state) {
  bucket_maker b;
  (void)state;
  begin(&b, KV, "k", "merge-engine=first-row;changelog-producer=lookup");
  rm_file(&b.m, "0L2 1|+|1|first")->file_size = 100000;
  OK(create(&b, err));
  add(&b, "2|+|1|second;3|+|2|x");
  assert_true(tn_bucket_compactor_is_behind(b.bucket));
  assert_true(compacts(&b, false));
  assert_false(tn_bucket_compactor_is_behind(b.bucket));
  assert_takes(&b, "-f1@0 +[3|+I|2|x]@1 ~[3|+I|2|x]@1");
  end(&b);
}

/* B77: what changes nothing is not told, what does is. */
static void bucket__tells_real_changes(void **state) {
  static const char *const rows[] = {"1|+|1|a", "2|+|1|b", "3|+|1|b", "4|+|1|c"};
  static const char *const expected[] = {"~[1|+I|1|a]", "~[1|-U|1|a;2|+U|1|b]", "",
                                         "|-U|1|b;4|+U|1|c]"};
  static const char *const options[] = {"", VECTORS};
  (void)state;
  for (int o = 0; o < 2; o++) {
    bucket_maker b;
    char text[200];
    snprintf(text, sizeof(text),
             "changelog-producer=lookup;changelog-producer.row-deduplicate=true%s", options[o]);
    begin(&b, KV, "k", text);
    OK(create(&b, err));
    for (int i = 0; i < 4; i++) {
      bool has_any;
      tn_buf out;
      add(&b, rows[i]);
      assert_true(compacts(&b, false));
      OK(take(&b, &has_any, err));
      assert_true(has_any);
      tn_buf_init(&out, &b.m.tm.env->mem, 1u << 20);
      tell_files(&b, &b.message.compact_changelog, "~", &out);
      OK(tn_buf_append(&out, "", 1, err));
      assert_int_equal(b.message.compact_changelog.n, expected[i][0] != '\0');
      assert_non_null(strstr((const char *)out.data, expected[i]));
      tn_buf_reset(&out);
    }
    end(&b);
  }
}

/* B17: of two writers' rows with one sequence number the younger file's stays, whichever comes
 * first, as reads have it (sections_rank__orders_by_level_sequence_time_and_place). */
static void bucket__breaks_ties_as_reads_do(void **state) {
  (void)state;
  for (int younger = 0; younger < 2; younger++) {
    bucket_maker b;
    begin(&b, KV, "k", "");
    rm_file(&b.m, "0L0 1|+|1|8");
    rm_file(&b.m, "0L0 1|+|1|9");
    for (int i = 0; i < 2; i++) {
      b.m.metas[i].has_creation_time = true;
      b.m.metas[i].creation_time_ms = 1000 + (i == younger);
    }
    OK(create(&b, err));
    assert_true(compacts(&b, true));
    assert_takes(&b, younger == 1 ? "-f1@0 -f0@0 +[1|+I|1|9]@5" : "-f0@0 -f1@0 +[1|+I|1|8]@5");
    end(&b);
  }
}

/* ------------------------------------------------------------------ vectors */

static void bucket__marks_and_forgets(void **state) {
  bucket_maker b;
  (void)state;
  begin(&b, KV, "k", "x=y" VECTORS);
  rm_file(&b.m, "0L5 1|+|1|a;1|+|2|a;1|+|3|a")->file_size = 100000;
  OK(create(&b, err));
  add(&b, "2|+|1|b");
  assert_true(compacts(&b, false));
  assert_takes(&b, "-f1@0 +f1@4 !1");
  /* Two marks of two tasks between two commits: one index file. */
  add(&b, "3|+|2|c");
  assert_true(compacts(&b, false));
  add(&b, "4|-|1|c");
  assert_true(compacts(&b, false));
  assert_takes(&b, "-f1@4 -f2@0 -f3@0 +[3|+I|2|c]@4 !1");
  /* All vectors leave with their files: an index file without vectors replaces the other one. */
  assert_true(compacts(&b, true));
  assert_int_equal(b.message.compact_new_indexes.n, 1);
  {
    bool has_any;
    OK(take(&b, &has_any, err));
  }
  assert_int_equal(b.message.compact_new_indexes.n, 1);
  assert_int_equal(b.message.compact_new_indexes.items[0].dv_ranges.count, 0);
  assert_string_equal(rm_rows(&b.m, b.message.compact_after.items, b.message.compact_after.n),
                      "[3|+I|2|c;1|+I|3|a]");
  assert_takes(&b, "");
  end(&b);
}

/* Another writer's row, committed before, may be the newer one: what lies above it is its copy, or
 * else the next compaction would look up the older row. */
static void bucket__merges_what_is_older_than_deeper_rows(void **state) {
  static const struct {
    const char *options, *added, *taken;
  } cases[] = {
      {"x=y" VECTORS, "3|+|1|b;3|+|2|b", "-f1@0 +[7|+I|1|a;3|+I|2|b]@4 !1"},
      {"changelog-producer=lookup", "3|+|1|b;3|+|2|b",
       "-f1@0 +[7|+I|1|a;3|+I|2|b]@4 ~[7|-U|1|a;7|+U|1|a;3|+I|2|b]@4"},
      {"x=y" VECTORS, "7|+|1|b;8|+|2|b", "-f1@0 +f1@4 !1"},
      {"changelog-producer=lookup", "8|+|1|b", "-f1@0 +f1@4 ~[7|-U|1|a;8|+U|1|b]@4"},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    bucket_maker b;
    begin(&b, KV, "k", cases[i].options);
    rm_file(&b.m, "0L5 7|+|1|a")->file_size = 100000;
    OK(create(&b, err));
    add(&b, cases[i].added);
    assert_true(compacts(&b, false));
    assert_takes(&b, cases[i].taken);
    end(&b);
  }
}

/* B61: a full compaction of one file with a vector. */
static void bucket__rewrites_a_marked_file(void **state) {
  bucket_maker b;
  (void)state;
  begin(&b, KV, "k", "x=y" VECTORS);
  rm_file(&b.m, "0L5 1|+|1|a;2|+|2|b");
  give_vector(&b, 0, "1");
  OK(create(&b, err));
  assert_false(compacts(&b, false));
  assert_true(compacts(&b, true));
  assert_takes(&b, "-f0@5 +[1|+I|1|a]@5 !0");
  assert_false(compacts(&b, true));
  end(&b);
}

/* B58: the larger sequence field wins, in the vector too. */
static void bucket__marks_by_sequence_field(void **state) {
  bucket_maker b;
  (void)state;
  begin(&b, "k INT NOT NULL|s INT|v STRING", "k", "sequence.field=s" VECTORS);
  rm_file(&b.m, "0L5 1|+|1|5|a")->file_size = 100000;
  OK(create(&b, err));
  add(&b, "2|+|1|3|b");
  assert_true(compacts(&b, false));
  assert_takes(&b, "-f1@0 +[1|+I|1|5|a]@4 !1");
  assert_true(compacts(&b, true));
  assert_takes(&b, "-f0@5 -[1|+I|1|5|a]@4 +[1|+I|1|5|a]@5 !0");
  end(&b);
}

static void bucket__forgets_vectors_of_files_that_went(void **state) {
  bucket_maker b;
  (void)state;
  begin(&b, KV, "k", "x=y" VECTORS);
  rm_file(&b.m, "0L5 1|+|1|a;2|+|2|b");
  rm_file(&b.m, "0L5 1|+|7|a");
  give_vector(&b, 0, "0");
  give_vector(&b, 1, "0");
  b.m.n_files = 1; /* the second one is not live any more */
  OK(create(&b, err));
  assert_true(compacts(&b, true));
  assert_takes(&b, "-f0@5 +[2|+I|2|b]@5 !0");
  end(&b);
}

/* ------------------------------------------------------------------ append files */

static void bucket__queues_append_files(void **state) {
  bucket_maker b;
  (void)state;
  begin(&b, KV, "", "compaction.min.file-num=3");
  rm_file(&b.m, "0L0 1|a")->min_sequence = 0;
  OK(create(&b, err));
  OK(tn_bucket_compactor_add(b.bucket, rm_file(&b.m, "0L0 2|b"), err));
  b.m.metas[1].min_sequence = 1;
  assert_false(compacts(&b, false));
  OK(tn_bucket_compactor_add(b.bucket, rm_file(&b.m, "0L0 3|c"), err));
  assert_true(compacts(&b, false));
  assert_false(compacts(&b, false));
  assert_takes(&b, "-f0@0 -f1@0 -f2@0 +[1|a;2|b;3|c]@0");
  assert_false(tn_bucket_compactor_should_wait(b.bucket));
  assert_false(tn_bucket_compactor_is_behind(b.bucket));
  /* The result waits for more. */
  OK(tn_bucket_compactor_add(b.bucket, rm_file(&b.m, "0L0 4|d"), err));
  OK(tn_bucket_compactor_add(b.bucket, rm_file(&b.m, "0L0 5|e"), err));
  assert_true(compacts(&b, false));
  end(&b);
}

static void bucket__queues_again_what_failed(void **state) {
  bucket_maker b;
  tarn_error error = {0};
  bool has_one;
  (void)state;
  begin(&b, KV, "", "compaction.min.file-num=3");
  for (int i = 0; i < 3; i++) {
    rm_file(&b.m, "0L0 1|a")->min_sequence = i;
  }
  OK(create(&b, err));
  lose(&b, 1);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(compact(&b, false, &has_one, &error), TARN_E_NOT_FOUND);
    assert_takes(&b, "");
  }
  assert_int_equal(rm_n_files(&b.m), 2);
  end(&b);
}

/* ------------------------------------------------------------------ failures */

/* What a read may skip a rewrite would drop for good. */
static void bucket__does_not_skip_files(void **state) {
  static const struct {
    const char *keys, *options;
  } cases[] = {{"k", "scan.ignore-lost-files=true;scan.ignore-corrupt-files=true"},
               {"k", "scan.ignore-lost-files=true" VECTORS},
               {"", "scan.ignore-lost-files=true;compaction.min.file-num=2"}};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    bucket_maker b;
    tarn_error error = {0};
    bool has_one;
    begin(&b, KV, cases[i].keys, cases[i].options);
    for (int k = 0; k < 3; k++) {
      rm_file(&b.m, cases[i].keys[0] != '\0' ? "0L0 1|+|1|a" : "0L0 1|a")->min_sequence = k;
    }
    OK(create(&b, err));
    lose(&b, 1);
    assert_int_equal(compact(&b, true, &has_one, &error), TARN_E_NOT_FOUND);
    assert_takes(&b, "");
    end(&b);
  }
}

static void bucket__is_as_before_when_a_task_fails(void **state) {
  bucket_maker b;
  tarn_error error = {0};
  tarn_cancel cancel = {.is_set = false};
  tn_compact_task *task;
  (void)state;
  begin(&b, KV, "k", "changelog-producer=lookup" VECTORS);
  b.m.cancel = &cancel;
  rm_file(&b.m, "0L5 1|+|1|a;1|+|2|a")->file_size = 100000;
  OK(create(&b, err));
  add(&b, "2|+|1|b");
  OK(tn_bucket_compactor_pick(b.bucket, false, &task, err));
  add(&b, "3|+|2|d"); /* while the task runs */
  cancel.is_set = true;
  assert_int_equal(tn_compact_task_run(task, &error), TARN_E_CANCELLED);
  cancel.is_set = false;
  OK(tn_bucket_compactor_finish(b.bucket, task, err));
  assert_takes(&b, "");
  assert_int_equal(rm_n_files(&b.m), 3);
  assert_true(compacts(&b, false));
  assert_takes(&b,
               "-f1@0 -f2@0 +[2|+I|1|b;3|+I|2|d]@4 ~[1|-U|1|a;2|+U|1|b;1|-U|2|a;3|+U|2|d]@4 !1");
  end(&b);
}

static tarn_env *counted_env(tn_test_alloc *alloc) {
  tarn_allocator hooks;
  tarn_env_options options = TARN_ENV_OPTIONS_INIT;
  tarn_env *env = NULL;
  tn_test_alloc_init(alloc);
  hooks = tn_test_alloc_hooks(alloc);
  options.threads = 1;
  options.allocator = &hooks;
  OK(tarn_env_create(&options, &env, err));
  return env;
}

/* The records of files that left are given back. */
static void bucket__holds_no_records_of_the_past(void **state) {
  tn_test_alloc alloc;
  tarn_env *env = counted_env(&alloc);
  bucket_maker b;
  int64_t held;
  (void)state;
  begin_in(&b, env, KV, "k", "");
  rm_file(&b.m, "0L0 1|+|1|a");
  b.m.n_files = 0;
  OK(create(&b, err));
  for (int i = 0; i < 1500; i++) {
    tn_arena arena;
    bool has_any;
    b.m.metas[0].min_sequence = b.m.metas[0].max_sequence = i;
    OK(tn_bucket_compactor_add(b.bucket, &b.m.metas[0], err));
    assert_true(compacts(&b, true));
    tn_arena_init(&arena, &env->mem, 1u << 20);
    b.message = (tn_commit_message){0};
    OK(tn_bucket_compactor_take(b.bucket, &arena, &b.message, &has_any, err));
    assert_true(has_any);
    tn_arena_reset(&arena);
  }
  held = atomic_load(&alloc.live_bytes);
  tn_bucket_compactor_free(b.bucket);
  b.bucket = NULL;
  held -= atomic_load(&alloc.live_bytes);
  assert_true(held < 600 << 10); /* of several MB that went through */
  end(&b);
  assert_int_equal(atomic_load(&alloc.live_blocks), 0);
}

/* What fails for want of memory is done again. */
#define AGAIN(call)                           \
  do {                                        \
    tarn_status again_ = (call);              \
    if (again_ != TARN_OK) {                  \
      assert_int_equal(again_, TARN_E_NOMEM); \
      again_ = (call);                        \
    }                                         \
    assert_int_equal(again_, TARN_OK);        \
  } while (0)

typedef struct story {
  const char *columns, *keys, *options;
  const char *first, *added[3];
} story;

/* The life of a bucket, in which the at-th allocation fails; what was committed. */
static const char *live(bucket_maker *b, const story *s, tn_test_alloc *alloc, int64_t at,
                        int *n_files) {
  tn_buf text;
  const char *kept;
  tarn_error error = {0};
  bool has_any;
  rm_file(&b->m, s->first)->file_size = 100000;
  for (int i = 0; i < 3; i++) {
    rm_file(&b->m, s->added[i])->min_sequence = i + 2;
  }
  b->m.n_files = 1;
  atomic_store(&alloc->fail_at, atomic_load(&alloc->calls) + at);
  AGAIN(create(b, &error));
  for (int i = 0; i < 3; i++) {
    AGAIN(tn_bucket_compactor_add(b->bucket, &b->m.metas[1 + i], &error));
    AGAIN(compact(b, i == 2, &has_any, &error));
  }
  AGAIN(take(b, &has_any, &error));
  tn_error_reset(&error);
  if (atomic_load(&alloc->fail_at) > atomic_load(&alloc->calls)) {
    atomic_store(&alloc->fail_at, 0);
  }
  tn_buf_init(&text, &b->m.tm.env->mem, 1u << 20);
  tell_files(b, &b->message.compact_before, "-", &text);
  tell_files(b, &b->message.compact_after, "+", &text);
  tell_files(b, &b->message.compact_changelog, "~", &text);
  OK(tn_buf_printf(&text, err, " !%d", (int)b->message.compact_new_indexes.n));
  *n_files = rm_n_files(&b->m);
  OK(tn_buf_append(&text, "", 1, err));
  kept = tn_arena_strdup(&b->m.tm.arena, (const char *)text.data);
  tn_buf_reset(&text);
  return kept;
}

static void bucket__survives_failed_allocations(void **state) {
  static const story stories[] = {
      {KV,
       "k",
       "changelog-producer=lookup" VECTORS,
       "0L5 1|+|1|a;1|+|2|a",
       {"0L0 2|+|1|b", "0L0 3|-|2|a", "0L0 4|+|1|c"}},
      {KV,
       "k",
       "num-sorted-run.compaction-trigger=2",
       "0L5 1|+|1|a;1|+|2|a",
       {"0L0 2|+|1|b", "0L0 3|-|2|a", "0L0 4|+|1|c"}},
      {KV, "", "compaction.min.file-num=2", "0L0 1|a", {"0L0 2|b", "0L0 3|c", "0L0 4|d"}},
  };
  (void)state;
  for (size_t i = 0; i < TN_COUNT(stories); i++) {
    char *expected = NULL;
    bool has_failed = true;
    int n_right = 0;
    for (int64_t at = 0; has_failed; at++) { /* the first time none fails */
      tn_test_alloc alloc;
      tarn_env *env = counted_env(&alloc);
      bucket_maker b;
      const char *text;
      int n_files;
      begin_in(&b, env, stories[i].columns, stories[i].keys, stories[i].options);
      text = live(&b, &stories[i], &alloc, at == 0 ? (int64_t)1 << 40 : at, &n_files);
      has_failed = at == 0 || atomic_load(&alloc.fail_at) != 0;
      if (expected == NULL) {
        expected = strdup(text);
        n_right = n_files;
      }
      assert_string_equal(text, expected);
      /* Removing a file takes memory, too. */
      assert_in_range(n_files, n_right, n_right + 1);
      end(&b);
      assert_int_equal(atomic_load(&alloc.live_blocks), 0);
    }
    free(expected);
  }
}

/* Each step of writing fails in turn; then it is done again on the same bucket. */
static void bucket__survives_a_failing_disk(void **state) {
  (void)state;
  for (int kind = 0; kind < 2; kind++) {
    bool is_done = false;
    for (int64_t n = 1; !is_done; n++) {
      tn_storage_fault fault = {
          .fail_at_write = kind == 0 ? n : 0, .fail_at_call = kind == 1 ? n : 0, .os_errno = EIO};
      tn_storage *faulty;
      tn_table *table;
      bucket_maker b;
      tarn_error error = {0};
      bool has_one, has_any;
      begin(&b, KV, "k", "changelog-producer=lookup" VECTORS);
      OK(tn_storage_faulty(b.m.tm.storage, &fault, &faulty, err));
      OK(tn_table_create(b.m.tm.env, faulty, "d.t", "/t", "main", "/t", b.m.tm.schema, NULL, 0,
                         &table, err));
      tn_storage_release(faulty);
      tn_table_release(b.m.table);
      b.m.table = table;
      rm_file(&b.m, "0L5 1|+|1|a;1|+|2|a")->file_size = 100000;
      OK(create(&b, err));
      add(&b, "2|+|1|b");
      add(&b, "3|-|2|d");
      is_done = compact(&b, false, &has_one, &error) == TARN_OK;
      if (!is_done) {
        assert_int_equal(rm_n_files(&b.m), 3);
        OK(compact(&b, false, &has_one, err));
      } else if (take(&b, &has_any, &error) != TARN_OK) {
        is_done = false;
      }
      if (!is_done) {
        assert_takes(&b, "-f1@0 -f2@0 +[2|+I|1|b]@4 ~[1|-U|1|a;2|+U|1|b;1|-D|2|a]@4 !1");
      }
      end(&b);
    }
  }
}

/* A rewrite would lose what the newer schema has beside; no bucket is opened then. */
static void bucket__refuses_files_of_a_newer_schema(void **state) {
  static const char *const keys[] = {"k", ""};
  (void)state;
  for (size_t i = 0; i < TN_COUNT(keys); i++) {
    bucket_maker b;
    tarn_error error = {0};
    begin(&b, KV, keys[i], "");
    rm_file(&b.m, i == 0 ? "0L0 1|+|1|a" : "0L0 1|a");
    rm_file(&b.m, i == 0 ? "0L0 2|+|1|b" : "0L0 2|b")->schema_id = 7;
    assert_int_equal(create(&b, &error), TARN_E_STATE);
    assert_non_null(strstr(error.message, "bucket 0 has a file of schema 7"));
    end(&b);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bucket__merges_files_of_level_0),
      cmocka_unit_test(bucket__lifts_a_lone_file),
      cmocka_unit_test(bucket__removes_files_between_two_tasks),
      cmocka_unit_test(bucket__keeps_a_lifted_file_that_is_rewritten),
      cmocka_unit_test(bucket__lifts_a_file_twice),
      cmocka_unit_test(bucket__free_removes_what_nobody_took),
      cmocka_unit_test(bucket__drops_a_task_that_did_not_run),
      cmocka_unit_test(bucket__takes_level_1_and_2_along),
      cmocka_unit_test(bucket__keeps_the_first_row),
      cmocka_unit_test(bucket__tells_real_changes),
      cmocka_unit_test(bucket__breaks_ties_as_reads_do),
      cmocka_unit_test(bucket__marks_and_forgets),
      cmocka_unit_test(bucket__merges_what_is_older_than_deeper_rows),
      cmocka_unit_test(bucket__rewrites_a_marked_file),
      cmocka_unit_test(bucket__marks_by_sequence_field),
      cmocka_unit_test(bucket__forgets_vectors_of_files_that_went),
      cmocka_unit_test(bucket__queues_append_files),
      cmocka_unit_test(bucket__queues_again_what_failed),
      cmocka_unit_test(bucket__does_not_skip_files),
      cmocka_unit_test(bucket__is_as_before_when_a_task_fails),
      cmocka_unit_test(bucket__holds_no_records_of_the_past),
      cmocka_unit_test(bucket__refuses_files_of_a_newer_schema),
      cmocka_unit_test(bucket__survives_failed_allocations),
      cmocka_unit_test(bucket__survives_a_failing_disk),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
