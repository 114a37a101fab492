/* stream_scan.c - the state machine of a stream. */
#include "stream/stream_scan.h"

#include <inttypes.h>

#include "base/ascii.h"
#include "codec/hash.h"
#include "maintain/consumers.h"
#include "stream/follow.h"
#include "stream/kinds.h"
#include "stream/snapshot_plan.h"
#include "stream/start.h"

#define ARENA_LIMIT ((size_t)1 << 28)
#define MISSES_TO_CHECK 16
#define MAX_TRIES 4 /* of the latest snapshot, while snapshots expire */

struct tn_stream_scan {
  tarn_env *env;
  tn_table *table; /* retained */
  const tn_pred *predicate;
  bool keeps_stats;
  const tarn_cancel *cancel;
  const char *consumer; /* NULL: none; of the table's options */

  bool follows_changelog; /* else what snapshots added */
  bool monitors_files;    /* every snapshot, as files that it removed and added */
  bool reads_overwrites;
  bool real_buckets_only;
  bool is_decoupled;
  int32_t min_level; /* of the full phase */
  bool has_bound, has_delay;
  int64_t bound_watermark, delay_ms;

  tn_starter starter;
  bool has_next;
  int64_t next;
  int64_t schema_id;  /* the latest one that was looked at */
  int32_t last_field; /* the highest id of its fields */
  uint64_t past;      /* of the snapshot in front of it; 0: not known */
  bool has_old_past;  /* that snapshot may have been replaced since it was looked at */
  bool starts_full;   /* the next plan reads `next` in full */
  bool is_ended;
  bool has_watermark;
  int64_t watermark;
  bool has_time;
  int64_t time_ms;
  bool is_held_back; /* the next snapshot is there, but too young */
  int64_t ready_ms;  /* when it will not be */
  int64_t misses;

  tn_stream_metrics metrics;
  int64_t summed_from, summed_to, summed_rows; /* lag: rows of [from, to), if to > from */
};

/* ------------------------------------------------------------------ options */

/* The first level that the full phase reads. Rows of lower ones come as changelog, when they are
 * compacted. */
static tarn_status find_min_level(tn_stream_scan *s, tarn_error *err) {
  const tn_options *options = &s->table->options;
  int64_t levels;
  bool is_set;
  switch (s->table->facts.changelog_producer) {
    case TN_CHANGELOG_LOOKUP:
      s->min_level = 1;
      return TARN_OK;
    case TN_CHANGELOG_FULL_COMPACTION:
      TN_TRY(tn_options_int(options, "num-levels", &levels, &is_set, err));
      if (!is_set) {
        TN_TRY(tn_options_int(options, "num-sorted-run.compaction-trigger", &levels, NULL, err));
        levels++;
      }
      s->min_level = levels > 1 && levels <= INT32_MAX ? (int32_t)levels - 1 : 0;
      return TARN_OK;
    default:
      return TARN_OK;
  }
}

static tarn_status read_options(tn_stream_scan *s, tarn_error *err) {
  const tn_options *options = &s->table->options;
  const tn_table_facts *f = &s->table->facts;
  const char *kind = tn_options_get(options, "stream-scan-mode");
  bool compacts = kind != NULL && tn_slice_is_nocase(tn_slice_text(kind), "compact-bucket-table");
  bool append_overwrites;
  TN_TRY(tn_stream_check(s->table, err));
  s->consumer = tn_options_get(options, "consumer-id");
  s->monitors_files = tn_stream_monitors_files(s->table);
  s->follows_changelog =
      f->changelog_producer != TN_CHANGELOG_NONE && !compacts && !s->monitors_files;
  s->real_buckets_only =
      f->bucket_mode == TN_BUCKETS_POSTPONE && f->changelog_producer != TN_CHANGELOG_NONE;
  TN_TRY(tn_options_bool(options, "streaming-read-overwrite", &s->reads_overwrites, err));
  TN_TRY(tn_options_bool(options, "streaming-read-append-overwrite", &append_overwrites, err));
  s->reads_overwrites = f->has_primary_key ? s->reads_overwrites : append_overwrites;
  TN_TRY(
      tn_options_int(options, "scan.bounded.watermark", &s->bound_watermark, &s->has_bound, err));
  TN_TRY(
      tn_options_int(options, "streaming.read.snapshot.delay", &s->delay_ms, &s->has_delay, err));
  TN_TRY(tn_changelog_is_decoupled(s->table, &s->is_decoupled, err));
  return s->monitors_files ? TARN_OK : find_min_level(s, err);
}

