/* merger.c - the loser tree over runs, and the plans that come out of it; life of a merger.
 *
 * A plan of at most batch_rows groups is built row by row; whenever a source is used up, and at the
 * end, the engine picks from the groups that are closed, and values are read of sources that have
 * survivors. merger_output.c gathers what was picked.
 */
#include <string.h>

#include "base/bytes.h"
#include "merge/key.h"
#include "merge/merger_parts.h"

/* Wins in a row after which the leading run is searched for a stretch. */
#define GALLOP_AFTER 24

void tn_merge_rows_reset(tarn_env *env, tn_merge_rows *rows) {
  tn_batch_reset(env, &rows->keys);
  tn_buffer_release(rows->sequences_buffer);
  tn_buffer_release(rows->kinds_buffer);
  tn_buffer_release(rows->alive_buffer);
  memset(rows, 0, sizeof(*rows));
}

/* ------------------------------------------------------------------ sources */

static void drop_source(tn_merger *m, source *s) {
  tn_merge_rows_reset(m->env, &s->rows);
  tn_batch_reset(m->env, &s->values);
  s->has_values = false;
  s->is_used = s->is_kept = false;
  s->next_free = m->free_sources;
  m->free_sources = s;
}

static source *take_source(tn_merger *m) {
  source *s = m->free_sources;
  if (s != NULL) {
    m->free_sources = s->next_free;
    s->next_free = NULL;
    return s;
  }
  return tn_calloc(&m->env->mem, 1, sizeof(*s));
}

static tarn_status add_source(tn_merger *m, source *s, uint32_t *index, tarn_error *err) {
  if (m->n_sources == m->sources_capacity) {
    uint32_t capacity = m->sources_capacity * 2;
    source **sources = tn_realloc(&m->env->mem, m->sources, capacity * sizeof(*sources));
    const tn_merge_rows **rows;
    const tn_vec **vecs;
    if (sources == NULL) {
      return tn_oom(err);
    }
    m->sources = sources;
    rows = tn_realloc(&m->env->mem, m->source_rows, capacity * sizeof(*rows));
    if (rows == NULL) {
      return tn_oom(err);
    }
    m->source_rows = rows;
    vecs = tn_realloc(&m->env->mem, m->vecs, capacity * sizeof(*vecs));
    if (vecs == NULL) {
      return tn_oom(err);
    }
    m->vecs = vecs;
    m->sources_capacity = capacity;
  }
  *index = m->n_sources;
  m->sources[m->n_sources] = s;
  m->source_rows[m->n_sources++] = &s->rows;
  return TARN_OK;
}

/* M6, and across the batches of a run. */
static tarn_status check_order(run_state *r, const source *s, tarn_error *err) {
  const uint64_t *p = s->prefixes;
  int64_t n = s->rows.keys.n_rows;
  bool descends = r->has_last && p[0] < r->last_prefix;
  for (int64_t i = 1; i < n; i++) {
    descends |= p[i] < p[i - 1];
  }
  if (descends) {
    return tn_fail(err, TARN_E_CORRUPT, "%s: rows %lld to %lld are not in the order of their keys",
                   s->rows.path != NULL ? s->rows.path : "merge input",
                   (long long)s->rows.keys.first_position,
                   (long long)(s->rows.keys.first_position + n - 1));
  }
  r->last_prefix = p[n - 1];
  r->has_last = true;
  return TARN_OK;
}

/* The first row of n from `at` on that is alive; n if there is none. */
static inline int64_t next_alive(const uint8_t *alive, int64_t at, int64_t n) {
  while (alive != NULL && at < n && !tn_bit_get(alive, at)) {
    at++;
  }
  return at;
}

