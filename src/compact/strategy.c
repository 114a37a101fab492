/* strategy.c - the rules of universal compaction, in the order in which they are tried.
 */
#include "compact/strategy.h"

#include <stdio.h>

#include "base/bytes.h"
#include "base/checked.h"

/* ------------------------------------------------------------------ units */

/* A pick that is not yet a unit: the newest runs, and what decided. */
typedef struct pick {
  tn_pick_reason reason;
  int64_t n_runs;
  int32_t output_level;
  int64_t measured, limit;
} pick;

static int64_t size_of(const tn_levels *levels, int64_t n_runs) {
  int64_t sum = 0;
  for (int64_t i = 0; i < n_runs; i++) {
    if (!tn_add_i64(sum, levels->runs[i].size_bytes, &sum)) {
      return INT64_MAX;
    }
  }
  return sum;
}

/* Spec: compaction, 8. */
static bool drops_deletes(const tn_compact_options *o, const tn_levels *levels, int32_t level) {
  return level != 0 && (level >= tn_levels_highest(levels) || o->deletion_vectors);
}

/* The files of the newest n runs, as many as the pick has. */
static tarn_status make_unit(tn_strategy *s, const tn_levels *levels, const pick *p,
                             tn_arena *arena, tn_compact_unit *out, tarn_error *err) {
  int64_t n = 0;
  memset(out, 0, sizeof(*out));
  for (int64_t i = 0; i < p->n_runs; i++) {
    n += levels->runs[i].n_files;
  }
  if (n == 0 || (n == 1 && levels->files[0]->file->level == p->output_level)) {
    return TARN_OK;
  }
  out->files = tn_arena_alloc(arena, (size_t)n * sizeof(*out->files));
  if (out->files == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < n; i++) {
    out->files[i] = levels->files[i]->file;
  }
  out->reason = p->reason;
  out->output_level = p->output_level;
  out->n_files = n;
  out->n_runs = p->n_runs;
  out->size_bytes = size_of(levels, p->n_runs);
  out->drops_deletes = drops_deletes(s->options, levels, p->output_level);
  out->total_runs = levels->n_runs;
  out->measured = p->measured;
  out->limit = p->limit;
  s->n_picks[p->reason]++;
  return TARN_OK;
}

/* ------------------------------------------------------------------ rules */

/* What a rule looks at. */
typedef struct look {
  tn_strategy *s;
  const tn_compact_options *o;
  const tn_levels *levels;
  int64_t now_ms;
  int64_t size_ratio; /* percent, of this hour */
} look;

static void note_full(const look *l) {
  l->s->has_full = true;
  l->s->last_full_ms = l->now_ms;
}

static bool pick_all(const look *l, tn_pick_reason reason, int64_t measured, int64_t limit,
                     pick *out) {
  note_full(l);
  *out = (pick){reason, l->levels->n_runs, tn_levels_max(l->levels), measured, limit};
  return true;
}

/* Spec: compaction, 3. */
static bool try_early_full(const look *l, pick *out) {
  const tn_compact_options *o = l->o;
  const tn_levels *levels = l->levels;
  int64_t n = levels->n_runs;
  if (n == 1) {
    return false;
  }
  if (o->has_optimization_interval) {
    int64_t elapsed = -1; /* there was none */
    if (l->s->has_full && !tn_add_i64(l->now_ms, -l->s->last_full_ms, &elapsed)) {
      elapsed = INT64_MAX;
    }
    if (!l->s->has_full || elapsed > o->optimization_interval_ms) {
      return pick_all(l, TN_PICK_INTERVAL, elapsed, o->optimization_interval_ms, out);
    }
  }
  if (o->has_total_size_threshold && size_of(levels, n) < o->total_size_threshold) {
    return pick_all(l, TN_PICK_TOTAL_SIZE, size_of(levels, n), o->total_size_threshold, out);
  }
  if (o->has_incremental_size_threshold) {
    bool has_top = tn_levels_highest(levels) == tn_levels_max(levels);
    int64_t above = size_of(levels, has_top ? n - 1 : n);
    if (above > o->incremental_size_threshold) {
      return pick_all(l, TN_PICK_INCREMENTAL_SIZE, above, o->incremental_size_threshold, out);
    }
  }
  return false;
}

/* Are the newer runs large beside the oldest one? */
static bool try_amplification(const look *l, pick *out) {
  int64_t n = l->levels->n_runs, newer, oldest;
  tn_i128 percent;
  if (n == 0 || n < l->o->trigger) {
    return false;
  }
  newer = size_of(l->levels, n - 1);
  oldest = l->levels->runs[n - 1].size_bytes;
  if ((tn_i128)newer * 100 <= (tn_i128)oldest * l->o->size_amplification) {
    return false;
  }
  percent = oldest > 0 ? (tn_i128)newer * 100 / oldest : INT64_MAX;
  return pick_all(l, TN_PICK_SIZE_AMPLIFICATION, percent < INT64_MAX ? (int64_t)percent : INT64_MAX,
                  l->o->size_amplification, out);
}

