/* start.c - from scan options to the first plan of a stream: a table of modes. */
#include "stream/start.h"

#include "base/ascii.h"
#include "model/json_file.h"
#include "model/listing.h"
#include "plan/finder.h"
#include "plan/travel.h"
#include "stream/follow.h"
#include "stream/kinds.h"

typedef struct seeker {
  tn_table *table;
  tn_starter *starter;
  tn_arena *arena;
  tn_finder finder;
  bool is_decoupled;
  tn_start *out;
} seeker;

static bool is_set(const seeker *s, const char *key) {
  return tn_options_get(&s->table->options, key) != NULL;
}

/* ------------------------------------------------------------------ modes */

static void take_next(seeker *s, int64_t id) {
  s->out->kind = TN_START_NEXT;
  s->out->next = id;
}

/* From `id` on, but not before the earliest that is there; nothing while there is none at all. */
static tarn_status take_clamped(seeker *s, int64_t id, tarn_error *err) {
  int64_t earliest;
  TN_TRY(tn_follow_earliest(s->table, s->is_decoupled, &earliest, err));
  if (earliest != 0) {
    take_next(s, id > earliest ? id : earliest);
  }
  return TARN_OK;
}

static tarn_status start_latest_full(seeker *s, tarn_error *err) {
  bool found;
  TN_TRY(tn_find_latest(&s->finder, &found, &s->out->snapshot, err));
  s->out->kind = found ? TN_START_FULL : TN_START_NOT_YET;
  s->out->is_latest = true;
  return TARN_OK;
}

/* What came before the stream was looked for is not read; what comes first after that is. */
static tarn_status start_latest(seeker *s, tarn_error *err) {
  (void)err;
  if (s->finder.latest != 0) {
    take_next(s, s->starter->latest_then + 1);
  }
  return TARN_OK;
}

static bool is_compacted(const void *ctx, const tn_snapshot *snapshot) {
  int64_t commits = *(const int64_t *)ctx;
  return snapshot->commit_kind == TN_COMMIT_COMPACT &&
         (commits == 0 || snapshot->commit_identifier % commits == 0 ||
          snapshot->commit_identifier == INT64_MAX);
}

static tarn_status start_compacted_full(seeker *s, tarn_error *err) {
  int64_t commits;
  bool has_commits, found;
  TN_TRY(tn_options_int(&s->table->options, "full-compaction.delta-commits", &commits, &has_commits,
                        err));
  if (!has_commits || commits <= 0) {
    commits = s->table->facts.changelog_producer == TN_CHANGELOG_FULL_COMPACTION ? 1 : 0;
  }
  TN_TRY(tn_find_last(&s->finder, is_compacted, &commits, &found, &s->out->snapshot, err));
  if (!found) {
    return start_latest_full(s, err);
  }
  s->out->kind = TN_START_FULL;
  return TARN_OK;
}

static tarn_status start_from_timestamp(seeker *s, tarn_error *err) {
  const char *text = tn_options_get(&s->table->options, "scan.timestamp");
  int64_t ms, before;
  bool found, is_known;
  if (text != NULL) {
    TN_TRY(tn_find_parse_time(&s->finder, "scan.timestamp", text, &ms, err));
  } else {
    TN_TRY(tn_options_int(&s->table->options, "scan.timestamp-millis", &ms, NULL, err));
  }
  TN_TRY(
      tn_follow_before(s->table, s->is_decoupled, ms, s->arena, &before, &found, &is_known, err));
  if (found) {
    take_next(s, before + 1);
  }
  return TARN_OK;
}

static tarn_status asked_id(seeker *s, int64_t *id, tarn_error *err) {
  const char *version = tn_options_get(&s->table->options, "scan.version");
  bool has_id;
  TN_TRY(tn_options_int(&s->table->options, "scan.snapshot-id", id, &has_id, err));
  if (has_id || (version != NULL && tn_find_parse_id(version, id))) {
    return TARN_OK;
  }
  return tn_fail(err, TARN_E_INVALID, "%s: Cannot scan from %s in streaming mode.",
                 s->table->full_name, is_set(s, "scan.watermark") ? "watermark" : "tag");
}