/* Read the next source of a run into the plan; r->source is NULL at the end of the run. */
static tarn_status next_source(tn_merger *m, run_state *r, tarn_error *err) {
  tarn_status st = TARN_OK;
  source *s = NULL;
  r->source = NULL;
  r->at = r->n_rows = 0;
  while (st == TARN_OK && r->source == NULL) {
    TN_TRY_TO(done, tn_cancel_check(m->spec.cancel, err));
    if (s == NULL && (s = take_source(m)) == NULL) {
      return tn_oom(err);
    }
    TN_TRY_TO(done, r->input->ops->next(r->input, m->spec.input_rows, &s->rows, err));
    if (s->rows.keys.n_rows == 0) {
      break;
    }
    if (s->prefix_capacity < s->rows.keys.n_rows) {
      tn_free(&m->env->mem, s->prefixes);
      s->prefix_capacity = 0;
      s->prefixes = tn_alloc(&m->env->mem, (size_t)s->rows.keys.n_rows * sizeof(*s->prefixes));
      if (s->prefixes == NULL) {
        st = tn_oom(err);
        goto done;
      }
      s->prefix_capacity = s->rows.keys.n_rows;
    }
    st = tn_key_prefixes(&s->rows.keys, m->spec.n_keys, m->spec.common_start, s->prefixes, err);
    if (st != TARN_OK) {
      tn_error_context(err, st, "%s", s->rows.path != NULL ? s->rows.path : "merge input");
      goto done;
    }
    TN_TRY_TO(done, check_order(r, s, err));
    r->at = next_alive(s->rows.alive, 0, s->rows.keys.n_rows);
    if (r->at == s->rows.keys.n_rows) {
      tn_merge_rows_reset(m->env, &s->rows);
      r->at = 0;
      continue;
    }
    TN_TRY_TO(done, add_source(m, s, &r->source_index, err));
    r->source = s;
    r->prefixes = s->prefixes;
    r->n_rows = s->rows.keys.n_rows;
    r->alive = s->rows.alive;
    s = NULL;
  }
done:
  if (s != NULL) {
    drop_source(m, s);
  }
  return st;
}

static tarn_status load_values(tn_merger *m, run_state *r, tarn_error *err) {
  source *s = r->source;
  if (s->has_values || m->spec.n_value_fields == 0) {
    return TARN_OK;
  }
  TN_TRY(r->input->ops->values(r->input, &s->values, err));
  if (s->values.n_rows != s->rows.keys.n_rows) {
    return TN_BUG(err, "values of another number of rows than their keys");
  }
  s->has_values = true;
  return TARN_OK;
}

/* ------------------------------------------------------------------ groups */

