/* test_wait.c - news of snapshots, from a folder on disk. */
#include <stdio.h>
#include <sys/stat.h>

#include "base/cancel.h"
#include "io/watch.h"
#include "stream/wait.h"
#include "stream_maker.h"
#include "support/files.h"
#include "support/torture.h"

#define LONG_MS ((int64_t)600000) /* a test that waits so long has failed */

typedef struct place {
  tarn_env *env;
  tn_storage *storage;
  char *folder;
} place;

static void begin(place *p) {
  p->env = tn_test_env(1, 0);
  OK(tn_storage_local(p->env, &p->storage, err));
  p->folder = tn_test_temp_dir();
}

static void end(place *p) {
  tn_storage_release(p->storage);
  tarn_env_free(p->env);
  tn_test_temp_dir_remove(p->folder);
}

static void put(place *p, const char *name) {
  char *path = tn_test_path(p->folder, name);
  OK(tn_storage_publish(p->storage, path, tn_slice_text("x"), err));
  free(path);
}

static bool wait_once(tn_watch *watch, int64_t timeout_ms) {
  bool has_news, is_gone;
  OK(tn_watch_wait(watch, timeout_ms, NULL, &has_news, &is_gone, err));
  assert_false(is_gone);
  return has_news;
}

static void watch__tells_of_names_with_the_prefix(void **state) {
  place p;
  tn_watch *watch = NULL;
  (void)state;
  begin(&p);
  OK(tn_watch_create(p.storage, p.folder, "snapshot-", &watch, err));
  assert_false(wait_once(watch, 0));
  put(&p, "LATEST");
  assert_false(wait_once(watch, 0));
  put(&p, "snapshot-1");  // before the wait: it is not missed
  assert_true(wait_once(watch, LONG_MS));
  assert_false(wait_once(watch, 0));  // told once
  put(&p, "snapshot-2");
  put(&p, "snapshot-3");
  assert_true(wait_once(watch, LONG_MS));
  assert_false(wait_once(watch, 0));
  tn_watch_free(watch);
  end(&p);
}

static void watch__tells_that_the_folder_is_gone(void **state) {
  place p;
  tn_watch *watch = NULL;
  char *path;
  bool has_news, is_gone;
  (void)state;
  begin(&p);
  path = tn_test_path(p.folder, "snapshot");
  OK(tn_storage_make_folder(p.storage, path, err));
  OK(tn_watch_create(p.storage, path, "", &watch, err));
  OK(tn_storage_remove_tree(p.storage, path, err));
  OK(tn_watch_wait(watch, LONG_MS, NULL, &has_news, &is_gone, err));
  assert_true(is_gone);
  tn_watch_free(watch);
  free(path);
  end(&p);
}

static void watch__needs_a_folder_on_disk(void **state) {
  place p;
  tn_watch *watch = NULL;
  tn_storage *memory = NULL;
  char *path;
  (void)state;
  begin(&p);
  path = tn_test_path(p.folder, "nothing");
  assert_int_equal(tn_watch_create(p.storage, path, "", &watch, NULL), TARN_E_NOT_FOUND);
  OK(tn_storage_memory(p.env, &memory, err));
  assert_int_equal(tn_watch_create(memory, "/t", "", &watch, NULL), TARN_E_UNSUPPORTED);
  tn_storage_release(memory);
  free(path);
  end(&p);
}

static void watch__is_cancelled(void **state) {
  place p;
  tn_watch *watch = NULL;
  tarn_cancel *cancel = NULL;
  bool has_news, is_gone;
  (void)state;
  begin(&p);
  OK(tarn_cancel_create(p.env, &cancel, err));
  OK(tn_watch_create(p.storage, p.folder, "", &watch, err));
  tarn_cancel_set(cancel);
  assert_int_equal(tn_watch_wait(watch, LONG_MS, cancel, &has_news, &is_gone, NULL),
                   TARN_E_CANCELLED);
  assert_int_equal(tn_watch_sleep(LONG_MS, cancel, NULL), TARN_E_CANCELLED);
  tn_watch_free(watch);
  tarn_cancel_free(cancel);
  end(&p);
}

/* A table whose first snapshot makes the folder. */
static void wait__begins_before_the_folder_is_there(void **state) {
  place p;
  table_maker tm;
  tn_table *table = NULL;
  tn_wait *wait = NULL;
  bool has_news;
  (void)state;
  begin(&p);
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 k INT NOT NULL", "", "", "bucket=-1");
  OK(tn_table_create(tm.env, p.storage, "db.t", p.folder, "main", p.folder, tm.schema, NULL, 0,
                     &table, err));
  OK(tn_wait_create(table, &wait, err));
  assert_true(tn_wait_is_prompt(wait));
  OK(tn_wait_for(wait, 0, NULL, &has_news, err));
  assert_false(has_news);
  put(&p, "snapshot/snapshot-1");
  OK(tn_wait_for(wait, LONG_MS, NULL, &has_news, err));
  assert_true(has_news);
  put(&p, "snapshot/snapshot-2");  // now the folder itself is watched
  OK(tn_wait_for(wait, LONG_MS, NULL, &has_news, err));
  assert_true(has_news);
  tn_wait_free(wait);
  tn_table_release(table);
  tm_end(&tm);
  end(&p);
}

static void wait__without_notices_lets_the_time_pass(void **state) {
  stream_maker m;
  tn_wait *wait = NULL;
  bool has_news;
  (void)state;
  sm_begin(&m, "0 k INT NOT NULL|1 v STRING", "", "k", "bucket=1");  // in memory
  OK(tn_wait_create(m.w.table, &wait, err));
  assert_false(tn_wait_is_prompt(wait));
  OK(tn_wait_for(wait, 1, NULL, &has_news, err));
  assert_false(has_news);
  tn_wait_free(wait);
  sm_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(watch__tells_of_names_with_the_prefix),
      cmocka_unit_test(watch__tells_that_the_folder_is_gone),
      cmocka_unit_test(watch__needs_a_folder_on_disk),
      cmocka_unit_test(watch__is_cancelled),
      cmocka_unit_test(wait__begins_before_the_folder_is_there),
      cmocka_unit_test(wait__without_notices_lets_the_time_pass),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
