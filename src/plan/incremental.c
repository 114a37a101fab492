/* incremental.c - from incremental options to a range of snapshots. */
#include "plan/incremental.h"

#include "base/civil.h"

#define KEY_BETWEEN "incremental-between"
#define KEY_BETWEEN_TIME "incremental-between-timestamp"
#define KEY_AUTO_TAG "incremental-to-auto-tag"
#define KEY_SCAN_MODE "incremental-between-scan-mode"
#define KEY_TAG_TO_SNAPSHOT "incremental-between-tag-to-snapshot"

/* incremental-between-scan-mode, as the option lists its values. */
enum { SCAN_AUTO, SCAN_DELTA, SCAN_CHANGELOG, SCAN_DIFF };

/* ------------------------------------------------------------------ two ends */

/* "a,b" as String.split has it: empty parts at the end do not count. */
static tarn_status split_pair(tn_finder *f, const char *text, const char *pair[2], bool *is_pair,
                              tarn_error *err) {
  char *copy = tn_arena_strdup(f->arena, text), *comma;
  size_t n;
  *is_pair = false;
  if (copy == NULL) {
    return tn_oom(err);
  }
  for (n = strlen(copy); n > 0 && copy[n - 1] == ','; n--) {
    copy[n - 1] = '\0';
  }
  comma = strchr(copy, ',');
  if (comma != NULL && strchr(comma + 1, ',') == NULL) {
    *comma = '\0';
    pair[0] = copy;
    pair[1] = comma + 1;
    *is_pair = true;
  }
  return TARN_OK;
}

/* The mode of a range of snapshots; a diff where it may be one. */
static tarn_status find_kind(const tn_finder *f, bool allows_diff, tn_plan_kind *out,
                             tarn_error *err) {
  const tn_table *table = f->table;
  int32_t mode;
  TN_TRY(tn_options_enum(&table->options, KEY_SCAN_MODE, &mode, err));
  if (mode == SCAN_DIFF && !allows_diff) {
    return tn_fail(err, TARN_E_INVALID, "%s: Unsupported incremental scan mode DIFF with '%s'",
                   table->full_name, KEY_TAG_TO_SNAPSHOT);
  }
  if (mode == SCAN_AUTO) {
    mode = table->facts.changelog_producer == TN_CHANGELOG_NONE ? SCAN_DELTA : SCAN_CHANGELOG;
  }
  *out = mode == SCAN_DIFF        ? TN_PLAN_DIFF
         : mode == SCAN_CHANGELOG ? TN_PLAN_CHANGELOG
                                  : TN_PLAN_DELTA;
  return TARN_OK;
}

static tarn_status take_changes(tn_finder *f, tn_plan_kind kind, int64_t after, int64_t to,
                                tn_travel *out, tarn_error *err) {
  if (after < f->earliest - 1 || to > f->latest) {
    return tn_fail(err, after < f->earliest - 1 && after >= 0 ? TARN_E_EXPIRED : TARN_E_NOT_FOUND,
                   "%s: the specified scan snapshotId range [%lld, %lld] is out of available "
                   "snapshotId range [%lld, %lld]",
                   f->table->full_name, (long long)after, (long long)to, (long long)f->earliest,
                   (long long)f->latest);
  }
  out->kind = kind;
  out->after_id = after;
  out->has_snapshot = after < to;
  return out->has_snapshot ? tn_find_id(f, KEY_BETWEEN, to, &out->snapshot, err) : TARN_OK;
}

static void take_diff(const tn_snapshot *before, const tn_snapshot *after, tn_travel *out) {
  out->kind = TN_PLAN_DIFF;
  out->has_snapshot = before->id != after->id;
  out->before = *before;
  out->snapshot = *after;
}

/* ------------------------------------------------------------------ incremental-between */

static tarn_status between_tags(tn_finder *f, const char *const names[2], const tn_snapshot tags[2],
                                tn_travel *out, tarn_error *err) {
  bool to_snapshot;
  TN_TRY(tn_options_bool(&f->table->options, KEY_TAG_TO_SNAPSHOT, &to_snapshot, err));
  if (to_snapshot) {
    tn_plan_kind kind;
    TN_TRY(find_kind(f, false, &kind, err));
    return take_changes(f, kind, tags[0].id, tags[1].id, out, err);
  }
  if (tags[1].id < tags[0].id) {
    return tn_fail(err, TARN_E_INVALID,
                   "%s: Tag end %s with snapshot id %lld should be >= tag start %s with snapshot "
                   "id %lld",
                   f->table->full_name, names[1], (long long)tags[1].id, names[0],
                   (long long)tags[0].id);
  }
  take_diff(&tags[0], &tags[1], out);
  return TARN_OK;
}