static tarn_status start_from_snapshot(seeker *s, tarn_error *err) {
  int64_t id;
  TN_TRY(asked_id(s, &id, err));
  return take_clamped(s, id, err);
}

static tarn_status start_from_snapshot_full(seeker *s, tarn_error *err) {
  int64_t id;
  TN_TRY(asked_id(s, &id, err));
  if (s->finder.earliest == 0) {
    return TARN_OK;
  }
  s->out->kind = TN_START_FULL;
  return tn_find_id(&s->finder, "scan.snapshot-id",
                    id > s->finder.earliest ? id : s->finder.earliest, &s->out->snapshot, err);
}

static tarn_status take_files_since(seeker *s, int64_t ms, tarn_error *err) {
  TN_TRY(start_latest_full(s, err));
  s->out->has_min_creation = true;
  s->out->min_creation_ms = ms;
  return TARN_OK;
}

static tarn_status start_from_file_creation(seeker *s, tarn_error *err) {
  int64_t ms;
  TN_TRY(tn_options_int(&s->table->options, "scan.file-creation-time-millis", &ms, NULL, err));
  return take_files_since(s, ms, err);
}

/* Behind the last snapshot before the time, if that is followed by one; else the files since. */
static tarn_status start_from_creation(seeker *s, tarn_error *err) {
  int64_t ms, before;
  bool has_ms, found, is_known, follows = false;
  tn_snapshot next;
  TN_TRY(tn_options_int(&s->table->options, "scan.creation-time-millis", &ms, &has_ms, err));
  if (!has_ms) {
    return tn_fail(err, TARN_E_INVALID,
                   "scan.creation-time-millis can not be null when you use from-creation-timestamp "
                   "for scan.mode");
  }
  TN_TRY(
      tn_follow_before(s->table, s->is_decoupled, ms, s->arena, &before, &found, &is_known, err));
  if (found && is_known) {
    TN_TRY(tn_follow_fetch(s->table, true, before + 1, s->arena, &next, &follows, err));
  }
  if (follows) {
    take_next(s, before + 1);
    return TARN_OK;
  }
  return take_files_since(s, ms, err);
}

static tarn_status refuse_incremental(seeker *s, tarn_error *err) {
  return tn_fail(err, TARN_E_INVALID, "%s: Cannot read incremental in streaming mode.",
                 s->table->full_name);
}

static tarn_status refuse_latest_delta(seeker *s, tarn_error *err) {
  return tn_fail(err, TARN_E_INVALID,
                 "%s: 'latest-delta' scan mode is only supported for batch sources.",
                 s->table->full_name);
}

typedef tarn_status (*start_fn)(seeker *s, tarn_error *err);

static const struct {
  const char *mode;
  start_fn start;
} modes[] = {
    {"latest-full", start_latest_full},
    {"full", start_latest_full},
    {"latest", start_latest},
    {"compacted-full", start_compacted_full},
    {"from-timestamp", start_from_timestamp},
    {"from-snapshot", start_from_snapshot},
    {"from-snapshot-full", start_from_snapshot_full},
    {"from-file-creation-time", start_from_file_creation},
    {"from-creation-timestamp", start_from_creation},
    {"incremental", refuse_incremental},
    {"latest-delta", refuse_latest_delta},
};

/* What keys without a scan.mode stand for; the first that is set decides. */
static const struct {
  const char *key;
  start_fn start;
} implied[] = {
    {"scan.timestamp-millis", start_from_timestamp},
    {"scan.timestamp", start_from_timestamp},
    {"scan.snapshot-id", start_from_snapshot},
    {"scan.tag-name", start_from_snapshot},
    {"scan.watermark", start_from_snapshot},
    {"scan.version", start_from_snapshot},
    {"scan.file-creation-time-millis", start_from_file_creation},
    {"scan.creation-time-millis", start_from_creation},
    {"incremental-between-timestamp", refuse_incremental},
    {"incremental-between", refuse_incremental},
    {"incremental-to-auto-tag", refuse_incremental},
};