/* Rows of one group in merge order (M1), keys being equal. */
static int compare_rows(const tn_merger *m, tn_row_ref a, tn_row_ref b) {
  const tn_merge_rows *x = m->source_rows[a.source], *y = m->source_rows[b.source];
  int32_t end = m->spec.n_keys + m->spec.n_sequence_fields;
  int64_t i, j;
  for (int32_t c = m->spec.n_keys; c < end; c++) {
    const tn_vec *u = &x->keys.columns[c], *v = &y->keys.columns[c];
    int order = tn_key_compare_value(u, a.row, v, b.row);
    if (order != 0) {
      /* Nulls are the oldest in both directions. */
      bool has_null = tn_vec_is_null(u, a.row) || tn_vec_is_null(v, b.row);
      return m->spec.sequence_descending && !has_null ? -order : order;
    }
  }
  i = x->sequences != NULL ? x->sequences[a.row] : x->sequence;
  j = y->sequences != NULL ? y->sequences[b.row] : y->sequence;
  if (i != j) {
    return i < j ? -1 : 1;
  }
  return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Groups are small: insertion sort, stable. */
static void sort_group(const tn_merger *m, tn_row_ref *rows, int64_t n) {
  for (int64_t i = 1; i < n; i++) {
    tn_row_ref row = rows[i];
    int64_t at = i;
    while (at > 0 && compare_rows(m, rows[at - 1], row) > 0) {
      rows[at] = rows[at - 1];
      at--;
    }
    rows[at] = row;
  }
}

/* M5: of the rows at levels > 0 only the one of the smallest level stays. Returns how many rows
 * stay. */
static int64_t drop_stale(const tn_merger *m, tn_row_ref *rows, int64_t n) {
  int64_t smallest = -1, kept = 0;
  for (int64_t i = 0; i < n; i++) {
    int32_t level = m->source_rows[rows[i].source]->level;
    if (level > 0 && (smallest < 0 || level < m->source_rows[rows[smallest].source]->level)) {
      smallest = i;
    }
  }
  for (int64_t i = 0; i < n; i++) {
    if (i == smallest || m->source_rows[rows[i].source]->level <= 0) {
      rows[kept++] = rows[i];
    }
  }
  return kept;
}

/* Close the group g, of more than one row, that begins at groups[g]; returns the new number of rows
 * of the plan. */
static TN_NOINLINE int64_t settle_group(const tn_merger *m, tn_row_ref *rows, int64_t g,
                                        int64_t end) {
  int64_t begin = m->groups[g];
  sort_group(m, rows + begin, end - begin);
  if (m->changes != NULL) {
    return begin + tn_merger_note_group(m, g, rows + begin, end - begin);
  }
  return m->spec.needs_lookup ? begin + drop_stale(m, rows + begin, end - begin) : end;
}

/* Close the open group g, which ends at `end`; returns the new number of rows of the plan. When
 * that is where the group began, there is no such group (M7). */
static TN_ALWAYS_INLINE int64_t close_group(const tn_merger *m, tn_row_ref *rows, int64_t g,
                                            int64_t end, bool has_changes) {
  if (end - m->groups[g] > 1) {
    return settle_group(m, rows, g, end);
  }
  return has_changes && m->source_rows[rows[end - 1].source]->is_looked_up ? end - 1 : end;
}

/* ------------------------------------------------------------------ picking */

/* Clear the picks of n groups from `picks` on whose rows the filter drops. m->kept and m->selected
 * have room for n. */
static tarn_status filter_picks(tn_merger *m, int64_t *picks, int64_t n, tarn_error *err) {
  tn_batch batch = {0};
  int64_t n_rows = 0, row = 0;
  tarn_status st;
  for (int64_t g = 0; g < n; g++) {
    if (picks[g] >= 0) {
      m->kept[n_rows++] = m->rows[picks[g]];
    }
  }
  if (n_rows == 0) {
    return TARN_OK;
  }
  st = tn_merger_gather(m, m->spec.filter_fields, m->spec.filter_columns, m->spec.n_filter_columns,
                        m->kept, n_rows, &batch, err);
  if (st == TARN_E_LIMIT && n > 1) { /* two halves may fit */
    TN_TRY(filter_picks(m, picks, n / 2, err));
    return filter_picks(m, picks + n / 2, n - n / 2, err);
  }
  if (st == TARN_OK) {
    memset(m->selected, 0xff, TN_BITMAP_BYTES(n_rows));
    st = tn_pred_filter(m->env, m->spec.filter, &batch, m->selected, err);
  }
  for (int64_t g = 0; g < n && st == TARN_OK; g++) {
    if (picks[g] >= 0 && !tn_bit_get(m->selected, row++)) {
      picks[g] = -1;
    }
  }
  tn_batch_reset(m->env, &batch);
  return st;
}

/* Of a folding engine: every row of the groups that were closed since counts. */
static void use_groups(tn_merger *m) {
  int64_t end = m->groups[m->n_groups];
  for (int64_t i = m->groups[m->n_picked_groups]; i < end; i++) {
    m->sources[m->rows[i].source]->is_used = true;
  }
  m->n_picked_groups = m->n_groups;
}

/* Let the engine pick from the groups that were closed since it last did. */
static tarn_status pick_groups(tn_merger *m, tarn_error *err) {
  tn_merge_plan plan = {
      .n_sources = (int32_t)m->n_sources,
      .sources = m->source_rows,
      .n_rows = m->n_rows,
      .rows = m->rows,
      .n_groups = m->n_groups - m->n_picked_groups,
      .groups = m->groups + m->n_picked_groups,
      .ignore_delete = m->spec.ignore_delete,
      .keeps_single_rows = !m->spec.engine->wants_single_rows && !m->spec.merges_single_rows,
  };
  int64_t *picks = m->picks + m->n_picked_groups;
  bool has_kinds = false;
  if (m->spec.engine->fold != NULL) {
    use_groups(m);
    return TARN_OK;
  }
  if (plan.n_groups == 0) {
    return TARN_OK;
  }
  TN_TRY(m->spec.engine->pick(&plan, picks, err));
  if (m->changes != NULL) {
    tn_merger_prefer_first(m, m->n_picked_groups, m->n_groups, picks);
  }
  for (uint32_t s = 0; s < m->n_sources; s++) {
    has_kinds |= m->source_rows[s]->kinds != NULL;
  }
  for (int64_t g = 0; g < plan.n_groups && has_kinds && !m->spec.keeps_deletes; g++) {
    if (picks[g] >= 0 && tn_row_kind_is_retract(tn_merge_kind(&plan, picks[g]))) {
      picks[g] = -1;
    }
  }
  if (m->spec.filter != NULL) {
    TN_TRY(filter_picks(m, picks, plan.n_groups, err));
  }
  for (int64_t g = 0; g < plan.n_groups; g++) {
    if (picks[g] >= 0) {
      m->sources[m->rows[picks[g]].source]->is_used = true;
    }
  }
  m->n_picked_groups = m->n_groups;
  return TARN_OK;
}

/* The source of a run is used up and no group is open: read its values if a row of it survives
 * (M4), and go on to the run's next source. That takes the place of one that was looked up in vain,
 * so that there are no more of these than runs. */
static tarn_status refill(tn_merger *m, run_state *r, tarn_error *err) {
  source *before = r->source;
  uint32_t index = r->source_index;
  TN_TRY(pick_groups(m, err));
  if (before->is_used) {
    TN_TRY(load_values(m, r, err));
  }
  TN_TRY(next_source(m, r, err));
  if (r->source != NULL && m->changes != NULL && before->rows.is_looked_up && !before->is_kept) {
    drop_source(m, before);
    m->sources[index] = r->source;
    m->source_rows[index] = &r->source->rows;
    r->source_index = index;
    m->n_sources--;
  }
  return TARN_OK;
}

/* ------------------------------------------------------------------ the tree */

static inline tn_loser_node head_of(const tn_merger *m, uint32_t run) {
  const run_state *r = &m->runs[run];
  return r->at < r->n_rows ? tn_loser_head(r->prefixes[r->at], run) : tn_loser_end(run);
}

/* Is a before b, whole keys compared where prefixes are equal? */
static bool head_less(const tn_merger *m, tn_loser_node a, tn_loser_node b) {
  uint32_t i = a.run, j = b.run;
  if (a.prefix == b.prefix && ((i | j) & TN_LOSER_ENDED) == 0) {
    const run_state *x = &m->runs[i], *y = &m->runs[j];
    int order =
        tn_key_compare(&x->source->rows.keys, x->at, &y->source->rows.keys, y->at, m->spec.n_keys);
    return order != 0 ? order < 0 : i < j;
  }
  return tn_loser_less(a, b);
}

static TN_ALWAYS_INLINE void replay(tn_merger *m, uint32_t run, bool is_exact) {
  tn_loser_node head = head_of(m, run);
  if (is_exact) {
    tn_loser_replay(m->tree, m->n_leaves, run, head);
    return;
  }
  for (uint32_t i = (m->n_leaves + run) >> 1; i > 0; i >>= 1) {
    if (head_less(m, m->tree[i], head)) {
      tn_loser_node other = m->tree[i];
      m->tree[i] = head;
      head = other;
    }
  }
  m->tree[0] = head;
}

/* Play all matches. */
static void build_tree(tn_merger *m) {
  tn_loser_node *winners = m->tree + m->n_leaves; /* 2 * n_leaves: leaves at the end */
  for (uint32_t leaf = 0; leaf < m->n_leaves; leaf++) {
    winners[m->n_leaves + leaf] = leaf < m->n_runs ? head_of(m, leaf) : tn_loser_end(leaf);
  }
  for (uint32_t i = m->n_leaves - 1; i > 0; i--) {
    tn_loser_node a = winners[2 * i], b = winners[2 * i + 1];
    bool is_first = head_less(m, a, b);
    winners[i] = is_first ? a : b;
    m->tree[i] = is_first ? b : a;
  }
  m->tree[0] = winners[1];
}

/* First sources of all runs, and all matches. */
static tarn_status start(tn_merger *m, tarn_error *err) {
  for (uint32_t run = 0; run < m->n_runs; run++) {
    TN_TRY(next_source(m, &m->runs[run], err));
  }
  build_tree(m);
  m->has_started = true;
  return TARN_OK;
}

/* ------------------------------------------------------------------ plans */

/* A new plan: sources that are used up go, the others are numbered again. */
static void begin_plan(tn_merger *m) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < m->n_sources; i++) {
    source *s = m->sources[i];
    uint32_t run = 0;
    while (run < m->n_runs && m->runs[run].source != s) {
      run++;
    }
    if (run == m->n_runs) {
      drop_source(m, s);
      continue;
    }
    s->is_used = s->is_kept = false;
    m->runs[run].source_index = n;
    m->sources[n] = s;
    m->source_rows[n++] = &s->rows;
  }
  m->n_sources = n;
  if (m->changes != NULL) {
    memset(m->changes->flags, 0, (size_t)m->n_groups);
  }
  m->n_rows = 0;
  m->n_groups = 0;
  m->groups[0] = 0;
  m->n_picked_groups = 0;
}