/* The newest n runs, n > 0, and the level that they go to. Spec: compaction, 2.2. */
static void set_output(const look *l, int64_t n, pick *out) {
  const tn_levels *levels = l->levels;
  int32_t level = 0;
  if (n < levels->n_runs) {
    level = levels->runs[n].level - 1;
    level = level > 0 ? level : 0;
  }
  while (level == 0 && n < levels->n_runs) { /* what lies between level 0 and a run is taken in */
    level = levels->runs[n++].level;
  }
  if (n == levels->n_runs) {
    level = tn_levels_max(levels);
    note_full(l);
  }
  out->n_runs = n;
  out->output_level = level;
}

/* From the newest n runs, n > 0, on to older ones as long as they are not larger. */
static int64_t take_along(const look *l, int64_t n) {
  const tn_levels *levels = l->levels;
  int64_t size = size_of(levels, n);
  while (n < levels->n_runs) {
    int64_t next = levels->runs[n].size_bytes;
    if ((double)size * (100.0 + (double)l->size_ratio) / 100.0 < (double)next) {
      break;
    }
    if (!tn_add_i64(size, next, &size)) {
      size = INT64_MAX;
    }
    n++;
  }
  return n;
}

static bool try_ratio(const look *l, int64_t n, bool is_forced, pick *out) {
  n = take_along(l, n);
  if (n == 1 && !is_forced) {
    return false;
  }
  set_output(l, n, out);
  /* Level 1 that was only taken in would be rewritten by every such pick and grow beside level 2
   * for ever, as it does in Java 1.4.2 (fixed there in 2.1, which absorbs it in other cases, too):
   * once it is as large, it goes there. */
  if (out->output_level == 1 && out->n_runs < l->levels->n_runs) {
    n = take_along(l, out->n_runs);
    if (n > out->n_runs) {
      set_output(l, n, out);
    }
  }
  return true;
}

static bool try_size_ratio(const look *l, pick *out) {
  *out = (pick){.reason = TN_PICK_SIZE_RATIO, .measured = l->size_ratio, .limit = l->o->trigger};
  return l->levels->n_runs > 0 && l->levels->n_runs >= l->o->trigger && try_ratio(l, 1, false, out);
}

static bool try_file_num(const look *l, pick *out) {
  int64_t n = l->levels->n_runs, trigger = l->o->trigger > 1 ? l->o->trigger : 1;
  *out = (pick){.reason = TN_PICK_FILE_NUM, .measured = n, .limit = l->o->trigger};
  return n > trigger && try_ratio(l, n - trigger + 1, false, out);
}

/* Spec: compaction, 4. */
static bool try_level_0(const look *l, pick *out) {
  const tn_compact_options *o = l->o;
  bool is_gentle = o->lookup_compact == TN_LOOKUP_COMPACT_GENTLE;
  *out = (pick){.reason = TN_PICK_LEVEL_0,
                .measured = l->levels->n_level_0,
                .limit = is_gentle ? o->lookup_max_interval : 1};
  if (!o->force_up_level_0) {
    return false;
  }
  if (is_gentle) {
    if (l->s->n_idle < INT32_MAX) {
      l->s->n_idle++;
    }
    if (l->s->n_idle < o->lookup_max_interval) {
      return false;
    }
    l->s->n_idle = 0;
  }
  return l->levels->n_level_0 > 0 && try_ratio(l, l->levels->n_level_0, true, out);
}

/* ------------------------------------------------------------------ picks */

void tn_strategy_init(tn_strategy *strategy, const tn_compact_options *options) {
  *strategy = (tn_strategy){.options = options};
}

tarn_status tn_strategy_pick(tn_strategy *strategy, const tn_levels *levels, int64_t now_ms,
                             int32_t local_hour, tn_arena *arena, tn_compact_unit *out,
                             tarn_error *err) {
  static bool (*const rules[])(const look *, pick *) = {
      try_early_full, try_amplification, try_size_ratio, try_file_num, try_level_0,
  };
  const tn_compact_options *o = strategy->options;
  look l = {strategy, o, levels, now_ms, tn_compact_size_ratio(o, local_hour)};
  pick p = {0};
  for (size_t i = 0; i < TN_COUNT(rules); i++) {
    if (rules[i](&l, &p)) {
      return make_unit(strategy, levels, &p, arena, out, err);
    }
  }
  memset(out, 0, sizeof(*out));
  return TARN_OK;
}

/* Why a file of the only run is rewritten; NONE: it is not. */
static tn_pick_reason why_rewritten(const tn_compact_options *o, const tn_file_checks *checks,
                                    const tn_data_file *file) {
  if (o->force_rewrite_all_files) {
    return TN_PICK_REWRITE_ALL;
  }
  if (o->has_record_expiry && checks->has_expired_rows != NULL &&
      checks->has_expired_rows(checks->ctx, file)) {
    return TN_PICK_EXPIRED_ROWS;
  }
  return o->deletion_vectors && checks->has_vector != NULL && checks->has_vector(checks->ctx, file)
             ? TN_PICK_DELETION_VECTORS
             : TN_PICK_NONE;
}