static tarn_status between_ids(tn_finder *f, const char *const texts[2], tn_travel *out,
                               tarn_error *err) {
  tn_snapshot before, after;
  int64_t from, to;
  tn_plan_kind kind;
  if (!tn_find_parse_id(texts[0], &from) || !tn_find_parse_id(texts[1], &to)) {
    return tn_fail(err, TARN_E_INVALID,
                   "%s: Didn't find two tags for start '%s' and end '%s', and they are not two "
                   "snapshot Ids. Please set two tags or two snapshot Ids.",
                   f->table->full_name, texts[0], texts[1]);
  }
  if (to < from) {
    return tn_fail(err, TARN_E_INVALID,
                   "%s: Ending snapshotId %lld should >= starting snapshotId %lld.",
                   f->table->full_name, (long long)to, (long long)from);
  }
  TN_TRY(find_kind(f, true, &kind, err));
  out->kind = kind;
  if (f->latest == 0 || from == to) {
    return TARN_OK;
  }
  if (kind != TN_PLAN_DIFF) {
    return take_changes(f, kind, from, to, out, err);
  }
  TN_TRY(tn_find_id(f, KEY_BETWEEN, from, &before, err));
  TN_TRY(tn_find_id(f, KEY_BETWEEN, to, &after, err));
  take_diff(&before, &after, out);
  return TARN_OK;
}

static tarn_status between(tn_finder *f, const char *text, tn_travel *out, tarn_error *err) {
  const char *ends[2];
  tn_snapshot tags[2];
  bool is_pair;
  int32_t n_tags = 0;
  TN_TRY(split_pair(f, text, ends, &is_pair, err));
  if (!is_pair) {
    return tn_fail(err, TARN_E_INVALID,
                   "The " KEY_BETWEEN
                   " must specific start(exclusive) and end snapshot, for example, '" KEY_BETWEEN
                   "'='5,10' means changes between snapshot 5 and snapshot 10. But is: %s",
                   text);
  }
  for (; n_tags < 2; n_tags++) {
    tarn_status st =
        *ends[n_tags] != '\0' ? tn_find_tag(f, ends[n_tags], &tags[n_tags], err) : TARN_E_NOT_FOUND;
    if (st == TARN_E_NOT_FOUND) {
      tn_error_reset(err);
      break;
    }
    TN_TRY(st);
  }
  return n_tags == 2 ? between_tags(f, ends, tags, out, err) : between_ids(f, ends, out, err);
}

/* ------------------------------------------------------------------ by time */

static tarn_status parse_times(tn_finder *f, const char *text, int64_t ms[2], tarn_error *err) {
  const char *ends[2];
  bool is_pair;
  tarn_status st = TARN_OK;
  TN_TRY(split_pair(f, text, ends, &is_pair, err));
  if (is_pair && tn_find_parse_id(ends[0], &ms[0]) && tn_find_parse_id(ends[1], &ms[1])) {
    return TARN_OK;
  }
  for (int32_t i = 0; i < 2 && is_pair && st == TARN_OK; i++) {
    st = tn_find_parse_time(f, KEY_BETWEEN_TIME, ends[i], &ms[i], err);
  }
  if (!is_pair || st == TARN_E_INVALID) {
    return tn_fail(err, TARN_E_INVALID,
                   "The " KEY_BETWEEN_TIME
                   " must specific start(exclusive) and end timestamp. But is: %s",
                   text);
  }
  return st;
}

/* Without a snapshot at its start a diff begins with nothing, if the first snapshot is still there;
 * else with the earliest there is. */
static void take_diff_of_times(bool has_start, const tn_snapshot *start, const tn_snapshot *end,
                               tn_travel *out) {
  take_diff(start, end, out);
  if (!has_start && start->id == 1) {
    out->kind = TN_PLAN_STATE;
    out->has_snapshot = true;
  }
}

static tarn_status between_times(tn_finder *f, const char *text, tn_travel *out, tarn_error *err) {
  tn_snapshot start = {0}, end = {0}, latest;
  bool has_start, has_end, has_latest;
  tn_plan_kind kind;
  int64_t ms[2];
  TN_TRY(parse_times(f, text, ms, err));
  TN_TRY(find_kind(f, true, &kind, err));
  out->kind = kind;
  TN_TRY(tn_find_latest(f, &has_latest, &latest, err));
  if (!has_latest) {
    return TARN_OK;
  }
  if (ms[1] < ms[0]) {
    return tn_fail(err, TARN_E_INVALID,
                   "%s: Ending timestamp %lld should be >= starting timestamp %lld.",
                   f->table->full_name, (long long)ms[1], (long long)ms[0]);
  }
  TN_TRY(tn_find_time(f, ms[0], &has_start, &start, err));
  TN_TRY(tn_find_time(f, ms[1], &has_end, &end, err));
  if (ms[0] == ms[1] || ms[0] > latest.time_ms || !has_end) {
    return TARN_OK;
  }
  if (kind == TN_PLAN_DIFF) {
    take_diff_of_times(has_start, &start, &end, out);
    return TARN_OK;
  }
  return take_changes(f, kind, has_start ? start.id : start.id - 1, end.id, out, err);
}