static tarn_status grow_rows(tn_merger *m, int64_t n_more, tarn_error *err) {
  int64_t capacity = m->rows_capacity * 2 + n_more;
  tn_row_ref *rows;
  if (capacity > UINT32_MAX) {
    return tn_fail(err, TARN_E_LIMIT, "more than %lld rows in %lld keys of one merge",
                   (long long)m->n_rows, (long long)m->n_groups);
  }
  rows = tn_realloc(&m->env->mem, m->rows, (size_t)capacity * sizeof(*rows));
  if (rows == NULL) {
    return tn_oom(err);
  }
  m->rows = rows;
  m->rows_capacity = capacity;
  return TARN_OK;
}

/* How many rows of the leading run from its head on surely come before every other run: those
 * whose prefix is below that of the second. Each is a group of its own. */
static int64_t stretch_of(const tn_merger *m, uint32_t run, int64_t max_rows, bool is_exact) {
  const run_state *r = &m->runs[run];
  const source *s = r->source;
  const uint64_t *p = r->prefixes + r->at;
  int64_t n = r->n_rows - r->at, low = 0, high = 1;
  uint64_t second = UINT64_MAX;
  if (r->alive != NULL) {
    return 0;
  }
  for (uint32_t i = (m->n_leaves + run) >> 1; i > 0; i >>= 1) {
    uint64_t other = m->tree[i].prefix;
    second = other < second ? other : second;
  }
  n = n < max_rows ? n : max_rows;
  while (high <= n && p[high - 1] < second) {
    low = high;
    high *= 2;
  }
  high = high < n + 1 ? high : n + 1;
  while (low + 1 < high) { /* p[low - 1] < second, p[high - 1] is not */
    int64_t middle = low + (high - low) / 2;
    if (p[middle - 1] < second) {
      low = middle;
    } else {
      high = middle;
    }
  }
  /* Equal keys within a run do not happen; if they do, they make one group. */
  for (int64_t i = 0; i < low; i++) {
    if (r->at + i > 0 && p[i] == p[i - 1] &&
        (is_exact || tn_key_compare(&s->rows.keys, r->at + i, &s->rows.keys, r->at + i - 1,
                                    m->spec.n_keys) == 0)) {
      return i;
    }
  }
  return low;
}

