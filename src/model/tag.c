/* tag.c - tags, branches and consumers: named things beside the snapshots. */
#include <math.h>

#include "base/ascii.h"
#include "base/civil.h"
#include "column/datum.h"
#include "model/json_file.h"
#include "model/listing.h"
#include "model/snapshot_json.h"

#define NANOS ((int64_t)1000000000)

/* ------------------------------------------------------------------ times of a tag */

/* Year, month, day, hour, minute, second, nanosecond; trailing zero parts may be left out. */
typedef struct date_time {
  int64_t parts[7];
} date_time;

static bool to_millis(const date_time *t, int64_t *out) {
  static const int64_t low[7] = {-999999, 1, 1, 0, 0, 0, 0};
  static const int64_t high[7] = {999999, 12, 31, 23, 59, 59, 999999999};
  for (int i = 0; i < 7; i++) {
    if (t->parts[i] < low[i] || t->parts[i] > high[i]) {
      return false;
    }
  }
  *out = tn_days_from_civil(t->parts[0], (int32_t)t->parts[1], (int32_t)t->parts[2]) * 86400000 +
         ((t->parts[3] * 60 + t->parts[4]) * 60 + t->parts[5]) * 1000 + t->parts[6] / 1000000;
  return true;
}

static bool date_time_from_array(const tn_json *array, date_time *out) {
  size_t n = tn_json_count(array);
  if (n < 3 || n > 7) {
    return false;
  }
  for (size_t i = 0; i < n; i++) {
    if (!tn_json_int(tn_json_at(array, i), &out->parts[i])) {
      return false;
    }
  }
  return true;
}

/* Digits at *at, moving it on; false when there are none. */
static bool take_digits(tn_slice text, size_t *at, size_t most, int64_t *out) {
  size_t start = *at;
  *out = 0;
  while (*at < text.len && *at - start < most && tn_is_digit(text.data[*at])) {
    *out = *out * 10 + (text.data[(*at)++] - '0');
  }
  return *at > start;
}

/* The digits behind a point as nanoseconds. */
static bool take_fraction(tn_slice text, size_t *at, int64_t *nanos) {
  size_t start = *at;
  if (!take_digits(text, at, 9, nanos)) {
    return false;
  }
  for (size_t i = *at - start; i < 9; i++) {
    *nanos *= 10;
  }
  return true;
}

/* "2026-11-29T20:32:13.529"; seconds and fraction may be left out. */
static bool date_time_from_text(tn_slice text, date_time *out) {
  static const char separators[6] = {'-', '-', 'T', ':', ':', '.'};
  size_t at = 0;
  for (int i = 0; i < 6; i++) {
    if (!take_digits(text, &at, i == 0 ? 6 : 2, &out->parts[i])) {
      return false;
    }
    if (at == text.len) {
      return i >= 4;
    }
    if (text.data[at++] != separators[i]) {
      return false;
    }
  }
  return take_fraction(text, &at, &out->parts[6]) && at == text.len;
}

/* Add value * unit; false when the sum is too large. */
static bool add_nanos(int64_t value, int64_t unit_seconds, int64_t nanos, int64_t *sum) {
  int64_t v;
  return !__builtin_mul_overflow(value, unit_seconds * NANOS, &v) &&
         !__builtin_add_overflow(v, nanos, &v) && !__builtin_add_overflow(*sum, v, sum);
}