/* ------------------------------------------------------------------ auto tags */

/* The name of a tag made by the clock: Y, M, D, h and m are digits of its time, all else stands for
 * itself. */
static tarn_status tag_pattern(const tn_table *table, const char **out, tarn_error *err) {
  enum { DAILY, HOURLY, TWO_HOURS };
  static const char *const patterns[][3] = {
      [DAILY] = {"YYYY-MM-DD", "YYYYMMDD", "YYYYMMDD"},
      [HOURLY] = {"YYYY-MM-DD hh", "YYYYMMDD hh", "YYYYMMDDhh"},
      [TWO_HOURS] = {"YYYY-MM-DD hh", "YYYY-MM-DD hh", "YYYY-MM-DD hh"},
  };
  int32_t period, style;
  if (tn_options_get(&table->options, "tag.creation-period-duration") != NULL) {
    *out = "YYYYMMDDhhmm";
    return TARN_OK;
  }
  TN_TRY(tn_options_enum(&table->options, "tag.creation-period", &period, err));
  TN_TRY(tn_options_enum(&table->options, "tag.period-formatter", &style, err));
  *out = patterns[period][style];
  return TARN_OK;
}

/* The time in the name of a tag, in minutes; false: it is no such tag. Daily tags may have anything
 * behind a blank. */
static bool parse_tag(const char *pattern, const char *name, int64_t *minutes) {
  int32_t year = 0, month = 0, day = 0, hour = 0, minute = 0;
  bool is_daily = strchr(pattern, 'h') == NULL;
  for (; *pattern != '\0'; pattern++, name++) {
    int32_t *part = *pattern == 'Y'   ? &year
                    : *pattern == 'M' ? &month
                    : *pattern == 'D' ? &day
                    : *pattern == 'h' ? &hour
                    : *pattern == 'm' ? &minute
                                      : NULL;
    if (part == NULL ? *name != *pattern : *name < '0' || *name > '9') {
      return false;
    }
    if (part != NULL) {
      *part = *part * 10 + (*name - '0');
    }
  }
  if ((*name != '\0' && !(is_daily && *name == ' ')) || month < 1 || month > 12 || day < 1 ||
      day > tn_days_of_month(year, month) || hour > 23 || minute > 59) {
    return false;
  }
  *minutes = (tn_days_from_civil(year, month, day) * 24 + hour) * 60 + minute;
  return true;
}

static tarn_status to_auto_tag(tn_finder *f, const char *name, tn_travel *out, tarn_error *err) {
  const tn_table *t = f->table;
  const char *pattern, **names, *start_name = NULL;
  int64_t end_time, start_time = INT64_MIN;
  tn_snapshot start, end;
  int32_t n_names;
  tarn_status st;
  TN_TRY(tag_pattern(t, &pattern, err));
  if (!parse_tag(pattern, name, &end_time)) {
    return tn_fail(err, TARN_E_INVALID, "%s: Specified tag '%s' is not an auto-created tag.",
                   t->full_name, name);
  }
  out->kind = TN_PLAN_DIFF;
  st = tn_find_tag(f, name, &end, err);
  if (st == TARN_E_NOT_FOUND) {
    tn_error_reset(err);
    return TARN_OK;
  }
  TN_TRY(st);
  TN_TRY(tn_tag_names(t->env, t->storage, t->branch_path, f->arena, &names, &n_names, err));
  for (int32_t i = 0; i < n_names; i++) {
    int64_t time;
    if (parse_tag(pattern, names[i], &time) && time < end_time && time > start_time) {
      start_time = time;
      start_name = names[i];
    }
  }
  if (start_name != NULL) {
    TN_TRY(tn_find_tag(f, start_name, &start, err));
    take_diff(&start, &end, out);
  }
  return TARN_OK;
}

tarn_status tn_incremental_resolve(tn_finder *f, tn_travel *out, tarn_error *err) {
  const tn_options *options = &f->table->options;
  const char *text;
  out->is_incremental = true;
  if ((text = tn_options_get(options, KEY_BETWEEN)) != NULL) {
    return between(f, text, out, err);
  }
  if ((text = tn_options_get(options, KEY_BETWEEN_TIME)) != NULL) {
    return between_times(f, text, out, err);
  }
  return to_auto_tag(f, tn_options_get(options, KEY_AUTO_TAG), out, err);
}