tarn_status tn_stream_scan_create(const tn_stream_scan_options *options, tn_stream_scan **out,
                                  tarn_error *err) {
  tarn_env *env = options->table->env;
  tn_stream_scan *s = tn_calloc(&env->mem, 1, sizeof(*s));
  tarn_status st;
  *out = NULL;
  if (s == NULL) {
    return tn_oom(err);
  }
  s->env = env;
  s->table = tn_table_retain(options->table);
  s->predicate = options->predicate;
  s->keeps_stats = options->keeps_stats;
  s->cancel = options->cancel;
  s->metrics.last_snapshot = -1;
  s->schema_id = options->table->schema->id;
  s->last_field = options->table->schema->highest_field_id;
  st = read_options(s, err);
  if (st != TARN_OK) {
    tn_stream_scan_free(s);
    return st;
  }
  *out = s;
  return TARN_OK;
}

void tn_stream_scan_free(tn_stream_scan *s) {
  if (s != NULL) {
    tarn_env *env = s->env;
    tn_table_release(s->table);
    tn_free(&env->mem, s);
  }
}

/* ------------------------------------------------------------------ first plan */

static bool passes_bound(const tn_stream_scan *s, const tn_snapshot *snapshot) {
  return s->has_bound && snapshot->has_watermark && snapshot->watermark > s->bound_watermark;
}

static void note_planned(tn_stream_scan *s, const tn_snapshot *snapshot) {
  s->has_watermark = snapshot->has_watermark;
  s->watermark = snapshot->watermark;
  s->has_time = true;
  s->time_ms = snapshot->time_ms;
}

/* Names of manifest lists are made up anew for each commit. */
static uint64_t past_of(const tn_snapshot *snapshot) {
  const char *list = snapshot->delta_manifest_list;
  uint64_t hash = tn_xxh64(list, list != NULL ? strlen(list) : 0, (uint64_t)snapshot->time_ms);
  return hash != 0 ? hash : 1;
}

/* The position is behind this snapshot. */
static void advance(tn_stream_scan *s, const tn_snapshot *snapshot) {
  s->has_next = true;
  s->next = snapshot->id + 1;
  s->past = past_of(snapshot);
  s->has_old_past = false;
}

/* S5 */
static tarn_status check_past(tn_stream_scan *s, tn_arena *arena, tarn_error *err) {
  tn_snapshot before;
  bool found;
  if (s->past == 0) {
    return TARN_OK;
  }
  TN_TRY(tn_follow_fetch(s->table, s->is_decoupled, s->next - 1, arena, &before, &found, err));
  if (found && past_of(&before) != s->past) {
    return tn_fail(err, TARN_E_INVALID,
                   "%s: snapshot %" PRId64
                   " is not the one that was read before: the table was "
                   "rolled back (or its branch replaced) and written again. What was read may not "
                   "be in it: start again without state (and reset the consumer)",
                   s->table->full_name, s->next - 1);
  }
  s->has_old_past = false;
  return TARN_OK;
}

static tn_snapshot_scan scan_of(const tn_stream_scan *s) {
  tn_snapshot_scan scan = {
      .table = s->table,
      .predicate = s->predicate,
      .real_buckets_only = s->real_buckets_only,
      .keeps_stats = s->keeps_stats,
      .cancel = s->cancel,
  };
  return scan;
}

/* The full phase: all of one snapshot but the levels that come again. */
static tarn_status plan_full(tn_stream_scan *s, const tn_start *start, tn_plan **plan,
                             tarn_error *err) {
  tn_snapshot_scan scan = scan_of(s);
  scan.min_level = s->min_level;
  scan.has_min_creation = start->has_min_creation;
  scan.min_creation_ms = start->min_creation_ms;
  TN_TRY(tn_snapshot_plan(&scan, TN_SNAPSHOT_STATE, &start->snapshot, plan, err));
  note_planned(s, &start->snapshot);
  advance(s, &start->snapshot);
  s->starts_full = false;
  s->is_ended = passes_bound(s, &start->snapshot);
  return TARN_OK;
}