/* java.time.Duration: "PT25H", "P1DT2H3M4.5S", each part maybe negative. */
static bool duration_from_text(tn_slice text, int64_t *out) {
  static const struct {
    char letter;
    int64_t seconds;
    bool is_time;
  } units[] = {{'D', 86400, false}, {'H', 3600, true}, {'M', 60, true}, {'S', 1, true}};
  size_t at = 1, unit = 0;
  bool in_time = false, any = false;
  *out = 0;
  if (text.len < 3 || text.data[0] != 'P') {
    return false;
  }
  while (at < text.len) {
    int64_t value, nanos = 0;
    bool is_negative;
    if (text.data[at] == 'T' && !in_time) {
      in_time = true;
      at++;
      continue;
    }
    is_negative = text.data[at] == '-';
    at += is_negative;
    if (!take_digits(text, &at, 18, &value)) {
      return false;
    }
    if (at < text.len && text.data[at] == '.') {
      at++;
      if (!take_fraction(text, &at, &nanos) || at >= text.len || text.data[at] != 'S') {
        return false;
      }
    }
    while (unit < TN_COUNT(units) && at < text.len && units[unit].letter != text.data[at]) {
      unit++;
    }
    if (unit == TN_COUNT(units) || at == text.len || units[unit].is_time != in_time) {
      return false;
    }
    if (!add_nanos(is_negative ? -value : value, units[unit].seconds, is_negative ? -nanos : nanos,
                   out)) {
      return false;
    }
    unit++;
    at++;
    any = true;
  }
  return any;
}

static bool duration_from_seconds(double seconds, int64_t *out) {
  double nanos = rint(seconds * (double)NANOS);
  if (!(nanos > -9.2e18 && nanos < 9.2e18)) {
    return false;
  }
  *out = (int64_t)nanos;
  return true;
}

