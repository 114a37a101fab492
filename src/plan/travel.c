/* travel.c - from scan options to a snapshot.
 *
 * Invariants
 *   T1  Options that contradict each other are INVALID before anything is read.
 *   T2  Ids between earliest and latest are contiguous; searches halve the range of ids and move
 *       its lower end up when a snapshot expires under them.
 *   T3  Of snapshots with equal times the last one counts, of equal watermarks the first one.
 */
#include "plan/travel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/ascii.h"
#include "column/datum.h"
#include "plan/plan.h"

#define KEY_MODE "scan.mode"
#define KEY_SNAPSHOT "scan.snapshot-id"
#define KEY_TAG "scan.tag-name"
#define KEY_WATERMARK "scan.watermark"
#define KEY_TIMESTAMP "scan.timestamp"
#define KEY_MILLIS "scan.timestamp-millis"
#define KEY_VERSION "scan.version"
#define KEY_FILE_CREATION "scan.file-creation-time-millis"
#define KEY_CREATION "scan.creation-time-millis"
#define KEY_BETWEEN "incremental-between"
#define KEY_BETWEEN_TIME "incremental-between-timestamp"
#define KEY_AUTO_TAG "incremental-to-auto-tag"
#define KEY_BETWEEN_MODE "incremental-between-scan-mode"
#define KEY_TAG_TO_SNAPSHOT "incremental-between-tag-to-snapshot"

#define WATERMARK_PREFIX "watermark-"
#define MAX_KEYS 14
#define MAX_EXPIRY_RETRIES 16 /* how often a snapshot may vanish between finding and reading it */

typedef enum scan_mode {
  MODE_DEFAULT,
  MODE_LATEST_FULL,
  MODE_LATEST,
  MODE_FROM_TIMESTAMP,
  MODE_FROM_SNAPSHOT,
  MODE_FROM_SNAPSHOT_FULL,
  /* What this release lacks. */
  MODE_LATEST_DELTA,
  MODE_COMPACTED_FULL,
  MODE_FROM_CREATION,
  MODE_FROM_FILE_CREATION,
  MODE_INCREMENTAL
} scan_mode;

/* The keys a mode needs and excludes. */
typedef struct mode_rule {
  const char *name;
  scan_mode mode;
  bool is_supported;
  const char *one_of[4];          /* exactly one must be set; none listed: no such rule */
  const char *excluded[MAX_KEYS]; /* none may be set */
  const char *good_names;         /* NULL: "<key> must be null when you use <mode>" */
} mode_rule;

