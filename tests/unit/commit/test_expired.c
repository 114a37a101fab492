/* test_expired.c - what others did to the snapshots between the looks of a commit: names that are
 * free again, a base that is gone, a snapshot of ours that was replaced when others had read it.
 *
 * The storage does it at the step that a test asks for.
 */
#include "commit_maker.h"
#include "model/listing.h"
#include "support/test.h"

typedef enum step { AT_LINK, AT_LIST_WRITTEN, AT_LIST_READ, BEHIND_LINK } step;

typedef struct meddler {
  table_maker *tm;
  tn_table *table;
  const tn_storage_ops *ops; /* of the storage itself */
  tn_storage_ops hooked;
  step when;
  int times;
  bool is_busy;
  int n_links;             /* of snapshots, but his own */
  const char *first_delta; /* the manifest list of the first of them, when it was visible */
  void (*meddle)(struct meddler *self);
} meddler;

static meddler *the; /* one test at a time */

static void meddle(step when) {
  if (the->when == when && the->times > 0 && !the->is_busy) {
    the->times--;
    the->is_busy = true;
    the->meddle(the);
    the->is_busy = false;
  }
}

static void note_delta(const char *path) {
  const char *id = strrchr(path, '-') + 1;
  if (!the->is_busy && the->n_links == 1) {
    the->first_delta = cm_snapshot(the->tm, strtoll(id, NULL, 10)).delta_manifest_list;
  }
}

static tarn_status hooked_link(tn_storage *storage, const char *from, const char *to,
                               tarn_error *err) {
  bool is_snapshot = strstr(to, "/snapshot/snapshot-") != NULL;
  tarn_status st;
  if (is_snapshot && !the->is_busy) {
    the->n_links++;
    meddle(AT_LINK);
  }
  st = the->ops->link(storage, from, to, err);
  if (is_snapshot && st == TARN_OK) {
    note_delta(to);
    meddle(BEHIND_LINK);
  }
  return st;
}

static tarn_status hooked_create(tn_storage *storage, const char *path, tn_sink **out,
                                 tarn_error *err) {
  if (strstr(path, "/manifest-list-") != NULL) {
    meddle(AT_LIST_WRITTEN);
  }
  return the->ops->create(storage, path, out, err);
}

static tarn_status hooked_open(tn_storage *storage, const char *path, tn_file **out,
                               tarn_error *err) {
  if (strstr(path, "/manifest/manifest-list-") != NULL) {
    meddle(AT_LIST_READ);
  }
  return the->ops->open(storage, path, out, err);
}

static void begin(table_maker *tm, meddler *self, const char *options, step when,
                  void (*act)(meddler *)) {
  tm_begin(tm, 1);
  tm_schema(tm, 0, "0 a INT", "", "", options);
  *self = (meddler){.tm = tm, .when = when, .meddle = act};
  self->table = tm_table(tm, "");
  self->ops = tm->storage->ops;
  self->hooked = *self->ops;
  self->hooked.link = hooked_link;
  self->hooked.lock_folder = NULL; /* he comes in the middle of it */
  self->hooked.open = hooked_open;
  self->hooked.create = hooked_create;
  tm->storage->ops = &self->hooked;
  the = self;
}

static void end(table_maker *tm, meddler *self) {
  tm->storage->ops = self->ops;
  tn_table_release(self->table);
  tm_end(tm);
}

/* ------------------------------------------------------------------ what he can do */

static void append_other(meddler *self, const char *name) {
  (void)cm_append_one(self->tm, self->table, "other", 1, name, 1);
}

static const char *path_of(meddler *self, int64_t id) {
  return tn_arena_printf(&self->tm->arena, "/t/snapshot/snapshot-%lld", (long long)id);
}

static void remove_snapshot(meddler *self, int64_t id) {
  OK(tn_storage_remove(self->tm->storage, path_of(self, id), err));
}

