/* finder.c - looking for snapshots. */
#include "plan/finder.h"

#include <errno.h>
#include <stdlib.h>

#include "column/datum.h"

#define MAX_EXPIRY_RETRIES 16 /* how often a snapshot may vanish between finding and reading it */

static tarn_status read_id(tn_finder *f, int64_t id, tn_snapshot *out, tarn_error *err) {
  const tn_table *t = f->table;
  return tn_snapshot_read(t->env, t->storage, f->root, id, f->arena, out, err);
}

tarn_status tn_finder_init(tn_finder *f, tn_table *table, tn_arena *arena, tarn_error *err) {
  return tn_finder_init_branch(f, table, table->branch_path, arena, err);
}

tarn_status tn_finder_init_branch(tn_finder *f, tn_table *table, const char *root, tn_arena *arena,
                                  tarn_error *err) {
  *f = (tn_finder){.table = table, .root = root, .arena = arena};
  TN_TRY(tn_snapshot_latest_id(table->env, table->storage, root, &f->latest, err));
  if (f->latest != 0) {
    TN_TRY(tn_snapshot_earliest_id(table->env, table->storage, root, &f->earliest, err));
  }
  if (f->earliest == 0 || f->earliest > f->latest) {
    f->earliest = f->latest;
  }
  return TARN_OK;
}

/* After snapshot `id` was not found: has it expired meanwhile? Then earliest is what is left. */
static tarn_status moved_up(tn_finder *f, int64_t id, bool *moved, tarn_error *err) {
  const tn_table *t = f->table;
  int64_t earliest;
  TN_TRY(tn_snapshot_earliest_id(t->env, t->storage, f->root, &earliest, err));
  *moved = earliest > id;
  if (*moved) {
    f->earliest = earliest;
  }
  return TARN_OK;
}

tarn_status tn_find_earliest(tn_finder *f, tn_snapshot *out, tarn_error *err) {
  for (int32_t i = 0;; i++) {
    bool moved = false;
    tarn_status st = read_id(f, f->earliest, out, err);
    if (st != TARN_E_NOT_FOUND || i >= MAX_EXPIRY_RETRIES) {
      return st;
    }
    TN_TRY(moved_up(f, f->earliest, &moved, err));
    if (!moved) {
      return read_id(f, f->earliest, out, err);
    }
  }
}

tarn_status tn_find_latest(tn_finder *f, bool *found, tn_snapshot *out, tarn_error *err) {
  *found = false;
  for (int32_t i = 0; f->latest != 0; i++) {
    tarn_status st = read_id(f, f->latest, out, err);
    int64_t tried = f->latest;
    if (st != TARN_E_NOT_FOUND || i >= MAX_EXPIRY_RETRIES) {
      *found = st == TARN_OK;
      return st;
    }
    // It may have expired or been rolled back between finding and reading it.
    TN_TRY(tn_finder_init_branch(f, f->table, f->root, f->arena, err));
    if (f->latest == tried) {
      return read_id(f, tried, out, err);
    }
  }
  return TARN_OK;
}

/* Read snapshot `id` of a search between *low and high; NOT_FOUND because it has expired moves *low
 * up and leaves *is_gone. */
static tarn_status read_in_search(tn_finder *f, int64_t id, int64_t *low, bool *is_gone,
                                  tn_snapshot *out, tarn_error *err) {
  tarn_status st = read_id(f, id, out, err);
  *is_gone = false;
  if (st == TARN_E_NOT_FOUND) {
    TN_TRY(moved_up(f, id, is_gone, err));
    if (*is_gone) {
      *low = f->earliest;
      tn_error_reset(err);
      return TARN_OK;
    }
  }
  return st;
}

tarn_status tn_find_id(tn_finder *f, const char *key, int64_t id, tn_snapshot *out,
                       tarn_error *err) {
  tarn_status st;
  bool moved = false;
  if (f->latest == 0) {
    return tn_fail(err, TARN_E_NOT_FOUND, "%s: %s %lld: there is currently no snapshot",
                   f->table->full_name, key, (long long)id);
  }
  if (id >= f->earliest && id <= f->latest) {
    st = read_id(f, id, out, err);
    if (st != TARN_E_NOT_FOUND) {
      return st;
    }
    TN_TRY(moved_up(f, id, &moved, err));
    if (!moved) {
      return st;
    }
  }
  return tn_fail(err, id < f->earliest ? TARN_E_EXPIRED : TARN_E_NOT_FOUND,
                 "%s: %s %lld is out of the available snapshot range [%lld, %lld]%s",
                 f->table->full_name, key, (long long)id, (long long)f->earliest,
                 (long long)f->latest, id < f->earliest && id > 0 ? ": it has expired" : "");
}