static const mode_rule modes[] = {
    {"default", MODE_DEFAULT, true, {NULL}, {NULL}, NULL},
    {"latest-full",
     MODE_LATEST_FULL,
     true,
     {NULL},
     {KEY_MILLIS, KEY_FILE_CREATION, KEY_TIMESTAMP, KEY_SNAPSHOT, KEY_TAG, KEY_BETWEEN_TIME,
      KEY_BETWEEN, KEY_AUTO_TAG, KEY_WATERMARK},
     NULL},
    {"full",
     MODE_LATEST_FULL,
     true,
     {NULL},
     {KEY_MILLIS, KEY_FILE_CREATION, KEY_TIMESTAMP, KEY_SNAPSHOT, KEY_TAG, KEY_BETWEEN_TIME,
      KEY_BETWEEN, KEY_AUTO_TAG, KEY_WATERMARK},
     NULL},
    {"latest",
     MODE_LATEST,
     true,
     {NULL},
     {KEY_MILLIS, KEY_FILE_CREATION, KEY_TIMESTAMP, KEY_SNAPSHOT, KEY_TAG, KEY_BETWEEN_TIME,
      KEY_BETWEEN, KEY_AUTO_TAG, KEY_WATERMARK},
     NULL},
    {"from-timestamp",
     MODE_FROM_TIMESTAMP,
     true,
     {KEY_MILLIS, KEY_TIMESTAMP},
     {KEY_SNAPSHOT, KEY_FILE_CREATION, KEY_TAG, KEY_BETWEEN_TIME, KEY_BETWEEN, KEY_AUTO_TAG,
      KEY_WATERMARK},
     KEY_MILLIS "," KEY_TIMESTAMP},
    {"from-snapshot",
     MODE_FROM_SNAPSHOT,
     true,
     {KEY_SNAPSHOT, KEY_TAG, KEY_WATERMARK},
     {KEY_MILLIS, KEY_TIMESTAMP, KEY_FILE_CREATION, KEY_BETWEEN_TIME, KEY_BETWEEN, KEY_AUTO_TAG},
     KEY_SNAPSHOT "," KEY_TAG},
    {"from-snapshot-full",
     MODE_FROM_SNAPSHOT_FULL,
     true,
     {KEY_SNAPSHOT},
     {KEY_MILLIS, KEY_TIMESTAMP, KEY_FILE_CREATION, KEY_TAG, KEY_BETWEEN_TIME, KEY_BETWEEN,
      KEY_AUTO_TAG, KEY_WATERMARK},
     KEY_SNAPSHOT},
    {"latest-delta",
     MODE_LATEST_DELTA,
     false,
     {NULL},
     {KEY_MILLIS, KEY_FILE_CREATION, KEY_CREATION, KEY_TIMESTAMP, KEY_SNAPSHOT, KEY_TAG,
      KEY_WATERMARK, KEY_VERSION, KEY_BETWEEN_TIME, KEY_BETWEEN, KEY_AUTO_TAG, KEY_BETWEEN_MODE,
      KEY_TAG_TO_SNAPSHOT},
     NULL},
    {"compacted-full",
     MODE_COMPACTED_FULL,
     false,
     {NULL},
     {KEY_MILLIS, KEY_FILE_CREATION, KEY_TIMESTAMP, KEY_SNAPSHOT, KEY_TAG, KEY_BETWEEN_TIME,
      KEY_BETWEEN, KEY_AUTO_TAG},
     NULL},
    {"from-creation-timestamp",
     MODE_FROM_CREATION,
     false,
     {NULL},
     {KEY_MILLIS, KEY_FILE_CREATION, KEY_TIMESTAMP, KEY_SNAPSHOT, KEY_TAG, KEY_BETWEEN_TIME,
      KEY_BETWEEN, KEY_AUTO_TAG},
     NULL},
    {"from-file-creation-time",
     MODE_FROM_FILE_CREATION,
     false,
     {KEY_FILE_CREATION},
     {KEY_SNAPSHOT, KEY_MILLIS, KEY_TAG, KEY_BETWEEN_TIME, KEY_BETWEEN, KEY_AUTO_TAG},
     KEY_FILE_CREATION},
    {"incremental",
     MODE_INCREMENTAL,
     false,
     {KEY_BETWEEN, KEY_BETWEEN_TIME, KEY_AUTO_TAG},
     {KEY_SNAPSHOT, KEY_MILLIS, KEY_FILE_CREATION, KEY_TIMESTAMP, KEY_TAG},
     KEY_BETWEEN "," KEY_BETWEEN_TIME "," KEY_AUTO_TAG},
};

/* The startup mode that keys without scan.mode stand for; the first that is set decides. */
static const struct {
  const char *key;
  scan_mode mode;
} implied_modes[] = {
    {KEY_MILLIS, MODE_FROM_TIMESTAMP},
    {KEY_TIMESTAMP, MODE_FROM_TIMESTAMP},
    {KEY_FILE_CREATION, MODE_FROM_FILE_CREATION},
    {KEY_SNAPSHOT, MODE_FROM_SNAPSHOT},
    {KEY_BETWEEN_TIME, MODE_INCREMENTAL},
    {KEY_BETWEEN, MODE_INCREMENTAL},
    {KEY_AUTO_TAG, MODE_INCREMENTAL},
    {KEY_TAG, MODE_FROM_SNAPSHOT},
    {KEY_WATERMARK, MODE_FROM_SNAPSHOT},
    {KEY_VERSION, MODE_FROM_SNAPSHOT},
    {KEY_CREATION, MODE_FROM_CREATION},
};

static bool is_set(const tn_table *table, const char *key) {
  return tn_options_get(&table->options, key) != NULL;
}

static const mode_rule *rule_of(scan_mode mode) {
  for (size_t i = 0; i < TN_COUNT(modes); i++) {
    if (modes[i].mode == mode) {
      return &modes[i];
    }
  }
  return &modes[0];
}

