/* Planning while snapshots come and go. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/travel.h"
#include "table_maker.h"

/* Shows the files of another storage until it is told otherwise. */
typedef struct changing_storage {
  tn_storage base;
  tn_storage *inner;
  const char *trigger; /* the first open of a path that ends so ... */
  int64_t first_after; /* ... makes snapshots below this id vanish, */
  int64_t last_before; /* and those above this id appear */
  bool has_happened;
} changing_storage;

static changing_storage *self(tn_storage *storage) {
  return TN_CONTAINER_OF(storage, changing_storage, base);
}

static bool is_hidden(const changing_storage *s, const char *name) {
  static const char PREFIX[] = "snapshot-";
  const char *at = strrchr(name, '/');
  int64_t id;
  at = at != NULL ? at + 1 : name;
  if (strncmp(at, PREFIX, sizeof(PREFIX) - 1) != 0) {
    return false;
  }
  id = strtoll(at + sizeof(PREFIX) - 1, NULL, 10);
  return s->has_happened ? id < s->first_after : id > s->last_before;
}

static tarn_status changing_open(tn_storage *storage, const char *path, tn_file **out,
                                 tarn_error *err) {
  changing_storage *s = self(storage);
  size_t n = strlen(s->trigger), len = strlen(path);
  if (len >= n && strcmp(path + len - n, s->trigger) == 0) {
    s->has_happened = true;
  }
  if (is_hidden(s, path)) {
    return tn_fail(err, TARN_E_NOT_FOUND, "%s: gone", path);
  }
  return tn_storage_open(s->inner, path, out, err);
}

static tarn_status changing_info(tn_storage *storage, const char *path, tn_file_info *out,
                                 tarn_error *err) {
  changing_storage *s = self(storage);
  if (is_hidden(s, path)) {
    return tn_fail(err, TARN_E_NOT_FOUND, "%s: gone", path);
  }
  return tn_storage_info(s->inner, path, out, err);
}

typedef struct filtered_visit {
  const changing_storage *storage;
  tarn_status (*visit)(void *ctx, const char *name, bool is_directory, tarn_error *err);
  void *ctx;
} filtered_visit;

static tarn_status visit_shown(void *ctx, const char *name, bool is_directory, tarn_error *err) {
  filtered_visit *v = ctx;
  return is_hidden(v->storage, name) ? TARN_OK : v->visit(v->ctx, name, is_directory, err);
}

static tarn_status changing_list(tn_storage *storage, const char *path,
                                 tarn_status (*visit)(void *ctx, const char *name,
                                                      bool is_directory, tarn_error *err),
                                 void *ctx, tarn_error *err) {
  filtered_visit v = {self(storage), visit, ctx};
  return tn_storage_list(self(storage)->inner, path, visit_shown, &v, err);
}

static void changing_free(tn_storage *storage) {
  tn_storage_release(self(storage)->inner);
  free(self(storage));
}

static const tn_storage_ops CHANGING = {"changing", changing_free, changing_open, changing_info,
                                        changing_list};

/* Snapshots 1 .. n of times id * 100 in tm; what is opened through the result changes at `trigger`.
 */
static changing_storage *change_at(table_maker *tm, const char *trigger, int64_t first_after,
                                   int64_t last_before) {
  changing_storage *s = calloc(1, sizeof(*s));
  assert_non_null(s);
  s->base = (tn_storage){.ops = &CHANGING, .env = tm->env, .refs = 1};
  s->inner = tm->storage;
  s->trigger = trigger;
  s->first_after = first_after;
  s->last_before = last_before;
  tm->storage = &s->base;
  return s;
}

static void begin(table_maker *tm, int64_t n) {
  tm_begin(tm, 1);
  tm_schema(tm, 0, "0 a INT", "", "", "bucket=-1");
  for (int64_t id = 1; id <= n; id++) {
    tm_snapshot_parts p = {
        .id = id, .time_ms = id * 100, .has_watermark = true, .watermark = id * 10};
    tm_snapshot(tm, &p);
  }
}

static tarn_status resolve(table_maker *tm, const char *options, int64_t *id, tarn_error *err) {
  tn_table *table = tm_table(tm, options);
  tn_travel travel;
  tarn_status st = tn_travel_resolve(table, &tm->arena, &travel, err);
  *id = st == TARN_OK && travel.has_snapshot ? travel.snapshot.id : 0;
  tn_table_release(table);
  return st;
}

