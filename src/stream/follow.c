/* follow.c - finding the snapshots that a stream follows, and telling when they cannot come. */
#include "stream/follow.h"

#include <stdio.h>

#include "base/civil.h"

#define ARENA_LIMIT ((size_t)1 << 28)

/* A changelog option, which defaults to the snapshots' one, against that. */
static tarn_status is_longer(const tn_table *table, const char *changelog_key,
                             const char *snapshot_key, bool *out, tarn_error *err) {
  int64_t changelog, snapshot;
  bool is_set;
  TN_TRY(tn_options_int(&table->options, changelog_key, &changelog, &is_set, err));
  TN_TRY(tn_options_int(&table->options, snapshot_key, &snapshot, NULL, err));
  *out = *out || (is_set && changelog > snapshot);
  return TARN_OK;
}

tarn_status tn_changelog_is_decoupled(const tn_table *table, bool *out, tarn_error *err) {
  *out = false;
  TN_TRY(is_longer(table, "changelog.num-retained.max", "snapshot.num-retained.max", out, err));
  TN_TRY(is_longer(table, "changelog.time-retained", "snapshot.time-retained", out, err));
  return is_longer(table, "changelog.num-retained.min", "snapshot.num-retained.min", out, err);
}

static tarn_status absent_is_fine(tarn_status st, bool *found, tarn_error *err) {
  *found = st == TARN_OK;
  if (st == TARN_E_NOT_FOUND) {
    tn_error_reset(err);
    st = TARN_OK;
  }
  return st;
}

tarn_status tn_follow_fetch(tn_table *t, bool is_decoupled, int64_t id, tn_arena *arena,
                            tn_snapshot *out, bool *found, tarn_error *err) {
  *found = false;
  if (id < 1) {
    return TARN_OK;
  }
  TN_TRY(absent_is_fine(tn_snapshot_read(t->env, t->storage, t->branch_path, id, arena, out, err),
                        found, err));
  if (!*found && is_decoupled) {
    TN_TRY(absent_is_fine(
        tn_changelog_read(t->env, t->storage, t->branch_path, id, arena, out, err), found, err));
  }
  return TARN_OK;
}

tarn_status tn_follow_earliest(tn_table *t, bool is_decoupled, int64_t *out, tarn_error *err) {
  *out = 0;
  if (is_decoupled) {
    TN_TRY(tn_changelog_earliest_id(t->env, t->storage, t->branch_path, out, err));
  }
  return *out != 0 ? TARN_OK
                   : tn_snapshot_earliest_id(t->env, t->storage, t->branch_path, out, err);
}

tarn_status tn_follow_before(tn_table *t, bool is_decoupled, int64_t ms, tn_arena *arena,
                             int64_t *out, bool *found, bool *is_known, tarn_error *err) {
  int64_t low, high;
  *out = 0;
  *is_known = false;
  TN_TRY(tn_follow_earliest(t, is_decoupled, &low, err));
  TN_TRY(tn_snapshot_latest_id(t->env, t->storage, t->branch_path, &high, err));
  *found = low != 0 && high != 0;
  if (!*found) {
    return TARN_OK;
  }
  *out = low - 1;
  while (low <= high) {
    int64_t middle = low + (high - low) / 2;
    tn_snapshot s;
    bool is_there;
    TN_TRY(tn_follow_fetch(t, is_decoupled, middle, arena, &s, &is_there, err));
    if (is_there && s.time_ms >= ms) {
      high = middle - 1;
      continue;
    }
    // One that is not there has expired meanwhile, and so have those before it.
    if (is_there) {
      *is_known = true;
    }
    *out = middle;
    low = middle + 1;
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ range check */

typedef struct known_ids {
  int64_t earliest, latest; /* 0: none */
  int64_t earliest_ms, latest_ms;
  int64_t changelog_earliest, changelog_latest;
} known_ids;

static tarn_status list_ids(tn_table *t, const char *folder, tn_arena *arena, int64_t *earliest,
                            int64_t *latest, tarn_error *err) {
  int64_t *ids;
  int32_t n;
  TN_TRY(tn_snapshot_ids(t->env, t->storage, t->branch_path, folder, arena, &ids, &n, err));
  *earliest = n > 0 ? ids[0] : 0;
  *latest = n > 0 ? ids[n - 1] : 0;
  return TARN_OK;
}

static void find_time(tn_table *t, int64_t id, tn_arena *arena, int64_t *ms) {
  tn_snapshot s;
  *ms = id != 0 &&
                tn_snapshot_read(t->env, t->storage, t->branch_path, id, arena, &s, NULL) == TARN_OK
            ? s.time_ms
            : -1;
}

typedef struct id_text {
  char text[24];
} id_text;

static id_text text_of(int64_t id) {
  id_text t;
  (void)snprintf(t.text, sizeof(t.text), id != 0 ? "%lld" : "null", (long long)id);
  return t;
}

static tarn_status is_too_big(const tn_table *t, int64_t next, const known_ids *k,
                              tarn_error *err) {
  return tn_fail(err, TARN_E_INVALID,
                 "%s: The next expected snapshot is too big! Most possible cause might be the "
                 "table had been recreated.The next snapshot id is %lld, while the latest snapshot "
                 "id is %s. If the table was dropped and made again, or rolled back below that "
                 "snapshot, start again without state (and reset the consumer)",
                 t->full_name, (long long)next, text_of(k->latest).text);
}

static tarn_status has_expired(const tn_table *t, int64_t next, const known_ids *k, bool decoupled,
                               tarn_error *err) {
  return tn_fail(err, TARN_E_EXPIRED,
                 "%s: The snapshot with id %lld has expired. Earliest Snapshot ID: %s, Time: %lld; "
                 "Latest Snapshot ID: %s, Time: %lld%s%s. You can: 1. increase the snapshot or "
                 "changelog expiration time (snapshot.time-retained, changelog.time-retained). 2. "
                 "use consumer-id to ensure that unconsumed snapshots will not be expired",
                 t->full_name, (long long)next, text_of(k->earliest).text,
                 (long long)k->earliest_ms, text_of(k->latest).text, (long long)k->latest_ms,
                 decoupled ? "; its long-lived changelog is gone, too; earliest changelog: " : "",
                 decoupled ? text_of(k->changelog_earliest).text : "");
}

tarn_status tn_follow_check(tn_table *t, bool is_decoupled, int64_t next, tarn_error *err) {
  known_ids k = {0};
  tarn_status st = TARN_OK;
  tn_snapshot s;
  tn_arena arena;
  bool found;
  tn_arena_init(&arena, &t->env->mem, ARENA_LIMIT);
  TN_TRY_TO(done, list_ids(t, "snapshot", &arena, &k.earliest, &k.latest, err));
  TN_TRY_TO(done,
            list_ids(t, "changelog", &arena, &k.changelog_earliest, &k.changelog_latest, err));
  find_time(t, k.earliest, &arena, &k.earliest_ms);
  find_time(t, k.latest, &arena, &k.latest_ms);
  if (k.earliest == 0 || k.earliest <= next) {
    if ((k.earliest == 0 && next > 1) || (k.latest != 0 && next > k.latest + 1)) {
      st = is_too_big(t, next, &k, err);
    }
    goto done;
  }
  // It is below the snapshots. It may have been written while the folders were listed.
  TN_TRY_TO(done, tn_follow_fetch(t, is_decoupled, next, &arena, &s, &found, err));
  if (!found) {
    st = has_expired(t, next, &k, is_decoupled, err);
  }
done:
  tn_arena_reset(&arena);
  return st;
}