static tarn_status start_following(tn_stream_scan *s, int64_t next, tn_arena *arena,
                                   tarn_error *err) {
  tn_snapshot before;
  bool found;
  TN_TRY(tn_follow_fetch(s->table, false, next - 1, arena, &before, &found, err));
  s->is_ended = found && passes_bound(s, &before);
  s->has_next = true;
  s->next = next;
  s->past = found ? past_of(&before) : 0;
  return TARN_OK;
}

static tarn_status first_plan(tn_stream_scan *s, tn_arena *arena, tn_stream_outcome *outcome,
                              tn_plan **plan, tarn_error *err) {
  tn_start start;
  tarn_status st = TARN_OK;
  for (int32_t i = 0; i < MAX_TRIES; i++) {
    TN_TRY(tn_start_find(s->table, &s->starter, arena, &start, err));
    if (start.kind == TN_START_NOT_YET) {
      *outcome = TN_STREAM_WAITING;
      return TARN_OK;
    }
    if (start.kind == TN_START_NEXT) {
      *outcome = TN_STREAM_STARTED;
      return start_following(s, start.next, arena, err);
    }
    *outcome = TN_STREAM_PLANNED;
    st = plan_full(s, &start, plan, err);
    if (st != TARN_E_NOT_FOUND || !start.is_latest) {
      break;  // else it has expired meanwhile, and there is a later one
    }
  }
  return st;
}

/* ------------------------------------------------------------------ next plans */

static tarn_status part_of(const tn_stream_scan *s, const tn_snapshot *snapshot,
                           tn_snapshot_part *out, bool *is_wanted, tarn_error *err) {
  (void)err;
  *is_wanted = true;
  if (s->monitors_files) {
    *out = TN_SNAPSHOT_FILES;
  } else if (snapshot->commit_kind == TN_COMMIT_OVERWRITE && s->reads_overwrites) {
    *out = s->table->facts.has_primary_key ? TN_SNAPSHOT_FILES : TN_SNAPSHOT_DELTA;
  } else if (s->follows_changelog) {
    *out = TN_SNAPSHOT_CHANGELOG;
    *is_wanted = snapshot->changelog_manifest_list != NULL;
  } else {
    *out = TN_SNAPSHOT_DELTA;
    *is_wanted = snapshot->commit_kind == TN_COMMIT_APPEND;
  }
  return TARN_OK;
}

/* Such a commit is easily missed: told once. */
static void note_passed_over(tn_stream_scan *s, const tn_snapshot *snapshot) {
  const tn_table_facts *f = &s->table->facts;
  const char *key =
      f->has_primary_key ? "streaming-read-overwrite" : "streaming-read-append-overwrite";
  if (s->metrics.overwrites_passed_over++ > 0) {
    return;
  }
  if (f->changelog_producer == TN_CHANGELOG_LOOKUP ||
      f->changelog_producer == TN_CHANGELOG_FULL_COMPACTION) {
    tn_log(
        s->env, TARN_LOG_WARN,
        "table=%s snapshot=%lld passed over: it is an overwrite, which is in no changelog of this "
        "table; who needs its rows reads the table anew",
        s->table->full_name, (long long)snapshot->id);
    return;
  }
  tn_log(s->env, TARN_LOG_WARN,
         "table=%s snapshot=%lld passed over: it is an overwrite; set %s=true to read such "
         "snapshots",
         s->table->full_name, (long long)snapshot->id, key);
}

/* The columns of a stream are those of the table when it began: what a snapshot has beyond them
 * is easily missed, and told once. */
static tarn_status look_at_schema(tn_stream_scan *s, const tn_snapshot *snapshot, tarn_error *err) {
  tn_schema *schema;
  const char *column = "(of a ROW)";
  tarn_status st;
  if (snapshot->schema_id <= s->schema_id) {
    return TARN_OK;
  }
  st = tn_table_schema(s->table, snapshot->schema_id, &schema, err);
  if (st == TARN_E_NOT_FOUND) { /* whoever needs it tells so */
    tn_error_reset(err);
    return TARN_OK;
  }
  TN_TRY(st);
  for (int32_t i = 0; i < schema->n_fields; i++) {
    column = schema->fields[i].id > s->last_field ? schema->fields[i].name : column;
  }
  if (schema->highest_field_id > s->last_field) {
    s->last_field = schema->highest_field_id;
    tn_log(s->env, TARN_LOG_WARN,
           "table=%s snapshot=%lld has the new column '%s', which is not in this stream, as it "
           "began before: start it again to read it",
           s->table->full_name, (long long)snapshot->id, column);
  }
  s->schema_id = snapshot->schema_id;
  tn_schema_release(schema);
  return TARN_OK;
}