/* A stretch of rows that were looked up in vain: all are stepped over but the last one, whose group
 * stays open. */
static tarn_status skip_stretch(tn_merger *m, uint32_t run, bool is_exact, tarn_error *err) {
  run_state *r = &m->runs[run];
  int64_t n = stretch_of(m, run, INT64_MAX, is_exact);
  if (n == 0 || m->n_groups + 1 == m->spec.batch_rows) {
    return TARN_OK;
  }
  if (m->n_rows == m->rows_capacity) {
    TN_TRY(grow_rows(m, 1, err));
  }
  m->n_rows = close_group(m, m->rows, m->n_groups, m->n_rows, true);
  if (m->n_rows > m->groups[m->n_groups]) {
    m->groups[++m->n_groups] = (uint32_t)m->n_rows;
  }
  r->at += n;
  m->rows[m->n_rows++] = (tn_row_ref){r->source_index, (uint32_t)(r->at - 1)};
  return TARN_OK;
}

/* Add the stretch at the head of a run that has just given the row of the open group: every row
 * is a group, the last one stays open. */
static tarn_status add_stretch(tn_merger *m, uint32_t run, bool is_exact, tarn_error *err) {
  run_state *r = &m->runs[run];
  int64_t n = stretch_of(m, run, m->spec.batch_rows - m->n_groups - 1, is_exact);
  if (n == 0) {
    return TARN_OK;
  }
  if (m->n_rows + n > m->rows_capacity) {
    TN_TRY(grow_rows(m, n, err));
  }
  m->n_rows = close_group(m, m->rows, m->n_groups, m->n_rows, false);
  for (int64_t i = 0; i < n; i++) {
    m->groups[m->n_groups + 1 + i] = (uint32_t)(m->n_rows + i);
    m->rows[m->n_rows + i] = (tn_row_ref){r->source_index, (uint32_t)(r->at + i)};
  }
  m->n_groups += n;
  m->n_rows += n;
  r->at += n;
  return TARN_OK;
}