/* A search whose snapshots expire under it goes on among those that are left. */
static void travel__searches_move_up(void **state) {
  static const struct {
    const char *options;
    const char *trigger;
    int64_t first_after, id;
    tarn_status status;
  } CASES[] = {
      {"scan.timestamp-millis=650", "snapshot-3", 5, 6, TARN_OK},
      {"scan.timestamp-millis=550", "snapshot-5", 5, 5, TARN_OK},
      {"scan.timestamp-millis=350", "snapshot-1", 5, 0, TARN_E_NOT_FOUND},
      {"scan.timestamp-millis=150", "snapshot-5", 5, 0, TARN_E_EXPIRED},
      {"scan.watermark=60", "snapshot-4", 5, 6, TARN_OK},
      {"scan.watermark=20", "snapshot-4", 5, 5, TARN_OK},
      {"scan.snapshot-id=3", "snapshot-3", 5, 0, TARN_E_EXPIRED},
      {"scan.snapshot-id=6", "snapshot-6", 5, 6, TARN_OK},
  };
  (void)state;
  for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
    table_maker tm;
    int64_t id;
    tarn_error error = {0};
    tarn_status st;
    begin(&tm, 8);
    change_at(&tm, CASES[i].trigger, CASES[i].first_after, 8);
    st = resolve(&tm, CASES[i].options, &id, &error);
    if (st != CASES[i].status || id != CASES[i].id) {
      fail_msg("%s: status %d, snapshot %lld: %s", CASES[i].options, (int)st, (long long)id,
               error.message);
    }
    tm_end(&tm);
  }
}

static void travel__the_latest_expires_before_it_is_read(void **state) {
  table_maker tm;
  int64_t id;
  tarn_error error = {0};
  (void)state;
  begin(&tm, 8);
  change_at(&tm, "snapshot-4", 7, 4);
  OK(resolve(&tm, "", &id, &error));
  assert_int_equal(id, 8);
  tm_end(&tm);
}

/* The latest snapshot's manifests are deleted while it is planned: the next one is planned. */
static void plan__moves_on_when_the_latest_expires(void **state) {
  table_maker tm;
  tn_table *table;
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 a INT", "", "", "bucket=-1");
  {
    const tn_manifest_entry e[] = {tm_entry("a", 1)};
    tn_manifest_file gone = tm_manifest(&tm, e, 1);
    gone.file_name = tn_slice_text("manifest-gone");
    tm_snapshot_parts p = {.id = 1, .time_ms = 1, .delta = tm_list(&tm, &gone, 1)};
    tm_snapshot(&tm, &p);
    tm_commit(&tm, 2, e, 1);
  }
  change_at(&tm, "manifest-gone", 2, 1);
  table = tm_table(&tm, "");
  assert_string_equal(tm_plan(&tm, table, NULL, -1), "0[a]raw(1)");
  tn_table_release(table);
  tm_end(&tm);
}

/* A snapshot that was asked for by its id is not silently another one. */
static void plan__does_not_move_on_from_an_id(void **state) {
  table_maker tm;
  tn_table *table;
  tarn_error error = {0};
  (void)state;
  tm_begin(&tm, 1);
  tm_schema(&tm, 0, "0 a INT", "", "", "bucket=-1");
  {
    const tn_manifest_entry e[] = {tm_entry("a", 1)};
    tn_manifest_file gone = tm_manifest(&tm, e, 1);
    gone.file_name = tn_slice_text("manifest-gone");
    tm_snapshot_parts p = {.id = 1, .time_ms = 1, .delta = tm_list(&tm, &gone, 1)};
    tm_snapshot(&tm, &p);
    tm_commit(&tm, 2, e, 1);
  }
  change_at(&tm, "manifest-gone", 2, 2);
  table = tm_table(&tm, "scan.snapshot-id=1");
  assert_int_equal(tm_plan_status(&tm, table, &error), TARN_E_NOT_FOUND);
  assert_non_null(strstr(error.message, "snapshot 1"));
  tn_table_release(table);
  tm_end(&tm);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(travel__searches_move_up),
      cmocka_unit_test(travel__the_latest_expires_before_it_is_read),
      cmocka_unit_test(plan__moves_on_when_the_latest_expires),
      cmocka_unit_test(plan__does_not_move_on_from_an_id),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