tarn_status tn_tag_members_decode(const tn_json *root, const char *path, tn_snapshot *out,
                                  tarn_error *err) {
  const tn_json *created = tn_json_get(root, "tagCreateTime");
  const tn_json *retained = tn_json_get(root, "tagTimeRetained");
  date_time time = {{0}};
  double seconds;
  tn_slice text;
  if (created != NULL) {
    if (!(tn_json_kind_of(created) == TN_JSON_ARRAY ? date_time_from_array(created, &time)
          : tn_json_text(created, &text)            ? date_time_from_text(text, &time)
                                                    : false) ||
        !to_millis(&time, &out->tag_create_ms)) {
      return tn_fail(err, TARN_E_CORRUPT, "%s: \"tagCreateTime\" is not a date and time", path);
    }
    out->has_tag_create = true;
  }
  if (retained != NULL) {
    if (!(tn_json_text(retained, &text)      ? duration_from_text(text, &out->tag_retained_ns)
          : tn_json_real(retained, &seconds) ? duration_from_seconds(seconds, &out->tag_retained_ns)
                                             : false)) {
      return tn_fail(err, TARN_E_CORRUPT, "%s: \"tagTimeRetained\" is not a duration", path);
    }
    out->has_tag_retained = true;
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ tags */

tarn_status tn_tag_names(tarn_env *env, tn_storage *storage, const char *root, tn_arena *arena,
                         const char ***names, int32_t *n_names, tarn_error *err) {
  const char *directory = tn_path_join(arena, root, "tag", NULL);
  (void)env;
  if (directory == NULL) {
    return tn_oom(err);
  }
  return tn_listing_names(storage, directory, "tag-", false, arena, names, n_names, err);
}

/* NOT_FOUND that tells which tags there are. */
static tarn_status fail_no_tag(tarn_env *env, tn_storage *storage, const char *root,
                               const char *name, tarn_error *err) {
  tarn_status st;
  const char **names;
  int32_t n;
  tn_arena arena;
  tn_buf list;
  tn_arena_init(&arena, &env->mem, SIZE_MAX);
  tn_buf_init(&list, &env->mem, 512);
  st = tn_tag_names(env, storage, root, &arena, &names, &n, NULL);
  for (int32_t i = 0; st == TARN_OK && i < n; i++) {
    st = tn_buf_printf(&list, NULL, "%s%s", i > 0 ? ", " : "", names[i]);
  }
  st = list.len > 0
           ? tn_fail(err, TARN_E_NOT_FOUND, "tag '%s' does not exist; the tags are %.*s%s", name,
                     TN_SLICE_ARG(tn_buf_slice(&list)), st == TARN_OK ? "" : ", ...")
           : tn_fail(err, TARN_E_NOT_FOUND, "tag '%s' does not exist; the table has no tags", name);
  tn_buf_reset(&list);
  tn_arena_reset(&arena);
  return st;
}

tarn_status tn_tag_read(tarn_env *env, tn_storage *storage, const char *root, const char *name,
                        tn_arena *arena, tn_snapshot *out, tarn_error *err) {
  tarn_status st = TARN_E_NOT_FOUND;
  if (name[0] != '\0' && strchr(name, '/') == NULL) {
    const char *path = tn_arena_printf(arena, "%s/tag/tag-%s", root, name);
    st = path != NULL ? tn_snapshot_file_read(env, storage, path, arena, out, err) : tn_oom(err);
  }
  return st == TARN_E_NOT_FOUND ? fail_no_tag(env, storage, root, name, err) : st;
}

/* ------------------------------------------------------------------ branches */

tarn_status tn_branch_list(tarn_env *env, tn_storage *storage, const char *table_path,
                           tn_arena *arena, tn_branch **out, int32_t *n_out, tarn_error *err) {
  const char *directory = tn_path_join(arena, table_path, "branch", NULL);
  const char **names;
  int32_t n;
  (void)env;
  *out = NULL;
  *n_out = 0;
  if (directory == NULL) {
    return tn_oom(err);
  }
  TN_TRY(tn_listing_names(storage, directory, "branch-", true, arena, &names, &n, err));
  *out = tn_arena_calloc(arena, (size_t)n + 1, sizeof(**out));
  if (*out == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < n; i++) {
    const char *path = tn_arena_printf(arena, "%s/branch-%s", directory, names[i]);
    tn_file_info info;
    tarn_status st;
    if (path == NULL) {
      return tn_oom(err);
    }
    st = tn_storage_info(storage, path, &info, err);
    if (st == TARN_E_NOT_FOUND) {
      tn_error_reset(err); /* dropped meanwhile */
      continue;
    }
    TN_TRY(st);
    (*out)[*n_out].name = names[i];
    (*out)[*n_out].created_ms = info.modified_ms;
    ++*n_out;
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ consumers */

static tarn_status read_consumer(tarn_env *env, tn_storage *storage, const char *path,
                                 int64_t *next, tarn_error *err) {
  tn_json_doc *doc = NULL;
  tarn_status st;
  TN_TRY_TO(done, tn_json_file_read(env, storage, path, &doc, err));
  TN_TRY_TO(done, tn_json_get_int(tn_json_root(doc), "nextSnapshot", path, next, NULL, err));
done:
  tn_json_free(doc);
  return st;
}

tarn_status tn_consumer_list(tarn_env *env, tn_storage *storage, const char *root, tn_arena *arena,
                             tn_consumer **out, int32_t *n_out, tarn_error *err) {
  const char *directory = tn_path_join(arena, root, "consumer", NULL);
  const char **names;
  int32_t n;
  *out = NULL;
  *n_out = 0;
  if (directory == NULL) {
    return tn_oom(err);
  }
  TN_TRY(tn_listing_names(storage, directory, "consumer-", false, arena, &names, &n, err));
  *out = tn_arena_calloc(arena, (size_t)n + 1, sizeof(**out));
  if (*out == NULL) {
    return tn_oom(err);
  }
  for (int32_t i = 0; i < n; i++) {
    const char *path = tn_arena_printf(arena, "%s/consumer-%s", directory, names[i]);
    tarn_status st;
    if (path == NULL) {
      return tn_oom(err);
    }
    st = read_consumer(env, storage, path, &(*out)[*n_out].next_snapshot, err);
    if (st == TARN_E_NOT_FOUND) {
      tn_error_reset(err); /* dropped meanwhile */
      continue;
    }
    TN_TRY(st);
    (*out)[(*n_out)++].id = names[i];
  }
  return TARN_OK;
}