/* With what only it has. */
static void expire(meddler *self, int64_t id) {
  tn_snapshot s = cm_snapshot(self->tm, id);
  const char *lists[] = {s.base_manifest_list, s.delta_manifest_list};
  remove_snapshot(self, id);
  for (int i = 0; i < 2; i++) {
    OK(tn_storage_remove(self->tm->storage,
                         tn_path_join(&self->tm->arena, "/t", "manifest", lists[i], NULL), err));
  }
}

static void two_come_one_expires(meddler *self) {
  append_other(self, "x1");
  append_other(self, "x2");
  remove_snapshot(self, 2);
}

static void three_come_two_expire(meddler *self) {
  append_other(self, "x1");
  append_other(self, "x2");
  append_other(self, "x3");
  remove_snapshot(self, 2);
  remove_snapshot(self, 3);
}

static void next_comes_base_expires(meddler *self) {
  append_other(self, "x1");
  expire(self, 1);
}

static void base_is_lost(meddler *self) {
  tn_snapshot s = cm_snapshot(self->tm, 1);
  OK(tn_storage_remove(self->tm->storage,
                       tn_path_join(&self->tm->arena, "/t", "manifest", s.base_manifest_list, NULL),
                       err));
}

/* Ours is snapshot 2. Somebody goes on from it; then one takes its name who has looked before. */
static void replace_behind_next(meddler *self) {
  tn_buf ours, other;
  tn_buf_init(&ours, &self->tm->env->mem, 1 << 20);
  tn_buf_init(&other, &self->tm->env->mem, 1 << 20);
  OK(tn_storage_read_all(self->tm->storage, path_of(self, 2), &ours, err));
  remove_snapshot(self, 2);
  append_other(self, "j");
  OK(tn_storage_read_all(self->tm->storage, path_of(self, 2), &other, err));
  OK(tn_storage_replace(self->tm->storage, path_of(self, 2), tn_buf_slice(&ours), false, err));
  append_other(self, "x1");
  OK(tn_storage_replace(self->tm->storage, path_of(self, 2), tn_buf_slice(&other), false, err));
  tn_buf_reset(&ours);
  tn_buf_reset(&other);
}

static void replace_before_next(meddler *self) {
  remove_snapshot(self, 2);
  append_other(self, "j");
}

static void replace_and_expire(meddler *self) {
  replace_behind_next(self);
  append_other(self, "x2");
  expire(self, 3);
}

/* ------------------------------------------------------------------ tests */

#define QUICK "bucket=-1;commit.min-retry-wait=1 ms;commit.max-retry-wait=2 ms"

static tarn_status append(meddler *self, const char *name, int64_t identifier,
                          tn_commit_result *result, tarn_error *why) {
  tn_commit_options options = cm_user("u");
  tn_committable c = cm_begin(identifier);
  cm_file(self->tm, &c, CM_NEW, tm_entry(name, 1));
  return tn_commit_append(self->table, &options, &c, result, why);
}

/* Snapshot 1 with "a"; then "b" is appended, and he comes once. */
static tarn_status second(meddler *self, tn_commit_result *result, tarn_error *why) {
  OK(append(self, "a", 7, result, err));
  self->n_links = 0;
  self->times = 1;
  return append(self, "b", 8, result, why);
}

typedef struct free_name {
  step when;
  void (*act)(meddler *);
  int64_t id;
  int n_links;
  const char *files;
} free_name;

/* The name of the snapshot that is next by the look of the attempt is free: it has expired. */
static const free_name free_names[] = {
    {AT_LINK, two_come_one_expires, 4, 2, "0[a x1 x2 b]raw(4)"},
    {AT_LINK, three_come_two_expire, 5, 2, "0[a x1 x2 x3 b]raw(5)"},
    {AT_LIST_WRITTEN, two_come_one_expires, 4, 1, "0[a x1 x2 b]raw(4)"},
    {AT_LIST_WRITTEN, three_come_two_expire, 5, 1, "0[a x1 x2 x3 b]raw(5)"},
};

