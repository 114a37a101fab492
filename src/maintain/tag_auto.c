/* tag_auto.c - tags that options ask for.
 *
 * Nothing is remembered between calls: the newest automatic tag tells where to go on. Times of
 * snapshots and watermarks do not go back, so that no snapshot is looked at while the latest is too
 * early.
 *
 * Rule: org.apache.paimon.tag.{TagAutoCreation,TagBatchCreation}; spec: commit, 10.
 */
#include "maintain/kept.h"
#include "maintain/tags_internal.h"
#include "model/listing.h"

#define ARENA_LIMIT ((size_t)1 << 30)
#define BATCH_PREFIX "batch-write-"

typedef struct automaton {
  tn_table *table;
  tn_arena arena;
  tn_tag_period period;
  tn_tag_mode mode;
  tn_zone *own_zone; /* owned; NULL: that of the environment */
  const tn_zone *zone;
  int64_t delay_ms, max_tags;
  bool has_max, completes;
  bool has_next; /* the time that the next tag is of, once a period has ended behind it */
  int64_t next;
} automaton;

/* ------------------------------------------------------------------ settings */

static tarn_status open_zone(automaton *a, const char *key, tarn_error *err) {
  tarn_env *env = a->table->env;
  const char *name = tn_options_get(&a->table->options, key);
  if (name == NULL && a->mode == TN_TAGS_WATERMARK) {
    name = "UTC";
  }
  if (name != NULL) {
    TN_TRY(tn_zone_open(&env->mem, name, &a->own_zone, err));
  }
  a->zone = a->own_zone != NULL ? a->own_zone : env->zone;
  return TARN_OK;
}

static tarn_status automaton_init(automaton *a, tn_table *table, tarn_error *err) {
  const tn_options *options = &table->options;
  *a = (automaton){.table = table};
  tn_arena_init(&a->arena, &table->env->mem, ARENA_LIMIT);
  TN_TRY(tn_tag_mode_of(table, &a->mode, err));
  TN_TRY(open_zone(
      a, a->mode == TN_TAGS_WATERMARK ? "sink.watermark-time-zone" : "sink.process-time-zone",
      err));
  TN_TRY(tn_tag_period_init(&a->period, table, err));
  TN_TRY(tn_options_int(options, "tag.creation-delay", &a->delay_ms, NULL, err));
  TN_TRY(tn_options_int(options, "tag.num-retained-max", &a->max_tags, &a->has_max, err));
  return tn_options_bool(options, "tag.automatic-completion", &a->completes, err);
}

static void automaton_end(automaton *a) {
  tn_zone_free(&a->table->env->mem, a->own_zone);
  tn_arena_reset(&a->arena);
}

static int64_t local_of(const automaton *a, int64_t utc_ms) {
  int64_t seconds = utc_ms / 1000 - (utc_ms % 1000 < 0);
  return utc_ms + (int64_t)tn_zone_offset_at(a->zone, seconds) * 1000;
}

/* The local time that counts for a snapshot. */
static bool time_of(const automaton *a, const tn_snapshot *s, int64_t *local_ms) {
  int64_t utc_ms = a->mode == TN_TAGS_WATERMARK ? s->watermark : s->time_ms;
  if (a->mode == TN_TAGS_WATERMARK && (!s->has_watermark || s->watermark == INT64_MIN)) {
    return false;
  }
  if (utc_ms > INT64_MAX / 4 || utc_ms < INT64_MIN / 4) {
    return false;
  }
  *local_ms = local_of(a, utc_ms);
  return true;
}

static bool is_due(const automaton *a, int64_t local_ms) {
  return !a->has_next || local_ms - a->delay_ms >= a->next + a->period.length_ms;
}

/* ------------------------------------------------------------------ by periods */

/* Automatic tags only, in the order of tn_tags_load. */
static tarn_status load_automatic(automaton *a, tn_tag **tags, int32_t *n, tarn_error *err) {
  int32_t n_all;
  int64_t at;
  TN_TRY(tn_tags_load(a->table, a->table->branch_path, &a->arena, tags, &n_all, err));
  *n = 0;
  for (int32_t i = 0; i < n_all; i++) {
    if (tn_tag_period_parse(&a->period, (*tags)[i].name, &at)) {
      (*tags)[(*n)++] = (*tags)[i];
    }
  }
  return TARN_OK;
}

static tarn_status delete_quietly(tn_table *table, const char *name, tarn_error *err) {
  tarn_status st = tn_tag_delete(table, name, err);
  if (st == TARN_E_NOT_FOUND) {
    tn_error_reset(err);
    st = TARN_OK;
  }
  return st;
}