static tarn_status restored_full(tn_stream_scan *s, tn_arena *arena, tn_stream_outcome *outcome,
                                 tn_plan **plan, tarn_error *err) {
  tn_start start = {.kind = TN_START_FULL};
  bool found;
  TN_TRY(tn_follow_fetch(s->table, false, s->next, arena, &start.snapshot, &found, err));
  if (!found) {
    *outcome = TN_STREAM_WAITING;
    return TARN_OK;
  }
  *outcome = TN_STREAM_PLANNED;
  return plan_full(s, &start, plan, err);
}

/* A file of the snapshot is gone: tells why, as far as that can be known. */
static tarn_status explain_loss(const tn_stream_scan *s, tarn_error *err) {
  tarn_error lost = {.status = TARN_E_NOT_FOUND};
  if (err != NULL) {
    lost = *err;
  }
  TN_TRY(tn_follow_check(s->table, s->is_decoupled, s->next, err));
  return tn_fail(err, TARN_E_NOT_FOUND,
                 "%s: snapshot %lld cannot be read, it may have been expired meanwhile: %s",
                 s->table->full_name, (long long)s->next, lost.message);
}

/* One snapshot; *outcome PLANNED with *plan NULL: it was passed over. */
static tarn_status next_plan(tn_stream_scan *s, tn_arena *arena, tn_stream_outcome *outcome,
                             tn_plan **plan, tarn_error *err) {
  const tn_snapshot_scan scan = scan_of(s);
  tn_snapshot snapshot;
  tn_snapshot_part part;
  bool found, is_wanted;
  TN_TRY(tn_follow_fetch(s->table, s->is_decoupled, s->next, arena, &snapshot, &found, err));
  *outcome = TN_STREAM_WAITING;
  s->is_held_back = false;
  if (!found) {
    s->has_old_past = true;
    if (++s->misses % MISSES_TO_CHECK == 0) {
      TN_TRY(tn_follow_check(s->table, s->is_decoupled, s->next, err));
    }
    return TARN_OK;
  }
  s->misses = 0;
  if (s->has_old_past) {
    TN_TRY(check_past(s, arena, err));
  }
  if (passes_bound(s, &snapshot)) {
    s->is_ended = true;
    *outcome = TN_STREAM_ENDED;
    return TARN_OK;
  }
  if (s->has_delay && snapshot.time_ms > tn_env_now_ms(s->env) - s->delay_ms) {
    s->is_held_back = true;
    if (__builtin_add_overflow(snapshot.time_ms, s->delay_ms, &s->ready_ms)) {
      s->ready_ms = INT64_MAX;
    }
    return TARN_OK;
  }
  *outcome = TN_STREAM_PLANNED;
  TN_TRY(part_of(s, &snapshot, &part, &is_wanted, err));
  TN_TRY(look_at_schema(s, &snapshot, err));
  if (is_wanted) {
    tarn_status st = tn_snapshot_plan(&scan, part, &snapshot, plan, err);
    if (st != TARN_OK) {
      return st == TARN_E_NOT_FOUND ? explain_loss(s, err) : st;
    }
    note_planned(s, &snapshot);
    if ((*plan)->n_splits == 0) {
      tn_plan_release(*plan);
      *plan = NULL;
    }
  }
  if (!is_wanted && snapshot.commit_kind == TN_COMMIT_OVERWRITE) {
    note_passed_over(s, &snapshot);
  }
  advance(s, &snapshot);
  return TARN_OK;
}

static void count_plan(tn_stream_scan *s, const tn_plan *plan, int64_t ms) {
  tn_stream_metrics *m = &s->metrics;
  int64_t files = 0;
  for (int32_t i = 0; i < plan->n_splits; i++) {
    files += plan->splits[i].n_files + plan->splits[i].n_before;
  }
  m->plans++;
  m->last_ms = ms > 0 ? ms : 0;
  m->sum_ms += m->last_ms;
  m->last_snapshot = plan->snapshot.id;
  m->last_manifests = plan->stats.manifests_read;
  m->last_resulted = files;
  m->last_skipped = plan->stats.files_total > files ? plan->stats.files_total - files : 0;
}