/* The runs whose sources are used up, now that no group is open: on to their next sources. Before,
 * they were at their end as far as the tree knows: keys are unique in a run, so they had nothing to
 * add to the group. */
static tarn_status refill_waiting(tn_merger *m, tarn_error *err) {
  while (m->n_waiting > 0) {
    TN_TRY(refill(m, &m->runs[m->waiting[--m->n_waiting]], err));
  }
  build_tree(m); /* replaying is for the winner alone */
  return TARN_OK;
}

/* The hot loop. Locals shadow what refill_waiting() and add_stretch() change. */
static TN_ALWAYS_INLINE tarn_status build_plan(tn_merger *m, bool is_exact, bool has_changes,
                                               tarn_error *err) {
  const int64_t max_groups = m->spec.batch_rows;
  tn_row_ref *rows = m->rows;
  uint32_t *groups = m->groups;
  int64_t n_rows = m->n_rows, n_groups = m->n_groups;
  uint64_t open_prefix = 0;
  uint32_t last_run = UINT32_MAX, wins = 0;
  for (;;) {
    uint32_t run = m->tree[0].run;
    uint64_t prefix = m->tree[0].prefix;
    bool is_end = (run & TN_LOSER_ENDED) != 0;
    run_state *r;
    if (n_rows > groups[n_groups]) { /* a group is open */
      bool is_same = !is_end && prefix == open_prefix;
      if (!is_exact && is_same) {
        tn_row_ref last = rows[n_rows - 1];
        is_same =
            tn_key_compare(&m->source_rows[last.source]->keys, last.row,
                           &m->runs[run].source->rows.keys, m->runs[run].at, m->spec.n_keys) == 0;
      }
      if (!is_same) {
        n_rows = close_group(m, rows, n_groups, n_rows, has_changes);
        if (!has_changes || n_rows > groups[n_groups]) {
          groups[++n_groups] = (uint32_t)n_rows;
        }
        if (TN_UNLIKELY(m->n_waiting > 0)) {
          m->n_rows = n_rows;
          m->n_groups = n_groups;
          TN_TRY(refill_waiting(m, err));
          continue;
        }
      }
    }
    if (is_end || n_groups == max_groups) {
      m->is_ended = is_end;
      break;
    }
    if (TN_UNLIKELY(n_rows == m->rows_capacity)) {
      m->n_rows = n_rows;
      m->n_groups = n_groups;
      TN_TRY(grow_rows(m, 1, err));
      rows = m->rows;
    }
    r = &m->runs[run];
    rows[n_rows++] = (tn_row_ref){r->source_index, (uint32_t)r->at};
    open_prefix = prefix;
    r->at = next_alive(r->alive, r->at + 1, r->n_rows);
    wins = run == last_run ? wins + 1 : 0;
    last_run = run;
    if (TN_UNLIKELY(wins >= GALLOP_AFTER) && r->at < r->n_rows) {
      int64_t at = r->at;
      m->n_rows = n_rows;
      m->n_groups = n_groups;
      if (has_changes && r->source->rows.is_looked_up) {
        TN_TRY(skip_stretch(m, run, is_exact, err));
      } else {
        TN_TRY(add_stretch(m, run, is_exact, err));
      }
      /* Without a stretch the row before is no row of the group: it may be a dead one. */
      open_prefix = r->at > at ? r->prefixes[r->at - 1] : open_prefix;
      rows = m->rows;
      n_rows = m->n_rows;
      n_groups = m->n_groups;
      wins = 0;
    }
    if (TN_UNLIKELY(r->at == r->n_rows)) {
      m->waiting[m->n_waiting++] = run;
    }
    replay(m, run, is_exact);
  }
  m->n_rows = n_rows;
  m->n_groups = n_groups;
  return TARN_OK;
}