static tarn_status delete_surplus(automaton *a, tarn_error *err) {
  tn_tag *tags;
  int32_t n, n_states = 0;
  if (!a->has_max) {
    return TARN_OK;
  }
  TN_TRY(load_automatic(a, &tags, &n, err));
  for (int32_t i = 0; i < n; i++) {
    n_states += i == 0 || tags[i].snapshot.id != tags[i - 1].snapshot.id;
  }
  for (int32_t i = 0; i < n && n_states > a->max_tags; i++) {
    TN_TRY(delete_quietly(a->table, tags[i].name, err));
    n_states -= i + 1 == n || tags[i + 1].snapshot.id != tags[i].snapshot.id;
  }
  return TARN_OK;
}

/* The period whose tag is due now; it goes on behind that. */
static int64_t take_period(automaton *a, int64_t local_ms) {
  int64_t at = a->completes && a->has_next ? a->next : tn_tag_period_before(&a->period, local_ms);
  a->next = at + a->period.length_ms;
  a->has_next = true;
  return at;
}

static tarn_status tag_if_due(automaton *a, const tn_snapshot *s, tarn_error *err) {
  char name[TN_TAG_PERIOD_CHARS];
  const tn_tag_request request = {name, TN_TAG_RETAINED_BY_OPTION, true};
  int64_t local_ms, next = a->next;
  bool has_next = a->has_next;
  tarn_status st;
  if (!time_of(a, s, &local_ms) || !is_due(a, local_ms)) {
    return TARN_OK;
  }
  tn_tag_period_name(&a->period, take_period(a, local_ms), name);
  st = tn_tag_store(a->table, &request, s, err);
  if (st == TARN_E_EXPIRED) { /* the next snapshot takes its place */
    tn_error_reset(err);
    a->next = next;
    a->has_next = has_next;
    return TARN_OK;
  }
  TN_TRY(st);
  return delete_surplus(a, err);
}

/* Where to go on: behind the newest automatic tag, else with the first snapshot. */
static tarn_status find_start(automaton *a, int64_t *first_id, tarn_error *err) {
  tn_tag *tags;
  int32_t n;
  TN_TRY(load_automatic(a, &tags, &n, err));
  *first_id = n > 0 ? tags[n - 1].snapshot.id + 1 : 0;
  if (n > 0 && tn_tag_period_parse(&a->period, tags[n - 1].name, &a->next)) {
    a->next += a->period.length_ms;
    a->has_next = true;
  }
  return TARN_OK;
}

static tarn_status create_periodic(automaton *a, tarn_error *err) {
  tn_table *t = a->table;
  const char *root = t->branch_path;
  int64_t *ids, first_id, local_ms, latest;
  int32_t n_ids;
  tn_snapshot s;
  if (a->delay_ms >= a->period.length_ms) {
    return tn_fail(err, TARN_E_INVALID,
                   "option 'tag.creation-delay' must be shorter than a period of tags");
  }
  TN_TRY(find_start(a, &first_id, err));
  TN_TRY(tn_snapshot_latest_id(t->env, t->storage, root, &latest, err));
  if (latest == 0 || latest < first_id) {
    return TARN_OK;
  }
  TN_TRY(tn_snapshot_read(t->env, t->storage, root, latest, &a->arena, &s, err));
  if (!time_of(a, &s, &local_ms) || !is_due(a, local_ms)) {
    return TARN_OK;
  }
  TN_TRY(tn_snapshot_ids(t->env, t->storage, root, "snapshot", &a->arena, &ids, &n_ids, err));
  for (int32_t i = 0; i < n_ids; i++) {
    bool found; /* else it has expired meanwhile */
    if (ids[i] < first_id) {
      continue;
    }
    TN_TRY(tn_snapshot_find(t, root, ids[i], &a->arena, &s, &found, err));
    TN_TRY(found ? tag_if_due(a, &s, err) : TARN_OK);
  }
  return TARN_OK;
}

tarn_status tn_tags_create_automatic(tn_table *table, tarn_error *err) {
  tn_tag_mode mode;
  automaton a;
  tarn_status st;
  TN_TRY(tn_tag_mode_of(table, &mode, err));
  if (mode != TN_TAGS_PROCESS_TIME && mode != TN_TAGS_WATERMARK) {
    return TARN_OK;
  }
  st = automaton_init(&a, table, err);
  if (st == TARN_OK) {
    st = create_periodic(&a, err);
  }
  automaton_end(&a);
  return st;
}

/* ------------------------------------------------------------------ without commits */

/* However the zone's offset changes meanwhile, it is looked at again after this time. */
#define LONGEST_QUIET_MS 60000

static tarn_status is_idle(automaton *a, bool *out, tarn_error *err) {
  tn_table *t = a->table;
  int64_t timeout_ms, id;
  bool has_timeout;
  tn_snapshot s;
  TN_TRY(tn_options_int(&t->options, "snapshot.watermark-idle-timeout", &timeout_ms, &has_timeout,
                        err));
  if (!has_timeout) {
    return TARN_OK;
  }
  TN_TRY(tn_snapshot_latest_id(t->env, t->storage, t->branch_path, &id, err));
  if (id != 0) {
    TN_TRY(tn_snapshot_read(t->env, t->storage, t->branch_path, id, &a->arena, &s, err));
    *out = s.has_watermark && s.watermark <= tn_env_now_ms(t->env) - timeout_ms;
  }
  return TARN_OK;
}