/* Files of the only run, which is on the top level, that are rewritten one by one. */
static tarn_status pick_rewrites(tn_strategy *s, const tn_levels *levels,
                                 const tn_file_checks *checks, tn_arena *arena,
                                 tn_compact_unit *out, tarn_error *err) {
  static const tn_file_checks none = {0};
  const tn_level_run *run = &levels->runs[0];
  const tn_data_file **files = tn_arena_alloc(arena, (size_t)run->n_files * sizeof(*files));
  if (files == NULL) {
    return tn_oom(err);
  }
  for (int64_t i = 0; i < run->n_files; i++) {
    const tn_data_file *file = run->files[i]->file;
    tn_pick_reason why = why_rewritten(s->options, checks != NULL ? checks : &none, file);
    if (why == TN_PICK_NONE) {
      continue;
    }
    files[out->n_files++] = file;
    if (file->file_size > 0 && !tn_add_i64(out->size_bytes, file->file_size, &out->size_bytes)) {
      out->size_bytes = INT64_MAX;
    }
    if (out->reason == TN_PICK_NONE || why < out->reason) { /* the first of them in its list */
      out->reason = why;
    }
  }
  if (out->n_files == 0) {
    return TARN_OK;
  }
  out->files = files;
  out->output_level = run->level;
  out->n_runs = out->total_runs = 1;
  out->is_file_rewrite = true;
  out->drops_deletes = drops_deletes(s->options, levels, run->level);
  out->measured = out->n_files;
  out->limit = run->n_files;
  s->n_picks[out->reason]++;
  return TARN_OK;
}

tarn_status tn_strategy_pick_full(tn_strategy *strategy, const tn_levels *levels,
                                  const tn_file_checks *checks, tn_arena *arena,
                                  tn_compact_unit *out, tarn_error *err) {
  pick p = {TN_PICK_FULL, levels->n_runs, tn_levels_max(levels), levels->n_runs, 1};
  memset(out, 0, sizeof(*out));
  if (levels->n_runs == 1 && levels->runs[0].level == p.output_level) {
    return pick_rewrites(strategy, levels, checks, arena, out, err);
  }
  return make_unit(strategy, levels, &p, arena, out, err);
}

/* ------------------------------------------------------------------ waiting */

bool tn_compact_waits_for_latest(const tn_compact_options *options, const tn_levels *levels) {
  return !options->write_only && levels->n_runs > options->stop_trigger;
}

bool tn_compact_waits_for_commit(const tn_compact_options *options, const tn_levels *levels) {
  return !options->write_only && levels->n_runs > (int64_t)options->stop_trigger + 1;
}

bool tn_compact_is_pending(const tn_compact_options *options, const tn_levels *levels,
                           bool is_running) {
  return !options->write_only && (is_running || (options->needs_lookup && levels->n_level_0 > 0));
}

/* ------------------------------------------------------------------ words */

static const struct {
  const char *text, *measured, *limit; /* what the numbers are called */
} words[TN_PICK_REASONS] = {
    [TN_PICK_NONE] = {"none", "measured", "limit"},
    [TN_PICK_INTERVAL] = {"optimization-interval", "elapsed-ms", "interval-ms"},
    [TN_PICK_TOTAL_SIZE] = {"total-size", "total-bytes", "threshold-bytes"},
    [TN_PICK_INCREMENTAL_SIZE] = {"incremental-size", "newer-bytes", "threshold-bytes"},
    [TN_PICK_SIZE_AMPLIFICATION] = {"size-amplification", "newer-percent", "limit-percent"},
    [TN_PICK_SIZE_RATIO] = {"size-ratio", "ratio-percent", "trigger"},
    [TN_PICK_FILE_NUM] = {"file-num", "bucket-runs", "trigger"},
    [TN_PICK_LEVEL_0] = {"level-0", "level-0-files", "interval"},
    [TN_PICK_FULL] = {"full", "bucket-runs", "limit"},
    [TN_PICK_REWRITE_ALL] = {"force-rewrite-all-files", "rewritten-files", "level-files"},
    [TN_PICK_EXPIRED_ROWS] = {"expired-rows", "rewritten-files", "level-files"},
    [TN_PICK_DELETION_VECTORS] = {"deletion-vectors", "rewritten-files", "level-files"},
};

const char *tn_pick_reason_text(tn_pick_reason reason) {
  return reason < TN_PICK_REASONS ? words[reason].text : words[TN_PICK_NONE].text;
}

void tn_compact_unit_text(const tn_compact_unit *unit, char *out, size_t size) {
  tn_pick_reason reason = unit->reason < TN_PICK_REASONS ? unit->reason : TN_PICK_NONE;
  if (reason == TN_PICK_NONE) {
    snprintf(out, size, "reason=none");
    return;
  }
  snprintf(out, size,
           "reason=%s runs=%lld/%lld files=%lld bytes=%lld output-level=%d %s=%lld %s=%lld",
           words[reason].text, (long long)unit->n_runs, (long long)unit->total_runs,
           (long long)unit->n_files, (long long)unit->size_bytes, (int)unit->output_level,
           words[reason].measured, (long long)unit->measured, words[reason].limit,
           (long long)unit->limit);
}