const tn_stream_metrics *tn_stream_scan_metrics(const tn_stream_scan *s) {
  return &s->metrics;
}

tarn_status tn_stream_scan_plan(tn_stream_scan *s, tn_stream_outcome *outcome, tn_plan **plan,
                                tarn_error *err) {
  const int64_t begin_ms = tn_env_now_ms(s->env);
  tarn_status st = TARN_OK;
  tn_arena arena;
  *outcome = TN_STREAM_ENDED;
  *plan = NULL;
  tn_arena_init(&arena, &s->env->mem, ARENA_LIMIT);
  if (!s->has_next) {
    st = first_plan(s, &arena, outcome, plan, err);
  } else if (s->starts_full) {
    st = restored_full(s, &arena, outcome, plan, err);
  } else if (!s->is_ended) {
    do {
      tn_arena_reset(&arena);
      st = tn_cancel_check(s->cancel, err);
      if (st == TARN_OK) {
        st = next_plan(s, &arena, outcome, plan, err);
      }
    } while (st == TARN_OK && *outcome == TN_STREAM_PLANNED && *plan == NULL);
  }
  tn_arena_reset(&arena);
  if (st == TARN_OK && *plan != NULL) {
    count_plan(s, *plan, tn_env_now_ms(s->env) - begin_ms);
  }
  return tn_table_fault(s->table, st, err);
}

tarn_status tn_stream_scan_check(tn_stream_scan *s, tarn_error *err) {
  tn_arena arena;
  tarn_status st;
  if (!s->has_next || s->is_ended) {
    return TARN_OK;
  }
  TN_TRY(tn_follow_check(s->table, s->is_decoupled, s->next, err));
  tn_arena_init(&arena, &s->env->mem, ARENA_LIMIT);
  st = check_past(s, &arena, err);
  tn_arena_reset(&arena);
  return st;
}

/* ------------------------------------------------------------------ position */

bool tn_stream_scan_position(const tn_stream_scan *s, int64_t *next) {
  *next = s->next;
  return s->has_next;
}

uint64_t tn_stream_scan_past(const tn_stream_scan *s) {
  return s->has_next ? s->past : 0;
}

void tn_stream_scan_set_past(tn_stream_scan *s, uint64_t past) {
  s->past = past;
  s->has_old_past = past != 0;
}

/* Operators, ids of columns and literals. The depth is bounded (TN_PRED_MAX_DEPTH). */
static tarn_status put_filter(const tarn_env *env, const tn_pred *pred, tn_buf *out,
                              tarn_error *err) {
  tn_pred leaf = *pred;
  TN_TRY(tn_buf_printf(out, err, "(%d %" PRId32, (int)pred->op, pred->field_id));
  for (int32_t i = 0; i < pred->n_path; i++) {
    TN_TRY(tn_buf_printf(out, err, ".%" PRId32, pred->path[i]));
  }
  for (int32_t i = 0; i < pred->n_children; i++) {
    TN_TRY(put_filter(env, pred->children[i], out, err));
  }
  if (pred->n_literals > 0) {
    leaf.name = "c";
    TN_TRY(tn_pred_to_text(&leaf, env->zone, out, err));
  }
  return tn_buf_append(out, ")", 1, err);
}

tarn_status tn_stream_scan_filter(const tn_stream_scan *s, uint64_t *out, tarn_error *err) {
  tarn_status st;
  tn_buf text;
  *out = 0;
  if (s->predicate == NULL) {
    return TARN_OK;
  }
  tn_buf_init(&text, &s->env->mem, ARENA_LIMIT);
  st = put_filter(s->env, s->predicate, &text, err);
  if (st == TARN_OK) {
    uint64_t hash = tn_xxh64(text.data, text.len, 0);
    *out = hash != 0 ? hash : 1;
  }
  tn_buf_reset(&text);
  return st;
}

void tn_stream_scan_restore(tn_stream_scan *s, bool has_next, int64_t next, bool is_full) {
  s->has_next = has_next;
  s->next = has_next ? next : 0;
  tn_stream_scan_set_past(s, 0);
  s->starts_full = has_next && is_full;
  s->is_ended = false;
  s->misses = 0;
  s->has_watermark = s->has_time = false;
}