/* What was asked for before counts like the tag that it makes: a tag that is gone again, by its own
 * retention, is not asked for twice. */
static tarn_status is_time(automaton *a, tn_tags_due *due, bool *out, tarn_error *err) {
  int64_t now_ms = tn_env_now_ms(a->table->env), local_ms = local_of(a, now_ms), first_id, left;
  TN_TRY(find_start(a, &first_id, err));
  if (due->has_next && (!a->has_next || a->next < due->next)) {
    a->has_next = true;
    a->next = due->next;
  }
  *out = is_due(a, local_ms);
  if (*out) {
    (void)take_period(a, local_ms);
  }
  left = a->next + a->period.length_ms + a->delay_ms - local_ms;
  left = left < LONGEST_QUIET_MS ? left : LONGEST_QUIET_MS;
  *due = (tn_tags_due){true, a->next, now_ms, left > 0 ? left : 0};
  return TARN_OK;
}

tarn_status tn_tags_force_snapshot(tn_table *table, tn_tags_due *due, bool *out, tarn_error *err) {
  int64_t since_ms;
  tn_tag_mode mode;
  bool is_write_only;
  automaton a;
  tarn_status st;
  *out = false;
  TN_TRY(tn_tag_mode_of(table, &mode, err));
  TN_TRY(tn_options_bool(&table->options, "write-only", &is_write_only, err));
  if (is_write_only || (mode != TN_TAGS_PROCESS_TIME && mode != TN_TAGS_WATERMARK)) {
    return TARN_OK;
  }
  since_ms = tn_env_now_ms(table->env) - due->asked_ms;
  if (due->has_next && since_ms >= 0 && since_ms < due->quiet_ms) {
    return TARN_OK;
  }
  st = automaton_init(&a, table, err);
  if (st == TARN_OK) {
    st = mode == TN_TAGS_WATERMARK ? is_idle(&a, out, err) : is_time(&a, due, out, err);
  }
  automaton_end(&a);
  return st;
}

/* ------------------------------------------------------------------ of batches */

static tarn_status batch_name(automaton *a, const tn_snapshot *s, const char **out,
                              tarn_error *err) {
  static const tn_tag_period daily = {86400000, "yyyy-mm-dd", true};
  const char *custom = tn_options_get(&a->table->options, "tag.batch.customized-name");
  char day[TN_TAG_PERIOD_CHARS];
  tn_tag_period_name(&daily, local_of(a, s->time_ms), day);
  *out = custom != NULL ? tn_arena_strdup(&a->arena, custom)
                        : tn_arena_printf(&a->arena, BATCH_PREFIX "%s", day);
  return *out != NULL ? TARN_OK : tn_oom(err);
}

/* Of all tags the oldest go; those of one snapshot together, if that is not too many. */
static tarn_status delete_oldest(automaton *a, tarn_error *err) {
  tn_tag *tags;
  int32_t n, n_left;
  TN_TRY(tn_tags_load(a->table, a->table->branch_path, &a->arena, &tags, &n, err));
  n_left = n;
  for (int32_t i = 0; i < n && n_left > a->max_tags; i++, n_left--) {
    TN_TRY(delete_quietly(a->table, tags[i].name, err));
  }
  return TARN_OK;
}

static tarn_status create_batch(automaton *a, tarn_error *err) {
  tn_table *t = a->table;
  const char *name;
  tn_snapshot s;
  int64_t id;
  TN_TRY(tn_snapshot_latest_id(t->env, t->storage, t->branch_path, &id, err));
  if (id == 0) {
    return TARN_OK;
  }
  TN_TRY(tn_snapshot_read(t->env, t->storage, t->branch_path, id, &a->arena, &s, err));
  TN_TRY(batch_name(a, &s, &name, err));
  TN_TRY(delete_quietly(t, name, err));
  TN_TRY(tn_tag_create(t, name, id, TN_TAG_RETAINED_BY_OPTION, err));
  return a->has_max ? delete_oldest(a, err) : TARN_OK;
}

tarn_status tn_tags_create_batch(tn_table *table, tarn_error *err) {
  tn_tag_mode mode;
  automaton a;
  tarn_status st;
  TN_TRY(tn_tag_mode_of(table, &mode, err));
  if (mode != TN_TAGS_BATCH) {
    return TARN_OK;
  }
  st = automaton_init(&a, table, err);
  if (st == TARN_OK) {
    st = create_batch(&a, err);
  }
  automaton_end(&a);
  return st;
}