static tarn_status find_mode(const tn_table *table, const mode_rule **out, tarn_error *err) {
  const char *text = tn_options_get(&table->options, KEY_MODE);
  *out = NULL;
  for (size_t i = 0; text != NULL && i < TN_COUNT(modes); i++) {
    if (tn_slice_is_nocase(tn_slice_text(text), modes[i].name)) {
      *out = &modes[i];
    }
  }
  if (text != NULL && *out == NULL) {
    return tn_fail(err, TARN_E_INVALID, "option '" KEY_MODE "': '%s' is not a scan mode", text);
  }
  if (*out == NULL || (*out)->mode == MODE_DEFAULT) {
    scan_mode mode = MODE_LATEST_FULL;
    for (size_t i = 0; i < TN_COUNT(implied_modes); i++) {
      if (is_set(table, implied_modes[i].key)) {
        mode = implied_modes[i].mode;
        break;
      }
    }
    *out = rule_of(mode);
  }
  return TARN_OK;
}

static tarn_status check_one_of(const tn_table *table, const mode_rule *rule, tarn_error *err) {
  int32_t n_keys = 0, n_set = 0;
  char keys[160] = "";
  size_t at = 0;
  for (; n_keys < 4 && rule->one_of[n_keys] != NULL; n_keys++) {
    const char *key = rule->one_of[n_keys];
    n_set += is_set(table, key);
    at += (size_t)snprintf(keys + at, sizeof(keys) - at, "%s%s", n_keys > 0 ? "," : "", key);
  }
  if (rule->mode == MODE_FROM_SNAPSHOT || rule->mode == MODE_FROM_SNAPSHOT_FULL) {
    // It stands for one of these keys; which one is known only after looking for a tag of its name.
    n_set += is_set(table, KEY_VERSION);
  }
  if (n_keys == 1 && n_set == 0) {
    return tn_fail(err, TARN_E_INVALID, "%s can not be null when you use %s for " KEY_MODE, keys,
                   rule->name);
  }
  if (n_keys > 1 && n_set != 1) {
    return tn_fail(err, TARN_E_INVALID,
                   "must set only one key in [%s] when you use %s for " KEY_MODE, keys, rule->name);
  }
  return TARN_OK;
}