bool tn_stream_scan_watermark(const tn_stream_scan *s, int64_t *out) {
  *out = s->watermark;
  return s->has_watermark;
}

bool tn_stream_scan_time(const tn_stream_scan *s, int64_t *out_ms) {
  *out_ms = s->time_ms;
  return s->has_time;
}

bool tn_stream_scan_held_back(const tn_stream_scan *s, int64_t *ms) {
  int64_t left = s->ready_ms - tn_env_now_ms(s->env);
  *ms = left > 0 ? left : 0;
  return s->is_held_back;
}

tarn_status tn_stream_scan_complete(tn_stream_scan *s, int64_t next, tarn_error *err) {
  return s->consumer != NULL ? tn_consumer_set(s->table, s->consumer, next, err) : TARN_OK;
}

/* ------------------------------------------------------------------ lag */

/* Rows that following a snapshot gives, as its commit counted them. */
static int64_t rows_of(const tn_stream_scan *s, const tn_snapshot *snapshot) {
  if (s->follows_changelog) {
    return snapshot->changelog_manifest_list != NULL && snapshot->has_changelog_record_count
               ? snapshot->changelog_record_count
               : 0;
  }
  return snapshot->commit_kind == TN_COMMIT_APPEND && snapshot->delta_record_count > 0
             ? snapshot->delta_record_count
             : 0;
}

static tarn_status sum_rows(tn_stream_scan *s, int64_t from, int64_t to, tn_arena *arena,
                            int64_t *rows, tarn_error *err) {
  int64_t at = to, sum = 0;
  *rows = 0;
  // What was summed before goes on, when nothing but its ends has moved.
  if (s->summed_to > s->summed_from && from >= s->summed_from && from <= s->summed_to &&
      to >= s->summed_to) {
    sum = s->summed_rows;
    for (int64_t id = s->summed_from; id < from; id++) {
      tn_snapshot snapshot;
      bool found;
      TN_TRY(tn_follow_fetch(s->table, s->is_decoupled, id, arena, &snapshot, &found, err));
      sum -= found ? rows_of(s, &snapshot) : 0;
      tn_arena_reset(arena);
    }
    at = s->summed_to;
  } else {
    at = from;
  }
  for (; at < to; at++) {
    tn_snapshot snapshot;
    bool found;
    TN_TRY(tn_cancel_check(s->cancel, err));
    TN_TRY(tn_follow_fetch(s->table, s->is_decoupled, at, arena, &snapshot, &found, err));
    sum += found ? rows_of(s, &snapshot) : 0;
    tn_arena_reset(arena);
  }
  s->summed_from = from;
  s->summed_to = to;
  s->summed_rows = sum;
  *rows = sum > 0 ? sum : 0;
  return TARN_OK;
}

tarn_status tn_stream_scan_lag(tn_stream_scan *s, bool has_next, int64_t next, tn_stream_lag *out,
                               tarn_error *err) {
  tn_table *t = s->table;
  int64_t from = has_next ? next : s->next;
  tarn_status st = TARN_OK;
  tn_snapshot first;
  tn_arena arena;
  bool found;
  memset(out, 0, sizeof(*out));
  tn_arena_init(&arena, &s->env->mem, ARENA_LIMIT);
  TN_TRY_TO(done, tn_snapshot_latest_id(t->env, t->storage, t->branch_path, &out->latest, err));
  if (!has_next && !s->has_next) {
    TN_TRY_TO(done, tn_follow_earliest(t, s->is_decoupled, &from, err));
  }
  if (out->latest == 0 || from > out->latest) {
    goto done;
  }
  out->snapshots = out->latest - from + 1;
  TN_TRY_TO(done, tn_follow_fetch(t, s->is_decoupled, from, &arena, &first, &found, err));
  if (found) {
    int64_t ms = tn_env_now_ms(s->env) - first.time_ms;
    out->ms = ms > 0 ? ms : 0;
  }
  out->rows = -1;
  if (out->snapshots <= TN_LAG_SNAPSHOTS) {
    TN_TRY_TO(done, sum_rows(s, from, out->latest + 1, &arena, &out->rows, err));
  }
done:
  tn_arena_reset(&arena);
  return st;
}
