/* travel.c - from scan options to a snapshot.
 *
 * Invariants
 *   T1  Options that contradict each other are INVALID before anything is read.
 *   T2  What tn_plan_travel() makes of a snapshot is what planning finds: both use find_asked().
 */
#include "plan/travel.h"

#include <stdio.h>

#include "base/ascii.h"
#include "plan/finder.h"
#include "plan/incremental.h"
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
#define KEY_DELTA_COMMITS "full-compaction.delta-commits"

#define WATERMARK_PREFIX "watermark-"
#define MAX_KEYS 14

typedef enum scan_mode {
  MODE_DEFAULT,
  MODE_LATEST_FULL,
  MODE_LATEST,
  MODE_FROM_TIMESTAMP,
  MODE_FROM_SNAPSHOT,
  MODE_FROM_SNAPSHOT_FULL,
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
  const char *one_of[4];          /* exactly one must be set; none listed: no such rule */
  const char *excluded[MAX_KEYS]; /* none may be set */
  const char *good_names;         /* NULL: "<key> must be null when you use <mode>" */
} mode_rule;

static const mode_rule modes[] = {
    {"default", MODE_DEFAULT, {NULL}, {NULL}, NULL},
    {"latest-full",
     MODE_LATEST_FULL,
     {NULL},
     {KEY_MILLIS, KEY_FILE_CREATION, KEY_TIMESTAMP, KEY_SNAPSHOT, KEY_TAG, KEY_BETWEEN_TIME,
      KEY_BETWEEN, KEY_AUTO_TAG, KEY_WATERMARK},
     NULL},
    {"full",
     MODE_LATEST_FULL,
     {NULL},
     {KEY_MILLIS, KEY_FILE_CREATION, KEY_TIMESTAMP, KEY_SNAPSHOT, KEY_TAG, KEY_BETWEEN_TIME,
      KEY_BETWEEN, KEY_AUTO_TAG, KEY_WATERMARK},
     NULL},
    {"latest",
     MODE_LATEST,
     {NULL},
     {KEY_MILLIS, KEY_FILE_CREATION, KEY_TIMESTAMP, KEY_SNAPSHOT, KEY_TAG, KEY_BETWEEN_TIME,
      KEY_BETWEEN, KEY_AUTO_TAG, KEY_WATERMARK},
     NULL},
    {"from-timestamp",
     MODE_FROM_TIMESTAMP,
     {KEY_MILLIS, KEY_TIMESTAMP},
     {KEY_SNAPSHOT, KEY_FILE_CREATION, KEY_TAG, KEY_BETWEEN_TIME, KEY_BETWEEN, KEY_AUTO_TAG,
      KEY_WATERMARK},
     KEY_MILLIS "," KEY_TIMESTAMP},
    {"from-snapshot",
     MODE_FROM_SNAPSHOT,
     {KEY_SNAPSHOT, KEY_TAG, KEY_WATERMARK},
     {KEY_MILLIS, KEY_TIMESTAMP, KEY_FILE_CREATION, KEY_BETWEEN_TIME, KEY_BETWEEN, KEY_AUTO_TAG},
     KEY_SNAPSHOT "," KEY_TAG},
    {"from-snapshot-full",
     MODE_FROM_SNAPSHOT_FULL,
     {KEY_SNAPSHOT},
     {KEY_MILLIS, KEY_TIMESTAMP, KEY_FILE_CREATION, KEY_TAG, KEY_BETWEEN_TIME, KEY_BETWEEN,
      KEY_AUTO_TAG, KEY_WATERMARK},
     KEY_SNAPSHOT},
    {"latest-delta",
     MODE_LATEST_DELTA,
     {NULL},
     {KEY_MILLIS, KEY_FILE_CREATION, KEY_CREATION, KEY_TIMESTAMP, KEY_SNAPSHOT, KEY_TAG,
      KEY_WATERMARK, KEY_VERSION, KEY_BETWEEN_TIME, KEY_BETWEEN, KEY_AUTO_TAG, KEY_BETWEEN_MODE,
      KEY_TAG_TO_SNAPSHOT},
     NULL},
    {"compacted-full",
     MODE_COMPACTED_FULL,
     {NULL},
     {KEY_MILLIS, KEY_FILE_CREATION, KEY_TIMESTAMP, KEY_SNAPSHOT, KEY_TAG, KEY_BETWEEN_TIME,
      KEY_BETWEEN, KEY_AUTO_TAG},
     NULL},
    {"from-creation-timestamp",
     MODE_FROM_CREATION,
     {NULL},
     {KEY_MILLIS, KEY_FILE_CREATION, KEY_TIMESTAMP, KEY_SNAPSHOT, KEY_TAG, KEY_BETWEEN_TIME,
      KEY_BETWEEN, KEY_AUTO_TAG},
     NULL},
    {"from-file-creation-time",
     MODE_FROM_FILE_CREATION,
     {KEY_FILE_CREATION},
     {KEY_SNAPSHOT, KEY_MILLIS, KEY_TAG, KEY_BETWEEN_TIME, KEY_BETWEEN, KEY_AUTO_TAG},
     KEY_FILE_CREATION},
    {"incremental",
     MODE_INCREMENTAL,
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

static tarn_status by_time(tn_finder *f, int64_t ms, tn_snapshot *out, tarn_error *err) {
  char earliest[24] = "null";
  bool found;
  TN_TRY(tn_find_time(f, ms, &found, out, err));
  if (found) {
    return TARN_OK;
  }
  if (f->latest != 0) {
    (void)snprintf(earliest, sizeof(earliest), "%lld", (long long)out->time_ms);
  }
  return tn_fail(err, TARN_E_NOT_FOUND,
                 "%s: there is currently no snapshot earlier than or equal to timestamp [%lld], "
                 "the earliest snapshot's timestamp is [%s]",
                 f->table->full_name, (long long)ms, earliest);
}

static tarn_status by_watermark(tn_finder *f, int64_t mark, tn_snapshot *out, tarn_error *err) {
  bool found;
  TN_TRY(tn_find_watermark(f, mark, &found, out, err));
  return found ? TARN_OK
               : tn_fail(err, TARN_E_NOT_FOUND,
                         "%s: there is currently no snapshot later than or equal to "
                         "watermark[%lld]",
                         f->table->full_name, (long long)mark);
}

/* scan.version: a tag of that name first, then "watermark-<n>", then a snapshot id. */
static tarn_status by_version(tn_finder *f, const char *version, tn_snapshot *out,
                              tarn_error *err) {
  const size_t prefix = sizeof(WATERMARK_PREFIX) - 1;
  int64_t number;
  tarn_status st = tn_find_tag(f, version, out, err);
  if (st != TARN_E_NOT_FOUND) {
    return st;
  }
  tn_error_reset(err);
  if (strncmp(version, WATERMARK_PREFIX, prefix) == 0 &&
      tn_find_parse_id(version + prefix, &number)) {
    return by_watermark(f, number, out, err);
  }
  if (*version != '-' && *version != '+' && tn_find_parse_id(version, &number)) {
    return tn_find_id(f, KEY_SNAPSHOT, number, out, err);
  }
  return tn_fail(err, TARN_E_NOT_FOUND, "%s: cannot find a time travel version for '%s'",
                 f->table->full_name, version);
}

/* The snapshot that options ask for; *asked false: none do. */
static tarn_status find_asked(tn_finder *f, bool *asked, tn_snapshot *out, tarn_error *err) {
  const tn_options *options = &f->table->options;
  const char *text;
  int64_t number;
  bool given;
  *asked = true;
  if ((text = tn_options_get(options, KEY_VERSION)) != NULL) {
    return by_version(f, text, out, err);
  }
  if ((text = tn_options_get(options, KEY_TAG)) != NULL) {
    return tn_find_tag(f, text, out, err);
  }
  if ((text = tn_options_get(options, KEY_TIMESTAMP)) != NULL) {
    TN_TRY(tn_find_parse_time(f, KEY_TIMESTAMP, text, &number, err));
    return by_time(f, number, out, err);
  }
  TN_TRY(tn_options_int(options, KEY_SNAPSHOT, &number, &given, err));
  if (given) {
    return tn_find_id(f, KEY_SNAPSHOT, number, out, err);
  }
  TN_TRY(tn_options_int(options, KEY_WATERMARK, &number, &given, err));
  if (given) {
    return by_watermark(f, number, out, err);
  }
  TN_TRY(tn_options_int(options, KEY_MILLIS, &number, &given, err));
  if (given) {
    return by_time(f, number, out, err);
  }
  *asked = false;
  return TARN_OK;
}

/* ------------------------------------------------------------------ modes */

static tarn_status start_at_asked(tn_finder *f, tn_travel *out, tarn_error *err) {
  TN_TRY(find_asked(f, &out->has_snapshot, &out->snapshot, err));
  out->is_latest = !out->has_snapshot;
  return out->has_snapshot ? TARN_OK : tn_find_latest(f, &out->has_snapshot, &out->snapshot, err);
}

static tarn_status start_at_latest(tn_finder *f, tn_travel *out, tarn_error *err) {
  out->is_latest = true;
  return tn_find_latest(f, &out->has_snapshot, &out->snapshot, err);
}

/* What the latest snapshot added, unless it compacted or overwrote. */
static tarn_status start_at_latest_delta(tn_finder *f, tn_travel *out, tarn_error *err) {
  TN_TRY(start_at_latest(f, out, err));
  out->kind = TN_PLAN_DELTA;
  out->is_incremental = true;
  out->after_id = out->snapshot.id - 1;
  return TARN_OK;
}

/* commits: of a full compaction; 0: any compaction will do. */
static bool is_compacted(const void *ctx, const tn_snapshot *s) {
  int64_t commits = *(const int64_t *)ctx;
  return s->commit_kind == TN_COMMIT_COMPACT &&
         (commits == 0 || s->commit_identifier % commits == 0 || s->commit_identifier == INT64_MAX);
}

static tarn_status start_at_compacted(tn_finder *f, tn_travel *out, tarn_error *err) {
  const tn_table *table = f->table;
  int64_t commits;
  bool is_set;
  TN_TRY(tn_options_int(&table->options, KEY_DELTA_COMMITS, &commits, &is_set, err));
  if (is_set && commits == 0) {
    return tn_fail(err, TARN_E_INVALID, "option '" KEY_DELTA_COMMITS "': 0 commits");
  }
  if (!is_set) {
    commits = table->facts.changelog_producer == TN_CHANGELOG_FULL_COMPACTION ? 1 : 0;
  }
  TN_TRY(tn_find_last(f, is_compacted, &commits, &out->has_snapshot, &out->snapshot, err));
  return out->has_snapshot ? TARN_OK : start_at_latest(f, out, err);
}

static tarn_status start_at_file_creation(tn_finder *f, int64_t ms, tn_travel *out,
                                          tarn_error *err) {
  out->has_min_creation = true;
  out->min_creation_ms = ms;
  return start_at_latest(f, out, err);
}

/* Was the snapshot before the earliest one, of which the changelog is still kept, earlier? */
static tarn_status was_earlier(const tn_finder *f, int64_t ms, bool *out, tarn_error *err) {
  const tn_table *t = f->table;
  tn_snapshot changes;
  tarn_status st;
  *out = false;
  if (f->earliest <= 1) {
    return TARN_OK;
  }
  st = tn_changelog_read(t->env, t->storage, t->branch_path, f->earliest - 1, f->arena, &changes,
                         err);
  if (st == TARN_E_NOT_FOUND) {
    tn_error_reset(err);
    return TARN_OK;
  }
  *out = st == TARN_OK && changes.time_ms < ms;
  return st;
}

/* The first snapshot that is not earlier than the time, read in full. Where there is none, or none
 * is known to have been before it, the files that were created since. */
static tarn_status start_at_creation(tn_finder *f, tn_travel *out, tarn_error *err) {
  int64_t ms;
  bool is_set, found = false;
  TN_TRY(tn_options_int(&f->table->options, KEY_CREATION, &ms, &is_set, err));
  if (!is_set) {
    return tn_fail(err, TARN_E_INVALID,
                   KEY_CREATION
                   " can not be null when you use from-creation-timestamp for " KEY_MODE);
  }
  if (ms > INT64_MIN) {
    TN_TRY(tn_find_time(f, ms - 1, &found, &out->snapshot, err));
  }
  if (found && out->snapshot.id < f->latest) {
    out->has_snapshot = true;
    return tn_find_id(f, KEY_CREATION, out->snapshot.id + 1, &out->snapshot, err);
  }
  if (!found) {
    TN_TRY(was_earlier(f, ms, &out->has_snapshot, err));
    if (out->has_snapshot) {
      return tn_find_earliest(f, &out->snapshot, err);
    }
  }
  return start_at_file_creation(f, ms, out, err);
}

tarn_status tn_travel_resolve(tn_table *table, tn_arena *arena, tn_travel *out, tarn_error *err) {
  const mode_rule *rule;
  tn_finder f;
  int64_t ms;
  bool is_set;
  memset(out, 0, sizeof(*out));
  TN_TRY(tn_travel_check(table, err));
  TN_TRY(find_mode(table, &rule, err));
  TN_TRY(tn_finder_init(&f, table, arena, err));
  switch (rule->mode) {
    case MODE_INCREMENTAL:
      return tn_incremental_resolve(&f, out, err);
    case MODE_LATEST_DELTA:
      return start_at_latest_delta(&f, out, err);
    case MODE_COMPACTED_FULL:
      return start_at_compacted(&f, out, err);
    case MODE_FROM_FILE_CREATION:
      TN_TRY(tn_options_int(&table->options, KEY_FILE_CREATION, &ms, &is_set, err));
      return start_at_file_creation(&f, ms, out, err);
    case MODE_FROM_CREATION:
      return start_at_creation(&f, out, err);
    default:
      return start_at_asked(&f, out, err);
  }
}

tarn_status tn_plan_travel(tn_table *table, tn_table **out, tarn_error *err) {
  tn_arena arena;
  tn_snapshot snapshot;
  tn_schema *schema = NULL;
  tn_finder f;
  bool asked = false;
  tarn_status st;
  *out = NULL;
  TN_TRY(tn_travel_check(table, err));
  tn_arena_init(&arena, &table->env->mem, TN_PLAN_ARENA_BYTES);
  st = tn_finder_init(&f, table, &arena, err);
  if (st == TARN_OK) {
    st = find_asked(&f, &asked, &snapshot, err);
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
