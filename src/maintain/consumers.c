/* consumers.c - files of consumers. */
#include "maintain/consumers.h"

#include <regex.h>

#include "maintain/names.h"
#include "model/listing.h"
#include "model/snapshot_write.h"

#define ARENA_LIMIT ((size_t)1 << 28)
#define PATTERN_LIMIT 4096

static tarn_status consumer_path(const tn_table *t, tn_arena *arena, const char *id,
                                 const char **out, tarn_error *err) {
  *out = tn_arena_printf(arena, "%s/consumer/consumer-%s", t->branch_path, id);
  return *out != NULL ? TARN_OK : tn_oom(err);
}

tarn_status tn_consumer_set(tn_table *table, const char *id, int64_t next_snapshot,
                            tarn_error *err) {
  tarn_status st = TARN_OK;
  const char *path;
  uint8_t bytes[64];
  tn_arena arena;
  tn_buf json;
  if (tn_name_is_blank(id)) {
    return tn_fail(err, TARN_E_INVALID, "the id of a consumer must not be blank");
  }
  TN_TRY(tn_name_check("consumer", id, err));
  if (next_snapshot < 1) {
    return tn_fail(err, TARN_E_INVALID, "the next snapshot of consumer '%s' cannot be %lld", id,
                   (long long)next_snapshot);
  }
  tn_buf_over(&json, bytes, sizeof(bytes));
  tn_arena_init(&arena, &table->env->mem, ARENA_LIMIT);
  TN_TRY_TO(done, consumer_path(table, &arena, id, &path, err));
  TN_TRY_TO(done, tn_consumer_encode(next_snapshot, &json, err));
  TN_TRY_TO(done, tn_storage_replace(table->storage, path, tn_buf_slice(&json), true, err));
done:
  tn_arena_reset(&arena);
  return st;
}

tarn_status tn_consumer_delete(tn_table *table, const char *id, tarn_error *err) {
  tarn_status st = TARN_E_NOT_FOUND;
  const char *path;
  tn_file_info info;
  tn_arena arena;
  tn_arena_init(&arena, &table->env->mem, ARENA_LIMIT);
  if (!tn_name_is_blank(id) && strchr(id, '/') == NULL) {
    TN_TRY_TO(done, consumer_path(table, &arena, id, &path, err));
    st = tn_storage_info(table->storage, path, &info, err);
  }
  if (st == TARN_E_NOT_FOUND) {
    st = tn_fail(err, st, "consumer '%s' does not exist", id);
    goto done;
  }
  TN_TRY_TO(done, st);
  TN_TRY_TO(done, tn_storage_remove(table->storage, path, err));
done:
  tn_arena_reset(&arena);
  return st;
}

/* ------------------------------------------------------------------ many */

/* Should this one go? */
typedef tarn_status (*consumer_test)(void *ctx, const char *id, const char *path, bool *out,
                                     tarn_error *err);

static tarn_status delete_matching(tn_table *t, tn_arena *arena, consumer_test test, void *ctx,
                                   int64_t *n_deleted, tarn_error *err) {
  const char *folder = tn_path_join(arena, t->branch_path, "consumer", NULL), *path, **ids;
  int32_t n;
  bool goes;
  if (folder == NULL) {
    return tn_oom(err);
  }
  TN_TRY(tn_listing_names(t->storage, folder, "consumer-", false, arena, &ids, &n, err));
  for (int32_t i = 0; i < n; i++) {
    TN_TRY(consumer_path(t, arena, ids[i], &path, err));
    TN_TRY(test(ctx, ids[i], path, &goes, err));
    if (goes) {
      TN_TRY(tn_storage_remove(t->storage, path, err));
      ++*n_deleted;
    }
  }
  return TARN_OK;
}

typedef struct patterns {
  regex_t including, excluding;
  bool has_excluding;
} patterns;

static tarn_status matches(void *ctx, const char *id, const char *path, bool *out,
                           tarn_error *err) {
  const patterns *p = ctx;
  (void)path;
  (void)err;
  *out = regexec(&p->including, id, 0, NULL, 0) == 0 &&
         (!p->has_excluding || regexec(&p->excluding, id, 0, NULL, 0) != 0);
  return TARN_OK;
}

static tarn_status compile(tn_arena *arena, const char *text, regex_t *out, tarn_error *err) {
  const char *whole = tn_arena_printf(arena, "^(%s)$", text);
  char why[128];
  int rc;
  if (whole == NULL) {
    return tn_oom(err);
  }
  if (strlen(text) > PATTERN_LIMIT) {
    return tn_fail(err, TARN_E_LIMIT, "a pattern longer than %d bytes", PATTERN_LIMIT);
  }
  rc = regcomp(out, whole, REG_EXTENDED | REG_NOSUB);
  if (rc == REG_ESPACE) {
    return tn_oom(err);
  }
  if (rc != 0) {
    regerror(rc, NULL, why, sizeof(why));
    return tn_fail(err, TARN_E_INVALID, "pattern '%s': %s", text, why);
  }
  return TARN_OK;
}

tarn_status tn_consumers_clear(tn_table *table, const char *including, const char *excluding,
                               int64_t *n_deleted, tarn_error *err) {
  int64_t n = 0;
  tarn_status st = TARN_OK;
  tn_arena arena;
  patterns p = {.has_excluding = false};
  bool has_including = false;
  tn_arena_init(&arena, &table->env->mem, ARENA_LIMIT);
  TN_TRY_TO(done, compile(&arena, including, &p.including, err));
  has_including = true;
  if (excluding != NULL) {
    TN_TRY_TO(done, compile(&arena, excluding, &p.excluding, err));
    p.has_excluding = true;
  }
  TN_TRY_TO(done, delete_matching(table, &arena, matches, &p, &n, err));
done:
  if (has_including) {
    regfree(&p.including);
  }
  if (p.has_excluding) {
    regfree(&p.excluding);
  }
  if (n_deleted != NULL) {
    *n_deleted = n;
  }
  tn_arena_reset(&arena);
  return st;
}

typedef struct age {
  tn_table *table;
  int64_t older_than_ms;
} age;

static tarn_status is_older(void *ctx, const char *id, const char *path, bool *out,
                            tarn_error *err) {
  const age *a = ctx;
  tn_file_info info;
  tarn_status st = tn_storage_info(a->table->storage, path, &info, err);
  (void)id;
  *out = st == TARN_OK && info.modified_ms < a->older_than_ms;
  if (st == TARN_E_NOT_FOUND) {
    tn_error_reset(err);
    st = TARN_OK;
  }
  return st;
}

tarn_status tn_consumers_expire(tn_table *table, int64_t *n_deleted, tarn_error *err) {
  int64_t n = 0, retained_ms;
  tarn_status st;
  tn_arena arena;
  bool is_set;
  age a = {.table = table};
  TN_TRY(tn_options_int(&table->options, "consumer.expiration-time", &retained_ms, &is_set, err));
  if (is_set) {
    a.older_than_ms = tn_env_now_ms(table->env) - retained_ms;
    tn_arena_init(&arena, &table->env->mem, ARENA_LIMIT);
    st = delete_matching(table, &arena, is_older, &a, &n, err);
    tn_arena_reset(&arena);
    TN_TRY(st);
  }
  if (n_deleted != NULL) {
    *n_deleted = n;
  }
  return TARN_OK;
}