static tarn_status build_any_plan(tn_merger *m, tarn_error *err) {
  if (m->changes != NULL) {
    return m->is_exact ? build_plan(m, true, true, err) : build_plan(m, false, true, err);
  }
  return m->is_exact ? build_plan(m, true, false, err) : build_plan(m, false, false, err);
}

tarn_status tn_merger_plan(tn_merger *m, tarn_error *err) {
  int64_t n = 0;
  if (!m->has_started) {
    TN_TRY(start(m, err));
  }
  begin_plan(m);
  TN_TRY(build_any_plan(m, err));
  TN_TRY(pick_groups(m, err));
  for (int64_t g = 0; g < m->n_groups && m->spec.engine->fold == NULL; g++) {
    if (m->picks[g] >= 0) {
      m->picked[n++] = m->rows[m->picks[g]];
    }
  }
  for (uint32_t run = 0; run < m->n_runs; run++) {
    run_state *r = &m->runs[run];
    if (r->source != NULL && r->source->is_used) {
      TN_TRY(load_values(m, r, err));
    }
  }
  m->n_picked = n;
  m->picked_at = 0;
  m->folded_groups = 0;
  return TARN_OK;
}

/* ------------------------------------------------------------------ life */

static tarn_status init_merger(tn_merger *m, tn_merge_input **inputs, tarn_error *err) {
  tn_mem *mem = &m->env->mem;
  size_t rows = (size_t)m->spec.batch_rows;
  m->n_leaves = 1;
  while (m->n_leaves < m->n_runs) {
    m->n_leaves *= 2;
  }
  m->sources_capacity = 2 * m->n_runs + 8;
  m->rows_capacity = (int64_t)rows * 2;
  m->runs = tn_calloc(mem, m->n_runs + 1, sizeof(*m->runs));
  m->waiting = tn_calloc(mem, m->n_runs + 1, sizeof(*m->waiting));
  m->tree = tn_calloc(mem, 3 * (size_t)m->n_leaves, sizeof(*m->tree));
  m->sources = tn_calloc(mem, m->sources_capacity, sizeof(*m->sources));
  m->source_rows = tn_calloc(mem, m->sources_capacity, sizeof(*m->source_rows));
  m->vecs = tn_calloc(mem, m->sources_capacity, sizeof(*m->vecs));
  m->rows = tn_calloc(mem, (size_t)m->rows_capacity, sizeof(*m->rows));
  m->groups = tn_calloc(mem, rows + 1, sizeof(*m->groups));
  m->picks = tn_calloc(mem, rows, sizeof(*m->picks));
  m->picked = tn_calloc(mem, rows, sizeof(*m->picked));
  m->kept = tn_calloc(mem, rows, sizeof(*m->kept));
  m->selected = tn_calloc(mem, TN_BITMAP_BYTES(rows), 1);
  if (m->runs == NULL || m->waiting == NULL || m->tree == NULL || m->sources == NULL ||
      m->source_rows == NULL || m->vecs == NULL || m->rows == NULL || m->groups == NULL ||
      m->picks == NULL || m->picked == NULL || m->kept == NULL || m->selected == NULL) {
    return tn_oom(err);
  }
  for (uint32_t run = 0; run < m->n_runs; run++) {
    m->runs[run].input = inputs[run];
    inputs[run] = NULL;
  }
  return m->spec.engine->fold != NULL ? tn_merger_fold_init(m, err) : TARN_OK;
}