tarn_status tn_travel_check(const tn_table *table, tarn_error *err) {
  const mode_rule *rule;
  TN_TRY(find_mode(table, &rule, err));
  TN_TRY(check_one_of(table, rule, err));
  for (size_t i = 0; i < MAX_KEYS && rule->excluded[i] != NULL; i++) {
    const char *key = rule->excluded[i];
    if (!is_set(table, key)) {
      continue;
    }
    if (rule->good_names != NULL) {
      return tn_fail(err, TARN_E_INVALID, "[%s] must be null when you set [%s]", key,
                     rule->good_names);
    }
    return tn_fail(err, TARN_E_INVALID, "%s must be null when you use %s for " KEY_MODE, key,
                   rule->name);
  }
  if (is_set(table, KEY_VERSION) && rule->mode != MODE_FROM_SNAPSHOT &&
      rule->mode != MODE_FROM_SNAPSHOT_FULL) {
    return tn_fail(err, TARN_E_INVALID, KEY_VERSION " must be null when you use %s for " KEY_MODE,
                   rule->name);
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ finding */

typedef struct travel {
  tn_table *table;
  tarn_env *env;
  tn_arena *arena;
  int64_t earliest, latest; /* ids; 0: no snapshot */
} travel;

static tarn_status read_id(travel *t, int64_t id, tn_snapshot *out, tarn_error *err) {
  return tn_snapshot_read(t->env, t->table->storage, t->table->branch_path, id, t->arena, out, err);
}

static tarn_status find_range(travel *t, tarn_error *err) {
  const char *root = t->table->branch_path;
  t->earliest = 0;
  TN_TRY(tn_snapshot_latest_id(t->env, t->table->storage, root, &t->latest, err));
  if (t->latest != 0) {
    TN_TRY(tn_snapshot_earliest_id(t->env, t->table->storage, root, &t->earliest, err));
  }
  if (t->earliest == 0 || t->earliest > t->latest) {
    t->earliest = t->latest;
  }
  return TARN_OK;
}

/* After snapshot `id` was not found: has it expired meanwhile? Then *earliest is what is left. */
static tarn_status moved_up(travel *t, int64_t id, bool *moved, tarn_error *err) {
  int64_t earliest;
  TN_TRY(tn_snapshot_earliest_id(t->env, t->table->storage, t->table->branch_path, &earliest, err));
  *moved = earliest > id;
  if (*moved) {
    t->earliest = earliest;
  }
  return TARN_OK;
}

/* The earliest snapshot that can still be read. */
static tarn_status read_earliest(travel *t, tn_snapshot *out, tarn_error *err) {
  for (int32_t i = 0;; i++) {
    bool moved = false;
    tarn_status st = read_id(t, t->earliest, out, err);
    if (st != TARN_E_NOT_FOUND || i >= MAX_EXPIRY_RETRIES) {
      return st;
    }
    TN_TRY(moved_up(t, t->earliest, &moved, err));
    if (!moved) {
      return read_id(t, t->earliest, out, err);
    }
  }
}

/* Read snapshot `id` of a search between *low and high; NOT_FOUND because it has expired moves *low
 * up and leaves *is_gone. */
static tarn_status read_in_search(travel *t, int64_t id, int64_t *low, bool *is_gone,
                                  tn_snapshot *out, tarn_error *err) {
  tarn_status st = read_id(t, id, out, err);
  *is_gone = false;
  if (st == TARN_E_NOT_FOUND) {
    TN_TRY(moved_up(t, id, is_gone, err));
    if (*is_gone) {
      *low = t->earliest;
      tn_error_reset(err);
      return TARN_OK;
    }
  }
  return st;
}

static tarn_status by_id(travel *t, int64_t id, tn_snapshot *out, tarn_error *err) {
  tarn_status st;
  bool moved = false;
  if (t->latest == 0) {
    return tn_fail(err, TARN_E_NOT_FOUND,
                   "%s: " KEY_SNAPSHOT " %lld: there is currently no snapshot", t->table->full_name,
                   (long long)id);
  }
  if (id >= t->earliest && id <= t->latest) {
    st = read_id(t, id, out, err);
    if (st != TARN_E_NOT_FOUND) {
      return st;
    }
    TN_TRY(moved_up(t, id, &moved, err));
    if (!moved) {
      return st;
    }
  }
  return tn_fail(err, id < t->earliest ? TARN_E_EXPIRED : TARN_E_NOT_FOUND,
                 "%s: " KEY_SNAPSHOT " %lld is out of the available snapshot range [%lld, %lld]%s",
                 t->table->full_name, (long long)id, (long long)t->earliest, (long long)t->latest,
                 id < t->earliest && id > 0 ? ": it has expired" : "");
}

/* The last snapshot with time <= ms. */
static tarn_status by_time(travel *t, int64_t ms, tn_snapshot *out, tarn_error *err) {
  tn_snapshot at;
  int64_t low, high = t->latest;
  bool is_found = false;
  if (t->latest == 0) {
    return tn_fail(err, TARN_E_NOT_FOUND,
                   "%s: there is currently no snapshot earlier than or equal to timestamp [%lld], "
                   "the earliest snapshot's timestamp is [null]",
                   t->table->full_name, (long long)ms);
  }
  TN_TRY(read_earliest(t, &at, err));
  if (at.time_ms > ms) {
    return tn_fail(err, TARN_E_NOT_FOUND,
                   "%s: there is currently no snapshot earlier than or equal to timestamp [%lld], "
                   "the earliest snapshot's timestamp is [%lld]",
                   t->table->full_name, (long long)ms, (long long)at.time_ms);
  }
  *out = at;
  low = at.id + 1;
  while (low <= high) {
    int64_t mid = low + (high - low) / 2;
    bool is_gone;
    TN_TRY(read_in_search(t, mid, &low, &is_gone, &at, err));
    if (is_gone) {
      continue;
    }
    if (at.time_ms <= ms) {
      *out = at;
      is_found = true;
      low = mid + 1;
    } else {
      high = mid - 1;
    }
  }
  if (!is_found && out->id < t->earliest) {
    return tn_fail(err, TARN_E_EXPIRED,
                   "%s: the snapshot of timestamp [%lld] expired while it was looked for",
                   t->table->full_name, (long long)ms);
  }
  return TARN_OK;
}

/* Long.MIN_VALUE is what engines without watermarks write. */
static bool has_mark(const tn_snapshot *s) {
  return s->has_watermark && s->watermark != INT64_MIN;
}

/* The first snapshot with watermark >= mark. Watermarks ascend with ids but may be missing: such a
 * snapshot stands where the nearest earlier one with a watermark stands. */
static tarn_status by_watermark(travel *t, int64_t mark, tn_snapshot *out, tarn_error *err) {
  int64_t low = t->earliest, high = t->latest;
  bool is_found = false;
  while (high > 0 && low <= high) {
    int64_t mid = low + (high - low) / 2, at = mid;
    tn_snapshot s = {0};
    bool is_gone = false;
    do {
      TN_TRY(read_in_search(t, at, &low, &is_gone, &s, err));
    } while (!is_gone && !has_mark(&s) && --at >= low);
    if (is_gone) {
      continue;
    }
    if (at < low || s.watermark < mark) {
      low = mid + 1;
    } else {
      *out = s;
      is_found = true;
      high = at - 1;
    }
  }
  if (!is_found) {
    return tn_fail(err, TARN_E_NOT_FOUND,
                   "%s: there is currently no snapshot later than or equal to watermark[%lld]",
                   t->table->full_name, (long long)mark);
  }
  return TARN_OK;
}

/* scan.timestamp in the session's zone, as milliseconds since 1970. */
static tarn_status parse_time(const travel *t, const char *text, int64_t *ms, tarn_error *err) {
  const tn_type type = {.root = TN_TIMESTAMP, .precision = 3};
  int64_t seconds, rest;
  tn_datum value;
  tarn_status st =
      tn_datum_from_text(t->arena, &type, tn_slice_text(text), t->env->zone, &value, err);
  if (st != TARN_OK) {
    return st == TARN_E_INVALID ? tn_error_context(err, st, "option '" KEY_TIMESTAMP "'") : st;
  }
  seconds = value.v.i64 / 1000;
  rest = value.v.i64 % 1000;
  if (rest < 0) {
    rest += 1000;
    seconds -= 1;
  }
  *ms = tn_zone_local_to_utc(t->env->zone, seconds) * 1000 + rest;
  return TARN_OK;
}

static tarn_status by_tag(travel *t, const char *name, tn_snapshot *out, tarn_error *err) {
  return tn_tag_read(t->env, t->table->storage, t->table->branch_path, name, t->arena, out, err);
}

static bool parse_number(const char *text, int64_t *out) {
  char *end;
  if (*text == '\0' || strchr("0123456789-", *text) == NULL) {
    return false;
  }
  errno = 0;
  *out = strtoll(text, &end, 10);
  return errno == 0 && *end == '\0';
}

/* scan.version: a tag of that name first, then "watermark-<n>", then a snapshot id. */
static tarn_status by_version(travel *t, const char *version, tn_snapshot *out, tarn_error *err) {
  const size_t prefix = sizeof(WATERMARK_PREFIX) - 1;
  int64_t number;
  tarn_status st = by_tag(t, version, out, err);
  if (st != TARN_E_NOT_FOUND) {
    return st;
  }
  tn_error_reset(err);
  if (strncmp(version, WATERMARK_PREFIX, prefix) == 0 && parse_number(version + prefix, &number)) {
    return by_watermark(t, number, out, err);
  }
  if (*version != '-' && parse_number(version, &number)) {
    return by_id(t, number, out, err);
  }
  return tn_fail(err, TARN_E_NOT_FOUND, "%s: cannot find a time travel version for '%s'",
                 t->table->full_name, version);
}

/* The snapshot that options ask for; *asked false: none do. */
static tarn_status find_asked(travel *t, bool *asked, tn_snapshot *out, tarn_error *err) {
  const tn_options *options = &t->table->options;
  const char *text;
  int64_t number;
  bool given;
  *asked = true;
  if ((text = tn_options_get(options, KEY_VERSION)) != NULL) {
    return by_version(t, text, out, err);
  }
  if ((text = tn_options_get(options, KEY_TAG)) != NULL) {
    return by_tag(t, text, out, err);
  }
  if ((text = tn_options_get(options, KEY_TIMESTAMP)) != NULL) {
    TN_TRY(parse_time(t, text, &number, err));
    return by_time(t, number, out, err);
  }
  TN_TRY(tn_options_int(options, KEY_SNAPSHOT, &number, &given, err));
  if (given) {
    return by_id(t, number, out, err);
  }
  TN_TRY(tn_options_int(options, KEY_WATERMARK, &number, &given, err));
  if (given) {
    return by_watermark(t, number, out, err);
  }
  TN_TRY(tn_options_int(options, KEY_MILLIS, &number, &given, err));
  if (given) {
    return by_time(t, number, out, err);
  }
  *asked = false;
  return TARN_OK;
}

/* Reads that would see other rows than a plain scan, and are not there yet. */
static tarn_status check_supported(const tn_table *table, tarn_error *err) {
  static const char *const branch_keys[] = {"scan.fallback-branch", "scan.primary-branch"};
  const mode_rule *rule;
  TN_TRY(find_mode(table, &rule, err));
  if (!rule->is_supported) {
    return tn_fail(err, TARN_E_UNSUPPORTED, "%s: " KEY_MODE " '%s' is not supported yet",
                   table->full_name, rule->name);
  }
  for (size_t i = 0; i < TN_COUNT(branch_keys); i++) {
    if (is_set(table, branch_keys[i])) {
      return tn_fail(err, TARN_E_UNSUPPORTED, "%s: option '%s' is not supported yet",
                     table->full_name, branch_keys[i]);
    }
  }
  return TARN_OK;
}

tarn_status tn_travel_resolve(tn_table *table, tn_arena *arena, tn_travel *out, tarn_error *err) {
  travel t = {table, table->env, arena, 0, 0};
  bool asked;
  memset(out, 0, sizeof(*out));
  TN_TRY(tn_travel_check(table, err));
  TN_TRY(check_supported(table, err));
  TN_TRY(find_range(&t, err));
  TN_TRY(find_asked(&t, &asked, &out->snapshot, err));
  if (asked) {
    out->has_snapshot = true;
    return TARN_OK;
  }
  out->is_latest = true;
  for (int32_t i = 0; t.latest != 0; i++) {
    tarn_status st = read_id(&t, t.latest, &out->snapshot, err);
    int64_t tried = t.latest;
    if (st != TARN_E_NOT_FOUND || i >= MAX_EXPIRY_RETRIES) {
      out->has_snapshot = st == TARN_OK;
      return st;
    }
    // It may have expired or been rolled back between finding and reading it.
    TN_TRY(find_range(&t, err));
    if (t.latest == tried) {
      return read_id(&t, tried, &out->snapshot, err);
    }
  }
  return TARN_OK;
}

tarn_status tn_plan_travel(tn_table *table, tn_table **out, tarn_error *err) {
  tn_arena arena;
  tn_snapshot snapshot;
  tn_schema *schema = NULL;
  travel t = {table, table->env, &arena, 0, 0};
  bool asked = false;
  tarn_status st;
  *out = NULL;
  TN_TRY(tn_travel_check(table, err));
  tn_arena_init(&arena, &table->env->mem, TN_PLAN_ARENA_BYTES);
  st = find_range(&t, err);
  if (st == TARN_OK) {
    st = find_asked(&t, &asked, &snapshot, err);
  }
  if (st == TARN_E_NOMEM) {
    goto done;
  }
  if (st != TARN_OK || !asked || snapshot.schema_id == table->schema->id) {
    tn_error_reset(err);  // planning finds the same fault and tells it then
    *out = tn_table_retain(table);
    st = TARN_OK;
    goto done;
  }
  TN_TRY_TO(done, tn_table_schema(table, snapshot.schema_id, &schema, err));
  TN_TRY_TO(done, tn_table_with_schema(table, schema, out, err));
done:
  tn_schema_release(schema);
  tn_arena_reset(&arena);
  return st;
}