static start_fn find_mode(const seeker *s) {
  const char *mode = tn_options_get(&s->table->options, "scan.mode");
  for (size_t i = 0; mode != NULL && i < TN_COUNT(modes); i++) {
    if (tn_slice_is_nocase(tn_slice_text(mode), modes[i].mode)) {
      return modes[i].start;
    }
  }
  for (size_t i = 0; i < TN_COUNT(implied); i++) {
    if (is_set(s, implied[i].key)) {
      return implied[i].start;
    }
  }
  return start_latest_full;
}

/* ------------------------------------------------------------------ before modes */

/* stream-scan-mode=compact-bucket-table: what came after the last compaction. */
static tarn_status start_after_compaction(seeker *s, tarn_error *err) {
  const int64_t any = 0;
  tn_snapshot last;
  bool found;
  TN_TRY(tn_find_last(&s->finder, is_compacted, &any, &found, &last, err));
  if (found) {
    take_next(s, last.id + 1);
    return TARN_OK;
  }
  return take_clamped(s, 1, err);
}

tarn_status tn_consumer_next(tn_table *t, const char *id, int64_t *out, bool *found,
                             tarn_error *err) {
  tn_json_doc *doc = NULL;
  tn_arena arena;
  const char *path;
  tarn_status st;
  *found = false;
  tn_arena_init(&arena, &t->env->mem, (size_t)1 << 20);
  path = tn_arena_printf(&arena, "%s/consumer/consumer-%s", t->branch_path, id);
  st = path != NULL ? tn_json_file_read(t->env, t->storage, path, &doc, err) : tn_oom(err);
  if (st == TARN_OK) {
    st = tn_json_get_int(tn_json_root(doc), "nextSnapshot", path, out, NULL, err);
    *found = st == TARN_OK;
  } else if (st == TARN_E_NOT_FOUND) {
    tn_error_reset(err);
    st = TARN_OK;
  }
  tn_json_free(doc);
  tn_arena_reset(&arena);
  return st;
}

static tarn_status start_at_consumer(seeker *s, bool *found, tarn_error *err) {
  const char *id = tn_options_get(&s->table->options, "consumer-id");
  bool ignores;
  int64_t next;
  *found = false;
  TN_TRY(tn_options_bool(&s->table->options, "consumer.ignore-progress", &ignores, err));
  if (id == NULL || ignores) {
    return TARN_OK;
  }
  TN_TRY(tn_consumer_next(s->table, id, &next, found, err));
  return *found ? take_clamped(s, next, err) : TARN_OK;
}

tarn_status tn_start_find(tn_table *table, tn_starter *starter, tn_arena *arena, tn_start *out,
                          tarn_error *err) {
  seeker s = {.table = table, .starter = starter, .arena = arena, .out = out};
  const char *kind = tn_options_get(&table->options, "stream-scan-mode");
  bool found;
  memset(out, 0, sizeof(*out));
  TN_TRY(tn_travel_check(table, err));
  TN_TRY(tn_changelog_is_decoupled(table, &s.is_decoupled, err));
  TN_TRY(tn_finder_init(&s.finder, table, arena, err));
  if (!starter->has_looked) {
    starter->has_looked = true;
    starter->latest_then = s.finder.latest;
  }
  if (kind != NULL && tn_slice_is_nocase(tn_slice_text(kind), "compact-bucket-table")) {
    return start_after_compaction(&s, err);
  }
  if (tn_stream_monitors_files(table)) {
    return start_latest_full(&s, err);
  }
  TN_TRY(start_at_consumer(&s, &found, err));
  return found ? TARN_OK : find_mode(&s)(&s, err);
}