static void append__does_not_take_the_name_of_one_that_expired(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(free_names) / sizeof(free_names[0]); i++) {
    const free_name *c = &free_names[i];
    table_maker tm;
    meddler other;
    tn_commit_result result;
    int64_t latest;
    begin(&tm, &other, QUICK, c->when, c->act);
    OK(second(&other, &result, err));
    assert_int_equal(result.last_id, c->id);
    assert_int_equal(result.first_id, c->id);
    assert_int_equal(other.n_links, c->n_links);
    OK(tn_snapshot_latest_id(tm.env, tm.storage, "/t", &latest, err));
    assert_int_equal(latest, c->id);
    assert_int_equal(cm_count(&tm, "snapshot"), 4); /* 1, the latest two, LATEST */
    assert_string_equal(tm_plan(&tm, other.table, NULL, -1), c->files);
    end(&tm, &other);
  }
}

/* An expiry that has seen it while it was there deletes its manifests, later. */
static void append__that_was_taken_back_is_made_of_new_manifests(void **state) {
  table_maker tm;
  meddler other;
  tn_commit_result result;
  (void)state;
  begin(&tm, &other, QUICK, AT_LINK, three_come_two_expire);
  OK(second(&other, &result, err));
  assert_int_equal(other.n_links, 2);
  assert_non_null(other.first_delta);
  assert_string_not_equal(other.first_delta, cm_snapshot(&tm, 5).delta_manifest_list);
  assert_int_equal(cm_count(&tm, "manifest"), 5 * 3);
  end(&tm, &other);
}

static void append__whose_base_expires_goes_behind_the_next(void **state) {
  table_maker tm;
  meddler other;
  tn_commit_result result;
  (void)state;
  begin(&tm, &other, QUICK, AT_LIST_READ, next_comes_base_expires);
  OK(second(&other, &result, err));
  assert_int_equal(result.last_id, 3);
  assert_int_equal(result.n_attempts, 2);
  assert_string_equal(tm_plan(&tm, other.table, NULL, -1), "0[a x1 b]raw(3)");
  end(&tm, &other);
}

static void append__whose_base_is_lost_says_so(void **state) {
  table_maker tm;
  meddler other;
  tn_commit_result result;
  tarn_error why;
  (void)state;
  begin(&tm, &other, QUICK, AT_LIST_READ, base_is_lost);
  assert_int_equal(second(&other, &result, &why), TARN_E_NOT_FOUND);
  assert_contains(why.message, "/t/manifest/manifest-list-");
  assert_int_equal(result.n_attempts, 1);
  end(&tm, &other);
}

/* Manifests of ours that the next one has merged, too. */
static void append__that_was_replaced_when_others_had_gone_on_is_there_once(void **state) {
  static const char *const options[] = {QUICK, QUICK ";manifest.merge-min-count=2"};
  (void)state;
  for (int i = 0; i < 2; i++) {
    table_maker tm;
    meddler other;
    tn_commit_result result;
    begin(&tm, &other, options[i], BEHIND_LINK, replace_behind_next);
    OK(second(&other, &result, err));
    assert_int_equal(result.last_id, 3);
    assert_string_equal(tm_plan(&tm, other.table, NULL, -1), "0[a b x1]raw(3)");
    assert_int_equal(cm_snapshot(&tm, 3).total_record_count, 3);
    OK(append(&other, "c", 9, &result, err));
    assert_string_equal(tm_plan(&tm, other.table, NULL, -1), "0[a b x1 c]raw(4)");
    end(&tm, &other);
  }
}

/* Nothing of it is removed: who has read it may be about to go on from it. */
static void append__that_was_replaced_keeps_its_files(void **state) {
  table_maker tm;
  meddler other;
  tn_commit_result result;
  (void)state;
  begin(&tm, &other, QUICK, BEHIND_LINK, replace_before_next);
  OK(second(&other, &result, err));
  assert_int_equal(result.last_id, 3);
  assert_string_equal(tm_plan(&tm, other.table, NULL, -1), "0[a j b]raw(3)");
  assert_int_equal(cm_count(&tm, "manifest"), 3 * 3 + 3);
  end(&tm, &other);
}