tarn_status tn_merger_create(tarn_env *env, const tn_merge_spec *spec, tn_merge_input **inputs,
                             int32_t n_inputs, tn_merger **out, tarn_error *err) {
  tn_merger *m = tn_calloc(&env->mem, 1, sizeof(*m));
  tarn_status st = TARN_OK;
  *out = NULL;
  if (m == NULL) {
    st = tn_oom(err);
    goto done;
  }
  m->env = env;
  m->spec = *spec;
  m->n_runs = (uint32_t)n_inputs;
  m->is_exact = tn_key_is_prefix_exact(spec->key_fields, spec->n_keys);
  /* A sixteenth of the budget, so that a handful of batches can be under way. */
  m->max_bytes = env->mem.budget_bytes / 16;
  m->max_bytes = m->max_bytes < INT32_MAX ? m->max_bytes : INT32_MAX;
  TN_TRY_TO(done, init_merger(m, inputs, err));
  *out = m;
  m = NULL;
done:
  tn_merger_free(m);
  for (int32_t i = 0; i < n_inputs; i++) {
    if (st != TARN_OK && inputs[i] != NULL) {
      inputs[i]->ops->free(inputs[i]);
    }
    inputs[i] = NULL;
  }
  return st;
}

void tn_merger_free(tn_merger *m) {
  if (m == NULL) {
    return;
  }
  for (uint32_t i = 0; i < m->n_sources; i++) {
    drop_source(m, m->sources[i]);
  }
  while (m->free_sources != NULL) {
    source *s = m->free_sources;
    m->free_sources = s->next_free;
    tn_free(&m->env->mem, s->prefixes);
    tn_free(&m->env->mem, s);
  }
  for (uint32_t run = 0; m->runs != NULL && run < m->n_runs; run++) {
    if (m->runs[run].input != NULL) {
      m->runs[run].input->ops->free(m->runs[run].input);
    }
  }
  tn_free(&m->env->mem, m->runs);
  tn_free(&m->env->mem, m->waiting);
  tn_free(&m->env->mem, m->tree);
  tn_free(&m->env->mem, m->sources);
  tn_free(&m->env->mem, m->source_rows);
  tn_free(&m->env->mem, m->vecs);
  tn_free(&m->env->mem, m->rows);
  tn_free(&m->env->mem, m->groups);
  tn_free(&m->env->mem, m->picks);
  tn_free(&m->env->mem, m->picked);
  tn_free(&m->env->mem, m->kept);
  tn_free(&m->env->mem, m->selected);
  tn_merger_fold_free(m);
  tn_merger_changes_free(m);
  tn_free(&m->env->mem, m);
}