tarn_status tn_find_time(tn_finder *f, int64_t ms, bool *found, tn_snapshot *out, tarn_error *err) {
  tn_snapshot at;
  int64_t low, high = f->latest;
  bool is_first = true;
  *found = false;
  if (f->latest == 0) {
    return TARN_OK;
  }
  TN_TRY(tn_find_earliest(f, &at, err));
  *out = at;
  if (at.time_ms > ms) {
    return TARN_OK;
  }
  low = at.id + 1;
  while (low <= high) {
    int64_t mid = low + (high - low) / 2;
    bool is_gone;
    TN_TRY(read_in_search(f, mid, &low, &is_gone, &at, err));
    if (is_gone) {
      continue;
    }
    if (at.time_ms <= ms) {
      *out = at;
      is_first = false;
      low = mid + 1;
    } else {
      high = mid - 1;
    }
  }
  if (is_first && out->id < f->earliest) {
    return tn_fail(err, TARN_E_EXPIRED,
                   "%s: the snapshot of timestamp [%lld] expired while it was looked for",
                   f->table->full_name, (long long)ms);
  }
  *found = true;
  return TARN_OK;
}

/* Long.MIN_VALUE is what engines without watermarks write. */
static bool has_mark(const tn_snapshot *s) {
  return s->has_watermark && s->watermark != INT64_MIN;
}

/* Watermarks ascend with ids but may be missing: such a snapshot stands where the nearest earlier
 * one with a watermark stands. */
tarn_status tn_find_watermark(tn_finder *f, int64_t mark, bool *found, tn_snapshot *out,
                              tarn_error *err) {
  int64_t low = f->earliest, high = f->latest;
  *found = false;
  while (high > 0 && low <= high) {
    int64_t mid = low + (high - low) / 2, at = mid;
    tn_snapshot s = {0};
    bool is_gone = false;
    do {
      TN_TRY(read_in_search(f, at, &low, &is_gone, &s, err));
    } while (!is_gone && !has_mark(&s) && --at >= low);
    if (is_gone) {
      continue;
    }
    if (at < low || s.watermark < mark) {
      low = mid + 1;
    } else {
      *out = s;
      *found = true;
      high = at - 1;
    }
  }
  return TARN_OK;
}

tarn_status tn_find_last(tn_finder *f, bool (*test)(const void *ctx, const tn_snapshot *s),
                         const void *ctx, bool *found, tn_snapshot *out, tarn_error *err) {
  *found = false;
  for (int64_t id = f->latest; id > 0 && id >= f->earliest; id--) {
    tarn_status st = read_id(f, id, out, err);
    if (st == TARN_OK && test(ctx, out)) {
      *found = true;
      return TARN_OK;
    }
    if (st != TARN_OK && st != TARN_E_NOT_FOUND) {
      return st;
    }
    tn_error_reset(err);
  }
  return TARN_OK;
}

tarn_status tn_find_tag(tn_finder *f, const char *name, tn_snapshot *out, tarn_error *err) {
  const tn_table *t = f->table;
  return tn_tag_read(t->env, t->storage, f->root, name, f->arena, out, err);
}

tarn_status tn_find_parse_time(const tn_finder *f, const char *key, const char *text, int64_t *ms,
                               tarn_error *err) {
  const tn_type type = {.root = TN_TIMESTAMP, .precision = 3};
  const tn_zone *zone = f->table->env->zone;
  int64_t seconds, rest;
  tn_datum value;
  tarn_status st = tn_datum_from_text(f->arena, &type, tn_slice_text(text), zone, &value, err);
  if (st != TARN_OK) {
    return st == TARN_E_INVALID ? tn_error_context(err, st, "option '%s'", key) : st;
  }
  seconds = value.v.i64 / 1000;
  rest = value.v.i64 % 1000;
  if (rest < 0) {
    rest += 1000;
    seconds -= 1;
  }
  *ms = tn_zone_local_to_utc(zone, seconds) * 1000 + rest;
  return TARN_OK;
}

bool tn_find_parse_id(const char *text, int64_t *out) {
  const char *digits = text + (*text == '-' || *text == '+');
  if (*digits == '\0' || digits[strspn(digits, "0123456789")] != '\0') {
    return false;
  }
  errno = 0;
  *out = strtoll(text, NULL, 10);
  return errno == 0;
}