/* A compaction that was replaced by one of the same files is dropped, its files are not removed. */
static void compact_same(meddler *self) {
  tn_commit_options options = cm_user("other");
  tn_committable c = cm_begin(1);
  tn_commit_result result;
  remove_snapshot(self, 2);
  cm_file(self->tm, &c, CM_BEFORE, tm_entry("a", 1));
  cm_file(self->tm, &c, CM_AFTER, tm_entry("o", 1));
  OK(tn_commit_append(self->table, &options, &c, &result, err));
}

static void compaction__that_was_replaced_may_conflict(void **state) {
  (void)state;
  for (int drops = 0; drops < 2; drops++) {
    table_maker tm;
    meddler other;
    tn_commit_options options = cm_user("u");
    tn_committable c;
    tn_commit_result result;
    tarn_error why;
    tarn_status st;
    begin(&tm, &other, QUICK, BEHIND_LINK, compact_same);
    OK(append(&other, "a", 7, &result, err));
    c = cm_begin(8);
    cm_file(&tm, &c, CM_BEFORE, tm_entry("a", 1));
    cm_file(&tm, &c, CM_AFTER, tm_entry("b", 1));
    options.drops_compaction = drops == 1;
    other.times = 1;
    st = tn_commit_append(other.table, &options, &c, &result, &why);
    assert_int_equal(st, drops == 1 ? TARN_OK : TARN_E_IO);
    assert_int_equal(result.has_dropped, drops == 1);
    assert_true(result.is_unsure);
    assert_string_equal(tm_plan(&tm, other.table, NULL, -1), "0[o]raw(1)");
    end(&tm, &other);
  }
}

static void append__whose_followers_expired_cannot_be_told(void **state) {
  table_maker tm;
  meddler other;
  tn_commit_result result;
  tarn_error why;
  (void)state;
  begin(&tm, &other, QUICK, BEHIND_LINK, replace_and_expire);
  assert_int_equal(second(&other, &result, &why), TARN_E_IO);
  assert_contains(why.message, "cannot be told");
  assert_true(result.is_unsure);
  assert_string_equal(tm_plan(&tm, other.table, NULL, -1), "0[a b x1 x2]raw(4)");
  end(&tm, &other);
}

/* LATEST does not go back. */
static void next_comes_and_hints(meddler *self) {
  append_other(self, "x1");
}

static void hint__of_others_stays(void **state) {
  table_maker tm;
  meddler other;
  tn_commit_result result;
  tn_buf text;
  (void)state;
  begin(&tm, &other, QUICK, BEHIND_LINK, next_comes_and_hints);
  OK(second(&other, &result, err));
  assert_int_equal(result.last_id, 2);
  tn_buf_init(&text, &tm.env->mem, 100);
  OK(tn_storage_read_all(tm.storage, "/t/snapshot/LATEST", &text, err));
  assert_true(tn_slice_is(tn_buf_slice(&text), "3"));
  tn_buf_reset(&text);
  end(&tm, &other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(append__does_not_take_the_name_of_one_that_expired),
      cmocka_unit_test(append__that_was_taken_back_is_made_of_new_manifests),
      cmocka_unit_test(append__whose_base_expires_goes_behind_the_next),
      cmocka_unit_test(append__whose_base_is_lost_says_so),
      cmocka_unit_test(append__that_was_replaced_when_others_had_gone_on_is_there_once),
      cmocka_unit_test(append__that_was_replaced_keeps_its_files),
      cmocka_unit_test(append__whose_followers_expired_cannot_be_told),
      cmocka_unit_test(compaction__that_was_replaced_may_conflict),
      cmocka_unit_test(hint__of_others_stays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
